//! Layer 3: tools that find and keep knowledge: SQL, vectors, the knowledge graph, memory documents and skills.

mod graph;
mod vectors;

pub use graph::family as graph;
pub use vectors::{family as vectors, undoer as undo_vectors};
