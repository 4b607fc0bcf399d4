//! Runs programs for calls: with the caller's files, within limits, and with what they changed marked and undoable.

use crate::{
    Workshop,
    output::{Keep, Stream, breaks_off, finished},
    sessions::{Finish, NewSession, Readable, Session},
};
use futures::future::BoxFuture;
use process_sandbox::{Access, Connection, Ended, Gate, Job, Limits, Mount, Network, Process, Stdin, TerminalSize};
use serde_json::json;
use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use store::ChangeSource;
use tokio_util::sync::CancellationToken;
use tool::{Consult, Cx, Error, Id, Label, Result, Risk};
use workspace::{ChangedFiles, ProgramWatch, WorkspaceAccess, WorkspaceMount};

/// How long a program waits for its turn while too many others run.
const TURN: Duration = Duration::from_secs(30);
/// The shortest time between two reports of progress, and the most text in one.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
const PROGRESS_TEXT: usize = 4 * 1024;

/// A program to run.
pub struct Program {
    /// Its path in the sandbox; [`Workshop::find`] returns it.
    pub program: PathBuf,
    /// Without its name.
    pub args: Vec<OsString>,
    pub env: Vec<(String, String)>,
    /// Its working directory, as the caller wrote it; the workspace itself by default.
    pub folder: Option<String>,
    /// Whether it can change no file.
    pub read_only: bool,
    /// Whether it sees the caller's files at all.
    pub sees_files: bool,
    /// Further folders and files that it sees.
    pub mounts: Vec<Mount>,
    pub limits: Limits,
    pub network: Network,
    pub stdin: Stdin,
    /// With a size it gets a terminal.
    pub terminal: Option<TerminalSize>,
}

impl Program {
    /// A program in the caller's workspace, which it may change; no network, no input, and limits by default.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: vec![],
            folder: None,
            read_only: false,
            sees_files: true,
            mounts: vec![],
            limits: Limits::default(),
            network: Network::None,
            stdin: Stdin::Empty,
            terminal: None,
        }
    }
}

/// A program that has ended. Its output is scrubbed and has nothing in it that steers a terminal.
#[derive(Debug, Clone)]
pub struct Ran {
    pub ended: Ended,
    pub stdout: String,
    pub stderr: String,
    /// Whether output is missing because it was too much.
    pub is_cut: bool,
    pub wall: Duration,
    /// The files that it changed.
    pub changed: ChangedFiles,
    /// The label of what it printed.
    pub label: Label,
}

/// A program that is ready to start.
struct Prepared {
    job: Job,
    files: ProgramWatch,
    readable: Readable,
}

/// Programs that tools need, and the packages of Debian that bring them.
const PACKAGES: &[(&[&str], &str)] = &[
    (&["python3", "python"], "python3"),
    (&["pip", "pip3"], "python3-pip"),
    (&["node"], "nodejs"),
    (&["npm", "npx"], "npm"),
    (&["gcc", "cc"], "gcc libc6-dev"),
    (&["g++", "c++"], "g++"),
    (&["rustc", "cargo"], "rustc cargo"),
    (&["go"], "golang-go"),
    (&["java", "javac"], "default-jdk-headless"),
    (&["tsc"], "node-typescript"),
    (&["git"], "git"),
    (&["bash"], "bash"),
];

impl Workshop {
    /// The path of a program by its name.
    ///
    /// # Errors
    /// `Unavailable` where it is not installed, with what to do; where nothing can be run at all, with the reason.
    pub fn find(&self, name: &str) -> Result<PathBuf> {
        self.check()?;
        self.sandbox.find(name).ok_or_else(|| missing(name))
    }

    /// Whether programs can be run here at all.
    ///
    /// # Errors
    /// `Unavailable`, with the reason.
    pub fn check(&self) -> Result<()> {
        match self.sandbox.refusal() {
            None => Ok(()),
            Some(why) => Err(Error::unavailable(format!(
                "programs run only in a sandbox, and this device cannot make one: {why}"
            ))
            .say("I can't run programs here: this device can't shut them in safely.")),
        }
    }

    /// Network access for a call that asks for it: through Hob's guard, and only once a person approved it. A call that a
    /// person makes by hand is their approval.
    ///
    /// # Errors
    /// `Denied` where a rule or a person refuses.
    pub async fn network(&self, cx: &Cx, tool: &str, command: &str) -> Result<Network> {
        self.approve_network(cx, tool, command).await?;
        Ok(Network::Guarded(Arc::new(Judged { gate: self.gate.clone(), cx: cx.clone(), tool: tool.to_owned() })))
    }

    /// Asks a person whether a call may reach the network, unless they make it by hand.
    ///
    /// # Errors
    /// `Denied` where a rule or a person refuses.
    pub(crate) async fn approve_network(&self, cx: &Cx, tool: &str, command: &str) -> Result<()> {
        let shown = self.scrubber.text(command, scrub::How::All).into_owned();
        let consult = Consult {
            tool: tool.to_owned(),
            version: 0,
            action: "network",
            details: json!({"command": text_kit::truncate(&shown, 2000)}),
            risk: Risk::Send,
            ask: !cx.is_in_person(),
            about: format!("Let this reach the internet: {}", text_kit::truncate(&text_kit::one_line(&shown), 200)),
            reason: format!("`{tool}` would run a program that reaches the internet, which needs a person's approval"),
        };
        cx.ports().ask.consult(cx.clone(), consult).await
    }

    /// Runs a program to its end. Its output is reported as progress of the call.
    ///
    /// # Errors
    /// `Unavailable` where nothing can be run, or too much runs; `BadArgs` and `NotFound` for its working directory; `Failed`
    /// where the sandbox fails.
    pub async fn run(&self, cx: &Cx, program: Program) -> Result<Ran> {
        let turn = tokio::time::timeout(TURN, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Error::unavailable("too many programs run at once: try again in a minute"));
        };
        let prepared = self.prepare(cx, program).await?;
        let (this, cx, cancel) = (self.clone(), cx.clone(), cx.cancel().child_token());
        let guard = cancel.clone().drop_guard();
        // A task of its own: what the program changed is marked even if nobody waits for it any more.
        let work = async move {
            let ran = this.run_prepared(&cx, prepared, &cancel).await;
            drop(turn);
            ran
        };
        let done = tokio::spawn(store::inherit_effect(work)).await;
        drop(guard);
        done.unwrap_or_else(|_| Err(Error::failed("running the program broke inside; this is a fault of Hob")))
    }

    async fn run_prepared(&self, cx: &Cx, prepared: Prepared, cancel: &CancellationToken) -> Result<Ran> {
        let Prepared { job, files, readable } = prepared;
        let before = readable().max(cx.label());
        let most = job.limits.output;
        let begun = Instant::now();
        let process = self.sandbox.start(job).await.map_err(sandbox_error);
        let collected = match process {
            Ok(process) => Ok(self.collect(cx, process, cancel, most).await),
            Err(error) => Err(error),
        };
        let wall = begun.elapsed();
        // A file from outside may have come while it ran.
        let label = before.max(readable()).max(cx.label());
        let changed = self.workspaces.after_program(files, label).await?;
        let label = changed.label;
        let (ended, out, err) = collected?;
        let is_cut = ended == Ended::OutputLimit;
        let clean = |bytes: &[u8]| finished(bytes, breaks_off(ended), &self.scrubber);
        Ok(Ran { ended, stdout: clean(&out), stderr: clean(&err), is_cut, wall, changed, label })
    }

    async fn collect(
        &self,
        cx: &Cx,
        mut process: Process,
        cancel: &CancellationToken,
        most: u64,
    ) -> (Ended, Vec<u8>, Vec<u8>) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut progress = Progress::new(self, cx);
        loop {
            let chunk = tokio::select! {
                chunk = process.next() => chunk,
                () = cancel.cancelled() => {
                    process.stop();
                    break;
                }
                () = tokio::time::sleep(PROGRESS_EVERY), if progress.waits() => {
                    progress.report();
                    continue;
                }
            };
            let Some(chunk) = chunk else { break };
            progress.push(&chunk.bytes);
            let into = if chunk.stream == process_sandbox::Stream::Err { &mut err } else { &mut out };
            if (into.len() as u64) < most {
                into.extend_from_slice(&chunk.bytes);
            }
        }
        (process.wait().await, out, err)
    }

    /// Starts a program that goes on by itself. `details` makes what is stored with it at its end.
    ///
    /// # Errors
    /// As [`Workshop::run`]; `Unavailable` where too many of the caller's programs run.
    pub async fn start(&self, cx: &Cx, program: Program, new: NewSession, details: Option<Details>) -> Result<Session> {
        self.sessions.check_room(cx)?;
        let has_network = matches!(program.network, Network::Guarded(_));
        let Prepared { job, files, readable } = self.prepare(cx, program).await?;
        if has_network {
            cx.taint(Label::Outside);
        }
        let this = self.clone();
        // Its changes of files are one change of their own, whenever it ends.
        let change = ChangeSource {
            id: Id::new(),
            user: cx.user(),
            tool: "exec".into(),
            conversation: cx.conversation(),
            run: cx.run(),
            unattended: true,
            undoes: None,
        };
        let finish: Finish = Box::new(move |ended| {
            let label = ended.label;
            let details = details.map(|details| details(ended.status, ended.code, ended.output));
            Box::pin(async move {
                let marked = store::with_change(Some(change), this.workspaces.after_program(files, label));
                if let Err(error) = marked.await {
                    tracing::warn!(%error, "what a program changed could not be marked");
                }
                details
            })
        });
        match self.sandbox.start(job).await {
            Ok(process) => self.sessions.follow(cx, new, process, readable, finish).await,
            // Nothing ran, so nothing changed.
            Err(error) => Err(sandbox_error(error)),
        }
    }

    async fn prepare(&self, cx: &Cx, program: Program) -> Result<Prepared> {
        self.check()?;
        let folder = self.workspaces.locate(cx, program.folder.as_deref().unwrap_or("."))?;
        let sees_files = program.sees_files;
        let dir = if sees_files { folder.inside() } else { PathBuf::from("/tmp") };
        let changes = sees_files && !program.read_only;
        let access = if changes { WorkspaceAccess::ReadWrite } else { WorkspaceAccess::ReadOnly };
        // It sees the place where paths begin, that of its folder, and those that its arguments or variables name. All it can read counts as
        // read, and all it can change is looked at before and after.
        let first = self.workspaces.locate(cx, ".")?.place_id().to_owned();
        let args = program.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let words: Vec<String> = args.chain(program.env.iter().map(|(_, value)| value.clone())).collect();
        let here = folder.place_id().to_owned();
        let wanted = Arc::new(move |id: &str| {
            let path = format!("/places/{id}");
            sees_files && (id == first || id == here || words.iter().any(|word| word.contains(&path)))
        });
        let has_network = matches!(program.network, Network::Guarded(_));
        let (workspaces, caller, read) = (self.workspaces.clone(), cx.clone(), wanted.clone());
        let readable: Readable = Box::new(move || {
            if has_network {
                return Label::Outside;
            }
            workspaces.worst_of(&caller, &*read).unwrap_or(Label::Outside)
        });
        let (workspaces, caller) = (self.workspaces.clone(), cx.clone());
        let looked = tokio::task::spawn_blocking(move || {
            if sees_files {
                workspaces.open_dir(&folder)?;
            }
            let mounts = workspaces.mounts_of(&caller, access, &*wanted)?;
            let network = if has_network { Label::Outside } else { Label::Own };
            Ok((workspaces.before_program_with(&caller, access, network, &*wanted)?, mounts))
        });
        let (files, mounts) = looked
            .await
            .unwrap_or_else(|_| Err(Error::failed("looking at the files broke inside; this is a fault of Hob")))?;
        let job = Job {
            program: program.program,
            part: None,
            args: program.args,
            env: environment(program.env),
            dir,
            mounts: mounts.into_iter().map(mounted).chain(program.mounts).collect(),
            limits: program.limits,
            network: program.network,
            stdin: program.stdin,
            terminal: program.terminal,
        };
        Ok(Prepared { job, files, readable })
    }
}

/// A gate that asks the caller's rules about each host.
struct Judged {
    gate: Arc<dyn Gate>,
    cx: Cx,
    tool: String,
}

impl Gate for Judged {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            let consult = Consult {
                tool: self.tool.clone(),
                version: 0,
                action: "fetch",
                details: json!({"host": host}),
                risk: Risk::Send,
                ask: false,
                about: String::new(),
                reason: String::new(),
            };
            self.cx.ports().ask.consult(self.cx.clone(), consult).await.map_err(|e| io::Error::other(e.to_string()))?;
            self.gate.connect(host, port).await
        })
    }
}

/// Makes what is stored with a program at its end, from its status, exit code and the last of its output.
pub type Details = Box<dyn FnOnce(crate::sessions::Status, Option<i32>, &str) -> serde_json::Value + Send>;

/// The environment of every program, under the variables that its tool sets.
fn environment(own: Vec<(String, String)>) -> Vec<(String, String)> {
    let defaults = [
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        // Packages for Python that a person or model installs live in the workspace.
        ("PYTHONUSERBASE", "/workspace/.local"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONUNBUFFERED", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("NO_COLOR", "1"),
    ];
    let mut all: Vec<(String, String)> = defaults
        .into_iter()
        .filter(|(name, _)| !own.iter().any(|(other, _)| other == name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    all.extend(own);
    all
}

pub(crate) fn mounted(mount: WorkspaceMount) -> Mount {
    let access = if mount.read_only { Access::ReadOnly } else { Access::ReadWrite };
    Mount { source: mount.source, target: mount.target, access, covered: mount.covered }
}

fn missing(name: &str) -> Error {
    let package = PACKAGES.iter().find(|(names, _)| names.contains(&name)).map_or(name, |(_, package)| package);
    Error::unavailable(format!(
        "there is no `{name}` on this device: an admin can install it (Debian: apt-get install {package}). Hob's own small \
         image has none; build it with the package (firmware-image/packages), or run Hob on a full system"
    ))
    .say(format!("There is no {name} on this device. An admin can install it."))
}

/// The error of a call for one of the sandbox.
pub fn sandbox_error(error: process_sandbox::Error) -> Error {
    use process_sandbox::Error as E;
    match error {
        E::Unavailable(why) => Error::unavailable(why),
        E::BadJob(why) => Error::bad_args(why),
        error @ E::NotExecutable { .. } => Error::unavailable(error.to_string()),
        E::Failed(_) => Error::failed(error.to_string()),
    }
}

/// The output of a program, as progress of its call.
struct Progress<'a> {
    cx: &'a Cx,
    stream: Stream,
    text: String,
    last: Instant,
}

impl<'a> Progress<'a> {
    fn new(workshop: &Workshop, cx: &'a Cx) -> Self {
        let stream = Stream::new(workshop.scrubber.clone(), Keep::Text);
        Self { cx, stream, text: String::new(), last: Instant::now() }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.text.push_str(&self.stream.push(bytes));
        if self.text.len() > 2 * PROGRESS_TEXT {
            let cut = self.text.ceil_char_boundary(self.text.len() - PROGRESS_TEXT);
            self.text.drain(..cut);
        }
        if self.last.elapsed() >= PROGRESS_EVERY {
            self.report();
        }
    }

    fn waits(&self) -> bool {
        !self.text.is_empty()
    }

    fn report(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        let text = &text[text.ceil_char_boundary(text.len().saturating_sub(PROGRESS_TEXT))..];
        let note = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let data = json!({"callId": self.cx.call_id(), "runId": self.cx.run(), "note": text_kit::truncate(note.trim(), 200),
                          "output": text});
        self.cx.ports().bus.publish("tool:progress", Some(self.cx.user()), data);
        self.last = Instant::now();
    }
}
