//! `run_cli_tool`, `list_cli_tools` and `install_cli_tool`.

use crate::{
    args::ArgList,
    cli_tools::{
        CliTools,
        catalogue::{CliTool, ToolPolicy, score},
        discover::files_of,
        install::PATIENCE,
        no_such, report, view,
    },
    gate,
    program::Program,
};
use process_sandbox::{Limits, Network};
use std::time::Duration;
use tool::{Consult, Label, prelude::*};

/// How long a tool may take, in milliseconds: by default, at least and at most.
const TIMEOUT: u64 = 30_000;
const SHORTEST: u64 = 100;
const LONGEST: u64 = 300_000;
/// Bounds of the arguments of a call.
const ARGUMENTS: usize = 500;
const ARGUMENT: usize = 64 * 1024;

/// Run a command-line tool, such as jq, ffmpeg or prettier, in the workspace. list_cli_tools lists them.
#[derive(Deserialize, JsonSchema)]
struct RunCliTool {
    /// The tool, such as `jq`.
    #[serde(alias = "tool", alias = "command")]
    name: String,
    /// Its arguments, one for each word. There is no shell: no pipes, no redirections.
    #[serde(default, alias = "arguments", alias = "argv")]
    args: ArgList,
    /// The folder to run in; the workspace by default.
    #[serde(alias = "working_dir", alias = "working_directory", alias = "workdir")]
    cwd: Option<String>,
    /// How long it may take, in milliseconds; 30000 by default, 300000 at most.
    #[serde(alias = "timeout_ms", alias = "timeoutMs")]
    timeout: Option<u64>,
}

/// List the command-line tools that can be run or installed, with version, risk and policy.
#[derive(Deserialize, JsonSchema)]
struct ListCliTools {
    /// Only those of this category, such as `linters`.
    category: Option<String>,
    /// Only those that are installed, or only those that are not.
    installed: Option<bool>,
    /// Only those whose name or purpose contains this.
    query: Option<String>,
}

/// Install a command-line tool from its npm package. A person has to agree.
#[derive(Deserialize, JsonSchema)]
struct InstallCliTool {
    /// The tool, such as `prettier`.
    #[serde(alias = "tool", alias = "package")]
    name: String,
}

/// The tools.
pub fn family(state: &CliTools) -> Family<CliTools> {
    Family::new("cliTools", "Command-line tools of a catalogue, in the sandbox.", state.clone())
        .title("Command-line tools")
        .category("CLI Tools")
        .tool("run_cli_tool", Risk::Execute, run_cli_tool)
        .tags("command line program terminal cli jq ffmpeg prettier eslint npx")
        .timeout(Duration::from_millis(LONGEST) + Duration::from_secs(60))
        .example(json!({"name": "jq", "args": [".name", "package.json"]}))
        .tool("list_cli_tools", Risk::Observe, list_cli_tools)
        .tags("command line programs installed version catalogue npx")
        .example(json!({"category": "linters"}))
        .tool("install_cli_tool", Risk::Admin, install_cli_tool)
        .confirm()
        .idempotent()
        .tags("npm npx add command line program")
        .timeout(PATIENCE + Duration::from_secs(60))
        .example(json!({"name": "prettier"}))
}

async fn run_cli_tool(state: CliTools, cx: Cx, call: RunCliTool) -> Result<Output> {
    let tool = state.get(call.name.trim())?;
    let args = call.args.0;
    if args.len() > ARGUMENTS || args.iter().any(|arg| arg.len() > ARGUMENT || arg.contains('\0')) {
        return Err(Error::bad_args(format!(
            "at most {ARGUMENTS} arguments of {ARGUMENT} bytes, without zero bytes, are passed: write more into a file"
        )));
    }
    let policy = tool.policy_of(&args);
    if policy == ToolPolicy::Blocked {
        return Err(Error::denied(format!(
            "`{}` is blocked: an admin can set another policy with PUT /api/v1/cli-tools/{}",
            tool.name, tool.name
        )));
    }
    state.workshop.check()?;
    let installed = state.locate(&tool).ok_or_else(|| not_installed(&tool))?;
    approve(&state, &cx, &tool, policy, &args, call.cwd.as_deref()).await?;
    let (points, level) = score(tool.risk, &args);
    let mut program = Program::new(installed.inside.clone(), args);
    program.folder = call.cwd;
    program.files = files_of(&tool);
    program.mounts = state.mounts(&tool, &installed)?;
    let wall = Duration::from_millis(call.timeout.unwrap_or(TIMEOUT).clamp(SHORTEST, LONGEST));
    program.limits = Limits { wall, cpu: wall, ..Limits::default() };
    if !tool.hosts.is_empty() {
        program.network = Network::Guarded(gate::to_hosts(tool.hosts.clone(), state.workshop.gate.clone()));
    }
    let ran = state.workshop.run(&cx, program).await?;
    report(json!({"name": tool.name, "riskScore": points, "riskLevel": level}), &tool.title, ran)
}

/// Asks a person where the policy says so, and where a run that has read content from outside would change files or reach the
/// network. A call that a person makes by hand is their yes.
async fn approve(
    state: &CliTools,
    cx: &Cx,
    tool: &CliTool,
    policy: ToolPolicy,
    args: &[String],
    cwd: Option<&str>,
) -> Result<()> {
    let tainted = cx.label() == Label::Outside && (tool.writes || !tool.hosts.is_empty());
    let scrubbed = |text: &str| state.workshop.scrubber.text(text, scrub::How::All).into_owned();
    let shown: Vec<String> = args.iter().map(|arg| scrubbed(arg)).collect();
    let line = text_kit::truncate(&text_kit::one_line(&format!("{} {}", tool.name, shown.join(" "))), 300);
    let reason = match tainted {
        true => format!(
            "`{line}` needs a person's approval, because this run has read content from outside, which may carry instructions of a \
             stranger"
        ),
        false => format!("the policy of `{}` is to ask a person before each call", tool.name),
    };
    let consult = Consult {
        tool: "run_cli_tool".into(),
        version: 0,
        action: "run",
        details: json!({"name": tool.name, "args": shown, "cwd": cwd}),
        risk: if tainted { Risk::Send } else { Risk::Execute },
        ask: (tainted || policy == ToolPolicy::Prompt) && !cx.is_in_person(),
        about: format!("Run {line}"),
        reason,
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

fn not_installed(tool: &CliTool) -> Error {
    let what = match tool.package.is_empty() {
        true => "an admin can install it for the system, such as with apt-get install",
        false => "install_cli_tool installs it",
    };
    Error::unavailable(format!("`{}` is not installed: {what}", tool.name))
}

async fn list_cli_tools(state: CliTools, _: Cx, call: ListCliTools) -> Result<Output> {
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    let tools = state.list().await?.into_iter().filter(|tool| {
        call.category.as_deref().is_none_or(|category| tool.category.eq_ignore_ascii_case(category.trim()))
            && call.installed.is_none_or(|installed| tool.installed == installed)
            && call.query.as_deref().is_none_or(|query| {
                let text = format!("{} {} {} {}", tool.name, tool.title, tool.about, tool.category);
                contains(&text, query.trim())
            })
    });
    let tools: Vec<Value> = tools.map(|tool| json!(tool)).collect();
    let installed = tools.iter().filter(|tool| tool["installed"] == true).count();
    let sentence = format!("{} of {} command-line tools are installed.", installed, tools.len());
    Ok(Output::json(json!({"count": tools.len(), "installed": installed, "tools": tools}))?.say(sentence))
}

async fn install_cli_tool(state: CliTools, cx: Cx, call: InstallCliTool) -> Result<Output> {
    let name = call.name.trim();
    let all = state.all()?;
    let tool = all.get(name).or_else(|| all.values().find(|tool| !tool.package.is_empty() && tool.package == name));
    let tool = tool.ok_or_else(|| no_such(name))?;
    state.install(&cx, tool).await?;
    let found = state.discover([tool]).await;
    let view = view(tool, found.get(&tool.name));
    let sentence = match &view.version {
        Some(version) => format!("{} {version} is installed.", tool.title),
        None => format!("{} is installed.", tool.title),
    };
    Ok(Output::json(view)?.say(sentence))
}
