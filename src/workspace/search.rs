//! Finding files by their names.

use crate::{Located, RelPath, WalkOptions, Workspaces, entry::Entry};
use serde::Serialize;
use std::time::{Duration, Instant};
use tool::{
    Cx, Error, Result,
    prelude::{JsonSchema, schemars},
};

/// How long a search takes at most, and how many names it looks at in each place.
const PATIENCE: Duration = Duration::from_secs(5);
const NAMES: usize = 200_000;

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundFile {
    /// The id of its place.
    pub place: String,
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, Default)]
pub struct FoundFiles {
    pub files: Vec<FoundFile>,
    /// Whether there may be more.
    pub truncated: bool,
}

impl Workspaces {
    /// Files and folders whose path has all words of a query: in one place, or in all that the caller sees.
    ///
    /// # Errors
    /// `BadArgs` for a query without words; `NotFound` for a place that the caller does not see.
    pub async fn find_by_name(&self, cx: &Cx, place: Option<&str>, query: &str, most: usize) -> Result<FoundFiles> {
        let words: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(Error::bad_args("the query is empty: write words of a name"));
        }
        let places: Vec<Located> = match place {
            Some(id) => vec![self.locate_in(cx, id, "")?],
            None => {
                let visible = self.0.visible(cx).into_iter().enumerate();
                visible.map(|(at, place)| Located { place, path: RelPath::default(), first: at == 0 }).collect()
            }
        };
        let (this, cx) = (self.clone(), cx.clone());
        self.blocking(move |_| {
            let (mut found, began) = (FoundFiles::default(), Instant::now());
            for at in places {
                let Ok(mut walk) = this.walk(&cx, &at, WalkOptions { most: NAMES, ..WalkOptions::default() }) else {
                    continue;
                };
                for walked in walk.by_ref() {
                    if found.files.len() >= most || began.elapsed() > PATIENCE || cx.cancel().is_cancelled() {
                        found.truncated = true;
                        return Ok(found);
                    }
                    let path = walked.entry.path.to_lowercase();
                    if words.iter().all(|word| path.contains(word.as_str())) {
                        cx.taint(walked.label);
                        found.files.push(FoundFile { place: at.place_id().to_owned(), entry: walked.entry });
                    }
                }
                found.truncated |= walk.is_truncated();
            }
            Ok(found)
        })
        .await
    }
}
