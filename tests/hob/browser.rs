//! The browser tools with a real Chromium: pages made by scripts are read and used, each conversation by itself, within bounds.

use crate::{
    approvals::that_waits,
    harness::{Hob, Setup, until},
    model_server::{calls, says},
    site::{Reply, Site, answer, page},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// A daemon whose tools may reach these hosts, with more in its hob.toml.
pub fn hob_at(sites: &[&Site], more: &str) -> Hob {
    let allow: Vec<&str> = sites.iter().map(|site| site.host.as_str()).collect();
    let config = format!("[http]\nallow = {}\n[limits]\ncalls = 0\n{more}", json!(allow));
    Hob::with(Setup { config, ..Setup::default() })
}

pub fn open(hob: &Hob, url: &str) -> Value {
    hob.result("browser_navigate", json!({"url": url}))
}

pub fn text(hob: &Hob) -> String {
    hob.result("browser_extract_text", json!({}))["text"].as_str().unwrap().to_owned()
}

pub fn refusal(hob: &Hob, tool: &str, arguments: Value) -> String {
    let reply = hob.call(tool, arguments);
    assert!((400..600).contains(&reply.status), "{}", reply.text());
    reply.json()["error"]["message"].as_str().unwrap().to_owned()
}

/// A shop whose pages are made by a script.
fn shop() -> Site {
    Site::start(|path, request| match path {
        "/" => page(
            "<title>Boats</title><div id=root></div><script>\
             root.innerHTML = '<h1>Boats for hire</h1><nav><a id=more href=/more>More boats</a> <a href=/new target=_blank>In a new page</a></nav>\
               <form action=/order method=post><label>Name <input name=who value=nobody></label>\
               <label>Day <input type=date name=day></label><select name=kind aria-label=Kind><option value=r>Rowing boat<option value=s>Sailing boat</select>\
               <input type=password name=pin value=4711><button>Order now</button></form>\
               <button id=hidden style=display:none>Nobody sees me</button><p style=\"opacity:0\">invisible words</p>\
               <p style=\"position:absolute;left:-9999px\">words beside the page</p><div id=out></div>';\
             document.querySelector('input[name=who]').oninput = e => out.textContent = 'typed ' + e.target.value;\
             </script>",
        ),
        "/order" => page(format!("<title>Ordered</title><p>{}", request.rsplit("\r\n\r\n").next().unwrap())),
        "/more" => page("<title>More</title><p>A ferry."),
        "/new" => page("<title>New</title><p>A new page. <a id=end href='javascript:close()'>Close it</a>"),
        _ => answer("404 Not Found", "content-type: text/html\r\n", "<p>Nothing here."),
    })
}

#[test]
fn a_page_made_by_a_script_is_read_and_used() {
    let site = shop();
    let hob = hob_at(&[&site], "");
    let opened = open(&hob, &site.url("/"));
    assert_eq!(
        (&opened["title"], &opened["status"], opened["url"].as_str()),
        (&json!("Boats"), &json!(200), Some(&*site.url("/")))
    );
    let read = hob.result("browser_extract_text", json!({}));
    let words = read["text"].as_str().unwrap();
    for part in [
        "# Boats for hire",
        &format!("[More boats]({})", site.url("/more")),
        "Name: nobody",
        "Kind: Rowing boat",
        "button: Order now",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    // What nobody sees is no text, and neither is a password.
    for hidden in ["Nobody sees me", "invisible words", "beside the page", "4711", "root.innerHTML"] {
        assert!(!words.contains(hidden), "{hidden}: {words}");
    }
    assert_eq!(read["hiddenRemoved"], 3, "{read}");
    let part = hob.result("browser_extract_text", json!({"selector": "h1", "max_chars": 7}));
    assert_eq!((&part["text"], &part["nextOffset"]), (&json!("# Boats"), &json!(7)));
    let html = |arguments: Value| hob.result("browser_extract_html", arguments)["html"].as_str().unwrap().to_owned();
    assert_eq!(html(json!({"selector": "h1"})), "Boats for hire");
    assert_eq!(html(json!({"selector": "h1", "outer": true})), "<h1>Boats for hire</h1>");
    assert!(html(json!({})).contains("<script>") && html(json!({"offset": 3, "max_chars": 4})).len() == 4);
    // A field by its label; its events are those of a keyboard.
    hob.result("browser_type", json!({"selector": "Name", "text": "Nora", "clear_first": true}));
    hob.result("browser_type", json!({"selector": "input[name=who]", "text": " Quist"}));
    assert!(text(&hob).contains("typed Nora Quist"), "{}", text(&hob));
    hob.result("browser_type", json!({"selector": "input[type=date]", "text": "2026-11-28"}));
    assert_eq!(
        hob.result("browser_type", json!({"selector": "Kind", "text": "sailing boat"}))["chosen"],
        "sailing boat"
    );
    let ordered = hob.result("browser_click", json!({"selector": "Order now"}));
    assert_eq!((&ordered["title"], &ordered["ok"]), (&json!("Ordered"), &json!(true)), "{ordered}");
    assert_eq!(text(&hob), "who=Nora+Quist&day=2026-11-28&kind=s&pin=4711");
    // Enter sends a form too.
    open(&hob, &site.url("/"));
    hob.result("browser_type", json!({"selector": "[name=who]", "text": "Olu\n", "clear_first": true}));
    assert_eq!(text(&hob), "who=Olu&day=&kind=r&pin=4711");
    // A new page is the current one until it closes.
    open(&hob, &site.url("/"));
    let new = hob.result("browser_click", json!({"selector": "In a new page"}));
    assert_eq!((&new["title"], &new["newPage"]), (&json!("New"), &json!(true)), "{new}");
    let back = hob.result("browser_click", json!({"selector": "#end"}));
    assert_eq!(back["title"], "Boats", "{back}");
    assert_eq!(hob.result("browser_click", json!({"selector": "#more"}))["title"], "More");
    let missing = open(&hob, &site.url("/missing"));
    assert_eq!((&missing["status"], &missing["ok"]), (&json!(404), &json!(false)));
    // Closed is closed.
    assert_eq!(hob.result("browser_close", json!({})), json!({"ok": true, "wasOpen": true}));
    for tool in ["browser_extract_text", "browser_extract_html", "browser_screenshot"] {
        let why = hob.call(tool, json!({})).refusal(404, "not_found");
        assert!(why.contains("open one with browser_navigate"), "{why}");
    }
    assert_eq!(hob.result("browser_close", json!({}))["wasOpen"], false);
}

#[test]
fn code_runs_in_the_page() {
    let site = Site::start(|_, _| page("<title>Code</title><script>var boats = [1, 2, {name: 'ferry'}]</script><p>x"));
    let hob = hob_at(&[&site], "");
    open(&hob, &site.url("/"));
    let result = |code: &str| hob.result("browser_evaluate", json!({"code": code}))["result"].take();
    for (code, expected) in [
        ("boats[2].name", json!("ferry")),
        ("1 + 1;", json!(2)),
        ("const n = boats.length; return n * 2", json!(6)),
        ("() => boats", json!([1, 2, {"name": "ferry"}])),
        ("await new Promise(done => setTimeout(() => done('later'), 20))", json!("later")),
        ("undefined", json!(null)),
        ("({a: 1})", json!({"a": 1})),
        ("document.title = 'Changed'; // and more", json!("Changed")),
    ] {
        assert_eq!(result(code), expected, "{code}");
    }
    assert_eq!(hob.result("browser_extract_text", json!({}))["title"], "Changed");
    let long = hob.result("browser_evaluate", json!({"code": "'x'.repeat(5000000)"}));
    assert!(long["isCut"] == true && long["result"].as_str().unwrap().len() < 60_000);
    for (code, says) in [
        ("nothing.there", "ReferenceError"),
        ("throw new Error('no boats')", "no boats"),
        ("JSON.parse('{')", "SyntaxError"),
        ("return (", "SyntaxError"),
    ] {
        let why = refusal(&hob, "browser_evaluate", json!({"code": code}));
        assert!(why.contains(says), "{code}: {why}");
    }
    // What goes on to another page is no error.
    let gone = hob.result("browser_evaluate", json!({"code": "location.href = '/other'"}));
    assert_eq!(gone["url"], site.url("/other"), "{gone}");
    hob.call("browser_evaluate", json!({"code": " "})).refusal(400, "bad_args");
}

#[test]
fn a_picture_of_a_page_is_in_the_answer_and_in_the_workspace() {
    let site = Site::start(|_, _| {
        page(
            "<title>Tall</title><body style='margin:0'><div id=box style='width:300px;height:120px;background:#f80'></div><p style='height:3000px'>x",
        )
    });
    let hob = hob_at(&[&site], "");
    open(&hob, &site.url("/"));
    let picture = |arguments: Value| hob.result("browser_screenshot", arguments);
    let view = picture(json!({}));
    assert_eq!(
        (&view["width"], &view["height"], &view["mediaType"]),
        (&json!(1280), &json!(800), &json!("image/png")),
        "{view}"
    );
    let bytes = BASE64_STANDARD.decode(view["image"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"\x89PNG"));
    let file = hob.get(view["pictureUrl"].as_str().unwrap());
    assert!(file.status == 200 && file.body == bytes, "{}", file.status);
    let part = picture(json!({"selector": "#box"}));
    assert_eq!((&part["width"], &part["height"]), (&json!(300), &json!(120)), "{part}");
    assert_ne!(part["path"], view["path"]);
    let whole = picture(json!({"full_page": true}));
    assert!(whole["height"].as_u64().unwrap() > 3000 && whole["mediaType"] == "image/jpeg", "{whole}");
    let listed = hob.result("file_info", json!({"path": view["path"]}));
    assert_eq!(listed["outside"], true, "{listed}");
}

#[test]
fn what_a_page_gives_to_save_is_in_the_workspace() {
    let site = Site::start(|path, _| {
        let file = |name: &str, kind: &str, body: &str| {
            let head = format!("content-type: {kind}\r\ncontent-disposition: attachment; filename=\"{name}\"\r\n");
            answer("200 OK", &head, body)
        };
        match path {
            "/plan" => file("../../plan.csv", "text/csv", "ferry,noon\n"),
            "/page.pdf" => answer("200 OK", "content-type: application/pdf\r\n", "%PDF-1.4 nothing"),
            _ => page(
                "<title>Files</title><a href=/plan>The plan</a><script>function many() { for (let n = 0; n < 12; n += 1) \
                       { const a = document.createElement('a'); a.href = 'data:text/plain,' + n; a.download = n + '.txt'; a.click(); } }</script>",
            ),
        }
    });
    let hob = hob_at(&[&site], "");
    open(&hob, &site.url("/"));
    let saved = hob.result("browser_click", json!({"selector": "The plan"}));
    let path = saved["downloads"][0]["path"].as_str().unwrap_or_else(|| panic!("{saved}")).to_owned();
    assert_eq!(saved["title"], "Files");
    assert!(path.starts_with("downloads/") && path.ends_with("plan.csv") && !path.contains(".."), "{path}");
    assert!(hob.result("read_file", json!({"path": path})).to_string().contains("ferry,noon"));
    assert_eq!(hob.result("file_info", json!({"path": path}))["outside"], true);
    // By its address, and a PDF, which a browser would show.
    for address in ["/plan", "/page.pdf"] {
        let direct = open(&hob, &site.url(address));
        let one = direct["downloads"][0]["path"].as_str().unwrap_or_else(|| panic!("{direct}"));
        assert!(one != path && direct["note"].as_str().unwrap().contains("a file and no page"), "{direct}");
    }
    // Some at once, and no more than that.
    let many = hob.result("browser_evaluate", json!({"code": "many()"}));
    let listed = hob.result("list_directory", json!({"path": "downloads"}));
    let count = listed["entries"].as_array().or(listed["files"].as_array()).map_or(0, Vec::len);
    assert!((3..=9).contains(&count), "{many} {listed}");
    let folder = hob.data().join("browser");
    hob.result("browser_close", json!({}));
    until("the end of what is not saved", || std::fs::read_dir(&folder).is_ok_and(|mut all| all.next().is_none()));
}

#[test]
fn each_conversation_has_a_browser_of_its_own() {
    let site = Site::start(|path, request| {
        let cookie = request.lines().find(|line| line.to_lowercase().starts_with("cookie:")).unwrap_or("cookie: none");
        let head = "content-type: text/html\r\nset-cookie: who=first; Path=/\r\n";
        let set = if path == "/set" { head } else { "content-type: text/html\r\n" };
        answer("200 OK", set, format!("<p>{cookie}"))
    });
    let (hob, server) = that_waits(1, &format!("[http]\nallow = [{:?}]", site.host));
    let visit = |path: &str, conversation: Option<&Value>| {
        server.script(vec![
            calls(&[("browser_navigate", json!({"url": site.url(path)}))]),
            calls(&[("browser_extract_text", json!({}))]),
            says("done"),
        ]);
        let said = json!({"message": format!("what does {} say?", site.url(path)), "conversationId": conversation});
        let told = hob.post("/api/v1/chat", said).data(200);
        (told["conversationId"].clone(), told["toolCalls"][1]["result"].to_string())
    };
    let (first, _) = visit("/set", None);
    assert!(visit("/look", Some(&first)).1.contains("who=first"), "it stays in its conversation");
    let (second, seen) = visit("/look", None);
    assert!(seen.contains("cookie: none"), "{seen}");
    // Two are open; for a third, the one that was not used for longest is closed.
    visit("/look", None);
    assert!(visit("/look", Some(&first)).1.contains("cookie: none"), "the first one is gone");
    // With its conversation a browser goes, too.
    visit("/set", Some(&second));
    let inside = || std::fs::read_dir(hob.data().join("browser")).unwrap().count();
    assert_eq!(inside(), 2);
    let path = format!("/api/v1/conversations/{}", second.as_str().unwrap());
    assert_eq!(hob.admin("DELETE", &path).send().status / 100, 2);
    until("the end of its browser", || inside() == 1);
}

#[test]
fn a_browser_that_nobody_uses_is_closed() {
    let site = Site::start(|_, _| page("<p>still here"));
    let mut hob = hob_at(&[&site], "[browser]\nidle_seconds = 1");
    open(&hob, &site.url("/"));
    until("the end of the browser", || std::fs::read_dir(hob.data().join("browser")).unwrap().next().is_none());
    hob.call("browser_extract_text", json!({})).refusal(404, "not_found");
    open(&hob, &site.url("/"));
    // None is left behind by a daemon that stops.
    hob.stop();
    assert!(!chromium_of(&hob), "a browser outlives its daemon");
}

/// Whether a Chromium runs whose downloads arrive in this daemon's folder.
fn chromium_of(hob: &Hob) -> bool {
    processes(hob).next().is_some()
}

/// The processes that were started with a mount of this daemon's folder of downloads.
pub fn processes(hob: &Hob) -> impl Iterator<Item = i32> {
    let folder = hob.data().join("browser").to_string_lossy().into_owned();
    let pids =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of = move |pid: &i32| {
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        let name = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let inner = folder.rsplit("hob-test-").next().unwrap_or_default();
        mounts.contains(inner) && name.contains("chrom")
    };
    pids.filter(of).collect::<Vec<i32>>().into_iter()
}

#[test]
fn a_browser_that_is_killed_or_needs_too_much_is_told_of_and_replaced() {
    let site = Site::start(|path, _| match path {
        "/silent" => Reply::Silent,
        "/greedy" => page(
            "<title>Greedy</title><script>onclick = () => { window.all = []; \
                           setInterval(() => all.push(new Array(1e6).fill(Math.random())), 5) }</script><p>click",
        ),
        "/blocks" => page(
            "<title>Blocks</title><script>var all = [], is_full = false; const more = setInterval(() => { try { \
                           all.push(new Uint8Array(20e6).fill(all.length + 1)) } catch { is_full = true; clearInterval(more) } }, 5)</script>",
        ),
        _ => page("<title>Here</title><p>still here"),
    });
    let hob = hob_at(&[&site], "[browser]\nmemory_mb = 400");
    open(&hob, &site.url("/"));
    let all: Vec<i32> = processes(&hob).collect();
    assert!(!all.is_empty());
    for pid in all {
        let _ =
            rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL);
    }
    // It is noticed at once or by the next call.
    let mut why = String::new();
    until("a word about the end", || {
        let reply = hob.call("browser_extract_text", json!({}));
        why = reply.text();
        reply.status != 200
    });
    assert!(
        why.contains("open the page again") || why.contains("Open the page again") || why.contains("it again"),
        "{why}"
    );
    assert_eq!(open(&hob, &site.url("/"))["title"], "Here");
    // Killed while a page loads.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| refusal(&hob, "browser_navigate", json!({"url": site.url("/silent")})));
        until("the request", || site.lines().iter().any(|line| line.ends_with("/silent")));
        for pid in processes(&hob) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        let why = waiting.join().unwrap();
        assert!(why.contains("browser_navigate"), "{why}");
    });
    // Memory: the page or the browser ends, and the device goes on.
    open(&hob, &site.url("/greedy"));
    // The click is answered, or the page has ended by then.
    let mut reply = hob.call("browser_click", json!({"selector": "p"}));
    until("the end of what is too much", || {
        if reply.status == 200 {
            reply = hob.call("browser_extract_text", json!({}));
        }
        reply.status != 200
    });
    why = reply.text();
    assert!(why.contains("memory"), "{why}");
    assert_eq!(open(&hob, &site.url("/"))["title"], "Here");
    assert_eq!(text(&hob), "still here");
    // What is not of JavaScript's heap is bounded, too: the page gets no more, or the browser ends.
    open(&hob, &site.url("/blocks"));
    until("the bound", || {
        let reply = hob.call("browser_evaluate", json!({"code": "is_full"}));
        let used: u64 = processes(&hob).map(own_memory).sum();
        assert!(used < 500 << 20, "{used} bytes");
        reply.status != 200 || reply.json()["data"]["result"]["result"] == true
    });
    assert_eq!(open(&hob, &site.url("/"))["title"], "Here");
}

/// Bytes of memory of a process that are no file's.
fn own_memory(pid: i32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss_Anon:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

#[test]
fn where_there_is_no_chromium_it_says_so() {
    let hob = hob_at(&[], "[browser]\nprogram = \"no-such-browser\"");
    let why = hob.call("browser_navigate", json!({"url": "https://example.org/"}));
    let why = why.refusal(409, "unavailable");
    assert!(why.contains("no-such-browser") && why.contains("apt-get install chromium"), "{why}");
    let doctor = hob.get("/api/v1/doctor").data(200);
    let line = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "browser").unwrap();
    assert!(line["text"].as_str().unwrap().contains("apt-get install chromium"), "{line}");
}
