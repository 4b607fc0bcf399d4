//! Functions of SQLite that take the product of two lengths, in linear time: one call of them cannot be interrupted, and on
//! texts of megabytes it would run for minutes.

use memchr::memmem;
use rusqlite::{
    Connection, Result,
    functions::{Context, FunctionFlags},
    types::{Value, ValueRef},
};
use std::{borrow::Cow, collections::HashSet, sync::Mutex};

/// The longest value of a database.
pub(crate) const VALUE_BYTES: usize = 4 << 20;

/// Replaces them on a connection.
pub(crate) fn replace_on(connection: &Connection) -> Result<()> {
    // Innocuous: views and indexes may use them, as they may use SQLite's own.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let text = Texts::default();
    connection.create_scalar_function("instr", 2, flags, move |call| Ok(instr(call, &text)))?;
    let text = Texts::default();
    connection.create_scalar_function("replace", 3, flags, move |call| Ok(replace(call, &text)))?;
    for (name, left, right) in [("trim", true, true), ("ltrim", true, false), ("rtrim", false, true)] {
        let text = Texts::default();
        connection.create_scalar_function(name, 2, flags, move |call| Ok(trim(call, &text, left, right)))?;
    }
    connection.create_scalar_function("unhex", 2, flags, |_| -> Result<Value> {
        Err(rusqlite::Error::UserFunctionError(
            "unhex takes one argument here: use replace to remove separators".into(),
        ))
    })
}

/// Converts values to texts as SQLite does.
#[derive(Default)]
struct Texts(Mutex<Option<Connection>>);

impl Texts {
    /// `None` for NULL.
    fn of<'v>(&self, value: ValueRef<'v>) -> Option<Cow<'v, [u8]>> {
        match value {
            ValueRef::Null => None,
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.into()),
            ValueRef::Integer(number) => Some(number.to_string().into_bytes().into()),
            ValueRef::Real(number) => Some(self.of_real(number).into_bytes().into()),
        }
    }

    /// Only SQLite knows how it writes a real number.
    fn of_real(&self, number: f64) -> String {
        let mut own = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if own.is_none() {
            *own = Connection::open_in_memory().ok();
        }
        let asked = own.as_ref().map(|own| own.query_row("SELECT CAST(?1 AS TEXT)", [number], |row| row.get(0)));
        asked.and_then(Result::ok).unwrap_or_else(|| format!("{number:?}"))
    }
}

fn instr(call: &mut Context, text: &Texts) -> Value {
    let (all, part) = (call.get_raw(0), call.get_raw(1));
    let blobs = matches!((all, part), (ValueRef::Blob(_), ValueRef::Blob(_)));
    let (Some(all), Some(part)) = (text.of(all), text.of(part)) else { return Value::Null };
    let at = match memmem::find(&all, &part) {
        None => 0,
        Some(at) if blobs => at + 1,
        // Characters begin with a byte that continues none.
        Some(at) => all[..at].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1,
    };
    Value::Integer(at as i64)
}

fn as_text(bytes: Vec<u8>) -> Value {
    Value::Text(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn replace(call: &mut Context, text: &Texts) -> Value {
    let [all, part, by] = [0, 1, 2].map(|at| text.of(call.get_raw(at)));
    let (Some(all), Some(part)) = (all, part) else { return Value::Null };
    if part.is_empty() {
        return as_text(all.into_owned());
    }
    let Some(by) = by else { return Value::Null };
    let (mut done, mut from) = (Vec::with_capacity(all.len()), 0);
    for at in memmem::find_iter(&all, &part[..]) {
        done.extend_from_slice(&all[from..at]);
        done.extend_from_slice(&by);
        from = at + part.len();
        // Longer than any value may be: SQLite refuses it.
        if done.len() > VALUE_BYTES {
            break;
        }
    }
    done.extend_from_slice(&all[from..]);
    as_text(done)
}

fn trim(call: &mut Context, text: &Texts, left: bool, right: bool) -> Value {
    let (Some(all), Some(set)) = (text.of(call.get_raw(0)), text.of(call.get_raw(1))) else { return Value::Null };
    let (all, set) = (String::from_utf8_lossy(&all), String::from_utf8_lossy(&set));
    let set: HashSet<char> = set.chars().collect();
    let mut rest: &str = &all;
    if left {
        rest = rest.trim_start_matches(|c| set.contains(&c));
    }
    if right {
        rest = rest.trim_end_matches(|c| set.contains(&c));
    }
    Value::Text(rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_answer_as_those_of_sqlite() {
        let (own, sqlite) = (Connection::open_in_memory().unwrap(), Connection::open_in_memory().unwrap());
        replace_on(&own).unwrap();
        let values = [
            "NULL",
            "''",
            "'a'",
            "'aba'",
            "'ßäa€a'",
            "'€'",
            "12",
            "1",
            "-3",
            "1.5",
            "1e20",
            "0.1+0.2",
            "x'61'",
            "x''",
            "x'62ff61'",
            "'xxabxx'",
            "'x'",
            "'bx'",
        ];
        for a in values {
            for b in values {
                let mut calls: Vec<String> =
                    ["instr", "trim", "ltrim", "rtrim"].iter().map(|name| format!("{name}({a}, {b})")).collect();
                calls.extend(["NULL", "''", "'yy'", "7", "2.5"].map(|c| format!("replace({a}, {b}, {c})")));
                for call in calls {
                    // Bytes that are no text come back as replacement characters.
                    if call.contains("ff") && !call.starts_with("instr") {
                        continue;
                    }
                    let sql = format!("SELECT {call}, typeof({call})");
                    let ask = |connection: &Connection| {
                        connection
                            .query_row(&sql, [], |row| Ok((row.get::<_, Value>(0)?, row.get::<_, String>(1)?)))
                            .unwrap()
                    };
                    assert_eq!(ask(&own), ask(&sqlite), "{call}");
                }
            }
        }
        let long = own.query_row("SELECT instr(?1, ?2)", ["a".repeat(4 << 20), "a".repeat(2 << 20) + "b"], |row| {
            row.get::<_, i64>(0)
        });
        assert_eq!(long.unwrap(), 0);
    }
}
