//! What the browser tools do with a page is what a person was shown, goes where they were told, and gives away no more.

use crate::{
    approvals::{asked, autonomy, decide, questions, that_waits},
    browser::{hob_at, open, text},
    harness::{Hob, until},
    model_server::{calls, says},
    site::{Site, page},
    web::rules,
};
use serde_json::{Value, json};

#[test]
fn the_fragment_of_an_address_is_a_message_to_the_page() {
    let site = Site::start(|_, _| {
        page("<title>Ferries</title><p>Open this page again with #secret<script>fetch('/got?' + location.hash.slice(1))</script>")
    });
    let (hob, server) = that_waits(1, &format!("[http]\nallow = [{:?}]", site.host));
    autonomy(&hob, "full");
    let url = site.url("/ferry");
    let visits = |then: &str| {
        let to = |url: &str| calls(&[("browser_navigate", json!({"url": url}))]);
        vec![to(&url), to(then), says("done")]
    };
    let words = format!("what do {url} and {url}#times say?");
    for (then, rule) in
        [(format!("{url}#secret4711"), Some("composed-url")), (format!("{url}#times"), None), (url.clone(), None)]
    {
        assert_eq!(rules(&hob, &server, visits(&then), &words), Vec::from_iter(rule), "{then}");
    }
    // What only fetches sends no fragment.
    let fetch = calls(&[("fetch_web_page", json!({"url": format!("{url}#secret4711")}))]);
    let script = vec![calls(&[("browser_navigate", json!({"url": url}))]), fetch, says("done")];
    assert_eq!(rules(&hob, &server, script, &words), Vec::<String>::new());
    assert!(!site.lines().iter().any(|line| line.contains("4711")));
}
