//! What SQL text is about to do, read from its words alone, before it runs: a policy asks about it then.
//!
//! It errs on the side of more: text that is taken for harmless and is not is refused when it is compiled (`guard.rs`).

use std::collections::BTreeSet;

/// The byte order mark.
const BOM: char = '\u{feff}';

/// What SQL text may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intent {
    /// It deletes or replaces rows, drops something, or changes all rows of a table.
    pub destroys: bool,
    /// It changes what is there, or stores something that acts later (a trigger).
    pub changes: bool,
}

impl Intent {
    /// Reads it from SQL text.
    pub fn of(sql: &str) -> Self {
        Words::of(sql).intent()
    }
}

/// The words of SQL text in order, without comments.
pub(crate) struct Words {
    all: Vec<Word>,
}

enum Word {
    /// A keyword or a plain name, in upper case.
    Plain(String),
    /// A quoted name.
    Name(String),
    /// A text or a number.
    Value(String),
    Sign(char),
}

impl Word {
    fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Plain(word) if word == keyword)
    }
    fn is_sign(&self, sign: char) -> bool {
        matches!(self, Self::Sign(own) if *own == sign)
    }
}

impl Words {
    pub fn of(sql: &str) -> Self {
        let mut rest = sql;
        let mut all = vec![];
        while let Some(first) = rest.chars().next() {
            if let Some(comment) = rest.strip_prefix("--") {
                rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = rest.strip_prefix("/*") {
                rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if let Some(end) = closing(first) {
                let (inner, after) = quoted(&rest[1..], end);
                all.push(if first == '\'' { Word::Value(inner) } else { Word::Name(inner) });
                rest = after;
            } else if is_in_word(first) {
                let end = rest.find(|c: char| !is_in_word(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                let number = first.is_ascii_digit();
                all.push(if number { Word::Value(word.into()) } else { Word::Plain(word.to_uppercase()) });
                rest = after;
            } else {
                // A byte order mark is white space for SQLite too.
                if !first.is_whitespace() && first != BOM {
                    all.push(Word::Sign(first));
                }
                rest = &rest[first.len_utf8()..];
            }
        }
        Self { all }
    }

    /// Every word that may be a name, in lower case. SQLite takes a text where it expects a name.
    pub fn names(&self) -> BTreeSet<String> {
        let name = |word: &Word| match word {
            Word::Plain(word) | Word::Name(word) | Word::Value(word) => Some(word.to_lowercase()),
            Word::Sign(_) => None,
        };
        self.all.iter().filter_map(name).collect()
    }

    /// Whether a statement begins with this keyword.
    pub fn begins_with(&self, keyword: &str) -> bool {
        let begins = |at: usize| at == 0 || self.all[at - 1].is_sign(';');
        self.all.iter().enumerate().any(|(at, word)| word.is(keyword) && begins(at))
    }

    fn intent(&self) -> Intent {
        let next = |at: usize, keyword: &str| self.all.get(at + 1).is_some_and(|word| word.is(keyword));
        let before = |at: usize, keyword: &str| at > 0 && self.all[at - 1].is(keyword);
        let mut intent = Intent::default();
        let has = |keyword: &str| self.all.iter().any(|word| word.is(keyword));
        for (at, word) in self.all.iter().enumerate() {
            match word {
                Word::Plain(word) => match word.as_str() {
                    "DELETE" if next(at, "FROM") => intent.destroys = true,
                    "DROP" => intent.destroys = true,
                    "REPLACE" if next(at, "INTO") || before(at, "OR") || before(at, "CONFLICT") => {
                        intent.destroys = true;
                    }
                    "UPDATE" if !(before(at, "ON") || next(at, "ON") || next(at, "OF")) => {
                        intent.changes = true;
                        intent.destroys |= !has("WHERE");
                    }
                    "ALTER" | "TRIGGER" => intent.changes = true,
                    _ => {}
                },
                // FTS5 takes commands as a value of a column with the table's name.
                Word::Value(value) | Word::Name(value) if value == "delete-all" || value == "delete" => {
                    intent.destroys = true;
                }
                _ => {}
            }
        }
        intent.changes |= intent.destroys;
        intent
    }
}

fn closing(first: char) -> Option<char> {
    match first {
        '\'' | '"' | '`' => Some(first),
        '[' => Some(']'),
        _ => None,
    }
}

/// The text up to a closing quote, which is written twice within it, and what follows.
fn quoted(text: &str, end: char) -> (String, &str) {
    let (mut inner, mut rest) = (String::new(), text);
    loop {
        let Some((part, after)) = rest.split_once(end) else { return (inner + rest, "") };
        inner += part;
        match after.strip_prefix(end).filter(|_| end != ']') {
            Some(after) => {
                inner.push(end);
                rest = after;
            }
            None => return (inner, after),
        }
    }
}

/// SQLite counts every byte beyond ASCII to a name.
fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !(c.is_ascii() || c == BOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_are_read_from_words() {
        let (none, changes) = (Intent::default(), Intent { changes: true, destroys: false });
        let destroys = Intent { changes: true, destroys: true };
        for (sql, expected) in [
            ("SELECT * FROM t", none),
            ("", none),
            ("INSERT INTO t VALUES ('DELETE FROM t; DROP TABLE t')", none),
            ("SELECT 1 -- DROP TABLE t\n, 2 /* DELETE FROM t */", none),
            ("SELECT replace(a, 'x', 'y') FROM t", none),
            ("SELECT \"drop\", [delete from], `update` FROM t", none),
            ("CREATE TABLE c (p REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE)", none),
            ("UPDATE t SET a = 1 WHERE b = 2", changes),
            ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2 WHERE 1", changes),
            ("ALTER TABLE t ADD COLUMN c", changes),
            ("CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO l VALUES (1); END", changes),
            ("UPDATE t SET a = 1", destroys),
            ("delete/**/from t", destroys),
            ("WITH x AS (SELECT 1) DELETE FROM t WHERE a IN x", destroys),
            ("DROP TABLE t", destroys),
            ("SELECT 1; dRoP VIEW v", destroys),
            ("ALTER TABLE t DROP COLUMN c", destroys),
            ("REPLACE INTO t VALUES (1)", destroys),
            ("INSERT OR REPLACE INTO t VALUES (1)", destroys),
            ("CREATE TABLE t (a UNIQUE ON CONFLICT REPLACE)", destroys),
            ("CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM l; END", destroys),
            ("INSERT INTO f(f) VALUES ('delete-all')", destroys),
            ("SELECT 'it''s'; DROP TABLE t", destroys),
            ("SELECT '; DROP TABLE t", none),
            ("\u{feff}DROP\u{feff}TABLE t", destroys),
            ("CREATE TRIGGER x AFTER UPDATE OF a ON t BEGIN SELECT 1; END", changes),
        ] {
            assert_eq!(Intent::of(sql), expected, "{sql}");
        }
        let words = Words::of("vacuum; SELECT vacuum FROM \"My Table\", 'text', Ünder");
        assert!(words.begins_with("VACUUM") && !Words::of("SELECT vacuum").begins_with("VACUUM"));
        assert!(["my table", "text", "ünder"].iter().all(|name| words.names().contains(*name)));
    }
}
