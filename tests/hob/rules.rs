//! Rules over HTTP, from the file, after a kill, and made by a sentence; on simulated pins.

use crate::harness::{Folder, Hob, Setup, until};
use serde_json::{Value, json};
use std::fs;

fn high(hob: &Hob, pin: u8) -> bool {
    hob.result("gpio_read", json!({"pin": pin}))["high"] == true
}

fn switch(hob: &Hob, pin: u8, high: bool) {
    hob.result("gpio_write", json!({"pin": pin, "high": high}));
}

fn follow() -> Value {
    json!({"name": "Follow", "triggers": [{"type": "pin", "pin": 4, "edge": "rising"}],
           "actions": [{"type": "pin", "pin": 17, "high": true}]})
}

#[test]
fn a_rule_is_made_run_explained_and_deleted_over_http() {
    let hob = Hob::start();
    let checked = hob.post("/api/v1/rules/validate", follow()).data(200);
    assert_eq!(
        (&checked["result"]["valid"], &checked["result"]["sentence"]),
        (&json!(true), &json!("When pin 4 turns on, turn on pin 17."))
    );
    assert_eq!(hob.get("/api/v1/rules").data(200)["result"]["count"], 0);
    let made = hob.post("/api/v1/rules", follow()).data(200)["result"].clone();
    let path = format!("/api/v1/rules/{}", made["id"].as_str().unwrap());
    let dry = hob.admin("POST", &format!("{path}/dry-run")).send().data(200);
    assert_eq!((&dry["result"]["wouldRun"], high(&hob, 17)), (&json!(true), false));
    switch(&hob, 4, true);
    until("the lamp is on", || high(&hob, 17));
    let log = || hob.get(&format!("{path}/log")).data(200)["result"]["log"].clone();
    until("its run is in the log", || log()[0]["outcome"] == "ok");
    assert_eq!(log()[0]["why"], "pin 4 turned on");
    // Switched off it does nothing; a change that makes no sense changes nothing.
    switch(&hob, 17, false);
    switch(&hob, 4, false);
    let off = hob.admin("PATCH", &path).json(&json!({"enabled": false})).send().data(200);
    assert_eq!(off["result"]["enabled"], false);
    hob.admin("PATCH", &path).json(&json!({"triggers": [{"pin": 99}]})).send().refusal(400, "bad_args");
    hob.post("/api/v1/rules", json!({"triggers": [], "actions": []})).refusal(400, "bad_args");
    hob.request("GET", "/api/v1/rules").send().refusal(401, "unauthorized");
    hob.admin("DELETE", &path).send().data(200);
    hob.get(&path).refusal(404, "not_found");
}

#[test]
fn rules_survive_a_kill_and_the_file_says_what_is_wrong_with_it() {
    let folder = Folder::new();
    let mut hob = Hob::over(folder, Setup::default());
    hob.result("create_rule", follow());
    hob.kill();
    let file = "[[rules]]\nname = \"From the file\"\ntrigger = { type = \"pin\", pin = 5, edge = \"rising\" }\n\
                action = { type = \"pin\", pin = 18, high = true }\n\n[[rules]]\nname = \"Broken\"\ntrigger = \"no such thing pressed\"\n\
                action = \"turn on the moon\"\n";
    fs::write(hob.data().join("rules.toml"), file).unwrap();
    hob.start_again();
    switch(&hob, 4, true);
    until("the rule from before works", || high(&hob, 17));
    until("the file is loaded", || hob.result("list_rules", json!({}))["count"] == 2);
    until("its error is told", || {
        hob.result("list_rules", json!({}))["fileErrors"].to_string().contains("line 6: “Broken”")
    });
    switch(&hob, 5, true);
    until("the rule of the file works", || high(&hob, 18));
    let refused = hob.call("delete_rule", json!({"ruleId": "From the file"})).refusal(403, "denied");
    assert!(refused.contains("rules.toml"), "{refused}");
}

#[test]
fn a_sentence_becomes_a_rule_after_a_yes() {
    let hob = Hob::start();
    hob.result("name_pin", json!({"pin": 4, "name": "doorbell"}));
    hob.result("name_pin", json!({"pin": 17, "name": "hall lamp"}));
    let asked = hob.say("when the doorbell turns on, turn on the hall lamp");
    let text = asked["response"].as_str().unwrap();
    assert!(text.contains("Shall I make this a rule: when the doorbell turns on, turn on the hall lamp?"), "{text}");
    assert_eq!(hob.result("list_rules", json!({}))["count"], 0, "not before a yes");
    let again = json!({"message": "yes", "conversationId": asked["conversationId"]});
    hob.post("/api/v1/chat", again).data(200);
    let rules = hob.result("list_rules", json!({}));
    assert_eq!(rules["count"], 1, "{rules}");
    switch(&hob, 4, true);
    until("the lamp is on", || high(&hob, 17));
}

#[test]
fn at_sunset_is_once_and_every_evening_is_daily() {
    let hob = Hob::with(Setup { config: "latitude = 48.2\nlongitude = 16.37\n".into(), ..Setup::default() });
    hob.result("name_pin", json!({"pin": 17, "name": "porch lamp"}));
    for (text, question, sentence) in [
        ("turn on the porch lamp at sunset", "once", "Once at sunset"),
        ("turn on the porch lamp every evening at sunset", "every day at sunset", "Every day at sunset"),
    ] {
        let asked = hob.say(text);
        let say = asked["response"].as_str().unwrap();
        assert!(say.contains("Shall I") && say.contains(question), "{text}: {say}");
        let yes = json!({"message": "yes", "conversationId": asked["conversationId"]});
        let made = hob.post("/api/v1/chat", yes).data(200);
        let said = made["response"].as_str().unwrap();
        assert!(said.contains(sentence), "{text}: {said}");
    }
    let rules = hob.result("list_rules", json!({}));
    let dated: Vec<bool> =
        rules["rules"].as_array().unwrap().iter().map(|rule| rule["triggers"][0]["date"].is_string()).collect();
    assert_eq!(dated.iter().filter(|dated| **dated).count(), 1, "{rules}");
}
