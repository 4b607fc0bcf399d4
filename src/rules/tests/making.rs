//! Making rules: the forms that are accepted, the sentences they read as, and what is refused.

use super::*;

#[tokio::test]
async fn loose_forms_become_one_and_read_as_a_sentence() {
    let at = At::new();
    for (args, wanted) in [
        (
            json!({"triggers": ["bell pressed twice"], "conditions": ["unless it is day"],
                   "actions": ["turn on the hall lamp for 5 minutes"]}),
            "When the bell is pressed twice, turn on the hall lamp for 5 minutes, unless it is day.",
        ),
        (
            json!({"triggers": "sunset-00:15", "actions": {"thing": "porch light", "action": "on"}}),
            "Every day 15 minutes before sunset, turn on the porch light.",
        ),
        (
            json!({"triggers": "every evening at sunset", "actions": "turn on the porch light"}),
            "Every day at sunset, turn on the porch light.",
        ),
        // It is 14:30, and the sun sets at about 16:10.
        (
            json!({"triggers": "sunset once", "actions": "turn on the porch light"}),
            "Once at sunset today, turn on the porch light.",
        ),
        (
            json!({"triggers": {"sun": "sunrise", "once": true}, "actions": "turn off the porch light"}),
            "Once at sunrise tomorrow, turn off the porch light.",
        ),
        (
            json!({"triggers": {"sunset": "-03:00", "date": "next"}, "actions": "turn on the porch light"}),
            "Once 3 hours before sunset tomorrow, turn on the porch light.",
        ),
        (
            json!({"triggers": "tomorrow at 18:00", "actions": "turn on the porch light"}),
            "Once on Saturday 21 November at 18:00, turn on the porch light.",
        ),
        (
            json!({"triggers": [{"type": "threshold", "thing": "Bedroom Temperature", "above": "25", "hysteresis": 1, "for": "5 minutes"}],
                   "actions": [{"type": "pin", "pin": "Lamp", "action": "on"}, {"wait": "10 s"}, {"pin": 17, "high": false}]}),
            "When the bedroom temperature goes above 25 for 5 minutes, turn on the lamp, wait 10 seconds, then turn off the lamp.",
        ),
        (
            json!({"triggers": [{"type": "thing", "thing": "front door", "to": "open"}, {"schedule": "every day at 7:00"}],
                   "conditions": [{"after": "22:00", "before": "6 am"}, {"days": ["weekdays"]}],
                   "actions": [{"message": "the door"}]}),
            "When the front door opens or every day at 07:00, tell you “the door”, if it is between 22:00 and 06:00 and it is a weekday.",
        ),
        (
            json!({"triggers": {"topic": "zigbee/+/action", "payload": "double"},
                   "actions": {"type": "mqtt", "topic": "lamp/set", "payload": "ON"}}),
            "When “double” arrives on MQTT topic zigbee/+/action, publish “ON” to MQTT topic lamp/set.",
        ),
        (
            json!({"triggers": {"entity_id": "binary_sensor.motion", "state": true}, "actions": {"prompt": "look around"}}),
            "When binary_sensor.motion turns on, ask Hob “look around”.",
        ),
        (
            json!({"triggers": {"type": "event", "config": {"topic": "tasks:changed", "match": {"finished": true}}},
                   "actions": {"tool": "ping", "arguments": {"n": 3}}}),
            "When a task is done, reply to a ping (n 3).",
        ),
        (
            json!({"triggers": "when the hall lamp turns off", "conditions": {"any": ["it is dark", {"thing": "Front door", "is": "open"}]},
                   "actions": "tell me that it is dark"}),
            "When the hall lamp turns off, tell you “it is dark”, if (it is dark or the front door is open).",
        ),
    ] {
        let made = at.make(args.clone()).await;
        assert_eq!(made["sentence"], wanted, "{args}");
        // A shown rule can be sent back.
        let again = json!({"ruleId": made["id"], "triggers": made["triggers"], "conditions": made["conditions"], "actions": made["actions"]});
        let same = at.ask("update_rule", again).await.unwrap().content;
        assert_eq!((&same["sentence"], &same["triggers"]), (&made["sentence"], &made["triggers"]));
        at.ask("delete_rule", json!({"ruleId": made["id"]})).await.unwrap();
    }
    assert_eq!(at.ask("list_rules", json!({})).await.unwrap().content["count"], 0);
}

#[tokio::test]
async fn temperatures_read_with_their_unit() {
    let at = At::new();
    for (more, wanted) in [
        (json!({"temperature": 21}), "When the bell turns on, set the porch light to 21 degrees."),
        (
            json!({"temperature": 70, "unit": "fahrenheit"}),
            "When the bell turns on, set the porch light to 70 degrees Fahrenheit.",
        ),
        (json!({"by": -2, "unit": "celsius"}), "When the bell turns on, change the porch light by -2 degrees Celsius."),
    ] {
        let mut action = json!({"thing": "porch light", "action": "set_temperature"});
        action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let rule = json!({"triggers": {"pin": 4, "edge": "rising"}, "actions": action});
        let told = at.ask("validate_rule", rule).await.unwrap().content;
        assert_eq!(told["sentence"], wanted, "{told}");
    }
}

#[tokio::test]
async fn without_a_place_nothing_goes_by_the_sun() {
    let at = At::nowhere();
    let act = json!({"message": "x"});
    for rule in [
        json!({"triggers": "sunset", "actions": act}),
        json!({"triggers": "sunset once", "actions": act}),
        json!({"triggers": "bell pressed", "conditions": "it is dark", "actions": act}),
    ] {
        let refused = at.ask("create_rule", rule.clone()).await.unwrap_err();
        assert!(refused.message().contains("`latitude` and `longitude` in hob.toml"), "{rule}: {refused}");
        let told = at.ask("validate_rule", rule).await.unwrap().content;
        assert!(told["valid"] == false && told["errors"][0].as_str().unwrap().contains("`latitude`"), "{told}");
    }
    at.make(json!({"triggers": "bell pressed", "actions": act})).await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_sentence() {
    let at = At::new();
    let act = json!([{"message": "x"}]);
    for (args, word) in [
        (json!({"triggers": [], "actions": act}), "needs a trigger"),
        (json!({"triggers": "bell pressed", "actions": []}), "needs an action"),
        (json!({"triggers": "doorbel pressed", "actions": act}), "no pin is called “doorbel”: named pins are Bell (4)"),
        (json!({"triggers": {"pin": 99}, "actions": act}), "no pin 99"),
        (json!({"triggers": {"thing": "hal lamp"}, "actions": act}), "is it “Hall lamp”?"),
        (json!({"triggers": {"type": "moon"}, "actions": act}), "is no type of trigger"),
        (json!({"triggers": {"topic": "a/#/b", "payload": 1}, "actions": act}), "no MQTT topic"),
        (json!({"triggers": {"topic": "#", "type": "mqtt"}, "actions": act}), "matches everything"),
        (json!({"triggers": {"entity": "lamp"}, "actions": act}), "no entity"),
        (json!({"triggers": {"topic": "*", "type": "event"}, "actions": act}), "matches everything"),
        (json!({"triggers": {"schedule": "soon"}, "actions": act}), "soon"),
        (json!({"triggers": {"schedule": "2020-01-01T00:00"}, "actions": act}), "has passed"),
        (json!({"triggers": {"thing": "hall lamp", "type": "threshold"}, "actions": act}), "`above` or `below`"),
        (json!({"triggers": {"thing": "hall lamp", "above": 5, "below": 3}, "actions": act}), "nothing is above 5"),
        (json!({"triggers": {"pin": 4, "press": "triple"}, "actions": act}), "no press"),
        (json!({"triggers": {"pin": 4, "press": "long", "for": 3}, "actions": act}), "over at once"),
        (json!({"triggers": {"pin": 4}, "actions": {"tool": "no_such"}}), "no tool"),
        (
            json!({"triggers": {"pin": 4}, "actions": {"thing": "hall lamp", "action": "explode"}}),
            "nothing a thing can do",
        ),
        (
            json!({"triggers": {"pin": 4}, "actions": {"tool": "create_rule", "arguments": {"triggers": "bell pressed", "actions": act}}}),
            "cannot be scheduled",
        ),
        (json!({"triggers": {"pin": 4}, "actions": {"wait": 0}}), "one second to a day"),
        (
            json!({"triggers": {"pin": 4}, "conditions": {"after": "8:00", "before": "08:00"}, "actions": act}),
            "they differ",
        ),
        (
            json!({"triggers": {"pin": 4}, "conditions": {"tool": "break_it", "op": "eq", "value": 1}, "actions": act}),
            "read-only",
        ),
        (json!({"triggers": {"pin": 4}, "conditions": "whatever", "actions": act}), "is no condition"),
        (json!({"triggers": {"pin": 4}, "actions": act, "max": 0}), "`max` is 0"),
        (
            json!({"triggers": {"schedule": "0 7 * * 6"}, "conditions": {"days": ["weekdays"]}, "actions": act}),
            "would never run",
        ),
        (json!({"triggers": "sunset + 1 hour", "conditions": "it is day", "actions": act}), "would never run"),
    ] {
        let error = at.ask("create_rule", args.clone()).await.unwrap_err();
        assert!(error.message().contains(word), "{args}: {error}");
        // `validate_rule` finds the same.
        let checked = at.ask("validate_rule", args.clone()).await.unwrap().content;
        assert_eq!(checked["valid"], false, "{args}");
    }
    assert_eq!(at.ask("list_rules", json!({})).await.unwrap().content["count"], 0);
}

#[tokio::test]
async fn loops_and_conflicts_are_found() {
    let at = At::new();
    let rule =
        |name: &str, trigger: Value, action: Value| json!({"name": name, "triggers": trigger, "actions": action});
    let toggles = rule("self", json!({"pin": 17}), json!({"pin": 17, "action": "toggle"}));
    let error = at.ask("create_rule", toggles).await.unwrap_err();
    assert!(error.message().contains("start itself again and again"), "{error}");
    let back =
        rule("back", json!({"pin": 17, "edge": "off"}), json!({"thing": "pin:17", "action": "on", "for": "5 min"}));
    assert!(at.ask("create_rule", back).await.unwrap_err().message().contains("start itself"));
    // A lamp that is turned off some time after it was turned on is no loop.
    at.make(rule(
        "later",
        json!({"thing": "hall lamp", "to": "on"}),
        json!([{"wait": 60}, {"thing": "hall lamp", "action": "off"}]),
    ))
    .await;
    // Over two rules and an MQTT topic.
    at.make(rule("one", json!({"pin": 5, "edge": "on"}), json!({"type": "mqtt", "topic": "a/b", "payload": "1"})))
        .await;
    let two = rule("two", json!({"topic": "a/+", "type": "mqtt"}), json!({"pin": 5, "toggle": true}));
    let checked = at.ask("validate_rule", two.clone()).await.unwrap().content;
    assert_eq!(checked["errors"], json!(["A loop: this rule starts “one”, which starts this rule again."]));
    assert!(at.ask("create_rule", two).await.is_err());
    // Opposite actions for the same trigger.
    at.make(rule("on", json!({"pin": 6, "edge": "on"}), json!({"pin": 20, "high": true}))).await;
    let off = rule("off", json!({"pin": 6, "edge": "on"}), json!({"pin": 20, "high": false}));
    let error = at.ask("create_rule", off.clone()).await.unwrap_err();
    assert!(error.message().contains("“on” has the same trigger and does the opposite to pin 20"), "{error}");
    let mut at_night = off;
    at_night["conditions"] = json!("it is dark");
    let made = at.make(at_night).await;
    assert!(made["warnings"].to_string().contains("exclude each other"), "{made}");
}

#[tokio::test]
async fn a_dry_run_does_nothing_and_says_what_would_be_done() {
    let at = At::new();
    let args = json!({"triggers": "bell pressed", "conditions": [{"thing": "hall lamp", "is": "off"}, "before 10:00"],
                      "actions": ["turn on the hall lamp", {"pin": 17, "high": true}]});
    let told = at.ask("dry_run_rule", args.clone()).await.unwrap().content;
    assert_eq!(
        (&told["wouldRun"], &told["conditions"][0]["holds"], &told["conditions"][1]["holds"]),
        (&json!(false), &json!(true), &json!(false))
    );
    assert_eq!(told["conditions"][1]["value"], "14:30");
    assert_eq!(told["actions"][0]["tool"], "control_thing");
    assert_eq!(told["actions"][1]["arguments"], json!({"pin": 17, "high": true}));
    let made = at.make(args).await;
    let now = at.ask("dry_run_rule", json!({"ruleId": made["id"], "conditions": []})).await.unwrap();
    assert_eq!(now.say.as_deref(), Some("It would turn on the hall lamp, then turn on the lamp."));
    assert!(at.house.called().is_empty());
    // By hand it is done.
    at.ask("run_rule", json!({"ruleId": made["id"]})).await.unwrap();
    assert_eq!(at.house.called().len(), 2);
    assert_eq!(at.log("When the bell").await[0]["why"], "it was fired by hand");
    // Why is the lamp on?
    for thing in ["hall lamp", "ha:light.hall"] {
        let why = at.ask("rule_log", json!({"thing": thing})).await.unwrap();
        let said = why.say.unwrap();
        assert!(said.contains("last switched Hall lamp") && said.ends_with(": it was fired by hand."), "{said}");
        assert_eq!(why.content["ruleId"], made["id"]);
    }
    let none = at.ask("rule_log", json!({"thing": "porch light"})).await.unwrap();
    assert!(none.say.unwrap().starts_with("No rule of yours has switched Porch light."));
    assert!(matches!(at.ask("rule_log", json!({})).await, Err(Error::BadArgs(_))));
    assert!(matches!(at.ask("rule_log", json!({"thing": "moon"})).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn viewers_check_no_rules() {
    let at = At::new();
    let args = json!({"triggers": "bell pressed", "actions": "turn on the hall lamp"});
    let viewer = tool::Principal { role: tool::Role::Viewer, ..tool::Principal::owner() };
    let cx = Cx::root(at.house.ports.clone(), viewer, tool::Via::direct(tool::Channel::Api));
    for tool in ["validate_rule", "dry_run_rule"] {
        assert!(at.ask(tool, args.clone()).await.is_ok(), "{tool}");
        let refused = at.ask_as(&cx, tool, args.clone()).await.unwrap_err();
        assert!(matches!(&refused, Error::Denied(why) if why.contains("right to make one")), "{tool}: {refused}");
    }
}

#[tokio::test]
async fn a_day_by_the_sun_that_cannot_be_is_refused() {
    let at = At::new();
    for (trigger, part) in [
        (json!({"type": "sun", "event": "sunrise", "date": "today"}), "has passed"),
        (json!({"type": "sun", "event": "sunset", "date": "2020-01-01"}), "has passed"),
        (json!({"type": "sun", "event": "sunset", "date": "soon"}), "does not fit"),
        (json!({"type": "sun", "event": "sunset", "date": 3}), "does not fit"),
    ] {
        let args = json!({"name": "Sun", "triggers": trigger, "actions": "turn on the porch light"});
        let why = at.ask("create_rule", args.clone()).await.unwrap_err();
        assert!(matches!(&why, Error::BadArgs(text) if text.contains(part)), "{args}: {why}");
    }
}

#[tokio::test]
async fn triggers_and_rules_are_one_list() {
    let at = At::new();
    let bell = json!({"name": "Bell", "type": "event", "config": {"topic": "pin:changed", "match": {"pin": 4, "high": true}}, "message": "ding"});
    at.ask("create_trigger", bell).await.unwrap();
    at.make(json!({"name": "Evening", "triggers": "sunset", "actions": "turn on the porch light"})).await;
    let rules = at.ask("list_rules", json!({})).await.unwrap().content;
    let names: Vec<&str> =
        rules["rules"].as_array().unwrap().iter().map(|rule| rule["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Bell", "Evening"]);
    assert_eq!(rules["rules"][0]["sentence"], "When pin 4 turns on, tell you “ding”.");
    let triggers = at.ask("list_triggers", json!({})).await.unwrap().content;
    assert_eq!((&triggers["count"], &triggers["triggers"][1]["type"]), (&json!(2), &json!("rule")));
    assert_eq!(triggers["triggers"][1]["sentence"], "Every day at sunset, turn on the porch light.");
    // The older tools pause, fire and show it too; they do not change its parts.
    at.ask("pause_trigger", json!({"triggerId": "Evening"})).await.unwrap();
    assert_eq!(at.ask("get_rule", json!({"ruleId": "Evening"})).await.unwrap().content["enabled"], false);
    let refused = at.ask("update_trigger", json!({"triggerId": "Evening", "message": "x"})).await.unwrap_err();
    assert!(refused.message().contains("update_rule"), "{refused}");
    // And a trigger gets conditions by becoming a rule.
    let args = json!({"ruleId": "Bell", "conditions": ["it is dark"]});
    let changed = at.ask("update_rule", args).await.unwrap().content;
    assert_eq!(changed["sentence"], "When pin 4 turns on, tell you “ding”, if it is dark.");
    // Nobody else finds either.
    let other = at.house.other();
    assert_eq!(at.ask_as(&other, "list_rules", json!({})).await.unwrap().content["count"], 0);
    for tool in ["get_rule", "update_rule", "delete_rule", "run_rule", "rule_log"] {
        let answer = at.ask_as(&other, tool, json!({"ruleId": "Bell"})).await;
        assert!(matches!(answer, Err(Error::NotFound(_))), "{tool}: {answer:?}");
    }
}

#[tokio::test]
async fn a_shared_rule_is_seen_by_all_and_changed_by_its_maker() {
    let at = At::new();
    let rule = |name: &str, shared: Value| json!({"name": name, "triggers": "bell pressed", "actions": {"message": "ding"}, "shared": shared});
    let own = at.make(json!({"name": "Own", "triggers": "bell pressed", "actions": {"message": "ding"}})).await;
    let shared = at.make(rule("Ours", json!(true))).await;
    assert_eq!((&own["shared"], &shared["shared"], &shared["sharedBy"]), (&json!(false), &json!(true), &json!(null)));
    let other = at.house.other();
    let seen = |told: Result<Output>| {
        told.unwrap().content["rules"].as_array().unwrap().iter().map(|rule| rule["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(seen(at.ask_as(&other, "list_rules", json!({})).await), ["Ours"]);
    let shown = at.ask_as(&other, "get_rule", json!({"ruleId": "Ours"})).await.unwrap().content;
    assert_eq!(shown["sharedBy"], "somebody else");
    for (tool, args) in [
        ("update_rule", json!({"ruleId": "Ours", "shared": false})),
        ("update_rule", json!({"ruleId": "Ours", "enabled": false})),
        ("delete_rule", json!({"ruleId": "Ours"})),
    ] {
        let refused = at.ask_as(&other, tool, args.clone()).await;
        assert!(matches!(refused, Err(Error::Denied(_))), "{tool} {args}: {refused:?}");
    }
    // Its runs and its switch stay as they are.
    let changed = at.ask("update_rule", json!({"ruleId": "Ours", "shared": false})).await.unwrap().content;
    assert_eq!((&changed["shared"], &changed["enabled"]), (&json!(false), &json!(true)));
    assert!(seen(at.ask_as(&other, "list_rules", json!({})).await).is_empty());
    let changed =
        at.ask("update_rule", json!({"ruleId": "Own", "shared": true, "name": "Mine"})).await.unwrap().content;
    assert_eq!((&changed["shared"], &changed["name"]), (&json!(true), &json!("Mine")));
    let kept = at.ask("update_rule", json!({"ruleId": "Mine", "cooldownSeconds": 5})).await.unwrap().content;
    assert_eq!(kept["shared"], true);
    at.tell("pin:press", json!({"pin": 4, "kind": "short"}));
    at.calls(2).await;
}

#[tokio::test]
async fn the_file_is_loaded_shown_and_not_changed_by_tools() {
    let (at, folder) = (At::new(), Folder::new());
    let path = folder.0.join("rules.toml");
    let good = "# comment\n[[rules]]\nname = \"Bell\"\ntrigger = \"bell pressed\"\nactions = [{ type = \"thing\", thing = \"hall lamp\", action = \"turn_on\", for = \"5 minutes\" }]\n";
    let bad = "\n[[rules]]\nname = \"Broken\"\ntrigger = \"nothing pressed\"\naction = \"turn on the hall lamp\"\n";
    std::fs::write(&path, format!("{good}{bad}")).unwrap();
    let errors = at.rules.load_files(&path, &[]).await;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].starts_with("rules.toml, line 7: “Broken”: no pin is called “nothing”"), "{errors:?}");
    let shown = at.ask("get_rule", json!({"ruleId": "Bell"})).await.unwrap().content;
    assert_eq!((&shown["source"], &shown["editable"]), (&json!("file"), &json!(false)));
    for (tool, args) in [
        ("update_rule", json!({"ruleId": "Bell", "enabled": false})),
        ("delete_rule", json!({"ruleId": "Bell"})),
        ("pause_trigger", json!({"triggerId": "Bell"})),
        ("delete_trigger", json!({"triggerId": "Bell"})),
    ] {
        let refused = at.ask(tool, args).await.unwrap_err();
        assert!(matches!(&refused, Error::Denied(text) if text.contains("rules.toml")), "{tool}: {refused}");
    }
    at.tell("pin:press", json!({"pin": 4, "kind": "short"}));
    at.calls(1).await;
    // An export is read again, and an unchanged file changes nothing.
    let toml = at.ask("export_rules", json!({})).await.unwrap().content["toml"].as_str().unwrap().to_owned();
    assert!(toml.contains("name = \"Bell\""), "{toml}");
    std::fs::write(&path, &toml).unwrap();
    assert_eq!(at.rules.load_files(&path, &[]).await, Vec::<String>::new());
    let again = at.ask("get_rule", json!({"ruleId": "Bell"})).await.unwrap().content;
    assert_eq!((&again["sentence"], &again["fired"]), (&shown["sentence"], &json!(1)));
    // A broken file leaves the rules as they are; an empty one removes them.
    std::fs::write(&path, "[[rules]\nname = 3").unwrap();
    assert!(at.rules.load_files(&path, &[]).await[0].contains("line 1"));
    assert_eq!(at.ask("list_rules", json!({})).await.unwrap().content["count"], 1);
    std::fs::write(&path, "").unwrap();
    assert!(at.rules.load_files(&path, &[]).await.is_empty());
    assert_eq!(at.ask("list_rules", json!({})).await.unwrap().content["count"], 0);
}

#[tokio::test]
async fn times_that_come_often_may_wait_for_the_weekend() {
    // It is a Friday; 400 times of a quarter of an hour reach Tuesday only, and those of a minute not even Saturday.
    let at = At::new();
    let rule = |days: Value| json!({"triggers": {"cron": "* * * * *"}, "conditions": [{"days": days}], "actions": "turn on the porch light"});
    at.make(rule(json!(["thu"]))).await;
    let never = json!({"triggers": {"cron": "0 9 * * mon"}, "conditions": [{"days": ["thu"]}], "actions": "turn on the porch light"});
    let error = at.ask("create_rule", never).await.unwrap_err();
    assert!(error.message().contains("never run"), "{error}");
}

#[tokio::test]
async fn the_rest_of_a_condition_is_not_dropped() {
    let at = At::new();
    for condition in [
        "the bedroom temperature is above 25 and the window is closed",
        "the bedroom temperature is above 25 at night",
        "pin 4 is ajar",
    ] {
        let rule = json!({"triggers": "bell pressed", "conditions": [condition], "actions": "turn on the porch light"});
        assert!(matches!(at.ask("create_rule", rule).await, Err(Error::BadArgs(_))), "{condition}");
    }
    let home = home(&at.board, None);
    for (words, wanted) in [
        ("pin 4 opens", json!({"type": "pin", "pin": 4, "edge": "rising"})),
        ("pin 4 closes", json!({"type": "pin", "pin": 4, "edge": "falling"})),
        ("pin 4 changes", json!({"type": "pin", "pin": 4, "edge": "both"})),
        ("bell is held for 10 seconds", json!({"type": "pin", "pin": 4, "edge": "rising", "for": "10 seconds"})),
        ("bell is held", json!({"type": "pin", "pin": 4, "press": "long"})),
    ] {
        assert_eq!(Value::Object(crate::phrases::trigger(&home, words).unwrap()), wanted, "{words}");
    }
    assert!(crate::phrases::trigger(&home, "bell is held and the lamp is on").is_err());
}

#[tokio::test]
async fn a_rule_whose_moment_has_passed_is_paused_and_renamed() {
    let at = At::new();
    at.make(json!({"name": "Once", "triggers": "tomorrow at 18:00", "actions": "turn on the porch light"})).await;
    at.house.clock.forward(3 * 86_400);
    at.ask("update_rule", json!({"ruleId": "Once", "name": "Past"})).await.unwrap();
    at.ask("update_rule", json!({"ruleId": "Past", "enabled": false})).await.unwrap();
}

#[tokio::test]
async fn lost_events_end_what_waits() {
    let at = At::new().with_settling().await;
    at.make(json!({"name": "Warm", "triggers": {"thing": "bedroom temperature", "above": 25}, "actions": {"message": "warm"}})).await;
    let warm = |value: f64| json!({"thing": "ha:sensor.bedroom", "name": "Bedroom", "value": value.to_string(), "number": value});
    at.tell("thing:changed", warm(20.0));
    at.settle().await;
    at.rules.forget_states(false);
    // The first number after a gap only says where it is.
    at.tell("thing:changed", warm(26.0));
    at.settle().await;
    assert_eq!(at.rules.live_runs("Warm"), 0);
    assert!(at.called().is_empty());
}
