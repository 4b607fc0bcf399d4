//! Tools that manage custom tools.

use crate::{Change, CustomTools, Draft, Permission, Status};
use registry::authored::{Author, Authored, author_of, may_change, written};
use tool::prelude::*;

/// The family `custom`.
pub fn family(tools: CustomTools) -> Family<CustomTools> {
    Family::new("customTools", "Write tools in JavaScript and manage them.", tools)
        .title("Tool making")
        .category("Dynamic Tools")
        .area(Area::Custom)
        .tool("create_tool", Risk::Execute, create)
        .own_area(Area::CodeExecute)
        .tags("write program javascript new custom function automate code")
        .confirm()
        .persists_instructions()
        .tool("list_custom_tools", Risk::Observe, list)
        .alias_with("list_tools", |args| replace_switch(args, "include_disabled", "status", "active"))
        .tags("mine own written javascript")
        .tool("toggle_custom_tool", Risk::Execute, toggle)
        .alias_with("enable_tool", |args| with_arg(args, "enabled", true))
        .alias_with("disable_tool", |args| with_arg(args, "enabled", false))
        .tags("enable disable switch activate")
        .persists_instructions()
        .tool("delete_custom_tool", Risk::Destroy, delete)
        .alias("delete_tool")
        .tags("remove drop")
        .confirm()
}

/// Add an argument unless it is present.
fn with_arg(mut args: Value, name: &str, value: impl Into<Value>) -> Value {
    if let Some(args) = args.as_object_mut() {
        args.entry(name).or_insert(value.into());
    }
    args
}

/// Remove a switch from the arguments, and add an argument when it was off.
fn replace_switch(mut args: Value, switch: &str, name: &str, value: &str) -> Value {
    let set = args.as_object_mut().and_then(|args| args.remove(switch)).is_some_and(|on| on == true || on == "true");
    if set { args } else { with_arg(args, name, value) }
}

/// Create a reusable tool in JavaScript when no existing tool fits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// Lower-case letters, digits and underscores.
    name: String,
    /// Description for models.
    description: String,
    /// JSON Schema of its parameters (type object), as an object or JSON text.
    parameters: Option<Value>,
    /// Alias of `parameters`.
    parameter_schema: Option<Value>,
    /// Body of an async function: read `args`, `return` the result. `utils` has helpers; `fetch` needs the permission
    /// network.
    code: String,
    /// Category.
    category: Option<String>,
    /// Permissions it needs.
    #[serde(default)]
    permissions: Vec<Permission>,
    /// Services whose API keys it needs: [{"name": …}].
    required_api_keys: Option<Vec<Value>>,
}

async fn create(tools: CustomTools, cx: Cx, args: Create) -> Result<Output> {
    let parameters = args
        .parameters
        .or(args.parameter_schema)
        .ok_or_else(|| Error::bad_args("`parameters` is missing: give a JSON Schema of type object"))?;
    let draft = Draft {
        name: args.name,
        description: args.description,
        parameters,
        code: args.code,
        category: args.category,
        permissions: args.permissions,
        required_api_keys: args.required_api_keys.map_or(Value::Null, Value::from),
        ..Draft::default()
    };
    let made = tools.create(&cx, draft, author_of(&cx)).await?;
    Ok(written(&made.id, &made.name, (made.version, made.status)))
}

/// List the custom tools of this Hob.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only this category.
    category: Option<String>,
    /// Only with this status.
    status: Option<Status>,
}

async fn list(tools: CustomTools, cx: Cx, args: List) -> Result<Output> {
    let all = tools.list(&cx)?;
    let stats = crate::Stats::of(&all);
    let matches = || {
        all.iter()
            .filter(|t| args.status.is_none_or(|s| s == t.status))
            .filter(|t| args.category.as_ref().is_none_or(|c| t.category.as_ref() == Some(c)))
    };
    let shown: Vec<Value> = matches()
        .map(|t| {
            json!({"id": t.id, "name": t.name, "description": t.description, "status": t.status,
                   "enabled": t.status == Status::Active, "version": t.version, "category": t.category,
                   "createdBy": t.created_by, "usageCount": t.usage_count})
        })
        .collect();
    let say = match shown.len() {
        0 => "There are no custom tools.".to_owned(),
        _ => format!("Custom tools: {}.", all.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let counts = json!({"total": stats.total, "active": stats.active, "pendingApproval": stats.pending_approval});
    let label = matches().map(|t| t.label).fold(tool::Label::Own, tool::Label::max);
    Ok(Output { content: json!({"tools": shown, "stats": counts}), label, ..Output::default() }.say(say))
}

/// Enable or disable a custom tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Toggle {
    /// Its name.
    name: String,
    /// True to enable.
    enabled: bool,
}

async fn toggle(tools: CustomTools, cx: Cx, args: Toggle) -> Result<Value> {
    let tool = tools.named(&args.name)?;
    may_change(&cx, &tool, "switch")?;
    let change = if args.enabled { Change::Enable } else { Change::Disable };
    let tool = tools.set_status(&cx, &tool.value.id(), change).await?;
    Ok(json!({"name": tool.name, "enabled": tool.status == Status::Active, "status": tool.status}))
}

/// Delete a custom tool permanently; needs confirm: true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// Its name.
    name: String,
    /// Must be true.
    #[serde(default)]
    confirm: bool,
}

async fn delete(tools: CustomTools, cx: Cx, args: Delete) -> Result<Value> {
    let tool = tools.named(&args.name)?;
    may_change(&cx, &tool, "delete")?;
    if !args.confirm {
        let note = format!("Deleting `{}` cannot be undone: call again with confirm: true.", args.name);
        return Ok(json!({"deleted": false, "requiresConfirmation": true, "note": note}));
    }
    tools.delete(&cx, &tool.value.id()).await?;
    Ok(json!({"deleted": true, "name": args.name}))
}
