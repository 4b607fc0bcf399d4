//! A rule as JSON.

use crate::{
    definition::Definition,
    engine::{Rules, definition_of},
    record::Trigger,
    rule_words::Words,
};
use store::{Audience, Entry};
use tool::prelude::*;

/// A stored rule, with the words for it and its parts.
pub(super) fn rule_json(cx: &Cx, rules: &Rules, entry: &Entry<Trigger>) -> Value {
    let t = &entry.value;
    let parts = rules.parts();
    let words = Words { cx, registry: &parts.registry, home: &parts.home };
    let definition = definition_of(t);
    let mut told = match &definition {
        Some(definition) => definition_json(cx, rules, definition),
        None => json!({"triggers": [], "conditions": [], "actions": []}),
    };
    let sentence = match &definition {
        Some(definition) => words.sentence(definition),
        None => "This rule cannot be read by this version of Hob.".to_owned(),
    };
    let live = rules.live(entry.id);
    let (running, waiting) = live.as_ref().map(|live| live.running()).unwrap_or_default();
    let more = json!({
        "id": entry.id, "name": t.name, "description": t.description, "sentence": sentence, "enabled": t.enabled,
        "kind": t.kind.word(), "source": if t.in_file { "file" } else { "tool" }, "editable": !t.in_file,
        "cooldownSeconds": t.cooldown_s, "maxPerHour": t.per_hour, "fired": t.count, "failures": t.failures,
        "lastFired": at(cx, t.last_ms), "running": running, "waiting": waiting,
        "createdAt": at(cx, entry.id.millis()), "updatedAt": at(cx, entry.updated_ms),
    });
    if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
        told.extend(more);
    }
    told["shared"] = (entry.audience == Audience::Household).into();
    if let Some(name) = records::names_owner(cx, entry) {
        told["sharedBy"] = name.into();
    }
    told
}

/// The definition in its stored form, each part with its `words`.
pub(super) fn definition_json(cx: &Cx, rules: &Rules, definition: &Definition) -> Value {
    let parts = rules.parts();
    let words = Words { cx, registry: &parts.registry, home: &parts.home };
    let with = |mut one: Value, text: String| {
        one["words"] = text.into();
        one
    };
    let value = |one: std::result::Result<Value, serde_json::Error>| one.unwrap_or_else(|_| json!({}));
    let triggers: Vec<Value> =
        definition.triggers.iter().map(|one| with(value(serde_json::to_value(one)), words.trigger(one))).collect();
    let conditions: Vec<Value> =
        definition.conditions.iter().map(|one| with(value(serde_json::to_value(one)), words.condition(one))).collect();
    let actions: Vec<Value> = definition.actions.iter().map(|one| with(one.clone(), words.action(one))).collect();
    json!({
        "triggers": triggers, "conditions": conditions, "actions": actions, "mode": definition.mode,
        "max": definition.max, "when": words.when(definition),
    })
}

/// A time in milliseconds since 1970 as ISO 8601; none for 0.
pub(super) fn at(cx: &Cx, ms: u64) -> Option<String> {
    (ms > 0).then(|| records::iso(i64::try_from(ms).unwrap_or(i64::MAX), &cx.ports().clock.zone()))
}
