//! Authentication, the shape of every answer, and malformed requests.

use crate::{
    harness::{Dice, Hob, Setup, TOKEN},
    http::{Reply, Request, raw},
    visitor::{Visitor, code},
};
use serde_json::{Value, json};
use std::time::Duration;

/// Every route that takes a body.
const POSTS: &[&str] = &[
    "/claim",
    "/session",
    "/tokens",
    "/chat",
    "/tools/calculate/execute",
    "/tools/nonsense/execute",
    "/custom-tools",
    "/custom-tools/test",
    "/custom-tools/tool_0123456789abcdef/execute",
    "/custom-tools/tool_0123456789abcdef/enable",
    "/custom-tools/tool_0123456789abcdef/disable",
    "/custom-tools/tool_0123456789abcdef/approve",
    "/custom-tools/tool_0123456789abcdef/reject",
    "/runs/0197f3a2-0000-7000-8000-000000000000/cancel",
    "/backup",
];

fn unclaimed() -> Hob {
    Hob::with(Setup { claimed: false, ..Setup::default() })
}

fn claim(hob: &Hob, code: &str) -> Reply {
    hob.request("POST", "/api/v1/claim").json(&json!({"code": code})).send()
}

#[test]
fn before_the_claim_only_the_claim_answers() {
    let hob = unclaimed();
    let health = hob.request("GET", "/healthz").send();
    assert_eq!((health.status, &health.json()["status"]), (200, &json!("ok")));
    let page = hob.request("GET", "/").send();
    assert!(page.status == 200 && page.text().contains("<html"), "{}", page.status);
    // Where components run that a model wrote: our page may frame it, and it reaches nothing.
    let frame = hob.request("GET", "/frame.html").send();
    let policy = frame.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; ") && policy.contains("sandbox allow-scripts;"), "{policy}");
    assert_eq!((frame.status, frame.header("x-frame-options")), (200, None));
    for (name, value) in [("x-content-type-options", "nosniff"), ("x-frame-options", "DENY")] {
        assert_eq!(page.header(name), Some(value));
    }
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'self'"));
    for path in ["/session", "/tools", "/tokens", "/conversations", "/custom-tools", "/events", "/nonsense"] {
        let path = format!("/api/v1{path}");
        for request in [hob.request("GET", &path), hob.request("GET", &path).bearer(TOKEN)] {
            assert!(request.send().refusal(403, "unclaimed").contains("link it printed"));
        }
    }
    for path in POSTS.iter().filter(|p| !["/claim", "/session"].contains(p)) {
        hob.request("POST", &format!("/api/v1{path}")).json(&json!({})).send().refusal(403, "unclaimed");
    }
    hob.request("POST", "/api/v1/session").json(&json!({"token": TOKEN})).send().refusal(401, "unauthorized");
    for (method, path) in [("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("GET", "/v1/nonsense")] {
        let refused = hob.request(method, path).bearer(TOKEN).json(&json!({})).send();
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("unclaimed")), "{path}");
    }
}

#[test]
fn five_wrong_codes_close_the_claim_for_a_while() {
    let hob = unclaimed();
    for wrong in ["AAAA-AAAA-AAAA", "", "x", "0000-0000-0000", "'; drop table"] {
        assert!(claim(&hob, wrong).refusal(401, "wrong_code").contains("console"));
    }
    assert!(claim(&hob, &code(&hob)).refusal(429, "too_many_tries").contains("try again"));
    // Tokens are counted apart, and whoever has a right one is never kept out by the guesses of others.
    let right = hob.token("mia", "member");
    let sign_in = |token: &str| hob.request("POST", "/api/v1/session").json(&json!({"token": token})).send();
    for n in 0..5 {
        sign_in(&format!("hob_{n}")).refusal(401, "unauthorized");
    }
    sign_in("hob_5").refusal(429, "too_many_tries");
    assert_eq!(sign_in(&right).data(200)["role"], "member");
}

#[test]
fn the_code_is_good_once_and_makes_an_owner() {
    let mut hob = unclaimed();
    let typed = code(&hob).to_lowercase().replace('-', " ");
    let mut owner = Visitor::new(&hob);
    assert_eq!(owner.claim(&json!({"code": typed})).data(200)["role"], "admin");
    let who = owner.get("/session").data(200);
    assert_eq!((&who["role"], &who["model"], &who["name"]), (&json!("admin"), &json!("reflex"), &json!("hob")));
    claim(&hob, &code(&hob)).refusal(409, "already_claimed");
    hob.request("GET", "/api/v1/tools").send().refusal(401, "unauthorized");

    // The person at the page and the command line are the same.
    hob.cli(&["chat", "remember that the claim was mine"]).ok();
    let answer = owner.send("POST", "/chat", json!({"message": "whose was the claim?"})).data(200);
    assert!(answer["response"].as_str().unwrap().contains("mine"));

    let links = hob.log().matches("/#claim=").count();
    hob.kill();
    hob.start_again();
    assert_eq!(hob.log().matches("/#claim=").count(), links, "a claimed device prints no link");
    let again = Visitor { cookies: owner.cookies.clone(), csrf: owner.csrf.clone(), ..Visitor::new(&hob) };
    again.get("/session").data(200);
    assert_eq!(again.send("DELETE", "/session", json!({})).data(200)["signedOut"], true);
    again.get("/session").refusal(401, "unauthorized");
}

#[test]
fn tokens_open_as_far_as_their_role() {
    let hob = Hob::start();
    let ask = |token: &str, method: &str, path: &str, body: Value| {
        hob.request(method, &format!("/api/v1{path}")).bearer(token).json(&body).send()
    };
    let made = hob.post("/api/v1/tokens", json!({"name": "mia", "role": "member"})).data(201);
    let (member, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let viewer = hob.token("vera", "viewer");
    for (token, role) in [(TOKEN, "admin"), (member, "member"), (viewer.as_str(), "viewer")] {
        assert_eq!(ask(token, "GET", "/session", json!({})).data(200)["role"], role);
    }
    for token in [member, &viewer] {
        for (method, path) in
            [("GET", "/tokens"), ("POST", "/tokens"), ("POST", "/backup"), ("DELETE", &format!("/tokens/{id}"))]
        {
            ask(token, method, path, json!({"name": "x"})).refusal(403, "denied");
        }
    }
    let note = json!({"arguments": {"content": "mine alone", "tags": ["t"]}});
    ask(member, "POST", "/tools/remember/execute", note.clone()).data(200);
    assert_eq!(ask(&viewer, "POST", "/tools/remember/execute", note).status, 403);
    assert!(hob.tagged("t").is_empty(), "what one person remembers is not told to another");
    // A second token of the same name is the same person.
    let again = hob.token("mia", "viewer");
    let listed = ask(&again, "POST", "/tools/list_memories/execute", json!({})).data(200);
    assert_eq!(listed["result"]["count"], 1, "{listed}");

    let shown = hob.get("/api/v1/tokens").data(200);
    assert!(shown["count"] == 3 && !shown.to_string().contains(member), "{shown}");
    // A token becomes a session of the page, with the same role.
    let mut page = Visitor::new(&hob);
    page.sign_in(&json!({"token": viewer})).data(200);
    let in_session = || page.get("/session");
    assert_eq!(in_session().data(200)["role"], "viewer");
    let vera = shown["tokens"].as_array().unwrap().iter().find(|t| t["name"] == "vera").unwrap();
    let path = format!("/api/v1/tokens/{}", vera["id"].as_str().unwrap());
    assert_eq!(hob.admin("DELETE", &path).send().data(200)["deleted"], true);
    // What the token opened closes with it.
    in_session().refusal(401, "unauthorized");
    assert_eq!(hob.admin("DELETE", &format!("/api/v1/tokens/{id}")).send().data(200)["deleted"], true);
    ask(member, "GET", "/session", json!({})).refusal(401, "unauthorized");
    hob.admin("DELETE", &format!("/api/v1/tokens/{id}")).send().refusal(404, "not_found");
    for wrong in ["hob_0000", "Bearer", ""] {
        hob.request("GET", "/api/v1/tools")
            .header("Authorization", &format!("Bearer {wrong}"))
            .send()
            .refusal(401, "unauthorized");
    }
    hob.request("GET", "/api/v1/tools").header("Cookie", "hob_session=0").send().refusal(401, "unauthorized");
}

#[test]
fn every_mistake_gets_the_same_envelope_and_a_sentence() {
    let hob = Hob::start();
    let calculate = "/api/v1/tools/calculate/execute";
    let post = |path: &str, text: &str| hob.admin("POST", path).text(text);
    let rows = [
        (post("/api/v1/chat", "{\"message\": "), 400, "bad_args", "EOF"),
        (post("/api/v1/chat", "\u{0}"), 400, "bad_args", "body"),
        (post("/api/v1/chat", "[]"), 400, "bad_args", "body"),
        (post("/api/v1/chat", "{}"), 400, "bad_args", "message"),
        (post("/api/v1/chat", "{\"message\": 7}"), 400, "bad_args", "must be a string"),
        (post("/api/v1/chat", "{\"message\": [{\"type\": \"image\"}]}"), 400, "bad_args", "POST /api/v1/files"),
        (post("/api/v1/chat", "{\"message\": \"hi\", \"mood\": 1}"), 400, "bad_args", "mood"),
        (post("/api/v1/chat", "{\"message\": \"hi\", \"conversationId\": \"7\"}"), 400, "bad_args", "is not an id"),
        (post("/api/v1/chat", "{\"message\": \"hi\", \"agentId\": \"cook\"}"), 404, "not_found", "general"),
        (hob.admin("POST", "/api/v1/chat").body(b"{}".to_vec()), 415, "not_json", "Content-Type: application/json"),
        (
            hob.admin("POST", "/api/v1/chat").header("Content-Type", "text/plain").body(b"{}".to_vec()),
            415,
            "not_json",
            "Content-Type",
        ),
        (post(calculate, "{\"arguments\": {\"expression\": {}}}"), 400, "bad_args", "It takes expression (string)"),
        (post(calculate, "{\"arguments\": {}}"), 400, "bad_args", "`expression` is missing"),
        (post(calculate, "{\"arguments\": [1]}"), 400, "bad_args", "must be a JSON object"),
        (post(calculate, "{\"args\": {}}"), 400, "bad_args", "args"),
        (post("/api/v1/tools/gpio_raed/execute", "{}"), 404, "not_found", "did you mean `gpio_read`"),
        (hob.admin("GET", "/api/v1/tools/zzzz"), 404, "not_found", "zzzz"),
        (hob.admin("GET", "/api/v1/nonsense"), 404, "not_found", "nothing at this address"),
        (hob.admin("GET", "/nonsense"), 404, "not_found", "nothing at this address"),
        (hob.admin("DELETE", "/api/v1/chat"), 405, "method_not_allowed", "method"),
        (hob.admin("PUT", "/"), 405, "method_not_allowed", "method"),
        (hob.admin("GET", "/api/v1/conversations/7"), 400, "bad_args", "is not an id"),
        (hob.admin("GET", "/api/v1/conversations/%ff"), 400, "bad_args", "not readable"),
        (hob.admin("GET", "/api/v1/tools/%ff"), 400, "bad_args", "not readable"),
        (hob.admin("GET", "/api/v1/conversations?limit=x"), 400, "bad_args", "`limit` cannot be `x`"),
        (
            hob.admin("GET", "/api/v1/conversations/0197f3a2-0000-7000-8000-000000000000"),
            404,
            "not_found",
            "conversation",
        ),
        (post("/api/v1/tokens", "{\"name\": \"x\", \"role\": \"boss\"}"), 400, "bad_args", "boss"),
        (hob.request("GET", "/api/v1/tools"), 401, "unauthorized", "Authorization: Bearer"),
        (hob.request("GET", "/api/v1/nonsense"), 401, "unauthorized", "Authorization: Bearer"),
    ];
    for (request, status, code, part) in rows {
        let why = request.send().refusal(status, code);
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(hob.result("calculate", json!({"expression": "1+1"}))["result"], 2);
}

#[test]
fn a_body_that_is_too_large_is_refused_with_a_sentence_on_every_route() {
    let mut hob = Hob::start();
    let large = format!("{{\"message\": \"{}\"}}", "x".repeat(10 << 20));
    for path in POSTS {
        let request = hob.admin("POST", &format!("/api/v1{path}")).text(&large);
        for request in [request.clone(), request.chunked()] {
            let why = request.send().refusal(413, "too_large");
            assert!(why.contains("send less at once"), "{path}: {why}");
        }
    }
    // Strangers hear that they are strangers, however much they say.
    hob.request("POST", "/api/v1/chat").text(&large).send().refusal(401, "unauthorized");
    hob.assert_alive();
}

/// A request that is valid HTTP and nonsense otherwise.
fn nonsense(hob: &Hob, dice: &mut Dice) -> Request {
    const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"];
    const PATHS: &[&str] = &[
        "/",
        "/healthz",
        "/api/v1",
        "/api/v1/",
        "/api/v1/events?after=x",
        "/api/v1/tools?query=%00",
        "/api/v1/tools/%2e%2e%2f",
        "/api/v1/conversations?limit=-1",
        "/api/v1/conversations/%F0%9F%99%82",
        "/api/v1/custom-tools?offset=99999999999999999999",
        "/api/v1/custom-tools/tool_zzzzzzzzzzzzzzzz",
        "/../../etc/passwd",
        "/assets/%00",
        "/api/v1/tools/remember/execute",
        "/api/v1/tools/recall/execute",
        "/api/v1/tools/gpio_write/execute",
        "/api/v1/tools/create_tool/execute",
        "//",
        "/%",
        "/api/v1/tools/convert_units/execute",
        "/api/v1/tools/get_current_datetime/execute",
        "/api/v1/tools/forget/execute",
    ];
    const BODIES: &[&str] = &[
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\"x\"",
        "1e999",
        "{\"arguments\":null}",
        "{\"arguments\":\"{\"}",
        "{\"message\":\"\\u0000\"}",
        "{\"message\":\"\\ud800\"}",
        "{\"arguments\":{\"pin\":1e308,\"high\":[]}}",
        "{\"arguments\":{\"query\":\"\"}}",
        "{\"arguments\":{\"content\":\"\\u0000\\uffff\"}}",
        "{\"arguments\":{\"memoryId\":\"../..\"}}",
        "{\"code\":null}",
        "{\"arguments\":{\"timezone\":\"../../etc/passwd\"}}",
        "{\"arguments\":{\"value\":1e308,\"from\":\"km\",\"to\":\"\\u202e\"}}",
        "{\"name\":\"a\",\"description\":\"b\",\"parameters\":{\"type\":\"object\",\"properties\":7},\"code\":\"}\"}",
        "\u{feff}{}",
    ];
    let pick = |dice: &mut Dice, all: &[&'static str]| all[dice.below(all.len() as u64) as usize];
    let path = match dice.below(2) {
        0 => pick(dice, PATHS).to_owned(),
        _ => format!("/api/v1{}", pick(dice, POSTS)),
    };
    let method = if dice.below(2) == 0 { "POST" } else { pick(dice, METHODS) };
    let mut request = hob.admin(method, &path);
    let body = match dice.below(4) {
        0 => (0..dice.below(200)).map(|_| dice.below(256) as u8).collect(),
        1 => format!("{}1{}", "[".repeat(2000), "]".repeat(2000)).into_bytes(),
        _ => pick(dice, BODIES).as_bytes().to_vec(),
    };
    if dice.below(8) > 0 {
        request = request.header("Content-Type", "application/json");
    }
    request.body(body)
}

#[test]
fn a_thousand_requests_of_garbage_break_nothing() {
    let mut hob = Hob::start();
    hob.say("remember that this survives");
    let mut dice = Dice::fresh();
    let seed = dice.0;
    println!("the dice begin at {seed}");
    for n in 0..700 {
        let request = nonsense(&hob, &mut dice);
        let status = request.send().status;
        assert!((200..500).contains(&status), "{status} to {request:?}, number {n} from {seed}");
    }
    for n in 0..300 {
        let mut bytes: Vec<u8> = (0..dice.below(400)).map(|_| dice.below(256) as u8).collect();
        let start: &[u8] = match dice.below(6) {
            0 => b"GET / HTTP/1.1\r\n",
            1 => b"POST /api/v1/chat HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            2 => b"POST /api/v1/chat HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            3 => b"GET /api/v1/tools HTTP/9.9\r\n\r\n",
            4 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            _ => b"",
        };
        bytes.splice(0..0, start.iter().copied());
        let answer = raw(hob.port, &bytes, Duration::from_secs(20));
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).unwrap_or("4");
        assert!(!text.starts_with("HTTP/1") || !status.starts_with('5'), "{text:?}, number {n} from {seed}");
    }
    let head = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(
        String::from_utf8_lossy(&raw(hob.port, head.as_bytes(), Duration::from_secs(20))).starts_with("HTTP/1.1 4")
    );
    hob.assert_alive();
    assert!(hob.say("what survives?")["response"].as_str().unwrap().contains("This survives"));
}
