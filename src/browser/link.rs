//! Commands and answers of the DevTools protocol: JSON texts over a pipe, each with a null byte at its end.

use crate::{
    Error, Result,
    downloads::{Downloads, MOST},
};
use process_sandbox::{Ended, Process, Stream};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The longest message of Chromium, in bytes; what says more has ended.
const MESSAGE: usize = 24 << 20;
/// Commands that wait to be written.
const WAITING: usize = 256;
/// How long writing a command may take.
const WRITE: Duration = Duration::from_secs(20);
/// How often the folder of downloads is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Whoever follows what happens in a browser.
pub(crate) trait Follow: Send + Sync {
    /// An event, of a session or of the whole browser.
    fn take(&self, link: &Link, session: Option<&str>, method: &str, params: &Value);
    /// The browser has ended.
    fn wake(&self);
}

/// The way to a browser. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link(Arc<Inner>);

/// Whoever waits for an answer, by its number, with the session.
type Waiting = HashMap<u64, (Option<String>, oneshot::Sender<Message>)>;

struct Inner {
    next: AtomicU64,
    /// Who waits for which answer, and of which session; `None` once the browser has ended.
    waiting: Mutex<Option<Waiting>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    /// Why it has ended.
    end: Mutex<Option<String>>,
}

/// What Chromium says: an answer, or an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: Option<u64>,
    #[serde(default)]
    result: Value,
    error: Option<Problem>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    session_id: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    message: String,
}

impl Link {
    pub fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (outgoing, commands) = mpsc::channel(WAITING);
        let waiting = Mutex::new(Some(HashMap::new()));
        let inner = Inner { next: AtomicU64::new(1), waiting, outgoing, end: Mutex::default() };
        (Self(Arc::new(inner)), commands)
    }

    /// Sends a command, and waits for its answer.
    pub async fn call(&self, session: Option<&str>, method: &str, params: Value, within: Duration) -> Result<Value> {
        let (answer, answered) = oneshot::channel();
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        match &mut *self.waiting() {
            Some(waiting) => waiting.insert(id, (session.map(str::to_owned), answer)),
            None => return Err(self.ended()),
        };
        if self.0.outgoing.send(text(id, session, method, params)).await.is_err() {
            return Err(self.ended());
        }
        match timeout(within, answered).await {
            Ok(Ok(Message { error: Some(problem), .. })) => {
                Err(Error::Failed(format!("Chromium says: {}", text_kit::truncate(&problem.message, 300))))
            }
            Ok(Ok(message)) => Ok(message.result),
            // Nobody will answer any more.
            Ok(Err(_)) if self.is_ended() => Err(self.ended()),
            Ok(Err(_)) => Err(Error::Crashed),
            Err(_) => {
                if let Some(waiting) = &mut *self.waiting() {
                    waiting.remove(&id);
                }
                Err(Error::Silent(within.as_secs()))
            }
        }
    }

    /// Sends a command whose answer does not matter. Left out where too many wait.
    pub fn post(&self, session: Option<&str>, method: &str, params: Value) {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.0.outgoing.try_send(text(id, session, method, params));
    }

    /// Lets those fail who wait for answers of a session that is gone.
    pub fn drop_session(&self, session: &str) {
        if let Some(waiting) = &mut *self.waiting() {
            waiting.retain(|_, (of, _)| of.as_deref() != Some(session));
        }
    }

    pub fn is_ended(&self) -> bool {
        self.waiting().is_none()
    }

    /// The error of whatever is done with a browser that has ended.
    pub fn ended(&self) -> Error {
        let end = self.0.end.lock().unwrap_or_else(PoisonError::into_inner);
        Error::Ended(end.clone().unwrap_or_else(|| "the browser has ended".into()))
    }

    fn end(&self, why: String) {
        *self.0.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        *self.waiting() = None;
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, events: &dyn Follow, text: &[u8]) {
        let message: Message = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(error) => return tracing::debug!(%error, "Chromium said something unreadable"),
        };
        if let Some(id) = message.id {
            let waits = self.waiting().as_mut().and_then(|waiting| waiting.remove(&id));
            if let Some((_, answer)) = waits {
                // Whoever asked may have gone.
                let _ = answer.send(message);
            }
        } else if let Some(method) = &message.method {
            tracing::trace!(method, session = message.session_id.as_deref(), "happened");
            events.take(self, message.session_id.as_deref(), method, &message.params);
        }
    }
}

fn text(id: u64, session: Option<&str>, method: &str, params: Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    // JSON has no null byte in it.
    let mut text = message.to_string().into_bytes();
    text.push(0);
    text
}

/// Carries commands and messages until the browser ends or is dropped.
pub(crate) async fn carry(
    mut process: Process,
    mut commands: mpsc::Receiver<Vec<u8>>,
    link: Link,
    events: Arc<dyn Follow>,
    downloads: &Downloads,
    memory_mb: u64,
) {
    let mut incoming = Vec::new();
    let mut looks = tokio::time::interval(LOOK);
    let problem = loop {
        tokio::select! {
            chunk = process.next() => match chunk {
                None => break None,
                Some(chunk) if chunk.stream == Stream::Err => {
                    tracing::trace!(text = %String::from_utf8_lossy(&chunk.bytes), "Chromium");
                }
                Some(chunk) => {
                    let mut rest = &chunk.bytes[..];
                    while let Some(end) = memchr::memchr(0, rest) {
                        incoming.extend_from_slice(&rest[..end]);
                        link.take(&*events, &incoming);
                        incoming.clear();
                        rest = &rest[end + 1..];
                    }
                    // A large message was an exception.
                    if incoming.is_empty() {
                        incoming.shrink_to(1 << 20);
                    }
                    incoming.extend_from_slice(rest);
                    if incoming.len() > MESSAGE {
                        break Some(format!("the page gave more than {} MB at once", MESSAGE >> 20));
                    }
                }
            },
            command = commands.recv() => {
                let Some(command) = command else { break None };
                if !matches!(timeout(WRITE, process.write(&command)).await, Ok(Ok(()))) {
                    break None;
                }
            }
            _ = looks.tick() => {
                if !downloads.is_small() {
                    break Some(format!("it downloaded more than {} MB", MOST >> 20));
                }
            }
        }
    };
    process.stop();
    let ended = process.wait().await;
    link.end(problem.unwrap_or_else(|| match ended {
        Ended::OutOfMemory => format!("its pages needed more than the {memory_mb} MB of memory that a browser may use"),
        Ended::TimedOut => "it computed for longer than a browser may".into(),
        Ended::Exited(_) | Ended::Signaled(_) => "it crashed or was ended".into(),
        _ => "it was stopped".into(),
    }));
    events.wake();
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Follow for Nobody {
        fn take(&self, _: &Link, _: Option<&str>, _: &str, _: &Value) {}
        fn wake(&self) {}
    }

    #[tokio::test]
    async fn answers_reach_whoever_asked() {
        let (link, mut commands) = Link::new();
        let asking = {
            let link = link.clone();
            tokio::spawn(async move { link.call(Some("s"), "Page.reload", json!({}), Duration::from_secs(60)).await })
        };
        let command = commands.recv().await.unwrap();
        assert_eq!(command.last(), Some(&0));
        let sent: Value = serde_json::from_slice(&command[..command.len() - 1]).unwrap();
        assert_eq!((&sent["method"], &sent["sessionId"]), (&json!("Page.reload"), &json!("s")));
        for noise in [&b"no json"[..], b"{}", br#"{"id":99,"result":{}}"#, br#"{"method":"X.y"}"#] {
            link.take(&Nobody, noise);
        }
        link.take(&Nobody, format!(r#"{{"id":{},"result":{{"a":1}}}}"#, sent["id"]).as_bytes());
        assert_eq!(asking.await.unwrap(), Ok(json!({"a": 1})));
    }

    #[tokio::test]
    async fn nobody_waits_for_what_is_gone() {
        let (link, _commands) = Link::new();
        let waits = |session: Option<&'static str>| {
            let link = link.clone();
            tokio::spawn(async move { link.call(session, "X.y", json!({}), Duration::from_secs(60)).await })
        };
        let (of_page, of_all) = (waits(Some("page")), waits(None));
        while link.waiting().as_ref().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        link.drop_session("page");
        assert_eq!(of_page.await.unwrap(), Err(Error::Crashed));
        link.end("it crashed".into());
        assert_eq!(of_all.await.unwrap(), Err(Error::Ended("it crashed".into())));
        let late = link.call(None, "X.y", json!({}), Duration::from_secs(60)).await;
        assert_eq!(late, Err(Error::Ended("it crashed".into())));
        let (silent, _commands) = Link::new();
        let late = silent.call(None, "X.y", json!({}), Duration::from_millis(1)).await;
        assert_eq!((late, silent.waiting().as_ref().unwrap().len()), (Err(Error::Silent(0)), 0));
    }
}
