//! Functions of SQLite that take the product of two lengths: one call of them cannot be interrupted, and on texts of megabytes
//! it would run for minutes. Here they take linear time or look at the deadline, and what has neither form is refused.

use crate::{deadline::Deadline, like::Pattern};
use memchr::memmem;
use rusqlite::{
    Connection, Error, Result,
    functions::{Context, FunctionFlags},
    types::{Value, ValueRef},
};
use std::{borrow::Cow, collections::HashSet, sync::Mutex};

/// The longest value of a database.
pub(crate) const VALUE_BYTES: usize = 4 << 20;

/// Replaces them on a connection.
pub(crate) fn replace_on(connection: &Connection, deadline: &Deadline) -> Result<()> {
    replace_one(connection, deadline, "instr", 2, instr)?;
    replace_one(connection, deadline, "replace", 3, replace)?;
    replace_one(connection, deadline, "trim", 2, |call, text| trim(call, text, true, true))?;
    replace_one(connection, deadline, "ltrim", 2, |call, text| trim(call, text, true, false))?;
    replace_one(connection, deadline, "rtrim", 2, |call, text| trim(call, text, false, true))?;
    let until = deadline.clone();
    replace_one(connection, deadline, "like", 2, move |call, text| like(call, text, None, &until))?;
    let until = deadline.clone();
    replace_one(connection, deadline, "like", 3, move |call, text| {
        let Some(escape) = text.of(call.get_raw(2)) else { return Ok(Value::Null) };
        let escape = String::from_utf8_lossy(&escape);
        let mut chars = escape.chars();
        match (chars.next(), chars.next()) {
            (Some(escape), None) => like(call, text, Some(escape), &until),
            _ => Err(wrong("ESCAPE expression must be a single character")),
        }
    })?;
    let until = deadline.clone();
    replace_one(connection, deadline, "glob", 2, move |call, text| fits(call, text, Pattern::glob, &until))?;
    let refused = [
        ("unhex", "unhex takes one argument here: use replace to remove separators"),
        // The definitions of an imported file may have them, which no guard sees.
        ("json_patch", "json_patch is not possible: it takes minutes on large documents"),
        ("jsonb_patch", "jsonb_patch is not possible: it takes minutes on large documents"),
    ];
    refused.into_iter().try_for_each(|(name, why)| replace_one(connection, deadline, name, 2, |_, _| Err(wrong(why))))
}

fn replace_one(
    connection: &Connection,
    deadline: &Deadline,
    name: &str,
    arguments: i32,
    run: impl Fn(&mut Context, &Texts) -> Result<Value> + Send + 'static,
) -> Result<()> {
    // Innocuous: views and indexes may use them, as they may use SQLite's own.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    let (text, deadline) = (Texts::default(), deadline.clone());
    connection.create_scalar_function(name, arguments, flags, move |call| match deadline.is_over() {
        true => Err(wrong(LATE)),
        false => run(call, &text),
    })
}

const LATE: &str = "the time is over";

fn wrong(why: &str) -> Error {
    Error::UserFunctionError(why.into())
}

fn like(call: &mut Context, text: &Texts, escape: Option<char>, deadline: &Deadline) -> Result<Value> {
    fits(call, text, |pattern| Pattern::like(pattern, escape), deadline)
}

fn fits(
    call: &mut Context,
    text: &Texts,
    pattern: impl Fn(&str) -> Option<Pattern>,
    deadline: &Deadline,
) -> Result<Value> {
    let (Some(by), Some(all)) = (text.of(call.get_raw(0)), text.of(call.get_raw(1))) else { return Ok(Value::Null) };
    let Some(pattern) = pattern(&String::from_utf8_lossy(&by)) else {
        return Err(wrong("LIKE or GLOB pattern too complex"));
    };
    let fits = pattern.fits(&String::from_utf8_lossy(&all), || deadline.is_over());
    fits.map(|fits| Value::Integer(i64::from(fits))).ok_or_else(|| wrong(LATE))
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

fn instr(call: &mut Context, text: &Texts) -> Result<Value> {
    let (all, part) = (call.get_raw(0), call.get_raw(1));
    let blobs = matches!((all, part), (ValueRef::Blob(_), ValueRef::Blob(_)));
    let (Some(all), Some(part)) = (text.of(all), text.of(part)) else { return Ok(Value::Null) };
    let at = match memmem::find(&all, &part) {
        None => 0,
        Some(at) if blobs => at + 1,
        // Characters begin with a byte that continues none.
        Some(at) => all[..at].iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1,
    };
    Ok(Value::Integer(at as i64))
}

fn as_text(bytes: Vec<u8>) -> Value {
    Value::Text(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn replace(call: &mut Context, text: &Texts) -> Result<Value> {
    let [all, part, by] = [0, 1, 2].map(|at| text.of(call.get_raw(at)));
    let (Some(all), Some(part)) = (all, part) else { return Ok(Value::Null) };
    if part.is_empty() {
        return Ok(as_text(all.into_owned()));
    }
    let Some(by) = by else { return Ok(Value::Null) };
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
    Ok(as_text(done))
}

fn trim(call: &mut Context, text: &Texts, left: bool, right: bool) -> Result<Value> {
    let (Some(all), Some(set)) = (text.of(call.get_raw(0)), text.of(call.get_raw(1))) else { return Ok(Value::Null) };
    let (all, set) = (String::from_utf8_lossy(&all), String::from_utf8_lossy(&set));
    let set: HashSet<char> = set.chars().collect();
    let mut rest: &str = &all;
    if left {
        rest = rest.trim_start_matches(|c| set.contains(&c));
    }
    if right {
        rest = rest.trim_end_matches(|c| set.contains(&c));
    }
    Ok(Value::Text(rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn own() -> Connection {
        let own = Connection::open_in_memory().unwrap();
        let deadline = Deadline { at: Instant::now() + Duration::from_secs(600), gone: Default::default() };
        replace_on(&own, &deadline).unwrap();
        own
    }

    fn same(own: &Connection, sqlite: &Connection, call: &str) {
        let sql = format!("SELECT {call}, typeof({call})");
        let ask = |connection: &Connection| {
            connection
                .query_row(&sql, [], |row| Ok((row.get::<_, Value>(0)?, row.get::<_, String>(1)?)))
                .map_err(|e| e.to_string())
        };
        assert_eq!(ask(own), ask(sqlite), "{call}");
    }

    #[test]
    fn patterns_fit_as_those_of_sqlite() {
        let (own, sqlite) = (own(), Connection::open_in_memory().unwrap());
        let texts = [
            "''", "'a'", "'Ab'", "'aab'", "'abcab'", "'a%b_'", "'ä€x'", "'Ä'", "']-a'", "NULL", "12", "x'6162'", "1.5",
        ];
        let likes = [
            "''", "'%'", "'_'", "'%%_'", "'a%'", "'%B'", "'%ab'", "'a_b'", "'a%b'", "'%a%b%'", "'ä%'", "'%€_'",
            "'_€_'", "'a!%b!_'", "'%!'", "'1%'", "'!%%'", "'%ab%ab'", "NULL", "x'6125'",
        ];
        let globs = [
            "''",
            "'*'",
            "'?'",
            "'*?b'",
            "'a*'",
            "'[a-c]*'",
            "'[^a]*'",
            "'*[ab]'",
            "'[]-a]*'",
            "'[a-]*'",
            "'[a'",
            "'*[^]]'",
            "'*€?'",
            "'[z-a]'",
            "'A*'",
            "'[^]a]*'",
            "'*[b-c]*b'",
            "'[Ä-ä]*'",
            "'[[]'",
        ];
        for text in texts {
            for pattern in likes {
                same(&own, &sqlite, &format!("{text} LIKE {pattern}"));
                for escape in ["'!'", "'%'", "'_'", "'€'", "''", "'ab'", "NULL", "1"] {
                    same(&own, &sqlite, &format!("{text} LIKE {pattern} ESCAPE {escape}"));
                }
            }
            for pattern in globs {
                same(&own, &sqlite, &format!("{text} GLOB {pattern}"));
            }
        }
        // All short texts and patterns of two letters and two signs.
        let words = |letters: &str, length: usize| {
            let (mut all, mut last) = (vec![String::new()], vec![String::new()]);
            for _ in 0..length {
                last = last.iter().flat_map(|word| letters.chars().map(move |c| format!("{word}{c}"))).collect();
                all.extend(last.clone());
            }
            all
        };
        for (sign, letters) in [("LIKE", "aB%_"), ("GLOB", "ab*?")] {
            for pattern in words(letters, 4) {
                let texts = words("ab", 5).into_iter().map(|text| format!("('{text}' {sign} '{pattern}')"));
                same(&own, &sqlite, &texts.collect::<Vec<_>>().join(" || "));
            }
        }
        same(&own, &sqlite, &format!("'a' LIKE '{}'", "%".repeat(256)));
        let long = own.query_row(&format!("SELECT 'a' LIKE '{}'", "%".repeat(257)), [], |_| Ok(()));
        assert!(long.unwrap_err().to_string().contains("too complex"));
    }

    #[test]
    fn they_answer_as_those_of_sqlite() {
        let (own, sqlite) = (own(), Connection::open_in_memory().unwrap());
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
                    same(&own, &sqlite, &call);
                }
            }
        }
        let long = own.query_row("SELECT instr(?1, ?2)", ["a".repeat(4 << 20), "a".repeat(2 << 20) + "b"], |row| {
            row.get::<_, i64>(0)
        });
        assert_eq!(long.unwrap(), 0);
    }
}
