//! The instructions of x86-64: SSE2, which every one has, AVX2 and AVX-512.

use std::arch::x86_64::*;

use super::simd::Simd;

/// The value is the proof: `super::tables` makes one inside functions that are compiled for the instructions.
#[derive(Clone, Copy)]
pub struct Sse2(());
#[derive(Clone, Copy)]
pub struct Avx2(());
#[derive(Clone, Copy)]
pub struct Avx512(());

macro_rules! proofs {
    ($($token:ident: $features:literal;)*) => {$(
        impl $token {
            /// # Safety
            #[doc = concat!("The processor has ", $features, ".")]
            #[inline(always)]
            pub unsafe fn new() -> Self {
                Self(())
            }
        }
    )*};
}

proofs! {
    Sse2: "sse2";
    Avx2: "avx2 and fma";
    Avx512: "avx512f";
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

impl Simd for Sse2 {
    type F = __m128;
    const LANES: usize = 4;
    const WIDE: usize = 4;
    const ROWS: usize = 3;
    const HEAD_WIDE: usize = 4;

    operations! {
        add(a, b) = _mm_add_ps;
        sub(a, b) = _mm_sub_ps;
        mul(a, b) = _mm_mul_ps;
        div(a, b) = _mm_div_ps;
        max(a, b) = _mm_max_ps;
        min(a, b) = _mm_min_ps;
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::F {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { _mm_set1_ps(number) }
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::F) -> Self::F {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { _mm_castsi128_ps(_mm_slli_epi32::<23>(_mm_add_epi32(_mm_cvtps_epi32(n), _mm_set1_epi32(127)))) }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F {
        // SAFETY: as the caller promises.
        unsafe { _mm_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F) {
        // SAFETY: as the caller promises.
        unsafe { _mm_storeu_ps(to, numbers) }
    }

    #[inline(always)]
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let (bytes, scale) = (_mm_loadu_si128(from.cast()), _mm_set1_ps(scale));
            // Each byte at the top of a lane; the shift brings it down with its sign.
            let pairs = [_mm_unpacklo_epi8(bytes, bytes), _mm_unpackhi_epi8(bytes, bytes)];
            for (place, pairs) in pairs.into_iter().enumerate() {
                for (half, fours) in
                    [_mm_unpacklo_epi16(pairs, pairs), _mm_unpackhi_epi16(pairs, pairs)].into_iter().enumerate()
                {
                    let numbers = _mm_cvtepi32_ps(_mm_srai_epi32::<24>(fours));
                    _mm_storeu_ps(to.add(place * 8 + half * 4), _mm_mul_ps(numbers, scale));
                }
            }
        }
    }

    #[inline(always)]
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
        // SAFETY: `self` proves that the processor has the instructions; what is read is sixteen long.
        unsafe {
            let mut sums = _mm_setzero_si128();
            for (a, b) in a.iter().zip(b) {
                let [a, b] = [a, b].map(|bytes| {
                    let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                    // Each byte at the top of a word; the shift brings it down with its sign.
                    [_mm_unpacklo_epi8(bytes, bytes), _mm_unpackhi_epi8(bytes, bytes)]
                        .map(|words| _mm_srai_epi16::<8>(words))
                });
                sums = _mm_add_epi32(sums, _mm_add_epi32(_mm_madd_epi16(a[0], b[0]), _mm_madd_epi16(a[1], b[1])));
            }
            let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
            _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums)))
        }
    }
}

impl Simd for Avx2 {
    type F = __m256;
    const LANES: usize = 8;
    const WIDE: usize = 2;
    const ROWS: usize = 6;
    const HEAD_WIDE: usize = 2;

    operations! {
        add(a, b) = _mm256_add_ps;
        sub(a, b) = _mm256_sub_ps;
        mul(a, b) = _mm256_mul_ps;
        div(a, b) = _mm256_div_ps;
        max(a, b) = _mm256_max_ps;
        min(a, b) = _mm256_min_ps;
        mul_add(a, b, c) = _mm256_fmadd_ps;
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::F {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { _mm256_set1_ps(number) }
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::F) -> Self::F {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F {
        // SAFETY: as the caller promises.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F) {
        // SAFETY: as the caller promises.
        unsafe { _mm256_storeu_ps(to, numbers) }
    }

    #[inline(always)]
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let scale = _mm256_set1_ps(scale);
            for half in [0, 8] {
                let numbers = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.add(half).cast())));
                _mm256_storeu_ps(to.add(half), _mm256_mul_ps(numbers, scale));
            }
        }
    }

    #[inline(always)]
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { dot_bytes(a, b) }
    }
}

impl Simd for Avx512 {
    type F = __m512;
    const LANES: usize = 16;
    const WIDE: usize = 4;
    const ROWS: usize = 6;
    const HEAD_WIDE: usize = 2;

    operations! {
        add(a, b) = _mm512_add_ps;
        sub(a, b) = _mm512_sub_ps;
        mul(a, b) = _mm512_mul_ps;
        div(a, b) = _mm512_div_ps;
        max(a, b) = _mm512_max_ps;
        min(a, b) = _mm512_min_ps;
        mul_add(a, b, c) = _mm512_fmadd_ps;
    }

    #[inline(always)]
    fn splat(self, number: f32) -> Self::F {
        // SAFETY: `self` proves that the processor has the instruction.
        unsafe { _mm512_set1_ps(number) }
    }

    #[inline(always)]
    fn power_of_two(self, n: Self::F) -> Self::F {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe {
            let exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
            _mm512_castsi512_ps(_mm512_slli_epi32::<23>(exponent))
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F {
        // SAFETY: as the caller promises.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F) {
        // SAFETY: as the caller promises.
        unsafe { _mm512_storeu_ps(to, numbers) }
    }

    #[inline(always)]
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let numbers = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast())));
            _mm512_storeu_ps(to, _mm512_mul_ps(numbers, _mm512_set1_ps(scale)));
        }
    }

    #[inline(always)]
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { dot_bytes(a, b) }
    }
}

/// # Safety
/// The processor has avx2, which is part of avx512f too.
#[inline(always)]
unsafe fn dot_bytes(a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
    // SAFETY: as the caller promises; what is read is sixteen long.
    unsafe {
        let mut sums = _mm256_setzero_si256();
        for (a, b) in a.iter().zip(b) {
            let [a, b] = [a, b].map(|bytes| _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes.as_ptr().cast())));
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
        }
        let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let sums = _mm_add_epi32(sums, _mm_shuffle_epi32::<0b01_00_11_10>(sums));
        _mm_cvtsi128_si32(_mm_add_epi32(sums, _mm_shuffle_epi32::<0b10_11_00_01>(sums)))
    }
}
