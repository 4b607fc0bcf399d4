//! What every call says beside its result: where the page is now, and what happened on it meanwhile.

use crate::{files::save_downloads, open::InUse};
use text_kit::counted;
use tool::prelude::*;

/// Whether an address is one that pages may have here.
pub(crate) fn is_web(url: &str) -> bool {
    url.starts_with("http://")
        || url.starts_with("https://")
        || url.starts_with("about:blank")
        || url.starts_with("blob:http")
}

/// Adds to the result of a call: `url`, `title`, and what came by itself.
///
/// # Errors
/// `Denied` where a page is left that may not be shown; those of the browser.
pub(crate) async fn finish(cx: &Cx, in_use: &mut InUse, mut content: Value) -> Result<Output> {
    let happened = in_use.browser()?.happened();
    let (url, title) = place(in_use).await?;
    let downloads = save_downloads(cx, in_use).await?;
    content["url"] = url.as_str().into();
    content["title"] = title.as_str().into();
    if happened.opened {
        content["newPage"] = true.into();
    }
    if happened.is_loading {
        note(&mut content, "The page is still loading.");
    }
    if !happened.dialogs.is_empty() {
        content["dialogs"] = happened.dialogs.into();
    }
    if !downloads.is_empty() {
        content["downloads"] = downloads.clone().into();
    }
    let refusals = in_use.opened()?.gate.take_refusals();
    if !refusals.is_empty() {
        let lines = refusals.iter().map(|refusal| json!(format!("{}:{}: {}", refusal.host, refusal.port, refusal.why)));
        content["refused"] = lines.collect();
    }
    let shown = text_kit::truncate(&text_kit::one_line(&title), 100);
    let mut sentence = match shown.as_str() {
        "" => "The page is open.".to_owned(),
        title => format!("“{title}” is open."),
    };
    if !downloads.is_empty() {
        sentence.push_str(&format!(" It gave {}.", counted(downloads.len() as u64, "file")));
    }
    Ok(Output::json(content)?.say(sentence).from_outside())
}

/// Adds a sentence to the note of a result.
pub(crate) fn note(content: &mut Value, text: &str) {
    content["note"] = match content["note"].as_str() {
        Some(before) => format!("{before} {text}").into(),
        None => text.into(),
    };
}

/// The address and title of the current page. A page that is none of the web is left.
///
/// # Errors
/// `NotFound` where no page is open; `Denied` for a page of the device; those of the browser.
pub(crate) async fn place(in_use: &mut InUse) -> Result<(String, String)> {
    let place = in_use.browser()?.place().await;
    let (url, title) = match place {
        Ok(place) => place,
        Err(error) => return Err(in_use.error(error)),
    };
    if url.starts_with("chrome-error:") {
        return Ok((url, String::new()));
    }
    if !is_web(&url) {
        let left = in_use.browser()?.leave().await;
        left.map_err(|error| in_use.error(error))?;
        return Err(Error::denied("the page went to an address that is not http or https, and was left: open another"));
    }
    Ok((url, title))
}
