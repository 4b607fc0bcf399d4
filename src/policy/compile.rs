//! The document and the grants, made into sets of canonical names that one decision asks in microseconds.

use crate::{
    Autonomy, Grant, Pattern, Policy, Profile, SUBAGENT_DENIES, SUBAGENT_LEAF_DENIES, UserPolicy,
    document::agent_id,
    reach::{Host, PathPattern},
};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tool::{AgentId, Area, Label, Level, Tool, UserId};

/// The catalogue, as far as lists need it. Compile again when it changes.
pub trait Names {
    /// The canonical name of the tool that answers to this one.
    fn canonical(&self, name: &str) -> Option<Arc<str>>;
    /// The tools that one tool is a facade for: whoever names it in a list means them too.
    fn behind(&self, _name: &str) -> Vec<Arc<str>> {
        vec![]
    }
    /// The canonical names of a group's tools; the id is without `group:`.
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>>;
    /// The ids of all groups, for the lists that come with a request.
    fn groups(&self) -> Vec<Arc<str>>;
}

/// A catalogue of nothing.
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
    pub(crate) users: HashMap<UserId, UserRules>,
    pub(crate) grants: HashMap<UserId, GrantsByTool>,
    pub(crate) groups: HashMap<Arc<str>, HashSet<Arc<str>>>,
}

/// One user's grants: versions and patterns, by the tool.
type GrantsByTool = HashMap<Arc<str>, Vec<(u32, Pattern)>>;

/// One provider's part.
#[derive(Debug, Clone)]
pub(crate) struct ProviderRules {
    pub profile: Option<List>,
    pub allow: Option<List>,
}

/// One agent's part.
#[derive(Debug, Clone)]
pub(crate) struct AgentRules {
    /// Its profile; the inner option is the list, which the full profile has none of.
    pub profile: Option<Option<List>>,
    pub allow: Option<List>,
    pub deny: List,
    pub also_allow: List,
    pub providers: HashMap<String, List>,
    pub autonomy: Option<Autonomy>,
}

/// One user's part. An absent level or area is that of the role.
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
    /// Names and groups the catalogue did not know: a tool that comes later is still meant, whatever it is called by.
    unknown: HashSet<Arc<str>>,
    unknown_groups: HashSet<Arc<str>>,
}

impl List {
    /// Whether the tool is in it.
    pub fn has(&self, tool: &Tool) -> bool {
        self.all
            || self.names.contains(&*tool.name)
            || !self.unknown.is_empty()
                && (self.unknown.contains(&*tool.name) || tool.aliases.iter().any(|a| self.unknown.contains(&*a.name)))
            || !self.unknown_groups.is_empty() && self.unknown_groups.contains(&*tool.group)
    }
}

/// Makes lists, and gathers what nobody knows.
struct Compiler<'a> {
    names: &'a dyn Names,
    warnings: Vec<String>,
}

impl Compiler<'_> {
    /// A list that people wrote at `place` of the document.
    fn list(&mut self, place: &str, entries: &[String]) -> List {
        let list = self.quiet(entries.iter().map(String::as_str));
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

    fn maybe(&mut self, place: &str, entries: Option<&Vec<String>>) -> Option<List> {
        entries.map(|entries| self.list(place, entries))
    }

    /// A list of ours, which names what other builds may have.
    fn quiet<'e>(&self, entries: impl IntoIterator<Item = &'e str>) -> List {
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

    /// A profile's tools; the full one restricts nothing.
    fn profile(&self, profile: Profile) -> Option<List> {
        (profile != Profile::Full).then(|| self.quiet(profile.members().iter().copied()))
    }

    /// What can be read of what people wrote at `place`; the rest covers nothing.
    fn read<T>(&mut self, place: &str, written: &[String], of: fn(&str) -> Option<T>) -> Vec<T> {
        let (read, wrong): (Vec<_>, Vec<_>) = written.iter().map(|w| (w, of(w))).partition(|(_, read)| read.is_some());
        self.warnings.extend(wrong.iter().map(|(w, _)| format!("`{place}`: {w:?} cannot be read and covers nothing")));
        read.into_iter().filter_map(|(_, read)| read).collect()
    }

    fn user(&mut self, id: UserId, user: &UserPolicy) -> UserRules {
        let preset = user.preset.map(|p| p.grants());
        let at = |field: &str| format!("users.{id}.{field}");
        let paths = user.allowed_paths.as_ref().map(|paths| self.read(&at("allowedPaths"), paths, PathPattern::of));
        let hosts = user.allowed_hosts.as_ref().map(|hosts| self.read(&at("allowedHosts"), hosts, Host::of));
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
    /// Compiles the policy and the grants against the catalogue, and says which names and groups nobody knows (they are
    /// kept as written, and hold once a tool of that name or group comes).
    pub fn compile(policy: &Policy, grants: &[Grant], names: &dyn Names) -> (Rules, Vec<String>) {
        let mut c = Compiler { names, warnings: vec![] };
        let mut rules = Rules {
            autonomy: policy.autonomy.unwrap_or_default(),
            profile: c.profile(policy.profile),
            allow: c.maybe("allow", policy.allow.as_ref()),
            deny: c.list("deny", &policy.deny),
            also_allow: c.list("alsoAllow", &policy.also_allow),
            ask: c.list("ask", &policy.ask),
            providers: HashMap::new(),
            agents: HashMap::new(),
            chats: HashMap::new(),
            subagent: List::default(),
            leaf: c.quiet(SUBAGENT_LEAF_DENIES.iter().copied()),
            users: HashMap::new(),
            grants: HashMap::new(),
            groups: HashMap::new(),
        };
        // What people wrote there is warned about; what we wrote is not.
        c.list("subagents.deny", &policy.subagents.deny);
        let extra = policy.subagents.deny.iter().map(String::as_str);
        rules.subagent = c.quiet(SUBAGENT_DENIES.iter().copied().chain(extra));
        for (name, provider) in &policy.by_provider {
            let allow = c.maybe(&format!("byProvider.{name}.allow"), provider.allow.as_ref());
            let profile = provider.profile.and_then(|p| c.profile(p));
            rules.providers.insert(name.clone(), ProviderRules { profile, allow });
        }
        for (key, agent) in &policy.agents {
            let Some(id) = agent_id(key) else {
                c.warnings.push(format!("`agents`: {key:?} is no id of an agent, so its rules hold for none"));
                continue;
            };
            let at = |field: &str| format!("agents.{key}.{field}");
            let mut providers = HashMap::new();
            for (name, provider) in &agent.by_provider {
                let place = at(&format!("byProvider.{name}.allow"));
                providers.extend(c.maybe(&place, provider.allow.as_ref()).map(|list| (name.clone(), list)));
            }
            let agent = AgentRules {
                profile: agent.profile.map(|p| c.profile(p)),
                allow: c.maybe(&at("allow"), agent.allow.as_ref()),
                deny: c.list(&at("deny"), &agent.deny),
                also_allow: c.list(&at("alsoAllow"), &agent.also_allow),
                providers,
                autonomy: agent.autonomy,
            };
            rules.agents.insert(id, agent);
        }
        for (chat, allowed) in &policy.chats {
            let list = c.maybe(&format!("chats.{chat}.allow"), allowed.allow.as_ref());
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

    /// Whether a person said yes for good to this version of a tool, or of what it wants while it runs (`NAME#fetch`). What
    /// was read from outside may have chosen the arguments, so then only a yes to just these counts.
    pub fn is_granted(&self, user: UserId, tool: &str, version: u32, label: Label, args: &Value) -> bool {
        let grants = self.grants.get(&user).and_then(|of| of.get(tool));
        grants
            .into_iter()
            .flatten()
            .any(|(of, pattern)| *of == version && (label == Label::Own || pattern.is_exact()) && pattern.covers(args))
    }

    /// How much a model may do unasked as this agent for this user: what the user chose, else the household; the agent
    /// can only be more careful.
    pub fn autonomy(&self, user: UserId, agent: AgentId) -> Autonomy {
        let chosen = self.users.get(&user).and_then(|u| u.autonomy).unwrap_or(self.autonomy);
        self.agents.get(&agent).and_then(|a| a.autonomy).map_or(chosen, |a| a.min(chosen))
    }

    /// Whether an entry of a request's own list means this tool.
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
