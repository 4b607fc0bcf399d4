//! Due dates: read from arguments, stored as text with their beginning, and whether they have passed.

use crate::args::{millis, read_when};
use jiff::Zoned;
use tool::{Cx, Result, When};

/// A due date as records store it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// As [`When`] writes it.
    pub text: String,
    /// Its beginning, in milliseconds since 1970.
    pub ms: i64,
}

impl Due {
    /// Reads a `dueDate`; an empty text is none.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong and how to write it.
    pub fn read(cx: &Cx, text: Option<&str>) -> Result<Option<Self>> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        let when = read_when(cx, "dueDate", text)?;
        Ok(Some(Self { text: when.to_string(), ms: millis(&when, &cx.ports().clock.zone())? }))
    }
}

/// Whether a stored due date has passed. One that cannot be read has not.
pub fn is_past(cx: &Cx, due: Option<&str>) -> bool {
    let now = cx.ports().clock.local();
    due.and_then(|due| When::read(due, now.time_zone()).ok()).is_some_and(|due| has_passed(&due, &now))
}

/// A whole day has passed when the next begins, a moment right after it.
fn has_passed(due: &When, now: &Zoned) -> bool {
    match due {
        When::Day(day) => *day < now.date(),
        When::At(at) => at.timestamp() < now.timestamp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tool::{Channel, Error, FixedClock, Ports, Principal, Via};

    fn cx() -> Cx {
        let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
        Cx::root(Ports::unconnected(clock), Principal::owner(), Via::direct(Channel::Api))
    }

    #[test]
    fn a_due_date_is_read_kept_and_passes() {
        for (given, text, past) in [
            ("2026-11-20", "2026-11-20", false),
            ("2026-11-19", "2026-11-19", true),
            (" 2026-11-20T14:29 ", "2026-11-20T14:29:00+01:00", true),
            ("2026-11-20T14:30", "2026-11-20T14:30:00+01:00", false),
            ("2026-11-20T13:29:59Z", "2026-11-20T14:29:59+01:00", true),
            ("2026-11-20T23:00:00+09:00[Asia/Tokyo]", "2026-11-20T23:00:00+09:00", false),
            ("9998-12-31", "9998-12-31", false),
        ] {
            let due = Due::read(&cx(), Some(given)).unwrap().unwrap();
            assert_eq!((due.text.as_str(), is_past(&cx(), Some(&due.text))), (text, past), "{given}");
        }
        let day = Due::read(&cx(), Some("2026-11-20")).unwrap().unwrap();
        assert_eq!(day.ms, 1_795_129_200_000, "it begins with the day in the household's zone");
        assert!(!is_past(&cx(), None) && !is_past(&cx(), Some("soon")));
        for none in [None, Some(""), Some(" \n")] {
            assert_eq!(Due::read(&cx(), none).unwrap(), None);
        }
        for wrong in ["soon", "2026-13-01", "9999-12-31", &"x".repeat(100_000)] {
            let error = Due::read(&cx(), Some(wrong)).unwrap_err();
            assert!(
                matches!(&error, Error::BadArgs(why) if why.starts_with("the dueDate") && why.len() < 300),
                "{error}"
            );
        }
    }
}
