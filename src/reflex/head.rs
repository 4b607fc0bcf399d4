//! The head: a linear classifier of intents for sentences that no template matches.
//!
//! One layer over the embedding of the masked sentence, its hashed words and word pairs, and the hashed beginnings, middles
//! and ends of its words, by which misspelt and unknown words are recognised. The weights are trained by `make head`
//! (`head/train.rs`) from the phrase files and from `learn/*.en`, and embedded in the binary: 4 bits for words, 8 for the
//! embedding. Classes are named, so phrases may change before retraining: unknown intents get no probability, and missing
//! ones are ignored. Behind them the file has the weights of the tagger of slots (`tagger.rs`).

use crate::{hash::fingerprint, tagger::Tagger};
#[cfg(test)]
use serde_json::{Map, Value};
use std::collections::BTreeSet;

#[cfg(test)]
mod expand;
#[cfg(test)]
mod learn;
#[cfg(test)]
mod prune;
#[cfg(test)]
#[allow(clippy::type_complexity)]
mod samples;
#[cfg(test)]
mod train;

/// Number of hash buckets for words, and with the pieces of words.
const WORD_BUCKETS: usize = 4096;
pub(crate) const BUCKETS: usize = WORD_BUCKETS + 2048;
/// Weight of the pieces of words beside the words.
const PIECES: f32 = 0.6;
/// The class of sentences that mean no tool.
pub(crate) const NONE: &str = "/none";

/// The weights written by `make head`.
const FILE: &[u8] = include_bytes!("../../models/reflex-head.bin");
const MAGIC: &[u8] = b"hob head 2\n";

/// One class in the file.
struct Class {
    name: &'static str,
    bias: f32,
    scale_of_meaning: f32,
    meaning: &'static [u8],
    scale_of_words: f32,
    words: &'static [u8],
}

/// The classifier, over weights in the binary.
#[derive(Default)]
pub(crate) struct Head {
    /// Hash of the phrases it was trained from.
    #[cfg_attr(not(test), allow(dead_code))]
    pub fingerprint: u64,
    /// Calibration temperatures: with the embedding, and with words alone.
    temperature: [f32; 2],
    classes: Vec<Class>,
    /// The tagger of slots, trained on the same sentences.
    pub tagger: Tagger,
}

/// The class of sentences for a tool with fixed arguments; all built-in replies share one class.
#[cfg(test)]
fn class_name(tool: &str, fixed: &Map<String, Value>) -> String {
    if tool.starts_with('/') {
        return NONE.to_owned();
    }
    let fixed = serde_json::to_string(fixed).unwrap_or_default();
    format!("{tool} {fixed}")
}

impl Head {
    /// The built-in head; empty if the file is invalid.
    pub fn built_in() -> Self {
        // A freshly trained one can be measured without compiling again.
        #[cfg(test)]
        if let Some(path) = std::env::var_os("HEAD") {
            let file = std::fs::read(path).unwrap_or_default();
            return Self::read(Box::leak(file.into_boxed_slice())).unwrap_or_default();
        }
        Self::read(FILE).unwrap_or_default()
    }

    /// Reads the file in place; `None` if it is not valid.
    fn read(file: &'static [u8]) -> Option<Self> {
        let mut rest = file.strip_prefix(MAGIC)?;
        let mut take = |count: usize| {
            let (taken, more) = rest.split_at_checked(count)?;
            rest = more;
            Some(taken)
        };
        let fingerprint = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let float = |take: &mut dyn FnMut(usize) -> Option<&'static [u8]>| {
            Some(f32::from_le_bytes(take(4)?.try_into().ok()?)).filter(|x| x.is_finite())
        };
        let temperature = [float(&mut take)?, float(&mut take)?];
        let count = u16::from_le_bytes(take(2)?.try_into().ok()?);
        let mut classes = vec![];
        for _ in 0..count {
            let length = u16::from_le_bytes(take(2)?.try_into().ok()?);
            classes.push(Class {
                name: std::str::from_utf8(take(length.into())?).ok()?,
                bias: float(&mut take)?,
                scale_of_meaning: float(&mut take)?,
                meaning: take(embed::DIM)?,
                scale_of_words: float(&mut take)?,
                words: take(BUCKETS / 2)?,
            });
        }
        Some(Self { fingerprint, temperature, classes, tagger: Tagger::read(rest)? })
    }

    /// Class probabilities, likeliest first; `meaning` is the embedding of the masked sentence, if available.
    pub fn classify(&self, words: &[String], meaning: Option<&[f32]>) -> Vec<(&'static str, f32)> {
        let features = features(words);
        let score = |class: &Class| {
            let by_words: f32 = features.iter().map(|(bucket, value)| weight(class.words, *bucket) * value).sum();
            let by_meaning: f32 = meaning.map_or(0.0, |meaning| {
                class.meaning.iter().zip(meaning).map(|(w, x)| f32::from(w.cast_signed()) * x).sum()
            });
            class.bias + class.scale_of_words * by_words + class.scale_of_meaning * by_meaning
        };
        let temperature = self.temperature[usize::from(meaning.is_none())];
        let scores: Vec<f32> = self.classes.iter().map(|class| score(class) / temperature).collect();
        let names = self.classes.iter().map(|class| class.name);
        let mut all: Vec<(&str, f32)> = names.zip(softmax(&scores)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }
}

/// A 4-bit weight, -8 to 7; two per byte.
fn weight(words: &[u8], bucket: usize) -> f32 {
    let byte = words.get(bucket / 2).copied().unwrap_or_default();
    let half = if bucket.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
    f32::from(half) - 8.0
}

/// Softmax.
fn softmax(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::MIN, f32::max);
    let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f32 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

/// Hashed words and word pairs of a masked sentence including its ends, and the pieces of its words, each normalized.
pub(crate) fn features(words: &[String]) -> Vec<(usize, f32)> {
    let edge = "|";
    let word = |i: usize| words.get(i.wrapping_sub(1)).map_or(edge, String::as_str);
    let singles = words.iter().map(|w| bucket(&[w], WORD_BUCKETS));
    let pairs = (0..words.len() + 1).map(|i| bucket(&[word(i), word(i + 1)], WORD_BUCKETS));
    let gaps = (1..words.len().max(1)).map(|i| bucket(&[word(i), "", word(i + 2)], WORD_BUCKETS));
    let pieces = words.iter().flat_map(|w| pieces(w)).map(|b| WORD_BUCKETS + b);
    let unit = |all: BTreeSet<usize>, weight: f32| {
        let value = weight / (all.len().max(1) as f32).sqrt();
        all.into_iter().map(move |bucket| (bucket, value))
    };
    unit(singles.chain(pairs).chain(gaps).collect(), 1.0).chain(unit(pieces.collect(), PIECES)).collect()
}

/// The buckets of a word's runs of three and four letters, ends included.
fn pieces(word: &str) -> Vec<usize> {
    let chars: Vec<char> = std::iter::once('<').chain(word.chars()).chain(['>']).collect();
    let runs = [3, 4].into_iter().flat_map(|length| chars.windows(length));
    runs.map(|run| bucket(&[&run.iter().collect::<String>()], BUCKETS - WORD_BUCKETS)).collect()
}

fn bucket(words: &[&str], of: usize) -> usize {
    (fingerprint(words) % of as u64) as usize
}
