//! What changed between two snapshots of the home.

use crate::{Address, Home, State, Things};
use serde::Serialize;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::sync::Notify;

/// How often is looked, where no source says that something changed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// What changes within this time is one change.
const COALESCED: Duration = Duration::from_millis(50);
/// The most changes of one look; the others are found by the next one.
const MOST: usize = 500;

/// A thing that changed: the data of `thing:changed`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its address.
    pub thing: Address,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: crate::Kind,
    /// Its area; empty where none is known.
    pub area: String,
    /// Its state in one word.
    pub value: String,
    /// Whether it is on, open, unlocked or running.
    pub active: Option<bool>,
    /// The number that a sensor reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// Brightness, position, speed or volume in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// The value before.
    pub before: String,
    /// Whether it was on, open, unlocked or running before.
    #[serde(rename = "activeBefore")]
    pub active_before: Option<bool>,
}

/// Finds out what changed since it last looked. Bounded by the number of things and [`MOST`] changes a look.
pub struct Watcher {
    things: Things,
    known: HashMap<Address, State>,
    last: Option<Arc<Home>>,
    notified: Arc<Notify>,
}

impl Watcher {
    /// Begins with the states that are there now.
    pub fn new(things: &Things) -> Self {
        let mut watcher =
            Self { things: things.clone(), known: HashMap::new(), last: None, notified: things.when_changed() };
        watcher.look();
        watcher
    }

    /// Waits until it is worth looking, and looks.
    pub async fn next(&mut self) -> Vec<Change> {
        loop {
            tokio::select! {
                () = self.notified.notified() => tokio::time::sleep(COALESCED).await,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let found = self.look();
            if !found.is_empty() {
                return found;
            }
        }
    }

    /// The changes since the last look. What is new or gone is none.
    pub fn look(&mut self) -> Vec<Change> {
        let home = self.things.home();
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &home)) {
            return vec![];
        }
        let (mut found, mut is_whole) = (vec![], true);
        for at in 0..home.len() {
            let thing = home.get(at);
            match self.known.get_mut(thing.address) {
                Some(before) if before == thing.state => {}
                Some(_) if found.len() >= MOST => is_whole = false,
                Some(before) => {
                    let was = std::mem::replace(before, thing.state.clone());
                    found.push(Change {
                        thing: thing.address.clone(),
                        name: thing.name.to_owned(),
                        kind: thing.kind,
                        area: thing.area_name().to_owned(),
                        value: thing.state.value.clone(),
                        active: thing.state.active,
                        number: thing.state.number,
                        level: thing.state.level,
                        before: was.value,
                        active_before: was.active,
                    });
                }
                None => {
                    self.known.insert(thing.address.clone(), thing.state.clone());
                }
            }
        }
        if self.known.len() > home.len() {
            self.known.retain(|address, _| home.at(address).is_some());
        }
        self.last = Some(home).filter(|_| is_whole);
        found
    }
}
