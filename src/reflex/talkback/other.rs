//! Another thing than the one that was taken: "no, the other one", "no sorry, the third".

use super::{
    exchange::{Call, Exchange},
    outcome::{Outcome, RiskOf},
    pointer, value,
};
use crate::sentence::Sentence;
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
