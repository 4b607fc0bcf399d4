//! The policy document: JSON, a default for every field, unknown fields rejected.

use crate::{Autonomy, Preset, Profile, reach};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tool::{AgentId, Area, Level, UserId, prelude::schemars, prelude::schemars::JsonSchema};

/// The permissions of people and agents in the household. Lists contain tool names, aliases and `group:ID`; `*` and
/// `group:all` match everything. An absent list allows everything, an empty one nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The default autonomy of users without their own; `medium` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
    /// The profile of tools for agents.
    pub profile: Profile,
    /// The only tools agents may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Tools that nobody may use.
    pub deny: Vec<String>,
    /// Tools that agents may use in addition to profiles and allow lists; a deny still wins.
    pub also_allow: Vec<String>,
    /// Tools that always need approval when a model or a custom tool calls them.
    pub ask: Vec<String>,
    /// Narrower lists by model provider, such as `openai`.
    pub by_provider: BTreeMap<String, ProviderPolicy>,
    /// Rules by agent: its id, or `general`.
    pub agents: BTreeMap<String, AgentPolicy>,
    /// Rules by chat within a channel.
    pub chats: BTreeMap<String, AllowPolicy>,
    /// Rules for subagents: runs started by another run.
    pub subagents: SubagentPolicy,
    /// Rules by user id.
    pub users: BTreeMap<UserId, UserPolicy>,
}

/// Rules for models of one provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderPolicy {
    /// A second profile, which narrows the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The only tools that they may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

/// Rules for one agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentPolicy {
    /// The agent's profile, instead of the household's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The only tools that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    /// Tools that it may not use.
    pub deny: Vec<String>,
    /// Tools that it may use in addition to profiles and allow lists.
    pub also_allow: Vec<String>,
    /// Narrower lists by the provider of its model.
    pub by_provider: BTreeMap<String, AllowPolicy>,
    /// A lower autonomy than the user's; a higher one has no effect.
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

/// Rules for subagents: runs started by another run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentPolicy {
    /// Tools that they may not use, in addition to the built-in list.
    pub deny: Vec<String>,
}

/// Rules for one user, within their role. Absent fields come from the preset, else from the role: `readonly` for
/// viewers, up to the level `execute` for members, everything for admins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct UserPolicy {
    /// A preset of level and areas; fields set here override it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The highest level of tools that they may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The areas that they may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub areas: Option<Vec<Area>>,
    /// Tools that they may use whatever their level and areas, within their role, denies, paths and hosts.
    pub allowed_tools: Vec<String>,
    /// Tools that they may not use.
    pub denied_tools: Vec<String>,
    /// The only folders and files that file tools may access: absolute, or inside the workspace (`.` is all of it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_paths: Option<Vec<String>>,
    /// The only hosts that network tools may reach: `example.org`, `*.example.org` for its subdomains, `*` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,
    /// Tools that always need their approval.
    pub ask: Vec<String>,
    /// Their autonomy: how much a model may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<Autonomy>,
}

impl Policy {
    /// Check what the types cannot: keys, and the syntax of list entries, paths and hosts.
    ///
    /// # Errors
    /// A sentence that names the path of the entry.
    pub fn check(&self) -> Result<(), String> {
        let empty = vec![];
        let list = |at: &str, entries: &Vec<String>| match entries.iter().find(|e| !is_entry(e)) {
            Some(wrong) => Err(format!("`{at}`: {wrong:?} is not a tool name, `group:ID` or `*`")),
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
            let id = agent_id(key).ok_or_else(|| format!("`agents`: {key:?} is not an agent id, nor `general`"))?;
            if seen.contains(&id) {
                return Err(format!("`agents`: {key:?} is a duplicate in another spelling"));
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
                        "`users.{id}.allowedHosts`: {host:?} is not a host: write `example.org`, `*.example.org` or `*`"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The rules of a preset: `readonly`, `restrictive` or `permissive`.
    pub fn preset(name: &str) -> Option<UserPolicy> {
        Preset::ALL.iter().find(|p| p.name() == name).map(|p| p.policy())
    }
}

/// Parse the key of an agent.
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
