//! A linear pass over the signatures of many vectors: the rows nearest to one.

use std::cmp::Ordering;

/// More than any distance: a row that may not be found.
const HIDDEN: u16 = u16::MAX;

/// One bit for each row.
#[derive(Default, Clone, Debug, PartialEq)]
pub struct Bits(pub Vec<u64>);

impl Bits {
    /// Whether a row's bit is set.
    #[inline]
    pub fn has(&self, row: usize) -> bool {
        self.word(row / 64) >> (row % 64) & 1 == 1
    }

    /// The bits of 64 rows.
    #[inline]
    pub fn word(&self, n: usize) -> u64 {
        self.0.get(n).copied().unwrap_or_default()
    }

    /// Sets or clears a row's bit.
    pub fn set(&mut self, row: usize, on: bool) {
        if self.0.len() <= row / 64 {
            if !on {
                return;
            }
            self.0.resize(row / 64 + 1, 0);
        }
        if let Some(word) = self.0.get_mut(row / 64) {
            *word = *word & !(1 << (row % 64)) | u64::from(on) << (row % 64);
        }
    }

    /// How many are set.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// The `most` rows nearest by `distance` among the first `rows` with a bit in `mask`. `DISTANCES` is more than any distance.
/// Where more rows have the largest of these distances than are wanted, `first` picks that many of them. `distances` is
/// reused between searches.
#[inline]
pub fn nearest<const DISTANCES: usize>(
    rows: usize,
    mask: &Bits,
    most: usize,
    distances: &mut Vec<u16>,
    distance: impl Fn(usize) -> u16,
    first: impl FnOnce(Vec<u32>, usize) -> Vec<u32>,
) -> Vec<u32> {
    // Most distances are much the same: rows take turns with four counts, so that none waits for the one before.
    let mut counts = [[0_u32; DISTANCES]; 4];
    distances.clear();
    distances.reserve(rows);
    for start in (0..rows).step_by(64) {
        let end = rows.min(start + 64);
        match mask.word(start / 64) {
            0 => distances.resize(end, HIDDEN),
            word => {
                for row in start..end {
                    let (bit, distance) = (row - start, distance(row));
                    let seen = word >> bit & 1;
                    counts[bit % 4][usize::from(distance).min(DISTANCES - 1)] += seen as u32;
                    distances.push(if seen == 1 { distance } else { HIDDEN });
                }
            }
        }
    }
    let histogram: [u32; DISTANCES] = std::array::from_fn(|n| counts.iter().map(|count| count[n]).sum());
    // The distance at which there are enough, and how many rows at exactly that distance are still wanted.
    let (mut limit, mut wanted) = (0, most);
    while limit < DISTANCES && histogram[limit] as usize <= wanted {
        wanted -= histogram[limit] as usize;
        limit += 1;
    }
    let (mut found, mut tied) = (Vec::with_capacity(most.min(rows)), vec![]);
    for (row, distance) in distances.iter().enumerate() {
        match usize::from(*distance).cmp(&limit) {
            Ordering::Less => found.push(row as u32),
            Ordering::Equal if wanted > 0 => tied.push(row as u32),
            _ => {}
        }
    }
    if wanted > 0 {
        found.extend(first(tied, wanted));
    }
    found
}
