//! Deltas between a chunk and the image of an earlier release.
//!
//! A relinked program is mostly its predecessor with shifted addresses: no chunk is equal, but most bytes are. A delta copies ranges
//! of the base, adds a difference to each byte (mostly zeros, which compress to almost nothing), and inserts what is new.

use crate::{
    disk::DiskFile,
    error::{Error, Result},
};

/// The bytes compared for equality at a position of the base that the index knows.
const ANCHOR: usize = 8;
/// Every so many bytes of the base are in the index.
const STRIDE: usize = 2;
/// A copy ends where this many more bytes differ than match.
const GIVE_UP: i64 = 32;
/// The fewest matching bytes that make a copy worth its place.
const WORTH: i64 = 24;

/// An image of an earlier release in memory, with an index; for building bundles only.
pub struct Base {
    bytes: Vec<u8>,
    /// Hash of an anchor → its position divided by the stride, plus one.
    table: Vec<u32>,
    /// The difference between positions in the base and in the new image, where the last copy ended.
    shift: i64,
}

fn hash(anchor: &[u8], size: usize) -> usize {
    let word = anchor.get(..ANCHOR).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes);
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24) as usize & (size - 1)
}

/// The length of the copy that begins both slices, and the matching bytes it is worth.
fn extent(new: &[u8], base: &[u8]) -> (usize, i64) {
    let (mut score, mut best, mut length) = (0i64, 0i64, 0);
    for (at, (a, b)) in new.iter().zip(base).enumerate() {
        score += if a == b { 1 } else { -1 };
        if score > best {
            (best, length) = (score, at + 1);
        } else if score < best - GIVE_UP {
            break;
        }
    }
    (length, best)
}

impl Base {
    /// Indexes an image.
    pub fn new(bytes: Vec<u8>) -> Self {
        let size = (bytes.len() / STRIDE).next_power_of_two().clamp(1 << 10, 1 << 26);
        let mut table = vec![0; size];
        for at in (0..bytes.len().saturating_sub(ANCHOR)).step_by(STRIDE) {
            table[hash(&bytes[at..at + ANCHOR], size)] = (at / STRIDE + 1) as u32;
        }
        Self { bytes, table, shift: 0 }
    }

    /// The position in the base of a copy for `new`, which is at `at` in its image.
    fn look_up(&self, new: &[u8], at: i64) -> Option<usize> {
        let expected = usize::try_from(at + self.shift).ok().filter(|position| *position < self.bytes.len());
        if let Some(position) = expected
            && extent(&new[..new.len().min(64)], &self.bytes[position..]).1 >= WORTH
        {
            return Some(position);
        }
        let anchor = new.get(..ANCHOR)?;
        let position = (self.table[hash(anchor, self.table.len())] as usize).checked_sub(1)? * STRIDE;
        let fits = self.bytes.get(position..position + ANCHOR) == Some(anchor)
            && extent(&new[..new.len().min(256)], &self.bytes[position..]).1 >= WORTH;
        fits.then_some(position)
    }

    /// The uncompressed delta of a chunk at `offset` of its image.
    pub fn encode(&mut self, new: &[u8], offset: u64) -> Vec<u8> {
        let (mut copies, mut differences, mut literals) = (vec![], vec![], vec![]);
        let (mut at, mut literal, mut count, mut base_end) = (0, 0, 0u64, 0i64);
        let mut push = |literal: &[u8], copied: &[u8], base: &[u8], position: i64| {
            write_number(&mut copies, literal.len() as u64);
            write_number(&mut copies, copied.len() as u64);
            let jump = position - base_end;
            write_number(&mut copies, ((jump << 1) ^ (jump >> 63)) as u64);
            base_end = position + copied.len() as i64;
            differences.extend(copied.iter().zip(base).map(|(a, b)| a.wrapping_sub(*b)));
            literals.extend_from_slice(literal);
            count += 1;
        };
        while at < new.len() {
            let Some(mut position) = self.look_up(&new[at..], offset as i64 + at as i64) else {
                at += 1;
                continue;
            };
            self.shift = position as i64 - (offset as i64 + at as i64);
            while at > literal && position > 0 && new[at - 1] == self.bytes[position - 1] {
                (at, position) = (at - 1, position - 1);
            }
            let (length, _) = extent(&new[at..], &self.bytes[position..]);
            let copied = &new[at..at + length];
            push(&new[literal..at], copied, &self.bytes[position..], position as i64);
            at += length;
            literal = at;
        }
        if literal < new.len() {
            push(&new[literal..], &[], &[], 0);
        }
        let mut out = vec![];
        write_number(&mut out, count);
        out.extend(copies);
        out.extend(differences);
        out.extend(literals);
        out
    }
}

/// The most bytes of an uncompressed delta of a chunk.
pub fn limit(chunk: usize) -> usize {
    chunk + chunk / 2 + 64
}

/// Rebuilds a chunk of `length` bytes from an uncompressed delta and the image it refers to.
///
/// # Errors
/// `Refused` when the delta does not fit chunk or base; `Disk` when the base cannot be read.
pub fn decode(delta: &[u8], base: &dyn DiskFile, base_length: u64, length: usize) -> Result<Vec<u8>> {
    let wrong = || Error::Refused("a delta in the bundle is damaged: get the bundle again".into());
    let mut rest = delta;
    let count = read_number(&mut rest).filter(|count| *count <= length as u64).ok_or_else(wrong)?;
    let (mut steps, mut all, mut copied, mut base_end) = (vec![], 0u64, 0u64, 0i64);
    for _ in 0..count {
        let mut number = || read_number(&mut rest).ok_or_else(wrong);
        let (literal, copy, jump) = (number()?, number()?, number()?);
        let jump = (jump >> 1) as i64 ^ -((jump & 1) as i64);
        let position = base_end.checked_add(jump).ok_or_else(wrong)?;
        let end = u64::try_from(position).ok().and_then(|position| position.checked_add(copy)).ok_or_else(wrong)?;
        if literal > length as u64 || copy > length as u64 || end > base_length {
            return Err(wrong());
        }
        base_end = end as i64;
        copied += copy;
        all += literal + copy;
        steps.push((literal as usize, copy as usize, position as u64));
    }
    if all != length as u64 || rest.len() as u64 != all {
        return Err(wrong());
    }
    let (mut differences, mut literals) = rest.split_at_checked(copied as usize).ok_or_else(wrong)?;
    let mut out = Vec::with_capacity(length);
    for (literal, copy, position) in steps {
        let (now, later) = literals.split_at_checked(literal).ok_or_else(wrong)?;
        out.extend_from_slice(now);
        literals = later;
        let begin = out.len();
        out.resize(begin + copy, 0);
        let target = &mut out[begin..];
        base.read_exact_at(position, target).map_err(|why| Error::disk("the running version cannot be read", &why))?;
        let (now, later) = differences.split_at_checked(copy).ok_or_else(wrong)?;
        target.iter_mut().zip(now).for_each(|(byte, difference)| *byte = byte.wrapping_add(*difference));
        differences = later;
    }
    Ok(out)
}

/// Writes a number in seven-bit groups, the lowest first.
fn write_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Memory, noise};

    fn round_trip(base: &[u8], new: &[u8]) -> usize {
        let mut index = Base::new(base.to_vec());
        let delta = index.encode(new, 0);
        let out = decode(&delta, &Memory::of(base), base.len() as u64, new.len()).unwrap();
        assert_eq!(out, new);
        zstd::bulk::compress(&delta, 19).unwrap().len()
    }

    #[test]
    fn shifted_addresses_cost_little() {
        let base = noise(1, 60_000);
        let mut new = [&base[..20_000], b"sixteen new ones", &base[20_000..]].concat();
        // An address every 15 bytes changes by 16.
        for at in (0..new.len() - 4).step_by(15) {
            let word = u32::from_le_bytes(new[at..at + 4].try_into().unwrap()).wrapping_add(16);
            new[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        assert!(round_trip(&base, &base) < 40);
        let size = round_trip(&base, &new);
        assert!(size < new.len() / 20, "{size}");
    }

    #[test]
    fn anything_comes_back() {
        let base = noise(2, 5_000);
        for (base, new) in [
            (&[][..], &[][..]),
            (&[], b"new"),
            (&base, &[]),
            (&base, &base[4_000..]),
            (&base, &noise(3, 5_000)),
            (&base[..10], &base),
            (&[0; 5_000], &[0; 9_000]),
        ] {
            round_trip(base, new);
        }
    }

    #[test]
    fn a_damaged_delta_is_refused() {
        let base = noise(4, 3_000);
        let new = [&base[100..2_000], &noise(5, 300), &base[..500]].concat();
        let delta = Base::new(base.clone()).encode(&new, 0);
        let file = Memory::of(&base);
        for cut in 0..delta.len() {
            assert!(decode(&delta[..cut], &file, 3_000, new.len()).is_err(), "{cut}");
        }
        for at in 0..40 {
            let mut bad = delta.clone();
            bad[at] ^= 0xff;
            // It is refused, or gives other bytes of the same length, which the hash of the chunk then refuses.
            if let Ok(out) = decode(&bad, &file, 3_000, new.len()) {
                assert_eq!(out.len(), new.len());
            }
        }
        assert!(decode(&delta, &file, 3_000, new.len() + 1).is_err());
        assert!(decode(&delta, &file, 100, new.len()).is_err());
    }
}
