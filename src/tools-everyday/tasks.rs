//! Tasks with due date, status and priority. Lists that people name ("the shopping list") are categories.

mod adding;
mod complete;
mod due;
mod household;
mod item;
mod lists;
mod record;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_due;
#[cfg(test)]
mod tests_lists;

pub use due::{DueTasks, OpenList, OpenLists, OpenTask, due_tasks, open_lists};
pub use lists::family as lists;

use adding::{add, add_all};
use complete::complete;
use record::{Filter, Priority, Status, Task};
use records::{
    Due, Patch, RecordKind, RecordStore, iso, join_list,
    kind::{delete, page_output},
    names, optional_text, page_params, quote, read_when, rejected, required_text, set_optional, set_required, truncate,
    untainted, view, when_words,
};
use store::{Entry, Store};
use text_kit::{counted, counted_one, listing};
use tool::{When, prelude::*};

/// The most characters of a title, a category and notes.
const TITLE: usize = 300;
const CATEGORY: usize = 100;
const NOTES: usize = 10_000;
/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);

/// Tasks with due date, status and priority.
pub fn family(store: &Store) -> Family<RecordStore<Task>> {
    Family::new("tasks", "Things to do.", RecordStore::new(store))
        .phrases(include_str!("tasks.en"))
        .area(Area::Memory)
        .tool("add_task", Risk::Write, add)
        .additive()
        .tags("todo to-do plan reminder checklist assignment item chore shopping list new create")
        .example(json!({"title": "buy milk", "category": "shopping", "dueDate": "2026-11-21"}))
        .tool("batch_add_tasks", Risk::Write, add_all)
        .additive()
        .tags("todo to-do plan checklist assignments items several shopping list new create")
        .tool("list_tasks", Risk::Observe, list)
        .page(LISTED)
        .tags("todo to-do plan checklist assignments due overdue open show find search agenda shopping list")
        .tool("complete_task", Risk::Write, complete)
        .tags("done finish finished tick check off todo")
        .tool("update_task", Risk::Write, update)
        .tags("edit change rename reschedule postpone reopen cancel start todo")
        .persists_instructions()
        .tool("delete_task", Risk::Destroy, delete)
        .tags("remove erase todo")
}

/// Add a task. An item of a list, such as a shopping list, is a task with that list's name as its category.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct New {
    /// Title of the task, 300 characters at most.
    title: String,
    /// The day (2026-11-20) or the time (2026-11-20T14:30) it is due.
    due_date: Option<String>,
    /// How important it is.
    #[serde(default)]
    priority: Priority,
    /// The list or area it belongs to, such as shopping or work.
    category: Option<String>,
    /// More about it.
    notes: Option<String>,
}

impl RecordKind for Task {
    type Input = New;
    const ID: &'static str = "taskId";
    const PLURAL: &'static str = "tasks";
    const TITLE: &'static str = "title";
    const SHARED_UNLESS: Option<&'static str> =
        Some("Whether everybody in the household sees it; by default what is on a list, unless that list is private.");
    fn read(_: &RecordStore<Self>, cx: &Cx, new: New) -> Result<Self> {
        let mut task = Self {
            title: required_text("title", &new.title, TITLE)?,
            priority: new.priority,
            category: optional_text("category", new.category.as_deref(), CATEGORY)?,
            notes: optional_text("text in notes", new.notes.as_deref(), NOTES)?,
            ..Self::default()
        };
        task.set_due(Due::read(cx, new.due_date.as_deref())?);
        Ok(task)
    }
    fn view(cx: &Cx, entry: &Entry<Self>) -> Value {
        let (task, zone) = (&entry.value, cx.ports().clock.zone());
        let fields = json!({
            "title": task.title,
            "status": task.status,
            "priority": task.priority,
            "dueDate": task.due,
            "category": task.category,
            "notes": task.notes,
            "completedAt": (task.status == Status::Completed).then(|| iso(task.closed_ms, &zone)),
            "overdue": task.is_overdue(cx),
        });
        let mut fields = view(cx, entry, fields);
        if let Some(token) = &task.via {
            fields["via"] = json!(token);
        }
        fields
    }
    fn added(&self, cx: &Cx) -> String {
        let to = self.category.as_deref().map(|c| format!(" to {}", list_name(c))).unwrap_or_default();
        let by = self.due(cx).map(|due| format!(", due {}", due_in_sentence(&due, cx))).unwrap_or_default();
        let priority = match self.priority {
            Priority::Normal => "",
            Priority::Low => ", low priority",
            Priority::High => ", high priority",
            Priority::Urgent => ", urgent",
        };
        format!("I added {}{to}{by}{priority}.", quote(&self.title))
    }
    fn all_added(added: &[Entry<Self>]) -> String {
        format!("I added {}: {}.", counted_one(added.len(), "task"), join_list(&names(added), false))
    }
}

/// List tasks: open ones by due date, then completed and cancelled ones, the latest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those with this status.
    status: Option<Status>,
    /// Only those with this priority.
    priority: Option<Priority>,
    /// Only those of this list or area.
    category: Option<String>,
    /// Words in the title or the notes.
    search: Option<String>,
    /// Only open tasks whose due date has passed.
    #[serde(default)]
    overdue: bool,
    /// Only tasks due by the end of this day, or by this time; open tasks unless a status is given.
    due_before: Option<String>,
    /// Only tasks due from this day or time on; open tasks unless a status is given.
    due_after: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(tasks: RecordStore<Task>, cx: Cx, args: List) -> Result<Output> {
    let category = optional_text("category", args.category.as_deref(), CATEGORY)?;
    let filter = Filter {
        status: args.status,
        priority: args.priority,
        category: category.map(|list| household::canonical(&tasks, &cx, &list)).transpose()?,
        search: optional_text("search", args.search.as_deref(), TITLE)?,
        // Overdue tasks are the due ones up to today, narrowed further.
        due_before: moment(&cx, "dueBefore", args.due_before.as_deref())?
            .or_else(|| args.overdue.then(|| When::Day(cx.ports().clock.local().date()))),
        due_after: moment(&cx, "dueAfter", args.due_after.as_deref())?,
        overdue: args.overdue,
    };
    let place = page_params(args.offset, args.limit, LISTED);
    let (walk, words) = (filter.walk(&cx)?, filter.words());
    let page = tasks.search_page(&cx, &walk, words.as_ref(), place, |entry| filter.wants(&cx, entry))?;
    let mut sentence = sentence(&cx, &filter, &page.entries, page.more);
    if let (true, Some(list), None) = (page.entries.is_empty(), &filter.category, &filter.search)
        && household::items(&tasks, &untainted(&cx), list)?.is_empty()
    {
        sentence = format!("There is nothing on {0}: I know no list of that name.", list_name(list));
        if is_shopping_name(list) {
            sentence = format!("There is nothing on {}.", list_name(list));
        }
    }
    page_output(&cx, &page, sentence)
}

/// Whether a list is the one every household has.
fn is_shopping_name(list: &str) -> bool {
    ["shopping", "groceries", "grocery"].contains(&&*list.to_lowercase())
}

/// The sentence of a list: the open tasks by name; if there are none, the finished ones.
fn sentence(cx: &Cx, filter: &Filter, found: &[Entry<Task>], more: bool) -> String {
    let place = filter.category.as_deref().map(list_name);
    let open: Vec<&Entry<Task>> = found.iter().filter(|entry| !entry.value.status.is_over()).collect();
    if let (Some(list), Some(search)) = (&place, &filter.search) {
        return whereabouts(cx, list, search, found, more);
    }
    if filter.overdue {
        let names: Vec<String> = open.iter().map(|entry| named(cx, &entry.value)).collect();
        return match names.len() {
            0 => "Nothing is overdue.".into(),
            1 if !more => listing("One task is overdue", &names, more),
            n => listing(&format!("{}{n} tasks are overdue", if more { "More than " } else { "" }), &names, more),
        };
    }
    if open.is_empty() {
        let over: Vec<String> = found.iter().map(|entry| truncate(&entry.value.title, 60)).collect();
        return match (over.is_empty(), place, filter.status) {
            (false, _, Some(Status::Completed)) => listing("Done", &over, more),
            (false, _, Some(Status::Cancelled)) => listing("Cancelled", &over, more),
            (false, Some(list), _) => listing(&format!("Nothing is left on {list}. Done"), &over, more),
            (false, None, _) => listing("Nothing is left to do. Done", &over, more),
            (true, Some(list), _) => format!("There is nothing on {list}."),
            (true, None, _) if filter.search.is_some() => "I found no task like that.".into(),
            (true, None, Some(Status::Completed)) => "No task is done yet.".into(),
            (true, None, Some(Status::Cancelled)) => "No task is cancelled.".into(),
            (true, None, _) => match filter.due_before.as_ref().map(|when| due_in_sentence(when, cx)) {
                Some(day) if ["today", "tomorrow"].contains(&&*day) => format!("You have nothing to do {day}."),
                Some(_) => "You have nothing to do until then.".into(),
                None => "You have nothing to do.".into(),
            },
        };
    }
    // Finished tasks come last: if one is on this page, all open ones are.
    let more = more && open.len() == found.len();
    let on_list = |task: &Task| match task.category.as_deref().filter(|_| place.is_none()) {
        Some(list) => format!(", on {}", list_name(list)),
        None => String::new(),
    };
    let names: Vec<String> = open.iter().map(|entry| named(cx, &entry.value) + &on_list(&entry.value)).collect();
    let over = if more { "more than " } else { "" };
    match place {
        Some(list) if open.len() == 1 && !more => listing(&format!("There is one thing on {list}"), &names, more),
        Some(list) => listing(&format!("There are {over}{} on {list}", counted(open.len(), "thing")), &names, more),
        None => listing(&format!("You have {over}{}", counted_one(open.len(), "open task")), &names, more),
    }
}

/// Whether something is still on a list, or was ticked off: "have we bought milk yet", "is milk on the list".
fn whereabouts(cx: &Cx, list: &str, search: &str, found: &[Entry<Task>], more: bool) -> String {
    let (over, open): (Vec<&Entry<Task>>, Vec<_>) = found.iter().partition(|entry| entry.value.status.is_over());
    if !open.is_empty() {
        let names: Vec<String> = open.iter().map(|entry| named(cx, &entry.value)).collect();
        return listing(&format!("Still on {list}"), &names, more && over.is_empty());
    }
    let Some(last) = over.first() else { return format!("{} is not on {list}.", quote(search)) };
    let (zone, now) = (cx.ports().clock.zone(), cx.ports().clock.local());
    let when = jiff::Timestamp::from_millisecond(last.value.closed_ms).map(|at| at.to_zoned(zone).date());
    let when = when.map(|day| format!(" {}", records::day_words(day, now.date()))).unwrap_or_default();
    let verb = if last.value.status == Status::Completed { "ticked off" } else { "cancelled" };
    format!("{} was {verb}{when}.", quote(&last.value.title))
}

/// Change a task; fields that are not given stay as they are, and an empty text clears.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    task_id: String,
    /// The new title.
    title: Option<String>,
    /// The new day or time it is due; null or an empty text clears it.
    #[serde(default)]
    due_date: Patch<String>,
    /// How important it is.
    priority: Option<Priority>,
    /// The list or area it belongs to.
    category: Option<String>,
    /// More about it, in place of the old notes.
    notes: Option<String>,
    /// Its status; a completed or cancelled task can be reopened.
    status: Option<Status>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

impl Update {
    fn apply(&self, task: &mut Task, cx: &Cx) -> Result<()> {
        set_required("title", &mut task.title, self.title.as_deref(), TITLE)?;
        set_optional("category", &mut task.category, self.category.as_deref(), CATEGORY)?;
        set_optional("text in notes", &mut task.notes, self.notes.as_deref(), NOTES)?;
        if let Some(due) = self.due_date.change() {
            task.set_due(Due::read(cx, due.map(String::as_str))?);
        }
        task.priority = self.priority.unwrap_or(task.priority);
        task.set_status(self.status.unwrap_or(task.status), cx.ports().clock.now().as_millisecond());
        Ok(())
    }
}

async fn update(tasks: RecordStore<Task>, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { task_id: args.task_id.clone(), ..Update::default() }) {
        let text = "say what to change: the title, dueDate, priority, category, notes, status or shared";
        return Err(Error::bad_args(text).say("What shall I change about it? Say “move the task … to Friday”."));
    }
    let (args, shared) = moved(&tasks, &cx, args)?;
    let (here, update) = (cx.clone(), args.clone());
    let apply = move |task: &mut Task| update.apply(task, &here).map_err(|e| rejected(e.message()));
    let changed = tasks.change(&cx, &args.task_id, shared, apply).await?;
    let title = quote(&changed.value.title);
    let sentence = match args.status {
        Some(Status::Pending) => format!("{title} is open again."),
        Some(Status::InProgress) => format!("{title} is in progress."),
        Some(Status::Completed) => format!("Done: {title}."),
        Some(Status::Cancelled) => format!("{title} is cancelled."),
        None => match (args.due_date.change().is_some(), changed.value.due(&cx), &args.category) {
            (true, Some(due), _) => format!("{title} is due {} now.", due_in_sentence(&due, &cx)),
            (true, None, _) => format!("{title} has no due date now."),
            (_, _, Some(list)) if !list.is_empty() => format!("{title} is on {} now.", list_name(list)),
            _ => format!("I changed {title}."),
        },
    };
    Ok(Output::json(Task::view(&cx, &changed))?.say(sentence))
}

/// A task that moves to another list is seen by those who see that list; one that leaves its list is private again.
fn moved(tasks: &RecordStore<Task>, cx: &Cx, mut args: Update) -> Result<(Update, Option<bool>)> {
    let (Some(given), shared) = (args.category.take(), args.shared) else { return Ok((args.clone(), args.shared)) };
    let to = optional_text("category", Some(&given), CATEGORY)?;
    let to = to.map(|list| household::canonical(tasks, cx, &list)).transpose()?;
    let found = tasks.find_own(cx, &args.task_id)?;
    args.task_id = found.id.to_string();
    args.category = Some(to.clone().unwrap_or_default());
    let folded = |list: &Option<String>| list.as_deref().map(str::to_lowercase);
    if folded(&to) == folded(&found.value.category) || shared.is_some() {
        return Ok((args, shared));
    }
    let seen = match &to {
        Some(list) => household::sharing(tasks, cx, list)?.shared,
        None => false,
    };
    if found.owner != cx.user() {
        let text = "somebody else added this item: move it to another shared list, or add it to yours";
        return if seen { Ok((args, None)) } else { Err(Error::denied(text)) };
    }
    Ok((args, (seen != (found.audience == store::Audience::Household)).then_some(seen)))
}

fn moment(cx: &Cx, what: &str, text: Option<&str>) -> Result<Option<When>> {
    text.filter(|text| !text.trim().is_empty()).map(|text| read_when(cx, what, text)).transpose()
}

/// A task in a list, with its due date.
fn named(cx: &Cx, task: &Task) -> String {
    let title = truncate(&task.title, 60);
    match task.due(cx) {
        Some(due) if task.is_overdue(cx) => format!("{title} (overdue since {})", due_words(&due, cx)),
        Some(due) => format!("{title} ({})", due_words(&due, cx)),
        None => title,
    }
}

/// A due date by itself, or after "since".
fn due_words(due: &When, cx: &Cx) -> String {
    let words = due_in_sentence(due, cx);
    words.strip_prefix("on ").map_or(words.clone(), str::to_owned)
}

/// A due date within a sentence.
fn due_in_sentence(due: &When, cx: &Cx) -> String {
    when_words(due, &cx.ports().clock.local())
}

/// The name of a category as a list: `the shopping list`.
pub(crate) fn list_name(category: &str) -> String {
    let list = if category.to_lowercase().ends_with("list") { "" } else { " list" };
    format!("the {}{list}", truncate(category, 60))
}
