//! `hob chat`: sends messages and prints the answers as they stream in.

use super::{
    answer,
    client::Client,
    consent,
    continued::{Terminals, Word, awaits, decide_by_word, is_reply},
    history,
    incoming::announce,
    input::{Asked, Input, Line},
    screen::Screen,
    terminal::{has_person, plain, put},
};
use anyhow::{Result, bail};
use futures::StreamExt;
use serde_json::{Value, json};
use std::io::IsTerminal;

const PROMPT: &str = "> ";
/// The messages that end a chat line by line.
const LEAVE: &[&str] = &["exit", "quit", "/exit", "/quit", ":q"];

/// The conversation of a message.
pub struct Place {
    /// The conversation it continues.
    pub conversation: Option<String>,
    /// Whether it continues this terminal's last one, whatever it says.
    pub goes_on: bool,
}

/// How a message went.
enum Outcome {
    /// The answer is printed; with the conversation's id.
    Answered(String),
    /// Ctrl-C stopped the answer; with the conversation's id, once it was known.
    Stopped(Option<String>),
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
    if json && words.is_empty() {
        bail!("--json prints the answer to one message: write it after `hob chat --json`");
    }
    if json {
        let body = json!({"message": text, "conversationId": conversation});
        put(format_args!("{}\n", client.data("POST", "/api/v1/chat", Some(body)).await?))?;
        return Ok(());
    }
    let mut input = Input::new()?;
    if words.is_empty() {
        return line_by_line(client, input, &terminals, conversation).await;
    }
    match say(client, &mut input, text, conversation).await? {
        Outcome::Answered(id) => terminals.note(&id),
        Outcome::Stopped(id) => {
            id.iter().for_each(|id| terminals.note(id));
            bail!("stopped by Ctrl-C");
        }
    }
    Ok(())
}

/// Reads messages and answers each, until the input ends or the person leaves.
async fn line_by_line(
    client: &Client,
    mut input: Input,
    terminals: &Terminals,
    mut conversation: Option<String>,
) -> Result<()> {
    let is_interactive = std::io::stdin().is_terminal();
    if has_person() {
        greet(client, &input.screen);
    }
    input.load_history();
    if let Some(id) = &conversation {
        input.screen.converses(id);
    }
    let above = input.above();
    let lines = input.screen.announcer(above);
    let _listening = announce(client, &input.screen, lines);
    let _loading = input.completions().map(|completions| {
        let socket = client.socket();
        let mut loading = tokio::task::JoinSet::new();
        loading.spawn(async move { drop(completions.set(super::tools::names(&socket).await)) });
        loading
    });
    // Whether Ctrl-C was the last thing typed.
    let mut interrupted = false;
    loop {
        let line = match input.read_message(if is_interactive { PROMPT } else { "" }).await? {
            Line::Text(line) => line,
            Line::End => return Ok(()),
            Line::Interrupted { .. } if !is_interactive => bail!("stopped by Ctrl-C"),
            Line::Interrupted { at_empty: true } if interrupted => return Ok(()),
            Line::Interrupted { at_empty } => {
                if at_empty {
                    input.screen.note("Ctrl-C once more leaves, as Ctrl-D does.");
                }
                interrupted = true;
                continue;
            }
        };
        let text = line.trim();
        interrupted = false;
        if text.is_empty() {
            continue;
        }
        if is_interactive && LEAVE.contains(&text) {
            return Ok(());
        }
        // A yes that is recalled by mistake could approve something else.
        if !is_reply(text) && !history::is_private(line.trim_end()) {
            input.store(text);
        }
        match say(client, &mut input, text, conversation.clone()).await {
            Ok(Outcome::Answered(id)) => {
                terminals.note(&id);
                conversation = Some(id);
            }
            Ok(Outcome::Stopped(id)) if is_interactive => {
                input.screen.note("· stopped");
                interrupted = true;
                conversation = id.or(conversation);
                conversation.iter().for_each(|id| terminals.note(id));
            }
            Ok(Outcome::Stopped(_)) => bail!("stopped by Ctrl-C"),
            // Only piped input ends with the first failure.
            Err(error) if is_interactive => input.screen.note(&format!("hob: {error:#}")),
            Err(error) => return Err(error),
        }
    }
}

fn greet(client: &Client, screen: &Screen) {
    screen.note("Talk to Hob. “help” shows what it can do; Ctrl-C stops an answer, Ctrl-D leaves.");
    if !client.is_daemon() {
        let data = client.folder().display();
        screen.note(&format!(
            "No Hob is running with the data in {data}, so this chat opened it: timers and schedules stop when you leave. \
             `hob serve` keeps it running."
        ));
    }
}

/// Says one message: a yes or a no to what waits in the conversation, or words that are answered.
async fn say(client: &Client, input: &mut Input, text: &str, conversation: Option<String>) -> Result<Outcome> {
    input.forget_interrupts();
    let outcome = match conversation {
        Some(id) => match decide_by_word(client, input, text, &id).await {
            Ok(Word::Decided) => Ok(Outcome::Answered(id)),
            Ok(Word::Stopped) => Ok(Outcome::Stopped(Some(id))),
            Ok(Word::DecidedNothing) => send(client, input, text, Some(id)).await,
            Err(error) => Err(error),
        },
        None => send(client, input, text, None).await,
    };
    input.screen.answering(None);
    if let Ok(Outcome::Answered(id) | Outcome::Stopped(Some(id))) = &outcome {
        input.screen.converses(id);
    }
    outcome
}

/// Sends one message, and prints the answer as it streams in.
async fn send(client: &Client, input: &mut Input, text: &str, conversation: Option<String>) -> Result<Outcome> {
    input.screen.answering(Some(""));
    let body = json!({"message": text, "conversationId": conversation, "stream": true});
    let mut printer = EventPrinter::new(input.screen.clone(), conversation);
    // Ctrl-C cancels the run as soon as its id is known, and the run ends its stream. A second one does not wait for that.
    let (mut is_stopping, mut is_cancelled) = (false, false);
    let mut asking = Box::pin(client.stream("POST", "/api/v1/chat", Some(body)));
    let response = loop {
        tokio::select! {
            response = &mut asking => break response?,
            () = input.interrupted() => {
                if is_stopping {
                    return Ok(Outcome::Stopped(printer.conversation));
                }
                is_stopping = true;
            }
        }
    };
    let (mut chunks, mut buffer) = (response.into_stream().boxed(), Vec::new());
    loop {
        if is_stopping
            && !is_cancelled
            && let Some(run) = &printer.run
        {
            is_cancelled = true;
            client.cancel_run(run).await?;
        }
        let chunk = tokio::select! {
            chunk = chunks.next() => chunk,
            () = input.interrupted() => {
                input.screen.cut()?;
                if is_stopping {
                    return Ok(Outcome::Stopped(printer.conversation));
                }
                is_stopping = true;
                continue;
            }
        };
        let Some(chunk) = chunk else { break };
        buffer.extend_from_slice(&chunk?);
        // The daemon ends each event with an empty line and writes its data on one line.
        while let Some(end) = buffer.windows(2).position(|w| w == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            let asked = match printer.print(&String::from_utf8_lossy(&event))? {
                StreamEvent::Approval(approval) => consent::ask_at_terminal(client, input, &approval).await?,
                StreamEvent::Ask(ask) => answer::ask_at_terminal(client, input, &ask).await?,
                StreamEvent::Ui(ui) => answer::show_at_terminal(client, input, &ui).await?,
                StreamEvent::End(id) => return Ok(Outcome::Answered(id)),
                StreamEvent::Cancelled(_) if is_stopping => return Ok(Outcome::Stopped(printer.conversation)),
                StreamEvent::Cancelled(message) => bail!("{message}"),
                StreamEvent::Printed => continue,
            };
            is_stopping |= asked == Asked::Interrupted;
        }
    }
    bail!("the connection to the daemon ended in the middle of the answer: try again")
}

/// An event of the chat stream that needs more than printing.
enum StreamEvent {
    /// The last event, with the conversation's id.
    End(String),
    /// The last event of a run that was cancelled, with its message.
    Cancelled(String),
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
struct EventPrinter {
    screen: Screen,
    run: Option<String>,
    conversation: Option<String>,
}

impl EventPrinter {
    fn new(screen: Screen, conversation: Option<String>) -> Self {
        Self { screen, run: None, conversation }
    }

    /// Prints an event, or returns it for the caller to handle.
    fn print(&mut self, event: &str) -> Result<StreamEvent> {
        let field = |name: &str| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
        let (Some(name), Some(data)) = (field("event:"), field("data:")) else { return Ok(StreamEvent::Printed) };
        let data: Value = serde_json::from_str(data)?;
        match name {
            "run" => {
                let text = |name: &str| data[name].as_str().map(str::to_owned);
                (self.run, self.conversation) = (text("runId"), text("conversationId"));
                self.screen.answering(self.run.as_deref());
                if data["queued"] == true && has_person() {
                    self.screen.note("· waiting for the message before this one");
                }
            }
            "text" => {
                // Keep terminal escapes from web pages out of the terminal.
                let is_control = |c: char| c.is_control() && !"\n\t".contains(c);
                let delta = data["delta"].as_str().unwrap_or_default().replace(is_control, "\u{fffd}");
                self.screen.text(&delta)?;
            }
            "tool_end" if std::io::stderr().is_terminal() => {
                let failed = if data["isError"] == true { ", failed" } else { "" };
                let tool = plain(data["name"].as_str().unwrap_or_default());
                self.screen.note(&format!("· {tool} ({} ms{failed})", data["durationMs"]));
            }
            "approval" => return Ok(StreamEvent::Approval(data)),
            "ask" => {
                self.screen.end_line()?;
                return Ok(StreamEvent::Ask(data));
            }
            "ui" => {
                self.screen.end_line()?;
                return Ok(StreamEvent::Ui(data));
            }
            "message" => self.screen.line(&plain(data["text"].as_str().unwrap_or_default()))?,
            "done" => {
                // A suspended run has its text only in its last event.
                if data["waiting"].as_array().is_some_and(|w| !w.is_empty()) {
                    self.screen.text(data["response"].as_str().unwrap_or_default())?;
                }
                self.screen.end_answer()?;
                return Ok(StreamEvent::End(data["conversationId"].as_str().unwrap_or_default().to_owned()));
            }
            "error" => {
                self.screen.end_line()?;
                let message = data["message"].as_str().unwrap_or("the run failed without a reason");
                if data["code"] == "cancelled" {
                    return Ok(StreamEvent::Cancelled(message.to_owned()));
                }
                bail!("{message}");
            }
            _ => {}
        }
        Ok(StreamEvent::Printed)
    }
}
