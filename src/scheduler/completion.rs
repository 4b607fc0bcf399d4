//! Completion of runs: stores their results, many per commit, and follows up with retries, events and notices.

use crate::{Kind, Run, Schedule, Scheduler, Status, Who, claimed::Claimed, record::BY_SCHEDULE};
use serde_json::{Value, json};
use std::time::Duration;
use store::Tx;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Error, Id, Label, Output, PreauthorizedCall, Result, Scope, UserId};

/// Maximum number of results per commit.
pub(crate) const BATCH: usize = 256;
/// Maximum stored length of a result, in bytes.
const RESULT: usize = 2048;
/// Runs retained per schedule; also how often pruning is attempted.
const RUNS_KEPT: usize = 100;
const LOOKED: u32 = 50;
/// Maximum retry delay, in milliseconds: a day.
const LONGEST: i64 = 86_400_000;
/// Consecutive refusals that stop a schedule.
const MAX_REFUSALS: u32 = 3;
/// How long a run may be postponed by rate limits, in milliseconds.
const MAX_POSTPONE: i64 = 3_600_000;
/// Delay before retrying after a store error.
const STORE_RETRY: Duration = Duration::from_secs(2);

/// The result of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunResult {
    pub user: UserId,
    pub id: Id,
    pub run: Id,
    scheduled_ms: i64,
    status: Status,
    text: String,
    failure: Option<Failure>,
    label: Label,
    conversation: Option<Id>,
}

/// How a failure is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// Transient: retry.
    Again,
    /// Rate-limited before it started: try again after this many seconds.
    Crowded(u64),
    /// Forbidden, or the person was removed.
    Refused,
    /// Permanent: a retry would fail in the same way.
    Final,
}

impl RunResult {
    pub fn new(claimed: &Claimed, result: Result<Output>) -> Self {
        let failure = result.as_ref().err().map(|error| match error {
            Error::RateLimited(_) => Failure::Crowded(error.retry_after().unwrap_or(60)),
            Error::Unavailable(_) | Error::Failed(_) => Failure::Again,
            Error::Denied(_) => Failure::Refused,
            Error::BadArgs(_) | Error::NotFound(_) | Error::Parked(_) => Failure::Final,
        });
        let (text, label, conversation) = match result {
            Ok(output) => {
                let conversation = output.content.get("conversationId").and_then(Value::as_str);
                let conversation = conversation.and_then(|id| id.parse().ok());
                let text = output.say.clone().unwrap_or_else(|| output.model_text());
                (text, output.label, conversation)
            }
            Err(error) => (error.message().to_owned(), Label::Own, None),
        };
        Self {
            user: claimed.user,
            id: claimed.id,
            run: claimed.run,
            scheduled_ms: claimed.scheduled_ms,
            status: if failure.is_some() { Status::Failed } else { Status::Ok },
            text: cut(text),
            failure,
            label: label.max(claimed.label),
            conversation,
        }
    }

    /// The result of a run that was interrupted at an unknown point. `done` names the tools that changed something.
    pub fn interrupted(claimed: &Claimed, done: &str) -> Self {
        let mut text =
            "interrupted when Hob stopped, and not repeated: it may have completed or still be in progress".to_owned();
        if !done.is_empty() && done != format!("`{}`", claimed.schedule.tool) {
            text.push_str(&format!(" (started or completed: {done})"));
        }
        Self { status: Status::Interrupted, ..Self::new(claimed, Err(Error::bad_args(text))) }
    }

    /// The result of a run whose call completed just before Hob stopped.
    pub fn answer_lost(claimed: &Claimed) -> Self {
        Self::new(
            claimed,
            Ok(Output::text("Completed, but Hob was interrupted right after it and the answer was lost.")),
        )
    }
}

/// The event to publish once the result is stored.
pub(crate) struct StoredResult {
    done: RunResult,
    /// `None` if the schedule was deleted meanwhile.
    schedule: Option<Schedule>,
    by_hand: bool,
}

impl Scheduler {
    /// Stores results until all senders are dropped.
    pub(crate) async fn store_results(self, mut results: mpsc::UnboundedReceiver<RunResult>) {
        let mut some = vec![];
        while results.recv_many(&mut some, BATCH).await > 0 {
            let done = std::mem::take(&mut some);
            // Without its stored result a run would be made again.
            while let Err(error) = self.end(done.clone()).await {
                tracing::error!(%error, "run results could not be stored; retrying");
                tokio::time::sleep(STORE_RETRY).await;
            }
        }
    }

    /// Stores the results of runs, and publishes them.
    pub(crate) async fn end(&self, done: Vec<RunResult>) -> store::Result<()> {
        let (this, now) = (self.clone(), self.now());
        let ended =
            self.0.schedules.store().write(move |tx| {
                done.iter().map(|done| this.end_one(tx, done, now)).collect::<store::Result<Vec<_>>>()
            });
        for ended in ended.await? {
            self.tell_end(&ended);
        }
        Ok(())
    }

    fn end_one(&self, tx: &Tx, done: &RunResult, now: i64) -> store::Result<StoredResult> {
        let scope = Scope::User(done.user);
        let (mut by_hand, mut attempt) = (false, 1);
        // From here on the stored result says whether the call was made.
        self.0.runs.store().forget_effect(tx, done.run)?;
        let run = self.0.runs.change(tx, scope, done.label, done.run, &mut |run: &mut Run| {
            (run.status, run.finished_ms) = (done.status, Some(now));
            run.started_ms.get_or_insert(now);
            let text = if done.status == Status::Ok { &mut run.result } else { &mut run.error };
            text.clone_from(&done.text);
            (by_hand, attempt) = (run.by_hand, run.attempt);
            Ok(())
        });
        match run {
            Ok(_) | Err(store::Error::Missing(_)) => {}
            Err(error) => return Err(error),
        }
        let end = &mut |schedule: &mut Schedule| {
            schedule.end(done, by_hand, attempt, now);
            Ok(())
        };
        let schedule = match self.0.schedules.change(tx, scope, Label::Own, done.id, end) {
            Ok(kept) => kept.value,
            Err(store::Error::Missing(_)) => return Ok(StoredResult { done: done.clone(), schedule: None, by_hand }),
            Err(error) => return Err(error),
        };
        if schedule.kind == Kind::Reminder && !schedule.enabled {
            self.remove(tx, done.user, done.id)?;
        } else if schedule.runs.is_multiple_of(LOOKED) {
            self.prune(tx, done.user, done.id)?;
        }
        Ok(StoredResult { done: done.clone(), schedule: Some(schedule), by_hand })
    }

    /// Deletes the oldest runs of a schedule.
    fn prune(&self, tx: &Tx, user: UserId, id: Id) -> store::Result<()> {
        let scope = Scope::User(user);
        let mut runs: Vec<Id> =
            self.0.runs.find(tx, scope, BY_SCHEDULE, id.as_bytes())?.iter().map(|run| run.id).collect();
        runs.sort_unstable();
        let old = runs.len().saturating_sub(RUNS_KEPT);
        runs[..old].iter().try_for_each(|run| self.0.runs.remove(tx, scope, *run).map(drop))
    }

    fn tell_end(&self, ended: &StoredResult) {
        let StoredResult { done, schedule, by_hand } = ended;
        let Some(schedule) = schedule else { return self.plan().forget(done.id) };
        match schedule.kind == Kind::Reminder && !schedule.enabled {
            true => self.plan().forget(done.id),
            false => self.plan().put(done.id, done.user, schedule),
        }
        self.0.changed.notify_one();
        if schedule.kind == Kind::Task {
            let data = json!({"id": done.id, "runId": done.run, "name": schedule.name, "status": done.status.word(),
                              "result": done.text, "byHand": by_hand, "conversationId": done.conversation});
            self.0.ports.bus.publish("schedule:ran", Some(done.user), data);
        }
        let name = &schedule.name;
        if done.status == Status::Interrupted {
            let text = format!(
                "Hob was interrupted during “{name}” and did not repeat it: it may have completed or still be in progress. Please check."
            );
            self.notice(done.user, schedule, text);
        } else if !schedule.enabled && !schedule.stopped.is_empty() {
            self.tell(done.user, done.id, "stopped");
            self.notice(done.user, schedule, format!("“{name}” was stopped: {}", schedule.stopped));
        }
    }

    /// Sends the person a notice, if a way to do so exists.
    fn notice(&self, user: UserId, schedule: &Schedule, text: String) {
        let (scheduler, who) = (self.clone(), Who { user, agent: schedule.agent, clear: false });
        let args = json!({"text": text, "title": schedule.name});
        let armed = PreauthorizedCall { tool: "notify".into(), version: 0, args, digest: [0; 32], consented: false };
        tokio::spawn(async move {
            let shown = scheduler.perform(&who, &armed, Label::Own, &CancellationToken::new(), None).await;
            if let Err(error) = shown {
                tracing::warn!(%error, "a person could not be shown about a schedule");
            }
        });
    }
}

impl Schedule {
    /// Updates the schedule after one of its runs ended.
    fn end(&mut self, done: &RunResult, by_hand: bool, attempt: u32, now: i64) {
        // Another run may have started meanwhile.
        if self.running == Some(done.run) {
            self.running = None;
        }
        self.revision = Id::new();
        self.last_ms = Some(self.last_ms.map_or(done.scheduled_ms, |last| last.max(done.scheduled_ms)));
        self.ended_as(done.status);
        self.conversation = done.conversation.or(self.conversation);
        self.refused = if done.failure == Some(Failure::Refused) { self.refused.saturating_add(1) } else { 0 };
        let again = done.failure.filter(|_| !by_hand && self.enabled).and_then(|f| self.again(f, attempt, done, now));
        match again {
            // If the next due time comes first, it serves as the retry.
            Some((at, attempt)) if self.next_ms.is_none_or(|next| next > at) => {
                (self.retry_ms, self.retry_slot_ms, self.retry_attempt) = (Some(at), done.scheduled_ms, attempt);
            }
            _ if matches!(done.status, Status::Failed | Status::Interrupted) => {
                self.failures = self.failures.saturating_add(1);
            }
            _ => {}
        }
        if self.refused >= MAX_REFUSALS {
            self.enabled = false;
            self.stopped = cut(format!("it was refused {MAX_REFUSALS} times in a row ({})", done.text));
        }
        if self.next_ms.is_none() && self.retry_ms.is_none() && self.running.is_none() {
            self.enabled = false;
        }
    }

    /// When to retry, and the number of that attempt.
    fn again(&self, failure: Failure, attempt: u32, done: &RunResult, now: i64) -> Option<(i64, u32)> {
        match failure {
            Failure::Again if attempt <= self.retries => {
                let doubled = 1_i64.checked_shl(attempt - 1).filter(|n| *n > 0).unwrap_or(LONGEST);
                let delay = self.retry_delay_ms.saturating_mul(doubled).clamp(0, LONGEST);
                Some((now.saturating_add(delay), attempt + 1))
            }
            Failure::Crowded(seconds) if now - done.scheduled_ms < MAX_POSTPONE => {
                Some((now.saturating_add(1000 * i64::try_from(seconds).unwrap_or(60)), attempt))
            }
            _ => None,
        }
    }
}

/// Truncates a text for storage.
fn cut(mut text: String) -> String {
    if text.len() > RESULT {
        text.truncate(text.floor_char_boundary(RESULT - 3));
        text.push('…');
    }
    text
}
