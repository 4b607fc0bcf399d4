//! Entities of Home Assistant, and what its registries say about them.

use crate::Attributes;
use std::sync::Arc;

/// An entity with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Its id: `light.hall`.
    pub id: Arc<str>,
    /// Its state, such as `on` or `21.5`; at most 255 bytes.
    pub state: String,
    /// Its attributes.
    pub attributes: Attributes,
    /// When the state changed, and when anything did, in seconds since 1970.
    pub changed: f64,
    /// See `changed`.
    pub updated: f64,
}

/// The domain of an entity id: `light` of `light.hall`.
pub fn domain_of(id: &str) -> &str {
    id.split_once('.').map_or(id, |(domain, _)| domain)
}

/// The most characters of a name: models read it, and anybody who can name a device writes it.
pub(crate) const NAME: usize = 60;

impl Entity {
    /// Its domain: `light`.
    pub fn domain(&self) -> &str {
        domain_of(&self.id)
    }
    /// Its name as Home Assistant shows it, without control characters, line breaks and markup; at most 60 characters.
    pub fn name(&self) -> String {
        let named = self.attributes.text("friendly_name").map(|name| text_kit::plain_name(name, NAME));
        named.filter(|name| !name.is_empty()).unwrap_or_else(|| {
            let (_, object) = self.id.split_once('.').unwrap_or(("", &self.id));
            text_kit::plain_name(&text_kit::capitalized(&object.replace('_', " ")), NAME)
        })
    }
    /// Its class: `garage`, `temperature`.
    pub fn class(&self) -> Option<&str> {
        self.attributes.text("device_class")
    }
    /// Whether it has a state at the moment.
    pub fn is_available(&self) -> bool {
        self.state != "unavailable" && self.state != "unknown"
    }
    /// Whether a bit of `supported_features` is set.
    pub fn supports(&self, feature: u64) -> bool {
        self.attributes.get("supported_features").and_then(serde_json::Value::as_u64).unwrap_or(0) & feature != 0
    }
}

/// A room.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Area {
    /// Its name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The name of its floor.
    pub floor: Option<String>,
    /// Other names of the floor.
    pub floor_aliases: Vec<String>,
}

/// The registries' facts about an entity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// Other names.
    pub aliases: Vec<String>,
    /// Its room, or that of its device.
    pub area: Option<Arc<Area>>,
    /// Whether it is hidden, or only for setting up and diagnosing its device.
    pub secondary: bool,
    /// The device it is part of.
    pub device: Option<Arc<str>>,
}

/// A changed entity.
#[derive(Debug, Clone)]
pub struct Change {
    /// The entity as it is now; `None` where it was removed.
    pub now: Option<Arc<Entity>>,
    /// As it was; `None` where it is new.
    pub before: Option<Arc<Entity>>,
}

impl Change {
    /// Its entity, now or before.
    pub fn entity(&self) -> Option<&Arc<Entity>> {
        self.now.as_ref().or(self.before.as_ref())
    }
}
