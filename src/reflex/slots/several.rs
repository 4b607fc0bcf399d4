//! Times that no single slot holds: "from 20 to 27 December", "in 2 or 3 days", "every day except tomorrow", "every day
//! until Friday", and days that never come. A slot would take a part of one for all of it, so that no slot of a time is
//! read in such a sentence: `timed` reads it, or answers that it cannot.

use super::{
    Kind,
    calendar::{coming, day_and_month, day_number, month_named, ordinal},
    called_off,
    clock::clock,
    date::{day_in, part_named, weekday_named},
    duration, every, number,
};
use crate::sentence::Sentence;
use jiff::{
    ToSpan, Zoned,
    civil::{Date, Weekday},
};
use std::{collections::BTreeSet, ops::Range};

/// The most words of a sentence that is looked through for them.
const MOST_WORDS: usize = 60;

/// A time that no single slot holds.
#[derive(Debug, Clone)]
pub(crate) enum Several {
    /// A day that never comes.
    NoSuchDay(Range<usize>),
    /// One of two times, each as said.
    Either(String, String),
    /// Several whole days.
    Days(Range<usize>),
    /// What is left out.
    Except(Exception),
    /// A recurrence with an end.
    Until(Range<usize>, End),
    /// A recurrence that begins on a later day.
    From(Range<usize>, Date),
    /// A length of time before or after a time of day, for a timer: "5 minutes before 7".
    Apart,
    /// A time of day until a day, without a recurrence: "at 7 until friday".
    Lasting(Range<usize>),
    /// A time before an event at which something else is to be done.
    BeforeEvent(Range<usize>),
}

/// Days that a recurrence leaves out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exception {
    /// Its words, "except" included, and where the days begin.
    pub words: Range<usize>,
    pub days: usize,
    /// Days of the week, Sunday is 0; `None` for anything else.
    pub weekdays: Option<BTreeSet<i8>>,
    /// Whether the recurrence before it has them left out already.
    pub joined: bool,
}

/// The end of a recurrence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// The last day.
    On(Date),
    /// So long from its first time on.
    After(jiff::Span),
    /// A time of day, today.
    At(jiff::civil::Time),
}

/// Whether a slot of this kind would read only a part of a time.
pub(crate) fn hides_from(kind: Kind, s: &Sentence, now: &Zoned) -> bool {
    use Kind::{Date, Duration, Every, Future, Minutes, Time, Wake, When};
    if !matches!(kind, Date | Duration | Every | Future | Minutes | Time | Wake | When) {
        return false;
    }
    // Longer texts say too much.
    if s.len() > MOST_WORDS {
        return false;
    }
    if matches!(kind, Date | Future | Time | Wake | When)
        && (called_off::read(s, now).is_some() || called_off::rings_not(s))
    {
        return true;
    }
    all(s, now).into_iter().any(|found| match found {
        Several::Except(exception) => !(exception.joined && kind == Every),
        Several::Until(..) | Several::From(..) => reminds(s),
        // Two whole dates are two slots.
        // Money has slots of its own for its days.
        Several::Days(_) if s.mentions(&["spend", "spent", "expenses", "cost", "paid", "earned"]) => false,
        Several::Days(words) => kind != Date || words.filter(|at| month_named(s.word(*at)).is_some()).count() < 2,
        _ => true,
    })
}

/// Words that ask for a reminder, an alarm or a timer.
pub(crate) fn reminds(s: &Sentence) -> bool {
    s.mentions(&[
        "remind",
        "reminder",
        "reminding",
        "nudge",
        "ping",
        "prompt",
        "nag",
        "alarm",
        "wake",
        "waking",
        "timer",
        "timers",
    ]) || s.has(0, &["tell", "me", "to"])
}

/// The times of a sentence that no slot holds.
pub(crate) fn all(s: &Sentence, now: &Zoned) -> Vec<Several> {
    let today = now.date();
    let found = (0..s.len()).filter_map(|at| {
        no_such_day(s, at, today)
            .map(Several::NoSuchDay)
            .or_else(|| days(s, at, today).map(|(count, ..)| Several::Days(at..at + count)))
            .or_else(|| either(s, at, now))
            .or_else(|| exception(s, at, now).map(Several::Except))
            .or_else(|| end(s, at, now))
            .or_else(|| apart(s, at))
            .or_else(|| before_event(s, at))
    });
    found.collect()
}

/// The words between the two ends of a range at `at`: 1 for "to", 0 for a dash within the text; `None` for neither.
fn joint(s: &Sentence, at: usize) -> Option<usize> {
    if ["to", "till", "until", "through", "-", "–"].contains(&s.word(at)) {
        return Some(1);
    }
    let (before, next) = (s.tokens.get(at.checked_sub(1)?)?, s.tokens.get(at)?);
    let between = s.text.get(before.end..next.start)?.trim();
    ["-", "–", "—"].contains(&between).then_some(0)
}

/// "from 20 to 27 December", "12-14 march", "December 20 to 27", "from the 20th to the 27th": first and last day.
pub(crate) fn days(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date, Date)> {
    let lead = usize::from(["from", "between"].contains(&s.word(at)));
    let the = |at: usize| usize::from(s.word(at) == "the");
    let begin = at + lead;
    // "28 December to 3 January"
    if let Some((count, _)) = day_and_month(s, begin, today)
        && let Some(join) = joint(s, begin + count)
        && let Some((more, last)) = day_and_month(s, begin + count + join, today)
    {
        let first = day_and_month(s, begin, last.checked_sub(1.year()).ok()?.tomorrow().ok()?)?.1;
        return (first < last).then_some((lead + count + join + more, first, last));
    }
    // "December 20 to 27"
    let month_first = month_named(s.word(begin)).filter(|_| s.word(begin + 1) != "may");
    let first_at = begin + usize::from(month_first.is_some());
    let first_at = first_at + the(first_at);
    let (count, first) = day_number(s, first_at)?;
    let join_at = first_at + count;
    let and = usize::from(s.word(at) == "between" && s.word(join_at) == "and");
    let join = if and == 1 { 1 } else { joint(s, join_at)? };
    let last_at = join_at + join + the(join_at + join);
    let (more, last) = day_number(s, last_at)?;
    let mut end = last_at + more;
    let of = usize::from(s.word(end) == "of");
    let (month, year) = match month_first {
        Some(month) => (Some(month), None),
        None => {
            let month = month_named(s.word(end + of));
            end += month.map_or(0, |_| of + 1);
            let year = s.word(end).parse::<i16>().ok().filter(|year| (1900..2200).contains(year) && month.is_some());
            end += usize::from(year.is_some());
            (month, year)
        }
    };
    let ordinals = ordinal(s, first_at).is_some() && ordinal(s, last_at).is_some();
    let last = match (month, year) {
        (Some(month), Some(year)) => Date::new(year, month, last).ok()?,
        (Some(month), None) => coming(today, month, last)?,
        (None, _) => super::calendar::coming_day(today, last).filter(|_| ordinals)?,
    };
    let of_same = Date::new(last.year(), last.month(), first).ok().filter(|date| *date < last);
    let before = || last.first_of_month().checked_sub(1.month()).ok();
    let first = of_same.or_else(|| before().and_then(|month| Date::new(month.year(), month.month(), first).ok()))?;
    (first < last && first.until(last).ok()?.get_days() < 62).then_some((end - at, first, last))
}

/// "31 February", "the 31st of June", "april 31st".
fn no_such_day(s: &Sentence, at: usize, today: Date) -> Option<Range<usize>> {
    let ordinal_or_number = |at: usize| {
        ordinal(s, at).or_else(|| {
            let (count, n) = number::whole(s, at).filter(|(_, n)| (29..32).contains(n))?;
            Some((count, n as i8))
        })
    };
    let day_first = || {
        let (count, day) = ordinal_or_number(at)?;
        let of = usize::from(s.word(at + count) == "of");
        let name = s.word(at + count + of);
        // "may" and "march" are verbs where no date is.
        let month = month_named(name)?;
        Some((count + of + 1, month, day))
    };
    let month_first = || {
        let month = month_named(s.word(at))?;
        let the = usize::from(s.word(at + 1) == "the");
        let (count, day) = ordinal_or_number(at + 1 + the)?;
        Some((1 + the + count, month, day))
    };
    let (count, month, day) = day_first().or_else(month_first)?;
    let end = at + count;
    let year = s.word(end).parse::<i16>().ok().filter(|year| (1900..2200).contains(year));
    let exists = match year {
        Some(year) => Date::new(year, month, day).is_ok(),
        None => coming(today, month, day).is_some(),
    };
    (day > 28 && !exists).then_some(at..end + usize::from(year.is_some()))
}

/// "in 2 or 3 days", "in 5-10 minutes", "for 5 or 10 minutes", "in a day or two", "at 7 or 8", "monday or tuesday".
fn either(s: &Sentence, at: usize, now: &Zoned) -> Option<Several> {
    let both = |from: usize, joint: usize, to: usize, end: usize| {
        Some(Several::Either(s.slice(from, joint).to_owned(), s.slice(to, end).to_owned()))
    };
    let relative = at > 0 && s.word(at - 1) == "in";
    let timer = s.mentions(&["timer", "timers", "countdown"]) && !s.mentions(&["remind", "reminder"]);
    if relative || timer {
        if let Some((count, _)) = number::whole(s, at) {
            let next = at + count;
            // Of one timer, "5 and 10 minutes" are two lengths.
            let one =
                timer && s.word(next) == "and" && !s.mentions(&["timers"]) && !["a", "an"].contains(&s.word(next + 1));
            let join = if s.word(next) == "or" || one { Some(1) } else { joint(s, next) };
            let other = join.and_then(|join| Some((next + join, duration::duration(s, next + join)?.0)));
            if let Some((from, length)) = other.filter(|(from, _)| number::whole(s, *from).is_some()) {
                let unit = s.slice(from + length - 1, from + length);
                let first = format!("{} {unit}", s.slice(at, next));
                return Some(Several::Either(first, s.slice(from, from + length).to_owned()));
            }
        }
        if let Some((count, _)) = duration::duration(s, at) {
            let next = at + count;
            if s.word(next) == "or" && s.word(next + 1) != "so" {
                if let Some((more, _)) = duration::duration(s, next + 1) {
                    return both(at, next, next + 1, next + 1 + more);
                }
                if let Some((more, n)) = number::whole(s, next + 1) {
                    let unit = s.word(next - 1).trim_end_matches('s').to_owned();
                    let other =
                        format!("{} {unit}{}", s.slice(next + 1, next + 1 + more), if n == 1 { "" } else { "s" });
                    return Some(Several::Either(s.slice(at, next).to_owned(), other));
                }
            }
        }
    }
    if !reminds(s) && !s.mentions(&["calendar", "diary", "book", "schedule", "pencil"]) {
        return None;
    }
    let led = at > 0 && ["at", "by", "for", "around", "about"].contains(&s.word(at - 1));
    if led && let Some((count, _)) = clock(s, at, true) {
        let or = at + count;
        if s.word(or) == "or"
            && let Some((more, _)) = clock(s, or + 1, true)
        {
            return both(at, or, or + 1, or + 1 + more);
        }
    }
    let (count, _) = day_in(s, at, now.date(), false)?;
    let or = at + count;
    let (more, _) = day_in(s, or + 1, now.date(), false).filter(|_| s.word(or) == "or")?;
    both(at, or, or + 1, or + 1 + more)
}

/// "except", "apart from", "but not on": the number of its words.
fn excepts(s: &Sentence, at: usize) -> Option<usize> {
    const LEADS: &[&[&str]] = &[
        &["apart", "from"],
        &["other", "than"],
        &["except", "for"],
        &["with", "the", "exception", "of"],
        &["except", "not"],
        &["but", "not"],
        &["and", "not"],
        &["just", "not"],
        &["only", "not"],
        &["but", "never"],
        &["though", "not"],
        &["except"],
        &["excepting"],
        &["excluding"],
        &["besides"],
        &["bar"],
        &["barring"],
        &["minus"],
        &["without"],
        &["but"],
        &["not"],
        &["never"],
    ];
    LEADS.iter().find(|words| s.has(at, words)).map(|words| words.len())
}

/// Days that are left out, at `at`: "except Sundays", "but not on weekends", "not tomorrow".
pub(crate) fn exception(s: &Sentence, at: usize, now: &Zoned) -> Option<Exception> {
    let (count, days, weekdays) = left_out(s, at, now)?;
    let end = at + count;
    let joined = weekdays.is_some()
        && (0..at).any(|from| every::every(s, from, now).is_some_and(|(count, _)| from + count >= end));
    Some(Exception { words: at..end, days, weekdays, joined })
}

/// The words of an exception at `at`, where its days begin, and its days of the week.
pub(super) fn left_out(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, usize, Option<BTreeSet<i8>>)> {
    let lead = excepts(s, at)?;
    let mut begin = at + lead;
    while ["on", "at", "in", "for", "the", "during", "over", "every", "any"].contains(&s.word(begin))
        && begin < at + lead + 2
    {
        begin += 1;
    }
    let mut set = BTreeSet::new();
    let mut end = begin;
    loop {
        let and = usize::from(end > begin && ["and", "or", "nor"].contains(&s.word(end)));
        let next = end + and;
        let next = next + usize::from(and > 0 && ["on", "at", "the"].contains(&s.word(next)));
        let named = |word: &str| weekday_named(word, true).or_else(|| weekday_named(word.strip_suffix('s')?, false));
        match (s.word(next), named(s.word(next))) {
            ("weekend" | "weekends", _) => set.extend([0, 6]),
            ("weekday" | "weekdays", _) => set.extend(1..6),
            (_, Some(day)) => {
                set.insert(Weekday::to_sunday_zero_offset(day));
            }
            _ => break,
        }
        end = next + 1;
    }
    if end > begin {
        return Some((end - at, begin, Some(set)));
    }
    let (count, free) = match (s.word(begin), s.word(begin + 1)) {
        ("bank" | "school" | "public" | "summer", "holiday" | "holidays") => (2, true),
        ("holidays" | "holiday", _) => (1, true),
        _ => (0, false),
    };
    if free {
        return Some((begin + count - at, begin, None));
    }
    let strong = ["except", "excepting", "excluding", "apart", "other", "with"].contains(&s.word(at))
        || s.has(at, &["but", "not"]);
    let month = month_named(s.word(begin)).map(|_| begin + 1);
    let part = (begin..begin + 2)
        .find(|at| part_named(s.word(*at).trim_end_matches('s')).is_some())
        .filter(|part| *part == begin || s.word(begin) == "the")
        .map(|part| part + 1);
    if let Some(end) = month.or(part).filter(|_| strong) {
        return Some((end - at, begin, None));
    }
    let lone = ["but", "bar", "minus", "without", "besides"].contains(&s.word(at));
    let (count, _) = day_in(s, begin, now.date(), true).filter(|_| !lone)?;
    Some((begin + count - at, begin, None))
}

/// The end or the beginning of a recurrence: "until Friday", "for two weeks", "from monday".
fn end(s: &Sentence, at: usize, now: &Zoned) -> Option<Several> {
    let recurs = |(from, count): (usize, usize)| from + count;
    let all = || (0..s.len()).filter_map(|from| every::every(s, from, now).map(|(count, _)| (from, count)));
    let word = s.word(at);
    let until = ["until", "till", "til"].contains(&word) || s.has(at, &["up", "to"]);
    let starts = ["from", "starting", "beginning"].contains(&word);
    let lasts = word == "for";
    // A recurrence is looked for only where its end may be.
    if until && reminds(s) && all().next().is_none() {
        return lasting(s, at, now);
    }
    if !until && !starts && !lasts
        || all().next().is_none()
        || all().any(|(from, count)| from < at && recurs((from, count)) > at)
    {
        return None;
    }
    let lead = usize::from(s.has(at, &["up", "to"]));
    let lead = 1 + lead + usize::from(["from", "on"].contains(&s.word(at + 1)));
    let next = at + lead;
    if until {
        let and = |count: usize| at..next + count;
        if let Some((count, day)) = day_in(s, next, now.date(), true) {
            return Some(Several::Until(and(count), End::On(day.last)));
        }
        if let Some(month) = month_named(s.word(next)) {
            return Some(Several::Until(and(1), End::On(coming(now.date(), month, 1)?)));
        }
        let (count, clock) = clock(s, next, true)?;
        let time = clock.time;
        let later = clock.dial && time <= now.time();
        let time = if later { time.wrapping_add(12.hours()) } else { time };
        return Some(Several::Until(and(count), End::At(time)));
    }
    if starts {
        let (count, day) = day_in(s, next, now.date(), true)?;
        return Some(Several::From(at..next + count, day.date));
    }
    let the = usize::from(s.word(next) == "the") + usize::from(s.word(next) == "the" && s.word(next + 1) == "next");
    let (count, span) = duration::duration(s, next + the)?;
    let long = span.get_days() > 0 || span.get_months() > 0;
    // "feed the cat for a week" may be what is to be done; behind the recurrence it is its end.
    let beside = all().any(|(from, n)| from + n == at || from == next + the + count);
    (long && beside).then(|| Several::Until(at..next + the + count, End::After(span)))
}

/// "at 7 until friday", which does not say how often.
fn lasting(s: &Sentence, at: usize, now: &Zoned) -> Option<Several> {
    let timed =
        (at.saturating_sub(5)..at).any(|from| clock(s, from, true).is_some_and(|(count, _)| from + count == at));
    let (count, _) = day_in(s, at + 1, now.date(), true).filter(|_| timed)?;
    Some(Several::Lasting(at..at + 1 + count))
}

/// "an hour before the dentist to leave": the words of the event, and of what is to be done.
fn before_event(s: &Sentence, at: usize) -> Option<Several> {
    let (count, _) = duration::duration(s, at).filter(|_| reminds(s))?;
    let the = at + count + 1;
    let named = s.word(the - 1) == "before" && ["the", "my", "our"].contains(&s.word(the));
    let to = (the + 2..s.len().min(the + 6)).find(|at| s.word(*at) == "to")?;
    (named && to + 1 < s.len()).then_some(Several::BeforeEvent(at..to))
}

/// "5 minutes before 7" in what is asked of a timer.
fn apart(s: &Sentence, at: usize) -> Option<Several> {
    if !s.mentions(&["timer", "timers", "countdown"]) {
        return None;
    }
    let (count, _) = duration::duration(s, at)?;
    let next = at + count;
    clock(s, next + 1, true).filter(|_| ["before", "after", "to", "past"].contains(&s.word(next)))?;
    Some(Several::Apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-23T09:00[Europe/London]".parse().unwrap()
    }

    fn found(text: &str) -> String {
        let s = Sentence::read(text);
        let words = |range: &Range<usize>| s.slice(range.start, range.end).to_owned();
        match all(&s, &now()).into_iter().next() {
            None => String::new(),
            Some(Several::NoSuchDay(range)) => format!("none: {}", words(&range)),
            Some(Several::Either(one, other)) => format!("{one} | {other}"),
            Some(Several::Days(range)) => {
                let (_, first, last) = days(&s, range.start, now().date()).unwrap();
                format!("{first}..{last}")
            }
            Some(Several::Except(it)) => {
                let joined = if it.joined { " joined" } else { "" };
                format!("without {}{joined}", s.slice(it.days, it.words.end))
            }
            Some(Several::Until(range, _)) => words(&range),
            Some(Several::Apart) => "apart".to_owned(),
            Some(Several::Lasting(range) | Several::BeforeEvent(range)) => words(&range),
            Some(Several::From(_, day)) => format!("from {day}"),
        }
    }

    #[test]
    fn times_of_several_parts_are_found() {
        for (text, wanted) in [
            ("holiday from 20 to 27 December", "2026-12-20..2026-12-27"),
            ("conference 12-14 march", "2027-03-12..2027-03-14"),
            ("we are in Spain from 3 to 10 January", "2027-01-03..2027-01-10"),
            ("away December 20 to 27", "2026-12-20..2026-12-27"),
            ("away from the 27th to the 29th", "2026-11-27..2026-11-29"),
            ("away 28th to 3rd of january", "2026-12-28..2027-01-03"),
            ("skiing from 28 december to 3 january", "2026-12-28..2027-01-03"),
            ("skiing from 1 october to 5 october", "2027-10-01..2027-10-05"),
            ("party from 6 to 8", ""),
            ("remind me at ten to eight", ""),
            ("remind me on the 31st of February to pay rent", "none: 31st of February"),
            ("wake me on 31 april at 7", "none: 31 april"),
            ("remind me on june 31st to pay", "none: june 31st"),
            ("remind me on 29 february", ""),
            ("remind me on 31 march to pay", ""),
            ("remind me in 2-3 days to call", "2 days | 3 days"),
            ("remind me in 2 or 3 days to call", "2 days | 3 days"),
            ("remind me in a day or two to call", "a day | two days"),
            ("remind me in an hour or so to call", ""),
            ("set a timer for 5 minutes before 7", "apart"),
            ("set a timer for 5 or 10 minutes", "5 minutes | 10 minutes"),
            ("remind me in 5 to 10 minutes to stir", "5 minutes | 10 minutes"),
            ("remind me at 7 or 8 to eat", "7 | 8"),
            ("remind me on monday or tuesday to call", "on monday | tuesday"),
            ("remind me to boil eggs for 5 or 6 minutes at 7", ""),
            ("remind me every day except Sunday to run", "without Sunday joined"),
            ("remind me to feed the cat every day at 7, not on sundays", "without sundays joined"),
            ("remind me every day to feed the cat except weekends", "without weekends"),
            ("alarm for 6 but not tomorrow", "without tomorrow"),
            ("wake me at 7 every day except bank holidays", "without bank holidays"),
            ("remind me every day until Friday to water", "until Friday"),
            ("remind me every day for a week to take pills", "for a week"),
            ("remind me every day from thursday to take pills", "from 2026-11-26"),
            ("remind me for a week every day at 8 to take pills", "for a week"),
            ("remind me every 2 hours until 9pm to drink", "until 9pm"),
            ("wake me at 7 until friday", "until friday"),
            ("remind me at 7 the shop is closed until friday", ""),
            ("remind me every month except august to pay", "without august"),
            ("remind me every hour except at night to drink", "without night"),
            ("remind me an hour before the dentist to leave", "an hour before the dentist"),
            ("remind me an hour before the dentist", ""),
            ("alarm at 7 from monday to friday", ""),
            ("remind me tomorrow to get everything but milk", ""),
        ] {
            assert_eq!(found(text), wanted, "{text}");
        }
    }
}
