//! Text to a unit vector with the model inside the binary, or with one that a household brings.
//!
//! [`Embedder`] turns a text into [`DIM`] floats of length 1; the dot product of two of them says
//! how near two texts are in meaning, from about 0 (unrelated) to 1 (the same). [`Quantized`] is
//! the same vector in 388 bytes, for storing, and [`Signature`] in 48, for a first pass over many.
//!
//! The built-in model and its vocabulary come from `models/`, whose README says where they are from. Its path is all our own
//! code. [`Embedder::chosen`] takes an ONNX model with its tokenizer (`own/`), run by tract; its vectors may have other lengths.

mod allocator;
mod embedder;
mod kernel;
mod model;
mod own;
pub mod scan;
mod vector;
mod vocabulary;
mod weights;
mod wordpiece;

pub use allocator::{map_large_allocations, release_code_pages};
pub use embedder::Embedder;
pub use own::BUILT_IN;
pub use vector::{Quantized, Signature};
pub use vocabulary::{is_word, word_ranks};

/// How many numbers a vector of the built-in model has.
pub const DIM: usize = 384;

/// The built-in model's name, recorded beside stored vectors: vectors of different models cannot be
/// compared, so a row with another name is computed again from its text.
pub const MODEL: &str = "all-MiniLM-L6-v2.int8";

/// The dot product of two rows of bytes, of the length of the shorter; at most some 100,000 bytes, so that it does not overflow.
pub fn dot_bytes(a: &[[i8; 16]], b: &[[i8; 16]]) -> i32 {
    kernel::best().dot(a.as_flattened(), b.as_flattened())
}

/// Why there is no vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text has no token; skip it.
    #[error("there is nothing to embed: give a text with at least one letter, digit or sign")]
    Empty,
    /// The text has more than so many tokens; embed it in parts.
    #[error("the text has more than {0} tokens: embed it in parts")]
    TooLong(usize),
    /// The model failed; search by words instead. The text says what to do about it.
    #[error("{0}")]
    Unavailable(String),
    /// These are not the numbers or bytes of a vector; compute it again from its text.
    #[error("not a vector of this model ({0}): compute it again from its text")]
    NotAVector(String),
}
