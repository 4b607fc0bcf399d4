//! The engine that all calls share: the parsed guest, what it imports from here, and the memory a call begins with.

mod instance;

use std::{sync::Arc, time::SystemTime};

use futures::future::BoxFuture;
use serde_json::Value;
use wasmi::{Caller, CompilationMode, Config, Engine, Error, Linker, Module, Store, StoreLimits, StoreLimitsBuilder};

pub(crate) use instance::{Answer, Bounds, Instance, StepOutcome};

use crate::{Host, Limits, Log, fault, native};

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));
/// In the order in which they run; `web.js` begins what `utils.js` uses.
const SCRIPTS: [&str; 2] = [include_str!("guest/web.js"), include_str!("guest/utils.js")];
const LEVELS: [&str; 4] = ["debug", "log", "warn", "error"];
/// Pages of the snapshot that hold only zeros are left out: a fresh memory has them.
const PAGE: usize = 4096;
const WASM_PAGE: usize = 64 << 10;

pub(crate) struct Machine {
    engine: Engine,
    module: Module,
    linker: Linker<State>,
    snapshot: Snapshot,
}

/// The guest's memory after its start-up.
#[derive(Default)]
struct Snapshot {
    size: usize,
    /// Where each run of used pages begins, and what is there.
    runs: Vec<(usize, Vec<u8>)>,
}

/// What the imports of one instance see.
pub(crate) struct State {
    memory: StoreLimits,
    limits: Limits,
    network: bool,
    host: Arc<dyn Host>,
    pub(crate) asked: Vec<Operation>,
    operations: i32,
    fetches: u32,
    /// What the guest takes next: the answer to its last question.
    answer: Vec<u8>,
    pub(crate) logs: Vec<Log>,
    log_bytes: usize,
    random: Random,
}

/// An asynchronous operation that the guest began.
pub(crate) struct Operation {
    pub(crate) id: i32,
    pub(crate) op: String,
    pub(crate) input: Value,
}

impl Machine {
    /// Parses the guest and runs its start-up; 30 ms of CPU on a desktop, twice that unoptimised.
    pub(crate) fn new() -> Result<Machine, String> {
        let mut config = Config::default();
        // Lazy translation takes fuel of its own and reports it as the guest's.
        config.consume_fuel(true).compilation_mode(CompilationMode::Eager).ignore_custom_sections(true);
        config.set_max_recursion_depth(20_000).set_max_stack_height(16 << 20).set_max_cached_stacks(crate::COMPUTING);
        let engine = Engine::new(&config);
        let module = Module::new(&engine, GUEST).map_err(|error| error.to_string())?;
        let linker = imports(&engine).map_err(|error| error.to_string())?;
        let mut machine = Machine { engine, module, linker, snapshot: Snapshot::default() };
        let mut first =
            machine.instance(Arc::new(Nobody), &Limits::default(), false).map_err(|fault| fault.to_string())?;
        first.prepare(&SCRIPTS)?;
        machine.snapshot = Snapshot::of(first.memory());
        Ok(machine)
    }

    /// A fresh instance with the memory of the snapshot.
    pub(crate) fn instance(
        &self,
        host: Arc<dyn Host>,
        limits: &Limits,
        network: bool,
    ) -> Result<Instance, crate::Fault> {
        let internal = |error: Error| crate::Fault::Internal(error.to_string());
        let mut store = Store::new(&self.engine, State::new(host, limits.clone(), network));
        store.limiter(|state| &mut state.memory);
        let instance = self.linker.instantiate_and_start(&mut store, &self.module).map_err(internal)?;
        let memory = instance
            .get_memory(&store, "memory")
            .ok_or_else(|| crate::Fault::Internal("the guest exports no memory".to_owned()))?;
        let missing = self.snapshot.size.saturating_sub(memory.data_size(&store));
        memory.grow(&mut store, missing.div_ceil(WASM_PAGE) as u64).map_err(|_| crate::Fault::Memory(limits.memory))?;
        self.snapshot.lay_into(memory.data_mut(&mut store));
        Instance::new(store, &instance, memory).map_err(internal)
    }
}

impl Snapshot {
    fn of(memory: &[u8]) -> Snapshot {
        let mut runs: Vec<(usize, Vec<u8>)> = Vec::new();
        for (index, page) in memory.chunks(PAGE).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
            match runs.last_mut() {
                Some((start, bytes)) if *start + bytes.len() == index * PAGE => bytes.extend(page),
                _ => runs.push((index * PAGE, page.to_vec())),
            }
        }
        tracing::debug!(
            guest = GUEST.len(),
            memory = memory.len(),
            snapshot = runs.iter().map(|run| run.1.len()).sum::<usize>(),
            "sandbox engine ready"
        );
        Snapshot { size: memory.len(), runs }
    }

    fn lay_into(&self, memory: &mut [u8]) {
        for (start, bytes) in &self.runs {
            if let Some(place) = memory.get_mut(*start..start + bytes.len()) {
                place.copy_from_slice(bytes);
            }
        }
    }
}

/// The host of the start-up, which asks for nothing.
struct Nobody;

impl Host for Nobody {
    fn operate(&self, _op: &str, _input: Value) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async { Err("there is no host yet".to_owned()) })
    }

    fn query(&self, _op: &str, _input: Value) -> Result<Value, String> {
        Err("there is no host yet".to_owned())
    }
}

// ---- what the guest imports ----

fn imports(engine: &Engine) -> Result<Linker<State>, Error> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "now_us", |_: Caller<'_, State>| -> f64 {
        SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |time| time.as_micros() as f64)
    })?;
    linker.func_wrap("host", "random", |mut caller: Caller<'_, State>| caller.data_mut().random.next())?;
    linker.func_wrap(
        "host",
        "log",
        |mut caller: Caller<'_, State>, level: i32, at: i32, len: i32| -> Result<(), Error> {
            let most = caller.data().limits.logs + 1;
            let text = text(&caller, at, (len as u32 as usize).min(most))?;
            caller.data_mut().log(level, &text);
            Ok(())
        },
    )?;
    linker.func_wrap("host", "operate", |mut caller: Caller<'_, State>, op: i32, op_len: i32, at: i32, len: i32| {
        let question = question(&caller, op, op_len, at, len)?;
        let state = caller.data_mut();
        match question.and_then(|(op, input)| state.operate(op, input)) {
            Ok(id) => Ok::<i32, Error>(id),
            Err(reason) => Ok(-state.say(&reason).max(1)),
        }
    })?;
    linker.func_wrap("host", "query", |mut caller: Caller<'_, State>, op: i32, op_len: i32, at: i32, len: i32| {
        let question = question(&caller, op, op_len, at, len)?;
        let state = caller.data_mut();
        match question.and_then(|(op, input)| state.query(&op, input)) {
            Ok(value) => Ok::<i32, Error>(state.say(&value.to_string())),
            Err(reason) => Ok(-state.say(&reason).max(1)),
        }
    })?;
    linker.func_wrap("host", "take", |mut caller: Caller<'_, State>, at: i32| -> Result<(), Error> {
        let answer = std::mem::take(&mut caller.data_mut().answer);
        let memory = caller.get_export("memory").and_then(|export| export.into_memory());
        let memory = memory.ok_or_else(|| Error::new("no memory"))?;
        memory.write(&mut caller, at as u32 as usize, &answer).map_err(|error| Error::new(error.to_string()))
    })?;
    Ok(linker)
}

fn text(caller: &Caller<'_, State>, at: i32, len: usize) -> Result<String, Error> {
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let memory = memory.ok_or_else(|| Error::new("no memory"))?;
    let at = at as u32 as usize;
    let bytes = memory.data(caller).get(at..at.saturating_add(len)).ok_or_else(|| Error::new("outside the memory"))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The name and the input of an operation; the inner error is for the tool.
fn question(
    caller: &Caller<'_, State>,
    op: i32,
    op_len: i32,
    at: i32,
    len: i32,
) -> Result<Result<(String, Value), String>, Error> {
    let (op_len, len, most) = (op_len as u32 as usize, len as u32 as usize, caller.data().limits.output);
    let op = text(caller, op, op_len.min(64))?;
    if len > most {
        return Ok(Err(format!("the input of {op} is larger than {}", fault::size(&most))));
    }
    let input = instance::json(&text(caller, at, len)?).map_err(|error| format!("the input of {op}: {error}"));
    Ok(input.map(|input| (op, input)))
}

impl State {
    fn new(host: Arc<dyn Host>, limits: Limits, network: bool) -> State {
        State {
            memory: StoreLimitsBuilder::new()
                .memory_size(limits.memory)
                .instances(1)
                .memories(1)
                .tables(2)
                .table_elements(10_000)
                .build(),
            limits,
            network,
            host,
            asked: Vec::new(),
            operations: 0,
            fetches: 0,
            answer: Vec::new(),
            logs: Vec::new(),
            log_bytes: 0,
            random: Random::default(),
        }
    }

    /// Leaves a text for the guest to take and gives its length.
    fn say(&mut self, text: &str) -> i32 {
        // An empty reason would read as success.
        self.answer = if text.is_empty() { b"failed".to_vec() } else { text.as_bytes().to_vec() };
        self.answer.len() as i32
    }

    fn operate(&mut self, op: String, input: Value) -> Result<i32, String> {
        self.count()?;
        match op.as_str() {
            "fetch" if !self.network => return Err("this tool has no network permission".to_owned()),
            "fetch" if self.fetches >= self.limits.fetches => {
                return Err(format!("a call of this tool may fetch at most {} times", self.limits.fetches));
            }
            "fetch" => self.fetches += 1,
            "callTool" | "sleep" => {}
            other => return Err(format!("there is no operation {other}")),
        }
        self.asked.push(Operation { id: self.operations, op, input });
        Ok(self.operations)
    }

    fn query(&mut self, op: &str, input: Value) -> Result<Value, String> {
        if let Some(answer) = native::answer(op, &input) {
            return answer;
        }
        self.count()?;
        match op {
            "listTools" | "getApiKey" | "getServiceConfig" | "getConfigEntry" | "getConfigEntries"
            | "getFieldValue" => self.host.query(op, input),
            other => Err(format!("there is no operation {other}")),
        }
    }

    fn count(&mut self) -> Result<(), String> {
        if self.operations as u32 >= self.limits.calls {
            return Err(format!("a call of this tool may use the host at most {} times", self.limits.calls));
        }
        self.operations += 1;
        Ok(())
    }

    fn log(&mut self, level: i32, text: &str) {
        if self.log_bytes >= self.limits.logs {
            return;
        }
        // A line costs a little even when it is empty.
        self.log_bytes += text.len().max(16);
        let level = LEVELS.get(level as usize).copied().unwrap_or("log");
        if self.log_bytes >= self.limits.logs {
            let text = format!("[the rest of the console is dropped after {}]", fault::size(&self.limits.logs));
            self.logs.push(Log { level: "warn", text });
        } else {
            self.logs.push(Log { level, text: text.to_owned() });
        }
    }
}

/// The operating system's randomness, fetched in blocks.
#[derive(Default)]
struct Random(Vec<u64>);

impl Random {
    /// Uniform in [0, 1) with 53 bits.
    fn next(&mut self) -> Result<f64, Error> {
        if self.0.is_empty() {
            let mut block = [0; 512];
            getrandom::fill(&mut block).map_err(|error| Error::new(error.to_string()))?;
            self.0.extend(block.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
        }
        let word = self.0.pop().unwrap_or_default();
        Ok((word >> 11) as f64 / (1u64 << 53) as f64)
    }
}
