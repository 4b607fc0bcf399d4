//! The choices for a schedule or trigger, and a preview of one before it is stored.

use crate::{
    action::{NOTIFY, PROMPT},
    causes::{Cause, causes},
    home::Home,
    sentences::title,
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
    /// The things of the home, by name.
    pub things: Vec<ThingChoice>,
    /// The pins that have a name.
    pub pins: Vec<PinChoice>,
    /// The types of triggers of a rule, of its conditions and of its actions.
    pub triggers: Vec<TypeChoice>,
    pub conditions: Vec<TypeChoice>,
    pub actions: Vec<TypeChoice>,
    /// Whether Hob knows where the home is, as sunrise and sunset need.
    pub place: bool,
}

/// A thing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ThingChoice {
    /// Its address, such as `pin:17` or `ha:light.hall`.
    pub thing: String,
    /// Its name.
    pub name: String,
    /// Its room or floor.
    pub area: String,
    /// Its kind.
    pub kind: things::Kind,
    /// The commands that it takes.
    pub verbs: Vec<things::Verb>,
    /// Whether it reads a number, so that a threshold can watch it.
    pub number: bool,
}

/// A pin with a name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PinChoice {
    /// Its BCM number.
    pub pin: u8,
    /// Its name.
    pub name: String,
}

/// A type of trigger, condition or action.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TypeChoice {
    /// Its `type`.
    pub r#type: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its fields. Those in `required` have to be there.
    pub fields: Vec<&'static str>,
    /// The fields that have to be there.
    pub required: Vec<&'static str>,
}

fn types(all: &[(&'static str, &'static str, &[&'static str], &[&'static str])]) -> Vec<TypeChoice> {
    let choice = |(r#type, title, required, more): &(&'static str, &'static str, &[&'static str], &[&'static str])| {
        let fields = required.iter().chain(*more).copied().collect();
        TypeChoice { r#type, title, fields, required: required.to_vec() }
    };
    all.iter().map(choice).collect()
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
pub fn choices(cx: &Cx, registry: &Registry, home: &Home) -> Result<Choices> {
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
    let mut things: Vec<ThingChoice> = home
        .things
        .all()
        .into_iter()
        .map(|thing| ThingChoice {
            thing: thing.address.to_string(),
            name: thing.name,
            area: thing.area,
            kind: thing.kind,
            verbs: thing.verbs,
            number: thing.state.number.is_some(),
        })
        .collect();
    things.sort_by_key(|thing| thing.name.to_lowercase());
    Ok(Choices {
        causes: causes(),
        people,
        tools,
        things,
        pins: (home.pins)().into_iter().map(|(pin, name)| PinChoice { pin, name }).collect(),
        triggers: types(&[
            ("pin", "A button is pressed, or a pin changes", &["pin"], &["press", "edge", "for"]),
            ("thing", "Something changes its state", &["thing"], &["to", "from", "for"]),
            ("threshold", "A number goes beyond a limit", &["thing"], &["above", "below", "hysteresis", "for"]),
            ("schedule", "At a time", &["schedule"], &["timezone"]),
            ("sun", "At sunrise or sunset", &["event"], &["offsetMinutes", "date"]),
            ("mqtt", "An MQTT message arrives", &["topic"], &["payload", "path"]),
            ("ha", "A Home Assistant entity changes", &["entity"], &["to", "from", "for"]),
            ("event", "Something happens in Hob", &["topic"], &["match"]),
            (
                "check",
                "The result of a tool becomes true",
                &["tool", "op"],
                &["arguments", "path", "value", "everySeconds"],
            ),
        ]),
        conditions: types(&[
            ("time", "It is between two times", &[], &["after", "before"]),
            ("days", "It is one of these days", &["days"], &[]),
            ("sun", "It is day or dark", &["is"], &[]),
            ("thing", "Something is in a state", &["thing"], &["is", "above", "below"]),
            ("pin", "A pin is on or off", &["pin", "high"], &[]),
            ("tool", "A tool returns a value", &["tool", "op", "value"], &["arguments", "path"]),
            ("any", "One of several holds", &["conditions"], &[]),
            ("all", "All of several hold", &["conditions"], &[]),
            ("not", "Something does not hold", &["condition"], &[]),
        ]),
        actions: types(&[
            (
                "thing",
                "Control something",
                &["action"],
                &["thing", "things", "area", "kind", "level", "temperature", "text", "for"],
            ),
            ("pin", "Switch a pin", &["pin"], &["high", "toggle", "for"]),
            ("pulse", "Pulse a pin", &["pin"], &[]),
            ("message", "Send a message", &["message"], &["person"]),
            ("prompt", "Ask Hob", &["prompt"], &[]),
            ("ha", "Call a Home Assistant service", &["service"], &["domain", "entity", "data"]),
            ("mqtt", "Publish an MQTT message", &["topic"], &["payload", "retain", "qos"]),
            ("tool", "Use a tool", &["tool"], &["arguments"]),
            ("wait", "Wait", &["seconds"], &[]),
        ]),
        place: (home.place)().is_some(),
    })
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
        let offered = choices(&house.cx(), &house.registry, &Home::default()).unwrap();
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
