//! Schedule tools: run something at a time, once or repeatedly.

mod cron;
mod sentences;

#[cfg(test)]
mod tests;

use crate::action::{Action, ActionArgs, ActionObject};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use records::{contains_all_words, required_text};
use registry::Registry;
use scheduler::{Change, Missed, New, Recurrence, Schedule, Scheduler, parse};
use std::time::Duration;
use store::Entry;
use tool::{PreauthorizedCall, When, prelude::*};

/// Maximum length of name and description, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_TEXT: usize = 2000;
/// Page size: maximum and default, of schedules and of runs.
const MOST: u32 = 50;
const LISTED: u32 = 20;
const RUNS: u32 = 10;
/// Default number of retries, and default delay before the first one, in seconds.
const RETRIES: u32 = 2;
const RETRY_DELAY: u32 = 60;
/// How long to wait for a run started by hand.
const PATIENCE: Duration = Duration::from_secs(45);

/// The state of the schedule tools.
#[derive(Clone)]
pub struct ScheduleTools {
    pub(crate) scheduler: Scheduler,
    pub(crate) registry: Registry,
}

/// The schedule tools.
pub fn family(scheduler: Scheduler, registry: Registry) -> Family<ScheduleTools> {
    Family::new("scheduler", "Run something at a time, once or repeatedly.", ScheduleTools { scheduler, registry })
        .area(Area::Memory)
        .title("Schedules")
        .phrases(include_str!("schedules.en"))
        .tool("create_scheduled_task", Risk::Write, create)
        .automates()
        .plans_ahead()
        .tags("schedule remind reminder alarm cron every daily weekly later at time repeat recurring automation")
        .example(json!({"name": "Take out the bins", "schedule": "every monday at 19:00", "message": "Take out the bins"}))
        .example(json!({"name": "Morning news", "schedule": "0 7 * * 1-5", "prompt": "Sum up today's news in five sentences."}))
        .persists_instructions()
        .tool("list_scheduled_tasks", Risk::Observe, list)
        .tags("schedules reminders alarms planned upcoming cron jobs")
        .tool("update_scheduled_task", Risk::Write, update)
        .automates()
        .tags("change move edit reschedule pause resume schedule reminder")
        .persists_instructions()
        .tool("delete_scheduled_task", Risk::Destroy, delete)
        .tags("remove cancel stop schedule reminder alarm")
        .tool("get_task_history", Risk::Observe, history)
        .page((RUNS, MOST))
        .tags("runs log ran failed when schedule")
        .tool("trigger_task", Risk::Write, trigger)
        .automates()
        .tags("run now start schedule by hand")
        .tool("cron", Risk::Write, cron::cron)
        .also_in(&["automation"])
        .automates()
        .facade_for(&[
            "create_scheduled_task",
            "list_scheduled_tasks",
            "update_scheduled_task",
            "delete_scheduled_task",
            "get_task_history",
            "trigger_task",
        ])
        .tags("schedule jobs crontab recurring")
        .persists_instructions()
}

/// Schedule an action once or repeatedly: `tool` with `arguments` calls a tool, `prompt` gives the agent a task,
/// `message` sends the person a reminder. Give one of them; without any, the name is the message.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Create {
    /// Name of the task.
    pub name: String,
    /// When to run: a cron pattern with 5 fields, or 6 with seconds first (`0 7 * * 1-5`, `@daily`), `every 15
    /// minutes`, `every monday at 8:00`, `PT15M`, `in 10 minutes`, `tomorrow at 7:00`, or a date-time
    /// (2026-11-20T14:30); or an object: {"type": "cron", "expression"}, {"type": "interval", "every", "from"} (`from` is
    /// its first time) or {"type": "once", "at"}.
    #[schemars(extend("type" = ["string", "object"]))]
    pub schedule: Value,
    /// The tool to call.
    pub tool: Option<String>,
    /// Arguments for the tool.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub arguments: Option<Value>,
    /// The task for the agent.
    pub prompt: Option<String>,
    /// The message to the person.
    pub message: Option<String>,
    /// For a message: the name of the person it is for, or `everyone`. Default: the person.
    pub person: Option<String>,
    /// The action as an object: {"type": "tool", "tool", "arguments"}, {"type": "prompt", "prompt"} or {"type":
    /// "notify", "message"}.
    pub action: Option<ActionObject>,
    /// Time zone of the schedule, such as Europe/Vienna. Default: the household's.
    pub timezone: Option<String>,
    /// Whether it is active. Default: true.
    pub enabled: Option<bool>,
    /// Policy for runs missed while Hob was off: one run for all of them (once), none (skip), one each (all).
    pub missed: Option<Missed>,
    /// Retries after a failed run. Default: 2.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// Seconds before the first retry; doubles with each further one. Default: 60.
    #[schemars(range(min = 1, max = 86_400))]
    pub retry_delay_seconds: Option<u32>,
    /// No runs after this day or date-time.
    pub end_at: Option<String>,
    /// Maximum number of runs.
    #[schemars(range(min = 1))]
    pub max_runs: Option<u32>,
    /// Short description.
    pub description: Option<String>,
}

pub(crate) async fn create(desk: ScheduleTools, cx: Cx, args: Create) -> Result<Output> {
    let name = required_text("name", &args.name, LONGEST_NAME)?;
    let clock = cx.ports().clock.clone();
    let recurrence = parse(&args.schedule, args.timezone.as_deref(), &*clock)?;
    let about = recurrence.text(&clock.local());
    let description = described(args.description)?.unwrap_or_default();
    let ends_ms = args.end_at.as_deref().map(|end| end_of(&cx, end)).transpose()?.flatten();
    let (tool, arguments, prompt, action) = (args.tool, args.arguments, args.prompt, args.action);
    let person = args.person.filter(|person| !person.trim().is_empty());
    // Without an action, the name is the message.
    let is_named = tool.is_some() || prompt.is_some() || action.is_some() || arguments.is_some();
    let message = args.message.or_else(|| (!is_named).then(|| name.clone()));
    let parse = ActionArgs { tool, arguments, prompt, message, person, action }.parse()?;
    let parse = parse.unwrap_or_else(|| Action::Notify { text: name.clone(), person: None });
    let new = New {
        action: parse.arm(&cx, &desk.registry, &name, &about).await?,
        name,
        description,
        written: written(&args.schedule),
        recurrence,
        enabled: args.enabled.unwrap_or(true),
        missed: args.missed.unwrap_or_default(),
        retries: args.retries.unwrap_or(RETRIES).min(10),
        retry_delay_ms: 1000 * i64::from(args.retry_delay_seconds.unwrap_or(RETRY_DELAY).clamp(1, 86_400)),
        ends_ms,
        max_runs: args.max_runs.unwrap_or(0),
    };
    let kept = desk.scheduler.create(&cx, new).await?;
    let sentence = sentences::created_sentence(&cx, &kept.value);
    Ok(Output::json(sentences::task(&cx, &desk.registry, &kept))?.say(sentence))
}

/// The schedule as written: text unchanged, an object as JSON.
fn written(schedule: &Value) -> String {
    match schedule {
        Value::String(text) => text.trim().chars().take(LONGEST_NAME).collect(),
        other => other.to_string().chars().take(LONGEST_TEXT).collect(),
    }
}

fn described(text: Option<String>) -> Result<Option<String>> {
    let text = text.map(|text| text.trim().to_owned());
    match text {
        Some(text) if text.chars().count() > LONGEST_TEXT => {
            Err(Error::bad_args(format!("the description is longer than {LONGEST_TEXT} characters: shorten it")))
        }
        text => Ok(text),
    }
}

/// Parses `endAt`: the end of a day, or a moment. Empty means no end.
fn end_of(cx: &Cx, text: &str) -> Result<Option<i64>> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let clock = &cx.ports().clock;
    let when = When::read(text, &clock.zone())?;
    let end = match &when {
        When::At(at) => at.timestamp(),
        When::Day(day) => {
            let beyond = |_| Error::bad_args(format!("the day {day} is out of range: give another"));
            let next = day.checked_add(1.day()).and_then(|next| next.to_zoned(clock.zone())).map_err(beyond)?;
            next.timestamp() - jiff::SignedDuration::from_millis(1)
        }
    };
    if end <= clock.now() {
        return Err(Error::bad_args(format!("`endAt` is in the past ({when}): give a future time")));
    }
    Ok(Some(end.as_millisecond()))
}

/// List scheduled tasks: upcoming first, then paused and finished ones.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct List {
    /// True for active tasks only, false for paused or finished ones only.
    pub enabled: Option<bool>,
    /// Only tasks with these words in name or description.
    pub search: Option<String>,
    /// Only those due on this day or later, and not paused.
    pub from: Option<String>,
    /// Only those due on this day or earlier, and not paused.
    pub until: Option<String>,
    /// Maximum number of results (default: 20, max: 50).
    pub limit: Option<u32>,
    /// Number of results to skip.
    pub offset: Option<u32>,
}

pub(crate) async fn list(desk: ScheduleTools, cx: Cx, args: List) -> Result<Output> {
    let limit = args.limit.unwrap_or(LISTED).clamp(1, MOST) as usize;
    let offset = args.offset.unwrap_or(0) as usize;
    let search = args.search.unwrap_or_default();
    let days = DueDays::read(&cx, args.from.as_deref(), args.until.as_deref())?;
    let all = desk.scheduler.list(&cx, |schedule| {
        args.enabled.is_none_or(|enabled| enabled == schedule.enabled)
            && days.has(schedule)
            && contains_all_words(&search, &[&schedule.name, &schedule.description])
    })?;
    let some: Vec<&Entry<Schedule>> = all.iter().skip(offset).take(limit).collect();
    let tasks: Vec<Value> = some.iter().map(|entry| sentences::task(&cx, &desk.registry, entry)).collect();
    let sentence = match some.is_empty() && search.eq_ignore_ascii_case("alarm") {
        true => "No alarm is set.".to_owned(),
        false if some.is_empty() && days.is_given() => "No reminder is due then.".to_owned(),
        false => sentences::listed(&cx, &some, all.len() - offset.min(all.len())),
    };
    let has_more = all.len() > offset.saturating_add(limit);
    Ok(Output::json(json!({"count": tasks.len(), "hasMore": has_more, "tasks": tasks}))?.say(sentence))
}

/// The days within which schedules are due.
struct DueDays {
    zone: TimeZone,
    from: Option<Date>,
    until: Option<Date>,
}

impl DueDays {
    fn read(cx: &Cx, from: Option<&str>, until: Option<&str>) -> Result<Self> {
        let zone = cx.ports().clock.zone();
        let day = |text: Option<&str>| -> Result<Option<Date>> {
            let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
            Ok(Some(match When::read(text, &zone)? {
                When::At(at) => at.with_time_zone(zone.clone()).date(),
                When::Day(day) => day,
            }))
        };
        Ok(Self { from: day(from)?, until: day(until)?, zone: zone.clone() })
    }

    fn is_given(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    fn has(&self, schedule: &Schedule) -> bool {
        if !self.is_given() {
            return true;
        }
        let next = schedule.next_ms.filter(|_| schedule.enabled).and_then(|ms| Timestamp::from_millisecond(ms).ok());
        next.map(|next| next.to_zoned(self.zone.clone()).date())
            .is_some_and(|day| self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day <= until))
    }
}

/// The state of one task, or a summary of all.
pub(crate) fn status(desk: &ScheduleTools, cx: &Cx, which: Option<&str>) -> Result<Output> {
    let clock = &*cx.ports().clock;
    if let Some(which) = which {
        let found = desk.scheduler.find(cx, which)?;
        let last = desk.scheduler.history(cx, found.id, 1)?;
        let sentence = sentences::ran(&found.value, last.first().map(|run| &run.value), &clock.local());
        return Ok(Output::json(sentences::task(cx, &desk.registry, &found))?.say(sentence));
    }
    let all = desk.scheduler.list(cx, |_| true)?;
    let enabled = all.iter().filter(|entry| entry.value.enabled).count();
    let running = all.iter().filter(|entry| entry.value.running.is_some()).count();
    let some: Vec<&Entry<Schedule>> = all.iter().take(1).collect();
    let next = some.first().map(|entry| sentences::task(cx, &desk.registry, entry));
    let content = json!({"jobs": all.len(), "enabled": enabled, "running": running, "next": next});
    Ok(Output::json(content)?.say(sentences::listed(cx, &some, all.len())))
}

/// Change a scheduled task; omitted fields stay unchanged. `enabled: false` pauses it.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Update {
    /// Id or name of the task.
    pub task_id: String,
    /// New name.
    pub name: Option<String>,
    /// New schedule, as for create_scheduled_task. A date-time moves the time of day of one that repeats, which keeps its days;
    /// {"type": "once", "at"} makes it a single one.
    #[schemars(extend("type" = ["string", "object"]))]
    pub schedule: Option<Value>,
    /// The tool to call.
    pub tool: Option<String>,
    /// Arguments for the tool.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub arguments: Option<Value>,
    /// The task for the agent.
    pub prompt: Option<String>,
    /// The message to the person.
    pub message: Option<String>,
    /// For a message: the name of the person it is for, or `everyone`. Default: the person.
    pub person: Option<String>,
    /// The action as an object.
    pub action: Option<ActionObject>,
    /// Time zone of the schedule.
    pub timezone: Option<String>,
    /// Whether it is active.
    pub enabled: Option<bool>,
    /// Policy for missed runs: once, skip or all.
    pub missed: Option<Missed>,
    /// Retries after a failed run.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// Seconds before the first retry.
    #[schemars(range(min = 1, max = 86_400))]
    pub retry_delay_seconds: Option<u32>,
    /// No runs after this day or date-time; an empty text removes the limit.
    pub end_at: Option<String>,
    /// Maximum number of runs; 0 removes the limit.
    pub max_runs: Option<u32>,
    /// Short description.
    pub description: Option<String>,
}

pub(crate) async fn update(desk: ScheduleTools, cx: Cx, args: Update) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    let clock = cx.ports().clock.clone();
    let name = args.name.as_deref().map(|name| required_text("name", name, LONGEST_NAME)).transpose()?;
    let recurrence = new_recurrence(&cx, &found.value, args.schedule.as_ref(), args.timezone.as_deref())?;
    let (tool, arguments, prompt, action) = (args.tool, args.arguments, args.prompt, args.action);
    let (message, person) = (args.message, args.person.filter(|person| !person.trim().is_empty()));
    let parse = ActionArgs { tool, arguments, prompt, message, person, action }.parse()?;
    let title = name.as_deref().unwrap_or(&found.value.name);
    let action = new_call(&desk, &cx, &found.value, parse, recurrence.as_ref(), title).await?;
    let change = Change {
        description: described(args.description)?,
        recurrence,
        action,
        enabled: args.enabled,
        missed: args.missed,
        retries: args.retries.map(|n| n.min(10)),
        retry_delay_ms: args.retry_delay_seconds.map(|s| 1000 * i64::from(s.clamp(1, 86_400))),
        ends_ms: args.end_at.as_deref().map(|end| end_of(&cx, end)).transpose()?,
        max_runs: args.max_runs,
        name,
    };
    let kept = desk.scheduler.update(&cx, &found.id.to_string(), change).await?;
    let sentence = sentences::changed(&kept.value, &clock.local());
    Ok(Output::json(sentences::task(&cx, &desk.registry, &kept))?.say(sentence))
}

/// The new recurrence; a new time zone alone moves the times of a cron pattern.
fn new_recurrence(
    cx: &Cx,
    schedule: &Schedule,
    wanted: Option<&Value>,
    zone: Option<&str>,
) -> Result<Option<(String, Recurrence)>> {
    let clock = &*cx.ports().clock;
    let (before, own) = match schedule.recurrence() {
        Some(Recurrence::Cron { expression, zone }) => (Some(expression), zone),
        Some(Recurrence::Once { zone, .. }) => (None, zone),
        _ => (None, None),
    };
    if let (Some(wanted), None, Some(expression)) = (wanted, zone, &before)
        && let Some(moved) = moved_time(wanted, expression)?
    {
        return Ok(Some((moved.clone(), parse(&Value::String(moved), own.as_deref(), clock)?)));
    }
    match (wanted, zone, before) {
        (Some(wanted), zone, _) => Ok(Some((written(wanted), parse(wanted, zone.or(own.as_deref()), clock)?))),
        (None, None, _) => Ok(None),
        (None, zone, Some(expression)) => {
            Ok(Some((schedule.written.clone(), parse(&Value::String(expression), zone, clock)?)))
        }
        (None, Some(_), None) => Err(Error::bad_args("an interval has no time zone: give a cron `schedule` with it")),
    }
}

/// The pattern with the time of day of a moment: "move the reminder to 9" keeps its days.
fn moved_time(wanted: &Value, expression: &str) -> Result<Option<String>> {
    let Some(Ok(at)) = wanted.as_str().map(str::parse::<jiff::civil::DateTime>) else { return Ok(None) };
    let single = |field: &str| field.bytes().all(|b| b.is_ascii_digit());
    match expression.split(' ').collect::<Vec<_>>()[..] {
        [minute, hour, day, month, weekday] if single(minute) && single(hour) => {
            Ok(Some(format!("{} {} {day} {month} {weekday}", at.minute(), at.hour())))
        }
        _ => Err(Error::bad_args(
            "this repeats at several times: give all of its new times, such as `0 8,18 * * *`; {\"type\": \"once\", \"at\"} makes it a \
             single one",
        )
        .say("It comes at several times. Say all of the new ones together, for example “every day at 8 and 18”.")),
    }
}

/// The new pre-authorized call, if it changes. Consent was given for specific times, so a new schedule asks again.
async fn new_call(
    desk: &ScheduleTools,
    cx: &Cx,
    schedule: &Schedule,
    parse: Option<Action>,
    recurrence: Option<&(String, Recurrence)>,
    title: &str,
) -> Result<Option<PreauthorizedCall>> {
    let local = cx.ports().clock.local();
    let recurs = recurrence.map(|(_, recurrence)| recurrence.clone()).or_else(|| schedule.recurrence());
    let about = recurs.map(|recurrence| recurrence.text(&local)).unwrap_or_default();
    if let Some(action) = parse {
        return action.arm(cx, &desk.registry, title, &about).await.map(Some);
    }
    let before = schedule.action();
    if recurrence.is_none() || !before.consented {
        return Ok(None);
    }
    desk.registry.arm(cx, &before.tool, before.args, &about).await.map(Some)
}

/// Delete a scheduled task and its history.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Delete {
    /// Id or name of the task.
    pub task_id: String,
}

pub(crate) async fn delete(desk: ScheduleTools, cx: Cx, args: Delete) -> Result<Output> {
    let meant = desk.scheduler.find(&cx, &args.task_id)?;
    records::require_exact_name(&args.task_id, meant.id, &meant.value.name)?;
    let gone = desk.scheduler.delete(&cx, &meant.id.to_string()).await?;
    let sentence = format!("“{}” is cancelled.", gone.value.name);
    Ok(Output::json(json!({"taskId": gone.id, "name": gone.value.name, "deleted": true}))?.say(sentence))
}

/// Show past runs of a scheduled task with their results, latest first.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct History {
    /// Id or name of the task.
    pub task_id: String,
    pub limit: Option<u32>,
}

pub(crate) async fn history(desk: ScheduleTools, cx: Cx, args: History) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    let limit = args.limit.unwrap_or(RUNS).clamp(1, MOST) as usize;
    let mut runs = desk.scheduler.history(&cx, found.id, limit + 1)?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let clock = &*cx.ports().clock;
    let told: Vec<Value> = runs.iter().map(|run| sentences::run(run, clock)).collect();
    let sentence = sentences::ran(&found.value, runs.first().map(|run| &run.value), &clock.local());
    let content = json!({"taskId": found.id, "name": found.value.name, "count": told.len(), "hasMore": has_more,
                         "runs": told});
    Ok(Output::json(content)?.say(sentence))
}

/// Run a scheduled task now, in addition to its schedule.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Trigger {
    /// Id or name of the task.
    pub task_id: String,
}

pub(crate) async fn trigger(desk: ScheduleTools, cx: Cx, args: Trigger) -> Result<Output> {
    let found = desk.scheduler.find(&cx, &args.task_id)?;
    // Consent for the scheduled times does not cover other times.
    desk.registry.judge(&cx, &found.value.action(), "now, started by hand").await?;
    let run = desk.scheduler.fire_now(&cx, &found.id.to_string(), PATIENCE).await?;
    let clock = &*cx.ports().clock;
    let mut content = sentences::run(&run, clock);
    content["name"] = found.value.name.clone().into();
    let sentence = sentences::ran_by_hand(&found.value.name, &run.value);
    Ok(Output::json(content)?.say(sentence))
}
