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

/// A name without characters that cannot be seen, or that change the direction of writing.
pub(crate) fn visible(name: &str) -> String {
    let hidden = |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    name.chars().filter(|c| !hidden(c)).collect()
}

impl Entity {
    /// Its domain: `light`.
    pub fn domain(&self) -> &str {
        domain_of(&self.id)
    }
    /// Its name as Home Assistant shows it, without control characters and line breaks.
    pub fn name(&self) -> String {
        let named =
            self.attributes.text("friendly_name").map(text_kit::one_line).filter(|name| !name.trim().is_empty());
        let name = named.unwrap_or_else(|| {
            let (_, object) = self.id.split_once('.').unwrap_or(("", &self.id));
            text_kit::capitalized(&object.replace('_', " "))
        });
        text_kit::truncate(visible(&name).trim(), 100)
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
