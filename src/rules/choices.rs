//! The choices for a schedule or trigger, and a preview of one before it is stored.

use crate::{
    action::{NOTIFY, PROMPT},
    sentences::title,
    causes::{Cause, causes},
};
use jiff::{Timestamp, tz::TimeZone};
use registry::{CALLERS, Registry};
use tool::{Owner, prelude::*};

/// How many due times a preview has.
const DUE: usize = 3;

/// The choices.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Choices {
    /// The causes of triggers.
    pub causes: Vec<Cause>,
    /// The people a message can be for, without the caller.
    pub people: Vec<PersonChoice>,
    /// The tools that can be called later, by title.
    pub tools: Vec<ToolChoice>,
}

/// A person.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PersonChoice {
    /// Their id.
    pub id: Id,
    /// Their name.
    pub name: String,
}

/// A tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolChoice {
    /// Its name.
    pub name: String,
    /// Its name for people: "Add a task".
    pub title: String,
    /// The heading it is listed under.
    pub group: String,
    /// Whether it changes nothing, so that a condition can check with it.
    pub looks: bool,
}

/// A schedule in words.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Preview {
    /// "every first Monday at 09:00".
    pub text: String,
    /// Its next due times, in its time zone.
    pub next: Vec<String>,
}

/// The choices of this caller.
///
/// # Errors
/// `Failed` if the people cannot be read.
pub fn choices(cx: &Cx, registry: &Registry) -> Result<Choices> {
    let mut people: Vec<PersonChoice> = cx
        .ports()
        .people
        .everybody()?
        .into_iter()
        .filter(|(id, _)| *id != cx.user())
        .map(|(id, name)| PersonChoice { id: id.0, name })
        .collect();
    people.sort_by_key(|person| person.name.to_lowercase());
    let mut tools: Vec<ToolChoice> = vec![];
    for tool in registry.tools() {
        let caller = tool.meta || tool.automates || (tool.owner == Owner::Core && CALLERS.contains(&&*tool.name));
        let elsewhere = [NOTIFY, PROMPT].contains(&&*tool.name);
        if !Registry::visible(cx, &tool)
            || !tool.enabled
            || caller
            || elsewhere
            || tool.returns_secret
            || tool.asks_person
        {
            continue;
        }
        tools.push(ToolChoice {
            name: tool.name.to_string(),
            title: title(&tool),
            group: tool.category.to_string(),
            looks: tool.risk == Risk::Observe,
        });
    }
    tools.sort_by_key(|tool| (tool.group.to_lowercase(), tool.title.to_lowercase()));
    Ok(Choices { causes: causes(), people, tools })
}

/// How a schedule reads, and when it is due next.
///
/// # Errors
/// `BadArgs` as for creating it.
pub fn preview(cx: &Cx, schedule: &Value, zone: Option<&str>) -> Result<Preview> {
    let clock = &*cx.ports().clock;
    let recurrence = scheduler::parse(schedule, zone, clock)?;
    let shown_in = zone.and_then(|zone| TimeZone::get(zone).ok()).unwrap_or_else(|| clock.zone());
    let mut next = vec![];
    let mut at: Timestamp = clock.now();
    while next.len() < DUE
        && let Some(due) = recurrence.next_after(at, &clock.zone())
    {
        next.push(due.to_zoned(shown_in.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string());
        at = due;
    }
    Ok(Preview { text: recurrence.text(&clock.local()), next })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::House;

    #[test]
    fn tools_are_offered_by_title_and_only_those_that_can_run_later() {
        let house = House::new();
        house.registry.add(crate::schedules(house.scheduler.clone(), house.registry.clone())).unwrap();
        let offered = choices(&house.cx(), &house.registry).unwrap();
        let titles: Vec<_> = offered.tools.iter().map(|tool| (&*tool.name, &*tool.title, tool.looks)).collect();
        let ping = titles.iter().find(|(name, ..)| *name == "ping");
        assert_eq!(ping, Some(&("ping", "Reply to a ping", true)));
        for absent in ["create_scheduled_task", "trigger_task", "notify", "run_prompt", "use_tool"] {
            assert!(!titles.iter().any(|(name, ..)| *name == absent), "{absent} is offered");
        }
    }

    #[test]
    fn a_preview_says_when_and_the_next_times() {
        let house = House::new();
        let told = preview(&house.cx(), &json!("0 9 * * 1#1"), None).unwrap();
        assert_eq!(told.text, "every first Monday at 09:00");
        let next = ["2026-12-07T09:00:00+01:00", "2027-01-04T09:00:00+01:00", "2027-02-01T09:00:00+01:00"];
        assert_eq!(told.next, next);
        let once = preview(&house.cx(), &json!("2026-11-21T07:00"), Some("Asia/Tokyo")).unwrap();
        assert_eq!(once.next, ["2026-11-21T07:00:00+09:00"]);
        assert!(matches!(preview(&house.cx(), &json!("soon"), None), Err(Error::BadArgs(_))));
        assert!(matches!(preview(&house.cx(), &json!("0 7 * * *"), Some("Mars")), Err(Error::BadArgs(_))));
    }
}
