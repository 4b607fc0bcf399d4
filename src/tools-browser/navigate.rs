//! The tools that open and close pages.

use crate::{
    BrowserTools,
    answer::{finish, note, place},
    gate::{Place, may_reach},
    open::InUse,
};
use browser::Wait;
use tool::{Label, prelude::*};
use url::Url;

/// Open a web page in a browser that runs its JavaScript, and return {url, title, status}. The browser stays open for this
/// conversation, with its cookies, until browser_close or 5 minutes without use; read the page with browser_extract_text. Addresses
/// in the home are refused unless an admin allowed them. For plain articles fetch_web_page is faster.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserNavigate {
    /// http or https URL.
    url: String,
    /// load (default): with pictures and frames; domcontentloaded: the document alone; networkidle: until nothing more is fetched.
    /// At most 30 s.
    #[serde(default)]
    wait_until: WaitUntil,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WaitUntil {
    #[default]
    Load,
    DomContentLoaded,
    NetworkIdle,
}

/// Close the browser of this conversation. Its pages, cookies and sign-ins are gone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserClose {}

pub(crate) async fn browser_navigate(tools: BrowserTools, cx: Cx, args: BrowserNavigate) -> Result<Output> {
    let url = address(&args.url)?;
    let host = tools.web().check(url.as_str())?;
    may_reach(&cx, &host).await?;
    let place = Place::of(tools.web(), &url).await?;
    let mut in_use = tools.open(&cx, place).await?;
    // Whatever comes from here on, even an error, is a stranger's word.
    cx.taint(Label::Outside);
    in_use.opened()?.gate.open(&host);
    let left = in_use.left();
    match load(&cx, &mut in_use, &url, args.wait_until).await {
        Ok(mut output) => {
            if let Some(left) = left {
                note(&mut output.content, &left);
            }
            Ok(output)
        }
        Err(error) => Err(match left {
            Some(left) => {
                let text = format!("{}. {left}", error.message().trim_end_matches('.'));
                error.with_message(text)
            }
            None => error,
        }),
    }
}

async fn load(cx: &Cx, in_use: &mut InUse, url: &Url, wait_until: WaitUntil) -> Result<Output> {
    let wait = match wait_until {
        WaitUntil::Load => Wait::Load,
        WaitUntil::DomContentLoaded => Wait::Parsed,
        WaitUntil::NetworkIdle => Wait::Idle,
    };
    let browser = in_use.browser()?;
    browser.happened();
    let navigated = tokio::select! {
        navigated = browser.navigate(url.as_str(), wait) => navigated,
        () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was stopped")),
    };
    let navigated = navigated.map_err(|error| in_use.error(error))?;
    if navigated.status == Some(403) {
        refuse_if_refused(in_use).await?;
    }
    let mut content = json!({"ok": navigated.status.is_none_or(|status| status < 400)});
    if let Some(status) = navigated.status {
        content["status"] = status.into();
    }
    let is_download = navigated.is_download;
    let is_complete = navigated.is_complete;
    let mut output = finish(cx, in_use, content).await?;
    if is_download {
        let is_empty = output.content["url"] == "about:blank";
        note(
            &mut output.content,
            match is_empty {
                true => "The address gave a file and no page.",
                false => "The address gave a file and no page; the page that was open before is still open.",
            },
        );
    } else if !is_complete {
        output.content["note"] = "The page was still loading after 30 s; this is what is there.".into();
    }
    Ok(output)
}

/// What the gate answers in place of a server looks like a page: it is an error instead.
async fn refuse_if_refused(in_use: &mut InUse) -> Result<()> {
    let (url, _) = place(in_use).await?;
    let refusals = in_use.opened()?.gate.take_refusals();
    let Ok(url) = Url::parse(&url) else { return Ok(()) };
    let Some(refusal) = refusals.into_iter().find(|refusal| refusal.is_of(&url)) else { return Ok(()) };
    let left = in_use.browser()?.leave().await;
    left.map_err(|error| in_use.error(error))?;
    Err(Error::denied(refusal.why))
}

/// The address of a page; one without a scheme gets `https://`.
fn address(text: &str) -> Result<Url> {
    let text = text.trim();
    let named = text.split_once(':').is_some_and(|(scheme, rest)| {
        let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        // `example.org:8080/` has a port.
        is_scheme && !rest.starts_with(|c: char| c.is_ascii_digit())
    });
    let with_scheme = if named { text.to_owned() } else { format!("https://{text}") };
    let url = Url::parse(&with_scheme)
        .map_err(|_| Error::bad_args("this is no address of a page: write it as https://host/path"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::bad_args(format!(
            "`{}:` is not http or https: a browser opens only these; read files with read_file",
            text_kit::truncate(url.scheme(), 20)
        )));
    }
    Ok(url)
}

pub(crate) async fn browser_close(tools: BrowserTools, cx: Cx, _: BrowserClose) -> Result<Output> {
    let was_open = tools.close(&cx);
    let sentence = if was_open { "The browser is closed." } else { "No browser was open." };
    Ok(Output::json(json!({"ok": true, "wasOpen": was_open}))?.say(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_are_opened() {
        for (text, expected) in [
            ("example.org/a", Some("https://example.org/a")),
            ("http://example.org", Some("http://example.org/")),
            ("localhost:8080/x", Some("https://localhost:8080/x")),
            ("file:///etc/passwd", None),
            ("chrome://version", None),
            ("view-source:http://a", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("about:blank", None),
            ("", None),
        ] {
            assert_eq!(address(text).ok().as_ref().map(Url::as_str), expected, "{text}");
        }
    }
}
