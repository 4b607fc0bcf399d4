//! The record of a custom tool, its view, draft and patch.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Coded, Entry, Key, Level, Record};
use tool::{
    Error, Id, Label, Result,
    prelude::{JsonSchema, schemars},
};

/// The maximum length of code, in characters.
const CODE: usize = 50_000;
/// The maximum length of a description, in characters.
const DESCRIPTION: usize = 2_000;
/// The maximum size of a parameter schema, in bytes of JSON.
const SCHEMA: usize = 32 * 1024;

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
    /// Created by a model with a dangerous permission; a person must review it.
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
impl Coded for Permission {
    const ALL: &'static [Self] = &[
        Permission::Network,
        Permission::Filesystem,
        Permission::Database,
        Permission::Shell,
        Permission::Email,
        Permission::Scheduling,
    ];
    // The value that always needs approval and grants nothing.
    const UNKNOWN: Self = Permission::Shell;
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

/// A permission of a tool. Only `network` has an effect so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// `fetch`.
    Network,
    /// Files of the workspace.
    Filesystem,
    /// Custom tables.
    Database,
    /// Shell commands.
    Shell,
    /// Sending mail.
    Email,
    /// Making schedules.
    Scheduling,
}

impl Permission {
    /// Whether a model's tool with it needs a person's approval.
    fn is_dangerous(self) -> bool {
        matches!(self, Permission::Filesystem | Permission::Shell | Permission::Email)
    }
}

/// The stored record. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The 8 bytes of `tool_<16 hex digits>`.
    pub handle: [u8; 8],
    pub name: String,
    pub description: String,
    /// JSON text.
    pub parameters: String,
    pub code: String,
    pub category: Option<String>,
    #[serde(with = "store::coded::many")]
    pub permissions: Vec<Permission>,
    #[serde(with = "store::coded")]
    pub status: Status,
    pub requires_approval: bool,
    #[serde(with = "store::coded")]
    pub created_by: Created,
    pub version: u32,
    pub usage_count: u32,
    /// Milliseconds since 1970; 0 means never.
    pub last_used_ms: u64,
    /// JSON text; empty means none.
    pub metadata: String,
    /// JSON text; empty means none.
    pub required_api_keys: String,
}

impl Record for Stored {
    const NAME: &'static str = "custom-tools";
    const WORD: &'static str = "custom tool";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.name), Key::unique(2, self.handle)]
    }
}

impl Stored {
    /// The parameter schema, validated before it was stored.
    pub fn parameters(&self) -> Value {
        json_or_null(&self.parameters)
    }
    /// The services whose keys it needs.
    pub fn required_api_keys(&self) -> Value {
        json_or_null(&self.required_api_keys)
    }
    /// The permanent id, independent of the name.
    pub fn id(&self) -> String {
        format!("tool_{:016x}", u64::from_be_bytes(self.handle))
    }
}

fn json_or_null(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Parse the handle in an id such as `tool_0123456789abcdef`.
pub(crate) fn handle_of(id: &str) -> Option<[u8; 8]> {
    let digits = id.strip_prefix("tool_").filter(|d| d.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(u64::to_be_bytes)
}

/// The view of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomTool {
    /// `tool_` and 16 hex digits.
    pub id: String,
    /// Its owner.
    pub user_id: String,
    /// Its name.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// Its parameters, as JSON Schema.
    pub parameters: Value,
    /// Its JavaScript.
    pub code: String,
    /// Its category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Its status.
    pub status: Status,
    /// Its permissions.
    pub permissions: Vec<Permission>,
    /// Whether each call needs a person's approval.
    pub requires_approval: bool,
    /// Its author.
    pub created_by: Created,
    /// Incremented by each change of code or parameters.
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
    /// Free metadata of its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The services whose keys it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_api_keys: Option<Value>,
    /// Its label; not serialized.
    #[serde(skip)]
    pub label: Label,
}

fn iso(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.unwrap_or_default().to_string()
}

impl From<Entry<Stored>> for CustomTool {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        Self {
            label: e.label,
            id: s.id(),
            user_id: e.owner.to_string(),
            parameters: s.parameters(),
            name: s.name,
            description: s.description,
            code: s.code,
            category: s.category,
            status: s.status,
            permissions: s.permissions,
            requires_approval: s.requires_approval,
            created_by: s.created_by,
            version: s.version,
            usage_count: s.usage_count,
            last_used_at: (s.last_used_ms > 0).then(|| iso(s.last_used_ms)),
            created_at: iso(e.id.millis()),
            updated_at: iso(e.updated_ms),
            metadata: Some(json_or_null(&s.metadata)).filter(|v| !v.is_null()),
            required_api_keys: Some(json_or_null(&s.required_api_keys)).filter(|v| !v.is_null()),
        }
    }
}

/// A new tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Lower case, digits and underscores; begins with a letter.
    pub name: String,
    /// Its description for models.
    pub description: String,
    /// A JSON Schema of `type: "object"`.
    pub parameters: Value,
    /// The body of an async function of `args`.
    pub code: String,
    /// Its category.
    #[serde(default)]
    pub category: Option<String>,
    /// Its permissions.
    #[serde(default)]
    pub permissions: Vec<Permission>,
    /// Whether each call needs a person's approval.
    #[serde(default)]
    pub requires_approval: Option<bool>,
    /// Free metadata of its author.
    #[serde(default)]
    pub metadata: Value,
    /// The services whose keys it needs.
    #[serde(default)]
    pub required_api_keys: Value,
}

/// A patch of a tool; absent fields stay.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Patch {
    pub name: Option<String>,
    pub description: Option<String>,
    pub parameters: Option<Value>,
    pub code: Option<String>,
    pub category: Option<String>,
    pub permissions: Option<Vec<Permission>>,
    pub requires_approval: Option<bool>,
    pub metadata: Option<Value>,
    pub required_api_keys: Option<Value>,
}

impl Patch {
    /// Apply the patch and validate the result like a new tool. A model's tool waits for approval again when a person
    /// who is not an admin gives it new code or permissions.
    pub(crate) fn apply(self, old: &Stored, by_admin: bool) -> Result<Stored> {
        let draft = Draft {
            name: self.name.unwrap_or_else(|| old.name.clone()),
            description: self.description.unwrap_or_else(|| old.description.clone()),
            parameters: self.parameters.unwrap_or_else(|| old.parameters()),
            code: self.code.unwrap_or_else(|| old.code.clone()),
            category: self.category.or_else(|| old.category.clone()),
            permissions: self.permissions.unwrap_or_else(|| old.permissions.clone()),
            requires_approval: self.requires_approval.or(Some(old.requires_approval)),
            metadata: self.metadata.unwrap_or_else(|| json_or_null(&old.metadata)),
            required_api_keys: self.required_api_keys.unwrap_or_else(|| old.required_api_keys()),
        };
        let new = checked(draft, old.created_by)?;
        let changed = new.code != old.code || new.parameters() != old.parameters();
        let waits = new.status == Status::PendingApproval
            && (new.code != old.code || new.permissions != old.permissions)
            && !by_admin;
        Ok(Stored {
            handle: old.handle,
            status: if waits { Status::PendingApproval } else { old.status },
            version: old.version + u32::from(changed),
            usage_count: old.usage_count,
            last_used_ms: old.last_used_ms,
            ..new
        })
    }
}

/// Validate a draft and make it version 1.
pub(crate) fn checked(draft: Draft, by: Created) -> Result<Stored> {
    check_name(&draft.name)?;
    let length = |what: &str, text: &str, most: usize| match text.chars().count() {
        0 => Err(Error::bad_args(format!("`{what}` is empty: every tool needs one"))),
        n if n > most => Err(Error::bad_args(format!("`{what}` has {n} characters, and the maximum is {most}"))),
        _ => Ok(()),
    };
    length("description", draft.description.trim(), DESCRIPTION)?;
    length("code", draft.code.trim(), CODE)?;
    let parameters = check_parameters(draft.parameters)?;
    check_code(&draft.code)?;
    let dangerous = draft.permissions.iter().any(|p| p.is_dangerous());
    let optional = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    let mut handle = [0; 8];
    handle.copy_from_slice(&Id::new().as_bytes()[8..]);
    Ok(Stored {
        handle,
        name: draft.name,
        description: draft.description.trim().to_owned(),
        parameters: parameters.to_string(),
        code: draft.code,
        category: draft.category.filter(|c| !c.trim().is_empty()),
        permissions: draft.permissions,
        status: if by == Created::Llm && dangerous { Status::PendingApproval } else { Status::Active },
        requires_approval: draft.requires_approval.unwrap_or(by == Created::Llm) || by == Created::Llm,
        created_by: by,
        version: 1,
        usage_count: 0,
        last_used_ms: 0,
        metadata: optional(&draft.metadata),
        required_api_keys: optional(&draft.required_api_keys),
    })
}

fn check_name(name: &str) -> Result<()> {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::bad_args(format!(
        "`{shown}` cannot be a custom tool's name: begin with a lower-case letter, then lower-case letters, digits and \
         underscores, 64 at most"
    )))
}

/// The schema as an object; JSON text is parsed.
fn check_parameters(parameters: Value) -> Result<Value> {
    let parameters = match parameters {
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

/// Reject code with patterns that cannot work in the sandbox.
pub(crate) fn check_code(code: &str) -> Result<()> {
    let Err(forbidden) = sandbox::validate(code) else { return Ok(()) };
    let told: Vec<String> =
        forbidden.iter().take(5).map(|f| format!("line {}: `{}` ({})", f.line, f.pattern, f.why)).collect();
    Err(Error::bad_args(format!("the code contains forbidden patterns: {}", told.join("; "))))
}

/// Counts of tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Stats {
    pub total: usize,
    pub active: usize,
    pub disabled: usize,
    pub pending_approval: usize,
    #[serde(rename = "createdByLLM")]
    pub created_by_llm: usize,
    pub created_by_user: usize,
    pub total_usage: u64,
}

impl Stats {
    pub(crate) fn of(tools: &[CustomTool]) -> Self {
        let status = |s| tools.iter().filter(|t| t.status == s).count();
        let by = |c| tools.iter().filter(|t| t.created_by == c).count();
        Self {
            total: tools.len(),
            active: status(Status::Active),
            disabled: status(Status::Disabled),
            pending_approval: status(Status::PendingApproval),
            created_by_llm: by(Created::Llm),
            created_by_user: by(Created::User),
            total_usage: tools.iter().map(|t| u64::from(t.usage_count)).sum(),
        }
    }
}
