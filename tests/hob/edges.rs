//! Regressions: each of these broke something once.

use crate::{
    harness::{Folder, Hob, Setup, TOKEN, binary, hob, until},
    http::Request,
    model::with_model,
    model_server::{Answer, calls, says},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The whole first request, as a model sees it. After a change on purpose: `UPDATE_GOLDEN=1 make test`, and look at the diff.
#[test]
fn the_first_request_is_golden() {
    let (hob, server) = with_model("");
    server.script(vec![says("pong")]);
    hob.say("ping");
    let mut body = server.asked()[0].body.clone();
    let system = body["messages"][0]["content"].as_str().unwrap();
    let (before, time) = system.rsplit_once("It is ").unwrap();
    assert!(time.contains(" 20") && time.ends_with('.'), "{time}");
    body["messages"][0]["content"] = format!("{before}It is NOW.").into();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ping.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, format!("{body:#}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&fs::read_to_string(file).unwrap_or_default()).unwrap_or_default();
    assert_eq!(body, kept);
}

#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let folder = Folder::new();
    let mut daemon = Command::new(binary())
        .env_clear()
        .env("HOB_TOKEN", TOKEN)
        .args(["serve", "--board", "sim", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path("data"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    // Both of its outputs have no reader from here on.
    drop(daemon.stderr.take());
    for _ in 0..3 {
        let post =
            |path: &str, body: &Value| Request::new(port, "POST", path).bearer(TOKEN).json(body).send().data(200);
        assert!(
            post("/api/v1/chat", &json!({"message": "what is 6 * 7?"}))["response"].as_str().unwrap().contains("42")
        );
        post("/api/v1/tools/gpio_write/execute", &json!({"arguments": {"pin": 3, "high": true}}));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(daemon.id() as i32).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let mut code = None;
    until("it stops when told", || {
        code = daemon.try_wait().unwrap();
        code.is_some()
    });
    assert!(code.unwrap().success());
}

#[test]
fn a_refusal_before_the_body_came_says_that_the_connection_ends() {
    let hob = Hob::start();
    let ask = |head: &str| {
        let mut socket = TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(format!("{head}\r\nHost: 127.0.0.1:{}\r\n\r\n", hob.port).as_bytes()).unwrap();
        let (mut seen, mut piece) = (vec![], [0; 4096]);
        while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = socket.read(&mut piece).unwrap();
            assert_ne!(read, 0, "an answer: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&piece[..read]);
        }
        String::from_utf8(seen).unwrap().to_lowercase()
    };
    // Its body is on the way.
    let refused = ask("POST /api/v1/tokens HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 12");
    assert!(refused.starts_with("http/1.1 401") && refused.contains("\r\nconnection: close\r\n"), "{refused}");
    let refused = ask("GET /api/v1/tokens HTTP/1.1");
    assert!(refused.starts_with("http/1.1 401") && !refused.contains("connection: close"), "{refused}");
}

#[test]
fn silent_strangers_do_not_keep_the_owner_out() {
    let mut hob = Hob::start();
    let connect = || TcpStream::connect(("127.0.0.1", hob.port)).unwrap();
    // More than the door takes in; some say half of something.
    let mut crowd: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
    for stranger in crowd.iter_mut().step_by(7) {
        let _ = stranger.write_all(b"POST /api/v1/claim HTTP/1.1\r\nhost: x\r\ncontent-le");
    }
    assert!(hob.cli(&["chat", "what is 6 * 7?"]).ok().contains("42"), "the command line has a door of its own");
    // They lose their places for their silence, without leaving.
    until("there is room again", || hob.request("GET", "/healthz").try_send().is_ok_and(|reply| reply.status == 200));
    drop(crowd);
    assert_eq!(hob.stop(), Some(0));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new();
    let data = folder.path("data");
    let shell = format!("{} --data {} tools | head -1", binary().display(), data.display());
    let ran = Command::new("bash").args(["-o", "pipefail", "-c", &shell]).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(hob(&data, &["tools", "calculate"]).ok().starts_with("calculate"));
}

#[test]
fn what_a_token_opened_closes_with_it_and_the_person_stays() {
    let hob = Hob::start();
    let ask = |token: &str, text: &str| {
        let body = json!({"message": text});
        Request::new(hob.port, "POST", "/api/v1/chat").bearer(token).json(&body).send().data(200)["response"]
            .to_string()
    };
    let make = |name: &str| {
        hob.admin("POST", "/api/v1/tokens").json(&json!({"name": name, "role": "member"})).send().data(201)
    };
    let first = make("ben");
    let token = first["token"].as_str().unwrap();
    ask(token, "remember that my bike lock opens with 1234");
    let session = hob.request("POST", "/api/v1/session").json(&json!({"token": token})).send();
    let cookie = session.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let who = |status| {
        hob.request("GET", "/api/v1/session").header("Cookie", &cookie).send().json()["success"] == json!(status)
    };
    assert!(who(true));
    let session = hob.request("GET", "/api/v1/session").header("Cookie", &cookie).send().data(200);
    assert_eq!((&session["person"], &session["role"]), (&json!("ben"), &json!("member")));
    hob.admin("DELETE", &format!("/api/v1/tokens/{}", first["id"].as_str().unwrap())).send().data(200);
    assert!(who(false), "the session went with its token");

    let again = make("Ben");
    assert_eq!(again["user"], first["user"]);
    assert!(ask(again["token"].as_str().unwrap(), "what opens my bike lock?").contains("1234"));
    hob.admin("POST", "/api/v1/tokens")
        .json(&json!({"name": "Owner", "role": "viewer"}))
        .send()
        .refusal(400, "bad_args");
}

#[test]
fn an_answer_without_end_is_ended() {
    let (hob, server) = with_model("");
    server.script(vec![Answer::Says(vec!["x".repeat(100_000); 30]), says("short again")]);
    let why = hob.post("/api/v1/chat", json!({"message": "tell me everything"})).refusal(424, "model");
    assert!(why.contains("longer than 1 MB") && why.contains("ask for less"), "{why}");
    assert_eq!(hob.say("and now?")["response"], "short again");
}

#[test]
fn a_choice_of_tools_is_kept_by_hob_and_not_only_asked_of_the_model() {
    let (hob, server) = with_model("");
    server.script(vec![calls(&[("gpio_write", json!({"pin": 17, "high": true}))]), says("I only talk")]);
    let answer = hob.post("/api/v1/chat", json!({"message": "just talk", "toolChoice": "none"})).data(200);
    assert_eq!((&answer["response"], &answer["toolCalls"][0]["isError"]), (&json!("I only talk"), &json!(true)));
    assert_eq!(hob.result("gpio_read", json!({"pin": 17}))["high"], false);

    let unknown = json!({"message": "hi", "toolChoice": {"name": "nope"}});
    assert!(hob.post("/api/v1/chat", unknown).refusal(400, "bad_args").contains("no such tool"));
    server.script(vec![says("fine")]);
    hob.post("/api/v1/chat", json!({"message": "hi", "toolChoice": {"name": "system_info"}})).data(200);
    assert!(
        server.asked().last().unwrap().tools().contains(&"system_info".to_owned()),
        "a hidden tool is shown when named"
    );
}

#[test]
fn a_conversation_goes_on_after_a_failure_with_turns_taken() {
    let (hob, server) = with_model("[model]\nretries = 0\n");
    server.script(vec![says("first"), Answer::Status(401, String::new(), "{}".into()), says("third")]);
    let first = hob.say("one");
    let on = |text: &str| json!({"message": text, "conversationId": first["conversationId"]});
    hob.post("/api/v1/chat", on("two")).refusal(424, "model");
    hob.post("/api/v1/chat", on("three")).data(200);
    let asked = server.asked();
    let roles: Vec<String> = asked.last().unwrap().body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "user"]);
}

#[test]
fn tools_that_call_tools_do_not_wait_for_one_another() {
    let hob = Hob::start();
    let make = |name: &str, code: &str| {
        let parameters = json!({"type": "object", "properties": {}});
        let draft = json!({"name": name, "description": "d", "parameters": parameters, "code": code});
        hob.post("/api/v1/custom-tools", draft).data(201);
    };
    make("one", "return 1");
    make("wrap", "return await utils.callTool('one', {})");
    make(
        "many",
        "return (await Promise.allSettled(Array.from({length: 40}, () => utils.callTool('many', {})))).length",
    );
    thread::scope(|scope| {
        let all: Vec<_> = (0..32).map(|_| scope.spawn(|| hob.call("wrap", json!({})))).collect();
        for reply in all {
            let reply = reply.join().unwrap();
            // Done, or told at once that there is no room: never the 30 s of two that wait for one another.
            if reply.status != 200 {
                assert!(reply.refusal(422, "failed").contains("too many tools run at once"));
            }
        }
    });
    assert_eq!(hob.result("many", json!({})), 40);
    assert_eq!(hob.result("one", json!({})), 1);
}

#[test]
fn a_key_does_not_come_back() {
    let (_model, server) = with_model("");
    let url = server.url();
    let host = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let config =
        format!("[http]\nallow = [\"{host}\"]\n[services.echo]\napi_key = \"REALKEY-abc\"\nbase_url = \"{url}\"\n");
    let hob = Hob::with(Setup { config, ..Setup::default() });
    server.always(says("you sent REALKEY-abc"));
    let code = format!(
        "const key = utils.getApiKey('echo'); const r = await fetch('{url}/chat/completions', {{method: 'POST', \
         headers: {{'content-type': 'application/json', 'x-key': key}}, body: JSON.stringify({{model: 'm', messages: []}})}}); \
         return [key, r.url, await r.text(), r.status]"
    );
    let draft = json!({"name": "echo", "description": "d", "parameters": {"type": "object", "properties": {}},
                       "code": code, "permissions": ["network"], "testArguments": {}});
    let told = hob.post("/api/v1/custom-tools/test", draft).data(200);
    assert_eq!((&told["isError"], &told["result"][3]), (&json!(false), &json!(200)), "{told}");
    assert!(!told.to_string().contains("REALKEY"), "{told}");
    assert!(
        server.asked().last().is_some_and(|asked| asked.head.contains("x-key: REALKEY-abc")),
        "the server did get it"
    );
}
