//! Trigger tools: run something when something else happens.

#[cfg(test)]
mod tests;

use crate::{
    action::{ActionArgs, ActionObject, action_json},
    arming::{arm, arm_look},
    causes::in_words,
    drafts::{changeable, recurrences},
    engine::{Fired, FiredBy, Rules, Stop, by_hand, definition_of},
    matching::Op,
    planning::{forget_schedules, plan_schedules},
    record::{BY_NAME, BY_TRIGGER, Call, Check, Config, Firing, Kind, Status, Trigger},
    rule_words::Words,
    sentences,
};
use records::required_text;
use scheduler::Recurrence;
use store::{Entry, Tx, Visit, Walk};
use text_kit::listing;
use tool::{Channel, Owner, PreauthorizedCall, Scope, prelude::*};

/// Maximum number of triggers per person.
const MOST: usize = 200;
/// Maximum length of name and description, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_TEXT: usize = 2000;

/// The trigger tools.
pub fn family(rules: Rules) -> Family<Rules> {
    Family::new("triggers", "Run something when something else happens.", rules)
        .area(Area::Memory)
        .phrases(include_str!("triggers.en"))
        .tool("create_trigger", Risk::Write, create)
        .automates()
        .plans_ahead()
        .tags("automation rule when event condition react automatic watch")
        .example(json!({"name": "Door bell", "type": "event", "config": {"topic": "pin:changed", "match": {"pin": 4, "high": true}},
                        "message": "Somebody is at the door"}))
        .persists_instructions()
        .tool("list_triggers", Risk::Observe, list)
        .tags("automations rules reactions")
        .tool("get_trigger", Risk::Observe, get)
        .tool("update_trigger", Risk::Write, update)
        .automates()
        .tags("change edit automation rule")
        .persists_instructions()
        .tool("pause_trigger", Risk::Write, pause)
        .tags("stop resume enable disable automation")
        .tool("delete_trigger", Risk::Destroy, delete)
        .tags("remove automation rule")
        .tool("fire_trigger", Risk::Write, fire)
        .automates()
        // Its own schedule fires it as pre-authorized.
        .additive_where(|_, cx, _| is_own_schedule(cx))
        .tags("run test automation now")
        .tool("get_trigger_history", Risk::Observe, history)
        .tags("log fired when why automation")
}

/// Create a trigger: run an action on a schedule, on an event, or when a tool's result becomes true. The action is
/// one of `tool` with `arguments`, `prompt` for the agent, or `message` to the person. Texts in it may use
/// `{{topic}}` and `{{data.FIELD}}` of an event or `{{value}}` of a condition.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Create {
    /// Name of the trigger.
    name: String,
    /// The cause that fires it.
    r#type: Kind,
    /// For `schedule`: {"schedule": "0 7 * * *", "timezone"?}. For `event`: {"topic": "pin:changed", "match"?: {"pin": 4}}.
    /// For `condition`: {"check": {"tool", "arguments"?, "path"?, "op", "value"?}, "everySeconds"?}; it fires when the
    /// comparison (eq, ne, gt, gte, lt, lte, contains, changed) becomes true.
    config: Value,
    /// The tool to call.
    tool: Option<String>,
    /// Arguments for the tool.
    arguments: Option<Value>,
    /// The task for the agent.
    prompt: Option<String>,
    /// The message to the person.
    message: Option<String>,
    /// For a message: the name of the person it is for, or `everyone`. Default: the person.
    person: Option<String>,
    /// The action as an object: {"type": "tool", "tool", "arguments"}, {"type": "prompt", "prompt"} or {"type":
    /// "notify", "message"}.
    action: Option<ActionObject>,
    /// Short description.
    description: Option<String>,
    /// Whether it is active. Default: true.
    enabled: Option<bool>,
    /// Minimum number of seconds between two firings. Default: 1.
    #[schemars(range(max = 86_400))]
    cooldown_seconds: Option<u32>,
    /// Maximum number of firings per hour. Default: 60.
    #[schemars(range(min = 1, max = 3600))]
    max_per_hour: Option<u32>,
}

async fn create(rules: Rules, cx: Cx, args: Create) -> Result<Output> {
    let name = required_text("name", &args.name, LONGEST_NAME)?;
    let parts = rules.parts();
    if parts.shelf.records().count(&cx, &Walk::prefix(BY_NAME, []))? >= MOST {
        return Err(Error::unavailable(format!("there are {MOST} triggers: delete one first")));
    }
    let config = Config::read(args.r#type, &args.config)?;
    let times = times(&cx, &config)?;
    let Create { tool, arguments, prompt, message, person, action, .. } = args;
    let action = ActionArgs { tool, arguments, prompt, message, person, action };
    let about = in_words(&cx, &parts.registry, args.r#type, &args.config);
    let action = armed(&rules, &cx, action, &name, &about)
        .await?
        .ok_or_else(|| Error::bad_args("give an action: one of `tool` with `arguments`, `prompt` or `message`"))?;
    let check = condition_call(&rules, &cx, &config).await?;
    let trigger = Trigger {
        name,
        description: text(args.description)?,
        kind: args.r#type,
        config: args.config.to_string(),
        action: action.into(),
        check,
        enabled: args.enabled.unwrap_or(true),
        cooldown_s: args.cooldown_seconds.unwrap_or(1).min(86_400),
        per_hour: args.max_per_hour.unwrap_or(60).clamp(1, 3600),
        ..Trigger::default()
    };
    let planned = plan_schedules(rules.parts().scheduler.clone(), cx.agent(), times.into_iter().collect());
    let mut added = parts.shelf.add_all_with(&cx, "create_trigger", vec![(trigger, false)], planned).await?;
    let entry = added.pop().ok_or_else(|| Error::failed("the trigger could not be stored: try again"))?;
    rules.put(&entry);
    let sentence = format!("The trigger “{}” is set: {about}.", entry.value.name);
    Ok(Output::json(trigger_json(&cx, &rules, &entry))?.say(sentence))
}

/// The recurrence of a schedule trigger.
fn times(cx: &Cx, config: &Config) -> Result<Option<Recurrence>> {
    let Config::Schedule { schedule, timezone } = config else { return Ok(None) };
    scheduler::parse(schedule, timezone.as_deref(), &*cx.ports().clock).map(Some)
}

/// The pre-authorized call, judged for this caller; `None` if the parameters name no action.
async fn armed(
    rules: &Rules,
    cx: &Cx,
    action: ActionArgs,
    name: &str,
    about: &str,
) -> Result<Option<PreauthorizedCall>> {
    let Some(action) = action.parse()? else { return Ok(None) };
    arm(&rules.parts().registry, cx, action, name, about).await.map(Some)
}

/// The call that evaluates a condition: a read-only tool, judged for this caller.
async fn condition_call(rules: &Rules, cx: &Cx, config: &Config) -> Result<Option<Call>> {
    let Config::Condition { check: Check { tool, arguments, op, value, .. }, .. } = config else { return Ok(None) };
    if *op != Op::Changed && value.is_null() {
        return Err(Error::bad_args("the check needs a `value` to compare with, or the operator `changed`"));
    }
    arm_look(&rules.parts().registry, cx, tool, arguments).await.map(Some)
}

/// List triggers, by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those of this type.
    r#type: Option<Kind>,
    /// True for active triggers only, false for paused ones only.
    enabled: Option<bool>,
    /// Only triggers with these words in name or description.
    search: Option<String>,
    /// Maximum number of results. Default: 20.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
    /// Number of results to skip.
    offset: Option<u32>,
}

async fn list(rules: Rules, cx: Cx, args: List) -> Result<Output> {
    let limit = args.limit.unwrap_or(20).clamp(1, 50) as usize;
    let search = records::optional_text("search", args.search.as_deref(), LONGEST_NAME)?;
    let page =
        rules.parts().shelf.page(&cx, &Walk::prefix(BY_NAME, []), (args.offset.unwrap_or(0) as usize, limit), |e| {
            let t = &e.value;
            args.r#type.is_none_or(|kind| kind == t.kind)
                && args.enabled.is_none_or(|on| on == t.enabled)
                && search.as_deref().is_none_or(|s| records::contains_all_words(s, &[&t.name, &t.description]))
        })?;
    let all: Vec<Value> = page.entries.iter().map(|e| trigger_json(&cx, &rules, e)).collect();
    let text = |trigger: &Value, field: &str| trigger[field].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = all.iter().map(|t| format!("“{}”, {}", text(t, "name"), text(t, "when"))).collect();
    let sentence = match page.entries.len() {
        0 => "There are no triggers yet.".to_owned(),
        1 if !page.more => listing("There is one trigger", &names, false),
        n => {
            listing(&format!("There are {}{n} triggers", if page.more { "more than " } else { "" }), &names, page.more)
        }
    };
    Ok(Output::json(json!({"triggers": all, "count": all.len(), "hasMore": page.more}))?.say(sentence))
}

/// Show one trigger.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Which {
    /// Id or name of the trigger.
    trigger_id: String,
}

async fn get(rules: Rules, cx: Cx, args: Which) -> Result<Output> {
    let entry = rules.parts().shelf.find(&cx, &args.trigger_id)?;
    let told = trigger_json(&cx, &rules, &entry);
    let sentence = format!("“{}”: {}", entry.value.name, told["sentence"].as_str().unwrap_or_default());
    Ok(Output::json(told)?.say(sentence))
}

/// Change a trigger; omitted fields stay unchanged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Id or name of the trigger.
    trigger_id: String,
    /// New name.
    name: Option<String>,
    /// New configuration; the type stays.
    config: Option<Value>,
    /// The tool to call.
    tool: Option<String>,
    /// Arguments for the tool.
    arguments: Option<Value>,
    /// The task for the agent.
    prompt: Option<String>,
    /// The message to the person.
    message: Option<String>,
    /// For a message: the name of the person it is for, or `everyone`. Default: the person.
    person: Option<String>,
    /// The action as an object.
    action: Option<ActionObject>,
    /// Short description.
    description: Option<String>,
    /// Whether it is active.
    enabled: Option<bool>,
    /// Minimum number of seconds between two firings.
    #[schemars(range(max = 86_400))]
    cooldown_seconds: Option<u32>,
    /// Maximum number of firings per hour.
    #[schemars(range(min = 1, max = 3600))]
    max_per_hour: Option<u32>,
}

async fn update(rules: Rules, cx: Cx, args: Update) -> Result<Output> {
    let parts = rules.parts();
    let before = parts.shelf.find_own(&cx, &args.trigger_id)?;
    changeable(&before)?;
    if before.value.kind == Kind::Rule {
        let text = format!("“{}” is a rule with parts of its own: change it with `update_rule`", before.value.name);
        return Err(Error::bad_args(text));
    }
    let name = args.name.as_deref().map(|n| required_text("name", n, LONGEST_NAME)).transpose()?;
    let written = args.config.clone().unwrap_or_else(|| config_of(&before.value));
    let config = Config::read(before.value.kind, &written)?;
    let times = times(&cx, &config)?;
    let Update { tool, arguments, prompt, message, person, action, .. } = args;
    let action = ActionArgs { tool, arguments, prompt, message, person, action };
    let called = name.clone().unwrap_or_else(|| before.value.name.clone());
    let about = in_words(&cx, &parts.registry, before.value.kind, &written);
    let mut action = armed(&rules, &cx, action, &called, &about).await?;
    let (old, anew) = (before.value.action.armed(), args.config.is_some());
    if action.is_none() && anew && old.consented {
        // Consent was given for another cause.
        action = Some(parts.registry.arm(&cx, &old.tool, old.args, &about).await?);
    }
    let check = if anew { condition_call(&rules, &cx, &config).await? } else { before.value.check.clone() };
    let description = args.description.map(|d| text(Some(d))).transpose()?;
    if args.enabled == Some(true) {
        before.value.check_switching_on(cx.channel())?;
    }
    let (enabled, cooldown, per_hour) = (args.enabled, args.cooldown_seconds, args.max_per_hour);
    let (action, written) = (action.map(Call::from), written.to_string());
    let change = move |t: &mut Trigger| {
        t.name = name.clone().unwrap_or_else(|| t.name.clone());
        t.description = description.clone().unwrap_or_else(|| t.description.clone());
        t.action = action.clone().unwrap_or_else(|| t.action.clone());
        t.enabled = enabled.unwrap_or(t.enabled);
        t.cooldown_s = cooldown.unwrap_or(t.cooldown_s).min(86_400);
        t.per_hour = per_hour.unwrap_or(t.per_hour).clamp(1, 3600);
        if anew {
            // The last observation belongs to the old check.
            (t.config, t.seen) = (written.clone(), String::new());
            t.check.clone_from(&check);
        }
        Ok(())
    };
    let id = before.id.to_string();
    let planned = plan_schedules(rules.parts().scheduler.clone(), cx.agent(), times.into_iter().collect());
    let entry = parts.shelf.change_with(&cx, &id, None, change, planned).await?;
    rules.put(&entry);
    let sentence = format!("I have changed the trigger “{}”.", entry.value.name);
    Ok(Output::json(trigger_json(&cx, &rules, &entry))?.say(sentence))
}

/// Pause or resume a trigger.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Pause {
    /// Id or name of the trigger.
    trigger_id: String,
    /// True pauses it, false resumes it.
    #[serde(default = "yes")]
    paused: bool,
}

fn yes() -> bool {
    true
}

async fn pause(rules: Rules, cx: Cx, args: Pause) -> Result<Output> {
    let parts = rules.parts();
    let before = parts.shelf.find_own(&cx, &args.trigger_id)?;
    changeable(&before)?;
    if !args.paused {
        before.value.check_switching_on(cx.channel())?;
    }
    // A schedule entirely in the past cannot resume.
    let times = match (definition_of(&before.value), args.paused) {
        (Some(definition), false) => recurrences(&definition, &*cx.ports().clock)?,
        _ => vec![],
    };
    let change = move |t: &mut Trigger| {
        t.enabled = !args.paused;
        Ok(())
    };
    let id = before.id.to_string();
    let planned = plan_schedules(parts.scheduler.clone(), cx.agent(), times);
    let entry = parts.shelf.change_with(&cx, &id, None, change, planned).await?;
    rules.put(&entry);
    let how = if args.paused { "is paused" } else { "is on again" };
    let sentence = format!("The trigger “{}” {how}.", entry.value.name);
    Ok(Output::json(trigger_json(&cx, &rules, &entry))?.say(sentence))
}

/// Delete a trigger and its history.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Id or name of the trigger.
    trigger_id: String,
}

async fn delete(rules: Rules, cx: Cx, args: Delete) -> Result<Output> {
    let parts = rules.parts();
    let found = parts.shelf.find_own(&cx, &args.trigger_id)?;
    changeable(&found)?;
    let id = found.id;
    records::require_exact_name(&args.trigger_id, id, &found.value.name)?;
    let kept =
        parts.firings.walk_in(Scope::User(cx.user()), &Walk::prefix(BY_TRIGGER, id.as_bytes()), |_| Visit::Yes)?;
    let (scheduler, firings) = (parts.scheduler.clone(), parts.firings.clone());
    let also = move |tx: &Tx, entry: &Entry<Trigger>| {
        kept.iter().try_for_each(|f| firings.remove(tx, Scope::User(entry.owner), f.id).map(drop))?;
        forget_schedules(&scheduler, tx, entry)
    };
    let gone = parts.shelf.remove_with(&cx, &id.to_string(), also).await?;
    rules.drop_live(gone.id);
    let sentence = format!("The trigger “{}” is deleted.", gone.value.name);
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "name": gone.value.name}))?.say(sentence))
}

/// Fire a trigger now. Its action counts as called by whoever fires it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Fire {
    /// Id or name of the trigger.
    trigger_id: String,
}

async fn fire(rules: Rules, cx: Cx, args: Fire) -> Result<Output> {
    let entry = rules.parts().shelf.find_own(&cx, &args.trigger_id)?;
    let about = json!({"topic": "manual", "data": {}, "at": cx.ports().clock.now().to_string()});
    // Its own schedule fires it as pre-authorized (no other stored call may name this tool); any other caller makes
    // the call themselves, and is judged for it.
    let scheduled = matches!(entry.value.kind, Kind::Schedule | Kind::Rule);
    let fired = match is_own_schedule(&cx) && scheduled {
        true => rules.fire_on_schedule(&entry, &about, cx.label()).await?,
        false => rules.fire(&entry, &by_hand(&cx), FiredBy::Caller(&cx), &Stop::default()).await,
    };
    let Fired { status, result } = fired;
    if status == Status::Interrupted {
        // The firing resumes by itself, so the caller must not retry.
        let answer = json!({"id": entry.id, "name": entry.value.name, "status": status, "result": null});
        return Ok(Output::json(answer)?.say("It resumes when Hob has restarted."));
    }
    let given = result?;
    let sentence = given.say.clone().unwrap_or_else(|| format!("The trigger “{}” has fired.", entry.value.name));
    let answer = json!({"id": entry.id, "name": entry.value.name, "status": status, "result": given.content});
    let mut output = Output::json(answer)?.say(sentence);
    output.label = given.label;
    Ok(output)
}

/// Whether its schedule fires it, not a person.
fn is_own_schedule(cx: &Cx) -> bool {
    cx.via().channel == Channel::Machine && cx.run().is_none() && *cx.maker() == Owner::Core
}

/// Show past firings of a trigger with cause and result, latest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct History {
    /// Id or name of the trigger.
    trigger_id: String,
    /// Maximum number of results. Default: 10.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u32>,
}

async fn history(rules: Rules, cx: Cx, args: History) -> Result<Output> {
    let parts = rules.parts();
    let entry = parts.shelf.find_own(&cx, &args.trigger_id)?;
    let (limit, mut kept) = (args.limit.unwrap_or(10).clamp(1, 50) as usize, 0);
    let firings = parts.firings.walk(&cx, &Walk::prefix(BY_TRIGGER, entry.id.as_bytes()).down(), |_| {
        kept += 1;
        if kept > limit { Visit::Stop } else { Visit::Yes }
    })?;
    let all: Vec<Value> = firings.iter().map(|f| firing(&cx, f)).collect();
    let sentence = match entry.value.count {
        0 => format!("“{}” has not fired yet.", entry.value.name),
        1 => format!("“{}” has fired once.", entry.value.name),
        n => format!("“{}” has fired {n} times.", entry.value.name),
    };
    Ok(Output::json(json!({"triggerId": entry.id, "firings": all, "count": all.len(), "hasMore": kept > limit}))?
        .say(sentence))
}

fn at(cx: &Cx, ms: u64) -> Option<String> {
    (ms > 0).then(|| records::iso(i64::try_from(ms).unwrap_or(i64::MAX), &cx.ports().clock.zone()))
}

fn text(given: Option<String>) -> Result<String> {
    match given.as_deref().map(str::trim) {
        None | Some("") => Ok(String::new()),
        Some(given) => required_text("description", given, LONGEST_TEXT),
    }
}

/// A trigger as JSON.
fn trigger_json(cx: &Cx, rules: &Rules, entry: &Entry<Trigger>) -> Value {
    let t = &entry.value;
    let (config, call, registry) = (config_of(t), t.action.armed(), &rules.parts().registry);
    let parts = rules.parts();
    let words = Words { cx, registry, home: &parts.home };
    let rule = definition_of(t).filter(|_| t.kind == Kind::Rule);
    let when = match &rule {
        Some(rule) => words.when(rule),
        None => in_words(cx, registry, t.kind, &config),
    };
    let sentence = match &rule {
        Some(rule) => words.sentence(rule),
        None => sentences::armed(cx, registry, &when, &call),
    };
    let clock = &*cx.ports().clock;
    let times =
        || scheduler::parse(&config["schedule"], config["timezone"].as_str(), clock).ok()?.choice(&clock.local());
    let choice = if t.kind == Kind::Schedule { times() } else { None };
    json!({
        "id": entry.id, "name": t.name, "description": t.description, "type": t.kind.word(),
        "sentence": sentence, "when": when, "choice": choice, "config": config,
        "action": action_json(cx, &call), "enabled": t.enabled, "cooldownSeconds": t.cooldown_s,
        "maxPerHour": t.per_hour, "fired": t.count, "failures": t.failures, "lastFired": at(cx, t.last_ms),
        "createdAt": at(cx, entry.id.millis()), "updatedAt": at(cx, entry.updated_ms),
    })
}

fn firing(cx: &Cx, entry: &Entry<Firing>) -> Value {
    let f = &entry.value;
    let some = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
    json!({
        "id": entry.id, "at": at(cx, entry.id.millis()), "finishedAt": at(cx, f.finished_ms), "why": f.why,
        "status": f.status, "result": some(&f.result), "error": some(&f.error),
    })
}

fn config_of(t: &Trigger) -> Value {
    serde_json::from_str(&t.config).unwrap_or_default()
}
