//! Groups of tools: what is switched on and off as one, and what `group:…` means in a list.
//!
//! Most are in [`table`]; plugins, MCP servers, people's own tools and families that the table does not know are groups of
//! their own. A group is on when it is switched on (or is by default) and every group it needs is on too. A tool is on when
//! one of its groups is on and nobody switched any of them off.

mod table;
#[cfg(test)]
mod tests;

use crate::{Registry, catalogue::Catalogue};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};
use table::{FACADES, GROUPS, Row, SYNONYMS, Start};
use tool::{
    Error, Owner, Result, Tool,
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
    /// What it is called in lists, after `group:`, and when it is switched.
    pub id: String,
    /// What it is called on a page.
    pub name: String,
    /// What its tools are for.
    pub description: String,
    /// Whether its tools can be called. For one that cannot be switched: whether any can.
    pub enabled: bool,
    /// Whether it is on as long as nobody switches it.
    pub default_enabled: bool,
    /// Whether it can be turned on and off. Others only gather tools under a name for lists.
    pub switchable: bool,
    /// Groups that have to be on too.
    pub depends_on: Vec<String>,
    /// Its tools that are there.
    pub tools: Vec<String>,
    /// Its tools that are off although it is on, because another group they belong to was turned off.
    pub off_elsewhere: Vec<String>,
    /// Its tools that are not there.
    pub missing: Vec<String>,
}

fn row(id: &str) -> Option<&'static Row> {
    GROUPS.iter().find(|row| row.id == id)
}

/// The rows that list a name, or another name of the same tool.
fn listing(name: &str) -> &'static [usize] {
    static INDEX: OnceLock<HashMap<&'static str, Vec<usize>>> = OnceLock::new();
    let index = INDEX.get_or_init(|| {
        let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, row) in GROUPS.iter().enumerate() {
            for name in row.tools.iter().flat_map(|name| [*name, synonym(name).unwrap_or(name)]) {
                let rows = index.entry(name).or_default();
                if rows.last() != Some(&at) {
                    rows.push(at);
                }
            }
        }
        index
    });
    index.get(name).map_or(&[], Vec::as_slice)
}

fn synonym(name: &str) -> Option<&'static str> {
    SYNONYMS.binary_search_by_key(&name, |s| s.0).ok().map(|at| SYNONYMS[at].1)
}

/// The tools that one is a facade for.
pub(crate) fn behind(name: &str) -> Vec<Arc<str>> {
    let found = FACADES.iter().filter(|(facade, _)| *facade == name);
    found.flat_map(|(_, tools)| tools.iter().map(|tool| Arc::from(*tool))).collect()
}

/// The ids of the groups that switch a tool; see [`state_of`]. The first is the one it is listed with.
pub(crate) fn switches_of(tool: &Tool, family: &Arc<str>) -> Vec<Arc<str>> {
    match &tool.owner {
        Owner::Plugin(name) => return vec![format!("plugin:{name}").into()],
        Owner::McpServer(name) => return vec![format!("{MCP}:{name}").into()],
        Owner::Person(_) | Owner::Model(_) => return vec![CUSTOM.into()],
        Owner::Core => {}
    }
    let names = std::iter::once(&tool.name).chain(tool.aliases.iter().map(|a| &a.name));
    let rows: BTreeSet<usize> = names.flat_map(|name| listing(name)).copied().collect();
    let switching: Vec<Arc<str>> =
        rows.into_iter().map(|at| &GROUPS[at]).filter(|r| r.start != Start::Gathers).map(|r| r.id.into()).collect();
    if switching.is_empty() { vec![family.clone()] } else { switching }
}

/// The id of the group a tool is listed with.
pub(crate) fn home(tool: &Tool, family: &Arc<str>) -> Arc<str> {
    switches_of(tool, family).first().unwrap_or(family).clone()
}

fn starts_on(id: &str, services: &BTreeSet<String>) -> bool {
    match row(id).map(|row| row.start) {
        Some(Start::Off) => false,
        Some(Start::With(any)) => any.iter().any(|service| services.contains(*service)),
        Some(Start::Always | Start::On | Start::Gathers) | None => true,
    }
}

fn needs(id: &str) -> &'static [&'static str] {
    match row(id) {
        Some(row) => row.needs,
        None if id.starts_with("mcp:") => &[MCP],
        None => &[],
    }
}

/// Whether a group is on. That the table has no circles is tested.
pub(crate) fn is_on(id: &str, overrides: &BTreeMap<String, bool>, services: &BTreeSet<String>) -> bool {
    let fixed = row(id).is_some_and(|row| matches!(row.start, Start::Always | Start::Gathers));
    let own = if fixed { None } else { overrides.get(id).copied() };
    own.unwrap_or_else(|| starts_on(id, services)) && needs(id).iter().all(|need| is_on(need, overrides, services))
}

/// Whether a tool is on, by its groups.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolState {
    pub on: bool,
    /// The group to turn on, for one that is off.
    pub off_by: Option<Arc<str>>,
}

/// A tool is on when one of its groups is, and none of them was switched off: an explicit off wins over a default and over an
/// explicit on.
pub(crate) fn state_of(
    tool: &Tool,
    family: &Arc<str>,
    overrides: &BTreeMap<String, bool>,
    services: &BTreeSet<String>,
) -> ToolState {
    let groups = switches_of(tool, family);
    let always = groups.iter().any(|id| row(id).is_some_and(|row| row.start == Start::Always));
    let off = groups.iter().find(|id| !always && is_switched_off(id, overrides));
    let on = off.is_none() && groups.iter().any(|id| is_on(id, overrides, services));
    ToolState { on, off_by: if on { None } else { off.or(groups.first()).cloned() } }
}

/// Whether somebody switched a group off, or one that it needs.
fn is_switched_off(id: &str, overrides: &BTreeMap<String, bool>) -> bool {
    let fixed = row(id).is_some_and(|row| matches!(row.start, Start::Always | Start::Gathers));
    (!fixed && overrides.get(id) == Some(&false)) || needs(id).iter().any(|need| is_switched_off(need, overrides))
}

/// The canonical name behind a name no tool has, when a list knows it.
pub(crate) fn canonical(catalogue: &Catalogue, name: &str) -> Option<Arc<str>> {
    match synonym(name) {
        Some(name) => Some(catalogue.get(name).map_or_else(|| name.into(), |tool| tool.name.clone())),
        None if listing(name).is_empty() => None,
        None => Some(name.into()),
    }
}

/// What a group stands for in a list.
pub(crate) fn members(catalogue: &Catalogue, id: &str) -> Option<Vec<Arc<str>>> {
    let mut members = match id {
        "all" | "*" => return Some(catalogue.entries().map(|e| e.tool.name.clone()).collect()),
        _ => own_members(catalogue, id),
    };
    let row = row(id);
    for other in row.map_or(&[][..], |row| row.with) {
        for name in self::members(catalogue, other).unwrap_or_default() {
            if !members.contains(&name) {
                members.push(name);
            }
        }
    }
    (row.is_some() || [CUSTOM, MCP].contains(&id) || !members.is_empty()).then_some(members)
}

/// The canonical names of a group's own tools, first those of the table.
fn own_members(catalogue: &Catalogue, id: &str) -> Vec<Arc<str>> {
    let mut members: Vec<Arc<str>> = vec![];
    for name in row(id).map_or(&[][..], |row| row.tools) {
        let name = catalogue.canonical(name).unwrap_or_else(|| (*name).into());
        if !members.contains(&name) {
            members.push(name);
        }
    }
    for entry in catalogue.entries() {
        let (tool, switches) = (&entry.tool, switches_of(&entry.tool, &entry.family));
        let belongs = match id {
            MCP => matches!(tool.owner, Owner::McpServer(_)),
            id => switches.iter().any(|s| **s == *id),
        };
        if belongs && !members.contains(&tool.name) {
            members.push(tool.name.clone());
        }
    }
    members
}

/// Every group: the table in its order, then what tools brought.
pub(crate) fn all(
    catalogue: &Catalogue,
    overrides: &BTreeMap<String, bool>,
    services: &BTreeSet<String>,
) -> Vec<Group> {
    let mut brought: BTreeMap<Arc<str>, &Tool> = BTreeMap::new();
    for entry in catalogue.entries() {
        for id in switches_of(&entry.tool, &entry.family) {
            if id.starts_with("mcp:") {
                brought.entry(MCP.into()).or_insert(&entry.tool);
            }
            if row(&id).is_none() {
                brought.entry(id).or_insert(&entry.tool);
            }
        }
    }
    let known = GROUPS.iter().map(|row| (row.id, row.name.to_owned(), row.about.to_owned()));
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
        let gathers = row(id).is_some_and(|row| row.start == Start::Gathers);
        let members = if gathers { members(catalogue, id).unwrap_or_default() } else { own_members(catalogue, id) };
        let exists = |name: &&Arc<str>| catalogue.get(name).is_some();
        let texts = |names: Vec<&Arc<str>>| names.into_iter().map(|n| n.to_string()).collect::<Vec<_>>();
        let (there, missing): (Vec<_>, Vec<_>) = members.iter().partition(exists);
        let (on, off): (Vec<_>, Vec<_>) = there.iter().partition(|name| {
            let found = catalogue.find(name).map(|found| found.entry);
            found.is_some_and(|e| e.on && state_of(&e.tool, &e.family, overrides, services).on)
        });
        let any_on = !on.is_empty();
        // Where other groups keep all of its tools off, none can be called.
        let enabled = if gathers { any_on } else { is_on(id, overrides, services) && (any_on || there.is_empty()) };
        Group {
            id: id.to_owned(),
            name,
            description,
            enabled,
            default_enabled: if gathers { any_on } else { starts_on(id, services) },
            switchable: !row(id).is_some_and(|row| matches!(row.start, Start::Always | Start::Gathers)),
            depends_on: needs(id).iter().map(ToString::to_string).collect(),
            off_elsewhere: if enabled && !gathers { texts(off.into_iter().copied().collect()) } else { vec![] },
            tools: texts(there),
            missing: texts(missing),
        }
    };
    known.chain(brought).map(listed).collect()
}

/// Turns a group on or off in `switches`; see [`Catalogue::switch`].
pub(crate) fn switch(
    catalogue: &Catalogue,
    switches: &mut BTreeMap<String, bool>,
    services: &BTreeSet<String>,
    id: &str,
    on: bool,
) -> Result<Vec<String>> {
    let groups = all(catalogue, switches, services);
    let Some(group) = groups.iter().find(|g| g.id == id) else {
        let id: String = id.chars().take(64).collect();
        return Err(Error::not_found(format!("there is no group called `{id}`: GET /api/v1/tool-groups lists them")));
    };
    if !group.switchable {
        return Err(Error::bad_args(match row(id).map(|row| row.start) {
            Some(Start::Always) => format!("the group `{id}` is always on: without it no other tool can be found"),
            _ => {
                let tools = group.tools.iter().filter_map(|name| catalogue.get(name));
                let homes: BTreeSet<String> = tools.map(|tool| format!("`{}`", tool.group)).collect();
                let homes = homes.into_iter().collect::<Vec<_>>().join(", ");
                format!("the group `{id}` only gathers tools for lists: switch the groups they belong to {homes}")
            }
        }));
    }
    let stored = switches.clone();
    switches.insert(id.to_owned(), on);
    if on {
        turn_on_needs(id, switches, services);
    }
    let after = all(catalogue, switches, services);
    if let Some(group) = after.iter().find(|g| g.id == id && on && !g.enabled && !g.tools.is_empty()) {
        let tools = group.tools.iter().filter_map(|name| catalogue.find(name));
        let off: BTreeSet<String> = tools
            .filter_map(|found| state_of(&found.entry.tool, &found.entry.family, switches, services).off_by)
            .map(|id| format!("`{id}`"))
            .collect();
        let off = off.into_iter().collect::<Vec<_>>().join(", ");
        *switches = stored;
        return Err(Error::bad_args(format!(
            "all tools of `{id}` are also in {off}, which was turned off: turn that on first"
        )));
    }
    let follows = |(before, after): &(&Group, &Group)| {
        after.id != id && after.switchable && before.enabled != on && after.enabled == on
    };
    Ok(groups.iter().zip(&after).filter(follows).map(|(_, after)| after.id.clone()).collect())
}

fn turn_on_needs(id: &str, overrides: &mut BTreeMap<String, bool>, services: &BTreeSet<String>) {
    for need in needs(id) {
        if !is_on(need, overrides, services) {
            overrides.insert((*need).to_owned(), true);
            turn_on_needs(need, overrides, services);
        }
    }
}

impl Registry {
    /// The names of the services that are set up: groups that need one of them are on by default then. To be called at the
    /// start and whenever that changes.
    pub fn set_services(&self, services: BTreeSet<String>) {
        self.change(|c| c.set_services(services));
    }
}
