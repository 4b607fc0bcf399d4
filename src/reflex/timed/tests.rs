//! Sentences about times, and the calls they mean.

use crate::{
    sentence::Sentence,
    timed::{Request, event, look, remind, timer},
};
use jiff::Zoned;
use serde_json::{Value, json};

/// Monday 2026-11-23, 9 o'clock.
fn now() -> Zoned {
    "2026-11-23T09:00[Europe/London]".parse().unwrap()
}

fn written(read: Option<Request>) -> Vec<Value> {
    let Some(read) = read else { return vec![] };
    let first = Value::Object(read.arguments);
    [first].into_iter().chain(read.more.into_iter().map(|(_, given)| Value::Object(given))).collect()
}

#[test]
fn reminders_are_read_by_their_parts() {
    for (text, schedule, message) in [
        (
            "oh hob dear could you give me a little nudge about my water tablet after lunch say about one o'clock",
            json!("2026-11-23T13:00"),
            "my water tablet after lunch",
        ),
        ("dont let me forget ezras recorder tmrw morning", json!("2026-11-24T08:00"), "ezras recorder"),
        (
            "nit lotion again in 7 days. isla. ugh. remind me when shes in the bath so 6pm",
            json!("2026-11-30T18:00"),
            "nit lotion again",
        ),
        (
            "Remind me to pay Mrs Okafor for piano on the last day of the month",
            json!("2026-11-30T09:00"),
            "pay Mrs Okafor for piano",
        ),
        ("weekdays at ten to eight can you shout at me SHOES", json!("50 7 * * 1-5"), "SHOES"),
        ("remind me in 20 to unplug the iron", json!("2026-11-23T09:20"), "unplug the iron"),
        ("remind me to put the bins out tonite like half 8 ish", json!("2026-11-23T20:30"), "put the bins out"),
        (
            "every other friday remind us to drain the compressor",
            json!({"type": "interval", "every": "2 weeks", "from": "2026-11-27T09:00"}),
            "drain the compressor",
        ),
        (
            "every other thursday - brown bin. ping me the night before pls, 8ish",
            json!({"type": "interval", "every": "2 weeks", "from": "2026-11-25T20:00"}),
            "brown bin",
        ),
        ("rmnd me tax return edie 31 jan", json!("2027-01-31T09:00"), "tax return edie"),
    ] {
        let all = written(remind::read(&Sentence::read(text), &now()));
        assert_eq!(all.len(), 1, "{text}");
        assert_eq!((&all[0]["schedule"], all[0]["message"].as_str()), (&schedule, Some(message)), "{text}");
    }
}

#[test]
fn reminders_are_for_somebody() {
    for (text, person, message, schedule) in [
        (
            "Tell Tom at half six to take the bins out, it's recycling this week",
            "Tom",
            "take the bins out",
            "2026-11-23T18:30",
        ),
        ("remind Jon to ring the bank at 3", "Jon", "ring the bank", "2026-11-23T15:00"),
        (
            "Hob, Donna here, can you remind Edie to take her water pill around a quarter of ten? She always skips it",
            "Edie",
            "take her water pill",
            "2026-11-23T09:45",
        ),
        ("weekdays 8.15 tell edie tablets", "edie", "tablets", "15 8 * * 1-5"),
        ("nudge callum at 6 about the deposit form", "callum", "the deposit form", "2026-11-23T18:00"),
        ("set a reminder for Tom to feed the cat at 5pm", "Tom", "feed the cat", "2026-11-23T17:00"),
    ] {
        let all = written(remind::read(&Sentence::read(text), &now()));
        let got = all
            .first()
            .map(|it| [&it["person"], &it["message"], &it["schedule"]].map(|v| v.as_str().unwrap_or_default()));
        assert_eq!(got, Some([person, message, schedule]), "{text}");
    }
}

#[test]
fn what_changes_or_asks_about_reminders_makes_none() {
    for text in [
        "cancel my reminder at 6",
        "what did I ask you to remind me about tomorrow",
        "move the reminder to 5 pm",
        "stop reminding us about spellings at 5",
        "turn off the alarm at 6",
        "don't remind me at 6",
        "delete the 7 am alarm",
    ] {
        assert_eq!(written(remind::read(&Sentence::read(text), &now())), Vec::<Value>::new(), "{text}");
    }
}

#[test]
fn alarms_are_read_by_their_parts() {
    for (text, schedules) in [
        ("wake me 5:50 tmrw flight", &["2026-11-24T05:50"][..]),
        (
            "could I be got up at a quarter to seven on Saturday please love the coach goes at eight",
            &["2026-11-28T06:45"],
        ),
        (
            "I've to be up for the hospital car tomorrow so wake me at ten to six please, and I do mean the morning",
            &["2026-11-24T05:50"],
        ),
        ("alarm sat sun 0845", &["45 8 * * 0,6"]),
        ("Alarm half 6 mon-fri, but 7:15 on sat", &["30 6 * * 1-5", "2026-11-28T07:15"]),
        ("get me up at ten to six tomorrow i'm on the road to a fitting in bristol", &["2026-11-24T05:50"]),
    ] {
        let all = written(remind::read(&Sentence::read(text), &now()));
        let got: Vec<&str> = all.iter().filter_map(|it| it["schedule"].as_str()).collect();
        assert_eq!(got, schedules, "{text}");
    }
}

#[test]
fn timers_are_read_by_their_parts() {
    for (text, wanted) in [
        ("fish fingers 14 min", &[("PT14M", "fish fingers")][..]),
        ("naughty step 5 mins GO", &[("PT5M", "naughty step")]),
        ("egg timer please dear I like them soft so four minutes", &[("PT4M", "egg")]),
        ("uv exposure timer 2m30s", &[("PT2M30S", "uv exposure")]),
        (
            "start a 12 minute timer called compression stockings and a 45 one for laundry",
            &[("PT12M", "compression stockings"), ("PT45M", "laundry")],
        ),
        ("steam box an hour per inch and this ones an inch and a half so time me ninety minutes", &[("PT1H30M", "")]),
        ("give me ten more minutes on the pasta timer", &[]),
        ("I walked for 20 minutes", &[]),
    ] {
        let all = written(timer::read(&Sentence::read(text)));
        let text_of = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        let got: Vec<_> = all.iter().map(|it| (text_of(it, "duration"), text_of(it, "name"))).collect();
        let wanted: Vec<_> = wanted.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(got, wanted, "{text}");
    }
}

#[test]
fn events_are_read_by_their_parts() {
    for (text, wanted) in [
        ("parents eve thurs at 17:40 put in diary", json!({"title": "parents eve", "startTime": "2026-11-26T17:40"})),
        ("date night 12 dec!!! 7.30", json!({"title": "date night", "startTime": "2026-12-12T19:30"})),
        ("park run saturday 9", json!({"title": "park run", "startTime": "2026-11-28T09:00"})),
        (
            "football every saturday at 10",
            json!({"title": "football", "startTime": "2026-11-28T10:00", "repeat": "weekly"}),
        ),
        (
            "Beavers every monday at 6 starting next week",
            json!({"title": "Beavers", "startTime": "2026-11-30T18:00", "repeat": "weekly"}),
        ),
        (
            "Maker night, first tuesday of every month 7pm, hackspace",
            json!({"title": "Maker night", "startTime": "2026-12-01T19:00", "repeat": "monthlyWeekday"}),
        ),
        (
            "put swimming gala on the family calendar for saturday at 2",
            json!({"title": "swimming gala", "startTime": "2026-11-28T14:00", "shared": true}),
        ),
        (
            "we're at Center Parcs from the 18th to the 21st of december, block it out",
            json!({"title": "Center Parcs", "startTime": "2026-12-18", "endTime": "2026-12-21"}),
        ),
        ("mrs ahmeds coming to look at the wardrobe doors a week on friday half ten", Value::Null),
    ] {
        let all = written(event::read(&Sentence::read(text), &now()));
        assert_eq!(all.first().cloned().unwrap_or_default(), wanted, "{text}");
    }
}

#[test]
fn questions_about_times_look_them_up() {
    for (text, tools) in [
        ("what have i asked you to nag me about", &["list_scheduled_tasks"][..]),
        ("am I being woken tomorrow or did I switch that off", &["list_scheduled_tasks"]),
        ("how long now?", &["list_timers"]),
        ("what have I got to do today?", &["list_calendar_events", "list_scheduled_tasks", "list_tasks"]),
        ("are we free sat afternoon?? sophie asking", &["list_calendar_events"]),
        ("what's happening between now and next Tuesday", &["list_calendar_events"]),
        ("how long until christmas", &[]),
        ("what is on my shopping list today", &[]),
    ] {
        let read = look::read(&Sentence::read(text), &now());
        let got: Vec<&str> =
            read.iter().flat_map(|it| [it.tool].into_iter().chain(it.more.iter().map(|(tool, _)| *tool))).collect();
        assert_eq!(got, tools, "{text}");
    }
}
