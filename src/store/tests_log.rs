//! The log: what it holds, what is refused, what an older Hob sees, and disks that fail or are full.

use crate::{
    medium::LOG,
    secrets::DeviceKey,
    sim_disk::SimDisk,
    tests::{Dir, Note, note, person},
    *,
};
use std::{fs, path::Path};
use tool::Cx;

/// A copy of a data folder in use, as a power cut leaves it.
fn copied(from: &Dir) -> Dir {
    let to = Dir::new();
    for name in [FILE, LOG, folder::KEY] {
        fs::copy(from.0.join(name), to.0.join(name)).unwrap();
    }
    to
}

fn meta_of(dir: &Path) -> meta::Meta {
    meta::read_meta(&redb::Database::open(dir.join(FILE)).unwrap()).unwrap()
}

async fn add(store: &Store, cx: &Cx, titles: &[&str]) {
    for title in titles {
        store.collection::<Note>().insert(cx, "t", note(title, "x")).await.unwrap();
    }
}

/// The titles of all notes, oldest first.
fn titles(store: &Store, cx: &Cx) -> String {
    let notes = store.collection::<Note>().list(cx, &Listing::default()).unwrap();
    notes.iter().rev().map(|note| note.value.title.clone()).collect::<Vec<_>>().join(" ")
}

/// A folder whose log has three commits, each of one block, after one that is in the data file.
async fn used(cx: &Cx) -> (Dir, Dir) {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    add(&store, cx, &["a", "b", "c", "d"]).await;
    let cut = copied(&dir);
    (dir, cut)
}

#[tokio::test]
async fn a_file_in_use_needs_its_log_and_a_closed_one_does_not() {
    use std::os::unix::fs::PermissionsExt;
    let (cx, dir) = (person(), Dir::new());
    let store = Store::open(&dir.0).unwrap();
    assert!(!dir.0.join(LOG).exists(), "nothing is written before the first write");
    add(&store, &cx, &["a", "b", "c", "d"]).await;
    store.seal("key", b"sealed").await.unwrap();
    assert_eq!(fs::metadata(dir.0.join(LOG)).unwrap().permissions().mode() & 0o777, 0o600);
    let log = store.stats().unwrap().log;
    assert_eq!((log.commits, log.bytes), (4, 4 * 4096));
    assert!(log.newest_ms > 1_700_000_000_000);
    let cut = copied(&dir);
    store.close().await.unwrap();
    assert_eq!((store.stats().unwrap().log, titles(&store, &cx).as_str()), (LogContent::default(), "a b c d"));
    let closed = Dir::new();
    fs::copy(dir.0.join(FILE), closed.0.join(FILE)).unwrap();
    assert_eq!(meta_of(&closed.0).format, Some(1), "also while handles are left");
    drop(store);

    // An older Hob refuses the format of the file in use, and reads that of the closed one.
    assert_eq!((meta_of(&cut.0).format, meta_of(&dir.0).format), (Some(3), Some(1)));
    assert!(meta_of(&dir.0).check().is_ok() && meta_of(&dir.0).log.is_none());
    fs::remove_file(dir.0.join(LOG)).unwrap();
    for dir in [&dir, &cut] {
        let store = Store::open(&dir.0).unwrap();
        assert_eq!(titles(&store, &cx), "a b c d");
        assert_eq!(store.unseal("key").unwrap().as_deref(), Some(&b"sealed"[..]));
        assert_eq!(store.check().await.unwrap().damages, 0);
    }
    // The cut one was closed in order now.
    assert_eq!(meta_of(&cut.0).format, Some(1));

    // An older Hob writes to the closed file without knowing of the log; what the log had before does not come back.
    let db = redb::Database::open(dir.0.join(FILE)).unwrap();
    let tx = db.begin_write().unwrap();
    tx.delete_table(snapshot::Table::new(Note::NAME)).unwrap();
    tx.commit().unwrap();
    drop(db);
    fs::copy(cut.0.join(LOG), dir.0.join(LOG)).unwrap();
    let store = Store::open(&dir.0).unwrap();
    assert_eq!(titles(&store, &cx), "");
}

#[tokio::test]
async fn a_torn_end_is_cut_off_and_a_damaged_middle_is_refused() {
    let cx = person();
    let (_, cut) = used(&cx).await;
    let (data, log) = (fs::read(cut.0.join(FILE)).unwrap(), fs::read(cut.0.join(LOG)).unwrap());
    // The blocks, what is left after each was damaged, and the problem.
    let rows = [
        // The header: the records show that the log is the right one.
        (0, Some("a b c d"), ""),
        (1, None, "is damaged at byte 4096"),
        (2, None, "is damaged at byte 8192"),
        (3, Some("a b c"), ""),
        (4, Some("a b c d"), ""),
    ];
    for (block, left, why) in rows {
        for at in [0, 10, 30, 50, 70, 100] {
            let mut bent = log.clone();
            bent[block * 4096 + at] ^= 1;
            fs::write(cut.0.join(FILE), &data).unwrap();
            fs::write(cut.0.join(LOG), &bent).unwrap();
            let check = check_file(&cut.0).unwrap().unwrap();
            match (Store::open(&cut.0), left) {
                (Ok(store), Some(left)) => {
                    assert_eq!((titles(&store, &cx).as_str(), check.pages.len()), (left, 0));
                    assert_eq!(check.log.commits, left.len() as u64 / 2);
                    assert_eq!(check.records.records, left.len().div_ceil(2) as u64);
                    add(&store, &cx, &["e", "f"]).await;
                    assert_eq!(titles(&store, &cx), format!("{left} e f"));
                    drop(store);
                    let store = Store::open(&cut.0).unwrap();
                    assert_eq!(titles(&store, &cx), format!("{left} e f"));
                }
                (Err(error), None) => {
                    let error = error.to_string();
                    assert!(error.contains(why) && error.contains("hob restore FILE"), "{error}");
                    assert!(check.pages.iter().any(|page| page.contains(why)), "{check:?}");
                    assert!(fs::read(cut.0.join(FILE)).unwrap() == data && fs::read(cut.0.join(LOG)).unwrap() == bent);
                }
                (opened, _) => panic!("block {block}, byte {at}: {:?}", opened.err()),
            }
        }
    }
}

#[tokio::test]
async fn a_missing_log_and_that_of_another_state_are_refused() {
    let cx = person();
    let (_, cut) = used(&cx).await;
    let (_, other) = used(&cx).await;
    let data = fs::read(cut.0.join(FILE)).unwrap();
    fs::copy(other.0.join(LOG), cut.0.join(LOG)).unwrap();
    let foreign = Store::open(&cut.0).err().unwrap().to_string();
    assert!(foreign.contains("belongs to another state") && foreign.contains("hob restore FILE"), "{foreign}");
    let whole = fs::metadata(cut.0.join(LOG)).unwrap().len();
    for length in [0, 4096, whole - 1] {
        fs::OpenOptions::new().write(true).open(cut.0.join(LOG)).unwrap().set_len(length).unwrap();
        let short = Store::open(&cut.0).err().unwrap().to_string();
        assert!(short.contains("was cut off") && short.contains("hob restore FILE"), "{short}");
        assert_eq!(fs::metadata(cut.0.join(LOG)).unwrap().len(), length, "left as it was");
    }
    fs::remove_file(cut.0.join(LOG)).unwrap();
    let missing = Store::open(&cut.0).err().unwrap().to_string();
    assert!(missing.contains("is missing") && missing.contains("hob restore FILE"), "{missing}");
    assert!(check_file(&cut.0).unwrap().unwrap().pages[0].contains("is missing"));
    assert!(fs::read(cut.0.join(FILE)).unwrap() == data, "left as it was");
    // The way out that the message names.
    let file = other.0.join("copy.hob");
    fs::write(&file, &data).unwrap();
    restore(&cut.0, &file).unwrap();
    let store = Store::open(&cut.0).unwrap();
    assert_eq!(titles(&store, &cx), "a");
    // Without a data file a log is a trace of a Hob.
    drop(store);
    let bare = Dir::new();
    fs::write(bare.0.join(LOG), "").unwrap();
    assert!(Store::open(&bare.0).is_err_and(|e| e.to_string().contains("is missing, although a Hob has lived here")));
}

#[tokio::test]
async fn an_overwritten_log_is_refused() {
    let cx = person();
    let (_, cut) = used(&cx).await;
    let (data, whole) = (fs::read(cut.0.join(FILE)).unwrap(), fs::read(cut.0.join(LOG)).unwrap());
    let mut dice = sim_disk::Dice(5);
    let random = (0..whole.len()).map(|_| dice.roll(256) as u8).collect::<Vec<_>>();
    for bytes in [vec![0; whole.len()], vec![0xff; whole.len()], random] {
        fs::write(cut.0.join(LOG), &bytes).unwrap();
        let refused = Store::open(&cut.0).err().unwrap().to_string();
        assert!(refused.contains("was overwritten") && refused.contains("hob restore FILE"), "{refused}");
        assert!(check_file(&cut.0).unwrap().unwrap().pages[0].contains("was overwritten"));
        assert!(fs::read(cut.0.join(FILE)).unwrap() == data && fs::read(cut.0.join(LOG)).unwrap() == bytes);
    }
    // Zeros in place of the header and the first record.
    let bytes = [&[0; 8192], &whole[8192..]].concat();
    fs::write(cut.0.join(LOG), bytes).unwrap();
    assert!(Store::open(&cut.0).is_err_and(|e| e.to_string().contains("is damaged at byte 4096")));
    fs::write(cut.0.join(LOG), whole).unwrap();
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx), "a b c d");

    // Also where a checkpoint has put all into the data file: nobody knows that there was no more.
    let disk = SimDisk::new(4, 64 << 10);
    let store = on(&disk).unwrap();
    add(&store, &cx, &["a", "b"]).await;
    store.0.engine.checkpoint().unwrap();
    let cut = disk.copy();
    assert_eq!(titles(&on(&cut.copy()).unwrap(), &cx), "a b");
    cut.set_log(Some(vec![0; 64 << 10]));
    assert!(on(&cut).is_err_and(|e| e.to_string().contains("was overwritten")));
}

/// Rewrites a log and the data file that needs it as Hob had them before logs had headers.
fn without_header(dir: &Dir) {
    let mark = meta_of(&dir.0).log.unwrap();
    let mut log = fs::read(dir.0.join(LOG)).unwrap().split_off(4096);
    log.resize(mark.size as usize, 0);
    fs::write(dir.0.join(LOG), log).unwrap();
    let db = redb::Database::open(dir.0.join(FILE)).unwrap();
    let tx = db.begin_write().unwrap();
    {
        let mut table = tx.open_table(snapshot::Table::new(meta::META)).unwrap();
        table.insert(meta::META_FORMAT, &2u32.to_le_bytes()[..]).unwrap();
        let row = [&mark.generation[..], &[0; 16], &mark.size.to_le_bytes()].concat();
        table.insert(&b"log"[..], &row[..]).unwrap();
        table.remove(&b"sum"[..]).unwrap();
    }
    tx.commit().unwrap();
}

#[tokio::test]
async fn a_log_from_before_there_were_headers_is_read() {
    let cx = person();
    let (_, cut) = used(&cx).await;
    without_header(&cut);
    assert_eq!(check_file(&cut.0).unwrap().unwrap().log.commits, 3);
    let store = Store::open(&cut.0).unwrap();
    assert_eq!(titles(&store, &cx), "a b c d");
    // The first write puts all into the data file, the second one begins a log of now.
    add(&store, &cx, &["e", "f", "g"]).await;
    assert_eq!(store.stats().unwrap().log.commits, 1);
    let cut = copied(&cut);
    drop(store);
    assert_eq!(meta_of(&cut.0).format, Some(3));
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx), "a b c d e f g");

    let (_, cut) = used(&cx).await;
    without_header(&cut);
    let mut log = fs::read(cut.0.join(LOG)).unwrap();
    log[30] ^= 1;
    fs::write(cut.0.join(LOG), &log).unwrap();
    assert!(Store::open(&cut.0).is_err_and(|e| e.to_string().contains("is damaged at byte 0")));
    let (_, other) = used(&cx).await;
    without_header(&other);
    fs::copy(other.0.join(LOG), cut.0.join(LOG)).unwrap();
    assert!(Store::open(&cut.0).is_err_and(|e| e.to_string().contains("belongs to another state")));
}

#[tokio::test]
async fn a_log_grows_at_its_first_checkpoint() {
    let (cx, dir) = (person(), Dir::new());
    let store = Store::open(&dir.0).unwrap();
    add(&store, &cx, &["a"]).await;
    let size = || fs::metadata(dir.0.join(LOG)).unwrap().len();
    assert_eq!(size(), 1 << 20);
    for n in 0..30 {
        add(&store, &cx, &[&format!("{n}{}", "x".repeat(30_000))]).await;
    }
    // The checkpoint is made beside the writes; this one waits for it.
    store.0.engine.checkpoint().unwrap();
    assert_eq!(size(), 8 << 20);
    for n in 30..40 {
        add(&store, &cx, &[&format!("{n}{}", "x".repeat(200_000))]).await;
    }
    assert_eq!(store.stats().unwrap().log.commits, 10, "more than a new log holds");
    let cut = copied(&dir);
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx).split(' ').count(), 41);
}

#[tokio::test]
async fn a_log_that_has_no_room_to_grow_stays_as_it_is() {
    let disk = SimDisk::with_log(4, (64 << 10, 1 << 20));
    let (store, cx) = (on(&disk).unwrap(), person());
    for n in 0..40 {
        disk.set_room(300 << 10);
        add(&store, &cx, &[&format!("n{n}")]).await;
    }
    store.0.engine.checkpoint().unwrap();
    assert_eq!(disk.log_bytes().unwrap().len(), 64 << 10);
    let cut = disk.copy();
    assert_eq!(titles(&on(&cut).unwrap(), &cx).split(' ').count(), 40);
    disk.set_room(usize::MAX);
    for n in 40..80 {
        add(&store, &cx, &[&format!("n{n}")]).await;
    }
    store.0.engine.checkpoint().unwrap();
    assert_eq!(disk.log_bytes().unwrap().len(), 1 << 20);
}

#[tokio::test]
async fn a_restore_keeps_what_was_in_the_log_with_the_previous_data() {
    let cx = person();
    let (dir, other) = (Dir::new(), Dir::new());
    let store = Store::open(&dir.0).unwrap();
    add(&store, &cx, &["a", "b"]).await;
    let file = other.0.join("backup.hob");
    store.backup(file.clone()).await.unwrap();
    verify_backup(&file).unwrap();
    add(&store, &cx, &["c"]).await;
    store.seal("key", b"in the log").await.unwrap();
    let cut = copied(&dir);
    drop(store);

    let before = restore(&cut.0, &file).unwrap();
    assert!(before.data.exists() && !before.log.exists() && !cut.0.join(LOG).exists());
    let store = Store::open(&cut.0).unwrap();
    assert_eq!(titles(&store, &cx), "a b");
    assert_eq!(store.unseal("key").unwrap().as_deref(), Some(&b"in the log"[..]));
    drop(store);
    fs::rename(&before.data, cut.0.join(FILE)).unwrap();
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx), "a b c");

    // A log that cannot be read stays next to its data.
    let (_, cut) = used(&cx).await;
    let mut log = fs::read(cut.0.join(LOG)).unwrap();
    log[8192] ^= 1;
    fs::write(cut.0.join(LOG), &log).unwrap();
    let before = restore(&cut.0, &file).unwrap();
    assert!(fs::read(before.log).unwrap() == log && !cut.0.join(LOG).exists());
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx), "a b");
}

#[tokio::test]
async fn without_a_log_every_write_goes_into_the_data_file() {
    let (cx, dir) = (person(), Dir::new());
    fs::create_dir(dir.0.join(LOG)).unwrap();
    let store = Store::open(&dir.0);
    assert!(store.is_err(), "a log, even an odd one, is a trace of a Hob");
    fs::remove_dir(dir.0.join(LOG)).unwrap();
    drop(Store::open(&dir.0).unwrap());
    fs::create_dir(dir.0.join(LOG)).unwrap();
    let store = Store::open(&dir.0).unwrap();
    add(&store, &cx, &["a", "b"]).await;
    assert_eq!(store.stats().unwrap().log, LogContent::default());
    let cut = Dir::new();
    fs::copy(dir.0.join(FILE), cut.0.join(FILE)).unwrap();
    assert_eq!(meta_of(&cut.0).format, Some(1));
    assert_eq!(titles(&Store::open(&cut.0).unwrap(), &cx), "a b");
}

#[tokio::test]
async fn a_reader_sees_one_state_while_others_write_and_checkpoints_are_made() {
    let (store, cx) = (Store::in_memory().unwrap(), person());
    add(&store, &cx, &["a", "b"]).await;
    let writer = store.clone();
    store
        .0
        .engine
        .read(|now| {
            let before = now.open(Note::NAME)?.unwrap().len()?;
            let notes = writer.collection::<Note>();
            let stamp = notes.stamp(&cx, "t");
            let work = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                // More than the log holds.
                for n in 0..200 {
                    let job = notes.insert_as(stamp.clone(), note(&format!("n{n}"), "y"));
                    runtime.block_on(job).unwrap();
                }
                assert!(writer.stats().unwrap().log.commits < 199, "there was no checkpoint");
            };
            std::thread::scope(|scope| scope.spawn(work).join().unwrap());
            assert_eq!((before, now.open(Note::NAME)?.unwrap().iter()?.count()), (2, 2));
            Ok(())
        })
        .unwrap();
    assert_eq!(store.stats().unwrap().records[Note::NAME], 202);
    assert_eq!(store.check().await.unwrap().damages, 0);
}

#[tokio::test]
async fn a_small_write_is_one_block_and_one_sync() {
    let disk = SimDisk::new(3, 1 << 20);
    let (store, cx) = (on(&disk).unwrap(), person());
    add(&store, &cx, &["first"]).await;
    let (before, syncs) = (store.stats().unwrap(), disk.syncs());
    for n in 0..150 {
        add(&store, &cx, &[&format!("n{n}")]).await;
    }
    let after = store.stats().unwrap();
    assert_eq!((after.commits - before.commits, disk.syncs() - syncs), (150, 150));
    assert_eq!(after.bytes_written - before.bytes_written, 150 * 4096);
    // With the checkpoints of a thousand writes.
    for n in 150..1000 {
        add(&store, &cx, &[&format!("n{n}")]).await;
    }
    let written = (store.stats().unwrap().bytes_written - before.bytes_written) / 1000;
    assert!(written < 8000, "{written} bytes for each write");
}

fn on(disk: &SimDisk) -> Result<Store> {
    Store::start(engine::Engine::on(Box::new(disk.clone()))?, DeviceKey::from_bytes([1; 32]))
}

#[tokio::test]
async fn what_a_failed_sync_left_is_never_trusted() {
    let disk = SimDisk::new(5, 64 << 10);
    let (store, cx) = (on(&disk).unwrap(), person());
    add(&store, &cx, &["a", "b"]).await;
    disk.fail_syncs_of_the_log(1);
    // It goes into the data file instead, with all that was in the log.
    add(&store, &cx, &["c"]).await;
    assert_eq!(store.stats().unwrap().log.commits, 0);
    add(&store, &cx, &["d"]).await;
    disk.cut_after(1);
    drop(store);
    disk.power_cut();
    assert_eq!(titles(&on(&disk).unwrap(), &cx), "a b c d");

    // Neither takes it: it is not acknowledged, and what was before is there.
    let disk = SimDisk::new(6, 64 << 10);
    let store = on(&disk).unwrap();
    add(&store, &cx, &["a", "b"]).await;
    disk.set_room(disk.data_len());
    disk.fail_syncs_of_the_log(1);
    let large = note(&"c".repeat(disk.data_len() + 20_000), "x");
    assert_eq!(store.collection::<Note>().insert(&cx, "t", large).await.err(), Some(Error::Full));
    assert_eq!(titles(&store, &cx), "a b");
    disk.set_room(usize::MAX);
    add(&store, &cx, &["d"]).await;
    disk.cut_after(1);
    drop(store);
    disk.power_cut();
    assert_eq!(titles(&on(&disk).unwrap(), &cx), "a b d");
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_the_log_takes_what_it_can() {
    let disk = SimDisk::new(8, 256 << 10);
    let (store, cx) = (on(&disk).unwrap(), person());
    add(&store, &cx, &["first"]).await;
    disk.set_room(disk.data_len());
    let notes = store.collection::<Note>();
    let mut stored = 1;
    let refused = loop {
        match notes.insert(&cx, "t", note(&format!("{stored} {}", "x".repeat(9000)), "x")).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000);
    };
    // The log and the free pages of the data file.
    assert!(refused == Error::Full && stored > 20, "{refused} after {stored}");
    let count = |store: &Store| store.collection::<Note>().list(&cx, &Listing::default()).unwrap().len();
    assert_eq!(count(&store), stored);
    assert_eq!(notes.insert(&cx, "t", note(&"y".repeat(9000), "x")).await.err(), Some(Error::Full));
    // A power cut in between.
    let cut = disk.copy();
    let store_after_cut = on(&cut).unwrap();
    assert_eq!(count(&store_after_cut), stored);
    cut.set_room(usize::MAX);
    add(&store_after_cut, &cx, &["more"]).await;
    assert_eq!(count(&store_after_cut), stored + 1);
    // At once, and in the same process.
    disk.set_room(usize::MAX);
    add(&store, &cx, &["more"]).await;
    assert_eq!(count(&store), stored + 1);
    drop((notes, store));
    assert_eq!(count(&on(&disk).unwrap()), stored + 1);
}

#[tokio::test]
async fn an_old_log_does_not_come_back_after_a_checkpoint() {
    let disk = SimDisk::new(9, 64 << 10);
    let (store, cx) = (on(&disk).unwrap(), person());
    add(&store, &cx, &["a", "b"]).await;
    let old = disk.log_bytes().unwrap();
    let large = store.collection::<Note>().insert(&cx, "t", note(&"c".repeat(100 << 10), "x")).await.unwrap();
    let notes = store.collection::<Note>();
    // Nothing has been appended since: the log still has the records of before.
    assert!(disk.log_bytes().unwrap() == old);
    let cut = disk.copy();
    assert_eq!(titles(&on(&cut).unwrap(), &cx).len(), 4 + (100 << 10));
    notes.delete(&cx, large.id).await.unwrap();
    let kept = disk.copy();
    assert_eq!(titles(&on(&kept).unwrap(), &cx), "a b");
    // Somebody puts the old log back.
    kept.set_log(Some(old));
    kept.power_cut();
    drop((notes, store));
    let bare = disk.copy();
    bare.set_log(None);
    assert_eq!(titles(&on(&bare).unwrap(), &cx), "a b", "closed in order, it needs none");
}
