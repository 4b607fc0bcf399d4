//! Postings: the ordinals of records within a segment, as differences in variable length, and as bits.

use crate::{Result, word_rows::damaged};

/// Appends a number, seven bits a byte.
pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off the front.
pub(super) fn take_number(bytes: &mut &[u8]) -> Result<u32> {
    let (mut number, mut shift) = (0_u32, 0);
    loop {
        let (byte, rest) = bytes.split_first().ok_or_else(damaged)?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Ok(number);
        }
        shift += 7;
        if shift > 28 {
            return Err(damaged());
        }
    }
}

/// Encodes ascending ordinals.
pub(super) fn encode(ordinals: &[u32]) -> Vec<u8> {
    let (mut bytes, mut last) = (vec![], 0);
    for ordinal in ordinals {
        put_number(&mut bytes, ordinal - last);
        last = *ordinal;
    }
    bytes
}

/// Calls `each` with the ordinals.
pub(super) fn decode(mut bytes: &[u8], each: &mut impl FnMut(u32) -> Result<()>) -> Result<()> {
    let mut last = 0_u32;
    while !bytes.is_empty() {
        last = last.checked_add(take_number(&mut bytes)?).ok_or_else(damaged)?;
        each(last)?;
    }
    Ok(())
}

/// A set of ordinals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Vec<u64>,
    length: u32,
}

impl Bits {
    pub fn none(length: u32) -> Self {
        Self { words: vec![0; length.div_ceil(64) as usize], length }
    }

    pub fn set(&mut self, ordinal: u32) -> Result<()> {
        if ordinal >= self.length {
            return Err(damaged());
        }
        self.words[(ordinal / 64) as usize] |= 1 << (ordinal % 64);
        Ok(())
    }

    pub fn has(&self, ordinal: u32) -> bool {
        self.words.get((ordinal / 64) as usize).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    pub fn and(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    pub fn or(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The ordinals, in order.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(n, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(n as u32 * 64 + bit)
            })
        })
    }

    /// The greatest ordinal below `end`.
    pub fn last_below(&self, end: u32) -> Option<u32> {
        let end = end.min(self.length);
        let (at, rest) = ((end / 64) as usize, end % 64);
        let partial = self.words.get(at).map_or(0, |word| word & ((1 << rest) - 1));
        let last = |at: usize, word: u64| Some(at as u32 * 64 + 63 - word.leading_zeros());
        if partial != 0 {
            return last(at, partial);
        }
        let (at, word) =
            self.words[..at.min(self.words.len())].iter().enumerate().rev().find(|(_, word)| **word != 0)?;
        last(at, *word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_survive_encoding() {
        let all = [0, 1, 127, 128, 129, 40_000, 3_000_000, u32::MAX];
        let bytes = encode(&all);
        let mut back = vec![];
        decode(&bytes, &mut |ordinal| {
            back.push(ordinal);
            Ok(())
        })
        .unwrap();
        assert_eq!(back, all);
        for bad in [&[0x80][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 1], &[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1]] {
            let decoded = decode(bad, &mut |_| Ok(()));
            assert!(decoded.is_err() || bad.len() == 7, "{bad:?}");
        }
    }

    #[test]
    fn bits_are_found_from_the_end() {
        for length in [1, 63, 64, 65, 200] {
            let mut bits = Bits::none(length);
            let all: Vec<u32> = (0..length).filter(|n| n % 7 == 0 || *n == length - 1).collect();
            all.iter().for_each(|n| bits.set(*n).unwrap());
            assert!(bits.set(length).is_err());
            let (mut found, mut end) = (vec![], u32::MAX);
            while let Some(last) = bits.last_below(end) {
                found.push(last);
                end = last;
            }
            found.reverse();
            assert_eq!((&found, bits.count()), (&all, all.len()));
            assert_eq!(bits.ordinals().collect::<Vec<_>>(), all);
            assert!((0..length + 70).all(|n| bits.has(n) == all.contains(&n)));
        }
    }
}
