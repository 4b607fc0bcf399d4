//! Placing a sentence: which tool it asks for, with which arguments, found how, and how sure.

use crate::{
    days,
    guess::{self, Examples, Near},
    hollow, own,
    pattern::{self, Fit},
    phrases::{Intent, Template},
    sentence::{MOST_TOKENS, QUESTION_WORDS, Sentence},
    slots,
};
use jiff::Zoned;
use serde_json::{Map, Value};
use tool::Risk;

/// Where a sentence belongs.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The tool to call; `None` where `reflex` answers itself.
    pub tool: Option<String>,
    /// The arguments, a JSON object.
    pub arguments: Value,
    /// The answer, where no tool is called.
    pub say: Option<String>,
    /// How it was found.
    pub stage: Stage,
    /// How sure, from 0 to 1; a template is always sure.
    pub confidence: f32,
    /// The template, example or rule that decided.
    pub why: String,
}

/// The ways of placing a sentence, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A template fits the whole sentence.
    Template,
    /// Its words are nearly those of an example.
    Words,
    /// Its words and meaning are near an example.
    Meaning,
    /// It is a question about something else: memory is asked.
    Question,
    /// It is near something that would change things; it is told how to say that plainly.
    Plainly,
    /// Nothing fits.
    Unknown,
}

/// How near an example must be by words alone, and how far ahead of another tool's.
const WORDS_NEAR: f32 = 0.8;
const WORDS_AHEAD: f32 = 0.15;
/// From here on the words are those of the example, and any lead will do.
const SAME: f32 = 0.97;
/// How near by words and meaning together: where the tool's examples have all the words; where they do not, since "how
/// full is the water tank" is near "how full is your disk"; and where they do not but a pin, a sum or a measure was
/// found. Calibrated on `tests/golden/reflex.tsv`.
const MEANING_NEAR: f32 = 0.56;
const MEANING_NEAR_STRANGE: f32 = 0.78;
const MEANING_NEAR_FILLED: f32 = 0.66;
const MEANING_AHEAD: f32 = 0.1;
/// From here on a sentence is taken for a try at something that changes things.
const TRIED_NEAR: f32 = 0.45;
/// Longer sentences say more than one thing; nothing is guessed from them.
const MOST_GUESSED: usize = 24;

/// What `place` needs to know.
pub(crate) struct Places<'a> {
    pub intents: &'a [Intent],
    pub examples: &'a Examples,
    pub risk: &'a (dyn Fn(&str) -> Option<Risk> + Send + Sync),
    pub now: &'a Zoned,
}

impl Places<'_> {
    /// Places a text; the order of the stages is the order of trust.
    pub async fn place(&self, text: &str) -> Placed {
        let s = Sentence::read(text);
        if s.len() == 0 || s.len() > MOST_TOKENS {
            return unknown(own::unread(s.len() > 0), "there is nothing to read, or too much");
        }
        if let Some(placed) = self.by_template(&s) {
            return placed;
        }
        if let Some(phrase) = days::no_such_day(&s) {
            return said(own::no_such_day(&phrase), "a day that never comes".to_owned());
        }
        let guessable = s.len() <= MOST_GUESSED && !s.mentions(TURNS);
        let near = self.examples.by_words(&s, self.now, self.intents);
        if let Some(placed) = near.as_ref().filter(|_| guessable).and_then(|n| self.by_words(n, &s)) {
            return placed;
        }
        let tried = if opens_question(&s) { None } else { self.tried(&s) };
        let nearest = near.map_or(0.0, |near| near.score);
        if let Some(tried) = tried.as_ref().filter(|tried| tried.score >= nearest) {
            return self.plainly(tried, &s);
        }
        if guessable
            && let Some(near) = self.examples.by_meaning(&s, self.now, self.intents).await
            && let Some(placed) = self.by_meaning(&near, &s)
        {
            return placed;
        }
        if let Some(tried) = &tried {
            return self.plainly(tried, &s);
        }
        self.question(&s).unwrap_or_else(|| unknown(own::unknown(&self.shown()), "no template or example is near"))
    }

    /// The risk of a tool that exists here.
    fn risk_of(&self, intent: &Intent) -> Option<Risk> {
        if intent.is_own() { Some(Risk::Observe) } else { (self.risk)(&intent.tool) }
    }

    /// The sentences that show what can be said here, by tool.
    pub fn shown(&self) -> Vec<(&str, &str)> {
        let here = self.intents.iter().filter(|i| !i.is_own() && self.risk_of(i).is_some());
        here.flat_map(|i| i.shown.iter().map(|shown| (i.tool.as_str(), shown.as_str()))).collect()
    }

    /// The template that fits with the most definite words; among equals the first.
    fn by_template(&self, s: &Sentence) -> Option<Placed> {
        // "thank you very much" is all courtesy; but "remind me what …" is a question, and no reminder.
        let (curt, whole) = (s.curt(), (!s.wonders).then(|| Sentence::whole(&s.text)));
        let mut best: Option<(&Intent, &Template, Fit)> = None;
        for sentence in std::iter::once(s).chain(&curt).chain(&whole) {
            for intent in self.intents.iter().filter(|i| self.risk_of(i).is_some()) {
                for template in intent.templates.iter().filter(|t| !t.example_only) {
                    let Some(fit) = pattern::fit(&template.nodes, sentence, self.now) else { continue };
                    if best.as_ref().is_none_or(|(.., b)| fit.definite > b.definite) {
                        best = Some((intent, template, fit));
                    }
                }
            }
        }
        let (intent, template, fit) = best?;
        let why = format!("template {}: {}", template.place, template.text);
        if intent.is_own() {
            let say = own::told(&intent.tool, &fit.arguments, self.now);
            return Some(said(say.unwrap_or_else(|| own::answer(&intent.tool, &self.shown())), why));
        }
        let mut arguments = intent.fixed.clone();
        arguments.extend(fit.arguments);
        if self.risk_of(intent)?.changes_something() && hollow::keeps_nothing(&arguments) {
            return Some(said(own::answer("/remember", &[]), why));
        }
        // "turn on pin 17?" may wonder or want; only a request ("could you …?") or a plain order moves anything.
        if self.risk_of(intent)?.changes_something() && s.asks && !s.requests {
            return (!opens_question(s)).then(|| self.say_plainly(intent, s, "it is a question"));
        }
        Some(call(intent, arguments, Stage::Template, 1.0, why))
    }

    fn by_words(&self, near: &Near, s: &Sentence) -> Option<Placed> {
        self.guessed(near, s, Stage::Words, WORDS_NEAR, WORDS_AHEAD)
    }

    fn by_meaning(&self, near: &Near, s: &Sentence) -> Option<Placed> {
        let slots = self.intents.get(near.intent)?.templates.get(near.template).map(|t| pattern::slots_of(&t.nodes))?;
        let least = match (near.strange, slots.is_empty()) {
            (false, _) => MEANING_NEAR,
            (true, false) => MEANING_NEAR_FILLED,
            (true, true) => MEANING_NEAR_STRANGE,
        };
        self.guessed(near, s, Stage::Meaning, least, MEANING_AHEAD)
    }

    /// A guess is followed only where looking is the worst it can do and nothing it needs is missing.
    fn guessed(&self, near: &Near, s: &Sentence, stage: Stage, least: f32, ahead: f32) -> Option<Placed> {
        let intent = self.intents.get(near.intent)?;
        let template = intent.templates.get(near.template)?;
        let ahead = if near.score >= SAME { 0.0 } else { ahead };
        if near.score < least || near.margin <= ahead || self.risk_of(intent)? != Risk::Observe || intent.is_own() {
            return None;
        }
        // Without a slot nothing but the opening tells a question from a remark: "my disk is full".
        let opens = near.opens || opens_question(s) || ["tell", "give", "show"].contains(&s.word(0));
        if !opens && pattern::slots_of(&template.nodes).is_empty() {
            return None;
        }
        let arguments = guess::fill(&template.nodes, &intent.fixed, s, self.now)?;
        let why =
            format!("near {}: {} ({:.2}, ahead by {:.2})", template.place, template.text, near.score, near.margin);
        Some(call(intent, arguments, stage, near.score, why))
    }

    /// Something that changes things, where the sentence is near it.
    fn tried(&self, s: &Sentence) -> Option<Near> {
        let changes = |i: &Intent| !i.is_own() && self.risk_of(i).is_some_and(Risk::changes_something);
        self.examples.tried(s, self.now, self.intents, changes).filter(|near| near.score >= TRIED_NEAR)
    }

    /// Such a sentence is answered with how to say it plainly.
    fn plainly(&self, near: &Near, s: &Sentence) -> Placed {
        self.say_plainly(&self.intents[near.intent], s, "it is not said plainly")
    }

    fn say_plainly(&self, intent: &Intent, s: &Sentence, why: &str) -> Placed {
        let pin = (0..s.len()).find_map(|at| slots::pin(s, at)).map(|(_, pin)| pin);
        let say = own::plainly(intent, pin, s.mentions(&["not", "never"]));
        let why = format!("like {}, but {why}", intent.tool);
        Placed { tool: None, arguments: Value::Null, say: Some(say), stage: Stage::Plainly, confidence: 0.0, why }
    }

    /// A question about anything else goes to memory.
    fn question(&self, s: &Sentence) -> Option<Placed> {
        let asks = opens_question(s) || (s.asks && !s.requests);
        if !asks || (self.risk)(MEMORY) != Some(Risk::Observe) {
            return None;
        }
        let arguments = Value::Object(Map::from_iter([("query".to_owned(), Value::from(s.rest()))]));
        let why = "a question about something else is looked up in memory".to_owned();
        Some(Placed { tool: Some(MEMORY.into()), arguments, say: None, stage: Stage::Question, confidence: 0.5, why })
    }
}

/// The tool that looks in memory.
const MEMORY: &str = "recall";

/// Words that turn a sentence into another: nothing is guessed beside them.
const TURNS: &[&str] = &[
    "not", "never", "without", "except", "if", "unless", "until", "when", "whenever", "while", "after", "before",
    "every", "each", "should", "must", "remind", "schedule", "timer", "alarm", "stop", "instead", "because",
];

/// Whether its first word opens a question.
fn opens_question(s: &Sentence) -> bool {
    const OTHERS: &[&str] = &[
        "did", "does", "do", "is", "are", "was", "were", "am", "has", "have", "had", "should", "shall", "may", "might",
        "must", "can", "could", "would", "will",
    ];
    let first = s.word(0);
    let orders = first == "do" && ["not", "it", "that", "this"].contains(&s.word(1)) || first == "if";
    // "when I come home, …" is a condition; "when is …" and "do you know when …" are questions.
    let orders = orders || first == "when" && !s.asks && !OTHERS.contains(&s.word(1));
    let tells = s.has(0, &["tell", "me"]) || s.has(0, &["do", "you", "know"]) || s.has(0, &["any", "idea"]);
    !orders && (QUESTION_WORDS.contains(&first) || OTHERS.contains(&first) || (tells && s.word(2) == "about"))
}

fn call(intent: &Intent, arguments: Map<String, Value>, stage: Stage, confidence: f32, why: String) -> Placed {
    let (tool, arguments) = (Some(intent.tool.clone()), Value::Object(arguments));
    Placed { tool, arguments, say: None, stage, confidence, why }
}

/// An answer of its own to a sentence that a template fits.
fn said(say: String, why: String) -> Placed {
    let stage = Stage::Template;
    Placed { tool: None, arguments: Value::Null, say: Some(say), stage, confidence: 1.0, why }
}

fn unknown(say: String, why: &str) -> Placed {
    let (stage, why) = (Stage::Unknown, why.to_owned());
    Placed { tool: None, arguments: Value::Null, say: Some(say), stage, confidence: 0.0, why }
}
