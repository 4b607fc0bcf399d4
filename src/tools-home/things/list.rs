//! Lists things and says how they are.

use super::{LISTED, target, words};
use ::things::{Home, Kind, State, Things};
use text_kit::{capitalized, join_and};
use tool::{Label, prelude::*};

/// The most names in a sentence.
const NAMED: usize = 8;

/// A thing as tools return it.
pub(super) fn shown(home: &Home, at: usize) -> Value {
    let known = home.get(at);
    let mut one = json!({
        "thing": known.address,
        "name": known.name,
        "kind": known.kind,
        "state": known.state.value,
    });
    let State { active, number, unit, level, temperature, target, detail, .. } = known.state;
    let parts = [
        ("area", known.area.map(|area| Value::from(area.name.as_str()))),
        ("aliases", (!known.aliases.is_empty()).then(|| json!(known.aliases))),
        ("active", active.map(Value::from)),
        ("number", number.map(Value::from)),
        ("unit", unit.as_deref().map(Value::from)),
        ("level", level.map(Value::from)),
        ("temperature", temperature.map(Value::from)),
        ("target", target.map(Value::from)),
        ("detail", detail.as_deref().map(Value::from)),
    ];
    for (name, value) in parts {
        if let Some(value) = value {
            one[name] = value;
        }
    }
    one
}

/// A thing with what it can be told, whether that opens something, and whether the voice door may use it.
fn shown_whole(home: &Home, at: usize) -> Value {
    let known = home.get(at);
    let mut one = shown(home, at);
    if known.is_controlled() {
        one["can"] = json!(known.verbs);
    }
    one["guarded"] = known.guarded.into();
    one["hidden"] = known.hidden.into();
    one["voice"] = known.voice.into();
    one
}

/// The label of what a list shows: names are the household's. What is played comes from outside, and a name that reads as a
/// sentence does.
fn label(home: &Home, cx: &Cx, things: &[usize]) -> Label {
    let mut outside = Label::Own;
    for at in things {
        let known = home.get(*at);
        cx.taint(known.label);
        if known.strange || known.kind == Kind::Media && known.state.detail.is_some() {
            outside = Label::Outside;
        }
    }
    outside
}

/// Get the state of one thing of the home, and what it can do: whether it is on, open or locked, its level, a temperature.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    /// Name, alias or address, such as `hall lamp` or `pin:17`.
    thing: String,
}

pub(super) async fn get(things: Things, cx: Cx, Get { thing }: Get) -> Result<Output> {
    let home = things.home();
    let target = target::named(&home, &thing, &|at| target::is_for(&cx, &home, at));
    let target = target.map_err(|error| target::for_caller(&cx, error))?;
    let label = label(&home, &cx, &target.things);
    let output = match target.things[..] {
        [at] => Output::json(shown_whole(&home, at))?.say(words::state(&home, at)),
        _ => {
            let all: Vec<Value> = target.things.iter().map(|at| shown(&home, *at)).collect();
            Output::json(json!({"things": all}))?.say(states(&home, &target.things))
        }
    };
    Ok(Output { label, ..output })
}

/// "Kitchen ceiling is on. Worktop light is off."
fn states(home: &Home, things: &[usize]) -> String {
    let said = |at: &usize| words::state(home, *at);
    let mut all: Vec<String> = things.iter().take(NAMED).map(said).collect();
    if things.len() > NAMED {
        all.push(format!("And {} more.", things.len() - NAMED));
    }
    all.join(" ")
}

/// List things of the home with their states: by words of their names, area, kind, and whether they are on or open.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// Words of names, or a group such as `curtains in the bedroom`.
    query: Option<String>,
    /// A room or floor; empty for what has none.
    area: Option<String>,
    /// The kind.
    kind: Option<Kind>,
    /// Only those that are on, open, unlocked or playing (true), or that are not (false).
    active: Option<bool>,
    /// Max results.
    limit: Option<u32>,
    /// How many to skip.
    offset: Option<u32>,
    /// Whether to add what each can be told, whether that opens something, and whether the voice door may use it.
    details: Option<bool>,
}

pub(super) async fn list(things: Things, cx: Cx, args: List) -> Result<Output> {
    let home = things.home();
    let mine = |at: usize| target::is_for(&cx, &home, at) && !home.get(at).hidden;
    // An empty area selects things that have none.
    let unplaced = args.area.as_deref().is_some_and(|area| area.trim().is_empty());
    let here = |at: usize| mine(at) && (!unplaced || home.area_of(at).is_none());
    let area = args.area.as_deref().filter(|_| !unplaced);
    let inside = target::in_area(&home, area, args.kind, &[], &here)?;
    let fits = |at: usize| inside.binary_search(&at).is_ok();
    let query = args.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
    let all: Vec<usize> = match query {
        None => inside.clone(),
        Some(query) => match home.resolve(query, &fits) {
            Ok(target) => target.things,
            Err(::things::NotResolved::Several { things }) => things,
            // Words that are still being typed match a part of a name.
            Err(::things::NotResolved::Nothing { .. }) => {
                inside.iter().copied().filter(|at| has_words(&home, *at, query)).collect()
            }
        },
    };
    let wanted = |at: &usize| args.active.is_none_or(|active| home.get(*at).state.active == Some(active));
    let found: Vec<usize> = all.iter().copied().filter(wanted).collect();
    let limit = args.limit.map_or(LISTED.0, |limit| limit.clamp(1, LISTED.1)) as usize;
    let page: Vec<usize> = found.iter().copied().skip(args.offset.unwrap_or(0) as usize).take(limit).collect();
    let label = label(&home, &cx, &page);
    let said = said(&home, &all, &found, args.active, args.kind);
    let one = if args.details == Some(true) { shown_whole } else { shown };
    let listed: Vec<Value> = page.iter().map(|at| one(&home, *at)).collect();
    let content = json!({"things": listed, "total": found.len(), "of": all.len()});
    Ok(Output { label, ..Output::json(content)?.say(said) })
}

/// Whether the names, the area and the device class of a thing contain every word of a query.
fn has_words(home: &Home, at: usize, query: &str) -> bool {
    let known = home.get(at);
    let area = known.area.map(|area| area.name.as_str()).unwrap_or_default();
    let class = known.class.replace('_', " ");
    let all = format!("{} {} {area} {class}", known.name, known.aliases.join(" ")).to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

/// "2 of 5 lights are on: Sofa lamp and Bedroom lamp.", "None of the 3 curtains is open."
fn said(home: &Home, all: &[usize], found: &[usize], active: Option<bool>, kind: Option<Kind>) -> String {
    let one_kind = || {
        let first = home.get(*all.first()?).kind;
        all.iter().all(|at| home.get(*at).kind == first).then_some(first)
    };
    let kind = kind.or_else(one_kind);
    let noun = |count: usize| kind.map_or(if count == 1 { "thing" } else { "things" }, |kind| kind.word(count));
    if all.is_empty() {
        return format!("There are no {} here that I know of.", noun(2));
    }
    let Some(active) = active else {
        return match found {
            [at] => words::state(home, *at),
            found if found.len() <= NAMED => states(home, found),
            found => {
                let names = home.names(&found[..NAMED.min(found.len())]);
                format!("{} {}: {} and more.", found.len(), noun(found.len()), names.join(", "))
            }
        };
    };
    let be = state_name(kind, active);
    let names = home.names(&found[..found.len().min(NAMED)]);
    match (found.len(), all.len()) {
        (0, 1) => words::state(home, all[0]),
        (0, total) => format!("None of the {total} {} is {be}.", noun(total)),
        (1, 1) => format!("{} is {be}.", capitalized(&names[0])),
        (1, _) => format!("{} is {be}; the others are not.", capitalized(&names[0])),
        (count, total) if count == total => format!("All {total} {} are {be}: {}.", noun(total), join_and(&names)),
        (count, total) => format!("{count} of {total} {} are {be}: {}.", noun(total), join_and(&names)),
    }
}

/// What a thing of a kind is called where it is active, or not.
fn state_name(kind: Option<Kind>, active: bool) -> &'static str {
    match (kind, active) {
        (Some(Kind::Cover), true) => "open",
        (Some(Kind::Cover), false) => "closed",
        (Some(Kind::Lock), true) => "unlocked",
        (Some(Kind::Lock), false) => "locked",
        (Some(Kind::Media), true) => "playing",
        (Some(Kind::Media), false) => "not playing",
        (Some(Kind::Contact), true) => "open or active",
        (Some(Kind::Contact), false) => "closed or quiet",
        (Some(Kind::Alarm), true) => "disarmed or sounding",
        (_, true) => "on",
        (_, false) => "off",
    }
}
