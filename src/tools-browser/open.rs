//! The browsers that are open: one for each conversation, a few at once, closed when nobody uses them.

use crate::{
    gate::{PageGate, Place},
    key::Key,
};
use browser::{Browser, Chromium};
use http_client::Guarded;
use std::{
    collections::{HashMap, VecDeque},
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};
use tool::{Cx, Error, Id, Result, UserId};
use url::Url;
use workspace::Workspaces;

/// How long a call waits for others of its conversation.
const TURN: Duration = Duration::from_secs(150);
/// How long after its last call a browser is not closed for another person.
const RESERVED: Duration = Duration::from_secs(60);
/// How many are remembered that were closed for others.
const GIVEN_UP: usize = 32;

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct BrowserTools(Arc<Inner>);

struct Inner {
    chromium: Chromium,
    workspaces: Workspaces,
    web: Guarded,
    open: Mutex<HashMap<Key, Arc<Conversation>>>,
    /// Whose browsers were closed to make room, the latest at the end.
    given_up: Mutex<VecDeque<Key>>,
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
    /// Where a browser was that this call has closed for one at another place.
    left: Option<Place>,
}

impl BrowserTools {
    /// The tools over these parts.
    pub fn new(chromium: Chromium, workspaces: Workspaces, web: Guarded) -> Self {
        Self(Arc::new(Inner { chromium, workspaces, web, open: Mutex::default(), given_up: Mutex::default() }))
    }

    pub(crate) fn workspaces(&self) -> &Workspaces {
        &self.0.workspaces
    }

    pub(crate) fn web(&self) -> &Guarded {
        &self.0.web
    }

    /// Closes the browser of a conversation that was deleted.
    pub fn forget(&self, user: UserId, conversation: Id) {
        self.all().remove(&Key::of_conversation(user, conversation));
    }

    /// Closes every browser, at shutdown.
    pub fn close_all(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Arc<Conversation>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The browser of this conversation at this place, started where there is none. One at another place is closed.
    ///
    /// # Errors
    /// `Unavailable` where there is no Chromium, or too many are open.
    pub(crate) async fn open(&self, cx: &Cx, place: Place) -> Result<InUse> {
        let key = Key::of(cx);
        let conversation = self.room(&key)?;
        let mut in_use = self.take(cx, key, conversation).await?;
        if let Some(opened) = &*in_use.guard
            && (opened.browser.is_ended() || !opened.gate.place().has(&place))
        {
            in_use.left = (!opened.browser.is_ended()).then(|| opened.gate.place().clone());
            *in_use.guard = None;
        }
        if in_use.guard.is_none() {
            cx.progress("starting the browser");
            let gate = Arc::new(PageGate::new(self.0.web.clone(), cx.clone(), place));
            let started = tokio::select! {
                started = self.0.chromium.start(gate.clone()) => started,
                () = cx.cancel().cancelled() => Err(browser::Error::Failed("it was stopped".into())),
            };
            match started {
                Ok(browser) => *in_use.guard = Some(Opened { browser, gate }),
                Err(error) => {
                    self.remove(&in_use.key, &in_use.conversation);
                    return Err(in_use.error(error));
                }
            }
        }
        Ok(in_use)
    }

    /// The browser of this conversation, in which something is open.
    ///
    /// # Errors
    /// `NotFound` where there is none; `Failed` where it has ended by itself.
    pub(crate) async fn current(&self, cx: &Cx) -> Result<InUse> {
        let key = Key::of(cx);
        let Some(conversation) = self.all().get(&key).cloned() else { return Err(self.nothing_open(&key)) };
        let mut in_use = self.take(cx, key, conversation).await?;
        match &*in_use.guard {
            None => Err(self.nothing_open(&in_use.key)),
            Some(opened) if opened.browser.is_ended() => {
                let error = opened.browser.end();
                Err(in_use.error(error))
            }
            Some(_) => Ok(in_use),
        }
    }

    /// Closes the browser of this conversation; `false` where none is open.
    pub(crate) fn close(&self, cx: &Cx) -> bool {
        let key = Key::of(cx);
        self.given_up().retain(|one| *one != key);
        self.all().remove(&key).is_some()
    }

    fn given_up(&self) -> MutexGuard<'_, VecDeque<Key>> {
        self.0.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nothing_open(&self, key: &Key) -> Error {
        let config = self.0.chromium.config();
        if self.given_up().contains(key) {
            return Error::not_found(format!(
                "the browser of this conversation was closed to make room for another one, because this device opens {} at once: \
                 open the page again with browser_navigate; cookies and what was typed are gone",
                text_kit::counted(config.at_once, "browser")
            ))
            .say("The page was closed to make room for another one.");
        }
        let minutes = config.idle_seconds.div_ceil(60);
        Error::not_found(format!(
            "no page is open in this conversation: open one with browser_navigate. A browser is closed after {} without use",
            text_kit::counted(minutes, "minute")
        ))
        .say("No page is open here.")
    }

    /// The room of a conversation. Where all is taken, the browser that was not used for longest is closed, but no other person's
    /// that was used just now.
    fn room(&self, key: &Key) -> Result<Arc<Conversation>> {
        let mut all = self.all();
        self.given_up().retain(|one| one != key);
        if let Some(conversation) = all.get(key) {
            return Ok(conversation.clone());
        }
        let most = self.0.chromium.config().at_once;
        while all.len() >= most {
            let may_close = |of: &Key, one: &Conversation| of.user == key.user || one.used().elapsed() >= RESERVED;
            let idle = all.iter().filter(|(of, one)| one.browser.try_lock().is_ok() && may_close(of, one));
            let Some(oldest) = idle.min_by_key(|(_, one)| one.used()).map(|(key, _)| key.clone()) else {
                return Err(Error::unavailable(format!(
                    "{} are in use at this moment, and this device opens no more: try again in a minute",
                    text_kit::counted(most, "browser")
                )));
            };
            all.remove(&oldest);
            let mut given_up = self.given_up();
            given_up.push_back(oldest);
            if given_up.len() > GIVEN_UP {
                given_up.pop_front();
            }
        }
        let conversation = Arc::new(Conversation { browser: Arc::default(), used: Mutex::new(Instant::now()) });
        all.insert(key.clone(), conversation.clone());
        self.close_when_idle(key.clone(), &conversation);
        Ok(conversation)
    }

    async fn take(&self, cx: &Cx, key: Key, conversation: Arc<Conversation>) -> Result<InUse> {
        let turn = tokio::time::timeout(TURN, conversation.browser.clone().lock_owned());
        let guard = tokio::select! {
            () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was stopped")),
            guard = turn => guard.map_err(|_| Error::unavailable("another call uses the browser: try again in a minute"))?,
        };
        Ok(InUse { guard, conversation, key, tools: self.clone(), left: None })
    }

    /// Removes a conversation's browser, unless another one has taken its place.
    fn remove(&self, key: &Key, conversation: &Arc<Conversation>) {
        let mut all = self.all();
        if all.get(key).is_some_and(|now| Arc::ptr_eq(now, conversation)) {
            all.remove(key);
        }
    }

    fn close_when_idle(&self, key: Key, conversation: &Arc<Conversation>) {
        let (tools, conversation) = (Arc::downgrade(&self.0), Arc::downgrade(conversation));
        let limit = Duration::from_secs(self.0.chromium.config().idle_seconds);
        tokio::spawn(async move {
            while let Some(rest) = idle_rest(&tools, &key, &conversation, limit) {
                tokio::time::sleep(rest).await;
            }
        });
    }
}

/// How long a browser may still stay; `None` once it is gone, or closed by this.
fn idle_rest(tools: &Weak<Inner>, key: &Key, conversation: &Weak<Conversation>, limit: Duration) -> Option<Duration> {
    let (tools, conversation) = (BrowserTools(tools.upgrade()?), conversation.upgrade()?);
    // A call that takes long uses it all the while.
    let Ok(_unused) = conversation.browser.try_lock() else { return Some(limit) };
    // One that has ended by itself stays as long, for the next call to say so.
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
        self.guard.as_ref().ok_or_else(|| self.tools.nothing_open(&self.key))
    }

    /// What a call says that has closed the browser of another place.
    pub fn left(&self) -> Option<String> {
        self.left.as_ref().map(|left| {
            format!(
                "The browser of this conversation, which was at {}, was closed, and its cookies and sign-ins are gone: one is either \
                 on the internet or at one host of the house.",
                left.name()
            )
        })
    }

    /// The error of a call for one of the browser; a browser of no more use is closed.
    pub fn error(&mut self, error: browser::Error) -> Error {
        use browser::Error as E;
        let asked = self.guard.as_ref().and_then(|opened| Url::parse(&opened.browser.asked()?).ok());
        let refusals = self.guard.as_ref().map(|opened| opened.gate.take_refusals()).unwrap_or_default();
        if matches!(error, E::Ended(_) | E::Silent(_)) {
            *self.guard = None;
            self.tools.remove(&self.key, &self.conversation);
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
            E::NoPage => self.tools.nothing_open(&self.key),
            E::NotLoaded(why) => {
                match refusals.into_iter().find(|refusal| asked.as_ref().is_some_and(|url| refusal.is_of(url))) {
                    // The guard's reason says more than Chromium's.
                    Some(refusal) => Error::denied(refusal.why),
                    None => Error::failed(format!("the page was not opened: {why}")),
                }
            }
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
