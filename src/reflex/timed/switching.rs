//! "turn on the boiler at 7 tomorrow" by its parts: a schedule where something of that name is connected, else a refusal, since
//! no entry in a calendar and no reminder switches anything.

use super::{Request, spans, unclear};
use crate::{
    devices::Device,
    sentence::Sentence,
    slots::several::{self, Several},
};
use jiff::Zoned;
use serde_json::{Map, Value, json};

/// Household things that are on or off.
const SWITCHED: &[&str] = &[
    "heating",
    "heater",
    "heaters",
    "boiler",
    "lamp",
    "lamps",
    "light",
    "lights",
    "fan",
    "pump",
    "radio",
    "tv",
    "telly",
    "television",
    "kettle",
    "sprinkler",
    "sprinklers",
    "oven",
    "immersion",
    "blanket",
    "plug",
    "socket",
    "dehumidifier",
    "humidifier",
    "aircon",
    "ac",
    "purifier",
    "radiator",
    "radiators",
    "coffee machine",
    "fire",
    "alarm system",
    "wifi",
    "router",
    "hoover",
    "dishwasher",
    "washing machine",
    "dryer",
    "freezer",
    "fridge",
    "speaker",
    "speakers",
    "lighting",
];

/// What comes of a switch at a time.
pub(super) enum Switch {
    Plan(Request),
    Say(String),
}

/// A switch at a time.
pub(super) fn read(s: &Sentence, devices: &[Device], now: &Zoned) -> Option<Switch> {
    if s.len() > 16
        || s.asks && !s.requests
        || s.mentions(&["remind", "reminder", "calendar", "diary", "alarm", "timer", "pin"])
    {
        return None;
    }
    let spans = spans::find(s, now, false);
    if spans.is_empty() {
        return None;
    }
    let in_time = |at: usize| spans.iter().any(|span| span.words.contains(&at));
    let state = |at: usize| ["on", "off"].contains(&s.word(at)) && !in_time(at);
    let verb = (0..s.len().min(6)).find(|at| ["turn", "switch", "power", "flick"].contains(&s.word(*at)));
    let article = |at: usize| at + usize::from(["the", "my", "our", "that"].contains(&s.word(at)));
    const AT: &[&str] =
        &["at", "in", "for", "from", "by", "until", "till", "every", "each", "on", "off", "but", "not", "except"];
    let until_time =
        |from: usize| (from..s.len()).find(|at| in_time(*at) || AT.contains(&s.word(*at))).unwrap_or(s.len());
    let (level, from, to) = match verb {
        Some(verb) if ["on", "off"].contains(&s.word(verb + 1)) => {
            let from = article(verb + 2);
            (verb + 1, from, until_time(from))
        }
        Some(verb) => {
            let from = article(verb + 1);
            let level = (from..s.len()).find(|at| state(*at))?;
            (level, from, level)
        }
        // "heating on at 7 tomorrow"
        None => {
            let from = article(usize::from(["put", "get", "have"].contains(&s.word(0))));
            let level = (from..s.len()).find(|at| state(*at))?;
            let name = s.slice(from, level).to_lowercase();
            let known = SWITCHED
                .iter()
                .any(|thing| name.strip_suffix(thing).is_some_and(|rest| rest.is_empty() || rest.ends_with(' ')))
                || called(devices, &name).is_some();
            (level, from, known.then_some(level)?)
        }
    };
    const PRONOUNS: &[&str] =
        &["it", "them", "that", "this", "everything", "all", "me", "us", "these", "those", "one", "there", "he", "she"];
    if !(1..=3).contains(&to.saturating_sub(from)) || (from..to).any(|at| PRONOUNS.contains(&s.word(at))) {
        return None;
    }
    let name = s.slice(from, to);
    let Some(device) = called(devices, &name.to_lowercase()) else {
        return Some(Switch::Say(format!(
            "I have nothing called “{name}” that I can switch, so I planned nothing. If it is wired to one of my pins, tell me which \
             one, as in “call pin 17 the {name}”."
        )));
    };
    let begin = verb.unwrap_or(from);
    let said = |at: usize| at >= begin && at <= level || (from..to).contains(&at) || in_time(at);
    const SMALL: &[&str] =
        &["can", "could", "you", "please", "hob", "at", "on", "and", "then", "put", "get", "the", "my", "our"];
    let whole = (0..s.len()).all(|at| said(at) || SMALL.contains(&s.word(at)));
    let planned = planned(s, device, &spans, s.word(level) == "on", now).filter(|_| whole && !device.sensor);
    Some(planned.map_or_else(
        || {
            let name = device.name.to_lowercase();
            Switch::Say(unclear::said(s, now).unwrap_or_else(|| {
                format!(
                    "I did not understand when to switch the {name}, so I planned nothing. Say it like “turn on the {name} at 7 tomorrow” \
                     or “turn on the {name} every day at 7”."
                )
            }))
        },
        Switch::Plan,
    ))
}

/// The device of this name.
fn called<'d>(devices: &'d [Device], name: &str) -> Option<&'d Device> {
    devices.iter().find(|device| !device.name.is_empty() && device.name.to_lowercase() == name)
}

/// The schedule that switches it, if its time is plain and is all that is said.
fn planned(s: &Sentence, device: &Device, spans: &[spans::Span], high: bool, now: &Zoned) -> Option<Request> {
    let plain =
        several::all(s, now).iter().all(|found| matches!(found, Several::Except(exception) if exception.joined));
    let meant = spans::meant(s, spans, now, false, 0).filter(|meant| plain && meant.has_time)?;
    let all = meant.of.len() == spans.len();
    let level = if high { "on" } else { "off" };
    let arguments: Map<String, Value> = Map::from_iter([
        ("name".to_owned(), format!("{} {level}", device.name.to_lowercase()).into()),
        ("schedule".to_owned(), meant.schedule),
        ("tool".to_owned(), "gpio_write".into()),
        ("arguments".to_owned(), json!({"pin": device.pin, "high": high})),
    ]);
    all.then(|| Request::new("create_scheduled_task", arguments, true, "a switch at a time"))
}
