//! The formats of texts, which drafts before 2019-09 check.

use std::net::{Ipv4Addr, Ipv6Addr};
use url::Url;

/// Whether a text is of a format; unknown formats fit.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "time" => is_time(text),
        "date-time" => {
            let parts = (text.get(..10), text.get(10..11), text.get(11..));
            matches!(parts, (Some(date), Some("T" | "t"), Some(time)) if is_date(date) && is_time(time))
        }
        "email" => text.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && !host.is_empty() && !host.contains('@') && !text.contains(char::is_whitespace)
        }),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "regex" => jsonschema_regex::is_valid_ecma_regex(text),
        "uri" => Url::parse(text).is_ok(),
        _ => true,
    }
}

/// `2026-11-20`, a day that exists.
fn is_date(text: &str) -> bool {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else { return false };
    let shape = text
        .bytes()
        .enumerate()
        .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        1..=12 => 31,
        _ => 0,
    };
    shape && text.len() == 10 && (1..=days).contains(&day)
}

/// `14:30:00Z`, `14:30:00.5+02:00`.
fn is_time(text: &str) -> bool {
    let clock = |text: &str, limits: &[u32]| {
        let parts: Vec<&str> = text.split(':').collect();
        let fits = |(part, limit): (&&str, &u32)| {
            part.len() == 2
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse::<u32>().is_ok_and(|n| n <= *limit)
        };
        parts.len() == limits.len() && parts.iter().zip(limits).all(fits)
    };
    let Some((time, rest)) = text.split_at_checked(8) else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(fraction) => {
            let offset = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if offset.len() == fraction.len() {
                return false;
            }
            offset
        }
        None => rest,
    };
    let zone =
        matches!(offset, "Z" | "z") || offset.strip_prefix(['+', '-']).is_some_and(|zone| clock(zone, &[23, 59]));
    zone && clock(time, &[23, 59, 60])
}
