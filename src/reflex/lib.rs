//! Layer 4: a provider without a model. Maps sentences to tool calls and results to sentences; emits calls and never runs them.
//!
//! A message becomes tool calls or one answer; the results of the calls become a sentence. The stages, in order of
//! reliability: a **template** that matches the whole sentence, or each of several commands in it; else a match after
//! **spelling** correction; else the **learned** path, a class by words and meaning with arguments found by a tagger; else a
//! question goes to **memory** (`recall`); else it says that it did not understand. A tool that changes something
//! ([`tool::Risk`] above `Observe`) is called from a template, and from a question ("turn on pin 17?") only if it is a
//! request ("could you turn on pin 17?"); from the learned path only if it is sure and `undo` takes it back. Empty content is
//! not stored ("remember that"), and dates need no tool ("what date is next tuesday"). "It" and "no, I meant 6" are read with
//! the exchange before (`context.rs`).
//!
//! # Phrase files
//! Each family keeps the sentences for its tools beside them, one file per language (`memory.en`), and registers them
//! through [`tool::Family::phrases`]. Lines:
//!
//! ```text
//! # memory.en: a comment; one that begins with a file name and a colon names the file in errors
//! = remember type="fact"                      a heading: the tool, and fixed arguments as key=JSON
//! (remember|note) [that] {content:dated}      a template: it must fit the whole sentence
//! ~ my shoe size you should know              an example for words and meaning only, never a template
//! > remember that the spare key is at Ana's   a sentence that help shows; it must be one a template fits
//! = /help                                     a name with / is answered by reflex itself (`reflex.en`)
//! ```
//! In a template: `(a|b c)` one of these, `[x]` or `[x|y]` may be left out, `{name:kind}` a slot that becomes the
//! argument `name`, `{_:kind}` one that becomes none, `name=(…)` or `name:dated=(…)` the text that these parts span.
//! No punctuation, no politeness and no capitals: they are set aside before matching, contractions opened ("what's" is
//! "what is"). Where several templates fit, or one in several ways, the reading with the most definite words wins, words
//! in slots of a definite kind included; then the first. Kinds of slots:
//!
//! | kind | what it reads | the argument |
//! |---|---|---|
//! | `text`, `dated` | any words; the default | as written; in `dated`, "tomorrow" is followed by its date |
//! | `quoted`, `word` | words in quotation marks; one word | as written |
//! | `number`, `int` | "17", "seventeen", "a", "half a" | number |
//! | `money` | "€12.50", "12 euros 50", "twenty bucks", "50 cents" | number; also `currency` if one was given |
//! | `when` | "tomorrow", "friday at 7", "in 20 minutes", "tonight" | `2026-11-21` or `2026-11-21T19:00` |
//! | `future` | the same, still to come; a day alone is 9 o'clock; also "10 minutes" | `2026-11-21T09:00` |
//! | `wake` | the same where somebody is woken: 4 to 11 are in the morning | `2026-11-21T06:30` |
//! | `date`, `past` | a day, the next or the last of that name | `2026-11-21` |
//! | `time` | "7pm", "half past six", "noon", "in the evening" | `19:00` |
//! | `every` | "every weekday at 6:30", "hourly", "every 2 hours" | `30 6 * * 1-5`, `every 2 hours` |
//! | `duration`, `minutes` | "an hour and a half" | `PT1H30M`; 90 |
//! | `period` | "this month", "so far this year", "in total" | `today`, `this_week`, `this_month`, `last_month`, `this_year`, `all` |
//! | `month` | "october", "last month", "may 2026" | `2026-10`, the latest that has begun |
//! | `person` | "Ana", "dr Huber", "my mum"; one to four words, without 's | as written |
//! | `phone`, `email`, `url` | "0664 1234567", "ana at example dot com" | as written |
//! | `list` | "my shopping list", "shopping" before "list" | `shopping`; none for the to-do list |
//! | `category` | "groceries", "taxi", "rent" | `food`, `transport`, `housing`: the categories of expenses |
//! | `priority` | "urgent", "high priority", "not important" | `urgent`, `high`, `normal`, `low` |
//! | `pin`, `onoff` | "pin 17", "gpio seventeen"; on, high, off, low | 0 to 27; boolean |
//! | `expr`, `unit`, `zone` | arithmetic; a unit; a place | for `calculate`; for `convert_units`; IANA time zone |
//!
//! Days may be stretches ("next week", "october", "the last 30 days"): as `endDate` or `dueBefore` the last day counts, else
//! the first, and `{startDate:date}` brings its `endDate` along unless "from", "since" or "after" stands before it.

// The evaluation in `tests/bench` is shared with the tests.
#[cfg(test)]
extern crate self as reflex;

mod adjust;
mod builtin_replies;
mod classification;
mod classify;
mod compound;
mod confirmation;
mod context;
mod days;
mod devices;
mod direct;
mod emergency;
mod empty_content;
mod error;
mod follow;
mod format_value;
mod framing;
mod goods;
mod hash;
mod head;
mod help;
mod items;
mod keeping;
mod knows;
mod lazy;
mod lead_time;
mod learned;
mod mask;
mod meaning;
mod objection;
mod pattern;
mod phrases;
mod refusal;
mod reply;
mod rules;
mod sentence;
mod slots;
mod span;
mod spelling;
mod stance;
mod tagger;
mod talkback;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_talk;
#[cfg(test)]
mod tests_talkback;
mod timed;
mod whole;
mod wording;
mod world;

pub use classification::{Classification, Stage};
pub use devices::Device;
pub use error::Error;
pub use lazy::lazy;

use classification::{acts, prompt_of};
use classify::Classifier;
use confirmation::Answer;
use context::Context;
use futures::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use head::Head;
use jiff::{ToSpan, Zoned};
use llm::{
    Confidence, Content, Delta, Facts, Kind, Message, Provider, ProviderState, Request, ToolCall, ToolChoice, Usage,
};
use meaning::{Embed, Meaning};
use phrases::Intent;
use sentence::Sentence;
use serde_json::Value;
use spelling::Spelling;
use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};
use talkback::proposal::{self, Reply};
use tool::{Clock, Risk};

/// Built-in intents: help, courtesy, refusals.
const OWN: &str = include_str!("reflex.en");

/// Its provider name.
const NAME: &str = "reflex";
/// Prefix of its call ids.
const IDS: &str = "reflex-";

/// Looks up the risk of an available tool.
type RiskOf = Box<dyn Fn(&str) -> Option<Risk> + Send + Sync>;

/// The built-in provider; cheap to clone.
#[derive(Clone)]
pub struct Reflex(Arc<Inner>);

struct Inner {
    intents: Vec<Intent>,
    head: Head,
    spelling: Spelling,
    meaning: Meaning,
    risk: RiskOf,
    clock: Arc<dyn Clock>,
    known: knows::Known,
    /// The last classification made for a confidence check.
    last_check: Mutex<Option<(String, Zoned, Classification)>>,
}

impl Reflex {
    /// A provider over the families' phrase files. `risk` returns the risk of an available tool, and is consulted for
    /// every sentence: phrases of other tools are skipped. The embedding model is loaded by the first sentence that
    /// needs it.
    ///
    /// # Errors
    /// The first invalid line of a phrase file.
    pub fn new(
        phrases: &[&str],
        risk: impl Fn(&str) -> Option<Risk> + Send + Sync + 'static,
        embedder: embed::Embedder,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let embed: Embed = Arc::new(move |text| {
            let embedder = embedder.clone();
            Box::pin(async move { embedder.embed(&text).await.map_err(|e| e.to_string()) })
        });
        Self::with(phrases, Box::new(risk), embed, clock)
    }

    fn with(phrases: &[&str], risk: RiskOf, embed: Embed, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let mut intents = vec![];
        for (i, text) in phrases.iter().chain(std::iter::once(&OWN)).enumerate() {
            intents.extend(phrases::read(text, i + 1)?);
        }
        let spelling = Spelling::new(&intents);
        let (head, meaning) = (Head::built_in(), Meaning::new(embed));
        let last_check = Mutex::default();
        let known = knows::Known::default();
        Ok(Self(Arc::new(Inner { intents, head, spelling, meaning, risk, clock, known, last_check })))
    }

    /// Classifies a sentence without acting on it.
    pub async fn place(&self, text: &str) -> Classification {
        self.place_at(text, &self.0.clock.local()).await
    }

    async fn place_at(&self, text: &str, now: &Zoned) -> Classification {
        let placed = self.place_framed(text, now).await;
        let Some(prompt) = prompt_of(&placed) else { return placed };
        let then = self.places(now).classify(&prompt).await;
        if then.tool.is_some() && then.stage != Stage::Question {
            return placed;
        }
        let say = format!(
            "I would not understand “{prompt}” at that time, so I have planned nothing. Say it to me now, to see what I can do."
        );
        Classification {
            tool: None,
            proposes: None,
            more: vec![],
            say: Some(say),
            stage: Stage::Missing,
            sure: false,
            ..placed
        }
    }

    /// With what is said around a command, and without.
    async fn place_framed(&self, text: &str, now: &Zoned) -> Classification {
        let places = self.places(now);
        // "the cat's at the vet so can you …": the request is all that is to be done.
        if let Some(request) = framing::request(text) {
            let placed = whole::only_whole(places.classify(&request).await);
            if acts(&placed) {
                return placed;
            }
        }
        let plain = whole::only_whole(places.classify(text).await);
        if acts(&plain) || !matches!(plain.stage, Stage::Unknown | Stage::Question) {
            return plain;
        }
        // "forget that Ben likes coffee" is no way to say that he does.
        if text.trim_start().to_lowercase().starts_with("forget") {
            return plain;
        }
        for core in framing::cores(text, now) {
            let placed = whole::only_whole(places.classify(&core).await);
            if acts(&placed) {
                return placed;
            }
        }
        plain
    }

    /// What is said to the question "Shall I …?" besides a yes or a no: "no, at 6", "and eggs too".
    async fn after_question(&self, text: &str, context: &Context<'_>, now: &Zoned) -> Option<Classification> {
        let exchanges = context.exchanges();
        let asked =
            exchanges.first().filter(|last| last.calls.is_empty() && confirmation::is_question(last.answered))?;
        let placed = self.asked_again(asked.answered, &asked.said, &context.earlier()?, now).await?;
        let (tool, arguments) = placed.proposes.clone()?;
        if confirmation::contradicts(text, &asked.said) {
            return Some(classification::fixed_reply("All right, I leave it.", "it contradicts what was said before"));
        }
        let places = self.places(now);
        let command = |text: &str| places.classify_literal(text).is_some_and(|placed| placed.tool.is_some());
        let proposed = (tool, arguments);
        let reply = proposal::replied(text, &proposed, &exchanges, now, &*self.0.risk, &command)?;
        let goes = |tool: &str| match (self.0.risk)(tool) {
            Some(Risk::Observe) => true,
            Some(Risk::Write) => learned::is_undone(tool),
            _ => false,
        };
        let why = "after the question before";
        let calls = |calls: Vec<(String, Value)>| {
            let mut calls = calls.into_iter();
            let (tool, arguments) = calls.next()?;
            let more = calls.collect();
            Some(Classification {
                tool: Some(tool),
                arguments,
                more,
                say: None,
                ..classification::fixed_reply("", why)
            })
        };
        let agreed = goes(&proposed.0) || text.trim_start().to_lowercase().starts_with('y');
        match reply {
            Reply::Leave => Some(classification::fixed_reply("All right, I leave it.", why)),
            Reply::Agree => calls(std::iter::once(proposed).chain(placed.more).collect()),
            Reply::Instead((tool, arguments)) if goes(&tool) => calls(vec![(tool, arguments)]),
            Reply::Instead((tool, Value::Object(arguments))) => {
                Some(places.changing(&tool, arguments, None, &Sentence::read(text), 1.0, why))
            }
            Reply::Instead(_) => None,
            Reply::Also(more) => calls(std::iter::once(proposed).chain(more).collect()).filter(|_| agreed),
            Reply::Then(rest) => {
                let next = places.classify_literal(&rest)?;
                let more = next.tool.map(|tool| (tool, next.arguments)).into_iter().chain(next.more);
                calls(std::iter::once(proposed).chain(more).collect()).filter(|_| agreed)
            }
        }
    }

    /// The classification of a sentence that led to a question, as of now or of some minutes ago, since "in 20 minutes" was
    /// confirmed as a time.
    async fn asked_again(
        &self,
        question: &str,
        about: &str,
        before: &Context<'_>,
        now: &Zoned,
    ) -> Option<Classification> {
        for ago in 0..=confirmation::MAX_AGE_MINUTES {
            let then = now.checked_sub(ago.minutes()).unwrap_or_else(|_| now.clone());
            let placed = Box::pin(self.in_context(about, before, &then)).await;
            if placed.say.as_deref() == Some(question) {
                return Some(placed);
            }
        }
        None
    }

    fn places<'a>(&'a self, now: &'a Zoned) -> Classifier<'a> {
        let Inner { intents, head, spelling, meaning, risk, known, .. } = &*self.0;
        let (devices, home, is_placed) = (known.devices(), known.home(), known.is_placed());
        Classifier { intents, head, spelling, meaning, risk: &**risk, now, devices, home, is_placed }
    }

    /// Whether it is certain what was meant. Uses words alone, so that no lamp waits for the embedding model to load.
    fn is_sure(&self, request: &Request) -> bool {
        let results = reply::pending(&request.messages);
        if !results.is_empty() {
            return results.iter().all(|result| result.call_id.starts_with(IDS));
        }
        if last_words(request).is_none_or(|said| !kinds(said).is_empty()) {
            return false;
        }
        let said = said_in(request);
        if confirmation::answer(&said).is_some() && confirmation::open_question(&request.messages).is_some() {
            return true;
        }
        let now = self.0.clock.local();
        let Some(placed) = self.places(&now).classify_literal(&said) else { return false };
        // Nor is what would not be understood when it is due.
        if prompt_of(&placed)
            .is_some_and(|prompt| self.places(&now).classify_literal(&prompt).is_none_or(|then| then.tool.is_none()))
        {
            return false;
        }
        // What means something else after the exchange before is not certain.
        if let Some(back) = self.talks_back(&said, &Context::of(&request.messages), &now) {
            return back.tool == placed.tool && back.arguments == placed.arguments && may_call(&placed, request);
        }
        let may = may_call(&placed, request);
        *self.0.last_check.lock().unwrap_or_else(PoisonError::into_inner) = Some((said.into_owned(), now, placed));
        may
    }

    /// Classifies a sentence, reusing the result of a preceding confidence check.
    async fn classify_cached(&self, text: &str, context: &Context<'_>) -> Classification {
        let known = self.0.last_check.lock().unwrap_or_else(PoisonError::into_inner).take();
        let now = self.0.clock.local();
        // The check may have been made without the exchange before.
        if let Some(placed) = self.after_question(text, context, &now).await {
            return placed;
        }
        if let Some(placed) = self.talks_back(text, context, &now) {
            return placed;
        }
        let recent = |then: &Zoned| (0..=1).contains(&(now.timestamp().as_second() - then.timestamp().as_second()));
        match known.filter(|(said, then, _)| said == text && recent(then)) {
            Some((_, _, placed)) => placed,
            None => self.in_context(text, context, &now).await,
        }
    }

    /// What a sentence means only after the calls before it, and their results.
    fn talks_back(&self, text: &str, context: &Context<'_>, now: &Zoned) -> Option<Classification> {
        let places = self.places(now);
        if let Some(placed) = places.emergency(&sentence::Sentence::read(text)) {
            return Some(placed);
        }
        let exchanges = context.exchanges();
        if let Some(placed) = devices::after(text, &exchanges, &places.devices, now) {
            return Some(placed);
        }
        let home = places.home.as_ref().filter(|_| places.has("control_thing"));
        if let Some(placed) = home.and_then(|home| devices::home::after(text, &exchanges, home, now)) {
            return Some(knows::placed_only(placed, places.is_placed));
        }
        if let Some(placed) = follow::weather(text, &exchanges, now, &|tool| places.has(tool)) {
            return Some(placed);
        }
        let command = |text: &str| places.classify_literal(text).is_some_and(|placed| placed.tool.is_some());
        let placed = talkback::classified(text, &exchanges, now, &*self.0.risk, &command)?;
        // Nothing is overwritten with what was true before.
        (!objection::was_before(&placed, &Sentence::read(text))).then_some(placed)
    }

    /// Classifies a sentence after those before it: a correction says the one before again, "it" is what was shown or changed,
    /// and an answer completes what was asked about.
    async fn in_context(&self, text: &str, context: &Context<'_>, now: &Zoned) -> Classification {
        if let Some(placed) = self.after_question(text, context, now).await {
            return placed;
        }
        if let Some(placed) = self.talks_back(text, context, now) {
            return placed;
        }
        // With its arguments the call itself tells what a correction may change.
        let known =
            context.exchanges().first().is_some_and(|last| last.calls.iter().any(|call| !call.arguments.is_empty()));
        if let Some(again) = context.corrected(text, now).filter(|_| !known) {
            let placed = self.place_at(&again, now).await;
            if let Some(corrected) = context::instead(placed, context, &*self.0.risk) {
                return corrected;
            }
        }
        for core in framing::cores(text, now) {
            if let Some(placed) = self.talks_back(&core, context, now) {
                return placed;
            }
        }
        // "cancel it she's rung me": the afterthought is no part of what is pointed at.
        let mut said = framing::cores(text, now);
        said.reverse();
        for said in said.iter().map(String::as_str).chain([text]) {
            let Some(named) = context.resolved(said) else { continue };
            let placed = self.place_at(&named, now).await;
            if acts(&placed) {
                return placed;
            }
        }
        let plain = self.place_at(text, now).await;
        if !plain.sure {
            let said = std::iter::once(text.to_owned()).chain(framing::cores(text, now));
            for whole in said.flat_map(|said| context.completed(&said)) {
                let placed = self.place_at(&whole, now).await;
                if acts(&placed) {
                    return placed;
                }
            }
        }
        plain
    }

    /// The answer to a request, as deltas.
    async fn answer(&self, request: Request) -> Vec<Delta> {
        let results = reply::pending(&request.messages);
        let first = if !results.is_empty() {
            self.after_results(&results, &request)
        } else if let Some(kinds) = last_words(&request).map(kinds).filter(|kinds| !kinds.is_empty()) {
            vec![Delta::Text(builtin_replies::media_reply(&kinds))]
        } else {
            let said = said_in(&request);
            let placed = match (confirmation::answer(&said), confirmation::open_question(&request.messages)) {
                (Some(answer), Some((question, at, about))) => {
                    let before = Context::before(&request.messages, at);
                    let answer = if confirmation::contradicts(&said, &about) { Answer::No } else { answer };
                    self.answered(answer, question, &about, &before).await
                }
                _ => self.classify_cached(&said, &Context::of(&request.messages)).await,
            };
            tracing::debug!(stage = ?placed.stage, tool = placed.tool.as_deref(), why = placed.why, "placed");
            deltas(placed, &request)
        };
        // Marks its calls, so that their results come back to it.
        let calls = first.iter().any(|delta| matches!(delta, Delta::ToolCall(_)));
        let kept = calls.then(|| Delta::Keep(ProviderState { provider: NAME.to_owned(), value: Value::Null }));
        let done = Delta::Done { cut: false, usage: Usage::default() };
        first.into_iter().chain(kept).chain([done]).collect()
    }

    /// Handles a yes or no to its own question. The sentence is classified again, as of now or of some minutes ago,
    /// since "in 20 minutes" was confirmed as a time; it must yield the same question.
    async fn answered(&self, answer: Answer, question: &str, about: &str, before: &Context<'_>) -> Classification {
        let now = self.0.clock.local();
        if let Some(placed) = self.asked_again(question, about, before, &now).await {
            match (answer, placed.proposes) {
                (Answer::No, _) => return classification::fixed_reply("All right, I leave it.", "a no"),
                (Answer::Yes, Some((tool, arguments))) => {
                    return Classification {
                        tool: Some(tool),
                        arguments,
                        say: None,
                        proposes: None,
                        why: format!("a yes to: {}", placed.why),
                        ..placed
                    };
                }
                (Answer::Yes, None) => {}
            }
        }
        classification::fixed_reply(
            "That was a while ago: say it once more, and I ask again.",
            "no question that is still open",
        )
    }
}

/// The person's last message.
fn last_words(request: &Request) -> Option<&Content> {
    request.messages.iter().rev().find_map(|m| match m {
        Message::User(said) => Some(said),
        _ => None,
    })
}

/// Its text.
fn said_in(request: &Request) -> Cow<'_, str> {
    last_words(request).map(Content::text).unwrap_or_default()
}

/// The kinds of media in a message.
fn kinds(said: &Content) -> Vec<Kind> {
    said.media().map(|media| media.kind).collect()
}

/// Whether the request allows the call of a classification, if it has one.
fn may_call(placed: &Classification, request: &Request) -> bool {
    let Some(name) = &placed.tool else { return true };
    match &request.tool_choice {
        ToolChoice::None => false,
        ToolChoice::Auto | ToolChoice::Required => !request.tools.is_empty(),
        ToolChoice::Named { name: only } => only == name,
    }
}

/// The deltas for a classification: its calls where calls are allowed.
fn deltas(placed: Classification, request: &Request) -> Vec<Delta> {
    let allowed = may_call(&placed, request);
    let Some(name) = placed.tool else { return vec![Delta::Text(placed.say.unwrap_or_default())] };
    if !allowed {
        return vec![Delta::Text("I may not do that here.".to_owned())];
    }
    let by_voice = request.user == Some(tool::UserId::VOICE);
    let calls = std::iter::once((name, placed.arguments)).chain(placed.more);
    let calls = calls.map(|call| if by_voice { devices::as_thing(call) } else { call });
    // Unique in the conversation, of which the request holds only the end: the page finds a call's approval by its id.
    let call = |(name, arguments): (String, Value)| {
        Delta::ToolCall(ToolCall { id: format!("{IDS}{}", tool::Id::new()), name, arguments: arguments.to_string() })
    };
    calls.map(call).collect()
}

impl Provider for Reflex {
    fn model(&self) -> String {
        NAME.to_owned()
    }

    fn acts_by_word(&self) -> bool {
        true
    }
    fn reads_context(&self) -> bool {
        false
    }
    /// It supports no media and says so, so routing prefers models that do.
    fn facts(&self) -> Facts {
        Facts { images: false, ..Facts::default() }
    }

    fn would_answer(&self, request: &Request, surety: Confidence) -> BoxFuture<'static, bool> {
        let sure = self.is_sure(request);
        if sure || surety == Confidence::Sure {
            return future::ready(sure).boxed();
        }
        // Results can always be phrased, whoever made the calls.
        if !reply::pending(&request.messages).is_empty() {
            return future::ready(true).boxed();
        }
        let Some(said) = last_words(request).filter(|said| kinds(said).is_empty()) else {
            return future::ready(false).boxed();
        };
        let Request { tools, tool_choice, .. } = request;
        let asked = Request {
            messages: vec![Message::User(said.clone())].into(),
            tools: tools.clone(),
            tool_choice: tool_choice.clone(),
            ..Request::default()
        };
        let reflex = self.clone();
        async move {
            let placed = reflex.place(&said_in(&asked)).await;
            // A memory search may find nothing, so it is no answer.
            !matches!(placed.stage, Stage::Unknown | Stage::Question) && may_call(&placed, &asked)
        }
        .boxed()
    }

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, llm::Error>> {
        let reflex = self.clone();
        stream::once(async move { reflex.answer(request).await })
            .flat_map(|deltas| stream::iter(deltas.into_iter().map(Ok)))
            .boxed()
    }
}
