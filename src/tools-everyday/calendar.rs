//! The calendar: appointments and events, and reminders of them.

mod next;
mod query;
mod record;
mod repeat;
#[cfg(test)]
mod tests;

pub use next::{NextEvent, NextEvents, next_events};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use query::EventFilter;
use record::{Event, Times};
use records::{
    Patch, RecordStore, batch, day_of, millis, optional_text, page_params, quote, read_when, rejected, required_text,
    set_optional, set_required, truncate, view, when_words,
};
use repeat::Repeat;
use scheduler::{Reminder, Scheduler};
use store::{Entry, Store, Tx};
use text_kit::{capitalized, clock_words, counted_one, day_name, days_words, duration_words, listing};
use tool::{AgentId, When, prelude::*};

/// The most characters of a title, a location, a description and a category.
const TITLE: usize = 300;
const LOCATION: usize = 500;
const DESCRIPTION: usize = 10_000;
const CATEGORY: usize = 100;
/// The earliest reminder: four weeks before, in minutes.
const REMINDER: u32 = 40_320;
/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);

/// The events and the scheduler of their reminders; cheap to clone.
#[derive(Clone)]
pub struct Calendar {
    events: RecordStore<Event>,
    scheduler: Scheduler,
}

/// Appointments and events. `scheduler` stores reminders, in the same write as the event.
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
        .page(LISTED)
        .tags("appointments meetings agenda schedule what is on free busy today tomorrow week show find search")
        .tool("update_calendar_event", Risk::Write, update)
        .tags("edit change move reschedule postpone rename appointment meeting reminder")
        .persists_instructions()
        .tool("delete_calendar_event", Risk::Destroy, delete)
        .tags("remove cancel erase appointment meeting")
}

impl Calendar {
    /// Writes or removes the reminder of an event, in the same commit.
    fn reminding(&self, cx: &Cx) -> impl FnMut(&Tx, &Entry<Event>) -> store::Result<()> + Send + 'static {
        let (scheduler, agent, clock) = (self.scheduler.clone(), cx.agent(), cx.ports().clock.clone());
        move |tx, event| match reminder(event, agent, &clock.local()) {
            Some(reminder) => scheduler.remind(tx, reminder),
            None => scheduler.forget(tx, event.owner, event.id),
        }
    }
}

/// The reminder of an event, if it is in the future.
fn reminder(event: &Entry<Event>, agent: AgentId, now: &Zoned) -> Option<Reminder> {
    let (it, zone) = (&event.value, now.time_zone());
    let before = i64::from(it.reminder?) * 60_000;
    let at = Timestamp::from_millisecond(it.bounds(zone).0.checked_sub(before)?).ok()?;
    let start = When::read(&it.start, zone).ok()?;
    let place = it.location.as_deref().map(|place| format!(", {}", truncate(place, 100))).unwrap_or_default();
    // Worded for the time of the reminder: what is tomorrow now is today then.
    let text = format!("{}: {}{place}.", truncate(&it.title, 100), when_words(&start, &at.to_zoned(zone.clone())));
    let title = truncate(&it.title, 100);
    let in_future = at > now.timestamp();
    in_future.then_some(Reminder { user: event.owner, agent, key: event.id, at, title, text, label: event.label })
}

/// Add an event to the calendar.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// Title of the event.
    title: String,
    /// When it begins: 2026-11-20T14:30, or 2026-11-20 for the whole day.
    start_time: String,
    /// When it ends (default: an hour later); of whole days the last one.
    end_time: Option<String>,
    /// Whether it lasts the whole day.
    is_all_day: Option<bool>,
    /// Location.
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
    /// How it repeats; each time becomes an event of its own.
    repeat: Option<Repeat>,
    /// The last day on which it repeats (default: a year later).
    repeat_until: Option<String>,
}

impl Add {
    /// The event, and its repetitions.
    fn series(self, cx: &Cx) -> Result<Vec<(Event, bool)>> {
        let (repeat, zone) = (self.repeat, cx.ports().clock.zone());
        let until = time(cx, "repeatUntil", self.repeat_until.as_deref())?.map(|when| day_of(&when, &zone));
        let (event, shared) = self.read(cx)?;
        let Some(repeat) = repeat else { return Ok(vec![(event, shared)]) };
        Ok(repeat.events(&event, until, &zone)?.into_iter().map(|event| (event, shared)).collect())
    }

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

/// An optional time.
fn time(cx: &Cx, what: &str, text: Option<&str>) -> Result<Option<When>> {
    text.filter(|text| !text.trim().is_empty()).map(|text| read_when(cx, what, text)).transpose()
}

async fn add(calendar: Calendar, cx: Cx, args: Add) -> Result<Output> {
    let (repeat, shared) = (args.repeat, args.shared);
    let series = args.series(&cx)?;
    let also = calendar.reminding(&cx);
    let added = calendar.events.add_all_with(&cx, "add_calendar_event", series, also).await?;
    let (Some(first), Some(last)) = (added.first(), added.last()) else {
        return Err(Error::failed("the event was not saved: try again"));
    };
    let (title, when) = (quote(&first.value.title), when_of(&cx, &first.value));
    let whose = if shared { "the family" } else { "your" };
    let Some(repeat) = repeat else {
        return Ok(Output::json(to_json(&cx, first))?.say(format!("I put {title} in {whose} calendar, {when}.")));
    };
    let mut view = to_json(&cx, first);
    if let Some(fields) = view.as_object_mut() {
        fields.insert("repeat".to_owned(), json!(repeat));
        fields.insert("times".to_owned(), added.len().into());
        fields.insert("lastTime".to_owned(), last.value.start.clone().into());
    }
    let (often, count, until) = (repeat.words(), counted_one(added.len(), "time"), when_of(&cx, &last.value));
    Ok(Output::json(view)?
        .say(format!("I put {title} in {whose} calendar {often}: first {when}, {count}, last {until}.")))
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
    let read = batch("event", args.events, |event| event.series(&cx))?.into_iter().flatten().collect();
    let also = calendar.reminding(&cx);
    let added = calendar.events.add_all_with(&cx, "batch_add_calendar_events", read, also).await?;
    let titles: Vec<String> = added.iter().map(|event| named(&cx, &event.value, false)).collect();
    let sentence = listing(&format!("I put {} in your calendar", counted_one(added.len(), "event")), &titles, false);
    let views: Vec<Value> = added.iter().map(|event| to_json(&cx, event)).collect();
    Ok(Output::json(json!({"added": views.len(), "events": views}))?.say(sentence))
}

/// List calendar events by start, from today on by default. Events that began before and are still in progress are included.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// The first day (default: today).
    start_date: Option<String>,
    /// The last day.
    end_date: Option<String>,
    /// Only those of this category.
    category: Option<String>,
    /// Words in the title, the location, the description or the category.
    search: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
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
        return Err(Error::bad_args(text).say("That ends before it begins: say the earlier day first."));
    }
    let start_of = |day| millis(&When::Day(day), &zone);
    // The calendar library ends a year after the last accepted date.
    let wanted = EventFilter {
        from: start_of(from)?,
        to: last.and_then(|last| last.tomorrow().ok()).map(start_of).transpose()?,
        category: optional_text("category", args.category.as_deref(), CATEGORY)?,
        search: optional_text("search", args.search.as_deref(), TITLE)?,
        zone: zone.clone(),
    };
    let page = wanted.page(&calendar.events, &cx, page_params(args.offset, args.limit, LISTED))?;
    let days = match last {
        Some(last) => days_words(from, last, today),
        None => first
            .filter(|first| *first != today)
            .map(|first| format!("from {}", day_name(first, today)))
            .unwrap_or_default(),
    };
    let is_one_day = last == Some(from);
    let names: Vec<String> = page.entries.iter().map(|event| named(&cx, &event.value, is_one_day)).collect();
    let sentence = match names.as_slice() {
        [] if wanted.search.is_some() || wanted.category.is_some() => {
            format!("I found nothing like that in your calendar {days}").trim_end().to_owned() + "."
        }
        [] if days.is_empty() => "Nothing is coming up in your calendar.".to_owned(),
        [] => format!("Nothing on your calendar {days}."),
        // Somebody who asks for one event asks for the next.
        [one] if args.limit == Some(1) => format!("Next: {one}."),
        some if wanted.search.is_some() || days.is_empty() => listing("On your calendar", some, page.more),
        some if is_one_day => listing(&capitalized(&days), some, page.more),
        some => listing(&format!("On your calendar {days}"), some, page.more),
    };
    let views: Vec<Value> = page.entries.iter().map(|event| to_json(&cx, event)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "events": views}))?.say(sentence))
}

/// Change an event; fields that are not given stay as they are, and an empty text clears. A new start moves the end with it.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    event_id: String,
    /// The new title.
    title: Option<String>,
    /// When it begins; a day alone keeps the time, a time alone (13:00) keeps the day.
    start_time: Option<String>,
    /// When it ends; of whole days the last one.
    end_time: Option<String>,
    /// Whether it lasts the whole day.
    is_all_day: Option<bool>,
    /// Location.
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

impl Update {
    /// Changes all but the times.
    fn apply(&self, it: &mut Event) -> Result<()> {
        set_required("title", &mut it.title, self.title.as_deref(), TITLE)?;
        set_optional("location", &mut it.location, self.location.as_deref(), LOCATION)?;
        set_optional("description", &mut it.description, self.description.as_deref(), DESCRIPTION)?;
        set_optional("category", &mut it.category, self.category.as_deref(), CATEGORY)?;
        if let Some(before) = self.reminder.change() {
            it.reminder = before.copied().map(minutes).transpose()?;
        }
        Ok(())
    }
}

async fn update(calendar: Calendar, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { event_id: args.event_id.clone(), ..Update::default() }) {
        let text = "say what to change: title, startTime, endTime, isAllDay, location, description, category, reminder or shared";
        return Err(Error::bad_args(text).say("What shall I change about it? Say “move the dentist to Friday at 4”."));
    }
    let day =
        || calendar.events.find_own(&cx, &args.event_id).map(|it| it.value.start.chars().take(10).collect::<String>());
    let start = time(&cx, "startTime", on_its_day(args.start_time.as_deref(), &day)?.as_deref())?;
    let end = time(&cx, "endTime", on_its_day(args.end_time.as_deref(), &day)?.as_deref())?;
    let (zone, moved, update) = (cx.ports().clock.zone(), start.is_some(), args.clone());
    let change = move |it: &mut Event| {
        let retimed = retime(it, start.as_ref(), end.as_ref(), update.is_all_day, &zone);
        retimed.and_then(|()| update.apply(it)).map_err(|e| rejected(e.message()))
    };
    let also = calendar.reminding(&cx);
    let changed = calendar.events.change_with(&cx, &args.event_id, args.shared, change, also).await?;
    let (title, when) = (quote(&changed.value.title), when_of(&cx, &changed.value));
    let sentence = match (moved, args.reminder.change()) {
        (true, _) => format!("{title} is {when} now."),
        (false, Some(Some(0))) => format!("I will remind you when {title} begins."),
        (false, Some(Some(minutes))) => {
            format!("I will remind you {} before {title}, {when}.", duration_words(i64::from(*minutes) * 60))
        }
        (false, Some(None)) => format!("I will not remind you of {title}."),
        (false, None) => format!("I changed {title} in your calendar."),
    };
    Ok(Output::json(to_json(&cx, &changed))?.say(sentence))
}

/// Puts the day of the event before a time of day.
fn on_its_day(text: Option<&str>, day: &dyn Fn() -> Result<String>) -> Result<Option<String>> {
    let Some(text) = text.map(str::trim) else { return Ok(None) };
    let is_time = text.len() <= 8 && text.contains(':') && text.chars().all(|c| c.is_ascii_digit() || c == ':');
    Ok(Some(if is_time { format!("{}T{text:0>5}", day()?) } else { text.to_owned() }))
}

/// Moves an event, if any of its times is given.
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

/// Delete an event from the calendar. It can be restored for 30 days.
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
    let sentence = format!("I took {} off your calendar.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "title": gone.value.title}))?.say(sentence))
}

/// An event, as it is answered.
fn to_json(cx: &Cx, entry: &Entry<Event>) -> Value {
    let it = &entry.value;
    let fields = json!({
        "title": it.title,
        "startTime": it.start,
        "endTime": it.end,
        "isAllDay": it.all_day,
        "location": it.location,
        "description": it.description,
        "category": it.category,
        "reminder": it.reminder,
    });
    view(cx, entry, fields)
}

/// The time of an event in words: `tomorrow at 15:00`, `from tomorrow to 24 November`.
fn when_of(cx: &Cx, event: &Event) -> String {
    let now = cx.ports().clock.local();
    let Ok(times) = event.times(now.time_zone()) else { return event.start.clone() };
    match (&times.start, &times.end) {
        (When::Day(first), When::Day(last)) if first != last => {
            format!("from {} to {}", day_name(*first, now.date()), day_name(*last, now.date()))
        }
        (start, _) => when_words(start, &now),
    }
}

/// An event in a list; in a list of one day only with its time.
fn named(cx: &Cx, event: &Event, one_day: bool) -> String {
    let title = truncate(&event.title, 60);
    let zone = cx.ports().clock.zone();
    match When::read(&event.start, &zone) {
        Ok(When::Day(_)) if one_day => title,
        Ok(When::At(at)) if one_day => format!("{title} at {}", clock_words(at.with_time_zone(zone).time())),
        _ => format!("{title}, {}", when_of(cx, event)),
    }
}
