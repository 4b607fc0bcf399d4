//! The state of a thing in words for people.

use crate::{Kind, State};

/// The parts of a sentence about a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWords {
    /// After the name: "is on at 30%".
    pub predicate: String,
    /// In a list: "on at 30%".
    pub short: String,
}

/// A state in words.
pub fn state_words(kind: Kind, state: &State) -> StateWords {
    let value = state.value.replace('_', " ");
    let unknown = matches!(state.value.as_str(), "" | "unknown" | "unavailable" | "none");
    let unit = state.unit.as_deref().unwrap_or_default();
    if unknown && state.number.is_none() {
        let short = if state.value == "unavailable" { "not reachable" } else { "unknown" };
        let predicate = match short {
            "unknown" => "has no known state".to_owned(),
            short => format!("is {short}"),
        };
        return StateWords { predicate, short: short.to_owned() };
    }
    let short = match kind {
        Kind::Sensor => match state.number {
            Some(number) => with_unit(number, unit),
            None => value,
        },
        Kind::Climate => climate(state, &value),
        Kind::Light | Kind::Fan => match state.level.filter(|_| state.active != Some(false)) {
            Some(level) => format!("{value} at {level}%"),
            None => value,
        },
        Kind::Cover => match state.level {
            Some(level @ 1..=99) if value == "open" => format!("{level}% open"),
            _ => value,
        },
        Kind::Media => {
            let played = state.detail.as_deref().filter(|_| state.active == Some(true)).map(|it| format!(" {it}"));
            let volume = state.level.map(|level| format!(", volume {level}%"));
            format!("{value}{}{}", played.unwrap_or_default(), volume.unwrap_or_default())
        }
        _ => value,
    };
    StateWords { predicate: format!("is {short}"), short }
}

fn climate(state: &State, value: &str) -> String {
    let unit = state.unit.as_deref().unwrap_or("°");
    let set = match (value, state.target) {
        ("off", _) => "off".to_owned(),
        (mode, Some(target)) => format!("set to {} ({mode})", with_unit(target, unit)),
        (mode, None) => mode.to_owned(),
    };
    match state.temperature {
        Some(now) => format!("{set}, and it is {} now", with_unit(now, unit)),
        None => set,
    }
}

/// `21.5 °C`, `48%`.
fn with_unit(number: f64, unit: &str) -> String {
    let rounded = (number * 100.0).round() / 100.0;
    let number = if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded}") };
    match unit {
        "" => number,
        "%" | "°" => format!("{number}{unit}"),
        unit => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_said_plainly() {
        let state = |value: &str| State { value: value.into(), ..State::default() };
        let celsius = || Some("°C".to_owned());
        for (kind, state, words) in [
            (Kind::Light, State { level: Some(30), active: Some(true), ..state("on") }, "is on at 30%"),
            (Kind::Light, State { level: Some(30), active: Some(false), ..state("off") }, "is off"),
            (Kind::Lock, state("locked"), "is locked"),
            (Kind::Cover, State { level: Some(40), ..state("open") }, "is 40% open"),
            (Kind::Cover, State { level: Some(100), ..state("open") }, "is open"),
            (Kind::Sensor, State { number: Some(21.5), unit: celsius(), ..state("21.5") }, "is 21.5 °C"),
            (Kind::Sensor, State { number: Some(48.0), unit: Some("%".into()), ..state("48") }, "is 48%"),
            (
                Kind::Climate,
                State { target: Some(21.0), temperature: Some(19.5), unit: celsius(), ..state("heat") },
                "is set to 21 °C (heat), and it is 19.5 °C now",
            ),
            (
                Kind::Media,
                State { active: Some(true), detail: Some("Queen".into()), ..state("playing") },
                "is playing Queen",
            ),
            (Kind::Switch, state("unavailable"), "is not reachable"),
            (Kind::Alarm, state("armed_home"), "is armed home"),
        ] {
            assert_eq!(state_words(kind, &state).predicate, words);
        }
    }
}
