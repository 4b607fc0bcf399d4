//! `hob chat`: sends messages and prints the answers as they stream in.

use super::{
    answer,
    client::Client,
    consent,
    continued::{Terminals, awaits, decide_by_word, is_reply},
    terminal::{plain, put},
};
use anyhow::{Result, bail};
use futures::StreamExt;
use serde_json::{Value, json};
use std::io::{BufRead, IsTerminal};

/// The conversation of a message.
pub struct Place {
    /// The conversation it continues.
    pub conversation: Option<String>,
    /// Whether it continues this terminal's last one, whatever it says.
    pub goes_on: bool,
}

/// Sends the words of a message, or reads messages line by line when there are none.
pub async fn chat(client: &Client, words: &[String], place: Place, json: bool) -> Result<()> {
    let text = &words.join(" ");
    let terminals = Terminals::of(client.folder());
    let conversation = match (place.conversation, place.goes_on) {
        (Some(id), _) => Some(id),
        (None, true) => match terminals.last() {
            None => {
                bail!("this terminal has no conversation of the last 15 minutes: leave `--continue` out to begin one")
            }
            last => last,
        },
        (None, false) if is_reply(text) => match terminals.last() {
            Some(id) if awaits(client, text, &id).await => Some(id),
            _ => None,
        },
        _ => None,
    };
    if !words.is_empty() && text.trim().is_empty() {
        bail!("the message is empty: write what you want to say, or leave it out to chat line by line");
    }
    if json {
        let body = json!({"message": text, "conversationId": conversation});
        put(format_args!("{}\n", client.data("POST", "/api/v1/chat", Some(body)).await?))?;
        return Ok(());
    }
    if !words.is_empty() {
        terminals.note(&say(client, text, conversation).await?);
        return Ok(());
    }
    let is_interactive = std::io::stdin().is_terminal();
    let mut conversation = conversation;
    loop {
        if is_interactive {
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
            Ok(id) => {
                terminals.note(&id);
                conversation = Some(id);
            }
            // Only piped input ends with the first failure.
            Err(error) if is_interactive => eprintln!("hob: {error:#}"),
            Err(error) => return Err(error),
        }
    }
}

/// Says one message: a yes or a no to what waits in the conversation, or words that are answered.
async fn say(client: &Client, text: &str, conversation: Option<String>) -> Result<String> {
    match conversation {
        Some(id) if decide_by_word(client, text, &id).await? => Ok(id),
        conversation => send(client, text, conversation).await,
    }
}

/// Sends one message, prints the answer as it streams in, and returns the conversation's id.
async fn send(client: &Client, text: &str, conversation: Option<String>) -> Result<String> {
    let body = json!({"message": text, "conversationId": conversation, "stream": true});
    let response = client.stream("POST", "/api/v1/chat", Some(body)).await?;
    let (mut chunks, mut buffer) = (response.into_stream().boxed(), Vec::new());
    let mut printer = EventPrinter::default();
    while let Some(chunk) = chunks.next().await {
        buffer.extend_from_slice(&chunk?);
        // The daemon ends each event with an empty line and writes its data on one line.
        while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            match printer.print(&String::from_utf8_lossy(&event))? {
                StreamEvent::Approval(approval) => consent::ask_at_terminal(client, &approval).await?,
                StreamEvent::Ask(ask) => answer::ask_at_terminal(client, &ask).await?,
                StreamEvent::Ui(ui) => answer::show_at_terminal(client, &ui).await?,
                StreamEvent::End(id) => return Ok(id),
                StreamEvent::Printed => {}
            }
        }
    }
    bail!("the connection to the daemon ended in the middle of the answer: try again")
}

/// An event of the chat stream that needs more than printing.
enum StreamEvent {
    /// The last event, with the conversation's id.
    End(String),
    /// A call that needs approval.
    Approval(Value),
    /// A question from a tool.
    Ask(Value),
    /// Blocks from a tool, perhaps with a form.
    Ui(Value),
    /// The event is printed or ignored.
    Printed,
}

/// Prints the events of one answer.
#[derive(Default)]
struct EventPrinter {
    has_text: bool,
    /// Whether the printed text ends in the middle of a line.
    mid_line: bool,
}

impl EventPrinter {
    /// Prints an event, or returns it for the caller to handle.
    fn print(&mut self, event: &str) -> Result<StreamEvent> {
        let field = |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
        let (Some(name), Some(data)) = (field("event:"), field("data:")) else { return Ok(StreamEvent::Printed) };
        let data: Value = serde_json::from_str(data)?;
        match name {
            "text" => {
                // Keep terminal escapes from web pages out of the terminal.
                let is_control = |c: char| c.is_control() && !"\n\t".contains(c);
                let delta = data["delta"].as_str().unwrap_or_default().replace(is_control, "\u{fffd}");
                put(format_args!("{delta}"))?;
                self.has_text = true;
                self.mid_line = if delta.is_empty() { self.mid_line } else { !delta.ends_with('\n') };
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
                // A suspended run has its text only in its last event.
                if data["waiting"].as_array().is_some_and(|w| !w.is_empty()) {
                    put(format_args!("{}", data["response"].as_str().unwrap_or_default()))?;
                }
                put(format_args!("\n"))?;
                return Ok(StreamEvent::End(data["conversationId"].as_str().unwrap_or_default().to_owned()));
            }
            "error" => {
                if self.has_text {
                    put(format_args!("\n"))?;
                }
                bail!("{}", data["message"].as_str().unwrap_or("the run failed without a reason"));
            }
            _ => {}
        }
        Ok(StreamEvent::Printed)
    }

    /// Ends an unfinished line.
    fn end_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.mid_line) {
            put(format_args!("\n"))?;
        }
        Ok(())
    }
}
