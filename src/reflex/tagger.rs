//! The tagger: where in a sentence the arguments of a tool are.
//!
//! A linear chain: each word is outside, or begins or continues the value of one of the tool's arguments, and the best chain
//! of such labels is found by dynamic programming (Viterbi). Arguments of a definite kind may only be where their reader reads
//! one; arguments of text are wherever the words around them say so. The weights are hashed and trained by `make head`
//! (`tagger/train.rs`, an averaged perceptron).

use crate::{
    hash::fingerprint,
    mask::Masked,
    sentence::Sentence,
    slots::{self, Kind, Read, dated::dated},
};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::collections::HashMap;

#[cfg(test)]
pub(crate) mod train;

/// Number of hashed weights.
pub(crate) const WEIGHTS: usize = 1 << 18;

/// An argument of a tool, as the tagger knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub name: &'static str,
    pub kinds: Vec<Kind>,
    /// Whether a call needs it.
    pub needed: bool,
}

/// A tool, as the tagger knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tool {
    pub arguments: Vec<Argument>,
    /// Hashes of the words its phrasings have outside of values, sorted.
    pub words: Vec<u16>,
}

/// The tagger, over weights in the binary.
#[derive(Default)]
pub(crate) struct Tagger {
    pub tools: HashMap<&'static str, Tool>,
    weights: &'static [u8],
}

/// A value in a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    /// Index of the argument.
    pub argument: usize,
    pub from: usize,
    pub to: usize,
}

/// The arguments found in a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tagged {
    pub arguments: Map<String, Value>,
    /// Further values of an argument of text, in order: "milk, eggs and bread".
    pub items: Vec<(String, Vec<String>)>,
    /// Whether each token is part of a value.
    pub covered: Vec<bool>,
    /// Tokens outside of values that no phrasing of the tool has there.
    pub strange: Vec<usize>,
    /// Whether an argument that a call needs was not found.
    pub lacks: Option<(&'static str, Kind)>,
}

/// A sentence to find arguments in.
pub(crate) struct Text<'a> {
    pub s: &'a Sentence,
    pub now: &'a Zoned,
    /// Features of each token that do not depend on the tool.
    features: Vec<Vec<u64>>,
    reads: HashMap<(Kind, usize), Vec<Read>>,
}

impl<'a> Text<'a> {
    pub fn new(s: &'a Sentence, masked: &Masked, now: &'a Zoned) -> Self {
        Self { s, now, features: features(s, masked), reads: HashMap::new() }
    }

    fn reads(&mut self, kind: Kind, at: usize) -> &[Read] {
        let (s, now) = (self.s, self.now);
        self.reads.entry((kind, at)).or_insert_with(|| slots::read(kind, s, at, now))
    }
}

/// The features of each token: the words around it, its form, and what reads there.
fn features(s: &Sentence, masked: &Masked) -> Vec<Vec<u64>> {
    let edge = "|";
    let word = |i: isize| usize::try_from(i).ok().and_then(|i| s.tokens.get(i)).map_or(edge, |t| t.word.as_str());
    let mut kinds: Vec<String> = vec![String::new(); s.len()];
    for span in &masked.spans {
        for (n, kind) in kinds.iter_mut().skip(span.at).take(span.count).enumerate() {
            *kind = format!("{:?}{}", span.kind, if n == 0 { "" } else { "+" });
        }
    }
    let kind = |i: isize| usize::try_from(i).ok().and_then(|i| kinds.get(i)).map_or(edge, String::as_str);
    let one = |i: isize| {
        let token = &s.tokens[i.unsigned_abs()];
        let capital = s.text.get(token.start..).is_some_and(|t| t.starts_with(char::is_uppercase));
        let form = [capital, token.after_break, token.opens, token.word.starts_with(|c: char| c.is_ascii_digit())];
        let form: String = form.iter().map(|f| if *f { '1' } else { '0' }).collect();
        let end: String = token.word.chars().rev().take(3).collect();
        let later = s.tokens.get(i.unsigned_abs() + 1).is_some_and(|t| t.after_break);
        let place = format!("{}{}", i.min(3), (s.len() as isize - i).min(3));
        vec![
            fingerprint(["w", word(i)]),
            fingerprint(["-1", word(i - 1)]),
            fingerprint(["+1", word(i + 1)]),
            fingerprint(["-2", word(i - 2)]),
            fingerprint(["+2", word(i + 2)]),
            fingerprint(["-1w", word(i - 1), word(i)]),
            fingerprint(["w+1", word(i), word(i + 1)]),
            fingerprint(["-2-1", word(i - 2), word(i - 1)]),
            fingerprint(["+1+2", word(i + 1), word(i + 2)]),
            fingerprint(["-1+1", word(i - 1), word(i + 1)]),
            fingerprint(["form", &form]),
            fingerprint(["later", if later { "1" } else { "0" }]),
            fingerprint(["end", &end]),
            fingerprint(["place", &place]),
            fingerprint(["k", kind(i)]),
            fingerprint(["-1k", kind(i - 1), word(i - 1)]),
            fingerprint(["+1k", kind(i + 1), word(i + 1)]),
            fingerprint(["first", word(0)]),
        ]
    };
    (0..s.len() as isize).map(one).collect()
}

/// Which of the features are also taken together with the tool: word, neighbours, pairs, form, place, kind.
const WITH_TOOL: &[usize] = &[0, 1, 2, 5, 6, 7, 10, 13, 14, 16];

/// A label: outside, or the beginning or continuation of an argument of this name.
fn label(name: Option<&str>, begins: bool) -> u64 {
    match name {
        None => fingerprint(["O"]),
        Some(name) => fingerprint([if begins { "B" } else { "I" }, name]),
    }
}

fn slot(feature: u64, label: u64) -> usize {
    let mixed = (feature ^ label.rotate_left(21)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize % WEIGHTS
}

/// The hash of a word outside of values.
pub(crate) fn word_hash(word: &str) -> u16 {
    (fingerprint([word]) >> 7) as u16
}

/// Weights by slot: those of the file, or those being trained.
pub(crate) trait Weights {
    fn at(&self, slot: usize) -> f32;
}

impl Weights for &'static [u8] {
    fn at(&self, slot: usize) -> f32 {
        self.get(slot).map_or(0.0, |w| f32::from(w.cast_signed()))
    }
}

/// A chain of labels under a tool: scores, and which weights they come from.
pub(crate) struct Chain<'t> {
    name: u64,
    tool: &'t Tool,
    /// For outside, then beginning and continuation of each argument.
    labels: Vec<u64>,
}

impl<'t> Chain<'t> {
    pub fn new(name: &str, tool: &'t Tool) -> Self {
        let each = tool.arguments.iter().flat_map(|a| [label(Some(a.name), true), label(Some(a.name), false)]);
        Self { name: fingerprint([name]), tool, labels: std::iter::once(label(None, false)).chain(each).collect() }
    }

    /// The weights of label `l` at a token.
    pub fn emission<'f>(&'f self, features: &'f [u64], l: usize) -> impl Iterator<Item = usize> + 'f {
        let label = self.labels[l];
        let with = WITH_TOOL.iter().filter_map(|i| features.get(*i)).map(|f| f.rotate_left(9) ^ self.name);
        features.iter().copied().chain(with).map(move |f| slot(f, label))
    }

    /// The weights of label `l` after `before`; `usize::MAX` is the beginning of the sentence.
    pub fn transition(&self, before: usize, l: usize) -> [usize; 2] {
        let before = self.labels.get(before).copied().unwrap_or(17).rotate_left(33);
        [slot(before, self.labels[l]), slot(before ^ self.name, self.labels[l])]
    }

    /// The labels of a segmentation.
    #[cfg(test)]
    pub fn labels_of(&self, segments: &[Segment], length: usize) -> Vec<usize> {
        let mut labels = vec![0; length];
        for segment in segments {
            for (n, l) in labels[segment.from..segment.to].iter_mut().enumerate() {
                *l = 1 + 2 * segment.argument + usize::from(n > 0);
            }
        }
        labels
    }

    /// The best segmentation of a text.
    pub fn decode(&self, text: &mut Text, weights: &impl Weights) -> Vec<Segment> {
        let (length, states) = (text.s.len(), self.tool.arguments.len() + 1);
        let sum = |slots: &mut dyn Iterator<Item = usize>| slots.map(|slot| weights.at(slot)).sum::<f32>();
        let emissions: Vec<Vec<f32>> = text
            .features
            .iter()
            .map(|f| (0..self.labels.len()).map(|l| sum(&mut self.emission(f, l))).collect())
            .collect();
        let transitions: Vec<Vec<f32>> = (0..=self.labels.len())
            .map(|b| (0..self.labels.len()).map(|l| sum(&mut self.transition(b, l).into_iter())).collect())
            .collect();
        // State 0 is outside, state k the value of argument k - 1; the last label of a state depends on its length.
        #[derive(Clone, Copy)]
        struct Cell {
            score: f32,
            label: usize,
            from: (usize, usize),
            /// Whether it continues a value of text.
            continues: bool,
        }
        let mut best: Vec<Vec<Option<Cell>>> = vec![vec![None; states]; length + 1];
        let start = self.labels.len();
        for at in 0..length {
            let here: Vec<(usize, usize, f32)> = match at {
                0 => vec![(0, start, 0.0)],
                _ => (0..states).filter_map(|k| best[at][k].map(|cell| (k, cell.label, cell.score))).collect(),
            };
            for (state, before, score) in here {
                let mut reach = |end: usize, state_to: usize, label: usize, continues: bool, score: f32| {
                    let cell = &mut best[end][state_to];
                    if cell.is_none_or(|cell| score > cell.score) {
                        *cell = Some(Cell { score, label, from: (at, state), continues });
                    }
                };
                reach(at + 1, 0, 0, false, score + transitions[before][0] + emissions[at][0]);
                for (k, argument) in self.tool.arguments.iter().enumerate() {
                    let (begin, inside) = (1 + 2 * k, 2 + 2 * k);
                    let begun = score + transitions[before][begin] + emissions[at][begin];
                    if argument.kinds.iter().any(|kind| kind.is_open()) {
                        reach(at + 1, k + 1, begin, false, begun);
                        if state == k + 1 {
                            let on = score + transitions[before][inside] + emissions[at][inside];
                            reach(at + 1, k + 1, inside, true, on);
                        }
                    }
                    let mut ends: Vec<usize> = vec![];
                    for kind in argument.kinds.iter().filter(|kind| !kind.is_open()) {
                        ends.extend(text.reads(*kind, at).iter().map(|read| at + read.count));
                    }
                    ends.sort_unstable();
                    ends.dedup();
                    for end in ends.into_iter().filter(|end| (at + 1..=length).contains(end)) {
                        let mut on = begun;
                        for (i, emission) in emissions.iter().enumerate().take(end).skip(at + 1) {
                            on += emission[inside] + transitions[if i == at + 1 { begin } else { inside }][inside];
                        }
                        reach(end, k + 1, if end == at + 1 { begin } else { inside }, false, on);
                    }
                }
            }
        }
        let mut segments: Vec<Segment> = vec![];
        let last =
            (0..states).filter_map(|k| Some((k, best[length][k]?))).max_by(|a, b| a.1.score.total_cmp(&b.1.score));
        let Some((mut state, mut cell)) = last else { return segments };
        let (mut end, mut value_end) = (length, None);
        loop {
            let (from, before) = cell.from;
            if cell.continues {
                value_end = value_end.or(Some(end));
            } else if state > 0 {
                segments.push(Segment { argument: state - 1, from, to: value_end.take().unwrap_or(end) });
            }
            (end, state) = (from, before);
            match best[end][state] {
                Some(before) if end > 0 => cell = before,
                _ => break,
            }
        }
        segments.reverse();
        segments
    }
}

impl Tagger {
    /// Reads the weights in place; `None` if they are not valid.
    pub fn read(file: &'static [u8]) -> Option<Self> {
        let mut rest = file;
        let mut take = |count: usize| {
            let (taken, more) = rest.split_at_checked(count)?;
            rest = more;
            Some(taken)
        };
        fn number(take: &mut dyn FnMut(usize) -> Option<&'static [u8]>) -> Option<usize> {
            Some(usize::from(u16::from_le_bytes(take(2)?.try_into().ok()?)))
        }
        fn text(take: &mut dyn FnMut(usize) -> Option<&'static [u8]>) -> Option<&'static str> {
            let length = number(take)?;
            std::str::from_utf8(take(length)?).ok()
        }
        let mut tools = HashMap::new();
        for _ in 0..number(&mut take)? {
            let name = text(&mut take)?;
            let mut tool = Tool::default();
            for _ in 0..number(&mut take)? {
                let name = text(&mut take)?;
                let needed = number(&mut take)? == 1;
                let kinds = text(&mut take)?.split(' ').map(Kind::named).collect::<Option<Vec<_>>>()?;
                tool.arguments.push(Argument { name, kinds, needed });
            }
            for _ in 0..number(&mut take)? {
                tool.words.push(u16::from_le_bytes(take(2)?.try_into().ok()?));
            }
            tools.insert(name, tool);
        }
        let weights = take(WEIGHTS)?;
        rest.is_empty().then_some(Self { tools, weights })
    }

    /// The arguments of a tool in a sentence; `fixed` are those its intent implies. `None` if it does not know the tool.
    pub fn tag(&self, name: &str, fixed: &Map<String, Value>, text: &mut Text) -> Option<Tagged> {
        let tool = self.tools.get(name)?;
        let segments = Chain::new(name, tool).decode(text, &self.weights);
        Some(tool.filled(&segments, fixed, text))
    }
}

impl Tool {
    /// The values of segments.
    fn filled(&self, segments: &[Segment], fixed: &Map<String, Value>, text: &mut Text) -> Tagged {
        let mut tagged = Tagged { covered: vec![false; text.s.len()], ..Tagged::default() };
        let mut beside = vec![];
        let mut last: HashMap<usize, usize> = HashMap::new();
        for segment in segments {
            let Some(argument) = self.arguments.get(segment.argument) else { continue };
            let wakes = ["name", "taskId"].iter().any(|key| fixed.get(*key).is_some_and(|value| value == "Alarm"));
            let Some((value, more)) = value(argument, *segment, wakes, text) else { continue };
            if let Some(first) = tagged.arguments.get(argument.name) {
                // A second value of a definite kind is a word too many; of text, it is a further item.
                let (Some(first), Value::String(value)) = (first.as_str(), &value) else { continue };
                let open = argument.kinds.iter().all(|kind| kind.is_open() || *kind == Kind::Quoted);
                if !open || !last.get(&segment.argument).is_some_and(|end| enumerates(text.s, *end, segment.from)) {
                    continue;
                }
                match tagged.items.iter_mut().find(|(name, _)| name == argument.name) {
                    Some((_, all)) => all.push(value.clone()),
                    None => {
                        let all = vec![first.to_owned(), value.clone()];
                        tagged.items.push((argument.name.to_owned(), all));
                    }
                }
            } else if !value.is_null() {
                tagged.arguments.insert(argument.name.to_owned(), value);
            }
            tagged.covered[segment.from..segment.to].fill(true);
            last.insert(segment.argument, segment.to);
            beside.extend(more);
        }
        for (name, value) in beside {
            tagged.arguments.entry(name).or_insert(value);
        }
        let lacks = |a: &&Argument| a.needed && !tagged.arguments.contains_key(a.name) && !fixed.contains_key(a.name);
        tagged.lacks =
            self.arguments.iter().find(lacks).map(|a| (a.name, a.kinds.first().copied().unwrap_or(Kind::Text)));
        let strange = |i: &usize| !tagged.covered[*i] && !self.words.contains(&word_hash(text.s.word(*i)));
        tagged.strange = (0..text.s.len()).filter(strange).collect();
        tagged
    }
}

/// A value that names an existing thing, without its article: "the bins" are looked for as "bins".
fn named(argument: &str, words: &str) -> String {
    const ARTICLES: &[&str] = &["the", "my", "our", "a", "an", "some", "any"];
    // "the party is from 6 to 8": the title ends before "is".
    let mut words = words;
    while let Some(rest) = [" is", " are", " for", " on", " at"].iter().find_map(|end| words.strip_suffix(end)) {
        words = if argument == "title" { rest } else { break };
    }
    let names = argument.ends_with("Id") || ["search", "timer", "list", "id"].contains(&argument);
    match words.split_once(' ').filter(|(first, _)| names && ARTICLES.contains(&first.to_lowercase().as_str())) {
        Some((_, rest)) => rest.trim_start().to_owned(),
        None => words.to_owned(),
    }
}

/// Whether only "and", a comma or an article is between two values: "milk, some eggs and a loaf".
fn enumerates(s: &Sentence, from: usize, to: usize) -> bool {
    const JOINS: &[&str] = &["and", "plus", "also", "then"];
    const SMALL: &[&str] = &["some", "a", "an", "the", "as", "well", "to", "of"];
    let comma = (from..=to).any(|at| s.tokens.get(at).is_some_and(|token| token.after_break));
    let joins = (from..to).any(|at| JOINS.contains(&s.word(at)));
    (comma || joins) && (from..to).all(|at| JOINS.contains(&s.word(at)) || SMALL.contains(&s.word(at)))
}

/// The value of a segment, and an argument derived from it.
fn value(
    argument: &Argument,
    segment: Segment,
    wakes: bool,
    text: &mut Text,
) -> Option<(Value, Option<(String, Value)>)> {
    let Segment { from, to, .. } = segment;
    // Whoever is woken at seven is woken in the morning.
    let first = (wakes && argument.name == "schedule").then_some(Kind::Wake);
    // A time alone leaves the day of what is moved as it is.
    let alone = argument.kinds.contains(&Kind::Time).then_some(Kind::Time);
    for kind in first.iter().chain(&alone).chain(&argument.kinds).filter(|kind| !kind.is_open()) {
        let Some(read) = text.reads(*kind, from).iter().find(|read| from + read.count == to).cloned() else { continue };
        let (value, more) = slots::named_value(argument.name, &read, text.s, from);
        return Some((value, more.map(|(name, value)| (name.to_owned(), value))));
    }
    let kind = argument.kinds.iter().find(|kind| kind.is_open())?;
    let words = text.s.slice(from, to).trim_end_matches([':', '!']);
    let words = if *kind == Kind::Dated { dated(words, text.now) } else { named(argument.name, words) };
    (!words.is_empty()).then(|| (words.into(), None))
}
