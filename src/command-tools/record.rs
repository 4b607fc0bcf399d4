//! The record of a command tool, its view, draft and patch.

use crate::template::Template;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::{Coded, Entry, Key, Level, Record};
use text_kit::truncate;
use tool::{
    AgentId, Error, Id, Label, Result,
    prelude::{JsonSchema, schemars},
};

/// The maximum length of a description, in characters.
const DESCRIPTION: usize = 2_000;
/// The maximum size of a parameter schema, in bytes of JSON.
const SCHEMA: usize = 32 * 1024;
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

/// The author of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Created {
    /// A person.
    #[default]
    User,
    /// A model.
    Llm,
}

/// The status of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Active.
    #[default]
    Active,
    /// Disabled by a person.
    Disabled,
    /// Created by a model; a person must review it.
    PendingApproval,
    /// Rejected by a person.
    Rejected,
}

// Numbers in stored records; unknown ones map to the least privilege.
impl Coded for Created {
    const ALL: &'static [Self] = &[Created::User, Created::Llm];
    const UNKNOWN: Self = Created::Llm;
}
impl Coded for Status {
    const ALL: &'static [Self] = &[Status::Active, Status::Disabled, Status::PendingApproval, Status::Rejected];
    const UNKNOWN: Self = Status::Rejected;
}

impl Status {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Disabled => "disabled",
            Status::PendingApproval => "waiting for approval",
            Status::Rejected => "rejected",
        }
    }
}

/// The stored record. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The 8 bytes of `cmd_<16 hex digits>`.
    pub handle: [u8; 8],
    pub name: String,
    pub description: String,
    /// JSON text.
    pub parameters: String,
    pub command: String,
    /// A path in the workspace; empty for the workspace itself.
    pub working_dir: String,
    pub timeout_seconds: u32,
    /// The names of its environment variables; their values are sealed.
    pub env_names: Vec<String>,
    /// The agent it is for; none for all.
    pub agent: Option<Id>,
    pub network: bool,
    #[serde(with = "store::coded")]
    pub status: Status,
    pub requires_approval: bool,
    #[serde(with = "store::coded")]
    pub created_by: Created,
    pub version: u32,
    pub usage_count: u32,
    /// Milliseconds since 1970; 0 means never.
    pub last_used_ms: u64,
}

impl Record for Stored {
    const NAME: &'static str = "command-tools";
    const WORD: &'static str = "command tool";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name), Key::unique(2, self.handle)]
    }
}

impl Stored {
    /// The parameter schema, validated before it was stored.
    pub fn parameters(&self) -> Value {
        serde_json::from_str(&self.parameters).unwrap_or(Value::Null)
    }
    /// The permanent id, independent of the name.
    pub fn id(&self) -> String {
        format!("cmd_{:016x}", u64::from_be_bytes(self.handle))
    }
    /// The name under which the values of its environment are sealed.
    pub fn sealed_name(&self) -> String {
        format!("command-tool/{}", self.id())
    }
}

/// Parse the handle in an id such as `cmd_0123456789abcdef`.
pub(crate) fn handle_of(id: &str) -> Option<[u8; 8]> {
    let digits = id.strip_prefix("cmd_").filter(|d| d.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(u64::to_be_bytes)
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

fn iso(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().to_string()
}

impl From<Entry<Stored>> for CommandTool {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        Self {
            label: e.label,
            id: s.id(),
            user_id: e.owner.to_string(),
            parameters: s.parameters(),
            name: s.name,
            description: s.description,
            command: s.command,
            working_dir: s.working_dir,
            timeout_seconds: s.timeout_seconds,
            env_names: s.env_names,
            agent: s.agent.map(|agent| agent.to_string()),
            network: s.network,
            status: s.status,
            enabled: s.status == Status::Active,
            requires_approval: s.requires_approval,
            created_by: s.created_by,
            version: s.version,
            usage_count: s.usage_count,
            last_used_at: (s.last_used_ms > 0).then(|| iso(s.last_used_ms)),
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
            name: self.name.unwrap_or_else(|| old.name.clone()),
            description: self.description.unwrap_or_else(|| old.description.clone()),
            parameters: self.parameters.unwrap_or_else(|| old.parameters()),
            command: self.command.unwrap_or_else(|| old.command.clone()),
            working_dir: self.working_dir.or_else(|| Some(old.working_dir.clone())),
            timeout_seconds: self.timeout_seconds.or(Some(old.timeout_seconds)),
            env: new_env,
            agent: self.agent.unwrap_or(same_agent),
            network: self.network.unwrap_or(old.network),
            requires_approval: self.requires_approval.or(Some(old.requires_approval)),
            enabled: None,
        };
        let (new, new_env) = checked(draft, old.created_by)?;
        let does = |s: &Stored| (s.command.clone(), s.parameters(), s.working_dir.clone(), s.network, s.agent);
        let changed = does(&new) != does(old) || new_env != *env;
        let waits = old.created_by == Created::Llm && changed && !by_admin && old.status != Status::Rejected;
        let new = Stored {
            handle: old.handle,
            status: if waits { Status::PendingApproval } else { old.status },
            version: old.version + u32::from(changed),
            usage_count: old.usage_count,
            last_used_ms: old.last_used_ms,
            ..new
        };
        Ok((new, new_env))
    }
}

/// Validate a draft and make it version 1.
pub(crate) fn checked(draft: Draft, by: Created) -> Result<(Stored, Environment)> {
    check_name(&draft.name)?;
    let description = draft.description.trim();
    match description.chars().count() {
        0 => return Err(Error::bad_args("`description` is empty: say what the tool does and when to use it")),
        n if n > DESCRIPTION => {
            return Err(Error::bad_args(format!("`description` has {n} characters, and the maximum is {DESCRIPTION}")));
        }
        _ => {}
    }
    let parameters = check_parameters(draft.parameters)?;
    Template::parse(&draft.command, &parameters)?;
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
    let mut handle = [0; 8];
    handle.copy_from_slice(&Id::new().as_bytes()[8..]);
    let stored = Stored {
        handle,
        name: draft.name,
        description: description.to_owned(),
        parameters: parameters.to_string(),
        command: draft.command,
        working_dir,
        timeout_seconds,
        env_names: draft.env.keys().cloned().collect(),
        agent,
        network: draft.network,
        status: match (by, draft.enabled) {
            (Created::Llm, _) => Status::PendingApproval,
            (Created::User, Some(false)) => Status::Disabled,
            (Created::User, _) => Status::Active,
        },
        requires_approval: by == Created::Llm || draft.requires_approval.unwrap_or(false),
        created_by: by,
        version: 1,
        usage_count: 0,
        last_used_ms: 0,
    };
    Ok((stored, draft.env))
}

fn check_name(name: &str) -> Result<()> {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if good {
        return Ok(());
    }
    Err(Error::bad_args(format!(
        "`{}` cannot be a command tool's name: begin with a lower-case letter, then lower-case letters, digits and underscores, \
         64 at most",
        truncate(name, 80)
    )))
}

/// The schema as an object; JSON text is parsed, and none means no parameters.
fn check_parameters(parameters: Value) -> Result<Value> {
    let parameters = match parameters {
        Value::Null => json!({"type": "object", "properties": {}}),
        Value::String(text) => {
            serde_json::from_str(&text).map_err(|e| Error::bad_args(format!("`parameters` is not valid JSON: {e}")))?
        }
        other => other,
    };
    if parameters["type"] != "object" {
        let example = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        return Err(Error::bad_args(format!("`parameters` must be a JSON Schema of type object, such as {example}")));
    }
    if parameters.to_string().len() > SCHEMA {
        return Err(Error::bad_args(format!("`parameters` is longer than {SCHEMA} bytes: simplify it")));
    }
    registry::check_schema(&parameters)?;
    Ok(parameters)
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
            (stored.status, stored.timeout_seconds, &stored.env_names[..]),
            (Status::Active, 60, &["API_KEY".to_owned()][..])
        );
        assert_eq!(env["API_KEY"], "s3cret-value");
        let (stored, _) = checked(Draft { enabled: Some(true), ..draft() }, Created::Llm).unwrap();
        assert_eq!((stored.status, stored.requires_approval), (Status::PendingApproval, true));
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
    fn a_patch_keeps_what_it_does_not_name() {
        let (old, env) = checked(draft(), Created::User).unwrap();
        let patch: Patch = serde_json::from_value(json!({"description": "New.", "env": {"MORE": "1"}})).unwrap();
        let (new, new_env) = patch.apply(&old, &env, false).unwrap();
        assert_eq!((new.version, &*new.description, &*new.command), (2, "New.", &*old.command));
        assert_eq!(new_env.keys().collect::<Vec<_>>(), ["API_KEY", "MORE"]);
        let patch: Patch = serde_json::from_value(json!({"env": {"API_KEY": null}})).unwrap();
        assert_eq!(patch.apply(&new, &new_env, false).unwrap().1.len(), 1);
        let patch: Patch = serde_json::from_value(json!({"requiresApproval": true})).unwrap();
        assert_eq!(patch.apply(&old, &env, false).unwrap().0.version, 1, "it does the same");
    }

    #[test]
    fn a_models_tool_waits_again_when_it_does_something_else() {
        let (pending, env) = checked(draft(), Created::Llm).unwrap();
        let old = Stored { status: Status::Active, ..pending };
        for (patch, by_admin, expected) in [
            (json!({"command": "dig {{domain}}"}), false, Status::PendingApproval),
            (json!({"command": "dig {{domain}}"}), true, Status::Active),
            (json!({"network": true}), false, Status::PendingApproval),
            (json!({"description": "x"}), false, Status::Active),
        ] {
            let patch: Patch = serde_json::from_value(patch).unwrap();
            let (new, _) = patch.apply(&old, &env, by_admin).unwrap();
            assert_eq!((new.status, new.requires_approval), (expected, true));
        }
    }
}
