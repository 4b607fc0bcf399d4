//! Kills while another model takes a collection over: `REEMBED_KILLS=100` kills as often as given.

use super::*;
use crate::tests::{person, text};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use store::Until;
use tool::Scope;

const DIR: &str = "HOB_TEST_VECTORS_DIR";
const COUNT: usize = 120;

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(dir: &Path) -> Vectors {
    Vectors::new(&Store::open(dir).unwrap(), Embedder::new(Duration::from_secs(600)))
}

fn content(n: usize) -> String {
    format!("number {n} is in the house of {}", ["Anna", "the neighbours", "the plumber", "a cat"][n % 4])
}

/// As if an earlier model had made the vectors: each is another text's.
async fn age(vectors: &Vectors, cx: &Cx) {
    let entry = vectors.find(cx, "notes").unwrap();
    let (wrong, _) = vectors.embed("made by an earlier model").await.unwrap();
    let mut all = vec![];
    vectors.each(&entry, |found| all.push(found.id)).unwrap();
    let (this, scope) = (vectors.clone(), Scope::User(entry.owner));
    let job = move |tx: &store::Tx<'_>| {
        for id in &all {
            this.vectors.change(tx, scope, Label::Own, *id, &mut |it| {
                it.values = values::Values::compact(&wrong);
                Ok(())
            })?;
        }
        this.collections.change(tx, scope, Label::Own, entry.id, &mut |it| {
            it.model = "an earlier model".into();
            Ok(())
        })
    };
    vectors.collections.store().write(job).await.unwrap();
    vectors.pool.drop_one(entry.id);
}

/// Searches, and so embeds everything again, until it is killed; see the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_is_killed() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let (vectors, cx) = (open(dir.as_ref()), person(UserId::OWNER));
    println!("begun");
    std::io::stdout().flush().unwrap();
    let writing = vectors.clone();
    let me = person(UserId::OWNER);
    tokio::spawn(async move {
        // Another caller replaces some meanwhile.
        for n in (0..COUNT).cycle().step_by(7) {
            let _ = writing.upsert(&me, "notes", vec![text(&n.to_string(), &content(n), json!({}))]).await;
        }
    });
    loop {
        let search = Search { text: "number".into(), most: 1, ..Search::default() };
        if vectors.search(&cx, "notes", search).await.is_ok() {
            println!("done");
            std::io::stdout().flush().unwrap();
            age(&vectors, &cx).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_leaves_no_vector_of_the_model_before() {
    let kills = std::env::var("REEMBED_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let dir = Dir(std::env::temp_dir().join(format!("hob-reembed-{}", Id::new())));
    let cx = person(UserId::OWNER);
    let vectors = open(&dir.0);
    let new = NewCollection { name: "notes".into(), ..NewCollection::default() };
    vectors.create(&cx, new).await.unwrap();
    let items: Vec<Item> = (0..COUNT).map(|n| text(&n.to_string(), &content(n), json!({}))).collect();
    for some in items.chunks(60) {
        vectors.upsert(&cx, "notes", some.to_vec()).await.unwrap();
    }
    let mut wanted = vec![];
    for n in 0..COUNT {
        wanted.push(values::Values::compact(&vectors.embed(&content(n)).await.unwrap().0));
    }
    age(&vectors, &cx).await;
    drop(vectors);
    let mut halves = 0;
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests_kills::child_that_is_killed", "--nocapture", "--test-threads=1"])
            .env(DIR, &dir.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.ends_with("begun")));
        std::thread::sleep(Duration::from_millis(kill * 97 % 700));
        child.kill().unwrap();
        child.wait().unwrap();
        let vectors = open(&dir.0);
        assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0, "kill {kill}");
        let entry = vectors.find(&cx, "notes").unwrap();
        halves += usize::from(entry.value.behind);
        // Whatever was done, the next search goes on with the rest, and finds by vectors of this model alone.
        let hits = loop {
            let search = Search { text: content(77), most: 1, ..Search::default() };
            match vectors.search(&cx, "notes", search).await {
                Ok(found) => break found,
                Err(error) => assert!(error.code() == "unavailable", "kill {kill}: {error}"),
            }
        };
        assert_eq!((hits.hits[0].id.as_str(), hits.searched), ("77", COUNT), "kill {kill}");
        let entry = vectors.find(&cx, "notes").unwrap();
        assert_eq!((entry.value.model.as_str(), entry.value.behind), (embed::MODEL, false), "kill {kill}");
        let mut seen = 0;
        vectors
            .each(&entry, |found| {
                let n: usize = found.value.key.parse().unwrap();
                assert_eq!(found.value.text, content(n), "kill {kill}");
                assert!(found.value.values == wanted[n], "kill {kill}: the vector of {n} is not this model's");
                seen += 1;
            })
            .unwrap();
        assert_eq!(seen, COUNT, "kill {kill}");
        assert_eq!(vectors.check(Until::DONE).unwrap().wrong, 0, "kill {kill}");
        age(&vectors, &cx).await;
        let store = vectors.collections.store().clone();
        drop(vectors);
        store.flush().await.unwrap();
    }
    println!("{halves} of {kills} kills left a collection half embedded");
    assert!(halves > 0, "too little to mean anything");
}
