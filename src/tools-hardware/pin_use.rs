//! Remembers that this household uses its pins: from then on requests to models offer the pin tools. A house without wires at
//! the header has no use for them in each request.

use serde::{Deserialize, Serialize};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Id, Result, Scope};

/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 4]);

/// That a pin was read or switched. New fields go last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PinsUsed {}

impl Record for PinsUsed {
    const NAME: &'static str = "pins-used";
    const WORD: &'static str = "note about pins";
    const LEVEL: Level = Level::Household;
    // Another device has other wires.
    const STAYS: bool = true;
}

/// Whether a pin was ever read or switched here; cheap to clone.
#[derive(Clone)]
pub(crate) struct PinUse {
    records: Collection<PinsUsed>,
    used: Arc<AtomicBool>,
}

impl PinUse {
    pub fn open(store: &Store) -> Result<Self> {
        let records: Collection<PinsUsed> = store.collection();
        let used = records.get_in(Scope::Household, ONE)?.is_some();
        Ok(Self { records, used: Arc::new(used.into()) })
    }

    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Notes that a pin was read or switched. Stored once, with a commit that is due anyway: a power cut that loses it costs
    /// nothing but a search.
    pub fn note(&self) {
        if self.used.swap(true, Ordering::Relaxed) {
            return;
        }
        let records = self.records.clone();
        self.records.store().write_later(move |tx| match records.read(tx, Scope::Household, ONE)? {
            Some(_) => Ok(()),
            None => records.put(tx, ONE, &Stamp::household("gpio"), &PinsUsed {}).map(drop),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn use_is_remembered_by_the_store() {
        let store = Store::in_memory().unwrap();
        let pins = PinUse::open(&store).unwrap();
        assert!(!pins.is_used());
        pins.note();
        pins.note();
        assert!(pins.is_used());
        store.flush().await.unwrap();
        assert!(PinUse::open(&store).unwrap().is_used());
    }
}
