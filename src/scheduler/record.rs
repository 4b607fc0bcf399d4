//! What is kept: schedules with how they stand, and their runs.

use crate::Recurrence;
use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record, order};
use tool::{
    AgentId, Id, PreauthorizedCall, UserId,
    prelude::{JsonSchema, schemars},
};

/// The index of a person's own schedules by name; hidden ones are not in it.
pub(crate) const BY_NAME: u8 = 1;
/// The index of runs by their schedule.
pub(crate) const BY_SCHEDULE: u8 = 1;

/// Whom a call is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who {
    /// The person.
    pub user: UserId,
    /// The agent that acts for them.
    pub agent: AgentId,
    /// Whether they asked for it over a wire that others can read.
    pub clear: bool,
}

/// What a schedule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A person made it, and sees it.
    #[default]
    Task,
    /// It belongs to another record, a calendar event say, and is gone once it has run.
    Reminder,
    /// It belongs to a trigger.
    Trigger,
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Task, Kind::Reminder, Kind::Trigger];
    const UNKNOWN: Self = Kind::Trigger;
}

/// What becomes of times that passed while nothing could run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// One run for all of them, as soon as possible.
    #[default]
    Once,
    /// They are noted and left out.
    Skip,
    /// A run for each, one after the other, for the latest hundred of them.
    All,
}

impl Coded for Missed {
    const ALL: &'static [Self] = &[Missed::Once, Missed::Skip, Missed::All];
    const UNKNOWN: Self = Missed::Skip;
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Its time has come, and it waits for its turn.
    Waiting,
    /// It has begun.
    Started,
    /// It ended well.
    Ok,
    /// It went wrong.
    Failed,
    /// Its time passed while nothing could run.
    Missed,
    /// Hob ended in the middle of it, and it could not be repeated safely.
    Interrupted,
    /// The run before it was still going on.
    Skipped,
}

impl Status {
    /// The status as one word.
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

/// What kind of recurrence it is, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Cron,
    Every,
    Once,
    /// One that this code does not know: it never comes.
    Never,
}

impl Coded for Sort {
    const ALL: &'static [Self] = &[Sort::Cron, Sort::Every, Sort::Once, Sort::Never];
    const UNKNOWN: Self = Sort::Never;
}

/// A call that is made at its times. Times are milliseconds since 1970. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// What people call it.
    pub name: String,
    /// A word about it.
    pub description: String,
    /// What it is for.
    #[serde(with = "store::coded")]
    pub kind: Kind,
    /// When, as it was written.
    pub written: String,
    #[serde(with = "store::coded")]
    pub(crate) sort: Sort,
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
    /// The agent that acts for the person.
    pub agent: AgentId,
    /// Whether its times count.
    pub enabled: bool,
    /// What becomes of missed times.
    #[serde(with = "store::coded")]
    pub missed: Missed,
    /// How often a run that went wrong is tried again.
    pub retries: u32,
    /// How long until the first of these; each takes twice as long as the one before.
    pub retry_delay_ms: i64,
    /// After this it has no more times.
    pub ends_ms: Option<i64>,
    /// After so many runs it has no more times; 0 is any number.
    pub max_runs: u32,
    /// Its next time.
    pub next_ms: Option<i64>,
    /// When the last run is tried again.
    pub retry_ms: Option<i64>,
    pub(crate) retry_slot_ms: i64,
    pub(crate) retry_attempt: u32,
    /// The run that has not ended yet.
    pub running: Option<Id>,
    /// The time its last run was for.
    pub last_ms: Option<i64>,
    /// How the last run ended; 0 is none yet, else the number of the status and one.
    pub(crate) last_status: u8,
    /// How many runs it has had.
    pub runs: u32,
    /// How many of them went wrong in the end.
    pub failures: u32,
    /// How many in a row were refused.
    pub(crate) refused: u32,
    /// The conversation its last prompt was answered in.
    pub conversation: Option<Id>,
    /// When a person last changed it.
    pub changed_ms: i64,
    /// New with every change of how it stands.
    pub(crate) revision: Id,
    /// Why it stopped by itself; empty where it did not.
    pub stopped: String,
    /// The latest of its times that was dealt with, whatever came of it.
    pub(crate) taken_ms: Option<i64>,
}

impl Record for Schedule {
    const NAME: &'static str = "schedules";
    const WORD: &'static str = "scheduled task";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        match self.kind {
            Kind::Task => vec![Key::many(BY_NAME, order::text(&self.name))],
            Kind::Reminder | Kind::Trigger => vec![],
        }
    }
}

impl Schedule {
    /// A schedule that has not begun yet: its times count from `now` on.
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
            sort: Sort::Never,
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

    /// When it comes; `None` where a newer Hob wrote something this one does not know.
    pub fn recurrence(&self) -> Option<Recurrence> {
        let zone = Some(self.zone.clone()).filter(|zone| !zone.is_empty());
        match self.sort {
            Sort::Cron => Some(Recurrence::Cron { expression: self.expression.clone(), zone }),
            Sort::Every => Some(Recurrence::Every { ms: self.every_ms, anchor: self.at_ms }),
            Sort::Once => Some(Recurrence::Once { at: self.at_ms, zone }),
            Sort::Never => None,
        }
    }

    pub(crate) fn set_recurrence(&mut self, written: String, recurrence: &Recurrence) {
        (self.written, self.expression, self.zone, self.every_ms, self.at_ms) =
            (written, String::new(), String::new(), 0, 0);
        match recurrence {
            Recurrence::Cron { expression, zone } => {
                (self.sort, self.expression) = (Sort::Cron, expression.clone());
                self.zone = zone.clone().unwrap_or_default();
            }
            Recurrence::Every { ms, anchor } => {
                (self.sort, self.every_ms, self.at_ms) = (Sort::Every, *ms, *anchor);
            }
            Recurrence::Once { at, zone } => {
                (self.sort, self.at_ms) = (Sort::Once, *at);
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

    /// How its last run ended.
    pub fn last_status(&self) -> Option<Status> {
        self.last_status.checked_sub(1).map(Status::of)
    }

    pub(crate) fn ended_as(&mut self, status: Status) {
        self.last_status = status.code().saturating_add(1);
    }

    /// Whether nothing will come of it any more by itself.
    pub fn is_over(&self) -> bool {
        !self.enabled && self.next_ms.is_none() && self.running.is_none()
    }

    /// When something is to be done about it: its next time, or its next try. While it runs, what waits for the end of the
    /// run is not due.
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

    /// Whether its times are those of the clock on the wall, so that they mean nothing before that is set.
    pub(crate) fn needs_clock(&self) -> bool {
        match self.sort {
            Sort::Cron | Sort::Never => true,
            Sort::Every => false,
            // A moment before anybody can have meant it was reckoned on a clock that was not set.
            Sort::Once => self.at_ms >= crate::clock::EARLIEST,
        }
    }
}

/// One run of a schedule, or times that passed without one. Times are milliseconds since 1970. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its schedule.
    pub schedule: Id,
    /// The time it was for; the latest of them where it stands for several.
    pub scheduled_ms: i64,
    /// When it began.
    pub started_ms: Option<i64>,
    /// When it ended.
    pub finished_ms: Option<i64>,
    /// How it stands.
    #[serde(with = "store::coded")]
    pub status: Status,
    /// 1, and more where it was tried again.
    pub attempt: u32,
    /// For how many times it stands; no more than a thousand are counted.
    pub count: u32,
    /// What came of it, cut where it is long.
    pub result: String,
    /// Why it went wrong.
    pub error: String,
    /// Whether a person began it, besides its times.
    pub by_hand: bool,
    /// How often it was begun anew after Hob had ended in the middle of it.
    pub repeats: u32,
    /// Whether its call is made under its id as an idempotency key, so that a call without a mark has changed nothing.
    pub(crate) keyed: bool,
    /// Whether a person began it over a wire that others can read.
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
