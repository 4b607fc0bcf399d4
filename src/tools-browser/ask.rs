//! Whether something may be done on a page. A click, a text or code may send anything to its site, so a person is asked unless they
//! make the call by hand: about this element of this page, and nothing else.

use browser::Element;
use text_kit::{one_line, truncate};
use tool::{Consult, Label, Role, prelude::*};
use url::Url;

/// The text shown for a password, however long it is.
pub(crate) const DOTS: &str = "••••••••";
/// How many characters of an address, and of a text or code, a person is shown.
const ADDRESS: usize = 1_000;
const TEXT: usize = 4_000;

/// Whether a person has to be asked: taken before the page is looked at, which taints the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asks(bool);

impl Asks {
    pub fn of(cx: &Cx) -> Self {
        Self(!(cx.is_in_person() && cx.label() == Label::Own))
    }
}

/// What is to be done.
pub(crate) struct Act<'a> {
    pub tool: &'static str,
    /// The address of the page.
    pub url: &'a str,
    pub element: Option<&'a Element>,
    /// What is typed or run.
    pub text: Option<&'a str>,
    /// In a few words: `Click “Buy”`.
    pub about: String,
}

/// Asks the rules, and where it has to be a person.
///
/// # Errors
/// `Denied` to viewers, by a rule, or by the person; `BadArgs` for a text that is too long to be shown.
pub(crate) async fn may_act(cx: &Cx, asks: Asks, act: Act<'_>) -> Result<()> {
    if cx.principal().role < Role::Member {
        return Err(Error::denied(
            "using a page needs the role Member: ask an admin of this Hob, or read it with browser_extract_text",
        ));
    }
    if asks.0 && act.text.is_some_and(|text| text.chars().count() > TEXT) {
        return Err(Error::bad_args(format!(
            "a person has to approve it, and can be shown {TEXT} characters: do it in smaller parts"
        )));
    }
    if asks.0 && act.element.is_some_and(|element| element.form.as_ref().is_some_and(|form| form.is_large)) {
        return Err(Error::denied(
            "this sends a form with more than 1 MB, which nobody can check: ask the person to send it by hand",
        ));
    }
    let host = host_of(act.url);
    let mut details = json!({"host": host, "page": truncate(act.url, ADDRESS)});
    if let Some(element) = act.element {
        details["element"] = format!("{} “{}”", element.tag, element.text).into();
        details["selector"] = element.selector.as_str().into();
        if !element.leads_to.is_empty() {
            details["leadsTo"] = truncate(&element.leads_to, ADDRESS).into();
        }
    }
    if let Some(form) = act.element.and_then(|element| element.form.as_ref()) {
        details["method"] = form.method.as_str().into();
        if !form.hidden.is_empty() {
            details["hiddenFields"] = form.hidden.clone().into();
        }
    }
    match act.text {
        Some(_) if act.element.is_some_and(|element| element.is_secret) => {
            details["text"] = DOTS.into();
            // A standing grant covers what is shown, and this shows not which text it is.
            details["call"] = cx.call_id().to_string().into();
        }
        Some(text) => details["text"] = visible(text).into(),
        None => {}
    }
    let tool = act.tool;
    let consult = Consult {
        tool: tool.to_owned(),
        version: 0,
        action: "send",
        details,
        risk: Risk::Send,
        ask: asks.0,
        about: truncate(&one_line(&format!("{} at {host}", act.about)), 300),
        reason: format!("`{tool}` would use a page of {host}, which may send data there and needs a person's approval"),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

/// A text with what nobody would see in it written out: marks of direction, what has no width, control characters.
pub(crate) fn visible(text: &str) -> String {
    let mut before = ' ';
    let show = |c: char| {
        let is_seen = matches!(c, '\n' | '\t' | '\r') || html_text::without_invisible(&format!("{before}{c}")).1 == 0;
        before = if is_seen { c } else { ' ' };
        if is_seen { c.to_string() } else { c.escape_unicode().to_string() }
    };
    text.chars().map(show).collect()
}

/// The host of an address, with its port where it names one.
fn host_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}
