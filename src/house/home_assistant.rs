//! Home Assistant: follows its service in the Config Center, and is looked for on the network.

use crate::config::Network;
use config_center::{ConfigCenter, Required};
use home_assistant::{HomeAssistant, Settings};
use std::{sync::Arc, time::Duration};
use things::Things;
use tool::{Bus, Label, Result};
use tools_home::{Finder, FoundHomeAssistant};

/// How long to listen for announcements: a person waits.
const BROWSE: Duration = Duration::from_millis(1500);

/// The client, set up as the Config Center says, now and at each change. It connects once it runs.
///
/// # Errors
/// `BadArgs` when there are too many services.
pub fn home_assistant(services: &ConfigCenter, things: &Things, bus: Bus) -> Result<HomeAssistant> {
    let client = HomeAssistant::new(bus);
    tools_home::add_home_assistant(&client, things);
    let needs = Required::parse_list(&Settings::service())?;
    services.register(Settings::SERVICE, "ha_call_service", Label::Own, needs)?;
    let (known, follower) = (services.clone(), client.clone());
    let follow = move || follower.configure(tools_home::home_assistant_settings(&known));
    follow();
    services.on_change(follow);
    Ok(client)
}

/// Looks for Home Assistants on the network, where discovery is on.
pub fn finder(network: &Network) -> Finder {
    let Network { announce, ignore, .. } = network.clone();
    Arc::new(move || {
        let ignore = ignore.clone();
        Box::pin(async move {
            let found = if announce { discovery::browse(BROWSE, &ignore).await.unwrap_or_default() } else { vec![] };
            let homes = found.into_iter().filter(|found| found.kind == discovery::Kind::HomeAssistant);
            homes.map(|home| FoundHomeAssistant { name: home.name, url: home.url }).collect()
        })
    })
}
