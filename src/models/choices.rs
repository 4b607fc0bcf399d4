//! Settings chosen at the page or over the API, in one stored record: the device's name, the home, and how models are
//! chosen. They win over hob.toml; flags and the environment win over them.

use crate::home::HomeSettings;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Id, Label, Result, Scope};

/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 3]);

/// The chosen settings; empty means not chosen. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenSettings {
    /// The device's name.
    pub name: String,
    /// The first model, as `provider/model`.
    pub model: String,
    /// The address of its server.
    pub url: String,
    /// [`ModelSettings`] as JSON text.
    model_settings: String,
    /// [`HomeSettings`] as JSON text.
    home: String,
}

/// How models are chosen; `None` means not chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ModelSettings {
    pub fallback: Option<Vec<String>>,
    pub strategy: Option<llm::Strategy>,
    pub prefer_reflex: Option<bool>,
    /// In US dollars; 0 is any amount.
    pub daily_budget: Option<f64>,
    /// Addresses of providers, by provider.
    pub urls: BTreeMap<String, String>,
}

impl Record for ChosenSettings {
    const NAME: &'static str = "settings";
    const WORD: &'static str = "set of settings";
    const LEVEL: Level = Level::Household;
}

impl ChosenSettings {
    pub(crate) fn model_settings(&self) -> ModelSettings {
        serde_json::from_str(&self.model_settings).unwrap_or_default()
    }

    pub(crate) fn set_model_settings(&mut self, settings: &ModelSettings) {
        // Never fails: numbers are checked to be finite before.
        if let Ok(text) = serde_json::to_string(settings) {
            self.model_settings = text;
        }
    }

    pub fn home(&self) -> HomeSettings {
        serde_json::from_str(&self.home).unwrap_or_default()
    }

    pub fn set_home(&mut self, home: &HomeSettings) {
        // Never fails: it is made of texts.
        if let Ok(text) = serde_json::to_string(home) {
            self.home = text;
        }
    }
}

/// The stored settings and their current values; cheap to clone.
#[derive(Clone)]
pub struct Choices {
    stored: Collection<ChosenSettings>,
    current: Arc<Mutex<ChosenSettings>>,
}

impl Choices {
    pub fn open(store: &Store) -> Result<Self> {
        let stored: Collection<ChosenSettings> = store.collection();
        let current = stored.get_in(Scope::Household, ONE)?.map(|e| e.value).unwrap_or_default();
        Ok(Self { stored, current: Arc::new(Mutex::new(current)) })
    }

    pub fn current(&self) -> ChosenSettings {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the stored settings.
    pub async fn update(&self, change: impl Fn(&mut ChosenSettings) + Send + 'static) -> Result<()> {
        let stored = self.stored.clone();
        let update = move |tx: &store::Tx| {
            if stored.read(tx, Scope::Household, ONE)?.is_none() {
                stored.put(tx, ONE, &Stamp::household("settings"), &ChosenSettings::default())?;
            }
            stored.change(tx, Scope::Household, Label::Own, ONE, &mut |chosen| {
                change(chosen);
                Ok(())
            })
        };
        let chosen = self.stored.store().write(update).await?.value;
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
        Ok(())
    }
}
