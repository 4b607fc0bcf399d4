//! The engine: sleeps until a schedule is due, claims it in the store, and makes its call.

use crate::{
    Run, Schedule, Scheduler, Status, Who,
    claimed::Claimed,
    clock::{WallClock, uptime},
    completion::RunResult,
    concurrency::FreeSlots,
    transitions,
};
use futures::FutureExt;
use jiff::tz::TimeZone;
use std::{
    panic::AssertUnwindSafe,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};
use store::{Audience, Stamp, Tx};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;
use tool::{Error, Id, Label, Scope, UserId};

/// Schedules claimed per transaction.
const CHUNK: usize = 500;
/// Maximum number of claimed runs that wait for a slot.
const WAITING: usize = 1000;
/// Longest sleep while anything is planned, since the wall clock may be set meanwhile.
const MAX_SLEEP: Duration = Duration::from_millis(500);
/// Longest sleep while an announced change is outstanding.
const ANNOUNCED_SLEEP: Duration = Duration::from_millis(20);
/// How long runs may take to finish when Hob shuts down.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long a claim may wait for the effect and the result of its call, to share their commit.
const CLAIM: Duration = Duration::from_millis(400);
/// Delay before retrying after a store error.
pub(crate) const STORE_RETRY: Duration = Duration::from_secs(2);
/// How often old runs are deleted, and how long after start-up for the first time.
const PRUNE_INTERVAL: Duration = Duration::from_secs(86_400);
const FIRST_PRUNE: Duration = Duration::from_secs(60);

/// A schedule as a claim left it.
struct ClaimedSchedule {
    id: Id,
    user: UserId,
    /// `None` if it was deleted.
    schedule: Option<Schedule>,
    /// The run to make.
    run: Option<(Id, Run)>,
    label: Label,
}

/// The state of a running engine.
pub(crate) struct Work {
    pub running: JoinSet<()>,
    pub done: mpsc::UnboundedSender<RunResult>,
    pub cancel: CancellationToken,
}

impl Scheduler {
    /// Starts the engine, once per process: recovers interrupted runs, then runs everything when due until `closing`.
    /// The task ends after the remaining runs have finished and their results are stored; await it before closing the
    /// store.
    pub fn start(&self, closing: CancellationToken) -> tokio::task::JoinHandle<()> {
        let (scheduler, again) = (self.clone(), self.0.started.swap(true, Ordering::Relaxed));
        tokio::spawn(async move {
            if again {
                return tracing::error!("the scheduler is already running and was not started twice");
            }
            let (done, results) = mpsc::unbounded_channel();
            let ends = tokio::spawn(scheduler.clone().store_results(results));
            let cancel = CancellationToken::new();
            let mut work = Work { running: JoinSet::new(), done, cancel };
            scheduler.run(&mut work, &closing).await;
            scheduler.drain(work).await;
            let _ = ends.await;
            scheduler.0.started.store(false, Ordering::Relaxed);
        })
    }

    async fn run(&self, work: &mut Work, closing: &CancellationToken) {
        let newest = newest_seen();
        let (now, at) = self.read_clocks();
        let mut wall = WallClock::new(now, newest, at, uptime());
        if !wall.is_trusted() {
            tracing::warn!("the clock is not set yet: cron and one-time schedules wait until it is");
        }
        if self.load(work, newest, wall.is_trusted(), closing).await.is_none() {
            return;
        }
        while let Err(error) = self.load_timers(now, newest, wall.is_trusted()).await {
            tracing::error!(%error, "the timers could not be read; retrying");
            if closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await.is_none() {
                return;
            }
        }
        let mut prune_at = Instant::now() + FIRST_PRUNE;
        // A claimed run is always started: the loop exits only between claims.
        while !closing.is_cancelled() {
            let (now, at) = self.read_clocks();
            let look = wall.read(now, at);
            if look.shift.is_some() || look.anew {
                tracing::info!(by_ms = look.shift, "the clock was set");
                if let Err(error) = self.replan(look.shift).await {
                    tracing::error!(%error, "due times could not be recomputed");
                }
                if let Some(by) = look.shift
                    && let Err(error) = self.shift_timers(by).await
                {
                    tracing::error!(%error, "the timers could not follow the clock");
                }
            }
            if prune_at <= Instant::now() {
                prune_at = Instant::now() + PRUNE_INTERVAL;
                self.forget_old().await;
            }
            self.apply_announced();
            if let Err(error) = self.ring_timers(now).await {
                tracing::error!(%error, "due timers could not ring; retrying");
                closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await;
            }
            while work.running.try_join_next().is_some() {}
            let room = WAITING.saturating_sub(work.running.len()).min(CHUNK);
            let due = self.plan().due(now, wall.is_trusted(), room);
            if due.is_empty() {
                closing.run_until_cancelled(self.sleep_until_due(now, room)).await;
            } else if let Err(error) = self.claim(work, now, due).await {
                tracing::error!(%error, "due schedules could not be claimed; retrying");
                closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await;
            }
        }
    }

    /// Reads the wall clock and the monotonic clock together; reads again if the thread was suspended in between.
    fn read_clocks(&self) -> (i64, Instant) {
        loop {
            let (at, now) = ((self.0.steady)(), self.now());
            if (self.0.steady)().saturating_duration_since(at) < ANNOUNCED_SLEEP {
                return (now, at);
            }
        }
    }

    /// Sleeps until the next due time or until the plan changes.
    async fn sleep_until_due(&self, now: i64, room: usize) {
        let changed = self.0.changed.notified();
        let (next, has_announced) = {
            let plan = self.plan();
            (plan.next(), plan.has_announced())
        };
        let most = if has_announced { ANNOUNCED_SLEEP } else { MAX_SLEEP };
        let timer = self.next_timer();
        let wait = match next {
            None if !has_announced && timer.is_none() => return changed.await,
            // A due schedule that was not taken waits for the clock or for a slot.
            Some(next) if next > now && room > 0 => Duration::from_millis((next - now) as u64).min(most),
            _ => most,
        };
        let wait = timer.map_or(wait, |due| wait.min(Duration::from_millis((due - now).max(0) as u64)));
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// Claims due schedules: one write stores the runs and advances each schedule. Then the calls are made. The claim is
    /// on disk with the first effect of a call, and before one outside the store; without it the call is due again.
    async fn claim(&self, work: &mut Work, now: i64, due: Vec<(Id, UserId)>) -> store::Result<()> {
        let (this, zone, free) = (self.clone(), self.0.ports.clock.zone(), self.0.turns.free());
        let claimed = self.0.schedules.store().write_soon(CLAIM, move |tx| {
            let mut free = free;
            due.iter().map(|(id, user)| this.claim_one(tx, (*id, *user), now, &zone, &mut free)).collect()
        });
        let seen: Vec<ClaimedSchedule> = claimed.await?;
        for seen in seen {
            let Some(schedule) = seen.schedule else {
                self.plan().forget(seen.id);
                continue;
            };
            self.plan().put(seen.id, seen.user, &schedule);
            if let Some((run, claimed)) = seen.run {
                self.spawn_call(work, to_claimed(seen.user, seen.id, run, &claimed, schedule, seen.label, false));
            }
        }
        Ok(())
    }

    fn claim_one(
        &self,
        tx: &Tx,
        (id, user): (Id, UserId),
        now: i64,
        zone: &TimeZone,
        free: &mut FreeSlots,
    ) -> store::Result<ClaimedSchedule> {
        let (scope, mut runs) = (Scope::User(user), vec![]);
        let take = &mut |schedule: &mut Schedule| {
            runs = transitions::take(id, schedule, now, zone, *free.of(self.is_detached(&schedule.tool)) > 0);
            Ok(())
        };
        let kept = match self.0.schedules.change(tx, scope, Label::Own, id, take) {
            Ok(kept) => kept,
            Err(store::Error::Missing(_)) => {
                return Ok(ClaimedSchedule { id, user, schedule: None, run: None, label: Label::Own });
            }
            Err(error) => return Err(error),
        };
        let (label, source) = (kept.label, "schedule".to_owned());
        let stamp = Stamp { scope, owner: kept.owner, audience: Audience::Private, label, source };
        let mut going = None;
        for (run_id, run) in runs {
            self.0.runs.put(tx, run_id, &stamp, &run)?;
            if kept.value.running == Some(run_id) {
                let free = free.of(self.is_detached(&kept.value.tool));
                *free = free.saturating_sub(1);
                going = Some((run_id, run));
            }
        }
        Ok(ClaimedSchedule { id, user, schedule: Some(kept.value), run: going, label })
    }

    /// Makes the call of a claimed run when a slot is free, and sends its result.
    pub(crate) fn spawn_call(&self, work: &mut Work, claimed: Claimed) {
        let (scheduler, done, cancel) = (self.clone(), work.done.clone(), work.cancel.clone());
        let turns = self.0.turns.of(self.is_detached(&claimed.schedule.tool)).clone();
        // Acquired here if a slot is free, so that the next claim counts correctly.
        let turn = turns.clone().try_acquire_owned();
        work.running.spawn(async move {
            let _turn = match turn {
                Ok(turn) => turn,
                Err(_) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    turn = turns.acquire_owned() => match turn {
                        Ok(turn) => turn,
                        Err(_) => return,
                    },
                },
            };
            if let Some(ended) = scheduler.make_call(&claimed, &cancel).await {
                let _ = done.send(ended);
            }
        });
    }

    /// Makes the call of a claimed run. `None` if it did not start or was stopped by shutdown; the next start
    /// recovers it.
    pub(crate) async fn make_call(&self, claimed: &Claimed, cancel: &CancellationToken) -> Option<RunResult> {
        let armed = claimed.schedule.action();
        // The store marks the call's effects. The start is recorded where the call may be what crashed Hob, and where
        // it takes minutes.
        if claimed.recovered || self.is_detached(&armed.tool) {
            self.record_start(claimed, cancel).await?;
        }
        let who = Who { user: claimed.user, agent: claimed.schedule.agent, clear: claimed.clear };
        let call = self.perform(&who, &armed, claimed.label, cancel, Some(claimed.run));
        let made = AssertUnwindSafe(call).catch_unwind().await;
        if cancel.is_cancelled() && matches!(&made, Ok(Err(Error::Unavailable(_)))) {
            return None;
        }
        let result = made.unwrap_or_else(|_| Err(Error::failed("internal error; see the log")));
        Some(RunResult::new(claimed, result))
    }

    /// Stores that the run started; `None` if its schedule was deleted or Hob shuts down.
    async fn record_start(&self, claimed: &Claimed, cancel: &CancellationToken) -> Option<()> {
        let again = claimed.recovered;
        loop {
            let (now, runs, scope, id) = (self.now(), self.0.runs.clone(), Scope::User(claimed.user), claimed.run);
            let note = move |tx: &Tx| {
                let start = &mut |run: &mut Run| {
                    run.repeats += u32::from(again && run.status == Status::Started);
                    (run.status, run.started_ms, run.keyed) = (Status::Started, Some(now), true);
                    Ok(())
                };
                runs.change(tx, scope, Label::Own, id, start)
            };
            let store = self.0.runs.store();
            // Count a repeated start before its call, which may be the cause of the crashes.
            let noted = if again { store.write(note).await } else { store.write_soon(CLAIM, note).await };
            match noted {
                Ok(_) => return Some(()),
                Err(store::Error::Missing(_)) => return None,
                Err(error) => tracing::error!(%error, "the start of a run could not be stored; retrying"),
            }
            cancel.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await?;
        }
    }

    /// Recomputes the due times after the household's time zone was changed.
    ///
    /// # Errors
    /// As every write.
    pub async fn zone_changed(&self) -> tool::Result<()> {
        Ok(self.replan(None).await?)
    }

    /// Recomputes the due times after the clock was set.
    async fn replan(&self, shift: Option<i64>) -> store::Result<()> {
        let (now, zone) = (self.now(), self.0.ports.clock.zone());
        let all = self.plan().all();
        self.change_all(all, move |schedule| transitions::replan(schedule, now, shift, &zone)).await
    }

    /// Changes many schedules, some hundred per commit; `change` returns whether it changed one.
    pub(crate) async fn change_all(
        &self,
        all: Vec<(Id, UserId)>,
        change: impl Fn(&mut Schedule) -> bool + Clone + Send + 'static,
    ) -> store::Result<()> {
        for some in all.chunks(CHUNK) {
            let (this, some, change) = (self.clone(), some.to_vec(), change.clone());
            let changed = self.0.schedules.store().write(move |tx| {
                let mut changed = vec![];
                for (id, user) in &some {
                    let scope = Scope::User(*user);
                    let Some(mut found) = this.0.schedules.read(tx, scope, *id)? else { continue };
                    if change(&mut found.value) {
                        let value = found.value;
                        let kept =
                            this.0.schedules.change(tx, scope, Label::Own, *id, &mut |stored: &mut Schedule| {
                                stored.clone_from(&value);
                                Ok(())
                            })?;
                        changed.push((*id, *user, kept.value));
                    }
                }
                Ok(changed)
            });
            for (id, user, schedule) in changed.await? {
                self.plan().put(id, user, &schedule);
            }
        }
        Ok(())
    }

    /// Applies changes announced by other records' writes.
    fn apply_announced(&self) {
        let announced = self.plan().announced();
        for one in announced {
            let found = self.0.schedules.get_in(Scope::User(one.user), one.id).ok().flatten();
            let mut plan = self.plan();
            match found {
                Some(found) if found.value.revision >= one.revision => plan.put(one.id, one.user, &found.value),
                None if one.gone => plan.forget(one.id),
                _ => plan.put_back(one),
            }
        }
    }

    /// Lets runs finish that can do so soon; stops the others, which the next start recovers.
    async fn drain(&self, mut work: Work) {
        let all = async { while work.running.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_GRACE, all).await.is_err() {
            work.cancel.cancel();
            while work.running.join_next().await.is_some() {}
        }
    }
}

/// Builds a [`Claimed`] from a stored run.
pub(crate) fn to_claimed(
    user: UserId,
    id: Id,
    run_id: Id,
    run: &Run,
    schedule: Schedule,
    label: Label,
    recovered: bool,
) -> Claimed {
    let (scheduled_ms, schedule, clear) = (run.scheduled_ms, Box::new(schedule), run.clear);
    Claimed { user, id, run: run_id, scheduled_ms, schedule, label, recovered, clear }
}

/// The newest time the store has seen if the system clock is behind it, in milliseconds since 1970; else 0. Ids are
/// monotonic, and the store keeps the newest.
fn newest_seen() -> i64 {
    let shown = jiff::Timestamp::now().as_millisecond();
    let newest = i64::try_from(Id::now_ms()).unwrap_or(i64::MAX);
    if newest > shown + 60_000 { newest } else { 0 }
}
