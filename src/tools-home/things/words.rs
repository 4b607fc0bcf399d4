//! Sentences about things, for people.

use ::things::{Command, Home, Kind, Verb, state_words};
use text_kit::{capitalized, join_and};

/// The most names in a sentence.
const NAMED: usize = 4;

/// "Hall lamp is on.", "Kitchen ceiling and Worktop light are off.", "8 lights are off."
pub(super) fn done(home: &Home, things: &[usize], what: &str) -> String {
    let be = if things.len() == 1 { "is" } else { "are" };
    format!("{} {be} {what}.", subject(home, things))
}

/// The things as the beginning of a sentence.
pub(super) fn subject(home: &Home, things: &[usize]) -> String {
    if things.len() <= NAMED {
        return capitalized(&join_and(&home.names(things)));
    }
    let kind = home.get(things[0]).kind;
    let noun = if things.iter().all(|at| home.get(*at).kind == kind) { kind.word(2) } else { "things" };
    format!("{} {noun}", things.len())
}

/// "Hall lamp is on at 30%."
pub(super) fn state(home: &Home, at: usize) -> String {
    let known = home.get(at);
    format!("{} {}.", capitalized(known.name), state_words(known.kind, known.state).predicate)
}

/// What a thing is once it did what it was told, after "is"; and while it has not said so yet.
pub(super) fn goal(command: &Command, kind: Kind, unit: &str) -> (String, String) {
    let both = |done: &str, doing: &str| (done.to_owned(), doing.to_owned());
    let degrees = |t: f64| format!("{t}{}{unit}", if unit.starts_with('°') && unit.len() > 2 { " " } else { "" });
    match command.verb {
        Verb::TurnOn => match command.level {
            Some(level) => (format!("on at {level}%"), "turning on".to_owned()),
            None => both("on", "turning on"),
        },
        Verb::TurnOff => both("off", "turning off"),
        Verb::Toggle => both("switched", "being switched"),
        Verb::Open => both("open", "opening"),
        Verb::Close => both("closed", "closing"),
        Verb::Stop => both("stopped", "stopping"),
        Verb::Lock => both("locked", "being locked"),
        Verb::Unlock => both("unlocked", "being unlocked"),
        Verb::Arm => both("armed", "being armed"),
        Verb::Disarm => both("disarmed", "being disarmed"),
        Verb::SetLevel => {
            let volume = if kind == Kind::Media { "volume " } else { "" };
            let at = match (command.level, command.by) {
                (Some(level), _) => format!("at {volume}{level}%"),
                (None, Some(by)) if by < 0 => format!("{}% lower", -i16::from(by)),
                (None, by) => format!("{}% higher", by.unwrap_or_default()),
            };
            (at.clone(), format!("being set: {at}"))
        }
        Verb::SetTemperature => {
            let degrees = degrees(command.temperature.unwrap_or_default());
            (format!("set to {degrees}"), format!("being set to {degrees}"))
        }
        Verb::SetColor => {
            let color = command.text.clone().unwrap_or_default();
            (color.clone(), format!("turning {color}"))
        }
        Verb::SetMode => {
            let mode = command.text.clone().unwrap_or_default();
            (format!("in {mode} mode"), format!("changing to {mode} mode"))
        }
        Verb::Play => both("playing", "starting to play"),
        Verb::Pause => both("paused", "being paused"),
        Verb::Next => both("on the next track", "moving on to the next track"),
        Verb::Previous => both("back at the track before", "going back a track"),
        Verb::Mute if command.mute == Some(false) => both("unmuted", "being unmuted"),
        Verb::Mute => both("muted", "being muted"),
        Verb::Return => both("on its way back", "on its way back"),
        Verb::Activate => both("activated", "being activated"),
    }
}
