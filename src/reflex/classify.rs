//! Classifies a sentence: tool, arguments, the stage that found them, and the confidence.

use crate::{
    builtin_replies,
    classification::{Classification, Stage, spoken_reply, unknown},
    days,
    devices::{self, Device},
    direct, emergency, empty_content,
    head::Head,
    items,
    keeping::Reader,
    knows, lead_time,
    meaning::Meaning,
    pattern::{Fit, Matcher},
    phrases::{Intent, Template},
    rules,
    sentence::{MOST_TOKENS, Sentence},
    span,
    spelling::Spelling,
    stance::opens_question,
    wording, world,
};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::sync::Arc;
use tool::Risk;

/// Least probability of a tool for a change without a question, which `undo` takes back.
pub(crate) const CHANGES: f32 = 0.85;

/// Least probability of a change that is asked about in place of a general reply ("Say what it is …").
const PROPOSES: f32 = 0.5;

/// The context of a classification.
pub(crate) struct Classifier<'a> {
    pub intents: &'a [Intent],
    pub head: &'a Head,
    pub spelling: &'a Spelling,
    pub meaning: &'a Meaning,
    pub risk: &'a (dyn Fn(&str) -> Option<Risk> + Send + Sync),
    pub now: &'a Zoned,
    /// What is connected to the pins.
    pub devices: Vec<Device>,
    /// What is in the home.
    pub home: Option<Arc<things::Home>>,
    /// Whether the position of the home is known.
    pub is_placed: bool,
}

/// A matching template.
struct TemplateMatch<'a> {
    intent: &'a Intent,
    template: &'a Template,
    fit: Fit,
    /// Whether the sentence, read this way, is a question.
    asks: bool,
}

impl<'a> Classifier<'a> {
    /// Classifies a text: an event with a beginning and an end, or any other sentence.
    pub async fn classify(&self, text: &str) -> Classification {
        if let Some(placed) = self.about_answers(text) {
            return placed;
        }
        if let Some((begins, end)) = span::without_end(&Sentence::read(text)) {
            let mut placed = self.classify_one(&begins).await;
            let event = |tool: &str| tool.ends_with("calendar_event");
            let Classification { tool, arguments, proposes, .. } = &mut placed;
            let arguments = match (tool, proposes) {
                (Some(tool), _) if event(tool) => Some(arguments),
                (None, Some((tool, arguments))) if event(tool) => Some(arguments),
                _ => None,
            };
            let ends = |arguments: &mut Value| {
                let end = span::end_of(&arguments["startTime"], end);
                end.is_some_and(|end| {
                    arguments.as_object_mut().map(|it| it.insert("endTime".to_owned(), end)).is_some()
                })
            };
            if arguments.is_some_and(ends) {
                placed.more.iter_mut().filter(|(tool, _)| event(tool)).for_each(|(_, arguments)| {
                    ends(arguments);
                });
                return placed;
            }
        }
        if let Some((event, minutes)) = lead_time::without_reminder(text) {
            let placed = self.classify_one(&event).await;
            if let Some(placed) = lead_time::with_reminder(placed, minutes) {
                return placed;
            }
        }
        self.classify_one(text).await
    }

    /// Classifies a text; the stages run in order of reliability.
    async fn classify_one(&self, text: &str) -> Classification {
        let sentence = Sentence::read(text);
        let placed = self.objected(self.classify_whole(text).await, &sentence);
        if is_not_spent(&placed, &sentence) || is_not_to_be_known(&placed, &sentence) {
            return unknown(builtin_replies::unknown(&self.examples()), "it says the contrary");
        }
        let asks = |placed: &Classification| placed.proposes.as_ref().is_some_and(|(tool, _)| tool != "remember");
        let acts = |placed: &Classification| placed.tool.is_some() || asks(placed);
        if acts(&placed) && placed.stage != Stage::Question || placed.stage == Stage::Plainly {
            return placed;
        }
        // "chuck the old bookmark, we're staying put" is understood without its reason.
        for part in wording::without_asides(text) {
            let again = self.objected(self.classify_whole(part).await, &sentence);
            if acts(&again) && again.stage != Stage::Question {
                return Classification { sure: false, ..again };
            }
        }
        let s = Sentence::read(text);
        let onto = Reader { s: &s, now: self.now, risk: self.risk }.onto_an_unknown_list();
        match onto.filter(|_| placed.stage == Stage::Unknown) {
            Some(arguments) => self.asked("add_task", arguments, &s, PROPOSES, "onto what may be a list"),
            None => placed,
        }
    }

    /// Classifies a text with all its words.
    async fn classify_whole(&self, text: &str) -> Classification {
        let s = Sentence::read(text);
        if s.len() == 0 || s.len() > MOST_TOKENS {
            return unknown(builtin_replies::unreadable_reply(s.len() > 0), "there is nothing to read, or too much");
        }
        let keeping = Reader { s: &s, now: self.now, risk: self.risk };
        let first = self
            .emergency(&s)
            .or_else(|| self.at_home(&s))
            .or_else(|| direct::before_templates(&s, self.now).and_then(|reading| self.looked_up(reading)));
        if let Some(placed) = first {
            return placed;
        }
        // Templates take all money for spent.
        if let Some(income) = self.noted(&s).filter(|noted| noted.arguments["income"] == true) {
            return income;
        }
        let by_parts = self.by_parts(&s);
        if let Some(placed) = self.by_form(&s, &keeping) {
            // Which event a deletion by its title would mean is not known: one of another day may have the same.
            if by_parts.as_ref().is_some_and(Classification::is_called_off) && about_an_event(&placed) {
                return by_parts.unwrap_or(placed);
            }
            // A template leaves words of the time in a reminder's text.
            return by_parts.filter(|parts| shortens(parts, &placed)).unwrap_or(placed);
        }
        if let Some(placed) = by_parts.or_else(|| keeping.told()) {
            return placed;
        }
        if let Some(topic) = direct::asks_for_help(&s) {
            let arguments = Map::from_iter(topic.map(|topic| ("topic".to_owned(), topic.into())));
            let name = if arguments.is_empty() { "/help" } else { "/topic" };
            let say = builtin_replies::answer(name, &arguments, &self.examples());
            return spoken_reply(say, "a question how to use it".to_owned());
        }
        if let Some(placed) = direct::asked(&s, self.now).and_then(|reading| self.looked_up(reading)) {
            return placed;
        }
        let corrected = self.spelling.corrected(&s);
        let (placed, why) = self.by_meaning(corrected.as_ref().unwrap_or(&s)).await;
        if placed.as_ref().is_none_or(|placed| placed.tool.is_none())
            && let Some(several) = self.likely_commands(&s).await
        {
            return several;
        }
        let vague = self.by_vague_template(&s);
        let certain = |placed: &Classification| match (&placed.tool, &placed.proposes) {
            (Some(tool), _) => placed.confidence >= CHANGES && (self.risk)(tool) != Some(Risk::Observe),
            (None, Some((tool, _))) => placed.confidence >= PROPOSES && (self.risk)(tool) != Some(Risk::Observe),
            _ => false,
        };
        // A model may be able to, so this counts as not understood.
        let beyond = self.the_weather(&s).or_else(|| {
            direct::refused(&s, &|tool| self.has(tool)).map(|say| unknown(say.to_owned(), "beyond its reach"))
        });
        let noted = self.noted(&s);
        // A reading or a step that is plainly said is no task.
        if let Some(reading) =
            noted.clone().filter(|noted| noted.tool.as_deref().is_some_and(|tool| tool != "add_expense"))
        {
            return reading;
        }
        let only_asks = |placed: &Classification| placed.tool.is_none();
        let nothing = |placed: &Classification| placed.tool.is_none() && placed.proposes.is_none();
        let placed = placed.filter(|placed| match &noted {
            Some(noted) => !nothing(placed) && (!only_asks(placed) || only_asks(noted)),
            None => true,
        });
        placed
            .filter(|placed| vague.is_none() && beyond.is_none() || certain(placed) && beyond.is_none() || placed.sure)
            .or(beyond)
            .or(noted)
            .or(vague)
            .or_else(|| self.question(&s))
            .unwrap_or_else(|| unknown(builtin_replies::unknown(&self.examples()), &why))
    }

    /// A reading of the words alone: a reply, or a call of a tool that only looks.
    fn looked_up(&self, reading: direct::Reading) -> Option<Classification> {
        const WHY: &str = "read from its words";
        let (tool, arguments) = match reading {
            direct::Reading::Say(say) => return Some(spoken_reply(say, WHY.to_owned())),
            direct::Reading::Call(tool, arguments) => (tool, arguments),
        };
        (self.risk)(tool).filter(|risk| *risk == Risk::Observe)?;
        let call = Classification { tool: Some(tool.to_owned()), arguments, ..unknown(String::new(), WHY) };
        Some(Classification { stage: Stage::Words, confidence: 0.95, ..call }.speechless())
    }

    /// How the person wants to be answered: "call me Sam", "answer in German". Goes into their profile.
    fn about_answers(&self, text: &str) -> Option<Classification> {
        const TOOL: &str = "update_profile";
        let all = persona::statements(text);
        (self.risk)(TOOL).filter(|risk| *risk == Risk::Write && !all.is_empty())?;
        // Other sentences of the message are for the other stages.
        let whole = all.iter().all(persona::Statement::is_addressed) && all.len() == persona::sentence_count(text);
        let made = unknown(String::new(), "how they want to be answered");
        let call =
            Classification { tool: Some(TOOL.to_owned()), arguments: persona::Statement::arguments(&all), ..made };
        whole.then(|| Classification { stage: Stage::Template, confidence: 1.0, sure: true, ..call }.speechless())
    }

    /// A reading or a sum of money to be noted down.
    fn noted(&self, s: &Sentence) -> Option<Classification> {
        let change = direct::changes(s, self.now).filter(|change| (self.risk)(change.tool) == Some(Risk::Write))?;
        let Value::Object(arguments) = change.arguments else { return None };
        if !change.sure {
            return Some(self.changing(change.tool, arguments, None, s, CHANGES, "it may be one"));
        }
        let arguments = Value::Object(arguments);
        let made = unknown(String::new(), "read from its words");
        let call = Classification { tool: Some(change.tool.to_owned()), arguments, ..made };
        Some(Classification { stage: Stage::Meaning, confidence: CHANGES, ..call }.speechless())
    }

    /// Classifies by templates only.
    pub fn classify_literal(&self, text: &str) -> Option<Classification> {
        let s = Sentence::read(text);
        if !(1..=MOST_TOKENS).contains(&s.len()) {
            return None;
        }
        let keeping = Reader { s: &s, now: self.now, risk: self.risk };
        self.by_form(&s, &keeping).filter(|placed| placed.sure)
    }

    /// The stages that need no embedding.
    fn by_form(&self, s: &Sentence, keeping: &Reader) -> Option<Classification> {
        self.emergency(s)
            .or_else(|| devices::first::classified(s, &self.devices, self.home.as_deref(), &|tool| self.has(tool)))
            .or_else(|| self.a_rule(s))
            .or_else(|| self.of_devices(s))
            .or_else(|| self.a_rule_of_strangers(s))
            .or_else(|| keeping.labelled())
            .or_else(|| self.commands(s))
            .or_else(|| self.of_the_world(s))
            .or_else(|| keeping.listed())
            .or_else(|| self.by_template_alone(s))
            .or_else(|| {
                let nothing = || devices::which(s, &self.devices).or_else(|| devices::nothing_called(s, &self.devices));
                self.has("gpio_write").then(nothing)?
            })
    }

    /// Somebody needs help at once.
    pub fn emergency(&self, s: &Sentence) -> Option<Classification> {
        emergency::classified(s, self.has("notify"), self.now)
    }

    /// A command or question about what is connected to the pins.
    fn of_devices(&self, s: &Sentence) -> Option<Classification> {
        let pins = || devices::classified(s, &self.devices, None, self.now);
        let placed = self.at_home(s).or_else(pins).or_else(|| self.of_things(s))?;
        let called = placed.tool.iter().chain(placed.more.iter().map(|(tool, _)| tool)).all(|tool| self.has(tool));
        called.then_some(placed)
    }

    fn a_rule(&self, s: &Sentence) -> Option<Classification> {
        let placed = rules::classified(s, &self.devices).filter(|_| self.has("create_rule"))?;
        Some(knows::placed_only(placed, self.is_placed))
    }

    /// A rule about things that are not here.
    fn a_rule_of_strangers(&self, s: &Sentence) -> Option<Classification> {
        let is_here = |name: &str| self.home.as_ref().is_some_and(|home| home.resolve(name, &|_| true).is_ok());
        self.has("create_rule").then(|| rules::of_strangers(s, &self.devices, &is_here, self.is_placed))?
    }

    /// A command or question about things, where the home is more than pins: these have sentences of their own.
    fn at_home(&self, s: &Sentence) -> Option<Classification> {
        self.home.as_ref().filter(|home| home.is_beyond_pins())?;
        self.of_things(s)
    }

    fn of_things(&self, s: &Sentence) -> Option<Classification> {
        let home = self.home.as_ref().filter(|_| self.has("control_thing"))?;
        let placed = devices::home::classified(s, home, None, self.now)?;
        let fits = placed.proposes.as_ref().is_none_or(|(tool, _)| self.has(tool));
        fits.then(|| knows::placed_only(placed, self.is_placed))
    }

    pub fn has(&self, tool: &str) -> bool {
        (self.risk)(tool).is_some()
    }

    /// The weather, translations, pages, documents, searches and mail; or what is missing for it.
    fn of_the_world(&self, s: &Sentence) -> Option<Classification> {
        const WHY: &str = "a sentence about the world";
        let (first, then) = match world::read(s, self.now)? {
            world::Ask::Calls { first, then } => (first, then),
            world::Ask::Say(say) => return Some(spoken_reply(say.to_owned(), WHY.to_owned())),
        };
        let lacks = |tool: &&str| !self.has(tool);
        let missing = first.iter().map(|(tool, _)| *tool).chain(then).find(lacks).and_then(world::missing);
        if let Some(say) = missing {
            return Some(spoken_reply(say.to_owned(), WHY.to_owned()));
        }
        let fits = |tool: &str| matches!((self.risk)(tool), Some(Risk::Observe | Risk::Write));
        let mut calls = first.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments));
        let (tool, arguments) = calls.next().filter(|(tool, _)| fits(tool))?;
        let more: Vec<_> = calls.collect();
        let call = Classification {
            tool: Some(tool),
            arguments,
            stage: Stage::Template,
            confidence: 1.0,
            sure: true,
            ..unknown(String::new(), WHY)
        };
        more.iter().all(|(tool, _)| fits(tool)).then(|| Classification { more, ..call }.speechless())
    }

    /// The weather, asked for in words that are not all understood.
    fn the_weather(&self, s: &Sentence) -> Option<Classification> {
        const WHY: &str = "the weather, with other words around it";
        let looks = |tool: &str| (self.risk)(tool) == Some(Risk::Observe);
        // "the weather is nice" asks for nothing.
        let asks = s.asks || s.requests || opens_question(s) || world::asks_for_weather(s);
        if !asks || !direct::is_weather(s) || !looks("get_weather") {
            return None;
        }
        let (tool, arguments) = match world::weather_among_others(s, self.now) {
            world::Ask::Calls { first, .. } => first.into_iter().next().filter(|(tool, _)| looks(tool))?,
            world::Ask::Say(say) => return Some(spoken_reply(say.to_owned(), WHY.to_owned())),
        };
        let call = Classification { tool: Some(tool.to_owned()), arguments, ..unknown(String::new(), WHY) };
        Some(Classification { stage: Stage::Words, confidence: 0.6, ..call }.speechless())
    }

    /// The same for a sentence that is one command.
    pub fn by_template_alone(&self, s: &Sentence) -> Option<Classification> {
        let found = self.found(s);
        // A generic "remind me …" reply is right only if no misspelling hid the rest, and nothing better is known.
        // "help with undoing" names a topic of help, and is no command of it.
        let is_topic = |f: &TemplateMatch| {
            f.intent.tool == "/topic" && builtin_replies::is_whole(&f.intent.tool, &f.fit.arguments)
        };
        let vague = |f: &TemplateMatch| f.intent.is_own() && f.fit.definite < s.len() && !is_topic(f);
        if let Some(found) = found.as_ref().filter(|f| !vague(f)) {
            return Some(self.by_template(found, s));
        }
        if let Some(corrected) = &self.spelling.corrected(s)
            && let Some(fixed) = self.found(corrected).filter(|f| !f.intent.is_own())
        {
            return Some(self.by_corrected(&fixed, corrected));
        }
        let phrase = days::no_such_day(s)?;
        Some(spoken_reply(builtin_replies::no_such_day(&phrase), "a day that never comes".to_owned()))
    }

    /// A reply to any words after "remind me", where nothing better is known.
    fn by_vague_template(&self, s: &Sentence) -> Option<Classification> {
        self.found(s).filter(|found| found.intent.is_own()).map(|found| self.by_template(&found, s))
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
            let say = say.unwrap_or_else(|| builtin_replies::answer(&intent.tool, &fit.arguments, &self.examples()));
            return Classification {
                sure: builtin_replies::is_whole(&intent.tool, &fit.arguments),
                ..spoken_reply(say, why)
            };
        }
        let arguments = with_fixed(intent, &fit.arguments);
        let changes = self.risk_of(intent).is_some_and(Risk::changes_something);
        if let Some(name) = empty_content::empty_argument(&arguments).filter(|_| changes) {
            return spoken_reply(self.what(&intent.tool, name), why);
        }
        // "turn on pin 17?" is ambiguous; only a request ("could you …?") or a plain command moves anything.
        if changes && *asks && !s.requests {
            return match opens_question(s) {
                true => self
                    .question(s)
                    .unwrap_or_else(|| unknown(builtin_replies::unknown(&self.examples()), "a question")),
                false => self.changing(&intent.tool, arguments, None, s, 1.0, "it is a question"),
            };
        }
        let mut calls = items::calls(&intent.tool, &arguments, &[], self.risk).into_iter();
        let (tool, arguments) = calls.next().unwrap_or_else(|| (intent.tool.clone(), Value::Object(arguments)));
        let more = calls.collect();
        let first = Classification {
            tool: Some(tool),
            arguments,
            stage: Stage::Template,
            confidence: 1.0,
            ..unknown(String::new(), &why)
        };
        Classification { more, sure: true, ..first.speechless() }
    }

    /// After spelling correction, changes need confirmation.
    fn by_corrected(&self, found: &TemplateMatch, s: &Sentence) -> Classification {
        let TemplateMatch { intent, template, fit, .. } = found;
        let arguments = with_fixed(intent, &fit.arguments);
        let why = format!("template {}, slips corrected: {}", template.place, template.text);
        match self.risk_of(intent) {
            Some(Risk::Observe) => Classification {
                tool: Some(intent.tool.clone()),
                arguments: Value::Object(arguments),
                stage: Stage::Words,
                confidence: 0.9,
                ..unknown(String::new(), &why)
            }
            .speechless(),
            _ => self.changing(&intent.tool, arguments, None, s, 0.9, "slips were corrected"),
        }
    }

    /// A question about anything else is answered from what is stored.
    pub fn question(&self, s: &Sentence) -> Option<Classification> {
        let asks = opens_question(s) || (s.asks && !s.requests);
        if !asks || (self.risk)(ANSWERS) != Some(Risk::Observe) {
            return None;
        }
        let arguments = Value::Object(Map::from_iter([("question".to_owned(), Value::from(s.rest()))]));
        let why = "a question about something else is looked up in memory".to_owned();
        let tool = Some(ANSWERS.into());
        let (stage, confidence) = (Stage::Question, 0.5);
        Some(Classification { tool, arguments, stage, confidence, ..unknown(String::new(), &why) }.speechless())
    }
}

/// Whether an event, and nothing else, is changed or asked about.
fn about_an_event(placed: &Classification) -> bool {
    let mut called =
        placed.tool.iter().chain(placed.more.iter().chain(&placed.proposes).map(|(tool, _)| tool)).peekable();
    called.peek().is_some() && called.all(|tool| tool.ends_with("_calendar_event"))
}

/// "forget that Ben likes coffee" is not "don't forget that Ben likes coffee".
fn is_not_to_be_known(placed: &Classification, s: &Sentence) -> bool {
    s.word(0) == "forget" && placed.tool.as_deref() == Some("remember")
}

/// "I nearly spent 80", "I need to pay 8 for parking": no money has gone, unless one asks to note it.
fn is_not_spent(placed: &Classification, s: &Sentence) -> bool {
    const NOT_YET: &[&str] = &[
        "almost", "nearly", "could", "would", "want", "wants", "plan", "planning", "usually", "never", "thought",
        "forgot", "need", "needs", "will", "might", "should", "if", "like", "hope", "must",
    ];
    const NOTES: &[&str] = &["log", "add", "record", "note", "put", "enter", "track"];
    let spends = |tool: &str| tool == "add_expense";
    let proposed = placed.proposes.as_ref().is_some_and(|(tool, _)| spends(tool));
    (placed.tool.as_deref().is_some_and(spends) || proposed) && s.mentions(NOT_YET) && !s.mentions(NOTES)
}

/// Whether it is the same reminder with less of the sentence in its text.
fn shortens(parts: &Classification, placed: &Classification) -> bool {
    let text = |of: &Classification| {
        let reminds = of.tool.as_deref() == Some("create_scheduled_task") && of.arguments.get("prompt").is_none();
        of.arguments["message"].as_str().filter(|_| reminds).map(str::to_owned)
    };
    let (Some(short), Some(long)) = (text(parts), text(placed)) else { return false };
    short.len() < long.len() && long.starts_with(&short) && placed.more.is_empty()
}

/// The tool that searches memory.
pub(crate) const MEMORY: &str = "recall";
/// The tool that answers a question with one stored fact.
pub(crate) const ANSWERS: &str = "answer_question";

fn with_fixed(intent: &Intent, said: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = intent.fixed.clone();
    arguments.extend(said.clone());
    arguments
}
