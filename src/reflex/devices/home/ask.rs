//! Questions: how something is, which of a kind are on or open, how warm it is.

use super::{Before, emit, grammar::in_question, which};
use crate::{
    classification::{Classification, fixed_reply},
    sentence::Sentence,
};
use serde_json::{Map, Value, json};
use things::{Home, Kind, NotResolved, Span, Target, What};

/// Words for a state, and whether they mean on, open, unlocked.
const STATES: &[(&str, bool)] = &[
    ("on", true),
    ("lit", true),
    ("running", true),
    ("going", true),
    ("open", true),
    ("opened", true),
    ("unlocked", true),
    ("playing", true),
    ("off", false),
    ("closed", false),
    ("shut", false),
    ("locked", false),
    ("paused", false),
];

/// A question about things.
pub(super) fn asked(s: &Sentence, home: &Home, before: Option<&Before>) -> Option<Classification> {
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let spans = home.scan(&words, &in_question, &|_| true, 1);
    let named = |at: usize| spans.iter().any(|span| (span.at..span.end).contains(&at));
    if !(0..words.len()).all(|at| named(at) || in_question(words[at])) {
        return None;
    }
    // "was", "will", "when" and "why" ask for more than how things are now; "tell me if …" asks for that.
    if ["was", "did", "will", "can", "could", "would"].contains(&words[0]) || words[0] == "if" && !s.only_asks {
        return None;
    }
    let has = |all: &[&str]| (0..words.len()).any(|at| !named(at) && all.contains(&words[at]));
    let warm = has(&["temperature", "temp", "warm", "hot", "cold", "cool"]);
    if warm || has(&["humidity"]) {
        return climate(&words, home, &spans, warm);
    }
    let locks = has(&["locked", "unlocked"]);
    let moves = has(&["opening", "closing", "shutting"]);
    let of_kind = spans.iter().any(|span| matches!(span.what, What::Kind(_)));
    let state = STATES.iter().find(|(word, _)| (0..words.len()).any(|at| is_state(&words, &spans, at, word)));
    // "How many lights are on upstairs", "on my floor": where no other word is a state, "on" is one.
    let state = state.or_else(|| STATES.first().filter(|_| !moves && of_kind && has(&["on"])));
    let tells = has(&["state", "status"]) || words.contains(&"how");
    if spans.is_empty() {
        let before = before.filter(|_| has(&["it", "that", "they", "them"]) && state.is_some())?;
        return about(home, before);
    }
    if state.is_none() && !tells && !moves {
        return None;
    }
    let all = has(&["all", "every", "each"]);
    // "Which doors are not locked?"
    let not = has(&["not"]);
    let several = has(&["any", "some", "which", "many", "all", "every", "each"]) || words[0] == "what" && !tells;
    let fits = |at: usize| match locks {
        // "Is the front door locked" asks for its lock, and not for its contact.
        true => home.get(at).kind == Kind::Lock || !spans.iter().any(|span| matches!(span.what, What::Kind(_))),
        false => true,
    };
    let usual: &[Kind] = match state {
        Some((_, _)) if has(&["open", "opened", "closed", "shut"]) => &[Kind::Cover, Kind::Contact],
        _ if moves => &[Kind::Cover],
        _ if locks => &[Kind::Lock],
        Some(_) => &[Kind::Light, Kind::Switch, Kind::Fan, Kind::Media],
        None => &[],
    };
    // Doors that are locked are locks; doors that are open are covers or contacts.
    let open = has(&["open", "opened", "closed", "shut"]);
    let fits =
        |at: usize| fits(at) && !(open && home.get(at).kind == Kind::Lock && home.get(at).own_kind == Kind::Lock);
    let target = match home.meant(&spans, &words, usual, &fits) {
        Ok(target) => target,
        Err(NotResolved::Several { things }) if things.len() <= 6 && !several => {
            return match state {
                Some((_, active)) => list(home, &Target { things, ..Target::default() }, &spans, Some(*active != not)),
                None => Some(which(home, &things)),
            };
        }
        Err(NotResolved::Several { things }) => Target { things, ..Target::default() },
        // "Is the front door open", where it has a lock alone.
        Err(NotResolved::Nothing { .. }) => match home.meant(&spans, &words, &[], &|_| true) {
            Ok(other) if other.things.len() == 1 => other,
            _ => return Some(fixed_reply("I know nothing here that is called that.", "nothing is called that")),
        },
    };
    // "Is the garage open?": its door, and not what moves there.
    let only_area = spans.iter().all(|span| matches!(span.what, What::Area(_)));
    let such = |kind: &Kind| -> Vec<usize> {
        target.things.iter().copied().filter(|at| home.get(*at).kind == *kind).collect()
    };
    if only_area
        && !several
        && let Some([at]) = usual.iter().map(such).find(|such| !such.is_empty()).as_deref()
    {
        return emit::calls(vec![("get_thing", Value::Object(emit::one(home, *at)))], "asks about a thing");
    }
    let named_one = !several || spans.iter().any(|span| matches!(span.what, What::Names { whole: true, .. }));
    if let ([at], true) = (&target.things[..], named_one) {
        return emit::calls(vec![("get_thing", Value::Object(emit::one(home, *at)))], "asks about a thing");
    }
    // "Are all doors locked?": those that are not are the answer.
    let active = state.map(|(_, active)| (*active != all) != not);
    list(home, &target, &spans, active)
}

/// Whether a state word is one: "on" before a floor is not.
fn is_state(words: &[&str], spans: &[Span], at: usize, word: &str) -> bool {
    let named = |at: usize| spans.iter().any(|span| (span.at..span.end).contains(&at));
    let place = word == "on" && (named(at + 1) || ["the", "my", "our"].contains(words.get(at + 1).unwrap_or(&"")));
    words[at] == word && !named(at) && !place
}

/// A list of what is meant.
fn list(home: &Home, target: &Target, spans: &[Span], active: Option<bool>) -> Option<Classification> {
    let mut arguments = Map::new();
    let mut kinds: Vec<Kind> = target.things.iter().map(|at| home.get(*at).kind).collect();
    kinds.dedup();
    let class = spans.iter().find_map(|span| match &span.what {
        What::Kind(kind) => kind.class.map(|_| span),
        _ => None,
    });
    let names = spans.iter().any(|span| matches!(span.what, What::Names { .. }));
    if let Some(area) = target.area {
        arguments.insert("area".to_owned(), home.areas()[area].name.clone().into());
    }
    if let [kind] = kinds[..] {
        arguments.insert("kind".to_owned(), json!(kind));
    }
    // A word among the kind: curtains among covers.
    let is_door = |kind: &Kind| matches!(kind, Kind::Lock);
    if let Some(span) = class.filter(|_| !kinds.iter().any(is_door)) {
        let What::Kind(kind) = &span.what else { return None };
        arguments.insert("query".to_owned(), format!("{}s", kind.class.unwrap_or_default()).into());
    }
    if names && let [at, ..] = target.things[..] {
        arguments.insert("query".to_owned(), home.get(at).name.into());
    }
    if let Some(active) = active {
        arguments.insert("active".to_owned(), active.into());
    }
    emit::calls(vec![("list_things", Value::Object(arguments))], "asks which things")
}

/// The state of what was spoken of before.
pub(super) fn about(home: &Home, before: &Before) -> Option<Classification> {
    let [at] = before.things[..] else { return None };
    emit::calls(vec![("get_thing", Value::Object(emit::one(home, at)))], "asks about the thing before")
}

/// How warm or humid it is: a sensor of the area, else what heats it.
fn climate(words: &[&str], home: &Home, spans: &[Span], warm: bool) -> Option<Classification> {
    let names = spans.iter().any(|span| matches!(span.what, What::Names { .. }));
    let kind = spans.iter().any(|span| matches!(span.what, What::Kind(_)));
    if names || kind {
        let target = match home.meant(spans, words, &[Kind::Climate], &|_| true) {
            Ok(target) => target,
            Err(NotResolved::Several { things }) => return Some(which(home, &things)),
            Err(NotResolved::Nothing { .. }) => return None,
        };
        let [at] = target.things[..] else { return Some(which(home, &target.things)) };
        // "The temperature in the hall", where a word of it names the hall lamp.
        if !matches!(home.get(at).kind, Kind::Sensor | Kind::Climate) {
            let what = if warm { "temperature" } else { "humidity" };
            return Some(fixed_reply(&format!("Nothing here measures the {what} there."), "nothing measures it"));
        }
        return emit::calls(vec![("get_thing", Value::Object(emit::one(home, at)))], "asks how warm it is");
    }
    let areas: Vec<usize> =
        spans.iter().filter_map(|span| if let What::Area(area) = span.what { Some(area) } else { None }).collect();
    let inside = |at: usize| {
        let own = home.area_of(at);
        areas.iter().all(|area| own.is_some_and(|own| home.is_within(own, *area)))
    };
    let measures = |at: usize| {
        let known = home.get(at);
        let name = known.name.to_lowercase();
        let unit = known.state.unit.as_deref().unwrap_or_default();
        known.kind == Kind::Sensor
            && match warm {
                true => name.contains("temperature") || unit.starts_with('°') && !name.contains("dew"),
                false => name.contains("humidity"),
            }
    };
    let all = |fits: &dyn Fn(usize) -> bool| -> Vec<usize> {
        (0..home.len()).filter(|at| inside(*at) && !home.get(*at).hidden && fits(*at)).collect()
    };
    let sensors = all(&measures);
    let heating = if warm { all(&|at| home.get(at).kind == Kind::Climate) } else { vec![] };
    // Without a room what heats the home is meant, and not the oven.
    let (first, then) = if areas.is_empty() { (heating, sensors) } else { (sensors, heating) };
    let found = if first.is_empty() { then } else { first };
    match found[..] {
        // Nothing here measures that: it is the weather, or something else.
        [] if areas.is_empty() => None,
        [] => {
            let what = if warm { "the temperature" } else { "the humidity" };
            let area = &home.areas()[areas[0]].name;
            Some(fixed_reply(&format!("Nothing measures {what} in {area}."), "nothing measures it"))
        }
        [at] => emit::calls(vec![("get_thing", Value::Object(emit::one(home, at)))], "asks how warm it is"),
        _ if areas.is_empty() => Some(which(home, &found)),
        _ => {
            let call = |at: &usize| ("get_thing", Value::Object(emit::one(home, *at)));
            emit::calls(found.iter().take(3).map(call).collect(), "asks how warm it is")
        }
    }
}
