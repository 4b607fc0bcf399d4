//! Rules that are read, reviewed and authorised, before they are stored.

use crate::{
    arming::{ArmedCalls, arm_all},
    definition::{Definition, Mode},
    engine::{Rules, definition_of},
    reading::{Reader, Written},
    record::{Kind, Trigger},
    rule_words::Words,
    validate::{Review, review},
};
use records::required_text;
use scheduler::Recurrence;
use std::sync::Arc;
use store::Entry;
use text_kit::truncate;
use tool::{Ports, Role, Unconnected, prelude::*};

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 200;
/// Limits of a rule that names none.
pub(crate) const PER_HOUR: u32 = 600;
pub(crate) const MOST_PER_HOUR: u32 = 36_000;

/// A rule that was read, before it is stored.
pub(crate) struct Draft {
    pub name: String,
    pub definition: Definition,
    pub review: Review,
    pub times: Vec<Recurrence>,
}

impl Draft {
    /// Reads and reviews a rule. `id` is the rule that it replaces.
    ///
    /// # Errors
    /// `BadArgs` where it cannot be read.
    pub fn read(
        rules: &Rules,
        cx: &Cx,
        name: Option<&str>,
        written: Written,
        (before, id): (&Definition, Option<Id>),
    ) -> Result<Self> {
        let clock = cx.ports().clock.clone();
        let parts = rules.parts();
        let anew = written.triggers.is_some();
        let definition = Reader { home: &parts.home, clock: &*clock }.definition(written, before)?;
        let words = Words { cx, registry: &parts.registry, home: &parts.home };
        let name = match name.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => required_text("name", name, LONGEST_NAME)?,
            None => truncate(words.sentence(&definition).trim_end_matches('.'), 80),
        };
        let review = review(rules, cx, &name, &definition, id)?;
        let times = match anew {
            true => recurrences(&definition, &*clock)?,
            false => later_recurrences(&definition, &*clock),
        };
        Ok(Self { name, definition, review, times })
    }

    /// Refuses a rule with errors.
    ///
    /// # Errors
    /// `BadArgs` with all of them.
    pub fn checked(self) -> Result<Self> {
        match self.review.errors.is_empty() {
            true => Ok(self),
            false => Err(Error::bad_args(self.review.errors.join(" "))),
        }
    }

    /// Authorises its calls for this caller.
    ///
    /// # Errors
    /// As [`arm_all`].
    pub async fn arm(&self, rules: &Rules, cx: &Cx) -> Result<ArmedCalls> {
        let parts = rules.parts();
        let about = Words { cx, registry: &parts.registry, home: &parts.home }.when(&self.definition);
        arm_all(&parts.registry, cx, &self.definition, &self.name, &about).await
    }

    /// The record of it.
    pub fn record(self, armed: ArmedCalls, limits: Limits) -> Result<Trigger> {
        let action = armed.calls.iter().find(|call| !call.is_empty()).cloned().unwrap_or_default();
        Ok(Trigger {
            name: self.name,
            description: limits.description,
            kind: Kind::Rule,
            config: "{}".into(),
            action,
            enabled: limits.enabled,
            cooldown_s: limits.cooldown.min(86_400),
            per_hour: limits.per_hour.clamp(1, MOST_PER_HOUR),
            definition: to_json(&self.definition)?,
            calls: armed.calls,
            asks: armed.asks,
            ..Trigger::default()
        })
    }
}

/// The parts of a rule beside its definition.
pub(crate) struct Limits {
    pub description: String,
    pub enabled: bool,
    pub cooldown: u32,
    pub per_hour: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { description: String::new(), enabled: true, cooldown: 0, per_hour: PER_HOUR }
    }
}

pub(crate) fn to_json(definition: &Definition) -> Result<String> {
    serde_json::to_string(definition).map_err(|error| Error::failed(format!("the rule could not be written: {error}")))
}

/// The recurrences of its schedule triggers, in order.
pub(crate) fn recurrences(definition: &Definition, clock: &dyn tool::Clock) -> Result<Vec<Recurrence>> {
    let schedules = definition.triggers.iter().filter_map(|trigger| match trigger {
        crate::definition::Trigger::Schedule { schedule, timezone } => Some((schedule, timezone)),
        _ => None,
    });
    schedules.map(|(schedule, timezone)| scheduler::parse(schedule, timezone.as_deref(), clock)).collect()
}

/// The recurrences of a stored rule; a moment that has passed is none any more.
fn later_recurrences(definition: &Definition, clock: &dyn tool::Clock) -> Vec<Recurrence> {
    let schedules = definition.triggers.iter().filter_map(|trigger| match trigger {
        crate::definition::Trigger::Schedule { schedule, timezone } => Some((schedule, timezone)),
        _ => None,
    });
    schedules.filter_map(|(schedule, timezone)| scheduler::parse(schedule, timezone.as_deref(), clock).ok()).collect()
}

/// Refuses to change a rule that `rules.toml` or hob.toml holds.
///
/// # Errors
/// `Denied`.
pub(crate) fn changeable(entry: &Entry<Trigger>) -> Result<()> {
    match entry.value.in_file {
        true => Err(Error::denied(format!(
            "the rule “{}” is in rules.toml or hob.toml in Hob's data folder: change it there, and restart Hob",
            entry.value.name
        ))),
        false => Ok(()),
    }
}

/// Check a rule without storing it: unknown things, loops, conflicts with other rules, times that never come. Returns its
/// sentence.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Validate {
    /// Id or name of a stored rule: checks it, with the fields given here in place of its own.
    rule_id: Option<String>,
    /// Name of the rule.
    name: Option<String>,
    /// The triggers, as in create_rule.
    triggers: Option<Value>,
    /// The conditions, as in create_rule.
    conditions: Option<Value>,
    /// The actions, as in create_rule.
    actions: Option<Value>,
    /// A trigger while it still runs.
    mode: Option<Mode>,
    /// Maximum number of runs that wait or run at once.
    max: Option<u32>,
}

impl Validate {
    /// The draft that is meant, and the stored rule, if one is named.
    ///
    /// # Errors
    /// `Denied` for people who make no rules; else as [`Draft::read`].
    pub fn draft(self, rules: &Rules, cx: &Cx) -> Result<(Draft, Option<Entry<Trigger>>)> {
        if cx.principal().role < Role::Member {
            return Err(Error::denied("checking a rule needs the right to make one: ask a member of the household"));
        }
        let Self { rule_id, name, triggers, conditions, actions, mode, max } = self;
        let stored = rule_id.map(|which| rules.parts().shelf.find(cx, &which)).transpose()?;
        let before = stored.as_ref().and_then(|entry| definition_of(&entry.value)).unwrap_or_default();
        let written = Written { triggers, conditions, actions, mode, max };
        let name = name.or_else(|| stored.as_ref().map(|entry| entry.value.name.clone()));
        let id = stored.as_ref().map(|entry| entry.id);
        Ok((Draft::read(rules, cx, name.as_deref(), written, (&before, id))?, stored))
    }
}

/// The caller, where nobody is asked.
pub(crate) fn unasked(cx: &Cx) -> Cx {
    let ports = Ports { ask: Arc::new(Unconnected), ..cx.ports().clone() };
    let quiet = Cx::root(ports, cx.principal().clone(), cx.via().clone());
    quiet.taint(cx.label());
    quiet
}
