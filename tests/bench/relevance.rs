//! How well memories are found: stores those of a file and recalls each of its queries. The vectors go beside it, so that
//! `relevance.py` ranks by the same ones.

use crate::Result;
use embed::Embedder;
use memory::{Decision, Fact, Filter, Memories, New, Question};
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc, time::Duration};
use store::Store;
use tool::{Channel, Cx, Id, Ports, Principal, SystemClock, Via};

/// How many hits of a query count.
const HITS: usize = 10;

/// `file` has `memories`, a list of texts, `queries`, another, and `unanswerable`, questions that no memory answers. Returns the
/// positions of the hits of each query, and what each of those questions was answered.
///
/// # Errors
/// When a memory cannot be stored or searched.
pub fn measure(file: &Path) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(recall_all(file))
}

async fn recall_all(file: &Path) -> Result<Value> {
    let given: Value = serde_json::from_str(&fs::read_to_string(file)?)?;
    let texts = |field: &str| -> Vec<String> {
        let all = given[field].as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let embedder = Embedder::new(Duration::from_secs(600));
    let memories = Memories::new(&Store::in_memory()?, embedder.clone());
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None)?));
    let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
    let (mut ids, mut bytes) = (vec![], vec![]);
    let mut embed = async |text: &str| -> Result<()> {
        bytes.extend(embedder.embed(text).await?.iter().flat_map(|x| x.to_le_bytes()));
        Ok(())
    };
    for part in texts("memories").chunks(50) {
        let new = |text: &String| New { content: text.clone(), importance: 0.5, ..New::default() };
        let stored = memories.remember_all(&cx, part.iter().map(new).collect()).await?;
        ids.extend(stored.iter().map(|memory| memory.id));
        for text in part {
            embed(text).await?;
        }
    }
    let (queries, mut found) = (texts("queries"), vec![]);
    for query in &queries {
        let filter = Filter { limit: HITS, ..Filter::default() };
        let hits = memories.recall(&cx, query, filter).await?.hits;
        let position = |id: Id| ids.iter().position(|known| *known == id);
        found.push(hits.iter().filter_map(|hit| position(hit.memory.id)).collect::<Vec<_>>());
        embed(query).await?;
    }
    fs::write(file.with_extension("vectors"), bytes)?;
    let mut answered = vec![];
    for text in texts("unanswerable") {
        let question = Question::new(&text);
        let candidates = memories.candidates(&cx, &text, &question).await?;
        let fact = |c: memory::Candidate| Fact { text: c.memory.content, similarity: c.similarity };
        let facts: Vec<Fact> = candidates.found.into_iter().map(fact).collect();
        answered.push(match question.decide(&facts, &candidates.commonness) {
            Decision::Answer { text, .. } => json!(text),
            Decision::Which(secrets) => json!(secrets),
            Decision::Nothing => Value::Null,
        });
    }
    Ok(json!({ "found": found, "answered": answered }))
}
