//! The family of web tools and what the policy knows of each.

use crate::{
    WebTools,
    json_api::json_api,
    page::fetch_web_page,
    request::http_request,
    search::{PAGE, search_web},
};
use std::time::Duration;
use tool::prelude::*;

/// Longer than the client waits, so that its own errors come first.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How many searches one person may make in a minute.
const SEARCHES: u32 = 20;

/// Names of parameters in other APIs.
const URL: &[(&str, &str)] = &[("uri", "url"), ("link", "url"), ("address", "url"), ("data", "body"), ("json", "body")];
const API: &[(&str, &str)] = &[
    ("uri", "url"),
    ("link", "url"),
    ("endpoint", "url"),
    ("data", "body"),
    ("json", "body"),
    ("payload", "body"),
    ("query", "params"),
    ("query_params", "params"),
    ("jsonPath", "path"),
];
const PAGE_OF: &[(&str, &str)] = &[
    ("uri", "url"),
    ("link", "url"),
    ("page", "url"),
    ("max_length", "maxChars"),
    ("maxLength", "maxChars"),
    ("limit", "maxChars"),
    ("mode", "extractMode"),
    ("format", "extractMode"),
    ("start_index", "offset"),
    ("raw", "fullPage"),
    ("extractLinks", "includeLinks"),
    ("extractTables", "includeTables"),
    ("cache", "useCache"),
];
const SEARCH: &[(&str, &str)] = &[
    ("q", "query"),
    ("text", "query"),
    ("count", "maxResults"),
    ("limit", "maxResults"),
    ("num_results", "maxResults"),
    ("numResults", "maxResults"),
    ("search_lang", "language"),
    ("lang", "language"),
    ("region", "country"),
    ("time_range", "freshness"),
    ("timeRange", "freshness"),
    ("recency", "freshness"),
    ("cache", "useCache"),
];

/// Tools for the web.
pub fn family(tools: WebTools) -> Family<WebTools> {
    Family::new("webFetch", "Search the web and fetch from it.", tools)
        .title("Web")
        .category("Web & API")
        .area(Area::NetworkRead)
        .tool("search_web", Risk::Observe, search_web)
        .also_in(&["web"])
        .alias("web_search")
        .synonyms(SEARCH)
        .page_by("maxResults", PAGE)
        .per_minute(SEARCHES)
        .timeout(TIMEOUT)
        .ability("look things up on the web")
        .shows(&["maxResults", "freshness"])
        .tags("google internet online find information lookup news bing brave duckduckgo tavily searxng")
        .example(json!({"query": "ferry timetable Lake Constance", "maxResults": 5, "freshness": "month"}))
        .tool("fetch_web_page", Risk::Observe, fetch_web_page)
        .also_in(&["web"])
        .alias("web_fetch")
        .synonyms(PAGE_OF)
        .timeout(TIMEOUT)
        .ability("look things up on the web")
        .shows(&["offset", "includeLinks"])
        .tags("read open website page article url link markdown text scrape extract tables browse")
        .example(json!({"url": "https://example.org/article"}))
        .tool("http_request", Risk::Observe, http_request)
        .alias("fetch_url")
        .synonyms(URL)
        .not_idempotent()
        .timeout(TIMEOUT)
        .ability("look things up on the web")
        .shows(&["method", "headers", "body"])
        .tags("http get post put patch delete head rest webhook curl fetch url download api call")
        .example(json!({"url": "https://example.org/status", "method": "GET"}))
        .tool("json_api", Risk::Observe, json_api)
        .synonyms(API)
        .not_idempotent()
        .timeout(TIMEOUT)
        .shows(&["method", "params", "body", "path"])
        .tags("rest json api http get post endpoint data query")
        .example(json!({"url": "https://example.org/api/items", "params": {"page": 1}, "path": "items.0.name"}))
}
