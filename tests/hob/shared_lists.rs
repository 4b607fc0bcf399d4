//! Lists of the household from outside: two members, a viewer, and sentences.

use crate::{everyday::Person, harness::Hob};
use serde_json::{Value, json};

fn titles(answer: &Value) -> Vec<&str> {
    answer["tasks"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap()).collect()
}

fn items(titles: &[&str]) -> Value {
    json!({"tasks": titles.iter().map(|title| json!({"title": title, "category": "shopping"})).collect::<Vec<_>>()})
}

const SHOPPING: fn() -> Value = || json!({"category": "shopping", "status": "pending"});

#[test]
fn two_members_share_a_list_and_a_viewer_reads_it() {
    let mut hob = Hob::start();
    let (anna, ben, kid) = ("anna", "ben", "kid");
    let tokens = [hob.token(anna, "member"), hob.token(ben, "member"), hob.token(kid, "viewer")];
    let id = {
        let person = |n: usize| Person::with(&hob, &tokens[n]);
        let (anna, ben, kid) = (person(0), person(1), person(2));
        anna.result("batch_add_tasks", items(&["milk", "milk and eggs"]));
        anna.result("add_task", json!({"title": "see the doctor"}));
        ben.result("batch_add_tasks", items(&["bread", "Milk"]));
        for one in [&anna, &ben, &kid] {
            assert_eq!(titles(&one.result("list_tasks", SHOPPING())), ["milk", "milk and eggs", "bread"]);
        }
        // Who added what; the doctor is nobody else's affair.
        let seen = ben.result("list_tasks", json!({}));
        let by: Vec<&Value> = seen["tasks"].as_array().unwrap().iter().map(|task| &task["sharedBy"]).collect();
        assert_eq!(by, [&json!("anna"), &json!("anna"), &Value::Null]);
        // A viewer changes nothing.
        for (tool, args) in [
            ("complete_task", json!({"taskId": "milk"})),
            ("update_task", json!({"taskId": "milk", "title": "tea"})),
            ("delete_task", json!({"taskId": "milk"})),
            ("add_task", json!({"title": "sweets", "category": "shopping"})),
            ("clear_list", json!({"list": "shopping"})),
            ("rename_list", json!({"list": "shopping", "name": "sweets"})),
            ("tidy_list", json!({"list": "shopping"})),
            ("share_list", json!({"list": "shopping", "shared": false})),
        ] {
            assert_eq!(kid.call(tool, args).status, 403, "{tool}");
        }
        // Ben ticks Anna's milk, and it stays hers.
        let milk = ben.result("complete_task", json!({"taskId": "milk"}));
        assert_eq!(
            (&milk["title"], &milk["status"], &milk["sharedBy"]),
            (&json!("milk"), &json!("completed"), &json!("anna"))
        );
        let lists = json!([{"list": "shopping", "open": 2, "done": 1, "shared": true, "byOthers": 2}]);
        assert_eq!(ben.result("list_lists", json!({}))["lists"], lists);
        assert_eq!(ben.call("share_list", json!({"list": "shopping", "shared": false})).status, 403);
        assert_eq!(ben.result("clear_list", json!({"list": "shopping", "done": true}))["deleted"], 1);
        anna.result("rename_list", json!({"list": "shopping", "name": "food"}));
        ben.result("update_task", json!({"taskId": "milk and eggs", "title": "eggs"}))["id"].clone()
    };
    // All of it is on disk.
    hob.kill();
    hob.start_again();
    let anna = Person::with(&hob, &tokens[0]);
    assert_eq!(titles(&anna.result("list_tasks", json!({"category": "food"}))), ["eggs", "bread"]);
    assert_eq!(anna.result("delete_task", json!({"taskId": id}))["title"], "eggs");
}

#[test]
fn what_a_token_adds_says_so_and_one_private_list_is_one_persons() {
    let hob = Hob::start();
    let (anna, ben) = (Person::new(&hob, "anna", "member"), Person::new(&hob, "ben", "member"));
    assert_eq!(
        anna.result("add_task", json!({"title": "ring", "category": "presents", "shared": false}))["shared"],
        false
    );
    assert_eq!(ben.result("list_lists", json!({}))["count"], 0);
    anna.result("share_list", json!({"list": "presents", "shared": true}));
    assert_eq!(ben.result("list_lists", json!({}))["count"], 1);
    anna.result("share_list", json!({"list": "presents", "shared": false}));
    assert_eq!(ben.result("list_lists", json!({}))["count"], 0);
    anna.result("add_task", json!({"title": "book", "category": "presents"}));
    assert_eq!(ben.result("list_tasks", json!({}))["count"], 0);
    // Ben's program is not Ben.
    assert_eq!(ben.result("add_task", json!({"title": "tea", "category": "shopping"}))["via"], "ben");
    assert_eq!(ben.say("add coffee to the shopping list")["toolCalls"][0]["name"], "add_task");
    let seen = anna.result("list_tasks", json!({"category": "shopping", "search": "coffee"}));
    assert_eq!((&seen["tasks"][0]["sharedBy"], &seen["tasks"][0]["via"]), (&json!("ben"), &json!("ben")));
    let cli = hob.result("add_task", json!({"title": "rice", "category": "shopping"}));
    assert_eq!(cli.get("sharedBy"), None);
}
