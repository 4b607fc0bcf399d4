//! "from 6 to 8 pm on 12 December": the sentence with its beginning alone, and when it ends.

use crate::{
    sentence::Sentence,
    slots::clock::{Clock, hour},
};
use jiff::{
    ToSpan,
    civil::{DateTime, Time},
};
use serde_json::Value;

/// The sentence with "at 18:00" in the place of "from 6 to 8 pm", and the end.
pub(crate) fn without_end(s: &Sentence) -> Option<(String, Time)> {
    (0..s.len()).find_map(|at| {
        let lead = usize::from(["from", "between"].contains(&s.word(at)));
        let (count, begin) = hour(s, at + lead)?;
        let joint = at + lead + count;
        let joined = match s.word(joint) {
            "to" | "until" | "till" | "-" | "–" => lead == 1 || s.word(joint) != "to",
            "and" => s.word(at) == "between",
            _ => false,
        };
        let (more, end) = hour(s, joint + 1).filter(|_| joined)?;
        // "turn 5 - 3" has no time, and neither has "from 2 to 4 people".
        let marked = |at: usize| ["am", "pm", "noon", "midnight"].contains(&s.word(at)) || s.word(at).contains(':');
        let after = s.word(joint + 1 + more);
        let plain = after.is_empty()
            || ["on", "tomorrow", "today", "tonight", "next", "this", "in", "at", "with", "for"].contains(&after);
        let said = (at..joint + 1 + more).any(marked) || lead == 1 && plain;
        if !said {
            return None;
        }
        let (begin, end) = both(begin, end);
        let lead_before = at.checked_sub(1).is_some_and(|at| ["at", "for"].contains(&s.word(at)));
        let first = if lead_before { at - 1 } else { at };
        let (from, to) = (s.tokens.get(first)?.start, s.tokens.get(joint + more)?.end);
        let text = format!("{}at {}{}", s.text.get(..from)?, begin.strftime("%H:%M"), s.text.get(to..)?);
        Some((text, end))
    })
}

/// Both times on the same half of the day if they can be: "6 to 8 pm", "11 to 1 pm".
fn both(begin: Clock, end: Clock) -> (Time, Time) {
    let later = |clock: Clock| if clock.dial { clock.time.wrapping_add(12.hours()) } else { clock.time };
    let readings = |clock: Clock| [clock.time, later(clock)];
    let by_day = |clock: Clock| if clock.dial && clock.time.hour() < 7 { later(clock) } else { clock.time };
    let end = match (begin.dial, end.dial) {
        (true, true) => readings(end).into_iter().find(|time| *time > by_day(begin)).unwrap_or_else(|| later(end)),
        (false, true) => readings(end).into_iter().find(|time| *time > begin.time).unwrap_or(end.time),
        _ => end.time,
    };
    // The last reading before the end, so that nothing lasts half a day more.
    let first = readings(begin).into_iter().filter(|time| *time < end).max();
    (first.unwrap_or_else(|| by_day(begin)), end)
}

/// When something that begins at `start` ends.
pub(crate) fn end_of(start: &Value, end: Time) -> Option<Value> {
    let start: DateTime = start.as_str().filter(|text| text.contains('T'))?.parse().ok()?;
    let end = start.date().to_datetime(end);
    let end = if end > start { end } else { end.checked_add(1.day()).ok()? };
    Some(end.strftime("%Y-%m-%dT%H:%M").to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_hours_are_found() {
        for (text, wanted) in [
            ("party from 6 to 8 pm on 12 December", Some(("party at 18:00 on 12 December", "20:00"))),
            ("block tomorrow 9-11:30 for the report", Some(("block tomorrow at 09:00 for the report", "11:30"))),
            ("brunch between 11 and 1 pm on sunday", Some(("brunch at 11:00 on sunday", "13:00"))),
            ("yoga from 7 to 8 on friday", Some(("yoga at 07:00 on friday", "08:00"))),
            ("nap from half past one to 3 tomorrow", Some(("nap at 13:30 tomorrow", "15:00"))),
            ("from 2 to 4 people", None),
            ("remind me at ten to eight", None),
            ("what is 9 - 3", None),
        ] {
            let found = without_end(&Sentence::read(text)).map(|(text, end)| (text, end.strftime("%H:%M").to_string()));
            assert_eq!(found.as_ref().map(|(text, end)| (text.as_str(), end.as_str())), wanted, "{text}");
        }
        assert_eq!(end_of(&"2026-12-12T18:00".into(), Time::constant(20, 0, 0, 0)), Some("2026-12-12T20:00".into()));
        assert_eq!(end_of(&"2026-12-12T22:00".into(), Time::constant(1, 0, 0, 0)), Some("2026-12-13T01:00".into()));
    }
}
