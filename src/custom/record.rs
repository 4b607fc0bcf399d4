//! The record of a custom tool, its view, draft and patch.

use registry::authored::{Authored, Created, Head, Life, Status, iso};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Coded, Entry, Key, Level, Record};
use tool::{
    Error, Label, Result,
    prelude::{JsonSchema, schemars},
};

/// The maximum length of code, in characters.
const CODE: usize = 50_000;
// Numbers in stored records; unknown ones map to the least privilege.
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
pub struct Stored {
    pub head: Head,
    pub code: String,
    pub category: Option<String>,
    #[serde(with = "store::coded::many")]
    pub permissions: Vec<Permission>,
    pub life: Life,
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
        self.head.keys()
    }
}

impl Authored for Stored {
    const PREFIX: &'static str = "tool_";
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
    /// The services whose keys it needs.
    pub fn required_api_keys(&self) -> Value {
        json_or_null(&self.required_api_keys)
    }
}

fn json_or_null(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
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

impl From<Entry<Stored>> for CustomTool {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        let (id, parameters) = (s.id(), s.head.parameters());
        let last_used_at = s.life.last_used_at();
        let metadata = Some(json_or_null(&s.metadata)).filter(|v| !v.is_null());
        let required_api_keys = Some(s.required_api_keys()).filter(|v| !v.is_null());
        Self {
            label: e.label,
            id,
            user_id: e.owner.to_string(),
            parameters,
            name: s.head.name,
            description: s.head.description,
            code: s.code,
            category: s.category,
            status: s.life.status,
            permissions: s.permissions,
            requires_approval: s.life.requires_approval,
            created_by: s.life.created_by,
            version: s.life.version,
            usage_count: s.life.usage_count,
            last_used_at,
            created_at: iso(e.id.millis()),
            updated_at: iso(e.updated_ms),
            metadata,
            required_api_keys,
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
            name: self.name.unwrap_or_else(|| old.head.name.clone()),
            description: self.description.unwrap_or_else(|| old.head.description.clone()),
            parameters: self.parameters.unwrap_or_else(|| old.head.parameters()),
            code: self.code.unwrap_or_else(|| old.code.clone()),
            category: self.category.or_else(|| old.category.clone()),
            permissions: self.permissions.unwrap_or_else(|| old.permissions.clone()),
            requires_approval: self.requires_approval.or(Some(old.life.requires_approval)),
            metadata: self.metadata.unwrap_or_else(|| json_or_null(&old.metadata)),
            required_api_keys: self.required_api_keys.unwrap_or_else(|| old.required_api_keys()),
        };
        let new = checked(draft, old.life.created_by)?;
        let changed = new.code != old.code || new.head.parameters() != old.head.parameters();
        let waits = new.life.status == Status::PendingApproval
            && (new.code != old.code || new.permissions != old.permissions)
            && !by_admin;
        Ok(Stored {
            head: Head { handle: old.head.handle, ..new.head },
            life: old.life.changed(&new.life, changed, waits),
            ..new
        })
    }
}

/// Validate a draft and make it version 1.
pub(crate) fn checked(draft: Draft, by: Created) -> Result<Stored> {
    let head = Head::checked(Stored::WORD, draft.name, &draft.description, draft.parameters)?;
    match draft.code.trim().chars().count() {
        0 => return Err(Error::bad_args("`code` is empty: every tool needs one")),
        n if n > CODE => {
            return Err(Error::bad_args(format!("`code` has {n} characters, and the maximum is {CODE}")));
        }
        _ => {}
    }
    check_code(&draft.code)?;
    let dangerous = draft.permissions.iter().any(|p| p.is_dangerous());
    let waits = by == Created::Llm && dangerous;
    let optional = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
    Ok(Stored {
        head,
        code: draft.code,
        category: draft.category.filter(|c| !c.trim().is_empty()),
        permissions: draft.permissions,
        life: Life::new(by, if waits { Status::PendingApproval } else { Status::Active }, draft.requires_approval),
        metadata: optional(&draft.metadata),
        required_api_keys: optional(&draft.required_api_keys),
    })
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
