//! Tools that manage command tools.

use crate::{CommandTools, Draft, Status};
use registry::authored::{Author, Authored, author_of, may_change, written};
use tool::{Label, prelude::*};

/// The family `commandTools`.
pub fn family(tools: CommandTools) -> Family<CommandTools> {
    Family::new("commandTools", "Define tools as a command with parameters, and manage them.", tools)
        .title("Command tools")
        .category("Dynamic Tools")
        .area(Area::Custom)
        .tool("create_command_tool", Risk::Execute, create)
        .own_area(Area::CodeExecute)
        .tags("define command template shell new tool parameters reusable")
        .confirm()
        .persists_instructions()
        .example(json!({
            "name": "count_words",
            "description": "Count the words of a file.",
            "parameters": {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]},
            "command": "wc -w -- {{file}}",
        }))
        .tool("list_command_tools", Risk::Observe, list)
        .tags("command templates shell tools mine own")
        .tool("delete_command_tool", Risk::Destroy, delete)
        .tags("remove command template tool")
        .confirm()
}

/// Define a reusable tool as a shell command, which runs in the sandbox. A person approves it before it can be used.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Create {
    /// Lower-case letters, digits and underscores.
    name: String,
    /// What it does, and when to use it.
    description: String,
    /// JSON Schema of its parameters (type object), as an object or JSON text.
    #[serde(default)]
    parameters: Value,
    /// The command for sh. {{name}} stands for the value of a parameter, which is passed as one word whatever is in it; each
    /// item of a list is a word.
    command: String,
    /// Folder it runs in; the workspace by default.
    working_dir: Option<String>,
    /// Time limit in seconds, 60 by default, 300 at most.
    timeout_seconds: Option<u32>,
    /// Whether it needs the internet.
    #[serde(default)]
    network: bool,
}

async fn create(tools: CommandTools, cx: Cx, args: Create) -> Result<Output> {
    let draft = Draft {
        name: args.name,
        description: args.description,
        parameters: args.parameters,
        command: args.command,
        working_dir: args.working_dir,
        timeout_seconds: args.timeout_seconds,
        network: args.network,
        ..Draft::default()
    };
    let made = tools.create(&cx, draft, author_of(&cx)).await?;
    Ok(written(&made.id, &made.name, (made.version, made.status)))
}

/// List the command tools of this Hob.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only with this status.
    status: Option<Status>,
}

async fn list(tools: CommandTools, cx: Cx, args: List) -> Result<Output> {
    let mut all = tools.list(&cx)?;
    all.retain(|tool| args.status.is_none_or(|status| status == tool.status));
    let shown: Vec<Value> = all
        .iter()
        .map(|t| {
            json!({"id": t.id, "name": t.name, "description": t.description, "command": t.command, "status": t.status,
                   "version": t.version, "createdBy": t.created_by, "usageCount": t.usage_count})
        })
        .collect();
    let names: Vec<&str> = all.iter().map(|t| t.name.as_str()).collect();
    let say = match names.len() {
        0 => "There are no command tools.".to_owned(),
        _ => format!("Command tools: {}.", names.join(", ")),
    };
    let label = all.iter().map(|t| t.label).fold(Label::Own, Label::max);
    Ok(Output { content: json!({"count": shown.len(), "tools": shown}), label, ..Output::default() }.say(say))
}

/// Delete a command tool permanently; needs confirm: true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// Its name.
    name: String,
    /// Must be true.
    #[serde(default)]
    confirm: bool,
}

async fn delete(tools: CommandTools, cx: Cx, args: Delete) -> Result<Value> {
    let tool = tools.named(&cx, &args.name)?;
    may_change(&cx, &tool, "delete")?;
    if !args.confirm {
        let note = format!("Deleting `{}` cannot be undone: call again with confirm: true.", args.name);
        return Ok(json!({"deleted": false, "requiresConfirmation": true, "note": note}));
    }
    tools.delete(&cx, &tool.value.id()).await?;
    Ok(json!({"deleted": true, "name": args.name}))
}
