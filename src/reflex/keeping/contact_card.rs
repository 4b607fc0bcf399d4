//! Somebody's name and how to reach them, as people note it: "Dave at the timber yard, 07700 900123".

use crate::{
    sentence::Sentence,
    slots::{self, Kind},
};
use jiff::Zoned;
use serde_json::{Map, Value};

/// Words between a name and a number or address.
const BETWEEN: &[&str] = &[
    "is",
    "his",
    "her",
    "their",
    "its",
    "it",
    "number",
    "numbers",
    "phone",
    "mobile",
    "mobiles",
    "tel",
    "telephone",
    "cell",
    "ph",
    "email",
    "emails",
    "mail",
    "address",
    "on",
    "at",
    "with",
    "the",
    "no",
    "num",
    "number's",
    "email's",
    "mobile's",
    "and",
    "new",
    "now",
    "work",
    "home",
    "contact",
    "details",
    "save",
    "keep",
    "store",
    "please",
    "under",
    "add",
    "can",
    "you",
    "that",
    "for",
    "me",
    "to",
    "contacts",
    "my",
    "a",
    "as",
    "has",
    "got",
];
/// Words that begin no name.
const BEFORE: &[&str] = &[
    "for", "called", "named", "is", "of", "the", "a", "an", "new", "contact", "number", "phone", "save", "add",
    "store", "keep", "this", "that", "my", "me", "please", "to",
];

/// A name with a number or an address.
#[derive(Debug, PartialEq)]
pub(crate) struct Card {
    pub arguments: Map<String, Value>,
    /// The words of the name.
    pub length: usize,
}

/// The card in a text that says nothing else.
pub(crate) fn card(text: &str, now: &Zoned) -> Option<Card> {
    let s = Sentence::whole(text);
    let mut arguments = Map::new();
    // What is left between the values.
    let (mut parts, mut at, mut begin) = (vec![], 0, 0);
    while at < s.len() {
        let read = [(Kind::Email, "email"), (Kind::Phone, "phone")].into_iter().find_map(|(kind, name)| {
            let read = slots::read(kind, &s, at, now).into_iter().next()?;
            (!arguments.contains_key(name)).then_some((name, read))
        });
        let Some((name, read)) = read else {
            at += 1;
            continue;
        };
        parts.push((begin, at));
        arguments.insert(name.to_owned(), read.value);
        at += read.count;
        begin = at;
    }
    if arguments.is_empty() {
        return None;
    }
    parts.push((begin, s.len()));
    let bare = |(mut from, mut to): (usize, usize)| {
        while from < to && BEFORE.contains(&s.word(from)) || from < to && from > 0 && BETWEEN.contains(&s.word(from)) {
            from += 1;
        }
        while from < to && BETWEEN.contains(&s.word(to - 1)) {
            to -= 1;
        }
        (from < to).then_some((from, to))
    };
    let mut parts = parts.into_iter().filter_map(bare);
    let (from, to) = parts.next()?;
    // "Dave at the timber yard", "Priya from work".
    let place = (from + 1..to).find(|at| ["at", "from"].contains(&s.word(*at)) && !s.tokens[*at].after_break);
    let end = place.unwrap_or(to);
    let name = s.slice(from, end);
    let name = ["'s", "’s"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    arguments.insert("name".to_owned(), name.into());
    if let Some(place) = place {
        let article = usize::from(["the", "our", "my"].contains(&s.word(place + 1)));
        let company = s.slice(place + 1 + article, to);
        if !company.is_empty() {
            arguments.insert("company".to_owned(), company.into());
        }
    }
    let notes: Vec<&str> = parts.map(|(from, to)| s.slice(from, to)).collect();
    if !notes.is_empty() {
        arguments.insert("notes".to_owned(), notes.join(", ").into());
    }
    let begins = s.word(from).starts_with(char::is_alphabetic);
    begins.then_some(Card { arguments, length: end - from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_and_a_number_make_a_card() {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        for (text, wanted) in [
            ("Okafor piano 07700 900417 save", json!({"name": "Okafor piano", "phone": "07700 900417"})),
            (
                "Dave at the timber yard his numbers oh seven seven double oh nine hundred one two three",
                json!({"name": "Dave", "company": "timber yard", "phone": "07700900123"}),
            ),
            (
                "Priya Nair, priya@nairboards.example, does short pcb runs",
                json!({"name": "Priya Nair", "email": "priya@nairboards.example", "notes": "does short pcb runs"}),
            ),
            (
                "Whitlock & Hare solicitors 01572 555 0148 mail jhare@whitlockhare.example",
                json!({
                    "name": "Whitlock & Hare solicitors",
                    "phone": "01572 555 0148",
                    "email": "jhare@whitlockhare.example",
                }),
            ),
            ("for zosia 07700 900 412", json!({"name": "zosia", "phone": "07700 900 412"})),
        ] {
            let found = card(text, &now).map(|card| Value::Object(card.arguments));
            assert_eq!(found, Some(wanted), "{text}");
        }
        for text in ["Dave at the timber yard", "07700 900417", "the train at 5"] {
            assert_eq!(card(text, &now), None, "{text}");
        }
    }
}
