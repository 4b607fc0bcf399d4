//! From the vectors of all tokens to one of the text.

use serde::Deserialize;

/// How the vectors of tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The vector of the first token.
    Cls,
    /// The largest number of each place.
    Max,
    /// The model's output is one vector already.
    None,
}

impl Pooling {
    /// The vector of the text from `rows` of `width` numbers, one of each token; `None` where there is none.
    pub fn pool(self, rows: &[f32], width: usize) -> Option<Vec<f32>> {
        if width == 0 || rows.len() < width {
            return None;
        }
        let rows = rows.chunks_exact(width);
        let count = rows.len() as f32;
        let mut rows = rows.map(<[f32]>::to_vec);
        let first = rows.next()?;
        Some(match self {
            Self::Cls | Self::None => first,
            Self::Max => rows.fold(first, |max, row| max.iter().zip(&row).map(|(a, b)| a.max(*b)).collect()),
            Self::Mean => {
                let sum = rows.fold(first, |mut sum, row| {
                    sum.iter_mut().zip(&row).for_each(|(sum, n)| *sum += n);
                    sum
                });
                sum.iter().map(|n| n / count).collect()
            }
        })
    }
}

/// Scales a vector to length 1; `false` where it has no direction, as that of a text without meaning.
pub fn normalise(vector: &mut [f32]) -> bool {
    let length = vector.iter().map(|n| n * n).sum::<f32>().sqrt();
    if !length.is_finite() || length < 1e-6 {
        return false;
    }
    vector.iter_mut().for_each(|n| *n /= length);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_one_vector() {
        let rows = [1.0, 2.0, 3.0, -4.0];
        for (pooling, expected) in [
            (Pooling::Mean, [2.0, -1.0]),
            (Pooling::Cls, [1.0, 2.0]),
            (Pooling::Max, [3.0, 2.0]),
            (Pooling::None, [1.0, 2.0]),
        ] {
            assert_eq!(pooling.pool(&rows, 2).unwrap(), expected, "{pooling:?}");
            assert_eq!(pooling.pool(&rows, 5), None);
            assert_eq!(pooling.pool(&[], 0), None);
        }
    }

    #[test]
    fn a_vector_without_direction_is_none() {
        let mut vector = [3.0, 4.0];
        assert!(normalise(&mut vector) && vector == [0.6, 0.8]);
        for mut broken in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(!normalise(&mut broken), "{broken:?}");
        }
    }
}
