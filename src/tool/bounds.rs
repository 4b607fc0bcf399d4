//! The bounds of a run besides its principal, and the state its calls share.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The place of a run that another run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subagent {
    /// It may start runs of its own.
    Branch,
    /// It may not: it is at the maximum depth.
    Leaf,
}

/// The bounds of a run: input of the policy decision.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The provider of the model that asks (`openai`, `anthropic`, …); empty without a run.
    pub provider: Arc<str>,
    /// Whether the call is a literal command of the person, without a model's judgement in between.
    pub by_word: bool,
    /// Set when another run started this one.
    pub subagent: Option<Subagent>,
    /// The only tools and `group:` references this request may use.
    pub only: Option<Arc<[Arc<str>]>>,
    /// The model's own id of the current call.
    pub model_call: Option<Arc<str>>,
    /// A call that a person has already approved.
    pub consent: Option<Consent>,
    /// Records calls before they change anything; see [`Begins`].
    pub begins: Option<Arc<dyn Begins>>,
    /// Whether the page reads this to show it, without anybody having asked for a call. The audit log leaves out such calls of
    /// built-in tools if they only observe and succeed.
    pub for_display: bool,
    /// The idempotency key of the call, under which the store marks its effects.
    pub effect: Option<crate::Id>,
}

/// Records the start of calls, so that recovery after a power cut knows which may have been made. Dispatch reports every call
/// from `Write` up, whatever facade it came through, and runs it only once the record is stored.
pub trait Begins: Send + Sync + 'static {
    /// This tool is about to run for the model's call [`Bounds::model_call`].
    ///
    /// # Errors
    /// When the record cannot be stored; the call is not made then.
    fn begins(&self, model_call: &str, tool: &crate::Tool) -> futures::future::BoxFuture<'static, crate::Result<()>>;
}

impl std::fmt::Debug for dyn Begins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Begins")
    }
}

/// A person's approval of one call, valid once.
#[derive(Debug, Clone)]
pub struct Consent {
    /// The canonical name.
    pub tool: Arc<str>,
    /// Its version: its behaviour may have changed since.
    pub version: u32,
    /// The digest of its arguments.
    pub digest: [u8; 32],
    used: Arc<AtomicBool>,
}

impl Consent {
    /// Approves this version of a tool with these arguments.
    pub fn new(tool: Arc<str>, version: u32, digest: [u8; 32]) -> Self {
        Self { tool, version, digest, used: Arc::default() }
    }
    /// Whether it covers this call; the first successful check uses it up.
    pub fn covers(&self, tool: &str, version: u32, digest: &[u8; 32]) -> bool {
        let same = *self.tool == *tool && self.version == version && self.digest == *digest;
        same && !self.used.swap(true, Ordering::Relaxed)
    }
}

/// The time a person was being asked, which does not count against a call. A model's call shares it with the calls it makes.
#[derive(Debug, Clone, Default)]
pub struct Pause(Arc<Mutex<Clock>>);

#[derive(Debug, Default)]
struct Clock {
    /// How many questions are open. The pause lasts from the first to the end of the last.
    open: u32,
    since: Option<Instant>,
    total: Duration,
}

impl Pause {
    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Starts a pause, which ends when the guard is dropped.
    pub fn begin(&self) -> Paused {
        let mut clock = self.clock();
        clock.open += 1;
        clock.since.get_or_insert_with(Instant::now);
        Paused(self.clone())
    }
    /// Whether somebody is being asked now.
    pub fn is_on(&self) -> bool {
        self.clock().open > 0
    }
    /// The total length of finished pauses.
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

/// URLs that no model made up: the person wrote them, or a search returned them.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownUrls(Arc<Mutex<HashSet<String>>>);

impl KnownUrls {
    pub fn add(&self, text: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(urls(text).flat_map(|url| [bare(url), whole(url)]));
    }
    /// Whether all that a request to it sends is known.
    pub fn has(&self, url: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&bare(url))
    }
    /// Whether all of it is known: scripts of a page read the fragment, too.
    pub fn has_whole(&self, url: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&whole(url))
    }
}

/// Counts of actions that a run may do only a few times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<HashMap<&'static str, u32>>>);

impl Tally {
    /// Counts one more, unless the count is `most`.
    pub fn take(&self, action: &'static str, most: u32) -> bool {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(action).or_default();
        let free = *count < most;
        *count += u32::from(free);
        free
    }
    /// Reduces the count by one.
    pub fn give_back(&self, action: &'static str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(action).and_modify(|count| *count = count.saturating_sub(1));
    }
}

/// A URL without the parts a browser does not send, so that `HTTP://Example.org` and `http://example.org/` are equal.
fn bare(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
    let path = if path == "/" { "" } else { path };
    format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase())
}

/// The same with the fragment, where there is one.
fn whole(url: &str) -> String {
    match url.split_once('#') {
        Some((_, fragment)) => format!("{}#{fragment}", bare(url)),
        None => bare(url),
    }
}

/// The URLs in a text.
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
    fn urls_of_the_person_are_known() {
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
    fn a_fragment_is_known_where_it_was_given() {
        let known = KnownUrls::default();
        known.add("look at https://Example.org/a and http://example.com/b#part");
        for (url, is) in [
            ("https://example.org/a", true),
            ("https://example.org/a#secret", false),
            ("https://example.org/a#", false),
            ("http://example.com/b", true),
            ("http://Example.com/b#part", true),
            ("http://example.com/b#Part", false),
            ("http://example.com/b#part#secret", false),
        ] {
            assert_eq!(known.has_whole(url), is, "{url}");
            assert!(known.has(url), "{url}");
        }
    }

    #[test]
    fn consent_is_valid_once() {
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
