//! Detect secrets in pairs: a name, a separator and a value.

use crate::{
    Span, count_work, looks,
    names::{self, Strength},
    plain::{self, Separator, ends_value},
    tokens::is_basic,
};

/// The maximum length of a name, and of the part of a value that is inspected.
const NAME: usize = 64;
const VALUE: usize = 512;
/// The maximum length to which an unquoted value is followed.
const FAR: usize = 512;

/// Schemes of the Authorization header.
const SCHEMES: &[&str] = &["Bearer ", "Basic ", "Token ", "ApiKey ", "Bot ", "token ", "bearer ", "basic ", "BEARER "];

/// The notation of a value, which decides how much it must look like a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// In quotes, or between the tags of XML.
    Quoted,
    /// `?name=value&`: any value counts.
    Query,
    /// `NAME=value` at the start of a line: any value counts.
    Line,
    /// Anything else: prose, logs, YAML, code, a command-line flag.
    Bare(Separator),
}

/// The whole name around a position.
pub fn word(bytes: &[u8], at: usize) -> Span {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let (before, after) = bytes.split_at(at.min(bytes.len()));
    let mut start = at - before.iter().rev().take(NAME).take_while(|b| part(b)).count();
    let end = at + after.iter().take(NAME).take_while(|b| part(b)).count();
    count_work(end - start);
    let escape = bytes.get(start).is_some_and(|b| b"nrt".contains(b));
    if escape && start > 0 && bytes.get(start - 1) == Some(&b'\\') && start < at {
        start += 1;
    }
    start..end
}

/// A cursor in a text, moving forward.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(self) -> u8 {
        self.rest().first().copied().unwrap_or(b'\n')
    }

    fn skip(&mut self, of: &[u8], most: usize) -> usize {
        let count = self.rest().iter().take(most).take_while(|b| of.contains(b)).count();
        self.at += count;
        count
    }

    fn eat(&mut self, what: &[u8]) -> bool {
        let there = self.rest().starts_with(what);
        self.at += if there { what.len() } else { 0 };
        there
    }

    /// Skip a quote and its backslashes, which give its nesting depth: (backslashes, quote).
    fn quote(&mut self) -> Option<(usize, u8)> {
        let mut place = *self;
        let depth = place.skip(b"\\", 8);
        let quote = place.peek();
        place.at += 1;
        (b"\"'`".contains(&quote) && (depth == 0 || depth % 2 == 1)).then(|| {
            *self = place;
            (depth, quote)
        })
    }

    /// The end of the quoted value on this line.
    fn closed(self, (depth, quote): (usize, u8)) -> Option<usize> {
        let mut slashes = 0;
        for (at, b) in self.rest().iter().enumerate() {
            count_work(1);
            match b {
                b'\n' => return None,
                b'\\' => slashes += 1,
                // Inside, a quote has more backslashes than the delimiter at its depth.
                b if *b == quote && slashes % (2 * (depth + 1)) == depth => return Some(self.at + at - depth),
                _ => slashes = 0,
            }
        }
        None
    }
}

/// The value after the name at `name`, if it is a secret.
pub fn at(text: &str, name: Span) -> Option<Span> {
    let bytes = text.as_bytes();
    let mut place = Cursor { text: bytes, at: name.end };
    let before = |n: usize| name.start.checked_sub(n).and_then(|at| bytes.get(at)).copied().unwrap_or(b'\n');
    let written = text.get(name.clone())?;
    // In prose no separator follows a name: most words end here.
    let flag = written.starts_with('-') && place.peek() == b' ';
    let tag = before(1) == b'<' && place.peek() == b'>';
    // A ternary: `fresh ? 'new-password' : 'old-password'`.
    if before(3) == b'?' && before(2) == b' ' {
        return None;
    }
    let tight = place.at;
    let joined = if flag || tag {
        place.at += 1;
        Separator::Flag
    } else {
        separator(&mut place)?
    };
    let equals = bytes.get(tight) == Some(&b'=') && place.at == tight + 1;
    let encoded = bytes.get(tight..place.at) == Some(b"%3D");
    let capitals = written.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let starts_line = matches!(before(1), b'\n' | b'"' | b'\'')
        || before(2) == b'\\' && before(1) == b'n'
        || text.get(..name.start)?.ends_with("export ")
        || text.get(..name.start)?.ends_with("-e ");
    let strength = strength(text, &name, written, equals, starts_line)?;
    let spaced = place.skip(b" \t", 16) > 0;
    // A YAML alias.
    if place.skip(b"*", 2) == 1 && spaced && place.peek().is_ascii_alphanumeric() {
        return None;
    }
    place.skip(b" ", 1);
    if tag {
        let len = place.rest().iter().position(|b| *b == b'<')?;
        let span = place.at..place.at + len;
        let ends = bytes.get(span.end..span.end + 2) == Some(b"</");
        return secret(text, span, strength, Notation::Quoted).filter(|_| ends);
    }
    typed(&mut place);
    let mut inside = place;
    if matches!(inside.peek(), b'b' | b'r' | b'f' | b'u') {
        inside.at += 1;
    }
    let quote = inside.quote().or_else(|| {
        inside = place;
        inside.quote()
    });
    if let Some(quote) = quote
        && let Some(end) = inside.closed(quote)
    {
        let how = match (quote.1, strength, joined) {
            (b'`', ..) => Notation::Bare(joined),
            // A parser that compares its tokens, or the tokens of a text with their attributes.
            (_, Strength::Weak, Separator::Compared) => Notation::Bare(Separator::Flag),
            (_, Strength::Weak, _) if plain::is_listed(text, name.start, end) => return None,
            _ => Notation::Quoted,
        };
        return secret(text, inside.at..end, strength, how);
    }
    // An unterminated quote was cut off.
    let from = if quote.is_some() { inside } else { place };
    let query = equals && matches!(before(1), b'?' | b'&') || encoded;
    let mut end = bare(from);
    let chained = |end: usize| bytes.get(end) == Some(&b'&') && bytes.get(end + 1..).is_some_and(assigns);
    let how = match () {
        () if query || chained(end) && equals => Notation::Query,
        () if equals && capitals && starts_line => Notation::Line,
        () if equals => Notation::Bare(Separator::Equals),
        () => Notation::Bare(joined),
    };
    if how == Notation::Query {
        let value = bytes.get(from.at..end)?;
        end = from.at + value.iter().position(|b| *b == b'#').unwrap_or(value.len());
    }
    // A password may contain `&`; on a line of its own the value extends to the next white space.
    let within: &[u8] = match how {
        Notation::Line => b"&;,)]}(|",
        Notation::Bare(_) => b"&",
        Notation::Query | Notation::Quoted => b"",
    };
    while bytes.get(end).is_some_and(|b| within.contains(b)) && !chained(end) && end - from.at < FAR {
        let next = bare(Cursor { text: bytes, at: end + 1 });
        if next == end + 1 && bytes.get(next).is_none_or(u8::is_ascii_whitespace) {
            break;
        }
        end = next;
    }
    // "The secret: patience."
    let prose = strength == Strength::Middling
        && how == Notation::Bare(Separator::Colon)
        && plain::after_article(text, name.start);
    let strength = if prose { Strength::Faint } else { strength };
    let mut span = secret(text, from.at..end, strength, how)?;
    while span.end - from.at >= FAR && bare(Cursor { text: bytes, at: span.end }) > span.end {
        span.end = bare(Cursor { text: bytes, at: span.end });
    }
    Some(span)
}

/// Parse `:`, `=`, `=>`, `:=`, `==` or an encoded `=`, after the closing quote of the name if there is one.
fn separator(place: &mut Cursor) -> Option<Separator> {
    place.quote();
    place.eat(b"]");
    place.skip(b"*", 2);
    place.skip(b" \t", 16);
    if place.eat(b"%3D") || place.eat(b":=") || place.eat(b"=>") {
        return Some(Separator::Assigned);
    }
    if place.eat(b":") {
        // A Rust path or a URL.
        return (!b":/".contains(&place.peek())).then_some(Separator::Colon);
    }
    let signs = place.skip(b"=", 3);
    let joined = if signs == 1 { Separator::Assigned } else { Separator::Compared };
    (signs > 0 && place.peek() != b'~').then_some(joined)
}

/// Skip the type in `let key: &str = "…"`.
fn typed(place: &mut Cursor) {
    let kind = |b: &u8| b.is_ascii_alphanumeric() || b"_&'<>[]?| ".contains(b);
    let len = place.rest().iter().take(32).take_while(|b| kind(b)).count();
    let mut after = Cursor { at: place.at + len, ..*place };
    let spaced = place.rest().get(..len).is_some_and(|t| t.ends_with(b" "));
    if spaced && after.eat(b"= ") && after.quote().is_some() {
        place.at += len + 2;
    }
}

/// Whether `x=` follows, as after the `&` of a query.
fn assigns(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"amp;").unwrap_or(rest);
    let name = rest.iter().take(NAME).take_while(|b| b.is_ascii_alphanumeric() || b"_-.[]%".contains(b)).count();
    name > 0 && rest.get(name) == Some(&b'=')
}

/// The end of an unquoted value.
fn bare(place: Cursor) -> usize {
    let ends = |rest: &[u8]| match rest {
        [b, ..] if b.is_ascii_whitespace() || b"\"'`&;,)]}|<".contains(b) => true,
        [b'\\', b, ..] => b"nrt\"'\\".contains(b),
        _ => rest.starts_with(b"%26"),
    };
    let rest = place.rest();
    let most = rest.len().min(FAR);
    let len = (0..most).find(|at| rest.get(*at..).is_some_and(ends)).unwrap_or(most);
    count_work(len);
    place.at + len
}

/// The strength of a name together with the word before it (`API key: …`), and with names that count only in `.env`
/// files.
fn strength(text: &str, name: &Span, written: &str, equals: bool, starts_line: bool) -> Option<Strength> {
    let trimmed = written.trim_matches(['.', '-']);
    let before = || {
        let head = text.get(..name.start)?.strip_suffix(' ')?;
        let from = head.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        Some(format!("{} {trimmed}", head.get(from..)?))
    };
    let single = ["key", "token", "pass"].iter().any(|w| trimmed.eq_ignore_ascii_case(w));
    if single && let Some(two) = before() {
        let two = names::strength(&two);
        if two.is_some() || trimmed.eq_ignore_ascii_case("token") {
            return two;
        }
    }
    let variable = equals && trimmed.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    names::strength(trimmed).or_else(|| {
        let host = trimmed.starts_with("VIRTUAL_") && !trimmed.starts_with("VIRTUAL_ENV");
        match variable {
            true if host || trimmed.ends_with("DSN") => Some(Strength::Strong),
            true if starts_line && plain::is_key_of_variables(trimmed) => Some(Strength::Weak),
            true if trimmed.ends_with("KEY") && !trimmed.contains("PUBLIC") => Some(Strength::Faint),
            _ => None,
        }
    })
}

/// The secret part of the value of a record field.
pub fn field(text: &str, strength: Strength) -> Option<Span> {
    secret(text, 0..text.len(), strength, Notation::Quoted)
}

/// The secret part of `span`.
fn secret(text: &str, span: Span, strength: Strength, written: Notation) -> Option<Span> {
    use Strength::{Faint, Middling, Strong, Weak};
    let value = text.get(span.clone())?;
    if let Some(scheme) = SCHEMES.iter().find(|scheme| value.starts_with(**scheme)) {
        let span = span.start + scheme.len()..span.end;
        return credential(text.get(span.clone())?).then_some(span);
    }
    // Without quotes the scheme alone was parsed as the value.
    if let Some(scheme) = SCHEMES.iter().find(|scheme| value == scheme.trim_end()) {
        let from = Cursor { text: text.as_bytes(), at: span.start + scheme.len() };
        let span = from.at..bare(from);
        return credential(text.get(span.clone())?).then_some(span);
    }
    let head = value.get(..value.floor_char_boundary(VALUE))?;
    let dsn = strength == Strong && written == Notation::Line && value.contains("://");
    if looks::is_placeholder(head) || looks::is_location(head) && !dsn {
        return None;
    }
    let sure = match (written, strength) {
        (Notation::Quoted, Strong | Middling) => !looks::is_sentence(head) && !looks::is_reference(head),
        (Notation::Quoted, Weak) => {
            (looks::is_quoted_token(head) || plain::is_quoted_word(head))
                && !looks::is_code(head)
                && !looks::is_reference(head)
        }
        (Notation::Query | Notation::Line, Strong | Middling) => true,
        (Notation::Query, Weak) => !looks::is_code(head),
        (Notation::Line, Weak) => !looks::is_code(head) && !looks::is_variable(head),
        (Notation::Bare(_), Strong) => {
            looks::is_likely_secret(head) && !looks::is_code(head) && !looks::is_variable(head)
        }
        (Notation::Bare(_), Middling | Weak) | (_, Faint) => looks::is_evident_secret(head) && !looks::is_code(head),
    };
    match written {
        _ if sure => Some(span),
        Notation::Bare(joined) if strength != Faint => {
            let len = plain::secret_word(head, strength, joined, ends_value(text, span.end))?;
            Some(span.start..span.start + len)
        }
        _ => None,
    }
}

/// Whether the text after `Authorization: Bearer` is a credential and not an explanation.
fn credential(value: &str) -> bool {
    let word = value.len() < 8 || value.contains(char::is_whitespace) || value.contains('=') && !value.ends_with('=');
    let letters = !word && value.bytes().all(|b| b.is_ascii_alphanumeric());
    !looks::is_placeholder(value)
        && !looks::is_code(value)
        && (looks::is_likely_secret(value) || letters || is_basic(value))
}
