//! Where things come from.

use crate::{Address, Command, Thing};
use serde_json::Value;
use std::sync::Arc;
use tool::Result;

/// The tool call that carries out a command.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub args: Value,
}

/// An area that a source knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AreaOfSource {
    /// Its name, as things of the source give it.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The area around it, such as a floor; empty where there is none.
    pub parent: String,
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
    /// The areas it knows, besides those its things name.
    fn areas(&self) -> Vec<AreaOfSource> {
        vec![]
    }
    /// The thing at an address, where finding it alone is cheaper.
    fn thing(&self, address: &Address) -> Option<Thing> {
        self.things().iter().find(|thing| thing.address == *address).cloned()
    }
}
