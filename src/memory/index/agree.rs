//! Compares the index with memories as they are stored.

use super::{Facts, Index};
use crate::{scan::Bits, words::each_term};
use embed::Quantized;
use std::collections::HashMap;
use tool::{Id, UserId};

/// A memory as it is stored.
pub(crate) struct Expected<'a> {
    pub facts: Facts,
    pub content: &'a str,
    pub vector: Option<Quantized>,
}

/// The frequency of a term by row.
type Frequencies = HashMap<u32, u16>;

impl Index {
    /// For each of these memories, whether the index has it in another way: its facts, its terms and its vector.
    pub fn disagreements(&self, memories: &[Expected]) -> Vec<bool> {
        let (mut terms, mut rows) = (HashMap::<String, Frequencies>::new(), HashMap::new());
        let (mut wanted, mut lower) = (Bits(vec![0; self.rows.ids.len().div_ceil(64)]), String::new());
        let mut wrong: Vec<bool> = vec![];
        for (at, memory) in memories.iter().enumerate() {
            let Some(row) = self.row_of(memory.facts.id) else {
                wrong.push(true);
                continue;
            };
            let mut length = 0_u16;
            each_term(memory.content, &mut lower, |term| {
                length = length.saturating_add(1);
                let often = terms.entry(term.to_owned()).or_default().entry(row as u32).or_default();
                *often = often.saturating_add(1);
            });
            wanted.set(row, true);
            rows.insert(row as u32, at);
            wrong.push(self.differs(row, memory) || self.rows.lengths.get(row) != Some(&length));
        }
        // The postings of a term are read once for all memories.
        for (term, mut left) in terms {
            if let Some(term) = self.words.term(&term) {
                term.each(|row, often| {
                    if wanted.has(row as usize) && left.get(&row) == Some(&often) {
                        left.remove(&row);
                    }
                });
            }
            for at in left.keys().filter_map(|row| rows.get(row)) {
                wrong.iter_mut().skip(*at).take(1).for_each(|wrong| *wrong = true);
            }
        }
        wrong
    }

    fn differs(&self, row: usize, memory: &Expected) -> bool {
        let Facts { id: _, owner, shared, outside, importance, kind } = memory.facts;
        let has_facts = self.rows.owner(row) == owner
            && self.rows.shared.has(row) == shared
            && self.common.has(row) == shared
            && self.rows.outside.has(row) == outside
            && self.rows.importance.get(row).is_some_and(|known| known.to_bits() == importance.to_bits())
            && self.rows.kinds.get(row) == Some(&kind);
        let has_vector = match &memory.vector {
            None => !self.rows.with_vector.has(row),
            Some(vector) => {
                self.rows.with_vector.has(row)
                    && self.rows.sketches.get(row) == Some(&vector.signature().0)
                    // Where the file cannot be read, the stored vector is used.
                    && self.vectors.get(row, memory.facts.id).is_none_or(|known| known == *vector)
            }
        };
        !has_facts || !has_vector
    }

    /// How many memories have more or fewer words in the index than their number of terms says.
    pub fn miscounted(&self) -> usize {
        let counts = self.words.frequencies(self.rows.ids.len());
        let differs = |row: &usize| self.rows.lengths.get(*row).map(|n| u32::from(*n)) != counts.get(*row).copied();
        (0..self.rows.ids.len()).filter(|row| self.alive.has(*row)).filter(differs).count()
    }

    /// Adds words to the row of a memory behind its back.
    #[cfg(test)]
    pub fn add_words(&mut self, id: Id, text: &str) {
        let row = self.row_of(id).unwrap_or_default();
        self.words.add(row as u32, text);
    }

    /// Up to `most` memories in rows from `row` on, and the row after them.
    pub fn living(&self, row: usize, most: usize) -> (Vec<(UserId, Id)>, Option<usize>) {
        let rows = (row..self.rows.ids.len()).filter(|row| self.alive.has(*row));
        let some: Vec<usize> = rows.take(most).collect();
        let next = some.last().filter(|_| some.len() == most).map(|last| last + 1);
        (some.into_iter().map(|row| (self.rows.owner(row), self.rows.id(row as u32))).collect(), next)
    }
}
