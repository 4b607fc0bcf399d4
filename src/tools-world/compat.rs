//! Calls of servers that speak OpenAI's format, in forms of their own: at the addresses that people entered, with their keys.

use crate::{
    api::Api,
    services::{OPENAI_COMPATIBLE, Setup},
};
use http_client::Guarded;
use std::time::Duration;
use text_kit::{join_and, truncate};
use tool::{Consult, prelude::*};

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The largest body of a request, and the longest text of an answer, in bytes.
const BODY: usize = 256 * 1024;
const ANSWER: usize = 48 * 1024;
const SAID: usize = 400;

/// The family of `openai_compat_call`.
pub fn family(web: Guarded) -> Family<impl Clone + Send + Sync + 'static> {
    Family::new("ai", "Call AI services by their interfaces.", web)
        .title("AI services")
        .category("ai")
        .tool("openai_compat_call", Risk::Send, openai_compat_call)
        .also_in(&["goclaw"])
        .synonyms(&[
            ("url", "endpoint"),
            ("path", "endpoint"),
            ("payload", "body"),
            ("request", "body"),
            ("data", "body"),
            ("provider", "service"),
            ("entry", "service"),
        ])
        .tags("openai compatible api endpoint llm embeddings completions rerank request")
        .example(json!({"endpoint": "/embeddings", "body": {"model": "nomic-embed-text", "input": "hello"}}))
        .timeout(PATIENCE + Duration::from_secs(10))
}

/// Call an endpoint of a server that speaks OpenAI's format, with a request body of any form. Only servers that an admin entered
/// in the service `openai_compatible` of the Config Center are called; the key is added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompatCall {
    /// Path below the server's address, such as /chat/completions or /embeddings; or a whole URL below it.
    endpoint: String,
    /// Request body (default: none, and the request is a GET).
    body: Option<serde_json::Map<String, Value>>,
    /// Label of the server's entry (default: the first).
    service: Option<String>,
}

async fn openai_compat_call(web: Guarded, cx: Cx, args: CompatCall) -> Result<Output> {
    let settings = cx.ports().settings.clone();
    let setup = Setup::labelled(&cx, OPENAI_COMPATIBLE, args.service.as_deref()).ok_or_else(|| {
        let known: Vec<String> = settings.entries(OPENAI_COMPATIBLE).into_iter().map(|(label, _)| format!("`{label}`")).collect();
        match (&args.service, known.is_empty()) {
            (Some(service), false) => {
                let service = truncate(service, 60);
                Error::not_found(format!("there is no server `{service}`: there are {}", join_and(&known)))
            }
            _ => Error::unavailable(format!(
                "no server is set up: an admin can enter its address and key in the service `{OPENAI_COMPATIBLE}` of the Config Center"
            )),
        }
    })?;
    let api = Api::new(&web, "the server", setup.text("base_url"), "")?.patient(PATIENCE);
    let path = api.path_of(&args.endpoint)?;
    let mut notes: Vec<&str> = vec![];
    let body = args.body.map(|mut body| {
        if body.get("stream") == Some(&true.into()) {
            body.insert("stream".to_owned(), false.into());
            notes.push("`stream` was set to false: the answer comes whole");
        }
        Value::Object(body)
    });
    if body.as_ref().is_some_and(|body| body.to_string().len() > BODY) {
        return Err(Error::bad_args(format!("`body` is larger than {} KB: send less at once", BODY / 1024)));
    }
    permit(&cx, api.host()).await?;
    let bearer = setup.text("api_key").map(|key| format!("Bearer {key}"));
    let headers: Vec<(&str, &str)> = bearer.as_deref().map(|key| ("authorization", key)).into_iter().collect();
    let answer = match &body {
        Some(body) => api.post(&cx, &path, body, &headers).await?,
        None => api.get(&cx, &path, &[], &headers).await?,
    };
    let mut content = json!({"status": answer.status, "endpoint": path});
    let text = answer.text().ok_or_else(|| {
        Error::failed(format!(
            "the server answered with {} bytes that are no text: this tool reads JSON and text",
            answer.length()
        ))
    })?;
    if !(200..300).contains(&answer.status) {
        let status = answer.status;
        return Err(Error::failed(format!(
            "the server answered with status {status}: {}",
            text_kit::plain_name(text, SAID)
        )));
    }
    if text.len() > ANSWER {
        notes.push("the answer is longer than 48 KB, and only its beginning is shown: ask for less");
    }
    // Read as JSON, small values take a hundred times their text.
    let start = &text[..text.floor_char_boundary(ANSWER)];
    content["response"] = match serde_json::from_str::<Value>(start) {
        Ok(json) if start.len() == text.len() => json,
        _ => start.into(),
    };
    if !notes.is_empty() {
        content["notes"] = json!(notes);
    }
    let said = content["response"]["choices"][0]["message"]["content"].as_str();
    let said = said.map_or_else(|| "The server has answered.".to_owned(), |text| truncate(text, SAID));
    Ok(Output { content, ..Output::default() }.from_outside().say(said))
}

/// Lets the rules decide whether this person may reach the host.
async fn permit(cx: &Cx, host: &str) -> Result<()> {
    let consult = Consult {
        tool: "openai_compat_call".to_owned(),
        version: 1,
        action: "fetch",
        details: json!({ "host": host }),
        risk: Risk::Send,
        ask: false,
        about: format!("Send a request to {host}."),
        reason: String::new(),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}
