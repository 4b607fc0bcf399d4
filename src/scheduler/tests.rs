//! The engine on the real store, with a clock set by hand and tools that record their calls.

mod clocks;
mod ends;
mod keeping;
mod restarts;
mod running;
mod timers;

use crate::*;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use store::Entry;
use tokio::{sync::Semaphore, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tool::{
    AgentId, Bus, Channel, Clock, Cx, Dispatch, Error, Id, Label, Output, People, PreauthorizedCall, Principal, Result,
    Role, ToolInfo, Via,
};

/// A clock set by hand, in Vienna, from Friday, 20 November 2026, 14:30; and the real time elapsed.
pub(crate) struct SetClock(Mutex<Timestamp>, Mutex<Duration>);

impl SetClock {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new("2026-11-20T13:30:00Z".parse().unwrap()), Mutex::default()))
    }
    /// Time passes.
    fn forward(&self, seconds: i64) {
        // Both are locked before either changes: otherwise it would look for a moment as if the clock had been set.
        let (mut now, mut passed) = (self.0.lock().unwrap(), self.1.lock().unwrap());
        *now += SignedDuration::from_secs(seconds);
        *passed += Duration::from_secs(seconds as u64);
    }
    /// Sets the clock without elapsed time.
    fn set(&self, text: &str) {
        *self.0.lock().unwrap() = text.parse::<Zoned>().unwrap().timestamp();
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
    fn zone(&self) -> TimeZone {
        TimeZone::get("Europe/Vienna").unwrap()
    }
}

/// Tools that record their calls.
pub(crate) struct Tools {
    /// The tool, the person, and the argument `n`.
    calls: Mutex<Vec<(String, UserId, Value)>>,
    /// How often `fail` fails before it succeeds.
    fails: Mutex<usize>,
    /// Lets one `slow` end.
    gate: Semaphore,
    /// Whether a call had the consent it was armed with, and its label.
    seen: Mutex<Vec<(bool, Label)>>,
    /// Whether the request of the last call arrived over a connection that others can read.
    clear: AtomicBool,
}

impl Default for Tools {
    fn default() -> Self {
        let (calls, fails, seen) = Default::default();
        Self { calls, fails, gate: Semaphore::new(0), seen, clear: AtomicBool::default() }
    }
}

impl Tools {
    fn called(&self, name: &str) -> Vec<Value> {
        self.calls.lock().unwrap().iter().filter(|c| c.0 == name).map(|c| c.2.clone()).collect()
    }
}

struct Door(Arc<Tools>, Store);

impl Door {
    /// Leaves the mark of a call, as the dispatch and the store do.
    async fn mark(store: &Store, cx: &Cx, name: &str) {
        let key = cx.bounds().effect.unwrap();
        match name {
            "slow_move" => store.mark_outside(key, name.into()).await.unwrap(),
            _ => {
                let source = store::EffectSource { key, tool: name.into(), whole: true };
                store::with_effect(Some(source), store.flush()).await.unwrap();
            }
        }
    }
}

impl Dispatch for Door {
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>> {
        let (tools, store, name) = (self.0.clone(), self.1.clone(), name.to_owned());
        Box::pin(async move {
            // First, so that a test that ends a life after this call does not end it before the mark is on the disk.
            if matches!(&*name, "slow_move" | "slow_write") {
                Self::mark(&store, &cx, &name).await;
            }
            tools.calls.lock().unwrap().push((name.clone(), cx.user(), args["n"].clone()));
            tools.seen.lock().unwrap().push((cx.has_consent(&name, 7, &[7; 32]), cx.label()));
            tools.clear.store(cx.via().clear, Ordering::Relaxed);
            assert_eq!((cx.channel(), cx.run()), (Channel::Machine, None));
            match &*name {
                "fail" => {
                    let mut fails = tools.fails.lock().unwrap();
                    if *fails > 0 {
                        *fails -= 1;
                        return Err(Error::failed("it broke"));
                    }
                    Ok(Output::text("mended"))
                }
                "refuse" => Err(Error::denied("you may not")),
                "wrong" => Err(Error::bad_args("it does not fit")),
                "crowded" if std::mem::take(&mut *tools.fails.lock().unwrap()) > 0 => {
                    Err(Error::RateLimited("too many: try again in 30 s".into()))
                }
                "panic" => panic!("on purpose"),
                "slow" | "slow_move" | "slow_write" => {
                    tools.gate.acquire().await.unwrap().forget();
                    Ok(Output::text("slept"))
                }
                "outside" => Ok(Output::text("from the web").from_outside()),
                "run_prompt" => Ok(Output::json(json!({"conversationId": Id::NIL, "response": "hi"}))?),
                "notify" => Ok(Output::json(args)?),
                _ => Ok(Output::json(json!({"n": args["n"]}))?.say("RunResult.")),
            }
        })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}

/// All members except those who were removed.
struct Household(Arc<Mutex<HashSet<UserId>>>);

impl People for Household {
    fn role_of(&self, user: UserId) -> Result<Option<Role>> {
        Ok((!self.0.lock().unwrap().contains(&user)).then_some(Role::Member))
    }
}

/// One life of a scheduler over a store.
pub(crate) struct Life {
    clock: Arc<SetClock>,
    tools: Arc<Tools>,
    scheduler: Scheduler,
    gone: Arc<Mutex<HashSet<UserId>>>,
    closing: CancellationToken,
    engine: Option<JoinHandle<()>>,
}

impl Life {
    fn new() -> Self {
        Self::over(&Store::in_memory().unwrap(), SetClock::new(), Arc::default())
    }

    fn over(store: &Store, clock: Arc<SetClock>, tools: Arc<Tools>) -> Self {
        let gone: Arc<Mutex<HashSet<UserId>>> = Arc::default();
        let ports = Ports {
            dispatch: Arc::new(Door(tools.clone(), store.clone())),
            people: Arc::new(Household(gone.clone())),
            bus: Bus::default(),
            ..Ports::unconnected(clock.clone())
        };
        let (began, passed) = (Instant::now(), clock.clone());
        let scheduler = Scheduler::with_steady(
            store,
            ports,
            Arc::new(|tool| ToolFacts {
                idempotent: !matches!(tool, "slow_move" | "move"),
                detached: tool == "run_prompt",
            }),
            Box::new(move || began + *passed.1.lock().unwrap()),
        );
        Self { clock, tools, scheduler, gone, closing: CancellationToken::new(), engine: None }
    }

    fn started(mut self) -> Self {
        self.start();
        self
    }

    fn start(&mut self) {
        self.engine = Some(self.scheduler.start(self.closing.clone()));
    }

    async fn stop(&mut self) {
        self.closing.cancel();
        if let Some(engine) = self.engine.take() {
            engine.await.unwrap();
        }
        self.closing = CancellationToken::new();
    }

    fn cx(&self) -> Cx {
        Cx::root(self.scheduler.0.ports.clone(), Principal::owner(), Via::direct(Channel::Api))
    }

    fn other(&self) -> Cx {
        let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
        Cx::root(self.scheduler.0.ports.clone(), principal, Via::direct(Channel::Api))
    }

    /// Lets time pass, and wakes the engine.
    fn forward(&self, seconds: i64) {
        self.clock.forward(seconds);
        self.scheduler.0.changed.notify_one();
    }

    fn new_schedule(&self, name: &str, when: &str, tool: &str) -> New {
        let recurrence = parse(&json!(when), None, &*self.clock).unwrap();
        New {
            name: name.into(),
            description: String::new(),
            written: when.into(),
            recurrence,
            action: armed(tool, name),
            enabled: true,
            missed: Missed::Once,
            retries: 0,
            retry_delay_ms: 60_000,
            ends_ms: None,
            max_runs: 0,
        }
    }

    async fn add(&self, name: &str, when: &str, tool: &str) -> Id {
        self.add_with(name, when, tool, |_| {}).await
    }

    async fn add_with(&self, name: &str, when: &str, tool: &str, change: impl FnOnce(&mut New)) -> Id {
        let mut new = self.new_schedule(name, when, tool);
        change(&mut new);
        self.scheduler.create(&self.cx(), new).await.unwrap().id
    }

    fn get(&self, id: Id) -> Schedule {
        self.scheduler.find(&self.cx(), &id.to_string()).unwrap().value
    }

    /// The runs of a schedule, oldest first, as `status@local time`, with the number of due times they stand for.
    fn runs(&self, id: Id) -> Vec<String> {
        let mut all = self.scheduler.history(&self.cx(), id, usize::MAX).unwrap();
        all.reverse();
        all.iter().map(shown).collect()
    }

    /// Waits until a condition holds.
    async fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is(self) {
            assert!(began.elapsed() < Duration::from_secs(20), "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Waits until a schedule has these runs.
    async fn until_runs(&self, id: Id, wanted: &[&str]) {
        let began = Instant::now();
        while self.runs(id) != wanted {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?} and not {wanted:?}", self.runs(id));
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }

    /// Lets time pass, and waits until these schedules have been handled.
    async fn pass(&self, seconds: i64, ids: &[Id]) {
        self.forward(seconds);
        let now = self.clock.now().as_millisecond();
        let done = |s: Schedule| s.running.is_none() && s.due().is_none_or(|due| due > now);
        self.until("it is done", |l| ids.iter().all(|id| done(l.get(*id)))).await;
    }

    /// Waits long enough for an engine at fault to show it.
    async fn rest(&self) {
        self.scheduler.0.changed.notify_one();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

fn shown(entry: &Entry<Run>) -> String {
    let run = &entry.value;
    let at = Timestamp::from_millisecond(run.scheduled_ms).unwrap().to_zoned(TimeZone::get("Europe/Vienna").unwrap());
    let at = at.strftime("%H:%M:%S").to_string();
    let mut shown = format!("{}@{}", run.status.word(), at.strip_suffix(":00").unwrap_or(&at));
    if run.count > 1 {
        shown += &format!(" x{}", run.count);
    }
    if run.attempt > 1 {
        shown += &format!(" try {}", run.attempt);
    }
    if run.repeats > 0 {
        shown += &format!(" again {}", run.repeats);
    }
    shown
}

/// A call that a person approved.
fn armed(tool: &str, n: &str) -> PreauthorizedCall {
    PreauthorizedCall { tool: tool.into(), version: 7, args: json!({"n": n}), digest: [7; 32], consented: true }
}
