//! The tools against a scripted server.

use super::*;
use crate::voice::family;
use serde_json::{Map, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::Store;
use tokio::net::TcpListener;
use tool::{Channel, Id, Output, Ports, Principal, SystemClock, Via};
use uploads::Uploads;
use wyoming::{Event, EventReader, Format, Limits, write};

/// A server that hears "turn on the lamp" and speaks a tenth of a second.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (reader, mut writer) = tokio::io::split(stream);
                let mut reader = EventReader::new(reader, Limits::CLIENT);
                while let Ok(Some(event)) = reader.read().await {
                    let model = json!({"name": "amy", "installed": true, "languages": ["en"]});
                    let program = json!([{"name": "x", "installed": true, "models": [model], "voices": [model]}]);
                    let form = json!({"rate": 22050, "width": 2, "channels": 1});
                    let answers = match event.kind.as_str() {
                        "describe" => vec![Event::new("info", json!({"asr": program, "tts": program}))],
                        "audio-stop" => vec![Event::new("transcript", json!({"text": "turn on the lamp"}))],
                        "synthesize" => vec![
                            Event::new("audio-start", form.clone()),
                            Event { payload: vec![1; 4410], ..Event::new("audio-chunk", form) },
                            Event::new("audio-stop", json!({})),
                        ],
                        _ => vec![],
                    };
                    for answer in answers {
                        write(&mut writer, &answer).await.unwrap();
                    }
                }
            });
        }
    });
    address
}

struct Configured(Vec<String>);

impl Settings for Configured {
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
        let entry = |address: &String| Map::from_iter([("address".to_owned(), Value::from(address.clone()))]);
        if service == SERVICE { self.0.iter().map(|a| (a.clone(), entry(a))).collect() } else { vec![] }
    }
}

fn cx(configured: &[String]) -> Cx {
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.settings = Arc::new(Configured(configured.to_vec()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Page))
}

/// Finds `addresses`, and counts how often it was asked.
fn finder(addresses: Vec<SocketAddr>) -> (VoiceServers, Arc<AtomicUsize>) {
    let looks = Arc::new(AtomicUsize::new(0));
    let counted = looks.clone();
    let find: Finder = Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let addresses = addresses.clone();
        Box::pin(async move { addresses })
    });
    (VoiceServers::new(find), looks)
}

struct House {
    servers: VoiceServers,
    uploads: Uploads,
    cx: Cx,
    folder: std::path::PathBuf,
}

impl House {
    fn new(servers: VoiceServers, configured: &[String]) -> Self {
        let folder = std::env::temp_dir().join(format!("hob-voice-{}", Id::new()));
        let uploads = Uploads::new(&Store::in_memory().unwrap(), folder.clone());
        Self { servers, uploads, cx: cx(configured), folder }
    }

    async fn call(&self, name: &str, args: Value) -> Result<Output> {
        let tools = family(self.servers.clone(), self.uploads.clone()).into_parts().tools;
        let tool = tools.into_iter().find(|tool| &*tool.name == name).unwrap();
        (tool.run)(self.cx.clone(), args).await
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn text_becomes_a_file_and_a_file_becomes_text() {
    let (servers, looks) = finder(vec![server().await]);
    let house = House::new(servers, &[]);
    let made = house.call("text_to_speech", json!({"text": "Dinner is ready.", "voice": "amy"})).await.unwrap();
    assert_eq!((&made.content["mediaType"], &made.content["seconds"]), (&json!("audio/x-wav"), &json!(0.1)));
    let id: Id = made.content["file"].as_str().unwrap().parse().unwrap();
    assert_eq!(house.uploads.load(&house.cx, id).await.unwrap().1.len(), 44 + 4410);
    let heard = house.call("speech_to_text", json!({"audio": id, "language": "en"})).await.unwrap();
    assert_eq!(heard.content, json!({"text": "turn on the lamp"}));
    assert_eq!(heard.label, tool::Label::Outside);
    assert_eq!(looks.load(Ordering::Relaxed), 1, "what was found is used again");
}

#[tokio::test]
async fn bad_calls_say_what_is_needed() {
    let (servers, _) = finder(vec![server().await]);
    let house = House::new(servers, &[]);
    let text = house.uploads.put(&house.cx, "a.txt", "text/plain", b"no sound".to_vec()).await.unwrap();
    for (tool, args, part) in [
        ("text_to_speech", json!({"text": " "}), "1 to 4000"),
        ("text_to_speech", json!({"text": "x".repeat(4001)}), "1 to 4000"),
        ("text_to_speech", json!({"text": "x", "voice": "bob"}), "choose one of `amy`"),
        ("text_to_speech", json!({"text": "x", "voice": "y".repeat(101)}), "too long"),
        ("speech_to_text", json!({"audio": "kitchen.wav"}), "the id of a file"),
        ("speech_to_text", json!({"audio": Id::new()}), "no file"),
        ("speech_to_text", json!({"audio": text.id}), "ffmpeg"),
    ] {
        let error = house.call(tool, args.clone()).await.unwrap_err();
        assert!(error.message().contains(part), "{tool} {args}: {error}");
    }
}

#[tokio::test]
async fn without_a_server_the_way_to_one_is_told() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for addresses in [vec![], vec![closed]] {
        let (servers, _) = finder(addresses);
        let house = House::new(servers, &[]);
        for (tool, args, part) in [("text_to_speech", json!({"text": "x"}), "Piper")] {
            let error = house.call(tool, args).await.unwrap_err();
            assert!(matches!(error, Error::Unavailable(_)) && error.message().contains(part), "{error}");
        }
        assert_eq!(house.servers.offers(&Configured(vec![])).await, (false, false));
    }
}

#[tokio::test]
async fn an_entered_address_is_used_and_no_other() {
    let (servers, looks) = finder(vec![server().await]);
    let there = server().await;
    let house = House::new(servers.clone(), &[format!("tcp://{there}")]);
    assert_eq!(servers.speaking(&house.cx).await.unwrap().address, there.to_string());
    assert_eq!(looks.load(Ordering::Relaxed), 0);
    // A change counts at once.
    assert_eq!(servers.offers(&Configured(vec!["127.0.0.1:9".into()])).await, (false, false));
    assert_eq!(servers.offers(&Configured(vec![])).await, (true, true));
}

#[tokio::test]
async fn a_server_that_moved_is_looked_for_again() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (servers, looks) = finder(vec![server().await]);
    let stale = Server { address: gone.local_addr().unwrap().to_string(), voices: vec![], hears: true, speaks: true };
    drop(gone);
    *servers.known() = Some(Known { at: Instant::now(), configured: vec![], servers: vec![stale] });
    let house = House::new(servers, &[]);
    let error = house.call("text_to_speech", json!({"text": "x"})).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(why) if why.contains("try again")), "{error}");
    assert!(house.call("text_to_speech", json!({"text": "x"})).await.is_ok());
    assert_eq!(looks.load(Ordering::Relaxed), 1);
}

#[test]
fn announcements_lead_nowhere_else() {
    let addresses = ["192.168.1.7:10300", "8.8.8.8:10300", "[fd00::7]:10300", "[2001:db8::1]:10300"];
    let found = found(addresses.iter().map(|at| at.parse().unwrap()).collect());
    assert_eq!(found, ["192.168.1.7:10300", "[fd00::7]:10300"]);
    assert_eq!(Format::SPEECH.rate, 16_000);
}
