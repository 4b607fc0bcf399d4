//! Grants: a person's permanent approval of one version of a tool with arguments that match a pattern.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{borrow::Cow, sync::Arc};
use tool::{Id, UserId, prelude::schemars, prelude::schemars::JsonSchema};

/// A person's "allow always".
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// Its id, for revoking it.
    pub id: Id,
    /// The user who granted it; it applies to their calls only.
    pub user: UserId,
    /// The tool.
    pub tool: Arc<str>,
    /// The version of the tool that was approved; a later version needs a new approval.
    pub version: u32,
    /// The approved arguments.
    pub pattern: Pattern,
}

/// A pattern of arguments. In JSON `"*"` matches any; an object lists each argument, and unlisted ones must be
/// absent. A string with `*` is a glob; `\*` is a literal star and `\\` a backslash. Other values must be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Value", into = "Value")]
#[schemars(with = "Value")]
pub struct Pattern(Shape);

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Any,
    Fields(Vec<(String, ValuePattern)>),
}

#[derive(Debug, Clone, PartialEq)]
enum ValuePattern {
    Equal(Value),
    /// The text between the stars; at least two pieces.
    Glob(Vec<String>),
}

impl Pattern {
    /// Any arguments.
    pub fn any() -> Self {
        Self(Shape::Any)
    }

    /// These arguments and no others.
    pub fn exactly(args: &Value) -> Self {
        let fields = match args {
            Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), ValuePattern::Equal(v.clone()))).collect(),
            Value::Null => vec![],
            // Arguments are objects; a pattern of anything else matches no call.
            other => vec![(String::new(), ValuePattern::Equal(other.clone()))],
        };
        Self(Shape::Fields(fields))
    }

    /// Parse the JSON form.
    ///
    /// # Errors
    /// A sentence when it is neither `"*"` nor an object.
    pub fn parse(json: &Value) -> Result<Self, String> {
        match json {
            Value::String(star) if star == "*" => Ok(Self::any()),
            Value::Object(fields) => {
                Ok(Self(Shape::Fields(fields.iter().map(|(k, v)| (k.clone(), ValuePattern::parse(v))).collect())))
            }
            _ => Err("a pattern is \"*\" for any arguments, or an object of arguments, such as {\"url\": \
                      \"https://example.org/*\"}"
                .into()),
        }
    }

    /// Whether the pattern matches these arguments.
    pub fn covers(&self, args: &Value) -> bool {
        let Shape::Fields(fields) = &self.0 else { return true };
        match args {
            Value::Null => fields.is_empty(),
            Value::Object(args) => {
                args.len() == fields.len() && fields.iter().all(|(k, w)| args.get(k).is_some_and(|v| w.covers(v)))
            }
            _ => false,
        }
    }

    /// Whether the pattern matches a single set of arguments.
    pub fn is_exact(&self) -> bool {
        match &self.0 {
            Shape::Any => false,
            Shape::Fields(fields) => fields.iter().all(|(_, w)| matches!(w, ValuePattern::Equal(_))),
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        match &self.0 {
            Shape::Any => "*".into(),
            Shape::Fields(fields) => {
                Value::Object(fields.iter().map(|(k, w)| (k.clone(), w.to_json())).collect::<Map<_, _>>())
            }
        }
    }
}

impl TryFrom<Value> for Pattern {
    type Error = String;
    fn try_from(json: Value) -> Result<Self, String> {
        Self::parse(&json)
    }
}

impl From<Pattern> for Value {
    fn from(pattern: Pattern) -> Self {
        pattern.to_json()
    }
}

impl ValuePattern {
    fn parse(json: &Value) -> Self {
        let Value::String(text) = json else { return Self::Equal(json.clone()) };
        let mut pieces = vec![];
        let mut piece = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => piece.push(chars.next_if(|c| matches!(c, '*' | '\\')).unwrap_or('\\')),
                '*' => pieces.push(std::mem::take(&mut piece)),
                c => piece.push(c),
            }
        }
        if pieces.is_empty() {
            return Self::Equal(piece.into());
        }
        pieces.push(piece);
        Self::Glob(pieces)
    }

    fn covers(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Equal(wanted), value) => wanted == value,
            (Self::Glob(pieces), Value::String(text)) => fits(pieces, text),
            (Self::Glob(_), _) => false,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Equal(Value::String(text)) => escape(text).into_owned().into(),
            Self::Equal(value) => value.clone(),
            Self::Glob(pieces) => pieces.iter().map(|p| escape(p)).collect::<Vec<_>>().join("*").into(),
        }
    }
}

/// Whether a text consists of these pieces with anything between them.
fn fits(pieces: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return false };
    let Some(mut rest) = text.strip_prefix(first.as_str()).and_then(|t| t.strip_suffix(last.as_str())) else {
        return false;
    };
    for piece in middle {
        let Some(at) = rest.find(piece.as_str()) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

fn escape(text: &str) -> Cow<'_, str> {
    if text.contains(['*', '\\']) { text.replace('\\', "\\\\").replace('*', "\\*").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_pattern_covers() {
        for (pattern, args, covers, exact) in [
            (json!("*"), json!({"a": 1}), true, false),
            (json!("*"), Value::Null, true, false),
            (json!({}), json!({}), true, true),
            (json!({}), Value::Null, true, true),
            (json!({}), json!({"a": 1}), false, true),
            (json!({}), json!([]), false, true),
            (json!({"a": 1}), json!({"a": 1}), true, true),
            (json!({"a": 1}), json!({"a": 2}), false, true),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false, true),
            (json!({"a": 1, "b": 2}), json!({"a": 1}), false, true),
            (json!({"a": {"b": ["*"]}}), json!({"a": {"b": ["x"]}}), false, true),
            (json!({"a": {"b": ["*"]}}), json!({"a": {"b": ["*"]}}), true, true),
            (json!({"a": "x*"}), json!({"a": "xyz"}), true, false),
            (json!({"a": "x*"}), json!({"a": "ax"}), false, false),
            (json!({"a": "*"}), json!({"a": ""}), true, false),
            (json!({"a": "*"}), json!({"a": 1}), false, false),
            (json!({"a": "*"}), json!({}), false, false),
            (json!({"a": "a*b*c"}), json!({"a": "a-b-b-c"}), true, false),
            (json!({"a": "a*b*c"}), json!({"a": "a-c-b"}), false, false),
            (json!({"a": "aa*aa"}), json!({"a": "aaa"}), false, false),
            (json!({"a": "*ab*ab*"}), json!({"a": "xabx"}), false, false),
            (json!({"a": r"x\*"}), json!({"a": "x*"}), true, true),
            (json!({"a": r"x\*"}), json!({"a": "xy"}), false, true),
            (json!({"a": r"x\\*"}), json!({"a": r"x\y"}), true, false),
            (json!({"a": r"c:\dir"}), json!({"a": r"c:\dir"}), true, true),
            (json!({"a": "ö*é"}), json!({"a": "öäé"}), true, false),
        ] {
            let read = Pattern::parse(&pattern).unwrap();
            assert_eq!((read.covers(&args), read.is_exact()), (covers, exact), "{pattern} {args}");
            assert_eq!(Pattern::parse(&read.to_json()).unwrap(), read, "{pattern}");
        }
    }

    #[test]
    fn exactly_covers_its_own_and_nothing_else() {
        let all = [
            json!({}),
            json!({"a": "*"}),
            json!({"a": r"\*"}),
            json!({"a": r"\\*\"}),
            json!({"a": r"\"}),
            json!({"a": "x"}),
            json!({"a": null}),
            json!({"a": ["*"], "b": {"c": "*"}}),
            json!(["*"]),
            json!("*"),
        ];
        for (i, wanted) in all.iter().enumerate() {
            let pattern = Pattern::exactly(wanted);
            let again: Pattern = serde_json::from_value(serde_json::to_value(&pattern).unwrap()).unwrap();
            for (j, args) in all.iter().enumerate() {
                let covers = i == j && args.is_object();
                assert_eq!((pattern.covers(args), again.covers(args)), (covers, covers), "{wanted} {args}");
            }
            assert!(pattern.is_exact());
        }
    }

    #[test]
    fn what_is_no_pattern() {
        for wrong in [json!("a*"), json!(1), json!([]), Value::Null] {
            assert!(Pattern::parse(&wrong).is_err(), "{wrong}");
        }
    }
}
