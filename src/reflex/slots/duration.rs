//! Durations: "20 minutes", "an hour and a half", "2h 30min", "three weeks".

use super::number;
use crate::sentence::Sentence;
use jiff::Span;

/// A unit of time: fixed seconds, else calendar days or months.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Seconds(f64),
    Days(f64),
    Months(f64),
}

impl Unit {
    /// About how many days it has.
    fn days(self) -> f64 {
        match self {
            Unit::Seconds(n) => n / 86_400.0,
            Unit::Days(n) => n,
            Unit::Months(n) => n * 30.0,
        }
    }
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "second" | "seconds" | "sec" | "secs" | "s" => Unit::Seconds(1.0),
        "minute" | "minutes" | "min" | "mins" => Unit::Seconds(60.0),
        "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Seconds(3600.0),
        "day" | "days" => Unit::Days(1.0),
        "week" | "weeks" => Unit::Days(7.0),
        "fortnight" => Unit::Days(14.0),
        "month" | "months" => Unit::Months(1.0),
        "year" | "years" => Unit::Months(12.0),
        _ => return None,
    })
}

/// A duration at `at`: number of tokens and span; days, weeks and months stay calendar units.
pub(crate) fn duration(s: &Sentence, at: usize) -> Option<(usize, Span)> {
    let (mut count, mut seconds, mut days, mut months, mut smallest) = (0, 0.0, 0.0, 0.0, None);
    loop {
        let joint = usize::from(count > 0 && ["and", "n"].contains(&s.word(at + count)));
        let Some((taken, n, unit)) = part(s, at + count + joint) else { break };
        // "5 minutes and 10 minutes" are two lengths.
        if smallest.is_some_and(|smallest| unit.days() >= smallest) {
            break;
        }
        smallest = Some(unit.days());
        match unit {
            Unit::Seconds(each) => seconds += n * each,
            // Fractions of a day become hours; a month has no fixed length, so only whole ones count.
            Unit::Days(each) => {
                days += (n * each).trunc();
                seconds += (n * each).fract() * 86_400.0;
            }
            Unit::Months(each) if (n * each).fract() == 0.0 => months += n * each,
            Unit::Months(_) => break,
        }
        count += joint + taken;
    }
    let span = Span::new()
        .try_months(months as i64)
        .and_then(|s| s.try_days(days as i64))
        .and_then(|s| s.try_hours((seconds / 3600.0) as i64))
        .and_then(|s| s.try_minutes((seconds % 3600.0 / 60.0) as i64))
        .and_then(|s| s.try_seconds((seconds % 60.0).round() as i64));
    (count > 0).then_some(())?;
    Some((count, span.ok()?))
}

/// A duration in whole minutes, at least one; days have 24 hours here, and months are not allowed.
pub(crate) fn minutes(s: &Sentence, at: usize) -> Option<(usize, i64)> {
    let (count, span) = duration(s, at)?;
    let days = i64::from(span.get_days()).checked_mul(1440).filter(|_| span.get_months() == 0)?;
    let seconds = i64::from(span.get_hours()) * 3600 + span.get_minutes() * 60 + span.get_seconds();
    let minutes = days + (seconds + 30) / 60;
    (minutes > 0).then_some((count, minutes))
}

/// The rest of "2m30s" or "1h30m" after its first number: the seconds of its unit, and the seconds behind it.
fn split_units(word: &str) -> Option<(f64, f64)> {
    let (first, smaller, rest) = match word.split_at_checked(1)? {
        ("m", rest) => (60.0, 1.0, rest.strip_suffix('s').unwrap_or(rest)),
        ("h", rest) => (3600.0, 60.0, rest.strip_suffix("min").or_else(|| rest.strip_suffix('m'))?),
        _ => return None,
    };
    let n = rest.parse::<u8>().ok().filter(|n| *n < 60)?;
    Some((first, f64::from(n) * smaller))
}

/// One number and its unit, with "and a half" on either side of the unit.
fn part(s: &Sentence, at: usize) -> Option<(usize, f64, Unit)> {
    if s.has(at, &["half", "an", "hour"]) || s.has(at, &["half", "a", "day"]) {
        return Some((3, 0.5, unit(s.word(at + 2))?));
    }
    if s.has(at, &["a", "quarter", "of", "an", "hour"]) {
        return Some((5, 0.25, Unit::Seconds(3600.0)));
    }
    if s.has(at, &["three", "quarters", "of", "an", "hour"]) {
        return Some((5, 0.75, Unit::Seconds(3600.0)));
    }
    // "another minute" is one, and "another ten minutes" are ten.
    let another = usize::from(s.word(at) == "another");
    let amount = number::amount(s, at + another);
    let (mut count, mut n) = amount.or((another > 0).then_some((0, 1.0))).filter(|(_, n)| *n > 0.0 && *n < 1e6)?;
    count += another;
    // "four more minutes", "five extra minutes".
    count += usize::from(["more", "extra", "further", "additional"].contains(&s.word(at + count)));
    // "4h30" is one word after its hours.
    let minutes = s.word(at + count).strip_prefix('h').filter(|m| m.len() == 2).and_then(|m| m.parse::<u8>().ok());
    if let Some(minutes) = minutes.filter(|m| *m < 60) {
        return Some((count + 1, n + f64::from(minutes) / 60.0, Unit::Seconds(3600.0)));
    }
    // "2m30s" and "1h30m" are one word after their first number.
    if let Some((first, rest)) = split_units(s.word(at + count)) {
        return Some((count + 1, (n * first + rest) / 60.0, Unit::Seconds(60.0)));
    }
    if s.word(at + count) == "half" && s.word(at + count + 1) == "hours" {
        (count, n) = (count + 1, n + 0.5);
    }
    let unit = unit(s.word(at + count))?;
    count += 1;
    for (words, more) in [(["and", "a", "half"], 0.5), (["n", "a", "half"], 0.5), (["and", "a", "quarter"], 0.25)] {
        if s.has(at + count, &words) {
            return Some((count + 3, n + more, unit));
        }
    }
    Some((count, n, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, count, wanted) in [
            ("20 minutes", 2, "PT20M"),
            ("an hour and a half", 5, "PT1H30M"),
            ("half an hour", 3, "PT30M"),
            ("2h 30min", 4, "PT2H30M"),
            ("two and a half hours", 5, "PT2H30M"),
            ("1.5 hours", 2, "PT1H30M"),
            ("an hour and 5 minutes", 5, "PT1H5M"),
            ("three weeks", 2, "P21D"),
            ("a month", 2, "P1M"),
            ("2 years and 3 days", 5, "P24M3D"),
            ("a quarter of an hour", 5, "PT15M"),
            ("90 seconds", 2, "PT1M30S"),
            ("1/2 an hour", 5, "PT30M"),
            ("1/2 a minute", 5, "PT30S"),
            ("1 and a 1/2 hours", 7, "PT1H30M"),
            ("1 1/2 hours", 5, "PT1H30M"),
            ("one and a half hours", 5, "PT1H30M"),
            ("5 and a half minutes", 5, "PT5M30S"),
            ("half a minute", 3, "PT30S"),
            ("3/4 of an hour", 6, "PT45M"),
            ("4h30", 2, "PT4H30M"),
            ("five more minutes", 3, "PT5M"),
            ("another minute", 2, "PT1M"),
            ("another ten minutes", 3, "PT10M"),
            ("a couple of minutes", 4, "PT2M"),
            ("5 minutes and 10 minutes", 2, "PT5M"),
        ] {
            let (taken, span) = duration(&Sentence::read(text), 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((taken, span.to_string().as_str()), (count, wanted), "{text}");
        }
        for (text, wanted) in
            [("half an hour", Some(30)), ("2 hours", Some(120)), ("a day", Some(1440)), ("a month", None)]
        {
            assert_eq!(minutes(&Sentence::read(text), 0).map(|m| m.1), wanted, "{text}");
        }
        for text in [
            "20",
            "minutes",
            "a pound",
            "a pound of minutes",
            "",
            "0 minutes",
            "another",
            "another ten",
            "more minutes",
        ] {
            let got = duration(&Sentence::read(text), 0);
            assert!(got.is_none(), "{text}: {got:?}");
        }
    }
}
