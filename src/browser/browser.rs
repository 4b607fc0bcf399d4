//! A running browser.

use crate::{
    Download, DownloadState, Error, Result,
    downloads::{Downloads, INSIDE},
    events::Events,
    link::{Link, carry},
    state::PageState,
};
use process_sandbox::{PROXY_PORT, Process};
use serde_json::{Value, json};
use std::{
    fs::File,
    io,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;

/// For Chromium to start and answer.
const START: Duration = Duration::from_secs(60);
/// For an answer that needs no page to be loaded.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// A running browser with its pages. Dropping it ends all of it.
pub struct Browser {
    pub(crate) link: Link,
    pub(crate) events: Arc<Events>,
    carrying: JoinHandle<()>,
    downloads: Arc<Downloads>,
    /// The context of its pages: cookies, storage, and the way to the network.
    context: String,
}

/// What has happened since the last look, beside what was asked for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Another page opened, which is the current one now.
    pub opened: bool,
    /// Dialogs that were answered with no, as `kind: message`.
    pub dialogs: Vec<String>,
    /// The current page is still loading.
    pub is_loading: bool,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // With the process in it, which ends.
        self.carrying.abort();
    }
}

impl Browser {
    pub(crate) async fn over(process: Process, downloads: Downloads, memory_mb: u64) -> Result<Self> {
        let ((link, commands), events) = (Link::new(), Arc::<Events>::default());
        let downloads = Arc::new(downloads);
        let carrying = {
            let (link, events, downloads) = (link.clone(), events.clone(), downloads.clone());
            tokio::spawn(async move { carry(process, commands, link, events, &downloads, memory_mb).await })
        };
        let mut browser = Self { link, events, carrying, downloads, context: String::new() };
        let started = browser.link.call(None, "Browser.getVersion", json!({}), START).await;
        let version = started.map_err(|error| match error {
            Error::Ended(why) => Error::Ended(format!(
                "Chromium did not start: {why}. If this goes on, an admin can raise `[browser] memory_mb` or install another one"
            )),
            other => other,
        })?;
        tracing::debug!(version = %version["product"], "a browser has started");
        // Also what is addressed to this device goes to the gate, which refuses it.
        let context = json!({
            "disposeOnDetach": true,
            "proxyServer": format!("http://127.0.0.1:{PROXY_PORT}"),
            "proxyBypassList": "<-loopback>",
        });
        let made = browser.link.call(None, "Target.createBrowserContext", context, ANSWER).await?;
        browser.context = made["browserContextId"].as_str().unwrap_or_default().to_owned();
        let downloads = json!({
            "behavior": "allowAndName",
            "browserContextId": browser.context,
            "downloadPath": INSIDE,
            "eventsEnabled": true,
        });
        browser.link.call(None, "Browser.setDownloadBehavior", downloads, ANSWER).await?;
        let pages =
            json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true, "filter": [{"type": "page"}]});
        browser.link.call(None, "Target.setAutoAttach", pages, ANSWER).await?;
        Ok(browser)
    }

    /// Whether it has ended by itself.
    pub fn is_ended(&self) -> bool {
        self.link.is_ended()
    }

    /// Why it has ended.
    pub fn end(&self) -> Error {
        self.link.ended()
    }

    /// The current page.
    pub(crate) fn page(&self) -> Result<PageState> {
        if self.link.is_ended() {
            return Err(self.link.ended());
        }
        let page = self.events.with(|state| state.current().cloned()).ok_or(Error::NoPage)?;
        if page.is_crashed {
            self.link.post(None, "Target.closeTarget", json!({"targetId": page.target}));
            self.events.with(|state| state.remove(&page.session));
            return Err(Error::Crashed);
        }
        Ok(page)
    }

    /// The current page, or a new one.
    pub(crate) async fn page_or_new(&self) -> Result<PageState> {
        match self.page() {
            Err(Error::NoPage | Error::Crashed) => {}
            page => return page,
        }
        let target = json!({"url": "about:blank", "browserContextId": self.context});
        self.link.call(None, "Target.createTarget", target, ANSWER).await?;
        let page = self.events.until(ANSWER, |state| state.current().cloned()).await;
        page.ok_or(Error::Silent(ANSWER.as_secs()))
    }

    /// The address that the current page asked for last: that of its document, or where that was redirected.
    pub fn asked(&self) -> Option<String> {
        self.events.with(|state| state.current().map(|page| page.asked.clone()))
    }

    /// Sends a command to a page.
    pub(crate) async fn call(&self, page: &PageState, method: &str, params: Value, within: Duration) -> Result<Value> {
        self.link.call(Some(&page.session), method, params, within).await
    }

    /// What has happened since this was last asked.
    pub fn happened(&self) -> Happened {
        self.events.with(|state| Happened {
            opened: std::mem::take(&mut state.opened),
            dialogs: std::mem::take(&mut state.dialogs),
            is_loading: state.current().is_some_and(|page| page.is_loading),
        })
    }

    /// The downloads as they are. It waits for those that nobody was told of; what is still coming then stays for the next time, unless
    /// it takes too long, which is cancelled.
    pub async fn downloads(&self, within: Duration) -> Vec<Download> {
        let link = &self.link;
        let settled =
            |state: &mut crate::state::State| (!state.downloads_are_coming() || link.is_ended()).then_some(());
        self.events.until(within, settled).await;
        let all = self.events.with(|state| state.take_downloads(Instant::now()));
        for download in all.iter().filter(|download| download.state == DownloadState::TooSlow) {
            link.post(None, "Browser.cancelDownload", json!({"guid": download.id}));
        }
        all
    }

    /// Opens the file of a download and removes its name.
    ///
    /// # Errors
    /// Where it is not there, or no plain file.
    pub fn open_download(&self, download: &Download) -> io::Result<File> {
        self.downloads.open(download)
    }
}
