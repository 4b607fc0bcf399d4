//! Reviews a rule before it is stored: loops, conflicts, and times at which it never runs.

mod graph;

use crate::{
    definition::{Condition, Definition, Trigger as Waits},
    engine::{Rules, definition_of},
    record::BY_NAME,
    sun,
    values::time_of_day,
};
use graph::{Cause, Effect, causes_of, effects_of, is_opposite, matches};
use jiff::{SignedDuration, Timestamp, Zoned, civil::Weekday};
use std::{
    cell::Cell,
    collections::{BTreeSet, VecDeque},
};
use store::Walk;
use text_kit::truncate;
use tool::prelude::*;

/// How many times of a schedule are looked at.
const TIMES: usize = 400;
/// How far they reach at least before a rule counts as one that never runs: a week and a day; a year where the sun decides.
const REACH: i64 = 8;
const REACH_SUN: i64 = 366;
/// How many rules a loop goes through at most, and how many effects and causes are compared to find one.
const DEPTH: usize = 8;
const COMPARISONS: usize = 2_000_000;

/// The findings of a review, in sentences.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Review {
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
}

/// Another rule, as far as loops and conflicts need it.
struct Node {
    name: String,
    causes: Vec<Cause>,
    effects: Vec<Effect>,
    conditional: bool,
    definition: Definition,
}

/// Reviews a rule among the caller's others. `id` is the rule it replaces.
///
/// # Errors
/// `Failed` when the rules cannot be read.
pub(crate) fn review(rules: &Rules, cx: &Cx, name: &str, definition: &Definition, id: Option<Id>) -> Result<Review> {
    let parts = rules.parts();
    let page = parts
        .shelf
        .page(cx, &Walk::prefix(BY_NAME, []), (0, 1000), |entry| entry.value.enabled && Some(entry.id) != id)?;
    let others: Vec<Node> =
        page.entries.iter().filter_map(|entry| Some(node(&entry.value.name, definition_of(&entry.value)?))).collect();
    let this = node(name, definition.clone());
    let mut found = Review::default();
    own_loop(&this, &mut found);
    wider_loops(&this, &others, &mut found);
    conflicts(&this, &others, &mut found);
    if let Some(error) = never(rules, cx, definition) {
        found.errors.push(error);
    }
    for thing in things_of(definition) {
        if thing.parse().ok().and_then(|address| parts.home.things.get(&address)).is_none()
            && !thing.starts_with("pin:")
        {
            found.warnings.push(format!("Nothing is known of {thing} at the moment: its source may not be connected."));
        }
    }
    Ok(found)
}

fn node(name: &str, definition: Definition) -> Node {
    Node {
        name: truncate(name, 80),
        causes: definition.triggers.iter().flat_map(causes_of).collect(),
        effects: effects_of(&definition),
        conditional: !definition.conditions.is_empty(),
        definition,
    }
}

fn own_loop(this: &Node, found: &mut Review) {
    let hit = this.effects.iter().find(|effect| {
        // Setting what is set already changes nothing.
        effect.flips && this.causes.iter().any(|cause| matches(effect, cause))
            || effect.value.is_none() && this.causes.iter().any(|cause| matches(effect, cause))
    });
    if let Some(effect) = hit {
        found.errors.push(format!(
            "The rule would start itself again and again: what it does to {} is what it waits for.",
            effect.what
        ));
    }
}

fn wider_loops(this: &Node, others: &[Node], found: &mut Review) {
    let compared = Cell::new(0_usize);
    // Hundreds of rules of one person must not make everybody else wait: the search ends when it has compared enough.
    let goes_on = || compared.get() < COMPARISONS;
    let follows = |from: &Node, to: &Node| -> Option<bool> {
        compared.set(compared.get() + from.effects.len() * to.causes.len() + 1);
        let hits = from.effects.iter().filter(|effect| to.causes.iter().any(|cause| matches(effect, cause)));
        hits.map(|effect| effect.flips || effect.value.is_none()).reduce(|a, b| a || b)
    };
    // Rules that cause one another, the nearest first, beginning and ending with this one. What was reached is not looked at
    // again, unless something changes for certain on the way now.
    let (mut seen, mut rests) = (BTreeSet::new(), None);
    let mut paths: VecDeque<(Vec<usize>, bool)> = VecDeque::from([(vec![], false)]);
    while let Some((path, flips)) = paths.pop_front() {
        let last = path.last().and_then(|at| others.get(*at));
        if let Some(back) = last.and_then(|last| follows(last, this)) {
            let names: Vec<String> =
                path.iter().filter_map(|at| others.get(*at)).map(|node| format!("“{}”", node.name)).collect();
            let way = names.join(", then ");
            if flips || back {
                found.errors.push(format!("A loop: this rule starts {way}, which starts this rule again."));
                return;
            }
            rests.get_or_insert(format!(
                "This rule starts {way}, which starts this rule again. It comes to rest as long as nothing else switches them."
            ));
        }
        if path.len() >= DEPTH {
            continue;
        }
        for (at, other) in others.iter().enumerate() {
            if !goes_on() {
                break;
            }
            if seen.contains(&(at, true)) || path.contains(&at) {
                continue;
            }
            if let Some(next) = follows(last.unwrap_or(this), other)
                && seen.insert((at, flips || next))
            {
                paths.push_back(([&path[..], &[at]].concat(), flips || next));
            }
        }
    }
    found.warnings.extend(rests);
}

fn conflicts(this: &Node, others: &[Node], found: &mut Review) {
    for other in others {
        let same = this.definition.triggers.iter().any(|one| other.definition.triggers.contains(one))
            || this.causes.iter().any(|one| other.causes.contains(one));
        if !same {
            continue;
        }
        let clash = this.effects.iter().find(|one| other.effects.iter().any(|effect| is_opposite(one, effect)));
        let Some(effect) = clash else { continue };
        let text = format!("“{}” has the same trigger and does the opposite to {}", other.name, effect.what);
        match this.conditional || other.conditional {
            true => found.warnings.push(format!("{text}: make sure that their conditions exclude each other.")),
            false => found.errors.push(format!("{text}: change one of them, or give them conditions.")),
        }
    }
}

/// Whether all its times are excluded by its own conditions.
fn never(rules: &Rules, cx: &Cx, definition: &Definition) -> Option<String> {
    let clock = &*cx.ports().clock;
    let (now, zone) = (clock.now(), clock.zone());
    let place = (rules.parts().home.place)();
    let bound = definition
        .conditions
        .iter()
        .any(|one| matches!(one, Condition::Time { .. } | Condition::Days { .. } | Condition::Sun { .. }));
    if !bound {
        return None;
    }
    let mut times: Vec<Timestamp> = vec![];
    for trigger in &definition.triggers {
        let next: Box<dyn Fn(Timestamp) -> Option<Timestamp>> = match trigger {
            Waits::Schedule { schedule, timezone } => {
                let recurrence = scheduler::parse(schedule, timezone.as_deref(), clock).ok()?;
                let zone = zone.clone();
                Box::new(move |after| recurrence.next_after(after, &zone))
            }
            Waits::Sun { event, offset_minutes, date } => {
                let (place, zone) = (place?, zone.clone());
                let (event, offset, date) = (*event, *offset_minutes, *date);
                Box::new(move |after| match date {
                    Some(day) => sun::on_date(place, event, offset, day).filter(|at| *at > after),
                    None => sun::next(place, event, offset, after, &zone),
                })
            }
            _ => return None,
        };
        let (mut at, mut ended) = (now, false);
        for _ in 0..TIMES {
            let Some(due) = next(at) else {
                ended = true;
                break;
            };
            times.push(due);
            at = due;
        }
        let days = if definition.conditions.iter().any(by_sun) { REACH_SUN } else { REACH };
        if !ended && at.duration_since(now) < SignedDuration::from_hours(24 * days) {
            // Times that come often: what was looked at says nothing about other days.
            return None;
        }
    }
    let possible = |at: &Timestamp| {
        let local = at.to_zoned(zone.clone());
        definition.conditions.iter().all(|condition| holds(condition, &local, place))
    };
    let ever = times.is_empty() || times.iter().any(possible);
    (!ever).then(|| "The rule would never run: its conditions exclude all of its times.".to_owned())
}

/// Whether a condition depends on the sun.
fn by_sun(condition: &Condition) -> bool {
    match condition {
        Condition::Sun { .. } => true,
        Condition::All { conditions } | Condition::Any { conditions } => conditions.iter().any(by_sun),
        _ => false,
    }
}

/// Whether a condition on the time may hold then; others may always.
fn holds(condition: &Condition, local: &Zoned, place: Option<(f64, f64)>) -> bool {
    match condition {
        Condition::Time { after, before } => {
            let limit = |text: &Option<String>| text.as_deref().and_then(|text| time_of_day(text).ok());
            let now = local.time();
            match (limit(after), limit(before)) {
                (Some(after), Some(before)) if after <= before => (after..before).contains(&now),
                (Some(after), Some(before)) => now >= after || now < before,
                (Some(after), None) => now >= after,
                (None, Some(before)) => now < before,
                (None, None) => true,
            }
        }
        Condition::Days { days } => days.iter().any(|day| day == short_day(local.weekday())),
        Condition::Sun { is } => place.is_none_or(|place| {
            let up = sun::is_up(place, local.timestamp(), local.time_zone());
            up == (*is == crate::definition::SunIs::Up)
        }),
        Condition::All { conditions } => conditions.iter().all(|one| holds(one, local, place)),
        Condition::Any { conditions } => conditions.iter().any(|one| holds(one, local, place)),
        _ => true,
    }
}

/// `mon` to `sun`.
pub(crate) fn short_day(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "mon",
        Weekday::Tuesday => "tue",
        Weekday::Wednesday => "wed",
        Weekday::Thursday => "thu",
        Weekday::Friday => "fri",
        Weekday::Saturday => "sat",
        Weekday::Sunday => "sun",
    }
}

/// The addresses of things that a rule names.
fn things_of(definition: &Definition) -> Vec<String> {
    let mut all = vec![];
    for trigger in &definition.triggers {
        match trigger {
            Waits::Thing { thing, .. } | Waits::Threshold { thing: Some(thing), .. } => all.push(thing.clone()),
            _ => {}
        }
    }
    for action in &definition.actions {
        all.extend(action["thing"].as_str().map(str::to_owned));
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::Resource;

    fn topic(name: String) -> Resource {
        Resource::Topic(name)
    }

    /// A rule that is started by one topic and publishes to others.
    fn rule(name: &str, waits: &[String], sends: &[String]) -> Node {
        let effect = |to: &String| Effect { resource: topic(to.clone()), value: None, flips: true, what: to.clone() };
        Node {
            name: name.into(),
            causes: waits.iter().map(|from| Cause { resource: topic(from.clone()), value: None }).collect(),
            effects: sends.iter().map(effect).collect(),
            conditional: false,
            definition: Definition::default(),
        }
    }

    #[test]
    fn hundreds_of_rules_that_start_one_another_are_looked_at_for_a_moment_only() {
        let waits = |n: usize| -> Vec<String> { (0..10).map(|k| format!("t/{n}/+/{k}")).collect() };
        let sends = |n: usize| -> Vec<String> { (0..30).map(|k| format!("t/{}/a/{}", n + k, k % 10)).collect() };
        let others: Vec<Node> = (0..400).map(|n| rule(&n.to_string(), &waits(n), &sends(n + 1))).collect();
        let this = rule("this", &["z".into()], &sends(0));
        let mut found = Review::default();
        // Each comparison costs well under a microsecond; without a limit there were more than 400,000,000.
        wider_loops(&this, &others, &mut found);
        assert_eq!(found, Review::default());
        let mut near = vec![rule("back", &["t/399/a/0".into()], &["z".into()])];
        near.extend(others);
        wider_loops(&rule("this", &["z".into()], &["t/399/a/0".into()]), &near, &mut found);
        assert!(found.errors[0].contains("“back”"), "{found:?}");
    }
}
