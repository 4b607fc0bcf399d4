//! The slow check in the background: some rows a minute, round and round, and where it stopped is remembered.

use crate::{
    Damage, Result, Store,
    check::{self, stretch, tell},
    engine::{META, get_raw},
};
use redb::TableHandle;
use std::{sync::PoisonError, time::Duration};

/// Where the check is, in the table of what the file says about itself.
const PLACE: &[u8] = b"checked";
/// What one step reads at most: with a step a minute that is 10 GB a week.
const ROWS: u64 = 4096;
const BYTES: usize = 1 << 20;
/// After how many steps the place is written down: a card wears with every commit.
const WRITTEN: u32 = 30;
/// How long there is nothing to do after everything was read.
const PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Where the check is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// When everything had been read the last time: milliseconds since 1970.
    finished_ms: u64,
    /// The table, and the last key that was read in it.
    table: String,
    key: Vec<u8>,
    steps: u32,
}

impl Place {
    fn bytes(&self) -> Vec<u8> {
        [&self.finished_ms.to_le_bytes()[..], self.table.as_bytes(), &[0], &self.key].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (finished, rest) = bytes.split_first_chunk::<8>()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let table = String::from_utf8(rest[..end].to_vec()).ok()?;
        Some(Self { finished_ms: u64::from_le_bytes(*finished), table, key: rest[end + 1..].to_vec(), steps: 0 })
    }
}

/// What a step of the slow check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patrolled {
    /// Damaged records among those it read.
    pub damaged: Vec<Damage>,
    /// Rows of indexes that were wrong and have been made again.
    pub mended: u64,
    /// Whether everything has been read now; the next round begins a day later.
    pub finished: bool,
    /// How many rows it read.
    pub rows: u64,
}

/// A row of a table: its table and its key.
type Position = (String, Vec<u8>);

impl Store {
    /// Checks the next few records, from where the last step stopped, also before a restart. To be called once a minute.
    ///
    /// # Errors
    /// As every read and write.
    pub async fn patrol(&self) -> Result<Patrolled> {
        let known = self.0.patrol.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut place = match known {
            Some(place) => place,
            None => {
                let stored = self.0.engine.read(|tx| get_raw(tx, META, PLACE))?;
                stored.and_then(|bytes| Place::read(&bytes)).unwrap_or_default()
            }
        };
        let now = tool::Id::new().millis();
        let rests = place.table.is_empty() && now.saturating_sub(place.finished_ms) < PAUSE.as_millis() as u64;
        if rests {
            return Ok(Patrolled { finished: true, ..Patrolled::default() });
        }
        let (this, at) = (self.clone(), place.clone());
        let read = tokio::task::spawn_blocking(move || this.read_some(&at)).await;
        let (next, found) = read.unwrap_or_else(|e| Err(crate::Error::Io(format!("the check broke off: {e}"))))?;
        let mut patrolled = Patrolled { rows: found.rows, damaged: found.check.damaged, ..Patrolled::default() };
        patrolled.mended = self.mend(found.mends).await?;
        tell(&patrolled.damaged, patrolled.mended);
        patrolled.finished = next.is_none();
        (place.table, place.key) = next.unwrap_or_default();
        place.steps += 1;
        if patrolled.finished {
            place.finished_ms = now;
        }
        if patrolled.finished || place.steps.is_multiple_of(WRITTEN) {
            let bytes = place.bytes();
            self.write_later(move |tx| tx.put_raw(META, PLACE, &bytes));
        }
        *self.0.patrol.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(patrolled)
    }

    /// Reads from a place on; also answers the next place, `None` at the end.
    fn read_some(&self, at: &Place) -> Result<(Option<Position>, check::Stretch)> {
        let kinds = self.kinds();
        self.0.engine.read(|tx| {
            let mut names: Vec<String> = tx.list_tables()?.map(|t| t.name().to_owned()).collect();
            names.sort();
            let mut all = check::Stretch::default();
            for name in names.into_iter().filter(|name| *name >= at.table) {
                let after = (name == at.table && !at.key.is_empty()).then_some(&at.key[..]);
                let left = (ROWS - all.rows, BYTES.saturating_sub(all.bytes));
                let read =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stretch(tx, &name, &kinds, after, left)));
                let found = match read {
                    Ok(Err(crate::Error::Damaged(why))) => check::Stretch::broken(&name, why),
                    Ok(found) => found?,
                    Err(_) => check::Stretch::broken(&name, "its pages contradict each other".into()),
                };
                all.rows += found.rows;
                all.bytes += found.bytes;
                found.check.damaged.into_iter().for_each(|damage| all.check.add(damage));
                all.mends.extend(found.mends);
                if let Some(last) = found.last {
                    return Ok((Some((name, last)), all));
                }
            }
            Ok((None, all))
        })
    }
}
