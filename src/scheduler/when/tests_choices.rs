//! Every choice a person has: its sentence reads back as the same choice, and its due times are what it says, in the
//! household's zone and across daylight saving.

use super::*;
use jiff::{Unit, civil::Weekday};
use proptest::prelude::*;
use serde_json::json;
use tool::FixedClock;

/// Friday, 20 November 2026, 14:30 in a zone.
fn clock_in(zone: &str) -> FixedClock {
    FixedClock(format!("2026-11-20T14:30:00[{zone}]").parse().unwrap())
}

/// The text that the page sends for a choice.
fn written(choice: &Choice) -> String {
    let cron = |time: &str, days: String| {
        let (hour, minute) = time.split_once(':').unwrap();
        format!("{} {} {days}", minute.parse::<u8>().unwrap(), hour.parse::<u8>().unwrap())
    };
    match choice {
        Choice::Once { day, time } => format!("{day}T{time}"),
        Choice::Daily { time } => cron(time, "* * *".into()),
        Choice::Weekly { weekdays, time } => {
            cron(time, format!("* * {}", weekdays.iter().map(u16::to_string).collect::<Vec<_>>().join(",")))
        }
        Choice::Nth { nth: -1, weekday, time } => cron(time, format!("* * {weekday}#L")),
        Choice::Nth { nth, weekday, time } => cron(time, format!("* * {weekday}#{nth}")),
        Choice::Monthly { day: -1, time } => cron(time, "L * *".into()),
        Choice::Monthly { day, time } => cron(time, format!("{day} * *")),
        Choice::Yearly { month, day, time } => cron(time, format!("{day} {month} *")),
        Choice::Interval { every, unit } => format!("every {every} {unit}"),
    }
}

fn choices() -> impl Strategy<Value = Choice> {
    let time = || (0..24u8, 0..60u8).prop_map(|(h, m)| format!("{h:02}:{m:02}"));
    let weekdays = proptest::collection::btree_set(0..7u16, 1..7);
    let yearly = (1..13u16, 1..29u16, time());
    let interval = prop_oneof![
        (1..52i64).prop_map(|n| (n, "weeks")),
        (2..7i64).prop_map(|n| (n, "days")),
        (1..24i64).prop_map(|n| (n, "hours")),
        (1..60i64).prop_map(|n| (n, "minutes")),
        (1..60i64).prop_map(|n| (n, "seconds")),
    ];
    prop_oneof![
        time().prop_map(|time| Choice::Daily { time }),
        (weekdays, time()).prop_map(|(days, time)| Choice::Weekly { weekdays: days.into_iter().collect(), time }),
        (prop_oneof![Just(-1i8), 1..6i8], 0..7u16, time()).prop_map(|(nth, weekday, time)| Choice::Nth {
            nth,
            weekday,
            time
        }),
        (prop_oneof![Just(-1i8), 1..32i8], time()).prop_map(|(day, time)| Choice::Monthly { day, time }),
        yearly.prop_map(|(month, day, time)| Choice::Yearly { month, day, time }),
        interval.prop_map(|(every, unit)| Choice::Interval { every, unit }),
        (1..2000i64, time()).prop_map(|(days, time)| Choice::Once {
            day: (jiff::civil::date(2026, 11, 20) + Span::new().days(days)).to_string(),
            time
        }),
    ]
}

fn zones() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("Europe/Vienna"),
        Just("America/New_York"),
        Just("Australia/Lord_Howe"),
        Just("Asia/Kathmandu"),
        Just("Africa/Casablanca"),
    ]
}

/// Whether a day of the calendar is one that the choice names.
fn is_named(choice: &Choice, day: jiff::civil::Date) -> bool {
    let weekday = day.weekday().to_sunday_zero_offset() as u16;
    match choice {
        Choice::Daily { .. } => true,
        Choice::Weekly { weekdays, .. } => weekdays.contains(&weekday),
        Choice::Nth { nth, weekday: wanted, .. } => {
            let named = day.nth_weekday_of_month(*nth, Weekday::from_sunday_zero_offset(*wanted as i8).unwrap());
            named.is_ok_and(|named| named == day)
        }
        Choice::Monthly { day: -1, .. } => day == day.last_of_month(),
        Choice::Monthly { day: wanted, .. } => day.day() == *wanted,
        Choice::Yearly { month, day: wanted, .. } => (day.month() as u16, day.day() as u16) == (*month, *wanted),
        Choice::Once { day: wanted, .. } => day.to_string() == *wanted,
        Choice::Interval { .. } => true,
    }
}

fn time_in(choice: &Choice) -> Option<&str> {
    match choice {
        Choice::Interval { .. } => None,
        Choice::Once { time, .. } | Choice::Daily { time } | Choice::Weekly { time, .. } => Some(time),
        Choice::Nth { time, .. } | Choice::Monthly { time, .. } | Choice::Yearly { time, .. } => Some(time),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// The sentence names everything that was chosen: read again, it is the same choice.
    #[test]
    fn the_sentence_of_a_choice_reads_back_as_it(choice in choices(), zone in zones()) {
        let clock = clock_in(zone);
        let stored = parse(&json!(written(&choice)), None, &clock).unwrap();
        prop_assert_eq!(stored.choice(&clock.local()), Some(choice.clone()));
        let sentence = stored.text(&clock.local());
        // A moment is named with its date; it is read in its own form.
        if !matches!(choice, Choice::Once { .. }) {
            let again = parse(&json!(sentence), None, &clock);
            let again = again.map_err(|error| TestCaseError::fail(format!("{sentence}: {error}")))?;
            prop_assert_eq!(again.choice(&clock.local()), Some(choice), "{}", sentence);
        }
    }

    #[test]
    fn two_choices_never_have_the_same_sentence(a in choices(), b in choices()) {
        let clock = clock_in("Europe/Vienna");
        let text = |choice| parse(&json!(written(choice)), None, &clock).unwrap().text(&clock.local());
        prop_assert_eq!(a == b, text(&a) == text(&b));
    }

    /// The next due times are on the days and at the time of the choice. A time that the clocks skip comes at the end of
    /// the gap.
    #[test]
    fn due_times_are_those_of_the_choice(choice in choices(), zone in zones(), from in 0..3000i64) {
        let clock = clock_in(zone);
        let household = clock.zone();
        let stored = parse(&json!(written(&choice)), None, &clock).unwrap();
        let once = matches!(choice, Choice::Once { .. });
        let mut at = clock.now() + SignedDuration::from_hours(if once { 0 } else { 24 * from });
        for _ in 0..3 {
            let Some(next) = stored.next_after(at, &household) else {
                prop_assert!(once);
                break;
            };
            prop_assert!(next > at);
            let wall = next.to_zoned(household.clone());
            prop_assert!(is_named(&choice, wall.date()), "{choice:?}: {wall}");
            if let Some(time) = time_in(&choice) {
                let meant = wall.date().at(0, 0, 0, 0).date().to_datetime(time.parse().unwrap());
                let wanted = household.to_ambiguous_zoned(meant);
                let skipped = !wanted.is_ambiguous() && wanted.clone().compatible().unwrap().timestamp() != next;
                let gap = matches!(wanted.offset(), jiff::tz::AmbiguousOffset::Gap { .. });
                prop_assert!(!skipped || gap, "{choice:?}: {wall}");
                prop_assert!(gap || wall.strftime("%H:%M").to_string() == time, "{choice:?}: {wall}");
            }
            at = next;
        }
    }
}

#[test]
fn choices_are_recognised() {
    let clock = clock_in("Europe/Vienna");
    for (written, wanted) in [
        ("every first monday of the month at 9", json!({"kind": "nth", "nth": 1, "weekday": 1, "time": "09:00"})),
        ("the last friday of every month at 16:00", json!({"kind": "nth", "nth": -1, "weekday": 5, "time": "16:00"})),
        ("on the 2nd tuesday of each month at noon", json!({"kind": "nth", "nth": 2, "weekday": 2, "time": "12:00"})),
        ("0 9 * * MON#1", json!({"kind": "nth", "nth": 1, "weekday": 1, "time": "09:00"})),
        ("0 9 * * 5L", json!({"kind": "nth", "nth": -1, "weekday": 5, "time": "09:00"})),
        ("from monday to friday at 7:30", json!({"kind": "weekly", "weekdays": [1, 2, 3, 4, 5], "time": "07:30"})),
        ("every fri to mon at 8pm", json!({"kind": "weekly", "weekdays": [0, 1, 5, 6], "time": "20:00"})),
        ("each weekend at 10", json!({"kind": "weekly", "weekdays": [0, 6], "time": "10:00"})),
        ("every tuesday at 18:00", json!({"kind": "weekly", "weekdays": [2], "time": "18:00"})),
        ("on the 3rd of every month at 7:00", json!({"kind": "monthly", "day": 3, "time": "07:00"})),
        ("the last day of the month at 22:00", json!({"kind": "monthly", "day": -1, "time": "22:00"})),
        ("every 24 december at 18:00", json!({"kind": "yearly", "month": 12, "day": 24, "time": "18:00"})),
        ("every march 3rd at 8:00", json!({"kind": "yearly", "month": 3, "day": 3, "time": "08:00"})),
        ("@daily", json!({"kind": "daily", "time": "00:00"})),
        ("*/15 * * * *", json!({"kind": "interval", "every": 15, "unit": "minutes"})),
        ("0 * * * *", json!({"kind": "interval", "every": 1, "unit": "hours"})),
        ("PT90M", json!({"kind": "interval", "every": 90, "unit": "minutes"})),
        ("P1D", json!({"kind": "interval", "every": 24, "unit": "hours"})),
        ("tomorrow at 7", json!({"kind": "once", "day": "2026-11-21", "time": "07:00"})),
        // More than a form offers.
        ("*/20 6-9 * * 1-5", json!(null)),
        ("0 7,19 * * *", json!(null)),
        ("30 0 7 * * *", json!(null)),
        ("0 7 1,15 * *", json!(null)),
        ("0 7 13 * 5", json!(null)),
        ("0 7 * 6-8 *", json!(null)),
        ("0 7 15W * *", json!(null)),
    ] {
        let read = parse(&json!(written), None, &clock).unwrap();
        assert_eq!(json!(read.choice(&clock.local())), wanted, "{written}");
    }
}

#[test]
fn more_than_a_form_offers_has_a_sentence_all_the_same() {
    let clock = clock_in("Europe/Vienna");
    for (written, wanted) in [
        ("0 7,19 * * *", "every day at 07:00 and 19:00"),
        ("*/20 6-9 * * 1-5", "every 20 minutes from 06:00 to 09:40, from Monday to Friday"),
        ("15 8-17 * * 1-5", "every hour from 08:15 to 17:15, from Monday to Friday"),
        ("0 7 1,15 * *", "at 07:00, on day 1 and 15"),
        ("0 7 * 6-8 *", "at 07:00, in June, July and August"),
        ("0 7 13 * 5", "at 07:00, on day 13 or Friday"),
    ] {
        let read = parse(&json!(written), None, &clock).unwrap();
        assert_eq!(read.text(&clock.local()), wanted, "{written}");
    }
}

#[test]
fn the_clocks_change_in_the_household_of_the_schedule() {
    // The last Sunday of March has no 02:30 in Vienna, and the last of October has it twice.
    let clock = FixedClock("2027-03-01T12:00:00[Europe/Vienna]".parse().unwrap());
    let due = |schedule: &str, from: &str| {
        let from: Timestamp = from.parse().unwrap();
        let next = parse(&json!(schedule), None, &clock).unwrap().next_after(from, &clock.zone()).unwrap();
        next.round(Unit::Second).unwrap().to_zoned(clock.zone()).to_string()
    };
    let last_sunday = "every last sunday at 02:30";
    assert_eq!(due(last_sunday, "2027-03-20T00:00:00Z"), "2027-03-28T03:00:00+02:00[Europe/Vienna]");
    assert_eq!(due(last_sunday, "2027-10-20T00:00:00Z"), "2027-10-31T02:30:00+02:00[Europe/Vienna]");
    assert_eq!(due("every first monday at 09:00", "2027-03-02T00:00:00Z"), "2027-04-05T09:00:00+02:00[Europe/Vienna]");
    assert_eq!(
        due("from monday to friday at 07:30", "2027-10-29T12:00:00Z"),
        "2027-11-01T07:30:00+01:00[Europe/Vienna]"
    );
}
