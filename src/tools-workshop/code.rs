//! Tools that run code: Python, JavaScript, and languages that are compiled.

use crate::{
    Program, Workshop,
    destroys::{Existing, code_destroys},
    exec::{AROUND, CODE_TIME, Here, code_limits, given, seconds, with_shell},
    languages,
    output::harmless,
    packages::with_packages,
    result::{Form, STDERR, STDOUT, answer},
};
use futures::future::BoxFuture;
use process_sandbox::{Network, Stdin};
use sandbox::{Host, Script};
use std::time::Duration;
use tool::{Start, prelude::*};

/// The longest code that is passed to a program as an argument, in bytes.
const CODE: usize = 100 * 1024;
/// The most arguments, and bytes of them.
const ARGS: (usize, usize) = (100, 16 * 1024);

const SYNONYMS: &[(&str, &str)] = &[
    ("script", "code"),
    ("source", "code"),
    ("program", "code"),
    ("cwd", "workingDir"),
    ("workingDirectory", "workingDir"),
    ("working_directory", "workingDir"),
    ("timeoutSeconds", "timeout"),
    ("timeout_seconds", "timeout"),
    ("timeoutMs", "timeout"),
    ("timeout_ms", "timeout"),
    ("stdin", "input"),
    ("lang", "language"),
    ("arguments", "args"),
    ("outputPath", "output"),
    ("output_path", "output"),
];

/// The tools for code.
pub fn code(workshop: Workshop) -> Family<Workshop> {
    let has_node = workshop.config.javascript == crate::JavaScript::Node;
    let family = Family::new("codeExecution", "Run programs in the sandbox.", workshop)
        .title("Code")
        .category("Code Execution")
        .start(Start::Off)
        .area(Area::CodeExecute)
        .tool("execute_javascript", Risk::Execute, execute_javascript)
        .alias("run_sandbox_code")
        .destroys_where(move |args| has_node && args["readOnly"] != true && names_deletion(args))
        .additive_where(move |_, _, args| !has_node || args["readOnly"] == true)
        .synonyms(SYNONYMS)
        .shows(&["args"])
        .per_minute(10)
        .timeout(Duration::from_secs(CODE_TIME.1 as u64) + AROUND)
        .ability("run code")
        .tags("js node script calculate compute evaluate program sandbox")
        .example(json!({"code": "return [1, 2, 3].map((n) => n * n)"}))
        .tool("execute_python", Risk::Execute, execute_python)
        .destroys_where(|args| args["readOnly"] != true && names_deletion(args))
        .additive_where(|_, _, args| args["readOnly"] == true)
        .synonyms(SYNONYMS)
        .shows(&["workingDir", "readOnly"])
        .per_minute(10)
        .timeout(Duration::from_secs(CODE_TIME.1 as u64) + AROUND)
        .ability("run code")
        .tags("py script calculate compute evaluate program data analysis")
        .example(json!({"code": "print(sum(range(10)))"}));
    let family = with_shell(family)
        .tool("compile_code", Risk::Execute, compile_code)
        .destroys_here(|workshop, cx, args| {
            let overwrites =
                args["output"].as_str().is_some_and(|path| Here { workshop, cx, folder: "." }.is_there(path));
            overwrites || args["readOnly"] != true && args["run"] != false && names_deletion(args)
        })
        .additive_where(|_, _, args| args["output"].is_null() && (args["readOnly"] == true || args["run"] == false))
        .synonyms(SYNONYMS)
        .shows(&["run", "input"])
        .per_minute(5)
        .timeout(Duration::from_secs(CODE_TIME.1 as u64) + AROUND)
        .tags("c c++ rust go java typescript compiler build gcc run program")
        .example(json!({"language": "c", "code": "#include <stdio.h>\nint main(void) { puts(\"hello\"); }"}));
    with_packages(family)
}

fn names_deletion(args: &Value) -> bool {
    args["code"].as_str().is_some_and(code_destroys)
}

fn check_code(code: &str) -> Result<()> {
    if code.trim().is_empty() {
        return Err(Error::bad_args("the code is empty: give what should run"));
    }
    if code.len() > CODE || code.contains('\0') {
        return Err(Error::bad_args(format!(
            "the code is longer than {} KB, or has a zero byte in it: write it to a file, and run that",
            CODE / 1024
        )));
    }
    Ok(())
}

fn check_args(args: &[String]) -> Result<()> {
    let bytes: usize = args.iter().map(String::len).sum();
    if args.len() > ARGS.0 || bytes > ARGS.1 || args.iter().any(|arg| arg.contains('\0')) {
        return Err(Error::bad_args(format!(
            "these are more than {} arguments or {} KB of them, or one has a zero byte: give them as input",
            ARGS.0,
            ARGS.1 / 1024
        )));
    }
    Ok(())
}

/// Run Python 3 code in a sandbox with the files of the workspace, within 30 seconds and 1 MB of output. Print what is wanted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExecutePython {
    /// The code.
    code: String,
    /// Arguments: `sys.argv[1:]`.
    #[serde(default)]
    args: Vec<String>,
    /// Text for its standard input.
    input: Option<String>,
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
}

async fn execute_python(workshop: Workshop, cx: Cx, args: ExecutePython) -> Result<Output> {
    check_code(&args.code)?;
    check_args(&args.args)?;
    let python = workshop.find("python3")?;
    let network = if args.network { workshop.network(&cx, "execute_python", &args.code).await? } else { Network::None };
    let given_args = [vec!["-c".to_owned(), args.code], args.args].concat();
    let program = Program {
        folder: args.working_dir,
        read_only: args.read_only,
        limits: code_limits(&workshop, args.timeout),
        network,
        stdin: given(args.input)?,
        ..Program::new(python, given_args)
    };
    Ok(answer(&workshop.run(&cx, program).await?, Form::Code))
}

/// Run JavaScript in a sandbox without files and network. The code is the body of an async function: `return` what is wanted, or
/// print it with `console.log`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExecuteJavascript {
    /// The code.
    code: String,
    /// Value that the code finds as `args`.
    args: Option<Value>,
    /// Text for its standard input, with Node.
    input: Option<String>,
    /// Folder to run it in, relative to the workspace, with Node.
    working_dir: Option<String>,
    /// Seconds it may take, 30 at most.
    timeout: Option<f64>,
    /// Let it change no file, with Node.
    #[serde(default)]
    read_only: bool,
}

async fn execute_javascript(workshop: Workshop, cx: Cx, args: ExecuteJavascript) -> Result<Output> {
    check_code(&args.code)?;
    match workshop.config.javascript {
        crate::JavaScript::Sandbox => in_wasm(&workshop, &cx, args).await,
        crate::JavaScript::Node => in_node(&workshop, &cx, args).await,
    }
}

async fn in_node(workshop: &Workshop, cx: &Cx, args: ExecuteJavascript) -> Result<Output> {
    let node = workshop.find("node")?;
    // The same code runs in both: as the body of an async function, whose result is printed.
    let code = format!(
        "const args = {};\n(async () => {{\n{}\n}})().then((value) => {{ if (value !== undefined) \
         console.log(typeof value === 'string' ? value : JSON.stringify(value)); }}, (error) => {{ console.error(error); \
         process.exitCode = 1; }});",
        args.args.unwrap_or_default(),
        args.code
    );
    let program = Program {
        folder: args.working_dir,
        read_only: args.read_only,
        limits: code_limits(workshop, args.timeout),
        stdin: given(args.input)?,
        ..Program::new(node, ["-e".to_owned(), code])
    };
    Ok(answer(&workshop.run(cx, program).await?, Form::Code))
}

/// The host of code that reaches nothing.
struct Nothing;

impl Host for Nothing {
    fn operate(&self, op: &str, _: Value) -> BoxFuture<'static, Result<Value, String>> {
        let text = format!("`{op}` is not available here: call the tool for it instead");
        Box::pin(async move { Err(text) })
    }
    fn query(&self, op: &str, _: Value) -> Result<Value, String> {
        Err(format!("`{op}` is not available here"))
    }
}

async fn in_wasm(workshop: &Workshop, cx: &Cx, args: ExecuteJavascript) -> Result<Output> {
    let wall = seconds(args.timeout, CODE_TIME, false);
    let script = Script {
        code: args.code,
        args: args.args.unwrap_or_default(),
        context: json!({}),
        network: false,
        nested: cx.is_nested(),
    };
    let limits = sandbox::Limits { wall, cpu: wall.min(JAVASCRIPT_CPU), logs: STDOUT, ..sandbox::Limits::default() };
    let outcome = workshop.javascript.run(script, std::sync::Arc::new(Nothing), limits).await;
    let lines = |errors: bool| {
        let of = outcome.logs.iter().filter(|log| matches!(log.level, "warn" | "error") == errors);
        of.map(|log| format!("{}\n", log.text)).collect::<String>()
    };
    let (stdout, mut stderr) = (lines(false), lines(true));
    let mut content = json!({"success": outcome.result.is_ok(), "durationMs": outcome.wall.as_millis() as u64});
    let sentence = match outcome.result {
        Ok(value) => {
            let shown = match &value {
                Value::Null if !stdout.trim().is_empty() => stdout.trim().to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            content["result"] = value;
            format!("It returned: {}", text_kit::truncate(&text_kit::one_line(&shown), 200))
        }
        Err(fault) => {
            stderr.push_str(&format!("{fault}\n"));
            format!("It failed: {}", text_kit::truncate(&text_kit::one_line(&fault.to_string()), 200))
        }
    };
    let clean = |text: &str, most| {
        let text = harmless(text, crate::output::Keep::Text);
        crate::output::shortened(&workshop.scrubber.text(&text, scrub::How::All), most).0
    };
    content["stdout"] = clean(&stdout, STDOUT).into();
    content["stderr"] = clean(&stderr, STDERR).into();
    Ok(Output::json(content)?.say(sentence))
}

/// The most processor time of JavaScript in the sandbox: an interpreter in an interpreter keeps a core busy meanwhile.
const JAVASCRIPT_CPU: Duration = Duration::from_secs(10);

/// Compile a program in a sandbox, and run it: C, C++, Rust, Go, Java or TypeScript; within 30 seconds and 1 MB of output.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CompileCode {
    /// The source text.
    code: String,
    /// Its language: c, cpp, rust, go, java or typescript.
    language: String,
    /// Run it after it was compiled.
    #[serde(default = "yes")]
    run: bool,
    /// Arguments of the program.
    #[serde(default)]
    args: Vec<String>,
    /// Text for its standard input.
    input: Option<String>,
    /// Store the compiled program under this path in the workspace.
    output: Option<String>,
    /// Folder to run it in, relative to the workspace.
    working_dir: Option<String>,
    /// Seconds it may take, 30 at most.
    timeout: Option<f64>,
    /// Let the program change no file.
    #[serde(default)]
    read_only: bool,
}

fn yes() -> bool {
    true
}

async fn compile_code(workshop: Workshop, cx: Cx, args: CompileCode) -> Result<Output> {
    check_code(&args.code)?;
    check_args(&args.args)?;
    let language = languages::find(&args.language)?;
    if args.read_only && args.output.is_some() {
        return Err(Error::bad_args("with `readOnly` no file is stored: leave out `readOnly` or `output`"));
    }
    let shell = workshop.find("sh")?;
    for program in language.programs {
        workshop.find(program)?;
    }
    let target = match &args.output {
        None => String::new(),
        Some(path) => {
            let located = workshop.workspaces.locate(&cx, path)?;
            located.inside().display().to_string()
        }
    };
    let folder = workshop.workspaces.locate(&cx, args.working_dir.as_deref().unwrap_or("."))?;
    let mark = format!("compiled {}", Id::new());
    let source = language.file(&args.code);
    let folder = folder.inside().display().to_string();
    let run = if args.run { "yes" } else { "no" };
    let size = args.code.len().to_string();
    let mut words: Vec<String> = vec!["-c".into(), language.script(), "sh".into()];
    words.extend([size, source, mark.clone(), target, folder, run.to_owned()]);
    words.extend(args.args);
    // The source comes first on the standard input, and then what the program reads.
    let stdin = [args.code, args.input.unwrap_or_default()].concat();
    let program = Program {
        env: language.environment(),
        folder: args.working_dir,
        read_only: args.read_only,
        limits: code_limits(&workshop, args.timeout),
        stdin: Stdin::Bytes(stdin.into_bytes()),
        ..Program::new(shell, words)
    };
    let mut ran = workshop.run(&cx, program).await?;
    let (compiler, own) = parted(&ran.stdout, &mark);
    let (messages, errors) = parted(&ran.stderr, &mark);
    let compiled = own.is_some();
    let notes = [compiler, messages].concat();
    ran.stdout = own.unwrap_or_default();
    ran.stderr = errors.unwrap_or_default();
    let mut output = answer(&ran, Form::Code);
    output.content["compiled"] = compiled.into();
    output.content["compilerOutput"] = crate::output::shortened(&notes, STDERR).0.into();
    if !compiled {
        output.content["success"] = false.into();
        output = output.say("It could not be compiled.");
    } else if !args.run {
        output = output.say("It was compiled.");
    }
    Ok(output)
}

/// The text before the line with a mark, and after it.
fn parted(text: &str, mark: &str) -> (String, Option<String>) {
    match text.split_once(mark) {
        Some((before, after)) => (before.to_owned(), Some(after.strip_prefix('\n').unwrap_or(after).to_owned())),
        None => (text.to_owned(), None),
    }
}
