//! The words of memories: for each term the rows that contain it, and how often.
//!
//! A [`Dictionary`] holds the terms of all rows of a build in four arrays, its postings as differences of one or two
//! bytes. Rows added since are in a small map beside it.

use crate::words::each_term;
use std::{collections::HashMap, ops::Range};

/// How often a row contains a term. A memory of 8,000 characters has at most 4,000 terms.
type Frequency = u16;

/// A row that is not there.
const GONE: u32 = u32::MAX;
/// The posting of the row after the one before, with a frequency of one.
const NEXT_ROW: u8 = 1 << 1;

/// Sorted terms with their postings; it never changes.
#[derive(Default, Clone, PartialEq, Debug)]
pub(crate) struct Dictionary {
    /// All terms, one after another.
    pub terms: Vec<u8>,
    /// The end of each term.
    pub term_ends: Vec<u32>,
    /// How many rows contain each term.
    pub counts: Vec<u32>,
    /// Rows as variable-length numbers: twice the difference to the row before, plus one where a frequency above one
    /// follows.
    pub postings: Vec<u8>,
    /// The end of the postings of each term.
    pub posting_ends: Vec<u32>,
}

/// The part of an array that belongs to entry `n`, by the ends of the parts.
fn part<'a>(all: &'a [u8], ends: &[u32], n: usize) -> &'a [u8] {
    let end = ends.get(n).copied().unwrap_or_default() as usize;
    let start = n.checked_sub(1).and_then(|n| ends.get(n)).copied().unwrap_or_default() as usize;
    all.get(start..end).unwrap_or_default()
}

impl Dictionary {
    fn term(&self, n: usize) -> &[u8] {
        part(&self.terms, &self.term_ends, n)
    }

    fn find(&self, term: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.term_ends.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.term(middle).cmp(term.as_bytes()) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Calls `each` with every row of a term, in order, and the frequency.
    #[inline]
    fn each(&self, n: usize, mut each: impl FnMut(u32, Frequency)) {
        let mut each = |rows: Range<u32>, often| rows.for_each(|row| each(row, often));
        self.each_run(n, &mut each);
    }

    /// Calls `each` with every run of rows of a term, in order, and the frequency in each of them. A term that nearly all rows have
    /// comes in few long runs.
    #[inline]
    fn each_run(&self, n: usize, mut each: impl FnMut(Range<u32>, Frequency)) {
        let mut bytes = part(&self.postings, &self.posting_ends, n);
        let mut row = 0_u32;
        while !bytes.is_empty() {
            // The next rows, once each.
            let (eights, _) = bytes.as_chunks::<8>();
            let eights = eights.iter().take_while(|eight| **eight == [NEXT_ROW; 8]).count();
            if eights > 0 {
                let rows = eights as u32 * 8;
                each(row.wrapping_add(1)..row.wrapping_add(1 + rows), 1);
                row = row.wrapping_add(rows);
                bytes = bytes.get(eights * 8..).unwrap_or_default();
            }
            let Some((byte, rest)) = bytes.split_first() else { break };
            // Most numbers are one byte.
            let number = if *byte < 0x80 {
                bytes = rest;
                u32::from(*byte)
            } else {
                read_number(&mut bytes)
            };
            row = row.wrapping_add(number >> 1);
            let often = if number & 1 == 0 { 1 } else { read_number(&mut bytes) as Frequency };
            each(row..row.wrapping_add(1), often);
        }
    }

    /// Appends a term; its rows are sorted.
    fn push(&mut self, term: &[u8], rows: &[(u32, Frequency)]) {
        if rows.is_empty() {
            return;
        }
        let mut before = 0;
        for (row, often) in rows {
            write_number(&mut self.postings, (row - before) << 1 | u32::from(*often > 1));
            if *often > 1 {
                write_number(&mut self.postings, u32::from(*often));
            }
            before = *row;
        }
        self.terms.extend_from_slice(term);
        self.term_ends.push(self.terms.len() as u32);
        self.counts.push(rows.len() as u32);
        self.posting_ends.push(self.postings.len() as u32);
    }

    /// Gives back the room of arrays that have grown.
    fn shrunk(mut self) -> Self {
        self.terms.shrink_to_fit();
        self.term_ends.shrink_to_fit();
        self.counts.shrink_to_fit();
        self.postings.shrink_to_fit();
        self.posting_ends.shrink_to_fit();
        self
    }
}

/// Reads a number of seven bits a byte, the lowest first.
#[inline]
fn read_number(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0_u32, 0_u32);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u32::from(byte & 0x7f).wrapping_shl(shift);
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Collects the terms of many texts for one [`Dictionary`].
#[derive(Default)]
pub(crate) struct Builder {
    numbers: HashMap<Box<str>, u32>,
    /// The terms of all rows with their frequencies, and where each row's end.
    found: Vec<(u32, Frequency)>,
    ends: Vec<usize>,
    lower: String,
}

impl Builder {
    /// Adds the text of the next row; returns its number of terms.
    pub fn add(&mut self, text: &str) -> u16 {
        let (start, mut length) = (self.found.len(), 0_u16);
        let Self { numbers, found, lower, .. } = self;
        each_term(text, lower, |term| {
            length = length.saturating_add(1);
            let number = match numbers.get(term) {
                Some(number) => *number,
                None => {
                    let number = numbers.len() as u32;
                    numbers.insert(term.into(), number);
                    number
                }
            };
            match found[start..].iter_mut().find(|(n, _)| *n == number) {
                Some((_, often)) => *often = often.saturating_add(1),
                None => found.push((number, 1)),
            }
        });
        self.ends.push(self.found.len());
        length
    }

    /// The dictionary, with the rows in another order: `order` has the old row of each new one.
    pub fn finish(self, order: &[u32]) -> Dictionary {
        let mut starts = vec![0_usize; self.numbers.len() + 1];
        self.found.iter().for_each(|(number, _)| starts[*number as usize + 1] += 1);
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![(0_u32, 0); self.found.len()];
        for (new, old) in order.iter().enumerate() {
            let old = *old as usize;
            let start = old.checked_sub(1).map_or(0, |before| self.ends[before]);
            for (number, often) in &self.found[start..self.ends[old]] {
                let place = &mut next[*number as usize];
                rows[*place] = (new as u32, *often);
                *place += 1;
            }
        }
        let mut terms: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        terms.sort_unstable();
        let mut made = Dictionary::default();
        for (term, number) in &terms {
            made.push(term.as_bytes(), &rows[starts[*number as usize]..next[*number as usize]]);
        }
        made.shrunk()
    }
}

/// The words of an index.
#[derive(Default)]
pub(crate) struct Words {
    base: Dictionary,
    /// Rows added since, in order.
    later: HashMap<Box<str>, Vec<(u32, Frequency)>>,
    lower: String,
}

impl Words {
    pub fn new(base: Dictionary) -> Self {
        Self { base, ..Self::default() }
    }

    /// Adds a row, which is higher than all before; returns its number of terms.
    pub fn add(&mut self, row: u32, text: &str) -> u16 {
        let Self { later, lower, .. } = self;
        let mut length = 0_u16;
        each_term(text, lower, |term| {
            length = length.saturating_add(1);
            if !later.contains_key(term) {
                later.insert(term.into(), vec![]);
            }
            let Some(rows) = later.get_mut(term) else { return };
            match rows.last_mut().filter(|(last, _)| *last == row) {
                Some((_, often)) => *often = often.saturating_add(1),
                None => rows.push((row, 1)),
            }
        });
        length
    }

    /// The postings of a term; `None` where no row ever had it.
    pub fn term(&self, term: &str) -> Option<Term<'_>> {
        let base = self.base.find(term);
        let later = self.later.get(term).map(Vec::as_slice);
        (base.is_some() || later.is_some()).then(|| Term { words: self, base, later: later.unwrap_or_default() })
    }

    /// The sum of the frequencies of all terms in each row.
    pub fn frequencies(&self, rows: usize) -> Vec<u32> {
        let mut sums = vec![0_u32; rows];
        let mut add = |row: u32, often: Frequency| {
            if let Some(sum) = sums.get_mut(row as usize) {
                *sum = sum.saturating_add(u32::from(often));
            }
        };
        (0..self.base.term_ends.len()).for_each(|term| self.base.each(term, &mut add));
        self.later.values().flatten().for_each(|(row, often)| add(*row, *often));
        sums
    }

    /// A dictionary of the rows that are left: `remap` has the new row of each old one, [`u32::MAX`] where it is gone.
    pub fn compacted(&self, remap: &[u32]) -> Dictionary {
        let mut later: Vec<&str> = self.later.keys().map(|term| &**term).collect();
        later.sort_unstable();
        let mut later = later.into_iter().peekable();
        let (mut made, mut rows) = (Dictionary::default(), vec![]);
        let mut push = |made: &mut Dictionary, term: &[u8], base: Option<usize>| {
            rows.clear();
            let new = |row: u32| remap.get(row as usize).copied().filter(|new| *new != GONE);
            if let Some(base) = base {
                self.base.each(base, |row, often| rows.extend(new(row).map(|row| (row, often))));
            }
            let added = std::str::from_utf8(term).ok().and_then(|term| self.later.get(term));
            rows.extend(added.into_iter().flatten().filter_map(|(row, often)| Some((new(*row)?, *often))));
            rows.sort_unstable();
            made.push(term, &rows);
        };
        for n in 0..self.base.term_ends.len() {
            let term = self.base.term(n);
            while let Some(new) = later.next_if(|new| new.as_bytes() < term) {
                push(&mut made, new.as_bytes(), None);
            }
            later.next_if(|new| new.as_bytes() == term);
            push(&mut made, term, Some(n));
        }
        later.for_each(|term| push(&mut made, term.as_bytes(), None));
        made.shrunk()
    }
}

/// The postings of one term.
pub(crate) struct Term<'a> {
    words: &'a Words,
    base: Option<usize>,
    later: &'a [(u32, Frequency)],
}

impl Term<'_> {
    /// How many rows had the term when they were added.
    pub fn count(&self) -> u32 {
        let base = self.base.and_then(|n| self.words.base.counts.get(n)).copied();
        base.unwrap_or_default() + self.later.len() as u32
    }

    /// Calls `each` with every run of rows, in order, and the frequency in each of them.
    #[inline]
    pub fn each_run(&self, mut each: impl FnMut(Range<u32>, Frequency)) {
        if let Some(base) = self.base {
            self.words.base.each_run(base, &mut each);
        }
        self.later.iter().for_each(|(row, often)| each(*row..row.saturating_add(1), *often));
    }

    /// Calls `each` with every row, in order, and the frequency.
    #[inline]
    pub fn each(&self, mut each: impl FnMut(u32, Frequency)) {
        if let Some(base) = self.base {
            self.words.base.each(base, &mut each);
        }
        self.later.iter().for_each(|(row, often)| each(*row, *often));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(words: &Words, term: &str) -> Vec<(u32, Frequency)> {
        let mut rows = vec![];
        words.term(term).into_iter().for_each(|term| term.each(|row, often| rows.push((row, often))));
        rows
    }

    #[test]
    fn what_was_built_added_and_compacted_is_the_same() {
        let texts: Vec<String> =
            (0..500).map(|n| format!("home home n{n} {} x{}", "often ".repeat(n % 3), n % 200)).collect();
        let mut builder = Builder::default();
        let lengths: Vec<u16> = texts.iter().map(|text| builder.add(text)).collect();
        let order: Vec<u32> = (0..500).collect();
        let built = Words::new(builder.finish(&order));
        let mut added = Words::default();
        for (row, text) in texts.iter().enumerate() {
            assert_eq!(added.add(row as u32, text), lengths[row]);
        }
        assert_eq!(added.compacted(&order), built.base);
        for term in ["hom", "often", "n17", "x199", "nothing", ""] {
            assert_eq!(rows(&built, term), rows(&added, term), "{term}");
        }
        assert_eq!(rows(&built, "x7"), [(7, 1), (207, 1), (407, 1)]);
        assert_eq!(built.term("hom").map(|t| t.count()), Some(500));
        // Every second row is gone, the others are turned round.
        let remap: Vec<u32> = (0..500).map(|n| if n % 2 == 0 { GONE } else { 249 - n / 2 }).collect();
        let turned = Words::new(built.compacted(&remap));
        assert_eq!(rows(&turned, "x7"), [(46, 1), (146, 1), (246, 1)]);
        assert_eq!(rows(&turned, "n0"), []);
        let order: Vec<u32> = (0..250).map(|n| 499 - 2 * n).collect();
        let mut builder = Builder::default();
        for text in &texts {
            builder.add(text);
        }
        assert_eq!(builder.finish(&order), turned.base);
    }
}
