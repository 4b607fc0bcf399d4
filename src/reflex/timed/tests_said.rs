//! Sentences about times through the whole of reflex: what is called, what is asked, and what is refused.

use crate::{Classification, tests::reflex};
use serde_json::{Value, json};

/// The calls as `tool schedule-or-start`, a question as `? …`, a reply as `" …`.
fn said(placed: &Classification) -> String {
    let when = |arguments: &Value| {
        let of =
            |key: &str| arguments.get(key).and_then(Value::as_str).map(|text| format!(" {text}")).unwrap_or_default();
        let all = ["schedule", "startTime", "endTime", "endAt", "duration", "eventId", "startDate", "endDate"];
        all.into_iter().map(of).collect::<String>()
    };
    match (&placed.tool, &placed.proposes) {
        (Some(tool), _) => {
            let calls =
                std::iter::once((tool, &placed.arguments)).chain(placed.more.iter().map(|(tool, given)| (tool, given)));
            calls.map(|(tool, given)| format!("{tool}{}", when(given))).collect::<Vec<_>>().join("; ")
        }
        (None, Some((tool, given))) => format!("? {tool}{}", when(given)),
        (None, None) => format!("\" {}", placed.say.as_deref().unwrap_or_default()),
    }
}

/// It is Friday 2026-11-20, 14:30. A reply is told by its beginning.
#[tokio::test]
async fn times_are_kept_asked_about_or_refused() {
    let reflex = reflex();
    for (text, wanted) in [
        // What does not take place is not added.
        ("no meeting on Friday", "\" I changed nothing. If “meeting” is in your calendar"),
        ("there's no football on Thursday", "\" I changed nothing. If “football” is in your calendar"),
        ("there isn't any choir on wednesday", "\" I changed nothing. If “choir” is in your calendar"),
        ("the dentist on tuesday at 3 is off", "\" I changed nothing. If “dentist” is in your calendar"),
        ("tomorrow's meeting is cancelled", "\" I changed nothing. If “meeting” is in your calendar"),
        ("we're not going to the gym on monday", "\" I changed nothing. If “gym” is in your calendar"),
        (
            "no football practice on thursday, coach is ill",
            "\" I changed nothing. If “football practice” is in your calendar",
        ),
        ("no alarm tomorrow", "\" I set nothing."),
        ("no need to remind me on monday", "\" I set nothing."),
        ("remind me there's no football on thursday", "create_scheduled_task 2026-11-26T09:00"),
        // Days that are left out.
        ("remind me to take my pills every day except Sunday", "create_scheduled_task 0 9 * * 1,2,3,4,5,6"),
        ("remind me every day except sunday at 8 to take my pills", "create_scheduled_task 0 8 * * 1,2,3,4,5,6"),
        ("remind me every day to feed the cat except on weekends", "create_scheduled_task 0 9 * * 1-5"),
        ("remind me to feed the cat every day at 7, not on sundays", "create_scheduled_task 0 7 * * 1,2,3,4,5,6"),
        ("set an alarm for 7 every day but not on weekends", "create_scheduled_task 0 7 * * 1-5"),
        ("wake me at 7 every day but not tomorrow", "\" I cannot leave out tomorrow"),
        ("remind me every day except christmas to run", "\" I cannot leave out Christmas"),
        ("set an alarm for 6 but not tomorrow", "\" If not tomorrow, which day do you mean?"),
        ("remind me on friday, not thursday, to call", "create_scheduled_task 2026-11-27T09:00"),
        // One of two times.
        ("remind me in 2-3 days to call the bank", "\" Do you mean 2 days or 3 days?"),
        ("remind me in a day or two to call mum", "\" Do you mean a day or two days?"),
        ("remind me at 7 or 8 to eat", "\" Do you mean 7 or 8?"),
        ("remind me on monday or tuesday to call", "\" Do you mean Monday or Tuesday?"),
        ("set a timer for 5 or 10 minutes", "\" Do you mean 5 minutes or 10 minutes?"),
        ("set a timer for 5 and 10 minutes", "\" Do you mean 5 minutes or 10 minutes?"),
        // Days that never come.
        ("remind me on the 31st of February to pay rent", "\" There is no 31st February"),
        ("wake me on 31 april at 7", "\" There is no 31 April"),
        ("dentist on june 31st at 7", "\" There is no June 31st"),
        // The end of a recurrence.
        ("remind me every day until Friday to water the plants", "create_scheduled_task 0 9 * * * 2026-11-27"),
        ("remind me to water the plants every day until friday", "create_scheduled_task 0 9 * * * 2026-11-27"),
        ("remind me every day for a week to take pills", "create_scheduled_task 0 9 * * * 2026-11-27"),
        ("remind me every hour until 5 to drink", "create_scheduled_task 0 * * * * 2026-11-20T17:00"),
        ("remind me every day until 5 to drink", "\" I can stop a repeating reminder only on a day"),
        (
            "remind me every day from wednesday to take pills",
            "\" I cannot let a repeating reminder begin on a later day",
        ),
        ("wake me at 7 until friday", "\" Do you mean every day until Friday?"),
        ("remind me every 2 hours until 9pm to drink", "create_scheduled_task every 2 hours 2026-11-20T21:00"),
        ("yoga every tuesday at 7pm until 15 december put it in the calendar", "add_calendar_event 2026-11-24T19:00"),
        ("remind me every month except august to pay", "\" I cannot leave out August"),
        ("remind me every monday to friday except wednesday at 7 to run", "create_scheduled_task 0 7 * * 1,2,4,5"),
        // What comes before an event.
        ("remind me 30 minutes before the dentist", "update_calendar_event dentist"),
        ("remind me the day before the dentist", "update_calendar_event dentist"),
        ("remind me an hour before the dentist to leave", "\" Before something in your calendar"),
        // Timers.
        ("two timers for 5 and 10 minutes", "set_timer PT5M; set_timer PT10M"),
        ("three timers, 5, 10 and 15 minutes", "set_timer PT5M; set_timer PT10M; set_timer PT15M"),
        ("set timers for 5 minutes and 10 minutes", "set_timer PT5M; set_timer PT10M"),
        ("set a 5 and a 10 minute timer", "set_timer PT5M; set_timer PT10M"),
        ("set a timer for 5 and a half minutes", "set_timer PT5M30S"),
        ("set a timer for 5 minutes before 7", "\" A timer counts from now."),
        // Whole days.
        ("put holiday from 20 to 27 December in the calendar", "add_calendar_event 2026-12-20 2026-12-27"),
        ("put skiing from 28 december to 3 january in the calendar", "add_calendar_event 2026-12-28 2027-01-03"),
        ("holiday from 20 to 27 December", "? add_calendar_event 2026-12-20 2026-12-27"),
        ("conference 12-14 march", "? add_calendar_event 2027-03-12 2027-03-14"),
        ("party from 6 to 8 on 12 december", "add_calendar_event 2026-12-12T18:00 2026-12-12T20:00"),
        ("remind me from 20 to 27 december to water the plants", "\" I cannot remind you on each day"),
        ("what's on from 20 to 27 december", "list_calendar_events 2026-12-20 2026-12-27"),
        ("what's on between 1 december and 24 december", "list_calendar_events 2026-12-01 2026-12-24"),
        ("any events from 1 to 24 december", "list_calendar_events 2026-12-01 2026-12-24"),
        ("what's on in march?", "list_calendar_events 2027-03-01 2027-03-31"),
        ("what have we got in december", "list_calendar_events 2026-12-01 2026-12-31"),
        // Switches that nothing makes.
        ("turn on the boiler at 7 tomorrow", "\" I have nothing called “boiler”"),
        ("heating on at 7 tomorrow", "\" I have nothing called “heating”"),
        // Times of day.
        ("remind me to eat at 20", "create_scheduled_task 2026-11-20T20:00"),
        ("remind me to eat at 2030", "create_scheduled_task 2026-11-20T20:30"),
        ("remind me to eat at 7.30pm", "create_scheduled_task 2026-11-20T19:30"),
        ("remind me to eat at 730pm", "create_scheduled_task 2026-11-20T19:30"),
        ("remind me to eat at half 7", "create_scheduled_task 2026-11-20T19:30"),
        ("remind me at midnight on Saturday to lock up", "create_scheduled_task 2026-11-22T00:00"),
        ("remind me every day at 8 and at 20 to take my pills", "create_scheduled_task 0 8,20 * * *"),
        (
            "remind me to take my pills every day at 8 and at 20",
            "\" I heard more than one time there, and did nothing.",
        ),
        ("remind me at 3 in the night to check the oven", "create_scheduled_task 2026-11-21T03:00"),
        ("remind me at quarter to 7 tomorrow evening to call mum", "create_scheduled_task 2026-11-21T18:45"),
        ("wake me at ten past four", "create_scheduled_task 2026-11-20T16:10"),
        ("wake me at ten past four tomorrow", "create_scheduled_task 2026-11-21T04:10"),
    ] {
        let got = said(&reflex.place(text).await);
        let fits = if wanted.starts_with('"') { got.starts_with(wanted) } else { got == wanted };
        assert!(fits, "{text}: {got}, not {wanted}");
    }
}

#[tokio::test]
async fn a_switch_at_a_time_is_planned_where_it_is_connected() {
    let heater = || vec![crate::Device { pin: 17, name: "Heater".into(), sensor: false }];
    let reflex = reflex().knowing(heater);
    for (text, wanted) in [
        ("turn on the heater at 7 tomorrow", "2026-11-21T07:00"),
        ("heater on at 7 tomorrow", "2026-11-21T07:00"),
        ("turn on the heater every day except sunday at 7", "0 7 * * 1,2,3,4,5,6"),
        ("turn on the heater at 7 or 8", ""),
        ("turn on the heater on 31 february at 7", ""),
        ("turn on the heater at 7 tomorrow and off at 9", ""),
    ] {
        let placed = reflex.place(text).await;
        assert_eq!(placed.arguments["schedule"].as_str().unwrap_or_default(), wanted, "{text}: {placed:?}");
        if !wanted.is_empty() {
            let given = (&placed.arguments["tool"], &placed.arguments["arguments"]);
            assert_eq!(given, (&json!("gpio_write"), &json!({"pin": 17, "high": true})), "{text}");
        }
    }
}
