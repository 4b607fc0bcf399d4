//! Whose browser it is and where it is: one host of the house or the internet, each chat by itself, and what ends it.

use crate::{
    approvals::that_waits,
    browser::{hob_at, open, refusal, text},
    harness::until,
    http::Reply as Answered,
    model_server::{calls, says},
    site::{Reply, Site, answer, page},
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

#[test]
fn no_page_of_another_place_reaches_a_house_host() {
    let nas = Site::start(|path, _| match path {
        "/file" => answer("200 OK", "content-type: application/zip\r\ncontent-disposition: attachment\r\n", "PK"),
        "/none" => answer("204 No Content", "", ""),
        to if to.starts_with("/link?") => {
            page(format!("<title>NAS</title><a href='http://{}/'>Out</a>", to.trim_start_matches("/link?")))
        }
        to if to.starts_with("/to?") => {
            let to = to.trim_start_matches("/to?");
            answer("302 Found", &format!("location: http://{to}/\r\n"), "")
        }
        _ => page("<title>NAS</title><p>the NAS"),
    });
    let api = nas.url("/api");
    let stranger = Site::start(move |path, _| match path {
        "/" => page(format!(
            "<title>Stranger</title><p>stranger<script>setInterval(() => fetch('{api}', {{method: 'POST', mode: 'no-cors'}})\
             .catch(() => 0), 50)</script>"
        )),
        _ => page("<title>New</title><p>new"),
    });
    let hob = hob_at(&[&nas, &stranger], "");
    let quiet = |what: &str| {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let asked: Vec<String> = nas.heard().into_iter().filter(|heard| heard.contains("/api")).collect();
        assert!(asked.is_empty(), "{what}: {asked:?}");
    };
    // A page of the stranger stays open behind a file, an answer without a page, or a page that it opened.
    for path in ["/file", "/none"] {
        open(&hob, &stranger.url("/"));
        hob.call("browser_navigate", json!({"url": nas.url(path)}));
        quiet(path);
    }
    open(&hob, &stranger.url("/"));
    hob.result("browser_evaluate", json!({"code": "window.open('/new')"}));
    let moved = open(&hob, &nas.url("/"));
    let note = moved["note"].as_str().unwrap_or_default();
    assert!(note.contains("cookies and sign-ins are gone") && note.contains(&stranger.host), "{moved}");
    quiet("a page behind");
    // The house host leads to the stranger.
    let why = refusal(&hob, "browser_navigate", json!({"url": nas.url(&format!("/to?{}", stranger.host))}));
    assert!(why.contains("is reached from its pages; open others with browser_navigate"), "{why}");
    quiet("a redirect");
    let there = open(&hob, &nas.url(&format!("/link?{}", stranger.host)));
    assert!(there["note"].is_null(), "the same place: {there}");
    hob.result("browser_click", json!({"selector": "Out"}));
    quiet("a link");
    assert!(!text(&hob).contains("stranger"));
}

#[test]
fn calls_without_a_conversation_do_not_share_a_browser() {
    let site = Site::start(|path, request| {
        let cookie = request.lines().find(|line| line.to_lowercase().starts_with("cookie:")).unwrap_or("cookie: none");
        let set = if path == "/set" { "set-cookie: who=first; Path=/\r\n" } else { "" };
        answer("200 OK", &format!("content-type: text/html\r\n{set}"), format!("<p>{cookie}"))
    });
    let (hob, server) = that_waits(1, &format!("[http]\nallow = [{:?}]", site.host));
    let visit = |path: &str| -> String {
        server.script(vec![
            calls(&[("browser_navigate", json!({"url": site.url(path)}))]),
            calls(&[("browser_extract_text", json!({}))]),
            says("done"),
        ]);
        let asks = format!("what does {} say?", site.url(path));
        let body = json!({"model": "hob", "messages": [{"role": "user", "content": asks}]});
        assert_eq!(hob.post("/v1/chat/completions", body).status, 200);
        server.asked().last().unwrap().messages("tool").last().unwrap()["content"].to_string()
    };
    assert!(visit("/set").contains("cookie"));
    let seen = visit("/look");
    assert!(seen.contains("cookie: none"), "another chat: {seen}");
    // What a person does by hand is their own, and stays from call to call.
    open(&hob, &site.url("/set"));
    open(&hob, &site.url("/look"));
    assert!(text(&hob).contains("who=first"));
    let seen = visit("/look");
    assert!(seen.contains("cookie: none"), "a chat after calls by hand: {seen}");
}

#[test]
fn a_browser_in_use_is_not_closed_for_another_person() {
    let site = Site::start(|_, _| page("<title>Here</title><p>here"));
    let hob = hob_at(&[&site], "[browser]\nat_once = 1");
    let by = |token: &str, tool: &str, arguments: Value| -> Answered {
        let path = format!("/api/v1/tools/{tool}/execute");
        hob.request("POST", &path).bearer(token).json(&json!({"arguments": arguments})).send()
    };
    let (ann, bob) = (hob.token("ann", "member"), hob.token("bob", "member"));
    by(&ann, "browser_navigate", json!({"url": site.url("/")})).data(200);
    let why = by(&bob, "browser_navigate", json!({"url": site.url("/")})).refusal(409, "unavailable");
    assert!(why.contains("try again in a minute"), "{why}");
    by(&ann, "browser_extract_text", json!({})).data(200);
}

#[test]
fn a_browser_that_was_closed_to_make_room_says_so() {
    let site = Site::start(|_, _| page("<title>Here</title><p>here"));
    let (hob, server) = that_waits(1, &format!("[http]\nallow = [{:?}]\n[browser]\nat_once = 1", site.host));
    open(&hob, &site.url("/"));
    server.script(vec![calls(&[("browser_navigate", json!({"url": site.url("/")}))]), says("done")]);
    hob.say(&format!("what does {} say?", site.url("/")));
    let why = hob.call("browser_extract_text", json!({})).refusal(404, "not_found");
    assert!(why.contains("closed to make room"), "{why}");
}

#[test]
fn a_download_that_never_ends_holds_up_nothing() {
    let goes_on = Arc::new(AtomicBool::new(true));
    let drips = goes_on.clone();
    let site = Site::start(move |path, _| {
        match path {
        "/drip" => Reply::Drip(
            "HTTP/1.1 200 OK\r\ncontent-type: application/zip\r\ncontent-disposition: attachment; filename=slow.zip\r\n\r\n".into(),
            drips.clone(),
        ),
        "/large" => Reply::Endless(
            "HTTP/1.1 200 OK\r\ncontent-type: application/zip\r\ncontent-disposition: attachment; filename=large.zip\r\n\r\n".into(),
            vec![0; 1 << 20],
        ),
        _ => page("<title>Here</title><p>here"),
    }
    });
    let hob = hob_at(&[&site], "");
    open(&hob, &site.url("/"));
    let begun = open(&hob, &site.url("/drip"));
    assert_eq!(
        (&begun["downloads"][0]["state"], &begun["downloads"][0]["name"]),
        (&json!("coming"), &json!("slow.zip")),
        "{begun}"
    );
    // It is told of at each call, waited for at none, and saved once it has come.
    let read = hob.result("browser_extract_text", json!({}));
    assert_eq!((&read["downloads"][0]["state"], &read["text"]), (&json!("coming"), &json!("here")), "{read}");
    goes_on.store(false, Ordering::Relaxed);
    let mut read = Value::Null;
    until("the file", || {
        read = hob.result("browser_extract_text", json!({}));
        read["downloads"][0]["path"].as_str().is_some_and(|path| path.ends_with("slow.zip"))
    });
    assert!(hob.result("browser_extract_text", json!({}))["downloads"].is_null());
    // One that is too large is named with the reason, and the browser goes on.
    let large = open(&hob, &site.url("/large"));
    let told = &large["downloads"][0];
    assert!(told["name"] == "large.zip" && told["error"].as_str().unwrap().contains("larger than 64 MB"), "{large}");
    assert_eq!(text(&hob), "here");
}

#[test]
fn what_went_wrong_is_told_for_what_was_asked() {
    let site = Site::start(|path, _| match path {
        "/auth" => answer("401 Unauthorized", "www-authenticate: Basic realm=\"x\"\r\n", "no"),
        "/empty" => Reply::Bytes(vec![]),
        "/parts" => page(
            "<title>Parts</title><p>parts<script>setInterval(() => fetch('http://10.1.1.1/').catch(() => 0), 30)</script>",
        ),
        _ => page("<title>Here</title><p>here"),
    });
    let hob = hob_at(&[&site], "");
    for _ in 0..6 {
        let here = open(&hob, &site.url("/"));
        assert!(here["note"].is_null() && here["refused"].is_null(), "{here}");
    }
    let why = refusal(&hob, "browser_navigate", json!({"url": site.url("/auth")}));
    assert!(why.contains("user name and password"), "{why}");
    // What the page before asks for meanwhile is not the reason.
    open(&hob, &site.url("/parts"));
    let why = refusal(&hob, "browser_navigate", json!({"url": site.url("/empty")}));
    assert!(why.contains("gave no answer"), "{why}");
}

#[test]
fn a_picture_of_a_very_large_page_is_scaled_down() {
    let site = Site::start(|_, _| {
        page(
            "<title>Large</title><body style='margin:0'><div id=all style='width:4000px;height:8000px;background:linear-gradient(red,blue)'>x</div>",
        )
    });
    let hob = hob_at(&[&site], "");
    open(&hob, &site.url("/"));
    for arguments in [json!({"full_page": true}), json!({"selector": "#all"})] {
        let picture = hob.result("browser_screenshot", arguments);
        let (width, height) = (picture["width"].as_u64().unwrap(), picture["height"].as_u64().unwrap());
        assert!(width * height <= 10_300_000 && height > width, "{picture}");
        assert!(picture["note"].as_str().unwrap().contains("scaled down"), "{picture}");
    }
    assert_eq!(text(&hob), "x");
}
