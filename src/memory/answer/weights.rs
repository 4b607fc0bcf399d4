//! The weights of the features; `tests.rs` fits them again and compares.

use super::features::{COUNT, Features};

/// The constant and the weights, in the order of the features.
pub(crate) const BIAS: f32 = -6.83;
pub(crate) const WEIGHTS: [f32; COUNT] = [1.89, 3.94, 1.91, -2.21, 1.15, -1.71, 1.80, 1.05, 2.56, 3.35];
/// The lowest score of an answer.
pub(crate) const THRESHOLD: f32 = 0.5;

/// The probability that a fact with these features answers.
pub(crate) fn score(features: &Features) -> f32 {
    let sum: f32 = features.iter().zip(WEIGHTS).map(|(feature, weight)| feature * weight).sum();
    1.0 / (1.0 + (-(BIAS + sum)).exp())
}
