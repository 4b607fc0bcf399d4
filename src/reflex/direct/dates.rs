//! Questions about dates in any words: the week number, leap years, the weekday of a date, days between dates, a date some time
//! after another.

use super::{Reading, pattern};
use crate::{
    sentence::Sentence,
    slots::{
        date::{self, DateKind, Reach},
        duration, number,
    },
};
use jiff::{
    Span, ToSpan, Zoned,
    civil::{Date, ISOWeekDate, Weekday},
};
use serde_json::json;

/// A date in a sentence.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Named {
    at: usize,
    end: usize,
    date: Date,
    /// Whether its year, or that it is yet to come or over, was said.
    fixed: bool,
    /// Whether it was named by day and month.
    calendar: bool,
}

/// What a sentence asks about dates.
pub(super) fn read(s: &Sentence, now: &Zoned) -> Option<Reading> {
    let today = now.date();
    week(s, today)
        .or_else(|| leap(s, today))
        .or_else(|| weekday(s, today))
        .or_else(|| after(s, today))
        .or_else(|| between(s, today))
}

/// What templates would read wrong: a 29 February, and a day that counting begins on and that is over.
pub(super) fn before_templates(s: &Sentence, now: &Zoned) -> Option<Reading> {
    let today = now.date();
    let over = |named: &Named| !named.fixed && nearest(*named, today) < today;
    let counts = || after(s, today).filter(|_| dates(s, today).first().is_some_and(over));
    leap(s, today).or_else(counts)
}

/// The dates in a sentence, in order.
fn dates(s: &Sentence, today: Date) -> Vec<Named> {
    let (mut found, mut at) = (vec![], 0);
    while at < s.len() {
        match one(s, at, today) {
            Some(named) => {
                at = named.end;
                found.push(named);
            }
            None => at += 1,
        }
    }
    found
}

fn one(s: &Sentence, at: usize, today: Date) -> Option<Named> {
    // "in may" and "on 5" alone are too little; "may" is a verb as well.
    let (count, day) = date::day_in(s, at, today, s.word(at) == "the").filter(|(_, day)| day.reach == Reach::Day)?;
    let end = at + count;
    if day.said != DateKind::Calendar {
        return Some(Named { at, end, date: day.date, fixed: true, calendar: false });
    }
    let said = (at..end).any(|i| {
        s.word(i).len() == 4 && s.word(i).parse::<i16>().is_ok()
            || s.word(i).len() > 7 && s.word(i).contains(['-', '.'])
            || s.word(i) == "/"
    });
    if said {
        return Some(Named { at, end, date: day.date, fixed: true, calendar: true });
    }
    match year(s, end, today) {
        Some((more, year)) => {
            let date = Date::new(year, day.date.month(), day.date.day()).ok()?;
            Some(Named { at, end: end + more, date, fixed: true, calendar: true })
        }
        None => {
            // "next year fourteenth of march".
            let before = at.checked_sub(2).filter(|i| s.word(i + 1) == "year").map(|i| s.word(i));
            let step = match before {
                Some("next") => 1,
                Some("this") => 0,
                Some("last") => -1,
                _ => return Some(Named { at, end, date: day.date, fixed: false, calendar: true }),
            };
            let date = Date::new(today.year() + step, day.date.month(), day.date.day()).ok()?;
            Some(Named { at, end, date, fixed: true, calendar: true })
        }
    }
}

/// A year behind a day and month: "26", "nineteen sixty nine", "two thousand and three", "this year".
fn year(s: &Sentence, at: usize, today: Date) -> Option<(usize, i16)> {
    let comma = usize::from(["of", "in"].contains(&s.word(at)));
    match (s.word(at), s.word(at + 1)) {
        ("this", "year") => return Some((2, today.year())),
        ("next", "year") => return Some((2, today.year() + 1)),
        ("last", "year") => return Some((2, today.year() - 1)),
        _ => {}
    }
    let at = at + comma;
    if let Ok(year) = s.word(at).parse::<i16>() {
        let long = (1000..3000).contains(&year).then_some(year);
        let short = (s.word(at).len() == 2 && comma == 0).then_some(if year < 50 { 2000 + year } else { 1900 + year });
        return long.or(short).map(|year| (comma + 1, year));
    }
    let (count, first) = number::whole(s, at)?;
    if (1000..3000).contains(&first) {
        return Some((comma + count, i16::try_from(first).ok()?));
    }
    let (more, rest) = number::whole(s, at + count).filter(|(_, n)| (1..100).contains(n))?;
    let century = (18..=21).contains(&first);
    century.then(|| Some((comma + count + more, i16::try_from(first * 100 + rest).ok()?)))?
}

fn long(date: Date) -> String {
    date.strftime("%A, %-d %B %Y").to_string()
}

/// "what week is it", "wk no?", "wk 51 starts when", "which week is 4 january".
fn week(s: &Sentence, today: Date) -> Option<Reading> {
    const WEEK: &[&str] = &["week", "wk", "weeknumber"];
    let at = (0..s.len()).find(|at| WEEK.contains(&s.word(*at)))?;
    let of = usize::from(["number", "no", "nr"].contains(&s.word(at + 1)));
    let numbered = number::whole(s, at + 1 + of).filter(|(_, n)| (1..54).contains(n));
    if let Some((_, week)) = numbered
        && s.mentions(&["start", "starts", "begin", "begins", "when", "date", "dates", "starting", "monday"])
    {
        let this = today.iso_week_date();
        let monday =
            |year: i16| ISOWeekDate::new(year, i8::try_from(week).ok()?, Weekday::Monday).ok().map(|d| d.date());
        let late = i32::from(this.week()) - 8 > week as i32;
        let date = monday(this.year() + i16::from(late && !s.mentions(&["was", "did"])))?;
        let last = date.checked_add(6.days()).ok()?;
        let ends = last.strftime("%A, %-d %B");
        return Some(Reading::Say(format!("Week {week} begins on {} and ends on {ends}.", long(date))));
    }
    let asks = of > 0 && s.len() <= 6
        || pattern::any(
            s,
            &[
                "_ what|which week|wk number|no? of? the? year? is|are|do|does|will|we|it _",
                "what|which week|wk number|no?",
                "is it|this week|wk number? _",
                "are we in|on week|wk number? _",
                "_ number of the week _",
                "_ week|wk number|no _ is|are|was _",
                "_ what is|are the|this|our week|wk number|no _",
                "week|wk number|no _",
            ],
        ) && !s.mentions(&["holiday", "bin", "bins", "rota", "chapter"]);
    if !asks {
        return None;
    }
    let date = dates(s, today).first().map_or(today, |named| named.date);
    let iso = date.iso_week_date();
    let monday = date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()?;
    let (first, last) = (monday.strftime("%-d %B"), monday.checked_add(6.days()).ok()?.strftime("%-d %B %Y"));
    let what = if date == today { "It is".to_owned() } else { format!("{} is in", date.strftime("%-d %B %Y")) };
    Some(Reading::Say(format!("{what} week {} of {}, from Monday, {first} to Sunday, {last}.", iso.week(), iso.year())))
}

/// "is 2028 a leap year", "has 2100 29 days in february", "when is the next 29th of february".
fn leap(s: &Sentence, today: Date) -> Option<Reading> {
    let february = |word: &str| ["feb", "february"].contains(&word);
    let day = (0..s.len()).any(|at| {
        ["29", "29th", "twenty"].contains(&s.word(at))
            && (at + 1..at + 6).any(|at| february(s.word(at)))
            && (s.word(at) != "twenty" || ["nine", "ninth"].contains(&s.word(at + 1)))
    });
    if !s.mentions(&["leap"]) && !day {
        return None;
    }
    let mut years = (0..s.len()).filter_map(|at| s.word(at).parse::<i16>().ok());
    let named = years.find(|year| (1000..4000).contains(year)).or_else(|| {
        let year = (0..s.len()).find(|at| s.word(at + 1) == "year" && ["this", "next", "last"].contains(&s.word(*at)));
        let step = match s.word(year?) {
            "this" => 0,
            "next" if s.mentions(&["leap"]) => 1,
            "last" => -1,
            _ => return None,
        };
        Some(today.year() + step)
    });
    let is = |year: i16| Date::new(year, 2, 29).is_ok();
    if let Some(year) = named {
        return Some(Reading::Say(match is(year) {
            true => format!("Yes, {year} is a leap year: February has 29 days."),
            false => format!("No, {year} is not a leap year: February has 28 days."),
        }));
    }
    let next = (0..9).find_map(|i| Date::new(today.year() + i, 2, 29).ok().filter(|date| *date >= today))?;
    let asks = s.mentions(&["next", "when", "which", "is", "coming"]);
    asks.then(|| Reading::Say(format!("The next 29 February is {}: {} is a leap year.", long(next), next.year())))
}

/// "14/3/27 - what day of the week", "what day does 5 april 2027 land on", "was that a sunday".
fn weekday(s: &Sentence, today: Date) -> Option<Reading> {
    let mut named = dates(s, today);
    named.retain(|named| named.calendar);
    let [named] = named[..] else { return None };
    let asks = pattern::any(s, &["_ what|which day|weekday of? the? week? _", "_ day of the week _", "_ weekday _"])
        && !s.mentions(&["free", "busy", "bins", "bin", "have", "got", "on?", "week"]);
    let of_week = pattern::any(s, &["_ what|which day of the week _", "_ what|which weekday _", "_ day of the week"]);
    let claimed = (0..s.len())
        .filter(|at| *at < named.at || *at >= named.end)
        .find_map(|at| Some((at, date::weekday_named(s.word(at), false)?)))
        .filter(|(at, _)| {
            ["a", "on", "it"].contains(&s.word(at.wrapping_sub(1))) && s.mentions(&["was", "is", "will"]) && s.asks
                || s.has(at + 1, &["was", "it"])
                || s.has(at + 1, &["is", "it"])
        });
    let verb = if named.date < today { "was" } else { "is" };
    let day = named.date.strftime("%-d %B %Y");
    match claimed {
        Some((_, weekday)) if weekday == named.date.weekday() => {
            Some(Reading::Say(format!("Yes, {day} {verb} a {}.", named.date.strftime("%A"))))
        }
        Some((_, weekday)) if named.fixed => {
            let wrong = named.date.nth_weekday(1, weekday).ok()?.strftime("%A");
            Some(Reading::Say(format!("No, {day} {verb} a {}, not a {wrong}.", named.date.strftime("%A"))))
        }
        _ if asks || of_week => Some(Reading::Say(format!("{day} {verb} a {}.", named.date.strftime("%A")))),
        _ => None,
    }
}

/// A length in one unit, as `date_add` takes it.
fn length(span: Span, said: &str) -> Option<(i64, &'static str)> {
    let parts = [
        (i64::from(span.get_months()), "months"),
        (i64::from(span.get_days()), "days"),
        (i64::from(span.get_hours()) + span.get_minutes() + span.get_seconds(), "hours"),
    ];
    let mut some = parts.into_iter().filter(|(n, _)| *n != 0);
    let one = some.next().filter(|(_, unit)| *unit != "hours")?;
    some.next().is_none().then_some(match one {
        (n, "days") if n % 7 == 0 && !said.starts_with("day") => (n / 7, "weeks"),
        (n, "months") if n % 12 == 0 && !said.starts_with("month") => (n / 12, "years"),
        one => one,
    })
}

/// "28 days from the 19th of november", "90 days from now", "sown on saturday, they want twelve weeks: when is that".
fn after(s: &Sentence, today: Date) -> Option<Reading> {
    let lengths: Vec<(usize, usize, (i64, &str))> = (0..s.len())
        .filter(|at| *at == 0 || duration::duration(s, at - 1).is_none_or(|(count, _)| count < 2))
        .filter_map(|at| {
            duration::duration(s, at)
                .and_then(|(count, span)| Some((at, at + count, length(span, s.word(at + count - 1))?)))
        })
        .collect();
    let [(_, end, (amount, unit))] = lengths[..] else { return None };
    let (on, back) = match s.word(end) {
        "from" | "after" | "past" => (true, false),
        "before" | "prior" => (true, true),
        _ => (false, false),
    };
    let call = |date: Date, amount: i64| {
        Reading::Call("date_add", json!({"amount": amount, "date": date.to_string(), "unit": unit}))
    };
    if on {
        let to = end + 1 + usize::from(s.word(end + 1) == "to");
        let asks = end > 0
            && (s.len() <= end + 6 && !s.mentions(&["remind", "timer", "wake", "add", "put", "book", "event"])
                || s.mentions(&["when", "what", "date", "day"]));
        if !asks || s.mentions(&["remind", "timer", "wake", "alarm", "reminder"]) {
            return None;
        }
        let begin = to + usize::from(s.word(to) == "the" && one(s, to, today).is_none());
        let date = match s.word(to) {
            "now" | "today" => today,
            _ => nearest(one(s, begin, today).filter(|named| named.at == begin)?, today),
        };
        return Some(call(date, if back { -amount } else { amount }));
    }
    // "sowing on saturday, they want twelve weeks, when does that take me to".
    let lands = pattern::any(
        s,
        &[
            "_ when is|does|will|would that|it|they|this take|takes|bring|land|end|finish|be|run|come|expire|ready|due|over|out _",
            "_ when is|will that|it|this",
            "_ what date is|does|will|would that|it|this _",
            "_ when does|will it|that _",
        ],
    );
    let named = dates(s, today);
    let [start] = named[..] else { return None };
    (lands && (start.end <= end || start.at >= end)).then(|| call(start.date, amount))
}

/// A date without a year that counting begins on: the nearest one, over or to come.
fn nearest(named: Named, today: Date) -> Date {
    let last = named.date.checked_sub(1.year()).ok().filter(|_| !named.fixed && named.date > today);
    let far = |date: Date| today.until(date).map_or(i32::MAX, |span| span.get_days().abs());
    last.filter(|last| far(*last) < far(named.date)).unwrap_or(named.date)
}

/// "how long til the 18th of december", "days from 6 apr 26 to 23 nov 26", "how old am I in days, born 8 june 1990".
fn between(s: &Sentence, today: Date) -> Option<Reading> {
    const OTHERS: &[&str] = &[
        "remind", "timer", "alarm", "wake", "add", "put", "book", "spent", "spend", "cost", "event", "note", "free",
        "busy",
    ];
    let named = dates(s, today);
    let asks = pattern::any(
        s,
        &[
            "_ how is? long|old _",
            "_ how many more? days|weeks|months|years|sleeps|nights|weekdays _",
            "_ how many working|business|week|school days _",
            "days|weeks|months|years|sleeps|weekdays between|from|until|till|til|since|to|left _",
            "days|weeks|months _ to _",
            "_ number of days|weeks|months _",
            "_ how far off|away _",
            "sleeps|days|weeks till|til|until|to _",
            "_ countdown to _",
            "_ ages _",
            "_ what age _",
        ],
    );
    if !asks || s.mentions(OTHERS) || named.is_empty() || named.len() > 2 {
        return None;
    }
    let unit = (0..s.len())
        .filter(|at| {
            ["many", "in", "of", "more"].contains(&s.word(at.wrapping_sub(1)))
                || *at == 0
                || s.word(at.wrapping_sub(1)) == "working"
        })
        .find_map(|at| match s.word(at) {
            "days" | "sleeps" | "nights" if s.word(at.wrapping_sub(1)) == "working" => Some("weekdays"),
            "days" | "sleeps" | "nights" => Some("days"),
            "weeks" => Some("weeks"),
            "months" => Some("months"),
            "years" => Some("years"),
            "weekdays" | "working" | "business" => Some("weekdays"),
            _ => None,
        });
    let aged = s.mentions(&[
        "old",
        "age",
        "born",
        "married",
        "anniversary",
        "been",
        "together",
        "ago",
        "since",
        "started",
        "dead",
        "died",
    ]);
    let past = aged || s.mentions(&["was", "were", "passed", "gone", "lasted", "ago"]);
    let unit = unit.unwrap_or(if aged && named.iter().all(|n| n.date < today || !n.fixed) && named.len() == 1 {
        "years"
    } else {
        "days"
    });
    let before = |named: &Named| match named.date.checked_sub(1.year()) {
        Ok(date) if !named.fixed && named.date > today && past => date,
        _ => named.date,
    };
    let (first, second) = match named[..] {
        [one] => {
            let date = before(&one);
            // Age is reckoned from birth; the rest is told from today.
            if unit == "years" && date < today {
                (date.to_string(), "today".to_owned())
            } else {
                ("today".to_owned(), date.to_string())
            }
        }
        [one, now] | [now, one] if now.date == today && !now.calendar => ("today".to_owned(), before(&one).to_string()),
        [a, b] if b.at == a.end || a.date == b.date => return None,
        [a, b] => {
            let from = if !a.fixed && a.date > b.date { a.date.checked_sub(1.year()).ok()? } else { a.date };
            (from.to_string(), b.date.to_string())
        }
        _ => return None,
    };
    Some(Reading::Call("date_diff", json!({"date1": first, "date2": second, "unit": unit})))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> String {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        match read(&Sentence::read(text), &now) {
            None => String::new(),
            Some(Reading::Say(say)) => say,
            Some(Reading::Call(tool, arguments)) => format!("{tool} {arguments}"),
        }
    }

    #[test]
    fn weeks_and_leap_years_are_told() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("is it wk 48 or 49, nursery invoice", "It is week 48 of 2026"),
            ("what week are we in the kitchen firm goes by week numbers", "It is week 48 of 2026"),
            ("wk no?", "It is week 48 of 2026"),
            ("what wk is it", "It is week 48 of 2026"),
            ("wk 51 starts when", "Week 51 begins on Monday, 14 December 2026"),
            ("when does week 3 start", "Week 3 begins on Monday, 18 January 2027"),
            ("which week is 4 january in", "4 January 2027 is in week 1 of 2027"),
            ("was 2100 gonna be a leap year or not", "No, 2100"),
            ("is 2028 one of them with 29 days in feb", "Yes, 2028"),
            ("When's the next 29th of Feb", "The next 29 February is Tuesday, 29 February 2028"),
            ("what's on this week", ""),
            ("which week is bin week", ""),
        ] {
            let said = asked(text);
            if !said.starts_with(wanted) || said.is_empty() != wanted.is_empty() {
                wrong.push(format!("{text}: {said}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_weekday_of_a_date_is_told() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("what day does my birthday fall on next year fourteenth of march", "14 March 2027 is a Sunday."),
            ("14/3/27 - what day of the week", "14 March 2027 is a Sunday."),
            (
                "I was born on the ninth of March nineteen forty-five and my mother always swore it was a Sunday, was it",
                "No, 9 March 1945 was a Friday, not a Sunday.",
            ),
            ("what is on friday", ""),
        ] {
            if asked(text) != wanted {
                wrong.push(format!("{text}: {:?}", asked(text)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn time_between_dates_is_counted() {
        let diff =
            |a: &str, b: &str, unit: &str| format!("date_diff {}", json!({"date1": a, "date2": b, "unit": unit}));
        let mut wrong = vec![];
        for (text, wanted) in [
            (
                "hows long til the eighteenth of december thats when hartleys moves in",
                diff("today", "2026-12-18", "days"),
            ),
            ("how old am I in days born 8 june 1990 bit bored", diff("today", "1990-06-08", "days")),
            ("days 6 apr 26 to 23 nov 26", diff("2026-04-06", "2026-11-23", "days")),
            ("14 mar 2027 how many days from today", diff("today", "2027-03-14", "days")),
            (
                "Ellie started with us on the second of March this year how many days has she lasted",
                diff("today", "2026-03-02", "days"),
            ),
            (
                "Ron and I were married on the fourteenth of June nineteen sixty-nine, how long would that have been now",
                diff("1969-06-14", "today", "years"),
            ),
            ("how long is the film", String::new()),
        ] {
            if asked(text) != wanted {
                wrong.push(format!("{text}: {:?}", asked(text)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_date_after_another_is_reckoned() {
        let add =
            |n: i64, date: &str, unit: &str| format!("date_add {}", json!({"amount": n, "date": date, "unit": unit}));
        let mut wrong = vec![];
        for (text, wanted) in [
            ("28 days from the 19th of nov?", add(28, "2026-11-19", "days")),
            ("when is 90 days from now", add(90, "2026-11-23", "days")),
            (
                "sowing broad beans saturday they want twelve weeks when's that take me to",
                add(12, "2026-11-28", "weeks"),
            ),
            ("remind me 2 days before the 3rd of december", String::new()),
            ("set a timer for 10 minutes", String::new()),
        ] {
            if asked(text) != wanted {
                wrong.push(format!("{text}: {:?}", asked(text)));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
