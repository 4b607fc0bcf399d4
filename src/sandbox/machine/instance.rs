//! One call's instance: enters the guest in slices of fuel, and between slices looks at the clock.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;
use wasmi::{Error, Memory, Store, TrapCode, TypedFunc, TypedResumableCall, WasmParams};

use super::{Operation, State};
use crate::{Fault, Limits, Log};

/// Fuel between two looks at the clock. Fuel is no measure of time: a step of QuickJS's big loop costs thousands, a copy
/// of a megabyte little, so that this is 70 µs to 17 ms on a desktop. The looks cost 2 % at the fast end.
const TICK: u64 = 40_000_000;

/// The guest's own list, in guest.c.
const DONE: i32 = 0;
const WAITING: i32 = 1;
const THROWN: i32 = 2;
const STUCK: i32 = 3;

pub(crate) struct Instance {
    store: Store<State>,
    memory: Memory,
    init: TypedFunc<(), i32>,
    load: TypedFunc<(i32, i32), i32>,
    reserve: TypedFunc<i32, i32>,
    compile: TypedFunc<(i32, i32, i32), i32>,
    start: TypedFunc<(i32, i32, i32, i32, i32), i32>,
    settle: TypedFunc<(i32, i32, i32, i32), i32>,
    result: TypedFunc<(), i64>,
    cpu: Duration,
}

/// When a call must stop.
pub(crate) struct Bounds<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) deadline: Instant,
    pub(crate) stop: &'a AtomicBool,
}

/// Where a call stands after a step.
pub(crate) enum StepOutcome {
    Done(Value),
    /// For at least one operation.
    Waiting,
}

/// An operation's answer on its way into the guest.
pub(crate) struct Answer {
    pub(crate) id: i32,
    pub(crate) result: Result<Value, String>,
}

impl Instance {
    pub(crate) fn new(store: Store<State>, instance: &wasmi::Instance, memory: Memory) -> Result<Instance, Error> {
        Ok(Instance {
            memory,
            init: instance.get_typed_func(&store, "init")?,
            load: instance.get_typed_func(&store, "load")?,
            reserve: instance.get_typed_func(&store, "reserve")?,
            compile: instance.get_typed_func(&store, "compile")?,
            start: instance.get_typed_func(&store, "start")?,
            settle: instance.get_typed_func(&store, "settle")?,
            result: instance.get_typed_func(&store, "result")?,
            store,
            cpu: Duration::ZERO,
        })
    }

    pub(crate) fn memory(&self) -> &[u8] {
        self.memory.data(&self.store)
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.cpu
    }

    pub(crate) fn take_operations(&mut self) -> Vec<Operation> {
        std::mem::take(&mut self.store.data_mut().asked)
    }

    pub(crate) fn take_logs(&mut self) -> Vec<Log> {
        std::mem::take(&mut self.store.data_mut().logs)
    }

    /// The start-up before the snapshot.
    pub(crate) fn prepare(&mut self, scripts: &[&str]) -> Result<(), String> {
        let limits = Limits::default();
        let bounds = Bounds { limits: &limits, deadline: Instant::now() + limits.wall, stop: &AtomicBool::new(false) };
        let mut run = || -> Result<(), Fault> {
            let status = self.enter(self.init, (), &bounds)?;
            self.expect_done(status, &bounds)?;
            for script in scripts {
                let (at, len) = self.put(script, &bounds)?;
                let status = self.enter(self.load, (at, len), &bounds)?;
                self.expect_done(status, &bounds)?;
            }
            Ok(())
        };
        run().map_err(|fault| fault.to_string())
    }

    /// Compiles the tool and runs it until it is done or waits.
    pub(crate) fn start(&mut self, script: &crate::Script, bounds: &Bounds) -> Result<StepOutcome, Fault> {
        // A body could close its function and go on outside it. After a declaration's `}` must come the start of a
        // statement, after a method's `}` a comma or `}`, and no token is both: what compiles in both stayed inside.
        let code = &script.code;
        let declaration = format!("async function tool(args, context, utils, fetch, console) {{\n{code}\n}}");
        let method = format!("({{ async tool(args, context, utils, fetch, console) {{\n{code}\n}} }})");
        for (wrapped, keep) in [(declaration, 0), (method, 1)] {
            let (at, len) = self.put(&wrapped, bounds)?;
            let status = self.enter(self.compile, (at, len, keep), bounds)?;
            self.expect_done(status, bounds)?;
        }
        let (args, args_len) = self.put(&script.args.to_string(), bounds)?;
        let (context, context_len) = self.put(&script.context.to_string(), bounds)?;
        let params = (args, args_len, context, context_len, i32::from(script.network));
        let status = self.enter(self.start, params, bounds)?;
        self.step_outcome(status, bounds)
    }

    /// Delivers answers one by one, until the tool is done or all are delivered.
    pub(crate) fn settle(&mut self, answers: Vec<Answer>, bounds: &Bounds) -> Result<StepOutcome, Fault> {
        for Answer { id, result } in answers {
            let (ok, text) = match result {
                Ok(value) => (1, value.to_string()),
                Err(text) => (0, text),
            };
            let (at, len) = self.put(&text, bounds)?;
            let status = self.enter(self.settle, (id, ok, at, len), bounds)?;
            if let StepOutcome::Done(value) = self.step_outcome(status, bounds)? {
                return Ok(StepOutcome::Done(value));
            }
        }
        Ok(StepOutcome::Waiting)
    }

    /// Calls the guest; everything that runs there runs through here.
    fn enter<P: WasmParams, R: wasmi::WasmResults>(
        &mut self,
        function: TypedFunc<P, R>,
        params: P,
        bounds: &Bounds,
    ) -> Result<R, Fault> {
        let began = thread_cpu();
        let before = self.cpu;
        self.refuel(TICK)?;
        let mut call = function.call_resumable(&mut self.store, params);
        loop {
            self.cpu = before + thread_cpu().saturating_sub(began);
            match call.map_err(trap)? {
                TypedResumableCall::Finished(value) => {
                    bounds.check(self.cpu)?;
                    return Ok(value);
                }
                TypedResumableCall::HostTrap(trap) => return Err(Fault::Internal(trap.host_error().to_string())),
                TypedResumableCall::OutOfFuel(paused) => {
                    bounds.check(self.cpu)?;
                    self.refuel(TICK.max(paused.required_fuel()))?;
                    call = paused.resume(&mut self.store);
                }
            }
        }
    }

    fn refuel(&mut self, fuel: u64) -> Result<(), Fault> {
        self.store.set_fuel(fuel).map_err(|error| Fault::Internal(error.to_string()))
    }

    /// Copies a text into memory of the guest, which frees it.
    fn put(&mut self, text: &str, bounds: &Bounds) -> Result<(i32, i32), Fault> {
        let len = i32::try_from(text.len()).map_err(|_| Fault::Memory(bounds.limits.memory))?;
        let at = self.enter(self.reserve, len, bounds)?;
        if at == 0 {
            return Err(Fault::Memory(bounds.limits.memory));
        }
        let place = at as u32 as usize;
        self.memory
            .write(&mut self.store, place, text.as_bytes())
            .map_err(|error| Fault::Internal(error.to_string()))?;
        Ok((at, len))
    }

    /// The text that the guest left behind, if it is not longer than `most`.
    fn report(&mut self, most: usize, bounds: &Bounds) -> Result<String, Fault> {
        let place = self.enter(self.result, (), bounds)? as u64;
        let (at, len) = ((place >> 32) as usize, (place & 0xffff_ffff) as usize);
        if len > most {
            return Err(Fault::TooMuchOutput(most));
        }
        let bytes = self.memory().get(at..at + len).ok_or(Fault::Internal("a result outside the memory".to_owned()))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn expect_done(&mut self, status: i32, bounds: &Bounds) -> Result<(), Fault> {
        match status {
            DONE => Ok(()),
            THROWN => Err(Fault::thrown(&self.report(usize::MAX, bounds)?, bounds.limits.memory)),
            other => Err(Fault::Internal(format!("the guest answered {other}"))),
        }
    }

    fn step_outcome(&mut self, status: i32, bounds: &Bounds) -> Result<StepOutcome, Fault> {
        match status {
            DONE => {
                let value = json(&self.report(bounds.limits.output, bounds)?);
                value.map(StepOutcome::Done).map_err(|error| Fault::Thrown(format!("the tool's result: {error}")))
            }
            WAITING => Ok(StepOutcome::Waiting),
            STUCK => Err(Fault::NeverSettles),
            other => self.expect_done(other, bounds).map(|()| StepOutcome::Waiting),
        }
    }
}

impl Bounds<'_> {
    fn check(&self, cpu: Duration) -> Result<(), Fault> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Fault::Internal("the call was dropped".to_owned()));
        }
        if cpu > self.limits.cpu {
            return Err(Fault::Cpu(self.limits.cpu));
        }
        if Instant::now() > self.deadline {
            return Err(Fault::Wall(self.limits.wall));
        }
        Ok(())
    }
}

fn trap(error: Error) -> Fault {
    match error.as_trap_code() {
        Some(TrapCode::StackOverflow) => Fault::Stack,
        _ => Fault::Internal(error.to_string()),
    }
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Reads JSON as JavaScript writes it: half of a surrogate pair, left by cutting a text inside an emoji, becomes U+FFFD.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&mend_surrogates(text)))
        .map_err(|error| error.to_string())
}

fn mend_surrogates(text: &str) -> String {
    let unit = |at: usize| -> Option<u16> {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let mut mended = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        mended.push_str(&text[at..at + found]);
        at += found;
        let (copied, len) = match (unit(at), unit(at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (&text[at..at + 12], 12),
            (Some(0xd800..0xe000), _) => ("\\ufffd", 6),
            // Any other escape is at least two bytes; the second may be a backslash itself.
            _ => (text.get(at..at + 2).unwrap_or("\\"), 2),
        };
        mended.push_str(copied);
        at = (at + len).min(text.len());
    }
    mended.push_str(&text[at..]);
    mended
}
