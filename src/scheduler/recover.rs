//! Start-up: loads the plan, recovers interrupted runs and deletes old ones. Also runs that a person starts by hand.

use crate::{
    Kind, Run, Schedule, Scheduler, Status, ToolFacts,
    claimed::Claimed,
    completion::{BATCH, RunResult},
    engine::{STORE_RETRY, Work, to_claimed},
    transitions,
};
use std::{collections::BTreeSet, time::Duration};
use store::{Effect, Entry, Listing, Stamp, Tx};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Label, Result, Scope};

/// How often an interrupted run is restarted: it may be what crashes Hob.
pub(crate) const REPEATS: u32 = 5;
/// Retention of runs and finished schedules, in milliseconds: 30 days.
const OLD: u64 = 30 * 86_400_000;
/// Old records deleted per commit.
const CHUNK: usize = 500;

impl Scheduler {
    /// Loads every schedule into the plan and recovers unfinished runs. `None` if Hob shuts down meanwhile.
    pub(crate) async fn load(
        &self,
        work: &mut Work,
        newest: i64,
        trusted: bool,
        closing: &CancellationToken,
    ) -> Option<()> {
        let interrupted = loop {
            match self.read(newest, trusted).await {
                Ok(interrupted) => break interrupted,
                Err(error) => tracing::error!(%error, "the schedules could not be read; retrying"),
            }
            closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await?;
        };
        let mut over = vec![];
        for (entry, run) in interrupted {
            loop {
                match self.recover_run(work, &entry, run).await {
                    Ok(ended) => break over.extend(ended),
                    Err(error) => {
                        tracing::error!(%error, "an interrupted run could not be recovered; retrying")
                    }
                }
                closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await?;
            }
        }
        for some in over.chunks(BATCH) {
            while let Err(error) = self.end(some.to_vec()).await {
                tracing::error!(%error, "run results could not be stored; retrying");
                closing.run_until_cancelled(tokio::time::sleep(STORE_RETRY)).await?;
            }
        }
        Some(())
    }

    /// Loads every schedule into the plan; returns those with an unfinished run.
    async fn read(&self, newest: i64, trusted: bool) -> store::Result<Vec<(Entry<Schedule>, Id)>> {
        let (this, now, zone) = (self.clone(), self.now(), self.0.ports.clock.zone());
        let read = tokio::task::spawn_blocking(move || {
            let (mut interrupted, mut moved) = (vec![], vec![]);
            this.0.schedules.scan(|mut entry| {
                if entry.value.enabled {
                    this.plan().put(entry.id, entry.owner, &entry.value);
                }
                if transitions::resume(&mut entry.value, now, newest, trusted, &zone) {
                    moved.push((entry.id, entry.owner));
                }
                if let Some(run) = entry.value.running {
                    interrupted.push((entry, run));
                }
            })?;
            Ok::<_, store::Error>((interrupted, moved))
        });
        let failed = |e| store::Error::Io(format!("the schedules could not be read: {e}"));
        let (interrupted, moved) = read.await.map_err(failed)??;
        let zone = self.0.ports.clock.zone();
        self.change_all(moved, move |schedule| transitions::resume(schedule, now, newest, trusted, &zone)).await?;
        Ok(interrupted)
    }

    /// Recovers a run that was claimed or started when Hob stopped: makes its call if it has changed nothing yet,
    /// else returns its result.
    async fn recover_run(
        &self,
        work: &mut Work,
        entry: &Entry<Schedule>,
        run_id: Id,
    ) -> store::Result<Option<RunResult>> {
        let (scope, label, id) = (Scope::User(entry.owner), entry.label, entry.id);
        let Some(run) = self.0.runs.get_in(scope, run_id)?.map(|found| found.value) else {
            let free = move |schedule: &mut Schedule| {
                (schedule.running, schedule.revision) = (None, Id::new());
                true
            };
            self.change_all(vec![(id, entry.owner)], free).await?;
            return Ok(None);
        };
        let tool = entry.value.tool.clone();
        let claimed = to_claimed(entry.owner, id, run_id, &run, entry.value.clone(), label, true);
        let effect = self.0.runs.store().effect(run_id)?;
        Ok(match outcome(&run, effect.as_ref(), (self.0.tools)(&tool)) {
            Outcome::Again => {
                self.spawn_call(work, claimed);
                None
            }
            Outcome::Made => Some(RunResult::answer_lost(&claimed)),
            Outcome::Unknown => Some(RunResult::interrupted(&claimed, &effect.map(|e| e.done()).unwrap_or_default())),
        })
    }

    /// Deletes runs older than a month, and schedules that finished before that.
    pub(crate) async fn forget_old(&self) {
        if let Err(error) = self.forget_before(Id::new().millis().saturating_sub(OLD)).await {
            tracing::warn!(%error, "old runs could not be deleted");
        }
    }

    pub(crate) async fn forget_before(&self, before: u64) -> store::Result<()> {
        let (mut people, mut over) = (BTreeSet::new(), vec![]);
        self.0.schedules.scan(|entry| {
            people.insert(entry.owner);
            if entry.value.is_over() && entry.value.kind == Kind::Task && entry.updated_ms < before {
                over.push((entry.owner, entry.id));
            }
        })?;
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&before.to_be_bytes()[2..]);
        let listing = Listing { before: Some(Id::from_bytes(bytes)), limit: CHUNK, by: None };
        for user in people {
            let scope = Scope::User(user);
            loop {
                let old: Vec<Id> = self.0.runs.list_in(scope, &listing)?.iter().map(|run| run.id).collect();
                if old.is_empty() {
                    break;
                }
                let this = self.clone();
                let remove =
                    move |tx: &Tx| old.iter().try_for_each(|run| this.0.runs.remove(tx, scope, *run).map(drop));
                self.0.runs.store().write(remove).await?;
            }
        }
        for some in over.chunks(CHUNK) {
            let (this, some) = (self.clone(), some.to_vec());
            let remove = move |tx: &Tx| some.iter().try_for_each(|(user, id)| this.remove(tx, *user, *id).map(drop));
            self.0.schedules.store().write(remove).await?;
        }
        self.0.runs.store().forget_effects_before(before).await
    }

    /// Runs a schedule now, in addition to its due times. Returns the run, with its result if it finished within
    /// `patience`; otherwise it continues in the background.
    ///
    /// # Errors
    /// As [`Scheduler::find`]; `Unavailable` if it is already running or the disk is full.
    pub async fn fire_now(&self, cx: &Cx, which: &str, patience: Duration) -> Result<Entry<Run>> {
        let found = self.find(cx, which)?;
        let (this, now, user, id, by) = (self.clone(), self.now(), cx.user(), found.id, cx.label());
        let clear = cx.via().clear;
        let scope = Scope::User(user);
        let claimed = self.0.schedules.store().write(move |tx| {
            let Some(entry) = this.0.schedules.read(tx, scope, id)? else { return Ok(None) };
            if entry.value.running.is_some() {
                return Ok(Some(Err(entry.value.name)));
            }
            let mut schedule = entry.value;
            let (run_id, mut run) = transitions::begin(id, &mut schedule, now, 1, 0, now, true);
            (run.by_hand, run.clear, run.attempt) = (true, clear, 1);
            schedule.revision = Id::new();
            let label = entry.label.max(by);
            let stamp =
                Stamp { scope, owner: entry.owner, audience: entry.audience, label, source: "trigger_task".into() };
            this.0.runs.put(tx, run_id, &stamp, &run)?;
            let value = schedule.clone();
            this.0.schedules.change(tx, scope, Label::Own, id, &mut |stored: &mut Schedule| {
                stored.clone_from(&value);
                Ok(())
            })?;
            Ok(Some(Ok(to_claimed(user, id, run_id, &run, schedule, label, false))))
        });
        let claimed: Claimed = match claimed.await? {
            None => return Err(Error::not_found("it was just deleted")),
            Some(Err(name)) => {
                return Err(Error::unavailable(format!("`{name}` is running already: wait until it has ended")));
            }
            Some(Ok(claimed)) => claimed,
        };
        self.plan().put(id, user, &claimed.schedule);
        let (scheduler, run_id) = (self.clone(), claimed.run);
        let (ended, end) = oneshot::channel();
        tokio::spawn(async move {
            if let Some(done) = scheduler.make_call(&claimed, &CancellationToken::new()).await
                && let Err(error) = scheduler.end(vec![done]).await
            {
                tracing::error!(%error, "a run's result could not be stored");
            }
            let _ = ended.send(());
        });
        let _ = tokio::time::timeout(patience, end).await;
        let run = self.0.runs.get(cx, run_id)?;
        run.ok_or_else(|| Error::not_found("its schedule was deleted meanwhile, and the run with it"))
    }
}

/// How an interrupted run is recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Its call has changed nothing: make it again.
    Again,
    /// Its call completed; only the answer is lost.
    Made,
    /// It may have completed, wholly or in part, or may still be in progress.
    Unknown,
}

/// Decides how to recover a run. `tool.idempotent` only matters for runs of older versions, which stored no marks.
fn outcome(run: &Run, effect: Option<&Effect>, tool: ToolFacts) -> Outcome {
    match effect {
        // A prompt is only started by the call, and continues as a run of the agent.
        Some(effect) if effect.is_whole() && !tool.detached => Outcome::Made,
        Some(_) => Outcome::Unknown,
        None if run.repeats >= REPEATS => Outcome::Unknown,
        None if run.keyed || run.status == Status::Waiting || tool.idempotent => Outcome::Again,
        None => Outcome::Unknown,
    }
}
