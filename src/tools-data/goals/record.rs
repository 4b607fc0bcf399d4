//! The stored forms of goals and steps, and their results.

use crate::json_text::moment;
use records::{Due, NamedRecord, RecordStore, is_past, rejected, view};
use store::{Coded, Collection, Entry, Key, Level, Record, Store, Tx, Visit, Walk, coded, order};
use tool::{Cx, Scope, prelude::*};

/// The highest priority.
pub(super) const HIGHEST: u8 = 10;
/// The most levels of parents.
const DEEPEST: usize = 32;

/// The status of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Active,
    Paused,
    Completed,
    Abandoned,
}

impl Coded for Status {
    const ALL: &'static [Self] = &[Self::Active, Self::Paused, Self::Completed, Self::Abandoned];
    const UNKNOWN: Self = Self::Paused;
}

impl Status {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }
    /// Whether it is completed or abandoned.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Abandoned)
    }
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) category: Option<String>,
    /// 1 to 10, the highest first.
    pub(super) priority: u8,
    /// The parent goal, of the same owner.
    pub(super) parent: Option<Id>,
    /// A day or a moment, as [`Due`] writes it.
    pub(super) due: Option<String>,
    /// Its beginning in milliseconds since 1970; `i64::MAX` without a due date.
    pub(super) due_ms: i64,
    #[serde(with = "coded")]
    pub(super) status: Status,
    /// In percent, if set by hand; else it follows from the steps.
    pub(super) progress: u8,
    pub(super) by_hand: bool,
    pub(super) notes: Option<String>,
    /// Milliseconds since 1970; 0 while it is not completed.
    pub(super) completed_ms: u64,
}

impl Default for Goal {
    /// An active goal of medium priority without a title.
    fn default() -> Self {
        Self {
            title: String::new(),
            description: None,
            category: None,
            priority: 5,
            parent: None,
            due: None,
            due_ms: i64::MAX,
            status: Status::Active,
            progress: 0,
            by_hand: false,
            notes: None,
            completed_ms: 0,
        }
    }
}

/// By rank: the highest priority first, then the nearest due date.
pub(super) const BY_RANK: u8 = 2;
/// By status, then by rank.
pub(super) const BY_STATUS: u8 = 3;
/// By parent.
const BY_PARENT: u8 = 4;
/// By parent, then by rank.
pub(super) const BY_PARENT_RANK: u8 = 5;

impl Record for Goal {
    const NAME: &'static str = "goals";
    const WORD: &'static str = "goal";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }

    fn keys(&self) -> Vec<Key> {
        let rank = [&[HIGHEST.saturating_sub(self.priority)][..], &order::int(self.due_ms)].concat();
        let mut keys = vec![
            Key::many(Self::BY_NAME, named(&self.title, self.is_finished())),
            Key::many(BY_RANK, &rank),
            Key::many(BY_STATUS, [&[self.status.code()][..], &rank].concat()),
        ];
        if let Some(parent) = self.parent {
            keys.push(Key::many(BY_PARENT, parent.as_bytes()));
            keys.push(Key::many(BY_PARENT_RANK, [&parent.as_bytes()[..], &rank].concat()));
        }
        keys
    }
}

impl NamedRecord for Goal {
    const LISTED_BY: &'static str = "list_goals";
    const BY_NAME: u8 = 1;

    fn name(&self) -> &str {
        &self.title
    }
    fn is_finished(&self) -> bool {
        self.status.is_over()
    }
    fn likely() -> Walk {
        Walk::prefix(BY_STATUS, [])
    }
}

/// A name in its index, unfinished records first.
fn named(name: &str, over: bool) -> Vec<u8> {
    [order::text(name), vec![u8::from(over)]].concat()
}

/// A step of a goal. Steps are in the order of creation, and shared with the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub(super) goal: Id,
    pub(super) title: String,
    pub(super) description: Option<String>,
    /// Milliseconds since 1970; 0 while it is open.
    pub(super) done_ms: u64,
    /// Its outcome.
    pub(super) result: Option<String>,
}

/// By goal.
const BY_GOAL: u8 = 2;
/// By goal, open steps first.
const BY_STATE: u8 = 3;
/// Open steps first.
pub(super) const BY_DONE: u8 = 4;

impl Record for Step {
    const NAME: &'static str = "goal-steps";
    const WORD: &'static str = "step";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    const PART: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }

    fn keys(&self) -> Vec<Key> {
        let (goal, done) = (self.goal.as_bytes(), [u8::from(self.done_ms > 0)]);
        vec![
            Key::many(Self::BY_NAME, named(&self.title, self.is_finished())),
            Key::many(BY_GOAL, goal),
            Key::many(BY_STATE, [&goal[..], &done].concat()),
            Key::many(BY_DONE, done),
        ]
    }
}

impl NamedRecord for Step {
    const LISTED_BY: &'static str = "get_goal_details";
    const BY_NAME: u8 = 1;

    fn name(&self) -> &str {
        &self.title
    }
    fn is_finished(&self) -> bool {
        self.done_ms > 0
    }
    fn likely() -> Walk {
        Walk::prefix(BY_DONE, [])
    }
}

/// Goals and their steps; cheap to clone.
#[derive(Clone)]
pub struct Goals {
    pub(super) goals: RecordStore<Goal>,
    pub(super) steps: RecordStore<Step>,
}

/// How many steps or subgoals there are, and how many of them are done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    pub done: usize,
    pub all: usize,
}

impl Goals {
    pub fn new(store: &Store) -> Self {
        Self { goals: RecordStore::new(store), steps: RecordStore::new(store) }
    }

    /// The steps of a goal, in order.
    pub fn steps_of(&self, cx: &Cx, goal: Id) -> Result<Vec<Entry<Step>>> {
        Ok(self.steps.records().walk(cx, &Walk::prefix(BY_GOAL, goal.as_bytes()), |_| Visit::Yes)?)
    }

    /// The first open steps of a goal.
    pub fn open_steps(&self, cx: &Cx, goal: Id, most: usize) -> Result<Vec<Entry<Step>>> {
        let mut taken = 0;
        let open = self.steps.records().walk(cx, &Walk::prefix(BY_STATE, state(goal, false)), |_| {
            taken += 1;
            if taken <= most { Visit::Yes } else { Visit::Stop }
        })?;
        Ok(open)
    }

    /// The subgoals of a goal, by rank.
    pub fn below(&self, cx: &Cx, goal: Id) -> Result<Vec<Entry<Goal>>> {
        Ok(self.goals.records().walk(cx, &Walk::prefix(BY_PARENT_RANK, goal.as_bytes()), |_| Visit::Yes)?)
    }

    /// The parents of a goal, the nearest first, as far as this caller can see them.
    pub fn above(&self, cx: &Cx, goal: &Goal) -> Result<Vec<Entry<Goal>>> {
        let (mut above, mut next) = (vec![], goal.parent);
        while let Some(id) = next.filter(|_| above.len() < DEEPEST) {
            let Some(found) = self.goals.records().get(cx, id)? else { break };
            next = found.value.parent;
            above.push(found);
        }
        Ok(above)
    }

    /// The steps of a goal, counted.
    pub fn steps_counted(&self, cx: &Cx, goal: Id) -> Result<Parts> {
        let steps = self.steps.records();
        let done = steps.count(cx, &Walk::prefix(BY_STATE, state(goal, true)))?;
        Ok(Parts { done, all: done + steps.count(cx, &Walk::prefix(BY_STATE, state(goal, false)))? })
    }

    /// Counts of steps and of subgoals that are not abandoned, and the progress in percent: their share, or set by hand.
    pub fn progress(&self, cx: &Cx, entry: &Entry<Goal>) -> Result<(Parts, Parts, u8)> {
        let (mut below, steps) = (Parts::default(), self.steps_counted(cx, entry.id)?);
        let part_of = Walk::prefix(BY_PARENT_RANK, entry.id.as_bytes());
        self.goals.records().walk(cx, &part_of, |goal| {
            below.all += usize::from(goal.value.status != Status::Abandoned);
            below.done += usize::from(goal.value.status == Status::Completed);
            Visit::No
        })?;
        let (done, all) = (steps.done + below.done, steps.all + below.all);
        let percent = match entry.value.status {
            Status::Completed => 100,
            _ if entry.value.by_hand => entry.value.progress,
            _ => u8::try_from((done * 100).checked_div(all).unwrap_or(0)).unwrap_or(100),
        };
        Ok((steps, below, percent))
    }

    /// The result for a goal.
    pub fn to_json(&self, cx: &Cx, entry: &Entry<Goal>) -> Result<Value> {
        let g = &entry.value;
        let (steps, below, progress) = self.progress(cx, entry)?;
        // A private goal of somebody else does not exist, not even as an id.
        let parent = match g.parent {
            Some(parent) if entry.owner != cx.user() => self.goals.records().peek(cx, parent)?.map(|found| found.id),
            parent => parent,
        };
        let itself = json!({
            "title": g.title,
            "description": g.description,
            "category": g.category,
            "priority": g.priority,
            "status": g.status,
            "progress": progress,
            "parentId": parent,
            "dueDate": g.due,
            "overdue": is_overdue(cx, g),
            "notes": g.notes,
            "completedAt": moment(cx, g.completed_ms),
            "stepsDone": steps.done,
            "steps": steps.all,
            "subGoalsDone": below.done,
            "subGoals": below.all,
        });
        Ok(view(cx, entry, itself))
    }
}

/// The result for a step.
pub(super) fn step(cx: &Cx, entry: &Entry<Step>) -> Value {
    let s = &entry.value;
    let itself = json!({
        "goalId": s.goal,
        "title": s.title,
        "description": s.description,
        "done": s.done_ms > 0,
        "completedAt": moment(cx, s.done_ms),
        "result": s.result,
    });
    view(cx, entry, itself)
}

fn state(goal: Id, done: bool) -> Vec<u8> {
    [&goal.as_bytes()[..], &[u8::from(done)]].concat()
}

/// Whether it is open and its due date has passed.
pub(super) fn is_overdue(cx: &Cx, goal: &Goal) -> bool {
    !goal.status.is_over() && is_past(cx, goal.due.as_deref())
}

/// A due date as it is stored: its text, and its beginning.
///
/// # Errors
/// `BadArgs` when it is no date.
pub(super) fn due(cx: &Cx, text: Option<&str>) -> Result<(Option<String>, i64)> {
    Ok(Due::read(cx, text)?.map_or((None, i64::MAX), |due| (Some(due.text), due.ms)))
}

/// Within a write: checks that `below`, an existing or a new goal, may be a subgoal of `parent`.
///
/// # Errors
/// `Missing` when the parent is gone; `Conflict` for a cycle, or too many levels.
pub(super) fn may_be_part(goals: &Collection<Goal>, tx: &Tx, scope: Scope, below: Id, parent: Id) -> store::Result<()> {
    let mut next = Some(parent);
    for depth in 0.. {
        let Some(id) = next else { return Ok(()) };
        if id == below {
            return Err(rejected("a goal cannot be a part of itself: choose another parentId"));
        }
        if depth == DEEPEST {
            return Err(rejected(format!("goals are nested {DEEPEST} deep at most: choose another parentId")));
        }
        match goals.read(tx, scope, id)? {
            Some(found) => next = found.value.parent,
            None if id == parent => {
                return Err(store::Error::Missing("its parent goal is gone: `list_goals` shows goals".into()));
            }
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Within a write: the subgoals of a goal.
pub(super) fn parts(goals: &Collection<Goal>, tx: &Tx, scope: Scope, goal: Id) -> store::Result<Vec<Entry<Goal>>> {
    goals.find(tx, scope, BY_PARENT, goal.as_bytes())
}

/// Within a write: the steps of a goal.
pub(super) fn steps(steps: &Collection<Step>, tx: &Tx, scope: Scope, goal: Id) -> store::Result<Vec<Entry<Step>>> {
    steps.find(tx, scope, BY_GOAL, goal.as_bytes())
}
