//! Why a rule ran, or did not.

use super::view::at;
use crate::{engine::Rules, record::BY_TRIGGER};
use store::{Visit, Walk};
use tool::prelude::*;

/// Show why a rule ran or did not, latest first: trigger, values of conditions, actions with outcome and milliseconds. Times it
/// did not run are remembered since the last start only.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Log {
    /// Id or name of the rule.
    rule_id: String,
    limit: Option<u32>,
}

pub(super) async fn log(rules: Rules, cx: Cx, args: Log) -> Result<Output> {
    let parts = rules.parts();
    let entry = parts.shelf.find_own(&cx, &args.rule_id)?;
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
    let told =
        json!({"ruleId": entry.id, "name": entry.value.name, "log": shown, "count": shown.len(), "hasMore": more});
    Ok(Output::json(told)?.say(sentence))
}
