//! Groups of tools: what is switched on and off as one, and what `group:…` means in a list.
//!
//! Families define most of them ([`tool::ToolGroup`]), and each tool says to which it belongs. Plugins, MCP servers and
//! people's own tools are groups too. A group is on when it is switched on (or is by default) and every group it needs is
//! on. A tool is on when one of its groups is on and none of them was switched off.

mod table;
#[cfg(test)]
mod tests;

use crate::{Registry, entry::Entries};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tool::{
    Error, Owner, Result, Start, Tool, ToolGroup,
    prelude::{JsonSchema, schemars},
};

/// The group of tools that people and models wrote.
const CUSTOM: &str = "custom";
/// The group of all MCP servers.
const MCP: &str = "mcp";

/// A group as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Its id in lists, after `group:`, and in switches.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// The purpose of its tools.
    pub description: String,
    /// Whether its tools can be called. For one that cannot be switched: whether any can.
    pub enabled: bool,
    /// Whether it is on as long as nobody switches it.
    pub default_enabled: bool,
    /// Whether it can be turned on and off. Others only gather tools under a name for lists.
    pub switchable: bool,
    /// Groups that have to be on too.
    pub depends_on: Vec<String>,
    /// Its tools.
    pub tools: Vec<String>,
    /// Its tools that are off although it is on, because another group they belong to was turned off.
    pub off_elsewhere: Vec<String>,
    /// Always empty; present for clients of earlier versions.
    pub missing: Vec<String>,
}

/// The definitions of all groups, and what decides which are on.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Those that families define come first.
    defined: Vec<ToolGroup>,
    by_families: usize,
    /// Groups that people switched, by id.
    pub overrides: BTreeMap<String, bool>,
    /// Services that are set up.
    pub services: BTreeSet<String>,
}

impl Default for Groups {
    fn default() -> Self {
        Self { defined: table::groups(), by_families: 0, overrides: BTreeMap::new(), services: BTreeSet::new() }
    }
}

/// Whether a tool is on, by its groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolState {
    pub on: bool,
    /// The group to turn on, for one that is off.
    pub off_by: Option<Arc<str>>,
}

impl Groups {
    /// Adds a group of a family, unless another family has defined it.
    pub fn define(&mut self, group: ToolGroup) {
        let at = self.defined.iter().position(|g| g.id == group.id);
        if at.is_some_and(|at| at < self.by_families) {
            return;
        }
        if let Some(at) = at {
            self.defined.remove(at);
        }
        self.defined.insert(self.by_families, group);
        self.by_families += 1;
    }

    fn get(&self, id: &str) -> Option<&ToolGroup> {
        self.defined.iter().find(|group| group.id == id)
    }
    fn start(&self, id: &str) -> Start {
        self.get(id).map_or(Start::On, |group| group.start)
    }
    fn is_switchable(&self, id: &str) -> bool {
        !matches!(self.start(id), Start::Always | Start::Gathers)
    }
    fn needs(&self, id: &str) -> &'static [&'static str] {
        match self.get(id) {
            Some(group) => group.needs,
            None if id.starts_with("mcp:") => &[MCP],
            None => &[],
        }
    }
    fn starts_on(&self, id: &str) -> bool {
        match self.start(id) {
            Start::Off => false,
            Start::With(any) => any.iter().any(|service| self.services.contains(*service)),
            Start::Always | Start::On | Start::Gathers => true,
        }
    }
    fn switched(&self, id: &str) -> Option<bool> {
        self.overrides.get(id).copied().filter(|_| self.is_switchable(id))
    }
    /// Whether a group is on. A test proves that no group needs itself.
    fn is_on(&self, id: &str) -> bool {
        self.switched(id).unwrap_or_else(|| self.starts_on(id)) && self.needs(id).iter().all(|need| self.is_on(need))
    }
    /// Whether somebody switched a group off, or one that it needs.
    fn is_switched_off(&self, id: &str) -> bool {
        self.switched(id) == Some(false) || self.needs(id).iter().any(|need| self.is_switched_off(need))
    }

    /// The ids of the groups that switch a tool; the first is the one it is listed with.
    fn switches_of(&self, tool: &Tool) -> Vec<Arc<str>> {
        let also = tool.also_in.iter().filter(|id| self.start(id) != Start::Gathers);
        std::iter::once(home(tool)).chain(also.map(|id| (*id).into())).collect()
    }

    /// A tool is on when one of its groups is, and none of them was switched off: an explicit off wins over a default and
    /// over an explicit on.
    pub fn state_of(&self, tool: &Tool) -> ToolState {
        let groups = self.switches_of(tool);
        let always = groups.iter().any(|id| self.start(id) == Start::Always);
        let off = groups.iter().find(|id| !always && self.is_switched_off(id));
        let on = off.is_none() && groups.iter().any(|id| self.is_on(id));
        ToolState { on, off_by: if on { None } else { off.or(groups.first()).cloned() } }
    }

    fn turn_on_needs(&mut self, id: &str) {
        for need in self.needs(id) {
            if !self.is_on(need) {
                self.overrides.insert((*need).to_owned(), true);
                self.turn_on_needs(need);
            }
        }
    }

    /// The canonical names of the tools in a group, which may also include other groups.
    pub fn members(&self, entries: &Entries, id: &str) -> Option<Vec<Arc<str>>> {
        let mut members = match id {
            "all" | "*" => return Some(entries.keys().cloned().collect()),
            _ => own_members(entries, id),
        };
        let group = self.get(id);
        for other in group.map_or(&[][..], |group| group.with) {
            for name in self.members(entries, other).unwrap_or_default() {
                if !members.contains(&name) {
                    members.push(name);
                }
            }
        }
        (group.is_some() || [CUSTOM, MCP].contains(&id) || !members.is_empty()).then_some(members)
    }

    /// Every group: the defined ones first, then those of plugins, servers and people.
    pub fn all(&self, entries: &Entries) -> Vec<Group> {
        let mut brought: BTreeMap<Arc<str>, &Tool> = BTreeMap::new();
        for entry in entries.values() {
            let id = home(&entry.tool);
            if id.starts_with("mcp:") {
                brought.entry(MCP.into()).or_insert(&entry.tool);
            }
            if self.get(&id).is_none() {
                brought.entry(id).or_insert(&entry.tool);
            }
        }
        let defined = self.defined.iter().map(|group| (group.id, group.name.clone(), group.about.to_owned()));
        let brought = brought.iter().map(|(id, tool)| {
            let (name, about) = match id.split_once(':') {
                Some(("mcp", server)) => {
                    (format!("MCP server {server}"), format!("Tools that the MCP server {server} offers."))
                }
                Some((_, plugin)) => (format!("Plugin {plugin}"), format!("Tools of the plugin {plugin}.")),
                None if **id == *MCP => ("MCP servers".to_owned(), "Tools that MCP servers offer.".to_owned()),
                None if **id == *CUSTOM => {
                    ("Your own tools".to_owned(), "Tools that people and models wrote here.".to_owned())
                }
                None => (tool.category.to_string(), format!("The tools of {}.", tool.category)),
            };
            (&**id, name, about)
        });
        let listed = |(id, name, description): (&str, String, String)| {
            let gathers = self.start(id) == Start::Gathers;
            let members =
                if gathers { self.members(entries, id).unwrap_or_default() } else { own_members(entries, id) };
            let texts = |names: Vec<&Arc<str>>| names.into_iter().map(|n| n.to_string()).collect::<Vec<_>>();
            let (on, off): (Vec<_>, Vec<_>) =
                members.iter().partition(|name| entries.get(*name).is_some_and(|e| e.on && self.state_of(&e.tool).on));
            let any_on = !on.is_empty();
            // A group whose tools are all turned off by other groups has none that can be called.
            let enabled = if gathers { any_on } else { self.is_on(id) && (any_on || members.is_empty()) };
            Group {
                id: id.to_owned(),
                name,
                description,
                enabled,
                default_enabled: if gathers { any_on } else { self.starts_on(id) },
                switchable: self.is_switchable(id),
                depends_on: self.needs(id).iter().map(ToString::to_string).collect(),
                off_elsewhere: if enabled && !gathers { texts(off) } else { vec![] },
                tools: texts(members.iter().collect()),
                missing: vec![],
            }
        };
        defined.chain(brought).map(listed).collect()
    }

    /// Turns a group on or off in `switches`; see `Catalogue::switch`.
    pub fn switch(
        &self,
        entries: &Entries,
        switches: &mut BTreeMap<String, bool>,
        id: &str,
        on: bool,
    ) -> Result<Vec<String>> {
        let mut changed = Groups { overrides: switches.clone(), ..self.clone() };
        let before = changed.all(entries);
        let Some(group) = before.iter().find(|g| g.id == id) else {
            let id: String = id.chars().take(64).collect();
            return Err(Error::not_found(format!(
                "there is no group called `{id}`: GET /api/v1/tool-groups lists them"
            )));
        };
        if !group.switchable {
            return Err(Error::bad_args(match changed.start(id) {
                Start::Always => format!("the group `{id}` is always on: without it no other tool can be found"),
                _ => {
                    let tools = group.tools.iter().filter_map(|name| entries.get(&**name)).map(|e| &e.tool);
                    let homes: BTreeSet<String> = tools.map(|tool| format!("`{}`", tool.group)).collect();
                    let homes = homes.into_iter().collect::<Vec<_>>().join(", ");
                    format!("the group `{id}` only gathers tools for lists: switch the groups they belong to {homes}")
                }
            }));
        }
        changed.overrides.insert(id.to_owned(), on);
        if on {
            changed.turn_on_needs(id);
        }
        let after = changed.all(entries);
        if let Some(group) = after.iter().find(|g| g.id == id && on && !g.enabled && !g.tools.is_empty()) {
            let tools = group.tools.iter().filter_map(|name| entries.get(&**name)).map(|e| &e.tool);
            let off: BTreeSet<String> =
                tools.filter_map(|tool| changed.state_of(tool).off_by).map(|id| format!("`{id}`")).collect();
            let off = off.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Error::bad_args(format!(
                "all tools of `{id}` are also in {off}, which was turned off: turn that on first"
            )));
        }
        *switches = changed.overrides;
        let follows = |(before, after): &(&Group, &Group)| {
            after.id != id && after.switchable && before.enabled != on && after.enabled == on
        };
        Ok(before.iter().zip(&after).filter(follows).map(|(_, after)| after.id.clone()).collect())
    }
}

/// The id of the group a tool is listed with.
pub(crate) fn home(tool: &Tool) -> Arc<str> {
    match &tool.owner {
        Owner::Core => tool.group.clone(),
        Owner::Plugin(name) => format!("plugin:{name}").into(),
        Owner::McpServer(name) => format!("{MCP}:{name}").into(),
        Owner::Person(_) | Owner::Model(_) => CUSTOM.into(),
    }
}

/// The canonical names of a group's own tools.
fn own_members(entries: &Entries, id: &str) -> Vec<Arc<str>> {
    let belongs = |tool: &Tool| match id {
        MCP => matches!(tool.owner, Owner::McpServer(_)),
        id => *home(tool) == *id || tool.also_in.contains(&id),
    };
    entries.values().filter(|e| belongs(&e.tool)).map(|e| e.tool.name.clone()).collect()
}

impl Registry {
    /// Sets the names of the services that are set up: groups that need one of them are on by default then. Call it at the
    /// start and whenever that changes.
    pub fn set_services(&self, services: BTreeSet<String>) {
        self.change(|c| c.set_services(services));
    }
}
