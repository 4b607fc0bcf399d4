//! What Hob asks, at the terminal: while talking, and afterwards; and why it decides as it does.

use super::{
    client::{Client, escaped},
    terminal::{plain, put},
};
use anyhow::Result;
use policy::Pattern;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal, Write};

/// What is asked, in lines: the call, what it would do, why it is asked.
fn approval_text(approval: &Value) -> String {
    let text = |name: &str| approval[name].as_str().unwrap_or_default();
    let line = |name: &str| plain(text(name)).replace('\n', " ");
    let arguments = plain(&approval["arguments"].to_string());
    format!("{} {arguments}\n  {}\n  {}", line("tool"), line("about"), line("reason"))
}

/// Asks the person at the terminal, and answers for them; without one says how it can be answered.
pub async fn ask_at_terminal(client: &Client, approval: &Value) -> Result<()> {
    let id = approval["id"].as_str().unwrap_or_default().to_owned();
    let mut err = std::io::stderr();
    let _ = writeln!(err, "? {}", approval_text(approval));
    if !(std::io::stdin().is_terminal() && err.is_terminal()) {
        let _ = writeln!(err, "  answer with `hob approve {id}` or `hob deny {id}`");
        return Ok(());
    }
    let decision = tokio::task::spawn_blocking(move || {
        loop {
            let _ = write!(std::io::stderr(), "  [y]es, once · [a]lways with just these values · [n]o: ");
            let _ = std::io::stderr().flush();
            let mut line = String::new();
            match std::io::stdin().lock().read_line(&mut line) {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Some("allow_once"),
                "a" | "always" => return Some("allow_always"),
                "n" | "no" => return Some("deny"),
                _ => {}
            }
        }
    });
    let Some(decision) = decision.await? else { return Ok(()) };
    // Somebody else may have answered meanwhile; that is told and no failure of this conversation.
    let pattern =
        if decision == "allow_always" { Pattern::exactly(&approval["arguments"]).to_json() } else { Value::Null };
    if let Err(error) = answer(client, &id, decision, pattern, approval["nonce"].as_str()).await {
        let _ = writeln!(err, "  {error:#}");
    }
    Ok(())
}

/// Answers a question.
pub async fn answer(client: &Client, id: &str, decision: &str, pattern: Value, nonce: Option<&str>) -> Result<Value> {
    let path = format!("/api/v1/approvals/{}/decide", escaped(id));
    let mut body = json!({"decision": decision});
    if !pattern.is_null() {
        body["pattern"] = pattern;
    }
    if let Some(nonce) = nonce {
        body["nonce"] = nonce.into();
    }
    client.data("POST", &path, Some(body)).await
}

/// Lists what waits for an answer.
pub async fn list(client: &Client, json: bool) -> Result<()> {
    let listed = client.data("GET", "/api/v1/approvals", None).await?;
    if json {
        put(format_args!("{:#}\n", listed["approvals"]))?;
        return Ok(());
    }
    let approvals = listed["approvals"].as_array().cloned().unwrap_or_default();
    for approval in &approvals {
        put(format_args!("{}  {}\n", approval["id"].as_str().unwrap_or_default(), approval_text(approval)))?;
    }
    if approvals.is_empty() {
        put(format_args!("nothing waits for an answer\n"))?;
    }
    Ok(())
}

/// Says whether a call would be made, which rule decides, and what each rule says.
pub async fn explain(client: &Client, tool: &str, agent: Option<&str>, user: Option<&str>, json: bool) -> Result<()> {
    let asked = [("agent", agent), ("user", user)];
    let query: Vec<String> =
        asked.iter().filter_map(|(name, value)| Some(format!("{name}={}", escaped((*value)?)))).collect();
    let path = format!("/api/v1/tools/{}/explain?{}", escaped(tool), query.join("&"));
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
