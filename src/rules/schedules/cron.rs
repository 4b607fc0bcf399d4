//! `cron`: the schedules as one tool with an `action`, as GoClaw has it.

use super::{self as schedules, Create, History, List, ScheduleTools, Trigger, Update};
use crate::action::ActionObject;
use registry::Verdict;
use scheduler::Missed;
use tool::prelude::*;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verb {
    /// Show the jobs.
    List,
    /// Make one.
    Add,
    /// The same.
    Create,
    /// Change one.
    Update,
    /// Delete one.
    Remove,
    /// The same.
    Delete,
    /// Run one now.
    Run,
    /// How one stands, or how many there are.
    Status,
    /// Let one rest.
    Pause,
    /// Let it go on.
    Resume,
    /// When it ran.
    History,
}

/// Manage scheduled tasks with one tool: list, add, update, remove, run, status, pause, resume, history. `add` needs `name`,
/// `schedule` and one of `prompt` (the agent does it), `message` (the person is told) and `tool`; the others need `jobId`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Cron {
    /// What is to be done.
    action: Verb,
    /// The id of the job, or its name.
    job_id: Option<String>,
    /// The same.
    id: Option<String>,
    /// What it is called.
    name: Option<String>,
    /// When: a cron pattern (`0 7 * * 1-5`), `every 15 minutes`, `in 10 minutes`, a moment (2026-11-20T14:30), or an object
    /// with a `type` of cron, interval or once.
    #[schemars(extend("type" = ["string", "object"]))]
    schedule: Option<Value>,
    /// The same, as a cron pattern.
    expression: Option<String>,
    /// What the agent is asked to do.
    prompt: Option<String>,
    /// What the person is told.
    message: Option<String>,
    /// The tool that is called.
    tool: Option<String>,
    /// What the tool is called with.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    arguments: Option<Value>,
    /// What it does, as an object: {"type": "tool", "tool", "arguments"}, {"type": "prompt", "prompt"} or {"type": "notify",
    /// "message"}.
    payload: Option<ActionObject>,
    /// The time zone of its times.
    timezone: Option<String>,
    /// Whether it runs.
    enabled: Option<bool>,
    /// What becomes of missed times: once, skip or all.
    missed: Option<Missed>,
    /// A word about it.
    description: Option<String>,
    /// Of list and history: how many.
    limit: Option<u32>,
}

pub(crate) async fn cron(desk: ScheduleTools, cx: Cx, mut args: Cron) -> Result<Output> {
    args.job_id = args.job_id.or(args.id.take());
    args.schedule = args.schedule.or(args.expression.take().map(Value::String));
    let job = || {
        let id = args.job_id.clone().or_else(|| args.name.clone());
        id.ok_or_else(|| Error::bad_args("say which job: give `jobId`, an id or a name that `list` shows"))
    };
    match args.action {
        Verb::List => {
            may(&desk, &cx, "list_scheduled_tasks")?;
            let list = List { enabled: args.enabled, search: args.name, limit: args.limit, offset: None };
            schedules::list(desk, cx, list).await
        }
        Verb::Add | Verb::Create => {
            may(&desk, &cx, "create_scheduled_task")?;
            schedules::create(desk, cx, added(args)?).await
        }
        Verb::Update => {
            may(&desk, &cx, "update_scheduled_task")?;
            let task_id = job()?;
            schedules::update(desk, cx, updated(task_id, args)).await
        }
        Verb::Pause | Verb::Resume => {
            may(&desk, &cx, "update_scheduled_task")?;
            let enabled = Some(args.action == Verb::Resume);
            schedules::update(desk, cx, Update { task_id: job()?, enabled, ..Update::default() }).await
        }
        // Deleting is a right of its own, and may be asked about.
        Verb::Remove | Verb::Delete => cx.call("delete_scheduled_task", json!({"taskId": job()?})).await,
        Verb::Run => {
            may(&desk, &cx, "trigger_task")?;
            schedules::trigger(desk, cx, Trigger { task_id: job()? }).await
        }
        Verb::Status => {
            may(&desk, &cx, "list_scheduled_tasks")?;
            schedules::status(&desk, &cx, job().ok().as_deref())
        }
        Verb::History => {
            may(&desk, &cx, "get_task_history")?;
            schedules::history(desk, cx, History { task_id: job()?, limit: args.limit }).await
        }
    }
}

/// Whoever may not call a tool may not call it by this name either.
fn may(desk: &ScheduleTools, cx: &Cx, name: &str) -> Result<()> {
    let Some(tool) = desk.registry.get(name) else { return Ok(()) };
    let decision = desk.registry.explain(cx, &tool, &json!({})).0;
    // A list that allows `cron` allows what it does; a deny of what it does denies it.
    match decision.verdict == Verdict::Deny && (decision.rule.starts_with("denied") || decision.rule == "role") {
        true => Err(Error::denied(decision.reason)),
        false => Ok(()),
    }
}

fn added(args: Cron) -> Result<Create> {
    let missing = |what: &str| Error::bad_args(format!("`add` needs `{what}`"));
    Ok(Create {
        schedule: args.schedule.ok_or_else(|| missing("schedule"))?,
        // What it says will do for a name.
        name: args
            .name
            .or_else(|| Some(args.message.as_ref().or(args.prompt.as_ref())?.chars().take(80).collect()))
            .ok_or_else(|| missing("name"))?,
        tool: args.tool,
        arguments: args.arguments,
        prompt: args.prompt,
        message: args.message,
        action: args.payload,
        timezone: args.timezone,
        enabled: args.enabled,
        missed: args.missed,
        description: args.description,
        ..Create::default()
    })
}

fn updated(task_id: String, args: Cron) -> Update {
    Update {
        // Without an id the name says which.
        name: args.name.filter(|_| args.job_id.is_some()),
        task_id,
        schedule: args.schedule,
        tool: args.tool,
        arguments: args.arguments,
        prompt: args.prompt,
        message: args.message,
        action: args.payload,
        timezone: args.timezone,
        enabled: args.enabled,
        missed: args.missed,
        description: args.description,
        ..Update::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::House;
    use registry::Policy;

    fn house() -> House {
        let house = House::new();
        house.registry.add(schedules::family(house.scheduler.clone(), house.registry.clone())).unwrap();
        house
    }

    async fn said(house: &House, args: Value) -> String {
        house.cx().call("cron", args).await.map_or_else(|e| format!("{}: {e}", e.code()), |o| o.say.unwrap())
    }

    #[tokio::test]
    async fn every_verb_does_what_its_tool_does() {
        let house = house();
        let rows = [
            (json!({"action": "list"}), "Nothing is scheduled."),
            (
                json!({"action": "add", "schedule": "every day at 7:00", "message": "bins"}),
                "I will remind you every day at 07:00: bins.",
            ),
            (
                json!({"action": "create", "name": "ping it", "expression": "0 8 * * *", "tool": "ping"}),
                "Done: every day at 08:00.",
            ),
            (json!({"action": "status"}), "2 things are scheduled: “bins” every day at 07:00, and 1 more."),
            (json!({"action": "status", "jobId": "ping it"}), "“ping it” has not run yet."),
            (json!({"action": "run", "id": "ping it"}), "“ping it” has run: Pong."),
            (json!({"action": "history", "jobId": "ping it"}), "“ping it” last ran today at 14:30, and all went well."),
            (json!({"action": "pause", "name": "bins"}), "“bins” is paused."),
            (json!({"action": "resume", "jobId": "bins"}), "I have changed “bins”: every day at 07:00."),
            (
                json!({"action": "update", "jobId": "bins", "name": "glass", "schedule": "0 9 * * *"}),
                "I have changed “glass”: every day at 09:00.",
            ),
            (
                json!({"action": "update", "name": "glass", "schedule": "0 10 * * *"}),
                "I have changed “glass”: every day at 10:00.",
            ),
            (json!({"action": "remove", "jobId": "glass"}), "I have deleted the schedule “glass”."),
        ];
        for (args, wanted) in rows {
            assert_eq!(said(&house, args.clone()).await, wanted, "{args}");
        }
        for (args, word) in [
            (json!({}), "action"),
            (json!({"action": "explode"}), "action"),
            (json!({"action": "add"}), "needs `schedule`"),
            (json!({"action": "add", "schedule": "in 1 hour"}), "needs `name`"),
            (json!({"action": "run"}), "which job"),
            (json!({"action": "remove", "jobId": "nothing"}), "not_found"),
            (json!({"action": "update", "jobId": "nothing"}), "not_found"),
        ] {
            let answer = said(&house, args.clone()).await;
            assert!(answer.contains(word), "{args}: {answer}");
        }
    }

    #[tokio::test]
    async fn what_is_denied_is_denied_under_this_name_too() {
        let house = house();
        let deny = async |tool: &str| {
            let tool = tool.to_owned();
            house
                .registry
                .change_policy(&house.cx(), |p: &mut Policy| p.deny = vec![tool.as_str().into()])
                .await
                .unwrap();
        };
        let add = json!({"action": "add", "name": "a", "schedule": "in 1 hour"});
        said(&house, add.clone()).await;
        for (tool, args) in [
            ("create_scheduled_task", add),
            ("delete_scheduled_task", json!({"action": "remove", "jobId": "a"})),
            ("update_scheduled_task", json!({"action": "pause", "jobId": "a"})),
            ("trigger_task", json!({"action": "run", "jobId": "a"})),
            ("list_scheduled_tasks", json!({"action": "list"})),
            ("get_task_history", json!({"action": "history", "jobId": "a"})),
        ] {
            deny(tool).await;
            let answer = said(&house, args).await;
            assert!(answer.starts_with("denied"), "{tool}: {answer}");
        }
        // And the other way round: they are one right.
        deny("cron").await;
        let made = house.cx().call("create_scheduled_task", json!({"name": "b", "schedule": "in 1 hour"})).await;
        assert!(matches!(made, Err(Error::Denied(_))), "{made:?}");
    }
}
