//! What a custom tool reaches: each operation is authorised here, whatever the JavaScript around it says.

use crate::secrets::{self, Used};
use futures::future::BoxFuture;
use http_client::{Fetch, Guarded};
use sandbox::Host;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use tool::{Cx, Label};

pub(crate) struct Reach {
    cx: Cx,
    web: Guarded,
    network: bool,
    /// The tool's code, where the run had read from outside before this call: it was written before that, so a host it
    /// names was not put there by a stranger.
    only_hosts_in: Option<String>,
    fetched: AtomicBool,
}

impl Reach {
    pub fn new(cx: Cx, web: Guarded, network: bool, code: &str) -> Self {
        let only_hosts_in = (cx.label() == Label::Outside).then(|| code.to_owned());
        Self { cx, web, network, only_hosts_in, fetched: AtomicBool::new(false) }
    }

    /// `Outside` once the tool has read anything from there.
    pub fn label(&self) -> Label {
        if self.fetched.load(Ordering::Relaxed) { Label::Outside } else { Label::Own }
    }

    /// The request with real secrets, or why they must not go there.
    fn request(&self, input: &Value) -> Result<(Fetch, Used), String> {
        let settings = &*self.cx.ports().settings;
        let url = input["url"].as_str().unwrap_or_default();
        let host = self.web.check(url).map_err(|e| e.to_string())?;
        let strange = |code: &String| !code.contains(&host) && !secrets::is_a_services_host(&host, settings);
        if self.only_hosts_in.as_ref().is_some_and(strange) {
            return Err(format!(
                "this run has read content from outside, so the tool may only fetch from hosts that its own code names, and \
                 `{host}` is none of them: ask for it in a new conversation"
            ));
        }
        let mut used = Used::default();
        let mut real = |text: &str| secrets::unmask(text, url, &host, settings, &mut used);
        let empty = Map::new();
        let headers = input["headers"].as_object().unwrap_or(&empty);
        let headers = headers
            .iter()
            .map(|(name, value)| Ok((name.clone(), real(value.as_str().unwrap_or_default())?)))
            .collect::<Result<_, String>>()?;
        let fetch = Fetch {
            url: real(url)?,
            method: input["method"].as_str().unwrap_or("GET").to_owned(),
            headers,
            body: input["body"].as_str().map(real).transpose()?,
        };
        Ok((fetch, used))
    }
}

impl Host for Reach {
    fn operate(&self, op: &str, input: Value) -> BoxFuture<'static, Result<Value, String>> {
        let (cx, web) = (self.cx.clone(), self.web.clone());
        match op {
            "fetch" if self.network => {
                // Marked before the answer is there: even a failure tells something about the outside.
                self.fetched.store(true, Ordering::Relaxed);
                cx.taint(Label::Outside);
                let request = self.request(&input);
                Box::pin(async move {
                    let (request, used) = request?;
                    let answer = web.fetch(request).await.map_err(|e| used.masked(&e.to_string()))?;
                    let headers: Map<String, Value> =
                        answer.headers.iter().map(|(name, value)| (name.clone(), used.masked(value).into())).collect();
                    Ok(json!({
                        "status": answer.status,
                        "statusText": answer.status_text,
                        "headers": headers,
                        "body": used.masked(&answer.text()),
                        "url": used.masked(&answer.url),
                    }))
                })
            }
            "fetch" => Box::pin(async { Err("this tool has no permission `network`".to_owned()) }),
            "callTool" => Box::pin(async move {
                let name = input["name"].as_str().unwrap_or_default();
                let output = cx.call(name, input["args"].clone()).await.map_err(|e| e.to_string())?;
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
        let entry = || settings.entry(service, label).map(|e| secrets::masked(service, e));
        match op {
            "listTools" => {
                let tools = self.cx.ports().dispatch.list(&self.cx);
                let shown = |t: tool::ToolInfo| json!({"name": t.name, "description": t.description, "parameters": t.parameters});
                Ok(tools.into_iter().map(shown).collect())
            }
            "getApiKey" => Ok(entry().and_then(|mut e| e.remove("api_key")).unwrap_or_default()),
            "getServiceConfig" | "getConfigEntry" => Ok(entry().map_or(Value::Null, Value::Object)),
            "getConfigEntries" => {
                let all = settings.entries(service).into_iter();
                Ok(all.map(|(_, e)| Value::Object(secrets::masked(service, e))).collect())
            }
            "getFieldValue" => {
                let field = input["field"].as_str().unwrap_or_default();
                Ok(entry().and_then(|mut e| e.remove(field)).unwrap_or_default())
            }
            other => Err(format!("there is no query `{other}`")),
        }
    }
}
