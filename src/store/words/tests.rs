//! Searches by the index find what a scan finds, in the same order, whatever happened before.

use super::text::Words;
use crate::{
    Audience, Collection, Entry, Key, Level, Record, Store, Visit, Walk,
    meta::{META, META_LINEAGE},
    order,
    word_rows::{META_WORDS, SEGMENTS, STATE, TAIL, index_table},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};
use text_kit::{find_part, search_parts};
use tool::{AgentId, Channel, Cx, FixedClock, Id, Ports, Principal, Role, Scope, UserId, Via};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Page {
    text: String,
    rank: i64,
    tags: Vec<String>,
}

impl Record for Page {
    const NAME: &'static str = "pages";
    const WORD: &'static str = "page";
    const LEVEL: Level = Level::User;
    const WORDS: u8 = 1;
    fn keys(&self) -> Vec<Key> {
        let tags = self.tags.iter().map(|tag| Key::many(2, order::text(tag)));
        tags.chain([Key::many(1, order::int(self.rank))]).collect()
    }
    fn words(&self) -> String {
        self.text.clone()
    }
}

/// A household record of another kind: it has no readers besides its scope.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sign(String);

impl Record for Sign {
    const NAME: &'static str = "signs";
    const WORD: &'static str = "sign";
    const LEVEL: Level = Level::Household;
    const WORDS: u8 = 1;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, [])]
    }
    fn words(&self) -> String {
        self.0.clone()
    }
}

fn cx(user: UserId) -> Cx {
    let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
    Cx::root(
        Ports::unconnected(clock),
        Principal { user, role: Role::Member, agent: AgentId::GENERAL },
        Via::direct(Channel::Api),
    )
}

fn user(n: u8) -> Cx {
    cx(UserId(Id::from_bytes([n; 16])))
}

/// As the families compare.
fn contains(text: &str, search: &str) -> bool {
    let text = text.to_lowercase();
    search_parts(search).iter().all(|part| find_part(&text, part).is_some())
}

async fn tend(store: &Store) {
    let mut steps = 0;
    while store.tend_words().await.unwrap() {
        steps += 1;
        assert!(steps < 10_000, "it never ends");
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const WORDS: &[&str] = &[
    "Joanna",
    "ann",
    "milk",
    "Milk,",
    "oat-milk",
    "今天天气很好",
    "天气",
    "iPhone手机壳",
    "İstanbul",
    "ΟΔΟΣ",
    "ΟΔΟΣΑ",
    "❤️",
    "👨‍👩‍👧",
    "1,234.50",
    "+43",
    "664/123",
    "\"quoted\"",
    "naïve",
    "nai\u{308}ve",
    "ภาษาไทย",
    "x",
    "ß",
    "STRASSE",
    "donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrik",
    "0123456789abcdef0123456789abcdef0123456789",
];
const SEARCHES: &[&str] = &[
    "ann",
    "ANN",
    "milk",
    "oat",
    "-milk",
    "milk,",
    "t-m",
    "天",
    "天天",
    "天气很",
    "e手",
    "istanbul",
    "İ",
    "οδος",
    "ΟΔΟΣ",
    "οδοσ",
    "❤",
    "👧",
    "1,234",
    "4.5",
    "43",
    "/",
    "?",
    "\"",
    "naïve",
    "ไทย",
    "x",
    "ss",
    "ß",
    "gesellschaftskapitän",
    "f0123456789a",
    "milk ann",
    "x milk x",
    "joanna joann",
    "absent",
    "milk absent",
    "",
    " ",
    "n",
    "\"milk, ann\"",
    "“ΟΔΟΣ 天气”",
    "\"oat-milk",
];

fn text(dice: &mut Dice, n: usize) -> String {
    let mut words = vec![];
    for _ in 0..dice.below(5) {
        words.push(dice.pick(WORDS).to_owned());
    }
    if dice.below(3) == 0 {
        words.push(format!("no{}", n % 97));
    }
    words.join(dice.pick(&[" ", "\n", "  ", " · "]))
}

/// All records that a person may read, in the order of each way to search: what searches by the index are compared with.
struct Scan<'a> {
    pages: &'a Collection<Page>,
    cx: &'a Cx,
    walks: Vec<(Walk, Vec<Entry<Page>>)>,
    newest: Vec<Entry<Page>>,
}

impl<'a> Scan<'a> {
    fn new(pages: &'a Collection<Page>, cx: &'a Cx) -> Self {
        let walks = [
            Walk::prefix(1, []),
            Walk::prefix(1, []).down(),
            Walk::between(1, order::int(-3), order::int(4)),
            Walk::prefix(2, []),
            Walk::prefix(2, order::text("b")).down(),
        ];
        let walked = walks.map(|walk| (walk.clone(), pages.walk(cx, &walk, |_| Visit::Yes).unwrap()));
        Self { pages, cx, walks: walked.into(), newest: pages.list(cx, &Default::default()).unwrap() }
    }

    /// Compares the results of the index with the scan, for each way to search.
    fn compare(&self, search: &str) {
        let (Self { pages, cx, .. }, words) = (self, Words::all(search));
        let fit = |all: &[Entry<Page>], fits: &dyn Fn(&str) -> bool, most: usize| -> Vec<Entry<Page>> {
            all.iter().filter(|page| fits(&page.value.text)).take(most).cloned().collect()
        };
        let yes = |fits: bool| if fits { Visit::Yes } else { Visit::No };
        let all = |text: &str| contains(text, search);
        for (walk, scanned) in &self.walks {
            for most in [3, usize::MAX] {
                let mut taken = 0;
                let some = |page: &Entry<Page>| {
                    let fits = all(&page.value.text);
                    taken += usize::from(fits);
                    if taken > most { Visit::Stop } else { yes(fits) }
                };
                let found = pages.search(cx, walk, Some(&words), some).unwrap();
                assert_eq!(found, fit(scanned, &all, most), "{search:?} {walk:?}");
            }
        }
        let found = pages.search_newest(cx, &words, |page| yes(all(&page.value.text))).unwrap();
        assert_eq!(found, fit(&self.newest, &all, usize::MAX), "{search:?}");
        let parts = search_parts(search);
        let any = |text: &str| parts.iter().any(|part| find_part(&text.to_lowercase(), part).is_some());
        let found = pages.search_newest(cx, &Words::one_of(&parts), |page| yes(any(&page.value.text))).unwrap();
        assert_eq!(found, fit(&self.newest, &any, usize::MAX), "one of {search:?}");
    }
}

fn compare(pages: &Collection<Page>, cx: &Cx, search: &str) {
    Scan::new(pages, cx).compare(search);
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("hob-words-{name}-{}", Id::new()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The rows of the index in its table.
fn keys(store: &Store) -> Vec<Vec<u8>> {
    let mut keys = vec![];
    let read = store.0.engine.read(|tx| {
        super::table::IndexTable::open(tx, Page::NAME)?.scan(&[], None, &mut |key, _| {
            keys.push(key.to_vec());
            Ok(true)
        })
    });
    read.unwrap();
    keys
}

/// The person, the page and its content; `None` removes it.
type Job = (usize, Id, Option<(Page, Audience)>);

async fn random(seed: u64, rounds: usize) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let folder = folder("random");
    let mut store = Store::open(&folder).unwrap();
    let people = [user(1), user(2)];
    // The first records are from before the index.
    let mut stored: Vec<(usize, Id)> = vec![];
    for round in 0..rounds {
        let pages = store.collection::<Page>();
        let mut jobs: Vec<Job> = vec![];
        for n in 0..dice.below(120) {
            let who = dice.below(2);
            let page = Page {
                text: text(&mut dice, n),
                rank: dice.below(10) as i64 - 5,
                tags: (0..dice.below(3)).map(|_| dice.pick(&["a", "b", "c"]).to_owned()).collect(),
            };
            let audience = if dice.below(3) == 0 { Audience::Household } else { Audience::Private };
            let (who, id, page) = match dice.below(4) {
                0 if !stored.is_empty() => {
                    let (who, id) = stored.swap_remove(dice.below(stored.len()));
                    (who, id, None)
                }
                1 if !stored.is_empty() => {
                    let (who, id) = stored[dice.below(stored.len())];
                    (who, id, Some((page, audience)))
                }
                _ => {
                    let id = Id::new();
                    stored.push((who, id));
                    (who, id, Some((page, audience)))
                }
            };
            jobs.push((who, id, page));
        }
        let (writer, stamps) = (pages.clone(), people.each_ref().map(|cx| pages.stamp(cx, "t")));
        let write = store.write(move |tx| {
            for (who, id, page) in &jobs {
                match page {
                    Some((page, audience)) => {
                        writer.put(tx, *id, &stamps[*who].clone().audience(*audience), page)?;
                    }
                    None => drop(writer.remove(tx, stamps[*who].scope, *id)?),
                }
            }
            Ok(())
        });
        write.await.unwrap();
        match dice.below(4) {
            0 => drop(store.tend_words().await.unwrap()),
            1 => tend(&store).await,
            2 if round % 3 == 0 => {
                drop(pages);
                drop(store);
                store = Store::open(&folder).unwrap();
            }
            _ => {}
        }
        let pages = store.collection::<Page>();
        for cx in &people {
            let scan = Scan::new(&pages, cx);
            (0..3).for_each(|_| scan.compare(dice.pick(SEARCHES)));
        }
    }
    tend(&store).await;
    let pages = store.collection::<Page>();
    for cx in &people {
        let scan = Scan::new(&pages, cx);
        SEARCHES.iter().for_each(|search| scan.compare(search));
    }
    assert_eq!(store.check().await.unwrap().repaired, 0);
    assert!(Store::open(&folder).is_err(), "still open");
    drop((pages, store));
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn a_search_finds_what_a_scan_finds() {
    for seed in 1..3 {
        random(seed, 25).await;
    }
}

/// How many records a search looks at.
fn looked_at(pages: &Collection<Page>, cx: &Cx, search: &str) -> usize {
    let mut seen = 0;
    let keep = |_: &Entry<Page>| {
        seen += 1;
        Visit::No
    };
    pages.search(cx, &Walk::prefix(1, []), Some(&Words::all(search)), keep).unwrap();
    seen
}

async fn add(store: &Store, cx: &Cx, texts: impl Iterator<Item = String>) -> Vec<Id> {
    let pages = store.collection::<Page>();
    let (stamp, new) = (pages.stamp(cx, "t"), texts.map(|text| (Id::new(), text)).collect::<Vec<_>>());
    let ids = new.iter().map(|(id, _)| *id).collect();
    let job = move |tx: &crate::Tx| {
        for (n, (id, text)) in new.iter().enumerate() {
            pages.put(tx, *id, &stamp, &Page { text: text.clone(), rank: n as i64, tags: vec![] })?;
        }
        Ok(())
    };
    store.write(job).await.unwrap();
    ids
}

#[tokio::test]
async fn a_search_reads_few_records() {
    let (store, anna, ben) = (Store::in_memory().unwrap(), user(1), user(2));
    let pages = store.collection::<Page>();
    // Nothing is known of the index yet.
    assert_eq!(add(&store, &anna, (0..5000).map(|n| format!("word{} number{n}", n % 10))).await.len(), 5000);
    assert_eq!(looked_at(&pages, &anna, "number77"), 5000);
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "umber4999"), 1);
    assert_eq!(looked_at(&pages, &anna, "umber77"), 1 + 10, "77, and 770 to 779");
    assert_eq!(looked_at(&pages, &anna, "word3"), 500);
    assert_eq!(looked_at(&pages, &anna, "word3 number499"), 1, "4993");
    assert_eq!(looked_at(&pages, &anna, "absent"), 0);
    assert_eq!(looked_at(&pages, &ben, "word3"), 0, "it is anna's");
    // New ones are in the tail: they are looked at, until they are indexed too.
    add(&store, &anna, (0..10).map(|n| format!("late {n}"))).await;
    assert_eq!(looked_at(&pages, &anna, "umber4999"), 11);
    add(&store, &anna, (0..100).map(|n| format!("later {n}"))).await;
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "umber4999"), 1);
}

#[tokio::test]
async fn a_commit_writes_one_small_row_and_only_for_changed_texts() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    let id = add(&store, &anna, ["milk".into()].into_iter()).await[0];
    tend(&store).await;
    let tail = |store: &Store| keys(store).iter().filter(|key| key[0] == TAIL).map(Vec::len).collect::<Vec<_>>();
    let before = tail(&store);
    pages
        .update(&anna, id, |page| {
            page.rank = 7;
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(tail(&store), before, "its text is the same");
    add(&store, &anna, ["".into()].into_iter()).await;
    assert_eq!(tail(&store), before, "no text");
    pages
        .update(&anna, id, |page| {
            page.text = "oat milk".into();
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(tail(&store), [1 + 17 + 16]);
}

#[tokio::test]
async fn words_of_deleted_records_do_not_stay() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    let ids = add(&store, &anna, (0..3000).map(|n| format!("secret{n}"))).await;
    tend(&store).await;
    assert!(keys(&store).iter().any(|key| key[0] == SEGMENTS));
    let (gone, scope) = (pages.clone(), Scope::User(anna.user()));
    store.write(move |tx| ids.iter().try_for_each(|id| gone.remove(tx, scope, *id).map(drop))).await.unwrap();
    tend(&store).await;
    assert!(!keys(&store).iter().any(|key| key[0] == SEGMENTS), "{:?}", keys(&store).len());
    assert_eq!(looked_at(&pages, &anna, "secret"), 0);
}

#[tokio::test]
async fn an_older_hob_that_writes_makes_the_index_count_no_more() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    let ids = add(&store, &anna, (0..200).map(|n| format!("word{n}"))).await;
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "word199"), 1);
    // It changes a record without the tail; the next start of this code begins a new lineage.
    let key = crate::rows::record_key(Scope::User(anna.user()), ids[7]);
    let bytes = store.0.engine.read(|tx| tx.get(Page::NAME, &key)).unwrap().unwrap();
    let found = crate::rows::entry(crate::kind::Kind::of::<Page>(), &key, &bytes).unwrap();
    let (mut value, rest) = found.split();
    value.downcast_mut::<Page>().unwrap().text = "changed behind its back".into();
    let header = crate::record::Header {
        version: 1,
        owner: rest.owner,
        audience: rest.audience,
        label: rest.label,
        source: rest.source,
        updated_ms: rest.updated_ms,
        sum: [0; 8],
    };
    let kind = crate::kind::Kind::of::<Page>();
    let changed = crate::codec::encode(kind, &key, &header, &*value, &rest.tails).unwrap();
    let job = move |tx: &crate::Tx| {
        tx.put_raw(Page::NAME, &key, &changed)?;
        tx.put_raw(META, META_LINEAGE, Id::new().as_bytes())
    };
    store.write(job).await.unwrap();
    let count = |search: &str| {
        let keep = |page: &Entry<Page>| if contains(&page.value.text, search) { Visit::Yes } else { Visit::No };
        pages.search(&anna, &Walk::prefix(1, []), Some(&Words::all(search)), keep).unwrap().len()
    };
    assert_eq!((count("behind"), looked_at(&pages, &anna, "word199")), (1, 200));
    // Also after further commits of this code.
    add(&store, &anna, ["new".into()].into_iter()).await;
    assert_eq!(count("behind"), 1);
    tend(&store).await;
    assert_eq!((count("behind"), looked_at(&pages, &anna, "behind"), looked_at(&pages, &anna, "word199")), (1, 1, 1));
    let marks = store.0.engine.read(|tx| Ok((tx.get(META, META_LINEAGE)?, tx.get(META, META_WORDS)?)));
    let (last, words) = marks.unwrap();
    assert_eq!(last, words);
}

#[tokio::test]
async fn damage_is_found_and_the_index_rebuilt() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    add(&store, &anna, (0..2000).map(|n| format!("word{n} common"))).await;
    tend(&store).await;
    let rows: Vec<Vec<u8>> = keys(&store).into_iter().filter(|key| key[0] != TAIL).collect();
    assert!(rows.len() > 10);
    for (n, key) in rows.into_iter().enumerate().filter(|(n, _)| n % 7 == 0) {
        for how in 0..3 {
            let row = key.clone();
            let bend = move |tx: &crate::Tx| {
                let table = index_table(Page::NAME);
                let mut bytes = tx.get_raw(&table, &row)?.unwrap_or_default();
                let (at, length) = (n * 31 % bytes.len().max(1), bytes.len());
                match how {
                    0 if length > 0 => bytes[at] ^= 0x55,
                    1 => bytes.truncate(length / 2),
                    _ => return tx.remove_raw(&table, &row).map(drop),
                }
                tx.put_raw(&table, &row, &bytes)
            };
            store.write(bend).await.unwrap();
            // A search never fails. The slow check repairs damage that a search does not notice.
            for search in ["word1999", "common word1", "absent"] {
                looked_at(&pages, &anna, search);
            }
            if how < 2 {
                assert!(store.check().await.unwrap().repaired <= 1);
            } else {
                looked_at(&pages, &anna, "common");
                looked_at(&pages, &anna, "o");
                store.0.words.distrust(Page::NAME);
            }
            tend(&store).await;
            for search in ["word1999", "common word1", "absent", "d77"] {
                compare(&pages, &anna, search);
            }
            assert_eq!(looked_at(&pages, &anna, "word1999"), 1, "row {n}, way {how}");
            if !keys(&store).contains(&key) {
                break;
            }
        }
    }
}

#[tokio::test]
async fn another_text_or_an_interrupted_build_or_merge_starts_again_or_continues() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    add(&store, &anna, (0..7000).map(|n| format!("word{n}"))).await;
    // A few steps are not enough to be complete.
    for _ in 0..3 {
        assert!(store.tend_words().await.unwrap());
        compare(&pages, &anna, "word6999");
        assert_eq!(looked_at(&pages, &anna, "word6999"), 7000);
    }
    add(&store, &anna, (0..300).map(|n| format!("meanwhile{n}"))).await;
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "word6999"), 1);
    // Rows of a merge that was cut off are removed at the next start.
    let orphan = [&[SEGMENTS][..], &[9; 8], &[2], &[0; 4]].concat();
    let row = orphan.clone();
    store.write(move |tx| tx.put_raw(&index_table(Page::NAME), &row, b"x")).await.unwrap();
    store.0.words.swept.lock().unwrap().clear();
    tend(&store).await;
    assert!(!keys(&store).contains(&orphan));
    // The state of another version does not count.
    store.write(|tx| tx.put_raw(&index_table(Page::NAME), STATE, &[])).await.unwrap();
    assert_eq!(looked_at(&pages, &anna, "word6999"), 7300);
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "word6999"), 1);
}

#[tokio::test]
async fn a_caller_that_stops_waiting_stops_the_step() {
    let (store, anna) = (Store::in_memory().unwrap(), user(1));
    let pages = store.collection::<Page>();
    add(&store, &anna, (0..3000).map(|n| format!("word{n}"))).await;
    for _ in 0..20 {
        let step = store.tend_words();
        drop(tokio::time::timeout(std::time::Duration::from_micros(300), step).await);
        compare(&pages, &anna, "word77");
    }
    while store.0.words.running.load(std::sync::atomic::Ordering::SeqCst) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "word2999"), 1);
}

#[tokio::test]
async fn records_of_the_household_are_found_by_everybody() {
    let (store, anna, ben) = (Store::in_memory().unwrap(), user(1), user(2));
    let signs = store.collection::<Sign>();
    for n in 0..200 {
        signs.insert(&anna, "t", Sign(format!("sign{n}"))).await.unwrap();
    }
    tend(&store).await;
    let mut seen = 0;
    let keep = |_: &Entry<Sign>| {
        seen += 1;
        Visit::Yes
    };
    // In a scope of several people a private record is its owner's alone.
    assert_eq!(signs.search(&ben, &Walk::prefix(1, []), Some(&Words::all("sign77")), keep).unwrap().len(), 0);
    let found = signs.search(&anna, &Walk::prefix(1, []), Some(&Words::all("gn77")), |_| Visit::Yes).unwrap();
    assert_eq!(found.into_iter().map(|sign| sign.value.0).collect::<Vec<_>>(), ["sign77"]);
    assert_eq!(seen, 0);
}

#[tokio::test]
async fn backups_leave_the_index_out_and_a_restored_hob_rebuilds_it() {
    let (from, to) = (folder("from"), folder("to"));
    let anna = user(1);
    {
        let store = Store::open(&from).unwrap();
        add(&store, &anna, (0..300).map(|n| format!("word{n}"))).await;
        tend(&store).await;
        store.backup(from.join("backup")).await.unwrap();
    }
    crate::restore(&to, &from.join("backup")).unwrap();
    let store = Store::open(&to).unwrap();
    let pages = store.collection::<Page>();
    assert_eq!((keys(&store).len(), looked_at(&pages, &anna, "word299")), (0, 300));
    tend(&store).await;
    assert_eq!(looked_at(&pages, &anna, "word299"), 1);
    drop((pages, store));
    [from, to].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}
