//! The browsers that are open: one for each conversation, a few at once, closed when nobody uses them.

use crate::gate::PageGate;
use browser::{Browser, Chromium};
use http_client::Guarded;
use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tool::{Cx, Error, Id, Result, UserId};
use workspace::Workspaces;

/// How long a call waits for others of its conversation.
const TURN: Duration = Duration::from_secs(150);

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct BrowserTools(Arc<Inner>);

struct Inner {
    chromium: Chromium,
    workspaces: Workspaces,
    web: Guarded,
    open: Mutex<HashMap<Key, Arc<Conversation>>>,
}

/// Whose browser it is. Calls without a conversation share one a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    user: UserId,
    conversation: Option<Id>,
}

impl Key {
    fn of(cx: &Cx) -> Self {
        Self { user: cx.user(), conversation: cx.conversation() }
    }
}

/// The browser of a conversation.
struct Conversation {
    browser: Arc<AsyncMutex<Option<Opened>>>,
    used: Mutex<Instant>,
}

/// A browser and its way to the network.
pub(crate) struct Opened {
    pub browser: Browser,
    pub gate: Arc<PageGate>,
}

/// A browser while a call uses it.
pub(crate) struct InUse {
    guard: OwnedMutexGuard<Option<Opened>>,
    conversation: Arc<Conversation>,
    key: Key,
    tools: BrowserTools,
}

impl BrowserTools {
    /// The tools over these parts.
    pub fn new(chromium: Chromium, workspaces: Workspaces, web: Guarded) -> Self {
        Self(Arc::new(Inner { chromium, workspaces, web, open: Mutex::default() }))
    }

    pub(crate) fn workspaces(&self) -> &Workspaces {
        &self.0.workspaces
    }

    pub(crate) fn web(&self) -> &Guarded {
        &self.0.web
    }

    /// Closes the browser of a conversation that was deleted.
    pub fn forget(&self, user: UserId, conversation: Id) {
        self.all().remove(&Key { user, conversation: Some(conversation) });
    }

    /// Closes every browser, at shutdown.
    pub fn close_all(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Arc<Conversation>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The browser of this conversation, started where there is none.
    ///
    /// # Errors
    /// `Unavailable` where there is no Chromium, or too many are open.
    pub(crate) async fn open(&self, cx: &Cx) -> Result<InUse> {
        let key = Key::of(cx);
        let conversation = self.place(key)?;
        let mut in_use = self.take(cx, key, conversation).await?;
        if in_use.guard.as_ref().is_some_and(|opened| opened.browser.is_ended()) {
            *in_use.guard = None;
        }
        if in_use.guard.is_none() {
            cx.progress("starting the browser");
            let gate = Arc::new(PageGate::new(self.0.web.clone(), cx.clone()));
            let started = tokio::select! {
                started = self.0.chromium.start(gate.clone()) => started,
                () = cx.cancel().cancelled() => Err(browser::Error::Failed("it was stopped".into())),
            };
            match started {
                Ok(browser) => *in_use.guard = Some(Opened { browser, gate }),
                Err(error) => {
                    self.remove(key, &in_use.conversation);
                    return Err(in_use.error(error));
                }
            }
            self.close_when_idle(key, &in_use.conversation);
        }
        Ok(in_use)
    }

    /// The browser of this conversation, in which something is open.
    ///
    /// # Errors
    /// `NotFound` where there is none; `Failed` where it has ended by itself.
    pub(crate) async fn current(&self, cx: &Cx) -> Result<InUse> {
        let key = Key::of(cx);
        let Some(conversation) = self.all().get(&key).cloned() else { return Err(self.nothing_open()) };
        let mut in_use = self.take(cx, key, conversation).await?;
        match &*in_use.guard {
            None => Err(self.nothing_open()),
            Some(opened) if opened.browser.is_ended() => {
                let error = opened.browser.end();
                Err(in_use.error(error))
            }
            Some(_) => Ok(in_use),
        }
    }

    /// Closes the browser of this conversation; `false` where none is open.
    pub(crate) fn close(&self, cx: &Cx) -> bool {
        self.all().remove(&Key::of(cx)).is_some()
    }

    fn nothing_open(&self) -> Error {
        let minutes = self.0.chromium.config().idle_seconds.div_ceil(60);
        Error::not_found(format!(
            "no page is open in this conversation: open one with browser_navigate. A browser is closed after {} without use",
            text_kit::counted(minutes, "minute")
        ))
        .say("No page is open here.")
    }

    /// The place of a conversation; where all are taken, the browser that was not used for longest is closed.
    fn place(&self, key: Key) -> Result<Arc<Conversation>> {
        let mut all = self.all();
        if let Some(conversation) = all.get(&key) {
            return Ok(conversation.clone());
        }
        let most = self.0.chromium.config().at_once;
        while all.len() >= most {
            let idle = all.iter().filter(|(_, one)| one.browser.try_lock().is_ok());
            let Some(oldest) = idle.min_by_key(|(_, one)| one.used()).map(|(key, _)| *key) else {
                return Err(Error::unavailable(format!(
                    "{} are in use at this moment, and this device opens no more: try again in a minute",
                    text_kit::counted(most, "browser")
                )));
            };
            all.remove(&oldest);
        }
        let conversation = Arc::new(Conversation { browser: Arc::default(), used: Mutex::new(Instant::now()) });
        all.insert(key, conversation.clone());
        Ok(conversation)
    }

    async fn take(&self, cx: &Cx, key: Key, conversation: Arc<Conversation>) -> Result<InUse> {
        let turn = tokio::time::timeout(TURN, conversation.browser.clone().lock_owned());
        let guard = tokio::select! {
            () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was stopped")),
            guard = turn => guard.map_err(|_| Error::unavailable("another call uses the browser: try again in a minute"))?,
        };
        Ok(InUse { guard, conversation, key, tools: self.clone() })
    }

    /// Removes a conversation's browser, unless another one has taken its place.
    fn remove(&self, key: Key, conversation: &Arc<Conversation>) {
        let mut all = self.all();
        if all.get(&key).is_some_and(|now| Arc::ptr_eq(now, conversation)) {
            all.remove(&key);
        }
    }

    fn close_when_idle(&self, key: Key, conversation: &Arc<Conversation>) {
        let (tools, conversation) = (Arc::downgrade(&self.0), Arc::downgrade(conversation));
        let limit = Duration::from_secs(self.0.chromium.config().idle_seconds);
        tokio::spawn(async move {
            while let Some(rest) = idle_rest(&tools, key, &conversation, limit) {
                tokio::time::sleep(rest).await;
            }
        });
    }
}

/// How long a browser may still stay; `None` once it is gone, or closed by this.
fn idle_rest(tools: &Weak<Inner>, key: Key, conversation: &Weak<Conversation>, limit: Duration) -> Option<Duration> {
    let (tools, conversation) = (BrowserTools(tools.upgrade()?), conversation.upgrade()?);
    // A call that takes long uses it all the while.
    let Ok(opened) = conversation.browser.try_lock() else { return Some(limit) };
    if opened.as_ref()?.browser.is_ended() {
        // The next call says so.
        return Some(limit).filter(|limit| conversation.used().elapsed() < *limit).or_else(|| {
            tools.remove(key, &conversation);
            None
        });
    }
    let rest = limit.saturating_sub(conversation.used().elapsed());
    if rest.is_zero() {
        tools.remove(key, &conversation);
        return None;
    }
    Some(rest)
}

impl Conversation {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InUse {
    pub fn browser(&self) -> Result<&Browser> {
        Ok(&self.opened()?.browser)
    }

    pub fn opened(&self) -> Result<&Opened> {
        self.guard.as_ref().ok_or_else(|| self.tools.nothing_open())
    }

    /// The error of a call for one of the browser; a browser of no more use is closed.
    pub fn error(&mut self, error: browser::Error) -> Error {
        use browser::Error as E;
        let refusals = self.guard.as_ref().map(|opened| opened.gate.take_refusals()).unwrap_or_default();
        if matches!(error, E::Ended(_) | E::Silent(_)) {
            *self.guard = None;
            self.tools.remove(self.key, &self.conversation);
        }
        match error {
            E::Unavailable(why) => {
                Error::unavailable(why).say("I can't open pages here: this device has no browser for it.")
            }
            E::Ended(why) => Error::failed(format!(
                "the browser of this conversation has ended: {why}. Open the page again with browser_navigate; cookies and what \
                 was typed are gone"
            )),
            error @ E::Silent(_) => Error::failed(format!(
                "{error}, and its browser was closed: open the page again with browser_navigate, or another one"
            )),
            error @ E::Crashed => {
                Error::failed(format!("{error}: open it again with browser_navigate, or another one"))
            }
            E::NoPage => self.tools.nothing_open(),
            E::NotLoaded(why) => match refusals.first() {
                // The guard's reason says more than Chromium's.
                Some(refusal) => Error::denied(refusal.why.clone()),
                None => Error::failed(format!("the page was not opened: {why}")),
            },
            E::Failed(why) => Error::failed(why),
        }
    }
}

impl Deref for InUse {
    type Target = BrowserTools;
    fn deref(&self) -> &BrowserTools {
        &self.tools
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        *self.conversation.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
