//! JavaScript inside wasmi: a fresh instance from a snapshot for each call.
//!
//! [`Sandbox::run`] runs the body of one async function. What it may reach is the [`Host`] it is given, and the host
//! authorises each operation: the JavaScript around the tool is convenience, the wasm instance is the boundary.
//!
//! The guest is quickjs-ng compiled to wasm by `build.rs`. It is parsed once, its start-up runs once, and the linear
//! memory after that is laid into a new instance for every call, so that no call sees what another left behind.

mod budget;
mod fault;
mod machine;
mod native;
mod run;
mod validate;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_utils;

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use crate::{budget::Budget, machine::Machine};
pub use crate::{
    budget::memory_budget,
    fault::Fault,
    validate::{Forbidden, validate, without_comments},
};
use futures::future::BoxFuture;
use serde_json::Value;

/// Calls that compute at the same time. Those that wait for the host do not count.
const COMPUTING: usize = 2;

/// What the tool may ask of the world. Implementations authorise each call themselves.
pub trait Host: Send + Sync + 'static {
    /// Asynchronous operations. The text of an error is thrown in JavaScript as an `Error`.
    ///
    /// | op | input | answer |
    /// |---|---|---|
    /// | `fetch` | `{url, method, headers: {name: value}, body: string or null}` | `{status, headers, body: string, url}`, `statusText` if known |
    /// | `callTool` | `{name, args}` | whatever the tool gave back |
    fn operate(&self, op: &str, input: Value) -> BoxFuture<'static, Result<Value, String>>;

    /// For how long so far a person was being asked, and whether one is being asked right now: that time does not count
    /// against [`Limits::wall`].
    fn paused(&self) -> (Duration, bool) {
        (Duration::ZERO, false)
    }

    /// Immediate operations, called on a thread that may block for a moment.
    ///
    /// | op | input | answer |
    /// |---|---|---|
    /// | `listTools` | null | `[{name, description, parameters}]` |
    /// | `getApiKey` | `{service}` | string or null |
    /// | `getServiceConfig` | `{service}` | object or null |
    /// | `getConfigEntry` | `{service, entry: label or null}` | object or null |
    /// | `getConfigEntries` | `{service}` | array of objects |
    /// | `getFieldValue` | `{service, field, entry: label or null}` | any value, null if absent |
    fn query(&self, op: &str, input: Value) -> Result<Value, String>;
}

/// One call of a tool.
#[derive(Debug, Clone)]
pub struct Script {
    /// The body of an async function of `args, context, utils, fetch, console`, in strict mode.
    pub code: String,
    pub args: Value,
    pub context: Value,
    /// Without it `fetch` is undefined, and refused should the tool reach the operation otherwise.
    pub network: bool,
    /// Whether another tool's call waits for this one: then it comes before new calls, and gives up earlier when there is no
    /// memory for it, so that tools which call tools do not wait for each other.
    pub nested: bool,
}

/// What one call may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory, the interpreter's own 1.9 MB included.
    pub memory: usize,
    /// CPU time of the tool's own code.
    pub cpu: Duration,
    /// Time from the first instruction to the result, operations included; waiting for a turn is not counted.
    pub wall: Duration,
    pub fetches: u32,
    /// Operations of the host in all, `utils.sleep` included.
    pub calls: u32,
    /// Bytes of the result as JSON, and of the input of one operation.
    pub output: usize,
    /// Bytes of console output that are kept.
    pub logs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory: 50 << 20,
            cpu: Duration::from_secs(5),
            wall: Duration::from_secs(30),
            fetches: 10,
            calls: 100,
            output: 1 << 20,
            logs: 64 << 10,
        }
    }
}

/// One line of the tool's console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// `debug`, `log`, `warn` or `error`.
    pub level: &'static str,
    pub text: String,
}

/// How a call ended and what it took.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub result: Result<Value, Fault>,
    pub logs: Vec<Log>,
    pub cpu: Duration,
    /// As [`Limits::wall`] counts it.
    pub wall: Duration,
}

/// Runs tools. Clones share one memory budget and one engine, which exists from the first call until `idle` after the last.
#[derive(Clone)]
pub struct Sandbox(Arc<Shared>);

struct Shared {
    idle: Duration,
    budget: Arc<Budget>,
    machine: tokio::sync::Mutex<Option<Arc<Machine>>>,
    used: std::sync::Mutex<Instant>,
}

impl Sandbox {
    /// Nothing is parsed until the first call; engine and snapshot (about 8 MB) are dropped after `idle`. All instances
    /// together use at most `memory` bytes (see [`memory_budget`]); calls wait their turn, or fail with [`Fault::Busy`].
    pub fn new(idle: Duration, memory: usize) -> Self {
        Sandbox(Arc::new(Shared {
            idle,
            budget: Budget::new(memory, COMPUTING),
            machine: tokio::sync::Mutex::new(None),
            used: std::sync::Mutex::new(Instant::now()),
        }))
    }

    /// Runs one call to its end. Dropping the future ends the call: its operations are dropped and its code stops
    /// within a few milliseconds. It never blocks the thread that polls it.
    ///
    /// Operations that the tool began and did not await end with it.
    pub async fn run(&self, script: Script, host: Arc<dyn Host>, limits: Limits) -> Outcome {
        let outcome = match self.0.machine().await {
            Ok(machine) => run::run(machine, self.0.budget.clone(), script, host, limits).await,
            Err(problem) => Outcome::failed(&problem),
        };
        self.0.touch();
        outcome
    }
}

impl Outcome {
    fn failed(problem: &str) -> Outcome {
        let result = Err(Fault::Internal(problem.to_owned()));
        Outcome { result, logs: Vec::new(), cpu: Duration::ZERO, wall: Duration::ZERO }
    }
}

impl Shared {
    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// The engine, made at the first call and again after an idle time.
    async fn machine(self: &Arc<Self>) -> Result<Arc<Machine>, String> {
        self.touch();
        let mut slot = self.machine.lock().await;
        if let Some(machine) = &*slot {
            return Ok(machine.clone());
        }
        let made = tokio::task::spawn_blocking(Machine::new).await.map_err(|error| error.to_string())?;
        let machine = Arc::new(made.map_err(|error| format!("the JavaScript engine does not start: {error}"))?);
        *slot = Some(machine.clone());
        tokio::spawn(drop_when_idle(Arc::downgrade(self), self.idle));
        Ok(machine)
    }
}

async fn drop_when_idle(shared: std::sync::Weak<Shared>, idle: Duration) {
    let mut wait = idle;
    loop {
        tokio::time::sleep(wait).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut slot = shared.machine.lock().await;
        let rested = shared.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        let busy = slot.as_ref().is_some_and(|machine| Arc::strong_count(machine) > 1);
        if rested >= idle && !busy {
            *slot = None;
            return;
        }
        wait = if busy { idle } else { idle.saturating_sub(rested) }.max(Duration::from_millis(10));
    }
}
