//! Where a document comes from: a file of the workspace, or one that was sent.

use decoders::{Answer, Decoders, Fault, Input, Task};
use tool::{Label, prelude::*};
use uploads::Uploads;
use workspace::Workspaces;

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct DocumentTools {
    pub(crate) decoders: Decoders,
    pub(crate) workspaces: Workspaces,
    pub(crate) uploads: Uploads,
}

/// A file that was opened.
pub(crate) struct Source {
    /// As messages and answers name it.
    pub shown: String,
    /// The ending of its name, in small letters.
    pub ending: String,
    pub label: Label,
    pub input: Input,
}

impl DocumentTools {
    /// The tools over these parts.
    pub fn new(decoders: Decoders, workspaces: Workspaces, uploads: Uploads) -> Self {
        Self { decoders, workspaces, uploads }
    }

    /// Opens a file by its path in the workspace, or by the id with which it was sent. Taints the run by its label.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` for what is no plain file.
    pub(crate) async fn open(&self, cx: &Cx, path: &str) -> Result<Source> {
        let path = path.trim();
        if let Ok(id) = path.parse::<Id>() {
            let (file, bytes) = self.uploads.load(cx, id).await?;
            cx.taint(Label::Outside);
            let input = Input::Bytes(bytes.to_vec());
            return Ok(Source { ending: ending(&file.name), shown: file.name, label: Label::Outside, input });
        }
        let located = self.workspaces.locate(cx, path)?;
        let opened = self.workspaces.open_file(cx, &located).await?;
        let (label, size, shown) = (opened.label, opened.entry.size, located.display());
        if size == 0 {
            return Err(Error::bad_args(format!("`{shown}` is empty")));
        }
        Ok(Source { ending: ending(&shown), shown, label, input: Input::File(opened.into_file(), size) })
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// `BadArgs` with what is wrong with the file or the question; `Unavailable` where nothing can be decoded.
    pub(crate) async fn decode(&self, cx: &Cx, shown: &str, task: &Task, input: Input) -> Result<Answer> {
        self.decoders.run(task, input, cx.cancel()).await.map_err(|fault| {
            // A fault may name what a stranger wrote.
            if !matches!(fault, Fault::Unavailable(_) | Fault::BadArgs(_)) {
                cx.taint(Label::Outside);
            }
            error(shown, &fault)
        })
    }
}

/// The error of a call for one of the decoders.
fn error(shown: &str, fault: &Fault) -> Error {
    match fault {
        Fault::Unavailable(why) => {
            Error::unavailable(why.clone()).say("I can't look into documents here: this device can't do that safely.")
        }
        Fault::BadArgs(why) => Error::bad_args(why.clone()),
        fault => Error::bad_args(format!("`{shown}` could not be read: {fault}"))
            .say(format!("I couldn't read {}: {fault}.", text_kit::truncate(shown, 80))),
    }
}

/// An answer of another kind than was asked for.
pub(crate) fn unexpected() -> Error {
    Error::failed("the decoder answered something else; this is a fault of Hob")
}

fn ending(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or_else(String::new, |(_, ending)| text_kit::truncate(ending, 16).to_lowercase())
}
