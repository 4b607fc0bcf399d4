//! The policy document: its effect through every door, and the named rule.

use crate::{
    approvals::{autonomy, decide, keep, memories, questions, that_waits},
    harness::{Hob, TOKEN, until},
    hijack::{Page, make},
    http::Reply,
    model_server::{ModelServer, calls, says},
    visitor::Visitor,
};
use serde_json::{Value, json};

const OWNER: &str = "00000000-0000-7000-8000-000000000001";

pub fn set(hob: &Hob, policy: Value) -> Value {
    hob.admin("PUT", "/api/v1/policy").json(&policy).send().data(200)
}

/// Calls a tool as whoever has this token.
pub fn call(hob: &Hob, token: &str, tool: &str, arguments: Value) -> Reply {
    let body = json!({"arguments": arguments});
    hob.request("POST", &format!("/api/v1/tools/{tool}/execute")).bearer(token).json(&body).send()
}

/// What comes of a call by a model: `ok`, `asked`, or what it was told.
fn by_model(hob: &Hob, server: &ModelServer, body: Value, tool: &str, arguments: Value) -> String {
    server.script(vec![calls(&[(tool, arguments)]), says("done")]);
    let mut events = hob.stream(body);
    let found = events.find(|(name, _)| name == "approval" || name == "tool_end").unwrap();
    let outcome = match (found.0.as_str(), &found.1) {
        ("approval", question) => {
            decide(hob, question, "deny");
            "asked".to_owned()
        }
        (_, end) if end["isError"] == true => end["result"].as_str().unwrap().to_owned(),
        _ => "ok".to_owned(),
    };
    assert_eq!(events.last().unwrap().0, "done");
    outcome
}

pub fn person(hob: &Hob, name: &str, role: &str) -> String {
    let made = hob.post("/api/v1/people", json!({"name": name, "role": role, "password": "correct horse battery"}));
    made.data(201)["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_document_is_kept_and_says_what_it_does_not_know() {
    let (mut hob, _server) = that_waits(1, "");
    let empty = hob.get("/api/v1/policy").data(200);
    assert_eq!((&empty["warnings"], &empty["policy"]["profile"]), (&json!([]), &json!("full")));
    let presets = &empty["presets"];
    assert_eq!(presets["readonly"]["level"], "read");
    assert_eq!(presets["restrictive"]["areas"], json!(["file_read", "memory"]));
    assert_eq!(presets["permissive"]["level"], "admin");
    let profiles: Vec<&String> = empty["profiles"].as_object().unwrap().keys().collect();
    assert_eq!(profiles, ["coding", "full", "messaging", "minimal"]);
    let ben = person(&hob, "ben", "member");
    let document = json!({
        "autonomy": "low", "profile": "full", "deny": ["memory_store", "time_machine", "group:spaceships"],
        "alsoAllow": ["group:gpio"], "ask": ["group:memory"], "byProvider": {"openai": {"profile": "coding"}},
        "agents": {"general": {"deny": ["forget"], "autonomy": "none"}}, "subagents": {"deny": ["recall"]},
        "users": {ben.as_str(): {"preset": "restrictive", "allowedTools": ["gpio_read"], "allowedHosts": ["*.example.org"],
                                 "allowedPaths": ["notes", "/srv/media"]}},
    });
    let shown = set(&hob, document.clone());
    for (field, value) in document.as_object().unwrap() {
        let kept = &shown["policy"][field];
        let same = match value {
            Value::Object(all) if field != "users" => all.keys().all(|k| kept.get(k).is_some()),
            Value::Object(_) => kept[&ben]["preset"] == "restrictive" && kept[&ben]["allowedPaths"][1] == "/srv/media",
            plain => plain == kept,
        };
        assert!(same, "{field}: {kept}");
    }
    let warnings = shown["warnings"].to_string();
    for part in ["`deny`: there is no tool `time_machine`", "`deny`: there is no group `spaceships`"] {
        assert!(warnings.contains(part), "{warnings}");
    }
    assert_eq!(shown["warnings"].as_array().unwrap().len(), 2, "{warnings}");
    hob.kill();
    hob.start_again();
    assert_eq!(hob.get("/api/v1/policy").data(200), shown);
    call(&hob, TOKEN, "remember", json!({"content": "x"})).refusal(403, "denied");

    for (document, place) in [
        (json!({"colour": 1}), "unknown field `colour`"),
        (json!({"autonomy": "total"}), "unknown variant `total`"),
        (json!({"deny": "forget"}), "expected a sequence"),
        (json!({"deny": ["for get"]}), "`deny`: \"for get\""),
        (json!({"allow": [""]}), "`allow`: \"\""),
        (json!({"profile": "none"}), "unknown variant `none`"),
        (json!({"agents": {"butler": {}}}), "`agents`: \"butler\""),
        (json!({"agents": {"general": {"deny": ["*!"]}}}), "`agents.general.deny`"),
        (json!({"users": {"ben": {}}}), "ben"),
        (json!({"users": {OWNER: {"level": "god"}}}), "unknown variant `god`"),
        (json!({"users": {OWNER: {"allowedPaths": ["../etc"]}}}), "allowedPaths`: \"../etc\""),
        (json!({"users": {OWNER: {"allowedHosts": ["a b"]}}}), "allowedHosts`: \"a b\""),
        (json!({"byProvider": {"openai": {"deny": []}}}), "unknown field `deny`"),
        (json!([]), "must be an object"),
    ] {
        let why = hob.admin("PUT", "/api/v1/policy").json(&document).send().refusal(400, "bad_args");
        assert!(why.contains(place), "{document}: {why}");
    }
    assert_eq!(hob.get("/api/v1/policy").data(200), shown, "nothing of them was kept");
    for role in ["member", "viewer"] {
        let token = hob.token(role, role);
        hob.request("GET", "/api/v1/policy").bearer(&token).send().refusal(403, "denied");
        hob.request("PUT", "/api/v1/policy").bearer(&token).json(&json!({})).send().refusal(403, "denied");
    }
    hob.assert_alive();
}

#[test]
fn a_denied_name_denies_the_tool_behind_it_by_every_way() {
    let (hob, server) = that_waits(20, "");
    let arguments = json!({"content": "x"});
    for denied in ["memory_store", "remember", "group:memory", "*"] {
        set(&hob, json!({"deny": [denied]}));
        let facade = json!({"tool_name": "memory_store", "arguments": arguments});
        for (tool, arguments) in
            [("remember", arguments.clone()), ("memory_store", arguments.clone()), ("use_tool", facade.clone())]
        {
            call(&hob, TOKEN, tool, arguments.clone()).refusal(403, "denied");
            let told = by_model(&hob, &server, json!({"message": "x"}), tool, arguments);
            assert!(told.contains("nobody may use"), "{denied} {tool}: {told}");
        }
        let both = json!({"operations": [{"tool": "remember", "args": arguments}, {"tool": "use_tool", "args": facade},
                                         {"tool": "calculate", "args": {"expression": "1+1"}}]});
        let batch = call(&hob, TOKEN, "batch_use_tool", both);
        if denied == "*" {
            batch.refusal(403, "denied");
        } else {
            let results = batch.data(200)["result"]["results"].take();
            let codes: Vec<&Value> = results.as_array().unwrap().iter().map(|r| &r["error"]["code"]).collect();
            assert_eq!(codes, [&json!("denied"), &json!("denied"), &Value::Null], "{results}");
        }
        let code = "return await utils.callTool('memory_store', {content: 'x'});";
        let draft = json!({"name": "trial", "description": "x", "parameters": {"type": "object"}, "code": code});
        let trial = hob.post("/api/v1/custom-tools/test", draft);
        let told = if trial.status == 200 { trial.data(200) } else { trial.json() };
        assert!(told.to_string().contains("nobody may use"), "{told}");
    }
    set(&hob, json!({}));
    assert!(memories(&hob).is_empty());
}

#[test]
fn lists_for_agents_bind_models_and_not_people() {
    let (hob, server) = that_waits(20, "");
    let rows = [
        (json!({"profile": "minimal"}), "is not in the profile of this agent"),
        (json!({"allow": ["group:gpio", "calculate"]}), "is not in the household's allow list"),
        (json!({"allow": []}), "is not in the household's allow list"),
        (json!({"byProvider": {"custom": {"profile": "minimal"}}}), "the profile for this provider"),
        (json!({"byProvider": {"custom": {"allow": ["recall"]}}}), "the allow list for this provider"),
        (json!({"agents": {"general": {"allow": ["recall"]}}}), "this agent's allow list"),
        (json!({"agents": {"general": {"byProvider": {"custom": {"allow": []}}}}}), "allow list for this provider"),
        (json!({"agents": {"general": {"deny": ["memory_store"]}}}), "this agent may not use `remember`"),
        (
            json!({"agents": {"general": {"deny": ["group:memory"]}}, "alsoAllow": ["remember"]}),
            "this agent may not use",
        ),
        (json!({"byProvider": {"openai": {"allow": []}}}), "ok"),
        (json!({"profile": "minimal", "agents": {"general": {"profile": "full"}}}), "ok"),
        (json!({"profile": "minimal", "alsoAllow": ["memory_store"]}), "ok"),
        (json!({"allow": [], "agents": {"general": {"alsoAllow": ["group:memory"]}}}), "ok"),
        (json!({"chats": {"kitchen": {"allow": []}}}), "ok"),
    ];
    for (at, (policy, outcome)) in rows.into_iter().enumerate() {
        set(&hob, policy.clone());
        let content = json!({"content": format!("by a model {at}")});
        for (tool, arguments) in
            [("remember", content.clone()), ("use_tool", json!({"tool_name": "memory_store", "arguments": content}))]
        {
            let told = by_model(&hob, &server, json!({"message": "x"}), tool, arguments);
            assert!(told.contains(outcome), "{policy}: {told}");
        }
        // What no call can do is not put before the model; the ways to other tools always are.
        let shown = server.asked()[0].tools();
        assert_eq!(shown.iter().any(|t| t == "remember"), outcome == "ok", "{policy}: {shown:?}");
        assert!(["search_tools", "use_tool"].iter().all(|t| shown.iter().any(|s| s == t)), "{shown:?}");
        call(&hob, TOKEN, "remember", json!({"content": format!("by hand {at}")})).data(200);
    }
    set(&hob, json!({}));
    // A request may narrow itself.
    let only = |tools: Value| json!({"message": "x", "allowTools": tools});
    for (list, outcome) in [
        (json!(["recall"]), "is not among the tools this request may use"),
        (json!([]), "is not among"),
        (json!(["group:gpio"]), "is not among"),
        (json!(["memory_store"]), "ok"),
        (json!(["group:memory"]), "ok"),
        (json!(["*"]), "ok"),
    ] {
        let told = by_model(&hob, &server, only(list.clone()), "remember", json!({"content": "narrow"}));
        assert!(told.contains(outcome), "{list}: {told}");
        assert_eq!(server.asked()[0].tools().iter().any(|t| t == "remember"), outcome == "ok", "{list}");
    }
    hob.post("/api/v1/chat", only(json!("remember"))).refusal(400, "bad_args");
    for (list, named) in [
        (json!(["recall", "nosuch"]), "`allowTools`: there is no tool called `nosuch`"),
        (json!(["remembr"]), "did you mean `remember`"),
        (json!(["group:nosuch"]), "`allowTools`: there is no group of tools called `nosuch`"),
        (json!([""]), "`allowTools`: there is no tool called ``"),
    ] {
        let why = hob.post("/api/v1/chat", only(list)).refusal(400, "bad_args");
        assert!(why.contains(named), "{why}");
    }
}

#[test]
fn a_user_s_rights_are_theirs_alone() {
    let (hob, _server) = that_waits(20, "");
    let (ben, eve) = (person(&hob, "ben", "member"), person(&hob, "eve", "viewer"));
    let tokens = [hob.token("ben", "member"), hob.token("eve", "viewer"), hob.token("mia", "member")];
    let [as_ben, as_eve, as_mia] = tokens.each_ref().map(String::as_str);
    // The most harmless of each level: read, write, execute, admin.
    let calls = [
        ("calculate", json!({"expression": "1+1"})),
        ("remember", json!({"content": "x"})),
        ("gpio_write", json!({"pin": 1, "high": true})),
        ("config_set_entry", json!({"service": "none", "fields": {}})),
    ];
    let outcomes = |token: &str| -> Vec<bool> {
        calls.iter().map(|(tool, arguments)| call(&hob, token, tool, arguments.clone()).status != 403).collect()
    };
    let rows = [
        (json!({}), [true, true, true, false], [true, false, false, false]),
        (json!({"level": "read"}), [true, false, false, false], [true, false, false, false]),
        (json!({"level": "none"}), [false; 4], [false; 4]),
        (json!({"level": "write"}), [true, true, false, false], [true, false, false, false]),
        (json!({"level": "admin"}), [true, true, true, false], [true, false, false, false]),
        (json!({"preset": "readonly"}), [true, false, false, false], [true, false, false, false]),
        (json!({"preset": "permissive"}), [true, true, true, false], [true, false, false, false]),
        (json!({"preset": "readonly", "level": "execute"}), [true, true, true, false], [true, false, false, false]),
        (json!({"areas": ["memory"]}), [true, true, false, false], [true, false, false, false]),
        (json!({"areas": ["actuate"]}), [false, false, true, false], [false, false, false, false]),
        (
            json!({"level": "none", "allowedTools": ["gpio_write", "memory_store"]}),
            [false, true, true, false],
            [false, false, false, false],
        ),
        (
            json!({"allowedTools": ["*"], "deniedTools": ["group:gpio"]}),
            [true, true, false, false],
            [true, false, false, false],
        ),
        (json!({"deniedTools": ["memory_store"]}), [true, false, true, false], [true, false, false, false]),
    ];
    for (policy, bens, eves) in rows {
        set(&hob, json!({"users": {ben.as_str(): policy, eve.as_str(): policy}}));
        assert_eq!((outcomes(as_ben), outcomes(as_eve)), (bens.to_vec(), eves.to_vec()), "{policy}");
        assert_eq!(outcomes(as_mia), [true, true, true, false], "others are as they were");
        assert_eq!(outcomes(TOKEN), [true; 4], "and so are admins");
        // The ways to other tools are open whatever the level.
        call(&hob, as_ben, "search_tools", json!({"query": "pin"})).data(200);
        let used = call(&hob, as_ben, "use_tool", json!({"tool_name": "remember", "arguments": {"content": "x"}}));
        assert_eq!(used.status != 403, bens[1], "{policy}");
    }
}

#[test]
fn everybody_chooses_their_own_autonomy() {
    let (mut hob, server) = that_waits(20, "");
    person(&hob, "ben", "member");
    let mut ben = Visitor::new(&hob);
    ben.sign_in(&json!({"person": "ben", "password": "correct horse battery"})).data(200);
    let of_ben = |ben: &Visitor| ben.get("/autonomy").data(200);
    let shown = of_ben(&ben);
    assert_eq!((&shown["level"], &shown["from"]), (&json!("medium"), &json!("built-in")));
    let levels: Vec<&str> = shown["levels"].as_array().unwrap().iter().map(|l| l["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["none", "low", "medium", "high", "full"]);
    set(&hob, json!({"autonomy": "high"}));
    assert_eq!((&of_ben(&ben)["level"], &of_ben(&ben)["from"]), (&json!("high"), &json!("household")));
    ben.send("PUT", "/autonomy", json!({"level": "none"})).data(200);
    ben.send("PUT", "/autonomy", json!({"level": "most"})).refusal(400, "bad_args");
    ben.send("PUT", "/autonomy", json!({})).refusal(400, "bad_args");
    assert_eq!((&of_ben(&ben)["level"], &of_ben(&ben)["from"]), (&json!("none"), &json!("own")));
    assert_eq!(hob.get("/api/v1/autonomy").data(200)["level"], "high", "the owner's is as it was");
    // A key that somebody carries about does not widen what is done unasked.
    let key = hob.token("ben", "member");
    let put = hob.request("PUT", "/api/v1/autonomy").bearer(&key).json(&json!({"level": "full"}));
    put.send().refusal(403, "denied");
    hob.kill();
    hob.start_again();
    let shown = hob.request("GET", "/api/v1/autonomy").bearer(&key).send().data(200);
    assert_eq!((&shown["level"], &shown["from"]), (&json!("none"), &json!("own")));

    // What is asked about, for each risk there is: observe, write, actuate, execute, destroy, admin.
    let id = keep(&hob, "kept");
    make(&hob, "seven", "return 7;", &[]);
    hob.admin("PUT", "/api/v1/config-services/bank").json(&json!({})).send().data(200);
    let rows = [
        ("gpio_read", json!({"pin": 2}), "none"),
        ("batch_remember", json!({"memories": [{"content": "y"}]}), "low"),
        ("gpio_write", json!({"pin": 2, "high": true}), "low"),
        ("seven", json!({}), "low"),
        ("forget", json!({"memoryId": id}), "high"),
        ("config_set_entry", json!({"service": "bank", "fields": {"base_url": "https://b.example.org"}}), "high"),
    ];
    for (at, level) in levels.iter().enumerate() {
        autonomy(&hob, level);
        for (tool, arguments, highest) in &rows {
            let outcome = by_model(&hob, &server, json!({"message": "x"}), tool, arguments.clone());
            let asks = at <= levels.iter().position(|l| l == highest).unwrap();
            assert_eq!(outcome == "asked", asks, "{tool} at {level}: {outcome}");
        }
        let meta = by_model(&hob, &server, json!({"message": "x"}), "search_tools", json!({"query": "pin"}));
        assert_eq!(meta, "ok", "the ways to other tools are never asked about");
    }
    // An agent can only be more careful than its user.
    for (level, own, asks) in [("none", "full", true), ("full", "none", true), ("full", "full", false)] {
        set(&hob, json!({"agents": {"general": {"autonomy": level}}, "users": {OWNER: {"autonomy": own}}}));
        let outcome = by_model(&hob, &server, json!({"message": "x"}), "gpio_read", json!({"pin": 2}));
        assert_eq!(outcome == "asked", asks, "{level} {own}");
    }
    until("rest", || questions(&hob, "pending").is_empty());
}

#[test]
fn a_user_s_hosts_bind_what_custom_tools_fetch_for_them() {
    let (near, far) = (Page::at("127.0.0.1", "near"), Page::at("127.0.0.2", "far"));
    let (hob, server) = that_waits(1, &format!("[http]\nallow = [\"{}\", \"{}\"]", near.host, far.host));
    autonomy(&hob, "full");
    let code =
        format!("return await (await fetch(args.far ? 'http://{}/' : 'http://{}/')).text();", far.host, near.host);
    make(&hob, "look", &code, &["network"]);
    let ben = person(&hob, "ben", "member");
    let key = hob.token("ben", "member");
    let (to_near, to_far) = (json!({"far": false}), json!({"far": true}));
    assert_eq!(call(&hob, &key, "look", to_far.clone()).data(200)["result"], "far");
    let only = json!({"allowedHosts": ["127.0.0.1"], "allowedTools": ["*"]});
    set(&hob, json!({"users": {ben.as_str(): only, OWNER: only}}));
    far.heard();
    assert_eq!(call(&hob, &key, "look", to_near.clone()).data(200)["result"], "near");
    let told = call(&hob, &key, "look", to_far.clone()).refusal(422, "failed");
    assert!(told.contains("`127.0.0.2` is on no host this user may reach"), "{told}");
    // By a model's hand it is the same, and nobody is asked about what is denied.
    assert_eq!(by_model(&hob, &server, json!({"message": "x"}), "look", to_near), "ok");
    let told = by_model(&hob, &server, json!({"message": "x"}), "look", to_far);
    assert!(told.contains("on no host this user may reach"), "{told}");
    assert_eq!((far.heard().len(), questions(&hob, "all").len()), (0, 0), "nothing went out, nothing was asked");
}

#[test]
fn the_door_for_custom_tools_is_no_way_around_the_tools_that_do_the_same() {
    let (hob, _server) = that_waits(1, "");
    let (ben, _) = (person(&hob, "ben", "member"), person(&hob, "eve", "viewer"));
    let (as_ben, as_eve) = (hob.token("ben", "member"), hob.token("eve", "viewer"));
    let draft =
        |name: &str| json!({"name": name, "description": "x", "parameters": {"type": "object"}, "code": "return 1;"});
    let send = |token: &str, method: &str, path: &str, body: &Value| {
        hob.request(method, &format!("/api/v1/custom-tools{path}")).bearer(token).json(body).send()
    };
    let count = std::cell::Cell::new(0);
    // Makes a new tool, and then each other thing with one of theirs that is there already: what the door answers.
    let outcomes = |token: &str, id: &str| -> Vec<u16> {
        count.set(count.get() + 1);
        let (new, none) = (draft(&format!("new_{}", count.get())), json!({}));
        let steps = [
            ("POST", String::new(), &new),
            ("POST", "/test".into(), &new),
            ("PATCH", format!("/{id}"), &json!({"description": "y"})),
            ("POST", format!("/{id}/disable"), &none),
            ("POST", format!("/{id}/enable"), &none),
            ("DELETE", format!("/{id}"), &none),
        ];
        steps.iter().map(|(method, path, body)| send(token, method, path, body).status).collect()
    };
    let all = [201, 200, 200, 200, 200, 200];
    let rows = [
        (json!({}), all),
        (json!({"level": "read"}), [403; 6]),
        (json!({"preset": "readonly"}), [403; 6]),
        // Deleting needs only that level.
        (json!({"level": "write"}), [403, 403, 403, 403, 403, 200]),
        // Writing code is in one area, tools that are there already in another; a trial needs both.
        (json!({"areas": ["custom"]}), [403, 403, 403, 200, 200, 200]),
        (json!({"areas": ["code_execute"]}), [201, 403, 200, 403, 403, 403]),
        (json!({"areas": ["code_execute", "custom"]}), all),
        (json!({"deniedTools": ["create_tool"]}), [403, 403, 403, 200, 200, 200]),
        (json!({"deniedTools": ["enable_tool"]}), [201, 200, 200, 403, 403, 200]),
        (json!({"deniedTools": ["delete_tool"]}), [201, 200, 200, 200, 200, 403]),
        (json!({"deniedTools": ["group:customTools"]}), [403; 6]),
        // A question is for models: a person at their own door is not asked.
        (json!({"ask": ["group:customTools"], "autonomy": "none"}), all),
    ];
    for (at, (policy, expected)) in rows.into_iter().enumerate() {
        set(&hob, json!({}));
        let id = send(&as_ben, "POST", "", &draft(&format!("old_{at}"))).data(201)["id"].as_str().unwrap().to_owned();
        set(&hob, json!({"users": {ben.as_str(): policy}}));
        assert_eq!(outcomes(&as_ben, &id), expected, "{policy}");
    }
    set(&hob, json!({"deny": ["create_tool"]}));
    let why = send(TOKEN, "POST", "", &draft("of_an_admin")).refusal(403, "denied");
    assert!(why.contains("nobody may use `create_tool` here"), "{why}");
    set(&hob, json!({}));
    assert_eq!(outcomes(&as_eve, "tool_0123456789abcdef"), [403; 6], "viewers look");
    hob.admin("PUT", "/api/v1/tool-groups/customTools").json(&json!({"enabled": false})).send().data(200);
    let why = send(&as_ben, "POST", "", &draft("while_off")).refusal(409, "unavailable");
    assert!(why.contains("off with its group `customTools`"), "{why}");
    hob.get("/api/v1/custom-tools").data(200);
}
