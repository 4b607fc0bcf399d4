//! The state of a browser: its pages and downloads, and what a caller has not been told yet.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The most pages at once; the oldest is closed for another.
pub(crate) const PAGES: usize = 4;
/// The most downloads that nobody has saved yet.
const DOWNLOADS: usize = 5;
/// The largest download, in bytes.
pub(crate) const LARGEST: u64 = 64 << 20;
/// How long a download may take in all, and how long without any more of it.
const TAKES: Duration = Duration::from_secs(300);
const STILL: Duration = Duration::from_secs(30);
/// The most messages of dialogs that are noted, and the longest, in characters.
const DIALOGS: usize = 5;
const DIALOG: usize = 300;

#[derive(Debug, Default)]
pub(crate) struct State {
    /// In the order in which they opened.
    pub pages: Vec<PageState>,
    /// The session of the page that calls are about.
    pub current: Option<String>,
    pub downloads: VecDeque<Download>,
    pub dialogs: Vec<String>,
    /// A page has opened since the last look.
    pub opened: bool,
    /// A page is about to open another.
    pub opening: bool,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct PageState {
    pub session: String,
    /// Also the name of its main frame.
    pub target: String,
    /// The document that is there or coming.
    pub loader: String,
    /// The document that was there before.
    pub left: String,
    /// What this document has reached.
    pub reached: Reached,
    /// The status with which it was answered.
    pub status: Option<(String, u16)>,
    /// The address that was asked for last, for the document or where it was redirected.
    pub asked: String,
    pub is_loading: bool,
    /// A script or click has asked for another document, which has not begun.
    pub is_requested: bool,
    pub is_crashed: bool,
}

/// How far a document has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reached {
    pub parsed: bool,
    pub loaded: bool,
    pub idle: bool,
}

/// A file that a page gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Its name in the folder of downloads.
    pub id: String,
    /// The name that the page suggests. Nothing keeps it from being a path.
    pub name: String,
    pub url: String,
    pub state: DownloadState,
    /// How much of it has come, in bytes.
    pub received: u64,
    /// When it began, and when the last of it came.
    began: Instant,
    moved: Instant,
    /// Somebody was told that it is coming, and waits no more.
    is_told: bool,
}

impl Download {
    pub(crate) fn new(id: &str, name: &str, url: &str, state: DownloadState) -> Self {
        let (name, url, now) = (text_kit::truncate(name, 300), text_kit::truncate(url, 2000), Instant::now());
        Self { id: id.into(), name, url, state, received: 0, began: now, moved: now, is_told: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DownloadState {
    Coming,
    Complete,
    Failed,
    TooLarge,
    /// It was cancelled because it took too long.
    TooSlow,
    /// More came at once than are taken.
    TooMany,
}

impl State {
    pub fn page(&self, session: &str) -> Option<&PageState> {
        self.pages.iter().find(|page| page.session == session)
    }

    pub fn page_mut(&mut self, session: &str) -> Option<&mut PageState> {
        self.pages.iter_mut().find(|page| page.session == session)
    }

    pub fn current(&self) -> Option<&PageState> {
        self.page(self.current.as_deref()?)
    }

    /// Adds a page, which becomes the current one. Returns the target of a page that is one too many.
    pub fn add(&mut self, session: &str, target: &str) -> Option<String> {
        self.opened |= !self.pages.is_empty();
        self.opening = false;
        let page = PageState { session: session.into(), target: target.into(), ..PageState::default() };
        self.pages.push(page);
        self.current = Some(session.into());
        (self.pages.len() > PAGES).then(|| self.pages.remove(0).target)
    }

    /// Removes a page; the newest of the others becomes current.
    pub fn remove(&mut self, session: &str) {
        self.pages.retain(|page| page.session != session);
        if self.current.as_deref() == Some(session) {
            self.current = self.pages.last().map(|page| page.session.clone());
        }
    }

    pub fn add_dialog(&mut self, kind: &str, message: &str) {
        if self.dialogs.len() < DIALOGS {
            let message = text_kit::truncate(&text_kit::one_line(message), DIALOG);
            self.dialogs.push(format!("{kind}: {message}"));
        }
    }

    /// Notes a download; `false` if it must be cancelled.
    pub fn add_download(&mut self, id: &str, name: &str, url: &str) -> bool {
        if self.downloads.len() > DOWNLOADS {
            return false;
        }
        let takes = self.downloads.len() < DOWNLOADS;
        let state = if takes { DownloadState::Coming } else { DownloadState::TooMany };
        self.downloads.push_back(Download::new(id, name, url, state));
        takes
    }

    /// Notes how far a download is; `false` if it must be cancelled.
    pub fn progress(&mut self, id: &str, received: u64, state: &str) -> bool {
        let Some(download) = self.downloads.iter_mut().find(|download| download.id == id) else { return true };
        if download.state != DownloadState::Coming {
            return true;
        }
        if received > download.received {
            (download.received, download.moved) = (received, Instant::now());
        }
        download.state = match state {
            _ if received > LARGEST => DownloadState::TooLarge,
            "completed" => DownloadState::Complete,
            "canceled" => DownloadState::Failed,
            _ => DownloadState::Coming,
        };
        download.state != DownloadState::TooLarge
    }

    /// Whether there is a download that nobody was told of.
    pub fn has_new_downloads(&self) -> bool {
        self.downloads.iter().any(|download| !download.is_told)
    }

    /// Whether one of these is coming.
    pub fn downloads_are_coming(&self) -> bool {
        self.downloads.iter().any(|download| download.state == DownloadState::Coming && !download.is_told)
    }

    /// The downloads as they are. Those that are coming stay, but for the ones that take too long, which must be cancelled.
    pub fn take_downloads(&mut self, now: Instant) -> Vec<Download> {
        for download in self.downloads.iter_mut().filter(|download| download.state == DownloadState::Coming) {
            download.is_told = true;
            if now.duration_since(download.began) > TAKES || now.duration_since(download.moved) > STILL {
                download.state = DownloadState::TooSlow;
            }
        }
        let all = self.downloads.iter().cloned().collect();
        self.downloads.retain(|download| download.state == DownloadState::Coming);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_page_is_current_and_the_oldest_leaves() {
        let mut state = State::default();
        assert_eq!(state.add("a", "A"), None);
        assert!(!state.opened, "the first page is what was asked for");
        for (session, target) in [("b", "B"), ("c", "C"), ("d", "D")] {
            assert_eq!(state.add(session, target), None);
        }
        assert_eq!(state.add("e", "E"), Some("A".into()));
        assert!(state.opened && state.current().unwrap().target == "E");
        state.remove("e");
        assert_eq!(state.current().unwrap().target, "D");
        state.remove("b");
        assert_eq!(state.current().unwrap().target, "D");
        state.remove("c");
        state.remove("d");
        assert!(state.current().is_none() && state.pages.is_empty());
    }

    #[test]
    fn downloads_and_dialogs_are_bounded() {
        let mut state = State::default();
        for number in 0..DOWNLOADS {
            assert!(state.add_download(&number.to_string(), "a", "u"));
        }
        assert!(!state.add_download("more", "a", "u") && !state.add_download("and more", "a", "u"));
        assert_eq!(state.downloads.len(), DOWNLOADS + 1);
        assert!(state.progress("0", 5, "inProgress") && state.progress("0", 5, "completed"));
        assert!(!state.progress("1", LARGEST + 1, "inProgress") && state.progress("1", 0, "canceled"));
        let states: Vec<_> = state.downloads.iter().map(|download| download.state).collect();
        assert_eq!(states[..2], [DownloadState::Complete, DownloadState::TooLarge]);
        assert_eq!(states[DOWNLOADS], DownloadState::TooMany);
        // What is coming is told once, stays until it has come, and is given up when it stands still or never ends.
        let states = |state: &mut State, now: Instant| -> Vec<DownloadState> {
            state.take_downloads(now).iter().map(|download| download.state).collect()
        };
        let begun = Instant::now();
        assert!(state.downloads_are_coming());
        assert_eq!(states(&mut state, begun)[2..5], [DownloadState::Coming; 3]);
        assert!(!state.downloads_are_coming() && state.downloads.len() == 3);
        assert!(state.progress("2", 5, "completed") && state.progress("3", 5, "inProgress"));
        assert_eq!(states(&mut state, begun), [DownloadState::Complete, DownloadState::Coming, DownloadState::Coming]);
        state.downloads[0].moved += STILL;
        assert_eq!(states(&mut state, begun + STILL * 3 / 2), [DownloadState::Coming, DownloadState::TooSlow]);
        state.downloads[0].moved += TAKES;
        assert_eq!(states(&mut state, begun + TAKES * 2), [DownloadState::TooSlow]);
        assert!(state.downloads.is_empty());
        (0..20).for_each(|_| state.add_dialog("alert", &"x".repeat(1000)));
        assert!(state.dialogs.len() == DIALOGS && state.dialogs[0].chars().count() < DIALOG + 10);
    }
}
