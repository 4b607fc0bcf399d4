//! Errors in phrase files.

/// Why a `Reflex` could not be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A phrase file has an invalid line.
    #[error("{file}, line {line}: {why}: `{text}`")]
    Phrase {
        /// The file's first comment, or its number.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The line itself.
        text: String,
        /// How to correct it.
        why: String,
    },
}
