//! A part of JSON at a path. What is not asked for is passed over while it is read, and of what is asked for no more is kept than an
//! answer shows: 5 MB of small values would take a hundred times their text.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::{cell::Cell, fmt};
use text_kit::{join_and, truncate};

/// The most names of fields that are kept, for errors and notes.
const NAMES: usize = 20;

/// What is at a path.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    /// The value, as much of it as the budget allowed.
    pub value: Value,
    /// Whether all of it is there.
    pub is_whole: bool,
    /// What is directly in it, such as "`a` and `b`", or "0 to 8" of a list; empty for plain values.
    pub inside: String,
}

/// Reads the part of a JSON text at a path of names and places: `items.0.name` or `/items/0/name`. About `budget` bytes of it are kept.
///
/// # Errors
/// What is wrong with the path, in the inner result; an error of the format in the outer.
pub(crate) fn part(text: &str, path: &str, budget: usize) -> serde_json::Result<Result<Part, String>> {
    let path = path.trim().trim_start_matches(['$', '.', '/']).replace(['[', '/'], ".").replace(']', "");
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    let mut reader = serde_json::Deserializer::from_str(text);
    let found = Step { steps: &steps, budget }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// The value below some steps.
struct Step<'a> {
    steps: &'a [&'a str],
    budget: usize,
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Result<Part, String>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        if !self.steps.is_empty() {
            return from.deserialize_any(self);
        }
        let budget = Cell::new(self.budget);
        let mut inside = Inside::default();
        let value = Kept { budget: &budget, inside: Some(&mut inside) }.deserialize(from)?;
        Ok(Ok(Part { value: value.unwrap_or_default(), is_whole: budget.get() > 0, inside: inside.words() }))
    }
}

impl Step<'_> {
    fn below(&self) -> String {
        format!("nothing is below `{}`: use a shorter `path`", truncate(self.steps.first().unwrap_or(&""), 40))
    }
}

/// A plain value has nothing below it.
macro_rules! plain {
    ($($method:ident($kind:ty)),*) => {
        $(fn $method<E>(self, _: $kind) -> Result<Self::Value, E> {
            Ok(Err(self.below()))
        })*
    };
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Result<Part, String>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    plain!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Err(self.below()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Some((name, rest)) = self.steps.split_first() else { return Err(A::Error::custom("no step is left")) };
        let (mut found, mut inside) = (None, Inside::default());
        while let Some(key) = map.next_key::<String>()? {
            if key == *name {
                found = Some(map.next_value_seed(Step { steps: rest, budget: self.budget })?);
            } else {
                inside.name(&key);
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found.unwrap_or_else(|| {
            let there = inside.words();
            let there = if there.is_empty() { "it is empty".to_owned() } else { format!("there are {there}") };
            Err(format!("there is no `{}`: {there}", truncate(name, 40)))
        }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Some((place, rest)) = self.steps.split_first() else { return Err(A::Error::custom("no step is left")) };
        let wanted = place.parse::<usize>().ok();
        let (mut found, mut count) = (None, 0);
        loop {
            if wanted == Some(count) {
                found = list.next_element_seed(Step { steps: rest, budget: self.budget })?;
                if found.is_none() {
                    break;
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            count += 1;
        }
        Ok(found.unwrap_or_else(|| {
            Err(format!("there is no `{}` in a list of {count}: count from 0", truncate(place, 40)))
        }))
    }
}

/// What is directly in a value.
#[derive(Default)]
struct Inside {
    names: Vec<String>,
    elements: usize,
}

impl Inside {
    fn name(&mut self, name: &str) {
        if self.names.len() < NAMES {
            self.names.push(format!("`{}`", truncate(name, 40)));
        }
    }

    fn words(&self) -> String {
        match self.elements {
            0 => join_and(&self.names),
            count => format!("0 to {}", count - 1),
        }
    }
}

/// A value of which a budget of bytes is kept: beyond it elements are passed over, and the value is `None`.
struct Kept<'a> {
    budget: &'a Cell<usize>,
    inside: Option<&'a mut Inside>,
}

impl Kept<'_> {
    /// Takes the room of a value; false where none is left.
    fn take(&self, bytes: usize) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(bytes + 2));
        left > bytes + 2
    }

    fn plain<E>(self, bytes: usize, value: impl Into<Value>) -> Result<Option<Value>, E> {
        Ok(self.take(bytes).then(|| value.into()))
    }
}

impl<'de> DeserializeSeed<'de> for Kept<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        match self.budget.get() {
            0 if self.inside.is_none() => IgnoredAny::deserialize(from).map(|_| None),
            _ => from.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Kept<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        self.plain(5, value)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        self.plain(8, value)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        self.plain(8, value)
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        self.plain(8, value)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.plain(4, ())
    }

    /// Of a long text the beginning is kept.
    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        let start = text_kit::prefix(value, self.budget.get());
        self.take(value.len());
        Ok(Some(start.into()))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        self.take(0);
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(inside) = &mut self.inside {
                inside.name(&key);
            }
            if !self.take(key.len()) {
                map.next_value::<IgnoredAny>()?;
            } else if let Some(value) = map.next_value_seed(Kept { budget: self.budget, inside: None })? {
                fields.insert(key, value);
            }
        }
        Ok(Some(Value::Object(fields)))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Self::Value, A::Error> {
        self.take(0);
        let mut all = vec![];
        while let Some(value) = list.next_element_seed(Kept { budget: self.budget, inside: None })? {
            all.extend(value);
            if let Some(inside) = &mut self.inside {
                inside.elements += 1;
            }
        }
        Ok(Some(Value::Array(all)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(data: &Value, path: &str) -> Result<Part, String> {
        part(&data.to_string(), path, 10_000).unwrap()
    }

    #[test]
    fn parts_are_picked() {
        let data = json!({"items": [{"name": "a"}, {"name": "b"}], "n": 1, "none": null, "text": "é"});
        for (path, expected) in [
            ("", Ok(data.clone())),
            ("items.1.name", Ok(json!("b"))),
            ("/items/0", Ok(json!({"name": "a"}))),
            ("$.items[1].name", Ok(json!("b"))),
            ("none", Ok(Value::Null)),
            ("nothing", Err("there are `items`, `n`, `none` and `text`")),
            ("items.2", Err("in a list of 2")),
            ("items.x", Err("no `x` in a list of 2")),
            ("n.x", Err("nothing is below `x`")),
            ("none.x", Err("nothing is below `x`")),
        ] {
            match (of(&data, path), expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!((found.value, found.is_whole), (expected, true), "{path}");
                }
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{path}: {found}"),
                other => panic!("{path}: {other:?}"),
            }
        }
        for odd in ["", "{", "[1,]", "{} {}", "nul", &"[".repeat(100_000)] {
            assert!(part(odd, "", 100).is_err() && part(odd, "0", 100).is_err(), "{odd:.20}");
        }
    }

    #[test]
    fn what_is_kept_has_an_end_wherever_it_is_large() {
        let many = format!("[{}1]", "{\"a\":1},".repeat(600_000));
        let found = part(&many, "", 1000).unwrap().unwrap();
        assert_eq!((found.is_whole, &*found.inside), (false, "0 to 600000"));
        assert!(found.value.as_array().unwrap().len() < 400, "{}", found.value);
        // Far behind, it is found all the same.
        assert_eq!(part(&many, "600000", 1000).unwrap().unwrap().value, 1);
        let fields: Map<String, Value> = (0..1000).map(|n| (format!("f{n}"), json!(n))).collect();
        let found = part(&Value::from(fields).to_string(), "", 200).unwrap().unwrap();
        assert!(!found.is_whole && found.value.as_object().unwrap().len() < 40, "{found:?}");
        assert!(found.inside.starts_with("`f0`, "), "{}", found.inside);
        let found = of(&json!({"long": "x".repeat(20_000)}), "long").unwrap();
        assert!(!found.is_whole && found.value.as_str().unwrap().len() == 10_000);
    }
}
