//! Approximate matching: words may be missing or extra, and slots are filled with what is there.
//!
//! Each template is a small graph of words and slots. The cheapest alignment of sentence and graph, where each
//! unmatched word has a cost, yields the slot values and the quality of the match.

use crate::{
    mask::Masked,
    pattern::Node,
    phrases::Intent,
    sentence::Sentence,
    slots::{self, Kind, Read, dated::dated},
};
use jiff::Zoned;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The best alignment of a sentence with an intent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Guess {
    pub arguments: Map<String, Value>,
    /// Index of the template.
    pub template: usize,
    /// Score; higher is better.
    pub worth: f32,
    /// From 0 to 1: the weighted share of sentence and template that is matched.
    pub covers: f32,
    /// Whether a word was skipped that no template of the intent has: it may be about something else.
    pub strange: bool,
    /// Whether a skipped word changes the meaning, such as a negation, or is a date, an amount or a pin.
    pub turned: bool,
}

/// Words with little meaning of their own.
const SMALL: &[&str] = &[
    "a", "an", "the", "some", "any", "my", "our", "your", "me", "us", "i", "we", "you", "it", "to", "of", "for", "on",
    "in", "at", "by", "with", "and", "that", "this", "is", "are", "am", "be", "was", "do", "does", "did", "have",
    "has", "had", "can", "could", "would", "will", "shall", "please", "just", "also", "there", "so", "up", "down",
    "out", "from", "into", "onto", "as", "about", "again", "now", "then", "too", "maybe", "hey", "like", "want",
    "need", "let", "got", "get", "go", "more", "still", "one", "thing", "things", "right", "okay", "think", "guess",
    "suppose", "hope", "actually", "really", "what", "which", "who",
];

/// Words that rarely occur in content.
const SUBJECTS: &[&str] = &["i", "we", "you", "please", "could", "would", "can", "think", "need", "want", "should"];

/// Words that change the meaning of a sentence.
const TURNS: &[&str] = &[
    "not", "never", "without", "except", "if", "unless", "until", "when", "whenever", "while", "after", "before",
    "every", "each", "should", "must", "remind", "schedule", "timer", "alarm", "stop", "instead", "because", "no",
    "nothing", "later",
];

/// The weight of a word.
fn weight(word: &str) -> f32 {
    if SMALL.contains(&word) { 0.25 } else { 1.0 }
}

/// Minimum score of an alignment.
const LEAST: f32 = -4.0;

/// Cost of an empty slot.
const LACKING: f32 = -1.5;

/// An edge of the graph.
enum Step<'n> {
    Free,
    Word(&'n str),
    Slot(Option<&'n str>, Kind),
    Open(Option<&'n str>, Kind),
    Begin,
    End(&'n str, Kind),
}

/// A template as a graph of states with edges to later states.
#[derive(Default)]
struct Net<'n> {
    ways: Vec<Vec<(usize, Step<'n>)>>,
}

impl<'n> Net<'n> {
    fn of(nodes: &'n [Node]) -> Self {
        let mut net = Self::default();
        let start = net.state();
        net.sequence(start, nodes);
        net
    }

    fn state(&mut self) -> usize {
        self.ways.push(vec![]);
        self.ways.len() - 1
    }

    /// Appends nodes after a state and returns the state behind them. Edges lead to higher numbers only.
    fn sequence(&mut self, mut at: usize, nodes: &'n [Node]) -> usize {
        for node in nodes {
            at = match node {
                Node::Word(word) => self.way(at, Step::Word(word)),
                Node::Slot { name, kind } if kind.is_open() => self.way(at, Step::Open(name.as_deref(), *kind)),
                Node::Slot { name, kind } => self.way(at, Step::Slot(name.as_deref(), *kind)),
                Node::Capture { name, kind, parts } => {
                    let begun = self.way(at, Step::Begin);
                    let end = self.sequence(begun, parts);
                    self.way(end, Step::End(name, *kind))
                }
                Node::Choice { any, optional } => {
                    let ends: Vec<usize> = any.iter().map(|branch| self.sequence(at, branch)).collect();
                    let join = self.state();
                    let from = ends.into_iter().chain(optional.then_some(at));
                    from.for_each(|end| self.ways[end].push((join, Step::Free)));
                    join
                }
            };
        }
        at
    }

    fn way(&mut self, at: usize, step: Step<'n>) -> usize {
        let to = self.state();
        self.ways[at].push((to, step));
        to
    }
}

/// A capture during backtracking, and its tokens.
struct Capture<'n> {
    name: &'n str,
    kind: Kind,
    from: usize,
    to: usize,
}

impl Capture<'_> {
    fn span(&mut self, from: usize, to: usize) {
        (self.from, self.to) = (self.from.min(from), self.to.max(to));
    }
}

/// The best way to reach a cell.
#[derive(Clone, Copy)]
struct Reached {
    worth: f32,
    from: (usize, usize),
    /// The edge taken; none for a skipped word of the sentence.
    way: Option<usize>,
    /// Whether the edge's word was skipped.
    passed: bool,
}

/// A sentence to align.
pub(crate) struct Reader<'a> {
    s: &'a Sentence,
    now: &'a Zoned,
    /// Cost of skipping each token.
    costs: Vec<f32>,
    /// Whether skipping the token counts as a change of meaning.
    strong: Vec<bool>,
    reads: HashMap<(Kind, usize), Vec<Read>>,
    /// Words of the candidate intents.
    known: HashSet<String>,
}

impl<'a> Reader<'a> {
    pub fn new(s: &'a Sentence, masked: &Masked, now: &'a Zoned) -> Self {
        let mut costs: Vec<f32> = s.tokens.iter().map(|t| weight(&t.word)).collect();
        let mut strong: Vec<bool> = s.tokens.iter().map(|t| TURNS.contains(&t.word.as_str())).collect();
        for span in masked.spans.iter().filter(|span| !matches!(span.kind, Kind::Number | Kind::Person)) {
            for i in span.at..span.at + span.count {
                costs[i] = 1.0;
                strong[i] = true;
            }
        }
        Self { s, now, costs, strong, reads: HashMap::new(), known: HashSet::new() }
    }

    /// The best alignment among the intents, with the intent's index.
    pub fn best(&mut self, intents: &[Intent], of: &[usize]) -> Option<(usize, Guess)> {
        let mut best: Option<(usize, Guess)> = None;
        self.known.clear();
        let templates = of.iter().filter_map(|i| intents.get(*i)).flat_map(|intent| &intent.templates);
        templates.for_each(|template| words(&template.nodes, &mut self.known));
        for i in of {
            for (t, template) in intents.get(*i)?.templates.iter().enumerate() {
                let Some(guess) = self.read(&template.nodes, t) else { continue };
                if best.as_ref().is_none_or(|(_, b)| guess.worth > b.worth) {
                    best = Some((*i, guess));
                }
            }
        }
        best
    }

    /// The best alignment with one template.
    fn read(&mut self, nodes: &[Node], template: usize) -> Option<Guess> {
        let net = Net::of(nodes);
        let (states, places) = (net.ways.len(), self.s.len() + 1);
        let mut reached: Vec<Option<Reached>> = vec![None; states * places];
        let start = Reached { worth: 0.0, from: (0, 0), way: None, passed: false };
        reached[0] = Some(start);
        for at in 0..places {
            for state in 0..states {
                let Some(here) = reached[at * states + state] else { continue };
                let mut reach = |to: usize, end: usize, worth: f32, way: Option<usize>, passed: bool| {
                    let place = &mut reached[end * states + to];
                    let worth = here.worth + worth;
                    if worth > LEAST && place.is_none_or(|best| worth > best.worth) {
                        *place = Some(Reached { worth, from: (state, at), way, passed });
                    }
                };
                if at < self.s.len() {
                    let strong = if self.strong[at] { 1.5 } else { 1.0 };
                    reach(state, at + 1, -self.costs[at] * strong, None, false);
                }
                for (way, (to, step)) in net.ways[state].iter().enumerate() {
                    match step {
                        Step::Free | Step::Begin | Step::End(..) => reach(*to, at, 0.0, Some(way), false),
                        Step::Word(word) => {
                            if self.s.word(at) == *word {
                                reach(*to, at + 1, weight(word), Some(way), false);
                            }
                            reach(*to, at, -0.7 * weight(word), Some(way), true);
                        }
                        Step::Open(..) => {
                            // Words of a definite kind fit that kind better than text.
                            let mut cost = 0.3;
                            for end in at + 1..places {
                                let said_of = SUBJECTS.contains(&self.s.word(end - 1));
                                cost -= 0.05 + if self.strong[end - 1] || said_of { 0.35 } else { 0.0 };
                                reach(*to, end, cost, Some(way), false);
                            }
                        }
                        Step::Slot(_, kind) => {
                            reach(*to, at, LACKING, Some(way), true);
                            for read in reads(&mut self.reads, *kind, self.s, at, self.now) {
                                let worth = 1.0 + 0.5 * read.definite as f32;
                                reach(*to, at + read.count, worth, Some(way), false);
                            }
                        }
                    }
                }
            }
        }
        let end = reached[self.s.len() * states + states - 1]?;
        self.guess(&net, &reached, end, template)
    }

    /// Backtracks to extract the slot values.
    fn guess(&self, net: &Net, reached: &[Option<Reached>], end: Reached, template: usize) -> Option<Guess> {
        let states = net.ways.len();
        let (mut arguments, mut beside) = (Map::new(), Map::new());
        let (mut covered, mut lacking, mut turned) = (0.0, 0.0, false);
        let (mut place, mut last) = ((states - 1, self.s.len()), end);
        let (mut captures, mut passed): (Vec<Capture>, Vec<usize>) = (vec![], vec![]);
        while place != (0, 0) {
            let ((state, at), (_, next)) = (last.from, place);
            let cost = self.costs[at..next].iter().sum::<f32>();
            let step = last.way.map(|way| &net.ways[state][way].1);
            if next > at && step.is_some() {
                captures.iter_mut().for_each(|capture| capture.span(at, next));
            }
            match step {
                None => {
                    turned |= self.strong[at];
                    passed.push(at);
                }
                Some(Step::Free) => {}
                Some(Step::Word(word)) if last.passed => lacking += weight(word),
                Some(Step::Slot(..)) if last.passed => lacking += 1.0,
                Some(Step::Word(_)) => covered += cost,
                Some(Step::End(name, kind)) => captures.push(Capture { name, kind: *kind, from: usize::MAX, to: 0 }),
                Some(Step::Begin) => {
                    let Capture { name, kind, from, to } = captures.pop()?;
                    if let Some(text) = self.text(from, to, kind, false) {
                        arguments.insert(name.to_owned(), text);
                    }
                }
                Some(Step::Open(name, kind)) => {
                    covered += 0.7 * cost;
                    if let Some(name) = name
                        && let Some(text) = self.text(at, next, *kind, true)
                    {
                        arguments.insert((*name).to_owned(), text);
                    }
                }
                Some(Step::Slot(name, kind)) => {
                    covered += cost;
                    let read = self.reads.get(&(*kind, at))?.iter().find(|read| at + read.count == next)?;
                    if let Some(name) = name {
                        let (value, more) = slots::named_value(name, read, self.s, at);
                        if !value.is_null() {
                            arguments.insert((*name).to_owned(), value);
                        }
                        beside.extend(more.map(|(name, value)| (name.to_owned(), value)));
                    }
                }
            }
            if (state, at) == (0, 0) {
                break;
            }
            place = (state, at);
            last = reached[at * states + state]?;
        }
        for (name, value) in beside {
            arguments.entry(name).or_insert(value);
        }
        let all: f32 = self.costs.iter().sum::<f32>() + 0.5 * lacking + 0.01;
        let covers = (covered / all).min(1.0);
        let strange = passed.iter().any(|at| self.costs[*at] >= 1.0 && !self.known.contains(self.s.word(*at)));
        Some(Guess { arguments, template, worth: end.worth, covers, strange, turned })
    }

    /// The text of an open slot, without surrounding small words; `None` if nothing is left.
    fn text(&self, mut from: usize, mut to: usize, kind: Kind, trims: bool) -> Option<Value> {
        const FRONT: &[&str] = &[
            "a", "an", "some", "to", "that", "of", "for", "on", "in", "at", "by", "with", "and", "please", "just",
            "also", "i", "we", "you", "can", "could", "would", "will", "shall", "do", "have", "need", "want", "it",
            "is", "about", "should", "must", "really", "think", "actually", "maybe",
        ];
        const BACK: &[&str] = &[
            "to", "of", "for", "on", "in", "at", "by", "with", "and", "please", "the", "my", "our", "a", "an", "from",
            "into", "onto", "is", "are", "as", "again", "too", "now", "then", "i", "we", "you", "off",
        ];
        while trims && from < to && FRONT.contains(&self.s.word(from)) {
            from += 1;
        }
        while trims && from < to && BACK.contains(&self.s.word(to - 1)) {
            to -= 1;
        }
        if from >= to {
            return None;
        }
        let text = self.s.slice(from, to);
        let text = if kind == Kind::Dated { dated(text, self.now) } else { text.to_owned() };
        (!text.is_empty()).then(|| text.into())
    }
}

/// The words of a template.
fn words(nodes: &[Node], all: &mut HashSet<String>) {
    for node in nodes {
        match node {
            Node::Word(word) => {
                all.insert(word.clone());
            }
            Node::Choice { any, .. } => any.iter().for_each(|branch| words(branch, all)),
            Node::Capture { parts, .. } => words(parts, all),
            Node::Slot { .. } => {}
        }
    }
}

fn reads<'r>(
    known: &'r mut HashMap<(Kind, usize), Vec<Read>>,
    kind: Kind,
    s: &Sentence,
    at: usize,
    now: &Zoned,
) -> &'r [Read] {
    known.entry((kind, at)).or_insert_with(|| slots::read(kind, s, at, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mask::mask, phrases};
    use serde_json::json;

    fn guessed(templates: &str, text: &str) -> Option<(Value, bool)> {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        let intents = phrases::read(&format!("= a\n{templates}"), 1).unwrap();
        let s = Sentence::read(text);
        let (_, guess) = Reader::new(&s, &mask(&s, &now), &now).best(&intents, &[0])?;
        Some((Value::Object(guess.arguments), guess.turned))
    }

    #[test]
    fn what_nearly_fits_is_read() {
        let add = "(add|put|get) [some] {title} (to|on|onto) {category:list}\nwe need {title}";
        let remind = "(remind|ping) me {schedule:future} to {message}\n(remind|ping) me to {message} {schedule:future}";
        for (templates, text, wanted, turned) in [
            (
                add,
                "could we get some milk onto the shopping list",
                json!({"title": "milk", "category": "shopping"}),
                false,
            ),
            (add, "I think we need more eggs", json!({"title": "more eggs"}), false),
            (add, "never put milk on the shopping list", json!({"title": "milk", "category": "shopping"}), true),
            (
                remind,
                "please give me a shout at 7 to feed the cat",
                json!({"schedule": "2026-11-20T19:00", "message": "feed the cat"}),
                false,
            ),
            ("turn on {pin:pin}", "flip on pin 17", json!({"pin": 17}), false),
            ("turn on {pin:pin}", "turn on pin 17 tomorrow", json!({"pin": 17}), true),
            (
                "what is on {startDate:date}",
                "so what is going on next week then",
                json!({"startDate": "2026-11-23", "endDate": "2026-11-29"}),
                false,
            ),
            ("note content=(my {_} is {_})", "my size is 43", json!({"content": "my size is 43"}), false),
        ] {
            assert_eq!(guessed(templates, text), Some((wanted, turned)), "{text}");
        }
        assert_eq!(
            guessed("turn on the lights in the kitchen now", "bananas are yellow and bent and sweet and cheap"),
            None
        );
    }
}
