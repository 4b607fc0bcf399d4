//! Old and new version alternately on one data folder: each reads what the other wrote.

use crate::supervised::{Signer, Start, Supervised, UPDATE};
use serde_json::json;

#[test]
fn old_and_new_version_alternate_on_one_data_folder() {
    let signer = Signer::new();
    let mut it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    it.remember("of the old one");
    it.call("add_task", json!({"title": "Water the plants"}));
    it.install(&signer.good("0.2.0", 2));
    it.wait_outcome("0.2.0");
    let mut words = vec!["of the old one".to_owned()];
    for turn in 0..4 {
        let view = it.view();
        let runs = if turn % 2 == 0 { "0.2.0" } else { "0.1.0" };
        assert_eq!(view["running"]["version"], runs, "{view}");
        let word = format!("turn {turn} by {runs}");
        it.remember(&word);
        words.push(word);
        let starts = it.starts();
        it.post(&format!("{UPDATE}/rollback"), json!({})).data(202);
        it.wait_starts(starts + 1);
        it.wait_view("the other version", |view| view["running"]["version"] != runs);
        words.sort();
        assert_eq!(it.remembered(), words);
        let tasks = it.call("list_tasks", json!({}));
        assert!(tasks.to_string().contains("Water the plants"), "{tasks}");
    }
    assert!(!it.data().join("crash").exists(), "{}", it.log());
}

#[test]
fn a_version_for_other_data_is_refused() {
    let signer = Signer::new();
    let it = Supervised::start(&Start { keys: &[&signer.public], ..Start::default() });
    let later = signer.bundle_with("0.9.0", 9, b"x", &|bundle| (bundle.data_schema, bundle.data_schema_min) = (9, 9));
    let told = it.begin(&later).refusal(422, "failed");
    assert!(told.contains("data"), "{told}");
    assert_eq!(it.view()["state"], "idle");
}
