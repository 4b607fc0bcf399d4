//! Add time to a date.

use super::{Unit, is_weekend, moment, spoken, weekday};
use crate::{
    maths::{grouped, spoken as short},
    statistics::number,
};
use jiff::{SignedDuration, Span, civil::Date};
use tool::{When, prelude::*};

/// Add an amount of time to a date, or subtract it with a negative amount. Months and years are clamped to the last
/// day of a shorter month; a date without time stays one, unless hours or smaller units are added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    /// Start date: 2026-11-20, 2026-11-20T14:30, now, today, tomorrow or yesterday.
    date: String,
    /// Amount; negative to subtract.
    amount: f64,
    /// Unit of the amount. Weekdays are Monday to Friday.
    unit: Unit,
}

pub(crate) async fn add(_: (), cx: Cx, Add { date, amount, unit }: Add) -> Result<Output> {
    let from = moment(&date, &cx)?;
    let to = after(&from, amount, unit, &cx)?;
    let length = grouped(&short(amount.abs()));
    let units = if length == "1" { unit.word().trim_end_matches('s') } else { unit.word() };
    let side = if amount < 0.0 { "before" } else { "after" };
    let sentence = format!("{length} {units} {side} {} is {}, {}.", spoken(&from), weekday(to.day()), spoken(&to));
    let answer = json!({
        "date": from.to_string(),
        "amount": number(amount),
        "unit": unit.word(),
        "result": to.to_string(),
        "dayOfWeek": weekday(to.day()),
        "isWeekend": is_weekend(to.day()),
    });
    Ok(Output::json(answer)?.say(sentence))
}

fn after(from: &When, amount: f64, unit: Unit, cx: &Cx) -> Result<When> {
    let whole = (amount.fract() == 0.0 && amount.abs() < 1e15).then_some(amount as i64);
    let span = Span::new();
    let span = match (unit, whole) {
        (Unit::Years, Some(n)) => span.try_years(n),
        (Unit::Months, Some(n)) => span.try_months(n),
        (Unit::Weeks, Some(n)) => span.try_weeks(n),
        (Unit::Days, Some(n)) => span.try_days(n),
        (Unit::Weekdays, Some(n)) => {
            let day = on_weekdays(from.day(), n)?;
            return match from {
                When::Day(_) => Ok(When::Day(day)),
                When::At(at) => at.with().date(day).build().map(When::At).map_err(beyond),
            };
        }
        (Unit::Years | Unit::Months | Unit::Weekdays, None) => {
            return Err(Error::bad_args(format!("give a whole number of {}, or an amount in days", unit.word())));
        }
        (Unit::Weeks, None) => return on_clock(from, amount * 604_800.0, cx),
        (Unit::Days, None) => return on_clock(from, amount * 86_400.0, cx),
        (Unit::Hours, _) => return on_clock(from, amount * 3600.0, cx),
        (Unit::Minutes, _) => return on_clock(from, amount * 60.0, cx),
        (Unit::Seconds, _) => return on_clock(from, amount, cx),
    }
    .map_err(beyond)?;
    match from {
        When::Day(day) => day.checked_add(span).map(When::Day),
        When::At(at) => at.checked_add(span).map(When::At),
    }
    .map_err(beyond)
}

/// Add seconds; a day counts from its start.
fn on_clock(from: &When, seconds: f64, cx: &Cx) -> Result<When> {
    // More than the whole calendar.
    const FAR: f64 = 1e12;
    if seconds.is_nan() || seconds.abs() > FAR {
        return Err(too_far());
    }
    // Whole milliseconds: a floating-point number of seconds is no more exact over centuries.
    let nanos = ((seconds - seconds.trunc()) * 1e3).round() as i32 * 1_000_000;
    let duration = SignedDuration::new(seconds.trunc() as i64, nanos);
    let start = from.start(&cx.ports().clock.zone())?;
    start.checked_add(duration).map(When::At).map_err(beyond)
}

/// Add weekdays; from a weekend the first is the following Monday, backwards the preceding Friday.
fn on_weekdays(from: Date, count: i64) -> Result<Date> {
    let step = Span::new().days(count.signum());
    let weeks = Span::new().try_weeks(count / 5).map_err(beyond)?;
    let mut day = from;
    // A weekend counts as the weekday passed last, so that whole weeks end on a weekday.
    while count != 0 && is_weekend(day) {
        day = day.checked_sub(step).map_err(beyond)?;
    }
    day = day.checked_add(weeks).map_err(beyond)?;
    for _ in 0..(count % 5).abs() {
        day = day.checked_add(step).map_err(beyond)?;
        while is_weekend(day) {
            day = day.checked_add(step).map_err(beyond)?;
        }
    }
    Ok(day)
}

fn beyond(_: jiff::Error) -> Error {
    too_far()
}

fn too_far() -> Error {
    Error::bad_args("that is beyond the calendar, which has the years -9999 to 9999: give a smaller amount")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;

    async fn ask(args: Value) -> Result<Output> {
        call(crate::dates(), &cx(), "date_add", args).await
    }

    #[tokio::test]
    async fn dates_move_by_the_calendar_and_the_clocks() {
        let rows = [
            ("2026-11-20", 30.0, "days", "2026-12-20"),
            ("2026-01-31", 1.0, "month", "2026-02-28"),
            ("2024-02-29", 1.0, "years", "2025-02-28"),
            ("2026-03-31", -1.0, "months", "2026-02-28"),
            ("2026-11-20", -2.0, "weeks", "2026-11-06"),
            ("today", 0.0, "days", "2026-11-20"),
            ("2026-11-20", 36.0, "hours", "2026-11-21T12:00:00+01:00"),
            ("2026-11-20", 1.5, "days", "2026-11-21T12:00:00+01:00"),
            ("now", 90.0, "minutes", "2026-11-20T16:00:00+01:00"),
            // Daylight saving time begins: a day keeps the time, 24 hours do not.
            ("2026-03-28T12:00", 1.0, "days", "2026-03-29T12:00:00+02:00"),
            ("2026-03-28T12:00", 24.0, "hours", "2026-03-29T13:00:00+02:00"),
            ("2026-03-28T02:30", 1.0, "days", "2026-03-29T03:30:00+02:00"),
            ("2026-11-20", 1.0, "weekdays", "2026-11-23"),
            ("2026-11-20", 5.0, "business_days", "2026-11-27"),
            ("2026-11-21", 1.0, "weekdays", "2026-11-23"),
            ("2026-11-21", 5.0, "weekdays", "2026-11-27"),
            ("2026-11-22", -1.0, "weekdays", "2026-11-20"),
            ("2026-11-23T09:00", -6.0, "weekdays", "2026-11-13T09:00:00+01:00"),
        ];
        for (date, amount, unit, wanted) in rows {
            let answer = ask(json!({"date": date, "amount": amount, "unit": unit})).await.unwrap().content;
            assert_eq!(answer["result"], wanted, "{date} {amount} {unit}");
        }
        let month = json!({"date": "today", "amount": 1, "unit": "month"});
        let answer = call(crate::dates(), &cx(), "add_to_date", month).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "date": "2026-11-20", "amount": 1, "unit": "months", "result": "2026-12-20", "dayOfWeek": "Sunday",
                "isWeekend": true
            })
        );
        assert_eq!(answer.say.unwrap(), "1 month after 20 November 2026 is Sunday, 20 December 2026.");
    }

    #[tokio::test]
    async fn what_leaves_the_calendar_is_refused() {
        for (date, amount, unit) in [
            ("2026-11-20", 1e300, "days"),
            ("2026-11-20", -1e300, "seconds"),
            ("9999-12-31", 1.0, "days"),
            ("9999-12-30T23:59", 1.0, "days"),
            ("2026-11-20", 9e14, "years"),
            ("2026-11-20", 9e14, "weekdays"),
            ("0001-01-01", -9e9, "weekdays"),
            ("2026-11-20", 0.5, "months"),
            ("soon", 1.0, "days"),
        ] {
            let answer = ask(json!({"date": date, "amount": amount, "unit": unit})).await;
            assert!(matches!(answer, Err(Error::BadArgs(_))), "{date} {amount} {unit}: {answer:?}");
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        /// `date_add` inverts `date_diff`.
        #[test]
        fn adding_the_difference_arrives(from in -650_000_i64..2_900_000, days in -60_000_i64..30_000, minutes in 0_i64..1440) {
            wait(async {
                let first = Date::constant(1970, 1, 1).checked_add(Span::new().days(from)).unwrap();
                let last = first.checked_add(Span::new().days(days)).unwrap();
                let time = format!("T{:02}:{:02}", minutes / 60, minutes % 60);
                let pairs = [(first.to_string(), last.to_string(), "days"), (first.to_string(), format!("{last}{time}"), "minutes")];
                for (date1, date2, unit) in pairs {
                    let asked = json!({"date1": date1, "date2": date2, "unit": unit});
                    let diff = call(crate::dates(), &cx(), "date_diff", asked).await.unwrap().content;
                    let asked = json!({"date": date1, "amount": diff["value"], "unit": unit});
                    let arrived = call(crate::dates(), &cx(), "date_add", asked).await.unwrap().content;
                    let wanted = When::read(&date2, &cx().ports().clock.zone()).unwrap().to_string();
                    assert_eq!(arrived["result"], wanted, "{date1} {date2} {unit} {diff}");
                }
            });
        }

        /// Counting weekdays inverts adding them.
        #[test]
        fn weekdays_arrive(from in -700_000_i64..2_900_000, count in -3000_i64..3000) {
            let from = Date::constant(1970, 1, 1).checked_add(Span::new().days(from)).unwrap();
            let to = on_weekdays(from, count).unwrap();
            prop_assert!(count == 0 || !is_weekend(to));
            if !is_weekend(from) {
                prop_assert_eq!(super::super::weekdays(from, to), count, "{} {}", from, to);
            }
        }
    }
}
