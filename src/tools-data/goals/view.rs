//! Tools that show goals: next actions, details, statistics.

use super::record::{self, BY_DONE, BY_RANK, BY_STATUS, Goal, Goals, Status, is_overdue};
use crate::json_text::non_empty;
use jiff::{Timestamp, civil::Date};
use records::{counted, page_params, quote, truncate};
use store::{Coded, Entry, Visit, Walk};
use text_kit::{counted_one, join_and, listing};
use tool::{Label, prelude::*};

/// How many are answered without a word about it, and at most.
pub(crate) const LIMIT: (u32, u32) = (5, 20);
/// How many active goals are searched for next actions.
const SCANNED: usize = 500;
/// The most goals without steps in a result.
const HINTS: usize = 5;

/// List the next actions: the first open step of each active goal, the most important goal first; or the open steps of one
/// goal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Next {
    /// Only this goal, by its id or title.
    goal_id: Option<String>,
    limit: Option<u32>,
}

pub(super) async fn next(goals: Goals, cx: Cx, args: Next) -> Result<Output> {
    let (_, limit) = page_params(None, args.limit, LIMIT);
    let goal = non_empty(args.goal_id).map(|g| goals.goals.find(&cx, &g)).transpose()?;
    let mut actions = vec![];
    let others = match &goal {
        Some(goal) => {
            let open = goals.open_steps(&cx, goal.id, limit)?;
            actions.extend(open.iter().map(|step| action(&cx, goal, step)));
            let mut below = goals.below(&cx, goal.id)?;
            below.retain(|part| part.value.status == Status::Active);
            below
        }
        None => active(&goals, &cx)?,
    };
    let mut bare = vec![];
    for of in others {
        if actions.len() >= limit {
            break;
        }
        match goals.open_steps(&cx, of.id, 1)?.first() {
            Some(step) => actions.push(action(&cx, &of, step)),
            None if bare.len() < HINTS && is_bare(&goals, &cx, &of)? => {
                bare.push(json!({"id": of.id, "title": of.value.title}));
            }
            None => {}
        }
    }
    let named = |a: &Value| {
        let (step, of) = (a["title"].as_str()?, a["goalTitle"].as_str()?);
        Some(if goal.is_some() {
            truncate(step, 80)
        } else {
            format!("{} (for “{}”)", truncate(step, 80), truncate(of, 60))
        })
    };
    let first: Vec<String> = actions.iter().filter_map(named).collect();
    let sentence = match (first.as_slice(), &goal) {
        ([], Some(goal)) => format!("{} has no open steps.", quote(&goal.value.title)),
        ([], None) if bare.is_empty() => "You have no open steps.".to_owned(),
        ([], None) => "Your goals have no steps yet. Add some on the page.".to_owned(),
        ([one], _) => format!("Next: {one}."),
        (first, Some(goal)) => listing(&format!("The next steps for {}", quote(&goal.value.title)), first, false),
        (first, None) => listing("Your next steps", first, false),
    };
    let content = json!({"count": actions.len(), "actions": actions, "goalsWithoutSteps": bare});
    Ok(Output::json(content)?.say(sentence))
}

/// The active goals, by rank.
fn active(goals: &Goals, cx: &Cx) -> Result<Vec<Entry<Goal>>> {
    let (walk, mut scanned) = (Walk::prefix(BY_STATUS, [Status::Active.code()]), 0);
    Ok(goals.goals.records().walk(cx, &walk, |_| {
        scanned += 1;
        if scanned <= SCANNED { Visit::Yes } else { Visit::Stop }
    })?)
}

/// Whether a goal has neither steps nor subgoals.
fn is_bare(goals: &Goals, cx: &Cx, goal: &Entry<Goal>) -> Result<bool> {
    let (steps, below, _) = goals.progress(cx, goal)?;
    Ok(steps.all + below.all == 0)
}

fn action(cx: &Cx, goal: &Entry<Goal>, step: &Entry<record::Step>) -> Value {
    let mut action = record::step(cx, step);
    action["goalTitle"] = json!(goal.value.title);
    action["goalPriority"] = json!(goal.value.priority);
    action["goalDueDate"] = json!(goal.value.due);
    action["goalOverdue"] = json!(is_overdue(cx, &goal.value));
    action
}

/// Show one goal in full: its steps, subgoals, progress and parents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Details {
    /// The id of the goal, or its title.
    goal_id: String,
}

pub(super) async fn details(goals: Goals, cx: Cx, args: Details) -> Result<Output> {
    let goal = goals.goals.find(&cx, &args.goal_id)?;
    let steps = goals.steps_of(&cx, goal.id)?;
    let (counts, below, progress) = goals.progress(&cx, &goal)?;
    let above = goals.above(&cx, &goal.value)?;
    let brief = |entry: &Entry<Goal>| json!({"id": entry.id, "title": entry.value.title, "status": entry.value.status});
    let title = quote(&goal.value.title);
    let parts = match below.all {
        0 => String::new(),
        n => format!(" and {} of {} done", below.done, counted(n, "goal")),
    };
    let steps_done = match counts.all {
        0 => "no steps yet".to_owned(),
        n => format!("{} of {} done", counts.done, counted(n, "step")),
    };
    let next = steps.iter().find(|step| step.value.done_ms == 0);
    let next = next.map(|step| format!(" Next: {}.", quote(&step.value.title))).unwrap_or_default();
    let status = goal.value.status.word();
    let standing = if status == "active" { String::new() } else { format!(" ({status})") };
    let sentence = format!("{title}{standing} is at {progress}%: {steps_done}{parts}.{next}");
    let content = json!({
        "goal": goals.to_json(&cx, &goal)?,
        "progress": progress,
        "steps": steps.iter().map(|step| record::step(&cx, step)).collect::<Vec<_>>(),
        "subGoals": goals.below(&cx, goal.id)?.iter().map(|part| goals.to_json(&cx, part)).collect::<Result<Vec<_>>>()?,
        "parents": above.iter().map(brief).collect::<Vec<_>>(),
    });
    Ok(Output::json(content)?.say(sentence))
}

/// Count goals by status, with the average progress of active ones.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stats {}

pub(super) async fn stats(goals: Goals, cx: Cx, Stats {}: Stats) -> Result<Output> {
    let now = cx.ports().clock.local();
    let (mut by_status, mut overdue, mut this_month, mut label) = ([0_usize; 4], 0, 0, Label::Own);
    let month = |day: Date| (day.year(), day.month());
    goals.goals.records().walk(&cx, &Walk::prefix(BY_RANK, []), |entry| {
        let g = &entry.value;
        label = label.max(entry.label);
        by_status[usize::from(g.status.code()).min(3)] += 1;
        overdue += usize::from(is_overdue(&cx, g));
        let at = i64::try_from(g.completed_ms).ok().filter(|ms| *ms > 0);
        let at = at.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let done = at.map(|at| at.to_zoned(now.time_zone().clone()).date());
        this_month += usize::from(g.status == Status::Completed && done.map(month) == Some(month(now.date())));
        Visit::No
    })?;
    cx.taint(label);
    let active = active(&goals, &cx)?;
    let progress = active.iter().map(|goal| Ok(u64::from(goals.progress(&cx, goal)?.2))).collect::<Result<Vec<_>>>()?;
    let count = progress.len() as u64;
    let average = (progress.iter().sum::<u64>() + count / 2).checked_div(count).unwrap_or(0);
    let counted_steps = |done: u8| goals.steps.records().count(&cx, &Walk::prefix(BY_DONE, [done]));
    let (steps_open, steps_done) = (counted_steps(0)?, counted_steps(1)?);
    let total: usize = by_status.iter().sum();
    let sentence = match total {
        0 => "You have no goals yet.".to_owned(),
        n => {
            let mut parts = vec![];
            if by_status[0] > 0 {
                parts.push(format!("{} active, at {average}% on average", by_status[0]));
            }
            parts.extend((by_status[2] > 0).then(|| format!("{} completed", by_status[2])));
            parts.extend((overdue > 0).then(|| format!("{overdue} overdue")));
            let all = steps_open + steps_done;
            parts.extend((all > 0).then(|| format!("{steps_done} of {} done", counted(all, "step"))));
            let rest = if parts.is_empty() { "none of them active".to_owned() } else { join_and(&parts) };
            format!("You have {}: {rest}.", counted_one(n, "goal"))
        }
    };
    let named: serde_json::Map<String, Value> =
        Status::ALL.iter().map(|s| (s.word().to_owned(), json!(by_status[usize::from(s.code())]))).collect();
    let content = json!({
        "total": total,
        "byStatus": named,
        "averageProgress": average,
        "stepsDone": steps_done,
        "stepsOpen": steps_open,
        "overdue": overdue,
        "completedThisMonth": this_month,
    });
    Ok(Output::json(content)?.say(sentence))
}
