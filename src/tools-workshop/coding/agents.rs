//! The coding agents that Hob knows and those that an admin added: how they are started, and with which key.

use crate::{gate::is_host, verify};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};
use store::{Key, Level, Record};
use tool::{
    Cx, Error, Result,
    prelude::{JsonSchema, Value, schemars},
};

/// Bounds of what an admin sets.
const ARGUMENTS: usize = 60;
const ARGUMENT: usize = 1000;
const VARIABLES: usize = 20;
const HOSTS: usize = 20;
const TITLE: usize = 60;
/// The field of a service with its key, unless an agent names another.
const KEY_FIELD: &str = "api_key";

/// A coding agent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CodingAgent {
    pub name: String,
    pub title: String,
    /// Its name in the catalogue of command-line tools; empty for one of an admin.
    pub tool: String,
    /// The service with its key; empty where it needs none.
    pub service: String,
    key_field: String,
    key_variables: Vec<String>,
    address_variable: String,
    hosts: Vec<String>,
    pub args: Vec<String>,
    pub model_args: Vec<String>,
    env: BTreeMap<String, String>,
    /// The program that an admin named; empty where it is looked for.
    #[serde(skip)]
    pub path: String,
    #[serde(skip)]
    pub custom: bool,
    #[serde(skip)]
    pub enabled: bool,
    #[serde(skip)]
    pub members: bool,
}

#[derive(Deserialize)]
struct Known {
    agent: Vec<CodingAgent>,
}

static KNOWN: LazyLock<Vec<CodingAgent>> =
    LazyLock::new(|| match toml::from_str::<Known>(include_str!("agents.toml")) {
        Ok(known) => known.agent,
        Err(error) => {
            tracing::error!(%error, "the coding agents cannot be read");
            vec![]
        }
    });

/// The agents that Hob knows, with what an admin changed, and those that they added.
pub(super) fn merged(stored: &[AgentRecord]) -> Vec<CodingAgent> {
    let mut all: Vec<CodingAgent> = KNOWN.iter().map(|agent| CodingAgent { enabled: true, ..agent.clone() }).collect();
    let mut own: Vec<&AgentRecord> = stored.iter().collect();
    own.sort_by(|a, b| a.name.cmp(&b.name));
    for record in own {
        match all.iter_mut().find(|agent| agent.name == record.name) {
            Some(agent) => {
                (agent.enabled, agent.members) = (record.enabled, record.members);
                agent.path.clone_from(&record.path);
                agent.hosts.extend(record.hosts.iter().cloned());
            }
            None if record.custom => all.push(record.to_agent()),
            None => {}
        }
    }
    all
}

impl CodingAgent {
    /// As `run_coding_task` takes it.
    pub fn provider(&self) -> String {
        if self.custom { format!("custom:{}", self.name) } else { self.name.clone() }
    }

    /// Whether a caller means it. `claude` and `gemini` are common short names.
    pub fn is_called(&self, provider: &str) -> bool {
        let provider = provider.trim();
        match provider.strip_prefix("custom:") {
            Some(name) => self.custom && self.name == name.trim(),
            None => self.name == provider || (!self.custom && self.tool == provider),
        }
    }

    /// The variables that it is started with, also those with its key.
    ///
    /// # Errors
    /// `Unavailable` where its service has not been set up.
    pub fn environment(&self, cx: &Cx) -> Result<Vec<(String, String)>> {
        let mut all: Vec<(String, String)> = self.env.clone().into_iter().collect();
        if self.service.is_empty() {
            return Ok(all);
        }
        let entry = cx.ports().settings.entry(&self.service, None).unwrap_or_default();
        let field = if self.key_field.is_empty() { KEY_FIELD } else { &self.key_field };
        let key = entry.get(field).and_then(Value::as_str).filter(|key| !key.is_empty()).ok_or_else(|| {
            Error::unavailable(format!(
                "{} needs the service `{}` with its `{field}`: an admin enters it in the Config Center",
                self.title, self.service
            ))
        })?;
        all.extend(self.key_variables.iter().map(|variable| (variable.clone(), key.to_owned())));
        if let Some(address) = entry.get("base_url").and_then(Value::as_str)
            && !self.address_variable.is_empty()
        {
            all.push((self.address_variable.clone(), address.to_owned()));
        }
        Ok(all)
    }

    /// The hosts that it may reach, also that of the address of its service.
    pub fn all_hosts(&self, cx: &Cx) -> Vec<String> {
        let entry = (!self.service.is_empty()).then(|| cx.ports().settings.entry(&self.service, None)).flatten();
        let address = entry.as_ref().and_then(|entry| entry.get("base_url")?.as_str());
        let rest = address.and_then(|address| Some(address.split_once("://")?.1));
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).map(str::to_lowercase);
        let mut all: Vec<String> = self.hosts.iter().cloned().chain(host.filter(|host| is_host(host))).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What an admin sets of a coding agent.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentSettings {
    /// Whether it may be used at all.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether members may use it, and not only admins.
    #[serde(default)]
    pub members: bool,
    /// The absolute path of its program; by default it is looked for.
    pub path: Option<String>,
    /// More hosts that it may reach, such as `packages.example.org`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// A new agent: its name for people.
    pub title: Option<String>,
    /// A new agent: its arguments; `{prompt}` is the task, and `{max_turns}` and `{max_budget_usd}` its bounds.
    pub args: Option<Vec<String>>,
    /// A new agent: the arguments that are added where a model is named, with `{model}`.
    pub model_args: Option<Vec<String>>,
    /// A new agent: the service of the Config Center with its key.
    pub service: Option<String>,
    /// A new agent: the field of the service with the key; `api_key` by default.
    pub key_field: Option<String>,
    /// A new agent: the variables that the key goes into, such as `["EXAMPLE_API_KEY"]`.
    pub key_variables: Option<Vec<String>>,
    /// A new agent: the variable for the service's `base_url`.
    pub address_variable: Option<String>,
    /// A new agent: other variables, which are not shown again; those of an agent that is set up stay where this is left out.
    pub env: Option<BTreeMap<String, String>>,
}

/// What an admin set of a coding agent, without the values of its variables.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSettingsView {
    /// The path of its program; empty where it is looked for.
    pub path: String,
    /// The hosts that were added.
    pub hosts: Vec<String>,
    /// An added agent: its arguments.
    pub args: Vec<String>,
    /// An added agent: the arguments that are added where a model is named.
    pub model_args: Vec<String>,
    /// An added agent: the service with its key.
    pub service: String,
    /// An added agent: the field of the service with the key.
    pub key_field: String,
    /// An added agent: the variables that the key goes into.
    pub key_variables: Vec<String>,
    /// An added agent: the variable for the service's `base_url`.
    pub address_variable: String,
    /// An added agent: the names of its other variables.
    pub env_set: Vec<String>,
}

fn yes() -> bool {
    true
}

/// The stored settings of an agent. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct AgentRecord {
    pub name: String,
    pub custom: bool,
    enabled: bool,
    members: bool,
    path: String,
    hosts: Vec<String>,
    title: String,
    args: Vec<String>,
    model_args: Vec<String>,
    service: String,
    key_field: String,
    key_variables: Vec<String>,
    address_variable: String,
    env: BTreeMap<String, String>,
}

impl Record for AgentRecord {
    const NAME: &'static str = "coding-agents";
    const WORD: &'static str = "coding agent";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name)]
    }
}

impl AgentRecord {
    /// Reads the settings of an admin.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong.
    pub fn read(name: &str, given: AgentSettings) -> Result<Self> {
        let bad = |text: String| Err(Error::bad_args(text));
        let name = name.strip_prefix("custom:").unwrap_or(name);
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty()
            || name.len() > 40
            || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !name.chars().all(fits)
        {
            let name = text_kit::truncate(name, 40);
            return bad(format!(
                "`{name}` is not the name of a coding agent: use letters, digits, dots, dashes and underscores"
            ));
        }
        if given.hosts.len() > HOSTS || !given.hosts.iter().all(|host| is_host(host)) {
            return bad(format!("`hosts` lists at most {HOSTS} hosts, such as `api.example.org`"));
        }
        let path = match given.path.as_deref().map(str::trim).unwrap_or_default() {
            "" => String::new(),
            path => verify::program(path)?.display().to_string(),
        };
        let common = Self {
            name: name.to_owned(),
            enabled: given.enabled,
            members: given.members,
            path,
            hosts: given.hosts.iter().map(|host| host.to_lowercase()).collect(),
            ..Self::default()
        };
        if KNOWN.iter().any(|agent| agent.name == name) {
            let more = given.title.is_some()
                || given.args.is_some()
                || given.model_args.is_some()
                || given.service.is_some()
                || given.key_field.is_some()
                || given.key_variables.is_some()
                || given.address_variable.is_some()
                || given.env.is_some();
            return match more {
                true => bad(format!(
                    "of `{name}` only `enabled`, `members`, `path` and `hosts` can be set: add an agent of another name"
                )),
                false => Ok(common),
            };
        }
        let new = Self {
            custom: true,
            title: given
                .title
                .map(|title| title.trim().to_owned())
                .filter(|title| !title.is_empty())
                .unwrap_or(name.to_owned()),
            args: given.args.unwrap_or_else(|| vec!["{prompt}".into()]),
            model_args: given.model_args.unwrap_or_default(),
            service: given.service.unwrap_or_default(),
            key_field: given.key_field.unwrap_or_default(),
            key_variables: given.key_variables.unwrap_or_default(),
            address_variable: given.address_variable.unwrap_or_default(),
            env: given.env.unwrap_or_default(),
            ..common
        };
        new.check()?;
        Ok(new)
    }

    /// Takes the variables of an earlier record.
    pub fn keep_env(&mut self, earlier: &Self) {
        self.env.clone_from(&earlier.env);
    }

    /// As an admin sees it.
    pub fn view(&self) -> AgentSettingsView {
        AgentSettingsView {
            path: self.path.clone(),
            hosts: self.hosts.clone(),
            args: self.args.clone(),
            model_args: self.model_args.clone(),
            service: self.service.clone(),
            key_field: self.key_field.clone(),
            key_variables: self.key_variables.clone(),
            address_variable: self.address_variable.clone(),
            env_set: self.env.keys().cloned().collect(),
        }
    }

    fn check(&self) -> Result<()> {
        let bad = |text: String| Err(Error::bad_args(text));
        if self.path.is_empty() {
            return bad("`path` is missing: pass the absolute path of the agent's program".into());
        }
        if self.title.chars().count() > TITLE || self.title.chars().any(char::is_control) {
            return bad(format!("`title` has {TITLE} characters at most, in one line"));
        }
        let long = |args: &[String]| {
            args.len() > ARGUMENTS || args.iter().any(|arg| arg.len() > ARGUMENT || arg.contains('\0'))
        };
        if long(&self.args) || long(&self.model_args) {
            return bad(format!("`args` and `modelArgs` have at most {ARGUMENTS} arguments of {ARGUMENT} bytes"));
        }
        if !self.args.iter().any(|arg| arg.contains("{prompt}")) {
            return bad("`args` must contain `{prompt}`, which is replaced by the task".into());
        }
        if !self.model_args.is_empty() && !self.model_args.iter().any(|arg| arg.contains("{model}")) {
            return bad("`modelArgs` must contain `{model}`".into());
        }
        if !self.service.is_empty() && self.key_variables.is_empty() {
            return bad("`keyVariables` is missing: name the variables that the key of the service goes into".into());
        }
        let named = self.key_variables.iter().chain(self.env.keys());
        let named: Vec<&String> =
            named.chain((!self.address_variable.is_empty()).then_some(&self.address_variable)).collect();
        let values = self.env.values().all(|value| value.len() <= ARGUMENT && !value.contains('\0'));
        match named.iter().find(|name| !verify::is_variable(name)) {
            Some(wrong) => bad(format!("`{}` is not a variable that can be set here", text_kit::truncate(wrong, 40))),
            None if named.len() > VARIABLES || !values => {
                bad(format!("at most {VARIABLES} variables of {ARGUMENT} bytes can be set"))
            }
            None => Ok(()),
        }
    }

    fn to_agent(&self) -> CodingAgent {
        CodingAgent {
            name: self.name.clone(),
            title: self.title.clone(),
            tool: String::new(),
            service: self.service.clone(),
            key_field: self.key_field.clone(),
            key_variables: self.key_variables.clone(),
            address_variable: self.address_variable.clone(),
            hosts: self.hosts.clone(),
            args: self.args.clone(),
            model_args: self.model_args.clone(),
            env: self.env.clone(),
            path: self.path.clone(),
            custom: true,
            enabled: self.enabled,
            members: self.members,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, settings: Value) -> Result<AgentRecord> {
        AgentRecord::read(name, serde_json::from_value(settings).map_err(|e| Error::bad_args(e.to_string()))?)
    }

    #[test]
    fn the_known_agents_can_be_read_and_are_found_by_their_names() {
        let all = merged(&[]);
        let names: Vec<&str> = all.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["claude-code", "codex", "gemini-cli", "aider"]);
        for agent in &all {
            assert!(
                agent.args.iter().any(|arg| arg == "{prompt}") && agent.enabled && !agent.members,
                "{}",
                agent.name
            );
        }
        let called =
            |provider: &str| all.iter().find(|agent| agent.is_called(provider)).map(|agent| agent.name.as_str());
        assert_eq!(called("claude"), Some("claude-code"));
        assert_eq!((called("custom:codex"), called("nothing")), (None, None));
    }

    #[test]
    fn an_admin_adds_agents_and_opens_them() {
        let stored = [
            read("codex", json!({"members": true, "hosts": ["packages.example.org"]})).unwrap(),
            read("custom:mine", json!({"path": "/bin/sh", "args": ["-c", "{prompt}"]})).unwrap(),
        ];
        let all = merged(&stored);
        assert!(all[1].members && all[1].hosts.contains(&"packages.example.org".to_owned()));
        assert_eq!(all[4].provider(), "custom:mine");
        assert!(all[4].is_called("custom:mine") && all[4].is_called("mine"));
    }

    #[test]
    fn settings_that_do_not_fit_are_refused() {
        for (name, settings) in [
            ("a b", json!({"path": "/bin/sh"})),
            ("mine", json!({})),
            ("mine", json!({"path": "sh"})),
            ("mine", json!({"path": "/bin/sh", "args": ["x"]})),
            ("mine", json!({"path": "/bin/sh", "modelArgs": ["x"]})),
            ("mine", json!({"path": "/bin/sh", "service": "x"})),
            ("mine", json!({"path": "/bin/sh", "env": {"LD_PRELOAD": "x"}})),
            ("mine", json!({"path": "/bin/sh", "keyVariables": ["PATH"]})),
            ("mine", json!({"path": "/bin/sh", "hosts": ["*"]})),
            ("codex", json!({"args": ["{prompt}"]})),
            ("codex", json!({"unknown": 1})),
        ] {
            assert!(matches!(read(name, settings.clone()), Err(Error::BadArgs(_))), "{name} {settings}");
        }
    }
}
