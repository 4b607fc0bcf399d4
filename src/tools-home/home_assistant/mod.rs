//! Home Assistant: its entities as things, and tools for what things do not cover.

mod call;
mod find;
mod history;
mod kinds;
mod never;
mod plan;
mod source;
mod state;
mod status;
#[cfg(test)]
mod tests;

pub use source::add_home_assistant;

use futures::future::BoxFuture;
use home_assistant::{HomeAssistant, Settings};
use std::{sync::Arc, time::Duration};
use tool::prelude::*;

/// How many entities a search returns by default and at most.
const PAGE: (u32, u32) = (20, 50);

/// A Home Assistant that announces itself on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundHomeAssistant {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
}

/// Looks for Home Assistants on the network.
pub type Finder = Arc<dyn Fn() -> BoxFuture<'static, Vec<FoundHomeAssistant>> + Send + Sync>;

#[derive(Clone)]
struct Ha {
    client: HomeAssistant,
    finder: Finder,
}

/// The tools of Home Assistant. They are on once its service is set up.
///
/// Labels: ids, names, words and numbers are the household's own. Free texts (titles of media, messages, states such as the
/// subject of a mail), what services answer and what its assistant says are from outside.
pub fn family(client: &HomeAssistant, finder: Finder) -> Family<impl Clone + Send + Sync + 'static> {
    let ha = Ha { client: client.clone(), finder };
    Family::new("home_assistant", "See and control what Home Assistant has.", ha)
        .title("Home Assistant")
        .category("Home Assistant")
        .services(&[Settings::SERVICE])
        .area(Area::Home)
        .tool("ha_find_entities", Risk::Observe, find::find_entities)
        .page(PAGE)
        .tags("home assistant entity search lights sensors devices rooms smart home")
        .tool("ha_get_state", Risk::Observe, state::get_state)
        .tags("home assistant entity state attributes sensor value")
        .tool("ha_get_history", Risk::Observe, history::get_history)
        .tags("home assistant history yesterday changes chart minimum maximum average")
        .timeout(Duration::from_secs(50))
        .tool("ha_call_service", Risk::Actuate, call::call_service)
        .ability("drive the home")
        .tags("home assistant service action turn on off set light cover climate media lock")
        .opens_where(call::opens)
        .tool("ha_run", Risk::Actuate, call::run_scene)
        .tags("home assistant scene script activate run")
        .opens_where(call::run_opens)
        .tool("ha_fire_event", Risk::Actuate, call::fire_event)
        .tags("home assistant event automation trigger fire")
        .tool("ha_converse", Risk::Actuate, call::converse)
        .tags("home assistant assist conversation sentence")
        // It understands sentences of its own, in any language: nobody can tell beforehand what they open.
        .opens_where(|_, _| true)
        .tool("ha_status", Risk::Observe, status::status)
        .tags("home assistant connection status connected version")
}

/// The settings in the entry of the service, where there is one.
pub fn home_assistant_settings(settings: &dyn tool::Settings) -> Option<Result<Settings>> {
    settings.entry(Settings::SERVICE, None).map(|entry| Settings::read(&entry))
}
