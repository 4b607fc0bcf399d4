//! One template: its parts, how it is read, how a sentence matches it, and the sentences it stands for.

use crate::{
    sentence::{Sentence, words_of},
    slots::{self, Kind, dated::dated},
};
use jiff::Zoned;
use serde_json::{Map, Value};

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// This word.
    Word(String),
    /// One of these, or nothing where it is optional.
    Choice { any: Vec<Vec<Node>>, optional: bool },
    /// Whatever the slot reads; the argument's name, none for `_`.
    Slot { name: Option<String>, kind: Kind },
    /// The text these parts span, as an argument.
    Capture { name: String, kind: Kind, parts: Vec<Node> },
}

/// Reads a template.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, String> {
    let mut reader = Reader { rest: text, depth: 0 };
    let nodes = reader.sequence()?;
    match reader.rest.chars().next() {
        None if nodes.is_empty() => Err("the template is empty".to_owned()),
        None => Ok(nodes),
        Some(c) => Err(format!("`{c}` has no beginning")),
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: u8,
}

impl Reader<'_> {
    /// Parts up to the end or up to a `|`, `)` or `]` that belongs to what encloses them.
    fn sequence(&mut self) -> Result<Vec<Node>, String> {
        let mut nodes = vec![];
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.chars().next() {
                None | Some('|' | ')' | ']') => return Ok(nodes),
                Some('(') => nodes.push(self.choice(')', false)?),
                Some('[') => nodes.push(self.choice(']', true)?),
                Some('{') => nodes.push(self.slot()?),
                Some('}') => return Err("`}` has no beginning".to_owned()),
                Some(_) => self.word(&mut nodes)?,
            }
        }
    }

    fn choice(&mut self, close: char, optional: bool) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > 8 {
            return Err("parts are nested deeper than 8".to_owned());
        }
        self.rest = &self.rest[1..];
        let mut any = vec![];
        loop {
            any.push(self.sequence()?);
            let next = self.rest.chars().next();
            self.rest = self.rest.get(1..).unwrap_or("");
            match next {
                Some('|') => {}
                Some(c) if c == close => break,
                _ => return Err(format!("a `{close}` is missing")),
            }
        }
        self.depth -= 1;
        if any.iter().any(Vec::is_empty) {
            return Err("an alternative is empty: use `[…]` for what may be left out".to_owned());
        }
        Ok(Node::Choice { any, optional })
    }

    fn slot(&mut self) -> Result<Node, String> {
        let (inner, rest) = self.rest[1..].split_once('}').ok_or("a `}` is missing")?;
        self.rest = rest;
        let (name, kind) = inner.split_once(':').unwrap_or((inner, "text"));
        let kind = Kind::named(kind).ok_or_else(|| format!("`{kind}` is no kind of slot"))?;
        match name {
            "_" => Ok(Node::Slot { name: None, kind }),
            name if is_name(name) => Ok(Node::Slot { name: Some(name.to_owned()), kind }),
            _ => Err(format!("`{name}` is no name for a slot")),
        }
    }

    /// A word, or `name=(…)` and `name:dated=(…)`, which capture.
    fn word(&mut self, nodes: &mut Vec<Node>) -> Result<(), String> {
        let end = self.rest.find(|c: char| c.is_whitespace() || "|()[]{}".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let Some(name) = word.strip_suffix('=').filter(|_| rest.starts_with('(')) else {
            let words = words_of(word);
            if words.iter().any(|w| w.contains(|c: char| ",.;:!?-\"".contains(c) && w.len() > 1 || c == '"')) {
                return Err(format!("`{word}` never matches: leave out punctuation and write two words for a hyphen"));
            }
            nodes.extend(words.into_iter().map(Node::Word));
            return Ok(());
        };
        let (name, kind) = name.split_once(':').unwrap_or((name, "text"));
        let kind = Kind::named(kind).filter(|k| k.is_open()).ok_or("a capture is `text` or `dated`")?;
        if !is_name(name) {
            return Err(format!("`{name}` is no name for a capture"));
        }
        let parts = vec![self.choice(')', false)?];
        nodes.push(Node::Capture { name: name.to_owned(), kind, parts });
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A sentence that a template fits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// How many of its words are the template's own or in a slot of a definite kind: the more, the surer.
    pub definite: usize,
    /// What the slots hold.
    pub arguments: Map<String, Value>,
}

/// What has been found on the way.
#[derive(Default)]
struct Found {
    definite: usize,
    values: Vec<(String, Held)>,
    steps: usize,
}

enum Held {
    Value(Value),
    Span(usize, usize, Kind),
}

/// A template that could be read in more ways than this fits nothing.
const MOST_STEPS: usize = 20_000;

/// Matches the whole sentence.
pub(crate) fn fit(nodes: &[Node], s: &Sentence, now: &Zoned) -> Option<Fit> {
    let mut found = Found::default();
    if !run(nodes, 0, s, now, &mut found, &mut |end, _| end == s.len()) {
        return None;
    }
    let arguments = found.values.into_iter().map(|(name, held)| match held {
        Held::Value(value) => (name, value),
        Held::Span(from, to, Kind::Dated) => (name, dated(s.slice(from, to), now).into()),
        Held::Span(from, to, _) => (name, s.slice(from, to).into()),
    });
    Some(Fit { definite: found.definite, arguments: arguments.collect() })
}

type Next<'a> = &'a mut dyn FnMut(usize, &mut Found) -> bool;

/// Matches `nodes` from `at`, then whatever `next` wants; takes back what it noted when that fails.
fn run(nodes: &[Node], at: usize, s: &Sentence, now: &Zoned, found: &mut Found, next: Next) -> bool {
    found.steps += 1;
    if found.steps > MOST_STEPS {
        return false;
    }
    let Some((first, rest)) = nodes.split_first() else { return next(at, found) };
    match first {
        Node::Word(word) => {
            s.word(at) == word && noting(found, 1, None, |found| run(rest, at + 1, s, now, found, next))
        }
        Node::Choice { any, optional } => {
            let fits = any
                .iter()
                .any(|branch| run(branch, at, s, now, found, &mut |end, found| run(rest, end, s, now, found, next)));
            fits || (*optional && run(rest, at, s, now, found, next))
        }
        Node::Capture { name, kind, parts } => run(parts, at, s, now, found, &mut |end, found| {
            let held = (name.clone(), Held::Span(at, end, *kind));
            noting(found, 0, Some(held), |found| run(rest, end, s, now, found, next))
        }),
        Node::Slot { name, kind } if kind.is_open() => (at + 1..=s.len()).any(|end| {
            let held = name.clone().map(|name| (name, Held::Span(at, end, *kind)));
            noting(found, 0, held, |found| run(rest, end, s, now, found, next))
        }),
        Node::Slot { name, kind } => slots::read(*kind, s, at, now).is_some_and(|(count, value)| {
            let held = name.clone().map(|name| (name, Held::Value(value)));
            noting(found, count, held, |found| run(rest, at + count, s, now, found, next))
        }),
    }
}

/// Notes definite words and a value, and takes them back when what follows does not fit.
fn noting(
    found: &mut Found,
    definite: usize,
    held: Option<(String, Held)>,
    follow: impl FnOnce(&mut Found) -> bool,
) -> bool {
    let before = (found.definite, found.values.len());
    found.definite += definite;
    found.values.extend(held);
    let fits = follow(found);
    if !fits {
        found.definite = before.0;
        found.values.truncate(before.1);
    }
    fits
}

/// The slots of a template, in their order, without those of an optional part.
pub(crate) fn slots_of(nodes: &[Node]) -> Vec<(Option<String>, Kind)> {
    let mut all = vec![];
    for node in nodes {
        match node {
            Node::Slot { name, kind } => all.push((name.clone(), *kind)),
            Node::Choice { any, optional: false } => all.extend(any.first().map(|b| slots_of(b)).unwrap_or_default()),
            Node::Capture { name, kind, .. } => all.push((Some(name.clone()), *kind)),
            Node::Choice { .. } | Node::Word(_) => {}
        }
    }
    all
}

/// Whether any words may stand somewhere in a sentence of the template.
pub(crate) fn has_open_slot(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Word(_) => false,
        Node::Slot { kind, .. } => kind.is_open(),
        Node::Choice { any, .. } => any.iter().any(|branch| has_open_slot(branch)),
        Node::Capture { parts, .. } => has_open_slot(parts),
    })
}

/// Up to `most` sentences the template stands for, slots masked: the plainest first, then varied, always the same.
pub(crate) fn examples(nodes: &[Node], most: usize) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    for round in 0..most * 8 {
        let (mut words, mut picks) = (vec![], Picks(round as u64));
        expand(nodes, &mut picks, &mut words);
        let sentence = words.join(" ");
        if !sentence.is_empty() && !all.contains(&sentence) {
            all.push(sentence);
        }
        if all.len() == most {
            break;
        }
    }
    all
}

/// Which alternative comes next: the first ones in round zero, afterwards scattered, without any randomness.
struct Picks(u64);

impl Picks {
    fn of(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(self.0 >> 32);
        (self.0 >> 40) as usize % count.max(1)
    }
}

fn expand(nodes: &[Node], picks: &mut Picks, words: &mut Vec<String>) {
    for node in nodes {
        match node {
            Node::Word(word) => words.push(word.clone()),
            Node::Slot { kind, .. } => words.push(kind.mask().to_owned()),
            Node::Capture { parts, .. } => expand(parts, picks, words),
            // People leave out more than they say.
            Node::Choice { optional: true, .. } if picks.of(3) != 2 => {}
            Node::Choice { any, .. } => {
                any.get(picks.of(any.len())).into_iter().for_each(|branch| expand(branch, picks, words));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(template: &str, text: &str) -> Option<Value> {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        fit(&parse(template).unwrap(), &Sentence::read(text), &now).map(|fit| Value::Object(fit.arguments))
    }

    #[test]
    fn templates_match_whole_sentences() {
        for (template, text, wanted) in [
            ("turn on {pin:pin}", "Turn on pin 17!", Some(json!({"pin": 17}))),
            ("turn on {pin:pin}", "turn on pin 17 tomorrow", None),
            ("turn on {pin:pin}", "don't turn on pin 17", None),
            ("turn on {pin:pin}", "turn on pin 28", None),
            ("set {pin:pin} [to] {high:onoff}", "set gpio4 low", Some(json!({"pin": 4, "high": false}))),
            (
                "(remember|note) [that] {content}",
                "note that Anna likes tea.",
                Some(json!({"content": "Anna likes tea"})),
            ),
            ("remember [that] {content}", "remember that", Some(json!({"content": "that"}))),
            ("remember {content}", "remember", None),
            ("{_} likes {what}", "my dear Anna likes tea", Some(json!({"what": "tea"}))),
            ("what's q=(my {_})", "what is my name?", Some(json!({"q": "my name"}))),
            (
                "note {content:dated}",
                "note paint dries tomorrow",
                Some(json!({"content": "paint dries tomorrow (2026-11-21)"})),
            ),
            (
                "how many {to:unit} in {value:number} {from:unit}",
                "how many grams in a pound?",
                Some(json!({"to": "grams", "value": 1, "from": "lb"})),
            ),
            ("save {content:quoted} [for me]", "save \"a b\" for me", Some(json!({"content": "a b"}))),
            ("wake me in {t:duration}", "wake me in half an hour", Some(json!({"t": "PT30M"}))),
        ] {
            assert_eq!(fits(template, text), wanted, "{template} / {text}");
        }
    }

    #[test]
    fn a_broken_template_is_named() {
        for (template, why) in [
            ("(a|b", "`)` is missing"),
            ("a)", "has no beginning"),
            ("a}", "has no beginning"),
            ("{pin:pni}", "`pni` is no kind"),
            ("{pin", "`}` is missing"),
            ("{two words}", "no name"),
            ("(a|)", "alternative is empty"),
            ("", "empty"),
            ("x:number=(a)", "a capture is"),
            ("hello, hob", "never matches"),
        ] {
            let error = parse(template).unwrap_err();
            assert!(error.contains(why), "{template}: {error}");
        }
    }

    #[test]
    fn examples_differ_and_repeat() {
        let nodes = parse("[please] (turn|switch) on {pin:pin} [now|at once]").unwrap();
        let all = examples(&nodes, 4);
        assert_eq!(all.len(), 4, "{all:?}");
        assert_eq!(all, examples(&nodes, 4));
        assert!(all.iter().all(|e| e.contains("on pin 7")), "{all:?}");
    }

    #[test]
    fn a_wicked_template_ends() {
        let nodes = parse("{_} a {_} a {_} a {_} a {_} b").unwrap();
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        assert_eq!(fit(&nodes, &Sentence::read(&"a ".repeat(300)), &now), None);
    }
}
