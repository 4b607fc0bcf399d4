//! Daily usage, on the real store.

use super::*;
use jiff::{Timestamp, Zoned, civil::date, tz::TimeZone};
use std::sync::atomic::{AtomicU32, Ordering};

/// A manual clock.
struct Hand(Mutex<Zoned>);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().timestamp()
    }
    fn zone(&self) -> TimeZone {
        self.0.lock().unwrap().time_zone().clone()
    }
}

/// Eleven at night in Vienna: London has another date.
fn clock() -> Arc<Hand> {
    Arc::new(Hand(Mutex::new(date(2026, 11, 22).at(0, 30, 0, 0).in_tz("Europe/Vienna").unwrap())))
}

fn later(clock: &Hand, days: i32) {
    let mut now = clock.0.lock().unwrap();
    *now = now.checked_add(days.days()).unwrap();
}

fn usage(read: u64, written: u64) -> Usage {
    Usage {
        prompt_tokens: read,
        completion_tokens: written,
        total_tokens: read + written,
        cached_tokens: read / 2,
        micros: None,
        written_to_cache: 0,
    }
}

/// Why a free request is rejected, if it is.
fn refusal(ledger: &Arc<Ledger>) -> Option<String> {
    ledger.hold_now(0.0).err().map(|full| full.sentence)
}

#[tokio::test]
async fn what_is_recorded_is_there_at_once_and_after_a_restart() {
    let (store, clock) = (Store::in_memory().unwrap(), clock());
    let ledger = Arc::new(Ledger::open(&store, clock.clone()).unwrap());
    assert_eq!(ledger.days(30).unwrap(), []);
    assert_eq!(ledger.this_day().unwrap().date, "2026-11-22", "the household's day");
    ledger.record("openai/gpt-4o", &usage(1000, 100), Some(0.25));
    ledger.record("openai/gpt-4o", &usage(500, 50), Some(0.000_001));
    ledger.record("custom/x", &usage(10, 1), None);
    ledger.record_estimate("ollama/y", &usage(7, 0), Some(0.0));

    let check = |ledger: &Ledger| {
        let days = ledger.days(30).unwrap();
        let [day] = &days[..] else { panic!("{days:?}") };
        assert_eq!((day.date.as_str(), day.requests), ("2026-11-22", 4));
        assert_eq!((day.prompt_tokens, day.cached_tokens, day.completion_tokens), (1517, 758, 151));
        assert_eq!(day.cost, 0.250_001);
        let models: Vec<_> =
            day.models.iter().map(|m| (m.model.as_str(), m.requests, m.unpriced, m.estimated)).collect();
        assert_eq!(models, [("openai/gpt-4o", 2, 0, 0), ("custom/x", 1, 1, 0), ("ollama/y", 1, 0, 1)]);
        assert_eq!((day.unpriced, day.guessed), (1, 0.000_015));
        assert_eq!(ledger.spent_micros(), 250_016);
        assert_eq!(&ledger.this_day().unwrap(), day);
    };
    check(&ledger);
    ledger.records.store().flush().await.unwrap();
    drop(ledger);
    let again = Ledger::open(&store, clock).unwrap();
    check(&again);

    // Added to the stored count, not beside it.
    again.record("openai/gpt-4o", &usage(1, 1), Some(1.0));
    again.records.store().flush().await.unwrap();
    assert_eq!(again.days(1).unwrap()[0].models[0].requests, 3);
    let stored = store.collection::<Spent>().list_in(Scope::Household, &store::Listing::default()).unwrap();
    assert_eq!(stored.len(), 3);
}

#[tokio::test]
async fn what_is_flushed_is_on_disk() {
    let folder = std::env::temp_dir().join(format!("hob-ledger-{}", Id::new()));
    let store = Store::open(&folder).unwrap();
    let ledger = Ledger::open(&store, clock()).unwrap();
    ledger.record("openai/gpt-4o", &usage(1, 1), Some(0.5));
    ledger.records.store().flush().await.unwrap();
    drop((ledger, store));
    let store = Store::open(&folder).unwrap();
    let spent = Ledger::open(&store, clock()).unwrap().spent_micros();
    drop(store);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(spent, 500_000);
}

#[tokio::test]
async fn a_new_day_begins_at_nothing_and_a_clock_set_back_finds_its_day_again() {
    let (store, clock) = (Store::in_memory().unwrap(), clock());
    let ledger = Arc::new(Ledger::open(&store, clock.clone()).unwrap());
    ledger.set_budget(Some(1.0));
    ledger.record("openai/a", &usage(1, 1), Some(1.5));
    assert!(refusal(&ledger).is_some());
    later(&clock, 1);
    assert_eq!((ledger.spent_micros(), ledger.left(), refusal(&ledger)), (0, Some(1.0), None));
    ledger.record("openai/a", &usage(1, 1), Some(0.25));
    assert_eq!(ledger.left(), Some(0.75));
    // Many days later the first is no longer in memory.
    for _ in 0..10 {
        later(&clock, 1);
        ledger.record("openai/b", &usage(1, 1), Some(0.1));
        ledger.records.store().flush().await.unwrap();
    }
    let days = ledger.days(400).unwrap();
    assert_eq!(days.len(), 12);
    assert!(days.is_sorted_by(|a, b| a.date > b.date), "the latest first");
    assert_eq!(ledger.days(3).unwrap().len(), 3);
    assert!(ledger.lock().read.len() <= IN_MEMORY);
    later(&clock, -11);
    assert_eq!(ledger.spent_micros(), 1_500_000);
    assert!(refusal(&ledger).is_some());
    assert_eq!(ledger.days(30).unwrap().len(), 1, "what is yet to come is not told");
}

#[tokio::test]
async fn the_budget_is_told_in_a_sentence_and_once_a_day() {
    let (store, clock) = (Store::in_memory().unwrap(), clock());
    let ledger = Arc::new(Ledger::open(&store, clock.clone()).unwrap());
    let told = Arc::new(AtomicU32::new(0));
    let counted = told.clone();
    ledger.when_spent(move |spent, budget| {
        assert!(spent >= budget);
        counted.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!((ledger.budget(), ledger.left(), refusal(&ledger)), (None, None, None));
    ledger.set_budget(Some(2.0));
    ledger.record("openai/a", &usage(1, 1), Some(1.99));
    assert_eq!((refusal(&ledger), told.load(Ordering::SeqCst)), (None, 0));
    ledger.record("openai/a", &usage(1, 1), Some(0.04));
    ledger.record("openai/a", &usage(1, 1), Some(0.0));
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(
        refusal(&ledger).unwrap(),
        "today's budget of $2.00 for models is spent ($2.03): raise it in the Device room under Models, or wait until tomorrow"
    );
    assert_eq!(ledger.left(), Some(0.0));
    for (budget, refused) in
        [(Some(3.0), false), (Some(0.0), true), (Some(-1.0), true), (Some(f64::NAN), true), (None, false)]
    {
        ledger.set_budget(budget);
        assert_eq!(refusal(&ledger).is_some(), refused, "{budget:?}");
    }
}

#[tokio::test]
async fn what_is_under_way_counts_against_the_budget() {
    let ledger = Arc::new(Ledger::open(&Store::in_memory().unwrap(), clock()).unwrap());
    ledger.set_budget(Some(1.0));
    let price = Price::Known { input: 1.0, cached: 1.0, cache_write: 1.0, output: 1.0 };
    let first = ledger.hold_now(price.cost(&usage(400_000, 200_000)).unwrap()).ok().unwrap();
    let second = ledger.hold_now(price.cost(&usage(400_000, 200_000)).unwrap()).ok().unwrap();
    let refused = refusal(&ledger).unwrap();
    assert!(refused.contains("($0.00 spent, about $1.20 under way)"), "{refused}");
    assert_eq!(ledger.left(), Some(1.0), "nothing of it is spent yet");
    drop(first);
    assert_eq!(refusal(&ledger), None);
    ledger.record("openai/a", &usage(1, 1), Some(0.5));
    assert!(refusal(&ledger).is_some());
    drop(second);
    assert_eq!(refusal(&ledger), None);
}

#[tokio::test]
async fn what_nobody_knows_the_price_of_is_stopped_by_the_budget_too() {
    let (store, clock) = (Store::in_memory().unwrap(), clock());
    let ledger = Arc::new(Ledger::open(&store, clock.clone()).unwrap());
    ledger.set_budget(Some(2.0));
    ledger.record("custom/x", &usage(500_000, 100_000), None);
    assert_eq!((ledger.left(), refusal(&ledger)), (Some(1.0), None));
    ledger.record("custom/x", &usage(500_000, 100_000), None);
    assert!(refusal(&ledger).is_some_and(|sentence| sentence.contains("($2.00)")));
    let day = ledger.this_day().unwrap();
    assert_eq!((day.cost, day.unpriced, day.guessed), (0.0, 2, 2.0), "told apart from what is known");
    ledger.records.store().flush().await.unwrap();
    assert_eq!(Ledger::open(&store, clock).unwrap().spent_micros(), 2_000_000);
}

#[tokio::test]
async fn what_is_older_than_four_hundred_days_is_forgotten() {
    let (store, clock) = (Store::in_memory().unwrap(), clock());
    let records = store.collection::<Spent>();
    let ledger = Arc::new(Ledger::open(&store, clock.clone()).unwrap());
    ledger.record("openai/old", &usage(1, 1), Some(1.0));
    ledger.records.store().flush().await.unwrap();
    let left =
        |records: &Collection<Spent>| records.list_in(Scope::Household, &store::Listing::default()).unwrap().len();
    for (days, expected) in [(400, 2), (1, 2)] {
        later(&clock, days);
        ledger.record("openai/new", &usage(1, 1), Some(1.0));
        ledger.records.store().flush().await.unwrap();
        assert_eq!(left(&records), expected, "after {days} more days");
    }
    assert!(ledger.days(400).unwrap().iter().all(|day| day.models[0].model == "openai/new"));
}
