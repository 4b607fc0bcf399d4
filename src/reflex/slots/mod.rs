//! Slots: the variable parts of a template, parsed by kind.

pub(crate) mod calendar;
pub(crate) mod called_off;
pub(crate) mod clock;
pub(crate) mod contact;
pub(crate) mod date;
pub(crate) mod dated;
pub(crate) mod duration;
pub(crate) mod every;
pub(crate) mod expr;
pub(crate) mod money;
pub(crate) mod names;
pub(crate) mod number;
pub(crate) mod place;
pub(crate) mod several;
pub(crate) mod terms;
pub(crate) mod unit;
pub(crate) mod when;

use crate::sentence::Sentence;
use jiff::{Zoned, civil::Date};
use serde_json::Value;
use when::Hours;

/// The kind of a slot; see the table in `lib.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Text,
    Dated,
    Quoted,
    Word,
    Number,
    Int,
    Money,
    Pin,
    When,
    Future,
    Wake,
    Date,
    Past,
    Time,
    Every,
    Duration,
    Minutes,
    Period,
    Month,
    Person,
    Phone,
    Email,
    Url,
    List,
    Category,
    Priority,
    Expr,
    Unit,
    Zone,
    OnOff,
}

/// The names of kinds in phrase files.
const NAMES: &[(&str, Kind)] = &[
    ("text", Kind::Text),
    ("dated", Kind::Dated),
    ("quoted", Kind::Quoted),
    ("word", Kind::Word),
    ("number", Kind::Number),
    ("int", Kind::Int),
    ("money", Kind::Money),
    ("pin", Kind::Pin),
    ("when", Kind::When),
    ("future", Kind::Future),
    ("wake", Kind::Wake),
    ("date", Kind::Date),
    ("past", Kind::Past),
    ("time", Kind::Time),
    ("every", Kind::Every),
    ("duration", Kind::Duration),
    ("minutes", Kind::Minutes),
    ("period", Kind::Period),
    ("month", Kind::Month),
    ("person", Kind::Person),
    ("phone", Kind::Phone),
    ("email", Kind::Email),
    ("url", Kind::Url),
    ("list", Kind::List),
    ("category", Kind::Category),
    ("priority", Kind::Priority),
    ("expr", Kind::Expr),
    ("unit", Kind::Unit),
    ("zone", Kind::Zone),
    ("onoff", Kind::OnOff),
];

impl Kind {
    /// The kind named in a phrase file.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Its name in phrase files.
    #[cfg(test)]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, kind)| *kind == self).map_or("text", |(name, _)| name)
    }

    /// Whether it holds arbitrary text, so that its end depends on what follows.
    pub fn is_open(self) -> bool {
        matches!(self, Kind::Text | Kind::Dated)
    }

    /// Its replacement when sentences are compared by words or meaning.
    pub fn mask(self) -> &'static str {
        match self {
            Kind::Text | Kind::Dated | Kind::Quoted | Kind::Word => "something",
            Kind::Number | Kind::Int => "5",
            Kind::Money => "20 euros",
            Kind::Pin => "pin 7",
            Kind::When | Kind::Future | Kind::Wake | Kind::Date | Kind::Past | Kind::Time | Kind::Month => "tomorrow",
            Kind::Every => "every day",
            Kind::Duration | Kind::Minutes => "10 minutes",
            Kind::Period => "this month",
            Kind::Person => "anna",
            Kind::Phone => "phone 123",
            Kind::Email => "email@address",
            Kind::Url => "web.address",
            Kind::List => "shopping list",
            Kind::Category => "food",
            Kind::Priority => "urgent",
            Kind::Expr => "2 + 2",
            Kind::Unit => "kilograms",
            Kind::Zone => "paris",
            Kind::OnOff => "on",
        }
    }
}

/// One reading of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Read {
    /// Number of tokens.
    pub count: usize,
    /// Number of tokens that identify the kind.
    pub definite: usize,
    /// Its value; null if present without a meaning ("the to-do list" is no category).
    pub value: Value,
    /// A further argument in the same words.
    pub beside: Option<(&'static str, Value)>,
    /// The last day, for a day or date range.
    pub last: Option<Date>,
}

impl Read {
    fn of(count: usize, value: impl Into<Value>) -> Self {
        Self { count, definite: count, value: value.into(), beside: None, last: None }
    }
}

/// The readings of a closed slot at `at`, longest first.
pub(crate) fn read(kind: Kind, s: &Sentence, at: usize, now: &Zoned) -> Vec<Read> {
    if several::hides_from(kind, s, now) {
        return vec![];
    }
    match kind {
        Kind::Person => {
            names::person(s, at).into_iter().map(|(n, sure, who)| Read { definite: sure, ..Read::of(n, who) }).collect()
        }
        Kind::List => names::list(s, at).into_iter().map(|(n, list)| Read::of(n, list)).collect(),
        _ => one(kind, s, at, now).into_iter().collect(),
    }
}

fn one(kind: Kind, s: &Sentence, at: usize, now: &Zoned) -> Option<Read> {
    s.tokens.get(at)?;
    let simple = |(count, value): (usize, Value)| Read::of(count, value);
    let text = |(count, text): (usize, String)| Read::of(count, text);
    let known = |(count, word): (usize, &str)| Read::of(count, word);
    match kind {
        Kind::Text | Kind::Dated | Kind::Person | Kind::List => None,
        Kind::Quoted => {
            s.tokens.get(at).filter(|t| t.opens)?;
            let end = (at..s.len()).find(|i| s.tokens[*i].closes)? + 1;
            Some(Read::of(end - at, s.slice(at, end)))
        }
        Kind::Word => Some(Read::of(1, s.slice(at, at + 1))),
        Kind::Number => number::amount(s, at).map(|(count, n)| Read::of(count, number::json(n))),
        Kind::Int => number::number(s, at).filter(|(_, n)| n.fract() == 0.0).map(|(c, n)| Read::of(c, number::json(n))),
        Kind::Money => money::money(s, at).map(|m| Read {
            beside: m.currency.map(|c| ("currency", c.into())),
            ..Read::of(m.count, number::json(m.amount))
        }),
        Kind::Pin => pin(s, at).filter(|(_, n)| *n <= LAST_PIN).map(|(count, n)| Read::of(count, n)),
        Kind::When => when::spoken(s, at, now, Hours::before(s, at))
            .map(|p| Read { last: Some(p.last), ..Read::of(p.count, p.when.iso()) }),
        Kind::Future => when::future(s, at, now).map(|(count, moment)| Read::of(count, when::When::At(moment).iso())),
        Kind::Wake => when::wake(s, at, now).map(|(count, moment)| Read::of(count, when::When::At(moment).iso())),
        Kind::Date if s.word(at) == "now" => {
            Some(Read { last: Some(now.date()), ..Read::of(1, now.date().to_string()) })
        }
        Kind::Date => date::day_in(s, at, now.date(), true).map(|(count, d)| dated_read(count, d)),
        Kind::Past => date::past(s, at, now.date()).map(|(count, d)| dated_read(count, d)),
        Kind::Time => when::time(s, at, now).map(|(count, time)| Read::of(count, time.strftime("%H:%M").to_string())),
        Kind::Every => every::every(s, at, now).map(text),
        Kind::Duration => duration::duration(s, at).map(|(count, span)| Read::of(count, span.to_string())),
        Kind::Minutes => duration::minutes(s, at).map(|(count, n)| Read::of(count, n)),
        Kind::Period => terms::period(s, at).map(known),
        Kind::Month => date::month(s, at, now.date()).map(|(count, first)| Read {
            last: Some(first.last_of_month()),
            ..Read::of(count, first.strftime("%Y-%m").to_string())
        }),
        Kind::Phone => contact::phone(s, at).map(text),
        Kind::Email => contact::email(s, at).map(text),
        Kind::Url => contact::url(s, at).map(text),
        Kind::Category => terms::category(s, at).map(known),
        Kind::Priority => terms::priority(s, at).map(known),
        Kind::Expr => expr::expression(s, at).map(text),
        Kind::Unit => unit::unit(s, at).map(known),
        Kind::Zone => place::zone(s, at).map(known),
        Kind::OnOff => match s.word(at) {
            "on" | "high" => Some(simple((1, true.into()))),
            "off" | "low" => Some(simple((1, false.into()))),
            _ => None,
        },
    }
}

/// The value of an argument of this name, and a derived argument: a date range becomes its last day for an end
/// argument, and a start argument brings its end along.
pub(crate) fn named_value(name: &str, read: &Read, s: &Sentence, at: usize) -> (Value, Option<(&'static str, Value)>) {
    const OPEN: &[&str] = &["from", "since", "after", "starting"];
    let day = read.value.as_str().is_some_and(|text| !text.contains('T'));
    let Some(last) = read.last.filter(|_| day) else { return (read.value.clone(), read.beside.clone()) };
    let is_month = read.value.as_str().is_some_and(|text| text.len() == 7);
    let first = || match is_month && name != "month" {
        true => Value::from(last.first_of_month().to_string()),
        false => read.value.clone(),
    };
    let last = || Value::from(last.to_string());
    let year =
        || (at..at + read.count).any(|i| s.word(i).parse::<i16>().is_ok_and(|n| n > 1000) || s.word(i).len() > 8);
    match name {
        "birthday" if !year() => {
            (read.value.as_str().and_then(|day| day.get(4..)).map(|day| format!("-{day}")).into(), None)
        }
        "endDate" | "dueBefore" => (last(), None),
        "startDate" if at == 0 || !OPEN.contains(&s.word(at - 1)) => (first(), Some(("endDate", last()))),
        _ => (first(), None),
    }
}

fn dated_read(count: usize, day: date::Day) -> Read {
    Read { last: Some(day.last), ..Read::of(count, day.date.to_string()) }
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
        assert_eq!(read(Kind::Quoted, &s, 1, &now), [Read::of(3, "buy milk, bread")]);
        assert_eq!(read(Kind::Quoted, &s, 0, &now), []);
    }

    #[test]
    fn nothing_is_read_beyond_the_end_or_from_odd_signs() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for text in
            ["", "x", "99999999999999999999", "every", "every 99999999 years", "€", "@", "1e999", "12:99", "é 漢"]
        {
            let s = Sentence::read(text);
            for kind in
                [Kind::Every, Kind::Money, Kind::Person, Kind::List, Kind::Phone, Kind::Url, Kind::When, Kind::Month]
            {
                for read in (0..s.len() + 2).flat_map(|at| read(kind, &s, at, &now)) {
                    assert!(read.count > 0 && read.count <= s.len(), "{kind:?} {text}");
                }
            }
        }
    }
}
