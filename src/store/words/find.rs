//! The records of a scope that may contain words.

use super::{postings::Bits, segment::Segment, state::ScopeState, table::IndexTable, text::Words};
use crate::{Result, word_rows::tail_prefix};
use std::{
    cell::{Cell, OnceCell},
    collections::BinaryHeap,
};
use tool::Id;

/// With more records in the tail a search reads every record.
const TAIL: usize = 4096;
/// The most candidates whose ids are read together.
const IDS_AT_ONCE: usize = 8192;

/// Records that may contain words. Some do not, some are gone; none is missing.
pub(super) struct Candidates<'t> {
    segments: Vec<(Segment<'t>, Bits)>,
    tail: Vec<Id>,
    /// How many ids were looked up one by one, and from how many on all are read together, which then costs less.
    looked_up: Cell<usize>,
    few: usize,
    /// The ids of all, in order.
    ids: OnceCell<Vec<Id>>,
}

impl<'t> Candidates<'t> {
    /// `None` when so many may contain them that looking at all is as well.
    pub fn find(table: &'t IndexTable, scope: &[u8], words: &Words) -> Result<Option<Self>> {
        let (mut tail, prefix) = (vec![], tail_prefix(scope));
        table.scan(&prefix, None, &mut |key, _| {
            if let Some(id) = key[prefix.len()..].first_chunk::<16>().filter(|_| key.len() == prefix.len() + 16) {
                tail.push(Id::from_bytes(*id));
            }
            Ok(tail.len() <= TAIL)
        })?;
        if tail.len() > TAIL {
            return Ok(None);
        }
        let mut segments = vec![];
        for info in ScopeState::read(table, scope)?.segments {
            let segment = Segment::open(table, info.number)?;
            let Some(bits) = segment.matching(words)? else { return Ok(None) };
            segments.push((segment, bits));
        }
        Ok(Some(Self::new(segments, tail)))
    }

    /// No candidates.
    pub fn none() -> Self {
        Self::new(vec![], vec![])
    }

    fn new(segments: Vec<(Segment<'t>, Bits)>, tail: Vec<Id>) -> Self {
        // Looking an id up reads a row; so does reading the ids of a row, which are then sorted.
        let cost = |bits: &Bits, rows: usize| bits.count().min(rows) + bits.count() / 8;
        let few = segments.iter().map(|(segment, bits)| cost(bits, segment.rows_of_ids())).sum();
        Self { segments, tail, looked_up: Cell::default(), few, ids: OnceCell::new() }
    }

    /// How many there are at most.
    pub fn count(&self) -> usize {
        self.tail.len() + self.segments.iter().map(|(_, bits)| bits.count()).sum::<usize>()
    }

    /// Whether a record is one of them.
    pub fn contains(&self, id: Id) -> Result<bool> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids.binary_search(&id).is_ok());
        }
        self.looked_up.set(self.looked_up.get() + 1);
        if self.looked_up.get() > self.few && self.count() <= IDS_AT_ONCE {
            let ids = self.all_ids()?;
            return Ok(self.ids.get_or_init(|| ids).binary_search(&id).is_ok());
        }
        if self.tail.binary_search(&id).is_ok() {
            return Ok(true);
        }
        // The newest segment that mentions it is the one that counts.
        for (segment, bits) in self.segments.iter().rev() {
            if let Some(ordinal) = segment.ordinal(id)? {
                return Ok(bits.has(ordinal));
            }
        }
        Ok(false)
    }

    fn all_ids(&self) -> Result<Vec<Id>> {
        let mut ids = self.tail.clone();
        for (segment, bits) in &self.segments {
            segment.ids_of(bits, &mut ids)?;
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The candidates from the newest to the oldest.
    pub fn newest(&self) -> Result<Newest<'_, 't>> {
        let mut next = BinaryHeap::new();
        for (n, (segment, bits)) in self.segments.iter().enumerate() {
            if let Some(ordinal) = bits.last_below(u32::MAX) {
                next.push((segment.id(ordinal)?, n, ordinal));
            }
        }
        if let Some(id) = self.tail.last() {
            next.push((*id, self.segments.len(), self.tail.len() as u32 - 1));
        }
        Ok(Newest { of: self, next, last: None })
    }
}

/// Candidates in order.
pub(super) struct Newest<'a, 't> {
    of: &'a Candidates<'t>,
    /// The next of each segment and of the tail: its id, the number of the source, and its position there.
    next: BinaryHeap<(Id, usize, u32)>,
    last: Option<Id>,
}

impl Newest<'_, '_> {
    pub fn next(&mut self) -> Result<Option<Id>> {
        while let Some((id, n, at)) = self.next.pop() {
            match self.of.segments.get(n) {
                Some((segment, bits)) => {
                    if let Some(at) = bits.last_below(at) {
                        self.next.push((segment.id(at)?, n, at));
                    }
                }
                None => self.next.extend(at.checked_sub(1).map(|at| (self.of.tail[at as usize], n, at))),
            }
            if self.last != Some(id) {
                self.last = Some(id);
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}
