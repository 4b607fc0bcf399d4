//! The store as its users see it: scopes, indexes, labels, batches, backup, and files that must be refused.

use crate::*;
use serde::{Deserialize, Serialize};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};
use tool::{Channel, Cx, Id, Label, Ports, Principal, Role, SystemClock, UserId, Via};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub title: String,
    pub tag: String,
}

impl Record for Note {
    const NAME: &'static str = "notes";
    const WORD: &'static str = "note";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, &self.title), Key::many(2, &self.tag)]
    }
}

pub(crate) fn note(title: &str, tag: &str) -> Note {
    Note { title: title.into(), tag: tag.into() }
}

pub(crate) fn person() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, ..Principal::owner() };
    Cx::root(ports, principal, Via::direct(Channel::Api))
}

pub(crate) struct Dir(pub PathBuf);

impl Dir {
    pub fn new() -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let dir = std::env::temp_dir().join(format!("hob-store-{}", Id::new()));
        // Private: a restore must not refuse it as another person's folder because it contains a backup.
        std::fs::DirBuilder::new().mode(0o700).create(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Changes what the data file of a stopped Hob says about itself.
pub(crate) fn edit_meta(dir: &Dir, key: &[u8], value: Option<&[u8]>) {
    let db = redb::Database::open(dir.0.join(FILE)).unwrap();
    let tx = db.begin_write().unwrap();
    {
        let mut table = tx.open_table(snapshot::Table::new(meta::META)).unwrap();
        match value {
            Some(value) => drop(table.insert(key, value).unwrap()),
            None => drop(table.remove(key).unwrap()),
        }
    }
    tx.commit().unwrap();
}

#[tokio::test]
async fn one_person_cannot_see_find_change_or_delete_anothers() {
    let notes = Store::in_memory().unwrap().collection::<Note>();
    let (anna, ben) = (person(), person());
    let hers = notes.insert(&anna, "chat", note("diary", "private")).await.unwrap();
    notes.insert(&ben, "chat", note("diary", "private")).await.unwrap();

    assert_eq!(notes.get(&anna, hers.id).unwrap().unwrap(), hers);
    assert_eq!(notes.get(&ben, hers.id).unwrap(), None);
    assert_eq!(notes.list(&ben, &Listing::default()).unwrap().len(), 1);
    assert!(matches!(notes.update(&ben, hers.id, |_| Ok(())).await, Err(Error::Missing(_))));
    assert!(!notes.delete(&ben, hers.id).await.unwrap());
    assert!(notes.delete(&anna, hers.id).await.unwrap());
    assert_eq!(notes.list(&anna, &Listing::default()).unwrap(), []);
}

#[tokio::test]
async fn shared_records_are_read_by_all_and_changed_by_their_owner() {
    let notes = Store::in_memory().unwrap().collection::<Note>();
    let (anna, ben) = (person(), person());
    let stamp = notes.stamp(&anna, "chat").audience(Audience::Household);
    let shared = notes.insert_as(stamp, note("wifi", "home")).await.unwrap();

    assert_eq!(notes.get(&ben, shared.id).unwrap().unwrap().owner, anna.user());
    let by_tag = Listing { by: Some((2, b"home".to_vec())), ..Listing::default() };
    assert_eq!(notes.list(&ben, &by_tag).unwrap().len(), 1);
    assert!(notes.update(&ben, shared.id, |_| Ok(())).await.is_err());
    assert!(notes.delete(&anna, shared.id).await.unwrap());
    assert_eq!(notes.get(&ben, shared.id).unwrap(), None);
}

#[tokio::test]
async fn indexes_follow_every_change() {
    let notes = Store::in_memory().unwrap().collection::<Note>();
    let cx = person();
    let tagged = |tag: &str| Listing { by: Some((2, tag.as_bytes().to_vec())), ..Listing::default() };
    let a = notes.insert(&cx, "chat", note("a", "red")).await.unwrap();
    let b = notes.insert(&cx, "chat", note("b", "red")).await.unwrap();
    notes.insert(&cx, "chat", note("c", "redder")).await.unwrap();
    let ids = |l: &Listing| notes.list(&cx, l).unwrap().iter().map(|e| e.id).collect::<Vec<_>>();
    assert_eq!(ids(&tagged("red")), [b.id, a.id]);

    notes
        .update(&cx, a.id, |n| {
            n.tag = "blue".into();
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(ids(&tagged("red")), [b.id]);
    assert_eq!(ids(&tagged("blue")), [a.id]);
    assert_eq!(ids(&Listing { before: Some(b.id), ..Listing::default() }), [a.id]);
    assert_eq!(ids(&Listing { limit: 1, ..Listing::default() }).len(), 1);

    let taken = notes.insert(&cx, "chat", note("b", "")).await;
    assert!(taken.is_err_and(|e| e.to_string().contains("already a note called `b`")));
    notes.delete(&cx, b.id).await.unwrap();
    notes.insert(&cx, "chat", note("b", "")).await.unwrap();
}

#[tokio::test]
async fn labels_travel_through_records() {
    let notes = Store::in_memory().unwrap().collection::<Note>();
    let web = person();
    web.taint(Label::Outside);
    let page = notes.insert(&web, "web", note("page", "")).await.unwrap();
    assert_eq!(page.label, Label::Outside);

    let later = Cx::root(web.ports().clone(), web.principal().clone(), web.via().clone());
    assert_eq!(later.label(), Label::Own);
    notes.get(&later, page.id).unwrap();
    assert_eq!(later.label(), Label::Outside, "reading it taints the run");

    let clean = Cx::root(web.ports().clone(), web.principal().clone(), web.via().clone());
    let changed = notes.update(&clean, page.id, |_| Ok(())).await.unwrap();
    assert_eq!(changed.label, Label::Outside, "a clean run does not wash it");
}

#[tokio::test]
async fn a_job_that_fails_or_panics_is_undone_alone() {
    let store = Store::in_memory().unwrap();
    let notes = store.collection::<Note>();
    let cx = person();
    let jobs = (0..100).map(|i| {
        let (notes, stamp) = (notes.clone(), notes.stamp(&cx, "test"));
        let store = store.clone();
        tokio::spawn(async move {
            let job = move |tx: &Tx| {
                notes.put(tx, Id::new(), &stamp, &note(&i.to_string(), ""))?;
                match i % 10 {
                    3 => Err(Error::Conflict("no".into())),
                    7 => panic!("on purpose"),
                    _ => Ok(i),
                }
            };
            store.write(job).await
        })
    });
    let mut good = 0;
    for job in jobs.collect::<Vec<_>>() {
        good += job.await.unwrap().is_ok() as usize;
    }
    assert_eq!(good, 80);
    assert_eq!(notes.list(&cx, &Listing::default()).unwrap().len(), 80);
}

#[tokio::test]
async fn a_flush_keeps_what_waited_and_frees_the_file() {
    let dir = Dir::new();
    let ran = Arc::new(AtomicU32::new(0));
    {
        let store = Store::open(&dir.0).unwrap();
        let (notes, cx) = (store.collection::<Note>(), person());
        let all = (0..50).map(|i| {
            let (notes, cx) = (notes.clone(), cx.clone());
            tokio::spawn(async move { notes.insert(&cx, "t", note(&i.to_string(), "")).await.map(drop) })
        });
        for one in all.collect::<Vec<_>>() {
            one.await.unwrap().unwrap();
        }
        // As real ones do, the job holds a handle: only a flush lets go of it at once.
        let (counted, handle) = (ran.clone(), notes.clone());
        store.write_later(move |_| {
            let _ = &handle;
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        store.flush().await.unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1, "a flush commits what waited");
    }
    let store = Store::open(&dir.0).unwrap();
    let mut n = 0;
    store.collection::<Note>().scan(|_| n += 1).unwrap();
    assert_eq!(n, 50);
}

#[tokio::test]
async fn one_unreadable_record_does_not_hide_the_others() {
    let store = Store::in_memory().unwrap();
    let (notes, cx) = (store.collection::<Note>(), person());
    let good = notes.insert(&cx, "t", note("good", "x")).await.unwrap();
    let bad = notes.insert(&cx, "t", note("bad", "x")).await.unwrap();
    let key = [&tool::Scope::User(cx.user()).key()[..], bad.id.as_bytes()].concat();
    store.write(move |tx| tx.put_raw(Note::NAME, &key, &[255, 255, 1])).await.unwrap();
    let mut scanned = 0;
    notes.scan(|_| scanned += 1).unwrap();
    assert_eq!(scanned, 1);
    for by in [None, Some((2, b"x".to_vec()))] {
        assert_eq!(notes.list(&cx, &Listing { by, limit: 5, before: None }).unwrap(), std::slice::from_ref(&good));
    }
    assert!(matches!(notes.get(&cx, bad.id), Err(Error::Damaged(_))));
}

#[tokio::test]
async fn secrets_are_sealed_on_disk() {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    store.seal("openai", b"sk-very-secret-value").await.unwrap();
    assert_eq!(store.unseal("openai").unwrap().as_deref(), Some(&b"sk-very-secret-value"[..]));
    assert_eq!(store.unseal("other").unwrap(), None);
    let bytes = std::fs::read(dir.0.join(FILE)).unwrap();
    assert!(!bytes.windows(20).any(|w| w == b"sk-very-secret-value"));
    store.forget_secret("openai").await.unwrap();
    assert_eq!(store.unseal("openai").unwrap(), None);
}

#[tokio::test]
async fn a_secret_is_sealed_or_forgotten_with_the_rest_of_its_write() {
    let store = Store::in_memory().unwrap();
    let sealing = |secret: Option<&'static [u8]>, fails: bool| {
        let keeper = store.clone();
        let job = move |tx: &Tx| {
            keeper.seal_in(tx, "pin", secret)?;
            if fails { Err(Error::Conflict("no".into())) } else { Ok(()) }
        };
        store.write(job)
    };
    type Secret = Option<&'static [u8]>;
    let rows: [(Secret, bool, Secret); 4] =
        [(Some(b"1"), true, None), (Some(b"2"), false, Some(b"2")), (None, true, Some(b"2")), (None, false, None)];
    for (secret, fails, left) in rows {
        assert_eq!(sealing(secret, fails).await.is_err(), fails);
        assert_eq!(store.unseal("pin").unwrap().as_deref(), left);
    }
}

#[tokio::test]
async fn backup_and_restore_keep_everything_but_the_secrets() {
    let (dir, other) = (Dir::new(), Dir::new());
    let cx = person();
    let file = other.0.join("backup.hob");
    let store = Store::open(&dir.0).unwrap();
    let notes = store.collection::<Note>();
    let kept = notes.insert(&cx, "t", note("kept", "x")).await.unwrap();
    store.seal("key", b"sealed").await.unwrap();
    assert!(store.backup(file.clone()).await.unwrap() > 0);
    assert!(store.backup(file.clone()).await.is_err_and(|e| e.to_string().contains("exists already")));
    notes.insert(&cx, "t", note("later", "x")).await.unwrap();
    assert!(matches!(restore(&dir.0, &file), Err(Error::InUse(_))), "not under a running daemon");
    drop((notes, store));

    let before = restore(&dir.0, &file).unwrap();
    assert!(before.data.exists() && !before.files.exists());
    let store = Store::open(&dir.0).unwrap();
    let found = store.collection::<Note>().list(&cx, &Listing::default()).unwrap();
    assert_eq!(found, [kept]);
    assert_eq!(store.unseal("key").unwrap().as_deref(), Some(&b"sealed"[..]), "this device keeps its secrets");

    drop(store);
    assert_ne!(restore(&dir.0, &file).unwrap(), before, "what was set aside before is not written over");
    restore(&other.0, &file).unwrap();
    let elsewhere = Store::open(&other.0).unwrap();
    assert_eq!(elsewhere.unseal("key").unwrap(), None, "and they do not leave it");
}

#[tokio::test]
async fn a_data_file_that_is_released_soon_is_waited_for() {
    let dir = Dir::new();
    drop(Store::open(&dir.0).unwrap());
    let held = std::fs::File::open(dir.0.join(FILE)).unwrap();
    held.lock().unwrap();
    let releasing = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(held);
    });
    drop(Store::open(&dir.0).unwrap());
    releasing.join().unwrap();
}

#[tokio::test]
async fn files_that_must_not_be_touched_are_refused() {
    let dir = Dir::new();
    let file = dir.0.join(FILE);
    let store = Store::open(&dir.0).unwrap();
    let second = Store::open(&dir.0).err().unwrap();
    assert!(matches!(&second, Error::InUse(_)) && second.to_string().contains("--data"));
    drop(store);
    edit_meta(&dir, meta::META_FORMAT, Some(&9u32.to_le_bytes()));

    let untouched = std::fs::read(&file).unwrap();
    let newer = Store::open(&dir.0).err().unwrap();
    assert!(matches!(newer, Error::Newer { found: 9, ours: FORMAT, .. }));
    assert_eq!(std::fs::read(&file).unwrap(), untouched);

    let good = std::env::temp_dir().join(format!("hob-junk-{}", Id::new()));
    for junk in [b"not a database at all".to_vec(), vec![0; 4096], untouched[..untouched.len() / 2].to_vec()] {
        std::fs::write(&file, &junk).unwrap();
        let refused = Store::open(&dir.0).err().unwrap();
        assert!(refused.to_string().contains("hob restore"), "{refused}");
        assert_eq!(std::fs::read(&file).unwrap(), junk, "left as it was");
        std::fs::write(&good, &junk).unwrap();
        assert!(matches!(restore(&dir.0, &good), Err(Error::Damaged(_))));
    }
    let _ = std::fs::remove_file(good);
}

#[tokio::test]
async fn ids_do_not_go_back_across_a_restart() {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    let ahead = Id::new().millis() + 86_400_000;
    store.write(move |tx| tx.put_raw(meta::META, b"x", b"")).await.unwrap();
    drop(store);
    // A day ahead, as if the clock had been set back since.
    edit_meta(&dir, meta::META_LAST, Some(&ahead.to_le_bytes()));
    let _store = Store::open(&dir.0).unwrap();
    assert!(Id::new().millis() >= ahead);
}

#[tokio::test]
async fn a_soon_write_is_seen_at_once_and_on_disk_with_the_next() {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    let (notes, cx) = (store.collection::<Note>(), person());
    let commits = || store.stats().unwrap().commits;
    let soon = async |title: &str, within: u64| {
        let (notes, stamp, value) = (notes.clone(), notes.stamp(&cx, "t"), note(title, "x"));
        let put = move |tx: &Tx| notes.put(tx, Id::new(), &stamp, &value).map(drop);
        store.write_soon(std::time::Duration::from_millis(within), put).await.unwrap();
    };
    let far = 60_000;
    let before = commits();
    soon("a", far).await;
    soon("b", far).await;
    assert_eq!((notes.list(&cx, &Listing::default()).unwrap().len(), commits()), (2, before), "seen, and not synced");
    notes.insert(&cx, "t", note("c", "x")).await.unwrap();
    assert_eq!(commits(), before + 1, "three writes, one commit");
    store.sync().await.unwrap();
    assert_eq!(commits(), before + 1, "nothing waits");
    soon("d", far).await;
    store.sync().await.unwrap();
    assert_eq!(commits(), before + 2);
    soon("e", 20).await;
    until(|| commits() == before + 3).await;
    // Inside, every write is one.
    with_soon(Some(std::time::Duration::from_secs(60)), notes.insert(&cx, "t", note("f", "x"))).await.unwrap();
    assert_eq!(commits(), before + 3);
    with_soon(Some(std::time::Duration::from_secs(60)), store.flush()).await.unwrap();
    assert_eq!(commits(), before + 4, "a flush does not wait");
    soon("g", far).await;
    drop((notes, store));
    let store = Store::open(&dir.0).unwrap();
    let kept = store.collection::<Note>().list(&cx, &Listing::default()).unwrap();
    assert_eq!(kept.len(), 7, "closing commits the rest");
}

async fn until(done: impl Fn() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("never");
}

#[tokio::test]
async fn a_lineage_ends_with_a_write_that_does_not_know_it_and_with_a_restore() {
    let dir = Dir::new();
    let put = async |store: &Store| store.write(|tx| tx.put_raw(crate::meta::META, b"x", b"")).await.unwrap();
    let store = Store::open(&dir.0).unwrap();
    let first = store.lineage();
    put(&store).await;
    drop(store);
    let store = Store::open(&dir.0).unwrap();
    assert_eq!(store.lineage(), first, "a restart does not end it");
    let backup = dir.0.join("copy.hob");
    store.backup(backup.clone()).await.unwrap();
    put(&store).await;
    drop(store);

    // An older Hob commits.
    let db = redb::Database::open(dir.0.join(FILE)).unwrap();
    let tx = db.begin_write().unwrap();
    let later = (Id::new().millis() + 1).to_le_bytes();
    tx.open_table(crate::snapshot::Table::new("meta")).unwrap().insert(&b"last"[..], &later[..]).unwrap();
    tx.commit().unwrap();
    drop(db);
    let store = Store::open(&dir.0).unwrap();
    let second = store.lineage();
    assert_ne!(second, first);
    drop(store);
    let store = Store::open(&dir.0).unwrap();
    assert_eq!(store.lineage(), second, "it was noted");
    put(&store).await;
    drop(store);

    std::fs::write(dir.0.join(crate::MEMORY_INDEX), "old").unwrap();
    crate::restore(&dir.0, &backup).unwrap();
    assert!(!dir.0.join(crate::MEMORY_INDEX).exists());
    let third = Store::open(&dir.0).unwrap().lineage();
    assert!(third != first && third != second);

    let fresh = Dir::new();
    crate::restore(&fresh.0, &backup).unwrap();
    let fourth = Store::open(&fresh.0).unwrap().lineage();
    assert!(fourth != first && fourth != third, "where no data was before");
}
