//! The arithmetic of the model, written for the instructions of each kind of processor and chosen when the program runs.
//!
//! The instructions are named, so that it is as fast in a program that is built for size. Callers see safe functions that
//! check the sizes of what they get.
#![allow(unsafe_code)]

mod float;
#[cfg(any(test, target_arch = "aarch64"))]
mod int8;
mod simd;

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod scalar;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use tables::best;
#[cfg(test)]
pub use tables::{SCALAR, SCALAR_INT8, available};

/// Consecutive outputs of one input that share a scale; see `models/build.py`.
pub const BLOCK: usize = 64;
/// Floats of the widest register; the width of every row is a multiple of it.
const LANES: usize = 16;

/// The weights of a linear layer where they lie. Those of one input are `outputs` bytes, in blocks with a scale each.
pub struct Weights<'a> {
    bytes: &'a [[u8; BLOCK]],
    scales: &'a [[u8; 4]],
    bias: Vec<f32>,
    inputs: usize,
}

impl<'a> Weights<'a> {
    /// `None` where the sizes do not fit each other or the kernels.
    pub fn new(bytes: &'a [[u8; BLOCK]], scales: &'a [[u8; 4]], bias: Vec<f32>, inputs: usize) -> Option<Self> {
        let blocks = bias.len() / BLOCK;
        let fits = blocks > 0 && bias.len().is_multiple_of(BLOCK) && inputs > 0 && inputs.is_multiple_of(LANES);
        if !fits || bytes.len() != inputs * blocks || scales.len() != bytes.len() {
            return None;
        }
        Some(Self { bytes, scales, bias, inputs })
    }

    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The weights of one input in a block, and their scale.
    #[inline(always)]
    fn row(&self, input: usize, block: usize) -> (&[u8; BLOCK], f32) {
        let place = input * (self.bias.len() / BLOCK) + block;
        (&self.bytes[place], f32::from_le_bytes(self.scales[place]))
    }

    #[inline(always)]
    fn fill_bias(&self, out: &mut [f32]) {
        for row in out.chunks_exact_mut(self.bias.len()) {
            row.copy_from_slice(&self.bias);
        }
    }
}

/// Parameters of a layer normalisation.
pub struct Norm {
    pub gain: Vec<f32>,
    pub bias: Vec<f32>,
}

/// Input of attention: rows of `width` numbers, `head` of them a head.
#[derive(Clone, Copy)]
pub struct Heads<'a> {
    pub query: &'a [f32],
    pub key: &'a [f32],
    pub value: &'a [f32],
    pub width: usize,
    pub head: usize,
}

/// Sixteen floats in one line of a cache, which a load of all of them must not cross.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// The buffers of a pass.
pub struct Scratch {
    lines: Vec<Line>,
}

impl Scratch {
    pub fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// At least so many floats at the beginning of a line; what is in them is left from before.
    #[inline(always)]
    fn floats(&mut self, count: usize) -> &mut [f32] {
        if self.lines.len() * LANES < count {
            self.lines.resize(count.div_ceil(LANES), Line([0.0; LANES]));
        }
        // SAFETY: lines are floats side by side, without gaps: sixteen of them have the size of its alignment.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LANES) }
    }

    /// So many floats twice.
    #[inline(always)]
    fn pair(&mut self, first: usize, second: usize) -> (&mut [f32], &mut [f32]) {
        let (a, b) = self.floats(first + second).split_at_mut(first);
        (a, &mut b[..second])
    }

    /// So many bytes.
    #[cfg(any(test, target_arch = "aarch64"))]
    #[inline(always)]
    fn bytes(&mut self, count: usize) -> &mut [u8] {
        let floats = self.floats(count.div_ceil(4));
        // SAFETY: a float is four bytes, and every byte pattern is a float.
        unsafe { std::slice::from_raw_parts_mut(floats.as_mut_ptr().cast(), count) }
    }
}

type Linear = unsafe fn(&Weights, &[f32], &mut [f32], &mut Scratch);
type Attend = unsafe fn(&Heads, &mut [f32], &mut Scratch);
type Normalise = unsafe fn(&mut [f32], Option<&[f32]>, &Norm);
type Gelu = unsafe fn(&mut [f32]);
type DotBytes = unsafe fn(&[[i8; 16]], &[[i8; 16]]) -> i32;

/// The functions for one kind of processor. `tables` gives out only those that this processor can run.
pub struct Kernels {
    pub name: &'static str,
    linear: Linear,
    attend: Attend,
    normalise: Normalise,
    gelu: Gelu,
    dot: DotBytes,
}

impl Kernels {
    /// Whether the linear layers quantize their inputs.
    #[cfg(test)]
    pub fn quantizes_inputs(&self) -> bool {
        self.name == "NEON dotprod"
    }

    /// `out = x * weights + bias` for each row of `x`.
    pub fn linear(&self, weights: &Weights, x: &[f32], out: &mut [f32], scratch: &mut Scratch) {
        assert!(x.len().is_multiple_of(weights.inputs()));
        assert_eq!(out.len(), x.len() / weights.inputs() * weights.outputs());
        // SAFETY: this processor has the instructions.
        unsafe { (self.linear)(weights, x, out, scratch) }
    }

    /// Writes the rows of values, mixed by how the queries meet the keys, head by head.
    pub fn attend(&self, heads: &Heads, mixed: &mut [f32], scratch: &mut Scratch) {
        let Heads { query, key, value, width, head } = *heads;
        assert!(
            head > 0
                && head.is_multiple_of(2 * LANES)
                && width.is_multiple_of(head)
                && query.len().is_multiple_of(width)
        );
        assert!([key.len(), value.len(), mixed.len()] == [query.len(); 3]);
        if query.is_empty() {
            return;
        }
        // SAFETY: this processor has the instructions.
        unsafe { (self.attend)(heads, mixed, scratch) }
    }

    /// Adds `more` to `x`, where there is some, and brings each row to the mean and variance of `norm`.
    pub fn normalise(&self, x: &mut [f32], more: Option<&[f32]>, norm: &Norm) {
        let width = norm.gain.len();
        assert!(width.is_multiple_of(LANES) && norm.bias.len() == width && x.len().is_multiple_of(width));
        assert!(more.is_none_or(|more| more.len() == x.len()));
        // SAFETY: this processor has the instructions.
        unsafe { (self.normalise)(x, more, norm) }
    }

    /// The activation function of the feed-forward step, in place.
    pub fn gelu(&self, x: &mut [f32]) {
        assert!(x.len().is_multiple_of(LANES));
        // SAFETY: this processor has the instructions.
        unsafe { (self.gelu)(x) }
    }

    /// The dot product. Of the longer side the end does not count, nor what fills no piece of sixteen.
    pub fn dot(&self, a: &[i8], b: &[i8]) -> i32 {
        // SAFETY: this processor has the instructions.
        unsafe { (self.dot)(a.as_chunks().0, b.as_chunks().0) }
    }
}
