//! Limits the open event streams of each person.

use crate::envelope::Failure;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tool::UserId;

/// The most streams one person has open: one for each page, and some for programs.
const MAX_STREAMS: usize = 32;

/// The open streams by person; cheap to clone.
#[derive(Default, Clone)]
pub struct EventStreams(Arc<Mutex<HashMap<UserId, usize>>>);

/// An open stream; dropping it closes it.
pub(crate) struct OpenStream(EventStreams, UserId);

impl EventStreams {
    /// Counts a stream.
    ///
    /// # Errors
    /// 409 when this person has too many.
    pub(crate) fn open(&self, user: UserId) -> Result<OpenStream, Failure> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(user).or_default();
        if *count >= MAX_STREAMS {
            let text = format!("{MAX_STREAMS} streams of your events are open: close one of them first");
            return Err(Failure::new(409, "unavailable", text));
        }
        *count += 1;
        Ok(OpenStream(self.clone(), user))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_counted_for_each_person() {
        let streams = EventStreams::default();
        let [mia, ben] = [1, 2].map(|n| UserId(tool::Id::from_bytes([n; 16])));
        let mut open: Vec<OpenStream> = (0..MAX_STREAMS).map(|_| streams.open(mia).unwrap()).collect();
        assert!(streams.open(mia).is_err() && streams.open(ben).is_ok());
        open.pop();
        assert!(streams.open(mia).is_ok());
        drop(open);
        assert!(streams.0.lock().unwrap().is_empty());
    }
}
