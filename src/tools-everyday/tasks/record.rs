//! The stored form of a task, and the filter and order of lists.

use records::{Due, NamedRecord, contains_all_words, day_of, is_past, millis, passes, same_or_before, truncate};
use serde::{Deserialize, Serialize};
use store::{Coded, Entry, Key, Level, Record, Walk, Words, order};
use tool::{
    Cx, Result, When,
    prelude::{JsonSchema, schemars},
};

const BY_NAME: u8 = 1;
/// Open or finished, then the position within these.
const BY_ORDER: u8 = 2;
/// The status, then the position.
const BY_STATUS: u8 = 3;
/// A day in milliseconds: time zones shift a moment by less than that.
const DAY: i64 = 86_400_000;
/// The position of tasks without a due date: after all others.
const UNDATED: i64 = i64::MAX;

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Coded for Status {
    const ALL: &'static [Self] = &[Self::Pending, Self::InProgress, Self::Completed, Self::Cancelled];
    const UNKNOWN: Self = Self::Pending;
}

impl Status {
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }
}

/// How important a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// When there is time.
    Low,
    /// Like most tasks.
    #[default]
    Normal,
    /// Before other tasks.
    High,
    /// Now.
    Urgent,
}

impl Coded for Priority {
    const ALL: &'static [Self] = &[Self::Normal, Self::Low, Self::High, Self::Urgent];
    const UNKNOWN: Self = Self::Normal;
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub(crate) title: String,
    #[serde(with = "store::coded")]
    pub(crate) status: Status,
    #[serde(with = "store::coded")]
    pub(crate) priority: Priority,
    /// As [`When`] writes it.
    pub(crate) due: Option<String>,
    /// Its beginning in the zone in which it was written, in milliseconds since 1970.
    pub(crate) due_ms: i64,
    pub(crate) category: Option<String>,
    pub(crate) notes: Option<String>,
    /// When it was completed or cancelled, in milliseconds since 1970; 0 while it is open.
    pub(crate) closed_ms: i64,
    /// The name of the API token it was added with; `None` where a person added it.
    pub(crate) via: Option<String>,
}

impl Task {
    /// Sets or clears the due date.
    pub(crate) fn set_due(&mut self, due: Option<Due>) {
        let due = due.map(|due| (due.text, due.ms));
        (self.due, self.due_ms) = due.map_or((None, 0), |(text, ms)| (Some(text), ms));
    }

    /// Sets the status, and when the task was finished.
    pub(crate) fn set_status(&mut self, status: Status, now_ms: i64) {
        if status != self.status {
            self.closed_ms = if status.is_over() { now_ms } else { 0 };
        }
        self.status = status;
    }

    /// The due date.
    pub(crate) fn due(&self, cx: &Cx) -> Option<When> {
        When::read(self.due.as_deref()?, &cx.ports().clock.zone()).ok()
    }

    /// Whether it is open and its due date has passed.
    pub(crate) fn is_overdue(&self, cx: &Cx) -> bool {
        !self.status.is_over() && is_past(cx, self.due.as_deref())
    }

    /// The position in a list: open tasks by due date, finished ones by when they were finished, the latest first.
    fn place(&self) -> [u8; 8] {
        order::int(match (self.status.is_over(), &self.due) {
            (true, _) => -self.closed_ms,
            (false, Some(_)) => self.due_ms,
            (false, None) => UNDATED,
        })
    }
}

/// The prefixes of index keys: everything, a priority or a category.
fn parts(category: Option<&str>, priority: Option<Priority>) -> impl Iterator<Item = Vec<u8>> {
    let category = category.map(|category| [vec![1], order::text(category)].concat());
    let priority = priority.map(|priority| vec![2, priority.code()]);
    [Some(vec![0]), priority, category].into_iter().flatten()
}

/// The part of an index that holds the items of all lists, or of one.
pub(super) fn on_lists(list: Option<&str>) -> Walk {
    Walk::prefix(BY_ORDER, [vec![1], list.map(order::text).unwrap_or_default()].concat())
}

/// The part of an index that holds all open tasks.
pub(super) fn open() -> Walk {
    Walk::prefix(BY_ORDER, [0, 0])
}

impl Record for Task {
    const NAME: &'static str = "tasks";
    const WORD: &'static str = "task";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }
    fn on_list(&self) -> String {
        self.category.as_deref().map(super::list_name).unwrap_or_default()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        [&self.title, self.notes.as_deref().unwrap_or_default()].join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        let over = u8::from(self.status.is_over());
        let mut keys = vec![Key::many(BY_NAME, [order::text(&self.title), vec![over]].concat())];
        for part in parts(self.category.as_deref(), Some(self.priority)) {
            keys.push(Key::many(BY_ORDER, [&part[..], &[over], &self.place()].concat()));
            keys.push(Key::many(BY_STATUS, [&part[..], &[self.status.code()], &self.place()].concat()));
        }
        keys
    }
}

impl NamedRecord for Task {
    const LISTED_BY: &'static str = "list_tasks";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.title
    }
    fn is_finished(&self) -> bool {
        self.status.is_over()
    }
    fn distinguishing_detail(&self) -> String {
        let list = self.category.as_deref().map(|list| format!(" on {}", super::list_name(list))).unwrap_or_default();
        format!("`{}`{list}", truncate(&self.title, 80))
    }
    fn is_everybodys(&self) -> bool {
        self.category.is_some()
    }
    fn group(&self) -> Option<&str> {
        self.category.as_deref()
    }
    fn likely() -> Walk {
        Walk::prefix(BY_ORDER, [0])
    }
}

/// The filter of a list.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub status: Option<Status>,
    pub priority: Option<Priority>,
    pub(crate) category: Option<String>,
    pub search: Option<String>,
    /// Both are inclusive. With one of them and no status, only open tasks are listed.
    pub due_before: Option<When>,
    pub due_after: Option<When>,
    /// Only open ones whose due date has passed.
    pub overdue: bool,
}

impl Filter {
    fn is_dated(&self) -> bool {
        self.due_before.is_some() || self.due_after.is_some()
    }

    /// The narrowest part of an index that holds them all, in the order of the list.
    pub(crate) fn walk(&self, cx: &Cx) -> Result<Walk> {
        let mut prefix = parts(self.category.as_deref(), self.priority).last().unwrap_or_default();
        let index = match self.status {
            Some(status) => {
                prefix.push(status.code());
                BY_STATUS
            }
            None => BY_ORDER,
        };
        let open = !self.status.is_some_and(Status::is_over);
        if !self.is_dated() || !open {
            return Ok(Walk::prefix(index, prefix));
        }
        if self.status.is_none() {
            prefix.push(0);
        }
        // The household's zone may have changed since, which moves whole days. `wants` checks exactly.
        let zone = cx.ports().clock.zone();
        let day = |when: &When| millis(&When::Day(day_of(when, &zone)), &zone);
        let first = self.due_after.as_ref().map_or(Ok(i64::MIN), |after| day(after).map(|ms| ms - DAY))?;
        let last = self.due_before.as_ref().map_or(Ok(UNDATED - 1), |before| day(before).map(|ms| ms + 2 * DAY))?;
        let bound = |ms: i64| [&prefix[..], &order::int(ms)].concat();
        Ok(Walk::between(index, bound(first), bound(last)))
    }

    /// The words to look up in the index.
    pub(crate) fn words(&self) -> Option<Words> {
        self.search.as_deref().map(Words::all)
    }

    /// Whether a task of that part passes the filter.
    pub(crate) fn wants(&self, cx: &Cx, entry: &Entry<Task>) -> bool {
        let task = &entry.value;
        self.status.is_none_or(|status| status == task.status)
            && self.priority.is_none_or(|priority| priority == task.priority)
            && passes(self.category.as_deref(), task.category.as_deref())
            && (!self.is_dated() || self.is_within(cx, task))
            && (!self.overdue || task.is_overdue(cx))
            && self.search.as_deref().is_none_or(|search| contains_all_words(search, &[&task.words()]))
    }

    fn is_within(&self, cx: &Cx, task: &Task) -> bool {
        let (zone, Some(due)) = (cx.ports().clock.zone(), task.due(cx)) else { return false };
        let before = self.due_before.as_ref().is_none_or(|before| same_or_before(&due, before, &zone));
        before && self.due_after.as_ref().is_none_or(|after| same_or_before(after, &due, &zone))
    }
}
