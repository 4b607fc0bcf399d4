//! Triggers, conditions and actions written as words: "sunset-00:15", "bell pressed twice", "turn on the hall lamp for 5
//! minutes".

use crate::{
    home::Home,
    values::{day, level, seconds, time_of_day},
};
use serde_json::Map;
use text_kit::truncate;
use tool::prelude::*;

type Fields = Map<String, Value>;

/// Words for edges.
pub(crate) const EDGES: &[(&str, &str)] = &[
    ("rising", "rising"),
    ("rise", "rising"),
    ("high", "rising"),
    ("on", "rising"),
    ("up", "rising"),
    ("falling", "falling"),
    ("fall", "falling"),
    ("low", "falling"),
    ("off", "falling"),
    ("down", "falling"),
    ("both", "both"),
    ("any", "both"),
    ("change", "both"),
    ("changes", "both"),
];
/// Words for presses.
pub(crate) const PRESSES: &[(&str, &str)] = &[
    ("short", "short"),
    ("single", "short"),
    ("once", "short"),
    ("click", "short"),
    ("1", "short"),
    ("long", "long"),
    ("hold", "long"),
    ("held", "long"),
    ("double", "double"),
    ("twice", "double"),
    ("2", "double"),
    ("any", "any"),
    ("every", "any"),
];

fn object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}

/// Words as a trigger.
///
/// # Errors
/// `BadArgs`, with examples.
pub(crate) fn trigger(home: &Home, text: &str) -> Result<Fields> {
    let plain = text.trim().trim_end_matches('.').to_lowercase();
    let plain =
        ["when ", "whenever ", "if ", "at "].iter().find_map(|lead| plain.strip_prefix(lead)).unwrap_or(&plain).trim();
    let plain = plain.strip_prefix("the ").unwrap_or(plain);
    if let Some(sun) = sun_trigger(plain)? {
        return Ok(sun);
    }
    if let Some(press) = press(home, plain)? {
        return Ok(press);
    }
    if let Some(threshold) = threshold(plain)? {
        return Ok(threshold);
    }
    if let Some(state) = state(home, plain)? {
        return Ok(state);
    }
    if plain.contains(' ') || plain.contains(':') || plain.contains('*') {
        return Ok(object(match time_of_day(plain) {
            Ok(_) => json!({"type": "schedule", "schedule": format!("every day at {plain}")}),
            Err(_) => json!({"type": "schedule", "schedule": text.trim()}),
        }));
    }
    Err(Error::bad_args(format!(
        "`{}` is no trigger: write it as \"bell pressed twice\", \"hall lamp turns on\", \"sunset-00:15\" or \"every day at 7:00\"",
        truncate(text, 60)
    )))
}

/// "sunset", "sunset-00:15", "15 minutes before sunset", "sunset today", "every day at sunset".
fn sun_trigger(plain: &str) -> Result<Option<Fields>> {
    const ONCE: &[(&str, &str)] = &[
        ("today", "today"),
        ("tonight", "today"),
        ("this evening", "today"),
        ("tomorrow", "tomorrow"),
        ("once", "next"),
    ];
    const DAILY: &[&str] = &["every day", "each day", "daily", "every evening", "every morning", "every night"];
    let around = |words: &str| {
        let end = plain.strip_suffix(words).map(|rest| rest.strip_suffix(", ").unwrap_or(rest));
        end.filter(|rest| rest.ends_with(' '))
            .or_else(|| plain.strip_prefix(words).filter(|rest| rest.starts_with(' ')))
    };
    let without = |rest: &str| {
        let rest = rest.trim();
        rest.strip_prefix("at ").unwrap_or(rest).to_owned()
    };
    if let Some((rest, day)) = ONCE.iter().find_map(|(words, day)| Some((around(words)?, *day))) {
        let mut found = sun_time(&without(rest))?;
        if let Some(fields) = &mut found {
            fields.insert("date".into(), day.into());
        }
        return Ok(found);
    }
    let next = plain.strip_prefix("next ").or_else(|| plain.strip_prefix("the next "));
    if let Some(mut fields) = next.map(sun_time).transpose()?.flatten() {
        fields.insert("date".into(), "next".into());
        return Ok(Some(fields));
    }
    match DAILY.iter().find_map(|words| around(words)) {
        Some(rest) => sun_time(&without(rest)),
        None => sun_time(plain),
    }
}

/// A time by the sun without its day.
fn sun_time(plain: &str) -> Result<Option<Fields>> {
    for event in ["sunset", "sunrise"] {
        if let Some(rest) = plain.strip_prefix(event) {
            let minutes = offset(rest)?;
            return Ok(Some(object(json!({"type": "sun", "event": event, "offsetMinutes": minutes}))));
        }
        for (word, sign) in [(" before ", -1), (" after ", 1)] {
            if let Some(span) = plain.strip_suffix(event).and_then(|rest| rest.strip_suffix(word)) {
                let minutes = sign * minutes_in(span)?;
                return Ok(Some(object(json!({"type": "sun", "event": event, "offsetMinutes": minutes}))));
            }
        }
    }
    Ok(None)
}

/// The minutes of "-00:15", "+15 min", "-PT15M" or nothing.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn offset(text: &str) -> Result<i32> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(0);
    }
    let (sign, rest) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.trim();
    if let Ok(minutes) = rest.parse::<u16>() {
        return Ok(sign * i32::from(minutes));
    }
    Ok(sign * minutes_in(rest)?)
}

fn minutes_in(span: &str) -> Result<i32> {
    i32::try_from(seconds(&span.trim().into())? / 60).map_err(|_| Error::bad_args("the offset is too long"))
}

/// "bell is pressed twice", "button long press", "double press of the bell", "bell rings".
fn press(home: &Home, plain: &str) -> Result<Option<Fields>> {
    const WORDS: &[(&str, &str)] =
        &[("double press of ", "double"), ("long press of ", "long"), ("press of ", "short")];
    for (lead, kind) in WORDS {
        if let Some(name) = plain.strip_prefix(lead) {
            return Ok(Some(object(json!({"type": "pin", "pin": home.pin(&name.into())?, "press": kind}))));
        }
    }
    let Some((name, how, held)) = [
        " is pressed",
        " was pressed",
        " gets pressed",
        " pressed",
        " is held",
        " is clicked",
        " clicked",
        " rings",
        " is rung",
    ]
    .iter()
    .find_map(|word| plain.split_once(word).map(|(name, rest)| (name, rest, *word == " is held"))) else {
        return Ok(None);
    };
    if let Some(span) =
        how.trim().strip_prefix("for ").or_else(|| how.trim().strip_prefix("down for ")).filter(|_| held)
        && seconds(&span.into()).is_ok()
    {
        return Ok(Some(object(json!({"type": "pin", "pin": home.pin(&name.into())?, "edge": "rising", "for": span}))));
    }
    let how = how.trim().trim_start_matches("for a ");
    let how = if held && ["", "down"].contains(&how) { "long" } else { how };
    let kind = match how {
        "" | "once" | "short" | "shortly" | "briefly" | "down" => "short",
        "twice" | "double" | "two times" | "2 times" => "double",
        "long" | "for long" | "long time" | "down long" | "and held" => "long",
        other => {
            return Err(Error::bad_args(format!(
                "`{}` is no way to press a button: say once, twice or long",
                truncate(other, 40)
            )));
        }
    };
    Ok(Some(object(json!({"type": "pin", "pin": home.pin(&name.into())?, "press": kind}))))
}

/// "bedroom temperature goes above 25", "co2 is over 1000 for 5 minutes".
fn threshold(plain: &str) -> Result<Option<Fields>> {
    const WORDS: &[(&str, &str)] = &[
        (" rises above ", "above"),
        (" goes above ", "above"),
        (" is above ", "above"),
        (" is over ", "above"),
        (" above ", "above"),
        (" > ", "above"),
        (" falls below ", "below"),
        (" drops below ", "below"),
        (" goes below ", "below"),
        (" is below ", "below"),
        (" is under ", "below"),
        (" below ", "below"),
        (" < ", "below"),
    ];
    let Some((name, rest, way)) =
        WORDS.iter().find_map(|(word, way)| plain.split_once(word).map(|(name, rest)| (name, rest, way)))
    else {
        return Ok(None);
    };
    let (number, lasts) = with_for(rest);
    let mut fields = object(json!({"type": "threshold", "thing": name}));
    fields.insert((*way).into(), number.trim().into());
    if let Some(lasts) = lasts {
        fields.insert("for".into(), lasts.into());
    }
    Ok(Some(fields))
}

/// "… for 5 minutes" apart.
fn with_for(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(" for ") {
        Some((before, span)) if seconds(&span.into()).is_ok() => (before, Some(span)),
        _ => (text, None),
    }
}

/// "hall lamp turns on", "front door opens", "pin 4 goes high", "front door is open for 10 minutes".
fn state(home: &Home, plain: &str) -> Result<Option<Fields>> {
    const WORDS: &[(&str, &str)] = &[
        (" turns on", "on"),
        (" is turned on", "on"),
        (" goes on", "on"),
        (" goes high", "on"),
        (" is on", "on"),
        (" turns off", "off"),
        (" is turned off", "off"),
        (" goes off", "off"),
        (" goes low", "off"),
        (" is off", "off"),
        (" opens", "open"),
        (" is opened", "open"),
        (" is open", "open"),
        (" closes", "closed"),
        (" is closed", "closed"),
        (" is locked", "locked"),
        (" is unlocked", "unlocked"),
        (" changes", ""),
    ];
    let (rest, lasts) = with_for(plain);
    let Some((name, to)) = WORDS.iter().find_map(|(word, to)| Some((rest.strip_suffix(word)?, *to))) else {
        return Ok(None);
    };
    let mut fields = match name.starts_with("pin ") || name.starts_with("gpio") {
        true => {
            let edge = match to {
                "" => "both",
                word if level(word)? => "rising",
                _ => "falling",
            };
            object(json!({"type": "pin", "pin": home.pin(&name.into())?, "edge": edge}))
        }
        false => object(json!({"type": "thing", "thing": name, "to": Some(to).filter(|to| !to.is_empty())})),
    };
    if let Some(lasts) = lasts {
        fields.insert("for".into(), lasts.into());
    }
    Ok(Some(fields))
}

/// Words as a condition.
///
/// # Errors
/// `BadArgs`, with examples.
pub(crate) fn condition(home: &Home, text: &str) -> Result<Fields> {
    let plain = text.trim().trim_end_matches('.').to_lowercase();
    if let Some(rest) = plain.strip_prefix("unless ").or_else(|| plain.strip_prefix("not ")) {
        return Ok(object(json!({"not": rest})));
    }
    let plain = ["only if ", "if ", "when ", "while ", "only "]
        .iter()
        .find_map(|lead| plain.strip_prefix(lead))
        .unwrap_or(&plain);
    let plain = ["it is ", "it's ", "its "].iter().find_map(|lead| plain.strip_prefix(lead)).unwrap_or(plain).trim();
    match plain {
        "dark" | "night" | "at night" | "the sun is down" | "sun is down" | "after sunset" => {
            return Ok(object(json!({"type": "sun", "is": "down"})));
        }
        "day" | "light" | "daylight" | "during the day" | "the sun is up" | "sun is up" | "after sunrise" => {
            return Ok(object(json!({"type": "sun", "is": "up"})));
        }
        _ => {}
    }
    if let Some((after, before)) = plain.strip_prefix("between ").and_then(|rest| rest.split_once(" and ")) {
        return Ok(object(json!({"type": "time", "after": after, "before": before})));
    }
    for word in ["after", "before"] {
        if let Some(time) = plain.strip_prefix(word).filter(|rest| rest.starts_with(' ')) {
            return Ok(object(json!({"type": "time", word: time.trim()})));
        }
    }
    let listed = plain.strip_prefix("on ").unwrap_or(plain);
    let days: Vec<&str> =
        listed.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and" && *word != "or").collect();
    if !days.is_empty() && days.iter().all(|word| day(word).is_ok()) {
        return Ok(object(json!({"type": "days", "days": days})));
    }
    let plain = plain.strip_prefix("the ").unwrap_or(plain);
    for (word, way) in
        [(" is above ", "above"), (" is over ", "above"), (" is below ", "below"), (" is under ", "below")]
    {
        if let Some((name, limit)) = plain.split_once(word) {
            return Ok(object(json!({"type": "thing", "thing": name, way: limit})));
        }
    }
    if let Some((name, is)) = plain.rsplit_once(" is ") {
        let (not, is) = is.strip_prefix("not ").map_or((false, is), |rest| (true, rest));
        let condition = match name.starts_with("pin ") {
            true => json!({"type": "pin", "pin": home.pin(&name.into())?, "is": is}),
            false => json!({"type": "thing", "thing": name, "is": is}),
        };
        return Ok(object(if not { json!({"not": condition}) } else { condition }));
    }
    Err(Error::bad_args(format!(
        "`{}` is no condition: write it as \"after 22:00\", \"on weekdays\", \"it is dark\" or \"the hall lamp is off\"",
        truncate(text, 60)
    )))
}

/// Words as an action.
///
/// # Errors
/// `BadArgs`, with examples.
pub(crate) fn action(text: &str) -> Result<Fields> {
    let trimmed = text.trim().trim_end_matches('.');
    let lower = trimmed.to_lowercase();
    for lead in ["tell me ", "say ", "notify me ", "message "] {
        if let Some(rest) = lower.starts_with(lead).then(|| trimmed.get(lead.len()..)).flatten() {
            let message = rest.trim().trim_start_matches("that ").trim_matches(['"', '“', '”']);
            return Ok(object(json!({"type": "message", "message": message})));
        }
    }
    if let Some(span) = lower.strip_prefix("wait ") {
        return Ok(object(json!({"type": "wait", "seconds": span.trim_start_matches("for ")})));
    }
    let (what, lasts) = with_for(&lower);
    const VERBS: &[(&str, &str)] = &[
        ("turn on ", "turn_on"),
        ("switch on ", "turn_on"),
        ("turn off ", "turn_off"),
        ("switch off ", "turn_off"),
        ("toggle ", "toggle"),
        ("open ", "open"),
        ("close ", "close"),
        ("lock ", "lock"),
        ("unlock ", "unlock"),
        ("activate ", "activate"),
        ("play ", "play"),
        ("pause ", "pause"),
    ];
    let found = VERBS.iter().find_map(|(lead, verb)| Some((what.strip_prefix(lead)?, *verb))).or_else(|| {
        let rest = what.strip_prefix("turn ").or_else(|| what.strip_prefix("switch "))?;
        let verb = |name, verb| Some((name, verb));
        match rest.rsplit_once(' ')? {
            (name, "on") => verb(name, "turn_on"),
            (name, "off") => verb(name, "turn_off"),
            _ => None,
        }
    });
    if let Some((name, verb)) = found {
        let mut fields = object(json!({"type": "thing", "thing": name, "action": verb}));
        if let Some(lasts) = lasts {
            fields.insert("for".into(), lasts.into());
        }
        return Ok(fields);
    }
    Err(Error::bad_args(format!(
        "`{}` is no action: write it as \"turn on the hall lamp for 5 minutes\", \"wait 10 seconds\" or \"tell me …\", or as an object",
        truncate(text, 60)
    )))
}
