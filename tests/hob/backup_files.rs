//! The files of the workspace in backups: in and out, left out, with entries that are no files, damaged, and through kills.
//!
//! `cargo test` kills a restore 8 times; `BACKUP_KILLS=100` as often as given.

use crate::{
    harness::{Folder, Hob, Setup, binary, hob},
    killed::{dice, number},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

/// Writes a file of the workspace.
fn put(data: &Path, path: &str, content: &[u8]) {
    let file = data.join("workspace").join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

fn text(data: &Path, path: &str) -> String {
    fs::read_to_string(data.join("workspace").join(path)).unwrap_or_default()
}

/// The files in a folder of the data folder that begins so.
fn aside(data: &Path, start: &str) -> Vec<String> {
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(start)).collect()
}

#[test]
fn files_go_into_a_backup_and_come_back_where_they_are_wanted() {
    let daemon = Hob::start();
    let data = daemon.data();
    put(&data, "household/menu.md", b"Paella on Friday");
    put(&data, "people/x/deep/er/large.bin", &vec![7; 9 << 20]);
    // A pipe that nobody writes to would keep a reader waiting for ever.
    symlink("/etc", data.join("workspace/household/etc")).unwrap();
    let pipe = data.join("workspace/household/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let size = daemon.get("/api/v1/backup/size").data(200);
    assert_eq!((&size["fileCount"], &size["skipped"]), (&json!(2), &json!(2)), "{size}");
    assert!(size["files"].as_u64().unwrap() > 9 << 20 && size["data"].as_u64().unwrap() > 0, "{size}");
    let storage = daemon.get("/api/v1/storage").data(200);
    assert_eq!((&storage["files"], &storage["fileBytes"]), (&json!(2), &size["files"]));
    assert!(daemon.cli(&["doctor"]).ok().contains("2 files of the workspace, 10 MB"));
    let (with, without) = (daemon.folder.path("with.hob"), daemon.folder.path("without.hob"));
    let told = daemon.cli(&["backup", with.to_str().unwrap()]).ok();
    assert!(told.contains("2 files of the workspace in it") && told.contains("2 entries left out"), "{told}");
    let told = daemon.cli(&["backup", without.to_str().unwrap(), "--without-files"]).ok();
    assert!(told.contains("2 files of the workspace left out"), "{told}");
    assert!(fs::metadata(&with).unwrap().len() > fs::metadata(&without).unwrap().len() + (9 << 20));
    let last = daemon.get("/api/v1/backup").data(200)["last"].clone();
    assert_eq!((&last["files"], &last["skipped"]), (&json!(0), &json!(0)), "{last}");
    let plan = daemon.admin("PUT", "/api/v1/backup/plan").json(&json!({"every": "day", "passphrase": ""})).send();
    assert_eq!(plan.data(200)["plan"]["files"], true);
    let last = daemon.post("/api/v1/backup/run", json!({})).data(200)["last"].clone();
    assert_eq!((&last["files"], &last["skipped"]), (&json!(2), &json!(2)), "{last}");
    let body = json!({"every": "day", "passphrase": "", "files": false});
    assert_eq!(daemon.admin("PUT", "/api/v1/backup/plan").json(&body).send().data(200)["plan"]["files"], false);

    // On another device: those that are there give way, or stay where the backup has none.
    let folder = Folder::new();
    let other = folder.path("data");
    let mut second = Hob::over(folder, Setup::default());
    assert_eq!(second.stop(), Some(0));
    put(&other, "household/menu.md", b"Soup");
    put(&other, "household/later.md", b"later");
    let told = hob(&other, &["restore", without.to_str().unwrap()]).ok();
    assert!(!told.contains("files of the workspace"), "{told}");
    assert_eq!(text(&other, "household/menu.md"), "Soup");
    let told = hob(&other, &["restore", with.to_str().unwrap()]).ok();
    assert!(told.contains("the previous files of the workspace are in"), "{told}");
    assert_eq!(text(&other, "household/menu.md"), "Paella on Friday");
    assert_eq!(fs::read(other.join("workspace/people/x/deep/er/large.bin")).unwrap(), vec![7; 9 << 20]);
    assert!(text(&other, "household/later.md").is_empty());
    let names = aside(&other.join("workspace/household"), "");
    assert_eq!(names, ["menu.md"], "neither links nor pipes");
    assert_eq!(fs::read_to_string(other.join("workspace.before-restore.1/household/later.md")).unwrap(), "later");
    second.start_again();
    second.assert_alive();
}

#[test]
fn a_damaged_backup_changes_no_file() {
    let mut daemon = Hob::start();
    put(&daemon.data(), "household/large.bin", &vec![7; 2 << 20]);
    let file = daemon.folder.path("with.hob");
    daemon.cli(&["backup", file.to_str().unwrap()]).ok();
    assert_eq!(daemon.stop(), Some(0));
    put(&daemon.data(), "household/large.bin", b"now");
    let bytes = fs::read(&file).unwrap();
    let at = bytes.windows(4096).position(|window| window.iter().all(|byte| *byte == 7)).unwrap();
    let mut bent = bytes.clone();
    bent[at + 2000] ^= 1;
    for damaged in [&bent[..], &bytes[..bytes.len() / 2]] {
        fs::write(&file, damaged).unwrap();
        let why = hob(&daemon.data(), &["restore", file.to_str().unwrap()]).why(1);
        assert!(why.contains("nothing was changed"), "{why}");
        assert_eq!(text(&daemon.data(), "household/large.bin"), "now");
        assert!(aside(&daemon.data(), "workspace.").is_empty(), "{:?}", aside(&daemon.data(), "workspace."));
    }
    daemon.start_again();
    daemon.assert_alive();
}

#[test]
fn a_kill_of_a_restore_leaves_the_old_data_and_files_or_the_new_ones() {
    let (kills, mut daemon, mut dice) = (number("BACKUP_KILLS").unwrap_or(8), Hob::start(), dice("restores"));
    let data = daemon.data();
    let set = |daemon: &Hob, word: &str| {
        daemon.result("set_state", json!({"key": "word", "value": word}));
        put(&data, "household/word.txt", word.as_bytes());
    };
    (0..200).for_each(|n| put(&data, &format!("people/x/{n}.txt"), &vec![b'x'; 20_000]));
    set(&daemon, "backup");
    let file = daemon.folder.path("with.hob");
    daemon.cli(&["backup", file.to_str().unwrap()]).ok();
    let (mut old, mut new) = (0, 0);
    for round in 0..kills {
        set(&daemon, "now");
        assert_eq!(daemon.stop(), Some(0));
        let mut command = Command::new(binary());
        command.env_clear().arg("--data").arg(&data).args(["restore", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(Duration::from_millis(dice.below(700)));
        let _ = child.kill();
        child.wait().unwrap();
        daemon.start_again();
        let word: Value = daemon.result("get_state", json!({"key": "word"}))["value"].clone();
        assert_eq!(word, text(&data, "household/word.txt").as_str(), "round {round}");
        assert_eq!(fs::read_dir(data.join("workspace/people/x")).unwrap().count(), 200, "round {round}");
        let left = [aside(&data, "workspace.part"), aside(&data, "workspace.restored")].concat();
        assert!(left.is_empty(), "round {round}: {left:?}");
        let counted = if word == "now" { &mut old } else { &mut new };
        *counted += 1;
    }
    println!("{old} times the old data and files, {new} times the new ones");
    daemon.assert_alive();
}
