//! The binary `hob`: [`cli`] parses the command, [`config`] reads the configuration, [`house`] builds the application and serves
//! it. Each uses only those after it.

mod cli;
mod config;
mod house;
mod models;

use config::runtime_settings;
use scrub::{How, Scrubber};
use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

/// Standard error for the log, without secrets. A reader that went away must not take the daemon with it, so nothing here
/// ever fails.
struct Log(Scrubber);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Whole lines come at once.
        let _ = match std::str::from_utf8(bytes) {
            Ok(line) => std::io::stderr().write_all(self.0.text(line, How::All).as_bytes()),
            Err(_) => std::io::stderr().write_all(bytes),
        };
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether the reader of our output went away: no failure of ours.
fn left_alone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    let command = cli::parse();
    // Other programs of the same user must not read keys out of this process's memory.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    // Before there are threads, which would begin with memory of their own.
    embed::keep_large_apart();
    // What Hob writes is its owner's alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
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
            eprintln!("hob: the system gives no threads: {e}");
            return ExitCode::from(1);
        }
    };
    let outcome = runtime.block_on(cli::run(command, scrubber));
    // What still blocks on a device or a socket must not hold up the end.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if left_alone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "hob: {error:#}");
            ExitCode::from(1)
        }
    }
}
