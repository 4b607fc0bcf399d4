//! The family of browser tools and what the policy knows of each.

use crate::{
    BrowserTools,
    act::{browser_click, browser_evaluate, browser_type},
    navigate::{browser_close, browser_navigate},
    read::{browser_extract_html, browser_extract_text, browser_screenshot},
};
use std::time::Duration;
use tool::prelude::*;

/// Longer than a start, a load and its downloads.
const TIMEOUT: Duration = Duration::from_secs(200);

/// Names of parameters in other APIs.
const NAVIGATE: &[(&str, &str)] = &[
    ("uri", "url"),
    ("link", "url"),
    ("address", "url"),
    ("page", "url"),
    ("waitUntil", "wait_until"),
    ("wait_for", "wait_until"),
];
const ELEMENT: &[(&str, &str)] = &[
    ("element", "selector"),
    ("css", "selector"),
    ("target", "selector"),
    ("ref", "selector"),
    ("fullPage", "full_page"),
    ("maxChars", "max_chars"),
    ("max_length", "max_chars"),
    ("limit", "max_chars"),
];
const TYPE: &[(&str, &str)] = &[
    ("element", "selector"),
    ("css", "selector"),
    ("target", "selector"),
    ("ref", "selector"),
    ("value", "text"),
    ("content", "text"),
    ("clearFirst", "clear_first"),
    ("clear", "clear_first"),
];
const CODE: &[(&str, &str)] =
    &[("script", "code"), ("expression", "code"), ("javascript", "code"), ("js", "code"), ("function", "code")];

/// Tools for pages in a browser.
pub fn family(tools: BrowserTools) -> Family<BrowserTools> {
    Family::new("browser", "Open web pages in a browser, read them and use them.", tools)
        .title("Browser")
        .area(Area::NetworkRead)
        .tool("browser_navigate", Risk::Observe, browser_navigate)
        .runs_pages()
        .synonyms(NAVIGATE)
        .not_idempotent()
        .timeout(TIMEOUT)
        .shows(&["wait_until"])
        .tags("open visit web page site chromium chrome javascript dynamic headless go to url")
        .example(json!({"url": "https://example.org/timetable"}))
        .tool("browser_screenshot", Risk::Observe, browser_screenshot)
        .synonyms(ELEMENT)
        .not_idempotent()
        .timeout(TIMEOUT)
        .shows(&["selector", "full_page"])
        .tags("picture image capture photo screen page look png")
        .example(json!({"full_page": true}))
        .tool("browser_click", Risk::Observe, browser_click)
        .own_area(Area::NetworkWrite)
        .synonyms(ELEMENT)
        .not_idempotent()
        .timeout(TIMEOUT)
        .tags("press button link submit form tap web page")
        .example(json!({"selector": "button[type=submit]"}))
        .example(json!({"selector": "Accept all"}))
        .tool("browser_type", Risk::Observe, browser_type)
        .own_area(Area::NetworkWrite)
        .synonyms(TYPE)
        .not_idempotent()
        .timeout(TIMEOUT)
        .shows(&["clear_first"])
        .tags("fill in enter text input field form write select choose web page")
        .example(json!({"selector": "input[name=q]", "text": "ferries\n", "clear_first": true}))
        .tool("browser_extract_text", Risk::Observe, browser_extract_text)
        .synonyms(ELEMENT)
        .timeout(TIMEOUT)
        .shows(&["selector", "offset"])
        .tags("read web page content markdown text scrape")
        .example(json!({"selector": "main"}))
        .tool("browser_extract_html", Risk::Observe, browser_extract_html)
        .synonyms(ELEMENT)
        .timeout(TIMEOUT)
        .shows(&["selector", "outer"])
        .tags("html source markup dom scrape web page")
        .example(json!({"selector": "table", "outer": true}))
        .tool("browser_evaluate", Risk::Observe, browser_evaluate)
        .own_area(Area::NetworkWrite)
        .synonyms(CODE)
        .not_idempotent()
        .timeout(TIMEOUT)
        .tags("run javascript code script in web page console")
        .example(json!({"code": "document.querySelectorAll('a').length"}))
        .tool("browser_close", Risk::Observe, browser_close)
        .timeout(TIMEOUT)
        .tags("end quit browser page")
}
