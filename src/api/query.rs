//! Query parameters, by one rule at every address: an empty parameter counts as left out, an unknown one is ignored, and a
//! wrong one is refused with its name and what it takes, as its type says.

use crate::{describe::Schemas, envelope::Failure};
use axum::{extract::FromRequestParts, http::request::Parts};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::num::NonZeroUsize;
use text_kit::{first_sentence, prefix};
use tool::prelude::{JsonSchema, schemars};
use url::form_urlencoded;

/// The longest name and value that a refusal repeats, in characters.
const SHOWN: usize = 40;

/// Query parameters of a known shape.
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        parse(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

fn parse<T: DeserializeOwned + JsonSchema>(query: &str) -> Result<T, Failure> {
    let has_value = |pair: &&str| pair.split_once('=').is_some_and(|(_, value)| !value.is_empty());
    let given = query.split('&').filter(has_value).collect::<Vec<_>>().join("&");
    // Bytes that are no text would silently become other characters.
    for (name, value) in given.split('&').filter_map(|pair| pair.split_once('=')) {
        if !is_text(value) {
            let name = prefix(name, SHOWN);
            return Err(Failure::new(
                400,
                "bad_args",
                format!("`{name}` has bytes in it that are no UTF-8 text: write it in UTF-8"),
            ));
        }
    }
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(given.as_bytes()));
    serde_path_to_error::deserialize(pairs).map_err(|e| {
        let name = e.path().to_string();
        let schema = Schemas::default().input_schema::<T>();
        let value = form_urlencoded::parse(given.as_bytes()).find(|(key, _)| *key == name).map(|(_, value)| value);
        let text = match (schema["properties"].get(&name), value) {
            (Some(takes), Some(value)) => wrong(&name, &value, takes),
            _ => format!("the query is not what this address takes: {}", prefix(&e.inner().to_string(), 2 * SHOWN)),
        };
        Failure::new(400, "bad_args", text)
    })
}

/// Whether a value with `%` in it stands for UTF-8.
fn is_text(value: &str) -> bool {
    let (mut bytes, mut rest) = (vec![], value.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&bytes).is_ok()
}

/// The error of a wrong parameter: the values its schema allows, and its description.
fn wrong(name: &str, value: &str, takes: &Value) -> String {
    let is =
        |kind: &str| takes["type"] == kind || takes["type"].as_array().is_some_and(|all| all.iter().any(|t| t == kind));
    let mut choices = vec![];
    choices_of(takes, &mut choices);
    let write = match &choices[..] {
        [rest @ .., last] if !rest.is_empty() => format!("write {} or {last}", rest.join(", ")),
        _ if is("boolean") => "write `true` or `false`".to_owned(),
        _ if is("integer") => format!("write a whole number from {}", takes["minimum"].as_i64().unwrap_or_default()),
        _ if takes["format"] == "uuid" => "write an id".to_owned(),
        _ => "leave it out, or write what it takes".to_owned(),
    };
    let about = first_sentence(takes["description"].as_str().unwrap_or_default());
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.trim_end_matches('.')) };
    format!("`{name}` cannot be `{}`: {write}{about}", prefix(value, SHOWN))
}

/// The texts that a schema allows, where it lists them.
fn choices_of(schema: &Value, choices: &mut Vec<String>) {
    let listed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    choices.extend(listed.filter_map(Value::as_str).map(|choice| format!("`{choice}`")));
    for branches in ["oneOf", "anyOf"] {
        schema[branches].as_array().into_iter().flatten().for_each(|branch| choices_of(branch, choices));
    }
}

/// How many are asked for, from one: `DEFAULT` when it is left out; more than `MOST` counts as `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(from = "NonZeroUsize")]
#[schemars(with = "NonZeroUsize")]
pub(crate) struct Limit<const DEFAULT: usize, const MOST: usize = 200>(usize);

impl<const DEFAULT: usize, const MOST: usize> Limit<DEFAULT, MOST> {
    pub fn get(self) -> usize {
        self.0
    }
}

impl<const DEFAULT: usize, const MOST: usize> Default for Limit<DEFAULT, MOST> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const DEFAULT: usize, const MOST: usize> From<NonZeroUsize> for Limit<DEFAULT, MOST> {
    fn from(limit: NonZeroUsize) -> Self {
        Self(limit.get().min(MOST))
    }
}

/// The first `limit` of what was read, and the start of the next page if there was more.
pub(crate) fn page_of<T, N>(mut all: Vec<T>, limit: usize, start: impl Fn(&T) -> N) -> (Vec<T>, Option<N>) {
    let more = all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(start);
    (all, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::Id;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum State {
        Pending,
        /// Dismissed ones too.
        Answered,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Page {
        /// How many at most, up to 200. More is no use.
        #[serde(default)]
        limit: Limit<20>,
        before: Option<Id>,
        /// How many to pass over.
        #[serde(default)]
        offset: usize,
        state: Option<State>,
        #[serde(default)]
        everybody: bool,
        #[serde(default)]
        query: String,
    }

    #[test]
    fn empty_is_left_out_and_unknown_is_ignored() {
        let plain = parse::<Page>("").unwrap();
        for query in ["before=", "limit=&offset=", "state=&everybody=&query=", "nosuch=1", "limit", "&&", "="] {
            assert_eq!(parse::<Page>(query).unwrap(), plain, "{query}");
        }
        assert_eq!(plain.limit.get(), 20);
        let given = parse::<Page>("limit=999&offset=3&state=answered&everybody=true&query=a+b%26c").unwrap();
        assert_eq!((given.limit.get(), given.offset, given.everybody), (200, 3, true));
        assert_eq!((given.state, given.query.as_str()), (Some(State::Answered), "a b&c"));
    }

    #[test]
    fn a_wrong_parameter_is_named_with_what_it_takes() {
        let rows = [
            ("limit=0", "`limit` cannot be `0`: write a whole number from 1 (How many at most, up to 200)"),
            ("limit=abc", "`limit` cannot be `abc`: write a whole number from 1 (How many at most, up to 200)"),
            ("limit=-1", "`limit` cannot be `-1`: write a whole number from 1 (How many at most, up to 200)"),
            ("offset=x", "`offset` cannot be `x`: write a whole number from 0 (How many to pass over)"),
            ("query=1&before=x", "`before` cannot be `x`: write an id"),
            ("state=asleep", "`state` cannot be `asleep`: write `pending` or `answered`"),
            ("everybody=1", "`everybody` cannot be `1`: write `true` or `false`"),
            ("limit=1&limit=2", "the query is not what this address takes: duplicate field `limit`"),
        ];
        for (query, why) in rows {
            assert_eq!(parse::<Page>(query).unwrap_err().message, why);
        }
    }

    #[test]
    fn a_page_says_where_the_next_one_starts() {
        assert_eq!(page_of(vec![3, 2, 1], 2, |n| *n), (vec![3, 2], Some(2)));
        assert_eq!(page_of(vec![3, 2], 2, |n| *n), (vec![3, 2], None));
        assert_eq!(page_of(Vec::<u8>::new(), 2, |n| *n), (vec![], None));
    }
}
