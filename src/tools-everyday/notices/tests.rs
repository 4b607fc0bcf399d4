//! Notices, on the real store in memory.

use super::*;
use crate::testing::{Tools, cx, somebody};
use tool::{BusEvent, Topics};

fn tools() -> Tools<impl Fn() -> Family<RecordStore<Notice>>> {
    let store = Store::in_memory().unwrap();
    Tools(move || family(&store))
}

#[tokio::test]
async fn a_notice_is_told_listed_and_dismissed() {
    let t = tools();
    let table = [
        ("list_notices", json!({}), "There are no notices."),
        ("list_notices", json!({"unseen": true}), "There is nothing new."),
        ("dismiss_notice", json!({"noticeId": "all"}), "There was nothing new."),
        ("notify", json!({"text": "The washing is done."}), "The washing is done."),
        ("notify", json!({"text": "Take out the bins!", "title": "Reminder"}), "Take out the bins!"),
        ("notify", json!({"text": "Tea"}), "Tea."),
        ("list_notices", json!({}), "There are 3 notices:\n- Tea\n- Take out the bins\n- The washing is done"),
        ("dismiss_notice", json!({"noticeId": "washing"}), "Cleared: “The washing is done”."),
        ("dismiss_notice", json!({"noticeId": "reminder"}), "Cleared: “Take out the bins”."),
        ("dismiss_notice", json!({"noticeId": "reminder"}), "Cleared: “Take out the bins”."),
        ("list_notices", json!({"unseen": true}), "There is one notice: Tea."),
        ("list_notices", json!({"unseen": false}), "There are 2 notices:\n- Take out the bins\n- The washing is done"),
        ("dismiss_notice", json!({"noticeId": " ALL "}), "I cleared one notice."),
        ("list_notices", json!({"unseen": true}), "There is nothing new."),
        (
            "dismiss_notice",
            json!({"noticeId": "coffee"}),
            "there is no notice `coffee`: `list_notices` shows what there is, with ids",
        ),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
    let one = t.ask("notify", json!({"text": "x", "title": ""})).await;
    assert_eq!(json!([one["title"], one["text"], one["seen"], one["shared"]]), json!([null, "x", false, false]));
}

#[tokio::test]
async fn only_the_person_hears_of_it() {
    let (t, anna, ben) = (tools(), cx(), somebody());
    // The same bus: another person of the same house.
    let theirs = Cx::root(anna.ports().clone(), ben.principal().clone(), ben.via().clone());
    let mut heard = anna.ports().bus.listen_to(None, Topics::parse("notice:*").unwrap());
    let told = t.by(&anna, "notify", json!({"text": "Tea", "title": "Kitchen"})).await.unwrap().content;
    t.by(&theirs, "notify", json!({"text": "Coffee"})).await.unwrap();
    for (to, text) in [(anna.user(), "Tea"), (theirs.user(), "Coffee")] {
        let Some(BusEvent::Event(event)) = heard.next().await else { panic!("nothing was heard") };
        assert_eq!((&*event.topic, event.to, &event.data["text"]), ("notice:new", Some(to), &json!(text)));
        let first = json!({"id": told["id"], "title": "Kitchen", "text": "Tea"});
        assert!(text != "Tea" || event.data == first, "{}", event.data);
    }

    assert_eq!(t.by(&theirs, "list_notices", json!({})).await.unwrap().content["count"], 1);
    for which in [told["id"].as_str().unwrap(), "Kitchen"] {
        let refused = t.by(&theirs, "dismiss_notice", json!({"noticeId": which})).await;
        assert!(matches!(&refused, Err(Error::NotFound(_))), "{refused:?}");
    }
    t.by(&theirs, "dismiss_notice", json!({"noticeId": "all"})).await.unwrap();
    assert_eq!(t.ask("list_notices", json!({"unseen": true})).await["count"], 1, "hers is not seen yet");
}

/// The same person's model, in a run of its own.
fn model_of(cx: &Cx) -> Cx {
    let bounds = tool::Bounds { model_call: Some("call_1".into()), ..Default::default() };
    let own = Cx::root(cx.ports().clone(), cx.principal().clone(), cx.via().clone());
    own.in_run(Id::new(), None, Default::default()).bounded(bounds)
}

#[tokio::test]
async fn the_newest_are_kept() {
    let (t, other) = (tools(), somebody());
    t.by(&other, "notify", json!({"text": "theirs"})).await.unwrap();
    let all = (0..Notice::KEPT + 5).map(|n| t.say("notify", json!({"text": format!("n{n}")})));
    futures::future::join_all(all).await;
    let mut found = vec![];
    for offset in [0, 50, 100, 150, 200] {
        let page = t.ask("list_notices", json!({"limit": 50, "offset": offset})).await;
        assert_eq!(page["hasMore"], offset < 150, "{offset}");
        found.extend(page["notices"].as_array().unwrap().iter().map(|n| n["text"].as_str().unwrap().to_owned()));
    }
    assert_eq!(found.len(), Notice::KEPT);
    assert!(!found.contains(&"n0".to_owned()) && found.contains(&format!("n{}", Notice::KEPT + 4)));
    assert_eq!(t.by(&other, "list_notices", json!({})).await.unwrap().content["count"], 1);
    assert_eq!(t.ask("dismiss_notice", json!({"noticeId": "all"})).await["dismissed"], Notice::KEPT);
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("notify", json!({"text": "one"})).await;
    t.refuses(
        "list_notices",
        &[
            ("notify", json!({"text": " "}), "the text is empty"),
            ("notify", json!({"text": "x".repeat(2001)}), "the text is longer"),
            ("notify", json!({"text": "x", "title": "x".repeat(201)}), "the title is longer"),
            ("notify", json!({}), "text"),
            ("list_notices", json!({"limit": "many"}), "many"),
            ("dismiss_notice", json!({"noticeId": ""}), "say which notice"),
        ],
    )
    .await;
    // A long text is found by its beginning.
    let long = "🦓".repeat(2000);
    t.ask("notify", json!({"text": long})).await;
    let begin: String = long.chars().take(NAME).collect();
    assert_eq!(t.ask("dismiss_notice", json!({"noticeId": begin})).await["notices"][0]["text"], long);
}

#[tokio::test]
async fn what_the_agent_changed_of_itself_is_neither_driven_out_nor_dismissed_by_it() {
    let store = Store::in_memory().unwrap();
    let (t, anna) = (Tools(|| family(&store)), cx());
    let (records, user) = (store.collection::<Notice>(), anna.user());
    let put = store.write(move |tx| {
        let text = "It changed a passage.".to_owned();
        let notice = Notice { text, document: "SOUL.md".into(), version: 4, ..Notice::default() };
        notice.put(tx, &records, user, "document")
    });
    let id = put.await.unwrap().id;
    let model = model_of(&anna);
    for n in 0..Notice::KEPT + 5 {
        t.by(&model_of(&anna), "notify", json!({"text": format!("n{n}")})).await.unwrap();
    }
    let refused = t.by(&model, "dismiss_notice", json!({"noticeId": id})).await.unwrap_err();
    assert!(refused.message().contains("only they dismiss it"), "{refused}");
    let all = t.by(&model, "dismiss_notice", json!({"noticeId": "all"})).await.unwrap().content;
    assert_eq!(all["dismissed"], Notice::KEPT);
    let left = t.by(&model, "list_notices", json!({"unseen": true})).await.unwrap().content;
    let document = json!({"name": "SOUL.md", "version": 4, "before": 3});
    assert_eq!((&left["count"], &left["notices"][0]["document"]), (&json!(1), &document));
    // The person does, by hand or word by word.
    let by_word = model.bounded(tool::Bounds { by_word: true, ..Default::default() });
    t.by(&by_word, "dismiss_notice", json!({"noticeId": id})).await.unwrap();
    assert_eq!(t.by(&anna, "list_notices", json!({"unseen": true})).await.unwrap().content["count"], 0);
}

#[tokio::test]
async fn a_model_adds_few_and_drives_out_only_its_own() {
    let (t, anna) = (tools(), cx());
    let notify = async |cx: &Cx, text: &str| t.by(cx, "notify", json!({"text": text})).await;
    let texts = async || {
        let mut all = vec![];
        for offset in (0..Notice::KEPT + 50).step_by(50) {
            let page = t.ask("list_notices", json!({"limit": 50, "offset": offset})).await;
            all.extend(page["notices"].as_array().unwrap().iter().map(|n| n["text"].as_str().unwrap().to_owned()));
        }
        all
    };
    notify(&anna, "seen").await.unwrap();
    t.ask("dismiss_notice", json!({"noticeId": "seen"})).await;
    for n in 1..Notice::KEPT - 10 {
        notify(&anna, &format!("own {n}")).await.unwrap();
    }
    let run = model_of(&anna);
    for n in 0..PER_RUN {
        notify(&run, &format!("model {n}")).await.unwrap();
    }
    let refused = notify(&run, "one more").await.unwrap_err();
    assert!(matches!(&refused, Error::Denied(why) if why.contains("at most 10 notices")), "{refused}");
    // Seen notices are removed first, then the model's oldest, whoever adds another.
    for (cx, text) in [(&model_of(&anna), "a"), (&model_of(&anna), "b"), (&anna, "own c")] {
        notify(cx, text).await.unwrap();
    }
    let all = texts().await;
    assert_eq!((all.len(), all[0].as_str()), (Notice::KEPT, "own c"));
    for (text, is) in [("seen", false), ("own 1", true), ("model 1", false), ("model 2", true), ("a", true)] {
        assert_eq!(all.iter().any(|t| t == text), is, "{text}");
    }
    // A person's own notices replace the model's, and then their own oldest; a model then cannot add any, and gets an
    // error.
    for n in 0..Notice::KEPT {
        notify(&anna, &format!("new {n}")).await.unwrap();
    }
    let refused = notify(&model_of(&anna), "swallowed?").await.unwrap_err();
    assert!(refused.message().contains("the notice was not added"), "{refused}");
    let all = texts().await;
    assert!(all.len() == Notice::KEPT && all.iter().all(|text| text.starts_with("new ")), "{all:?}");
}
