//! Disks that fail: reads go on, nothing acknowledged is lost, and writes go on once the disk takes them.

use crate::{
    medium::LOG,
    secrets::DeviceKey,
    sim_disk::SimDisk,
    tests::{Dir, Note, note, person},
    *,
};
use std::{fs, sync::mpsc, thread};
use tool::Cx;

fn on(disk: &SimDisk) -> Result<Store> {
    Store::start(engine::Engine::on(Box::new(disk.clone()))?, DeviceKey::from_bytes([1; 32]))
}

async fn add(store: &Store, cx: &Cx, title: &str) -> Result<()> {
    store.collection::<Note>().insert(cx, "t", note(title, "x")).await.map(drop)
}

/// The first letters of all titles, oldest first.
fn titles(store: &Store, cx: &Cx) -> String {
    let notes = store.collection::<Note>().list(cx, &Listing::default()).unwrap();
    notes.iter().rev().filter_map(|note| note.value.title.chars().next()).collect()
}

/// More than the log of these tests holds.
fn large(letter: &str) -> String {
    letter.repeat(100 << 10)
}

#[tokio::test]
async fn a_disk_that_turns_read_only_can_still_be_read() {
    let (disk, cx) = (SimDisk::new(1, 64 << 10), person());
    let store = on(&disk).unwrap();
    for title in ["a", "b"] {
        add(&store, &cx, title).await.unwrap();
    }
    disk.set_read_only(true);
    for title in ["c".into(), large("c"), "c".into()] {
        let refused = add(&store, &cx, &title).await.unwrap_err().to_string();
        assert!(refused.contains("could not write") || refused.contains("try once more"), "{refused}");
        assert_eq!(titles(&store, &cx), "ab");
        assert_eq!(store.check().await.unwrap().damages, 0);
    }
    // Also after a restart of the disk alone.
    disk.set_read_only(false);
    add(&store, &cx, "d").await.unwrap();
    add(&store, &cx, &large("e")).await.unwrap();
    assert_eq!(titles(&store, &cx), "abde");
    disk.cut_after(1);
    drop(store);
    disk.power_cut();
    assert_eq!(titles(&on(&disk).unwrap(), &cx), "abde");
}

#[tokio::test]
async fn syncs_that_fail_again_and_again_refuse_writes_until_they_succeed() {
    for fails in 1..12 {
        let (disk, cx) = (SimDisk::new(fails.into(), 64 << 10), person());
        let store = on(&disk).unwrap();
        let mut known = String::new();
        let mut stored = |letter: &str, added: Result<()>| {
            if added.is_ok() {
                known.push_str(letter);
            }
            (added.is_ok(), known.clone())
        };
        stored("a", add(&store, &cx, "a").await);
        disk.fail_syncs_of_the_data(0..fails, false);
        let mut refused = 0;
        for letter in ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"] {
            let (taken, known) = stored(letter, add(&store, &cx, &large(letter)).await);
            refused += u32::from(!taken);
            assert_eq!(titles(&store, &cx), known, "{fails}");
        }
        assert!(refused > 0 && refused <= fails, "{refused} of {fails}");
        let (taken, known) = stored("z", add(&store, &cx, "z").await);
        assert!(taken && known.ends_with("mz"));
        disk.cut_after(1);
        drop(store);
        disk.power_cut();
        assert_eq!(titles(&on(&disk).unwrap(), &cx), known);
    }
}

#[tokio::test]
async fn a_commit_that_seemed_to_fail_and_is_on_the_disk_is_acknowledged() {
    let mut acknowledged = 0;
    for (with_log, first) in (0..5).flat_map(|first| [(true, first), (false, first)]) {
        let (disk, cx) = (SimDisk::new(7, 64 << 10), person());
        let store = on(&disk).unwrap();
        add(&store, &cx, "a").await.unwrap();
        if !with_log {
            disk.fail_syncs_of_the_log(u32::MAX);
            add(&store, &cx, "b").await.unwrap();
        }
        let before = (titles(&store, &cx), store.version());
        disk.fail_syncs_of_the_data(first..first + 1, true);
        let added = add(&store, &cx, &large("c")).await;
        acknowledged += u32::from(added.is_ok());
        let expected = format!("{}{}", before.0, if added.is_ok() { "c" } else { "" });
        assert_eq!(titles(&store, &cx), expected, "with a log: {with_log}, sync {first} failed");
        assert!(added.is_err() || store.version() > before.1, "readers of the version are told");
        disk.fail_syncs_of_the_data(0..0, false);
        add(&store, &cx, &large("d")).await.unwrap();
        disk.cut_after(1);
        drop(store);
        disk.power_cut();
        assert_eq!(titles(&on(&disk).unwrap(), &cx), format!("{expected}d"));
    }
    assert!(acknowledged > 1, "{acknowledged}");
}

#[tokio::test]
async fn the_version_is_not_raised_between_a_job_and_its_showing() {
    let (store, cx) = (Store::in_memory().unwrap(), person());
    add(&store, &cx, "a").await.unwrap();
    let engine = store.0.engine.clone();
    let (before, job) = (store.version(), engine.clone());
    let during = store.write(move |tx| {
        tx.put_raw("test", b"key", b"value")?;
        // As the thread of a compaction does.
        job.checkpoint()?;
        job.complete()?;
        Ok(job.version())
    });
    assert_eq!((during.await.unwrap(), store.version()), (before, before + 1));
    engine.checkpoint().unwrap();
    assert_eq!(store.version(), before + 1, "nobody sees anything else");
}

#[tokio::test]
async fn a_long_read_holds_up_nobody_while_the_disk_fails() {
    let (disk, cx) = (SimDisk::new(2, 64 << 10), person());
    let store = on(&disk).unwrap();
    for title in ["a", "b"] {
        add(&store, &cx, title).await.unwrap();
    }
    let (began, ends) = (mpsc::channel(), mpsc::channel::<()>());
    let engine = store.0.engine.clone();
    let reading = thread::spawn(move || {
        engine.read(|_| {
            began.0.send(()).unwrap();
            ends.1.recv().unwrap();
            Ok(())
        })
    });
    began.1.recv().unwrap();
    disk.fail_syncs_of_the_data(0..1, false);
    assert!(add(&store, &cx, &large("c")).await.is_err());
    assert_eq!(titles(&store, &cx), "ab");
    add(&store, &cx, &large("d")).await.unwrap();
    assert_eq!(titles(&store, &cx), "abd");
    ends.0.send(()).unwrap();
    reading.join().unwrap().unwrap();
}

#[tokio::test]
async fn a_read_that_meets_a_failing_disk_is_begun_anew() {
    let (dir, cx) = (Dir::new(), person());
    let store = Store::open(&dir.0).unwrap();
    for title in (0..100).map(|n| format!("{n}{}", large("c"))) {
        add(&store, &cx, &title).await.unwrap();
    }
    drop(store);
    let store = Store::open(&dir.0).unwrap();
    let (engine, mut tries) = (store.0.engine.clone(), 0);
    let rows = engine.read_again(3, |now| {
        tries += 1;
        if tries == 1 {
            engine.fail_for_a_test();
        }
        let rows = now.open(Note::NAME)?.unwrap();
        rows.iter()?.map(|row| row.map(drop)).collect::<Result<Vec<_>>>()
    });
    assert_eq!((rows.unwrap().len(), tries), (100, 2));
    add(&store, &cx, "b").await.unwrap();
    assert!(titles(&store, &cx).ends_with("9b"));
}

#[tokio::test]
async fn deleted_text_is_not_left_in_the_log() {
    let (dir, cx) = (Dir::new(), person());
    let store = Store::open(&dir.0).unwrap();
    let is_there = || fs::read(dir.0.join(LOG)).unwrap().windows(9).any(|bytes| bytes == b"topsecret");
    let notes = store.collection::<Note>();
    for wiped_by_compaction in [true, false] {
        let id = notes.insert(&cx, "t", note("topsecret", "x")).await.unwrap().id;
        notes.delete(&cx, id).await.unwrap();
        assert!(is_there());
        match wiped_by_compaction {
            true => drop(store.compact(|| true).await.unwrap().unwrap()),
            false => store.close().await.unwrap(),
        }
        assert!(!is_there(), "by compaction: {wiped_by_compaction}");
        add(&store, &cx, &format!("a{wiped_by_compaction}")).await.unwrap();
    }
    drop((notes, store));
    let store = Store::open(&dir.0).unwrap();
    assert_eq!(titles(&store, &cx), "aa");
    // Half a wipe loses nothing.
    let (disk, cx) = (SimDisk::new(3, 64 << 10), person());
    for ops in 1..60 {
        let store = on(&disk).unwrap();
        add(&store, &cx, &format!("a{ops}")).await.unwrap();
        disk.cut_after(ops);
        drop(store);
        disk.power_cut();
        assert_eq!(titles(&on(&disk).unwrap(), &cx).len(), ops as usize);
    }
}

#[tokio::test]
async fn a_block_of_the_log_that_fails_is_passed_by_or_named() {
    let (disk, cx) = (SimDisk::new(4, 64 << 10), person());
    let store = on(&disk).unwrap();
    for title in ["a", "b"] {
        add(&store, &cx, title).await.unwrap();
    }
    let cut = disk.copy();
    drop(store);
    // Closed in order, nothing needs the log: it is made again.
    disk.set_bad_block(Some(0));
    let store = on(&disk).unwrap();
    for title in ["c", "d"] {
        add(&store, &cx, title).await.unwrap();
    }
    assert!(store.stats().unwrap().log.commits > 0);
    assert_eq!(titles(&store, &cx), "abcd");
    // After a kill nobody knows what was in it.
    cut.set_bad_block(Some(9));
    let refused = on(&cut).err().unwrap().to_string();
    assert!(refused.contains("at byte 36864") && refused.contains("hob restore FILE"), "{refused}");
}

#[test]
fn a_data_file_that_lost_its_name_before_it_was_locked_is_not_used() {
    use medium::Medium;
    let dir = Dir::new();
    drop(Store::open(&dir.0).unwrap());
    let path = dir.0.join(FILE);
    let files = medium::Files::new(path.clone());
    let opened = open::data_file(&files, Default::default()).unwrap();
    assert!(files.is_in_place() && open::open_staged(&files, &opened, |_| Ok(())).is_ok());
    fs::copy(&path, dir.0.join("other")).unwrap();
    fs::rename(dir.0.join("other"), &path).unwrap();
    let opened = opened.again().unwrap();
    assert!(matches!(open::open_staged(&files, &opened, |_| Ok(())), Err(Error::InUse(_))));
    drop(Store::open(&dir.0).unwrap());
}
