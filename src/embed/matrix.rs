//! The one product that the model is made of: some rows times sixteen columns.
//!
//! Everything here is inlined into the pass that uses it, because only then is it compiled for that pass's processor.
//! For the same reason hot code has counted loops over arrays and no closures.

/// Columns of a panel: two registers of AVX2, four of NEON.
pub const COLUMNS: usize = 16;
/// Rows of a block: as many as leave their sums in registers.
const ROWS: usize = 6;

/// Sixteen columns of the right side, one row an entry.
pub type Panel = [[f32; COLUMNS]];

/// How to multiply and add.
pub trait Arithmetic {
    /// `a * b + c`.
    fn add(a: f32, b: f32, c: f32) -> f32;
}

/// In one instruction, which a processor must have: without it this is a slow function.
pub struct Fused;
/// In two, which every processor has.
pub struct Plain;

impl Arithmetic for Fused {
    #[inline(always)]
    fn add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

impl Arithmetic for Plain {
    #[inline(always)]
    fn add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// The left side of a product, laid out for the kernel: blocks of rows, in each the rows' numbers side by side.
#[derive(Default)]
pub struct Left {
    numbers: Vec<[f32; ROWS]>,
    rows: usize,
    depth: usize,
}

impl Left {
    /// Takes `rows` times `depth` numbers; rows begin `stride` apart.
    #[inline(always)]
    pub fn take(&mut self, from: &[f32], rows: usize, depth: usize, stride: usize) {
        (self.rows, self.depth) = (rows, depth);
        self.numbers.clear();
        self.numbers.resize(rows.div_ceil(ROWS) * depth, [0.0; ROWS]);
        for (place, row) in from.chunks(stride).take(rows).enumerate() {
            let block = &mut self.numbers[place / ROWS * depth..][..depth];
            for (to, number) in block.iter_mut().zip(row) {
                to[place % ROWS] = *number;
            }
        }
    }

    /// Adds the product of the columns from `first` on and `panel` to the first `columns` columns of `out`, whose rows
    /// begin `stride` apart.
    #[inline(always)]
    pub fn times<A: Arithmetic>(&self, first: usize, panel: &Panel, out: &mut [f32], stride: usize, columns: usize) {
        for (place, block) in self.numbers.chunks(self.depth).enumerate() {
            let (block, out) = (&block[first..][..panel.len()], &mut out[place * ROWS * stride..]);
            // The last block may have fewer rows, and short texts have little else.
            match self.rows - place * ROWS {
                1 => put(kernel::<A, 1>(block, panel), out, stride, columns),
                2 => put(kernel::<A, 2>(block, panel), out, stride, columns),
                3 => put(kernel::<A, 3>(block, panel), out, stride, columns),
                4 => put(kernel::<A, 4>(block, panel), out, stride, columns),
                5 => put(kernel::<A, 5>(block, panel), out, stride, columns),
                _ => put(kernel::<A, ROWS>(block, panel), out, stride, columns),
            }
        }
    }
}

/// The sums of the first `R` rows of a block; they stay in registers until the panel ends.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn kernel<A: Arithmetic, const R: usize>(block: &[[f32; ROWS]], panel: &Panel) -> [[f32; COLUMNS]; R] {
    let mut sums = [[0.0; COLUMNS]; R];
    for (left, right) in block.iter().zip(panel) {
        for row in 0..R {
            for column in 0..COLUMNS {
                sums[row][column] = A::add(left[row], right[column], sums[row][column]);
            }
        }
    }
    sums
}

#[inline(always)]
fn put<const R: usize>(sums: [[f32; COLUMNS]; R], out: &mut [f32], stride: usize, columns: usize) {
    for (row, sums) in out.chunks_mut(stride).zip(&sums) {
        for (to, sum) in row.iter_mut().zip(&sums[..columns]) {
            *to += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are exact in any order of adding.
    fn number(place: usize) -> f32 {
        ((place * 37) % 13) as f32 - 6.0
    }

    #[test]
    fn products_are_right_for_any_number_of_rows_and_columns() {
        for (rows, columns, depth) in [(1, 16, 5), (5, 3, 32), (6, 16, 1), (7, 1, 9), (12, 16, 40), (16, 15, 33)] {
            let from: Vec<f32> = (0..rows * 50).map(number).collect();
            let mut panel = vec![[0.0; COLUMNS]; depth];
            panel.iter_mut().flatten().enumerate().for_each(|(place, to)| *to = number(place + 5));
            let mut left = Left::default();
            left.take(&from, rows, depth, 50);
            let mut outs = [vec![1.0; rows * 20], vec![1.0; rows * 20]];
            left.times::<Fused>(0, &panel, &mut outs[0], 20, columns);
            // In two parts, as deep products are made.
            left.times::<Plain>(0, &panel[..depth / 2], &mut outs[1], 20, columns);
            left.times::<Plain>(depth / 2, &panel[depth / 2..], &mut outs[1], 20, columns);
            for (place, (a, b)) in outs[0].iter().zip(&outs[1]).enumerate() {
                let (row, column) = (place / 20, place % 20);
                let sum: f32 = (0..depth).map(|d| from[row * 50 + d] * panel[d][column.min(COLUMNS - 1)]).sum();
                let expected = if column < columns { 1.0 + sum } else { 1.0 };
                assert_eq!((*a, *b), (expected, expected), "{rows} {columns} {depth}: {row} {column}");
            }
        }
    }
}
