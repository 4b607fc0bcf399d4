//! The form of a command to switch something. A device's name with an "on" or "off" somewhere is none: "the cat is on the heater",
//! "Ben always turns off the pump", "put the towel on the heater" switch nothing. Only words that are listed may stand in it.

use super::{Mention, vocabulary::BLINK};
use crate::sentence::Sentence;

const VERBS: &[&str] = &[
    "turn", "switch", "put", "pop", "flick", "power", "get", "run", "start", "blink", "flash", "pulse", "flicker",
    "set",
];
/// Verbs that mean something else unless "on" or "off" stands beside the name.
const OF_MANY_USES: &[&str] = &["put", "pop", "get", "set"];
const LEADS: &[&str] =
    &["please", "ok", "okay", "right", "now", "and", "just", "yes", "can", "could", "would", "will", "you", "hob"];
/// The words that may stand around names, besides numbers.
const WORDS: &[&str] = &[
    "the",
    "a",
    "an",
    "my",
    "our",
    "on",
    "off",
    "back",
    "again",
    "now",
    "and",
    "please",
    "for",
    "at",
    "in",
    "until",
    "till",
    "every",
    "each",
    "daily",
    "of",
    "half",
    "quarter",
    "past",
    "oclock",
    "o'clock",
    "couple",
    "second",
    "seconds",
    "sec",
    "secs",
    "minute",
    "minutes",
    "min",
    "mins",
    "hour",
    "hours",
    "hrs",
    "day",
    "days",
    "week",
    "weekday",
    "weekdays",
    "weekend",
    "weekends",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mondays",
    "tuesdays",
    "wednesdays",
    "thursdays",
    "fridays",
    "saturdays",
    "sundays",
    "morning",
    "mornings",
    "afternoon",
    "afternoons",
    "evening",
    "evenings",
    "night",
    "nights",
    "tonight",
    "tomorrow",
    "noon",
    "midday",
    "midnight",
    "am",
    "pm",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "fifteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "ish",
    "thanks",
    "cheers",
    "both",
    "me",
    "pin",
    "pins",
    "gpio",
    "number",
    "same",
    "hall",
];
/// Words that only a blinking is counted by.
const COUNTS: &[&str] = &["times", "time", "once", "twice"];
/// Words that stand for the device before.
const IT: &[&str] = &["it", "that", "this", "them", "those", "these"];

/// Whether a word may say when or how long.
pub(super) fn is_time_word(word: &str) -> bool {
    WORDS.contains(&word) && !["pin", "pins", "gpio", "number", "hall"].contains(&word)
}

/// Whether a sentence has the form of a command about what it names; `goes_on`: about the device before, which it need not name.
pub(super) fn is_command(s: &Sentence, named: &[Mention], goes_on: bool) -> bool {
    let in_name = |at: usize| named.iter().any(|m| (m.at..m.end).contains(&at));
    let names = named.iter().any(|m| m.at < s.len());
    let blinks = s.mentions(BLINK);
    let known = |at: usize| {
        let word = s.word(at);
        let to = word == "to" && at > 0 && ["quarter", "five", "ten", "twenty"].contains(&s.word(at - 1));
        let is_it = IT.contains(&word) && goes_on && !names;
        let counts = COUNTS.contains(&word) && blinks;
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        in_name(at)
            || VERBS.contains(&word)
            || LEADS.contains(&word)
            || WORDS.contains(&word)
            || to
            || is_it
            || counts
            || number
    };
    if !(0..s.len()).all(known) {
        return false;
    }
    let Some(first) = (0..s.len()).find(|at| !LEADS.contains(&s.word(*at))) else { return false };
    let is_state = |at: usize| ["on", "off"].contains(&s.word(at)) && !in_name(at);
    let after_name = named.iter().any(|m| is_state(m.end));
    let verb = s.word(first);
    if VERBS.contains(&verb) {
        // "get off the pump" is said to a child.
        if verb == "get" && !after_name && (names || !goes_on) {
            return false;
        }
        // "put the lamp on", "get the light off", "put on the lamp".
        let besides = after_name || is_state(first + 1) || !names && goes_on;
        return !OF_MANY_USES.contains(&verb) || besides;
    }
    if goes_on && !names {
        return ["on", "off", "for", "at", "until", "till", "in", "again", "back"].contains(&verb)
            || verb.starts_with(|c: char| c.is_ascii_digit());
    }
    // "hall lamp on for ten minutes", "the hall lamp off".
    let begins = named.iter().any(|m| m.at <= first + 1 && is_state(m.end))
        && (in_name(first) || ["the", "my", "our"].contains(&verb));
    begins || BLINK.contains(&verb)
}

#[cfg(test)]
mod tests {
    use super::super::{Device, mentions};
    use super::*;

    fn commands(text: &str) -> bool {
        let device = |pin: u8, name: &str| Device { pin, name: name.to_owned(), sensor: false };
        let devices = [device(17, "hall lamp"), device(22, "heater"), device(23, "pump"), device(24, "fan")];
        let s = Sentence::read(text);
        let named = mentions(&s, &devices);
        is_command(&s, &named, false)
    }

    #[test]
    fn only_commands_switch() {
        for text in [
            "turn on the hall lamp",
            "switch the heater off please",
            "could you turn the fan on for 10 minutes",
            "hall lamp on",
            "the pump off at half past six",
            "put the fan on",
            "get the hall lamp on",
            "turn the pump on every day at 7",
            "blink the hall lamp three times",
            "turn off the heater and the fan",
        ] {
            assert!(commands(text), "{text}");
        }
        for text in [
            "the cat is on the heater",
            "put the towel on the heater",
            "the pump is on",
            "the heater went off last night",
            "Ben always turns off the pump",
            "hold on, the pump is leaking",
            "get off the pump",
            "turn off everything but the fan",
            "there is no need to turn on the heater",
            "it's dangerous to turn on the pump",
            "turn on neither the fan nor the heater",
            "turn on the heater later",
            "before you turn on the pump ask me",
            "turn off the fan or the heater",
            "turn on the pump twice a day",
            "turn off the heater 20 minutes from now",
            "turn on the heater from 6 to 8",
            "say turn on the heater in German",
            "the heater is on sale",
            "I'm a fan on most days",
            "fan on strike",
            "check that the heater is off",
        ] {
            assert!(!commands(text), "{text}");
        }
    }
}
