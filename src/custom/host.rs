//! The host of a custom tool: authorises each operation again, whatever the JavaScript around it does.

use crate::{
    Created,
    record::Stored,
    secrets::{self, UsedSecrets},
};
use config_center::Required;
use futures::future::BoxFuture;
use http_client::{Fetch, Fetched, Guarded, MAX_REDIRECTS, Step, TIMEOUT};
use sandbox::Host;
use serde_json::{Map, Value, json};
use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Mutex;
use tool::{Consult, Cx, Label, Risk};

/// The host of one call; cheap to clone.
#[derive(Clone)]
pub(crate) struct ToolHost {
    cx: Cx,
    web: Guarded,
    network: bool,
    tool: Arc<Stored>,
    /// Whether the run was tainted before this call. A host named in the tool's code was chosen before that, so not
    /// by an attacker.
    tainted: bool,
    /// Whether a person must approve every host, because a model wrote the code.
    by_model: bool,
    fetched: Arc<AtomicBool>,
    /// Hosts approved during this call. Locked while a person is asked, so that they are asked once.
    allowed: Arc<Mutex<HashSet<String>>>,
    paused_before: Duration,
}

impl ToolHost {
    pub fn new(cx: Cx, web: Guarded, network: bool, tool: Arc<Stored>) -> Self {
        let (tainted, by_model) = (
            cx.label() != Label::Own && (!cx.bounds().by_word || cx.is_nested()) || cx.label() == Label::Outside,
            tool.life.created_by == Created::Llm,
        );
        let paused_before = cx.pause().total();
        let (fetched, allowed) = (Arc::default(), Arc::default());
        Self { cx, web, network, tool, tainted, by_model, fetched, allowed, paused_before }
    }

    /// `Outside` once the tool has fetched anything.
    pub fn label(&self) -> Label {
        if self.fetched.load(Ordering::Relaxed) { Label::Outside } else { Label::Own }
    }

    /// Check a host against the rules, and ask a person if they may not expect it. A page that they named themselves
    /// needs no approval. `redirected_by` is the host that redirected: a redirect within one host is allowed, and any
    /// other target is checked like a first request.
    async fn permit(&self, host: &str, fetch: &Fetch, redirected_by: Option<&str>) -> Result<(), String> {
        if redirected_by == Some(host) {
            return self.consult(host, false, String::new()).await;
        }
        let looks = is_get(&fetch.method) && fetch.body.is_none();
        let asked_for = looks && self.cx.knows(&fetch.url);
        let by_code = names_host(&self.tool.code, host);
        let named = by_code || asked_for;
        if self.is_service_host(host, by_code) || !(self.by_model || self.tainted && !named) {
            return self.consult(host, false, String::new()).await;
        }
        let mut allowed = self.allowed.lock().await;
        let (name, why) = (&self.tool.head.name, if self.tainted && !named { "strange" } else { "new" });
        let reason = match why {
            "strange" => format!(
                "this run has read content from outside, and `{host}` is no host that the code of `{name}` names: a person \
                 has to say yes to it"
            ),
            _ => {
                format!("a model wrote `{name}`, so a person must approve each host that it reaches: `{host}` is one")
            }
        };
        self.consult(host, !allowed.contains(host), reason).await?;
        allowed.insert(host.to_owned());
        Ok(())
    }

    /// Whether a person set up a service at this host and so expects requests to it. Several services can share a
    /// host, and an attacker may read requests there; so in a tainted run it must be the tool's own service, or a
    /// host named in its code.
    fn is_service_host(&self, host: &str, by_code: bool) -> bool {
        let services = secrets::services_at(host, &*self.cx.ports().settings);
        if !self.tainted || by_code {
            return !services.is_empty();
        }
        let declared = Required::parse_list(&self.tool.required_api_keys()).unwrap_or_default();
        declared.iter().any(|needed| services.contains(&needed.name))
    }

    async fn consult(&self, host: &str, ask: bool, reason: String) -> Result<(), String> {
        let name = &self.tool.head.name;
        let consult = Consult {
            tool: name.clone(),
            version: self.tool.life.version,
            action: "fetch",
            details: json!({ "host": host }),
            risk: Risk::Send,
            ask,
            about: format!("Let the tool {name} reach {host}."),
            reason,
        };
        self.cx.ports().ask.consult(self.cx.clone(), consult).await.map_err(|e| e.to_string())
    }

    /// The request with real secrets, or the reason to refuse them.
    fn unmasked(&self, masked: &Fetch, host: &str, used: &mut UsedSecrets) -> Result<Fetch, String> {
        let settings = &*self.cx.ports().settings;
        let mut real = |text: &str| secrets::unmask(text, &masked.url, host, settings, used);
        let headers = masked.headers.iter().map(|(name, value)| Ok((name.clone(), real(value)?)));
        let headers = headers.collect::<Result<_, String>>()?;
        let body = masked.body.as_deref().map(&mut real).transpose()?;
        Ok(Fetch { url: real(&masked.url)?, method: masked.method.clone(), headers, body })
    }

    /// Fetch for the tool. The request keeps its placeholders across redirects. Each target is permitted and unmasked
    /// like a first request, so approvals and keys stay with their host.
    async fn fetch(&self, input: &Value) -> Result<Value, String> {
        let mut masked = parse_request(input);
        let (mut used, mut left, mut redirected_by) = (UsedSecrets::default(), TIMEOUT, None::<String>);
        for _ in 0..=MAX_REDIRECTS {
            let host = self.web.check(&masked.url);
            if let Ok(host) = &host {
                self.permit(host, &masked, redirected_by.as_deref()).await?;
            }
            // Set before the response: even a failure reveals something from outside.
            self.fetched.store(true, Ordering::Relaxed);
            self.cx.taint(Label::Outside);
            let host = host.map_err(|e| used.masked(&e.to_string()))?;
            let request = self.unmasked(&masked, &host, &mut used)?;
            // Count network time only, not the wait for a person.
            let begun = Instant::now();
            let step = self.web.fetch_once(request, left).await.map_err(|e| used.masked(&e.to_string()))?;
            left = left.saturating_sub(begun.elapsed());
            match step {
                Step::Done(answer) => return Ok(response_json(&answer, &used)),
                Step::Redirect { status, location } => {
                    masked = redirected_request(masked, status, &location, &host, &used)?
                }
            }
            redirected_by = Some(host);
        }
        Err(used.masked(&http_client::Error::too_many_redirects(&masked).to_string()))
    }
}

/// Parse the tool's request, with placeholders for secrets.
fn parse_request(input: &Value) -> Fetch {
    let headers = input["headers"].as_object().into_iter().flatten();
    Fetch {
        url: input["url"].as_str().unwrap_or_default().to_owned(),
        method: input["method"].as_str().unwrap_or("GET").to_owned(),
        headers: headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect(),
        body: input["body"].as_str().map(str::to_owned),
    }
}

/// The response for the tool, with placeholders for repeated secrets.
fn response_json(answer: &Fetched, used: &UsedSecrets) -> Value {
    let headers: Map<String, Value> =
        answer.headers.iter().map(|(name, value)| (name.clone(), used.masked(value).into())).collect();
    json!({
        "status": answer.status,
        "statusText": answer.status_text,
        "headers": headers,
        "body": used.masked(&answer.text()),
        "url": used.masked(&answer.url),
    })
}

/// The next request after a redirect, still with placeholders. Keys never go to another origin: headers with one are
/// dropped, and a target URL with one is refused.
fn redirected_request(
    masked: Fetch,
    status: u16,
    location: &str,
    host: &str,
    used: &UsedSecrets,
) -> Result<Fetch, String> {
    let next = masked.redirected(status, &used.masked(location)).map_err(|e| used.masked(&e.to_string()))?;
    let mut fetch = next.fetch;
    if next.crosses_origin {
        if secrets::has_placeholder(&fetch.url) || used.is_in(&fetch.url) {
            return Err(format!(
                "`{host}` redirects to another host with a secret in the address, and a secret never follows a redirect to \
                 another host: ask that host directly, with a secret of its own"
            ));
        }
        fetch.headers.retain(|(_, value)| !secrets::has_placeholder(value));
    }
    Ok(fetch)
}

fn is_get(method: &str) -> bool {
    let method = method.trim();
    method.is_empty() || method.eq_ignore_ascii_case("GET")
}

/// Whether the code contains a host outside comments, and not as part of a longer name.
fn names_host(code: &str, host: &str) -> bool {
    if !code.contains(host) {
        return false;
    }
    let code = sandbox::without_comments(code);
    let goes_on = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    code.match_indices(host).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + host.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

impl Host for ToolHost {
    fn paused(&self) -> (Duration, bool) {
        let pause = self.cx.pause();
        (pause.total().saturating_sub(self.paused_before), pause.is_on())
    }

    fn operate(&self, op: &str, input: Value) -> BoxFuture<'static, Result<Value, String>> {
        let this = self.clone();
        match op {
            "fetch" if self.network => Box::pin(async move { this.fetch(&input).await }),
            "fetch" => Box::pin(async { Err("this tool has no permission `network`".to_owned()) }),
            "callTool" => Box::pin(async move {
                let name = input["name"].as_str().unwrap_or_default();
                let output = this.cx.call(name, input["args"].clone()).await.map_err(|e| e.to_string())?;
                Ok(output.content)
            }),
            other => {
                let text = format!("there is no operation `{other}`");
                Box::pin(async { Err(text) })
            }
        }
    }

    fn query(&self, op: &str, input: Value) -> Result<Value, String> {
        let settings = &*self.cx.ports().settings;
        let service = input["service"].as_str().unwrap_or_default();
        let label = input["entry"].as_str();
        let entries = || secrets::masked(service, settings).into_iter();
        let entry = || entries().find(|(name, _)| label.is_none_or(|wanted| wanted == name)).map(|(_, entry)| entry);
        match op {
            "listTools" => {
                let tools = self.cx.ports().dispatch.list(&self.cx);
                self.cx.taint(tools.iter().map(|t| t.label).fold(Label::Own, Label::max));
                let shown = |t: tool::ToolInfo| json!({"name": t.name, "description": t.description, "parameters": t.parameters});
                Ok(tools.into_iter().map(shown).collect())
            }
            "getApiKey" => Ok(entry().and_then(|mut e| e.remove("api_key")).unwrap_or_default()),
            "getServiceConfig" | "getConfigEntry" => Ok(entry().map_or(Value::Null, Value::Object)),
            "getConfigEntries" => {
                let labelled = |(label, mut entry): (String, Map<String, Value>)| {
                    entry.entry("label").or_insert(label.into());
                    Value::Object(entry)
                };
                Ok(entries().map(labelled).collect())
            }
            "getFieldValue" => {
                let field = input["field"].as_str().unwrap_or_default();
                Ok(entry().and_then(|mut e| e.remove(field)).unwrap_or_default())
            }
            other => Err(format!("there is no query `{other}`")),
        }
    }
}
