//! Layer 3: tools that find and keep knowledge: SQL, vectors, the knowledge graph, memory documents and skills.

mod documents;
mod graph;
mod skills;
mod sql;
mod vectors;

pub use self::{
    documents::family as memory_documents,
    graph::family as graph,
    skills::family as skills,
    sql::family as sql,
    vectors::{family as vectors, undoer as undo_vectors},
};
