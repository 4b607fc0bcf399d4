//! Words for people: times, lists, names and counts within sentences, and records as results.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use store::{Audience, Entry};
use text_kit::{day_words, join_and, moment_words, truncate};
use tool::{
    Cx, When,
    prelude::{Value, json},
};

/// How many items of a list a sentence names.
const LISTED: usize = 5;
/// The longest name in a sentence, in characters.
const NAME: usize = 80;

/// A record as it is answered: `fields` with its id, whether it is shared, and when it was made and changed.
pub fn view<T>(cx: &Cx, entry: &Entry<T>, mut fields: Value) -> Value {
    let zone = cx.ports().clock.zone();
    let time = |ms: u64| iso(i64::try_from(ms).unwrap_or(0), &zone);
    fields["id"] = json!(entry.id);
    fields["shared"] = json!(entry.audience == Audience::Household);
    fields["createdAt"] = time(entry.id.millis()).into();
    fields["updatedAt"] = time(entry.updated_ms).into();
    if let Some(name) = names_owner(cx, entry) {
        fields["sharedBy"] = name.into();
    }
    fields
}

/// The name of the person a record belongs to, where that is not the caller.
pub fn names_owner<T>(cx: &Cx, entry: &Entry<T>) -> Option<String> {
    let name = || cx.ports().people.name_of(entry.owner).unwrap_or_else(|| "somebody else".into());
    (entry.owner != cx.user()).then(name)
}

/// A stored day or time as it is answered, in the household's zone: `2026-11-20`, `2026-11-20T14:30:00+01:00`.
pub fn local_text(cx: &Cx, when: &When) -> String {
    match when {
        When::Day(_) => when.to_string(),
        When::At(at) => When::At(at.with_time_zone(cx.ports().clock.zone())).to_string(),
    }
}

/// Milliseconds since 1970 as ISO 8601 with the offset of `zone`: `2026-11-20T14:30:00+01:00`.
pub fn iso(millis: i64, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    When::At(at.to_zoned(zone.clone())).to_string()
}

/// A name within a sentence: `“buy milk”`.
pub fn quote(name: &str) -> String {
    format!("“{}”", truncate(name, NAME))
}

/// A list within a sentence: `milk, eggs and bread`, `milk, eggs, bread, tea, rice and 3 more`. With `more`, further items
/// exist and are not counted.
pub fn join_list(names: &[String], more: bool) -> String {
    let named: Vec<String> = names.iter().take(LISTED).map(|name| truncate(name, NAME)).collect();
    let rest = match names.len().saturating_sub(LISTED) {
        _ if more => Some("more".to_owned()),
        0 => None,
        n => Some(format!("{n} more")),
    };
    let all: Vec<String> = named.into_iter().chain(rest).collect();
    join_and(&all)
}

/// A day or a moment as people say it, in the zone of `now`: `tomorrow`, `on Friday at 15:00`.
pub fn when_words(when: &When, now: &Zoned) -> String {
    match when {
        When::Day(day) => day_words(*day, now.date()),
        When::At(at) => moment_words(at, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_people_do() {
        let now: Zoned = "2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap();
        for (text, said) in [
            ("2026-11-20", "today"),
            ("2026-11-26", "on Thursday"),
            ("2026-11-27", "on Friday 27 November"),
            ("9998-12-31", "on 31 December 9998"),
            ("2026-11-21T15:00", "tomorrow at 15:00"),
            ("2026-11-20T23:30:00Z", "tomorrow at 00:30"),
            ("2026-11-20T09:00:00+09:00[Asia/Tokyo]", "today at 01:00"),
        ] {
            let when = When::read(text, now.time_zone()).unwrap();
            assert_eq!(when_words(&when, &now), said, "{text}");
        }
    }

    #[test]
    fn lists_name_the_first_and_count_the_rest() {
        let names = |n: usize| (1..=n).map(|n| format!("n{n}")).collect::<Vec<_>>();
        for (n, more, said) in [
            (0, false, ""),
            (1, false, "n1"),
            (2, false, "n1 and n2"),
            (5, false, "n1, n2, n3, n4 and n5"),
            (8, false, "n1, n2, n3, n4, n5 and 3 more"),
            (1, true, "n1 and more"),
            (20, true, "n1, n2, n3, n4, n5 and more"),
        ] {
            assert_eq!(join_list(&names(n), more), said, "{n} {more}");
        }
        assert_eq!(quote(&"x".repeat(100)).chars().count(), NAME + 3);
    }

    #[test]
    fn moments_are_told_in_the_zone_of_the_household() {
        let vienna = TimeZone::get("Europe/Vienna").unwrap();
        assert_eq!(iso(0, &vienna), "1970-01-01T01:00:00+01:00");
        assert_eq!(iso(i64::MAX, &vienna), "1970-01-01T01:00:00+01:00");
    }
}
