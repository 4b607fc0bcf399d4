//! Goals with steps and subgoals.

mod record;
mod split;
mod steps;
#[cfg(test)]
mod tests;
mod view;

use crate::json_text::{non_empty, search};
use record::{BY_PARENT_RANK, BY_RANK, BY_STATUS, Goal, Goals, Status, due, may_be_part};
use records::{
    Patch, contains_all_words, counted, optional_text, page_params, publish_change, quote, rejected, required_text,
    set_optional, set_required, truncate, when_words,
};
use std::time::Duration;
use store::{Coded, Entry, Store, Visit, Walk};
use text_kit::{counted_one, listing};
use tool::{Label, Scope, When, prelude::*};

/// The most characters of a title, a description, a category.
const TITLE: usize = 200;
const LONG: usize = 4000;
const CATEGORY: usize = 60;
/// The time limit of breaking a goal down, which may ask a model.
const PATIENCE: Duration = Duration::from_secs(90);
/// The default and the largest limit of a list.
const LIMIT: (u32, u32) = (10, 30);

/// Goals with steps and subgoals.
pub fn family(store: &Store) -> Family<Goals> {
    Family::new("goals", "Goals, and the steps toward them.", Goals::new(store))
        .area(Area::Memory)
        .phrases(include_str!("../goals.en"))
        .tool("create_goal", Risk::Write, create)
        .additive()
        .tags("objective target aim plan resolution project achieve")
        .tool("list_goals", Risk::Observe, list)
        .page(LIMIT)
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
        .page(view::LIMIT)
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

/// An active goal, for prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveGoal {
    /// Its title.
    pub title: String,
    /// Its description; may be empty.
    pub about: String,
    /// The due day or time, as ISO text.
    pub due: Option<String>,
}

/// The first `most` active goals that this caller can see, the most important first. Leaves out those from outside, which
/// would taint every run.
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
        if entry.label != Label::Own {
            return Visit::No;
        }
        left -= 1;
        Visit::Yes
    })?;
    let view =
        |goal: Goal| ActiveGoal { title: goal.title, about: goal.description.unwrap_or_default(), due: goal.due };
    Ok(found.into_iter().map(|entry| view(entry.value)).collect())
}

/// Create a goal: something to work toward over a longer time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct New {
    /// The goal to achieve.
    title: String,
    /// More about it.
    description: Option<String>,
    /// A word to group it by, such as "health".
    category: Option<String>,
    /// 1 to 10, higher = more important.
    #[serde(default = "middle")]
    #[schemars(range(min = 1, max = 10))]
    priority: u8,
    /// The id or title of its parent goal.
    parent_id: Option<String>,
    /// When it is due (ISO date or date-time).
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
    let added = added.await?.pop().ok_or_else(|| Error::failed("the goal was not saved: try again"))?;
    let title = quote(&added.value.title);
    let sentence = match (&parent, due_words(&cx, &added.value)) {
        (Some(parent), _) => format!("{title} is now a part of {}.", quote(&parent.value.title)),
        (None, Some(due)) => format!("I saved the goal {title}, due {due}."),
        (None, None) => format!("I saved the goal {title}."),
    };
    Ok(Output::json(goals.to_json(&cx, &added)?)?.say(sentence))
}

/// Its due date in words.
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
    /// Only subgoals of this goal, by its id or title.
    parent_id: Option<String>,
    /// Only of this category.
    category: Option<String>,
    /// Words in the title, description or notes.
    search: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
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
    let views = page.entries.iter().map(|entry| goals.to_json(&cx, entry)).collect::<Result<Vec<Value>>>()?;
    let named = |e: &Entry<Goal>| match due_words(&cx, &e.value).filter(|_| e.value.status == Status::Active) {
        Some(due) => format!("{} (due {due})", truncate(&e.value.title, 80)),
        None => truncate(&e.value.title, 80),
    };
    let names: Vec<String> = page.entries.iter().map(named).collect();
    let of = args.status.map(|s| format!("{} ", s.word())).unwrap_or_default();
    let sentence = match views.len() {
        0 => format!("You have no {of}goals."),
        n if page.more => listing(&format!("You have more than {}", counted(n, &format!("{of}goal"))), &names, true),
        n => listing(&format!("You have {}", counted_one(n, &format!("{of}goal"))), &names, false),
    };
    Ok(Output::json(json!({"count": views.len(), "goals": views, "hasMore": page.more}))?.say(sentence))
}

/// Change a goal; fields that are not given stay as they are, and an empty text clears optional ones.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// The id of the goal, or its title.
    goal_id: String,
    /// Its status.
    status: Option<Status>,
    /// In percent; by default the share of completed steps. Completing a step returns to the default.
    #[schemars(range(min = 0, max = 100))]
    progress: Option<u8>,
    /// The goal to achieve.
    title: Option<String>,
    /// More about it.
    description: Option<String>,
    /// A word to group it by.
    category: Option<String>,
    /// 1 to 10, higher = more important.
    #[schemars(range(min = 1, max = 10))]
    priority: Option<u8>,
    /// When it is due (ISO date or date-time); null clears it.
    #[serde(default)]
    due_date: Patch<String>,
    /// The id or title of its parent goal; null removes it from its parent.
    #[serde(default)]
    parent_id: Patch<String>,
    /// Notes on its progress.
    notes: Option<String>,
    /// Whether everybody in the household may see it and its steps.
    shared: Option<bool>,
}

impl Update {
    /// Changes a goal; `parent` is the new parent, if it changes.
    fn apply(&self, g: &mut Goal, cx: &Cx, parent: Option<Option<Id>>) -> Result<()> {
        set_required("title", &mut g.title, self.title.as_deref(), TITLE)?;
        set_optional("description", &mut g.description, self.description.as_deref(), LONG)?;
        set_optional("category", &mut g.category, self.category.as_deref(), CATEGORY)?;
        set_optional("notes", &mut g.notes, self.notes.as_deref(), LONG)?;
        g.priority = self.priority.map_or(Ok(g.priority), priority)?;
        g.parent = parent.unwrap_or(g.parent);
        if let Some(text) = self.due_date.change() {
            (g.due, g.due_ms) = due(cx, text.map(String::as_str))?;
        }
        match self.progress {
            Some(progress) if progress > 100 => {
                return Err(Error::bad_args(format!("the progress is {progress}: give 0 to 100, in percent")));
            }
            Some(progress) => (g.progress, g.by_hand) = (progress, true),
            None => {}
        }
        if let Some(status) = self.status.filter(|status| *status != g.status) {
            g.status = status;
            g.completed_ms = if status == Status::Completed { now_ms(cx) } else { 0 };
        }
        Ok(())
    }
}

/// Now: milliseconds since 1970.
fn now_ms(cx: &Cx) -> u64 {
    u64::try_from(cx.ports().clock.now().as_millisecond()).unwrap_or(0).max(1)
}

async fn update(goals: Goals, cx: Cx, args: Update) -> Result<Output> {
    let found = goals.goals.find_own(&cx, &args.goal_id)?;
    if args == (Update { goal_id: args.goal_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args(
            "say what to change: status, progress, title, description, category, priority, dueDate, parentId, notes or \
             shared",
        ));
    }
    let parent = match args.parent_id.change() {
        Some(Some(parent)) if !parent.trim().is_empty() => Some(Some(goals.goals.find_own(&cx, parent)?.id)),
        change => change.map(|_| None),
    };
    let now = write(&goals, &cx, found.id, args.clone(), parent).await?;
    let (title, before) = (quote(&now.value.title), found.value.status);
    let sentence = match now.value.status {
        Status::Completed if before != Status::Completed => format!("Well done: {title} is completed."),
        status if before != status => format!("{title} is {} now.", status.word()),
        _ => match args.progress {
            Some(progress) => format!("{title} is at {progress}%."),
            None => format!("I changed the goal {title}."),
        },
    };
    Ok(Output::json(goals.to_json(&cx, &now)?)?.say(sentence))
}

/// Writes a change; refuses cycles of parents, and shares the steps with the goal.
async fn write(goals: &Goals, cx: &Cx, id: Id, update: Update, parent: Option<Option<Id>>) -> Result<Entry<Goal>> {
    let (records, steps, scope) =
        (goals.goals.records().clone(), goals.steps.records().clone(), Scope::User(cx.user()));
    let (which, shared, here) = (id.to_string(), update.shared, cx.clone());
    let make = move |goal: &mut Goal| update.apply(goal, &here, parent).map_err(|e| rejected(e.message()));
    let written = goals.goals.change_with(cx, &which, shared, make, move |tx, goal| {
        parent.flatten().map_or(Ok(()), |parent| may_be_part(&records, tx, scope, id, parent))?;
        if shared.is_some() {
            for step in record::steps(&steps, tx, scope, id)?.iter().filter(|step| step.audience != goal.audience) {
                steps.share(tx, scope, step.id, goal.audience)?;
            }
        }
        Ok(())
    });
    written.await
}

/// Delete a goal with its steps; its subgoals move to its parent. It can be restored for 30 days.
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
