//! `hob chat` at a real terminal: keys, history, lines broken at words, Ctrl-C, and lines that arrive while one types.

use crate::{
    approvals::{keep, memories, that_waits},
    harness::{Folder, Hob, until},
    model::with_model,
    model_server::{Answer, calls, says},
    pty::Terminal,
};
use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt, path::PathBuf, thread, time::Duration};

const SIZE: (u16, u16) = (24, 80);
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";
const LEFT: &str = "\x1b[D";

fn chat_in(hob: &Hob, size: (u16, u16), term: &str) -> Terminal {
    let terminal = Terminal::start(&hob.folder.0, &hob.data(), &["chat"], size, term);
    terminal.ends_with(">");
    terminal
}

fn chat(hob: &Hob) -> Terminal {
    chat_in(hob, SIZE, "xterm-256color")
}

fn history(hob: &Hob) -> PathBuf {
    hob.folder.path(".local/state/hob/history")
}

/// The texts that the model was asked, each the last message of a person.
fn asked(server: &crate::model_server::ModelServer) -> Vec<String> {
    let last = |asked: &crate::model_server::Asked| {
        let message = asked.messages("user").pop().unwrap();
        match &message["content"] {
            Value::String(text) => text.clone(),
            parts => parts[0]["text"].as_str().unwrap().to_owned(),
        }
    };
    server.asked().iter().map(last).collect()
}

fn runs(hob: &Hob, state: &str) -> Vec<Value> {
    hob.get(&format!("/api/v1/runs?state={state}")).data(200)["runs"].as_array().unwrap().clone()
}

#[test]
fn a_line_is_edited_with_the_usual_keys() {
    let (hob, server) = with_model("");
    server.script((0..3).map(|n| says(&format!("answer {n}"))).collect());
    let mut terminal = chat(&hob);
    // Left, insert, Home, End, and a word that is erased.
    terminal.keys("milk and egs");
    terminal.keys(&LEFT.repeat(2));
    terminal.keys("g");
    terminal.keys("\x01buy \x05 please\x17now");
    terminal.ends_with("> buy milk and eggs now");
    terminal.keys("\r");
    terminal.sees("answer 0");
    terminal.ends_with(">");
    // Umlauts and wide letters are one letter each; a paste of several lines is one message.
    terminal.keys("Öl 日本\x7f\x7f\x7f\x7fle\r");
    terminal.sees("answer 1");
    terminal.ends_with(">");
    terminal.keys("\x1b[200~one\rtwo\x1b[201~\r");
    terminal.sees("answer 2");
    terminal.ends_with(">");
    let heard = asked(&server);
    assert!(heard[0].ends_with("buy milk and eggs now"), "{heard:?}");
    assert!(heard[1].ends_with("Öle"), "{heard:?}");
    assert!(heard[2].ends_with("one\ntwo"), "{heard:?}");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn lines_are_recalled_in_the_next_chat_but_no_secrets() {
    let hob = Hob::start();
    let mut terminal = chat(&hob);
    let lines = [
        "remember that the kettle is red",
        "remember that the door code is 4711",
        " remember that this is between us",
        "remember 7K3M-9QXW-2BTR",
        "remember hob_0f3a5c7e0f3a5c7e0f3a5c7e0f3a5c7e0f3a5c7e0f3a5c7e0f3a5c7e0f3a5c7e",
        "what is 6*7?",
        "yes",
    ];
    for (n, line) in lines.iter().enumerate() {
        terminal.keys(&format!("{line}\r"));
        // Each is answered, and the prompt is back.
        terminal.until("the answer", |shown| {
            shown.last().is_some_and(|last| last == ">") && shown.iter().filter(|l| l.starts_with("> ")).count() > n
        });
    }
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
    let stored = std::fs::read_to_string(history(&hob)).unwrap();
    assert_eq!(stored, "#V2\nremember that the kettle is red\nwhat is 6*7?\n");
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(history(&hob)), mode(hob.folder.path(".local/state/hob"))), (0o600, 0o700));

    let mut terminal = chat(&hob);
    terminal.keys(UP);
    terminal.ends_with("> what is 6*7?");
    terminal.keys(UP);
    terminal.ends_with("> remember that the kettle is red");
    // Ctrl-R searches.
    terminal.keys("\x05\x15\x126*7");
    terminal.sees("what is 6*7?");
    terminal.keys("\r");
    terminal.sees("42");
    terminal.ends_with(">");
    terminal.keys("exit\r");
    assert_eq!(terminal.code(), Some(0));
    // A file that is damaged, or cannot be written, ends no chat.
    std::fs::write(history(&hob), b"#V2\n\xff\xfe\n").unwrap();
    let mut terminal = chat(&hob);
    terminal.keys("what is 7*8?\r");
    terminal.sees("56");
    terminal.ends_with(">");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
    std::fs::remove_file(history(&hob)).unwrap();
    std::fs::create_dir(history(&hob)).unwrap();
    let mut terminal = chat(&hob);
    terminal.keys("what is 7*9?\r");
    terminal.sees("63");
    terminal.ends_with(">");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn an_answer_is_broken_at_words_to_the_width_of_the_terminal() {
    let (hob, server) = with_model("");
    let pieces = [
        "The boiler was serv",
        "iced on 3 October, and the next ser",
        "vice is due in Octo",
        "ber.\n\n- first ",
        "the filter, which is in the cellar\n- then the pump",
    ];
    let answer = || Answer::Says(pieces.map(str::to_owned).into());
    server.script(vec![answer(), answer(), answer()]);
    let mut terminal = chat_in(&hob, (24, 40), "xterm");
    terminal.keys("boiler?\r");
    terminal.sees("then the pump");
    terminal.ends_with(">");
    let lines = terminal.lines();
    let from = lines.iter().position(|line| line.starts_with("The boiler")).unwrap();
    assert_eq!(
        lines[from..from + 6],
        [
            "The boiler was serviced on 3 October,",
            "and the next service is due in October.",
            "",
            "- first the filter, which is in the",
            "  cellar",
            "- then the pump"
        ],
        "{lines:#?}"
    );
    // Wider from the next line on.
    terminal.resize(24, 60);
    terminal.keys("again\r");
    terminal.sees("The boiler was serviced on 3 October, and the next service\nis due");
    terminal.ends_with(">");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
    // A pipe gets each line as it is.
    let piped = hob.cli(&["chat", "boiler?"]).ok();
    assert_eq!(piped, pieces.concat());
}

#[test]
fn ctrl_c_stops_the_answer_first_and_then_leaves() {
    let (hob, server) = with_model("");
    server.script(vec![Answer::HangsAfter("Once upon a time".into()), says("Hello again."), Answer::Hangs]);
    let mut terminal = chat(&hob);
    terminal.keys("a long story\r");
    terminal.sees("Once upon a");
    assert_eq!(runs(&hob, "running").len(), 1);
    terminal.keys(CTRL_C);
    terminal.sees("· stopped");
    terminal.ends_with(">");
    assert!(terminal.runs());
    until("the end of the run", || runs(&hob, "cancelled").len() == 1);
    // The conversation continues, and another answer can be stopped before its first word.
    terminal.keys("hello\r");
    terminal.sees("Hello again.");
    terminal.ends_with(">");
    terminal.keys("and now?\r");
    until("the second run", || runs(&hob, "running").len() == 1);
    terminal.keys(CTRL_C);
    until("the end of the run", || runs(&hob, "cancelled").len() == 2);
    terminal.ends_with(">");
    assert_eq!(hob.get("/api/v1/conversations").data(200)["count"], 1);
    terminal.keys(CTRL_C);
    assert_eq!(terminal.code(), Some(0));

    // What is typed is cleared; at an empty prompt it takes two.
    let mut terminal = chat(&hob);
    terminal.keys("no I");
    terminal.ends_with("> no I");
    terminal.keys(CTRL_C);
    terminal.ends_with(">");
    // An error ends no chat.
    server.script(vec![Answer::Status(400, String::new(), "{\"error\":{\"message\":\"no such thing\"}}".into())]);
    terminal.keys("tell me a riddle\r");
    terminal.sees("hob: ");
    terminal.ends_with(">");
    terminal.keys(CTRL_C);
    terminal.sees("Ctrl-C once more leaves");
    assert!(terminal.runs());
    terminal.keys(CTRL_C);
    assert_eq!(terminal.code(), Some(0));

    // A single message ends with its answer, as a failure.
    server.script(vec![Answer::HangsAfter("Once upon a time".into())]);
    let mut terminal = Terminal::start(&hob.folder.0, &hob.data(), &["chat", "a", "story"], SIZE, "xterm");
    terminal.sees("Once upon a");
    terminal.keys(CTRL_C);
    terminal.sees("hob: stopped by Ctrl-C");
    assert_eq!(terminal.code(), Some(1));
    assert_eq!(runs(&hob, "cancelled").len(), 3);
}

#[test]
fn ctrl_c_at_a_question_stops_the_run_and_decides_nothing() {
    let (hob, server) = that_waits(60, "");
    let id = keep(&hob, "the old code");
    let forget = || calls(&[("forget", json!({"memoryId": id}))]);
    server.script(vec![forget(), says("never"), forget(), says("As you wish.")]);
    let mut terminal = chat(&hob);
    terminal.keys("forget it\r");
    terminal.ends_with("  [y]es, once · [a]lways with just these values · [n]o:");
    terminal.keys(CTRL_C);
    terminal.sees("· stopped");
    terminal.ends_with(">");
    until("the end of the run", || runs(&hob, "cancelled").len() == 1);
    assert!(memories(&hob).contains("the old code"));
    server.script(vec![forget(), says("As you wish.")]);
    // The answer to a question is edited like a line, and is not recalled.
    terminal.keys("forget it after all\r");
    terminal.ends_with("  [y]es, once · [a]lways with just these values · [n]o:");
    terminal.keys("yes\x7f\x7f\x7fn\r");
    terminal.sees("As you wish.");
    terminal.ends_with(">");
    assert!(memories(&hob).contains("the old code"));
    assert_eq!(std::fs::read_to_string(history(&hob)).unwrap(), "#V2\nforget it\nforget it after all\n");
}

#[test]
fn what_happens_meanwhile_appears_above_the_line_that_is_typed() {
    let (hob, server) = that_waits(60, "");
    let mut terminal = chat(&hob);
    // It listens once it is connected; an event of before is not heard.
    thread::sleep(Duration::from_millis(1500));
    terminal.keys("remember that the cat");
    terminal.keys(&LEFT.repeat(3));
    terminal.ends_with("> remember that the cat");
    let cursor = terminal.cursor().1;
    let above = |terminal: &Terminal, text: &str| {
        terminal.sees(text);
        terminal.ends_with("> remember that the cat");
        let lines = terminal.lines();
        let (at, last) = (lines.iter().position(|line| line.contains(text)).unwrap(), lines.len() - 1);
        assert!(at < last, "{lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("> remember")).count(), 1, "{lines:#?}");
        assert_eq!(terminal.cursor(), (last as u16, cursor), "{lines:#?}");
    };
    hob.result("set_timer", json!({"duration": "PT1S", "name": "pizza"}));
    above(&terminal, "· Pizza timer is done.");
    hob.result("notify", json!({"title": "Bins", "text": "Put them out."}));
    above(&terminal, "· Bins: Put them out.");
    let id = keep(&hob, "the old code");
    server.script(vec![calls(&[("forget", json!({"memoryId": id}))]), says("ok"), says("The cat it is.")]);
    let _asking = hob.stream(json!({"message": "x"}));
    above(&terminal, "answer with `hob approve");
    assert!(terminal.text().contains("? forget {\"memoryId\":"));
    // The line is as it was: what is typed now goes to its place.
    terminal.keys("black \r");
    terminal.sees("> remember that the black cat");
    until("the message", || asked(&server).iter().any(|text| text.ends_with("remember that the black cat")));
    terminal.keys(CTRL_D);
}

#[test]
fn a_timer_that_rings_does_not_cut_a_word_of_the_answer() {
    let (hob, server) = with_model("");
    server.script(vec![Answer::HangsAfter("Once upon a ti".into())]);
    let mut terminal = chat(&hob);
    thread::sleep(Duration::from_millis(1500));
    terminal.keys("a story\r");
    terminal.sees("Once upon a");
    hob.result("set_timer", json!({"duration": "PT1S", "name": "pizza"}));
    terminal.sees("· Pizza timer is done.");
    let lines = terminal.lines();
    let at = lines.iter().position(|line| line == "Once upon a").unwrap();
    assert!(lines[at + 1].starts_with("· Pizza timer is done."), "{lines:#?}");
    terminal.keys(CTRL_C);
    terminal.sees("· stopped");
    // A word that was not complete is not shown.
    assert!(!terminal.text().contains("ti\n"), "{}", terminal.text());
}

#[test]
fn names_of_tools_are_completed() {
    let hob = Hob::start();
    let mut terminal = chat(&hob);
    thread::sleep(Duration::from_millis(500));
    terminal.keys("call calcul\t");
    terminal.ends_with("> call calculate");
    terminal.keys("\x15what is the gpio\t");
    thread::sleep(Duration::from_millis(200));
    terminal.ends_with("> what is the gpio");
    terminal.keys("\x15gpio_r\t\t");
    terminal.sees("gpio_read");
    terminal.keys("\x15\x04");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_terminal_without_an_editor_reads_lines_as_before() {
    let (hob, server) = with_model("");
    server.script(vec![says("Hello."), Answer::HangsAfter("Once upon a time".into())]);
    let mut terminal = chat_in(&hob, SIZE, "dumb");
    terminal.keys("hi there\n");
    terminal.sees("Hello.");
    terminal.ends_with(">");
    thread::sleep(Duration::from_millis(1500));
    hob.result("set_timer", json!({"duration": "PT1S", "name": "pizza"}));
    terminal.sees("· Pizza timer is done.");
    terminal.ends_with(">");
    terminal.keys("a story\n");
    terminal.sees("Once upon a");
    terminal.keys(CTRL_C);
    terminal.sees("· stopped");
    terminal.ends_with(">");
    terminal.keys(CTRL_C);
    assert_eq!(terminal.code(), Some(0));
    assert!(!history(&hob).exists(), "there are no keys to recall with");
    // The end of the input leaves too.
    let mut terminal = chat_in(&hob, SIZE, "dumb");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_chat_outlives_a_restart_of_the_daemon() {
    let mut hob = Hob::start();
    let mut terminal = chat(&hob);
    assert_eq!(hob.stop(), Some(0));
    terminal.keys("what is 6*7?\r");
    terminal.sees("hob: Hob is not running any more: start it again");
    terminal.ends_with(">");
    hob.start_again();
    terminal.keys(UP);
    terminal.ends_with("> what is 6*7?");
    terminal.keys("\r");
    terminal.sees("6 × 7 = 42.");
    terminal.ends_with(">");
    terminal.keys(CTRL_D);
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn without_a_daemon_the_chat_says_what_that_means() {
    let folder = Folder::new();
    let mut terminal = Terminal::start(&folder.0, &folder.path("data"), &["chat"], (24, 60), "xterm");
    terminal.ends_with(">");
    let said = terminal.lines().join(" ");
    assert!(
        said.contains("No Hob is running with the data in") && said.contains("`hob serve` keeps it running"),
        "{said}"
    );
    terminal.keys("what is 6*7?\r");
    terminal.sees("6 × 7 = 42.");
    terminal.ends_with(">");
    terminal.keys("quit\r");
    assert_eq!(terminal.code(), Some(0));
}
