//! The times in a sentence about what is connected: for how long, at what moments, how often.

use super::has_run;
use crate::{
    sentence::Sentence,
    slots::{duration, every, when},
};
use jiff::Zoned;

/// The times of a sentence.
#[derive(Default)]
pub(super) struct Times {
    /// How long, as `PT10M`.
    pub lasts: Option<String>,
    /// A recurrence as a cron pattern.
    pub every: Option<String>,
    /// Times of day, in order, with a day's pattern applied by [`Times::pattern`].
    clocks: Vec<jiff::civil::Time>,
    /// Whether each of them was said without its half of the day: "at seven".
    bare: Vec<bool>,
    /// Moments, and where they are.
    pub moments: Vec<String>,
    pub at: Vec<usize>,
    pub until: bool,
    /// Whether a day is named without a time of day.
    pub vague: bool,
    pub sun: bool,
}

const SUN: &[&str] = &["dusk", "sunset", "sundown", "dawn", "sunrise", "sunup", "nightfall", "twilight"];
/// Words that tell the half of the day a time is in.
const HALVES: &[&str] = &["noon", "midday", "midnight", "morning", "afternoon", "evening", "night", "tonight"];

impl Times {
    pub fn read(s: &Sentence, now: &Zoned) -> Self {
        let mut found = Self { sun: s.mentions(SUN), ..Self::default() };
        let by_itself = has_run(s, &["by", "itself"])
            || s.mentions(&["daily", "automatically", "nightly"])
            || has_run(s, &["of", "an"])
            || has_run(s, &["of", "a"]);
        let mut i = 0;
        while i < s.len() {
            if let Some((count, text)) = every::every(s, i, now).filter(|_| found.every.is_none()) {
                // "every morning at half six": the time is part of it.
                if (i..i + count).any(|at| when::time(s, at, now).is_some()) {
                    found.clocks.extend(time_of(&text));
                    found.bare.resize(found.clocks.len(), false);
                    found.at.push(i);
                }
                found.every = Some(text);
                i += count;
                continue;
            }
            if ["for", "only"].contains(&s.word(i))
                && let Some((count, span)) = duration::duration(s, i + 1)
            {
                found.lasts = Some(span.to_string());
                i += 1 + count;
                continue;
            }
            let relative = ["in", "after"].contains(&s.word(i));
            if let Some((count, span)) = relative.then(|| duration::duration(s, i + 1)).flatten()
                && let Ok(at) = now.checked_add(span)
            {
                found.moments.push(at.datetime().strftime("%Y-%m-%dT%H:%M:%S").to_string());
                found.at.push(i);
                i += 1 + count;
                continue;
            }
            if let Some((count, span)) = duration::duration(s, i) {
                found.lasts = Some(span.to_string());
                i += count;
                continue;
            }
            let leads = ["at", "by", "until", "till", "off", "on", "to", "say", "around", "about"].contains(&s.word(i));
            let from = i + usize::from(leads && !matches!(s.word(i), "at"));
            let spoken = when::future(s, from, now)
                .or_else(|| if leads && from == i { when::future(s, i + 1, now) } else { None });
            let is_time = |count: usize| {
                leads
                    || (from..from + count).any(|at| {
                        s.word(at).contains(':')
                            || ["am", "pm", "noon", "midnight", "tonight", "tomorrow", "evening", "morning"]
                                .contains(&s.word(at))
                            || s.word(at).ends_with("pm")
                            || s.word(at).ends_with("am")
                    })
            };
            if let Some((count, moment)) = spoken.filter(|(count, _)| is_time(*count)) {
                found.until |= ["until", "till"].contains(&s.word(i));
                let of_day = |at: usize| {
                    let word = s.word(at);
                    word.contains(':') || word.ends_with("am") || word.ends_with("pm") || HALVES.contains(&word)
                };
                // "tomorrow" alone is no time to switch something at.
                found.vague |=
                    !(from..from + count).any(|at| when::time(s, at, now).is_some() || HALVES.contains(&s.word(at)));
                found.clocks.push(moment.time());
                found.bare.push(!(from..from + count).any(of_day));
                found.moments.push(moment.strftime("%Y-%m-%dT%H:%M:%S").to_string());
                found.at.push(i);
                i = from + count;
                continue;
            }
            i += 1;
        }
        // "on at half four of an afternoon", said without "every".
        if found.every.is_none() && by_itself && !found.moments.is_empty() {
            found.every = Some("0 9 * * *".to_owned());
        }
        if found.every.is_some() {
            // The times repeat.
            found.moments.clear();
            found.settle_halves();
        }
        if let Some(days) = found.every.as_mut().filter(|_| {
            has_run(s, &["not", "weekends"])
                || has_run(s, &["not", "at", "weekends"])
                || has_run(s, &["not", "on", "weekends"])
                || has_run(s, &["except", "weekends"])
        }) {
            *days = days.trim_end_matches('*').to_owned() + "1-5";
        }
        found
    }

    /// "on at seven every morning": seven is not the next seven o'clock, which may be in the evening.
    fn settle_halves(&mut self) {
        let afternoon = self.every.as_deref().and_then(time_of).is_some_and(|time| time.hour() >= 12);
        for (clock, bare) in self.clocks.iter_mut().zip(&self.bare) {
            if *bare && !afternoon && clock.hour() > 12 {
                *clock = jiff::civil::Time::constant(clock.hour() - 12, clock.minute(), 0, 0);
            }
        }
    }

    /// The cron pattern of the n-th time; a second time is later in the day than the first.
    pub fn pattern(&self, n: usize) -> Option<String> {
        let every = self.every.as_ref()?;
        let fields: Vec<&str> = every.split(' ').collect();
        let Some(clock) = self.clocks.get(n) else { return (n == 0).then(|| every.clone()) };
        let [_, _, day, month, weekday] = fields[..] else { return (n == 0).then(|| every.clone()) };
        let later = n > 0 && self.clocks.first().is_some_and(|first| clock <= first) && clock.hour() < 12;
        let hour = clock.hour() + if later { 12 } else { 0 };
        Some(format!("{} {hour} {day} {month} {weekday}", clock.minute()))
    }
}

fn time_of(cron: &str) -> Option<jiff::civil::Time> {
    let mut fields = cron.split(' ').map(str::parse::<i8>);
    let (minute, hour) = (fields.next()?.ok()?, fields.next()?.ok()?);
    jiff::civil::Time::new(hour, minute, 0, 0).ok()
}
