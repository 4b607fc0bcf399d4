//! The things of Home Assistant, as a source of things.

use super::{
    kinds::{SOURCE, kind_of, thing_of},
    plan::service_for,
};
use home_assistant::{Connection, HomeAssistant};
use serde_json::json;
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use things::{Address, AreaOfSource, Command, Kind, PlannedCall, Source, State, Thing, Things};
use tool::{Error, Result};

/// How old a list may be where only sensors changed: a home has hundreds of them, and the list is made as a whole.
const SENSORS: Duration = Duration::from_millis(500);

struct HomeAssistantSource {
    client: HomeAssistant,
    /// Whether something changed that is not only read.
    urgent: Arc<AtomicBool>,
    list: Mutex<Option<List>>,
}

struct List {
    things: Arc<[Thing]>,
    version: u64,
    connected: bool,
    made: Instant,
}

/// Adds the things of Home Assistant to those of the home.
pub fn add_home_assistant(client: &HomeAssistant, things: &Things) {
    let urgent = Arc::new(AtomicBool::new(true));
    let source = HomeAssistantSource { client: client.clone(), urgent: urgent.clone(), list: Mutex::default() };
    let changed = things.clone();
    client.on_change(move |change| {
        let kind = change.entity().and_then(|entity| kind_of(entity));
        if kind.is_some_and(|kind| kind != Kind::Sensor) || change.now.is_none() || change.before.is_none() {
            urgent.store(true, Ordering::Release);
            changed.changed();
        }
    });
    things.add(Arc::new(source));
}

impl HomeAssistantSource {
    fn is_connected(&self) -> bool {
        self.client.connection() == Connection::Connected
    }

    fn make(&self, connected: bool) -> Arc<[Thing]> {
        let unit = self.client.facts().unit_system.temperature;
        let thing =
            |(entity, details): (Arc<_>, _)| thing_of(&entity, &details, &unit, self.client.is_guarded(&entity));
        let things = self.client.entities().into_iter().filter_map(thing);
        // Without a connection the states are not known.
        things.map(|thing| if connected { thing } else { away(thing) }).collect()
    }
}

fn away(thing: Thing) -> Thing {
    Thing { state: State { value: "unavailable".into(), ..State::default() }, ..thing }
}

impl Source for HomeAssistantSource {
    fn id(&self) -> &'static str {
        SOURCE
    }

    fn things(&self) -> Arc<[Thing]> {
        let (version, connected) = (self.client.version(), self.is_connected());
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = &*list {
            let same = list.version == version;
            let recent = !self.urgent.load(Ordering::Acquire) && list.made.elapsed() < SENSORS;
            if list.connected == connected && (same || recent) {
                return list.things.clone();
            }
        }
        self.urgent.store(false, Ordering::Release);
        let things = self.make(connected);
        *list = Some(List { things: things.clone(), version, connected, made: Instant::now() });
        things
    }

    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall> {
        let gone = || Error::not_found(format!("Home Assistant has no `{}` any more", thing.address.key));
        let (entity, _) = self.client.entity(&thing.address.key).ok_or_else(gone)?;
        let (domain, service, data) = service_for(&entity, &thing.state, command)?;
        let args = json!({"domain": domain, "service": service, "entity": &*entity.id, "data": data});
        Ok(PlannedCall { tool: "ha_call_service", args })
    }

    fn areas(&self) -> Vec<AreaOfSource> {
        let areas = self.client.areas();
        let rooms = areas.iter().map(|area| AreaOfSource {
            name: area.name.clone(),
            aliases: area.aliases.clone(),
            parent: area.floor.clone().unwrap_or_default(),
        });
        let mut all: Vec<AreaOfSource> = rooms.collect();
        for area in &areas {
            if let Some(floor) = area.floor.as_ref().filter(|floor| all.iter().all(|a| a.name != **floor)) {
                let aliases = area.floor_aliases.clone();
                all.push(AreaOfSource { name: floor.clone(), aliases, parent: String::new() });
            }
        }
        all
    }

    fn thing(&self, address: &Address) -> Option<Thing> {
        let (entity, details) = self.client.entity(&address.key)?;
        let unit = self.client.facts().unit_system.temperature;
        let thing = thing_of(&entity, &details, &unit, self.client.is_guarded(&entity))?;
        Some(if self.is_connected() { thing } else { away(thing) })
    }
}
