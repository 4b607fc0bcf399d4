//! The tool `search_web`: a chain of providers, of which the first that answers counts.

mod brave;
mod duckduckgo;
mod query;
mod searxng;
mod settings;
mod tavily;

pub use settings::services;

use crate::{
    found::{Hit, Results},
    web::{WebTools, body, may_reach},
};
use http_client::{Fetch, Streamed};
use query::Query;
use settings::{Chain, Provider};
use std::{sync::Arc, time::Duration};
use text_kit::{counted, truncate};
use tool::{Label, prelude::*};
use url::Url;

/// How long one provider may take.
const TIMEOUT: Duration = Duration::from_secs(12);
/// How long a provider is left alone that said it was asked too often, at least and at most.
const REST: Duration = Duration::from_secs(60);
const LONGEST_REST: Duration = Duration::from_secs(600);
/// The longest query.
const QUERY: usize = 400;
/// How many results by default and at most.
pub(crate) const PAGE: (u32, u32) = (10, 20);

/// Search the web and return titles, addresses and snippets. fetch_web_page reads a page that was found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SearchWeb {
    /// What to search for.
    query: String,
    max_results: Option<u32>,
    /// Only pages of the last `day`, `week`, `month` or `year`, or from a date to another: `2026-01-01to2026-03-31`.
    #[serde(default)]
    freshness: Option<String>,
    /// Two letters of the country to search from, such as `DE`.
    #[serde(default)]
    country: Option<String>,
    /// Two letters of the language of the pages, such as `de`.
    #[serde(default)]
    language: Option<String>,
    /// Use what was found in the last 15 minutes (default true).
    #[serde(default = "yes")]
    use_cache: bool,
}

fn yes() -> bool {
    true
}

pub(crate) async fn search_web(tools: WebTools, cx: Cx, args: SearchWeb) -> Result<Output> {
    let settings = cx.ports().settings.clone();
    let chain = Chain::of(&*settings);
    let query = Query::of(&args, &chain)?;
    let key = format!("{} {query:?}", cx.user());
    let cached = if args.use_cache { tools.search().found.get(&key) } else { None };
    let is_cached = cached.is_some();
    let results = match cached {
        Some(results) => results,
        None => {
            let results = Arc::new(find(&tools, &cx, &chain, &query).await?);
            let size = results.hits.iter().map(|hit| hit.title.len() + hit.url.len() + hit.snippet.len() + 120).sum();
            tools.search().found.put(key, size, results.clone());
            results
        }
    };
    cx.taint(Label::Outside);
    for hit in &results.hits {
        cx.vouch_for(&hit.url);
    }
    output(&query, &results, is_cached)
}

fn output(query: &Query, results: &Results, is_cached: bool) -> Result<Output> {
    let mut content = json!({
        "query": query.text,
        "provider": results.provider,
        "count": results.hits.len(),
        "results": results.hits,
        "cached": is_cached,
    });
    if !results.ignored.is_empty() {
        content["ignored"] = json!(results.ignored);
    }
    if !results.failed.is_empty() {
        let failed = results.failed.iter().map(|(provider, reason)| json!({"provider": provider, "reason": reason}));
        content["failed"] = failed.collect();
    }
    let about = truncate(&query.text, 80);
    let sentence = match results.hits.as_slice() {
        [] => format!("I found nothing about “{about}”."),
        hits => {
            let lines = hits.iter().take(5).map(|hit| format!("- {}: {}", hit.title, hit.url));
            let lines = lines.collect::<Vec<_>>().join("\n");
            format!("I found {} about “{about}”:\n{lines}", counted(hits.len() as u64, "page"))
        }
    };
    Ok(Output::json(content)?.say(sentence).from_outside())
}

/// Asks one provider after the other.
async fn find(tools: &WebTools, cx: &Cx, chain: &Chain, query: &Query) -> Result<Results> {
    let mut failed: Vec<(&'static str, String)> = vec![];
    for provider in &chain.providers {
        let name = provider.kind.name();
        let asked = match tools.search().rest_of(name) {
            Some(left) => Err(format!("it was asked too often, and is left alone for {} s more", left.as_secs() + 1)),
            None => ask(tools, cx, provider, query).await,
        };
        match asked {
            Ok((mut hits, ignored)) => {
                hits.truncate(query.most);
                return Ok(Results { provider: name, hits, ignored, failed });
            }
            Err(reason) => failed.push((name, reason)),
        }
        if cx.cancel().is_cancelled() {
            return Err(Error::unavailable("the search was cancelled"));
        }
    }
    let reasons: Vec<String> = failed.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
    let reasons = if reasons.is_empty() { "none is switched on".to_owned() } else { reasons.join("; ") };
    Err(Error::unavailable(format!(
        "no search provider answered ({reasons}). A person can set up another under Services on the page: brave or tavily with \
         a key, or searxng with the address of a server"
    ))
    .say("I could not search the web: no search service answered. You can set one up under Services."))
}

/// The results of one provider, and the parameters it does not know; else the reason why there are none.
async fn ask(
    tools: &WebTools,
    cx: &Cx,
    provider: &Provider,
    query: &Query,
) -> Result<(Vec<Hit>, Vec<&'static str>), String> {
    let (fetch, ignored) = provider.request(query)?;
    let host = Url::parse(&fetch.url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    may_reach(cx, "search_web", &host).await.map_err(|error| error.to_string())?;
    // An address that a person entered is reached wherever it is.
    let web = match &provider.own_host {
        Some(own) => tools.web().allowing([own]),
        None => tools.web().clone(),
    };
    let text = match receive(cx, &web, fetch).await? {
        (200, text, _) => text,
        (429, _, rest) => {
            let rest = rest.map_or(REST, Duration::from_secs).clamp(REST, LONGEST_REST);
            tools.search().leave_alone(provider.kind.name(), rest);
            return Err("it was asked too often (429)".to_owned());
        }
        (status, ..) => return Err(provider.kind.explains(status)),
    };
    let (kind, base) = (provider.kind, provider.url.clone());
    let read = move || Ok(kind.read(&text, &base));
    let hits = tool::blocking("reading the results", read).await.map_err(|error| error.to_string())??;
    Ok((hits, ignored))
}

/// The status, the text and the wait that the server asks for, in seconds. No redirect is followed: a key goes nowhere else.
async fn receive(cx: &Cx, web: &http_client::Guarded, fetch: Fetch) -> Result<(u16, String, Option<u64>), String> {
    let streamed = tokio::select! {
        () = cx.cancel().cancelled() => return Err("the search was cancelled".to_owned()),
        streamed = web.stream_once(fetch, TIMEOUT) => streamed.map_err(|error| error.to_string())?,
    };
    match streamed {
        Streamed::Redirect { status, .. } => {
            Err(format!("it redirects ({status}): an admin can enter its final address"))
        }
        Streamed::Done(answer) => {
            let (status, rest) =
                (answer.status, answer.header("retry-after").and_then(|text| text.trim().parse().ok()));
            let content_type = answer.header("content-type").map(str::to_owned);
            let bytes = body(cx, answer).await.map_err(|error| error.to_string())?;
            Ok((status, html_text::decode(&bytes, content_type.as_deref()).text, rest))
        }
    }
}
