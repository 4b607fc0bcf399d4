//! The tool `json_api`: a request whose answer is JSON, or a part of it.

use crate::{
    part::{Part, part},
    request::{CHARS, Method, fetch, sends},
    web::{WebTools, body, may_send, with_scheme},
};
use http_client::TIMEOUT;
use std::collections::BTreeMap;
use text_kit::{prefix, truncate};
use tool::prelude::*;
use url::Url;

/// Call a JSON API and return {status, ok, data}. `path` picks a part of a large answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonApi {
    /// http or https URL.
    url: String,
    /// GET (default), POST, PUT, PATCH or DELETE.
    #[serde(default)]
    method: Option<Method>,
    /// Parameters to add to the URL.
    #[serde(default)]
    params: BTreeMap<String, Value>,
    /// The body, sent as JSON.
    #[serde(default)]
    body: Value,
    /// Request headers by name.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The part of the answer to return, such as `items.0.name`.
    #[serde(default)]
    path: Option<String>,
}

pub(crate) async fn json_api(tools: WebTools, cx: Cx, args: JsonApi) -> Result<Output> {
    let mut headers = args.headers;
    let has = |headers: &BTreeMap<String, String>, wanted: &str| {
        headers.keys().any(|name| name.trim().eq_ignore_ascii_case(wanted))
    };
    if !has(&headers, "accept") {
        headers.insert("accept".into(), "application/json".into());
    }
    // A text may be JSON already; any other is a JSON string.
    let sent = match &args.body {
        Value::String(text) if !text.is_empty() => match serde_json::from_str::<Value>(text) {
            Ok(_) => args.body.clone(),
            Err(_) => json!(args.body.to_string()),
        },
        Value::String(_) => Value::Null,
        other => other.clone(),
    };
    if !sent.is_null() && !has(&headers, "content-type") {
        headers.insert("content-type".into(), "application/json".into());
    }
    let url = with_params(&args.url, &args.params)?;
    let fetch = fetch(&url, args.method, headers, sent)?;
    if sends(&fetch) {
        tools.web().check(&fetch.url)?;
        may_send(&cx, "json_api", &fetch).await?;
    }
    let reached = tools.reach(&cx, "json_api", fetch, TIMEOUT).await?;
    let answer = reached.answer;
    let (status, ok) = (answer.status, answer.is_success());
    let content_type = answer.header("content-type").map(str::to_owned);
    let bytes = body(&cx, answer).await?;
    let (kind, path) = (content_type.clone(), args.path.unwrap_or_default());
    let read = tool::blocking("reading the answer", move || {
        let text = html_text::decode(&bytes, kind.as_deref()).text;
        let found = part(&text, &path, CHARS * 3 / 2);
        Ok((truncate(text.trim(), 500), found))
    });
    let (start, found) = read.await?;
    let mut content = json!({"status": status, "ok": ok});
    match found {
        Ok(Ok(part)) => put(&mut content, part),
        Ok(Err(problem)) => content["error"] = problem.into(),
        Err(_) if start.is_empty() => content["data"] = Value::Null,
        Err(_) => {
            let kind = content_type.as_deref().map_or("no content type", |kind| prefix(kind, 60));
            content["error"] = format!("the answer is no JSON ({kind}): use http_request or fetch_web_page").into();
            content["text"] = start.into();
        }
    }
    Ok(Output::json(content)?.say(format!("The server answered {status}.")).from_outside())
}

/// A URL with more parameters; lists repeat theirs.
fn with_params(url: &str, params: &BTreeMap<String, Value>) -> Result<String> {
    if params.is_empty() {
        return Ok(url.to_owned());
    }
    let mut url = Url::parse(&with_scheme(url))
        .map_err(|_| Error::bad_args("`url` is not a URL: write it as https://host/path"))?;
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut pairs = url.query_pairs_mut();
    for (name, value) in params {
        match value {
            Value::Null => {}
            Value::Array(all) => {
                for one in all {
                    pairs.append_pair(name, &plain(one));
                }
            }
            one => {
                pairs.append_pair(name, &plain(one));
            }
        }
    }
    drop(pairs);
    Ok(url.into())
}

/// Puts a part into the result; the beginning of a large one as text.
fn put(content: &mut Value, part: Part) {
    let text = part.value.to_string();
    let start = prefix(&text, CHARS * 3 / 2);
    if part.is_whole && start.len() == text.len() {
        content["data"] = part.value;
        return;
    }
    content["text"] = start.into();
    content["truncated"] = true.into();
    let inside = if part.inside.is_empty() { String::new() } else { format!(" ({})", part.inside) };
    content["note"] =
        format!("This is the beginning of a large answer: call again with `path` for a part of it{inside}.").into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_go_into_the_url() {
        let params =
            BTreeMap::from([("a".into(), json!("x y")), ("b".into(), json!([1, true])), ("c".into(), json!(null))]);
        assert_eq!(with_params("a.org/p?q=1", &params).unwrap(), "https://a.org/p?q=1&a=x+y&b=1&b=true");
        assert!(with_params("a b", &params).is_err());
    }

    #[test]
    fn large_answers_are_cut_with_a_way_on() {
        let answer = |value: Value| {
            let mut content = json!({});
            put(&mut content, part(&value.to_string(), "", CHARS * 3 / 2).unwrap().unwrap());
            content
        };
        let content = answer(json!({"rows": vec!["x".repeat(100); 1000]}));
        assert!(content["note"].as_str().unwrap().contains("(`rows`)") && content["truncated"] == true, "{content}");
        assert_eq!(answer(json!([1])), json!({"data": [1]}));
    }
}
