//! Layer 3: who the agent is. Documents that people and the agent itself write (system prompt, learned notes, context files),
//! each with its history, and the system prompt composed of them.

mod documents;
mod edit;
mod name;
pub mod prompt;
mod tools;

pub use documents::{Author, Document, Documents, Past, PastHead};
pub use edit::Edit;
pub use name::Name;
pub use tools::family;
