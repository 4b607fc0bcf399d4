//! Slots: what a sentence leaves open, read by kind.

pub(crate) mod clock;
pub(crate) mod date;
pub(crate) mod dated;
pub(crate) mod duration;
pub(crate) mod expr;
pub(crate) mod number;
pub(crate) mod place;
pub(crate) mod unit;
pub(crate) mod when;

use crate::sentence::Sentence;
use jiff::Zoned;
use serde_json::Value;

/// What may stand in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Any words, as written.
    Text,
    /// Any words; relative dates in them get the date they mean.
    Dated,
    /// Words in quotation marks.
    Quoted,
    /// One word.
    Word,
    /// A number, also "a" and "half a".
    Number,
    /// A whole number.
    Int,
    /// A header pin, 0 to 27, with the word "pin" or "gpio".
    Pin,
    /// A day, a moment or both.
    When,
    /// A day.
    Date,
    /// A length of time, as ISO 8601.
    Duration,
    /// Arithmetic.
    Expr,
    /// A unit of measurement.
    Unit,
    /// A place, as its time zone.
    Zone,
    /// On or high (true), off or low (false).
    OnOff,
}

impl Kind {
    /// The kind a phrase file means by `name`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "text" => Kind::Text,
            "dated" => Kind::Dated,
            "quoted" => Kind::Quoted,
            "word" => Kind::Word,
            "number" => Kind::Number,
            "int" => Kind::Int,
            "pin" => Kind::Pin,
            "when" => Kind::When,
            "date" => Kind::Date,
            "duration" => Kind::Duration,
            "expr" => Kind::Expr,
            "unit" => Kind::Unit,
            "zone" => Kind::Zone,
            "onoff" => Kind::OnOff,
            _ => return None,
        })
    }

    /// Whether it holds any words, so that its end is found by what follows.
    pub fn is_open(self) -> bool {
        matches!(self, Kind::Text | Kind::Dated)
    }

    /// What stands for it where sentences are compared by words or meaning.
    pub fn mask(self) -> &'static str {
        match self {
            Kind::Text | Kind::Dated | Kind::Quoted | Kind::Word => "something",
            Kind::Number | Kind::Int => "5",
            Kind::Pin => "pin 7",
            Kind::When | Kind::Date => "tomorrow",
            Kind::Duration => "10 minutes",
            Kind::Expr => "2 + 2",
            Kind::Unit => "kilograms",
            Kind::Zone => "paris",
            Kind::OnOff => "on",
        }
    }
}

/// Reads a closed slot at `at`: how many tokens it takes and its value.
pub(crate) fn read(kind: Kind, s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, Value)> {
    match kind {
        Kind::Text | Kind::Dated => None,
        Kind::Quoted => {
            s.tokens.get(at).filter(|t| t.opens)?;
            let end = (at..s.len()).find(|i| s.tokens[*i].closes)? + 1;
            Some((end - at, Value::from(s.slice(at, end))))
        }
        Kind::Word => s.tokens.get(at).map(|_| (1, Value::from(s.slice(at, at + 1)))),
        Kind::Number => number::amount(s, at).map(|(count, n)| (count, number::json(n))),
        Kind::Int => number::number(s, at).filter(|(_, n)| n.fract() == 0.0).map(|(c, n)| (c, number::json(n))),
        Kind::Pin => pin(s, at).filter(|(_, n)| *n <= LAST_PIN).map(|(count, n)| (count, n.into())),
        Kind::When => when::when(s, at, now).map(|p| (p.count, p.when.iso().into())),
        Kind::Date => date::day(s, at, now.date()).map(|(count, d)| (count, d.date.to_string().into())),
        Kind::Duration => duration::duration(s, at).map(|(count, span)| (count, span.to_string().into())),
        Kind::Expr => expr::expression(s, at).map(|(count, text)| (count, text.into())),
        Kind::Unit => unit::unit(s, at).map(|(count, unit)| (count, unit.into())),
        Kind::Zone => place::zone(s, at).map(|(count, zone)| (count, zone.into())),
        Kind::OnOff => match s.word(at) {
            "on" | "high" => Some((1, true.into())),
            "off" | "low" => Some((1, false.into())),
            _ => None,
        },
    }
}

/// The header's last pin.
pub(crate) const LAST_PIN: u32 = 27;

/// "pin 17", "gpio 17", "gpio pin number seventeen"; a bare number is never a pin.
pub(crate) fn pin(s: &Sentence, at: usize) -> Option<(usize, u32)> {
    let mut count = 0;
    while ["pin", "gpio", "bcm"].contains(&s.word(at + count)) {
        count += 1;
    }
    if count == 0 || count > 2 {
        return None;
    }
    count += usize::from(["number", "no"].contains(&s.word(at + count)));
    let (taken, n) = number::whole(s, at + count)?;
    // "pin 4 17" and "pin 17.5" name no pin.
    let more = number::whole(s, at + count + taken).is_some();
    (!more).then_some((count + taken, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_need_their_word() {
        for (text, wanted) in [
            ("pin 17", Some((2, 17))),
            ("GPIO17", Some((2, 17))),
            ("gpio pin number seventeen", Some((4, 17))),
            ("pin #4", Some((3, 4))),
            ("pin twenty one is", Some((3, 21))),
            ("17", None),
            ("pin", None),
            ("pin 1.5", None),
            ("pin 4 17", None),
            ("pin minus 4", None),
        ] {
            assert_eq!(pin(&Sentence::read(text), 0), wanted, "{text}");
        }
    }

    #[test]
    fn quotations_are_slots() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        let s = Sentence::read("note “buy milk, bread” now");
        assert_eq!(read(Kind::Quoted, &s, 1, &now), Some((3, "buy milk, bread".into())));
        assert_eq!(read(Kind::Quoted, &s, 0, &now), None);
    }
}
