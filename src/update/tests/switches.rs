//! The switches of the three kinds of slots, and how they are detected, on real files.

use super::world::{KEYS, device};
use crate::{
    Config, Updater,
    disk::RealDisk,
    manifest::Payload,
    slots::{
        Restart, SlotKind, SlotManifest, SlotName, Slots,
        detect::Machine,
        dir::DirSlots,
        partitions::Partitions,
        pi_tryboot::{PiTrybootSlots, slot_of_partition},
        uboot::UbootSlots,
    },
    testing::Folder,
};
use std::{fs, path::PathBuf, sync::Arc};

fn partitions(folder: &Folder) -> Partitions {
    for name in ["x2", "x3", "x5", "x6"] {
        folder.write(name, &[0; 10_000]).unwrap();
    }
    let path = |name: &str| folder.0.join(name);
    Partitions::new(Arc::new(RealDisk), [[path("x2"), path("x5")], [path("x3"), path("x6")]], path("state"))
}

#[test]
fn uboot_reads_and_writes_slot_env() {
    let folder = Folder::new("uboot").unwrap();
    let file = folder.0.join("slot.env");
    let slots = UbootSlots::new(partitions(&folder), file.clone(), SlotName::A);
    for (text, active, trial) in [
        ("active=a\ntry=\n", SlotName::A, None),
        ("active=b\ntry=a\n", SlotName::B, Some(SlotName::A)),
        ("active=b\n\0", SlotName::B, None),
        ("try=b\nactive=a\r\n", SlotName::A, Some(SlotName::B)),
        ("", SlotName::A, None),
        ("active=c\ntry=b\n", SlotName::A, None),
        ("\u{fffd}garbage", SlotName::A, None),
    ] {
        fs::write(&file, text).unwrap();
        assert_eq!((slots.active().unwrap(), slots.next_trial().unwrap()), (active, trial), "{text:?}");
    }
    fs::remove_file(&file).unwrap();
    slots.set_trial(Some(SlotName::B)).unwrap();
    let text = || fs::read_to_string(&file).unwrap();
    assert_eq!(text(), "active=a\ntry=b\nfallback=\n");
    assert!(!slots.running().unwrap().trial);
    let copy = || fs::read_to_string(folder.0.join("slot.bak")).unwrap();
    assert_eq!(copy(), "active=a\ntry=\nfallback=\n", "nothing is tried because of the copy");
    // The version that was confirmed before is what starts when this one does not, until its slot is written.
    slots.commit(SlotName::B).unwrap();
    assert_eq!(text(), "active=b\ntry=\nfallback=a\n");
    slots.commit(SlotName::B).unwrap();
    assert_eq!(copy(), text());
    slots.invalidate(SlotName::B).unwrap();
    assert_eq!(text(), "active=b\ntry=\nfallback=a\n");
    slots.invalidate(SlotName::A).unwrap();
    assert_eq!(text(), "active=b\ntry=\nfallback=\n");
    assert_eq!(copy(), text());
    slots.set_trial(Some(SlotName::A)).unwrap();
    assert_eq!(text(), "active=b\ntry=a\nfallback=\n");
    slots.set_trial(None).unwrap();
    assert!(slots.running().unwrap().trial, "the machine runs A, and B is active");
    assert_eq!(slots.restart(true), Restart::Exit);
    // A copy that cannot be written stops nothing.
    fs::remove_file(folder.0.join("slot.bak")).unwrap();
    fs::create_dir(folder.0.join("slot.bak")).unwrap();
    slots.commit(SlotName::A).unwrap();
    assert_eq!(text(), "active=a\ntry=\nfallback=b\n");
}

#[test]
fn a_confirmed_slot_that_runs_unasked_stands_in_for_the_active_one() {
    let folder = Folder::new("stands-in").unwrap();
    let slots = UbootSlots::new(partitions(&folder), folder.0.join("slot.env"), SlotName::B);
    let stands_in = |env: &str, note: Option<&str>| {
        fs::write(folder.0.join("slot.env"), env).unwrap();
        match note {
            Some(note) => fs::write(folder.0.join("slot.why"), note).unwrap(),
            None => drop(fs::remove_file(folder.0.join("slot.why"))),
        }
        slots.stands_in().unwrap()
    };
    let broken = "active=a\ntry=\nfallback=b\n";
    assert_eq!(stands_in(broken, Some("a its root is empty\n")).as_deref(), Some("its root is empty"));
    for note in [None, Some(""), Some("b of this very slot\n"), Some("a \u{1b}[31m\n"), Some("a"), Some("a \0\0\n")] {
        assert_eq!(stands_in(broken, note).as_deref(), Some(""), "{note:?}");
    }
    // An update is tried, or it is the active one.
    assert_eq!(stands_in("active=a\ntry=\nfallback=\n", None), None);
    assert_eq!(stands_in("active=b\ntry=\nfallback=a\n", None), None);
}

#[test]
fn the_firmware_reads_autoboot_txt() {
    let folder = Folder::new("pi").unwrap();
    let file = folder.0.join("autoboot.txt");
    let of = |boot: &str| PiTrybootSlots::new(partitions(&folder), file.clone(), &folder.0, boot.into(), SlotName::A);
    let slots = of("boot-1");
    slots.commit(SlotName::A).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "[all]\ntryboot_a_b=1\nboot_partition=2\n[tryboot]\nboot_partition=3\n");
    assert!(text.len() <= 512);
    slots.set_trial(Some(SlotName::B)).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(slots.next_trial().unwrap(), Some(SlotName::B));
    assert_eq!(of("boot-2").next_trial().unwrap(), None, "the firmware forgets the request");
    assert_eq!(slots.restart(true), Restart::Command(&["reboot", "0 tryboot"]));
    slots.commit(SlotName::B).unwrap();
    assert!(fs::read_to_string(&file).unwrap().starts_with("[all]\ntryboot_a_b=1\nboot_partition=3\n"));
    assert!(slots.running().unwrap().trial);
    assert_eq!(slot_of_partition(&[0, 0, 0, 3]), Some(SlotName::B));
    assert_eq!((slot_of_partition(&[0, 0, 0, 7]), slot_of_partition(b"x")), (None, None));
}

#[test]
fn images_go_into_partitions_that_are_large_enough() {
    let folder = Folder::new("partitions").unwrap();
    let slots = UbootSlots::new(partitions(&folder), folder.0.join("slot.env"), SlotName::A);
    let writer = slots.writer(SlotName::B, "root", 9_000).unwrap();
    writer.write_at(8_990, b"0123456789").unwrap();
    writer.set_length(9_000).unwrap();
    writer.sync().unwrap();
    assert_eq!(fs::read(folder.0.join("x6")).unwrap().len(), 10_000, "a partition has no length to set");
    let Err(error) = slots.writer(SlotName::B, "root", 10_001) else { panic!("it does not fit") };
    assert!(error.to_string().contains("flash the new version"), "{error}");
    assert!(slots.writer(SlotName::B, "kernel", 1).is_err());
    let about = SlotManifest::of_version("2.0.0".parse().unwrap());
    fs::create_dir_all(folder.0.join("state")).unwrap();
    slots.finish(SlotName::B, &about).unwrap();
    assert_eq!(slots.manifest(SlotName::B).unwrap(), Some(about));
    slots.discard(SlotName::B, true).unwrap();
    assert_eq!(slots.manifest(SlotName::B).unwrap(), None);
}

#[test]
fn dir_slots_are_folders() {
    let folder = Folder::new("dir").unwrap();
    let slots = DirSlots::new(Arc::new(RealDisk), folder.0.clone(), SlotName::A);
    slots.invalidate(SlotName::B).unwrap();
    let writer = slots.writer(SlotName::B, "hob", 3).unwrap();
    writer.write_at(0, b"new").unwrap();
    writer.sync().unwrap();
    let about = SlotManifest::of_version("2.0.0".parse().unwrap());
    slots.finish(SlotName::B, &about).unwrap();
    let program = folder.0.join("slots/b/hob");
    assert_eq!(fs::read(&program).unwrap(), b"new");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
    // Declared complete twice, as after a cut between the two steps.
    slots.finish(SlotName::B, &about).unwrap();
    slots.set_trial(Some(SlotName::B)).unwrap();
    assert_eq!(slots.next_trial().unwrap(), Some(SlotName::B));
    slots.commit(SlotName::B).unwrap();
    assert_eq!((slots.active().unwrap(), slots.next_trial().unwrap()), (SlotName::B, None));
    // A damaged manifest makes the slot count as incomplete, and not the updater fail.
    fs::write(folder.0.join("slots/b/manifest.json"), "{").unwrap();
    assert_eq!(slots.manifest(SlotName::B).unwrap(), None);
    let Err(error) = slots.writer(SlotName::B, "hob", 1 << 60) else { panic!("no disk is that large") };
    assert!(error.to_string().contains("too full"), "{error}");
}

#[test]
fn the_kind_of_slots_is_detected() {
    let folder = Folder::new("detect").unwrap();
    let (proc, boot, state) = (folder.0.join("proc"), folder.0.join("boot"), folder.0.join("state"));
    fs::create_dir_all(proc.join("device-tree/chosen/bootloader")).unwrap();
    fs::create_dir_all(proc.join("sys/kernel/random")).unwrap();
    fs::create_dir_all(&boot).unwrap();
    let mut machine = Machine { supervisor: None, proc: proc.clone(), selector: boot.clone(), state };
    let kind = |machine: &Machine| machine.detect(Arc::new(RealDisk)).map(|slots| slots.map(|slots| slots.kind()));
    assert_eq!(kind(&machine).unwrap(), None);
    fs::write(proc.join("cmdline"), "quiet hob.slot=b hob.tried=1 panic=5\n").unwrap();
    assert!(kind(&machine).is_err(), "the selector is not mounted");
    fs::write(proc.join("mounts"), format!("proc /proc proc rw 0 0\n/dev/mmcblk0p1 {} vfat rw 0 0\n", boot.display()))
        .unwrap();
    assert_eq!(kind(&machine).unwrap(), Some(SlotKind::Uboot));
    let slots = machine.detect(Arc::new(RealDisk)).unwrap().unwrap();
    assert_eq!((slots.running().unwrap().slot, slots.payload()), (SlotName::B, Payload::System));
    assert!(format!("{slots:?}").contains("/dev/mmcblk0p6"), "{slots:?}");
    fs::write(proc.join("cmdline"), "quiet\n").unwrap();
    fs::write(boot.join("autoboot.txt"), "[all]\ntryboot_a_b=1\nboot_partition=3\n[tryboot]\nboot_partition=2\n")
        .unwrap();
    fs::write(proc.join("device-tree/chosen/bootloader/partition"), [0, 0, 0, 2]).unwrap();
    fs::write(proc.join("sys/kernel/random/boot_id"), "id\n").unwrap();
    assert_eq!(kind(&machine).unwrap(), Some(SlotKind::PiTryboot));
    let running = machine.detect(Arc::new(RealDisk)).unwrap().unwrap().running().unwrap();
    assert!(running.trial && running.slot == SlotName::A);
    machine.supervisor = Some((folder.0.clone(), SlotName::A));
    assert_eq!(kind(&machine).unwrap(), Some(SlotKind::Dir));
}

#[test]
fn a_machine_that_was_flashed_has_no_descriptions_of_slots() {
    let folder = Folder::new("flashed").unwrap();
    let slots: Arc<dyn Slots> = Arc::new(UbootSlots::new(
        partitions(&folder),
        folder.write("slot.env", b"active=a\ntry=\n").unwrap(),
        SlotName::A,
    ));
    let state: PathBuf = folder.0.join("state");
    let updater =
        Updater::open(Arc::new(RealDisk), slots, Config { state, keys: KEYS.ring(), device: device(5) }).unwrap();
    let status = updater.status().unwrap();
    assert_eq!((status.running.version.as_str(), status.running.serial, status.floor), ("1.0.5", 0, 0));
    assert!(status.other.is_none() && status.running.system && !status.trial);
    assert!(matches!(updater.rollback(), Err(crate::Error::NotFound(_))));
}
