//! Tests of goals and steps.

use crate::testing::{ask, cases, cx, cx_at, fault, ok, other, said};
use proptest::prelude::*;
use std::collections::BTreeMap;
use store::Store;
use tool::prelude::*;

fn titles(of: &Value) -> Vec<&str> {
    of.as_array().unwrap().iter().map(|g| g["title"].as_str().unwrap()).collect()
}

async fn listed(store: &Store, cx: &Cx, args: Value) -> Vec<String> {
    let content = ask(store, cx, "list_goals", args).await.unwrap().content;
    titles(&content["goals"]).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn active_goals_are_known_to_whom_they_concern() {
    let store = Store::in_memory().unwrap();
    for (title, priority) in [("Paint the boat", 3), ("Row across", 9), ("Sell the bike", 5)] {
        let goal = json!({"title": title, "priority": priority, "description": "soon", "dueDate": "2027-05-01"});
        ok(&store, "create_goal", goal).await;
    }
    ok(&store, "update_goal", json!({"goalId": "Sell the bike", "status": "paused"})).await;
    let tainted = cx();
    tainted.taint(tool::Label::Outside);
    ask(&store, &tainted, "create_goal", json!({"title": "From a page", "priority": 10})).await.unwrap();
    let told = |cx: &Cx, most| {
        let all = super::active(&store, cx, most).unwrap();
        all.into_iter().map(|g| (g.title, g.about, g.due.unwrap())).collect::<Vec<_>>()
    };
    let goal = |title: &str| (title.to_owned(), "soon".to_owned(), "2027-05-01".to_owned());
    let reader = cx();
    assert_eq!(told(&reader, 9), [goal("Row across"), goal("Paint the boat")]);
    assert_eq!(reader.label(), tool::Label::Own);
    assert_eq!(told(&reader, 1), [goal("Row across")]);
    assert_eq!(told(&other(), 9), []);
}

#[tokio::test]
async fn a_goal_is_set_changed_and_deleted() {
    let store = Store::in_memory().unwrap();
    let made =
        ok(&store, "create_goal", json!({"title": " Run a marathon ", "dueDate": "2027-05-01", "category": "health"}))
            .await;
    assert_eq!(made.say.unwrap(), "I saved the goal “Run a marathon”, due on Saturday 1 May.");
    let mut told = made.content.clone();
    for field in ["id", "createdAt", "updatedAt"] {
        assert!(told[field].take().is_string(), "{field}");
    }
    let expected = json!({"id": null, "createdAt": null, "updatedAt": null, "title": "Run a marathon", "description": null,
        "category": "health", "priority": 5, "status": "active", "progress": 0, "parentId": null, "dueDate": "2027-05-01",
        "overdue": false, "notes": null, "completedAt": null, "stepsDone": 0, "steps": 0, "subGoalsDone": 0, "subGoals": 0,
        "shared": false});
    assert_eq!(told, expected);

    let rows = [
        (
            json!({"priority": 9, "notes": "shoes bought", "dueDate": "2026-11-20T14:00"}),
            "I changed the goal “Run a marathon”.",
        ),
        (json!({"progress": 30}), "“Run a marathon” is at 30%."),
        (json!({"status": "paused"}), "“Run a marathon” is paused now."),
        (json!({"status": "active", "title": "Run"}), "“Run” is active now."),
    ];
    for (mut change, expected) in rows {
        change["goalId"] = made.content["id"].clone();
        assert_eq!(said(&store, "update_goal", change.clone()).await, expected, "{change}");
    }
    let now = ok(&store, "get_goal_details", json!({"goalId": "run"})).await.content["goal"].clone();
    assert_eq!((&now["progress"], &now["priority"], &now["overdue"]), (&json!(30), &json!(9), &json!(true)));
    assert_eq!((&now["dueDate"], &now["notes"]), (&json!("2026-11-20T14:00:00+01:00"), &json!("shoes bought")));
    let cleared =
        ok(&store, "update_goal", json!({"goalId": "run", "dueDate": null, "notes": "", "category": ""})).await.content;
    assert_eq!(
        (&cleared["dueDate"], &cleared["notes"], &cleared["category"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(cleared["overdue"], false);

    let done = ok(&store, "update_goal", json!({"goalId": "run", "status": "completed"})).await;
    assert_eq!(done.say.unwrap(), "Well done: “Run” is completed.");
    assert_eq!(
        (&done.content["progress"], &done.content["completedAt"]),
        (&json!(100), &json!("2026-11-20T14:30:00+01:00"))
    );
    let again = ok(&store, "update_goal", json!({"goalId": "run", "status": "active"})).await.content;
    assert_eq!((&again["progress"], &again["completedAt"]), (&json!(30), &Value::Null));

    assert_eq!(said(&store, "delete_goal", json!({"goalId": "run"})).await, "I deleted the goal “Run”.");
    assert!(fault(ask(&store, &cx(), "delete_goal", json!({"goalId": "run"})).await).starts_with("not_found"));
    assert_eq!(said(&store, "list_goals", json!({})).await, "You have no goals.");
}

#[tokio::test]
async fn steps_are_added_done_and_counted() {
    let store = Store::in_memory().unwrap();
    ok(&store, "create_goal", json!({"title": "Paint the fence", "priority": 8, "category": "home"})).await;
    let asked = ok(&store, "decompose_goal", json!({"goalId": "fence"})).await;
    assert_eq!(asked.say.unwrap(), "“Paint the fence” has no steps yet. Add them on the page, or with a model.");
    assert!(asked.content["note"].as_str().unwrap().contains("call decompose_goal again with `steps`"));
    let steps = json!(["Buy paint", {"title": "Sand it", "description": "grain 120"}, {"title": "Mend the gate", "type": "goal"}]);
    let added = ok(&store, "decompose_goal", json!({"goalId": "fence", "steps": steps})).await;
    assert_eq!(added.say.unwrap(), "“Paint the fence” has 2 steps and 1 goal more. The first: “Buy paint”.");
    assert_eq!((&added.content["added"], titles(&added.content["subGoals"])), (&json!(3), vec!["Mend the gate"]));
    let gate = &added.content["subGoals"][0];
    assert_eq!(
        (&gate["parentId"], &gate["priority"], &gate["category"]),
        (&added.content["goal"]["id"], &json!(8), &json!("home"))
    );
    ok(&store, "decompose_goal", json!({"goalId": "fence", "steps": ["Paint it"]})).await;

    let done = ok(&store, "complete_step", json!({"stepId": "buy paint", "result": "two tins"})).await;
    assert_eq!(done.say.unwrap(), "Done: “Buy paint”. Next for “Paint the fence”: “Sand it”.");
    let c = &done.content;
    assert_eq!(
        (&c["step"]["done"], &c["step"]["result"], &c["next"]["title"]),
        (&json!(true), &json!("two tins"), &json!("Sand it"))
    );
    assert_eq!((&c["goal"]["progress"], &c["allDone"], &c["suggestion"]), (&json!(25), &json!(false), &Value::Null));
    assert_eq!(
        said(&store, "complete_step", json!({"stepId": c["step"]["id"]})).await,
        "“Buy paint” was done already. Next for “Paint the fence”: “Sand it”."
    );

    // Progress set by hand counts until the next step is done.
    ok(&store, "update_goal", json!({"goalId": "fence", "progress": 90})).await;
    let progress =
        async || ok(&store, "get_goal_details", json!({"goalId": "fence"})).await.content["progress"].clone();
    assert_eq!(progress().await, 90);
    ok(&store, "complete_step", json!({"stepId": "sand"})).await;
    assert_eq!(progress().await, 50);
    assert_eq!(
        said(&store, "update_step", json!({"stepId": "sand it", "done": false, "title": "Sand it well"})).await,
        "“Sand it well” is open again."
    );
    assert_eq!(progress().await, 25);
    assert_eq!(
        said(&store, "delete_step", json!({"stepId": "sand it well"})).await,
        "I deleted the step “Sand it well”."
    );
    let details = ok(&store, "get_goal_details", json!({"goalId": "fence"})).await;
    assert_eq!(titles(&details.content["steps"]), ["Buy paint", "Paint it"]);
    assert_eq!(
        details.say.unwrap(),
        "“Paint the fence” is at 33%: 1 of 2 steps done and 0 of 1 goal done. Next: “Paint it”."
    );

    assert_eq!(
        said(&store, "complete_step", json!({"stepId": "paint it"})).await,
        "Done: “Paint it”. “Paint the fence” is at 66%."
    );
    ok(&store, "update_goal", json!({"goalId": "gate", "status": "completed"})).await;
    let last = ok(&store, "complete_step", json!({"stepId": "paint it"})).await;
    assert_eq!((&last.content["allDone"], &last.content["goal"]["progress"]), (&json!(true), &json!(100)));
    assert!(last.content["suggestion"].as_str().unwrap().contains("status completed"));
    assert!(last.say.unwrap().ends_with("That was the last step of “Paint the fence”: is the goal reached?"));
}

#[tokio::test]
async fn what_comes_next_is_told_by_importance_and_due_date() {
    let store = Store::in_memory().unwrap();
    assert!(said(&store, "get_next_actions", json!({})).await.contains("You have no open steps."));
    for (title, priority, due) in [
        ("late", 5, "2027-02-01"),
        ("soon", 5, "2026-12-01"),
        ("top", 9, ""),
        ("low", 1, "2026-11-21"),
        ("bare", 2, ""),
    ] {
        ok(&store, "create_goal", json!({"title": title, "priority": priority, "dueDate": due})).await;
        if title != "bare" {
            let steps = json!([format!("{title} 1"), format!("{title} 2")]);
            ok(&store, "decompose_goal", json!({"goalId": title, "steps": steps})).await;
        }
    }
    ok(&store, "complete_step", json!({"stepId": "soon 1"})).await;
    ok(&store, "update_goal", json!({"goalId": "late", "status": "paused"})).await;
    let next = ok(&store, "get_next_actions", json!({})).await;
    assert_eq!(titles(&next.content["actions"]), ["top 1", "soon 2", "low 1"]);
    assert_eq!(titles(&next.content["goalsWithoutSteps"]), ["bare"]);
    assert_eq!(
        (&next.content["actions"][1]["goalTitle"], &next.content["actions"][1]["goalDueDate"]),
        (&json!("soon"), &json!("2026-12-01"))
    );
    assert_eq!(next.say.unwrap(), "Your next steps:\n- Top 1 (for “top”)\n- Soon 2 (for “soon”)\n- Low 1 (for “low”)");
    assert_eq!(titles(&ok(&store, "get_next_actions", json!({"limit": 1})).await.content["actions"]), ["top 1"]);
    ok(&store, "decompose_goal", json!({"goalId": "top", "steps": [{"title": "part", "type": "goal"}]})).await;
    ok(&store, "decompose_goal", json!({"goalId": "part", "steps": ["part 1", "part 2"]})).await;
    let of = ok(&store, "get_next_actions", json!({"goalId": "top"})).await;
    assert_eq!(titles(&of.content["actions"]), ["top 1", "top 2", "part 1"]);
    assert_eq!(said(&store, "get_next_actions", json!({"goalId": "bare"})).await, "“bare” has no open steps.");
}

#[tokio::test]
async fn goals_are_listed_by_importance_and_filtered() {
    let store = Store::in_memory().unwrap();
    for (title, priority, due, category) in [
        ("b", 5, "2027-01-01", "Home"),
        ("a", 5, "2026-12-24T10:00", "work"),
        ("c", 10, "", "home"),
        ("d", 5, "", "home"),
        ("e", 1, "2026-11-01", "work"),
    ] {
        ok(&store, "create_goal", json!({"title": title, "priority": priority, "dueDate": due, "category": category}))
            .await;
    }
    ok(&store, "update_goal", json!({"goalId": "d", "status": "completed", "notes": "Went well"})).await;
    ok(&store, "update_goal", json!({"goalId": "b", "parentId": "c"})).await;
    ok(&store, "update_goal", json!({"goalId": "d", "parentId": "c"})).await;
    let rows = [
        (json!({}), vec!["c", "a", "b", "d", "e"]),
        (json!({"status": "active"}), vec!["c", "a", "b", "e"]),
        (json!({"status": "completed"}), vec!["d"]),
        (json!({"category": "HOME"}), vec!["c", "b", "d"]),
        (json!({"parentId": "c"}), vec!["b", "d"]),
        (json!({"parentId": "c", "status": "completed"}), vec!["d"]),
        (json!({"search": "well went"}), vec!["d"]),
        (json!({"limit": 2, "offset": 1}), vec!["a", "b"]),
        (json!({"offset": 100}), vec![]),
        (json!({"parentId": ""}), vec!["c", "a", "b", "d", "e"]),
    ];
    for (args, expected) in rows {
        assert_eq!(listed(&store, &cx(), args.clone()).await, expected, "{args}");
    }
    let stats = ok(&store, "goal_stats", json!({})).await;
    let expected = json!({"total": 5, "byStatus": {"active": 4, "paused": 0, "completed": 1, "abandoned": 0},
        "averageProgress": 13, "stepsDone": 0, "stepsOpen": 0, "overdue": 1, "completedThisMonth": 1});
    assert_eq!(stats.content, expected);
    assert_eq!(stats.say.unwrap(), "You have 5 goals: 4 active, at 13% on average, 1 completed and 1 overdue.");
    let december = ask(&store, &cx_at("2026-12-01T00:00:00"), "goal_stats", json!({})).await.unwrap().content;
    assert_eq!(december["completedThisMonth"], 0);
}

#[tokio::test]
async fn a_goal_is_never_a_part_of_itself() {
    let store = Store::in_memory().unwrap();
    for (title, parent) in [("a", ""), ("b", "a"), ("c", "b")] {
        ok(&store, "create_goal", json!({"title": title, "parentId": parent})).await;
    }
    for (goal, parent) in [("a", "a"), ("a", "b"), ("a", "c"), ("b", "c")] {
        let text = fault(
            ask(&store, &cx(), "update_goal", json!({"goalId": goal, "parentId": parent, "title": "changed"})).await,
        );
        assert!(text.contains("cannot be a part of itself"), "{goal} {parent}: {text}");
    }
    assert_eq!(listed(&store, &cx(), json!({"search": "changed"})).await.len(), 0);
    let parents = ok(&store, "get_goal_details", json!({"goalId": "c"})).await.content["parents"].clone();
    assert_eq!(titles(&parents), ["b", "a"]);
    let mut deepest = "c".to_owned();
    for n in 0..40 {
        let args = json!({"title": format!("n{n}"), "parentId": deepest});
        match ask(&store, &cx(), "create_goal", args).await {
            Ok(_) => deepest = format!("n{n}"),
            Err(error) => {
                assert!(error.message().contains("32 deep at most") && n == 30, "{n} {error}");
                return;
            }
        }
    }
    panic!("they stand as deep as one likes");
}

#[tokio::test]
async fn deleting_a_goal_takes_its_steps_along_and_lifts_its_parts() {
    let store = Store::in_memory().unwrap();
    for (title, parent) in [("top", ""), ("middle", "top"), ("one", "middle"), ("two", "middle")] {
        ok(&store, "create_goal", json!({"title": title, "parentId": parent})).await;
    }
    for goal in ["middle", "one"] {
        ok(
            &store,
            "decompose_goal",
            json!({"goalId": goal, "steps": [format!("{goal} step"), format!("{goal} more")]}),
        )
        .await;
    }
    let gone = ok(&store, "delete_goal", json!({"goalId": "middle"})).await;
    assert_eq!(
        (&gone.content["stepsDeleted"], gone.say.as_deref()),
        (&json!(2), Some("I deleted the goal “middle” with its 2 steps."))
    );
    assert_eq!(listed(&store, &cx(), json!({"parentId": "top"})).await, ["one", "two"]);
    assert!(
        fault(ask(&store, &cx(), "complete_step", json!({"stepId": "middle step"})).await).starts_with("not_found")
    );
    let steps = ok(&store, "goal_stats", json!({})).await.content["stepsOpen"].clone();
    assert_eq!(steps, 2);
    ok(&store, "delete_goal", json!({"goalId": "top"})).await;
    let one = ok(&store, "get_goal_details", json!({"goalId": "one"})).await.content;
    assert_eq!((&one["goal"]["parentId"], titles(&one["steps"])), (&Value::Null, vec!["one step", "one more"]));
}

#[tokio::test]
async fn what_is_private_does_not_exist_for_others() {
    let store = Store::in_memory().unwrap();
    let (anna, ben) = (cx(), other());
    ask(&store, &anna, "create_goal", json!({"title": "Secret plan"})).await.unwrap();
    ask(&store, &anna, "create_goal", json!({"title": "Garden", "shared": true, "parentId": "Secret plan"}))
        .await
        .unwrap();
    for goal in ["Secret plan", "Garden"] {
        let steps = json!([format!("{goal} step"), {"title": format!("{goal} part"), "type": "goal"}]);
        ask(&store, &anna, "decompose_goal", json!({"goalId": goal, "steps": steps})).await.unwrap();
    }
    assert_eq!(listed(&store, &ben, json!({})).await, ["Garden", "Garden part"]);
    let garden = ask(&store, &ben, "get_goal_details", json!({"goalId": "Garden"})).await.unwrap().content;
    assert_eq!((&garden["goal"]["parentId"], &garden["parents"]), (&Value::Null, &json!([])), "not even as an id");
    assert_eq!((titles(&garden["steps"]), titles(&garden["subGoals"])), (vec!["Garden step"], vec!["Garden part"]));
    let next = ask(&store, &ben, "get_next_actions", json!({})).await.unwrap().content;
    assert_eq!(titles(&next["actions"]), ["Garden step"]);
    let stats = ask(&store, &ben, "goal_stats", json!({})).await.unwrap().content;
    assert_eq!((&stats["total"], &stats["stepsOpen"]), (&json!(2), &json!(1)));
    let secret = ask(&store, &anna, "list_goals", json!({"search": "secret plan"})).await.unwrap().content["goals"][0]
        ["id"]
        .clone();
    let calls = |which: Value, step: &str| {
        [
            ("get_goal_details", json!({"goalId": which})),
            ("update_goal", json!({"goalId": which, "progress": 1})),
            ("delete_goal", json!({"goalId": which})),
            ("decompose_goal", json!({"goalId": which, "steps": ["x"]})),
            ("create_goal", json!({"title": "x", "parentId": which})),
            ("complete_step", json!({"stepId": step})),
            ("delete_step", json!({"stepId": step})),
        ]
    };
    for which in [json!("Secret plan"), secret] {
        for (tool, args) in calls(which, "Secret plan step") {
            assert!(fault(ask(&store, &ben, tool, args.clone()).await).starts_with("not_found"), "{tool} {args}");
        }
    }
    for (tool, args) in calls(json!("Garden"), "Garden step").into_iter().skip(1) {
        assert!(fault(ask(&store, &ben, tool, args.clone()).await).starts_with("denied"), "{tool} {args}");
    }
    // Unsharing the goal also unshares its steps.
    ask(&store, &anna, "update_goal", json!({"goalId": "Garden", "shared": false})).await.unwrap();
    assert_eq!(listed(&store, &ben, json!({})).await, ["Garden part"]);
    assert!(fault(ask(&store, &ben, "complete_step", json!({"stepId": "Garden step"})).await).starts_with("not_found"));
    ask(&store, &anna, "update_goal", json!({"goalId": "Garden", "shared": true})).await.unwrap();
    assert!(fault(ask(&store, &ben, "complete_step", json!({"stepId": "Garden step"})).await).starts_with("denied"));
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_changes_nothing() {
    let store = Store::in_memory().unwrap();
    ok(&store, "create_goal", json!({"title": "one"})).await;
    ok(&store, "decompose_goal", json!({"goalId": "one", "steps": ["first"]})).await;
    let before = ok(&store, "get_goal_details", json!({"goalId": "one"})).await.content;
    let rows = [
        ("create_goal", json!({"title": " "}), "title is empty"),
        ("create_goal", json!({"title": "ü".repeat(201)}), "longer than 200"),
        ("create_goal", json!({"title": "x", "priority": 11}), "give 1 to 10"),
        ("create_goal", json!({"title": "x", "priority": 0}), "give 1 to 10"),
        ("create_goal", json!({"title": "x", "priority": -1}), "invalid value"),
        ("create_goal", json!({"title": "x", "dueDate": "soon"}), "is no date"),
        ("create_goal", json!({"title": "x", "dueDate": "9999-01-01"}), "give one from 1700 to 9998"),
        ("create_goal", json!({"title": "x", "parentId": "none such"}), "not_found"),
        ("update_goal", json!({"goalId": "one", "progress": 101}), "0 to 100"),
        ("update_goal", json!({"goalId": "one", "title": ""}), "title is empty"),
        ("update_goal", json!({"goalId": "one"}), "say what to change"),
        ("update_step", json!({"stepId": "first"}), "say what to change"),
        ("update_goal", json!({"goalId": "one", "status": "done"}), "unknown variant"),
        ("update_goal", json!({"goalId": "one", "title": "x", "parentId": "none such"}), "not_found"),
        (
            "decompose_goal",
            json!({"goalId": "one", "steps": ["fine", " "]}),
            "step 2: the title is empty: write something; nothing was added",
        ),
        ("decompose_goal", json!({"goalId": "one", "steps": vec!["x"; 51]}), "give 50 at most"),
        ("decompose_goal", json!({"goalId": "one", "steps": [1]}), "do not fit"),
        ("complete_step", json!({"stepId": ""}), "say which step"),
        ("complete_step", json!({"stepId": "first", "result": "x".repeat(1001)}), "longer than 1000"),
        ("delete_step", json!({"stepId": Id::new()}), "not_found"),
        ("list_goals", json!({"parentId": "none such"}), "not_found"),
    ];
    for (tool, args, expected) in rows {
        let text = fault(ask(&store, &cx(), tool, args.clone()).await);
        assert!(text.contains(expected), "{tool} {args}: {text}");
    }
    assert_eq!(ok(&store, "get_goal_details", json!({"goalId": "one"})).await.content, before);
    assert_eq!(listed(&store, &cx(), json!({})).await, ["one"]);

    // A goal reaches its limit, and the error offers a way out.
    for _ in 0..3 {
        ok(&store, "decompose_goal", json!({"goalId": "one", "steps": vec!["x"; 50]})).await;
    }
    let text = fault(ask(&store, &cx(), "decompose_goal", json!({"goalId": "one", "steps": vec!["x"; 50]})).await);
    assert!(text.contains("200 steps at most"), "{text}");
    ok(&store, "decompose_goal", json!({"goalId": "one", "steps": vec!["x"; 49]})).await;
    let two = fault(ask(&store, &cx(), "complete_step", json!({"stepId": "x"})).await);
    assert!(two.contains("more than 5 steps fit `x`"), "{two}");
}

#[tokio::test]
async fn two_at_once_end_well() {
    let store = Store::in_memory().unwrap();
    let id = ok(&store, "create_goal", json!({"title": "one"})).await.content["id"].clone();
    // Steps are added while the goal is deleted: in the end neither exists.
    let mut all = vec![];
    for n in 0..6 {
        let (store, id) = (store.clone(), id.clone());
        all.push(tokio::spawn(async move {
            let (tool, args) = match n {
                3 => ("delete_goal", json!({"goalId": id})),
                n => ("decompose_goal", json!({"goalId": id, "steps": [format!("s{n}")]})),
            };
            ask(&store, &cx(), tool, args).await.map(drop)
        }));
    }
    for one in all {
        let _ = one.await.unwrap();
    }
    let stats = ok(&store, "goal_stats", json!({})).await.content;
    assert_eq!((&stats["total"], &stats["stepsOpen"]), (&json!(0), &json!(0)));

    // Two moves that would form a cycle: one of them is refused.
    for title in ["a", "b"] {
        ok(&store, "create_goal", json!({"title": title})).await;
    }
    let moves = [("a", "b"), ("b", "a")].map(|(goal, parent)| {
        tokio::spawn({
            let store = store.clone();
            async move { ask(&store, &cx(), "update_goal", json!({"goalId": goal, "parentId": parent})).await.is_ok() }
        })
    });
    let mut done = 0;
    for one in moves {
        done += usize::from(one.await.unwrap());
    }
    assert_eq!(done, 1);
}

proptest! {
    #![proptest_config(cases(16))]
    #[test]
    fn goals_stay_a_forest(moves in prop::collection::vec((0_usize..6, 0_usize..7, prop::bool::weighted(0.15)), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (store, cx) = (Store::in_memory().unwrap(), cx());
            let mut parents: BTreeMap<usize, Option<usize>> = (0..6).map(|n| (n, None)).collect();
            for n in 0..6 {
                ask(&store, &cx, "create_goal", json!({"title": format!("g{n}")})).await.unwrap();
            }
            for (goal, parent, delete) in moves {
                if !parents.contains_key(&goal) {
                    continue;
                }
                if delete {
                    ask(&store, &cx, "delete_goal", json!({"goalId": format!("g{goal}")})).await.unwrap();
                    let above = parents.remove(&goal).unwrap();
                    parents.values_mut().filter(|p| **p == Some(goal)).for_each(|p| *p = above);
                    continue;
                }
                let (parent, written) = if parent == 6 { (None, String::new()) } else { (Some(parent), format!("g{parent}")) };
                let moved = ask(&store, &cx, "update_goal", json!({"goalId": format!("g{goal}"), "parentId": written})).await;
                let mut next = parent;
                let mut allowed = parent.is_none_or(|p| parents.contains_key(&p));
                while let Some(at) = next.filter(|_| allowed) {
                    allowed = at != goal;
                    next = parents[&at];
                }
                assert_eq!(moved.is_ok(), allowed, "{goal} below {parent:?} in {parents:?}");
                if allowed {
                    parents.insert(goal, parent);
                }
            }
            for goal in parents.keys() {
                let mut below = listed(&store, &cx, json!({"parentId": format!("g{goal}"), "limit": 30})).await;
                below.sort();
                let expected: Vec<String> = parents.iter().filter(|(_, p)| **p == Some(*goal)).map(|(n, _)| format!("g{n}")).collect();
                assert_eq!(below, expected);
            }
        });
    }
}
