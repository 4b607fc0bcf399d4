//! Finds the events within days, in order: first those that began before and are in progress, then those that begin in them.

use super::record::{BY_CATEGORY, BY_SPAN, BY_START, DAY, Event, SPANS};
use jiff::tz::TimeZone;
use records::{Page, RecordStore, contains_all_words, passes, untainted};
use store::{Entry, Record, Visit, Walk, Words, order};
use tool::{Cx, Id, Result};

/// The filter of a list.
#[derive(Debug, Clone)]
pub(crate) struct EventFilter {
    /// The first moment, in milliseconds since 1970.
    pub from: i64,
    /// The first moment after; `None` is the end of the calendar.
    pub to: Option<i64>,
    pub category: Option<String>,
    pub search: Option<String>,
    pub zone: TimeZone,
}

impl EventFilter {
    /// A page of the caller's events and of those shared with them.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub(crate) fn page(
        &self,
        events: &RecordStore<Event>,
        cx: &Cx,
        (offset, limit): (usize, usize),
    ) -> Result<Page<Event>> {
        let before = self.in_progress(events, cx, |_| {})?;
        let mut entries = vec![];
        for (_, id) in before.iter().skip(offset).take(limit) {
            // An event may have been deleted a moment ago.
            entries.extend(events.records().get(cx, *id)?);
        }
        let taken = before.len().saturating_sub(offset).min(limit);
        if before.len() > offset + taken {
            return Ok(Page { entries, more: true });
        }
        let rest = (offset.saturating_sub(before.len()), limit - taken);
        let words = self.words();
        let page = events.search_page(cx, &self.beginning(), words.as_ref(), rest, |entry| self.begins(entry))?;
        entries.extend(page.entries);
        Ok(Page { entries, more: page.more })
    }

    /// The events in progress at `from`, by when they began. `read` sees each record that is scanned.
    pub(crate) fn in_progress(
        &self,
        events: &RecordStore<Event>,
        cx: &Cx,
        mut read: impl FnMut(&Entry<Event>),
    ) -> Result<Vec<(i64, Id)>> {
        let (mut found, cx, words) = (vec![], untainted(cx), self.words());
        for (class, days) in SPANS.iter().enumerate() {
            let bound = |ms: i64| [&[class as u8][..], &order::int(ms)].concat();
            // A day more on both sides: a new time zone of the household moves whole days.
            let first = self.from.saturating_sub((days + 1) * DAY);
            let walk = Walk::between(BY_SPAN, bound(first), bound(self.from.saturating_add(DAY)));
            events.records().search(&cx, &walk, words.as_ref(), |entry| {
                read(entry);
                let (start, over) = entry.value.bounds(&self.zone);
                if start < self.from && over > self.from && self.fits(entry) {
                    found.push((start, entry.id));
                }
                Visit::No
            })?;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The part of an index that holds the events that begin in the days.
    pub(crate) fn beginning(&self) -> Walk {
        let (index, value) = match &self.category {
            Some(category) => (BY_CATEGORY, order::text(category)),
            None => (BY_START, vec![]),
        };
        let bound = |ms: i64| [&value[..], &order::int(ms)].concat();
        let last = self.to.map_or(i64::MAX, |to| to.saturating_add(DAY));
        Walk::between(index, bound(self.from.saturating_sub(DAY)), bound(last))
    }

    /// Whether an event of that part passes the filter.
    pub(crate) fn begins(&self, entry: &Entry<Event>) -> bool {
        let (start, _) = entry.value.bounds(&self.zone);
        start >= self.from && self.to.is_none_or(|to| start < to) && self.fits(entry)
    }

    /// The words to look up in the index.
    fn words(&self) -> Option<Words> {
        self.search.as_deref().map(Words::all)
    }

    fn fits(&self, entry: &Entry<Event>) -> bool {
        let it = &entry.value;
        passes(self.category.as_deref(), it.category.as_deref())
            && self.search.as_deref().is_none_or(|search| contains_all_words(search, &[&it.words()]))
    }
}
