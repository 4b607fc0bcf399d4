//! Bookmarks, on the real store in memory.

use super::*;
use crate::testing::{Kind, Tools, batches, is_private};
use proptest::prelude::*;

fn tools() -> Tools<impl Fn() -> Family<RecordStore<Bookmark>>> {
    let store = Store::in_memory().unwrap();
    Tools(move || family(&store, PageTitles::off()))
}

#[test]
fn addresses_are_read_and_named() {
    for (text, url, named) in [
        (
            "https://www.rust-lang.org/learn/get-started",
            "https://www.rust-lang.org/learn/get-started",
            "rust-lang.org: learn / get started",
        ),
        (" HTTP://Example.ORG ", "http://example.org/", "example.org"),
        ("example.org", "https://example.org/", "example.org"),
        (
            "example.org:8080/a_b/index.html?x=1#y",
            "https://example.org:8080/a_b/index.html?x=1#y",
            "example.org: a b / index",
        ),
        ("localhost:4620/", "https://localhost:4620/", "localhost"),
        ("http://[::1]/x", "http://[::1]/x", "[::1]: x"),
        ("http://kitchen/menu", "http://kitchen/menu", "kitchen: menu"),
        (
            "https://de.wikipedia.org/wiki/Z%C3%BCrich",
            "https://de.wikipedia.org/wiki/Z%C3%BCrich",
            "de.wikipedia.org: wiki / Zürich",
        ),
        ("https://x.org/100%/%zz/%", "https://x.org/100%/%zz/%", "x.org: 100% / %zz / %"),
        ("https://x.org/%ff%00%0a", "https://x.org/%ff%00%0a", "x.org: \u{fffd}%00%0a"),
        ("example.org/a://b", "https://example.org/a://b", "example.org: a: / b"),
        ("https://bücher.example/ä ö", "https://xn--bcher-kva.example/%C3%A4%20%C3%B6", "xn--bcher-kva.example: ä ö"),
    ] {
        let read = address(text).unwrap();
        assert_eq!((read.as_str(), &*title(&read)), (url, named), "{text}");
    }
    for (text, why) in [
        ("", "is empty"),
        ("javascript:alert(1)", "is no web address"),
        ("mailto:ana@example.org", "is no web address"),
        ("ftp://example.org/x", "is no web address"),
        ("file:///etc/passwd", "is no web address"),
        ("just some words", "is no web address"),
        ("https://", "is no web address"),
        ("https://a b/", "is no web address"),
        ("https://example.org:99999/", "is no web address"),
        ("https://ana:secret@example.org/", "password"),
        ("://x.y", "is no web address"),
    ] {
        let error = address(text).unwrap_err();
        assert!(error.message().contains(why), "{text}: {error}");
    }
    assert!(address(&format!("https://x.org/{}", "a".repeat(ADDRESS))).is_err());
    let long = address(&format!("https://x.org/{}", "ä".repeat(ADDRESS - 20))).unwrap_err();
    assert!(long.message().contains("too long"), "{long}");
    assert!(title(&address(&format!("https://x.org/{}", "a".repeat(2000))).unwrap()).chars().count() <= TITLE);
}

#[tokio::test]
async fn a_bookmark_lives_from_adding_to_deletion() {
    let t = tools();
    let table = [
        ("list_bookmarks", json!({}), "There are no bookmarks yet."),
        (
            "add_bookmark",
            json!({"url": "rust-lang.org/learn", "tags": ["Rust", "rust"]}),
            "I saved the bookmark “rust-lang.org: learn”.",
        ),
        (
            "batch_add_bookmarks",
            json!({"bookmarks": [
                {"url": "https://example.org/bread", "title": "Bread", "category": "recipes", "isFavorite": true},
                {"url": "https://example.org/soup", "title": "Soup", "category": "Recipes", "description": "with leek"},
            ]}),
            "I saved 2 bookmarks: Bread and Soup.",
        ),
        ("list_bookmarks", json!({}), "You have 3 bookmarks:\n- Soup\n- Bread\n- rust-lang.org: learn"),
        ("list_bookmarks", json!({"tag": "RUST"}), "“rust-lang.org: learn” is at https://rust-lang.org/learn"),
        ("list_bookmarks", json!({"limit": 1}), "Your latest bookmarks:\n- Soup\n- … and more"),
        (
            "update_bookmark",
            json!({"bookmarkId": "bread", "isFavorite": false, "tags": ["new"], "url": "https://example.com", "category": null}),
            "I changed the bookmark “Bread”.",
        ),
        ("delete_bookmark", json!({"bookmarkId": "soup"}), "I deleted the bookmark “Soup”."),
        (
            "delete_bookmark",
            json!({"bookmarkId": "soup"}),
            "there is no bookmark `soup`: `list_bookmarks` shows what there is, with ids",
        ),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
    let bread = t.ask("list_bookmarks", json!({"search": "bread"})).await["bookmarks"][0].clone();
    for (field, value) in [
        ("url", json!("https://example.com/")),
        ("category", json!("recipes")),
        ("tags", json!(["new"])),
        ("isFavorite", json!(false)),
        ("description", json!(null)),
        ("shared", json!(false)),
    ] {
        assert_eq!(bread[field], value, "{field}");
    }
    let cleared = t.ask("update_bookmark", json!({"bookmarkId": bread["id"], "category": "", "tags": []})).await;
    assert_eq!(json!([cleared["category"], cleared["tags"]]), json!([null, []]));
}

#[tokio::test]
async fn a_list_is_narrowed() {
    let t = tools();
    for (title, category, tags, favorite) in [
        ("a", "x", vec!["1"], true),
        ("b", "y", vec!["1", "2"], false),
        ("c", "X", vec![], false),
        ("d", "x", vec!["12"], true),
    ] {
        let args = json!({"url": format!("https://example.org/{title}/page"), "title": title, "category": category,
            "tags": tags, "isFavorite": favorite, "description": format!("about {title}")});
        t.ask("add_bookmark", args).await;
    }
    for (args, titles) in [
        (json!({}), "d c b a"),
        (json!({"category": "x"}), "d c a"),
        (json!({"tag": "1"}), "b a"),
        (json!({"tag": "1", "category": "Y"}), "b"),
        (json!({"isFavorite": true}), "d a"),
        (json!({"isFavorite": false}), "c b"),
        (json!({"isFavorite": true, "tag": "1"}), "a"),
        (json!({"search": "EXAMPLE.org/c"}), "c"),
        (json!({"search": "about 12"}), "d"),
        (json!({"category": "", "tag": " ", "search": ""}), "d c b a"),
        (json!({"limit": 2, "offset": 1}), "c b"),
        (json!({"tag": "x"}), ""),
    ] {
        assert_eq!(t.listed("list_bookmarks", args.clone(), "title").await, titles, "{args}");
    }
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("add_bookmark", json!({"url": "https://example.org/", "title": "one"})).await;
    let ok = "https://example.org/";
    let many: Vec<String> = (0..21).map(|n| n.to_string()).collect();
    t.refuses(
        "list_bookmarks",
        &[
            ("add_bookmark", json!({"url": "nothing"}), "is no web address"),
            ("add_bookmark", json!({"url": ok, "title": "x".repeat(301)}), "the title is longer"),
            ("add_bookmark", json!({"url": ok, "description": "x".repeat(2001)}), "the description is longer"),
            ("add_bookmark", json!({"url": ok, "tags": many}), "more than 20 tags"),
            ("add_bookmark", json!({"url": ok, "tags": "x"}), "expected a sequence"),
            ("add_bookmark", json!({"title": "x"}), "url"),
            ("update_bookmark", json!({"bookmarkId": "one"}), "say what to change"),
            ("update_bookmark", json!({"bookmarkId": "one", "title": " "}), "the title is empty"),
            ("update_bookmark", json!({"bookmarkId": "one", "title": "two", "url": "x"}), "is no web address"),
            ("update_bookmark", json!({"bookmarkId": "one", "id": "two"}), "unknown field `id`"),
            ("delete_bookmark", json!({}), "`bookmarkId` is missing"),
            ("delete_bookmark", json!({"bookmarkId": ""}), "say which bookmark"),
        ],
    )
    .await;
}

#[tokio::test]
async fn bookmarks_are_private_and_batches_whole() {
    let kind = Kind {
        add: (
            "add_bookmark",
            json!({"url": "https://zoo.example/", "title": "Zebra", "tags": ["zoo"], "isFavorite": true}),
        ),
        list: "list_bookmarks",
        which: "bookmarkId",
        reads: &[],
        changes: &[("update_bookmark", json!({"title": "Gnu"})), ("delete_bookmark", json!({}))],
    };
    is_private(&tools(), kind).await;
    let item = |name: String| json!({"url": "https://example.org/", "title": name});
    let names = ("batch_add_bookmarks", "bookmarks", "bookmark");
    batches(&tools(), names, "list_bookmarks", item, json!({"url": "ftp://x.y/"})).await;
}

proptest! {
    #[test]
    fn no_text_breaks_an_address(text in "\\PC{0,60}", scheme in "(https?://|)(www\\.)?") {
        for text in [text.clone(), format!("{scheme}{text}")] {
            if let Ok(url) = address(&text) {
                prop_assert!(title(&url).chars().count() <= TITLE);
                prop_assert_eq!(address(url.as_str()).unwrap(), url, "the stored form is stable");
            }
        }
    }
}
