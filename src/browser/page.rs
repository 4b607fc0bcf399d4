//! What is done with the current page: load a document, click, type, run code, take a picture.

use crate::{
    Browser, Error, Result,
    browser::ANSWER,
    state::{PageState, State},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a document may take.
const LOAD: Duration = Duration::from_secs(30);
/// How long code may take that a caller runs in a page, and the most characters of its result.
const CODE: Duration = Duration::from_secs(20);
const RESULT: usize = 50_000;
/// How long is waited for something to begin after a click, and for what has announced itself.
const BEGINS: Duration = Duration::from_millis(400);
const ANNOUNCED: Duration = Duration::from_secs(3);
/// The largest part of a page that a picture shows, in pixels of CSS, and how many pixels it has: more is scaled down, because each
/// costs memory several times. Larger ones than `LOSSLESS` are JPEG.
const WIDEST: f64 = 4_000.0;
const TALLEST: f64 = 8_000.0;
const PIXELS: f64 = 10_240_000.0;
const LOSSLESS: f64 = 2_000_000.0;
const QUALITY: u32 = 80;

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The document with its pictures and frames.
    Load,
    /// The document alone.
    Parsed,
    /// Nothing is fetched any more.
    Idle,
}

/// A document that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Navigated {
    /// The status of the answer.
    pub status: Option<u16>,
    /// Whether what was waited for has come; else the page is shown as far as it is there.
    pub is_complete: bool,
    /// The address gave a file and no page.
    pub is_download: bool,
}

/// A part of the page in pixels of CSS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A picture of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screenshot {
    pub bytes: Vec<u8>,
    pub media_type: &'static str,
    pub width: u32,
    pub height: u32,
    /// It shows less than there is, or smaller.
    pub is_reduced: bool,
}

impl Browser {
    /// Loads an address in the current page.
    ///
    /// # Errors
    /// `NotLoaded` with Chromium's words; `Ended`, `Crashed`, `Silent`.
    pub async fn navigate(&self, url: &str, wait: Wait) -> Result<Navigated> {
        let page = self.page_or_new().await?;
        let began = std::time::Instant::now();
        let answer = match self.call(&page, "Page.navigate", json!({"url": url}), LOAD).await {
            Err(Error::Silent(seconds)) => {
                // The server keeps it waiting, or the page that is there does.
                self.call(&page, "Page.stopLoading", json!({}), ANSWER).await?;
                return Err(Error::NotLoaded(format!("the server did not answer within {seconds} s")));
            }
            answer => answer?,
        };
        let problem = answer["errorText"].as_str().unwrap_or_default();
        if answer["isDownload"] == true || problem == "net::ERR_ABORTED" {
            let comes = |state: &mut State| state.has_new_downloads().then_some(());
            return match self.events.until(ANNOUNCED, comes).await {
                None => Err(Error::NotLoaded("the server gave no page".into())),
                Some(()) => Ok(Navigated { status: None, is_complete: true, is_download: true }),
            };
        }
        if !problem.is_empty() {
            return Err(Error::NotLoaded(explain(problem)));
        }
        let Some(loader) = answer["loaderId"].as_str() else {
            // Another place of the same document.
            return Ok(Navigated { status: None, is_complete: true, is_download: false });
        };
        let (mut has_begun, link) = (false, &self.link);
        let arrived = |state: &mut State| match state.page(&page.session) {
            // A script may have gone on to another document since.
            Some(page) if !page.is_crashed => {
                has_begun |= page.loader == loader;
                (has_begun && has_reached(page, wait) || link.is_ended()).then_some(())
            }
            _ => Some(()),
        };
        let is_complete = self.events.until(LOAD.saturating_sub(began.elapsed()), arrived).await.is_some();
        let page = self.page()?;
        if !is_complete {
            self.link.post(Some(&page.session), "Page.stopLoading", json!({}));
        }
        let status = page.status.filter(|(of, _)| *of == page.loader).map(|(_, status)| status);
        Ok(Navigated { status, is_complete, is_download: false })
    }

    /// Goes to an empty page.
    ///
    /// # Errors
    /// `Ended`, `Crashed`, `Silent`.
    pub async fn leave(&self) -> Result<()> {
        let page = self.page()?;
        self.call(&page, "Page.navigate", json!({"url": "about:blank"}), ANSWER).await.map(drop)
    }

    /// Clicks at a point of the view, and waits for what it leads to.
    ///
    /// # Errors
    /// `Ended`, `Crashed`, `Silent`.
    pub async fn click(&self, x: f64, y: f64) -> Result<()> {
        let page = self.page()?;
        self.events.with(|state| state.opening = false);
        for (kind, button) in [("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")] {
            let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
            self.input(&page, "Input.dispatchMouseEvent", event).await?;
        }
        self.settle(&page).await
    }

    /// Sends an input event. A page that closes itself upon it is no error.
    async fn input(&self, page: &PageState, method: &str, event: Value) -> Result<()> {
        match self.call(page, method, event, ANSWER).await {
            Err(Error::Crashed) if self.events.with(|state| state.page(&page.session).is_none()) => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Waits for a page that input or code has begun to load or open.
    pub async fn settle_current(&self) -> Result<()> {
        let page = self.page()?;
        self.settle(&page).await
    }

    pub(crate) async fn settle(&self, before: &PageState) -> Result<()> {
        let moves = |page: &PageState| page.is_loading || page.is_requested || page.loader != before.loader;
        let link = &self.link;
        let begins = |state: &mut State| {
            let page = state.current();
            let begins = page.is_none_or(|page| page.session != before.session || moves(page)) || state.opening;
            (begins || link.is_ended()).then_some(())
        };
        if self.events.until(BEGINS, begins).await.is_none() {
            return Ok(());
        }
        // A page may announce another one and not open it.
        let announced = |state: &mut State| {
            let waits = state.opening || state.current().is_some_and(|page| page.is_requested);
            (!waits || link.is_ended()).then_some(())
        };
        self.events.until(ANNOUNCED, announced).await;
        self.events.with(|state| state.opening = false);
        let loaded = |state: &mut State| {
            let done = state.current().is_none_or(|page| page.is_crashed || !page.is_loading && page.reached.loaded);
            (done || link.is_ended()).then_some(())
        };
        self.events.until(LOAD, loaded).await;
        match self.page() {
            Ok(_) | Err(Error::NoPage) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs code in the page, among its own scripts, and returns its result as JSON: an expression, or statements. A promise is
    /// waited for, and a function called. The second part says that the result was cut.
    ///
    /// # Errors
    /// `Failed` with what the code throws; `Ended`, `Crashed`, `Silent`.
    pub async fn evaluate(&self, code: &str) -> Result<(String, bool)> {
        let page = self.page()?;
        // What has no JSON form becomes null.
        let wrapped = |body: &str| {
            format!(
                "(async () => {{ const made = await (async () => {{ {body}\n }})(); \
                 const result = typeof made === 'function' ? await made() : made; \
                 const text = JSON.stringify(result) ?? 'null'; \
                 return [text.slice(0, {RESULT}), text.length > {RESULT}]; }})()"
            )
        };
        let expression = code.trim().trim_end_matches(';');
        let mut answer = self.run(&page, &wrapped(&format!("return (\n{expression}\n);"))).await?;
        // It was not run at all: it is no expression. The value of statements is that of the last one, unless they say `return`.
        if is_no_code(&answer) {
            let has_own = ["return", "await"].iter().any(|word| code.contains(word));
            let last = format!("return (0, eval)({});", Value::from(code));
            answer = self.run(&page, &wrapped(if has_own { code } else { &last })).await?;
        }
        if let Some(problem) = answer.get("exceptionDetails") {
            let thrown = &problem["exception"];
            let text = thrown["description"].as_str().or(thrown["value"].as_str()).or(problem["text"].as_str());
            return Err(Error::Failed(text_kit::truncate(text.unwrap_or("it threw something"), 1000)));
        }
        let made = &answer["result"]["value"];
        let text = made[0].as_str().unwrap_or("null");
        Ok((text.to_owned(), made[1] == true))
    }

    async fn run(&self, page: &PageState, code: &str) -> Result<Value> {
        let limit = CODE.as_millis() as u64;
        let params = json!({"expression": code, "awaitPromise": true, "returnByValue": true, "timeout": limit, "userGesture": false});
        match self.call(page, "Runtime.evaluate", params, CODE + Duration::from_secs(5)).await {
            // The document it ran in is gone, which the code may have asked for.
            Err(Error::Failed(why)) if why.contains("context was destroyed") || why.contains("navigated") => {
                Ok(json!({"result": {"value": ["null", false]}}))
            }
            answer => answer,
        }
    }

    /// Takes a picture: of the view, of a part of the page, or of all of it.
    ///
    /// # Errors
    /// `Failed` where Chromium makes none; `Ended`, `Crashed`, `Silent`.
    pub async fn screenshot(&self, area: Option<Area>, full: bool) -> Result<Screenshot> {
        let page = self.page()?;
        let area = match area {
            None if full => {
                let metrics = self.call(&page, "Page.getLayoutMetrics", json!({}), ANSWER).await?;
                let size = &metrics["cssContentSize"];
                let side = |name: &str| size[name].as_f64().unwrap_or(0.0);
                Some(Area { x: 0.0, y: 0.0, width: side("width"), height: side("height") })
            }
            area => area,
        };
        let mut params = json!({"format": "png"});
        let (mut media_type, mut is_reduced) = ("image/png", false);
        if let Some(area) = area {
            let (width, height) = (area.width.clamp(1.0, WIDEST), area.height.clamp(1.0, TALLEST));
            let scale = (PIXELS / (width * height)).sqrt().min(1.0);
            is_reduced = scale < 1.0 || area.width > WIDEST || area.height > TALLEST;
            params["clip"] = json!({"x": area.x, "y": area.y, "width": width, "height": height, "scale": scale});
            params["captureBeyondViewport"] = true.into();
            if width * height > LOSSLESS {
                params["format"] = "jpeg".into();
                params["quality"] = QUALITY.into();
                media_type = "image/jpeg";
            }
        }
        let answer = self.call(&page, "Page.captureScreenshot", params.clone(), ANSWER).await?;
        let bytes = BASE64_STANDARD.decode(answer["data"].as_str().unwrap_or_default()).unwrap_or_default();
        let (width, height) = match png_size(&bytes) {
            Some(size) => size,
            None => {
                let clip = |name: &str| params["clip"][name].as_f64().unwrap_or(0.0);
                let side = |name: &str| (clip(name) * clip("scale")).round() as u32;
                (side("width"), side("height"))
            }
        };
        if bytes.is_empty() {
            return Err(Error::Failed("Chromium made no picture of the page".into()));
        }
        Ok(Screenshot { bytes, media_type, width, height, is_reduced })
    }
}

fn has_reached(page: &PageState, wait: Wait) -> bool {
    match wait {
        Wait::Load => page.reached.loaded,
        Wait::Parsed => page.reached.parsed || page.reached.loaded,
        Wait::Idle => page.reached.idle && page.reached.loaded,
    }
}

/// Whether an answer says that the code could not be read, so that nothing ran.
fn is_no_code(answer: &Value) -> bool {
    let problem = &answer["exceptionDetails"];
    // What is thrown while it runs comes out of a promise.
    problem["exception"]["className"] == "SyntaxError" && problem["text"] == "Uncaught"
}

/// The size in the head of a PNG.
fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let side = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    bytes.starts_with(b"\x89PNG").then(|| Some((side(16)?, side(20)?)))?
}

/// Chromium's word for what went wrong, in a sentence.
fn explain(problem: &str) -> String {
    let why = match problem.trim_start_matches("net::") {
        "ERR_NAME_NOT_RESOLVED" => "its name is not known",
        "ERR_TUNNEL_CONNECTION_FAILED" | "ERR_PROXY_CONNECTION_FAILED" | "ERR_CONNECTION_REFUSED" => {
            "it could not be reached"
        }
        "ERR_EMPTY_RESPONSE" | "ERR_CONNECTION_CLOSED" | "ERR_CONNECTION_RESET" => "it gave no answer",
        "ERR_TIMED_OUT" | "ERR_CONNECTION_TIMED_OUT" => "it did not answer in time",
        "ERR_INVALID_AUTH_CREDENTIALS" => {
            "it asks for a user name and password by HTTP authentication, which a browser without a person cannot answer: \
             http_request can send them in an `authorization` header"
        }
        "ERR_TOO_MANY_REDIRECTS" => "it redirects in a circle",
        "ERR_UNSAFE_REDIRECT" | "ERR_UNKNOWN_URL_SCHEME" => "it redirects to an address that is not http or https",
        "ERR_BLOCKED_BY_CLIENT" | "ERR_BLOCKED_BY_RESPONSE" => "it may not be shown",
        cert if cert.starts_with("ERR_CERT") || cert.starts_with("ERR_SSL") => {
            "its certificate or encryption cannot be trusted"
        }
        _ => "it could not be loaded",
    };
    format!("{why} ({})", text_kit::truncate(problem, 80))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Reached;

    #[test]
    fn what_is_waited_for_is_reached_in_order() {
        let page =
            |parsed, loaded, idle| PageState { reached: Reached { parsed, loaded, idle }, ..PageState::default() };
        for (page, load, parsed, idle) in [
            (page(false, false, false), false, false, false),
            (page(true, false, false), false, true, false),
            (page(true, true, false), true, true, false),
            (page(true, true, true), true, true, true),
        ] {
            let reached = [Wait::Load, Wait::Parsed, Wait::Idle].map(|wait| has_reached(&page, wait));
            assert_eq!(reached, [load, parsed, idle], "{page:?}");
        }
    }

    #[test]
    fn answers_are_read() {
        let thrown =
            |class: &str, text: &str| json!({"exceptionDetails": {"text": text, "exception": {"className": class}}});
        assert!(is_no_code(&thrown("SyntaxError", "Uncaught")));
        assert!(
            !is_no_code(&thrown("SyntaxError", "Uncaught (in promise)")) && !is_no_code(&thrown("Error", "Uncaught"))
        );
        assert_eq!(png_size(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03\x20"), Some((1280, 800)));
        assert_eq!((png_size(b"\x89PNG"), png_size(b"")), (None, None));
        assert!(
            explain("net::ERR_NAME_NOT_RESOLVED").contains("not known")
                && explain("net::ERR_CERT_DATE_INVALID").contains("certificate")
                && explain("net::ERR_INVALID_AUTH_CREDENTIALS").contains("user name and password")
        );
    }
}
