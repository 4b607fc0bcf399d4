//! The kernels compiled for each kind of processor, and which of them this one can run.

#[cfg(any(test, target_arch = "aarch64"))]
use super::int8;
use super::simd::Simd;
use super::{Heads, Kernels, Norm, Scratch, Weights, float};

#[cfg(target_arch = "aarch64")]
use super::arm::{DotProd, Neon};
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use super::scalar::Scalar;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512, Sse2};

/// Kernels in floats.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! in_floats {
    ($table:ident, $name:literal, $token:ident, $features:literal) => {
        const $table: Kernels = {
            #[target_feature(enable = $features)]
            fn linear(weights: &Weights, x: &[f32], out: &mut [f32], scratch: &mut Scratch) {
                // SAFETY: this function is only called where these features are.
                float::linear(unsafe { $token::new() }, weights, x, out, scratch);
            }
            #[target_feature(enable = $features)]
            fn attend(heads: &Heads, mixed: &mut [f32], scratch: &mut Scratch) {
                // SAFETY: as above.
                float::attend(unsafe { $token::new() }, heads, mixed, scratch);
            }
            #[target_feature(enable = $features)]
            fn normalise(x: &mut [f32], more: Option<&[f32]>, norm: &Norm) {
                // SAFETY: as above.
                float::normalise(unsafe { $token::new() }, x, more, norm);
            }
            #[target_feature(enable = $features)]
            fn gelu(x: &mut [f32]) {
                // SAFETY: as above.
                float::gelu(unsafe { $token::new() }, x);
            }
            #[target_feature(enable = $features)]
            fn dot(a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
                // SAFETY: as above.
                unsafe { $token::new() }.dot_bytes(a, b)
            }
            Kernels { name: $name, linear, attend, normalise, gelu, dot }
        };
    };
}

#[cfg(target_arch = "x86_64")]
in_floats!(SSE2, "SSE2", Sse2, "sse2");
#[cfg(target_arch = "x86_64")]
in_floats!(AVX2, "AVX2", Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
in_floats!(AVX512, "AVX-512", Avx512, "avx512f");
#[cfg(target_arch = "aarch64")]
in_floats!(NEON, "NEON", Neon, "neon");
/// The same with int8 dot products.
#[cfg(target_arch = "aarch64")]
const DOTPROD: Kernels = {
    #[target_feature(enable = "neon,dotprod")]
    fn linear(weights: &Weights, x: &[f32], out: &mut [f32], scratch: &mut Scratch) {
        // SAFETY: this function is only called where these features are.
        int8::linear(unsafe { DotProd::new() }, weights, x, out, scratch);
    }
    Kernels { name: "NEON dotprod", linear, ..NEON }
};

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub const SCALAR: Kernels = Kernels {
    name: "scalar",
    linear: |weights, x, out, scratch| float::linear(Scalar, weights, x, out, scratch),
    attend: |heads, mixed, scratch| float::attend(Scalar, heads, mixed, scratch),
    normalise: |x, more, norm| float::normalise(Scalar, x, more, norm),
    gelu: |x| float::gelu(Scalar, x),
    dot: |a, b| Scalar.dot_bytes(a, b),
};
#[cfg(test)]
pub const SCALAR_INT8: Kernels = Kernels {
    name: "scalar int8",
    linear: |weights, x, out, scratch| int8::linear(Scalar, weights, x, out, scratch),
    ..SCALAR
};

/// All that there are, the fastest first, and whether this processor has their instructions.
#[cfg(target_arch = "x86_64")]
fn all() -> [(&'static Kernels, bool); 3] {
    use std::is_x86_feature_detected as has;
    [(&AVX512, has!("avx512f")), (&AVX2, has!("avx2") && has!("fma")), (&SSE2, true)]
}

#[cfg(target_arch = "aarch64")]
fn all() -> [(&'static Kernels, bool); 2] {
    [(&DOTPROD, std::arch::is_aarch64_feature_detected!("dotprod")), (&NEON, true)]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn all() -> [(&'static Kernels, bool); 1] {
    [(&SCALAR, true)]
}

/// Those that this processor can run, the fastest first.
pub fn available() -> impl Iterator<Item = &'static Kernels> {
    all().into_iter().filter_map(|(kernels, runs)| runs.then_some(kernels))
}

/// The fastest that this processor can run.
pub fn best() -> &'static Kernels {
    let [.., (last, _)] = all();
    available().next().unwrap_or(last)
}
