//! The tools of a request, and calls to them written as JSON.

use super::loose;
use crate::{ToolDefinition, Tools};
use serde_json::{Map, Value};

/// A parsed call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Name of one of the request's tools.
    pub name: String,
    /// Arguments as JSON text; as written if beyond repair.
    pub arguments: String,
}

/// Keys models use for the name.
const NAMES: &[&str] = &["name", "tool", "tool_name", "function", "action"];
/// Keys models use for the arguments.
const ARGUMENTS: &[&str] = &["arguments", "parameters", "args", "params", "input", "tool_input", "action_input"];
/// Keys that contain a whole call, or several.
const WHOLE: &[&str] = &["tool_calls", "tool_call", "function_call", "function"];
/// Further keys, which are ignored.
const BESIDE: &[&str] = &["id", "type", "tool_call_id", "call_id", "index"];

/// The tools that calls written as text may use.
#[derive(Default)]
pub(super) struct KnownTools {
    /// Those of the request.
    pub tools: Tools,
    /// Those found earlier in the conversation.
    pub found: Vec<ToolDefinition>,
}

impl KnownTools {
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.tools.all_callable().next().is_none()
    }

    fn tool(&self, name: &str) -> Option<&ToolDefinition> {
        self.tools.callable(name).or_else(|| self.found.iter().find(|tool| tool.name == name))
    }

    /// Resolves a written name: `recall`, `functions.recall`, `functions.recall:0`.
    pub fn name(&self, written: &str) -> Option<&str> {
        let written = written.trim().trim_matches(['"', '\'', '`', '*']);
        let counted = written.rsplit_once(':').filter(|(_, count)| count.parse::<u32>().is_ok());
        let plain = counted.map_or(written, |(name, _)| name);
        let last = plain.rsplit(['.', '/', ':']).next().unwrap_or(plain);
        [written, plain, last].iter().find_map(|name| self.tool(name)).map(|tool| tool.name.as_str())
    }

    /// Whether this may be the start of a tool's name.
    pub fn may_become(&self, begun: &str) -> bool {
        self.tools.all_callable().chain(&self.found).any(|tool| tool.name.starts_with(begun))
    }

    fn properties(&self, name: &str) -> Option<&Map<String, Value>> {
        self.tool(name)?.parameters["properties"].as_object()
    }

    /// A tool's required arguments, in schema order.
    pub fn required(&self, name: &str) -> Vec<&str> {
        let required = self.tool(name).and_then(|tool| tool.parameters["required"].as_array());
        required.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The argument meant when only text is given: the only required one, or the only one.
    pub fn only(&self, name: &str) -> Option<&str> {
        match (&self.required(name)[..], self.properties(name)) {
            ([only], _) => Some(only),
            ([], Some(all)) if all.len() == 1 => all.keys().next().map(String::as_str),
            _ => None,
        }
    }

    /// Converts an argument given as bare text to its schema's type; text if it does not fit.
    pub fn typed(&self, name: &str, key: &str, text: &str) -> Value {
        let schema = self.properties(name).and_then(|all| all.get(key));
        if schema.is_some_and(|schema| schema["type"] == "string") {
            return text.into();
        }
        let read = loose::closed(text.trim());
        let fits = |value: &Value| match schema.and_then(|schema| schema["type"].as_str()) {
            Some("integer" | "number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => !value.is_string(),
        };
        read.filter(fits).unwrap_or_else(|| text.into())
    }

    /// The calls in a value; `None` if it is anything else, or names an unknown tool.
    pub fn calls(&self, value: &Value) -> Option<Vec<Call>> {
        self.calls_within(value, 0)
    }

    fn calls_within(&self, value: &Value, depth: usize) -> Option<Vec<Call>> {
        let map = match value {
            Value::Array(all) if !all.is_empty() && depth < 4 => {
                let calls: Option<Vec<_>> = all.iter().map(|one| self.calls_within(one, depth + 1)).collect();
                return Some(calls?.concat());
            }
            Value::Object(map) => map,
            _ => return None,
        };
        let whole = WHOLE.iter().find_map(|key| map.get(*key).filter(|v| v.is_object() || v.is_array()));
        if let Some(whole) = whole.filter(|_| depth < 4) {
            return self.calls_within(whole, depth + 1);
        }
        let (key, name) = NAMES.iter().find_map(|key| Some((*key, map.get(*key)?.as_str()?)))?;
        let name = self.name(name)?;
        let arguments = match ARGUMENTS.iter().find_map(|key| map.get(*key)) {
            Some(Value::String(text)) => loose::closed(text).unwrap_or_else(|| text.as_str().into()),
            Some(Value::Null) => Value::Object(Map::new()),
            Some(other) => other.clone(),
            None => self.beside(name, key, map)?,
        };
        Some(vec![self.call(name, arguments)])
    }

    /// Arguments beside the name, as in `{"tool": "recall", "query": "keys"}`.
    fn beside(&self, name: &str, key: &str, map: &Map<String, Value>) -> Option<Value> {
        let own = |key: &String| self.properties(name).is_some_and(|all| all.contains_key(key));
        let says = |key: &String, value: &Value| !BESIDE.contains(&key.as_str()) || own(key) && *value != "function";
        let others = map.iter().filter(|(other, value)| *other != key && says(other, value));
        let arguments: Map<_, _> = others.map(|(key, value)| (key.clone(), value.clone())).collect();
        arguments.keys().all(own).then_some(Value::Object(arguments))
    }

    /// A call from an arguments value: an object as it is; anything else as the only argument it can mean.
    pub fn call(&self, name: &str, arguments: Value) -> Call {
        let arguments = match (arguments, self.only(name)) {
            (object @ Value::Object(_), _) => object.to_string(),
            (Value::Null, _) => "{}".to_owned(),
            (Value::String(text), Some(only)) => {
                let value = self.typed(name, only, &text);
                Value::Object(Map::from_iter([(only.to_owned(), value)])).to_string()
            }
            // As written: argument validation explains what is wrong.
            (Value::String(text), None) => text,
            (other, _) => other.to_string(),
        };
        Call { name: name.to_owned(), arguments }
    }

    /// A call in text that is not JSON and beyond repair: its name is read, its arguments stay as written.
    pub fn call_in_broken(&self, text: &str) -> Option<Call> {
        let name = NAMES.iter().find_map(|key| self.name(after_key(text, key)?.1))?;
        let arguments = ARGUMENTS.iter().find_map(|key| after_key(text, key));
        let arguments = arguments.map_or(text, |(rest, _)| rest).trim();
        // The bracket that closes the call does not belong to the arguments.
        let own = arguments.strip_suffix('}').filter(|own| !own.is_empty()).unwrap_or(arguments);
        Some(Call { name: name.to_owned(), arguments: own.trim().to_owned() })
    }

    /// Whether an object that starts like this may be a call: its first key is a known one, and the tool exists.
    pub fn may_be_call(&self, text: &str) -> bool {
        let inner = text.trim_start_matches(['{', '[']).trim_start();
        let inner = inner.trim_start_matches(['{', '[']).trim_start();
        let key: &str = inner.trim_start_matches(['"', '\'']);
        let end = key.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(key.len());
        let all = || [NAMES, ARGUMENTS, WHOLE, BESIDE].concat();
        let (key, rest) = key.split_at(end);
        if rest.is_empty() {
            return all().iter().any(|known| known.starts_with(key));
        }
        if !all().contains(&key) {
            return false;
        }
        let value = rest.trim_start_matches(['"', '\'']).trim_start();
        let Some(value) = value.strip_prefix(':') else { return value.is_empty() };
        let value = value.trim_start();
        if !NAMES.contains(&key) || value.is_empty() {
            return true;
        }
        match value.strip_prefix(['"', '\'']).map(|named| named.split_once(['"', '\''])) {
            Some(Some((name, _))) => self.name(name).is_some(),
            Some(None) => true,
            None => value.starts_with('{'),
        }
    }
}

/// The text after a key and its colon in broken JSON, and its content if that is a string.
fn after_key<'t>(text: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let found = text.match_indices(key).find_map(|(at, _)| {
        let bounded = text[..at].ends_with(['"', '\'', '{', ' ', ',', '\n']);
        let rest = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
        rest.strip_prefix(':').filter(|_| bounded)
    })?;
    let rest = found.trim_start();
    let inside = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let end = inside.find(['"', '\'', ',', '}', '\n']).unwrap_or(inside.len());
    Some((rest, &inside[..end]))
}
