//! Relative dates in a text that will be read later: "… tomorrow" becomes "… tomorrow (2026-11-21)".

use super::when;
use crate::sentence::Sentence;
use jiff::Zoned;

/// The text with the date in parentheses after each phrase that means another day when read on another day.
///
/// Dates of the calendar ("3 October"), times alone ("at 7") and habits ("every tuesday", "on mondays") stay as they
/// are, and so does a phrase that already has its date behind it.
pub(crate) fn dated(text: &str, now: &Zoned) -> String {
    let s = Sentence::whole(text);
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < s.len() {
        let habit = at > 0 && ["every", "each", "any", "most", "last", "until"].contains(&s.word(at - 1));
        // "by the time", "before noon": a time that leads is found with its day, so each start is tried in turn.
        let Some(phrase) = when::when(&s, at, now).filter(|p| p.relative && !habit) else {
            at += 1;
            continue;
        };
        let end = s.tokens[at + phrase.count - 1].end;
        if !text[end..].trim_start().starts_with('(') {
            out.push_str(&text[copied..end]);
            out.push_str(&format!(" ({})", phrase.when.label()));
            copied = end;
        }
        at += phrase.count;
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_dates_get_their_date() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (text, wanted) in [
            ("the plumber comes tomorrow", "the plumber comes tomorrow (2026-11-21)"),
            ("Tomorrow, the plumber comes.", "Tomorrow (2026-11-21), the plumber comes."),
            ("dentist next Tuesday at 7", "dentist next Tuesday at 7 (2026-11-24 07:00)"),
            ("dinner at 7 pm on friday with Ana", "dinner at 7 pm on friday (2026-11-20 19:00) with Ana"),
            ("the boiler was serviced yesterday", "the boiler was serviced yesterday (2026-11-19)"),
            ("we moved in 3 years ago", "we moved in 3 years ago (2023-11-20)"),
            ("the cake is done in 20 minutes", "the cake is done in 20 minutes (2026-11-20 14:50)"),
            ("guests this weekend", "guests this weekend (2026-11-21)"),
            ("holidays next week", "holidays next week (week of 2026-11-23)"),
            ("rent goes up next month", "rent goes up next month (2026-12)"),
            ("bins go out every tuesday", "bins go out every tuesday"),
            ("Anna's birthday is on 3 October", "Anna's birthday is on 3 October"),
            ("the bus leaves at 7", "the bus leaves at 7"),
            ("tomorrow (2026-11-21) we paint", "tomorrow (2026-11-21) we paint"),
            ("the sun may shine", "the sun may shine"),
            ("today and tomorrow", "today (2026-11-20) and tomorrow (2026-11-21)"),
            ("Übermorgen, ähm, tomorrow 🙂", "Übermorgen, ähm, tomorrow (2026-11-21) 🙂"),
            ("the last one to leave turns off the light", "the last one to leave turns off the light"),
            ("", ""),
        ] {
            assert_eq!(dated(text, &now), wanted, "{text}");
        }
    }
}
