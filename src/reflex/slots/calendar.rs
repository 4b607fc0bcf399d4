//! Calendar dates: "3 October", "the 4th of July 2027", "christmas", "2026-11-20".

use super::{
    date::{DateKind, Day, weekday_named},
    number,
};
use crate::sentence::Sentence;
use jiff::{ToSpan, civil::Date};

pub(super) fn calendar(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    let on = usize::from(["on", "by"].contains(&s.word(at)));
    let at = at + on;
    let (count, date) = numeric_date(s, at, today)
        .or_else(|| named(s, at, today))
        .or_else(|| day_and_month(s, at, today))
        .or_else(|| (on == 1).then(|| day_of_month(s, at, today))?)?;
    Some((on + count, Day::one(date, DateKind::Calendar)))
}

/// `2026-11-21`, `21.11.2026`, `21/11/2026`.
pub(super) fn numeric_date(s: &Sentence, at: usize, _today: Date) -> Option<(usize, Date)> {
    let word = s.word(at);
    if word.len() == 10 && word.as_bytes().get(4) == Some(&b'-') {
        return Some((1, word.parse().ok()?));
    }
    let dotted: Vec<i16> = word.split('.').filter_map(|n| n.parse().ok()).collect();
    let (count, parts) = match dotted.as_slice() {
        [d, m, y] => (1, [*d, *m, *y]),
        _ if s.word(at + 1) == "/" && s.word(at + 3) == "/" => {
            (5, [word.parse().ok()?, s.word(at + 2).parse().ok()?, s.word(at + 4).parse().ok()?])
        }
        _ => return None,
    };
    let [d, m, y] = parts;
    let y = if y < 100 { y + 2000 } else { y };
    let date = |day: i16, month: i16| Date::new(y, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    Some((count, date(d, m).or_else(|| date(m, d))?))
}

/// Named days.
fn named(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    const NAMED: &[(&str, i8, i8)] = &[
        ("christmas eve", 12, 24),
        ("christmas day", 12, 25),
        ("christmas", 12, 25),
        ("xmas", 12, 25),
        ("boxing day", 12, 26),
        ("new year's eve", 12, 31),
        ("new years eve", 12, 31),
        ("new year's day", 1, 1),
        ("new years day", 1, 1),
        ("new year's", 1, 1),
        ("new year", 1, 1),
        ("valentine's day", 2, 14),
        ("valentines day", 2, 14),
        ("valentine's", 2, 14),
        ("st patrick's day", 3, 17),
        ("april fool's day", 4, 1),
        ("april fools day", 4, 1),
        ("halloween", 10, 31),
    ];
    /// Days relative to Easter Sunday.
    const MOVING: &[(&str, i64)] = &[
        ("easter sunday", 0),
        ("easter monday", 1),
        ("easter", 0),
        ("good friday", -2),
        ("pentecost", 49),
        ("whit sunday", 49),
        ("whit monday", 50),
    ];
    let is = |name: &str| name.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w);
    if let Some((name, month, day)) = NAMED.iter().find(|(name, ..)| is(name)) {
        return Some((name.split(' ').count(), coming(today, *month, *day)?));
    }
    let (name, days) = MOVING.iter().find(|(name, _)| is(name))?;
    let dates = (0..2).filter_map(|i| easter(today.year() + i)?.checked_add(days.days()).ok());
    Some((name.split(' ').count(), dates.into_iter().find(|date| *date >= today)?))
}

/// Easter Sunday of a year of the Gregorian calendar, by the anonymous computus.
fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
    let l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    let m = (a + 11 * h + 22 * l) / 451;
    let n = h + l - 7 * m + 114;
    Date::new(year, i8::try_from(n / 31).ok()?, i8::try_from(n % 31 + 1).ok()?).ok()
}

/// The next such date, today included.
pub(super) fn coming(today: Date, month: i8, day: i8) -> Option<Date> {
    (0..9).filter_map(|i| Date::new(today.year() + i, month, day).ok()).find(|date| *date >= today)
}

/// "3 October", "the 4th of July 2027", "October 3rd".
pub(super) fn day_and_month(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    let the = usize::from(s.word(at) == "the");
    let day_first = || {
        let (count, day) = day_number(s, at + the)?;
        let of = usize::from(s.word(at + the + count) == "of");
        let month = month_named(s.word(at + the + count + of))?;
        Some((the + count + of + 1, month, day))
    };
    let month_first = || {
        let month = month_named(s.word(at))?;
        let the = usize::from(s.word(at + 1) == "the");
        let (count, day) = day_number(s, at + 1 + the)?;
        Some((1 + the + count, month, day))
    };
    let (count, month, day) = day_first().or_else(month_first)?;
    match s.word(at + count).parse::<i16>() {
        Ok(year) if (1900..2200).contains(&year) => Some((count + 1, Date::new(year, month, day).ok()?)),
        _ => Some((count, coming(today, month, day)?)),
    }
}

/// "the 4th": of this month, or of the next one that has it.
pub(super) fn day_of_month(s: &Sentence, at: usize, today: Date) -> Option<(usize, Date)> {
    let (count, day) = ordinal(s, at + 1).filter(|_| s.word(at) == "the")?;
    Some((count + 1, coming_day(today, day)?))
}

/// The next date with this day of the month, today included.
pub(super) fn coming_day(today: Date, day: i8) -> Option<Date> {
    let first = today.first_of_month();
    (0..12)
        .filter_map(|i| first.checked_add(i.months()).ok())
        .filter_map(|month| Date::new(month.year(), month.month(), day).ok())
        .find(|date| *date >= today)
}

/// Whether a weekday, a month or a day number is at `at`.
pub(crate) fn names_day(s: &Sentence, at: usize) -> bool {
    weekday_named(s.word(at), true).is_some() || month_named(s.word(at)).is_some() || ordinal(s, at).is_some()
}

pub(super) fn day_number(s: &Sentence, at: usize) -> Option<(usize, i8)> {
    ordinal(s, at).or_else(|| {
        let (count, n) = number::whole(s, at)?;
        (1..=31).contains(&n).then_some((count, n as i8))
    })
}

/// "4th", "fourth", "twenty first".
pub(super) fn ordinal(s: &Sentence, at: usize) -> Option<(usize, i8)> {
    const WORDS: &[&str] = &[
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "seventeenth",
        "eighteenth",
        "nineteenth",
        "twentieth",
    ];
    let word = s.word(at);
    let small = |word: &str| WORDS.iter().position(|w| *w == word).map(|i| i as i8 + 1);
    if let Some(n) = small(word) {
        return Some((1, n));
    }
    match word {
        "thirtieth" => return Some((1, 30)),
        "twenty" => return small(s.word(at + 1)).filter(|n| *n < 10).map(|n| (2, n + 20)),
        "thirty" if s.word(at + 1) == "first" => return Some((2, 31)),
        _ => {}
    }
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending))?;
    digits.parse().ok().filter(|n| (1..=31).contains(n)).map(|n| (1, n))
}

pub(crate) fn month_named(word: &str) -> Option<i8> {
    const MONTHS: &[(&str, &str)] = &[
        ("january", "jan"),
        ("february", "feb"),
        ("march", "mar"),
        ("april", "apr"),
        ("may", "may"),
        ("june", "jun"),
        ("july", "jul"),
        ("august", "aug"),
        ("september", "sep"),
        ("october", "oct"),
        ("november", "nov"),
        ("december", "dec"),
    ];
    MONTHS.iter().position(|(full, short)| *full == word || *short == word).map(|i| i as i8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::date::{day, day_in};

    fn today() -> Date {
        Date::constant(2026, 11, 20)
    }

    #[test]
    fn days_with_names_are_known() {
        for (year, month, day) in [(2024, 3, 31), (2025, 4, 20), (2026, 4, 5), (2027, 3, 28), (2038, 4, 25)] {
            assert_eq!(easter(year), Some(Date::constant(year, month, day)));
        }
        for (text, wanted) in [
            ("easter", "2027-03-28"),
            ("good friday", "2027-03-26"),
            ("christmas", "2026-12-25"),
            ("new year's eve", "2026-12-31"),
            ("new year", "2027-01-01"),
        ] {
            let got = day(&Sentence::whole(text), 0, today()).map(|(_, day)| day.date.to_string());
            assert_eq!(got.as_deref(), Some(wanted), "{text}");
        }
        let s = Sentence::whole("the 24th");
        assert_eq!(day(&s, 0, today()), None);
        assert_eq!(day_in(&s, 0, today(), true).map(|(_, d)| d.date), Some(Date::constant(2026, 11, 24)));
    }
}
