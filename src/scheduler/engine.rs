//! The engine: it sleeps until something is due, claims it in the store, and makes the calls.

use crate::{
    Run, Schedule, Scheduler, Status, Who,
    claimed::Claimed,
    clock::Wall,
    completion::Done,
    concurrency::{Free, PROMPT},
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

/// How many schedules one transaction claims.
const CHUNK: usize = 500;
/// How many claimed runs may wait for their turn.
const WAITING: usize = 1000;
/// How long the clock on the wall is not looked at, at most, while anything is planned: it may be set.
const NAP: Duration = Duration::from_millis(500);
/// The same while a change was announced whose write has not ended yet.
const BLINK: Duration = Duration::from_millis(20);
/// How long runs have to end by themselves when Hob closes.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long after the store failed it is tried again.
pub(crate) const AGAIN: Duration = Duration::from_secs(2);
/// How often what is old is forgotten, and how long after a start for the first time.
const TIDY: Duration = Duration::from_secs(86_400);
const SETTLED: Duration = Duration::from_secs(60);

/// A schedule as a claim left it.
struct ClaimedSchedule {
    id: Id,
    user: UserId,
    /// `None` when it is gone.
    schedule: Option<Schedule>,
    /// The run that is to be made.
    run: Option<(Id, Run)>,
    label: Label,
}

/// What the engine works with while it runs.
pub(crate) struct Work {
    pub running: JoinSet<()>,
    pub done: mpsc::UnboundedSender<Done>,
    pub cancel: CancellationToken,
}

impl Scheduler {
    /// Begins, once in a process: what was interrupted is seen to, and from then on everything runs at its time, until
    /// `closing`. The task ends when what could end by itself has, and all of it is written down; it has to be waited for
    /// before the store is let go of.
    pub fn start(&self, closing: CancellationToken) -> tokio::task::JoinHandle<()> {
        let (scheduler, again) = (self.clone(), self.0.started.swap(true, Ordering::Relaxed));
        tokio::spawn(async move {
            if again {
                return tracing::error!("the schedules run already: they are not started twice");
            }
            let (done, results) = mpsc::unbounded_channel();
            let ends = tokio::spawn(scheduler.clone().write_ends(results));
            let cancel = CancellationToken::new();
            let mut work = Work { running: JoinSet::new(), done, cancel };
            scheduler.run(&mut work, &closing).await;
            scheduler.farewell(work).await;
            let _ = ends.await;
            scheduler.0.started.store(false, Ordering::Relaxed);
        })
    }

    async fn run(&self, work: &mut Work, closing: &CancellationToken) {
        let newest = newest_seen();
        let (now, at) = self.both_clocks();
        let mut wall = Wall::new(now, newest, at);
        if !wall.is_believed() {
            tracing::warn!("the clock is not set yet: what comes at times on the wall waits until it is");
        }
        if self.take_up(work, newest, wall.is_believed(), closing).await.is_none() {
            return;
        }
        let mut tidy_at = Instant::now() + SETTLED;
        // What was claimed is always begun: the loop is left only between two claims.
        while !closing.is_cancelled() {
            let (now, at) = self.both_clocks();
            let look = wall.look(now, at);
            if look.shift.is_some() || look.anew {
                tracing::info!(by_ms = look.shift, "the clock was set");
                if let Err(error) = self.replan(look.shift).await {
                    tracing::error!(%error, "the schedules could not be planned anew");
                }
            }
            if tidy_at <= Instant::now() {
                tidy_at = Instant::now() + TIDY;
                self.forget_old().await;
            }
            self.see_announced();
            while work.running.try_join_next().is_some() {}
            let room = WAITING.saturating_sub(work.running.len()).min(CHUNK);
            let due = self.plan().due(now, wall.is_believed(), room);
            if due.is_empty() {
                closing.run_until_cancelled(self.nap(now, room)).await;
            } else if let Err(error) = self.claim(work, now, due).await {
                tracing::error!(%error, "what is due could not be claimed; it is tried again");
                closing.run_until_cancelled(tokio::time::sleep(AGAIN)).await;
            }
        }
    }

    /// The clock on the wall, and the steady one, at the same moment: whoever is put to sleep between the two looks again.
    fn both_clocks(&self) -> (i64, Instant) {
        loop {
            let (at, now) = ((self.0.steady)(), self.now());
            if (self.0.steady)().saturating_duration_since(at) < BLINK {
                return (now, at);
            }
        }
    }

    /// Sleeps until the next is due or something is new.
    async fn nap(&self, now: i64, room: usize) {
        let changed = self.0.changed.notified();
        let (next, expects) = {
            let plan = self.plan();
            (plan.next(), plan.expects())
        };
        let most = if expects { BLINK } else { NAP };
        let wait = match next {
            None if !expects => return changed.await,
            // What is due and was not taken waits for the clock, or for room.
            Some(next) if next > now && room > 0 => Duration::from_millis((next - now) as u64).min(most),
            _ => most,
        };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep(wait) => {}
        }
    }

    /// Claims what is due: one write notes the runs and moves each schedule on to its next time. Then the calls are made.
    async fn claim(&self, work: &mut Work, now: i64, due: Vec<(Id, UserId)>) -> store::Result<()> {
        let (this, zone, free) = (self.clone(), self.0.ports.clock.zone(), self.0.turns.free());
        let claimed = self.0.schedules.store().write(move |tx| {
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
                self.go(work, claimed_run(seen.user, seen.id, run, &claimed, schedule, seen.label, false));
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
        free: &mut Free,
    ) -> store::Result<ClaimedSchedule> {
        let (scope, mut runs) = (Scope::User(user), vec![]);
        let take = &mut |schedule: &mut Schedule| {
            runs = transitions::take(id, schedule, now, zone, *free.of(&schedule.tool) > 0);
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
                let free = free.of(&kept.value.tool);
                *free = free.saturating_sub(1);
                going = Some((run_id, run));
            }
        }
        Ok(ClaimedSchedule { id, user, schedule: Some(kept.value), run: going, label })
    }

    /// Makes the call of a claimed run once it is its turn, and hands on what came of it.
    pub(crate) fn go(&self, work: &mut Work, claimed: Claimed) {
        let (scheduler, done, cancel) = (self.clone(), work.done.clone(), work.cancel.clone());
        let turns = self.0.turns.of(&claimed.schedule.tool).clone();
        // Taken here where there is one, so that the next claim counts right.
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
            if let Some(ended) = scheduler.make(&claimed, &cancel).await {
                let _ = done.send(ended);
            }
        });
    }

    /// Makes the call of a claimed run. `None` when it was not begun, or was stopped because Hob closes: the next start sees
    /// to it.
    pub(crate) async fn make(&self, claimed: &Claimed, cancel: &CancellationToken) -> Option<Done> {
        let armed = claimed.schedule.action();
        // The store marks what the call changes. Its beginning is counted where it may be what ended Hob, and shown where it
        // takes minutes.
        if claimed.recovered || armed.tool == PROMPT {
            self.note_begun(claimed, cancel).await?;
        }
        let who = Who { user: claimed.user, agent: claimed.schedule.agent, clear: claimed.clear };
        let call = self.perform(&who, &armed, claimed.label, cancel, Some(claimed.run));
        let made = AssertUnwindSafe(call).catch_unwind().await;
        if cancel.is_cancelled() && matches!(&made, Ok(Err(Error::Unavailable(_)))) {
            return None;
        }
        let result = made.unwrap_or_else(|_| Err(Error::failed("it broke inside; the log has more")));
        Some(Done::new(claimed, result))
    }

    /// `None` when it cannot be noted any more.
    async fn note_begun(&self, claimed: &Claimed, cancel: &CancellationToken) -> Option<()> {
        let again = claimed.recovered;
        loop {
            let now = self.now();
            let noted =
                self.0.runs.update_in(Scope::User(claimed.user), Label::Own, claimed.run, move |run: &mut Run| {
                    run.repeats += u32::from(again && run.status == Status::Started);
                    (run.status, run.started_ms, run.keyed) = (Status::Started, Some(now), true);
                    Ok(())
                });
            match noted.await {
                Ok(_) => return Some(()),
                Err(store::Error::Missing(_)) => return None,
                Err(error) => tracing::error!(%error, "that a run begins could not be noted; it is tried again"),
            }
            cancel.run_until_cancelled(tokio::time::sleep(AGAIN)).await?;
        }
    }

    /// The clock was set: what goes by it is planned anew.
    async fn replan(&self, shift: Option<i64>) -> store::Result<()> {
        let (now, zone) = (self.now(), self.0.ports.clock.zone());
        let all = self.plan().all();
        self.change_all(all, move |schedule| transitions::replan(schedule, now, shift, &zone)).await
    }

    /// Changes many schedules, some hundred a commit; `change` says whether it changed one.
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

    /// Looks for the changes that other records' writes announced.
    fn see_announced(&self) {
        let announced = self.plan().announced();
        for one in announced {
            let found = self.0.schedules.get_in(Scope::User(one.user), one.id).ok().flatten();
            let mut plan = self.plan();
            match found {
                Some(found) if found.value.revision >= one.revision => plan.put(one.id, one.user, &found.value),
                None if one.gone => plan.forget(one.id),
                _ => plan.not_yet(one),
            }
        }
    }

    /// Lets runs end that can do so soon; the others are stopped, and seen to at the next start.
    async fn farewell(&self, mut work: Work) {
        let all = async { while work.running.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            work.cancel.cancel();
            while work.running.join_next().await.is_some() {}
        }
    }
}

/// A run as it goes on its way.
pub(crate) fn claimed_run(
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

/// The newest time the store has seen, where the system's clock is behind it, in milliseconds since 1970; else 0. Ids never
/// go back, and the store keeps the newest.
fn newest_seen() -> i64 {
    let shown = jiff::Timestamp::now().as_millisecond();
    let newest = i64::try_from(Id::new().millis()).unwrap_or(i64::MAX);
    if newest > shown + 60_000 { newest } else { 0 }
}
