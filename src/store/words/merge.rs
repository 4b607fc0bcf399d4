//! Merges segments into one, a few hundred rows at a time: segments never change, so a step continues in another snapshot.

use super::{
    postings::{decode, encode, take_number},
    segment::{Block, read_ids, read_meta, read_postings},
    segment_writer::{IDS, Meta, POSTINGS, Row, SegmentWriter},
    state::SegmentInfo,
    table::IndexTable,
};
use crate::{
    Result,
    word_rows::{Part, checked_body, damaged, part_row},
};
use tool::Id;

/// After how many rows a step ends, each of a page.
const STEP: usize = 128;
/// The ordinal of a record that a later segment replaces.
const REPLACED: u32 = u32::MAX;

/// A merge in progress.
pub(super) struct Merge {
    inputs: Vec<Input>,
    /// Whether nothing older remains, so that removed records need not be remembered.
    oldest: bool,
    writer: SegmentWriter,
    all_records: bool,
}

/// A segment that is merged.
struct Input {
    number: u64,
    meta: Meta,
    ids: Vec<u8>,
    next_record: u32,
    /// The new ordinals of its records.
    ordinals: Vec<u32>,
    /// The block of terms it is at: its number, its terms, the lengths of their postings, and where these begin.
    block: u32,
    terms: Vec<u8>,
    lengths: Vec<u8>,
    start: u32,
    at: usize,
    lengths_at: usize,
    row: Option<u32>,
    postings: Vec<u8>,
}

impl Input {
    fn open(table: &IndexTable, number: u64) -> Result<Self> {
        let meta = read_meta(table, number)?;
        let ordinals = Vec::with_capacity(meta.records as usize);
        let (ids, terms, lengths, postings) = Default::default();
        let (next_record, block, start, at, lengths_at, row) = Default::default();
        Ok(Self {
            number,
            meta,
            ids,
            next_record,
            ordinals,
            block,
            terms,
            lengths,
            start,
            at,
            lengths_at,
            row,
            postings,
        })
    }

    /// The next id.
    fn id(&mut self, table: &IndexTable) -> Result<Option<Id>> {
        if self.next_record == self.meta.records {
            return Ok(None);
        }
        let at = self.next_record % IDS;
        if at == 0 {
            self.ids = read_ids(table, self.number, self.next_record / IDS)?;
        }
        let id = self.ids.get(at as usize * 16..).and_then(|ids| ids.first_chunk::<16>());
        id.map(|id| Some(Id::from_bytes(*id))).ok_or_else(damaged)
    }

    fn is_removed(&self) -> bool {
        self.meta.removed.binary_search(&self.next_record).is_ok()
    }

    /// The next term; empty at the end.
    fn term(&mut self, table: &IndexTable) -> Result<&[u8]> {
        if self.at == self.terms.len() && self.block < self.meta.blocks {
            let key = part_row(self.number, Part::Terms, self.block);
            let loaded = table.get(&key, |value| {
                let block = Block::parse(checked_body(&key, value)?)?;
                Ok((block.start, block.terms.to_vec(), block.lengths.to_vec()))
            })?;
            (self.start, self.terms, self.lengths) = loaded.ok_or_else(damaged)?;
            (self.at, self.lengths_at) = (0, 0);
            self.block += 1;
        }
        let rest = &self.terms[self.at..];
        match memchr::memchr(b'\n', rest) {
            Some(end) => Ok(&rest[..end]),
            None if rest.is_empty() => Ok(rest),
            None => Err(damaged()),
        }
    }

    /// Appends the new ordinals of the records that have the term, and goes to the next.
    fn take_postings(&mut self, table: &IndexTable, ordinals: &mut Vec<u32>) -> Result<()> {
        let length = self.term(table)?.len();
        let mut lengths = &self.lengths[self.lengths_at..];
        let size = take_number(&mut lengths)?;
        self.lengths_at = self.lengths.len() - lengths.len();
        self.at += length + 1;
        let (mut bytes, end) = (vec![], self.start.checked_add(size).ok_or_else(damaged)?);
        while self.start < end {
            let n = self.start / POSTINGS;
            if self.row != Some(n) {
                self.postings = read_postings(table, self.number, n)?;
                self.row = Some(n);
            }
            let from = self.start % POSTINGS;
            let to = (from + (end - self.start)).min(POSTINGS);
            bytes.extend_from_slice(self.postings.get(from as usize..to as usize).ok_or_else(damaged)?);
            self.start += to - from;
        }
        decode(&bytes, &mut |ordinal| {
            let new = *self.ordinals.get(ordinal as usize).ok_or_else(damaged)?;
            if new != REPLACED {
                ordinals.push(new);
            }
            Ok(())
        })
    }
}

impl Merge {
    /// Begins to merge segments, given from the oldest to the newest.
    pub fn begin(table: &IndexTable, segments: &[SegmentInfo], oldest: bool) -> Result<Self> {
        let inputs = segments.iter().map(|segment| Input::open(table, segment.number)).collect::<Result<_>>()?;
        Ok(Self { inputs, oldest, writer: SegmentWriter::new(), all_records: false })
    }

    /// Continues; returns rows to write before the next step, and whether it is at the end.
    pub fn step(&mut self, table: &IndexTable) -> Result<(Vec<Row>, bool)> {
        while self.writer.rows() < STEP {
            if !self.all_records {
                self.all_records = !self.next_record(table)?;
            } else if !self.next_term(table)? {
                return Ok((self.writer.take_rows(), true));
            }
        }
        Ok((self.writer.take_rows(), false))
    }

    /// The new segment and its last rows.
    pub fn finish(self) -> (SegmentInfo, Vec<Row>) {
        self.writer.finish()
    }

    fn next_record(&mut self, table: &IndexTable) -> Result<bool> {
        let mut next: Option<Id> = None;
        for input in &mut self.inputs {
            let id = input.id(table)?;
            next = next.into_iter().chain(id).min();
        }
        let Some(next) = next else { return Ok(false) };
        let mut newest = true;
        for input in self.inputs.iter_mut().rev() {
            if input.id(table)? != Some(next) {
                continue;
            }
            let removed = input.is_removed();
            let ordinal = match newest && !(removed && self.oldest) {
                true => self.writer.add_record(next, removed),
                false => REPLACED,
            };
            input.ordinals.push(ordinal);
            input.next_record += 1;
            newest = false;
        }
        Ok(true)
    }

    fn next_term(&mut self, table: &IndexTable) -> Result<bool> {
        let mut next: Option<Vec<u8>> = None;
        for input in &mut self.inputs {
            let term = input.term(table)?;
            if !term.is_empty() && next.as_ref().is_none_or(|next| term < &next[..]) {
                next = Some(term.to_vec());
            }
        }
        let Some(next) = next else { return Ok(false) };
        let mut ordinals = vec![];
        for input in &mut self.inputs {
            if input.term(table)? == next {
                input.take_postings(table, &mut ordinals)?;
            }
        }
        if !ordinals.is_empty() {
            ordinals.sort_unstable();
            self.writer.add_term(&next, &encode(&ordinals));
        }
        Ok(true)
    }
}
