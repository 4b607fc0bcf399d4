//! `run_cli_tool`, `list_cli_tools` and `install_cli_tool`.

use crate::{
    args::ArgList,
    cli_tools::{
        CliTools,
        catalogue::{CliTool, ToolPolicy, score},
        install::PATIENCE,
        no_such, view,
    },
    gate,
    program::Program,
    result::{Form, answer},
};
use process_sandbox::Limits;
use std::time::Duration;
use tool::{Consult, prelude::*};

/// How long a tool may take, in milliseconds: by default, at least and at most.
const TIMEOUT: u64 = 30_000;
const SHORTEST: u64 = 100;
const LONGEST: u64 = 300_000;
/// Bounds of the arguments of a call.
const ARGUMENTS: usize = 500;
const ARGUMENT: usize = 64 * 1024;

/// Run a command-line tool, such as jq, ffmpeg or prettier, in the workspace. list_cli_tools lists them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunCliTool {
    /// The tool, such as `jq`.
    name: String,
    /// Its arguments, one for each word. There is no shell: no pipes, no redirections.
    #[serde(default)]
    args: ArgList,
    /// The folder to run in; the workspace by default.
    cwd: Option<String>,
    /// How long it may take, in milliseconds; 30000 by default, 300000 at most.
    timeout: Option<u64>,
}

/// List the command-line tools that can be run or installed, with version, risk and policy.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
struct InstallCliTool {
    /// The tool, such as `prettier`.
    name: String,
}

/// The tools.
pub fn family(state: &CliTools) -> Family<CliTools> {
    Family::new("cliTools", "Command-line tools of a catalogue, in the sandbox.", state.clone())
        .title("Command-line tools")
        .category("CLI Tools")
        .area(Area::CodeExecute)
        .tool("run_cli_tool", Risk::Execute, run_cli_tool)
        .additive_where(|state, _, args| state.only_reads(args))
        .synonyms(&[
            ("tool", "name"),
            ("command", "name"),
            ("arguments", "args"),
            ("argv", "args"),
            ("workingDir", "cwd"),
            ("workingDirectory", "cwd"),
            ("workdir", "cwd"),
            ("timeoutMs", "timeout"),
        ])
        .tags("command line program terminal cli jq ffmpeg prettier eslint npx")
        .timeout(Duration::from_millis(LONGEST) + Duration::from_secs(60))
        .example(json!({"name": "jq", "args": [".name", "package.json"]}))
        .tool("list_cli_tools", Risk::Observe, list_cli_tools)
        .tags("command line programs installed version catalogue npx")
        .example(json!({"category": "linters"}))
        .tool("install_cli_tool", Risk::Admin, install_cli_tool)
        .confirm()
        .idempotent()
        .synonyms(&[("tool", "name"), ("package", "name")])
        .tags("npm npx add command line program")
        .timeout(PATIENCE + Duration::from_secs(60))
        .example(json!({"name": "prettier"}))
}

async fn run_cli_tool(state: CliTools, cx: Cx, call: RunCliTool) -> Result<Output> {
    let tool = state.get(call.name.trim())?;
    let args = &call.args.0;
    if args.len() > ARGUMENTS || args.iter().any(|arg| arg.len() > ARGUMENT || arg.contains('\0')) {
        return Err(Error::bad_args(format!(
            "at most {ARGUMENTS} arguments of {ARGUMENT} bytes, without zero bytes, are passed: write more into a file"
        )));
    }
    let policy = tool.policy_of(args);
    if policy == ToolPolicy::Blocked {
        return Err(Error::denied(format!(
            "`{}` is blocked: an admin can set another policy with PUT /api/v1/cli-tools/{}",
            tool.name, tool.name
        )));
    }
    state.workshop.check()?;
    let installed = state.locate(&tool).ok_or_else(|| not_installed(&tool))?;
    let hosts = state.hosts_of(&tool).await?;
    approve(&state, &cx, &tool, policy, &call).await?;
    let (points, level) = score(tool.risk, args);
    let mut program = Program::new(installed.inside.clone(), call.args.0);
    program.folder = call.cwd;
    program.read_only = !tool.writes;
    program.mounts = state.mounts(&tool, &installed)?;
    let wall = Duration::from_millis(call.timeout.unwrap_or(TIMEOUT).clamp(SHORTEST, LONGEST));
    program.limits = Limits { wall, cpu: wall, ..state.workshop.limits() };
    program.network = gate::network(&state.workshop, &cx, "run_cli_tool", hosts);
    let mut output = answer(&state.workshop.run(&cx, program).await?, Form::Code);
    if let Some(fields) = output.content.as_object_mut() {
        fields.extend([
            ("name".to_owned(), tool.name.into()),
            ("riskScore".to_owned(), points.into()),
            ("riskLevel".to_owned(), json!(level)),
        ]);
    }
    Ok(output)
}

/// Asks a person where the policy says so. A call that a person makes by hand is their yes.
async fn approve(state: &CliTools, cx: &Cx, tool: &CliTool, policy: ToolPolicy, call: &RunCliTool) -> Result<()> {
    let scrubbed = |text: &String| state.workshop.scrubber.text(text, scrub::How::All).into_owned();
    let args: Vec<String> = call.args.0.iter().map(scrubbed).collect();
    let line = text_kit::truncate(&text_kit::one_line(&format!("{} {}", tool.name, args.join(" "))), 300);
    let consult = Consult {
        tool: "run_cli_tool".into(),
        version: 0,
        action: "run",
        details: json!({"name": tool.name, "args": args, "cwd": call.cwd}),
        risk: Risk::Execute,
        ask: policy == ToolPolicy::Prompt && !cx.is_in_person(),
        about: format!("Run {line}"),
        reason: format!("the policy of `{}` is to ask a person before each call", tool.name),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

impl CliTools {
    /// Whether a call can neither change files nor reach the network.
    fn only_reads(&self, args: &Value) -> bool {
        let name = args["name"].as_str().unwrap_or_default();
        self.get(name.trim()).is_ok_and(|tool| !tool.writes && tool.hosts.is_empty() && !tool.npm_registry)
    }
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
