//! Notes, on the real store in memory.

use super::*;
use crate::testing::{Kind, Tools, batches, cx, is_private};
use proptest::prelude::*;

fn tools() -> Tools<impl Fn() -> Family<RecordStore<Note>>> {
    let store = Store::in_memory().unwrap();
    Tools(move || family(&store))
}

#[tokio::test]
async fn a_note_lives_from_adding_to_deletion() {
    let t = tools();
    let table = [
        ("list_notes", json!({}), "There are no notes yet."),
        (
            "add_note",
            json!({"title": "Paint", "content": "The fence is RAL 9010.", "tags": ["garden"]}),
            "I saved the note “Paint”.",
        ),
        (
            "batch_add_notes",
            json!({"notes": [
                {"title": "Wifi", "content": "guest: lantern", "isPinned": true},
                {"title": "Car", "content": "winter tyres: 205/55", "category": "car"},
            ]}),
            "I saved 2 notes: Wifi and Car.",
        ),
        ("list_notes", json!({}), "You have 3 notes:\n- Wifi\n- Car\n- Paint"),
        ("list_notes", json!({"search": "TYRES winter"}), "Car: winter tyres: 205/55."),
        ("get_note", json!({"noteId": "paint"}), "Paint: The fence is RAL 9010."),
        ("update_note", json!({"noteId": "paint", "append": "The gate too."}), "I added that to the note “Paint”."),
        ("get_note", json!({"noteId": "paint"}), "Paint: The fence is RAL 9010.\nThe gate too."),
        (
            "update_note",
            json!({"noteId": "paint", "content": "All white.", "isPinned": true}),
            "I changed the note “Paint”.",
        ),
        ("list_notes", json!({}), "You have 3 notes:\n- Wifi\n- Paint\n- Car"),
        ("list_notes", json!({"limit": 1}), "Wifi: guest: lantern."),
        ("delete_note", json!({"noteId": "wifi"}), "I deleted the note “Wifi”."),
        ("get_note", json!({"noteId": "wifi"}), "there is no note `wifi`: `list_notes` shows what there is, with ids"),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
    let paint = t.ask("get_note", json!({"noteId": "Paint"})).await;
    for (field, value) in [
        ("content", json!("All white.")),
        ("truncated", json!(false)),
        ("tags", json!(["garden"])),
        ("category", json!(null)),
        ("isPinned", json!(true)),
        ("shared", json!(false)),
    ] {
        assert_eq!(paint[field], value, "{field}");
    }
}

#[tokio::test]
async fn long_texts_are_cut_in_lists_of_several() {
    let t = tools();
    let long = "ä".repeat(CONTENT);
    let added = t.ask("add_note", json!({"title": "long", "content": long})).await;
    assert_eq!((&added["truncated"], added["content"].as_str().unwrap().chars().count()), (&json!(false), CONTENT));
    let alone = t.ask("list_notes", json!({})).await["notes"][0].clone();
    assert_eq!(alone["content"], long, "one result is whole");
    t.ask("add_note", json!({"title": "short", "content": "x".repeat(SHOWN)})).await;
    let both = t.ask("list_notes", json!({})).await["notes"].clone();
    assert_eq!(json!([both[0]["truncated"], both[1]["truncated"]]), json!([false, true]));
    assert_eq!(both[1]["content"].as_str().unwrap().chars().count(), SHOWN);
    assert_eq!(t.ask("get_note", json!({"noteId": "long"})).await["content"], long);
    // A change that would make the note too long is refused and changes nothing.
    let full =
        t.by(&cx(), "update_note", json!({"noteId": "long", "title": "longer", "append": "x"})).await.unwrap_err();
    assert!(matches!(&full, Error::BadArgs(text) if text.contains("longer than 100000")), "{full}");
    assert_eq!(t.ask("get_note", json!({"noteId": "long"})).await["content"], long);
}

#[tokio::test]
async fn a_list_is_narrowed() {
    let t = tools();
    for (title, category, tags, pinned) in [
        ("a", "x", vec!["1"], true),
        ("b", "y", vec!["1", "2"], false),
        ("c", "X", vec![], false),
        ("d", "x", vec!["12"], true),
    ] {
        let args = json!({"title": title, "content": format!("text of {title}"), "category": category, "tags": tags, "isPinned": pinned});
        t.ask("add_note", args).await;
    }
    for (args, titles) in [
        (json!({}), "d a c b"),
        (json!({"category": "x"}), "d a c"),
        (json!({"tag": "1"}), "a b"),
        (json!({"tag": "1", "category": "Y"}), "b"),
        (json!({"isPinned": true}), "d a"),
        (json!({"isPinned": false}), "c b"),
        (json!({"isPinned": false, "category": "x"}), "c"),
        (json!({"search": "TEXT c"}), "c"),
        (json!({"category": "", "tag": " ", "search": ""}), "d a c b"),
        (json!({"limit": 2, "offset": 1}), "a c"),
        (json!({"tag": "x"}), ""),
    ] {
        assert_eq!(t.listed("list_notes", args.clone(), "title").await, titles, "{args}");
    }
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("add_note", json!({"title": "one", "content": "text"})).await;
    t.refuses(
        "list_notes",
        &[
            ("add_note", json!({"title": "x"}), "content"),
            ("add_note", json!({"title": "", "content": "x"}), "the title is empty"),
            ("add_note", json!({"title": "x", "content": "\n"}), "the content is empty"),
            ("add_note", json!({"title": "x", "content": "x".repeat(CONTENT + 1)}), "the content is longer"),
            ("add_note", json!({"title": "x", "content": "x", "tags": ["y".repeat(51)]}), "the tag is longer"),
            ("get_note", json!({"noteId": " "}), "say which note"),
            ("update_note", json!({"noteId": "one"}), "say what to change"),
            ("update_note", json!({"noteId": "one", "content": ""}), "the content is empty"),
            ("update_note", json!({"noteId": "one", "append": " "}), "the text to append is empty"),
            ("update_note", json!({"noteId": "one", "content": "x", "append": "y"}), "not both"),
            ("delete_note", json!({"noteId": ""}), "say which note"),
        ],
    )
    .await;
}

#[tokio::test]
async fn notes_are_private_and_batches_whole() {
    let kind = Kind {
        add: ("add_note", json!({"title": "Zebra", "content": "stripes", "tags": ["zoo"], "isPinned": true})),
        list: "list_notes",
        which: "noteId",
        reads: &[("get_note", json!({}))],
        changes: &[
            ("update_note", json!({"title": "Gnu"})),
            ("update_note", json!({"append": "more"})),
            ("delete_note", json!({})),
        ],
    };
    is_private(&tools(), kind).await;
    let item = |name: String| json!({"title": name, "content": "text"});
    let bad = json!({"title": "x", "content": ""});
    batches(&tools(), ("batch_add_notes", "notes", "note"), "list_notes", item, bad).await;
}

#[tokio::test]
async fn what_is_appended_at_once_is_all_there() {
    let t = tools();
    t.ask("add_note", json!({"title": "log", "content": "begin"})).await;
    let owner = cx();
    let lines = (0..8).map(|n| t.by(&owner, "update_note", json!({"noteId": "log", "append": format!("line {n}")})));
    assert!(futures::future::join_all(lines).await.iter().all(Result::is_ok));
    let content = t.ask("get_note", json!({"noteId": "log"})).await["content"].as_str().unwrap().to_owned();
    let mut lines: Vec<&str> = content.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["begin", "line 0", "line 1", "line 2", "line 3", "line 4", "line 5", "line 6", "line 7"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    /// Consecutive pages are the whole list: pinned notes first, then the newest.
    #[test]
    fn pages_are_the_list_in_order(all in prop::collection::vec((any::<bool>(), 0u8..3), 0..30), category in prop::option::of(0u8..3), size in 1u32..9) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let t = tools();
            for (n, (pinned, category)) in all.iter().enumerate() {
                let args = json!({"title": n.to_string(), "content": "x", "isPinned": pinned, "category": category.to_string()});
                t.ask("add_note", args).await;
            }
            let numbered = all.iter().enumerate().rev();
            let mut wanted: Vec<_> = numbered.filter(|(_, (_, c))| category.is_none_or(|wanted| wanted == *c)).collect();
            wanted.sort_by_key(|(_, (pinned, _))| !pinned);
            let wanted: Vec<String> = wanted.into_iter().map(|(n, _)| n.to_string()).collect();
            let mut found: Vec<String> = vec![];
            loop {
                let args = json!({"limit": size, "offset": found.len(), "category": category.map(|c| c.to_string())});
                let page = t.ask("list_notes", args).await;
                found.extend(page["notes"].as_array().unwrap().iter().map(|n| n["title"].as_str().unwrap().to_owned()));
                if page["hasMore"] == false {
                    break;
                }
            }
            assert_eq!(found, wanted);
        });
    }
}
