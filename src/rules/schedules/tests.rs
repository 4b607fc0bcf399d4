//! The schedule tools on a real store and registry: parameters, results and sentences.

use super::*;
use crate::testing::{House, call};
use tool::{Channel, Label, Principal, Role, Via};

async fn ask(house: &House, cx: &Cx, tool: &str, args: Value) -> Result<Output> {
    call(family(house.scheduler.clone(), house.registry.clone()), cx, tool, args).await
}

async fn said(house: &House, tool: &str, args: Value) -> String {
    ask(house, &house.cx(), tool, args).await.map_or_else(|e| format!("{}: {e}", e.code()), |o| o.say.unwrap())
}

async fn content(house: &House, tool: &str, args: Value) -> Value {
    ask(house, &house.cx(), tool, args).await.unwrap().content
}

#[tokio::test]
async fn what_is_made_is_told_in_plain_words() {
    let house = House::new();
    let rows = [
        (
            json!({"name": "bins", "schedule": "at 19:00", "message": "take out the bins"}),
            "I will remind you today at 19:00: take out the bins.",
        ),
        (json!({"name": "Call mum", "schedule": "tomorrow at 7:30"}), "I will remind you tomorrow at 07:30: Call mum."),
        (
            json!({"name": "Dentist!", "schedule": "2026-12-04T09:00"}),
            "I will remind you on Friday 4 December at 09:00: Dentist!",
        ),
        (
            json!({"name": "tea", "schedule": "every day at 16:00", "message": "tea"}),
            "I will remind you every day at 16:00: tea.",
        ),
        (
            json!({"name": "news", "schedule": "0 7 * * 1-5", "prompt": "sum up the news"}),
            "I will do that from Monday to Friday at 07:00: news.",
        ),
        (
            json!({"name": "dinner", "schedule": "every first monday at 19:00", "person": "everyone"}),
            "I will remind everyone every first Monday at 19:00: dinner.",
        ),
        (
            json!({"name": "lamp", "schedule": "in 10 minutes", "tool": "ping", "arguments": {"n": 4}}),
            "I will do that today at 14:40: lamp.",
        ),
        (
            json!({"name": "later", "schedule": "PT1H", "tool": "ping", "enabled": false}),
            "I have saved “later”, every hour; it is paused.",
        ),
    ];
    for (args, wanted) in rows {
        assert_eq!(said(&house, "create_scheduled_task", args.clone()).await, wanted, "{args}");
    }
    assert_eq!(
        said(&house, "list_scheduled_tasks", json!({})).await,
        "8 things are planned:\n- Lamp, today at 14:40\n- Tea, every day at 16:00\n- Bins, today at 19:00\n- Call mum, tomorrow at 07:30\n- \
          News, from Monday to Friday at 07:00\n- Dentist!, on Friday 4 December at 09:00\n- Dinner, every first Monday at 19:00, for everyone\n- Later, which is paused"
    );
    assert_eq!(
        said(&house, "list_scheduled_tasks", json!({"search": "mum"})).await,
        "One reminder is set: Call mum, tomorrow at 07:30."
    );
    assert_eq!(
        said(&house, "list_scheduled_tasks", json!({"search": "dinner"})).await,
        "One reminder is set: dinner, every first Monday at 19:00, for everyone."
    );
    assert_eq!(said(&house, "list_scheduled_tasks", json!({"search": "cat"})).await, "No reminders are set.");
    assert_eq!(
        said(&house, "list_scheduled_tasks", json!({"enabled": false})).await,
        "One thing is planned: later, which is paused."
    );
    let page = content(&house, "list_scheduled_tasks", json!({"limit": 2, "offset": 6})).await;
    assert_eq!((&page["count"], &page["hasMore"]), (&json!(2), &json!(false)));
    let names: Vec<&str> = page["tasks"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["dinner", "later"]);
    assert_eq!(content(&house, "list_scheduled_tasks", json!({"offset": 99})).await["count"], 0);
}

#[tokio::test]
async fn a_task_is_answered_whole() {
    let house = House::new();
    let made = content(
        &house,
        "create_scheduled_task",
        json!({"name": "news", "schedule": {"type": "cron", "expression": "0 7 * * *"}, "timezone": "Asia/Tokyo", "prompt": "sum up",
               "description": "each morning", "endAt": "2026-12-31", "maxRuns": 9, "missed": "skip", "retries": 3, "retryDelaySeconds": 5}),
    )
    .await;
    let expected = json!({
        "name": "news", "description": "each morning", "schedule": "{\"type\":\"cron\",\"expression\":\"0 7 * * *\"}",
        "scheduleText": "every day at 07:00 (Asia/Tokyo)", "choice": {"kind": "daily", "time": "07:00"},
        "sentence": "Every day at 07:00 (Asia/Tokyo): ask Hob “sum up”.",
        "timezone": "Asia/Tokyo", "action": {"type": "prompt", "prompt": "sum up"},
        "enabled": true, "missed": "skip", "retries": 3, "retryDelaySeconds": 5, "endAt": "2027-01-01T07:59:59+09:00", "maxRuns": 9,
        "nextRun": "2026-11-21T07:00:00+09:00", "nextTry": null, "lastRun": null, "lastStatus": null, "running": false, "runs": 0,
        "failures": 0, "stopped": null, "conversationId": null, "updatedAt": "2026-11-20T14:30:00+01:00",
    });
    for (field, value) in expected.as_object().unwrap() {
        let same = match field.as_str() {
            // Ignore the order of fields.
            "schedule" => serde_json::from_str::<Value>(made["schedule"].as_str().unwrap()).unwrap()["type"] == "cron",
            _ => made[field] == *value,
        };
        assert!(same, "{field}: {}", made[field]);
    }
    assert_eq!(made.as_object().unwrap().len(), expected.as_object().unwrap().len() + 2);
    assert!(made["id"].is_string() && made["createdAt"].as_str().unwrap().contains('T'));
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_nothing_is_kept() {
    let house = House::new();
    let (long, huge) = ("x".repeat(201), "x".repeat(2001));
    for (args, word) in [
        (json!({"name": "", "schedule": "in 1 minute"}), "the name is empty"),
        (json!({"name": long, "schedule": "in 1 minute"}), "longer than 200"),
        (json!({"name": "a", "schedule": "soon"}), "not a schedule"),
        (json!({"name": "a", "schedule": "0 0 30 2 *"}), "never occurs"),
        (json!({"name": "a", "schedule": "every 100ms"}), "shorter than a second"),
        (json!({"name": "a", "schedule": "2020-01-01T00:00"}), "has passed"),
        (json!({"name": "a", "schedule": "in 1 minute", "timezone": "Mars"}), "not a time zone"),
        (json!({"name": "a", "schedule": "in 1 minute", "message": "m", "prompt": "p"}), "exactly one"),
        (json!({"name": "a", "schedule": "in 1 minute", "tool": "no_such"}), "no tool called"),
        (json!({"name": "a", "schedule": "in 1 minute", "tool": "move_it"}), "do not fit"),
        (json!({"name": "a", "schedule": "in 1 minute", "tool": "move_it", "arguments": {"pin": "x"}}), "do not fit"),
        (json!({"name": "a", "schedule": "in 1 minute", "endAt": "2020-01-01"}), "in the past"),
        (json!({"name": "a", "schedule": "tomorrow at 7:00", "endAt": "2026-11-20"}), "before its first time"),
        (json!({"name": "a", "schedule": "in 1 minute", "endAt": "never"}), "no date"),
        (json!({"name": "a", "schedule": "in 1 minute", "description": huge}), "description is longer"),
        (json!({"name": "a", "schedule": 7}), "must be a text"),
        (json!({"name": "a"}), "missing field `schedule`"),
        (json!({"name": "a", "schedule": "in 1 minute", "colour": "red"}), "unknown field"),
    ] {
        let answer = said(&house, "create_scheduled_task", args.clone()).await;
        assert!(answer.contains(word), "{args}: {answer}");
    }
    for tool in ["update_scheduled_task", "delete_scheduled_task", "get_task_history", "trigger_task"] {
        for which in ["", "nothing", "0197f3a2-0000-7000-8000-000000000000"] {
            let answer = said(&house, tool, json!({"taskId": which})).await;
            assert!(answer.contains("scheduled task"), "{tool} {which}: {answer}");
        }
    }
    assert_eq!(content(&house, "list_scheduled_tasks", json!({})).await["count"], 0);
}

#[tokio::test]
async fn a_task_is_changed_run_shown_and_deleted() {
    let house = House::new();
    let made =
        content(&house, "create_scheduled_task", json!({"name": "ping it", "schedule": "0 7 * * *", "tool": "ping"}))
            .await;
    let id = made["id"].clone();
    let update = async |change: Value| {
        let mut args = json!({"taskId": id});
        args.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ask(&house, &house.cx(), "update_scheduled_task", args).await
    };
    let at_eight = update(json!({"schedule": "0 8 * * *"})).await.unwrap();
    assert_eq!(at_eight.say.unwrap(), "“ping it” comes every day at 08:00.");
    let tokyo = update(json!({"timezone": "Asia/Tokyo"})).await.unwrap().content;
    assert_eq!(
        (&tokyo["scheduleText"], &tokyo["nextRun"]),
        (&json!("every day at 08:00 (Asia/Tokyo)"), &json!("2026-11-21T08:00:00+09:00"))
    );
    let still = update(json!({"schedule": "0 9 * * *"})).await.unwrap().content;
    assert_eq!(still["timezone"], "Asia/Tokyo", "what is not given stays");
    assert_eq!(update(json!({"enabled": false})).await.unwrap().say.unwrap(), "“ping it” is paused.");
    let told = update(json!({"enabled": true, "endAt": "2026-12-24", "message": "look", "name": "look"}))
        .await
        .unwrap()
        .content;
    assert_eq!((&told["action"], &told["name"]), (&json!({"type": "notify", "message": "look"}), &json!("look")));
    assert_eq!(told["endAt"], "2026-12-25T07:59:59+09:00");
    assert_eq!(update(json!({"endAt": ""})).await.unwrap().content["endAt"], Value::Null);
    let unchanged = update(json!({"tool": "ping", "message": "x"})).await.unwrap_err();
    assert!(matches!(&unchanged, Error::BadArgs(text) if text.contains("exactly one")));

    assert_eq!(said(&house, "get_task_history", json!({"taskId": "look"})).await, "“look” has not come yet.");
    update(json!({"tool": "ping", "arguments": {"n": 5}})).await.unwrap();
    assert_eq!(said(&house, "trigger_task", json!({"taskId": "look"})).await, "“look” has run: Pong.");
    assert_eq!(house.called(), [("ping".to_owned(), json!({"n": 5}))]);
    assert_eq!(said(&house, "get_task_history", json!({"taskId": "look"})).await, "“look” last ran today at 14:30.");
    let history = content(&house, "get_task_history", json!({"taskId": id})).await;
    let run = &history["runs"][0];
    assert_eq!(
        (&history["count"], &run["status"], &run["result"], &run["attempt"], &run["byHand"], &run["scheduledFor"]),
        (&json!(1), &json!("ok"), &json!("Pong."), &json!(1), &json!(true), &json!("2026-11-20T14:30:00+01:00"))
    );
    update(json!({"tool": "break_it"})).await.unwrap();
    assert_eq!(said(&house, "trigger_task", json!({"taskId": "look"})).await, "“look” failed: it broke.");

    assert_eq!(said(&house, "delete_scheduled_task", json!({"taskId": "look"})).await, "“look” is cancelled.");
    assert!(said(&house, "delete_scheduled_task", json!({"taskId": "look"})).await.starts_with("not_found"));
}

#[tokio::test]
async fn an_interval_has_no_zone_of_its_own() {
    let house = House::new();
    ask(&house, &house.cx(), "create_scheduled_task", json!({"name": "a", "schedule": "every hour"})).await.unwrap();
    let answer = said(&house, "update_scheduled_task", json!({"taskId": "a", "timezone": "Asia/Tokyo"})).await;
    assert!(answer.contains("has no time zone"), "{answer}");
}

#[tokio::test]
async fn a_moment_moves_the_time_of_what_repeats_and_keeps_its_days() {
    let house = House::new();
    let made = json!({"name": "bins", "schedule": "0 7 * * 4", "message": "put the bins out"});
    said(&house, "create_scheduled_task", made).await;
    let moved = json!({"taskId": "bins", "schedule": "2026-11-20T20:30"});
    assert_eq!(said(&house, "update_scheduled_task", moved).await, "“bins” comes every Thursday at 20:30.");
    let made = json!({"name": "pills", "schedule": "0 8,18 * * *", "message": "take my pills"});
    said(&house, "create_scheduled_task", made).await;
    let moved = said(&house, "update_scheduled_task", json!({"taskId": "pills", "schedule": "2026-11-20T21:00"})).await;
    assert!(moved.starts_with("bad_args"), "{moved}");
    let once = json!({"taskId": "bins", "schedule": {"type": "once", "at": "2026-11-21T09:00"}});
    assert_eq!(said(&house, "update_scheduled_task", once).await, "“bins” comes tomorrow at 09:00.");
    let moved = json!({"taskId": "bins", "schedule": "2026-11-21T10:00"});
    assert_eq!(said(&house, "update_scheduled_task", moved).await, "“bins” comes tomorrow at 10:00.");
}

#[tokio::test]
async fn at_its_time_it_runs_and_nobody_elses_is_touched() {
    let house = House::new();
    let closing = tokio_util::sync::CancellationToken::new();
    let engine = house.scheduler.start(closing.clone());
    for (cx, n) in [(house.cx(), 1), (house.other(), 2)] {
        let args = json!({"name": "mine", "schedule": "in 1 minute", "tool": "ping", "arguments": {"n": n}});
        ask(&house, &cx, "create_scheduled_task", args).await.unwrap();
    }
    house.clock.forward(60);
    for _ in 0..400 {
        if house.called().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    closing.cancel();
    engine.await.unwrap();
    let mut called: Vec<i64> = house.called().iter().map(|(_, args)| args["n"].as_i64().unwrap()).collect();
    called.sort_unstable();
    assert_eq!(called, [1, 2]);
    let page = content(&house, "list_scheduled_tasks", json!({})).await;
    assert_eq!(
        (&page["count"], &page["tasks"][0]["lastStatus"], &page["tasks"][0]["enabled"]),
        (&json!(1), &json!("ok"), &json!(false))
    );
    let over = said(&house, "list_scheduled_tasks", json!({})).await;
    assert_eq!(over, "One thing is planned: mine, which is over.");
}

#[tokio::test]
async fn through_the_registry_rules_hold() {
    let house = House::new();
    house.registry.add(family(house.scheduler.clone(), house.registry.clone())).unwrap();
    let viewer = Principal { role: Role::Viewer, ..Principal::owner() };
    let viewer = Cx::root(house.ports.clone(), viewer, Via::direct(Channel::Api));
    let bins = json!({"name": "bins", "schedule": "in 1 hour"});
    assert!(matches!(viewer.call("create_scheduled_task", bins.clone()).await, Err(Error::Denied(_))));
    assert!(viewer.call("list_scheduled_tasks", json!({})).await.is_ok());
    house.cx().call("create_scheduled_task", bins).await.unwrap();
    // A tainted run stores no future action without approval, under any tool name.
    let tainted = house.cx().in_run(Id::new(), None, Default::default());
    tainted.taint(Label::Outside);
    let stopped = tokio_util::sync::CancellationToken::new();
    stopped.cancel();
    for (tool, args) in [
        ("create_scheduled_task", json!({"name": "a", "schedule": "in 1 hour"})),
        ("update_scheduled_task", json!({"taskId": "bins", "name": "a"})),
        ("cron", json!({"action": "add", "name": "a", "schedule": "in 1 hour"})),
    ] {
        let asked = tainted.in_run(Id::new(), None, stopped.clone()).call(tool, args).await;
        assert!(matches!(asked, Err(Error::Unavailable(_) | Error::Denied(_))), "{tool}: {asked:?}");
    }
    assert_eq!(house.scheduler.list(&house.cx(), |_| true).unwrap().len(), 1);
}
