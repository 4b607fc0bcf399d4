//! The difference between two dates.

use super::{Unit, both, moment, spoken, weekdays};
use crate::{
    maths::{grouped, spoken as short},
    statistics::number,
};
use jiff::{Span, Unit as Part, Zoned};
use text_kit::{clock_words, counted, date_words, join_and};
use tool::{When, prelude::*};

/// Compute the difference between two dates: in one unit, in whole units of each kind, and in words. Negative when
/// the second is earlier.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Diff {
    /// Start date: 2026-11-20, 2026-11-20T14:30, now, today, tomorrow or yesterday.
    date1: String,
    /// End date.
    date2: String,
    /// Unit of `value` (default: days).
    unit: Option<Unit>,
}

pub(crate) async fn diff(_: (), cx: Cx, args: Diff) -> Result<Output> {
    let (first, second) = (moment(&args.date1, &cx)?, moment(&args.date2, &cx)?);
    let unit = args.unit.unwrap_or(Unit::Days);
    let (a, b) = both(&first, &second, &cx)?;
    let value = value(&a, &b, unit)?;
    let words = words(&a, &b)?;
    let later = if b < a { format!("{words} earlier") } else { words.clone() };
    let length = length(&a, &b, value, unit, &words)?;
    let sentence = summary_sentence(&args.date1, (&first, &second), value, &length);
    let answer = json!({
        "date1": first.to_string(),
        "date2": second.to_string(),
        "value": number(value),
        "unit": unit.word(),
        "humanReadable": later,
        "years": whole(&a, &b, Part::Year)?,
        "months": whole(&a, &b, Part::Month)?,
        "weeks": whole(&a, &b, Part::Week)?,
        "days": whole(&a, &b, Part::Day)?,
        "weekdays": weekdays(a.date(), b.date()),
        "hours": whole(&a, &b, Part::Hour)?,
        "minutes": whole(&a, &b, Part::Minute)?,
        "seconds": whole(&a, &b, Part::Second)?,
    });
    Ok(Output::json(answer)?.say(sentence))
}

/// The number of units between, with a fraction.
fn value(a: &Zoned, b: &Zoned, unit: Unit) -> Result<f64> {
    let part = match unit {
        Unit::Years => Part::Year,
        Unit::Months => Part::Month,
        Unit::Weeks => Part::Week,
        Unit::Days => Part::Day,
        Unit::Hours => Part::Hour,
        Unit::Minutes => Part::Minute,
        Unit::Seconds => Part::Second,
        Unit::Weekdays => return Ok(weekdays(a.date(), b.date()) as f64),
    };
    let total = between(a, b, part)?.total((part, a)).map_err(beyond)?;
    Ok((total * 1e6).round() / 1e6)
}

/// The number of whole units between.
fn whole(a: &Zoned, b: &Zoned, part: Part) -> Result<i64> {
    let span = between(a, b, part)?;
    Ok(match part {
        // A year from 29 February ends on the 28th, although the span says 11 months and 30 days. At the end of the
        // calendar there is no next year to measure by.
        Part::Year => span.total((part, a)).map_or_else(|_| span.get_years().into(), |years| years.trunc() as i64),
        Part::Month => span.total((part, a)).map_or_else(|_| span.get_months().into(), |months| months.trunc() as i64),
        Part::Week => span.get_weeks().into(),
        Part::Day => span.get_days().into(),
        Part::Hour => span.get_hours().into(),
        Part::Minute => span.get_minutes(),
        _ => span.get_seconds(),
    })
}

fn between(a: &Zoned, b: &Zoned, largest: Part) -> Result<Span> {
    a.until((largest, b)).map_err(beyond)
}

fn beyond(_: jiff::Error) -> Error {
    Error::bad_args("these dates are too far apart: the calendar has the years -9999 to 9999")
}

/// The calendar difference without a sign: `2 months and 3 days`, or `5 hours and 30 minutes` below a day.
fn words(a: &Zoned, b: &Zoned) -> Result<String> {
    let (from, to) = if b < a { (b, a) } else { (a, b) };
    let span = between(from, to, Part::Year)?;
    let parts = [
        (i64::from(span.get_years()), "year"),
        (i64::from(span.get_months()), "month"),
        (i64::from(span.get_days()), "day"),
        (i64::from(span.get_hours()), "hour"),
        (span.get_minutes(), "minute"),
        (span.get_seconds(), "second"),
    ];
    let lengths: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| counted(*n, unit)).collect();
    Ok(if lengths.is_empty() { "no time".to_owned() } else { join_and(&lengths) })
}

/// The difference in the requested unit, or in smaller units if it has a fraction.
fn length(a: &Zoned, b: &Zoned, value: f64, unit: Unit, words: &str) -> Result<String> {
    let fraction = value.fract() != 0.0;
    let days = whole(a, b, Part::Day)?.unsigned_abs();
    Ok(match unit {
        Unit::Years | Unit::Months if fraction => words.to_owned(),
        Unit::Weeks if fraction && (value * 7.0 - (value * 7.0).round()).abs() < 1e-4 => match days / 7 {
            0 => counted(days, "day"),
            weeks => format!("{} and {}", counted(weeks, "week"), counted(days % 7, "day")),
        },
        Unit::Hours | Unit::Minutes if fraction && days == 0 => words.to_owned(),
        // While it contains no months.
        Unit::Days if fraction && days < 28 => words.to_owned(),
        _ => {
            let amount = grouped(&short(value.abs()));
            let one = amount == "1";
            format!("{amount} {}", if one { unit.word().trim_end_matches('s') } else { unit.word() })
        }
    })
}

fn summary_sentence(date1: &str, (first, second): (&When, &When), value: f64, length: &str) -> String {
    // Counted from today, the first day is today.
    let (day, today) = (second.day(), first.day());
    let other = match second {
        When::Day(_) => date_words(day, today),
        When::At(at) if day == today => clock_words(at.time()),
        When::At(at) => format!("{} at {}", date_words(day, today), clock_words(at.time())),
    };
    let is = if length.starts_with("1 ") { "is" } else { "are" };
    let from_now = ["now", "today"].contains(&date1.trim().to_lowercase().as_str());
    let same = first == second;
    match (from_now, value) {
        (true, _) if same && matches!(second, When::Day(_)) => "That is today.".to_owned(),
        _ if same => "That is the same time.".to_owned(),
        (true, v) if v < 0.0 => format!("That was {length} ago: {other}."),
        (true, _) => format!("There {is} {length} until {other}."),
        (false, v) if v < 0.0 => format!("{} is {length} before {}.", spoken(second), spoken(first)),
        (false, _) => format!("From {} to {} there {is} {length}.", spoken(first), spoken(second)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    async fn ask(args: Value) -> Result<Output> {
        call(crate::dates(), &cx(), "date_diff", args).await
    }

    #[tokio::test]
    async fn the_answer_tells_it_in_every_unit() {
        let answer = ask(json!({"date1": "2026-11-20", "date2": "2027-01-23"})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "date1": "2026-11-20", "date2": "2027-01-23", "value": 64, "unit": "days",
                "humanReadable": "2 months and 3 days", "years": 0, "months": 2, "weeks": 9, "days": 64, "weekdays": 46,
                "hours": 1536, "minutes": 92_160, "seconds": 5_529_600
            })
        );
        assert_eq!(answer.say.unwrap(), "From 20 November 2026 to 23 January 2027 there are 64 days.");
    }

    #[tokio::test]
    async fn it_counts_by_the_calendar_and_the_clocks() {
        let rows = [
            ("2024-02-29", "2025-02-28", "years", json!(1), "11 months and 30 days"),
            ("2024-02-29", "2025-03-01", "years", json!(1.00274), "1 year and 1 day"),
            ("2026-01-31", "2026-02-28", "months", json!(1), "28 days"),
            ("2026-02-28", "2026-01-31", "days", json!(-28), "28 days earlier"),
            ("2026-11-20", "2026-11-20", "hours", json!(0), "no time"),
            ("2026-11-20T08:00", "2026-11-20T13:30", "hours", json!(5.5), "5 hours and 30 minutes"),
            // Daylight saving time begins: the day has 23 hours and still counts as one day.
            ("2026-03-28T12:00", "2026-03-29T12:00", "hours", json!(23), "1 day"),
            ("2026-03-28T12:00", "2026-03-29T12:00", "days", json!(1), "1 day"),
            ("2026-03-28", "2026-03-29", "hours", json!(24), "1 day"),
            ("2026-11-20", "2026-11-20T14:30", "minutes", json!(870), "14 hours and 30 minutes"),
            ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00+01:00", "minute", json!(-60), "1 hour earlier"),
            ("2026-11-20", "2026-12-01", "business days", json!(7), "11 days"),
            ("0001-01-03", "9999-12-29", "days", json!(3_652_054), "9998 years, 11 months and 26 days"),
        ];
        for (date1, date2, unit, value, words) in rows {
            let answer = ask(json!({"date1": date1, "date2": date2, "unit": unit})).await.unwrap().content;
            assert_eq!((&answer["value"], &answer["humanReadable"]), (&value, &json!(words)), "{date1} {date2} {unit}");
        }
    }

    #[tokio::test]
    async fn it_is_said_as_one_would() {
        let rows = [
            ("today", "2026-12-25", "days", "There are 35 days until Friday 25 December."),
            ("today", "2026-11-21", "days", "There is 1 day until Saturday 21 November."),
            ("today", "2026-11-15", "days", "That was 5 days ago: Sunday 15 November."),
            ("now", "2026-11-20T16:00", "hours", "There is 1 hour and 30 minutes until 16:00."),
            ("now", "2026-11-22T14:00", "hours", "There are 47.5 hours until Sunday 22 November at 14:00."),
            ("today", "1998-05-03", "years", "That was 28 years, 6 months and 17 days ago: 3 May 1998."),
            ("today", "2026-12-25", "weeks", "There are 5 weeks until Friday 25 December."),
            ("today", "2026-12-26", "weeks", "There are 5 weeks and 1 day until Saturday 26 December."),
            ("today", "2026-11-22", "weeks", "There are 2 days until Sunday 22 November."),
            (
                "2026-11-20",
                "2026-11-21T12:00",
                "days",
                "From 20 November 2026 to 21 November 2026 at 12:00 there is 1 day and 12 hours.",
            ),
            ("2026-12-01", "2026-11-20", "days", "20 November 2026 is 11 days before 1 December 2026."),
            ("today", "2026-11-20", "days", "That is today."),
            ("2026-11-21", "2026-11-21", "days", "That is the same time."),
        ];
        for (date1, date2, unit, sentence) in rows {
            let answer = ask(json!({"date1": date1, "date2": date2, "unit": unit})).await.unwrap();
            assert_eq!(answer.say.as_deref(), Some(sentence), "{date1} {date2}");
        }
        for bad in [json!({"date1": "x", "date2": "today"}), json!({"date1": "now", "date2": "now", "unit": "moons"})] {
            assert!(matches!(ask(bad).await, Err(Error::BadArgs(_))));
        }
    }
}
