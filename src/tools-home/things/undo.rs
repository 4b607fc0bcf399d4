//! Undoing what a thing was told: the command that makes it as it was, if it still is as it was left.

use ::things::{Address, Command, Known, State, Things, Verb};
use futures::{FutureExt, future::BoxFuture};
use records::Undoer;
use std::sync::Arc;
use store::Part;
use tool::prelude::*;

/// The kind of these parts of changes.
const KIND: &str = "thing-states";

/// The command that brings a thing back to this state after it was told something else; `None` where nothing does: a track
/// that was skipped, a colour that is not known.
pub(super) fn way_back(verbs: &[Verb], before: &State, told: &Command) -> Option<Command> {
    let can = |verb: Verb| verbs.contains(&verb).then(|| Command::new(verb));
    let switched = |on: bool| match (on, before.level) {
        (true, Some(level)) if verbs.contains(&Verb::SetLevel) && level > 0 => {
            Some(Command { level: Some(level), ..Command::new(Verb::SetLevel) })
        }
        (true, _) => can(Verb::TurnOn),
        (false, _) => can(Verb::TurnOff),
    };
    match told.verb {
        Verb::TurnOn | Verb::TurnOff | Verb::Toggle if verbs.contains(&Verb::TurnOff) => switched(before.active?),
        Verb::Toggle | Verb::Open | Verb::Close | Verb::Stop => match (before.level, before.active) {
            (Some(level @ 1..=99), _) if verbs.contains(&Verb::SetLevel) => {
                Some(Command { level: Some(level), ..Command::new(Verb::SetLevel) })
            }
            (_, Some(true)) => can(Verb::Open),
            (_, Some(false)) => can(Verb::Close),
            _ => None,
        },
        Verb::SetLevel => match (before.level, before.active) {
            (_, Some(false)) if verbs.contains(&Verb::TurnOff) => can(Verb::TurnOff),
            (Some(level), _) => Some(Command { level: Some(level), ..Command::new(Verb::SetLevel) }),
            _ => None,
        },
        Verb::Lock | Verb::Unlock => can(if before.active? { Verb::Unlock } else { Verb::Lock }),
        Verb::Arm | Verb::Disarm => can(if before.value == "disarmed" { Verb::Disarm } else { Verb::Arm }),
        Verb::SetTemperature => {
            Some(Command { temperature: Some(before.target?), ..Command::new(Verb::SetTemperature) })
        }
        Verb::SetMode => Some(Command { text: Some(before.value.clone()), ..Command::new(Verb::SetMode) }),
        Verb::Play | Verb::Pause => can(if before.active? { Verb::Play } else { Verb::Pause }),
        Verb::Mute => Some(Command { mute: Some(!told.mute.unwrap_or(true)), ..Command::new(Verb::Mute) }),
        _ => None,
    }
}

/// The arguments of `control_thing` for a command.
pub(super) fn arguments(address: &Address, command: &Command) -> Value {
    let mut args = json!({"thing": address, "action": command.verb});
    let parts = [
        ("level", command.level.map(Value::from)),
        ("by", command.by.map(Value::from)),
        ("temperature", command.temperature.map(Value::from)),
        ("text", command.text.clone().map(Value::from)),
        ("mute", command.mute.map(Value::from)),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            args[name] = value;
        }
    }
    args
}

/// What of a state tells whether it was changed since.
fn mark(state: &State) -> Vec<u8> {
    format!("{}|{:?}|{:?}", state.value, state.level, state.target).into_bytes()
}

/// The part of a change that told a thing something.
pub(super) fn part(known: &Known, back: &Command, after: &State) -> Part {
    Part {
        table: KIND.into(),
        key: known.address.to_string().into_bytes(),
        before: serde_json::to_vec(back).ok(),
        after: mark(after),
        title: known.name.to_owned(),
        list: String::new(),
        shared: true,
    }
}

struct UndoesThings(Things);

/// The kind of parts, and what undoes them.
pub fn undoer(things: &Things) -> (&'static str, Arc<dyn Undoer>) {
    (KIND, Arc::new(UndoesThings(things.clone())))
}

fn read(part: &Part) -> Option<(Address, Command)> {
    let address = std::str::from_utf8(&part.key).ok()?.parse().ok()?;
    Some((address, serde_json::from_slice(part.before.as_ref()?).ok()?))
}

impl Undoer for UndoesThings {
    fn outside<'a>(&'a self, cx: &'a Cx, part: &'a Part) -> BoxFuture<'a, Result<bool>> {
        async move {
            let Some((address, back)) = read(part) else { return Ok(false) };
            let Some(now) = self.0.get(&address) else { return Ok(false) };
            if mark(&now.state) != part.after {
                return Ok(false);
            }
            // Like any call, so that what guards things guards this too: a door that was locked is not unlocked unasked.
            cx.call("control_thing", arguments(&address, &back)).await?;
            Ok(true)
        }
        .boxed()
    }
    fn words(&self, part: &Part) -> Option<String> {
        Some(format!("{} is as it was before", part.title))
    }
}
