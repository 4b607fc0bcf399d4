//! Kills while memories are written, their index is saved, and missing vectors are computed: `INDEX_KILLS=100` kills as often as given.

use crate::{
    Change, Filter, Memories,
    tests_saving::{Dir, Home, close, new, person},
};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};
use tool::{Id, UserId};

const DIR: &str = "HOB_TEST_MEMORY_DIR";
const LIFE: &str = "HOB_TEST_MEMORY_LIFE";

fn told(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Takes the vectors of some memories away, as an undo does, and computes them again.
async fn embed_again(memories: &Memories, some: &[Id]) {
    let (this, ids) = (memories.clone(), some.to_vec());
    let removed = memories.records.store().write(move |tx: &store::Tx| {
        ids.iter().try_for_each(|id| match this.records.read(tx, tool::Scope::User(UserId::OWNER), *id)? {
            Some(_) => this.put_back_in(tx, UserId::OWNER, *id),
            None => Ok(()),
        })
    });
    removed.await.unwrap();
    for id in some {
        memories.was_put_back(UserId::OWNER, *id).await;
    }
    memories.backfill_embeddings().await.unwrap();
}

/// Writes, saves and embeds in the folder that the environment names until it is killed; see the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_is_killed() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let life: usize = std::env::var(LIFE).unwrap().parse().unwrap();
    let home = Home::at(Dir(PathBuf::from(dir)));
    let memories = home.open();
    let saving = memories.clone();
    let me = person(UserId::OWNER);
    tokio::spawn(async move {
        loop {
            // An index that nobody has used since the last file is not there to be saved.
            saving.recall(&me, "boiler", Filter::default()).await.unwrap();
            saving.maintain().await.unwrap();
            told("saved");
        }
    });
    let embedding = memories.clone();
    let all = memories.list(&home.anna, &Filter::default()).unwrap();
    let some: Vec<Id> = all.iter().map(|memory| memory.id).take(5).collect();
    tokio::spawn(async move {
        loop {
            embed_again(&embedding, &some).await;
            told("embedded");
        }
    });
    let mut ids = vec![];
    for n in 0.. {
        let text = format!("life{life} The boiler of house number{n} every");
        told(&format!("open {text}"));
        let id = memories.remember(&home.anna, new(&text)).await.unwrap().id;
        told(&format!("wrote {id} {text}"));
        ids.push(id);
        if n % 3 == 1 {
            let (at, text) = (ids[n / 2], format!("life{life} Anna's cat number{n}"));
            let change = Change { content: Some(text.clone()), ..Change::default() };
            told(&format!("open {text}"));
            if memories.update(&home.anna, at, change).await.unwrap().is_some() {
                told(&format!("wrote {at} {text}"));
            }
        }
        if n % 4 == 3 {
            told(&format!("forgetting {}", ids[n / 4]));
            memories.forget(&home.anna, ids[n / 4], false).await.unwrap();
            told(&format!("forgot {}", ids[n / 4]));
        }
    }
}

/// The output of a child before it was killed.
#[derive(Default)]
struct Said {
    /// The text of each memory; `None` once it is forgotten.
    known: BTreeMap<String, Option<String>>,
    /// The change that was not acknowledged.
    open: Option<String>,
    saved: usize,
    embedded: usize,
}

fn read(lines: impl Iterator<Item = String>) -> Said {
    let mut said = Said::default();
    for line in lines {
        match line.split_once(' ') {
            Some(("wrote", rest)) => {
                let (id, text) = rest.split_once(' ').unwrap();
                said.known.insert(id.into(), Some(text.into()));
                said.open = None;
            }
            Some(("forgot", id)) => {
                said.known.insert(id.into(), None);
                said.open = None;
            }
            Some(("open" | "forgetting", what)) => said.open = Some(what.into()),
            _ if line == "saved" => said.saved += 1,
            _ if line == "embedded" => said.embedded += 1,
            _ => {}
        }
    }
    said
}

/// The checker finds nothing.
async fn agrees(memories: &Memories, kill: u64) {
    let this = memories.clone();
    let check = move || this.check(store::Until::DONE).unwrap();
    let found = tokio::task::spawn_blocking(check).await.unwrap();
    assert_eq!((found.wrong, found.cut_short), (0, false), "kill {kill}: {found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_leaves_the_index_in_step_with_the_memories() {
    let kills = std::env::var("INDEX_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    let home = Home::new();
    let (mut writes, mut saved, mut embedded, mut from_file, mut lacking) = (0, 0, 0, 0, 0);
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests_kills::child_that_is_killed", "--nocapture", "--test-threads=1"])
            .env(DIR, &home.dir.0)
            .env(LIFE, kill.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // The first write may wait for the model.
        let (begun, seen) = std::sync::mpsc::channel();
        let reading = std::thread::spawn(move || {
            let tell = |line: &String| {
                if line.starts_with("wrote") {
                    let _ = begun.send(());
                }
            };
            read(lines.map_while(Result::ok).inspect(tell))
        });
        seen.recv_timeout(Duration::from_secs(60)).unwrap();
        std::thread::sleep(Duration::from_millis(kill * 137 % 600));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = reading.join().unwrap();
        writes += said.known.len();
        saved += said.saved;
        embedded += said.embedded;
        let memories = home.open();
        agrees(&memories, kill).await;
        let all = memories.list(&home.anna, &Filter::default()).unwrap();
        let stored: BTreeMap<String, String> =
            all.into_iter().map(|memory| (memory.id.to_string(), memory.content)).collect();
        for (id, text) in &said.known {
            let now = stored.get(id);
            let open = said.open.as_ref().is_some_and(|open| open == id || now == Some(open));
            assert!(now == text.as_ref() || open, "kill {kill}: {now:?} is stored, {text:?} was acknowledged");
        }
        // With the file, if it can be trusted, and without it the same is found.
        home.check(&memories).await;
        let reopened = home.over(memories.records.store());
        home.found(&reopened).await;
        from_file += usize::from(reopened.index.has_file().await);
        lacking += reopened.backfill_embeddings().await.unwrap();
        let stats = reopened.stats(&home.anna).await.unwrap();
        assert_eq!((stats.total, stats.with_meaning), (stored.len(), stored.len()), "kill {kill}");
        home.check(&reopened).await;
        agrees(&reopened, kill).await;
        // So that a round takes no longer than the one before.
        for id in stored.keys().skip(40) {
            reopened.forget(&home.anna, id.parse().unwrap(), true).await.unwrap();
        }
        drop(reopened);
        close(memories).await;
        assert_eq!(store::check_file(&home.dir.0).unwrap().unwrap().pages, [""; 0]);
    }
    println!(
        "{writes} memories, {saved} files, {embedded} passes; {from_file} of {kills} starts read the file, {lacking} vectors were missing"
    );
    assert!(writes >= kills as usize && saved > 0 && embedded > 0 && from_file > 0, "too little to mean anything");
}
