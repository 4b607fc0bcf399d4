//! Where things come from.

use crate::{Address, Command, Thing};
use serde_json::Value;
use std::sync::{Arc, PoisonError, RwLock};
use tool::Result;

/// The tool call that carries out a command.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub args: Value,
}

/// Lists things of one kind of place, with their current states.
pub trait Source: Send + Sync + 'static {
    /// Its id, the first part of its addresses: `pin`, `ha`, `mqtt`.
    fn id(&self) -> &'static str;
    /// All things it knows now, from memory: it does not wait for a network.
    fn things(&self) -> Arc<[Thing]>;
    /// The call that carries out a command.
    ///
    /// # Errors
    /// `BadArgs` where the thing cannot do that.
    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall>;
}

/// The things of all sources; cheap to clone.
#[derive(Clone, Default)]
pub struct Things(Arc<RwLock<Vec<Arc<dyn Source>>>>);

impl Things {
    /// Adds a source. The assembly does this once for each.
    pub fn add(&self, source: Arc<dyn Source>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(source);
    }

    /// All things, in the order of the sources.
    pub fn all(&self) -> Vec<Thing> {
        self.sources().iter().flat_map(|source| source.things().iter().cloned().collect::<Vec<_>>()).collect()
    }

    /// The thing at an address, as it is now.
    pub fn get(&self, address: &Address) -> Option<Thing> {
        let sources = self.sources();
        let source = sources.iter().find(|source| source.id() == address.source)?;
        source.things().iter().find(|thing| thing.address == *address).cloned()
    }

    /// The call that carries out a command; `None` where the source of the thing is not here.
    pub fn plan(&self, thing: &Thing, command: &Command) -> Option<Result<PlannedCall>> {
        let sources = self.sources();
        let source = sources.iter().find(|source| source.id() == thing.address.source)?;
        Some(source.plan(thing, command))
    }

    fn sources(&self) -> Vec<Arc<dyn Source>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
