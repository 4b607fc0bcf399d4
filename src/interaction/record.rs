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

/// The most that is shown and stored, and the most that is sent back, in bytes of JSON.
const LARGEST: usize = 64 * 1024;
/// The longest question and the longest answer in words, in bytes.
const QUESTION: usize = 4 * 1024;
const ANSWER: usize = 16 * 1024;
/// How many answers may be offered.
const OPTIONS: usize = 20;
/// The longest title, answer on offer and word of a component, in characters.
const WORDS: usize = 200;

/// The indexes of the records: those that wait, and all by run.
const PENDING: u8 = 1;
const RUN: u8 = 2;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A question.
    Ask,
    /// Blocks, perhaps with a form.
    Blocks,
    /// A component that runs in a frame of its own.
    Component,
}

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for the person.
    Pending,
    /// They answered.
    Answered,
    /// They put it aside.
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

/// What a call wants of the person.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// An answer in words, or one of those on offer.
    Ask {
        /// The question.
        question: String,
        /// What can be chosen; empty for an answer in words.
        options: Vec<String>,
    },
    /// A look at blocks, and what they fill in.
    Blocks {
        /// What stands above them.
        title: Option<String>,
        /// What is shown.
        blocks: Vec<Block>,
    },
    /// What a component makes of it.
    Component {
        /// What stands above it.
        title: Option<String>,
        /// Its code.
        code: String,
        /// What it is given.
        props: Map<String, Value>,
    },
}

impl Request {
    /// The request as it is shown.
    ///
    /// # Errors
    /// `BadArgs` that says what is wrong.
    pub(crate) fn checked(self) -> Result<Self> {
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
                Request::Blocks { title: title_of(title)?, blocks: blocks::checked(blocks)? }
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
    /// Whether what is kept of a call with these arguments is less than the call: something in it is a secret, or stands for
    /// one that was taken out before.
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

/// As it is stored. New fields go last.
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
    /// JSON text, as all that may grow: a list of texts, a list of blocks, an object.
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
    pub fn new(cx: &Cx, request: &Request, suspends: bool, timeouts: Timeouts) -> Result<Self> {
        let header = Header::new(cx, suspends, timeouts, Id::new().millis());
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
    pub fn clean(mut self, scrubber: &Scrubber) -> Self {
        for words in [&mut self.question, &mut self.title, &mut self.component, &mut self.code] {
            *words = scrubber.text(words, How::All).into_owned();
        }
        for parts in [&mut self.options, &mut self.blocks, &mut self.props] {
            if let Ok(mut value) = serde_json::from_str(parts) {
                clean_strings(&mut value, scrubber);
                *parts = value.to_string();
            }
        }
        self
    }

    /// With the answer as it was given.
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

    /// What somebody sent, as the answer that is kept; and whether they put it aside with it.
    ///
    /// # Errors
    /// `BadArgs` when it has not the form of an answer; `Failed` when a value is not what was asked for.
    pub fn taken_from(&self, body: Value) -> Result<(State, Value)> {
        let size = body.to_string().len();
        if size > LARGEST {
            return Err(Error::bad_args(format!("the answer is {size} bytes, and at most {LARGEST} are taken")));
        }
        let Value::Object(mut fields) = body else {
            return Err(Error::bad_args(format!("the answer is an object: {}", self.form_of_answer())));
        };
        if self.kind == Kind::Component {
            return match fields.get("action").and_then(Value::as_str).map(|a| a.chars().count()) {
                Some(1..=WORDS) => Ok((State::Answered, fields.into())),
                _ => Err(Error::bad_args(format!("what a component sends is {}", self.form_of_answer()))),
            };
        }
        if self.kind == Kind::Ask {
            let answer = fields.remove("answer");
            let (Some(Value::String(answer)), true) = (answer, fields.is_empty()) else {
                return Err(Error::bad_args(format!("the answer to a question is {}", self.form_of_answer())));
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
        match (action.as_ref().and_then(Value::as_str), data, blocks::form_of(&blocks), fields.is_empty()) {
            (Some("dismiss"), None, _, true) => Ok((State::Dismissed, self.dismissed())),
            (Some("submit"), Some(Value::Object(data)), Some(form), true) => {
                Ok((State::Answered, json!({"action": "submit", "data": form::filled(form, data)?})))
            }
            _ => Err(Error::bad_args(format!("the answer is {}", self.form_of_answer()))),
        }
    }

    /// The answer of somebody who puts it aside.
    pub fn dismissed(&self) -> Value {
        if self.kind == Kind::Ask { Value::Null } else { json!({"action": "dismiss"}) }
    }

    fn form_of_answer(&self) -> &'static str {
        match self.kind {
            Kind::Ask => r#"{"answer": "the text"}"#,
            Kind::Component => r#"{"action": "a word", …} with whatever else belongs to it"#,
            Kind::Blocks if blocks::form_of(&self.blocks()).is_some() => {
                r#"{"action": "submit", "data": {"field": "value"}}, or {"action": "dismiss"}"#
            }
            Kind::Blocks => r#"{"action": "dismiss"}"#,
        }
    }

    /// The words of the person themselves in the answer: not what a model had put on offer or into a field.
    pub fn words(&self) -> Vec<String> {
        let answer = json(&self.answer);
        let said = |value: &Value| value.as_str().map(str::to_owned);
        match self.kind {
            Kind::Ask => said(&answer["answer"]).filter(|a| !self.options().contains(a)).into_iter().collect(),
            Kind::Blocks => {
                let (blocks, data) = (self.blocks(), &answer["data"]);
                let fields = blocks::form_of(&blocks).unwrap_or_default().iter();
                let written = fields.filter(|f| f.options.is_empty() && data[&f.name] != f.default);
                written.filter_map(|f| said(&data[&f.name])).collect()
            }
            // What code sends, nobody need have written.
            Kind::Component => vec![],
        }
    }

    fn options(&self) -> Vec<String> {
        serde_json::from_str(&self.options).unwrap_or_default()
    }

    fn blocks(&self) -> Vec<Block> {
        serde_json::from_str(&self.blocks).unwrap_or_default()
    }

    /// What it is about, in a line or two: for a notice.
    pub fn about(&self) -> String {
        let about = match self.kind {
            Kind::Ask => &self.question,
            _ if self.title.is_empty() => return "Something is shown to you that waits for your answer.".into(),
            _ => &self.title,
        };
        about.chars().take(1900).collect()
    }
}

/// Takes secrets out of what is shown; names of fields hide nothing there, for they are the form of what is shown.
fn clean_strings(value: &mut Value, scrubber: &Scrubber) {
    match value {
        Value::String(text) => *text = scrubber.text(text, How::All).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_strings(item, scrubber)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean_strings(field, scrubber)),
        _ => {}
    }
}

fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// As it is shown to the person. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Interaction {
    /// Its id.
    pub id: Id,
    /// What is shown.
    pub kind: Kind,
    /// How it stands.
    pub state: State,
    /// The run that waits for it.
    pub run_id: Option<Id>,
    /// Its conversation.
    pub conversation_id: Option<Id>,
    /// The question.
    pub question: Option<String>,
    /// What can be chosen; empty for an answer in words.
    pub options: Vec<String>,
    /// What stands above it.
    pub title: Option<String>,
    /// The blocks, as `render_blocks` takes them.
    pub blocks: Vec<Value>,
    /// The name of a stored component.
    pub component: Option<String>,
    /// The code of a component.
    pub code: Option<String>,
    /// What the component is given.
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
