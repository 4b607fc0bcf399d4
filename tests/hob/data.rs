//! Stored data: ownership, backup and restore, power cuts, full disks.

use crate::harness::{Dice, Folder, Hob, Setup, TOKEN, binary, hob, hob_with, run, until};
use crate::http::{Reply, Request};
use crate::killed::number;
use serde_json::json;
use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

const SERVE: [&str; 5] = ["serve", "--board", "sim", "--listen", "127.0.0.1:0"];

/// The one-line error of a daemon that does not start.
fn refused(data: &Path, arguments: &[&str]) -> String {
    hob_with(data, arguments, &[("HOB_LOG", "off")], "").why(1)
}

#[test]
fn a_second_daemon_leaves_the_first_alone() {
    let mut first = Hob::start();
    first.say("remember that I was here first");
    let why = refused(&first.data(), &SERVE);
    assert!(why.contains("another hob is using") && why.contains("--data DIR"), "{why}");
    assert!(first.cli(&["chat", "who was here first?"]).ok().contains("I was here first"));

    let other = Folder::new();
    let taken = format!("127.0.0.1:{}", first.port);
    let why = refused(&other.path("data"), &["serve", "--board", "sim", "--listen", &taken]);
    assert!(why.contains(&taken) && why.contains("--listen"), "{why}");
    first.assert_alive();

    let deep = other.path(&"d".repeat(120));
    let why = refused(&deep, &SERVE);
    assert!(why.contains("too long") && why.contains("--data"), "{why}");
}

/// Writes the format number of a data file.
fn set_format(file: &Path, format: u32) {
    let table: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("meta");
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_write().unwrap();
    tx.open_table(table).unwrap().insert(&b"format"[..], &format.to_le_bytes()[..]).unwrap();
    tx.commit().unwrap();
}

#[test]
fn a_newer_or_damaged_file_is_refused_and_left_as_it_is() {
    let mut daemon = Hob::start();
    daemon.say("remember that the old key is in the cellar");
    assert_eq!(daemon.stop(), Some(0));
    let (data, file) = (daemon.data(), daemon.data().join("hob.redb"));
    let good = fs::read(&file).unwrap();

    let refused_as = |bytes: &[u8], part: &str| {
        for arguments in [&SERVE[..], &["chat", "hello"]] {
            let why = refused(&data, arguments);
            assert!(why.contains(part) && why.contains("hob restore FILE"), "{arguments:?}: {why}");
            assert!(fs::read(&file).unwrap() == bytes, "the file was changed: {why}");
        }
    };
    for bytes in
        [b"no data file at all".to_vec(), vec![0; 1 << 16], good[..good.len() / 2].to_vec(), good[..100].to_vec()]
    {
        fs::write(&file, &bytes).unwrap();
        refused_as(&bytes, "damaged");
    }
    fs::write(&file, &good).unwrap();
    set_format(&file, 999);
    refused_as(&fs::read(&file).unwrap(), "written by a newer Hob (format 999");
    // A backup made by a newer one is not taken either.
    let newer = daemon.folder.path("newer.hob");
    fs::copy(&file, &newer).unwrap();
    set_format(&file, 1);
    let why = hob(&data, &["restore", newer.to_str().unwrap()]).why(1);
    assert!(why.contains("newer Hob"), "{why}");
    // The newer file itself was left as it was: what is in it is still there.
    daemon.start_again();
    assert!(daemon.say("where is the old key?")["response"].as_str().unwrap().contains("in the cellar"));
}

/// Stores memories until stopped or disconnected; records what was acknowledged, fifty per tag.
fn remember(port: u16, writer: &str, stop: &AtomicBool, kept: &Mutex<Vec<(String, String)>>) {
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let (tag, content) = (format!("{writer}-{}", n / 50), format!("{writer} wrote line {n}"));
        let arguments = json!({"arguments": {"content": content, "tags": [tag]}});
        let request = Request::new(port, "POST", "/api/v1/tools/remember/execute").bearer(TOKEN).json(&arguments);
        match request.try_send() {
            Ok(reply) if reply.status == 200 => kept.lock().unwrap().push((tag, content)),
            Ok(reply) => panic!("{}: {}", reply.status, reply.text()),
            Err(_) => return,
        }
    }
}

/// Asserts that everything acknowledged is there.
fn assert_kept(hob: &Hob, kept: &[(String, String)], told: &str) {
    let mut tags: Vec<&String> = kept.iter().map(|(tag, _)| tag).collect();
    tags.dedup();
    tags.sort();
    tags.dedup();
    for tag in tags {
        let there = hob.tagged(tag);
        for (_, content) in kept.iter().filter(|(t, _)| t == tag) {
            assert!(there.contains(content), "`{content}` was acknowledged and is gone ({told})");
        }
    }
}

/// `MEMORY_KILLS=100` cuts as often as given.
#[test]
fn thirty_power_cuts_lose_nothing_that_was_acknowledged() {
    let cuts = number("MEMORY_KILLS").unwrap_or(30);
    let mut hob = Hob::start();
    let mut dice = Dice::fresh();
    let told = format!("the dice begin at {}", dice.0);
    let kept = Mutex::new(vec![]);
    for round in 0..cuts {
        let (before, port) = (kept.lock().unwrap().len(), hob.port);
        let (early, pause) = (dice.below(3) == 0, Duration::from_millis(dice.below(200)));
        thread::scope(|scope| {
            for writer in 0..4 {
                let (kept, name) = (&kept, format!("r{round}w{writer}"));
                scope.spawn(move || remember(port, &name, &AtomicBool::new(false), kept));
            }
            // Cut at a random moment: while the model is being loaded, between commits, within one.
            if !early {
                until("a first memory", || kept.lock().unwrap().len() > before);
            }
            thread::sleep(pause);
            hob.kill();
        });
        hob.assert_sound();
        hob.start_again();
        hob.assert_agrees();
        let all = kept.lock().unwrap();
        assert_kept(&hob, &all[before..], &format!("round {round}, {told}"));
    }
    let kept = kept.into_inner().unwrap();
    println!("{} memories were acknowledged in {cuts} lives", kept.len());
    // Every life that is not cut early stores at least one; a loaded machine stores few more.
    assert!(kept.len() as u64 >= cuts, "too few to mean anything: {}", kept.len());
    assert_kept(&hob, &kept, &told);
    hob.assert_alive();
}

#[test]
fn a_backup_is_whole_although_everything_goes_on() {
    let mut daemon = Hob::start();
    let file = daemon.folder.path("backup.hob");
    let (stop, kept) = (AtomicBool::new(false), Mutex::new(vec![]));
    let (told, before) = thread::scope(|scope| {
        for name in ["anna", "ben"] {
            let (stop, kept, port) = (&stop, &kept, daemon.port);
            scope.spawn(move || remember(port, name, stop, kept));
        }
        until("some writing", || kept.lock().unwrap().len() > 20);
        let before = kept.lock().unwrap().clone();
        let told = daemon.cli(&["backup", file.to_str().unwrap()]).ok();
        stop.store(true, Ordering::SeqCst);
        (told, before)
    });
    assert!(told.contains("backup.hob") && told.contains("secrets are not in it"), "{told}");
    let why = daemon.cli(&["backup", file.to_str().unwrap()]).why(1);
    assert!(why.contains("exists already"), "{why}");
    assert_kept(&daemon, &kept.lock().unwrap(), "the original");

    // Into a fresh house.
    let fresh = Folder::new();
    hob(&fresh.path("data"), &["restore", file.to_str().unwrap()]).ok();
    let restored = Hob::over(fresh, Setup::default());
    assert_kept(&restored, &before, "the copy");

    // Not under a running daemon, and not from what is no backup.
    daemon.say("remember that the spice in the blue tin is tarragon");
    let why = daemon.cli(&["restore", file.to_str().unwrap()]).why(1);
    assert!(why.contains("another hob is using"), "{why}");
    let junk = daemon.folder.path("junk");
    fs::write(&junk, "junk").unwrap();
    assert_eq!(daemon.stop(), Some(0));
    let why = daemon.cli(&["restore", junk.to_str().unwrap()]).why(1);
    assert!(why.contains("not a usable backup") && why.contains("nothing was changed"), "{why}");
    assert!(daemon.cli(&["chat", "what is the spice in the blue tin?"]).ok().contains("tarragon"));

    // Over data that is there: it stays beside.
    let told = daemon.cli(&["restore", file.to_str().unwrap()]).ok();
    assert!(told.contains("hob.redb.before-restore"), "{told}");
    daemon.start_again();
    assert_kept(&daemon, &before, "after the restore");
    assert!(!daemon.say("what is the spice in the blue tin?")["response"].as_str().unwrap().contains("tarragon"));
    assert!(daemon.data().join("hob.redb.before-restore").exists());
}

/// Repeats a request until it is refused because the disk is full; returns how often it succeeded.
fn until_full(mut ask: impl FnMut(usize) -> Reply) -> usize {
    for n in 0..1000 {
        let reply = ask(n);
        if reply.status >= 400 {
            let why = reply.refusal(409, "unavailable");
            assert!(why.contains("the disk is full") && why.contains("Free some space"), "{why}");
            return n;
        }
    }
    panic!("the disk never got full");
}

/// Fills and frees the disk: what still works, which errors appear, and that nothing is lost. `full` starts and ends
/// the shortage.
fn check_full_disk(daemon: &mut Hob, full: impl Fn(&Hob, bool)) -> Vec<String> {
    daemon.say("remember that the pantry key hangs behind the door");
    let mut kept = vec![];
    for round in 0..2 {
        full(daemon, true);
        // What is large is refused first; pages that are free within the file still take what is small, for a while.
        let name = |n: usize| format!("padding_{round}_{n}");
        let stored = until_full(|n| {
            daemon.post(
                "/api/v1/custom-tools",
                json!({"name": name(n), "description": "Fills the disk.", "code": "return 1;",
                    "parameters": {"type": "object"}, "metadata": {"padding": "x".repeat(40_000)}}),
            )
        });
        kept.extend((0..stored).map(name));
        until_full(|n| daemon.call("remember", json!({"content": format!("{n} {}", "x".repeat(4000))})));
        until_full(|_| daemon.post("/api/v1/chat", json!({"message": "remember this"})));
        // What is stored can be read, and what needs no disk works.
        let found = daemon.result("recall", json!({"query": "pantry key"}));
        assert!(found.to_string().contains("behind the door"), "{found}");
        assert_eq!(daemon.result("calculate", json!({"expression": "6*7"}))["result"], 42);
        assert_eq!(daemon.result("gpio_write", json!({"pin": 1, "high": true}))["high"], true);
        full(daemon, false);
        // At once, and in the same process.
        let again = format!("round {round} is over");
        assert_eq!(daemon.result("remember", json!({"content": again, "tags": ["after"]}))["content"], *again);
        assert!(daemon.say("where is the pantry key?")["response"].as_str().unwrap().contains("behind the door"));
    }
    assert_eq!(daemon.tagged("after").len(), 2);
    let there = daemon.get("/api/v1/custom-tools").data(200).to_string();
    for name in &kept {
        assert!(there.contains(&format!("\"{name}\"")), "`{name}` was acknowledged and is gone");
    }
    daemon.assert_alive();
    kept
}

#[test]
fn a_file_that_may_not_grow_is_a_full_disk() {
    // Without this the kernel would end the process instead of refusing the write.
    let wrapper = ["sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""].map(str::to_owned).into();
    let mut daemon = Hob::with(Setup { wrapper, ..Setup::default() });
    let kept = check_full_disk(&mut daemon, |daemon, full| {
        let pid = rustix::process::Pid::from_raw(daemon.pid() as i32);
        let size = fs::metadata(daemon.data().join("hob.redb")).unwrap().len();
        let mut limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
        limit.current = if full { Some(size) } else { limit.maximum };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    });
    daemon.kill();
    daemon.start_again();
    let there = daemon.get("/api/v1/custom-tools").data(200).to_string();
    for name in &kept {
        assert!(there.contains(&format!("\"{name}\"")), "`{name}` did not outlive the power cut");
    }
}

#[test]
fn a_disk_without_space_is_a_full_disk() {
    let mount = "mkdir -p \"$0\" && mount -t tmpfs -o size=4m,mode=700 tmpfs \"$0\"";
    let folder = Folder::new();
    let data = folder.path("data");
    let try_it = std::process::Command::new("unshare").args(["-m", "sh", "-c", mount]).arg(&data).output();
    if !try_it.is_ok_and(|tried| tried.status.success()) {
        // The file that may not grow stands for it where nobody may mount.
        println!("not tried: a small disk cannot be mounted here");
        return;
    }
    let script = format!("{mount} && exec \"$@\"");
    let wrapper = ["unshare", "-m", "sh", "-c", &script, data.to_str().unwrap()].map(str::to_owned).into();
    let mut daemon = Hob::over(folder, Setup { wrapper, ..Setup::default() });
    check_full_disk(&mut daemon, |daemon, full| {
        let ballast = format!("/proc/{}/root{}/ballast", daemon.pid(), daemon.data().display());
        match full {
            false => fs::remove_file(ballast).unwrap(),
            true => {
                let mut file = fs::File::create(ballast).unwrap();
                while std::io::Write::write(&mut file, &[7; 4096]).is_ok_and(|written| written > 0) {}
            }
        }
    });
}

#[test]
fn a_read_only_data_folder_is_examined_and_else_refused() {
    let mut hob = Hob::start();
    hob.result("remember", json!({"content": "the valve is behind the stairs"}));
    // What was last written is in the log alone.
    hob.kill();
    let data = hob.data();
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
    let read_only = |arguments: &[&str]| {
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(&data).args(arguments).env("HOB_LOG", "off");
        command
    };
    if !read_only(&["true"]).output().is_ok_and(|tried| tried.status.success()) {
        println!("not tried: nothing can be mounted here");
        return;
    }
    let daemon = binary();
    let hob_there = |arguments: &[&str]| {
        let program = [daemon.to_str().unwrap(), "--data", data.to_str().unwrap()];
        run(read_only(&[&program[..], arguments].concat()), "")
    };
    let examined = hob_there(&["doctor"]);
    assert!(
        examined.out.contains("every page is sound") && examined.out.contains("all of them intact"),
        "{examined:?}"
    );
    assert!(examined.out.contains("for the next start to take over"), "{examined:?}");
    let why = examined.why(1);
    assert!(why.contains("read-only file system"), "{why}");
    let backup = data.with_file_name("copy.hob");
    for arguments in [&SERVE[..], &["backup", backup.to_str().unwrap()], &["chat", "hello"]] {
        let why = hob_there(arguments).why(1);
        assert!(why.contains("is on a read-only file system: make that writable, or copy the folder"), "{why}");
    }
    hob.start_again();
    assert!(hob.cli(&["call", "list_memories"]).ok().contains("behind the stairs"));
}
