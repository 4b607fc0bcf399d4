//! The agent's persona: documents written by people and by the agent (system prompt, learned notes, context files)
//! with their history, and the system prompt composed from them.

mod context_files;
mod documents;
mod name;
pub mod prompt;
mod tools;

pub use self::documents::{Author, Document, Documents, Past, PastHead};
pub use ::documents::{AgentType, Edit};
pub use name::Name;
pub use tools::family;
