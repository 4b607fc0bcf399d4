//! Layer 2: virtual files, texts in the store that are addressed by path. Memory documents (`memory/…`) belong to one person, with
//! the agent's as fallback, and are found by words and by meaning. The seven context files of an agent are reached by
//! path as well, through the [`ContextFiles`] of `persona`. [`route`] decides which path is which.

mod check;
mod chunk;
mod edit;
mod files;
mod index;
mod memory;
mod path;
mod search;
#[cfg(test)]
mod tests;

pub use edit::Edit;
pub use files::{ContextFiles, ContextText, FileLine, VirtualFile, VirtualFiles};
pub use memory::MemoryDocuments;
use path::VirtualPath;
pub use path::{AgentType, ContextFile, Place};
pub use search::{Hit, SearchQuery, SearchResults};

/// The collection of memory documents, for undoing.
pub const COLLECTION: &str = <memory::Stored as store::Record>::NAME;
