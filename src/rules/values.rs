//! Values in the forms people write them: durations, times of day, days, numbers.

use jiff::{SignedDuration, civil::Time};
use serde_json::Map;
use text_kit::{measure, truncate};
use tool::prelude::*;

/// The days of the week.
pub(crate) const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A list, or one value as a list.
pub(crate) fn as_list(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![],
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    }
}

pub(crate) fn rename(fields: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        move_field(fields, from, to);
    }
}

pub(crate) fn move_field(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.entry(to).or_insert(value);
    }
}

/// A field that is a text.
pub(crate) fn text_of(fields: &Map<String, Value>, name: &str) -> Result<String> {
    match fields.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(Error::bad_args(format!("`{name}` is missing"))),
    }
}

/// Makes a field a number, if it is there.
pub(crate) fn number(fields: &mut Map<String, Value>, name: &str) -> Result<()> {
    if let Some(Value::String(text)) = fields.get(name) {
        let number = measure(text).map_err(|why| Error::bad_args(format!("`{name}` {why}: {}", truncate(text, 40))))?;
        fields.insert(name.into(), json!(number));
    }
    Ok(())
}

/// Whether a pin is high, in words; a contact is open at high.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn level(word: &str) -> Result<bool> {
    match word.trim().to_lowercase().as_str() {
        "on" | "high" | "open" | "active" | "true" | "1" => Ok(true),
        "off" | "low" | "closed" | "inactive" | "false" | "0" => Ok(false),
        _ => Err(Error::bad_args(format!("`{}` is no state of a pin: say on or off", truncate(word, 40)))),
    }
}

/// Makes a field a number of seconds, if it is there.
pub(crate) fn seconds_in(fields: &mut Map<String, Value>, name: &str) -> Result<()> {
    if let Some(value) = fields.remove(name) {
        let seconds = seconds(&value)?;
        if seconds > 0 {
            fields.insert(name.into(), seconds.into());
        }
    }
    Ok(())
}

/// A duration in seconds: a number, "5 minutes", "PT5M", "00:05:00", or an object of hours, minutes and seconds.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn seconds(value: &Value) -> Result<u64> {
    let wrong = || {
        let shown = truncate(&value.to_string(), 40);
        Error::bad_args(format!("{shown} is no duration: write it as 300 (seconds), \"5 minutes\" or \"PT5M\""))
    };
    match value {
        Value::Number(n) => {
            n.as_f64().filter(|n| *n >= 0.0 && n.is_finite() && *n < 1e9).map(|n| n.ceil() as u64).ok_or_else(wrong)
        }
        Value::String(text) => {
            let text = text.trim();
            if let Ok(number) = text.parse::<u64>() {
                return Ok(number);
            }
            let parts: Vec<Option<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
            if let [Some(hours), Some(minutes), rest @ ..] = &parts[..]
                && let [] | [Some(_)] = rest
            {
                let more = rest.first().copied().flatten().unwrap_or_default();
                return Ok(hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60)).saturating_add(more));
            }
            let words = text.to_lowercase();
            let words = match words.strip_prefix("an ").or_else(|| words.strip_prefix("a ")) {
                Some(rest) => format!("1 {rest}"),
                None if words == "half an hour" => "30 minutes".to_owned(),
                None => words.replace(" and ", " "),
            };
            let read = words.parse::<SignedDuration>().or_else(|_| text.parse::<SignedDuration>());
            let read = read.ok().or_else(|| days_in(&words)).ok_or_else(wrong)?;
            u64::try_from(read.as_secs()).map_err(|_| wrong())
        }
        Value::Object(parts) => {
            let unit = |name: &str, seconds: u64| parts.get(name).and_then(Value::as_u64).unwrap_or_default() * seconds;
            let known = parts.keys().all(|name| ["days", "hours", "minutes", "seconds"].contains(&&**name));
            if !known || parts.values().any(|part| part.as_u64().is_none_or(|n| n > 1_000_000)) {
                return Err(wrong());
            }
            Ok(unit("days", 86_400) + unit("hours", 3600) + unit("minutes", 60) + unit("seconds", 1))
        }
        _ => Err(wrong()),
    }
}

fn days_in(words: &str) -> Option<SignedDuration> {
    let (number, unit) = words.split_once(' ')?;
    let days: i64 = number.parse().ok().filter(|days| *days < 1000)?;
    match unit.trim() {
        "day" | "days" => Some(SignedDuration::from_hours(24 * days)),
        "week" | "weeks" => Some(SignedDuration::from_hours(24 * 7 * days)),
        _ => None,
    }
}

/// A time of day: "22:00", "22:00:00", "10 pm", "10:30pm", "noon".
///
/// # Errors
/// `BadArgs`.
pub(crate) fn time_of_day(text: &str) -> Result<Time> {
    let plain = text.trim().to_lowercase().replace(' ', "");
    let wrong = || Error::bad_args(format!("`{}` is no time of day: write it as 22:00", truncate(text, 40)));
    match &*plain {
        "noon" | "midday" => return Ok(Time::constant(12, 0, 0, 0)),
        "midnight" => return Ok(Time::constant(0, 0, 0, 0)),
        _ => {}
    }
    let (digits, half) = match (plain.strip_suffix("am"), plain.strip_suffix("pm")) {
        (Some(rest), _) => (rest, Some(0)),
        (_, Some(rest)) => (rest, Some(12)),
        _ => (&*plain, None),
    };
    let mut parts = digits.split([':', '.']).map(str::parse::<i8>);
    let hour = parts.next().and_then(Result::ok).ok_or_else(wrong)?;
    let minute = match (parts.next(), half) {
        (Some(minute), _) => minute.map_err(|_| wrong())?,
        (None, Some(_)) => 0,
        (None, None) => return Err(wrong()),
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return Err(wrong()),
        Some(half) => hour % 12 + half,
        None if hour == 24 && minute == 0 => 0,
        None => hour,
    };
    Time::new(hour, minute, 0, 0).map_err(|_| wrong())
}

/// The days of a word: "monday", "mon", "weekdays", "weekend".
///
/// # Errors
/// `BadArgs`.
pub(crate) fn day(word: &str) -> Result<&'static [&'static str]> {
    let plain = word.trim().to_lowercase();
    match plain.trim_end_matches('s') {
        "weekday" | "workday" | "working day" => return Ok(&DAYS[..5]),
        "weekend" => return Ok(&DAYS[5..]),
        "every day" | "day" => return Ok(&DAYS),
        _ => {}
    }
    const NAMES: [&[&str]; 7] = [
        &["mon", "monday", "mo"],
        &["tue", "tuesday", "tu", "tues"],
        &["wed", "wednesday", "we", "weds"],
        &["thu", "thursday", "th", "thur", "thurs"],
        &["fri", "friday", "fr"],
        &["sat", "saturday", "sa"],
        &["sun", "sunday", "su"],
    ];
    let single = plain.strip_suffix('s').unwrap_or(&plain);
    match NAMES.iter().position(|names| names.contains(&&*plain) || names.contains(&single)) {
        Some(at) => Ok(&DAYS[at..=at]),
        None => {
            Err(Error::bad_args(format!("`{}` is no day: use mon to sun, weekdays or weekend", truncate(word, 40))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_times_and_days() {
        for (written, wanted) in [
            (json!(5), 5),
            (json!("90"), 90),
            (json!("5 minutes"), 300),
            (json!("PT5M"), 300),
            (json!("1 hour and 30 minutes"), 5400),
            (json!("an hour"), 3600),
            (json!("half an hour"), 1800),
            (json!("2 days"), 172_800),
            (json!("00:05"), 300),
            (json!("00:00:30"), 30),
            (json!({"minutes": 2, "seconds": 5}), 125),
        ] {
            assert_eq!(seconds(&written).unwrap(), wanted, "{written}");
        }
        for wrong in [json!("soon"), json!(-1), json!(1e20), json!([1]), json!({"years": 1}), json!("1:x")] {
            assert!(seconds(&wrong).is_err(), "{wrong}");
        }
        for (written, wanted) in [
            ("22:00", "22:00"),
            ("10 pm", "22:00"),
            ("10:30PM", "22:30"),
            ("12am", "00:00"),
            ("noon", "12:00"),
            ("6.05", "06:05"),
        ] {
            assert_eq!(time_of_day(written).unwrap().strftime("%H:%M").to_string(), wanted, "{written}");
        }
        for wrong in ["25:00", "22", "13pm", "", "x:1", "10:99"] {
            assert!(time_of_day(wrong).is_err(), "{wrong}");
        }
        assert_eq!(day("Tuesdays").unwrap(), ["tue"]);
        assert_eq!(day("sat").unwrap(), ["sat"]);
        assert_eq!(day("weekend").unwrap(), ["sat", "sun"]);
        assert_eq!((day("thurs").unwrap(), day("Mo").unwrap()), (&["thu"][..], &["mon"][..]));
        for wrong in ["someday", "m", "sunny", "month", "saturn", "wedding"] {
            assert!(day(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn levels_are_words() {
        assert_eq!((level("open"), level("Closed"), level("off")), (Ok(true), Ok(false), Ok(false)));
        assert!(level("ajar").is_err());
    }
}
