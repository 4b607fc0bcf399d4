//! Pins of a home on the simulated board: names and settings of hob.toml and of people, edges and presses, limits that hold
//! whoever calls, buses. What happens at the pins is written to a named pipe, which the configuration names as the scenario.

use crate::{
    harness::{Folder, Hob, Setup, until},
    hijack::make,
};
use serde_json::{Value, json};
use std::{fs::OpenOptions, io::Write, path::PathBuf, process::Command, thread};

/// A daemon with a pipe to its simulated board.
pub struct Home {
    pub hob: Hob,
    pipe: PathBuf,
}

impl Home {
    pub fn with(config: &str) -> Self {
        let folder = Folder::new();
        let pipe = folder.path("pins");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let config = format!("{config}\n[limits]\ncalls = 0\n[sim]\nscenario = {:?}\n", pipe.to_str().unwrap());
        let hob = Hob::over(folder, Setup { config, ..Setup::default() });
        Self { hob, pipe }
    }

    /// Makes something happen at the pins.
    pub fn simulate(&self, steps: &str) {
        let mut pipe = OpenOptions::new().write(true).open(&self.pipe).unwrap();
        pipe.write_all(format!("{steps}\n").as_bytes()).unwrap();
    }

    pub fn is_on(&self, pin: u8) -> bool {
        self.hob.result("gpio_read", json!({"pin": pin}))["high"] == true
    }

    /// A pin on the board's map.
    pub fn on_map(&self, pin: u8) -> Value {
        let map = self.hob.get("/api/v1/board").data(200);
        map["pins"].as_array().unwrap().iter().find(|one| one["pin"] == pin).unwrap().clone()
    }
}

const BELL: &str = "[pins]\nswitches_per_second = 0\n[pins.bell]\npin = 4\nkind = \"button\"\npull = \"up\"\n";

#[test]
fn a_button_tells_how_it_is_pressed_and_a_trigger_acts_at_once() {
    let home = Home::with(BELL);
    let lamp = json!({"name": "Light", "type": "event", "config": {"topic": "pin:changed", "match": {"pin": 4, "high": false}},
                      "tool": "gpio_write", "arguments": {"pin": 17, "high": true}, "cooldownSeconds": 0});
    home.hob.result("create_trigger", lamp);
    let events = home.hob.admin("GET", "/api/v1/events").events();
    home.simulate("press 4 60\nwait 700\npress 4 1200\nwait 700\npress 4 40\nwait 60\npress 4 40");
    let mut presses = events.filter(|(name, _)| name == "pin:press").map(|(_, event)| event["data"].clone());
    for kind in ["short", "long", "double"] {
        assert_eq!(presses.next().unwrap(), json!({"pin": 4, "kind": kind}));
    }
    until("the lamp is on", || home.is_on(17));
    let bell = home.on_map(4);
    assert_eq!((&bell["name"], &bell["kind"], &bell["watched"]), (&json!("bell"), &json!("button"), &json!(true)));
    assert!(bell["changes"]["reported"].as_u64().unwrap() >= 7, "{bell}");
    let why = home.hob.call("gpio_write", json!({"pin": 4, "high": true})).refusal(403, "denied");
    assert!(why.contains("pin 4 is an input"), "{why}");
}

#[test]
fn gpio_watch_waits_for_a_change_and_ends() {
    let home = Home::with("");
    let watch = |arguments: Value| {
        let path = "/api/v1/tools/gpio_watch/execute";
        let call = home.hob.admin("POST", path).json(&json!({"arguments": arguments}));
        thread::spawn(move || call.send().data(200)["result"].clone())
    };
    let waiting = watch(json!({"pin": 6, "edge": "rising", "seconds": 60}));
    // It may not wait yet when the first of them comes.
    until("it has seen one", || {
        home.simulate("low 6\nwait 10\nhigh 6\nwait 10");
        waiting.is_finished()
    });
    let found = waiting.join().unwrap();
    assert_eq!((&found["changed"], &found["high"]), (&json!(true), &json!(true)), "{found}");
    let found = watch(json!({"pin": 7, "seconds": 1})).join().unwrap();
    assert_eq!((&found["changed"], &found["high"]), (&json!(false), &json!(false)), "{found}");
    let why = home.hob.call("gpio_watch", json!({"pin": 7, "seconds": 0})).refusal(400, "bad_args");
    assert!(why.contains("seconds"), "{why}");
}

/// Resident memory of the daemon in KB.
pub fn resident(hob: &Hob) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hob.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_line_that_flaps_ten_thousand_times_a_second_costs_nobody_anything() {
    let mut home =
        Home::with("[pins]\nswitches_per_second = 0\n[pins.loose]\npin = 5\ndirection = \"input\"\ndebounce_ms = 0\n");
    let act = json!({"name": "Flap", "type": "event", "config": {"topic": "pin:changed", "match": {"pin": 5}},
                     "tool": "gpio_read", "arguments": {"pin": 5}, "cooldownSeconds": 0});
    home.hob.result("create_trigger", act);
    home.simulate("flap 5 10000 1000");
    let count = |home: &Home| home.on_map(5)["changes"]["coalesced"].as_u64().unwrap_or(0);
    until("it has flapped", || count(&home) > 2_000);
    let before = resident(&home.hob);
    home.simulate("flap 5 10000 4000\nhigh 6");
    let (mut switched, mut high) = (0, false);
    until("it has flapped for long", || {
        high = !high;
        home.hob.result("gpio_write", json!({"pin": 17, "high": high}));
        switched += 1;
        home.is_on(6)
    });
    assert!(switched > 20, "others were served {switched} times only");
    let loose = home.on_map(5);
    let (reported, coalesced) =
        (loose["changes"]["reported"].as_u64().unwrap(), loose["changes"]["coalesced"].as_u64().unwrap());
    assert!(reported < 800 && coalesced > 20 * reported, "{loose}");
    let grown = resident(&home.hob).saturating_sub(before);
    assert!(grown < 16_000, "{grown} KB more");
    home.hob.assert_alive();
}

#[test]
fn the_longest_time_on_holds_and_a_restart_begins_with_the_boot_state() {
    let mut home = Home::with("[pins.pump]\npin = 22\nmax_on_seconds = 1\n[pins.valve]\npin = 23\nboot = \"on\"\n");
    assert!(home.is_on(23) && !home.is_on(22));
    let events = home.hob.admin("GET", "/api/v1/events").events();
    home.hob.result("gpio_write", json!({"pin": 22, "high": true}));
    let mut changes = events.filter(|(name, _)| name == "pin:changed").map(|(_, event)| event["data"].clone());
    assert_eq!(changes.next().unwrap(), json!({"pin": 22, "high": true}));
    assert_eq!(changes.next().unwrap(), json!({"pin": 22, "high": false}), "switched off by no call");
    assert!(!home.hob.result("gpio_read", json!({"pin": 22})).to_string().contains("\"high\":true"));
    home.hob.result("gpio_write", json!({"pin": 23, "high": false}));
    home.hob.kill();
    home.hob.start_again();
    assert!(home.is_on(23) && !home.is_on(22));
    home.hob.assert_alive();
}

#[test]
fn people_configure_pins_within_what_the_file_allows() {
    let config =
        "[pins]\nallow = [4, 5, 6, 17]\nbell = 4\n[pins.up]\npin = 5\ninterlock = \"shutter\"\nmax_on_seconds = 30\n";
    let mut home = Home::with(config);
    let hob = &home.hob;
    let set = |pin: u8, field: &str, value: Value| hob.call("configure_pin", json!({"pin": pin, field: value}));
    for (reply, kind, part) in [
        (set(18, "direction", json!("output")), (403, "denied"), "`pins.allow`"),
        (set(5, "max_on_seconds", json!(600)), (403, "denied"), "hob.toml sets `max_on_seconds` of pin 5"),
        (set(5, "interlock", json!("")), (403, "denied"), "hob.toml sets `interlock`"),
        (set(6, "max_on_seconds", json!(9_999_999)), (400, "bad_args"), "604800"),
        (set(6, "debounce_ms", json!(-1)), (400, "bad_args"), "debounce_ms"),
        (set(6, "pull", json!("sideways")), (400, "bad_args"), "pull"),
        (set(28, "pull", json!("up")), (400, "bad_args"), "pin"),
    ] {
        let why = reply.refusal(kind.0, kind.1);
        assert!(why.contains(part), "{why}");
    }
    let why = hob.call("gpio_write", json!({"pin": 18, "high": true})).refusal(403, "denied");
    assert!(why.contains("pin 18 may not be driven"), "{why}");
    let why = hob.call("name_pin", json!({"pin": 6, "name": "BELL"})).refusal(400, "bad_args");
    assert!(why.contains("pin 4 is called bell already"), "{why}");
    assert_eq!(hob.say("turn on pin 17")["response"], "Pin 17 is on.");

    // Two pins of a group are never both on.
    set(6, "interlock", json!("shutter")).data(200);
    hob.result("gpio_write", json!({"pin": 5, "high": true}));
    let why = hob.call("gpio_toggle", json!({"pin": 6})).refusal(403, "denied");
    assert!(why.contains("pin 5 is on") && why.contains("shutter"), "{why}");
    set(6, "interlock_switches", json!(true)).data(200);
    hob.result("gpio_toggle", json!({"pin": 6}));
    assert!(home.is_on(6) && !home.is_on(5));
    // Undone, it refuses again: the board follows the record.
    hob.result("undo", json!({}));
    assert!(!home.is_on(6), "the toggle is undone");
    hob.result("undo", json!({}));
    hob.result("gpio_write", json!({"pin": 5, "high": true}));
    let why = hob.call("gpio_write", json!({"pin": 6, "high": true})).refusal(403, "denied");
    assert!(why.contains("pin 5 is on"), "{why}");

    // A name of a person holds over that of the file, also after a restart.
    hob.result("name_pin", json!({"pin": 4, "name": "Front door bell"}));
    home.hob.kill();
    home.hob.start_again();
    assert_eq!(home.on_map(4)["name"], "Front door bell");
    assert_eq!((&home.on_map(5)["name"], &home.on_map(5)["maxOnSeconds"]), (&json!("up"), &json!(30)));
    assert_eq!(home.hob.say("turn on up")["response"], "Up is on.");
}

#[test]
fn settings_are_taken_back() {
    let home = Home::with("[pins.up]\npin = 5\nmax_on_seconds = 30\n");
    let hob = &home.hob;
    let set = |arguments: Value| hob.call("configure_pin", arguments);
    hob.result("name_pin", json!({"pin": 6, "name": "Hall button"}));
    let bell = json!({"pin": 6, "kind": "button", "pull": "up", "debounce_ms": 20, "long_press_ms": 900});
    set(bell).data(200);
    let plain = || home.on_map(6);
    assert_eq!(
        (&plain()["kind"], &plain()["settings"]["pull"], &plain()["watched"]),
        (&json!("button"), &json!("up"), &json!(true))
    );
    let why = hob.call("gpio_write", json!({"pin": 6, "high": true})).refusal(403, "denied");
    assert!(why.contains("is an input"), "{why}");
    // One of them, another set in the same call, then all: it is driven as before it was configured.
    let told = set(json!({"pin": 6, "reset": ["long_press_ms", "pull"], "debounce_ms": 30})).data(200);
    assert_eq!(told["result"]["settings"], json!({"pin": 6, "kind": "button", "debounce_ms": 30}));
    let told = set(json!({"pin": 6, "reset": ["all"]})).data(200);
    assert_eq!(told["result"]["settings"], json!({"pin": 6}), "{told}");
    assert_eq!(
        (&plain()["name"], &plain()["kind"], &plain()["direction"]),
        (&json!("Hall button"), &Value::Null, &Value::Null)
    );
    hob.result("gpio_write", json!({"pin": 6, "high": true}));
    assert!(home.is_on(6));
    let things = hob.result("list_things", json!({"query": "hall button"}));
    assert_eq!(things["things"][0]["kind"], "switch", "{things}");
    // Undone, it is a button again.
    hob.result("undo", json!({}));
    hob.result("undo", json!({}));
    assert_eq!(plain()["kind"], "button");
    for (arguments, kind) in [
        (json!({"pin": 5, "reset": ["max_on_seconds"]}), (403, "denied")),
        (json!({"pin": 6, "reset": ["name"]}), (400, "bad_args")),
        (json!({"pin": 6, "reset": "all of it"}), (400, "bad_args")),
    ] {
        set(arguments).refusal(kind.0, kind.1);
    }
    set(json!({"pin": 5, "reset": ["all"]})).data(200);
    assert_eq!(home.on_map(5)["maxOnSeconds"], 30, "hob.toml holds");
}

#[test]
fn a_lock_is_not_opened_unasked() {
    let config = "[approvals]\nin_call_seconds = 1\n[pins.\"front door\"]\npin = 27\nkind = \"lock\"\n";
    let home = Home::with(config);
    let hob = &home.hob;
    for (name, call) in [
        ("write", "'gpio_write', {pin: 27, high: true}"),
        ("toggle", "'gpio_toggle', {pin: 27}"),
        ("pulse", "'gpio_pulse', {pin: 27, ms: 10}"),
        ("pwm", "'pwm_write', {pin: 27, percent: 100}"),
        ("kind", "'configure_pin', {pin: 27, active_low: true}"),
    ] {
        make(hob, &format!("by_{name}"), &format!("return await utils.callTool({call});"), &[]);
        let text = hob.call(&format!("by_{name}"), json!({})).text();
        assert!(!home.is_on(27), "{name}: {text}");
        assert!(!text.contains("\"high\":true"), "{name}: {text}");
    }
    // Locking needs nobody, and by hand it opens.
    make(hob, "close", "return await utils.callTool('gpio_write', {pin: 27, high: false});", &[]);
    hob.result("close", json!({}));
    hob.result("gpio_write", json!({"pin": 27, "high": true}));
    assert!(home.is_on(27));
}

#[test]
fn signals_and_buses_are_driven_and_read_back() {
    let home = Home::with("");
    let hob = &home.hob;
    let dimmed = hob.result("pwm_write", json!({"pin": 18, "percent": 30, "hertz": 500}));
    assert_eq!(dimmed["source"], "simulated");
    assert_eq!(home.on_map(18)["pwm"], json!({"hertz": 500.0, "percent": 30.0}));
    hob.result("servo_move", json!({"pin": 13, "angle": 90}));
    assert_eq!(home.on_map(13)["pwm"], json!({"hertz": 50.0, "percent": 7.5}));
    hob.result("gpio_write", json!({"pin": 18, "high": false}));
    assert_eq!(home.on_map(18)["pwm"], Value::Null);
    assert_eq!(hob.result("gpio_pulse", json!({"pin": 24, "ms": 30}))["high"], false);
    assert_eq!(home.on_map(24)["changes"]["reported"], 2);

    let devices = hob.result("i2c_scan", json!({}))["devices"].clone();
    assert_eq!(devices, json!([{"address": 72, "hex": "0x48"}, {"address": 80, "hex": "0x50"}]));
    home.simulate("temperature i2c 30\ntemperature 28-0000000000a1 -4.5");
    let read = || hob.result("i2c_read", json!({"address": 72, "register": 0, "length": 2}));
    until("it is warm", || read() == json!({"bytes": [30, 0], "hex": "1e 00"}));
    hob.result("i2c_write", json!({"address": 80, "register": 16, "data": [1, 2, 255]}));
    assert_eq!(hob.result("i2c_read", json!({"address": 80, "register": 16, "length": 3}))["hex"], "01 02 ff");
    assert_eq!(hob.result("spi_transfer", json!({"data": [9, 8]}))["bytes"], json!([9, 8]));
    let sensors = hob.result("read_temperature_sensors", json!({}))["sensors"].clone();
    assert_eq!(sensors[0], json!({"id": "28-0000000000a1", "temperature": -4.5}));
    let identify = json!({"port": "/dev/ttySIM0", "text": "*IDN?\n"});
    hob.call("serial_transfer", identify.clone()).refusal(403, "denied");
    let home = Home::with("[serial]\nallow = [\"/dev/ttySIM0\"]\n");
    let hob = &home.hob;
    assert_eq!(hob.result("serial_transfer", identify)["text"], "Hob,simulated thermometer,1\n");
    for (tool, arguments, status) in [
        ("serial_transfer", json!({"port": "/dev/ttySIM1", "text": "x"}), (403, "denied")),
        ("serial_transfer", json!({"port": "/dev/ttySIM0", "text": "x", "baud": 7}), (400, "bad_args")),
        ("i2c_read", json!({"address": 73}), (500, "failed")),
        ("i2c_read", json!({"address": 3}), (400, "bad_args")),
        ("i2c_scan", json!({"bus": 9}), (409, "unavailable")),
        ("i2c_write", json!({"address": 80, "data": []}), (400, "bad_args")),
        ("i2c_write", json!({"address": 80, "data": [256]}), (400, "bad_args")),
        ("spi_transfer", json!({"data": [1], "mode": 4}), (400, "bad_args")),
        ("pwm_write", json!({"pin": 18, "percent": 101}), (400, "bad_args")),
        ("servo_move", json!({"pin": 18, "angle": 181}), (400, "bad_args")),
        ("gpio_pulse", json!({"pin": 18, "ms": 0}), (400, "bad_args")),
    ] {
        let reply = hob.call(tool, arguments.clone());
        let is = reply.status;
        assert!(is == status.0 || tool == "i2c_read" && (400..600).contains(&is), "{tool} {arguments}: {is}");
        reply.refusal(is, status.1);
    }
}

#[test]
fn the_board_is_on_one_page_for_those_who_may_look() {
    let home = Home::with("[pins]\nallow = [17]\nlamp = 2\n");
    let map = home.hob.get("/api/v1/board").data(200);
    assert_eq!((&map["driver"], map["pins"].as_array().unwrap().len()), (&json!("sim"), 40));
    let at = |physical: usize| map["pins"][physical - 1].clone();
    assert_eq!(at(1), json!({"physical": 1, "function": "3.3 V"}));
    assert_eq!(at(11), json!({"physical": 11, "pin": 17, "function": "", "high": false}));
    let lamp = at(3);
    assert_eq!((&lamp["pin"], &lamp["name"], &lamp["function"]), (&json!(2), &json!("lamp"), &json!("I2C1 SDA")));
    let warnings = lamp["warnings"].to_string();
    assert!(warnings.contains("I2C devices stop working") && warnings.contains("`pins.allow`"), "{warnings}");
    let viewer = home.hob.token("vera", "viewer");
    home.hob.request("GET", "/api/v1/board").bearer(&viewer).send().data(200);
    let none = Hob::with(Setup {
        arguments: ["--board", "none", "--listen", "127.0.0.1:0"].map(str::to_owned).into(),
        ..Setup::default()
    });
    let map = none.get("/api/v1/board").data(200);
    assert_eq!((&map["driver"], map["pins"].as_array().unwrap().len()), (&json!("none"), 40));
    assert!(map["why"].as_str().unwrap().contains("--board none") && !map.to_string().contains("high"), "{map}");
}
