//! Rules when much happens at once: two hundred that one edge starts, and a pin that flaps while others are pressed.

use crate::{
    harness::{Hob, until},
    pins_home::{Home, resident},
};
use serde_json::{Value, json};

const FAST: &str = "[pins]\nswitches_per_second = 0\n";
const RULES: u64 = 200;

/// All rules, by `list_rules`.
fn rules(hob: &Hob) -> Vec<Value> {
    let page = |offset: u64| hob.result("list_rules", json!({"limit": 50, "offset": offset}))["rules"].clone();
    (0..RULES).step_by(50).flat_map(|offset| page(offset).as_array().unwrap().clone()).collect()
}

/// The runs of all rules, the failed ones, and those that go on or wait.
fn runs(hob: &Hob) -> (Vec<u64>, u64, u64) {
    let all = rules(hob);
    let count = |rule: &Value, field: &str| rule[field].as_u64().unwrap();
    let fired: Vec<u64> = all.iter().map(|rule| count(rule, "fired")).collect();
    let open = all.iter().map(|rule| count(rule, "running") + count(rule, "waiting")).sum();
    (fired, all.iter().map(|rule| count(rule, "failures")).sum(), open)
}

#[test]
fn two_hundred_rules_run_at_one_edge_and_none_is_lost_or_doubled() {
    let mut home = Home::with(FAST);
    for n in 0..RULES {
        let act = json!({"type": "tool", "tool": "set_state", "arguments": {"key": format!("n{n}"), "value": n}});
        let rule = json!({"name": format!("Rule {n}"), "triggers": [{"type": "pin", "pin": 4, "edge": "rising"}],
                          "actions": [act], "mode": "queued"});
        home.hob.result("create_rule", rule);
    }
    let mut before = 0;
    // A tool takes 600 calls a minute.
    for round in 1..=3 {
        home.simulate("high 4\nwait 100\nlow 4");
        until("all have run", || {
            let (fired, failed, open) = runs(&home.hob);
            assert!(failed == 0 && fired.iter().all(|runs| *runs <= round), "{failed} failed: {fired:?}");
            open == 0 && fired == vec![round; RULES as usize]
        });
        assert_eq!(home.hob.result("get_state", json!({"key": "n199"}))["value"], 199);
        if round == 1 {
            before = resident(&home.hob);
        }
    }
    let grown = resident(&home.hob).saturating_sub(before);
    assert!(grown < 16_000, "{grown} KB more after 400 runs");
    home.hob.assert_alive();
}

#[test]
fn while_a_pin_flaps_no_edge_of_another_is_lost() {
    let mut home =
        Home::with("[pins]\nswitches_per_second = 0\n[pins.loose]\npin = 5\ndirection = \"input\"\ndebounce_ms = 0\n");
    let rule = |name: &str, trigger: Value, pin: u8| {
        let act = json!({"type": "pin", "pin": pin, "toggle": true});
        json!({"name": name, "triggers": [trigger], "actions": [act], "mode": "queued", "max": 50, "maxPerHour": 36_000})
    };
    for n in 0..20 {
        home.hob
            .result("create_rule", rule(&format!("Flap {n}"), json!({"type": "pin", "pin": 5, "edge": "both"}), 20));
    }
    home.hob.result("create_rule", rule("Bell", json!({"type": "pin", "pin": 6, "edge": "rising"}), 17));
    let fired =
        |home: &Home, name: &str| home.hob.result("get_rule", json!({"ruleId": name}))["fired"].as_u64().unwrap();
    home.simulate("flap 5 10000 500");
    until("it flaps", || fired(&home, "Flap 0") > 3);
    let before = resident(&home.hob);
    home.simulate("flap 5 10000 5000\nhigh 12");
    let mut pressed = 0;
    while !home.is_on(12) {
        for high in [true, false] {
            home.hob.result("gpio_write", json!({"pin": 6, "high": high}));
        }
        pressed += 1;
    }
    assert!(pressed > 2, "others were served {pressed} times only");
    until("each press has run", || fired(&home, "Bell") == pressed);
    until("nothing is stuck", || {
        (0..20).all(|n| {
            let rule = home.hob.result("get_rule", json!({"ruleId": format!("Flap {n}")}));
            (&rule["running"], &rule["waiting"]) == (&json!(0), &json!(0))
        })
    });
    let grown = resident(&home.hob).saturating_sub(before);
    assert!(grown < 16_000, "{grown} KB more");
    home.hob.assert_alive();
}

#[test]
fn the_first_edge_after_a_rule_was_made_starts_it() {
    let home = Home::with(FAST);
    // Pins that are neither pulled up nor those of a bus, which are only read now and then.
    for pin in [12, 13, 16, 19, 20] {
        let rule = json!({"name": format!("Try {pin}"), "triggers": [{"type": "pin", "pin": pin, "edge": "rising"}],
                          "actions": [{"type": "pin", "pin": 17, "toggle": true}], "mode": "queued"});
        let id = home.hob.result("create_rule", rule)["id"].clone();
        home.simulate(&format!("press {pin} 30"));
        until("it has run", || home.hob.result("get_rule", json!({"ruleId": id}))["fired"] == 1);
    }
}
