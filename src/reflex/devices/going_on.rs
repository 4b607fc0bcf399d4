//! Sentences that go on about the device before: "off again", "for ten minutes", "is it still on?".

use crate::sentence::Sentence;

/// The words of such a sentence, besides numbers. Any other word may name something else: nothing is switched then.
const WORDS: &[&str] = &[
    "turn",
    "switch",
    "put",
    "set",
    "make",
    "leave",
    "keep",
    "run",
    "it",
    "that",
    "this",
    "them",
    "on",
    "off",
    "out",
    "back",
    "again",
    "now",
    "then",
    "and",
    "please",
    "actually",
    "ok",
    "okay",
    "right",
    "yes",
    "just",
    "only",
    "so",
    "for",
    "at",
    "in",
    "until",
    "till",
    "after",
    "every",
    "each",
    "daily",
    "by",
    "the",
    "same",
    "is",
    "are",
    "was",
    "still",
    "going",
    "running",
    "blink",
    "flash",
    "pulse",
    "times",
    "time",
    "twice",
    "once",
    "a",
    "an",
    "of",
    "to",
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
    "morning",
    "mornings",
    "afternoon",
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
    "five",
    "ish",
    "about",
    "more",
    "later",
    "thanks",
    "cheers",
    "when",
    "does",
    "do",
    "did",
    "come",
    "go",
    "will",
    "what",
    "can",
    "could",
    "you",
];

/// Whether a sentence has nothing but such words and numbers.
pub(super) fn only_goes_on(s: &Sentence) -> bool {
    (0..s.len()).map(|at| s.word(at)).all(continues)
}

/// The same for a sentence that names pins by their numbers.
pub(super) fn only_about_pins(s: &Sentence) -> bool {
    const PINS: &[&str] =
        &["pin", "pins", "gpio", "number", "no", "high", "low", "both", "i", "meant", "mean", "sorry"];
    (0..s.len()).map(|at| s.word(at)).all(|word| continues(word) || PINS.contains(&word))
}

fn continues(word: &str) -> bool {
    WORDS.contains(&word) || word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thing_is_not_the_one_before() {
        for (text, wanted) in [
            ("off again", true),
            ("and for 10 minutes", true),
            ("turn it off at half past six please", true),
            ("is it still on?", true),
            ("turn on pin 99", false),
            ("which pins are on?", false),
            ("turn on the heating", false),
            ("put the kettle on", false),
        ] {
            assert_eq!(only_goes_on(&Sentence::read(text)), wanted, "{text}");
        }
    }
}
