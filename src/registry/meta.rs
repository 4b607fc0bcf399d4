//! The meta-tools: a model uses them to find and call hundreds of tools without being offered them all.

#[cfg(test)]
mod tests;

use crate::{Match, MatchedBy, Registry, Verdict, search::Query, validate};
use futures::future::join_all;
use serde_json::Map;
use std::{collections::BTreeMap, time::Duration};
use text_kit::truncate;
use tool::{Label, Start, Tool, prelude::*};

/// The tools that call others.
pub const CALLERS: [&str; 2] = [USE_TOOL, BATCH_USE_TOOL];
pub(crate) const USE_TOOL: &str = "use_tool";
pub(crate) const BATCH_USE_TOOL: &str = "batch_use_tool";

/// The most matches that are described; the others are only named.
const MATCHES: usize = 40;
/// How many of them come with their parameters unless the caller wants more or none.
const BEST: usize = 5;
/// How many tools a sentence for the person describes.
const TOLD: usize = 5;
/// The longest description in a list of all tools, in characters.
const SHORT: usize = 100;
/// The timeout of tools that call others: those have their own, and a person may be asked meanwhile.
const PATIENCE: Duration = Duration::from_secs(3600);
const BATCH: usize = 20;

pub(crate) fn family(registry: Registry) -> Family<Registry> {
    Family::new("system", "Find, understand and call any tool.", registry)
        .title("Finding tools")
        .start(Start::Always)
        .tool("search_tools", Risk::Observe, search)
        .meta()
        .everyday()
        .shows(&["query"])
        .tags("find discover list tools capabilities what can you do")
        .example(json!({"query": "email send"}))
        .tool("get_tool_help", Risk::Observe, get_help)
        .meta()
        .known()
        .tags("schema parameters usage explain")
        .example(json!({"tool_name": "remember"}))
        .tool(USE_TOOL, Risk::Observe, use_tool)
        .meta()
        .everyday()
        .tags("call run execute invoke")
        .example(json!({"tool_name": "calculate", "arguments": {"expression": "2 * 21"}}))
        .timeout(PATIENCE)
        .tool(BATCH_USE_TOOL, Risk::Observe, batch)
        .meta()
        .tags("call run execute several many parallel at once")
        .example(json!({"operations": [
            {"tool": "calculate", "args": {"expression": "2 * 21"}},
            {"tool": "get_current_datetime", "args": {}}
        ]}))
        .timeout(PATIENCE)
}

/// Find tools and their parameters by keywords, all of which must match; `all` lists every tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Keywords, a tool's name, or `all`.
    query: String,
    /// Only this category.
    category: Option<String>,
    /// Whether to give the parameters of each match, or of none. Default: of the best.
    include_params: Option<bool>,
}

async fn search(registry: Registry, cx: Cx, args: Search) -> Result<Output> {
    // Tools this caller may never call are left out; a group that is off can be turned on.
    let visible = |tool: &Tool| Registry::visible(&cx, tool) && (!tool.enabled || registry.may_ever(&cx, tool));
    let query: String = args.query.chars().take(crate::search::LONGEST).collect();
    let found = registry.search_by_meaning(&query, args.category.as_deref(), visible).await;
    // A list of everything describes each tool briefly.
    let everything = Query::new(&query).is_everything() && args.include_params != Some(true);
    let most = if everything { usize::MAX } else { MATCHES };
    let described: Vec<Value> = match everything && found.len() > MATCHES {
        true => found.iter().map(|m| briefly(&m.tool)).collect(),
        false => {
            // Beside matches of all words, those by meaning are a guess.
            let is_best = |at: usize, m: &Match| !everything && at < BEST && m.by == found[0].by;
            let shown = found.iter().take(MATCHES).enumerate();
            shown.map(|(at, m)| described(m, args.include_params.unwrap_or_else(|| is_best(at, m)))).collect()
        }
    };
    let mut content = json!({"count": found.len(), "tools": described});
    let mut more: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Match { tool, .. } in found.iter().skip(most) {
        more.entry(&tool.category).or_default().push(&tool.name);
    }
    if !more.is_empty() {
        content["more"] = json!(more);
    }
    let hint = match found.first() {
        None => "Nothing matches: use fewer or other words, or `all`.",
        Some(first) if first.by == MatchedBy::Meaning => "No tool has all the words; these mean something near.",
        Some(_) if !more.is_empty() => "`more` only names the others, by category.",
        Some(_) => "",
    };
    if !hint.is_empty() {
        content["hint"] = hint.into();
    }
    // People do not call tools by name: they read what these do.
    let does = |m: &Match| text_kit::first_sentence(m.tool.description()).trim_end_matches('.').to_owned();
    let first: Vec<String> = found.iter().take(TOLD).map(does).collect();
    let say = match found.len() {
        0 => "I have nothing for that.".to_owned(),
        n if everything => format!("I can do {n} different things. Say “help” for examples."),
        n => text_kit::listing("What I have for that", &first, text_kit::More::Count(n - first.len())),
    };
    // `more` has only the names of a stranger's tools, but the names are theirs too.
    let label = found.iter().map(|m| m.tool.label).fold(Label::Own, Label::max);
    Ok(Output { content, label, ..Output::default() }.say(say))
}

/// A tool in a list of all: its name and the first sentence of its description.
fn briefly(tool: &Tool) -> Value {
    let line = tool.description().lines().next().unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.');
    let mut shown = json!({"name": tool.name, "description": truncate(sentence, SHORT)});
    if !tool.enabled {
        shown["enabled"] = false.into();
    }
    shown
}

/// A match for a model, without tags.
fn described(Match { tool, by }: &Match, parameters: bool) -> Value {
    let mut shown = json!({"name": tool.name, "description": tool.description(), "by": by});
    if parameters {
        shown["parameters"] = tool.parameters().clone();
    }
    if !tool.enabled {
        shown["enabled"] = false.into();
        shown["group"] = json!(tool.off_by.as_ref().unwrap_or(&tool.group));
    }
    shown
}

/// Learn a tool's parameters, limits and examples before calling it with use_tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetHelp {
    /// The exact name.
    tool_name: String,
}

async fn get_help(registry: Registry, cx: Cx, args: GetHelp) -> Result<Output> {
    let tool = registry.find(&cx, &args.tool_name)?.entry.tool.clone();
    let mut help = help(&tool);
    // The decision about this caller, as far as it does not depend on the arguments.
    let (decision, _) = registry.explain(&cx, &tool, &json!({}));
    help["asksFirst"] = (decision.verdict == Verdict::Ask).into();
    match decision.verdict {
        Verdict::Allow => {}
        Verdict::Ask => help["asksBecause"] = decision.reason.into(),
        Verdict::Deny => help["denied"] = decision.reason.into(),
    }
    Ok(Output { content: help, label: tool.label, ..Output::default() })
}

/// Help on a tool: `name, description, parameters, usage, category, group, enabled, risk, requiresConfirmation,
/// timeoutSeconds`, and where there are any `defaults, examples, limits, callsPerMinute`.
pub fn help(tool: &Tool) -> Value {
    let mut help = json!({
        "name": tool.name,
        "description": tool.description(),
        "parameters": tool.parameters(),
        "usage": validate::expects(tool.parameters()),
        "category": tool.category,
        "group": tool.group,
        "enabled": tool.enabled,
        "risk": tool.risk,
        "requiresConfirmation": tool.requires_confirmation,
        "timeoutSeconds": tool.timeout.as_secs(),
    });
    let mut defaults = Map::new();
    for (name, field) in tool.parameters()["properties"].as_object().into_iter().flatten() {
        if let Some(default) = field.get("default") {
            defaults.insert(name.clone(), default.clone());
        }
    }
    if let Some(page) = tool.page {
        defaults.insert(page.parameter.into(), page.default.into());
        help["limits"] = json!({page.parameter: {"max": page.max, "default": page.default}});
    }
    if !defaults.is_empty() {
        help["defaults"] = Value::Object(defaults);
    }
    if let Some(calls) = tool.per_minute {
        help["callsPerMinute"] = calls.into();
    }
    let examples = match tool.examples.as_slice() {
        [] => example(tool.parameters()).into_iter().collect(),
        examples => examples.to_vec(),
    };
    if !examples.is_empty() {
        help["examples"] = examples.into();
    }
    help
}

/// Example arguments with the required fields, made from the schema; `None` where none match it.
fn example(parameters: &Value) -> Option<Value> {
    let example = sample("", parameters, 0);
    validate::schema_faults(parameters, &example).is_ok_and(|faults| faults.is_none()).then_some(example)
}

fn sample(name: &str, schema: &Value, depth: usize) -> Value {
    let first = |key: &str| schema[key].as_array().and_then(|all| all.first());
    if let Some(given) =
        schema.get("default").or_else(|| schema.get("const")).or_else(|| first("examples")).or_else(|| first("enum"))
    {
        return given.clone();
    }
    if let Some(branch) = first("anyOf").or_else(|| first("oneOf")).filter(|_| depth < 8) {
        return sample(name, branch, depth + 1);
    }
    let kind = schema["type"].as_str().or_else(|| first("type").and_then(Value::as_str));
    match kind {
        Some("string") => sample_text(name).into(),
        Some("integer") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.5.into()),
        Some("boolean") => true.into(),
        Some("null") => Value::Null,
        Some("array") if depth < 8 => vec![sample(name.trim_end_matches('s'), &schema["items"], depth + 1)].into(),
        Some("array") => Value::Array(vec![]),
        Some("object") if depth < 8 => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let field = |name: &str| (name.to_owned(), sample(name, &schema["properties"][name], depth + 1));
            Value::Object(required.map(field).collect())
        }
        Some("object") => json!({}),
        _ => sample_text(name).into(),
    }
}

/// A sample text for a field of this name.
fn sample_text(name: &str) -> String {
    let name = name.to_lowercase();
    let looks = [
        ("url", "https://example.org"),
        ("email", "someone@example.org"),
        ("date", "2026-01-30"),
        ("time", "2026-01-30T14:30:00"),
        ("path", "notes/today.md"),
        ("file", "notes/today.md"),
        ("expression", "2 * (3 + 4)"),
    ];
    match looks.iter().find(|(part, _)| name.contains(part)) {
        Some((_, text)) => (*text).to_owned(),
        None if name.is_empty() => "text".to_owned(),
        None => format!("the {}", name.replace('_', " ")),
    }
}

/// Call any tool by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Use {
    /// The exact name.
    tool_name: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Map<String, Value>,
}

async fn use_tool(registry: Registry, cx: Cx, args: Use) -> Result<Output> {
    if args.tool_name == USE_TOOL {
        return Err(Error::bad_args("use_tool cannot call itself: name the tool you want"));
    }
    call(&registry, &cx, &args.tool_name, Value::Object(args.arguments)).await
}

/// Calls a tool. An error that the caller can correct includes the tool's parameters, so that a model need not ask first: the
/// schema where the arguments are invalid, else one line.
async fn call(registry: &Registry, cx: &Cx, name: &str, args: Value) -> Result<Output> {
    let tool = registry.find(cx, name)?.entry.tool.clone();
    let result = cx.call(name, args).await;
    let parameters = match &result {
        Err(Error::BadArgs(_)) => tool.parameters().to_string(),
        Err(Error::NotFound(_) | Error::Failed(_) | Error::Unavailable(_)) => validate::expects(tool.parameters()),
        _ => return result,
    };
    result.map_err(|error| {
        cx.taint(tool.label);
        let text = format!("{}\nParameters of {}: {parameters}", error.message(), tool.name);
        error.with_message(text)
    })
}

/// Call several tools at once. They run at the same time, and each has its own outcome.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// The calls, 1 to 20: [{"tool": "add_task", "args": {"title": "…"}}, …].
    #[schemars(length(min = 1, max = 20))]
    operations: Vec<Operation>,
}

/// One call.
#[derive(Deserialize, JsonSchema)]
struct Operation {
    /// The exact name.
    #[serde(alias = "tool_name")]
    tool: Option<String>,
    /// Its arguments.
    #[serde(default, alias = "arguments")]
    #[schemars(with = "Map<String, Value>")]
    args: Value,
    /// Unknown fields, which are an error: otherwise arguments under a wrong name would be ignored.
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

async fn batch(registry: Registry, cx: Cx, args: Batch) -> Result<Output> {
    if args.operations.is_empty() || args.operations.len() > BATCH {
        return Err(Error::bad_args(format!("give 1 to {BATCH} operations at a time")));
    }
    let outcomes = join_all(args.operations.into_iter().map(|one| operation(&registry, &cx, one))).await;
    let label = outcomes.iter().map(|o| o.1).fold(Label::Own, Label::max);
    let outcomes: Vec<Value> = outcomes.into_iter().map(|o| o.0).collect();
    let worked = outcomes.iter().filter(|o| o["success"] == true).count();
    let content =
        json!({"count": outcomes.len(), "succeeded": worked, "failed": outcomes.len() - worked, "results": outcomes});
    let say = match outcomes.len() {
        1 => if worked == 1 { "The call worked." } else { "The call failed." }.to_owned(),
        all if worked == all => format!("All {all} calls worked."),
        all => format!("{worked} of {all} calls worked."),
    };
    Ok(Output { content, label, ..Output::default() }.say(say))
}

/// One call of a batch: `{tool, success, result}` or `{tool, success, error: {code, message}}`, and the label of the result.
async fn operation(registry: &Registry, cx: &Cx, one: Operation) -> (Value, Label) {
    let name = one.tool.unwrap_or_default();
    // Dispatch accepts JSON text too, so the name may be inside it.
    let inner = |args: &Value| {
        let args = crate::validate::normalise(USE_TOOL, args.clone()).unwrap_or_default();
        args["tool_name"].as_str().map(str::to_owned)
    };
    let result = if name.is_empty() {
        Err(Error::bad_args("`tool` is missing: give the name of the tool, and its arguments as `args`"))
    } else if let Some((field, _)) = one.rest.iter().next() {
        Err(Error::bad_args(format!("`{field}` is not known: give the name as `tool` and the arguments as `args`")))
    } else if name == BATCH_USE_TOOL || (name == USE_TOOL && inner(&one.args).as_deref() == Some(BATCH_USE_TOOL)) {
        Err(Error::bad_args("a batch cannot hold a batch: put its operations into this one"))
    } else {
        call(registry, cx, &name, one.args).await
    };
    match result {
        Ok(output) => {
            let mut outcome = json!({"tool": name, "success": true, "result": output.content});
            if let Some(corrected) = output.meta.get("corrected") {
                outcome["corrected"] = corrected.clone();
            }
            (outcome, output.label)
        }
        Err(error) => {
            let error = json!({"code": error.code(), "message": error.message()});
            (json!({"tool": name, "success": false, "error": error}), Label::Own)
        }
    }
}
