//! Memory documents from outside: by address and by tool, found at once, undone, shared with the household, and across power cuts.

use crate::{
    harness::{Dice, Hob, Setup, TOKEN, until},
    http::Request,
    killed::{dice, number},
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, thread, time::Duration};

const AT: &str = "/api/v1/memory-documents";

fn put(hob: &Hob, path: &str, text: &str) -> Value {
    hob.admin("PUT", &format!("{AT}/{path}")).json(&json!({"text": text})).send().data(200)
}

fn read(hob: &Hob, path: &str) -> Value {
    hob.get(&format!("{AT}/{path}")).data(200)
}

fn found(hob: &Hob, query: &str) -> Vec<String> {
    let found = hob.result("memory_search", json!({"query": query}));
    let results = found["results"].as_array().unwrap();
    assert_eq!(found["count"], results.len());
    results.iter().map(|hit| hit["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn documents_are_written_found_read_and_deleted() {
    let mut hob = Hob::start();
    let text = "# House\n\n## Heating\nMarta serviced the boiler on 3 October.\n\n## Wifi\nThe guest network is called seagull.\n";
    let written = put(&hob, "memory/house/facts.md", text);
    assert_eq!((&written["version"], &written["shared"]), (&json!(1), &json!(false)));
    put(&hob, "memory/food.md", "Paella needs saffron.");
    put(&hob, "MEMORY.md", "The spare key is under the blue pot.");
    hob.kill();
    hob.start_again();
    assert_eq!(read(&hob, "memory/house/facts.md")["text"], text);
    let hit =
        hob.result("memory_search", json!({"query": "who looked after the heating?", "maxResults": 1}))["results"][0]
            .take();
    assert_eq!(
        (&hit["path"], &hit["startLine"], &hit["endLine"]),
        (&json!("memory/house/facts.md"), &json!(1), &json!(4)),
        "{hit}"
    );
    assert!(hit["snippet"].as_str().unwrap().contains("Marta") && hit["score"].as_f64().unwrap() > 0.35);
    assert_eq!(found(&hob, "where is the spare key")[0], "MEMORY.md");
    let part = hob.result("memory_get", json!({"path": "memory/house/facts.md", "from": 6, "lines": 1}));
    assert_eq!(
        (&part["text"], &part["startLine"], &part["endLine"], &part["totalLines"], &part["hasMore"]),
        (&json!("## Wifi"), &json!(6), &json!(6), &json!(7), &json!(true))
    );
    assert_eq!(hob.result("memory_get", json!({"path": "memory.md"}))["path"], "MEMORY.md");
    let listed = hob.get(&format!("{AT}?under=memory/")).data(200)["documents"].take();
    let paths: Vec<&str> = listed.as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["memory/food.md", "memory/house/facts.md"]);
    // As the page writes the address.
    assert_eq!(read(&hob, "memory%2Ffood.md")["text"], "Paella needs saffron.");
    hob.admin("DELETE", &format!("{AT}/memory/food.md")).send().data(200);
    hob.get(&format!("{AT}/memory/food.md")).refusal(404, "not_found");
    assert!(!found(&hob, "saffron").contains(&"memory/food.md".to_owned()));
    let said = hob.call("undo", json!({})).data(200)["say"].as_str().unwrap().to_owned();
    assert!(said.contains("memory/food.md"), "{said}");
    assert_eq!(found(&hob, "saffron"), ["memory/food.md"]);
    put(&hob, "memory/food.md", "Ramen needs broth.");
    hob.result("undo", json!({}));
    assert_eq!(read(&hob, "memory/food.md")["text"], "Paella needs saffron.");
    assert_eq!((found(&hob, "saffron").len(), found(&hob, "ramen broth").len()), (1, 0));
    hob.assert_alive();
}

#[test]
fn what_cannot_be_a_document_is_refused() {
    let mut hob = Hob::start();
    put(&hob, "memory/a.md", "x");
    for path in [
        "..%2f..%2fetc%2fpasswd",
        "memory%2f..%2f..%2fx",
        "%2fetc%2fpasswd",
        "memory%5ca.md",
        "memory/a%00.md",
        "memory/%E2%80%AEa.md",
        "M%D0%95MORY.md",
        "soul.md",
        "MEMORY/x.md",
        "notes.txt",
        "memory/",
        "memory//x.md",
        &format!("memory/{}.md", "x".repeat(300)),
    ] {
        let write = hob.admin("PUT", &format!("{AT}/{path}")).json(&json!({"text": "x"})).send();
        assert!((400..500).contains(&write.status), "{path}: {}", write.text());
        assert!((400..500).contains(&hob.get(&format!("{AT}/{path}")).status), "{path}");
    }
    let write = |body: Value| hob.admin("PUT", &format!("{AT}/memory/a.md")).json(&body).send();
    write(json!({"text": " "})).refusal(400, "bad_args");
    write(json!({"text": "a\u{0}b"})).refusal(400, "bad_args");
    write(json!({"text": "x".repeat(128 * 1024 + 1)})).refusal(400, "bad_args");
    write(json!({"txt": "x"})).refusal(400, "bad_args");
    let stale = write(json!({"text": "y", "version": 7})).refusal(409, "unavailable");
    assert!(stale.contains("version 1"), "{stale}");
    let other = hob.admin("PUT", &format!("{AT}/memory/A.md")).json(&json!({"text": "y"})).send();
    assert!(other.refusal(404, "not_found").contains("use that spelling"));
    for (tool, arguments) in [
        ("memory_get", json!({"path": "../x"})),
        ("memory_get", json!({"path": "memory/a.md", "from": 9})),
        ("memory_get", json!({"path": "memory/a.md", "from": 0})),
        ("memory_search", json!({"query": " "})),
        ("memory_search", json!({"query": "x", "minScore": 7})),
        ("memory_search", json!({"query": "x".repeat(5000)})),
    ] {
        hob.call(tool, arguments).refusal(400, "bad_args");
    }
    assert_eq!(read(&hob, "memory/a.md")["text"], "x");
    hob.assert_alive();
}

#[test]
fn an_own_document_comes_before_everybodys() {
    let hob = Hob::start();
    let shared = json!({"text": "The anchor weighs 12 kg.", "shared": true});
    hob.admin("PUT", &format!("{AT}/memory/boat.md")).json(&shared).send().data(200);
    let (member, viewer) = (hob.token("mia", "member"), hob.token("vera", "viewer"));
    let ask = |method: &str, token: &str| hob.request(method, &format!("{AT}/memory/boat.md")).bearer(token);
    assert_eq!(ask("GET", &viewer).send().data(200)["text"], "The anchor weighs 12 kg.");
    ask("PUT", &viewer).json(&json!({"text": "x"})).send().refusal(403, "denied");
    ask("PUT", &member).json(&shared).send().refusal(403, "denied");
    ask("PUT", &member).json(&json!({"text": "Mine weighs 9 kg.", "version": 0})).send().data(200);
    assert_eq!(ask("GET", &member).send().data(200)["shared"], false);
    assert_eq!(read(&hob, "memory/boat.md")["text"], "The anchor weighs 12 kg.", "nobody else sees it");
    assert_eq!(ask("GET", &viewer).send().data(200)["shared"], true);
    ask("DELETE", &member).send().data(200);
    assert_eq!(ask("GET", &member).send().data(200)["text"], "The anchor weighs 12 kg.");
    ask("DELETE", &member).send().refusal(404, "not_found");
}

#[test]
fn an_open_agent_has_context_files_of_each_person() {
    let hob = Hob::with(Setup { config: "[agent]\ntype = \"open\"\n".into(), ..Setup::default() });
    let member = hob.token("mia", "member");
    let ask = |method: &str, path: &str| hob.request(method, path).bearer(&member);
    put(&hob, "USER.md", "Nora rows.");
    for (name, at) in [("SOUL.md", AT), ("IDENTITY.md", "/api/v1/documents"), ("BOOTSTRAP.md", AT)] {
        let path = format!("{at}/{name}");
        ask("PUT", &path).json(&json!({"text": "Mia's"})).send().data(200);
        assert_eq!(ask("GET", &path).send().data(200)["text"], "Mia's");
    }
    let listed = |token: &str| {
        let listed = hob.request("GET", AT).bearer(token).send().data(200)["documents"].take();
        listed.as_array().unwrap().iter().map(|d| d["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&member), ["BOOTSTRAP.md", "IDENTITY.md", "SOUL.md"]);
    assert_eq!(listed(TOKEN), ["USER.md"]);
    // Deleting, as emptying, takes the first steps away.
    ask("DELETE", &format!("{AT}/BOOTSTRAP.md")).send().data(200);
    assert_eq!(listed(&member), ["IDENTITY.md", "SOUL.md"]);
    // Behind an own file that is deleted, the agent's appears again.
    put(&hob, "SOUL.md", "Nora's");
    ask("DELETE", &format!("{AT}/SOUL.md")).send().data(200);
    assert_eq!(listed(&member), ["IDENTITY.md"]);
    ask("DELETE", &format!("{AT}/SOUL.md")).send().refusal(404, "not_found");
    ask("PUT", &format!("{AT}/SOUL.md")).json(&json!({"text": "Mia's again", "version": 0})).send().data(200);
    ask("PUT", "/api/v1/documents/system_prompt").json(&json!({"text": "x"})).send().refusal(403, "denied");
}

#[test]
fn a_model_searches_and_its_prompt_has_what_fits() {
    let (hob, server) = with_model("");
    put(&hob, "memory/boat.md", "# Boat\nThe outboard engine takes 0.8 litres of 10W30 oil.");
    server.script(vec![calls(&[("memory_search", json!({"query": "engine oil"}))]), says("10W30.")]);
    hob.say("which oil does the outboard engine take?");
    let asked = server.asked();
    let prompt = asked[0].messages("system")[0]["content"].as_str().unwrap().to_owned();
    assert!(prompt.contains("10W30") && prompt.contains("memory/boat.md"), "{prompt}");
    let result = asked[1].messages("tool")[0]["content"].as_str().unwrap().to_owned();
    assert!(result.contains("\"path\":\"memory/boat.md\"") && result.contains("\"startLine\":1"), "{result}");
    server.script(vec![says("Hello.")]);
    hob.say("good morning");
    let last = server.asked().pop().unwrap();
    assert!(!last.messages("system")[0]["content"].as_str().unwrap().contains("10W30"));
}

/// The version of each document; 0 when there is none.
type Versions = BTreeMap<String, u64>;

struct Writer {
    name: String,
    dice: Dice,
    known: Versions,
    open: Option<(String, u64)>,
    version: u64,
}

fn body(name: &str, version: u64) -> String {
    // The larger ones are embedded in the background.
    let more = if version.is_multiple_of(5) { "filler words here\n\n".repeat(600) } else { String::new() };
    format!("# {name}\n{} of {name}\n{more}end {version}\n", token(name, version))
}

/// A word that is in this version of this document alone.
fn token(name: &str, version: u64) -> String {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    format!("token{version}x{digits}")
}

impl Writer {
    fn work(&mut self, port: u16) {
        loop {
            let path = format!("memory/{}/{}.md", self.name, self.dice.below(3));
            self.version += 1;
            let delete = self.dice.below(6) == 0;
            let version = if delete { 0 } else { self.version };
            self.open = Some((path.clone(), version));
            let method = if delete { "DELETE" } else { "PUT" };
            let request = Request::new(port, method, &format!("{AT}/{path}")).bearer(TOKEN);
            let request = if delete { request } else { request.json(&json!({"text": body(&path, version)})) };
            match request.try_send() {
                Ok(reply) if matches!(reply.status, 200 | 404) => {
                    self.known.insert(path, version);
                    self.open = None;
                }
                Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
                Err(_) => return,
            }
        }
    }

    fn check(&mut self, hob: &Hob, round: u64) {
        for n in 0..3 {
            let path = format!("memory/{}/{n}.md", self.name);
            let reply = hob.get(&format!("{AT}/{path}"));
            let text = (reply.status == 200).then(|| reply.data(200)["text"].as_str().unwrap().to_owned());
            let version = text.as_ref().map_or(0, |text| {
                let last = text.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
                assert_eq!(*text, body(&path, last), "round {round}: half of {path}");
                last
            });
            let known = self.known.get(&path).copied().unwrap_or_default();
            let unanswered = self.open.iter().any(|open| *open == (path.clone(), version));
            assert!(version == known || unanswered, "round {round}: {path} is at {version}, and was at {known}");
            self.known.insert(path.clone(), version);
            if version > 0 {
                let query = json!({"query": token(&path, version), "minScore": 0, "maxResults": 1});
                let hit = hob.result("memory_search", query)["results"][0].take();
                let snippet = hit["snippet"].as_str().unwrap_or_default();
                assert!(
                    snippet.contains(&format!("{} of {path}", token(&path, version))),
                    "round {round}: {path} is not found: {hit}"
                );
            }
        }
        self.open = None;
    }
}

/// `DOCUMENT_KILLS=100` kills as often as given.
#[test]
fn no_kill_loses_a_document_or_its_index() {
    let (kills, mut hob, mut dice) = (number("DOCUMENT_KILLS").unwrap_or(8), Hob::start(), dice("documents"));
    let mut writers: Vec<Writer> = (0..3)
        .map(|n| Writer {
            name: format!("writer{n}"),
            dice: Dice(dice.below(1 << 30) ^ n),
            known: Versions::new(),
            open: None,
            version: 0,
        })
        .collect();
    for round in 0..kills {
        let (port, pause) = (hob.port, Duration::from_millis(20 + dice.below(300)));
        thread::scope(|scope| {
            for writer in &mut writers {
                scope.spawn(move || writer.work(port));
            }
            thread::sleep(pause);
            hob.kill();
        });
        hob.assert_sound();
        hob.start_again();
        hob.assert_agrees();
        writers.iter_mut().for_each(|writer| writer.check(&hob, round));
    }
    until("the daemon", || hob.get("/healthz").status == 200);
    hob.assert_alive();
}
