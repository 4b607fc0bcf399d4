//! Durable writes of 1 KB records: Hob's store, and SQLite (WAL, synchronous=FULL) behind the same kind of queue.
//!
//! Every writer waits until its record is on disk before it gives the next one. For SQLite one thread takes what waits
//! into one transaction, as Hob's own writer does: what is compared is the engine, not the idea of sharing a commit.

use crate::{Result, Watch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use store::{Collection, Level, Record, Stamp, Store};

/// Bytes of one record.
const SIZE: usize = 1024;
/// The most records of one transaction.
const BATCH: usize = 256;

#[derive(Clone, Serialize, Deserialize)]
struct Blob {
    text: String,
}

impl Record for Blob {
    const NAME: &'static str = "bench";
    const WORD: &'static str = "record";
    const LEVEL: Level = Level::Household;
}

/// Writes for about `seconds` with `writers` at a time and says how many records became durable.
pub fn measure(engine: &str, writers: usize, seconds: f64, folder: &Path) -> Result<Value> {
    fs::create_dir_all(folder)?;
    let time = Duration::from_secs_f64(seconds);
    match engine {
        "hob" => hob(writers, time, folder),
        "sqlite" => sqlite(writers, time, folder),
        other => Err(format!("no engine is called {other}").into()),
    }
}

fn hob(writers: usize, time: Duration, folder: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let store = Store::open(folder)?;
    let records: Collection<Blob> = store.collection();
    let (watch, written) = (Watch::start(), written()?);
    let end = Instant::now() + time;
    let tasks: Vec<_> = (0..writers)
        .map(|_| {
            let records = records.clone();
            runtime.spawn(async move {
                let mut waits = vec![];
                while Instant::now() < end {
                    let begun = Instant::now();
                    records.insert_as(Stamp::household("bench"), Blob { text: "x".repeat(SIZE) }).await?;
                    waits.push(begun.elapsed());
                }
                Ok::<_, store::Error>(waits)
            })
        })
        .collect();
    let mut waits = vec![];
    for task in tasks {
        waits.extend(runtime.block_on(task)??);
    }
    report(&watch, written, waits)
}

/// A record for the writing thread, and where it says that the record is on disk.
type Job = (Vec<u8>, mpsc::SyncSender<()>);

fn sqlite(writers: usize, time: Duration, folder: &Path) -> Result<Value> {
    let mut base = rusqlite::Connection::open(folder.join("peer.sqlite"))?;
    base.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE record (id INTEGER PRIMARY KEY, text BLOB)",
    )?;
    let (sender, jobs) = mpsc::channel::<Job>();
    let writer = thread::spawn(move || -> rusqlite::Result<()> {
        while let Ok(first) = jobs.recv() {
            let batch: Vec<Job> = std::iter::once(first).chain(jobs.try_iter().take(BATCH - 1)).collect();
            let all = base.transaction()?;
            for (text, _) in &batch {
                all.prepare_cached("INSERT INTO record (text) VALUES (?)")?.execute([text])?;
            }
            all.commit()?;
            // A writer that went away does not wait.
            batch.iter().for_each(|(_, done)| done.send(()).unwrap_or_default());
        }
        Ok(())
    });
    let (watch, written) = (Watch::start(), written()?);
    let end = Instant::now() + time;
    let threads: Vec<_> = (0..writers)
        .map(|_| {
            let sender = sender.clone();
            thread::spawn(move || {
                let mut waits = vec![];
                while Instant::now() < end {
                    let begun = Instant::now();
                    let (done, wait) = mpsc::sync_channel(1);
                    if sender.send((vec![b'x'; SIZE], done)).is_err() || wait.recv().is_err() {
                        return Err("SQLite stopped");
                    }
                    waits.push(begun.elapsed());
                }
                Ok(waits)
            })
        })
        .collect();
    drop(sender);
    let mut waits = vec![];
    for thread in threads {
        waits.extend(thread.join().map_err(|_| "a writer panicked")??);
    }
    let found = report(&watch, written, waits);
    writer.join().map_err(|_| "the writing thread panicked")??;
    found
}

fn report(watch: &Watch, before: u64, mut waits: Vec<Duration>) -> Result<Value> {
    let (seconds, cpu_ms, written) = (watch.seconds(), watch.cpu_ms(), written()? - before);
    waits.sort();
    let records = waits.len();
    let middle = waits.get(records / 2).ok_or("nothing was written")?;
    Ok(json!({
        "records": records,
        "perSecond": records as f64 / seconds,
        "waitMsMedian": middle.as_secs_f64() * 1e3,
        "cpuMsPerRecord": cpu_ms / records as f64,
        "kilobytesPerRecord": written as f64 / 1e3 / records as f64,
        "sqlite": rusqlite::version(),
    }))
}

/// Bytes this process has sent to the disk.
fn written() -> Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("/proc/self/io does not count bytes")?.trim().parse()?)
}
