//! The next events, for a view of the day: those in progress, and those that begin within some days.

use super::{query::EventFilter, record::Event};
use records::{RecordStore, local_text, millis, names_owner};
use serde::Serialize;
use store::{Entry, Store};
use tool::{When, prelude::*};

/// An event in progress, or one that comes next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NextEvent {
    /// Its id.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// When it begins, in the household's zone; a day where it lasts the whole day.
    pub start_time: String,
    /// When it ends; of whole days the last one.
    pub end_time: String,
    /// Whether it lasts the whole day.
    pub is_all_day: bool,
    /// Its place.
    pub location: Option<String>,
    /// The person it belongs to, where that is not the caller.
    pub shared_by: Option<String>,
}

/// Events in the order in which they begin.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NextEvents {
    /// The events.
    pub events: Vec<NextEvent>,
    /// Whether there are more.
    pub more: bool,
}

fn view(cx: &Cx, entry: &Entry<Event>) -> NextEvent {
    let (it, zone) = (&entry.value, cx.ports().clock.zone());
    let local = |text: &String| When::read(text, &zone).map_or_else(|_| text.clone(), |when| local_text(cx, &when));
    NextEvent {
        id: entry.id,
        title: it.title.clone(),
        start_time: local(&it.start),
        end_time: local(&it.end),
        is_all_day: it.all_day,
        location: it.location.clone(),
        shared_by: names_owner(cx, entry),
    }
}

/// The events that are not over and begin within `days`, today included, `most` at most.
///
/// # Errors
/// `Failed` when the data cannot be read.
pub fn next_events(store: &Store, cx: &Cx, days: i64, most: usize) -> Result<NextEvents> {
    let (now, zone) = (cx.ports().clock.local(), cx.ports().clock.zone());
    let end = When::Day(now.date().saturating_add(jiff::Span::new().days(days.max(1))));
    let wanted = EventFilter {
        from: now.timestamp().as_millisecond(),
        to: Some(millis(&end, &zone)?),
        category: None,
        search: None,
        zone,
    };
    let page = wanted.page(&RecordStore::new(store), cx, (0, most))?;
    Ok(NextEvents { events: page.entries.iter().map(|entry| view(cx, entry)).collect(), more: page.more })
}
