//! The kernels in floats, written once for all processors: products, attention, normalisation, GELU.
//!
//! Everything here is inlined into the functions of `super::tables`, each compiled for one kind of processor.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

use super::simd::Simd;
use super::{BLOCK, Heads, Norm, Scratch, Weights};

/// Inputs that are worked through at once, so that their numbers stay in the nearest cache.
const DEPTH: usize = 128;
const EPSILON: f32 = 1e-12;

/// Operands of a product: `rows` times `depth` on the left, panels of `columns` numbers a row on the right,
/// one after another.
struct Product<'a> {
    left: &'a [f32],
    left_stride: usize,
    rows: usize,
    depth: usize,
    panels: &'a [f32],
    out: &'a mut [f32],
    out_stride: usize,
    /// Whether the product is added to `out`.
    add: bool,
}

impl Product<'_> {
    /// `W` registers side by side are a panel.
    #[inline(always)]
    fn compute<S: Simd, const W: usize>(self, simd: S) {
        let width = W * S::LANES;
        for (place, panel) in self.panels.chunks_exact(self.depth * width).enumerate() {
            for first in (0..self.rows).step_by(S::ROWS) {
                let rows = S::ROWS.min(self.rows - first);
                let left = &self.left[first * self.left_stride..];
                let out = &mut self.out[first * self.out_stride + place * width..];
                assert!(left.len() >= (rows - 1) * self.left_stride + self.depth);
                assert!(out.len() >= (rows - 1) * self.out_stride + width);
                let tile = Tile {
                    left: left.as_ptr(),
                    left_stride: self.left_stride,
                    depth: self.depth,
                    panel: panel.as_ptr(),
                    out: out.as_mut_ptr(),
                    out_stride: self.out_stride,
                    add: self.add,
                };
                // SAFETY: the slices were just found long enough, and a panel has `depth` rows of `width`.
                unsafe {
                    match rows {
                        1 => tile.compute::<S, W, 1>(simd),
                        2 => tile.compute::<S, W, 2>(simd),
                        3 => tile.compute::<S, W, 3>(simd),
                        4 => tile.compute::<S, W, 4>(simd),
                        5 => tile.compute::<S, W, 5>(simd),
                        _ => tile.compute::<S, W, 6>(simd),
                    }
                }
            }
        }
    }

    /// As wide as suits the processor.
    #[inline(always)]
    fn compute_wide<S: Simd>(self, simd: S) {
        if S::WIDE == 2 { self.compute::<S, 2>(simd) } else { self.compute::<S, 4>(simd) }
    }

    #[inline(always)]
    fn compute_head<S: Simd>(self, simd: S) {
        if S::HEAD_WIDE == 2 { self.compute::<S, 2>(simd) } else { self.compute::<S, 4>(simd) }
    }
}

/// As many rows and columns of a product as have their sums in registers.
struct Tile {
    left: *const f32,
    left_stride: usize,
    depth: usize,
    panel: *const f32,
    out: *mut f32,
    out_stride: usize,
    add: bool,
}

impl Tile {
    /// # Safety
    /// `R` rows of `depth` numbers begin `left_stride` apart, `R` rows of `W` registers `out_stride` apart; the panel has
    /// `depth` rows of `W` registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    unsafe fn compute<S: Simd, const W: usize, const R: usize>(&self, simd: S) {
        let mut sums = [[simd.splat(0.0); W]; R];
        if self.add {
            for row in 0..R {
                for place in 0..W {
                    // SAFETY: as the caller promises.
                    sums[row][place] = unsafe { simd.load_at(self.out.add(row * self.out_stride + place * S::LANES)) };
                }
            }
        }
        for at in 0..self.depth {
            let mut right = [simd.splat(0.0); W];
            for place in 0..W {
                // SAFETY: as the caller promises.
                right[place] = unsafe { simd.load_at(self.panel.add((at * W + place) * S::LANES)) };
            }
            for row in 0..R {
                // SAFETY: as the caller promises.
                let left = simd.splat(unsafe { *self.left.add(row * self.left_stride + at) });
                for place in 0..W {
                    sums[row][place] = simd.mul_add(left, right[place], sums[row][place]);
                }
            }
        }
        for row in 0..R {
            for place in 0..W {
                // SAFETY: as the caller promises.
                unsafe { simd.store_at(self.out.add(row * self.out_stride + place * S::LANES), sums[row][place]) };
            }
        }
    }
}

/// `out = x * weights + bias`, the weights as floats.
#[inline(always)]
pub fn linear<S: Simd>(simd: S, weights: &Weights, x: &[f32], out: &mut [f32], scratch: &mut Scratch) {
    let (inputs, outputs) = (weights.inputs(), weights.outputs());
    let (rows, blocks, width) = (x.len() / inputs, outputs / BLOCK, S::WIDE * S::LANES);
    weights.fill_bias(out);
    let mut first = 0;
    while first < inputs {
        let depth = DEPTH.min(inputs - first);
        for block in 0..blocks {
            let panels = &mut scratch.floats(depth * BLOCK)[..depth * BLOCK];
            for at in 0..depth {
                let (bytes, scale) = weights.row(first + at, block);
                for (part, bytes) in bytes.as_chunks::<16>().0.iter().enumerate() {
                    let place = part * 16 / width * depth * width + at * width + part * 16 % width;
                    let to = &mut panels[place..place + 16];
                    // SAFETY: both are sixteen long.
                    unsafe { simd.scale_bytes(bytes.as_ptr(), scale, to.as_mut_ptr()) };
                }
            }
            let product = Product {
                left: &x[first..],
                left_stride: inputs,
                rows,
                depth,
                panels,
                out: &mut out[block * BLOCK..],
                out_stride: outputs,
                add: true,
            };
            product.compute_wide(simd);
        }
        first += depth;
    }
}

/// Attention, head by head. The scores' scale is folded into the query's weights.
#[inline(always)]
pub fn attend<S: Simd>(simd: S, heads: &Heads, mixed: &mut [f32], scratch: &mut Scratch) {
    let Heads { query, key, value, width, head } = *heads;
    let length = query.len() / width;
    // Rows of scores are filled up to whole panels with what has no share.
    let padded = length.next_multiple_of(BLOCK);
    let (panels, scores) = scratch.pair(padded * head.max(BLOCK), length * padded);
    let (columns, head_columns) = (S::WIDE * S::LANES, S::HEAD_WIDE * S::LANES);
    for at in (0..width).step_by(head) {
        let keys = &mut panels[..padded * head];
        keys.fill(0.0);
        for (token, row) in key.chunks_exact(width).enumerate() {
            let panel = &mut keys[token / columns * columns * head..][..columns * head];
            for (to, number) in panel.chunks_exact_mut(columns).zip(&row[at..at + head]) {
                to[token % columns] = *number;
            }
        }
        let product = Product {
            left: &query[at..],
            left_stride: width,
            rows: length,
            depth: head,
            panels: keys,
            out: &mut *scores,
            out_stride: padded,
            add: false,
        };
        product.compute_wide(simd);
        for row in scores.chunks_exact_mut(padded) {
            row[length..].fill(f32::MIN);
            softmax(simd, row);
        }
        let values = &mut panels[..length * head];
        for (token, row) in value.chunks_exact(width).enumerate() {
            for (part, numbers) in row[at..at + head].chunks_exact(head_columns).enumerate() {
                values[(part * length + token) * head_columns..][..head_columns].copy_from_slice(numbers);
            }
        }
        let product = Product {
            left: &*scores,
            left_stride: padded,
            rows: length,
            depth: length,
            panels: values,
            out: &mut mixed[at..],
            out_stride: width,
            add: false,
        };
        product.compute_head(simd);
    }
}

/// Adds `more` to `x`, where there is some, and brings each row to mean 0 and variance 1, then to `norm`'s.
#[inline(always)]
pub fn normalise<S: Simd>(simd: S, x: &mut [f32], more: Option<&[f32]>, norm: &Norm) {
    let width = norm.gain.len();
    for (place, row) in x.chunks_exact_mut(width).enumerate() {
        if let Some(more) = more {
            for (x, y) in row.chunks_exact_mut(S::LANES).zip(more[place * width..].chunks_exact(S::LANES)) {
                simd.store(x, simd.add(simd.load(x), simd.load(y)));
            }
        }
        let mut sums = simd.splat(0.0);
        for x in row.chunks_exact(S::LANES) {
            sums = simd.add(sums, simd.load(x));
        }
        let mean = simd.splat(simd.sum(sums) / width as f32);
        let mut squares = simd.splat(0.0);
        for x in row.chunks_exact_mut(S::LANES) {
            let apart = simd.sub(simd.load(x), mean);
            squares = simd.mul_add(apart, apart, squares);
            simd.store(x, apart);
        }
        let scale = simd.splat(1.0 / (simd.sum(squares) / width as f32 + EPSILON).sqrt());
        let factors = norm.gain.chunks_exact(S::LANES).zip(norm.bias.chunks_exact(S::LANES));
        for (x, (gain, bias)) in row.chunks_exact_mut(S::LANES).zip(factors) {
            let scaled = simd.mul(simd.load(x), scale);
            simd.store(x, simd.mul_add(scaled, simd.load(gain), simd.load(bias)));
        }
    }
}

/// The activation function of the feed-forward step.
#[inline(always)]
pub fn gelu<S: Simd>(simd: S, x: &mut [f32]) {
    let half = simd.splat(0.5);
    for x in x.chunks_exact_mut(S::LANES) {
        let number = simd.load(x);
        let share = erf(simd, simd.mul(number, simd.splat(FRAC_1_SQRT_2)));
        simd.store(x, simd.mul(number, simd.mul_add(half, share, half)));
    }
}

#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32]) {
    let mut most = simd.splat(f32::MIN);
    for x in row.chunks_exact(S::LANES) {
        most = simd.max(most, simd.load(x));
    }
    let most = simd.splat(simd.most(most));
    let mut sums = simd.splat(0.0);
    for x in row.chunks_exact_mut(S::LANES) {
        let power = exp(simd, simd.sub(simd.load(x), most));
        sums = simd.add(sums, power);
        simd.store(x, power);
    }
    let scale = simd.splat(1.0 / simd.sum(sums));
    for x in row.chunks_exact_mut(S::LANES) {
        simd.store(x, simd.mul(simd.load(x), scale));
    }
}

/// e to the `x`, for `x` up to 0, to 1e-7.
#[inline(always)]
pub fn exp<S: Simd>(simd: S, x: S::F) -> S::F {
    // Added and taken away again it rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, so that a multiple of it can be taken away exactly.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const SERIES: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5];
    let x = simd.max(x, simd.splat(-87.0));
    let twos = simd.sub(simd.mul_add(x, simd.splat(LOG2_E), simd.splat(ROUND)), simd.splat(ROUND));
    let rest = simd.mul_add(twos, simd.splat(-LN_2[1]), simd.mul_add(twos, simd.splat(-LN_2[0]), x));
    let series = polynomial(simd, &SERIES, rest);
    let power = simd.add(simd.mul_add(simd.mul(series, rest), rest, rest), simd.splat(1.0));
    simd.mul(simd.power_of_two(twos), power)
}

/// The error function to 1e-6, as a quotient of two polynomials in the square of `x`.
#[inline(always)]
pub fn erf<S: Simd>(simd: S, x: S::F) -> S::F {
    const NUMERATOR: [f32; 7] =
        [-2.726_142_3e-10, 2.770_681_6e-8, -2.101_024e-6, -5.692_507e-5, -7.349_906e-4, -2.954_6e-3, -1.609_603_3e-2];
    const DENOMINATOR: [f32; 5] = [-1.456_607_2e-5, -2.133_741e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    let x = simd.min(simd.max(x, simd.splat(-4.0)), simd.splat(4.0));
    let square = simd.mul(x, x);
    let numerator = simd.mul(x, polynomial(simd, &NUMERATOR, square));
    simd.div(numerator, polynomial(simd, &DENOMINATOR, square))
}

/// From the factor of the highest power down.
#[inline(always)]
fn polynomial<S: Simd>(simd: S, factors: &[f32], x: S::F) -> S::F {
    let mut sum = simd.splat(0.0);
    for factor in factors {
        sum = simd.mul_add(sum, x, simd.splat(*factor));
    }
    sum
}
