//! The state of a repository.

use super::{parse, repository::Repository, run::Access};
use crate::Workshop;
use text_kit::counted_one;
use tool::prelude::*;

/// The maximum number of entries of each list in an answer.
pub const LISTED: usize = 500;

/// Show the state of a git repository: branch, staged, changed, untracked and conflicted files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
}

pub async fn status(tools: Workshop, cx: Cx, args: Status) -> Result<Output> {
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    let at = status.branch.clone().unwrap_or_else(|| "no branch".into());
    let say = match (status.is_clean(), status.staged.len(), status.unstaged.len() + status.conflicted.len()) {
        (true, ..) => format!("Nothing is changed on {at}."),
        (_, staged, changed) => format!(
            "On {at}: {} staged, {} not staged, {} untracked.",
            counted_one(staged, "change"),
            counted_one(changed, "change"),
            counted_one(status.untracked.len(), "file")
        ),
    };
    Ok(repository.output(shown_status(&repository, &status)).say(say))
}

pub async fn read_status(tools: &Workshop, cx: &Cx, repository: &Repository) -> Result<parse::Status> {
    let args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
    let ran = repository.git(tools, cx, Access::Read, &args).await?;
    Ok(parse::status(ran.whole("the state of this repository")?))
}

pub fn shown_status(repository: &Repository, status: &parse::Status) -> Value {
    let mut shown = json!({
        "repository": repository.shown(),
        "branch": status.branch,
        "commit": status.commit,
        "clean": status.is_clean(),
    });
    if let Some(upstream) = &status.upstream {
        shown["upstream"] = upstream.as_str().into();
    }
    if let Some((ahead, behind)) = status.ahead_behind {
        shown["ahead"] = ahead.into();
        shown["behind"] = behind.into();
    }
    let lists = [
        ("staged", &status.staged),
        ("unstaged", &status.unstaged),
        ("untracked", &status.untracked),
        ("conflicted", &status.conflicted),
    ];
    for (name, list) in lists {
        shown[name] = list.iter().take(LISTED).cloned().collect();
        if list.len() > LISTED {
            shown[format!("{name}Total")] = list.len().into();
        }
    }
    shown
}
