//! Stored choices that an admin made on the page or over the API. They override hob.toml; flags and the environment override them.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Id, Label, Result, Scope};

/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 3]);

/// The choices; empty is not chosen. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// The device's name.
    pub name: String,
    /// The model that answers, as `provider/model`.
    pub model: String,
    /// The address of its server.
    pub url: String,
    /// [`Terms`] as JSON text.
    terms: String,
}

/// Choices about models; `None` is not chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    pub fallback: Option<Vec<String>>,
    pub strategy: Option<llm::Strategy>,
    pub prefer_reflex: Option<bool>,
    /// In US dollars; 0 is no limit.
    pub daily_budget: Option<f64>,
    /// Addresses by provider.
    pub urls: BTreeMap<String, String>,
}

impl Record for Chosen {
    const NAME: &'static str = "settings";
    const WORD: &'static str = "set of settings";
    const LEVEL: Level = Level::Household;
}

impl Chosen {
    pub fn terms(&self) -> Terms {
        serde_json::from_str(&self.terms).unwrap_or_default()
    }
    pub fn set_terms(&mut self, terms: &Terms) {
        // Only NaN could fail, and it is refused before; the old terms stay then.
        if let Ok(text) = serde_json::to_string(terms) {
            self.terms = text;
        }
    }
}

/// The store of choices; cheap to clone.
#[derive(Clone)]
pub struct Choices {
    kept: Collection<Chosen>,
    now: Arc<Mutex<Chosen>>,
}

impl Choices {
    pub fn open(store: &Store) -> Result<Self> {
        let kept: Collection<Chosen> = store.collection();
        let now = kept.get_in(Scope::Household, ONE)?.map(|e| e.value).unwrap_or_default();
        Ok(Self { kept, now: Arc::new(Mutex::new(now)) })
    }

    pub fn now(&self) -> Chosen {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes and stores the choices.
    pub async fn keep(&self, change: impl Fn(&mut Chosen) + Send + 'static) -> Result<()> {
        let kept = self.kept.clone();
        let keep = move |tx: &store::Tx| {
            if kept.read(tx, Scope::Household, ONE)?.is_none() {
                kept.put(tx, ONE, &Stamp::household("settings"), &Chosen::default())?;
            }
            kept.change(tx, Scope::Household, Label::Own, ONE, &mut |chosen| {
                change(chosen);
                Ok(())
            })
        };
        let chosen = self.kept.store().write(keep).await?.value;
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
        Ok(())
    }
}
