//! A name, a separator and a value: secrets one knows by what they are called.

use crate::{
    Span, looks,
    names::{self, Strength},
    plain::{self, Joined, ends_value},
    tokens::is_basic,
    work,
};

/// How long a name may be, and how much of a value is looked at to judge it.
const NAME: usize = 64;
const VALUE: usize = 512;
/// How far a value without quotes is followed before it is judged.
const FAR: usize = 512;

/// Schemes of the Authorization header.
const SCHEMES: &[&str] = &["Bearer ", "Basic ", "Token ", "ApiKey ", "Bot ", "token ", "bearer ", "basic ", "BEARER "];

/// How a value is written, which says how much it must look like a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    /// In quotes, or between the tags of XML.
    Quoted,
    /// `?name=value&`: whatever stands there is the value.
    Query,
    /// `NAME=value` at the start of a line: so is it here.
    Line,
    /// Anything else: prose, logs, YAML, programs, a flag of a command.
    Bare(Joined),
}

/// The whole name around a position.
pub fn word(bytes: &[u8], at: usize) -> Span {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let (before, after) = bytes.split_at(at.min(bytes.len()));
    let mut start = at - before.iter().rev().take(NAME).take_while(|b| part(b)).count();
    let end = at + after.iter().take(NAME).take_while(|b| part(b)).count();
    work(end - start);
    let escape = bytes.get(start).is_some_and(|b| b"nrt".contains(b));
    if escape && start > 0 && bytes.get(start - 1) == Some(&b'\\') && start < at {
        start += 1;
    }
    start..end
}

/// A place in a text, moving forward.
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

    /// A quote, with the backslashes that say how deep in other quotes it stands: how many, and which.
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

    /// Where the value in quotes ends, on this line.
    fn closed(self, (depth, quote): (usize, u8)) -> Option<usize> {
        let mut slashes = 0;
        for (at, b) in self.rest().iter().enumerate() {
            work(1);
            match b {
                b'\n' => return None,
                b'\\' => slashes += 1,
                // Inside, a quote has more backslashes: as many as make the difference even at its depth.
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
    // What follows a name in prose is no separator: most words end here.
    let flag = written.starts_with('-') && place.peek() == b' ';
    let tag = before(1) == b'<' && place.peek() == b'>';
    // One of two choices: `fresh ? 'new-password' : 'old-password'`.
    if before(3) == b'?' && before(2) == b' ' {
        return None;
    }
    let tight = place.at;
    let joined = if flag || tag {
        place.at += 1;
        Joined::Flag
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
    // An alias of YAML.
    if place.skip(b"*", 2) == 1 && spaced && place.peek().is_ascii_alphanumeric() {
        return None;
    }
    place.skip(b" ", 1);
    if tag {
        let len = place.rest().iter().position(|b| *b == b'<')?;
        let span = place.at..place.at + len;
        let ends = bytes.get(span.end..span.end + 2) == Some(b"</");
        return secret(text, span, strength, Written::Quoted).filter(|_| ends);
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
            (b'`', ..) => Written::Bare(joined),
            // A parser that compares its tokens, and the tokens of a text with what is known of each.
            (_, Strength::Weak, Joined::Compared) => Written::Bare(Joined::Flag),
            (_, Strength::Weak, _) if plain::is_listed(text, name.start, end) => return None,
            _ => Written::Quoted,
        };
        return secret(text, inside.at..end, strength, how);
    }
    // A quote that does not end was cut off.
    let from = if quote.is_some() { inside } else { place };
    let query = equals && matches!(before(1), b'?' | b'&') || encoded;
    let mut end = bare(from);
    let chained = |end: usize| bytes.get(end) == Some(&b'&') && bytes.get(end + 1..).is_some_and(assigns);
    let how = match () {
        () if query || chained(end) && equals => Written::Query,
        () if equals && capitals && starts_line => Written::Line,
        () if equals => Written::Bare(Joined::Equals),
        () => Written::Bare(joined),
    };
    if how == Written::Query {
        let value = bytes.get(from.at..end)?;
        end = from.at + value.iter().position(|b| *b == b'#').unwrap_or(value.len());
    }
    // A password may have an `&`; in a line of its own, all up to the white space is the value.
    let within: &[u8] = match how {
        Written::Line => b"&;,)]}(|",
        Written::Bare(_) => b"&",
        Written::Query | Written::Quoted => b"",
    };
    while bytes.get(end).is_some_and(|b| within.contains(b)) && !chained(end) && end - from.at < FAR {
        let next = bare(Cursor { text: bytes, at: end + 1 });
        if next == end + 1 && bytes.get(next).is_none_or(u8::is_ascii_whitespace) {
            break;
        }
        end = next;
    }
    // "The secret: patience."
    let prose =
        strength == Strength::Middling && how == Written::Bare(Joined::Colon) && plain::after_article(text, name.start);
    let strength = if prose { Strength::Faint } else { strength };
    let mut span = secret(text, from.at..end, strength, how)?;
    while span.end - from.at >= FAR && bare(Cursor { text: bytes, at: span.end }) > span.end {
        span.end = bare(Cursor { text: bytes, at: span.end });
    }
    Some(span)
}

/// `:`, `=`, `=>`, `:=`, `==` or an encoded `=`, after the closing quote of the name if it has one.
fn separator(place: &mut Cursor) -> Option<Joined> {
    place.quote();
    place.eat(b"]");
    place.skip(b"*", 2);
    place.skip(b" \t", 16);
    if place.eat(b"%3D") || place.eat(b":=") || place.eat(b"=>") {
        return Some(Joined::Assigned);
    }
    if place.eat(b":") {
        // A path of Rust, an address.
        return (!b":/".contains(&place.peek())).then_some(Joined::Colon);
    }
    let signs = place.skip(b"=", 3);
    let joined = if signs == 1 { Joined::Assigned } else { Joined::Compared };
    (signs > 0 && place.peek() != b'~').then_some(joined)
}

/// Steps over the type in `let key: &str = "…"`.
fn typed(place: &mut Cursor) {
    let kind = |b: &u8| b.is_ascii_alphanumeric() || b"_&'<>[]?| ".contains(b);
    let len = place.rest().iter().take(32).take_while(|b| kind(b)).count();
    let mut after = Cursor { at: place.at + len, ..*place };
    let spaced = place.rest().get(..len).is_some_and(|t| t.ends_with(b" "));
    if spaced && after.eat(b"= ") && after.quote().is_some() {
        place.at += len + 2;
    }
}

/// Whether `x=` stands here, as after the `&` of a query.
fn assigns(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"amp;").unwrap_or(rest);
    let name = rest.iter().take(NAME).take_while(|b| b.is_ascii_alphanumeric() || b"_-.[]%".contains(b)).count();
    name > 0 && rest.get(name) == Some(&b'=')
}

/// Where a value without quotes ends.
fn bare(place: Cursor) -> usize {
    let ends = |rest: &[u8]| match rest {
        [b, ..] if b.is_ascii_whitespace() || b"\"'`&;,)]}|<".contains(b) => true,
        [b'\\', b, ..] => b"nrt\"'\\".contains(b),
        _ => rest.starts_with(b"%26"),
    };
    let rest = place.rest();
    let most = rest.len().min(FAR);
    let len = (0..most).find(|at| rest.get(*at..).is_some_and(ends)).unwrap_or(most);
    work(len);
    place.at + len
}

/// What the name says, with the word before it where it is written as two (`API key: …`), and with the names that
/// only a file of variables gives its secrets.
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

/// A field of a record, named so: what of it is the secret.
pub fn field(text: &str, strength: Strength) -> Option<Span> {
    secret(text, 0..text.len(), strength, Written::Quoted)
}

/// What of `span` is a secret, if anything.
fn secret(text: &str, span: Span, strength: Strength, written: Written) -> Option<Span> {
    use Strength::{Faint, Middling, Strong, Weak};
    let value = text.get(span.clone())?;
    if let Some(scheme) = SCHEMES.iter().find(|scheme| value.starts_with(**scheme)) {
        let span = span.start + scheme.len()..span.end;
        return credential(text.get(span.clone())?).then_some(span);
    }
    // Without quotes the scheme alone was taken for the value.
    if let Some(scheme) = SCHEMES.iter().find(|scheme| value == scheme.trim_end()) {
        let from = Cursor { text: text.as_bytes(), at: span.start + scheme.len() };
        let span = from.at..bare(from);
        return credential(text.get(span.clone())?).then_some(span);
    }
    let head = value.get(..value.floor_char_boundary(VALUE))?;
    let dsn = strength == Strong && written == Written::Line && value.contains("://");
    if looks::placeholder(head) || looks::elsewhere(head) && !dsn {
        return None;
    }
    let sure = match (written, strength) {
        (Written::Quoted, Strong | Middling) => !looks::sentence(head) && !looks::reference(head),
        (Written::Quoted, Weak) => {
            (looks::quoted_token(head) || plain::is_quoted_word(head)) && !looks::code(head) && !looks::reference(head)
        }
        (Written::Query | Written::Line, Strong | Middling) => true,
        (Written::Query, Weak) => !looks::code(head),
        (Written::Line, Weak) => !looks::code(head) && !looks::variable(head),
        (Written::Bare(_), Strong) => looks::likely(head) && !looks::code(head) && !looks::variable(head),
        (Written::Bare(_), Middling | Weak) | (_, Faint) => looks::surely(head) && !looks::code(head),
    };
    match written {
        _ if sure => Some(span),
        Written::Bare(joined) if strength != Faint => {
            let len = plain::secret_word(head, strength, joined, ends_value(text, span.end))?;
            Some(span.start..span.start + len)
        }
        _ => None,
    }
}

/// After `Authorization: Bearer`: not the words that explain the header.
fn credential(value: &str) -> bool {
    let word = value.len() < 8 || value.contains(char::is_whitespace) || value.contains('=') && !value.ends_with('=');
    let letters = !word && value.bytes().all(|b| b.is_ascii_alphanumeric());
    !looks::placeholder(value) && !looks::code(value) && (looks::likely(value) || letters || is_basic(value))
}
