//! Pins: over HTTP, from the command line, in a sentence; and access control.

use crate::{
    harness::{Hob, Setup, until},
    hijack::make,
};
use serde_json::json;
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

#[test]
fn a_pin_is_driven_through_every_door_and_read_through_the_others() {
    let hob = Hob::start();
    assert_eq!(hob.result("gpio_read", json!({"pin": 17})), json!({"pin": 17, "high": false, "driven": false}));
    assert_eq!(
        hob.result("gpio_write", json!({"pin": 17, "high": true})),
        json!({"pin": 17, "high": true, "driven": true})
    );
    assert_eq!(hob.cli(&["chat", "is pin 17 on?"]).ok(), "Pin 17 is on.");
    let read = hob.cli(&["call", "gpio_read", r#"{"pin": 17}"#]).ok();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&read).unwrap()["high"], true);
    hob.cli(&["call", "gpio_write", r#"{"pin": 17, "high": false}"#]).ok();
    assert_eq!(hob.say("what's the state of pin 17?")["response"], "Pin 17 is off.");
    assert_eq!(hob.say("turn on pin 27")["response"], "Pin 27 is on.");
    let nested = json!({"tool_name": "gpio_write", "arguments": {"pin": 0, "high": true}});
    assert_eq!(hob.result("use_tool", nested)["high"], true);
    let all = hob.result("gpio_list", json!({}));
    let on: Vec<u64> = all["pins"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|p| p["high"] == true)
        .map(|p| p["pin"].as_u64().unwrap())
        .collect();
    assert_eq!((on, &all["driver"], all["pins"].as_array().unwrap().len()), (vec![0, 27], &json!("sim"), 28));
}

#[test]
fn a_change_is_told_to_whoever_listens() {
    let hob = Hob::start();
    let events = hob.admin("GET", "/api/v1/events").events();
    hob.result("gpio_write", json!({"pin": 9, "high": true}));
    let mut changes = events.filter(|(name, _)| name == "pin:changed");
    let (_, change) = changes.next().unwrap();
    assert_eq!(change["data"], json!({"pin": 9, "high": true}), "{change}");
}

#[test]
fn what_is_no_pin_is_refused_with_what_would_be_one() {
    let hob = Hob::start();
    for pin in [json!(28), json!(-1), json!(300), json!("17a"), json!(1.5), json!(null), json!([1]), json!(1e30)] {
        for (tool, arguments) in [("gpio_read", json!({"pin": pin})), ("gpio_write", json!({"pin": pin, "high": true}))]
        {
            let why = hob.call(tool, arguments).refusal(400, "bad_args");
            assert!(why.contains("pin"), "{pin}: {why}");
        }
    }
    let rows = [
        (json!({"pin": 4}), "high"),
        (json!({"pin": 4, "high": "maybe"}), "high"),
        (json!({"pin": 4, "high": true, "blink": 1}), "blink"),
    ];
    for (arguments, part) in rows {
        let why = hob.call("gpio_write", arguments).refusal(400, "bad_args");
        assert!(why.contains(part) && why.contains("It takes"), "{why}");
    }
    assert!(hob.say("turn on pin 28")["response"].as_str().unwrap().contains("pins go from 0 to 27"));
    let pins = hob.result("gpio_list", json!({}));
    assert!(pins["pins"].as_array().unwrap().iter().all(|p| p["driven"] == false), "{pins}");
}

#[test]
fn a_viewer_looks_and_a_member_acts() {
    let hob = Hob::start();
    let (viewer, member) = (hob.token("vera", "viewer"), hob.token("mia", "member"));
    let call = |token: &str, tool: &str, arguments| {
        let path = format!("/api/v1/tools/{tool}/execute");
        hob.request("POST", &path).bearer(token).json(&json!({"arguments": arguments})).send()
    };
    let write = json!({"pin": 4, "high": true});
    let nested = json!({"tool_name": "gpio_write", "arguments": write});
    call(&viewer, "gpio_read", json!({"pin": 4})).data(200);
    for (tool, arguments) in [("gpio_write", &write), ("use_tool", &nested)] {
        let why = call(&viewer, tool, arguments.clone()).refusal(403, "denied");
        assert!(why.contains("`gpio_write` needs the role"), "{why}");
    }
    let chat = json!({"message": "turn on pin 4"});
    let said = hob.request("POST", "/api/v1/chat").bearer(&viewer).json(&chat).send().data(200);
    assert!(said["response"].as_str().unwrap().contains("Ask an admin"), "{said}");
    assert_eq!(hob.result("gpio_read", json!({"pin": 4}))["driven"], false);
    assert_eq!(call(&member, "gpio_write", write).data(200)["result"]["high"], true);
}

#[test]
fn without_a_board_the_tools_say_so() {
    let arguments = ["--board", "none", "--listen", "127.0.0.1:0"].map(str::to_owned).into();
    let hob = Hob::with(Setup { arguments, ..Setup::default() });
    let why = hob.call("gpio_write", json!({"pin": 4, "high": true})).refusal(409, "unavailable");
    assert!(why.contains("pins cannot be used here"), "{why}");
    assert!(hob.say("turn on pin 4")["response"].as_str().unwrap().contains("Pins cannot be used here"));
}

const FREE: &str = "[limits]\ncalls = 0\n";

/// Switches pin 4 on and off, as often as it may be; answers how often it was, and the last refusal.
fn flicker(hob: &Hob, times: usize) -> (usize, String) {
    let (mut switched, mut why) = (0, String::new());
    for n in 0..times {
        let reply = hob.call("gpio_write", json!({"pin": 4, "high": n % 2 == 0}));
        match reply.status {
            200 => switched += 1,
            _ => why = reply.refusal(429, "rate_limited"),
        }
    }
    (switched, why)
}

#[test]
fn a_pin_is_not_switched_faster_than_what_hangs_on_it_can_bear() {
    let mut hob = Hob::with(Setup { config: FREE.into(), ..Setup::default() });
    let (began, mut changes) = (Instant::now(), 0);
    let mut why = String::new();
    for n in 0..100 {
        let high = n % 2 == 0;
        let before = hob.result("gpio_read", json!({"pin": 4}))["high"] == true;
        match hob.call("gpio_write", json!({"pin": 4, "high": high})) {
            reply if reply.status == 200 => changes += usize::from(before != high),
            reply => why = reply.refusal(429, "rate_limited"),
        }
    }
    let most = 14 + 4 * (began.elapsed().as_secs() as usize + 1);
    assert!((12..=most).contains(&changes), "{changes} changes, {most} at most");
    assert!(why.contains("pin 4 is switched too often") && why.ends_with("try again in 1 s"), "{why}");
    assert_eq!(hob.result("gpio_read", json!({"pin": 4}))["high"], false, "off is never refused");
    // Another pin is another matter, and after the time that was told so is this one.
    hob.result("gpio_write", json!({"pin": 5, "high": true}));
    sleep(Duration::from_millis(1100));
    hob.result("gpio_write", json!({"pin": 4, "high": true}));
    hob.assert_alive();
}

#[test]
fn how_fast_pins_may_be_switched_is_configured() {
    let rate = |text: &str| Setup { config: format!("{FREE}[pins]\n{text}"), ..Setup::default() };
    let hob = Hob::with(rate("switches_per_second = 0\n"));
    assert_eq!(flicker(&hob, 60), (60, String::new()));
    let hob = Hob::with(rate("switches_per_second = 1\nburst = 2\n"));
    let (switched, why) = flicker(&hob, 8);
    assert!((2..=6).contains(&switched) && why.contains("1 times a second"), "{switched}: {why}");
    // Every way to the pin is held to the same.
    let hob = Hob::with(rate("switches_per_second = 1\nburst = 1\n"));
    make(&hob, "flash", "return await utils.callTool('gpio_write', {pin: 4, high: true});", &[]);
    assert_eq!(flicker(&hob, 2).0, 2);
    assert!(hob.say("turn on pin 4")["response"].as_str().unwrap().contains("too often"));
    let flashed = hob.call("flash", json!({})).text();
    assert!(flashed.contains("too often"), "{flashed}");
    // What is refused to a schedule is done as soon as it may be.
    let hob = Hob::with(rate("switches_per_second = 1\nburst = 1\n"));
    assert_eq!(flicker(&hob, 2).0, 2);
    let lamp =
        json!({"name": "Lamp", "schedule": "in 1 second", "tool": "gpio_write", "arguments": {"pin": 4, "high": true}});
    hob.result("create_scheduled_task", lamp);
    let history = || hob.result("get_task_history", json!({"taskId": "Lamp"})).to_string();
    until("it is refused", || history().contains("too often"));
    until("the lamp is on", || hob.result("gpio_read", json!({"pin": 4}))["high"] == true);
}
