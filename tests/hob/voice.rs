//! The voice door from outside: who may speak, and what cannot be done by speaking, whatever the sentence or the model tries.

use crate::{
    approvals::{autonomy, that_waits},
    harness::{Hob, Setup},
    http::PATIENCE,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

const VOICE: &str = "[wyoming]\nlisten = \"127.0.0.1:0\"\n";

/// A client of the protocol.
pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn of(hob: &Hob) -> Self {
        let voice = hob.get("/api/v1/voice").data(200);
        let stream = TcpStream::connect(voice["listensOn"].as_str().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The next event; `None` when the connection was closed.
    fn next(&mut self) -> Option<(String, Value)> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let header: Value = serde_json::from_str(&line).unwrap();
        let length = |key: &str| header[key].as_u64().unwrap_or(0) as usize;
        let (mut data, mut payload) = (vec![0; length("data_length")], vec![0; length("payload_length")]);
        self.0.read_exact(&mut data).unwrap();
        self.0.read_exact(&mut payload).unwrap();
        let data = if data.is_empty() { json!({}) } else { serde_json::from_slice(&data).unwrap() };
        Some((header["type"].as_str().unwrap().to_owned(), data))
    }

    fn tell(&mut self, kind: &str, data: Value, payload: &[u8]) {
        let data = data.to_string();
        let header = json!({"type": kind, "data_length": data.len(), "payload_length": payload.len()});
        self.send(&[format!("{header}\n{data}").as_bytes(), payload].concat());
    }

    fn ask(&mut self, kind: &str, data: Value) -> (String, Value) {
        self.tell(kind, data, &[]);
        self.next().unwrap()
    }

    /// Says a sentence: whether it was handled, and the answer.
    pub fn say(&mut self, text: &str) -> (bool, String) {
        let (kind, data) = self.ask("transcript", json!({"text": text, "context": {"conversation_id": "one"}}));
        assert!(["handled", "not-handled"].contains(&&*kind), "{kind}");
        (kind == "handled", data["text"].as_str().unwrap().to_owned())
    }
}

/// A server that hears "the boat is ready" in any sound, and speaks a tenth of a second of silence. Returns its address.
pub fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Ends with the process: nothing of it outlives the tests.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut client = Client(BufReader::new(stream));
                while let Some((kind, _)) = client.next() {
                    let model = json!({"name": "amy", "installed": true, "languages": ["en"]});
                    let program = json!([{"name": "x", "installed": true, "models": [model], "voices": [model]}]);
                    let form = json!({"rate": 16000, "width": 2, "channels": 1});
                    match kind.as_str() {
                        "describe" => client.tell("info", json!({"asr": program, "tts": program}), &[]),
                        "audio-stop" => client.tell("transcript", json!({"text": "the boat is ready"}), &[]),
                        "synthesize" => {
                            client.tell("audio-start", form.clone(), &[]);
                            client.tell("audio-chunk", form, &[0; 3200]);
                            client.tell("audio-stop", json!({}), &[]);
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    address
}

fn clients(hob: &Hob) -> Vec<Value> {
    hob.get("/api/v1/voice/clients").data(200)["clients"].as_array().unwrap().clone()
}

/// A daemon that can be spoken to, with these further settings.
pub fn with_voice(config: &str) -> Hob {
    Hob::with(Setup { config: format!("{config}\n{VOICE}"), ..Setup::default() })
}

#[test]
fn an_address_speaks_once_a_person_approved_it() {
    let mut hob = with_voice("");
    let mut voice = Client::of(&hob);
    let (kind, info) = voice.ask("describe", json!({}));
    assert_eq!((kind.as_str(), &info["handle"][0]["installed"]), ("info", &json!(true)));
    assert_eq!(voice.ask("ping", json!({"text": "x"})), ("pong".into(), json!({"text": "x"})));
    assert_eq!(clients(&hob), [] as [Value; 0], "anybody may ask what this is");

    let asked = "what is 6 times 7";
    let (handled, told) = voice.say(asked);
    assert!(!handled && told.contains("Approve it"), "{told}");
    let waiting = clients(&hob);
    assert_eq!((&waiting[0]["address"], &waiting[0]["status"]), (&json!("127.0.0.1"), &json!("pending")));
    assert!(hob.cli(&["voice"]).ok().contains("waits"));
    assert!(!voice.say(asked).0 && clients(&hob).len() == 1);

    // Members cannot let somebody in.
    let member = hob.token("mia", "member");
    let path = "/api/v1/voice/clients/127.0.0.1";
    let approval = json!({"status": "approved"});
    assert_eq!(hob.request("PUT", path).bearer(&member).json(&approval).send().status, 403);
    assert_eq!(hob.request("PUT", path).json(&approval).send().status, 401);
    assert!(!voice.say(asked).0);

    hob.cli(&["voice", "approve", "127.0.0.1", "--name", "Kitchen speaker"]).ok();
    let (handled, told) = voice.say(asked);
    assert!(handled && told.contains("42"), "{told}");
    assert_eq!(clients(&hob)[0]["name"], "Kitchen speaker");
    // It is no conversation of the owner's.
    assert_eq!(hob.get("/api/v1/conversations").data(200)["count"], 0);

    hob.admin("PUT", path).json(&json!({"status": "denied"})).send().data(200);
    assert_eq!(voice.say(asked), (false, "This device may not speak to Hob.".into()));
    hob.cli(&["voice", "remove", "127.0.0.1"]).ok();
    assert!(!voice.say(asked).0);
    assert_eq!(clients(&hob)[0]["status"], "pending");
    // A decision survives a restart.
    hob.admin("PUT", path).json(&approval).send().data(200);
    hob.kill();
    hob.start_again();
    assert!(Client::of(&hob).say(asked).0);
}

#[test]
fn what_is_said_is_the_households() {
    let hob = with_voice("");
    hob.admin("PUT", "/api/v1/voice/clients/127.0.0.1").json(&json!({"status": "approved"})).send().data(200);
    hob.result("add_note", json!({"title": "Diary", "content": "nobody else may read this"}));
    hob.result("add_note", json!({"title": "Wi-Fi for guests", "content": "ask Anna", "shared": true}));
    let mut voice = Client::of(&hob);
    let (_, told) = voice.say("list my notes");
    assert!(told.contains("Wi-Fi") && !told.contains("Diary"), "{told}");
    // A task by voice is seen and completed by everybody.
    let (handled, told) = voice.say("add buy stamps to my tasks");
    assert!(handled, "{told}");
    let tasks = hob.result("list_tasks", json!({}));
    assert!(tasks.to_string().contains("buy stamps"), "{tasks}");
    hob.result("complete_task", json!({"taskId": "buy stamps"}));
    // What cannot be done by voice is said, and not done.
    let before = hob.result("gpio_list", json!({}));
    hob.result("name_pin", json!({"pin": 17, "name": "front door"}));
    let (_, told) = voice.say("turn on pin 4");
    assert!(told.contains("by voice"), "{told}");
    assert_eq!(hob.result("gpio_read", json!({"pin": 4}))["high"], false, "{before}");
}

#[test]
fn named_pins_are_switched_by_voice_and_doors_are_not() {
    let hob = with_voice("");
    hob.admin("PUT", "/api/v1/voice/clients/127.0.0.1").json(&json!({"status": "approved"})).send().data(200);
    hob.result("name_pin", json!({"pin": 17, "name": "hall lamp"}));
    hob.result("name_pin", json!({"pin": 22, "name": "garage door"}));
    let high = |pin: u8| hob.result("gpio_read", json!({"pin": pin}))["high"].clone();
    let mut voice = Client::of(&hob);
    for (text, on) in [("turn on the hall lamp", true), ("turn the hall lamp off", false)] {
        let (handled, told) = voice.say(text);
        assert!(handled && high(17) == on, "{text}: {told}");
    }
    for text in ["is the garage door on", "turn on the garage door", "turn on pin 22"] {
        let (_, told) = voice.say(text);
        assert!(told.contains("by voice") && high(22) == false, "{text}: {told}");
    }
}

#[test]
fn a_hijacked_model_can_do_nothing_more_by_voice() {
    let (mut hob, server) = that_waits(1, VOICE);
    autonomy(&hob, "full");
    hob.admin("PUT", "/api/v1/voice/clients/127.0.0.1").json(&json!({"status": "approved"})).send().data(200);
    hob.result("add_note", json!({"title": "Alarm", "content": "the code of the alarm is 4711-private"}));
    let draft = json!({"name": "go_between", "description": "For a test.", "parameters": {"type": "object",
        "properties": {}, "additionalProperties": true}, "permissions": [],
        "code": "return await utils.callTool(args.tool, args.args);"});
    hob.post("/api/v1/custom-tools", draft).data(201);
    let tools: Vec<Value> = serde_json::from_str(&hob.cli(&["tools", "--json"]).ok()).unwrap();
    let risk = |tool: &Value| tool["risk"].as_str().unwrap().to_owned();
    let names: Vec<(String, String)> =
        tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), risk(tool))).collect();
    let mut voice = Client::of(&hob);
    let state = |hob: &Hob| {
        json!([
            hob.result("gpio_list", json!({})),
            hob.get("/api/v1/policy").data(200),
            hob.get("/api/v1/tool-groups").data(200),
            hob.get("/api/v1/config-services").data(200),
            hob.result("list_notes", json!({})),
            hob.result("list_scheduled_tasks", json!({})),
            hob.result("list_triggers", json!({}))
        ])
    };
    let before = state(&hob);
    let mut tried = 0;
    for (name, risk) in &names {
        let args = match name.as_str() {
            "gpio_write" => json!({"pin": 17, "high": true}),
            "go_between" => json!({"tool": "gpio_write", "args": {"pin": 17, "high": true}}),
            "get_note" | "update_note" | "delete_note" => json!({"noteId": "Alarm", "content": "x"}),
            _ => json!({}),
        };
        let dangerous = ["actuate", "send", "execute", "destroy", "admin"].contains(&risk.as_str());
        if !dangerous && !["get_note", "update_note", "answer_question", "search_everything"].contains(&&**name) {
            continue;
        }
        tried += 1;
        let through = json!({"tool_name": name, "arguments": args});
        let batch = json!({"calls": [{"tool": name, "args": args}]});
        server.script(vec![
            calls(&[(name, args.clone()), ("use_tool", through), ("batch_use_tool", batch)]),
            says("tried"),
        ]);
        let (handled, told) = voice.say("what time is it");
        // The answer is spoken for the model's words; nothing waits for anybody.
        assert!(handled && told == "tried", "{name}: {told}");
        let results: Vec<Value> = server.asked().last().unwrap().messages("tool");
        assert!(results.len() >= 2, "{name}: {results:?}");
        for result in &results {
            assert!(!result.to_string().contains("4711-private"), "{name}: {result}");
        }
    }
    assert!(tried > 20, "{tried}");
    assert_eq!(state(&hob), before);
    let waiting = hob.get("/api/v1/approvals?state=pending").data(200);
    assert_eq!(waiting["count"], 0, "nobody is asked for what was said in a room");
    hob.assert_alive();
}

#[test]
fn bad_input_ends_a_connection_and_nothing_else() {
    let mut hob = with_voice("");
    let long = [b"{\"type\":\"".to_vec(), vec![b'x'; 40_000], b"\"}\n".to_vec()].concat();
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"{\"type\":\"transcript\",\"payload_length\":18446744073709551615}\n",
        b"{\"type\":\"transcript\",\"data_length\":99999999}\n",
        b"\xff\xfe\x00\n",
        &long,
    ] {
        let mut voice = Client::of(&hob);
        let _ = voice.0.get_mut().write_all(bytes);
        assert!(voice.next().is_none_or(|(kind, _)| kind == "error"));
        assert!(voice.next().is_none(), "the connection is over");
    }
    // Audio is read and dropped; more than a few connections of one address are closed.
    let mut voice = Client::of(&hob);
    voice
        .send(b"{\"type\":\"audio-chunk\",\"payload_length\":3}\nabc{\"type\":\"transcript\",\"data\":{\"text\":5}}\n");
    assert_eq!(voice.next().unwrap().0, "not-handled");
    let mut crowd: Vec<Client> = (0..12).map(|_| Client::of(&hob)).collect();
    let answered = crowd.iter_mut().filter_map(|client| {
        let _ = client.0.get_mut().write_all(b"{\"type\":\"ping\"}\n");
        client.next()
    });
    assert_eq!(answered.count(), 7, "eight with the one that is open");
    drop((crowd, voice));
    hob.assert_alive();
}

#[test]
fn without_a_voice_door_nothing_listens() {
    let hob = Hob::start();
    assert_eq!(hob.get("/api/v1/voice").data(200)["listensOn"], Value::Null);
    assert!(hob.cli(&["voice"]).ok().contains("Hob hears nobody"));
    let error = hob.cli(&["voice", "approve", "kitchen"]).why(1);
    assert!(error.contains("no IP address"), "{error}");
}
