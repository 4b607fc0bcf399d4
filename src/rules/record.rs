//! Stored records: triggers and their firings.

use crate::matching::{FieldCondition, Op, check_path, parse_conditions};
use serde_json::Map;
use std::time::Duration;
use store::{Coded, Key, Level, Record, order};
use tool::{Channel, Id, PreauthorizedCall, Topics, prelude::*};

/// Index of triggers by name.
pub(crate) const BY_NAME: u8 = 1;
/// Index of firings by trigger.
pub(crate) const BY_TRIGGER: u8 = 1;

/// The cause that fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Only by hand; unknown kinds are read as this.
    #[default]
    #[serde(skip)]
    Unknown,
    /// On a schedule: `config` is `{schedule, timezone?}`, as in `create_scheduled_task`.
    Schedule,
    /// On a published event: `config` is `{topic, match?}`.
    Event,
    /// When a tool's result becomes true: `config` is `{check: {tool, arguments?, path?, op, value?}, everySeconds}`.
    Condition,
    /// A rule: several triggers, conditions and actions, in `definition`. Older versions read it as [`Kind::Unknown`].
    #[serde(skip)]
    Rule,
}

impl Kind {
    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Schedule => "schedule",
            Self::Event => "event",
            Self::Condition => "condition",
            Self::Rule => "rule",
        }
    }
}

impl Coded for Kind {
    const ALL: &'static [Self] = &[Kind::Unknown, Kind::Schedule, Kind::Event, Kind::Condition, Kind::Rule];
    const UNKNOWN: Self = Kind::Unknown;
}

/// A stored rule: one of the trigger tools, with one cause and one action, or one of any form. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trigger {
    pub name: String,
    pub description: String,
    #[serde(with = "store::coded")]
    pub kind: Kind,
    /// JSON text.
    pub config: String,
    pub action: Call,
    /// The call that evaluates a condition.
    pub check: Option<Call>,
    pub enabled: bool,
    /// Minimum time between two firings, in seconds.
    pub cooldown_s: u32,
    pub per_hour: u32,
    pub count: u32,
    pub failures: u32,
    pub last_ms: u64,
    /// The last observation of a condition: for `changed` the value as JSON text, else whether it held; empty before
    /// the first check.
    pub seen: String,
    /// The conversation for its prompts.
    pub conversation: String,
    /// The [`crate::definition::Definition`] of a [`Kind::Rule`], as JSON text.
    pub definition: String,
    /// The authorised calls of its actions, in order; a wait has an empty one.
    pub calls: Vec<Call>,
    /// The authorised calls of the tools that its triggers and conditions ask, in order.
    pub asks: Vec<Call>,
    /// Whether it comes from `rules.toml`, and is changed there.
    pub in_file: bool,
}

/// A stored call. Its shape never changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    tool: String,
    version: u32,
    args: String,
    digest: [u8; 32],
    consented: bool,
}

impl From<PreauthorizedCall> for Call {
    fn from(a: PreauthorizedCall) -> Self {
        Self { tool: a.tool, version: a.version, args: a.args.to_string(), digest: a.digest, consented: a.consented }
    }
}

impl Call {
    /// Whether it stands for a wait.
    pub fn is_empty(&self) -> bool {
        self.tool.is_empty()
    }

    pub fn armed(&self) -> PreauthorizedCall {
        let args = serde_json::from_str(&self.args).unwrap_or_default();
        let Self { tool, version, digest, consented, .. } = self.clone();
        PreauthorizedCall { tool, version, args, digest, consented }
    }
}

impl Trigger {
    /// Whether a person approved one of its calls.
    pub fn has_consent(&self) -> bool {
        self.action.consented || self.calls.iter().any(|call| call.consented)
    }

    /// Checks that the caller may switch it on: a person approved its calls, so no machine makes them possible again.
    ///
    /// # Errors
    /// `Denied` for a machine where a person approved a call and it is off.
    pub fn check_switching_on(&self, channel: Channel) -> Result<()> {
        if channel == Channel::Machine && !self.enabled && self.has_consent() {
            let why = "a person approved what this rule does: a person has to switch it on";
            return Err(Error::denied(why));
        }
        Ok(())
    }

    /// Takes over what Hob notes about its firings.
    fn take_state_of(&mut self, other: &Self) {
        (self.count, self.failures, self.last_ms) = (other.count, other.failures, other.last_ms);
        (self.seen, self.conversation) = (other.seen.clone(), other.conversation.clone());
    }
}

impl Record for Trigger {
    const NAME: &'static str = "triggers";
    const WORD: &'static str = "trigger";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.name.clone()
    }
    fn settle(&mut self) {
        self.take_state_of(&Self::default());
    }
    fn revive(&mut self, now: Option<&Self>) {
        // A condition is checked again from the start: its last observation may be old.
        let none = Self::default();
        self.take_state_of(
            now.filter(|now| now.config == self.config && now.definition == self.definition).unwrap_or(&none),
        );
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_NAME, order::text(&self.name))]
    }
}

/// The collection of triggers.
pub const COLLECTION: &str = Trigger::NAME;

impl records::NamedRecord for Trigger {
    const LISTED_BY: &'static str = "list_triggers";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.name
    }
}

/// The state of a firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// Started without a stored result, as after a power cut.
    #[default]
    Interrupted,
    Ok,
    Failed,
    /// Stopped by the next start, as the mode `restart` wants it.
    Restarted,
    /// Stopped, because its rule was changed, paused or deleted.
    Stopped,
}

impl Coded for Status {
    const ALL: &'static [Self] = &[Status::Interrupted, Status::Ok, Status::Failed, Status::Restarted, Status::Stopped];
    const UNKNOWN: Self = Status::Interrupted;
}

/// A stored firing. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Firing {
    pub trigger: Id,
    pub why: String,
    #[serde(with = "store::coded")]
    pub status: Status,
    pub finished_ms: u64,
    pub result: String,
    pub error: String,
    /// Whether it resumes by itself after a power cut: it ran unattended, and its id is the call's idempotency key.
    pub resumable: bool,
    /// The data for its placeholders, as JSON text.
    pub about: String,
    /// How often it was resumed.
    pub resumed: u32,
    /// The course of the run, as JSON text: conditions with their values, actions with outcome and milliseconds.
    pub log: String,
}

impl Record for Firing {
    const NAME: &'static str = "trigger-firings";
    const WORD: &'static str = "firing of a trigger";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_TRIGGER, self.trigger.as_bytes())]
    }
}

/// A parsed trigger configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Config {
    Schedule { schedule: Value, timezone: Option<String> },
    Event { topics: Topics, conditions: Vec<FieldCondition> },
    Condition { check: Check, every: Duration },
}

/// How a condition is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Check {
    pub tool: String,
    pub arguments: Value,
    pub path: String,
    pub op: Op,
    pub value: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnSchedule {
    schedule: Value,
    timezone: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnEvent {
    topic: String,
    #[serde(default)]
    r#match: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct OnCondition {
    check: Looks,
    #[serde(default = "minute")]
    every_seconds: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Looks {
    tool: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default)]
    path: String,
    op: Op,
    #[serde(default)]
    value: Value,
}

fn minute() -> u32 {
    60
}

/// Minimum and maximum number of seconds between two checks.
const CHECK_SECONDS: std::ops::RangeInclusive<u32> = 10..=86_400;

impl Config {
    /// Parses the configuration of a kind.
    ///
    /// # Errors
    /// `BadArgs` that shows the correct form.
    pub fn read(kind: Kind, config: &Value) -> Result<Self> {
        let wrong = |why: serde_json::Error, form: &str| {
            Error::bad_args(format!("the config does not fit ({why}): write it as {form}"))
        };
        match kind {
            Kind::Schedule => {
                let form = r#"{"schedule": "0 7 * * *", "timezone": "Europe/Vienna"}"#;
                let OnSchedule { schedule, timezone } = OnSchedule::deserialize(config).map_err(|e| wrong(e, form))?;
                Ok(Self::Schedule { schedule, timezone })
            }
            Kind::Event => {
                let form = r#"{"topic": "pin:changed", "match": {"pin": 17, "high": true}}"#;
                let OnEvent { topic, r#match } = OnEvent::deserialize(config).map_err(|e| wrong(e, form))?;
                if topic.trim().is_empty() || topic.split(',').any(|t| t.trim() == "*") {
                    return Err(Error::bad_args(
                        "the topic matches everything: name the event to wait for, such as `pin:changed`",
                    ));
                }
                Ok(Self::Event { topics: Topics::parse(&topic)?, conditions: parse_conditions(&r#match)? })
            }
            Kind::Condition => {
                let form = r#"{"check": {"tool": "system_info", "path": "temperature", "op": "gt", "value": 70}, "everySeconds": 60}"#;
                let OnCondition { check, every_seconds } =
                    OnCondition::deserialize(config).map_err(|e| wrong(e, form))?;
                if !CHECK_SECONDS.contains(&every_seconds) {
                    let (least, most) = (CHECK_SECONDS.start(), CHECK_SECONDS.end());
                    return Err(Error::bad_args(format!("`everySeconds` is {every_seconds}: give {least} to {most}")));
                }
                check_path(&check.path)?;
                let Looks { tool, arguments, path, op, value } = check;
                let every = Duration::from_secs(every_seconds.into());
                Ok(Self::Condition { check: Check { tool, arguments, path, op, value }, every })
            }
            Kind::Unknown | Kind::Rule => Err(Error::bad_args("the type is schedule, event or condition")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_read_or_says_how_it_is_written() {
        for (kind, config, word) in [
            (Kind::Schedule, json!({}), "0 7 * * *"),
            (Kind::Schedule, json!({"schedule": "0 7 * * *", "when": 1}), "write it as"),
            (Kind::Event, json!({"topic": " "}), "name the event to wait for"),
            (Kind::Event, json!({"topic": "pin:changed, *"}), "name the event to wait for"),
            (Kind::Event, json!({"topic": "a b"}), "no topic"),
            (Kind::Event, json!({"topic": "x", "match": 3}), "pin:changed"),
            (Kind::Condition, json!({"check": {"tool": "a", "op": "gt"}, "everySeconds": 5}), "10 to 86400"),
            (Kind::Condition, json!({"check": {"tool": "a"}}), "system_info"),
            (Kind::Condition, json!({"check": {"tool": "a", "op": "gt", "path": "..x"}}), "not a path"),
            (Kind::Unknown, json!({}), "schedule, event or condition"),
            (Kind::Event, json!([]), "write it as"),
        ] {
            let error = Config::read(kind, &config).unwrap_err();
            assert!(error.message().contains(word), "{kind:?} {config}: {error}");
        }
        let read = Config::read(Kind::Condition, &json!({"check": {"tool": "a", "op": "lt", "value": 3}})).unwrap();
        assert!(matches!(read, Config::Condition { every, .. } if every.as_secs() == 60));
        let read = Config::read(Kind::Event, &json!({"topic": "pin:*", "match": {"pin": 4}})).unwrap();
        assert!(
            matches!(read, Config::Event { topics, conditions } if topics.hear("pin:changed") && conditions.len() == 1)
        );
    }
}
