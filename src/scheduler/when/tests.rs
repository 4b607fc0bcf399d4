//! Schedules as they are parsed and shown, and their due times.

use super::*;
use proptest::prelude::*;
use serde_json::json;
use tool::FixedClock;

/// Friday, 20 November 2026, 14:30 in Vienna.
fn clock() -> FixedClock {
    FixedClock("2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap())
}

fn read(schedule: &Value) -> Result<Recurrence> {
    parse(schedule, None, &clock())
}

/// Its text, and its next two due times in Vienna.
fn shown(schedule: &Value, zone: Option<&str>) -> String {
    let clock = clock();
    let read = match parse(schedule, zone, &clock) {
        Ok(read) => read,
        Err(error) => return format!("{error}"),
    };
    let mut shown = read.text(&clock.local());
    let mut at = clock.now();
    for _ in 0..2 {
        let Some(next) = read.next_after(at, &clock.zone()) else { break };
        shown += &next.to_zoned(clock.zone()).strftime(" | %a %d.%m. %H:%M:%S").to_string();
        at = next;
    }
    shown
}

#[test]
fn schedules_are_read_and_told() {
    let rows = [
        ("0 7 * * *", "every day at 07:00 | Sat 21.11. 07:00:00 | Sun 22.11. 07:00:00"),
        ("30 6 * * 1-5", "from Monday to Friday at 06:30 | Mon 23.11. 06:30:00 | Tue 24.11. 06:30:00"),
        ("0 20 * * MON,THU", "every Monday and Thursday at 20:00 | Mon 23.11. 20:00:00 | Thu 26.11. 20:00:00"),
        ("0 9 * * 0,6", "every Saturday and Sunday at 09:00 | Sat 21.11. 09:00:00 | Sun 22.11. 09:00:00"),
        ("0 7,19 * * *", "every day at 07:00 and 19:00 | Fri 20.11. 19:00:00 | Sat 21.11. 07:00:00"),
        ("0 9 1 * *", "on the 1st of every month at 09:00 | Tue 01.12. 09:00:00 | Fri 01.01. 09:00:00"),
        ("0 9 22 * *", "on the 22nd of every month at 09:00 | Sun 22.11. 09:00:00 | Tue 22.12. 09:00:00"),
        ("0 9 L * *", "on the last day of every month at 09:00 | Mon 30.11. 09:00:00 | Thu 31.12. 09:00:00"),
        ("0 9 24 12 *", "every 24 December at 09:00 | Thu 24.12. 09:00:00 | Fri 24.12. 09:00:00"),
        ("*/15 * * * *", "every 15 minutes | Fri 20.11. 14:45:00 | Fri 20.11. 15:00:00"),
        ("* * * * *", "every minute | Fri 20.11. 14:31:00 | Fri 20.11. 14:32:00"),
        ("* * * * * *", "every second | Fri 20.11. 14:30:01 | Fri 20.11. 14:30:02"),
        ("*/10 * * * * *", "every 10 seconds | Fri 20.11. 14:30:10 | Fri 20.11. 14:30:20"),
        ("0 * * * *", "every hour | Fri 20.11. 15:00:00 | Fri 20.11. 16:00:00"),
        ("5 * * * *", "every hour at 5 minutes past | Fri 20.11. 15:05:00 | Fri 20.11. 16:05:00"),
        ("0 */2 * * *", "every 2 hours | Fri 20.11. 16:00:00 | Fri 20.11. 18:00:00"),
        ("15 30 7 * * *", "every day at 07:30:15 | Sat 21.11. 07:30:15 | Sun 22.11. 07:30:15"),
        ("0 9 * * 1#1", "every first Monday at 09:00 | Mon 07.12. 09:00:00 | Mon 04.01. 09:00:00"),
        ("*/7 * * * *", "every 7 minutes | Fri 20.11. 14:35:00 | Fri 20.11. 14:42:00"),
        (
            "*/15 8-9 * * *",
            "every 15 minutes from 08:00 to 09:45, every day | Sat 21.11. 08:00:00 | Sat 21.11. 08:15:00",
        ),
        ("@daily", "every day at 00:00 | Sat 21.11. 00:00:00 | Sun 22.11. 00:00:00"),
        ("@hourly", "every hour | Fri 20.11. 15:00:00 | Fri 20.11. 16:00:00"),
        ("hourly", "every hour | Fri 20.11. 15:00:00 | Fri 20.11. 16:00:00"),
        ("cron 0 7 * * *", "every day at 07:00 | Sat 21.11. 07:00:00 | Sun 22.11. 07:00:00"),
        ("Every 15 minutes", "every 15 minutes | Fri 20.11. 14:45:00 | Fri 20.11. 15:00:00"),
        ("every hour", "every hour | Fri 20.11. 15:30:00 | Fri 20.11. 16:30:00"),
        ("every 1 hour and 30 minutes", "every 1 hour 30 minutes | Fri 20.11. 16:00:00 | Fri 20.11. 17:30:00"),
        ("every 2h30m", "every 2 hours 30 minutes | Fri 20.11. 17:00:00 | Fri 20.11. 19:30:00"),
        ("@every 90s", "every 1 minute 30 seconds | Fri 20.11. 14:31:30 | Fri 20.11. 14:33:00"),
        ("every 10 days", "every 10 days | Mon 30.11. 14:30:00 | Thu 10.12. 14:30:00"),
        ("PT15M", "every 15 minutes | Fri 20.11. 14:45:00 | Fri 20.11. 15:00:00"),
        ("P1W", "every week | Fri 27.11. 14:30:00 | Fri 04.12. 14:30:00"),
        ("every day at 7", "every day at 07:00 | Sat 21.11. 07:00:00 | Sun 22.11. 07:00:00"),
        ("daily at 7:15pm", "every day at 19:15 | Fri 20.11. 19:15:00 | Sat 21.11. 19:15:00"),
        ("every weekday at 6:30", "from Monday to Friday at 06:30 | Mon 23.11. 06:30:00 | Tue 24.11. 06:30:00"),
        ("every weekend at noon", "every Saturday and Sunday at 12:00 | Sat 21.11. 12:00:00 | Sun 22.11. 12:00:00"),
        (
            "every monday and thursday at 8 pm",
            "every Monday and Thursday at 20:00 | Mon 23.11. 20:00:00 | Thu 26.11. 20:00:00",
        ),
        (
            "every tue, fri at 8:00 and 20:00",
            "every Tuesday and Friday at 08:00 and 20:00 | Fri 20.11. 20:00:00 | Tue 24.11. 08:00:00",
        ),
        ("in 10 minutes", "once on Friday 20 November at 14:40 | Fri 20.11. 14:40:00"),
        ("in an hour", "once on Friday 20 November at 15:30 | Fri 20.11. 15:30:00"),
        ("at 19:00", "once on Friday 20 November at 19:00 | Fri 20.11. 19:00:00"),
        ("7am", "once on Saturday 21 November at 07:00 | Sat 21.11. 07:00:00"),
        ("Tomorrow at 7:30", "once on Saturday 21 November at 07:30 | Sat 21.11. 07:30:00"),
        ("today at 20:15", "once on Friday 20 November at 20:15 | Fri 20.11. 20:15:00"),
        ("2026-11-21T14:30", "once on Saturday 21 November at 14:30 | Sat 21.11. 14:30:00"),
        ("2027-01-02 09:00:30", "once on Saturday 2 January 2027 at 09:00:30 | Sat 02.01. 09:00:30"),
        ("2026-11-20T20:00:00Z", "once on Friday 20 November at 21:00 | Fri 20.11. 21:00:00"),
    ];
    for (text, wanted) in rows {
        assert_eq!(shown(&json!(text), None), wanted, "{text}");
    }
    let objects = [
        (json!({"type": "cron", "expression": "0 7 * * *"}), "every day at 07:00"),
        (json!({"type": "cron", "cron": "0 7 * * *", "timezone": "Asia/Tokyo"}), "every day at 07:00 (Asia/Tokyo)"),
        (json!({"type": "interval", "every": "15 minutes"}), "every 15 minutes"),
        (json!({"type": "interval", "minutes": 15}), "every 15 minutes"),
        (json!({"type": "interval", "every": "2 weeks", "from": "2026-11-27T09:00"}), "every 2 weeks"),
        (json!({"type": "every", "hours": 1, "minutes": 30}), "every 1 hour 30 minutes"),
        (json!({"kind": "interval", "everyMs": 1500}), "every 1 second 500 milliseconds"),
        (json!({"type": "once", "at": "2026-11-21T14:30"}), "once on Saturday 21 November at 14:30"),
        (json!({"type": "once", "runAt": "in 10 minutes"}), "once on Friday 20 November at 14:40"),
    ];
    for (object, wanted) in objects {
        let shown = shown(&object, None);
        assert_eq!(shown.split(" | ").next().unwrap(), wanted, "{object}");
    }
    // In another zone: seven in the morning in Tokyo.
    let tokyo = shown(&json!("0 7 * * *"), Some("asia/tokyo"));
    assert_eq!(tokyo, "every day at 07:00 (Asia/Tokyo) | Fri 20.11. 23:00:00 | Sat 21.11. 23:00:00");
    let once = shown(&json!("2026-11-21T07:00"), Some("Asia/Tokyo"));
    assert_eq!(once, "once on Saturday 21 November at 07:00 (Asia/Tokyo) | Fri 20.11. 23:00:00");
}

#[test]
fn what_is_no_schedule_is_refused() {
    let long = "x".repeat(300);
    for (schedule, word) in [
        (json!(""), "not a schedule"),
        (json!("soon"), "not a schedule"),
        (json!("every"), "not a schedule"),
        (json!("every now and then"), "not a duration"),
        (json!("every day"), "at what time"),
        (json!("every day at dawn"), "not a time of day"),
        (json!("every day at 7:00 and 8:30"), "different minutes"),
        (json!("every morning"), "at what time"),
        (json!("every 100 ms"), "shorter than a second"),
        (json!("every 0 seconds"), "not a duration"),
        (json!("every -5 minutes"), "not a duration"),
        (json!("every month"), "vary in length"),
        (json!("every 99999999999999999999 hours"), "not a duration"),
        (json!("every 20000 days"), "ten years"),
        (json!("PT0S"), "not a duration"),
        (json!("P1Y"), "vary in length"),
        (json!("in the evening"), "not a duration"),
        (json!("in 10000 weeks and 9999999 days"), "not a duration"),
        (json!("in 50000 days"), "a century"),
        (json!("today"), "not a time of day"),
        (json!("today at 9:00"), "has passed"),
        (json!("2026-11-20"), "at what time"),
        (json!("2026-11-20T14:30"), "has passed"),
        (json!("2019-01-01T00:00"), "has passed"),
        (json!("9998-12-31T00:00"), "a century"),
        (json!("9999-12-31T23:59"), "not a schedule"),
        (json!("0 0 30 2 *"), "never occurs"),
        (json!("0 7 * * * * *"), "not a cron pattern"),
        (json!("@reboot"), "not a cron pattern"),
        (json!(long), "too long"),
        (json!(7), "must be a text"),
        (json!(null), "must be a text"),
        (json!([]), "must be a text"),
        (json!({}), "needs a `type`"),
        (json!({"type": "cron"}), "`expression`"),
        (json!({"type": "interval"}), "one interval"),
        (json!({"type": "interval", "minutes": 1e300}), "ten years"),
        (json!({"type": "interval", "seconds": -4}), "shorter"),
        (json!({"type": "interval", "minutes": 1, "every": "1 h"}), "one interval"),
        (json!({"type": "once"}), "its moment"),
        (json!({"type": "once", "at": "every 5 minutes"}), "one moment"),
        (json!({"type": "cron", "expression": "0 7 * * *", "timezone": "Mars/Base"}), "not a time zone"),
    ] {
        let error = read(&schedule).unwrap_err();
        assert!(matches!(&error, Error::BadArgs(text) if text.contains(word)), "{schedule}: {error}");
    }
    assert!(parse(&json!("0 7 * * *"), Some("Vienna"), &clock()).unwrap_err().message().contains("Europe/Vienna"));
}

#[test]
fn the_latest_of_many_moments_is_found() {
    let clock = clock();
    let (zone, until) = (clock.zone(), clock.now().as_millisecond());
    let year = 366 * 86_400_000_i64;
    for (text, latest) in [
        ("* * * * * *", "2026-11-20T13:30:00Z"),
        ("*/15 * * * *", "2026-11-20T13:30:00Z"),
        ("0 7 * * *", "2026-11-20T06:00:00Z"),
        ("31 14 * * *", "2026-11-19T13:31:00Z"),
        ("* * * 1 1 *", "2026-01-01T22:59:59Z"),
        ("0 9 29 2 *", "2024-02-29T08:00:00Z"),
    ] {
        let Ok(expression) = Pattern::read(text).map(|_| text) else { continue };
        let work = Recurrence::Cron { expression: expression.into(), zone: None }.compile(&zone).unwrap();
        let first = work.next_after(until - 3 * year).unwrap();
        let found = Timestamp::from_millisecond(work.latest(first, until)).unwrap();
        assert_eq!(found.to_string(), latest, "{text}");
        assert_eq!(work.latest(first, first), first, "{text}");
    }
    let every = CompiledRecurrence::Every { ms: 1000, anchor: until - year };
    assert_eq!(every.latest(until - year + 1000, until + 999), until);
    assert_eq!((every.count(until - 2000, until), every.count(until - year, until)), (3, COUNTED));
    assert_eq!(CompiledRecurrence::Every { ms: i64::MAX, anchor: i64::MIN }.next_after(i64::MAX), None);
}

/// Patterns people might write, and the zones with the oddest clocks.
fn patterns() -> impl Strategy<Value = (String, &'static str)> {
    let minute = prop_oneof![
        Just("*".to_owned()),
        (0..60u8).prop_map(|m| m.to_string()),
        Just("*/15".into()),
        Just("0,30".into())
    ];
    let hour = prop_oneof![
        Just("*".to_owned()),
        (0..24u8).prop_map(|h| h.to_string()),
        Just("1-3".into()),
        Just("*/2".into())
    ];
    let day = prop_oneof![Just("*".to_owned()), (1..29u8).prop_map(|d| d.to_string()), Just("L".into())];
    let month = prop_oneof![Just("*".to_owned()), (1..13u8).prop_map(|m| m.to_string())];
    let weekday =
        prop_oneof![Just("*".to_owned()), (0..7u8).prop_map(|d| d.to_string()), Just("1-5".into()), Just("0#L".into())];
    let zone = prop_oneof![
        Just("Europe/Vienna"),
        Just("Australia/Lord_Howe"),
        Just("America/New_York"),
        Just("Pacific/Apia"),
        Just("Africa/Casablanca"),
        Just("Asia/Kathmandu"),
        Just("UTC"),
    ];
    ((minute, hour, day, month, weekday), zone)
        .prop_map(|((m, h, d, mo, w), zone)| (format!("{m} {h} {d} {mo} {w}"), zone))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The next due time is later, matches the pattern or follows a gap, and no match before it is left out.
    #[test]
    fn the_next_moment_is_the_first_of_the_pattern((expression, zone) in patterns(), at in 1_262_304_000i64..2_524_608_000) {
        let zone = TimeZone::get(zone).unwrap();
        let pattern = Pattern::read(&expression).unwrap();
        let every_hour = pattern.fields().hours.values().len() == 24;
        let after = Timestamp::from_second(at).unwrap();
        let next = pattern.next_after(after, &zone).unwrap();
        prop_assert!(next > after);
        prop_assert!(pattern.next_after(next, &zone).unwrap() > next);
        let fits = |at: Timestamp| {
            let wall = at.to_zoned(zone.clone());
            let (of, weekday) = (pattern.fields(), wall.weekday().to_sunday_zero_offset() as u32);
            of.minutes.values().contains(&(wall.minute() as u16)) && of.hours.values().contains(&(wall.hour() as u16))
                && of.months.values().contains(&(wall.month() as u16)) && wall.second() == 0
                && of.day_match(i32::from(wall.year()), wall.month() as u32, wall.day() as u32,
                                croner::Weekday::from_days_from_sunday(weekday)).unwrap()
        };
        let behind_gap = zone.preceding(next + SignedDuration::from_secs(1)).next().is_some_and(|t| t.timestamp() == next);
        prop_assert!(fits(next) || (!every_hour && behind_gap), "{next} does not fit {expression}");
        // Minute by minute up to the next moment, for three days at most.
        let mut look = after.as_second().div_euclid(60) * 60 + 60;
        let until = next.as_second().min(look + 3 * 86_400);
        while look < until {
            let moment = Timestamp::from_second(look).unwrap();
            if fits(moment) {
                // Only the second occurrence of a wall-clock time may be skipped.
                let wall = moment.to_zoned(zone.clone()).datetime();
                let first = zone.to_ambiguous_zoned(wall).earlier().unwrap().timestamp();
                prop_assert!(!every_hour && first < moment, "{expression} passed over {moment}");
            }
            look += 60;
        }
    }

    /// Due times are monotonic: a later moment never has an earlier next one.
    #[test]
    fn later_moments_have_later_next_ones((expression, zone) in patterns(), at in 1_262_304_000i64..2_524_608_000, more in 1i64..90_000_000) {
        let zone = TimeZone::get(zone).unwrap();
        let pattern = Pattern::read(&expression).unwrap();
        let (a, b) = (Timestamp::from_second(at).unwrap(), Timestamp::from_second(at + more).unwrap());
        let (first, second) = (pattern.next_after(a, &zone).unwrap(), pattern.next_after(b, &zone).unwrap());
        prop_assert!(first <= second);
        prop_assert!(first > b || second >= first);
    }

    #[test]
    fn intervals_stay_on_their_grid(ms in 1000i64..FARTHEST, anchor in 0i64..4_000_000_000_000, passed in 0i64..1_000_000_000_000) {
        let work = CompiledRecurrence::Every { ms, anchor };
        let next = work.next_after(anchor + passed).unwrap();
        prop_assert!(next > anchor + passed && next - anchor - passed <= ms && (next - anchor) % ms == 0);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC*") {
        let _ = read(&json!(text));
        let _ = read(&json!(format!("every {text}")));
        let _ = read(&json!(format!("in {text}")));
        let _ = parse(&json!("0 7 * * *"), Some(&text), &clock());
    }

    #[test]
    fn no_fields_break_the_reader(text in "[0-9*,/#LW?+@a-z -]{0,40}", kind in "cron|interval|once", n in any::<f64>()) {
        let _ = read(&json!(text));
        let _ = read(&json!({"type": kind, "expression": text, "every": text, "at": text}));
        let _ = read(&json!({"type": "interval", "seconds": n}));
    }
}
