//! Single-precision numbers as JSON shows them: JSON values are double, and 0.8 would become 0.800000011920929.

use serde::Serializer;

/// The double that has the shortest decimal form among those that read back as `value`.
pub fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

/// Serializes a number as its shortest decimal form; for `#[serde(serialize_with)]`.
///
/// # Errors
/// Those of the serializer.
pub fn as_shortest<S: Serializer>(value: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(shortest(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_they_were_written() {
        for text in ["0.8", "0.1", "0.33", "0.12345678", "1", "0", "-45.2", "16777216", "0.000001"] {
            let value: f32 = text.parse().unwrap();
            assert_eq!(shortest(value), text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(shortest(value) as f32, value, "{text}");
        }
        assert!(shortest(f32::NAN).is_nan() && shortest(f32::INFINITY).is_infinite());
    }
}
