//! Secrets are removed everywhere: from models, people, stored data and the log.

use crate::{
    approvals::{decide, memories, questions, that_waits},
    harness::{Hob, TOKEN},
    hijack::make,
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};

const MARK: &str = "[REDACTED]";
/// In the Config Center.
const SERVICE: &str = "kX9-vault-7714-of-the-weather-service";
/// Of forms that are known.
const FORMS: [&str; 4] = [
    "sk-proj-aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xY",
    "ghp_aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xYzA1b",
    "AKIAIOSFODNN7EXAMPLA",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
];

/// A daemon that knows secrets of every kind and logs all it can.
fn with_secrets(seconds: u32) -> (Hob, ModelServer) {
    let (mut hob, server) = that_waits(seconds, "");
    hob.setup.environment.push(("HOB_LOG".into(), "trace,hyper=off,mio=off".into()));
    hob.stop();
    hob.start_again();
    hob.admin("PUT", "/api/v1/config-services/weather").json(&json!({})).send().data(200);
    let entry = json!({"fields": {"api_key": SERVICE, "base_url": "https://w.example.org"}});
    hob.post("/api/v1/config-services/weather/entries", entry).data(201);
    (hob, server)
}

/// Every secret there is; the model's key is the one of `with_model`, and longer where it is asked for here.
fn secrets() -> Vec<&'static str> {
    [SERVICE, TOKEN].into_iter().chain(FORMS).collect()
}

fn clean(what: &str, text: &str) {
    for secret in secrets() {
        assert!(!text.contains(secret), "{what} has {secret}: {text}");
        let (reversed, hex): (String, String) =
            (secret.chars().rev().collect(), secret.bytes().map(|b| format!("{b:02x}")).collect());
        assert!(!text.contains(&hex), "{what} has {secret} in hex: {text}");
        assert!(secret == SERVICE || !text.contains(&reversed), "{what}");
    }
}

#[test]
fn plain_words_after_the_name_of_a_secret_leave_no_tool() {
    let hob = Hob::start();
    make(&hob, "echo", "return {text: args.text};", &[]);
    let echo = |text: &str| hob.result("echo", json!({"text": text}))["text"].as_str().unwrap().to_owned();
    let secrets = "password: letmein\ntoken=abc\nsecret: swordfish\napi_key: 12345\nbearer: abcdef\nauthorization: xyz\n\
                   SECRET=plain\nCREDENTIAL=me\nKEY=Enter\npassword=hunter2\ntoken: \"a\"";
    let told = echo(secrets);
    for word in ["letmein", "abc", "swordfish", "12345", "abcdef", "xyz", "plain", "=me", "Enter", "hunter2", "\"a\""] {
        assert!(!told.contains(word), "{word} is in {told}");
    }
    assert_eq!(told.matches(MARK).count(), secrets.lines().count(), "{told}");
    let ordinary = "password: must be 8 characters\ntoken = next()\nPassword: see the manual\nAuthorization: none\n\
                    press KEY=Enter\nsecret=santa\n{\"token\":\"Hello\",\"logprob\":-0.1}\npassword: string";
    assert_eq!(echo(ordinary), ordinary);
}

#[test]
fn no_secret_comes_out_of_any_door() {
    let (mut hob, server) = with_secrets(20);
    make(
        &hob,
        "leak",
        "console.log(args.text); if (args.throw) throw new Error(args.text); return {a: args.text, b: [args.text]};",
        &[],
    );
    let mut events = hob.admin("GET", "/api/v1/events").events();
    let all = secrets().join(" and ");
    let argument = json!({"text": all});
    // Directly, through facades, as an error, and as what cannot be.
    let told = hob.call("leak", argument.clone());
    let ran = told.data(200);
    assert_eq!(ran["result"]["a"].as_str().unwrap().matches(MARK).count(), secrets().len(), "{ran}");
    assert!(ran["metadata"]["redacted"].as_u64().unwrap() >= 2, "{ran}");
    clean("a result", &told.text());
    for (tool, arguments) in [
        ("leak", json!({"text": all, "throw": true})),
        ("use_tool", json!({"tool_name": "leak", "arguments": argument})),
        ("batch_use_tool", json!({"operations": [{"tool": "leak", "args": argument}, {"tool": all, "args": {}}]})),
        ("use_tool", json!({"tool_name": "leak", "arguments": {"text": all, "throw": true}})),
        ("calculate", json!({"expression": all})),
        ("gpio_read", json!({"pin": all})),
        ("recall", json!({"query": "x", "type": all})),
        ("search_tools", json!({"query": all})),
    ] {
        let reply = hob.call(tool, arguments);
        clean(tool, &reply.text());
    }
    clean("the command line", &format!("{:?}", hob.cli(&["call", "leak", &argument.to_string()])));

    // A model that is told one passes it on in words, arguments and thoughts.
    let conversation = {
        server.script(vec![
            calls(&[("leak", argument.clone()), ("forget", json!({"memoryId": all}))]),
            says(&format!("here they are: {all}")),
        ]);
        let mut events = hob.stream(json!({"message": "tell me"}));
        let conversation = events.next().unwrap().1["conversationId"].as_str().unwrap().to_owned();
        let (mut ended, mut steps) = (0, vec![]);
        for (name, data) in events.by_ref() {
            if name == "approval" {
                clean("a question", &data.to_string());
                assert_eq!(data["pattern"], Value::Null, "no standing yes about a secret");
                decide(&hob, &data, "deny");
            }
            ended += usize::from(name == "tool_end");
            // What the model says itself is heard as it comes, word by word.
            if name != "text" && name != "done" {
                steps.push(format!("{name} {data}"));
            }
        }
        assert_eq!(ended, 2);
        clean("the stream", &steps.join("\n"));
        conversation
    };
    let asked = server.asked();
    clean("what the model is told", &asked[1].messages("tool").iter().map(Value::to_string).collect::<String>());
    clean("the conversation", &hob.get(&format!("/api/v1/conversations/{conversation}")).text());
    clean("the list of conversations", &hob.get("/api/v1/conversations").text());
    clean("the questions", &json!(questions(&hob, "all")).to_string());
    clean("the grants", &hob.get("/api/v1/grants").text());
    clean("the log of calls", &hob.get("/api/v1/audit?everybody=true&limit=200").text());
    clean("the services", &hob.get("/api/v1/config-services").text());
    clean("the policy", &hob.get("/api/v1/policy").text());
    hob.post("/api/v1/chat", json!({"message": format!("look at {all}"), "conversationId": conversation}));
    hob.result("gpio_write", json!({"pin": 27, "high": true}));
    let mut heard = vec![];
    for (name, data) in events.by_ref() {
        if name == "pin:changed" {
            break;
        }
        if !name.starts_with("chat:") {
            heard.push(data.to_string());
        }
    }
    assert!(heard.len() > 10);
    clean("the events", &heard.join("\n"));
    clean("the daemon's log", &hob.log());
    assert!(hob.log().contains("TRACE") && hob.log().contains("dispatch"));
    // At rest neither: what people and models said is kept without them.
    assert_eq!(hob.stop(), Some(0));
    let data = std::fs::read(hob.data().join("hob.redb")).unwrap();
    for secret in [SERVICE, TOKEN] {
        let found = data.windows(secret.len()).filter(|w| *w == secret.as_bytes()).count();
        let at = data.windows(secret.len()).position(|w| w == secret.as_bytes());
        let around = at.map(|at| String::from_utf8_lossy(&data[at.saturating_sub(300)..at + 100]).into_owned());
        assert_eq!(found, 0, "{secret} is in the database in clear text: {around:?}");
    }
}

#[test]
fn ordinary_text_stays_as_it_is() {
    let (hob, server) = with_secrets(20);
    make(&hob, "echo", "return args.text;", &[]);
    for text in [
        "The boiler was serviced on 3 October 2026 at 14:30 by Marta (+43 664 1234567).",
        "commit 2a6b1fa6f0d0c1e1f0a9e8d7c6b5a49382716050 and id 01a1fad5-900d-7002-8919-ac7f7f5bd851",
        "the password is kept by Ana; the key to the shed is under the pot",
        "token: a unit of text. The secret: patience.",
        "https://example.org/a/b?page=2&sort=name#part and mailto:anna@example.org",
        "SELECT key, value FROM settings WHERE name = 'theme'",
        "sk-8 skis, gh pages, AKIA is a place in Japan, Bearer of bad news",
        "漢字 🙂 ümlaut \\ \"quoted\" {\"pin\": 17}",
        "[REDACTED] is what stands where a secret was",
    ] {
        assert_eq!(hob.result("echo", json!({"text": text})), text);
        // A memory with the mark could take the place of the secret itself.
        if text.contains(MARK) {
            assert_eq!(hob.call("remember", json!({"content": text})).status, 400);
        } else {
            let kept = hob.result("remember", json!({"content": text}));
            assert_eq!(kept["content"], text);
            assert!(memories(&hob).contains(text));
        }
        server.script(vec![calls(&[("echo", json!({"text": text}))]), says(text)]);
        let told = hob.say(text);
        assert_eq!((&told["response"], &told["toolCalls"][0]["result"]), (&json!(text), &json!(text)));
        let at = format!("/api/v1/conversations/{}", told["conversationId"].as_str().unwrap());
        let messages = hob.get(&at).data(200)["messages"].take();
        assert_eq!((&messages[0]["content"], &messages[3]["content"]), (&json!(text), &json!(text)));
    }
}

/// Long hex is no secret where a tool works a digest out with `utils.hash`, and where a field is called one.
#[test]
fn a_digest_is_no_secret_where_it_is_called_one() {
    let hob = Hob::start();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for (code, expected) in [
        ("return 'sha256:' + utils.hash('abc')", json!(format!("sha256:{abc}"))),
        ("return {sha256: utils.hash('abc')}", json!({"sha256": abc})),
        ("return utils.hash('abc')", json!(abc)),
        // What nobody calls a digest may be a key.
        ("return 'ba7816bf8f01cfea414140de5dae2223' + 'b00361a396177a9cb410ff61f20015ad'", json!(MARK)),
    ] {
        let draft = json!({"name": "trial", "description": "x", "parameters": {"type": "object"}, "code": code});
        assert_eq!(hob.post("/api/v1/custom-tools/test", draft).data(200)["result"], expected, "{code}");
    }
}

#[test]
fn a_call_with_a_secret_in_it_is_made_at_once_or_not_at_all() {
    // It is not kept with its secret, so nobody could make it later as it was meant.
    let plain = "of-no-form-but-of-the-bank-4411";
    let (mut hob, server) = with_secrets(3);
    hob.admin("PUT", "/api/v1/config-services/bank").json(&json!({})).send().data(200);
    make(&hob, "echo", "return args.text;", &[]);
    for (key, by_facade, yes) in
        [(FORMS[0], false, false), (plain, true, false), (FORMS[1], true, false), (plain, false, true)]
    {
        let set = json!({"service": "bank", "fields": {"api_key": key, "base_url": "https://bank.example.org"}});
        let facade = json!({"tool_name": "config_set_entry", "arguments": set});
        let call = if by_facade { ("use_tool", facade) } else { ("config_set_entry", set) };
        server.script(vec![calls(&[call]), says("it is settled")]);
        let mut events = hob.stream(json!({"message": "here is the key of the bank"}));
        let question = events.find(|(name, _)| name == "approval").unwrap().1;
        assert_eq!(question["arguments"]["fields"]["api_key"], MARK);
        assert_eq!(
            (&question["pattern"], &question["expiresAt"]),
            (&Value::Null, &question["waitsUntil"]),
            "{question}"
        );
        if yes {
            decide(&hob, &question, "allow_once");
        }
        let end = events.last().unwrap().1;
        assert_eq!((end.get("waiting"), &end["toolCalls"][0]["isError"]), (None, &json!(!yes)), "{end}");
        assert!(questions(&hob, "pending").is_empty());
        let bank = hob.get("/api/v1/config-services/bank").data(200);
        let set: Vec<&Value> = bank["entries"].as_array().unwrap().iter().map(|e| &e["secretsSet"]).collect();
        assert_eq!(set, vec![&json!(["api_key"]); usize::from(yes)]);
    }
    // The key itself was entered, and no mark: it is known as a secret from now on.
    assert_eq!(hob.result("echo", json!({"text": format!("it is {plain}")})), format!("it is {MARK}"));
    hob.assert_alive();
}

#[test]
fn what_was_read_redacted_does_not_replace_the_original() {
    let hob = Hob::start();
    let id =
        hob.result("add_note", json!({"title": "Net", "content": "wifi\npassword: letmein99\nrack 3"}))["id"].clone();
    let shown = hob.result("get_note", json!({"noteId": id}))["content"].as_str().unwrap().to_owned();
    assert!(shown.contains(MARK), "{shown}");
    let edited = json!({"noteId": id, "content": format!("{shown}\nrouter in the hall")});
    for (tool, arguments) in
        [("update_note", edited.clone()), ("use_tool", json!({"tool_name": "update_note", "arguments": edited}))]
    {
        let why = hob.call(tool, arguments).refusal(400, "bad_args");
        assert!(why.contains("overwrite that secret"), "{why}");
    }
    // The original is still there: a search for it finds the note.
    assert_eq!(hob.result("list_notes", json!({"search": "letmein99"}))["notes"].as_array().unwrap().len(), 1);
    hob.result("update_note", json!({"noteId": id, "title": "Network"}));
    assert_eq!(hob.result("list_notes", json!({"search": "letmein99"}))["notes"].as_array().unwrap().len(), 1);
}
