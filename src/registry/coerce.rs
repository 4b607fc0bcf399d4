//! Coerces arguments that do not match the schema but have a clear meaning, a common slip of models. Each correction is
//! reported; ambiguous arguments are left for the check to refuse.

#[cfg(test)]
mod tests;

use serde_json::{Map, Number, Value};
use std::{cell::Cell, fmt};

/// The deepest part of a schema that is followed.
const DEPTH: usize = 24;
/// The most schema parts visited for one call, and how many a trial of one form counts for: a schema that refers to itself
/// several times would otherwise take years. Beyond that, arguments stay unchanged.
const STEPS: u32 = 20_000;
const TRY: u32 = 50;

/// Corrects the arguments and returns the corrections as sentences, without values, which may be secret.
pub(crate) fn coerce(schema: &Value, args: &mut Value) -> Vec<String> {
    let mut coercer = Coercer { root: schema, corrections: vec![], steps: Cell::new(STEPS) };
    coercer.value(schema, args, &At::Root, 0);
    coercer.corrections
}

/// Whether two field names differ only in case and word separators.
pub(crate) fn alike(a: &str, b: &str) -> bool {
    fn plain(name: &str) -> impl Iterator<Item = char> {
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase)
    }
    plain(a).eq(plain(b))
}

/// Renames fields that other APIs name differently, unless the field that is meant is there too.
pub(crate) fn rename_synonyms(synonyms: &[(&str, &str)], fields: &mut Map<String, Value>) {
    for (other, meant) in synonyms {
        if fields.keys().any(|name| alike(name, meant)) {
            continue;
        }
        let Some(name) = fields.keys().find(|name| alike(name, other)).cloned() else { continue };
        if let Some(value) = fields.remove(&name) {
            fields.insert((*meant).to_owned(), value);
        }
    }
}

/// A path in the arguments, from the inside out.
pub(crate) enum At<'a> {
    Root,
    Field(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Root => Ok(()),
            At::Field(At::Root, name) => f.write_str(name),
            At::Field(of, name) => write!(f, "{of}.{name}"),
            At::Item(of, index) => write!(f, "{of}[{index}]"),
        }
    }
}

/// The JSON types a schema accepts, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Types(u8);

const NULL: u8 = 1;
const BOOLEAN: u8 = 2;
const INTEGER: u8 = 4;
const NUMBER: u8 = 8;
const STRING: u8 = 16;
const ARRAY: u8 = 32;
const OBJECT: u8 = 64;
const ANY: u8 = 127;

impl Types {
    fn of(schema: &Map<String, Value>) -> Self {
        let bit = |name: &Value| match name.as_str() {
            Some("null") => NULL,
            Some("boolean") => BOOLEAN,
            Some("integer") => INTEGER,
            Some("number") => NUMBER,
            Some("string") => STRING,
            Some("array") => ARRAY,
            Some("object") => OBJECT,
            _ => 0,
        };
        match schema.get("type") {
            Some(Value::Array(several)) => Self(several.iter().fold(0, |bits, one| bits | bit(one))),
            Some(one) => Self(bit(one)),
            // Choices imply their types.
            None => match choices(schema) {
                Some(choices) => Self(choices.iter().fold(0, |bits, choice| bits | Self::kind(choice))),
                None => Self(ANY),
            },
        }
    }
    fn kind(value: &Value) -> u8 {
        match value {
            Value::Null => NULL,
            Value::Bool(_) => BOOLEAN,
            Value::Number(n) if n.is_f64() && n.as_f64().is_some_and(|n| n.fract() != 0.0) => NUMBER,
            Value::Number(_) => INTEGER | NUMBER,
            Value::String(_) => STRING,
            Value::Array(_) => ARRAY,
            Value::Object(_) => OBJECT,
        }
    }
    fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
    fn take(self, value: &Value) -> bool {
        self.has(Self::kind(value))
    }
}

fn choices(schema: &Map<String, Value>) -> Option<&[Value]> {
    schema
        .get("enum")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .or_else(|| schema.get("const").map(std::slice::from_ref))
}

struct Coercer<'s> {
    root: &'s Value,
    corrections: Vec<String>,
    /// The steps left.
    steps: Cell<u32>,
}

impl<'s> Coercer<'s> {
    fn report(&mut self, at: &At, what: &str) {
        let at = if matches!(at, At::Root) { "the whole".to_owned() } else { format!("`{at}`") };
        self.corrections.push(format!("{at} {what}"));
    }

    /// Takes steps; `false` when too few are left.
    fn spend(&self, steps: u32) -> bool {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    /// The schema itself, or the target of its reference in the root schema.
    fn resolve(&self, schema: &'s Value) -> Option<&'s Map<String, Value>> {
        let mut schema = schema.as_object()?;
        for _ in 0..DEPTH {
            let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
            schema = self.root.pointer(reference.strip_prefix('#')?)?.as_object()?;
        }
        None
    }

    fn value(&mut self, schema: &'s Value, value: &mut Value, at: &At, depth: usize) {
        let Some(schema) = self.resolve(schema).filter(|_| depth < DEPTH && self.spend(1)) else { return };
        for branch in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(branch, value, at, depth + 1);
        }
        if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            self.branches(branches, value, at, depth);
        }
        let types = Types::of(schema);
        if !types.take(value) {
            self.convert(schema, types, value, at, depth);
        } else if !types.has(NUMBER)
            && value.is_f64()
            && let Some(whole) = whole(value.as_f64())
        {
            // Valid, but a Rust integer does not parse it.
            *value = whole;
            self.report(at, "had a decimal point and was taken as a whole number");
        }
        if let (Some(choices), Value::String(text)) = (choices(schema), &*value)
            && !choices.contains(value)
        {
            let mut near = choices.iter().filter(|c| c.as_str().is_some_and(|c| alike(c, text.trim())));
            if let (Some(choice), None) = (near.next(), near.next()) {
                *value = choice.clone();
                self.report(at, &format!("was taken as {choice}"));
            }
        }
        match value {
            Value::Object(fields) => self.fields(schema, fields, at, depth),
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(schema, item, &At::Item(at, index), depth + 1);
                }
            }
            _ => {}
        }
    }

    /// One of several forms: the one that matches by its type, or the only one that does after coercion.
    fn branches(&mut self, branches: &'s [Value], value: &mut Value, at: &At, depth: usize) {
        let mut fitting = branches.iter().filter(|b| self.fits(b, value));
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => self.value(one, value, at, depth + 1),
            (Some(_), Some(_)) => {}
            (None, _) => {
                // `"7"` rather means 7 than [7].
                let (lists, others): (Vec<&Value>, _) = branches.iter().partition(|b| b["type"] == "array");
                for kind in [others, lists] {
                    let mut ways: Vec<_> = kind.into_iter().filter_map(|b| self.coerced(b, value, at, depth)).collect();
                    if ways.len() > 1 {
                        return;
                    }
                    if let Some((coerced, corrections)) = ways.pop() {
                        *value = coerced;
                        return self.corrections.extend(corrections);
                    }
                }
            }
        }
    }

    /// A value coerced to one form, with the corrections; `None` where it does not match even then.
    fn coerced(&mut self, schema: &'s Value, value: &Value, at: &At, depth: usize) -> Option<(Value, Vec<String>)> {
        if !self.spend(TRY) {
            return None;
        }
        let (mut copy, before) = (value.clone(), self.corrections.len());
        self.value(schema, &mut copy, at, depth + 1);
        let corrections = self.corrections.split_off(before);
        self.fits(schema, &copy).then_some((copy, corrections))
    }

    /// Whether a value has the type and is among the choices of a schema, and its constant fields match too.
    fn fits(&self, schema: &'s Value, value: &Value) -> bool {
        // A reference that cannot be followed may accept anything.
        let Some(schema) = self.resolve(schema) else { return *schema != Value::Bool(false) };
        let constants = |fields: &Map<String, Value>| {
            let properties = schema.get("properties").and_then(Value::as_object);
            properties.into_iter().flatten().all(|(name, field)| match (field.get("const"), fields.get(name)) {
                (Some(constant), Some(given)) => constant == given,
                _ => true,
            })
        };
        Types::of(schema).take(value)
            && choices(schema).is_none_or(|c| c.contains(value))
            && value.as_object().is_none_or(constants)
    }

    /// Converts a value of the wrong type to the right one, where there is only one way.
    fn convert(&mut self, schema: &'s Map<String, Value>, types: Types, value: &mut Value, at: &At, depth: usize) {
        let read = match &*value {
            Value::String(text) => from_text(text.trim(), types),
            Value::Bool(_) | Value::Number(_) if types.has(STRING) => {
                let what = if value.is_boolean() {
                    "was true or false and was taken as text"
                } else {
                    "was a number and was taken as text"
                };
                Some((Value::String(value.to_string()), what))
            }
            Value::Number(n) if types.has(BOOLEAN) => match n.as_f64() {
                Some(0.0) => Some((false.into(), "was 0 and was read as false")),
                Some(1.0) => Some((true.into(), "was 1 and was read as true")),
                _ => None,
            },
            _ => None,
        };
        if let Some((read, what)) = read {
            *value = read;
            self.report(at, what);
        } else if types.has(ARRAY) && !value.is_null() && !value.is_array() {
            self.list(schema, value, at, depth);
        }
    }

    /// Converts a single item, or words separated by commas, to a list.
    fn list(&mut self, schema: &'s Map<String, Value>, value: &mut Value, at: &At, depth: usize) {
        let items = schema.get("items").unwrap_or(&Value::Bool(true));
        let of_strings = self.resolve(items).is_some_and(|s| Types::of(s) == Types(STRING));
        if let Some(words) = value.as_str().filter(|_| of_strings).and_then(words) {
            *value = words;
            self.report(at, "was text with commas and was read as a list");
        } else if let Some((item, corrections)) = self.coerced(items, value, &At::Item(at, 0), depth) {
            *value = Value::Array(vec![item]);
            self.report(at, "was a single item and was put into a list");
            self.corrections.extend(corrections);
        }
    }

    fn fields(&mut self, schema: &'s Map<String, Value>, fields: &mut Map<String, Value>, at: &At, depth: usize) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        self.rename(schema, properties, fields, at);
        let required = |name: &String| {
            schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|r| r == name))
        };
        let mut nulls = vec![];
        fields.retain(|name, value| {
            let drop = value.is_null()
                && properties.get(name).is_some_and(|field| !self.takes_null(field, 0))
                && !required(name);
            if drop {
                nulls.push(format!("`{}`", At::Field(at, name)));
            }
            !drop
        });
        if !nulls.is_empty() {
            self.corrections.push(format!("left out, because null: {}", nulls.join(", ")));
        }
        for (name, value) in fields {
            if let Some(field) = properties.get(name) {
                self.value(field, value, &At::Field(at, name), depth + 1);
            }
        }
    }

    /// Renames fields in another case style, where exactly one is meant and the schema allows no others.
    fn rename(
        &mut self,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        fields: &mut Map<String, Value>,
        at: &At,
    ) {
        let open = schema.get("additionalProperties").is_some_and(|a| *a != Value::Bool(false));
        if open || schema.contains_key("patternProperties") || fields.keys().all(|name| properties.contains_key(name)) {
            return;
        }
        let meant = |name: &String, fields: &Map<String, Value>| -> Option<String> {
            let mut near = properties.keys().filter(|p| !fields.contains_key(*p) && alike(p, name));
            near.next().filter(|_| near.next().is_none()).cloned()
        };
        let unknown: Vec<(String, String)> = fields
            .keys()
            .filter(|name| !properties.contains_key(*name))
            .filter_map(|name| Some((name.clone(), meant(name, fields)?)))
            .collect();
        for (name, target) in &unknown {
            if unknown.iter().filter(|(_, t)| t == target).count() == 1
                && let Some(value) = fields.remove(name)
            {
                fields.insert(target.clone(), value);
                self.report(&At::Field(at, name), &format!("was taken for `{target}`"));
            }
        }
    }

    fn takes_null(&self, schema: &'s Value, depth: usize) -> bool {
        let Some(schema) = self.resolve(schema).filter(|_| depth < DEPTH && self.spend(1)) else { return true };
        let any = |key: &str| schema.get(key).and_then(Value::as_array);
        match any("anyOf").or_else(|| any("oneOf")) {
            Some(branches) => branches.iter().any(|b| self.takes_null(b, depth + 1)),
            None => {
                Types::of(schema).has(NULL)
                    && any("allOf").is_none_or(|all| all.iter().all(|s| self.takes_null(s, depth + 1)))
            }
        }
    }
}

/// Parses text as another type, the narrowest first.
fn from_text(text: &str, types: Types) -> Option<(Value, &'static str)> {
    if types.has(INTEGER | NUMBER)
        && let Some(number) = number(text, types)
    {
        return Some((number, "was text and was read as a number"));
    }
    if types.has(BOOLEAN) {
        let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if is(&["true", "yes", "on", "1"]) {
            return Some((true.into(), "was text and was read as true"));
        }
        if is(&["false", "no", "off", "0"]) {
            return Some((false.into(), "was text and was read as false"));
        }
    }
    if types.has(OBJECT | ARRAY)
        && text.starts_with(['{', '['])
        && let Ok(read) = serde_json::from_str::<Value>(text)
        && types.take(&read)
    {
        return Some((read, "was JSON text and was read as what it says"));
    }
    None
}

/// Parses a number as people and models write it, without words such as `inf`.
fn number(text: &str, types: Types) -> Option<Value> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.into());
    }
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite())?;
    match types.has(NUMBER) {
        true => Number::from_f64(number).map(Value::Number),
        false => whole(Some(number)),
    }
}

/// A float without a fraction as an integer.
fn whole(number: Option<f64>) -> Option<Value> {
    // Beyond this a float skips whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.filter(|n| n.fract() == 0.0 && n.abs() <= EXACT).map(|n| Value::from(n as i64))
}

/// `a,b,c` as a list, where the parts are plain words: with blanks beside the commas it may be a sentence, and with other
/// signs an address that has commas in it.
fn words(text: &str) -> Option<Value> {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.@+#".contains(c));
    (text.contains(',') && text.split(',').all(plain)).then(|| text.split(',').collect::<Vec<_>>().into())
}
