//! Hob's scheduler as a program that [`crate::due`] judges: it keeps what is planned, and lives until it is ended.

use crate::{
    Result, Watch,
    due::{self, Due, MADE, RUNS},
};
use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream};
use jiff::Timestamp;
use scheduler::{Missed, New, Recurrence, Scheduler, ToolFacts};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};
use store::{Collection, EffectSource, Level, Record, Stamp, Store, with_effect};
use tokio_util::sync::CancellationToken;
use tool::{
    Bus, Channel, Clock, Cx, Dispatch, Error, FixedClock, Output, Ports, PreauthorizedCall, Principal, SystemClock,
    ToolInfo, Via,
};

const ZONE: &str = "Europe/Vienna";
/// How many schedules are made at a time, so that they share commits.
const TOGETHER: usize = 256;
/// How long nothing must have been called, when all times have passed, for it to be over; in milliseconds.
const QUIET: i64 = 500;
/// How long a life lasts that nobody ends.
const ORPHANED: Duration = Duration::from_secs(60);

/// `plan FOLDER SCHEDULES SECONDS LEAD [durable]`, `judge FOLDER KILLS PROGRAM…`, and as such a program `fill FOLDER` and
/// `live FOLDER on|end`.
pub fn measure(arguments: &[&str]) -> Result<Value> {
    match arguments {
        ["plan", folder, schedules, seconds, lead, rest @ ..] => {
            let durable = rest.first() == Some(&"durable");
            due::plan(folder.as_ref(), schedules.parse()?, seconds.parse()?, lead.parse()?, durable)
        }
        ["judge", folder, kills, program @ ..] => due::judge(folder.as_ref(), kills.parse()?, program),
        ["fill", folder] => runtime()?.block_on(fill(folder.as_ref())),
        ["live", folder, how] => runtime()?.block_on(live(folder.as_ref(), *how == "end")),
        _ => Err("scheduler plan, judge, fill or live?".into()),
    }
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Keeps what is planned, as a person does: each schedule on disk when it is answered.
async fn fill(folder: &Path) -> Result<Value> {
    let (terms, all) = (due::terms(folder)?, due::schedules(folder)?);
    let store = Store::open(folder)?;
    // As it will be just before the first is due: an interval has its first time then.
    let clock = FixedClock(Timestamp::from_millisecond(terms.start_ms - 1)?.in_tz(ZONE)?);
    let ports = Ports::unconnected(Arc::new(clock));
    let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Api));
    let scheduler = scheduler(&store, ports);
    let (watch, count) = (Watch::start(), all.len());
    let made =
        stream::iter(all).map(|one| scheduler.create(&cx, schedule(one, terms.end_ms))).buffer_unordered(TOGETHER);
    made.try_for_each(|_| async { Ok(()) }).await?;
    let mut told = due::left(terms);
    told["seconds"] = watch.seconds().into();
    told["cpuMsEach"] = (watch.cpu_ms() / count as f64).into();
    Ok(told)
}

fn schedule(one: Due, end_ms: i64) -> New {
    let recurrence = match one.every_ms {
        0 => Recurrence::Once { at: one.first_ms, zone: None },
        ms => Recurrence::Every { ms, anchor: one.first_ms },
    };
    let args = json!({"n": one.n});
    New {
        name: one.n.to_string(),
        description: String::new(),
        written: "planned".into(),
        recurrence,
        action: PreauthorizedCall { tool: "note".into(), version: 1, args, digest: [0; 32], consented: false },
        enabled: true,
        missed: Missed::All,
        retries: 0,
        retry_delay_ms: 60_000,
        ends_ms: Some(end_ms),
        max_runs: 0,
    }
}

fn scheduler(store: &Store, ports: Ports) -> Scheduler {
    Scheduler::new(store, ports, Arc::new(|_| ToolFacts { idempotent: true, detached: false }))
}

/// Lives: until it is killed, or `to_the_end`.
async fn live(folder: &Path, to_the_end: bool) -> Result<Value> {
    let terms = due::terms(folder)?;
    let store = Store::open(folder)?;
    let file = File::options().create(true).append(true).open(folder.join(MADE))?;
    let durable = terms.durable.then(|| store.collection());
    let calls = Calls { file, durable, made: AtomicU64::new(0), last_ms: AtomicI64::new(due::now_ms()) };
    let (calls, clock) = (Arc::new(calls), Arc::new(SystemClock::new(Some(ZONE))?));
    let dispatch = Arc::new(Door(calls.clone()));
    let ports = Ports { dispatch, bus: Bus::default(), ..Ports::unconnected(clock.clone()) };
    let scheduler = scheduler(&store, ports.clone());
    println!("ready");
    let (watch, closing) = (Watch::start(), CancellationToken::new());
    let engine = scheduler.start(closing.clone());
    if !to_the_end {
        tokio::time::sleep(ORPHANED).await;
        return Err("nobody ended this life".into());
    }
    let quiet = || {
        let now = clock.now().as_millisecond();
        now > terms.end_ms && now - calls.last_ms.load(Ordering::Relaxed) > QUIET
    };
    while !quiet() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let cpu_ms = watch.cpu_ms();
    let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
    while !scheduler.list(&cx, |schedule| schedule.enabled)?.is_empty() {
        tokio::time::sleep(Duration::from_millis(QUIET as u64)).await;
    }
    closing.cancel();
    engine.await?;
    calls.write_out()?;
    std::fs::write(folder.join(RUNS), runs(&scheduler, &cx)?)?;
    Ok(json!({"calls": calls.made.load(Ordering::Relaxed), "cpuMs": cpu_ms, "name": "Hob"}))
}

/// Every run there is a record of.
fn runs(scheduler: &Scheduler, cx: &Cx) -> Result<String> {
    let mut text = String::new();
    for schedule in scheduler.list(cx, |_| true)? {
        for run in scheduler.history(cx, schedule.id, usize::MAX)? {
            let (name, run) = (&schedule.value.name, run.value);
            writeln!(text, "{name} {} {} {}", run.scheduled_ms, run.repeats, run.status.word())?;
        }
    }
    Ok(text)
}

/// The one tool: it notes that it was called, and when. Where that has to be on disk it is a record, written under the
/// idempotency key of the call, as the tools of Hob write theirs.
struct Door(Arc<Calls>);

struct Calls {
    file: File,
    durable: Option<Collection<Made>>,
    made: AtomicU64,
    last_ms: AtomicI64,
}

/// A call that was made.
#[derive(Clone, Serialize, Deserialize)]
struct Made {
    n: u64,
    at_us: i64,
}

impl Record for Made {
    const NAME: &'static str = "bench-calls";
    const WORD: &'static str = "call";
    const LEVEL: Level = Level::Household;
}

impl Calls {
    async fn note(&self, cx: &Cx, n: &Value, at: Timestamp) -> Result<()> {
        let at_us = at.as_microsecond();
        match &self.durable {
            Some(records) => {
                let made = Made { n: n.as_u64().unwrap_or_default(), at_us };
                let source = cx.bounds().effect.map(|key| EffectSource { key, tool: "note".into(), whole: true });
                with_effect(source, records.insert_as(Stamp::household("bench"), made)).await?;
            }
            None => (&self.file).write_all(format!("{n} {at_us}\n").as_bytes())?,
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        self.last_ms.store(at.as_millisecond(), Ordering::Relaxed);
        Ok(())
    }

    /// Writes the records to the file that is judged.
    fn write_out(&self) -> Result<()> {
        let Some(records) = &self.durable else { return Ok(()) };
        let mut text = String::new();
        records.scan(|made| text.push_str(&format!("{} {}\n", made.value.n, made.value.at_us)))?;
        Ok((&self.file).write_all(text.as_bytes())?)
    }
}

impl Dispatch for Door {
    fn call(&self, cx: Cx, _: &str, args: Value) -> BoxFuture<'static, tool::Result<Output>> {
        let (calls, at) = (self.0.clone(), Timestamp::now());
        Box::pin(async move {
            let noted = calls.note(&cx, &args["n"], at).await;
            noted.map(|()| Output::text("noted")).map_err(|error| Error::failed(error.to_string()))
        })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}
