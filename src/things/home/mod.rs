//! A snapshot of the home: the things of all sources with the household's notes over them.

pub mod areas;
pub(crate) mod index;
pub mod resolve;
pub mod scan;
pub mod vocabulary;

#[cfg(test)]
mod tests;

use crate::{Address, Kind, State, Thing, Verb};
use areas::Area;
use index::{Index, Slot};
use std::sync::Arc;
use tool::Label;

/// A snapshot of the home; cheap to clone behind its `Arc`. Things have numbers from 0 in it.
pub struct Home {
    index: Arc<Index>,
    lists: Vec<Arc<[Thing]>>,
}

/// A thing as the household knows it.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// Where it lives.
    pub address: &'a Address,
    /// What people call it.
    pub name: &'a str,
    /// Other names.
    pub aliases: &'a [String],
    /// Its area.
    pub area: Option<&'a Area>,
    /// What it is.
    pub kind: Kind,
    /// What its source says it is.
    pub own_kind: Kind,
    /// Its device class; empty where none is known.
    pub class: &'a str,
    /// What it can be told to do.
    pub verbs: &'a [Verb],
    /// Its state.
    pub state: &'a State,
    /// Whether telling it to do so would open, unlock or disarm something.
    pub guarded: bool,
    /// Whether it is left out of lists.
    pub hidden: bool,
    /// Whether the voice door may use it.
    pub voice: bool,
    /// Whose words its names are.
    pub label: Label,
    /// Whether one of its names comes from its source and reads as a sentence.
    pub strange: bool,
}

impl Known<'_> {
    /// The name of its area; empty where none is known.
    pub fn area_name(&self) -> &str {
        self.area.map_or("", |area| &area.name)
    }
    /// Whether it can be told to do something.
    pub fn is_controlled(&self) -> bool {
        !self.verbs.is_empty()
    }
    /// Whether a command would open, unlock or disarm it. What its source says counts, and not only the kind that somebody
    /// noted: calling a lock a lamp does not unguard it.
    pub fn opens(&self, verb: Verb, level: Option<u8>, by: Option<i8>) -> bool {
        const CLOSED: [Kind; 3] = [Kind::Cover, Kind::Lock, Kind::Alarm];
        let closes = matches!(verb, Verb::Close | Verb::Lock | Verb::Arm | Verb::Stop)
            || verb == Verb::SetLevel && (level == Some(0) || level.is_none() && by.is_some_and(|by| by < 0));
        let is_of = |kinds: &[Kind]| kinds.contains(&self.kind) || kinds.contains(&self.own_kind);
        let is_closed = self.guarded || is_of(&CLOSED);
        // A switch that opens a door does so when it goes on: "everything off" asks nobody.
        let closes = closes || verb == Verb::TurnOff && !is_of(&CLOSED);
        matches!(verb, Verb::Unlock | Verb::Disarm) || is_closed && !closes
    }
}

impl Home {
    pub(crate) fn new(index: Arc<Index>, lists: Vec<Arc<[Thing]>>) -> Self {
        Self { index, lists }
    }

    /// The same home with other states.
    pub(crate) fn with_states(&self, lists: Vec<Arc<[Thing]>>) -> Self {
        Self { index: self.index.clone(), lists }
    }

    pub(crate) fn is_of(&self, lists: &[Arc<[Thing]>]) -> bool {
        self.lists.len() == lists.len() && self.lists.iter().zip(lists).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    /// How many things there are, hidden ones included.
    pub fn len(&self) -> usize {
        self.index.slots.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.index.slots.is_empty()
    }

    /// Whether anything is here besides pins that are only on or off.
    pub fn is_beyond_pins(&self) -> bool {
        let dims = |at: usize| self.get(at).verbs.contains(&Verb::SetLevel);
        (0..self.len()).any(|at| self.get(at).address.source != "pin" || dims(at))
    }

    /// The number of the thing at an address.
    pub fn at(&self, address: &Address) -> Option<usize> {
        self.index.by_address.get(address).copied()
    }

    /// A thing by its number.
    ///
    /// # Panics
    /// Where there are fewer things.
    pub fn get(&self, at: usize) -> Known<'_> {
        let slot: &Slot = &self.index.slots[at];
        let own = &self.lists[slot.source][slot.at];
        Known {
            address: &own.address,
            name: &slot.name,
            aliases: &slot.aliases,
            area: slot.area.map(|area| &self.index.areas[area]),
            kind: slot.kind,
            own_kind: own.kind,
            class: &own.class,
            verbs: &own.verbs,
            state: &own.state,
            guarded: slot.guarded,
            hidden: slot.hidden,
            voice: slot.voice,
            label: slot.label,
            strange: slot.strange,
        }
    }

    /// A thing by its number, with the household's names.
    pub fn thing(&self, at: usize) -> Thing {
        let known = self.get(at);
        Thing {
            address: known.address.clone(),
            name: known.name.to_owned(),
            aliases: known.aliases.to_vec(),
            area: known.area_name().to_owned(),
            kind: known.kind,
            verbs: known.verbs.to_vec(),
            state: known.state.clone(),
            guarded: known.guarded,
            class: known.class.to_owned(),
        }
    }

    /// All areas.
    pub fn areas(&self) -> &[Area] {
        &self.index.areas
    }

    /// The area of this name or alias.
    pub fn area(&self, name: &str) -> Option<usize> {
        self.index.area_names.get(&index::key(name)).copied()
    }

    /// The area of a thing, as a number.
    pub fn area_of(&self, at: usize) -> Option<usize> {
        self.index.slots[at].area
    }

    /// Whether an area is another one or inside of it.
    pub fn is_within(&self, area: usize, of: usize) -> bool {
        areas::is_within(&self.index.areas, area, of)
    }
}
