//! Damage: found in records and indexes, repaired where nothing is lost by it, and named where something is.

use crate::{
    rows::{index_table, record_key},
    tests::{Dir, Note, edit_meta, note, person},
    *,
};
use tool::{Cx, Id, Scope};

fn key_of(cx: &Cx, id: Id) -> Vec<u8> {
    record_key(Scope::User(cx.user()), id)
}

/// Changes the stored bytes of a record.
async fn bend(store: &Store, key: &[u8], bend: fn(&mut Vec<u8>)) {
    let key = key.to_vec();
    let job = move |tx: &Tx| {
        let mut bytes = tx.get_raw(Note::NAME, &key)?.unwrap();
        bend(&mut bytes);
        tx.put_raw(Note::NAME, &key, &bytes)
    };
    store.write(job).await.unwrap();
}

#[allow(clippy::ptr_arg)]
fn flip_last(bytes: &mut Vec<u8>) {
    *bytes.last_mut().unwrap() ^= 4;
}

fn tagged(tag: &str, limit: usize) -> Listing {
    Listing { by: Some((2, tag.as_bytes().to_vec())), limit, before: None }
}

#[tokio::test]
async fn a_flipped_bit_is_named_and_hides_no_other_record() {
    let store = Store::in_memory().unwrap();
    let (notes, cx) = (store.collection::<Note>(), person());
    let good = notes.insert(&cx, "t", note("good", "x")).await.unwrap();
    let bad = notes.insert(&cx, "t", note("bad", "x")).await.unwrap();
    assert_eq!(store.check().await.unwrap().damaged, []);
    bend(&store, &key_of(&cx, bad.id), flip_last).await;

    let told = notes.get(&cx, bad.id).unwrap_err().to_string();
    assert!(told.contains(&bad.id.to_string()) && told.contains("hob doctor"), "{told}");
    assert_eq!(notes.list(&cx, &Listing::default()).unwrap(), std::slice::from_ref(&good));
    // Also where only one is asked for, and the damaged one is the first.
    assert_eq!(notes.list(&cx, &tagged("x", 1)).unwrap(), std::slice::from_ref(&good));
    assert_eq!(notes.list(&cx, &Listing { limit: 1, ..Listing::default() }).unwrap(), [good]);

    let check = store.check().await.unwrap();
    let [damage] = &check.damaged[..] else { panic!("{check:?}") };
    assert_eq!((check.records, check.damages, damage.id(), damage.owner), (2, 1, Some(bad.id), Some(cx.user())));
    assert!(damage.table == Note::NAME && damage.problem.contains("checksum"), "{damage:?}");
    // It can still be deleted or overwritten.
    assert!(notes.delete(&cx, bad.id).await.unwrap());
    assert_eq!(store.check().await.unwrap().damaged, []);
}

#[tokio::test]
async fn a_record_under_another_key_is_not_taken_for_anothers() {
    let store = Store::in_memory().unwrap();
    let (notes, anna, ben) = (store.collection::<Note>(), person(), person());
    let hers = notes.insert(&anna, "t", note("diary", "x")).await.unwrap();
    let (from, to) = (key_of(&anna, hers.id), key_of(&ben, hers.id));
    let moved = move |tx: &Tx| {
        let bytes = tx.get_raw(Note::NAME, &from)?.unwrap();
        tx.remove_raw(Note::NAME, &from)?;
        tx.put_raw(Note::NAME, &to, &bytes)
    };
    store.write(moved).await.unwrap();
    assert!(notes.get(&ben, hers.id).is_err());
    assert_eq!(notes.list(&ben, &Listing::default()).unwrap(), []);
    assert_eq!(store.check().await.unwrap().damages, 1);
}

#[tokio::test]
async fn wrong_index_rows_are_made_again() {
    let store = Store::in_memory().unwrap();
    let (notes, anna, ben) = (store.collection::<Note>(), person(), person());
    let stamp = notes.stamp(&anna, "t").audience(Audience::Household);
    let shared = notes.insert_as(stamp, note("wifi", "home")).await.unwrap();
    let own = notes.insert(&ben, "t", note("own", "home")).await.unwrap();
    // Every bit of every row's key and value, as a flip leaves it: nothing is hidden or found under a wrong value after a check.
    let rows = store.0.engine.read(|tx| {
        let table = tx.open(&index_table(Note::NAME))?.unwrap();
        table.iter()?.map(|row| row.map(|(k, v)| (k.to_vec(), v.to_vec()))).collect()
    });
    let rows: Vec<(Vec<u8>, Vec<u8>)> = rows.unwrap();
    assert_eq!(rows.len(), 2 + 2 + 3);
    for (key, value) in &rows {
        for bit in (0..(key.len() + value.len()) * 8).step_by(7) {
            let (old, mut bent, mut holds) = (key.clone(), key.clone(), value.clone());
            match bit / 8 < key.len() {
                true => bent[bit / 8] ^= 1 << (bit % 8),
                false => holds[bit / 8 - key.len()] ^= 1 << (bit % 8),
            }
            let flip = move |tx: &Tx| {
                tx.remove_raw(&index_table(Note::NAME), &old)?;
                tx.put_raw(&index_table(Note::NAME), &bent, &holds)
            };
            store.write(flip).await.unwrap();
            let check = store.check().await.unwrap();
            assert!(check.repaired >= 1 && check.damages == 0, "{bit}: {check:?}");
            let found = notes.list(&ben, &tagged("home", 0)).unwrap();
            assert_eq!(found.iter().map(|e| e.id).collect::<Vec<_>>(), [own.id, shared.id], "bit {bit} of {key:?}");
            assert_eq!(notes.get(&ben, shared.id).unwrap().unwrap().id, shared.id);
            assert!(notes.insert(&ben, "t", note("own", "")).await.is_err(), "its name is still taken");
        }
    }
    assert_eq!(store.check().await.unwrap().repaired, 0);
}

#[tokio::test]
async fn a_backup_that_has_a_record_is_known_by_it() {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    let (notes, cx) = (store.collection::<Note>(), person());
    let first = notes.insert(&cx, "t", note("first", "x")).await.unwrap();
    let file = dir.0.join("backup.hob");
    store.backup(file.clone()).await.unwrap();
    let later = notes.insert(&cx, "t", note("later", "x")).await.unwrap();
    let wanted = [first.id, later.id].map(|id| (Note::NAME.to_owned(), key_of(&cx, id)));
    assert_eq!(backup_has(&file, &wanted).unwrap(), [true, false]);
    // A copy of what was damaged already is no good copy.
    bend(&store, &key_of(&cx, first.id), flip_last).await;
    let second = dir.0.join("second.hob");
    store.backup(second.clone()).await.unwrap();
    assert_eq!(backup_has(&second, &wanted).unwrap(), [false, true]);
    std::fs::write(&second, "junk").unwrap();
    assert!(backup_has(&second, &wanted).is_err());
}

#[tokio::test]
async fn the_slow_check_reads_everything_once_a_day_and_remembers_where_it_was() {
    let dir = Dir::new();
    let store = Store::open(&dir.0).unwrap();
    let (notes, cx) = (store.collection::<Note>(), person());
    let (keeper, stamp) = (notes.clone(), notes.stamp(&cx, "t"));
    let many = move |tx: &Tx| {
        (0..20_000).try_for_each(|n| keeper.put(tx, Id::new(), &stamp, &note(&format!("note {n}"), "x")).map(drop))
    };
    store.write(many).await.unwrap();
    let last = notes.list(&cx, &Listing { limit: 1, ..Listing::default() }).unwrap().remove(0);
    bend(&store, &key_of(&cx, last.id), flip_last).await;
    let (mut steps, mut rows, mut found) = (0, 0, vec![]);
    loop {
        let step = store.patrol().await.unwrap();
        (steps, rows) = (steps + 1, rows + step.rows);
        assert!(step.rows <= 4096, "{}", step.rows);
        found.extend(step.damaged);
        if step.finished {
            break;
        }
        assert!(steps < 200, "it never ends");
    }
    assert!(steps > 10 && rows >= 60_000, "{steps} steps, {rows} rows");
    assert_eq!(found.iter().map(Damage::id).collect::<Vec<_>>(), [Some(last.id)]);
    let rests = store.patrol().await.unwrap();
    assert_eq!((rests.rows, rests.finished), (0, true), "not again before tomorrow");
    store.flush().await.unwrap();
    drop((notes, store));
    let store = Store::open(&dir.0).unwrap();
    let _notes = store.collection::<Note>();
    assert_eq!(store.patrol().await.unwrap().rows, 0, "not after a restart either");
    // A place in the middle is gone on from.
    store.write(|tx| tx.put_raw(meta::META, b"checked", &[&[0; 8][..], b"notes.index\0"].concat())).await.unwrap();
    drop((_notes, store));
    let store = Store::open(&dir.0).unwrap();
    let _notes = store.collection::<Note>();
    let mut rows = 0;
    loop {
        let step = store.patrol().await.unwrap();
        rows += step.rows;
        if step.finished {
            break;
        }
    }
    assert!((40_000..45_000).contains(&rows), "{rows}: the rows of the index, and not those of the records again");
}

#[tokio::test]
async fn the_file_of_a_stopped_hob_is_read_page_by_page_and_left_as_it_is() {
    let dir = Dir::new();
    let file = dir.0.join(FILE);
    let store = Store::open(&dir.0).unwrap();
    assert!(matches!(check_file(&dir.0), Err(Error::InUse(_))));
    let (notes, cx) = (store.collection::<Note>(), person());
    for n in 0..50 {
        notes.insert(&cx, "t", note(&format!("note number {n}"), "x")).await.unwrap();
    }
    drop((notes, store));
    let good = std::fs::read(&file).unwrap();
    let found = check_file(&dir.0).unwrap().unwrap();
    assert_eq!((found.pages.len(), found.records.records, found.records.damages), (0, 50, 0));
    assert!(std::fs::read(&file).unwrap() == good);

    let at = good.windows(14).rposition(|w| w == b"note number 33").unwrap();
    let mut bent = good.clone();
    bent[at] ^= 1;
    std::fs::write(&file, &bent).unwrap();
    let found = check_file(&dir.0).unwrap().unwrap();
    assert!(!found.pages.is_empty(), "{found:?}");
    assert!(std::fs::read(&file).unwrap() == bent, "left as it was");

    // The newest state taken back by one bit.
    let mut back = good.clone();
    back[9] ^= 1;
    std::fs::write(&file, &back).unwrap();
    assert!(!check_file(&dir.0).unwrap().unwrap().pages.is_empty());

    for bytes in [&b"junk"[..], &good[..good.len() / 2]] {
        std::fs::write(&file, bytes).unwrap();
        assert!(!check_file(&dir.0).unwrap().unwrap().pages.is_empty());
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(check_file(&dir.0).unwrap(), None);
}

#[tokio::test]
async fn what_the_file_says_about_itself_is_checked() {
    for (key, bytes) in [(meta::META_DEVICE, vec![7; 16]), (meta::META_FORMAT, 0u32.to_le_bytes().to_vec())] {
        let dir = Dir::new();
        let store = Store::open(&dir.0).unwrap();
        let device = store.device_id();
        drop(store);
        edit_meta(&dir, b"sum", None);
        // A Hob from before there were checksums made it: it gets one.
        let store = Store::open(&dir.0).unwrap();
        assert_eq!(store.device_id(), device);
        drop(store);
        edit_meta(&dir, key, Some(&bytes));
        assert!(matches!(Store::open(&dir.0), Err(Error::Damaged(_))), "{key:?}");
    }
}
