//! A tool that does nothing, called as a model calls it: through the whole pipeline, with less of it, and alone.
//!
//! The pipeline is that of the daemon: data on disk, audit log, a scrubber that knows secrets, 300 tools, a policy of 300
//! entries; without limits per minute, which would end the measurement. What the audit log leaves to be written later is
//! waited for and counted.

use crate::{Result, Watch, household};
use registry::{PerMinute, Registry, Terms};
use scrub::{How, Scrubber};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{fs, hint::black_box, path::Path, sync::Arc};
use store::Store;
use tool::{
    Bounds, Bus, Channel, Cx, Family, Id, Output, Owner, Ports, Principal, Risk, Role, SystemClock, Via,
    prelude::JsonSchema, prelude::schemars,
};
use tracing_subscriber::EnvFilter;

/// The audit log keeps this many in memory at most: more calls without a commit would not all be written.
const MOST: usize = 20_000;

/// Calls after which the log is as long as it gets.
const FILL: usize = 15_000;
/// How many of them share a commit, and how many commits at the end are measured.
const PIECE: usize = 50;
const MEASURED: usize = 100;

/// List tasks with title, due date and priority, the newest first, by state or tag where wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    /// How many at most.
    limit: Option<u32>,
    /// Only those in this state.
    status: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
}

async fn list_tasks(_: (), _: Cx, args: ListTasks) -> tool::Result<Output> {
    black_box((args.limit, args.status, args.tag));
    Ok(Output::text("done"))
}

fn arguments() -> Value {
    json!({"status": "open", "limit": 20, "tag": "house"})
}

/// Makes `calls` calls of each kind, 20,000 at most. With `log` the daemon's log is written too, into a file.
///
/// # Errors
/// When a call does not do what it should.
pub fn measure(calls: usize, folder: &Path, log: bool) -> Result<Value> {
    let calls = calls.min(MOST);
    fs::create_dir_all(folder)?;
    let scrubber = Scrubber::default();
    scrubber.set("config-center", (0..20).map(|at| format!("sv-{:032x}", 0x9e37_79b9_7f4a_7c15_u128 * (at + 1))));
    if log {
        let (file, known) = (Arc::new(fs::File::create(folder.with_extension("log"))?), scrubber.clone());
        tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("info"))
            .with_writer(move || Log(file.clone(), known.clone()))
            .with_ansi(false)
            .init();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let store = Store::open(folder)?;
        let terms = Terms { per_minute: PerMinute { calls: 0, session_calls: 0 }, ..Terms::default() };
        let kept = filled(Registry::open(&store, terms, scrubber.clone())?)?;
        let (policy, entries) = household::policy(&kept.tools())?;
        let cx = caller(&kept)?;
        kept.change_policy(&cx, |p| *p = policy).await?;
        let warnings = kept.policy().1;
        if !warnings.is_empty() {
            return Err(format!("the policy names what is not there: {warnings:?}").into());
        }

        let whole = through(&cx, calls, &store).await?;
        let told = kept.audit(&registry::AuditQuery { limit: 1, ..Default::default() })?;
        let last = told.entries.first().ok_or("the audit log is empty")?;
        if last.tool != "list_tasks" || last.rule != "default" || last.outcome != "ok" {
            return Err(format!("the audit log tells something else: {last:?}").into());
        }
        // A log that is full, and is written on in small pieces: what is cheap in the beginning may not stay so.
        let mut full = vec![];
        for _ in 0..FILL / PIECE {
            full.push(through(&cx, PIECE, &store).await?);
        }
        let pieces = full.len().min(MEASURED);
        let full = full.iter().rev().take(pieces).sum::<f64>() / pieces as f64;

        // What a change of the catalogue costs, though there is nothing to remove: the rules are made anew for the next call.
        let (nobody, changes) = (Owner::Plugin("nobody".into()), 20);
        let watch = Watch::start();
        for _ in 0..changes {
            kept.remove_owner(&nobody);
            black_box(kept.autonomy(&cx));
        }
        let change = watch.cpu_ms() / f64::from(changes);

        // The same with nothing kept: no audit log, and no policy but the default one.
        let bare = filled(Registry::new()?)?;
        // As within a batch, where the limit per minute is not: here it cannot be turned off.
        let within = caller(&bare)?.at_call("batch_use_tool", &Owner::Core);
        let unkept = through(&within, calls, &store).await?;

        let tool = kept.get("list_tasks").ok_or("the tool is gone")?;
        let watch = Watch::start();
        for _ in 0..calls {
            black_box((tool.run)(cx.clone(), arguments()).await?);
        }
        let alone = watch.cpu_ms() * 1e3 / calls as f64;
        Ok(json!({
            "calls": calls, "tools": kept.tools().len(), "policyEntries": entries,
            "whole": whole, "unkept": unkept, "alone": alone, "events": events(&cx, calls), "full": full, "piece": PIECE,
            "changeMs": change,
        }))
    })
}

/// Microseconds of CPU one call takes through the registry, writing of the log included.
async fn through(cx: &Cx, calls: usize, store: &Store) -> Result<f64> {
    let watch = Watch::start();
    for _ in 0..calls {
        if cx.call("list_tasks", arguments()).await?.content != "done" {
            return Err("the tool answered something else".into());
        }
    }
    store.flush().await?;
    Ok(watch.cpu_ms() * 1e3 / calls as f64)
}

/// What telling the bus of a call costs, in microseconds.
fn events(cx: &Cx, calls: usize) -> f64 {
    let (bus, call) = (&cx.ports().bus, cx.call_id());
    let watch = Watch::start();
    for _ in 0..calls {
        let data = json!({"tool": "list_tasks", "callId": call, "runId": cx.run()});
        bus.publish("tool:before", Some(cx.user()), data);
        let data =
            json!({"tool": "list_tasks", "callId": call, "runId": cx.run(), "durationMs": 1u64, "outcome": "ok"});
        bus.publish("tool:after", Some(cx.user()), data);
    }
    watch.cpu_ms() * 1e3 / calls as f64
}

/// The registry with the tools of the household, one of which reads its arguments as Hob's own do.
fn filled(registry: Registry) -> Result<Registry> {
    for tool in household::tools().into_iter().filter(|t| *t.name != *"list_tasks") {
        registry.add_tool((*tool).clone())?;
    }
    registry.add(Family::new("tasks", "What is to be done.", ()).tool("list_tasks", Risk::Observe, list_tasks))?;
    Ok(registry)
}

/// A member of the household whose model calls, within a run.
fn caller(registry: &Registry) -> Result<Cx> {
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(Some("Europe/Vienna"))?));
    (ports.dispatch, ports.ask, ports.bus) = (Arc::new(registry.clone()), Arc::new(registry.clone()), Bus::default());
    let principal = Principal { user: household::MARTA, role: Role::Member, ..Principal::owner() };
    let bounds = Bounds { provider: "openai".into(), model_call: Some("call_1".into()), ..Bounds::default() };
    let cx = Cx::root(ports, principal, Via::direct(Channel::Page));
    Ok(cx.in_run(Id::new(), Id::new(), Default::default()).bounded(bounds))
}

/// The log as the daemon writes it, without secrets.
struct Log(Arc<fs::File>, Scrubber);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        (&*self.0).write_all(self.1.text(&line, How::All).as_bytes())?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
