//! Titles of bookmarks from their pages, read after the bookmark was added.

use super::{Bookmark, TITLE};
use html_text::Options;
use http_client::{Fetch, Guarded, MAX_REDIRECTS, Streamed, Streaming};
use records::{RecordStore, rejected};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use store::Entry;
use text_kit::truncate;
use tokio::sync::Semaphore;
use tool::{Channel, Consult, Cx, Label, Result, Risk, Via, prelude::json};

/// How long reading a page may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How much of a page is read, in bytes: its title is at its beginning.
const HEAD: usize = 256 * 1024;
/// How many pages are read at once, and how many bookmarks wait; further ones keep the name of their address.
const AT_ONCE: usize = 3;
const WAITING: usize = 60;
/// The tool that a person must be allowed to call.
const READS_PAGES: &str = "fetch_web_page";

/// Reads titles in the background; cheap to clone.
#[derive(Clone)]
pub struct PageTitles(Option<Arc<Parts>>);

struct Parts {
    web: Guarded,
    waiting: Arc<Semaphore>,
    reading: Semaphore,
}

impl PageTitles {
    /// Titles from pages that this client reaches.
    pub fn new(web: Guarded) -> Self {
        let (waiting, reading) = (Arc::new(Semaphore::new(WAITING)), Semaphore::new(AT_ONCE));
        Self(Some(Arc::new(Parts { web, waiting, reading })))
    }

    /// No titles from pages.
    pub fn off() -> Self {
        Self(None)
    }

    /// Names a bookmark after its page later, if it is named after its address until then. The call neither waits for it
    /// nor fails with it. What a stranger could have chosen is not fetched unasked.
    pub(super) fn read_later(&self, records: &RecordStore<Bookmark>, cx: &Cx, id: &str, url: &str, title: &str) {
        let Some(parts) = self.0.clone() else { return };
        let is_chosen_here = cx.label() == Label::Own || cx.knows(url);
        let may_read = || cx.ports().dispatch.list(cx).iter().any(|tool| tool.name == READS_PAGES);
        if !is_chosen_here || !may_read() {
            return;
        }
        let Ok(place) = parts.waiting.clone().try_acquire_owned() else { return };
        // A run goes on unharmed: only the bookmark is from outside.
        let later = Cx::root(cx.ports().clone(), cx.principal().clone(), Via::direct(Channel::Machine));
        let (records, id, url, title) = (records.clone(), id.to_owned(), url.to_owned(), title.to_owned());
        let work = async move {
            let _place = place;
            if let Err(error) = parts.name(&records, &later, &id, &url, &title).await {
                tracing::debug!(%error, "a bookmark keeps the name of its address");
            }
        };
        // Undoing the call takes the title back with the bookmark.
        tokio::spawn(store::inherit_effect(work));
    }
}

impl Parts {
    async fn name(&self, records: &RecordStore<Bookmark>, cx: &Cx, id: &str, url: &str, old: &str) -> Result<()> {
        let Ok(_reading) = self.reading.acquire().await else { return Ok(()) };
        let Some(answer) = self.reach(cx, url).await? else { return Ok(()) };
        let Some(title) = title_of(answer).await? else { return Ok(()) };
        cx.taint(Label::Outside);
        let (url, old) = (url.to_owned(), old.to_owned());
        let change = move |it: &mut Bookmark| {
            if it.url != url || it.title != old {
                return Err(rejected("somebody named it since"));
            }
            it.title.clone_from(&title);
            Ok(())
        };
        records.change(cx, id, None, change).await.map(|_: Entry<Bookmark>| ())
    }

    /// The page, over redirects; `None` where there is none.
    async fn reach(&self, cx: &Cx, url: &str) -> Result<Option<Streaming>> {
        let (began, mut fetch) = (Instant::now(), Fetch::get(url));
        fetch.headers.push(("accept".into(), "text/html".into()));
        for _ in 0..=MAX_REDIRECTS {
            let host = self.web.check(&fetch.url)?;
            let consult = Consult {
                tool: READS_PAGES.into(),
                version: 0,
                action: "fetch",
                details: json!({"host": host}),
                risk: Risk::Send,
                ask: false,
                about: format!("Read the title of a page of {host}."),
                reason: String::new(),
            };
            cx.ports().ask.consult(cx.clone(), consult).await?;
            let left = TIMEOUT.saturating_sub(began.elapsed());
            match self.web.stream_once(fetch.clone(), left).await? {
                Streamed::Done(answer) => return Ok(answer.is_success().then_some(answer)),
                Streamed::Redirect { status, location } => fetch = fetch.redirected(status, &location)?.fetch,
            }
        }
        Ok(None)
    }
}

/// The title of a page, by its beginning.
async fn title_of(mut answer: Streaming) -> Result<Option<String>> {
    let content_type = answer.header("content-type").unwrap_or_default().to_owned();
    let is_page = content_type.is_empty() || content_type.to_ascii_lowercase().contains("html");
    if !is_page || answer.header("content-encoding").is_some() {
        return Ok(None);
    }
    let mut head = vec![];
    while head.len() < HEAD
        && let Some(piece) = answer.chunk().await?
    {
        head.extend_from_slice(&piece[..piece.len().min(HEAD - head.len())]);
    }
    let read = move || {
        let text = html_text::decode(&head, Some(&content_type)).text;
        Ok(html_text::markdown(&text, None, Options { main_only: false, max_chars: 0 }).title)
    };
    let title = tool::blocking("reading the title", read).await?;
    Ok(Some(truncate(title.trim(), TITLE - 1)).filter(|title| !title.is_empty()))
}
