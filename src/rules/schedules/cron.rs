//! `cron`: manages schedules with one tool and an `action` parameter, as GoClaw does.

use super::{self as schedules, Create, History, List, ScheduleTools, Trigger, Update};
use crate::action::ActionObject;
use registry::Verdict;
use scheduler::Missed;
use tool::prelude::*;

/// The operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verb {
    /// List jobs.
    List,
    /// Create a job.
    Add,
    /// Alias of add.
    Create,
    /// Change a job.
    Update,
    /// Delete a job.
    Remove,
    /// Alias of remove.
    Delete,
    /// Run a job now.
    Run,
    /// Show a job's state, or a summary of all.
    Status,
    /// Pause a job.
    Pause,
    /// Resume a job.
    Resume,
    /// Show past runs.
    History,
}

/// Manage scheduled tasks with one tool: list, add, update, remove, run, status, pause, resume, history. `add` needs
/// `name`, `schedule` and one of `prompt` (a task for the agent), `message` (a notice to the person) and `tool`; the
/// others need `jobId`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Cron {
    /// The operation.
    action: Verb,
    /// Id or name of the job.
    job_id: Option<String>,
    /// Same as jobId.
    id: Option<String>,
    /// Name of the job.
    name: Option<String>,
    /// When to run: a cron pattern (`0 7 * * 1-5`), `every 15 minutes`, `in 10 minutes`, a date-time
    /// (2026-11-20T14:30), or an object with a `type` of cron, interval or once.
    #[schemars(extend("type" = ["string", "object"]))]
    schedule: Option<Value>,
    /// The schedule as a cron pattern.
    expression: Option<String>,
    /// The task for the agent.
    prompt: Option<String>,
    /// The message to the person.
    message: Option<String>,
    /// For a message: the name of the person it is for, or `everyone`.
    person: Option<String>,
    /// The tool to call.
    tool: Option<String>,
    /// Arguments for the tool.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    arguments: Option<Value>,
    /// The action as an object: {"type": "tool", "tool", "arguments"}, {"type": "prompt", "prompt"} or {"type":
    /// "notify", "message"}.
    payload: Option<ActionObject>,
    /// Time zone of the schedule.
    timezone: Option<String>,
    /// Whether the job is active.
    enabled: Option<bool>,
    /// Policy for missed runs: once, skip or all.
    missed: Option<Missed>,
    /// Short description.
    description: Option<String>,
    /// For list and history: maximum number of results.
    limit: Option<u32>,
}

pub(crate) async fn cron(desk: ScheduleTools, cx: Cx, mut args: Cron) -> Result<Output> {
    args.job_id = args.job_id.or(args.id.take());
    args.schedule = args.schedule.or(args.expression.take().map(Value::String));
    let job = || {
        let id = args.job_id.clone().or_else(|| args.name.clone());
        id.ok_or_else(|| Error::bad_args("give `jobId`: an id or a name from `list`"))
    };
    match args.action {
        Verb::List => {
            may(&desk, &cx, "list_scheduled_tasks")?;
            let list = List { enabled: args.enabled, search: args.name, limit: args.limit, ..List::default() };
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
        // Deleting needs a permission of its own, and may need approval.
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

/// Refuses an operation whose own tool is denied to the caller.
fn may(desk: &ScheduleTools, cx: &Cx, name: &str) -> Result<()> {
    let Some(tool) = desk.registry.get(name) else { return Ok(()) };
    let decision = desk.registry.explain(cx, &tool, &json!({})).0;
    // An allow list with `cron` covers its operations; denying an operation's own tool denies it here too.
    match decision.verdict == Verdict::Deny && (decision.rule.starts_with("denied") || decision.rule == "role") {
        true => Err(Error::denied(decision.reason)),
        false => Ok(()),
    }
}

fn added(args: Cron) -> Result<Create> {
    let missing = |what: &str| Error::bad_args(format!("`add` needs `{what}`"));
    Ok(Create {
        schedule: args.schedule.ok_or_else(|| missing("schedule"))?,
        // The message doubles as a name.
        name: args
            .name
            .or_else(|| Some(args.message.as_ref().or(args.prompt.as_ref())?.chars().take(80).collect()))
            .ok_or_else(|| missing("name"))?,
        tool: args.tool,
        arguments: args.arguments,
        prompt: args.prompt,
        message: args.message,
        person: args.person,
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
        // Without an id the name identifies the job.
        name: args.name.filter(|_| args.job_id.is_some()),
        task_id,
        schedule: args.schedule,
        tool: args.tool,
        arguments: args.arguments,
        prompt: args.prompt,
        message: args.message,
        person: args.person,
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
            (json!({"action": "list"}), "No reminders are set."),
            (
                json!({"action": "add", "schedule": "every day at 7:00", "message": "bins"}),
                "I will remind you every day at 07:00: bins.",
            ),
            (
                json!({"action": "create", "name": "ping it", "expression": "0 8 * * *", "tool": "ping"}),
                "I will do that every day at 08:00: ping it.",
            ),
            (json!({"action": "status"}), "2 reminders are set:\n- Bins, every day at 07:00\n- … and 1 more"),
            (json!({"action": "status", "jobId": "ping it"}), "“ping it” has not run yet."),
            (json!({"action": "run", "id": "ping it"}), "“ping it” has run: Pong."),
            (json!({"action": "history", "jobId": "ping it"}), "“ping it” last ran today at 14:30."),
            (json!({"action": "pause", "name": "bins"}), "“bins” is paused."),
            (json!({"action": "resume", "jobId": "bins"}), "“bins” comes every day at 07:00."),
            (
                json!({"action": "update", "jobId": "bins", "name": "glass", "schedule": "0 9 * * *"}),
                "“glass” comes every day at 09:00.",
            ),
            (
                json!({"action": "update", "name": "glass", "schedule": "0 10 * * *"}),
                "“glass” comes every day at 10:00.",
            ),
            (json!({"action": "remove", "jobId": "glass"}), "“glass” is cancelled."),
        ];
        for (args, wanted) in rows {
            assert_eq!(said(&house, args.clone()).await, wanted, "{args}");
        }
        for (args, word) in [
            (json!({}), "action"),
            (json!({"action": "explode"}), "action"),
            (json!({"action": "add"}), "needs `schedule`"),
            (json!({"action": "add", "schedule": "in 1 hour"}), "needs `name`"),
            (json!({"action": "run"}), "give `jobId`"),
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
        // The reverse holds too: both names share one permission.
        deny("cron").await;
        let made = house.cx().call("create_scheduled_task", json!({"name": "b", "schedule": "in 1 hour"})).await;
        assert!(matches!(made, Err(Error::Denied(_))), "{made:?}");
    }
}
