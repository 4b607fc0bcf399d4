//! Filters of records: columns, operators and values.

use super::{
    cell::{Cell, cell, span},
    column::{Column, Kind, plain},
};
use jiff::tz::TimeZone;
use records::truncate;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Map;
use std::fmt;
use tool::prelude::*;

/// The most comparisons of a filter, and the most values of one.
const TESTS: usize = 32;
const VALUES: usize = 100;

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Op {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    In,
}

/// One comparison.
#[derive(Debug, Clone)]
struct Test {
    column: usize,
    kind: Kind,
    op: Op,
    /// The values to compare with, as ranges; `None` is null.
    with: Vec<Option<(Cell, Cell)>>,
    /// For `contains`, in lower case.
    part: String,
}

/// A filter: all of its comparisons must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    tests: Vec<Test>,
    /// A unique column and its value: at most one record matches.
    pub unique: Option<(usize, Value)>,
}

impl Filter {
    /// Reads `{column: value}`, `{column: {op, value}}`, `{column: {gte: 1, lt: 5}}` or `{column: [one, of, these]}`.
    ///
    /// # Errors
    /// `BadArgs` when there is no such column, or it cannot be compared so.
    pub fn read(columns: &[Column], given: &Map<String, Value>, zone: &TimeZone) -> Result<Self> {
        let mut filter = Self::default();
        for (name, value) in given {
            let at = position(columns, name)?;
            for (op, value) in comparisons(&columns[at], value)? {
                filter.add(columns, at, op, value, zone)?;
            }
        }
        if filter.tests.len() > TESTS {
            return Err(Error::bad_args(format!("the filter makes more than {TESTS} comparisons: make fewer")));
        }
        Ok(filter)
    }

    fn add(&mut self, columns: &[Column], at: usize, op: Op, value: Value, zone: &TimeZone) -> Result<()> {
        let column = &columns[at];
        let (name, kind) = (&column.name, column.kind());
        let refuse = |text: String| Err(Error::bad_args(format!("the filter on column `{name}` {text}")));
        let mut test = Test { column: at, kind, op, with: vec![], part: String::new() };
        match (op, kind) {
            (Op::Contains, Kind::Text | Kind::Select | Kind::Json) => {
                let Some(part) = value.as_str().filter(|part| !part.is_empty()) else {
                    return refuse("says contains and no text".into());
                };
                test.part = part.to_lowercase();
                self.tests.push(test);
                return Ok(());
            }
            (Op::Contains, _) => return refuse("says contains, which is for text".into()),
            (Op::Gt | Op::Gte | Op::Lt | Op::Lte, Kind::Json | Kind::Boolean) => {
                return refuse("compares by size what has none: use eq or ne".into());
            }
            (Op::Gt | Op::Gte | Op::Lt | Op::Lte, _) if value.is_null() => {
                return refuse("compares with null: use eq or ne".into());
            }
            _ => {}
        }
        let values = match (op, value) {
            (Op::In, Value::Array(values)) if values.len() <= VALUES => values,
            (Op::In, Value::Array(_)) => return refuse(format!("has more than {VALUES} values")),
            (Op::In, _) => return refuse("says in and wants a list of values".into()),
            (_, value) => vec![value],
        };
        for value in values {
            if value.is_null() {
                test.with.push(None);
                continue;
            }
            let stored = column.value(value.clone(), zone, &mut vec![])?;
            let span = span(column, &value, &stored, zone);
            // A day is a range of many times.
            if op == Op::Eq && column.unique && span.as_ref().is_some_and(|(first, last)| first == last) {
                self.unique = Some((at, stored));
            }
            test.with.push(span);
        }
        self.tests.push(test);
        Ok(())
    }

    /// The columns that it reads.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.tests.iter().map(|test| test.column)
    }

    /// Whether a record matches; `values` are by column, and only those that it reads need to be there.
    pub fn fits(&self, values: &[Value]) -> bool {
        self.tests.iter().all(|test| test.holds(values.get(test.column).unwrap_or(&Value::Null)))
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        let found = cell(self.kind, value);
        let same = |with: &Option<(Cell, Cell)>| match (with, &found) {
            (None, None) => true,
            (Some((first, last)), Some(found)) => first <= found && found <= last,
            _ => false,
        };
        let compares = |holds: fn(&Cell, &(Cell, Cell)) -> bool| {
            found.as_ref().is_some_and(|found| self.with.iter().flatten().all(|with| holds(found, with)))
        };
        match self.op {
            Op::Eq | Op::In => self.with.iter().any(same),
            Op::Ne => !self.with.iter().any(same),
            Op::Gt => compares(|found, (_, last)| found > last),
            Op::Gte => compares(|found, (first, _)| found >= first),
            Op::Lt => compares(|found, (first, _)| found < first),
            Op::Lte => compares(|found, (_, last)| found <= last),
            Op::Contains => matches!(&found, Some(Cell::Text(text)) if text.contains(&self.part)),
        }
    }
}

/// The index of a column.
///
/// # Errors
/// `BadArgs` that lists the columns.
pub(super) fn position(columns: &[Column], name: &str) -> Result<usize> {
    let plain = plain(name);
    columns.iter().position(|c| c.name == plain).ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        Error::bad_args(format!("there is no column `{}`: there are {}", truncate(name, 60), names.join(", ")))
    })
}

/// The comparisons of one column.
fn comparisons(column: &Column, given: &Value) -> Result<Vec<(Op, Value)>> {
    let op = |name: &str| -> Result<Op> {
        let plain = name.trim().trim_start_matches('$').to_lowercase();
        Op::deserialize(&Value::String(plain)).map_err(|_| {
            let name = truncate(name, 40);
            Error::bad_args(format!(
                "the filter on column `{}` says `{name}`: use eq, ne, gt, gte, lt, lte, contains or in",
                column.name
            ))
        })
    };
    match given {
        Value::Array(_) if column.kind() != Kind::Json => Ok(vec![(Op::In, given.clone())]),
        Value::Object(fields) if fields.contains_key("op") => {
            if let Some(other) = fields.keys().find(|key| !["op", "value"].contains(&key.as_str())) {
                let text =
                    format!("the filter on column `{}` has `{}` beside op and value", column.name, truncate(other, 40));
                return Err(Error::bad_args(text));
            }
            let op = op(fields["op"].as_str().unwrap_or_default())?;
            Ok(vec![(op, fields.get("value").cloned().unwrap_or(Value::Null))])
        }
        Value::Object(fields) if column.kind() != Kind::Json && !fields.is_empty() => {
            fields.iter().map(|(name, value)| Ok((op(name)?, value.clone()))).collect()
        }
        value => Ok(vec![(Op::Eq, value.clone())]),
    }
}

/// Parses the values of some columns of a record, and skips all others.
pub(super) struct Pick<'a> {
    columns: &'a [Column],
    wanted: &'a [bool],
}

impl<'a> Pick<'a> {
    /// Parses those of `columns` that are `wanted`.
    pub fn new(columns: &'a [Column], wanted: &'a [bool]) -> Self {
        Self { columns, wanted }
    }

    /// The values by the index of their column; null if not wanted or missing.
    pub fn read(&self, text: &str) -> Vec<Value> {
        let mut reader = serde_json::Deserializer::from_str(text);
        self.deserialize(&mut reader).unwrap_or_else(|_| vec![Value::Null; self.columns.len()])
    }
}

impl<'de> DeserializeSeed<'de> for &Pick<'_> {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Vec<Value>, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Pick<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Value>, A::Error> {
        let mut values = vec![Value::Null; self.columns.len()];
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match self.columns.iter().position(|c| c.name == name).filter(|at| self.wanted[*at]) {
                Some(at) => values[at] = map.next_value()?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        serde_json::from_value(json!([
            {"name": "title", "type": "text"}, {"name": "year", "type": "number"}, {"name": "seen", "type": "boolean"},
            {"name": "on", "type": "date"}, {"name": "at", "type": "datetime"}, {"name": "more", "type": "json"},
            {"name": "kind", "type": "select", "options": ["Film", "Series"]}, {"name": "code", "type": "text", "unique": true},
        ]))
        .unwrap()
    }

    fn fits(filter: Value, record: Value) -> Result<bool> {
        let (columns, zone) = (columns(), TimeZone::get("Europe/Vienna").unwrap());
        let filter = Filter::read(&columns, filter.as_object().unwrap(), &zone)?;
        let mut wanted = vec![false; columns.len()];
        filter.columns().for_each(|at| wanted[at] = true);
        Ok(filter.fits(&Pick::new(&columns, &wanted).read(&record.to_string())))
    }

    #[test]
    fn records_are_compared_by_what_the_column_holds() {
        let record = json!({"title": "Alien \"1\"\nü", "year": 1979, "seen": true, "on": "2026-11-20", "kind": "Film",
                            "at": "2026-11-20T14:30:00+01:00", "more": {"a": [1, "X"]}, "code": "A1"});
        let rows = [
            (json!({}), true),
            (json!({"title": "ALIEN \"1\"\nÜ"}), true),
            (json!({"title": "Alien"}), false),
            (json!({"title": {"op": "contains", "value": "ALI"}}), true),
            (json!({"title": ["x", "alien \"1\"\nü"]}), true),
            (json!({"year": 1979.0}), true),
            (json!({"year": "1979"}), true),
            (json!({"Year": {"op": "gt", "value": 1979}}), false),
            (json!({"year": {"gte": 1979, "lt": 1980}}), true),
            (json!({"year": {"$gte": 1979, "lt": 1979}}), false),
            (json!({"year": {"op": "ne", "value": 1979}}), false),
            (json!({"year": {"op": "in", "value": [1, 2, 1979]}}), true),
            (json!({"year": null}), false),
            (json!({"year": {"op": "ne", "value": null}}), true),
            (json!({"seen": true, "year": 1979}), true),
            (json!({"seen": true, "year": 1980}), false),
            (json!({"seen": "no"}), false),
            (json!({"on": {"lte": "2026-11-20T03:00"}}), true),
            (json!({"on": {"lt": "2026-11-20"}}), false),
            (json!({"at": "2026-11-20"}), true),
            (json!({"at": {"gt": "2026-11-20"}}), false),
            (json!({"at": {"lte": "2026-11-20"}}), true),
            (json!({"at": {"gte": "2026-11-20"}}), true),
            (json!({"at": "2026-11-20T13:30:00Z"}), true),
            (json!({"at": {"lt": "2026-11-20T14:30"}}), false),
            (json!({"kind": "film"}), true),
            (json!({"kind": {"op": "in", "value": ["Series", null]}}), false),
            (json!({"more": {"a": [1, "X"]}}), true),
            (json!({"more": {"op": "contains", "value": "\"x\""}}), true),
            (json!({"code": "a1"}), true),
        ];
        for (filter, expected) in rows {
            assert_eq!(fits(filter.clone(), record.clone()).unwrap(), expected, "{filter}");
        }
        // A missing value is null, and unequal to every value.
        for (filter, expected) in [
            (json!({"year": null}), true),
            (json!({"year": {"op": "in", "value": [1, null]}}), true),
            (json!({"year": {"op": "ne", "value": 1}}), true),
            (json!({"year": {"lt": 5}}), false),
            (json!({"title": {"op": "contains", "value": "a"}}), false),
        ] {
            assert_eq!(fits(filter.clone(), json!({"code": "x"})).unwrap(), expected, "{filter}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let rows = [
            (json!({"colour": 1}), "no column `colour`: there are title, year"),
            (json!({"year": "soon"}), "column `year` wants a number"),
            (json!({"year": {"op": "like", "value": 1}}), "says `like`: use eq"),
            (json!({"year": {"around": 1}}), "says `around`"),
            (json!({"year": {"op": "gt"}}), "compares with null"),
            (json!({"year": {"op": "in", "value": 3}}), "wants a list"),
            (json!({"year": {"op": "in", "value": vec![1; 101]}}), "more than 100 values"),
            (json!({"year": {"op": "eq", "value": 1, "or": 2}}), "has `or` beside"),
            (json!({"year": {"op": "contains", "value": "1"}}), "which is for text"),
            (json!({"title": {"op": "contains", "value": ""}}), "no text"),
            (json!({"seen": {"gt": false}}), "what has none"),
            (json!({"more": {"op": "lt", "value": 1}}), "what has none"),
            (json!({"kind": "Play"}), "one of its options"),
        ];
        for (filter, told) in rows {
            let error = fits(filter.clone(), json!({})).unwrap_err();
            assert!(error.message().contains(told), "{filter}: {error}");
        }
        let (columns, zone) = (columns(), TimeZone::UTC);
        let unique = Filter::read(&columns, json!({"code": "A"}).as_object().unwrap(), &zone).unwrap();
        assert_eq!(unique.unique, Some((7, json!("A"))));
    }
}
