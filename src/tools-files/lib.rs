//! Layer 3: the files of the workspace as tools. Paths of memory documents and context files lead to the store, those of skills to
//! their folders; all other paths are resolved by the crate `workspace`.

mod download;
mod family;
mod find;
mod lines;
mod list;
mod manage;
mod read;
mod replace;
mod search;
mod target;
mod walk;
mod write;

pub use family::family;
pub use target::FileTools;
