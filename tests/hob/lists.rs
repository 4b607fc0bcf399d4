//! Lists in pages: conversations, messages, runs and tools, while others are added, changed and deleted.

use crate::harness::{Hob, TOKEN};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Imports a conversation of `count` messages and returns its id.
fn import(hob: &Hob, token: &str, title: &str, count: usize) -> String {
    let message = |n: usize| json!({"role": if n.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("{title} {n}")});
    let messages: Vec<Value> = (0..count).map(message).collect();
    let document = json!({"format": "hob-conversation", "version": 1, "title": title, "messages": messages});
    let request = hob.request("POST", "/api/v1/conversations/import").bearer(token).json(&document);
    text(&request.send().data(200)["id"])
}

fn say(hob: &Hob, conversation: &str, words: &str) -> Value {
    hob.post("/api/v1/chat", json!({"message": words, "conversationId": conversation})).data(200)
}

fn delete(hob: &Hob, conversation: &str) {
    hob.admin("DELETE", &format!("/api/v1/conversations/{conversation}")).send().data(200);
}

fn ids(page: &Value, of: &str) -> Vec<String> {
    page[of].as_array().unwrap().iter().map(|one| text(&one["id"])).collect()
}

/// Reads pages of a list to its end, and calls `between` with the number of each page that was read.
fn walk(hob: &Hob, path: &str, of: &str, mut between: impl FnMut(usize)) -> Vec<String> {
    let (mut all, mut before) = (vec![], String::new());
    for n in 1.. {
        let page = hob.get(&format!("{path}{before}")).data(200);
        all.extend(ids(&page, of));
        let Some(next) = page["next"].as_str() else { break };
        before = format!("&before={next}");
        between(n);
    }
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{path}: one comes twice");
    all
}

#[test]
fn conversations_come_in_pages_while_others_come_and_go() {
    let mut hob = Hob::start();
    let mut made: Vec<String> = (0..45).map(|n| import(&hob, TOKEN, &format!("letter {n}"), 2)).collect();
    made.reverse();
    let path = "/api/v1/conversations?limit=10";
    assert_eq!(walk(&hob, path, "conversations", |_| {}), made);
    let first = hob.get(path).data(200);
    assert_eq!((&first["count"], first["conversations"].as_array().unwrap().len()), (&json!(45), 10));
    // One that was shown is deleted, one that was not is deleted, one is new, and one moves to the top.
    let found = walk(&hob, path, "conversations", |page| {
        if page == 2 {
            delete(&hob, &made[12]);
            delete(&hob, &made[30]);
            import(&hob, TOKEN, "new", 2);
            say(&hob, &made[3], "what is 2 * 3?");
        }
    });
    let expected: Vec<String> = made.iter().filter(|id| **id != made[30]).cloned().collect();
    assert_eq!(found, expected);
    // The cursor's own conversation is deleted.
    let first = hob.get(path).data(200);
    let shown = ids(&first, "conversations");
    assert_eq!(shown[0], made[3], "what was said last");
    delete(&hob, shown.last().unwrap());
    let next = text(&first["next"]);
    let rest = ids(&hob.get(&format!("/api/v1/conversations?limit=200&before={next}")).data(200), "conversations");
    let all = walk(&hob, path, "conversations", |_| {});
    assert_eq!(rest[..], all[9..]);
    let (offset, whole) = ("/api/v1/conversations?limit=200&offset=40", "/api/v1/conversations?limit=999");
    assert_eq!(ids(&hob.get(offset).data(200), "conversations")[..], all[40..]);
    let whole = hob.get(whole).data(200);
    assert_eq!(
        (ids(&whole, "conversations"), &whole["next"], &whole["count"]),
        (all.clone(), &Value::Null, &json!(all.len()))
    );
    // A search comes in pages too.
    let found = walk(&hob, "/api/v1/conversations?limit=4&query=letter", "conversations", |_| {});
    assert_eq!(found.len(), all.len() - 1);
    for bad in ["x", "7", "1-2", "-", "0197f3a2-0000-7000-8000-000000000000", "%F0%9F%99%82"] {
        hob.get(&format!("{path}&before={bad}")).refusal(400, "bad_args");
    }
    hob.get("/api/v1/conversations?limit=-1").refusal(400, "bad_args");
    // The order is that of the stored records after a restart and after a power cut.
    hob.kill();
    hob.start_again();
    assert_eq!(walk(&hob, path, "conversations", |_| {}), all);
    hob.assert_alive();
}

#[test]
fn nobody_finds_or_counts_the_lists_of_others() {
    let hob = Hob::start();
    let ben = hob.token("ben", "admin");
    let as_ben = |path: &str| hob.request("GET", path).bearer(&ben).send();
    let mine: Vec<String> = (0..3).map(|_| import(&hob, TOKEN, "mine", 4)).collect();
    let run = say(&hob, &mine[0], "what is 2 * 3?");
    let theirs = import(&hob, &ben, "theirs", 2);
    let cursor = text(&hob.get("/api/v1/conversations?limit=1").data(200)["next"]);
    for query in ["", "?query=mine", &format!("?before={}-{}", u64::MAX, mine[0])] {
        let found = as_ben(&format!("/api/v1/conversations{query}")).data(200);
        let own = if query.contains("mine") { vec![] } else { vec![theirs.clone()] };
        assert_eq!((ids(&found, "conversations"), &found["count"]), (own.clone(), &json!(own.len())), "{query}");
    }
    as_ben(&format!("/api/v1/conversations?before={cursor}")).data(200);
    for path in [format!("/api/v1/conversations/{}", mine[0]), format!("/api/v1/conversations/{}/messages", mine[0])] {
        as_ben(&path).refusal(404, "not_found");
    }
    for query in ["", "?state=done", &format!("?conversationId={}", mine[0])] {
        let found = as_ben(&format!("/api/v1/runs{query}")).data(200);
        assert_eq!((&found["count"], &found["runs"]), (&json!(0), &json!([])));
    }
    as_ben(&format!("/api/v1/runs/{}", text(&run["runId"]))).refusal(404, "not_found");
}

#[test]
fn messages_come_in_pages_and_a_long_conversation_is_bounded() {
    let hob = Hob::start();
    let id = import(&hob, TOKEN, "long", 450);
    let at = format!("/api/v1/conversations/{id}");
    let contents = |page: &Value| -> Vec<String> {
        page["messages"].as_array().unwrap().iter().map(|message| text(&message["content"])).collect()
    };
    let written: Vec<String> = (0..450).map(|n| format!("long {n}")).collect();
    let shown = hob.get(&at).data(200);
    assert_eq!((contents(&shown), &shown["messageCount"]), (written[250..].to_vec(), &json!(450)));
    assert_eq!(shown["next"], shown["messages"][0]["id"]);
    let tokens = shown["tokens"].as_u64().unwrap();
    assert!((900..1800).contains(&tokens), "{tokens} tokens");
    assert_eq!(contents(&hob.get(&format!("{at}?limit=3")).data(200)), written[447..]);
    // Messages that come meanwhile are no reason to repeat or miss one.
    let (mut found, mut before) = (vec![], String::new());
    loop {
        let page = hob.get(&format!("{at}/messages?limit=33{before}")).data(200);
        found.splice(0..0, contents(&page));
        let Some(next) = page["next"].as_str() else { break };
        before = format!("&before={next}");
        if found.len() < 100 {
            say(&hob, &id, "what is 2 * 3?");
        }
    }
    assert_eq!(found, written);
    let exported = hob.get(&format!("{at}/export")).data(200);
    assert_eq!(exported["messages"].as_array().unwrap().len(), 450 + 3 * 4);
    let copy = hob.post(&format!("{at}/fork"), json!({"messageId": shown["messages"][0]["id"]})).data(200);
    assert_eq!(copy["messageCount"], 251);
    // Run details read the messages of the run alone.
    let run = say(&hob, &id, "what is 2 * 4?");
    let steps = hob.get(&format!("/api/v1/runs/{}", text(&run["runId"]))).data(200)["steps"].take();
    assert_eq!(
        (&steps[0]["text"], &steps.as_array().unwrap().last().unwrap()["kind"]),
        (&json!("what is 2 * 4?"), &json!("answer"))
    );
    for bad in ["before=x", "limit=x", "limit=-1"] {
        hob.get(&format!("{at}/messages?{bad}")).refusal(400, "bad_args");
    }
    hob.get(&format!("{at}?limit=x")).refusal(400, "bad_args");
    hob.get("/api/v1/conversations/0197f3a2-0000-7000-8000-000000000000/messages").refusal(404, "not_found");
    // A cursor outlives its message.
    hob.post(&format!("{at}/reset"), json!({})).data(200);
    let gone = hob.get(&format!("{at}/messages?limit=3{before}")).data(200);
    assert_eq!((&gone["messages"], &gone["next"]), (&json!([]), &Value::Null));
    let few = say(&hob, &id, "what is 2 * 5?");
    let shown = hob.get(&at).data(200);
    assert_eq!((&shown["next"], &shown["messages"][0]["runId"]), (&Value::Null, &few["runId"]));
}

#[test]
fn runs_come_in_pages_and_are_counted_by_state() {
    let mut hob = Hob::start();
    let said: Vec<Value> = (0..23).map(|n| hob.say(&format!("what is {n} * 2?"))).collect();
    let mut made: Vec<String> = said.iter().map(|answer| text(&answer["runId"])).collect();
    made.reverse();
    let path = "/api/v1/runs?limit=5";
    // New runs come first, and a deleted conversation takes its run along.
    let found = walk(&hob, path, "runs", |page| {
        if page == 2 {
            hob.say("what is 3 * 3?");
            delete(&hob, &text(&said[0]["conversationId"]));
            delete(&hob, &text(&said[20]["conversationId"]));
        }
    });
    assert_eq!(found[..], made[..22]);
    let counted = |hob: &Hob, query: &str| {
        let page = hob.get(&format!("/api/v1/runs?limit=2&{query}")).data(200);
        (page["count"].as_u64().unwrap(), page["runs"].as_array().unwrap().len())
    };
    let conversation = text(&said[5]["conversationId"]);
    say(&hob, &conversation, "what is 4 * 4?");
    say(&hob, &conversation, "what is 4 * 5?");
    for round in 0..2 {
        assert_eq!(counted(&hob, ""), (24, 2), "{round}");
        assert_eq!((counted(&hob, "state=done"), counted(&hob, "state=failed,running")), ((24, 2), (0, 0)));
        assert_eq!(counted(&hob, &format!("conversationId={conversation}")), (3, 2));
        let own = format!("/api/v1/runs?limit=1&state=done&conversationId={conversation}");
        assert_eq!(walk(&hob, &own, "runs", |_| {}).last(), Some(&text(&said[5]["runId"])));
        hob.kill();
        hob.start_again();
    }
    assert_eq!(ids(&hob.get("/api/v1/runs?limit=2&offset=22").data(200), "runs")[..], made[20..22]);
    for bad in ["before=x", "before=7-8", "limit=x", "offset=-1", "state=asleep"] {
        hob.get(&format!("/api/v1/runs?{bad}")).refusal(400, "bad_args");
    }
    hob.assert_alive();
}

/// The one rule of query parameters, at every address that has some.
#[test]
fn every_list_judges_its_parameters_by_one_rule() {
    let mut hob = Hob::start();
    let id = import(&hob, TOKEN, "letter", 3);
    hob.post("/api/v1/tools/calculate/execute", json!({"expression": "1"}));
    let own = [format!("/api/v1/conversations/{id}"), format!("/api/v1/conversations/{id}/messages")];
    // Each path with its parameters that are numbers, ids, and true or false.
    type Names = &'static [&'static str];
    let rows: [(&str, Names, Names, Names); 12] = [
        ("/api/v1/conversations", &["limit", "offset"], &["before"], &[]),
        (&own[0], &["limit"], &[], &[]),
        (&own[1], &["limit"], &["before"], &[]),
        ("/api/v1/runs", &["limit", "offset"], &["before", "conversationId", "state"], &[]),
        ("/api/v1/approvals", &["limit"], &["before", "state"], &["everybody"]),
        ("/api/v1/interactions", &["limit"], &["before", "state"], &[]),
        ("/api/v1/grants", &[], &[], &["everybody"]),
        ("/api/v1/audit", &["limit", "before"], &["verdict"], &["everybody"]),
        ("/api/v1/custom-tools", &["limit", "offset"], &["status", "createdBy"], &[]),
        ("/api/v1/documents/SOUL.md/history", &["limit", "offset"], &[], &[]),
        ("/api/v1/tools", &[], &[], &["details"]),
        ("/api/v1/usage", &["days"], &[], &[]),
    ];
    for (path, numbers, words, flags) in rows {
        let plain = hob.get(path).data(200);
        let get = |query: String| hob.get(&format!("{path}?{query}"));
        assert_eq!(get("nosuch=1".into()).data(200), plain, "{path}");
        for name in numbers.iter().chain(words).chain(flags) {
            assert_eq!(get(format!("{name}=")).data(200), plain, "{path}: {name}");
            let why = get(format!("{name}=abc")).refusal(400, "bad_args");
            assert!(why.contains(&format!("`{name}`")), "{path}: {why}");
        }
        for name in numbers {
            assert!(
                get(format!("{name}=-1")).refusal(400, "bad_args").contains("a whole number from"),
                "{path}: {name}"
            );
        }
        for name in numbers.iter().filter(|name| ["limit", "days"].contains(name)) {
            let why = get(format!("{name}=0")).refusal(400, "bad_args");
            assert!(why.contains(&format!("`{name}` cannot be `0`: write a whole number from 1")), "{path}: {why}");
            get(format!("{name}=100000")).data(200);
        }
    }
    hob.assert_alive();
}

#[test]
fn the_list_of_tools_is_short_unless_details_are_asked_for() {
    let hob = Hob::start();
    let short = hob.get("/api/v1/tools");
    let bytes = short.text().len();
    let (short, whole) = (short.data(200), hob.get("/api/v1/tools?details=true").data(200));
    assert_eq!(short["count"], whole["count"]);
    let each = bytes / short["tools"].as_array().unwrap().len();
    assert!(each <= 190, "{each} bytes a tool");
    for (line, tool) in short["tools"].as_array().unwrap().iter().zip(whole["tools"].as_array().unwrap()) {
        for field in ["name", "category", "group", "risk", "enabled"] {
            assert_eq!(line[field], tool[field], "{tool}");
        }
        assert!(text(&tool["description"]).starts_with(&text(&line["description"])), "{tool}");
        assert!(line.get("parameters").is_none() && line.get("requiresConfirmation").is_none(), "{line}");
        let aliases = tool["aliases"].as_array().unwrap();
        assert_eq!(line.get("aliases").is_none(), aliases.is_empty(), "{line}");
        assert!(tool["parameters"].is_object() && tool["requiresConfirmation"].is_boolean(), "{tool}");
    }
    let one = hob.get("/api/v1/tools/add_task").data(200);
    assert!(one["parameters"]["properties"]["title"].is_object() && one["help"].is_object(), "{one}");
    let found = hob.get("/api/v1/tools?query=add_task&details=true").data(200);
    assert_eq!((&found["tools"][0]["by"], &found["tools"][0]["parameters"]), (&json!("words"), &one["parameters"]));
    hob.get("/api/v1/tools?details=perhaps").refusal(400, "bad_args");
}
