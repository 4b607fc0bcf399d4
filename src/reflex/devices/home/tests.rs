//! Sentences about the demo home, and what may never follow from one.

use super::{super::super::tests::reflex, after, classified};
use crate::{
    classification::{Classification, Stage},
    sentence::Sentence,
    talkback::exchange::{Call, Exchange},
};
use jiff::Zoned;
use serde_json::{Value, json};
use std::sync::Arc;
use things::{Home, Things};

#[path = "../../../things/demo.rs"]
#[allow(dead_code)]
mod demo;

fn now() -> Zoned {
    "2026-11-23T09:00[Europe/Vienna]".parse().unwrap()
}

fn home() -> Arc<Home> {
    let things = Things::default();
    things.add(demo::DemoSource::new(demo::home()));
    things.home()
}

/// "turn_on demo:hall_lamp", "list light active", or what is said.
fn shown(placed: Option<Classification>) -> String {
    let Some(placed) = placed else { return "-".to_owned() };
    let one = |tool: &str, args: &Value| {
        let args = if tool == "create_scheduled_task" {
            format!(
                "{} {} {}",
                args["schedule"].as_str().unwrap(),
                args["arguments"]["action"].as_str().unwrap(),
                target(&args["arguments"])
            )
        } else {
            let action =
                args["action"].as_str().map_or_else(|| tool.trim_end_matches("_thing").to_owned(), str::to_owned);
            format!("{action} {}", target(args))
        };
        args.trim().to_owned()
    };
    match &placed.tool {
        Some(tool) => {
            let more = placed.more.iter().map(|(tool, args)| one(tool, args));
            std::iter::once(one(tool, &placed.arguments)).chain(more).collect::<Vec<_>>().join("; ")
        }
        None => format!("“{}”", placed.say.unwrap_or_default()),
    }
}

fn target(args: &Value) -> String {
    let parts =
        ["thing", "things", "area", "kind", "query", "active", "level", "by", "temperature", "text", "mute", "for"];
    let plain = |value: &Value| value.to_string().replace(['"', '[', ']'], "").replace("demo:", "");
    parts.iter().filter(|part| !args[**part].is_null()).map(|part| plain(&args[*part])).collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_control_the_demo_home() {
    let home = home();
    for (text, wanted) in [
        ("turn on the hall lamp", "turn_on hall_lamp"),
        ("turn on the hall lmap please", "turn_on hall_lamp"),
        ("hall lamp on", "turn_on hall_lamp"),
        ("could you switch the reading light off", "turn_off sofa"),
        ("turn off the light in the kitchen", "turn_off Kitchen light"),
        ("turn the lights on upstairs", "turn_on Upstairs light"),
        ("all lights off", "turn_off light"),
        ("everything off downstairs", "turn_off Downstairs"),
        ("turn everything off", "turn_off everywhere"),
        ("turn off the kitchen", "turn_off Kitchen"),
        ("dim the kitchen to 30 %", "set_level Kitchen light 30"),
        ("dim the sofa lamp", "set_level sofa -20"),
        ("set the living room to 21", "set_temperature living_climate 21"),
        ("set the bedroom radiator to 19.5 degrees", "set_temperature bedroom_climate 19.5"),
        ("make it warmer in the living room", "set_temperature living_climate 1"),
        ("close all blinds", "close kitchen_blind"),
        ("close the curtains", "close curtain_left,curtain_right"),
        ("open the garage door", "open garage_door"),
        ("open the curtain left to 40%", "set_level curtain_left 40"),
        ("lock the front door", "lock front_door"),
        ("unlock the front door", "unlock front_door"),
        ("play in the kitchen", "play radio"),
        ("pause the tv", "pause tv"),
        ("next song on the tv", "next tv"),
        ("set the volume of the tv to 40", "set_level tv 40"),
        ("turn the tv up", "-"),
        ("turn on the hall lamp for 5 minutes", "turn_on hall_lamp PT5M"),
        ("turn on the hall lamp at 19:30", "2026-11-23T19:30:00 turn_on hall_lamp"),
        ("hall lamp on every day at 7", "0 7 * * * turn_on hall_lamp"),
        ("turn the bedroom lamp red", "set_color bedroom_lamp red"),
        ("activate movie night", "turn_on movie"),
        ("start rover", "turn_on rover"),
        ("send rover back to its base", "return rover"),
        ("turn on the ceiling fan and the desk lamp", "turn_on bedroom_fan,office_lamp"),
        ("each and every light off", "turn_off light"),
        ("illuminate all of our rooms", "turn_on light"),
        ("lift the kitchen blind", "open kitchen_blind"),
        ("could the lights in the kitchen be turned off?", "turn_off Kitchen light"),
        ("lower the lights in the kitchen", "set_level Kitchen light -20"),
        ("turn the living room up to 40 %", "set_level tv 40"),
        ("increase the volume of the kitchen radio to ninety", "set_level radio 90"),
        ("bedroom lamp 25 brightness", "set_level bedroom_lamp 25"),
        ("change the desk lamp from red to blue", "set_color office_lamp blue"),
        ("the sofa lamp", "turn_on sofa"),
        ("start the robot vacuum", "turn_on rover"),
        ("make coffee", "turn_on coffee"),
        ("the thermostat off", "turn_off living_climate"),
        ("turn off the lights in my area", "“I can't tell which room you are in: say its name.”"),
        ("close the curtain", "“Which one: Curtain left or Curtain right?”"),
        ("pause", "“Which one: Kitchen radio or TV?”"),
        ("turn on the lights in here", "“I can't tell which room you are in: say its name.”"),
        ("turn on the garage motion", "“I can only read Garage motion: it is a sensor.”"),
    ] {
        assert_eq!(shown(classified(&Sentence::read(text), &home, None, &now())), wanted, "{text}");
    }
    let sun = shown(classified(&Sentence::read("turn on the hall lamp at sunset until midnight"), &home, None, &now()));
    assert!(sun.contains("By the sun"), "{sun}");
}

#[test]
fn a_scale_that_is_said_is_passed_on() {
    let american = Things::default();
    let mut all = demo::home();
    for thing in all.iter_mut().filter(|thing| thing.kind == things::Kind::Climate) {
        thing.state.unit = Some("°F".to_owned());
    }
    american.add(demo::DemoSource::new(all));
    for (home, text, wanted) in [
        (home(), "set the living room to 70 fahrenheit", json!({"temperature": 70, "unit": "fahrenheit"})),
        (home(), "set the living room to 70 degrees Fahrenheit", json!({"temperature": 70, "unit": "fahrenheit"})),
        (home(), "set the living room thermostat to 70 °F", json!({"temperature": 70, "unit": "fahrenheit"})),
        (home(), "set the living room to 70 F", json!({"temperature": 70, "unit": "fahrenheit"})),
        (home(), "set the living room to 21 degrees", json!({"temperature": 21})),
        (
            home(),
            "raise the temperature in the living room by 3 degrees fahrenheit",
            json!({"by": 3, "unit": "fahrenheit"}),
        ),
        (american.home(), "set the living room to 21 celsius", json!({"temperature": 21, "unit": "celsius"})),
        (american.home(), "set the living room to 70", json!({"temperature": 70})),
    ] {
        let placed = classified(&Sentence::read(text), &home, None, &now()).unwrap_or_else(|| panic!("{text}"));
        let mut got = placed.arguments.clone();
        assert_eq!(got["action"], "set_temperature", "{text}: {placed:?}");
        got.as_object_mut().unwrap().retain(|name, _| ["temperature", "unit", "by"].contains(&name.as_str()));
        assert_eq!(got, wanted, "{text}");
    }
}

#[test]
fn sentences_with_the_sun_become_rules() {
    let home = home();
    for (text, event, offset, day, action, asked) in [
        (
            "turn on the hall lamp at sunset",
            "sunset",
            0,
            "next",
            json!({"thing": "demo:hall_lamp", "action": "turn_on"}),
            "do this once, at the next sunset: turn on the hall lamp?",
        ),
        (
            "turn on the hall lamp tonight at sunset",
            "sunset",
            0,
            "today",
            json!({"thing": "demo:hall_lamp", "action": "turn_on"}),
            "do this once, at sunset today: turn on the hall lamp?",
        ),
        (
            "turn on the hall lamp every evening at sunset",
            "sunset",
            0,
            "",
            json!({"thing": "demo:hall_lamp", "action": "turn_on"}),
            "make this a rule: every day at sunset, turn on the hall lamp?",
        ),
        (
            "half an hour before sunset, close all the blinds",
            "sunset",
            -30,
            "next",
            json!({"thing": "demo:kitchen_blind", "action": "close"}),
            "do this once, 30 minutes before the next sunset: close all the blinds?",
        ),
        (
            "turn off all lights every day 10 minutes after sunrise",
            "sunrise",
            10,
            "",
            json!({"kind": "light", "area": "everywhere", "action": "turn_off"}),
            "make this a rule: every day 10 minutes after sunrise, turn off all lights?",
        ),
        (
            "tomorrow at dawn dim the kitchen to 30 % for 5 minutes",
            "sunrise",
            0,
            "tomorrow",
            json!({"area": "Kitchen", "kind": "light", "action": "set_level", "level": 30, "for": "PT5M"}),
            "do this once, at sunrise tomorrow: dim the kitchen to 30 percent for 5 minutes?",
        ),
    ] {
        let placed = classified(&Sentence::read(text), &home, None, &now()).unwrap_or_else(|| panic!("{text}"));
        let (tool, rule) = placed.proposes.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(tool, "create_rule", "{text}");
        let mut trigger = json!({"type": "sun", "event": event, "offsetMinutes": offset});
        if !day.is_empty() {
            trigger["date"] = day.into();
        }
        assert_eq!(rule["triggers"], json!([trigger]), "{text}");
        let mut wanted = action;
        wanted["type"] = "thing".into();
        assert_eq!(rule["actions"], json!([wanted]), "{text}");
        let say = placed.say.unwrap_or_default();
        assert!(say.starts_with(&format!("Shall I {asked} Say yes or no.")), "{text}: {say}");
    }
    let which = shown(classified(&Sentence::read("close the curtain at sunset"), &home, None, &now()));
    assert!(which.starts_with("“Which one: Curtain left"), "{which}");
    for text in [
        "unlock your potential at sunset",
        "watch the sunset",
        "the lights are pretty at sunset",
        "how hot is it at dawn",
    ] {
        let placed = classified(&Sentence::read(text), &home, None, &now());
        assert!(placed.is_none(), "{text}: {placed:?}");
    }
}

#[test]
fn sentences_ask_about_the_demo_home() {
    let home = home();
    for (text, wanted) in [
        ("is the garage door open?", "get garage_door"),
        ("is the garage open?", "get garage_door"),
        ("is the hall lamp on", "get hall_lamp"),
        ("is the front door locked?", "get front_door"),
        ("what's the temperature in the bedroom?", "get bedroom_temperature"),
        ("how warm is it in the living room?", "get living_climate"),
        ("which lights are on?", "list_things light true"),
        ("which lights are not on?", "list_things light false"),
        ("are any curtains open in the living room?", "list_things Living room cover curtains true"),
        ("are all the lights off upstairs?", "list_things Upstairs light true"),
        ("tell me if there are any lights on", "list_things light true"),
        ("are any curtains closing", "list_things cover curtains"),
        ("all the curtains closed", "list_things cover curtains true"),
        ("what is the state of the tv?", "get tv"),
    ] {
        assert_eq!(shown(classified(&Sentence::read(text), &home, None, &now())), wanted, "{text}");
    }
}

#[test]
fn only_commands_act() {
    let home = home();
    for text in [
        "the cat is on the sofa lamp",
        "the front door is unlocked",
        "Ben always unlocks the front door",
        "do not unlock the front door",
        "never open the garage door",
        "don't turn on the hall lamp",
        "remind me to lock the front door",
        "if it rains close the curtains",
        "should I unlock the front door",
        "why is the front door locked",
        "I forgot to unlock the front door",
        "she said unlock the front door",
        "what happens if you open the garage door",
        "unlock your potential",
        "open a new tab",
        "play chess with me",
        "lock the date in the calendar",
        "turn off everything but the hall lamp",
        "the lights were on last night",
        "get off the sofa",
        "close the deal",
        "set a timer for 5 minutes",
        "next week I am in the kitchen",
        "pause the timer",
        "add lamp oil to the shopping list",
        "light a candle in the kitchen",
        "is it going to rain",
        "how hot is the sun",
        "set an alarm for 7",
        "when was the front door opened",
        "all the gates open",
        "is the garage door unlock",
        "make a note about the coffee",
        "start the day with coffee",
        "I want a timer set for 10 minutes",
        "tell me the value of my current car",
        "the front door unlock code is 1234",
    ] {
        let placed = classified(&Sentence::read(text), &home, None, &now());
        assert!(placed.as_ref().is_none_or(|placed| placed.tool.is_none()), "{text}: {placed:?}");
    }
}

#[test]
fn what_follows_goes_on() {
    let home = home();
    let said = |tool: &str, arguments: Value, content: Value, answered: &'static str, text: &str| {
        let arguments = arguments.as_object().unwrap().clone();
        let calls = vec![Call { tool: tool.into(), arguments, content, failed: false }];
        let exchange = Exchange { said: String::new(), answered, calls };
        shown(after(text, &[exchange], &home, &now()))
    };
    let lamp = |text: &str| {
        let call = json!({"thing": "demo:hall_lamp", "action": "turn_on"});
        said("control_thing", call, json!({"thing": "demo:hall_lamp", "name": "Hall lamp"}), "Hall lamp is on.", text)
    };
    assert_eq!(lamp("a bit brighter"), "set_level hall_lamp 20");
    assert_eq!(lamp("turn it off again"), "turn_off hall_lamp");
    assert_eq!(lamp("is it still on?"), "get hall_lamp");
    assert_eq!(lamp("make it red"), "set_color hall_lamp red");
    assert_eq!(lamp("unlock it"), "-");
    assert_eq!(lamp("what's the weather"), "-");
    let asked = Exchange {
        said: "close the curtain".into(),
        answered: "Which one: Curtain left or Curtain right?",
        calls: vec![],
    };
    assert_eq!(shown(after("the left one", &[asked], &home, &now())), "close curtain_left");
}

#[tokio::test]
async fn the_home_goes_before_what_is_said_otherwise() {
    let home = home();
    let reflex = reflex().at_home(move || home.clone());
    for (text, tool) in [
        ("turn on the hall lamp", "control_thing"),
        ("is the garage open?", "get_thing"),
        ("which lights are on?", "list_things"),
        ("turn on pin 17", "gpio_write"),
        ("set a timer for 5 minutes", "set_timer"),
        ("add milk to the shopping list", "add_task"),
    ] {
        let placed = reflex.place(text).await;
        assert_eq!(placed.tool.as_deref(), Some(tool), "{text}: {placed:?}");
        assert_ne!(placed.stage, Stage::Unknown);
    }
}
