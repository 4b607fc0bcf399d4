//! Layer 2: pages in Chromium. It runs in the process sandbox, is spoken to by the DevTools protocol over a pipe, and reaches the
//! network through a gate only. A [`Browser`] is one profile, which is in the memory of its sandbox and gone with it.
//!
//! ```text
//! chromium (finds and starts it) ─▶ browser ◀─ page, scripts (what is done with a page)
//!                                      └─▶ events (what happened) ─▶ link (commands, answers), state
//! ```

mod browser;
mod chromium;
mod downloads;
mod events;
mod link;
mod page;
mod scripts;
mod state;

pub use browser::{Browser, Happened};
pub use chromium::{Chromium, Config};
pub use page::{Area, Navigated, Screenshot, Wait};
pub use scripts::{Aim, Element, Field, Form, Lookup, Point, Serialized, Typed};
pub use state::{Download, DownloadState};

/// Why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Pages cannot be opened on this device: the reason, and what to do.
    #[error("{0}")]
    Unavailable(String),
    /// The browser has ended, and its pages with it.
    #[error("{0}")]
    Ended(String),
    /// The page does not respond, so the browser is of no more use.
    #[error("the page did not respond within {0} s")]
    Silent(u64),
    /// The page crashed.
    #[error("the page crashed, perhaps because it needs more memory than it may have")]
    Crashed,
    /// No page is open.
    #[error("no page is open")]
    NoPage,
    /// A page could not be loaded: the words of Chromium.
    #[error("{0}")]
    NotLoaded(String),
    /// The page did not do it.
    #[error("{0}")]
    Failed(String),
}

pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
process_sandbox::enter_in_tests!();
