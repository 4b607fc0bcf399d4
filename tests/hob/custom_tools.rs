//! Custom tools: endpoints, limits, and permissions.

use crate::{
    harness::{Hob, Setup, TOKEN},
    http::Reply,
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

const TOOLS: &str = "/api/v1/custom-tools";

fn draft(name: &str, code: &str) -> Value {
    json!({"name": name, "description": "For a test.", "parameters": {"type": "object", "properties": {}}, "code": code})
}

fn create(hob: &Hob, draft: Value) -> Value {
    hob.post(TOOLS, draft).data(201)
}

fn path(tool: &Value, action: &str) -> String {
    format!("{TOOLS}/{}{action}", tool["id"].as_str().unwrap())
}

/// Runs code once without keeping it.
fn test(hob: &Hob, code: &str, permissions: &[&str]) -> Value {
    let mut body = draft("trial", code);
    body["permissions"] = json!(permissions);
    // What is only tried needs no name.
    body.as_object_mut().unwrap().retain(|field, _| field != "name" && field != "description");
    hob.post(&format!("{TOOLS}/test"), body).data(200)
}

fn execute(hob: &Hob, tool: &Value, arguments: Value) -> Reply {
    hob.post(&path(tool, "/execute"), json!({"arguments": arguments}))
}

#[test]
fn the_endpoints_are_as_documented() {
    let hob = Hob::start();
    let parameters = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
    let tool = create(
        &hob,
        json!({"name": "double_it", "description": "Twice as much.", "parameters": parameters, "code": "return args.n * 2;",
               "category": "Maths", "createdBy": "user", "permissions": [],
               "requiredApiKeys": [{"name": "none", "displayName": "None"}]}),
    );
    let id = tool["id"].as_str().unwrap();
    let hex = id.strip_prefix("tool_").unwrap();
    assert!(hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
    for (key, value) in [
        ("name", json!("double_it")),
        ("parameters", parameters),
        ("category", json!("Maths")),
        ("status", json!("active")),
        ("requiresApproval", json!(false)),
        ("createdBy", json!("user")),
        ("version", json!(1)),
        ("usageCount", json!(0)),
        ("permissions", json!([])),
        ("requiredApiKeys", json!([{"name": "none", "displayName": "None"}])),
    ] {
        assert_eq!(tool[key], value, "{key}: {tool}");
    }
    tool["createdAt"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();

    let ran = execute(&hob, &tool, json!({"n": 21})).data(200);
    assert_eq!((&ran["tool"], &ran["result"], &ran["isError"]), (&json!("double_it"), &json!(42), &json!(false)));
    assert!(ran["duration"].is_u64() && ran["metadata"]["executionTime"].is_u64(), "{ran}");
    assert_eq!(ran["metadata"]["dynamicTool"], "double_it");
    // It is a tool like any other.
    assert_eq!(hob.result("double_it", json!({"n": 4})), 8);
    assert_eq!(hob.cli(&["call", "double_it", r#"{"n": 5}"#]).ok(), "10");
    let why = execute(&hob, &tool, json!({"n": "x"})).refusal(400, "bad_args");
    assert!(why.contains("n (number)"), "{why}");

    let patched = hob.admin("PATCH", &path(&tool, "")).json(&json!({"description": "Doubles."})).send().data(200);
    assert_eq!((&patched["description"], &patched["version"]), (&json!("Doubles."), &json!(1)));
    let code = json!({"code": "return args.n + args.n + 0.5;"});
    assert_eq!(hob.admin("PATCH", &path(&tool, "")).json(&code).send().data(200)["version"], 2);
    assert_eq!(execute(&hob, &tool, json!({"n": 2})).data(200)["result"], 4.5);

    assert_eq!(hob.post(&path(&tool, "/disable"), json!({})).data(200)["status"], "disabled");
    execute(&hob, &tool, json!({"n": 2})).refusal(400, "not_active");
    hob.call("double_it", json!({"n": 2})).refusal(404, "not_found");
    assert_eq!(hob.get(&format!("{TOOLS}/active/definitions")).data(200)["count"], 0);
    assert_eq!(hob.post(&path(&tool, "/enable"), json!({})).data(200)["status"], "active");
    let shown = hob.get(&format!("{TOOLS}/active/definitions")).data(200)["tools"][0].clone();
    assert_eq!((&shown["name"], &shown["requiresConfirmation"]), (&json!("double_it"), &json!(false)));

    assert_eq!(hob.get(&path(&tool, "")).data(200)["name"], "double_it");
    assert_eq!(hob.admin("DELETE", &path(&tool, "")).send().data(200), json!({"deleted": true}));
    hob.get(&path(&tool, "")).refusal(404, "not_found");
    hob.call("double_it", json!({"n": 2})).refusal(404, "not_found");
    assert_eq!(test(&hob, "return { hello: 'world' };", &[])["result"], json!({"hello": "world"}));
    assert_eq!(hob.get(TOOLS).data(200)["count"], 0, "a trial is not kept");
}

#[test]
fn a_tool_with_a_dangerous_permission_waits_for_a_person() {
    let hob = Hob::start();
    let made = |name: &str, by: &str, permission: &str| {
        let mut body = draft(name, "return 1;");
        (body["createdBy"], body["permissions"]) = (json!(by), json!([permission]));
        create(&hob, body)
    };
    assert_eq!(made("by_person", "user", "shell")["status"], "active");
    assert_eq!(made("harmless", "llm", "network")["status"], "active");
    let (yes, no) = (made("to_approve", "llm", "shell"), made("to_reject", "llm", "filesystem"));
    assert_eq!((&yes["status"], &yes["requiresApproval"]), (&json!("pending_approval"), &json!(true)));
    assert_eq!(hob.get(&format!("{TOOLS}/pending")).data(200)["count"], 2);
    for action in ["/execute", "/enable", "/disable"] {
        let refused = hob.post(&path(&yes, action), json!({}));
        assert_eq!(refused.status, 400, "{action}: {}", refused.text());
    }
    assert_eq!(hob.post(&path(&yes, "/approve"), json!({})).data(200)["status"], "active");
    assert_eq!(execute(&hob, &yes, json!({})).data(200)["result"], 1);
    assert_eq!(hob.post(&path(&no, "/reject"), json!({})).data(200)["status"], "rejected");
    for (tool, action) in [
        (&yes, "/approve"),
        (&yes, "/reject"),
        (&no, "/reject"),
        (&no, "/enable"),
        (&no, "/disable"),
        (&no, "/execute"),
    ] {
        let refused = hob.post(&path(tool, action), json!({}));
        assert_eq!(refused.status, 400, "{action}: {}", refused.text());
    }
    let stats = hob.get(&format!("{TOOLS}/stats")).data(200);
    let counts = ["total", "active", "disabled", "pendingApproval", "createdByLLM", "createdByUser"]
        .map(|k| stats[k].as_u64().unwrap());
    assert_eq!(counts, [4, 3, 0, 0, 3, 1], "{stats}");
    for (query, count) in [
        ("status=active", 3),
        ("createdBy=llm", 3),
        ("status=rejected&createdBy=user", 0),
        ("limit=2&offset=3", 1),
        ("category=x", 0),
    ] {
        assert_eq!(hob.get(&format!("{TOOLS}?{query}")).data(200)["count"], count, "{query}");
    }
    // The page's length, and how many there are with the filter.
    let page = hob.get(&format!("{TOOLS}?limit=1&createdBy=llm")).data(200);
    assert_eq!((&page["count"], &page["total"]), (&json!(1), &json!(3)));
    hob.get(&format!("{TOOLS}?status=sleeping")).refusal(400, "bad_args");

    // A person may change their mind about a tool they rejected.
    assert_eq!(hob.post(&path(&no, "/approve"), json!({})).data(200)["status"], "active");
    assert_eq!(execute(&hob, &no, json!({})).data(200)["result"], 1);
    assert_eq!(hob.post(&path(&no, "/approve"), json!({})).status, 400, "once");

    let viewer = hob.token("vera", "viewer");
    let member = hob.token("mia", "member");
    let waiting = made("waiting", "llm", "email");
    let post = |token: &str, path: &str, body: &Value| hob.request("POST", path).bearer(token).json(body).send();
    post(&viewer, TOOLS, &draft("viewers", "return 1;")).refusal(403, "denied");
    post(&viewer, &format!("{TOOLS}/test"), &draft("viewers", "return 1;")).refusal(403, "denied");
    post(&member, &path(&waiting, "/approve"), &json!({})).refusal(403, "denied");
}

#[test]
fn drafts_that_cannot_be_kept_say_why() {
    let hob = Hob::start();
    create(&hob, draft("taken", "return 1;"));
    let with = |key: &str, value: Value| {
        let mut body = draft("fresh", "return 1;");
        body[key] = value;
        body
    };
    let rows = [
        (with("name", json!("Fresh")), "cannot be a custom tool's name"),
        (with("name", json!("1fresh")), "cannot be a custom tool's name"),
        (with("name", json!("a".repeat(65))), "cannot be a custom tool's name"),
        (with("name", json!("taken")), "already a tool called `taken`"),
        (with("name", json!("remember")), "already a tool called `remember`"),
        (with("name", json!("memory_store")), "already a tool called `memory_store`"),
        (with("description", json!(" ")), "`description` is empty"),
        (with("code", json!("")), "`code` is empty"),
        (with("code", json!("x".repeat(50_001))), "the maximum is 50000"),
        (with("code", json!("return require('fs');")), "line 1: `require(`"),
        (with("code", json!("const a = 1;\nprocess.exit(1)")), "line 2"),
        (with("code", json!("return eval('1')")), "eval("),
        (with("parameters", json!({"type": "array"})), "type object"),
        (with("parameters", json!({"type": "object", "properties": {"a": {"type": "nonsense"}}})), "schema"),
        (with("parameters", json!({"type": "object", "$ref": "file:///etc/passwd"})), "schema"),
        (with("permissions", json!(["root"])), "root"),
        (json!({"name": "fresh"}), "missing field"),
    ];
    for (body, part) in rows {
        let why = hob.post(TOOLS, body.clone()).refusal(400, "bad_args");
        assert!(why.contains(part), "{body}: {why}");
    }
    assert_eq!(hob.get(TOOLS).data(200)["count"], 1);
    for id in ["tool_0000000000000000", "nonsense", "tool_%00"] {
        hob.get(&format!("{TOOLS}/{id}")).refusal(404, "not_found");
        hob.post(&format!("{TOOLS}/{id}/execute"), json!({})).refusal(404, "not_found");
    }
}

#[test]
fn hostile_code_ends_in_an_error_and_the_next_call_works() {
    let mut hob = Hob::start();
    let rows = [
        // On a machine that is very busy the clock may end it first.
        ("while (true) {}", "more than 5 s of CPU|longer than 30 s"),
        ("const all = []; while (true) all.push(new Array(100000).fill(7));", "more than 50 MB of memory"),
        ("let s = 'x'; while (true) s += s;", ""),
        ("const deeper = (n) => deeper(n + 1) + 1; return deeper(0);", "too deeply"),
        ("const no = {};\nthrow new TypeError('not today');", "TypeError: not today (line 2"),
        ("return missing.field;", "missing"),
        ("return await new Promise(() => {});", "nothing will settle"),
        ("return 'x'.repeat(3 << 20);", "of JSON"),
        ("return typeof setTimeout + typeof globalThis.process;", ""),
        ("this is not JavaScript", "SyntaxError"),
    ];
    for (code, part) in rows {
        let body = draft("hostile", code);
        let reply = hob.post(&format!("{TOOLS}/test"), body);
        if reply.status == 400 {
            reply.refusal(400, "bad_args");
        } else {
            let told = reply.data(200);
            assert_eq!((&told["isError"], &told["testMode"]), (&json!(true), &json!(true)), "{code}: {told}");
            let why = told["result"].as_str().unwrap();
            assert!(why.contains("hostile") && part.split('|').any(|part| why.contains(part)), "{code}: {why}");
        }
        let good = test(&hob, "return (await Promise.all([1, 2, 3].map(async n => n * 2))).join();", &[]);
        assert_eq!((&good["result"], &good["isError"]), (&json!("2,4,6"), &json!(false)), "after {code}");
    }
    // As a tool of the catalogue the same is a refusal, and a run goes on.
    create(&hob, draft("thrower", "throw new Error('as always');"));
    let why = hob.call("thrower", json!({})).refusal(422, "failed");
    assert!(why.contains("as always"), "{why}");
    // No call sees what another left behind.
    assert_eq!(test(&hob, "Array.prototype.left = 1; Math.pi2 = 6; return 1;", &[])["isError"], false);
    assert_eq!(test(&hob, "return typeof [].left + typeof Math.pi2;", &[])["result"], "undefinedundefined");
    hob.assert_alive();
}

/// A web server inside the house: counts who comes, and sends `/away` to another port.
fn in_the_house(away: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, hits) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = hits.clone();
    // Ends with the process: nothing of it outlives the tests.
    thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = vec![];
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let sent_away = String::from_utf8_lossy(&head).starts_with("GET /away");
            let answer = match sent_away {
                true => {
                    format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{away}/\r\ncontent-length: 0\r\n\r\n")
                }
                false => {
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"temp\": 21}"
                        .into()
                }
            };
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    (port, hits)
}

#[test]
fn fetch_needs_the_permission_and_stays_out_of_the_house() {
    let (secret, secret_hits) = in_the_house(1);
    let (allowed, _) = in_the_house(secret);
    let config = format!("[http]\nallow = [\"127.0.0.1:{allowed}\"]");
    let hob = Hob::with(Setup { config, ..Setup::default() });
    assert_eq!(test(&hob, "return typeof fetch;", &[])["result"], "undefined");
    assert_eq!(test(&hob, "return typeof fetch;", &["network"])["result"], "function");

    let fetch = |url: String| {
        let code = format!("const r = await fetch({}); return [r.status, await r.text()];", json!(url));
        test(&hob, &code, &["network"])
    };
    let good = fetch(format!("http://127.0.0.1:{allowed}/"));
    assert_eq!(good["result"], json!([200, "{\"temp\": 21}"]), "{good}");
    let own = hob.port;
    for url in [
        format!("http://127.0.0.1:{secret}/"),
        format!("http://localhost:{secret}/"),
        format!("http://127.1:{secret}/"),
        format!("http://2130706433:{secret}/"),
        format!("http://0x7f.1:{secret}/"),
        format!("http://0.0.0.0:{secret}/"),
        format!("http://[::1]:{secret}/"),
        format!("http://[::ffff:127.0.0.1]:{secret}/"),
        format!("http://localhost.localdomain:{secret}/"),
        format!("http://127.0.0.1:{own}/healthz"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://192.168.1.1/".into(),
        "http://10.0.0.1/".into(),
        "http://router.lan/".into(),
        format!("http://user:word@127.0.0.1:{allowed}/"),
        "file:///etc/passwd".into(),
        format!("http://127.0.0.1:{allowed}/away"),
    ] {
        let told = fetch(url.clone());
        assert_eq!(told["isError"], true, "{url}: {told}");
        assert!(told["result"].as_str().unwrap().split(' ').count() > 5, "{url}: {told}");
    }
    assert_eq!(secret_hits.load(Ordering::SeqCst), 0, "nobody got in");
}

#[test]
fn a_key_is_told_as_a_placeholder_and_goes_to_its_own_host_only() {
    let (port, hits) = in_the_house(1);
    let config = format!(
        "[http]\nallow = [\"127.0.0.1:{port}\", \"localhost:{port}\"]\n[services.weather]\napi_key = \"s3cr3t-key\"\n\
         base_url = \"http://localhost:{port}\"\ncity = \"Graz\""
    );
    let hob = Hob::with(Setup { config, ..Setup::default() });
    let seen = test(&hob, "return utils.getApiKey('weather') + utils.getFieldValue('weather', 'city');", &[]);
    let seen = seen["result"].as_str().unwrap();
    assert!(seen.ends_with("Graz") && !seen.contains("s3cr3t"), "{seen}");
    let elsewhere =
        format!("return (await fetch('http://127.0.0.1:{port}/?key=' + utils.getApiKey('weather'))).status;");
    let told = test(&hob, &elsewhere, &["network"]);
    assert!(told["isError"] == true && told["result"].as_str().unwrap().contains("own hosts"), "{told}");
    assert_eq!(hits.load(Ordering::SeqCst), 0);
    let home = elsewhere.replace("127.0.0.1", "localhost");
    assert_eq!(test(&hob, &home, &["network"])["result"], 200);
}

#[test]
fn tools_call_tools_and_a_person_is_asked_where_one_needs_a_yes() {
    let hob = Hob::start();
    let called = test(&hob, "return await utils.callTool('gpio_write', {pin: 6, high: true});", &[]);
    assert_eq!((&called["result"]["high"], &called["isError"]), (&json!(true), &json!(false)), "{called}");
    assert_eq!(hob.result("gpio_read", json!({"pin": 6}))["high"], true);
    let code = "return await utils.callTool('create_tool', {name: 'child', description: 'x', parameters: {type: 'object'}, code: 'return 1'});";
    let (told, asked) = hob.allowing(|| test(&hob, code, &[]));
    assert_eq!((&told["isError"], &told["result"]["name"], asked), (&json!(false), &json!("child"), 1), "{told}");
    assert!(
        test(&hob, "return utils.listTools().map(t => t.name).join();", &[])["result"]
            .as_str()
            .unwrap()
            .contains("calculate")
    );
}

#[test]
fn a_model_makes_itself_a_tool_and_uses_it_at_once() {
    let (mut hob, server) = with_model("");
    let schema = r#"{"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}"#;
    let code = "return args.word.split('').reverse().join('');";
    let mirror = json!({"name": "mirror", "description": "Turns a word round.", "parameters": schema, "code": code});
    server.script(vec![
        calls(&[("search_tools", json!({"query": "write program"}))]),
        calls(&[("use_tool", json!({"tool_name": "create_tool", "arguments": mirror}))]),
        calls(&[
            ("use_tool", json!({"tool_name": "mirror", "arguments": {"word": "boiler"}})),
            ("mirror", json!({"word": "hob"})),
        ]),
        says("It is reliob."),
    ]);
    // Making it needs a yes, and so does each of its two runs.
    let (answer, asked) = hob.allowing(|| hob.say("turn the word boiler round"));
    assert_eq!(asked, 3);
    let made: Vec<(&str, &Value)> =
        answer["toolCalls"].as_array().unwrap().iter().map(|c| (c["name"].as_str().unwrap(), &c["result"])).collect();
    assert!(made[0].1.to_string().contains("create_tool"), "{answer}");
    assert_eq!((made[2], made[3]), (("use_tool", &json!("reliob")), ("mirror", &json!("boh"))), "{answer}");
    let told = server.asked()[3].messages("tool");
    assert_eq!(told[2]["content"], "reliob");
    let tool = hob.get(TOOLS).data(200)["tools"][0].clone();
    assert_eq!(
        (&tool["createdBy"], &tool["status"], &tool["requiresApproval"]),
        (&json!("llm"), &json!("active"), &json!(true))
    );

    // It is the tool of the person who asked for it: nobody else sees it, by any door.
    let ben = hob.cli(&["token", "new", "ben", "--role", "member"]).ok();
    let sees = |token: &str| {
        let listed = hob.request("GET", "/api/v1/tools").bearer(token).send().data(200);
        listed["tools"].as_array().unwrap().iter().any(|t| t["name"] == "mirror")
    };
    assert!(sees(TOKEN) && !sees(&ben));
    let arguments = json!({"arguments": {"word": "abc"}});
    for at in ["/api/v1/tools/mirror/execute", &path(&tool, "/execute")] {
        hob.request("POST", at).bearer(&ben).json(&arguments).send().refusal(404, "not_found");
    }
    let nested = json!({"arguments": {"tool_name": "mirror", "arguments": {"word": "abc"}}});
    hob.request("POST", "/api/v1/tools/use_tool/execute").bearer(&ben).json(&nested).send().refusal(404, "not_found");
    assert_eq!(hob.cli(&["call", "mirror", r#"{"word": "abc"}"#]).ok(), "cba");

    // Both the tool and whose it is outlive a power cut.
    hob.kill();
    hob.start_again();
    assert_eq!(hob.result("mirror", json!({"word": "xyz"})), "zyx");
    hob.request("POST", "/api/v1/tools/mirror/execute").bearer(&ben).json(&arguments).send().refusal(404, "not_found");

    // A model switches and deletes only what a model made.
    create(&hob, draft("by_hand", "return 1;"));
    server.script(vec![
        calls(&[
            ("delete_custom_tool", json!({"name": "by_hand", "confirm": true})),
            ("toggle_custom_tool", json!({"name": "by_hand", "enabled": false})),
            ("delete_custom_tool", json!({"name": "mirror"})),
        ]),
        calls(&[("delete_custom_tool", json!({"name": "mirror", "confirm": true}))]),
        says("done"),
    ]);
    let answer = hob.allowing(|| hob.say("tidy up")).0;
    let failed: Vec<&Value> = answer["toolCalls"].as_array().unwrap().iter().map(|c| &c["isError"]).collect();
    assert_eq!(failed, [true, true, false, false], "{answer}");
    assert_eq!(answer["toolCalls"][2]["result"]["deleted"], false);
    let left = hob.get(TOOLS).data(200);
    assert_eq!((&left["count"], &left["tools"][0]["name"]), (&json!(1), &json!("by_hand")));
}
