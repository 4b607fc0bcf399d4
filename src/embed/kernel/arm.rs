//! The instructions of 64-bit ARM: NEON, which every one has, and its dot products of bytes, which not all have.

use std::arch::aarch64::*;
use std::arch::asm;

use super::simd::{Dot, Simd};

/// The value is the proof: `super::tables` makes one inside functions that are compiled for the instructions.
#[derive(Clone, Copy)]
pub struct Neon(());
#[derive(Clone, Copy)]
pub struct DotProd(());

impl Neon {
    /// # Safety
    /// The processor has neon.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

impl DotProd {
    /// # Safety
    /// The processor has neon and dotprod.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Self(())
    }
}

macro_rules! operations {
    ($($name:ident($($argument:ident),+) = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($argument: Self::F),+) -> Self::F {
            // SAFETY: `self` proves that the processor has the instruction.
            unsafe { $intrinsic($($argument),+) }
        }
    )*};
}

impl Simd for Neon {
    type F = float32x4_t;
    const LANES: usize = 4;
    const WIDE: usize = 4;
    const ROWS: usize = 6;
    const HEAD_WIDE: usize = 4;

    operations! {
        add(a, b) = vaddq_f32;
        sub(a, b) = vsubq_f32;
        mul(a, b) = vmulq_f32;
        div(a, b) = vdivq_f32;
        max(a, b) = vmaxq_f32;
        min(a, b) = vminq_f32;
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::F {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { vdupq_n_f32(number) }
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { vfmaq_f32(c, a, b) }
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::F) -> Self::F {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)))) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F {
        // SAFETY: as the caller promises.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F) {
        // SAFETY: as the caller promises.
        unsafe { vst1q_f32(to, numbers) }
    }

    #[inline(always)]
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let bytes = vld1q_s8(from.cast());
            for (place, eights) in [vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)].into_iter().enumerate() {
                for (half, fours) in [vmovl_s16(vget_low_s16(eights)), vmovl_high_s16(eights)].into_iter().enumerate() {
                    vst1q_f32(to.add(place * 8 + half * 4), vmulq_n_f32(vcvtq_f32_s32(fours), scale));
                }
            }
        }
    }

    #[inline(always)]
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
        // SAFETY: `self` proves that the processor has the instructions; what is read is sixteen long.
        unsafe {
            let mut sums = vdupq_n_s32(0);
            for (a, b) in a.iter().zip(b) {
                let (a, b) = (vld1q_s8(a.as_ptr()), vld1q_s8(b.as_ptr()));
                sums = vpadalq_s16(sums, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
                sums = vpadalq_s16(sums, vmull_high_s8(a, b));
            }
            vaddvq_s32(sums)
        }
    }
}

impl Dot for DotProd {
    type Floats = Neon;
    type I = int32x4_t;

    #[inline(always)]
    fn floats(self) -> Neon {
        Neon(())
    }

    #[inline(always)]
    fn zero(self) -> Self::I {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { vdupq_n_s32(0) }
    }

    #[inline(always)]
    fn dot(self, sum: Self::I, left: Self::I, right: Self::I) -> Self::I {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { sdot(sum, left, right) }
    }

    #[inline(always)]
    fn join(self, high: Self::I, low: Self::I) -> float32x4_t {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { vcvtq_f32_s32(vaddq_s32(vshlq_n_s32::<8>(high), low)) }
    }

    #[inline(always)]
    fn quantize(self, numbers: &[f32; 16], scales: &[f32; 16], factor: f32, high: &mut [u8; 16], low: &mut [u8; 16]) {
        // SAFETY: `self` proves that the processor has the instructions; what is read and written is sixteen long.
        unsafe {
            let whole = |at: usize| {
                let scaled = vmulq_f32(vld1q_f32(numbers.as_ptr().add(at)), vld1q_f32(scales.as_ptr().add(at)));
                vmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(scaled, factor)))
            };
            for half in [0, 8] {
                let words = vcombine_s16(whole(half), whole(half + 4));
                // Rounded, so that the rest fits into a signed byte.
                vst1_s8(high.as_mut_ptr().add(half).cast(), vmovn_s16(vrshrq_n_s16::<8>(words)));
                vst1_s8(low.as_mut_ptr().add(half).cast(), vmovn_s16(words));
            }
        }
    }

    #[inline(always)]
    fn interleave(self, rows: [&[u8; 16]; 4], to: &mut [u8; 64]) {
        // SAFETY: `self` proves that the processor has the instructions; what is read and written is as long as it says.
        unsafe {
            let [a, b, c, d] = rows.map(|row| vld1q_u8(row.as_ptr()));
            vst4q_u8(to.as_mut_ptr(), uint8x16x4_t(a, b, c, d));
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const u8) -> Self::I {
        // SAFETY: as the caller promises.
        unsafe { vreinterpretq_s32_u8(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn four_at(self, from: *const u8) -> Self::I {
        // As a float it goes straight to such a register.
        // SAFETY: as the caller promises.
        unsafe { vreinterpretq_s32_f32(vsetq_lane_f32::<0>(from.cast::<f32>().read_unaligned(), vdupq_n_f32(0.0))) }
    }
}

/// The instruction itself: its intrinsic is not stable yet.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn sdot(mut sum: int32x4_t, left: int32x4_t, right: int32x4_t) -> int32x4_t {
    // SAFETY: it changes nothing but that register.
    unsafe {
        asm!(
            "sdot {sum:v}.4s, {right:v}.16b, {left:v}.4b[0]",
            sum = inout(vreg) sum,
            left = in(vreg) left,
            right = in(vreg) right,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    sum
}
