//! Switching the device off, once everything is on the disk.

use std::{
    process::Command,
    time::{Duration, Instant},
};

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Switches the device off: by the command, or else by the kernel, which only root may ask. `simulated`: only a command is run.
///
/// # Errors
/// Why it stays on, and what to do.
pub(crate) fn off(command: &str, simulated: bool) -> Result<(), String> {
    let mut words = command.split_whitespace();
    if let Some(program) = words.next() {
        return run(program, words);
    }
    if simulated {
        return Err("the board is simulated, so the device stays on".into());
    }
    if !rustix::process::getuid().is_root() {
        return Err("only root may switch the device off: set `power.off_command` in hob.toml".into());
    }
    rustix::fs::sync();
    rustix::system::reboot(rustix::system::RebootCommand::PowerOff)
        .map_err(|e| format!("the device could not be switched off ({e}): set `power.off_command` in hob.toml"))
}

fn run<'a>(program: &str, arguments: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let failed = |why: String| format!("`power.off_command` failed ({why}): the device stays on");
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .spawn()
        .map_err(|e| failed(e.to_string()))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(status.to_string())),
            Err(e) => return Err(failed(e.to_string())),
            Ok(None) if began.elapsed() < TIMEOUT => std::thread::sleep(POLL),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("it did not end".into()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_says_so() {
        assert_eq!(off("true", true), Ok(()));
        assert!(off("false", true).unwrap_err().contains("exit status: 1"));
        assert!(off("/nonexistent now", true).unwrap_err().contains("stays on"));
        assert!(off("", true).unwrap_err().contains("simulated"));
    }
}
