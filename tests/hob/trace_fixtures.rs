//! TOML fixtures of traces, and partial matching of values.

use crate::model_server::Answer;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A file of fixtures.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixtures {
    /// Tables of hob.toml that are laid over [`CONFIG`].
    #[serde(default)]
    pub config: Value,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The text of a stranger's page, at an address that tools may reach.
    #[serde(default)]
    pub page: String,
    /// Steps that every trace begins with.
    #[serde(default)]
    pub before: Vec<Value>,
    pub trace: Vec<Trace>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    pub name: String,
    #[serde(default = "admin")]
    pub role: String,
    /// Each a [`Step`], once its placeholders are filled.
    pub step: Vec<Value>,
}

fn admin() -> String {
    "admin".into()
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// The message: text or parts. It continues the trace's conversation, unless `new`.
    pub say: Option<Value>,
    pub new: bool,
    /// More fields of the request.
    pub with: BTreeMap<String, Value>,
    /// The model's stream breaks off here: the run is cancelled at the event whose text contains this.
    pub cancel_at: Option<String>,
    /// Answers to questions, in the order in which they come.
    pub decisions: Vec<String>,
    pub answers: Vec<Value>,

    pub tool: Option<String>,
    pub arguments: Value,
    pub request: Option<String>,
    pub body: Option<Value>,
    /// Names for parts of the result: JSON pointers.
    pub save: BTreeMap<String, String>,
    pub decide: Option<String>,
    pub respond: Option<Value>,
    pub cut: bool,

    /// What the model servers reply, one to each request.
    pub model: Vec<Scripted>,
    pub second: Vec<Scripted>,

    /// The whole answer, or parts of it.
    pub answer: Option<String>,
    pub answer_has: Vec<String>,
    pub answer_lacks: Vec<String>,
    /// The code and parts of the sentence of what is refused or breaks off.
    pub error: Option<Refused>,
    pub status: Option<u16>,
    pub calls: Vec<Called>,
    /// The tools a person was asked about.
    pub asked: Vec<String>,
    /// How many questions the run rests on.
    pub waiting: usize,
    /// Events that come in this order, others between them.
    pub events: Vec<String>,
    /// The result of `tool` or `request`, as far as it matters, and parts of its text.
    pub result: Option<Value>,
    pub has: Vec<String>,
    pub lacks: Vec<String>,
    /// The last message of the conversation, when all is done.
    pub then: Option<String>,
    pub shown: Vec<Shown>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    pub code: String,
    #[serde(default)]
    pub has: Vec<String>,
}

/// A call and what came of it: `ok`, `error` or `none`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    #[serde(default = "fine")]
    pub outcome: String,
    #[serde(default)]
    pub has: Vec<String>,
    #[serde(default)]
    pub lacks: Vec<String>,
}

fn fine() -> String {
    "ok".into()
}

/// What was in a request to a model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    #[serde(default)]
    pub request: usize,
    /// To the second server.
    #[serde(default)]
    pub second: bool,
    /// Only the messages of this role.
    pub role: Option<String>,
    #[serde(default)]
    pub has: Vec<String>,
    #[serde(default)]
    pub lacks: Vec<String>,
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default)]
    pub no_tools: Vec<String>,
    /// How many tools.
    pub tool_count: Option<usize>,
    /// Fields of the body.
    #[serde(default)]
    pub body: Value,
    /// The roles of the messages, in order, as `u a t` for user, assistant, tool.
    pub roles: Option<String>,
}

/// One reply of a model server.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Scripted {
    pub says: Option<String>,
    pub thinks: Option<String>,
    pub calls: Vec<Wanted>,
    pub hangs: bool,
    pub hangs_after: Option<String>,
    pub drops_after: Option<String>,
    /// An error inside the stream, after `says`.
    pub fails: Option<String>,
    pub status: Option<u16>,
    pub headers: String,
    pub whole: Option<String>,
    pub raw: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub tool: String,
    /// An object, or the text as the model writes it.
    #[serde(default)]
    pub arguments: Value,
}

impl Scripted {
    pub fn answer(&self) -> Answer {
        let text = self.says.clone().unwrap_or_default();
        if !self.calls.is_empty() {
            let written = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
            let empty = |v: &Value| if v.is_null() { "{}".to_owned() } else { written(v) };
            return Answer::Calls(text, self.calls.iter().map(|c| (c.tool.clone(), empty(&c.arguments))).collect());
        }
        match self {
            Self { status: Some(status), headers, .. } => {
                let body = json!({"error": {"message": text}}).to_string();
                Answer::Status(*status, format!("content-type: application/json\r\n{headers}"), body)
            }
            Self { fails: Some(error), .. } => Answer::Fails(text, error.clone()),
            Self { thinks: Some(thoughts), .. } => Answer::Thinks(thoughts.clone(), text),
            Self { hangs: true, .. } => Answer::Hangs,
            Self { hangs_after: Some(text), .. } => Answer::HangsAfter(text.clone()),
            Self { drops_after: Some(text), .. } => Answer::DropsAfter(text.clone()),
            Self { whole: Some(text), .. } => Answer::Whole(text.clone()),
            Self { raw: Some(bytes), .. } => Answer::Raw(bytes.clone()),
            _ => Answer::Says(vec![text]),
        }
    }
}

/// All the texts in a value; anything else as it is written.
pub fn texts(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| format!("{name}: {}", texts(value))).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The first part of what is expected that is not there. Nothing is expected of null; objects may have more fields.
pub fn lacking(expected: &Value, is: &Value, at: &str) -> Option<String> {
    let differs = || Some(format!("{at}: expected {expected}, and it is {is}"));
    match (expected, is) {
        (Value::Null, _) => None,
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().find_map(|(name, value)| lacking(value, &is[name], &format!("{at}, {name}")))
        }
        (Value::Array(all), Value::Array(others)) if all.len() == others.len() => {
            all.iter().zip(others).enumerate().find_map(|(n, (a, b))| lacking(a, b, &format!("{at}, {n}")))
        }
        (Value::String(text), _) if text.starts_with('~') => {
            if texts(is).contains(&text[1..]) {
                None
            } else {
                differs()
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        _ if expected == is => None,
        _ => differs(),
    }
}

/// The same with its placeholders filled. What is nothing but the name of a number becomes that number.
pub fn filled(value: &Value, names: &BTreeMap<String, String>) -> Value {
    let number = |text: &str| names.get(text.strip_prefix('{')?.strip_suffix('}')?)?.parse::<u64>().ok();
    match value {
        Value::String(text) if number(text).is_some() => number(text).into(),
        Value::String(text) => {
            names.iter().fold(text.clone(), |text, (name, with)| text.replace(&format!("{{{name}}}"), with)).into()
        }
        Value::Array(all) => all.iter().map(|v| filled(v, names)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, v)| (name.clone(), filled(v, names))).collect(),
        other => other.clone(),
    }
}

/// Lays tables over others.
pub fn laid_over(below: &mut Value, above: &Value) {
    match above {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(name, value)| laid_over(&mut below[name], value)),
        other => *below = other.clone(),
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces")
}

pub fn fixtures(name: &str) -> Fixtures {
    let text = std::fs::read_to_string(folder().join(name).with_extension("toml")).expect("a file of fixtures");
    let mut read: Fixtures = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    for trace in &mut read.trace {
        trace.step.splice(..0, read.before.iter().cloned());
        for (at, step) in trace.step.iter().enumerate() {
            let wrong = |e| panic!("{name}, `{}`, step {at}: {e}", trace.name);
            let _: Step = serde_json::from_value(step.clone()).unwrap_or_else(wrong);
        }
    }
    read
}

#[test]
fn what_is_missing_is_found() {
    for (expected, is, wrong) in [
        (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
        (json!({"a": 1}), json!({"b": 2}), true),
        (json!({"a": {"b": "~el"}}), json!({"a": {"b": "hello"}}), false),
        (json!({"a": {"b": "~eL"}}), json!({"a": {"b": "hello"}}), true),
        (json!([1, 2]), json!([1, 2, 3]), true),
        (json!([1.0]), json!([1]), false),
        (json!(null), json!("anything"), false),
        (json!(""), json!("anything"), true),
        (json!("hello"), json!("hello!"), true),
        (json!({"a": true}), json!({"a": null}), true),
    ] {
        assert_eq!(lacking(&expected, &is, "").is_some(), wrong, "{expected} {is}");
    }
}
