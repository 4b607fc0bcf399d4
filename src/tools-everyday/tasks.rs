//! Tasks: what is to be done, by when, and how far it is. Lists people speak of ("the shopping list") are categories.

mod record;
#[cfg(test)]
mod tests;

use record::{Due, Filter, Priority, Status, Task};
use records::{
    Patch, RecordMeta, RecordStore, batch, iso, join_list, optional_text, page_params, patch_text, quote, read_when,
    record_meta, required_text, truncate, when_words,
};
use store::{Entry, Store};
use text_kit::counted_one;
use tool::{When, prelude::*};

/// The most characters of a title, a category and notes.
const TITLE: usize = 300;
const CATEGORY: usize = 100;
const NOTES: usize = 10_000;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

/// What is to be done.
pub fn family(store: &Store) -> Family<RecordStore<Task>> {
    Family::new("tasks", "What is to be done, by when, and how far it is.", RecordStore::new(store))
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
struct Add {
    /// What is to be done, 300 characters at most.
    title: String,
    /// The day (2026-11-20) or the time (2026-11-20T14:30) it is due.
    due_date: Option<String>,
    /// How much it matters.
    #[serde(default)]
    priority: Priority,
    /// The list or area it belongs to, such as shopping or work.
    category: Option<String>,
    /// More about it.
    notes: Option<String>,
    /// Whether everybody in the household sees it.
    #[serde(default)]
    shared: bool,
}

impl Add {
    /// The task, checked, and whether it is shared.
    fn read(self, cx: &Cx) -> Result<(Task, bool)> {
        let mut task = Task {
            title: required_text("title", &self.title, TITLE)?,
            priority: self.priority,
            category: optional_text("category", self.category.as_deref(), CATEGORY)?,
            notes: optional_text("text in notes", self.notes.as_deref(), NOTES)?,
            ..Task::default()
        };
        task.set_due(Due::read(cx, self.due_date.as_deref())?);
        Ok((task, self.shared))
    }
}

async fn add(tasks: RecordStore<Task>, cx: Cx, args: Add) -> Result<Output> {
    let (task, shared) = args.read(&cx)?;
    let added = tasks.add(&cx, "add_task", task, shared).await?;
    let task = &added.value;
    let to = task.category.as_deref().map(|c| format!(" to {}", list_name(c))).unwrap_or_default();
    let by = task.due(&cx).map(|due| format!(" for {}", due_words(&due, &cx))).unwrap_or_default();
    let sentence = format!("I added {}{to}{by}.", quote(&task.title));
    Ok(Output::json(view(&cx, &added))?.say(sentence))
}

/// Add several tasks at once: all of them, or none when one is wrong.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddAll {
    /// The tasks, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    tasks: Vec<Add>,
}

async fn add_all(tasks: RecordStore<Task>, cx: Cx, args: AddAll) -> Result<Output> {
    let read = batch("task", args.tasks, |task| task.read(&cx))?;
    let added = tasks.add_all(&cx, "batch_add_tasks", read).await?;
    let titles: Vec<String> = added.iter().map(|task| task.value.title.clone()).collect();
    let sentence = format!("I added {}: {}.", counted_one(added.len(), "task"), join_list(&titles, false));
    let views: Vec<View> = added.iter().map(|task| view(&cx, task)).collect();
    Ok(Output::json(json!({"added": views.len(), "tasks": views}))?.say(sentence))
}

/// List tasks: open ones by due date, then those that are over, the latest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those with this status.
    status: Option<Status>,
    /// Only those with this priority.
    priority: Option<Priority>,
    /// Only those of this list or area.
    category: Option<String>,
    /// Words that occur in the title or the notes.
    search: Option<String>,
    /// Only those due by the end of this day, or by this time; open ones unless a status is given.
    due_before: Option<String>,
    /// Only those due from this day or time on; open ones unless a status is given.
    due_after: Option<String>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(tasks: RecordStore<Task>, cx: Cx, args: List) -> Result<Output> {
    let filter = Filter {
        status: args.status,
        priority: args.priority,
        category: optional_text("category", args.category.as_deref(), CATEGORY)?,
        search: optional_text("search", args.search.as_deref(), TITLE)?,
        due_before: moment(&cx, "dueBefore", args.due_before.as_deref())?,
        due_after: moment(&cx, "dueAfter", args.due_after.as_deref())?,
    };
    let place = page_params(args.offset, args.limit, LISTED);
    let page = tasks.page(&cx, &filter.walk(&cx)?, place, |entry| filter.wants(&cx, entry))?;
    let sentence = sentence(&cx, &filter, &page.entries, page.more);
    let views: Vec<View> = page.entries.iter().map(|task| view(&cx, task)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "tasks": views}))?.say(sentence))
}

/// What a list says: the open ones by name, and only if there are none those that are over.
fn sentence(cx: &Cx, filter: &Filter, found: &[Entry<Task>], more: bool) -> String {
    let place = filter.category.as_deref().map(list_name);
    let open: Vec<&Entry<Task>> = found.iter().filter(|entry| !entry.value.status.is_over()).collect();
    if open.is_empty() {
        let over: Vec<String> = found.iter().map(|entry| entry.value.title.clone()).collect();
        return match (over.is_empty(), place) {
            (false, Some(list)) => format!("Nothing is left on {list}; done: {}.", join_list(&over, more)),
            (false, None) => format!("Nothing is left to do; done: {}.", join_list(&over, more)),
            (true, Some(list)) => format!("There is nothing on {list}."),
            (true, None) if filter.search.is_some() => "I found no such task.".into(),
            (true, None) => "There is nothing to do.".into(),
        };
    }
    // What is over comes last: where it begins, all open ones are known.
    let more = more && open.len() == found.len();
    let names: Vec<String> = open.iter().map(|entry| named(cx, &entry.value)).collect();
    let names = join_list(&names, more);
    match place {
        Some(list) => format!("On {list}: {names}."),
        None if more => format!("You have more than {}: {names}.", counted_one(open.len(), "task")),
        None => format!("You have {}: {names}.", counted_one(open.len(), "task")),
    }
}

/// Mark a task as done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Complete {
    /// Its id, or its title.
    task_id: String,
}

async fn complete(tasks: RecordStore<Task>, cx: Cx, args: Complete) -> Result<Output> {
    let now_ms = cx.ports().clock.now().as_millisecond();
    let already = |entry: &Entry<Task>| {
        let sentence = format!("{} was done already.", quote(&entry.value.title));
        Ok(Output::json(view(&cx, entry))?.say(sentence))
    };
    let is_done = |entry: &Entry<Task>| entry.value.status == Status::Completed;
    let found = match tasks.last_finished(&cx, &args.task_id)? {
        Some(last) => last,
        None => tasks.find_own(&cx, &args.task_id)?,
    };
    if is_done(&found) {
        return already(&found);
    }
    let id = found.id.to_string();
    let finish = move |task: &mut Task| {
        task.set_status(Status::Completed, now_ms);
        Ok(())
    };
    let done = tasks.change(&cx, &id, None, finish).await?;
    Ok(Output::json(view(&cx, &done))?.say(format!("Done: {}.", quote(&done.value.title))))
}

/// Change a task; what is not given stays as it is, and an empty text clears.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    task_id: String,
    /// The new title.
    title: Option<String>,
    /// The day or time it is due from now on; null or an empty text clears it.
    #[serde(default)]
    due_date: Patch<String>,
    /// How much it matters.
    priority: Option<Priority>,
    /// The list or area it belongs to.
    category: Option<String>,
    /// More about it, in place of what was there.
    notes: Option<String>,
    /// How far it is; one that is over can be reopened.
    status: Option<Status>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(tasks: RecordStore<Task>, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { task_id: args.task_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args(
            "say what to change: the title, dueDate, priority, category, notes, status or shared",
        ));
    }
    let title = args.title.as_deref().map(|title| required_text("title", title, TITLE)).transpose()?;
    let category = patch_text("category", args.category.as_deref(), CATEGORY)?;
    let notes = patch_text("text in notes", args.notes.as_deref(), NOTES)?;
    let due = match &args.due_date {
        Patch::Not => None,
        Patch::Null => Some(None),
        Patch::Value(text) => Some(Due::read(&cx, Some(text))?),
    };
    let now_ms = cx.ports().clock.now().as_millisecond();
    let (priority, status) = (args.priority, args.status);
    let changed = tasks.change(&cx, &args.task_id, args.shared, move |task| {
        task.title = title.clone().unwrap_or_else(|| task.title.clone());
        if let Some(due) = due.clone() {
            task.set_due(due);
        }
        task.priority = priority.unwrap_or(task.priority);
        task.category = category.clone().unwrap_or_else(|| task.category.clone());
        task.notes = notes.clone().unwrap_or_else(|| task.notes.clone());
        task.set_status(status.unwrap_or(task.status), now_ms);
        Ok(())
    });
    let changed = changed.await?;
    let title = quote(&changed.value.title);
    let sentence = match args.status {
        Some(Status::Pending) => format!("{title} is open again."),
        Some(Status::InProgress) => format!("{title} is in progress."),
        Some(Status::Completed) => format!("Done: {title}."),
        Some(Status::Cancelled) => format!("{title} is cancelled."),
        None => format!("I changed {title}."),
    };
    Ok(Output::json(view(&cx, &changed))?.say(sentence))
}

/// Delete a task for good. To finish one use complete_task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Its id, or its title.
    task_id: String,
}

async fn delete(tasks: RecordStore<Task>, cx: Cx, args: Delete) -> Result<Output> {
    let gone = tasks.remove(&cx, &args.task_id).await?;
    let sentence = format!("I deleted the task {}.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "title": gone.value.title}))?.say(sentence))
}

/// A task, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    told: RecordMeta,
    title: &'a str,
    status: Status,
    priority: Priority,
    due_date: Option<&'a str>,
    category: Option<&'a str>,
    notes: Option<&'a str>,
    completed_at: Option<String>,
    overdue: bool,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Task>) -> View<'a> {
    let (task, zone) = (&entry.value, cx.ports().clock.zone());
    View {
        told: record_meta(entry, &zone),
        title: &task.title,
        status: task.status,
        priority: task.priority,
        due_date: task.due.as_deref(),
        category: task.category.as_deref(),
        notes: task.notes.as_deref(),
        completed_at: (task.status == Status::Completed).then(|| iso(task.closed_ms, &zone)),
        overdue: task.is_overdue(cx),
    }
}

fn moment(cx: &Cx, what: &str, text: Option<&str>) -> Result<Option<When>> {
    text.filter(|text| !text.trim().is_empty()).map(|text| read_when(cx, what, text)).transpose()
}

/// A task in a list: with when it is due.
fn named(cx: &Cx, task: &Task) -> String {
    let title = truncate(&task.title, 60);
    match task.due(cx) {
        Some(due) if task.is_overdue(cx) => format!("{title} (overdue since {})", due_words(&due, cx)),
        Some(due) => format!("{title} ({})", due_words(&due, cx)),
        None => title,
    }
}

/// When something is due, behind "for" or "since".
fn due_words(due: &When, cx: &Cx) -> String {
    let words = when_words(due, &cx.ports().clock.local());
    words.strip_prefix("on ").map_or(words.clone(), str::to_owned)
}

/// What people call the tasks of a category: `the shopping list`.
fn list_name(category: &str) -> String {
    let list = if category.to_lowercase().ends_with("list") { "" } else { " list" };
    format!("the {}{list}", truncate(category, 60))
}
