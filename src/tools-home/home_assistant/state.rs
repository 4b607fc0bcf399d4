//! The state of an entity, for models and for people.

use super::{Ha, kinds::is_word};
use home_assistant::{Details, Entity};
use tool::prelude::*;

/// The most bytes of attributes in an answer.
const LONG: usize = 3000;

/// The state with its unit; a free text is only shown by `ha_get_state`, which says where it comes from.
pub(super) fn shown_state(entity: &Entity) -> String {
    let unit = entity.attributes.text("unit_of_measurement").filter(|unit| is_word(unit));
    match (is_word(&entity.state), unit) {
        (true, Some(unit)) if entity.is_available() => format!("{} {unit}", entity.state),
        (true, _) => entity.state.clone(),
        (false, _) => "(text: see ha_get_state)".into(),
    }
}

/// "Hall lamp is on".
pub(super) fn phrase(entity: &Entity) -> String {
    let state = match (entity.domain(), &*entity.state) {
        ("scene" | "button" | "input_button", state) if state != "unavailable" => return entity.name(),
        _ if !is_word(&entity.state) => return format!("{} has a text", entity.name()),
        (_, "not_home") => "away".to_owned(),
        _ => shown_state(entity).replace('_', " "),
    };
    format!("{} is {state}", entity.name())
}

/// One line about an entity.
pub(super) fn row(entity: &Entity, details: &Details) -> Value {
    let mut row = json!({"entity": &*entity.id, "name": entity.name(), "state": shown_state(entity)});
    if let Some(area) = &details.area {
        row["area"] = area.name.clone().into();
    }
    row
}

/// Get the state and attributes of one entity of Home Assistant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetState {
    /// Entity id or name, such as `light.hall`.
    #[schemars(length(min = 1, max = 255))]
    entity: String,
}

pub(super) async fn get_state(ha: Ha, _: Cx, GetState { entity }: GetState) -> Result<Output> {
    ha.client.ready()?;
    let (entity, details) = ha.resolve(&entity, None)?;
    let mut size = 0;
    let mut attributes = serde_json::Map::new();
    for (name, value) in entity.attributes.iter().filter(|(name, value)| *name != "friendly_name" && !value.is_null()) {
        size += name.len() + value.to_string().len();
        if size > LONG {
            break;
        }
        attributes.insert(name.to_owned(), value.clone());
    }
    let is_own = is_word(&entity.state) && attributes.values().all(is_plain) && !is_strange(&entity, &details);
    let mut content = row(&entity, &details);
    content["state"] = entity.state.clone().into();
    if let Some(seconds) = jiff::Timestamp::from_second(entity.changed as i64).ok().filter(|_| entity.changed > 0.0) {
        content["changed"] = seconds.to_string().into();
    }
    if let Some(floor) = details.area.as_ref().and_then(|area| area.floor.as_ref()) {
        content["floor"] = floor.clone().into();
    }
    content["attributes"] = attributes.into();
    let output = Output::json(content)?.say(format!("{}.", phrase(&entity)));
    // Titles, messages, notes: anybody may have written them.
    Ok(if is_own { output } else { output.from_outside() })
}

/// Whether a name or room of an entity reads as a sentence of a stranger.
pub(super) fn is_strange(entity: &Entity, details: &Details) -> bool {
    let area = details.area.as_ref();
    let mut places = area.iter().flat_map(|area| [&area.name].into_iter().chain(&area.floor));
    !text_kit::reads_as_name(&entity.name()) || places.any(|place| !text_kit::reads_as_name(place))
}

/// Whether a value holds only numbers and words.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(text) => is_word(text),
        Value::Array(all) => all.iter().all(is_plain),
        Value::Object(all) => all.iter().all(|(key, value)| is_word(key) && is_plain(value)),
        _ => true,
    }
}
