//! Things of the home: list, look, control, and what the household calls them.

mod areas;
mod control;
#[cfg(test)]
#[path = "../../things/demo.rs"]
mod demo;
mod list;
mod notes;
mod target;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_notes;
mod undo;
mod words;

pub use undo::undoer;

use ::things::{Things, Watcher};
use tokio_util::sync::CancellationToken;
use tool::{Bus, prelude::*};

/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (30, 200);

/// Things of the home.
pub fn family(things: Things) -> Family<Things> {
    let beyond_pins = |things: &Things| things.home().is_beyond_pins();
    Family::new("things", "See and control what is in the home: lights, blinds, heating, media, locks.", things)
        .title("Home")
        .area(Area::Home)
        .tool("control_thing", Risk::Actuate, control::control)
        .everyday_while(beyond_pins)
        .shows(&["thing", "area", "kind", "level", "by", "temperature", "text", "for"])
        .opens_where(control::opens)
        .ability("drive the home")
        .tags(
            "turn on off switch light lamp dim brightness open close blind curtain garage lock unlock door heating \
             temperature thermostat play pause volume music tv fan vacuum scene alarm everything home",
        )
        .example(json!({"thing": "hall lamp", "action": "turn_on", "for": "PT10M"}))
        .example(json!({"area": "downstairs", "kind": "light", "action": "turn_off"}))
        .tool("get_thing", Risk::Observe, list::get)
        .everyday_while(beyond_pins)
        .tags("state is on open locked temperature sensor light door home status")
        .tool("list_things", Risk::Observe, list::list)
        .everyday_while(beyond_pins)
        .page(LISTED)
        .tags("devices lights which on open home rooms entities show sensors")
        .tool("update_thing", Risk::Write, notes::update)
        .persists_instructions()
        .idempotent()
        .tags("rename call name alias room area hide device lamp voice")
        .tool("list_areas", Risk::Observe, areas::list)
        .tags("rooms floors home places")
        .tool("update_area", Risk::Write, areas::update)
        .persists_instructions()
        .idempotent()
        .tags("room floor rename create new alias upstairs downstairs")
        .tool("delete_area", Risk::Destroy, areas::delete)
        .tags("room floor remove forget")
}

/// Publishes `thing:changed` until `closing`.
pub fn publish_changes(things: &Things, bus: Bus, closing: CancellationToken) {
    let mut watcher = Watcher::new(things);
    let publish = async move {
        loop {
            for change in watcher.next().await {
                match serde_json::to_value(&change) {
                    Ok(data) => bus.publish("thing:changed", None, data),
                    Err(error) => tracing::warn!(%error, "a change of a thing cannot be published"),
                }
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(publish));
}
