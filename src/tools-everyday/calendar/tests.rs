//! The calendar, on the real store in memory; now is Friday, 20 November 2026, 14:30 in Vienna.

use super::*;
use crate::testing::{Kind, Tools, at, batches, cx, is_private, texts};
use proptest::prelude::*;
use scheduler::{Schedule, ToolFacts};
use std::{cell::Cell, sync::Arc};
use tool::{Scope, UserId};

struct House {
    store: Store,
    scheduler: Scheduler,
}

fn house() -> House {
    let store = Store::in_memory().unwrap();
    let facts = Arc::new(|_: &str| ToolFacts { idempotent: true, detached: false });
    let scheduler = Scheduler::new(&store, cx().ports().clone(), facts);
    House { store, scheduler }
}

impl House {
    fn tools(&self) -> Tools<impl Fn() -> Family<Calendar> + use<>> {
        let (store, scheduler) = (self.store.clone(), self.scheduler.clone());
        Tools(move || family(&store, scheduler.clone()))
    }
    /// The time and the text of an event's reminder.
    fn reminder(&self, user: UserId, event: &Value) -> Option<(String, String)> {
        let id = event["id"].as_str().unwrap().parse().unwrap();
        let kept = self.store.collection::<Schedule>().get_in(Scope::User(user), id).unwrap()?;
        let at = Timestamp::from_millisecond(kept.value.next_ms.unwrap()).unwrap().to_zoned(cx().ports().clock.zone());
        let action = kept.value.action();
        assert_eq!(action.tool, "notify");
        Some((at.strftime("%Y-%m-%dT%H:%M").to_string(), action.args["text"].as_str().unwrap().to_owned()))
    }
}

fn tools() -> Tools<impl Fn() -> Family<Calendar>> {
    house().tools()
}

#[tokio::test]
async fn an_event_lives_from_adding_to_deletion() {
    let t = tools();
    let table = [
        ("list_calendar_events", json!({}), "Nothing is coming up in your calendar."),
        (
            "list_calendar_events",
            json!({"startDate": "2026-11-21", "endDate": "2026-11-21"}),
            "Nothing on your calendar tomorrow.",
        ),
        (
            "list_calendar_events",
            json!({"endDate": "2026-11-30"}),
            "Nothing on your calendar from today to Monday 30 November.",
        ),
        (
            "add_calendar_event",
            json!({"title": "Dentist", "startTime": "2026-11-24T15:00"}),
            "I put “Dentist” in your calendar, on Tuesday at 15:00.",
        ),
        (
            "add_calendar_event",
            json!({"title": "Market", "startTime": "2026-11-21"}),
            "I put “Market” in your calendar, tomorrow.",
        ),
        (
            "batch_add_calendar_events",
            json!({"events": [
                {"title": "Skiing", "startTime": "2026-12-28", "endTime": "2027-01-02", "location": "Alps"},
                {"title": "Breakfast", "startTime": "2026-11-21T09:00", "endTime": "2026-11-21T10:30", "category": "Friends"},
            ]}),
            "I put 2 events in your calendar:\n- Skiing, from Monday 28 December to Saturday 2 January\n- Breakfast, tomorrow at 09:00",
        ),
        (
            "list_calendar_events",
            json!({}),
            "On your calendar:\n- Market, tomorrow\n- Breakfast, tomorrow at 09:00\n- Dentist, on Tuesday at 15:00\n- Skiing, from Monday 28 December to Saturday 2 January",
        ),
        (
            "list_calendar_events",
            json!({"startDate": "2026-11-21", "endDate": "2026-11-21"}),
            "Tomorrow:\n- Market\n- Breakfast at 09:00",
        ),
        (
            "list_calendar_events",
            json!({"startDate": "2026-11-23", "endDate": "2026-11-23"}),
            "Nothing on your calendar on Monday.",
        ),
        (
            "list_calendar_events",
            json!({"startDate": "2026-12-30", "endDate": "2026-12-30"}),
            "On Wednesday 30 December: Skiing.",
        ),
        (
            "list_calendar_events",
            json!({"search": "alps"}),
            "On your calendar: Skiing, from Monday 28 December to Saturday 2 January.",
        ),
        (
            "update_calendar_event",
            json!({"eventId": "dentist", "startTime": "2026-11-25"}),
            "“Dentist” is on Wednesday at 15:00 now.",
        ),
        (
            "update_calendar_event",
            json!({"eventId": "dentist", "location": "Main Street 1"}),
            "I changed “Dentist” in your calendar.",
        ),
        ("delete_calendar_event", json!({"eventId": "market"}), "I took “Market” off your calendar."),
        (
            "delete_calendar_event",
            json!({"eventId": "market"}),
            "there is no calendar event `market`: `list_calendar_events` shows what there is, with ids",
        ),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
}

#[tokio::test]
async fn times_are_read_and_answered() {
    let t = tools();
    for (args, told) in [
        (
            json!({"startTime": "2026-11-24T15:00"}),
            json!(["2026-11-24T15:00:00+01:00", "2026-11-24T16:00:00+01:00", false]),
        ),
        (json!({"startTime": "2026-11-24"}), json!(["2026-11-24", "2026-11-24", true])),
        (
            json!({"startTime": "2026-11-24", "endTime": "2026-11-26", "isAllDay": true}),
            json!(["2026-11-24", "2026-11-26", true]),
        ),
        (json!({"startTime": "2026-11-24", "endTime": "2026-11-25T12:00"}), json!(["2026-11-24", "2026-11-25", true])),
        (json!({"startTime": "2026-11-24T15:00", "isAllDay": true}), json!(["2026-11-24", "2026-11-24", true])),
        (json!({"startTime": "2026-11-24T23:30Z", "isAllDay": true}), json!(["2026-11-25", "2026-11-25", true])),
        (
            json!({"startTime": "2026-11-24T15:00", "endTime": "2026-11-24T15:00", "isAllDay": false}),
            json!(["2026-11-24T15:00:00+01:00", "2026-11-24T15:00:00+01:00", false]),
        ),
        // The clocks go back at three: the hour from two occurs twice.
        (
            json!({"startTime": "2026-10-25T02:30"}),
            json!(["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", false]),
        ),
        (
            json!({"startTime": "2026-03-29T02:30"}),
            json!(["2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00", false]),
        ),
        (
            json!({"startTime": "9998-12-31T23:59"}),
            json!(["9998-12-31T23:59:00+01:00", "9999-01-01T00:59:00+01:00", false]),
        ),
    ] {
        let mut args = args;
        args["title"] = "x".into();
        let added = t.ask("add_calendar_event", args.clone()).await;
        assert_eq!(json!([added["startTime"], added["endTime"], added["isAllDay"]]), told, "{args}");
    }
    let all = json!({"title": "T", "startTime": "2026-11-24T15:00:00+01:00", "location": "l", "description": "d", "category": "c",
        "reminder": 0, "shared": true});
    let added = t.ask("add_calendar_event", all.clone()).await;
    for (field, value) in all.as_object().unwrap() {
        assert_eq!(&added[field], value, "{field}");
    }
    assert_eq!(added.as_object().unwrap().len(), 12, "{added}");
}

#[tokio::test]
async fn an_event_is_moved() {
    let t = tools();
    let timed = json!({"title": "timed", "startTime": "2026-11-24T15:00", "endTime": "2026-11-24T17:30"});
    let days = json!({"title": "days", "startTime": "2026-11-24", "endTime": "2026-11-26"});
    let night = json!({"title": "night", "startTime": "2026-11-24T20:00", "endTime": "2026-11-25T00:00"});
    for (event, change, told) in [
        (&timed, json!({"startTime": "2026-11-25T10:00"}), "2026-11-25T10:00:00+01:00 2026-11-25T12:30:00+01:00"),
        (&timed, json!({"startTime": "2026-11-25"}), "2026-11-25T15:00:00+01:00 2026-11-25T17:30:00+01:00"),
        (
            &timed,
            json!({"startTime": "2026-11-25", "isAllDay": false}),
            "2026-11-25T15:00:00+01:00 2026-11-25T17:30:00+01:00",
        ),
        (
            &timed,
            json!({"startTime": "2026-11-25", "endTime": "2026-11-25T16:00"}),
            "2026-11-25T15:00:00+01:00 2026-11-25T16:00:00+01:00",
        ),
        (&timed, json!({"startTime": "2026-11-25", "isAllDay": true}), "2026-11-25 2026-11-25"),
        (&timed, json!({"endTime": "2026-11-24T18:00"}), "2026-11-24T15:00:00+01:00 2026-11-24T18:00:00+01:00"),
        (&timed, json!({"isAllDay": true}), "2026-11-24 2026-11-24"),
        (&night, json!({"isAllDay": true}), "2026-11-24 2026-11-24"),
        (&timed, json!({"isAllDay": false}), "2026-11-24T15:00:00+01:00 2026-11-24T17:30:00+01:00"),
        (&timed, json!({"title": "timed"}), "2026-11-24T15:00:00+01:00 2026-11-24T17:30:00+01:00"),
        (&days, json!({"startTime": "2026-12-01"}), "2026-12-01 2026-12-03"),
        (&days, json!({"endTime": "2026-11-24"}), "2026-11-24 2026-11-24"),
        (&days, json!({"startTime": "2026-12-01T10:00"}), "2026-12-01T10:00:00+01:00 2026-12-01T11:00:00+01:00"),
        (&days, json!({"startTime": "2026-12-01T10:00", "isAllDay": true}), "2026-12-01 2026-12-03"),
        (&days, json!({"startTime": "2026-12-01", "endTime": "2026-12-01"}), "2026-12-01 2026-12-01"),
    ] {
        let added = t.ask("add_calendar_event", event.clone()).await;
        let mut args = change.clone();
        args["eventId"] = added["id"].clone();
        let moved = t.ask("update_calendar_event", args).await;
        let times = format!("{} {}", moved["startTime"].as_str().unwrap(), moved["endTime"].as_str().unwrap());
        assert_eq!(times, told, "{event} {change}");
        assert_eq!(moved["isAllDay"], times.len() == 21, "{event} {change}");
        t.ask("delete_calendar_event", json!({"eventId": added["id"]})).await;
    }
}

#[tokio::test]
async fn a_list_holds_what_begins_in_it_and_what_still_goes_on() {
    let t = tools();
    for (title, start, end, category) in [
        ("century", "1950-01-01", "2049-12-31", "x"),
        ("years", "2020-01-01T00:00", "2027-01-01T00:00", "y"),
        ("ended", "2026-11-18", "2026-11-19", "x"),
        ("midnight", "2026-11-19T20:00", "2026-11-20T00:00", "x"),
        ("night", "2026-11-19T22:00", "2026-11-20T02:00", "x"),
        ("day", "2026-11-20", "2026-11-20", "X"),
        ("moment", "2026-11-20T00:00", "2026-11-20T00:00", "x"),
        ("today", "2026-11-20T09:00", "2026-11-20T10:00", "y"),
        ("late", "2026-11-20T23:59", "2026-11-21T08:00", "x"),
        ("next", "2026-11-21T00:00", "2026-11-21T08:00", "x"),
        ("year", "2027-11-20", "2027-11-20", "x"),
    ] {
        let args = json!({"title": title, "startTime": start, "endTime": end, "category": category, "location": format!("at {title}")});
        t.ask("add_calendar_event", args).await;
    }
    let d = |from: &str, to: &str| json!({"startDate": format!("2026-11-{from}"), "endDate": format!("2026-11-{to}")});
    for (args, titles) in [
        (json!({}), "century years night day moment today late next year"),
        (d("20", "20"), "century years night day moment today late"),
        (d("21", "21"), "century years late next"),
        (d("19", "19"), "century years ended midnight night"),
        (d("22", "30"), "century years"),
        (json!({"endDate": "2026-11-20"}), "century years night day moment today late"),
        (json!({"startDate": "2027-01-01"}), "century year"),
        (json!({"startDate": "2026-12-31", "endDate": "2026-12-31"}), "century years"),
        (json!({"startDate": "1700-01-01", "endDate": "1950-01-01"}), "century"),
        (json!({"startDate": "2050-01-01", "endDate": "9998-12-31"}), ""),
        (json!({"startDate": "2049-12-31T23:00"}), "century"),
        (json!({"category": "Y"}), "years today"),
        (json!({"category": "x", "startDate": "2026-11-21"}), "century late next year"),
        (json!({"search": "AT day"}), "day today"),
        (json!({"limit": 2, "offset": 1}), "years night"),
        (json!({"limit": 2, "offset": 2}), "night day"),
        (json!({"limit": 50, "offset": 8}), "year"),
        (json!({"offset": u32::MAX}), ""),
    ] {
        assert_eq!(t.listed("list_calendar_events", args.clone(), "title").await, titles, "{args}");
    }
    // After the household moved, whole days remain the same days and moments the same moments, in the same order.
    let tokyo = at("2026-11-20T14:30:00+09:00[Asia/Tokyo]");
    let there = t.by(&tokyo, "list_calendar_events", d("20", "20")).await.unwrap();
    let there: String = texts(&there.content, "title");
    assert_eq!(there, "century years midnight night day moment today");
}

#[tokio::test]
async fn of_one_title_the_one_to_come_is_meant() {
    let t = tools();
    for day in ["2026-05-01T10:00", "2026-08-01T10:00", "2026-11-27T10:00"] {
        t.ask("add_calendar_event", json!({"title": "Dentist", "startTime": day})).await;
    }
    let moved = t.ask("update_calendar_event", json!({"eventId": "dentist", "startTime": "2026-11-28"})).await;
    assert_eq!(moved["startTime"], "2026-11-28T10:00:00+01:00");
    t.ask("add_calendar_event", json!({"title": "dentist", "startTime": "2026-12-27"})).await;
    let several = t.say("delete_calendar_event", json!({"eventId": "dentist"})).await;
    let parts =
        ["2 calendar events fit `dentist`", "`Dentist`, 2026-11-28T10:00:00+01:00 (", "`dentist`, 2026-12-27 ("];
    assert!(parts.iter().all(|part| several.contains(part)), "{several}");
}

#[tokio::test]
async fn a_reminder_is_kept_moved_and_forgotten_with_its_event() {
    let house = house();
    let t = house.tools();
    let me = cx().user();
    let event =
        json!({"title": "Dentist", "startTime": "2026-11-24T15:00", "location": "Main Street 1", "reminder": 30});
    let event = t.ask("add_calendar_event", event).await;
    let reminded = |at: &str, text: &str| Some((at.to_owned(), text.to_owned()));
    let told = reminded("2026-11-24T14:30", "Dentist: today at 15:00, Main Street 1.");
    assert_eq!(house.reminder(me, &event), told);
    for (change, wanted) in [
        (json!({"startTime": "2026-11-26"}), reminded("2026-11-26T14:30", "Dentist: today at 15:00, Main Street 1.")),
        (json!({"reminder": 1440, "location": ""}), reminded("2026-11-25T15:00", "Dentist: tomorrow at 15:00.")),
        (json!({"isAllDay": true}), reminded("2026-11-25T00:00", "Dentist: tomorrow.")),
        (json!({"title": "Teeth", "reminder": 0}), reminded("2026-11-26T00:00", "Teeth: today.")),
        (json!({"reminder": 40_320}), None),
        (json!({"reminder": 60}), reminded("2026-11-25T23:00", "Teeth: tomorrow.")),
        (json!({"startTime": "2026-11-20"}), None),
        (json!({"startTime": "2026-11-20T14:31", "reminder": 1}), None),
        (json!({"startTime": "2026-11-20T14:32"}), reminded("2026-11-20T14:31", "Teeth: today at 14:32.")),
        (json!({"reminder": null}), None),
        (json!({"description": "x"}), None),
        (json!({"reminder": 1}), reminded("2026-11-20T14:31", "Teeth: today at 14:32.")),
    ] {
        let mut args = change.clone();
        args["eventId"] = event["id"].clone();
        t.ask("update_calendar_event", args).await;
        assert_eq!(house.reminder(me, &event), wanted, "{change}");
    }
    t.ask("delete_calendar_event", json!({"eventId": event["id"]})).await;
    assert_eq!(house.reminder(me, &event), None);

    // A batch with a mistake stores nothing; a good one stores every reminder.
    let item = |n: u32| json!({"title": n.to_string(), "startTime": format!("2026-12-0{n}"), "reminder": n});
    let added = t.ask("batch_add_calendar_events", json!({"events": [item(1), item(2)]})).await;
    for event in added["events"].as_array().unwrap() {
        assert!(house.reminder(me, event).is_some());
    }
    let before = house.store.collection::<Schedule>().list_in(Scope::User(me), &Default::default()).unwrap().len();
    assert_eq!(before, 2);
    t.refuses(
        "list_calendar_events",
        &[("batch_add_calendar_events", json!({"events": [item(3), {"title": "x", "startTime": ""}]}), "event 2")],
    )
    .await;
    assert_eq!(house.store.collection::<Schedule>().list_in(Scope::User(me), &Default::default()).unwrap().len(), 2);
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("add_calendar_event", json!({"title": "one", "startTime": "2026-11-24T15:00"})).await;
    t.ask("add_calendar_event", json!({"title": "day", "startTime": "2026-11-24"})).await;
    let add = |start: &str, end: &str| json!({"title": "x", "startTime": start, "endTime": end});
    t.refuses(
        "list_calendar_events",
        &[
            ("add_calendar_event", json!({"title": "x"}), "startTime"),
            ("add_calendar_event", json!({"title": " ", "startTime": "2026-11-24"}), "the title is empty"),
            ("add_calendar_event", add("", ""), "the startTime"),
            ("add_calendar_event", add("tomorrow", ""), "`tomorrow` is no date"),
            ("add_calendar_event", add("9999-12-31", ""), "the year 9999"),
            ("add_calendar_event", add("2026-11-24", "9999-12-31"), "the year 9999"),
            (
                "add_calendar_event",
                add("2026-11-24", "2026-11-23"),
                "endTime (2026-11-23) is before startTime (2026-11-24)",
            ),
            ("add_calendar_event", add("2026-11-24T15:00", "2026-11-24T14:59:59"), "is before startTime"),
            ("add_calendar_event", add("2026-11-24T15:00", "2026-11-24"), "endTime needs one too"),
            ("add_calendar_event", add("2026-11-24", "2126-11-26"), "more than 100 years"),
            (
                "add_calendar_event",
                json!({"title": "x", "startTime": "2026-11-24", "isAllDay": false}),
                "needs a startTime with a time",
            ),
            ("add_calendar_event", json!({"title": "x", "startTime": "2026-11-24", "reminder": 40_321}), "four weeks"),
            ("add_calendar_event", json!({"title": "x", "startTime": "2026-11-24", "reminder": -1}), "-1"),
            (
                "add_calendar_event",
                json!({"title": "x", "startTime": "2026-11-24", "location": "x".repeat(501)}),
                "the location is longer",
            ),
            (
                "list_calendar_events",
                json!({"startDate": "2026-11-24", "endDate": "2026-11-23"}),
                "endDate is before 2026-11-24",
            ),
            ("list_calendar_events", json!({"endDate": "2026-11-19"}), "endDate is before 2026-11-20"),
            ("list_calendar_events", json!({"startDate": "x"}), "the startDate"),
            ("update_calendar_event", json!({"eventId": "one"}), "say what to change"),
            (
                "update_calendar_event",
                json!({"eventId": "one", "title": "two", "endTime": "2026-11-24T14:00"}),
                "is before startTime",
            ),
            (
                "update_calendar_event",
                json!({"eventId": "day", "title": "two", "isAllDay": false}),
                "needs a startTime with a time",
            ),
            ("update_calendar_event", json!({"eventId": "day", "title": "two", "reminder": 99_999}), "four weeks"),
            ("delete_calendar_event", json!({"eventId": ""}), "say which calendar event"),
        ],
    )
    .await;
    let long = json!({"title": "long", "startTime": "9950-01-01", "endTime": "9998-12-31"});
    t.ask("add_calendar_event", long).await;
    let beyond = t.say("update_calendar_event", json!({"eventId": "long", "startTime": "9960-01-01"})).await;
    assert!(beyond.contains("beyond the calendar"), "{beyond}");
}

#[tokio::test]
async fn events_are_private_and_batches_whole() {
    let kind = Kind {
        add: (
            "add_calendar_event",
            json!({"title": "Zebra", "startTime": "2026-11-19", "endTime": "2026-11-25", "category": "zoo"}),
        ),
        list: "list_calendar_events",
        which: "eventId",
        reads: &[],
        changes: &[
            ("update_calendar_event", json!({"title": "Gnu", "reminder": 5})),
            ("delete_calendar_event", json!({})),
        ],
    };
    is_private(&tools(), kind).await;
    let item = |name: String| json!({"title": name, "startTime": "2026-11-24T15:00"});
    let bad = json!({"title": "x", "startTime": "2026-11-24", "endTime": "2026-11-20"});
    batches(&tools(), ("batch_add_calendar_events", "events", "event"), "list_calendar_events", item, bad).await;
}

/// A day's list reads that day and a little around it, however much there was before and after.
#[tokio::test]
async fn a_list_reads_little() {
    let (store, cx) = (Store::in_memory().unwrap(), cx());
    let events = RecordStore::<Event>::new(&store);
    let zone = cx.ports().clock.zone();
    let many = (0..3000).map(|n| {
        let (day, hours) = (i64::from(n / 3) - 500, [1, 2, 30][n as usize % 3]);
        let start = cx.ports().clock.now() + jiff::SignedDuration::from_hours(24 * day);
        let at = |hours| When::At((start + jiff::SignedDuration::from_hours(hours)).to_zoned(zone.clone()));
        let mut event = Event { title: n.to_string(), ..Event::default() };
        event.set_times(&Times { start: at(0), end: at(hours) }, &zone).unwrap();
        (event, false)
    });
    events.add_all(&cx, "t", many.collect()).await.unwrap();
    let start = |day: &str| millis(&When::read(day, &zone).unwrap(), &zone).unwrap();
    let (from, to) = (start("2026-11-20"), Some(start("2026-11-21")));
    let wanted = EventFilter { from, to, category: None, search: None, zone: zone.clone() };
    let page = wanted.page(&events, &cx, (0, 50)).unwrap();
    assert_eq!((page.entries.len(), page.more), (4, false));
    let read = Cell::new(0);
    wanted.in_progress(&events, &cx, |_| read.set(read.get() + 1)).unwrap();
    events
        .page(&cx, &wanted.beginning(), (0, 50), |entry| {
            read.set(read.get() + 1);
            wanted.begins(entry)
        })
        .unwrap();
    // Of the classes of a day and of eight days, and the days around.
    assert!(read.get() <= 30, "{} of 3000 were read", read.get());
}

#[derive(Debug, Clone)]
struct Made {
    /// In hours from the day before the window may begin.
    start: i64,
    hours: i64,
    all_day: bool,
    category: bool,
    shared: bool,
}

fn made() -> impl Strategy<Value = Made> {
    let hours = prop_oneof![Just(0), 1i64..30, 24i64..400, 400i64..20_000];
    (-1200i64..1200, hours, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(start, hours, all_day, category, shared)| Made { start, hours, all_day, category, shared })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Consecutive pages are all events that overlap the days, ordered by start.
    #[test]
    fn pages_are_the_list_in_order(
        all in prop::collection::vec(made(), 0..40),
        (from, days) in (-40i64..40, prop::option::of(0i64..60)),
        category in any::<bool>(),
        size in 1u32..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (t, other) = (tools(), crate::testing::somebody());
            let zone = cx().ports().clock.zone();
            let zero = jiff::civil::date(2026, 3, 20);
            let at = |hours: i64| zero.to_zoned(zone.clone()).unwrap() + jiff::SignedDuration::from_hours(hours);
            let day = |n: i64| zero + jiff::Span::new().days(n);
            let (first, last) = (day(from), days.map(|days| day(from + days)));
            let begin = |day: jiff::civil::Date| day.to_zoned(zone.clone()).unwrap().timestamp();
            let mut wanted = vec![];
            for (n, made) in all.iter().enumerate() {
                let (start, end) = (at(made.start), at(made.start + made.hours));
                let (from, over) = match made.all_day {
                    true => (begin(start.date()), begin(end.date().tomorrow().unwrap())),
                    false => (start.timestamp(), end.timestamp()),
                };
                let args = json!({"title": n.to_string(), "startTime": When::At(start).to_string(), "endTime": When::At(end).to_string(),
                    "isAllDay": made.all_day, "category": if made.category { "x" } else { "y" }, "shared": made.shared});
                let whose = if n % 2 == 0 { cx() } else { other.clone() };
                t.by(&whose, "add_calendar_event", args).await.unwrap();
                let seen = (n % 2 == 0 || made.shared) && (!category || made.category);
                let goes_on = over > begin(first) || from >= begin(first);
                if seen && goes_on && last.is_none_or(|last| from < begin(last.tomorrow().unwrap())) {
                    wanted.push((from, n));
                }
            }
            wanted.sort_unstable();
            let wanted: Vec<String> = wanted.into_iter().map(|(_, n)| n.to_string()).collect();
            let mut found: Vec<String> = vec![];
            loop {
                let args = json!({"startDate": first.to_string(), "endDate": last.map(|last| last.to_string()),
                    "category": category.then_some("X"), "limit": size, "offset": found.len()});
                let page = t.ask("list_calendar_events", args).await;
                found.extend(page["events"].as_array().unwrap().iter().map(|e| e["title"].as_str().unwrap().to_owned()));
                if page["hasMore"] == false {
                    break;
                }
                assert_eq!(page["count"], size, "a page that is not the last is full");
            }
            assert_eq!(found, wanted);
        });
    }
}

#[tokio::test]
async fn an_event_that_repeats_is_an_event_each_time() {
    let t = tools();
    // Friday 2026-11-20.
    let football = json!({
        "title": "Football", "startTime": "2026-11-21T10:00", "repeat": "weekly", "repeatUntil": "2026-12-12",
    });
    t.ask("add_calendar_event", football).await;
    let club = json!({
        "title": "Club", "startTime": "2026-12-01T19:00", "repeat": "monthlyWeekday", "repeatUntil": "2027-02-28",
    });
    t.ask("add_calendar_event", club).await;
    let leap = json!({"title": "Rent", "startTime": "2026-12-31", "repeat": "monthly", "repeatUntil": "2027-04-01"});
    t.ask("add_calendar_event", leap).await;
    let all = t.ask("list_calendar_events", json!({"endDate": "2027-12-31"})).await;
    let starts = |title: &str| -> Vec<String> {
        let events = all["events"].as_array().unwrap().iter().filter(|event| event["title"] == title);
        events.map(|event| event["startTime"].as_str().unwrap().chars().take(16).collect()).collect()
    };
    assert_eq!(starts("Football"), ["2026-11-21T10:00", "2026-11-28T10:00", "2026-12-05T10:00", "2026-12-12T10:00"]);
    assert_eq!(starts("Club"), ["2026-12-01T19:00", "2027-01-05T19:00", "2027-02-02T19:00"]);
    assert_eq!(starts("Rent"), ["2026-12-31", "2027-01-31", "2027-03-31"]);
    let wrong = json!({"title": "X", "startTime": "2026-12-31", "repeat": "daily", "repeatUntil": "2026-12-30"});
    t.refuses("list_calendar_events", &[("add_calendar_event", wrong, "repeatUntil is before startTime")]).await;
}
