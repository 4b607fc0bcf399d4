//! Times of day as people write them.

use jiff::civil;
use tool::Error;

/// `7:00`, `19:30:15`, `7pm`, `7.30 pm`, `noon`, `midnight`, and a bare hour.
pub(super) fn time_of_day(text: &str) -> Option<civil::Time> {
    let text = text.trim();
    match text {
        "noon" => return civil::Time::new(12, 0, 0, 0).ok(),
        "midnight" => return Some(civil::Time::midnight()),
        _ => {}
    }
    let (digits, half) = match text.strip_suffix('m').and_then(|t| t.chars().last().zip(Some(t))) {
        Some(('a', rest)) => (rest.strip_suffix('a')?.trim_end(), Some(0)),
        Some(('p', rest)) => (rest.strip_suffix('p')?.trim_end(), Some(12)),
        _ => (text, None),
    };
    let parts: Vec<i8> = digits
        .split([':', '.'])
        .map(|part| part.parse().ok().filter(|_| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit())))
        .collect::<Option<_>>()?;
    let (hour, minute, second) = match parts.as_slice() {
        [hour] => (*hour, 0, 0),
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) => hour % 12 + half,
        None => hour,
    };
    civil::Time::new(hour, minute, second, 0).ok()
}

/// The error for a text that is no time of day.
pub(super) fn no_time(text: &str) -> Error {
    let text: String = text.trim().chars().take(40).collect();
    Error::bad_args(format!("`{text}` is not a time of day: write it as 07:00 or 7pm"))
}
