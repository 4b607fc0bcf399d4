//! Linear passes over whole columns: the nearest sketches, the highest sums.

pub(crate) use embed::scan::Bits;

/// The words of a vector's sketch.
pub(crate) type Sketch = [u64; 6];

/// Distances of sketches: 0 to 384.
const DISTANCES: usize = 385;

/// In how many bits two sketches differ. Adds the six words bit by bit first, so that three counts do for six: without
/// a machine instruction for it a count takes a dozen others.
#[inline]
fn distance(a: &Sketch, b: &Sketch) -> u16 {
    let [x0, x1, x2, x3, x4, x5] = std::array::from_fn(|n| a[n] ^ b[n]);
    let (one, one_carry) = add(x0, x1, x2);
    let (other, other_carry) = add(x3, x4, x5);
    let (ones, carry) = (one ^ other, one & other);
    let (twos, fours) = add(one_carry, other_carry, carry);
    (ones.count_ones() + 2 * twos.count_ones() + 4 * fours.count_ones()) as u16
}

/// Adds three bits in each place: the sum and the carry.
#[inline]
fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    (a ^ b ^ c, (a & b) | ((a ^ b) & c))
}

/// The `most` rows nearest to `to` among those with a bit in `mask`. Where more rows have the largest of these distances
/// than are wanted, `first` picks that many of them.
pub(crate) fn nearest(
    to: &Sketch,
    (sketches, mask): (&[Sketch], &Bits),
    most: usize,
    distances: &mut Vec<u16>,
    first: impl FnOnce(Vec<u32>, usize) -> Vec<u32>,
) -> Vec<u32> {
    let rows = sketches.len();
    embed::scan::nearest::<DISTANCES>(rows, mask, most, distances, |row| distance(to, &sketches[row]), first)
}

/// The rows with the `most` highest sums among those with a bit in `mask`; a sum of zero is none. Where more rows have the
/// lowest of these sums than are wanted, `first` is given a test for that sum, and picks so many of them.
pub(crate) fn highest(
    sums: &[f32],
    mask: &Bits,
    most: usize,
    first: impl FnOnce(&dyn Fn(u32) -> bool, usize) -> Vec<u32>,
) -> Vec<u32> {
    let (lowest, wanted) = lowest_of_few(sums, mask, most).unwrap_or_else(|| lowest_of(sums, mask, most));
    let mut found = Vec::with_capacity(most.min(sums.len()));
    each_masked(sums, mask, |row, bits| {
        if bits > lowest {
            found.push(row);
        }
    });
    if wanted > 0 {
        let tied =
            |row: u32| mask.has(row as usize) && sums.get(row as usize).is_some_and(|sum| sum.to_bits() == lowest);
        found.extend(first(&tied, wanted));
    }
    found
}

/// Like [`lowest_of`] in one pass; `None` where there are more than some dozens of different sums. Words that all rows have give
/// only as many as there are lengths.
fn lowest_of_few(sums: &[f32], mask: &Bits, most: usize) -> Option<(u32, usize)> {
    const SLOTS: usize = 256;
    const FEW: usize = SLOTS / 4;
    // Rows take turns with two counts, so that none waits for the one before.
    let (mut values, mut counts, mut different) = ([0_u32; SLOTS], [[0_u32; SLOTS]; 2], 0);
    for (n, block) in sums.chunks(64).enumerate() {
        let word = mask.word(n);
        for (bit, sum) in block.iter().enumerate() {
            let bits = sum.to_bits();
            if bits == 0 || word >> bit & 1 == 0 {
                continue;
            }
            let mut slot = (bits.wrapping_mul(0x9e37_79b1) >> 24) as usize % SLOTS;
            while values[slot] != bits {
                if values[slot] == 0 {
                    values[slot] = bits;
                    different += 1;
                } else {
                    slot = (slot + 1) % SLOTS;
                }
            }
            counts[bit % 2][slot] += 1;
        }
        // A block adds 64 at most, so there is always a free slot.
        if different > FEW {
            return None;
        }
    }
    let mut found: Vec<(u32, usize)> =
        (0..SLOTS).map(|slot| (values[slot], (counts[0][slot] + counts[1][slot]) as usize)).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    let mut wanted = most;
    for (value, count) in found.into_iter().filter(|(_, count)| *count > 0) {
        if count > wanted {
            return Some((value, wanted));
        }
        wanted -= count;
    }
    Some((0, 0))
}

/// The bits of the lowest of the `most` highest sums, and how many rows with exactly this sum are among these; zero where
/// there are no more sums than that. Sums above zero compare as their bits do.
fn lowest_of(sums: &[f32], mask: &Bits, most: usize) -> (u32, usize) {
    let (mut lowest, mut wanted) = (0, most);
    // Digit by digit, the highest first.
    for (shift, width) in [(21, 11), (10, 11), (0, 10)] {
        let mut counts = [[0_u32; 1 << 11]; 2];
        let above = (shift + width).min(31);
        let known = u64::from(lowest) >> above;
        each_masked(sums, mask, |row, bits| {
            if u64::from(bits) >> above == known {
                counts[row as usize % 2][(bits >> shift & ((1 << width) - 1)) as usize] += 1;
            }
        });
        let count = |digit: usize| (counts[0][digit] + counts[1][digit]) as usize;
        if shift == 21 && (0..1 << width).map(count).sum::<usize>() <= most {
            return (0, 0);
        }
        let mut digit = (1 << width) - 1;
        while digit > 0 && count(digit) <= wanted {
            wanted -= count(digit);
            digit -= 1;
        }
        lowest |= (digit as u32) << shift;
    }
    (lowest, wanted)
}

/// Calls `each` with the rows that have a bit in `mask` and a sum above zero, and the bits of the sum.
#[inline]
fn each_masked(sums: &[f32], mask: &Bits, mut each: impl FnMut(u32, u32)) {
    for (n, block) in sums.chunks(64).enumerate() {
        let word = mask.word(n);
        if word == 0 {
            continue;
        }
        // Mostly all 64 rows may be found.
        let hidden = word != u64::MAX;
        for (bit, sum) in block.iter().enumerate() {
            let bits = sum.to_bits();
            if bits != 0 && !(hidden && word >> bit & 1 == 0) {
                each((n * 64 + bit) as u32, bits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are always the same.
    fn numbers(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        }
    }

    #[test]
    fn a_distance_is_the_number_of_different_bits() {
        let mut next = numbers(88_172_645_463_325_252);
        for _ in 0..1000 {
            let (a, b): (Sketch, Sketch) = (std::array::from_fn(|_| next()), std::array::from_fn(|_| next() & next()));
            let plain: u32 = a.iter().zip(&b).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(u32::from(distance(&a, &b)), plain);
            assert_eq!(distance(&a, &a), 0);
            assert_eq!(distance(&a, &a.map(|word| !word)), 384);
        }
    }

    #[test]
    fn the_nearest_are_those_of_a_sort() {
        let mut next = numbers(7);
        for (rows, most) in [(0, 3), (1, 3), (63, 64), (64, 1), (1000, 300), (1000, 1000), (130, 0)] {
            // Few bits, so that many are equally near.
            let sketches: Vec<Sketch> = (0..rows).map(|_| [next() & 7, 0, next() & 3, 0, 0, next() & 1]).collect();
            let mut mask = Bits::default();
            (0..rows).for_each(|row| mask.set(row, !next().is_multiple_of(3)));
            let to = [next() & 7, 0, 0, 0, 0, 0];
            let mut plain: Vec<(u16, u32)> =
                (0..rows).filter(|row| mask.has(*row)).map(|row| (distance(&to, &sketches[row]), row as u32)).collect();
            plain.sort_unstable();
            plain.truncate(most);
            let mut plain: Vec<u32> = plain.into_iter().map(|(_, row)| row).collect();
            plain.sort_unstable();
            let first = |tied: Vec<u32>, wanted: usize| tied.into_iter().take(wanted).collect();
            let mut found = nearest(&to, (&sketches, &mask), most, &mut vec![], first);
            found.sort_unstable();
            assert_eq!(found, plain, "{rows} {most}");
        }
    }

    #[test]
    fn the_highest_are_those_of_a_sort() {
        let mut next = numbers(9);
        for (rows, most, values) in
            [(0, 3, 1), (5, 9, 3), (1000, 300, 1), (1000, 300, 4), (1000, 300, 1_000_000), (1000, 999, 50), (9, 0, 2)]
        {
            let sums: Vec<f32> = (0..rows)
                .map(|_| if next().is_multiple_of(4) { 0.0 } else { 1e-6 + (next() % values) as f32 * 0.37 })
                .collect();
            let mut mask = Bits::default();
            (0..rows).for_each(|row| mask.set(row, !next().is_multiple_of(9)));
            let seen = |row: &u32| sums[*row as usize] > 0.0 && mask.has(*row as usize);
            let mut plain: Vec<u32> = (0..rows as u32).filter(seen).collect();
            plain.sort_by(|a, b| sums[*b as usize].total_cmp(&sums[*a as usize]).then(b.cmp(a)));
            plain.truncate(most);
            plain.sort_unstable();
            let last = |tied: &dyn Fn(u32) -> bool, wanted: usize| {
                (0..rows as u32).rev().filter(|row| tied(*row)).take(wanted).collect()
            };
            let mut found = highest(&sums, &mask, most, last);
            found.sort_unstable();
            assert_eq!(found, plain, "{rows} {most} {values}");
        }
    }
}
