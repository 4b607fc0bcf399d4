//! Tools for steps: breaking a goal down into steps and subgoals, completing, changing and deleting steps.

use super::{
    TITLE, now_ms,
    record::{self, Goal, Goals, Step, may_be_part},
    split,
};
use records::{counted, optional_text, publish_change, quote, rejected, required_text, set_optional, set_required};
use store::Entry;
use text_kit::counted_one;
use tool::{Scope, prelude::*};

/// How many steps one call adds at most, and a goal has at most.
const AT_ONCE: usize = 50;
const STEPS: usize = 200;
/// The most characters of the description and of the result of a step.
const RESULT: usize = 1000;

/// A step or a subgoal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Step,
    Goal,
}

/// A title alone, or a step in full.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum StepInput {
    Title(String),
    Step(Full),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Full {
    /// The step to take.
    title: String,
    /// More about it.
    description: Option<String>,
    /// `goal` when it needs steps of its own.
    #[serde(default, rename = "type")]
    kind: Kind,
}

/// Break a goal down into steps, in order, after its existing steps. Without `steps` a model proposes them, or they are taken
/// from the goal's own text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Decompose {
    /// The id of the goal, or its title.
    goal_id: String,
    /// The steps: titles, or objects.
    #[schemars(length(max = 50))]
    steps: Option<Vec<StepInput>>,
}

/// A checked step.
#[derive(Clone)]
struct Checked {
    id: Id,
    title: String,
    description: Option<String>,
    kind: Kind,
}

fn check(given: StepInput) -> Result<Checked> {
    let full = match given {
        StepInput::Title(title) => Full { title, description: None, kind: Kind::Step },
        StepInput::Step(full) => full,
    };
    Ok(Checked {
        id: Id::new(),
        title: required_text("title", &full.title, TITLE)?,
        description: optional_text("description", full.description.as_deref(), RESULT)?,
        kind: full.kind,
    })
}

pub(super) async fn decompose(goals: Goals, cx: Cx, args: Decompose) -> Result<Output> {
    let found = goals.goals.find_own(&cx, &args.goal_id)?;
    let (mut given, mut source) = (args.steps.unwrap_or_default(), None);
    if given.is_empty() {
        let mut existing: Vec<String> = goals.steps_of(&cx, found.id)?.into_iter().map(|s| s.value.title).collect();
        existing.extend(goals.below(&cx, found.id)?.into_iter().map(|part| part.value.title));
        let (titles, from) = split::propose(&cx, &found.value, &existing).await;
        if titles.is_empty() {
            return ask(&goals, &cx, found);
        }
        (given, source) = (titles.into_iter().map(StepInput::Title).collect(), Some(from));
    }
    if given.len() > AT_ONCE {
        return Err(Error::bad_args(format!("{} steps at once: give {AT_ONCE} at most", given.len())));
    }
    let place = |(n, given): (usize, StepInput)| {
        check(given).map_err(|e| {
            let text = format!("step {}: {}; nothing was added", n + 1, e.message());
            e.with_message(text)
        })
    };
    let new = given.into_iter().enumerate().map(place).collect::<Result<Vec<Checked>>>()?;
    let (steps, parts) = add(&goals, &cx, found.id, new).await?;
    publish_change(&cx, &found, "changed");
    let goal = goals.goals.records().get(&cx, found.id)?.unwrap_or(found);
    let what = [counted(steps.len(), "step"), counted(parts.len(), "goal")];
    let what = match (steps.is_empty(), parts.is_empty()) {
        (false, true) => what[0].clone(),
        (true, false) => what[1].clone(),
        _ => what.join(" and "),
    };
    let first = steps.first().map(|s| &s.value.title).or(parts.first().map(|p| &p.value.title));
    let first = first.map(|title| format!(" The first: {}.", quote(title))).unwrap_or_default();
    let sentence = format!("{} has {what} more.{first}", quote(&goal.value.title));
    let mut content = json!({
        "goal": goals.to_json(&cx, &goal)?,
        "added": steps.len() + parts.len(),
        "steps": steps.iter().map(|s| record::step(&cx, s)).collect::<Vec<_>>(),
        "subGoals": parts.iter().map(|p| goals.to_json(&cx, p)).collect::<Result<Vec<_>>>()?,
    });
    if let Some(source) = source {
        content["by"] = source.word().into();
    }
    Ok(Output::json(content)?.say(sentence))
}

/// The result without proposals: the existing steps, and a note on how to continue.
fn ask(goals: &Goals, cx: &Cx, goal: Entry<Goal>) -> Result<Output> {
    let steps = goals.steps_of(cx, goal.id)?;
    let title = quote(&goal.value.title);
    let note = format!(
        "Nothing was changed: no model is available, and the goal's own text lists no steps. Think of the next 3 to 7 \
         concrete steps toward {title} that do not exist yet, and call decompose_goal again with `steps`: titles in their order, or objects {{title, description, type}}; type goal is \
         for what needs steps of its own."
    );
    let content = json!({
        "goal": goals.to_json(cx, &goal)?,
        "added": 0,
        "steps": steps.iter().map(|s| record::step(cx, s)).collect::<Vec<_>>(),
        "subGoals": goals.below(cx, goal.id)?.iter().map(|p| goals.to_json(cx, p)).collect::<Result<Vec<_>>>()?,
        "note": note,
    });
    let sentence = match steps.len() {
        0 => format!("{title} has no steps yet. Add them on the page, or with a model."),
        n => format!("{title} has {} so far. Add more on the page, or with a model.", counted_one(n, "step")),
    };
    Ok(Output::json(content)?.say(sentence))
}

type Added = (Vec<Entry<Step>>, Vec<Entry<Goal>>);

/// Adds all of them, shared like the goal.
async fn add(goals: &Goals, cx: &Cx, goal: Id, new: Vec<Checked>) -> Result<Added> {
    let (records, steps) = (goals.goals.records().clone(), goals.steps.records().clone());
    let (scope, stamp) = (Scope::User(cx.user()), records.stamp(cx, "decompose_goal"));
    let written = goals.goals.records().store().write(move |tx| {
        let Some(found) = records.read(tx, scope, goal)? else {
            return Err(store::Error::Missing("the goal is gone: `list_goals` shows what there is".into()));
        };
        let stamp = stamp.clone().audience(found.audience);
        let room = STEPS.saturating_sub(record::steps(&steps, tx, scope, goal)?.len());
        if new.iter().filter(|step| step.kind == Kind::Step).count() > room {
            return Err(rejected(format!(
                "a goal has {STEPS} steps at most: make goals of some of them, with type goal"
            )));
        }
        let mut added: Added = (vec![], vec![]);
        for Checked { id, title, description, kind } in new.clone() {
            if kind == Kind::Step {
                let step = Step { goal, title, description, done_ms: 0, result: None };
                added.0.push(steps.put(tx, id, &stamp, &step)?);
                continue;
            }
            may_be_part(&records, tx, scope, id, goal)?;
            let (category, priority) = (found.value.category.clone(), found.value.priority);
            let part = Goal { title, description, category, priority, parent: Some(goal), ..Goal::default() };
            added.1.push(records.put(tx, id, &stamp, &part)?);
        }
        Ok(added)
    });
    Ok(written.await?)
}

/// Complete a step of a goal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Complete {
    /// The id of the step, or its title.
    step_id: String,
    /// Its outcome.
    result: Option<String>,
}

pub(super) async fn complete(goals: Goals, cx: Cx, args: Complete) -> Result<Output> {
    let found = goals.steps.find_own(&cx, &args.step_id)?;
    let result = optional_text("result", args.result.as_deref(), RESULT)?;
    let was_done = found.value.done_ms > 0;
    let at = now_ms(&cx);
    let step = change(&goals, &cx, &found, true, move |step| {
        step.done_ms = if step.done_ms > 0 { step.done_ms } else { at };
        step.result = result.clone().or_else(|| step.result.take());
        Ok(())
    })
    .await?;
    let title = quote(&step.value.title);
    let Some(goal) = goals.goals.records().get(&cx, step.value.goal)? else {
        return Ok(Output::json(json!({"step": record::step(&cx, &step)}))?.say(format!("Done: {title}.")));
    };
    let next = goals.open_steps(&cx, goal.id, 1)?.pop();
    let (_, below, progress) = goals.progress(&cx, &goal)?;
    let all_done = next.is_none() && below.done == below.all && !goal.value.status.is_over();
    let of = quote(&goal.value.title);
    let done = if was_done { format!("{title} was done already.") } else { format!("Done: {title}.") };
    let sentence = match &next {
        Some(next) => format!("{done} Next for {of}: {}.", quote(&next.value.title)),
        None if all_done => format!("{done} That was the last step of {of}: is the goal reached?"),
        None => format!("{done} {of} is at {progress}%."),
    };
    let advice = "All steps are done. If the goal is reached, call update_goal with status completed; else add steps.";
    let content = json!({
        "step": record::step(&cx, &step),
        "goal": goals.to_json(&cx, &goal)?,
        "next": next.map(|step| record::step(&cx, &step)),
        "allDone": all_done,
        "suggestion": all_done.then_some(advice),
    });
    Ok(Output::json(content)?.say(sentence))
}

/// Changes a step; with `counts`, the goal's progress follows from its steps again.
async fn change(
    goals: &Goals,
    cx: &Cx,
    found: &Entry<Step>,
    counts: bool,
    change: impl Fn(&mut Step) -> Result<()> + Send + 'static,
) -> Result<Entry<Step>> {
    let (records, steps) = (goals.goals.records().clone(), goals.steps.records().clone());
    let (scope, label, id) = (Scope::User(cx.user()), cx.label(), found.id);
    let written = goals.steps.records().store().write(move |tx| {
        let changed =
            steps.change(tx, scope, label, id, &mut |step| change(step).map_err(|e| rejected(e.message())))?;
        let goal = records.read(tx, scope, changed.value.goal)?.filter(|goal| counts && goal.value.by_hand);
        if let Some(goal) = goal {
            records.change(tx, scope, label, goal.id, &mut |goal| {
                goal.by_hand = false;
                Ok(())
            })?;
        }
        Ok(changed)
    });
    let changed = written.await?;
    publish_goal_change(goals, cx, changed.value.goal)?;
    Ok(changed)
}

/// Publishes a change of the goal whose steps changed.
fn publish_goal_change(goals: &Goals, cx: &Cx, goal: Id) -> Result<()> {
    if let Some(goal) = goals.goals.records().peek(cx, goal)? {
        publish_change(cx, &goal, "changed");
    }
    Ok(())
}

/// Change a step, or reopen it; fields that are not given stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Update {
    /// The id of the step, or its title.
    step_id: String,
    /// The step to take.
    title: Option<String>,
    /// More about it.
    description: Option<String>,
    /// Whether it is done.
    done: Option<bool>,
}

pub(super) async fn update(goals: Goals, cx: Cx, args: Update) -> Result<Output> {
    let found = goals.steps.find_own(&cx, &args.step_id)?;
    let (done, at) = (args.done, now_ms(&cx));
    if args.title.is_none() && args.description.is_none() && done.is_none() {
        return Err(Error::bad_args("say what to change: the title, the description, or whether it is done"));
    }
    let step = change(&goals, &cx, &found, done.is_some(), move |step| {
        set_required("title", &mut step.title, args.title.as_deref(), TITLE)?;
        set_optional("description", &mut step.description, args.description.as_deref(), RESULT)?;
        step.done_ms = match done {
            Some(true) if step.done_ms == 0 => at,
            Some(false) => 0,
            _ => step.done_ms,
        };
        Ok(())
    })
    .await?;
    let title = quote(&step.value.title);
    let sentence = match done {
        Some(true) => format!("Done: {title}."),
        Some(false) => format!("{title} is open again."),
        None => format!("I changed the step {title}."),
    };
    Ok(Output::json(record::step(&cx, &step))?.say(sentence))
}

/// Delete a step of a goal. It can be restored for 30 days.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Delete {
    /// The id of the step, or its title.
    step_id: String,
}

pub(super) async fn delete(goals: Goals, cx: Cx, args: Delete) -> Result<Output> {
    let gone = goals.steps.remove(&cx, &args.step_id).await?;
    publish_goal_change(&goals, &cx, gone.value.goal)?;
    let sentence = format!("I deleted the step {}.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id}))?.say(sentence))
}
