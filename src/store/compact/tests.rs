//! Compaction: the file shrinks, its content stays, also while it is written to and when it is interrupted.

use super::*;
use crate::{check_file, tests::Dir};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

const TABLE: &str = "test-rows";

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn value(n: u32, length: usize) -> Vec<u8> {
    n.to_le_bytes().into_iter().cycle().take(length).collect()
}

/// Writes rows; `None` removes one.
async fn write(store: &Store, rows: Vec<(u32, Option<Vec<u8>>)>) {
    let written = store.write(move |tx| {
        rows.iter().try_for_each(|(n, value)| match value {
            Some(value) => tx.put_raw(TABLE, &n.to_be_bytes(), value),
            None => tx.remove_raw(TABLE, &n.to_be_bytes()).map(drop),
        })
    });
    written.await.unwrap();
}

/// The rows of every table but the metadata, of which each commit changes a part.
fn content(store: &Store) -> BTreeMap<String, Rows> {
    let read = store.0.engine.read(|tx| {
        let mut all = BTreeMap::new();
        for name in tx.tables()?.into_iter().filter(|name| name != META) {
            let mut found = Rows::new();
            for row in tx.open(&name)?.unwrap().iter()? {
                let (key, value) = row?;
                found.insert(key.to_vec(), value.to_vec());
            }
            all.insert(name, found);
        }
        Ok(all)
    });
    read.unwrap()
}

/// A store with 50 MB, of which a tenth is left.
async fn mostly_deleted(dir: &Dir) -> Store {
    let store = Store::open(&dir.0).unwrap();
    store.seal("a-key", b"a secret").await.unwrap();
    for from in (0..1800u32).step_by(200) {
        write(&store, (from..from + 200).map(|n| (n, Some(value(n, 30 << 10)))).collect()).await;
    }
    for from in (0..4000u32).step_by(1000) {
        write(&store, (from..from + 1000).map(|n| (10_000 + n, Some(value(n, 40)))).collect()).await;
    }
    write(&store, (0..1800).filter(|n| n % 10 != 0).map(|n| (n, None)).collect()).await;
    store
}

/// The names of files that a compaction must not leave behind.
fn left_over(dir: &Dir) -> Vec<String> {
    let names = fs::read_dir(&dir.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".new-")).collect()
}

#[tokio::test]
async fn the_file_shrinks_and_keeps_its_content_across_a_restart() {
    let dir = Dir::new();
    let store = mostly_deleted(&dir).await;
    let (before, length) = (content(&store), store.size());
    let space = store.measure_space().await.unwrap();
    assert!(space.size > 50 << 20 && space.free > 40 << 20 && space.is_worth_compacting(None), "{space:?}");

    let seen = Arc::new(AtomicU32::new(0));
    let (asked, watched) = (store.clone(), seen.clone());
    let go_on = move || {
        let percent = asked.compaction().unwrap().running.expect("it is running");
        watched.fetch_max(percent.into(), Ordering::SeqCst);
        true
    };
    let done = store.compact(go_on).await.unwrap().unwrap();
    assert!(seen.load(Ordering::SeqCst) > 50, "its progress is told");
    assert!(done.before == space.size && done.after < 8 << 20, "{done:?}");
    assert!(store.size() < length / 4 && left_over(&dir).is_empty());
    assert_eq!(content(&store), before);
    assert_eq!(store.unseal("a-key").unwrap().unwrap(), b"a secret");
    let state = store.compaction().unwrap();
    assert_eq!((state.last, state.running, state.problem), (Some(done), None, None));
    assert!(!store.measure_space().await.unwrap().is_worth_compacting(Some(&done)));

    // The new file is written to and opened like the old one, and remembers the result.
    write(&store, vec![(1, Some(value(1, 9)))]).await;
    drop(store);
    let store = Store::open(&dir.0).unwrap();
    assert_eq!(store.compaction().unwrap().last, Some(done));
    let mut now = content(&store);
    assert_eq!(now.get_mut(TABLE).unwrap().remove(&1u32.to_be_bytes()[..]), Some(value(1, 9)));
    assert_eq!(now, before);
    drop(store);
    assert_eq!(check_file(&dir.0).unwrap().unwrap().pages, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_meanwhile_is_in_the_new_file() {
    let dir = Dir::new();
    let store = mostly_deleted(&dir).await;
    let mut model = content(&store).remove(TABLE).unwrap();
    // Behind and before the place that is being copied, and in a new table; so much that it does not all stay in the log.
    let changes = |step: u32| {
        let n = |at: u32| at.wrapping_mul(2_654_435_761) % 14_000;
        let changed = (0..40).map(move |i| (n(step * 64 + i), Some(value(step, 20_000 + i as usize))));
        changed.chain((40..60).map(move |i| (n(step * 64 + i), None))).collect::<Vec<_>>()
    };
    const STEPS: u32 = 8;
    let (step, handle, writing) = (AtomicU32::new(0), tokio::runtime::Handle::current(), store.clone());
    let go_on = move || {
        let step = step.fetch_add(1, Ordering::SeqCst);
        if step < STEPS {
            handle.block_on(write(&writing, changes(step)));
            let other = writing.write(move |tx| tx.put_raw("test-other", &step.to_be_bytes(), b"new"));
            handle.block_on(other).unwrap();
            // One that fails leaves no trace.
            let failed = writing.write(|tx| {
                tx.put_raw(TABLE, &[0], b"undone")?;
                tx.put_raw("test-undone", &[0], b"undone")?;
                Err::<(), _>(Error::Conflict("no".into()))
            });
            handle.block_on(failed).unwrap_err();
        }
        true
    };
    store.compact(go_on).await.unwrap().unwrap();
    for step in 0..STEPS {
        for (n, value) in changes(step) {
            match value {
                Some(value) => drop(model.insert(n.to_be_bytes().to_vec(), value)),
                None => drop(model.remove(&n.to_be_bytes()[..])),
            }
        }
    }
    for reopened in [false, true] {
        let store = if reopened { Store::open(&dir.0).unwrap() } else { store.clone() };
        let mut found = content(&store);
        assert!(found.remove(TABLE).unwrap() == model, "reopened: {reopened}");
        assert_eq!(found["test-other"].len(), STEPS as usize);
        assert!(!found.contains_key("test-undone"));
        if !reopened {
            drop((store, found));
            break;
        }
    }
    drop(store);
    assert!(content(&Store::open(&dir.0).unwrap()).remove(TABLE).unwrap() == model);
}

#[tokio::test]
async fn one_that_is_stopped_or_fails_changes_nothing() {
    let dir = Dir::new();
    let store = mostly_deleted(&dir).await;
    let (before, length) = (content(&store), store.size());
    // Stopped at each of its steps, up to the one before the rename.
    let mut stops = 0;
    loop {
        let asked = AtomicU32::new(0);
        let most = stops;
        let Err(stopped) = store.compact(move || asked.fetch_add(1, Ordering::SeqCst) < most).await else { break };
        stops += 1;
        assert!(matches!(stopped, Error::Conflict(_)), "{stopped}");
        assert_eq!(store.compaction().unwrap().problem, Some(stopped.to_string()));
        assert!(left_over(&dir).is_empty() && store.size() == length);
    }
    assert!(stops > 8 && content(&store) == before, "{stops} steps");
    // While a backup waits to be restored, the data file stays as it is.
    store.seal_for_restore();
    assert!(matches!(store.compact(|| true).await, Err(Error::Conflict(_))));
    assert!(content(&store) == before);
    drop(store);

    // A link leads to a disk that may be another; what has no room is not begun.
    let there = dir.0.join("there.redb");
    fs::rename(dir.0.join(crate::FILE), &there).unwrap();
    std::os::unix::fs::symlink(&there, dir.0.join(crate::FILE)).unwrap();
    let store = Store::open(&dir.0).unwrap();
    let refused = store.compact(|| true).await.unwrap_err().to_string();
    assert!(refused.contains("is a link"), "{refused}");
    // A part of a small disk is left to others, and never more than 32 MB.
    let space = Space { size: 20 << 20, free: 16 << 20 };
    let needed = [64 << 20, 512 << 20, 1 << 40].map(|disk| room_for(&space, disk) >> 20);
    assert_eq!(needed, [5 + 4, 5 + 16, 5 + 32]);
    let refused = has_room(&there, &Space { size: 1 << 50, free: 0 }).unwrap_err().to_string();
    assert!(refused.contains("for a while") && refused.contains("make room on the disk"), "{refused}");
    assert!(content(&store) == before);
    assert_eq!(Store::in_memory().unwrap().compact(|| true).await.unwrap(), None);
}

#[tokio::test]
async fn two_at_once_are_refused_and_too_many_changes_end_it() {
    let dir = Dir::new();
    let store = mostly_deleted(&dir).await;
    let before = content(&store);
    let engine = store.0.engine.clone();
    let (second, asked) = (store.clone(), AtomicU32::new(0));
    let go_on = move || {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            assert!(matches!(second.compact_now(&|| true), Err(Error::Conflict(text)) if text.contains("already")));
            // More keys than are noted.
            (0..300_000u32).for_each(|n| engine.changes().note(TABLE, &n.to_be_bytes()));
        }
        true
    };
    let given_up = store.compact(go_on).await.unwrap_err().to_string();
    assert!(given_up.contains("too much is being written"), "{given_up}");
    assert!(content(&store) == before && left_over(&dir).is_empty());
    store.compact(|| true).await.unwrap().unwrap();
    assert!(content(&store) == before);
}

#[test]
fn what_another_could_not_free_is_not_tried_again() {
    let mb = |size: u64, free: u64| Space { size: size << 20, free: free << 20 };
    let last = |after: u64| Some(Compacted { after: after << 20, ..Compacted::default() });
    for (space, last, worth) in [
        (mb(60, 20), None, true),
        (mb(60, 17), None, false),
        (mb(30, 15), None, false),
        (mb(60, 20), last(45), false),
        (mb(60, 20), last(44), true),
        (mb(60, 20), last(80), false),
    ] {
        assert_eq!(space.is_worth_compacting(last.as_ref()), worth, "{space:?} {last:?}");
    }
}

/// Writes and compacts in the folder that the environment names until it is killed; see the test below.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_is_killed() {
    let Ok(dir) = std::env::var("HOB_TEST_COMPACT_DIR") else { return };
    let store = Store::open(dir.as_ref()).unwrap();
    let compacting = store.clone();
    tokio::spawn(async move {
        loop {
            compacting.compact(|| true).await.unwrap();
            println!("compacted");
        }
    });
    let from: u32 = std::env::var("HOB_TEST_COMPACT_FROM").unwrap().parse().unwrap();
    for n in from.. {
        // Rows come and go, so that each compaction has something to free.
        write(&store, vec![(n % 500, Some(value(n, 3000 + (n % 7) as usize * 900)))]).await;
        println!("wrote {} {n}", n % 500);
        std::io::stdout().flush().unwrap();
    }
}

/// SIGKILL at any moment: every acknowledged write is in the file that is found at the next start, and no other is left.
#[test]
fn a_kill_at_any_point_loses_nothing() {
    let kills = std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(15);
    let dir = Dir::new();
    let (mut known, mut compacted) = (BTreeMap::<u32, u32>::new(), 0);
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compact::tests::child_that_is_killed", "--nocapture", "--test-threads=1"])
            .env("HOB_TEST_COMPACT_DIR", &dir.0)
            // Values only grow.
            .env("HOB_TEST_COMPACT_FROM", (kill * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reading = std::thread::spawn(move || {
            let mut wrote: Vec<(u32, u32)> = vec![];
            let mut compacted = 0;
            while let Some(Ok(line)) = lines.next() {
                let words: Vec<&str> = line.split(' ').collect();
                match words[..] {
                    ["wrote", n, value] => wrote.push((n.parse().unwrap(), value.parse().unwrap())),
                    ["compacted"] => compacted += 1,
                    _ => {}
                }
            }
            (wrote, compacted)
        });
        std::thread::sleep(Duration::from_millis(150 + kill * 137 % 400));
        child.kill().unwrap();
        child.wait().unwrap();
        let (wrote, done) = reading.join().unwrap();
        known.extend(wrote);
        compacted += done;
        let store = Store::open(&dir.0).unwrap();
        assert!(left_over(&dir).is_empty());
        let found = content(&store).remove(TABLE).unwrap_or_default();
        for (row, at) in &known {
            let stored = found.get(&row.to_be_bytes()[..]).and_then(|v| Some(u32::from_le_bytes(*v.first_chunk()?)));
            // The write after the last acknowledged one may be there too.
            assert!(stored.is_some_and(|stored| stored >= *at), "kill {kill}, row {row}: {stored:?} for {at}");
        }
        known = found
            .iter()
            .map(|(k, v)| {
                (u32::from_be_bytes(k[..].try_into().unwrap()), u32::from_le_bytes(*v.first_chunk().unwrap()))
            })
            .collect();
        drop(store);
        assert_eq!(check_file(&dir.0).unwrap().unwrap().pages, [""; 0]);
    }
    assert!(compacted > 0, "no compaction was completed");
}
