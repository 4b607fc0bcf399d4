//! People in a question or a fact: names, relations, and the person who asks.

use super::text::{Word, likeness};
use std::collections::HashSet;

/// Words for people by their relation.
const RELATIONS: &[&str] = &[
    "mum",
    "mom",
    "mother",
    "dad",
    "father",
    "brother",
    "sister",
    "wife",
    "husband",
    "son",
    "daughter",
    "grandma",
    "grandmother",
    "grandpa",
    "grandfather",
    "aunt",
    "uncle",
    "cousin",
    "nephew",
    "niece",
    "girlfriend",
    "boyfriend",
    "granny",
    "nana",
    "grandad",
    "mutter",
    "vater",
    "bruder",
    "schwester",
    "frau",
    "mann",
    "sohn",
    "tochter",
    "oma",
    "opa",
    "tante",
    "onkel",
    "mama",
    "papa",
    "stepdad",
    "stepmum",
    "godfather",
    "godmother",
    "madre",
    "padre",
    "hermano",
    "hermana",
    "hijo",
    "hija",
    "abuelo",
    "abuela",
    "tío",
    "tía",
    "primo",
    "prima",
    "mère",
    "père",
    "frère",
    "sœur",
    "fils",
    "fille",
    "mamie",
    "papi",
    "oncle",
    "cousine",
];

/// The person who asks.
const ME: &[&str] = &[
    "my", "mine", "i", "me", "mein", "meine", "meinen", "meiner", "meinem", "ich", "mir", "mich", "mi", "mis", "yo",
    "mío", "mía", "mon", "ma", "mes", "je", "moi",
];
const US: &[&str] = &[
    "our", "ours", "we", "us", "unser", "unsere", "unserem", "unseren", "wir", "uns", "nuestro", "nuestra", "nuestros",
    "nuestras", "nos", "nosotros", "notre", "nous",
];

/// Capitalised words that name no person or place: months, weekdays, and such.
pub(crate) const DATES: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonntag",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "sábado",
    "domingo",
    "janvier",
    "février",
    "mars",
    "avril",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
];
const NO_NAMES: &[&str] =
    &["i", "wifi", "wi", "fi", "tv", "ip", "pin", "ok", "hob", "wlan", "gp", "dvd", "pc", "usb", "id"];

pub(crate) fn is_relation(word: &Word) -> bool {
    let text = word.text.as_str();
    RELATIONS.contains(&text) || text.strip_suffix('s').is_some_and(|one| RELATIONS.contains(&one))
}

pub(crate) fn says_me(words: &[Word]) -> bool {
    words.iter().any(|w| ME.contains(&w.text.as_str()))
}

pub(crate) fn says_us(words: &[Word]) -> bool {
    words.iter().any(|w| US.contains(&w.text.as_str()))
}

/// The named people, places and products of a question: a fact without one of them does not answer it.
pub(crate) fn named<'a>(words: &'a [Word], stop: &HashSet<&str>, english: bool) -> Vec<&'a Word> {
    let capitals = words.iter().skip(1).filter(|w| w.capital).count();
    // German nouns and titles have capitals, too.
    let marked = english && capitals * 2 <= words.len();
    let is_name = |n: usize, w: &Word| {
        let text = w.text.as_str();
        let plain = stop.contains(text) || DATES.contains(&text) || NO_NAMES.contains(&text);
        !plain && (is_relation(w) || (w.owns && (w.capital || n == 0)) || (marked && n > 0 && w.capital && !w.number))
    };
    words.iter().enumerate().filter(|(n, w)| is_name(*n, w)).map(|(_, w)| w).collect()
}

/// The subject right after an auxiliary, without an article: "is **tom** allergic".
pub(crate) fn bare_subject<'a>(words: &'a [Word], stop: &HashSet<&str>) -> Option<&'a Word> {
    const AUXILIARIES: &[&str] =
        &["is", "are", "was", "were", "does", "do", "did", "has", "have", "had", "s", "hat", "ist", "mag", "isst"];
    let at = words.iter().take(3).position(|w| AUXILIARIES.contains(&w.text.as_str()))?;
    let next = words.get(at + 1)?;
    let participle = ["ed", "ing", "en"].iter().any(|end| next.text.ends_with(end) && !next.capital);
    let follows = words.len() > at + 2 && !participle;
    (follows && !stop.contains(next.text.as_str()) && !next.number).then_some(next)
}

/// The people whose thing a fact is about: `Anna's shoe size`, `my sister's birthday`; not "at Ana's".
pub(crate) fn owners<'a>(words: &'a [Word], stop: &HashSet<&str>) -> Vec<&'a Word> {
    let owns_next =
        |at: usize| words.get(at + 1).is_some_and(|next| !stop.contains(next.text.as_str()) && !next.number);
    let is_owner = |at: usize, w: &Word| w.owns && (w.capital || is_relation(w)) && owns_next(at);
    words.iter().enumerate().filter(|(at, w)| is_owner(*at, w)).map(|(_, w)| w).collect()
}

/// Whether a word or a synonym is among these.
pub(crate) fn has(words: &[Word], wanted: &Word) -> bool {
    let without_s = wanted.text.strip_suffix('s').filter(|one| one.len() > 2);
    words.iter().any(|w| likeness(w, wanted, false) >= 0.9 || without_s == Some(w.text.as_str()))
}

/// Whether a fact names somebody who is not in the question.
pub(crate) fn names_somebody(fact: &[Word], question: &[Word], stop: &HashSet<&str>) -> bool {
    fact.iter().any(|w| {
        let text = w.text.as_str();
        let name =
            w.capital && !w.number && !stop.contains(text) && !DATES.contains(&text) && !NO_NAMES.contains(&text);
        (name || is_relation(w)) && !has(question, w)
    })
}
