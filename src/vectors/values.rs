//! The numbers of a vector: as the caller gave them, or a byte each where Hob can compute them again from a text.

use serde::{Deserialize, Serialize};
use tool::{Error, Result};

/// The numbers of a vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Values {
    /// 0 for little-endian floats; otherwise each byte is a whole number to multiply with this.
    scale: f32,
    bytes: Vec<u8>,
}

/// A vector in bytes: whole numbers in pieces of sixteen, padded with zeros, and their scale.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bytes {
    pub numbers: Vec<[i8; 16]>,
    pub scale: f32,
    /// The length of the difference to the vector itself.
    pub residual: f32,
}

impl Values {
    /// The numbers as they are.
    pub fn exact(vector: &[f32]) -> Self {
        Self { scale: 0.0, bytes: vector.iter().flat_map(|x| x.to_le_bytes()).collect() }
    }

    /// A byte for each number: enough for a vector of the model, whose dot products then differ by less than 0.01.
    pub fn compact(vector: &[f32]) -> Self {
        let bytes = Bytes::of(vector);
        if bytes.scale == 0.0 {
            return Self::exact(vector);
        }
        let numbers = bytes.numbers.as_flattened().iter().take(vector.len());
        Self { scale: bytes.scale, bytes: numbers.map(|x| x.to_le_bytes()[0]).collect() }
    }

    /// The numbers.
    pub fn floats(&self) -> Vec<f32> {
        if self.scale == 0.0 {
            return self.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        }
        self.bytes.iter().map(|byte| f32::from(byte.cast_signed()) * self.scale).collect()
    }

    /// In bytes, for a scan.
    pub fn quantized(&self) -> Bytes {
        if self.scale == 0.0 {
            return Bytes::of(&self.floats());
        }
        let numbers = self.bytes.chunks(16).map(|piece| {
            let mut padded = [0; 16];
            padded.iter_mut().zip(piece).for_each(|(to, byte)| *to = byte.cast_signed());
            padded
        });
        Bytes { numbers: numbers.collect(), scale: self.scale, residual: 0.0 }
    }
}

impl Bytes {
    pub fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let scale = largest / 127.0;
        let mut residual = 0.0_f64;
        let numbers = vector.chunks(16).map(|piece| {
            let mut padded = [0_i8; 16];
            for (to, x) in padded.iter_mut().zip(piece) {
                *to = if scale > 0.0 { (x / scale).round().clamp(-127.0, 127.0) as i8 } else { 0 };
                residual += (f64::from(*x) - f64::from(*to) * f64::from(scale)).powi(2);
            }
            padded
        });
        Self { numbers: numbers.collect(), scale, residual: residual.sqrt() as f32 }
    }

    #[cfg(test)]
    pub fn float(&self, n: usize) -> f32 {
        self.numbers.as_flattened().get(n).map_or(0.0, |x| f32::from(*x) * self.scale)
    }
}

/// The dot product, summed in doubles: the same in whatever order rows are looked at.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>() as f32
}

/// Checks a vector of a caller.
pub(crate) fn checked(vector: &[f32], dimensions: usize, what: &str) -> Result<()> {
    if vector.len() != dimensions {
        let (given, text) = (vector.len(), "this collection has vectors of");
        return Err(Error::bad_args(format!(
            "{what} has {given} numbers, but {text} {dimensions}: pass {dimensions} numbers"
        )));
    }
    if let Some(place) = vector.iter().position(|x| !x.is_finite()) {
        return Err(Error::bad_args(format!("number {} of {what} is not finite: pass ordinary numbers", place + 1)));
    }
    // Of very small numbers the squares vanish, of very large ones they have no bounds.
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if !(1e-15..1e15).contains(&length) {
        let problem = if length == 0.0 { "is all zeros" } else { "is too short or too long to compare" };
        return Err(Error::bad_args(format!("{what} {problem}: a vector needs a direction; leave it out")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let vector: Vec<f32> = (0..37).map(|n| (n as f32 - 18.0) / 7.0).collect();
        assert_eq!(Values::exact(&vector).floats(), vector);
        let compact = Values::compact(&vector);
        let largest = compact.floats().iter().zip(&vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest <= compact.scale * 0.501, "{largest}");
        // A vector that was stored in bytes is the same in memory.
        let bytes = compact.quantized();
        assert_eq!((bytes.residual, bytes.float(3)), (0.0, compact.floats()[3]));
        assert!(Values::exact(&vector).quantized().residual > 0.0);
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        for (vector, part) in [
            (vec![1.0, 2.0], "has 2 numbers"),
            (vec![1.0, f32::NAN, 0.0], "number 2"),
            (vec![1.0, 1.0, f32::INFINITY], "number 3"),
            (vec![0.0; 3], "all zeros"),
            (vec![1e-30; 3], "too short"),
            (vec![1e30; 3], "too long"),
        ] {
            let error = checked(&vector, 3, "the vector").unwrap_err();
            assert!(error.code() == "bad_args" && error.message().contains(part), "{error}");
        }
        assert!(checked(&[0.0, -1.0, 0.0], 3, "the vector").is_ok());
    }
}
