//! The conversation that a short answer continues: the last one of this terminal, with the approval that waits in it.

use super::{
    client::Client,
    consent,
    input::{Asked, Input},
    terminal::plain,
};
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use text_kit::percent_encode;

/// How long a short answer continues the last conversation: as long as a question without a model stays open.
const CONTINUES: Duration = Duration::from_secs(15 * 60);
/// How many terminals are known; each is forgotten once its time is over.
const TERMINALS: usize = 64;
/// How long the rest of an answer is waited for after an approval, and how often it is looked for.
const REST: Duration = Duration::from_secs(10 * 60);
const LOOK: Duration = Duration::from_millis(250);
/// How many times in a row a run may be found waiting before it counts as waiting for something else.
const RESTS: usize = 20;

const YES: &[&str] =
    &["yes", "y", "yes please", "yes do it", "yeah", "yep", "ok", "okay", "sure", "do it", "go ahead", "please do"];
const NO: &[&str] =
    &["no", "n", "no thanks", "no thank you", "nope", "nah", "don't", "do not", "never mind", "better not"];

/// The words of a text in lower case, without marks at their ends.
fn words(text: &str) -> String {
    let trimmed = |word: &str| word.trim_matches(|c: char| ".,!".contains(c)).to_lowercase().replace('’', "'");
    let words: Vec<String> = text.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A message that is only a yes (`true`) or a no.
pub fn yes_or_no(text: &str) -> Option<bool> {
    let said = words(text);
    let is = |list: &[&str]| list.contains(&said.as_str());
    if is(YES) { Some(true) } else { is(NO).then_some(false) }
}

/// Whether a message alone makes no sense: a yes or a no, also with a few words behind it, a number to choose by, an undo.
pub fn is_reply(text: &str) -> bool {
    const ALONE: &[&str] =
        &["undo", "undo that", "undo it", "the first", "the second", "the third", "the last", "both", "all"];
    let said = words(text);
    let first = said.split(' ').next().unwrap_or_default();
    let is_short = said.split(' ').count() <= 6;
    yes_or_no(text).is_some()
        || ALONE.contains(&said.as_str())
        || (is_short && ["yes", "no"].contains(&first))
        || (!said.is_empty() && said.len() <= 2 && said.bytes().all(|b| b.is_ascii_digit()))
}

/// The last conversation of a terminal.
#[derive(Serialize, Deserialize)]
struct Last {
    conversation: String,
    /// When it was last spoken in, in seconds of the clock.
    at: u64,
}

/// The last conversations of the terminals, in a file of the data folder.
pub struct Terminals {
    file: PathBuf,
    /// This terminal; `None` where the system does not tell.
    own: Option<String>,
}

impl Terminals {
    pub fn of(data: &Path) -> Self {
        Self { file: data.join("terminals.json"), own: own_session() }
    }

    /// The conversation that this terminal was in within the last minutes.
    pub fn last(&self) -> Option<String> {
        Some(self.read().remove(self.own.as_ref()?)?.conversation)
    }

    /// Notes where this terminal is now. What cannot be written is not continued: that is no failure of the chat.
    pub fn note(&self, conversation: &str) {
        let Some(own) = &self.own else { return };
        let mut all = self.read();
        all.insert(own.clone(), Last { conversation: conversation.to_owned(), at: now() });
        while all.len() > TERMINALS
            && let Some(oldest) = all.iter().min_by_key(|(_, last)| last.at).map(|(key, _)| key.clone())
        {
            all.remove(&oldest);
        }
        let part = self.file.with_extension(format!("json.part-{}", std::process::id()));
        let written = serde_json::to_vec(&all).is_ok_and(|bytes| fs::write(&part, bytes).is_ok());
        if !written || fs::rename(&part, &self.file).is_err() {
            let _ = fs::remove_file(&part);
        }
    }

    /// The terminals of the last minutes; a damaged file counts as none.
    fn read(&self) -> BTreeMap<String, Last> {
        let bytes = fs::read(&self.file).unwrap_or_default();
        let mut all: BTreeMap<String, Last> = serde_json::from_slice(&bytes).unwrap_or_default();
        let now = now();
        all.retain(|_, last| last.at <= now && now - last.at < CONTINUES.as_secs());
        all
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The session this process is in, and when its leader began: the same for all commands of one terminal, and for no others.
fn own_session() -> Option<String> {
    let session = stat("self")?.get(3)?.clone();
    // The leader may be gone already.
    let began = stat(&session).and_then(|fields| fields.get(19).cloned()).unwrap_or_default();
    Some(format!("{session}-{began}"))
}

/// The fields of a process behind its name, from its state on.
fn stat(process: &str) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Whether a short answer fits a conversation: a yes or a no where something was asked, others where it still exists.
pub async fn awaits(client: &Client, text: &str, conversation: &str) -> bool {
    let path = format!("/api/v1/conversations/{}?limit=1", percent_encode(conversation));
    let Ok(found) = client.data("GET", &path, None).await else { return false };
    if yes_or_no(text).is_none() {
        return true;
    }
    let last = found["messages"].as_array().and_then(|all| all.last()).and_then(|last| last["content"].as_str());
    let last = last.unwrap_or_default().trim_end();
    let asked = last.strip_suffix("Say yes or no.").unwrap_or(last).trim_end().ends_with('?');
    asked || waiting_in(client, conversation).await.is_ok_and(|waiting| !waiting.is_empty())
}

/// How a typed yes or no went.
#[derive(Debug, PartialEq, Eq)]
pub enum Word {
    /// The message is something else, or nothing waits.
    DecidedNothing,
    /// It decided an approval, and the rest of the answer is printed.
    Decided,
    /// It decided an approval, and Ctrl-C stopped the rest.
    Stopped,
}

/// Answers the one approval that waits in this conversation with a typed yes or no, once, and prints the rest of the answer.
///
/// # Errors
/// When several wait, so that nobody allows what they did not mean.
pub async fn decide_by_word(client: &Client, input: &mut Input, text: &str, conversation: &str) -> Result<Word> {
    let Some(yes) = yes_or_no(text) else { return Ok(Word::DecidedNothing) };
    let waiting = waiting_in(client, conversation).await?;
    let [approval] = &waiting[..] else {
        match waiting.len() {
            0 => return Ok(Word::DecidedNothing),
            n => bail!("{n} approvals wait in this conversation: see `hob approvals`, and answer each by its id"),
        }
    };
    let (id, decision) = (approval["id"].as_str().unwrap_or_default(), if yes { "allow_once" } else { "deny" });
    // The questions of this run are asked here, by `print_rest`.
    input.screen.answering(approval["runId"].as_str());
    consent::answer(client, id, decision, Value::Null, approval["nonce"].as_str()).await?;
    let tool = plain(approval["tool"].as_str().unwrap_or_default());
    input.screen.line(&format!("{tool} is {}", if yes { "allowed, this once" } else { "not called" }))?;
    match approval["runId"].as_str() {
        Some(run) => print_rest(client, input, run, conversation).await,
        None => Ok(Word::Decided),
    }
}

/// The approvals of this person that wait in a conversation.
async fn waiting_in(client: &Client, conversation: &str) -> Result<Vec<Value>> {
    let mut listed = client.data("GET", "/api/v1/approvals?state=pending&limit=200", None).await?;
    let Value::Array(mut all) = listed["approvals"].take() else { return Ok(vec![]) };
    all.retain(|approval| approval["conversationId"] == json!(conversation));
    Ok(all)
}

/// Waits until a run has ended, asks what it asks, and prints its last words.
async fn print_rest(client: &Client, input: &mut Input, run: &str, conversation: &str) -> Result<Word> {
    if !client.is_daemon() {
        input.screen.line("the rest follows when the daemon runs: `hob serve`")?;
        return Ok(Word::Decided);
    }
    let path = format!("/api/v1/runs/{}", percent_encode(run));
    let (until, mut rests) = (tokio::time::Instant::now() + REST, 0);
    while tokio::time::Instant::now() < until {
        let state = client.data("GET", &path, None).await?["state"].take();
        let again = waiting_in(client, conversation).await?;
        if let Some(next) = again.first() {
            match consent::ask_at_terminal(client, input, next).await? {
                Asked::Settled => continue,
                Asked::Open => return Ok(Word::Decided),
                Asked::Interrupted => return stop(client, run).await,
            }
        }
        match state.as_str().unwrap_or_default() {
            // It goes on soon, or waits for something else.
            "waiting" if rests == RESTS => {
                input.screen.line("Hob waits for another answer of yours: see `hob interactions`")?;
                return Ok(Word::Decided);
            }
            state @ ("running" | "queued" | "waiting") => {
                rests = if state == "waiting" { rests + 1 } else { 0 };
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = input.interrupted() => return stop(client, run).await,
                }
            }
            _ => {
                let path = format!("/api/v1/conversations/{}?limit=1", percent_encode(conversation));
                let told = client.data("GET", &path, None).await?;
                let said = told["messages"].as_array().and_then(|all| all.last()).map(|last| last["content"].clone());
                let said = said.as_ref().and_then(Value::as_str).unwrap_or_default();
                input.screen.line(&plain(said))?;
                return Ok(Word::Decided);
            }
        }
    }
    bail!("the answer is still under way: look at it later with `hob chat --conversation {conversation} …`")
}

async fn stop(client: &Client, run: &str) -> Result<Word> {
    client.cancel_run(run).await?;
    Ok(Word::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_told_from_messages() {
        for text in ["yes", "Yes!", "no, thanks.", "go ahead", "no, I meant 6", "undo that", "2", "the second", "don’t"]
        {
            assert!(is_reply(text), "{text}");
        }
        for text in ["", "turn on pin 17", "yesterday", "note: yes", "2026", "who was here first?", "all my tasks"] {
            assert!(!is_reply(text), "{text}");
        }
        assert_eq!(yes_or_no("no, I meant 6"), None);
        assert_eq!((yes_or_no("OK."), yes_or_no("nope"), yes_or_no("yes no")), (Some(true), Some(false), None));
    }

    #[test]
    fn a_terminal_is_known_for_a_while() {
        let folder = std::env::temp_dir().join(format!("hob-terminals-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let at = |own: &str| Terminals { own: Some(own.into()), ..Terminals::of(&folder) };
        assert_eq!(at("a").last(), None);
        at("a").note("first");
        at("b").note("second");
        assert_eq!(
            (at("a").last(), at("b").last(), at("c").last()),
            (Some("first".into()), Some("second".into()), None)
        );
        for n in 0..TERMINALS {
            at(&format!("t{n}")).note("x");
        }
        assert_eq!(at("a").read().len(), TERMINALS);
        let old = json!({"a": {"conversation": "first", "at": now() - CONTINUES.as_secs()}});
        fs::write(folder.join("terminals.json"), old.to_string()).unwrap();
        assert_eq!(at("a").last(), None);
        fs::write(folder.join("terminals.json"), b"[damaged").unwrap();
        assert_eq!(at("a").last(), None);
        at("a").note("again");
        assert_eq!(at("a").last(), Some("again".into()));
        assert_eq!(Terminals { own: None, ..Terminals::of(&folder) }.last(), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_session_is_the_same_for_all_its_commands() {
        assert!(own_session().is_some_and(|own| own == own_session().unwrap_or_default()));
    }
}
