//! The event stream: topics, replay of missed events, and who receives what.

use crate::{
    approvals::{autonomy, decide, that_waits},
    harness::{Hob, Setup, until},
    http::{Events, read_status},
    model_server::{calls, says},
};
use serde_json::{Value, json};

fn listen(hob: &Hob, query: &str) -> Events {
    hob.admin("GET", &format!("/api/v1/events?{query}")).events()
}

/// The next so many events: topic and data.
fn next(events: &mut Events, count: usize) -> Vec<(String, Value)> {
    events.take(count).collect()
}

fn topics(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(topic, _)| topic.as_str()).collect()
}

fn pin(hob: &Hob, pin: u8) {
    hob.result("gpio_write", json!({"pin": pin, "high": true}));
}

#[test]
fn patterns_choose_what_is_heard() {
    let config = "[pins]\nswitches_per_second = 0\n".into();
    let mut hob = Hob::with(Setup { config, ..Setup::default() });
    for (query, expected) in [
        ("topics=pin:changed", &["pin:changed"][..]),
        ("topics=tool:*", &["tool:before", "tool:after"]),
        ("topics=*:changed", &["pin:changed"]),
        ("topics=tool:after,pin:*", &["pin:changed", "tool:after"]),
        ("topics=tool:after,%20pin:*", &["pin:changed", "tool:after"]),
        ("topics=*ol:*er", &["tool:after"]),
        ("topics=*", &["tool:before", "pin:changed", "change", "tool:after"]),
        ("topics=", &["tool:before", "pin:changed", "change", "tool:after"]),
        ("", &["tool:before", "pin:changed", "change", "tool:after"]),
    ] {
        let mut events = listen(&hob, query);
        hob.result("gpio_write", json!({"pin": 1, "high": false}));
        pin(&hob, 1);
        // Both calls; nothing changed the first time.
        let of_changes = expected.iter().filter(|topic| ["pin:changed", "change"].contains(topic)).count();
        let heard = next(&mut events, 2 * expected.len() - of_changes);
        let mut first: Vec<&str> = topics(&heard);
        first.sort_unstable();
        first.dedup();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(first, expected, "{query}");
        hob.result("gpio_write", json!({"pin": 1, "high": true}));
    }
    let many = "a,".repeat(33);
    for wrong in ["tool:(", "a%20b", "tool/after", &"x".repeat(65), &many] {
        let why = hob.get(&format!("/api/v1/events?topics={wrong}")).refusal(400, "bad_args");
        assert!(why.contains("topic"), "{why}");
    }
    hob.get("/api/v1/events?after=yesterday").refusal(400, "bad_args");
    hob.assert_alive();
}

#[test]
fn who_comes_back_hears_what_was_missed_of_it() {
    let mut hob = Hob::start();
    let mut events = listen(&hob, "topics=pin:*");
    (1..=3).for_each(|n| pin(&hob, n));
    let heard = next(&mut events, 3);
    drop(events);
    let seq = |event: &(String, Value)| event.1["seq"].as_u64().unwrap();
    (4..=6).for_each(|n| pin(&hob, n));
    let pins = |events: Vec<(String, Value)>| -> Vec<u64> {
        events.iter().map(|(_, event)| event["data"]["pin"].as_u64().unwrap()).collect()
    };
    let from = seq(&heard[0]);
    for (what, mut events, expected) in [
        ("after", listen(&hob, &format!("topics=pin:*&after={from}")), vec![2, 3, 4, 5, 6]),
        (
            "Last-Event-ID",
            hob.admin("GET", "/api/v1/events?topics=pin:*")
                .header("Last-Event-ID", &seq(&heard[2]).to_string())
                .events(),
            vec![4, 5, 6],
        ),
        // What was said in the address counts first.
        (
            "both",
            hob.admin("GET", &format!("/api/v1/events?topics=pin:*&after={}", seq(&heard[1])))
                .header("Last-Event-ID", "1")
                .events(),
            vec![3, 4, 5, 6],
        ),
    ] {
        assert_eq!(pins(next(&mut events, expected.len())), expected, "{what}");
        // And goes on with what comes.
        hob.result("gpio_write", json!({"pin": 9, "high": true}));
        hob.result("gpio_write", json!({"pin": 9, "high": false}));
        assert_eq!(pins(next(&mut events, 1)), [9], "{what}");
    }
    // Too long ago, or before a restart: read anew.
    for query in ["topics=pin:*&after=1", "topics=nothing:ever&after=99999999999999"] {
        assert_eq!(topics(&next(&mut listen(&hob, query), 1)), ["resync"], "{query}");
    }
    let last = seq(&heard[2]);
    hob.kill();
    hob.start_again();
    assert_eq!(topics(&next(&mut listen(&hob, &format!("after={last}&topics=pin:*")), 1)), ["resync"]);
}

#[test]
fn questions_and_changed_rules_are_told_to_whom_they_concern() {
    let (hob, server) = that_waits(20, "");
    let ben = hob.token("ben", "member");
    let query = "/api/v1/events?topics=approval:*,*:changed";
    let mut own = hob.admin("GET", query).events();
    let mut bens = hob.request("GET", query).bearer(&ben).events();
    autonomy(&hob, "medium");
    hob.admin("PUT", "/api/v1/policy").json(&json!({})).send().data(200);
    hob.admin("PUT", "/api/v1/tool-groups/gpio").json(&json!({"enabled": false})).send().data(200);
    hob.admin("PUT", "/api/v1/config-services/nas").json(&json!({})).send().data(200);
    server.script(vec![calls(&[("forget", json!({"memoryId": "x"}))]), says("ok")]);
    let mut events = hob.stream(json!({"message": "x"}));
    let question = events.find(|(name, _)| name == "approval").unwrap().1;
    let settled = decide(&hob, &question, "deny");
    assert_eq!(events.last().unwrap().0, "done");
    hob.admin("PUT", "/api/v1/tool-groups/gpio").json(&json!({"enabled": true})).send().data(200);
    let expected = [
        "policy:changed",
        "policy:changed",
        "groups:changed",
        "config:changed",
        "approval:asked",
        "approval:settled",
        "groups:changed",
    ];
    let heard = next(&mut own, expected.len());
    assert_eq!(topics(&heard), expected);
    assert_eq!((&heard[2].1["data"]["group"], &heard[2].1["data"]["enabled"]), (&json!("gpio"), &json!(false)));
    assert_eq!(heard[3].1["data"], json!({"service": "nas"}));
    assert_eq!(heard[4].1["data"], question, "what is asked is told in full");
    let data = &heard[5].1["data"];
    for field in ["id", "state", "decision", "tool", "runId", "conversationId"] {
        assert_eq!(data[field], settled[field], "{field}");
    }
    // Another person hears of the household, and not of what somebody else is asked.
    assert_eq!(
        topics(&next(&mut bens, 5)),
        ["policy:changed", "policy:changed", "groups:changed", "config:changed", "groups:changed"]
    );
    // Nor does anybody whose key is for something else.
    let made = hob.post("/api/v1/tokens", json!({"name": "ben", "role": "member", "scope": ["approvals"]})).data(201);
    let key = made["token"].as_str().unwrap();
    hob.request("GET", query).bearer(key).send().refusal(403, "out_of_scope");
    until("an end of the stream", || read_status(&mut hob.request("GET", query).bearer(&ben).open()) == 200);
}
