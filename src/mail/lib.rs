//! Mail accounts: reading by IMAP, sending by SMTP, messages and their parts, new mail as events.
//!
//! The clients are our own, over [`http_client::start_tls`]: every line, literal and exchange has a bound in size and time, because
//! a server may be hostile or broken. Headers are read by mail-parser, and messages written by mail-builder; the parts of a message
//! are walked here, with bounds on depth and number.

mod account;
mod address;
mod compose;
mod decode;
mod error;
mod head;
mod imap;
mod message;
mod mime;
mod seen;
mod smtp;
#[cfg(test)]
mod tests;
mod watch;
mod wire;

pub use account::{IMAP, ImapAccount, SMTP, Security, Server, SmtpAccount, imap_account, services, smtp_account};
pub use address::{MAX_RECIPIENTS, Person, parse_people, parse_person};
pub use compose::{Attached, Outgoing, quoted_text};
pub use error::{Error, Result};
pub use imap::{Fetched, Folder, Folders, Imap, Opened, Search};
pub use message::{EmailId, Headers};
pub use mime::{Part, Parts, Readable, safe_name};
pub use smtp::Smtp;
pub use watch::{MAIL_RECEIVED, MailWatch};

/// The largest message of which attachments are saved, and of which text is read, in bytes.
pub const MAX_MESSAGE: usize = 36 << 20;
pub const MAX_READ: usize = 4 << 20;
/// The most bytes of files in a message that is sent.
pub const MAX_ATTACHED: usize = 15 << 20;
