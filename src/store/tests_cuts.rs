//! Kills and power cuts (`CUTS=…`, `SEED=…`) at any write or sync, also while the store is opened: all that was acknowledged is
//! there, and nothing half. Of what was only visible there is a beginning, and all of it after a sync or a durable write.

use crate::{
    secrets::DeviceKey,
    sim_disk::{Dice, SimDisk},
    tests::{Note, person},
    *,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tool::{Cx, Id, Scope};

/// How many things there are; each is stored in several tables at once.
const THINGS: u64 = 12;
/// Small, so that there are many checkpoints: of a new log, and of one that has grown.
const LOG_SIZES: (u64, u64) = (16 << 10, 32 << 10);

fn id(kind: u8, thing: u64, version: u64) -> Id {
    let mut bytes = [0; 16];
    bytes[0] = kind;
    bytes[1..9].copy_from_slice(&thing.to_be_bytes());
    bytes[9..16].copy_from_slice(&version.to_be_bytes()[1..]);
    Id::from_bytes(bytes)
}

/// The parts of a version of a thing: two notes with their index rows, a released file, a secret and a call's mark.
struct Parts {
    shared: bool,
    released: bool,
    secret: bool,
    marked: bool,
    /// Bytes of text; the largest do not fit in the log.
    size: usize,
}

fn parts(version: u64) -> Parts {
    let size = match version % 23 {
        0 => 36 << 10,
        n if n < 4 => 5000,
        n => n as usize,
    };
    let is = |n| version.is_multiple_of(n);
    Parts { shared: is(2), released: is(3), secret: is(5), marked: is(4), size }
}

struct World {
    disk: SimDisk,
    dice: Dice,
    key: Arc<[u8; 32]>,
    cx: Cx,
    /// The version of each thing; `None` after it was deleted.
    known: BTreeMap<u64, Option<u64>>,
    /// Versions of things since then that were only visible, in order.
    visible: Vec<(u64, Option<u64>)>,
    /// Versions that were not acknowledged.
    open: BTreeMap<u64, Option<u64>>,
    versions: u64,
    cuts: u64,
    cuts_in_open: u64,
    /// Whether syncs of the data file fail now and then, how often a write failed, and whether one did since the start.
    flaky: bool,
    failures: u64,
    failed: bool,
    /// How often a part of what was visible was lost, and how often a part of it stayed.
    lost: u64,
    stayed: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            disk: SimDisk::with_log(seed, LOG_SIZES),
            dice: Dice(seed ^ 99),
            key: Arc::new([7; 32]),
            cx: person(),
            known: BTreeMap::new(),
            visible: vec![],
            open: BTreeMap::new(),
            versions: 0,
            cuts: 0,
            cuts_in_open: 0,
            flaky: false,
            failures: 0,
            failed: false,
            lost: 0,
            stayed: 0,
        }
    }

    fn start(&self) -> Result<Store> {
        let engine = engine::Engine::on(Box::new(self.disk.clone()))?;
        let store = Store::start(engine, DeviceKey::from_bytes(*self.key))?;
        store.collection::<Note>();
        store.collection::<Effect>();
        Ok(store)
    }

    /// A write that failed: only without power, or on a disk that fails.
    fn fail(&mut self, error: &Error) {
        assert!(self.disk.is_off() || self.flaky, "{error}");
        (self.failures, self.failed) = (self.failures + 1, true);
    }

    /// Everything that is visible is on the disk.
    fn synced(&mut self) {
        for (thing, version) in std::mem::take(&mut self.visible) {
            self.known.insert(thing, version);
        }
    }

    /// The version of a thing on the disk when the first of the visible writes are there too.
    fn with_visible(&self, thing: u64, first: usize) -> Option<u64> {
        let newest = self.visible[..first].iter().rev().find(|(of, _)| *of == thing).map(|(_, version)| *version);
        newest.unwrap_or_else(|| self.known.get(&thing).copied().flatten())
    }

    /// A write that is only visible when it returns.
    async fn change_soon(&mut self, store: &Store) {
        let thing = self.dice.roll(THINGS);
        let within = Duration::from_millis([0, 1, 3_600_000][self.dice.roll(3) as usize]);
        let write = self.change(store, thing);
        match with_soon(Some(within), write).await {
            Ok(()) => {
                let version = self.open.remove(&thing).unwrap();
                self.visible.push((thing, version));
            }
            Err(error) => self.fail(&error),
        }
    }

    /// A write of the next version of a thing, or its deletion.
    fn change(&mut self, store: &Store, thing: u64) -> impl Future<Output = Result<()>> + Send + 'static {
        self.versions += 1;
        let version = (self.dice.roll(4) > 0).then_some(self.versions);
        let before = self.with_visible(thing, self.visible.len());
        self.open.insert(thing, version);
        let (notes, keeper) = (store.collection::<Note>(), store.clone());
        let (stamp, scope) = (notes.stamp(&self.cx, "t"), Scope::User(self.cx.user()));
        let job = move |tx: &Tx| {
            let file = id(3, thing, 0);
            if let Some(before) = before.filter(|before| parts(*before).marked) {
                keeper.forget_effect(tx, id(4, thing, before))?;
            }
            let Some(version) = version else {
                notes.remove(tx, scope, id(1, thing, 0))?;
                notes.remove(tx, scope, id(2, thing, 0))?;
                tx.settle_file(file)?;
                return keeper.seal_in(tx, &format!("secret {thing}"), None);
            };
            let parts = parts(version);
            let audience = if parts.shared { Audience::Household } else { Audience::Private };
            let stamp = stamp.clone().audience(audience);
            for kind in [1, 2] {
                let title = format!("{kind} {thing} {}", "x".repeat(parts.size));
                notes.put(tx, id(kind, thing, 0), &stamp, &Note { title, tag: version.to_string() })?;
            }
            if parts.released {
                tx.release_file(file)?
            } else {
                tx.settle_file(file)?
            }
            let secret = version.to_string();
            keeper.seal_in(tx, &format!("secret {thing}"), parts.secret.then_some(secret.as_bytes()))
        };
        let mark = version.filter(|version| parts(*version).marked);
        let source = mark.map(|version| EffectSource { key: id(4, thing, version), tool: "t".into(), whole: true });
        let store = store.clone();
        with_effect(source, async move { store.write(job).await })
    }

    /// The version of a thing that is stored; all its parts must be of that version.
    fn stored(&self, store: &Store, thing: u64, marks: &[Id]) -> Option<u64> {
        let (notes, scope) = (store.collection::<Note>(), Scope::User(self.cx.user()));
        let [one, two] = [1, 2].map(|kind| notes.get_in(scope, id(kind, thing, 0)).unwrap());
        let version = one.as_ref().map(|one| one.value.tag.parse::<u64>().unwrap());
        let parts = version.map(parts);
        let is = |part: fn(&Parts) -> bool| parts.as_ref().is_some_and(part);
        assert_eq!(version, two.as_ref().map(|two| two.value.tag.parse().unwrap()), "half of thing {thing}");
        for note in one.iter().chain(&two) {
            assert_eq!(note.audience == Audience::Household, is(|parts| parts.shared));
            assert!(note.value.title.len() > parts.as_ref().unwrap().size, "cut off");
        }
        let released = store.released_files().unwrap().contains(&id(3, thing, 0));
        assert_eq!(released, is(|parts| parts.released), "thing {thing} at {version:?}");
        let secret = store.unseal(&format!("secret {thing}")).unwrap();
        let expected = version.filter(|_| is(|parts| parts.secret)).map(|version| version.to_string().into_bytes());
        assert_eq!(secret, expected);
        let marked: Vec<&Id> =
            marks.iter().filter(|mark| mark.as_bytes()[..9] == id(4, thing, 0).as_bytes()[..9]).collect();
        let expected = version.filter(|_| is(|parts| parts.marked)).map(|version| id(4, thing, version));
        assert_eq!(marked, expected.iter().collect::<Vec<_>>());
        version
    }

    async fn check(&mut self, store: &Store) {
        let check = store.check().await.unwrap();
        assert_eq!((check.damages, check.repaired), (0, 0), "{check:?}");
        let mut marks = vec![];
        store.collection::<Effect>().scan(|found| marks.push(found.id)).unwrap();
        let stored: Vec<_> = (0..THINGS).map(|thing| self.stored(store, thing, &marks)).collect();
        let all = self.visible.len();
        let is_there = |first: usize| {
            (0..THINGS).zip(&stored).all(|(thing, stored)| {
                let open = self.open.get(&thing).filter(|_| first == all);
                self.with_visible(thing, first) == *stored || open == Some(stored)
            })
        };
        let first = (0..=all).rev().find(|first| is_there(*first));
        assert!(first.is_some(), "{stored:?} is not {:?} with {:?} and {:?}", self.known, self.visible, self.open);
        self.lost += u64::from(first < Some(all));
        self.stayed += u64::from(all > 0 && first > Some(0));
        self.known = (0..THINGS).zip(stored).collect();
        self.visible.clear();
        self.open.clear();
        let records = store.stats().unwrap().records.get("notes").copied().unwrap_or_default();
        assert_eq!(records, 2 * self.known.values().flatten().count() as u64);
    }

    /// Writes until the power goes, or for a while.
    async fn work(&mut self, store: &Store, rounds: u64) {
        for _ in 0..rounds {
            if self.flaky && self.dice.roll(3) == 0 {
                let first = self.dice.roll(6) as u32;
                let late = self.dice.roll(3) == 0;
                self.disk.fail_syncs_of_the_data(first..first + 1 + self.dice.roll(4) as u32, late);
            }
            while self.dice.roll(2) == 0 && !self.disk.is_off() && !self.failed {
                self.change_soon(store).await;
            }
            if self.dice.roll(4) == 0 && store.sync().await.is_ok() {
                self.synced();
            }
            if self.disk.is_off() || self.failed {
                return;
            }
            if self.dice.roll(3) == 0 {
                continue;
            }
            let many = if self.dice.roll(3) == 0 { self.dice.roll(THINGS) + 1 } else { 1 };
            let first = self.dice.roll(THINGS);
            let jobs: Vec<_> = (0..many)
                .map(|n| {
                    let thing = (first + n) % THINGS;
                    (thing, tokio::spawn(self.change(store, thing)))
                })
                .collect();
            // Some company that fails, and some that can wait.
            let failing = (self.dice.roll(4) == 0).then(|| {
                let store = store.clone();
                tokio::spawn(async move {
                    store
                        .write(|tx| {
                            tx.release_file(id(9, 9, 9))?;
                            Err::<(), _>(Error::Conflict("no".into()))
                        })
                        .await
                })
            });
            store.write_later(|tx| tx.put_raw(meta::META, b"counted", b"later"));
            for (thing, job) in jobs {
                match job.await.unwrap() {
                    Ok(()) => {
                        self.synced();
                        let version = self.open.remove(&thing).unwrap();
                        self.known.insert(thing, version);
                    }
                    Err(error) => self.fail(&error),
                }
            }
            if let Some(failing) = failing {
                assert!(failing.await.unwrap().is_err());
            }
            if self.dice.roll(6) == 0 && store.flush().await.is_ok() {
                self.synced();
            }
            if self.disk.is_off() || self.failed {
                return;
            }
        }
    }

    async fn run(&mut self, cuts: u64) {
        let mut clean = 0;
        while self.cuts < cuts {
            // Few operations cut an opening, more cut a write, a checkpoint or a close.
            let most = [4, 12, 60, 200][self.dice.roll(4) as usize];
            let ops = 1 + self.dice.roll(most);
            self.disk.cut_after(ops);
            match self.start() {
                Ok(store) if !self.disk.is_off() => {
                    self.check(&store).await;
                    let rounds = self.dice.roll(20);
                    self.work(&store, rounds).await;
                    // Waits for the writer thread, which closes the files.
                    drop(store);
                    self.disk.fail_syncs_of_the_data(0..0, false);
                }
                opened => {
                    assert!(self.disk.is_off(), "{}", opened.err().unwrap());
                    self.cuts_in_open += 1;
                }
            }
            match self.disk.is_off() {
                true => self.cuts += 1,
                // The last commit may have failed too.
                false if self.flaky => {}
                // Closed in order, or not opened at all.
                false => (clean, _) = (clean + 1, self.synced()),
            }
            self.failed = false;
            match self.dice.roll(4) {
                0 => self.disk.kill(),
                _ => self.disk.power_cut(),
            }
        }
        let store = self.start().unwrap();
        self.check(&store).await;
        assert!(
            self.cuts_in_open > cuts / 20 && (clean > 0 || self.flaky) && self.versions > cuts,
            "nothing was tried"
        );
        assert!(self.lost > cuts / 100 && self.stayed > cuts / 100, "{} lost, {} stayed", self.lost, self.stayed);
    }
}

fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(4711)
}

/// One of two halves, which run at the same time.
async fn half(seed: u64) {
    part(World::new(seed), 1).await;
}

async fn part(mut world: World, of: u64) {
    let cuts = std::env::var("CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(1100) / of;
    world.run(cuts).await;
    let World { cuts, cuts_in_open, versions, lost, stayed, failures, .. } = world;
    println!(
        "{cuts} cuts, {cuts_in_open} of them while opening, {versions} versions; visible ones lost {lost} times, there {stayed} times; {failures} writes failed"
    );
}

#[tokio::test]
async fn no_power_cut_loses_or_halves_a_write() {
    half(seed()).await;
}

#[tokio::test]
async fn no_other_power_cut_loses_or_halves_a_write() {
    half(seed() + 1).await;
}

#[tokio::test]
async fn no_power_cut_and_no_failing_sync_loses_or_halves_a_write() {
    let mut world = World::new(seed() + 2);
    world.flaky = true;
    part(world, 4).await;
}
