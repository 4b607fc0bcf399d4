//! The plain, slow search that the index is compared with: a row for each memory, maps, and sorts of everything.
//!
//! This was the index until it was rewritten as columns; only the order of equally good rows is defined here, which the
//! maps left to chance.

use crate::{
    index::{B, CANDIDATES, FUSION, Facts, IndexHit, K1, MIN_SIMILARITY},
    words::{distinct_terms, each_term},
};
use embed::Quantized;
use std::collections::{BTreeMap, HashMap};
use tool::{Id, UserId};

/// The memories with their texts and vectors.
#[derive(Default, Clone)]
pub(crate) struct Plain(pub BTreeMap<Id, (Facts, String, Option<Quantized>)>);

#[derive(Default)]
struct Evidence {
    fused: f32,
    cosine: f32,
    words: Vec<String>,
}

fn counted(text: &str) -> (HashMap<String, u32>, u32) {
    let (mut counts, mut length) = (HashMap::new(), 0);
    each_term(text, &mut String::new(), |term| {
        *counts.entry(term.to_owned()).or_default() += 1;
        length += 1;
    });
    (counts, length)
}

impl Plain {
    fn visible(&self, user: UserId) -> impl Iterator<Item = &(Facts, String, Option<Quantized>)> {
        self.0.values().filter(move |(facts, ..)| facts.owner == user || facts.shared)
    }

    pub fn search(&self, user: UserId, query: &str, meaning: Option<&Quantized>) -> Vec<IndexHit> {
        let mut evidence: HashMap<Id, Evidence> = HashMap::new();
        for (rank, (id, _, words)) in self.by_words(user, query).into_iter().enumerate() {
            let e = evidence.entry(id).or_default();
            e.fused += 1.0 / (FUSION + rank as f32);
            e.words = words;
        }
        if let Some(meaning) = meaning {
            for (rank, (id, cosine)) in self.by_meaning(user, meaning).into_iter().enumerate() {
                let e = evidence.entry(id).or_default();
                e.cosine = cosine;
                if cosine >= MIN_SIMILARITY {
                    e.fused += 1.0 / (FUSION + rank as f32);
                }
            }
        }
        let mut found: Vec<(f32, IndexHit)> = evidence
            .into_iter()
            .filter(|(_, e)| !e.words.is_empty() || e.cosine >= MIN_SIMILARITY)
            .map(|(id, e)| ranked_hit(&self.0[&id].0, e))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| b.1.id.cmp(&a.1.id)));
        found.into_iter().map(|(_, f)| f).collect()
    }

    fn by_words(&self, user: UserId, query: &str) -> Vec<(Id, f32, Vec<String>)> {
        let all: Vec<(&Facts, HashMap<String, u32>, u32)> = self
            .0
            .values()
            .map(|(facts, text, _)| {
                let (counts, length) = counted(text);
                (facts, counts, length)
            })
            .collect();
        let count = all.len().max(1) as f32;
        let mean = (all.iter().map(|(.., length)| u64::from(*length)).sum::<u64>() as f32 / count).max(1.0);
        let mut scores: HashMap<Id, (f32, Vec<String>)> = HashMap::new();
        for term in distinct_terms(query) {
            let postings: Vec<_> = all.iter().filter(|(_, counts, _)| counts.contains_key(&term)).collect();
            let rarity = (1.0 + (count - postings.len() as f32 + 0.5).max(0.5) / (postings.len() as f32 + 0.5)).ln();
            for (facts, counts, length) in postings {
                if facts.owner != user && !facts.shared {
                    continue;
                }
                let often = counts[&term] as f32;
                let damped = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * *length as f32 / mean));
                let (score, words) = scores.entry(facts.id).or_default();
                *score += rarity * damped;
                words.push(term.clone());
            }
        }
        let mut ranked: Vec<_> = scores.into_iter().map(|(id, (score, words))| (id, score, words)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        ranked.truncate(CANDIDATES);
        ranked
    }

    fn by_meaning(&self, user: UserId, meaning: &Quantized) -> Vec<(Id, f32)> {
        let sketch = meaning.signature();
        let mut near: Vec<(u32, Id)> = self
            .visible(user)
            .filter_map(|(facts, _, vector)| Some((sketch.hamming(&vector.as_ref()?.signature()), facts.id)))
            .collect();
        near.sort_unstable();
        near.truncate(CANDIDATES);
        let cosine = |id: Id| self.0[&id].2.as_ref().map_or(0.0, |vector| vector.dot(meaning));
        let mut ranked: Vec<(Id, f32)> = near.into_iter().map(|(_, id)| (id, cosine(id))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        ranked
    }

    /// How many of each kind a person may read, and how many of them have a vector.
    pub fn counts(&self, user: UserId) -> (HashMap<u8, usize>, usize, bool) {
        let (mut kinds, mut with_vector, mut outside) = (HashMap::new(), 0, false);
        for (facts, _, vector) in self.visible(user) {
            *kinds.entry(facts.kind).or_default() += 1;
            with_vector += usize::from(vector.is_some());
            outside |= facts.outside || (facts.owner != user && facts.owner != UserId::OWNER);
        }
        (kinds, with_vector, outside)
    }
}

fn ranked_hit(facts: &Facts, evidence: Evidence) -> (f32, IndexHit) {
    let rank = evidence.fused * (0.9 + 0.2 * facts.importance);
    let why = match (evidence.words.is_empty(), evidence.cosine >= MIN_SIMILARITY) {
        (true, _) => "similar meaning".to_owned(),
        (false, true) => format!("similar meaning, same words: {}", evidence.words.join(", ")),
        (false, false) => format!("same words: {}", evidence.words.join(", ")),
    };
    let by_words = 0.15 * evidence.words.len() as f32;
    let score = (evidence.cosine.max(0.0) + by_words).min(1.0);
    (rank, IndexHit { id: facts.id, score, cosine: evidence.cosine, why })
}
