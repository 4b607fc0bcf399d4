//! `hob`: parse, build, register, start. The plan of the house is in [`house::build`].

mod cli;
mod client;
mod config;
mod discover;
mod house;
mod serve;
mod settings;
mod warm;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

/// Standard error for the log. A reader that went away must not take the daemon with it, so nothing here ever fails.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = std::io::stderr().write_all(bytes);
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
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HOB_LOG").unwrap_or_else(|_| cli::default_filter(&command)),
        )
        .with_writer(|| Log)
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
    let outcome = runtime.block_on(cli::run(command));
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
