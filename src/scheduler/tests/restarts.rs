//! Crashes at any moment: no run is lost, and none is repeated that must not be.

use super::*;
use crate::recover::REPEATS;
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder that is removed on drop.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        let dir = std::env::temp_dir().join(format!("hob-scheduler-{}", Id::new()));
        std::fs::create_dir(&dir).unwrap();
        Self(dir)
    }
    /// The store in it, once the previous life has released it.
    fn open(&self) -> Store {
        let began = Instant::now();
        loop {
            match Store::open(&self.0) {
                Ok(store) => return store,
                Err(store::Error::InUse(_)) if began.elapsed() < Duration::from_secs(10) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a life in its own runtime, which is dropped in the middle of any work.
fn live(dir: &Dir, clock: &Arc<SetClock>, tools: &Arc<Tools>, what: impl AsyncFnOnce(&mut Life)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut life = Life::over(&dir.open(), clock.clone(), tools.clone());
    runtime.block_on(what(&mut life));
    drop(life);
    runtime.shutdown_timeout(Duration::from_secs(5));
}

/// A deterministic random number generator.
struct Dice(AtomicU64);

impl Dice {
    fn below(&self, n: u64) -> u64 {
        let next = self.0.load(Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0.store(next, Ordering::Relaxed);
        (next >> 33) % n
    }
}

#[test]
fn sudden_ends_lose_nothing_and_double_only_what_was_going_on() {
    let (dir, clock, tools, dice) = (Dir::new(), SetClock::new(), Arc::<Tools>::default(), Dice(AtomicU64::new(7)));
    let began = clock.now().as_millisecond();
    const SCHEDULES: usize = 8;
    live(&dir, &clock, &tools, async |life| {
        for n in 0..SCHEDULES {
            life.add_with(&format!("n{n}"), "every minute", "note", |new| new.missed = Missed::All).await;
        }
    });
    for _ in 0..25 {
        live(&dir, &clock, &tools, async |life| {
            life.start();
            for _ in 0..dice.below(4) {
                life.forward(60);
                tokio::time::sleep(Duration::from_micros(dice.below(20_000))).await;
            }
        });
    }
    live(&dir, &clock, &tools, async |life| {
        life.start();
        let all = |l: &Life| l.scheduler.list(&l.cx(), |_| true).unwrap();
        let done = |l: &Life, s: &Schedule| s.running.is_none() && s.next_ms > Some(l.clock.now().as_millisecond());
        life.until("all is made up for", |l| all(l).iter().all(|s| done(l, &s.value))).await;
        let passed = (life.clock.now().as_millisecond() - began) / 60_000;
        assert!((20..100).contains(&passed), "{passed} minutes passed");
        for schedule in all(life) {
            let runs = life.scheduler.history(&life.cx(), schedule.id, 999).unwrap();
            let mut slots: Vec<i64> = runs.iter().map(|r| (r.value.scheduled_ms - began) / 60_000).collect();
            slots.sort_unstable();
            assert_eq!(slots, (1..=passed).collect::<Vec<_>>(), "each minute has one run");
            // A run during which Hob stops every time is given up.
            let given_up = |r: &&Entry<Run>| r.value.status == Status::Interrupted && r.value.repeats == REPEATS;
            let lost = runs.iter().filter(given_up).count() as i64;
            assert!(runs.iter().all(|r| (r.value.status == Status::Ok || given_up(&r)) && r.value.count == 1));
            let repeats: u32 = runs.iter().map(|r| r.value.repeats).sum();
            let name = json!(schedule.value.name);
            let calls = tools.called("note").iter().filter(|n| **n == name).count() as i64;
            let most = passed + i64::from(repeats);
            assert!(calls >= passed - lost && calls <= most, "{calls} calls, {passed} runs, {repeats} again");
        }
    });
}

#[test]
fn what_moves_something_is_not_repeated_and_told() {
    let (dir, clock, tools) = (Dir::new(), SetClock::new(), Arc::<Tools>::default());
    let mut ids = vec![];
    live(&dir, &clock, &tools, async |life| {
        ids.push(life.add("moves", "in 1 minute", "slow_move").await);
        ids.push(life.add("writes", "in 1 minute", "slow").await);
        life.start();
        life.forward(60);
        life.until("both go on", |l| l.tools.calls.lock().unwrap().len() == 2).await;
    });
    let (moves, writes) = (ids[0], ids[1]);
    let last = REPEATS as usize + 1;
    for n in 1..=last {
        live(&dir, &clock, &tools, async |life| {
            life.start();
            life.until("they are shown", |l| l.tools.called("notify").len() == 1 + n / last).await;
            life.until_runs(moves, &["interrupted@14:31"]).await;
            if n < last {
                life.until("it is begun anew", |l| l.tools.called("slow").len() == 1 + n).await;
                life.until_runs(writes, &[&*format!("started@14:31 again {n}")]).await;
            } else {
                // The run may be what crashes Hob each time.
                life.until_runs(writes, &[&*format!("interrupted@14:31 again {REPEATS}")]).await;
            }
        });
    }
    assert_eq!(tools.called("slow_move").len(), 1);
}

#[test]
fn what_has_written_is_done_and_not_made_again() {
    let (dir, clock, tools) = (Dir::new(), SetClock::new(), Arc::<Tools>::default());
    let mut ids = vec![];
    live(&dir, &clock, &tools, async |life| {
        ids.push(life.add("writes", "in 1 minute", "slow_write").await);
        life.start();
        life.forward(60);
        let marked = |l: &Life| {
            let run = l.get(ids[0]).running;
            run.is_some_and(|run| l.scheduler.0.runs.store().effect(run).unwrap().is_some())
        };
        life.until("it has written", marked).await;
    });
    live(&dir, &clock, &tools, async |life| {
        life.start();
        life.until_runs(ids[0], &["ok@14:31"]).await;
        let run = life.scheduler.history(&life.cx(), ids[0], 1).unwrap().remove(0);
        assert!(run.value.result.contains("the answer was lost"), "{}", run.value.result);
        assert_eq!(life.scheduler.0.runs.store().effect(run.id).unwrap(), None, "the mark goes with the outcome");
        assert_eq!(life.tools.called("notify").len(), 0);
    });
    assert_eq!(tools.called("slow_write").len(), 1);
}

#[test]
fn runs_of_a_hob_without_marks_are_made_again_only_where_twice_is_as_good_as_once() {
    let (dir, clock, tools) = (Dir::new(), SetClock::new(), Arc::<Tools>::default());
    let mut ids = vec![];
    live(&dir, &clock, &tools, async |life| {
        ids.push(life.add("moves", "in 1 minute", "slow_move").await);
        ids.push(life.add("looks", "in 1 minute", "slow").await);
        life.start();
        life.forward(60);
        life.until("both go on", |l| l.tools.calls.lock().unwrap().len() == 2).await;
        for id in &ids {
            let (run, store) = (life.get(*id).running.unwrap(), life.scheduler.0.runs.store().clone());
            let old = move |run: &mut Run| {
                run.keyed = false;
                Ok(())
            };
            life.scheduler.0.runs.update(&life.cx(), run, old).await.unwrap();
            let of = store.clone();
            store.write(move |tx| of.forget_effect(tx, run)).await.unwrap();
        }
    });
    live(&dir, &clock, &tools, async |life| {
        life.start();
        life.until_runs(ids[0], &["interrupted@14:31"]).await;
        life.until_runs(ids[1], &["started@14:31 again 1"]).await;
    });
    assert_eq!(tools.called("slow_move").len(), 1);
}

#[test]
fn what_had_only_been_claimed_is_made_even_when_it_moves_something() {
    let (dir, clock, tools) = (Dir::new(), SetClock::new(), Arc::<Tools>::default());
    live(&dir, &clock, &tools, async |life| {
        for n in 0..20 {
            life.add(&format!("n{n}"), "in 1 minute", "slow_move").await;
        }
        life.start();
        life.forward(60);
        life.until("twelve go on", |l| l.tools.called("slow_move").len() == 12).await;
    });
    live(&dir, &clock, &tools, async |life| {
        life.start();
        life.until("the other eight go on", |l| l.tools.called("slow_move").len() == 20).await;
        life.tools.gate.add_permits(8);
        let ended = |l: &Life, status| l.scheduler.list(&l.cx(), |s| s.last_status() == Some(status)).unwrap().len();
        life.until("all have ended", |l| ended(l, Status::Ok) == 8 && ended(l, Status::Interrupted) == 12).await;
    });
    assert_eq!(tools.called("slow_move").len(), 20, "none twice");
}

#[test]
fn a_close_lets_runs_end_and_the_next_start_knows_of_them() {
    let (dir, clock, tools) = (Dir::new(), SetClock::new(), Arc::<Tools>::default());
    live(&dir, &clock, &tools, async |life| {
        let id = life.add("slow", "in 1 minute", "slow_move").await;
        life.start();
        life.forward(60);
        life.until("it runs", |l| l.tools.called("slow_move").len() == 1).await;
        let tools = life.tools.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            tools.gate.add_permits(1);
        });
        life.stop().await;
        assert_eq!(life.runs(id), ["ok@14:31"]);
    });
    live(&dir, &clock, &tools, async |life| {
        life.start();
        life.rest().await;
        assert_eq!(life.tools.calls.lock().unwrap().len(), 1);
    });
}
