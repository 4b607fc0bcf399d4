//! Embedding through the queue that Hob uses, one text at a time.

use crate::{Result, Watch};
use embed::Embedder;
use serde_json::{Value, json};
use std::time::Duration;

/// Embeds each text `rounds` times; loading the model is told apart.
pub fn measure(rounds: usize, texts: &[&str]) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let embedder = Embedder::new(Duration::from_secs(600));
    let watch = Watch::start();
    runtime.block_on(embedder.embed("load"))?;
    let load = watch.cpu_ms();
    let mut found = vec![];
    for text in texts {
        let vector = runtime.block_on(embedder.embed(text))?;
        let watch = Watch::start();
        for _ in 0..rounds {
            runtime.block_on(embedder.embed(text))?;
        }
        found.push(json!({"cpuMs": watch.cpu_ms() / rounds as f64, "vector": vector}));
    }
    Ok(json!({"loadCpuMs": load, "texts": found}))
}
