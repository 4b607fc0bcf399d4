//! Files people send: kept for them alone, typed by what is in them, and shown to a model that sees.

use crate::{harness::Hob, model::with_model, model_server::says, visitor::Visitor};
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";

fn send(hob: &Hob, name: &str, kind: &str, bytes: &[u8]) -> Value {
    let request = hob.admin("POST", "/api/v1/files").header("content-type", kind).header("x-file-name", name);
    request.body(bytes.to_vec()).send().data(201)
}

#[test]
fn a_file_comes_back_as_it_was_and_runs_nothing() {
    let hob = Hob::start();
    let picture = send(&hob, "K%C3%BCche.png", "text/html", PNG);
    assert_eq!((&picture["name"], &picture["mediaType"]), (&json!("Küche.png"), &json!("image/png")));
    let path = format!("/api/v1/files/{}", picture["id"].as_str().unwrap());
    let shown = hob.get(&path);
    assert_eq!((shown.status, shown.header("content-type"), &shown.body[..]), (200, Some("image/png"), PNG));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));

    let page = send(&hob, "page.html", "text/html", b"<script>alert(1)</script>");
    let shown = hob.get(&format!("/api/v1/files/{}", page["id"].as_str().unwrap()));
    assert!(shown.header("content-type").unwrap().starts_with("text/plain"), "read, and not run");

    hob.admin("DELETE", &path).send().data(200);
    hob.get(&path).refusal(404, "not_found");
    hob.admin("DELETE", &path).send().refusal(404, "not_found");
}

#[test]
fn what_cannot_be_kept_is_refused_and_nobody_sees_what_is_anothers() {
    let hob = Hob::start();
    hob.admin("POST", "/api/v1/files").body(vec![]).send().refusal(400, "bad_args");
    hob.admin("POST", "/api/v1/files").body(vec![7; (20 << 20) + 1]).send().refusal(413, "too_large");
    hob.get("/api/v1/files/nonsense").refusal(400, "bad_args");
    let mine = send(&hob, "mine.txt", "text/plain", b"a secret plan");
    let path = format!("/api/v1/files/{}", mine["id"].as_str().unwrap());
    let person = json!({"name": "Ben", "role": "member", "password": "correct horse battery"});
    hob.post("/api/v1/people", person).data(201);
    let mut ben = Visitor::new(&hob);
    ben.sign_in(&json!({"person": "ben", "password": "correct horse battery"})).data(200);
    ben.get(path.strip_prefix("/api/v1").unwrap()).refusal(404, "not_found");
    ben.send("DELETE", path.strip_prefix("/api/v1").unwrap(), json!({})).refusal(404, "not_found");
    assert_eq!(hob.get(&path).text(), "a secret plan");
}

#[test]
fn a_model_that_sees_is_shown_the_picture_and_reads_the_text() {
    let (hob, server) = with_model("");
    server.script(vec![says("A cat."), says("Yes.")]);
    let (picture, text) = (send(&hob, "cat.png", "", PNG), send(&hob, "list.txt", "text/plain", b"buy milk"));
    let message = json!([
        {"type": "text", "text": "what is this?"},
        {"type": "image", "file": picture["id"]},
        {"type": "file", "file": text["id"]},
    ]);
    let answer = hob.post("/api/v1/chat", json!({"message": message})).data(200);
    assert_eq!(answer["response"], "A cat.");
    let said = &server.asked()[0].messages("user")[0]["content"];
    assert_eq!(said[0], json!({"type": "text", "text": "what is this?"}), "{said}");
    assert!(said[1]["image_url"]["url"].as_str().unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"), "{said}");
    assert!(said[2]["text"].as_str().unwrap().contains("buy milk"), "{said}");

    // It is there in the conversation, and for the next message.
    let kept = hob.get(&format!("/api/v1/conversations/{}", answer["conversationId"].as_str().unwrap())).data(200);
    assert!(kept["messages"][0].to_string().contains(picture["id"].as_str().unwrap()), "{kept}");
    let next = json!({"message": "sure?", "conversationId": answer["conversationId"]});
    assert_eq!(hob.post("/api/v1/chat", next).data(200)["response"], "Yes.");
    assert!(server.asked()[0].body.to_string().contains("data:image/png;base64,"));

    for (wrong, part) in [
        (json!([{"type": "image", "file": "0192-nothing"}]), ""),
        (json!([{"type": "image", "file": tool_id()}]), "no file"),
        (json!([{"type": "hologram", "file": picture["id"]}]), "hologram"),
        (json!([{"type": "image"}]), ""),
        (json!([]), ""),
    ] {
        let reply = hob.post("/api/v1/chat", json!({"message": wrong}));
        assert!([400, 404].contains(&reply.status) && reply.text().contains(part), "{wrong}: {}", reply.text());
    }
}

/// The id of a file nobody has.
fn tool_id() -> &'static str {
    "0199b6a0-0000-7000-8000-000000000000"
}
