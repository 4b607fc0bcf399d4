//! The registries of areas, floors, devices and entities.

use crate::{Area, Details, entity::NAME};
use serde::{Deserialize, Deserializer};
use std::{collections::HashMap, sync::Arc};

/// The most aliases of one thing.
const ALIASES: usize = 20;
/// The most areas and entities, and the longest id: more than the model has.
const AREAS: usize = 500;
const ENTITIES: usize = 20_000;
const ID: usize = 255;

#[derive(Deserialize)]
pub(crate) struct FloorRow {
    floor_id: String,
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    aliases: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct AreaRow {
    area_id: String,
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    aliases: Vec<String>,
    #[serde(default)]
    floor_id: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct DeviceRow {
    id: String,
    #[serde(default)]
    area_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    name_by_user: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct EntityRow {
    pub entity_id: String,
    #[serde(default)]
    area_id: Option<String>,
    #[serde(default)]
    device_id: Option<String>,
    #[serde(default)]
    hidden_by: Option<String>,
    #[serde(default)]
    disabled_by: Option<String>,
    #[serde(default)]
    entity_category: Option<String>,
}

/// An entry of `get_entries`, for what lists leave out.
#[derive(Deserialize)]
pub(crate) struct FullRow {
    #[serde(default, deserialize_with = "or_default")]
    pub aliases: Vec<String>,
}

fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    // Newer versions list `null` for the name itself.
    let all: Option<Vec<Option<String>>> = Option::deserialize(deserializer)?;
    Ok(clean(all.into_iter().flatten().flatten()))
}

fn clean(names: impl Iterator<Item = String>) -> Vec<String> {
    let names = names.map(|name| name_of(&name)).filter(|name| !name.is_empty());
    names.take(ALIASES).collect()
}

fn name_of(text: &str) -> String {
    text_kit::plain_name(text, NAME)
}

/// The four lists while they arrive.
#[derive(Default)]
pub(crate) struct Registries {
    pub floors: Option<Vec<FloorRow>>,
    pub areas: Option<Vec<AreaRow>>,
    pub devices: Option<Vec<DeviceRow>>,
    pub entities: Option<Vec<EntityRow>>,
}

/// The areas, and the details of entities by id.
type Joined = (Vec<Arc<Area>>, HashMap<Arc<str>, Details>);

impl Registries {
    /// Joins the four lists once all have arrived.
    pub fn join(&mut self) -> Option<Joined> {
        let (true, true, true, true) =
            (self.floors.is_some(), self.areas.is_some(), self.devices.is_some(), self.entities.is_some())
        else {
            return None;
        };
        let Self { floors, areas, devices, entities } = std::mem::take(self);
        let floors: HashMap<String, FloorRow> =
            floors.unwrap_or_default().into_iter().map(|floor| (floor.floor_id.clone(), floor)).collect();
        let area = |row: AreaRow| {
            let floor = row.floor_id.and_then(|id| floors.get(&id));
            let area = Area {
                name: name_of(&row.name),
                aliases: row.aliases,
                floor: floor.map(|floor| name_of(&floor.name)),
                floor_aliases: floor.map(|floor| floor.aliases.clone()).unwrap_or_default(),
            };
            (row.area_id, Arc::new(area))
        };
        let areas: HashMap<String, Arc<Area>> = areas.unwrap_or_default().into_iter().take(AREAS).map(area).collect();
        let device = |row: DeviceRow| {
            let name = row.name_by_user.or(row.name).map(|name| Arc::<str>::from(name_of(&name)));
            (row.id, (name, row.area_id))
        };
        let devices: HashMap<_, _> = devices.unwrap_or_default().into_iter().map(device).collect();
        let details = |row: EntityRow| {
            let device = row.device_id.and_then(|id| devices.get(&id));
            let area = row.area_id.as_ref().or(device.and_then(|(_, area)| area.as_ref()));
            let details = Details {
                aliases: vec![],
                area: area.and_then(|id| areas.get(id)).cloned(),
                secondary: row.hidden_by.is_some() || row.disabled_by.is_some() || row.entity_category.is_some(),
                device: device.and_then(|(name, _)| name.clone()),
            };
            (Arc::from(row.entity_id), details)
        };
        let rows = entities.unwrap_or_default().into_iter().filter(|row| row.entity_id.len() <= ID).take(ENTITIES);
        let details = rows.map(details).collect();
        let mut rooms: Vec<Arc<Area>> = areas.values().cloned().collect();
        rooms.sort_by(|a, b| a.name.cmp(&b.name));
        Some((rooms, details))
    }
}
