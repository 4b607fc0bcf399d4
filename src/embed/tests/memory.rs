//! A quiet device holds no model: alone in its process, because other tests load models too.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::time::{Duration, Instant};

use embed::Embedder;

/// Memory that is this process's own, in kB; pages of the program's file are not.
fn own_memory() -> Option<u64> {
    of_status("RssAnon:")
}

/// Pages of files, of the program's above all, in kB.
fn file_pages() -> Option<u64> {
    of_status("RssFile:")
}

fn of_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[tokio::test]
async fn an_idle_model_gives_its_memory_back_every_time() {
    let embedder = Embedder::new(Duration::from_millis(300));
    let before = own_memory().unwrap();
    let more = || own_memory().unwrap().saturating_sub(before);
    for round in 0..5 {
        embedder.embed("the lamp in the garage").await.unwrap();
        assert!(more() < 8_000, "round {round}: a loaded model takes {} kB", more());
        let read = file_pages().unwrap();
        let start = Instant::now();
        while embedder.loaded() {
            assert!(start.elapsed() < Duration::from_secs(20), "round {round}: it is still loaded");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // The flag falls before the last is given back.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(more() < 4_000, "round {round}: {} kB are still held", more());
        let gone = read.saturating_sub(file_pages().unwrap());
        assert!(gone > 8_000, "round {round}: only {gone} kB of the weights' pages were let go of");
    }
    // And the program goes on when its code was let go of.
    let before = file_pages().unwrap();
    embed::release_code_pages();
    let gone = before.saturating_sub(file_pages().unwrap());
    assert!(gone > 200, "only {gone} kB of code were let go of");
    embedder.embed("the lamp in the garage").await.unwrap();
}
