//! Scenarios: a file, or what is written to a named pipe, says line by line what happens at the simulated pins:
//!
//! ```text
//! wait 200                # milliseconds
//! high 4
//! low 4
//! press 4 80              # milliseconds
//! bounce 4 high 5         # times
//! flap 4 10000 2000       # hertz, milliseconds
//! temperature i2c 30.5    # or the id of a 1-Wire thermometer
//! supply weak             # or right
//! ```

use super::{Simulator, World};
use crate::Pin;
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{Mode, OFlags},
    time::Timespec,
};
use std::{sync::Weak, time::Duration};

/// How often is looked whether the board is still there while nothing is written.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// The longest line.
const LINE: usize = 200;
/// The longest time of a step.
const LONGEST_MS: u64 = 600_000;

/// One step of a scenario.
#[derive(Debug, PartialEq)]
enum Step {
    Wait(Duration),
    Level(Pin, bool),
    Press(Pin, Duration),
    Bounce(Pin, bool, u32),
    Flap(Pin, u32, Duration),
    Temperature(String, f64),
    Supply { weak: bool },
}

fn parse(line: &str) -> Option<Step> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let pin = |text: &str| text.parse().ok().and_then(Pin::new);
    let time = |text: &str| text.parse().ok().map(|ms: u64| Duration::from_millis(ms.min(LONGEST_MS)));
    let high = |text: &str| match text {
        "high" => Some(true),
        "low" => Some(false),
        _ => None,
    };
    Some(match words[..] {
        ["wait", ms] => Step::Wait(time(ms)?),
        ["high", number] => Step::Level(pin(number)?, true),
        ["low", number] => Step::Level(pin(number)?, false),
        ["press", number, ms] => Step::Press(pin(number)?, time(ms)?),
        ["bounce", number, level, times] => Step::Bounce(pin(number)?, high(level)?, times.parse().ok()?),
        ["flap", number, hertz, ms] => Step::Flap(pin(number)?, hertz.parse().ok()?, time(ms)?),
        ["temperature", id, celsius] => Step::Temperature(id.into(), celsius.parse().ok()?),
        ["supply", "weak"] => Step::Supply { weak: true },
        ["supply", "right"] => Step::Supply { weak: false },
        _ => return None,
    })
}

fn take(simulator: &Simulator, step: Step) {
    match step {
        Step::Wait(time) => std::thread::sleep(time),
        Step::Level(pin, high) => simulator.set(pin, high),
        Step::Press(pin, time) => simulator.press(pin, time),
        Step::Bounce(pin, high, times) => simulator.bounce(pin, high, times.min(10_000)),
        Step::Flap(pin, hertz, time) => drop(simulator.flap(pin, hertz, time)),
        Step::Supply { weak } => simulator.set_under_voltage(weak),
        Step::Temperature(id, celsius) => {
            if !simulator.temperature(&id, celsius) {
                tracing::warn!(%id, "the scenario names a thermometer that is not there");
            }
        }
    }
}

/// Follows the file of a scenario on a thread of its own, as long as the board lives.
pub(super) fn follow(world: Weak<World>, file: &str) {
    if file.is_empty() {
        return;
    }
    // A pipe that is opened for writing, too, has no end between two writers.
    let pipe = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let plain = OFlags::RDONLY | OFlags::CLOEXEC;
    let is_pipe = rustix::fs::stat(file)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo);
    let opened = match rustix::fs::open(file, if is_pipe { pipe } else { plain }, Mode::empty()) {
        Ok(opened) => opened,
        Err(why) => return tracing::warn!(%file, %why, "the scenario of the simulated board cannot be read"),
    };
    let run = move || {
        let (mut rest, mut buffer) = (Vec::new(), [0; 1024]);
        loop {
            let mut waits = [PollFd::new(&opened, PollFlags::IN)];
            let ready = poll(&mut waits, Some(&LOOK_EVERY)).unwrap_or(0);
            let Some(world) = world.upgrade() else { return };
            if ready == 0 {
                continue;
            }
            let read = rustix::io::read(&opened, &mut buffer).unwrap_or(0);
            if read == 0 && !is_pipe {
                rest.push(b'\n');
            }
            rest.extend_from_slice(&buffer[..read]);
            let simulator = Simulator(world);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let line = line.split('#').next().unwrap_or_default().trim();
                match parse(line) {
                    Some(step) => take(&simulator, step),
                    None if line.is_empty() => {}
                    None => tracing::warn!(%line, "the scenario has a line that says nothing"),
                }
            }
            rest.truncate(LINE);
            if read == 0 && !is_pipe {
                return;
            }
        }
    };
    if let Err(error) = std::thread::Builder::new().name("scenario".into()).spawn(run) {
        tracing::warn!(%error, "the scenario of the simulated board cannot run");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_steps() {
        let pin = Pin::new(4).unwrap();
        let ms = Duration::from_millis;
        for (line, step) in [
            ("wait 200", Step::Wait(ms(200))),
            ("high 4", Step::Level(pin, true)),
            (" low  4 ", Step::Level(pin, false)),
            ("press 4 80", Step::Press(pin, ms(80))),
            ("bounce 4 high 5", Step::Bounce(pin, true, 5)),
            ("flap 4 10000 2000", Step::Flap(pin, 10_000, ms(2000))),
            ("temperature i2c -3.5", Step::Temperature("i2c".into(), -3.5)),
            ("supply weak", Step::Supply { weak: true }),
            ("supply right", Step::Supply { weak: false }),
        ] {
            assert_eq!(parse(line), Some(step), "{line}");
        }
        for line in ["", "high", "high 28", "press 4", "bounce 4 up 5", "wait soon", "temperature 4", "supply"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
