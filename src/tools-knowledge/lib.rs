//! Layer 3: tools that find and keep knowledge: SQL, vectors, the knowledge graph, memory documents and skills.

mod documents;
mod skills;
mod sql;

pub use self::{documents::family as memory_documents, skills::family as skills, sql::family as sql};
