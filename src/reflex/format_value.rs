//! Formats argument values for people: "tomorrow at 19:00", "every Monday at 08:00", "the 3rd of May".

use jiff::{Zoned, civil::Date, civil::DateTime};
use serde_json::Value;
use text_kit::{join_and, truncate};

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
        Value::Object(_) => value.to_string().chars().take(MOST).collect(),
    })
}

fn format_text(text: &str, now: &Zoned) -> String {
    if text.len() == 10
        && let Ok(day) = text.parse::<Date>()
    {
        return on_day(day, now.date());
    }
    if text.len() > 15
        && text.as_bytes()[10] == b'T'
        && let Ok(moment) = text.parse::<DateTime>()
    {
        return format!("{} at {}", on_day(moment.date(), now.date()), moment.strftime("%H:%M"));
    }
    if let Some(again) = recurrence(text) {
        return again;
    }
    truncate(text, MOST)
}

fn on_day(day: Date, today: Date) -> String {
    let far = (day - today).get_days();
    match far {
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        -1 => "yesterday".to_owned(),
        _ if day.year() == today.year() || (0..300).contains(&far) => format!("on {}", day.strftime("%A, %-d %B")),
        _ => format!("on {}", day.strftime("%-d %B %Y")),
    }
}

/// Formats a recurrence made by `slots::every`.
fn recurrence(text: &str) -> Option<String> {
    let [minute, hour, day, month, weekday] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    if (minute, hour, day, month, weekday) == ("0", "*", "*", "*", "*") {
        return Some("every hour".to_owned());
    }
    let minute: u8 = minute.parse().ok()?;
    let hours: Vec<u8> = hour.split(',').map(|h| h.parse().ok()).collect::<Option<_>>()?;
    let times = hours.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect::<Vec<_>>();
    let days = match (day, month, weekday) {
        ("*", "*", "*") => "every day".to_owned(),
        ("*", "*", "1-5") => "on weekdays".to_owned(),
        ("*", "*", "0,6") => "at weekends".to_owned(),
        ("*", "*", days) => {
            let names = days.split(',').map(|d| WEEKDAYS.get(d.parse::<usize>().ok()?).copied());
            format!("every {}", join_and(&names.collect::<Option<Vec<_>>>()?))
        }
        ("L", "*", "*") => "on the last day of every month".to_owned(),
        (step, "*", "*") if step.starts_with("*/") => format!("every {} days", &step[2..]),
        (day, "*", "*") => format!("on day {} of every month", day.parse::<u8>().ok()?),
        (day, month, "*") => {
            let date = Date::new(2028, month.parse().ok()?, day.parse().ok()?).ok()?;
            format!("every year on {}", date.strftime("%-d %B"))
        }
        _ => return None,
    };
    Some(format!("{days} at {}", join_and(&times)))
}

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

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
            (json!("2026-11-24"), "on Tuesday, 24 November"),
            (json!("2027-01-02"), "on Saturday, 2 January"),
            (json!("2030-01-02"), "on 2 January 2030"),
            (json!("30 6 * * 1-5"), "on weekdays at 06:30"),
            (json!("0 8,20 * * *"), "every day at 08:00 and 20:00"),
            (json!("0 20 * * 1,4"), "every Monday and Thursday at 20:00"),
            (json!("0 9 1 * *"), "on day 1 of every month at 09:00"),
            (json!("0 9 24 12 *"), "every year on 24 December at 09:00"),
            (json!("0 * * * *"), "every hour"),
            (json!("every 2 hours"), "every 2 hours"),
            (json!("0 9 * * 1#1"), "0 9 * * 1#1"),
            (json!("buy milk and eggs please now"), "buy milk and eggs please now"),
            (json!(12.5), "12.5"),
            (json!(["a", "b"]), "a, b"),
            (json!("9999-99-99"), "9999-99-99"),
            (json!("ééééééééééTéééé"), "ééééééééééTéééé"),
        ] {
            assert_eq!(format_value(&value, &now).as_deref(), Some(wanted), "{value}");
        }
        assert_eq!(format_value(&Value::Null, &now), None);
        assert_eq!(format_value(&json!("é".repeat(5000)), &now).unwrap().chars().count(), MOST + 1);
    }
}
