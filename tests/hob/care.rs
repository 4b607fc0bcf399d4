//! Care of the device: backups under a passphrase and by themselves, the doctor, the support bundle, and a clean end before the
//! power is gone.

use crate::{
    harness::{Dice, Folder, Hob, Setup, hob, hob_with, run, until},
    http::{Reply, read_status},
    pty::Terminal,
    supervised::{Start, Supervised},
    visitor::{Visitor, code},
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

const PASSPHRASE: &str = "correct horse báttery";
const PASSWORD: &str = "correct horse battery";
const SECRET: &str = "wx-9f27c1-planted-secret";
const RESTORE: &str = "/api/v1/restore";

/// A claimed device with something of each kind in it.
fn lived_in() -> Hob {
    let hob = Hob::over(Folder::new(), Setup { claimed: false, ..Setup::default() });
    let mut anna = Visitor::new(&hob);
    anna.claim(&json!({"code": code(&hob), "person": "Annika", "password": PASSWORD})).data(200);
    anna.send("POST", "/chat", json!({"message": "remember that the spice is tarragon"})).data(200);
    let entry = json!({"service": "weather", "fields": {"api_key": SECRET}, "create": true});
    let set = json!({"arguments": entry});
    anna.send("POST", "/tools/config_set_entry/execute", set).data(200);
    hob
}

fn signed_in(hob: &Hob) -> Visitor {
    let mut anna = Visitor::new(hob);
    anna.sign_in(&json!({"person": "annika", "password": PASSWORD})).data(200);
    anna
}

/// That everything is here: the person with the password, what was said, and the key of the service.
fn assert_lived_in(hob: &Hob) {
    let anna = signed_in(hob);
    let told = anna.send("POST", "/chat", json!({"message": "what is the spice?"})).data(200);
    assert!(told["response"].as_str().unwrap().contains("tarragon"), "{told}");
    let service = anna.get("/config-services/weather").data(200);
    assert_eq!(service["entries"][0]["secretsSet"], json!(["api_key"]), "{service}");
    let code = "return utils.getServiceConfig('weather').api_key.startsWith('HOBSECRET_')";
    let draft = json!({"name": "trial", "description": "For a test.", "parameters": {"type": "object", "properties": {}},
                       "code": code});
    let ran = anna.send("POST", "/custom-tools/test", draft).data(200);
    assert_eq!(ran["result"], true, "the key can be used: {ran}");
}

fn percent(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

#[test]
fn an_encrypted_backup_brings_everything_to_a_new_device() {
    let first = lived_in();
    let (file, words) = (first.folder.path("backup.hob.age"), first.folder.path("words"));
    fs::write(&words, format!("{PASSPHRASE}\n")).unwrap();
    let (path, words) = (file.to_str().unwrap(), words.to_str().unwrap());
    let told = first.cli(&["backup", path, "--passphrase-file", words]).ok();
    assert!(told.contains("encrypted") && told.contains("keep the passphrase"), "{told}");
    let bytes = fs::read(&file).unwrap();
    assert!(bytes.starts_with(b"age-encryption.org/v1\n") && !has(&bytes, SECRET) && !has(&bytes, "tarragon"));

    // By the command line, on a device that has never been started.
    let folder = Folder::new();
    let data = folder.path("data");
    let why = hob(&data, &["restore", path]).why(1);
    assert!(why.contains("is encrypted") && why.contains("--passphrase-file"), "{why}");
    let why = hob_with(&data, &["restore", path, "--passphrase-file", "-"], &[], "not the words\n").why(1);
    assert!(why.contains("the passphrase is wrong") && why.contains("Nothing was changed"), "{why}");
    hob_with(&data, &["restore", path, "--passphrase-file", "-"], &[], &format!("{PASSPHRASE}\n")).ok();
    let copy = Hob::over(folder, Setup { claimed: false, ..Setup::default() });
    assert_lived_in(&copy);

    // By the page of a running one.
    let mut other = Hob::start();
    other.result("remember", json!({"content": "the spice is saffron"}));
    let send = |passphrase: Option<&str>, body: &[u8]| -> Reply {
        let request = other.admin("POST", RESTORE).body(body.to_vec());
        match passphrase {
            Some(passphrase) => request.header("X-Backup-Passphrase", &percent(passphrase)).send(),
            None => request.send(),
        }
    };
    let half = &bytes[..bytes.len() / 2];
    let mut bent = bytes.clone();
    bent[bytes.len() / 2] ^= 1;
    for (passphrase, body, code, part) in [
        (None, &bytes[..], "passphrase_needed", "give the passphrase"),
        (Some("not the words"), &bytes, "wrong_passphrase", "wrong"),
        (Some(PASSPHRASE), half, "failed", "changed or damaged"),
        (Some(PASSPHRASE), &bent, "failed", "changed or damaged"),
    ] {
        let why = send(passphrase, body).refusal(422, code);
        assert!(why.contains(part) && why.contains("Nothing was changed"), "{why}");
        let left = fs::read_dir(other.data()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.starts_with("restore")).count(), 0);
    }
    let before = other.get("/api/v1/device").data(200)["startedAt"].as_u64();
    send(Some(PASSPHRASE), &bytes).data(202);
    until("another start", || {
        let reply = other.admin("GET", "/api/v1/device").try_send();
        reply.is_ok_and(|reply| reply.status == 200 && reply.data(200)["startedAt"].as_u64() != before)
    });
    assert_lived_in(&other);
    assert_eq!(other.stop(), Some(0));
}

#[test]
fn the_program_age_opens_a_backup() {
    if ["age", "script"].iter().any(|program| Command::new(program).arg("--version").output().is_err()) {
        eprintln!("skipped: the program `age` or `script` is not installed");
        return;
    }
    let hob = Hob::start();
    let reply = hob.post("/api/v1/backup", json!({"passphrase": PASSPHRASE}));
    assert_eq!(reply.header("content-disposition"), Some("attachment; filename=\"backup.hob.age\""));
    let file = hob.folder.path("b.age");
    fs::write(&file, &reply.body).unwrap();
    // age asks at a terminal, which `script` is.
    let plain = hob.folder.path("plain");
    let mut command = Command::new("script");
    command.args(["-qec", &format!("age -d -o {} {}", plain.display(), file.display()), "/dev/null"]);
    let ran = run(command, &format!("{PASSPHRASE}\n"));
    let bytes = fs::read(&plain).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert!(has(&bytes[bytes.len() - 8..], "HOB-KEY"));
    // What it gives can be restored as it is.
    let folder = Folder::new();
    crate::harness::hob(&folder.path("data"), &["restore", plain.to_str().unwrap()]).ok();
}

#[test]
fn passphrases_are_checked_and_without_one_no_secret_leaves() {
    let hob = Hob::start();
    hob.result("config_set_entry", json!({"service": "weather", "fields": {"api_key": SECRET}, "create": true}));
    let why = hob.post("/api/v1/backup", json!({"passphrase": "short"})).refusal(400, "bad_args");
    assert!(why.contains("at least 8"), "{why}");
    let why = hob.post("/api/v1/backup", json!({"pass": "x"})).refusal(400, "bad_args");
    assert!(why.contains("pass"), "{why}");
    let plain = hob.admin("POST", "/api/v1/backup").send();
    assert!(plain.status == 200 && !has(&plain.body, SECRET));
    let last = hob.get("/api/v1/backup").data(200)["last"].clone();
    assert!(last["at"].as_u64().is_some());
    assert_eq!((&last["encrypted"], &last["size"]), (&json!(false), &json!(plain.body.len())));
    let member = hob.token("eve", "member");
    for (method, path) in [
        ("GET", "/api/v1/backup"),
        ("PUT", "/api/v1/backup/plan"),
        ("POST", "/api/v1/backup/run"),
        ("GET", "/api/v1/doctor"),
        ("POST", "/api/v1/support"),
    ] {
        let request = hob.request(method, path).bearer(&member);
        let request = if method == "PUT" { request.json(&json!({"every": "day"})) } else { request };
        request.send().refusal(403, "denied");
    }
}

#[test]
fn planned_backups_go_where_they_should_and_say_when_they_fail() {
    let mut hob = Hob::start();
    let stick = hob.folder.path("stick");
    let plan = |body: Value| hob.admin("PUT", "/api/v1/backup/plan").json(&body).send();
    let path = stick.to_str().unwrap();
    let why = plan(json!({"every": "day", "folder": path})).refusal(409, "unavailable");
    assert!(why.contains("plug the disk in"), "{why}");
    plan(json!({"every": "day", "folder": "stick"})).refusal(400, "bad_args");
    plan(json!({"every": "fortnight"})).refusal(400, "bad_args");
    fs::create_dir(&stick).unwrap();
    let view = plan(json!({"every": "week", "folder": path, "keep": 2, "passphrase": PASSPHRASE})).data(200);
    let expected = json!({"every": "week", "folder": path, "keep": 2, "hour": 3, "encrypted": true, "files": true});
    assert_eq!(view["plan"], expected);
    assert!(view["next"].as_u64().is_some() && view["last"].is_null() && !view.to_string().contains("horse"));
    let view = hob.post("/api/v1/backup/run", json!({})).data(200);
    let made = view["last"]["path"].as_str().unwrap().to_owned();
    assert!(made.starts_with(path) && store_is_encrypted(Path::new(&made)), "{made}");
    // The plan and its passphrase outlast a restart.
    assert_eq!(hob.stop(), Some(0));
    hob.start_again();
    fs::remove_dir_all(&stick).unwrap();
    let why = hob.post("/api/v1/backup/run", json!({})).refusal(409, "unavailable");
    assert!(why.contains("there is no folder"), "{why}");
    let view = hob.get("/api/v1/backup").data(200);
    assert!(view["problem"].as_str().unwrap().contains("there is no folder"), "{view}");
    let ran = hob.cli(&["doctor"]);
    assert!(ran.code == Some(1) && ran.out.contains("backup   Wrong: The last backup failed."), "{ran:?}");
    assert!(ran.out.contains("To do: there is no folder") && ran.err.contains("backup"), "{ran:?}");
    // Back again, it goes on; the file restores.
    fs::create_dir(&stick).unwrap();
    let view = hob.post("/api/v1/backup/run", json!({})).data(200);
    assert!(view["problem"].is_null());
    let file = view["last"]["path"].as_str().unwrap().to_owned();
    let folder = Folder::new();
    hob_with(&folder.path("data"), &["restore", &file, "--passphrase-file", "-"], &[], &format!("{PASSPHRASE}\n")).ok();
    assert!(!hob.log().contains("horse"));
}

#[test]
fn under_systemd_an_unwritable_folder_names_the_setting_of_the_unit() {
    // As systemd tells its services. Nobody makes files there, not even root.
    let environment = vec![("INVOCATION_ID".to_owned(), "0".repeat(32))];
    let hob = Hob::with(Setup { environment, ..Setup::default() });
    let folder = "/sys/kernel";
    let why = hob.admin("PUT", "/api/v1/backup/plan").json(&json!({"every": "day", "folder": folder})).send();
    let why = why.refusal(409, "unavailable");
    assert!(why.contains("`systemctl edit hob`") && why.contains("`ReadWritePaths=-/sys/kernel`"), "{why}");
    let other = Hob::start();
    let why = other.admin("PUT", "/api/v1/backup/plan").json(&json!({"every": "day", "folder": folder})).send();
    let why = why.refusal(409, "unavailable");
    assert!(why.contains("change its owner") && !why.contains("systemctl"), "{why}");
}

#[test]
fn a_button_that_cannot_switch_the_device_off_is_said_by_the_doctor() {
    let doctor = |config: &str| {
        let hob = Hob::with(Setup { config: config.to_owned(), ..Setup::default() });
        hob.get("/api/v1/doctor").data(200)["checks"].clone()
    };
    let off = |checks: &Value| checks.as_array().unwrap().iter().find(|check| check["name"] == "off").cloned();
    assert_eq!(off(&doctor("")), None, "there is no button");
    assert_eq!(off(&doctor("[power]\nshutdown_pin = 3\noff_command = \"systemctl poweroff\"\n")), None);
    let told = off(&doctor("[power]\nshutdown_pin = 3\n"));
    // Root may do it.
    assert_eq!(told.is_none(), rustix::process::getuid().is_root(), "{told:?}");
    if let Some(told) = told {
        assert_eq!(told["outcome"], "careful");
        assert!(
            told["text"].as_str().unwrap().contains("the device stays on")
                && told["todo"].as_str().unwrap().contains("off_command")
        );
    }
}

fn store_is_encrypted(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"age-encryption.org/v1\n"))
}

#[test]
fn the_doctor_speaks_plainly() {
    let hob = Hob::start();
    let out = hob.cli(&["doctor"]).ok();
    for part in [
        "clock    It is ",
        "disk     ",
        "card     Hob wrote ",
        "power    The voltage is right.",
        "network  Only this device reaches Hob",
        "claimed  The device has an owner.",
        "programs Programs run apart from everything else: namespaces, files, system calls, rights, limits",
        "backup   Careful: There is no backup yet.",
        "         To do: download one on the page",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let data = hob.get("/api/v1/doctor").data(200);
    assert_eq!(data["well"], true, "{data}");
    assert!(data["writes"]["say"].as_str().unwrap().starts_with("Hob wrote"), "{data}");
    let checks = data["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["name"] == "answers" && check["outcome"] == "well"), "{data}");
}

#[test]
fn a_support_bundle_holds_no_secrets_and_no_people() {
    let config = "home = \"Wistariahof\"\n[pins]\n\"Persephone's lamp\" = 17\n[services.calendar]\napi_key = \"cal-planted-7714-secret\"\n".to_owned();
    let environment = vec![("HOB_LOG".to_owned(), "debug,hyper=off,mio=off".to_owned())];
    let hob = Hob::with(Setup { config, environment, ..Setup::default() });
    hob.result("config_set_entry", json!({"service": "weather", "fields": {"api_key": SECRET}, "create": true}));
    let token = hob.token("Zebulon", "member");
    for text in [
        "remember that the hiding place is under the rhododendron",
        "add quinoa to the shopping list",
        "my password is hunter2-planted",
    ] {
        hob.say(text);
    }
    hob.result(
        "add_contact",
        json!({"name": "Ottoline Featherstone", "phone": "+43 664 9988776", "email": "ottoline@example.org"}),
    );
    hob.result("add_note", json!({"title": "Diary", "content": "met Bartholomew at the quay"}));
    // A crash whose message quotes what was being read.
    let crash = hob.data().join("crash");
    fs::create_dir(&crash).unwrap();
    let text = "hob 0.1.0\npanicked at src/x.rs:1:2:\nbyte index 1 is inside the text of Bartholomew: rhododendron\n   0: hob::main\n";
    fs::write(crash.join("01890000-0000-7000-8000-000000000001.txt"), text).unwrap();
    // And one of everything in the log, as a careless program would write it.
    hob.get("/api/v1/conversations?query=rhododendron").data(200);
    let file = hob.folder.path("support.txt");
    let told = hob.cli(&["support", file.to_str().unwrap()]).ok();
    assert!(told.contains("read it before you send it"), "{told}");
    assert!(hob.cli(&["support", file.to_str().unwrap()]).why(1).contains("exists already"));
    let text = fs::read_to_string(&file).unwrap();
    for absent in [
        SECRET,
        "7714",
        &token,
        "hunter2",
        "rhododendron",
        "quinoa",
        "Zebulon",
        "zebulon",
        "Ottoline",
        "Featherstone",
        "9988776",
        "example.org",
        "Bartholomew",
        "quay",
        "Persephone",
        "Wistariahof",
        crate::harness::TOKEN,
    ] {
        assert!(!text.contains(absent), "{absent} is in it:\n{text}");
    }
    for present in [
        "version  0.1.0",
        "pins     sim",
        "claimed  The device has an owner.",
        "home = (set)",
        "services.* = (1 entries)",
        "hob.redb",
        "contacts",
        "panicked at src/x.rs:1:2:",
        "0: hob::main",
        "ready",
    ] {
        assert!(text.contains(present), "{present} is missing:\n{text}");
    }
    assert!(text.len() < 1 << 20);
}

/// A daemon whose simulated board does what is written to a named pipe.
fn with_power(config: &str) -> (Hob, fs::File) {
    let folder = Folder::new();
    let pipe = folder.path("scenario");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let end = folder.path("switched-off");
    let config = format!(
        "[power]\noff_command = \"touch {}\"\n{config}\n[sim]\nscenario = {:?}\n",
        end.display(),
        pipe.to_str().unwrap()
    );
    let hob = Hob::over(folder, Setup { config, ..Setup::default() });
    let pipe = fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap();
    (hob, pipe)
}

fn happens(mut pipe: &fs::File, lines: &str) {
    std::io::Write::write_all(&mut pipe, lines.as_bytes()).unwrap();
}

#[test]
fn a_button_that_is_held_and_mains_that_stay_away_end_hob_cleanly() {
    for (config, early, late) in [
        ("shutdown_pin = 3\nhold_seconds = 1", "high 3\nwait 300\nlow 3\nwait 300\nhigh 3\n", "wait 200\nlow 3\n"),
        (
            "fail_pin = 4\nfail_level = \"high\"\nfail_seconds = 1",
            "low 4\nwait 300\nhigh 4\nwait 300\nlow 4\n",
            "wait 200\nhigh 4\n",
        ),
    ] {
        let (mut hob, pipe) = with_power(config);
        hob.result("remember", json!({"content": "the word is tarragon", "tags": ["power"]}));
        happens(&pipe, early);
        until("the first press", || hob.log().contains("released too early"));
        assert!(!hob.folder.path("switched-off").exists());
        happens(&pipe, late);
        until("the end", || hob.folder.path("switched-off").exists());
        assert_eq!(hob.ended(), Some(0), "{}", hob.log());
        // It closed in order: the data file is complete without its log.
        let checked = hob.cli(&["doctor"]);
        assert!(checked.out.contains("every page is sound") && !checked.out.contains("log      "), "{checked:?}");
        hob.start_again();
        assert_eq!(hob.tagged("power"), ["the word is tarragon"]);
    }
}

/// The button ends the supervisor with its Hob: the device is switched off where it may be, and the log says so where not.
#[test]
fn under_the_supervisor_the_button_starts_nothing_again() {
    for (command, may) in [("touch", true), ("false", false)] {
        let folder = Supervised::folder();
        let (pipe, end) = (folder.path("scenario"), folder.path("switched-off"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let config = format!(
            "[power]\nshutdown_pin = 3\nhold_seconds = 1\noff_command = \"{command} {}\"\n[sim]\nscenario = {:?}\n",
            end.display(),
            pipe.to_str().unwrap()
        );
        let mut hob = Supervised::over(folder, &Start { config: &config, ..Start::default() });
        hob.remember("sorrel");
        let pipe = fs::OpenOptions::new().read(true).write(true).open(pipe).unwrap();
        happens(&pipe, "high 3\nwait 300\nlow 3\n");
        assert_eq!(hob.ended(), Some(76), "{}", hob.log());
        assert_eq!((hob.starts(), end.exists()), (1, may), "{}", hob.log());
        assert_eq!(hob.log().contains("the device stays on"), !may, "{}", hob.log());
        // Nothing was lost, and a person starts it again.
        hob.start_again();
        assert_eq!(hob.remembered(), ["sorrel"]);
    }
}

#[test]
fn too_little_voltage_is_told_once_and_shown() {
    let (hob, pipe) = with_power("check_seconds = 1");
    let mut events = hob.admin("GET", "/api/v1/events?topics=power:low").events();
    happens(&pipe, "supply weak\n");
    let (_, low) = events.next().unwrap();
    assert_eq!(low["data"], json!({"low": true}));
    until("a notice", || {
        let notices = hob.result("list_notices", json!({}));
        notices.to_string().contains("too little voltage")
    });
    let data = hob.get("/api/v1/doctor").data(200);
    let power = data["checks"].as_array().unwrap().iter().find(|check| check["name"] == "power").unwrap().clone();
    assert!(data["well"] == false && power["outcome"] == "wrong" && power["todo"].is_string(), "{data}");
    happens(&pipe, "supply right\n");
    assert_eq!(events.next().unwrap().1["data"], json!({"low": false}));
    assert!(hob.cli(&["doctor"]).ok().contains("power    The voltage is right."));
}

#[test]
fn what_is_written_is_counted_over_a_restart() {
    let mut hob = Hob::start();
    let own = |hob: &Hob| hob.get("/api/v1/doctor").data(200)["writes"]["ownToday"].as_u64().unwrap();
    (0..5).for_each(|n| drop(hob.result("remember", json!({"content": format!("number {n}")}))));
    let before = own(&hob);
    assert!(before > 0, "what it wrote is counted");
    assert_eq!(hob.stop(), Some(0));
    hob.start_again();
    assert!(own(&hob) >= before, "{before}");
}

#[test]
fn a_download_that_breaks_off_is_no_backup() {
    let hob = Hob::start();
    for n in 0..2 {
        let large = Dice::fresh().below(u64::MAX).to_le_bytes().repeat(2 << 20);
        hob.admin("POST", &format!("/api/v1/files?name={n}.bin")).body(large).send().data(201);
    }
    let mut download = hob.admin("POST", "/api/v1/backup").open();
    assert_eq!(read_status(&mut download), 200);
    assert!(hob.get("/api/v1/backup").data(200)["last"].is_null(), "the rest is still to be sent");
    drop(download);
    assert!(hob.get("/api/v1/backup").data(200)["last"].is_null());
    let whole = hob.admin("POST", "/api/v1/backup").send();
    assert_eq!(hob.get("/api/v1/backup").data(200)["last"]["size"], whole.body.len());
}

#[test]
fn a_passphrase_that_is_interrupted_leaves_the_terminal_as_it_was() {
    let hob = Hob::start();
    let file = hob.folder.path("b.age");
    fs::write(&file, &hob.post("/api/v1/backup", json!({"passphrase": PASSPHRASE})).body).unwrap();
    let to = Folder::new();
    let restore = ["restore", file.to_str().unwrap()];
    let mut terminal = Terminal::start(&to.0, &to.path("data"), &restore, (24, 80), "xterm");
    terminal.sees("Passphrase:");
    terminal.until_echo(false);
    terminal.keys("correct\x03");
    assert_eq!(terminal.code(), Some(1));
    terminal.until_echo(true);
    assert!(terminal.text().contains("interrupted") && !terminal.text().contains("correct"), "{}", terminal.text());
    let mut terminal = Terminal::start(&to.0, &to.path("data"), &restore, (24, 80), "xterm");
    terminal.sees("Passphrase:");
    terminal.until_echo(false);
    terminal.keys(&format!("{PASSPHRASE}\r"));
    assert_eq!(terminal.code(), Some(0), "{}", terminal.text());
    terminal.until_echo(true);
}
