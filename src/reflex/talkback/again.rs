//! The same once more: "again", "another go", "one more"; and days as people shorten them in passing.

use super::{exchange::Exchange, outcome::Outcome};
use crate::sentence::Sentence;
use jiff::{ToSpan, civil::Date};
use serde_json::Value;

/// The text with "weds" and "thurs" written out.
pub(crate) fn days_spelled_out(text: &str) -> String {
    const DAYS: &[(&str, &str)] = &[
        ("mon", "monday"),
        ("tue", "tuesday"),
        ("tues", "tuesday"),
        ("wed", "wednesday"),
        ("weds", "wednesday"),
        ("thu", "thursday"),
        ("thur", "thursday"),
        ("thurs", "thursday"),
        ("fri", "friday"),
        ("sat", "saturday"),
        ("sun", "sunday"),
        ("tmrw", "tomorrow"),
        ("tomoz", "tomorrow"),
        ("tomoro", "tomorrow"),
    ];
    let s = Sentence::whole(text);
    let mut out = text.to_owned();
    for token in s.tokens.iter().rev() {
        if let Some((_, long)) = DAYS.iter().find(|(short, _)| *short == token.word) {
            out.replace_range(token.start..token.end, long);
        }
    }
    out
}

/// The days before or after those of a question: "the day after", "the week before", "after that".
pub(crate) fn beside(first: &str, last: &str, rest: &Sentence) -> Option<(String, String)> {
    let words: Vec<&str> = rest.tokens.iter().map(|token| token.word.as_str()).filter(|word| *word != "the").collect();
    let (first, last): (Date, Date) = (first.get(..10)?.parse().ok()?, last.get(..10)?.parse().ok()?);
    let length = (last - first).get_days();
    let stretch = |length: i32| if length == 0 { 1.day() } else { (length + 1).days() };
    let (from, to) = match words[..] {
        ["day", "after"] | ["next", "day"] | ["following", "day"] => (last + 1.day(), last + 1.day()),
        ["day", "before"] | ["previous", "day"] => (first - 1.day(), first - 1.day()),
        ["week", "after"] | ["following", "week"] => (first + 1.week(), last + 1.week()),
        ["week", "before"] | ["previous", "week"] => (first - 1.week(), last - 1.week()),
        ["after", "that"] => (last + 1.day(), last + stretch(length)),
        ["before", "that"] => (first - stretch(length), first - 1.day()),
        _ => return None,
    };
    Some((from.to_string(), to.to_string()))
}

/// "again", "once more", "another go": a draw or a countdown once more.
pub(crate) fn repeated(text: &str, exchanges: &[Exchange]) -> Option<Outcome> {
    const AGAIN: &[&str] = &[
        "again",
        "once more",
        "one more",
        "one more time",
        "another",
        "another one",
        "another go",
        "go again",
        "do it again",
        "do that again",
        "same again",
        "and again",
        "roll again",
        "flip again",
        "toss again",
        "roll it again",
        "flip it again",
        "roll them again",
        "pick again",
        "pick another",
        "pick another one",
        "have another go",
        "try again",
        "best of three",
        "best of 3",
        "best of three again",
        "one more go",
        "draw again",
        "draw another",
        "start it again",
        "set it again",
        "start again",
        "repeat that",
        "do another",
        "do another one",
    ];
    const AROUND: &[&str] =
        &["and", "please", "ok", "okay", "right", "then", "now", "hob", "thanks", "go", "on", "lol", "oh", "love"];
    let s = Sentence::whole(text);
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let begins = words.iter().take_while(|word| AROUND.contains(word)).count();
    let ends = words.iter().rev().take_while(|word| AROUND.contains(word)).count();
    let core = words.get(begins..words.len() - ends.min(words.len() - begins)).unwrap_or_default().join(" ");
    if !AGAIN.contains(&core.as_str()) && !AGAIN.contains(&words.join(" ").as_str()) {
        return None;
    }
    let exchange = exchanges.first()?;
    let [call] = &exchange.done()[..] else { return None };
    let repeats = call.tool.starts_with("random_") || ["set_timer", "shuffle"].contains(&call.tool.as_str());
    repeats.then(|| Outcome::call(&call.tool, Value::Object(call.arguments.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_stand_beside_others() {
        for (first, last, said, wanted) in [
            ("2026-11-29", "2026-11-29", "the day before", Some(("2026-11-28", "2026-11-28"))),
            ("2026-11-16", "2026-11-22", "the week before", Some(("2026-11-09", "2026-11-15"))),
            ("2026-11-24", "2026-11-24", "after that", Some(("2026-11-25", "2026-11-25"))),
            ("2026-11-23", "2026-11-29", "after that", Some(("2026-11-30", "2026-12-06"))),
            ("2026-11-24", "2026-11-24", "the cat after", None),
        ] {
            let got = beside(first, last, &Sentence::whole(said));
            assert_eq!(got.as_ref().map(|(from, to)| (from.as_str(), to.as_str())), wanted, "{said}");
        }
    }

    #[test]
    fn short_days_are_written_out() {
        assert_eq!(days_spelled_out("thurs"), "thursday");
        assert_eq!(days_spelled_out("sat and Sun at 7"), "saturday and sunday at 7");
        assert_eq!(days_spelled_out("sunny"), "sunny");
    }
}
