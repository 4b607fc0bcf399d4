//! The definition of a rule: triggers, conditions, actions and mode, in the shape that tools, page and `rules.toml` share.
//!
//! [`crate::reading`] accepts looser forms and returns this one. It is stored as JSON text, so its fields may change.

use crate::matching::Op;
use jiff::civil::Date;
use serde_json::Map;
use tool::prelude::*;

/// A rule without its name and limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Definition {
    pub triggers: Vec<Trigger>,
    /// All of them must hold.
    pub conditions: Vec<Condition>,
    /// Each is an object with a `type`; see [`crate::steps`].
    pub actions: Vec<Value>,
    pub mode: Mode,
    /// How many runs wait (`queued`) or run at once (`parallel`).
    pub max: u32,
}

/// The effect of a trigger that fires while the rule still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Ignore it.
    #[default]
    Single,
    /// Stop what runs, and start again.
    Restart,
    /// Run it afterwards.
    Queued,
    /// Run it at once too.
    Parallel,
}

/// A level change of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Edge {
    Rising,
    Falling,
    Both,
}

/// A press of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Press {
    Short,
    Long,
    Double,
    Any,
}

/// A crossing of the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SunEvent {
    Sunrise,
    Sunset,
}

/// Whether the sun is above the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SunIs {
    Up,
    Down,
}

fn every_minute() -> u32 {
    60
}

fn zero(number: &i32) -> bool {
    *number == 0
}

/// A cause that starts a rule. Durations are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum Trigger {
    Pin {
        pin: u8,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edge: Option<Edge>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        press: Option<Press>,
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        lasts: Option<u64>,
    },
    Schedule {
        schedule: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timezone: Option<String>,
    },
    Sun {
        event: SunEvent,
        #[serde(default, skip_serializing_if = "zero")]
        offset_minutes: i32,
        /// The one day on which it fires, as `2026-11-27`; every day without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<Date>,
    },
    Mqtt {
        topic: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<Value>,
        /// The path of the value in a JSON payload.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
    },
    Ha {
        entity: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        lasts: Option<u64>,
    },
    Thing {
        thing: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        lasts: Option<u64>,
    },
    Event {
        topic: String,
        #[serde(default, rename = "match", skip_serializing_if = "Map::is_empty")]
        fields: Map<String, Value>,
    },
    /// A number of exactly one thing, entity, topic or tool goes beyond a limit.
    Threshold {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thing: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entity: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        topic: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hysteresis: Option<f64>,
        #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
        lasts: Option<u64>,
        #[serde(default = "every_minute")]
        every_seconds: u32,
    },
    Check {
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        path: String,
        op: Op,
        #[serde(default)]
        value: Value,
        #[serde(default = "every_minute")]
        every_seconds: u32,
    },
}

/// A requirement that has to hold when a trigger fires. Times of day are `22:00`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Condition {
    Time {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    Days {
        /// `mon` to `sun`.
        days: Vec<String>,
    },
    Sun {
        is: SunIs,
    },
    Pin {
        pin: u8,
        high: bool,
    },
    Thing {
        thing: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<f64>,
    },
    Tool {
        tool: String,
        #[serde(default)]
        arguments: Value,
        #[serde(default)]
        path: String,
        op: Op,
        #[serde(default)]
        value: Value,
    },
    All {
        conditions: Vec<Condition>,
    },
    Any {
        conditions: Vec<Condition>,
    },
    Not {
        condition: Box<Condition>,
    },
}

impl Condition {
    /// The tools it asks, in order: their calls are authorised in this order.
    pub fn tools<'c>(&'c self, all: &mut Vec<(&'c str, &'c Value)>) {
        match self {
            Self::Tool { tool, arguments, .. } => all.push((tool, arguments)),
            Self::All { conditions } | Self::Any { conditions } => conditions.iter().for_each(|one| one.tools(all)),
            Self::Not { condition } => condition.tools(all),
            _ => {}
        }
    }
}

impl Trigger {
    /// The tool it asks, if it asks one.
    pub fn tool(&self) -> Option<(&str, &Value)> {
        match self {
            Self::Check { tool, arguments, .. } => Some((tool, arguments)),
            Self::Threshold { tool: Some(tool), arguments, .. } => Some((tool, arguments)),
            _ => None,
        }
    }

    /// Whether it is a pin: its actions are made at once, and stored afterwards.
    pub fn is_prompt(&self) -> bool {
        match self {
            Self::Pin { .. } => true,
            Self::Thing { thing, .. } => thing.starts_with("pin:"),
            _ => false,
        }
    }
}

impl Definition {
    /// The last day on which it can start, where all of its triggers are for certain days.
    pub fn last_day(&self) -> Option<Date> {
        let days = self.triggers.iter().map(|one| match one {
            Trigger::Sun { date, .. } => *date,
            _ => None,
        });
        days.collect::<Option<Vec<Date>>>()?.into_iter().max()
    }

    /// The tools that its triggers and conditions ask, in order.
    pub fn asks(&self) -> Vec<(&str, &Value)> {
        let mut all: Vec<_> = self.triggers.iter().filter_map(Trigger::tool).collect();
        self.conditions.iter().for_each(|one| one.tools(&mut all));
        all
    }
}
