//! Tasks, on the real store in memory; now is Friday, 20 November 2026, 14:30 in Vienna.

use super::*;
use crate::testing::{Kind, Tools, at, batches, cx, is_private, texts};
use proptest::prelude::*;
use std::cell::Cell;
use store::Coded;
use tool::Family;

fn tools() -> Tools<impl Fn() -> Family<RecordStore<Task>>> {
    let store = Store::in_memory().unwrap();
    Tools(move || family(&store))
}

#[tokio::test]
async fn a_task_lives_from_adding_to_deletion() {
    let t = tools();
    let table = [
        ("list_tasks", json!({}), "You have nothing to do."),
        (
            "add_task",
            json!({"title": " buy milk ", "category": "shopping"}),
            "I added “buy milk” to the shopping list.",
        ),
        (
            "add_task",
            json!({"title": "call Ana", "dueDate": "2026-11-21", "priority": "high", "notes": "about the boiler"}),
            "I added “call Ana”, due tomorrow, high priority.",
        ),
        (
            "batch_add_tasks",
            json!({"tasks": [
                {"title": "pay rent", "dueDate": "2026-11-18"},
                {"title": "eggs", "category": "Shopping", "dueDate": "2026-11-24T18:00"},
            ]}),
            "I added 2 tasks: pay rent and eggs.",
        ),
        (
            "list_tasks",
            json!({}),
            "You have 4 open tasks:\n- Pay rent (overdue since Wednesday 18 November)\n- Call Ana (tomorrow)\n- Eggs (Tuesday at 18:00), on the Shopping list\n- Buy milk, on the shopping list",
        ),
        (
            "list_tasks",
            json!({"category": "shopping"}),
            "There are 2 things on the shopping list:\n- Eggs (Tuesday at 18:00)\n- Buy milk",
        ),
        (
            "list_tasks",
            json!({"limit": 1}),
            "You have more than one open task:\n- Pay rent (overdue since Wednesday 18 November)\n- … and more",
        ),
        ("list_tasks", json!({"search": "boiler ANA"}), "You have one open task: call Ana (tomorrow)."),
        ("list_tasks", json!({"search": "boiler eggs"}), "I found no task like that."),
        ("list_tasks", json!({"category": "work"}), "There is nothing on the work list: I know no list of that name."),
        ("complete_task", json!({"taskId": "MILK"}), "Done: “buy milk”."),
        ("complete_task", json!({"taskId": "buy milk"}), "“buy milk” was done already."),
        ("complete_task", json!({"taskId": "milk"}), "“buy milk” was done already."),
        ("complete_task", json!({"taskId": "eggs"}), "Done: “eggs”."),
        (
            "list_tasks",
            json!({"category": "shopping"}),
            "Nothing is left on the shopping list. Done:\n- Buy milk\n- Eggs",
        ),
        ("update_task", json!({"taskId": "eggs", "status": "pending"}), "“eggs” is open again."),
        ("update_task", json!({"taskId": "eggs", "title": "six eggs"}), "I changed “six eggs”."),
        ("update_task", json!({"taskId": "rent", "status": "in_progress"}), "“pay rent” is in progress."),
        ("update_task", json!({"taskId": "rent", "status": "cancelled"}), "“pay rent” is cancelled."),
        ("complete_task", json!({"taskId": "rent"}), "Done: “pay rent”."),
        ("delete_task", json!({"taskId": "pay rent"}), "I deleted the task “pay rent”."),
        (
            "delete_task",
            json!({"taskId": "pay rent"}),
            "there is no task `pay rent`: `list_tasks` shows what there is, with ids",
        ),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
}

#[tokio::test]
async fn a_task_answers_what_is_known_of_it() {
    let t = tools();
    let added = t.ask("add_task", json!({"title": "rent", "dueDate": "2026-11-20T14:29", "shared": true})).await;
    let fields =
        ["id", "title", "status", "priority", "dueDate", "category", "notes", "completedAt", "overdue", "shared"];
    for field in fields.iter().chain(&["createdAt", "updatedAt"]) {
        assert!(added.get(field).is_some(), "{field}: {added}");
    }
    assert_eq!(added.as_object().unwrap().len(), 12, "{added}");
    let told = json!([added["dueDate"], added["overdue"], added["shared"], added["priority"], added["completedAt"]]);
    assert_eq!(told, json!(["2026-11-20T14:29:00+01:00", true, true, "normal", null]));
    let done = t.ask("complete_task", json!({"taskId": added["id"]})).await;
    assert_eq!(
        json!([done["completedAt"], done["overdue"], done["status"]]),
        json!(["2026-11-20T14:30:00+01:00", false, "completed"])
    );
    // Marked as done again later, it keeps its time; reopened, it has none.
    let later = at("2026-11-21T08:00:00+01:00[Europe/Vienna]");
    let again = t.by(&later, "update_task", json!({"taskId": added["id"], "status": "completed"})).await.unwrap();
    assert_eq!(again.content["completedAt"], done["completedAt"]);
    let reopened = t.ask("update_task", json!({"taskId": "rent", "status": "pending"})).await;
    assert_eq!(json!([reopened["completedAt"], reopened["overdue"]]), json!([null, true]));

    // A whole day is overdue when it is over.
    t.ask("add_task", json!({"title": "day", "dueDate": "2026-11-20"})).await;
    let overdue = async |now: &str| {
        texts(&t.by(&at(now), "list_tasks", json!({"search": "day"})).await.unwrap().content, "overdue")
    };
    assert_eq!(overdue("2026-11-20T23:59:59+01:00[Europe/Vienna]").await, "false");
    assert_eq!(overdue("2026-11-21T00:00:00+01:00[Europe/Vienna]").await, "true");
    for clear in [json!(null), json!(""), json!(" ")] {
        t.ask("update_task", json!({"taskId": "day", "dueDate": "2026-11-20", "category": "x", "notes": "y"})).await;
        let cleared =
            t.ask("update_task", json!({"taskId": "day", "dueDate": clear, "category": "", "notes": " "})).await;
        assert_eq!(json!([cleared["dueDate"], cleared["category"], cleared["notes"]]), json!([null, null, null]));
    }
    let kept = t.ask("update_task", json!({"taskId": "rent", "priority": "urgent"})).await;
    assert_eq!(json!([kept["dueDate"], kept["priority"], kept["shared"]]), json!([added["dueDate"], "urgent", true]));
}

#[tokio::test]
async fn of_one_title_the_open_one_is_meant() {
    let t = tools();
    for _ in 0..3 {
        t.ask("add_task", json!({"title": "milk"})).await;
        assert_eq!(t.say("complete_task", json!({"taskId": "milk"})).await, "Done: “milk”.");
    }
    assert_eq!(t.say("complete_task", json!({"taskId": "milk"})).await, "“milk” was done already.");
    assert!(t.say("delete_task", json!({"taskId": "milk"})).await.starts_with("3 tasks fit `milk`"));
    t.ask("add_task", json!({"title": "milk"})).await;
    t.ask("add_task", json!({"title": "Milk", "category": "other"})).await;
    let several = t.by(&cx(), "complete_task", json!({"taskId": "milk"})).await.unwrap_err();
    assert!(matches!(&several, Error::BadArgs(text) if text.starts_with("2 tasks fit `milk`")), "{several}");
    // By id any task is found, finished ones included.
    let over = t.ask("list_tasks", json!({"status": "completed"})).await["tasks"][0]["id"].clone();
    assert_eq!(t.say("delete_task", json!({"taskId": over})).await, "I deleted the task “milk”.");
}

#[tokio::test]
async fn due_dates_bound_a_list() {
    let t = tools();
    for (title, due) in [
        ("a", "2026-11-19"),
        ("b", "2026-11-20"),
        ("c", "2026-11-20T09:00"),
        ("d", "2026-11-20T23:59:59"),
        ("e", "2026-11-21T00:00"),
        ("f", "2026-11-21"),
        ("g", ""),
    ] {
        t.ask("add_task", json!({"title": title, "dueDate": due, "category": "x"})).await;
    }
    t.ask("add_task", json!({"title": "over", "dueDate": "2026-11-20"})).await;
    t.ask("complete_task", json!({"taskId": "over"})).await;
    for (args, titles) in [
        (json!({}), "a b c d e f g over"),
        (json!({"dueBefore": "2026-11-20"}), "a b c d"),
        (json!({"dueAfter": "2026-11-20"}), "b c d e f"),
        (json!({"dueAfter": "2026-11-20", "dueBefore": "2026-11-20"}), "b c d"),
        (json!({"dueAfter": "2026-11-20", "dueBefore": "2026-11-20", "category": "X"}), "b c d"),
        (json!({"dueBefore": "2026-11-20", "status": "pending"}), "a b c d"),
        (json!({"dueBefore": "2026-11-20", "status": "completed"}), "over"),
        (json!({"dueAfter": "2026-11-21", "status": "completed"}), ""),
        (json!({"dueBefore": "2026-11-20T09:00"}), "a b c"),
        (json!({"dueAfter": "2026-11-20T23:59:59Z"}), "f"),
        (json!({"dueAfter": "2026-11-21", "dueBefore": "2026-11-20"}), ""),
        (json!({"dueAfter": "9998-12-31"}), ""),
        (json!({"dueBefore": "1700-01-01"}), ""),
        (json!({"dueBefore": " "}), "a b c d e f g over"),
    ] {
        assert_eq!(t.listed("list_tasks", args.clone(), "title").await, titles, "{args}");
    }
    // After the household moved, whole days remain the same days.
    let tokyo = at("2026-11-20T14:30:00+09:00[Asia/Tokyo]");
    let there = t.by(&tokyo, "list_tasks", json!({"dueAfter": "2026-11-21", "dueBefore": "2026-11-21"})).await.unwrap();
    assert_eq!(texts(&there.content, "title"), "d e f", "23:59:59 in Vienna is the next morning in Tokyo");
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("add_task", json!({"title": "one"})).await;
    let long = |n: usize| "ä".repeat(n);
    t.refuses(
        "list_tasks",
        &[
            ("add_task", json!({"title": " \t\n"}), "the title is empty"),
            ("add_task", json!({"title": long(301)}), "longer than 300 characters"),
            ("add_task", json!({"title": "x", "category": long(101)}), "the category is longer"),
            ("add_task", json!({"title": "x", "notes": long(10_001)}), "the text in notes is longer"),
            ("add_task", json!({"title": "x", "dueDate": "soon"}), "the dueDate: `soon` is no date"),
            ("add_task", json!({"title": "x", "dueDate": "2026-02-30"}), "2026-02-30"),
            ("add_task", json!({"title": "x", "dueDate": "9999-12-31"}), "the year 9999"),
            ("add_task", json!({"title": "x", "dueDate": "0044-03-15"}), "the year 44"),
            ("add_task", json!({"title": "x", "dueDate": long(100_000)}), "is no date"),
            ("add_task", json!({"title": "x", "priority": "huge"}), "huge"),
            ("add_task", json!({"title": "x", "color": "red"}), "color"),
            ("add_task", json!({}), "title"),
            ("list_tasks", json!({"limit": -1}), "-1"),
            ("list_tasks", json!({"offset": 1e300}), "1e+300"),
            ("list_tasks", json!({"dueBefore": "2026"}), "the dueBefore"),
            ("list_tasks", json!({"search": long(301)}), "search"),
            ("complete_task", json!({"taskId": " "}), "say which task"),
            ("update_task", json!({"taskId": "one"}), "say what to change"),
            ("update_task", json!({"taskId": "one", "title": ""}), "the title is empty"),
            ("update_task", json!({"taskId": "one", "title": "two", "dueDate": "2026-13-01"}), "2026-13-01"),
            ("update_task", json!({"taskId": "one", "title": "two", "status": "lost"}), "lost"),
        ],
    )
    .await;
    let none = t.ask("list_tasks", json!({"offset": u32::MAX, "limit": u32::MAX})).await;
    assert_eq!(none, json!({"count": 0, "hasMore": false, "tasks": []}));
    // Characters that are invisible, or reverse the text next to them, are left out.
    let (given, odd) = ("\u{0}🦓\u{202e}ẞ\u{10ffff}", "🦓ẞ\u{10ffff}");
    assert_eq!(t.ask("add_task", json!({"title": given, "category": given, "notes": given})).await["title"], odd);
    assert_eq!(t.listed("list_tasks", json!({"category": odd, "search": odd}), "title").await, odd);
    t.ask("complete_task", json!({"taskId": odd})).await;
}

#[tokio::test]
async fn tasks_are_private_and_batches_whole() {
    let kind = Kind {
        add: ("add_task", json!({"title": "Zebra", "dueDate": "2026-11-21"})),
        list: "list_tasks",
        which: "taskId",
        reads: &[],
        changes: &[("update_task", json!({"title": "Gnu"})), ("complete_task", json!({})), ("delete_task", json!({}))],
    };
    is_private(&tools(), kind).await;
    let bad = json!({"title": "x", "dueDate": "never"});
    batches(&tools(), ("batch_add_tasks", "tasks", "task"), "list_tasks", |name| json!({"title": name}), bad).await;
}

/// A list reads little more than it returns, whatever else is stored.
#[tokio::test]
async fn a_list_reads_little() {
    let store = Store::in_memory().unwrap();
    let (tasks, cx) = (RecordStore::<Task>::new(&store), cx());
    let many = (0..4000).map(|n| {
        let mut task = Task { title: format!("t{n}"), category: Some("common".into()), ..Task::default() };
        task.set_due(Due::read(&cx, Some(&format!("20{:02}-11-20", 27 + n % 70))).unwrap());
        // Per thousand tasks: one plain, one each with another category, priority, status or due day; the others are
        // done.
        match n % 1000 {
            0 => {}
            1 => task.category = Some("rare".into()),
            2 => task.priority = Priority::Urgent,
            3 => task.set_status(Status::InProgress, 0),
            4 => task.set_status(Status::Cancelled, n),
            5 => task.set_due(Due::read(&cx, Some("2026-11-20")).unwrap()),
            _ => task.set_status(Status::Completed, n),
        }
        (task, false)
    });
    tasks.add_all(&cx, "t", many.collect()).await.unwrap();
    let today = When::read("2026-11-20", &cx.ports().clock.zone()).ok();
    let common = Some("common".to_owned());
    let rows = [
        (Filter::default(), 20, 21),
        (Filter { status: Some(Status::Pending), ..Filter::default() }, 16, 16),
        (Filter { status: Some(Status::InProgress), ..Filter::default() }, 4, 4),
        (Filter { status: Some(Status::Cancelled), ..Filter::default() }, 4, 4),
        (Filter { status: Some(Status::Completed), ..Filter::default() }, 20, 21),
        (Filter { status: Some(Status::Pending), category: common.clone(), ..Filter::default() }, 12, 12),
        (Filter { status: Some(Status::Cancelled), category: common.clone(), ..Filter::default() }, 4, 4),
        (Filter { category: Some("RARE".into()), ..Filter::default() }, 4, 4),
        (Filter { category: common.clone(), ..Filter::default() }, 20, 21),
        (Filter { priority: Some(Priority::Urgent), ..Filter::default() }, 4, 4),
        (Filter { status: Some(Status::Completed), priority: Some(Priority::Urgent), ..Filter::default() }, 0, 0),
        (Filter { due_before: today.clone(), ..Filter::default() }, 4, 4),
        (Filter { due_before: today.clone(), due_after: today.clone(), category: common, ..Filter::default() }, 4, 4),
        (Filter { due_after: today, status: Some(Status::InProgress), ..Filter::default() }, 4, 4),
    ];
    for (filter, answered, most) in rows {
        let read = Cell::new(0);
        let page = tasks.page(&cx, &filter.walk(&cx).unwrap(), (0, 20), |entry| {
            read.set(read.get() + 1);
            filter.wants(&cx, entry)
        });
        assert_eq!(page.unwrap().entries.len(), answered, "{filter:?}");
        assert!(read.get() <= most, "{filter:?} read {}", read.get());
    }
}

/// How long a list takes among many; run by hand in a release build.
#[tokio::test]
#[ignore = "measures: cargo test --release -p tools-everyday -- --ignored --nocapture among_many"]
async fn a_list_among_many_is_quick() {
    let t = tools();
    for batch in 0..1000 {
        let item = |n: usize| {
            let (n, cat) = (batch * 100 + n, if n == 7 { "rare" } else { "common" });
            json!({"title": format!("task {n}"), "category": cat, "dueDate": format!("20{:02}-0{}-1{}", 27 + n % 70, 1 + n % 9, n % 10)})
        };
        t.ask("batch_add_tasks", json!({"tasks": (0..100).map(item).collect::<Vec<_>>()})).await;
    }
    for args in [json!({}), json!({"status": "pending", "category": "rare"}), json!({"dueBefore": "2030-01-01"})] {
        let began = std::time::Instant::now();
        for _ in 0..100 {
            t.ask("list_tasks", args.clone()).await;
        }
        println!("{args}: {:?} a list", began.elapsed() / 100);
    }
}

#[derive(Debug, Clone)]
struct Made {
    due: Option<u8>,
    timed: bool,
    status: u8,
    priority: u8,
    category: Option<u8>,
    shared: bool,
}

fn made() -> impl Strategy<Value = Made> {
    let fields = (prop::option::of(0u8..6), any::<bool>(), 0u8..4, 0u8..4, prop::option::of(0u8..3), any::<bool>());
    fields.prop_map(|(due, timed, status, priority, category, shared)| Made {
        due,
        timed,
        status,
        priority,
        category,
        shared,
    })
}

fn day(n: u8, timed: bool) -> String {
    format!("2026-11-{:02}{}", 18 + n, if timed { "T10:00" } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// Consecutive pages are the whole list, which equals a plain sort of all tasks.
    #[test]
    fn pages_are_the_list_in_order(
        all in prop::collection::vec(made(), 0..40),
        status in prop::option::of(0u8..4),
        priority in prop::option::of(0u8..4),
        category in prop::option::of(0u8..3),
        (before, after) in (prop::option::of(0u8..6), prop::option::of(0u8..6)),
        size in 1u32..9,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (t, other) = (tools(), crate::testing::somebody());
            for (n, made) in all.iter().enumerate() {
                // Every second one belongs to another person, who shares some.
                let now = format!("2026-11-20T10:{:02}:00+01:00[Europe/Vienna]", n % 7);
                let cx = if n % 2 == 0 { at(&now) } else { other.clone() };
                let due = made.due.map(|due| day(due, made.timed));
                let args = json!({"title": n.to_string(), "dueDate": due, "category": made.category.map(|c| format!("Cat{c}")),
                    "priority": Priority::of(made.priority), "shared": made.shared});
                let id = t.by(&cx, "add_task", args).await.unwrap().content["id"].clone();
                if made.status > 0 {
                    let args = json!({"taskId": id, "status": Status::of(made.status)});
                    t.by(&cx, "update_task", args).await.unwrap();
                }
            }
            let args = json!({"status": status.map(Status::of), "priority": priority.map(Priority::of),
                "category": category.map(|c| format!("cAT{c}")), "dueBefore": before.map(|d| day(d, false)),
                "dueAfter": after.map(|d| day(d, false)), "limit": size});
            let mut wanted: Vec<(usize, &Made)> = all.iter().enumerate().filter(|(n, made)| {
                let dated = before.is_some() || after.is_some();
                let over = made.status >= 2;
                (n % 2 == 0 || made.shared)
                    && status.is_none_or(|s| s == made.status)
                    && priority.is_none_or(|p| p == made.priority)
                    && category.is_none_or(|c| Some(c) == made.category)
                    && (!dated || made.due.is_some() && (status.is_some() || !over))
                    && before.is_none_or(|b| made.due.is_some_and(|due| due <= b))
                    && after.is_none_or(|a| made.due.is_some_and(|due| due >= a))
            }).collect();
                        wanted.sort_by_key(|(n, made)| match (made.status >= 2, made.due) {
                // Finished ones are sorted by when they were closed: ours at its minute, theirs at half past two.
                (true, _) => (2, 0, false, -(if n % 2 == 0 { 600 + (n % 7) as i64 } else { 870 }), *n),
                (false, Some(due)) => (0, due, made.timed, 0, *n),
                (false, None) => (1, 0, false, 0, *n),
            });
            let wanted: Vec<String> = wanted.into_iter().map(|(n, _)| n.to_string()).collect();
            let (mut found, mut offset) = (vec![], 0);
            loop {
                let mut args = args.clone();
                args["offset"] = offset.into();
                let page = t.ask("list_tasks", args).await;
                let count = page["count"].as_u64().unwrap() as u32;
                found.extend(page["tasks"].as_array().unwrap().iter().map(|t| t["title"].as_str().unwrap().to_owned()));
                offset += count;
                if page["hasMore"] == false {
                    break;
                }
                assert_eq!(count, size, "a page that is not the last is full");
            }
            assert_eq!(found, wanted);
        });
    }
}
