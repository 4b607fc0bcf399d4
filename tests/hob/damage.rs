//! Damaged, missing or exposed data: found, named, refused, and never made worse.

use crate::{
    harness::{Dice, Folder, Hob, Setup, binary, hob, hob_with, run},
    visitor::{Visitor, code},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

const SERVE: [&str; 5] = ["serve", "--board", "sim", "--listen", "127.0.0.1:0"];

/// The one-line error of a command that refuses the data.
fn refused(data: &Path, arguments: &[&str]) -> String {
    hob_with(data, arguments, &[("HOB_LOG", "off")], "").why(1)
}

fn send(hob: &Hob, bytes: &[u8]) -> String {
    let request = hob.admin("POST", "/api/v1/files").header("content-type", "text/plain");
    request.body(bytes.to_vec()).send().data(201)["id"].as_str().unwrap().to_owned()
}

/// Every file of a folder with its bytes, except the socket.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.symlink_metadata().unwrap().is_dir() {
            true => all.extend(contents(&path)),
            false => all.push((path.clone(), fs::read(&path).unwrap_or_default())),
        }
    }
    all.sort();
    all
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_missing_or_empty_data_file_is_damage_and_nothing_is_deleted() {
    let mut daemon = Hob::start();
    let id = send(&daemon, b"the only copy");
    let backup = daemon.folder.path("backup.hob");
    daemon.cli(&["backup", backup.to_str().unwrap()]).ok();
    assert_eq!(daemon.stop(), Some(0));
    let (data, file) = (daemon.data(), daemon.data().join("hob.redb"));
    let refused_and_left = || {
        let before = contents(&data);
        for arguments in [&SERVE[..], &["chat", "hello"], &["doctor"]] {
            let why = refused(&data, arguments);
            assert!(why.contains("hob.redb") && why.contains("hob restore FILE"), "{arguments:?}: {why}");
            assert!(why.contains("start anew"), "{arguments:?}: {why}");
            assert!(contents(&data) == before, "{arguments:?} changed something");
        }
    };
    for empty in [false, true] {
        match empty {
            true => fs::write(&file, "").unwrap(),
            false => fs::remove_file(&file).unwrap(),
        }
        refused_and_left();
        // What people sent is as good a trace as the key.
        let key = fs::read(data.join("device.key")).unwrap();
        fs::remove_file(data.join("device.key")).unwrap();
        refused_and_left();
        fs::write(data.join("device.key"), key).unwrap();
        set_mode(&data.join("device.key"), 0o600);
    }
    // A card that is not mounted.
    fs::remove_file(&file).unwrap();
    symlink("/nonexistent/hob.redb", &file).unwrap();
    refused_and_left();
    fs::remove_file(&file).unwrap();

    hob(&data, &["restore", backup.to_str().unwrap()]).ok();
    daemon.start_again();
    assert_eq!(daemon.get(&format!("/api/v1/files/{id}")).text(), "the only copy");
}

#[test]
fn an_overwritten_log_is_refused_and_left() {
    let mut daemon = Hob::start();
    for n in 0..3 {
        daemon.result("add_note", json!({"title": format!("note {n}"), "content": "in the log alone"}));
    }
    daemon.kill();
    let (data, log) = (daemon.data(), daemon.data().join("hob.wal"));
    let whole = fs::read(&log).unwrap();
    let mut dice = Dice::fresh();
    for bytes in [vec![0; whole.len()], (0..whole.len()).map(|_| dice.below(256) as u8).collect()] {
        fs::write(&log, &bytes).unwrap();
        let before = contents(&data);
        for arguments in [&SERVE[..], &["chat", "hello"]] {
            let why = refused(&data, arguments);
            assert!(why.contains("hob.wal was overwritten") && why.contains("hob restore FILE"), "{why}");
        }
        let doctor = hob(&data, &["doctor"]);
        assert!(doctor.code == Some(1) && doctor.out.contains("hob.wal was overwritten"), "{doctor:?}");
        assert!(contents(&data) == before, "something was changed");
    }
    fs::write(&log, whole).unwrap();
    daemon.start_again();
    let found = daemon.result("list_notes", json!({"search": "in the log alone"})).to_string();
    assert!((0..3).all(|n| found.contains(&format!("note {n}"))), "{found}");
}

#[test]
fn a_first_start_that_was_cut_begins_again() {
    // Every state a cut can leave before the data file has its name.
    let states: [&[&str]; 5] =
        [&[], &["hob.redb.new-1"], &["hob.toml"], &["hob.redb.new-1", "hob.toml"], &["hob.redb.new-1", "claim-code"]];
    for left in states {
        let folder = Folder::new();
        let data = folder.path("data");
        fs::create_dir(&data).unwrap();
        for name in left {
            fs::write(data.join(name), "").unwrap();
        }
        let mut daemon = Hob::over(folder, Setup::default());
        daemon.assert_alive();
        assert!(!data.join("hob.redb.new-1").exists(), "{left:?}");
        // After the data file came the key: without it nothing is sealed yet.
        assert_eq!(daemon.stop(), Some(0));
        fs::remove_file(data.join("device.key")).unwrap();
        daemon.start_again();
        daemon.assert_alive();
    }
    // And cut at any moment of it.
    let mut dice = Dice::fresh();
    for _ in 0..20 {
        let folder = Folder::new();
        let mut command = Command::new(crate::harness::binary());
        command.env_clear().arg("--data").arg(folder.path("data")).args(SERVE);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        thread::sleep(std::time::Duration::from_millis(dice.below(120)));
        child.kill().unwrap();
        child.wait().unwrap();
        Hob::over(folder, Setup::default()).assert_alive();
    }
}

#[test]
fn files_of_unknown_origin_stay_and_links_are_not_followed() {
    let mut daemon = Hob::start();
    let id = send(&daemon, b"known");
    let uploads = daemon.data().join("uploads");
    let outside = daemon.folder.path("outside");
    fs::write(&outside, "nobody asked for this").unwrap();
    let (stranger, link) = (uploads.join(new_id(1)), uploads.join(new_id(2)));
    let half_link = uploads.join(format!("{}.half", new_id(3)));
    fs::write(&stranger, "of unknown origin").unwrap();
    symlink(&outside, &link).unwrap();
    symlink(&outside, &half_link).unwrap();
    fs::write(uploads.join(format!("{}.half", new_id(4))), "half").unwrap();
    fs::write(uploads.join("letter.half"), "not of our naming").unwrap();
    for _ in 0..2 {
        assert_eq!(daemon.stop(), Some(0));
        daemon.start_again();
    }
    assert_eq!(fs::read_to_string(&stranger).unwrap(), "of unknown origin");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "nobody asked for this");
    assert!(link.is_symlink() && half_link.is_symlink() && uploads.join("letter.half").exists());
    assert!(!uploads.join(format!("{}.half", new_id(4))).exists(), "half of an upload goes");

    // A file that became a link is not read, neither for its person nor for a backup.
    let (known, aside) = (uploads.join(&id), daemon.folder.path("aside"));
    fs::rename(&known, &aside).unwrap();
    symlink(&outside, &known).unwrap();
    let reply = daemon.get(&format!("/api/v1/files/{id}"));
    assert!(reply.status >= 400 && !reply.text().contains("nobody asked"), "{} {}", reply.status, reply.text());
    let backup = daemon.folder.path("backup.hob");
    daemon.cli(&["backup", backup.to_str().unwrap()]).ok();
    assert!(!fs::read(&backup).unwrap().windows(12).any(|w| w == b"nobody asked"));
    daemon.admin("DELETE", &format!("/api/v1/files/{id}")).send().data(200);
    assert!(outside.exists(), "the target of a link is nobody's to delete");
}

fn new_id(n: u8) -> String {
    format!("0199b6a0-0000-7000-8000-0000000000{n:02x}")
}

#[test]
fn what_is_open_to_others_is_closed_or_refused() {
    let mut daemon = Hob::start();
    send(&daemon, b"private");
    assert_eq!(daemon.stop(), Some(0));
    let data = daemon.data();
    let uploads = data.join("uploads");
    let sent = fs::read_dir(&uploads).unwrap().next().unwrap().unwrap().path();
    for open in [0o777, 0o750, 0o701] {
        set_mode(&data, open);
        set_mode(&uploads, open);
        [data.join("hob.redb"), data.join("hob.toml"), sent.clone()].iter().for_each(|file| set_mode(file, 0o666));
        daemon.start_again();
        daemon.assert_alive();
        assert_eq!((mode(&data), mode(&uploads)), (0o700, 0o700));
        assert_eq!([&data.join("hob.redb"), &data.join("hob.toml"), &sent].map(|file| mode(file)), [0o600; 3]);
        assert!(daemon.log().contains("open to other users"), "{}", daemon.log());
        assert_eq!(daemon.stop(), Some(0));
    }
    // A folder of something else is neither taken over nor closed to those who use it.
    let folder = Folder::new();
    let (other, sticky) = (folder.path("other"), folder.path("sticky"));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letters"), "of somebody").unwrap();
    fs::create_dir(&sticky).unwrap();
    for (path, wide) in [(&other, 0o755), (&sticky, 0o1777)] {
        set_mode(path, wide);
        let why = refused(path, &SERVE);
        assert!(why.contains("--data DIR") && why.contains("other"), "{why}");
        assert_eq!(mode(path), wide & 0o777);
    }
    if rustix::process::getuid().is_root() {
        let theirs = folder.path("theirs");
        fs::create_dir(&theirs).unwrap();
        set_mode(&theirs, 0o777);
        std::os::unix::fs::chown(&theirs, Some(65534), None).unwrap();
        let why = refused(&theirs, &SERVE);
        assert!(why.contains("another user") && why.contains("--data DIR"), "{why}");
        assert_eq!(mode(&theirs), 0o777);
    }
}

#[test]
fn commands_read_plain_files_and_wait_for_no_pipe() {
    let folder = Folder::new();
    let (data, pipe, inside) = (folder.path("data"), folder.path("pipe"), folder.path("folder"));
    mkfifo(&pipe);
    fs::create_dir(&inside).unwrap();
    hob(&data, &["call", "calculate", "{\"expression\": \"1+1\"}"]).ok();
    for odd in [pipe.to_str().unwrap(), inside.to_str().unwrap(), "/dev/zero", "/dev/null"] {
        let why = refused(&data, &["restore", odd]);
        assert!(why.contains(odd) && why.contains("not a plain file"), "{why}");
        let why = refused(&data, &["backup", odd]);
        assert!(why.contains(odd) && why.contains("exists already"), "{why}");
        let why = refused(&data, &["--config", odd, "doctor"]);
        assert!(why.contains(odd) && why.contains("not a plain file"), "{why}");
        let why = refused(&data, &["doctor", "--backup", odd]);
        assert!(why.contains(odd) && why.contains("not a plain file"), "{why}");
        for variable in ["HOB_CLAIM_FILE", "HOB_TOKEN_FILE"] {
            let why = hob_with(&data, &SERVE, &[("HOB_LOG", "off"), (variable, odd)], "").why(1);
            assert!(why.contains(odd) && why.contains("not a"), "{why}");
        }
    }
    for name in ["hob.toml", "device.key", "hob.redb"] {
        let (path, kept) = (data.join(name), folder.path("kept"));
        let there = path.exists();
        if there {
            fs::rename(&path, &kept).unwrap();
        }
        mkfifo(&path);
        let why = refused(&data, &SERVE);
        assert!(why.contains(name) && why.contains("not a plain file"), "{why}");
        fs::remove_file(&path).unwrap();
        if there {
            fs::rename(&kept, &path).unwrap();
        }
    }
    hob(&data, &["doctor"]).ok();
}

/// A stopped Hob with records of several kinds, and a backup of them.
fn household() -> (Hob, PathBuf) {
    let mut daemon = Hob::start();
    for n in 0..40 {
        let content = format!("Entry {n}: the {n} jars of jam stand on shelf number {}", n * 7);
        daemon.result("add_note", json!({"title": format!("Pantry {n}"), "content": content}));
        daemon.result("add_task", json!({"title": format!("Count the jars {n}")}));
    }
    daemon.say("remember that the pantry key hangs behind the door");
    let backup = daemon.folder.path("backup.hob");
    daemon.cli(&["backup", backup.to_str().unwrap()]).ok();
    assert_eq!(daemon.stop(), Some(0));
    (daemon, backup)
}

/// People's records, as the API returns them.
fn told(data: &Path) -> Vec<Value> {
    let call = |tool: &str, arguments: &str| {
        let told = hob(data, &["call", tool, arguments, "--json"]).ok();
        let mut told: Value = serde_json::from_str(&told).unwrap();
        told["result"].take()
    };
    vec![
        call("list_notes", "{\"limit\": 100}"),
        call("list_tasks", "{\"limit\": 100}"),
        call("recall", "{\"query\": \"pantry key\"}"),
    ]
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    set_mode(to, 0o700);
    for name in ["hob.redb", "device.key"] {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing() {
    let (daemon, _) = household();
    let good = fs::read(daemon.data().join("hob.redb")).unwrap();
    let seed = Dice::fresh().0;
    let mut dice = Dice(seed);
    // Where something is written: zeros are mostly pages nobody uses yet.
    let written: Vec<usize> = (0..good.len()).filter(|at| good[*at] != 0).collect();
    let flips: Vec<(usize, u8)> =
        (0..220).map(|_| (written[dice.below(written.len() as u64) as usize], 1 << dice.below(8))).collect();
    let expected = {
        let folder = Folder::new();
        copy_folder(&daemon.data(), &folder.path("data"));
        told(&folder.path("data"))
    };
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((at, bit)) = flips.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let folder = Folder::new();
                    let data = folder.path("data");
                    copy_folder(&daemon.data(), &data);
                    let mut bytes = good.clone();
                    bytes[*at] ^= bit;
                    fs::write(data.join("hob.redb"), bytes).unwrap();
                    match hob(&data, &["doctor"]).code {
                        Some(0) => {
                            assert!(told(&data) == expected, "byte {at}, bit {bit} changed in silence, seed {seed}")
                        }
                        Some(1) => drop(found.fetch_add(1, Ordering::Relaxed)),
                        other => panic!("the doctor ended with {other:?} at byte {at}, bit {bit}"),
                    }
                }
            });
        }
    });
    let found = found.into_inner();
    println!("{found} of {} flips were found; the others changed nothing", flips.len());
    assert!(found > flips.len() / 10, "a doctor that finds nothing: {found}");
}

#[test]
fn the_doctor_names_a_damaged_record_and_the_backup_that_has_it() {
    let (mut daemon, backup) = household();
    let told = daemon.cli(&["doctor"]).ok();
    assert!(told.contains("file     every page is sound") && told.contains("data     "), "{told}");
    let file = daemon.data().join("hob.redb");
    let id = damage_record(&file, "notes", b"Entry 7: the 7 jars");
    let ran = daemon.cli(&["doctor", "--backup", backup.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("notes") && ran.out.contains(&id) && ran.out.contains("checksum"), "{ran:?}");
    assert!(ran.out.contains(&format!("a good copy is in {}", backup.display())), "{ran:?}");
    // The others are there, and the daemon says the same.
    daemon.start_again();
    let notes = daemon.result("list_notes", json!({"limit": 100}));
    let notes = notes.to_string();
    assert!(notes.contains("Entry 8:") && !notes.contains("Entry 7:"), "{notes}");
    let ran = daemon.cli(&["doctor"]);
    assert!(ran.code == Some(1) && ran.out.contains(&id), "{ran:?}");
    let check = daemon.post("/api/v1/check", json!({})).data(200);
    assert_eq!(check["damaged"].as_array().unwrap().len(), 1, "{check}");
    assert_eq!(check["damaged"][0]["table"], "notes");
    assert!(daemon.log().contains(&id), "{}", daemon.log());
}

/// Changes a character of a record as a flipped bit does that redb wrote again with the rest of its page; gives its id.
fn damage_record(file: &Path, table: &str, mark: &[u8]) -> String {
    let table: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new(table);
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_write().unwrap();
    let mut id = String::new();
    {
        let mut table = tx.open_table(table).unwrap();
        let rows: Vec<(Vec<u8>, Vec<u8>)> = redb::ReadableTable::iter(&table)
            .unwrap()
            .map(|row| row.map(|(k, v)| (k.value().to_vec(), v.value().to_vec())).unwrap())
            .collect();
        for (key, mut value) in rows {
            if let Some(at) = value.windows(mark.len()).position(|w| w == mark) {
                value[at + mark.len() - 1] ^= 1;
                table.insert(&key[..], &value[..]).unwrap();
                let hex: String = key[key.len() - 16..].iter().map(|b| format!("{b:02x}")).collect();
                id = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
            }
        }
    }
    tx.commit().unwrap();
    assert!(!id.is_empty());
    id
}

#[test]
fn a_damaged_value_is_not_taken_for_none() {
    let mut daemon = Hob::start();
    daemon.call("set_state", json!({"key": "door", "value": "closed at nine"})).data(200);
    assert_eq!(daemon.stop(), Some(0));
    damage_record(&daemon.data().join("hob.redb"), "state", b"closed at nine");
    daemon.start_again();
    let why = String::from_utf8(daemon.call("get_state", json!({"key": "door"})).body).unwrap();
    assert!(why.contains("is damaged and cannot be read: set it again"), "{why}");
    assert!(daemon.result("get_state", json!({"key": "window"}))["value"].is_null());
    // The way out that the message names.
    daemon.call("set_state", json!({"key": "door", "value": "open"})).data(200);
    assert_eq!(daemon.result("get_state", json!({"key": "door"}))["value"], "open");
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_kills_nobody() {
    let mut daemon = Hob::start();
    let backup = daemon.folder.path("backup.hob");
    assert_eq!(daemon.stop(), Some(0));
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 20; exec \"$0\" \"$@\""]).arg(binary());
    command.arg("--data").arg(daemon.data()).arg("backup").arg(&backup);
    let ran = run(command, "");
    assert_eq!(ran.code, Some(1), "a signal ended it: {ran:?}");
    assert!(ran.err.contains("disk is full"), "{ran:?}");
    daemon.start_again();
}

#[test]
fn a_damaged_person_gives_the_device_to_nobody_else() {
    let mut daemon = Hob::with(Setup { claimed: false, ..Setup::default() });
    let body = json!({"code": code(&daemon), "person": "Ana", "password": "correct horse battery"});
    Visitor::new(&daemon).claim(&body).data(200);
    assert_eq!(daemon.stop(), Some(0));
    // Her record, and her session: nobody has a way in that can be read.
    let file = daemon.data().join("hob.redb");
    damage_record(&file, "people", b"Ana");
    delete_table(&file, "credentials");
    daemon.start_again();
    assert!(!daemon.data().join("claim-code").exists(), "{}", daemon.log());
    let why = Visitor::new(&daemon)
        .claim(&json!({"code": "0000-0000-0000", "person": "Eve"}))
        .refusal(409, "already_claimed");
    assert!(!why.is_empty());
    let ran = daemon.cli(&["doctor"]);
    assert!(ran.code == Some(1) && ran.out.contains("people"), "{ran:?}");
}

fn delete_table(file: &Path, table: &str) {
    let table: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new(table);
    let db = redb::Database::open(file).unwrap();
    let tx = db.begin_write().unwrap();
    tx.delete_table(table).unwrap();
    tx.commit().unwrap();
}
