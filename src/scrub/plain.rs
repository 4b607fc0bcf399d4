//! Plain words after a secret's name: `password: letmein`, `token=abc`. What tells them from prose and from programs is
//! how the value ends, and what it says.

use crate::{looks, names::Strength, work};

/// The shortest word without a digit that counts as a value, in characters: shorter ones are names of variables.
const SHORTEST: usize = 3;
/// How far the text after a value is looked at.
const AFTER: usize = 64;
/// How much of the object around a field is looked at, on each side.
const AROUND: usize = 96;

/// Keywords of programming languages, and names of variables that say nothing of their value.
const KEYWORDS: &[&str] = &[
    "async", "await", "class", "const", "else", "event", "function", "if", "input", "is", "lambda", "let", "match",
    "new", "not", "props", "self", "super", "this", "tok", "typeof", "var", "while", "with", "yield",
];

/// What lexers call the tokens they find.
const LEXEMES: &[&str] = &[
    "brace",
    "bracket",
    "char",
    "colon",
    "comma",
    "comment",
    "dot",
    "end",
    "eof",
    "eol",
    "fn",
    "ident",
    "identifier",
    "integer",
    "keyword",
    "literal",
    "minus",
    "newline",
    "number",
    "operator",
    "paren",
    "plus",
    "punct",
    "punctuation",
    "semicolon",
    "string",
    "symbol",
    "utf",
    "whitespace",
    "word",
];

/// Between a value and the rest of a sentence.
const CONJUNCTIONS: &[&str] = &["and", "but", "et", "for", "mais", "or", "oder", "ou", "und"];

/// Before a word that a sentence tells of.
const ARTICLES: &[&str] = &["a", "das", "der", "die", "ein", "el", "il", "la", "le", "the", "un"];

/// Keys of programs and tables, which are written like those that open something.
const OTHER_KEYS: &[&str] = &["CACHE", "FOREIGN", "HOT", "INDEX", "PARTITION", "PRIMARY", "PUBLIC", "SORT", "UNIQUE"];

/// Fields that stand beside the tokens of a text, and not beside those that open something.
const OF_LISTS: &[&str] =
    &["bytes", "count", "end", "frequency", "index", "line", "logprob", "offset", "position", "score", "start"];

/// What joins a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// `--name value`.
    Flag,
    /// `name: value`, `name => value`.
    Colon,
    /// `name=value`.
    Equals,
    /// `name = value`: also how programs assign.
    Assigned,
    /// `name == value`: programs compare.
    Compared,
}

/// How much of the value without quotes is a secret word, if it is one; `ends` says whether the value ends there.
pub fn secret_word(value: &str, strength: Strength, joined: Joined, ends: bool) -> Option<usize> {
    // A sentence ends so, and `:` leads to what comes next.
    let word = value.trim_end_matches(['.', '?', ':']);
    let digits = word.chars().any(|c| c.is_ascii_digit());
    let enough = word.chars().count() >= SHORTEST || digits && joined == Joined::Equals;
    let begins = word.chars().next().is_some_and(|c| c.is_alphanumeric() || "!$%+#".contains(c));
    let known = looks::placeholder(word) || looks::elsewhere(word) || looks::code(word);
    let names = looks::variable(word) || is_camel(word) || KEYWORDS.contains(&word);
    // A game, and not a word that somebody would choose.
    let game = strength == Strength::Middling && word.eq_ignore_ascii_case("santa");
    let after = match joined {
        Joined::Flag | Joined::Compared => false,
        Joined::Equals => true,
        Joined::Colon | Joined::Assigned => ends,
    };
    let lexeme = strength == Strength::Weak && joined != Joined::Equals && is_lexeme(word);
    (after && enough && begins && !known && !names && !game && !lexeme).then_some(word.len())
}

/// A value of one word in quotes, after a name that also stands before tokens of a text.
pub fn is_quoted_word(value: &str) -> bool {
    let word = value.chars().all(|c| !c.is_whitespace() && !"<>{}()[]".contains(c));
    word && value.chars().any(char::is_alphanumeric) && !is_lexeme(value) && !is_camel(value)
}

/// `identifier1`, `token2`, `utf8mb4`, `0xdAC17F…`: what a parser or a chain of blocks calls a token.
fn is_lexeme(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let head = lower.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let named = LEXEMES.contains(&head) || looks::placeholder(head) && !head.is_empty();
    named && !lower.contains('-') || lower.starts_with("0x")
}

/// `AccessToken`, `secretString`: a type or a variable whose name calls itself a secret.
fn is_camel(word: &str) -> bool {
    let plain = word.bytes().all(|b| b.is_ascii_alphabetic());
    let humps = word
        .as_bytes()
        .windows(2)
        .filter(|w| w.first().is_some_and(u8::is_ascii_lowercase))
        .filter(|w| w.last().is_some_and(u8::is_ascii_uppercase))
        .count();
    let lower = word.to_ascii_lowercase();
    let named = ["pass", "pwd", "secret", "token", "key", "credential", "auth"].iter().any(|name| lower.contains(name));
    plain && (1..=3).contains(&humps) && named
}

/// Whether what follows at `end` shows that the value is over, and no sentence goes on.
pub fn ends_value(text: &str, end: usize) -> bool {
    let rest = text.get(end..text.floor_char_boundary(end + AFTER)).unwrap_or_default();
    work(rest.len());
    let bare = rest.trim_start_matches([' ', '\t']);
    if bare.len() == rest.len() && rest.starts_with(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let Some(first) = bare.chars().next() else { return true };
    // A tag ends a value; a parameter of a type does not.
    if first == '<' {
        return bare.starts_with("</");
    }
    if "\n\r\"'`,;)]}|#(-–—\\/&".contains(first) {
        return true;
    }
    let word: String = bare.chars().take_while(|c| c.is_alphanumeric() || "_-".contains(*c)).collect();
    let after = bare.get(word.len()..).unwrap_or_default();
    // Another pair, as in a line of a log.
    let pair = !word.is_empty() && after.starts_with([':', '=']);
    pair || CONJUNCTIONS.contains(&word.to_lowercase().as_str()) && after.starts_with(' ')
}

/// Whether an article stands before `start`, as in "The secret: patience".
pub fn after_article(text: &str, start: usize) -> bool {
    let before = text.get(text.floor_char_boundary(start.saturating_sub(8))..start).unwrap_or_default();
    let word = before.strip_suffix(' ').and_then(|head| head.rsplit(|c: char| !c.is_alphanumeric()).next());
    word.is_some_and(|word| ARTICLES.contains(&word.to_lowercase().as_str()))
}

/// `KEY` or `…_KEY`, as a file of variables names the key of a service.
pub fn is_key_of_variables(name: &str) -> bool {
    let of = name.strip_suffix("KEY").and_then(|of| if of.is_empty() { Some("") } else { of.strip_suffix('_') });
    of.is_some_and(|of| !OTHER_KEYS.contains(&of.rsplit('_').next().unwrap_or_default()) && !of.contains("PUBLIC"))
}

/// Whether a field of this name stands beside the tokens of a text.
pub fn is_of_lists(name: &str, number: bool) -> bool {
    OF_LISTS.contains(&name) || name == "id" && number
}

/// Whether the field that begins at `start` and ends at `end` is one of an object about a token of a text.
pub fn is_listed(text: &str, start: usize, end: usize) -> bool {
    let from = text.floor_char_boundary(start.saturating_sub(AROUND));
    let before = text.get(from..start).unwrap_or_default();
    let before = before.rsplit('{').next().unwrap_or_default();
    let after = text.get(end..text.floor_char_boundary(end + AROUND)).unwrap_or_default();
    let after = after.split('}').next().unwrap_or_default();
    work(before.len() + after.len());
    [before, after].iter().flat_map(|side| side.split(',')).any(|field| {
        let Some((name, value)) = field.split_once(':') else { return false };
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = value.trim_start().starts_with(|c: char| c.is_ascii_digit());
        is_of_lists(name, number)
    })
}
