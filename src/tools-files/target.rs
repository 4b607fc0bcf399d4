//! Where a path leads: to a file of the workspace, to a document in the store, or into the folder of a skill.

use documents::VirtualFiles;
use http_client::Guarded;
use jiff::Timestamp;
use skills::{Skill, Skills};
use tool::prelude::*;
use workspace::{Located, Workspaces};

/// The start of paths into folders of skills: `skills:/NAME/FILE`, as use_skill returns them.
const SKILLS: &str = "skills:/";

/// The state of the tools; cheap to clone.
#[derive(Clone)]
pub struct FileTools {
    pub(crate) workspaces: Workspaces,
    pub(crate) documents: VirtualFiles,
    pub(crate) skills: Skills,
    pub(crate) web: Guarded,
}

/// Where a path leads.
pub(crate) enum Target {
    File(Located),
    /// A memory document or context file, by its path.
    Document(String),
    /// A file in the folder of a skill; its path there is empty for the folder itself. Of no skill, the folder of all.
    Skill(Option<Box<Skill>>, String),
}

impl FileTools {
    /// The tools over these parts.
    pub fn new(workspaces: Workspaces, documents: VirtualFiles, skills: Skills, web: Guarded) -> Self {
        Self { workspaces, documents, skills, web }
    }

    /// Where a path leads.
    ///
    /// # Errors
    /// `BadArgs` for a path that leads out of the workspace; `NotFound` for a place or skill that this caller does not see.
    pub(crate) async fn target(&self, cx: &Cx, path: &str) -> Result<Target> {
        let path = path.trim();
        if let Some((skill, rest)) = self.skill(cx, path).await? {
            return Ok(Target::Skill(skill.map(Box::new), rest));
        }
        let located = self.workspaces.locate(cx, path)?;
        // With the name of a place a path means the disk.
        let names_place = path.strip_prefix(located.place_id()).is_some_and(|rest| rest.starts_with(':'));
        if !names_place && is_first(&located) {
            let text = located.path().text();
            if documents::is_document(&text)? {
                return Ok(Target::Document(text));
            }
        }
        Ok(Target::File(located))
    }

    /// A file of the workspace, for what cannot be done with documents and skills.
    ///
    /// # Errors
    /// As [`FileTools::target`]; `BadArgs` for a document or skill.
    pub(crate) async fn file(&self, cx: &Cx, path: &str, action: &str) -> Result<Located> {
        match self.target(cx, path).await? {
            Target::File(located) => Ok(located),
            Target::Document(path) => Err(Error::bad_args(format!(
                "`{path}` is a document of the agent, and cannot be {action}: read, write or delete it"
            ))),
            Target::Skill(..) => Err(read_only_skill(path)),
        }
    }

    /// The skill that a path leads into, and the path there.
    async fn skill(&self, cx: &Cx, path: &str) -> Result<Option<(Option<Skill>, String)>> {
        let Some(rest) = path.strip_prefix(SKILLS).or_else(|| (path == "skills:").then_some("")) else {
            return Ok(None);
        };
        let rest = rest.trim_matches('/');
        let (name, file) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Ok(Some((None, String::new())));
        }
        let skill = self.skills.get(cx, name, None).await?;
        if !skill.enabled {
            return Err(Error::denied(format!(
                "the skill `{}` is switched off: a person can switch it on",
                skill.slug
            )));
        }
        Ok(Some((Some(skill), file.to_owned())))
    }
}

/// Whether a path is in the place where relative paths begin.
pub(crate) fn is_first(located: &Located) -> bool {
    located.inside().starts_with("/workspace")
}

pub(crate) fn read_only_skill(path: &str) -> Error {
    let path = text_kit::truncate(path, 100);
    Error::denied(format!(
        "`{path}` is a file of a skill, which is only read here: publish_skill installs a new version"
    ))
}

/// A time as other programs read it.
pub(crate) fn time(ms: u64) -> Option<String> {
    let at = Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A size in words.
pub(crate) fn size_words(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let in_units = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1024 => text_kit::counted(bytes, "byte"),
        1024..1_048_576 => format!("{:.1} KB", in_units(1024)),
        1_048_576..1_073_741_824 => format!("{:.1} MB", in_units(1_048_576)),
        _ => format!("{:.1} GB", in_units(1_073_741_824)),
    }
}

/// Work on the disk that may take its time.
pub(crate) async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::failed(format!("the work on the disk was interrupted: {error}"))))
}
