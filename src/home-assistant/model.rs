//! The model of the home in memory: entities, facts of the registries, and services.

use crate::{
    Area, Change, Details, Entity,
    opening::{self, Steps},
    wire,
};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The most entities.
const ENTITIES: usize = 10_000;
/// The most members of a group that are looked at.
const MEMBERS: usize = 500;
/// The most domains, services of one, and fields of a service.
const SERVICES: usize = 500;
const FIELDS: usize = 100;
/// The longest state: that of Home Assistant.
const STATE: usize = 255;

/// A service of Home Assistant, such as `light.turn_on`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceFields {
    /// The names of its fields.
    pub fields: BTreeSet<String>,
    /// The fields it cannot do without.
    pub required: BTreeSet<String>,
    /// Whether it acts on entities.
    pub has_target: bool,
    /// Whether it answers something.
    pub responds: bool,
}

/// Facts of the installation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Facts {
    /// Its name: `Home`.
    #[serde(default)]
    pub location_name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// Units.
    #[serde(default)]
    pub unit_system: Units,
    /// The state of its start: `RUNNING`.
    #[serde(default)]
    pub state: String,
    /// The position of the home in degrees.
    #[serde(default)]
    pub latitude: Option<f64>,
    #[serde(default)]
    pub longitude: Option<f64>,
}

/// The units of a home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Units {
    /// `°C` or `°F`.
    #[serde(default)]
    pub temperature: String,
}

impl Facts {
    /// With texts of a length that can be shown.
    pub(crate) fn bounded(self) -> Self {
        let short = |text: &str, most| text_kit::truncate(text_kit::one_line(text).trim(), most);
        let unit_system = Units { temperature: short(&self.unit_system.temperature, 8) };
        let (location_name, version) = (short(&self.location_name, 100), short(&self.version, 40));
        Self { location_name, version, unit_system, state: short(&self.state, 40), ..self }
    }

    /// Latitude and longitude, where somebody has set them: a new installation is at 0, 0.
    pub fn place(&self) -> Option<(f64, f64)> {
        let (latitude, longitude) = self.latitude.zip(self.longitude)?;
        let is_set = latitude.abs() <= 90.0 && longitude.abs() <= 180.0 && (latitude, longitude) != (0.0, 0.0);
        is_set.then_some((latitude, longitude))
    }
}

#[derive(Default)]
pub(crate) struct Model {
    pub entities: BTreeMap<Arc<str>, Arc<Entity>>,
    pub details: HashMap<Arc<str>, Details>,
    pub areas: Vec<Arc<Area>>,
    pub services: BTreeMap<String, BTreeMap<String, ServiceFields>>,
    pub facts: Facts,
    pub scripts: HashMap<String, Steps>,
    /// Grows with each change.
    pub version: u64,
    /// Entities that did not fit.
    pub left_out: usize,
}

impl Model {
    /// Applies an event of `subscribe_entities`; `first` replaces everything.
    pub fn apply(&mut self, event: wire::Entities, first: bool) -> Vec<Change> {
        let mut changes = vec![];
        if first {
            let now = event.added.as_ref();
            let gone: Vec<_> =
                self.entities.keys().filter(|id| now.is_none_or(|now| !now.contains_key(&***id))).cloned().collect();
            changes.extend(gone.iter().filter_map(|id| self.remove(id)));
            self.left_out = 0;
        }
        for (id, added) in event.added.into_iter().flatten() {
            let updated = added.updated.unwrap_or(added.changed);
            let (state, attributes, changed) = (bounded(added.state), added.attributes, added.changed);
            changes.extend(self.put(Entity { id: id.into(), state, attributes, changed, updated }));
        }
        for (id, diff) in event.changed.into_iter().flatten() {
            let Some(old) = self.entities.get(&*id) else { continue };
            let mut new = (**old).clone();
            let unset = diff.unset.map(|unset| unset.attributes).unwrap_or_default();
            let mut attributes = None;
            if let Some(set) = diff.set {
                new.state = set.state.map_or(new.state, bounded);
                new.changed = set.changed.unwrap_or(new.changed);
                new.updated = set.updated.or(set.changed).unwrap_or(new.updated);
                attributes = set.attributes;
            }
            new.attributes.change(attributes.unwrap_or_default(), &unset);
            changes.extend(self.put(new));
        }
        for id in event.removed.into_iter().flatten() {
            changes.extend(self.remove(&id));
        }
        if !changes.is_empty() {
            self.version += 1;
        }
        changes
    }

    fn put(&mut self, new: Entity) -> Option<Change> {
        if !self.entities.contains_key(&new.id) && (self.entities.len() >= ENTITIES || new.id.len() > STATE) {
            self.left_out += 1;
            return None;
        }
        let new = Arc::new(new);
        let before = self.entities.insert(new.id.clone(), new.clone());
        let same = before.as_ref().is_some_and(|old| old.state == new.state && old.attributes == new.attributes);
        (!same).then_some(Change { now: Some(new), before })
    }

    fn remove(&mut self, id: &str) -> Option<Change> {
        let before = self.entities.remove(id)?;
        Some(Change { now: None, before: Some(before) })
    }

    /// Everything is forgotten: another home is set up, or none.
    pub fn clear(&mut self) {
        *self = Self { version: self.version + 1, ..Self::default() };
    }

    /// Whether running a script or scene opens, unlocks or disarms something, also by others it starts. One that is not
    /// known counts as such.
    pub fn start_opens(&self, id: &str) -> bool {
        let (mut open, mut seen) = (vec![id.to_owned()], BTreeSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            if let Some(rest) = id.strip_prefix("scene.") {
                let Some(scene) = self.entities.get(&*id).filter(|_| !rest.is_empty()) else { return true };
                match scene.attributes.members() {
                    Some(parts) if !parts.iter().any(|part| self.guards(part)) => {}
                    _ => return true,
                }
                continue;
            }
            match self.scripts.get(&id) {
                Some(steps) if !steps.opens => {
                    if steps.touches.iter().any(|id| self.guards(id)) || steps.wide && self.has_guarded_switch() {
                        return true;
                    }
                    open.extend(steps.starts.iter().cloned());
                }
                _ => return true,
            }
        }
        false
    }

    /// Whether opening or switching this entity would let somebody in: by itself, or as a group with such a member. One that is
    /// not known counts as such.
    pub fn guards(&self, id: &str) -> bool {
        let (mut open, mut seen) = (vec![id.to_owned()], BTreeSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let Some(entity) = self.entities.get(&*id) else { return true };
            if opening::is_guarded(entity) {
                return true;
            }
            // A sensor with members only shows what they are.
            if opening::is_group(entity) {
                match entity.attributes.members() {
                    Some(members) if seen.len() <= MEMBERS => open.extend(members.into_iter().map(str::to_owned)),
                    _ => return true,
                }
            }
        }
        false
    }

    /// Whether a switch or button here opens a door.
    fn has_guarded_switch(&self) -> bool {
        let opens = |entity: &Arc<Entity>| opening::is_switch(entity.domain()) && opening::is_guarded(entity);
        self.entities.values().any(opens)
    }
}

fn bounded(state: String) -> String {
    if state.len() <= STATE { state } else { text_kit::truncate(&state, STATE - 3) }
}

/// The list of services, as `get_services` gives it.
pub(crate) fn read_services(json: &str) -> serde_json::Result<BTreeMap<String, BTreeMap<String, ServiceFields>>> {
    #[derive(Deserialize)]
    struct Row {
        #[serde(default)]
        fields: BTreeMap<String, Field>,
        #[serde(default)]
        target: Option<serde_json::Value>,
        #[serde(default)]
        response: Option<serde::de::IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Field {
        #[serde(default)]
        required: bool,
        /// Fields are also grouped in sections.
        #[serde(default)]
        fields: BTreeMap<String, Field>,
    }
    fn collect(fields: BTreeMap<String, Field>, into: &mut ServiceFields) {
        for (name, field) in fields.into_iter().take(FIELDS) {
            if !field.fields.is_empty() {
                collect(field.fields, into);
                continue;
            }
            if field.required {
                into.required.insert(name.clone());
            }
            into.fields.insert(name);
        }
    }
    let all: BTreeMap<String, BTreeMap<String, Row>> = serde_json::from_str(json)?;
    let read = |row: Row| {
        let mut service =
            ServiceFields { has_target: row.target.is_some(), responds: row.response.is_some(), ..Default::default() };
        collect(row.fields, &mut service);
        service
    };
    let services =
        |rows: BTreeMap<String, Row>| rows.into_iter().take(SERVICES).map(|(s, row)| (s, read(row))).collect();
    Ok(all.into_iter().take(SERVICES).map(|(domain, rows)| (domain, services(rows))).collect())
}
