//! Times that are said but cannot be kept: a day that never comes, one of two times, a day that is left out. A wrong time is
//! worse than none, so that the answer says what is in the way, and nothing is done.

use super::{
    Request, event, remind,
    spans::{self, Is},
};
use crate::{
    sentence::Sentence,
    slots::{
        calendar::month_named,
        date::weekday_named,
        every,
        several::{self, End, Exception, Several},
    },
};
use jiff::{
    ToSpan, Zoned,
    civil::{Date, DateTime},
};

/// The answer to a sentence whose time cannot be kept.
pub(super) fn answer(s: &Sentence, now: &Zoned) -> Option<String> {
    if several::all(s, now).is_empty() || !wants_something(s, now) {
        return None;
    }
    said(s, now)
}

/// What is said of a time that cannot be kept, whatever it is for.
pub(super) fn said(s: &Sentence, now: &Zoned) -> Option<String> {
    let all = several::all(s, now);
    let said = |from: usize, to: usize| s.slice(from, to).to_owned();
    all.iter().find_map(|found| match found {
        Several::NoSuchDay(words) => {
            let words = said(words.start, words.end);
            let plain = words.split(' ').filter(|word| !["of", "the"].contains(word)).map(text_kit::capitalized);
            let day = plain.collect::<Vec<_>>().join(" ");
            Some(format!("There is no {day}, so I did nothing. Which day do you mean?"))
        }
        Several::Either(one, other) => Some(format!(
            "Do you mean {} or {}? I did nothing yet: say it again with one of them.",
            as_named(one.strip_prefix("on ").unwrap_or(one)),
            as_named(other)
        )),
        Several::Except(exception) => left_out(s, exception, now),
        Several::Until(_, End::At(time)) => {
            let moment = now.date().to_datetime(*time);
            (!runs_by_day(s, now) || moment <= now.datetime()).then(|| {
                "I can stop a repeating reminder only on a day, as in “remind me every day at 8 until Friday”. I did nothing.".to_owned()
            })
        }
        Several::From(_, day) => {
            let first = first_time(s, now)?;
            (several::reminds(s) && first.date() < *day).then(|| {
                "I cannot let a repeating reminder begin on a later day, so I did nothing. Say it again without the beginning, or on that day."
                    .to_owned()
            })
        }
        Several::Days(..) => several::reminds(s).then(|| {
            "I cannot remind you on each day between two dates, so I did nothing. I can on one day, or “every day until Friday”."
                .to_owned()
        }),
        Several::Apart => {
            Some("A timer counts from now. For a time of day say “wake me at 6:55” or “remind me at 6:55 to …”. I did nothing.".to_owned())
        }
        Several::Lasting(words) => Some(format!(
            "Do you mean every day {}? Then say “every day” as well. I did nothing yet.",
            as_named(&said(words.start, words.end))
        )),
        Several::BeforeEvent(words) => Some(format!(
            "Before something in your calendar I can remind you only of that: say “remind me {}”. I did nothing yet.",
            said(words.start, words.end)
        )),
        Several::Until(..) => None,
    })
}

/// Whether something is to be made at a time.
fn wants_something(s: &Sentence, now: &Zoned) -> bool {
    several::reminds(s)
        || s.mentions(&["calendar", "diary", "planner"])
        || remind::read(s, now).is_some()
        || event::read(s, now).is_some()
        || !s.asks
            && spans::find(s, now, false).iter().any(|span| matches!(&span.is, Is::Moment(phrase) if phrase.has_time))
}

/// What is left out, if it is no day of the week that the recurrence has lost already.
fn left_out(s: &Sentence, exception: &Exception, now: &Zoned) -> Option<String> {
    if exception.joined {
        return None;
    }
    let what = as_named(s.slice(exception.days, exception.words.end));
    let repeats = recurrence(s, now).is_some();
    Some(match repeats {
        true => format!(
            "I cannot leave out {what}, so I did nothing. I can leave out days of the week, as in “every day except Sunday at 7”."
        ),
        false => format!("If not {what}, which day do you mean? I did nothing yet: say it again with the day."),
    })
}

/// A day of the week or a month as it is written.
fn as_named(text: &str) -> String {
    let named = |word: &str| {
        let plain = word.to_lowercase();
        let plain = plain.trim_end_matches('s');
        weekday_named(plain, false).is_some() || month_named(plain).is_some() || plain == "christma"
    };
    let words = text.split(' ').map(|word| if named(word) { text_kit::capitalized(word) } else { word.to_owned() });
    words.collect::<Vec<_>>().join(" ")
}

/// The recurrence of a sentence: its first word, its number of words, its pattern.
fn recurrence(s: &Sentence, now: &Zoned) -> Option<(usize, usize, String)> {
    (0..s.len()).find_map(|at| every::every(s, at, now).map(|(count, text)| (at, count, text)))
}

/// Whether it runs several times a day, so that a time of day can end it.
fn runs_by_day(s: &Sentence, now: &Zoned) -> bool {
    recurrence(s, now).is_some_and(|(.., text)| {
        text == "0 * * * *" || text.starts_with("every") && (text.contains("minute") || text.contains("hour"))
    })
}

/// The first time of the recurrence that a sentence names.
fn first_time(s: &Sentence, now: &Zoned) -> Option<DateTime> {
    let found = spans::find(s, now, false);
    let meant = spans::meant(s, &found, now, false, 0)?;
    event::firsts(&meant.schedule, now.date(), now).and_then(|(starts, _)| starts.into_iter().min())
}

/// The sentence with an exception behind the recurrence that it belongs to, or without one that says again what day it is
/// not: "on friday, not thursday".
pub(super) fn mended(s: &Sentence, now: &Zoned) -> Option<Sentence> {
    let exception = several::all(s, now).into_iter().find_map(|found| match found {
        Several::Except(exception) if !exception.joined => Some(exception),
        _ => None,
    })?;
    let (from, to) = (exception.words.start, exception.words.end);
    let byte = |at: usize| s.tokens.get(at).map_or(s.text.len(), |token| token.start);
    let end_of = |at: usize| at.checked_sub(1).and_then(|at| s.tokens.get(at)).map_or(0, |token| token.end);
    let read = |text: String| Sentence { requests: s.requests, asks: s.asks, ..Sentence::read(&text) };
    match recurrence(s, now) {
        Some((at, count, _)) if exception.weekdays.is_some() && at + count <= from => {
            let end = end_of(at + count);
            let days = s.slice(exception.days, to);
            let without = format!(
                "{} except {days}{}{}",
                s.text.get(..end)?,
                s.text.get(end..end_of(from))?,
                s.text.get(end_of(to)..)?
            );
            let mended = read(without);
            let joined = several::all(&mended, now)
                .iter()
                .all(|found| !matches!(found, Several::Except(exception) if !exception.joined));
            joined.then_some(mended)
        }
        Some(_) => None,
        None => {
            let text = format!("{} {}", s.text.get(..end_of(from))?, s.text.get(byte(to)..)?);
            let mended = read(text);
            let days = spans::find(&mended, now, false).into_iter().any(|span| span.names_day());
            days.then_some(mended)
        }
    }
}

/// The last day of a repeating reminder, or the moment after which it ends, as an argument; and the words that say so.
pub(super) fn limit(s: &Sentence, now: &Zoned) -> Option<(std::ops::Range<usize>, Option<End>)> {
    several::all(s, now).into_iter().find_map(|found| match found {
        Several::Until(words, end) => Some((words, Some(end))),
        Several::From(words, _) => Some((words, None)),
        _ => None,
    })
}

/// The last day of a recurrence with this first day; `None` if it ends within a day.
pub(super) fn last_day(end: End, first: Option<Date>, now: &Zoned) -> Option<Date> {
    match end {
        End::On(day) => Some(day),
        End::At(_) => None,
        End::After(span) => first.unwrap_or(now.date()).checked_add(span).and_then(|day| day.checked_sub(1.day())).ok(),
    }
}

/// Puts the end of a recurrence into the call that makes it.
pub(super) fn ended(request: &mut Request, end: End, now: &Zoned) {
    let first = |schedule: &serde_json::Value| -> Option<Date> {
        event::firsts(schedule, now.date(), now).and_then(|(starts, _)| starts.into_iter().map(DateTime::date).min())
    };
    let of = |schedule: &serde_json::Value| match end {
        End::At(time) => Some(now.date().to_datetime(time).strftime("%Y-%m-%dT%H:%M").to_string()),
        _ => last_day(end, first(schedule), now).map(|day| day.to_string()),
    };
    let calls = std::iter::once(&mut request.arguments).chain(request.more.iter_mut().map(|(_, given)| given));
    for arguments in calls {
        if let Some(last) = arguments.get("schedule").and_then(of) {
            arguments.insert("endAt".to_owned(), last.into());
        }
    }
}
