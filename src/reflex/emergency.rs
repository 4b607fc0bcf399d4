//! Emergencies: "I have fallen and can't get up", "there's a fire". Says whom to call, first and plainly, that Hob cannot, and
//! offers to show it to the others in the house.

use crate::{
    classification::{Classification, Stage, unknown},
    sentence::Sentence,
    stance::opens_question,
};
use jiff::Zoned;
use serde_json::json;

/// The most words somebody in need uses.
const MOST: usize = 30;
/// The tool that shows something to the others.
const NOTIFY: &str = "notify";

/// A kind of emergency: what to do besides calling, and the runs of words that tell it.
struct Kind {
    advice: &'static str,
    told: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        advice: "Get out and stay out.",
        told: &[
            "there is a fire",
            "house is on fire",
            "kitchen is on fire",
            "room is on fire",
            "flat is on fire",
            "home is on fire",
            "is on fire",
            "are on fire",
            "house is burning",
            "caught fire",
            "has caught fire",
            "fire fire",
            "call the fire brigade",
            "call the fire department",
            "call the fire service",
            "chip pan fire",
            "full of smoke",
        ],
    },
    Kind {
        advice: "Open the windows, switch nothing on or off, and go outside.",
        told: &[
            "smell gas",
            "smell of gas",
            "smells of gas",
            "smells like gas",
            "gas leak",
            "carbon monoxide alarm is",
            "carbon monoxide alarm has",
            "co alarm is going off",
        ],
    },
    Kind {
        advice: "Get somewhere safe first, if you can.",
        told: &[
            "breaking in",
            "broken into the house",
            "burglar in",
            "intruder in",
            "is an intruder",
            "is a burglar",
            "being attacked",
            "is attacking me",
            "is hitting me",
            "call the police",
            "being robbed",
            "has a knife",
        ],
    },
    Kind {
        advice: "You are not alone: talk to somebody now.",
        told: &[
            "kill myself",
            "end my life",
            "want to die",
            "take my own life",
            "hurt myself on purpose",
            "i am suicidal",
            "feel suicidal",
            "feeling suicidal",
        ],
    },
    Kind {
        advice: "Shout for anybody near, and unlock the door if you can reach it.",
        told: &[
            "i have fallen",
            "i am fallen",
            "i have just fallen",
            "i have had a fall",
            "i had a fall",
            "i have had a nasty fall",
            "i have had a bad fall",
            "has fallen down the stairs",
            "fell down the stairs",
            "fallen and",
            "cannot get up",
            "can not get up",
            "has had a fall",
            "cannot move my legs",
            "i fell and",
            "i have collapsed",
            "has collapsed",
            "fallen down and",
        ],
    },
    Kind {
        advice: "Unlock the door if you can, and shout for anybody near.",
        told: &[
            "cannot breathe",
            "can not breathe",
            "not breathing",
            "stopped breathing",
            "struggling to breathe",
            "trouble breathing",
            "hard to breathe",
            "is choking",
            "am choking",
            "chest pain",
            "chest pains",
            "pain in my chest",
            "pains in my chest",
            "my chest hurts",
            "heart attack",
            "having a stroke",
            "had a stroke",
            "is unconscious",
            "is not responding",
            "will not wake up",
            "passed out",
            "having a seizure",
            "having a fit",
            "an overdose",
            "overdosed",
            "too many pills",
            "too many tablets",
            "swallowed bleach",
            "swallowed a battery",
            "will not stop bleeding",
            "bleeding badly",
            "bleeding heavily",
            "bleeding a lot",
            "call an ambulance",
            "need an ambulance",
            "get an ambulance",
            "fetch an ambulance",
            "call me an ambulance",
            "call ambulance",
            "call 999",
            "ring 999",
            "dial 999",
            "call 911",
            "dial 911",
            "call 112",
            "dial 112",
            "ring 112",
            "this is an emergency",
            "it is an emergency",
            "call the paramedics",
            "anaphylactic",
            "severe allergic reaction",
        ],
    },
];

/// Words of sentences about something else: plans, memories, lessons, figures of speech.
const OTHER: &[&str] = &[
    "remind",
    "reminder",
    "remember",
    "add",
    "note",
    "list",
    "task",
    "calendar",
    "timer",
    "alarm",
    "book",
    "film",
    "movie",
    "song",
    "story",
    "game",
    "yesterday",
    "ago",
    "week",
    "month",
    "year",
    "years",
    "asleep",
    "behind",
    "love",
    "laughing",
    "drill",
    "practice",
    "course",
    "training",
    "joke",
    "prices",
    "price",
    "if",
    "means",
    "spell",
    "define",
    "translate",
    "mean",
    "appointment",
    "insurance",
    "bookmark",
    "contact",
    "dream",
    "dreamt",
    "dreamed",
    "sale",
    "deals",
    "today's",
];

/// The answer to an emergency; `can_notify` if the others of the household can be shown something.
pub(crate) fn classified(s: &Sentence, can_notify: bool, now: &Zoned) -> Option<Classification> {
    if s.len() == 0 || s.len() > MOST || s.mentions(OTHER) && !s.mentions(&["help"]) || asks_about(s) {
        return None;
    }
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let spoken = format!(" {} ", words.join(" "));
    let spoken = [
        (" can not ", " cannot "),
        (" cant ", " cannot "),
        (" ive ", " i have "),
        ("'s ", " is "),
        (" theres ", " there is "),
    ]
    .iter()
    .fold(spoken, |text, (from, to)| text.replace(from, to));
    let alone = ["fire", "help help", "help help help", "ambulance", "mayday"].contains(&spoken.trim());
    let told = |kind: &&Kind| kind.told.iter().any(|run| spoken.contains(&format!(" {run} ")));
    let kind = KINDS.iter().find(told).or_else(|| KINDS.iter().rfind(|_| alone))?;
    let kind = if spoken.trim() == "fire" { &KINDS[0] } else { kind };
    let numbers = numbers(now);
    let mut say = format!("Call {numbers} now. I can't make calls, and nobody has been called. {}", kind.advice);
    if std::ptr::eq(kind, &KINDS[3]) {
        let line = listening(now).map(|line| format!(", or {line}")).unwrap_or_default();
        say = format!("I'm glad you said it. Please call {numbers} now{line}. I can't make calls. {}", kind.advice);
    }
    let why = "an emergency";
    let text = s.text.trim().to_owned();
    if !can_notify {
        return Some(Classification { stage: Stage::Template, confidence: 1.0, sure: true, ..unknown(say, why) });
    }
    say.push_str(" Shall I show this to everybody in the house? Say yes or no.");
    let proposes = Some((NOTIFY.to_owned(), json!({"text": text, "person": "everyone"})));
    Some(Classification { proposes, stage: Stage::Asked, confidence: 1.0, sure: true, ..unknown(say, why) })
}

/// "what do I do in a fire" and "how do you call an ambulance" ask about something; "can you call an ambulance" needs one.
fn asks_about(s: &Sentence) -> bool {
    let first = s.word(0);
    opens_question(s)
        && ["what", "how", "when", "who", "why", "where", "which", "did", "does", "was", "has", "is"].contains(&first)
}

/// The emergency number where the household is, by its time zone.
fn numbers(now: &Zoned) -> &'static str {
    let zone = now.time_zone().iana_name().unwrap_or_default();
    let (region, place) = zone.split_once('/').unwrap_or((zone, ""));
    match (region, place) {
        ("Europe", "London" | "Belfast" | "Jersey" | "Guernsey" | "Isle_of_Man" | "Dublin") | ("GB" | "Eire", _) => {
            "999 or 112"
        }
        ("Europe", "Moscow" | "Minsk" | "Istanbul") => "112",
        ("Europe" | "Arctic", _) => "112",
        ("America", "Sao_Paulo" | "Fortaleza" | "Manaus" | "Recife" | "Belem") => "192 (fire 193, police 190)",
        ("America" | "US" | "Canada", _) => "911",
        ("Australia", _) => "000",
        ("Pacific", "Auckland" | "Chatham") | ("NZ", _) => "111",
        ("Pacific", "Honolulu" | "Guam") => "911",
        ("Asia", "Tokyo") | ("Japan", _) => "119 (police 110)",
        ("Asia", "Hong_Kong" | "Singapore") => "999 (Singapore: ambulance and fire 995)",
        ("Asia", "Kolkata" | "Calcutta") => "112",
        _ => "112 or your local emergency number",
    }
}

/// Somebody who listens, day and night.
fn listening(now: &Zoned) -> Option<&'static str> {
    match now.time_zone().iana_name()? {
        "Europe/London" | "Europe/Belfast" | "Europe/Dublin" | "GB" => {
            Some("the Samaritans on 116 123, free, day and night")
        }
        zone if zone.starts_with("America/") || zone.starts_with("US/") => Some("988, day and night"),
        "Europe/Vienna" => Some("142, free, day and night"),
        "Europe/Berlin" => Some("0800 1110111, free, day and night"),
        zone if zone.starts_with("Australia/") => Some("Lifeline on 13 11 14"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, zone: &str) -> Option<String> {
        let now: Zoned = format!("2026-11-23T09:00[{zone}]").parse().unwrap();
        classified(&Sentence::read(text), true, &now).and_then(|placed| placed.say)
    }

    #[test]
    fn who_to_call_comes_first() {
        for text in [
            "I've fallen and I can't get up",
            "I have fallen",
            "ive had a fall and i cant get up, fetch somebody",
            "help me I've fallen",
            "there's a fire in the kitchen!",
            "the house is on fire",
            "fire!",
            "I can't breathe",
            "he's not breathing",
            "mum has collapsed",
            "call an ambulance",
            "can you call an ambulance please",
            "I think I'm having a heart attack",
            "my chest hurts and my arm's gone numb",
            "I can smell gas in the hall",
            "someone is breaking in",
            "Tom swallowed a battery",
            "I want to kill myself",
        ] {
            let say = said(text, "Europe/London").unwrap_or_else(|| panic!("{text}"));
            assert!(say.contains("999 or 112") && say.contains("I can't make calls"), "{text}: {say}");
        }
        for (zone, number) in
            [("America/New_York", "911"), ("Europe/Vienna", "112"), ("Australia/Sydney", "000"), ("Asia/Tokyo", "119")]
        {
            let say = said("call an ambulance", zone).unwrap();
            assert!(say.starts_with(&format!("Call {number}")), "{zone}: {say}");
        }
    }

    #[test]
    fn other_sentences_are_no_emergency() {
        for text in [
            "remind me to call the fire brigade about the alarm test",
            "she asked for the ones with no pits, and it's kind of urgent",
            "I've fallen behind with the ironing",
            "light the fire at six",
            "the baby has fallen asleep",
            "what do I do if there is a fire",
            "how do you spell ambulance",
            "remember that dad had a fall last week",
            "add a fire extinguisher to the shopping list",
            "pause reading shes fallen off the chair",
            "I had a heart attack two years ago",
            "turn on the fire",
        ] {
            assert_eq!(said(text, "Europe/London"), None, "{text}");
        }
    }
}
