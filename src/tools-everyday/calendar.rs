//! The calendar: appointments and events, and reminders of them.

mod query;
mod record;
#[cfg(test)]
mod tests;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use query::EventFilter;
use record::{Event, Times};
use records::{
    Patch, RecordMeta, RecordStore, batch, day_of, day_words, join_list, millis, optional_text, page_params,
    patch_text, quote, read_when, record_meta, rejected, required_text, truncate, when_words,
};
use scheduler::{Reminder, Scheduler};
use store::{Entry, Store, Tx};
use text_kit::counted_one;
use tool::{AgentId, When, prelude::*};

/// The most characters of a title, a location, a description and a category.
const TITLE: usize = 300;
const LOCATION: usize = 500;
const DESCRIPTION: usize = 10_000;
const CATEGORY: usize = 100;
/// The earliest reminder: four weeks before, in minutes.
const REMINDER: u32 = 40_320;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

/// The events, and who reminds of them; cheap to clone.
#[derive(Clone)]
pub struct Calendar {
    events: RecordStore<Event>,
    scheduler: Scheduler,
}

/// Appointments and events. Reminders are kept by `scheduler`, in the same write as the event.
pub fn family(store: &Store, scheduler: Scheduler) -> Family<Calendar> {
    Family::new("calendar", "Appointments and events.", Calendar { events: RecordStore::new(store), scheduler })
        .phrases(include_str!("calendar.en"))
        .area(Area::Memory)
        .tool("add_calendar_event", Risk::Write, add)
        .additive()
        .tags("appointment meeting date schedule birthday holiday plan new create book")
        .example(
            json!({"title": "Dentist", "startTime": "2026-11-24T15:00", "location": "Main Street 1", "reminder": 30}),
        )
        .tool("batch_add_calendar_events", Risk::Write, add_all)
        .additive()
        .tags("appointments meetings several schedule plan new create import")
        .tool("list_calendar_events", Risk::Observe, list)
        .tags("appointments meetings agenda schedule what is on free busy today tomorrow week show find search")
        .tool("update_calendar_event", Risk::Write, update)
        .tags("edit change move reschedule postpone rename appointment meeting reminder")
        .persists_instructions()
        .tool("delete_calendar_event", Risk::Destroy, delete)
        .tags("remove cancel erase appointment meeting")
}

impl Calendar {
    /// What is written with an event: its reminder, or that there is none any more.
    fn reminding(&self, cx: &Cx) -> impl FnMut(&Tx, &Entry<Event>) -> store::Result<()> + Send + 'static {
        let (scheduler, agent, clock) = (self.scheduler.clone(), cx.agent(), cx.ports().clock.clone());
        move |tx, event| match reminder(event, agent, &clock.local()) {
            Some(reminder) => scheduler.remind(tx, reminder),
            None => scheduler.forget(tx, event.owner, event.id),
        }
    }
}

/// The reminder of an event, where its time is still to come.
fn reminder(event: &Entry<Event>, agent: AgentId, now: &Zoned) -> Option<Reminder> {
    let (it, zone) = (&event.value, now.time_zone());
    let before = i64::from(it.reminder?) * 60_000;
    let at = Timestamp::from_millisecond(it.bounds(zone).0.checked_sub(before)?).ok()?;
    let start = When::read(&it.start, zone).ok()?;
    let place = it.location.as_deref().map(|place| format!(", {}", truncate(place, 100))).unwrap_or_default();
    // As it will be said then: what is tomorrow now is today then.
    let text = format!("{}: {}{place}.", truncate(&it.title, 100), when_words(&start, &at.to_zoned(zone.clone())));
    let title = truncate(&it.title, 100);
    let to_come = at > now.timestamp();
    to_come.then_some(Reminder { user: event.owner, agent, key: event.id, at, title, text, label: event.label })
}

/// Add an event to the calendar.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// What it is.
    title: String,
    /// When it begins: 2026-11-20T14:30, or 2026-11-20 for the whole day.
    start_time: String,
    /// When it ends; an hour later when left out. Of whole days the last one.
    end_time: Option<String>,
    /// Whether it is the whole day.
    is_all_day: Option<bool>,
    /// Where it is.
    location: Option<String>,
    /// More about it.
    description: Option<String>,
    /// Such as meeting or birthday.
    category: Option<String>,
    /// How many minutes before its start to remind the person; whole days start at midnight.
    #[schemars(range(max = 40_320))]
    reminder: Option<u32>,
    /// Whether everybody in the household sees it.
    #[serde(default)]
    shared: bool,
}

impl Add {
    fn read(self, cx: &Cx) -> Result<(Event, bool)> {
        let zone = cx.ports().clock.zone();
        let mut event = Event {
            title: required_text("title", &self.title, TITLE)?,
            location: optional_text("location", self.location.as_deref(), LOCATION)?,
            description: optional_text("description", self.description.as_deref(), DESCRIPTION)?,
            category: optional_text("category", self.category.as_deref(), CATEGORY)?,
            reminder: self.reminder.map(minutes).transpose()?,
            ..Event::default()
        };
        let start = read_when(cx, "startTime", &self.start_time)?;
        let end = time(cx, "endTime", self.end_time.as_deref())?;
        event.set_times(&Times::new(&start, end.as_ref(), self.is_all_day, &zone)?, &zone)?;
        Ok((event, self.shared))
    }
}

fn minutes(before: u32) -> Result<u32> {
    if before <= REMINDER {
        return Ok(before);
    }
    Err(Error::bad_args(format!("a reminder is {REMINDER} minutes (four weeks) before at the earliest: give fewer")))
}

/// A time that may be left out.
fn time(cx: &Cx, what: &str, text: Option<&str>) -> Result<Option<When>> {
    text.filter(|text| !text.trim().is_empty()).map(|text| read_when(cx, what, text)).transpose()
}

async fn add(calendar: Calendar, cx: Cx, args: Add) -> Result<Output> {
    let added = args.read(&cx)?;
    let also = calendar.reminding(&cx);
    let mut added = calendar.events.add_all_with(&cx, "add_calendar_event", vec![added], also).await?;
    let added = added.pop().ok_or_else(|| Error::failed("the event was not kept: try again"))?;
    let (title, when) = (quote(&added.value.title), when_of(&cx, &added.value));
    let when = when.strip_prefix("on ").unwrap_or(&when);
    let when = if when.starts_with("from ") { when.to_owned() } else { format!("for {when}") };
    Ok(Output::json(view(&cx, &added))?.say(format!("I put {title} in the calendar {when}.")))
}

/// Add several events at once: all of them, or none when one is wrong.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddAll {
    /// The events, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    events: Vec<Add>,
}

async fn add_all(calendar: Calendar, cx: Cx, args: AddAll) -> Result<Output> {
    let read = batch("event", args.events, |event| event.read(&cx))?;
    let also = calendar.reminding(&cx);
    let added = calendar.events.add_all_with(&cx, "batch_add_calendar_events", read, also).await?;
    let titles: Vec<String> = added.iter().map(|event| named(&cx, &event.value, false)).collect();
    let count = counted_one(added.len(), "event");
    let sentence = format!("I put {count} in the calendar: {}.", join_list(&titles, false));
    let views: Vec<View> = added.iter().map(|event| view(&cx, event)).collect();
    Ok(Output::json(json!({"added": views.len(), "events": views}))?.say(sentence))
}

/// List calendar events by when they begin, from today on unless said otherwise. What began before and still goes on counts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// The first day (default: today).
    start_date: Option<String>,
    /// The last day.
    end_date: Option<String>,
    /// Only those of this category.
    category: Option<String>,
    /// Words that occur in the title, the location, the description or the category.
    search: Option<String>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(calendar: Calendar, cx: Cx, args: List) -> Result<Output> {
    let zone = cx.ports().clock.zone();
    let today = cx.ports().clock.local().date();
    let day = |what, text: Option<&str>| Ok::<_, Error>(time(&cx, what, text)?.map(|when| day_of(&when, &zone)));
    let (first, last) = (day("startDate", args.start_date.as_deref())?, day("endDate", args.end_date.as_deref())?);
    let from = first.unwrap_or(today);
    if last.is_some_and(|last| last < from) {
        let text =
            format!("endDate is before {from}, where the list begins: give a later endDate or an earlier startDate");
        return Err(Error::bad_args(text));
    }
    let start_of = |day| millis(&When::Day(day), &zone);
    // The calendar of the software ends a year after the last date that is taken.
    let wanted = EventFilter {
        from: start_of(from)?,
        to: last.and_then(|last| last.tomorrow().ok()).map(start_of).transpose()?,
        category: optional_text("category", args.category.as_deref(), CATEGORY)?,
        search: optional_text("search", args.search.as_deref(), TITLE)?,
        zone: zone.clone(),
    };
    let page = wanted.page(&calendar.events, &cx, page_params(args.offset, args.limit, LISTED))?;
    let one_day = last.filter(|last| *last == from).map(|day| day_words(day, today));
    let names: Vec<String> = page.entries.iter().map(|event| named(&cx, &event.value, one_day.is_some())).collect();
    let sentence = match (&one_day, names.is_empty()) {
        (Some(day), true) => format!("There is nothing in the calendar {day}."),
        (None, true) if first.is_none() && last.is_none() => "There is nothing coming up in the calendar.".to_owned(),
        (None, true) => "There is nothing in the calendar for that time.".to_owned(),
        (Some(day), false) => format!("{}: {}.", capitalised(day), join_list(&names, page.more)),
        (None, false) => format!("In the calendar: {}.", join_list(&names, page.more)),
    };
    let views: Vec<View> = page.entries.iter().map(|event| view(&cx, event)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "events": views}))?.say(sentence))
}

/// Change an event; what is not given stays as it is, and an empty text clears. A new start moves the end with it.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    event_id: String,
    /// The new title.
    title: Option<String>,
    /// When it begins; a day alone moves it to that day at the same time, a time alone (13:00) to that time of its day.
    start_time: Option<String>,
    /// When it ends; of whole days the last one.
    end_time: Option<String>,
    /// Whether it is the whole day.
    is_all_day: Option<bool>,
    /// Where it is.
    location: Option<String>,
    /// More about it.
    description: Option<String>,
    /// Such as meeting or birthday.
    category: Option<String>,
    /// How many minutes before its start to remind the person; null for no reminder.
    #[serde(default)]
    reminder: Patch<u32>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(calendar: Calendar, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { event_id: args.event_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args(
            "say what to change: title, startTime, endTime, isAllDay, location, description, category, reminder or shared",
        ));
    }
    let title = args.title.as_deref().map(|title| required_text("title", title, TITLE)).transpose()?;
    let location = patch_text("location", args.location.as_deref(), LOCATION)?;
    let description = patch_text("description", args.description.as_deref(), DESCRIPTION)?;
    let category = patch_text("category", args.category.as_deref(), CATEGORY)?;
    let day =
        || calendar.events.find_own(&cx, &args.event_id).map(|it| it.value.start.chars().take(10).collect::<String>());
    let start = time(&cx, "startTime", on_its_day(args.start_time.as_deref(), &day)?.as_deref())?;
    let end = time(&cx, "endTime", on_its_day(args.end_time.as_deref(), &day)?.as_deref())?;
    let reminder = match args.reminder {
        Patch::Not => None,
        Patch::Null => Some(None),
        Patch::Value(before) => Some(Some(minutes(before)?)),
    };
    let (zone, all_day, moved) = (cx.ports().clock.zone(), args.is_all_day, start.is_some());
    let change = move |it: &mut Event| {
        retime(it, start.as_ref(), end.as_ref(), all_day, &zone).map_err(|e| rejected(e.message()))?;
        it.title = title.clone().unwrap_or_else(|| it.title.clone());
        it.location = location.clone().unwrap_or_else(|| it.location.clone());
        it.description = description.clone().unwrap_or_else(|| it.description.clone());
        it.category = category.clone().unwrap_or_else(|| it.category.clone());
        it.reminder = reminder.unwrap_or(it.reminder);
        Ok(())
    };
    let also = calendar.reminding(&cx);
    let changed = calendar.events.change_with(&cx, &args.event_id, args.shared, change, also).await?;
    let (title, when) = (quote(&changed.value.title), when_of(&cx, &changed.value));
    let sentence =
        if moved { format!("{title} is {when} now.") } else { format!("I changed {title} in the calendar.") };
    Ok(Output::json(view(&cx, &changed))?.say(sentence))
}

/// A time of day alone is one of the day the event is on.
fn on_its_day(text: Option<&str>, day: &dyn Fn() -> Result<String>) -> Result<Option<String>> {
    let Some(text) = text.map(str::trim) else { return Ok(None) };
    let alone = text.len() <= 8 && text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || c == ':');
    Ok(Some(if alone { format!("{}T{text:0>5}", day()?) } else { text.to_owned() }))
}

/// Moves an event, where anything about its times was said.
fn retime(
    it: &mut Event,
    start: Option<&When>,
    end: Option<&When>,
    all_day: Option<bool>,
    zone: &TimeZone,
) -> Result<()> {
    if start.is_none() && end.is_none() && all_day.is_none() {
        return Ok(());
    }
    let times = it.times(zone)?.moved(start, end, all_day, zone)?;
    it.set_times(&times, zone)
}

/// Delete an event from the calendar for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Its id, or its title.
    event_id: String,
}

async fn delete(calendar: Calendar, cx: Cx, args: Delete) -> Result<Output> {
    let scheduler = calendar.scheduler.clone();
    let forget = move |tx: &Tx, event: &Entry<Event>| scheduler.forget(tx, event.owner, event.id);
    let gone = calendar.events.remove_with(&cx, &args.event_id, forget).await?;
    let sentence = format!("I deleted {} from the calendar.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "title": gone.value.title}))?.say(sentence))
}

/// An event, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    told: RecordMeta,
    title: &'a str,
    start_time: &'a str,
    end_time: &'a str,
    is_all_day: bool,
    location: Option<&'a str>,
    description: Option<&'a str>,
    category: Option<&'a str>,
    reminder: Option<u32>,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Event>) -> View<'a> {
    let it = &entry.value;
    View {
        told: record_meta(entry, &cx.ports().clock.zone()),
        title: &it.title,
        start_time: &it.start,
        end_time: &it.end,
        is_all_day: it.all_day,
        location: it.location.as_deref(),
        description: it.description.as_deref(),
        category: it.category.as_deref(),
        reminder: it.reminder,
    }
}

/// When an event is, as people say it: `tomorrow at 15:00`, `from tomorrow to 24 November`.
fn when_of(cx: &Cx, event: &Event) -> String {
    let now = cx.ports().clock.local();
    let Ok(times) = event.times(now.time_zone()) else { return event.start.clone() };
    match (&times.start, &times.end) {
        (When::Day(first), When::Day(last)) if first != last => {
            let plain = |day| {
                let words = day_words(day, now.date());
                words.strip_prefix("on ").map_or(words.clone(), str::to_owned)
            };
            format!("from {} to {}", plain(*first), plain(*last))
        }
        (start, _) => when_words(start, &now),
    }
}

/// An event in a list; of one day's events only the time is said.
fn named(cx: &Cx, event: &Event, one_day: bool) -> String {
    let title = truncate(&event.title, 60);
    let zone = cx.ports().clock.zone();
    match When::read(&event.start, &zone) {
        Ok(When::Day(_)) if one_day => title,
        Ok(When::At(at)) if one_day => format!("{title} at {}", at.with_time_zone(zone).strftime("%H:%M")),
        _ => format!("{title} {}", when_of(cx, event)),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
