//! The vectors of an index: in memory, or read from the index file one by one.
//!
//! A search compares some hundred vectors in full. Reading these from the file, which the system caches, saves 40 MB
//! for 100,000 memories.

use embed::Quantized;
use std::{collections::HashMap, fs::File, os::unix::fs::FileExt};
use tool::Id;

/// The bytes of a checksum.
const SUM: usize = 8;
/// The bytes of a vector of so many numbers in the file.
pub(crate) fn stride(dimensions: usize) -> usize {
    Quantized::bytes(dimensions) + SUM
}

/// The vectors of rows.
#[derive(Default)]
pub(crate) struct Vectors {
    file: Option<VectorFile>,
    /// Of a build without a file, and of rows that were added since.
    own: Vec<Quantized>,
    /// Row → position in `own`.
    places: HashMap<u32, u32>,
}

/// The part of the index file with the vectors, one for each row of the file.
pub(crate) struct VectorFile {
    pub file: File,
    pub start: u64,
    pub rows: usize,
    /// The bytes of each.
    pub stride: usize,
}

impl Vectors {
    pub fn new(file: Option<VectorFile>) -> Self {
        Self { file, ..Self::default() }
    }

    #[cfg(test)]
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    pub fn put(&mut self, row: usize, vector: Quantized) {
        self.places.insert(row as u32, self.own.len() as u32);
        self.own.push(vector);
    }

    /// The vector of a row; `None` where there is none, or the file cannot be read.
    pub fn get(&self, row: usize, id: Id) -> Option<Quantized> {
        match self.places.get(&(row as u32)) {
            Some(place) => self.own.get(*place as usize).cloned(),
            None => self.file.as_ref().filter(|file| row < file.rows)?.read(row, id),
        }
    }
}

impl VectorFile {
    fn read(&self, row: usize, id: Id) -> Option<Quantized> {
        let mut bytes = vec![0; self.stride];
        self.file.read_exact_at(&mut bytes, self.start + row as u64 * self.stride as u64).ok()?;
        let (vector, sum) = bytes.split_at_checked(self.stride.checked_sub(SUM)?)?;
        if sum != checksum(id, vector) {
            return None;
        }
        Quantized::from_bytes(vector).ok()
    }
}

/// A vector as it is in the file; zeros for none, which no checksum matches.
pub(crate) fn stored(id: Id, vector: Option<&Quantized>, dimensions: usize) -> Vec<u8> {
    match vector.filter(|vector| vector.dimensions() == dimensions) {
        Some(vector) => {
            let mut bytes = vector.to_bytes();
            let sum = checksum(id, &bytes);
            bytes.extend_from_slice(&sum);
            bytes
        }
        None => vec![0; stride(dimensions)],
    }
}

/// Detects damage and another memory's vector. A search checks hundreds: a cryptographic hash would double its reads.
fn checksum(id: Id, vector: &[u8]) -> [u8; SUM] {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(ODD);
    let words = |bytes: &[u8], sum: u64| {
        let (words, rest) = bytes.as_chunks::<8>();
        let sum = words.iter().fold(sum, |sum, word| mix(sum, u64::from_le_bytes(*word)));
        rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
    };
    let sum = words(vector, words(id.as_bytes(), ODD));
    (sum ^ sum >> 32).to_le_bytes()
}
