//! Reads the length of a timer: `PT10M`, `10 minutes`, `1h 30m`.

use super::millis;
use jiff::{Span, SpanRelativeTo};
use tool::{Error, Result};

/// A length in milliseconds.
///
/// # Errors
/// `BadArgs` if the text is no duration, or not a positive one.
pub fn read(text: &str) -> Result<i64> {
    match read_signed(text)? {
        ms @ 1.. => Ok(ms),
        _ => Err(Error::bad_args("the duration is not positive: write it as PT10M or `10 minutes`")),
    }
}

/// A length in milliseconds, negative after a minus sign; never zero.
///
/// # Errors
/// `BadArgs` if the text is no duration.
pub fn read_signed(text: &str) -> Result<i64> {
    parse(text).ok_or_else(|| {
        let text: String = text.trim().chars().take(64).collect();
        Error::bad_args(format!("`{text}` is no duration: write it as PT10M or `10 minutes`"))
    })
}

/// A length in milliseconds, if the text is one.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim().to_lowercase();
    let (text, sign) = match text.strip_prefix(['-', '\u{2212}']).or_else(|| text.strip_prefix("minus ")) {
        Some(rest) => (rest.trim_start(), -1),
        None => (text.strip_prefix('+').unwrap_or(&text), 1),
    };
    // Some write PT-5M.
    let (text, sign) = match text.strip_prefix("pt-") {
        Some(rest) => (format!("pt{rest}"), -sign),
        None => (text.to_owned(), sign),
    };
    // "10-minute" is ten minutes; the signs inside of ISO durations stay.
    let iso = text.starts_with('p');
    let text = if iso { text } else { text.replace('-', " ").replace(" and ", " ") };
    let text = match text.split_once(' ') {
        Some(("a" | "an" | "one", rest)) => format!("1 {rest}"),
        _ => text,
    };
    if !iso && !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let span: Span = text.parse().ok()?;
    if span.get_months() != 0 || span.get_years() != 0 {
        return None;
    }
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    millis(length)?.checked_mul(sign).filter(|ms| *ms != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_models_and_people_write_them() {
        let rows = [
            ("PT10M", Some(600_000)),
            ("pt1h30m", Some(5_400_000)),
            ("PT90S", Some(90_000)),
            ("P1D", Some(86_400_000)),
            ("10 minutes", Some(600_000)),
            ("10 minute", Some(600_000)),
            ("10-minute", Some(600_000)),
            ("10 min", Some(600_000)),
            ("an hour", Some(3_600_000)),
            ("1 hour and 30 minutes", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("1.5 hours", Some(5_400_000)),
            ("-PT5M", Some(-300_000)),
            ("PT-5M", Some(-300_000)),
            ("- 5 minutes", Some(-300_000)),
            ("minus 5 minutes", Some(-300_000)),
            ("+PT5M", Some(300_000)),
            ("PT0S", None),
            ("10", None),
            ("P1M", None),
            ("P1Y", None),
            ("", None),
            ("pizza", None),
            ("P99999999999999999999D", None),
        ];
        for (text, wanted) in rows {
            assert_eq!(parse(text), wanted, "{text}");
        }
        assert!(read("-PT5M").unwrap_err().message().contains("not positive"));
        assert!(read("soon").unwrap_err().message().contains("`soon` is no duration"));
    }
}
