//! The catalogue: tools by name and alias, and the groups that switch them.

use crate::{
    groups::{self, Group},
    schema::Schema,
    search::{Query, Words},
    validate,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, OnceLock},
};
use tool::{
    Error, Owner, Result, Risk, Run, Tool,
    prelude::{JsonSchema, schemars},
};

/// How near a name must be to be suggested (Jaro–Winkler, 0 to 1).
const NEAR: f64 = 0.75;

/// A tool as it is listed to people and programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The canonical name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub parameters: Value,
    /// The heading it stands under.
    pub category: String,
    /// The group it is switched with.
    pub group: String,
    /// The worst it can do.
    pub risk: Risk,
    /// Whether a person should be asked first.
    pub requires_confirmation: bool,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// Whether it can be called.
    pub enabled: bool,
}

impl From<&Tool> for Listed {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            description: tool.description.to_string(),
            parameters: tool.parameters.clone(),
            category: tool.category.to_string(),
            group: tool.group.to_string(),
            risk: tool.risk,
            requires_confirmation: tool.requires_confirmation,
            aliases: tool.aliases.iter().map(|a| a.name.to_string()).collect(),
            enabled: tool.enabled,
        }
    }
}

/// How many tools there are, and of what kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// All tools.
    pub total: usize,
    /// Those that can be called: their group is on.
    pub enabled: usize,
    /// Names they answer to besides their own.
    pub aliases: usize,
    /// All groups.
    pub groups: usize,
    /// Groups that are on unless somebody turns them off.
    pub groups_on_by_default: usize,
    /// Tools under each heading.
    pub by_category: BTreeMap<String, usize>,
    /// Tools of each group.
    pub by_group: BTreeMap<String, usize>,
    /// Tools of each kind of owner: `core`, `person`, `model`, `plugin:NAME`, `mcp:SERVER`.
    pub by_owner: BTreeMap<String, usize>,
    /// Calls since the start.
    pub calls: crate::Calls,
}

/// A tool with what is worked out about it once.
pub(crate) struct Entry {
    /// Its `group` is the one it is switched with, and `enabled` says whether that is on.
    pub tool: Arc<Tool>,
    /// The family it came with.
    pub family: Arc<str>,
    /// Whether whoever brought it wants it on.
    pub on: bool,
    validator: Arc<OnceLock<Result<Schema, String>>>,
    words: Arc<Words>,
}

impl Entry {
    pub fn new(tool: Arc<Tool>) -> Self {
        Self {
            family: tool.group.clone(),
            on: tool.enabled,
            validator: Arc::default(),
            words: Arc::new(Words::of(&tool)),
            tool,
        }
    }

    /// The compiled schema, or why it is none. Compiled when it is first needed: most tools are not called for days.
    pub fn validator(&self) -> &Result<Schema, String> {
        self.validator.get_or_init(|| validate::compile(&self.tool.parameters))
    }

    /// The same with a changed tool: what is looked for and checked stays the same.
    fn with(&self, change: impl FnOnce(&mut Tool)) -> Self {
        let mut tool = (*self.tool).clone();
        change(&mut tool);
        Self {
            tool: Arc::new(tool),
            family: self.family.clone(),
            on: self.on,
            validator: self.validator.clone(),
            words: self.words.clone(),
        }
    }
}

/// Makes the arguments of an alias into the tool's own.
type Adapt = fn(Value) -> Value;

/// What a name leads to.
pub(crate) struct ResolvedName {
    pub entry: Arc<Entry>,
    /// Makes the arguments of the alias it was called by into the tool's own.
    pub adapt: Option<Adapt>,
}

/// Every tool of every family.
#[derive(Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<Arc<str>, Arc<Entry>>,
    /// Alias → canonical name and how its arguments are adapted.
    aliases: HashMap<Arc<str>, (Arc<str>, Option<Adapt>)>,
    pub phrases: Vec<&'static str>,
    /// Groups that people switched, by id.
    overrides: BTreeMap<String, bool>,
    /// Services that are set up: groups that need one are on by default when it is.
    services: BTreeSet<String>,
}

impl Catalogue {
    /// Adds tools, or none of them.
    ///
    /// # Errors
    /// `BadArgs` when a name or alias is malformed or taken.
    pub fn add_all(&mut self, tools: Vec<Tool>, phrases: &'static str) -> Result<()> {
        let mut names = HashSet::new();
        for name in tools.iter().flat_map(|t| std::iter::once(&t.name).chain(t.aliases.iter().map(|a| &a.name))) {
            check_name(name)?;
            if self.get(name).is_some() || !names.insert(name.clone()) {
                return Err(Error::bad_args(format!("there is already a tool called `{name}`: choose another name")));
            }
        }
        for mut tool in tools {
            for alias in &tool.aliases {
                self.aliases.insert(alias.name.clone(), (tool.name.clone(), alias.adapt));
            }
            let (family, on) = (tool.group.clone(), tool.enabled);
            tool.group = groups::home(&tool, &family);
            (tool.enabled, tool.off_by) = self.state_of(&tool, &family, on);
            let entry = Entry { family, on, ..Entry::new(Arc::new(tool)) };
            self.entries.insert(entry.tool.name.clone(), Arc::new(entry));
        }
        if !phrases.is_empty() {
            self.phrases.push(phrases);
        }
        Ok(())
    }

    /// Removes a tool of a family by its canonical name; `false` when there is none.
    pub fn remove(&mut self, family: &str, name: &str) -> bool {
        if self.entries.get(name).is_none_or(|e| *e.family != *family) {
            return false;
        }
        self.aliases.retain(|_, (canonical, _)| **canonical != *name);
        self.entries.remove(name).is_some()
    }

    /// Removes every tool of an owner (a plugin, an MCP server, a person's own tools), and says how many there were.
    pub fn remove_owner(&mut self, owner: &Owner) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, e| e.tool.owner != *owner);
        self.aliases.retain(|_, (canonical, _)| self.entries.contains_key(canonical));
        before - self.entries.len()
    }

    /// Gives a tool another function to run; everything else stays. `false` when there is no such tool.
    pub fn replace(&mut self, name: &str, run: Run) -> bool {
        let Some(entry) = self.find(name).map(|f| f.entry) else { return false };
        let entry = entry.with(|t| t.run = run);
        self.entries.insert(entry.tool.name.clone(), Arc::new(entry));
        true
    }

    pub fn find(&self, name: &str) -> Option<ResolvedName> {
        let (canonical, adapt) = match self.aliases.get(name) {
            Some((canonical, adapt)) => (&**canonical, *adapt),
            None => (name, None),
        };
        self.entries.get(canonical).map(|entry| ResolvedName { entry: entry.clone(), adapt })
    }

    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        let canonical = self.aliases.get(name).map_or(name, |(canonical, _)| canonical);
        self.entries.get(canonical).map(|e| e.tool.clone())
    }

    /// Every tool by canonical name, in order of name.
    pub fn all(&self) -> Vec<Arc<Tool>> {
        self.entries.values().map(|e| e.tool.clone()).collect()
    }

    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }

    /// The tools all words of the query are found in, best first; those that are off come last.
    pub fn search(&self, query: &str, category: Option<&str>) -> Vec<Arc<Tool>> {
        let query = Query::new(query);
        let mut found: Vec<(u32, &Entry)> = self
            .entries
            .values()
            .filter(|e| category.is_none_or(|c| is_of(&e.tool, c)))
            .filter_map(
                |e| if query.is_everything() { Some((0, &**e)) } else { e.words.score(&query).map(|s| (s, &**e)) },
            )
            .collect();
        let rank = |(score, e): &(u32, &Entry)| (!e.tool.enabled, u32::MAX - score);
        // Among equals the shorter name is the plainer tool; a list of everything is in order of name.
        found.sort_by(|a, b| {
            let length = |e: &Entry| if query.is_everything() { 0 } else { e.tool.name.len() };
            rank(a)
                .cmp(&rank(b))
                .then_with(|| length(a.1).cmp(&length(b.1)).then_with(|| a.1.tool.name.cmp(&b.1.tool.name)))
        });
        found.into_iter().map(|(_, e)| e.tool.clone()).collect()
    }

    /// The three tools whose names are nearest to one that does not exist, by their canonical names in backquotes.
    pub fn nearest(&self, name: &str, visible: impl Fn(&Tool) -> bool) -> Vec<String> {
        // What is longer than any name is like none; to find out how alike would take long.
        let name = name.chars().take(128).collect::<String>().to_lowercase();
        let aliases = self.aliases.iter().map(|(alias, (canonical, _))| (alias, canonical));
        let mut near: Vec<(f64, &Arc<str>)> = self
            .entries
            .keys()
            .map(|name| (name, name))
            .chain(aliases)
            .map(|(known, canonical)| (strsim::jaro_winkler(&name, &known.to_lowercase()), canonical))
            .filter(|(nearness, canonical)| *nearness >= NEAR && self.get(canonical).is_some_and(|t| visible(&t)))
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let mut seen = HashSet::new();
        near.into_iter().filter(|(_, name)| seen.insert(*name)).take(3).map(|(_, name)| format!("`{name}`")).collect()
    }

    /// Which groups people switched. What they mean for each tool is worked out anew.
    pub fn set_groups(&mut self, overrides: BTreeMap<String, bool>) {
        self.overrides = overrides;
        self.switch_tools();
    }

    /// The names of the services that are set up; groups that need one of them are on by default then.
    pub fn set_services(&mut self, services: BTreeSet<String>) {
        if self.services != services {
            self.services = services;
            self.switch_tools();
        }
    }

    fn switch_tools(&mut self) {
        let changed: Vec<Entry> = self
            .entries
            .values()
            .map(|e| (e, self.state_of(&e.tool, &e.family, e.on)))
            .filter(|(e, (enabled, off_by))| (e.tool.enabled, &e.tool.off_by) != (*enabled, off_by))
            .map(|(e, state)| e.with(|t| (t.enabled, t.off_by) = state))
            .collect();
        for entry in changed {
            self.entries.insert(entry.tool.name.clone(), Arc::new(entry));
        }
    }

    /// Whether a tool is on, and which group keeps it off where that is not the one it is listed with.
    fn state_of(&self, tool: &Tool, family: &Arc<str>, wanted: bool) -> (bool, Option<Arc<str>>) {
        let state = groups::state_of(tool, family, &self.overrides, &self.services);
        let off_by = state.off_by.filter(|id| **id != *tool.group);
        (wanted && state.on, off_by)
    }

    /// Every group: those of the table in its order, then those that tools brought.
    pub fn groups(&self) -> Vec<Group> {
        groups::all(self, &self.overrides, &self.services)
    }

    /// Turns a group on or off in `switches`, with what it needs. Answers which other groups come on or go off with it.
    ///
    /// # Errors
    /// `NotFound` when there is no such group; `BadArgs` when it cannot be switched.
    pub fn switch(&self, switches: &mut BTreeMap<String, bool>, id: &str, on: bool) -> Result<Vec<String>> {
        groups::switch(self, switches, &self.services, id, on)
    }

    /// The canonical name behind a name, also of tools that are only known by a list.
    pub fn canonical(&self, name: &str) -> Option<Arc<str>> {
        self.find(name).map(|f| f.entry.tool.name.clone()).or_else(|| groups::canonical(self, name))
    }

    /// The canonical names a group stands for in a list, also of tools that are not there; the id is without `group:`.
    pub fn group_members(&self, id: &str) -> Option<Vec<Arc<str>>> {
        groups::members(self, id)
    }

    pub fn stats(&self) -> Stats {
        let groups = self.groups();
        let mut stats = Stats {
            total: self.entries.len(),
            enabled: self.entries.values().filter(|e| e.tool.enabled).count(),
            aliases: self.aliases.len(),
            groups: groups.len(),
            groups_on_by_default: groups.iter().filter(|g| g.default_enabled).count(),
            ..Stats::default()
        };
        for tool in self.entries.values().map(|e| &e.tool) {
            *stats.by_category.entry(tool.category.to_string()).or_default() += 1;
            *stats.by_group.entry(tool.group.to_string()).or_default() += 1;
            let owner = match &tool.owner {
                Owner::Core => "core".to_owned(),
                Owner::Person(_) => "person".to_owned(),
                Owner::Model(_) => "model".to_owned(),
                Owner::Plugin(name) => format!("plugin:{name}"),
                Owner::McpServer(name) => format!("mcp:{name}"),
            };
            *stats.by_owner.entry(owner).or_default() += 1;
        }
        stats
    }
}

impl policy::Names for Catalogue {
    fn canonical(&self, name: &str) -> Option<Arc<str>> {
        Catalogue::canonical(self, name)
    }
    fn behind(&self, name: &str) -> Vec<Arc<str>> {
        groups::behind(name)
    }
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>> {
        self.group_members(id)
    }
    fn groups(&self) -> Vec<Arc<str>> {
        Catalogue::groups(self).into_iter().map(|g| g.id.into()).collect()
    }
}

/// Whether a tool stands under a heading, or belongs to a group.
pub(crate) fn is_of(tool: &Tool, category: &str) -> bool {
    tool.category.eq_ignore_ascii_case(category) || tool.group.eq_ignore_ascii_case(category)
}

/// A letter, then letters, digits and underscores; 64 characters at most.
fn check_name(name: &str) -> Result<()> {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::bad_args(format!(
        "`{shown}` cannot be a tool's name: begin with a letter, then letters, digits and underscores, 64 at most"
    )))
}
