//! `hob tools` and `hob call`.

use super::{
    client::Client,
    terminal::{plain, put, width},
    wrap::wrap,
};
use anyhow::{Result, bail};
use http_client::Local;
use serde_json::{Value, json};
use std::io::IsTerminal;
use text_kit::percent_encode;

/// Columns of a tool's name in the list.
const NAME: usize = 26;
/// The largest list of tools without their details, in bytes.
const LONGEST: usize = 4 << 20;

/// Calls a tool and prints its result.
pub async fn call(client: &Client, tool: &str, arguments: Value, json: bool) -> Result<()> {
    let path = format!("/api/v1/tools/{}/execute", percent_encode(tool));
    let data = client.data("POST", &path, Some(json!({"arguments": arguments}))).await?;
    match (&data["result"], json) {
        (_, true) => put(format_args!("{data}\n"))?,
        (Value::String(text), false) => put(format_args!("{text}\n"))?,
        (result, false) => put(format_args!("{result:#}\n"))?,
    }
    Ok(())
}

/// Lists the tools that match all words of a query.
pub async fn list(client: &Client, query: &[String], json: bool) -> Result<()> {
    let query = query.join(" ");
    let path = format!("/api/v1/tools?query={}&details={json}", percent_encode(&query));
    let mut found = client.data("GET", &path, None).await?;
    let tools = found["tools"].take();
    if json {
        put(format_args!("{tools:#}\n"))?;
        return Ok(());
    }
    if !query.is_empty() && tools.as_array().is_none_or(Vec::is_empty) {
        bail!("no tool matches `{query}`: {}", suggestion(&found["similar"]));
    }
    let tools_found = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    if !query.is_empty() && tools_found.iter().all(|tool| tool["by"] == "meaning") && std::io::stderr().is_terminal() {
        eprintln!("no tool has `{query}` in its name or description; these come near:");
    }
    let width = width();
    for tool in tools_found {
        let about = tool["description"].as_str().unwrap_or_default();
        let (name, about) = (tool["name"].as_str().unwrap_or_default(), about.lines().next().unwrap_or_default());
        put(format_args!("{}\n", wrap(&format!("{name:<NAME$} {}", plain(about)), width, NAME + 1)))?;
    }
    Ok(())
}

/// The names of all tools, sorted; none where they cannot be read.
pub async fn names(socket: &Local) -> Vec<String> {
    let Ok(response) = socket.request("GET", "/api/v1/tools", None).await else { return vec![] };
    let Ok(bytes) = response.bytes(LONGEST).await else { return vec![] };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let tools = body["data"]["tools"].as_array().into_iter().flatten();
    let mut names: Vec<String> = tools.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Suggests names after a search that found no tool.
fn suggestion(similar: &Value) -> String {
    let names: Vec<String> =
        similar.as_array().into_iter().flatten().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => "`hob tools` lists all of them".to_owned(),
        [start @ .., last] if !start.is_empty() => format!("did you mean {} or {last}?", start.join(", ")),
        [one, ..] => format!("did you mean {one}?"),
    }
}
