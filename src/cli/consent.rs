//! Approvals at the terminal: asked in the middle of a chat, listed and answered later. Also why a call would be decided as it is.

use super::{
    answer::list_open,
    client::Client,
    input::{Asked, Input, Line},
    terminal::{has_person, plain, put},
};
use anyhow::Result;
use policy::Pattern;
use serde_json::{Value, json};
use text_kit::percent_encode;

/// An approval in three lines: the call, what it would do, why it is asked.
pub fn approval_text(approval: &Value) -> String {
    let text = |name: &str| approval[name].as_str().unwrap_or_default();
    let line = |name: &str| plain(text(name)).replace('\n', " ");
    let arguments = plain(&approval["arguments"].to_string());
    format!("{} {arguments}\n  {}\n  {}", line("tool"), line("about"), line("reason"))
}

/// Asks the person at the terminal and sends their decision; without a person, prints how to decide.
pub async fn ask_at_terminal(client: &Client, input: &mut Input, approval: &Value) -> Result<Asked> {
    let id = approval["id"].as_str().unwrap_or_default();
    input.screen.note(&format!("? {}", approval_text(approval)));
    if !has_person() {
        input.screen.note(&format!("  answer with `hob approve {id}` or `hob deny {id}`"));
        return Ok(Asked::Open);
    }
    let decision = loop {
        match input.read_answer("  [y]es, once · [a]lways with just these values · [n]o: ").await? {
            Line::Interrupted { .. } => return Ok(Asked::Interrupted),
            Line::End => {
                input.screen.note(&format!("  it stays open: answer with `hob approve {id}` or `hob deny {id}`"));
                return Ok(Asked::Open);
            }
            Line::Text(line) => match line.to_lowercase().as_str() {
                "y" | "yes" => break "allow_once",
                "a" | "always" => break "allow_always",
                "n" | "no" => break "deny",
                _ => {}
            },
        }
    };
    let pattern =
        if decision == "allow_always" { Pattern::exactly(&approval["arguments"]).to_json() } else { Value::Null };
    // Somebody else may have answered meanwhile; that is no failure of this chat.
    if let Err(error) = answer(client, id, decision, pattern, approval["nonce"].as_str()).await {
        input.screen.note(&format!("  {error:#}"));
    }
    Ok(Asked::Settled)
}

/// Decides an approval.
pub async fn answer(client: &Client, id: &str, decision: &str, pattern: Value, nonce: Option<&str>) -> Result<Value> {
    let path = format!("/api/v1/approvals/{}/decide", percent_encode(id));
    let mut body = json!({"decision": decision});
    if !pattern.is_null() {
        body["pattern"] = pattern;
    }
    if let Some(nonce) = nonce {
        body["nonce"] = nonce.into();
    }
    client.data("POST", &path, Some(body)).await
}

/// Lists open approvals.
pub async fn list(client: &Client, json: bool) -> Result<()> {
    list_open(client, "approvals", json, approval_text).await
}

/// Prints whether a call would be made, which rule decides, and what each rule says.
pub async fn explain(client: &Client, tool: &str, agent: Option<&str>, user: Option<&str>, json: bool) -> Result<()> {
    let asked = [("agent", agent), ("user", user)];
    let query: Vec<String> =
        asked.iter().filter_map(|(name, value)| Some(format!("{name}={}", percent_encode((*value)?)))).collect();
    let path = format!("/api/v1/tools/{}/explain?{}", percent_encode(tool), query.join("&"));
    let told = client.data("GET", &path, None).await?;
    if json {
        put(format_args!("{told:#}\n"))?;
        return Ok(());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (verdict, rule) = (text(&told["verdict"]), text(&told["rule"]));
    put(format_args!("{}: {verdict}, by the rule `{rule}`\n", text(&told["tool"])))?;
    let reason = text(&told["reason"]);
    if !reason.is_empty() {
        put(format_args!("{}\n", plain(&reason)))?;
    }
    put(format_args!("for {} through the agent {}:\n", text(&told["user"]), text(&told["agent"])))?;
    let trail = told["trail"].as_array().cloned().unwrap_or_default();
    let (silent, speaking): (Vec<&Value>, Vec<&Value>) = trail.iter().partition(|h| h["says"] == "does not apply");
    for heard in speaking {
        put(format_args!("  {:<24} {}\n", text(&heard["rule"]), text(&heard["says"])))?;
    }
    let silent: Vec<String> = silent.iter().map(|h| text(&h["rule"])).collect();
    put(format_args!("  {} others do not apply: {}\n", silent.len(), silent.join(", ")))?;
    Ok(())
}
