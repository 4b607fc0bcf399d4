//! A command with places for parameters, such as `dig +short {{record_type}} {{domain}}`.
//!
//! Values never become text of the command. Each is an environment variable, and the place becomes a quoted reference to it,
//! written for the quotes it is in: `{{x}}` → `"${HOB_ARG_1}"`, `"{{x}}"` → `"${HOB_ARG_1}"`, `'{{x}}'` → `''"${HOB_ARG_1}"''`.
//! A shell does not read the content of variables as commands, so that no value can run anything, whatever it contains.
//!
//! Three ways remain in which a value could do more than it should, and they are refused: as an option of the program (a value
//! that begins with a dash), as the program itself, and where a program reads its arguments as code (`sh -c`, `eval`, `awk`).

mod simple;

use serde_json::{Map, Value};
use simple::Simple;
use text_kit::truncate;
use tool::{Error, Result};

/// The maximum length of a command, in bytes.
pub const LONGEST: usize = 8_000;
/// The maximum length of a value, and of all of them, in bytes.
const VALUE: usize = 64 * 1024;
const VALUES: usize = 256 * 1024;
/// The maximum number of places, and of words they become.
const PLACES: usize = 100;
const WORDS: usize = 1_000;
/// What the variables of values begin with.
pub const VARIABLE: &str = "HOB_ARG_";

/// A command as it was written, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Place(Place),
}

/// The quotes around a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

#[derive(Debug, Clone, PartialEq)]
struct Place {
    name: String,
    quotes: Quotes,
    /// Whether nothing else is in its word, quotes included.
    is_word: bool,
    /// Whether its value is where its word begins, and no `--` came before.
    may_be_option: bool,
}

/// A command that is ready to run.
#[derive(Debug, PartialEq)]
pub struct Rendered {
    /// For `sh -c`.
    pub script: String,
    /// The values, by the names of their variables.
    pub variables: Vec<(String, String)>,
    /// The command with its values in quotes: for the deny patterns and the answer, never for a shell.
    pub shown: String,
}

impl Template {
    /// Reads a command whose places name `parameters`.
    ///
    /// # Errors
    /// `BadArgs` when a place has no parameter, or is where its value could become code.
    pub fn parse(command: &str, parameters: &Value) -> Result<Self> {
        if command.trim().is_empty() {
            return Err(Error::bad_args("`command` is empty: write a command such as dig +short {{domain}}"));
        }
        if command.len() > LONGEST || command.contains('\0') {
            return Err(Error::bad_args(format!(
                "`command` must be text of {LONGEST} bytes at most: put more into a script"
            )));
        }
        let mut reader = Reader::new(command);
        reader.all()?;
        let template = Self { parts: std::mem::take(&mut reader.parts) };
        let places = template.places().count();
        if places > 0 && reader.by_variable {
            return Err(Error::bad_args(
                "`command` runs what a variable holds, and a value could be in it: write the program itself into the command",
            ));
        }
        if places > PLACES {
            return Err(Error::bad_args(format!("`command` has {places} places, and the maximum is {PLACES}")));
        }
        let known = parameters["properties"].as_object();
        if let Some(place) = template.places().find(|place| !known.is_some_and(|p| p.contains_key(&place.name))) {
            return Err(Error::bad_args(format!(
                "`{{{{{}}}}}` has no parameter: add it to the properties of `parameters`",
                truncate(&place.name, 60)
            )));
        }
        Ok(template)
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        self.parts.iter().filter_map(|part| match part {
            Part::Place(place) => Some(place),
            Part::Text(_) => None,
        })
    }

    /// Puts values in the places. A parameter without a value is left out.
    ///
    /// # Errors
    /// `BadArgs` for a value that would be read as an option, or is too long.
    pub fn render(&self, args: &Map<String, Value>) -> Result<Rendered> {
        let mut rendered = Rendered { script: String::new(), variables: vec![], shown: String::new() };
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    rendered.script.push_str(text);
                    rendered.shown.push_str(text);
                }
                Part::Place(place) => rendered.put(place, args.get(&place.name))?,
            }
        }
        let size: usize = rendered.variables.iter().map(|(_, value)| value.len()).sum();
        if size > VALUES || rendered.variables.len() > WORDS {
            return Err(Error::bad_args(format!("the values are too many, or longer than {} KB in all", VALUES >> 10)));
        }
        Ok(rendered)
    }
}

impl Rendered {
    fn put(&mut self, place: &Place, value: Option<&Value>) -> Result<()> {
        let words = words(value);
        for word in &words {
            check_value(place, word, value)?;
        }
        let separately = place.quotes == Quotes::None && place.is_word;
        let values = if separately { words } else { vec![words.join(" ")] };
        for (at, value) in values.into_iter().enumerate() {
            let name = format!("{VARIABLE}{}", self.variables.len() + 1);
            let (before, after) = match place.quotes {
                Quotes::None => ("\"", "\""),
                Quotes::Double => ("", ""),
                Quotes::Single => ("'\"", "\"'"),
            };
            if at > 0 {
                self.script.push(' ');
                self.shown.push(' ');
            }
            self.script += &format!("{before}${{{name}}}{after}");
            self.shown += &match place.quotes {
                Quotes::None => quoted(&value),
                _ => value.clone(),
            };
            self.variables.push((name, value));
        }
        Ok(())
    }
}

/// The words of a value: each item of a list is one, and nothing is none.
fn words(value: Option<&Value>) -> Vec<String> {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(items)) => items.iter().filter(|item| !item.is_null()).map(word).collect(),
        Some(value) => vec![word(value)],
    }
}

fn check_value(place: &Place, word: &str, value: Option<&Value>) -> Result<()> {
    let name = &place.name;
    if word.contains('\0') {
        return Err(Error::bad_args(format!("`{name}` has a zero byte in it: leave it out")));
    }
    if word.len() > VALUE {
        return Err(Error::bad_args(format!("`{name}` is longer than {} KB: pass less, or a file", VALUE >> 10)));
    }
    let is_number = matches!(value, Some(Value::Number(_)));
    if place.may_be_option && !is_number && word.starts_with(['-', '+']) {
        return Err(Error::bad_args(format!(
            "`{name}` may not begin with `{}`, because the program would read it as an option: the author of the tool can put `--` \
             before it in the command",
            &word[..1]
        )));
    }
    Ok(())
}

/// A text in single quotes for a shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What the reader is within.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Within {
    /// Commands; with `true` those of a substitution, which ends with `)`.
    Commands(bool),
    Double,
    Single,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    parts: Vec<Part>,
    literal: String,
    stack: Vec<Within>,
    commands: Vec<Simple>,
    /// Whether some program is what a variable holds.
    by_variable: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            parts: vec![],
            literal: String::new(),
            stack: vec![Within::Commands(false)],
            commands: vec![Simple::default()],
            by_variable: false,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn command(&mut self) -> &mut Simple {
        if self.commands.is_empty() {
            self.commands.push(Simple::default());
        }
        let last = self.commands.len() - 1;
        &mut self.commands[last]
    }

    /// Takes characters over as they are.
    fn literal(&mut self, bytes: usize) {
        let taken = &self.text[self.at..self.at + bytes];
        self.literal.push_str(taken);
        self.at += bytes;
    }

    fn all(&mut self) -> Result<()> {
        while let Some(c) = self.rest().chars().next() {
            if self.rest().starts_with("{{") {
                self.place()?;
                continue;
            }
            match self.stack.last().copied().unwrap_or(Within::Commands(false)) {
                Within::Single => self.in_single(c),
                Within::Double => self.in_double(c)?,
                Within::Commands(is_inner) => self.in_commands(c, is_inner)?,
            }
        }
        self.end_command(false)?;
        if self.stack.len() > 1 {
            return Err(Error::bad_args("`command` has a quote or bracket that is not closed"));
        }
        self.flush();
        Ok(())
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.literal)));
        }
    }

    fn in_single(&mut self, c: char) {
        if c == '\'' {
            self.stack.pop();
        } else {
            self.command().word.push(c);
        }
        self.literal(c.len_utf8());
    }

    fn in_double(&mut self, c: char) -> Result<()> {
        match c {
            '"' => drop(self.stack.pop()),
            '\\' => {
                self.escaped();
                return Ok(());
            }
            '`' => return Err(backticks()),
            '$' => return self.dollar(),
            c => self.command().word.push(c),
        }
        self.literal(c.len_utf8());
        Ok(())
    }

    fn in_commands(&mut self, c: char, is_inner: bool) -> Result<()> {
        let rest = self.rest();
        match c {
            '`' => return Err(backticks()),
            '$' => return self.dollar(),
            '\\' => {
                self.escaped();
                return Ok(());
            }
            '\'' | '"' => {
                self.command().in_word = true;
                self.stack.push(if c == '"' { Within::Double } else { Within::Single });
            }
            '<' if rest.starts_with("<<") => {
                return Err(Error::bad_args(
                    "`command` has a here-document (`<<`), which command tools cannot have: use echo or a file",
                ));
            }
            '(' if rest.starts_with("((") => return Err(arithmetic()),
            '#' if !self.command().in_word => {
                let line = rest.find('\n').unwrap_or(rest.len());
                if rest[..line].contains("{{") {
                    return Err(Error::bad_args("`command` has a place in a comment: remove it"));
                }
                self.literal(line);
                return Ok(());
            }
            ' ' | '\t' => self.end_word(),
            '|' if rest.starts_with("||") => {
                self.end_command(false)?;
                self.literal(1);
            }
            // As in `2>&1`.
            '&' if self.text[..self.at].ends_with(['<', '>']) => {}
            '\n' | ';' | '&' | '|' | '(' => self.end_command(c == '|')?,
            ')' => {
                self.end_command(false)?;
                if is_inner {
                    self.stack.pop();
                    let inner = self.commands.pop().is_some_and(|inner| inner.is_fed);
                    let command = self.command();
                    command.in_word = true;
                    command.is_fed |= inner;
                }
            }
            '<' | '>' => {
                let command = self.command();
                // A number before it names a stream.
                if !command.has_place && command.word.bytes().all(|byte| byte.is_ascii_digit()) {
                    command.word.clear();
                    command.in_word = false;
                }
                command.end_word();
                command.is_redirection = true;
            }
            c => {
                let command = self.command();
                command.in_word = true;
                command.word.push(c);
            }
        }
        self.literal(c.len_utf8());
        Ok(())
    }

    /// A backslash and what it protects.
    fn escaped(&mut self) {
        let next = self.rest()[1..].chars().next();
        let command = self.command();
        command.in_word = true;
        command.word.extend(next.filter(|c| *c != '\n'));
        self.literal(1 + next.map_or(0, char::len_utf8));
    }

    fn dollar(&mut self) -> Result<()> {
        let rest = self.rest();
        self.command().in_word = true;
        if rest.starts_with("$((") || rest.starts_with("$[") {
            return Err(arithmetic());
        }
        if rest.starts_with("$'") {
            return Err(Error::bad_args("`command` has `$'…'`, which not every shell knows: use plain quotes"));
        }
        if rest.starts_with("${") {
            let end = rest.find('}').ok_or_else(|| Error::bad_args("`command` has `${` without `}`"))?;
            if rest[..end].contains("{{") || rest[2..end].contains(['$', '`', '(']) {
                return Err(Error::bad_args("`command` has a place or substitution within `${…}`: write it outside"));
            }
            self.command().word.push('$');
            self.literal(end + 1);
            return Ok(());
        }
        if rest.starts_with("$(") {
            self.stack.push(Within::Commands(true));
            self.command().word.push('$');
            self.commands.push(Simple::default());
            self.literal(2);
            return Ok(());
        }
        self.command().word.push('$');
        self.literal(1);
        Ok(())
    }

    /// A place: `{{name}}` or `{{.name}}`.
    fn place(&mut self) -> Result<()> {
        let rest = self.rest();
        let end = rest.find("}}").ok_or_else(|| Error::bad_args("`command` has `{{` without `}}`"))?;
        let name = rest[2..end].trim();
        let name = name.strip_prefix('.').unwrap_or(name);
        let is_name = !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !is_name {
            return Err(Error::bad_args(format!(
                "`{{{{{}}}}}` is no place for a parameter: write its name, as in {{{{domain}}}}",
                truncate(&rest[2..end], 40)
            )));
        }
        let quotes = match self.stack.last() {
            Some(Within::Single) => Quotes::Single,
            Some(Within::Double) => Quotes::Double,
            _ => Quotes::None,
        };
        self.flush();
        let command = self.command();
        let begins = command.word.is_empty();
        command.check_place(name)?;
        let may_be_option = begins && !command.dashes;
        let is_alone = !command.in_word && quotes == Quotes::None;
        command.in_word = true;
        command.has_place = true;
        self.at += end + 2;
        // What follows decides whether the place is a word of its own.
        let ends = self.rest().chars().next().is_none_or(|c| " \t\n;&|)<>".contains(c));
        let is_word = is_alone && ends;
        self.parts.push(Part::Place(Place { name: name.to_owned(), quotes, is_word, may_be_option }));
        Ok(())
    }

    fn end_word(&mut self) {
        self.command().end_word();
    }

    /// A command ends, and what it prints may be what the next ones read.
    fn end_command(&mut self, is_piped: bool) -> Result<()> {
        self.end_word();
        let ended = std::mem::take(self.command());
        ended.end()?;
        self.by_variable |= ended.is_by_variable;
        // Commands in brackets after a pipe read it, too.
        self.command().is_fed = ended.is_fed || is_piped && ended.has_value;
        Ok(())
    }
}

fn backticks() -> Error {
    Error::bad_args("`command` has backticks: write $(…) instead")
}

fn arithmetic() -> Error {
    Error::bad_args("`command` has shell arithmetic, in which a value can run code: put it into a script")
}

#[cfg(test)]
mod tests;
