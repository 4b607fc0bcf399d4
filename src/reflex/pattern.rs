//! Templates: parsing, exact matching, and enumeration.

use crate::{
    sentence::{Sentence, words_of},
    slots::{self, Kind, Read, dated::dated},
};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// A node of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A literal word.
    Word(String),
    /// One of these alternatives, or nothing if optional.
    Choice { any: Vec<Vec<Node>>, optional: bool },
    /// A slot with its argument name, none for `_`.
    Slot { name: Option<String>, kind: Kind },
    /// The text these nodes span, as an argument.
    Capture { name: String, kind: Kind, parts: Vec<Node> },
}

/// Parses a template.
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
    /// Nodes up to the end or an enclosing `|`, `)` or `]`.
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

/// A match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fit {
    /// Number of words that are literal or in a slot of a definite kind: more is more reliable.
    pub definite: usize,
    /// The slot values.
    pub arguments: Map<String, Value>,
}

/// The content of a slot or capture.
#[derive(Clone)]
enum Held {
    Value(Value),
    Span(usize, usize, Kind),
}

/// A value bound to an argument.
#[derive(Clone)]
struct BoundValue {
    name: String,
    held: Held,
    /// Whether it was derived from another value; explicit values take precedence.
    beside: bool,
}

/// Maximum number of matching steps per template.
const MOST_STEPS: usize = 20_000;
/// Maximum number of matching steps for all templates together.
const MOST_STEPS_OF_ALL: usize = 1_000_000;

/// Matches a sentence against templates; slot readings are cached across them.
pub(crate) struct Matcher<'a> {
    s: &'a Sentence,
    now: &'a Zoned,
    words: HashSet<&'a str>,
    reads: HashMap<(Kind, usize), Rc<[Read]>>,
    /// Remaining steps, for all templates and for this one.
    left: usize,
    steps: usize,
    definite: usize,
    noted: Vec<BoundValue>,
    best: Option<(usize, Vec<BoundValue>)>,
}

type Next<'n, 'a> = &'n mut dyn FnMut(&mut Matcher<'a>, usize);

impl<'a> Matcher<'a> {
    pub fn new(s: &'a Sentence, now: &'a Zoned) -> Self {
        Self {
            s,
            now,
            words: s.tokens.iter().map(|t| t.word.as_str()).collect(),
            reads: HashMap::new(),
            left: MOST_STEPS_OF_ALL,
            steps: 0,
            definite: 0,
            noted: vec![],
            best: None,
        }
    }

    /// The match of the whole sentence with the most definite words, the first of equals; `None` if it does not
    /// match.
    pub fn fit(&mut self, nodes: &[Node]) -> Option<Fit> {
        if !self.has_words_of(nodes) {
            return None;
        }
        (self.steps, self.definite, self.best) = (MOST_STEPS.min(self.left), 0, None);
        let given = self.steps;
        self.noted.clear();
        self.run(nodes, 0, &mut |m, end| {
            let better = m.best.as_ref().is_none_or(|(definite, _)| m.definite > *definite);
            if end == m.s.len() && better {
                m.best = Some((m.definite, m.noted.clone()));
            }
        });
        self.left -= given - self.steps;
        let (definite, noted) = self.best.take()?;
        Some(Fit { definite, arguments: self.arguments(noted) })
    }

    /// Whether the sentence has the words every match of the template needs.
    fn has_words_of(&self, nodes: &[Node]) -> bool {
        nodes.iter().all(|node| match node {
            Node::Word(word) => self.words.contains(word.as_str()),
            Node::Capture { parts, .. } => self.has_words_of(parts),
            Node::Choice { any, optional } => *optional || any.iter().any(|branch| self.has_words_of(branch)),
            Node::Slot { .. } => true,
        })
    }

    fn arguments(&self, noted: Vec<BoundValue>) -> Map<String, Value> {
        let (beside, said): (Vec<_>, Vec<_>) = noted.into_iter().partition(|n| n.beside);
        let mut arguments = Map::new();
        for BoundValue { name, held, .. } in said {
            let value = match held {
                Held::Value(value) => value,
                Held::Span(from, to, Kind::Dated) => dated(self.s.slice(from, to), self.now).into(),
                Held::Span(from, to, _) => self.s.slice(from, to).into(),
            };
            if !value.is_null() {
                arguments.insert(name, value);
            }
        }
        for BoundValue { name, held, .. } in beside {
            if let Held::Value(value) = held {
                arguments.entry(name).or_insert(value);
            }
        }
        arguments
    }

    fn read(&mut self, kind: Kind, at: usize) -> Rc<[Read]> {
        let (s, now) = (self.s, self.now);
        self.reads.entry((kind, at)).or_insert_with(|| slots::read(kind, s, at, now).into()).clone()
    }

    /// Matches `nodes` from `at` in every way, each continued by `next`, and undoes its bindings.
    fn run(&mut self, nodes: &[Node], at: usize, next: Next<'_, 'a>) {
        if self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let Some((first, rest)) = nodes.split_first() else { return next(self, at) };
        match first {
            Node::Word(word) => {
                if self.s.word(at) == word {
                    self.noting(1, vec![], |m| m.run(rest, at + 1, next));
                }
            }
            Node::Choice { any, optional } => {
                for branch in any {
                    self.run(branch, at, &mut |m, end| m.run(rest, end, next));
                }
                if *optional {
                    self.run(rest, at, next);
                }
            }
            Node::Capture { name, kind, parts } => self.run(parts, at, &mut |m, end| {
                let held = Held::Span(at, end, *kind);
                m.noting(0, vec![BoundValue { name: name.clone(), held, beside: false }], |m| m.run(rest, end, next));
            }),
            Node::Slot { name, kind } if kind.is_open() => {
                for end in at + 1..=self.s.len() {
                    let held = Held::Span(at, end, *kind);
                    let noted =
                        name.iter().map(|name| BoundValue { name: name.clone(), held: held.clone(), beside: false });
                    self.noting(0, noted.collect(), |m| m.run(rest, end, next));
                }
            }
            Node::Slot { name, kind } => {
                for read in self.read(*kind, at).iter() {
                    let noted = name.as_ref().map(|name| arguments_of(name, read, self.s, at));
                    self.noting(read.definite, noted.unwrap_or_default(), |m| m.run(rest, at + read.count, next));
                }
            }
        }
    }

    /// Adds definite words and values for the continuation, and removes them afterwards.
    fn noting(&mut self, definite: usize, noted: Vec<BoundValue>, follow: impl FnOnce(&mut Self)) {
        let before = (self.definite, self.noted.len());
        self.definite += definite;
        self.noted.extend(noted);
        follow(self);
        self.definite = before.0;
        self.noted.truncate(before.1);
    }
}

/// Matches the whole sentence with one template.
#[cfg(test)]
pub(crate) fn fit(nodes: &[Node], s: &Sentence, now: &Zoned) -> Option<Fit> {
    Matcher::new(s, now).fit(nodes)
}

/// The arguments a slot yields: its own, and one derived from it.
fn arguments_of(name: &str, read: &Read, s: &Sentence, at: usize) -> Vec<BoundValue> {
    let (value, beside) = slots::named_value(name, read, s, at);
    let noted = |name: &str, value, beside| BoundValue { name: name.to_owned(), held: Held::Value(value), beside };
    let beside = beside.map(|(name, value)| noted(name, value, true));
    std::iter::once(noted(name, value, false)).chain(beside).collect()
}

/// The slots of a template in order, without those of optional parts.
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

/// Whether the template has a slot for arbitrary text.
#[cfg(test)]
pub(crate) fn has_open_slot(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Word(_) => false,
        Node::Slot { kind, .. } => kind.is_open(),
        Node::Choice { any, .. } => any.iter().any(|branch| has_open_slot(branch)),
        Node::Capture { parts, .. } => has_open_slot(parts),
    })
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
    fn a_wicked_template_ends() {
        let nodes = parse("{_} a {_} a {_} a {_} a {_} b").unwrap();
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        assert_eq!(fit(&nodes, &Sentence::read(&"a ".repeat(300)), &now), None);
    }
}
