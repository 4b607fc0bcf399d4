//! The lines of a device that is well, and of one that is not.

use super::*;
use crate::{Every, OwnWrites, Writes, backups::LastBackup, plan::BackupPlan};
use board::{Disk, Memory, Throttling, Wear, Wifi};
use store::Store;

fn state() -> State {
    State {
        model: None,
        os: String::new(),
        kernel: String::new(),
        arch: String::new(),
        hostname: String::new(),
        cpus: 4,
        load: [0.0; 3],
        memory: Memory { total: 1, used: 0, available: 1 },
        own_memory: 0,
        disk: Some(Disk { path: "/".into(), total: 29_000_000_000, free: 12_000_000_000 }),
        temperature: Some(48.0),
        throttling: None,
        wear: Some(Wear { device: "mmcblk0".into(), used_percent: 20, near_end: false }),
        wifi: None,
        uptime: 0,
        boot_time: 0,
    }
}

fn well() -> Facts {
    let now: Zoned = "2026-11-26T20:30:00[Europe/Vienna]".parse().unwrap();
    let store = Store::in_memory().unwrap();
    let last = LastBackup {
        at: now.timestamp().as_millisecond() as u64 - 3_600_000,
        size: 5_000_000,
        path: String::new(),
        encrypted: true,
        files: 3,
        skipped: 0,
    };
    let plan = BackupPlan { every: Every::Day, ..BackupPlan::default() }.view();
    Facts {
        clock: Clockwork { newest_ms: 0, synchronized: Some(true), now },
        state: Some(state()),
        under_voltage: Some(false),
        writes: Writes::open(&store, OwnWrites::open(), 0).look(jiff::civil::date(2026, 11, 26), None),
        backup: Some(BackupView { plan, next: None, last: Some(last), problem: None, is_old: false }),
        network: NetworkFacts {
            is_open: true,
            addresses: vec!["192.168.1.7".into()],
            hostname: Some("hob.local".into()),
            fingerprint: Some("AA:BB".into()),
            claimed: true,
            serves: true,
        },
        model: "openai/x".into(),
        troubles: vec![],
        crashes: 0,
    }
}

fn line(facts: &Facts, name: &str) -> Check {
    Checks::default().all(facts).into_iter().find(|check| check.name == name).unwrap()
}

#[test]
fn a_device_that_is_well_says_so_line_by_line() {
    let all = Checks::default().all(&well());
    assert!(all.iter().all(|check| check.outcome == Outcome::Well && check.todo.is_none()), "{all:#?}");
    let names: Vec<&str> = all.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, ["clock", "disk", "card", "heat", "power", "network", "secure", "claimed", "backup", "answers"]);
    assert_eq!(all[0].text, "It is 26 November 2026, 20:30 (Europe/Vienna).");
    assert_eq!(all[1].text, "12 GB of 29 GB are free.");
    assert!(all[2].text.ends_with("up to 20 % of its life are used."), "{}", all[2].text);
}

#[test]
fn what_is_wrong_says_what_to_do() {
    type Break = fn(&mut Facts);
    let rows: [(&str, Outcome, &str, &str, Break); 19] = [
        ("clock", Outcome::Wrong, "in the past", "internet", |f| f.clock.newest_ms = u64::MAX),
        ("clock", Outcome::Careful, "not set from the network", "internet", |f| f.clock.synchronized = Some(false)),
        ("disk", Outcome::Wrong, "is full", "delete", |f| f.state.as_mut().unwrap().disk.as_mut().unwrap().free = 1),
        ("disk", Outcome::Careful, "nearly full", "delete", |f| {
            f.state.as_mut().unwrap().disk.as_mut().unwrap().free = 400_000_000;
        }),
        ("card", Outcome::Wrong, "recorded 2 errors", "backup now", |f| f.writes.errors = Some(2)),
        ("card", Outcome::Wrong, "up to 100 % of the life", "replace it", |f| {
            f.state.as_mut().unwrap().wear.as_mut().unwrap().used_percent = 100;
        }),
        ("card", Outcome::Careful, "", "iotop", |f| f.writes.exceeded = true),
        ("heat", Outcome::Careful, "85 °C and slows down", "heat sink", |f| {
            f.state.as_mut().unwrap().temperature = Some(85.0)
        }),
        ("heat", Outcome::Careful, "76 °C", "heat sink", |f| f.state.as_mut().unwrap().temperature = Some(76.0)),
        ("power", Outcome::Wrong, "too little voltage.", "cable", |f| f.under_voltage = Some(true)),
        ("power", Outcome::Careful, "since the start", "cable", |f| {
            let throttling = Throttling { under_voltage_since_boot: true, ..Throttling::default() };
            f.state.as_mut().unwrap().throttling = Some(throttling);
        }),
        ("network", Outcome::Wrong, "no address", "cable", |f| f.network.addresses.clear()),
        ("network", Outcome::Careful, "weak (-82 dBm)", "access point", |f| {
            f.state.as_mut().unwrap().wifi = Some(Wifi { interface: "wlan0".into(), signal_dbm: -82 });
        }),
        ("secure", Outcome::Careful, "no encrypted address", "hob.toml", |f| f.network.fingerprint = None),
        ("claimed", Outcome::Careful, "no owner", "code", |f| f.network.claimed = false),
        ("backup", Outcome::Careful, "no backup yet", "Device, Backup", |f| f.backup.as_mut().unwrap().last = None),
        ("backup", Outcome::Wrong, "failed. The last backup was made today", "plug", |f| {
            f.backup.as_mut().unwrap().problem = Some("plug it in".into());
        }),
        ("answers", Outcome::Wrong, "openai/x does not answer", "key", |f| {
            f.troubles = vec![ModelFacts { model: "openai/x".into(), problem: "no".into(), todo: "set a key".into() }];
        }),
        ("crashes", Outcome::Careful, "failed 1 time", "hob support", |f| f.crashes = 1),
    ];
    for (name, outcome, text, todo, breaks) in rows {
        let mut facts = well();
        breaks(&mut facts);
        let found = line(&facts, name);
        assert_eq!(found.outcome, outcome, "{found:?}");
        assert!(found.text.contains(text) && found.todo.as_ref().is_some_and(|t| t.contains(todo)), "{found:?}");
    }
}

#[test]
fn other_parts_add_their_lines() {
    let checks = Checks::default();
    checks.add(|| Some(Check::well("update", "Hob is up to date.")));
    checks.add(|| None);
    let all = checks.all(&well());
    assert_eq!(all.last().map(|check| check.name.as_str()), Some("update"));
}
