//! Rules as they run: triggers, conditions, modes and limits.

use super::*;
use tool::{Topics, UserId};

fn lamp(action: &str) -> Value {
    json!({"thing": "hall lamp", "action": action})
}

#[tokio::test]
async fn a_pin_moves_another_at_once_and_its_record_follows() {
    let at = At::new();
    at.make(json!({"name": "Follow", "triggers": {"pin": 4, "edge": "rising"}, "actions": {"pin": 17, "high": true}}))
        .await;
    let mut edges = at.board.edges();
    at.level(4, true).await;
    loop {
        let edge = edges.recv().await.unwrap();
        if (edge.pin, edge.high) == (pin(17), true) {
            break;
        }
    }
    at.until(|| at.rules.live_runs("Follow") == 0).await;
    let log = at.log("Follow").await;
    assert_eq!((&log[0]["why"], &log[0]["outcome"]), (&json!("pin 4 turned on"), &json!("ok")), "{log}");
    assert_eq!(log[0]["actions"][0]["text"], "turn on the lamp");
    // A falling edge is not what it waits for.
    at.level(4, false).await;
    at.level(17, false).await;
    at.level(4, true).await;
    at.calls(2).await;
    assert_eq!(at.ask("get_rule", json!({"ruleId": "Follow"})).await.unwrap().content["fired"], 2);
}

#[tokio::test]
async fn presses_states_messages_and_events_start_rules() {
    let at = At::new().with_settling().await;
    let rule = |trigger: Value, n: u32| json!({"triggers": trigger, "actions": {"tool": "move_it", "arguments": {"pin": n}}, "name": format!("r{n}"), "mode": "queued"});
    for (n, trigger) in [
        json!({"pin": "Bell", "press": "double"}),
        json!({"thing": "Front door", "to": "open"}),
        json!({"entity": "light.desk", "from": "off", "to": "on"}),
        json!({"type": "mqtt", "topic": "door/+", "path": "state", "payload": "OPEN"}),
        json!({"type": "event", "topic": "custom:*", "match": {"n": {"op": "gt", "value": 3}}}),
    ]
    .into_iter()
    .enumerate()
    {
        at.make(rule(trigger, n as u32)).await;
    }
    let door = |value: &str, before: &str| json!({"thing": "ha:binary_sensor.door", "name": "Front door", "kind": "contact", "value": value, "active": value == "open", "before": before});
    for (topic, data, wanted) in [
        ("pin:press", json!({"pin": 4, "kind": "short"}), None),
        ("pin:press", json!({"pin": 4, "kind": "double"}), Some(0)),
        ("pin:press", json!({"pin": 5, "kind": "double"}), None),
        ("thing:changed", door("open", "closed"), Some(1)),
        ("thing:changed", door("open", "open"), None),
        ("thing:changed", door("closed", "open"), None),
        ("ha:state", json!({"entity": "light.desk", "state": "on", "before": "off"}), Some(2)),
        ("ha:state", json!({"entity": "light.desk", "state": "on", "before": "unavailable"}), None),
        ("ha:state", json!({"entity": "light.other", "state": "on", "before": "off"}), None),
        ("mqtt:message", json!({"topic": "door/front", "payload": "{\"state\": \"open\"}"}), Some(3)),
        ("mqtt:message", json!({"topic": "door/front", "payload": "{\"state\": \"shut\"}"}), None),
        ("mqtt:message", json!({"topic": "door", "payload": "{\"state\": \"open\"}"}), None),
        ("custom:thing", json!({"n": 4}), Some(4)),
        ("custom:thing", json!({"n": 3}), None),
    ] {
        let before = at.called().len();
        at.tell(topic, data.clone());
        at.settle().await;
        if wanted.is_some() {
            at.until(|| at.called().len() > before).await;
        }
        let new: Vec<Value> = at.called().into_iter().skip(before).map(|(_, args)| args["pin"].clone()).collect();
        assert_eq!(new, wanted.map(|n| json!(n)).into_iter().collect::<Vec<_>>(), "{topic} {data}");
    }
    // An event for another person is not for this rule.
    at.house.ports.bus.publish("custom:thing", Some(UserId(Id::new())), json!({"n": 9}));
    at.settle().await;
    assert_eq!(at.called().len(), 5);
}

#[tokio::test]
async fn a_number_fires_beyond_its_limit_and_again_only_after_it_came_back() {
    let at = At::new().with_settling().await;
    at.make(json!({"name": "Warm", "triggers": {"thing": "bedroom temperature", "above": 25, "hysteresis": 1},
                   "actions": {"message": "it has {{value}}"}}))
        .await;
    for (value, wanted) in [(26.0, 0), (24.5, 0), (23.9, 0), (25.1, 1), (24.2, 1), (25.5, 1), (24.0, 1), (25.2, 2)] {
        at.tell(
            "thing:changed",
            json!({"thing": "ha:sensor.bedroom", "name": "Bedroom", "value": value.to_string(), "number": value}),
        );
        at.settle().await;
        if at.called().len() < wanted {
            at.until(|| at.called().len() >= wanted).await;
        }
        assert_eq!(at.called().len(), wanted, "at {value}");
        at.until(|| at.rules.live_runs("Warm") == 0).await;
    }
    assert_eq!(at.called()[0].1["text"], "it has 25.1");
}

#[tokio::test]
async fn a_thing_that_was_away_for_a_while_has_not_changed() {
    let at = At::new().with_settling().await;
    for (name, trigger) in [
        ("Thing", json!({"thing": "front door", "to": "open"})),
        ("Entity", json!({"entity": "light.desk", "to": "on"})),
        ("Any", json!({"entity": "light.any"})),
        ("Away", json!({"entity": "light.desk", "to": "unavailable"})),
    ] {
        at.make(json!({"name": name, "triggers": trigger, "mode": "queued", "actions": {"message": name}})).await;
    }
    let door = |before: Value, value: &str| json!({"thing": "ha:binary_sensor.door", "value": value, "active": value == "open", "before": before});
    let desk = |before: Value, state: &str| json!({"entity": "light.desk", "state": state, "before": before});
    let any = |before: Value, state: &str| json!({"entity": "light.any", "state": state, "before": before});
    for (topic, data, wanted) in [
        // After a start it is seen for the first time.
        ("ha:state", desk(json!(null), "on"), None),
        ("ha:state", desk(json!("on"), "unavailable"), Some("Away")),
        ("ha:state", desk(json!("unavailable"), "unknown"), None),
        ("ha:state", desk(json!("unknown"), "on"), None),
        ("ha:state", desk(json!("on"), "off"), None),
        ("ha:state", desk(json!("off"), "on"), Some("Entity")),
        // It was switched while it could not be reached.
        ("ha:state", desk(json!("on"), "off"), None),
        ("ha:state", desk(json!("off"), "unavailable"), Some("Away")),
        ("ha:state", desk(json!("unavailable"), "on"), Some("Entity")),
        ("ha:state", any(json!("blue"), "unavailable"), None),
        ("ha:state", any(json!("unavailable"), "blue"), None),
        ("ha:state", any(json!("blue"), "red"), Some("Any")),
        ("thing:changed", door(json!("closed"), "open"), Some("Thing")),
        ("thing:changed", door(json!("open"), "unavailable"), None),
        ("thing:changed", door(json!("unavailable"), "open"), None),
        ("thing:changed", door(json!("open"), "unavailable"), None),
        ("thing:changed", door(json!("unavailable"), "closed"), None),
        ("thing:changed", door(json!("closed"), "open"), Some("Thing")),
    ] {
        let before = at.called().len();
        at.tell(topic, data.clone());
        at.settle().await;
        if wanted.is_some() {
            at.until(|| at.called().len() > before).await;
        }
        let new: Vec<Value> = at.called().into_iter().skip(before).map(|(_, args)| args["text"].clone()).collect();
        assert_eq!(new, wanted.map(|name| json!(name)).into_iter().collect::<Vec<_>>(), "{topic} {data}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_state_has_to_last() {
    let at = At::new();
    at.make(json!({"name": "Open", "triggers": {"thing": "front door", "to": "open", "for": 300}, "actions": lamp("turn_on")})).await;
    at.make(
        json!({"name": "Held", "triggers": {"pin": 5, "edge": "rising", "for": "10 s"}, "actions": lamp("turn_off")}),
    )
    .await;
    let door = |value: &str, before: &str| json!({"thing": "ha:binary_sensor.door", "value": value, "active": value == "open", "before": before});
    let pass = |seconds: u64| tokio::time::sleep(Duration::from_secs(seconds));
    at.tell("thing:changed", door("open", "closed"));
    pass(200).await;
    at.tell("thing:changed", door("closed", "open"));
    pass(400).await;
    assert!(at.house.called().is_empty(), "it was closed in time");
    at.tell("thing:changed", door("open", "closed"));
    pass(301).await;
    assert_eq!(at.calls(1).await[0].1["action"], "turn_on");
    pass(900).await;
    assert_eq!(at.house.called().len(), 1, "once for each time it is opened");
    // While it cannot be reached it is as open as before.
    at.tell("thing:changed", door("closed", "open"));
    at.tell("thing:changed", door("open", "closed"));
    pass(200).await;
    at.tell("thing:changed", door("unavailable", "open"));
    at.tell("thing:changed", door("open", "unavailable"));
    pass(101).await;
    assert_eq!(at.calls(2).await.len(), 2);
    at.level(5, true).await;
    pass(5).await;
    at.level(5, false).await;
    at.level(5, true).await;
    pass(6).await;
    assert_eq!(at.house.called().len(), 2);
    pass(5).await;
    assert_eq!(at.calls(3).await[2].1["action"], "turn_off");
}

#[tokio::test]
async fn conditions_are_looked_at_when_it_happens() {
    let at = At::new().with_settling().await;
    at.make(json!({"name": "Night", "triggers": "bell pressed", "conditions": ["it is dark", {"not": {"pin": 6, "high": true}}],
                   "actions": lamp("turn_on")}))
        .await;
    at.make(json!({"name": "Asks", "triggers": {"pin": 4, "press": "long"}, "conditions": {"tool": "ping", "arguments": {"n": 3}, "path": "n", "op": "gt", "value": 2},
                   "actions": lamp("turn_off")}))
        .await;
    let press = |kind: &str| at.tell("pin:press", json!({"pin": 4, "kind": kind}));
    press("short");
    at.settle().await;
    assert!(at.called().is_empty(), "it is day");
    let log = at.log("Night").await;
    assert_eq!((&log[0]["ran"], &log[0]["reason"]), (&json!(false), &json!("its conditions did not hold")));
    assert_eq!((&log[0]["conditions"][0]["value"], &log[0]["conditions"][1]["holds"]), (&json!("day"), &json!(true)));
    at.house.clock.forward(4 * 3600);
    at.level(6, true).await;
    press("short");
    at.settle().await;
    assert!(at.called().is_empty(), "pin 6 is on");
    at.level(6, false).await;
    press("short");
    at.until(|| at.called().len() == 1).await;
    press("long");
    at.until(|| at.called().len() == 2).await;
}

#[tokio::test]
async fn modes_decide_what_a_second_start_does() {
    let slow = |mode: &str, max: u32| {
        json!({"name": mode, "mode": mode, "max": max, "triggers": {"type": "event", "topic": format!("go:{mode}")},
               "actions": [{"message": "begin {{data.n}}"}, {"wait": 1}, {"message": "end {{data.n}}"}]})
    };
    let at = At::new();
    for (mode, max, begin_at_once, wanted) in [
        ("single", 1, 1, vec!["begin 1", "end 1"]),
        ("restart", 1, 3, vec!["begin 1", "begin 2", "begin 3", "end 3"]),
        ("queued", 1, 1, vec!["begin 1", "end 1", "begin 2", "end 2"]),
        ("parallel", 2, 2, vec!["begin 1", "begin 2", "end 1", "end 2"]),
    ] {
        at.make(slow(mode, max)).await;
        let before = at.house.called().len();
        for n in 1..=3 {
            at.tell(&format!("go:{mode}"), json!({"n": n}));
            at.until(|| at.house.called().len() >= before + n.min(begin_at_once)).await;
        }
        at.until(|| at.rules.live_runs(mode) == 0).await;
        let said: Vec<String> = at
            .house
            .called()
            .into_iter()
            .skip(before)
            .map(|(_, args)| args["text"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(said, wanted, "{mode}");
    }
    let log = at.log("single").await;
    assert!(
        log.as_array().unwrap().iter().any(|one| one["reason"] == "it was still running" && one["times"] == 2),
        "{log}"
    );
}

/// A run that the next one or a person stops has not failed: nobody is told of a failure, and the log says what it was.
#[tokio::test]
async fn a_run_that_is_stopped_has_not_failed() {
    let at = At::new();
    let rule = |name: &str, mode: &str, first: Value| {
        json!({"name": name, "mode": mode, "triggers": {"type": "event", "topic": format!("go:{name}")},
               "actions": [first, {"wait": 3600}, {"message": "end"}]})
    };
    let mut fired = at.house.ports.bus.listen_to(None, Topics::parse("rule:fired").unwrap());
    let (message, fails) = (json!({"message": "begin"}), json!({"tool": "break_it", "arguments": {}}));
    at.make(rule("again", "restart", message.clone())).await;
    for n in 1..=2 {
        at.tell("go:again", json!({}));
        at.calls(n).await;
    }
    at.until(|| at.rules.live_runs("again") == 1).await;
    for (n, name, change) in [
        (3, "edited", json!({"ruleId": "edited", "description": "x"})),
        (4, "paused", json!({"ruleId": "paused", "enabled": false})),
    ] {
        at.make(rule(name, "single", message.clone())).await;
        let live = at.rules.live_named(name);
        at.tell(&format!("go:{name}"), json!({}));
        at.calls(n).await;
        at.ask("update_rule", change).await.unwrap();
        at.until(|| live.running() == (0, 0)).await;
    }
    for (name, outcome) in [("again", "restarted"), ("edited", "stopped"), ("paused", "stopped")] {
        let log = at.log(name).await;
        let ended = log.as_array().unwrap().iter().find(|run| run["outcome"] != "interrupted").unwrap();
        assert_eq!((&ended["outcome"], &ended["error"]), (&json!(outcome), &json!(null)), "{name}: {log}");
        assert_eq!(ended["actions"][0]["outcome"], "ok", "{log}");
        assert_eq!(
            (&ended["actions"][1]["outcome"], &ended["actions"][1]["error"]),
            (&json!(outcome), &json!(null)),
            "{log}"
        );
        assert_eq!(ended["actions"].as_array().unwrap().len(), 2, "{log}");
        assert!(ended["result"].as_str().unwrap().starts_with("Stopped, because the rule"), "{log}");
        let rule = at.ask("get_rule", json!({"ruleId": name})).await.unwrap().content;
        assert_eq!(rule["failures"], 0, "{rule}");
    }
    // What failed before it was stopped has failed.
    at.make(rule("broken", "single", fails)).await;
    let live = at.rules.live_named("broken");
    at.tell("go:broken", json!({}));
    at.until(|| live.running() == (1, 0)).await;
    at.ask("update_rule", json!({"ruleId": "broken", "enabled": false})).await.unwrap();
    at.until(|| live.running() == (0, 0)).await;
    assert_eq!(at.log("broken").await[0]["outcome"], "failed");
    let mut told = vec![];
    while told.len() < 4
        && let Some(tool::BusEvent::Event(event)) = fired.next().await
    {
        told.push(event.data["status"].clone());
    }
    assert_eq!(told, ["restarted", "stopped", "stopped", "failed"]);
}

#[tokio::test]
async fn limits_hold_for_every_rule() {
    let at = At::new().with_settling().await;
    at.make(json!({"name": "Few", "triggers": {"type": "event", "topic": "few"}, "mode": "queued", "maxPerHour": 3, "actions": lamp("toggle")})).await;
    at.make(json!({"name": "Rests", "triggers": {"type": "event", "topic": "rests"}, "mode": "queued", "cooldownSeconds": 60, "actions": lamp("turn_on")})).await;
    for _ in 0..10 {
        at.tell("few", json!({}));
    }
    at.until(|| at.called().len() == 3).await;
    for (forward, wanted) in [(0, 4), (30, 4), (31, 5)] {
        at.house.clock.forward(forward);
        at.tell("rests", json!({}));
        at.settle().await;
        at.until(|| at.called().len() >= wanted).await;
        assert_eq!(at.called().len(), wanted);
    }
    at.house.clock.forward(3600);
    at.tell("few", json!({}));
    at.until(|| at.called().len() == 6).await;
}

#[tokio::test]
async fn two_hundred_rules_and_a_flapping_pin_leave_nothing_stuck() {
    let at = At::new();
    for n in 0..200 {
        at.make(json!({"name": format!("many {n}"), "triggers": {"type": "event", "topic": "all"}, "actions": {"tool": "move_it", "arguments": {"pin": n % 28}}})).await;
    }
    at.tell("all", json!({}));
    assert_eq!(at.calls(200).await.len(), 200);
    at.until(|| (0..200).all(|n| at.rules.live_runs(&format!("many {n}")) == 0)).await;
    at.make(json!({"name": "Flap", "triggers": {"pin": 4, "edge": "both"}, "actions": {"pin": 17, "high": true}, "maxPerHour": 5})).await;
    // 10 kHz for two seconds, at once.
    for n in 0..20_000 {
        at.rules.edge(4, n % 2 == 0);
        if n % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    at.until(|| at.rules.live_runs("Flap") == 0).await;
    let (log, ran) = (at.log("Flap").await, at.house.called().len() - 200);
    assert!((1..=5).contains(&ran), "{ran}");
    let dropped = |one: &Value| one["times"].as_u64().unwrap_or_default();
    let dropped: u64 = log.as_array().unwrap().iter().filter(|one| one["ran"] == false).map(dropped).sum();
    assert_eq!(dropped + ran as u64, 20_000, "each one is counted: {log}");
    // It still works, and so do others.
    at.tell("all", json!({}));
    assert_eq!(at.calls(400 + ran).await.len(), 400 + ran);
}

#[tokio::test]
async fn the_sun_follows_a_clock_that_is_set() {
    let at = At::new();
    at.make(json!({"name": "Dusk", "triggers": "sunset", "actions": lamp("turn_on")})).await;
    // Sunset is at about 16:10; it is 14:30.
    let tick = || {
        let live = at.rules.live_named("Dusk");
        at.rules.look_at_sun_now(&live);
    };
    tick();
    at.house.clock.forward(90 * 60);
    tick();
    assert!(at.house.called().is_empty());
    at.house.clock.forward(15 * 60);
    tick();
    assert_eq!(at.calls(1).await.len(), 1);
    // Set back by an hour and on again: not a second time.
    at.house.clock.forward(-3600);
    tick();
    at.house.clock.forward(3600);
    tick();
    // Set forward beyond the next one: that has passed.
    at.house.clock.forward(24 * 3600 + 3 * 3600);
    tick();
    at.until(|| at.rules.live_runs("Dusk") == 0).await;
    assert_eq!(at.house.called().len(), 1);
    at.house.clock.forward(21 * 3600);
    tick();
    assert_eq!(at.calls(2).await.len(), 2);
}

#[tokio::test]
async fn a_sunset_of_one_day_comes_once_and_then_the_rule_goes() {
    let at = At::new();
    at.make(json!({"name": "Tonight", "triggers": "sunset once", "actions": lamp("turn_on")})).await;
    at.make(json!({"name": "Daily", "triggers": "sunset", "actions": lamp("turn_off")})).await;
    let live = at.rules.live_named("Tonight");
    let tick = || at.rules.look_at_sun_now(&live);
    tick();
    at.house.clock.forward(105 * 60);
    tick();
    assert_eq!(at.calls(1).await.len(), 1);
    // A day later it is there to be read, and does not run again.
    at.house.clock.forward(24 * 3600);
    tick();
    at.rules.clear_now();
    at.until(|| at.rules.live_runs("Tonight") == 0).await;
    assert_eq!(at.house.called().len(), 1);
    let log = at.ask("get_rule", json!({"ruleId": "Tonight"})).await.unwrap().content;
    assert_eq!((&log["fired"], &log["enabled"]), (&json!(1), &json!(true)), "{log}");
    at.house.clock.forward(24 * 3600);
    at.rules.clear_now();
    at.until(|| at.rules.live_count() == 1).await;
    let left = at.ask("list_rules", json!({})).await.unwrap().content;
    assert_eq!((&left["count"], &left["rules"][0]["name"]), (&json!(1), &json!("Daily")));
}

#[tokio::test]
async fn a_decision_that_comes_too_late_starts_nothing() {
    let at = At::new();
    at.make(json!({"name": "Gone", "triggers": {"type": "event", "topic": "go"}, "actions": lamp("turn_on")})).await;
    let live = at.rules.live_named("Gone");
    at.ask("update_rule", json!({"ruleId": "Gone", "enabled": false})).await.unwrap();
    live.admit(at.house.ports.clock.now(), &crate::engine::by_hand(&at.house.cx()));
    assert_eq!(live.running(), (0, 0));
    assert!(live.occupy().1.is_asked());
}

#[tokio::test]
async fn no_start_is_queued_behind_a_run_that_is_over() {
    let at = At::new();
    at.make(json!({"name": "Queue", "mode": "queued", "max": 3, "triggers": {"type": "event", "topic": "go"}, "actions": lamp("turn_on")}))
        .await;
    let (live, cause) = (at.rules.live_named("Queue"), crate::engine::by_hand(&at.house.cx()));
    let (run, _) = live.occupy();
    live.admit(at.house.ports.clock.now(), &cause);
    assert_eq!(live.running(), (1, 1));
    assert!(live.next_queued(run, 0).is_some() && live.next_queued(run, 0).is_none());
    assert_eq!(live.running(), (0, 0), "it has ended in the moment in which it found nothing");
    live.admit(at.house.ports.clock.now(), &cause);
    assert_eq!(live.running(), (1, 0));
    // Of two runs the last one takes what waits.
    let (other, _) = live.occupy();
    live.admit(at.house.ports.clock.now(), &cause);
    assert!(live.next_queued(other, 0).is_none());
    assert_eq!(live.running(), (1, 1));
}

#[tokio::test]
async fn what_is_not_known_is_not_made_true_by_not() {
    let at = At::new();
    at.level(6, false).await;
    let missing = json!({"tool": "ping", "arguments": {"n": 3}, "path": "nothing", "op": "eq", "value": 2});
    let other = json!({"tool": "ping", "arguments": {"n": 3}, "path": "n", "op": "eq", "value": 2});
    let off = json!({"pin": 6, "high": true});
    for (n, (condition, wanted)) in [
        (json!({"not": missing}), false),
        (json!({"not": {"not": missing}}), false),
        (json!({"not": other}), true),
        (json!({"not": {"all": [missing, off]}}), true),
        (json!({"not": {"any": [missing, off]}}), false),
        (json!({"any": [{"not": missing}, {"not": off}]}), true),
    ]
    .into_iter()
    .enumerate()
    {
        let (name, topic) = (format!("not {n}"), format!("go:{n}"));
        at.make(json!({"name": name, "triggers": {"type": "event", "topic": topic}, "conditions": [condition], "actions": lamp("turn_on")}))
            .await;
        let ran = || at.called().len();
        let before = ran();
        at.tell(&topic, json!({}));
        let mut log = json!([]);
        for _ in 0..400 {
            log = at.log(&name).await;
            if log[0].is_object() && (log[0]["ran"] == false || ran() > before) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(ran() > before, wanted, "{condition}: {log}");
    }
}

#[test]
fn a_machine_switches_on_no_rule_that_a_person_approved() {
    use tool::{Channel, PreauthorizedCall};
    let rule = |consented, enabled| {
        let call = PreauthorizedCall { tool: "unlock".into(), version: 1, args: json!({}), digest: [0; 32], consented };
        crate::record::Trigger { calls: vec![call.into()], enabled, ..Default::default() }
    };
    for (consented, enabled, channel, wanted) in [
        (true, false, Channel::Machine, false),
        (true, true, Channel::Machine, true),
        (false, false, Channel::Machine, true),
        (true, false, Channel::Page, true),
    ] {
        assert_eq!(rule(consented, enabled).check_switching_on(channel).is_ok(), wanted, "{consented} {enabled}");
    }
}
