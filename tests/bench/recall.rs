//! Recall of somebody who has many memories, one step to a process: `fill` makes them, `built` measures without an
//! index file and then writes one, `saved` measures with it. `peer` compares the query with every vector, and writes what
//! `hybrid.py` needs for measuring the peers.
//!
//! The vectors are mixtures of those of real phrases; embedding 100,000 texts would take ten minutes.

use crate::{Dice, Result, Watch};
use embed::{Embedder, Quantized};
use memory::{Filter, Memories};
use rank::{SECOND_PASS, SecondPass};
use records::{Kind, Model, Stored, Vector};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::Duration,
};
use store::{Audience, Stamp, Store};
use tool::{AgentId, Channel, Cx, FixedClock, Id, Label, Ports, Principal, Role, Scope, UserId, Via};

// The second pass of the ranking.
#[allow(dead_code)]
#[path = "../../src/memory/rank.rs"]
mod rank;
// The records as Hob stores them.
#[allow(dead_code)]
#[path = "../../src/memory/records.rs"]
mod records;

const MARTA: UserId = UserId(Id::from_bytes([7; 16]));
/// How many share a commit.
const TOGETHER: usize = 1000;
/// How long the index must be idle before it is saved.
const IDLE: Duration = Duration::from_secs(61);
const WHO: &[&str] = &["Marta", "Ben", "Anna", "Grandma", "the plumber", "our neighbour", "the cat", "aunt Rosa"];
const DID: &[&str] = &["serviced", "likes", "moved", "bought", "painted", "forgot", "lent", "repaired", "asked for"];
const WHAT: &[&str] = &[
    "the boiler",
    "green tea",
    "the garden chairs",
    "a ladder",
    "the guest room",
    "winter tyres",
    "the wifi password",
    "library books",
    "the dishwasher",
    "orchids",
    "the insurance papers",
    "a bicycle pump",
];
/// Every text has this word.
const EVERYWHERE: &str = "household";
/// Questions with a rare word, with words of every text, with both, and with no word of any.
const QUESTIONS: &[(&str, &str)] = &[
    ("rare", "n771"),
    ("everywhere", "household number"),
    ("mixed", "household ladder Marta n771"),
    ("none", "heating technician appointment"),
];

/// Runs one step in `folder`, with `count` memories.
///
/// # Errors
/// When nothing is found that must be.
pub fn measure(step: &str, (count, rounds): (usize, usize), folder: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let embedder = Embedder::new(Duration::from_secs(600));
    runtime.block_on(embedder.embed("load"))?;
    match step {
        "fill" => runtime.block_on(fill(&embedder, count, folder)),
        "built" => runtime.block_on(ask(&embedder, (count, rounds), folder, true)),
        "saved" => runtime.block_on(ask(&embedder, (count, rounds), folder, false)),
        "peer" => runtime.block_on(peer(&embedder, rounds, folder)),
        other => Err(format!("there is no step `{other}`").into()),
    }
}

fn built_in() -> Model {
    Model { name: embed::MODEL.into(), dimensions: embed::DIM }
}

fn marta() -> Result<Cx> {
    let clock = Arc::new(FixedClock("2026-11-20T14:30:00+01:00[Europe/Vienna]".parse()?));
    let principal = Principal { user: MARTA, role: Role::Member, agent: AgentId::GENERAL };
    Ok(Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Api)))
}

async fn phrases(embedder: &Embedder, of: &[&str]) -> Result<Vec<Vec<f32>>> {
    Ok(embedder.embed_all(of.iter().map(|phrase| (*phrase).to_owned()).collect()).await?)
}

async fn fill(embedder: &Embedder, count: usize, folder: &Path) -> Result<Value> {
    let mut dice = Dice(15);
    let (who, did, what) =
        (phrases(embedder, WHO).await?, phrases(embedder, DID).await?, phrases(embedder, WHAT).await?);
    let store = Store::open(folder)?;
    let (records, vectors) = (store.collection::<Stored>(), store.collection::<Vector>());
    let stamp = Stamp {
        scope: Scope::User(MARTA),
        owner: MARTA,
        audience: Audience::Private,
        label: Label::Own,
        source: "remember".into(),
    };
    let mut made = 0;
    while made < count {
        let some: Vec<(Id, Stored, Vector)> = (made..made + TOGETHER)
            .map(|n| {
                let mut pick = |of: &[&str]| dice.below(of.len() as u64) as usize;
                let (a, b, c) = (pick(WHO), pick(DID), pick(WHAT));
                let content = format!("{EVERYWHERE}: {} {} {}, number n{n}", WHO[a], DID[b], WHAT[c]);
                let raw: Vec<f32> = (0..embed::DIM)
                    .map(|i| who[a][i] + did[b][i] + what[c][i] + (dice.below(1000) as f32 - 499.5) / 12_000.0)
                    .collect();
                let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
                let unit: Vec<f32> = raw.iter().map(|x| x / length).collect();
                let vector = Quantized::quantize(&unit).map(|v| Vector::of(&v, &built_in()));
                let stored = Stored {
                    content,
                    kind: Kind::Fact,
                    importance: 0.5,
                    tags: vec![],
                    uses: 0,
                    used_ms: 0,
                    earlier: vec![],
                    changed_ms: 0,
                };
                vector.map(|vector| (Id::new(), stored, vector))
            })
            .collect::<std::result::Result<_, _>>()?;
        let (records, vectors, stamp) = (records.clone(), vectors.clone(), stamp.clone());
        let put = move |tx: &store::Tx| {
            some.iter().try_for_each(|(id, stored, vector)| {
                vectors.put(tx, *id, &stamp, vector)?;
                records.put(tx, *id, &stamp, stored).map(drop)
            })
        };
        store.write(put).await?;
        made += TOGETHER;
    }
    Ok(json!({"memories": made, "bytes": store.size()}))
}

/// Resident memory in MB: of the heap, and with pages of files.
fn resident() -> Result<(f64, f64)> {
    let status = fs::read_to_string("/proc/self/status")?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    Ok((of("RssAnon:"), of("VmRSS:")))
}

/// CPU milliseconds of the thread that embeds.
fn embedding_ms() -> Result<f64> {
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.trim() == "embed" {
            let used = fs::read_to_string(task.join("schedstat"))?;
            return Ok(used.split_whitespace().next().unwrap_or_default().parse::<f64>()? / 1e6);
        }
    }
    Err("no thread embeds".into())
}

async fn ask(embedder: &Embedder, (count, rounds): (usize, usize), folder: &Path, save: bool) -> Result<Value> {
    let (cx, store) = (marta()?, Store::open(folder)?);
    let memories = Memories::new(&store, embedder.clone());
    let (before, _) = resident()?;
    let filter = || Filter { limit: 10, ..Filter::default() };
    let first = Watch::start();
    let found = memories.recall(&cx, QUESTIONS[0].1, filter()).await?;
    let first = json!({"cpuMs": first.cpu_ms(), "wallMs": first.seconds() * 1e3});
    if !found.hits.iter().any(|hit| hit.memory.content.contains("n771")) {
        return Err("the memory was not found".into());
    }
    let mut questions = vec![];
    for (name, question) in QUESTIONS {
        memories.recall(&cx, question, filter()).await?;
        let (watch, embedded) = (Watch::start(), embedding_ms()?);
        let mut hits = 0;
        for _ in 0..rounds {
            hits = memories.recall(&cx, question, filter()).await?.hits.len();
        }
        let embedding = (embedding_ms()? - embedded) / rounds as f64;
        let cpu = watch.cpu_ms() / rounds as f64 - embedding;
        let second = second_pass(&cx, (&memories, &store), question, rounds).await?;
        questions.push(json!({
            "words": name, "hits": hits, "cpuMs": cpu, "embeddingCpuMs": embedding, "secondPassCpuMs": second,
        }));
    }
    let watch = Watch::start();
    let stats = memories.stats(&cx).await?;
    let counted = watch.cpu_ms();
    if stats.total != count {
        return Err(format!("{} memories, not {count}", stats.total).into());
    }
    let (heap, all) = resident()?;
    let mut file = None;
    if save {
        tokio::time::sleep(IDLE).await;
        let watch = Watch::start();
        memories.maintain().await?;
        // A few thousand are built within a moment, and have no file.
        let bytes = fs::metadata(folder.join(store::MEMORY_INDEX)).map_or(0, |file| file.len());
        file = Some(json!({"cpuMs": watch.cpu_ms(), "bytes": bytes}));
    }
    Ok(json!({
        "first": first, "questions": questions, "statsCpuMs": counted,
        "heapMb": heap - before, "residentMb": all, "file": file,
    }))
}

/// CPU milliseconds of the second pass alone, as `Memories::recall` makes it: the best memories are read, gain, and are sorted.
async fn second_pass(
    cx: &Cx,
    (memories, store): (&Memories, &Store),
    question: &str,
    rounds: usize,
) -> Result<f64> {
    let best = memories.recall(cx, question, Filter { limit: SECOND_PASS, ..Filter::default() }).await?;
    let ids: Vec<Id> = best.hits.iter().map(|hit| hit.memory.id).collect();
    let records = store.collection::<Stored>();
    let watch = Watch::start();
    for _ in 0..rounds {
        // What is rare depends on the question alone.
        let pass = SecondPass::new(question, |_| 0.5);
        let mut ranked = vec![];
        for id in &ids {
            let entry = records.peek(cx, *id)?.ok_or("a memory is gone")?;
            ranked.push((pass.gain(&entry.value.content), entry));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        black_box(&ranked);
    }
    Ok(watch.cpu_ms() / rounds as f64)
}

async fn peer(embedder: &Embedder, rounds: usize, folder: &Path) -> Result<Value> {
    let store = Store::open(folder)?;
    let (mut texts, mut vectors, mut bytes) = (BTreeMap::new(), BTreeMap::new(), vec![]);
    store.collection::<Stored>().scan(|e| drop(texts.insert(e.id, e.value.content)))?;
    store.collection::<Vector>().scan(|e| vectors.extend(e.value.read(&built_in()).map(|vector| (e.id, vector))))?;
    let vectors: Vec<Quantized> = vectors.into_values().collect();
    vectors.iter().for_each(|vector| bytes.extend(vector.to_bytes()));
    let mut questions = vec![];
    for (name, question) in QUESTIONS {
        let meaning = Quantized::quantize(&embedder.embed(question).await?)?;
        bytes.extend(meaning.to_bytes());
        let watch = Watch::start();
        for _ in 0..rounds {
            black_box(nearest(&vectors, |v| (v.dot(&meaning) * -1e6) as i64, 10));
        }
        let exact = watch.cpu_ms() / rounds as f64;
        // The tenth best score of all, and of the candidates that sketches select. Many are nearly the same.
        let tenth = |of: &mut Vec<f32>| {
            of.sort_by(|a, b| b.total_cmp(a));
            of.get(9).copied()
        };
        let sketch = meaning.signature();
        let near = nearest(&vectors, |v| i64::from(sketch.hamming(&v.signature())), 300);
        let best = tenth(&mut vectors.iter().map(|v| v.dot(&meaning)).collect());
        let selected = tenth(&mut near.iter().map(|n| vectors[*n].dot(&meaning)).collect());
        questions.push(json!({
            "words": name, "exactCpuMs": exact, "tenthOfAll": best, "tenthSelected": selected,
        }));
    }
    fs::write(folder.join("peer.i8"), bytes)?;
    let texts: Vec<String> = texts.into_values().collect();
    let asked: Vec<&str> = QUESTIONS.iter().map(|(_, question)| *question).collect();
    fs::write(folder.join("peer.json"), json!({"texts": texts, "questions": asked}).to_string())?;
    Ok(json!({ "questions": questions }))
}

/// The positions of the `most` lowest.
fn nearest(all: &[Quantized], by: impl Fn(&Quantized) -> i64, most: usize) -> BTreeSet<usize> {
    let mut ranked: Vec<(i64, usize)> = all.iter().enumerate().map(|(n, v)| (by(v), n)).collect();
    ranked.select_nth_unstable(most);
    ranked.into_iter().take(most).map(|(_, n)| n).collect()
}
