//! Layer 3: pictures, sound and video as tools. Files come from the workspace, from what people sent, or through the guard from the
//! internet; the chains of providers are those of the crate `media`.

mod costs;
mod create;
mod draw;
mod look;
mod save;
mod sound;
mod source;
mod speech;
#[cfg(test)]
mod tests_speech;

pub use costs::LedgerCosts;
pub use create::family as video;
pub use draw::family as image;
pub use speech::family as audio;

use http_client::Guarded;
use media::Media;
use std::time::Duration;
use tool::prelude::*;
use uploads::Uploads;
use workspace::Workspaces;

/// How long a call may take that waits for one answer, or for a few of them.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How long a call may take that waits for a job, such as a video.
const JOB_TIMEOUT: Duration = Duration::from_secs(960);
/// The longest prompt or question, in characters.
const PROMPT: usize = 4_000;

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct MediaTools {
    pub(crate) media: Media,
    pub(crate) workspaces: Workspaces,
    pub(crate) uploads: Uploads,
    pub(crate) web: Guarded,
}

impl MediaTools {
    pub fn new(media: Media, workspaces: Workspaces, uploads: Uploads, web: Guarded) -> Self {
        Self { media, workspaces, uploads, web }
    }
}

/// A text of 1 to [`PROMPT`] characters.
fn prompt(field: &str, text: &str) -> Result<String> {
    let text = text.trim();
    let length = text.chars().count();
    if length == 0 || length > PROMPT {
        return Err(Error::bad_args(format!("`{field}` has {length} characters: give 1 to {PROMPT}")));
    }
    Ok(text.to_owned())
}

/// One of some words, in any case.
fn one_of(field: &str, text: Option<&str>, known: &[&str]) -> Result<Option<String>> {
    let Some(text) = text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match known.contains(&text.as_str()) {
        true => Ok(Some(text)),
        false => Err(Error::bad_args(format!(
            "`{field}` is `{}`: choose from {}",
            text_kit::truncate(&text, 40),
            known.join(", ")
        ))),
    }
}

/// Adds to an answer who did it, for how much, and what else is worth knowing.
fn with_maker(mut content: Value, done: &media::Done) -> Value {
    content["provider"] = done.provider.clone().into();
    content["model"] = done.model.clone().into();
    if let Some(cost) = done.cost.filter(|cost| *cost > 0.0) {
        content["cost"] = ((cost * 1e6).round() / 1e6).into();
    }
    if !done.failed.is_empty() {
        content["failedBefore"] = done.failed.clone().into();
    }
    content
}

/// The cost of a result as the end of a sentence; empty where nothing was paid.
fn cost_words(done: &media::Done) -> String {
    match done.cost {
        Some(cost) if cost >= 0.005 => format!(" It cost about ${cost:.2}."),
        Some(cost) if cost > 0.0 => " It cost less than a cent.".to_owned(),
        Some(_) => String::new(),
        None => format!(" {} charges for it; how much is not known here.", done.provider),
    }
}
