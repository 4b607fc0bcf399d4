//! `hob chat` from one terminal: a short answer continues its last conversation, and decides the approval that waits there. Titles
//! of conversations that begin alike.

use crate::{
    approvals::{keep, memories, questions, that_waits},
    harness::{Hob, Ran, binary, hob_with, run},
    model::with_model,
    model_server::{calls, says},
};
use serde_json::{Value, json};
use std::process::Command;

fn conversations(hob: &Hob) -> Vec<Value> {
    hob.get("/api/v1/conversations").data(200)["conversations"].as_array().unwrap().clone()
}

/// Says something in a session of its own, as another terminal would.
fn elsewhere(hob: &Hob, words: &[&str]) -> Ran {
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(binary()).arg("--data").arg(hob.data()).arg("chat").args(words);
    run(command, "")
}

#[test]
fn a_short_answer_continues_the_conversation_of_its_terminal() {
    let (hob, server) = with_model("");
    server.script(vec![
        says("Shall I? Say yes or no."),
        says("Done."),
        says("Hello."),
        says("Which?"),
        says("The second."),
    ]);
    hob.cli(&["chat", "the lamp"]).ok();
    assert_eq!(hob.cli(&["chat", "yes"]).ok(), "Done.");
    assert_eq!(conversations(&hob).len(), 1);
    assert_eq!(conversations(&hob)[0]["messageCount"], 4);
    // A message that stands for itself begins another, and another terminal knows of none.
    assert_eq!(hob.cli(&["chat", "hello there"]).ok(), "Hello.");
    assert_eq!(conversations(&hob).len(), 2);
    assert_eq!(elsewhere(&hob, &["no", "thanks"]).ok(), "Which?");
    assert_eq!(conversations(&hob).len(), 3);
    // Whatever it says, when it is told to.
    assert_eq!(hob.cli(&["chat", "--continue", "the", "other", "lamp"]).ok(), "The second.");
    assert_eq!(conversations(&hob).len(), 3);
    assert_eq!(conversations(&hob)[0]["title"], "hello there");

    let none = elsewhere(&hob, &["--continue", "and", "now"]).why(1);
    assert!(none.contains("has no conversation of the last 15 minutes"), "{none}");
    let id = conversations(&hob)[0]["id"].as_str().unwrap().to_owned();
    hob.cli(&["chat", "--continue", "--conversation", &id, "yes"]).why(2);
    // One that is gone, and a file that is damaged.
    assert_eq!(hob.admin("DELETE", &format!("/api/v1/conversations/{id}")).send().data(200)["deleted"], true);
    server.script(vec![says("To what?"), says("Done that."), says("And what now?")]);
    assert_eq!(hob.cli(&["chat", "yes"]).ok(), "To what?");
    assert_eq!(hob.cli(&["chat", "no"]).ok(), "Done that.");
    let count = conversations(&hob).len();
    assert_eq!(hob.cli(&["chat", "yes"]).ok(), "And what now?");
    assert_eq!(conversations(&hob).len(), count + 1, "nothing was asked, so it is no answer");
    std::fs::write(hob.data().join("terminals.json"), "{damaged").unwrap();
    server.script(vec![says("Yes to what?")]);
    assert_eq!(hob.cli(&["chat", "yes"]).ok(), "Yes to what?");
}

#[test]
fn a_typed_yes_or_no_decides_the_one_approval_that_waits_here() {
    let (hob, server) = that_waits(1, "");
    let id = keep(&hob, "the old code");
    let forget = || calls(&[("forget", json!({"memoryId": id}))]);
    server.script(vec![forget(), says("Then it stays."), forget(), says("It is gone.")]);
    hob.cli(&["chat", "forget the code"]).ok();
    assert_eq!(questions(&hob, "pending").len(), 1);
    // Another terminal's yes is an answer to nothing.
    let told = hob.cli(&["chat", "no"]).ok();
    assert_eq!(told, "forget is not called\nThen it stays.");
    assert!(memories(&hob).contains("the old code"));
    hob.cli(&["chat", "forget it after all"]).ok();
    let asked = questions(&hob, "pending").remove(0);
    let told = hob.cli(&["chat", "Yes,", "please!"]).ok();
    assert_eq!(told, "forget is allowed, this once\nIt is gone.");
    assert!(!memories(&hob).contains("the old code"));
    assert_eq!(hob.get("/api/v1/grants").data(200)["count"], 0, "once, and never for good");
    assert_eq!(conversations(&hob).len(), 2);
    let path = format!("/api/v1/approvals/{}", asked["id"].as_str().unwrap());
    assert_eq!(hob.get(&path).data(200)["decision"], "allow_once");
}

#[test]
fn among_several_approvals_and_in_other_conversations_a_word_decides_nothing() {
    let (hob, server) = that_waits(1, "");
    let [first, second] = ["one", "two"].map(|content| keep(&hob, content));
    let forget = |id: &str| ("forget", json!({"memoryId": id}));
    server.script(vec![calls(&[forget(&first), forget(&second)]), says("Yes to what?")]);
    hob.cli(&["chat", "forget both"]).ok();
    assert_eq!(questions(&hob, "pending").len(), 2);
    let why = hob.cli(&["chat", "yes"]).why(1);
    assert!(why.contains("2 approvals wait in this conversation"), "{why}");
    assert_eq!(elsewhere(&hob, &["yes"]).ok(), "Yes to what?");
    assert_eq!(questions(&hob, "pending").len(), 2);
    assert!(memories(&hob).contains("one") && memories(&hob).contains("two"));
    // Line by line it is the same.
    let id = conversations(&hob).into_iter().find(|c| c["title"] == "forget both").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let piped = hob_with(&hob.data(), &["chat", "--conversation", &id, "no"], &[], "");
    assert!(piped.why(1).contains("2 approvals wait"));
}

#[test]
fn conversations_that_begin_alike_have_titles_that_differ() {
    let (hob, server) = with_model("");
    let long = "write a polite but firm letter to the landlord of the flat about the";
    server.script((0..5).map(|n| says(&format!("{n}"))).collect());
    for text in ["Hello", "hello", "hello", &format!("{long} heating"), &format!("{long} deposit")] {
        hob.post("/api/v1/chat", json!({"message": text})).data(200);
    }
    let listed = conversations(&hob);
    let titles: Vec<&str> = listed.iter().rev().map(|c| c["title"].as_str().unwrap()).collect();
    assert_eq!(titles[..3], ["Hello", "hello (2)", "hello (3)"]);
    assert!(titles[3].ends_with('…') && titles[4].ends_with("the deposit"), "{titles:?}");
    // A person's title may be any, also one that another has.
    let path = format!("/api/v1/conversations/{}", listed[0]["id"].as_str().unwrap());
    let named = |title: Value| hob.admin("PATCH", &path).json(&json!({"title": title})).send();
    assert_eq!(named(json!(" Hello\n there ")).data(200)["title"], "Hello there");
    assert_eq!(named(json!("x".repeat(200))).data(200)["title"], "x".repeat(200));
    for (title, why) in [(json!(" \n"), "is empty"), (json!("x".repeat(201)), "200 is the most")] {
        let refused = named(title).refusal(400, "bad_args");
        assert!(refused.contains(why), "{refused}");
    }
    named(json!(7)).refusal(400, "bad_args");
    assert_eq!(hob.get(&path).data(200)["title"], "x".repeat(200));
}
