//! How runs end: what came of them is written down, many in one commit, and followed up.

use crate::{Kind, Run, Schedule, Scheduler, Status, Who, claimed::Claimed, record::BY_SCHEDULE};
use serde_json::{Value, json};
use std::time::Duration;
use store::Tx;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Error, Id, Label, Output, PreauthorizedCall, Result, Scope, UserId};

/// How many results share a commit.
pub(crate) const TOGETHER: usize = 256;
/// The most that is kept of what came of a run, in bytes.
const RESULT: usize = 2048;
/// How many runs of a schedule are kept, and after how many it is looked whether there are more.
const KEPT: usize = 100;
const LOOKED: u32 = 50;
/// How long until another try, at most, in milliseconds: a day.
const LONGEST: i64 = 86_400_000;
/// How many refusals in a row stop a schedule.
const REFUSALS: u32 = 3;
/// How long a run may be put off because too many calls were made in a minute, in milliseconds.
const CROWDED: i64 = 3_600_000;
/// How long after the store failed it is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Done {
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

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    /// It may go better another time.
    Again,
    /// It was not even begun: there were too many calls. After so many seconds there is room.
    Crowded(u64),
    /// It is forbidden, or the person is gone.
    Refused,
    /// It will go wrong in the same way.
    Final,
}

impl Done {
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

    /// Hob had ended in the middle of it, and nobody knows how far it came. `done` names the tools that changed something.
    pub fn interrupted(claimed: &Claimed, done: &str) -> Self {
        let mut text =
            "Hob ended in the middle of it, and it was not begun again: it may have been done already, or still go on"
                .to_owned();
        if !done.is_empty() && done != format!("`{}`", claimed.schedule.tool) {
            text.push_str(&format!(" (begun or done: {done})"));
        }
        Self { status: Status::Interrupted, ..Self::new(claimed, Err(Error::BadArgs(text))) }
    }

    /// Hob had ended just after it was done.
    pub fn answer_lost(claimed: &Claimed) -> Self {
        Self::new(claimed, Ok(Output::text("It was done. Hob was interrupted right after it, so its answer is lost.")))
    }
}

/// What is told once it is written.
pub(crate) struct Ended {
    done: Done,
    /// `None` when the schedule was deleted meanwhile.
    schedule: Option<Schedule>,
    by_hand: bool,
}

impl Scheduler {
    /// Writes down how runs ended, until nobody sends any more.
    pub(crate) async fn write_ends(self, mut results: mpsc::UnboundedReceiver<Done>) {
        let mut some = vec![];
        while results.recv_many(&mut some, TOGETHER).await > 0 {
            let done = std::mem::take(&mut some);
            // A run that is not known to have ended would be made again.
            while let Err(error) = self.end(done.clone()).await {
                tracing::error!(%error, "how runs ended could not be kept; it is tried again");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Writes down how runs ended, and tells it.
    pub(crate) async fn end(&self, done: Vec<Done>) -> store::Result<()> {
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

    fn end_one(&self, tx: &Tx, done: &Done, now: i64) -> store::Result<Ended> {
        let scope = Scope::User(done.user);
        let (mut by_hand, mut attempt) = (false, 1);
        // From here on its outcome tells whether it was made.
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
            Err(store::Error::Missing(_)) => return Ok(Ended { done: done.clone(), schedule: None, by_hand }),
            Err(error) => return Err(error),
        };
        if schedule.kind == Kind::Reminder && !schedule.enabled {
            self.remove(tx, done.user, done.id)?;
        } else if schedule.runs.is_multiple_of(LOOKED) {
            self.prune(tx, done.user, done.id)?;
        }
        Ok(Ended { done: done.clone(), schedule: Some(schedule), by_hand })
    }

    /// Forgets the oldest runs of a schedule.
    fn prune(&self, tx: &Tx, user: UserId, id: Id) -> store::Result<()> {
        let scope = Scope::User(user);
        let mut runs: Vec<Id> =
            self.0.runs.find(tx, scope, BY_SCHEDULE, id.as_bytes())?.iter().map(|run| run.id).collect();
        runs.sort_unstable();
        let old = runs.len().saturating_sub(KEPT);
        runs[..old].iter().try_for_each(|run| self.0.runs.remove(tx, scope, *run).map(drop))
    }

    fn tell_end(&self, ended: &Ended) {
        let Ended { done, schedule, by_hand } = ended;
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
                "Hob was interrupted while it did “{name}”, and did not begin it again: it may be done, or still go on. See whether it is."
            );
            self.notice(done.user, schedule, text);
        } else if !schedule.enabled && !schedule.stopped.is_empty() {
            self.tell(done.user, done.id, "stopped");
            self.notice(done.user, schedule, format!("“{name}” was stopped: {}", schedule.stopped));
        }
    }

    /// Tells the person something, where they can be told.
    fn notice(&self, user: UserId, schedule: &Schedule, text: String) {
        let (scheduler, who) = (self.clone(), Who { user, agent: schedule.agent, clear: false });
        let args = json!({"text": text, "title": schedule.name});
        let armed = PreauthorizedCall { tool: "notify".into(), version: 0, args, digest: [0; 32], consented: false };
        tokio::spawn(async move {
            let told = scheduler.perform(&who, &armed, Label::Own, &CancellationToken::new(), None).await;
            if let Err(error) = told {
                tracing::warn!(%error, "a person could not be told about a schedule");
            }
        });
    }
}

impl Schedule {
    /// One of its runs ended.
    fn end(&mut self, done: &Done, by_hand: bool, attempt: u32, now: i64) {
        // Another may have taken its place meanwhile.
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
            // Its next time comes first: that is another try too.
            Some((at, attempt)) if self.next_ms.is_none_or(|next| next > at) => {
                (self.retry_ms, self.retry_slot_ms, self.retry_attempt) = (Some(at), done.scheduled_ms, attempt);
            }
            _ if matches!(done.status, Status::Failed | Status::Interrupted) => {
                self.failures = self.failures.saturating_add(1);
            }
            _ => {}
        }
        if self.refused >= REFUSALS {
            self.enabled = false;
            self.stopped = cut(format!("it was refused {REFUSALS} times in a row ({})", done.text));
        }
        if self.next_ms.is_none() && self.retry_ms.is_none() && self.running.is_none() {
            self.enabled = false;
        }
    }

    /// When it is tried again, and as which attempt.
    fn again(&self, failure: Failure, attempt: u32, done: &Done, now: i64) -> Option<(i64, u32)> {
        match failure {
            Failure::Again if attempt <= self.retries => {
                let doubled = 1_i64.checked_shl(attempt - 1).filter(|n| *n > 0).unwrap_or(LONGEST);
                let delay = self.retry_delay_ms.saturating_mul(doubled).clamp(0, LONGEST);
                Some((now.saturating_add(delay), attempt + 1))
            }
            Failure::Crowded(seconds) if now - done.scheduled_ms < CROWDED => {
                Some((now.saturating_add(1000 * i64::try_from(seconds).unwrap_or(60)), attempt))
            }
            _ => None,
        }
    }
}

/// A text short enough to be kept.
fn cut(mut text: String) -> String {
    if text.len() > RESULT {
        let end = (0..=RESULT - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
