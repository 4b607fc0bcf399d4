//! The supervisor with real processes: shell scripts in the place of `hob`.

use crate::{
    POWER_OFF_CODE, RESTART_CODE,
    disk::RealDisk,
    error::Error,
    slots::{
        SlotManifest, SlotName, TrialReport,
        dir::{Root, Selector},
    },
    supervise::{Config, run},
    testing::Folder,
};
use std::{fs, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

/// A root whose slot A has a program, and perhaps B one to be tried.
struct Stage {
    folder: Folder,
    root: Root,
}

/// Writes a line to `log`, then does something.
fn script(action: &str) -> Vec<u8> {
    format!("#!/bin/sh\necho \"$HOB_SLOT $1 $2\" >> \"$HOB_SLOTS/log\"\n{action}\n").into_bytes()
}

/// Runs until it is asked to stop.
const STAYS: &str = "trap 'exit 0' TERM; while :; do sleep 0.02; done";

impl Stage {
    fn new(a: &[u8], b: Option<&[u8]>) -> Self {
        let folder = Folder::new("supervised").unwrap();
        let root = Root::new(Arc::new(RealDisk), folder.0.clone());
        root.create().unwrap();
        let stage = Self { folder, root };
        stage.fill(SlotName::A, a, "9.0.0");
        if let Some(b) = b {
            stage.fill(SlotName::B, b, "9.0.1");
        }
        let trial = b.map(|_| SlotName::B);
        stage.root.set_selector(&Selector { active: SlotName::A, trial, report: None }).unwrap();
        stage
    }

    fn fill(&self, slot: SlotName, program: &[u8], version: &str) {
        let path = self.root.program(slot);
        fs::write(&path, program).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let about = serde_json::to_vec(&SlotManifest::of_version(version.parse().unwrap())).unwrap();
        fs::write(self.root.folder(slot).join("manifest.json"), about).unwrap();
    }

    fn config(&self) -> Config {
        let millis = Duration::from_millis;
        Config {
            trial_window: millis(1_500),
            backoff_min: millis(10),
            backoff_max: millis(40),
            stop_grace: millis(300),
            ..Config::new(self.folder.0.clone(), vec!["--listen".into()])
        }
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.0.join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn selector(&self) -> Selector {
        self.root.selector().unwrap().unwrap()
    }

    /// Runs the supervisor until `done`, at most for half a minute.
    async fn until(&self, config: Config, done: impl Fn(&Self) -> bool) {
        // Programs that other tests are just starting hold this process's open files until they run.
        for _ in 0..500 {
            let lock = fs::File::open(self.folder.0.join("supervise.lock"));
            let Ok(lock) = lock else { break };
            if rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let running = run(config);
        let seen = async {
            while !done(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let limited = tokio::time::timeout(Duration::from_secs(30), async {
            tokio::select! {
                ended = running => panic!("the supervisor ended: {ended:?}"),
                () = seen => {}
            }
        });
        assert!(limited.await.is_ok(), "it took too long: {:?}, {:?}", self.log(), self.selector());
    }

    /// The trial of B ends with this reason, and A runs.
    async fn falls_back(b: &[u8], why: &str) {
        let stage = Self::new(&script(STAYS), Some(b));
        stage.until(stage.config(), |stage| stage.log().last().is_some_and(|last| last.starts_with("a "))).await;
        let selector = stage.selector();
        assert_eq!((selector.active, selector.trial), (SlotName::A, None));
        let report = selector.report.unwrap();
        assert_eq!(report.slot, SlotName::B);
        assert!(report.why.contains(why), "{}", report.why);
    }
}

#[tokio::test]
async fn a_version_that_ends_at_once_is_left() {
    Stage::falls_back(&script("exit 3"), "ended with exit code 3").await;
    Stage::falls_back(&script("kill -SEGV $$"), "ended by signal 11").await;
    Stage::falls_back(&script(&format!("exit {RESTART_CODE}")), "ended with exit code 75").await;
}

#[tokio::test]
async fn a_version_that_cannot_be_started_is_left() {
    // A program for another machine, an empty file, junk.
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[18] = 0xf3;
    Stage::falls_back(&elf, "cannot be started").await;
    Stage::falls_back(b"#!/no/such/interpreter\n", "cannot be started").await;
    let stage = Stage::new(&script(STAYS), Some(b"x"));
    fs::set_permissions(stage.root.program(SlotName::B), fs::Permissions::from_mode(0o600)).unwrap();
    stage.until(stage.config(), |stage| !stage.log().is_empty()).await;
    assert!(stage.selector().report.unwrap().why.contains("cannot be started"));
}

#[tokio::test]
async fn a_version_that_hangs_is_left() {
    Stage::falls_back(&script("sleep 1000"), "was not healthy within").await;
    // It does not listen to signals either, and has children.
    Stage::falls_back(&script("trap '' TERM; sleep 1000 & sleep 1000; sleep 1000"), "was not healthy within").await;
}

#[tokio::test]
async fn the_flag_is_cleared_before_the_attempt() {
    let check = "grep -q '\"try\"' \"$HOB_SLOTS/selector.json\" && echo flag >> \"$HOB_SLOTS/log\"; exit 1";
    let stage = Stage::new(&script(STAYS), Some(&script(check)));
    stage.until(stage.config(), |stage| stage.log().len() >= 2).await;
    assert_eq!(stage.log(), ["b serve --listen", "a serve --listen"]);
}

#[tokio::test]
async fn a_version_that_commits_stays() {
    let commit = r#"printf '{"active":"b"}' > "$HOB_SLOTS/selector.new"; mv "$HOB_SLOTS/selector.new" "$HOB_SLOTS/selector.json""#;
    // It runs longer than the window of the trial.
    let stage = Stage::new(&script("exit 9"), Some(&script(&format!("{commit}; sleep 1.8; exit 5"))));
    stage.until(stage.config(), |stage| stage.log().len() >= 2).await;
    assert_eq!(stage.log()[..2], ["b serve --listen", "b serve --listen"]);
    assert_eq!(stage.selector().report, None);
}

#[tokio::test]
async fn a_version_asks_for_the_switch() {
    let ask = format!(r#"printf '{{"active":"a","try":"b"}}' > "$HOB_SLOTS/selector.json"; exit {RESTART_CODE}"#);
    let stage = Stage::new(&script(&ask), None);
    stage.fill(SlotName::B, &script(STAYS), "9.0.1");
    stage.until(stage.config(), |stage| stage.log().len() >= 2).await;
    assert_eq!(stage.log(), ["a serve --listen", "b serve --listen"]);
}

#[tokio::test]
async fn a_version_that_dies_is_started_again() {
    let stage = Stage::new(&script("exit 1"), None);
    stage.until(stage.config(), |stage| stage.log().len() >= 4).await;
    assert_eq!(stage.selector().active, SlotName::A);
}

#[tokio::test]
async fn the_other_slot_takes_over_when_the_active_one_cannot_be_started() {
    let stage = Stage::new(b"\0", None);
    stage.fill(SlotName::B, &script(STAYS), "9.0.0");
    stage.until(stage.config(), |stage| !stage.log().is_empty()).await;
    let selector = stage.selector();
    assert_eq!((selector.active, selector.report.unwrap().slot), (SlotName::B, SlotName::A));
}

#[tokio::test]
async fn a_version_that_was_never_confirmed_does_not_take_over() {
    for (phase, takes_over) in [("staged", false), ("failed", false), ("committed", true)] {
        let stage = Stage::new(b"\0", None);
        stage.fill(SlotName::B, &script(STAYS), "9.0.0");
        let about = stage.root.manifest(SlotName::B).unwrap().unwrap();
        let journal = serde_json::json!({"phase": phase, "id": about.id, "version": "9.0.0", "serial": 9, "slot": "b"});
        fs::write(stage.folder.0.join("state.json"), journal.to_string()).unwrap();
        let tries = std::cell::Cell::new(0);
        let looked = |stage: &Stage| {
            tries.set(tries.get() + 1);
            !stage.log().is_empty() || !takes_over && tries.get() > 40
        };
        stage.until(stage.config(), looked).await;
        assert_eq!(stage.selector().active == SlotName::B, takes_over, "{phase}");
        assert_eq!(stage.log().is_empty(), !takes_over, "{phase}");
    }
}

#[tokio::test]
async fn an_empty_root_is_filled_with_this_program() {
    let folder = Folder::new("first").unwrap();
    let program = folder.write("program", &script(STAYS)).unwrap();
    let root = Root::new(Arc::new(RealDisk), folder.0.clone());
    let stage = Stage { folder, root };
    let config = Config { program, ..stage.config() };
    stage.until(config.clone(), |stage| !stage.log().is_empty()).await;
    let about = stage.root.manifest(SlotName::A).unwrap().unwrap();
    assert_eq!((about.version, about.serial), (config.version.clone(), 0));
    // A package brings a newer program: it is tried in the other slot, once.
    let newer = Config { version: "99.0.0".parse().unwrap(), ..config.clone() };
    fs::write(&config.program, script("exit 1")).unwrap();
    stage.until(newer.clone(), |stage| stage.log().len() >= 3).await;
    stage.until(newer, |stage| stage.log().len() >= 4).await;
    let slots: String = stage.log().iter().filter_map(|line| line.chars().next()).collect();
    assert_eq!(slots, "abaa");
}

#[tokio::test]
async fn a_newer_program_that_cannot_be_copied_leaves_the_version_that_is_there() {
    let stage = Stage::new(&script(STAYS), None);
    let program = stage.folder.0.join("missing");
    let config = Config { program, version: "99.0.0".parse().unwrap(), ..stage.config() };
    stage.until(config, |stage| !stage.log().is_empty()).await;
    assert_eq!(stage.log(), ["a serve --listen"]);
    assert_eq!(stage.selector(), Selector { active: SlotName::A, trial: None, report: None });
}

#[tokio::test]
async fn a_newer_program_that_takes_the_power_with_it_is_tried_once_and_one_that_was_stopped_again() {
    let stage = Stage::new(&script(STAYS), None);
    let program = stage.folder.write("program", &script(STAYS)).unwrap();
    let config = Config { program, version: "99.0.0".parse().unwrap(), ..stage.config() };
    // The supervisor and all it runs are gone in the middle of the trial.
    stage.until(config.clone(), |stage| !stage.log().is_empty()).await;
    let mut selector = stage.selector();
    let report = selector.report.clone().unwrap();
    assert_eq!((report.slot, report.stopped, selector.trial), (SlotName::B, false, None));
    stage.until(config.clone(), |stage| stage.log().len() >= 2).await;
    assert_eq!(stage.log(), ["b serve --listen", "a serve --listen"]);
    // A person stopped it: that says nothing about the version.
    selector.report = Some(TrialReport { stopped: true, ..report });
    stage.root.set_selector(&selector).unwrap();
    stage.until(config, |stage| stage.log().len() >= 3).await;
    assert_eq!(stage.log()[2], "b serve --listen");
}

#[tokio::test]
async fn switching_off_ends_the_supervisor() {
    let off = script(&format!("exit {POWER_OFF_CODE}"));
    for trial in [None, Some(&off[..])] {
        let stage = Stage::new(if trial.is_some() { b"" } else { &off }, trial);
        let ended = tokio::time::timeout(Duration::from_secs(30), run(stage.config())).await.unwrap().unwrap();
        assert_eq!(format!("{ended:?}"), format!("{:?}", std::process::ExitCode::from(POWER_OFF_CODE)));
        assert_eq!(stage.log().len(), 1, "nothing is started again: {:?}", stage.log());
        // The power button says nothing about a version that is tried.
        let report = stage.selector().report;
        assert_eq!(report.map(|report| report.stopped), trial.map(|_| true));
    }
}

#[tokio::test]
async fn one_supervisor_runs_a_root() {
    let stage = Stage::new(&script(STAYS), None);
    stage
        .until(stage.config(), |stage| {
            if stage.log().is_empty() {
                return false;
            }
            let lock = fs::OpenOptions::new().write(true).open(stage.folder.0.join("supervise.lock")).unwrap();
            rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err()
        })
        .await;
    let held = fs::File::open(stage.folder.0.join("supervise.lock")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(matches!(run(stage.config()).await, Err(Error::Busy(_))));
}
