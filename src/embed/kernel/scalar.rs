//! For processors without kernels of their own, and what the others are compared with in tests.

use super::simd::Simd;

const LANES: usize = 4;

/// Numbers side by side that a compiler may make registers of.
#[derive(Clone, Copy)]
pub struct Scalar;

#[inline(always)]
fn each(function: impl Fn(usize) -> f32) -> [f32; LANES] {
    std::array::from_fn(function)
}

impl Simd for Scalar {
    type F = [f32; LANES];
    const LANES: usize = LANES;
    const WIDE: usize = 4;
    const ROWS: usize = 2;
    const HEAD_WIDE: usize = 4;

    #[inline(always)]
    fn splat(self, number: f32) -> Self::F {
        [number; LANES]
    }

    #[inline(always)]
    fn add(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn sub(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane] - b[lane])
    }

    #[inline(always)]
    fn mul(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn div(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane] / b[lane])
    }

    #[inline(always)]
    fn max(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane].max(b[lane]))
    }

    #[inline(always)]
    fn min(self, a: Self::F, b: Self::F) -> Self::F {
        each(|lane| a[lane].min(b[lane]))
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        each(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::F) -> Self::F {
        each(|lane| f32::from_bits(((n[lane] as i32 + 127) << 23).cast_unsigned()))
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F {
        // SAFETY: as the caller promises; an array has the alignment of its numbers.
        unsafe { from.cast::<Self::F>().read() }
    }

    #[inline(always)]
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F) {
        // SAFETY: as the caller promises; an array has the alignment of its numbers.
        unsafe { to.cast::<Self::F>().write(numbers) }
    }

    #[inline(always)]
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32) {
        // SAFETY: as the caller promises.
        let bytes = unsafe { from.cast::<[u8; 16]>().read() };
        // SAFETY: as the caller promises.
        unsafe { to.cast::<[f32; 16]>().write(bytes.map(|byte| f32::from(byte.cast_signed()) * scale)) }
    }

    #[inline(always)]
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
        a.as_flattened().iter().zip(b.as_flattened()).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
    }
}

#[cfg(test)]
impl super::simd::Dot for Scalar {
    type Floats = Self;
    type I = [i32; LANES];

    fn floats(self) -> Self {
        self
    }

    fn zero(self) -> Self::I {
        [0; LANES]
    }

    fn dot(self, sum: Self::I, left: Self::I, right: Self::I) -> Self::I {
        std::array::from_fn(|lane| {
            let pairs = left[0].to_ne_bytes().into_iter().zip(right[lane].to_ne_bytes());
            sum[lane] + pairs.map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed())).sum::<i32>()
        })
    }

    fn join(self, high: Self::I, low: Self::I) -> [f32; LANES] {
        each(|lane| (high[lane] * 256 + low[lane]) as f32)
    }

    fn quantize(self, numbers: &[f32; 16], scales: &[f32; 16], factor: f32, high: &mut [u8; 16], low: &mut [u8; 16]) {
        for place in 0..16 {
            let whole = (numbers[place] * scales[place] * factor).round_ties_even() as i32;
            let (upper, lower) = ((whole + 128) >> 8, whole as i8);
            assert_eq!(i32::from(upper as i8) * 256 + i32::from(lower), whole, "its halves are signed bytes");
            (high[place], low[place]) = ((upper as i8).cast_unsigned(), lower.cast_unsigned());
        }
    }

    fn interleave(self, rows: [&[u8; 16]; 4], to: &mut [u8; 64]) {
        for (place, to) in to.iter_mut().enumerate() {
            *to = rows[place % 4][place / 4];
        }
    }

    unsafe fn load_at(self, from: *const u8) -> Self::I {
        // SAFETY: as the caller promises.
        unsafe { from.cast::<Self::I>().read_unaligned() }
    }

    unsafe fn four_at(self, from: *const u8) -> Self::I {
        // SAFETY: as the caller promises.
        [unsafe { from.cast::<i32>().read_unaligned() }, 0, 0, 0]
    }
}
