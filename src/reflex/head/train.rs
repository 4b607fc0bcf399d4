//! Trains head and tagger from the phrase files and the phrasings: `make head`. Fixed seeds and a fixed order make the same
//! bytes each time.

use super::{
    BUCKETS, Head, MAGIC, NONE, class_name,
    expand::{Expanded, Expander},
    features,
    learn::{self, Phrasing, Tools},
    samples::{Dice, UNDONE, Values},
};
use crate::{
    OWN,
    hash::fingerprint,
    mask::{Masked, mask},
    pattern,
    phrases::{self, Intent},
    sentence::Sentence,
    slots::{self, Kind},
    tagger::{self, Argument, Segment, Text, Tool, word_hash},
    tests::{PHRASES, clock},
};
use embed::DIM;
use jiff::Zoned;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// Sentences of a class from templates, and from those of what no tool is meant by or memory is asked about.
const EACH: usize = 110;
const EACH_ELSEWHERE: usize = 900;
/// Sentences of a class from phrasings, and of one phrasing.
const LEARNED: usize = 500;
const OF_ONE: (usize, usize) = (2, 6);
/// Commands that something before them turns into none.
const TURNED: usize = 700;
/// Of so many phrasings one is held apart to find how sure the head may be.
const APART: u64 = 7;
const ROUNDS: usize = 14;
const RATE: f32 = 0.25;
/// Smaller errors teach nothing.
const LEAST: f32 = 1e-3;
/// How strong the embedding, a unit vector, is beside the words.
const MEANING: f32 = 4.0;

const ELSEWHERE: &str = include_str!("elsewhere.en");

struct Sample {
    class: usize,
    tool: String,
    sentence: Sentence,
    masked: Masked,
    gold: Expanded,
    words: Vec<(usize, f32)>,
    text: String,
    meaning: Vec<f32>,
    apart: bool,
    /// Whether it comes from a template, and whether it was altered.
    template: bool,
    altered: bool,
    place: String,
}

/// Templates of the phrase files, and phrasings of the trainer's own files.
pub(super) fn phrasings() -> Vec<Phrasing> {
    let files = PHRASES.iter().chain([&OWN, &ELSEWHERE]).enumerate();
    let intents: Vec<Intent> = files.flat_map(|(i, text)| phrases::read(text, i + 1).unwrap()).collect();
    let mut all = vec![];
    for mut intent in intents {
        // An answer of its own to any words after "remind me" says nothing about those words.
        let own = intent.is_own();
        intent.templates.retain(|t| !own || t.example_only || !pattern::has_open_slot(&t.nodes));
        all.extend(learn::of_intent(&intent));
    }
    match learn::folder(&folder("src/reflex/learn"), &tools()) {
        Ok(learned) => all.extend(learned),
        Err(wrong) => panic!("{}", wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
    }
    all
}

fn tools() -> Tools {
    Tools::golden(&folder("tests/golden/tools"))
}

fn class_of(phrasing: &Phrasing) -> String {
    class_name(&phrasing.tool, &phrasing.fixed)
}

/// Tells phrases, model and the making of features from others.
fn present_fingerprint() -> u64 {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder("src/reflex/learn")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let learned = files.iter().filter(|f| f.extension().is_some_and(|end| end == "en")).map(fs::read_to_string);
    let learned: Vec<String> = learned.map(Result::unwrap).collect();
    let own =
        [OWN, ELSEWHERE, include_str!("samples.rs"), include_str!("expand.rs"), embed::MODEL, include_str!("train.rs")];
    fingerprint(PHRASES.iter().copied().chain(own).chain(learned.iter().map(String::as_str)))
}

/// The sentences of all phrasings, in order.
fn sentences(phrasings: &[Phrasing], classes: &BTreeMap<String, usize>, now: &Zoned) -> Vec<Sample> {
    let (values, kinds) = (Values::new(phrasings), learn::kinds(phrasings));
    let expander = Expander { values: &values, kinds: &kinds };
    let mut counts: HashMap<(usize, bool), usize> = HashMap::new();
    for phrasing in phrasings {
        *counts.entry((classes[&class_of(phrasing)], phrasing.template)).or_default() += 1;
    }
    let (mut dice, mut all, mut seen) = (Dice(1), vec![], HashSet::new());
    let mut add = |class: usize, phrasing: &Phrasing, gold: Expanded, altered: bool| {
        let sentence = Sentence::read(&gold.text);
        let masked = mask(&sentence, now);
        let text = masked.text();
        let apart = fingerprint([&phrasing.place]) % APART == 0;
        // Doubles teach nothing, but for the values in them.
        if sentence.len() == 0 || !seen.insert((text.clone(), class, gold.values.is_empty() || altered)) {
            return;
        }
        let (words, tool) = (features(&masked.words), phrasing.tool.clone());
        let (template, place) = (phrasing.template, phrasing.place.clone());
        all.push(Sample {
            class,
            tool,
            sentence,
            masked,
            gold,
            words,
            text,
            meaning: vec![],
            apart,
            template,
            altered,
            place,
        });
    };
    for phrasing in phrasings {
        let class = classes[&class_of(phrasing)];
        let count = counts[&(class, phrasing.template)];
        let elsewhere = phrasing.tool == NONE || phrasing.tool.starts_with('/') || phrasing.tool == "recall";
        let learned = counts.get(&(class, false)).copied().unwrap_or_default() > 40;
        let each = match (phrasing.template, elsewhere) {
            (true, true) => EACH_ELSEWHERE / count,
            (true, false) if learned => EACH / 2 / count,
            (true, false) => EACH / count,
            (false, true) => OF_ONE.0,
            (false, false) => (LEARNED / count).clamp(OF_ONE.0, OF_ONE.1),
        };
        for i in 0..each.max(if phrasing.template { 2 } else { 1 }) {
            add(class, phrasing, expander.sentence(phrasing, i > 0, &mut dice), i > 0);
        }
    }
    let commands: Vec<&Phrasing> =
        phrasings.iter().filter(|p| !p.tool.starts_with('/') && p.tool != "recall").collect();
    for _ in 0..TURNED {
        let phrasing = commands[dice.below(commands.len())];
        let text = format!("{} {}", dice.one(UNDONE), expander.sentence(phrasing, true, &mut dice).text);
        let none = Phrasing { tool: NONE.to_owned(), template: true, ..phrasing.clone() };
        add(classes[NONE], &none, Expanded { text, values: vec![] }, true);
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
    fn written(&self, classes: &BTreeMap<String, usize>, temperature: [f32; 2], tagger: &[u8]) -> Vec<u8> {
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
        file.extend(tagger);
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
    let tried = (4..40).map(|n| n as f32 / 10.0);
    let costs = tried.map(|t| (judged(layer, samples, meaning, t).0, t));
    costs.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(1.0, |(_, t)| t)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// What the tagger knows of each tool.
fn tool_facts(phrasings: &[Phrasing], samples: &[Sample]) -> BTreeMap<String, Tool> {
    let golden = tools();
    let mut facts: BTreeMap<String, Tool> = BTreeMap::new();
    let kinds: BTreeMap<(String, String), Vec<Kind>> = learn::kinds(phrasings).into_iter().collect();
    for phrasing in phrasings.iter().filter(|p| !p.tool.starts_with('/')) {
        facts.entry(phrasing.tool.clone()).or_default();
    }
    for ((tool, name), kinds) in kinds {
        if let Some(fact) = facts.get_mut(&tool) {
            let needed = golden.required(&tool).contains(&name);
            fact.arguments.push(Argument { name: name.leak(), kinds, needed });
        }
    }
    let mut words: BTreeMap<(&str, u16), BTreeSet<&str>> = BTreeMap::new();
    for sample in samples.iter().filter(|s| !s.altered) {
        let inside = |at: usize| sample.gold.values.iter().any(|(_, from, to)| (*from..*to).contains(&at));
        for token in sample.sentence.tokens.iter().filter(|token| !inside(token.start)) {
            words.entry((&sample.tool, word_hash(&token.word))).or_default().insert(&sample.place);
        }
    }
    // A word of one phrasing says little about the tool; one of a template was chosen with care.
    for ((tool, hash), places) in words {
        if let Some(fact) = facts.get_mut(tool).filter(|_| places.len() > 1 || places.iter().any(|p| !p.contains(':')))
        {
            fact.words.push(hash);
        }
    }
    facts
}

/// The values of a sample as segments; `None` if a value of a definite kind cannot be read where it is.
fn segments(sample: &Sample, fact: &Tool, now: &Zoned) -> Option<Vec<Segment>> {
    let s = &sample.sentence;
    let mut all = vec![];
    for (name, from, to) in &sample.gold.values {
        let argument = fact.arguments.iter().position(|a| a.name == name)?;
        let inside = |i: &usize| s.tokens[*i].start >= *from && s.tokens[*i].end <= *to;
        let tokens: Vec<usize> = (0..s.len()).filter(inside).collect();
        let (first, end) = (*tokens.first()?, tokens.last()? + 1);
        let kinds = &fact.arguments[argument].kinds;
        let read = |at: usize| {
            kinds.iter().any(|kind| slots::read(*kind, s, at, now).iter().any(|read| at + read.count == end))
        };
        let open = kinds.iter().any(|kind| kind.is_open());
        let from = [Some(first), first.checked_sub(1), Some(first + 1)].into_iter().flatten();
        let from = from.filter(|at| *at < end).find(|at| open && *at == first || !open && read(*at))?;
        all.push(Segment { argument, from, to: end });
    }
    all.sort_by_key(|segment| segment.from);
    all.windows(2).all(|pair| pair[0].to <= pair[1].from).then_some(all)
}

/// How the sure ones among the sentences held apart are right, by the least probability.
fn told(layer: &Layer, classes: &BTreeMap<String, usize>, samples: &[&Sample], temperature: f32) {
    let names: Vec<&String> = classes.keys().collect();
    let mut confused: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for least in [0.0, 0.5, 0.7, 0.85, 0.95] {
        let (mut sure, mut right) = (0, 0);
        for sample in samples {
            let shares =
                super::softmax(&layer.scores(sample, true).iter().map(|s| s / temperature).collect::<Vec<_>>());
            let best = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap();
            if shares[best] >= least {
                sure += 1;
                right += usize::from(best == sample.class);
                if least == 0.5 && best != sample.class {
                    *confused.entry((sample.class, best)).or_default() += 1;
                }
            }
        }
        println!(
            "  at least {least}: {:.3} of all, {:.3} of them right",
            sure as f32 / samples.len() as f32,
            right as f32 / sure.max(1) as f32
        );
    }
    let mut confused: Vec<_> = confused.into_iter().collect();
    confused.sort_by_key(|(_, count)| usize::MAX - count);
    for ((wanted, found), count) in confused.iter().take(25) {
        println!("  {count} of {} taken for {}", names[*wanted], names[*found]);
    }
}

#[tokio::test]
#[ignore = "writes models/reflex-head.bin: run `make head`"]
async fn write_the_head() {
    let now = clock().local();
    let phrasings = phrasings();
    let names: BTreeSet<String> = phrasings.iter().map(class_of).collect();
    let classes: BTreeMap<String, usize> = names.into_iter().enumerate().map(|(i, name)| (name, i)).collect();
    let mut samples = sentences(&phrasings, &classes, &now);
    println!("{} classes, {} phrasings, {} sentences", classes.len(), phrasings.len(), samples.len());
    embedded(&mut samples, &folder("target/reflex-head.cache")).await;

    let facts = tool_facts(&phrasings, &samples);
    let (mut tagged, mut unread) = (vec![], BTreeMap::new());
    for sample in samples.iter().filter(|s| !s.tool.starts_with('/') && s.tool != NONE) {
        match segments(sample, &facts[&sample.tool], &now) {
            Some(gold) => {
                let text = Text::new(&sample.sentence, &sample.masked, &now);
                tagged.push(tagger::train::Sample { tool: &sample.tool, text, gold, apart: sample.apart });
            }
            None => drop(unread.insert(&sample.place, &sample.sentence.text)),
        }
    }
    println!("{} sentences for the tagger; of {} phrasings a value cannot be read", tagged.len(), unread.len());
    if std::env::var_os("UNREAD").is_some() {
        unread.iter().for_each(|(place, text)| println!("  {place}: {text}"));
    }
    // Without measuring, for trying things out, the temperatures are those of before.
    let mut found = Head::built_in().temperature;
    if std::env::var_os("QUICK").is_none() {
        let weights = tagger::train::train(&facts, &mut tagged, false);
        let counts = tagger::train::judged(&facts, &mut tagged, &weights);
        let (right, all) = counts.values().fold((0, 0), |(r, a), (right, all)| (r + right, a + all));
        println!("values held apart: {right} of {all} sentences right");
        counts.iter().for_each(|(tool, (right, all))| println!("  {tool}: {right} of {all}"));

        let apart: Vec<&Sample> = samples.iter().filter(|s| s.apart).collect();
        let learned: Vec<&Sample> = apart.iter().copied().filter(|s| !s.template).collect();
        let plain: Vec<&Sample> = learned.iter().copied().filter(|s| !s.altered).collect();
        let layer = Layer::train(&samples, classes.len(), |s| !s.apart);
        for (of, samples) in [("all", &apart), ("phrasings", &learned), ("phrasings as written", &plain)] {
            for meaning in [true, false] {
                let (cost, right) = judged(&layer, samples, meaning, 1.0);
                println!("{} held apart of {of}, meaning {meaning}: {right:.3} right, cost {cost:.3}", samples.len());
            }
        }
        let judge = if learned.is_empty() { &apart } else { &learned };
        let temperature = [calibrated(&layer, judge, true), calibrated(&layer, judge, false)];
        println!("temperatures {temperature:?}");
        told(&layer, &classes, if plain.is_empty() { &apart } else { &plain }, temperature[0]);
        found = temperature;
    }
    let weights = tagger::train::train(&facts, &mut tagged, true);
    let layer = Layer::train(&samples, classes.len(), |_| true);
    let file = layer.written(&classes, found, &tagger::train::written(&facts, &weights));
    println!("{} bytes", file.len());
    fs::write(folder("models/reflex-head.bin"), file).unwrap();
}

#[test]
fn the_head_fits_the_phrases() {
    let head = Head::built_in();
    assert!(
        head.classes.len() > 20 && head.tagger.tools.len() > 20,
        "models/reflex-head.bin cannot be read: run `make head`"
    );
    assert_eq!(
        head.fingerprint,
        present_fingerprint(),
        "the phrases have changed since the head was trained: run `make head`"
    );
}
