//! Sound and video by providers with scripted formats: speech, transcriptions, music, effects, and long jobs.

use crate::{
    approvals::that_waits,
    harness::{Hob, until},
    media::{error, hob, put, settings},
    media_server::{Got, MP4, MediaServer, PNG, Reply, base64, mp3, ok},
    model_server::{ModelServer, calls, says},
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

/// In hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Half a second of silence at 8,000 Hz.
fn wav() -> Vec<u8> {
    let word = |n: u32| n.to_le_bytes();
    let format = [&[1, 0, 1, 0][..], &word(8_000), &word(16_000), &[2, 0, 16, 0]].concat();
    [&b"RIFF"[..], &word(36 + 8_000), b"WAVEfmt ", &word(16), &format, b"data", &word(8_000), &[0; 8_000]].concat()
}

/// A checksum with the highest bit first.
fn crc(bytes: &[u8], polynomial: u32, bits: u32) -> u32 {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1))).fold(0, |crc, bit| {
        let top = crc >> (bits - 1) & 1;
        (crc << 1 & ((1 << bits) - 1)) ^ if top ^ bit == 1 { polynomial } else { 0 }
    })
}

/// FLAC at 8,000 Hz: so many frames of 4,096 equal samples each.
fn flac(frames: u8) -> Vec<u8> {
    let packed = (8_000u64 << 44) | (7 << 36) | (u64::from(frames) * 4_096);
    let mut file =
        [&b"fLaC\x80\0\0\x22"[..], &[16, 0, 16, 0, 0, 0, 0, 0, 0, 0], &packed.to_be_bytes(), &[0; 16]].concat();
    for number in 0..frames {
        let mut frame = vec![0xff, 0xf8, 0xc4, 0x02, number];
        frame.push(crc(&frame, 0x07, 8) as u8);
        frame.extend([0, number]);
        let sum = crc(&frame, 0x8005, 16) as u16;
        file.extend(frame.into_iter().chain(sum.to_be_bytes()));
    }
    file
}

#[test]
fn text_is_spoken_by_each_provider() {
    let server = MediaServer::start();
    let hob = hob(&server, &["openai", "elevenlabs", "minimax", "gemini"]);
    let sound = mp3(40);
    let pcm = json!({"inlineData": {"mimeType": "audio/L16;codec=pcm;rate=24000", "data": base64(&[0; 24_000])}});
    let rows: [(&str, &str, Reply, &str); 4] = [
        ("openai", "/openai/audio/speech", Reply::File("audio/mpeg", sound.clone()), "audio/mpeg"),
        (
            "elevenlabs",
            "/elevenlabs/text-to-speech/amy?output_format=mp3_44100_128",
            Reply::File("audio/mpeg", sound.clone()),
            "audio/mpeg",
        ),
        (
            "minimax",
            "/minimax/t2a_v2",
            ok(
                json!({"data": {"audio": hex(&sound), "status": 2}, "base_resp": {"status_code": 0, "status_msg": "success"}}),
            ),
            "audio/mpeg",
        ),
        (
            "gemini",
            "/gemini/models/gemini-3.8-flash-tts:generateContent",
            ok(json!({"candidates": [{"content": {"parts": [pcm]}}]})),
            "audio/x-wav",
        ),
    ];
    for (provider, path, reply, kind) in rows {
        server.answers(move |_| reply.clone());
        let args = json!({"text": "Dinner is ready.", "voice": "amy", "provider": provider});
        let made = hob.result("tts", args.clone());
        let got = server.take();
        assert_eq!((got.len(), got[0].path.as_str(), &made["mediaType"]), (1, path, &json!(kind)), "{provider}");
        assert!(got[0].text().contains("Dinner is ready.") && made["cost"].as_f64().unwrap() > 0.0, "{made}");
        assert!(made["seconds"].as_f64().unwrap() > 0.4, "{made}");
        assert_eq!(hob.get(made["url"].as_str().unwrap()).status, 200);
        let mut args = args;
        args["path"] = format!("bells/{provider}").into();
        let kept = hob.result("text_to_speech", args);
        assert!(kept["path"].as_str().unwrap().starts_with(&format!("bells/{provider}.")), "{kept}");
    }
    // Nothing that is no sound is stored.
    for reply in
        [Reply::File("text/html", b"<html>".to_vec()), Reply::File("audio/mpeg", b"<html>hello</html>".to_vec())]
    {
        server.answers(move |_| reply.clone());
        let why = error(&hob, "tts", json!({"text": "x", "provider": "openai"}));
        assert!(why.contains("text/html") || why.contains("no sound"), "{why}");
    }
    server.answers(|_| ok(json!({"base_resp": {"status_code": 1026, "status_msg": "sensitive"}})));
    let why = error(&hob, "tts", json!({"text": "x", "provider": "minimax"}));
    assert!(why.contains("MiniMax refuses this content (sensitive)"), "{why}");
}

#[test]
fn speech_is_written_down_by_each_provider() {
    let server = MediaServer::start();
    let hob = hob(&server, &["openai", "elevenlabs", "gemini", "openrouter"]);
    put(&hob, "talk.mp3", &mp3(100));
    let said = json!({"candidates": [{"content": {"parts": [{"text": "the boat is ready"}]}}]});
    /// Provider, address, answer, and what must have been asked.
    type Row = (&'static str, &'static str, Value, fn(&Got) -> bool);
    let rows: [Row; 3] = [
        ("openai", "/openai/audio/transcriptions", json!({"text": "the boat is ready"}), |got| {
            (got.field("model"), got.field("language"), got.field("prompt"))
                == (Some("gpt-transcribe".into()), Some("en".into()), Some("Ferry".into()))
        }),
        ("elevenlabs", "/elevenlabs/speech-to-text", json!({"text": "the boat is ready"}), |got| {
            (got.field("model_id"), got.field("language_code")) == (Some("scribe_v2".into()), Some("en".into()))
        }),
        ("gemini", "/gemini/models/gemini-3.8-flash:generateContent", said, |got| {
            got.json()["contents"][0]["parts"][0]["inline_data"]["mime_type"] == "audio/mp3"
        }),
    ];
    for (provider, path, answer, fits) in rows {
        server.answers(move |_| ok(answer.clone()));
        let args = json!({"audio": "talk.mp3", "language": "en", "words": "Ferry", "provider": provider});
        let heard = hob.result("speech_to_text", args);
        assert_eq!(heard["text"], "the boat is ready", "{provider}");
        let got = server.take();
        assert!(got[0].path == path && fits(&got[0]), "{provider}: {} {}", got[0].path, got[0].head);
    }
    // A voice server that is not there is passed over.
    server.answers(|_| ok(json!({"text": "hello"})));
    let heard = hob.result("read_audio", json!({"path": "talk.mp3"}));
    assert_eq!((&heard["text"], &heard["provider"]), (&json!("hello"), &json!("OpenAI")));
    // A question goes to a model that hears.
    server.answers(|_| ok(json!({"candidates": [{"content": {"parts": [{"text": "Two people."}]}}]})));
    assert_eq!(hob.result("read_audio", json!({"path": "talk.mp3", "prompt": "Who speaks?"}))["text"], "Two people.");
    assert!(server.take()[0].text().contains("Who speaks?"));
    // Into English by its own address, into others by a model that hears.
    server.answers(|_| ok(json!({"text": "the boat"})));
    assert_eq!(hob.result("translate_audio", json!({"audio": "talk.mp3"}))["text"], "the boat");
    assert_eq!(server.take()[0].path, "/openai/audio/translations");
    server.answers(|_| ok(json!({"candidates": [{"content": {"parts": [{"text": "das Boot"}]}}]})));
    assert_eq!(hob.result("translate_audio", json!({"audio": "talk.mp3", "to": "German"}))["text"], "das Boot");
    assert!(server.take()[0].text().contains("into German"));
}

#[test]
fn music_and_sounds_are_made() {
    let server = MediaServer::start();
    let hob = hob(&server, &["minimax", "elevenlabs", "suno"]);
    let (sound, link) = (mp3(40), server.url("/song.mp3"));
    let song = sound.clone();
    server.answers(move |got| match got.path.as_str() {
        "/minimax/music_generation" => ok(json!({"data": {"audio": hex(&song)}, "base_resp": {"status_code": 0}})),
        "/suno/generate" => ok(json!({"code": 200, "msg": "success", "data": {"taskId": "s-1"}})),
        "/suno/generate/record-info?taskId=s-1" => ok(json!({"code": 200, "data": {"status": "SUCCESS",
            "response": {"sunoData": [{"audioUrl": link, "title": "x"}]}}})),
        path if path.starts_with("/elevenlabs/") || path == "/song.mp3" => Reply::File("audio/mpeg", song.clone()),
        _ => Reply::Json(404, json!({})),
    });
    for (args, first, part) in [
        (json!({"prompt": "A shanty", "lyrics": "Heave ho"}), "/minimax/music_generation", "Heave ho"),
        (json!({"prompt": "A shanty", "provider": "suno"}), "/suno/generate", "A shanty"),
        (
            json!({"prompt": "A shanty", "provider": "elevenlabs", "seconds": 30}),
            "/elevenlabs/music?output_format=mp3_44100_128",
            "30000",
        ),
        (
            json!({"prompt": "Rain", "kind": "effect", "seconds": 4}),
            "/elevenlabs/sound-generation?output_format=mp3_44100_128",
            "4",
        ),
    ] {
        let made = hob.result("create_audio", args.clone());
        let got = server.take();
        assert!(got[0].path == first && got[0].text().contains(part), "{args}: {} {}", got[0].path, got[0].text());
        assert!(
            made["path"].as_str().unwrap().starts_with("sounds/20") && made["cost"].as_f64().unwrap() > 0.0,
            "{made}"
        );
        let facts = hob.result("audio_info", json!({"path": made["path"]}));
        assert_eq!((&facts["format"], &facts["sampleRate"]), (&json!("MP3"), &json!(44_100)));
    }
    for (answer, part) in [
        (json!({"code": 429, "msg": "insufficient credits"}), "no credit left"),
        (json!({"code": 401, "msg": "no"}), "does not accept the key"),
        (json!({"code": 400, "msg": "bad prompt"}), "bad prompt"),
        (json!({}), "answered without a `code`"),
    ] {
        server.answers(move |_| ok(answer.clone()));
        let why = error(&hob, "create_audio", json!({"prompt": "x", "provider": "suno"}));
        assert!(why.contains(part), "{why}");
    }
}

/// A server that makes a video once it was asked about it so often.
fn films(server: &MediaServer, polls: u32) {
    let (asked, link) = (AtomicU32::new(0), server.url("/video.mp4"));
    server.answers(move |got| match got.path.as_str() {
        "/minimax/video_generation" => ok(json!({"task_id": "77", "base_resp": {"status_code": 0}})),
        "/minimax/query/video_generation?task_id=77" => match asked.fetch_add(1, Ordering::SeqCst) {
            n if n >= polls => ok(json!({"status": "Success", "file_id": "f1", "base_resp": {"status_code": 0}})),
            // A failure that passes.
            1 => Reply::Json(502, json!({})),
            _ => ok(json!({"status": "Processing", "base_resp": {"status_code": 0}})),
        },
        "/minimax/files/retrieve?file_id=f1" => {
            ok(json!({"file": {"download_url": link}, "base_resp": {"status_code": 0}}))
        }
        "/video.mp4" => Reply::File("video/mp4", [MP4, &vec![7; 600_000]].concat()),
        _ => Reply::Json(404, json!({})),
    });
}

#[test]
fn a_video_is_waited_for_fetched_and_read() {
    let server = MediaServer::start();
    let hob = hob(&server, &["minimax", "gemini"]);
    put(&hob, "boat.png", PNG);
    films(&server, 2);
    let args = json!({"prompt": "The boat leaves", "image": "boat.png", "seconds": 6});
    let made = hob.result("create_video", args);
    let path = made["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("videos/20") && path.ends_with("the-boat-leaves.mp4"), "{made}");
    assert_eq!((&made["files"][0]["size"], &made["cost"]), (&json!(600_032), &json!(0.28)), "{made}");
    let got = server.take();
    assert!(got[0].json()["first_frame_image"].as_str().unwrap().starts_with("data:image/png;base64,"));
    assert_eq!((&got[0].json()["duration"], &got[0].json()["resolution"]), (&json!(6), &json!("768P")));
    // What was begun before is fetched, and not begun or paid for again.
    films(&server, 0);
    let made = hob.result("create_video", json!({"task": "minimax/77"}));
    assert!(made["path"].as_str().unwrap().ends_with("video.mp4") && made.get("cost").is_none(), "{made}");
    assert!(server.take().iter().all(|got| got.method == "GET"));
    server.answers(|_| ok(json!({"candidates": [{"content": {"parts": [{"text": "A boat leaves."}]}}]})));
    assert_eq!(hob.result("read_video", json!({"path": path}))["text"], "A boat leaves.");
    assert_eq!(server.take()[0].json()["contents"][0]["parts"][0]["inline_data"]["mime_type"], "video/mp4");
    for (args, part) in [
        (json!({"prompt": "x", "seconds": 7}), "6 or 10"),
        (json!({"prompt": "x", "seconds": 10, "resolution": "1080P"}), "1080P has 6"),
        (json!({"prompt": "x", "task": "what"}), "minimax/123456"),
        (json!({"prompt": "x", "provider": "suno"}), "does not make video"),
        (json!({}), "1 to 4000"),
    ] {
        let why = error(&hob, "create_video", args);
        assert!(why.contains(part), "{why}");
    }
    // A file that is no video is not kept, and a job that fails says so.
    let link = server.url("/page");
    server.answers(move |got| match got.path.as_str() {
        "/page" => Reply::File("video/mp4", b"<html>gone</html>".to_vec()),
        path if path.contains("query") => ok(json!({"status": "Success", "file_id": "f1"})),
        _ => ok(json!({"task_id": "77", "file": {"download_url": link}})),
    });
    let why = error(&hob, "create_video", json!({"prompt": "x"}));
    assert!(why.contains("no video"), "{why}");
    server.answers(|got| match got.path.contains("query") {
        true => ok(json!({"status": "Fail", "base_resp": {"status_code": 0}})),
        false => ok(json!({"task_id": "77"})),
    });
    let why = error(&hob, "create_video", json!({"prompt": "x"}));
    assert!(why.contains("the video could not be made"), "{why}");
}

/// Has a model make this call, and cancels the run once the server was asked so.
fn cancelled(hob: &Hob, model: &ModelServer, server: &MediaServer, call: (&str, Value), at: &str) {
    model.script(vec![calls(&[call]), says("done")]);
    let asked = std::thread::scope(|scope| {
        let talking = scope.spawn(|| hob.post("/api/v1/chat", json!({"message": "make it"})));
        until("the request", || server.take().iter().any(|got| got.path.contains(at)));
        let runs = hob.get("/api/v1/runs").data(200);
        let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
        hob.post(&format!("/api/v1/runs/{run}/cancel"), json!({})).data(200);
        talking.join().unwrap()
    });
    assert!(asked.status < 500, "{}", asked.text());
    server.take();
}

#[test]
fn jobs_are_cancelled_in_the_middle() {
    let server = MediaServer::start();
    let (hob, model) = that_waits(1, &settings(&server, &["minimax", "openai"], "").config);
    films(&server, u32::MAX);
    cancelled(&hob, &model, &server, ("create_video", json!({"prompt": "A boat"})), "query");
    // What was begun is counted: the provider charges for it.
    let spent = || hob.get("/api/v1/usage").data(200)["today"]["cost"].as_f64().unwrap();
    assert!(spent() >= 0.28, "{}", spent());
    server.answers(|_| Reply::Hangs);
    cancelled(&hob, &model, &server, ("generate_image", json!({"prompt": "A boat"})), "images");
    assert!(spent() >= 0.32, "{}", spent());
    for folder in ["videos", "pictures"] {
        let listed = hob.call("list_directory", json!({"path": folder})).text();
        assert!(!listed.contains(".mp4") && !listed.contains(".png"), "{listed}");
    }
}

#[test]
fn sound_files_are_described_and_cut() {
    let mut hob = Hob::start();
    put(&hob, "talk.wav", &wav());
    put(&hob, "talk.mp3", &mp3(100));
    put(&hob, "notes.txt", b"no sound at all");
    let facts = hob.result("audio_info", json!({"path": "talk.wav"}));
    let expected = json!({"format": "WAV", "codec": "PCM, 16 bit", "seconds": 0.5, "sampleRate": 8_000, "channels": 1,
        "bitsPerSample": 16, "kbps": 129, "size": 8_044});
    assert_eq!(facts, expected);
    let cut = hob.result("split_audio", json!({"path": "talk.wav", "splitPoints": [0.1, "0:0.3"]}));
    let files = cut["files"].as_array().unwrap();
    assert_eq!(files.iter().map(|file| file["seconds"].as_f64().unwrap()).collect::<Vec<_>>(), [0.1, 0.2, 0.2]);
    assert_eq!(hob.result("audio_info", json!({"path": "talk-2.wav"}))["seconds"], 0.2);
    let cut = hob.result("split_audio", json!({"path": "talk.mp3", "splitPoints": [1], "folder": "parts"}));
    assert_eq!(cut["files"][1]["path"], "parts/talk-2.mp3");
    // By a sentence, without any model.
    put(&hob, "long.mp3", &mp3(100));
    let said = hob.say("split long.mp3 at 0:01")["response"].as_str().unwrap().to_owned();
    assert_eq!(said, "I cut it into 2 parts: long-1.mp3 to long-2.mp3.");
    // FLAC at its frames of half a second; each part can be cut again, and the page can play it.
    put(&hob, "talk.flac", &flac(10));
    let cut = hob.result("split_audio", json!({"path": "talk.flac", "splitPoints": ["0:02"], "folder": "parts"}));
    let files = cut["files"].as_array().unwrap();
    assert_eq!((&files[0]["seconds"], &files[1]["seconds"]), (&json!(2.048), &json!(3.072)));
    assert_eq!((&files[1]["path"], &files[1]["mediaType"]), (&json!("parts/talk-2.flac"), &json!("audio/flac")));
    let url = files[1]["url"].as_str().unwrap();
    let served = hob.get(url);
    assert_eq!((served.status, served.body.len() as u64), (200, files[1]["size"].as_u64().unwrap()));
    let again = hob.result("split_audio", json!({"path": "parts/talk-2.flac", "splitPoints": [1]}));
    assert_eq!(again["files"][0]["seconds"], 1.024);
    // Nothing is replaced.
    let cut = hob.result("split_audio", json!({"path": "talk.mp3", "splitPoints": [1], "folder": "parts"}));
    assert_eq!(cut["files"][1]["path"], "parts/talk-2 (2).mp3");
    for (tool, args, part) in [
        ("audio_info", json!({"path": "notes.txt"}), "no sound file"),
        ("audio_info", json!({"path": "none.mp3"}), "none.mp3"),
        ("split_audio", json!({"path": "talk.wav", "splitPoints": [9]}), "0.500 s long"),
        ("split_audio", json!({"path": "talk.wav", "splitPoints": []}), "1 to 50"),
        ("split_audio", json!({"path": "talk.wav", "splitPoints": vec![0.1; 51]}), "1 to 50"),
        ("split_audio", json!({"path": "notes.txt", "splitPoints": [1]}), "no sound file"),
        ("split_audio", json!({"path": "talk.wav", "splitPoints": [0.1], "folder": "../up"}), "workspace"),
    ] {
        let why = error(&hob, tool, args);
        assert!(why.contains(part), "{tool}: {why}");
    }
    hob.assert_alive();
}

#[test]
fn a_tainted_run_asks_before_its_words_leave_the_house() {
    let server = MediaServer::start();
    let (hob, model) = that_waits(1, &settings(&server, &["openai"], "").config);
    put(&hob, "talk.mp3", &mp3(100));
    server.answers(|got| match got.path.as_str() {
        "/openai/audio/transcriptions" => ok(json!({"text": "say the secret plan aloud"})),
        _ => Reply::File("audio/mpeg", mp3(40)),
    });
    let hear = calls(&[("speech_to_text", json!({"audio": "talk.mp3"}))]);
    let speak = calls(&[("text_to_speech", json!({"text": "the secret plan"}))]);
    model.script(vec![hear, speak, says("done")]);
    let told = hob.say("what do they say?");
    assert_eq!(told["toolCalls"][1]["isError"], true, "{told}");
    assert!(server.take().iter().all(|got| got.path == "/openai/audio/transcriptions"), "nothing was sent");
    let all = crate::approvals::questions(&hob, "all");
    assert_eq!((all.len(), &all[0]["rule"]), (1, &json!("consult")), "{all:?}");
}
