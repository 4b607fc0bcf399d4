//! Drives one call: JavaScript runs on blocking threads in turns, operations of the host run as tasks beside it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::{
    Fault, Host, Limits, Outcome, Script,
    budget::{Budget, Caller, Reservation},
    machine::{Answer, Bounds, Instance, Machine, Operation, StepOutcome},
};

/// How often the clock is polled for a pause, once the time is over.
const PAUSE_POLL: Duration = Duration::from_millis(50);

/// The work of the next turn.
enum Step {
    Start(Box<Script>),
    Settle(Vec<Answer>),
}

struct Call {
    machine: Arc<Machine>,
    budget: Arc<Budget>,
    host: Arc<dyn Host>,
    limits: Limits,
    network: bool,
    nested: bool,
    /// Declared before `held`, which must outlive it.
    instance: Option<Instance>,
    /// `None` while a turn has it.
    held: Option<Reservation>,
    began: Instant,
    /// Time spent waiting for a turn, which is not the tool's.
    waited: Duration,
    stop: Arc<AtomicBool>,
}

/// Notifies the blocking thread that its caller is gone.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(crate) async fn run(
    machine: Arc<Machine>,
    budget: Arc<Budget>,
    script: Script,
    host: Arc<dyn Host>,
    limits: Limits,
) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let _guard = StopOnDrop(stop.clone());
    let mut call = Call {
        machine,
        host,
        limits,
        network: script.network,
        nested: script.nested,
        instance: None,
        held: Some(budget.reservation()),
        budget,
        began: Instant::now(),
        waited: Duration::ZERO,
        stop,
    };
    let result = call.drive(script).await;
    let wall = call.began.elapsed().saturating_sub(call.waited);
    let cpu = call.instance.as_ref().map_or(Duration::ZERO, Instance::cpu);
    let logs = call.instance.as_mut().map(Instance::take_logs).unwrap_or_default();
    Outcome { result, logs, cpu, wall }
}

impl Call {
    async fn drive(&mut self, script: Script) -> Result<Value, Fault> {
        let mut running = JoinSet::new();
        let mut step = Step::Start(Box::new(script));
        loop {
            if let StepOutcome::Done(value) = self.turn(step).await? {
                return Ok(value);
            }
            for operation in self.instance.as_mut().map(Instance::take_operations).unwrap_or_default() {
                self.begin(operation, &mut running);
            }
            step = Step::Settle(self.answers(&mut running).await?);
        }
    }

    fn deadline(&self) -> Instant {
        self.began + self.waited + self.host.paused().0 + self.limits.wall
    }

    /// One turn in the guest. Turn and reservation stay with the thread, also when this future is dropped.
    async fn turn(&mut self, step: Step) -> Result<StepOutcome, Fault> {
        let queued = Instant::now();
        let caller = match step {
            Step::Settle(_) => Caller::Resumed,
            Step::Start(_) if self.nested => Caller::Nested,
            Step::Start(_) => Caller::New,
        };
        let mut held = self.held.take().unwrap_or_else(|| self.budget.reservation());
        let turn = self.budget.turn(&held, self.limits.memory, caller, caller.patience()).await?;
        self.waited += queued.elapsed();
        let (deadline, limits, stop) = (self.deadline(), self.limits.clone(), self.stop.clone());
        let (machine, host, network) = (self.machine.clone(), self.host.clone(), self.network);
        let instance = self.instance.take();
        let work = tokio::task::spawn_blocking(move || {
            let bounds = Bounds { limits: &limits, deadline, stop: &stop };
            let mut instance = match instance.map_or_else(|| machine.instance(host, &limits, network), Ok) {
                Ok(instance) => instance,
                Err(fault) => return (None, held, Err(fault)),
            };
            let standing = match step {
                Step::Start(script) => instance.start(&script, &bounds),
                Step::Settle(answers) => instance.settle(answers, &bounds),
            };
            turn.end(&mut held, instance.memory().len());
            // In this order: if the receiver is gone, the instance is dropped before its reservation.
            (Some(instance), held, standing)
        });
        let (instance, held, standing) = work.await.map_err(|error| Fault::Internal(error.to_string()))?;
        self.instance = instance;
        self.held = Some(held);
        standing
    }

    /// Starts an operation as a task of its own, so that it runs while JavaScript computes.
    fn begin(&self, Operation { id, op, input }: Operation, running: &mut JoinSet<Answer>) {
        if op == "sleep" {
            let ms = input["ms"].as_f64().unwrap_or(0.0).clamp(0.0, 1e9);
            running.spawn(async move {
                tokio::time::sleep(Duration::from_secs_f64(ms / 1000.0)).await;
                Answer { id, result: Ok(Value::Null) }
            });
            return;
        }
        let work = self.host.operate(&op, input);
        running.spawn(async move { Answer { id, result: work.await } });
    }

    /// At least one answer, and all others that are there already.
    /// The clock is paused while a person is being asked.
    async fn answers(&self, running: &mut JoinSet<Answer>) -> Result<Vec<Answer>, Fault> {
        let joined = |answer: Result<Answer, tokio::task::JoinError>| {
            answer.map_err(|_| Fault::Internal("an operation of the host panicked".to_owned()))
        };
        let first = loop {
            let until = self.deadline().max(Instant::now() + PAUSE_POLL);
            match tokio::time::timeout_at(until.into(), running.join_next()).await {
                Ok(first) => break first.ok_or(Fault::NeverSettles)?,
                Err(_) if self.host.paused().1 || Instant::now() < self.deadline() => {}
                Err(_) => return Err(Fault::Wall(self.limits.wall)),
            }
        };
        let mut answers = vec![joined(first)?];
        while let Some(more) = running.try_join_next() {
            answers.push(joined(more)?);
        }
        Ok(answers)
    }
}
