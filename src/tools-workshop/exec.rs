//! Tools that run shell commands: `exec`, `execute_shell`, and those for commands that go on in the background.

use crate::{
    Program, Workshop, deny,
    destroys::{Existing, code_destroys, command_destroys},
    result::{Form, answer},
    sessions::{INPUT, NewSession, Session, Status},
};
use process_sandbox::{Limits, Network, Stdin};
use std::time::Duration;
use text_kit::{More, counted_one, listing, one_line, truncate};
use tool::prelude::*;

/// How long a command may take by default and at most, in seconds.
const TIME: (u32, u32) = (60, 300);
/// The same in the background.
const IN_BACKGROUND: (u32, u32) = (3600, 6 * 3600);
/// The same for `execute_shell` and the tools for code, and the most bytes of output.
pub(crate) const CODE_TIME: (u32, u32) = (30, 30);
pub(crate) const CODE_OUTPUT: u64 = 1 << 20;
/// How much longer a call may take than its program: for its turn, its files and their marks.
pub(crate) const AROUND: Duration = Duration::from_secs(60);
/// How long a call waits for a background command that fails at once.
const FIRST_LOOK: Duration = Duration::from_millis(700);
/// The longest command, in bytes.
const COMMAND: usize = 64 * 1024;
/// How much of a background command's output one call returns, by default and at most.
const PART: (u32, u32) = (16 * 1024, 64 * 1024);

/// Names that other APIs give the parameters.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("cmd", "command"),
    ("cwd", "workingDir"),
    ("workdir", "workingDir"),
    ("dir", "workingDir"),
    ("directory", "workingDir"),
    ("workingDirectory", "workingDir"),
    ("working_directory", "workingDir"),
    ("timeoutSeconds", "timeout"),
    ("timeout_seconds", "timeout"),
    ("timeoutMs", "timeout"),
    ("timeout_ms", "timeout"),
    ("runInBackground", "background"),
    ("run_in_background", "background"),
    ("isBackground", "background"),
    ("is_background", "background"),
    ("stdin", "input"),
];

/// `exec`, and the tools for commands in the background.
pub fn commands(workshop: Workshop) -> Family<Workshop> {
    Family::new("runtime", "Run commands in the workspace.", workshop)
        .title("Commands")
        .area(Area::CodeExecute)
        .tool("exec", Risk::Execute, exec)
        .destroys_here(|workshop, cx, args| args["readOnly"] != true && destroys(workshop, cx, args))
        .additive_where(|_, _, args| args["readOnly"] == true)
        .synonyms(SYNONYMS)
        .shows(&["workingDir", "timeout", "background", "readOnly", "network"])
        .timeout(Duration::from_secs(TIME.1 as u64) + AROUND)
        .ability("run commands")
        .tags("shell bash sh terminal command line run script program execute build test background")
        .example(json!({"command": "ls -la"}))
        .tool("list_processes", Risk::Observe, list)
        .tags("background jobs commands running sessions ps")
        .tool("read_process", Risk::Observe, read)
        .synonyms(&[("processId", "id"), ("sessionId", "id"), ("offset", "from")])
        .tags("background job output log poll tail wait")
        .example(json!({"id": "0197c0de-0000-7000-8000-000000000000"}))
        .tool("write_process", Risk::Execute, write)
        .destroys_here(|workshop, cx, args| {
            let text = typed(workshop, cx, &args["id"], args["input"].as_str().unwrap_or_default());
            code_destroys(&text) || command_destroys(&text, "", &Here { workshop, cx, folder: "." })
        })
        .additive_where(|_, _, _| false)
        .synonyms(&[("processId", "id"), ("sessionId", "id"), ("stdin", "input"), ("text", "input"), ("data", "input")])
        .tags("background job input stdin type answer send keys")
        .example(json!({"id": "0197c0de-0000-7000-8000-000000000000", "input": "yes\n"}))
        .tool("stop_process", Risk::Execute, stop)
        .synonyms(&[("processId", "id"), ("sessionId", "id")])
        .tags("background job kill cancel end terminate")
        .example(json!({"id": "0197c0de-0000-7000-8000-000000000000"}))
}

/// Adds `execute_shell` to the family for code.
pub(crate) fn with_shell(family: Family<Workshop>) -> Family<Workshop> {
    family
        .tool("execute_shell", Risk::Execute, execute_shell)
        .destroys_here(|workshop, cx, args| args["readOnly"] != true && destroys(workshop, cx, args))
        .additive_where(|_, _, args| args["readOnly"] == true)
        .synonyms(SYNONYMS)
        .shows(&["workingDir", "readOnly"])
        .per_minute(5)
        .timeout(Duration::from_secs(CODE_TIME.1 as u64) + AROUND)
        .ability("run code")
        .tags("bash sh terminal command line run script")
        .example(json!({"command": "ls -la"}))
}

/// Run a shell command in a sandbox with the files of the workspace. Other places are at /places/NAME. It has no network unless `network` is true, which a person
/// has to approve.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Exec {
    /// The command, for `sh`.
    command: String,
    /// Folder to run it in, relative to the workspace.
    working_dir: Option<String>,
    /// Seconds it may take: 60 by default, 300 at most; in the background 3600 and 21600. Numbers from 1000 on are milliseconds,
    /// unless it runs in the background.
    timeout: Option<f64>,
    /// Leave it running and return its id at once, for servers and long builds.
    #[serde(default)]
    background: bool,
    /// Let it change no file.
    #[serde(default)]
    read_only: bool,
    /// Let it reach the internet.
    #[serde(default)]
    network: bool,
    /// Text for its standard input.
    input: Option<String>,
}

async fn exec(workshop: Workshop, cx: Cx, args: Exec) -> Result<Output> {
    let program = shell(&workshop, &args.command, args.input)?;
    let network = if args.network { workshop.network(&cx, "exec", &args.command).await? } else { Network::None };
    let bounds = if args.background { IN_BACKGROUND } else { TIME };
    let wall = seconds(args.timeout, bounds, args.background);
    let limits = Limits { wall, cpu: wall, output: CODE_OUTPUT, ..workshop.limits() };
    let program = Program { folder: args.working_dir.clone(), read_only: args.read_only, limits, network, ..program };
    if !args.background {
        return Ok(answer(&workshop.run(&cx, program).await?, Form::Command));
    }
    let limits = Limits { output: u64::MAX, ..program.limits };
    let stdin = if matches!(program.stdin, Stdin::Empty) { Stdin::Open } else { program.stdin };
    let new = NewSession {
        kind: "command",
        title: truncate(&one_line(&args.command), 80),
        command: args.command,
        folder: args.working_dir.unwrap_or_else(|| ".".into()),
        terminal: false,
        details: json!({}),
    };
    let started = workshop.start(&cx, Program { limits, stdin, ..program }, new, None).await?;
    workshop.sessions.wait(&cx, started.id, FIRST_LOOK).await?;
    let (session, part) = workshop.sessions.read(&cx, started.id, None, PART.0 as usize)?;
    let runs = session.status == Status::Running;
    let sentence = if runs { "It runs in the background." } else { "It has ended already." };
    let mut content = view(&session);
    content["output"] = part.text.into();
    content["next"] = part.next.into();
    if runs {
        content["hint"] = "read_process returns what it prints later; stop_process ends it".into();
    }
    Ok(Output::json(content)?.say(sentence))
}

/// Run a shell command in a sandbox, within 30 seconds and 1 MB of output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExecuteShell {
    /// The command, for `sh`.
    command: String,
    /// Folder to run it in, relative to the workspace.
    working_dir: Option<String>,
    /// Seconds it may take, 30 at most.
    timeout: Option<f64>,
    /// Let it change no file.
    #[serde(default)]
    read_only: bool,
    /// Let it reach the internet, which a person has to approve.
    #[serde(default)]
    network: bool,
    /// Text for its standard input.
    input: Option<String>,
}

async fn execute_shell(workshop: Workshop, cx: Cx, args: ExecuteShell) -> Result<Output> {
    let program = shell(&workshop, &args.command, args.input)?;
    let network =
        if args.network { workshop.network(&cx, "execute_shell", &args.command).await? } else { Network::None };
    let limits = code_limits(&workshop, args.timeout);
    let program = Program { folder: args.working_dir, read_only: args.read_only, limits, network, ..program };
    Ok(answer(&workshop.run(&cx, program).await?, Form::Code))
}

/// The shell with a command, once the command is one that may run.
fn shell(workshop: &Workshop, command: &str, input: Option<String>) -> Result<Program> {
    if command.trim().is_empty() {
        return Err(Error::bad_args("the command is empty: give what `sh` should run"));
    }
    if command.len() > COMMAND || command.contains('\0') {
        return Err(Error::bad_args(format!(
            "the command is longer than {} KB, or has a zero byte in it: write it to a file, and run that",
            COMMAND / 1024
        )));
    }
    deny::check(command)?;
    if let Some(input) = &input
        && command_destroys(command, input, &Nothing)
    {
        deny::check(input)?;
    }
    let shell = workshop.find("sh")?;
    Ok(Program { stdin: given(input)?, ..Program::new(shell, ["-c", command]) })
}

/// The standard input that was given.
pub(crate) fn given(input: Option<String>) -> Result<Stdin> {
    match input {
        None => Ok(Stdin::Empty),
        Some(text) if text.len() > CODE_OUTPUT as usize => {
            Err(Error::bad_args("the input is longer than 1 MB: write it to a file, and read that"))
        }
        Some(text) => Ok(Stdin::Bytes(text.into_bytes())),
    }
}

/// A time in seconds within its bounds. Other APIs count milliseconds.
pub(crate) fn seconds(given: Option<f64>, (default, most): (u32, u32), always_seconds: bool) -> Duration {
    let given = given.filter(|n| n.is_finite() && *n > 0.0).unwrap_or_else(|| default.into());
    let given = if given >= 1000.0 && !always_seconds { given / 1000.0 } else { given };
    Duration::from_secs_f64(given.clamp(0.1, most.into()))
}

/// Limits of the tools for code.
pub(crate) fn code_limits(workshop: &Workshop, timeout: Option<f64>) -> Limits {
    let wall = seconds(timeout, CODE_TIME, false);
    Limits { wall, cpu: wall, output: CODE_OUTPUT, ..workshop.limits() }
}

fn destroys(workshop: &Workshop, cx: &Cx, args: &Value) -> bool {
    let command = args["command"].as_str().unwrap_or_default();
    let input = args["input"].as_str().unwrap_or_default();
    let folder = args["workingDir"].as_str().unwrap_or(".");
    command.len() <= COMMAND
        && input.len() <= CODE_OUTPUT as usize
        && deny::forbidden(command).is_none()
        && command_destroys(command, input, &Here { workshop, cx, folder })
}

/// The line that input to a program makes, with what was typed of it before.
fn typed(workshop: &Workshop, cx: &Cx, id: &Value, input: &str) -> String {
    let before = id.as_str().and_then(|id| id.parse().ok()).and_then(|id| workshop.sessions.unfinished(cx, id).ok());
    before.unwrap_or_default() + input
}

/// Whether a command in a folder would delete or overwrite files of the caller, judged by its words. One that is refused in any
/// case needs no question.
pub fn would_destroy(workshop: &Workshop, cx: &Cx, command: &str, folder: &str) -> bool {
    deny::forbidden(command).is_none() && command_destroys(command, "", &Here { workshop, cx, folder })
}

/// A place without files.
struct Nothing;

impl Existing for Nothing {
    fn is_there(&self, _: &str) -> bool {
        false
    }
    fn is_folder(&self, _: &str) -> bool {
        false
    }
}

/// The caller's files, as a command in a folder sees them.
pub(crate) struct Here<'a> {
    pub workshop: &'a Workshop,
    pub cx: &'a Cx,
    pub folder: &'a str,
}

impl Here<'_> {
    /// Whether there is something for which this holds. What cannot be looked at counts.
    fn look(&self, path: &str, holds: impl Fn(workspace::EntryKind) -> bool) -> bool {
        let files = &self.workshop.workspaces;
        let inside = if path.starts_with('/') {
            path.to_owned()
        } else {
            match files.locate(self.cx, self.folder) {
                Ok(folder) => folder.inside().join(path).display().to_string(),
                // The call fails because of it.
                Err(_) => return false,
            }
        };
        let Ok(located) = files.locate(self.cx, &inside) else { return false };
        match files.kind_of(&located) {
            Ok(kind) => kind.is_some_and(holds),
            Err(_) => true,
        }
    }
}

impl Existing for Here<'_> {
    fn is_there(&self, path: &str) -> bool {
        self.look(path, |_| true)
    }
    fn is_folder(&self, path: &str) -> bool {
        self.look(path, |kind| kind == workspace::EntryKind::Folder)
    }
}

fn view(session: &Session) -> Value {
    let mut view = json!({"id": session.id, "command": session.command, "status": session.status,
                          "startedAt": session.started_at});
    if let Some(code) = session.exit_code {
        view["exitCode"] = code.into();
    }
    if let Some(ended) = session.ended_at {
        view["endedAt"] = ended.into();
        view["durationMs"] = ended.saturating_sub(session.started_at).into();
    }
    if session.kind != "command" {
        view["kind"] = session.kind.clone().into();
        view["title"] = session.title.clone().into();
    }
    view
}

/// List the commands that run in the background, and those that ended.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only those that run.
    #[serde(default)]
    running: bool,
}

async fn list(workshop: Workshop, cx: Cx, args: List) -> Result<Output> {
    let mut all = workshop.sessions.list(&cx, None)?;
    all.retain(|session| !args.running || session.status == Status::Running);
    if all.iter().any(|session| session.outside) {
        cx.taint(tool::Label::Outside);
    }
    let named: Vec<String> =
        all.iter().map(|session| format!("{} ({})", session.title, word(session.status))).collect();
    let sentence = match named.len() {
        0 => "No command runs in the background.".to_owned(),
        n => listing(&counted_one(n, "command"), &named, More::None),
    };
    let all: Vec<Value> = all.iter().map(view).collect();
    Ok(Output::json(json!({"count": all.len(), "processes": all}))?.say(sentence))
}

/// The name of a status in JSON.
fn word(status: Status) -> String {
    json!(status).as_str().unwrap_or_default().replace('-', " ")
}

/// Read what a command in the background has printed, and how it is doing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// Id of the process.
    id: Id,
    /// Offset to begin at: `next` of the answer before. Default: at the end of what it has printed.
    from: Option<u64>,
    /// The most bytes; 16384 by default, 65536 at most.
    limit: Option<u32>,
    /// Wait until it has ended, for this many seconds at most; 45 at most.
    wait: Option<f64>,
}

async fn read(workshop: Workshop, cx: Cx, args: Read) -> Result<Output> {
    if let Some(wait) = args.wait {
        workshop.sessions.wait(&cx, args.id, seconds(Some(wait), (1, 45), true)).await?;
    }
    let most = args.limit.unwrap_or(PART.0).clamp(1, PART.1) as usize;
    let (session, part) = workshop.sessions.read(&cx, args.id, args.from, most)?;
    let text = crate::output::harmless(&part.text, crate::output::Keep::Text);
    let sentence = match session.status {
        Status::Running => "It still runs.".to_owned(),
        Status::Exited => format!("It ended with exit code {}.", session.exit_code.unwrap_or_default()),
        status => format!("It ended: {}.", word(status)),
    };
    let mut content = view(&session);
    content["output"] = text.into();
    content["from"] = part.from.into();
    content["next"] = part.next.into();
    Ok(Output::json(content)?.say(sentence))
}

/// Type into a command that runs in the background.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// Id of the process.
    id: Id,
    /// The text, with a line break where one would press Enter.
    #[serde(default)]
    input: String,
    /// End its standard input afterwards.
    #[serde(default)]
    close: bool,
}

async fn write(workshop: Workshop, cx: Cx, args: Write) -> Result<Output> {
    if args.input.len() > INPUT {
        return Err(Error::bad_args(format!("the input is longer than {} KB: give it in parts", INPUT / 1024)));
    }
    deny::check(&(workshop.sessions.unfinished(&cx, args.id)? + &args.input))?;
    if !args.input.is_empty() {
        workshop.sessions.write(&cx, args.id, Some(args.input)).await?;
    }
    if args.close {
        workshop.sessions.write(&cx, args.id, None).await?;
    }
    let session = workshop.sessions.get(&cx, args.id)?;
    Ok(Output::json(view(&session))?.say("I passed it on."))
}

/// Stop a command that runs in the background.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stop {
    /// Id of the process.
    id: Id,
}

async fn stop(workshop: Workshop, cx: Cx, args: Stop) -> Result<Output> {
    let session = workshop.sessions.stop(&cx, args.id).await?;
    Ok(Output::json(view(&session))?.say("I stopped it."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_held_to_their_bounds() {
        for (given, always, expected) in [
            (None, false, 60.0),
            (Some(5.0), false, 5.0),
            (Some(300.0), false, 300.0),
            (Some(400.0), false, 300.0),
            (Some(120_000.0), false, 120.0),
            (Some(600_000.0), false, 300.0),
            (Some(0.0), false, 60.0),
            (Some(-1.0), false, 60.0),
            (Some(f64::NAN), false, 60.0),
            (Some(1e300), false, 300.0),
        ] {
            assert_eq!(seconds(given, TIME, always).as_secs_f64(), expected, "{given:?}");
        }
        assert_eq!(seconds(Some(7200.0), IN_BACKGROUND, true).as_secs(), 7200);
        assert_eq!(seconds(Some(99.0), CODE_TIME, false).as_secs(), 30);
    }
}
