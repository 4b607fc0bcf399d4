//! First sentences about a home of three named pins, and about none.

use super::{super::as_thing, Device, classified};
use crate::sentence::Sentence;
use serde_json::json;
use std::sync::Arc;
use things::{Address, Command, Home, Kind, PlannedCall, Source, State, Thing, Things};
use tool::{Error, Result};

struct Pins;

impl Source for Pins {
    fn id(&self) -> &'static str {
        "pin"
    }
    fn things(&self) -> Arc<[Thing]> {
        let thing = |(pin, name): (u8, &str)| Thing {
            address: Address::new("pin", pin),
            name: name.into(),
            aliases: vec![],
            area: String::new(),
            kind: Kind::Light,
            verbs: vec![],
            state: State::default(),
            guarded: false,
            class: String::new(),
        };
        [(17, "Hall lamp"), (6, "Porch lamp"), (22, "Garage door")].map(thing).into()
    }
    fn plan(&self, _: &Thing, _: &Command) -> Result<PlannedCall> {
        Err(Error::bad_args("not here"))
    }
}

fn said(text: &str, home: Option<&Home>) -> String {
    let devices: Vec<Device> = [(17, "Hall lamp"), (6, "Porch lamp")]
        .map(|(pin, name)| Device { pin, name: name.into(), sensor: false })
        .into();
    match classified(&Sentence::read(text), &devices, home, &|_| true) {
        None => "-".to_owned(),
        Some(placed) => match placed.tool {
            Some(tool) => format!("{tool} {}", placed.arguments),
            None => placed.say.unwrap(),
        },
    }
}

#[test]
fn first_sentences_are_understood() {
    let things = Things::default();
    things.add(Arc::new(Pins));
    let home = things.home();
    for (text, wanted) in [
        ("pin 22 is the garage door", r#"name_pin {"name":"garage door","pin":22}"#),
        ("Pin 4 is my Bell Button.", r#"name_pin {"name":"Bell Button","pin":4,"sensor":true}"#),
        ("pin 5 is called pump", r#"name_pin {"name":"pump","pin":5}"#),
        ("rename the hall lamp to Big Lamp", r#"update_thing {"name":"Big Lamp","thing":"pin:17"}"#),
        ("put the hall lamp in the hall", r#"update_thing {"area":"hall","thing":"pin:17"}"#),
        ("what can you switch?", "list_things {}"),
        ("what devices are there", "list_things {}"),
        ("which devices do you know?", "list_things {}"),
        ("why did the porch lamp go on?", r#"rule_log {"thing":"pin:6"}"#),
        ("why is the porch lamp on", r#"rule_log {"thing":"pin:6"}"#),
        ("what are my rules", "list_rules {}"),
        ("show me all rules", "list_rules {}"),
        ("never turn on pin 5 and pin 6 together", "I can see to that"),
        ("don't let the hall lamp and the porch lamp run at the same time", "I can see to that"),
        ("connect home assistant", "That is done on the page"),
        ("how do I connect Home Assistant?", "That is done on the page"),
        // Others say these better, or nobody should act.
        ("pin 22 is on", "-"),
        ("pin 22 is the problem", "-"),
        ("is pin 22 the garage door?", "-"),
        ("which devices are on", "-"),
        ("put the hall lamp on the shopping list", "-"),
        ("put milk in the fridge", "-"),
        ("put the hall lamp in 5 minutes", "-"),
        ("rename the shopping list to groceries", "-"),
        ("why did the chicken go on the road", "-"),
        ("ask home assistant to dim the lights", "-"),
        ("turn on the hall lamp and the porch lamp together", "-"),
        ("delete all my rules", "-"),
    ] {
        let said = said(text, Some(&home));
        assert!(said == wanted || wanted.len() > 8 && said.starts_with(wanted), "{text}: {said}");
    }
    assert!(said("what devices are there", None).starts_with("I know of nothing yet"));
}

#[test]
fn by_voice_a_pin_is_a_thing() {
    for (call, wanted) in [
        (("gpio_read", json!({"pin": 4})), ("get_thing", json!({"thing": "pin:4"}))),
        (
            ("gpio_write", json!({"pin": 17, "high": true, "for": "PT5M"})),
            ("control_thing", json!({"thing": "pin:17", "action": "turn_on", "for": "PT5M"})),
        ),
        (
            ("gpio_write", json!({"pin": 17, "high": false})),
            ("control_thing", json!({"thing": "pin:17", "action": "turn_off"})),
        ),
        (("gpio_list", json!({})), ("list_things", json!({}))),
        (("add_task", json!({"title": "milk"})), ("add_task", json!({"title": "milk"}))),
    ] {
        let (tool, arguments) = as_thing((call.0.to_owned(), call.1));
        assert_eq!((tool.as_str(), arguments), wanted);
    }
}
