//! Another thing than the one that was taken: "no, the other one", "no sorry, the third"; and another length than the one that was said.

use super::{
    exchange::{Call, Exchange},
    outcome::{Outcome, RiskOf},
    pointer,
    value::{self, Fit},
};
use crate::{sentence::Sentence, slots::duration};
use serde_json::{Value, json};
use tool::Risk;

/// "the other one": of two that were shown, the one that was not taken.
pub(crate) fn other(calls: &[Call], before: &[Exchange], risk: RiskOf) -> Option<Outcome> {
    let [call] = calls else { return None };
    let name = value::main_argument(call).filter(|name| name.ends_with("Id") || *name == "timer")?;
    let shown = before.iter().map(Exchange::things).find(|things| !things.is_empty())?;
    let taken = call.id().or(call.text(name))?;
    let others: Vec<_> = shown.into_iter().filter(|thing| thing.key != taken && thing.name != taken).collect();
    let plan = |key: &str| {
        let mut again = call.arguments.clone();
        again.insert(name.to_owned(), key.into());
        (risk("undo").is_some() && matches!(risk(&call.tool), Some(Risk::Write | Risk::Destroy)))
            .then(|| Outcome::Do(vec![("undo".to_owned(), json!({})), (call.tool.clone(), Value::Object(again))]))
    };
    match others.as_slice() {
        [] => None,
        [one] => plan(&one.key),
        several => {
            let readings = several.iter().filter_map(|thing| Some((thing.name.clone(), plan(&thing.key)?)));
            Some(Outcome::Which(readings.collect()))
        }
    }
}

/// "no sorry, the third": of what was shown before, another than the one that was taken.
pub(crate) fn pointed(new: &str, calls: &[Call], before: &[Exchange], risk: RiskOf) -> Option<Outcome> {
    let [call] = calls else { return None };
    let name = value::main_argument(call).filter(|name| name.ends_with("Id") || *name == "timer")?;
    let shown = before.iter().map(Exchange::things).find(|things| !things.is_empty())?;
    let s = Sentence::whole(new);
    let pointer = pointer::find(&s, &shown).filter(|found| !found.open && found.at == 0 && found.count == s.len())?;
    let [thing] = pointer.things.as_slice() else { return None };
    let mut again = call.arguments.clone();
    again.insert(name.to_owned(), thing.key.as_str().into());
    (risk("undo").is_some() && matches!(risk(&call.tool), Some(Risk::Write | Risk::Destroy)))
        .then(|| Outcome::Do(vec![("undo".to_owned(), json!({})), (call.tool.clone(), Value::Object(again))]))
}

/// "make it ten" of a reminder that was said to come "in twenty minutes": a length, and no time of day.
pub(crate) fn length(said: &str, calls: &[Call], new: &str) -> Option<Fit> {
    let [call] = calls else { return None };
    let old = call.text("schedule").and_then(value::parse)?;
    let s = Sentence::whole(said);
    let span = (0..s.len()).filter(|at| s.word(*at) == "in").find_map(|at| duration::duration(&s, at + 1))?.1;
    let length = value::length(&span.to_string(), &Sentence::whole(new))?;
    let by = value::seconds(&length)? - value::seconds(&span.to_string())?;
    let at = old.0.to_datetime(old.1?).checked_add(jiff::Span::new().seconds(by)).ok()?;
    let value = at.strftime("%Y-%m-%dT%H:%M").to_string().into();
    Some(Fit { argument: "schedule".to_owned(), value, label: "the time" })
}

/// Whether another one of the same things was meant.
pub(crate) fn means_other(text: &str) -> bool {
    ["the other one", "the other", "that other one", "other one", "the other ones", "the other list", "other list"]
        .contains(&text.to_lowercase().as_str())
}
