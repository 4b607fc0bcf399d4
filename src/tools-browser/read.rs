//! The tools that look at a page: its text, its HTML, a picture of it.

use crate::{
    BrowserTools,
    act::find,
    answer::{finish, place},
    files::save_picture,
    open::InUse,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use html_text::Options;
use tool::{Label, prelude::*};
use url::Url;

/// The characters of a text that are returned by default and at most.
const CHARS: usize = 20_000;
const MOST_CHARS: usize = 100_000;
/// The most characters of a document that are read.
const DOCUMENT: usize = 3_000_000;
/// The largest picture that is in the answer itself, in bytes.
const PICTURE: usize = 120_000;

/// Return the text of the page that is open as Markdown: what a reader sees, with fields and buttons.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserExtractText {
    /// CSS selector of the part to return (default: the whole page).
    #[serde(default)]
    selector: Option<String>,
    /// Characters to return (default 20000, at most 100000).
    #[serde(default)]
    max_chars: Option<usize>,
    /// Characters to skip, to read on.
    #[serde(default)]
    offset: usize,
}

/// Return the HTML of an element of the page that is open, as it is now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserExtractHtml {
    /// CSS selector (default: body).
    #[serde(default)]
    selector: Option<String>,
    /// Return the element's own tag too (default: false).
    #[serde(default)]
    outer: bool,
    /// Characters to return (default 20000, at most 100000).
    #[serde(default)]
    max_chars: Option<usize>,
    /// Characters to skip, to read on.
    #[serde(default)]
    offset: usize,
}

/// Take a picture of the page that is open, and save it in the workspace. analyze_image can describe it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserScreenshot {
    /// CSS selector of an element (default: what the window shows, 1280 × 800).
    #[serde(default)]
    selector: Option<String>,
    /// The whole page, 8000 pixels high at most (default: false).
    #[serde(default)]
    full_page: bool,
}

/// The browser with the element of a selector held; the second part is whether there is one, the third the page's address.
async fn look(tools: &BrowserTools, cx: &Cx, selector: Option<&str>) -> Result<(InUse, bool, String)> {
    let mut in_use = tools.current(cx).await?;
    cx.taint(Label::Outside);
    let (url, _) = place(&mut in_use).await?;
    let selector = selector.map(str::trim).filter(|selector| !selector.is_empty());
    if let Some(selector) = selector {
        find(&mut in_use, selector).await?;
    }
    Ok((in_use, selector.is_some(), url))
}

pub(crate) async fn browser_extract_text(tools: BrowserTools, cx: Cx, args: BrowserExtractText) -> Result<Output> {
    let (mut in_use, is_held, url) = look(&tools, &cx, args.selector.as_deref()).await?;
    let read = in_use.browser()?.visible_html(is_held, DOCUMENT).await;
    let read = read.map_err(|error| in_use.error(error))?;
    let (most, offset) = (args.max_chars.unwrap_or(CHARS).clamp(1, MOST_CHARS), args.offset);
    let work = move || {
        let max_chars = offset.saturating_add(most).saturating_add(1).min(DOCUMENT);
        let options = Options { main_only: false, max_chars };
        let page = html_text::markdown(&read.html, Url::parse(&url).ok().as_ref(), options);
        let mut content = text_part("text", &page.markdown, offset, most, read.is_cut);
        let hidden = read.hidden + page.hidden_removed;
        if hidden > 0 {
            content["hiddenRemoved"] = hidden.into();
        }
        Ok(content)
    };
    let content = tool::blocking("reading the page", work).await?;
    let start = text_kit::truncate(&text_kit::one_line(content["text"].as_str().unwrap_or_default()), 600);
    let output = finish(&cx, &mut in_use, content).await?;
    Ok(if start.is_empty() { output.say("The page has no text that can be read.") } else { output.say(start) })
}

/// A part of a text in characters.
fn text_part(name: &str, text: &str, offset: usize, most: usize, is_cut: bool) -> Value {
    let rest = text.char_indices().nth(offset).map_or("", |(at, _)| &text[at..]);
    let part = text_kit::prefix(rest, most);
    let mut content = json!({name: part});
    if part.len() < rest.len() {
        content["nextOffset"] = (offset + most).into();
    } else if is_cut {
        content["note"] = "The page is longer than what can be read of it.".into();
    }
    content
}

pub(crate) async fn browser_extract_html(tools: BrowserTools, cx: Cx, args: BrowserExtractHtml) -> Result<Output> {
    let (mut in_use, is_held, _) = look(&tools, &cx, args.selector.as_deref()).await?;
    let most = args.max_chars.unwrap_or(CHARS).clamp(1, MOST_CHARS);
    let read = in_use.browser()?.html(is_held, args.outer, args.offset, most).await;
    let read = read.map_err(|error| in_use.error(error))?;
    let mut content = json!({"html": read.html});
    if read.is_cut {
        content["nextOffset"] = (args.offset + most).into();
    }
    finish(&cx, &mut in_use, content).await
}

pub(crate) async fn browser_screenshot(tools: BrowserTools, cx: Cx, args: BrowserScreenshot) -> Result<Output> {
    let is_in_person = cx.is_in_person();
    let (mut in_use, is_held, url) = look(&tools, &cx, args.selector.as_deref()).await?;
    let browser = in_use.browser()?;
    let taken = async {
        let area = if is_held { Some(browser.area().await?) } else { None };
        browser.screenshot(area, args.full_page).await
    };
    let picture = taken.await.map_err(|error| in_use.error(error))?;
    let host = Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let ending = if picture.media_type == "image/png" { "png" } else { "jpg" };
    let today = cx.ports().clock.local().date();
    let name = crate::files::plain_name(&format!("{today} {host}.{ending}"));
    // Small ones are in the answer of whoever calls by hand; a model has the file, and a text of this length would tell it nothing.
    let image = (is_in_person && picture.bytes.len() <= PICTURE).then(|| BASE64_STANDARD.encode(&picture.bytes));
    let (width, height, media_type, is_reduced) =
        (picture.width, picture.height, picture.media_type, picture.is_reduced);
    let (located, written) = save_picture(&cx, tools.workspaces(), &name, picture.bytes).await?;
    let place = text_kit::percent_encode(located.place_id());
    let path = text_kit::percent_encode(&located.path().text());
    let mut content = json!({
        "path": located.display(),
        "width": width,
        "height": height,
        "mediaType": media_type,
        "size": written.entry.size,
        "pictureUrl": format!("/api/v1/workspace/file?place={place}&path={path}"),
    });
    if is_reduced {
        content["note"] =
            "It is larger than a picture may be: this one is scaled down, and ends at 4000 × 8000 pixels.".into();
    }
    if let Some(image) = image {
        content["image"] = image.into();
    }
    let sentence = format!("I saved a picture of the page as {}.", located.display());
    Ok(finish(&cx, &mut in_use, content).await?.say(sentence))
}
