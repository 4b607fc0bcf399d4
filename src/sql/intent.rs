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
    /// SQLite takes a text where it expects a name.
    fn name(&self) -> Option<&str> {
        match self {
            Self::Plain(word) | Self::Name(word) | Self::Value(word) => Some(word),
            Self::Sign(_) => None,
        }
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
            } else if matches!(first, '$' | '@' | ':' | '#') {
                all.push(Word::Sign('?'));
                rest = after_variable(&rest[1..]);
            } else if first == '?' {
                all.push(Word::Sign('?'));
                rest = rest[1..].trim_start_matches(|c: char| c.is_ascii_digit());
            } else if is_in_word(first) {
                // Within a word, a byte order mark is a character of it.
                let end = rest.find(|c: char| !is_in_word(c) && c != BOM).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                let number = first.is_ascii_digit();
                all.push(if number { Word::Value(word.into()) } else { Word::Plain(word.to_ascii_uppercase()) });
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

    /// Every word that may be a name, in lower case.
    pub fn names(&self) -> BTreeSet<String> {
        self.all.iter().filter_map(|word| Some(word.name()?.to_lowercase())).collect()
    }

    /// Whether a statement begins with this keyword.
    pub fn begins_with(&self, keyword: &str) -> bool {
        let begins = |at: usize| at == 0 || self.all[at - 1].is_sign(';');
        self.all.iter().enumerate().any(|(at, word)| word.is(keyword) && begins(at))
    }

    /// The module in the definition of a virtual table, in lower case; empty where it cannot be told. `None` for any other
    /// text.
    pub fn virtual_module(&self) -> Option<String> {
        let [create, kind, rest @ ..] = &self.all[..] else { return None };
        if !create.is("CREATE") || !kind.is("VIRTUAL") {
            return None;
        }
        let module = rest.iter().skip_while(|word| !word.is("USING")).nth(1).and_then(Word::name);
        Some(module.unwrap_or_default().to_lowercase())
    }

    fn intent(&self) -> Intent {
        let mut intent = Intent::default();
        for statement in self.all.split(|word| word.is_sign(';')) {
            intent.add(statement);
        }
        intent.changes |= intent.destroys;
        intent
    }
}

impl Intent {
    /// Adds what one statement does; within a trigger, each of its statements is one.
    fn add(&mut self, statement: &[Word]) {
        let next = |at: usize, keyword: &str| statement.get(at + 1).is_some_and(|word| word.is(keyword));
        let before = |at: usize, keyword: &str| at > 0 && statement[at - 1].is(keyword);
        // `CREATE TRIGGER` names what it waits for before its first statement begins.
        let mut defines = statement.first().is_some_and(|word| word.is("CREATE"));
        // How deep in parentheses there was an UPDATE, without its WHERE up to here.
        let (mut depth, mut updates_all) = (0, None);
        for (at, word) in statement.iter().enumerate() {
            match word {
                Word::Sign('(') => depth += 1,
                Word::Sign(')') => depth -= 1,
                Word::Plain(word) => match word.as_str() {
                    "BEGIN" => defines = false,
                    "DELETE" if next(at, "FROM") => self.destroys = true,
                    "DROP" => self.destroys = true,
                    "REPLACE" if next(at, "INTO") || before(at, "OR") || before(at, "CONFLICT") => self.destroys = true,
                    "UPDATE" if !defines && !before(at, "ON") => {
                        self.changes = true;
                        self.destroys |= updates_all.replace(depth).is_some();
                    }
                    "WHERE" if updates_all == Some(depth) => updates_all = None,
                    "INTO" => self.destroys |= is_command(&statement[at + 1..]),
                    "ALTER" | "TRIGGER" => self.changes = true,
                    _ => {}
                },
                _ => {}
            }
        }
        self.destroys |= updates_all.is_some();
    }
}

/// Commands of FTS5 that lose nothing.
const HARMLESS: &[&str] = &["optimize", "rebuild", "merge", "integrity-check"];

/// Whether what follows INTO may be a command for FTS5 that deletes: a value of a column with the table's name.
fn is_command(rest: &[Word]) -> bool {
    let (table, rest) = match rest {
        [_, Word::Sign('.'), table, rest @ ..] | [table, rest @ ..] => (table, rest),
        [] => return false,
    };
    let Some(table) = table.name() else { return false };
    let rest = match rest {
        [alias, _, rest @ ..] if alias.is("AS") => rest,
        rest => rest,
    };
    let [Word::Sign('('), rest @ ..] = rest else { return false };
    let end = rest.iter().position(|word| word.is_sign(')')).unwrap_or(rest.len());
    let (columns, rest) = rest.split_at(end);
    if !columns.iter().filter_map(Word::name).any(|column| column.eq_ignore_ascii_case(table)) {
        return false;
    }
    let first = columns.first().and_then(Word::name).is_some_and(|column| column.eq_ignore_ascii_case(table));
    let plain = match rest {
        [_, values, Word::Sign('('), Word::Value(command), rest @ ..] if first && values.is("VALUES") => {
            let number = matches!(
                rest,
                [Word::Sign(')')]
                    | [Word::Sign(','), Word::Value(_), Word::Sign(')')]
                    | [Word::Sign(','), Word::Sign('-'), Word::Value(_), Word::Sign(')')]
            );
            number && HARMLESS.iter().any(|known| command.eq_ignore_ascii_case(known))
        }
        _ => false,
    };
    !plain
}

/// What follows a variable, whose first sign is gone. SQLite takes `name(…)` without white space as a part of it, quotes too.
fn after_variable(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| is_in_word(c) || c == BOM);
        match rest.strip_prefix("::") {
            Some(after) => rest = after,
            None => break,
        }
    }
    let named = text.len() - rest.len() - text[..text.len() - rest.len()].matches(':').count();
    match rest.strip_prefix('(').filter(|_| named > 0) {
        Some(inner) => {
            let ends = |c: char| matches!(c, ')' | ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
            let rest = inner.find(ends).map_or("", |end| &inner[end..]);
            rest.strip_prefix(')').unwrap_or(rest)
        }
        None => rest,
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
            ("\u{feff}DROP \u{feff}TABLE t", destroys),
            ("UPDATE t SET a = b\u{feff}WHERE", destroys),
            ("SELECT $a('); INSERT OR REPLACE INTO t VALUES (1,'new'); SELECT $b(')", destroys),
            ("SELECT :a::b('); DROP TABLE t; SELECT @b(')", destroys),
            ("SELECT #1, $a ('); DROP TABLE t'), ?1, :b", none),
            ("UPDATE t SET a = NULL; SELECT 1 WHERE 1", destroys),
            ("UPDATE t SET a = (SELECT 1 WHERE 1)", destroys),
            ("WITH x AS (SELECT 1 WHERE 1) UPDATE t SET a = 1", destroys),
            ("UPDATE t SET a = (SELECT 1 WHERE 1) WHERE (b)", changes),
            ("UPDATE of SET a = 1", destroys),
            ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", destroys),
            ("CREATE TRIGGER x AFTER UPDATE ON t BEGIN UPDATE t SET a = 1; UPDATE t SET b = 1 WHERE 1; END", destroys),
            ("CREATE TRIGGER x AFTER UPDATE ON t BEGIN UPDATE t SET b = 1 WHERE 1; END", changes),
            ("INSERT INTO g(g) VALUES ('DELETE-ALL')", destroys),
            ("INSERT INTO g(g) VALUES (?)", destroys),
            ("INSERT INTO g(g) VALUES ('delete'||'-all')", destroys),
            ("INSERT INTO main.\"G\"(rank, [g]) VALUES (1, 'merge')", destroys),
            ("INSERT INTO g AS h(g, rowid, a) VALUES ('delete', 1, 'x')", destroys),
            ("INSERT INTO g(g) VALUES ('optimize'), ('delete-all')", destroys),
            ("INSERT INTO g(g) SELECT 'delete-all'", destroys),
            ("INSERT INTO g(g) VALUES ('Optimize'); INSERT INTO g(g, rank) VALUES('merge', -16)", none),
            ("INSERT INTO log(text) VALUES ('delete')", none),
            ("CREATE TRIGGER x AFTER UPDATE OF a ON t BEGIN SELECT 1; END", changes),
        ] {
            assert_eq!(Intent::of(sql), expected, "{sql}");
        }
        // Many of them do not take the product of their numbers.
        assert_eq!(Intent::of(&"UPDATE a ".repeat(300_000)), destroys);
        for (sql, module) in [
            ("CREATE VIRTUAL TABLE f\nUSING fts5(x)", Some("fts5")),
            ("CREATE VIRTUAL TABLE \"x using fts5 \" USING/**/rtree(a)", Some("rtree")),
            ("create virtual table main.[using] using \"FTS5\"(x)", Some("fts5")),
            ("CREATE VIRTUAL TABLE x", Some("")),
            ("CREATE TABLE t (a, USING)", None),
        ] {
            assert_eq!(Words::of(sql).virtual_module().as_deref(), module, "{sql}");
        }
        let words = Words::of("vacuum; SELECT vacuum FROM \"My Table\", 'text', Ünder");
        assert!(words.begins_with("VACUUM") && !Words::of("SELECT vacuum").begins_with("VACUUM"));
        assert!(["my table", "text", "ünder"].iter().all(|name| words.names().contains(*name)));
    }
}
