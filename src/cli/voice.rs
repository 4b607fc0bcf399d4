//! `hob voice`: which addresses may speak to Hob.

use super::{
    client::Client,
    terminal::{plain, put},
};
use anyhow::Result;
use serde_json::{Value, json};
use text_kit::percent_encode;

/// Lists the addresses, those that wait first.
pub async fn list(client: &Client, json: bool) -> Result<()> {
    let listed = client.data("GET", "/api/v1/voice/clients", None).await?;
    if json {
        put(format_args!("{:#}\n", listed["clients"]))?;
        return Ok(());
    }
    let clients = listed["clients"].as_array().map(Vec::as_slice).unwrap_or_default();
    for each in clients {
        let text = |field: &str| plain(each[field].as_str().unwrap_or_default());
        let status = match &*text("status") {
            "pending" => "waits: `hob voice approve` lets it speak".to_owned(),
            status => status.to_owned(),
        };
        let line = format!("{:<24} {:<24} {status}", text("address"), text("name"));
        put(format_args!("{}\n", line.trim_end()))?;
    }
    if clients.is_empty() {
        let voice = client.data("GET", "/api/v1/voice", None).await?;
        match voice["listensOn"].as_str() {
            Some(at) => put(format_args!("nobody has spoken yet: Hob listens on {}\n", plain(at)))?,
            None => put(format_args!(
                "Hob hears nobody: voice is open where the page is open to the network (`--listen 0.0.0.0:4620`), or where \
                 hob.toml has an address for [wyoming]\n"
            ))?,
        }
    }
    Ok(())
}

/// Approves or denies an address.
pub async fn decide(client: &Client, address: &str, status: &str, name: Option<String>) -> Result<()> {
    let mut body = json!({"status": status});
    if let Some(name) = name {
        body["name"] = Value::from(name);
    }
    let decided = client.data("PUT", &path(address), Some(body)).await?;
    let address = plain(decided["address"].as_str().unwrap_or_default());
    let sentence = if status == "approved" { "may speak to Hob now" } else { "may not speak to Hob" };
    put(format_args!("{address} {sentence}\n"))?;
    Ok(())
}

/// Forgets an address.
pub async fn remove(client: &Client, address: &str) -> Result<()> {
    client.data("DELETE", &path(address), None).await?;
    put(format_args!("{} is forgotten\n", plain(address)))?;
    Ok(())
}

fn path(address: &str) -> String {
    format!("/api/v1/voice/clients/{}", percent_encode(address))
}
