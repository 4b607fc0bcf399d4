//! Every kernel that this machine can run against the plain formulas, over random shapes and extreme values.

#[cfg(target_arch = "x86_64")]
use super::simd::Simd;
use super::*;
use scalar::Scalar;

/// Numbers that look random and are always the same for a seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 20
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From -1 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() % 2_000_001) as f32 / 1e6 - 1.0
    }

    fn units(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }

    /// One of several kinds of bytes, the extremes among them.
    fn bytes(&mut self, count: usize) -> Vec<i8> {
        let kind = self.below(5);
        let byte = |random: &mut Self| match kind {
            0 => -128,
            1 => 127,
            2 => [-128, 127][random.below(2)],
            3 => [-128, -1, 0, 1, 127][random.below(5)],
            _ => random.next() as i8,
        };
        (0..count).map(|_| byte(self)).collect()
    }
}

/// The weights of a linear layer, and the same as floats.
struct Case {
    bytes: Vec<[u8; BLOCK]>,
    scales: Vec<[u8; 4]>,
    bias: Vec<f32>,
    inputs: usize,
}

impl Case {
    fn new(random: &mut Random, inputs: usize, outputs: usize, scale: impl Fn(&mut Random) -> f32) -> Self {
        let bytes: Vec<u8> = random.bytes(inputs * outputs).iter().map(|byte| byte.cast_unsigned()).collect();
        let bytes = bytes.as_chunks().0.to_vec();
        let scales = (0..bytes.len()).map(|_| scale(random).to_le_bytes()).collect();
        Self { bytes, scales, bias: random.units(outputs), inputs }
    }

    fn weights(&self) -> Weights<'_> {
        Weights::new(&self.bytes, &self.scales, self.bias.clone(), self.inputs).unwrap()
    }

    fn weight(&self, input: usize, output: usize) -> (f64, f64) {
        let place = input * self.bias.len() / BLOCK + output / BLOCK;
        let byte = self.bytes[place][output % BLOCK].cast_signed();
        (f64::from(byte), f64::from(f32::from_le_bytes(self.scales[place])))
    }

    fn run(&self, kernels: &Kernels, x: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; x.len() / self.inputs * self.bias.len()];
        kernels.linear(&self.weights(), x, &mut out, &mut Scratch::new());
        out
    }
}

/// Those of this machine, and the two that every machine has.
fn all() -> Vec<&'static Kernels> {
    available().chain([&SCALAR, &SCALAR_INT8]).collect()
}

fn is_int8(kernels: &Kernels) -> bool {
    kernels.quantizes_inputs() || kernels.name == SCALAR_INT8.name
}

#[test]
fn products_are_right_for_any_shape_and_bytes() {
    let mut random = Random::new(1);
    for round in 0..40 {
        let rows = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13][random.below(11)];
        let inputs = [16, 48, 112, 128, 144, 256, 400][random.below(7)];
        let outputs = BLOCK * (1 + random.below(3));
        let case = Case::new(&mut random, inputs, outputs, |random| (random.unit() + 1.5) / 100.0);
        let mut x = random.units(rows * inputs);
        match round % 4 {
            // One far out, as models have; and rows of nothing.
            1 => x[inputs / 2] = 900.0,
            2 => x[..inputs].fill(0.0),
            3 => x[..inputs].fill(1e-40),
            _ => {}
        }
        for kernels in all() {
            let out = case.run(kernels, &x);
            for (place, found) in out.iter().enumerate() {
                let (row, output) = (place / case.bias.len(), place % case.bias.len());
                let (mut sum, mut size, mut bytes, mut most) = (f64::from(case.bias[output]), 1.0, 0.0, 0.0_f64);
                for input in 0..inputs {
                    let (byte, scale) = case.weight(input, output);
                    let number = f64::from(x[row * inputs + input]) * scale;
                    sum += number * byte;
                    size += (number * byte).abs();
                    bytes += byte.abs();
                    most = most.max(number.abs());
                }
                // Floats round the last of 24 bits now and then, quantizing the last of 16 always.
                let lost = size * 2e-6 + if is_int8(kernels) { most / 32_639.0 * bytes * 0.51 } else { 0.0 };
                let apart = (f64::from(*found) - sum).abs();
                assert!(apart <= lost, "{}, {rows}×{inputs}, round {round}: {apart} > {lost}", kernels.name);
            }
        }
    }
}

#[test]
fn int8_products_are_exact() {
    let mut random = Random::new(2);
    for _ in 0..20 {
        let (rows, inputs) = (1 + random.below(7), [16, 64, 128][random.below(3)]);
        let mut case = Case::new(&mut random, inputs, BLOCK, |_| 1.0);
        case.bias.fill(0.0);
        // Of the greatest size, which is the scale, so that nothing is rounded; each row has one.
        let extremes = [32_639, -32_639, 32_638, -32_513, 127, 128, -128, -129, 255, 256, 0, 1];
        let mut numbers: Vec<i32> = (0..rows * inputs).map(|_| extremes[random.below(extremes.len())]).collect();
        numbers.chunks_mut(inputs).for_each(|row| row[inputs - 1] = -32_639);
        let x: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
        for kernels in all().into_iter().filter(|kernels| is_int8(kernels)) {
            for (place, found) in case.run(kernels, &x).iter().enumerate() {
                let row = &numbers[place / BLOCK * inputs..][..inputs];
                let products = row.iter().enumerate().map(|(input, number)| {
                    i64::from(*number) * i64::from(case.bytes[input][place % BLOCK].cast_signed())
                });
                assert_eq!(*found, products.sum::<i64>() as f32, "{}, {rows}×{inputs}: {place}", kernels.name);
            }
        }
    }
}

#[test]
fn int8_kernels_give_the_same_bits() {
    let mut random = Random::new(3);
    for (rows, inputs) in [(1, 16), (2, 400), (7, 128), (9, 384)] {
        let case = Case::new(&mut random, inputs, 3 * BLOCK, |random| (random.unit() + 1.5) / 100.0);
        let x = random.units(rows * inputs);
        let plain = case.run(&SCALAR_INT8, &x);
        for kernels in available().filter(|kernels| kernels.quantizes_inputs()) {
            assert_eq!(case.run(kernels, &x), plain, "{}", kernels.name);
        }
    }
}

#[test]
fn attention_mixes_values_by_scores() {
    const WIDTH: usize = 96;
    const HEAD: usize = 32;
    let mut random = Random::new(4);
    for length in (1..20).chain([63, 64, 65, 130]) {
        let [query, key, value] = [(); 3].map(|()| random.units(length * WIDTH));
        // Far apart, so that some share is next to nothing.
        let query: Vec<f32> = query.iter().map(|number| number * 8.0).collect();
        for kernels in all() {
            let mut mixed = vec![f32::NAN; length * WIDTH];
            let heads = Heads { query: &query, key: &key, value: &value, width: WIDTH, head: HEAD };
            // Stale contents of a buffer do not count.
            let mut scratch = Scratch::new();
            scratch.floats(100).fill(f32::NAN);
            kernels.attend(&heads, &mut mixed, &mut scratch);
            for row in 0..length.min(7) {
                for at in 0..WIDTH {
                    let head = at / HEAD * HEAD;
                    let part = |from: &[f32], row: usize, n: usize| f64::from(from[row * WIDTH + head + n]);
                    let score = |other| (0..HEAD).map(|n| part(&query, row, n) * part(&key, other, n)).sum::<f64>();
                    let shares: Vec<f64> = (0..length).map(|other| score(other).exp()).collect();
                    let values = shares.iter().enumerate().map(|(n, share)| share * f64::from(value[n * WIDTH + at]));
                    let expected = values.sum::<f64>() / shares.iter().sum::<f64>();
                    let found = f64::from(mixed[row * WIDTH + at]);
                    assert!((found - expected).abs() < 1e-4, "{}, {length}: {found} and {expected}", kernels.name);
                }
            }
        }
    }
}

#[test]
fn rows_get_the_mean_and_variance_they_are_given() {
    let mut random = Random::new(5);
    for width in [16, 48, 384] {
        let (x, more) = (random.units(3 * width), random.units(3 * width));
        let norm = Norm { gain: random.units(width), bias: random.units(width) };
        for kernels in all() {
            for more in [None, Some(&more[..])] {
                let mut found = x.clone();
                kernels.normalise(&mut found, more, &norm);
                for row in 0..3 {
                    let number =
                        |n: usize| f64::from(x[row * width + n] + more.map_or(0.0, |more| more[row * width + n]));
                    let mean = (0..width).map(number).sum::<f64>() / width as f64;
                    let variance = (0..width).map(|n| (number(n) - mean).powi(2)).sum::<f64>() / width as f64;
                    for n in 0..width {
                        let scaled = (number(n) - mean) / variance.sqrt() * f64::from(norm.gain[n]);
                        let (found, expected) = (f64::from(found[row * width + n]), scaled + f64::from(norm.bias[n]));
                        assert!((found - expected).abs() < 1e-5, "{}, {width}: {found} and {expected}", kernels.name);
                    }
                }
            }
        }
    }
}

#[test]
fn gelu_is_that_of_every_processor() {
    let x: Vec<f32> = (0..4096).map(|place| (place - 2048) as f32 / 200.0).collect();
    let mut plain = x.clone();
    SCALAR.gelu(&mut plain);
    for kernels in all() {
        let mut found = x.clone();
        kernels.gelu(&mut found);
        for (x, (found, plain)) in x.iter().zip(found.iter().zip(&plain)) {
            assert!((found - plain).abs() <= 1e-6 * x.abs().max(1.0), "{}: gelu({x}) = {found}", kernels.name);
        }
    }
    // Its tails: nothing, and the number itself.
    assert!((plain[0].abs() < 1e-5) && (plain[4095] - x[4095]).abs() < 1e-5);
}

#[test]
fn approximations_are_near() {
    let exp = |x: f32| float::exp(Scalar, [x; 4])[0];
    let erf = |x: f32| float::erf(Scalar, [x; 4])[0];
    for step in 0..=20_000 {
        let x = step as f32 / -230.0;
        let (found, expected) = (exp(x), f64::from(x).exp());
        assert!((f64::from(found) - expected).abs() <= 4e-7 * expected, "exp({x}) = {found}");
        #[cfg(target_arch = "x86_64")]
        fused_is_nearer(x, expected);
    }
    assert!(exp(-1e6) < 1e-37);
    // To seven digits, from tables.
    for (x, expected) in [(0.0, 0.0), (0.1, 0.112_462_9), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3)] {
        assert!((erf(x) - expected).abs() < 1e-6 && (erf(-x) + expected).abs() < 1e-6, "erf({x})");
    }
    assert!((erf(9.0) - 1.0).abs() < 1e-6);
}

#[cfg(target_arch = "x86_64")]
fn fused_is_nearer(x: f32, expected: f64) {
    if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has them.
        let simd = unsafe { x86::Avx2::new() };
        let found = f64::from(simd.lanes(float::exp(simd, simd.splat(x)))[7]);
        assert!((found - expected).abs() <= 2e-7 * expected, "exp({x}) = {found}");
    }
}

#[test]
fn stored_vectors_are_multiplied_exactly() {
    let mut random = Random::new(6);
    for round in 0..60 {
        let length = [0, 16, 32, 48, 384][round % 5];
        let (a, b) = (random.bytes(length), random.bytes(length));
        let expected: i32 = a.iter().zip(&b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        for kernels in all() {
            assert_eq!(kernels.dot(&a, &b), expected, "{}, {length}", kernels.name);
        }
    }
}

#[test]
fn the_fastest_is_taken_and_sizes_must_fit() {
    let names: Vec<_> = available().map(|kernels| kernels.name).collect();
    assert_eq!(Some(&best().name), names.first());
    // `cross/kernels.sh` knows what the processor is that it emulates.
    if let Ok(expected) = std::env::var("KERNELS") {
        assert_eq!(names.join(", "), expected);
    }
    let case = Case::new(&mut Random::new(7), 32, BLOCK, |_| 1.0);
    let new = |bytes, scales, outputs, inputs| Weights::new(bytes, scales, vec![0.0; outputs], inputs).is_some();
    assert!(new(&case.bytes, &case.scales, BLOCK, 32));
    assert!(!new(&case.bytes, &case.scales, BLOCK, 16));
    assert!(!new(&case.bytes, &case.scales, 2 * BLOCK, 32));
    assert!(!new(&case.bytes, &case.scales[1..], BLOCK, 32));
    assert!(!new(&case.bytes[..30], &case.scales[..30], BLOCK, 30), "not a whole register");
    assert!(!new(&case.bytes, &case.scales, BLOCK - 1, 32) && !new(&[], &[], 0, 32) && !new(&[], &[], BLOCK, 0));
}
