//! Layer 3: documents and pictures as tools. Each file is decoded by the crate `decoders` in a process that can do nothing else; what
//! a document says counts as from outside.

mod create;
mod family;
mod pdf;
mod picture;
mod read;
mod receipt;
mod source;

pub use family::{documents, pdf};
pub use source::DocumentTools;
