//! `hob token`: creates, lists and revokes API tokens.

use super::{
    client::Client,
    terminal::{plain, put},
};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use text_kit::{counted, percent_encode};

/// A token to create.
pub struct NewToken {
    pub name: String,
    pub role: &'static str,
    pub scope: Vec<String>,
    pub days: Option<u32>,
}

/// Creates a token and prints it.
pub async fn create(client: &Client, new: NewToken) -> Result<()> {
    let body = json!({"name": new.name, "role": new.role, "scope": new.scope, "expiresInDays": new.days});
    let created = client.data("POST", "/api/v1/tokens", Some(body)).await?;
    put(format_args!("{}\n", created["token"].as_str().unwrap_or_default()))?;
    eprintln!("this token is not shown again: keep it safe");
    Ok(())
}

/// Lists the tokens, newest first, without the tokens themselves.
pub async fn list(client: &Client, json: bool) -> Result<()> {
    let listed = client.data("GET", "/api/v1/tokens", None).await?;
    if json {
        put(format_args!("{:#}\n", listed["tokens"]))?;
        return Ok(());
    }
    let tokens = listed["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
    if tokens.is_empty() {
        put(format_args!("no tokens yet: `hob token new NAME` creates one\n"))?;
        return Ok(());
    }
    let header = ["ID", "NAME", "ROLE", "SCOPE", "CREATED", "LAST USED", "EXPIRES"].map(str::to_owned);
    let now = tool::Id::new().millis();
    let rows: Vec<[String; 7]> = [header].into_iter().chain(tokens.iter().map(|token| row(token, now))).collect();
    let widths: Vec<usize> =
        (0..7).map(|n| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or_default()).collect();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        put(format_args!("{}\n", cells.join("  ").trim_end()))?;
    }
    Ok(())
}

fn row(token: &Value, now: u64) -> [String; 7] {
    let text = |name: &str| plain(token[name].as_str().unwrap_or_default());
    let scope: Vec<&str> = token["scope"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let scope = if scope.is_empty() { "everything".to_owned() } else { plain(&scope.join(" ")) };
    let created = token["createdAt"].as_u64().map_or_else(String::new, |at| ago(at, now));
    let used = token["lastUsedAt"].as_u64().map_or_else(|| "never".to_owned(), |at| ago(at, now));
    let expires = match token["expiresAt"].as_u64() {
        None => "never".to_owned(),
        Some(at) if at <= now => "expired".to_owned(),
        Some(at) => format!("in {}", span(at - now)),
    };
    [text("id"), text("name"), text("role"), scope, created, used, expires]
}

fn ago(at: u64, now: u64) -> String {
    match now.saturating_sub(at) {
        0..60_000 => "just now".to_owned(),
        ms => format!("{} ago", span(ms)),
    }
}

/// A time in its largest unit.
fn span(ms: u64) -> String {
    match ms / 60_000 {
        0 => "less than a minute".to_owned(),
        minutes @ 1..60 => counted(minutes, "minute"),
        minutes @ 60..2_880 => counted(minutes / 60, "hour"),
        minutes => counted(minutes / 1_440, "day"),
    }
}

/// Revokes a token, given by its id or by a name that only one has.
pub async fn revoke(client: &Client, which: &str) -> Result<()> {
    let listed = client.data("GET", "/api/v1/tokens", None).await?;
    let tokens = listed["tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
    let with = |field: &str| -> Vec<&Value> { tokens.iter().filter(|token| token[field] == *which).collect() };
    let found = match with("id") {
        by_id if !by_id.is_empty() => by_id,
        _ => with("name"),
    };
    let token = match found[..] {
        [token] => token,
        [] => bail!("there is no token `{which}`: see `hob token list`"),
        _ => bail!("{} tokens are named `{which}`: revoke one by its id, see `hob token list`", found.len()),
    };
    let text = |name: &str| token[name].as_str().unwrap_or_default();
    client.data("DELETE", &format!("/api/v1/tokens/{}", percent_encode(text("id"))), None).await?;
    put(format_args!(
        "the token `{}` is revoked, and what was signed in with it is signed out\n",
        plain(text("name"))
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_row() {
        const HOUR: u64 = 3_600_000;
        let now = 100 * 24 * HOUR;
        let token = json!({"id": "i", "name": "door\u{1b}bell", "role": "member", "scope": ["chat", "tool:notify"],
            "createdAt": now - 72 * HOUR, "lastUsedAt": now - 90 * 60_000, "expiresAt": now + 48 * HOUR});
        assert_eq!(
            row(&token, now),
            ["i", "door\u{fffd}bell", "member", "chat tool:notify", "3 days ago", "1 hour ago", "in 2 days"]
        );
        let token = json!({"id": "i", "name": "n", "role": "admin", "scope": [], "createdAt": now, "lastUsedAt": null,
            "expiresAt": null});
        assert_eq!(row(&token, now), ["i", "n", "admin", "everything", "just now", "never", "never"]);
        let expired = json!({"expiresAt": now - 1});
        assert_eq!(row(&expired, now)[6], "expired");
    }
}
