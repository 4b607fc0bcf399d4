//! Plain words after the name of a secret: `password: letmein`, `token=abc`. The end of the value and its wording
//! distinguish it from prose and code.

use crate::{count_work, looks, names::Strength};

/// The minimum length of a value without digits, in characters: shorter ones are variable names.
const SHORTEST: usize = 3;
/// The length of the inspected text after a value.
const AFTER: usize = 64;
/// The length of the inspected object text on each side of a field.
const AROUND: usize = 96;

/// Keywords of programming languages, and generic variable names.
const KEYWORDS: &[&str] = &[
    "async", "await", "class", "const", "else", "event", "function", "if", "input", "is", "lambda", "let", "match",
    "new", "not", "props", "self", "super", "this", "tok", "typeof", "var", "while", "with", "yield",
];

/// Token kinds of lexers.
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

/// Conjunctions between a value and the rest of a sentence.
const CONJUNCTIONS: &[&str] = &["and", "but", "et", "for", "mais", "or", "oder", "ou", "und"];

/// Articles, which precede a word of prose.
const ARTICLES: &[&str] = &["a", "das", "der", "die", "ein", "el", "il", "la", "le", "the", "un"];

/// Keys of programs and tables that are spelled like credentials.
const OTHER_KEYS: &[&str] = &["CACHE", "FOREIGN", "HOT", "INDEX", "PARTITION", "PRIMARY", "PUBLIC", "SORT", "UNIQUE"];

/// Fields that occur beside lexical tokens and not beside credentials.
const OF_LISTS: &[&str] =
    &["bytes", "count", "end", "frequency", "index", "line", "logprob", "offset", "position", "score", "start"];

/// The separator of a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
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
pub fn secret_word(value: &str, strength: Strength, joined: Separator, ends: bool) -> Option<usize> {
    // Sentence punctuation, and a colon before what follows.
    let word = value.trim_end_matches(['.', '?', ':']);
    let digits = word.chars().any(|c| c.is_ascii_digit());
    let enough = word.chars().count() >= SHORTEST || digits && joined == Separator::Equals;
    let begins = word.chars().next().is_some_and(|c| c.is_alphanumeric() || "!$%+#".contains(c));
    let known = looks::is_placeholder(word) || looks::is_location(word) || looks::is_code(word);
    let names = looks::is_variable(word) || is_camel(word) || KEYWORDS.contains(&word);
    // Secret Santa is a game, not a password.
    let game = strength == Strength::Middling && word.eq_ignore_ascii_case("santa");
    let after = match joined {
        Separator::Flag | Separator::Compared => false,
        Separator::Equals => true,
        Separator::Colon | Separator::Assigned => ends,
    };
    let lexeme = strength == Strength::Weak && joined != Separator::Equals && is_lexeme(word);
    (after && enough && begins && !known && !names && !game && !lexeme).then_some(word.len())
}

/// Whether a quoted value after an ambiguous name is a single word.
pub fn is_quoted_word(value: &str) -> bool {
    let word = value.chars().all(|c| !c.is_whitespace() && !"<>{}()[]".contains(c));
    word && value.chars().any(char::is_alphanumeric) && !is_lexeme(value) && !is_camel(value)
}

/// Whether a word is a lexer or blockchain token: `identifier1`, `token2`, `utf8mb4`, `0xdAC17F…`.
fn is_lexeme(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let head = lower.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let named = LEXEMES.contains(&head) || looks::is_placeholder(head) && !head.is_empty();
    named && !lower.contains('-') || lower.starts_with("0x")
}

/// Whether a word is a type or variable named after a secret: `AccessToken`, `secretString`.
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

/// Whether the text at `end` shows that the value is over and no sentence continues.
pub fn ends_value(text: &str, end: usize) -> bool {
    let rest = text.get(end..text.floor_char_boundary(end + AFTER)).unwrap_or_default();
    count_work(rest.len());
    let bare = rest.trim_start_matches([' ', '\t']);
    if bare.len() == rest.len() && rest.starts_with(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let Some(first) = bare.chars().next() else { return true };
    // A tag ends a value; a type parameter does not.
    if first == '<' {
        return bare.starts_with("</");
    }
    if "\n\r\"'`,;)]}|#(-–—\\/&".contains(first) {
        return true;
    }
    let word: String = bare.chars().take_while(|c| c.is_alphanumeric() || "_-".contains(*c)).collect();
    let after = bare.get(word.len()..).unwrap_or_default();
    // Another pair, as in a log line.
    let pair = !word.is_empty() && after.starts_with([':', '=']);
    pair || CONJUNCTIONS.contains(&word.to_lowercase().as_str()) && after.starts_with(' ')
}

/// Whether an article precedes `start`, as in "The secret: patience".
pub fn after_article(text: &str, start: usize) -> bool {
    let before = text.get(text.floor_char_boundary(start.saturating_sub(8))..start).unwrap_or_default();
    let word = before.strip_suffix(' ').and_then(|head| head.rsplit(|c: char| !c.is_alphanumeric()).next());
    word.is_some_and(|word| ARTICLES.contains(&word.to_lowercase().as_str()))
}

/// Whether an `.env` file names a service key so: `KEY` or `…_KEY`.
pub fn is_key_of_variables(name: &str) -> bool {
    let of = name.strip_suffix("KEY").and_then(|of| if of.is_empty() { Some("") } else { of.strip_suffix('_') });
    of.is_some_and(|of| !OTHER_KEYS.contains(&of.rsplit('_').next().unwrap_or_default()) && !of.contains("PUBLIC"))
}

/// Whether a field of this name occurs beside lexical tokens.
pub fn is_of_lists(name: &str, number: bool) -> bool {
    OF_LISTS.contains(&name) || name == "id" && number
}

/// Whether the field from `start` to `end` belongs to an object about a lexical token.
pub fn is_listed(text: &str, start: usize, end: usize) -> bool {
    let from = text.floor_char_boundary(start.saturating_sub(AROUND));
    let before = text.get(from..start).unwrap_or_default();
    let before = before.rsplit('{').next().unwrap_or_default();
    let after = text.get(end..text.floor_char_boundary(end + AROUND)).unwrap_or_default();
    let after = after.split('}').next().unwrap_or_default();
    count_work(before.len() + after.len());
    [before, after].iter().flat_map(|side| side.split(',')).any(|field| {
        let Some((name, value)) = field.split_once(':') else { return false };
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = value.trim_start().starts_with(|c: char| c.is_ascii_digit());
        is_of_lists(name, number)
    })
}
