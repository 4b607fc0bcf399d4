//! The catalogue: tools by name and alias, and the groups that switch them.

use crate::{
    audit::Calls,
    coerce,
    entry::{Entries, Entry},
    groups::{self, Group, Groups},
    search::Query,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};
use tool::{
    Error, FamilyParts, Offer, Owner, Result, Risk, Run, Tool,
    prelude::{JsonSchema, schemars},
};

/// The least similarity of a suggested name (Jaro–Winkler, 0 to 1).
const NEAR: f64 = 0.8;

/// A tool as it is listed to people and programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The canonical name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub parameters: Value,
    /// Its heading in lists.
    pub category: String,
    /// The group that switches it.
    pub group: String,
    /// The worst it can do.
    pub risk: Risk,
    /// Whether a person should be asked first.
    pub requires_confirmation: bool,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Whether it can be called.
    pub enabled: bool,
}

impl From<&Tool> for Listed {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            description: tool.description().to_owned(),
            parameters: tool.parameters().clone(),
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
    /// Other names of tools.
    pub aliases: usize,
    /// All groups.
    pub groups: usize,
    /// Groups that are on by default.
    pub groups_on_by_default: usize,
    /// Tools under each heading.
    pub by_category: BTreeMap<String, usize>,
    /// Tools of each group.
    pub by_group: BTreeMap<String, usize>,
    /// Tools of each kind of owner: `core`, `person`, `model`, `plugin:NAME`, `mcp:SERVER`.
    pub by_owner: BTreeMap<String, usize>,
    /// Calls since the start.
    pub calls: Calls,
}

/// Converts the arguments of an alias to those of the tool.
type Adapt = fn(Value) -> Value;

/// The tool behind a name.
pub(crate) struct ResolvedName {
    pub entry: Arc<Entry>,
    /// Converts the arguments of the alias it was called by.
    adapt: Option<Adapt>,
}

impl ResolvedName {
    /// The arguments in the tool's own form: those of an alias converted, and parameters named as in other APIs renamed.
    pub fn adapted(&self, mut args: Value) -> Value {
        if let Some(adapt) = self.adapt {
            args = adapt(args);
        }
        let Some(fields) = args.as_object_mut() else { return args };
        let synonyms = self.entry.tool.synonyms;
        coerce::rename_synonyms(synonyms, fields);
        if !synonyms.is_empty() {
            let lists = fields.values_mut().filter_map(Value::as_array_mut).flatten();
            lists.filter_map(Value::as_object_mut).for_each(|fields| coerce::rename_synonyms(synonyms, fields));
        }
        args
    }
}

/// Every tool of every family.
#[derive(Default)]
pub(crate) struct Catalogue {
    entries: Entries,
    /// Alias → canonical name and the conversion of its arguments.
    aliases: HashMap<Arc<str>, (Arc<str>, Option<Adapt>)>,
    pub phrases: Vec<&'static str>,
    pub groups: Groups,
    /// The names of the tools that a request may offer or a model may know, in the order they were added.
    everyday: Vec<Arc<str>>,
}

impl Catalogue {
    /// Adds families, or nothing of any.
    ///
    /// # Errors
    /// `BadArgs` when a name or alias is malformed or taken.
    pub fn add_families(&mut self, families: Vec<FamilyParts>) -> Result<()> {
        let (mut tools, mut phrases, mut defined) = (vec![], vec![], self.groups.clone());
        for family in families {
            tools.extend(family.tools);
            phrases.extend(Some(family.phrases).filter(|p| !p.is_empty()));
            family.groups.into_iter().for_each(|group| defined.define(group));
        }
        // The groups first, so that each tool is added in its final state.
        let before = std::mem::replace(&mut self.groups, defined);
        if let Err(error) = self.add_all(tools) {
            self.groups = before;
            return Err(error);
        }
        self.phrases.extend(phrases);
        self.switch_tools();
        Ok(())
    }

    /// Adds tools without phrases or groups, or none of them; errors as [`Catalogue::add_families`].
    pub fn add_all(&mut self, tools: Vec<Tool>) -> Result<()> {
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
            if !matches!(tool.offer, Offer::Found) {
                self.everyday.push(tool.name.clone());
            }
            let on = tool.enabled;
            tool.group = groups::home(&tool);
            (tool.enabled, tool.off_by) = self.state_of(&tool, on);
            let mut entry = Entry::new(Arc::new(tool));
            entry.on = on;
            self.entries.insert(entry.tool.name.clone(), Arc::new(entry));
        }
        Ok(())
    }

    /// Removes a tool of a group by its canonical name; `false` when there is none.
    pub fn remove(&mut self, group: &str, name: &str) -> bool {
        if self.entries.get(name).is_none_or(|e| *e.tool.group != *group) {
            return false;
        }
        self.aliases.retain(|_, (canonical, _)| **canonical != *name);
        self.entries.remove(name).is_some()
    }

    /// Removes every tool of an owner (a plugin, an MCP server, a person's own tools), and returns how many.
    pub fn remove_owner(&mut self, owner: &Owner) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, e| e.tool.owner != *owner);
        self.aliases.retain(|_, (canonical, _)| self.entries.contains_key(canonical));
        before - self.entries.len()
    }

    /// Replaces the function of a tool; everything else stays. `false` when there is no such tool.
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

    /// The tools that a request may offer or a model may know unseen ([`Offer`]), in the order they were added.
    pub fn everyday(&self) -> Vec<Arc<Tool>> {
        self.everyday.iter().filter_map(|name| self.get(name)).collect()
    }

    /// The tools that match all words of the query, best first: the one of exactly this name, then by score. Disabled ones
    /// come last.
    pub fn search(&self, query: &str, category: Option<&str>) -> Vec<Arc<Tool>> {
        let named = self.get(query.trim()).map(|tool| tool.name.clone());
        let query = Query::new(query);
        let mut found: Vec<(u32, &Entry)> = self
            .entries
            .values()
            .filter(|e| category.is_none_or(|c| is_of(&e.tool, c)))
            .filter_map(|e| match query.is_everything() {
                _ if named.as_ref() == Some(&e.tool.name) => Some((u32::MAX, &**e)),
                true => Some((0, &**e)),
                false => e.words().score(&query).map(|score| (score, &**e)),
            })
            .collect();
        let rank = |(score, e): &(u32, &Entry)| (!e.tool.enabled, u32::MAX - score);
        // Among equals the shorter name comes first; a list of everything is in order of name.
        found.sort_by(|a, b| {
            let length = |e: &Entry| if query.is_everything() { 0 } else { e.tool.name.len() };
            rank(a)
                .cmp(&rank(b))
                .then_with(|| length(a.1).cmp(&length(b.1)).then_with(|| a.1.tool.name.cmp(&b.1.tool.name)))
        });
        found.into_iter().map(|(_, e)| e.tool.clone()).collect()
    }

    /// The three tools with the most similar names, by their canonical names.
    pub fn nearest(&self, name: &str, visible: impl Fn(&Tool) -> bool) -> Vec<Arc<str>> {
        // A longer text is like no name, and the comparison would take long.
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
        near.into_iter().filter(|(_, name)| seen.insert(*name)).take(3).map(|(_, name)| name.clone()).collect()
    }

    /// Sets which groups people switched, and updates each tool.
    pub fn set_groups(&mut self, overrides: BTreeMap<String, bool>) {
        self.groups.overrides = overrides;
        self.switch_tools();
    }

    /// Sets the names of the services that are set up; groups that need one of them are on by default then.
    pub fn set_services(&mut self, services: BTreeSet<String>) {
        if self.groups.services != services {
            self.groups.services = services;
            self.switch_tools();
        }
    }

    fn switch_tools(&mut self) {
        let changed: Vec<Entry> = self
            .entries
            .values()
            .map(|e| (e, self.state_of(&e.tool, e.on)))
            .filter(|(e, (enabled, off_by))| (e.tool.enabled, &e.tool.off_by) != (*enabled, off_by))
            .map(|(e, state)| e.with(|t| (t.enabled, t.off_by) = state))
            .collect();
        for entry in changed {
            self.entries.insert(entry.tool.name.clone(), Arc::new(entry));
        }
    }

    /// Whether a tool is on, and which group keeps it off where that is not the one it is listed with.
    fn state_of(&self, tool: &Tool, wanted: bool) -> (bool, Option<Arc<str>>) {
        let state = self.groups.state_of(tool);
        let off_by = state.off_by.filter(|id| **id != *tool.group);
        (wanted && state.on, off_by)
    }

    /// Every group: those that are defined, then those of plugins, servers and people.
    pub fn groups(&self) -> Vec<Group> {
        self.groups.all(&self.entries)
    }

    /// Turns a group on or off in `switches`, with the groups it needs. Returns the other groups that turn on or off with it.
    ///
    /// # Errors
    /// `NotFound` when there is no such group; `BadArgs` when it cannot be switched.
    pub fn switch(&self, switches: &mut BTreeMap<String, bool>, id: &str, on: bool) -> Result<Vec<String>> {
        self.groups.switch(&self.entries, switches, id, on)
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
        self.get(name).map(|tool| tool.name.clone())
    }
    fn behind(&self, name: &str) -> Vec<Arc<str>> {
        self.get(name).map_or(vec![], |tool| tool.facade_for.iter().map(|name| (*name).into()).collect())
    }
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>> {
        self.groups.members(&self.entries, id)
    }
    fn groups(&self) -> Vec<Arc<str>> {
        Catalogue::groups(self).into_iter().map(|g| g.id.into()).collect()
    }
}

/// Whether a tool has this category or group.
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
