//! The record of a command tool, its view, draft and patch.

use crate::template::Template;
use registry::authored::{Authored, Created, Head, Life, Status, iso};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::{Entry, Key, Level, Record};
use text_kit::truncate;
use tool::{
    AgentId, Error, Id, Label, Result,
    prelude::{JsonSchema, schemars},
};

/// The default and the largest time limit, in seconds.
const SECONDS: (u32, u32) = (60, 300);
/// The maximum number of environment variables, and the maximum length of a value in bytes.
const VARIABLES: usize = 50;
const VALUE: usize = 16 * 1024;
/// Variables that would change how a shell or the loader of programs works, or that values and the sandbox use.
const RESERVED: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "ENV",
    "GLIBC_TUNABLES",
    "HOME",
    "IFS",
    "LOGNAME",
    "PATH",
    "PS4",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "USER",
];

/// The stored record. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    pub head: Head,
    pub command: String,
    /// A path in the workspace; empty for the workspace itself.
    pub working_dir: String,
    pub timeout_seconds: u32,
    /// The names of its environment variables; their values are sealed.
    pub env_names: Vec<String>,
    /// The agent it is for; none for all.
    pub agent: Option<Id>,
    pub network: bool,
    pub life: Life,
}

impl Record for Stored {
    const NAME: &'static str = "command-tools";
    const WORD: &'static str = "command tool";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        self.head.keys()
    }
}

impl Authored for Stored {
    const PREFIX: &'static str = "cmd_";
    fn head(&self) -> &Head {
        &self.head
    }
    fn life(&self) -> &Life {
        &self.life
    }
    fn life_mut(&mut self) -> &mut Life {
        &mut self.life
    }
}

impl Stored {
    /// The name under which the values of its environment are sealed.
    pub fn sealed_name(&self) -> String {
        format!("command-tool/{}", self.id())
    }
}

/// The view of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandTool {
    /// `cmd_` and 16 hex digits.
    pub id: String,
    /// Its owner.
    pub user_id: String,
    /// Its name.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// Its parameters, as JSON Schema.
    pub parameters: Value,
    /// Its command, with `{{parameter}}` where values go.
    pub command: String,
    /// The folder it runs in: a path in the workspace.
    pub working_dir: String,
    /// Its time limit.
    pub timeout_seconds: u32,
    /// The names of its environment variables. Their values are write-only.
    pub env_names: Vec<String>,
    /// The agent it is for; all agents where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether it reaches the internet, through Hob's guard.
    pub network: bool,
    /// Its status.
    pub status: Status,
    /// Whether it can be called now.
    pub enabled: bool,
    /// Whether each call needs a person's approval.
    pub requires_approval: bool,
    /// Its author.
    pub created_by: Created,
    /// Incremented by each change of what it does.
    pub version: u32,
    /// The number of calls.
    pub usage_count: u32,
    /// The time of the last call (ISO 8601).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// Creation time (ISO 8601).
    pub created_at: String,
    /// The time of the last change (ISO 8601).
    pub updated_at: String,
    /// Its label; not serialized.
    #[serde(skip)]
    pub label: Label,
}

impl From<Entry<Stored>> for CommandTool {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        let (id, parameters, last_used_at) = (s.id(), s.head.parameters(), s.life.last_used_at());
        Self {
            label: e.label,
            id,
            user_id: e.owner.to_string(),
            parameters,
            name: s.head.name,
            description: s.head.description,
            command: s.command,
            working_dir: s.working_dir,
            timeout_seconds: s.timeout_seconds,
            env_names: s.env_names,
            agent: s.agent.map(|agent| agent.to_string()),
            network: s.network,
            status: s.life.status,
            enabled: s.life.status == Status::Active,
            requires_approval: s.life.requires_approval,
            created_by: s.life.created_by,
            version: s.life.version,
            usage_count: s.life.usage_count,
            last_used_at,
            created_at: iso(e.id.millis()),
            updated_at: iso(e.updated_ms),
        }
    }
}

/// Environment variables by name.
pub type Environment = BTreeMap<String, String>;

/// A new tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Lower case, digits and underscores; begins with a letter.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// A JSON Schema of `type: "object"`; its properties are the parameters. No parameters where it is missing.
    #[serde(default)]
    pub parameters: Value,
    /// The command for `sh`, with `{{parameter}}` where values go.
    pub command: String,
    /// The folder it runs in: a path in the workspace. The workspace itself by default.
    #[serde(default, alias = "working_dir", alias = "cwd")]
    pub working_dir: Option<String>,
    /// Its time limit: 60 by default, 300 at most.
    #[serde(default, alias = "timeout_seconds", alias = "timeout")]
    pub timeout_seconds: Option<u32>,
    /// Environment variables, such as keys. They are stored encrypted and never returned.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    pub env: Environment,
    /// The agent it is for; all agents by default.
    #[serde(default, alias = "agent_id", alias = "agentId")]
    pub agent: Option<String>,
    /// Whether it reaches the internet, through Hob's guard.
    #[serde(default)]
    pub network: bool,
    /// Whether each call needs a person's approval.
    #[serde(default, alias = "requires_approval")]
    pub requires_approval: Option<bool>,
    /// False to create it disabled.
    #[serde(default)]
    pub enabled: Option<bool>,
}

/// A patch of a tool; absent fields stay.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Patch {
    pub name: Option<String>,
    pub description: Option<String>,
    pub parameters: Option<Value>,
    pub command: Option<String>,
    pub working_dir: Option<String>,
    pub timeout_seconds: Option<u32>,
    /// Variables to set; null removes one, and those that are not named stay.
    #[schemars(extend("writeOnly" = true))]
    pub env: Option<BTreeMap<String, Option<String>>>,
    /// The agent it is for; null for all.
    #[serde(default, deserialize_with = "given")]
    pub agent: Option<Option<String>>,
    pub network: Option<bool>,
    pub requires_approval: Option<bool>,
}

/// A field that was given, perhaps as null.
fn given<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl Patch {
    /// Apply the patch to a tool and its environment, and validate the result like a new tool. A model's tool waits for
    /// approval again when a person who is not an admin changes what it does.
    pub(crate) fn apply(self, old: &Stored, env: &Environment, by_admin: bool) -> Result<(Stored, Environment)> {
        let mut new_env = env.clone();
        for (name, value) in self.env.unwrap_or_default() {
            match value {
                Some(value) => drop(new_env.insert(name, value)),
                None => drop(new_env.remove(&name)),
            }
        }
        let same_agent = old.agent.map(|agent| agent.to_string());
        let draft = Draft {
            name: self.name.unwrap_or_else(|| old.head.name.clone()),
            description: self.description.unwrap_or_else(|| old.head.description.clone()),
            parameters: self.parameters.unwrap_or_else(|| old.head.parameters()),
            command: self.command.unwrap_or_else(|| old.command.clone()),
            working_dir: self.working_dir.or_else(|| Some(old.working_dir.clone())),
            timeout_seconds: self.timeout_seconds.or(Some(old.timeout_seconds)),
            env: new_env,
            agent: self.agent.unwrap_or(same_agent),
            network: self.network.unwrap_or(old.network),
            requires_approval: self.requires_approval.or(Some(old.life.requires_approval)),
            enabled: None,
        };
        let (new, new_env) = checked(draft, old.life.created_by)?;
        let does = |s: &Stored| (s.command.clone(), s.head.parameters(), s.working_dir.clone(), s.network, s.agent);
        let changed = does(&new) != does(old) || new_env != *env;
        let life = &old.life;
        let waits = life.created_by == Created::Llm && changed && !by_admin && life.status != Status::Rejected;
        let new = Stored {
            head: Head { handle: old.head.handle, ..new.head },
            life: life.changed(&new.life, changed, waits),
            ..new
        };
        Ok((new, new_env))
    }
}

/// Validate a draft and make it version 1.
pub(crate) fn checked(draft: Draft, by: Created) -> Result<(Stored, Environment)> {
    let parameters = match draft.parameters {
        Value::Null => json!({"type": "object", "properties": {}}),
        given => given,
    };
    let head = Head::checked(Stored::WORD, draft.name, &draft.description, parameters)?;
    Template::parse(&draft.command, &head.parameters())?;
    // What no command may do is refused before anybody relies on the tool.
    tools_workshop::check_command(&draft.command)?;
    let timeout_seconds = draft.timeout_seconds.unwrap_or(SECONDS.0);
    if !(1..=SECONDS.1).contains(&timeout_seconds) {
        return Err(Error::bad_args(format!("`timeoutSeconds` is from 1 to {}", SECONDS.1)));
    }
    let working_dir = draft.working_dir.unwrap_or_default().trim().to_owned();
    if working_dir.len() > 1024 || working_dir.contains('\0') {
        return Err(Error::bad_args("`workingDir` is a path in the workspace, such as website"));
    }
    check_environment(&draft.env)?;
    let agent = match draft.agent.as_deref().map(str::trim).filter(|agent| !agent.is_empty()) {
        None => None,
        Some("general") => Some(AgentId::GENERAL.0),
        Some(id) => {
            Some(id.parse::<Id>().map_err(|_| Error::bad_args("`agent` is the id of an agent: leave it out for all"))?)
        }
    };
    let status = match (by, draft.enabled) {
        (Created::Llm, _) => Status::PendingApproval,
        (Created::User, Some(false)) => Status::Disabled,
        (Created::User, _) => Status::Active,
    };
    let stored = Stored {
        head,
        command: draft.command,
        working_dir,
        timeout_seconds,
        env_names: draft.env.keys().cloned().collect(),
        agent,
        network: draft.network,
        life: Life::new(by, status, draft.requires_approval),
    };
    Ok((stored, draft.env))
}

fn check_environment(env: &Environment) -> Result<()> {
    if env.len() > VARIABLES {
        return Err(Error::bad_args(format!("`env` has {} variables, and the maximum is {VARIABLES}", env.len())));
    }
    for (name, value) in env {
        let shown = truncate(name, 60);
        let mut chars = name.chars();
        let good = name.len() <= 128
            && chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            return Err(Error::bad_args(format!(
                "`{shown}` is no name of a variable: use letters, digits and underscores"
            )));
        }
        if RESERVED.contains(&name.as_str())
            || ["LD_", "HOB_", "DYLD_", "BASH_FUNC"].iter().any(|start| name.starts_with(start))
        {
            return Err(Error::bad_args(format!(
                "the variable `{shown}` is reserved: set it in the command, or choose another name"
            )));
        }
        // The value may be a secret and is not shown.
        if value.len() > VALUE || value.contains('\0') {
            return Err(Error::bad_args(format!("the value of `{shown}` must be text of {} KB at most", VALUE >> 10)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> Draft {
        Draft {
            name: "lookup".into(),
            description: "Look up a domain.".into(),
            parameters: json!({"type": "object", "properties": {"domain": {"type": "string"}}, "required": ["domain"]}),
            command: "dig +short {{domain}}".into(),
            env: BTreeMap::from([("API_KEY".into(), "s3cret-value".into())]),
            ..Draft::default()
        }
    }

    #[test]
    fn a_draft_is_checked() {
        let (stored, env) = checked(draft(), Created::User).unwrap();
        assert_eq!(
            (stored.life.status, stored.timeout_seconds, &stored.env_names[..]),
            (Status::Active, 60, &["API_KEY".to_owned()][..])
        );
        assert_eq!(env["API_KEY"], "s3cret-value");
        let (stored, _) = checked(Draft { enabled: Some(true), ..draft() }, Created::Llm).unwrap();
        assert_eq!((stored.life.status, stored.life.requires_approval), (Status::PendingApproval, true));
        type Change = fn(&mut Draft);
        let wrong: [(&str, Change); 12] = [
            ("name", |d| d.name = "Look up".into()),
            ("description", |d| d.description = " ".into()),
            ("command", |d| d.command = " ".into()),
            ("parameter", |d| d.command = "dig {{other}}".into()),
            ("JSON", |d| d.parameters = "{".into()),
            ("type object", |d| d.parameters = json!({"type": "array"})),
            ("timeoutSeconds", |d| d.timeout_seconds = Some(301)),
            ("timeoutSeconds", |d| d.timeout_seconds = Some(0)),
            ("reserved", |d| drop(d.env.insert("LD_PRELOAD".into(), "x".into()))),
            ("reserved", |d| drop(d.env.insert("PATH".into(), "x".into()))),
            ("no name", |d| drop(d.env.insert("A B".into(), "x".into()))),
            ("agent", |d| d.agent = Some("x".into())),
        ];
        for (why, change) in wrong {
            let mut draft = draft();
            change(&mut draft);
            let error = checked(draft, Created::User).unwrap_err().to_string();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn the_stored_form_is_that_of_one_list_of_fields() {
        #[derive(Serialize)]
        struct Flat<'a> {
            handle: [u8; 8],
            texts: [&'a str; 5],
            timeout_seconds: u32,
            env_names: &'a [String],
            agent: Option<Id>,
            network: bool,
            status: u8,
            requires_approval: bool,
            created_by: u8,
            version: u32,
            usage_count: u32,
            last_used_ms: u64,
        }
        let (mut stored, _) = checked(draft(), Created::Llm).unwrap();
        (stored.life.version, stored.life.usage_count, stored.life.last_used_ms) = (3, 700, 1 << 40);
        let Head { handle, name, description, parameters } = &stored.head;
        let flat = Flat {
            handle: *handle,
            texts: [name, description, parameters, &stored.command, &stored.working_dir],
            timeout_seconds: stored.timeout_seconds,
            env_names: &stored.env_names,
            agent: stored.agent,
            network: stored.network,
            status: 2,
            requires_approval: true,
            created_by: 1,
            version: 3,
            usage_count: 700,
            last_used_ms: 1 << 40,
        };
        assert_eq!(postcard::to_stdvec(&stored).unwrap(), postcard::to_stdvec(&flat).unwrap());
    }

    #[test]
    fn a_patch_keeps_what_it_does_not_name() {
        let (old, env) = checked(draft(), Created::User).unwrap();
        let patch: Patch = serde_json::from_value(json!({"description": "New.", "env": {"MORE": "1"}})).unwrap();
        let (new, new_env) = patch.apply(&old, &env, false).unwrap();
        assert_eq!((new.life.version, &*new.head.description, &*new.command), (2, "New.", &*old.command));
        assert_eq!(new_env.keys().collect::<Vec<_>>(), ["API_KEY", "MORE"]);
        let patch: Patch = serde_json::from_value(json!({"env": {"API_KEY": null}})).unwrap();
        assert_eq!(patch.apply(&new, &new_env, false).unwrap().1.len(), 1);
        let patch: Patch = serde_json::from_value(json!({"requiresApproval": true})).unwrap();
        assert_eq!(patch.apply(&old, &env, false).unwrap().0.life.version, 1, "it does the same");
    }

    #[test]
    fn a_models_tool_waits_again_when_it_does_something_else() {
        let (pending, env) = checked(draft(), Created::Llm).unwrap();
        let old = Stored { life: Life { status: Status::Active, ..pending.life.clone() }, ..pending };
        for (patch, by_admin, expected) in [
            (json!({"command": "dig {{domain}}"}), false, Status::PendingApproval),
            (json!({"command": "dig {{domain}}"}), true, Status::Active),
            (json!({"network": true}), false, Status::PendingApproval),
            (json!({"description": "x"}), false, Status::Active),
        ] {
            let patch: Patch = serde_json::from_value(patch).unwrap();
            let (new, _) = patch.apply(&old, &env, by_admin).unwrap();
            assert_eq!((new.life.status, new.life.requires_approval), (expected, true));
        }
    }
}
