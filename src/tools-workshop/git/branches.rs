//! Branches: list, create, delete; switch to one, and restore files.

use super::{
    names::{check_branch, pathspecs, resolve},
    parse,
    repository::Repository,
    run::Access,
    status::{LISTED, read_status, shown_status},
};
use crate::Workshop;
use text_kit::{counted_one, truncate};
use tool::prelude::*;

/// Whether a checkout overwrites changes that no commit has.
pub fn overwrites(args: &Value) -> bool {
    let names_files = match &args["files"] {
        Value::Null => false,
        Value::Array(files) => !files.is_empty(),
        _ => true,
    };
    names_files || !matches!(&args["force"], Value::Null | Value::Bool(false))
}

/// What to do with branches.
#[derive(Deserialize, JsonSchema, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    List,
    Create,
    Delete,
}

/// List, create or delete branches. Creating one does not switch to it: see git_checkout.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
    /// list by default.
    #[serde(default)]
    action: Action,
    /// Name of the branch to create or delete.
    name: Option<String>,
    /// Create it at this commit or branch, instead of the current commit.
    from: Option<String>,
    /// Delete it although its commits are in no other branch.
    #[serde(default)]
    force: bool,
    /// List the branches of remote repositories too, as they were last fetched.
    #[serde(default)]
    remotes: bool,
}

pub async fn branch(tools: Workshop, cx: Cx, args: Branch) -> Result<Output> {
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let name = || {
        let name = args.name.as_deref().unwrap_or_default();
        check_branch(name).map(|()| name)
    };
    match args.action {
        Action::List if args.name.is_some() || args.from.is_some() || args.force => Err(Error::bad_args(
            "`action` is missing: write create or delete, or leave out the name to list the branches",
        )),
        Action::List => {
            let mut words =
                vec!["for-each-ref", "--count=501", "--sort=-committerdate", parse::BRANCH_FORMAT, "refs/heads"];
            words.extend(args.remotes.then_some("refs/remotes"));
            let ran = repository.git(&tools, &cx, Access::Read, &words).await?;
            let mut branches = parse::branches(ran.whole("the branches")?);
            let has_more = branches.len() > LISTED;
            branches.truncate(LISTED);
            let current = branches.iter().find(|b| b["current"] == true).and_then(|b| b["name"].as_str());
            let say = match current {
                Some(current) => format!("{}; the current one is {current}.", branches_counted(branches.len())),
                None => format!("{}.", branches_counted(branches.len())),
            };
            let shown = json!({
                "repository": repository.shown(), "current": current, "branches": branches, "hasMore": has_more,
            });
            Ok(repository.output(shown).say(say))
        }
        Action::Create => {
            let name = name()?;
            let from = args.from.as_deref().unwrap_or("HEAD");
            let at = resolve(&tools, &cx, &repository, from).await?;
            repository.change(&tools, &cx, &["branch", "--no-track", "--", name, &at], &[]).await?;
            let shown = json!({"repository": repository.shown(), "created": name, "at": at});
            Ok(repository.output(shown).say(format!("I created the branch {name}.")))
        }
        Action::Delete => {
            let name = name()?;
            let how = if args.force { "-D" } else { "-d" };
            let at = resolve(&tools, &cx, &repository, &format!("refs/heads/{name}")).await.map_err(|_| {
                Error::not_found(format!("there is no branch `{name}`: git_branch lists those there are"))
            })?;
            repository.change(&tools, &cx, &["branch", how, "--", name], &[]).await?;
            let note = format!("It was at {at}: create a branch there to get it back.");
            let shown = json!({"repository": repository.shown(), "deleted": name, "wasAt": at, "note": note});
            Ok(repository.output(shown).say(format!("I deleted the branch {name}.")))
        }
    }
}

fn branches_counted(count: usize) -> String {
    if count == 1 { "There is 1 branch".into() } else { format!("There are {count} branches") }
}

/// Switch to a branch or commit, or restore files from it. Switching keeps changes that are not committed, and is refused
/// where it would overwrite them; restoring files and `force` overwrite them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkout {
    /// Branch, tag or commit; HEAD to restore files as they were last committed.
    target: String,
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
    /// Create the branch `target` at the current commit, and switch to it.
    #[serde(default)]
    create: bool,
    /// Restore only these files or folders, and overwrite their changes.
    #[serde(default)]
    files: Vec<String>,
    /// Overwrite changes that are not committed.
    #[serde(default)]
    force: bool,
}

pub async fn checkout(tools: Workshop, cx: Cx, args: Checkout) -> Result<Output> {
    let files = pathspecs(&args.files)?;
    let target = args.target.trim();
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    if !files.is_empty() {
        if args.create {
            return Err(Error::bad_args("`create` makes a branch, and `files` restores files: give one of them"));
        }
        let at = resolve(&tools, &cx, &repository, target).await?;
        let mut words = vec!["checkout", "--quiet", "--no-recurse-submodules", "--no-overlay", &at, "--"];
        words.extend(files.iter().map(String::as_str));
        repository.change(&tools, &cx, &words, &[]).await?;
        let shown = json!({"repository": repository.shown(), "restored": args.files, "from": target});
        let say = format!("I restored {} from {}.", counted_one(files.len(), "path"), truncate(target, 60));
        return Ok(repository.output(shown).say(say));
    }
    let at;
    let mut words = vec!["checkout", "--quiet", "--no-recurse-submodules", "--no-guess"];
    words.extend(args.force.then_some("--force"));
    if args.create {
        check_branch(target)?;
        words.extend(["--no-track", "-b", target]);
    } else {
        at = resolve(&tools, &cx, &repository, target).await?;
        let is_branch = check_branch(target).is_ok()
            && resolve(&tools, &cx, &repository, &format!("refs/heads/{target}")).await.is_ok();
        if is_branch {
            words.push(target);
        } else {
            words.extend(["--detach", &at]);
        }
        words.push("--");
    }
    repository.change(&tools, &cx, &words, &[]).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    let shown = shown_status(&repository, &status);
    let say = match &status.branch {
        Some(branch) => format!("You are on the branch {branch} now."),
        None => format!("You are at {} now, on no branch.", truncate(target, 60)),
    };
    Ok(repository.output(shown).say(say))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_that_overwrites_is_known_before_it_runs() {
        for (args, expected) in [
            (json!({"target": "main"}), false),
            (json!({"target": "main", "force": false, "files": []}), false),
            (json!({"target": "main", "force": true}), true),
            (json!({"target": "HEAD", "files": ["a"]}), true),
            (json!({"target": "HEAD", "files": "a"}), true),
            (json!({"target": "HEAD", "force": "true"}), true),
        ] {
            assert_eq!(overwrites(&args), expected, "{args}");
        }
    }
}
