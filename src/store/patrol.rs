//! The slow background check: some rows a minute, in rounds; it stores where it stopped.

use crate::{
    Damage, Result, Store,
    check::{self, log_findings, scan_rows},
    meta::META,
};
use std::{sync::PoisonError, time::Duration};

/// The key of the check's cursor in the metadata table.
const CURSOR: &[u8] = b"checked";
/// The most rows and bytes of one step: with a step a minute that is 10 GB a week.
const ROWS: u64 = 4096;
const BYTES: usize = 1 << 20;
/// After how many steps the cursor is stored: each commit wears the card.
const WRITTEN: u32 = 30;
/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(24 * 3600);

/// The position of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// When the last round ended: milliseconds since 1970.
    finished_ms: u64,
    /// The table, and the last key that was read in it.
    table: String,
    key: Vec<u8>,
    steps: u32,
}

impl Cursor {
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

/// The findings of one step of the slow check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patrolled {
    /// Damaged records among the rows it read.
    pub damaged: Vec<Damage>,
    /// Index rows that were wrong and have been rebuilt.
    pub repaired: u64,
    /// Whether the round is complete; the next one begins a day later.
    pub finished: bool,
    /// How many rows it read.
    pub rows: u64,
}

/// A row of a table: its table and its key.
type Position = (String, Vec<u8>);

impl Store {
    /// Checks the next rows after the last step, also across restarts. To be called once a minute.
    ///
    /// # Errors
    /// As every read and write.
    pub async fn patrol(&self) -> Result<Patrolled> {
        let known = self.0.patrol.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut cursor = match known {
            Some(cursor) => cursor,
            None => {
                let stored = self.0.engine.read(|tx| tx.get(META, CURSOR))?;
                stored.and_then(|bytes| Cursor::read(&bytes)).unwrap_or_default()
            }
        };
        let now = tool::Id::latest_ms();
        let pausing = cursor.table.is_empty() && now.saturating_sub(cursor.finished_ms) < PAUSE.as_millis() as u64;
        if pausing {
            return Ok(Patrolled { finished: true, ..Patrolled::default() });
        }
        let (this, at) = (self.clone(), cursor.clone());
        let read = tokio::task::spawn_blocking(move || this.check_next(&at)).await;
        let (next, found) = read.unwrap_or_else(|e| Err(crate::Error::Io(format!("the check broke off: {e}"))))?;
        let mut patrolled = Patrolled { rows: found.rows, damaged: found.check.damaged, ..Patrolled::default() };
        patrolled.repaired = self.repair(found.repairs).await?;
        log_findings(&patrolled.damaged, patrolled.repaired);
        patrolled.finished = next.is_none();
        (cursor.table, cursor.key) = next.unwrap_or_default();
        cursor.steps += 1;
        if patrolled.finished {
            cursor.finished_ms = now;
        }
        if patrolled.finished || cursor.steps.is_multiple_of(WRITTEN) {
            let bytes = cursor.bytes();
            self.write_later(move |tx| tx.put_raw(META, CURSOR, &bytes));
        }
        *self.0.patrol.lock().unwrap_or_else(PoisonError::into_inner) = Some(cursor);
        Ok(patrolled)
    }

    /// Reads from a position on; also returns the next position, `None` at the end.
    fn check_next(&self, at: &Cursor) -> Result<(Option<Position>, check::Scanned)> {
        let kinds = self.kinds();
        self.0.engine.read(|tx| {
            let mut all = check::Scanned::default();
            for name in tx.tables()?.into_iter().filter(|name| *name >= at.table) {
                let after = (name == at.table && !at.key.is_empty()).then_some(&at.key[..]);
                let left = (ROWS - all.rows, BYTES.saturating_sub(all.bytes));
                let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    scan_rows(tx, &name, &kinds, after, left)
                }));
                let found = match read {
                    Ok(Err(crate::Error::Damaged(why))) => check::Scanned::broken(&name, why),
                    Ok(found) => found?,
                    Err(_) => check::Scanned::broken(&name, "its pages contradict each other".into()),
                };
                all.rows += found.rows;
                all.bytes += found.bytes;
                found.check.damaged.into_iter().for_each(|damage| all.check.add(damage));
                all.repairs.extend(found.repairs);
                if let Some(last) = found.last {
                    return Ok((Some((name, last)), all));
                }
            }
            Ok((None, all))
        })
    }
}
