//! The agent's persona: documents written by people and by the agent (system prompt, learned notes, context files)
//! with their history, the profiles of people, and the system prompt composed from them.

mod context_files;
mod documents;
mod name;
mod profile;
mod profile_tools;
pub mod prompt;
mod tools;

pub use self::documents::{Author, Document, Documents, Past, PastHead};
pub use ::documents::{AgentType, Edit};
pub use name::Name;
pub use profile::{
    Profile, ProfileChange, ProfileEntry, ProfileSection, ProfileSource, ProfileText, ProfileView, Statement,
    sentence_count, statements,
};
pub use tools::family;
