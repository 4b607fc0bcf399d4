//! What is wrong with a phrase file.

/// Why a `Reflex` could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line of a phrase file is not in the notation.
    #[error("{file}, line {line}: {why}: `{text}`")]
    Phrase {
        /// The file's first comment, or which of the files it is.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The line as it stands.
        text: String,
        /// What to change.
        why: String,
    },
}
