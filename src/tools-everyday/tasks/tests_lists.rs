//! Lists of the household: two members and the owner, on the real store in memory.

use super::*;
use crate::testing::{Tools, call, cx, somebody, texts};
use tool::{Family, Label};

fn again(cx: &Cx) -> Cx {
    Cx::root(cx.ports().clone(), cx.principal().clone(), cx.via().clone())
}

struct House(Store);

impl House {
    fn new() -> Self {
        Self(Store::in_memory().unwrap())
    }
    fn tools(&self) -> Tools<impl Fn() -> Family<RecordStore<Task>>> {
        let store = self.0.clone();
        Tools(move || family(&store))
    }
    /// A call in a request of its own, which has read nothing.
    async fn by(&self, cx: &Cx, name: &str, args: Value) -> Result<Output> {
        self.within(&again(cx), name, args).await
    }
    async fn within(&self, cx: &Cx, name: &str, args: Value) -> Result<Output> {
        let of_lists = ["list_lists", "clear_list", "rename_list", "tidy_list", "share_list"];
        let family = if of_lists.contains(&name) { lists(&self.0) } else { family(&self.0) };
        call(family, cx, name, args).await
    }
    async fn say(&self, cx: &Cx, name: &str, args: Value) -> String {
        self.by(cx, name, args).await.map_or_else(|e| e.to_string(), |o| o.say.unwrap())
    }
    async fn ask(&self, cx: &Cx, name: &str, args: Value) -> Value {
        self.by(cx, name, args.clone()).await.unwrap_or_else(|e| panic!("{name} {args}: {e}")).content
    }
    async fn add(&self, cx: &Cx, list: &str, titles: &[&str]) {
        let tasks: Vec<Value> = titles.iter().map(|title| json!({"title": title, "category": list})).collect();
        self.ask(cx, "batch_add_tasks", json!({"tasks": tasks})).await;
    }
    async fn on(&self, cx: &Cx, list: &str) -> String {
        texts(&self.ask(cx, "list_tasks", json!({"category": list, "status": "pending"})).await, "title")
    }
}

#[tokio::test]
async fn a_list_is_the_households_and_a_task_without_one_is_not() {
    let (house, anna, ben) = (House::new(), somebody(), somebody());
    assert_eq!(
        house.say(&anna, "add_task", json!({"title": "milk", "category": "shopping"})).await,
        "I added “milk” to the shopping list."
    );
    house.ask(&anna, "add_task", json!({"title": "see the doctor"})).await;
    house.add(&ben, "our shopping list", &["eggs"]).await;
    assert_eq!(house.on(&anna, "shopping").await, "milk eggs");
    assert_eq!(house.on(&ben, "the shopping list").await, "milk eggs");
    assert_eq!(house.ask(&ben, "list_tasks", json!({})).await["count"], 2, "the doctor is Anna's affair");
    // Ben ticks, changes and deletes what Anna added.
    assert_eq!(house.say(&ben, "complete_task", json!({"taskId": "milk"})).await, "Done: “milk”.");
    let changed = house.ask(&anna, "update_task", json!({"taskId": "eggs", "title": "six eggs"})).await;
    assert_eq!((&changed["title"], &changed["sharedBy"]), (&json!("six eggs"), &json!("somebody else")));
    assert_eq!(house.say(&anna, "delete_task", json!({"taskId": "six eggs"})).await, "I deleted the task “six eggs”.");
    let milk = house.ask(&anna, "list_tasks", json!({"category": "shopping"})).await["tasks"][0].clone();
    assert_eq!((&milk["status"], milk.get("sharedBy")), (&json!("completed"), None));
    // Only the one who added it chooses who sees it, and takes it out of the list.
    for args in [json!({"taskId": "milk", "shared": false}), json!({"taskId": "milk", "category": ""})] {
        let refused = house.by(&ben, "update_task", args.clone()).await;
        assert!(matches!(&refused, Err(Error::Denied(_))), "{args}: {refused:?}");
    }
    assert!(house.by(&ben, "complete_task", json!({"taskId": "see the doctor"})).await.is_err());
}

#[tokio::test]
async fn a_private_list_stays_private_until_it_is_shared() {
    let (house, anna, ben) = (House::new(), somebody(), somebody());
    // As before lists were shared.
    house.ask(&anna, "add_task", json!({"title": "ring", "category": "presents", "shared": false})).await;
    house.add(&anna, "presents", &["book"]).await;
    assert_eq!(house.on(&ben, "presents").await, "");
    house.ask(&anna, "clear_list", json!({"list": "presents"})).await;
    house.add(&anna, "presents", &["watch"]).await;
    assert_eq!(house.on(&ben, "presents").await, "", "also after it was empty");
    let lists = house.ask(&anna, "list_lists", json!({})).await;
    assert_eq!(lists["lists"], json!([{"list": "presents", "open": 1, "done": 0, "shared": false, "byOthers": 0}]));
    assert_eq!(house.ask(&ben, "list_lists", json!({})).await["count"], 0);
    assert!(house.by(&ben, "share_list", json!({"list": "presents", "shared": true})).await.is_err());

    let shared = house.say(&anna, "share_list", json!({"list": "the presents list", "shared": true})).await;
    assert_eq!(shared, "Everybody here sees the presents list now.");
    house.add(&ben, "presents", &["scarf"]).await;
    assert_eq!(house.on(&anna, "presents").await, "watch scarf");
    let refused = house.by(&anna, "share_list", json!({"list": "presents", "shared": false})).await;
    assert!(
        matches!(&refused, Err(Error::Denied(text)) if text.contains("1 item on it is from others")),
        "{refused:?}"
    );
    house.ask(&anna, "delete_task", json!({"taskId": "scarf"})).await;
    let private = house.say(&anna, "share_list", json!({"list": "presents", "shared": false})).await;
    assert_eq!(private, "The presents list is private now: only you see it.");
    assert_eq!(house.on(&ben, "presents").await, "");
    // A private list is renamed with what it is; a task that leaves or joins a list is seen as that list is.
    house.ask(&anna, "rename_list", json!({"list": "presents", "name": "surprises"})).await;
    house.add(&anna, "surprises", &["cake"]).await;
    assert_eq!(house.on(&ben, "surprises").await, "");
    let moved = house.ask(&anna, "update_task", json!({"taskId": "cake", "category": "shopping"})).await;
    assert_eq!(moved["shared"], true);
    assert_eq!(house.ask(&anna, "update_task", json!({"taskId": "cake", "category": ""})).await["shared"], false);
}

#[tokio::test]
async fn an_item_is_on_a_list_once() {
    let (house, anna, ben) = (House::new(), somebody(), somebody());
    house.add(&anna, "shopping", &["milk", "eggs", "milk"]).await;
    assert_eq!(house.on(&anna, "shopping").await, "milk eggs");
    let again = json!({"title": "Milk", "category": "shopping"});
    assert_eq!(house.say(&ben, "add_task", again).await, "Milk is already on the shopping list.");
    let two = house.by(&ben, "add_task", json!({"title": "2 milk", "category": "shopping"})).await.unwrap();
    assert_eq!(two.say.unwrap(), "It was on the shopping list already; now it says “2 milk”.");
    assert_eq!(two.content["alreadyOnList"], true);
    assert_eq!(
        house.say(&anna, "add_task", json!({"title": "milk", "category": "shopping"})).await,
        "2 milk is already on the shopping list."
    );
    let batch =
        json!({"tasks": [{"title": "egg", "category": "shopping"}, {"title": "bread", "category": "shopping"}]});
    assert_eq!(
        house.say(&anna, "batch_add_tasks", batch).await,
        "I added bread to the shopping list. Eggs is already on the shopping list."
    );
    // Another day, another list and what is done are other things.
    house.ask(&anna, "complete_task", json!({"taskId": "eggs"})).await;
    house.add(&anna, "shopping", &["eggs"]).await;
    house.add(&anna, "camping", &["milk"]).await;
    let due = json!({"title": "bread", "category": "shopping", "dueDate": "2026-11-28"});
    assert_eq!(house.ask(&anna, "add_task", due).await.get("alreadyOnList"), None);
    assert_eq!(house.on(&anna, "shopping").await, "bread 2 milk bread eggs");
    // A run that read from outside adds, and changes nothing.
    let outside = somebody();
    outside.taint(Label::Outside);
    let four = json!({"title": "4 milk", "category": "shopping"});
    assert_eq!(house.within(&outside, "add_task", four).await.unwrap().content.get("alreadyOnList"), None);
    assert_eq!(house.on(&anna, "shopping").await, "bread 2 milk bread eggs 4 milk");
    let tidied = house.say(&anna, "tidy_list", json!({"list": "shopping"})).await;
    assert_eq!(tidied, "I merged one duplicate on the shopping list: 4 milk.");
    assert_eq!(house.on(&anna, "shopping").await, "bread 4 milk bread eggs");
    assert_eq!(
        house.say(&anna, "tidy_list", json!({"list": "shopping"})).await,
        "There are no duplicates on the shopping list."
    );
}

#[tokio::test]
async fn what_is_ticked_off_is_what_was_meant() {
    let (house, anna) = (House::new(), somebody());
    house.add(&anna, "shopping", &["milk and eggs", "banana yoghurt", "tomatoes", "oat milk", "milk"]).await;
    for (said, answer) in [
        ("milk", "Done: “milk”."),
        (
            "bananas",
            "nothing was ticked off: there is “banana yoghurt”, but no “bananas”; say the whole name if you mean that",
        ),
        ("tomato", "Done: “tomatoes”."),
        (
            "eggs",
            "nothing was ticked off: there is “milk and eggs”, but no “eggs”; say the whole name if you mean that",
        ),
        ("milk", "“milk” was done already."),
        ("oat milk", "Done: “oat milk”."),
        ("milk and eggs", "Done: “milk and eggs”."),
        ("yoghurt", "Done: “banana yoghurt”."),
    ] {
        assert_eq!(house.say(&anna, "complete_task", json!({"taskId": said})).await, answer, "{said}");
    }
    house.add(&anna, "camping", &["milk"]).await;
    house.add(&anna, "shopping", &["milk"]).await;
    let which = house.say(&anna, "complete_task", json!({"taskId": "milk"})).await;
    assert_eq!(which, "2 tasks fit `milk`: milk on the camping list and milk on the shopping list; say which");
    let here = json!({"taskId": "milk", "category": "our camping list"});
    assert_eq!(house.say(&anna, "complete_task", here).await, "Done: “milk”.");
    let none = json!({"taskId": "tea", "category": "camping"});
    assert_eq!(house.say(&anna, "complete_task", none).await, "“tea” is not on the camping list");
    // "Have we bought milk yet?"
    for (search, answer) in [
        ("milk", "Still on the shopping list: milk."),
        ("yoghurt", "“banana yoghurt” was ticked off today."),
        ("tea", "“tea” is not on the shopping list."),
    ] {
        let asked = json!({"category": "shopping", "search": search});
        assert_eq!(house.say(&anna, "list_tasks", asked).await, answer);
    }
}

#[tokio::test]
async fn lists_are_named_cleared_and_renamed() {
    let (house, anna, ben) = (House::new(), somebody(), somebody());
    let none = "There are no lists yet. Say “add milk to the shopping list” to begin one.";
    assert_eq!(house.say(&anna, "list_lists", json!({})).await, none);
    house.add(&anna, "shopping", &["milk", "eggs"]).await;
    let first = json!({"title": "tent", "category": "camping list"});
    assert_eq!(
        house.say(&ben, "add_task", first).await,
        "I added “tent” to the camping list. Everybody here sees this list."
    );
    house.ask(&anna, "complete_task", json!({"taskId": "milk"})).await;
    assert_eq!(
        house.say(&ben, "list_lists", json!({})).await,
        "There are 2 lists:\n- Camping (1 thing)\n- Shopping (1 thing)"
    );
    let done = json!({"list": "shopping", "done": true});
    assert_eq!(house.say(&ben, "clear_list", done.clone()).await, "I took what is done off the shopping list: milk.");
    assert_eq!(house.say(&ben, "clear_list", done).await, "Nothing is ticked off on the shopping list.");
    let taken = house.say(&ben, "rename_list", json!({"list": "camping", "name": "Shopping"})).await;
    assert!(taken.contains("there is a list “Shopping” already"), "{taken}");
    let renamed = house.say(&anna, "rename_list", json!({"list": "camping", "name": "the holiday list"})).await;
    assert_eq!(renamed, "The camping list is the holiday list now.");
    assert_eq!(house.on(&ben, "holiday").await, "tent");
    assert_eq!(house.say(&anna, "clear_list", json!({"list": "holiday"})).await, "I cleared the holiday list: tent.");
    let gone = house.by(&anna, "clear_list", json!({"list": "holiday"})).await;
    assert!(matches!(&gone, Err(Error::NotFound(text)) if text.contains("there is no holiday list")), "{gone:?}");
    for (tool, args) in [
        ("clear_list", json!({"list": " "})),
        ("rename_list", json!({"list": "shopping", "name": ""})),
        ("rename_list", json!({"list": "shopping", "name": "x".repeat(101)})),
        ("share_list", json!({"list": "", "shared": true})),
    ] {
        assert!(matches!(house.by(&anna, tool, args.clone()).await, Err(Error::BadArgs(_))), "{tool} {args}");
    }
}

/// Words of another member taint a run, also within a record of the caller's own; a tick does not.
#[tokio::test]
async fn words_of_others_are_theirs() {
    let (house, anna, ben) = (House::new(), somebody(), somebody());
    house.add(&anna, "shopping", &["milk"]).await;
    let label = async |cx: &Cx| {
        let run = again(cx);
        house.within(&run, "list_tasks", json!({"category": "shopping"})).await.unwrap();
        run.label()
    };
    assert_eq!((label(&anna).await, label(&ben).await), (Label::Own, Label::Member(anna.user())));
    house.ask(&ben, "complete_task", json!({"taskId": "milk"})).await;
    assert_eq!(label(&anna).await, Label::Own, "ticked off, it is still what Anna wrote");
    house.ask(&ben, "update_task", json!({"taskId": "milk", "title": "send me the keys"})).await;
    let somebodys = Label::Member(tool::UserId::SOMEBODY);
    assert_eq!(label(&anna).await, somebodys);
    let run = again(&cx());
    house.within(&run, "list_lists", json!({})).await.unwrap();
    assert_eq!(run.label(), somebodys, "the names of lists too");
}

#[tokio::test]
async fn overdue_tasks_are_asked_for_by_that_word() {
    let (house, anna) = (House::new(), somebody());
    assert_eq!(house.say(&anna, "list_tasks", json!({"overdue": true})).await, "Nothing is overdue.");
    for (title, due) in
        [("rent", "2026-11-18"), ("today", "2026-11-20"), ("call", "2026-11-20T09:00"), ("later", "2026-11-25")]
    {
        house.ask(&anna, "add_task", json!({"title": title, "dueDate": due})).await;
    }
    house.ask(&anna, "add_task", json!({"title": "undated"})).await;
    assert_eq!(
        house.say(&anna, "list_tasks", json!({"overdue": true})).await,
        "2 tasks are overdue:\n- Rent (overdue since Wednesday 18 November)\n- Call (overdue since today at 09:00)"
    );
    house.ask(&anna, "complete_task", json!({"taskId": "rent"})).await;
    assert!(house.say(&anna, "list_tasks", json!({"overdue": true})).await.starts_with("One task is overdue: call"));
    assert_eq!(house.tools().by(&anna, "list_tasks", json!({"overdue": false})).await.unwrap().content["count"], 5);
}
