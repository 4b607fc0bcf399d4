//! Sunrise and sunset in a command: "at sunset" once, "every day half an hour before sunrise".

use crate::{sentence::Sentence, slots::duration};
use serde_json::{Value, json};

const SUNSET: &[&str] = &["sunset", "sundown", "dusk", "nightfall"];
const SUNRISE: &[&str] = &["sunrise", "sunup", "dawn"];
/// The longest before or after it, in minutes.
const FARTHEST: i64 = 12 * 60;

/// A time by the sun.
pub(super) struct SunTime {
    event: &'static str,
    /// In minutes; negative before it.
    offset: i64,
    day: Day,
}

/// On which days.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Day {
    Every,
    Next,
    Today,
    Tomorrow,
}

/// The words for the days, before or after the time.
const DAYS: &[(&[&str], Day)] = &[
    (&["every", "day"], Day::Every),
    (&["each", "day"], Day::Every),
    (&["every", "evening"], Day::Every),
    (&["each", "evening"], Day::Every),
    (&["every", "night"], Day::Every),
    (&["every", "morning"], Day::Every),
    (&["each", "morning"], Day::Every),
    (&["daily"], Day::Every),
    (&["always"], Day::Every),
    (&["this", "evening"], Day::Today),
    (&["today"], Day::Today),
    (&["tonight"], Day::Today),
    (&["tomorrow"], Day::Tomorrow),
    (&["once"], Day::Next),
];

impl SunTime {
    /// A sentence without its time by the sun, and that time; `None` where there is none, or another one.
    pub fn apart(s: &Sentence) -> Option<(Sentence, Self)> {
        let of = |words: &[&str]| (0..s.len()).find(|at| words.contains(&s.word(*at)));
        let (event, at) = of(SUNSET).map(|at| ("sunset", at)).or_else(|| of(SUNRISE).map(|at| ("sunrise", at)))?;
        if s.mentions(&["until", "till", "unless", "if", "when"]) {
            return None;
        }
        let the = usize::from(at > 0 && s.word(at - 1) == "the");
        let lead = at.checked_sub(1 + the);
        let mut day = None;
        let (mut from, offset) = match lead.map_or("", |lead| s.word(lead)) {
            sign @ ("before" | "after") => {
                let lead = lead?;
                let (from, minutes) = (0..lead).find_map(|from| {
                    let (count, minutes) = duration::minutes(s, from)?;
                    (from + count == lead && minutes <= FARTHEST).then_some((from, minutes))
                })?;
                (from, if sign == "before" { -minutes } else { minutes })
            }
            "at" | "by" | "around" => (lead?, 0),
            "every" | "each" => {
                day = Some(Day::Every);
                (lead?, 0)
            }
            "next" => {
                day = Some(Day::Next);
                let lead = lead?;
                let lead = if lead > 0 && s.word(lead - 1) == "the" { lead - 1 } else { lead };
                (if lead > 0 && s.word(lead - 1) == "at" { lead - 1 } else { lead }, 0)
            }
            _ if at == 0 => (0, 0),
            _ => return None,
        };
        let mut to = at + 1;
        for (words, which) in DAYS {
            if from >= words.len() && s.has(from - words.len(), words) {
                from -= words.len();
            } else if s.has(to, words) {
                to += words.len();
            } else {
                continue;
            }
            // "every day tomorrow" is neither.
            if day.is_some_and(|day| day != *which) {
                return None;
            }
            day = Some(*which);
        }
        let mut tokens = s.tokens.clone();
        tokens.drain(from..to);
        Some((Sentence { tokens, ..s.clone() }, Self { event, offset, day: day.unwrap_or(Day::Next) }))
    }

    /// The trigger of a rule.
    pub fn trigger(&self) -> Value {
        let mut trigger = json!({"type": "sun", "event": self.event, "offsetMinutes": self.offset});
        match self.day {
            Day::Every => {}
            Day::Next => trigger["date"] = "next".into(),
            Day::Today => trigger["date"] = "today".into(),
            Day::Tomorrow => trigger["date"] = "tomorrow".into(),
        }
        trigger
    }

    /// The question whether to do that then: it says whether once or every day.
    pub fn question(&self, what: &str) -> String {
        let event = self.event;
        let plural = if self.offset.abs() == 1 { "" } else { "s" };
        let then = |event: &str| match self.offset {
            0 => format!("at {event}"),
            before @ ..0 => format!("{} minute{plural} before {event}", -before),
            after => format!("{after} minute{plural} after {event}"),
        };
        let once = match self.day {
            Day::Every => {
                return format!("Shall I make this a rule: every day {}, {what}? Say yes or no.", then(event));
            }
            Day::Next => then(&format!("the next {event}")),
            Day::Today => format!("{} today", then(event)),
            Day::Tomorrow => format!("{} tomorrow", then(event)),
        };
        format!("Shall I do this once, {once}: {what}? Say yes or no. With “every day” I do it daily.")
    }
}
