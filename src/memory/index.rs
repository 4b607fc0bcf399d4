//! The search index in memory: one column for each fact about a memory, the words of all, and the vectors.
//!
//! A one-bit sketch of each vector selects candidates, and only the candidates are compared in full. 100,000 memories
//! take about 15 MB once their vectors are in the index file (`file.rs`), 55 MB before.

mod agree;

pub(crate) use agree::Expected;

use crate::{
    postings::{Dictionary, Term, Words},
    rank::{own, rarity, weight_of_words, with_neighbours},
    scan::{Bits, Sketch, highest, nearest},
    vectors::Vectors,
    words::query_terms,
};
use embed::Quantized;
use std::collections::HashMap;
use tool::{Id, UserId};

/// Candidates selected by the sketch, and hits per ranking that are fused.
pub(crate) const CANDIDATES: usize = 300;
/// Minimum cosine similarity. In the table of tests.rs, related pairs score .25–.66 and unrelated ones up to .22.
pub(crate) const MIN_SIMILARITY: f32 = 0.24;
/// BM25's saturation and length weights.
pub(crate) const K1: f32 = 1.2;
pub(crate) const B: f32 = 0.5;

/// The facts of a memory that the index holds besides its words and its vector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Facts {
    pub id: Id,
    pub owner: UserId,
    pub shared: bool,
    /// Whether the stored label is `Outside`.
    pub outside: bool,
    pub importance: f32,
    /// The code of its kind.
    pub kind: u8,
}

/// A matching memory and the reason for the match.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IndexHit {
    pub id: Id,
    pub score: f32,
    /// The order of hits: the cosine of the vectors, and the weight of the shared words.
    pub rank: f32,
    /// The cosine of both vectors; 0 where it was not computed.
    pub cosine: f32,
    pub why: String,
}

/// Reads the vector of a memory where the index file cannot be read.
pub(crate) type Fetch<'a> = &'a dyn Fn(UserId, Id) -> Option<Quantized>;

/// The columns; a row is a memory, and the rows of a build are in order of their ids.
#[derive(Default)]
pub(crate) struct Columns {
    pub ids: Vec<Id>,
    /// Positions in `people`.
    pub owners: Vec<u32>,
    pub people: Vec<UserId>,
    pub kinds: Vec<u8>,
    pub importance: Vec<f32>,
    /// The number of terms.
    pub lengths: Vec<u16>,
    pub sketches: Vec<Sketch>,
    pub shared: Bits,
    pub outside: Bits,
    pub with_vector: Bits,
}

impl Columns {
    /// Appends a row without a vector.
    pub fn push(&mut self, facts: &Facts, length: u16) {
        let row = self.ids.len();
        self.ids.push(facts.id);
        let owner = self.person(facts.owner);
        self.owners.push(owner);
        self.kinds.push(facts.kind);
        self.importance.push(facts.importance);
        self.lengths.push(length);
        self.sketches.push([0; 6]);
        self.shared.set(row, facts.shared);
        self.outside.set(row, facts.outside);
    }

    fn person(&mut self, user: UserId) -> u32 {
        let known = self.people.iter().position(|person| *person == user);
        known.unwrap_or_else(|| {
            self.people.push(user);
            self.people.len() - 1
        }) as u32
    }

    /// The same rows in the order of `rows`; their vectors follow one by one.
    pub fn reordered(&self, rows: &[u32]) -> Self {
        fn pick<T: Copy>(column: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().filter_map(|row| column.get(*row as usize).copied()).collect()
        }
        let bits = |of: &Bits| {
            let mut picked = Bits::default();
            rows.iter().enumerate().for_each(|(new, old)| picked.set(new, of.has(*old as usize)));
            picked
        };
        Self {
            ids: pick(&self.ids, rows),
            owners: pick(&self.owners, rows),
            people: self.people.clone(),
            kinds: pick(&self.kinds, rows),
            importance: pick(&self.importance, rows),
            lengths: pick(&self.lengths, rows),
            sketches: pick(&self.sketches, rows),
            shared: bits(&self.shared),
            outside: bits(&self.outside),
            with_vector: bits(&self.with_vector),
        }
    }

    fn owner(&self, row: usize) -> UserId {
        let owner = self.owners.get(row).and_then(|n| self.people.get(*n as usize));
        owner.copied().unwrap_or(UserId::OWNER)
    }

    fn id(&self, row: u32) -> Id {
        self.ids.get(row as usize).copied().unwrap_or_default()
    }
}

#[derive(Default)]
pub(crate) struct Index {
    rows: Columns,
    words: Words,
    vectors: Vectors,
    /// How many rows are in order of their ids; those of later rows are in `later`.
    sorted: usize,
    later: HashMap<Id, u32>,
    alive: Bits,
    living: usize,
    /// The living rows of each person.
    own: Vec<Bits>,
    /// The living rows that everybody may find.
    common: Bits,
    total_length: u64,
    scratch: Scratch,
}

/// Buffers that searches reuse.
#[derive(Default)]
struct Scratch {
    distances: Vec<u16>,
    sums: Vec<f32>,
}

/// Scores of one row in both rankings.
#[derive(Default)]
struct Evidence {
    /// The share of the question's words, by rarity.
    share: f32,
    cosine: f32,
    words: Vec<u32>,
}

impl Evidence {
    fn matches(&self) -> bool {
        !self.words.is_empty() || self.cosine >= MIN_SIMILARITY
    }
}

/// Counts of the memories that a person may read, for `memory_stats`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// How many of each kind, by its code.
    pub kinds: HashMap<u8, usize>,
    pub importance: f64,
    pub with_vector: usize,
    /// Whether one of them is from outside for this person.
    pub outside: bool,
}

impl Index {
    /// An index of rows in order of their ids.
    pub fn new(rows: Columns, words: Dictionary, vectors: Vectors) -> Self {
        let (count, total) = (rows.ids.len(), rows.lengths.iter().map(|n| u64::from(*n)).sum());
        let mut alive = Bits(vec![u64::MAX; count / 64]);
        (count / 64 * 64..count).for_each(|row| alive.set(row, true));
        let mut own: Vec<Bits> = rows.people.iter().map(|_| Bits(vec![0; count.div_ceil(64)])).collect();
        for (row, owner) in rows.owners.iter().enumerate() {
            if let Some(bits) = own.get_mut(*owner as usize) {
                bits.set(row, true);
            }
        }
        Self {
            words: Words::new(words),
            vectors,
            sorted: count,
            later: HashMap::new(),
            alive,
            living: count,
            own,
            common: rows.shared.clone(),
            total_length: total,
            scratch: Scratch::default(),
            rows,
        }
    }

    /// How many memories it holds.
    pub fn len(&self) -> usize {
        self.living
    }

    /// Whether it was read from the index file.
    #[cfg(test)]
    pub fn has_file(&self) -> bool {
        self.vectors.has_file()
    }

    fn row_of(&self, id: Id) -> Option<usize> {
        let later = self.later.get(&id).map(|row| *row as usize);
        let sorted = || self.rows.ids.get(..self.sorted)?.binary_search(&id).ok().filter(|row| self.alive.has(*row));
        later.or_else(sorted)
    }

    /// Adds a memory, in place of the row with the same id; returns whether there was one.
    pub fn put(&mut self, facts: &Facts, content: &str, vector: Option<&Quantized>) -> bool {
        let replaced = self.remove(facts.id);
        let row = self.rows.ids.len();
        let length = self.words.add(row as u32, content);
        self.rows.push(facts, length);
        self.later.insert(facts.id, row as u32);
        self.alive.set(row, true);
        self.living += 1;
        self.total_length += u64::from(length);
        self.own.resize(self.rows.people.len(), Bits::default());
        if let Some(own) = self.rows.owners.get(row).and_then(|owner| self.own.get_mut(*owner as usize)) {
            own.set(row, true);
        }
        self.common.set(row, facts.shared);
        if let Some(vector) = vector {
            self.set_vector(row, vector);
        }
        replaced
    }

    /// Takes over the facts of a memory whose text and vector have not changed; `false` where there is none.
    pub fn touch(&mut self, facts: &Facts) -> bool {
        let Some(row) = self.row_of(facts.id) else { return false };
        if self.rows.owner(row) != facts.owner {
            return false;
        }
        self.rows.shared.set(row, facts.shared);
        self.rows.outside.set(row, facts.outside);
        self.common.set(row, facts.shared);
        if let (Some(importance), Some(kind)) = (self.rows.importance.get_mut(row), self.rows.kinds.get_mut(row)) {
            (*importance, *kind) = (facts.importance, facts.kind);
        }
        true
    }

    /// Removes a memory from every result; returns whether there was one. Its row is a gap until the next build.
    pub fn remove(&mut self, id: Id) -> bool {
        let Some(row) = self.row_of(id) else { return false };
        self.later.remove(&id);
        self.alive.set(row, false);
        self.living -= 1;
        self.total_length -= self.rows.lengths.get(row).copied().map_or(0, u64::from);
        self.common.set(row, false);
        self.own.iter_mut().for_each(|own| own.set(row, false));
        self.rows.with_vector.set(row, false);
        true
    }

    fn set_vector(&mut self, row: usize, vector: &Quantized) {
        if let Some(sketch) = self.rows.sketches.get_mut(row) {
            *sketch = vector.signature().0;
            self.rows.with_vector.set(row, true);
            self.vectors.put(row, vector.clone());
        }
    }

    /// The memories without a vector.
    pub fn without_vector(&self) -> Vec<(UserId, Id)> {
        let rows = (0..self.rows.ids.len()).filter(|row| self.alive.has(*row) && !self.rows.with_vector.has(*row));
        rows.map(|row| (self.rows.owner(row), self.rows.id(row as u32))).collect()
    }

    /// The rows that a person may find.
    fn visible(&self, user: UserId) -> Bits {
        let person = self.rows.people.iter().position(|person| *person == user);
        let own = person.and_then(|n| self.own.get(n));
        let word = |n| self.common.word(n) | own.map_or(0, |own| own.word(n));
        Bits((0..self.rows.ids.len().div_ceil(64)).map(word).collect())
    }

    fn meaningful(&self, visible: &Bits) -> Bits {
        Bits(visible.0.iter().enumerate().map(|(n, word)| word & self.rows.with_vector.word(n)).collect())
    }

    /// How many of the memories that a person may find have a vector.
    pub fn with_meaning(&self, user: UserId) -> usize {
        self.meaningful(&self.visible(user)).count()
    }

    /// How many memories have a term.
    pub fn count_with(&self, term: &str) -> usize {
        self.words.term(term).map_or(0, |term| term.count() as usize)
    }

    /// How rare a term is, as a share of the rarity of one that no memory has.
    pub fn rarity_of(&self, term: &str) -> f32 {
        let count = self.living.max(1) as f32;
        let often = self.words.term(term).map_or(0, |term| self.living_rows(&term));
        rarity(count, often as f32) / rarity(count, 0.0)
    }

    /// Counts the memories that a person may find.
    pub fn counts(&self, user: UserId) -> Counts {
        let visible = self.visible(user);
        let mut counts = Counts { with_vector: self.meaningful(&visible).count(), ..Counts::default() };
        let (mut kinds, mut importance) = ([0; 256], std::collections::BTreeMap::<u32, usize>::new());
        let (mut last, mut run) = (0.0_f32, 0);
        for row in (0..self.rows.ids.len()).filter(|row| visible.has(*row)) {
            kinds[usize::from(self.rows.kinds.get(row).copied().unwrap_or_default())] += 1;
            let now = self.rows.importance.get(row).copied().unwrap_or_default();
            if now.to_bits() != last.to_bits() {
                *importance.entry(last.to_bits()).or_default() += run;
                (last, run) = (now, 0);
            }
            run += 1;
            let owner = self.rows.owner(row);
            counts.outside |= self.rows.outside.has(row) || (owner != user && owner != UserId::OWNER);
        }
        *importance.entry(last.to_bits()).or_default() += run;
        counts.kinds = (0..=u8::MAX).zip(kinds).filter(|(_, count)| *count > 0).collect();
        // In double precision, so that the mean of equal numbers is that number.
        let sum = |(bits, count): (u32, usize)| tool::shortest(f32::from_bits(bits)) * count as f64;
        counts.importance = importance.into_iter().map(sum).sum();
        counts
    }

    /// The matching memories visible to this user, best first.
    pub fn search(&mut self, user: UserId, query: &str, meaning: Option<&Quantized>, fetch: Fetch) -> Vec<IndexHit> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let found = self.search_with(user, query, meaning, fetch, &mut scratch);
        self.scratch = scratch;
        found
    }

    fn search_with(
        &self,
        user: UserId,
        query: &str,
        meaning: Option<&Quantized>,
        fetch: Fetch,
        scratch: &mut Scratch,
    ) -> Vec<IndexHit> {
        let (visible, terms) = (self.visible(user), query_terms(query));
        let mut evidence: HashMap<u32, Evidence> = HashMap::new();
        for (row, share, words) in self.by_words(&visible, &terms, &mut scratch.sums) {
            evidence.insert(row, Evidence { share, cosine: 0.0, words });
        }
        let mut weight = weight_of_words::<u32>(&[]);
        if let Some(meaning) = meaning {
            let nearest = self.by_meaning(&visible, meaning, fetch, &mut scratch.distances);
            weight = weight_of_words(&nearest);
            for (row, cosine) in nearest {
                evidence.entry(row).or_default().cosine = cosine;
            }
        }
        // A memory found by its words alone is compared, too.
        if let Some(meaning) = meaning {
            let compared = |(row, e): (&u32, &mut Evidence)| {
                let row = *row as usize;
                if e.cosine == 0.0 && self.rows.with_vector.has(row) {
                    e.cosine = self.vector(row, fetch).map_or(0.0, |vector| vector.dot(meaning));
                }
            };
            evidence.iter_mut().for_each(compared);
        }
        let mut candidates: Vec<(Id, u32, Evidence)> =
            evidence.into_iter().map(|(row, e)| (self.rows.id(row), row, e)).collect();
        candidates.sort_unstable_by_key(|(id, ..)| *id);
        let worth = |(id, row, e): &(Id, u32, Evidence)| {
            let importance = self.rows.importance.get(*row as usize).copied().unwrap_or_default();
            (*id, self.rows.owner(*row as usize), own(e.cosine, weight * e.share, importance))
        };
        let ranks = with_neighbours(&candidates.iter().map(worth).collect::<Vec<_>>());
        let mut found: Vec<(f32, Id, Evidence)> = ranks
            .into_iter()
            .zip(candidates)
            .map(|(rank, (id, _, e))| (rank, id, e))
            .filter(|f| f.2.matches())
            .collect();
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        found.into_iter().map(|(rank, id, evidence)| hit(id, rank, &evidence, &terms)).collect()
    }

    /// BM25 over the shared terms: the rows, best first, their sums as a share of the rarities of all terms, and the positions
    /// of their terms. Of equally good ones the newest come first.
    fn by_words(&self, visible: &Bits, terms: &[String], sums: &mut Vec<f32>) -> Vec<(u32, f32, Vec<u32>)> {
        let shared: Vec<(u32, Term)> =
            terms.iter().enumerate().filter_map(|(n, term)| Some((n as u32, self.words.term(term)?))).collect();
        if shared.is_empty() {
            return vec![];
        }
        let count = self.living.max(1) as f32;
        // A term that no memory has is as rare as can be.
        let often = |term: &String| self.words.term(term).map_or(0, |term| self.living_rows(&term));
        let rarities: Vec<f32> = terms.iter().map(|term| rarity(count, often(term) as f32)).collect();
        let all: f32 = rarities.iter().sum();
        let mean = (self.total_length as f32 / count).max(1.0);
        let longest = self.rows.lengths.iter().max().copied().unwrap_or_default();
        let damping: Vec<f32> = (0..=longest).map(|length| K1 * (1.0 - B + B * f32::from(length) / mean)).collect();
        sums.clear();
        sums.resize(self.rows.ids.len(), 0.0);
        for (n, term) in &shared {
            let rarity = rarities.get(*n as usize).copied().unwrap_or_default();
            let weight = |often: f32, damping: f32| rarity * (often * (K1 + 1.0) / (often + damping));
            // Nearly all frequencies are one.
            let once: Vec<f32> = damping.iter().map(|damping| weight(1.0, *damping)).collect();
            term.each_run(|rows, often| {
                let rows = rows.start as usize..rows.end as usize;
                let (Some(lengths), Some(sums)) = (self.rows.lengths.get(rows.clone()), sums.get_mut(rows)) else {
                    return;
                };
                for (sum, length) in sums.iter_mut().zip(lengths) {
                    let weights = if often == 1 { &once } else { &damping };
                    let found = weights.get(usize::from(*length)).copied().unwrap_or_default();
                    *sum += if often == 1 { found } else { weight(f32::from(often), found) };
                }
            });
        }
        let mut ranked = highest(sums, visible, CANDIDATES, |tied, wanted| self.newest(tied, wanted));
        let sum = |row: u32| sums.get(row as usize).copied().unwrap_or_default();
        ranked
            .sort_unstable_by(|a, b| sum(*b).total_cmp(&sum(*a)).then_with(|| self.rows.id(*b).cmp(&self.rows.id(*a))));
        let shares: Vec<f32> = ranked.iter().map(|row| sum(*row) / all).collect();
        let rows = self.with_terms(ranked, &shared).into_iter().zip(shares);
        rows.map(|((row, terms), share)| (row, share, terms)).collect()
    }

    /// The newest of the rows that pass a test.
    fn newest(&self, is_tied: &dyn Fn(u32) -> bool, wanted: usize) -> Vec<u32> {
        let (sorted, all) = (self.sorted as u32, self.rows.ids.len() as u32);
        // Sorted rows are in order of their ids: of these the last are the newest.
        let mut rows: Vec<u32> = (0..sorted).rev().filter(|row| is_tied(*row)).take(wanted).collect();
        rows.extend((sorted..all).filter(|row| is_tied(*row)));
        rows.sort_unstable_by_key(|row| std::cmp::Reverse(self.rows.id(*row)));
        rows.truncate(wanted);
        rows
    }

    /// The oldest of rows that are in order.
    fn oldest(&self, mut rows: Vec<u32>, wanted: usize) -> Vec<u32> {
        let later = rows.split_off(rows.partition_point(|row| (*row as usize) < self.sorted));
        rows.truncate(wanted);
        rows.extend(later);
        rows.sort_unstable_by_key(|row| self.rows.id(*row));
        rows.truncate(wanted);
        rows
    }

    /// In how many rows a term is: those that are gone do not count.
    fn living_rows(&self, term: &Term) -> usize {
        if self.living == self.rows.ids.len() {
            return term.count() as usize;
        }
        let mut count = 0;
        term.each(|row, _| count += usize::from(self.alive.has(row as usize)));
        count
    }

    /// The rows with the positions of the terms that are in them.
    fn with_terms(&self, rows: Vec<u32>, terms: &[(u32, Term)]) -> Vec<(u32, Vec<u32>)> {
        let mut wanted = Bits(vec![0; self.rows.ids.len().div_ceil(64)]);
        let mut of: HashMap<u32, Vec<u32>> = HashMap::with_capacity(rows.len());
        for row in &rows {
            wanted.set(*row as usize, true);
            of.insert(*row, vec![]);
        }
        for (n, term) in terms {
            // A term that every row has costs no second pass.
            if term.count() as usize == self.rows.ids.len() {
                of.values_mut().for_each(|terms| terms.push(*n));
                continue;
            }
            term.each(|row, _| {
                if wanted.has(row as usize)
                    && let Some(terms) = of.get_mut(&row)
                {
                    terms.push(*n);
                }
            });
        }
        rows.into_iter().map(|row| (row, of.remove(&row).unwrap_or_default())).collect()
    }

    /// The nearest rows by meaning with their cosines, best first; of equally good ones the newest come first.
    fn by_meaning(
        &self,
        visible: &Bits,
        meaning: &Quantized,
        fetch: Fetch,
        distances: &mut Vec<u16>,
    ) -> Vec<(u32, f32)> {
        let mask = self.meaningful(visible);
        let oldest = |tied, wanted| self.oldest(tied, wanted);
        let near = nearest(&meaning.signature().0, (&self.rows.sketches, &mask), CANDIDATES, distances, oldest);
        let cosine = |row| self.vector(row, fetch).map_or(0.0, |vector| vector.dot(meaning));
        let mut ranked: Vec<(u32, f32)> = near.into_iter().map(|row| (row, cosine(row as usize))).collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| self.rows.id(b.0).cmp(&self.rows.id(a.0))));
        ranked
    }

    fn vector(&self, row: usize, fetch: Fetch) -> Option<Quantized> {
        let id = self.rows.id(row as u32);
        self.vectors.get(row, id).or_else(|| fetch(self.rows.owner(row), id))
    }

    /// The rows that are left in order of their ids, their words, and their vectors one by one.
    pub fn compacted(&self) -> (Columns, Dictionary, Vec<u32>) {
        let mut order: Vec<u32> =
            (0..self.rows.ids.len()).filter(|row| self.alive.has(*row)).map(|row| row as u32).collect();
        order.sort_unstable_by_key(|row| self.rows.id(*row));
        let mut remap = vec![u32::MAX; self.rows.ids.len()];
        for (new, old) in order.iter().enumerate() {
            if let Some(place) = remap.get_mut(*old as usize) {
                *place = new as u32;
            }
        }
        (self.rows.reordered(&order), self.words.compacted(&remap), order)
    }

    /// The vector of a row of [`Index::compacted`]'s order.
    pub fn vector_of(&self, row: u32, fetch: Fetch) -> Option<Quantized> {
        self.rows.with_vector.has(row as usize).then(|| self.vector(row as usize, fetch)).flatten()
    }
}

fn hit(id: Id, rank: f32, evidence: &Evidence, terms: &[String]) -> IndexHit {
    let words: Vec<&str> = evidence.words.iter().filter_map(|n| terms.get(*n as usize)).map(String::as_str).collect();
    let why = match (words.is_empty(), evidence.cosine >= MIN_SIMILARITY) {
        (true, _) => "similar meaning".to_owned(),
        (false, true) => format!("similar meaning, same words: {}", words.join(", ")),
        (false, false) => format!("same words: {}", words.join(", ")),
    };
    let by_words = 0.15 * words.len() as f32;
    let score = (evidence.cosine.max(0.0) + by_words).min(1.0);
    IndexHit { id, score, rank, cosine: evidence.cosine, why }
}
