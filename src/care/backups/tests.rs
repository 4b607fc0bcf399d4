//! Backups that are made by themselves, with a clock that tests set.

use super::*;
use futures::FutureExt;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use tool::Clock;

/// A clock that tests set.
struct Hands(Mutex<Timestamp>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
    fn zone(&self) -> TimeZone {
        TimeZone::UTC
    }
}

/// The titles and texts that the household was told.
type Told = Arc<Mutex<Vec<(String, String)>>>;

struct World {
    folder: PathBuf,
    clock: Arc<Hands>,
    told: Told,
    backups: Backups,
    store: Store,
}

impl World {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("hob-backups-{}", Id::new()));
        let store = Store::open(&folder.join("data")).unwrap();
        let clock = Arc::new(Hands(Mutex::new("2026-11-26T12:00:00Z".parse().unwrap())));
        let (told, ports) = (Told::default(), Ports::unconnected(clock.clone()));
        let heard = told.clone();
        let tell: Telling = Arc::new(move |title, text| {
            heard.lock().unwrap().push((title, text));
            async { Ok(()) }.boxed()
        });
        let copied = store.clone();
        let copy: Copying = Arc::new(move |file, options| {
            let store = copied.clone();
            async move { store.backup_with(file, options).await }.boxed()
        });
        let backups = Backups::new(&store, ports, copy, tell, Scrubber::default());
        Self { folder, clock, told, backups, store }
    }

    fn later(&self, hours: i64) {
        let mut now = self.clock.0.lock().unwrap();
        *now = now.checked_add(hours.hours()).unwrap();
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn plan(&self, folder: &str, keep: u32, passphrase: Option<&str>) -> Result<BackupView> {
        let passphrase = passphrase.map(str::to_owned);
        self.backups
            .set(PlanChange {
                every: Every::Day,
                folder: folder.into(),
                keep: Some(keep),
                hour: None,
                passphrase,
                files: None,
            })
            .await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn they_are_made_each_night_and_the_last_ones_stay() {
    let w = World::new();
    let view = w.plan("", 3, None).await.unwrap();
    assert_eq!((view.last, view.next), (None, Some(1_795_748_400_000)), "at three in the next night");
    w.backups.look().await.unwrap();
    assert!(w.backups.view().unwrap().last.is_none(), "not before");
    let folder = w.folder.join("data/backups");
    // Files of others stay.
    fs::write(folder.join("hob-backup-0000000f-20200101-000000.hob"), "of another Hob").unwrap();
    fs::write(folder.join("holiday.jpg"), "").unwrap();
    for _ in 0..5 {
        w.later(24);
        w.backups.look().await.unwrap();
        w.backups.look().await.unwrap();
    }
    let names = w.names(&folder);
    assert_eq!(names.len(), 5, "{names:?}");
    let view = w.backups.view().unwrap();
    let last = view.last.unwrap();
    assert!(last.path.ends_with("-20261201-120000.hob") && last.size > 0 && !last.encrypted, "{last:?}");
    assert_eq!(fs::metadata(&last.path).unwrap().len(), last.size);
    assert!(view.problem.is_none() && !view.is_old && w.told.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_new_one_stays_though_the_clock_went_back_and_parts_of_old_ones_go() {
    let w = World::new();
    w.plan("", 3, None).await.unwrap();
    let folder = w.folder.join("data/backups");
    let start = format!("hob-backup-{}-", short(w.store.device_id()));
    for day in 1..=4 {
        fs::write(folder.join(format!("{start}2030010{day}-030000.hob")), "later").unwrap();
    }
    fs::write(folder.join(format!("{start}20260101-030000.hob.age.part")), "cut off").unwrap();
    let stays = ["hob-backup-0000000f-20260101-030000.hob.part".to_owned(), format!("{start}notes.part")];
    for name in &stays {
        fs::write(folder.join(name), "of somebody else").unwrap();
    }
    let view = w.backups.run().await.unwrap();
    let made = PathBuf::from(view.last.unwrap().path);
    assert!(made.ends_with(format!("{start}20261126-120000.hob")) && made.exists(), "{made:?}");
    let names = w.names(&folder);
    assert!(stays.iter().all(|name| names.contains(name)), "{names:?}");
    let whole: Vec<&String> = names.iter().filter(|name| name.ends_with(".hob")).collect();
    assert_eq!(whole.len(), 3, "{names:?}");
    assert_eq!(names.len(), 5, "{names:?}");
}

#[tokio::test]
async fn a_stick_that_is_missing_is_told_once_a_day_and_used_when_it_is_back() {
    let w = World::new();
    let stick = w.folder.join("stick");
    let path = stick.to_str().unwrap().to_owned();
    let why = w.plan(&path, 3, None).await.unwrap_err().to_string();
    assert!(why.contains("there is no folder"), "{why}");
    fs::create_dir(&stick).unwrap();
    w.plan(&path, 3, Some("correct horse")).await.unwrap();
    fs::remove_dir(&stick).unwrap();
    // It fails at three; then it is tried every hour, and told once a day.
    w.later(15);
    for _ in 0..23 {
        w.backups.look().await.unwrap();
        w.later(1);
    }
    let told = w.told.lock().unwrap().clone();
    assert!(matches!(&told[..], [(_, text)] if text.contains("plug the disk in")), "{told:?}");
    assert!(w.backups.view().unwrap().problem.is_some_and(|why| why.contains("plug the disk in")));
    w.later(24 * 4);
    assert!(w.backups.view().unwrap().is_old);
    fs::create_dir(&stick).unwrap();
    w.backups.look().await.unwrap();
    let view = w.backups.view().unwrap();
    assert!(view.problem.is_none() && !view.is_old, "{view:?}");
    assert!(store::is_encrypted(Path::new(&view.last.unwrap().path)));
    let names = w.names(&stick);
    assert!(matches!(&names[..], [name] if name.ends_with(".hob.age")), "{names:?}");
}

#[tokio::test]
async fn the_passphrase_is_stored_sealed_and_never_shown() {
    let w = World::new();
    let view = w.plan("", 2, Some("correct horse battery")).await.unwrap();
    assert!(!format!("{view:?}").contains("horse"));
    assert_eq!(w.store.unseal(PASSPHRASE).unwrap().unwrap(), b"correct horse battery");
    let view = w.backups.run().await.unwrap();
    assert!(view.last.is_some_and(|last| last.encrypted));
    // Left out it stays; empty it goes.
    w.plan("", 2, None).await.unwrap();
    assert!(w.store.unseal(PASSPHRASE).unwrap().is_some());
    w.plan("", 2, Some("")).await.unwrap();
    assert!(w.store.unseal(PASSPHRASE).unwrap().is_none());
    w.plan("", 2, Some("correct horse battery")).await.unwrap();
    w.store.forget_secret(PASSPHRASE).await.unwrap();
    let why = w.backups.run().await.unwrap_err().to_string();
    assert!(why.contains("enter it again"), "{why}");
    assert!(w.plan("", 2, None).await.unwrap_err().to_string().contains("enter it again"));
}

#[tokio::test]
async fn a_disk_that_takes_no_writes_costs_no_older_backup_and_no_attempt_each_minute() {
    let w = World::new();
    let stick = w.folder.join("stick");
    fs::create_dir(&stick).unwrap();
    w.plan(stick.to_str().unwrap(), 2, None).await.unwrap();
    for _ in 0..2 {
        w.later(24);
        w.backups.look().await.unwrap();
    }
    let before = w.names(&stick);
    assert_eq!(before.len(), 2, "{before:?}");
    // From now on nothing is stored any more.
    w.store.seal_for_restore();
    for night in 1..=3 {
        w.later(24);
        for _ in 0..10 {
            let _ = w.backups.look().await;
        }
        let names = w.names(&stick);
        assert_eq!(names.len(), 2 + night, "{names:?}");
        assert!(before.iter().all(|name| names.contains(name)), "{names:?}");
    }
    let told = w.told.lock().unwrap().clone();
    assert!(told.len() == 3 && told[0].1.contains("could not be stored"), "once a day: {told:?}");
    let last = w.backups.view().unwrap().last.unwrap();
    assert!(last.path.ends_with("-20261201-120000.hob"), "{last:?}");
    // An attempt that fails is not made each minute either.
    fs::remove_dir_all(&stick).unwrap();
    w.later(24);
    for _ in 0..10 {
        let _ = w.backups.look().await;
    }
    assert!(w.backups.view().unwrap().problem.is_some());
    assert_eq!(w.told.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_clock_that_was_once_years_ahead_stops_nothing() {
    let w = World::new();
    w.plan("", 3, None).await.unwrap();
    let now = *w.clock.0.lock().unwrap();
    w.later(24 * 4000);
    w.backups.run().await.unwrap();
    *w.clock.0.lock().unwrap() = now;
    w.later(24);
    let known = w.backups.view().unwrap().last.unwrap();
    w.backups.look().await.unwrap();
    assert!(w.backups.view().unwrap().last.unwrap().at < known.at);
    // One that fails then is tried again after an hour, and told.
    w.later(24 * 4000);
    let folder = w.folder.join("data/backups");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "no folder").unwrap();
    w.backups.look().await.unwrap();
    assert_eq!(w.told.lock().unwrap().len(), 1);
    *w.clock.0.lock().unwrap() = now;
    w.later(48);
    w.backups.look().await.unwrap();
    assert_eq!(w.told.lock().unwrap().len(), 2);
    fs::remove_file(&folder).unwrap();
    w.later(2);
    w.backups.look().await.unwrap();
    assert!(w.backups.view().unwrap().problem.is_none());
}
