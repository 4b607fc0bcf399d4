//! The command line: its arguments, and the module that runs each command.
//!
//! Modules use only those above them: `terminal` (output), `client` (requests over the local socket), `show` (blocks as
//! text), `answer` and `consent` (questions and approvals at the terminal), `continued` (the conversation of a short answer), then one
//! module a command.

mod answer;
mod backup;
mod chat;
mod client;
mod consent;
mod continued;
mod discover;
mod doctor;
mod show;
mod terminal;

use crate::{
    config::{Config, data_dir},
    house::{restart, serve},
};
use anyhow::{Result, bail};
use board::BoardKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use client::Client;
use scrub::Scrubber;
use serde_json::{Value, json};
use std::path::PathBuf;
use terminal::{plain, put};
use text_kit::percent_encode;
use tracing_subscriber::EnvFilter;

/// An always-on agent for a home or workshop.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    location: DataLocation,
    #[command(subcommand)]
    command: Command,
}

/// Paths of the data and the configuration.
#[derive(Args, Clone)]
struct DataLocation {
    /// The data folder.
    #[arg(long, global = true, env = "HOB_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The configuration file, instead of hob.toml in the data folder.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the daemon.
    Serve {
        /// Address of the page and the API.
        #[arg(long, value_name = "ADDR:PORT")]
        listen: Option<String>,
        /// The device's name.
        #[arg(long)]
        name: Option<String>,
        /// GPIO board.
        #[arg(long, value_name = "auto|sim|none")]
        board: Option<BoardKind>,
        /// Address for TLS, or `off`.
        #[arg(long, value_name = "ADDR:PORT")]
        tls: Option<String>,
        /// Do not announce the device over mDNS, and do not browse the network.
        #[arg(long)]
        no_mdns: bool,
    },
    /// Send a message and print the answer; without TEXT, chat line by line.
    Chat {
        /// The message.
        text: Vec<String>,
        /// Continue this conversation.
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
        /// Continue this terminal's last conversation; a short answer such as `yes` does without.
        #[arg(long = "continue", short = 'c', conflicts_with = "conversation")]
        goes_on: bool,
        /// Print the whole response as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a tool.
    Call {
        /// The tool's name.
        tool: String,
        /// Its arguments, as a JSON object.
        #[arg(default_value = "{}", value_parser = json_object)]
        arguments: Value,
        /// Print the whole response as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List or search the tools.
    Tools {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
        /// Print whether policy allows this tool, and which rule decides.
        #[arg(long, value_name = "NAME", conflicts_with = "query")]
        explain: Option<String>,
        /// The acting agent, for --explain.
        #[arg(long, requires = "explain")]
        agent: Option<String>,
        /// The person the agent acts for, by name or id, for --explain.
        #[arg(long, requires = "explain")]
        user: Option<String>,
        /// Words to search for; all must match.
        query: Vec<String>,
    },
    /// List pending approvals.
    Approvals {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Approve a call.
    Approve {
        /// The approval's id.
        id: String,
        /// Also allow the suggested pattern of calls from now on.
        #[arg(long)]
        always: bool,
    },
    /// Deny a call.
    Deny {
        /// The approval's id.
        id: String,
    },
    /// List pending questions and forms.
    Interactions {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Answer a question or fill in a form; without ANSWER, dismiss it.
    Answer {
        /// The question's id; see `hob interactions`.
        id: String,
        /// Text, the number of an option, or the fields of a form as JSON, such as {"guests": 4}.
        answer: Vec<String>,
    },
    /// Manage API tokens.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Check the device and the stored data.
    Doctor {
        /// Report which damaged records this backup has intact; repeatable.
        #[arg(long, value_name = "FILE")]
        backup: Vec<PathBuf>,
    },
    /// List Hobs, Home Assistant and Wyoming services on the network.
    Discover {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a backup of all data except secrets to FILE.
    Backup {
        /// A file that does not exist yet.
        file: PathBuf,
    },
    /// Replace the data with a backup; the daemon must not run.
    Restore {
        /// A file written by `hob backup`.
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Create a token and print it; it is not shown again.
    New {
        /// Name of the token; `owner` acts for the person who claimed the device.
        name: String,
        /// Highest role of the token.
        #[arg(long, default_value = "admin")]
        role: TokenRole,
        /// Scope: chat, tools, tool:NAME, events, approvals, device or admin; repeatable. Default: everything the role allows.
        #[arg(long, value_name = "WORD")]
        scope: Vec<String>,
        /// Days until the token expires.
        #[arg(long)]
        days: Option<u32>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum TokenRole {
    Admin,
    Member,
    Viewer,
}

fn json_object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Value::Object(object)),
        Ok(_) => Err("the arguments must be a JSON object, such as {\"pin\": 17}".into()),
        Err(e) => Err(format!("the arguments are not JSON ({e}); write them like {{\"pin\": 17}}")),
    }
}

/// Parses the command line. A usage error exits with 2 and one line that explains it.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        // Help and version.
        if !error.use_stderr() {
            error.exit();
        }
        eprintln!("hob: {}; see `hob --help`", one_line(&error.to_string()));
        std::process::exit(2)
    })
}

/// The text of a clap error on one line, without its label and hints.
fn one_line(error: &str) -> String {
    let lines: Vec<&str> =
        error.trim_start_matches("error:").split("\n\nUsage:").next().unwrap_or_default().lines().collect();
    let kept = lines.iter().map(|l| l.trim()).filter(|l| !l.is_empty() && !l.starts_with("For more information"));
    kept.collect::<Vec<_>>().join(" ")
}

/// The default log level: `info` for the daemon, `error` for other commands.
pub fn default_filter(cli: &Cli) -> EnvFilter {
    EnvFilter::new(if matches!(cli.command, Command::Serve { .. }) { "info" } else { "error" })
}

/// Runs the command. `scrubber` learns the application's secrets and redacts them in the log.
pub async fn run(cli: Cli, scrubber: Scrubber) -> Result<()> {
    if let Command::Discover { json } = cli.command {
        // Without readable data the defaults apply.
        let config = data_dir(cli.location.data).and_then(|data| Config::load(cli.location.config.as_deref(), &data));
        return discover::discover(&config.unwrap_or_default().network.ignore, json).await;
    }
    let data = data_dir(cli.location.data)?;
    let config = || Config::load(cli.location.config.as_deref(), &data);
    match cli.command {
        Command::Serve { listen, name, board, tls, no_mdns } => {
            let mut config = config()?;
            config.listen = listen.unwrap_or(config.listen);
            config.doors.tls = tls.unwrap_or(config.doors.tls);
            config.network.announce &= !no_mdns;
            config.name_is_fixed = name.is_some();
            config.name = name.unwrap_or(config.name);
            config.board = board.unwrap_or(config.board);
            config.check()?;
            match serve::daemon(config, &data, scrubber).await? {
                Some(addresses) => restart::start_again(addresses),
                None => Ok(()),
            }
        }
        Command::Restore { file } => backup::restore(&data, &file),
        command => {
            // Check the data file first, so that an invalid configuration does not prevent it.
            if let Command::Doctor { backup } = &command {
                doctor::file(&data, backup)?;
            }
            let client = Client::connect(&data, config, scrubber).await?;
            let outcome = send(&client, command).await;
            client.close().await;
            outcome
        }
    }
}

/// What to try instead of a search that found no tool.
fn suggestion(similar: &Value) -> String {
    let names: Vec<String> =
        similar.as_array().into_iter().flatten().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => "`hob tools` lists all of them".to_owned(),
        [start @ .., last] if !start.is_empty() => format!("did you mean {} or {last}?", start.join(", ")),
        [one, ..] => format!("did you mean {one}?"),
    }
}

/// Runs a command that is a request to the application.
async fn send(client: &Client, command: Command) -> Result<()> {
    match command {
        Command::Chat { text, conversation, goes_on, json } => {
            chat::chat(client, &text, chat::Place { conversation, goes_on }, json).await
        }
        Command::Call { tool, arguments, json } => {
            let path = format!("/api/v1/tools/{}/execute", percent_encode(&tool));
            let data = client.data("POST", &path, Some(json!({"arguments": arguments}))).await?;
            match (&data["result"], json) {
                (_, true) => put(format_args!("{data}\n"))?,
                (Value::String(text), false) => put(format_args!("{text}\n"))?,
                (result, false) => put(format_args!("{result:#}\n"))?,
            }
            Ok(())
        }
        Command::Tools { explain: Some(tool), agent, user, json, .. } => {
            consent::explain(client, &tool, agent.as_deref(), user.as_deref(), json).await
        }
        Command::Approvals { json } => consent::list(client, json).await,
        Command::Approve { id, always } => {
            let decision = if always { "allow_always" } else { "allow_once" };
            let decided = consent::answer(client, &id, decision, Value::Null, None).await?;
            put(format_args!("{} is allowed\n", decided["tool"].as_str().unwrap_or_default()))?;
            Ok(())
        }
        Command::Deny { id } => {
            let decided = consent::answer(client, &id, "deny", Value::Null, None).await?;
            put(format_args!("{} is not called\n", decided["tool"].as_str().unwrap_or_default()))?;
            Ok(())
        }
        Command::Interactions { json } => answer::interactions(client, json).await,
        Command::Answer { id, answer } => answer::answer(client, &id, &answer.join(" ")).await,
        Command::Tools { json, query, .. } => {
            let path = format!("/api/v1/tools?query={}&details={json}", percent_encode(&query.join(" ")));
            let mut found = client.data("GET", &path, None).await?;
            let tools = found["tools"].take();
            if json {
                put(format_args!("{tools:#}\n"))?;
                return Ok(());
            }
            if !query.is_empty() && tools.as_array().is_none_or(Vec::is_empty) {
                bail!("no tool matches `{}`: {}", query.join(" "), suggestion(&found["similar"]));
            }
            for tool in tools.as_array().into_iter().flatten() {
                let about = tool["description"].as_str().unwrap_or_default();
                let (name, about) =
                    (tool["name"].as_str().unwrap_or_default(), about.lines().next().unwrap_or_default());
                put(format_args!("{name:<26} {}\n", plain(about)))?;
            }
            Ok(())
        }
        Command::Token { command: TokenCommand::New { name, role, scope, days } } => {
            let role = match role {
                TokenRole::Admin => "admin",
                TokenRole::Member => "member",
                TokenRole::Viewer => "viewer",
            };
            let body = json!({"name": name, "role": role, "scope": scope, "expiresInDays": days});
            let created = client.data("POST", "/api/v1/tokens", Some(body)).await?;
            put(format_args!("{}\n", created["token"].as_str().unwrap_or_default()))?;
            eprintln!("this token is not shown again: keep it safe");
            Ok(())
        }
        Command::Doctor { backup } => doctor::doctor(client, &backup).await,
        Command::Backup { file } => backup::backup(client, &file).await,
        Command::Serve { .. } | Command::Restore { .. } | Command::Discover { .. } => Ok(()),
    }
}
