//! The power fails at every write of an installation: the machine boots a whole version, and the journal says the truth.

use super::world::{Kind, images, new_bundle, send, updater};
use crate::{error::Result, sim_disk::SimDisk, slots::Restart};

/// Boots and installs until version 1.0.2 is committed, or the power fails. `boots` counts the boots of the machine.
fn drive(kind: Kind, disk: &SimDisk, boots: &mut u64) -> Result<()> {
    let mut tryboot = false;
    for _ in 0..8 {
        *boots += 1;
        let running = kind.boot(disk, tryboot)?;
        let slots = kind.slots(disk, running, *boots);
        let updater = updater(disk, slots.clone())?;
        let status = updater.status()?;
        if status.trial && status.state == "trying" {
            updater.confirm()?;
            return Ok(());
        }
        if status.state == "committed" {
            return Ok(());
        }
        if status.state != "staged" {
            let id = send(&updater, new_bundle(kind.payload()), 7_000)?;
            updater.stage(&id)?;
        }
        tryboot = updater.try_staged()? == Restart::Command(&["reboot", "0 tryboot"]);
    }
    panic!("no commit after eight boots: {kind:?}");
}

/// Checks the state after a power cut, before anybody does anything.
fn check(kind: Kind, disk: &SimDisk, boots: &mut u64, at: u64) {
    *boots += 1;
    let running = kind.boot(disk, false).unwrap();
    let slots = kind.slots(disk, running, *boots);
    let status = updater(disk, slots.clone()).unwrap().status().unwrap();
    let about = format!("{kind:?}, cut at step {at}: {status:?}");
    let whole = |slot, version| kind.content(disk, slot, version) == images(kind.payload(), version);
    // The slot that runs is whole, and of the version that its description says.
    let version = status.running.serial as usize - 1;
    assert!(whole(running, version), "{about}");
    let is_new = version == 1;
    match status.state {
        "idle" | "writing" | "failed" => assert!(!is_new && status.floor == 1, "{about}"),
        "staged" => {
            assert!(!is_new && status.floor == 1, "{about}");
            assert!(whole(running.other(), 1), "{about}");
        }
        "trying" => assert!(is_new && status.trial && status.floor == 1, "{about}"),
        "committed" => assert!(is_new && !status.trial && status.floor == 2, "{about}"),
        other => panic!("{other}: {about}"),
    }
    if status.state == "failed" {
        let outcome = status.last_outcome.unwrap();
        assert!(outcome.tried && outcome.why.contains("power failed"), "{outcome:?}");
    }
    // The version that starts when the active one does not is never one that nobody confirmed.
    if kind == Kind::Uboot {
        let text = String::from_utf8(disk.content("/boot/slot.env").unwrap()).unwrap();
        let fallback = format!("fallback={}\n", running.other());
        assert!(
            !text.contains(&fallback) || ["idle", "writing", "committed"].contains(&status.state),
            "{text}: {about}"
        );
        assert!(status.state != "committed" || text.contains(&fallback), "{text}: {about}");
    }
    // A description of the other slot is never one of a version that is not there.
    if let Some(other) = status.other {
        assert!(whole(running.other(), other.serial as usize - 1), "{about}");
    }
}

fn cut_everywhere(kind: Kind) {
    let uncut = kind.machine();
    drive(kind, &uncut, &mut 0).unwrap();
    let steps = uncut.steps();
    assert!(steps > 40, "{steps}");
    for at in 1..=steps {
        for seed in 0..3 {
            let disk = kind.machine();
            disk.cut_at(at);
            let mut boots = 0;
            assert!(drive(kind, &disk, &mut boots).is_err() || at == steps, "{kind:?} {at}");
            assert!(disk.is_off());
            let disk = disk.after_cut(at * 7 + seed);
            check(kind, &disk, &mut boots, at);
            // It installs after all.
            drive(kind, &disk, &mut boots).unwrap();
            check(kind, &disk, &mut boots, at);
            let running = kind.boot(&disk, false).unwrap();
            assert!(kind.content(&disk, running, 1) == images(kind.payload(), 1), "{kind:?} {at}");
        }
    }
}

#[test]
fn dir_slots_survive_a_power_cut_at_every_write() {
    cut_everywhere(Kind::Dir);
}

#[test]
fn uboot_slots_survive_a_power_cut_at_every_write() {
    cut_everywhere(Kind::Uboot);
}

#[test]
fn pi_tryboot_slots_survive_a_power_cut_at_every_write() {
    cut_everywhere(Kind::PiTryboot);
}
