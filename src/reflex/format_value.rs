//! Formats argument values for people: "tomorrow at 19:00", "every Monday at 08:00", "the 3rd of May".

use jiff::{Zoned, civil::Date, civil::DateTime};
use serde_json::Value;
use text_kit::{clock_words, day_words, join_and, truncate};

/// Maximum length of a quoted text.
const MOST: usize = 200;

/// A value in words; `None` for an empty one.
pub(crate) fn format_value(value: &Value, now: &Zoned) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => format_text(text, now),
        Value::Number(number) => number.to_string(),
        Value::Array(all) => all.iter().filter_map(|value| format_value(value, now)).collect::<Vec<_>>().join(", "),
        Value::Object(map) => match ["title", "name", "content"].iter().find_map(|key| map.get(*key)?.as_str()) {
            Some(name) => truncate(name, MOST),
            None => map.values().filter_map(|value| format_value(value, now)).collect::<Vec<_>>().join(", "),
        },
    })
}

fn format_text(text: &str, now: &Zoned) -> String {
    if text.len() == 10
        && let Ok(day) = text.parse::<Date>()
    {
        return day_words(day, now.date());
    }
    if text.len() > 15
        && text.as_bytes()[10] == b'T'
        && let Ok(moment) = text.parse::<DateTime>()
    {
        return format!("{} at {}", day_words(moment.date(), now.date()), clock_words(moment.time()));
    }
    if let Some(length) = length(text) {
        return length;
    }
    if let Some(day) = text.strip_prefix("--").and_then(|day| format!("2028-{day}").parse::<Date>().ok()) {
        return day.strftime("%-d %B").to_string();
    }
    // The schedule itself, once it is stored, says the same.
    if let Some(again) = scheduler::pattern_in_words(text) {
        return again;
    }
    truncate(text, MOST)
}

/// A length of time such as `PT1H30M`: "1 hour and 30 minutes"; of a negative one "minus 5 minutes".
fn length(text: &str) -> Option<String> {
    let (less, length) = text.strip_prefix('-').map_or(("", text), |length| ("minus ", length));
    let span = length.starts_with('P').then(|| length.parse::<jiff::Span>().ok())??;
    let units = [
        (i64::from(span.get_months()), "month"),
        (i64::from(span.get_days()), "day"),
        (i64::from(span.get_hours()), "hour"),
        (span.get_minutes(), "minute"),
        (span.get_seconds(), "second"),
    ];
    let all: Vec<String> = units
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, one)| text_kit::counted(n.unsigned_abs() as usize, one))
        .collect();
    (!all.is_empty()).then(|| format!("{less}{}", join_and(&all)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_told_in_words() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (value, wanted) in [
            (json!("2026-11-20T19:00"), "today at 19:00"),
            (json!("2026-11-21T09:00:30"), "tomorrow at 09:00"),
            (json!("2026-11-24"), "on Tuesday"),
            (json!("2027-01-02"), "on Saturday 2 January"),
            (json!("2030-01-02"), "on 2 January 2030"),
            (json!("30 6 * * 1-5"), "from Monday to Friday at 06:30"),
            (json!("0 8,20 * * *"), "every day at 08:00 and 20:00"),
            (json!("0 20 * * 1,4"), "every Monday and Thursday at 20:00"),
            (json!("0 9 1 * *"), "on the 1st of every month at 09:00"),
            (json!("0 9 24 12 *"), "every 24 December at 09:00"),
            (json!("0 * * * *"), "every hour"),
            (json!("every 2 hours"), "every 2 hours"),
            (json!("PT1H30M"), "1 hour and 30 minutes"),
            (json!("-PT5M"), "minus 5 minutes"),
            (json!("PT"), "PT"),
            (json!("Paul"), "Paul"),
            (json!("--03-12"), "12 March"),
            (json!("0 9 * * 1#1"), "every first Monday at 09:00"),
            (json!("buy milk and eggs please now"), "buy milk and eggs please now"),
            (json!(12.5), "12.5"),
            (json!(["a", "b"]), "a, b"),
            (json!([{"category": "shopping", "title": "milk"}, {"title": "eggs"}]), "milk, eggs"),
            (json!({"type": "once", "at": "2026-11-21"}), "tomorrow, once"),
            (json!("9999-99-99"), "9999-99-99"),
            (json!("ééééééééééTéééé"), "ééééééééééTéééé"),
        ] {
            assert_eq!(format_value(&value, &now).as_deref(), Some(wanted), "{value}");
        }
        assert_eq!(format_value(&Value::Null, &now), None);
        assert_eq!(format_value(&json!("é".repeat(5000)), &now).unwrap().chars().count(), MOST + 1);
    }
}
