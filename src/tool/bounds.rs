//! What a run is bound by besides its principal, and what its calls share.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
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
    /// Who is told before a call changes anything; see [`Begins`].
    pub begins: Option<Arc<dyn Begins>>,
    /// The idempotency key of the call: the store marks under it that the call has changed something.
    pub effect: Option<crate::Id>,
}

/// Who keeps note of calls that begin, so that after a power cut it is known which may have been made. Dispatch tells it of
/// every call from `Write` up that is about to run, whatever facade it came through; the call runs only once this is kept.
pub trait Begins: Send + Sync + 'static {
    /// This tool is about to run for the model's call of [`Bounds::model_call`].
    ///
    /// # Errors
    /// What keeps the note from being kept; the call is then not made.
    fn begins(&self, model_call: &str, tool: &crate::Tool) -> futures::future::BoxFuture<'static, crate::Result<()>>;
}

impl std::fmt::Debug for dyn Begins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begins")
    }
}

/// A person's yes to one call, good for one use.
#[derive(Debug, Clone)]
pub struct Consent {
    /// The canonical name.
    pub tool: Arc<str>,
    /// Its version: what it does may be another thing by now.
    pub version: u32,
    /// The digest of its arguments.
    pub digest: [u8; 32],
    used: Arc<AtomicBool>,
}

impl Consent {
    /// A yes to this version of a tool with these arguments.
    pub fn new(tool: Arc<str>, version: u32, digest: [u8; 32]) -> Self {
        Self { tool, version, digest, used: Arc::default() }
    }
    /// Whether it is for this call; the first to ask uses it up.
    pub fn covers(&self, tool: &str, version: u32, digest: &[u8; 32]) -> bool {
        let same = *self.tool == *tool && self.version == version && self.digest == *digest;
        same && !self.used.swap(true, Ordering::Relaxed)
    }
}

/// Time that does not count against a call, because a person was being asked. Shared by a model's call and those it makes.
#[derive(Debug, Clone, Default)]
pub struct Pause(Arc<Mutex<Clock>>);

#[derive(Debug, Default)]
struct Clock {
    /// How many questions are open; the clock stands from the first to the end of the last.
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Pause {
    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Begins a pause, which lasts until the guard is dropped.
    pub fn begin(&self) -> Paused {
        let mut clock = self.clock();
        clock.open += 1;
        clock.since.get_or_insert_with(Instant::now);
        Paused(self.clone())
    }
    /// Whether somebody is being asked right now.
    pub fn is_on(&self) -> bool {
        self.clock().open > 0
    }
    /// How long it was paused so far, of pauses that are over.
    pub fn total(&self) -> Duration {
        self.clock().total
    }
}

/// Ends a pause when dropped.
pub struct Paused(Pause);

impl Drop for Paused {
    fn drop(&mut self) {
        let mut clock = self.0.clock();
        clock.open -= 1;
        if clock.open == 0
            && let Some(since) = clock.since.take()
        {
            clock.total += since.elapsed();
        }
    }
}

/// The addresses a run did not make up: those the person wrote, and those a search gave.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownUrls(Arc<Mutex<HashSet<String>>>);

impl KnownUrls {
    pub fn add(&self, text: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(urls(text).map(bare));
    }
    pub fn has(&self, url: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&bare(url))
    }
}

/// How often a run has done each thing that it may do only a few times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<HashMap<&'static str, u32>>>);

impl Tally {
    /// Counts one more, unless there are `most` already.
    pub fn take(&self, action: &'static str, most: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(action).or_default();
        let free = *count < most;
        *count += u32::from(free);
        free
    }
    /// Takes one back.
    pub fn give_back(&self, action: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(action).and_modify(|count| *count = count.saturating_sub(1));
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
        let known = KnownUrls::default();
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
        let consent = Consent::new("wipe".into(), 2, [1; 32]);
        assert!(!consent.covers("wipe", 2, &[2; 32]) && !consent.covers("echo", 2, &[1; 32]));
        assert!(!consent.covers("wipe", 3, &[1; 32]), "another version");
        assert!(consent.clone().covers("wipe", 2, &[1; 32]));
        assert!(!consent.covers("wipe", 2, &[1; 32]));
    }

    #[test]
    fn pauses_that_overlap_count_once() {
        let pause = Pause::default();
        let (first, second) = (pause.begin(), pause.begin());
        let began = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        drop(first);
        assert!(pause.is_on() && pause.total() == Duration::ZERO);
        drop(second);
        assert!(!pause.is_on() && pause.total() >= Duration::from_millis(20) && pause.total() < began.elapsed() * 2);
    }
}
