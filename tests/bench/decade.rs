//! Fills a data folder with what a household has after ten years: conversations with their runs, tasks, memories and the
//! audit log; or, for comparison, with what it has after a day.
//!
//! The records are written through the store, in big batches. Their fields are those of the stored form, which only ever
//! grows at its end, so that this is also a folder of an older Hob. The vectors of memories are random: embedding 100,000
//! texts would take minutes, and no measurement asks which memory is near.

use crate::{Dice, Result, Watch, tasks};
use embed::{DIM, MODEL, Quantized};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{path::Path, time::SystemTime};
use store::{Audience, Collection, Key, Level, Record, Stamp, Store};
use tasks::record::{Priority, Status, Task};
use tool::{AgentId, Id, Label, Scope, UserId};

/// How many records share a commit.
const TOGETHER: usize = 5000;
const DAY: u64 = 86_400_000;
const DAYS: u64 = 3650;
/// How many messages the long conversation has after ten years.
const LONG: usize = 3000;
/// How many ended runs Hob keeps for a person.
const RUNS: usize = 2000;

/// How much there is.
struct Amounts {
    messages: usize,
    conversations: usize,
    long: usize,
    tasks: usize,
    memories: usize,
    audit: usize,
    days: u64,
}

impl Amounts {
    fn named(name: &str) -> Result<Self> {
        match name {
            "decade" => Ok(Self {
                messages: 100_000,
                conversations: 2000,
                long: LONG,
                tasks: 20_000,
                memories: 100_000,
                audit: 100_000,
                days: DAYS,
            }),
            // Enough for each list to be full: otherwise the comparison would be with lists of nothing.
            "day" => {
                Ok(Self { messages: 200, conversations: 30, long: 100, tasks: 30, memories: 30, audit: 30, days: 1 })
            }
            _ => Err(format!("there is no amount called {name}: decade or day").into()),
        }
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Head {
    title: String,
    messages: u32,
    forked_from: Option<Id>,
    keeps: u8,
    system_prompt: String,
    metadata: String,
}

impl Record for Head {
    const NAME: &'static str = "conversations";
    const WORD: &'static str = "conversation";
    const LEVEL: Level = Level::User;
}

#[derive(Clone, Serialize, Deserialize)]
struct Message {
    conversation: Id,
    run: Id,
    role: u8,
    content: String,
    calls: String,
    result: String,
    model: String,
    parts: String,
    kept: String,
}

impl Record for Message {
    const NAME: &'static str = "messages";
    const WORD: &'static str = "message";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Run {
    conversation: Id,
    state: u8,
    agent: AgentId,
    role: u8,
    channel: String,
    chat: String,
    peer: String,
    clear: bool,
    tool_choice: String,
    only: String,
    preset: u8,
    tainted: bool,
    model: String,
    by_word: bool,
    turns: u32,
    calls: u32,
    begun: String,
    waits: String,
    resumed: u32,
    kills: u32,
    interrupted_by_shutdown: bool,
    code: String,
    error: String,
    ended_ms: u64,
    usage: String,
    message: String,
    routing: String,
}

impl Record for Run {
    const NAME: &'static str = "runs";
    const WORD: &'static str = "run";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, self.conversation.as_bytes())]
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Memory {
    content: String,
    kind: u8,
    importance: f32,
    tags: Vec<String>,
    uses: u32,
}

impl Record for Memory {
    const NAME: &'static str = "memories";
    const WORD: &'static str = "memory";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, [self.kind])]
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Vector {
    model: String,
    bytes: Vec<u8>,
}

impl Record for Vector {
    const NAME: &'static str = "memory-vectors";
    const WORD: &'static str = "memory vector";
    const LEVEL: Level = Level::User;
}

#[derive(Clone, Serialize, Deserialize)]
struct Segment {
    first: u64,
    last: u64,
    lines: String,
}

impl Record for Segment {
    const NAME: &'static str = "audit";
    const WORD: &'static str = "part of the audit log";
    const LEVEL: Level = Level::Household;
}

/// Makes the folder; returns how much it holds.
///
/// # Errors
/// When the folder cannot be written.
pub fn fill(name: &str, folder: &Path) -> Result<Value> {
    let (amounts, watch) = (Amounts::named(name)?, Watch::start());
    std::fs::create_dir_all(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let store = Store::open(folder)?;
    let mut filler = Filler { store: store.clone(), dice: Dice(11), stamp: owner(), end: now(), days: amounts.days };
    let long = runtime.block_on(async {
        let long = filler.conversations(&amounts).await?;
        filler.tasks(amounts.tasks).await?;
        filler.memories(amounts.memories).await?;
        filler.audit(amounts.audit).await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(long)
    })?;
    let records = store.stats()?.records;
    drop((filler, store));
    Ok(json!({
        "seconds": watch.seconds(), "records": records, "long": long.to_string(),
        "bytes": std::fs::metadata(folder.join(store::FILE))?.len(),
    }))
}

fn owner() -> Stamp {
    Stamp {
        scope: Scope::User(UserId::OWNER),
        owner: UserId::OWNER,
        audience: Audience::Private,
        label: Label::Own,
        source: "bench".into(),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

struct Filler {
    store: Store,
    dice: Dice,
    stamp: Stamp,
    end: u64,
    days: u64,
}

const THINGS: [&str; 24] = [
    "boiler",
    "valve",
    "garden",
    "bicycle",
    "invoice",
    "school",
    "kitchen",
    "window",
    "ladder",
    "heating",
    "cellar",
    "neighbour",
    "dentist",
    "battery",
    "printer",
    "cat",
    "train",
    "holiday",
    "recipe",
    "insurance",
    "lamp",
    "router",
    "attic",
    "pump",
];
const VERBS: [&str; 12] = [
    "checked", "ordered", "repaired", "moved", "cleaned", "paid", "called", "found", "lost", "sold", "painted",
    "counted",
];

impl Filler {
    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.dice.below(of.len() as u64) as usize]
    }

    /// An id of the `n`-th of `all` things that were spread over the time.
    fn id(&mut self, n: usize, all: usize) -> Id {
        let ms = self.end - self.days * DAY + self.days * DAY / all as u64 * n as u64;
        self.id_at(ms)
    }

    fn id_at(&mut self, ms: u64) -> Id {
        let mut bytes = *Id::new().as_bytes();
        bytes[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
        // The sequence within the millisecond is random here; ties have no order.
        bytes[8..].copy_from_slice(&self.dice.below(u64::MAX).to_be_bytes());
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        Id::from_bytes(bytes)
    }

    /// A few words; every one of them names a number of its own, as people's sentences differ.
    fn sentence(&mut self, n: usize) -> String {
        let (verb, one, other) = (self.pick(&VERBS), self.pick(&THINGS), self.pick(&THINGS));
        format!("Somebody {verb} the {one} beside the {other} in place {n}, and said so in the evening.")
    }

    async fn put<T: Record>(&self, stamp: &Stamp, rows: Vec<(Id, T)>) -> Result<()> {
        let records: Collection<T> = self.store.collection();
        let stamp = stamp.clone();
        let rows = std::sync::Arc::new(rows);
        for from in (0..rows.len()).step_by(TOGETHER) {
            let (records, stamp, rows) = (records.clone(), stamp.clone(), rows.clone());
            let written = self.store.write(move |tx| {
                rows[from..].iter().take(TOGETHER).try_for_each(|(id, row)| records.put(tx, *id, &stamp, row).map(drop))
            });
            written.await?;
        }
        Ok(())
    }

    /// The conversations and their messages, and the newest runs; returns the long conversation.
    async fn conversations(&mut self, amounts: &Amounts) -> Result<Id> {
        let (mut heads, mut messages, mut runs) = (vec![], vec![], vec![]);
        let others = amounts.conversations - 1;
        let (each, rest) = ((amounts.messages - amounts.long) / others, (amounts.messages - amounts.long) % others);
        let longest = amounts.conversations / 2;
        let mut long = Id::NIL;
        for n in 0..amounts.conversations {
            let id = self.id(n, amounts.conversations);
            let count =
                if n == longest { amounts.long } else { each + usize::from(n - usize::from(n > longest) < rest) };
            if n == longest {
                long = id;
            }
            let title = format!("About the {} and the {} ({n})", self.pick(&THINGS), self.pick(&THINGS));
            let head = Head {
                title,
                messages: count as u32,
                forked_from: None,
                keeps: 0,
                system_prompt: String::new(),
                metadata: String::new(),
            };
            heads.push((id, head));
            let mut run = id;
            for at in 0..count {
                // A message a second: more would not fit between two conversations of the long one.
                let line = self.id_at(id.millis() + 1000 * (at as u64 + 1));
                if at % 2 == 0 {
                    run = line;
                    runs.push((self.id_at(line.millis()), ended(id, line.millis())));
                }
                let said = match at % 2 {
                    0 => self.sentence(n * 100 + at),
                    _ => format!("{} {} I will remember that.", self.sentence(n), self.sentence(at)),
                };
                let row = Message {
                    conversation: id,
                    run,
                    role: (at % 2) as u8,
                    content: said,
                    calls: String::new(),
                    result: String::new(),
                    model: if at % 2 == 1 { "custom/test-model".into() } else { String::new() },
                    parts: String::new(),
                    kept: String::new(),
                };
                messages.push((line, row));
            }
        }
        runs.sort_by_key(|(id, _)| *id);
        let runs = runs.split_off(runs.len().saturating_sub(RUNS));
        let stamp = self.stamp.clone();
        self.put(&stamp, heads).await?;
        self.put(&stamp, messages).await?;
        self.put(&Stamp { audience: Audience::Private, ..stamp }, runs).await?;
        Ok(long)
    }

    async fn tasks(&mut self, count: usize) -> Result<()> {
        let mut rows = vec![];
        for n in 0..count {
            let title = format!("{} the {} number {n}", self.pick(&VERBS), self.pick(&THINGS));
            let mut task = Task { title, ..Task::default() };
            task.category = Some(self.pick(&["shopping", "work", "garden", "house", "school"]).to_owned());
            task.notes = (n % 4 == 0).then(|| self.sentence(n));
            if n % 20 == 0 {
                task.priority = Priority::High;
            }
            // Nearly all are over after ten years.
            if n + 30 < count {
                task.set_status(Status::Completed, (self.end - (count - n) as u64 * 60_000) as i64);
            }
            rows.push((self.id(n, count), task));
        }
        let stamp = self.stamp.clone();
        self.put(&stamp, rows).await
    }

    async fn memories(&mut self, count: usize) -> Result<()> {
        let (mut rows, mut vectors) = (vec![], vec![]);
        for n in 0..count {
            let id = self.id(n, count);
            let tags = vec![self.pick(&THINGS).to_owned()];
            rows.push((id, Memory { content: self.sentence(n), kind: (n % 4) as u8, importance: 0.5, tags, uses: 0 }));
            let vector: Vec<f32> = (0..DIM).map(|_| self.dice.below(2001) as f32 / 1000.0 - 1.0).collect();
            vectors.push((id, Vector { model: MODEL.into(), bytes: unit(&vector)?.to_bytes().to_vec() }));
        }
        let stamp = self.stamp.clone();
        self.put(&stamp, rows).await?;
        self.put(&stamp, vectors).await
    }

    /// The audit log, in segments as Hob writes them.
    async fn audit(&mut self, count: usize) -> Result<()> {
        const LINES: usize = 50;
        let mut rows = vec![];
        for first in (0..count).step_by(LINES) {
            let last = (first + LINES).min(count);
            let mut lines = String::new();
            for n in first..last {
                let line = json!({
                    "seq": n + 1, "at": self.id(n, count).millis(), "callId": Id::new(), "tool": "list_tasks",
                    "userId": UserId::OWNER, "agentId": AgentId::GENERAL, "channel": "page", "verdict": "allow",
                    "rule": "level:observe", "outcome": "ok", "micros": 420, "digest": "0123456789abcdef",
                });
                lines.push_str(&line.to_string());
                lines.push('\n');
            }
            let id = self.id(first, count);
            rows.push((id, Segment { first: first as u64 + 1, last: last as u64, lines }));
        }
        self.put(&Stamp::household("audit"), rows).await
    }
}

fn unit(vector: &[f32]) -> Result<Quantized> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    let vector: Vec<f32> = vector.iter().map(|x| x / length).collect();
    Ok(Quantized::quantize(&vector)?)
}

fn ended(conversation: Id, at: u64) -> Run {
    Run {
        conversation,
        state: 3,
        agent: AgentId::GENERAL,
        role: 2,
        channel: "\"page\"".into(),
        chat: String::new(),
        peer: "\"direct\"".into(),
        clear: false,
        tool_choice: String::new(),
        only: String::new(),
        preset: 0,
        tainted: false,
        model: "custom/test-model".into(),
        by_word: false,
        turns: 1,
        calls: 0,
        begun: String::new(),
        waits: String::new(),
        resumed: 0,
        kills: 0,
        interrupted_by_shutdown: false,
        code: String::new(),
        error: String::new(),
        ended_ms: at + 900,
        usage: String::new(),
        message: String::new(),
        routing: String::new(),
    }
}
