//! Calls for what was understood.

use crate::classification::{Classification, fixed_reply};
use serde_json::{Map, Value, json};
use things::{Home, Kind, Target, Verb};

/// One thing, by its address.
pub(super) fn one(home: &Home, at: usize) -> Map<String, Value> {
    Map::from_iter([("thing".to_owned(), json!(home.get(at).address))])
}

/// The part of a call that says what it is about. Groups are named as groups, so that the result speaks of them.
pub(super) fn target(home: &Home, target: &Target, everything: bool) -> Map<String, Value> {
    if let [at] = target.things[..] {
        return one(home, at);
    }
    let all_of_kind = |kind: Kind| {
        let inside = |at: &usize| {
            let known = home.get(*at);
            let within = target.area.is_none_or(|area| home.area_of(*at).is_some_and(|own| home.is_within(own, area)));
            known.kind == kind && within && !known.hidden && known.is_controlled()
        };
        (0..home.len()).filter(inside).eq(target.things.iter().copied())
    };
    let mut named = Map::new();
    if let Some(kind) = target.kind.filter(|kind| all_of_kind(*kind)) {
        named.insert("kind".to_owned(), json!(kind));
        if let Some(area) = target.area {
            named.insert("area".to_owned(), home.areas()[area].name.clone().into());
        }
        return named;
    }
    if everything {
        let area = target.area.map_or("everywhere", |area| &home.areas()[area].name);
        named.insert("area".to_owned(), area.into());
        return named;
    }
    let addresses: Vec<Value> = target.things.iter().map(|at| json!(home.get(*at).address)).collect();
    named.insert("things".to_owned(), addresses.into());
    named
}

/// These calls, the first of them first.
pub(super) fn calls(all: Vec<(&'static str, Value)>, why: &str) -> Option<Classification> {
    let mut all = all.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments));
    let (tool, arguments) = all.next()?;
    let placed = Classification { tool: Some(tool), arguments, more: all.collect(), ..fixed_reply("", why) };
    Some(placed.speechless())
}

/// Off after on: what "until ten" brings.
pub(super) fn opposite(verb: Verb) -> Option<Verb> {
    Some(match verb {
        Verb::TurnOn => Verb::TurnOff,
        Verb::TurnOff => Verb::TurnOn,
        Verb::Play => Verb::Pause,
        Verb::Pause => Verb::Play,
        _ => return None,
    })
}
