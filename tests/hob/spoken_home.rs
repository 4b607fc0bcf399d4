//! What people say to a home, typed and spoken: the same sentences act on the same pins by chat and by the voice door.

use crate::{
    harness::{Hob, Setup, until},
    voice::{Client, with_voice},
};
use serde_json::{Value, json};

const LAMPS: [(u8, &str, &str); 3] =
    [(17, "hall lamp", "Hall"), (22, "kitchen lamp", "Kitchen"), (23, "bedroom lamp", "Bedroom")];

/// A house with two floors and a garage door.
fn furnish(hob: &Hob) {
    for (area, floor) in [("Hall", "Downstairs"), ("Kitchen", "Downstairs"), ("Bedroom", "Upstairs")] {
        hob.result("update_area", json!({"area": area, "parent": floor}));
    }
    for (pin, name, area) in LAMPS {
        hob.result("name_pin", json!({"pin": pin, "name": name}));
        hob.result("update_thing", json!({"thing": format!("pin:{pin}"), "area": area}));
    }
    hob.result("name_pin", json!({"pin": 27, "name": "garage door"}));
}

fn high(hob: &Hob, pin: u8) -> bool {
    hob.result("gpio_read", json!({"pin": pin}))["high"] == true
}

fn all_on(hob: &Hob) {
    for (pin, ..) in LAMPS {
        hob.result("gpio_write", json!({"pin": pin, "high": true}));
    }
}

/// The sentences, said by `say`, which returns the answer.
fn acts(hob: &Hob, mut say: impl FnMut(&str) -> String) {
    let told = say("turn on the hall lamp for 5 minutes");
    assert!(told.contains("hall lamp") || told.contains("Hall lamp"), "{told}");
    assert!(told.contains("5 minutes") && high(hob, 17), "{told}");
    hob.result("gpio_write", json!({"pin": 17, "high": false}));
    let told = say("turn on the hall lamp for 2 seconds");
    assert!(high(hob, 17) || told.contains("2 seconds"), "{told}");
    until("it is off again by itself", || !high(hob, 17));

    all_on(hob);
    let told = say("turn off everything downstairs");
    assert_eq!(LAMPS.map(|(pin, ..)| high(hob, pin)), [false, false, true], "{told}");
    all_on(hob);
    let told = say("everything off downstairs");
    assert_eq!(LAMPS.map(|(pin, ..)| high(hob, pin)), [false, false, true], "{told}");
    all_on(hob);
    let told = say("turn everything off");
    assert_eq!(LAMPS.map(|(pin, ..)| high(hob, pin)), [false; 3], "{told}");
    assert!(!high(hob, 27));

    let told = say("dim the desk lamp to 30 %");
    let map = hob.result("pin_map", json!({}));
    let desk = map["pins"].as_array().unwrap().iter().find(|one| one["pin"] == 18).unwrap();
    assert_eq!(desk["pwm"], json!({"hertz": 1000.0, "percent": 30.0}), "{told}");
    let told = say("turn the desk lamp off");
    assert!(!high(hob, 18), "{told}");
}

/// A lamp behind a transistor, which is dimmed.
fn add_desk_lamp(hob: &Hob) {
    hob.result("name_pin", json!({"pin": 18, "name": "desk lamp"}));
    hob.result("configure_pin", json!({"pin": 18, "pwm_hertz": 1000}));
    hob.result("update_thing", json!({"thing": "pin:18", "area": "Bedroom"}));
}

#[test]
fn sentences_act_by_chat() {
    let hob = Hob::with(Setup {
        config: "[limits]\ncalls = 0\n[pins]\nswitches_per_second = 0\n".into(),
        ..Setup::default()
    });
    furnish(&hob);
    add_desk_lamp(&hob);
    acts(&hob, |text| hob.say(text)["response"].as_str().unwrap().to_owned());
}

#[test]
fn sentences_act_by_voice() {
    let hob = with_voice("[limits]\ncalls = 0\n[pins]\nswitches_per_second = 0\n");
    furnish(&hob);
    add_desk_lamp(&hob);
    hob.admin("PUT", "/api/v1/voice/clients/127.0.0.1").json(&json!({"status": "approved"})).send().data(200);
    let mut voice = Client::of(&hob);
    acts(&hob, |text| {
        let (handled, told) = voice.say(text);
        assert!(handled, "{text}: {told}");
        told
    });
}

#[test]
fn without_a_dimmed_pin_plain_pins_act_the_same() {
    let hob = Hob::start();
    furnish(&hob);
    all_on(&hob);
    let told = hob.say("everything off downstairs")["response"].clone();
    assert_eq!(LAMPS.map(|(pin, ..)| high(&hob, pin)), [false, false, true], "{told}");
    let told = hob.say("turn everything off")["response"].clone();
    assert_eq!(LAMPS.map(|(pin, ..)| high(&hob, pin)), [false; 3], "{told}");
    let told: Value = hob.say("turn on the hall lamp for 5 minutes")["response"].clone();
    assert!(high(&hob, 17) && told.as_str().unwrap().contains("5 minutes"), "{told}");
}

/// The sentences about rules in README.md, from a home where nothing has a name.
#[test]
fn a_rule_says_what_is_missing_and_is_made_once_it_is_there() {
    const PRESSED: &str = "when the bell is pressed twice, turn on the hall lamp for 5 minutes";
    const SUNSET: &str = "Turn on the porch lamp at sunset";
    let said = |hob: &Hob, text: &str| hob.say(text)["response"].as_str().unwrap().to_owned();
    let rules = |hob: &Hob| hob.result("list_rules", json!({}))["rules"].as_array().unwrap().len();
    // Says it, and yes to the question.
    let agreed = |hob: &Hob, text: &str| {
        let asked = hob.say(text);
        let yes = json!({"message": "yes", "conversationId": asked["conversationId"]});
        hob.post("/api/v1/chat", yes).data(200);
        asked["response"].as_str().unwrap().to_owned()
    };
    let hob = Hob::start();
    let answer = said(&hob, PRESSED);
    assert!(answer.starts_with("I have nothing called “bell” or “hall lamp”, so I made no rule."), "{answer}");
    said(&hob, "call pin 17 the hall lamp");
    let answer = said(&hob, PRESSED);
    assert!(answer.starts_with("I have nothing called “bell”, so I made no rule."), "{answer}");
    let answer = said(&hob, SUNSET);
    assert!(answer.contains("nothing called “porch lamp”") && answer.contains("latitude"), "{answer}");
    said(&hob, "call pin 4 the bell");
    let answer = agreed(&hob, PRESSED);
    assert!(
        answer.starts_with("Shall I make this a rule: when the bell is pressed twice, turn on the hall lamp"),
        "{answer}"
    );
    assert_eq!(rules(&hob), 1);
    said(&hob, "call pin 22 the porch lamp");
    let answer = said(&hob, SUNSET);
    assert!(answer.contains("latitude") && !answer.contains("nothing called"), "{answer}");
    assert_eq!(rules(&hob), 1);

    let config = "latitude = 47.07\nlongitude = 15.44\n".to_owned();
    let hob = Hob::with(Setup { config, ..Setup::default() });
    said(&hob, "call pin 22 the porch lamp");
    let answer = agreed(&hob, SUNSET);
    assert!(answer.contains("once") && answer.contains("sunset") && answer.contains("porch lamp"), "{answer}");
    assert_eq!(rules(&hob), 1);
}
