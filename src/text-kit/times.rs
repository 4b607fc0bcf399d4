//! Days, times and lengths of time as people say them: "today at 18:00", "on Tuesday 1 December", "1 hour and 30 minutes".

use crate::{counted, join_and};
use jiff::{
    Zoned,
    civil::{Date, Time, Weekday},
};

/// How many days around today need no year.
const NEAR: std::ops::RangeInclusive<i32> = -60..=300;
/// The units of a length of time in seconds, the largest first.
const UNITS: [(i64, &str); 4] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];

/// A time of day: `18:00`. Seconds are not worth a word.
pub fn clock_words(time: Time) -> String {
    time.strftime("%H:%M").to_string()
}

/// A date with its weekday: `Tuesday 1 December`; of another year, unless it is near, without: `3 December 2029`.
pub fn date_words(day: Date, today: Date) -> String {
    if day.year() == today.year() || NEAR.contains(&days_between(today, day)) {
        day.strftime("%A %-d %B").to_string()
    } else {
        day.strftime("%-d %B %Y").to_string()
    }
}

/// A day as it is named, without "on": `today`, `tomorrow`, `Friday` (the next six days), `Tuesday 1 December`.
pub fn day_name(day: Date, today: Date) -> String {
    match days_between(today, day) {
        -1 => "yesterday".into(),
        0 => "today".into(),
        1 => "tomorrow".into(),
        2..=6 => day.strftime("%A").to_string(),
        _ => date_words(day, today),
    }
}

/// A day in a sentence: `today`, `tomorrow`, `on Friday`, `on Tuesday 1 December`.
pub fn day_words(day: Date, today: Date) -> String {
    let on = if (-1..=1).contains(&days_between(today, day)) { "" } else { "on " };
    format!("{on}{}", day_name(day, today))
}

/// A moment in a sentence, in the zone of `now`: `tomorrow at 15:00`, `on Friday at 09:00`.
pub fn moment_words(at: &Zoned, now: &Zoned) -> String {
    let at = at.with_time_zone(now.time_zone().clone());
    format!("{} at {}", day_words(at.date(), now.date()), clock_words(at.time()))
}

/// Some days in a sentence: `today`, `this week`, `in November`, `in 2025`, `from Monday to Tuesday 1 December`.
pub fn days_words(from: Date, to: Date, today: Date) -> String {
    let whole_month = from.day() == 1 && from.last_of_month() == to;
    let whole_year = from.day_of_year() == 1 && from.last_of_year() == to;
    if from.weekday() == Weekday::Monday && days_between(from, to) == 6 {
        // The days since Monday are 0 to 6.
        let passed = i32::from(today.weekday().to_monday_zero_offset());
        match days_between(today, from) + passed {
            -7 => return "last week".into(),
            0 => return "this week".into(),
            7 => return "next week".into(),
            _ => {}
        }
    }
    match (from == to, whole_month, whole_year) {
        (true, ..) => day_words(from, today),
        (_, true, _) if today.first_of_month() == from => "this month".into(),
        (_, true, _) if from.year() == today.year() || NEAR.contains(&days_between(today, from)) => {
            from.strftime("in %B").to_string()
        }
        (_, true, _) => from.strftime("in %B %Y").to_string(),
        (.., true) if from.year() == today.year() => "this year".into(),
        (.., true) => format!("in {}", from.year()),
        _ => format!("from {} to {}", day_name(from, today), day_name(to, today)),
    }
}

/// A length of time: `1 hour and 30 minutes`, `24 hours`, `3 days`.
pub fn duration_words(seconds: i64) -> String {
    let mut rest = seconds.max(0);
    // A day and some hours are given in hours.
    let units = if rest % 86_400 == 0 && rest > 86_400 { &UNITS[..] } else { &UNITS[1..] };
    let mut words = vec![];
    for (length, unit) in units {
        let n = rest / length;
        rest %= length;
        if n > 0 {
            words.push(counted(n, unit));
        }
    }
    if words.is_empty() { counted(0, "second") } else { join_and(&words) }
}

/// A length of time in its largest suitable unit: `1 minute`, `5 hours`, `12 days`.
pub fn rough_duration_words(seconds: i64) -> String {
    match seconds {
        ..120 => counted(1, "minute"),
        120..7200 => counted(seconds / 60, "minute"),
        7200..172_800 => counted(seconds / 3600, "hour"),
        _ => counted(seconds / 86_400, "day"),
    }
}

fn days_between(today: Date, day: Date) -> i32 {
    day.since(today).map_or(i32::MAX, |span| span.get_days())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_people_name_them() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (day, words) in [
            ("2026-11-20", "today"),
            ("2026-11-21", "tomorrow"),
            ("2026-11-19", "yesterday"),
            ("2026-11-18", "on Wednesday 18 November"),
            ("2026-11-26", "on Thursday"),
            ("2026-11-27", "on Friday 27 November"),
            ("2026-12-01", "on Tuesday 1 December"),
            ("2026-01-05", "on Monday 5 January"),
            ("2027-02-03", "on Wednesday 3 February"),
            ("2027-11-20", "on 20 November 2027"),
            ("2025-11-20", "on 20 November 2025"),
            ("9998-12-31", "on 31 December 9998"),
        ] {
            assert_eq!(day_words(day.parse().unwrap(), now.date()), words, "{day}");
        }
        let new_year: Date = "2027-01-05".parse().unwrap();
        assert_eq!(day_words("2026-12-24".parse().unwrap(), new_year), "on Thursday 24 December");
        for (at, words) in [
            ("2026-11-20T18:00:59+01:00[Europe/Vienna]", "today at 18:00"),
            ("2026-11-20T23:30:00+00:00[UTC]", "tomorrow at 00:30"),
            ("2026-11-20T09:00:00+09:00[Asia/Tokyo]", "today at 01:00"),
            ("2026-12-01T09:00:00+01:00[Europe/Vienna]", "on Tuesday 1 December at 09:00"),
        ] {
            assert_eq!(moment_words(&at.parse().unwrap(), &now), words, "{at}");
        }
    }

    #[test]
    fn stretches_of_days_are_named() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        for (from, to, words) in [
            ("2026-11-20", "2026-11-20", "today"),
            ("2026-11-16", "2026-11-22", "this week"),
            ("2026-11-23", "2026-11-29", "next week"),
            ("2026-11-09", "2026-11-15", "last week"),
            ("2026-11-30", "2026-12-06", "from Monday 30 November to Sunday 6 December"),
            ("2026-11-01", "2026-11-30", "this month"),
            ("2026-10-01", "2026-10-31", "in October"),
            ("2027-03-01", "2027-03-31", "in March"),
            ("2025-03-01", "2025-03-31", "in March 2025"),
            ("2026-01-01", "2026-12-31", "this year"),
            ("2025-01-01", "2025-12-31", "in 2025"),
            ("2026-11-21", "2026-11-24", "from tomorrow to Tuesday"),
        ] {
            assert_eq!(days_words(date(from), date(to), date("2026-11-20")), words, "{from} {to}");
        }
        let monday = date("2026-11-23");
        assert_eq!(days_words(monday, date("2026-11-29"), monday), "this week");
    }

    #[test]
    fn lengths_are_said_as_people_say_them() {
        for (seconds, words) in [
            (-5, "0 seconds"),
            (0, "0 seconds"),
            (1, "1 second"),
            (60, "1 minute"),
            (90, "1 minute and 30 seconds"),
            (180, "3 minutes"),
            (3600, "1 hour"),
            (5400, "1 hour and 30 minutes"),
            (3661, "1 hour, 1 minute and 1 second"),
            (86_400, "24 hours"),
            (90_000, "25 hours"),
            (172_800, "2 days"),
        ] {
            assert_eq!(duration_words(seconds), words);
        }
        for (seconds, words) in
            [(5, "1 minute"), (150, "2 minutes"), (7200, "2 hours"), (172_800, "2 days"), (8_640_000, "100 days")]
        {
            assert_eq!(rough_duration_words(seconds), words);
        }
    }
}
