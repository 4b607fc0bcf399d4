//! Rule tools: triggers, conditions and actions in one record.

mod dry_run;
mod export;
mod log;
mod view;

use crate::{
    arming::ArmedCalls,
    definition::{Definition, Mode},
    drafts::{Draft, Limits, MOST_PER_HOUR, PER_HOUR, Validate, changeable, to_json, unasked},
    engine::{FiredBy, Rules, Stop, by_hand, definition_of},
    planning::{forget_schedules, plan_schedules},
    reading::Written,
    record::{BY_NAME, BY_TRIGGER, Kind, Trigger},
    rule_words::Words,
};
use records::required_text;
use std::time::Duration;
use store::{Entry, Tx, Visit, Walk};
use text_kit::listing;
use tool::{Scope, prelude::*};
use view::rule_json;

/// Maximum number of rules and triggers per person.
const MOST: usize = 400;
/// Maximum length of name and description, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_TEXT: usize = 2000;
/// How long a rule may take that is run by hand, its waits included.
const BY_HAND: Duration = Duration::from_secs(600);

/// The rule tools.
pub fn family(rules: Rules) -> Family<Rules> {
    Family::new("rules", "Rules: when something happens and conditions hold, do things.", rules)
        .area(Area::Memory)
        .tool("create_rule", Risk::Write, create)
        .automates()
        .plans_ahead()
        .persists_instructions()
        .tags("automation trigger when if then condition react button sunset sensor threshold")
        .example(json!({"name": "Hall lamp", "triggers": [{"type": "pin", "pin": 4, "press": "double"}],
                        "conditions": [{"type": "not", "condition": {"type": "sun", "is": "up"}}],
                        "actions": [{"type": "thing", "thing": "pin:17", "action": "turn_on", "for": "5 minutes"}]}))
        .example(json!({"triggers": ["sunset-00:15"], "actions": ["turn on the porch light"]}))
        .tool("list_rules", Risk::Observe, list)
        .page((20, 50))
        .tags("automations triggers reactions")
        .tool("get_rule", Risk::Observe, get)
        .tags("automation trigger show explain")
        .tool("update_rule", Risk::Write, update)
        .automates()
        .persists_instructions()
        .tags("change edit enable disable pause automation")
        .tool("delete_rule", Risk::Destroy, delete)
        .tags("remove automation")
        .tool("validate_rule", Risk::Observe, validate)
        .tags("check test automation loop conflict")
        .tool("dry_run_rule", Risk::Observe, dry_run::dry_run)
        .tags("simulate test what would happen automation")
        .tool("run_rule", Risk::Write, run)
        .automates()
        .timeout(BY_HAND)
        .tags("fire test automation now by hand")
        .tool("rule_log", Risk::Observe, log::log)
        .page((10, 50))
        .tags("history why fired when automation")
        .tool("export_rules", Risk::Observe, export)
        .tags("toml file backup automation")
}

/// Create a rule: when one of its triggers occurs and all conditions hold, its actions run in order. Preview it with
/// validate_rule.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Create {
    /// Name of the rule. Default: its sentence.
    name: Option<String>,
    /// List of triggers. {"type": "pin", "pin", "edge": "rising"|"falling"|"both" or "press": "short"|"long"|"double"};
    /// {"type": "schedule", "schedule": "0 7 * * *"}; {"type": "sun", "event": "sunset"|"sunrise", "offsetMinutes"?,
    /// "date"?: "today"|"tomorrow"|"next"|"2026-11-27" for once}, every day without a date;
    /// {"type": "thing", "thing", "to"?, "from"?, "for"?}; {"type": "ha", "entity", "to"?, "from"?, "for"?};
    /// {"type": "mqtt", "topic", "payload"?, "path"?}; {"type": "threshold", "thing" | "entity" | "topic" | "tool",
    /// "above"?, "below"?, "hysteresis"?, "for"?}; {"type": "event", "topic", "match"?}; {"type": "check", "tool", "path"?,
    /// "op", "value"}. `for` is in seconds. Words work too: "bell pressed twice", "sunset-00:15".
    triggers: Value,
    /// List of conditions. {"type": "time", "after"?: "22:00", "before"?: "06:00"}; {"type": "days", "days": ["mon"]};
    /// {"type": "sun", "is": "up"|"down"}; {"type": "thing", "thing", "is"?, "above"?, "below"?}; {"type": "pin", "pin", "high"};
    /// {"type": "tool", "tool", "arguments"?, "path"?, "op", "value"}; {"type": "any"|"all", "conditions"};
    /// {"type": "not", "condition"}. Words work too: "after 22:00", "it is dark".
    conditions: Option<Value>,
    /// List of actions, in order. {"type": "thing", "thing", "action": "turn_on", "for"?: "5 minutes"}; {"type": "pin", "pin",
    /// "high" or "toggle": true}; {"type": "pulse", "pin"}; {"type": "ha", "service": "light.turn_on", "entity"?, "data"?};
    /// {"type": "mqtt", "topic", "payload"}; {"type": "message", "message", "person"?}; {"type": "prompt", "prompt"};
    /// {"type": "tool", "tool", "arguments"}; {"type": "wait", "seconds"}. Texts may use `{{topic}}`, `{{data.FIELD}}` and
    /// `{{value}}`. Words work too: "turn on the hall lamp for 5 minutes".
    actions: Value,
    /// A trigger while it still runs: single ignores it, restart begins again, queued runs it afterwards, parallel at once.
    /// Default: single.
    mode: Option<Mode>,
    /// Maximum number of runs that wait (queued) or run at once (parallel). Default: 10.
    #[schemars(range(min = 1, max = 50))]
    max: Option<u32>,
    /// Short description.
    description: Option<String>,
    /// Whether it is active. Default: true.
    enabled: Option<bool>,
    /// Minimum number of seconds between two runs. Default: 0.
    #[schemars(range(max = 86_400))]
    cooldown_seconds: Option<u32>,
    /// Maximum number of runs per hour. Default: 600.
    #[schemars(range(min = 1, max = 36_000))]
    max_per_hour: Option<u32>,
    /// Whether everybody in the household sees it; it stays its maker's.
    #[serde(default)]
    shared: bool,
}

async fn create(rules: Rules, cx: Cx, args: Create) -> Result<Output> {
    let parts = rules.parts();
    if parts.shelf.records().count(&cx, &Walk::prefix(BY_NAME, []))? >= MOST {
        return Err(Error::unavailable(format!("there are {MOST} rules: delete one first")));
    }
    let Create { name, triggers, conditions, actions, mode, max, description, enabled, .. } = args;
    let written = Written { triggers: Some(triggers), conditions, actions: Some(actions), mode, max };
    let draft = Draft::read(&rules, &cx, name.as_deref(), written, (&Definition::default(), None))?.checked()?;
    let armed = draft.arm(&rules, &cx).await?;
    let limits = Limits {
        description: text(description)?,
        enabled: enabled.unwrap_or(true),
        cooldown: args.cooldown_seconds.unwrap_or(0),
        per_hour: args.max_per_hour.unwrap_or(PER_HOUR),
    };
    let (warnings, times) = (draft.review.warnings.clone(), draft.times.clone());
    let planned = plan_schedules(parts.scheduler.clone(), cx.agent(), times);
    let rule = draft.record(armed, limits)?;
    let mut added = parts.shelf.add_all_with(&cx, "create_rule", vec![(rule, args.shared)], planned).await?;
    let entry = added.pop().ok_or_else(|| Error::failed("the rule could not be stored: try again"))?;
    rules.put(&entry);
    answer(&rules, &cx, &entry, warnings, "The rule is set: ")
}

/// A stored rule as the result of a tool.
fn answer(rules: &Rules, cx: &Cx, entry: &Entry<Trigger>, warnings: Vec<String>, lead: &str) -> Result<Output> {
    let mut told = rule_json(cx, rules, entry);
    let mut sentence = format!("{lead}{}", told["sentence"].as_str().unwrap_or_default());
    for warning in &warnings {
        sentence = format!("{sentence} {warning}");
    }
    if !warnings.is_empty() {
        told["warnings"] = json!(warnings);
    }
    Ok(Output::json(told)?.say(sentence))
}

/// List rules, by name; triggers are rules too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// True for active rules only, false for paused ones only.
    enabled: Option<bool>,
    /// Only rules with these words in name or description.
    search: Option<String>,
    limit: Option<u32>,
    /// Number of results to skip.
    offset: Option<u32>,
}

async fn list(rules: Rules, cx: Cx, args: List) -> Result<Output> {
    let limit = args.limit.unwrap_or(20).clamp(1, 50) as usize;
    let search = records::optional_text("search", args.search.as_deref(), LONGEST_NAME)?;
    let window = (args.offset.unwrap_or(0) as usize, limit);
    let page = rules.parts().shelf.page(&cx, &Walk::prefix(BY_NAME, []), window, |e| {
        args.enabled.is_none_or(|on| on == e.value.enabled)
            && search.as_deref().is_none_or(|s| records::contains_all_words(s, &[&e.value.name, &e.value.description]))
    })?;
    let all: Vec<Value> = page.entries.iter().map(|e| rule_json(&cx, &rules, e)).collect();
    let sentences: Vec<String> = all
        .iter()
        .map(|rule| format!("“{}”", rule["sentence"].as_str().unwrap_or_default().trim_end_matches('.')))
        .collect();
    let sentence = match all.len() {
        0 => "There are no rules yet.".to_owned(),
        1 if !page.more => listing("There is one rule", &sentences, false),
        n => {
            listing(&format!("There are {}{n} rules", if page.more { "more than " } else { "" }), &sentences, page.more)
        }
    };
    let errors = rules.parts().file_errors.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let mut told = json!({"rules": all, "count": all.len(), "hasMore": page.more});
    if !errors.is_empty() {
        told["fileErrors"] = json!(errors);
    }
    Ok(Output::json(told)?.say(sentence))
}

/// Show one rule.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Which {
    /// Id or name of the rule.
    rule_id: String,
}

async fn get(rules: Rules, cx: Cx, args: Which) -> Result<Output> {
    let entry = rules.parts().shelf.find(&cx, &args.rule_id)?;
    answer(&rules, &cx, &entry, vec![], "")
}

/// Change a rule; omitted fields stay unchanged. A given list replaces the whole list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Id or name of the rule.
    rule_id: String,
    /// New name.
    name: Option<String>,
    /// All triggers, as in create_rule.
    triggers: Option<Value>,
    /// All conditions, as in create_rule; an empty list removes them.
    conditions: Option<Value>,
    /// All actions, as in create_rule.
    actions: Option<Value>,
    /// A trigger while it still runs.
    mode: Option<Mode>,
    /// Maximum number of runs that wait or run at once.
    #[schemars(range(min = 1, max = 50))]
    max: Option<u32>,
    /// Short description.
    description: Option<String>,
    /// Whether it is active.
    enabled: Option<bool>,
    /// Minimum number of seconds between two runs.
    #[schemars(range(max = 86_400))]
    cooldown_seconds: Option<u32>,
    /// Maximum number of runs per hour.
    #[schemars(range(min = 1, max = 36_000))]
    max_per_hour: Option<u32>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(rules: Rules, cx: Cx, args: Update) -> Result<Output> {
    let parts = rules.parts();
    let before = parts.shelf.find_own(&cx, &args.rule_id)?;
    changeable(&before)?;
    if args.enabled == Some(true) {
        before.value.check_switching_on(cx.channel())?;
    }
    let Update { name, triggers, conditions, actions, mode, max, description, enabled, .. } = args;
    let anew = triggers.is_some() || conditions.is_some() || actions.is_some() || mode.is_some() || max.is_some();
    let again = triggers.is_some();
    let old = definition_of(&before.value).unwrap_or_default();
    let written = Written { triggers, conditions, actions, mode, max };
    let called = name.as_deref().or(Some(&before.value.name));
    let draft = Draft::read(&rules, &cx, called, written, (&old, Some(before.id)))?;
    // A rule that is only switched off may be as it is.
    let draft = if anew || enabled == Some(true) { draft.checked()? } else { draft };
    let armed = if anew { Some(draft.arm(&rules, &cx).await?) } else { None };
    let description = description.map(|d| text(Some(d))).transpose()?;
    let (cooldown, per_hour) = (args.cooldown_seconds, args.max_per_hour);
    let definition = to_json(&draft.definition)?;
    let (name, warnings) = (draft.name.clone(), draft.review.warnings.clone());
    let change = move |t: &mut Trigger| {
        t.name.clone_from(&name);
        t.description = description.clone().unwrap_or_else(|| t.description.clone());
        t.enabled = enabled.unwrap_or(t.enabled);
        t.cooldown_s = cooldown.unwrap_or(t.cooldown_s).min(86_400);
        t.per_hour = per_hour.unwrap_or(t.per_hour).clamp(1, MOST_PER_HOUR);
        if let Some(ArmedCalls { calls, asks }) = &armed {
            // A trigger of the older tools becomes a rule.
            (t.kind, t.config, t.check) = (Kind::Rule, "{}".into(), None);
            t.action = calls.iter().find(|call| !call.is_empty()).cloned().unwrap_or_default();
            t.definition.clone_from(&definition);
            (t.calls, t.asks) = (calls.clone(), asks.clone());
            t.seen.clear();
        }
        Ok(())
    };
    // A name leaves the times as they are: an interval would begin again.
    let retimed = again || enabled.is_some_and(|enabled| enabled != before.value.enabled);
    let mut plan = plan_schedules(parts.scheduler.clone(), cx.agent(), draft.times.clone());
    let planned = move |tx: &Tx, entry: &Entry<Trigger>| match retimed {
        true => plan(tx, entry),
        false => Ok(()),
    };
    let entry = parts.shelf.change_with(&cx, &before.id.to_string(), args.shared, change, planned).await?;
    rules.put(&entry);
    answer(&rules, &cx, &entry, warnings, "I have changed the rule: ")
}

/// Delete a rule and its log.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Id or name of the rule.
    rule_id: String,
}

async fn delete(rules: Rules, cx: Cx, args: Delete) -> Result<Output> {
    let parts = rules.parts();
    let found = parts.shelf.find_own(&cx, &args.rule_id)?;
    changeable(&found)?;
    let id = found.id;
    let kept =
        parts.firings.walk_in(Scope::User(cx.user()), &Walk::prefix(BY_TRIGGER, id.as_bytes()), |_| Visit::Yes)?;
    let (scheduler, firings) = (parts.scheduler.clone(), parts.firings.clone());
    let also = move |tx: &Tx, entry: &Entry<Trigger>| {
        kept.iter().try_for_each(|f| firings.remove(tx, Scope::User(entry.owner), f.id).map(drop))?;
        forget_schedules(&scheduler, tx, entry)
    };
    records::require_exact_name(&args.rule_id, id, &found.value.name)?;
    let gone = parts.shelf.remove_with(&cx, &id.to_string(), also).await?;
    rules.drop_live(gone.id);
    let sentence = format!("The rule “{}” is deleted.", gone.value.name);
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "name": gone.value.name}))?.say(sentence))
}

async fn validate(rules: Rules, cx: Cx, args: Validate) -> Result<Output> {
    let (draft, _) = match args.draft(&rules, &cx) {
        Ok(read) => read,
        Err(error @ (Error::NotFound(_) | Error::Denied(_))) => return Err(error),
        Err(error) => {
            let errors = [error.message()];
            let told = json!({"valid": false, "errors": errors, "warnings": []});
            return Ok(Output::json(told)?.say(format!("That is no rule yet: {}.", error.message())));
        }
    };
    let (mut errors, mut warnings) = (draft.review.errors.clone(), draft.review.warnings.clone());
    match draft.arm(&rules, &unasked(&cx)).await {
        Ok(_) => {}
        Err(Error::Denied(text)) => {
            warnings.push(format!("It needs an approval when it is stored, or is not allowed: {text}"))
        }
        Err(error) => errors.push(error.message().to_owned()),
    }
    let parts = rules.parts();
    let sentence = Words { cx: &cx, registry: &parts.registry, home: &parts.home }.sentence(&draft.definition);
    let said = match (errors.first(), warnings.first()) {
        (Some(_), _) => format!("{sentence} But: {}", errors.join(" ")),
        (None, Some(_)) => format!("{sentence} {}", warnings.join(" ")),
        (None, None) => sentence.clone(),
    };
    let definition = view::definition_json(&cx, &rules, &draft.definition);
    let told = json!({
        "valid": errors.is_empty(), "errors": errors, "warnings": warnings, "sentence": sentence, "name": draft.name,
        "rule": definition,
    });
    Ok(Output::json(told)?.say(said))
}

/// Run the actions of a rule now, whatever its triggers and conditions. They count as called by whoever runs it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Run {
    /// Id or name of the rule.
    rule_id: String,
}

async fn run(rules: Rules, cx: Cx, args: Run) -> Result<Output> {
    let entry = rules.parts().shelf.find_own(&cx, &args.rule_id)?;
    let actions = definition_of(&entry.value).unwrap_or_default().actions;
    let waits: u64 = actions.iter().filter(|one| one["type"] == "wait").filter_map(|one| one["seconds"].as_u64()).sum();
    if waits + 60 > BY_HAND.as_secs() {
        return Err(Error::unavailable(format!(
            "its waits add up to {}, too long to run it by hand: dry_run_rule shows what it would do",
            text_kit::duration_words(i64::try_from(waits).unwrap_or(i64::MAX))
        )));
    }
    let cause = by_hand(&cx);
    let fired = rules.fire(&entry, &cause, FiredBy::Caller(&cx), &Stop::default()).await;
    let status = fired.status;
    let given = fired.result?;
    let sentence = given.say.clone().unwrap_or_else(|| format!("The rule “{}” has run.", entry.value.name));
    let told = json!({"id": entry.id, "name": entry.value.name, "status": status, "result": given.content});
    let mut output = Output::json(told)?.say(sentence);
    output.label = given.label;
    Ok(output)
}

/// Export the caller's rules as TOML, in the form of the file rules.toml.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Export {
    /// Id or name of one rule. Default: all.
    rule_id: Option<String>,
}

async fn export(rules: Rules, cx: Cx, args: Export) -> Result<Output> {
    let shelf = &rules.parts().shelf;
    let entries = match args.rule_id {
        Some(which) => vec![shelf.find(&cx, &which)?],
        None => shelf.page(&cx, &Walk::prefix(BY_NAME, []), (0, MOST), |_| true)?.entries,
    };
    let text = export::written(&entries)?;
    let sentence = match entries.len() {
        0 => "There are no rules yet.".to_owned(),
        n => format!("{} as TOML.", text_kit::counted(n, "rule")),
    };
    Ok(Output::json(json!({"toml": text, "count": entries.len()}))?.say(sentence))
}

fn text(given: Option<String>) -> Result<String> {
    match given.as_deref().map(str::trim) {
        None | Some("") => Ok(String::new()),
        Some(given) => required_text("description", given, LONGEST_TEXT),
    }
}
