//! What a run is bound by besides its principal, and what its calls share.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Where a run stands below another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subagent {
    /// It may begin runs of its own.
    Branch,
    /// It may not: it is at the greatest depth.
    Leaf,
}

/// What a run is bound by: data for the decision.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The provider of the model that asks (`openai`, `anthropic`, …); empty without a run.
    pub provider: Arc<str>,
    /// Whether what is called is what the person said, word by word, without a model's judgement in between.
    pub by_word: bool,
    /// Whether the run was begun by another, and how deep it is.
    pub subagent: Option<Subagent>,
    /// The only tools and `group:` references this request may use.
    pub only: Option<Arc<[Arc<str>]>>,
    /// The model's own id of the call that is being made.
    pub model_call: Option<Arc<str>>,
    /// What a person has already said yes to.
    pub consent: Option<Consent>,
}

/// A person's yes to one call, good for one use.
#[derive(Debug, Clone)]
pub struct Consent {
    /// The canonical name.
    pub tool: Arc<str>,
    /// The digest of its arguments.
    pub digest: [u8; 32],
    used: Arc<AtomicBool>,
}

impl Consent {
    /// A yes to this tool with these arguments.
    pub fn new(tool: Arc<str>, digest: [u8; 32]) -> Self {
        Self { tool, digest, used: Arc::default() }
    }
    /// Whether it is for this call; the first to ask uses it up.
    pub fn covers(&self, tool: &str, digest: &[u8; 32]) -> bool {
        *self.tool == *tool && self.digest == *digest && !self.used.swap(true, Ordering::Relaxed)
    }
}

/// Time that does not count against a call, because a person was being asked. Shared by a chain of calls.
#[derive(Debug, Clone, Default)]
pub struct Pause(Arc<(AtomicU64, AtomicU64)>);

impl Pause {
    /// Begins a pause, which lasts until the guard is dropped.
    pub fn begin(&self) -> Paused {
        self.0.0.fetch_add(1, Ordering::Relaxed);
        Paused(self.clone(), std::time::Instant::now())
    }
    /// Whether somebody is being asked right now.
    pub fn is_on(&self) -> bool {
        self.0.0.load(Ordering::Relaxed) > 0
    }
    /// How long it was paused so far, of pauses that are over.
    pub fn total(&self) -> Duration {
        Duration::from_millis(self.0.1.load(Ordering::Relaxed))
    }
}

/// Ends a pause when dropped.
pub struct Paused(Pause, std::time::Instant);

impl Drop for Paused {
    fn drop(&mut self) {
        let state = &self.0.0;
        state.1.fetch_add(self.1.elapsed().as_millis() as u64, Ordering::Relaxed);
        state.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The addresses a run did not make up: those the person wrote, and those a search gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<Mutex<HashSet<String>>>);

impl Known {
    pub fn add(&self, text: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(urls(text).map(bare));
    }
    pub fn has(&self, url: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&bare(url))
    }
}

/// An address without what a browser would not send, so that `HTTP://Example.org` and `http://example.org/` are one.
fn bare(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let path = if path == "/" { "" } else { path };
    format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase())
}

/// The addresses in a text.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "<>\"'`()[]{}|\\^".contains(c)).filter_map(|word| {
        let at = word.find("http://").or_else(|| word.find("https://"))?;
        Some(word[at..].trim_end_matches(['.', ',', ';', ':', '!', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_person_wrote_is_known() {
        let known = Known::default();
        known.add("look at https://Example.org/a?b=1, and (http://example.com).");
        for (url, is) in [
            ("https://example.org/a?b=1", true),
            ("HTTPS://example.org/a?b=1#part", true),
            ("http://example.com/", true),
            ("https://example.org/a?b=2", false),
            ("https://example.org", false),
            ("http://example.com/steal", false),
        ] {
            assert_eq!(known.has(url), is, "{url}");
        }
    }

    #[test]
    fn a_yes_is_good_once() {
        let consent = Consent::new("wipe".into(), [1; 32]);
        assert!(!consent.covers("wipe", &[2; 32]) && !consent.covers("echo", &[1; 32]));
        assert!(consent.clone().covers("wipe", &[1; 32]));
        assert!(!consent.covers("wipe", &[1; 32]));
    }
}
