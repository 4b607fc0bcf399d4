//! `run_coding_task` and the tools for its results. A task is a session with a terminal: a person sees its output as it comes,
//! and types into it or stops it; what is left of it is its result.

use crate::{
    Program, Session, Status,
    coding::{CodingAgents, agents::CodingAgent, check_use},
    gate, output,
};
use futures::FutureExt;
use process_sandbox::{Limits, Stdin, TerminalSize};
use regex::Regex;
use std::{sync::LazyLock, time::Duration};
use tool::{Label, prelude::*};

use crate::sessions::NewSession;

/// The kind of the sessions.
const KIND: &str = "coding";
/// How long a task may take, in seconds: by default, at least and at most.
const TIMEOUT: u32 = 300;
const SHORTEST: u32 = 5;
const LONGEST: u32 = 1800;
/// What a task may cost and how many turns it may take: by default and at most.
const BUDGET: f64 = 1.0;
const MOST_BUDGET: f64 = 100.0;
const TURNS: u32 = 10;
const MOST_TURNS: u32 = 200;
/// The longest prompt in bytes, how much of it is stored in characters, and the longest name of a model.
const PROMPT: usize = 64 * 1024;
const STORED_PROMPT: usize = 2000;
const MODEL: usize = 100;
/// How much of its output a result shows, in bytes, and by how much a call outlasts its task.
const OUTPUT: usize = 24 * 1024;
const AROUND: Duration = Duration::from_secs(90);
/// The time between two looks at a task that goes on.
const LOOK: Duration = Duration::from_secs(20);
/// What a task may use.
const MEMORY: u64 = 2 << 30;
const PROCESSES: u32 = 512;
const PRINTED: u64 = 64 << 20;
const DISK: u64 = 2 << 30;
const TERMINAL: TerminalSize = TerminalSize { rows: 40, columns: 120 };

/// Delegate a coding task to a coding agent of another maker, such as Claude Code, Codex, Gemini CLI or Aider. It works in the
/// workspace, in a terminal that the person can watch. Returns its result.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCodingTask {
    /// The agent: `claude-code`, `codex`, `gemini-cli`, `aider` or `custom:NAME`.
    provider: String,
    /// The task; name the files and what should come out.
    prompt: String,
    /// The folder to work in; the workspace by default.
    cwd: Option<String>,
    /// The model; the agent's own choice by default.
    model: Option<String>,
    /// The most it may cost, in US dollars; 1.0 by default. Only Claude Code heeds it.
    max_budget_usd: Option<f64>,
    /// How many turns it may take; 10 by default. Only Claude Code heeds it.
    max_turns: Option<u32>,
    /// How long it may take, in seconds; 300 by default, 1800 at most.
    timeout_seconds: Option<u32>,
    /// False returns at once; get_task_result then returns the result.
    wait: Option<bool>,
}

/// List the coding agents, and whether each is installed and set up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListCodingAgents {}

/// Get the result of a coding task, with its output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GetTaskResult {
    /// The id of the result.
    result_id: Id,
}

/// List recent results of coding tasks, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTaskResults {
    /// Only those of this agent.
    provider: Option<String>,
    limit: Option<u32>,
}

/// The tools.
pub fn family(state: &CodingAgents) -> Family<CodingAgents> {
    Family::new("codingAgents", "Coding agents of other makers, in the sandbox.", state.clone())
        .title("Coding agents")
        .category("Coding Agents")
        .area(Area::CodeExecute)
        .tool("run_coding_task", Risk::Execute, run_coding_task)
        .confirm()
        .additive_where(|_, _, _| false)
        .synonyms(&[
            ("agent", "provider"),
            ("task", "prompt"),
            ("workingDir", "cwd"),
            ("workingDirectory", "cwd"),
            ("workdir", "cwd"),
            ("timeout", "timeout_seconds"),
            ("max_budget", "max_budget_usd"),
        ])
        .shows(&["cwd", "model", "max_budget_usd", "max_turns", "timeout_seconds"])
        .tags("delegate code program claude codex gemini aider implement fix refactor")
        .timeout(Duration::from_secs(LONGEST as u64) + AROUND)
        .example(json!({"provider": "claude-code", "prompt": "Fix the failing test in tests/sum.py."}))
        .tool("list_coding_agents", Risk::Observe, list_coding_agents)
        .tags("claude codex gemini aider installed configured")
        .tool("get_task_result", Risk::Observe, get_task_result)
        .synonyms(&[("id", "resultId"), ("sessionId", "resultId"), ("taskId", "resultId")])
        .tags("coding agent task output outcome")
        .example(json!({"resultId": "0197c0de-0000-7000-8000-000000000000"}))
        .tool("list_task_results", Risk::Observe, list_task_results)
        .page((20, 100))
        .tags("coding agent tasks outcome cost duration")
}

/// A task with its bounds.
struct Task {
    prompt: String,
    model: Option<String>,
    budget: f64,
    turns: u32,
    time: Duration,
}

impl Task {
    fn read(call: &RunCodingTask) -> Result<Self> {
        let prompt = call.prompt.trim();
        if prompt.is_empty() || prompt.len() > PROMPT || prompt.contains('\0') {
            return Err(Error::bad_args(format!(
                "`prompt` must say what to do, in at most {} KB: put long material into a file of the workspace",
                PROMPT / 1024
            )));
        }
        let model = call.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:@[]".contains(c);
        if model.is_some_and(|model| model.len() > MODEL || model.starts_with('-') || !model.chars().all(plain)) {
            return Err(Error::bad_args("`model` must be the name of a model, such as `sonnet` or `openai/gpt-5`"));
        }
        let budget = call.max_budget_usd.unwrap_or(BUDGET);
        if !(budget > 0.0 && budget <= MOST_BUDGET) {
            return Err(Error::bad_args(format!("`max_budget_usd` must be more than 0 and at most {MOST_BUDGET}")));
        }
        let turns = call.max_turns.unwrap_or(TURNS);
        if !(1..=MOST_TURNS).contains(&turns) {
            return Err(Error::bad_args(format!("`max_turns` must be 1 to {MOST_TURNS}")));
        }
        let seconds = call.timeout_seconds.unwrap_or(TIMEOUT).clamp(SHORTEST, LONGEST);
        Ok(Self {
            // A program would read a dash in front as a flag.
            prompt: if prompt.starts_with('-') { format!(" {prompt}") } else { prompt.to_owned() },
            model: model.map(str::to_owned),
            budget,
            turns,
            time: Duration::from_secs(seconds.into()),
        })
    }

    /// The arguments of an agent for this task.
    fn args(&self, agent: &CodingAgent) -> Vec<String> {
        let more: &[String] = if self.model.is_some() { &agent.model_args } else { &[] };
        let fill = |arg: &String| match arg.as_str() {
            "{prompt}" => self.prompt.clone(),
            // The prompt goes in last, so that nothing is replaced in it.
            arg => arg
                .replace("{max_turns}", &self.turns.to_string())
                .replace("{max_budget_usd}", &format!("{:.2}", self.budget))
                .replace("{model}", self.model.as_deref().unwrap_or_default())
                .replace("{prompt}", &self.prompt),
        };
        more.iter().chain(&agent.args).map(fill).collect()
    }
}

async fn run_coding_task(state: CodingAgents, cx: Cx, call: RunCodingTask) -> Result<Output> {
    let agent = state.find(&call.provider)?;
    check_use(&cx, &agent)?;
    let task = Task::read(&call)?;
    let located = state.locate(&agent)?;
    let mut program = Program::new(located.inside, with_model_last(&agent, &task));
    program.env = agent.environment(&cx)?;
    program.env.push(("TERM".into(), "xterm-256color".into()));
    program.mounts = located.mounts;
    program.folder.clone_from(&call.cwd);
    program.limits = Limits {
        wall: task.time,
        cpu: task.time * 4,
        memory: MEMORY,
        processes: PROCESSES,
        output: PRINTED,
        disk: DISK,
        ..Limits::default()
    };
    program.network = gate::network(&state.workshop, &cx, "run_coding_task", agent.all_hosts(&cx));
    program.stdin = Stdin::Open;
    program.terminal = Some(TERMINAL);
    let folder = call.cwd.clone().unwrap_or_else(|| ".".into());
    let scrubbed = state.workshop.scrubber.text(&task.prompt, scrub::How::All).into_owned();
    let prompt = text_kit::truncate(scrubbed.trim(), STORED_PROMPT);
    let details = json!({
        "provider": agent.provider(),
        "prompt": prompt,
        "model": task.model,
        "maxBudgetUsd": task.budget,
        "maxTurns": task.turns,
        "timeoutSeconds": task.time.as_secs(),
    });
    let new = NewSession {
        kind: KIND,
        title: text_kit::one_line(&format!("{}: {prompt}", agent.title)),
        command: format!("{} {prompt}", agent.title),
        folder,
        terminal: true,
        details: details.clone(),
    };
    let at_end = move |status: Status, code: Option<i32>, said: &str| {
        let said = output::harmless(said, output::Keep::Text);
        let mut details = details;
        details["success"] = (status == Status::Exited && code == Some(0) && !says_error(&said)).into();
        details["costUsd"] = json!(cost_in(&said));
        details
    };
    let session = state.workshop.start(&cx, program, new, Some(Box::new(at_end))).await?;
    if call.wait == Some(false) {
        let output = Output::json(result_of(&session))?;
        return Ok(output.say(format!("{} works on it; you can watch it in its terminal.", agent.title)));
    }
    let mut stop = StopOnDrop(Some((state.clone(), cx.clone(), session.id)));
    loop {
        let wait = state.workshop.sessions.wait(&cx, session.id, LOOK);
        let ended = tokio::select! {
            ended = wait => ended?,
            () = cx.cancel().cancelled() => return Err(Error::unavailable("the coding task was cancelled, and is being stopped")),
        };
        if ended {
            break;
        }
        cx.progress(&format!("{} works on it", agent.title));
    }
    stop.0 = None;
    with_output(&state, &cx, session.id)
}

/// The arguments of an agent; the prompt's place among them is the agent's.
fn with_model_last(agent: &CodingAgent, task: &Task) -> Vec<String> {
    let args = task.args(agent);
    // `codex exec --model x PROMPT`: a subcommand comes before the flags of the model.
    let flags = if task.model.is_some() { agent.model_args.len() } else { 0 };
    let (model, rest) = args.split_at(flags);
    let words = rest.iter().take_while(|arg| !arg.starts_with('-') && !arg.contains(char::is_whitespace)).count();
    let words = if agent.args.iter().take(words).any(|arg| arg.contains("{prompt}")) { 0 } else { words };
    [&rest[..words], model, &rest[words..]].concat()
}

/// Stops the task of a call that is given up.
struct StopOnDrop(Option<(CodingAgents, Cx, Id)>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let Some((state, cx, id)) = self.0.take() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { state.workshop.sessions.stop(&cx, id).map(drop).await });
        }
    }
}

async fn list_coding_agents(state: CodingAgents, cx: Cx, _: ListCodingAgents) -> Result<Output> {
    let agents = state.list(&cx).await?;
    let names: Vec<&str> = agents.iter().filter(|agent| agent.available).map(|agent| agent.title.as_str()).collect();
    let sentence = match names.len() {
        0 => "No coding agent can be used yet.".to_owned(),
        _ => format!("Ready: {}.", names.join(", ")),
    };
    Ok(Output::json(json!({"count": agents.len(), "agents": agents}))?.say(sentence))
}

async fn get_task_result(state: CodingAgents, cx: Cx, call: GetTaskResult) -> Result<Output> {
    with_output(&state, &cx, call.result_id)
}

async fn list_task_results(state: CodingAgents, cx: Cx, call: ListTaskResults) -> Result<Output> {
    let limit = call.limit.unwrap_or(20).clamp(1, 100) as usize;
    let mut all = state.workshop.sessions.list(&cx, Some(KIND))?;
    if let Some(provider) = &call.provider {
        let provider = state.find(provider).map_or(provider.clone(), |agent| agent.provider());
        all.retain(|session| session.details["provider"] == provider.as_str());
    }
    let more = all.len() > limit;
    all.truncate(limit);
    let results: Vec<Value> = all.iter().map(result_of).collect();
    let sentence = format!("{} of coding agents.", text_kit::counted_one(results.len(), "result"));
    Ok(Output::json(json!({"count": results.len(), "hasMore": more, "results": results}))?.say(sentence))
}

/// A result with its output.
fn with_output(state: &CodingAgents, cx: &Cx, id: Id) -> Result<Output> {
    let not_found =
        || Error::not_found("there is no result of a coding task with this id: list_task_results lists them");
    let session =
        state.workshop.sessions.get(cx, id).ok().filter(|session| session.kind == KIND).ok_or_else(not_found)?;
    let (session, part) = state.workshop.sessions.read(cx, session.id, None, OUTPUT)?;
    let text = output::harmless(&part.text, output::Keep::Text);
    let mut result = result_of(&session);
    result["truncated"] = (part.from > 0).into();
    result["output"] = text.into();
    let title = text_kit::truncate(&session.title, 80);
    let sentence = match (session.status, result["success"] == true) {
        (Status::Running, _) => format!("“{title}” is not done yet."),
        (_, true) => format!("“{title}” is done."),
        (Status::TimedOut, _) => format!("“{title}” took too long, so I stopped it."),
        (Status::Stopped, _) => format!("“{title}” was stopped."),
        (Status::Lost, _) => format!("“{title}” ended when Hob did."),
        _ => format!("“{title}” failed."),
    };
    let mut output = Output::json(result)?.say(sentence);
    output.label = if session.outside { Label::Outside } else { Label::Own };
    Ok(output)
}

/// A result without its output.
fn result_of(session: &Session) -> Value {
    let details = &session.details;
    let mut result = json!({
        "resultId": session.id,
        "sessionId": session.id,
        "provider": details["provider"],
        "prompt": details["prompt"],
        "model": details["model"],
        "cwd": session.folder,
        "status": session.status,
        "success": session.status != Status::Running && details["success"] == true,
        "exitCode": session.exit_code,
        "costUsd": details["costUsd"],
        "startedAt": session.started_at,
    });
    if let Some(ended) = session.ended_at {
        result["endedAt"] = ended.into();
        result["durationMs"] = ended.saturating_sub(session.started_at).into();
    }
    result
}

/// How agents say what a task cost: as JSON, or in a line.
static COSTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r#""total_cost_usd"\s*:\s*([0-9]+(?:\.[0-9]+)?)"#,
        r"(?i)total cost[^$\n]{0,20}\$\s*([0-9]+(?:\.[0-9]+)?)",
        r"\$([0-9]+(?:\.[0-9]+)?) session",
    ];
    forms.iter().filter_map(|form| Regex::new(form).ok()).collect()
});

/// What a task cost, in US dollars, where its agent says so at the end.
fn cost_in(said: &str) -> Option<f64> {
    COSTS.iter().find_map(|form| form.captures_iter(said).last()?.get(1)?.as_str().parse().ok())
}

/// Whether an agent that answers in JSON says that it failed, although its program did not.
fn says_error(said: &str) -> bool {
    said.lines().rev().find(|line| !line.trim().is_empty()).is_some_and(|line| line.contains(r#""is_error":true"#))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::agents::merged;

    fn call(more: Value) -> Result<Task> {
        let mut call = json!({"provider": "codex", "prompt": "Fix it."});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Task::read(&serde_json::from_value(call).unwrap())
    }

    #[test]
    fn a_task_has_the_documented_bounds() {
        let task = call(json!({})).unwrap();
        assert_eq!((task.budget, task.turns, task.time), (1.0, 10, Duration::from_secs(300)));
        assert_eq!(call(json!({"timeout_seconds": 99999})).unwrap().time, Duration::from_secs(1800));
        for wrong in [
            json!({"prompt": " "}),
            json!({"prompt": "x".repeat(70_000)}),
            json!({"model": "--config"}),
            json!({"model": "a b"}),
            json!({"max_budget_usd": 0}),
            json!({"max_budget_usd": 1000}),
            json!({"max_turns": 0}),
        ] {
            assert!(call(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_agent_is_started_as_it_wants_to_be() {
        let agents = merged(&[]);
        let line = |name: &str, more: Value| {
            let agent = agents.iter().find(|agent| agent.name == name).unwrap();
            with_model_last(agent, &call(more).unwrap()).join(" ")
        };
        let claude = line("claude-code", json!({"model": "opus", "max_turns": 3, "max_budget_usd": 0.5}));
        assert!(claude.starts_with("--model opus -p Fix it."), "{claude}");
        assert!(claude.ends_with("--max-turns 3 --max-budget-usd 0.50"), "{claude}");
        assert!(line("codex", json!({"model": "gpt-5"})).starts_with("exec --model gpt-5 --skip-git-repo-check"));
        assert!(line("codex", json!({})).starts_with("exec --skip-git-repo-check"));
        assert_eq!(line("gemini-cli", json!({"prompt": "{model}"})), "--yolo --prompt {model}");
        assert!(line("aider", json!({"prompt": "-rf"})).ends_with("--message  -rf"));
    }

    #[test]
    fn the_cost_is_read_from_what_agents_say() {
        for (said, cost) in [
            (r#"{"type":"result","total_cost_usd":0.0123,"is_error":false}"#, Some(0.0123)),
            ("Tokens: 2k\nCost: $0.01 message, $0.03 session.", Some(0.03)),
            ("Total cost:            $0.55\n", Some(0.55)),
            ("it costs $5", None),
            ("", None),
        ] {
            assert_eq!(cost_in(said), cost, "{said}");
        }
        assert!(says_error("{}\n{\"type\":\"result\",\"is_error\":true}\n") && !says_error("\"is_error\":true\nfine"));
    }
}
