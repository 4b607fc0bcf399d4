//! The reader of an answer, one for each wire format.

use crate::{
    Delta,
    error_response::{ErrorKind, Failure},
};
use serde_json::Value;

/// Reads the answers of one wire format, event by event.
pub(crate) trait Reader: Send {
    /// Takes the data of one event and returns the deltas available so far; calls are held back until complete.
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure>;
    /// Takes an answer that came in one piece.
    fn whole(&mut self, answer: Value) -> Result<Vec<Delta>, Failure> {
        self.take(answer)
    }
    /// Handles the `[DONE]` marker.
    fn on_done_marker(&mut self) {}
    /// Whether the server signalled the end.
    fn ended(&self) -> bool {
        false
    }
    /// Whether anything is held back.
    fn holds(&self) -> bool;
    /// How much of it there is, in bytes.
    fn held(&self) -> usize;
    /// The remaining calls, provider state and the end; `None` if the response was cut off.
    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure>;
}

/// Handles a response stopped by the provider's content filter: text already emitted stays, with a note; without any
/// it is a refusal.
pub(crate) fn filtered(said_anything: bool, why: &str) -> Result<Option<Delta>, Failure> {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    if said_anything {
        return Ok(Some(Delta::Filtered(format!("[The provider stopped the answer here{why}.]"))));
    }
    let text = format!("it will not answer this{why}: say it in another way, or ask another model");
    Err(Failure::new(ErrorKind::Filtered, text))
}
