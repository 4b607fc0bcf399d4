//! The world by sentences, without any model: weather, translation, pages, documents and mail.

use crate::{
    approvals::{asked, decide, questions},
    browser::hob_at,
    harness::{Hob, Setup},
    mail_servers::MailServers,
    site::{Site, page},
    world,
};
use serde_json::json;
use std::thread;

fn said(hob: &Hob, text: &str) -> String {
    hob.say(text)["response"].as_str().unwrap().to_owned()
}

#[test]
fn weather_and_translations_need_no_model() {
    let services = world::kind();
    let hob = Hob::with(Setup { config: world::config(&services), ..Setup::default() });
    let answer = said(&hob, "what's the weather in Graz?");
    assert!(answer.starts_with("It is 4 °C and light rain in Graz"), "{answer}");
    let answer = said(&hob, "weather tomorrow");
    assert!(answer.starts_with("I do not know where this home is."), "{answer}");
    let answer = said(&hob, "translate good morning into German");
    assert!(services.heard().iter().any(|heard| heard.body.contains("good morning")), "{answer}");

    let at_home = format!("latitude = 47.07\nlongitude = 15.44\n{}", world::config(&services));
    let hob = Hob::with(Setup { config: at_home, ..Setup::default() });
    let answer = said(&hob, "weather tomorrow");
    assert!(answer.starts_with("At home: ") && answer.contains("-1 to 6 °C"), "{answer}");

    // Where nothing translates, it says what is missing.
    let bare = Hob::start();
    let answer = said(&bare, "translate good morning into German");
    assert!(answer.starts_with("I cannot translate yet: an admin can enter a key of DeepL"), "{answer}");
    assert!(said(&bare, "any new mail?").contains("add an account under Services"));
    assert!(said(&bare, "mail Anna the list").contains("add an account under Services"));
}

#[test]
fn pages_and_documents_are_read_and_summarized() {
    let site = Site::start(|_, _| {
        page(
            "<html><head><title>Ferries</title></head><body><main><h1>Ferries</h1><p>The ferry to the island leaves at noon \
             from pier four, every day of the week in summer.</p><p>Dogs travel for free.</p></main></body></html>",
        )
    });
    let host = site.url("").trim_start_matches("http://").to_owned();
    let hob = Hob::with(Setup { config: format!("[http]\nallow = [\"{host}\"]"), ..Setup::default() });
    let answer = said(&hob, &format!("what does this page say: {}", site.url("/times")));
    assert!(answer.contains("Ferries") && answer.contains("leaves at noon"), "{answer}");
    let answer = said(&hob, &format!("summarize {}", site.url("/times")));
    assert!(answer.contains("leaves at noon"), "{answer}");
    // What cannot be read is told in a whole sentence.
    let answer = said(&hob, "read report.pdf");
    assert_eq!(answer, "There is no “report.pdf”: list the folder to see its names.");
    let answer = said(&hob, "what does this page say: nowhere.invalid");
    assert_eq!(answer, "“nowhere.invalid” cannot be reached: check the address and the network.");
    hob.result("write_file", json!({"path": "plan.md", "content": "# Plan\n\nWe meet at the pier."}));
    let answer = said(&hob, "read plan.md");
    assert!(answer.contains("We meet at the pier"), "{answer}");
}

/// With a real Chromium.
#[test]
fn pages_are_opened_in_the_browser_and_pictured() {
    let site = Site::start(|_, _| page("<title>Ferries</title><p>The ferry leaves at noon."));
    let hob = hob_at(&[&site], "");
    let answer = said(&hob, &format!("open {} in the browser", site.url("/times")));
    assert_eq!(answer, "“Ferries” is open.");
    let answer = said(&hob, &format!("take a screenshot of {}", site.url("/times")));
    assert!(answer.starts_with("I saved a picture of the page as pictures/"), "{answer}");
    assert_eq!(hob.result("list_files", json!({"path": "pictures"}))["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_list_is_mailed_only_after_a_person_agreed() {
    let servers = MailServers::start();
    servers.deliver("From: Olu <olu@example.net>\r\nSubject: Ferry\r\n\r\nnoon\r\n");
    let config = format!("[approvals]\nin_call_seconds = 20\n{}", servers.config());
    let hob = Hob::with(Setup { config, ..Setup::default() });
    let answer = said(&hob, "any new mail?");
    assert!(answer.contains("Olu: Ferry (unread)"), "{answer}");

    let answer = said(&hob, "mail Anna the list");
    assert!(answer.contains("nobody called") && answer.contains("Anna"), "{answer}");
    hob.result("add_contact", json!({"name": "Anna Berger", "email": "anna@example.net"}));
    assert!(said(&hob, "mail Anna the list").contains("nothing on any list"));
    for item in ["milk", "eggs"] {
        hob.result("add_task", json!({"title": item, "category": "shopping"}));
    }
    assert_eq!((questions(&hob, "all").len(), servers.count()), (0, 0));

    for (decision, sent) in [("deny", 0), ("allow_once", 1)] {
        let answer = thread::scope(|scope| {
            let asking = scope.spawn(|| said(&hob, "mail Anna the list"));
            let question = asked(&hob, 1).remove(0);
            let shown = question.to_string();
            for part in ["send_email", "anna@example.net", "milk", "eggs"] {
                assert!(shown.contains(part), "{part}: {shown}");
            }
            assert_eq!(servers.count(), 0);
            decide(&hob, &question, decision);
            asking.join().unwrap()
        });
        assert_eq!(servers.count(), sent, "{decision}: {answer}");
    }
    let (envelope, text) = servers.sent(1);
    assert_eq!(envelope["to"], json!(["anna@example.net"]));
    assert!(text.contains("Subject: Shopping list") && text.contains("- milk"), "{text}");
}
