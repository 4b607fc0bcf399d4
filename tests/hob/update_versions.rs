//! Old and new version alternately on one data folder: each reads what the other wrote.

use crate::{
    harness::Hob,
    supervised::{Signer, Start, Supervised, UPDATE},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::{Audience, Key, Level, Record, Stamp, Store, order};
use tool::{Id, Label, Scope, UserId};

#[test]
fn old_and_new_version_alternate_on_one_data_folder() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    it.remember("of the old one");
    it.call("add_task", json!({"title": "Water the plants"}));
    it.install(&signer.good("0.2.0", 2));
    it.wait_outcome("0.2.0");
    let mut words = vec!["of the old one".to_owned()];
    for turn in 0..4 {
        let view = it.view();
        let runs = if turn % 2 == 0 { "0.2.0" } else { "0.1.0" };
        assert_eq!(view["running"]["version"], runs, "{view}");
        let word = format!("turn {turn} by {runs}");
        it.remember(&word);
        words.push(word);
        let starts = it.starts();
        it.post(&format!("{UPDATE}/rollback"), json!({})).data(202);
        it.wait_starts(starts + 1);
        it.wait_view("the other version", |view| view["running"]["version"] != runs);
        words.sort();
        assert_eq!(it.remembered(), words);
        let tasks = it.call("list_tasks", json!({}));
        assert!(tasks.to_string().contains("Water the plants"), "{tasks}");
    }
    assert!(!it.data().join("crash").exists(), "{}", it.log());
}

#[test]
fn a_version_for_other_data_is_refused() {
    let signer = Signer::new();
    let it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let later = signer.bundle_with("0.9.0", 9, b"x", &|bundle| (bundle.data_schema, bundle.data_schema_min) = (9, 9));
    let told = it.begin(&later).refusal(422, "failed");
    assert!(told.contains("data"), "{told}");
    assert_eq!(it.view()["state"], "idle");
}

/// The bookmark of a later version: with fields that this one does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LaterBookmark {
    url: String,
    title: String,
    description: Option<String>,
    category: Option<String>,
    tags: Vec<String>,
    is_favorite: bool,
    visits: u32,
    cover: Option<String>,
    links: Vec<u64>,
}

impl Record for LaterBookmark {
    const NAME: &'static str = "bookmarks";
    const WORD: &'static str = "bookmark";
    const LEVEL: Level = Level::User;
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        [&self.title, &self.url, "", &self.tags.join("\n")].join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, order::text(&self.title)), Key::many(2, [])]
    }
}

/// What a later version does to the data of a Hob that is stopped.
fn later<T>(hob: &Hob, act: impl AsyncFnOnce(store::Collection<LaterBookmark>) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&hob.data()).unwrap();
        let done = act(store.collection()).await;
        store.close().await.unwrap();
        done
    })
}

fn titles(hob: &Hob) -> Vec<String> {
    let listed = hob.result("list_bookmarks", json!({}));
    let mut titles: Vec<String> =
        listed["bookmarks"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap().to_owned()).collect();
    titles.sort();
    titles
}

#[test]
fn records_of_a_later_version_are_read_changed_and_keep_what_this_one_does_not_know() {
    const OWNER: Scope = Scope::User(UserId::OWNER);
    let mut hob = Hob::start();
    let added = hob.result("add_bookmark", json!({"url": "https://example.org/a", "title": "First", "tags": ["x"]}));
    let id: Id = added["id"].as_str().or(added["bookmark"]["id"].as_str()).unwrap().parse().unwrap();
    assert_eq!(hob.stop(), Some(0));
    // After the update: the later version fills its fields in, and adds a record of its own.
    let mine = later(&hob, async |bookmarks| {
        let changed = bookmarks.update_in(OWNER, Label::Own, id, |bookmark| {
            assert_eq!(
                (bookmark.visits, &bookmark.cover, bookmark.links.len()),
                (0, &None, 0),
                "zero where it was not known"
            );
            (bookmark.visits, bookmark.cover, bookmark.links) = (7, Some("red".into()), vec![1, 2, 1 << 40]);
            Ok(())
        });
        changed.await.unwrap();
        let own = LaterBookmark {
            url: "https://example.org/b".into(),
            title: "Second".into(),
            description: None,
            category: None,
            tags: vec!["y".into()],
            is_favorite: true,
            visits: 300,
            cover: None,
            links: vec![5],
        };
        let stamp =
            Stamp { scope: OWNER, owner: UserId::OWNER, audience: Audience::Private, ..Stamp::household("later") };
        bookmarks.insert_as(stamp, own.clone()).await.unwrap();
        own
    });
    for turn in 0..3 {
        // The way back: this version reads all of it, and changes it.
        hob.start_again();
        let first = if turn == 0 { "First".to_owned() } else { format!("First {}", turn - 1) };
        assert_eq!(titles(&hob), [first, "Second".to_owned()], "turn {turn}");
        hob.result("update_bookmark", json!({"bookmarkId": id.to_string(), "title": format!("First {turn}")}));
        let found: Value = hob.result("list_bookmarks", json!({"search": "second"}));
        assert!(found.to_string().contains("https://example.org/b"), "{found}");
        match turn {
            // As a power cut leaves it.
            1 => hob.kill(),
            _ => assert_eq!(hob.stop(), Some(0)),
        }
        // The update once more: what only the later version knows is there, and so is the change.
        later(&hob, async |bookmarks| {
            let entry = bookmarks.get_in(OWNER, id).unwrap().unwrap().value;
            assert_eq!((entry.title, entry.visits), (format!("First {turn}"), 7 + turn));
            assert_eq!((entry.cover.as_deref(), entry.links), (Some("red"), vec![1, 2, 1 << 40]));
            let all: Vec<LaterBookmark> = bookmarks
                .list_in(OWNER, &store::Listing::default())
                .unwrap()
                .into_iter()
                .map(|entry| entry.value)
                .filter(|bookmark| bookmark.title == "Second")
                .collect();
            assert_eq!(all, std::slice::from_ref(&mine));
            let more = bookmarks.update_in(OWNER, Label::Own, id, |bookmark| {
                bookmark.visits += 1;
                Ok(())
            });
            more.await.unwrap();
        });
    }
    assert!(!hob.data().join("crash").exists(), "{}", hob.log());
}
