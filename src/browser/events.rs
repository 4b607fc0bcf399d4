//! What happens in a browser, as it says by itself: pages that open, load and close, dialogs, downloads.

use crate::{
    link::{Follow, Link},
    state::{PageState, Reached, State},
};
use serde_json::{Value, json};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::timeout};

/// The state, and a signal at each change of it.
#[derive(Default)]
pub(crate) struct Events {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

/// What is set in each page: its view, and events without bodies of answers.
fn page_commands() -> [(&'static str, Value); 5] {
    [
        (
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}),
        ),
        ("Page.enable", json!({})),
        ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
        ("Network.enable", json!({"maxTotalBufferSize": 1, "maxResourceBufferSize": 1})),
        ("Inspector.enable", json!({})),
    ]
}

impl Events {
    /// Reads or changes the state.
    pub fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `found` finds something in the state; `None` when the time is over.
    pub async fn until<T>(&self, within: Duration, mut found: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let looking = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = self.with(&mut found) {
                    return Some(found);
                }
                if changes.changed().await.is_err() {
                    return None;
                }
            }
        };
        timeout(within, looking).await.ok().flatten()
    }

    fn attached(&self, link: &Link, session: &str, target: &Value) {
        if target["type"] != "page" {
            return;
        }
        for (command, params) in page_commands() {
            link.post(Some(session), command, params);
        }
        let too_many = self.with(|state| state.add(session, target["targetId"].as_str().unwrap_or_default()));
        if let Some(target) = too_many {
            link.post(None, "Target.closeTarget", json!({"targetId": target}));
        }
    }

    fn page(&self, session: &str, change: impl FnOnce(&mut PageState)) {
        self.with(|state| state.page_mut(session).map(change));
    }
}

impl Follow for Events {
    /// Takes an event into the state, and answers what must be answered.
    fn take(&self, link: &Link, session: Option<&str>, method: &str, params: &Value) {
        let text = |name: &str| params[name].as_str().unwrap_or_default();
        match (method, session) {
            ("Target.attachedToTarget", _) => self.attached(link, text("sessionId"), &params["targetInfo"]),
            ("Target.detachedFromTarget", _) => {
                self.with(|state| state.remove(text("sessionId")));
                link.drop_session(text("sessionId"));
            }
            ("Inspector.targetCrashed", Some(session)) => {
                self.page(session, |page| page.is_crashed = true);
                link.drop_session(session);
            }
            ("Page.javascriptDialogOpening", Some(session)) => {
                // Leaving a page is what was asked for; everything else is answered no.
                let accept = text("type") == "beforeunload";
                link.post(Some(session), "Page.handleJavaScriptDialog", json!({"accept": accept}));
                if !accept {
                    self.with(|state| state.add_dialog(text("type"), text("message")));
                }
            }
            ("Page.windowOpen", Some(_)) => self.with(|state| state.opening = true),
            ("Browser.downloadWillBegin", _) => {
                let id = text("guid");
                if !self.with(|state| state.add_download(id, text("suggestedFilename"), text("url"))) {
                    link.post(None, "Browser.cancelDownload", json!({"guid": id}));
                }
            }
            ("Browser.downloadProgress", _) => {
                let (id, received) = (text("guid"), params["receivedBytes"].as_f64().unwrap_or(0.0));
                if !self.with(|state| state.progress(id, received as u64, text("state"))) {
                    link.post(None, "Browser.cancelDownload", json!({"guid": id}));
                }
            }
            (_, Some(session)) => self.page(session, |page| of_page(page, method, params)),
            _ => return,
        }
        self.wake();
    }

    /// Lets everybody look who waits.
    fn wake(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// An event of the main frame of a page.
fn of_page(page: &mut PageState, method: &str, params: &Value) {
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    if method == "Page.frameNavigated" {
        let frame = &params["frame"];
        if frame["id"] == page.target.as_str() {
            begin(page, frame["loaderId"].as_str().unwrap_or_default());
            page.is_requested = false;
        }
        return;
    }
    if text("frameId") != page.target {
        return;
    }
    match method {
        "Page.frameRequestedNavigation" => {
            page.is_requested = text("disposition") == "currentTab" && !text("url").starts_with("javascript:");
        }
        "Page.frameStartedLoading" => (page.is_loading, page.is_requested) = (true, false),
        "Page.frameStoppedLoading" => (page.is_loading, page.is_requested) = (false, false),
        "Page.lifecycleEvent" => {
            // The first word about a document need not be that it begins; the last about another may come late.
            if text("loaderId") == page.left {
                return;
            }
            begin(page, text("loaderId"));
            match text("name") {
                "DOMContentLoaded" => page.reached.parsed = true,
                // That it has stopped loading is said somewhat later.
                "load" => (page.reached.loaded, page.is_loading) = (true, false),
                "networkIdle" => page.reached.idle = true,
                _ => {}
            }
        }
        "Network.requestWillBeSent" if text("type") == "Document" && params["requestId"] == params["loaderId"] => {
            let url = params["request"]["url"].as_str().unwrap_or_default();
            page.asked = text_kit::truncate(url, 2_000);
        }
        "Network.responseReceived" if text("type") == "Document" && params["requestId"] == params["loaderId"] => {
            let status = params["response"]["status"].as_u64().and_then(|status| u16::try_from(status).ok());
            page.status = status.map(|status| (text("loaderId").to_owned(), status));
        }
        _ => {}
    }
}

/// Another document begins, unless it is this one.
fn begin(page: &mut PageState, loader: &str) {
    if page.loader != loader {
        page.left = std::mem::replace(&mut page.loader, loader.to_owned());
        page.reached = Reached::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_dialogs_and_downloads_are_followed() {
        let ((link, mut commands), events) = (Link::new(), Events::default());
        let happens = |session: Option<&str>, method: &str, params: Value| events.take(&link, session, method, &params);
        let target = |kind: &str| json!({"sessionId": "s", "targetInfo": {"targetId": "T", "type": kind}});
        happens(None, "Target.attachedToTarget", target("worker"));
        assert!(events.with(|state| state.pages.is_empty()));
        happens(None, "Target.attachedToTarget", target("page"));
        let life = |frame: &str, loader: &str, name: &str| {
            happens(Some("s"), "Page.lifecycleEvent", json!({"frameId": frame, "loaderId": loader, "name": name}));
        };
        life("T", "1", "init");
        life("T", "1", "load");
        life("other", "9", "init");
        let page = || events.with(|state| state.current().cloned().unwrap());
        assert!(page().reached.loaded && page().loader == "1");
        let asked = json!({"frameId": "T", "disposition": "currentTab", "url": "http://a/"});
        happens(Some("s"), "Page.frameRequestedNavigation", asked);
        assert!(page().is_requested);
        happens(Some("s"), "Page.frameStartedLoading", json!({"frameId": "T"}));
        assert!(page().is_loading && !page().is_requested);
        let answered =
            json!({"frameId": "T", "type": "Document", "loaderId": "2", "requestId": "2", "response": {"status": 404}});
        happens(Some("s"), "Network.responseReceived", answered);
        let to = json!({"frameId": "T", "type": "Document", "loaderId": "2", "requestId": "2", "request": {"url": "http://b/"}});
        happens(Some("s"), "Network.requestWillBeSent", to);
        assert_eq!(page().asked, "http://b/");
        life("T", "2", "init");
        happens(Some("s"), "Page.frameNavigated", json!({"frame": {"id": "T", "loaderId": "2"}}));
        life("T", "1", "networkIdle");
        assert!(page().reached == Reached::default() && page().status == Some(("2".into(), 404)));
        happens(Some("s"), "Page.javascriptDialogOpening", json!({"type": "confirm", "message": "Sure?"}));
        happens(Some("s"), "Page.javascriptDialogOpening", json!({"type": "beforeunload", "message": ""}));
        assert_eq!(events.with(|state| state.dialogs.clone()), ["confirm: Sure?"]);
        happens(None, "Browser.downloadWillBegin", json!({"guid": "g", "suggestedFilename": "a.pdf", "url": "u"}));
        happens(None, "Browser.downloadProgress", json!({"guid": "g", "receivedBytes": 1e9, "state": "inProgress"}));
        happens(Some("s"), "Inspector.targetCrashed", json!({}));
        assert!(page().is_crashed);
        happens(None, "Target.detachedFromTarget", json!({"sessionId": "s"}));
        assert!(events.with(|state| state.current().is_none()));
        let mut sent = vec![];
        while let Ok(command) = commands.try_recv() {
            let command: Value = serde_json::from_slice(&command[..command.len() - 1]).unwrap();
            sent.push((command["method"].as_str().unwrap().to_owned(), command["params"]["accept"].clone()));
        }
        let rest = [("Page.handleJavaScriptDialog", json!(false)), ("Page.handleJavaScriptDialog", json!(true))];
        assert_eq!(sent[5..7], rest.map(|(method, accept)| (method.to_owned(), accept)));
        assert_eq!(sent[7].0, "Browser.cancelDownload");
    }
}
