//! Secrets taken out of text: by value, by the form of a token, by the name that stands before them.
//!
//! Three questions are asked of a text, and what any of them finds becomes [`MARK`]:
//!
//! 1. **Is it a value we know?** ([`Scrubber::set`], [`Scrubber::add`]) Wherever it stands, also in base64, hex, percent
//!    encoding or escaped for JSON and HTML. Values under 8 characters count as whole words only, under 4 not at all.
//! 2. **Does it have the form of a secret?** Tokens with a maker's prefix (OpenAI, Anthropic, GitHub, AWS, Slack, …),
//!    JWTs, private keys, bot tokens, webhooks, the password in `scheme://user:password@host`, credentials after
//!    `Bearer` or `Basic`, and hex of 64 digits or more that is not labelled as a digest (`sha256:…`).
//! 3. **Does a secret's name stand before it?** `password`, `api_key`, `client_secret` and their like
//!    ([`is_secret_name`]), then `:` or `=`. After such a name counts: a value in quotes, in a query string, in an `.env`
//!    line or after `=`; after `:` a value that looks random, or a single word that ends there (`password: letmein`).
//!    Words that explain the field (`password: required`), types, keywords and calls of programs do not count.
//!
//! Not caught, on purpose, because ordinary text looks the same: a secret without a form and without a name, a word that a
//! sentence goes on after (`password: see the manual`), what only a sentence calls a secret ("the code is 4711"),
//! placeholders (`<token>`, `$TOKEN`, `YOUR_KEY`), paths, references (`config.password`), cookies and signed addresses.
//! A value that must never be seen belongs into [`Scrubber::set`].
//!
//! A text without a secret costs one pass of a small automaton over it, and no allocation.

mod hex;
mod looks;
mod names;
mod pairs;
mod plain;
mod tokens;
mod values;

pub use names::is_secret_name;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};

/// What stands where a secret was.
pub const MARK: &str = "[REDACTED]";

/// The source of values that [`Scrubber::add`] registers.
const RUN_TIME: &str = "run-time";

/// After a secret is cut out, what stood beside it can turn out to be one; more rounds than this no text needs.
const ROUNDS: usize = 16;

/// Where in a text a secret stands, in bytes.
type Span = Range<usize>;

/// What counts as a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Everything the crate knows.
    All,
    /// Long hex is none: the text comes from a tool that declares its output a digest.
    Digests,
}

/// Takes secrets out of what leaves a tool. Clones share their registered values.
#[derive(Clone, Default)]
pub struct Scrubber(Arc<RwLock<Registered>>);

#[derive(Default)]
struct Registered {
    sources: BTreeMap<String, BTreeSet<String>>,
    /// How to find them all; none after a change, until the next text.
    finder: Option<Arc<values::Finder>>,
}

impl Scrubber {
    /// Replaces all values of `source` (say `"config-center"`). White space around a value does not belong to it.
    pub fn set(&self, source: &str, values: impl IntoIterator<Item = String>) {
        let values: BTreeSet<String> = values.into_iter().filter_map(|v| values::fit(&v)).collect();
        self.change(|sources| {
            sources.insert(source.to_owned(), values);
        });
    }

    /// Registers one more value, of the source `"run-time"`. It stays until [`forget`](Self::forget).
    pub fn add(&self, value: impl Into<String>) {
        if let Some(value) = values::fit(&value.into()) {
            self.change(|sources| {
                sources.entry(RUN_TIME.to_owned()).or_default().insert(value);
            });
        }
    }

    /// Drops all values of `source`.
    pub fn forget(&self, source: &str) {
        self.change(|sources| {
            sources.remove(source);
        });
    }

    /// `text` without its secrets; borrowed when there are none. Doing it twice changes nothing more.
    pub fn text<'a>(&self, text: &'a str, how: How) -> Cow<'a, str> {
        scrub(text, how, &self.finder())
    }

    /// Takes the secrets out of every string inside, also by the name of its field; keys stay as they are unless one
    /// holds a registered value.
    /// Returns how many places changed.
    pub fn value(&self, value: &mut Value, how: How) -> usize {
        walk(value, None, how, &self.finder())
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, BTreeSet<String>>)) {
        let mut registered = self.0.write().unwrap_or_else(PoisonError::into_inner);
        change(&mut registered.sources);
        registered.finder = None;
    }

    fn finder(&self) -> Arc<values::Finder> {
        if let Some(finder) = &self.0.read().unwrap_or_else(PoisonError::into_inner).finder {
            return finder.clone();
        }
        let mut registered = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Registered { sources, finder } = &mut *registered;
        finder.get_or_insert_with(|| Arc::new(values::Finder::new(sources.values().flatten()))).clone()
    }
}

fn walk(value: &mut Value, name: Option<names::Strength>, how: How, known: &values::Finder) -> usize {
    match value {
        Value::String(text) => {
            let by_name = name.and_then(|strength| pairs::field(text, strength));
            let new = match by_name {
                Some(span) => Cow::Owned(cut(text, &[span])),
                None => scrub(text, how, known),
            };
            // What a name hides may hold a second secret beside it, as after `Bearer`.
            let new = match new {
                Cow::Owned(new) => scrub(&new, how, known).into_owned(),
                Cow::Borrowed(_) => return 0,
            };
            *text = new;
            1
        }
        Value::Number(number) => {
            // A password of digits. A short number under such a name is rather a count.
            let secret = name == Some(names::Strength::Strong) && number.as_u64().is_some_and(|n| n >= 1000);
            if secret {
                *value = Value::String(MARK.to_owned());
            }
            usize::from(secret)
        }
        Value::Array(items) => items.iter_mut().map(|item| walk(item, name, how, known)).sum(),
        Value::Object(fields) => {
            // Lists of headers and of environment variables: {"name": "API_KEY", "value": "…"}.
            let named = ["name", "key"].iter().find_map(|k| fields.get(*k)?.as_str().and_then(names::strength));
            let mut changed = 0;
            // The tokens of a text, with what is known of each.
            let listed = fields.iter().any(|(key, value)| plain::is_of_lists(key, value.is_number()));
            for (key, field) in fields.iter_mut() {
                let strength = if key == "value" { named.or(names::strength(key)) } else { names::strength(key) };
                let strength = strength.filter(|s| !listed || *s != names::Strength::Weak);
                // Long hex in a field called a digest is one.
                let how = if hex::is_label(key) { How::Digests } else { how };
                changed += walk(field, strength, how, known);
            }
            changed += walk_names(fields, known);
            changed
        }
        Value::Null | Value::Bool(_) => 0,
    }
}

/// Names of fields are words of programs, and stay; but not where one holds a value that is known to be a secret.
fn walk_names(fields: &mut serde_json::Map<String, Value>, known: &values::Finder) -> usize {
    let holds = |name: &String| {
        let mut found = vec![];
        known.find(name, &mut found);
        !found.is_empty()
    };
    let secret: Vec<String> = fields.keys().filter(|name| holds(name)).cloned().collect();
    for name in &secret {
        let mut found = vec![];
        known.find(name, &mut found);
        let clean = cut(name, &tidy(name, found));
        if let Some(value) = fields.remove(name) {
            fields.insert(clean, value);
        }
    }
    secret.len()
}

/// Round after round until nothing is left: so the answer is the same when it is scrubbed again.
fn scrub<'a>(text: &'a str, how: How, known: &values::Finder) -> Cow<'a, str> {
    let mut now = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        let spans = find(&now, how, known);
        if spans.is_empty() {
            break;
        }
        now = Cow::Owned(cut(&now, &spans));
    }
    now
}

/// Every secret of a text: in order, apart from each other, on the bounds of characters.
fn find(text: &str, how: How, known: &values::Finder) -> Vec<Span> {
    let mut found = vec![];
    known.find(text, &mut found);
    by_form(text, &mut found);
    if how == How::All {
        hex::find(text.as_bytes(), &mut found);
    }
    if found.is_empty() { found } else { tidy(text, found) }
}

/// What begins at a word of interest, and how to judge it there.
#[derive(Clone, Copy)]
enum Anchor {
    Form(tokens::Form),
    Name,
}

/// The words that begin a secret or name one. An automaton over them sees, in one pass, where a closer look pays.
static ANCHORS: LazyLock<(Option<AhoCorasick>, Vec<Anchor>)> = LazyLock::new(|| {
    let forms = tokens::FORMS.iter().map(|(word, form)| (*word, Anchor::Form(*form)));
    let all: Vec<(&str, Anchor)> = forms.chain(names::WORDS.iter().map(|word| (*word, Anchor::Name))).collect();
    // The smallest kind that is fast enough: some ten KB, where a table of all transitions has hundreds.
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(all.iter().map(|(word, _)| word));
    (automaton.ok(), all.into_iter().map(|(_, anchor)| anchor).collect())
});

fn by_form(text: &str, found: &mut Vec<Span>) {
    let (Some(automaton), anchors) = &*ANCHORS else { return };
    let (bytes, mut last, mut name) = (text.as_bytes(), 0..0, 0);
    for hit in automaton.find_overlapping_iter(bytes) {
        // Inside what is already out there is nothing to find; without this a hostile text costs its square.
        if last.contains(&hit.start()) {
            continue;
        }
        let span = match anchors.get(hit.pattern().as_usize()) {
            Some(Anchor::Form(form)) => tokens::at(bytes, hit.span().range(), *form),
            Some(Anchor::Name) if hit.start() >= name => {
                let word = pairs::word(bytes, hit.start());
                name = word.end;
                pairs::at(text, word)
            }
            _ => None,
        };
        if let Some(span) = span {
            last = span.clone();
            found.push(span);
        }
    }
}

/// In order, overlapping and touching ones as one. A mark that is touched is taken whole, so that it stays one mark.
fn tidy(text: &str, mut found: Vec<Span>) -> Vec<Span> {
    found.extend(text.match_indices(MARK).map(|(at, mark)| at..at + mark.len()));
    found.sort_unstable_by_key(|span| (span.start, span.end));
    let mut spans: Vec<Span> = vec![];
    for span in found {
        let span = text.floor_char_boundary(span.start)..text.ceil_char_boundary(span.end);
        match spans.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => spans.push(span),
        }
    }
    spans.retain(|span| text.get(span.clone()) != Some(MARK));
    spans
}

fn cut(text: &str, spans: &[Span]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for span in spans {
        out += text.get(at..span.start).unwrap_or_default();
        out += MARK;
        at = span.end;
    }
    out + text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests;

/// Counts the bytes that are looked at, so that a test can hold the work to the length of the text.
#[cfg(not(test))]
fn work(_bytes: usize) {}

#[cfg(test)]
use tests::work;
