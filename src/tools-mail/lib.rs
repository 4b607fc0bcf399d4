//! Layer 3: mail as tools. The accounts are entries of the services `imap` and `smtp` in the Config Center. Everything that is read
//! counts as from outside, and what sends asks a person as the policy says.

mod delete;
mod family;
mod read;
mod save;
mod send;
mod shown;
mod state;

pub use delete::undoer;
pub use family::family;
pub use state::MailTools;
