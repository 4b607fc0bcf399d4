//! Layer 3: tools that find and keep knowledge: SQL, vectors, the knowledge graph, memory documents and skills.

mod sql;

pub use self::sql::family as sql;
