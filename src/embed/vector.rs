//! Vectors as they are stored and searched: 8 bits a number for the score, 1 bit for a first pass.

use crate::{DIM, Error, kernel};

/// A vector in 388 bytes: 384 whole numbers and the scale that turns them back.
///
/// A dot product of two differs from that of the floats by less than 0.01.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantized {
    scale: f32,
    values: [i8; DIM],
}

impl Quantized {
    /// The length of [`Quantized::to_bytes`].
    pub const BYTES: usize = size_of::<f32>() + DIM;

    /// From [`DIM`] finite floats, as [`crate::Embedder::embed`] returns them.
    pub fn quantize(vector: &[f32]) -> Result<Self, Error> {
        let vector: &[f32; DIM] =
            vector.try_into().map_err(|_| Error::NotAVector(format!("{} numbers, not {DIM}", vector.len())))?;
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(Error::NotAVector("a number in it is not finite".into()));
        }
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let scale = largest / 127.0;
        // A scale of 0 means the zero vector, or one too near to zero to tell apart.
        let values = if scale > 0.0 { vector.map(|x| (x / scale).round() as i8) } else { [0; DIM] };
        Ok(Self { scale, values })
    }

    /// The dot product: of two unit vectors, how near they are, from -1 to 1.
    pub fn dot(&self, other: &Self) -> f32 {
        // At most 384 · 128², far inside an i32.
        let sum = kernel::best().dot(&self.values, &other.values);
        sum as f32 * (self.scale * other.scale)
    }

    /// The sign of every number.
    pub fn signature(&self) -> Signature {
        let mut bits = [0; DIM / 64];
        for (word, values) in bits.iter_mut().zip(self.values.chunks_exact(64)) {
            *word = values.iter().rev().fold(0, |word, &value| word << 1 | u64::from(value < 0));
        }
        Signature(bits)
    }

    /// The scale as a little-endian `f32`, then one byte a number.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (scale, values) = bytes.split_at_mut(size_of::<f32>());
        scale.copy_from_slice(&self.scale.to_le_bytes());
        for (byte, value) in values.iter_mut().zip(self.values) {
            *byte = value.to_le_bytes()[0];
        }
        bytes
    }

    /// Back from [`Quantized::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let wrong = || Error::NotAVector(format!("{} bytes, not {}", bytes.len(), Self::BYTES));
        let (scale, values) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let values: &[u8; DIM] = values.try_into().map_err(|_| wrong())?;
        let scale = f32::from_le_bytes(*scale);
        if !scale.is_finite() || scale < 0.0 {
            return Err(Error::NotAVector(format!("its scale is {scale}")));
        }
        Ok(Self { scale, values: values.map(|byte| i8::from_le_bytes([byte])) })
    }
}

/// One bit a number, set where it is negative: enough to pick candidates for the exact score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u64; DIM / 64]);

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
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let vector: Vec<f32> = (0..DIM).map(|_| next()).collect();
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
        for vector in [unit(7), vec![0.0; DIM], vec![-1.0; DIM]] {
            let row = Quantized::quantize(&vector).unwrap();
            let bytes = row.to_bytes();
            assert_eq!(bytes.len(), 388);
            assert_eq!(Quantized::from_bytes(&bytes).unwrap(), row);
        }
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let mut infinite = [0; Quantized::BYTES];
        infinite[..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
        for bytes in [&[][..], &[0; 3], &[0; 387], &[0; 389], &infinite] {
            assert!(matches!(Quantized::from_bytes(bytes), Err(Error::NotAVector(_))), "{} bytes", bytes.len());
        }
        let mut broken = unit(1);
        broken[5] = f32::NAN;
        for vector in [&[][..], &[1.0; 383], &[1.0; 385], &broken] {
            assert!(matches!(Quantized::quantize(vector), Err(Error::NotAVector(_))), "{} numbers", vector.len());
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
