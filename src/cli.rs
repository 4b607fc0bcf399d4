//! The command line: its arguments, and the module that runs each command.
//!
//! Modules use only those before them: `terminal` (output), `wrap` (line breaks), `screen` and `input` with its `editor` and
//! `history` (both sides of a chat), `client` (requests over the local socket), `show` (blocks as text), `answer` and `consent`
//! (questions and approvals at the terminal), `continued` (the conversation of a short answer), `incoming` (events while one
//! types), then one module a command, `first_boot` with the parser of its `settings_file`.

mod answer;
mod backup;
mod bundle;
mod chat;
mod client;
mod consent;
mod continued;
mod database;
mod discover;
mod doctor;
mod editor;
mod factory_reset;
mod first_boot;
mod history;
mod incoming;
mod input;
mod screen;
mod show;
mod support;
mod terminal;
mod tokens;
mod tools;
mod update;
mod voice;
mod wrap;

use crate::{
    config::{Config, data_dir},
    house::{self, serve},
};
use anyhow::Result;
use board::BoardKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, error::ErrorKind};
use client::Client;
use scrub::Scrubber;
use serde_json::{Value, json};
use std::{ffi::OsString, path::PathBuf, process::ExitCode, time::Duration};
use terminal::{plain, put};
use tracing_subscriber::EnvFilter;

/// First steps, below the list of commands.
const FIRST_STEPS: &str = "\
First steps:
  hob serve                 start Hob; open the link it prints
  hob chat                  talk to it in this terminal
  hob chat \"add milk to the shopping list\"
  hob tools timer           what it can do with timers
  hob doctor                check that everything is well

Every command takes --help. Commands reach the Hob that runs with the same data folder; without one they open the data
themselves. Exit codes: 0 done, 1 failed, 2 misused.";

/// What the keys do in a chat.
const KEYS: &str = "\
Line by line: the arrow keys edit and recall lines, Ctrl-R searches them, Tab completes names of tools. Ctrl-C stops an
answer, Ctrl-D leaves. Lines with passwords, keys or codes, and lines that begin with a space, are not stored.";

/// An always-on agent for a home or workshop.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = FIRST_STEPS)]
pub struct Cli {
    #[command(flatten)]
    location: DataLocation,
    #[command(subcommand)]
    command: Command,
}

/// Paths of the data and the configuration.
#[derive(Args, Clone)]
struct DataLocation {
    /// The data folder; ~/.local/share/hob if left out.
    #[arg(long, global = true, env = "HOB_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The configuration file, instead of hob.toml in the data folder.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Start Hob and keep it running; prints the link to its page.
    Serve {
        /// Address of the page and the API; 127.0.0.1:4620 if left out, 0.0.0.0:4620 for the network.
        #[arg(long, value_name = "ADDR:PORT")]
        listen: Option<String>,
        /// The device's name on the network.
        #[arg(long)]
        name: Option<String>,
        /// The pins: this machine's, simulated ones, or none.
        #[arg(long, value_name = "auto|sim|none")]
        board: Option<BoardKind>,
        /// Address for https, or `off`; port 4621 if left out.
        #[arg(long, value_name = "ADDR:PORT")]
        tls: Option<String>,
        /// Do not announce Hob on the network, and do not look for others.
        #[arg(long)]
        no_mdns: bool,
    },
    /// Talk to Hob: one message, or without TEXT line by line.
    #[command(after_help = KEYS)]
    Chat {
        /// The message; quotes are needed only for what the shell would change.
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
    /// Call a tool with exact arguments, such as: hob call calculate '{"expression": "6*7"}'.
    Call {
        /// The tool's name; see `hob tools`.
        tool: String,
        /// Its arguments, as a JSON object.
        #[arg(default_value = "{}", value_parser = json_object)]
        arguments: Value,
        /// Print the whole response as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Undo your last change, or the one with this id.
    Undo {
        /// The change's id; see --list.
        id: Option<String>,
        /// List your latest changes instead.
        #[arg(long, conflicts_with = "id")]
        list: bool,
    },
    /// List the tools, or those that match QUERY.
    Tools {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
        /// Print whether a call of this tool is allowed, and by which rule.
        #[arg(long, value_name = "NAME", conflicts_with = "query")]
        explain: Option<String>,
        /// The acting agent, for --explain.
        #[arg(long, requires = "explain")]
        agent: Option<String>,
        /// The person the agent acts for, by name or id, for --explain.
        #[arg(long, requires = "explain")]
        user: Option<String>,
        /// Words to search for, in names and descriptions; else by meaning.
        query: Vec<String>,
    },
    /// List the calls that wait for your approval.
    Approvals {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Approve a call that waits.
    Approve {
        /// The approval's id; see `hob approvals`.
        id: String,
        /// Also allow the suggested pattern of calls from now on.
        #[arg(long)]
        always: bool,
    },
    /// Deny a call that waits.
    Deny {
        /// The approval's id; see `hob approvals`.
        id: String,
    },
    /// List the questions and forms that wait for your answer.
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
    /// Create, list and revoke tokens, with which programs use Hob.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Decide which addresses may speak to Hob by voice, such as Home Assistant; without a command, list them.
    Voice {
        #[command(subcommand)]
        command: Option<VoiceCommand>,
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check that everything is well: data, model, device.
    Doctor {
        /// Report which damaged records this backup has intact; repeatable.
        #[arg(long, value_name = "FILE")]
        backup: Vec<PathBuf>,
    },
    /// List Hobs, Home Assistant, MQTT brokers, voice servers and other devices on the network.
    Discover {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a backup of all data to FILE: with a passphrase encrypted and with the keys of services, else without them.
    Backup {
        /// A file that does not exist yet.
        file: PathBuf,
        /// A file with the passphrase in its first line; `-` reads it from the input.
        #[arg(long, value_name = "FILE")]
        passphrase_file: Option<PathBuf>,
        /// Leave out the files of the workspace.
        #[arg(long)]
        without_files: bool,
    },
    /// Export and import the SQL database of your agent.
    Db {
        #[command(subcommand)]
        command: database::DatabaseCommand,
    },
    /// Make, inspect and verify update bundles, for releases and your own builds.
    Bundle {
        #[command(subcommand)]
        command: bundle::BundleCommand,
    },
    /// Take over the settings file on the card of the firmware image, and empty it.
    #[command(hide = true)]
    FirstBoot {
        /// The settings file.
        #[arg(long)]
        file: PathBuf,
        /// The folder for what the network needs.
        #[arg(long)]
        out: PathBuf,
    },
    /// Replace all data with a backup, while Hob is stopped; asks for the passphrase of an encrypted one.
    Restore {
        /// A file written by `hob backup`.
        file: PathBuf,
        /// A file with the passphrase in its first line; `-` reads it from the input.
        #[arg(long, value_name = "FILE")]
        passphrase_file: Option<PathBuf>,
    },
    /// Write a text about this device for those who help you to FILE, without secrets and names.
    Support {
        /// A file that does not exist yet.
        file: PathBuf,
    },
    /// See which version runs, and install another.
    Update {
        /// Left out: `status`.
        #[command(subcommand)]
        command: Option<update::UpdateCommand>,
    },
    /// Run `hob serve` so that it can be updated: two copies in DIR/slots, of which one runs.
    #[command(after_help = update::SUPERVISE)]
    Supervise {
        /// The folder of the two copies; it is made when it is missing.
        #[arg(long, value_name = "DIR")]
        root: PathBuf,
        /// How long a new version may take until it is confirmed; twice `update.window_seconds` and five minutes if left out.
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
        try_seconds: Option<u64>,
        /// The arguments of `hob serve`.
        #[arg(last = true, value_name = "ARGS")]
        arguments: Vec<OsString>,
    },
    /// Remove everything that is stored, people and keys included; the device can then be claimed again.
    FactoryReset {
        /// Do not ask for the device's name.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Subcommand)]
enum VoiceCommand {
    /// Let this address speak to Hob.
    Approve {
        /// Its IP address, such as 192.168.1.7.
        address: String,
        /// A name for it, such as "Home Assistant".
        #[arg(long)]
        name: Option<String>,
    },
    /// Refuse what this address says.
    Deny {
        /// Its IP address.
        address: String,
    },
    /// Forget this address; when it speaks again, it waits for approval.
    Remove {
        /// Its IP address.
        address: String,
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
        /// Scope: chat, tools, tool:NAME, events, approvals, device or admin; repeatable. Everything the role allows if left out.
        #[arg(long, value_name = "WORD")]
        scope: Vec<String>,
        /// Days until the token expires.
        #[arg(long)]
        days: Option<u32>,
    },
    /// List the tokens: names, roles, scopes, when they were made and last used.
    List {
        /// Print all details as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token at once.
    Revoke {
        /// Its id, or its name if no other token has it.
        token: String,
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

/// Parses the command line. A usage error exits with 2 and one line that explains it; without any command the help precedes it.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        // Help and version.
        if !error.use_stderr() {
            error.exit();
        }
        let given: Vec<String> = std::env::args().skip(1).collect();
        if given.is_empty() {
            let _ = Cli::command().print_help();
        }
        eprintln!("hob: {}", misuse(&error, &given));
        std::process::exit(2)
    })
}

/// A usage error and where to look, on one line.
fn misuse(error: &clap::Error, given: &[String]) -> String {
    let cli = Cli::command();
    // The command that was meant, with its own commands.
    let mut path = vec!["hob"];
    let mut command = &cli;
    for word in given {
        if let Some(found) = command.find_subcommand(word) {
            path.push(found.get_name());
            command = found;
        }
    }
    let path = path.join(" ");
    let lists_commands =
        [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand].contains(&error.kind());
    let why = match lists_commands {
        true => {
            let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            format!("write a command after `{path}`: {}", names.join(", "))
        }
        false => one_line(&error.to_string()),
    };
    format!("{why}; see `{path} --help`")
}

/// The text of a clap error on one line, without its label and usage.
fn one_line(error: &str) -> String {
    let text = error.trim_start_matches("error:").split("\n\nUsage:").next().unwrap_or_default();
    let parts = text.split("\n\n").map(|part| {
        let lines = part.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("For more information"));
        lines.collect::<Vec<_>>().join(" ").trim_start_matches("tip: ").to_owned()
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The default log level: `info` for the daemon, `error` for other commands.
pub fn default_filter(cli: &Cli) -> EnvFilter {
    let runs_long = matches!(cli.command, Command::Serve { .. } | Command::Supervise { .. });
    EnvFilter::new(if runs_long { "info" } else { "error" })
}

/// Runs the command. `scrubber` learns the application's secrets and redacts them in the log.
pub async fn run(cli: Cli, scrubber: Scrubber) -> Result<ExitCode> {
    if let Command::Bundle { command } = cli.command {
        return bundle::bundle(command).map(|()| ExitCode::SUCCESS);
    }
    if let Command::Discover { json } = cli.command {
        // Without readable data the defaults apply.
        let config = data_dir(cli.location.data).and_then(|data| Config::load(cli.location.config.as_deref(), &data));
        discover::discover(&config.unwrap_or_default().network.ignore, json).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let data = data_dir(cli.location.data.clone())?;
    let config = || Config::load(cli.location.config.as_deref(), &data);
    match cli.command {
        Command::Serve { listen, name, board, tls, no_mdns } => {
            let settings = || {
                let mut config = config()?;
                config.listen = listen.clone().unwrap_or(config.listen);
                config.doors.tls = tls.clone().unwrap_or(config.doors.tls);
                config.network.announce &= !no_mdns;
                config.name_is_fixed = name.is_some();
                config.name = name.clone().unwrap_or(config.name);
                config.board = board.unwrap_or(config.board);
                config.check()?;
                anyhow::Ok(config)
            };
            house::update::reported(&data, serve::serve(&data, settings, scrubber)).await
        }
        Command::Supervise { root, try_seconds, arguments } => {
            // Hob itself says what is wrong with a configuration that cannot be read.
            let file = update::given(&arguments, "--config").or_else(|| cli.location.config.clone());
            let data = data_dir(update::given(&arguments, "--data").or_else(|| cli.location.data.clone()))?;
            let window = Config::load(file.as_deref(), &data).unwrap_or_default().update.window();
            let trial = try_seconds.map_or(2 * window + update::TRIAL_SPARE, Duration::from_secs);
            let before = update::location(cli.location.data, cli.location.config);
            update::run_supervisor(&root, trial, before.into_iter().chain(arguments).collect()).await
        }
        Command::FactoryReset { yes } => {
            factory_reset::factory_reset(&data, config, scrubber, yes).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Restore { file, passphrase_file } => {
            backup::restore(&data, &file, passphrase_file.as_deref()).map(|()| ExitCode::SUCCESS)
        }
        Command::FirstBoot { file, out } => {
            let first = first_boot::first_boot(&file, &out, || Client::connect(&data, config, scrubber));
            first.await.map(|()| ExitCode::SUCCESS)
        }
        command => {
            // Check the data file first, so that an invalid configuration does not prevent it.
            if let Command::Doctor { backup } = &command {
                doctor::file(&data, backup)?;
            }
            let client = Client::connect(&data, config, scrubber).await?;
            let outcome = send(&client, command).await;
            client.close().await;
            outcome.map(|()| ExitCode::SUCCESS)
        }
    }
}

/// Runs a command that is a request to the application.
async fn send(client: &Client, command: Command) -> Result<()> {
    match command {
        Command::Chat { text, conversation, goes_on, json } => {
            chat::chat(client, &text, chat::Place { conversation, goes_on }, json).await
        }
        Command::Call { tool, arguments, json } => tools::call(client, &tool, arguments, json).await,
        Command::Undo { list: true, .. } => {
            let data = client.data("GET", "/api/v1/changes?limit=20", None).await?;
            let changes = data["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
            if changes.is_empty() {
                put(format_args!("there is nothing to undo yet\n"))?;
            }
            for change in changes {
                let text = |name: &str| plain(change[name].as_str().unwrap_or_default());
                let note = match (change["undone"] == true, change["reversible"] == true) {
                    (true, _) => " (undone)",
                    (false, true) => "",
                    (false, false) => " (cannot be undone)",
                };
                put(format_args!("{}  {}  {}{note}\n", text("id"), text("at"), text("text")))?;
            }
            Ok(())
        }
        Command::Undo { id, .. } => {
            let arguments = id.map_or_else(|| json!({}), |id| json!({"changeId": id}));
            let data = client.data("POST", "/api/v1/tools/undo/execute", Some(json!({"arguments": arguments}))).await?;
            put(format_args!("{}\n", plain(data["say"].as_str().unwrap_or("Undone."))))?;
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
        Command::Tools { json, query, .. } => tools::list(client, &query, json).await,
        Command::Voice { command, json } => match command {
            None => voice::list(client, json).await,
            Some(VoiceCommand::Approve { address, name }) => voice::decide(client, &address, "approved", name).await,
            Some(VoiceCommand::Deny { address }) => voice::decide(client, &address, "denied", None).await,
            Some(VoiceCommand::Remove { address }) => voice::remove(client, &address).await,
        },
        Command::Token { command } => match command {
            TokenCommand::New { name, role, scope, days } => {
                let role = match role {
                    TokenRole::Admin => "admin",
                    TokenRole::Member => "member",
                    TokenRole::Viewer => "viewer",
                };
                tokens::create(client, tokens::NewToken { name, role, scope, days }).await
            }
            TokenCommand::List { json } => tokens::list(client, json).await,
            TokenCommand::Revoke { token } => tokens::revoke(client, &token).await,
        },
        Command::Doctor { backup } => doctor::doctor(client, &backup).await,
        Command::Backup { file, passphrase_file, without_files } => {
            backup::backup(client, &file, passphrase_file.as_deref(), !without_files).await
        }
        Command::Db { command } => database::database(client, command).await,
        Command::Support { file } => support::support(client, &file).await,
        Command::Update { command } => update::update(client, command).await,
        Command::Serve { .. }
        | Command::Restore { .. }
        | Command::Discover { .. }
        | Command::Bundle { .. }
        | Command::FirstBoot { .. }
        | Command::Supervise { .. }
        | Command::FactoryReset { .. } => Ok(()),
    }
}
