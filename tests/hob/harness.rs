//! Test harness: starts, calls, kills and cleans up the real binary in a folder of its own.

use crate::http::{Events, PATIENCE, Reply, Request};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// The admin token of daemons that are not claimed.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef-test";

/// The binary under test; `HOB_BIN` names another build of it.
pub fn binary() -> PathBuf {
    std::env::var_os("HOB_BIN").map_or_else(|| env!("CARGO_BIN_EXE_hob").into(), PathBuf::from)
}

/// A folder that is deleted with its owner.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("hob-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Its output; the command must have succeeded.
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out.trim_end().to_owned()
    }

    /// Its one-line error; the command must have failed with this code.
    pub fn why(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        assert!(matches!(lines[..], [line] if line.starts_with("hob: ") && line.len() > 12), "{self:?}");
        self.err.trim().to_owned()
    }
}

/// Runs `hob` with a clean environment over the data in `data`, until it ends.
pub fn hob(data: &Path, arguments: &[&str]) -> Ran {
    hob_with(data, arguments, &[], "")
}

pub fn hob_with(data: &Path, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Ran {
    let mut command = Command::new(binary());
    command.env_clear().envs(environment.iter().copied()).arg("--data").arg(data).args(arguments);
    run(command, input)
}

/// Runs a command to its end, or kills it after a timeout.
pub fn run(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let out = read_all(child.stdout.take().unwrap());
    let err = read_all(child.stderr.take().unwrap());
    let code = ended(&mut child).and_then(|s| s.code());
    Ran { code, out: out.join().unwrap(), err: err.join().unwrap() }
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = vec![];
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a child to exit; kills it after a timeout and returns `None`.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Waits until `done`, or fails after a timeout.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How to start a daemon.
pub struct Setup {
    /// Content of its hob.toml.
    pub config: String,
    pub environment: Vec<(String, String)>,
    /// Whether it has the admin token, and so counts as claimed.
    pub claimed: bool,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
    /// A wrapper command; the daemon's binary and arguments are appended.
    pub wrapper: Vec<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: String::new(),
            environment: vec![],
            claimed: true,
            arguments: ["--board", "sim", "--listen", "127.0.0.1:0"].map(str::to_owned).into(),
            wrapper: vec![],
        }
    }
}

/// A running daemon with its data.
pub struct Hob {
    pub folder: Folder,
    pub port: u16,
    pub setup: Setup,
    child: Option<Child>,
    /// Standard input of the wrapper, if it reads any.
    pub input: Option<ChildStdin>,
    log: Arc<Mutex<String>>,
}

impl Hob {
    /// A fresh daemon with an admin token and simulated pins.
    pub fn start() -> Self {
        Self::with(Setup::default())
    }

    pub fn with(setup: Setup) -> Self {
        Self::over(Folder::new(), setup)
    }

    /// A daemon over an existing folder.
    pub fn over(folder: Folder, setup: Setup) -> Self {
        let mut hob = Self { folder, port: 0, setup, child: None, input: None, log: Arc::default() };
        hob.start_again();
        hob
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path("data")
    }

    /// Everything the daemons of this folder have logged.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Starts the daemon and waits until it is ready.
    pub fn start_again(&mut self) {
        assert!(self.child.is_none());
        let mut command = match self.setup.wrapper.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(binary());
                command
            }
            None => Command::new(binary()),
        };
        command.env_clear().envs(self.setup.environment.iter().map(|(k, v)| (k, v)));
        if self.setup.claimed {
            command.env("HOB_TOKEN", TOKEN);
        }
        if !self.setup.wrapper.is_empty() {
            command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        }
        command.args(["serve", "--data"]).arg(self.data()).args(&self.setup.arguments);
        let (file, mut config) = (self.folder.path("test.toml"), self.setup.config.clone());
        // Tests call faster than people; tests of the limits set them.
        // The pages of bookmarks are on the internet.
        if !config.contains("[bookmarks]") {
            config += "\n[bookmarks]\npage_titles = false\n";
        }
        if !config.contains("[limits]") {
            config += "\n[limits]\ncalls = 0\n";
        }
        std::fs::write(&file, config).unwrap();
        command.arg("--config").arg(file);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        self.input = child.stdin.take();
        let (ready, told) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || out.lines().map_while(Result::ok).for_each(|line| drop(ready.send(line))));
        let (err, log) = (BufReader::new(child.stderr.take().unwrap()), self.log.clone());
        thread::spawn(move || {
            err.lines().map_while(Result::ok).for_each(|line| *log.lock().unwrap() += &format!("{line}\n"))
        });
        self.child = Some(child);
        let line = told.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("not ready ({e}):\n{}", self.log()));
        let port = line.strip_prefix("hob ready http://127.0.0.1:").and_then(|port| port.parse().ok());
        self.port = port.unwrap_or_else(|| panic!("not what a ready daemon says: {line}"));
    }

    /// Kills the daemon like a power cut.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// After a kill: the doctor finds nothing wrong with the data.
    pub fn assert_sound(&self) {
        assert!(self.child.is_none());
        let told = self.cli(&["doctor"]).ok();
        assert!(told.contains("every page is sound") && told.contains("all sound"), "{told}");
        assert!(told.contains("agree with their records") && !told.contains("do not agree"), "{told}");
    }

    /// The doctor of a running daemon finds that every index agrees with its records.
    pub fn assert_agrees(&self) {
        let doctor = self.get("/api/v1/doctor").data(200);
        let line = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "indexes").cloned();
        let line = line.unwrap_or_else(|| panic!("no line about indexes: {doctor}"));
        assert_eq!(line["outcome"], "well", "{line}");
        assert!(line["text"].as_str().unwrap().contains("agree with their records"), "{line}");
    }

    /// Stops the daemon gracefully and returns its exit code.
    pub fn stop(&mut self) -> Option<i32> {
        let mut child = self.child.take().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        ended(&mut child).and_then(|s| s.code())
    }

    /// Waits until the daemon ends by itself; returns its exit code.
    pub fn ended(&mut self) -> Option<i32> {
        ended(&mut self.child.take().unwrap()).and_then(|s| s.code())
    }

    /// Asserts that it still runs and answers.
    pub fn assert_alive(&mut self) {
        let health = self.request("GET", "/healthz").send().json();
        assert_eq!(health["status"], "ok");
        assert!(self.child.as_mut().unwrap().try_wait().unwrap().is_none());
        assert!(!self.data().join("crash").exists(), "something broke inside:\n{}", self.log());
    }

    /// An unauthenticated request.
    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.port, method, path)
    }

    /// A request with the admin token.
    pub fn admin(&self, method: &str, path: &str) -> Request {
        self.request(method, path).bearer(TOKEN)
    }

    pub fn get(&self, path: &str) -> Reply {
        self.admin("GET", path).send()
    }

    pub fn post(&self, path: &str, body: Value) -> Reply {
        self.admin("POST", path).json(&body).send()
    }

    /// Calls a tool over HTTP.
    pub fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.post(&format!("/api/v1/tools/{tool}/execute"), json!({"arguments": arguments}))
    }

    /// The result of a call that must succeed.
    pub fn result(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments).data(200)["result"].clone()
    }

    /// Sends a chat message and returns the answer.
    pub fn say(&self, text: &str) -> Value {
        self.post("/api/v1/chat", json!({"message": text})).data(200)
    }

    /// Runs `work` and approves every question meanwhile; also returns their number.
    pub fn allowing<T>(&self, work: impl FnOnce() -> T) -> (T, usize) {
        let over = AtomicU32::new(0);
        thread::scope(|scope| {
            let answering = scope.spawn(|| {
                let mut asked = 0;
                while over.load(Ordering::Relaxed) == 0 {
                    for question in self.get("/api/v1/approvals").data(200)["approvals"].as_array().unwrap() {
                        let path = format!("/api/v1/approvals/{}/decide", question["id"].as_str().unwrap());
                        self.post(&path, json!({"decision": "allow_once", "nonce": question["nonce"]})).data(200);
                        asked += 1;
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                asked
            });
            // Also when the work panics, or the scope would wait for ever.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            over.store(1, Ordering::Relaxed);
            let asked = answering.join().unwrap();
            (done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), asked)
        })
    }

    /// Sends a chat message and returns the event stream.
    pub fn stream(&self, body: Value) -> Events {
        let mut body = body;
        body["stream"] = true.into();
        self.admin("POST", "/api/v1/chat").json(&body).events()
    }

    /// Runs a `hob` command on this daemon's data.
    pub fn cli(&self, arguments: &[&str]) -> Ran {
        hob(&self.data(), arguments)
    }

    /// A new token for a person.
    pub fn token(&self, name: &str, role: &str) -> String {
        self.cli(&["token", "new", name, "--role", role]).ok()
    }

    /// All memories of this person with a tag.
    pub fn tagged(&self, tag: &str) -> Vec<String> {
        let listed = self.result("list_memories", json!({"tags": [tag], "limit": 50}));
        let memories = listed["memories"].as_array().unwrap();
        memories.iter().map(|m| m["content"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Hob {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- the daemon's log:\n{}", self.log());
        }
        self.kill();
    }
}

/// Seeded random numbers; the seed is printed on failure.
pub struct Dice(pub u64);

impl Dice {
    /// A new random seed.
    pub fn fresh() -> Self {
        use std::hash::{BuildHasher, Hasher};
        Self(std::collections::hash_map::RandomState::new().build_hasher().finish())
    }

    pub fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }
}
