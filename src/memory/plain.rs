//! The plain, slow search that the index is compared with: a row for each memory, maps, and sorts of everything.
//!
//! This was the index until it was rewritten as columns; only the order of equally good rows is defined here, which the
//! maps left to chance.

use crate::{
    index::{B, CANDIDATES, Facts, IndexHit, K1, MIN_SIMILARITY},
    rank::{own, rarity, weight_of_words, with_neighbours},
    words::{each_term, query_terms},
};
use embed::Quantized;
use std::collections::{BTreeMap, HashMap};
use tool::{Id, UserId};

/// The memories with their texts and vectors.
#[derive(Default, Clone)]
pub(crate) struct Plain(pub BTreeMap<Id, (Facts, String, Option<Quantized>)>);

#[derive(Default)]
struct Evidence {
    share: f32,
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
        let mut evidence: BTreeMap<Id, Evidence> = BTreeMap::new();
        for (id, share, words) in self.by_words(user, query) {
            evidence.insert(id, Evidence { share, cosine: 0.0, words });
        }
        let mut weight = weight_of_words::<Id>(&[]);
        if let Some(meaning) = meaning {
            let nearest = self.by_meaning(user, meaning);
            weight = weight_of_words(&nearest);
            for (id, cosine) in nearest {
                evidence.entry(id).or_default().cosine = cosine;
            }
            for (id, e) in evidence.iter_mut().filter(|(_, e)| e.cosine == 0.0) {
                e.cosine = self.0[id].2.as_ref().map_or(0.0, |vector| vector.dot(meaning));
            }
        }
        let worth = |(id, e): (&Id, &Evidence)| {
            let facts = &self.0[id].0;
            (*id, facts.owner, own(e.cosine, weight * e.share, facts.importance))
        };
        let ranks = with_neighbours(&evidence.iter().map(worth).collect::<Vec<_>>());
        let mut found: Vec<(f32, IndexHit)> = evidence
            .into_iter()
            .zip(ranks)
            .filter(|((_, e), _)| !e.words.is_empty() || e.cosine >= MIN_SIMILARITY)
            .map(|((id, e), rank)| (rank, hit(id, rank, &e)))
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
        let mut total = 0.0;
        for term in query_terms(query) {
            let postings: Vec<_> = all.iter().filter(|(_, counts, _)| counts.contains_key(&term)).collect();
            let rarity = rarity(count, postings.len() as f32);
            total += rarity;
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
        ranked.iter_mut().for_each(|(_, score, _)| *score /= total);
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

fn hit(id: Id, rank: f32, evidence: &Evidence) -> IndexHit {
    let why = match (evidence.words.is_empty(), evidence.cosine >= MIN_SIMILARITY) {
        (true, _) => "similar meaning".to_owned(),
        (false, true) => format!("similar meaning, same words: {}", evidence.words.join(", ")),
        (false, false) => format!("same words: {}", evidence.words.join(", ")),
    };
    let by_words = 0.15 * evidence.words.len() as f32;
    let score = (evidence.cosine.max(0.0) + by_words).min(1.0);
    IndexHit { id, score, rank, cosine: evidence.cosine, why }
}
