//! Masks slots before embedding: dates, amounts and names are replaced by common examples, so that "lunch with Ana at
//! 12:30" and "dinner with Tom tonight" look alike.

use crate::{
    sentence::Sentence,
    slots::{self, Kind, Read, number, unit},
};
use jiff::Zoned;

/// A range of tokens and its kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub at: usize,
    pub count: usize,
    pub kind: Kind,
}

/// A sentence with masked slots.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Masked {
    pub words: Vec<String>,
    /// The slots in order, plain numbers and names included.
    pub spans: Vec<Span>,
}

impl Masked {
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Kinds tried at each word, in order.
const KINDS: &[Kind] = &[
    Kind::Quoted,
    Kind::Url,
    Kind::Email,
    Kind::Pin,
    Kind::Every,
    Kind::Expr,
    Kind::Money,
    Kind::When,
    Kind::Duration,
];

/// Finds and masks the slots of a sentence.
pub(crate) fn mask(s: &Sentence, now: &Zoned) -> Masked {
    let mut masked = Masked { words: vec![], spans: vec![] };
    let measured = (0..s.len()).any(|at| measure(s, at).is_some());
    let mut at = 0;
    while at < s.len() {
        match found(s, at, now, measured) {
            Some((kind, count, stand_in)) => {
                // "what is on next friday" asks what is on.
                let lead = kind == Kind::When && count > 1 && ["on", "by"].contains(&s.word(at));
                masked.words.extend(lead.then(|| s.word(at).to_owned()));
                masked.words.extend(stand_in.split(' ').map(str::to_owned));
                masked.spans.push(Span { at, count, kind });
                at += count;
            }
            None => {
                masked.words.push(s.word(at).to_owned());
                at += 1;
            }
        }
    }
    masked
}

fn found(s: &Sentence, at: usize, now: &Zoned, measured: bool) -> Option<(Kind, usize, &'static str)> {
    let read = |kind: Kind| slots::read(kind, s, at, now).into_iter().next();
    for kind in KINDS {
        if let Some(read) = read(*kind).filter(|read| is_one(*kind, read)) {
            let stand_in = match kind {
                // A date and a date with a time are different.
                Kind::When if read.value.as_str().is_some_and(|text| text.contains('T')) => "tomorrow at noon",
                kind => kind.mask(),
            };
            return Some((*kind, read.count, stand_in));
        }
    }
    let phone = || read(Kind::Phone).map(|read| (Kind::Phone, read.count, Kind::Phone.mask()));
    let measured_here = || measure(s, at).map(|count| (Kind::Unit, count, "5 kilograms"));
    let unit = || unit::unit(s, at).filter(|_| measured).map(|(count, _)| (Kind::Unit, count, Kind::Unit.mask()));
    let zone = || {
        let read = read(Kind::Zone).filter(|_| at > 0 && ["in", "for", "at"].contains(&s.word(at - 1)))?;
        Some((Kind::Zone, read.count, Kind::Zone.mask()))
    };
    let number = || number::number(s, at).map(|(count, _)| (Kind::Number, count, Kind::Number.mask()));
    let person = || {
        let read = read(Kind::Person).filter(|read| read.definite > 0 && at > 0)?;
        let owns = s.word(at + read.count - 1).ends_with("'s");
        Some((Kind::Person, read.count, if owns { "anna's" } else { Kind::Person.mask() }))
    };
    phone().or_else(measured_here).or_else(unit).or_else(zone).or_else(number).or_else(person)
}

/// Whether a reading is unambiguous: a number without a currency is not.
fn is_one(kind: Kind, read: &Read) -> bool {
    kind != Kind::Money || read.beside.is_some()
}

/// A number with its unit.
fn measure(s: &Sentence, at: usize) -> Option<usize> {
    let (count, _) = number::amount(s, at)?;
    unit::unit(s, at + count).map(|(more, _)| count + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_vary_is_masked() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (text, wanted) in [
            ("what is on next friday", "what is on tomorrow"),
            ("lunch with Ana at 12:30", "lunch with anna tomorrow at noon"),
            ("remind me every monday at 8 to sing", "remind me every day to sing"),
            ("I spent €12.50 on lunch", "i spent 20 euros on lunch"),
            ("i spent 12 on lunch", "i spent 5 on lunch"),
            ("turn on pin 17", "turn on pin 7"),
            ("what is 12 times 12", "what is 2 + 2"),
            ("5 miles in km", "5 kilograms in kilograms"),
            ("what time is it in Tokyo", "what time is it in paris"),
            ("save https://example.com/a as “good things”", "save web.address as something"),
            ("when is Anna's birthday", "when is anna's birthday"),
            ("set a timer for 10 minutes", "set a timer for 10 minutes"),
            ("", ""),
        ] {
            assert_eq!(mask(&Sentence::read(text), &now).text(), wanted, "{text}");
        }
    }
}
