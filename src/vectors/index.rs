//! One collection in memory: its vectors in bytes, a bit a number for a first pass, and its metadata.
//!
//! A search finds candidates and their bounds in memory. The caller then compares the vectors themselves, which are in the
//! store where they are longer than a byte a number, and so gets exact scores.

use crate::{
    fields::{Fields, ones},
    filter::Filter,
    records::{Metric, PREFIX, VectorRecord, row_bytes},
    values::{Bytes, dot},
};
use embed::scan::{Bits, nearest};
use std::collections::HashMap;
use tool::Id;

/// Collections up to this size are compared in full.
pub(crate) const SMALL: usize = 8192;
/// The candidates of the first pass, and how many for each wanted one.
const CANDIDATES: usize = 400;
const CANDIDATES_EACH: usize = 20;
/// More than the largest distance of signatures.
const DISTANCES: usize = crate::records::DIMENSIONS + 1;
/// Relative errors of floats, with room to spare.
const ROUNDING: f32 = 1e-5;

/// The end of a vector's id, after that of its collection.
type Suffix = [u8; 16 - PREFIX];

/// A collection in memory.
pub(crate) struct Index {
    collection: Id,
    pub metric: Metric,
    pub dimensions: usize,
    /// Pieces of sixteen numbers, and words of bits, for each vector.
    pieces: usize,
    words: usize,
    suffixes: Vec<Suffix>,
    rows: HashMap<Suffix, u32>,
    numbers: Vec<[i8; 16]>,
    scales: Vec<f32>,
    residuals: Vec<f32>,
    lengths: Vec<f32>,
    signatures: Vec<u64>,
    /// The mean of the vectors that were there first: a signature is the signs of the difference to it.
    centre: Vec<f32>,
    alive: Bits,
    removed: usize,
    fields: Fields,
    distances: Vec<u16>,
}

/// A row that may be one of the best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub id: Id,
    /// The rank that it has at least and at most; higher is better. See [`Index::rank`].
    pub least: f32,
    pub most: f32,
}

/// A query's vector in the forms that a search needs.
pub(crate) struct Query {
    vector: Vec<f32>,
    bytes: Bytes,
    length: f32,
}

impl Query {
    pub fn new(vector: Vec<f32>) -> Self {
        let (bytes, length) = (Bytes::of(&vector), dot(&vector, &vector).sqrt());
        Self { vector, bytes, length }
    }
}

impl Index {
    pub fn new(collection: Id, metric: Metric, dimensions: usize) -> Self {
        Self {
            collection,
            metric,
            dimensions,
            pieces: dimensions.div_ceil(16),
            words: dimensions.div_ceil(64),
            suffixes: vec![],
            rows: HashMap::new(),
            numbers: vec![],
            scales: vec![],
            residuals: vec![],
            lengths: vec![],
            signatures: vec![],
            centre: vec![],
            alive: Bits::default(),
            removed: 0,
            fields: Fields::default(),
            distances: vec![],
        }
    }

    /// Adds or replaces a vector; one of other dimensions is left out.
    pub fn put(&mut self, id: Id, record: &VectorRecord) {
        self.remove(id);
        let bytes = record.values.quantized();
        if bytes.numbers.len() != self.pieces {
            return;
        }
        let vector = record.values.floats();
        let row = self.suffixes.len();
        self.suffixes.push(suffix(id));
        self.rows.insert(suffix(id), row as u32);
        self.scales.push(bytes.scale);
        self.residuals.push(bytes.residual);
        self.lengths.push(dot(&vector, &vector).sqrt());
        if !self.centre.is_empty() {
            self.signatures.extend(signature(&vector, &self.centre));
        }
        self.numbers.extend(bytes.numbers);
        self.alive.set(row, true);
        self.fields.push(row as u32, &record.fields());
    }

    /// Removes a vector.
    pub fn remove(&mut self, id: Id) {
        if let Some(row) = self.rows.remove(&suffix(id)) {
            self.alive.set(row as usize, false);
            self.removed += 1;
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether so many rows are gone that the index should be read again.
    pub fn is_worn(&self) -> bool {
        self.removed > 1024 && self.removed > self.rows.len()
    }

    /// Estimated bytes.
    pub fn bytes(&self) -> usize {
        // A map is half empty at times.
        self.suffixes.len() * (row_bytes(self.dimensions) + 24) + self.fields.bytes()
    }

    /// Whether a vector is in it.
    pub fn has(&self, id: Id) -> bool {
        self.rows.contains_key(&suffix(id))
    }

    /// The rows that may be among the `most` best, and perhaps some more. All that are, where `exact` or the collection is
    /// small; else nearly all.
    pub fn search(&mut self, query: &Query, filter: Option<&Filter>, most: usize, exact: bool) -> Vec<Candidate> {
        let rows = self.suffixes.len();
        let mut mask = filter.map_or_else(|| ones(rows), |filter| self.fields.matching(filter, rows));
        mask.0.iter_mut().enumerate().for_each(|(n, word)| *word &= self.alive.word(n));
        let few = mask.count() <= SMALL.max(most * CANDIDATES_EACH);
        // Signs say little about lengths.
        if exact || few || self.metric != Metric::Cosine {
            let rows = (0..rows as u32).filter(|row| mask.has(*row as usize));
            let found: Vec<Candidate> = rows.map(|row| self.candidate(query, row)).collect();
            return within_bounds(found, most);
        }
        self.sign_all();
        let wanted: Vec<u64> = signature(&query.vector, &self.centre).collect();
        let (signatures, words) = (&self.signatures, self.words);
        let distance = |row: usize| {
            let own = signatures[row * words..][..words].iter();
            own.zip(&wanted).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>() as u16
        };
        let candidates = CANDIDATES.max(most * CANDIDATES_EACH);
        let first = |tied: Vec<u32>, wanted| tied.into_iter().take(wanted).collect();
        let near = nearest::<DISTANCES>(rows, &mask, candidates, &mut self.distances, distance, first);
        within_bounds(near.into_iter().map(|row| self.candidate(query, row)).collect(), most)
    }

    /// Computes the signatures, at the first search that needs them.
    fn sign_all(&mut self) {
        if !self.centre.is_empty() {
            return;
        }
        let mut sums = vec![0.0_f64; self.dimensions];
        let count = self.scales.len().max(1) as f64;
        for (numbers, scale) in self.numbers.chunks(self.pieces).zip(&self.scales) {
            for (sum, number) in sums.iter_mut().zip(numbers.as_flattened()) {
                *sum += f64::from(*number) * f64::from(*scale);
            }
        }
        self.centre = sums.into_iter().map(|sum| (sum / count) as f32).collect();
        self.signatures.reserve_exact(self.scales.len() * self.words);
        for (numbers, scale) in self.numbers.chunks(self.pieces).zip(&self.scales) {
            let numbers: Vec<f32> = numbers.as_flattened().iter().map(|x| f32::from(*x) * scale).collect();
            self.signatures.extend(signature(&numbers[..self.dimensions], &self.centre));
        }
    }

    /// The rank of an exact vector. By cosine and dot product this is the score, by distance its negated square.
    pub fn rank(&self, query: &Query, vector: &[f32]) -> f32 {
        match self.metric {
            Metric::Dot => dot(&query.vector, vector),
            Metric::Cosine => {
                let length = dot(vector, vector).sqrt();
                (dot(&query.vector, vector) / (length * query.length)).clamp(-1.0, 1.0)
            }
            Metric::L2 => {
                let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
                -(query.vector.iter().zip(vector).map(square).sum::<f64>() as f32)
            }
        }
    }

    fn candidate(&self, query: &Query, row: u32) -> Candidate {
        let n = row as usize;
        let own = self.numbers.get(n * self.pieces..(n + 1) * self.pieces).unwrap_or_default();
        let product = embed::dot_bytes(own, &query.bytes.numbers) as f32 * query.bytes.scale * self.scales[n];
        let (length, residual) = (self.lengths[n], self.residuals[n]);
        // |q·v − q̂·v̂| ≤ |q|·|v − v̂| + |q − q̂|·|v̂|
        let error = query.length * residual + query.bytes.residual * (length + residual);
        let (rank, error) = match self.metric {
            Metric::Dot => (product, error),
            Metric::Cosine => (product / (length * query.length), error / (length * query.length)),
            Metric::L2 => (2.0 * product - length * length - query.length * query.length, 2.0 * error),
        };
        let size = match self.metric {
            Metric::Cosine => 1.0,
            Metric::Dot => length * query.length,
            Metric::L2 => length * length + query.length * query.length,
        };
        let error = error + ROUNDING * size;
        let id = self.id(row);
        Candidate { id, least: rank - error, most: rank + error }
    }

    fn id(&self, row: u32) -> Id {
        let mut bytes = *self.collection.as_bytes();
        bytes[PREFIX..].copy_from_slice(&self.suffixes[row as usize]);
        Id::from_bytes(bytes)
    }
}

/// Those that may be among the `most` best, the likeliest first: none whose bound is below the ranks that enough others have
/// at least.
fn within_bounds(mut found: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    if most == 0 {
        return vec![];
    }
    if found.len() > most {
        let mut least: Vec<f32> = found.iter().map(|candidate| candidate.least).collect();
        let (_, threshold, _) = least.select_nth_unstable_by(most - 1, |a, b| b.total_cmp(a));
        let threshold = *threshold;
        found.retain(|candidate| candidate.most >= threshold);
    }
    found.sort_unstable_by(|a, b| b.most.total_cmp(&a.most).then(a.id.cmp(&b.id)));
    found
}

fn suffix(id: Id) -> Suffix {
    let mut suffix = Suffix::default();
    suffix.copy_from_slice(&id.as_bytes()[PREFIX..]);
    suffix
}

/// The signs of a vector's difference to a centre.
fn signature(vector: &[f32], centre: &[f32]) -> impl Iterator<Item = u64> {
    vector.chunks(64).zip(centre.chunks(64)).map(|(vector, centre)| {
        let bits = vector.iter().zip(centre).rev();
        bits.fold(0, |word, (x, mean)| word << 1 | u64::from(x < mean))
    })
}

#[cfg(test)]
mod tests;
