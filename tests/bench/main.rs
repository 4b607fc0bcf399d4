//! Measures one part from inside and prints one line of JSON: `bench writes ENGINE WRITERS SECONDS FOLDER`,
//! `bench search ROUNDS`, `bench scheduler …`, `bench tasks ROUNDS FOLDER`, `bench pins ROUNDS`,
//! `bench reflex ROWS`, `bench page ROUNDS FILE`, `bench relevance FILE`, `bench recall fill|built|saved|peer COUNT ROUNDS FOLDER`, `bench collections fill|search FOLDER`, `bench decade day|decade FOLDER`, `bench update …`. `run` calls it
//! and compares.

mod collections;
mod decade;
mod decide;
mod dispatch;
mod due;
mod household;
mod page;
mod pins;
mod recall;
mod reflex;
mod relevance;
mod rules;
mod sandbox_start;
mod scheduler;
mod script;
mod search;
mod tasks;
mod update;
mod vectors;
// The words of memories as the ranking compares them; `recall` measures its second pass apart.
#[allow(dead_code)]
#[path = "../../src/memory/words.rs"]
mod words;
mod writes;

use rustix::time::{ClockId, clock_gettime};
use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "usage: bench writes hob|sqlite WRITERS SECONDS FOLDER | embed ROUNDS TEXT... | script CALLS | sandbox ROUNDS FOLDER | dispatch \
                     CALLS FOLDER [log] | decide ROUNDS | search ROUNDS | scheduler ... | tasks ROUNDS FOLDER | pins ROUNDS | reflex ROWS | page ROUNDS FILE | relevance FILE | rules ROUNDS FOLDER | \
                     recall fill|built|saved|peer COUNT ROUNDS FOLDER | collections fill|search FOLDER | decade day|decade FOLDER | \
                     update build HOB OLD|- FOLDER | update apply whole|delta OLD|- FOLDER MACHINE";

fn main() -> ExitCode {
    process_sandbox::enter_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match measure(&arguments) {
        Ok(found) => {
            println!("{found}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("bench: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &[&str]) -> Result<serde_json::Value> {
    match arguments {
        ["writes", engine, writers, seconds, folder] => {
            writes::measure(engine, writers.parse()?, seconds.parse()?, folder.as_ref())
        }
        ["embed", rounds, texts @ ..] if !texts.is_empty() => vectors::measure(rounds.parse()?, texts),
        ["sandbox", rounds, folder] => sandbox_start::measure(rounds.parse()?, folder.as_ref()),
        ["script", calls] => script::measure(calls.parse()?),
        ["dispatch", calls, folder] => dispatch::measure(calls.parse()?, folder.as_ref(), false),
        ["dispatch", calls, folder, "log"] => dispatch::measure(calls.parse()?, folder.as_ref(), true),
        ["decide", rounds] => decide::measure(rounds.parse()?),
        ["search", rounds] => search::measure(rounds.parse()?),
        ["recall", step, count, rounds, folder] => {
            recall::measure(step, (count.parse()?, rounds.parse()?), folder.as_ref())
        }
        ["relevance", file] => relevance::measure(file.as_ref()),
        ["collections", step, folder] => collections::measure(step, folder.as_ref()),
        ["page", rounds, file] => page::measure(rounds.parse()?, file.as_ref()),
        ["reflex", rows] => reflex::measure(rows.as_ref()),
        ["scheduler", arguments @ ..] => scheduler::measure(arguments),
        ["pins", rounds] => pins::measure(rounds.parse()?),
        ["tasks", rounds, folder] => tasks::measure(rounds.parse()?, folder.as_ref()),
        ["rules", rounds, folder] => rules::measure(rounds.parse()?, folder.as_ref()),
        ["update", "build", hob, old, folder] => update::build(hob.as_ref(), old, folder.as_ref()),
        ["update", "apply", name, old, folder, machine] => update::apply(name, old, folder.as_ref(), machine.as_ref()),
        ["decade", name, folder] => decade::fill(name, folder.as_ref()),
        _ => Err(USAGE.into()),
    }
}

/// CPU time and time on the wall since it was started; the CPU is that of all threads.
struct Watch {
    cpu: Duration,
    wall: Instant,
}

impl Watch {
    fn start() -> Self {
        Self { cpu: cpu(), wall: Instant::now() }
    }
    fn cpu_ms(&self) -> f64 {
        (cpu() - self.cpu).as_secs_f64() * 1e3
    }
    fn seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }
}

fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Numbers at random that are the same for the same beginning.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}
