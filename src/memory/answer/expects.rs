//! The kind of answer a question expects, and whether a fact has one.

use super::{people, text::Word};
use std::collections::HashSet;

/// The kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    Person,
    Time,
    Place,
    Amount,
    Anything,
}

const NUMBER_WORDS: &[&str] = &[
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
    "twenty",
    "half",
    "hundred",
    "twice",
    "once",
    "no",
    "none",
    "ein",
    "eine",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "zwölf",
    "zwanzig",
    "hundert",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "doce",
    "veinte",
    "treinta",
    "cuarenta",
    "cien",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "sept",
    "huit",
    "neuf",
    "dix",
    "douze",
    "vingt",
    "trente",
    "quarante",
    "cinquante",
    "soixante",
    "cent",
];
const TIMES: &[&str] = &[
    "am",
    "pm",
    "noon",
    "midnight",
    "morning",
    "evening",
    "afternoon",
    "night",
    "tomorrow",
    "yesterday",
    "today",
    "daily",
    "weekly",
    "monthly",
    "yearly",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "day",
    "days",
    "hour",
    "hours",
    "hour",
    "minutes",
    "minute",
    "seconds",
    "sekunden",
    "minuten",
    "stunden",
    "spring",
    "summer",
    "autumn",
    "winter",
    "christmas",
    "easter",
    "weekend",
    "weekends",
    "weekday",
    "uhr",
    "morgens",
    "abends",
    "woche",
    "monat",
    "jahr",
    "tag",
    "tage",
    "wochen",
    "monate",
    "jahre",
    "gestern",
    "morgen",
    "heute",
    "frühling",
    "sommer",
    "herbst",
    "mittags",
    "nachts",
    "vormittag",
    "nachmittag",
    "nachmittags",
    "sonntags",
    "montags",
    "dienstags",
    "mittwochs",
    "donnerstags",
    "freitags",
    "samstags",
    "vor",
    "nach",
    "hora",
    "horas",
    "mañana",
    "tarde",
    "noche",
    "mediodía",
    "día",
    "días",
    "semana",
    "semanas",
    "mes",
    "meses",
    "año",
    "años",
    "ayer",
    "hoy",
    "primavera",
    "verano",
    "otoño",
    "invierno",
    "heure",
    "heures",
    "minuit",
    "midi",
    "matin",
    "soir",
    "après-midi",
    "nuit",
    "jour",
    "jours",
    "semaine",
    "semaines",
    "mois",
    "année",
    "années",
    "an",
    "ans",
    "hier",
    "demain",
    "printemps",
    "été",
    "automne",
    "hiver",
];
const PLACES: &[&str] = &[
    "in",
    "at",
    "under",
    "on",
    "behind",
    "above",
    "below",
    "beside",
    "next",
    "near",
    "inside",
    "by",
    "from",
    "to",
    "with",
    "beneath",
    "over",
    "upstairs",
    "downstairs",
    "outside",
    "im",
    "unter",
    "hinter",
    "bei",
    "neben",
    "auf",
    "über",
    "beim",
    "am",
    "an",
    "zwischen",
    "between",
    "opposite",
    "around",
    "left",
    "right",
    "zu",
    "vom",
    "en",
    "bajo",
    "debajo",
    "detrás",
    "encima",
    "dentro",
    "sobre",
    "junto",
    "entre",
    "cerca",
    "al",
    "ante",
    "dans",
    "sous",
    "sur",
    "derrière",
    "devant",
    "chez",
    "près",
    "à",
    "au",
    "aux",
    "vers",
];

/// The kind of answer that a question expects.
pub(crate) fn expects(words: &[Word]) -> Expects {
    let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
    let has = |all: &[&str]| texts.iter().any(|t| all.contains(t));
    let pair = |first: &[&str], then: &[&str]| texts.windows(2).any(|p| first.contains(&p[0]) && then.contains(&p[1]));
    let which =
        &["what", "which", "welche", "welcher", "welches", "welchem", "welchen", "whats", "qué", "quel", "quelle"];
    let measures = &[
        "much", "many", "old", "tall", "big", "far", "heavy", "high", "deep", "wide", "fast", "viel", "viele", "alt",
        "hoch", "groß", "schwer", "weit",
    ];
    if pair(
        which,
        &[
            "time", "day", "date", "year", "month", "weekday", "tag", "datum", "día", "hora", "fecha", "jour", "heure",
            "date",
        ],
    ) || has(&["when", "wann", "cuándo", "quand"])
        || pair(&["how"], &["long", "often"])
        || pair(&["wie"], &["lange", "oft"])
    {
        return Expects::Time;
    }
    if has(&["who", "whose", "whom", "wer", "wem", "wen", "wessen", "quién", "quiénes"])
        || texts.first() == Some(&"qui")
    {
        return Expects::Person;
    }
    if has(&["where", "wo", "woher", "wohin", "dónde", "adónde", "où"]) {
        return Expects::Place;
    }
    let counted = &["number", "price", "amount", "code", "pin", "dose", "temperature", "percentage"];
    if pair(&["how", "wie"], measures)
        || pair(which, counted)
        || has(&["nummer", "number", "wieviel", "wieviele", "cuánto", "cuánta", "cuántos", "cuántas", "combien"])
    {
        return Expects::Amount;
    }
    Expects::Anything
}

/// Whether a fact has an answer of this kind that the question does not say itself.
pub(crate) fn provides(expected: Expects, fact: &[Word], question: &[Word], stop: &HashSet<&str>) -> bool {
    let is_new = |w: &Word| !question.iter().any(|q| q.text == w.text);
    let is = |w: &Word, all: &[&str]| all.contains(&w.text.as_str());
    let amount = |w: &Word| is_new(w) && (w.number || is(w, NUMBER_WORDS));
    match expected {
        Expects::Person => people::names_somebody(fact, question, stop),
        Expects::Time => (0..fact.len()).any(|at| is_time(fact, at) && fact.get(at).is_some_and(is_new)),
        Expects::Place => (0..fact.len()).any(|at| is_place(fact, at)),
        Expects::Amount => fact.iter().any(amount),
        Expects::Anything => true,
    }
}

/// Whether a word is a time, or a part of one.
fn is_time(fact: &[Word], at: usize) -> bool {
    let text = |at: Option<usize>| at.and_then(|at| fact.get(at)).map_or("", |w| w.text.as_str());
    let (before, this, after) = (text(at.checked_sub(1)), text(Some(at)), text(Some(at + 1)));
    if TIMES.contains(&this) || people::DATES.contains(&this.strip_suffix('s').unwrap_or(this)) {
        return true;
    }
    let digits = this.chars().take_while(char::is_ascii_digit).count();
    if digits == 0 {
        return ["first", "last", "every"].contains(&this) && after != "name";
    }
    let is_two = |text: &str| text.len() == 2 && text.chars().all(|c| c.is_ascii_digit());
    ["st", "nd", "rd", "th", "am", "pm", "h"].contains(&this.get(digits..).unwrap_or_default())
        || digits == 4 && (this.starts_with("19") || this.starts_with("20"))
        || digits <= 2
            && (is_two(after) || ["at", "by", "until", "till", "um", "bis", "from", "since", "ab"].contains(&before))
}

/// Whether a word is the preposition of a place; "in May" is a time.
fn is_place(fact: &[Word], at: usize) -> bool {
    let is = |at: usize, all: &[&str]| fact.get(at).is_some_and(|w| all.contains(&w.text.as_str()));
    let next =
        (at + 1..fact.len()).find(|next| !is(*next, &["the", "a", "an", "my", "our", "der", "die", "das", "dem"]));
    is(at, PLACES)
        && next.is_some_and(|next| !is_time(fact, next) && !fact.get(next).is_some_and(|w| w.number && at + 1 == next))
}
