//! What searches found, and what they share.

use crate::cache::Cache;
use serde::Serialize;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use text_kit::{one_line, truncate};
use url::Url;

/// The longest title, snippet and address.
const TITLE: usize = 200;
const SNIPPET: usize = 500;
const ADDRESS: usize = 2_000;

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    pub title: String,
    pub url: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub snippet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl Hit {
    /// A result of texts that may have tags; `None` without a web address.
    pub fn of(title: &str, url: &str, snippet: &str, published: Option<&str>) -> Option<Self> {
        let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        if url.as_str().len() > ADDRESS {
            return None;
        }
        let title = clean(title, TITLE);
        Some(Self {
            title: if title.is_empty() { url.host_str().unwrap_or_default().to_owned() } else { title },
            url: url.into(),
            snippet: clean(snippet, SNIPPET),
            published: published.map(|text| clean(text, 40)).filter(|text| !text.is_empty()),
        })
    }
}

/// A text without tags and invisible characters, on one line.
fn clean(text: &str, most: usize) -> String {
    let options = html_text::Options { main_only: false, max_chars: most * 4 };
    truncate(&one_line(&html_text::plain(text, None, options).markdown), most)
}

/// What was found, and by which provider.
#[derive(Debug)]
pub(crate) struct Results {
    pub provider: &'static str,
    pub hits: Vec<Hit>,
    /// The parameters that the provider does not know.
    pub ignored: Vec<&'static str>,
    /// The providers that failed before, with the reasons.
    pub failed: Vec<(&'static str, String)>,
}

/// What searches share.
#[derive(Default)]
pub(crate) struct SearchState {
    pub found: Cache<Results>,
    /// Until when a provider is left alone.
    resting: Mutex<HashMap<&'static str, Instant>>,
}

impl SearchState {
    /// How long a provider is still left alone.
    pub fn rest_of(&self, provider: &str) -> Option<Duration> {
        let resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.get(provider).and_then(|until| until.checked_duration_since(Instant::now()))
    }

    /// Leaves a provider alone that was asked too often.
    pub fn leave_alone(&self, provider: &'static str, rest: Duration) {
        let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
        resting.insert(provider, Instant::now() + rest);
    }
}
