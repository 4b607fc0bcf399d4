//! Rules across a stop: some runs are resumed, some are reported, and nothing happens twice.

use super::*;
use crate::record::{Firing, Status, Trigger};
use store::{Audience, Stamp};
use tool::{Label, Scope, UserId};

/// A run that was interrupted after some of its actions began.
async fn interrupted(at: &At, rule: &Value, resumable: bool, begun: &[(usize, &str)]) -> Id {
    let (id, trigger) = (Id::new(), rule["id"].as_str().unwrap().parse::<Id>().unwrap());
    let stamp = Stamp {
        scope: Scope::User(UserId::OWNER),
        owner: UserId::OWNER,
        audience: Audience::Private,
        label: Label::Own,
        source: "trigger".into(),
    };
    let firing = Firing {
        trigger,
        why: "it was time".into(),
        status: Status::Interrupted,
        finished_ms: 0,
        result: String::new(),
        error: String::new(),
        resumable,
        about: "{}".into(),
        resumed: 0,
        log: String::new(),
    };
    let firings = at.rules.parts().firings.clone();
    at.house.store.write(move |tx| firings.put(tx, id, &stamp, &firing).map(drop)).await.unwrap();
    for (action, tool) in begun {
        at.house.store.mark_outside(store::effect_key(id, &action.to_string()), (*tool).into()).await.unwrap();
    }
    id
}

fn two_writes() -> Value {
    json!({"name": "Pump", "triggers": {"schedule": "every day at 7:00"},
           "actions": [{"pin": 20, "high": true}, {"wait": 1}, {"pin": 20, "high": false}]})
}

#[tokio::test]
async fn a_run_that_had_not_begun_is_made_and_one_from_a_pin_is_not() {
    let at = At::new();
    let timed = at.make(two_writes()).await;
    let pinned = at
        .make(json!({"name": "Bell", "triggers": {"pin": 4, "edge": "rising"}, "actions": {"pin": 21, "high": true}}))
        .await;
    at.closing.cancel();
    interrupted(&at, &timed, true, &[]).await;
    interrupted(&at, &pinned, false, &[]).await;
    let again = At::over(at.house.clone());
    assert_eq!(
        again.calls(2).await,
        [
            ("gpio_write".to_owned(), json!({"pin": 20, "high": true})),
            ("gpio_write".to_owned(), json!({"pin": 20, "high": false}))
        ]
    );
    again.until(|| again.rules.live_runs("Pump") == 0).await;
    let log = again.log("Bell").await;
    assert_eq!(log[0]["outcome"], "interrupted");
    let mut told = String::new();
    for _ in 0..200 {
        told = again.log("Bell").await[0]["error"].to_string();
        if told.contains("not done later") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(told.contains("not done later"), "{told}");
    assert_eq!(again.house.called().len(), 2, "an old edge moves nothing");
}

#[tokio::test]
async fn after_a_cut_the_harmless_rest_is_made_and_other_things_are_told() {
    let at = At::new();
    let pump = at.make(two_writes()).await;
    let moves = at
        .make(json!({"name": "Moves", "triggers": {"schedule": "every day at 8:00"},
                     "actions": [{"pin": 22, "high": true}, {"tool": "move_it", "arguments": {"pin": 3}}]}))
        .await;
    at.closing.cancel();
    interrupted(&at, &pump, true, &[(0, "gpio_write")]).await;
    interrupted(&at, &moves, true, &[(0, "gpio_write")]).await;
    let again = At::over(at.house.clone());
    assert_eq!(again.calls(1).await, [("gpio_write".to_owned(), json!({"pin": 20, "high": false}))]);
    let mut told = String::new();
    for _ in 0..200 {
        told = again.log("Moves").await[0]["error"].to_string();
        if told.contains("not done: `move_it`") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(told.contains("not done: `move_it`"), "{told}");
    assert_eq!(again.house.called().len(), 1);
}

#[tokio::test]
async fn rules_and_older_triggers_are_read_again_after_a_start() {
    let at = At::new();
    at.make(json!({"name": "Bell", "triggers": "bell pressed", "actions": "turn on the hall lamp"})).await;
    at.ask("create_trigger", json!({"name": "Old", "type": "event", "config": {"topic": "old"}, "message": "ding"}))
        .await
        .unwrap();
    at.closing.cancel();
    let again = At::over(at.house.clone());
    again.tell("pin:press", json!({"pin": 4, "kind": "short"}));
    again.tell("old", json!({}));
    let names: Vec<String> = {
        let mut names: Vec<String> = again.calls(2).await.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    };
    assert_eq!(names, ["control_thing", "notify"]);
    // Undoing the deletion of a rule brings it back to life.
    assert_eq!(again.ask("list_rules", json!({})).await.unwrap().content["count"], 2);
}

#[test]
fn a_record_of_an_older_version_is_a_trigger() {
    let old = Trigger { name: "x".into(), ..Trigger::default() };
    assert!(old.definition.is_empty() && old.calls.is_empty() && !old.in_file);
    assert!(crate::engine::definition_of(&old).is_none());
}

#[tokio::test]
async fn a_schedule_starts_a_rule_with_conditions() {
    let at = At::new();
    let engine = at.house.scheduler.start(at.closing.clone());
    at.make(json!({"name": "Tick", "triggers": ["every 10 minutes", {"schedule": "every day at 15:05"}], "conditions": ["after 14:45"],
                   "actions": {"tool": "move_it", "arguments": {"pin": 3}}, "mode": "queued"}))
        .await;
    at.house.clock.forward(601);
    let mut skipped = Value::Null;
    for _ in 0..400 {
        skipped = at.log("Tick").await;
        if skipped[0]["ran"] == false {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(skipped[0]["reason"], "its conditions did not hold", "{skipped}");
    assert!(at.house.called().is_empty());
    at.house.clock.forward(601);
    assert_eq!(at.calls(1).await[0].0, "move_it");
    // The second of its schedules, at 15:05.
    at.house.clock.forward(15 * 60);
    at.calls(3).await;
    at.ask("delete_rule", json!({"ruleId": "Tick"})).await.unwrap();
    at.closing.cancel();
    engine.await.unwrap();
}

#[tokio::test]
async fn a_resumed_run_stops_when_its_rule_is_switched_off() {
    let at = At::new();
    let rule = at
        .make(json!({"name": "Long", "triggers": {"schedule": "every day at 7:00"},
                     "actions": [{"pin": 20, "high": true}, {"wait": 3600}, {"pin": 21, "high": true}]}))
        .await;
    at.closing.cancel();
    interrupted(&at, &rule, true, &[]).await;
    let again = At::over(at.house.clone());
    again.calls(1).await;
    again.ask("update_rule", json!({"ruleId": "Long", "enabled": false})).await.unwrap();
    let mut told = Value::Null;
    for _ in 0..400 {
        told = again.log("Long").await[0].clone();
        if told["outcome"] != "interrupted" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((&told["outcome"], &told["error"]), (&json!("stopped"), &json!(null)), "{told}");
    assert_eq!(again.house.called().len(), 1, "the rest is not made");
}

#[tokio::test]
async fn starts_that_waited_behind_a_resumed_run_are_made() {
    let at = At::new();
    let rule = at
        .make(json!({"name": "Queue", "mode": "queued", "max": 5, "triggers": {"type": "event", "topic": "go"},
                     "actions": [{"pin": 20, "high": true}, {"wait": 1}, {"pin": 20, "high": false}]}))
        .await;
    at.closing.cancel();
    interrupted(&at, &rule, true, &[]).await;
    let again = At::over(at.house.clone());
    again.calls(1).await;
    again.tell("go", json!({}));
    assert_eq!(again.calls(4).await.len(), 4);
    again.until(|| again.rules.live_runs("Queue") == 0).await;
}
