//! Fetches pictures that a program names by URL, through the guarded HTTP client, before the model is asked.

use super::{Refusal, wire::Said};
use crate::AppState;
use base64::{Engine, engine::general_purpose::STANDARD};
use futures::future::try_join_all;
use http_client::Fetch;
use serde_json::Value;
use tool::{Cx, Label};

/// The most pictures per request, and their largest total size in bytes.
const MOST: usize = 8;
const BYTES: usize = 16 << 20;
/// The picture types models accept.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Replaces URLs of pictures by their bytes. A fetched picture taints the run.
///
/// # Errors
/// 400 when one cannot be fetched or is no picture.
pub(super) async fn fetch_all(house: &AppState, cx: &Cx, messages: &mut [Said]) -> Result<(), Refusal> {
    let mut wanted = vec![];
    for (n, message) in messages.iter().enumerate() {
        for (p, part) in message.content.as_array().into_iter().flatten().enumerate() {
            let url = part["image_url"]["url"].as_str().filter(|_| part["type"] == "image_url");
            if let Some(url) = url.filter(|url| is_web(url)) {
                wanted.push((n, p, url.to_owned()));
            }
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    if wanted.len() > MOST {
        let text = format!("there are {} pictures to be fetched, and {MOST} is the most: leave some out", wanted.len());
        return Err(Refusal::of("messages", text));
    }
    cx.taint(Label::Outside);
    let fetched = wanted.into_iter().map(|(n, p, url)| async move {
        let picture = fetch(house, &url).await;
        let param = format!("messages[{n}].content");
        picture.map(|picture| (n, p, picture)).map_err(|why| Refusal::of(&param, why).code("invalid_image_url"))
    });
    let fetched = try_join_all(fetched).await?;
    if fetched.iter().map(|(.., (_, bytes))| bytes.len()).sum::<usize>() > BYTES {
        let text = format!("the pictures are larger than {} MB together: send smaller ones", BYTES >> 20);
        return Err(Refusal::of("messages", text));
    }
    for (n, p, (media_type, bytes)) in fetched {
        messages[n].content[p]["image_url"]["url"] =
            Value::from(format!("data:{media_type};base64,{}", STANDARD.encode(bytes)));
    }
    Ok(())
}

fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
    scheme.is_some_and(|scheme| scheme == "https" || scheme == "http")
}

/// The type and bytes of one picture; the type is detected from the bytes.
async fn fetch(house: &AppState, url: &str) -> Result<(String, Vec<u8>), String> {
    let why = |text: String| format!("the picture cannot be fetched: {text}");
    let fetched = house.web.fetch(Fetch::get(url)).await.map_err(|e| why(e.to_string()))?;
    if !(200..300).contains(&fetched.status) {
        return Err(why(format!("its server answers with status {}", fetched.status)));
    }
    let media_type = uploads::media_type(&fetched.body, "", "");
    if !TYPES.contains(&media_type.as_str()) {
        return Err(why(format!("what is there is {media_type}, and not one of {}", TYPES.join(", "))));
    }
    Ok((media_type, fetched.body))
}
