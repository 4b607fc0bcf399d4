//! Stored records: schedules with their state, and their runs.

use crate::Recurrence;
use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, order};
use tool::{
    AgentId, Id, PreauthorizedCall, UserId,
    prelude::{JsonSchema, schemars},
};

/// Index of a person's own schedules by name; hidden ones are not indexed.
pub(crate) const BY_NAME: u8 = 1;
/// Index of runs by schedule.
pub(crate) const BY_SCHEDULE: u8 = 1;

/// On whose behalf a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// The person.
    pub user: UserId,
    /// The agent acting for the person.
    pub agent: AgentId,
    /// Whether the request arrived over an unencrypted connection.
    pub clear: bool,
}

/// The purpose of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Created by a person and visible to them.
    #[default]
    Task,
    /// Owned by another record, such as a calendar event; deleted after it ran.
    Reminder,
    /// Owned by a trigger.
    Trigger,
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Task, Kind::Reminder, Kind::Trigger];
    const UNKNOWN: Self = Kind::Trigger;
}

/// Policy for due times that passed while nothing could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// One run for all of them, as soon as possible.
    #[default]
    Once,
    /// They are recorded as missed and skipped.
    Skip,
    /// One run each, in order, for the latest hundred.
    All,
}

impl Coded for Missed {
    const ALL: &'static [Self] = &[Missed::Once, Missed::Skip, Missed::All];
    const UNKNOWN: Self = Missed::Skip;
}

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Due, and waiting for a free slot.
    Waiting,
    /// Started and not finished.
    Started,
    /// Succeeded.
    Ok,
    /// Failed.
    Failed,
    /// Its time passed while nothing could run.
    Missed,
    /// Hob stopped during the run, and it could not be repeated safely.
    Interrupted,
    /// Skipped because the previous run was still in progress.
    Skipped,
}

impl Status {
    /// The wire name of the status.
    pub fn word(self) -> &'static str {
        match self {
            Status::Waiting => "waiting",
            Status::Started => "started",
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Missed => "missed",
            Status::Interrupted => "interrupted",
            Status::Skipped => "skipped",
        }
    }
}

impl Coded for Status {
    const ALL: &'static [Self] = &[
        Status::Waiting,
        Status::Started,
        Status::Ok,
        Status::Failed,
        Status::Missed,
        Status::Interrupted,
        Status::Skipped,
    ];
    const UNKNOWN: Self = Status::Failed;
}

/// The kind of recurrence, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecurrenceKind {
    Cron,
    Every,
    Once,
    /// Unknown to this version; never due.
    Never,
}

impl Coded for RecurrenceKind {
    const ALL: &'static [Self] =
        &[RecurrenceKind::Cron, RecurrenceKind::Every, RecurrenceKind::Once, RecurrenceKind::Never];
    const UNKNOWN: Self = RecurrenceKind::Never;
}

/// A call that runs at its due times. Times are milliseconds since 1970. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Display name.
    pub name: String,
    /// Short description.
    pub description: String,
    /// Its purpose.
    #[serde(with = "store::coded")]
    pub kind: Kind,
    /// The recurrence as the person wrote it.
    pub written: String,
    #[serde(with = "store::coded")]
    pub(crate) sort: RecurrenceKind,
    pub(crate) expression: String,
    pub(crate) zone: String,
    pub(crate) every_ms: i64,
    pub(crate) at_ms: i64,
    pub(crate) tool: String,
    pub(crate) tool_version: u32,
    /// JSON text.
    pub(crate) args: String,
    pub(crate) digest: [u8; 32],
    pub(crate) consented: bool,
    /// The agent acting for the person.
    pub agent: AgentId,
    /// Whether it is active.
    pub enabled: bool,
    /// Policy for missed times.
    #[serde(with = "store::coded")]
    pub missed: Missed,
    /// How often a failed run is retried.
    pub retries: u32,
    /// Delay before the first retry, in milliseconds; doubles with each further one.
    pub retry_delay_ms: i64,
    /// No due times after this.
    pub ends_ms: Option<i64>,
    /// No due times after this many runs; 0 means unlimited.
    pub max_runs: u32,
    /// Next due time.
    pub next_ms: Option<i64>,
    /// When the last run is retried.
    pub retry_ms: Option<i64>,
    pub(crate) retry_slot_ms: i64,
    pub(crate) retry_attempt: u32,
    /// The unfinished run, if any.
    pub running: Option<Id>,
    /// The due time of the last run.
    pub last_ms: Option<i64>,
    /// Status of the last run: 0 is none, else the status code plus one.
    pub(crate) last_status: u8,
    /// Number of runs so far.
    pub runs: u32,
    /// Number of runs that failed after all retries.
    pub failures: u32,
    /// Number of consecutive refusals.
    pub(crate) refused: u32,
    /// The conversation that answered its last prompt.
    pub conversation: Option<Id>,
    /// When a person last changed it.
    pub changed_ms: i64,
    /// New with every state change.
    pub(crate) revision: Id,
    /// Why it was stopped automatically; empty if it was not.
    pub stopped: String,
    /// The latest due time that was handled, whatever the outcome.
    pub(crate) taken_ms: Option<i64>,
}

impl Record for Schedule {
    const NAME: &'static str = "schedules";
    const WORD: &'static str = "scheduled task";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        if self.kind == Kind::Task { self.name.clone() } else { String::new() }
    }
    fn settle(&mut self) {
        self.take_state(None);
        (self.revision, self.changed_ms) = (Id::NIL, 0);
        // A schedule that is over pauses by itself, and an interval moves with the clock.
        self.enabled |= self.stopped.is_empty() && self.next_ms.is_none();
        self.next_ms = None;
        if self.sort == RecurrenceKind::Every {
            self.at_ms = 0;
        }
    }
    fn revive(&mut self, now: Option<&Self>) {
        // A deleted schedule has no run any more; what it did until then is still true.
        match now {
            Some(now) => self.take_state(Some(now)),
            None => (self.running, self.retry_ms) = (None, None),
        }
        self.revision = Id::new();
    }
    fn keys(&self) -> Vec<Key> {
        match self.kind {
            Kind::Task => vec![Key::many(BY_NAME, order::text(&self.name))],
            Kind::Reminder | Kind::Trigger => vec![],
        }
    }
}

impl Schedule {
    /// A new schedule without due times yet.
    pub(crate) fn new(
        name: String,
        written: String,
        recurrence: &Recurrence,
        agent: AgentId,
        armed: &PreauthorizedCall,
    ) -> Self {
        let mut schedule = Self {
            name,
            description: String::new(),
            kind: Kind::Task,
            written: String::new(),
            sort: RecurrenceKind::Never,
            expression: String::new(),
            zone: String::new(),
            every_ms: 0,
            at_ms: 0,
            tool: String::new(),
            tool_version: 0,
            args: String::new(),
            digest: [0; 32],
            consented: false,
            agent,
            enabled: true,
            missed: Missed::Once,
            retries: 0,
            retry_delay_ms: 60_000,
            ends_ms: None,
            max_runs: 0,
            next_ms: None,
            retry_ms: None,
            retry_slot_ms: 0,
            retry_attempt: 0,
            running: None,
            last_ms: None,
            last_status: 0,
            runs: 0,
            failures: 0,
            refused: 0,
            conversation: None,
            changed_ms: 0,
            revision: Id::new(),
            stopped: String::new(),
            taken_ms: None,
        };
        schedule.set_recurrence(written, recurrence);
        schedule.set_action(armed);
        schedule
    }

    /// Takes over what Hob notes about its runs; without another schedule, clears it.
    fn take_state(&mut self, other: Option<&Self>) {
        self.running = other.and_then(|other| other.running);
        self.retry_ms = other.and_then(|other| other.retry_ms);
        self.retry_slot_ms = other.map_or(0, |other| other.retry_slot_ms);
        self.retry_attempt = other.map_or(0, |other| other.retry_attempt);
        self.last_ms = other.and_then(|other| other.last_ms);
        self.last_status = other.map_or(0, |other| other.last_status);
        self.runs = other.map_or(0, |other| other.runs);
        self.failures = other.map_or(0, |other| other.failures);
        self.refused = other.map_or(0, |other| other.refused);
        self.conversation = other.and_then(|other| other.conversation);
        self.taken_ms = other.and_then(|other| other.taken_ms);
    }

    /// The recurrence; `None` if a newer version stored one this version does not know.
    pub fn recurrence(&self) -> Option<Recurrence> {
        let zone = Some(self.zone.clone()).filter(|zone| !zone.is_empty());
        match self.sort {
            RecurrenceKind::Cron => Some(Recurrence::Cron { expression: self.expression.clone(), zone }),
            RecurrenceKind::Every => Some(Recurrence::Every { ms: self.every_ms, anchor: self.at_ms }),
            RecurrenceKind::Once => Some(Recurrence::Once { at: self.at_ms, zone }),
            RecurrenceKind::Never => None,
        }
    }

    pub(crate) fn set_recurrence(&mut self, written: String, recurrence: &Recurrence) {
        (self.written, self.expression, self.zone, self.every_ms, self.at_ms) =
            (written, String::new(), String::new(), 0, 0);
        match recurrence {
            Recurrence::Cron { expression, zone } => {
                (self.sort, self.expression) = (RecurrenceKind::Cron, expression.clone());
                self.zone = zone.clone().unwrap_or_default();
            }
            Recurrence::Every { ms, anchor } => {
                (self.sort, self.every_ms, self.at_ms) = (RecurrenceKind::Every, *ms, *anchor);
            }
            Recurrence::Once { at, zone } => {
                (self.sort, self.at_ms) = (RecurrenceKind::Once, *at);
                self.zone = zone.clone().unwrap_or_default();
            }
        }
    }

    /// The call it makes.
    pub fn action(&self) -> PreauthorizedCall {
        PreauthorizedCall {
            tool: self.tool.clone(),
            version: self.tool_version,
            args: serde_json::from_str(&self.args).unwrap_or_default(),
            digest: self.digest,
            consented: self.consented,
        }
    }

    pub(crate) fn set_action(&mut self, armed: &PreauthorizedCall) {
        self.tool = armed.tool.clone();
        self.tool_version = armed.version;
        self.args = armed.args.to_string();
        self.digest = armed.digest;
        self.consented = armed.consented;
    }

    /// Status of the last run.
    pub fn last_status(&self) -> Option<Status> {
        self.last_status.checked_sub(1).map(Status::of)
    }

    pub(crate) fn ended_as(&mut self, status: Status) {
        self.last_status = status.code().saturating_add(1);
    }

    /// Whether it will never run again by itself.
    pub fn is_over(&self) -> bool {
        !self.enabled && self.next_ms.is_none() && self.running.is_none()
    }

    /// When the engine must act: at the next due time or retry. While a run is in progress, whatever waits for its
    /// end is not due.
    pub(crate) fn due(&self) -> Option<i64> {
        if !self.enabled {
            return None;
        }
        match (self.running.is_some(), self.missed) {
            (true, Missed::All) => None,
            (true, _) => self.next_ms,
            (false, _) => [self.next_ms, self.retry_ms].into_iter().flatten().min(),
        }
    }

    /// Whether it depends on the wall clock, and so must wait until that is set.
    pub(crate) fn needs_clock(&self) -> bool {
        match self.sort {
            RecurrenceKind::Cron | RecurrenceKind::Never => true,
            RecurrenceKind::Every => false,
            // An earlier moment was computed on a clock that had not been set.
            RecurrenceKind::Once => self.at_ms >= crate::clock::EARLIEST,
        }
    }
}

/// One run of a schedule, or due times that passed without one. Times are milliseconds since 1970. New fields go
/// last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The schedule it belongs to.
    pub schedule: Id,
    /// Its due time; the latest one if it stands for several.
    pub scheduled_ms: i64,
    /// Start time.
    pub started_ms: Option<i64>,
    /// End time.
    pub finished_ms: Option<i64>,
    /// Its state.
    #[serde(with = "store::coded")]
    pub status: Status,
    /// Attempt number, from 1.
    pub attempt: u32,
    /// How many due times it stands for, 1000 at most.
    pub count: u32,
    /// The result, truncated.
    pub result: String,
    /// The error, if it failed.
    pub error: String,
    /// Whether a person started it by hand.
    pub by_hand: bool,
    /// How often it was restarted after Hob stopped in the middle of it.
    pub repeats: u32,
    /// Whether its id is the call's idempotency key, so that a call without a mark has changed nothing.
    pub(crate) keyed: bool,
    /// Whether a person started it over an unencrypted connection.
    pub(crate) clear: bool,
}

impl Record for Run {
    const NAME: &'static str = "schedule-runs";
    const WORD: &'static str = "run of a schedule";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_SCHEDULE, self.schedule.as_bytes())]
    }
}
