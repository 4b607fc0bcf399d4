//! One tool of the catalogue, with data computed once.

use crate::{schema::Schema, schema_cost::compile, search::Words};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};
use tool::Tool;

/// Tools by canonical name.
pub(crate) type Entries = BTreeMap<Arc<str>, Arc<Entry>>;

/// A tool with data computed once.
pub(crate) struct Entry {
    /// Its `enabled` says whether its groups are on.
    pub tool: Arc<Tool>,
    /// Whether it was added as enabled.
    pub on: bool,
    validator: Arc<OnceLock<Result<Schema, String>>>,
    words: Arc<OnceLock<Words>>,
}

impl Entry {
    pub fn new(tool: Arc<Tool>) -> Self {
        Self { on: tool.enabled, validator: Arc::default(), words: Arc::default(), tool }
    }

    /// The compiled schema, or why it is invalid. Compiled when first needed: most tools are not called for days.
    pub fn validator(&self) -> &Result<Schema, String> {
        self.validator.get_or_init(|| compile(self.tool.parameters()))
    }

    /// For the search by words; collected by the first search.
    pub fn words(&self) -> &Words {
        self.words.get_or_init(|| Words::of(&self.tool))
    }

    /// The same entry with a changed tool; its schema and search words stay.
    pub fn with(&self, change: impl FnOnce(&mut Tool)) -> Self {
        let mut tool = (*self.tool).clone();
        change(&mut tool);
        Self { tool: Arc::new(tool), on: self.on, validator: self.validator.clone(), words: self.words.clone() }
    }
}
