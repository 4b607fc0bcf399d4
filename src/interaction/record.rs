//! An interaction as it is stored and shown, and the answers to it.

use crate::{
    blocks::{self, Block},
    form,
};
use questions::{Header, Question, Timeouts};
use scrub::{How, Scrubber};
use serde_json::Map;
use std::collections::HashSet;
use store::{Coded, Entry, Key, Level, Record};
use tool::prelude::*;

/// The largest request and the largest answer, in bytes of JSON.
const LARGEST: usize = 64 * 1024;
/// The longest question and the longest answer in words, in bytes.
const QUESTION: usize = 4 * 1024;
const ANSWER: usize = 16 * 1024;
/// The most options of a question.
const OPTIONS: usize = 20;
/// The longest title, option and action of a component, in characters.
const WORDS: usize = 200;

/// The indexes of the records: those that wait, and all by run.
const PENDING: u8 = 1;
const RUN: u8 = 2;

/// The kind of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A question.
    Ask,
    /// Blocks, perhaps with a form.
    Blocks,
    /// A component that runs in its own frame.
    Component,
}

/// The state of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for the person.
    Pending,
    /// They answered.
    Answered,
    /// They dismissed it.
    Dismissed,
    /// Nobody answered in time, or nobody waits for it any more.
    Expired,
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Ask, Kind::Blocks, Kind::Component];
    const UNKNOWN: Self = Kind::Component;
}

impl Coded for State {
    const ALL: &'static [Self] = &[State::Pending, State::Answered, State::Dismissed, State::Expired];
    const UNKNOWN: Self = State::Expired;
}

/// A question or view of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A question, answered in words or by an option.
    Ask {
        /// The question.
        question: String,
        /// The options; empty for an answer in words.
        options: Vec<String>,
    },
    /// Blocks, perhaps with a form to fill in.
    Blocks {
        /// The title.
        title: Option<String>,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// A component that sends the answer.
    Component {
        /// The title.
        title: Option<String>,
        /// Its code.
        code: String,
        /// Its props.
        props: Map<String, Value>,
    },
}

impl Request {
    /// Validates and normalizes the request.
    ///
    /// # Errors
    /// `BadArgs` that says what is wrong.
    pub(crate) fn validated(self) -> Result<Self> {
        let title_of = |title: Option<String>| match title.map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()) {
            Some(title) if title.chars().count() > WORDS => {
                Err(Error::bad_args(format!("`title`: expected at most {WORDS} characters")))
            }
            title => Ok(title),
        };
        Ok(match self {
            Request::Ask { question, options } => {
                let question = question.trim().to_owned();
                if question.is_empty() || question.len() > QUESTION {
                    return Err(Error::bad_args(format!("`question`: expected 1 to {QUESTION} bytes of text")));
                }
                let options: Vec<String> = options.iter().map(|o| o.trim().to_owned()).collect();
                if options.len() > OPTIONS {
                    let why = format!("`options`: at most {OPTIONS} can be offered, not {}", options.len());
                    return Err(Error::bad_args(why));
                }
                let mut seen = HashSet::new();
                for (n, option) in options.iter().enumerate() {
                    if option.is_empty() || option.chars().count() > WORDS {
                        return Err(Error::bad_args(format!("`options[{n}]`: expected 1 to {WORDS} characters")));
                    }
                    if !seen.insert(option) {
                        return Err(Error::bad_args(format!("`options[{n}]`: `{option}` is there already")));
                    }
                }
                Request::Ask { question, options }
            }
            Request::Blocks { title, blocks } => {
                Request::Blocks { title: title_of(title)?, blocks: blocks::validated(blocks)? }
            }
            Request::Component { title, code, props } => {
                if code.trim().is_empty() {
                    return Err(Error::bad_args("`code`: it is empty"));
                }
                Request::Component { title: title_of(title)?, code, props }
            }
        })
    }
}

impl Request {
    /// Whether the request has a secret, or a mark in place of one. Then it cannot be stored whole.
    pub(crate) fn has_secret(&self, scrubber: &Scrubber) -> bool {
        let mut args = match self {
            Request::Ask { question, options } => json!({"question": question, "options": options}),
            Request::Blocks { title, blocks } => json!({"title": title, "blocks": blocks}),
            Request::Component { title, code, props } => json!({"title": title, "code": code, "props": props}),
        };
        scrubber.value(&mut args, How::All);
        scrubber.text(&args.to_string(), How::All).contains(scrub::MARK)
    }
}

/// An interaction as it is stored. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(with = "store::coded")]
    kind: Kind,
    #[serde(with = "store::coded")]
    pub state: State,
    run: Option<Id>,
    conversation: Option<Id>,
    /// The model's id of its call; empty without one.
    model_call: String,
    /// Whether the run is suspended when nobody answers in the call.
    parks: bool,
    question: String,
    /// JSON text, like everything that may grow: a list of texts, a list of blocks, an object.
    options: String,
    title: String,
    blocks: String,
    component: String,
    code: String,
    props: String,
    channel: String,
    expires_ms: u64,
    answered_ms: u64,
    answer: String,
    /// Not read any more: whether a call got the answer.
    taken: bool,
}

impl Record for Stored {
    const NAME: &'static str = "interactions";
    const WORD: &'static str = "question or view";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let pending = (self.state == State::Pending).then(|| Key::many(PENDING, []));
        pending.into_iter().chain(self.run.map(|run| Key::many(RUN, run.as_bytes()))).collect()
    }
}

impl Question for Stored {
    const TOPICS: [&'static str; 2] = ["interaction:pending", "interaction:ended"];
    const BY_RUN: Option<u8> = Some(RUN);
    type View = Interaction;

    fn header(&self) -> Header {
        Header {
            run: self.run,
            conversation: self.conversation,
            model_call: self.model_call.clone(),
            suspends: self.parks,
            expires_ms: self.expires_ms,
            state: match self.state {
                State::Pending => questions::State::Pending,
                State::Answered | State::Dismissed => questions::State::Settled,
                State::Expired => questions::State::Expired,
            },
        }
    }

    fn expire(&mut self, at_ms: u64) {
        self.end(State::Expired, &Value::Null, at_ms);
    }

    fn details(shown: &Interaction) -> Map<String, Value> {
        Map::from_iter([("kind".into(), json!(shown.kind)), ("state".into(), json!(shown.state))])
    }

    fn repeats(&self, before: &Self) -> bool {
        let call = |s: &Self| (s.kind, s.run, s.model_call.clone());
        call(self) == call(before) && self.shown() == before.shown()
    }
}

impl Stored {
    /// # Errors
    /// `BadArgs` when it is too large.
    pub fn new(cx: &Cx, id: Id, request: &Request, suspends: bool, timeouts: Timeouts) -> Result<Self> {
        let header = Header::new(cx, suspends, timeouts, id);
        let mut stored = Self {
            kind: Kind::Ask,
            state: State::Pending,
            run: header.run,
            conversation: header.conversation,
            model_call: header.model_call,
            parks: header.suspends,
            question: String::new(),
            options: String::new(),
            title: String::new(),
            blocks: String::new(),
            component: String::new(),
            code: String::new(),
            props: String::new(),
            channel: text(&cx.channel()),
            expires_ms: header.expires_ms,
            answered_ms: 0,
            answer: String::new(),
            taken: false,
        };
        match request {
            Request::Ask { question, options } => {
                stored.question.clone_from(question);
                stored.options = text(options);
            }
            Request::Blocks { title, blocks } => {
                stored.kind = Kind::Blocks;
                stored.title = title.clone().unwrap_or_default();
                stored.blocks = text(blocks);
            }
            Request::Component { title, code, props } => {
                stored.kind = Kind::Component;
                stored.title = title.clone().unwrap_or_default();
                stored.code.clone_from(code);
                stored.props = text(props);
            }
        }
        let size = stored.shown().iter().map(|part| part.len()).sum::<usize>();
        if size > LARGEST {
            return Err(Error::bad_args(format!(
                "this is {size} bytes, and at most {LARGEST} can be shown at once: show less, or a summary"
            )));
        }
        Ok(stored)
    }

    /// The same without secrets, to be stored.
    pub fn without_secrets(mut self, scrubber: &Scrubber) -> Self {
        for words in [&mut self.question, &mut self.title, &mut self.component, &mut self.code] {
            *words = scrubber.text(words, How::All).into_owned();
        }
        for parts in [&mut self.options, &mut self.blocks, &mut self.props] {
            if let Ok(mut value) = serde_json::from_str(parts) {
                scrub_texts(&mut value, scrubber);
                *parts = value.to_string();
            }
        }
        self
    }

    /// The same with the answer as the person gave it.
    pub fn with_answer(mut self, answer: &Value) -> Self {
        self.answer = if answer.is_null() { String::new() } else { answer.to_string() };
        self
    }

    fn shown(&self) -> [&String; 7] {
        [&self.question, &self.options, &self.title, &self.blocks, &self.component, &self.code, &self.props]
    }

    /// Whether the run is suspended when nobody answers in the call.
    pub fn suspends(&self) -> bool {
        self.parks
    }

    /// Stores how it ended.
    pub fn end(&mut self, state: State, answer: &Value, now: u64) {
        (self.state, self.answered_ms) = (state, now);
        self.answer = if answer.is_null() { String::new() } else { answer.to_string() };
    }

    /// The result of the waiting call.
    ///
    /// # Errors
    /// `Denied` when there is no answer.
    pub fn outcome(&self, hours: u64) -> Result<Value> {
        match (self.state, self.kind) {
            (State::Answered, _) | (State::Dismissed, Kind::Blocks | Kind::Component) => Ok(json(&self.answer)),
            (State::Dismissed, Kind::Ask) => Err(Error::denied(
                "the person put the question aside without an answer: do not ask it again, and go on without it",
            )),
            (State::Expired, _) if self.parks => {
                Err(Error::denied(format!("nobody answered within {hours} hours: go on without it")))
            }
            _ => Err(Error::denied("nobody answered: go on without it")),
        }
    }

    /// Parses what somebody sent as an answer, or as a dismissal.
    ///
    /// # Errors
    /// `BadArgs` when it has the wrong form; `Failed` when a value does not fit.
    pub fn parse_answer(&self, body: Value) -> Result<(State, Value)> {
        let size = body.to_string().len();
        if size > LARGEST {
            return Err(Error::bad_args(format!("the answer is {size} bytes, and at most {LARGEST} are taken")));
        }
        let Value::Object(mut fields) = body else {
            return Err(Error::bad_args(format!("the answer is an object: {}", self.answer_format())));
        };
        if self.kind == Kind::Component {
            return match fields.get("action").and_then(Value::as_str).map(|a| a.chars().count()) {
                Some(1..=WORDS) => Ok((State::Answered, fields.into())),
                _ => Err(Error::bad_args(format!("what a component sends is {}", self.answer_format()))),
            };
        }
        if self.kind == Kind::Ask {
            let answer = fields.remove("answer");
            let (Some(Value::String(answer)), true) = (answer, fields.is_empty()) else {
                return Err(Error::bad_args(format!("the answer to a question is {}", self.answer_format())));
            };
            let (answer, options) = (answer.trim(), self.options());
            if answer.is_empty() || answer.len() > ANSWER {
                return Err(Error::failed(format!("`answer`: expected 1 to {ANSWER} bytes of text")));
            }
            if !options.is_empty() && !options.iter().any(|o| o == answer) {
                return Err(Error::failed(format!("`answer`: expected one of {}", options.join(", "))));
            }
            return Ok((State::Answered, json!({"answer": answer})));
        }
        let (action, data) = (fields.remove("action"), fields.remove("data"));
        let blocks = self.blocks();
        match (action.as_ref().and_then(Value::as_str), data, blocks::form_fields(&blocks), fields.is_empty()) {
            (Some("dismiss"), None, _, true) => Ok((State::Dismissed, self.dismissal())),
            (Some("submit"), Some(Value::Object(data)), Some(form), true) => {
                Ok((State::Answered, json!({"action": "submit", "data": form::parse_submission(form, data)?})))
            }
            _ => Err(Error::bad_args(format!("the answer is {}", self.answer_format()))),
        }
    }

    /// The answer that stands for a dismissal.
    pub fn dismissal(&self) -> Value {
        if self.kind == Kind::Ask { Value::Null } else { json!({"action": "dismiss"}) }
    }

    fn answer_format(&self) -> &'static str {
        match self.kind {
            Kind::Ask => r#"{"answer": "the text"}"#,
            Kind::Component => r#"{"action": "a word", …} with whatever else belongs to it"#,
            Kind::Blocks if blocks::form_fields(&self.blocks()).is_some() => {
                r#"{"action": "submit", "data": {"field": "value"}}, or {"action": "dismiss"}"#
            }
            Kind::Blocks => r#"{"action": "dismiss"}"#,
        }
    }

    /// The words of the answer that the person wrote: no options and no defaults, which are the model's.
    pub fn own_words(&self) -> Vec<String> {
        let answer = json(&self.answer);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match self.kind {
            Kind::Ask => text(&answer["answer"]).filter(|a| !self.options().contains(a)).into_iter().collect(),
            Kind::Blocks => {
                let (blocks, data) = (self.blocks(), &answer["data"]);
                let fields = blocks::form_fields(&blocks).unwrap_or_default().iter();
                let written = fields.filter(|f| f.options.is_empty() && data[&f.name] != f.default);
                written.filter_map(|f| text(&data[&f.name])).collect()
            }
            // The person need not have written what code sends.
            Kind::Component => vec![],
        }
    }

    fn options(&self) -> Vec<String> {
        serde_json::from_str(&self.options).unwrap_or_default()
    }

    fn blocks(&self) -> Vec<Block> {
        serde_json::from_str(&self.blocks).unwrap_or_default()
    }

    /// Its subject, for a notice.
    pub fn about(&self) -> String {
        let about = match self.kind {
            Kind::Ask => &self.question,
            _ if self.title.is_empty() => return "Something is shown to you that waits for your answer.".into(),
            _ => &self.title,
        };
        about.chars().take(1900).collect()
    }
}

/// Removes secrets from texts. Names of fields do not make their values secret here, as they are part of the form.
fn scrub_texts(value: &mut Value, scrubber: &Scrubber) {
    match value {
        Value::String(text) => *text = scrubber.text(text, How::All).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_texts(item, scrubber)),
        Value::Object(fields) => fields.values_mut().for_each(|field| scrub_texts(field, scrubber)),
        _ => {}
    }
}

fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// An interaction as it is shown to the person. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interaction {
    /// Its id.
    pub id: Id,
    /// A question, blocks or a component.
    pub kind: Kind,
    /// Its state.
    pub state: State,
    /// The run that waits for it.
    pub run_id: Option<Id>,
    /// Its conversation.
    pub conversation_id: Option<Id>,
    /// The question.
    pub question: Option<String>,
    /// The options; empty for an answer in words.
    pub options: Vec<String>,
    /// The title.
    pub title: Option<String>,
    /// The blocks, as `render_blocks` takes them.
    pub blocks: Vec<Value>,
    /// The name of a stored component.
    pub component: Option<String>,
    /// The code of a component.
    pub code: Option<String>,
    /// The props of the component.
    pub props: Option<Map<String, Value>>,
    /// When it was asked or shown.
    pub created_at: u64,
    /// Until when it can be answered.
    pub expires_at: u64,
    /// When it ended.
    pub answered_at: Option<u64>,
    /// `{answer}`, `{action, data}` or what the component sent.
    pub answer: Value,
}

impl From<Entry<Stored>> for Interaction {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        let some = |text: String| Some(text).filter(|t| !t.is_empty());
        Self {
            id: e.id,
            kind: s.kind,
            state: s.state,
            run_id: s.run,
            conversation_id: s.conversation,
            options: s.options(),
            blocks: serde_json::from_str(&s.blocks).unwrap_or_default(),
            props: serde_json::from_str(&s.props).ok(),
            question: some(s.question),
            title: some(s.title),
            component: some(s.component),
            code: some(s.code),
            created_at: e.id.millis(),
            expires_at: s.expires_ms,
            answered_at: (s.answered_ms > 0).then_some(s.answered_ms),
            answer: json(&s.answer),
        }
    }
}
