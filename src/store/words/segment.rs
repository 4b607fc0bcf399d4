//! Reads a segment: which of its records may contain words, and their ids.

use super::{
    postings::{Bits, decode, take_number},
    segment_writer::{IDS, Meta, POSTINGS, start_of},
    table::IndexTable,
    text::Words,
};
use crate::{
    Result,
    word_rows::{Part, body, checked_body, damaged, part_prefix, part_row},
};
use memchr::memmem::Finder;
use tool::Id;

/// Postings of a piece that are not read, in bytes for each record of the segment: it is in so many records that a search which
/// reads all of them has its page soon.
const DENSE: u64 = 2;

/// The place of the postings of a term, and their length.
type Stretch = (u32, u32);

/// A block of terms: where its postings begin, its terms, and the lengths of their postings.
pub(super) struct Block<'v> {
    pub start: u32,
    pub terms: &'v [u8],
    pub lengths: &'v [u8],
}

impl<'v> Block<'v> {
    pub fn parse(body: &'v [u8]) -> Result<Self> {
        let (start, rest) = body.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (length, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (terms, lengths) = rest.split_at_checked(u16::from_le_bytes(*length).into()).ok_or_else(damaged)?;
        Ok(Self { start: u32::from_le_bytes(*start), terms, lengths })
    }

    /// Calls `each` with the postings of the terms in which `finder` finds its piece.
    fn find(&self, finder: &Finder, each: &mut dyn FnMut(Stretch)) -> Result<()> {
        let (mut at, mut counted, mut lengths, mut start) = (0, 0, self.lengths, self.start);
        while let Some(hit) = finder.find(&self.terms[at..]) {
            let hit = at + hit;
            // The postings of the terms before it come first.
            for _ in memchr::memchr_iter(b'\n', &self.terms[counted..hit]) {
                start += take_number(&mut lengths)?;
            }
            let end = memchr::memchr(b'\n', &self.terms[hit..]).ok_or_else(damaged)?;
            let length = take_number(&mut lengths)?;
            each((start, length));
            start += length;
            at = hit + end + 1;
            counted = at;
        }
        Ok(())
    }
}

/// A segment in a snapshot.
pub(super) struct Segment<'t> {
    table: &'t IndexTable,
    number: u64,
    meta: Meta,
}

/// The row with the description of a segment.
pub(super) fn read_meta(table: &IndexTable, number: u64) -> Result<Meta> {
    let key = part_row(number, Part::Meta, 0);
    let meta = table.get(&key, |value| postcard::from_bytes(checked_body(&key, value)?).map_err(|_| damaged()))?;
    meta.ok_or_else(damaged)
}

impl<'t> Segment<'t> {
    pub fn open(table: &'t IndexTable, number: u64) -> Result<Self> {
        Ok(Self { table, number, meta: read_meta(table, number)? })
    }

    /// The records that may contain words; `None` when most may.
    pub fn matching(&self, words: &Words) -> Result<Option<Bits>> {
        let finders: Vec<Finder> = words.any.iter().flatten().map(Finder::new).collect();
        let mut stretches = vec![vec![]; finders.len()];
        self.table.scan(&part_prefix(self.number, Part::Terms), None, &mut |_, value| {
            let block = Block::parse(body(value)?)?;
            for (finder, found) in finders.iter().zip(&mut stretches) {
                block.find(finder, &mut |stretch| found.push(stretch))?;
            }
            Ok(true)
        })?;
        let (mut all, mut of_pieces) = (Bits::none(self.meta.records), stretches.into_iter());
        for pieces in &words.any {
            match self.with_all(of_pieces.by_ref().take(pieces.len()).collect())? {
                Some(bits) => all.or(&bits),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// The records in the postings of all pieces; `None` when every piece is in most.
    fn with_all(&self, mut pieces: Vec<Vec<Stretch>>) -> Result<Option<Bits>> {
        let size = |of: &[Stretch]| of.iter().map(|(_, length)| u64::from(*length)).sum::<u64>();
        pieces.sort_by_key(|of| size(of));
        let mut all: Option<Bits> = None;
        let most = DENSE * u64::from(self.meta.records).max(1024);
        for of in pieces.iter().take_while(|of| size(of) <= most) {
            let bits = self.with_one(of)?;
            match &mut all {
                Some(all) => all.and(&bits),
                None => all = Some(bits),
            }
        }
        Ok(all)
    }

    /// The records in the postings of one of several terms.
    fn with_one(&self, stretches: &[Stretch]) -> Result<Bits> {
        let (mut bits, mut at) = (Bits::none(self.meta.records), 0);
        while let Some((start, length)) = stretches.get(at) {
            let n = start / POSTINGS;
            let end = start.checked_add(*length).ok_or_else(damaged)?;
            if end <= (n + 1) * POSTINGS {
                // All stretches within this row.
                let rest = &stretches[at..];
                let within = rest.iter().take_while(|(start, length)| {
                    start / POSTINGS == n && start.checked_add(*length).is_some_and(|end| end <= (n + 1) * POSTINGS)
                });
                let within = &rest[..within.count().max(1)];
                self.with_row(Part::Postings, n, |row| {
                    within.iter().try_for_each(|(start, length)| {
                        let from = (start % POSTINGS) as usize;
                        let part = row.get(from..from + *length as usize).ok_or_else(damaged)?;
                        decode(part, &mut |ordinal| bits.set(ordinal))
                    })
                })?;
                at += within.len();
                continue;
            }
            let (mut across, mut from) = (vec![], *start);
            while from < end {
                let to = end.min((from / POSTINGS + 1) * POSTINGS);
                self.with_row(Part::Postings, from / POSTINGS, |row| {
                    let (first, length) = ((from % POSTINGS) as usize, (to - from) as usize);
                    across.extend_from_slice(row.get(first..first + length).ok_or_else(damaged)?);
                    Ok(())
                })?;
                from = to;
            }
            decode(&across, &mut |ordinal| bits.set(ordinal))?;
            at += 1;
        }
        Ok(bits)
    }

    /// Calls `read` with the content of a row. Its checksum is not verified: that is the slow check's work, and a wrong bit can
    /// only hide a record until then.
    fn with_row<R>(&self, part: Part, n: u32, read: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
        let read = self.table.get(&part_row(self.number, part, n), |value| read(body(value)?))?;
        read.ok_or_else(damaged)
    }

    /// The id of a record.
    pub fn id(&self, ordinal: u32) -> Result<Id> {
        self.with_row(Part::Ids, ordinal / IDS, |ids| {
            let at = (ordinal % IDS) as usize * 16;
            let id = ids.get(at..).and_then(|ids| ids.first_chunk::<16>()).ok_or_else(damaged)?;
            Ok(Id::from_bytes(*id))
        })
    }

    /// How many rows its ids have.
    pub fn rows_of_ids(&self) -> usize {
        self.meta.firsts.len()
    }

    /// Appends the ids of some records.
    pub fn ids_of(&self, bits: &Bits, ids: &mut Vec<Id>) -> Result<()> {
        let mut ordinals = bits.ordinals().peekable();
        while let Some(first) = ordinals.peek() {
            let row = first / IDS;
            self.with_row(Part::Ids, row, |all| {
                let (all, _) = all.as_chunks::<16>();
                while let Some(ordinal) = ordinals.next_if(|ordinal| ordinal / IDS == row) {
                    let id = all.get((ordinal % IDS) as usize).ok_or_else(damaged)?;
                    ids.push(Id::from_bytes(*id));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The ordinal of a record, if this segment mentions it.
    pub fn ordinal(&self, id: Id) -> Result<Option<u32>> {
        let start = start_of(id.as_bytes());
        let mut row = self.meta.firsts.partition_point(|first| *first <= start);
        // Ids of one moment may begin alike at the end of one row and the start of the next.
        while row > 0 {
            row -= 1;
            let found = self.with_row(Part::Ids, row as u32, |ids| {
                let (ids, _) = ids.as_chunks::<16>();
                Ok(ids.binary_search(id.as_bytes()).ok())
            })?;
            if let Some(at) = found {
                return Ok(Some(row as u32 * IDS + at as u32));
            }
            if self.meta.firsts[row] < start {
                break;
            }
        }
        Ok(None)
    }
}

/// A row of postings.
pub(super) fn read_postings(table: &IndexTable, number: u64, n: u32) -> Result<Vec<u8>> {
    let key = part_row(number, Part::Postings, n);
    table.get(&key, |value| Ok(checked_body(&key, value)?.to_vec()))?.ok_or_else(damaged)
}

/// A row of ids.
pub(super) fn read_ids(table: &IndexTable, number: u64, n: u32) -> Result<Vec<u8>> {
    let key = part_row(number, Part::Ids, n);
    table.get(&key, |value| Ok(checked_body(&key, value)?.to_vec()))?.ok_or_else(damaged)
}
