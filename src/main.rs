//! The binary `hob`: [`cli`] parses the command, [`config`] reads the configuration, [`house`] builds the application and serves
//! it. Each uses only those after it.

mod cli;
mod config;
mod house;

use scrub::{How, Scrubber};
use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};
use tokio::signal::unix::SignalKind;

#[cfg(test)]
process_sandbox::enter_in_tests!(&[decoders::PART]);

/// How many files this process may open, where the system lets it.
const OPEN_FILES: u64 = 8192;

/// Writes the log to standard error without secrets. Never fails: a closed reader must not stop the daemon.
struct Log(Scrubber);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Each write is a whole line.
        let _ = match std::str::from_utf8(bytes) {
            Ok(line) => {
                let line = self.0.text(line, How::All);
                care::log().push(&line);
                std::io::stderr().write_all(line.as_bytes())
            }
            Err(_) => std::io::stderr().write_all(bytes),
        };
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether the reader of the output has gone, which is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    process_sandbox::enter_with(&[decoders::PART]);
    let command = cli::parse();
    care::begin();
    // Keep other programs of the same user from reading keys in this process's memory.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // Before the first thread, because each gets its own arena.
    embed::map_large_allocations();
    // Files are readable by the owner only.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // The workspace holds large files open while a program runs.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let current =
        limit.maximum.map_or(OPEN_FILES, |most| most.min(OPEN_FILES)).max(limit.current.unwrap_or(OPEN_FILES));
    let raised = rustix::process::Rlimit { current: Some(current), maximum: limit.maximum };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised);
    let scrubber = Scrubber::default();
    let logged = scrubber.clone();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HOB_LOG").unwrap_or_else(|_| cli::default_filter(&command)),
        )
        .with_writer(move || Log(logged.clone()))
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("hob: could not start threads: {e}");
            return ExitCode::from(1);
        }
    };
    {
        let _entered = runtime.enter();
        // Where the size of files is limited, a write fails; by default this signal would end the process instead.
        let exceeded = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        let _ = tokio::signal::unix::signal(exceeded);
    }
    let outcome = runtime.block_on(cli::run(command, scrubber));
    // Do not wait for tasks that block on a device or a socket.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match outcome {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "hob: {error:#}");
            ExitCode::from(1)
        }
    }
}
