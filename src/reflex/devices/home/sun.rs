//! Sunrise and sunset in a command: "at sunset", "every day half an hour before sunrise".

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
}

impl SunTime {
    /// A sentence without its time by the sun, and that time; `None` where there is none, or another one.
    pub fn apart(s: &Sentence) -> Option<(Sentence, Self)> {
        let of = |words: &[&str]| (0..s.len()).find(|at| words.contains(&s.word(*at)));
        let (event, at) = of(SUNSET).map(|at| ("sunset", at)).or_else(|| of(SUNRISE).map(|at| ("sunrise", at)))?;
        // The rule is there every day.
        if s.mentions(&["today", "tonight", "tomorrow", "until", "till", "unless", "if", "when"]) {
            return None;
        }
        let the = usize::from(at > 0 && s.word(at - 1) == "the");
        let lead = at.checked_sub(1 + the);
        let (mut from, offset) = match lead.map_or("", |lead| s.word(lead)) {
            sign @ ("before" | "after") => {
                let lead = lead?;
                let (from, minutes) = (0..lead).find_map(|from| {
                    let (count, minutes) = duration::minutes(s, from)?;
                    (from + count == lead && minutes <= FARTHEST).then_some((from, minutes))
                })?;
                (from, if sign == "before" { -minutes } else { minutes })
            }
            "at" | "by" | "around" | "every" | "each" => (lead?, 0),
            _ if at == 0 => (0, 0),
            _ => return None,
        };
        let mut to = at + 1;
        for daily in [&["every", "day"][..], &["each", "day"], &["every", "evening"], &["every", "morning"], &["daily"]]
        {
            if from >= daily.len() && s.has(from - daily.len(), daily) {
                from -= daily.len();
            } else if s.has(to, daily) {
                to += daily.len();
            }
        }
        let mut tokens = s.tokens.clone();
        tokens.drain(from..to);
        Some((Sentence { tokens, ..s.clone() }, Self { event, offset }))
    }

    /// The trigger of a rule.
    pub fn trigger(&self) -> Value {
        json!({"type": "sun", "event": self.event, "offsetMinutes": self.offset})
    }

    /// "every day at sunset", "every day 30 minutes before sunrise".
    pub fn words(&self) -> String {
        let event = self.event;
        let plural = if self.offset.abs() == 1 { "" } else { "s" };
        match self.offset {
            0 => format!("every day at {event}"),
            before @ ..0 => format!("every day {} minute{plural} before {event}", -before),
            after => format!("every day {after} minute{plural} after {event}"),
        }
    }
}
