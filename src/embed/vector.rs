//! Vectors as they are stored and searched: 8 bits a number for the score, 1 bit for a first pass.

use crate::{DIM, Error, kernel, own};

/// The most numbers of a vector.
const MOST: usize = own::MOST_DIMENSIONS;
/// The bits of a signature.
const BITS: usize = 384;

/// A vector as whole numbers of 8 bits, and the scale that turns them back: 388 bytes for one of the built-in model.
///
/// A dot product of two differs from that of the floats by less than 0.01.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantized {
    scale: f32,
    values: Box<[i8]>,
}

impl Quantized {
    /// The length of [`Quantized::to_bytes`] of a vector of the built-in model.
    pub const BYTES: usize = Self::bytes(DIM);

    /// The length of [`Quantized::to_bytes`] of a vector of so many numbers.
    pub const fn bytes(dimensions: usize) -> usize {
        size_of::<f32>() + dimensions
    }

    /// From finite floats, as [`crate::Embedder::embed`] returns them.
    pub fn quantize(vector: &[f32]) -> Result<Self, Error> {
        if vector.is_empty() || vector.len() > MOST {
            return Err(Error::NotAVector(format!("{} numbers, not 1 to {MOST}", vector.len())));
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(Error::NotAVector("a number in it is not finite".into()));
        }
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let scale = largest / 127.0;
        // A scale of 0 means the zero vector, or one too near to zero to tell apart.
        let quantize = |x: &f32| if scale > 0.0 { (x / scale).round() as i8 } else { 0 };
        Ok(Self { scale, values: vector.iter().map(quantize).collect() })
    }

    /// How many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// The dot product: of two unit vectors, how near they are, from -1 to 1. Vectors of different lengths are of different
    /// models, and nothing is known of their nearness: 0.
    pub fn dot(&self, other: &Self) -> f32 {
        let (ours, theirs) = (&self.values, &other.values);
        if ours.len() != theirs.len() {
            return 0.0;
        }
        // At most 4096 · 128², far inside an i32.
        let pieces = ours.len() / 16 * 16;
        let rest = ours.iter().zip(theirs).skip(pieces).map(|(a, b)| i32::from(*a) * i32::from(*b));
        let sum = kernel::best().dot(ours, theirs) + rest.sum::<i32>();
        sum as f32 * (self.scale * other.scale)
    }

    /// One bit for each number, set where it is negative. A longer vector is folded: each bit is the sign of a sum of several
    /// numbers, some of them negated; these signs distinguish directions as well as single numbers do.
    pub fn signature(&self) -> Signature {
        let mut bits = [0; BITS / 64];
        let mut set = |place: usize, negative: bool| {
            if let Some(word) = bits.get_mut(place / 64) {
                *word |= u64::from(negative) << (place % 64);
            }
        };
        if self.values.len() <= BITS {
            self.values.iter().enumerate().for_each(|(place, value)| set(place, *value < 0));
        } else {
            let mut sums = [0_i32; BITS];
            for (n, value) in self.values.iter().enumerate() {
                let negated = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
                sums[n % BITS] += if negated { -i32::from(*value) } else { i32::from(*value) };
            }
            sums.iter().enumerate().for_each(|(place, sum)| set(place, *sum < 0));
        }
        Signature(bits)
    }

    /// The scale as a little-endian `f32`, then one byte a number.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::bytes(self.values.len()));
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend(self.values.iter().map(|value| value.to_le_bytes()[0]));
        bytes
    }

    /// Back from [`Quantized::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let wrong =
            || Error::NotAVector(format!("{} bytes, not {} to {}", bytes.len(), Self::bytes(1), Self::bytes(MOST)));
        let (scale, values) = bytes.split_first_chunk().ok_or_else(wrong)?;
        if values.is_empty() || values.len() > MOST {
            return Err(wrong());
        }
        let scale = f32::from_le_bytes(*scale);
        if !scale.is_finite() || scale < 0.0 {
            return Err(Error::NotAVector(format!("its scale is {scale}")));
        }
        Ok(Self { scale, values: values.iter().map(|byte| i8::from_le_bytes([*byte])).collect() })
    }
}

/// The signs of a vector's numbers: enough to pick candidates for the exact score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u64; BITS / 64]);

impl Signature {
    /// In how many bits the two differ, 0 to 384; the fewer, the nearer.
    pub fn hamming(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit vector that looks random and is always the same for a seed.
    fn unit(seed: u64) -> Vec<f32> {
        unit_of(seed, DIM)
    }

    fn unit_of(seed: u64, dimensions: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let vector: Vec<f32> = (0..dimensions).map(|_| next()).collect();
        let length = dot(&vector, &vector).sqrt();
        vector.iter().map(|x| x / length).collect()
    }

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn the_dot_product_stays_near_that_of_the_floats() {
        for seed in 1..40 {
            let (a, mut b) = (unit(seed), unit(seed + 1000));
            // From unrelated to nearly the same.
            for (b, a) in b.iter_mut().zip(&a) {
                *b += a * (seed as f32 / 10.0);
            }
            let length = dot(&b, &b).sqrt();
            b.iter_mut().for_each(|x| *x /= length);
            let exact = dot(&a, &b);
            let near = Quantized::quantize(&a).unwrap().dot(&Quantized::quantize(&b).unwrap());
            assert!((exact - near).abs() < 0.005, "seed {seed}: {exact} and {near}");
        }
    }

    #[test]
    fn every_number_is_the_nearest_there_is() {
        let vector = unit(11);
        let row = Quantized::quantize(&vector).unwrap();
        for (i, x) in vector.iter().enumerate() {
            let found = f32::from(row.values[i]) * row.scale;
            assert!((x - found).abs() <= row.scale * 0.5001, "number {i}: {x} became {found}");
        }
    }

    #[test]
    fn bytes_come_back_as_they_were() {
        for vector in [unit(7), vec![0.0; DIM], vec![-1.0; DIM], unit_of(8, 1), unit_of(9, 1024)] {
            let row = Quantized::quantize(&vector).unwrap();
            let bytes = row.to_bytes();
            assert_eq!((bytes.len(), row.dimensions()), (4 + vector.len(), vector.len()));
            assert_eq!(Quantized::from_bytes(&bytes).unwrap(), row);
        }
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let mut infinite = [0; Quantized::BYTES];
        infinite[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        for bytes in [&[][..], &[0; 3], &[0; 4], &[0; 4101], &infinite] {
            assert!(matches!(Quantized::from_bytes(bytes), Err(Error::NotAVector(_))), "{} bytes", bytes.len());
        }
        let mut broken = unit(1);
        broken[5] = f32::NAN;
        for vector in [&[][..], &[1.0; 4097], &broken] {
            assert!(matches!(Quantized::quantize(vector), Err(Error::NotAVector(_))), "{} numbers", vector.len());
        }
    }

    #[test]
    fn vectors_of_any_length_are_compared_with_their_like() {
        for dimensions in [1, 8, 15, 17, 256, 768, 1024] {
            let (a, mut b) = (unit_of(3, dimensions), unit_of(5, dimensions));
            b.iter_mut().zip(&a).for_each(|(b, a)| *b = *b * 0.6 + a * 0.8);
            let length = dot(&b, &b).sqrt();
            b.iter_mut().for_each(|x| *x /= length);
            let (row, other) = (Quantized::quantize(&a).unwrap(), Quantized::quantize(&b).unwrap());
            assert!((row.dot(&other) - dot(&a, &b)).abs() < 0.02, "{dimensions}");
            let unrelated = Quantized::quantize(&unit_of(7, dimensions)).unwrap();
            let bits = |row: &Quantized, other: &Quantized| row.signature().hamming(&other.signature());
            assert_eq!(bits(&row, &row), 0);
            if dimensions > 200 {
                assert!(bits(&row, &other) + 40 < bits(&row, &unrelated), "{dimensions}");
            }
            assert_eq!(row.dot(&Quantized::quantize(&unit_of(3, dimensions + 1)).unwrap()), 0.0);
        }
    }

    #[test]
    fn zeros_and_extremes_have_a_score() {
        let row = |x: f32| Quantized::quantize(&[x; DIM]).unwrap();
        let cases = [(0.0, 1.0, 0.0), (1.0, 1.0, 384.0), (1.0, -1.0, -384.0), (1e-44, 1e-44, 0.0)];
        for (a, b, expected) in cases {
            let score = row(a).dot(&row(b));
            assert!((score - expected).abs() < 0.01, "{a} {b}: {score}");
        }
    }

    #[test]
    fn a_signature_counts_differing_signs() {
        let plain = unit(3);
        let same = Quantized::quantize(&plain).unwrap().signature();
        for (flipped, name) in [(vec![], "none"), (vec![0, 63, 64, 383], "ends"), ((0..DIM).collect(), "all")] {
            let base = vec![0.25; DIM];
            let mut other = base.clone();
            flipped.iter().for_each(|&i| other[i] = -0.25);
            let (a, b) = (Quantized::quantize(&base).unwrap(), Quantized::quantize(&other).unwrap());
            assert_eq!(a.signature().hamming(&b.signature()) as usize, flipped.len(), "{name}");
        }
        // Number 0 is the lowest bit of the first word.
        let mut one_negative = vec![0.25; DIM];
        one_negative[65] = -0.25;
        assert_eq!(Quantized::quantize(&one_negative).unwrap().signature().0, [0, 2, 0, 0, 0, 0]);
        let opposite: Vec<f32> = plain.iter().map(|x| -x).collect();
        let opposite = Quantized::quantize(&opposite).unwrap().signature();
        assert_eq!(same.hamming(&same), 0);
        // A number rounded to 0 has no sign to flip.
        assert!(same.hamming(&opposite) > 370);
    }
}
