//! Access control: passwords, roles, scopes, other sites, other hosts, and connection floods.

use crate::{
    harness::{Folder, Hob, Setup, TOKEN, hob_with, until},
    http::{PATIENCE, Request},
    visitor::{Visitor, code},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

const PASSWORD: &str = "correct horse battery";

fn unclaimed(config: &str) -> Hob {
    Hob::with(Setup { claimed: false, config: config.into(), ..Setup::default() })
}

/// A claimed device, and its owner Anna at the page.
fn with_anna() -> (Hob, Visitor) {
    let hob = bare(false);
    let mut anna = Visitor::new(&hob);
    let body = json!({"code": code(&hob), "person": "Anna", "password": PASSWORD});
    assert_eq!(anna.claim(&body).data(200)["person"], "Anna");
    (hob, anna)
}

/// A device that loads no model of its own accord, so that its memory tells of the doors alone.
fn bare(claimed: bool) -> Hob {
    let environment = [("HOB_MODEL", "custom/none"), ("HOB_LLM_URL", "http://127.0.0.1:9/v1")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Hob::with(Setup { claimed, environment, ..Setup::default() })
}

/// Resident memory in KiB.
fn resident(hob: &Hob) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", hob.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// As many open files as the system lets a test have.
fn many_files() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(1 << 20) as usize
}

#[test]
fn a_code_expires_and_a_fresh_one_is_told() {
    let mut hob = unclaimed("[doors]\nclaim_seconds = 1");
    let old = code(&hob);
    let file = hob.data().join("claim-code");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(&old));
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions()) & 0o777,
        0o600
    );
    until("a fresh code", || code(&hob) != old);
    let mut visitor = Visitor::new(&hob);
    let why = visitor.claim(&json!({"code": old})).refusal(401, "code_expired");
    assert!(why.contains("fresh one"), "{why}");
    // A code may expire between being read and being used.
    until("a claim", || visitor.claim(&json!({"code": code(&hob)})).status == 200);
    assert!(!file.exists(), "the code is good for nothing any more");
    let why = visitor.claim(&json!({"code": code(&hob)})).refusal(409, "already_claimed");
    assert!(why.contains("sign in"), "{why}");
    hob.assert_alive();
}

#[test]
fn a_code_can_be_chosen_beforehand() {
    let folder = Folder::new();
    let file = folder.path("code");
    std::fs::write(&file, "\nblue whale sings low 42\n").unwrap();
    let environment = vec![("HOB_CLAIM_FILE".to_owned(), file.to_string_lossy().into_owned())];
    let hob = Hob::with(Setup { claimed: false, environment, ..Setup::default() });
    Visitor::new(&hob).claim(&json!({"code": "Blue-Whale-Sings-Low-42"})).data(200);

    std::fs::write(&file, "too short").unwrap();
    let data = folder.path("other");
    let environment = [("HOB_CLAIM_FILE", file.to_str().unwrap())];
    let arguments = ["serve", "--listen", "127.0.0.1:0"];
    let ran = hob_with(&data, &arguments, &environment, "");
    assert!(ran.code == Some(1) && ran.err.contains("at least 12"), "{ran:?}");
    let ran = hob_with(&data, &arguments, &[("HOB_CLAIM_FILE", "/nowhere")], "");
    assert!(ran.code == Some(1) && ran.err.contains("/nowhere"), "{ran:?}");
}

#[test]
fn a_claim_that_is_not_in_order_takes_nothing() {
    let hob = unclaimed("");
    let mut visitor = Visitor::new(&hob);
    for (wrong, part) in [
        (json!({"code": code(&hob), "password": "short"}), "10 to 256"),
        (json!({"code": code(&hob), "person": " "}), "1 to 64"),
        (json!({"code": code(&hob), "persn": "x"}), "persn"),
    ] {
        let why = visitor.claim(&wrong).refusal(400, "bad_args");
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(visitor.claim(&json!({"code": code(&hob)})).data(200)["person"], "owner");
}

#[test]
fn a_person_signs_in_with_a_password_and_out_again() {
    let (hob, anna) = with_anna();
    let mut elsewhere = Visitor::new(&hob);
    let session = elsewhere.sign_in(&json!({"person": " anna ", "password": PASSWORD})).data(200);
    assert_eq!(
        (&session["person"], &session["role"], &session["hasPassword"]),
        (&json!("Anna"), &json!("admin"), &json!(true))
    );
    let listed = anna.get("/sessions").data(200);
    let others: Vec<&Value> = listed["sessions"].as_array().unwrap().iter().filter(|s| s["current"] == false).collect();
    assert_eq!((listed["count"].as_u64(), others.len()), (Some(2), 1));
    anna.send("DELETE", &format!("/sessions/{}", others[0]["id"].as_str().unwrap()), json!({})).data(200);
    assert!(!elsewhere.is_in() && anna.is_in());
    // A session that was stolen before its person left is worth nothing afterwards.
    let stolen = anna.clone();
    anna.send("DELETE", "/session", json!({})).data(200);
    stolen.get("/session").refusal(401, "unauthorized");

    let rows = [
        (json!({"person": "Anna", "password": "Correct horse battery"}), 401, "wrong_password"),
        (json!({"person": "nobody", "password": PASSWORD}), 401, "wrong_password"),
        (json!({"person": "Anna"}), 400, "bad_args"),
        (json!({"person": "Anna", "password": PASSWORD, "token": TOKEN}), 400, "bad_args"),
        (json!({}), 400, "bad_args"),
    ];
    for (body, status, code) in rows {
        Visitor::new(&hob).sign_in(&body).refusal(status, code);
    }
}

#[test]
fn a_new_password_ends_what_the_old_one_opened() {
    let (hob, anna) = with_anna();
    let mut thief = Visitor::new(&hob);
    thief.sign_in(&json!({"person": "Anna", "password": PASSWORD})).data(200);
    let people = anna.get("/people").data(200);
    let path = format!("/people/{}", people["people"][0]["id"].as_str().unwrap());
    let new = "another fine password";
    anna.send("PATCH", &path, json!({"password": new})).refusal(401, "wrong_password");
    anna.send("PATCH", &path, json!({"password": "short", "currentPassword": PASSWORD})).refusal(400, "bad_args");
    anna.send("PATCH", &path, json!({"password": new, "currentPassword": PASSWORD})).data(200);
    assert!(anna.is_in() && !thief.is_in());
    thief.sign_in(&json!({"person": "Anna", "password": PASSWORD})).refusal(401, "wrong_password");
    thief.sign_in(&json!({"person": "Anna", "password": new})).data(200);
}

#[test]
fn sessions_of_the_token_in_the_environment_end_with_it() {
    let mut hob = Hob::start();
    let mut visitor = Visitor::new(&hob);
    visitor.sign_in(&json!({"token": TOKEN})).data(200);
    assert!(visitor.is_in());
    hob.kill();
    hob.setup.claimed = false;
    hob.setup.environment.push(("HOB_TOKEN".into(), "another-token-of-more-than-32-characters".into()));
    hob.start_again();
    let mut again = Visitor::new(&hob);
    again.cookies = visitor.cookies;
    again.get("/session").refusal(401, "unauthorized");
}

#[test]
fn people_have_roles_that_bind_all_their_keys() {
    let (hob, anna) = with_anna();
    let add = |name: &str, role: &str| {
        anna.send("POST", "/people", json!({"name": name, "role": role, "password": PASSWORD})).data(201)["id"].clone()
    };
    let (max, vera) = (add("Max", "member"), add("Vera", "viewer"));
    let enter = |name: &str| {
        let mut visitor = Visitor::new(&hob);
        visitor.sign_in(&json!({"person": name, "password": PASSWORD})).data(200);
        visitor
    };
    let (max_in, vera_in) = (enter("max"), enter("VERA"));
    let pin = json!({"arguments": {"pin": 4, "high": true}});
    max_in.send("POST", "/tools/gpio_write/execute", pin.clone()).data(200);
    vera_in.send("POST", "/tools/gpio_write/execute", pin).refusal(403, "denied");
    vera_in.send("POST", "/tools/gpio_read/execute", json!({"arguments": {"pin": 4}})).data(200);
    for visitor in [&max_in, &vera_in] {
        visitor.get("/people").refusal(403, "denied");
        visitor.send("POST", "/people", json!({"name": "Eve", "role": "admin"})).refusal(403, "denied");
        visitor.send("PATCH", "/device", json!({"name": "mine"})).refusal(403, "denied");
        visitor.send("PUT", "/model", json!({"model": "reflex"})).refusal(403, "denied");
    }
    let path = |id: &Value| format!("/people/{}", id.as_str().unwrap());
    max_in.send("PATCH", &path(&max), json!({"role": "admin"})).refusal(403, "denied");
    max_in.send("PATCH", &path(&vera), json!({"name": "Eve"})).refusal(403, "denied");
    let without = json!({"password": "", "currentPassword": PASSWORD});
    max_in.send("PATCH", &path(&max), without).refusal(403, "denied");
    assert_eq!(max_in.send("PATCH", &path(&max), json!({"name": "Maximilian"})).data(200)["name"], "Maximilian");

    // A token may do no more than its person, also when they lose a role later.
    let made = |role: &str| anna.send("POST", "/tokens", json!({"name": "maximilian", "role": role}));
    let why = made("admin").refusal(400, "bad_args");
    assert!(why.contains("change their role first"), "{why}");
    let token = made("member").data(201)["token"].clone();
    let role = || {
        let who = hob.request("GET", "/api/v1/session").bearer(token.as_str().unwrap()).send();
        if who.status == 200 { who.data(200)["role"].clone() } else { json!(who.status) }
    };
    assert_eq!((role(), max_in.get("/session").data(200)["role"].clone()), (json!("member"), json!("member")));
    anna.send("PATCH", &path(&max), json!({"role": "viewer"})).data(200);
    assert_eq!((role(), max_in.get("/session").data(200)["role"].clone()), (json!("viewer"), json!("viewer")));
    anna.send("DELETE", &path(&max), json!({})).data(200);
    assert_eq!((role(), max_in.is_in(), vera_in.is_in()), (json!(401), false, true));

    // A token is not its person: with it nobody takes a name or a password.
    let display = anna.send("POST", "/tokens", json!({"name": "display", "role": "member"})).data(201);
    let with_token = |body: Value| {
        let path = format!("/api/v1{}", path(&display["user"]));
        hob.request("PATCH", &path).bearer(display["token"].as_str().unwrap()).json(&body).send()
    };
    with_token(json!({"password": PASSWORD})).refusal(403, "denied");
    with_token(json!({"name": "Anna B"})).refusal(403, "denied");
    let mut page = Visitor::new(&hob);
    page.sign_in(&json!({"token": display["token"]})).data(200);
    page.send("PATCH", &path(&display["user"]), json!({"password": PASSWORD})).refusal(403, "denied");
    anna.send("DELETE", &path(&display["user"]), json!({})).data(200);

    let people = anna.get("/people").data(200);
    let owner = people["people"][0].clone();
    assert_eq!((&owner["name"], &owner["owner"], people["count"].as_u64()), (&json!("Anna"), &json!(true), Some(2)));
    assert!(!people.to_string().contains("argon2"));
    anna.send("DELETE", &path(&owner["id"]), json!({})).refusal(400, "bad_args");
    anna.send("PATCH", &path(&owner["id"]), json!({"role": "viewer"})).refusal(400, "bad_args");
    for (body, status, code) in [
        (json!({"name": "VERA", "role": "member"}), 400, "bad_args"),
        (json!({"name": "owner", "role": "member"}), 400, "bad_args"),
        (json!({"name": "", "role": "member"}), 400, "bad_args"),
        (json!({"name": "Eve", "role": "boss"}), 400, "bad_args"),
        (json!({"name": "Eve", "role": "member", "password": "123"}), 400, "bad_args"),
    ] {
        anna.send("POST", "/people", body).refusal(status, code);
    }
    anna.send("PATCH", "/people/0197f3a2-0000-7000-8000-000000000000", json!({"name": "x"})).refusal(404, "not_found");
}

#[test]
fn tokens_open_what_their_scope_names_and_end() {
    let hob = Hob::start();
    let make = |body: Value| hob.post("/api/v1/tokens", body);
    let made =
        make(json!({"name": "bell", "role": "member", "scope": ["tool:gpio_write"], "expiresInDays": 30})).data(201);
    let token = made["token"].as_str().unwrap();
    let days =
        (made["expiresAt"].as_u64().unwrap() / 1000 - jiff::Timestamp::now().as_second() as u64) as f64 / 86400.0;
    assert!((29.9..30.1).contains(&days), "{days}");
    let ask = |method: &str, path: &str, body: Value| {
        hob.request(method, &format!("/api/v1{path}")).bearer(token).json(&body).send()
    };
    ask("POST", "/tools/gpio_write/execute", json!({"arguments": {"pin": 5, "high": true}})).data(200);
    for (method, path) in [
        ("POST", "/tools/use_tool/execute"),
        ("POST", "/tools/remember/execute"),
        ("POST", "/chat"),
        ("GET", "/tools"),
        ("GET", "/events"),
        ("GET", "/device"),
        ("GET", "/tokens"),
        ("DELETE", "/sessions/x"),
    ] {
        assert!(ask(method, path, json!({})).refusal(403, "out_of_scope").contains("scope"), "{path}");
    }
    // A session it opens reaches no further, and ends no later.
    let mut page = Visitor::new(&hob);
    page.sign_in(&json!({"token": token})).data(200);
    page.get("/conversations").refusal(403, "out_of_scope");
    let member = hob.token("mia", "member");
    hob.request("GET", "/api/v1/sessions").bearer(&member).send().refusal(403, "denied");

    for (body, part) in [
        (json!({"name": "x", "scope": ["everything"]}), "`chat`"),
        (json!({"name": "x", "expiresInDays": 0}), "1 to 3650"),
        (json!({"name": "x", "expiresInDays": -1}), "a whole number"),
        (json!({"name": "", "scope": []}), "1 to 64"),
    ] {
        let why = make(body).refusal(400, "bad_args");
        assert!(why.contains(part), "{why}");
    }
    let chat = hob.cli(&["token", "new", "phone", "--role", "member", "--scope", "chat", "--days", "7"]).ok();
    let said = hob.request("POST", "/api/v1/chat").bearer(&chat).json(&json!({"message": "what is 2+2?"})).send();
    assert!(said.data(200)["response"].as_str().unwrap().contains('4'));
    hob.request("GET", "/api/v1/tools").bearer(&chat).send().refusal(403, "out_of_scope");
    hob.request("GET", "/api/v1/nothing").bearer(&chat).send().refusal(404, "not_found");
    // The scope `admin` is everything an admin may.
    let everything = hob.cli(&["token", "new", "owner", "--scope", "admin"]).ok();
    for path in ["/metrics", "/v1/models", "/api/v1/device", "/api/v1/conversations", "/api/v1/tokens"] {
        assert_eq!(hob.request("GET", path).bearer(&everything).send().status, 200, "{path}");
    }
    assert!(
        hob.get("/api/v1/tokens").data(200)["tokens"].as_array().unwrap().iter().any(|t| t["scope"] == json!(["chat"]))
    );
}

#[test]
fn a_request_for_another_host_is_not_for_us() {
    let hob = Hob::with(Setup {
        config: "name = \"kitchen\"\n[doors]\nhosts = [\"Hob.Example.org\"]".into(),
        ..Setup::default()
    });
    let ask = |line: &str, hosts: &[&str]| {
        let hosts: String = hosts.iter().map(|h| format!("Host: {h}\r\n")).collect();
        let bytes = format!("GET {line} HTTP/1.1\r\n{hosts}Connection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        let mut socket = TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(bytes.as_bytes()).unwrap();
        let mut answer = vec![];
        socket.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for path in ["/healthz", "/api/v1/session", "/"] {
        for own in [
            "127.0.0.1",
            "127.0.0.1:4620",
            "[::1]:9",
            "localhost",
            "LOCALHOST:1",
            "kitchen",
            "kitchen.local",
            "Kitchen.Local.:80",
            "hob.example.org",
            "192.168.1.7",
        ] {
            assert_eq!(ask(path, &[own]), "200", "{own}{path}");
        }
        for foreign in [
            "evil.example",
            "kitchen.local.evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil@evil.example",
            "hob.local",
            "x",
        ] {
            assert_eq!(ask(path, &[foreign]), "421", "{foreign}{path}");
        }
        assert_eq!(ask(path, &["localhost", "evil.example"]), "400");
        assert_eq!(ask(&format!("http://evil.example{path}"), &["localhost"]), "421");
        assert_eq!(ask(&format!("http://localhost{path}"), &["localhost"]), "200");
    }
    let why = Request::new(hob.port, "GET", "http://evil.example/healthz").send().refusal(421, "wrong_host");
    assert!(why.contains("hob.toml"), "{why}");
    // The rule of HTTP itself.
    assert_eq!(ask("/healthz", &[]), "400");
}

#[test]
fn other_sites_can_do_nothing_with_a_session() {
    let hob = unclaimed("");
    let owner = Visitor::owner(&hob);
    let body = json!({"message": "hi"});
    let post = |visitor: &Visitor| visitor.request("POST", "/api/v1/chat").json(&body);
    let bare = Visitor { csrf: String::new(), ..owner.clone() };
    assert!(post(&bare).send().refusal(403, "csrf").contains("X-CSRF-Token"));
    post(&Visitor { csrf: "0".repeat(32), ..owner.clone() }).send().refusal(403, "csrf");
    for method in ["PUT", "PATCH", "DELETE"] {
        bare.request(method, "/api/v1/model").json(&json!({})).send().refusal(403, "csrf");
    }
    post(&owner).send().data(200);
    bare.get("/session").data(200);
    let own = "http://127.0.0.1";
    for (name, value, passes) in [
        ("Origin", own, true),
        ("Origin", "https://127.0.0.1", false),
        ("Origin", "http://127.0.0.1:8080", false),
        ("Origin", "http://evil.example", false),
        ("Origin", "null", false),
        ("Sec-Fetch-Site", "same-origin", true),
        ("Sec-Fetch-Site", "same-site", false),
        ("Sec-Fetch-Site", "cross-site", false),
    ] {
        let reply = post(&owner).header(name, value).send();
        if passes {
            drop(reply.data(200))
        } else {
            drop(reply.refusal(403, "cross_site"))
        }
        // Nor may they claim or sign anybody in.
        let sign_in = hob.request("POST", "/api/v1/session").json(&json!({"token": "x"})).header(name, value).send();
        assert_eq!(sign_in.status, if passes { 401 } else { 403 }, "{name}: {value}");
    }
    // Programs have a token, and no browser that could be led astray.
    let token = hob.cli(&["token", "new", "owner"]).ok();
    hob.request("POST", "/api/v1/chat").bearer(&token).json(&body).send().data(200);
}

#[test]
fn ten_thousand_guesses_cost_nothing_and_lock_nobody_out() {
    let (mut hob, mut anna) = with_anna();
    let before = resident(&hob);
    let mut wrong = [0; 2];
    let mut line: Option<TcpStream> = None;
    for n in 0..10_000 {
        let body = json!({"person": "anna", "password": format!("a wrong password {n}")}).to_string();
        let length = body.len();
        let request = format!(
            "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut socket = line.take().unwrap_or_else(|| TcpStream::connect(("127.0.0.1", hob.port)).unwrap());
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let (mut answer, mut piece) = (vec![], [0; 4096]);
        while !answer.ends_with(b"}}") {
            let read = socket.read(&mut piece).unwrap();
            assert!(read > 0, "the connection broke");
            answer.extend_from_slice(&piece[..read]);
        }
        let answer = String::from_utf8_lossy(&answer);
        match answer.split(' ').nth(1) {
            Some("401") => wrong[0] += 1,
            Some("429") => wrong[1] += 1,
            _ => panic!("{answer}"),
        }
        if wrong[1] == 1 {
            assert!(answer.contains("retry-after: "), "{answer}");
        }
        line = Some(socket);
    }
    // Five a minute, however long this took.
    assert!(wrong[0] >= 5 && wrong[0] <= 60 && wrong[1] > 9_900, "{wrong:?}");
    let grown = resident(&hob).saturating_sub(before);
    assert!(grown < 24 << 10, "memory has grown by {grown} KiB");
    // A stranger at this address has to wait; a browser that Anna has signed in with before does not, and a token never.
    let right = json!({"person": "anna", "password": PASSWORD});
    let refused = Visitor::new(&hob).sign_in(&right);
    refused.refusal(429, "too_many_tries");
    anna.cookies.remove("hob_session");
    anna.csrf.clear();
    anna.sign_in(&right).data(200);
    let token = hob.cli(&["token", "new", "owner"]).ok();
    Visitor::new(&hob).sign_in(&json!({"token": token})).data(200);
    hob.assert_alive();
}

#[test]
fn ten_thousand_silent_connections_keep_nobody_out() {
    let mut hob = bare(true);
    hob.get("/api/v1/session").data(200);
    let mut listener = hob.admin("GET", "/api/v1/events").events();
    let before = resident(&hob);
    let most = many_files().saturating_sub(200).min(10_000);
    assert!(most >= 2_000, "the system gives only {most} open files");
    let mut crowd = Vec::with_capacity(most);
    for n in 0..most {
        let mut socket = TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
        // Some say nothing, some never finish what they say.
        let _ = match n % 3 {
            0 => Ok(0),
            1 => socket.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
            _ => socket.write(b"POST /api/v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{"),
        };
        crowd.push(socket);
        if n % 500 == 0 {
            hob.get("/api/v1/session").data(200);
        }
    }
    let begun = Instant::now();
    hob.call("gpio_write", json!({"pin": 6, "high": true})).data(200);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(listener.any(|(name, _)| name == "pin:changed"), "who was being served stays");
    let grown = resident(&hob).saturating_sub(before);
    assert!(grown < 32 << 10, "memory has grown by {grown} KiB");
    hob.cli(&["call", "gpio_read", "{\"pin\": 6}"]).ok();
    drop(crowd);
    hob.assert_alive();
}

#[test]
fn an_upload_that_never_ends_is_ended() {
    let mut hob = bare(true);
    let before = resident(&hob);
    // A stranger's is ended after a megabyte, a known caller's after some more, and each hears why if they listen.
    for (path, bearer, most) in [("/api/v1/session", "", 8 << 20), ("/api/v1/chat", TOKEN, 160 << 20)] {
        let mut socket = TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let piece = [format!("{:x}\r\n", 1 << 16).as_bytes(), &[b'x'; 1 << 16], b"\r\n"].concat();
        let mut sent = 0;
        while sent < most && socket.write_all(&piece).is_ok() {
            sent += piece.len();
        }
        assert!(sent < most, "{path} took {sent} bytes and more");
    }
    // One that trickles is ended too, while others are served.
    let mut slow = TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
    let head = "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{";
    slow.write_all(head.as_bytes()).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = [0; 64];
    let read = slow.read(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 408"), "{:?}", &answer[..read]);
    let grown = resident(&hob).saturating_sub(before);
    assert!(grown < 24 << 10, "memory has grown by {grown} KiB");
    hob.assert_alive();
}
