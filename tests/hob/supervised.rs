//! A Hob under `hob supervise`, in a root of its own, and bundles to update it with.

use crate::{
    harness::{Folder, Ran, TOKEN, binary, hob, until},
    http::{PATIENCE, Reply, Request},
};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use update::{
    builder::{Contents, build},
    keys::{Protection, SigningKey},
    manifest::{Payload, target},
};

pub const UPDATE: &str = "/api/v1/update";
pub const UPLOADS: &str = "/api/v1/update/uploads";
/// The window of a trial in tests, and the longest trial, in seconds.
const WINDOW: u64 = 1;
const TRY: u64 = 20;
/// The largest piece of an upload.
const PIECE: u64 = 1 << 20;

/// A signing key.
pub struct Signer {
    folder: Folder,
    pub key: SigningKey,
    /// Its file: a key cannot be cloned.
    pub secret: String,
    pub public: String,
}

/// A change of the contents of a bundle.
type Change<'a> = &'a dyn Fn(&mut Contents);

impl Signer {
    pub fn new() -> Self {
        let made = update::keys::generate(Protection::None).unwrap();
        let public = made.public.lines().rfind(|line| !line.is_empty()).unwrap().to_owned();
        let key = SigningKey::read(&made.secret, None).unwrap();
        Self { folder: Folder::new(), key, secret: made.secret.to_string(), public }
    }

    /// A bundle of a program.
    pub fn bundle(&self, version: &str, serial: u64, program: &[u8]) -> Vec<u8> {
        self.bundle_with(version, serial, program, &|_| {})
    }

    pub fn bundle_with(&self, version: &str, serial: u64, program: &[u8], change: Change) -> Vec<u8> {
        let (image, out) = (self.folder.path("program"), self.folder.path("bundle"));
        fs::write(&image, program).unwrap();
        let _ = fs::remove_file(&out);
        let mut contents = Contents {
            version: version.parse().unwrap(),
            serial,
            payload: Payload::App,
            targets: vec![target()],
            boards: vec![],
            data_schema: update::DATA_SCHEMA,
            data_schema_min: 0,
            minimum_version: None,
            notes: String::new(),
            next_key: None,
            images: vec![image],
            bases: vec![],
            level: 1,
        };
        change(&mut contents);
        build(&contents, std::slice::from_ref(&self.key), &out).unwrap();
        fs::read(&out).unwrap()
    }

    /// A bundle that works.
    pub fn good(&self, version: &str, serial: u64) -> Vec<u8> {
        self.bundle(version, serial, &program(version))
    }
}

/// A program that is Hob, and is another file for each version. A script, so that a test need not copy 175 MB.
pub fn program(version: &str) -> Vec<u8> {
    script(version, &format!("exec {} \"$@\"", binary().display()))
}

/// A program that does this instead, 300 KB long.
pub fn script(version: &str, does: &str) -> Vec<u8> {
    let mut noise = crate::harness::Dice(version.bytes().map(u64::from).fold(7, |a, b| a * 31 + b));
    let mut text = format!("#!/bin/sh\n# hob {version}\n{does}\nexit 1\n");
    for _ in 0..5000 {
        text +=
            &format!("# {:016x}{:016x}{:016x}\n", noise.below(u64::MAX), noise.below(1 << 60), noise.below(1 << 50));
    }
    text.into_bytes()
}

/// How it is started.
pub struct Start<'a> {
    pub keys: &'a [&'a str],
    /// More of hob.toml; its sections come after `[update]`.
    pub config: &'a str,
    pub window: u64,
    pub try_seconds: u64,
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self { keys: &[], config: "", window: WINDOW, try_seconds: TRY }
    }
}

/// A supervisor with its Hob.
pub struct Supervised {
    pub folder: Folder,
    child: Option<Child>,
    arguments: Vec<String>,
    /// The ports of all Hobs that were ready.
    ports: Arc<Mutex<Vec<u16>>>,
    log: Arc<Mutex<String>>,
}

impl Supervised {
    /// Version 0.1.0 in slot A, with simulated pins.
    pub fn start(start: &Start) -> Self {
        Self::over(Self::folder(), start)
    }

    /// A folder with version 0.1.0 in slot A.
    pub fn folder() -> Folder {
        let folder = Folder::new();
        let slot = folder.path("root/slots/a");
        fs::create_dir_all(&slot).unwrap();
        fs::write(slot.join("hob"), program("0.1.0")).unwrap();
        fs::set_permissions(slot.join("hob"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(slot.join("manifest.json"), json!({"version": "0.1.0", "serial": 0}).to_string()).unwrap();
        folder
    }

    /// Over a root as it is.
    pub fn over(folder: Folder, start: &Start) -> Self {
        let mut it = Self { folder, child: None, arguments: vec![], ports: Arc::default(), log: Arc::default() };
        it.configure(start);
        it.start_again();
        it
    }

    /// Writes hob.toml, for the next start.
    pub fn configure(&mut self, start: &Start) {
        let keys: Vec<String> = start.keys.iter().map(|key| format!("{key:?}")).collect();
        let text = format!(
            "[limits]\ncalls = 0\n[update]\nkeys = [{}]\nwindow_seconds = {}\n{}\n",
            keys.join(", "),
            start.window,
            start.config
        );
        fs::write(self.folder.path("test.toml"), text).unwrap();
        self.arguments = vec!["--try-seconds".into(), start.try_seconds.to_string()];
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path("data")
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path("root")
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// How many Hobs were ready so far.
    pub fn starts(&self) -> usize {
        self.ports.lock().unwrap().len()
    }

    pub fn port(&self) -> u16 {
        *self.ports.lock().unwrap().last().unwrap()
    }

    /// Starts the supervisor without waiting.
    pub fn launch(&mut self) {
        assert!(self.child.is_none());
        let mut command = Command::new(binary());
        command.env_clear().env("HOB_TOKEN", TOKEN).env("PATH", "/usr/bin:/bin");
        command.arg("supervise").arg("--root").arg(self.root()).args(&self.arguments);
        command.arg("--data").arg(self.data()).arg("--config").arg(self.folder.path("test.toml"));
        command.args(["--", "--board", "sim", "--listen", "127.0.0.1:0", "--no-mdns"]);
        // A group of its own, which a power cut ends at once.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, ports) = (BufReader::new(child.stdout.take().unwrap()), self.ports.clone());
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if let Some(port) = line.strip_prefix("hob ready http://127.0.0.1:").and_then(|port| port.parse().ok())
                {
                    ports.lock().unwrap().push(port);
                }
            }
        });
        let (err, log) = (BufReader::new(child.stderr.take().unwrap()), self.log.clone());
        thread::spawn(move || {
            err.lines().map_while(Result::ok).for_each(|line| *log.lock().unwrap() += &format!("{line}\n"))
        });
        self.child = Some(child);
    }

    /// Starts the supervisor, and waits until its Hob is ready.
    pub fn start_again(&mut self) {
        let before = self.starts();
        self.launch();
        self.wait_starts(before + 1);
    }

    /// Waits until so many Hobs were ready, counted from the first.
    pub fn wait_starts(&mut self, count: usize) {
        let begun = Instant::now();
        while self.starts() < count {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "the supervisor ended ({ended:?}):\n{}", self.log());
            assert!(begun.elapsed() < PATIENCE, "start {count} did not come:\n{}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends supervisor and Hob as a power cut does.
    pub fn cut_power(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
        // Its Hob holds the data until it is gone, too.
        let data = self.data().join("hob.redb");
        until("the end of the Hob", || fs::File::open(&data).map_or(true, |file| file.try_lock().is_ok()));
    }

    /// Stops the supervisor in order, and returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        rustix::process::kill_process(Pid::from_child(self.child.as_ref().unwrap()), Signal::TERM).unwrap();
        self.ended()
    }

    /// Waits for the end of the supervisor, and returns its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        let mut child = self.child.take().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
        panic!("the supervisor did not stop:\n{}", self.log());
    }

    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.port(), method, path)
    }

    pub fn admin(&self, method: &str, path: &str) -> Request {
        self.request(method, path).bearer(TOKEN)
    }

    pub fn post(&self, path: &str, body: Value) -> Reply {
        self.admin("POST", path).json(&body).send()
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        let path = format!("/api/v1/tools/{tool}/execute");
        self.post(&path, json!({"arguments": arguments})).data(200)["result"].clone()
    }

    pub fn remember(&self, word: &str) {
        self.remember_as("update", word);
    }

    pub fn remember_as(&self, tag: &str, word: &str) {
        self.call("remember", json!({"content": format!("the word is {word}"), "tags": [tag]}));
    }

    /// The words that were remembered.
    pub fn remembered(&self) -> Vec<String> {
        self.remembered_as("update")
    }

    /// Those with a tag: at most 50, which is as many as are listed.
    pub fn remembered_as(&self, tag: &str) -> Vec<String> {
        let listed = self.call("list_memories", json!({"tags": [tag], "limit": 50}));
        let memories = listed["memories"].as_array().unwrap();
        let word = |m: &Value| m["content"].as_str().unwrap().trim_start_matches("the word is ").to_owned();
        let mut words: Vec<String> = memories.iter().map(word).collect();
        words.sort();
        words
    }

    /// The state of updates; `None` while Hob is away.
    pub fn try_view(&self) -> Option<Value> {
        let reply = self.admin("GET", UPDATE).try_send().ok()?;
        (reply.status == 200).then(|| reply.data(200))
    }

    pub fn view(&self) -> Value {
        self.admin("GET", UPDATE).send().data(200)
    }

    /// Waits for a state of updates.
    pub fn wait_view(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut last = Value::Null;
        loop {
            if let Some(view) = self.try_view() {
                if fits(&view) {
                    return view;
                }
                last = view;
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "the supervisor ended ({ended:?}) before {what}:\n{}", self.log());
            assert!(begun.elapsed() < PATIENCE, "{what} did not happen: {last:#}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the last update ended for this version, and returns its outcome.
    pub fn wait_outcome(&mut self, version: &str) -> Value {
        let ended = |view: &Value| {
            view["lastOutcome"]["version"] == version && view["state"] != "trying" && view["restarting"] == false
        };
        self.wait_view(&format!("the end of {version}"), ended)
    }

    /// Sends the head of a bundle.
    pub fn begin(&self, bundle: &[u8]) -> Reply {
        let length = update::bundle::head_length(bundle).map_or(bundle.len(), |length| length.min(bundle.len()));
        self.admin("POST", UPLOADS).body(bundle[..length].to_vec()).send()
    }

    /// Sends one piece.
    pub fn put(&self, id: &str, offset: u64, bytes: &[u8]) -> Reply {
        self.admin("PUT", &format!("{UPLOADS}/{id}?offset={offset}")).body(bytes.to_vec()).send()
    }

    /// Sends what is needed of a bundle, and returns the id of the upload and the bytes that travelled.
    pub fn upload(&self, bundle: &[u8]) -> (String, u64) {
        let upload = self.begin(bundle).data(201);
        let id = upload["id"].as_str().unwrap().to_owned();
        let mut sent = 0;
        for (offset, length) in ranges(&upload) {
            for at in (offset..offset + length).step_by(PIECE as usize) {
                let end = (at + PIECE).min(offset + length);
                self.put(&id, at, &bundle[at as usize..end as usize]).data(200);
                sent += end - at;
            }
        }
        (id, sent)
    }

    /// Uploads a bundle and installs it.
    pub fn install(&self, bundle: &[u8]) {
        let (id, _) = self.upload(bundle);
        let installing = self.post(&format!("{UPDATE}/install"), json!({"uploadId": id})).data(202);
        assert_eq!(installing["restarting"], true);
    }

    /// Runs a `hob` command on its data.
    pub fn cli(&self, arguments: &[&str]) -> Ran {
        hob(&self.data(), arguments)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.folder.path(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A file in the root, where there is one.
    pub fn file_in_root(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.root().join(name)).ok()
    }

    /// Everything in the slots, by path: what must not change when a bundle is refused.
    pub fn slots(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = vec![];
        files(&self.root().join("slots"), &mut all);
        all.sort();
        all
    }
}

fn files(folder: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, all),
            false => all.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
}

/// The needed ranges of an upload.
pub fn ranges(upload: &Value) -> Vec<(u64, u64)> {
    let ranges = upload["needed"].as_array().unwrap();
    ranges.iter().map(|r| (r["offset"].as_u64().unwrap(), r["length"].as_u64().unwrap())).collect()
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- the log:\n{}", self.log());
        }
        self.cut_power();
    }
}
