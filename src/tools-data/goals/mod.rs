//! Goals: what somebody works toward, in steps and in goals of its own.

mod record;
mod split;
mod steps;
#[cfg(test)]
mod tests;
mod view;

use crate::json_text::{non_empty, search};
use record::{BY_PARENT_RANK, BY_RANK, BY_STATUS, Goal, Goals, Status, due, may_be_part};
use records::{
    Patch, contains_all_words, join_list, optional_text, page_params, patch_text, publish_change, quote, required_text,
    when_words,
};
use std::time::Duration;
use store::{Coded, Entry, Store, Visit, Walk};
use text_kit::counted;
use tool::{Label, Scope, When, prelude::*};

/// The most characters of a title, a description, a category.
const TITLE: usize = 200;
const LONG: usize = 4000;
const CATEGORY: usize = 60;
/// How long breaking a goal down may take, for a model may be asked.
const PATIENCE: Duration = Duration::from_secs(90);
/// How many are answered without a word about it, and at most.
const LIMIT: (u32, u32) = (10, 30);

/// What a person works toward.
pub fn family(store: &Store) -> Family<Goals> {
    Family::new("goals", "Set goals, break them into steps, and see what comes next.", Goals::new(store))
        .area(Area::Memory)
        .phrases(include_str!("../goals.en"))
        .tool("create_goal", Risk::Write, create)
        .additive()
        .tags("objective target aim plan resolution project achieve")
        .tool("list_goals", Risk::Observe, list)
        .tags("objectives targets aims show progress")
        .tool("update_goal", Risk::Write, update)
        .tags("edit change progress pause resume complete abandon finish objective")
        .persists_instructions()
        .tool("delete_goal", Risk::Destroy, delete)
        .tags("remove erase objective")
        .tool("decompose_goal", Risk::Write, steps::decompose)
        .additive()
        .tags("break down split plan steps milestones subgoals")
        .timeout(PATIENCE)
        .tool("get_next_actions", Risk::Observe, view::next)
        .tags("what next steps do todo recommended actions")
        .tool("complete_step", Risk::Write, steps::complete)
        .tags("done finish tick check milestone")
        .tool("update_step", Risk::Write, steps::update)
        .tags("edit change rename reopen milestone")
        .persists_instructions()
        .tool("delete_step", Risk::Destroy, steps::delete)
        .tags("remove erase milestone")
        .tool("get_goal_details", Risk::Observe, view::details)
        .tags("objective steps milestones subgoals progress")
        .tool("goal_stats", Risk::Observe, view::stats)
        .tags("statistics overview report progress objectives how many")
}

/// A goal somebody works toward, for whoever has to know of it unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveGoal {
    /// What is to be reached.
    pub title: String,
    /// More about it; may be empty.
    pub about: String,
    /// When: a day or a moment, as ISO text.
    pub due: Option<String>,
}

/// The active goals this caller may see, the most important first, `most` of them. What came from outside is not among them:
/// unasked it would taint every run.
///
/// # Errors
/// `Failed` when the data cannot be read.
pub fn active(store: &Store, cx: &Cx, most: usize) -> Result<Vec<ActiveGoal>> {
    let mut left = most;
    let walk = Walk::prefix(BY_STATUS, [Status::Active.code()]);
    let found = Goals::new(store).goals.records().walk(cx, &walk, |entry| {
        if left == 0 {
            return Visit::Stop;
        }
        if entry.label == Label::Outside {
            return Visit::No;
        }
        left -= 1;
        Visit::Yes
    })?;
    let told =
        |goal: Goal| ActiveGoal { title: goal.title, about: goal.description.unwrap_or_default(), due: goal.due };
    Ok(found.into_iter().map(|entry| told(entry.value)).collect())
}

/// Set a goal: something to work toward over a longer time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct New {
    /// What is to be reached.
    title: String,
    /// More about it.
    description: Option<String>,
    /// A word to group it by, such as "health".
    category: Option<String>,
    /// 1 to 10, higher = more important.
    #[serde(default = "middle")]
    #[schemars(range(min = 1, max = 10))]
    priority: u8,
    /// The id or title of the goal it is a part of.
    parent_id: Option<String>,
    /// When it is to be reached (ISO date or date-time).
    due_date: Option<String>,
    /// Whether everybody in the household may see it.
    #[serde(default)]
    shared: bool,
}

fn middle() -> u8 {
    5
}

fn priority(given: u8) -> Result<u8> {
    if (1..=record::HIGHEST).contains(&given) {
        return Ok(given);
    }
    Err(Error::bad_args(format!("the priority is {given}: give 1 to 10, 10 is the most important")))
}

async fn create(goals: Goals, cx: Cx, new: New) -> Result<Output> {
    let (due, due_ms) = due(&cx, new.due_date.as_deref())?;
    let parent = non_empty(new.parent_id).map(|p| goals.goals.find_own(&cx, &p)).transpose()?;
    let goal = Goal {
        title: required_text("title", &new.title, TITLE)?,
        description: optional_text("description", new.description.as_deref(), LONG)?,
        category: optional_text("category", new.category.as_deref(), CATEGORY)?,
        priority: priority(new.priority)?,
        parent: parent.as_ref().map(|p| p.id),
        due,
        due_ms,
        ..Goal::default()
    };
    let records = goals.goals.records().clone();
    let scope = Scope::User(cx.user());
    let added = goals.goals.add_all_with(&cx, "create_goal", vec![(goal, new.shared)], move |tx, goal| {
        let parent = goal.value.parent.iter();
        parent.copied().try_for_each(|parent| may_be_part(&records, tx, scope, goal.id, parent))
    });
    let added = added.await?.pop().ok_or_else(|| Error::failed("the goal was not kept: try again"))?;
    let title = quote(&added.value.title);
    let sentence = match (&parent, due_words(&cx, &added.value)) {
        (Some(parent), _) => format!("{title} is now a part of {}.", quote(&parent.value.title)),
        (None, Some(due)) => format!("I keep the goal {title}, due {due}."),
        (None, None) => format!("I keep the goal {title}."),
    };
    Ok(Output::json(goals.to_json(&cx, &added)?)?.say(sentence))
}

/// Its due date as people say it.
fn due_words(cx: &Cx, goal: &Goal) -> Option<String> {
    let now = cx.ports().clock.local();
    let due = When::read(goal.due.as_ref()?, now.time_zone()).ok()?;
    Some(when_words(&due, &now))
}

/// List goals, the most important first, then by due date.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only with this status.
    status: Option<Status>,
    /// Only the parts of this goal, by its id or title.
    parent_id: Option<String>,
    /// Only of this category.
    category: Option<String>,
    /// Words in the title, description or notes.
    search: Option<String>,
    /// Max results (default: 10, max: 30).
    limit: Option<u32>,
    /// How many to leave out before the first.
    offset: Option<u32>,
}

async fn list(goals: Goals, cx: Cx, args: List) -> Result<Output> {
    let parent = non_empty(args.parent_id).map(|p| goals.goals.find(&cx, &p)).transpose()?;
    let walk = match (&parent, args.status) {
        (Some(parent), _) => Walk::prefix(BY_PARENT_RANK, parent.id.as_bytes()),
        (None, Some(status)) => Walk::prefix(BY_STATUS, [status.code()]),
        (None, None) => Walk::prefix(BY_RANK, []),
    };
    let category = non_empty(args.category).map(|c| c.trim().to_lowercase());
    let search = search(args.search)?;
    let wanted = |entry: &Entry<Goal>| {
        let g = &entry.value;
        let texts = || [g.title.as_str(), g.description.as_deref().unwrap_or(""), g.notes.as_deref().unwrap_or("")];
        args.status.is_none_or(|status| status == g.status)
            && category.as_ref().is_none_or(|c| g.category.as_ref().is_some_and(|of| of.to_lowercase() == *c))
            && search.as_ref().is_none_or(|search| contains_all_words(search, &texts()))
    };
    let page = goals.goals.page(&cx, &walk, page_params(args.offset, args.limit, LIMIT), wanted)?;
    let told = page.entries.iter().map(|entry| goals.to_json(&cx, entry)).collect::<Result<Vec<Value>>>()?;
    let names: Vec<String> = page.entries.iter().map(|e| quote(&e.value.title)).collect();
    let of = args.status.map(|s| format!("{} ", s.word())).unwrap_or_default();
    let sentence = match told.len() {
        0 => format!("There are no {of}goals."),
        _ if page.more => format!("The first {} {of}goals: {}.", told.len(), join_list(&names, true)),
        n => format!("{}: {}.", counted(n, &format!("{of}goal")), join_list(&names, false)),
    };
    Ok(Output::json(json!({"count": told.len(), "goals": told, "hasMore": page.more}))?.say(sentence))
}

/// Change a goal; what is not given stays as it is, and an empty text clears what may be left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// The id of the goal, or its title.
    goal_id: String,
    /// How it stands.
    status: Option<Status>,
    /// In percent; without it progress is the share of the steps that are done. The next step that is completed counts
    /// anew.
    #[schemars(range(min = 0, max = 100))]
    progress: Option<u8>,
    /// What is to be reached.
    title: Option<String>,
    /// More about it.
    description: Option<String>,
    /// A word to group it by.
    category: Option<String>,
    /// 1 to 10, higher = more important.
    #[schemars(range(min = 1, max = 10))]
    priority: Option<u8>,
    /// When it is to be reached (ISO date or date-time); null clears it.
    #[serde(default)]
    due_date: Patch<String>,
    /// The id or title of the goal it is a part of; null makes it stand alone.
    #[serde(default)]
    parent_id: Patch<String>,
    /// How it goes.
    notes: Option<String>,
    /// Whether everybody in the household may see it and its steps.
    shared: Option<bool>,
}

/// What is to be changed, checked.
#[derive(Clone, Default, PartialEq)]
struct Change {
    status: Option<Status>,
    progress: Option<u8>,
    title: Option<String>,
    description: Option<Option<String>>,
    category: Option<Option<String>>,
    priority: Option<u8>,
    due: Option<(Option<String>, i64)>,
    parent: Option<Option<Id>>,
    notes: Option<Option<String>>,
}

impl Change {
    fn make(&self, g: &mut Goal, now_ms: u64) {
        let Change { title, description, category, notes, due, .. } = self.clone();
        g.title = title.unwrap_or_else(|| g.title.clone());
        g.description = description.unwrap_or_else(|| g.description.take());
        g.category = category.unwrap_or_else(|| g.category.take());
        g.notes = notes.unwrap_or_else(|| g.notes.take());
        g.priority = self.priority.unwrap_or(g.priority);
        g.parent = self.parent.unwrap_or(g.parent);
        if let Some((due, due_ms)) = due {
            (g.due, g.due_ms) = (due, due_ms);
        }
        if let Some(progress) = self.progress {
            (g.progress, g.by_hand) = (progress, true);
        }
        if let Some(status) = self.status.filter(|status| *status != g.status) {
            g.status = status;
            g.completed_ms = if status == Status::Completed { now_ms } else { 0 };
        }
    }
}

/// Now: milliseconds since 1970.
fn now_ms(cx: &Cx) -> u64 {
    u64::try_from(cx.ports().clock.now().as_millisecond()).unwrap_or(0).max(1)
}

async fn update(goals: Goals, cx: Cx, args: Update) -> Result<Output> {
    let found = goals.goals.find_own(&cx, &args.goal_id)?;
    if let Some(progress) = args.progress.filter(|p| *p > 100) {
        return Err(Error::bad_args(format!("the progress is {progress}: give 0 to 100, in percent")));
    }
    let change = Change {
        status: args.status,
        progress: args.progress,
        title: args.title.map(|t| required_text("title", &t, TITLE)).transpose()?,
        description: patch_text("description", args.description.as_deref(), LONG)?,
        category: patch_text("category", args.category.as_deref(), CATEGORY)?,
        priority: args.priority.map(priority).transpose()?,
        due: match args.due_date {
            Patch::Not => None,
            Patch::Null => Some(due(&cx, None)?),
            Patch::Value(text) => Some(due(&cx, Some(&text))?),
        },
        parent: match args.parent_id {
            Patch::Not => None,
            Patch::Value(parent) if !parent.trim().is_empty() => Some(Some(goals.goals.find_own(&cx, &parent)?.id)),
            _ => Some(None),
        },
        notes: patch_text("notes", args.notes.as_deref(), LONG)?,
    };
    if change == Change::default() && args.shared.is_none() {
        return Err(Error::bad_args(
            "say what to change: status, progress, title, description, category, priority, dueDate, parentId, notes or \
             shared",
        ));
    }
    let now = write(&goals, &cx, found.id, change, args.shared).await?;
    let (title, before) = (quote(&now.value.title), found.value.status);
    let sentence = match now.value.status {
        Status::Completed if before != Status::Completed => format!("Well done: {title} is completed."),
        status if before != status => format!("{title} is {} now.", status.word()),
        _ => match args.progress {
            Some(progress) => format!("{title} stands at {progress} %."),
            None => format!("I changed the goal {title}."),
        },
    };
    Ok(Output::json(goals.to_json(&cx, &now)?)?.say(sentence))
}

/// Makes a change, sees to it that no goal becomes a part of itself, and shows the steps to whoever sees the goal.
async fn write(goals: &Goals, cx: &Cx, id: Id, change: Change, shared: Option<bool>) -> Result<Entry<Goal>> {
    let (records, steps, scope) =
        (goals.goals.records().clone(), goals.steps.records().clone(), Scope::User(cx.user()));
    let (parent, which, now_ms) = (change.parent.flatten(), id.to_string(), now_ms(cx));
    let make = move |goal: &mut Goal| {
        change.make(goal, now_ms);
        Ok(())
    };
    let written = goals.goals.change_with(cx, &which, shared, make, move |tx, goal| {
        parent.iter().try_for_each(|parent| may_be_part(&records, tx, scope, id, *parent))?;
        if shared.is_some() {
            for step in record::steps(&steps, tx, scope, id)?.iter().filter(|step| step.audience != goal.audience) {
                steps.share(tx, scope, step.id, goal.audience)?;
            }
        }
        Ok(())
    });
    written.await
}

/// Delete a goal for good, with its steps; goals that were parts of it become parts of what it was a part of.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// The id of the goal, or its title.
    goal_id: String,
}

async fn delete(goals: Goals, cx: Cx, args: Delete) -> Result<Output> {
    let found = goals.goals.find_own(&cx, &args.goal_id)?;
    let (records, steps, id) = (goals.goals.records().clone(), goals.steps.records().clone(), found.id);
    let (scope, label) = (Scope::User(cx.user()), cx.label());
    let written = goals.goals.records().store().write(move |tx| {
        let Some(goal) = records.read(tx, scope, id)? else { return Ok(None) };
        for part in record::parts(&records, tx, scope, id)? {
            records.change(tx, scope, label, part.id, &mut |part| {
                part.parent = goal.value.parent;
                Ok(())
            })?;
        }
        let gone = record::steps(&steps, tx, scope, id)?;
        for step in &gone {
            steps.remove(tx, scope, step.id)?;
        }
        records.remove(tx, scope, id)?;
        Ok(Some(gone.len()))
    });
    let Some(steps) = written.await? else {
        let text = format!("the goal {} is gone already: `list_goals` shows what there is", quote(&found.value.title));
        return Err(Error::not_found(text));
    };
    publish_change(&cx, &found, "deleted");
    let title = quote(&found.value.title);
    let sentence = match steps {
        0 => format!("I deleted the goal {title}."),
        n => format!("I deleted the goal {title} with its {}.", counted(n, "step")),
    };
    Ok(Output::json(json!({"deleted": true, "id": id, "stepsDeleted": steps}))?.say(sentence))
}
