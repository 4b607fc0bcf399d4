//! Kills while files are written, edited, moved and deleted: each is as before or as after, never half, and its mark stays.
//!
//! `cargo test` kills the daemon 12 times; `FILE_KILLS=100` as often as given. `SEED=…` repeats a run as far as the machine's
//! timing allows.

use crate::{
    harness::{Dice, Hob, TOKEN},
    http::Request,
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, thread, time::Duration};

const AT: &str = "/api/v1/workspace";
const CALLERS: u64 = 3;
const FILES: u64 = 4;

/// What one caller knows of its files: path and version of each; none where it is in the trash.
type Known = BTreeMap<u64, Option<(String, u64)>>;

struct Caller {
    name: String,
    dice: Dice,
    known: Known,
    /// What a change that nobody answered would have made.
    open: Option<(u64, Option<(String, u64)>)>,
    version: u64,
    done: u64,
}

/// A content whose ends must agree.
fn content(version: u64) -> String {
    let size = if version.is_multiple_of(5) { 300_000 } else { version % 3000 };
    format!("first {version}\n{}\nlast {version}\n", "x".repeat(size as usize))
}

fn version_of(text: &str) -> u64 {
    let version: u64 = text.lines().next().and_then(|line| line.strip_prefix("first ")).unwrap().parse().unwrap();
    assert_eq!(text, content(version), "half of {version}");
    version
}

impl Caller {
    fn path(&self, file: u64, folder: u64) -> String {
        format!("{}/in{folder}/{file}.txt", self.name)
    }

    /// A change of one of its files: the request, and what is so afterwards.
    fn next(&mut self, port: u16) -> (Request, u64, Option<(String, u64)>) {
        let file = self.dice.below(FILES);
        self.version += 1;
        let post =
            |what: &str, body: Value| Request::new(port, "POST", &format!("{AT}/{what}")).bearer(TOKEN).json(&body);
        match (self.known.get(&file).cloned().flatten(), self.dice.below(6)) {
            (Some((path, _)), 0) => (post("delete", json!({"path": path})), file, None),
            (Some((path, version)), 1 | 2) => {
                let to = self.path(file, self.version % 3);
                let to = if to == path { format!("{to}.moved") } else { to };
                (post("move", json!({"path": path, "toPath": to, "overwrite": true})), file, Some((to, version)))
            }
            (there, _) => {
                let path = there.map_or_else(|| self.path(file, 0), |(path, _)| path);
                let request = Request::new(port, "PUT", &format!("{AT}/file?path={path}")).bearer(TOKEN);
                (request.body(content(self.version).into_bytes()), file, Some((path, self.version)))
            }
        }
    }

    /// Changes files until the daemon is gone.
    fn work(&mut self, port: u16) {
        loop {
            let (request, file, after) = self.next(port);
            self.open = Some((file, after.clone()));
            match request.try_send() {
                Ok(reply) if reply.status == 200 => {
                    self.known.insert(file, after);
                    self.open = None;
                    self.done += 1;
                }
                Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
                Err(_) => return,
            }
        }
    }

    /// Compares what is there with what was answered.
    fn check(&mut self, hob: &Hob) {
        for file in 0..FILES {
            let known = self.known.get(&file).cloned().flatten();
            let open = self.open.clone().filter(|(of, _)| *of == file).map(|(_, after)| after);
            let look = |at: &Option<(String, u64)>| -> Option<(String, u64)> {
                let (path, _) = at.as_ref()?;
                let reply = hob.get(&format!("{AT}/file?path={path}"));
                match reply.status {
                    200 => {
                        let entry = hob.get(&format!("{AT}/text?path={path}")).data(200);
                        assert_eq!(entry["outside"], true, "{path} lost its mark");
                        Some((path.clone(), version_of(&reply.text())))
                    }
                    404 => None,
                    other => panic!("{path}: {other}"),
                }
            };
            let (before, after) = (look(&known), open.as_ref().and_then(look));
            let is_before = before == known && after.is_none();
            let is_after = open.as_ref().is_some_and(|open| after == *open && (before.is_none() || before == after));
            let same_path = open.as_ref().is_some_and(|open| {
                let path = |at: &Option<(String, u64)>| at.as_ref().map(|(path, _)| path.clone());
                path(open) == path(&known) && (before == known || before == *open)
            });
            assert!(is_before || is_after || same_path, "{file}: {known:?} {open:?} is {before:?} {after:?}");
            let now = if after.is_some() { after } else { before };
            self.known.insert(file, now);
        }
        self.open = None;
    }
}

#[test]
fn no_kill_leaves_half_of_a_change() {
    let (kills, mut hob, mut dice) = (number("FILE_KILLS").unwrap_or(12), Hob::start(), dice("files"));
    let seed = dice.below(1 << 30);
    let caller = |n: u64| Caller {
        name: format!("caller{n}"),
        dice: Dice(seed ^ n),
        known: Known::new(),
        open: None,
        version: 0,
        done: 0,
    };
    let mut callers: Vec<Caller> = (0..CALLERS).map(caller).collect();
    for _ in 0..kills {
        let (port, pause) = (hob.port, Duration::from_micros(dice.below(400_000)));
        thread::scope(|scope| {
            for caller in &mut callers {
                scope.spawn(move || caller.work(port));
            }
            thread::sleep(pause);
            hob.kill();
        });
        // What a start finishes is cut as well.
        if dice.below(3) == 0 {
            hob.start_again();
            hob.kill();
        }
        hob.start_again();
        // What was interrupted is finished or taken back before the first change.
        hob.post(&format!("{AT}/folders"), json!({"path": "after-the-repair"})).data(200);
        crate::harness::until("the repair", || {
            hob.get(&format!("{AT}/list")).status == 200 && !hob.log().contains("waits for its disk")
        });
        callers.iter_mut().for_each(|caller| caller.check(&hob));
    }
    let done: u64 = callers.iter().map(|caller| caller.done).sum();
    println!("{kills} kills, {done} changes");
    assert!(done > kills, "too little to mean anything: {done} changes");
    // What is in the trash can be brought back: it was noted before it went.
    let trash = hob.get(&format!("{AT}/trash")).data(200);
    for entry in trash["entries"].as_array().unwrap().iter().take(20) {
        let id = entry["id"].as_str().unwrap();
        let back = hob.post(&format!("{AT}/trash/{id}/restore"), json!({})).data(200);
        let path = back["entry"]["path"].as_str().unwrap().replace(' ', "%20");
        version_of(&hob.get(&format!("{AT}/file?path={path}")).text());
    }
    hob.assert_alive();
    hob.kill();
    hob.assert_sound();
}
