//! The policy as people write it: JSON, every field with a default, nothing unknown.

use crate::{Autonomy, Preset, Profile, reach};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tool::{AgentId, Area, Level, UserId, prelude::schemars, prelude::schemars::JsonSchema};

/// What the household lets its people and agents do. Members of the lists are names of tools, other names of them, and
/// `group:ID`; `*` and `group:all` are everything. A list that is absent lets everything pass, an empty one nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// How much a model may do unasked for users who did not choose; `medium` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// The tools agents work with.
    pub profile: Profile,
    /// The only tools agents may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// What nobody may use.
    pub deny: Vec<String>,
    /// What agents may use though profiles and allow lists leave it out; a deny still takes it away.
    pub also_allow: Vec<String>,
    /// What a person is always asked about before a model or a custom tool does it.
    pub ask: Vec<String>,
    /// Narrower lists by the provider of the model, such as `openai`.
    pub by_provider: BTreeMap<String, ProviderPolicy>,
    /// By the agent: its id, or `general`.
    pub agents: BTreeMap<String, AgentPolicy>,
    /// By the chat within a door.
    pub chats: BTreeMap<String, AllowPolicy>,
    /// For runs that another run began.
    pub subagents: SubagentPolicy,
    /// By the user's id.
    pub users: BTreeMap<UserId, UserPolicy>,
}

/// What models of one provider may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderPolicy {
    /// A second profile, which narrows the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The only tools they may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

/// What one agent may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentPolicy {
    /// The tools it works with, instead of the household's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The only tools it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// What it may not use.
    pub deny: Vec<String>,
    /// What it may use though profiles and allow lists leave it out.
    pub also_allow: Vec<String>,
    /// Narrower lists by the provider of its model.
    pub by_provider: BTreeMap<String, AllowPolicy>,
    /// Makes it more careful than its user chose; never less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
}

/// An allow list alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowPolicy {
    /// The only tools that may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

/// What runs may not use that another run began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentPolicy {
    /// What they may not use besides what they never get.
    pub deny: Vec<String>,
}

/// What one user may do, within their role. What is absent comes from the preset, else from the role: viewers as
/// `readonly`, members up to the level `execute`, admins everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct UserPolicy {
    /// Level and areas, ready-made; those written here win.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// How much power they have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The parts of the world they may touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub areas: Option<Vec<Area>>,
    /// What they may use whatever their level and areas; never beyond their role, nor against denies, paths and hosts.
    pub allowed_tools: Vec<String>,
    /// What they may not use.
    pub denied_tools: Vec<String>,
    /// The only folders and files that file tools may touch: absolute, or inside the workspace (`.` is all of it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_paths: Option<Vec<String>>,
    /// The only hosts that network tools may reach: `example.org`, `*.example.org` for what is below it, `*` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,
    /// What they are always asked about.
    pub ask: Vec<String>,
    /// How much a model may do unasked on their behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
}

impl Policy {
    /// Checks what the types do not say: keys, and the form of members, paths and hosts.
    ///
    /// # Errors
    /// A sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        let empty = vec![];
        let list = |at: &str, entries: &Vec<String>| match entries.iter().find(|e| !is_entry(e)) {
            Some(wrong) => Err(format!("`{at}`: {wrong:?} is no name of a tool, `group:ID` or `*`")),
            None => Ok(()),
        };
        let maybe = |at: &str, entries: &Option<Vec<String>>| list(at, entries.as_ref().unwrap_or(&empty));
        maybe("allow", &self.allow)?;
        list("deny", &self.deny)?;
        list("alsoAllow", &self.also_allow)?;
        list("ask", &self.ask)?;
        list("subagents.deny", &self.subagents.deny)?;
        for (name, provider) in &self.by_provider {
            maybe(&format!("byProvider.{name}.allow"), &provider.allow)?;
        }
        for (chat, rules) in &self.chats {
            maybe(&format!("chats.{chat}.allow"), &rules.allow)?;
        }
        let mut seen = vec![];
        for (key, agent) in &self.agents {
            let id = agent_id(key).ok_or_else(|| format!("`agents`: {key:?} is no id of an agent, nor `general`"))?;
            if seen.contains(&id) {
                return Err(format!("`agents`: {key:?} is there twice, under two ways of writing it"));
            }
            seen.push(id);
            maybe(&format!("agents.{key}.allow"), &agent.allow)?;
            list(&format!("agents.{key}.deny"), &agent.deny)?;
            list(&format!("agents.{key}.alsoAllow"), &agent.also_allow)?;
            for (name, provider) in &agent.by_provider {
                maybe(&format!("agents.{key}.byProvider.{name}.allow"), &provider.allow)?;
            }
        }
        for (id, user) in &self.users {
            list(&format!("users.{id}.allowedTools"), &user.allowed_tools)?;
            list(&format!("users.{id}.deniedTools"), &user.denied_tools)?;
            list(&format!("users.{id}.ask"), &user.ask)?;
            for path in user.allowed_paths.iter().flatten() {
                if reach::PathPattern::of(path).is_none() {
                    return Err(format!(
                        "`users.{id}.allowedPaths`: {path:?} is no path: write `/an/absolute/one`, or one inside the \
                         workspace without `..`"
                    ));
                }
            }
            for host in user.allowed_hosts.iter().flatten() {
                if reach::Host::of(host).is_none() {
                    return Err(format!(
                        "`users.{id}.allowedHosts`: {host:?} is no host: write `example.org`, `*.example.org` or `*`"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The preset of this name, written out: `readonly`, `restrictive` or `permissive`.
    pub fn preset(name: &str) -> Option<UserPolicy> {
        Preset::ALL.iter().find(|p| p.name() == name).map(|p| p.policy())
    }
}

/// The agent a key stands for.
pub(crate) fn agent_id(key: &str) -> Option<AgentId> {
    if key == "general" { Some(AgentId::GENERAL) } else { key.parse().ok().map(AgentId) }
}

fn is_entry(entry: &str) -> bool {
    let name = entry.strip_prefix("group:").unwrap_or(entry);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    entry == "*" || (1..=128).contains(&name.len()) && name.chars().all(is_name)
}

impl Preset {
    /// The user policy it stands for, written out.
    pub fn policy(self) -> UserPolicy {
        let (level, areas) = self.grants();
        UserPolicy { level: Some(level), areas: Some(areas.to_vec()), ..UserPolicy::default() }
    }
}
