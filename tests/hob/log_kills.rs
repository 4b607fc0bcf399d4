//! Kills while several callers set, replace and delete values: the log holds what was acknowledged, and nothing half.
//!
//! `cargo test` kills the daemon 25 times; `LOG_KILLS=2000` (part of `make proof`) as often as given. `SEED=…` repeats a run as
//! far as the machine's timing allows.

use crate::{
    harness::{Dice, Hob, TOKEN},
    http::Request,
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, thread, time::Duration};

const CALLERS: u64 = 4;
const KEYS: u64 = 5;

/// The version of each value; 0 when there is none.
type Versions = BTreeMap<String, u64>;

/// What one caller has been told, and the write that nobody answered.
struct Caller {
    name: String,
    dice: Dice,
    known: Versions,
    open: Option<(String, u64)>,
    version: u64,
}

fn value(version: u64) -> Value {
    // The larger ones fill the log sooner, so that checkpoints are cut as well.
    let size = if version.is_multiple_of(7) { 40_000 } else { version % 900 };
    json!({"first": version, "between": "x".repeat(size as usize), "last": version})
}

impl Caller {
    /// Writes until the daemon is gone.
    fn work(&mut self, port: u16) {
        loop {
            let key = format!("{} {}", self.name, self.dice.below(KEYS));
            self.version += 1;
            let (tool, arguments, version) = match self.dice.below(5) {
                0 => ("delete_state", json!({"key": key}), 0),
                _ => ("set_state", json!({"key": key, "value": value(self.version)}), self.version),
            };
            self.open = Some((key.clone(), version));
            let path = format!("/api/v1/tools/{tool}/execute");
            let request = Request::new(port, "POST", &path).bearer(TOKEN).json(&json!({"arguments": arguments}));
            match request.try_send() {
                Ok(reply) if reply.status == 200 => {
                    self.known.insert(key, version);
                    self.open = None;
                }
                Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
                Err(_) => return,
            }
        }
    }

    /// Compares what is stored with what was acknowledged.
    fn check(&mut self, hob: &Hob, round: u64) {
        for n in 0..KEYS {
            let key = format!("{} {n}", self.name);
            let stored = hob.result("get_state", json!({"key": key}))["value"].clone();
            let version = stored["first"].as_u64().unwrap_or_default();
            assert!(version == 0 || stored == value(version), "round {round}: half of {key} at {version}");
            let known = self.known.get(&key).copied().unwrap_or_default();
            let unanswered = self.open.iter().any(|open| *open == (key.clone(), version));
            assert!(version == known || unanswered, "round {round}: {key} is at {version}, and was at {known}");
            self.known.insert(key, version);
        }
        self.open = None;
    }
}

#[test]
fn no_kill_loses_what_the_log_has_acknowledged() {
    let (kills, mut hob, mut dice) = (number("LOG_KILLS").unwrap_or(25), Hob::start(), dice("the log"));
    let caller = |n: u64, seed: u64| Caller {
        name: format!("caller{n}"),
        dice: Dice(seed ^ n),
        known: Versions::new(),
        open: None,
        version: 0,
    };
    let seed = dice.below(1 << 30);
    let mut callers: Vec<Caller> = (0..CALLERS).map(|n| caller(n, seed)).collect();
    let mut used = 0;
    for round in 0..kills {
        let (port, pause) = (hob.port, Duration::from_micros(dice.below(80_000)));
        thread::scope(|scope| {
            for caller in &mut callers {
                scope.spawn(move || caller.work(port));
            }
            thread::sleep(pause);
            hob.kill();
        });
        used += u64::from(fs::metadata(hob.data().join("hob.wal")).is_ok());
        // What an opening does is cut as well.
        if dice.below(4) == 0 {
            hob.start_again();
            hob.kill();
        }
        hob.start_again();
        callers.iter_mut().for_each(|caller| caller.check(&hob, round));
    }
    let writes: u64 = callers.iter().map(|caller| caller.version).sum();
    println!(
        "{kills} kills, {writes} writes, the last file has {} bytes",
        fs::metadata(hob.data().join("hob.redb")).unwrap().len()
    );
    assert!(used > kills / 2 && writes > kills * 4, "too little to mean anything: {used} logs, {writes} writes");
    hob.assert_alive();
    // Closed in order, the data is complete without the log.
    assert_eq!(hob.stop(), Some(0));
    assert!(hob.cli(&["doctor"]).ok().contains("every page is sound"));
    fs::remove_file(hob.data().join("hob.wal")).unwrap();
    hob.start_again();
    callers.iter_mut().for_each(|caller| caller.check(&hob, kills));
}
