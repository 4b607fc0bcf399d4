//! git in the workspace: state, differences, history, commits and branches.
//!
//! Each tool runs the real git in the process sandbox, over one repository. Nothing that a repository brings along runs
//! with it: see [`run`]. git reads a reduced copy of the repository's configuration: see [`config`].

mod branches;
mod config;
mod names;
mod parse;
mod repository;
mod run;
mod status;

use self::{
    branches::{branch, checkout, overwrites},
    names::{check_text, has_commits, pathspecs, resolve},
    repository::Repository,
    run::Access,
    status::{LISTED, read_status, shown_status, status},
};
use crate::Workshop;
use scrub::How;
use std::time::Duration;
use text_kit::{counted_one, truncate};
use tool::prelude::*;

/// The default and the largest number of commits of `git_log`.
const LOG: (u32, u32) = (10, 50);
/// The maximum length of a diff in an answer, in bytes.
const DIFF: usize = 64 * 1024;
/// The maximum length of a commit message, in characters.
const MESSAGE: usize = 20_000;
/// Names that other APIs give the parameters.
macro_rules! names {
    ($($name:literal => $to:literal),*) => {
        &[
            ("cwd", "path"),
            ("dir", "path"),
            ("directory", "path"),
            ("repo", "path"),
            ("repository", "path"),
            ("workdir", "path"),
            ("workingDir", "path"),
            ("workingDirectory", "path"),
            ("working_dir", "path"),
            ("working_directory", "path"),
            $(($name, $to),)*
        ]
    };
}
const PATH_NAMES: &[(&str, &str)] = names!();
const DIFF_NAMES: &[(&str, &str)] = names!("base" => "from", "cached" => "staged", "commit" => "from", "file" => "files", "paths" => "files", "summary" => "stat");
const LOG_NAMES: &[(&str, &str)] = names!("count" => "limit", "file" => "files", "maxCount" => "limit", "max_count" => "limit", "offset" => "skip", "paths" => "files", "query" => "grep", "ref" => "branch");
const ADD_NAMES: &[(&str, &str)] = names!("file" => "files", "paths" => "files");
const BRANCH_NAMES: &[(&str, &str)] =
    names!("branch" => "name", "remote" => "remotes", "start" => "from", "startPoint" => "from");
const CHECKOUT_NAMES: &[(&str, &str)] = names!("branch" => "target", "createBranch" => "create", "create_branch" => "create", "file" => "files", "paths" => "files", "ref" => "target");

/// The time limit of a call, which runs git a few times.
const TIMEOUT: Duration = Duration::from_secs(150);

/// Tools for git.
pub fn family(workshop: Workshop) -> Family<Workshop> {
    Family::new("git", "Versions of files: state, differences, history, commits and branches.", workshop)
        .title("Git")
        .category("Git")
        .needs(&["filesystem"])
        .area(Area::FileRead)
        .tool("git_status", Risk::Observe, status)
        .synonyms(PATH_NAMES)
        .tags("git repository changes changed files staged untracked branch state")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website"}))
        .tool("git_diff", Risk::Observe, diff)
        .synonyms(DIFF_NAMES)
        .not_paths(&["from", "to"])
        .tags("git changes compare patch difference lines")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "staged": true}))
        .tool("git_log", Risk::Observe, log)
        .synonyms(LOG_NAMES)
        .tags("git history commits versions who changed when")
        .page(LOG)
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "limit": 5}))
        .tool("git_commit", Risk::Write, commit)
        .synonyms(PATH_NAMES)
        .own_area(Area::FileWrite)
        .tags("git save version record changes")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "message": "Correct the opening hours"}))
        .tool("git_add", Risk::Write, add)
        .synonyms(ADD_NAMES)
        .own_area(Area::FileWrite)
        .tags("git stage index files")
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "files": ["index.html"]}))
        .tool("git_branch", Risk::Write, branch)
        .synonyms(BRANCH_NAMES)
        .not_paths(&["from"])
        .own_area(Area::FileWrite)
        .additive_where(|_, _, args| args["action"].as_str().is_none_or(|action| action != "delete"))
        .destroys_where(|args| args["action"] == "delete")
        .tags("git branches list create delete")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "action": "create", "name": "summer"}))
        .tool("git_checkout", Risk::Write, checkout)
        .synonyms(CHECKOUT_NAMES)
        .not_paths(&["target"])
        .own_area(Area::FileWrite)
        .destroys_where(overwrites)
        .tags("git switch branch restore file version discard changes")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "target": "main"}))
}

/// Show changes: of the working tree, staged ones, or between commits.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Diff {
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
    /// Show what is staged for the next commit.
    #[serde(default)]
    staged: bool,
    /// Commit or branch to compare with, instead of what is staged.
    from: Option<String>,
    /// Compare `from` with this commit or branch, instead of the working tree.
    to: Option<String>,
    /// Only these files or folders.
    #[serde(default)]
    files: Vec<String>,
    /// Only count lines, without the changes themselves.
    #[serde(default)]
    stat: bool,
    /// Unchanged lines around each change, 3 by default.
    context: Option<u8>,
}

async fn diff(tools: Workshop, cx: Cx, args: Diff) -> Result<Output> {
    let files = pathspecs(&args.files)?;
    if args.to.is_some() && args.from.is_none() {
        return Err(Error::bad_args("`to` needs `from`: name the commit or branch to compare it with"));
    }
    if args.to.is_some() && args.staged {
        return Err(Error::bad_args("`staged` compares with what is staged, and `to` with a commit: give one of them"));
    }
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let mut compared = vec![];
    for name in [&args.from, &args.to].into_iter().flatten() {
        compared.push(resolve(&tools, &cx, &repository, name).await?);
    }
    let context = format!("--unified={}", args.context.unwrap_or(3).min(100));
    let words = |form: &[&'static str]| {
        let mut words = vec!["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color", "-M"];
        words.extend(form);
        words.extend(args.staged.then_some("--cached"));
        words.extend(compared.iter().map(String::as_str));
        words.push("--");
        words.extend(files.iter().map(String::as_str));
        words
    };
    let ran = repository.git(&tools, &cx, Access::Read, &words(&["--numstat", "-z"])).await?;
    let changed = parse::numstat(ran.whole("the list of changes")?);
    let lines = |field: &str| changed.iter().filter_map(|file| file[field].as_u64()).sum::<u64>();
    let (added, removed) = (lines("added"), lines("removed"));
    let mut shown = json!({
        "repository": repository.shown(),
        "files": changed.iter().take(LISTED).collect::<Vec<_>>(),
        "changedFiles": changed.len(),
        "added": added,
        "removed": removed,
    });
    if !args.stat && !changed.is_empty() {
        let mut words = words(&["--patch", "--src-prefix=a/", "--dst-prefix=b/"]);
        words.insert(1, &context);
        let ran = repository.git(&tools, &cx, Access::Read, &words).await?;
        let (text, is_whole) = ran.text(&tools, DIFF)?;
        shown["diff"] = text.into();
        if !is_whole {
            shown["truncated"] = true.into();
            shown["note"] = "The diff is longer: name `files`, or count lines with `stat`.".into();
        }
    }
    let say = match changed.len() {
        0 => "There are no changes.".to_owned(),
        n => format!("{} changed: {added} lines added, {removed} removed.", counted_one(n, "file")),
    };
    Ok(repository.output(shown).say(say))
}

/// Show the history of commits, the newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Log {
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
    limit: Option<u32>,
    /// Commits to skip, for the next page.
    #[serde(default)]
    skip: u32,
    /// Begin at this commit or branch.
    branch: Option<String>,
    /// Only commits that change these files or folders.
    #[serde(default)]
    files: Vec<String>,
    /// Only by this author.
    author: Option<String>,
    /// Only since this time, such as 2026-01-31 or "2 weeks ago".
    since: Option<String>,
    /// Only until this time.
    until: Option<String>,
    /// Only with this text in the message.
    grep: Option<String>,
}

async fn log(tools: Workshop, cx: Cx, args: Log) -> Result<Output> {
    let files = pathspecs(&args.files)?;
    let limit = args.limit.unwrap_or(LOG.0).clamp(1, LOG.1) as usize;
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let from = match &args.branch {
        Some(name) => Some(resolve(&tools, &cx, &repository, name).await?),
        None if !has_commits(&tools, &cx, &repository).await? => {
            let shown = json!({"repository": repository.shown(), "commits": [], "hasMore": false});
            return Ok(repository.output(shown).say("There are no commits yet."));
        }
        None => None,
    };
    let mut words: Vec<String> =
        ["log", "-z", "--no-show-signature", "--no-color", "--decorate=short", parse::LOG_FORMAT]
            .map(str::to_owned)
            .into();
    words.push(format!("--max-count={}", limit + 1));
    words.push(format!("--skip={}", args.skip));
    let conditions = [("author", &args.author), ("since", &args.since), ("until", &args.until), ("grep", &args.grep)];
    for (name, value) in conditions {
        let Some(value) = value.as_ref().filter(|v| !v.trim().is_empty()) else { continue };
        check_text(name, value)?;
        words.push(format!("--{name}={value}"));
    }
    if args.author.is_some() || args.grep.is_some() {
        words.extend(["--fixed-strings", "--regexp-ignore-case"].map(str::to_owned));
    }
    words.extend(from);
    words.push("--".into());
    words.extend(files);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = repository.git(&tools, &cx, Access::Read, &words).await?;
    let mut commits = parse::log(ran.whole("the history")?);
    let has_more = commits.len() > limit;
    commits.truncate(limit);
    let say = match &commits[..] {
        [] => "No commit matches.".to_owned(),
        [last, ..] => {
            let subject = truncate(last["subject"].as_str().unwrap_or_default(), 80);
            format!(
                "{}, the last: {subject} ({}).",
                counted_one(commits.len(), "commit"),
                last["author"].as_str().unwrap_or_default()
            )
        }
    };
    let shown = json!({"repository": repository.shown(), "commits": commits, "hasMore": has_more});
    Ok(repository.output(shown).say(say))
}

/// Commit what is staged, in the name of the person. With `all`, changed and deleted files are staged first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Commit {
    /// The message: a short line, then perhaps a blank line and more.
    message: String,
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
    /// Also commit changes of tracked files that are not staged.
    #[serde(default)]
    all: bool,
}

async fn commit(tools: Workshop, cx: Cx, args: Commit) -> Result<Output> {
    let message = args.message.trim();
    if message.is_empty() {
        return Err(Error::bad_args("`message` is empty: say in a line what the commit changes"));
    }
    if message.chars().count() > MESSAGE || message.contains('\0') {
        return Err(Error::bad_args(format!("`message` must be text of {MESSAGE} characters at most: shorten it")));
    }
    // A secret in a message would stay in the history.
    let message = tools.scrubber.text(message, How::Digests).into_owned();
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    if !status.conflicted.is_empty() {
        return Err(Error::failed(format!(
            "{} in conflict, so nothing was committed: correct them and stage them with git_add",
            counted_one(status.conflicted.len(), "file")
        )));
    }
    if status.staged.is_empty() && (!args.all || status.unstaged.is_empty()) {
        return Err(Error::failed(match status.unstaged.is_empty() && status.untracked.is_empty() {
            true => "nothing was committed, because nothing is changed",
            false => "nothing was committed, because nothing is staged: stage files with git_add, or pass all: true",
        }));
    }
    let mut words = vec!["commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--no-edit"];
    words.extend(["--cleanup=whitespace", "--file=-"]);
    words.extend(args.all.then_some("--all"));
    repository.change(&tools, &cx, &words, message.as_bytes()).await?;
    let head =
        repository.git(&tools, &cx, Access::Read, &["log", "-z", "-1", "--no-show-signature", parse::LOG_FORMAT]);
    let made = parse::log(head.await?.whole("the commit")?).pop().unwrap_or_default();
    let counted = [
        "diff-tree",
        "--root",
        "--no-commit-id",
        "-r",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--numstat",
        "-z",
        "HEAD",
    ];
    let files = parse::numstat(repository.git(&tools, &cx, Access::Read, &counted).await?.whole("the commit")?);
    let shown = json!({
        "repository": repository.shown(),
        "commit": made["commit"],
        "short": made["short"],
        "branch": status.branch,
        "author": made["author"],
        "subject": made["subject"],
        "files": files.iter().take(LISTED).collect::<Vec<_>>(),
        "changedFiles": files.len(),
    });
    let short = made["short"].as_str().unwrap_or_default();
    let say = format!("I committed {} as {short}.", counted_one(files.len(), "changed file"));
    Ok(repository.output(shown).say(say))
}

/// Stage files for the next commit. Also stages deletions.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// Files or folders, relative to `path`; ["."] for all of it.
    files: Vec<String>,
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
}

async fn add(tools: Workshop, cx: Cx, args: Add) -> Result<Output> {
    let files = pathspecs(&args.files)?;
    if files.is_empty() {
        return Err(Error::bad_args("`files` is empty: name the files to stage, or [\".\"] for all"));
    }
    let repository = Repository::find(&tools, &cx, &args.path).await?;
    let mut words = vec!["add", "--all", "--"];
    words.extend(files.iter().map(String::as_str));
    repository.change(&tools, &cx, &words, &[]).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    let say = format!("{} staged for the next commit.", counted_one(status.staged.len(), "change"));
    Ok(repository.output(shown_status(&repository, &status)).say(say))
}
