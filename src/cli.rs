//! The command line: what can be asked, and which part answers.

use crate::{
    answer,
    client::{self, Client, put},
    config::{Config, data_dir},
    consent,
    discover::discover,
    doctor, restart, serve,
};
use anyhow::{Context, Result};
use board::BoardKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use scrub::Scrubber;
use serde_json::{Value, json};
use std::path::PathBuf;
use text_kit::percent_encode;
use tracing_subscriber::EnvFilter;

/// An always-on agent for a home or workshop.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    pub place: DataLocation,
    #[command(subcommand)]
    pub command: Command,
}

/// Where the data is, and how it is configured.
#[derive(Args, Clone)]
pub struct DataLocation {
    /// The data folder.
    #[arg(long, global = true, env = "HOB_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// The configuration, instead of hob.toml in the data folder.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run the daemon.
    Serve {
        /// Where the page and the API listen.
        #[arg(long, value_name = "ADDR:PORT")]
        listen: Option<String>,
        /// The device's name.
        #[arg(long)]
        name: Option<String>,
        /// Which pins.
        #[arg(long, value_name = "auto|sim|none")]
        board: Option<BoardKind>,
        /// Where TLS listens, or `off`.
        #[arg(long, value_name = "ADDR:PORT")]
        tls: Option<String>,
        /// Announce nothing on the network, and look for nobody.
        #[arg(long)]
        no_mdns: bool,
    },
    /// Say something and hear the answer; without TEXT, talk line by line.
    Chat {
        /// What to say.
        text: Vec<String>,
        /// Go on with this conversation.
        #[arg(long, value_name = "ID")]
        conversation: Option<String>,
        /// Give the whole answer as JSON.
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
        /// Give the whole answer as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the tools, or those that match.
    Tools {
        /// Give everything about them as JSON.
        #[arg(long)]
        json: bool,
        /// Say whether this tool would be called, and which rule decides.
        #[arg(long, value_name = "NAME", conflicts_with = "query")]
        explain: Option<String>,
        /// The agent that acts, for --explain.
        #[arg(long, requires = "explain")]
        agent: Option<String>,
        /// The person it acts for, by name or id, for --explain.
        #[arg(long, requires = "explain")]
        user: Option<String>,
        /// Words that must all match.
        query: Vec<String>,
    },
    /// Show what Hob asks and nobody has answered yet.
    Approvals {
        /// Give everything about it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say yes to what Hob asks.
    Approve {
        /// The question's id.
        id: String,
        /// From now on without asking, for what the question suggests.
        #[arg(long)]
        always: bool,
    },
    /// Say no to what Hob asks.
    Deny {
        /// The question's id.
        id: String,
    },
    /// Show the questions and views that wait for an answer.
    Interactions {
        /// Give everything about them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Answer a question, or send what a form asks for; without an ANSWER, put it aside.
    Answer {
        /// Its id; see `hob interactions`.
        id: String,
        /// Words, the number of an option, or for a form its fields as JSON, such as {"guests": 4}.
        answer: Vec<String>,
    },
    /// Manage API tokens.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Look whether all is well, and whether all that is stored is sound.
    Doctor {
        /// Say which damaged records this backup has a good copy of; may be given several times.
        #[arg(long, value_name = "FILE")]
        backup: Vec<PathBuf>,
    },
    /// Show who else is on the network: other Hobs, Home Assistant, Wyoming services.
    Discover {
        /// Give everything about them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write a copy of all data but the secrets to FILE.
    Backup {
        /// A file that does not exist yet.
        file: PathBuf,
    },
    /// Put a backup in the place of the data; the daemon must not run.
    Restore {
        /// A file that `hob backup` wrote.
        file: PathBuf,
    },
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it, this once.
    New {
        /// Whom it is for; `owner` speaks for the person who claimed the device.
        name: String,
        /// What it may do at most.
        #[arg(long, default_value = "admin")]
        role: TokenRole,
        /// What it may be used for: chat, tools, tool:NAME, events, approvals, device, admin; may be given several times. All that its
        /// role may, when left out.
        #[arg(long, value_name = "WORD")]
        scope: Vec<String>,
        /// After how many days it ends.
        #[arg(long)]
        days: Option<u32>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum TokenRole {
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

/// Reads the command line; a misuse ends the process with 2 and one line that says why.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        // Help and version are no misuse.
        if !error.use_stderr() {
            error.exit();
        }
        eprintln!("hob: {}; see `hob --help`", one_line(&error.to_string()));
        std::process::exit(2)
    })
}

/// What clap says in a paragraph, without its label and the hints after it.
fn one_line(told: &str) -> String {
    let lines: Vec<&str> =
        told.trim_start_matches("error:").split("\n\nUsage:").next().unwrap_or_default().lines().collect();
    let said = lines.iter().map(|l| l.trim()).filter(|l| !l.is_empty() && !l.starts_with("For more information"));
    said.collect::<Vec<_>>().join(" ")
}

/// A daemon tells what it does; a command only what went wrong.
pub fn default_filter(cli: &Cli) -> EnvFilter {
    EnvFilter::new(if matches!(cli.command, Command::Serve { .. }) { "info" } else { "error" })
}

/// Does what was asked. What the house learns of secrets, `scrubber` keeps out of the log.
pub async fn run(cli: Cli, scrubber: Scrubber) -> Result<()> {
    if let Command::Discover { json } = cli.command {
        // Where there is no data, or none that may be read, the defaults do.
        let place = data_dir(cli.place.data).and_then(|data| Config::load(cli.place.config.as_deref(), &data));
        return discover(&place.unwrap_or_default().network.ignore, json).await;
    }
    let data = data_dir(cli.place.data)?;
    let config = || Config::load(cli.place.config.as_deref(), &data);
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
                Some(doors) => restart::start_again(doors),
                None => Ok(()),
            }
        }
        Command::Restore { file } => restore(&data, &file),
        command => {
            // Also before a configuration that cannot be read: the data is looked at first.
            if let Command::Doctor { backup } = &command {
                doctor::file(&data, backup)?;
            }
            let client = Client::connect(&data, config, scrubber).await?;
            let done = ask(&client, command).await;
            client.close().await;
            done
        }
    }
}

async fn ask(client: &Client, command: Command) -> Result<()> {
    match command {
        Command::Chat { text, conversation, json } => client::chat(client, &text.join(" "), conversation, json).await,
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
            let told = consent::answer(client, &id, decision, Value::Null, None).await?;
            put(format_args!("{} is allowed\n", told["tool"].as_str().unwrap_or_default()))?;
            Ok(())
        }
        Command::Deny { id } => {
            let told = consent::answer(client, &id, "deny", Value::Null, None).await?;
            put(format_args!("{} is not called\n", told["tool"].as_str().unwrap_or_default()))?;
            Ok(())
        }
        Command::Interactions { json } => answer::interactions(client, json).await,
        Command::Answer { id, answer } => answer::answer(client, &id, &answer.join(" ")).await,
        Command::Tools { json, query, .. } => {
            let path = format!("/api/v1/tools?query={}", percent_encode(&query.join(" ")));
            let tools = client.data("GET", &path, None).await?["tools"].take();
            if json {
                put(format_args!("{tools:#}\n"))?;
                return Ok(());
            }
            for tool in tools.as_array().into_iter().flatten() {
                let about = tool["description"].as_str().unwrap_or_default();
                let (name, about) =
                    (tool["name"].as_str().unwrap_or_default(), about.lines().next().unwrap_or_default());
                put(format_args!("{name:<26} {}\n", client::plain(about)))?;
            }
            Ok(())
        }
        Command::Token { command: TokenCommand::New { name, role, scope, days } } => {
            let role = match role {
                TokenRole::Admin => "admin",
                TokenRole::Member => "member",
                TokenRole::Viewer => "viewer",
            };
            let wanted = json!({"name": name, "role": role, "scope": scope, "expiresInDays": days});
            let made = client.data("POST", "/api/v1/tokens", Some(wanted)).await?;
            put(format_args!("{}\n", made["token"].as_str().unwrap_or_default()))?;
            eprintln!("this is shown only now: keep it safe");
            Ok(())
        }
        Command::Doctor { backup } => doctor::doctor(client, &backup).await,
        Command::Backup { file } => client::backup(client, &file).await,
        Command::Serve { .. } | Command::Restore { .. } | Command::Discover { .. } => Ok(()),
    }
}

fn restore(data: &std::path::Path, file: &std::path::Path) -> Result<()> {
    let before = store::restore(data, file).context("nothing was restored")?;
    // What was sent to the daemon before is not to take its place at the next start.
    let _ = std::fs::remove_file(data.join(api::PENDING));
    put(format_args!(
        "restored {}; keys, tokens and sessions are in no backup: enter and make them anew\n",
        file.display()
    ))?;
    for (what, path) in [("what was there before is", before.data), ("files that were sent before are", before.files)] {
        if path.exists() {
            put(format_args!("{what} in {}\n", path.display()))?;
        }
    }
    Ok(())
}
