//! At a start: what was planned, what was interrupted, and what is too old. And runs that a person begins by hand.

use crate::{
    Kind, Run, Schedule, Scheduler, Status,
    end::Done,
    engine::{AGAIN, Claimed, Work, claimed_run},
    step,
};
use std::{collections::BTreeSet, time::Duration};
use store::{Entry, Listing, Stamp, Tx};
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
        for (entry, run) in interrupted {
            while let Err(error) = self.see_to(work, &entry, run).await {
                tracing::error!(%error, "an interrupted run could not be seen to; it is tried again");
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
                if step::resume(&mut entry.value, now, newest, believed, &zone) {
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
        self.change_all(moved, move |schedule| step::resume(schedule, now, newest, believed, &zone)).await?;
        Ok(interrupted)
    }

    /// A run that had been claimed, or had begun, when Hob ended: it is made, or made again where that does no harm.
    async fn see_to(&self, work: &mut Work, entry: &Entry<Schedule>, run_id: Id) -> store::Result<()> {
        let (scope, label, id) = (Scope::User(entry.owner), entry.label, entry.id);
        let claimed = |run: &Run, schedule| claimed_run(entry.owner, id, run_id, run, schedule, label);
        let Some(run) = self.0.runs.get_in(scope, run_id)?.map(|found| found.value) else {
            let free = move |schedule: &mut Schedule| {
                (schedule.running, schedule.revision) = (None, Id::new());
                true
            };
            return self.change_all(vec![(id, entry.owner)], free).await;
        };
        let mut going = claimed(&run, entry.value.clone());
        if run.status == Status::Waiting {
            self.go(work, going);
            return Ok(());
        }
        if !self.may_repeat(&entry.value.action()) || run.repeats >= REPEATS {
            return self.end(vec![Done::interrupted(&going)]).await;
        }
        let now = self.now();
        self.0
            .runs
            .update_in(scope, Label::Own, run_id, move |run: &mut Run| {
                (run.status, run.started_ms, run.repeats) = (Status::Started, Some(now), run.repeats + 1);
                Ok(())
            })
            .await?;
        going.begun = true;
        self.go(work, going);
        Ok(())
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
        Ok(())
    }

    /// Runs a schedule now, besides its times. Answers the run, and how it ended where it did within `patience`; it goes on
    /// without anybody waiting for it.
    ///
    /// # Errors
    /// As [`Scheduler::find`]; `Unavailable` when it is running already, or the disk is full.
    pub async fn fire_now(&self, cx: &Cx, which: &str, patience: Duration) -> Result<Entry<Run>> {
        let found = self.find(cx, which)?;
        let (this, now, user, id, by) = (self.clone(), self.now(), cx.user(), found.id, cx.label());
        let scope = Scope::User(user);
        let claimed = self.0.schedules.store().write(move |tx| {
            let Some(entry) = this.0.schedules.read(tx, scope, id)? else { return Ok(None) };
            if entry.value.running.is_some() {
                return Ok(Some(Err(entry.value.name)));
            }
            let mut schedule = entry.value;
            let (run_id, mut run) = step::begin(id, &mut schedule, now, 1, 0, now, true);
            (run.by_hand, run.attempt) = (true, 1);
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
            Ok(Some(Ok(claimed_run(user, id, run_id, &run, schedule, label))))
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
