//! The head: a linear classifier of intents for sentences that no template matches.
//!
//! Features are the embedding of the masked sentence and its hashed words and word pairs. The weights are trained
//! from the phrase files by `make head` (`head/train.rs`) and embedded in the binary: 4 bits for words, 8 for the
//! embedding. Classes are named, so phrases may change before retraining: unknown intents get no probability, and
//! missing ones are ignored.

use crate::phrases::Intent;
use std::collections::{BTreeSet, HashMap};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod train;

/// Number of hash buckets for words.
pub(crate) const BUCKETS: usize = 2048;
/// The class of sentences that mean no tool.
pub(crate) const NONE: &str = "/none";

/// The weights written by `make head`.
const FILE: &[u8] = include_bytes!("../../models/reflex-head.bin");
const MAGIC: &[u8] = b"hob head 1\n";

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
pub(crate) struct Head {
    /// Hash of the phrases it was trained from.
    #[cfg_attr(not(test), allow(dead_code))]
    pub fingerprint: u64,
    /// Calibration temperatures: with the embedding, and with words alone.
    temperature: [f32; 2],
    classes: Vec<Class>,
}

/// The class of an intent: the tool and its fixed arguments; all built-in replies share one class.
pub(crate) fn class_of(intent: &Intent) -> String {
    if intent.is_own() {
        return NONE.to_owned();
    }
    let fixed = serde_json::to_string(&intent.fixed).unwrap_or_default();
    format!("{} {fixed}", intent.tool)
}

impl Head {
    /// The built-in head; empty if the file is invalid.
    pub fn built_in() -> Self {
        Self::read(FILE).unwrap_or(Self { fingerprint: 0, temperature: [1.0; 2], classes: vec![] })
    }

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
        rest.is_empty().then_some(Self { fingerprint, temperature, classes })
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

/// Hashed words and word pairs of a masked sentence including its ends, normalized to unit length.
pub(crate) fn features(words: &[String]) -> Vec<(usize, f32)> {
    let edge = "|";
    let word = |i: usize| words.get(i.wrapping_sub(1)).map_or(edge, String::as_str);
    let singles = words.iter().map(|w| bucket(&[w]));
    let pairs = (0..words.len() + 1).map(|i| bucket(&[word(i), word(i + 1)]));
    let all: BTreeSet<usize> = singles.chain(pairs).collect();
    let value = 1.0 / (all.len() as f32).sqrt();
    all.into_iter().map(|bucket| (bucket, value)).collect()
}

fn bucket(words: &[&str]) -> usize {
    (fingerprint(words) % BUCKETS as u64) as usize
}

/// FNV-1a over separated texts: the same on every machine and in every version.
pub(crate) fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for byte in text.as_ref().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // The low bits alone are not mixed well enough for bucket numbers.
    hash ^ (hash >> 29)
}

/// Indices of the intents of each class.
pub(crate) fn by_class(intents: &[Intent]) -> HashMap<String, Vec<usize>> {
    let mut all: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, intent) in intents.iter().enumerate() {
        all.entry(class_of(intent)).or_default().push(i);
    }
    all
}
