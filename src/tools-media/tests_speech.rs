//! Speech by a scripted voice server.

use crate::{MediaTools, audio};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_client::Guarded;
use media::{Costs, Deps, Finder, Keys, Media, VoiceServers};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use store::Store;
use tokio::net::TcpListener;
use tool::{Channel, Cx, Error, Id, Output, Ports, Principal, Result, SystemClock, Via};
use uploads::Uploads;
use workspace::Workspaces;
use wyoming::{Event, EventReader, Limits, write};

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

struct Nothing;

impl Keys for Nothing {
    fn key(&self, _: &str) -> Option<(String, String)> {
        None
    }
}

impl Costs for Nothing {
    fn reserve(&self, _: f64) -> BoxFuture<'static, Result<Box<dyn Send>, String>> {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }
    fn book(&self, model: &str, _: (u64, u64), _: Option<f64>) {
        panic!("{model} costs nothing");
    }
}

struct House {
    tools: MediaTools,
    cx: Cx,
    folder: PathBuf,
}

impl House {
    fn new(voices: VoiceServers) -> Self {
        let folder = std::env::temp_dir().join(format!("hob-speech-{}", Id::new()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = Store::in_memory().unwrap();
        let uploads = Uploads::new(&store, folder.join("files"));
        let workspaces = Workspaces::open(&store, &folder, workspace::Config::default()).unwrap();
        let media = Media::new(Deps { keys: Arc::new(Nothing), costs: Arc::new(Nothing), voices });
        let tools = MediaTools::new(media, workspaces, uploads, Guarded::default());
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        Self { tools, cx: Cx::root(ports, Principal::owner(), Via::direct(Channel::Page)), folder }
    }

    async fn call(&self, name: &str, args: Value) -> Result<Output> {
        let tools = audio(self.tools.clone()).into_parts().tools;
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
    let house = House::new(servers);
    let made = house.call("text_to_speech", json!({"text": "Dinner is ready.", "voice": "amy"})).await.unwrap();
    assert_eq!((&made.content["mediaType"], &made.content["seconds"]), (&json!("audio/x-wav"), &json!(0.1)));
    assert_eq!(made.content.get("cost"), None);
    let id: Id = made.content["file"].as_str().unwrap().parse().unwrap();
    assert_eq!(house.tools.uploads.load(&house.cx, id).await.unwrap().1.len(), 44 + 4410);
    let heard = house.call("speech_to_text", json!({"audio": id, "language": "en"})).await.unwrap();
    assert_eq!(heard.content["text"], "turn on the lamp");
    assert_eq!(heard.label, tool::Label::Outside);
    assert_eq!(looks.load(Ordering::Relaxed), 1, "what was found is used again");
    // With a path it is a file of the workspace, which is heard by its path.
    let made = house.call("text_to_speech", json!({"text": "Dinner.", "path": "bells/dinner"})).await.unwrap();
    assert_eq!(made.content["path"], "bells/dinner.wav");
    let heard = house.call("speech_to_text", json!({"audio": "bells/dinner.wav"})).await.unwrap();
    assert_eq!(heard.content["text"], "turn on the lamp");
}

#[tokio::test]
async fn bad_calls_say_what_is_needed() {
    let (servers, _) = finder(vec![server().await]);
    let house = House::new(servers);
    let text = house.tools.uploads.put(&house.cx, "a.txt", "text/plain", b"no sound".to_vec()).await.unwrap();
    let mp3 = Bytes::from([&[0xff, 0xfb, 0x90, 0x00][..], &[0; 413]].concat().repeat(20));
    let mp3 = house.tools.uploads.put(&house.cx, "a.mp3", "audio/mpeg", mp3.to_vec()).await.unwrap();
    for (tool, args, part) in [
        ("text_to_speech", json!({"text": " "}), "1 to 4000"),
        ("text_to_speech", json!({"text": "x".repeat(4001)}), "1 to 4000"),
        ("text_to_speech", json!({"text": "x", "voice": "bob"}), "choose one of `amy`"),
        ("text_to_speech", json!({"text": "x", "voice": "y".repeat(101)}), "too long"),
        ("text_to_speech", json!({"text": "x", "speed": 9}), "0.25 to 4"),
        ("text_to_speech", json!({"text": "x", "format": "doc"}), "choose from mp3"),
        ("text_to_speech", json!({"text": "x", "path": "../x"}), "workspace"),
        ("speech_to_text", json!({"audio": "kitchen.wav"}), "kitchen.wav"),
        ("speech_to_text", json!({"audio": " "}), "the id of a file"),
        ("speech_to_text", json!({"audio": Id::new()}), "no file"),
        ("speech_to_text", json!({"audio": text.id}), "give a sound file"),
        ("speech_to_text", json!({"audio": mp3.id}), "ffmpeg"),
        ("translate_audio", json!({"audio": mp3.id}), "`openai`"),
        ("create_audio", json!({"prompt": "rain", "seconds": 1000}), "3 to 600"),
        ("create_audio", json!({"prompt": "rain", "kind": "noise"}), "music, effect"),
        ("create_audio", json!({"prompt": "rain", "task": "1"}), "minimax/123456"),
        ("split_audio", json!({"path": mp3.id, "splitPoints": []}), "1 to 50"),
        ("split_audio", json!({"path": mp3.id, "splitPoints": [0.1, "x"]}), "mm:ss"),
        ("split_audio", json!({"path": mp3.id, "splitPoints": [99]}), "0.522 s long"),
        ("audio_info", json!({"path": "nothing.mp3"}), "nothing.mp3"),
    ] {
        let error = house.call(tool, args.clone()).await.unwrap_err();
        assert!(error.message().contains(part), "{tool} {args}: {error}");
    }
    let parts = house.call("split_audio", json!({"path": mp3.id, "splitPoints": [0.25]})).await.unwrap();
    let files = parts.content["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[1]["path"]), (2, &json!("sounds/sound-2.mp3")));
    let facts = house.call("audio_info", json!({"path": "sounds/sound-1.mp3"})).await.unwrap();
    assert_eq!(facts.content["format"], "MP3");
    let [told, made] = [&facts.content["seconds"], &files[0]["seconds"]].map(|seconds| seconds.as_f64().unwrap());
    assert!((told - made).abs() < 0.001, "{told} {made}");
}

#[tokio::test]
async fn without_a_server_the_way_to_one_is_told() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for addresses in [vec![], vec![closed]] {
        let (servers, _) = finder(addresses);
        let house = House::new(servers);
        let error = house.call("text_to_speech", json!({"text": "x"})).await.unwrap_err();
        assert!(
            matches!(&error, Error::Unavailable(why) if why.contains("Piper") && why.contains("`openai`")),
            "{error}"
        );
        assert!(error.said().is_some_and(|said| said.contains("Services")));
        assert_eq!(house.tools.media.offers(&*house.cx.ports().settings).await, (false, false));
    }
}
