//! Timers as tools, on a real store and a clock that stands still; now is Friday, 20 November 2026, 14:30 in Vienna.

use super::*;
use crate::testing::{Tools, cx, somebody};
use scheduler::{Scheduler, ToolFacts};
use std::sync::Arc;
use store::Store;
use tool::{Label, Scope};

struct House {
    store: Store,
    timers: Timers,
}

fn house() -> House {
    let store = Store::in_memory().unwrap();
    let facts = Arc::new(|_: &str| ToolFacts { idempotent: true, detached: false });
    let timers = Scheduler::new(&store, cx().ports().clone(), facts).timers();
    House { store, timers }
}

impl House {
    fn tools(&self) -> Tools<impl Fn() -> Family<Timers> + use<>> {
        let timers = self.timers.clone();
        Tools(move || family(timers.clone()))
    }

    /// Lets a timer ring that was due so many seconds ago.
    async fn ring(&self, name: &str, seconds: i64) {
        let all = self.timers.list(&cx()).unwrap();
        let id = pick::named(&all, name).unwrap().id;
        let now = cx().ports().clock.now().as_millisecond();
        let ring = move |timer: &mut Timer| {
            (timer.state, timer.ends_ms, timer.rang_ms) = (TimerState::Ringing, now - 1000 * seconds, now);
            Ok(())
        };
        self.timers.change(&cx(), id, ring).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_said_is_short_and_right() {
    let house = house();
    let t = house.tools();
    for (tool, args, says) in [
        ("list_timers", json!({}), "No timer is running."),
        ("cancel_timer", json!({"all": true}), "No timer is running."),
        ("set_timer", json!({"duration": "PT3M"}), "Timer set: 3 minutes."),
        ("list_timers", json!({}), "3 minute timer: 3 minutes left."),
        (
            "set_timer",
            json!({"duration": "PT1H30M", "name": "the pizza timer"}),
            "Pizza timer set: 1 hour and 30 minutes.",
        ),
        ("set_timer", json!({"duration": "12 minutes", "name": "PIZZA"}), "Pizza timer set again, now for 12 minutes."),
        ("list_timers", json!({}), "2 timers are set:\n- 3 minute timer: 3 minutes left\n- Pizza: 12 minutes left"),
        ("pause_timer", json!({"timer": "pizza"}), "Pizza timer paused with 12 minutes left."),
        ("adjust_timer", json!({"timer": "pizza", "duration": "PT5M"}), "Pizza timer: now 17 minutes left."),
        ("adjust_timer", json!({"timer": "3 minutes", "duration": "-PT1M"}), "3 minute timer: now 2 minutes left."),
        (
            "list_timers",
            json!({}),
            "2 timers are set:\n- 3 minute timer: 2 minutes left\n- Pizza: paused with 17 minutes left",
        ),
        ("resume_timer", json!({}), "Pizza timer is running: 17 minutes left."),
        (
            "set_timer",
            json!({"duration": "PT15M", "timer": "3 minute"}),
            "15 minute timer set again, now for 15 minutes.",
        ),
        ("stop_timer", json!({"timer": "the pizza timer"}), "Pizza timer stopped."),
        ("cancel_timer", json!({}), "15 minute timer cancelled."),
        ("set_timer", json!({"duration": "PT1M"}), "Timer set: 1 minute."),
        ("set_timer", json!({"duration": "PT2M", "name": "tea"}), "Tea timer set: 2 minutes."),
        ("cancel_timer", json!({"all": true}), "2 timers cancelled: 1 minute timer and Tea."),
    ] {
        assert_eq!(t.say(tool, args.clone()).await, says, "{tool} {args}");
    }
}

#[tokio::test]
async fn a_ringing_timer_is_stopped_snoozed_or_given_more_time() {
    let house = house();
    let t = house.tools();
    for name in ["pizza", "tea", "rice"] {
        t.ask("set_timer", json!({"duration": "PT12M", "name": name})).await;
    }
    assert!(
        t.say("snooze_timer", json!({"timer": "tea"}))
            .await
            .contains("Tea timer is not ringing: it has 12 minutes left")
    );
    house.ring("pizza", 0).await;
    for (tool, args, says) in [
        ("pause_timer", json!({"timer": "pizza"}), "Pizza timer is ringing: stop it, or snooze it"),
        ("snooze_timer", json!({}), "Pizza timer snoozed for 5 minutes."),
        (
            "list_timers",
            json!({}),
            "3 timers are set:\n- Pizza: 5 minutes left\n- Tea: 12 minutes left\n- Rice: 12 minutes left",
        ),
    ] {
        assert!(t.say(tool, args.clone()).await.contains(says), "{tool} {args}");
    }
    house.ring("pizza", 600).await;
    house.ring("tea", 0).await;
    assert_eq!(
        t.say("list_timers", json!({})).await,
        "3 timers are set:\n- Pizza: ringing; it was done at 14:20, while Hob was off\n- Tea: ringing; it was done at 14:30\n- Rice: 12 minutes left"
    );
    assert_eq!(
        t.say("adjust_timer", json!({"timer": "tea", "duration": "PT2M"})).await,
        "Tea timer: now 2 minutes left."
    );
    house.ring("tea", 0).await;
    assert_eq!(t.say("stop_timer", json!({})).await, "2 timers stopped: Pizza and Tea.");
    assert_eq!(t.say("stop_timer", json!({})).await, "Rice timer stopped.", "one that still runs is ended");
}

#[tokio::test]
async fn which_timer_is_meant() {
    let house = house();
    let t = house.tools();
    for (duration, name) in [("PT10M", ""), ("PT12M", "pizza"), ("PT5M", "Pizza stone"), ("PT1H", "")] {
        t.ask("set_timer", json!({"duration": duration, "name": name})).await;
    }
    for (which, found) in [
        ("pizza", "Pizza"),
        ("the PIZZA timer", "Pizza"),
        ("stone", "Pizza stone"),
        ("10 minutes", "10 minute"),
        ("10-minute timer", "10 minute"),
        ("PT10M", "10 minute"),
        ("an hour", "1 hour"),
        ("12 minute pizza", "Pizza"),
    ] {
        let said = t.say("pause_timer", json!({"timer": which})).await;
        assert!(said.starts_with(&format!("{found} timer paused")), "{which}: {said}");
    }
    let several = t.say("cancel_timer", json!({})).await;
    assert!(
        several.contains(
            "4 timers fit; say which one, by its name or length: 10 minute timer (paused with 10 minutes left), Pizza ("
        ),
        "{several}"
    );
    t.ask("set_timer", json!({"duration": "PT10M"})).await;
    let alike = t.say("cancel_timer", json!({"timer": "10 minutes"})).await;
    assert!(alike.contains("2 timers fit; say which one, by its id: 10 minute timer (01"), "{alike}");
    // The one that runs is meant where the others are paused.
    assert_eq!(
        t.say("pause_timer", json!({"timer": "10 minutes"})).await,
        "10 minute timer paused with 10 minutes left."
    );
    let none = t.say("cancel_timer", json!({"timer": "laundry"})).await;
    assert!(
        none.contains("there is no timer “laundry”. These are set: 10 minute timer (")
            && none.contains("Pizza stone ("),
        "{none}"
    );
    let id = t.ask("list_timers", json!({})).await["timers"][2]["id"].clone();
    assert_eq!(t.say("cancel_timer", json!({"timer": id})).await, "Pizza stone timer cancelled.");
    assert!(t.say("cancel_timer", json!({"timer": id})).await.contains("there is no timer"));
}

#[tokio::test]
async fn wrong_arguments_change_nothing() {
    let house = house();
    let t = house.tools();
    t.ask("set_timer", json!({"duration": "PT10M", "name": "tea"})).await;
    let long = "x".repeat(NAME + 1);
    t.refuses(
        "list_timers",
        &[
            ("set_timer", json!({"duration": "soon"}), "`soon` is no duration: write it as PT10M"),
            ("set_timer", json!({"duration": "PT0.5S"}), "a second at least"),
            ("set_timer", json!({"duration": "-PT5M"}), "not positive"),
            ("set_timer", json!({"duration": "PT24H1S"}), "24 hours at most"),
            ("set_timer", json!({"duration": "PT1M", "name": long}), "longer than 60"),
            ("cancel_timer", json!({"timer": "tea", "all": true}), "either"),
            ("adjust_timer", json!({"timer": "tea", "duration": "-PT10M"}), "Tea timer has 10 minutes left"),
            ("adjust_timer", json!({"timer": "tea", "duration": "PT24H"}), "24 hours at most"),
            ("adjust_timer", json!({"timer": "tea", "duration": "more"}), "no duration"),
            ("snooze_timer", json!({"timer": "tea", "duration": "PT48H"}), "24 hours at most"),
        ],
    )
    .await;
    for _ in 1..50 {
        t.ask("set_timer", json!({"duration": "PT10M"})).await;
    }
    t.refuses("list_timers", &[("set_timer", json!({"duration": "PT1M"}), "50 timers already: cancel one")]).await;
}

#[tokio::test]
async fn the_household_shares_timers() {
    let house = house();
    let t = house.tools();
    let (owner, ben) = (cx(), somebody());
    t.by(&ben, "set_timer", json!({"duration": "PT10M", "name": "tea"})).await.unwrap();
    let seen = t.by(&owner, "list_timers", json!({})).await.unwrap();
    assert_eq!(seen.content["timers"][0]["setBy"], json!(ben.user()));
    assert_eq!(owner.label(), Label::Member(ben.user()), "another member wrote the name");
    let changed = t.by(&cx(), "pause_timer", json!({})).await.unwrap();
    assert_eq!(changed.content["state"], "paused");
    let stored = house.store.collection::<Timer>().list_in(Scope::Household, &store::Listing::default()).unwrap();
    assert_eq!((stored.len(), stored[0].owner), (1, ben.user()));
}

#[tokio::test]
async fn only_a_new_timer_adds() {
    let house = house();
    let t = house.tools();
    t.ask("set_timer", json!({"duration": "PT10M", "name": "Tea"})).await;
    let parts = family(house.timers.clone()).into_parts();
    let set = parts.tools.iter().find(|tool| &*tool.name == "set_timer").unwrap();
    let adds = |args: Value| set.additive.as_ref().unwrap()(&cx(), &args);
    assert!(adds(json!({"duration": "PT10M"})) && adds(json!({"duration": "PT10M", "name": "Pizza"})));
    assert!(!adds(json!({"duration": "PT10M", "name": "tea timer"})), "it would replace one");
    assert!(!adds(json!({"duration": "PT10M", "timer": "tea"})));
}
