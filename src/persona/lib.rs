//! The agent's persona: documents written by people and by the agent (system prompt, learned notes, context files)
//! with their history, and the system prompt composed from them.

mod documents;
mod edit;
mod name;
pub mod prompt;
mod tools;

pub use documents::{Author, Document, Documents, Past, PastHead};
pub use edit::Edit;
pub use name::Name;
pub use tools::family;
