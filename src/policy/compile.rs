//! Compile the policy document and the grants to sets of canonical names, so that a decision takes microseconds.

use crate::{
    Autonomy, Grant, Pattern, Policy, Profile, SUBAGENT_DENIES, SUBAGENT_LEAF_DENIES, UserPolicy, VOICE_TOOLS,
    document::agent_id,
    reach::{Host, PathPattern},
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tool::{AgentId, Area, Level, Tool, UserId};

/// The part of the tool catalogue that compilation needs. Recompile when it changes.
pub trait Names {
    /// The canonical name of the tool that answers to this one.
    fn canonical(&self, name: &str) -> Option<Arc<str>>;
    /// The tools behind a facade: naming the facade in a list includes them.
    fn behind(&self, _name: &str) -> Vec<Arc<str>> {
        vec![]
    }
    /// The canonical names of a group's tools; the id is without `group:`.
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>>;
    /// The ids of all groups, for the lists of requests.
    fn groups(&self) -> Vec<Arc<str>>;
}

/// An empty catalogue.
struct EmptyCatalogue;

impl Names for EmptyCatalogue {
    fn canonical(&self, _: &str) -> Option<Arc<str>> {
        None
    }
    fn group(&self, _: &str) -> Option<Vec<Arc<str>>> {
        None
    }
    fn groups(&self) -> Vec<Arc<str>> {
        vec![]
    }
}

/// A policy and its grants, compiled.
#[derive(Debug, Clone)]
pub struct Rules {
    pub(crate) autonomy: Autonomy,
    pub(crate) profile: Option<List>,
    pub(crate) allow: Option<List>,
    pub(crate) deny: List,
    pub(crate) also_allow: List,
    pub(crate) ask: List,
    pub(crate) providers: HashMap<String, ProviderRules>,
    pub(crate) agents: HashMap<AgentId, AgentRules>,
    pub(crate) chats: HashMap<String, List>,
    pub(crate) subagent: List,
    pub(crate) leaf: List,
    pub(crate) voice: List,
    pub(crate) users: HashMap<UserId, UserRules>,
    pub(crate) grants: HashMap<UserId, GrantsByTool>,
    pub(crate) groups: HashMap<Arc<str>, HashSet<Arc<str>>>,
}

/// The grants of one user: versions and patterns by tool.
type GrantsByTool = HashMap<Arc<str>, Vec<(u32, Pattern)>>;

/// The rules for one provider.
#[derive(Debug, Clone)]
pub(crate) struct ProviderRules {
    pub profile: Option<List>,
    pub allow: Option<List>,
}

/// The rules for one agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentRules {
    /// The profile; the inner option is the list, `None` for the full profile.
    pub profile: Option<Option<List>>,
    pub allow: Option<List>,
    pub deny: List,
    pub also_allow: List,
    pub providers: HashMap<String, List>,
    pub autonomy: Option<Autonomy>,
}

/// The rules for one user. An absent level or area comes from the role.
#[derive(Debug, Clone)]
pub(crate) struct UserRules {
    pub level: Option<Level>,
    pub areas: Option<Vec<Area>>,
    pub allowed: List,
    pub denied: List,
    pub paths: Option<Vec<PathPattern>>,
    pub hosts: Option<Vec<Host>>,
    pub ask: List,
    pub autonomy: Option<Autonomy>,
}

/// A set of tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    all: bool,
    names: HashSet<Arc<str>>,
    /// Names and groups unknown to the catalogue. They match a tool that is added later.
    unknown: HashSet<Arc<str>>,
    unknown_groups: HashSet<Arc<str>>,
}

impl List {
    /// Whether the list contains the tool.
    pub fn has(&self, tool: &Tool) -> bool {
        self.all
            || self.names.contains(&*tool.name)
            || !self.unknown.is_empty()
                && (self.unknown.contains(&*tool.name) || tool.aliases.iter().any(|a| self.unknown.contains(&*a.name)))
            || !self.unknown_groups.is_empty() && self.unknown_groups.contains(&*tool.group)
    }
}

/// Compiles lists and collects unknown names.
struct Compiler<'a> {
    names: &'a dyn Names,
    warnings: Vec<String>,
}

impl Compiler<'_> {
    /// Compile a list from the document; `place` is its path.
    fn list(&mut self, place: &str, entries: &[String]) -> List {
        let list = self.builtin_list(entries.iter().map(String::as_str));
        for entry in entries {
            match entry.strip_prefix("group:") {
                Some(id) if list.unknown_groups.contains(id) => {
                    self.warnings.push(format!("`{place}`: there is no group `{id}`"));
                }
                None if list.unknown.contains(entry.as_str()) => {
                    self.warnings.push(format!("`{place}`: there is no tool `{entry}`"));
                }
                _ => {}
            }
        }
        list
    }

    fn optional_list(&mut self, place: &str, entries: Option<&Vec<String>>) -> Option<List> {
        entries.map(|entries| self.list(place, entries))
    }

    /// Compile a built-in list, whose unknown names are not reported.
    fn builtin_list<'e>(&self, entries: impl IntoIterator<Item = &'e str>) -> List {
        let mut list = List::default();
        for entry in entries {
            match entry.strip_prefix("group:") {
                _ if matches!(entry, "*" | "group:all") => list.all = true,
                Some(id) => match self.names.group(id) {
                    Some(names) => {
                        list.names.extend(names.iter().flat_map(|name| self.names.behind(name)));
                        list.names.extend(names);
                    }
                    None => _ = list.unknown_groups.insert(id.into()),
                },
                None => match self.names.canonical(entry) {
                    Some(name) => {
                        list.names.extend(self.names.behind(&name));
                        list.names.insert(name);
                    }
                    None => _ = list.unknown.insert(entry.into()),
                },
            }
        }
        list
    }

    /// The tools of a profile; `None` for the full one, which restricts nothing.
    fn profile(&self, profile: Profile) -> Option<List> {
        (profile != Profile::Full).then(|| self.builtin_list(profile.members().iter().copied()))
    }

    /// Parse the entries at `place` and report the ones that cannot be parsed; those match nothing.
    fn parse_entries<T>(&mut self, place: &str, written: &[String], of: fn(&str) -> Option<T>) -> Vec<T> {
        let (read, wrong): (Vec<_>, Vec<_>) = written.iter().map(|w| (w, of(w))).partition(|(_, read)| read.is_some());
        self.warnings
            .extend(wrong.iter().map(|(w, _)| format!("`{place}`: {w:?} cannot be parsed and matches nothing")));
        read.into_iter().filter_map(|(_, read)| read).collect()
    }

    fn user(&mut self, id: UserId, user: &UserPolicy) -> UserRules {
        let preset = user.preset.map(|p| p.grants());
        let at = |field: &str| format!("users.{id}.{field}");
        let paths =
            user.allowed_paths.as_ref().map(|paths| self.parse_entries(&at("allowedPaths"), paths, PathPattern::of));
        let hosts = user.allowed_hosts.as_ref().map(|hosts| self.parse_entries(&at("allowedHosts"), hosts, Host::of));
        UserRules {
            level: user.level.or(preset.map(|p| p.0)),
            areas: user.areas.clone().or(preset.map(|p| p.1.to_vec())),
            allowed: self.list(&at("allowedTools"), &user.allowed_tools),
            denied: self.list(&at("deniedTools"), &user.denied_tools),
            paths,
            hosts,
            ask: self.list(&at("ask"), &user.ask),
            autonomy: user.autonomy,
        }
    }
}

impl Rules {
    /// Compile the policy and the grants against the catalogue. Also returns the unknown names and groups, which are
    /// stored and take effect when such a tool or group is added.
    pub fn compile(policy: &Policy, grants: &[Grant], names: &dyn Names) -> (Rules, Vec<String>) {
        let mut c = Compiler { names, warnings: vec![] };
        let mut rules = Rules {
            autonomy: policy.autonomy.unwrap_or_default(),
            profile: c.profile(policy.profile),
            allow: c.optional_list("allow", policy.allow.as_ref()),
            deny: c.list("deny", &policy.deny),
            also_allow: c.list("alsoAllow", &policy.also_allow),
            ask: c.list("ask", &policy.ask),
            providers: HashMap::new(),
            agents: HashMap::new(),
            chats: HashMap::new(),
            subagent: List::default(),
            leaf: c.builtin_list(SUBAGENT_LEAF_DENIES.iter().copied()),
            voice: c.builtin_list(VOICE_TOOLS.iter().copied()),
            users: HashMap::new(),
            grants: HashMap::new(),
            groups: HashMap::new(),
        };
        // Report unknown names from people, not those from built-in lists.
        c.list("subagents.deny", &policy.subagents.deny);
        let extra = policy.subagents.deny.iter().map(String::as_str);
        rules.subagent = c.builtin_list(SUBAGENT_DENIES.iter().copied().chain(extra));
        for (name, provider) in &policy.by_provider {
            let allow = c.optional_list(&format!("byProvider.{name}.allow"), provider.allow.as_ref());
            let profile = provider.profile.and_then(|p| c.profile(p));
            rules.providers.insert(name.clone(), ProviderRules { profile, allow });
        }
        for (key, agent) in &policy.agents {
            let Some(id) = agent_id(key) else {
                c.warnings.push(format!("`agents`: {key:?} is not an agent id, so its rules are ignored"));
                continue;
            };
            let at = |field: &str| format!("agents.{key}.{field}");
            let mut providers = HashMap::new();
            for (name, provider) in &agent.by_provider {
                let place = at(&format!("byProvider.{name}.allow"));
                providers.extend(c.optional_list(&place, provider.allow.as_ref()).map(|list| (name.clone(), list)));
            }
            let agent = AgentRules {
                profile: agent.profile.map(|p| c.profile(p)),
                allow: c.optional_list(&at("allow"), agent.allow.as_ref()),
                deny: c.list(&at("deny"), &agent.deny),
                also_allow: c.list(&at("alsoAllow"), &agent.also_allow),
                providers,
                autonomy: agent.autonomy,
            };
            rules.agents.insert(id, agent);
        }
        for (chat, allowed) in &policy.chats {
            let list = c.optional_list(&format!("chats.{chat}.allow"), allowed.allow.as_ref());
            rules.chats.extend(list.map(|list| (chat.clone(), list)));
        }
        for (id, user) in &policy.users {
            let user = c.user(*id, user);
            rules.users.insert(*id, user);
        }
        for grant in grants {
            let name = names.canonical(&grant.tool).unwrap_or_else(|| grant.tool.clone());
            let of_user = rules.grants.entry(grant.user).or_default();
            of_user.entry(name).or_default().push((grant.version, grant.pattern.clone()));
        }
        for id in names.groups() {
            let members = names.group(&id).unwrap_or_default().into_iter().collect();
            rules.groups.insert(id, members);
        }
        (rules, c.warnings)
    }

    /// Whether a person granted this version of a tool, or of an operation it performs while it runs (`NAME#fetch`).
    /// Where somebody else may have chosen the arguments, as in a tainted run, only a grant of `exactly` these counts.
    pub fn is_granted(&self, user: UserId, tool: &str, version: u32, exactly: bool, args: &Value) -> bool {
        let grants = self.grants.get(&user).and_then(|of| of.get(tool));
        grants
            .into_iter()
            .flatten()
            .any(|(of, pattern)| *of == version && (!exactly || pattern.is_exact()) && pattern.covers(args))
    }

    /// The autonomy of this agent for this user: the user's choice, else the household's. An agent can only lower it.
    pub fn autonomy(&self, user: UserId, agent: AgentId) -> Autonomy {
        let chosen = self.users.get(&user).and_then(|u| u.autonomy).unwrap_or(self.autonomy);
        self.agents.get(&agent).and_then(|a| a.autonomy).map_or(chosen, |a| a.min(chosen))
    }

    /// Whether an entry of a request's allow list matches this tool.
    pub(crate) fn means(&self, entry: &str, tool: &Tool) -> bool {
        match entry.strip_prefix("group:") {
            _ if matches!(entry, "*" | "group:all") => true,
            Some(id) => self.groups.get(id).map_or(*tool.group == *id, |names| names.contains(&*tool.name)),
            None => *tool.name == *entry || tool.aliases.iter().any(|a| *a.name == *entry),
        }
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::compile(&Policy::default(), &[], &EmptyCatalogue).0
    }
}
