//! Rules as TOML.

use crate::{engine::definition_of, record::Trigger};
use store::Entry;
use tool::prelude::*;

/// Rules in the form of the file.
///
/// # Errors
/// `Failed` where one cannot be written.
pub(crate) fn written(entries: &[Entry<Trigger>]) -> Result<String> {
    let mut all = vec![];
    for entry in entries {
        let t = &entry.value;
        let Some(definition) = definition_of(t) else { continue };
        let mut rule = json!({"name": t.name});
        if !t.description.is_empty() {
            rule["description"] = t.description.clone().into();
        }
        if !t.enabled {
            rule["enabled"] = false.into();
        }
        let definition = serde_json::to_value(&definition).map_err(|error| Error::failed(error.to_string()))?;
        for part in ["mode", "max", "triggers", "conditions", "actions"] {
            rule[part] = definition[part].clone();
        }
        rule["cooldownSeconds"] = t.cooldown_s.into();
        rule["maxPerHour"] = t.per_hour.into();
        without_nulls(&mut rule);
        all.push(rule);
    }
    toml::to_string(&json!({"rules": all}))
        .map_err(|error| Error::failed(format!("the rules cannot be written as TOML: {error}")))
}

/// TOML has no null.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(all) => {
            all.retain(|value| !value.is_null());
            all.iter_mut().for_each(without_nulls);
        }
        _ => {}
    }
}
