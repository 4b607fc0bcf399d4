//! The text that a call is about: given, or in a file of the workspace.

use serde_json::json;
use text_kit::truncate;
use tool::{Cx, Error, Result};

/// The longest text, in characters.
pub(super) const LONGEST: usize = 50_000;

/// A text.
pub(super) struct Source {
    pub text: String,
    /// Why this is not all of it.
    pub note: Option<String>,
}

impl Source {
    /// The text that was passed, or that of a file.
    ///
    /// # Errors
    /// `BadArgs` unless there is one of both, with words in it and not too long; those of `read_file`.
    pub async fn of(cx: &Cx, text: Option<String>, path: Option<String>) -> Result<Self> {
        let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
        let source = match (given(text), given(path)) {
            (Some(text), None) => Self { text, note: None },
            // The file tools decide who may read what, and label the run.
            (None, Some(path)) => {
                let read = cx.call("read_file", json!({"path": path})).await?;
                let text = read.content["content"].as_str().unwrap_or_default().to_owned();
                let more = read.content["hasMore"] == true;
                let note = more.then(|| format!("only the beginning of {} was read", truncate(&path, 80)));
                Self { text, note }
            }
            (Some(_), Some(_)) => return Err(Error::bad_args("pass either `text` or `path`, not both")),
            (None, None) => return Err(Error::bad_args("pass the `text`, or the `path` of a file in the workspace")),
        };
        if source.text.trim().is_empty() {
            return Err(Error::bad_args("there is nothing in it: pass a text with words"));
        }
        let length = source.text.chars().count();
        if length > LONGEST {
            return Err(Error::bad_args(format!(
                "this is {length} characters, and {LONGEST} are the most: pass it in parts"
            )));
        }
        Ok(source)
    }
}
