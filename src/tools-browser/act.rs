//! The tools that use a page: click, type, run code.

use crate::{
    BrowserTools,
    answer::{finish, place},
    ask::{Act, Asks, DOTS, may_act, visible},
    open::InUse,
};
use browser::{Aim, Element, Field, Lookup};
use text_kit::truncate;
use tool::{Label, prelude::*};

/// The most characters of a text that is typed, and of code.
const TEXT: usize = 20_000;
/// How many elements an error names.
const NAMED: usize = 12;

/// Click an element of the page that is open. Waits for the page it leads to. A person is asked first, unless they click by hand.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserClick {
    /// CSS selector of the element, or its visible text or label.
    selector: String,
}

/// Type into a field of the page that is open, or choose in a list. A person is asked first, unless they type by hand.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserType {
    /// CSS selector of the field, or its label.
    selector: String,
    /// Text to type. A line break at its end presses Enter. For a list, the option; for a date, 2026-11-28.
    text: String,
    /// Replace what is in the field (default: false).
    #[serde(default)]
    clear_first: bool,
}

/// Run JavaScript in the page that is open, and return {result}. A person is asked first, unless they run it by hand.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserEvaluate {
    /// An expression, or statements with `return`. The result is returned as JSON; a promise is waited for, 20 s at most.
    code: String,
}

/// Finds an element by its selector.
///
/// # Errors
/// `NotFound` with what could be meant; those of the browser.
pub(crate) async fn find(in_use: &mut InUse, selector: &str) -> Result<Element> {
    let selector = selector.trim();
    if selector.is_empty() || selector.len() > 2_000 {
        return Err(Error::bad_args("`selector` names an element: pass a CSS selector, or the element's visible text"));
    }
    let found = in_use.browser()?.find(selector).await;
    match found.map_err(|error| in_use.error(error))? {
        Lookup::Element(element) => Ok(element),
        Lookup::Nothing { is_invalid, near } => Err(nothing(selector, is_invalid, &near)),
    }
}

fn nothing(selector: &str, is_invalid: bool, near: &[Element]) -> Error {
    let selector = truncate(selector, 200);
    let what = match is_invalid {
        true => format!("`{selector}` is no CSS selector, and no element has this text or label"),
        false => format!("no element matches `{selector}`, and none has this text or label"),
    };
    let named: Vec<String> =
        near.iter().take(NAMED).map(|one| format!("`{}` ({} “{}”)", one.selector, one.tag, one.text)).collect();
    Error::not_found(match named.is_empty() {
        true => {
            format!("{what}: the page has nothing to click or type into; it may still be loading, so read it again")
        }
        false => format!("{what}. On the page there are: {}", named.join(", ")),
    })
    .say("I don't find that on the page.")
}

/// Finds an element to do something with, and what that leads to.
async fn aim_at(in_use: &mut InUse, selector: &str, aim: Aim) -> Result<Element> {
    find(in_use, selector).await?;
    let held = in_use.browser()?.held(aim).await;
    held.map_err(|error| in_use.error(error))?.ok_or_else(|| Error::failed("the page removed it meanwhile: look again"))
}

/// The page and the element are the same as before a person was asked.
fn check_same(url: (&str, &str), element: (&Element, Option<&Element>)) -> Result<()> {
    if url.0 == url.1 && Some(element.0) == element.1 {
        return Ok(());
    }
    Err(Error::failed("the page changed while a person was asked, so nothing was done: look at it again"))
}

pub(crate) async fn browser_click(tools: BrowserTools, cx: Cx, args: BrowserClick) -> Result<Output> {
    let asks = Asks::of(&cx);
    let mut in_use = tools.current(&cx).await?;
    cx.taint(Label::Outside);
    let (url, _) = place(&mut in_use).await?;
    let element = aim_at(&mut in_use, &args.selector, Aim::Click).await?;
    let about = format!("Click “{}”", named(&element));
    may_act(&cx, asks, Act { tool: "browser_click", url: &url, element: Some(&element), text: None, about }).await?;
    let (now, _) = place(&mut in_use).await?;
    let point = in_use.browser()?.point().await;
    let point = point.map_err(|error| in_use.error(error))?;
    check_same((&now, &url), (&element, Some(&point.element)))?;
    if let Some(over) = &point.covered_by {
        let what = format!("`{}` ({} “{}”)", over.selector, over.tag, over.text);
        return Err(Error::failed(match point.is_within {
            true => {
                format!("a click on `{}` hits {what} within it, which leads elsewhere: name that", element.selector)
            }
            false => format!("`{}` is covered by {what}: close that first", element.selector),
        }));
    }
    let browser = in_use.browser()?;
    browser.happened();
    let clicked = match point.has_size {
        true => browser.click(point.x, point.y).await,
        false => browser.click_held().await,
    };
    clicked.map_err(|error| in_use.error(error))?;
    let content = json!({"ok": true, "clicked": format!("{} “{}”", element.tag, element.text)});
    finish(&cx, &mut in_use, content).await
}

pub(crate) async fn browser_type(tools: BrowserTools, cx: Cx, args: BrowserType) -> Result<Output> {
    if args.text.len() > TEXT {
        return Err(Error::bad_args(format!("`text` has more than {TEXT} bytes: type it in parts")));
    }
    let asks = Asks::of(&cx);
    let mut in_use = tools.current(&cx).await?;
    cx.taint(Label::Outside);
    let (url, _) = place(&mut in_use).await?;
    let aim = if args.text.ends_with('\n') { Aim::Enter } else { Aim::Type };
    let element = aim_at(&mut in_use, &args.selector, aim).await?;
    let shown = if element.is_secret { DOTS.to_owned() } else { visible(&truncate(&args.text, 100)) };
    let about = format!("Type “{shown}” into “{}”", named(&element));
    let act = Act { tool: "browser_type", url: &url, element: Some(&element), text: Some(&args.text), about };
    may_act(&cx, asks, act).await?;
    let (now, _) = place(&mut in_use).await?;
    let held = in_use.browser()?.held(aim).await;
    let held = held.map_err(|error| in_use.error(error))?;
    check_same((&now, &url), (&element, held.as_ref()))?;
    in_use.browser()?.happened();
    let typed = type_into(in_use.browser()?, &element, &args).await;
    let typed = typed.map_err(|error| match error {
        Typing::Browser(error) => in_use.error(error),
        Typing::Field(error) => error,
    })?;
    let mut content = json!({"ok": true, "field": format!("{} “{}”", element.tag, element.text)});
    match typed {
        Done::Typed => {}
        Done::Chosen => content["chosen"] = args.text.as_str().into(),
        Done::Changed(problem) => {
            content["ok"] = false.into();
            content["problem"] = problem.into();
        }
    }
    finish(&cx, &mut in_use, content).await
}

/// What has become of the text.
enum Done {
    Typed,
    /// An option was chosen, or a value set.
    Chosen,
    /// The page has made something else of it.
    Changed(String),
}

/// Why nothing was typed.
enum Typing {
    Browser(browser::Error),
    Field(Error),
}

impl From<browser::Error> for Typing {
    fn from(error: browser::Error) -> Self {
        Self::Browser(error)
    }
}

/// Types into the held element.
async fn type_into(browser: &browser::Browser, element: &Element, args: &BrowserType) -> Result<Done, Typing> {
    let refuse = |text: String| Err(Typing::Field(Error::bad_args(text)));
    let selector = &element.selector;
    let (text, enters) = match args.text.strip_suffix('\n') {
        Some(text) => (text.trim_end_matches('\r'), true),
        None => (args.text.as_str(), false),
    };
    match browser.field(text.encode_utf16().count(), args.clear_first).await? {
        Field::Text { multiline } => {
            let text = match multiline {
                true => text.replace("\r\n", "\n").replace('\r', "\n"),
                false => text.replace(['\n', '\r'], " "),
            };
            if !text.is_empty() || args.clear_first {
                if !browser.type_text(&text, args.clear_first).await? {
                    let why =
                        format!("nothing was typed: the page takes the focus from `{selector}`, or has closed it");
                    return Err(Typing::Field(Error::failed(why)));
                }
                let typed = browser.typed().await?;
                if !typed.is_as_typed {
                    return Ok(Done::Changed(changed(typed, enters)));
                }
            }
            if enters {
                browser.enter().await?;
            }
            Ok(Done::Typed)
        }
        Field::Short { most } => refuse(format!("`{selector}` takes {most} characters at most: nothing was typed")),
        Field::Select { options } => match browser.set(text).await? {
            true => Ok(Done::Chosen),
            false => refuse(format!("`{selector}` has no such option: it has {}", options.join(", "))),
        },
        Field::Value { of } => match browser.set(text).await? {
            true => Ok(Done::Chosen),
            false => {
                refuse(format!("`{selector}` takes a value of the form of <input type={of}>, such as {}", example(&of)))
            }
        },
        Field::Disabled => refuse(format!("`{selector}` cannot be changed now: it is disabled or only shown")),
        Field::Other => refuse(format!("`{selector}` takes no text: click it with browser_click, or name a field")),
    }
}

/// What a page has made of a text.
fn changed(typed: browser::Typed, enters: bool) -> String {
    let what = match typed.holds {
        Some(holds) => format!("the page changed or refused what was typed; the field holds “{holds}” now"),
        None => "the page removed the field when it was typed into; look at the page again".to_owned(),
    };
    let enter = if enters { ". Enter was not pressed; if this is right, type a line break alone" } else { "" };
    format!("{what}{enter}")
}

fn example(kind: &str) -> &'static str {
    match kind {
        "color" => "#ff8800",
        "datetime-local" => "2026-11-28T18:30",
        "month" => "2026-11",
        "range" => "50",
        "time" => "18:30",
        "week" => "2026-W48",
        _ => "2026-11-28",
    }
}

fn named(element: &Element) -> &str {
    if element.text.is_empty() { &element.selector } else { &element.text }
}

pub(crate) async fn browser_evaluate(tools: BrowserTools, cx: Cx, args: BrowserEvaluate) -> Result<Output> {
    let code = args.code.trim();
    if code.is_empty() || code.len() > TEXT {
        return Err(Error::bad_args(format!("`code` is JavaScript, {TEXT} bytes at most")));
    }
    let asks = Asks::of(&cx);
    let mut in_use = tools.current(&cx).await?;
    cx.taint(Label::Outside);
    let (url, _) = place(&mut in_use).await?;
    let about = format!("Run code in the page: {}", visible(&truncate(code, 100)));
    may_act(&cx, asks, Act { tool: "browser_evaluate", url: &url, element: None, text: Some(code), about }).await?;
    if place(&mut in_use).await?.0 != url {
        return Err(Error::failed("the page changed while a person was asked, so nothing was done: look at it again"));
    }
    let browser = in_use.browser()?;
    browser.happened();
    let made = async {
        let made = browser.evaluate(code).await?;
        browser.settle_current().await?;
        Ok(made)
    };
    let (text, is_cut) = made.await.map_err(|error| match error {
        browser::Error::Failed(why) => Error::failed(format!("the code failed: {why}")),
        error => in_use.error(error),
    })?;
    let mut content = match (is_cut, serde_json::from_str::<Value>(&text)) {
        (false, Ok(result)) => json!({"result": result}),
        _ => json!({"result": text, "isCut": true}),
    };
    content["ok"] = true.into();
    finish(&cx, &mut in_use, content).await
}
