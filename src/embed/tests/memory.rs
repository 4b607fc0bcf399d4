//! A quiet device holds no model: alone in its process, because other tests load models too.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::time::{Duration, Instant};

use embed::Embedder;

/// Memory that is this process's own, in kB; pages of the program's file are not.
fn own_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[tokio::test]
async fn an_idle_model_gives_its_memory_back_every_time() {
    let embedder = Embedder::new(Duration::from_millis(300));
    let before = own_memory().unwrap();
    for round in 0..3 {
        embedder.embed("the lamp in the garage").await.unwrap();
        let loaded = own_memory().unwrap() - before;
        assert!((40_000..75_000).contains(&loaded), "round {round}: a loaded model takes {loaded} kB");
        let start = Instant::now();
        while own_memory().unwrap() > before + 8_000 {
            let kept = own_memory().unwrap() - before;
            assert!(start.elapsed() < Duration::from_secs(20), "round {round}: {kept} kB are still held");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!embedder.loaded());
    }
}
