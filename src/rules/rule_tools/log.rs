//! Why a rule ran, or did not.

use super::view::at;
use crate::{
    engine::{Rules, definition_of},
    record::{BY_NAME, BY_TRIGGER, Trigger},
};
use store::{Entry, Visit, Walk};
use text_kit::truncate;
use things::Home;
use tool::prelude::*;

/// Show why a rule ran or did not, latest first: trigger, values of conditions, actions with outcome and milliseconds. Times it
/// did not run are remembered since the last start only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Log {
    /// Id or name of the rule.
    rule_id: Option<String>,
    /// Name or address of a thing, such as `pin:17`, instead of the rule: the one that last switched it.
    thing: Option<String>,
    limit: Option<u32>,
}

pub(super) async fn log(rules: Rules, cx: Cx, args: Log) -> Result<Output> {
    let parts = rules.parts();
    let (entry, of_thing) = match (&args.rule_id, &args.thing) {
        (Some(rule), _) => (parts.shelf.find_own(&cx, rule)?, None),
        (None, Some(thing)) => {
            let home = parts.home.things.home();
            let (address, name) = named(&home, thing)?;
            match last_of(&rules, &cx, &home, &address)? {
                Some(entry) => (entry, Some(name)),
                None => {
                    let told = json!({"thing": address, "log": [], "count": 0, "hasMore": false});
                    let said =
                        format!("No rule of yours has switched {name}. Device, Activity on the page shows every call.");
                    return Ok(Output::json(told)?.say(said));
                }
            }
        }
        (None, None) => return Err(Error::bad_args("`ruleId` or `thing` is missing: it says which log")),
    };
    let limit = args.limit.unwrap_or(10).clamp(1, 50) as usize;
    let mut kept = 0;
    let firings = parts.firings.walk(&cx, &Walk::prefix(BY_TRIGGER, entry.id.as_bytes()).down(), |_| {
        kept += 1;
        if kept > limit { Visit::Stop } else { Visit::Yes }
    })?;
    let mut all: Vec<(u64, Value)> = firings
        .iter()
        .map(|firing| {
            let f = &firing.value;
            let log: Value = serde_json::from_str(&f.log).unwrap_or_default();
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let told = json!({
                "id": firing.id, "at": at(&cx, firing.id.millis()), "ran": true, "why": f.why, "outcome": f.status,
                "conditions": log["conditions"], "actions": log["actions"], "ms": log["ms"], "delayMs": log["delayMs"],
                "result": some(&f.result), "error": some(&f.error),
            });
            (firing.id.millis(), told)
        })
        .collect();
    for skip in rules.live(entry.id).map(|live| live.skips()).unwrap_or_default() {
        let ms = |at: jiff::Timestamp| u64::try_from(at.as_millisecond()).unwrap_or_default();
        let told = json!({
            "at": at(&cx, ms(skip.last)), "ran": false, "why": skip.why, "outcome": "skipped", "reason": skip.reason,
            "conditions": skip.found, "times": skip.count, "since": at(&cx, ms(skip.first)),
        });
        all.push((ms(skip.last), told));
    }
    all.sort_by_key(|(ms, _)| std::cmp::Reverse(*ms));
    let more = kept > limit || all.len() > limit;
    let shown: Vec<Value> = all.into_iter().take(limit).map(|(_, told)| told).collect();
    let sentence = match entry.value.count {
        0 => format!("“{}” has not run yet.", entry.value.name),
        1 => format!("“{}” has run once.", entry.value.name),
        n => format!("“{}” has run {n} times.", entry.value.name),
    };
    let sentence = match (of_thing, shown.iter().find(|one| one["ran"] == true)) {
        (Some(thing), Some(last)) => {
            let (at, why) = (last["at"].as_str().unwrap_or_default(), last["why"].as_str().unwrap_or_default());
            let at =
                at.split_once('T').map_or(at.to_owned(), |(day, time)| format!("{day} {}", text_kit::prefix(time, 5)));
            format!("The rule “{}” last switched {thing}, at {at}: {why}.", entry.value.name)
        }
        _ => sentence,
    };
    let told =
        json!({"ruleId": entry.id, "name": entry.value.name, "log": shown, "count": shown.len(), "hasMore": more});
    Ok(Output::json(told)?.say(sentence))
}

/// The address and name of the thing that is meant.
fn named(home: &Home, thing: &str) -> Result<(String, String)> {
    let target = home.resolve(thing, &|_| true).ok().filter(|target| !target.group);
    match target.as_ref().map(|target| &target.things[..]) {
        Some([at]) => Ok((home.get(*at).address.to_string(), home.get(*at).name.to_owned())),
        _ => Err(Error::not_found(format!("nothing in the home is called `{}`", truncate(thing, 60)))
            .say(format!("I know nothing called “{}” in the home.", truncate(thing, 60)))),
    }
}

/// The rule of the caller that last ran, of those that switch a thing.
fn last_of(rules: &Rules, cx: &Cx, home: &Home, address: &str) -> Result<Option<Entry<Trigger>>> {
    let parts = rules.parts();
    let switches = |entry: &Entry<Trigger>| {
        let definition = definition_of(&entry.value).unwrap_or_default();
        let actions = serde_json::to_value(&definition.actions).unwrap_or_default();
        actions.as_array().into_iter().flatten().any(|action| {
            let named = action["thing"].as_str().and_then(|thing| named(home, thing).ok());
            let pin = action["pin"].as_u64().map(|pin| format!("pin:{pin}"));
            named.is_some_and(|(own, _)| own == address) || pin.as_deref() == Some(address)
        })
    };
    let all = parts.shelf.records().walk(cx, &Walk::prefix(BY_NAME, []), |_| Visit::Yes)?;
    let mut last: Option<(Id, Entry<Trigger>)> = None;
    for entry in all.into_iter().filter(switches) {
        let mut seen = false;
        let newest = parts.firings.walk(cx, &Walk::prefix(BY_TRIGGER, entry.id.as_bytes()).down(), |_| {
            if std::mem::replace(&mut seen, true) { Visit::Stop } else { Visit::Yes }
        })?;
        if let Some(firing) = newest.first()
            && last.as_ref().is_none_or(|(id, _)| firing.id.millis() > id.millis())
        {
            last = Some((firing.id, entry));
        }
    }
    Ok(last.map(|(_, entry)| entry))
}
