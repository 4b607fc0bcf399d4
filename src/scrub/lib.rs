//! Remove secrets from text: known values, known token formats, and values after the name of a secret.
//!
//! Three detectors inspect a text; every match is replaced by [`MARK`]:
//!
//! 1. **Known values** ([`Scrubber::set`], [`Scrubber::add`]), anywhere, also in base64, hex, percent encoding or
//!    escaped for JSON and HTML. Values under 8 characters match as whole words only, values under 4 never.
//! 2. **Token formats**: tokens with a vendor prefix (OpenAI, Anthropic, GitHub, AWS, Slack, …), JWTs, private keys,
//!    bot tokens, webhooks, the password in `scheme://user:password@host`, credentials after `Bearer` or `Basic`, and
//!    hex of 64 digits or more that is not labelled as a digest (`sha256:…`).
//! 3. **Names of secrets**: `password`, `api_key`, `client_secret` and similar names ([`is_secret_name`]) followed by
//!    `:` or `=`. The value matches in quotes, in a query string, in an `.env` line or after `=`; after `:` if it
//!    looks random or is a single word at the end (`password: letmein`). Explanations (`password: required`), types,
//!    keywords and function calls do not match.
//!
//! Not detected on purpose, because ordinary text looks the same: a secret without a format and a name, a word
//! followed by more of a sentence (`password: see the manual`), a secret that only prose describes ("the code is
//! 4711"), placeholders (`<token>`, `$TOKEN`, `YOUR_KEY`), paths, references (`config.password`), cookies and signed
//! URLs. Register such values with [`Scrubber::set`].
//!
//! A text without secrets costs one pass of a small automaton and no allocation.

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

/// The replacement of a secret.
pub const MARK: &str = "[REDACTED]";

/// The source of values that [`Scrubber::add`] registers.
const RUNTIME: &str = "run-time";

/// The maximum number of passes. Removing a secret can expose another one beside it.
const MAX_PASSES: usize = 16;

/// The byte range of a secret in a text.
type Span = Range<usize>;

/// The set of detectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// All detectors.
    All,
    /// All but long hex: the text comes from a tool that returns digests.
    Digests,
}

/// Removes secrets from tool output. Clones share their registered values.
#[derive(Clone, Default)]
pub struct Scrubber(Arc<RwLock<Registered>>);

#[derive(Default)]
struct Registered {
    sources: BTreeMap<String, BTreeSet<String>>,
    /// The compiled finder; reset by a change and rebuilt for the next text.
    finder: Option<Arc<values::Finder>>,
}

impl Scrubber {
    /// Replace all values of `source`, such as `"config-center"`. Surrounding white space is not part of a value.
    pub fn set(&self, source: &str, values: impl IntoIterator<Item = String>) {
        let values: BTreeSet<String> = values.into_iter().filter_map(|v| values::normalize(&v)).collect();
        self.change(|sources| {
            sources.insert(source.to_owned(), values);
        });
    }

    /// Register one value under the source `"run-time"`. It stays until [`forget`](Self::forget).
    pub fn add(&self, value: impl Into<String>) {
        if let Some(value) = values::normalize(&value.into()) {
            self.change(|sources| {
                sources.entry(RUNTIME.to_owned()).or_default().insert(value);
            });
        }
    }

    /// Remove all values of `source`.
    pub fn forget(&self, source: &str) {
        self.change(|sources| {
            sources.remove(source);
        });
    }

    /// The text without its secrets; borrowed when there are none. Idempotent.
    pub fn text<'a>(&self, text: &'a str, how: How) -> Cow<'a, str> {
        scrub(text, how, &self.finder())
    }

    /// The ranges of the secrets in a text: sorted, disjoint, on character boundaries.
    pub fn spans(&self, text: &str, how: How) -> Vec<Range<usize>> {
        find(text, how, &self.finder())
    }

    /// Remove secrets from every string in a JSON value, also by field name. Keys stay unless they contain a
    /// registered value. Returns the number of changes.
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
                Some(span) => Cow::Owned(replace_spans(text, &[span])),
                None => scrub(text, how, known),
            };
            // A named value may contain a second secret, as after `Bearer`.
            let new = match new {
                Cow::Owned(new) => scrub(&new, how, known).into_owned(),
                Cow::Borrowed(_) => return 0,
            };
            *text = new;
            1
        }
        Value::Number(number) => {
            // A numeric password. A short number under such a name is more likely a count.
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
            // The tokens of a parsed text with their attributes.
            let listed = fields.iter().any(|(key, value)| plain::is_of_lists(key, value.is_number()));
            for (key, field) in fields.iter_mut() {
                let strength = if key == "value" { named.or(names::strength(key)) } else { names::strength(key) };
                let strength = strength.filter(|s| !listed || *s != names::Strength::Weak);
                // Long hex in a field named like a digest is a digest.
                let how = if hex::is_label(key) { How::Digests } else { how };
                changed += walk(field, strength, how, known);
            }
            changed += walk_names(fields, known);
            changed
        }
        Value::Null | Value::Bool(_) => 0,
    }
}

/// Keys are identifiers and stay, unless one contains a registered secret.
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
        let clean = replace_spans(name, &merge_spans(name, found));
        if let Some(value) = fields.remove(name) {
            fields.insert(clean, value);
        }
    }
    secret.len()
}

/// Repeat until nothing changes, so that scrubbing is idempotent.
fn scrub<'a>(text: &'a str, how: How, known: &values::Finder) -> Cow<'a, str> {
    let mut now = Cow::Borrowed(text);
    for _ in 0..MAX_PASSES {
        let spans = find(&now, how, known);
        if spans.is_empty() {
            break;
        }
        now = Cow::Owned(replace_spans(&now, &spans));
    }
    now
}

/// Every secret in a text: sorted, disjoint, on character boundaries.
fn find(text: &str, how: How, known: &values::Finder) -> Vec<Span> {
    let mut found = vec![];
    known.find(text, &mut found);
    by_form(text, &mut found);
    if how == How::All {
        hex::find(text.as_bytes(), &mut found);
    }
    if found.is_empty() { found } else { merge_spans(text, found) }
}

/// A kind of anchor word and its detector.
#[derive(Clone, Copy)]
enum Anchor {
    Form(tokens::Form),
    Name,
}

/// The words that begin a secret or name one. One automaton pass over a text finds the places to inspect.
static ANCHORS: LazyLock<(Option<AhoCorasick>, Vec<Anchor>)> = LazyLock::new(|| {
    let forms = tokens::FORMS.iter().map(|(word, form)| (*word, Anchor::Form(*form)));
    let all: Vec<(&str, Anchor)> = forms.chain(names::WORDS.iter().map(|word| (*word, Anchor::Name))).collect();
    // The smallest kind that is fast enough: tens of KB instead of hundreds for a full transition table.
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
        // Skip hits inside removed spans; otherwise hostile text costs quadratic time.
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

/// Sort spans and merge overlapping or adjacent ones. A touched mark is taken whole, so that it stays one mark.
fn merge_spans(text: &str, mut found: Vec<Span>) -> Vec<Span> {
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

fn replace_spans(text: &str, spans: &[Span]) -> String {
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

/// Counts inspected bytes, so that a test can bound the work by the length of the text.
#[cfg(not(test))]
fn count_work(_bytes: usize) {}

#[cfg(test)]
use tests::count_work;
