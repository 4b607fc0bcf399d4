//! At a start: what was planned, what was interrupted, and what is too old. And runs that a person begins by hand.

use crate::{
    Kind, Run, Schedule, Scheduler, Status,
    claimed::Claimed,
    completion::{Done, TOGETHER},
    concurrency::PROMPT,
    engine::{AGAIN, Work, claimed_run},
    transitions,
};
use std::{collections::BTreeSet, time::Duration};
use store::{Effect, Entry, Listing, Stamp, Tx};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Label, Result, Scope};

/// How often a run is begun anew that Hob did not live to see the end of: it may be what ended it.
pub(crate) const REPEATS: u32 = 5;
/// How long runs, and schedules that are over, are kept, in milliseconds: 30 days.
const OLD: u64 = 30 * 86_400_000;
/// How many old records one commit forgets.
const CHUNK: usize = 500;

impl Scheduler {
    /// Reads every schedule into the plan, and sees to the runs that had not ended. `None` when Hob closes meanwhile.
    pub(crate) async fn take_up(
        &self,
        work: &mut Work,
        newest: i64,
        believed: bool,
        closing: &CancellationToken,
    ) -> Option<()> {
        let interrupted = loop {
            match self.read(newest, believed).await {
                Ok(interrupted) => break interrupted,
                Err(error) => tracing::error!(%error, "the schedules could not be read; it is tried again"),
            }
            closing.run_until_cancelled(tokio::time::sleep(AGAIN)).await?;
        };
        let mut over = vec![];
        for (entry, run) in interrupted {
            loop {
                match self.see_to(work, &entry, run).await {
                    Ok(ended) => break over.extend(ended),
                    Err(error) => {
                        tracing::error!(%error, "an interrupted run could not be recovered; it is tried again")
                    }
                }
                closing.run_until_cancelled(tokio::time::sleep(AGAIN)).await?;
            }
        }
        for some in over.chunks(TOGETHER) {
            while let Err(error) = self.end(some.to_vec()).await {
                tracing::error!(%error, "how runs ended could not be kept; it is tried again");
                closing.run_until_cancelled(tokio::time::sleep(AGAIN)).await?;
            }
        }
        Some(())
    }

    /// Reads every schedule into the plan; answers those with a run that had not ended.
    async fn read(&self, newest: i64, believed: bool) -> store::Result<Vec<(Entry<Schedule>, Id)>> {
        let (this, now, zone) = (self.clone(), self.now(), self.0.ports.clock.zone());
        let read = tokio::task::spawn_blocking(move || {
            let (mut interrupted, mut moved) = (vec![], vec![]);
            this.0.schedules.scan(|mut entry| {
                if entry.value.enabled {
                    this.plan().put(entry.id, entry.owner, &entry.value);
                }
                if transitions::resume(&mut entry.value, now, newest, believed, &zone) {
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
        self.change_all(moved, move |schedule| transitions::resume(schedule, now, newest, believed, &zone)).await?;
        Ok(interrupted)
    }

    /// Recovers a run that had been claimed, or had begun, when Hob ended: makes its call if it has changed nothing yet, else
    /// returns how the run ended.
    async fn see_to(&self, work: &mut Work, entry: &Entry<Schedule>, run_id: Id) -> store::Result<Option<Done>> {
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
        let claimed = claimed_run(entry.owner, id, run_id, &run, entry.value.clone(), label, true);
        let effect = self.0.runs.store().effect(run_id)?;
        Ok(match outcome(&run, effect.as_ref(), &tool, || (self.0.repeats)(&tool)) {
            Outcome::Again => {
                self.go(work, claimed);
                None
            }
            Outcome::Made => Some(Done::answer_lost(&claimed)),
            Outcome::Unknown => Some(Done::interrupted(&claimed, &effect.map(|e| e.done()).unwrap_or_default())),
        })
    }

    /// Forgets runs that are older than a month, and schedules that were over before that.
    pub(crate) async fn forget_old(&self) {
        if let Err(error) = self.forget_before(Id::new().millis().saturating_sub(OLD)).await {
            tracing::warn!(%error, "old runs could not be forgotten");
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

    /// Runs a schedule now, besides its times. Answers the run, and how it ended where it did within `patience`; it goes on
    /// without anybody waiting for it.
    ///
    /// # Errors
    /// As [`Scheduler::find`]; `Unavailable` when it is running already, or the disk is full.
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
            Ok(Some(Ok(claimed_run(user, id, run_id, &run, schedule, label, false))))
        });
        let claimed: Claimed = match claimed.await? {
            None => return Err(Error::not_found("it was deleted a moment ago")),
            Some(Err(name)) => {
                return Err(Error::unavailable(format!("`{name}` is running already: wait until it has ended")));
            }
            Some(Ok(claimed)) => claimed,
        };
        self.plan().put(id, user, &claimed.schedule);
        let (scheduler, run_id) = (self.clone(), claimed.run);
        let (ended, end) = oneshot::channel();
        tokio::spawn(async move {
            if let Some(done) = scheduler.make(&claimed, &CancellationToken::new()).await
                && let Err(error) = scheduler.end(vec![done]).await
            {
                tracing::error!(%error, "how a run ended could not be kept");
            }
            let _ = ended.send(());
        });
        let _ = tokio::time::timeout(patience, end).await;
        let run = self.0.runs.get(cx, run_id)?;
        run.ok_or_else(|| Error::not_found("its schedule was deleted meanwhile, and the run with it"))
    }
}

/// What is to be done about a run that was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Its call has changed nothing: it is made.
    Again,
    /// Its call was made; only the answer is lost.
    Made,
    /// It may have been made, or partly, or still goes on by itself.
    Unknown,
}

/// `idempotent` says whether making the call twice is as good as once; it decides about runs of a Hob that kept no marks.
fn outcome(run: &Run, effect: Option<&Effect>, tool: &str, idempotent: impl Fn() -> bool) -> Outcome {
    match effect {
        // A prompt only begins there, and goes on as a run of the agent.
        Some(effect) if effect.is_whole() && tool != PROMPT => Outcome::Made,
        Some(_) => Outcome::Unknown,
        None if run.repeats >= REPEATS => Outcome::Unknown,
        None if run.keyed || run.status == Status::Waiting || idempotent() => Outcome::Again,
        None => Outcome::Unknown,
    }
}
