//! The Config Center: services are defined and configured, tools use them, and secrets are write-only.

use crate::{
    harness::{Folder, Hob, Setup, hob, until},
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpListener,
    path::Path,
    thread,
};

const SERVICES: &str = "/api/v1/config-services";
const SECRET: &str = "s3cr3t-0123456789-of-the-weather";

fn put(hob: &Hob, service: &str, body: Value) -> Value {
    hob.admin("PUT", &format!("{SERVICES}/{service}")).json(&body).send().data(200)
}

fn enter(hob: &Hob, service: &str, body: Value) -> Value {
    hob.post(&format!("{SERVICES}/{service}/entries"), body).data(201)
}

fn service(hob: &Hob, name: &str) -> Value {
    hob.get(&format!("{SERVICES}/{name}")).data(200)
}

/// Runs code once as a custom tool.
fn run(hob: &Hob, code: &str, permissions: &[&str]) -> Value {
    let draft = json!({"name": "trial", "description": "For a test.", "parameters": {"type": "object", "properties": {}},
                       "code": code, "permissions": permissions});
    hob.post("/api/v1/custom-tools/test", draft).data(200)
}

fn has_secret(file: &Path) -> bool {
    let bytes = std::fs::read(file).unwrap();
    bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes())
}

#[test]
fn a_secret_goes_in_and_never_comes_out() {
    let environment = vec![("HOB_LOG".to_owned(), "trace,hyper=off,mio=off".to_owned())];
    let mut hob = Hob::with(Setup { environment, ..Setup::default() });
    let mut events = hob.admin("GET", "/api/v1/events").events();
    let mut seen = vec![];
    seen.push(put(&hob, "weather", json!({"displayName": "Weather", "docsUrl": "https://w.example.org/docs"})));
    assert_eq!((&seen[0]["from"], &seen[0]["entries"]), (&json!("person"), &json!([])));
    let fields = json!({"api_key": SECRET, "base_url": "https://w.example.org"});
    seen.push(enter(&hob, "weather", json!({"label": "home", "fields": fields})));
    assert_eq!(
        seen[1]["entries"],
        json!([{"label": "home", "isDefault": true, "from": "person", "secretsSet": ["api_key"],
                "fields": {"base_url": "https://w.example.org"}}])
    );
    let told = events.find(|(name, _)| name == "config:changed").unwrap().1;
    assert_eq!(told["data"], json!({"service": "weather"}));

    let entry = format!("{SERVICES}/weather/entries/home");
    let patch = |body: Value| hob.admin("PATCH", &entry).json(&body).send();
    seen.push(patch(json!({"label": "my home", "fields": {"base_url": "https://w.example.org/v2"}})).data(200));
    let entry = format!("{SERVICES}/weather/entries/my%20home");
    let patch = |body: Value| hob.admin("PATCH", &entry).json(&body).send();
    let why = patch(json!({"fields": {"base_url": "https://evil.example.org"}})).refusal(400, "bad_args");
    assert!(why.contains("pass `api_key` again"), "{why}");
    for tool in ["config_list_services", "config_get_service"] {
        let arguments = if tool == "config_get_service" { json!({"service": "weather"}) } else { json!({}) };
        seen.push(hob.result(tool, arguments));
    }
    seen.push(hob.get(SERVICES).data(200));
    // Entered with the tool, by hand, it is seen as little.
    let by_tool = json!({"service": "nas", "fields": {"api_key": format!("nas-{SECRET}")}, "create": true});
    seen.push(hob.result("config_set_entry", by_tool));
    seen.push(hob.get("/api/v1/audit").data(200));
    // Compared where the tool runs: what it answers is scrubbed of everything that is called a key.
    let code = "const key = utils.getApiKey('weather'), entry = utils.getConfigEntry('weather', 'my home'); \
                const all = utils.getConfigEntries('weather'); \
                return [key, utils.getServiceConfig('weather').api_key === key, entry.api_key === key, all.length, \
                all[0].api_key === key, all[0].label, utils.getFieldValue('weather', 'base_url'), \
                utils.getFieldValue('weather', 'api_key', 'my home') === key, utils.getConfigEntry('weather', 'none')]";
    let used = run(&hob, code, &[])["result"].clone();
    assert!(used[0].as_str().is_some_and(|key| key.starts_with("HOBSECRET_")), "{used}");
    let rest = json!([true, true, 1, true, "my home", "https://w.example.org/v2", true, null]);
    assert_eq!(used.as_array().unwrap()[1..], rest.as_array().unwrap()[..], "{used}");
    seen.push(used);
    assert!(!json!(seen).to_string().contains(SECRET));

    let (data, backup) = (hob.data().join("hob.redb"), hob.folder.path("backup.hob"));
    hob.cli(&["backup", backup.to_str().unwrap()]).ok();
    hob.kill();
    assert!(!hob.log().contains(SECRET) && hob.log().contains("DEBUG"), "the log is full, and without the secret");
    for file in [&data, &backup] {
        assert!(!has_secret(file), "{} has the secret in clear text", file.display());
    }
    hob.start_again();
    assert_eq!(service(&hob, "weather")["entries"][0]["secretsSet"], json!(["api_key"]));
    assert_eq!(service(&hob, "weather"), seen[2]);

    // Another device that takes the backup has the service, and not its secret.
    let folder = Folder::new();
    hob_restore(&folder, &backup);
    let other = Hob::over(folder, Setup::default());
    let entry = service(&other, "weather")["entries"][0].clone();
    assert_eq!((&entry["fields"]["base_url"], &entry["secretsSet"]), (&json!("https://w.example.org/v2"), &json!([])));

    // Gone is gone.
    hob.admin("DELETE", &format!("{SERVICES}/weather")).send().data(200);
    hob.get(&format!("{SERVICES}/weather")).refusal(404, "not_found");
    assert_eq!(run(&hob, "return typeof utils.getApiKey('weather')", &[])["result"], "undefined");
    hob.assert_alive();
}

fn hob_restore(folder: &Folder, backup: &Path) {
    hob(&folder.path("data"), &["restore", backup.to_str().unwrap()]).ok();
}

/// A web server inside the house that answers with the `Authorization` it was sent, after its length.
fn echoes() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            let (mut head, mut byte) = (vec![], [0]);
            while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let sent =
                head.lines().find_map(|l| l.to_lowercase().starts_with("authorization:").then(|| l[14..].trim()));
            let sent = sent.unwrap_or_default();
            let body = format!("{} {sent}", sent.len());
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            let _ = socket.write_all(answer.as_bytes());
        }
    });
    port
}

#[test]
fn what_a_tool_needs_comes_with_it_is_set_up_and_used() {
    let (home, work) = (echoes(), echoes());
    let config = format!("[http]\nallow = [\"127.0.0.1:{home}\", \"127.0.0.1:{work}\"]");
    let mut hob = Hob::with(Setup { config, ..Setup::default() });
    let required = json!([{"name": "mail", "displayName": "Mail", "category": "Messages", "multiEntry": true, "configSchema": [
        {"name": "password", "label": "Password", "type": "secret", "required": true},
        {"name": "base_url", "type": "url", "required": true}, {"name": "limit", "type": "number", "default": 10}
    ]}]);
    let tool = json!({"name": "send_it", "description": "For a test.", "parameters": {"type": "object", "properties": {}},
                      "code": "return utils.getFieldValue('mail', 'limit')", "requiredApiKeys": required});
    let tool = hob.post("/api/v1/custom-tools", tool).data(201);
    let made = service(&hob, "mail");
    assert_eq!(
        (&made["from"], &made["neededBy"], &made["multiEntry"]),
        (&json!("tool"), &json!(["send_it"]), &json!(true))
    );
    assert_eq!((&made["displayName"], &made["category"]), (&json!("Mail"), &json!("Messages")));
    let types: Vec<&Value> = made["schema"].as_array().unwrap().iter().map(|f| &f["type"]).collect();
    assert_eq!(types, ["secret", "url", "number"]);
    // It is there after a power cut, although nobody entered anything.
    hob.kill();
    hob.start_again();
    assert_eq!(service(&hob, "mail"), made);

    for (label, port) in [("home", home), ("work", work)] {
        let fields = json!({"password": format!("{label}-{SECRET}"), "base_url": format!("http://127.0.0.1:{port}")});
        enter(&hob, "mail", json!({"label": label, "fields": fields}));
    }
    assert_eq!(hob.result("send_it", json!({})), 10);
    // Each entry's secret reaches its own host, and comes back as a placeholder.
    let fetch = |label: &str, port: u16| {
        let code = format!(
            "const e = utils.getConfigEntry('mail', '{label}'); \
             const r = await fetch('http://127.0.0.1:{port}/', {{headers: {{Authorization: e.password}}}}); return await r.text();"
        );
        run(&hob, &code, &["network"])
    };
    for (label, port, length) in [("home", home, "home-".len()), ("work", work, "work-".len())] {
        let answer = fetch(label, port)["result"].as_str().unwrap().to_owned();
        let sent: usize = answer.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(sent, length + SECRET.len(), "{answer}");
        assert!(answer.contains("HOBSECRET_") && !answer.contains(SECRET), "{answer}");
    }
    for (label, port) in [("home", work), ("work", home)] {
        let told = fetch(label, port);
        assert_eq!(told["isError"], true, "{told}");
    }

    // Changing the default changes what is used; the tool goes, and what people entered stays until they take it out.
    let work_is_first = json!({"default": true, "fields": {"limit": 7}});
    hob.admin("PATCH", &format!("{SERVICES}/mail/entries/work")).json(&work_is_first).send().data(200);
    assert_eq!(hob.result("send_it", json!({})), 7);
    hob.admin("DELETE", &format!("/api/v1/custom-tools/{}", tool["id"].as_str().unwrap())).send().data(200);
    assert_eq!(service(&hob, "mail")["neededBy"], json!([]));
    let delete = |label: &str| hob.admin("DELETE", &format!("{SERVICES}/mail/entries/{label}")).send().data(200);
    assert_eq!(delete("work")["entries"][0]["label"], "home");
    assert_eq!(delete("home")["entries"], json!([]));
    hob.get(&format!("{SERVICES}/mail")).refusal(404, "not_found");
    hob.assert_alive();
}

#[test]
fn only_admins_write_and_viewers_see_names() {
    let hob = Hob::start();
    let fields = json!({"api_key": SECRET, "base_url": "https://w.example.org"});
    put(&hob, "weather", json!({}));
    enter(&hob, "weather", json!({"fields": fields}));
    let (ben, eve) = (hob.token("ben", "member"), hob.token("eve", "viewer"));
    let at = |path: &str| format!("{SERVICES}/weather{path}");
    for token in [&ben, &eve] {
        let send = |method: &str, path: &str, body: Value| hob.request(method, path).bearer(token).json(&body).send();
        for (method, path, body) in [
            ("PUT", at(""), json!({})),
            ("POST", at("/entries"), json!({"label": "x", "fields": {}})),
            ("PATCH", at("/entries/default"), json!({"fields": {"base_url": ""}})),
            ("DELETE", at("/entries/default"), json!({})),
            ("DELETE", at(""), json!({})),
        ] {
            send(method, &path, body).refusal(403, "denied");
        }
        let arguments = json!({"arguments": {"service": "weather", "fields": {"base_url": ""}}});
        send("POST", "/api/v1/tools/config_set_entry/execute", arguments).refusal(403, "denied");
    }
    let seen = |token: &str| hob.request("GET", &at("")).bearer(token).send().data(200);
    assert_eq!(seen(&ben)["entries"][0]["fields"]["base_url"], "https://w.example.org");
    assert_eq!((&seen(&eve)["name"], &seen(&eve)["entries"]), (&json!("weather"), &json!([])));
    let execute = hob.request("POST", "/api/v1/tools/config_get_service/execute").bearer(&eve);
    let told = execute.json(&json!({"arguments": {"service": "weather"}})).send().data(200);
    assert!(!told.to_string().contains("w.example.org"), "{told}");
    hob.request("GET", SERVICES).send().refusal(401, "unauthorized");
    assert_eq!(service(&hob, "weather")["entries"][0]["secretsSet"], json!(["api_key"]), "nothing was changed");
}

#[test]
fn bad_requests_hear_what_to_do() {
    let config = "[services.weather]\napi_key = \"from-the-file\"\ncity = \"Graz\"\n".to_owned();
    let mut hob = Hob::with(Setup { config, ..Setup::default() });
    put(&hob, "nas", json!({"schema": [{"name": "user", "required": true}, {"name": "pin", "secret": true}]}));
    enter(&hob, "nas", json!({"fields": {"user": "anna", "pin": SECRET}}));
    let rows = [
        ("PUT", "/Bad%20Name", json!({}), 400, "lower-case"),
        ("PUT", "/x", json!({"schema": [{"name": "a", "type": "magic"}]}), 400, "unknown variant `magic`"),
        ("PUT", "/x", json!({"schema": []}), 400, "1 to 40 fields"),
        ("PUT", "/x", json!({"colour": "red"}), 400, "unknown field `colour`"),
        ("PUT", "/nas", json!({"schema": [{"name": "user"}, {"name": "pin"}]}), 400, "remove it first"),
        ("POST", "/nas/entries", json!({"label": "b", "fields": {"user": "ben"}}), 400, "may not have more"),
        ("POST", "/nas/entries", json!({"fields": {"user": "ben"}}), 400, "already"),
        ("POST", "/nas/entries", json!({"label": "b"}), 400, "missing field `fields`"),
        ("POST", "/none/entries", json!({"fields": {}}), 404, "no service `none`: there are home_assistant, "),
        ("PATCH", "/nas/entries/default", json!({"fields": {"user": null}}), 400, "`user` is missing"),
        ("PATCH", "/nas/entries/default", json!({"fields": {"pni": SECRET}}), 400, "no field `pni`"),
        ("PATCH", "/nas/entries/none", json!({"fields": {}}), 404, "no entry `none`"),
        ("PATCH", "/nas/entries/default", json!([1]), 400, "the body"),
        ("PATCH", "/weather/entries/default", json!({"fields": {"city": "Wien"}}), 403, "hob.toml"),
        ("DELETE", "/weather/entries/default", json!({}), 403, "hob.toml"),
        ("DELETE", "/weather", json!({}), 403, "hob.toml"),
        ("DELETE", "/none", json!({}), 404, "no service `none`"),
    ];
    for (method, path, body, status, part) in rows {
        let reply = hob.admin(method, &format!("{SERVICES}{path}")).json(&body).send();
        let code = [(400, "bad_args"), (403, "denied"), (404, "not_found")].iter().find(|c| c.0 == status).unwrap().1;
        let why = reply.refusal(status, code);
        assert!(why.contains(part) && !why.contains(SECRET), "{method} {path}: {why}");
    }
    // What hob.toml has is shown without its secret, and gives way to what a person enters.
    let file = service(&hob, "weather");
    assert_eq!(file["entries"][0]["fields"], json!({"city": "Graz"}));
    assert_eq!((&file["from"], &file["entries"][0]["from"]), (&json!("file"), &json!("file")));
    let own = enter(&hob, "weather", json!({"fields": {"city": "Wien"}}));
    assert_eq!((&own["entries"][0]["from"], own["entries"].as_array().unwrap().len()), (&json!("person"), 1));
    assert_eq!(run(&hob, "return utils.getFieldValue('weather', 'city')", &[])["result"], "Wien");
    assert_eq!(run(&hob, "return typeof utils.getApiKey('weather')", &[])["result"], "undefined");
    let set = json!({"service": "weather", "fields": {"city": "Linz", "api_key": "own"}});
    assert_eq!(hob.result("config_set_entry", set)["entries"][0]["secretsSet"], json!(["api_key"]));
    assert_eq!(hob.get(SERVICES).data(200)["count"], 5);
    hob.assert_alive();
}

#[test]
fn a_model_sets_up_a_service_with_a_persons_yes() {
    let (mut hob, server) = with_model("");
    let fields = json!({"api_key": SECRET, "base_url": "https://w.example.org"});
    let set = json!({"service": "weather", "fields": fields, "create": true});
    let call = json!({"tool_name": "config_set_entry", "arguments": set});
    server.script(vec![calls(&[("use_tool", call)]), says("It is set up.")]);
    let chat = hob.admin("POST", "/api/v1/chat").json(&json!({"message": "set up the weather"}));
    let chat = thread::spawn(move || chat.send().data(200));
    let mut asked = json!(null);
    until("a question", || {
        asked = hob.get("/api/v1/approvals").data(200)["approvals"][0].clone();
        asked.is_object()
    });
    assert_eq!((&asked["tool"], &asked["risk"]), (&json!("config_set_entry"), &json!("admin")), "{asked}");
    assert!(!asked["arguments"].to_string().contains(SECRET), "{asked}");
    hob.get(&format!("{SERVICES}/weather")).refusal(404, "not_found");
    let yes = json!({"decision": "allow_once", "nonce": asked["nonce"]});
    hob.post(&format!("/api/v1/approvals/{}/decide", asked["id"].as_str().unwrap()), yes).data(200);
    let answer = chat.join().unwrap();
    assert_eq!(service(&hob, "weather")["entries"][0]["secretsSet"], json!(["api_key"]), "{answer}");
    let told = server.asked().last().unwrap().messages("tool");
    assert!(!json!(told).to_string().contains(SECRET), "{told:?}");
    let conversation = hob.get(&format!("/api/v1/conversations/{}", answer["conversationId"].as_str().unwrap()));
    assert!(!conversation.data(200).to_string().contains(SECRET), "{}", conversation.text());
    assert!(!hob.log().contains(SECRET));
    hob.assert_alive();
}

/// A field that only the service's schema calls a secret, with a value that looks like none: its place is all there is to
/// go by until it is set.
#[test]
fn a_secret_that_nobody_knew_yet_is_nowhere_in_clear() {
    const CODE: &str = "green lantern";
    let (mut hob, server) = with_model("");
    put(&hob, "alarm", json!({"schema": [{"name": "code", "secret": true}, {"name": "zone"}]}));
    let mut events = hob.admin("GET", "/api/v1/events").events();
    let set = json!({"service": "alarm", "fields": {"code": CODE, "zone": "attic"}});
    let inner = json!({"tool_name": "config_set_entry", "arguments": set});
    let as_text = json!({"toolName": "config_set_entry", "arguments": set.to_string()});
    let batch = json!({"operations": [{"tool": "config_set_entry", "args": set}]});
    let slip = json!({"service": "alarm", "fields": format!("code is {CODE}")});
    let mut seen = vec![];
    for (tool, arguments, asked) in [
        ("config_set_entry", set, true),
        ("use_tool", inner, true),
        ("use_tool", as_text, true),
        ("batch_use_tool", batch, true),
        ("config_set_entry", slip, false),
    ] {
        server.script(vec![calls(&[(tool, arguments)]), says("it is settled")]);
        let mut stream = hob.stream(json!({"message": "set the alarm up"}));
        let mut conversation = String::new();
        let mut questions = 0;
        for (name, data) in stream.by_ref() {
            seen.push(data.clone());
            if let Some(id) = data["conversationId"].as_str() {
                conversation = id.to_owned();
            }
            if name == "approval" {
                questions += 1;
                let hidden = json!({"service": "alarm", "fields": {"code": "[REDACTED]", "zone": "[REDACTED]"}});
                assert_eq!((&data["arguments"], &data["pattern"]), (&hidden, &Value::Null), "{tool}");
                seen.push(hob.get("/api/v1/approvals").data(200));
                let no = json!({"decision": "deny", "nonce": data["nonce"]});
                hob.post(&format!("/api/v1/approvals/{}/decide", data["id"].as_str().unwrap()), no).data(200);
            }
        }
        assert_eq!(questions, usize::from(asked), "{tool}");
        let kept = hob.get(&format!("/api/v1/conversations/{conversation}")).data(200);
        assert!(kept["messages"][1]["toolCalls"].to_string().contains("[REDACTED]"), "{tool}: {kept}");
        seen.push(kept);
    }
    seen.push(hob.get("/api/v1/approvals?state=all").data(200));
    seen.push(hob.get("/api/v1/audit?everybody=true").data(200));
    hob.result("gpio_write", json!({"pin": 27, "high": true}));
    seen.extend(events.by_ref().take_while(|(name, _)| name != "pin:changed").map(|(_, data)| data));
    assert!(!json!(seen).to_string().contains("lantern"), "{}", json!(seen));
    assert!(!hob.log().contains("lantern"));
    // A yes sets what was meant, and no mark.
    let (said, _) = hob.allowing(|| {
        let set = json!({"service": "alarm", "fields": {"code": CODE, "zone": "attic"}});
        server.script(vec![calls(&[("config_set_entry", set)]), says("it is set")]);
        hob.say("set the alarm up")
    });
    assert_eq!(said["toolCalls"][0]["isError"], false, "{said}");
    assert_eq!(run(&hob, &format!("return 'it is {CODE}'"), &[])["result"], "it is [REDACTED]");
    hob.assert_alive();
}

/// Whether a parameter's name sounds like a secret. A bare `key` names an entry of something.
fn sounds_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace(['_', '-'], "");
    name.ends_with("apikey")
        || ["token", "password", "passphrase", "secret", "credential"].iter().any(|w| name.contains(w))
}

/// The text parameters of a schema that sound like secrets and are not `writeOnly`.
fn silent(schema: &Value) -> Vec<String> {
    let mut found = vec![];
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let text =
            field["type"] == "string" || field["type"].as_array().is_some_and(|all| all.contains(&json!("string")));
        if text && sounds_secret(name) && field["writeOnly"] != true {
            found.push(name.clone());
        }
    }
    let inner: Vec<&Value> = match schema {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => vec![],
    };
    found.extend(inner.into_iter().filter(|s| s["writeOnly"] != true).flat_map(silent));
    found
}

#[test]
fn a_tool_that_takes_a_secret_says_so() {
    assert_eq!(silent(&json!({"properties": {"login": {"properties": {"apiKey": {"type": "string"}}}}})), ["apiKey"]);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tools");
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let tool: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(silent(&tool), Vec::<String>::new(), "{}: mark the parameter `writeOnly`", path.display());
        count += 1;
    }
    assert!(count > 100, "{count}");
}
