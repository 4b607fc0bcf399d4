//! Questions about dates, which need no tool: "what date is next tuesday", "what day is 3 October 2027".

use crate::{
    sentence::Sentence,
    slots::{
        date::{self, DateKind, Day, Reach},
        number, when,
    },
};
use jiff::{Zoned, civil::Date};
use text_kit::{capitalized, clock_words, day_words};

/// A sentence with the date a phrase means; `None` if it means none.
pub(crate) fn day_sentence(phrase: &str, now: &Zoned) -> Option<String> {
    let s = Sentence::whole(phrase);
    let on = usize::from(["on", "by"].contains(&s.word(0)));
    let (_, day) = date::day(&s, on, now.date()).or_else(|| date::day(&s, 0, now.date()))?;
    let verb = if ends_before(&day, now.date()) { "was" } else { "is" };
    if day.reach == Reach::Day && day.said == DateKind::Calendar {
        return Some(format!("{} {verb} a {}.", long(day.date), day.date.strftime("%A")));
    }
    let means = match day.reach {
        Reach::Week => format!("the week from Monday, {}", long(day.date)),
        Reach::Month => day.date.strftime("%B %Y").to_string(),
        Reach::Year => day.date.strftime("%Y").to_string(),
        // The weekday is omitted if the phrase names it.
        Reach::Day if names_weekday(&s) => long(day.date),
        Reach::Day => format!("{}, {}", day.date.strftime("%A"), long(day.date)),
    };
    Some(format!("{} {verb} {means}.", subject(s.slice(on, s.len()))))
}

/// A sentence with the end of a duration from now: "in 2 hours".
pub(crate) fn moment(phrase: &str, now: &Zoned) -> Option<String> {
    let found = when::when(&Sentence::whole(phrase), 0, now)?;
    let verb = if phrase.ends_with("ago") { "was" } else { "is" };
    let words = match found.when {
        when::When::At(at) if at.date() == now.date() => clock_words(at.time()),
        when::When::At(at) => format!("{} at {}", day_words(at.date(), now.date()), clock_words(at.time())),
        when::When::Day(day) => day_words(day, now.date()),
        other => other.label(),
    };
    Some(format!("{} it {verb} {words}.", subject(phrase)))
}

/// Whether a date range ends before today.
fn ends_before(day: &Day, today: Date) -> bool {
    match day.reach {
        Reach::Day => day.date < today,
        Reach::Week | Reach::Month | Reach::Year => day.date < today && day.said == DateKind::Relative,
    }
}

fn long(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

fn names_weekday(s: &Sentence) -> bool {
    (0..s.len()).any(|at| date::weekday_named(s.word(at), true).is_some())
}

/// The phrase at the start of a sentence: "Next Tuesday", "The day after tomorrow".
fn subject(phrase: &str) -> String {
    let words = phrase.split_whitespace().enumerate().map(|(i, word)| {
        let low = word.to_lowercase();
        if i == 0 || date::weekday_named(&low, false).is_some() { capitalized(&low) } else { low }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The nonexistent date a question consists of: "31 february".
pub(crate) fn no_such_day(s: &Sentence) -> Option<String> {
    const OPENINGS: &[&[&str]] = &[
        &["what", "date", "is"],
        &["what", "day", "is"],
        &["which", "date", "is"],
        &["which", "day", "is"],
        &["what", "weekday", "is"],
        &["what", "day", "was"],
        &["what", "date", "was"],
        &["when", "is"],
        &["what", "day", "of", "the", "week", "is"],
        &["what", "is", "the", "date", "of"],
    ];
    const SMALL: &[&str] = &["the", "of", "on", "next", "last", "this", "coming", "/"];
    let opening = OPENINGS.iter().filter(|words| s.has(0, words)).map(|words| words.len()).max()?;
    let of_date = |at: usize| {
        let word = s.word(at);
        let dotted = word.split('.').all(|n| n.parse::<u16>().is_ok());
        let iso = word.split('-').all(|n| n.parse::<u16>().is_ok());
        dotted || iso || date::names_day(s, at) || number::whole(s, at).is_some()
    };
    let words = opening..s.len();
    let dates = words.clone().filter(|at| of_date(*at)).count();
    let small = words.filter(|at| SMALL.contains(&s.word(*at))).count();
    (dates > 0 && opening + dates + small == s.len()).then(|| s.slice(opening, s.len()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_told() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (phrase, wanted) in [
            ("next tuesday", "Next Tuesday is 24 November 2026."),
            ("Friday", "Friday is 27 November 2026."),
            ("last monday", "Last Monday was 16 November 2026."),
            ("on friday the 4th", "Friday the 4th is 4 December 2026."),
            ("tomorrow", "Tomorrow is Saturday, 21 November 2026."),
            ("the day after tomorrow", "The day after tomorrow is Sunday, 22 November 2026."),
            ("3 october 2027", "3 October 2027 is a Sunday."),
            ("2026-01-01", "1 January 2026 was a Thursday."),
            ("christmas", "25 December 2026 is a Friday."),
            ("in 3 weeks", "In 3 weeks is Friday, 11 December 2026."),
            ("next week", "Next week is the week from Monday, 23 November 2026."),
            ("last month", "Last month was October 2026."),
        ] {
            assert_eq!(day_sentence(phrase, &now).as_deref(), Some(wanted), "{phrase}");
        }
        assert_eq!(day_sentence("31 february", &now), None);
    }

    #[test]
    fn days_that_never_come_are_found() {
        let none = |text| no_such_day(&Sentence::read(text));
        assert_eq!(none("what day is 31 February?").as_deref(), Some("31 February"));
        assert_eq!(none("what date is friday the 13th").as_deref(), Some("friday the 13th"));
        assert_eq!(none("what day is 30.02.2027").as_deref(), Some("30.02.2027"));
        assert_eq!(none("what day is the party"), None);
        assert_eq!(none("what day is the party on friday"), None);
        assert_eq!(none("when is"), None);
    }
}
