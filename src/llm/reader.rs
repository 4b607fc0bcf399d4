//! The reader of an answer, one for each wire format.

use crate::{
    Delta,
    error_response::{ErrorKind, Failure},
};
use serde_json::Value;

/// Reads the answers of one wire format, event by event.
pub(crate) trait Reader: Send {
    /// Takes the data of one event and answers what can be said of it at once; calls wait until they are whole.
    fn take(&mut self, event: Value) -> Result<Vec<Delta>, Failure>;
    /// Takes an answer that came in one piece.
    fn whole(&mut self, answer: Value) -> Result<Vec<Delta>, Failure> {
        self.take(answer)
    }
    /// `[DONE]` was told: nothing follows.
    fn on_done_marker(&mut self) {}
    /// Whether the server said that nothing follows.
    fn ended(&self) -> bool {
        false
    }
    /// Whether there is something of an answer in it that was not said yet.
    fn holds(&self) -> bool;
    /// How much of it there is, in bytes.
    fn held(&self) -> usize;
    /// The calls, what is to be kept, and the end; `None` when the answer was cut off before its end was told.
    fn finish(&mut self) -> Result<Option<Vec<Delta>>, Failure>;
}

/// What becomes of an answer that the provider's filter stopped: the words that were said stay and say so; without any it is a
/// refusal.
pub(crate) fn filtered(said_anything: bool, why: &str) -> Result<Option<Delta>, Failure> {
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    if said_anything {
        return Ok(Some(Delta::Filtered(format!("[The provider stopped the answer here{why}.]"))));
    }
    let text = format!("it will not answer this{why}: say it in another way, or ask another model");
    Err(Failure::new(ErrorKind::Filtered, text))
}
