//! The search API of SearXNG servers.

use super::{
    query::{Freshness, Query},
    settings::below,
};
use crate::found::Hit;
use http_client::Fetch;
use serde_json::Value;
use url::Url;

pub(super) fn request(base: &Url, query: &Query) -> Result<(Fetch, Vec<&'static str>), String> {
    let mut ignored = vec![];
    let mut url = below(base, "/search")?;
    let mut pairs = url.query_pairs_mut();
    pairs.append_pair("q", &query.text).append_pair("format", "json").append_pair("categories", "general");
    match (&query.language, &query.country) {
        (Some(language), Some(country)) => {
            pairs.append_pair("language", &format!("{language}-{country}"));
        }
        (Some(language), None) => {
            pairs.append_pair("language", language);
        }
        (None, Some(_)) => ignored.push("country"),
        (None, None) => {}
    }
    match query.freshness {
        // Two dates cannot be said.
        Some(Freshness::Between(..)) => ignored.push("freshness"),
        Some(freshness) => {
            pairs.append_pair("time_range", freshness.word().unwrap_or_default());
        }
        None => {}
    }
    drop(pairs);
    let headers = vec![("accept".to_owned(), "application/json".to_owned())];
    Ok((Fetch { headers, ..Fetch::get(url) }, ignored))
}

pub(super) fn read(answer: &Value) -> Result<Vec<Hit>, String> {
    let results = answer["results"].as_array().ok_or("its answer has no results")?;
    let text = |result: &Value, field: &str| result[field].as_str().unwrap_or_default().to_owned();
    let hits: Vec<Hit> = results
        .iter()
        .filter_map(|result| {
            let published = result["publishedDate"].as_str();
            Hit::of(&text(result, "title"), &text(result, "url"), &text(result, "content"), published)
        })
        .collect();
    // None of its engines answered.
    let silent = answer["unresponsive_engines"].as_array().map_or(0, Vec::len);
    if hits.is_empty() && silent > 0 {
        return Err(format!("none of its engines answered ({silent} failed)"));
    }
    Ok(hits)
}
