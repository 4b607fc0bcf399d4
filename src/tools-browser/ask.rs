//! Whether something may be done on a page. A click, a text or code may send anything to its site, so a person is asked unless they
//! make the call by hand: about this element of this page, and nothing else.

use browser::Element;
use text_kit::{one_line, truncate};
use tool::{Consult, Label, Role, prelude::*};
use url::Url;

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
    let host = host_of(act.url);
    let mut details = json!({"host": host, "page": truncate(act.url, ADDRESS)});
    if let Some(element) = act.element {
        details["element"] = format!("{} “{}”", element.tag, element.text).into();
        details["selector"] = element.selector.as_str().into();
        if !element.leads_to.is_empty() {
            details["leadsTo"] = truncate(&element.leads_to, ADDRESS).into();
        }
    }
    if let Some(text) = act.text {
        details["text"] = text.into();
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

/// The host of an address, with its port where it names one.
fn host_of(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", url.host_str().unwrap_or_default())
}
