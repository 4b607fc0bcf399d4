//! Tavily's search API.

use super::{
    query::{Freshness, Query},
    settings::below,
};
use crate::found::Hit;
use http_client::Fetch;
use serde_json::{Value, json};
use url::Url;

pub(super) const URL: &str = "https://api.tavily.com";

/// Countries as the API names them.
const COUNTRIES: &[(&str, &str)] = &[
    ("AR", "argentina"),
    ("AT", "austria"),
    ("AU", "australia"),
    ("BE", "belgium"),
    ("BR", "brazil"),
    ("CA", "canada"),
    ("CH", "switzerland"),
    ("CL", "chile"),
    ("CN", "china"),
    ("CZ", "czech republic"),
    ("DE", "germany"),
    ("DK", "denmark"),
    ("ES", "spain"),
    ("FI", "finland"),
    ("FR", "france"),
    ("GB", "united kingdom"),
    ("GR", "greece"),
    ("HU", "hungary"),
    ("IE", "ireland"),
    ("IL", "israel"),
    ("IN", "india"),
    ("IT", "italy"),
    ("JP", "japan"),
    ("KR", "south korea"),
    ("MX", "mexico"),
    ("NL", "netherlands"),
    ("NO", "norway"),
    ("NZ", "new zealand"),
    ("PL", "poland"),
    ("PT", "portugal"),
    ("RO", "romania"),
    ("SE", "sweden"),
    ("TR", "turkey"),
    ("UA", "ukraine"),
    ("US", "united states"),
    ("ZA", "south africa"),
];

pub(super) fn request(base: &Url, key: &str, query: &Query) -> Result<(Fetch, Vec<&'static str>), String> {
    let mut ignored = vec![];
    let mut body = json!({"query": query.text, "max_results": query.most, "topic": "general", "search_depth": "basic"});
    match query.freshness {
        Some(Freshness::Between(from, to)) => {
            body["start_date"] = from.to_string().into();
            body["end_date"] = to.to_string().into();
        }
        Some(freshness) => body["time_range"] = freshness.word().into(),
        None => {}
    }
    if let Some(country) = &query.country {
        match COUNTRIES.iter().find(|(letters, _)| letters == country) {
            Some((_, name)) => body["country"] = (*name).into(),
            None => ignored.push("country"),
        }
    }
    if query.language.is_some() {
        ignored.push("language");
    }
    let headers = vec![
        ("authorization".to_owned(), format!("Bearer {key}")),
        ("content-type".to_owned(), "application/json".to_owned()),
    ];
    let fetch =
        Fetch { method: "POST".into(), headers, body: Some(body.to_string()), ..Fetch::get(below(base, "/search")?) };
    Ok((fetch, ignored))
}

pub(super) fn read(answer: &Value) -> Result<Vec<Hit>, String> {
    let results = answer["results"].as_array().ok_or("its answer has no results")?;
    let text = |result: &Value, field: &str| result[field].as_str().unwrap_or_default().to_owned();
    Ok(results
        .iter()
        .filter_map(|result| {
            let published = result["published_date"].as_str();
            Hit::of(&text(result, "title"), &text(result, "url"), &text(result, "content"), published)
        })
        .collect())
}
