//! Tends the indexes of words in the background: builds them, moves their tails into segments, merges segments, and removes
//! unused rows. Each step is a few commits of at most a few hundred kilobytes, and any step may be cut off.

use super::{
    merge::Merge,
    segment_writer::{Row, segment_of_texts},
    state::{IndexState, ScopeState, SegmentInfo, is_in_step},
    table::IndexTable,
};
use crate::{
    Error, Result, Store, Tx,
    kind::Kind,
    meta::{META, META_LINEAGE},
    record::{Audience, Level},
    rows::{Found, entry, get_at, id_of, index_table as value_index, readable, shared_scope},
    snapshot::{Snapshot, View},
    word_rows::{
        META_WORDS, SCOPES, SEGMENTS, STATE, TABLE_END, TAIL, distrust, index_table, scope_row, segment_of,
        segment_prefix, tail_prefix,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::runtime::Handle;
use tool::{Id, Scope};

/// With this many records in the tail of a scope, they become a segment.
const TAIL_RECORDS: usize = 64;
/// The most records, and about the most bytes of text, that become one segment at once.
const RECORDS: usize = 2000;
const TEXT: usize = 1 << 20;
/// This many segments of one size are merged; each size is that many times the one before.
const SEGMENTS_OF_A_SIZE: usize = 4;
/// The most rows that are removed in one commit.
const REMOVED: usize = 4000;

/// State shared by the tasks of the indexes of words.
#[derive(Default)]
pub(crate) struct WordTasks {
    pub(super) running: Arc<AtomicBool>,
    /// Kinds whose index was found damaged.
    pub(super) distrusted: Mutex<BTreeSet<String>>,
    /// Kinds that were checked for segments that nothing refers to.
    pub(super) swept: Mutex<BTreeSet<String>>,
}

impl WordTasks {
    /// Has the index of a kind rebuilt.
    pub fn distrust(&self, kind: &str) {
        let mut distrusted = self.distrusted.lock().unwrap_or_else(PoisonError::into_inner);
        if distrusted.insert(kind.to_owned()) {
            tracing::warn!(kind, "the index of words cannot be read and is rebuilt");
        }
    }
}

/// Ends the task of a caller that no longer waits for it.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Says that no task runs any more.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl Store {
    /// Does the next step of building and merging the indexes of words; returns whether there is more to do. To be called about
    /// once a minute, and again a moment after a step that left more to do. Searches find everything at any time.
    ///
    /// # Errors
    /// As every read and write.
    pub async fn tend_words(&self) -> Result<bool> {
        let running = self.0.words.running.clone();
        if running.swap(true, Ordering::SeqCst) {
            return Ok(false);
        }
        let (stop, running) = (StopOnDrop(Arc::default()), Running(running));
        let task = Task { store: self.clone(), runtime: Handle::current(), stopped: stop.0.clone() };
        let step = tokio::task::spawn_blocking(move || {
            let done = task.step();
            // Before the result: the caller may begin the next step at once.
            drop((task, running));
            done
        });
        step.await.unwrap_or_else(|e| Err(Error::Io(format!("indexing words broke off: {e}"))))
    }
}

/// The texts of records of a scope; `None` where a record was removed.
type Texts = BTreeMap<Id, Option<String>>;

struct Task {
    store: Store,
    runtime: Handle,
    stopped: Arc<AtomicBool>,
}

impl Task {
    fn read<T>(&self, read: impl FnOnce(&Snapshot) -> Result<T>) -> Result<T> {
        self.store.0.engine.read(read)
    }

    fn write(&self, job: impl FnMut(&Tx) -> Result<()> + Send + 'static) -> Result<()> {
        self.runtime.block_on(self.store.write(job))
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.store.is_restoring()
    }

    fn step(&self) -> Result<bool> {
        if !self.read(is_in_step)? {
            self.forget_all()?;
            return Ok(true);
        }
        let kinds: Vec<&'static Kind> =
            self.store.kinds().into_values().filter(|kind| kind.words_version > 0).collect();
        if self.begin_empty(&kinds)? {
            return Ok(true);
        }
        for kind in kinds {
            match self.step_of(kind) {
                Ok(false) => {}
                Ok(true) => return Ok(!self.is_stopped()),
                Err(error) => {
                    self.swept().remove(kind.name);
                    if !matches!(error, Error::Damaged(_)) {
                        return Err(error);
                    }
                    self.store.0.words.distrust(kind.name);
                }
            }
        }
        Ok(false)
    }

    fn swept(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.store.0.words.swept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Older code wrote to the file: no index counts any more, also of kinds that this process does not use.
    fn forget_all(&self) -> Result<()> {
        let tables = self.read(|tx| {
            let all = tx.tables()?;
            Ok(all.into_iter().filter(|name| name.ends_with(TABLE_END)).collect::<Vec<_>>())
        })?;
        self.write(move |tx| {
            tables.iter().try_for_each(|table| distrust(tx, table).map(drop))?;
            match tx.get_raw(META, META_LINEAGE)? {
                Some(lineage) => tx.put_raw(META, META_WORDS, &lineage),
                None => tx.remove_raw(META, META_WORDS).map(drop),
            }
        })
    }

    /// Indexes without records are complete from the start.
    fn begin_empty(&self, kinds: &[&'static Kind]) -> Result<bool> {
        let empty = self.read(|tx| {
            let mut empty = vec![];
            for kind in kinds {
                let is_empty =
                    |name: &str| Ok::<_, Error>(tx.open(name)?.map(|t| t.is_empty()).transpose()? != Some(false));
                if is_empty(kind.name)? && is_empty(&index_table(kind.name))? {
                    empty.push(*kind);
                }
            }
            Ok(empty)
        })?;
        if empty.is_empty() {
            return Ok(false);
        }
        self.write(move |tx| {
            empty
                .iter()
                .try_for_each(|kind| tx.put_raw(&index_table(kind.name), STATE, &IndexState::of_none(kind).row()))
        })?;
        Ok(true)
    }

    fn step_of(&self, kind: &'static Kind) -> Result<bool> {
        let distrusted =
            self.store.0.words.distrusted.lock().unwrap_or_else(PoisonError::into_inner).contains(kind.name);
        let state = match distrusted {
            true => None,
            false => self.read(|tx| IndexState::read(kind, &IndexTable::open(tx, kind.name)?))?,
        };
        let Some(state) = state else {
            self.clear(kind)?;
            return Ok(true);
        };
        if !self.swept().contains(kind.name) {
            self.sweep(kind)?;
            self.swept().insert(kind.name.to_owned());
        }
        if self.merge_segments(kind)? || self.move_tail(kind)? {
            return Ok(true);
        }
        if !state.complete {
            self.build(kind, &state)?;
        }
        Ok(!state.complete)
    }

    /// Removes an index, and begins to build it.
    fn clear(&self, kind: &'static Kind) -> Result<()> {
        loop {
            // The state comes first, so that the index does not count from the first commit on.
            let keys = self.keys(kind, &|_| true, &[])?;
            let last = keys.len() < REMOVED;
            self.write(move |tx| {
                let table = index_table(kind.name);
                remove_all(tx, &table, &keys)?;
                if last { tx.put_raw(&table, STATE, &IndexState::new(kind).row()) } else { Ok(()) }
            })?;
            if self.is_stopped() {
                return Ok(());
            }
            if last {
                self.store.0.words.distrusted.lock().unwrap_or_else(PoisonError::into_inner).remove(kind.name);
                return Ok(());
            }
        }
    }

    /// The first keys under a prefix that `wanted` accepts.
    fn keys(&self, kind: &Kind, wanted: &dyn Fn(&[u8]) -> bool, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut keys = vec![];
        self.read(|tx| {
            IndexTable::open(tx, kind.name)?.scan(prefix, None, &mut |key, _| {
                if wanted(key) {
                    keys.push(key.to_vec());
                }
                Ok(keys.len() < REMOVED)
            })
        })?;
        Ok(keys)
    }

    /// Removes the rows of segments that nothing refers to: of a merge that was cut off.
    fn sweep(&self, kind: &'static Kind) -> Result<()> {
        let mut numbers = BTreeSet::new();
        self.read(|tx| {
            let (table, mut after) = (IndexTable::open(tx, kind.name)?, None::<Vec<u8>>);
            loop {
                let mut number = None;
                table.scan(&[SEGMENTS], after.as_deref(), &mut |key, _| {
                    number = segment_of(key);
                    Ok(false)
                })?;
                let Some(number) = number else { break };
                numbers.insert(number);
                after = Some([&segment_prefix(number)[..], &[u8::MAX; 8]].concat());
            }
            table.scan(&[SCOPES], None, &mut |key, value| {
                for segment in ScopeState::parse(key, value)?.segments {
                    numbers.remove(&segment.number);
                }
                Ok(true)
            })
        })?;
        numbers.into_iter().try_for_each(|number| self.remove_segment(kind, number))
    }

    fn remove_segment(&self, kind: &'static Kind, number: u64) -> Result<()> {
        loop {
            let keys = self.keys(kind, &|_| true, &segment_prefix(number))?;
            let last = keys.len() < REMOVED;
            if !keys.is_empty() {
                self.write(move |tx| remove_all(tx, &index_table(kind.name), &keys))?;
            }
            if last || self.is_stopped() {
                return Ok(());
            }
        }
    }

    /// Indexes the records after a position.
    fn build(&self, kind: &'static Kind, state: &IndexState) -> Result<()> {
        let (mut all, mut next) = (BTreeMap::<Vec<u8>, Texts>::new(), state.clone());
        let segments = self.read(|tx| {
            let Some(table) = tx.open(kind.name)? else {
                next.complete = true;
                return Ok(vec![]);
            };
            let (mut records, mut bytes) = (0, 0);
            let from = if state.position.is_empty() { Bound::Unbounded } else { Bound::Excluded(&state.position[..]) };
            let mut rows = table.range((from, Bound::Unbounded))?;
            while records < RECORDS && bytes < TEXT {
                let Some(row) = rows.next() else {
                    next.complete = true;
                    break;
                };
                let (key, value) = row?;
                next.position = key.to_vec();
                let Some(found) = readable(entry(kind, &key, &value))? else { continue };
                let text = (kind.words)(&*found.value);
                records += 1;
                bytes += text.len();
                if !text.is_empty() {
                    let scope = key[..key.len() - 16].to_vec();
                    if is_shared(kind, &found) {
                        all.entry(Scope::Household.key()).or_default().insert(found.id, Some(text.clone()));
                    }
                    all.entry(scope).or_default().insert(found.id, Some(text));
                }
            }
            let table = IndexTable::open(tx, kind.name)?;
            let with_state = |(scope, texts): (Vec<u8>, Texts)| Ok((ScopeState::read(&table, &scope)?, scope, texts));
            all.into_iter().map(with_state).collect::<Result<Vec<(ScopeState, Vec<u8>, Texts)>>>()
        })?;
        if next.complete {
            next.position = vec![];
        }
        let mut rows = vec![(STATE.to_vec(), next.row())];
        for (state, scope, texts) in segments {
            rows.extend(with_segment(state, &scope, &texts));
        }
        self.write(move |tx| put_all(tx, &index_table(kind.name), &rows))
    }

    /// Moves the records of a long tail into a segment.
    fn move_tail(&self, kind: &'static Kind) -> Result<bool> {
        let moved = self.read(|tx| {
            let table = IndexTable::open(tx, kind.name)?;
            let Some(scope) = long_tail(&table)? else { return Ok(None) };
            let (prefix, mut taken) = (tail_prefix(&scope), vec![]);
            table.scan(&prefix, None, &mut |key, value| {
                taken.push((key.to_vec(), value.to_vec()));
                Ok(taken.len() < RECORDS)
            })?;
            let (records, index) = (tx.open(kind.name)?, tx.open(&value_index(kind.name))?);
            let (mut texts, mut bytes) = (Texts::new(), 0);
            for (n, (key, _)) in taken.iter().enumerate() {
                let id = id_of(key)?;
                let text = text_of(kind, records.as_ref(), index.as_ref(), &scope, id)?;
                bytes += text.as_ref().map_or(0, String::len);
                texts.insert(id, text);
                if bytes >= TEXT {
                    taken.truncate(n + 1);
                    break;
                }
            }
            Ok(Some((ScopeState::read(&table, &scope)?, scope, texts, taken)))
        })?;
        let Some((state, scope, texts, taken)) = moved else { return Ok(false) };
        let rows = with_segment(state, &scope, &texts);
        self.write(move |tx| {
            let table = index_table(kind.name);
            put_all(tx, &table, &rows)?;
            // A record that changed since stays in the tail.
            for (key, value) in &taken {
                if tx.get_raw(&table, key)?.as_ref() == Some(value) {
                    tx.remove_raw(&table, key)?;
                }
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Merges the newest segments of a scope where there are several of a size, or all when many of their records are removed.
    fn merge_segments(&self, kind: &'static Kind) -> Result<bool> {
        let (mut found, mut merge) = (None, None);
        self.read(|tx| {
            let table = IndexTable::open(tx, kind.name)?;
            table.scan(&[SCOPES], None, &mut |key, value| {
                let state = ScopeState::parse(key, value)?;
                if let Some(from) = first_to_merge(&state.segments) {
                    found = Some((key[1..].to_vec(), state, from));
                }
                Ok(found.is_none())
            })?;
            if let Some((_, state, from)) = &found {
                merge = Some(Merge::begin(&table, &state.segments[*from..], *from == 0)?);
            }
            Ok(())
        })?;
        let (Some((scope, mut state, from)), Some(mut merge)) = (found, merge) else { return Ok(false) };
        loop {
            let (rows, done) = self.read(|tx| merge.step(&IndexTable::open(tx, kind.name)?))?;
            self.write(move |tx| put_all(tx, &index_table(kind.name), &rows))?;
            if done {
                break;
            }
            if self.is_stopped() {
                return Ok(true);
            }
        }
        let (info, mut rows) = merge.finish();
        let merged = state.segments.split_off(from);
        if info.records > 0 {
            state.segments.push(info);
        } else {
            rows.clear();
        }
        rows.push((scope_row(&scope), state.row(&scope)));
        self.write(move |tx| put_all(tx, &index_table(kind.name), &rows))?;
        merged.iter().try_for_each(|segment| self.remove_segment(kind, segment.number))?;
        Ok(true)
    }
}

fn put_all(tx: &Tx, table: &str, rows: &[Row]) -> Result<()> {
    rows.iter().try_for_each(|(key, value)| tx.put_raw(table, key, value))
}

fn remove_all(tx: &Tx, table: &str, keys: &[Vec<u8>]) -> Result<()> {
    keys.iter().try_for_each(|key| tx.remove_raw(table, key).map(drop))
}

fn is_shared(kind: &Kind, found: &Found) -> bool {
    kind.level == Level::User && found.audience == Audience::Household
}

/// The rows of a new segment, and of its scope.
fn with_segment(mut state: ScopeState, scope: &[u8], texts: &Texts) -> Vec<Row> {
    let (info, mut rows) = segment_of_texts(texts);
    state.segments.push(info);
    rows.push((scope_row(scope), state.row(scope)));
    rows
}

/// A scope with many records in the tail.
fn long_tail(table: &IndexTable) -> Result<Option<Vec<u8>>> {
    let (mut scope, mut records) = (vec![], 0);
    table.scan(&[TAIL], None, &mut |key, _| {
        let Some(this) = key.len().checked_sub(16).and_then(|end| key.get(1..end)) else { return Ok(true) };
        if scope != this {
            (scope, records) = (this.to_vec(), 0);
        }
        records += 1;
        Ok(records < TAIL_RECORDS)
    })?;
    Ok((records == TAIL_RECORDS).then_some(scope))
}

/// The searched text of a record, as seen from a scope; `None` when it is not there.
fn text_of(kind: &Kind, records: Option<&View>, index: Option<&View>, scope: &[u8], id: Id) -> Result<Option<String>> {
    let owner = match kind.level == Level::User && scope == Scope::Household.key() {
        true => index.map(|index| shared_scope(index, id)).transpose()?.flatten(),
        false => Some(scope.to_vec()),
    };
    let (Some(records), Some(owner)) = (records, owner) else { return Ok(None) };
    let found = readable(get_at(kind, records, &[&owner[..], id.as_bytes()].concat()))?.flatten();
    Ok(found.map(|found| (kind.words)(&*found.value)))
}

/// The size of a segment: 0 for those of the shortest tails.
fn size(segment: &SegmentInfo) -> u32 {
    (segment.records / TAIL_RECORDS as u32).checked_ilog(SEGMENTS_OF_A_SIZE as u32).unwrap_or(0)
}

/// From which segment on they are to be merged.
fn first_to_merge(segments: &[SegmentInfo]) -> Option<usize> {
    let (mut records, mut removed) = (0_u64, 0_u64);
    for segment in segments {
        records += u64::from(segment.records);
        removed += u64::from(segment.removed);
    }
    if removed * 4 > records {
        return Some(0);
    }
    let largest = segments.iter().map(size).max()?;
    (0..=largest).find_map(|of| {
        let from = segments.iter().rposition(|segment| size(segment) > of).map_or(0, |last| last + 1);
        let same = segments[from..].iter().filter(|segment| size(segment) == of).count();
        (same >= SEGMENTS_OF_A_SIZE).then_some(from)
    })
}
