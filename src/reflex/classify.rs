//! Classifies a sentence: tool, arguments, the stage that found them, and the confidence.

use crate::{
    builtin_replies, confirmation, days, empty_content,
    guess::{Guess, Reader},
    head::{Head, NONE},
    mask::mask,
    meaning::Meaning,
    pattern::{self, Fit, Matcher},
    phrases::{Intent, Template},
    sentence::{MOST_TOKENS, QUESTION_WORDS, Sentence},
    slots,
    spelling::Spelling,
};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tool::Risk;

/// The classification of a sentence.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The tool to call; `None` if reflex replies itself.
    pub tool: Option<String>,
    /// The arguments, a JSON object.
    pub arguments: Value,
    /// The reply, if no tool is called.
    pub say: Option<String>,
    /// The tool and arguments the reply asks to confirm; called after a yes.
    pub proposes: Option<(String, Value)>,
    /// The stage that found it.
    pub stage: Stage,
    /// Confidence from 0 to 1; 1 for a template.
    pub confidence: f32,
    /// The template or rule that decided.
    pub why: String,
    /// Whether this is exactly what was meant: a template matches the whole sentence, and the reply asks for nothing
    /// more.
    pub sure: bool,
}

/// The stages of classification, most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A template matches the whole sentence.
    Template,
    /// A template matches after spelling correction.
    Words,
    /// A tool is likely by words and meaning.
    Meaning,
    /// A tool that changes something is likely: ask for confirmation.
    Asked,
    /// Likewise, but a required argument is missing.
    Missing,
    /// A question about something else: search memory.
    Question,
    /// Close to something that moves or destroys things: explain how to phrase it plainly.
    Plainly,
    /// Not understood.
    Unknown,
}

/// Minimum probability for a read-only call or a confirmation; multiplied by the share of the sentence that is
/// covered. Calibrated on held-out sentences and on `tests/golden/reflex.tsv`.
const MIN_SHARE: f32 = 0.6;
const ASKS: f32 = 0.3;
const COVERS: f32 = 0.5;
const ASKS_COVERS: f32 = 0.25;
/// Minimum probability for asking for a missing argument.
const MIN_SHARE_MISSING: f32 = 0.45;
/// Minimum probability if a word is left over that none of the tool's templates has: "how full is the water tank" is
/// near "how full is your disk".
const MIN_SHARE_STRANGE: f32 = 0.85;
/// Number of likely intents whose arguments are extracted.
const CANDIDATES: usize = 6;
/// Weight of covering every word of the sentence.
const COVERAGE_WEIGHT: f32 = 3.0;
/// Longer sentences say more than one thing; nothing is guessed from them.
const MOST_GUESSED: usize = 24;

/// The context of a classification.
pub(crate) struct Classifier<'a> {
    pub intents: &'a [Intent],
    pub classes: &'a HashMap<String, Vec<usize>>,
    pub head: &'a Head,
    pub spelling: &'a Spelling,
    pub meaning: &'a Meaning,
    pub risk: &'a (dyn Fn(&str) -> Option<Risk> + Send + Sync),
    pub now: &'a Zoned,
}

/// A matching template.
struct TemplateMatch<'a> {
    intent: &'a Intent,
    template: &'a Template,
    fit: Fit,
    /// Whether the sentence, read this way, is a question.
    asks: bool,
}

/// The likely intent of a sentence without a matching template.
struct SemanticMatch<'a> {
    intent: &'a Intent,
    guess: Guess,
    /// Probability of its tool.
    share: f32,
}

impl<'a> Classifier<'a> {
    /// Classifies a text; the stages run in order of reliability.
    pub async fn classify(&self, text: &str) -> Classification {
        let s = Sentence::read(text);
        if s.len() == 0 || s.len() > MOST_TOKENS {
            return unknown(builtin_replies::unreadable_reply(s.len() > 0), "there is nothing to read, or too much");
        }
        if let Some(placed) = self.by_words(&s) {
            return placed;
        }
        let corrected = self.spelling.corrected(&s);
        let (placed, why) = self.by_meaning(corrected.as_ref().unwrap_or(&s)).await;
        placed
            .or_else(|| self.question(&s))
            .unwrap_or_else(|| unknown(builtin_replies::unknown(&self.examples()), &why))
    }

    /// Classifies by templates only.
    pub fn classify_literal(&self, text: &str) -> Option<Classification> {
        let s = Sentence::read(text);
        let fits = (1..=MOST_TOKENS).contains(&s.len());
        if fits { self.by_words(&s).filter(|placed| placed.sure) } else { None }
    }

    /// The stages that need no embedding.
    fn by_words(&self, s: &Sentence) -> Option<Classification> {
        let found = self.found(s);
        // A generic "remind me …" reply is right only if no misspelling hid the rest.
        let vague = |f: &TemplateMatch| f.intent.is_own() && pattern::has_open_slot(&f.template.nodes);
        if let Some(found) = found.as_ref().filter(|f| !vague(f)) {
            return Some(self.by_template(found, s));
        }
        if let Some(corrected) = &self.spelling.corrected(s)
            && let Some(fixed) = self.found(corrected).filter(|f| !f.intent.is_own())
        {
            return Some(self.by_corrected(&fixed, corrected));
        }
        if let Some(found) = &found {
            return Some(self.by_template(found, s));
        }
        let phrase = days::no_such_day(s)?;
        Some(spoken_reply(builtin_replies::no_such_day(&phrase), "a day that never comes".to_owned()))
    }

    /// The risk of an available tool.
    fn risk_of(&self, intent: &Intent) -> Option<Risk> {
        if intent.is_own() { Some(Risk::Observe) } else { (self.risk)(&intent.tool) }
    }

    /// Example sentences by tool.
    pub fn examples(&self) -> Vec<(&str, &str)> {
        let here = self.intents.iter().filter(|i| !i.is_own() && self.risk_of(i).is_some());
        here.flat_map(|i| i.shown.iter().map(|shown| (i.tool.as_str(), shown.as_str()))).collect()
    }

    /// The matching template with the most literal words; the first of equals.
    fn found(&self, s: &Sentence) -> Option<TemplateMatch<'a>> {
        // "thank you very much" is all courtesy; but "remind me what …" is a question, and no reminder.
        let (without_courtesy, whole) = (s.without_courtesy(), Sentence::whole(&s.text));
        let readings = [(Some(s), true), (without_courtesy.as_ref(), true), (Some(&whole), !s.only_asks)];
        let mut best: Option<TemplateMatch> = None;
        for (sentence, own) in readings.into_iter().filter_map(|(sentence, own)| Some((sentence?, own))) {
            let mut matcher = Matcher::new(sentence, self.now);
            for intent in self.intents.iter().filter(|i| self.risk_of(i).is_some() && (own || !i.is_own())) {
                for template in intent.templates.iter().filter(|t| !t.example_only) {
                    let Some(fit) = matcher.fit(&template.nodes) else { continue };
                    if best.as_ref().is_none_or(|b| fit.definite > b.fit.definite) {
                        best = Some(TemplateMatch { intent, template, fit, asks: s.asks && (own || !s.only_asks) });
                    }
                }
            }
        }
        best
    }

    fn by_template(&self, found: &TemplateMatch, s: &Sentence) -> Classification {
        let TemplateMatch { intent, template, fit, asks } = found;
        let why = format!("template {}: {}", template.place, template.text);
        if intent.is_own() {
            let say = builtin_replies::computed_reply(&intent.tool, &fit.arguments, self.now);
            let say = say.unwrap_or_else(|| builtin_replies::answer(&intent.tool, &self.examples()));
            return Classification { sure: builtin_replies::is_whole(&intent.tool), ..spoken_reply(say, why) };
        }
        let arguments = with_fixed(intent, &fit.arguments);
        let changes = self.risk_of(intent).is_some_and(Risk::changes_something);
        if let Some(name) = empty_content::empty_argument(&arguments).filter(|_| changes) {
            return spoken_reply(self.what(intent, name), why);
        }
        // "turn on pin 17?" is ambiguous; only a request ("could you …?") or a plain command moves anything.
        if changes && *asks && !s.requests {
            return match opens_question(s) {
                true => self
                    .question(s)
                    .unwrap_or_else(|| unknown(builtin_replies::unknown(&self.examples()), "a question")),
                false => self.changing(intent, arguments, s, 1.0, "it is a question"),
            };
        }
        Classification { sure: true, ..call(intent, arguments, Stage::Template, 1.0, why) }
    }

    /// After spelling correction, changes need confirmation.
    fn by_corrected(&self, found: &TemplateMatch, s: &Sentence) -> Classification {
        let TemplateMatch { intent, template, fit, .. } = found;
        let arguments = with_fixed(intent, &fit.arguments);
        let why = format!("template {}, slips corrected: {}", template.place, template.text);
        match self.risk_of(intent) {
            Some(Risk::Observe) => call(intent, arguments, Stage::Words, 0.9, why),
            _ => self.changing(intent, arguments, s, 0.9, "slips were corrected"),
        }
    }

    /// The likeliest intent, if likely enough, and its name.
    async fn by_meaning(&self, s: &Sentence) -> (Option<Classification>, String) {
        if s.len() > MOST_GUESSED {
            return (None, "nothing is guessed from that many words".to_owned());
        }
        let masked = mask(s, self.now);
        let meaning = self.meaning.of(&masked.text()).await;
        let shares = self.head.classify(&masked.words, meaning.as_deref());
        let mut reader = Reader::new(s, &masked, self.now);
        let Some(meant) = self.meant(&shares, &mut reader) else {
            let (class, share) = shares.first().copied().unwrap_or((NONE, 0.0));
            let why = format!("the likeliest is {class} ({share:.2})");
            return (self.explain_command(s, &shares, &why), why);
        };
        let SemanticMatch { intent, guess, share } = &meant;
        let template = intent.templates.get(guess.template).map_or("", |t| &t.text);
        let why = format!("near {}: {template} ({share:.2}, {:.2} of it)", intent.tool, guess.covers);
        (self.act_on_guess(&meant, s, &why).or_else(|| self.explain_command(s, &shares, &why)), why)
    }

    /// A statement that names a pin is a command: explain how to phrase it.
    fn explain_command(&self, s: &Sentence, shares: &[(&str, f32)], why: &str) -> Option<Classification> {
        let quotes = s.tokens.iter().any(|token| token.opens);
        if quotes || opens_question(s) || !(0..s.len()).any(|at| slots::pin(s, at).is_some()) {
            return None;
        }
        let intents = shares.iter().filter_map(|(class, _)| self.intents.get(*self.classes.get(*class)?.first()?));
        let moves = |intent: &&Intent| self.risk_of(intent) == Some(Risk::Actuate);
        intents.filter(|intent| !intent.is_own()).find(moves).map(|intent| self.say_plainly(intent, s, why))
    }

    /// The consequence of a guess: a read-only call, a confirmation, or an explanation; `None` if not likely enough.
    fn act_on_guess(&self, meant: &SemanticMatch, s: &Sentence, why: &str) -> Option<Classification> {
        let SemanticMatch { intent, guess, share } = meant;
        let arguments = with_fixed(intent, &guess.arguments);
        let risk = self.risk_of(intent)?;
        if risk == Risk::Observe {
            // Memory is asked the whole question; anything but a question is rarely meant for it.
            if intent.tool == MEMORY {
                return self.question(s);
            }
            let complete = confirmation::lacks(intent, &arguments).is_none() && !guess.turned;
            let (least, covers) = if guess.strange { (MIN_SHARE_STRANGE, COVERS) } else { (MIN_SHARE, COVERS) };
            let sure = *share >= least && share * guess.covers >= covers && complete;
            return sure.then(|| call(intent, arguments, Stage::Meaning, *share, why.to_owned()));
        }
        let moves = !matches!(risk, Risk::Write | Risk::Destroy);
        if *share < ASKS || share * guess.covers < ASKS_COVERS || only_asks(s) || moves && opens_question(s) {
            return None;
        }
        if !moves && share * guess.covers < MIN_SHARE_MISSING && confirmation::lacks(intent, &arguments).is_some() {
            return None;
        }
        if guess.turned {
            return Some(self.say_plainly(intent, s, why));
        }
        Some(self.changing(intent, arguments, s, *share, why))
    }

    /// The likely intent that covers most of the sentence.
    fn meant(&self, shares: &[(&str, f32)], reader: &mut Reader) -> Option<SemanticMatch<'a>> {
        let tool_of = |class: &str| class.split(' ').next().unwrap_or_default().to_owned();
        let mut tools: HashMap<String, f32> = HashMap::new();
        for (class, share) in shares {
            *tools.entry(tool_of(class)).or_insert(0.0) += share;
        }
        let none = tools.get(NONE).copied().unwrap_or_default();
        let mut best: Option<(f32, SemanticMatch)> = None;
        for (class, share) in shares.iter().take(CANDIDATES) {
            let here = |i: &&usize| self.intents.get(**i).is_some_and(|intent| self.risk_of(intent).is_some());
            let of: Vec<usize> = self.classes.get(*class).into_iter().flatten().filter(here).copied().collect();
            let tool = tools.get(&tool_of(class)).copied().unwrap_or_default();
            if of.is_empty() || *class == NONE || tool < none {
                continue;
            }
            let Some((i, guess)) = reader.best(self.intents, &of) else { continue };
            // Intents of one tool differ in words such as "on" and "off".
            let worth = 0.5 * (tool.max(1e-6).ln() + share.max(1e-6).ln()) + COVERAGE_WEIGHT * guess.covers;
            let intent = &self.intents[i];
            if best.as_ref().is_none_or(|(b, _)| worth > *b) {
                best = Some((worth, SemanticMatch { intent, guess, share: tool }));
            }
        }
        best.map(|(_, meant)| meant)
    }

    /// A change that no template matches: confirm it, or explain how to phrase it.
    fn changing(
        &self,
        intent: &Intent,
        arguments: Map<String, Value>,
        s: &Sentence,
        share: f32,
        why: &str,
    ) -> Classification {
        let why = format!("like {}, but {why}", intent.tool);
        // Anything that moves, runs or leaves the house is never done on a "yes", which may answer something else.
        if !matches!(self.risk_of(intent), Some(Risk::Write | Risk::Destroy)) {
            return self.say_plainly(intent, s, &why);
        }
        let missing = confirmation::lacks(intent, &arguments)
            .map(|(name, kind)| confirmation::missing(name, kind, self.example(intent)));
        if let Some(say) =
            missing.or_else(|| empty_content::empty_argument(&arguments).map(|name| self.what(intent, name)))
        {
            return Classification { stage: Stage::Missing, confidence: share, ..unknown(say, &why) };
        }
        let wording = self.intents.iter().filter(|i| i.tool == intent.tool).find_map(|i| i.asked.as_deref());
        let wording = intent.asked.as_deref().or(wording);
        let say = confirmation::question(&intent.tool, wording, &arguments, self.now);
        let proposes = Some((intent.tool.clone(), Value::Object(arguments)));
        Classification { proposes, stage: Stage::Asked, confidence: share, ..unknown(say, &why) }
    }

    /// An example sentence of an intent.
    fn example<'i>(&'i self, intent: &'i Intent) -> Option<&'i str> {
        let same = self.intents.iter().filter(|i| i.tool == intent.tool);
        std::iter::once(intent).chain(same).find_map(|i| i.shown.first()).map(String::as_str)
    }

    /// The question for an argument without content.
    fn what(&self, intent: &Intent, name: &str) -> String {
        if intent.tool == "remember" {
            return builtin_replies::answer("/remember", &[]);
        }
        confirmation::missing(name, slots::Kind::Text, self.example(intent))
    }

    fn say_plainly(&self, intent: &Intent, s: &Sentence, why: &str) -> Classification {
        let pin = (0..s.len()).find_map(|at| slots::pin(s, at)).map(|(_, pin)| pin);
        let say = builtin_replies::plain_wording_reply(intent, pin, s.mentions(&["not", "never"]));
        Classification { stage: Stage::Plainly, ..unknown(say, why) }
    }

    /// A question about anything else is searched in memory.
    fn question(&self, s: &Sentence) -> Option<Classification> {
        let asks = opens_question(s) || (s.asks && !s.requests);
        if !asks || (self.risk)(MEMORY) != Some(Risk::Observe) {
            return None;
        }
        let arguments = Value::Object(Map::from_iter([("query".to_owned(), Value::from(s.rest()))]));
        let why = "a question about something else is looked up in memory".to_owned();
        let tool = Some(MEMORY.into());
        let (stage, confidence) = (Stage::Question, 0.5);
        Some(Classification { tool, arguments, say: None, proposes: None, stage, confidence, why, sure: false })
    }
}

/// The tool that searches memory.
const MEMORY: &str = "recall";

/// Words that start a question besides the question words.
const OPENINGS: &[&str] = &[
    "did", "does", "do", "is", "are", "was", "were", "am", "has", "have", "had", "should", "shall", "may", "might",
    "must", "can", "could", "would", "will",
];

/// Whether its first word starts a question.
fn opens_question(s: &Sentence) -> bool {
    let first = s.word(0);
    let orders = first == "do" && ["not", "it", "that", "this"].contains(&s.word(1)) || first == "if";
    // "when I come home, …" is a condition; "when is …" and "do you know when …" are questions.
    let orders = orders || first == "when" && !s.asks && !OPENINGS.contains(&s.word(1));
    let tells = s.has(0, &["tell", "me"]) || s.has(0, &["do", "you", "know"]) || s.has(0, &["any", "idea"]);
    !orders && (QUESTION_WORDS.contains(&first) || OPENINGS.contains(&first) || (tells && s.word(2) == "about"))
}

/// Whether it only asks about something: "why …", "did I …"; "can we put milk on the list?" is a request.
fn only_asks(s: &Sentence) -> bool {
    const WANTS: &[&str] = &["can", "could", "would", "will", "shall", "may", "might", "should"];
    opens_question(s) && !(WANTS.contains(&s.word(0)) && ["we", "i", "you", "somebody", "someone"].contains(&s.word(1)))
}

fn with_fixed(intent: &Intent, said: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = intent.fixed.clone();
    arguments.extend(said.clone());
    arguments
}

fn call(intent: &Intent, arguments: Map<String, Value>, stage: Stage, confidence: f32, why: String) -> Classification {
    let (tool, arguments) = (Some(intent.tool.clone()), Value::Object(arguments));
    Classification { tool, arguments, say: None, proposes: None, stage, confidence, why, sure: false }
}

/// A sentence of its own.
pub(crate) fn fixed_reply(say: &str, why: &str) -> Classification {
    let (say, why) = (Some(say.to_owned()), why.to_owned());
    let (stage, arguments) = (Stage::Template, Value::Null);
    Classification { tool: None, arguments, say, proposes: None, stage, confidence: 1.0, why, sure: true }
}

/// An answer of its own to a sentence that a template fits.
fn spoken_reply(say: String, why: String) -> Classification {
    Classification { stage: Stage::Template, confidence: 1.0, ..unknown(say, &why) }
}

fn unknown(say: String, why: &str) -> Classification {
    let (stage, arguments, why) = (Stage::Unknown, Value::Null, why.to_owned());
    Classification { tool: None, arguments, say: Some(say), proposes: None, stage, confidence: 0.0, why, sure: false }
}
