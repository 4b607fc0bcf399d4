//! The dry run of a rule.

use crate::{
    drafts::{Validate, unasked},
    engine::{Rules, decide::Judge},
    record::Trigger,
    rule_words::Words,
};
use tool::prelude::*;

pub(super) async fn dry_run(rules: Rules, cx: Cx, args: DryRun) -> Result<Output> {
    let (draft, stored) = args.0.draft(&rules, &cx)?;
    let (definition, errors) = (draft.definition.clone(), draft.review.errors.clone());
    let armed = draft.arm(&rules, &unasked(&cx)).await;
    let (calls, asks, refused) = match armed {
        Ok(armed) => (armed.calls, armed.asks, None),
        Err(error) => (vec![], vec![], Some(error.message().to_owned())),
    };
    let rule = Trigger { asks, enabled: true, ..Trigger::default() };
    let judge = Judge { rules: &rules, rule: &rule, owner: cx.user(), label: cx.label() };
    let (holds, found, label) = judge.all(&definition).await;
    let parts = rules.parts();
    let words = Words { cx: &cx, registry: &parts.registry, home: &parts.home };
    let actions: Vec<Value> = definition
        .actions
        .iter()
        .enumerate()
        .map(|(at, action)| {
            let call = calls.get(at).filter(|call| !call.is_empty()).map(|call| call.armed());
            json!({
                "text": words.action(action), "tool": call.as_ref().map(|call| call.tool.clone()),
                "arguments": call.map(|call| call.args),
            })
        })
        .collect();
    let enabled = stored.as_ref().is_none_or(|entry| entry.value.enabled);
    let runs = holds && enabled && refused.is_none() && errors.is_empty();
    let texts: Vec<String> = definition.actions.iter().map(|action| words.action(action)).collect();
    let sentence = match (&refused, holds, enabled) {
        (Some(why), ..) => format!("It could not run: {why}"),
        (_, false, _) => "It would not run now: its conditions do not hold.".to_owned(),
        (.., false) => "It would not run now: it is off.".to_owned(),
        _ => format!("It would {}.", texts.join(", then ")),
    };
    let told = json!({
        "wouldRun": runs, "sentence": words.sentence(&definition), "enabled": enabled, "conditionsHold": holds,
        "conditions": found, "actions": actions, "errors": errors, "refused": refused,
    });
    let mut output = Output::json(told)?.say(sentence);
    output.label = output.label.max(label);
    Ok(output)
}

/// Show what a rule would do now, without doing it: which conditions hold, and which calls would be made.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct DryRun(Validate);
