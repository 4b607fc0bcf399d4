//! A call, and the chain of steps that it goes through.
//!
//! `before` runs in the order of the chain, `after` in reverse, for the steps whose `before` passed. A step may change the
//! arguments, stop the call, or change the result.

use crate::{Decision, entry::Entry};
use futures::future::{BoxFuture, ready};
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::{Cx, Error, Output, Result};

/// One call on its way through the chain.
pub struct Call {
    /// The context of the caller.
    pub caller: Cx,
    /// The context the tool receives: the same, with an id for this call.
    pub cx: Cx,
    /// The arguments; from the step `validate` on they match the tool's schema.
    pub args: Value,
    /// The decision; `None` when the call was stopped before.
    pub decision: Option<Decision>,
    /// The approval a person gave to this call.
    pub approval: Option<tool::Id>,
    /// Corrections of the arguments, as sentences.
    pub corrected: Vec<String>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) began: Instant,
    /// Set once the tool has received the arguments.
    digest: Option<[u8; 32]>,
    /// Records the call if the caller disconnects before its end.
    pub(crate) unfinished: Mutex<Option<Box<dyn CallLog>>>,
}

/// Records calls that ended.
pub(crate) trait CallLog: Send {
    /// Counts and records a call by its outcome.
    fn record(&self, call: &Call, outcome: &str);
}

impl Drop for Call {
    fn drop(&mut self) {
        let log = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(log) = log {
            log.record(self, "gone");
        }
    }
}

impl Call {
    pub(crate) fn new(caller: Cx, entry: Arc<Entry>, args: Value) -> Self {
        let cx = caller.at_call(&entry.tool.name, &entry.tool.owner);
        let (decision, approval, corrected, digest) = (None, None, vec![], None);
        Self {
            caller,
            cx,
            args,
            decision,
            approval,
            corrected,
            entry,
            began: Instant::now(),
            digest,
            unfinished: Mutex::default(),
        }
    }
    /// The tool.
    pub fn tool(&self) -> &Arc<tool::Tool> {
        &self.entry.tool
    }
    /// The digest of tool and arguments, which an approval binds and the audit log stores.
    pub fn digest(&self) -> [u8; 32] {
        self.digest.unwrap_or_else(|| digest_of(&self.entry.tool.name, &self.args))
    }
    /// Computes the digest, once the arguments are those the tool receives.
    pub(crate) fn set_digest(&mut self) {
        self.digest = Some(self.digest());
    }
    /// How long ago the call came in.
    pub fn took(&self) -> Duration {
        self.began.elapsed()
    }
}

/// BLAKE3 over the tool's name and the arguments as JSON with sorted keys.
pub(crate) fn digest_of(tool: &str, args: &Value) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(tool.as_bytes());
    // The name ends where the JSON starts: names have no braces.
    let _ = serde_json::to_writer(&mut hasher, args);
    *hasher.finalize().as_bytes()
}

/// One step of the chain.
pub trait Middleware: Send + Sync {
    /// Its name in logs.
    fn name(&self) -> &'static str;
    /// Runs before the tool. An error stops the call and is its outcome.
    fn before<'a>(&'a self, _: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(Ok(())))
    }
    /// Runs after the tool, or after a later step stopped the call.
    fn after<'a>(&'a self, _: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        Box::pin(ready(result))
    }
}

/// The steps of every call, in order: `audit · cap · scrub · (yours) · confidential · limits · validate · decide · rates · events · changes · begin`.
pub(crate) type Chain = Arc<[Arc<dyn Middleware>]>;

/// Runs a call through the chain; `run` is the tool itself.
pub(crate) async fn through<F>(
    chain: &Chain,
    mut call: Call,
    run: impl FnOnce(Cx, Arc<tool::Tool>, Value) -> F,
) -> Result<Output>
where
    F: Future<Output = Result<Output>>,
{
    let mut passed = 0;
    let mut stopped = None;
    for step in chain.iter() {
        if let Err(error) = step.before(&mut call).await {
            tracing::debug!(tool = %call.tool().name, step = step.name(), %error, "stopped");
            stopped = Some(error);
            break;
        }
        passed += 1;
    }
    let mut result = match stopped {
        Some(error) => Err(error),
        None => {
            call.set_digest();
            let args = std::mem::take(&mut call.args);
            run(call.cx.clone(), call.entry.tool.clone(), args).await
        }
    };
    for step in chain[..passed].iter().rev() {
        result = step.after(&call, result).await;
    }
    result
}

/// The outcome of a call, as a word.
pub(crate) fn outcome(result: &Result<Output>) -> &'static str {
    result.as_ref().map_or_else(Error::code, |_| "ok")
}
