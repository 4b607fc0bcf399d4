//! The tool catalogue from outside: groups, names, search, lenient arguments, limits, the audit log.

use crate::{
    approvals::{keep, memories},
    harness::{Hob, Setup, TOKEN, until},
    hijack::make,
    http::Reply,
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn limits(text: &str) -> Hob {
    Hob::with(Setup { config: format!("[limits]\n{text}"), ..Setup::default() })
}

fn switch(hob: &Hob, group: &str, on: bool) -> Reply {
    hob.admin("PUT", &format!("/api/v1/tool-groups/{group}")).json(&json!({"enabled": on})).send()
}

fn group(groups: &Value, id: &str) -> Value {
    groups["groups"].as_array().unwrap().iter().find(|g| g["id"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
}

#[test]
fn a_group_is_switched_as_a_whole() {
    let (mut hob, server) = with_model("[limits]\ncalls = 0");
    let all = hob.get("/api/v1/tool-groups").data(200);
    assert_eq!(all["count"], all["groups"].as_array().unwrap().len());
    let ids: BTreeSet<&str> = all["groups"].as_array().unwrap().iter().map(|g| g["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all["groups"].as_array().unwrap().len());
    for (id, on, tool) in [
        ("system", true, Some("use_tool")),
        ("gpio", true, Some("gpio_write")),
        ("memory", true, Some("remember")),
        ("customTools", true, Some("create_tool")),
        ("codeExecution", false, Some("execute_python")),
        ("runtime", true, Some("exec")),
        ("email", false, Some("send_email")),
        ("webFetch", true, Some("fetch_web_page")),
    ] {
        let group = group(&all, id);
        assert_eq!((&group["enabled"], &group["defaultEnabled"]), (&json!(on), &json!(on)), "{group}");
        let tools = group["tools"].as_array().unwrap();
        assert!(tool.is_none_or(|tool| tools.contains(&json!(tool))), "{group}");
        assert_eq!((tools.is_empty(), &group["missing"]), (tool.is_none(), &json!([])), "{group}");
    }
    let shown = switch(&hob, "gpio", false).data(200);
    assert_eq!(group(&shown, "gpio")["enabled"], false);
    hob.kill();
    hob.start_again();
    let nested = json!({"tool_name": "gpio_write", "arguments": {"pin": 1, "high": true}});
    for (tool, arguments) in [("gpio_write", json!({"pin": 1, "high": true})), ("use_tool", nested)] {
        let why = hob.call(tool, arguments).refusal(409, "unavailable");
        for part in ["`gpio_write` is off with its group `gpio`", "PUT /api/v1/tool-groups/gpio {\"enabled\": true}"] {
            assert!(why.contains(part), "{why}");
        }
    }
    let batch = hob.result("batch_use_tool", json!({"operations": [{"tool": "gpio_read", "args": {"pin": 1}}]}));
    assert_eq!(batch["results"][0]["error"]["code"], "unavailable");
    let listed = hob.get("/api/v1/tools?query=gpio").data(200);
    assert!(listed["tools"].as_array().unwrap().iter().all(|t| t["enabled"] == false) && listed["count"] == 19);
    let found = hob.result("search_tools", json!({"query": "gpio_write"}));
    assert_eq!((&found["tools"][0]["enabled"], &found["tools"][0]["group"]), (&json!(false), &json!("gpio")));
    assert_eq!(hob.result("get_tool_help", json!({"tool_name": "gpio_write"}))["enabled"], false);
    // The model is not shown what it cannot call, and reflex says what is the matter.
    server.script(vec![says("hello")]);
    hob.say("hello");
    let shown = server.asked()[0].tools();
    assert!(!shown.iter().any(|t| t.starts_with("gpio")) && shown.contains(&"remember".to_owned()), "{shown:?}");
    switch(&hob, "gpio", true).data(200);
    hob.result("gpio_write", json!({"pin": 1, "high": true}));

    // Dependencies go off with what they need, and it comes on with them.
    assert_eq!(group(&switch(&hob, "filesystem", false).data(200), "git")["enabled"], false);
    assert_eq!(group(&all, "git")["dependsOn"], json!(["filesystem"]));
    let shown = switch(&hob, "git", true).data(200);
    assert_eq!(
        (&group(&shown, "git")["enabled"], &group(&shown, "filesystem")["enabled"]),
        (&json!(true), &json!(true))
    );
    // What people wrote is a group too.
    make(&hob, "seven", "return 7;", &[]);
    switch(&hob, "custom", false).data(200);
    assert!(hob.call("seven", json!({})).refusal(409, "unavailable").contains("group `custom`"));
    switch(&hob, "custom", true).data(200);
    assert_eq!(hob.result("seven", json!({})), 7);
    for (id, status, code, part) in [
        ("system", 400, "bad_args", "always on"),
        ("fs", 400, "bad_args", "only gathers tools"),
        ("spaceships", 404, "not_found", "no group called `spaceships`"),
    ] {
        assert!(switch(&hob, id, false).refusal(status, code).contains(part), "{id}");
    }
    for body in [json!({}), json!({"enabled": "no"}), json!([false]), json!({"enabled": true, "x": 1})] {
        hob.admin("PUT", "/api/v1/tool-groups/gpio").json(&body).send().refusal(400, "bad_args");
    }
    let ben = hob.token("ben", "member");
    let put = hob.request("PUT", "/api/v1/tool-groups/gpio").bearer(&ben).json(&json!({"enabled": false}));
    put.send().refusal(403, "denied");
    assert_eq!(
        group(&hob.request("GET", "/api/v1/tool-groups").bearer(&ben).send().data(200), "gpio")["enabled"],
        true
    );
    hob.assert_alive();
}

#[test]
fn other_names_are_the_same_tools() {
    let hob = limits("calls = 0");
    let id = keep(&hob, "the well is 12 m deep");
    for (alias, canonical, arguments) in [
        ("memory_store", "remember", json!({"content": "the meter is behind the stairs"})),
        ("memory_recall", "recall", json!({"query": "well"})),
        ("datetime", "get_current_datetime", json!({})),
        ("get_current_time", "get_current_datetime", json!({})),
    ] {
        hob.call(alias, arguments).data(200);
        let shown = hob.get(&format!("/api/v1/tools/{alias}")).data(200);
        assert_eq!(shown["name"], canonical, "{alias}");
        assert!(shown["aliases"].as_array().unwrap().contains(&json!(alias)));
        assert_eq!(hob.result("get_tool_help", json!({"tool_name": alias}))["name"], canonical);
        let entry = hob.get(&format!("/api/v1/audit?tool={alias}&limit=1")).data(200)["entries"][0].take();
        assert_eq!(entry["tool"], canonical, "one right, one name in the log");
        let draft = json!({"name": alias, "description": "x", "parameters": {"type": "object"}, "code": "return 1"});
        assert!(hob.post("/api/v1/custom-tools", draft).refusal(400, "bad_args").contains("already a tool"));
    }
    assert_eq!(memories(&hob).len(), 2);
    hob.result("forget", json!({"memoryId": id}));
}

#[test]
fn tools_are_found_by_words_and_by_meaning() {
    let hob = limits("calls = 0");
    let beans = json!({"name": "grind_beans", "description": "Grind coffee for breakfast.", "parameters": {"type": "object"},
                       "code": "return 1;"});
    hob.post("/api/v1/custom-tools", beans).data(201);
    let search = |arguments: Value| hob.result("search_tools", arguments);
    let names = |found: &Value| -> Vec<String> {
        found["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect()
    };
    // Every word has to be there: in the name, the description, the tags, another name, the heading.
    for (query, first, by) in [
        ("gpio write", "gpio_write", "words"),
        ("memory store", "remember", "words"),
        ("relay lamp", "gpio_write", "words"),
        ("GPIO", "gpio_list", "words"),
        ("grind_beans", "grind_beans", "words"),
        ("do some arithmetic with numbers", "calculate", "meaning"),
        ("how warm is the processor", "system_info", "meaning"),
        ("erase what you remember of my habits", "forget", "meaning"),
    ] {
        // The meanings of tools are computed in the background; until then, words alone count.
        let mut found = Value::Null;
        until("the search", || {
            found = search(json!({"query": query}));
            found["tools"][0]["by"] == by
        });
        assert_eq!(
            (names(&found).first().map(String::as_str), &found["tools"][0]["by"]),
            (Some(first), &json!(by)),
            "{query}: {found}"
        );
        let has =
            |field: &str| found["tools"].as_array().unwrap().iter().map(|t| t.get(field).is_some()).collect::<Vec<_>>();
        assert!(!has("tags").contains(&true), "tags are for searching only: {found}");
        // The best matches can be called at once; beside matches of words, those by meaning are only named.
        let best = |(at, tool): (usize, &Value)| at < 5 && tool["by"] == by;
        let best: Vec<bool> = found["tools"].as_array().unwrap().iter().enumerate().map(best).collect();
        assert_eq!(has("parameters"), best, "{query}: {found}");
        let brief = search(json!({"query": query, "include_params": false}));
        assert!(brief["tools"].as_array().unwrap().iter().all(|t| t.get("parameters").is_none()), "{brief}");
        assert_eq!(found["count"], found["tools"].as_array().unwrap().len());
    }
    let all = search(json!({"query": "all"}));
    let total = hob.get("/api/v1/tool-stats").data(200)["total"].as_u64().unwrap();
    assert_eq!(all["count"], total);
    let pins = search(json!({"query": "all", "category": "gpio", "include_params": true}));
    let expected = [
        "blink_pin",
        "configure_pin",
        "gpio_all_off",
        "gpio_list",
        "gpio_pulse",
        "gpio_read",
        "gpio_toggle",
        "gpio_watch",
        "gpio_write",
        "i2c_read",
        "i2c_scan",
        "i2c_write",
        "name_pin",
        "pin_map",
        "pwm_write",
        "read_temperature_sensors",
        "serial_transfer",
        "servo_move",
        "spi_transfer",
    ];
    assert_eq!(names(&pins), expected);
    assert!(pins["tools"][8]["parameters"]["properties"]["pin"].is_object(), "{pins}");
    let none = search(json!({"query": "xq7zzk"}));
    assert!(none["count"] == 0 && none["hint"].as_str().unwrap().contains("fewer or other words"), "{none}");
    hob.call("search_tools", json!({})).refusal(400, "bad_args");
    let listed = hob.get("/api/v1/tools?query=relay%20lamp").data(200);
    // Few of all, and the best first.
    let count = listed["count"].as_u64().unwrap();
    assert!((2..=8).contains(&count) && listed["tools"][0]["name"] == "gpio_write", "{listed}");
}

#[test]
fn help_is_there_before_and_after_a_mistake() {
    let hob = limits("calls = 0");
    let help = hob.result("get_tool_help", json!({"tool_name": "list_memories"}));
    assert_eq!(help["limits"], json!({"limit": {"max": 50, "default": 20}}));
    assert_eq!((&help["defaults"]["limit"], &help["risk"]), (&json!(20), &json!("observe")));
    let help = hob.result("get_tool_help", json!({"tool_name": "delete_custom_tool"}));
    assert_eq!((&help["requiresConfirmation"], &help["category"]), (&json!(true), &json!("Dynamic Tools")));
    for tool in ["gpio_write", "remember", "convert_units", "config_set_entry"] {
        let help = hob.result("get_tool_help", json!({"tool_name": tool}));
        let used = json!({"tool_name": tool, "arguments": help["examples"][0]});
        let outcome = hob.call("use_tool", used).json();
        assert!(
            outcome["success"] == true || outcome["error"]["code"] != "bad_args",
            "the example of {tool}: {outcome}"
        );
    }
    let wrong = hob.call("use_tool", json!({"tool_name": "gpio_write", "arguments": {"pin": 99, "hihg": true}}));
    let why = wrong.refusal(400, "bad_args");
    for part in [
        "`pin`: expected at most 27, got 99",
        "`hihg` is not known, did you mean `high`?",
        "Parameters of gpio_write: {",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
    for (tool, near) in [("gpio_wriet", "`gpio_write`"), ("rember", "`remember`"), ("Remember", "`remember`")] {
        for reply in [
            hob.call("use_tool", json!({"tool_name": tool, "arguments": {}})),
            hob.call("get_tool_help", json!({"tool_name": tool})),
            hob.call(tool, json!({})),
        ] {
            let why = reply.refusal(404, "not_found");
            assert!(why.contains("did you mean") && why.contains(near), "{why}");
            assert!(why.matches('`').count() <= 8, "three at most: {why}");
        }
    }
    assert!(hob.call("use_tool", json!({"tool_name": "qqqq"})).refusal(404, "not_found").contains("search_tools"));
    assert!(
        hob.call("use_tool", json!({"tool_name": "use_tool"})).refusal(400, "bad_args").contains("cannot call itself")
    );
}

#[test]
fn a_batch_gives_each_call_its_own_outcome() {
    let hob = limits("calls = 0");
    let told = hob.call(
        "batch_use_tool",
        json!({"operations": [
            {"tool": "calculate", "args": {"expression": "6*7"}},
            {"tool_name": "convert_units", "arguments": {"value": "5", "from": "miles", "to": "km"}},
            {"tool": "gpio_write", "args": {"pin": 99, "high": true}},
            {"tool": "no_such_tool"},
            {"tool": "calculate", "parameters": {"expression": "1"}},
            {"args": {}},
            {"tool": "batch_use_tool", "args": {"operations": [{"tool": "calculate", "args": {"expression": "1"}}]}},
            {"tool": "use_tool", "args": {"tool_name": "batch_use_tool", "arguments": {"operations": []}}},
            {"tool": "use_tool", "args": {"tool_name": "calculate", "arguments": {"expression": "2+2"}}},
        ]}),
    );
    let told = told.data(200)["result"].take();
    assert_eq!((&told["count"], &told["succeeded"], &told["failed"]), (&json!(9), &json!(3), &json!(6)), "{told}");
    let codes: Vec<Option<&str>> =
        told["results"].as_array().unwrap().iter().map(|r| r["error"]["code"].as_str()).collect();
    let (bad, none) = (Some("bad_args"), None);
    assert_eq!(codes, [none, none, bad, Some("not_found"), bad, bad, bad, bad, none], "{told}");
    assert!(told["results"][1]["corrected"][0].as_str().unwrap().contains("`value`"), "{told}");
    assert!(told["results"][2]["error"]["message"].as_str().unwrap().contains("Parameters of gpio_write"));
    let many =
        |count: usize| json!({"operations": vec![json!({"tool": "calculate", "args": {"expression": "1"}}); count]});
    assert_eq!(hob.result("batch_use_tool", many(20))["succeeded"], 20);
    for wrong in [many(21), many(0), json!({}), json!({"operations": "calculate"})] {
        hob.call("batch_use_tool", wrong).refusal(400, "bad_args");
    }
}

#[test]
fn what_is_meant_is_understood_and_told() {
    let hob = limits("calls = 0");
    for (tool, arguments, told) in [
        ("gpio_write", json!({"pin": "7", "high": "true"}), &["`pin`", "`high`"][..]),
        ("remember", json!({"content": "x", "tags": "boiler"}), &["`tags`"]),
        ("remember", json!({"content": "5", "importance": "0.7"}), &["`importance`"]),
        ("remember", json!({"content": "y", "type": "FACT"}), &["`type`"]),
        ("boost_memory", json!({"memory_id": keep(&hob, "z"), "amount": null}), &["memoryId"]),
        ("list_memories", json!({"limit": 500}), &["`limit` was 500 and became 50, which is the most"]),
        ("recall", json!({"query": "x", "limit": "0"}), &["`limit` was 0 and became 1, which is the least"]),
        ("calculate", json!({"expression": "1+1"}), &[]),
    ] {
        let reply = hob.call(tool, arguments.clone()).data(200);
        let corrected: Vec<&str> =
            reply["metadata"]["corrected"].as_array().into_iter().flatten().map(|c| c.as_str().unwrap()).collect();
        assert_eq!(corrected.is_empty(), told.is_empty(), "{tool} {arguments}: {reply}");
        for part in told {
            assert!(corrected.iter().any(|c| c.contains(part)), "{tool} {arguments}: {corrected:?}");
        }
    }
    // A text stays the text it is, and what could mean two things is refused.
    assert!(memories(&hob).contains("5"));
    for (tool, arguments) in [
        ("gpio_write", json!({"pin": "seven", "high": true})),
        ("gpio_write", json!({"pin": 7.5, "high": true})),
        ("gpio_write", json!({"pin": 7, "high": "perhaps"})),
        ("remember", json!({"content": null})),
        ("calculate", json!("1+1")),
    ] {
        hob.call(tool, arguments).refusal(400, "bad_args");
    }
    assert_eq!(hob.result("gpio_read", json!({"pin": 7}))["high"], true);
    // A tool of a person has no limits of a list.
    let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let own = json!({"name": "list_letters", "description": "x", "parameters": parameters, "code": "return Object.keys(args);"});
    hob.post("/api/v1/custom-tools", own).data(201);
    assert_eq!(hob.result("list_letters", json!({})), json!([]));
}

#[test]
fn sixty_calls_a_minute_and_no_more() {
    let hob = limits("");
    let ben = hob.token("ben", "member");
    let many = json!({"operations": vec![json!({"tool": "calculate", "args": {"expression": "1"}}); 20]});
    for at in 0..60 {
        let (tool, arguments) = match at % 20 {
            0 => ("batch_use_tool", many.clone()),
            1 => ("use_tool", json!({"tool_name": "calculate", "arguments": {"expression": "1"}})),
            _ => ("calculate", json!({"expression": "1"})),
        };
        hob.call(tool, arguments).data(200);
    }
    for (tool, arguments) in [
        ("calculate", json!({"expression": "1"})),
        ("use_tool", json!({"tool_name": "calculate", "arguments": {"expression": "1"}})),
        ("batch_use_tool", many),
    ] {
        let reply = hob.call(tool, arguments);
        let why = reply.refusal(429, "rate_limited");
        let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&seconds) && why.contains(&format!("in {seconds} s")), "{why}");
        assert!(why.contains("60 calls a minute") && why.contains("try again in "), "{why}");
    }
    let of_ben = hob.request("POST", "/api/v1/tools/calculate/execute").bearer(&ben);
    of_ben.json(&json!({"arguments": {"expression": "1"}})).send().data(200);
    let refused = hob.get("/api/v1/audit?outcome=rate_limited").data(200);
    let refused: Vec<&str> =
        refused["entries"].as_array().unwrap().iter().map(|e| e["tool"].as_str().unwrap()).collect();
    assert_eq!(refused, ["batch_use_tool", "use_tool", "calculate", "calculate"]);
    // Others than models and people, and reading the log, are not counted.
    let session = limits("calls = 0\nsession_calls = 2");
    (0..2).for_each(|_| drop(session.result("calculate", json!({"expression": "1"}))));
    assert!(session.call("calculate", json!({"expression": "1"})).refusal(429, "rate_limited").contains("one session"));
    assert!(
        session.say("what is 6 * 7?")["response"].as_str().unwrap().contains("42"),
        "a conversation is a session of its own"
    );
}

#[test]
fn every_call_is_in_the_log() {
    let (mut hob, server) = with_model("[limits]\ncalls = 0\n[approvals]\nin_call_seconds = 1");
    let ben = hob.token("ben", "member");
    let as_ben = |method: &str, path: &str| hob.request(method, path).bearer(&ben);
    hob.result("calculate", json!({"expression": "1"}));
    hob.call("gpio_read", json!({"pin": 99})).refusal(400, "bad_args");
    hob.call("forget", json!({"memoryId": "0192aaaa-0000-7000-8000-000000000000"})).refusal(404, "not_found");
    as_ben("POST", "/api/v1/tools/config_set_entry/execute")
        .json(&json!({"arguments": {"service": "x", "fields": {}}}))
        .send()
        .refusal(403, "denied");
    server.script(vec![
        calls(&[("use_tool", json!({"tool_name": "gpio_write", "arguments": {"pin": 1, "high": true}}))]),
        says("ok"),
    ]);
    let run = hob.say("pin 1 on")["runId"].clone();
    server.script(vec![calls(&[("forget", json!({"memoryId": "x"}))])]);
    hob.say("forget it");
    let all = hob.get("/api/v1/audit?everybody=true").data(200)["entries"].take();
    let row = |e: &Value| -> (String, String, String, String) {
        let text = |name: &str| e[name].as_str().unwrap_or_default().to_owned();
        (text("tool"), text("verdict"), text("rule"), text("outcome"))
    };
    let rows: Vec<_> = all.as_array().unwrap().iter().rev().map(row).collect();
    let expected = [
        ("calculate", "allow", "default", "ok"),
        ("gpio_read", "", "", "bad_args"),
        ("forget", "allow", "default", "not_found"),
        ("config_set_entry", "deny", "role", "denied"),
        // The first switch after a start looks for a plan that it takes the place of.
        ("list_scheduled_tasks", "allow", "default", "ok"),
        ("gpio_write", "allow", "default", "ok"),
        ("use_tool", "allow", "meta", "ok"),
        ("forget", "ask", "autonomy", "parked"),
    ];
    let expected = expected.map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned()));
    assert_eq!(rows, expected);
    let newest = &all[0];
    assert_eq!((&all[1]["runId"], &all[2]["runId"], newest["channel"].as_str()), (&run, &run, Some("api")));
    assert!(
        newest["digest"].as_str().is_some_and(|d| d.len() == 16) && newest["micros"].as_u64().unwrap() > 900_000,
        "{newest}"
    );
    assert!(!all.to_string().contains("0192aaaa"), "arguments are not in it");
    // Members see their own calls.
    let own = as_ben("GET", "/api/v1/audit").send().data(200);
    assert_eq!((own["entries"].as_array().unwrap().len(), own["entries"][0]["rule"].as_str()), (1, Some("role")));
    as_ben("GET", "/api/v1/audit?everybody=true").send().refusal(403, "denied");
    assert_eq!(hob.get("/api/v1/audit").data(200)["entries"].as_array().unwrap().len(), 7);
    for (query, count) in [
        ("tool=forget", 2),
        ("tool=memory_store", 0),
        ("outcome=ok", 4),
        ("outcome=parked", 1),
        ("verdict=ask", 1),
        ("verdict=deny", 0),
        ("verdict=deny&everybody=true", 1),
        ("tool=forget&outcome=not_found", 1),
        ("limit=2", 2),
        ("before=1", 0),
    ] {
        let page = hob.get(&format!("/api/v1/audit?{query}")).data(200);
        assert_eq!(page["entries"].as_array().unwrap().len(), count, "{query}: {page}");
    }
    for wrong in ["verdict=maybe", "limit=many", "before=x"] {
        hob.get(&format!("/api/v1/audit?{wrong}")).refusal(400, "bad_args");
    }
    // In pages of any size it is the same log, from memory and from the disk, also while more is written.
    for at in 0..40 {
        hob.result("calculate", json!({"expression": at.to_string()}));
    }
    assert_eq!(hob.stop(), Some(0));
    hob.start_again();
    hob.result("calculate", json!({"expression": "1"}));
    for size in [1, 7, 49, 200] {
        let (mut seqs, mut before) = (vec![], String::new());
        loop {
            let page = hob.get(&format!("/api/v1/audit?everybody=true&limit={size}{before}")).data(200);
            seqs.extend(page["entries"].as_array().unwrap().iter().map(|e| e["seq"].as_u64().unwrap()));
            let Some(next) = page["next"].as_u64() else { break };
            before = format!("&before={next}");
        }
        assert_eq!(seqs, (1..=49).rev().collect::<Vec<u64>>(), "in pages of {size}");
    }
    hob.assert_alive();
}

#[test]
fn the_tools_are_counted() {
    let hob = limits("calls = 0");
    make(&hob, "seven", "return 7;", &[]);
    let stats = hob.get("/api/v1/tool-stats").data(200);
    let listed = hob.get("/api/v1/tools").data(200);
    let on = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["enabled"] != false).count();
    assert!(on > 150, "{on}");
    assert_eq!((&stats["total"], &stats["enabled"]), (&listed["count"], &json!(on)));
    let sum = |of: &str| stats[of].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    let total = stats["total"].as_u64().unwrap();
    assert_eq!([sum("byCategory"), sum("byGroup"), sum("byOwner")], [total; 3], "{stats}");
    assert_eq!((&stats["byOwner"]["person"], &stats["byGroup"]["gpio"]), (&json!(1), &json!(19)));
    switch(&hob, "gpio", false).data(200);
    assert_eq!(hob.get("/api/v1/tool-stats").data(200)["enabled"], on - 19);
    hob.request("GET", "/api/v1/tool-stats").bearer(TOKEN).send().data(200);
}
