//! Layer 3: pages in a browser as tools. Each conversation has a browser of its own (a run without one too, and whoever calls by hand), whose connections go through the guard, and
//! everything that pages say counts as from outside.
//!
//! ```text
//! family ─▶ navigate, act, read ─▶ ask (may this be sent?) · files (downloads, pictures) · answer ─▶ open (the browsers) ─▶ gate
//! ```

mod act;
mod answer;
mod ask;
mod family;
mod files;
mod gate;
mod key;
mod navigate;
mod open;
mod read;

pub use family::family;
pub use open::BrowserTools;
