//! Writes a segment: the ids of its records in order, then its terms in order with their postings.

use super::{
    postings::put_number,
    state::{SegmentInfo, bytes},
};
use crate::word_rows::{Part, part_row, with_sum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tool::Id;

/// A row and its value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// How many ids one row holds, and how many bytes of terms or postings: with its key, a row fills a page of the file, or four
/// with terms, which are read one after the other.
pub(super) const IDS: u32 = 236;
const TERMS: usize = 15_800;
pub(super) const POSTINGS: u32 = 3800;

/// The description of a segment, which is read first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Meta {
    pub records: u32,
    /// How many rows its terms have.
    pub blocks: u32,
    /// The first eight bytes of the first id in each row of ids.
    pub firsts: Vec<u64>,
    /// The ordinals of records that were removed: they hide what older segments say.
    pub removed: Vec<u32>,
}

/// The first eight bytes of an id, as a number.
pub(super) fn start_of(id: &[u8; 16]) -> u64 {
    id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Collects the rows of a segment. The records come first, in the order of their ids, then the terms in their order.
pub(super) struct SegmentWriter {
    number: u64,
    meta: Meta,
    ids: Vec<u8>,
    /// The beginning of the postings of the block of terms, the terms, and the lengths of their postings.
    start: u32,
    terms: Vec<u8>,
    lengths: Vec<u8>,
    /// Postings that are not in a row yet, how many rows there are, and the bytes of all.
    postings: Vec<u8>,
    rows_of_postings: u32,
    length: u32,
    rows: Vec<Row>,
}

impl SegmentWriter {
    pub fn new() -> Self {
        Self {
            // Never used twice, so that what is remembered of a segment stays true.
            number: start_of(Id::new().as_bytes()),
            meta: Meta::default(),
            ids: vec![],
            start: 0,
            terms: vec![],
            lengths: vec![],
            postings: vec![],
            rows_of_postings: 0,
            length: 0,
            rows: vec![],
        }
    }

    /// Adds a record and returns its ordinal.
    pub fn add_record(&mut self, id: Id, removed: bool) -> u32 {
        let ordinal = self.meta.records;
        if self.ids.is_empty() {
            self.meta.firsts.push(start_of(id.as_bytes()));
        }
        self.ids.extend(id.as_bytes());
        if removed {
            self.meta.removed.push(ordinal);
        }
        self.meta.records += 1;
        if self.ids.len() as u32 == IDS * 16 {
            self.end_ids();
        }
        ordinal
    }

    fn end_ids(&mut self) {
        if !self.ids.is_empty() {
            let row = self.meta.firsts.len() as u32 - 1;
            let ids = std::mem::take(&mut self.ids);
            self.put(Part::Ids, row, ids);
        }
    }

    /// Adds a term with its encoded postings.
    pub fn add_term(&mut self, term: &[u8], postings: &[u8]) {
        if self.terms.len() + self.lengths.len() + term.len() > TERMS {
            self.end_terms();
        }
        self.terms.extend(term);
        self.terms.push(b'\n');
        put_number(&mut self.lengths, postings.len() as u32);
        self.length += postings.len() as u32;
        self.postings.extend(postings);
        while self.postings.len() >= POSTINGS as usize {
            let rest = self.postings.split_off(POSTINGS as usize);
            self.end_postings();
            self.postings = rest;
        }
    }

    fn end_terms(&mut self) {
        if !self.terms.is_empty() {
            let (terms, lengths) = (std::mem::take(&mut self.terms), std::mem::take(&mut self.lengths));
            let start = self.start.to_le_bytes();
            let block = [&start[..], &(terms.len() as u16).to_le_bytes(), &terms, &lengths].concat();
            self.put(Part::Terms, self.meta.blocks, block);
            self.meta.blocks += 1;
        }
        self.start = self.length;
    }

    fn end_postings(&mut self) {
        if !self.postings.is_empty() {
            let postings = std::mem::take(&mut self.postings);
            self.put(Part::Postings, self.rows_of_postings, postings);
            self.rows_of_postings += 1;
        }
    }

    fn put(&mut self, part: Part, n: u32, body: Vec<u8>) {
        let key = part_row(self.number, part, n);
        let value = with_sum(&key, body);
        self.rows.push((key, value));
    }

    /// The rows that are complete, to be written before the others.
    pub fn take_rows(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// How many rows are complete.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The segment and its last rows.
    pub fn finish(mut self) -> (SegmentInfo, Vec<Row>) {
        self.end_ids();
        self.end_terms();
        self.end_postings();
        let meta = bytes(&self.meta);
        self.put(Part::Meta, 0, meta);
        let (records, removed) = (self.meta.records, self.meta.removed.len() as u32);
        (SegmentInfo { number: self.number, records, removed }, self.rows)
    }
}

/// Makes a segment of some records: their ids, and their texts, or `None` where a record was removed.
pub(super) fn segment_of_texts(texts: &BTreeMap<Id, Option<String>>) -> (SegmentInfo, Vec<Row>) {
    let (mut writer, mut all) = (SegmentWriter::new(), BTreeMap::<String, Vec<u32>>::new());
    for (id, text) in texts {
        let ordinal = writer.add_record(*id, text.is_none());
        super::text::terms(&text.as_deref().unwrap_or_default().to_lowercase(), &mut |term| match all.get_mut(term) {
            Some(ordinals) if ordinals.last() == Some(&ordinal) => {}
            Some(ordinals) => ordinals.push(ordinal),
            None => drop(all.insert(term.to_owned(), vec![ordinal])),
        });
    }
    for (term, ordinals) in all {
        writer.add_term(term.as_bytes(), &super::postings::encode(&ordinals));
    }
    writer.finish()
}
