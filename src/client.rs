//! The command line's side of the local socket.
//!
//! Where no daemon runs, the house is built here for as long as the command takes and served on the same socket,
//! so that there is one way to ask.

use crate::{answer, config::Config, consent, house, serve};
use anyhow::{Context, Result, bail};
use api::{AppState, Listeners};
use futures::StreamExt;
use http_client::{Local, Streaming};
use scrub::Scrubber;
use serde_json::{Value, json};
use std::{
    io::{BufRead, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};
use tokio::task::JoinHandle;

/// The largest answer that is not a stream, in bytes.
const LARGEST: usize = 64 << 20;

/// A way to the house.
pub struct Client {
    local: Local,
    /// The house, where it was built for this command.
    own: Option<(AppState, JoinHandle<()>)>,
}

impl Client {
    /// Reaches the daemon of this data folder, or opens the data itself.
    pub async fn connect(data: &Path, config: impl FnOnce() -> Result<Config>, scrubber: Scrubber) -> Result<Self> {
        let socket = data.join(serve::SOCKET);
        let local = Local::new(&socket);
        if socket.exists() && local.request("GET", "/healthz", None).await.is_ok() {
            return Ok(Self { local, own: None });
        }
        let (house, ..) = house::build(config()?, data, house::Entry { scrubber, ..house::Entry::default() })?;
        let listeners = Listeners { tcp: None, tls: None, socket: serve::open_socket(data)? };
        let serving = tokio::spawn(api::serve(house.clone(), listeners)?);
        Ok(Self { local, own: Some((house, serving)) })
    }

    /// Lets go of the house, if it was built for this command.
    pub async fn close(self) {
        if let Some((house, serving)) = self.own {
            house.closing.cancel();
            let _ = serving.await;
            house::close(house).await;
        }
    }

    /// Whether a daemon answers, and not a house that was built for this command.
    pub fn is_daemon(&self) -> bool {
        self.own.is_none()
    }

    /// The `data` of an answer.
    pub async fn data(&self, method: &str, path: &str, body: Option<Value>) -> Result<Value> {
        let answer = self.local.request(method, path, body).await?;
        let (status, bytes) = (answer.status, answer.bytes(LARGEST).await?);
        unwrapped(status, &bytes)
    }

    async fn stream(&self, method: &str, path: &str, body: Option<Value>) -> Result<Streaming> {
        let answer = self.local.request(method, path, body).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer);
        }
        let (status, bytes) = (answer.status, answer.bytes(LARGEST).await?);
        unwrapped(status, &bytes)?;
        bail!("the daemon answered {status} in words nobody knows")
    }
}

fn unwrapped(status: u16, bytes: &[u8]) -> Result<Value> {
    let mut answer: Value =
        serde_json::from_slice(bytes).with_context(|| format!("the daemon answered {status} in words nobody knows"))?;
    match answer["success"].as_bool() {
        Some(true) => Ok(answer["data"].take()),
        _ => bail!("{}", answer["error"]["message"].as_str().unwrap_or("the daemon refused and did not say why")),
    }
}

/// Writes to standard output at once; a reader that went away is an error here and none to the caller of `hob`.
pub fn put(text: std::fmt::Arguments) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_fmt(text)?;
    out.flush()
}

/// Text for a terminal: what would move the cursor, colour or turn round what a person reads is shown as a sign.
pub fn plain(text: &str) -> String {
    let odd = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if odd(c) { '\u{fffd}' } else { c }).collect()
}

/// Says `text`, or talks line by line when it is empty.
pub async fn chat(client: &Client, text: &str, conversation: Option<String>, json: bool) -> Result<()> {
    if json {
        let body = json!({"message": text, "conversationId": conversation});
        put(format_args!("{}\n", client.data("POST", "/api/v1/chat", Some(body)).await?))?;
        return Ok(());
    }
    if !text.is_empty() {
        return say(client, text, conversation).await.map(drop);
    }
    let person = std::io::stdin().is_terminal();
    let mut conversation = conversation;
    loop {
        if person {
            put(format_args!("> "))?;
        }
        let mut bytes = vec![];
        if std::io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&bytes);
        if line.trim().is_empty() {
            continue;
        }
        match say(client, line.trim(), conversation.clone()).await {
            Ok(id) => conversation = Some(id),
            // Talking goes on; only a pipe ends with the first failure.
            Err(error) if person => eprintln!("hob: {error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// Says one thing, prints the answer as it comes, and answers the conversation's id.
async fn say(client: &Client, text: &str, conversation: Option<String>) -> Result<String> {
    let body = json!({"message": text, "conversationId": conversation, "stream": true});
    let answer = client.stream("POST", "/api/v1/chat", Some(body)).await?;
    let (mut pieces, mut buffer) = (answer.into_stream().boxed(), Vec::new());
    let mut told = ErrorBody::default();
    while let Some(piece) = pieces.next().await {
        buffer.extend_from_slice(&piece?);
        // Our own daemon ends events with an empty line and puts data on one line.
        while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            match told.take(&String::from_utf8_lossy(&event))? {
                StreamEvent::Approval(approval) => consent::ask_at_terminal(client, &approval).await?,
                StreamEvent::Ask(ask) => answer::ask_at_terminal(client, &ask).await?,
                StreamEvent::Ui(ui) => answer::show_at_terminal(client, &ui).await?,
                StreamEvent::End(id) => return Ok(id),
                StreamEvent::More => {}
            }
        }
    }
    bail!("the daemon went away in the middle of its answer: ask again")
}

/// What an event was.
enum StreamEvent {
    /// The last, with the conversation's id.
    End(String),
    /// A question to the person.
    Approval(Value),
    /// A question of a tool.
    Ask(Value),
    /// Something to be shown, and perhaps filled in.
    Ui(Value),
    More,
}

#[derive(Default)]
struct ErrorBody {
    any: bool,
    /// Whether what was printed last ended in the middle of a line.
    open: bool,
}

impl ErrorBody {
    /// Prints what an event says.
    fn take(&mut self, event: &str) -> Result<StreamEvent> {
        let field = |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
        let (Some(name), Some(data)) = (field("event:"), field("data:")) else { return Ok(StreamEvent::More) };
        let data: Value = serde_json::from_str(data)?;
        match name {
            "text" => {
                // What a web page smuggled in must not reach the terminal.
                let odd = |c: char| c.is_control() && !"\n\t".contains(c);
                let delta = data["delta"].as_str().unwrap_or_default().replace(odd, "\u{fffd}");
                put(format_args!("{delta}"))?;
                self.any = true;
                self.open = if delta.is_empty() { self.open } else { !delta.ends_with('\n') };
            }
            "tool_end" if std::io::stderr().is_terminal() => {
                let failed = if data["isError"] == true { ", failed" } else { "" };
                eprintln!("· {} ({} ms{failed})", data["name"].as_str().unwrap_or_default(), data["durationMs"]);
            }
            "approval" => return Ok(StreamEvent::Approval(data)),
            "ask" => {
                self.end_line()?;
                return Ok(StreamEvent::Ask(data));
            }
            "ui" => {
                self.end_line()?;
                return Ok(StreamEvent::Ui(data));
            }
            "message" => {
                self.end_line()?;
                put(format_args!("{}\n", plain(data["text"].as_str().unwrap_or_default())))?;
            }
            "done" => {
                // A run that rests says so at its end, and not word by word.
                if data["waiting"].as_array().is_some_and(|w| !w.is_empty()) {
                    put(format_args!("{}", data["response"].as_str().unwrap_or_default()))?;
                }
                put(format_args!("\n"))?;
                return Ok(StreamEvent::End(data["conversationId"].as_str().unwrap_or_default().to_owned()));
            }
            "error" => {
                if self.any {
                    put(format_args!("\n"))?;
                }
                bail!("{}", data["message"].as_str().unwrap_or("the run failed and did not say why"));
            }
            _ => {}
        }
        Ok(StreamEvent::More)
    }

    /// What follows stands on lines of its own.
    fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.open) {
            put(format_args!("\n"))?;
        }
        Ok(())
    }
}

/// Writes a backup to `file`.
pub async fn backup(client: &Client, file: &Path) -> Result<()> {
    let shown = file.display();
    let open = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let mut out = open.with_context(|| match file.exists() {
        true => format!("{shown} exists already: choose another name"),
        false => format!("could not make {shown}: choose a folder that exists and may be written"),
    })?;
    let write = async {
        let mut pieces = client.stream("POST", "/api/v1/backup", None).await?.into_stream().boxed();
        let mut size = 0;
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            size += piece.len();
            out.write_all(&piece)?;
        }
        out.sync_all()?;
        anyhow::Ok(size)
    };
    match write.await {
        Ok(size) => {
            put(format_args!(
                "wrote {shown} ({size} bytes); secrets are not in it: keys, tokens and sessions stay on this device\n"
            ))?;
            Ok(())
        }
        Err(error) => {
            // Half a backup is worse than none.
            let _ = std::fs::remove_file(file);
            Err(error.context(format!("{shown} was not written")))
        }
    }
}
