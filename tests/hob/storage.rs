//! Compaction of the data file of a running daemon.

use crate::harness::Hob;
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
};

/// Stores a conversation of some megabytes; returns its id.
fn long_conversation(hob: &Hob, title: &str, messages: usize) -> String {
    let text = title.repeat(30_000 / title.len());
    let messages: Vec<Value> = (0..messages).map(|_| json!({"role": "user", "content": text})).collect();
    let document = json!({"format": "hob-conversation", "version": 1, "title": title, "messages": messages});
    let stored = hob.post("/api/v1/conversations/import", document).data(200);
    stored["id"].as_str().unwrap().to_owned()
}

fn storage(hob: &Hob) -> Value {
    hob.get("/api/v1/storage").data(200)
}

#[test]
fn the_data_file_is_compacted_while_it_is_used() {
    let mut hob = Hob::start();
    let fresh = storage(&hob);
    assert!(
        fresh["size"].as_u64().unwrap() > 0 && fresh["compacted"].is_null() && fresh["compacting"].is_null(),
        "{fresh}"
    );
    let kept = long_conversation(&hob, "kept", 20);
    let gone: Vec<String> = (0..5).map(|_| long_conversation(&hob, "gone", 150)).collect();
    for id in gone {
        hob.admin("DELETE", &format!("/api/v1/conversations/{id}")).send().data(200);
    }
    let member = hob.token("marta", "member");
    let as_member = |method, path| hob.request(method, path).bearer(&member).send();
    assert!(as_member("GET", "/api/v1/storage").data(200)["size"].as_u64().unwrap() > 20_000_000);
    as_member("POST", "/api/v1/storage/compact").refusal(403, "denied");

    // Requests that come meanwhile are answered, and what they write stays.
    let (over, asked) = (AtomicBool::new(false), AtomicU32::new(0));
    let done = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let n = asked.fetch_add(1, Ordering::Relaxed);
                hob.get("/api/v1/conversations").data(200);
                if n < 20 {
                    hob.result("add_note", json!({"title": format!("note {n}"), "content": "meanwhile"}));
                }
            }
        });
        let done = hob.post("/api/v1/storage/compact", json!({}));
        over.store(true, Ordering::Relaxed);
        asking.join().unwrap();
        done.data(200)
    });
    let compacted = &done["compacted"];
    let bytes = |name: &str| compacted[name].as_u64().unwrap();
    assert!(bytes("before") > 20_000_000 && bytes("after") < 4_000_000, "{done}");
    assert!(done["problem"].is_null() && compacted["blockedMs"].is_u64(), "{done}");
    let told = hob.cli(&["doctor"]).ok();
    assert!(told.contains("storage  ") && told.contains("; compacted today, "), "{told}");

    let notes = asked.load(Ordering::Relaxed).min(20);
    let check = |hob: &Hob| {
        let found = hob.get(&format!("/api/v1/conversations/{kept}")).data(200);
        assert_eq!(found["messageCount"], 20);
        let all = hob.result("list_notes", json!({"limit": 100}));
        assert_eq!(all["notes"].as_array().unwrap().len(), notes as usize, "{all}");
        assert_eq!(hob.post("/api/v1/check", json!({})).data(200)["damages"], 0);
        assert_eq!(storage(hob)["compacted"]["before"], compacted["before"]);
    };
    check(&hob);
    hob.kill();
    hob.start_again();
    check(&hob);
    assert_eq!(hob.stop(), Some(0));
    let left: Vec<_> = std::fs::read_dir(hob.data()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains(".new")), "{left:?}");
    assert!(hob.cli(&["doctor"]).ok().contains("; compacted today, "));
}
