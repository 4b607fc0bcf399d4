//! DuckDuckGo's results page without JavaScript: the only one of these that needs no key.

use super::{
    query::{Freshness, Query},
    settings::below,
};
use crate::found::Hit;
use http_client::Fetch;
use url::Url;

pub(super) const URL: &str = "https://html.duckduckgo.com";

/// The classes of the links in a result.
const TITLE: &str = "result__a";
const SNIPPET: &str = "result__snippet";

pub(super) fn request(base: &Url, query: &Query) -> Result<(Fetch, Vec<&'static str>), String> {
    let mut ignored = vec![];
    let mut url = below(base, "/html/")?;
    let mut pairs = url.query_pairs_mut();
    pairs.append_pair("q", &query.text);
    match (&query.country, &query.language) {
        (Some(country), Some(language)) => {
            pairs.append_pair("kl", &format!("{}-{language}", country.to_lowercase()));
        }
        (Some(_), None) => ignored.push("country"),
        (None, Some(_)) => ignored.push("language"),
        (None, None) => {}
    }
    if let Some(freshness) = query.freshness {
        let text = match freshness {
            Freshness::Day => "d".to_owned(),
            Freshness::Week => "w".to_owned(),
            Freshness::Month => "m".to_owned(),
            Freshness::Year => "y".to_owned(),
            Freshness::Between(from, to) => format!("{from}..{to}"),
        };
        pairs.append_pair("df", &text);
    }
    drop(pairs);
    let headers = [("accept", "text/html"), ("user-agent", "Mozilla/5.0 (compatible; Hob)")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Ok((Fetch { headers, ..Fetch::get(url) }, ignored))
}

pub(super) fn read(page: &str, base: &Url) -> Result<Vec<Hit>, String> {
    let mut found: Vec<(String, Url, String)> = vec![];
    for (class, link) in html_text::links_by_class(page, base, &[TITLE, SNIPPET]) {
        match class {
            0 => {
                let Ok(url) = Url::parse(&link.url) else { continue };
                found.push((link.text, url, String::new()));
            }
            _ => {
                if let Some((_, _, snippet)) = found.last_mut().filter(|(_, _, snippet)| snippet.is_empty()) {
                    *snippet = link.text;
                }
            }
        }
    }
    let hits: Vec<Hit> =
        found.into_iter().filter_map(|(title, url, snippet)| Hit::of(&title, &target(&url)?, &snippet, None)).collect();
    if hits.is_empty() && !page.contains("no-results") {
        let wants_person = page.contains("anomaly") || page.contains("challenge");
        let why = if wants_person { "it wants to see a person: try again later" } else { "its page could not be read" };
        return Err(why.to_owned());
    }
    Ok(hits)
}

/// Where a link of the page leads: results go through a redirect, and advertising is left out.
fn target(url: &Url) -> Option<String> {
    match url.path() {
        "/y.js" => None,
        "/l/" => url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, target)| target.into_owned()),
        _ => Some(url.to_string()),
    }
}
