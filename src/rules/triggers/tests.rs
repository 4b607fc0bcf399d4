//! The trigger tools on a real store, registry and bus.

use super::*;
use crate::testing::{House, call};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool::{Label, UserId};

struct At {
    house: House,
    triggers: Rules,
    closing: CancellationToken,
}

impl At {
    fn new() -> Self {
        let house = House::new();
        let triggers = Rules::new(
            &house.store,
            house.registry.clone(),
            house.scheduler.clone(),
            Default::default(),
            house.ports.clone(),
        );
        house.registry.add(family(triggers.clone())).unwrap();
        let closing = CancellationToken::new();
        triggers.watch(&closing).unwrap();
        Self { house, triggers, closing }
    }

    async fn ask(&self, cx: &Cx, tool: &str, args: Value) -> Result<Output> {
        call(family(self.triggers.clone()), cx, tool, args).await
    }

    async fn make(&self, args: Value) -> Result<Output> {
        self.ask(&self.house.cx(), "create_trigger", args).await
    }

    fn tell(&self, topic: &str, to: Option<UserId>, data: Value) {
        self.house.ports.bus.publish(topic, to, data);
    }

    /// Waits for `n` calls, or a while, and returns the recorded calls.
    async fn calls(&self, n: usize) -> Vec<(String, Value)> {
        for _ in 0..200 {
            if self.house.called().len() >= n {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // No further call may follow.
        tokio::time::sleep(Duration::from_millis(30)).await;
        self.house.called()
    }
}

impl Drop for At {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

fn on_pin(pin: u8) -> Value {
    json!({"topic": "pin:changed", "match": {"pin": pin}})
}

#[tokio::test]
async fn an_event_fires_and_brings_its_data() {
    let at = At::new();
    let made = at
        .make(json!({"name": "Bell", "type": "event", "config": on_pin(4), "cooldownSeconds": 60,
                     "message": "pin {{data.pin}} is {{data.high}}"}))
        .await
        .unwrap();
    assert_eq!(made.say.as_deref(), Some("The trigger “Bell” is set: when pin 4 turns on or off."));
    assert_eq!(at.triggers.awaited_pins().into_iter().collect::<Vec<_>>(), [4]);
    at.tell("pin:changed", None, json!({"pin": 5, "high": true}));
    at.tell("pin:changed", Some(UserId(Id::new())), json!({"pin": 4, "high": true}));
    at.tell("pin:new_recurrence", None, json!({"pin": 4, "high": true}));
    at.tell("pin:changed", None, json!({"pin": 4, "high": true}));
    // Within the cooldown.
    at.tell("pin:changed", None, json!({"pin": 4, "high": false}));
    let told = at.calls(1).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1["text"], "pin 4 is true");
    at.house.clock.forward(61);
    at.tell("pin:changed", None, json!({"pin": 4, "high": false}));
    assert_eq!(at.calls(2).await.len(), 2);
    let cx = at.house.cx();
    let history = at.ask(&cx, "get_trigger_history", json!({"triggerId": "bell"})).await.unwrap().content;
    assert_eq!((&history["count"], &history["firings"][0]["status"]), (&json!(2), &json!("ok")));
    let newest = at.ask(&cx, "get_trigger_history", json!({"triggerId": "bell", "limit": 1})).await.unwrap().content;
    assert_eq!((&history["hasMore"], &newest["hasMore"], &newest["count"]), (&json!(false), &json!(true), &json!(1)));
    assert_eq!(history["firings"][1]["why"], "pin 4 turned on");
    assert_eq!(at.ask(&cx, "get_trigger", json!({"triggerId": "Bell"})).await.unwrap().content["fired"], 2);
}

#[tokio::test]
async fn what_an_event_brings_keeps_its_type() {
    let at = At::new();
    let pins = json!({"name": "Echo", "type": "event", "config": {"topic": "pin:changed"}, "tool": "ping",
                      "arguments": {"n": "{{data.pin}}"}});
    at.make(pins).await.unwrap();
    at.tell("pin:changed", None, json!({"pin": 4}));
    assert_eq!(at.calls(1).await, [("ping".to_owned(), json!({"n": 4}))]);
    let unknown =
        json!({"name": "Odd", "type": "event", "config": on_pin(4), "tool": "ping", "arguments": {"m": "{{data}}"}});
    assert!(matches!(at.make(unknown).await, Err(Error::BadArgs(_))));
}

#[tokio::test]
async fn no_trigger_fires_for_ever_by_its_own_doing() {
    let at = At::new();
    let loops = json!({"name": "Loop", "type": "event", "config": {"topic": "tool:after"}, "tool": "ping", "cooldownSeconds": 0,
                       "maxPerHour": 3});
    at.make(loops).await.unwrap();
    for _ in 0..10 {
        at.tell("tool:after", None, json!({"tool": "other"}));
        tokio::time::sleep(Duration::from_millis(20)).await;
        at.house.clock.forward(1);
    }
    assert_eq!(at.calls(3).await.len(), 3, "no more than its hour has");
}

#[tokio::test]
async fn a_paused_changed_or_deleted_trigger_does_as_it_is_now() {
    let at = At::new();
    let cx = at.house.cx();
    at.make(json!({"name": "Bell", "type": "event", "config": on_pin(4), "message": "ding", "cooldownSeconds": 0}))
        .await
        .unwrap();
    at.ask(&cx, "pause_trigger", json!({"triggerId": "Bell"})).await.unwrap();
    at.tell("pin:changed", None, json!({"pin": 4}));
    assert!(at.calls(1).await.is_empty());
    at.ask(&cx, "pause_trigger", json!({"triggerId": "Bell", "paused": false})).await.unwrap();
    at.ask(&cx, "update_trigger", json!({"triggerId": "Bell", "config": on_pin(7), "message": "dong"})).await.unwrap();
    at.tell("pin:changed", None, json!({"pin": 4}));
    at.tell("pin:changed", None, json!({"pin": 7}));
    assert_eq!(at.calls(1).await[0].1["text"], "dong");
    let gone = at.ask(&cx, "delete_trigger", json!({"triggerId": "Bell"})).await.unwrap();
    assert_eq!(gone.content["deleted"], true);
    at.house.clock.forward(5);
    at.tell("pin:changed", None, json!({"pin": 7}));
    assert_eq!(at.calls(2).await.len(), 1);
    assert!(matches!(at.ask(&cx, "get_trigger", json!({"triggerId": "Bell"})).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn a_condition_fires_when_it_becomes_so_and_not_while_it_is() {
    let at = At::new();
    let check = json!({"check": {"tool": "level", "path": "level", "op": "gt", "value": 5}, "everySeconds": 86400});
    let level = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(9));
    let tank = Family::new("tank", "A tank.", level.clone()).tool("level", Risk::Observe, read_level);
    at.house.registry.add(tank).unwrap();
    // The periodic check runs first, and finds no change.
    at.make(json!({"name": "Full", "type": "condition", "config": check, "message": "at {{value}}"})).await.unwrap();
    let mut seen = vec![];
    for (now, wanted) in [(9, 0), (9, 0), (3, 0), (7, 1), (8, 1), (2, 1), (6, 2)] {
        level.store(now, std::sync::atomic::Ordering::Relaxed);
        at.house.clock.forward(11);
        at.triggers.check_now().await;
        seen = at.calls(wanted).await.into_iter().map(|c| c.1["text"].clone()).collect();
        assert_eq!(seen.len(), wanted, "at {now}: {seen:?}");
    }
    assert_eq!(seen, [json!("at 7"), json!("at 6")]);
}

/// Read the level.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Look {}

async fn read_level(level: std::sync::Arc<std::sync::atomic::AtomicU32>, _: Cx, Look {}: Look) -> Result<Value> {
    Ok(json!({"level": level.load(std::sync::atomic::Ordering::Relaxed)}))
}

#[tokio::test]
async fn by_hand_it_acts_as_whoever_fires_it() {
    let at = At::new();
    at.make(json!({"name": "Pump", "type": "event", "config": on_pin(4), "tool": "move_it", "arguments": {"pin": 3}}))
        .await
        .unwrap();
    let cx = at.house.cx();
    let fired = at.ask(&cx, "fire_trigger", json!({"triggerId": "Pump"})).await.unwrap();
    assert_eq!(fired.content["status"], "ok");
    // A tainted run may not move things, nor do so through a trigger.
    let tainted = at.house.cx().in_run(Id::new(), None, CancellationToken::new());
    tainted.taint(Label::Outside);
    let asked = at.ask(&tainted, "fire_trigger", json!({"triggerId": "Pump"}));
    let waits = tokio::time::timeout(Duration::from_millis(300), asked).await;
    assert!(!matches!(waits, Ok(Ok(_))), "{waits:?}");
    assert_eq!(at.calls(1).await.len(), 1);
}

#[tokio::test]
async fn somebody_elses_trigger_is_not_there() {
    let at = At::new();
    let made = at.make(json!({"name": "Mine", "type": "event", "config": on_pin(4), "message": "x"})).await.unwrap();
    let (other, id) = (at.house.other(), made.content["id"].clone());
    let listed = at.ask(&other, "list_triggers", json!({})).await.unwrap().content;
    assert_eq!((&listed["count"], &listed["hasMore"]), (&json!(0), &json!(false)));
    for tool in
        ["get_trigger", "update_trigger", "pause_trigger", "delete_trigger", "fire_trigger", "get_trigger_history"]
    {
        for which in [id.clone(), json!("Mine")] {
            let answer = at.ask(&other, tool, json!({"triggerId": which})).await;
            assert!(matches!(answer, Err(Error::NotFound(_))), "{tool}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let at = At::new();
    let event = |more: Value| {
        let mut args = json!({"name": "X", "type": "event", "config": on_pin(4)});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    let condition =
        |check: Value| json!({"name": "X", "type": "condition", "config": {"check": check}, "message": "m"});
    for (args, word) in [
        (event(json!({})), "give an action"),
        (event(json!({"name": " ", "message": "m"})), "name"),
        (event(json!({"tool": "no_such"})), "no tool"),
        (event(json!({"message": "m", "prompt": "p"})), "exactly one"),
        (event(json!({"config": {"topic": "*"}, "message": "m"})), "name the event to wait for"),
        (condition(json!({"tool": "break_it", "op": "eq", "value": 1})), "read-only"),
        (condition(json!({"tool": "ping", "op": "eq"})), "value"),
        (condition(json!({"tool": "no_such", "op": "changed"})), "no tool"),
    ] {
        let error = at.make(args.clone()).await.unwrap_err();
        assert!(error.message().contains(word), "{args}: {error}");
    }
    assert_eq!(at.ask(&at.house.cx(), "list_triggers", json!({})).await.unwrap().content["count"], 0);
}

#[tokio::test]
async fn a_trigger_with_times_fires_at_them_as_it_was_agreed() {
    let at = At::new();
    let engine = at.house.scheduler.start(at.closing.clone());
    let every = json!({"schedule": "every 10 minutes"});
    let args = json!({"name": "Tick", "type": "schedule", "config": every, "tool": "move_it", "arguments": {"pin": 3}});
    let made = at.make(args).await.unwrap();
    assert_eq!(made.content["when"], "every 10 minutes");
    assert_eq!(made.content["sentence"], "Every 10 minutes: move something (pin 3).");
    assert_eq!(made.content["choice"], json!({"kind": "interval", "every": 10, "unit": "minutes"}));
    let listed = at.ask(&at.house.cx(), "list_triggers", json!({})).await.unwrap().say.unwrap();
    assert_eq!(listed, "There is one trigger: “Tick”, every 10 minutes.");
    assert_eq!(at.triggers.awaited_pins().len(), 0);
    let cx = at.house.cx();
    at.house.clock.forward(601);
    assert_eq!(at.calls(1).await, [("move_it".to_owned(), json!({"pin": 3, "high": false}))]);
    // Paused it has no due time, and an invalid change is rejected.
    let nonsense = json!({"triggerId": "Tick", "config": {"schedule": "nonsense"}});
    assert!(matches!(at.ask(&cx, "update_trigger", nonsense).await, Err(Error::BadArgs(_))));
    at.ask(&cx, "pause_trigger", json!({"triggerId": "Tick"})).await.unwrap();
    at.house.clock.forward(1201);
    assert_eq!(at.calls(2).await.len(), 1);
    let shown = at.ask(&cx, "get_trigger", json!({"triggerId": "Tick"})).await.unwrap().content;
    assert_eq!((&shown["config"]["schedule"], &shown["fired"]), (&json!("every 10 minutes"), &json!(1)));
    at.ask(&cx, "delete_trigger", json!({"triggerId": "Tick"})).await.unwrap();
    at.house.clock.forward(1201);
    assert_eq!(at.calls(2).await.len(), 1);
    at.closing.cancel();
    engine.await.unwrap();
}

#[tokio::test]
async fn nothing_that_acts_by_an_old_yes_can_be_written_down() {
    let at = At::new();
    for tool in ["fire_trigger", "trigger_task", "use_tool"] {
        let arguments = match tool {
            "use_tool" => json!({"tool_name": "fire_trigger", "arguments": {"triggerId": "X"}}),
            "trigger_task" => json!({"taskId": "X"}),
            _ => json!({"triggerId": "X"}),
        };
        at.house.registry.add(crate::schedules(at.house.scheduler.clone(), at.house.registry.clone())).ok();
        let made =
            at.make(json!({"name": "X", "type": "event", "config": on_pin(4), "tool": tool, "arguments": arguments}));
        assert!(matches!(made.await, Err(Error::BadArgs(_))), "{tool}");
        let planned = json!({"name": "X", "schedule": "in 1 hour", "tool": tool, "arguments": arguments});
        let planned = at.house.cx().call("create_scheduled_task", planned).await;
        assert!(matches!(planned, Err(Error::BadArgs(_))), "{tool}: {planned:?}");
    }
}

#[tokio::test]
async fn what_is_filled_in_goes_where_other_names_want_it() {
    let at = At::new();
    let notify = json!({"tool_name": "notify", "arguments": {"text": "{{topic}} {{data.pin}}"}});
    at.make(json!({"name": "N", "type": "event", "config": on_pin(4), "tool": "use_tool", "arguments": notify}))
        .await
        .unwrap();
    at.tell("pin:changed", None, json!({"pin": 4}));
    assert_eq!(at.calls(1).await[0].1["text"], "pin:changed 4");
}
