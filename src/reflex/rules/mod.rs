//! Sentences that make a rule: "when the bell is pressed, turn on the hall lamp for 5 minutes", "at sunset turn on the porch
//! light". The rule is said back and made after a yes.
//!
//! Only a whole sentence of a known form counts, whose names are those of things that are here. `create_rule` reads the words of
//! the parts.

use crate::{
    classification::{BY_SUN, Classification, Stage, fixed_reply},
    devices::Device,
    sentence::Sentence,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use things::NO_PLACE;

/// The longest such sentence, in bytes.
const LONGEST: usize = 240;
/// The most words of a name that is not here.
const STRANGER: usize = 3;

/// A sentence that makes a rule, as the question whether to make it.
pub(crate) fn classified(s: &Sentence, devices: &[Device]) -> Option<Classification> {
    let (arguments, sentence) = read(&s.text, &Names::of(devices))?;
    let by_sun = is_by_sun(&arguments);
    Some(Classification {
        proposes: Some(("create_rule".to_owned(), arguments)),
        stage: Stage::Asked,
        ..fixed_reply(
            &format!("Shall I make this a rule: {sentence}? Say yes or no."),
            if by_sun { BY_SUN } else { "a rule by its form" },
        )
    })
}

/// The reply to a sentence that would make a rule if what it names were here.
pub(crate) fn of_strangers(
    s: &Sentence,
    devices: &[Device],
    is_here: &dyn Fn(&str) -> bool,
    is_placed: bool,
) -> Option<Classification> {
    let names = Names { strangers: Some(RefCell::default()), ..Names::of(devices) };
    // "When the shop opens, remind me to buy bread" is about no thing of the home.
    let (arguments, _) = read(&s.text, &names).filter(|(arguments, _)| arguments["actions"][0].is_string())?;
    let mut missing = names.strangers?.into_inner();
    missing.retain(|name| !is_here(name));
    let first = missing.first()?;
    let all: Vec<String> = missing.iter().map(|name| format!("“{name}”")).collect();
    let place = if is_by_sun(&arguments) && !is_placed { format!(" {NO_PLACE}.") } else { String::new() };
    let say = format!(
        "I have nothing called {}, so I made no rule. What is wired to one of my pins gets its name from you, as in “call pin 17 the \
         {first}”.{place} Then say it again.",
        all.join(" or ")
    );
    Some(fixed_reply(&say, "a rule about what is not here"))
}

/// The names that a sentence may have.
struct Names {
    /// Those that are here.
    here: Vec<String>,
    /// What else was named as a thing, where that may be.
    strangers: Option<RefCell<Vec<String>>>,
}

impl Names {
    fn of(devices: &[Device]) -> Self {
        let here = devices.iter().map(|device| device.name.to_lowercase()).filter(|name| !name.is_empty()).collect();
        Self { here, strangers: None }
    }

    /// A name that is here, without its article.
    fn known<'n>(&self, name: &'n str) -> Option<&'n str> {
        let bare = ["the ", "my ", "our "].iter().find_map(|article| name.strip_prefix(article));
        let plain = bare.unwrap_or(name).trim();
        if self.here.iter().any(|known| known == plain) {
            return Some(plain);
        }
        let mut strangers = self.strangers.as_ref()?.try_borrow_mut().ok()?;
        let is_name = plain.split(' ').count() <= STRANGER && plain.chars().all(|c| c.is_alphabetic() || c == ' ');
        if bare.is_none() || !is_name || plain.is_empty() {
            return None;
        }
        if !strangers.iter().any(|name| name == plain) {
            strangers.push(plain.to_owned());
        }
        Some(plain)
    }
}

/// Whether a rule needs the position of the home: for its time, or for "unless it is dark".
fn is_by_sun(arguments: &Value) -> bool {
    let has = |list: &str, is: &dyn Fn(&str) -> bool| {
        arguments[list].as_array().is_some_and(|all| all.iter().filter_map(Value::as_str).any(is))
    };
    let words =
        |text: &str| text.trim_end_matches(" once").trim_end_matches(" today").trim_end_matches(" tomorrow").to_owned();
    has("triggers", &|text| ["sunset", "sunrise"].iter().any(|event| words(text).ends_with(event)))
        || has("conditions", &|text| text.starts_with("unless it"))
}

/// The arguments of `create_rule`, and the rule in words.
fn read(text: &str, names: &Names) -> Option<(Value, String)> {
    let text = text.trim().trim_end_matches(['.', '!']);
    if text.len() > LONGEST || text.ends_with('?') {
        return None;
    }
    let lower = text.to_lowercase();
    let lower = lower.strip_prefix("please ").unwrap_or(&lower);
    let (lower, day) = without_day(lower);
    let (cause, rest) = apart(&lower)?;
    let (cause, time) = with_time(&cause);
    let trigger = match sun(&cause, day) {
        Some(trigger) => trigger,
        None if day.is_some() => return None,
        None => trigger(&cause, names)?,
    };
    let (action, unless) = match rest.rsplit_once(" unless ") {
        Some((action, unless)) => (action.to_owned(), Some(unless.trim().to_owned())),
        None => (rest, None),
    };
    let action = action_of(&action, &trigger.1, names)?;
    let mut conditions: Vec<Value> = vec![];
    conditions.extend(time.as_ref().map(|time| json!(time)));
    if let Some(unless) = &unless {
        if !["it is day", "it's day", "it is dark", "it's dark", "it is night", "it is light"]
            .contains(&unless.as_str())
        {
            return None;
        }
        conditions.push(json!(format!("unless {unless}")));
    }
    let mut arguments = json!({"triggers": [trigger.0], "actions": [action.0]});
    let mut sentence = format!("{}, {}", trigger.1, action.1);
    if let Some(time) = time {
        sentence.push_str(&format!(", if it is {time}"));
    }
    if let Some(unless) = unless {
        sentence.push_str(&format!(", unless {unless}"));
    }
    if !conditions.is_empty() {
        arguments["conditions"] = conditions.into();
    }
    Some((arguments, sentence))
}

const LEADS: &[&str] = &["whenever ", "every time ", "as soon as ", "when ", "if "];

/// The cause and the action of a sentence, whichever comes first.
fn apart(lower: &str) -> Option<(String, String)> {
    let cut = |lead: usize, text: &str| {
        let rest = text.get(lead..)?;
        let (cause, action) =
            rest.split_once(", then ").or_else(|| rest.split_once(", ")).or_else(|| rest.split_once(" then "))?;
        Some((cause.trim().to_owned(), action.trim().to_owned()))
    };
    if let Some(lead) = LEADS.iter().find(|lead| lower.starts_with(**lead)) {
        return cut(lead.len(), lower);
    }
    // "at sunset turn on the porch light", "15 minutes before sunset, turn on …"
    for event in ["sunset", "sunrise"] {
        if let Some((before, action)) = lower.split_once(event) {
            let early =
                before.is_empty() || before == "at " || before.ends_with(" before ") || before.ends_with(" after ");
            let action = action.trim_start_matches(',').trim();
            if early && !action.is_empty() && before.len() < 30 && before.split(' ').count() <= 4 {
                return Some((format!("{}{event}", before.trim_start_matches("at ")), action.to_owned()));
            }
            if let Some(first) = before.strip_suffix(" at ").filter(|_| action.is_empty()) {
                return Some((event.to_owned(), first.trim().to_owned()));
            }
        }
    }
    // "turn on the hall lamp when the bell is pressed"
    let (action, cause) =
        [" whenever ", " every time ", " as soon as ", " when "].iter().find_map(|word| lower.split_once(*word))?;
    Some((cause.trim().to_owned(), action.trim().to_owned()))
}

/// The cause without "after 10 pm", and that.
fn with_time(cause: &str) -> (String, Option<String>) {
    for word in [" after ", " before "] {
        if let Some((rest, time)) = cause.rsplit_once(word)
            && is_time(time)
        {
            return (rest.trim().to_owned(), Some(format!("{}{time}", word.trim_start())));
        }
    }
    (cause.to_owned(), None)
}

/// "10 pm", "22:00", "noon".
fn is_time(text: &str) -> bool {
    let plain = text.replace(' ', "");
    let digits = plain.trim_end_matches("am").trim_end_matches("pm");
    ["noon", "midnight"].contains(&&*plain)
        || plain.len() <= 7
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || c == ':')
            && (digits.contains(':') || digits.len() < plain.len())
}

/// The words for days, and as `create_rule` takes them.
const DAYS: &[(&str, &str)] = &[
    ("every day", "every day"),
    ("each day", "every day"),
    ("every evening", "every day"),
    ("every night", "every day"),
    ("every morning", "every day"),
    ("daily", "every day"),
    ("this evening", "today"),
    ("tonight", "today"),
    ("today", "today"),
    ("tomorrow", "tomorrow"),
];

/// A sentence by the sun without its days, and those.
fn without_day(lower: &str) -> (String, Option<&'static str>) {
    if !["sunset", "sunrise"].iter().any(|event| lower.contains(event)) {
        return (lower.to_owned(), None);
    }
    let padded = format!(" {lower} ");
    let at = |words: &str| {
        let after = [" ", ", "].iter().find_map(|end| padded.split_once(&format!(" {words}{end}")))?;
        Some(format!("{} {}", after.0.trim(), after.1.trim()).trim().to_owned())
    };
    let found = DAYS.iter().find_map(|(words, day)| Some((at(words)?, Some(*day))));
    found.unwrap_or_else(|| (lower.to_owned(), None))
}

/// A time by the sun as words for `create_rule`, and for people: once, unless every day is said.
fn sun(cause: &str, day: Option<&str>) -> Option<(String, String)> {
    let event = ["sunset", "sunrise"].into_iter().find(|event| cause.ends_with(event))?;
    let lead = cause.strip_suffix(event).unwrap_or_default().trim();
    let then = |event: &str| if lead.is_empty() { format!("at {event}") } else { format!("{lead} {event}") };
    Some(match day {
        Some("every day") => (cause.to_owned(), format!("every day {}", then(event))),
        Some(day) => (format!("{cause} {day}"), format!("once {} {day}", then(event))),
        None => (format!("{cause} once"), format!("once {}", then(&format!("the next {event}")))),
    })
}

/// The words of a trigger for `create_rule`, and for people.
fn trigger(cause: &str, names: &Names) -> Option<(String, String)> {
    // "somebody opens the front door", "someone presses the bell twice"
    for who in ["somebody ", "someone ", "anybody ", "anyone ", "i ", "you "] {
        let Some(rest) = cause.strip_prefix(who) else { continue };
        for (verb, becomes) in [
            ("opens ", "opens"),
            ("open ", "opens"),
            ("closes ", "closes"),
            ("close ", "closes"),
            ("turns on ", "turns on"),
            ("turn on ", "turns on"),
            ("turns off ", "turns off"),
            ("turn off ", "turns off"),
        ] {
            if let Some(name) = rest.strip_prefix(verb).and_then(|name| names.known(name)) {
                return Some((format!("{name} {becomes}"), format!("when the {name} {becomes}")));
            }
        }
        if let Some(rest) = rest.strip_prefix("presses ").or_else(|| rest.strip_prefix("press ")) {
            let (name, how) = match rest.strip_suffix(" twice") {
                Some(name) => (name, " twice"),
                None => (rest, ""),
            };
            let name = names.known(name)?;
            return Some((format!("{name} is pressed{how}"), format!("when the {name} is pressed{how}")));
        }
    }
    // "the temperature in the bedroom goes above 25"
    for way in [
        " goes above ",
        " rises above ",
        " is above ",
        " is over ",
        " goes below ",
        " falls below ",
        " drops below ",
        " is below ",
        " is under ",
    ] {
        let Some((name, limit)) = cause.split_once(way) else { continue };
        // What else follows the number, such as "and the window is closed", is not understood.
        if text_kit::measure(limit).is_err() {
            return None;
        }
        let turned =
            name.trim_start_matches("the ").split_once(" in the ").map(|(what, room)| format!("{room} {what}"));
        let name = match &turned {
            Some(turned) => names.known(turned).or_else(|| names.known(name)),
            None => names.known(name),
        }?;
        return Some((format!("{name}{way}{limit}"), format!("when the {name}{way}{limit}")));
    }
    for does in [
        " is pressed twice",
        " is pressed long",
        " is pressed",
        " rings",
        " turns on",
        " turns off",
        " goes on",
        " goes off",
        " opens",
        " is opened",
        " closes",
        " is closed",
    ] {
        if let Some(name) = cause.strip_suffix(does).and_then(|name| names.known(name)) {
            return Some((format!("{name}{does}"), format!("when the {name}{does}")));
        }
    }
    None
}

/// The words of an action for `create_rule`, and for people.
fn action_of(action: &str, cause: &str, names: &Names) -> Option<(Value, String)> {
    if ["tell me", "let me know", "notify me", "message me"].contains(&action) {
        let happened = text_kit::capitalized(cause.strip_prefix("when ").unwrap_or(cause));
        return Some((json!({"type": "message", "message": format!("{happened}.")}), "tell you".to_owned()));
    }
    for lead in ["tell me that ", "tell me ", "remind me to "] {
        if let Some(message) = action.strip_prefix(lead) {
            return Some((json!({"type": "message", "message": message}), format!("tell you “{message}”")));
        }
    }
    let (what, lasting) = match action.rsplit_once(" for ") {
        Some((what, span)) if is_span(span) => (what, format!(" for {span}")),
        _ => (action, String::new()),
    };
    // "Open the meeting": what is opened is a thing only where it is here.
    let verbs = ["turn on ", "turn off ", "switch on ", "switch off ", "toggle ", "open ", "close "];
    for verb in &verbs[..verbs.len() - if names.strangers.is_some() { 2 } else { 0 }] {
        if let Some(name) = what.strip_prefix(verb).and_then(|name| names.known(name)) {
            let text = format!("{verb}the {name}{lasting}");
            return Some((json!(text), text));
        }
    }
    let (name, state) = what.strip_prefix("turn ").or_else(|| what.strip_prefix("switch "))?.rsplit_once(' ')?;
    let name = names.known(name).filter(|_| ["on", "off"].contains(&state))?;
    let text = format!("turn {state} the {name}{lasting}");
    Some((json!(text), text))
}

/// "5 minutes", "an hour".
fn is_span(span: &str) -> bool {
    let Some((count, unit)) = span.split_once(' ') else { return false };
    let number = count.parse::<u32>().is_ok() || ["a", "an", "half"].contains(&count);
    let unit = unit.trim_start_matches("an ").trim_end_matches('s');
    number && ["second", "minute", "hour", "sec", "min"].contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let here = ["bell", "hall lamp", "porch light", "fan", "front door", "bedroom temperature"];
        Names { here: here.map(str::to_owned).into(), strangers: None }
    }

    #[test]
    fn sentences_become_rules() {
        for (text, trigger, conditions, action) in [
            (
                "when the bell is pressed, turn on the hall lamp for 5 minutes",
                "bell is pressed",
                json!(null),
                json!("turn on the hall lamp for 5 minutes"),
            ),
            (
                "If the temperature in the bedroom goes above 25, turn on the fan.",
                "bedroom temperature goes above 25",
                json!(null),
                json!("turn on the fan"),
            ),
            ("at sunset turn on the porch light", "sunset once", json!(null), json!("turn on the porch light")),
            ("turn the porch light on at sunset", "sunset once", json!(null), json!("turn on the porch light")),
            (
                "every evening at sunset, turn on the porch light",
                "sunset",
                json!(null),
                json!("turn on the porch light"),
            ),
            (
                "turn on the porch light tonight at sunset",
                "sunset today",
                json!(null),
                json!("turn on the porch light"),
            ),
            (
                "15 minutes before sunset, turn on the porch light",
                "15 minutes before sunset once",
                json!(null),
                json!("turn on the porch light"),
            ),
            (
                "whenever the bell is pressed twice, toggle the fan unless it is dark",
                "bell is pressed twice",
                json!(["unless it is dark"]),
                json!("toggle the fan"),
            ),
            (
                "turn on the hall lamp when the front door opens",
                "front door opens",
                json!(null),
                json!("turn on the hall lamp"),
            ),
        ] {
            let (made, _) = read(text, &names()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (&made["triggers"][0], &made["conditions"], &made["actions"][0]),
                (&json!(trigger), &conditions, &action),
                "{text}"
            );
        }
        let (made, sentence) = read("when somebody opens the front door after 10 pm, tell me", &names()).unwrap();
        assert_eq!((&made["triggers"], &made["conditions"]), (&json!(["front door opens"]), &json!(["after 10 pm"])));
        assert_eq!(sentence, "when the front door opens, tell you, if it is after 10 pm");
    }

    #[test]
    fn a_limit_has_the_units_that_rules_know() {
        let sentence = |limit: &str| format!("if the bedroom temperature goes above {limit}, turn on the fan");
        for limit in ["25", "25 °C", "60%", "-3.5 degrees", "230 mV", "80 dB", "3 litres", "12 µg/m³", "50 mph"] {
            let (made, _) = read(&sentence(limit), &names()).unwrap_or_else(|| panic!("{limit}"));
            let limit = limit.to_lowercase();
            assert_eq!(made["triggers"][0], format!("bedroom temperature goes above {limit}"));
        }
        for limit in ["25 and the window is closed", "25 at night", "77 fahrenheit", "warm"] {
            assert_eq!(read(&sentence(limit), &names()), None, "{limit}");
        }
    }

    #[test]
    fn other_sentences_are_left_alone() {
        for text in [
            "when is the bell pressed?",
            "when the delivery arrives, tell me",
            "turn on the hall lamp",
            "turn on the hall lamp at 7",
            "if it rains, take the umbrella",
            "when the bell is pressed, order a pizza",
            "when the gate opens, turn on the hall lamp",
            "remind me at sunset to water the plants",
            "if the temperature in the attic goes above 25, turn on the fan",
        ] {
            assert_eq!(read(text, &names()), None, "{text}");
        }
    }

    #[test]
    fn a_rule_about_what_is_not_here_says_what_is_missing() {
        let devices = [Device { pin: 17, name: "Hall lamp".into(), sensor: false }];
        let said = |text: &str, is_placed: bool| {
            let is_here = |name: &str| name == "gate";
            let placed = of_strangers(&Sentence::read(text), &devices, &is_here, is_placed);
            placed.map(|placed| placed.say.unwrap_or_default()).unwrap_or_default()
        };
        for (text, start) in [
            (
                "when the bell is pressed twice, turn on the hall lamp for 5 minutes",
                "I have nothing called “bell”, so I made no rule.",
            ),
            ("When the bell is pressed, turn on the desk lamp", "I have nothing called “bell” or “desk lamp”, so"),
            ("Turn on the porch lamp at sunset", "I have nothing called “porch lamp”, so I made no rule."),
            ("turn the porch lamp on when the hall lamp turns on", "I have nothing called “porch lamp”"),
        ] {
            assert!(said(text, true).starts_with(start), "{text}: {}", said(text, true));
            assert!(!said(text, true).contains("latitude"), "{text}");
        }
        let nowhere = said("every evening at sunset, turn on the porch lamp", false);
        assert!(nowhere.contains("`latitude` and `longitude` in hob.toml"), "{nowhere}");
        for text in [
            "when the gate opens, turn on the hall lamp",
            "when the shop opens, remind me to buy bread",
            "when the meeting starts, turn on the hall lamp",
            "when dinner is closed, turn on the hall lamp",
            "when the bell rings, open the meeting",
            "turn on the porch lamp",
            "turn on the charm at the party",
            "when the bell is pressed twice?",
        ] {
            assert_eq!(said(text, true), "", "{text}");
        }
    }
}
