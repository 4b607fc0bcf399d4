//! Questions about what is measured and detected: "what is the car mileage", "is there motion in the garage", "are any
//! batteries low".

use super::{emit, grammar::in_question};
use crate::{classification::Classification, sentence::Sentence};
use serde_json::{Map, Value};
use things::{Home, Kind, Span, What};

/// What is detected, and the device classes of it.
const DETECTED: &[(&[&str], &[&str])] = &[
    (&["carbon", "monoxide"], &["carbon_monoxide"]),
    (&["co"], &["carbon_monoxide"]),
    (&["motion"], &["motion"]),
    (&["movement"], &["motion"]),
    (&["occupancy"], &["occupancy"]),
    (&["presence"], &["presence", "occupancy"]),
    (&["leak"], &["moisture"]),
    (&["leaks"], &["moisture"]),
    (&["water"], &["moisture"]),
    (&["moisture"], &["moisture"]),
    (&["flood"], &["moisture"]),
    (&["present"], &["presence", "occupancy"]),
    (&["away"], &["presence", "occupancy"]),
    (&["gone"], &["presence", "occupancy"]),
    (&["smoke"], &["smoke"]),
    (&["gas"], &["gas"]),
    (&["vibration"], &["vibration"]),
    (&["sound"], &["sound"]),
    (&["noise"], &["sound"]),
    (&["tampering"], &["tamper"]),
    (&["battery"], &["battery"]),
    (&["batteries"], &["battery"]),
    (&["problem"], &["problem"]),
    (&["problems"], &["problem"]),
    (&["update"], &["update"]),
    (&["updates"], &["update"]),
    (&["plugged"], &["plug"]),
    (&["unplugged"], &["plug"]),
    (&["connected"], &["connectivity"]),
    (&["disconnected"], &["connectivity"]),
    (&["charging"], &["battery_charging"]),
    (&["vibrating"], &["vibration"]),
    (&["tampered"], &["tamper"]),
    (&["wet"], &["moisture"]),
    (&["powered"], &["power"]),
    (&["power"], &["power"]),
    (&["running"], &["running"]),
    (&["unsafe"], &["safety"]),
    (&["safe"], &["safety"]),
    (&["windows"], &["window"]),
    (&["doors"], &["door"]),
];
/// Words around it; whether they mean that nothing is detected.
const WORDS: &[(&str, bool)] = &[
    ("detected", false),
    ("triggered", false),
    ("sensor", false),
    ("sensors", false),
    ("detector", false),
    ("detectors", false),
    ("alarm", false),
    ("device", false),
    ("devices", false),
    ("thing", false),
    ("things", false),
    ("anything", false),
    ("something", false),
    ("software", false),
    ("firmware", false),
    ("wet", false),
    ("charging", false),
    ("available", false),
    ("pending", false),
    ("low", false),
    ("with", false),
    ("no", true),
    ("not", true),
    ("clear", true),
    ("dry", true),
    ("normal", true),
    ("charged", true),
    ("unplugged", true),
    ("disconnected", true),
    ("safe", true),
    ("away", true),
    ("gone", true),
    ("ok", true),
];
/// What is detected in words that are states by themselves.
const STATED: &[&str] =
    &["plugged", "connected", "charging", "vibrating", "tampered", "wet", "powered", "running", "unsafe"];
/// What sensors measure, said beside their names.
const MEASURED: &[&str] = &[
    "value",
    "reading",
    "level",
    "battery",
    "charge",
    "power",
    "energy",
    "pressure",
    "consumption",
    "concentration",
    "frequency",
    "voltage",
    "amount",
    "quality",
    "strength",
    "signal",
    "size",
    "rate",
    "duration",
    "distance",
    "weight",
    "got",
    "remaining",
];
/// At most so many sensors of one name are read.
const READ: usize = 3;

fn whole_names(spans: &[Span]) -> Option<&[usize]> {
    let mut names = spans.iter().filter_map(|span| match &span.what {
        What::Names { things, whole: true } => Some(&things[..]),
        _ => None,
    });
    names.next().filter(|_| names.next().is_none())
}

/// "What is the car mileage", "how much battery has my phone left".
pub(super) fn measured(s: &Sentence, home: &Home) -> Option<Classification> {
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    if !["what", "whats", "how"].contains(words.first()?) {
        return None;
    }
    let known = |word: &str| in_question(word) || MEASURED.contains(&word);
    let spans = home.scan(&words, &known, &|at| home.get(at).kind == Kind::Sensor, 0);
    let named = |at: usize| spans.iter().any(|span| (span.at..span.end).contains(&at));
    if !(0..words.len()).all(|at| named(at) || known(words[at])) {
        return None;
    }
    let things = whole_names(&spans)?;
    // "What is the temperature limit of the thermostat" names more than a sensor.
    if spans.iter().any(|span| matches!(span.what, What::Kind(_) | What::Everything | What::Everywhere)) {
        return None;
    }
    let call = |at: &usize| ("get_thing", Value::Object(emit::one(home, *at)));
    emit::calls(things.iter().take(READ).map(call).collect(), "asks what a sensor reads")
}

/// "Is there motion in the garage", "are all water sensors dry", "is the phone plugged in".
pub(super) fn detected(s: &Sentence, home: &Home) -> Option<Classification> {
    const OPENINGS: &[&str] = &["is", "are", "any", "some", "which", "what", "how", "do", "if"];
    let all: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    if !OPENINGS.contains(all.first()?) {
        return None;
    }
    let (at, said, classes) = (0..all.len()).find_map(|at| {
        let (said, classes) = DETECTED.iter().find(|(said, _)| all[at..].starts_with(said))?;
        Some((at, said, *classes))
    })?;
    // "Which batteries are charging" asks for their chargers.
    let classes = if classes == ["battery"] && all.contains(&"charging") { &["battery_charging"][..] } else { classes };
    let of_class = |at: usize| home.get(at).kind == Kind::Contact && classes.contains(&home.get(at).class);
    if !(0..home.len()).any(|at| of_class(at) && !home.get(at).hidden) {
        return None;
    }
    // What is detected names nothing else here.
    let mut words = all.clone();
    words[at..at + said.len()].fill("the");
    let known = |word: &str| in_question(word) || WORDS.iter().any(|(known, _)| *known == word);
    let spans = home.scan(&words, &known, &of_class, 0);
    let named = |at: usize| spans.iter().any(|span| (span.at..span.end).contains(&at));
    if !(0..words.len()).all(|at| named(at) || known(words[at])) {
        return None;
    }
    let is = |word: &str| (0..all.len()).any(|at| !named(at) && all[at] == word);
    // "What color is water" asks for no sensor.
    let marked = WORDS.iter().any(|(word, _)| is(word)) || STATED.contains(&said[0]);
    if ["what", "which", "how"].contains(&all[0]) && !marked || is("color") || is("colour") {
        return None;
    }
    let off = WORDS.iter().any(|(word, off)| *off && is(word));
    let every = ["all", "every", "each"].iter().any(|word| is(word));
    let areas: Vec<usize> =
        spans.iter().filter_map(|span| if let What::Area(area) = span.what { Some(area) } else { None }).collect();
    let inside = |at: usize| {
        let own = home.area_of(at);
        areas.iter().all(|area| own.is_some_and(|own| home.is_within(own, *area)))
    };
    let names = whole_names(&spans);
    let things: Vec<usize> = (0..home.len())
        .filter(|at| of_class(*at) && !home.get(*at).hidden && inside(*at))
        .filter(|at| names.is_none_or(|names| names.contains(at)))
        .collect();
    let one_named = names.is_some() || things.len() == 1 && !every;
    match things[..] {
        [] => None,
        [at] if one_named => {
            emit::calls(vec![("get_thing", Value::Object(emit::one(home, at)))], "asks whether something is detected")
        }
        _ => {
            let mut arguments = Map::new();
            if let [area, ..] = areas[..] {
                arguments.insert("area".to_owned(), home.areas()[area].name.clone().into());
            }
            arguments.insert("kind".to_owned(), "contact".into());
            arguments.insert("query".to_owned(), classes[0].replace('_', " ").into());
            arguments.insert("active".to_owned(), (off == every).into());
            emit::calls(vec![("list_things", Value::Object(arguments))], "asks where something is detected")
        }
    }
}
