//! Layer 2: one catalogue, one decision, one dispatch.
//!
//! [`Registry`] keeps every tool of every family and is the [`tool::Dispatch`] behind each call: it finds the
//! tool, checks the arguments, decides, runs it within its limits and tells the bus. Tools never do any of that.

mod catalogue;
mod decide;
mod dispatch;
mod meta;
mod validate;

pub use catalogue::Listed;
pub use decide::{Asked, Decision, Verdict, decide};
pub use meta::{EVERYDAY, help};
pub use validate::{check_arguments, check_schema};

use catalogue::Catalogue;
use std::sync::{Arc, PoisonError, RwLock};
use tool::{Cx, Error, Family, Owner, Result, Tool};

/// The catalogue and its dispatch; cheap to clone.
#[derive(Clone, Default)]
pub struct Registry(Arc<RwLock<Catalogue>>);

impl Registry {
    /// A registry that holds only the meta-tools `search_tools`, `get_tool_help` and `use_tool`.
    ///
    /// # Errors
    /// Never in practice: only if the meta-tools' own names were wrong.
    pub fn new() -> Result<Self> {
        let registry = Self::default();
        registry.add(meta::family(registry.clone()))?;
        Ok(registry)
    }

    /// Adds all tools of a family.
    ///
    /// # Errors
    /// `BadArgs` when a name is malformed or taken; nothing is added then.
    pub fn add<S: Clone + Send + Sync + 'static>(&self, family: Family<S>) -> Result<()> {
        let (_, _, phrases, tools) = family.into_parts();
        self.write(|c| c.add_all(tools, phrases))
    }

    /// Adds one tool, as custom tools do at run time.
    ///
    /// # Errors
    /// `BadArgs` when the name is malformed or taken.
    pub fn add_tool(&self, tool: Tool) -> Result<()> {
        self.write(|c| c.add_all(vec![tool], ""))
    }

    /// Removes a tool of a group by its canonical name; `false` when there is none.
    pub fn remove(&self, group: &str, name: &str) -> bool {
        self.write(|c| c.remove(group, name))
    }

    /// The tool behind a name or alias.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.read(|c| c.get(name))
    }

    /// Every tool by canonical name, in order of name.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.read(Catalogue::all)
    }

    /// The tools that match, best first: word by word in name, description, tags and category; `all` or nothing
    /// matches everything.
    pub fn search(&self, query: &str, category: Option<&str>) -> Vec<Arc<Tool>> {
        self.read(|c| c.search(query, category))
    }

    /// Whether this caller may see a tool at all: models' tools show only to whom they were made for.
    pub fn visible(cx: &Cx, tool: &Tool) -> bool {
        !matches!(&tool.owner, Owner::Model(user) if *user != cx.user())
    }

    /// The phrase files of all families, for `reflex`.
    pub fn phrases(&self) -> Vec<&'static str> {
        self.read(|c| c.phrases.clone())
    }

    /// Forgets every tool and so lets go of whatever they hold; calls answer `NotFound` from then on.
    pub fn close(&self) {
        self.write(|c| *c = Catalogue::default());
    }

    fn read<T>(&self, f: impl FnOnce(&Catalogue) -> T) -> T {
        f(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
    fn write<T>(&self, f: impl FnOnce(&mut Catalogue) -> T) -> T {
        f(&mut self.0.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The tool behind a name, or an error that names the nearest.
    pub(crate) fn find(&self, cx: &Cx, name: &str) -> Result<Arc<Tool>> {
        if let Some(tool) = self.get(name).filter(|t| Self::visible(cx, t)) {
            return Ok(tool);
        }
        let near = self.read(|c| c.nearest(name, |t| Self::visible(cx, t)));
        let hint = match near.as_slice() {
            [] => "find one with search_tools".to_owned(),
            near => format!("did you mean {}?", near.join(", ")),
        };
        let name: String = name.chars().take(64).collect();
        Err(Error::not_found(format!("there is no tool called `{name}`: {hint}")))
    }
}
