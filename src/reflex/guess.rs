//! Sentences no template fits: compared with examples by their words, then also by their meaning.

use crate::{
    pattern,
    phrases::Intent,
    sentence::Sentence,
    slots::{self, Kind, number, unit},
};
use embed::Quantized;
use futures::future::BoxFuture;
use jiff::Zoned;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::OnceCell;

/// A text to a unit vector; the error is a sentence.
pub(crate) type Embed = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<f32>, String>> + Send + Sync>;

/// How many sentences of a template are compared by words, and how many by meaning, where each costs some milliseconds.
const BY_WORDS: usize = 24;
const BY_MEANING: usize = 3;

/// A sentence a template stands for.
struct Example {
    intent: usize,
    template: usize,
    /// The words as numbers, in order, without those that stand for an open slot.
    words: Vec<usize>,
    /// What the words weigh together.
    weight: f32,
    /// Whether any words may stand in it.
    open: bool,
    /// Whether all it takes is of a definite kind, such as a pin.
    definite: bool,
    /// The place of its vector, where it has one.
    vector: Option<usize>,
}

/// The examples of all templates.
pub(crate) struct Examples {
    all: Vec<Example>,
    /// The words of all examples, by number.
    words: HashMap<String, usize>,
    /// How much each tells: little where many tools use it.
    weights: Vec<f32>,
    /// The words that the examples of a tool have, and those that open them.
    tools: HashMap<String, Vocabulary>,
    texts: Vec<String>,
    /// Empty until they are computed or given back: no sentence waits for hundreds of vectors.
    vectors: OnceCell<Vec<Quantized>>,
    embed: Embed,
    warned: AtomicBool,
}

#[derive(Default)]
struct Vocabulary {
    words: BTreeSet<usize>,
    openings: BTreeSet<usize>,
}

/// The nearest intent and how near.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Near {
    pub intent: usize,
    pub template: usize,
    /// From 0 to 1.
    pub score: f32,
    /// By how much it beats the best example of another tool.
    pub margin: f32,
    /// Whether the sentence has a word that no example of the tool has: it may well be about something else.
    pub strange: bool,
    /// Whether its first word opens an example of the tool: a remark seldom begins as a question or an order does.
    pub opens: bool,
}

impl Examples {
    pub fn new(intents: &[Intent], embed: Embed) -> Self {
        let (mut all, mut texts, mut words) = (vec![], vec![], HashMap::new());
        let mut tools: HashMap<String, Vocabulary> = HashMap::new();
        for (i, intent) in intents.iter().enumerate() {
            for (t, template) in intent.templates.iter().enumerate() {
                // What reflex answers from a slot is answered only where it fits; near it, it would but take the lead from
                // the tool that was meant.
                let told = |(name, kind): &(Option<String>, Kind)| name.is_some() || !kind.is_open();
                if intent.is_own() && pattern::slots_of(&template.nodes).iter().any(told) {
                    continue;
                }
                let open = pattern::has_open_slot(&template.nodes);
                let definite = pattern::slots_of(&template.nodes).iter().all(|(_, kind)| !kind.is_open());
                for (n, text) in pattern::examples(&template.nodes, BY_WORDS).into_iter().enumerate() {
                    let said = text.split(' ').filter(|w| !open || *w != Kind::Text.mask());
                    let numbers: Vec<usize> = said.map(|word| number_of(&mut words, word)).collect();
                    let vocabulary = tools.entry(intent.tool.clone()).or_default();
                    vocabulary.words.extend(&numbers);
                    vocabulary.openings.extend(numbers.first());
                    let vector = (n < BY_MEANING).then_some(texts.len());
                    let words = BTreeSet::from_iter(numbers).into_iter().collect();
                    all.push(Example { intent: i, template: t, words, weight: 0.0, open, definite, vector });
                    texts.extend(vector.map(|_| text));
                }
            }
        }
        let weights = weights(&all, intents, words.len());
        for example in &mut all {
            example.weight = example.words.iter().map(|w| weights[*w]).sum();
        }
        Self { all, words, weights, tools, texts, vectors: OnceCell::new(), embed, warned: AtomicBool::new(false) }
    }

    /// The nearest intent by words alone.
    pub fn by_words(&self, s: &Sentence, now: &Zoned, intents: &[Intent]) -> Option<Near> {
        let said = self.said(&mask(s, now).words);
        self.nearest(self.all.iter().map(|e| (e, self.overlap(e, &said))), &said, intents)
    }

    /// The nearest by words alone among the intents of `wanted`, examples that take any words left out: they are near
    /// to anything that shares one or two.
    pub fn tried(
        &self,
        s: &Sentence,
        now: &Zoned,
        intents: &[Intent],
        wanted: impl Fn(&Intent) -> bool,
    ) -> Option<Near> {
        let said = self.said(&mask(s, now).words);
        let some = self.all.iter().filter(|e| e.definite && !e.open && wanted(&intents[e.intent]));
        self.nearest(some.map(|e| (e, self.overlap(e, &said))), &said, intents)
    }

    /// The nearest intent by words and meaning together; `None` where the model does not answer, or the vectors of the
    /// examples are not there yet.
    pub async fn by_meaning(&self, s: &Sentence, now: &Zoned, intents: &[Intent]) -> Option<Near> {
        let masked = mask(s, now);
        let vectors = self.vectors.get()?;
        let asked = self.vector(masked.words.join(" ")).await?;
        let said = self.said(&masked.words);
        let scored = self.all.iter().filter_map(|e| {
            let vector = vectors.get(e.vector?)?;
            Some((e, (1.0 - WORDS_SHARE) * vector.dot(&asked) + WORDS_SHARE * self.overlap(e, &said)))
        });
        self.nearest(scored, &said, intents)
    }

    /// Computes the vectors of all examples, unless they are there; `None` where the model does not answer.
    pub async fn vectors(&self) -> Option<&Vec<Quantized>> {
        let compute = || async {
            let mut vectors = Vec::with_capacity(self.texts.len());
            for text in &self.texts {
                vectors.push(self.vector(text.clone()).await.ok_or(())?);
            }
            Ok::<_, ()>(vectors)
        };
        self.vectors.get_or_try_init(compute).await.ok()
    }

    /// Takes vectors that were computed before; `false` when they are not of these examples.
    pub fn take(&self, vectors: Vec<Quantized>) -> bool {
        vectors.len() == self.texts.len() && self.vectors.set(vectors).is_ok()
    }

    /// Tells these examples, and the model they are embedded with, from others.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (embed::MODEL, &self.texts).hash(&mut hasher);
        hasher.finish()
    }

    async fn vector(&self, text: String) -> Option<Quantized> {
        let vector = (self.embed)(text).await.and_then(|v| Quantized::quantize(&v).map_err(|e| e.to_string()));
        vector.map_err(|why| self.warn(&why)).ok()
    }

    /// Said once: without the model every sentence would repeat it.
    fn warn(&self, why: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("sentences are placed by templates and words only: {why}");
        }
    }

    /// The words of a sentence as numbers, mistyped ones as the words they must have been.
    fn said(&self, words: &[String]) -> Said {
        let mut said = Said { words: BTreeSet::new(), first: None, weight: 0.0, unknown: false };
        let unknown = self.weights.iter().copied().fold(1.0, f32::max);
        for (i, word) in words.iter().enumerate() {
            let number = self.words.get(word).copied().or_else(|| self.spelled(word));
            said.first = said.first.or(number.filter(|_| i == 0));
            match number {
                Some(number) if said.words.insert(number) => said.weight += self.weights[number],
                Some(_) => {}
                None => {
                    said.weight += unknown;
                    said.unknown = true;
                }
            }
        }
        said
    }

    /// The word of the examples that `word` nearly is: one slip, two in long words, never in the first letter. Swapped
    /// letters are the likeliest slip, and common words the likeliest meant.
    fn spelled(&self, word: &str) -> Option<usize> {
        let letters = |word: &str| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        };
        let length = word.chars().count();
        if length < 4 || !word.chars().all(char::is_alphabetic) {
            return None;
        }
        let (slips, mine) = (if length < 8 { 1 } else { 2 }, letters(word));
        self.words
            .iter()
            .filter(|(known, _)| known.len() > 3 && known.len().abs_diff(word.len()) <= slips)
            .filter(|(known, _)| known.chars().next() == word.chars().next())
            .map(|(known, number)| (strsim::osa_distance(known, word), letters(known) != mine, *number))
            .filter(|(distance, ..)| *distance <= slips)
            .min_by(|a, b| {
                (a.0, a.1).cmp(&(b.0, b.1)).then(self.weights[a.2].total_cmp(&self.weights[b.2])).then(a.2.cmp(&b.2))
            })
            .map(|(.., number)| number)
    }

    /// How far the words agree, from 0 to 1: shared weight twice over the weight of both.
    fn overlap(&self, example: &Example, said: &Said) -> f32 {
        let shared: f32 = example.words.iter().filter(|w| said.words.contains(w)).map(|w| self.weights[*w]).sum();
        let missing = example.weight - shared;
        // What stands in an open slot is not known beforehand, so it counts little.
        let extra = (said.weight - shared) * if example.open { 0.3 } else { 1.0 };
        let all = 2.0 * shared + missing + extra;
        if all > 0.0 { 2.0 * shared / all } else { 0.0 }
    }

    /// The best example, and how far it is ahead of the best of another tool.
    fn nearest<'a>(
        &self,
        scored: impl Iterator<Item = (&'a Example, f32)>,
        said: &Said,
        intents: &[Intent],
    ) -> Option<Near> {
        let mut best: HashMap<&str, (f32, &Example)> = HashMap::new();
        for (example, score) in scored {
            let tool = intents.get(example.intent)?.tool.as_str();
            let entry = best.entry(tool).or_insert((score, example));
            if score > entry.0 {
                *entry = (score, example);
            }
        }
        let mut ranked: Vec<(&str, f32, &Example)> = best.into_iter().map(|(tool, (s, e))| (tool, s, e)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.2.intent.cmp(&b.2.intent)));
        let &(tool, score, example) = ranked.first()?;
        let vocabulary = self.tools.get(tool)?;
        Some(Near {
            intent: example.intent,
            template: example.template,
            score,
            margin: score - ranked.get(1).map_or(0.0, |second| second.1),
            strange: said.unknown || !said.words.is_subset(&vocabulary.words),
            opens: said.first.is_some_and(|first| vocabulary.openings.contains(&first)),
        })
    }
}

/// How much of the joint score is words.
const WORDS_SHARE: f32 = 0.4;

/// The words of a sentence.
struct Said {
    /// Those that examples know.
    words: BTreeSet<usize>,
    /// What all weigh, known or not.
    weight: f32,
    /// The first, where examples know it.
    first: Option<usize>,
    /// Whether one is unknown.
    unknown: bool,
}

fn number_of(words: &mut HashMap<String, usize>, word: &str) -> usize {
    let next = words.len();
    *words.entry(word.to_owned()).or_insert(next)
}

/// A word tells the more, the fewer tools have it in their examples.
fn weights(all: &[Example], intents: &[Intent], words: usize) -> Vec<f32> {
    let mut tools: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); words];
    for example in all {
        for word in &example.words {
            tools[*word].insert(&intents[example.intent].tool);
        }
    }
    let count = intents.iter().map(|i| i.tool.as_str()).collect::<BTreeSet<_>>().len() as f32;
    tools.iter().map(|of| 0.1 + ((count + 1.0) / of.len() as f32).ln()).collect()
}

/// A sentence with its slots replaced by what stands for them in examples.
pub(crate) struct Masked {
    pub words: Vec<String>,
    /// How many pins it names.
    pub pins: usize,
    /// How many calculations it holds.
    pub sums: usize,
}

/// Finds the slots of a sentence and masks them.
pub(crate) fn mask(s: &Sentence, now: &Zoned) -> Masked {
    let mut masked = Masked { words: vec![], pins: 0, sums: 0 };
    let measured = (0..s.len()).any(|at| measure(s, at).is_some());
    let mut at = 0;
    while at < s.len() {
        let reads = |kind| slots::read(kind, s, at, now).map(|(count, _)| (count, kind.mask()));
        let unit = || unit::unit(s, at).filter(|_| measured).map(|(count, _)| (count, Kind::Unit.mask()));
        let zone = || reads(Kind::Zone).filter(|_| at > 0 && ["in", "for", "at"].contains(&s.word(at - 1)));
        let number = || number::number(s, at).map(|(count, _)| (count, Kind::Number.mask()));
        let found = reads(Kind::Quoted)
            .or_else(|| reads(Kind::Pin).inspect(|_| masked.pins += 1))
            .or_else(|| reads(Kind::Expr).inspect(|_| masked.sums += 1))
            .or_else(|| measure(s, at).map(|count| (count, "5 kilograms")))
            .or_else(unit)
            .or_else(zone)
            .or_else(number)
            .unwrap_or((1, s.word(at)));
        masked.words.extend(found.1.split(' ').map(str::to_owned));
        at += found.0;
    }
    masked
}

/// A number with its unit.
fn measure(s: &Sentence, at: usize) -> Option<usize> {
    let (count, _) = number::amount(s, at)?;
    unit::unit(s, at + count).map(|(more, _)| count + more)
}

/// The arguments a template needs, looked for in the sentence in the template's order; `None` where one is missing or
/// where the sentence names a pin or a calculation that would be left over.
pub(crate) fn fill(
    nodes: &[pattern::Node],
    fixed: &Map<String, Value>,
    s: &Sentence,
    now: &Zoned,
) -> Option<Map<String, Value>> {
    let slots = pattern::slots_of(nodes);
    let wants = |kind| slots.iter().filter(|(_, k)| *k == kind).count();
    let masked = mask(s, now);
    if masked.pins != wants(Kind::Pin) || masked.sums != wants(Kind::Expr) {
        return None;
    }
    let (mut arguments, mut at) = (fixed.clone(), 0);
    for (name, kind) in &slots {
        let value = if kind.is_open() {
            Value::from(s.rest())
        } else {
            let (place, count, value) = (at..s.len()).find_map(|place| {
                // "a" counts only before what is counted.
                let counts = *kind != Kind::Number || number::number(s, place).is_some() || measure(s, place).is_some();
                let (count, value) = slots::read(*kind, s, place, now).filter(|_| counts)?;
                Some((place, count, value))
            })?;
            at = place + count;
            value
        };
        arguments.extend(name.clone().map(|name| (name, value)));
    }
    Some(arguments)
}
