//! Numbers in digits and in words: `17`, `1,000.5`, `seventeen`, `two hundred and five`, `three point one four`.

use crate::sentence::Sentence;
use serde_json::Value;

const SMALL: &[&str] = &[
    "zero",
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
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: &[&str] = &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: &[(&str, f64)] =
    &[("hundred", 1e2), ("thousand", 1e3), ("million", 1e6), ("billion", 1e9), ("trillion", 1e12)];

/// All number words.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    SMALL.iter().chain(TENS).copied().chain(SCALES.iter().map(|(word, _)| *word))
}

/// A number at `at`: number of tokens and value. A minus sign or word may precede it.
pub(crate) fn number(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    if ["-", "minus", "negative"].contains(&s.word(at)) {
        let (count, value) = positive(s, at + 1)?;
        return Some((count + 1, -value));
    }
    positive(s, at)
}

/// A number that also counts things: "a", "an", "half a", "a dozen", "one and a half".
pub(crate) fn amount(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    if let Some((count, value)) = fraction(s, at) {
        return Some((count, value));
    }
    match (s.word(at), s.word(at + 1), s.word(at + 2)) {
        ("half", "a" | "an", "dozen") => return Some((3, 6.0)),
        ("half", "a" | "an", _) => return Some((2, 0.5)),
        ("a", "dozen", _) => return Some((2, 12.0)),
        ("dozen", ..) => return Some((1, 12.0)),
        ("a", "couple", "of") => return Some((3, 2.0)),
        ("a", "quarter", "of") => return Some((3, 0.25)),
        ("a", "hundred" | "thousand" | "million" | "billion", _) => {}
        ("a" | "an", ..) => return Some((1, 1.0)),
        _ => {}
    }
    let (count, value) = number(s, at)?;
    if s.has(at + count, &["and", "a", "half"]) {
        return Some((count + 3, value + 0.5));
    }
    if s.has(at + count, &["and", "a", "quarter"]) {
        return Some((count + 3, value + 0.25));
    }
    // "1 and a 1/2", "2 1/2".
    let lead = match (s.word(at + count), s.word(at + count + 1)) {
        ("and", "a") => 2,
        ("and", _) => 1,
        _ => 0,
    };
    match fraction(s, at + count + lead).filter(|(_, part)| *part < 1.0) {
        Some((more, part)) => Some((count + lead + more, value + part)),
        None => Some((count, value)),
    }
}

/// "1/2", "3/4 of an", "½": number of tokens, "a" and "an" behind it included.
fn fraction(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    let digits = |i: usize| s.word(i).parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (1.0..13.0).contains(n));
    let (mut count, value) = match s.word(at) {
        "½" => (1, 0.5),
        "¼" => (1, 0.25),
        "¾" => (1, 0.75),
        _ if s.word(at + 1) == "/" && s.word(at + 3) != "/" => (3, digits(at)? / digits(at + 2)?),
        _ => return None,
    };
    count += usize::from(s.word(at + count) == "of" && ["a", "an"].contains(&s.word(at + count + 1)));
    count += usize::from(["a", "an"].contains(&s.word(at + count)));
    Some((count, value))
}

/// A whole number from 0 to 9999.
pub(crate) fn whole(s: &Sentence, at: usize) -> Option<(usize, u32)> {
    let (count, value) = positive(s, at)?;
    (value.fract() == 0.0 && value < 10_000.0).then_some((count, value as u32))
}

/// A number as JSON: an integer if whole.
pub(crate) fn json(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { Value::from(value as i64) } else { Value::from(value) }
}

fn positive(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    let word = s.word(at);
    if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') && !word.starts_with("0x") {
        let value: f64 = word.parse().ok()?;
        return match SCALES.iter().find(|(w, _)| *w == s.word(at + 1)) {
            Some((_, scale)) => Some((2, value * scale)),
            None => Some((1, value)),
        };
    }
    let (mut count, mut value) = spelled(s, at)?;
    if s.word(at + count) == "point" {
        let decimals: String = (at + count + 1..).map_while(|i| digit(s.word(i))).map(|d| d.to_string()).collect();
        if !decimals.is_empty() {
            value += format!("0.{decimals}").parse::<f64>().ok()?;
            count += 1 + decimals.len();
        }
    }
    Some((count, value))
}

fn digit(word: &str) -> Option<usize> {
    match word {
        "oh" => Some(0),
        _ => SMALL[..10].iter().position(|w| *w == word).or_else(|| word.parse().ok().filter(|d| *d < 10)),
    }
}

/// "two hundred and five thousand and twelve": `group` gathers what stands before the next scale.
fn spelled(s: &Sentence, at: usize) -> Option<(usize, f64)> {
    let (mut total, mut group, mut count, mut last) = (0.0, 0.0, 0, Last::Nothing);
    loop {
        let word = s.word(at + count);
        if let Some(n) = SMALL.iter().position(|w| *w == word).filter(|n| last.takes_small(*n)) {
            group += n as f64;
            (count, last) = (count + 1, if n < 10 { Last::Unit } else { Last::Teen });
        } else if let Some(n) = TENS.iter().position(|w| *w == word).filter(|_| last.takes_tens()) {
            group += (n as f64 + 2.0) * 10.0;
            (count, last) = (count + 1, Last::Tens);
        } else if let Some(&(_, scale)) = SCALES.iter().find(|(w, _)| *w == word).filter(|_| last != Last::Nothing) {
            if scale == 1e2 {
                group *= scale;
            } else {
                total += group * scale;
                group = 0.0;
            }
            (count, last) = (count + 1, Last::Scale);
        } else if word == "a" && last == Last::Nothing && SCALES.iter().any(|(w, _)| *w == s.word(at + 1)) {
            group = 1.0;
            (count, last) = (count + 1, Last::Unit);
        } else if word == "and" && last == Last::Scale && begins_below_hundred(s.word(at + count + 1)) {
            (count, last) = (count + 1, Last::Scale);
        } else {
            return (count > 0).then_some((count, total + group));
        }
    }
}

fn begins_below_hundred(word: &str) -> bool {
    SMALL[1..].contains(&word) || TENS.contains(&word)
}

/// The previous number word, since "twenty five" is one number and "five twenty" two.
#[derive(PartialEq, Clone, Copy)]
enum Last {
    Nothing,
    Unit,
    Teen,
    Tens,
    Scale,
}

impl Last {
    fn takes_small(self, n: usize) -> bool {
        matches!(self, Last::Nothing | Last::Scale) || (self == Last::Tens && (1..10).contains(&n))
    }
    fn takes_tens(self) -> bool {
        matches!(self, Last::Nothing | Last::Scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        for (text, count, value) in [
            ("17 pins", 1, 17.0),
            ("seventeen", 1, 17.0),
            ("twenty five", 2, 25.0),
            ("twenty-five", 2, 25.0),
            ("five twenty", 1, 5.0),
            ("two hundred and five", 4, 205.0),
            ("a hundred", 2, 100.0),
            ("twelve thousand three hundred and forty five", 7, 12_345.0),
            ("three point two five", 4, 3.25),
            ("minus 3.5", 2, -3.5),
            ("2 million", 2, 2e6),
            ("1,000", 1, 1000.0),
            ("five and six", 1, 5.0),
        ] {
            let s = Sentence::read(text);
            assert_eq!(number(&s, 0), Some((count, value)), "{text}");
        }
        for text in ["hundred", "pin", "", "17:30", "2026-11-20", "4th", "point five"] {
            assert_eq!(number(&Sentence::read(text), 0), None, "{text}");
        }
    }

    #[test]
    fn amounts_count_things() {
        for (text, count, value) in
            [("a pound", 1, 1.0), ("half a mile", 2, 0.5), ("one and a half hours", 4, 1.5), ("a dozen eggs", 2, 12.0)]
        {
            assert_eq!(amount(&Sentence::read(text), 0), Some((count, value)), "{text}");
        }
    }
}
