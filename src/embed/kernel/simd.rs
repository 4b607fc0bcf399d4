//! The instructions that kernels are written over: vectors of floats, and int8 dot products.
//!
//! A value of a type that implements one of these traits is the proof that the processor has the instructions. Everything
//! here is inlined into a function that is compiled for them; a call would not be, and would be slow.

/// Vectors of floats.
pub trait Simd: Copy {
    type F: Copy;
    /// Floats in a register, a divisor of 16.
    const LANES: usize;
    /// Registers side by side in a tile of a product, and how many rows of them: as many as leave the sums in registers.
    const WIDE: usize;
    const ROWS: usize;
    /// As `WIDE`, for the values of a head.
    const HEAD_WIDE: usize;

    fn splat(self, number: f32) -> Self::F;
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a * b + c`, rounded once where one instruction does it.
    fn mul_add(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// 2 to the power of `n`, which is whole and from -126 to 127.
    fn power_of_two(self, n: Self::F) -> Self::F;

    /// # Safety
    /// `LANES` floats can be read there.
    unsafe fn load_at(self, from: *const f32) -> Self::F;
    /// # Safety
    /// `LANES` floats can be written there.
    unsafe fn store_at(self, to: *mut f32, numbers: Self::F);
    /// Writes sixteen bytes as floats, times `scale`.
    ///
    /// # Safety
    /// Sixteen bytes can be read and sixteen floats written there.
    unsafe fn scale_bytes(self, from: *const u8, scale: f32, to: *mut f32);
    /// The sum of the products of sixteen bytes and sixteen more, for each pair of pieces.
    fn dot_bytes(self, a: &[[i8; 16]], b: &[[i8; 16]]) -> i32;

    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.load_at(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32], numbers: Self::F) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice is long enough.
        unsafe { self.store_at(to.as_mut_ptr(), numbers) }
    }

    /// The lanes of a register, and zeros.
    #[inline(always)]
    fn lanes(self, numbers: Self::F) -> [f32; 16] {
        let mut lanes = [0.0; 16];
        self.store(&mut lanes, numbers);
        lanes
    }

    #[inline(always)]
    fn sum(self, numbers: Self::F) -> f32 {
        self.lanes(numbers).iter().sum()
    }

    #[inline(always)]
    fn most(self, numbers: Self::F) -> f32 {
        let mut lanes = self.lanes(numbers);
        let mut half = Self::LANES / 2;
        while half > 0 {
            for lane in 0..half {
                // As an instruction has it; the library's also asks whether either is a number.
                if lanes[lane + half] > lanes[lane] {
                    lanes[lane] = lanes[lane + half];
                }
            }
            half /= 2;
        }
        lanes[0]
    }
}

/// Sums of products of signed bytes, four of them to a lane. Where a processor has such instructions they do in one what
/// floats take four for; the left bytes come as the two halves of numbers of 16 bits, which leaves twice.
#[cfg(any(test, target_arch = "aarch64"))]
pub trait Dot: Copy {
    type Floats: Simd;
    /// As many 32-bit lanes as `Floats` has.
    type I: Copy;

    fn floats(self) -> Self::Floats;
    fn zero(self) -> Self::I;
    /// For each lane of `right`, adds its four products with the first four bytes of `left`.
    fn dot(self, sum: Self::I, left: Self::I, right: Self::I) -> Self::I;
    /// `high * 256 + low` as floats.
    fn join(self, high: Self::I, low: Self::I) -> <Self::Floats as Simd>::F;
    /// Rounds sixteen floats, times their scales, times `factor`, to integers of at most ±32,639, and splits their bytes.
    fn quantize(self, numbers: &[f32; 16], scales: &[f32; 16], factor: f32, high: &mut [u8; 16], low: &mut [u8; 16]);
    /// Four rows of sixteen columns, column by column.
    fn interleave(self, rows: [&[u8; 16]; 4], to: &mut [u8; 64]);

    /// # Safety
    /// `4 * LANES` bytes can be read there.
    unsafe fn load_at(self, from: *const u8) -> Self::I;
    /// The four bytes there, first in a register.
    ///
    /// # Safety
    /// Four bytes can be read there.
    unsafe fn four_at(self, from: *const u8) -> Self::I;
}
