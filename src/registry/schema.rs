//! JSON Schema: checks values against a schema (draft 2020-12, and the older drafts' spellings). It interprets the schema
//! as it is; references stay within the document.

mod definition;
mod format;
mod in_place;
mod number;
pub(crate) mod references;

use fancy_regex::Regex;
use references::{References, base_of};
use serde_json::{Map, Number, Value};
use std::{
    cell::Cell,
    cmp::Ordering,
    collections::{BTreeSet, HashMap, HashSet},
    mem, ptr,
    time::{Duration, Instant},
};

/// How long the patterns of a schema may take in one check. A pattern that backtracks takes some 30 ms for each text.
const PATTERN_TIME: Duration = Duration::from_millis(200);
/// The longest quote of a value or a pattern in an error, in characters.
const EXCERPT: usize = 160;

type Patterns = HashMap<String, Regex>;

/// The drafts that differ in what a keyword means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    Four,
    Six,
    Seven,
    /// 2019-09 and newer.
    Current,
}

impl Draft {
    fn of(schema: &Value) -> Self {
        match schema["$schema"].as_str().unwrap_or_default() {
            uri if uri.contains("draft-04") => Self::Four,
            uri if uri.contains("draft-06") => Self::Six,
            uri if uri.contains("draft-07") => Self::Seven,
            _ => Self::Current,
        }
    }
}

/// A schema that was found to be well-formed.
pub(crate) struct Schema {
    root: Value,
    draft: Draft,
    patterns: Patterns,
    /// Whether any part needs to know which fields or items other parts speak of.
    unevaluated: bool,
}

/// A way in which a value does not fit.
pub(crate) struct Fault<'a> {
    /// The path of the value, as people write it: `operations[0].tool`.
    pub at: String,
    /// The first name of the path.
    pub parameter: &'a str,
    pub value: &'a Value,
    /// The schema whose keyword failed.
    pub schema: &'a Value,
    pub kind: FaultKind<'a>,
}

pub(crate) enum FaultKind<'a> {
    Missing(&'a str),
    Unknown(Vec<&'a str>),
    /// `type`, `anyOf`, or `oneOf` without a discriminator.
    Type,
    /// None of several forms fits; the faults of each.
    Forms(Vec<Vec<Fault<'a>>>),
    /// The text says what was expected.
    Expected(String),
    /// The text says it all.
    Other(String),
}

impl Schema {
    /// Checks a schema and compiles its patterns.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let patterns = definition::compile(schema)?;
        let unevaluated = |(part, _): &(&Value, &Value)| {
            part.get("unevaluatedProperties").is_some() || part.get("unevaluatedItems").is_some()
        };
        let unevaluated = References::new(schema).parts().iter().any(unevaluated);
        Ok(Self { root: schema.clone(), draft: Draft::of(schema), patterns, unevaluated })
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        let mut check = Check::new(self, true);
        check.apply(&self.root, &self.root, value) && !check.is_out_of_time()
    }

    /// Every way in which a value does not fit.
    pub(crate) fn faults<'a>(&'a self, value: &'a Value) -> Vec<Fault<'a>> {
        let mut check = Check::new(self, false);
        check.apply(&self.root, &self.root, value);
        check.faults
    }
}

/// A value in an error, truncated to [`EXCERPT`].
fn excerpt(value: &Value) -> String {
    excerpt_text(&value.to_string())
}

/// A text in an error, truncated to [`EXCERPT`].
pub(crate) fn excerpt_text(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The choices of an `enum`: `fact|event`.
pub(crate) fn join_choices(choices: &Value) -> String {
    let text = |c: &Value| c.as_str().map_or_else(|| c.to_string(), str::to_owned);
    choices.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join("|")
}

enum Token<'a> {
    Name(&'a str),
    Index(usize),
}

/// Which fields and items of the value at this place a schema speaks of.
#[derive(Default)]
struct Evaluated<'a> {
    fields: HashSet<&'a str>,
    items: BTreeSet<usize>,
}

/// One schema applied to one value.
#[derive(Clone, Copy)]
struct Place<'a> {
    map: &'a Map<String, Value>,
    schema: &'a Value,
    base: &'a Value,
    value: &'a Value,
}

struct Check<'a> {
    schema: &'a Schema,
    references: References<'a>,
    /// Whether only the result counts: then the first fault is enough, and none are collected.
    quick: bool,
    faults: Vec<Fault<'a>>,
    path: Vec<Token<'a>>,
    evaluated: Evaluated<'a>,
    /// The resources that were entered, for dynamic references.
    scope: Vec<&'a Value>,
    /// Time spent on patterns so far.
    pattern_time: Cell<Duration>,
}

impl<'a> Check<'a> {
    fn new(schema: &'a Schema, quick: bool) -> Self {
        let references = References::new(&schema.root);
        let (faults, path, scope) = (vec![], vec![], vec![]);
        let (evaluated, pattern_time) = (Evaluated::default(), Cell::default());
        Self { schema, references, quick, faults, path, evaluated, scope, pattern_time }
    }

    /// Whether a value fits a part of the schema, which belongs to the resource `base`.
    fn apply(&mut self, schema: &'a Value, base: &'a Value, value: &'a Value) -> bool {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => {
                let kind = || FaultKind::Other(format!("False schema does not allow {}", excerpt(value)));
                return self.fail(schema, value, kind);
            }
            _ => return true,
        };
        let base = base_of(schema, base);
        let enters = self.scope.last().is_none_or(|last| !ptr::eq(*last, base));
        if enters {
            self.scope.push(base);
        }
        let around = mem::take(&mut self.evaluated);
        let fits = self.keywords(Place { map, schema, base, value });
        let own = mem::replace(&mut self.evaluated, around);
        if fits && self.schema.unevaluated {
            self.evaluated.fields.extend(own.fields);
            self.evaluated.items.extend(own.items);
        }
        if enters {
            self.scope.pop();
        }
        fits
    }

    fn keywords(&mut self, place: Place<'a>) -> bool {
        // In older drafts a reference stands alone.
        if self.schema.draft < Draft::Current && place.map.get("$ref").is_some_and(Value::is_string) {
            return self.in_place("$ref", &place.map["$ref"], place);
        }
        let mut fits = true;
        for (keyword, rule) in place.map {
            fits &= match keyword.as_str() {
                "unevaluatedProperties" | "unevaluatedItems" => true,
                keyword => self.keyword(keyword, rule, place),
            };
            if !fits && self.quick {
                return false;
            }
        }
        if self.schema.unevaluated {
            fits &= self.unevaluated(place);
        }
        fits
    }

    fn keyword(&mut self, keyword: &'a str, rule: &'a Value, place: Place<'a>) -> bool {
        match (keyword, place.value) {
            ("type" | "enum" | "const", _) => self.value_itself(keyword, rule, place),
            ("allOf" | "anyOf" | "oneOf" | "not" | "if" | "$ref" | "$dynamicRef" | "$recursiveRef", _) => {
                self.in_place(keyword, rule, place)
            }
            (_, Value::Number(number)) => self.number(keyword, rule, number, place),
            (_, Value::String(text)) => self.string(keyword, rule, text, place),
            (_, Value::Array(items)) => self.array(keyword, rule, items, place),
            (_, Value::Object(fields)) => self.object(keyword, rule, fields, place),
            _ => true,
        }
    }

    /// Notes a fault; always false.
    fn fail(&mut self, schema: &'a Value, value: &'a Value, kind: impl FnOnce() -> FaultKind<'a>) -> bool {
        if !self.quick {
            let mut at = String::new();
            for token in &self.path {
                match token {
                    Token::Index(index) => at += &format!("[{index}]"),
                    Token::Name(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => at += &format!("[{name}]"),
                    Token::Name(name) => {
                        at += if at.is_empty() { "" } else { "." };
                        at += name;
                    }
                }
            }
            let parameter = match self.path.first() {
                Some(Token::Name(name)) => name,
                _ => "",
            };
            self.faults.push(Fault { at, parameter, value, schema, kind: kind() });
        }
        false
    }

    /// Notes a fault unless a value is as expected.
    fn expect(&mut self, fits: bool, place: Place<'a>, expected: impl FnOnce() -> String) -> bool {
        fits || self.fail(place.schema, place.value, || FaultKind::Expected(expected()))
    }

    /// The same, with a text that says it all.
    fn expect_or_say(&mut self, fits: bool, place: Place<'a>, text: impl FnOnce() -> String) -> bool {
        fits || self.fail(place.schema, place.value, || FaultKind::Other(text()))
    }

    /// Whether a field or an item fits a schema.
    fn inside(&mut self, token: Token<'a>, schema: &'a Value, base: &'a Value, value: &'a Value) -> bool {
        let around = mem::take(&mut self.evaluated);
        self.path.push(token);
        let fits = self.apply(schema, base, value);
        self.path.pop();
        self.evaluated = around;
        fits
    }

    /// Whether something fits, without noting its faults.
    fn try_quickly(&mut self, attempt: impl FnOnce(&mut Self) -> bool) -> bool {
        let around = mem::replace(&mut self.quick, true);
        let fits = attempt(self);
        self.quick = around;
        fits
    }

    /// Whether the patterns of one check took too long: then the value counts as unfit.
    fn is_out_of_time(&self) -> bool {
        self.pattern_time.get() > PATTERN_TIME
    }

    fn matches(&self, pattern: &str, text: &str) -> bool {
        if self.is_out_of_time() {
            return false;
        }
        let begun = Instant::now();
        // regex-automata panics on some patterns.
        let matches = |regex: &Regex| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| regex.is_match(text).unwrap_or(false)))
                .unwrap_or(false)
        };
        let fits = self.schema.patterns.get(pattern).is_some_and(matches);
        self.pattern_time.set(self.pattern_time.get() + begun.elapsed());
        fits
    }

    fn value_itself(&mut self, keyword: &str, rule: &'a Value, place: Place<'a>) -> bool {
        let value = place.value;
        match keyword {
            "type" => {
                let one = |name: &Value| match name.as_str() {
                    Some("null") => value.is_null(),
                    Some("boolean") => value.is_boolean(),
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("number") => value.is_number(),
                    Some("string") => value.is_string(),
                    Some("integer") => number::is_integer(value),
                    _ => false,
                };
                let fits = rule.as_array().map_or_else(|| one(rule), |names| names.iter().any(one));
                fits || self.fail(place.schema, value, || FaultKind::Type)
            }
            "enum" => {
                let fits =
                    rule.as_array().is_some_and(|choices| choices.iter().any(|choice| number::equal(choice, value)));
                self.expect(fits, place, || format!("expected one of {}", join_choices(rule)))
            }
            _ => self.expect(number::equal(rule, value), place, || format!("expected {rule}")),
        }
    }

    fn number(&mut self, keyword: &str, rule: &'a Value, value: &Number, place: Place<'a>) -> bool {
        let Value::Number(limit) = rule else { return true };
        let order = number::compare(value, limit);
        // Draft 4 says with a flag that the limit itself does not fit.
        let strict = |flag: &str| place.map.get(flag) == Some(&Value::Bool(true));
        match keyword {
            "minimum" if strict("exclusiveMinimum") => {
                self.expect(order == Ordering::Greater, place, || format!("expected more than {limit}"))
            }
            "maximum" if strict("exclusiveMaximum") => {
                self.expect(order == Ordering::Less, place, || format!("expected less than {limit}"))
            }
            "minimum" => self.expect(order != Ordering::Less, place, || format!("expected at least {limit}")),
            "maximum" => self.expect(order != Ordering::Greater, place, || format!("expected at most {limit}")),
            "exclusiveMinimum" => {
                self.expect(order == Ordering::Greater, place, || format!("expected more than {limit}"))
            }
            "exclusiveMaximum" => self.expect(order == Ordering::Less, place, || format!("expected less than {limit}")),
            "multipleOf" => {
                let text = || format!("{value} is not a multiple of {limit}");
                self.expect_or_say(number::is_multiple(value, limit), place, text)
            }
            _ => true,
        }
    }

    fn string(&mut self, keyword: &str, rule: &'a Value, text: &str, place: Place<'a>) -> bool {
        let length = || text.chars().count() as u64;
        match keyword {
            "minLength" => {
                let least = number::count(rule).unwrap_or(0);
                self.expect(length() >= least, place, || format!("expected at least {least} characters"))
            }
            "maxLength" => {
                let most = number::count(rule).unwrap_or(u64::MAX);
                self.expect(length() <= most, place, || format!("expected at most {most} characters"))
            }
            "pattern" => {
                let pattern = rule.as_str().unwrap_or_default();
                let wanted = || format!("expected text that matches {}", excerpt_text(pattern));
                self.expect(self.matches(pattern, text), place, wanted)
            }
            // Newer drafts take it as a remark.
            "format" if self.schema.draft < Draft::Current => {
                let format = rule.as_str().unwrap_or_default();
                self.expect(format::fits(format, text), place, || format!("expected a text of the format {format}"))
            }
            _ => true,
        }
    }

    fn array(&mut self, keyword: &str, rule: &'a Value, items: &'a [Value], place: Place<'a>) -> bool {
        let tuple = ["prefixItems", "items"].into_iter().find_map(|key| place.map.get(key)?.as_array());
        match keyword {
            "minItems" => {
                let least = number::count(rule).unwrap_or(0);
                self.expect(items.len() as u64 >= least, place, || format!("expected at least {least} items"))
            }
            "maxItems" => {
                let most = number::count(rule).unwrap_or(u64::MAX);
                self.expect(items.len() as u64 <= most, place, || format!("expected at most {most} items"))
            }
            "uniqueItems" if *rule == true => {
                let mut seen = HashSet::new();
                let fits = items.iter().all(|item| {
                    let mut text = String::new();
                    number::canonical(item, &mut text);
                    seen.insert(text)
                });
                self.expect(fits, place, || "expected every item only once".into())
            }
            "prefixItems" | "items" if rule.is_array() => {
                let schemas = rule.as_array().into_iter().flatten();
                let mut fits = true;
                for (index, (schema, item)) in schemas.zip(items).enumerate() {
                    self.evaluated.items.insert(index);
                    fits &= self.inside(Token::Index(index), schema, place.base, item);
                }
                fits
            }
            // The items after the tuple: `items` beside `prefixItems`, `additionalItems` beside a list of `items`.
            "additionalItems" if !place.map.get("items").is_some_and(Value::is_array) => true,
            "additionalItems" if *rule == false => {
                let more = items.len().saturating_sub(tuple.map_or(0, Vec::len));
                self.expect_or_say(more == 0, place, || format!("{more} items more than are allowed"))
            }
            "items" | "additionalItems" => {
                let mut fits = true;
                for (index, item) in items.iter().enumerate().skip(tuple.map_or(0, Vec::len)) {
                    if self.schema.unevaluated {
                        self.evaluated.items.insert(index);
                    }
                    fits &= self.inside(Token::Index(index), rule, place.base, item);
                    if !fits && self.quick {
                        return false;
                    }
                }
                fits
            }
            "contains" if self.schema.draft > Draft::Four => self.contains(rule, items, place),
            _ => true,
        }
    }

    fn contains(&mut self, rule: &'a Value, items: &'a [Value], place: Place<'a>) -> bool {
        let mut found = 0;
        for (index, item) in items.iter().enumerate() {
            if self.try_quickly(|this| this.inside(Token::Index(index), rule, place.base, item)) {
                found += 1;
                self.evaluated.items.insert(index);
            }
        }
        let limit =
            |key: &str| place.map.get(key).filter(|_| self.schema.draft == Draft::Current).and_then(number::count);
        let fits = found >= limit("minContains").unwrap_or(1) && found <= limit("maxContains").unwrap_or(u64::MAX);
        self.expect_or_say(fits, place, || format!("None of {} are valid under the given schema", excerpt(place.value)))
    }

    fn object(&mut self, keyword: &str, rule: &'a Value, fields: &'a Map<String, Value>, place: Place<'a>) -> bool {
        match keyword {
            "required" => {
                let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut fits = true;
                for name in names.filter(|name| !fields.contains_key(*name)) {
                    fits = self.fail(place.schema, place.value, || FaultKind::Missing(name));
                }
                fits
            }
            "minProperties" => {
                let least = number::count(rule).unwrap_or(0);
                let text = || format!("{} has less than {least} properties", excerpt(place.value));
                self.expect_or_say(fields.len() as u64 >= least, place, text)
            }
            "maxProperties" => {
                let most = number::count(rule).unwrap_or(u64::MAX);
                let text = || format!("{} has more than {most} properties", excerpt(place.value));
                self.expect_or_say(fields.len() as u64 <= most, place, text)
            }
            "properties" => {
                let schemas = rule.as_object().into_iter().flatten();
                let known = schemas.filter_map(|(name, schema)| Some((schema, fields.get_key_value(name)?)));
                self.each_field(known, place)
            }
            "patternProperties" => {
                let mut fits = true;
                for (pattern, schema) in rule.as_object().into_iter().flatten() {
                    let matching: Vec<_> = fields.iter().filter(|(name, _)| self.matches(pattern, name)).collect();
                    fits &= self.each_field(matching.into_iter().map(|field| (schema, field)), place);
                }
                fits
            }
            "additionalProperties" => self.additional(rule, fields, place),
            "propertyNames" if self.schema.draft > Draft::Four => {
                let fits =
                    |name: &String| Check::new(self.schema, true).apply(rule, place.base, &Value::from(name.as_str()));
                let wrong = fields.keys().find(|name| !fits(name));
                self.expect_or_say(wrong.is_none(), place, || {
                    format!("the name `{}` does not fit", wrong.map_or("", String::as_str))
                })
            }
            "dependentRequired" | "dependentSchemas" | "dependencies" => {
                let rules = rule.as_object().into_iter().flatten().filter(|(name, _)| fields.contains_key(*name));
                let mut fits = true;
                for (_, rule) in rules {
                    fits &= match rule {
                        Value::Array(_) => self.object("required", rule, fields, place),
                        schema => self.apply(schema, place.base, place.value),
                    };
                }
                fits
            }
            _ => true,
        }
    }

    fn each_field(
        &mut self,
        fields: impl Iterator<Item = (&'a Value, (&'a String, &'a Value))>,
        place: Place<'a>,
    ) -> bool {
        let mut fits = true;
        for (schema, (name, field)) in fields {
            if self.schema.unevaluated {
                self.evaluated.fields.insert(name);
            }
            fits &= self.inside(Token::Name(name), schema, place.base, field);
            if !fits && self.quick {
                return false;
            }
        }
        fits
    }

    fn additional(&mut self, rule: &'a Value, fields: &'a Map<String, Value>, place: Place<'a>) -> bool {
        let properties = place.map.get("properties").and_then(Value::as_object);
        let patterns = place.map.get("patternProperties").and_then(Value::as_object);
        let matched = |name: &str| patterns.into_iter().flatten().any(|(pattern, _)| self.matches(pattern, name));
        let known = |name: &String| properties.is_some_and(|known| known.contains_key(name)) || matched(name);
        let others: Vec<_> = fields.iter().filter(|(name, _)| !known(name)).collect();
        if *rule == false && !others.is_empty() {
            let names = others.iter().map(|(name, _)| name.as_str()).collect();
            return self.fail(place.schema, place.value, || FaultKind::Unknown(names));
        }
        self.each_field(others.into_iter().map(|field| (rule, field)), place)
    }
}

#[cfg(test)]
mod tests;
