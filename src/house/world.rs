//! Facts about the home for the tools that ask the world.

use crate::config::Config;
use home_assistant::HomeAssistant;
use models::{Choices, Units};
use std::sync::Arc;
use tools_world::Home;

/// The position of the home, by hob.toml or else by Home Assistant, and its units.
pub fn home(config: &Config, choices: &Choices, home_assistant: &HomeAssistant) -> Home {
    let (place, units) = (config.place(), config.units);
    let (choices, home_assistant) = (choices.clone(), home_assistant.clone());
    Home {
        place: Arc::new(move || place.or_else(|| home_assistant.facts().place())),
        imperial: Arc::new(move || choices.current().home().units.unwrap_or(units) == Units::Imperial),
    }
}
