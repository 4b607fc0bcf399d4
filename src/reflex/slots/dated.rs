//! Adds dates to relative phrases in stored text: "… tomorrow" becomes "… tomorrow (2026-11-21)".

use super::when;
use crate::sentence::Sentence;
use jiff::Zoned;

/// The text with the date in parentheses after each phrase that depends on the current day.
///
/// Calendar dates ("3 October"), times alone ("at 7"), recurrences ("every tuesday", "on mondays"), names ("Friday is
/// the dog", "The Day After Tomorrow") and invalid times ("tomorrow at 25:00") stay unchanged, and so does a phrase
/// that already has its date: no date is better than a wrong one.
pub(crate) fn dated(text: &str, now: &Zoned) -> String {
    let s = Sentence::whole(text);
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < s.len() {
        // In "by the time" or "before noon" a leading time is found with its day, so each start is tried in turn.
        let Some(phrase) = when::when(&s, at, now).filter(|p| p.relative && !habit(&s, at)) else {
            at += 1;
            continue;
        };
        let next = at + phrase.count;
        let end = s.tokens[next - 1].end;
        let owns = s.word(next - 1).ends_with("'s");
        let kept = owns || subject(&s, at, next) || title(&s, at, next) || beside_invalid_time(&s, at, next);
        if !kept && !text[end..].trim_start().starts_with('(') {
            out.push_str(&text[copied..end]);
            out.push_str(&format!(" ({})", phrase.when.label()));
            copied = end;
        }
        at = next;
    }
    out.push_str(&text[copied..]);
    out
}

/// Whether the preceding words make it a recurrence ("every other tuesday", "the first tuesday") or contradict it.
fn habit(s: &Sentence, at: usize) -> bool {
    const HABITS: &[&str] = &[
        "every", "each", "any", "most", "last", "until", "other", "first", "second", "third", "fourth", "next",
        "coming",
    ];
    at > 0 && HABITS.contains(&s.word(at - 1))
}

/// Whether the phrase is the subject of a clause, and so perhaps a name: "Friday is the dog's name". But not
/// "tomorrow is Anna's birthday".
fn subject(s: &Sentence, at: usize, next: usize) -> bool {
    if ["today", "tomorrow", "tonight"].contains(&s.word(at)) {
        return false;
    }
    let begins = at == 0 || s.tokens[at].after_break || ["that", "and", "but", "because"].contains(&s.word(at - 1));
    begins && s.word(at) != "on" && ["is", "was", "are", "were"].contains(&s.word(next))
}

/// Whether words are unusually capitalized: "we saw The Day After Tomorrow". Inconclusive if all words are.
fn title(s: &Sentence, at: usize, next: usize) -> bool {
    const SMALL: &[&str] = &[
        "the",
        "day",
        "after",
        "before",
        "tomorrow",
        "today",
        "yesterday",
        "tonight",
        "this",
        "next",
        "last",
        "week",
        "weekend",
        "month",
        "year",
    ];
    let capital = |i: usize| s.text[s.tokens[i].start..].starts_with(char::is_uppercase);
    let begins = |i: usize| i == 0 || s.tokens[i].after_break;
    let some_small = (0..s.len()).any(|i| s.text[s.tokens[i].start..].starts_with(char::is_lowercase));
    some_small && (at..next).any(|i| !begins(i) && capital(i) && SMALL.contains(&s.word(i)))
}

/// Whether an invalid time is next to the phrase: "tomorrow at 25:00".
fn beside_invalid_time(s: &Sentence, at: usize, next: usize) -> bool {
    let lead = usize::from(["at", "by", "around", "before", "after", "until", "from"].contains(&s.word(next)));
    let before = at.checked_sub(1).map_or("", |i| s.word(i));
    no_time(before) || no_time(s.word(next + lead))
}

fn no_time(word: &str) -> bool {
    let Some((hour, minute)) = word.split_once(':').filter(|(h, m)| h.len() <= 2 && m.len() == 2) else { return false };
    matches!((hour.parse::<u8>(), minute.parse::<u8>()), (Ok(h), Ok(m)) if h > 23 || m > 59)
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
            ("dentist this friday", "dentist this friday (2026-11-20)"),
            ("dentist this friday at 6 pm", "dentist this friday at 6 pm (2026-11-20 18:00)"),
            ("the film is on friday the 13th", "the film is on friday the 13th"),
            ("the film is on friday 13", "the film is on friday 13"),
            ("the film is on Friday, 13 November", "the film is on Friday, 13 November"),
            ("the film is on friday the 31st of february", "the film is on friday the 31st of february"),
            ("next friday the 4th we fly", "next friday the 4th we fly"),
            ("on friday the 4th we fly", "on friday the 4th (2026-12-04) we fly"),
            ("on friday the 27th at 7 we fly", "on friday the 27th at 7 (2026-11-27 07:00) we fly"),
            ("on friday 7 pm", "on friday 7 pm (2026-11-20 19:00)"),
            ("Friday is the dog's name", "Friday is the dog's name"),
            ("tomorrow is Anna's birthday", "tomorrow (2026-11-21) is Anna's birthday"),
            ("yesterday is a Beatles song", "yesterday is a Beatles song"),
            ("the day after tomorrow is a film", "the day after tomorrow is a film"),
            ("Friday's the dog", "Friday's the dog"),
            ("the meeting tomorrow is cancelled", "the meeting tomorrow (2026-11-21) is cancelled"),
            ("we watched The Day After Tomorrow twice", "we watched The Day After Tomorrow twice"),
            ("Ana sings Yesterday well", "Ana sings Yesterday well"),
            ("PLUMBER TOMORROW", "PLUMBER TOMORROW (2026-11-21)"),
            ("the plumber comes tomorrow at 25:00", "the plumber comes tomorrow at 25:00"),
            ("the plumber comes at 25:00 tomorrow", "the plumber comes at 25:00 tomorrow"),
            ("we won 2:1 yesterday", "we won 2:1 yesterday (2026-11-19)"),
            ("rent is due on 31 February", "rent is due on 31 February"),
            ("rent is due on 30.02.2027", "rent is due on 30.02.2027"),
            ("we meet every other friday", "we meet every other friday"),
            ("we meet on the first friday", "we meet on the first friday"),
            ("", ""),
        ] {
            assert_eq!(dated(text, &now), wanted, "{text}");
        }
    }
}
