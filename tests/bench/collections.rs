//! Vector collections, one step to a process: `fill` stores the vectors of `FOLDER/vectors.f32` as a caller's, a hundred a call;
//! `search` reads the collection at its first search and measures those of `FOLDER/queries.f32`. `nearest.py` makes the files, and
//! measures peers over the same ones.

use crate::{Result, Watch};
use embed::Embedder;
use serde_json::{Map, Value, json};
use std::{fs, path::Path, sync::Arc, time::Duration};
use store::Store;
use tool::{Channel, Cx, Ports, Principal, SystemClock, Via};
use vectors::{BATCH, Item, NewCollection, Search, Vectors};

const DIMENSIONS: usize = 384;
const NAME: &str = "bench";
/// Hits of a search.
const TOP: usize = 10;

/// Runs one step in `folder`.
///
/// # Errors
/// When the files are missing or nothing is found.
pub fn measure(step: &str, folder: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let store = Store::open(&folder.join("hob"))?;
    let vectors = Vectors::new(&store, Embedder::new(Duration::from_secs(600)));
    let cx = Cx::root(Ports::unconnected(Arc::new(SystemClock::new(None)?)), Principal::owner(), Via::direct(Channel::Api));
    match step {
        "fill" => runtime.block_on(fill(&store, &vectors, &cx, folder)),
        "search" => runtime.block_on(search(&vectors, &cx, folder)),
        other => Err(format!("there is no step `{other}`").into()),
    }
}

fn rows(file: &Path) -> Result<Vec<Vec<f32>>> {
    let bytes = fs::read(file)?;
    let numbers: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    Ok(numbers.chunks(DIMENSIONS).map(<[f32]>::to_vec).collect())
}

async fn fill(store: &Store, vectors: &Vectors, cx: &Cx, folder: &Path) -> Result<Value> {
    let new = NewCollection { name: NAME.into(), dimensions: Some(DIMENSIONS), model: Some("bench".into()), ..NewCollection::default() };
    vectors.create(cx, new).await?;
    let all = rows(&folder.join("vectors.f32"))?;
    let watch = Watch::start();
    for (part, rows) in all.chunks(BATCH).enumerate() {
        let items = rows.iter().enumerate().map(|(n, row)| {
            let n = part * BATCH + n;
            let metadata = json!({"n": n, "group": format!("g{}", n % 100)});
            let metadata: Map<String, Value> = metadata.as_object().cloned().unwrap_or_default();
            Item { id: Some(n.to_string()), text: String::new(), vector: Some(row.clone()), metadata }
        });
        vectors.upsert(cx, NAME, items.collect()).await?;
    }
    let (seconds, cpu) = (watch.seconds(), watch.cpu_ms());
    store.close().await?;
    Ok(json!({"vectors": all.len(), "seconds": seconds, "cpuMs": cpu, "diskBytes": store.size_on_disk(),
              "writtenBytes": store.stats()?.bytes_written}))
}

async fn search(vectors: &Vectors, cx: &Cx, folder: &Path) -> Result<Value> {
    let queries = rows(&folder.join("queries.f32"))?;
    let truth: Vec<u32> = fs::read(folder.join("truth.u32"))?.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let before = resident()?;
    let search = |query: &Vec<f32>| Search { vector: Some(query.clone()), most: TOP, ..Search::default() };
    let watch = Watch::start();
    vectors.search(cx, NAME, search(&queries[0])).await?;
    let load = json!({"cpuMs": watch.cpu_ms(), "wallMs": watch.seconds() * 1e3});
    let resident = resident()?.saturating_sub(before);
    let mut found = json!({"load": load, "residentMb": resident as f64 / 1e6});
    let filter = json!({"group": {"in": ["g1", "g2", "g3"]}, "n": {"gte": 10}});
    for (name, exact, filter) in
        [("search", false, None), ("exact", true, None), ("filtered", false, filter.as_object().cloned())]
    {
        let (mut hits, mut walls) = (0, vec![]);
        let watch = Watch::start();
        for (query, truth) in queries.iter().zip(truth.chunks(TOP)) {
            let one = Watch::start();
            let result = vectors.search(cx, NAME, Search { exact, filter: filter.clone(), ..search(query) }).await?;
            walls.push(one.seconds() * 1e3);
            hits += result.hits.iter().filter(|hit| truth.iter().any(|n| n.to_string() == hit.id)).count();
        }
        walls.sort_by(f64::total_cmp);
        let (cpu, count) = (watch.cpu_ms() / queries.len() as f64, truth.len() as f64);
        found[name] = json!({"cpuMs": cpu, "p50Ms": walls[walls.len() / 2], "recall": hits as f64 / count});
    }
    Ok(found)
}

/// Bytes of memory in use.
fn resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().next().unwrap_or_default().parse::<u64>()? * 1024)
}
