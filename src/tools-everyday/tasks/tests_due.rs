//! The tasks of a day, on the real store in memory: Friday, 20 November 2026, 14:30 in Vienna.

use super::*;
use crate::testing::{call, cx, somebody};

async fn add(store: &Store, cx: &Cx, task: Value) -> Value {
    call(family(store), cx, "add_task", task.clone()).await.unwrap_or_else(|e| panic!("{task}: {e}")).content
}

fn titles(tasks: &[OpenTask]) -> String {
    tasks.iter().map(|task| task.title.as_str()).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn what_is_due_is_the_latest_overdue_and_the_next() {
    let store = Store::in_memory().unwrap();
    for (title, due) in [
        ("ancient", "2016-01-01"),
        ("old", "2026-11-01"),
        ("yesterday", "2026-11-19"),
        ("this-morning", "2026-11-20T09:00"),
        ("today", "2026-11-20"),
        ("tonight", "2026-11-20T20:00"),
        ("thursday", "2026-11-26"),
        ("next-friday", "2026-11-27"),
        ("next-year", "2027-11-20"),
    ] {
        add(&store, &cx(), json!({"title": title, "dueDate": due})).await;
    }
    add(&store, &cx(), json!({"title": "some day"})).await;
    add(&store, &cx(), json!({"title": "done", "dueDate": "2026-11-20"})).await;
    call(family(&store), &cx(), "complete_task", json!({"taskId": "done"})).await.unwrap();
    for (days, limits, found, more) in [
        (7, (10, 20), "ancient old yesterday today this-morning tonight thursday", false),
        (8, (10, 20), "ancient old yesterday today this-morning tonight thursday next-friday", false),
        (1, (10, 20), "ancient old yesterday today this-morning tonight", false),
        (7, (2, 20), "old yesterday today this-morning tonight thursday", true),
        (7, (10, 2), "ancient old yesterday today this-morning", true),
        (0, (1, 1), "yesterday today", true),
    ] {
        let due = due_tasks(&store, &cx(), days, limits).unwrap();
        assert_eq!((titles(&due.tasks).as_str(), due.more), (found, more), "{days} {limits:?}");
    }
    let due = due_tasks(&store, &cx(), 7, (10, 20)).unwrap().tasks;
    let overdue: Vec<bool> = due.iter().map(|task| task.overdue).collect();
    assert_eq!(overdue, [true, true, true, false, true, false, false]);
    assert_eq!(due[4].due_date.as_deref(), Some("2026-11-20T09:00:00+01:00"));
    let theirs = due_tasks(&store, &somebody(), 7, (10, 20)).unwrap();
    assert!(theirs.tasks.is_empty() && !theirs.more, "private tasks are their owner's affair");
}

#[tokio::test]
async fn open_lists_have_their_first_items_and_a_count() {
    let (store, anna, ben) = (Store::in_memory().unwrap(), somebody(), somebody());
    for n in 1..=4 {
        add(&store, &anna, json!({"title": format!("item{n}"), "category": "Shopping"})).await;
    }
    add(&store, &ben, json!({"title": "bread", "category": "shopping", "dueDate": "2026-11-21"})).await;
    add(&store, &ben, json!({"title": "ring", "category": "presents", "shared": false})).await;
    add(&store, &ben, json!({"title": "sweep", "category": "chores"})).await;
    add(&store, &ben, json!({"title": "doctor"})).await;
    call(family(&store), &ben, "complete_task", json!({"taskId": "item2"})).await.unwrap();
    call(family(&store), &ben, "complete_task", json!({"taskId": "sweep"})).await.unwrap();
    let found = open_lists(&store, &anna, (5, 3)).unwrap();
    assert_eq!((found.lists.len(), found.more), (1, false), "what is done or Ben's own is not there");
    let list = &found.lists[0];
    assert_eq!((list.open, list.shared, titles(&list.items)), (4, true, "bread item1 item3".to_owned()));
    assert!(list.items.iter().all(|item| item.changeable), "items of a shared list are everybody's");
    assert_eq!(list.items[0].shared_by.as_deref(), Some("somebody else"));
    let found = open_lists(&store, &ben, (5, 3)).unwrap();
    let names: Vec<(&str, bool)> = found.lists.iter().map(|list| (list.list.as_str(), list.shared)).collect();
    assert_eq!(
        names.iter().map(|(name, shared)| (name.to_lowercase(), *shared)).collect::<Vec<_>>(),
        [("presents".to_owned(), false), ("shopping".to_owned(), true)]
    );
    let found = open_lists(&store, &ben, (1, 0)).unwrap();
    assert_eq!((found.lists.len(), found.lists[0].open, found.lists[0].items.len(), found.more), (1, 1, 0, true));
}
