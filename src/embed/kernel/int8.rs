//! The linear layer with int8 dot products: half the work of floats.
//!
//! Each input of a token is multiplied by the scale of its weights and rounded to 16 bits of the greatest of them. Such a
//! number is two bytes, so a product is two sums of products of bytes. Rounding changes a vector's numbers by up to 2e-4,
//! a quarter of what storing it in bytes does; the sums themselves are exact.

use super::simd::{Dot, Simd};
use super::{BLOCK, Scratch, Weights};

/// Inputs that share a scale. A sum over them fits into 32 bits: 128 * 32,639 * 128 is less than 2³¹.
const DEPTH: usize = 128;
/// The greatest number whose two halves are both signed bytes.
const LIMIT: f32 = 32_639.0;
/// Rows of a tile, and registers side by side: as many as leave the sums in registers.
const ROWS: usize = 3;
const WIDE: usize = 4;

/// Quantized inputs of the rows of a tile.
struct QuantizedRows {
    /// Of the block's inputs.
    scales: [f32; DEPTH],
    high: [[u8; DEPTH]; ROWS],
    low: [[u8; DEPTH]; ROWS],
    /// Scale of each row's sums.
    factors: [f32; ROWS],
}

/// `out = x * weights + bias`, with integer sums.
#[inline(always)]
pub fn linear<D: Dot>(dot: D, weights: &Weights, x: &[f32], out: &mut [f32], scratch: &mut Scratch) {
    let (inputs, outputs) = (weights.inputs(), weights.outputs());
    let (rows, blocks) = (x.len() / inputs, outputs / BLOCK);
    let mut quantized =
        QuantizedRows { scales: [0.0; DEPTH], high: [[0; DEPTH]; ROWS], low: [[0; DEPTH]; ROWS], factors: [0.0; ROWS] };
    let panels = scratch.bytes(DEPTH * BLOCK);
    weights.fill_bias(out);
    for first in (0..inputs).step_by(DEPTH) {
        let depth = DEPTH.min(inputs - first);
        let panels = &mut panels[..depth * BLOCK];
        for block in 0..blocks {
            pack(dot, weights, first, block, panels, &mut quantized);
            for row in (0..rows).step_by(ROWS) {
                let height = ROWS.min(rows - row);
                for place in 0..height {
                    quantize(dot, &x[(row + place) * inputs + first..][..depth], place, &mut quantized);
                }
                tiles(dot, panels, &quantized, &mut out[row * outputs + block * BLOCK..], outputs, height);
            }
        }
    }
}

/// Lays out the bytes of a block of columns, a panel after another, four inputs of a column side by side.
#[inline(always)]
fn pack<D: Dot>(
    dot: D,
    weights: &Weights,
    first: usize,
    block: usize,
    panels: &mut [u8],
    quantized: &mut QuantizedRows,
) {
    let (width, depth) = (WIDE * <D::Floats as Simd>::LANES, panels.len() / BLOCK);
    for at in (0..depth).step_by(4) {
        let rows: [_; 4] = std::array::from_fn(|row| weights.row(first + at + row, block));
        for (scale, row) in quantized.scales[at..].iter_mut().zip(&rows) {
            *scale = row.1;
        }
        let rows = rows.map(|(bytes, _)| bytes.as_chunks::<16>().0);
        for part in 0..BLOCK / 16 {
            let column = part * 16;
            let place = column / width * depth * width + at * width + column % width * 4;
            if let Some(to) = panels[place..].first_chunk_mut() {
                dot.interleave(rows.map(|row| &row[part]), to);
            }
        }
    }
}

/// Quantizes a row's inputs, times the weights' scales, to two bytes each.
#[inline(always)]
fn quantize<D: Dot>(dot: D, numbers: &[f32], row: usize, quantized: &mut QuantizedRows) {
    let (simd, lanes) = (dot.floats(), <D::Floats as Simd>::LANES);
    let zero = simd.splat(0.0);
    let mut most = zero;
    for (number, scale) in numbers.chunks_exact(lanes).zip(quantized.scales.chunks_exact(lanes)) {
        let scaled = simd.mul(simd.load(number), simd.load(scale));
        most = simd.max(most, simd.max(scaled, simd.sub(zero, scaled)));
    }
    let most = simd.most(most);
    // A row of zeros, or of numbers too small to divide by, is nothing.
    let (factor, back) = if most > f32::MIN_POSITIVE * LIMIT { (LIMIT / most, most / LIMIT) } else { (0.0, 0.0) };
    quantized.factors[row] = back;
    let halves = quantized.high[row].as_chunks_mut().0.iter_mut().zip(quantized.low[row].as_chunks_mut().0);
    for ((number, scale), (high, low)) in numbers.as_chunks().0.iter().zip(quantized.scales.as_chunks().0).zip(halves) {
        dot.quantize(number, scale, factor, high, low);
    }
}

/// Adds the products of the quantized rows and all panels to `out`.
#[inline(always)]
fn tiles<D: Dot>(dot: D, panels: &[u8], quantized: &QuantizedRows, out: &mut [f32], stride: usize, rows: usize) {
    let (width, depth) = (WIDE * <D::Floats as Simd>::LANES, panels.len() / BLOCK);
    assert!((1..=ROWS).contains(&rows) && depth <= DEPTH && depth.is_multiple_of(4));
    assert!(out.len() >= (rows - 1) * stride + BLOCK);
    for (panel, place) in panels.chunks_exact(depth * width).zip((0..BLOCK).step_by(width)) {
        let out = out[place..].as_mut_ptr();
        // SAFETY: the panel has `depth` rows of `width`, and `out` was just found long enough.
        unsafe {
            match rows {
                1 => tile::<D, 1>(dot, panel.as_ptr(), depth, quantized, out, stride),
                2 => tile::<D, 2>(dot, panel.as_ptr(), depth, quantized, out, stride),
                _ => tile::<D, ROWS>(dot, panel.as_ptr(), depth, quantized, out, stride),
            }
        }
    }
}

/// # Safety
/// The panel has `depth` rows of [`WIDE`] registers, `depth` is a multiple of four and at most [`DEPTH`], and `R` rows of
/// as many registers begin `stride` apart at `out`.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn tile<D: Dot, const R: usize>(
    dot: D,
    panel: *const u8,
    depth: usize,
    quantized: &QuantizedRows,
    out: *mut f32,
    stride: usize,
) {
    let (simd, lanes) = (dot.floats(), <D::Floats as Simd>::LANES);
    let mut high = [[dot.zero(); WIDE]; R];
    let mut low = [[dot.zero(); WIDE]; R];
    for at in (0..depth).step_by(4) {
        let mut right = [dot.zero(); WIDE];
        for place in 0..WIDE {
            // SAFETY: as the caller promises.
            right[place] = unsafe { dot.load_at(panel.add((at * WIDE + place * 4) * lanes)) };
        }
        for row in 0..R {
            // SAFETY: as the caller promises, `at + 4` is at most `DEPTH`.
            let (upper, lower) = unsafe {
                (dot.four_at(quantized.high[row].as_ptr().add(at)), dot.four_at(quantized.low[row].as_ptr().add(at)))
            };
            for place in 0..WIDE {
                high[row][place] = dot.dot(high[row][place], upper, right[place]);
                low[row][place] = dot.dot(low[row][place], lower, right[place]);
            }
        }
    }
    for row in 0..R {
        let factor = simd.splat(quantized.factors[row]);
        for place in 0..WIDE {
            let product = simd.mul(dot.join(high[row][place], low[row][place]), factor);
            // SAFETY: as the caller promises.
            unsafe {
                let to = out.add(row * stride + place * lanes);
                simd.store_at(to, simd.add(simd.load_at(to), product));
            }
        }
    }
}
