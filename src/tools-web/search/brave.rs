//! Brave's web search API.

use super::{
    query::{Freshness, Query},
    settings::below,
};
use crate::found::Hit;
use http_client::Fetch;
use serde_json::Value;
use url::Url;

pub(super) const URL: &str = "https://api.search.brave.com";

pub(super) fn request(base: &Url, key: &str, query: &Query) -> Result<(Fetch, Vec<&'static str>), String> {
    let mut url = below(base, "/res/v1/web/search")?;
    let mut pairs = url.query_pairs_mut();
    pairs.append_pair("q", &query.text).append_pair("count", &query.most.to_string());
    if let Some(country) = &query.country {
        pairs.append_pair("country", country);
    }
    if let Some(language) = &query.language {
        pairs.append_pair("search_lang", language);
    }
    if let Some(freshness) = query.freshness {
        let text = match freshness {
            Freshness::Day => "pd".to_owned(),
            Freshness::Week => "pw".to_owned(),
            Freshness::Month => "pm".to_owned(),
            Freshness::Year => "py".to_owned(),
            Freshness::Between(from, to) => format!("{from}to{to}"),
        };
        pairs.append_pair("freshness", &text);
    }
    drop(pairs);
    let headers = [("accept", "application/json"), ("x-subscription-token", key)];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Ok((Fetch { headers, ..Fetch::get(url) }, vec![]))
}

pub(super) fn read(answer: &Value) -> Result<Vec<Hit>, String> {
    if answer["type"] != "search" && !answer["web"].is_object() {
        return Err("its answer has no results".to_owned());
    }
    let results = answer["web"]["results"].as_array().into_iter().flatten();
    let text = |result: &Value, field: &str| result[field].as_str().unwrap_or_default().to_owned();
    Ok(results
        .filter_map(|result| {
            let age = result["page_age"].as_str().or(result["age"].as_str());
            Hit::of(&text(result, "title"), &text(result, "url"), &text(result, "description"), age)
        })
        .collect())
}
