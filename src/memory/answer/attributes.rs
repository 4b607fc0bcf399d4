//! The property that a question asks for, which a fact must have; and questions about things in general.

use super::{
    people,
    text::{Word, likeness},
};

/// Properties with words that a fact needs to tell one: the question's words, then the fact's.
const PROPERTIES: &[(&[&str], &[&str])] = &[
    (&["email", "mail"], &["email", "mail", "e"]),
    (&["size", "größe"], &["size", "größe"]),
    (
        &["old", "age", "alt", "âge", "edad"],
        &["old", "age", "born", "years", "alt", "geboren", "jahre", "âge", "ans", "edad", "años"],
    ),
    (&["weigh", "weight", "heavy"], &["weighs", "weigh", "weight", "kg", "kilos", "heavy", "grams", "pounds"]),
    (&["tall", "height"], &["tall", "height", "high", "cm", "metres", "m", "feet"]),
    (
        &["colour", "color", "farbe"],
        &[
            "colour", "color", "farbe", "paint", "painted", "ral", "red", "blue", "green", "white", "black", "yellow",
            "grey", "brown",
        ],
    ),
    (
        &[
            "cost",
            "price",
            "expensive",
            "kostet",
            "gekostet",
            "pay",
            "paid",
            "costó",
            "cuesta",
            "cobra",
            "precio",
            "coûte",
            "coûté",
            "prix",
        ],
        &[
            "cost", "costs", "price", "paid", "pay", "euro", "euros", "eur", "dollars", "pounds", "rent", "kostet",
            "kosten", "bezahlt", "beträgt", "fee", "costó", "cuesta", "cobra", "precio", "coûte", "coûté", "prix",
        ],
    ),
    (&["left", "remaining", "übrig"], &["left", "remaining", "remain", "übrig", "links"]),
    (&["license", "licence", "plate"], &["license", "licence", "plate", "registration"]),
    (&["hot", "warm", "cold", "temperature"], &["hot", "warm", "cold", "temperature", "degrees", "grad", "c"]),
    (&["fast", "speed"], &["fast", "speed", "km", "kmh", "mbit", "mph", "rpm"]),
    (&["far", "distance"], &["far", "distance", "km", "kilometres", "miles", "metres", "away", "minutes"]),
    (&["work", "works", "function"], &["works", "work", "working", "by", "function"]),
    (&["invented", "discovered", "founded"], &["invented", "discovered", "founded"]),
];

const MONEY: &[&str] =
    &["euro", "euros", "eur", "dollars", "dollar", "pounds", "cents", "usd", "gbp", "chf", "francs", "bucks"];
const REASONS: &[&str] = &[
    "because", "since", "when", "if", "due", "as", "so", "weil", "wenn", "damit", "denn", "to", "reason", "porque",
    "si", "para", "parce", "car", "pour", "quand",
];

/// Words that exclude each other.
const OPPOSITES: &[(&[&str], &[&str])] = &[
    (
        &["start", "starts", "begin", "begins", "started", "beginnt"],
        &["finish", "finishes", "end", "ends", "stop", "stops", "finished", "endet"],
    ),
    (&["open", "opens"], &["close", "closes", "closed"]),
    (&["bought", "buy"], &["sold", "sell"]),
    (&["arrive", "arrives", "arrival"], &["leave", "leaves", "departure", "depart"]),
    (&["first"], &["last"]),
    (&["left"], &["right"]),
    (&["top", "upper", "upstairs"], &["bottom", "lower", "downstairs"]),
    (&["front"], &["back", "rear"]),
    (&["hot", "warm"], &["cold"]),
    (&["summer"], &["winter"]),
    (&["morning"], &["evening"]),
];

/// Whether a fact lacks the property that a question asks for, says the opposite, or is of another date.
pub(crate) fn lacks(question: &[Word], fact: &[Word]) -> bool {
    let is = |words: &[Word], all: &[&str]| words.iter().any(|w| all.contains(&w.text.as_str()));
    let tells = |asked: &[&str]| has_year(fact, asked) || asked.contains(&"size") && fact.iter().any(|w| w.number);
    if PROPERTIES.iter().any(|(asked, needed)| is(question, asked) && !is(fact, needed) && !tells(asked)) {
        return true;
    }
    let texts: Vec<&str> = question.iter().map(|w| w.text.as_str()).collect();
    let pair = |first: &[&str], then: &[&str]| texts.windows(2).any(|p| first.contains(&p[0]) && then.contains(&p[1]));
    let earns = is(question, &["charge", "charges", "earn", "earns", "salary", "owe", "owes"]);
    if (earns || pair(&["much"], &["is", "are", "was", "were"])) && !is(fact, MONEY) {
        return true;
    }
    if (is(question, &["why", "warum", "wieso", "pourquoi"]) || pair(&["por"], &["qué"])) && !is(fact, REASONS) {
        return true;
    }
    // "what is a fuse": the household's own fuses do not say.
    if pair(&["is", "s", "does", "do"], &["a", "an"]) && is(question, &["what", "whats", "how"]) {
        return true;
    }
    let opposite = |(a, b): &(&[&str], &[&str])| {
        let one = |a, b| is(question, a) && !is(question, b) && is(fact, b) && !is(fact, a);
        one(*a, *b) || one(*b, *a)
    };
    if OPPOSITES.iter().any(opposite) {
        return true;
    }
    // A phone number has six digits.
    let wants_phone = is(question, &["phone", "telephone", "mobile", "telefonnummer", "handynummer"])
        && is(question, &["number", "nummer", "telefonnummer", "handynummer"]);
    let digits: usize = fact.iter().map(|w| w.text.chars().filter(char::is_ascii_digit).count()).sum();
    if wants_phone && digits < 6 {
        return true;
    }
    let of_date = |w: &&Word| people::DATES.contains(&w.text.strip_suffix('s').unwrap_or(&w.text)) && w.text != "may";
    question.iter().filter(of_date).any(|w| !fact.iter().any(|f| likeness(f, w, true) >= 0.8))
}

/// A year of birth says how old somebody is.
fn has_year(fact: &[Word], asked: &[&str]) -> bool {
    let year = |w: &Word| w.text.len() == 4 && (w.text.starts_with("19") || w.text.starts_with("20"));
    asked.contains(&"old") && fact.iter().any(year)
}

/// Whether a question is about things in general: "how do I …", "what is a …", "the best …".
pub(crate) fn asks_in_general(question: &[Word]) -> bool {
    let texts: Vec<&str> = question.iter().map(|w| w.text.as_str()).collect();
    let starts = |all: &[&[&str]]| all.iter().any(|start| texts.windows(start.len()).take(3).any(|w| w == *start));
    const STARTS: &[&[&str]] = &[
        &["how", "do", "i"],
        &["how", "do", "you"],
        &["how", "to"],
        &["how", "can", "i"],
        &["how", "does"],
        &["how", "should"],
        &["should", "i"],
        &["can", "i"],
        &["can", "you"],
        &["could", "you"],
        &["what", "is", "a"],
        &["what", "is", "an"],
        &["what", "s", "a"],
        &["what", "are"],
        &["how", "much", "is", "a"],
        &["how", "long", "does", "a"],
        &["what", "a"],
        &["what", "an"],
        &["how", "are"],
        &["why", "do"],
        &["why", "does"],
        &["why", "are"],
        &["how", "long", "do"],
        &["how", "often", "should"],
        &["how", "many", "people"],
        &["wie", "kann"],
        &["was", "ist", "ein"],
        &["was", "kostet", "ein"],
        &["how", "would"],
        &["how", "much", "does", "a"],
        &["what", "do", "you"],
        &["what", "kind"],
        &["what", "type"],
        &["when", "should"],
        &["how", "long", "should"],
        &["how", "much", "should"],
        &["how", "long", "is"],
        &["how", "far"],
        &["what", "should"],
        &["explain"],
        &["is", "it"],
        &["is", "there"],
        &["are", "there"],
        &["are", "we"],
        &["any"],
    ];
    let general = [
        "best",
        "good",
        "better",
        "average",
        "normal",
        "different",
        "benefits",
        "most",
        "recommend",
        "meaning",
        "mean",
        "typical",
        "possible",
        "world",
        "usually",
        "generally",
        "effects",
        "pros",
        "cons",
    ];
    starts(STARTS) || texts.iter().any(|t| general.contains(t))
}
