//! The times in a sentence, wherever they are, and what they mean together.

use crate::{
    sentence::Sentence,
    slots::{
        clock::{clock, part_of_day},
        date::weekday_named,
        duration, every, several,
        when::{self, Hours, Phrase, When},
    },
};
use jiff::{
    Span as Length, ToSpan, Zoned,
    civil::{Date, DateTime},
};
use serde_json::{Value, json};
use std::ops::Range;

/// A time in a sentence.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub words: Range<usize>,
    pub is: Is,
}

#[derive(Debug, Clone)]
pub(crate) enum Is {
    /// A recurrence, as the scheduler writes it; whether it names a time of day.
    Every(String, bool),
    /// Every second week on a weekday (Sunday is 0).
    Fortnightly(i8),
    Moment(Phrase),
    Length,
    /// Several whole days: "from 20 to 27 December".
    Days(Date, Date),
    /// "the day before", "30 minutes before that": so much earlier than another time; whole days keep no time of day but
    /// an hour of their own, or none.
    Before(Length, Option<i8>),
}

/// The times of a sentence, in order. `early` reads hours for waking somebody.
pub(crate) fn find(s: &Sentence, now: &Zoned, early: bool) -> Vec<Span> {
    let (mut all, mut at) = (vec![], 0);
    while at < s.len() {
        let Some((count, is)) = one(s, at, now, early) else {
            at += 1;
            continue;
        };
        all.push(Span { words: at..at + count, is });
        at += count;
    }
    all
}

fn one(s: &Sentence, at: usize, now: &Zoned, early: bool) -> Option<(usize, Is)> {
    let days = || several::days(s, at, now.date()).map(|(count, first, last)| (count, Is::Days(first, last)));
    if let Some(found) = fortnightly(s, at).or_else(|| before(s, at)).or_else(days) {
        return Some(found);
    }
    let timed = |from: usize, count: usize| {
        (from..from + count).any(|i| clock(s, i, i > from).is_some() || part_of_day(s, i, true).is_some())
    };
    let recurring = every::every(s, at, now).map(|(count, text)| (count, Is::Every(text, timed(at, count))));
    const BARE: &[&str] = &["at", "by", "around", "about", "like", "say", "approx", "roughly", "from"];
    let bare = s.word(at) == "at" || at > 0 && BARE.contains(&s.word(at - 1));
    let slot = at > 0 && ["on", "from", "by", "is", "until", "to"].contains(&s.word(at - 1));
    let phrase = when::spoken(s, at, now, Hours { bare, early, slot }).map(|phrase| (phrase.count, Is::Moment(phrase)));
    let length = duration::duration(s, at).map(|(count, _)| (count, Is::Length));
    let soon = when::in_minutes(s, at).map(|(count, span)| {
        let moment = now.checked_add(span).map_or_else(|_| now.datetime(), |then| then.datetime());
        let (when, last) = (When::At(moment), moment.date());
        (
            count,
            Is::Moment(Phrase { count, when, relative: true, has_day: true, has_time: true, has_part: false, last }),
        )
    });
    // The longest; of equals the first.
    let all = [recurring, phrase, length, soon].into_iter().flatten();
    all.reduce(|best, next| if next.0 > best.0 { next } else { best })
}

/// "every other thursday", "alternate fridays", "every two weeks on monday".
fn fortnightly(s: &Sentence, at: usize) -> Option<(usize, Is)> {
    let lead = match (s.word(at), s.word(at + 1), s.word(at + 2)) {
        ("every" | "each", "two" | "2" | "second" | "other", "weeks" | "week") => 3,
        ("every" | "each", "other" | "second" | "2nd", _) => 2,
        ("alternate", ..) => 1,
        ("fortnightly", ..) => 1,
        ("every", "fortnight", _) => 2,
        _ => return None,
    };
    let on = usize::from(s.word(at + lead) == "on");
    let word = s.word(at + lead + on);
    let day = weekday_named(word, true).or_else(|| weekday_named(word.strip_suffix('s')?, true))?;
    Some((lead + on + 1, Is::Fortnightly(day.to_sunday_zero_offset())))
}

/// "the day before", "the night before", "30 minutes before that", "an hour beforehand".
fn before(s: &Sentence, at: usize) -> Option<(usize, Is)> {
    let the = usize::from(s.word(at) == "the");
    let hour = match (s.word(at + the), s.word(at + the + 1)) {
        ("day", "before") if s.word(at + the + 2) != "yesterday" => Some(None),
        ("night" | "evening", "before") => Some(Some(20)),
        ("morning", "before") => Some(Some(8)),
        _ => None,
    };
    let ends = |next: usize| {
        let after = s.word(next);
        let more = usize::from(["that", "it", "then", "hand"].contains(&after));
        let clause = ["the", "my", "our", "i", "we", "he", "she", "they", "a", "his", "her"].contains(&after);
        (!clause).then_some(more)
    };
    if let Some(hour) = hour {
        return Some((the + 2 + ends(at + the + 2)?, Is::Before(1.day(), hour)));
    }
    let (count, length) = duration::duration(s, at)?;
    match s.word(at + count) {
        "before" | "ahead" => Some((count + 1 + ends(at + count + 1)?, Is::Before(length, None))),
        "beforehand" | "prior" => Some((count + 1, Is::Before(length, None))),
        _ => None,
    }
}

/// What the times of a sentence mean together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meant {
    /// As an argument of a schedule.
    pub schedule: Value,
    /// The spans it is made of, as indexes.
    pub of: Vec<usize>,
    /// Whether a time of day was said.
    pub has_time: bool,
}

/// The moment or recurrence that the spans mean; `near` is the word it should be near to.
pub(crate) fn meant(s: &Sentence, spans: &[Span], now: &Zoned, early: bool, near: usize) -> Option<Meant> {
    let indexes =
        |fits: &dyn Fn(&Is) -> bool| -> Vec<usize> { (0..spans.len()).filter(|i| spans[*i].is_some(fits)).collect() };
    let recurring = indexes(&|is| matches!(is, Is::Every(..)));
    let every_second = indexes(&|is| matches!(is, Is::Fortnightly(_)));
    let full = indexes(&|is| matches!(is, Is::Moment(p) if p.has_day && p.has_time));
    let days = indexes(&|is| matches!(is, Is::Moment(p) if p.has_day && !p.has_time));
    let clocks = indexes(&|is| matches!(is, Is::Moment(p) if !p.has_day));
    let before = indexes(&|is| matches!(is, Is::Before(..)));
    let nearest = |of: &[usize]| {
        let away = |i: &&usize| {
            let words = &spans[**i].words;
            // What follows the word is nearer than what precedes it.
            if words.start >= near { words.start - near } else { near - words.end.min(near) + 3 }
        };
        of.iter().min_by_key(away).copied()
    };
    let words = |i: usize| s.slice(spans[i].words.start, spans[i].words.end).to_owned();
    let clock_words = |i: usize| {
        let text = words(i);
        if text.to_lowercase().starts_with("at ") { text } else { format!("at {text}") }
    };
    if let Some(i) = every_second.first().copied() {
        let Is::Fortnightly(day) = spans[i].is else { return None };
        let clock = nearest(&clocks);
        let mut first = weekday_after(now, day)?;
        let (mut of, mut hour, mut minute) = (vec![i], 9, 0);
        if let Some(b) = before.first().copied() {
            let Is::Before(length, own) = spans[b].is else { return None };
            (first, hour) = (first.checked_sub(length).ok()?, own.unwrap_or(hour));
            of.push(b);
            if first <= now.date() {
                first = first.checked_add(14.days()).ok()?;
            }
        }
        if let Some(c) = clock
            && let Some((time, _)) = time_near(&clock_words(c), hour, now)
        {
            (hour, minute) = time;
            of.push(c);
        }
        let from = first.at(hour, minute, 0, 0).strftime("%Y-%m-%dT%H:%M").to_string();
        let has_time = clock.is_some() || !before.is_empty();
        return Some(Meant { schedule: json!({"type": "interval", "every": "2 weeks", "from": from}), of, has_time });
    }
    if let Some(i) = recurring.first().copied() {
        let Is::Every(text, timed) = &spans[i].is else { return None };
        let (mut text, mut of, mut timed) = (text.clone(), vec![i], *timed);
        if let Some(c) = nearest(&clocks).filter(|_| !timed) {
            let whole = Sentence::whole(&format!("{} {}", words(i), clock_words(c)));
            let whole = if early { Sentence::whole(&format!("{} alarm", whole.text)) } else { whole };
            let read = every::every(&whole, 0, now)?;
            (text, timed) = (read.1, true);
            of.push(c);
        }
        if let Some(b) = before.first().copied() {
            let Is::Before(length, own) = &spans[b].is else { return None };
            text = earlier(&text, length, *own)?;
            of.push(b);
        }
        return Some(Meant { schedule: text.into(), of, has_time: timed });
    }
    let (mut moment, mut of, has_time) = if let (Some(d), Some(c)) = (nearest(&days), nearest(&clocks)) {
        let day = words(d);
        let hours = Hours { bare: true, early, slot: true };
        let text = format!("{day} {}", clock_words(c));
        let read = when::coming(&Sentence::whole(&text), 0, now, hours)?;
        (read.1, vec![d, c], true)
    } else if let Some(i) = nearest(&[&full[..], &clocks].concat()) {
        let Is::Moment(phrase) = spans[i].is else { return None };
        let When::At(moment) = phrase.when else { return None };
        (moment, vec![i], true)
    } else if let Some(i) = nearest(&days) {
        let hours = Hours { bare: true, early, slot: true };
        let read = when::coming(&Sentence::whole(&words(i)), 0, now, hours)?;
        let has_part = matches!(&spans[i].is, Is::Moment(phrase) if phrase.has_part);
        (read.1, vec![i], has_part)
    } else {
        return None;
    };
    if let Some(b) = before.first().copied() {
        let Is::Before(length, own) = &spans[b].is else { return None };
        moment = moment.checked_sub(*length).ok()?;
        if length.get_days() > 0
            && let Some(hour) = own
        {
            moment = moment.date().at(*hour, 0, 0, 0);
        }
        of.push(b);
    }
    (moment > now.datetime()).then(|| Meant { schedule: When::At(moment).iso().into(), of, has_time })
}

impl Span {
    /// Whether it names a day that is still to come, or days that repeat.
    pub fn names_day(&self) -> bool {
        match &self.is {
            Is::Moment(phrase) => phrase.has_day,
            Is::Every(..) | Is::Fortnightly(_) | Is::Days(..) => true,
            Is::Length | Is::Before(..) => false,
        }
    }

    fn is_some(&self, fits: &dyn Fn(&Is) -> bool) -> bool {
        fits(&self.is)
    }
}

fn weekday_after(now: &Zoned, day: i8) -> Option<jiff::civil::Date> {
    let day = jiff::civil::Weekday::from_sunday_zero_offset(day).ok()?;
    now.date().nth_weekday(1, day).ok()
}

/// The hour and minute of a clock, in the half of the day that `about` is in.
fn time_near(words: &str, about: i8, now: &Zoned) -> Option<((i8, i8), usize)> {
    let s = Sentence::whole(words);
    let (count, clock) = clock(&s, 0, true)?;
    let _ = now;
    let time = clock.time;
    let later = clock.dial && (about >= 12 || time.hour() < 6);
    let hour = if later { (time.hour() + 12) % 24 } else { time.hour() };
    Some(((hour, time.minute()), count))
}

/// A weekly cron pattern so much earlier; `None` for any other.
fn earlier(cron: &str, length: &Length, own: Option<i8>) -> Option<String> {
    let parts: Vec<&str> = cron.split(' ').collect();
    let [minute, hour, "*", "*", days] = parts[..] else { return None };
    let (minute, hour): (i64, i64) = (minute.parse().ok()?, hour.parse().ok()?);
    let minutes = i64::from(length.get_days()) * 1440 + i64::from(length.get_hours()) * 60 + length.get_minutes();
    let start = match own {
        Some(own) if length.get_days() > 0 => i64::from(own) * 60 - 1440,
        _ => hour * 60 + minute - minutes,
    };
    let (shift, of_day) = (start.div_euclid(1440), start.rem_euclid(1440));
    let days = match days {
        "*" => "*".to_owned(),
        "1-5" if shift == 0 => days.to_owned(),
        _ => {
            let moved = days.split(',').map(|day| Some((day.parse::<i64>().ok()? + shift).rem_euclid(7).to_string()));
            moved.collect::<Option<Vec<_>>>()?.join(",")
        }
    };
    Some(format!("{} {} * * {days}", of_day % 60, of_day / 60))
}

/// The moment, if it is one.
pub(crate) fn moment(schedule: &Value) -> Option<DateTime> {
    schedule.as_str()?.parse().ok()
}
