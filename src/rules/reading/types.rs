//! The types of triggers and conditions, under the names people give them.

use serde_json::Map;
use tool::prelude::*;

/// The type of a trigger: as it is named, or by its fields.
pub(super) fn trigger_type(fields: &Map<String, Value>) -> Result<&'static str> {
    let has = |name: &str| fields.contains_key(name);
    if let Some(written) = fields.get("type").and_then(Value::as_str) {
        return Ok(match &*written.to_lowercase().replace([' ', '-'], "_") {
            "pin" | "gpio" | "button" | "pin_edge" | "pin_press" | "press" => "pin",
            "schedule" | "time" | "cron" | "at" | "time_pattern" => "schedule",
            "sun" | "sunset" | "sunrise" => "sun",
            "mqtt" | "mqtt_message" => "mqtt",
            "ha" | "home_assistant" | "entity" => "ha",
            "state" if has("entity") => "ha",
            "thing" | "device" | "state" => "thing",
            "event" | "memory" | "bus" => "event",
            "threshold" | "numeric_state" | "numeric" | "number" => "threshold",
            "check" | "condition" | "tool" => "check",
            other => {
                return Err(Error::bad_args(format!(
                    "`{}` is no type of trigger: use pin, schedule, sun, mqtt, ha, thing, event, threshold or check",
                    text_kit::truncate(other, 40)
                )));
            }
        });
    }
    Ok(match () {
        () if has("above") || has("below") => "threshold",
        () if has("sunset") || has("sunrise") || has("sun") => "sun",
        () if has("pin") => "pin",
        () if has("schedule") || has("at") => "schedule",
        () if has("entity") => "ha",
        () if has("thing") => "thing",
        () if has("tool") => "check",
        () if has("payload") => "mqtt",
        () if has("topic") => match fields["topic"].as_str() {
            Some(topic) if topic.contains(':') && !topic.contains('/') => "event",
            _ => "mqtt",
        },
        () => {
            return Err(Error::bad_args(
                "the trigger has no `type`: use pin, schedule, sun, mqtt, ha, thing, event, threshold or check",
            ));
        }
    })
}

/// The type of a condition: as it is named, or by its fields.
pub(super) fn condition_type(fields: &Map<String, Value>) -> Result<&'static str> {
    let has = |name: &str| fields.contains_key(name);
    if let Some(written) = fields.get("type").and_then(Value::as_str) {
        return Ok(match &*written.to_lowercase() {
            "time" | "time_window" => "time",
            "days" | "day" | "weekday" | "weekdays" => "days",
            "sun" => "sun",
            "pin" | "gpio" => "pin",
            "thing" | "device" | "state" | "ha" | "entity" => "thing",
            "tool" | "check" => "tool",
            "all" | "and" => "all",
            "any" | "or" => "any",
            "not" | "none" => "not",
            other => {
                return Err(Error::bad_args(format!(
                    "`{}` is no type of condition: use time, days, sun, thing, pin, tool, all, any or not",
                    text_kit::truncate(other, 40)
                )));
            }
        });
    }
    Ok(match () {
        () if has("after") || has("before") => "time",
        () if has("days") => "days",
        () if has("pin") => "pin",
        () if has("thing") || has("entity") => "thing",
        () if has("tool") => "tool",
        () if has("sun") => "sun",
        () => {
            return Err(Error::bad_args(
                "the condition has no `type`: use time, days, sun, thing, pin, tool, all, any or not",
            ));
        }
    })
}

/// How a trigger of a type is written.
pub(super) fn form(kind: &str) -> &'static str {
    match kind {
        "pin" => r#"{"type": "pin", "pin": 17, "press": "double"} or {"type": "pin", "pin": 17, "edge": "rising"}"#,
        "schedule" => r#"{"type": "schedule", "schedule": "0 7 * * *"}"#,
        "sun" => r#"{"type": "sun", "event": "sunset", "offsetMinutes": -15, "date": "2026-11-27"}"#,
        "mqtt" => r#"{"type": "mqtt", "topic": "zigbee/door", "payload": "open"}"#,
        "ha" => r#"{"type": "ha", "entity": "binary_sensor.door", "to": "on"}"#,
        "thing" => r#"{"type": "thing", "thing": "front door", "to": "open"}"#,
        "event" => r#"{"type": "event", "topic": "tasks:changed", "match": {"finished": true}}"#,
        "threshold" => r#"{"type": "threshold", "thing": "bedroom temperature", "above": 25, "hysteresis": 1}"#,
        _ => r#"{"type": "check", "tool": "system_info", "path": "temperature", "op": "gt", "value": 70}"#,
    }
}
