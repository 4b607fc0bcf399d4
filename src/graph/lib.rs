//! The knowledge graph of each person: entities, the facts between them, and where each fact comes from.
//!
//! Facts come from people and their models ([`Graph::add_fact`]), and from memories ([`Graph::read_memory`]): rules read what those
//! plainly state, and a fact goes when its memory goes. [`Graph::search`] finds entities by name, alias, words and meaning, with
//! what is around them, and paths between them.

mod changes;
mod check;
mod entities;
mod extract;
mod meaning;
mod memories;
mod model;
mod records;
mod search;
#[cfg(test)]
mod tests;
mod undo;
mod views;
mod walk;

pub use changes::{EntityChange, FactChange, NewFact};
pub use extract::{SELF, Statement};
pub use memories::MemoryText;
pub use model::{model_prompt, model_statements};
pub use records::{FactOrigin, TABLES};
pub use search::{Search, SearchResults};
pub use views::{EntityView, FactView, NodeRef, SourceView};

use embed::Embedder;
use records::{EntityRecord, FactRecord, VectorRecord};
use store::{Collection, Store};
use tool::{Cx, Scope};

/// The graphs of the household; cheap to clone.
#[derive(Clone)]
pub struct Graph {
    pub(crate) entities: Collection<EntityRecord>,
    pub(crate) facts: Collection<FactRecord>,
    pub(crate) vectors: Collection<VectorRecord>,
    embedder: Embedder,
}

impl Graph {
    /// The graphs in `store`.
    pub fn new(store: &Store, embedder: Embedder) -> Self {
        Self { entities: store.collection(), facts: store.collection(), vectors: store.collection(), embedder }
    }
}

/// The work that an error names.
const WORK: &str = "the work on the graph";

/// The scope of a caller's graph.
fn scope(cx: &Cx) -> Scope {
    Scope::User(cx.user())
}
