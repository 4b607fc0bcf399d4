//! Answers for people without a model: every sentence of `tests/golden/answers.txt`, asked of the whole application with
//! its real tools. To update: `UPDATE_GOLDEN=1 cargo test --bin hob answers`, and read every line as an elderly person would.

use super::{Entry, build_with};
use crate::config::Config;
use agent::{ChatRequest, RunEvent};
use api::AppParts;
use serde_json::Value;
use std::{collections::BTreeSet, path::Path, sync::Arc};
use tool::{Channel, Cx, FixedClock, Id, Principal, Via};

/// The golden file. Lines: `#` a comment; `---` a new household; `! tool {…}` a call that prepares something; `> …` a sentence,
/// `~> …` one whose answer is another each time; below it the tools that were called, and the answer.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/answers.txt");

/// A household with an empty store, on Friday, 20 November 2026, at 14:30 in Vienna.
struct House {
    parts: AppParts,
    conversation: Option<Id>,
    _folder: Folder,
}

struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("hob-answers-{}", Id::new()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl House {
    fn new() -> Self {
        let folder = Folder::new();
        let now = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        // The clock stands still, and with it the minute of the limits.
        let limits = registry::PerMinute { calls: 10_000, session_calls: 0 };
        let mut config = Config { board: board::BoardKind::Sim, limits, ..Config::default() };
        // The pages of bookmarks are on the internet.
        config.bookmarks.page_titles = false;
        let system_clock = Arc::new(tool::SystemClock::new(None).unwrap());
        let (parts, ..) =
            build_with(Arc::new(FixedClock(now)), system_clock, config, &folder.0, Entry::default()).unwrap();
        Self { parts, conversation: None, _folder: folder }
    }

    fn cx(&self) -> Cx {
        Cx::root(self.parts.ports.clone(), Principal::owner(), Via::direct(Channel::Cli))
    }

    async fn call(&self, tool: &str, args: Value) {
        let called = self.cx().call(tool, args).await;
        assert!(called.is_ok(), "{tool}: {called:?}");
    }

    /// The tools that were called for a sentence, and the answer.
    async fn ask(&mut self, sentence: &str) -> (Vec<String>, String) {
        let request =
            ChatRequest { message: sentence.into(), conversation: self.conversation, ..ChatRequest::default() };
        let mut running = self.parts.agent.chat(&self.cx(), request).await.unwrap();
        self.conversation = running.conversation;
        loop {
            match running.steps.recv().await {
                Some(RunEvent::Done(answer)) => {
                    return (answer.tool_calls.into_iter().map(|call| call.name).collect(), answer.response);
                }
                Some(RunEvent::Error { message, .. }) => return (vec![], format!("ERROR {message}")),
                Some(_) => {}
                None => panic!("{sentence}: no answer"),
            }
        }
    }
}

/// An answer whose numbers, words of chance and ids do not matter.
fn masked(answer: &str) -> String {
    // How a busy test machine is does not matter either.
    if answer.contains("% of memory is in use") {
        return "(how the device is)".to_owned();
    }
    let mask = |word: &str| {
        let plain = word.trim_end_matches(['.', ',', ':', '%']);
        let rest = &word[plain.len()..];
        // A password may end with any mark.
        let is_random = plain.len() > 7 && plain.chars().any(|c| !c.is_alphabetic()) && !plain.starts_with('“');
        match plain {
            "heads" | "tails" | "(heads)" | "(tails)" => format!("heads{rest}"),
            _ if is_random => "…".to_owned(),
            _ if plain.starts_with(|c: char| c.is_ascii_digit()) => format!("#{rest}"),
            _ => word.to_owned(),
        }
    };
    answer.split(' ').map(mask).collect::<Vec<_>>().join(" ")
}

async fn answered(golden: &str) -> (String, BTreeSet<String>) {
    let (mut out, mut called) = (String::new(), BTreeSet::new());
    let mut house = House::new();
    for line in golden.lines() {
        if line == "---" {
            house = House::new();
        } else if let Some(call) = line.strip_prefix("! ") {
            let (tool, args) = call.split_once(' ').unwrap();
            house.call(tool, serde_json::from_str(args).unwrap_or_else(|e| panic!("{line}: {e}"))).await;
        } else if let Some((chance, sentence)) =
            line.strip_prefix("~> ").map(|s| (true, s)).or_else(|| line.strip_prefix("> ").map(|s| (false, s)))
        {
            let (tools, answer) = house.ask(sentence).await;
            let answer = if chance { masked(&answer) } else { answer };
            out.push_str(&format!("{line}\n    {}\n{answer}\n\n", tools.join(", ")));
            called.extend(tools);
            continue;
        } else if !line.starts_with("# ") {
            continue;
        }
        out.push_str(&format!("{line}\n"));
        if line == "---" || line.starts_with("# ") {
            out.push('\n');
        }
    }
    (out.trim_end().to_owned() + "\n", called)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_for_people() {
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    let (now, called) = answered(&golden).await;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN, &now).unwrap();
    } else if let Some((number, (before, after))) =
        golden.lines().zip(now.lines()).enumerate().find(|(_, (before, after))| before != after)
    {
        panic!("line {} of {GOLDEN}:\n{before}\nis now\n{after}\nIf that is meant: UPDATE_GOLDEN=1", number + 1);
    }
    let house = House::new();
    let phrases = house.parts.registry.phrases();
    let reached: BTreeSet<String> = phrases
        .iter()
        .flat_map(|file| file.lines())
        .filter_map(|line| line.strip_prefix("= ")?.split(' ').next())
        .filter(|tool| !tool.starts_with('/'))
        .map(str::to_owned)
        .collect();
    let missing: Vec<&String> = reached.difference(&called).collect();
    assert!(missing.is_empty(), "no sentence of answers.txt calls {missing:?}");
    assert!(Path::new(GOLDEN).exists());
}
