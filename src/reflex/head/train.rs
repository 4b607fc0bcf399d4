//! Trains the head from the phrase files: `make head`. Fixed seeds and a fixed order make the same bytes each time.

use super::{
    BUCKETS, Head, MAGIC, class_of, features, fingerprint,
    samples::{Dice, FILLERS, sample},
};
use crate::{
    OWN,
    mask::mask,
    pattern::{self, Node},
    phrases::{self, Intent},
    sentence::Sentence,
    tests::{PHRASES, clock},
};
use embed::DIM;
use jiff::Zoned;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Sentences of an intent, and of what no tool is meant by or memory is asked about.
const EACH: usize = 110;
const EACH_ELSEWHERE: usize = 900;
/// Of so many templates one is held apart to find how sure the head may be.
const APART: usize = 7;
const ROUNDS: usize = 16;
const RATE: f32 = 0.25;
/// Smaller errors teach nothing.
const LEAST: f32 = 1e-3;
/// How strong the embedding, a unit vector, is beside the words.
const MEANING: f32 = 4.0;

const ELSEWHERE: &str = include_str!("elsewhere.en");

struct Sample {
    class: usize,
    words: Vec<(usize, f32)>,
    text: String,
    meaning: Vec<f32>,
    apart: bool,
}

/// All intents with those that only the training knows.
fn intents() -> Vec<Intent> {
    let files = PHRASES.iter().chain([&OWN, &ELSEWHERE]).enumerate();
    files.flat_map(|(i, text)| phrases::read(text, i + 1).unwrap()).collect()
}

/// Tells phrases, model and the making of features from others.
fn present_fingerprint() -> u64 {
    let samples = include_str!("samples.rs");
    fingerprint(PHRASES.iter().copied().chain([OWN, ELSEWHERE, samples, embed::MODEL, include_str!("train.rs")]))
}

fn expand(tool: &str, nodes: &[Node], dice: &mut Dice, words: &mut Vec<String>) {
    for node in nodes {
        match node {
            Node::Word(word) => words.push(word.clone()),
            Node::Slot { name, kind } => {
                let mut text = sample(tool, name.as_deref(), *kind, dice);
                // "for on friday" is nobody's way of saying it.
                let prepositions = ["on", "at", "for", "in", "by", "to", "until", "from"];
                if words.last().is_some_and(|w| prepositions.contains(&w.as_str())) {
                    text = text.strip_prefix("on ").or(text.strip_prefix("at ")).unwrap_or(&text).to_owned();
                }
                words.push(text);
            }
            Node::Capture { parts, .. } => expand(tool, parts, dice, words),
            Node::Choice { optional: true, .. } if dice.below(3) != 0 => {}
            Node::Choice { any, .. } => expand(tool, &any[dice.below(any.len())], dice, words),
        }
    }
}

/// A sentence of a template, with what people do to sentences.
fn sentence(tool: &str, nodes: &[Node], dice: &mut Dice) -> String {
    let mut words = vec![];
    expand(tool, nodes, dice, &mut words);
    let mut words: Vec<&str> = words.iter().flat_map(|w| w.split(' ')).collect();
    if words.len() > 3 && dice.below(7) == 0 {
        words.remove(dice.below(words.len()));
    }
    if dice.below(6) == 0 {
        words.insert(0, dice.one("filler", FILLERS));
    }
    words.join(" ")
}

/// The sentences of all intents, in order.
fn sentences(intents: &[Intent], classes: &BTreeMap<String, usize>, now: &Zoned) -> Vec<Sample> {
    let mut dice = Dice(1);
    let mut templates: BTreeMap<usize, Vec<(&str, &[Node])>> = BTreeMap::new();
    for intent in intents {
        let of = templates.entry(classes[&class_of(intent)]).or_default();
        // What is said without being a template is how people talk.
        // An answer of its own to any words after "remind me" says nothing about those words.
        let telling =
            intent.templates.iter().filter(|t| !intent.is_own() || t.example_only || !pattern::has_open_slot(&t.nodes));
        of.extend(telling.flat_map(|t| {
            std::iter::repeat_n((intent.tool.as_str(), t.nodes.as_slice()), if t.example_only { 2 } else { 1 })
        }));
    }
    let (mut all, mut seen, mut number) = (vec![], HashMap::new(), 0);
    for (class, templates) in templates {
        let elsewhere = templates.iter().any(|(tool, _)| tool.starts_with('/') || *tool == "recall");
        let each = (if elsewhere { EACH_ELSEWHERE } else { EACH } / templates.len()).max(2);
        for (tool, nodes) in templates {
            number += 1;
            for _ in 0..each {
                let s = Sentence::read(&sentence(tool, nodes, &mut dice));
                let masked = mask(&s, now);
                let text = masked.text();
                if s.len() == 0 || seen.insert(text.clone(), class).is_some() {
                    continue;
                }
                let words = features(&masked.words);
                all.push(Sample { class, words, text, meaning: vec![], apart: number % APART == 0 });
            }
        }
    }
    all
}

/// The embeddings, those known from before taken from `cache`.
async fn embedded(samples: &mut [Sample], cache: &Path) {
    let row = |text: &str| fingerprint([embed::MODEL, text]).to_le_bytes();
    let mut known: HashMap<[u8; 8], Vec<f32>> = HashMap::new();
    let kept = fs::read(cache).unwrap_or_default();
    for row in kept.chunks_exact(8 + DIM * 4) {
        let (key, numbers) = row.split_at(8);
        let numbers = numbers.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        known.insert(key.try_into().unwrap(), numbers.collect());
    }
    let embedder = embed::Embedder::new(Duration::from_secs(60));
    let mut bytes = kept;
    for sample in samples {
        let key = row(&sample.text);
        if let std::collections::hash_map::Entry::Vacant(place) = known.entry(key) {
            let meaning = embedder.embed(&sample.text).await.unwrap();
            bytes.extend(key);
            bytes.extend(meaning.iter().flat_map(|x| x.to_le_bytes()));
            place.insert(meaning);
        }
        sample.meaning.clone_from(&known[&key]);
    }
    fs::write(cache, bytes).unwrap();
}

/// The layer while it is trained: a row of weights for each feature, one number a class.
struct Layer {
    classes: usize,
    weights: Vec<f32>,
    /// Sums of squared slopes, by which later steps get smaller.
    steps: Vec<f32>,
}

impl Layer {
    fn new(classes: usize) -> Self {
        let size = (BUCKETS + DIM + 1) * classes;
        Self { classes, weights: vec![0.0; size], steps: vec![1e-3; size] }
    }

    fn row(&self, feature: usize) -> &[f32] {
        &self.weights[feature * self.classes..][..self.classes]
    }

    fn active<'a>(sample: &'a Sample, meaning: bool) -> impl Iterator<Item = (usize, f32)> + 'a {
        let numbers = sample.meaning.iter().enumerate().filter(move |_| meaning);
        let bias = std::iter::once((BUCKETS + DIM, 1.0));
        sample.words.iter().copied().chain(numbers.map(|(i, x)| (BUCKETS + i, x * MEANING))).chain(bias)
    }

    fn scores(&self, sample: &Sample, meaning: bool) -> Vec<f32> {
        let mut scores = vec![0.0; self.classes];
        for (feature, value) in Self::active(sample, meaning) {
            for (score, weight) in scores.iter_mut().zip(self.row(feature)) {
                *score += weight * value;
            }
        }
        scores
    }

    fn learn(&mut self, sample: &Sample, meaning: bool) {
        let mut errors = super::softmax(&self.scores(sample, meaning));
        errors[sample.class] -= 1.0;
        // Most classes are far from being meant, and nothing is learned about them.
        let wrong: Vec<(usize, f32)> =
            errors.into_iter().enumerate().filter(|(_, error)| error.abs() > LEAST).collect();
        for (feature, value) in Self::active(sample, meaning) {
            for (class, error) in &wrong {
                let at = feature * self.classes + class;
                let slope = error * value;
                self.steps[at] += slope * slope;
                self.weights[at] -= RATE * slope / self.steps[at].sqrt();
            }
        }
    }

    fn train(samples: &[Sample], classes: usize, with: impl Fn(&Sample) -> bool) -> Self {
        let mut layer = Self::new(classes);
        let mut order: Vec<usize> = (0..samples.len()).filter(|i| with(&samples[*i])).collect();
        let mut dice = Dice(2);
        for _ in 0..ROUNDS {
            for i in (1..order.len()).rev() {
                order.swap(i, dice.below(i + 1));
            }
            for i in &order {
                // Now and then without the meaning, so that words alone will do where the model cannot be had.
                layer.learn(&samples[*i], dice.below(4) != 0);
            }
        }
        layer
    }

    /// The file, its weights rounded.
    fn written(&self, classes: &BTreeMap<String, usize>, temperature: [f32; 2]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend(present_fingerprint().to_le_bytes());
        file.extend(temperature.iter().flat_map(|t| t.to_le_bytes()));
        file.extend((classes.len() as u16).to_le_bytes());
        for (name, class) in classes {
            let column = |features: std::ops::Range<usize>| features.map(|f| self.row(f)[*class]).collect::<Vec<f32>>();
            let largest = |column: &[f32]| column.iter().fold(1e-6_f32, |most, w| most.max(w.abs()));
            file.extend((name.len() as u16).to_le_bytes());
            file.extend(name.as_bytes());
            file.extend(self.row(BUCKETS + DIM)[*class].to_le_bytes());
            let meaning = column(BUCKETS..BUCKETS + DIM);
            let scale = largest(&meaning) / 127.0;
            file.extend((scale * MEANING).to_le_bytes());
            file.extend(meaning.iter().map(|w| (w / scale).round() as i8 as u8));
            let words = column(0..BUCKETS);
            let scale = largest(&words) / 7.0;
            file.extend(scale.to_le_bytes());
            let half = |w: f32| ((w / scale).round().clamp(-8.0, 7.0) as i8 + 8).cast_unsigned();
            file.extend(words.chunks(2).map(|pair| half(pair[0]) | half(pair[1]) << 4));
        }
        file
    }
}

/// How likely the held-apart sentences are on average, as a cost, and how many are right.
fn judged(layer: &Layer, samples: &[&Sample], meaning: bool, temperature: f32) -> (f32, f32) {
    let (mut cost, mut right) = (0.0, 0);
    for sample in samples {
        let scores: Vec<f32> = layer.scores(sample, meaning).iter().map(|s| s / temperature).collect();
        let shares = super::softmax(&scores);
        cost -= shares[sample.class].max(1e-9).ln();
        right += usize::from(shares.iter().all(|share| *share <= shares[sample.class]));
    }
    (cost / samples.len() as f32, right as f32 / samples.len() as f32)
}

/// The temperature under which held-apart sentences are as likely as the head says.
fn calibrated(layer: &Layer, samples: &[&Sample], meaning: bool) -> f32 {
    let tried = (4..60).map(|n| n as f32 / 10.0);
    let costs = tried.map(|t| (judged(layer, samples, meaning, t).0, t));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(_, t)| t)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

#[tokio::test]
#[ignore = "writes models/reflex-head.bin: run `make head`"]
async fn write_the_head() {
    let now = clock().local();
    let intents = intents();
    let names = intents.iter().map(class_of);
    let classes: BTreeMap<String, usize> = BTreeMap::from_iter(names.map(|name| (name, 0)));
    let classes: BTreeMap<String, usize> = classes.into_keys().enumerate().map(|(i, name)| (name, i)).collect();
    let mut samples = sentences(&intents, &classes, &now);
    embedded(&mut samples, &folder("target/reflex-head.cache")).await;
    let apart: Vec<&Sample> = samples.iter().filter(|s| s.apart).collect();
    let layer = Layer::train(&samples, classes.len(), |s| !s.apart);
    let temperature = [calibrated(&layer, &apart, true), calibrated(&layer, &apart, false)];
    for (meaning, temperature) in [(true, temperature[0]), (false, temperature[1])] {
        let (cost, right) = judged(&layer, &apart, meaning, temperature);
        println!("{} held apart, meaning {meaning}: {right:.3} right, cost {cost:.3} at {temperature}", apart.len());
    }
    let layer = Layer::train(&samples, classes.len(), |_| true);
    let file = layer.written(&classes, temperature);
    println!("{} classes, {} sentences, {} bytes", classes.len(), samples.len(), file.len());
    fs::write(folder("models/reflex-head.bin"), file).unwrap();
}

#[test]
fn the_head_fits_the_phrases() {
    let head = Head::built_in();
    assert!(head.classes.len() > 20, "models/reflex-head.bin cannot be read: run `make head`");
    assert_eq!(
        head.fingerprint,
        present_fingerprint(),
        "the phrases have changed since the head was trained: run `make head`"
    );
}
