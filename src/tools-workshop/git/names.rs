//! Names that a call gives: commits, branches and paths, none of which git can read as an option.

use super::{repository::Repository, run::Access};
use crate::Workshop;
use text_kit::truncate;
use tool::{Cx, Error, Result};

/// The maximum length of the name of a branch or commit, in bytes.
const NAME: usize = 250;
/// The maximum number of paths a call may name.
const PATHS: usize = 500;

/// The full id of a commit that a name stands for.
pub async fn resolve(tools: &Workshop, cx: &Cx, repository: &Repository, name: &str) -> Result<String> {
    let shown = truncate(name, 60);
    if name.is_empty() || name.len() > NAME || name.starts_with('-') || name.contains(|c: char| c.is_control()) {
        return Err(Error::bad_args(format!("`{shown}` names no commit: use a branch, a tag, a commit's id or HEAD")));
    }
    let words = ["rev-parse", "--quiet", "--verify", "--end-of-options", &format!("{name}^{{commit}}")];
    let ran = repository.try_git(tools, cx, Access::Read, &words).await?;
    let id = String::from_utf8_lossy(&ran.out).trim().to_owned();
    if ran.is_ok() && !id.is_empty() && id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(id);
    }
    let hint = match name {
        "HEAD" => "there are no commits yet",
        _ => "see git_branch and git_log; to restore files, pass them in `files` of git_checkout",
    };
    Err(Error::not_found(format!("there is no branch, tag or commit `{shown}` here: {hint}")))
}

pub async fn has_commits(tools: &Workshop, cx: &Cx, repository: &Repository) -> Result<bool> {
    let words = ["rev-parse", "--quiet", "--verify", "--end-of-options", "HEAD^{commit}"];
    Ok(repository.try_git(tools, cx, Access::Read, &words).await?.is_ok())
}

/// The paths of a call as git takes them: no magic, and nothing that could be read as an option.
pub fn pathspecs(files: &[String]) -> Result<Vec<String>> {
    if files.len() > PATHS {
        return Err(Error::bad_args(format!("there are more than {PATHS} paths: name their folder instead")));
    }
    let wrong = |file: &&String| file.is_empty() || file.starts_with(':') || file.contains('\0') || file.len() > 4096;
    if let Some(file) = files.iter().find(wrong) {
        return Err(Error::bad_args(format!(
            "`{}` is no path of a file: write it relative to the repository's folder",
            truncate(file, 60)
        )));
    }
    Ok(files.to_vec())
}

/// A name that a branch may have.
pub fn check_branch(name: &str) -> Result<()> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let good = !name.is_empty()
        && name.len() <= NAME
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name != "HEAD"
        && name != "@"
        && !["..", "@{"].iter().any(|bad| name.contains(bad))
        && !name.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c))
        && name.split('/').all(is_part);
    if good {
        return Ok(());
    }
    Err(Error::bad_args(match name {
        "" => "the branch has no name: pass `name`".to_owned(),
        name => {
            format!("`{}` cannot be the name of a branch: use letters, digits, dashes and slashes", truncate(name, 60))
        }
    }))
}

pub fn check_text(what: &str, text: &str) -> Result<()> {
    if text.len() > 500 || text.contains(|c: char| c.is_control()) {
        return Err(Error::bad_args(format!("`{what}` must be a short text in one line")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_branches_are_checked() {
        for good in ["main", "feature/a-b_c", "v1.2", "größe", "a@b"] {
            assert!(check_branch(good).is_ok(), "{good}");
        }
        for bad in [
            "", "-d", "--force", "a b", "a..b", "a~1", "a^", "a:b", "a?b", "*", "a[b", "a\\b", "/a", "a/", "a//b",
            ".a", "a/.b", "a.lock", "a.", "@", "a@{1}", "HEAD", "a\nb", "a\0b",
        ] {
            assert!(check_branch(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths_have_no_magic() {
        let check = |path: &str| pathspecs(&[path.to_owned()]).is_ok();
        for good in [".", "a b", "src/*.rs", "-n", "ü"] {
            assert!(check(good), "{good}");
        }
        for bad in ["", ":/", ":(attr:x)", ":!x", "a\0b"] {
            assert!(!check(bad), "{bad:?}");
        }
    }
}
