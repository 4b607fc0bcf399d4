//! git in the workspace: state, differences, history, commits and branches.
//!
//! Each tool runs the real git in the process sandbox, over one repository. Nothing that a repository brings along runs
//! with it: see [`run`]. git reads a reduced copy of the repository's configuration: see [`config`].

mod config;
mod parse;
mod repository;
mod run;

use self::{repository::Repository, run::Access};
use crate::Workshop;
use scrub::How;
use std::time::Duration;
use text_kit::{counted_one, truncate};
use tool::prelude::*;

/// The default and the largest number of commits of `git_log`.
const LOG: (u32, u32) = (10, 50);
/// The maximum number of entries of each list in an answer.
const LISTED: usize = 500;
/// The maximum length of a diff in an answer, in bytes.
const DIFF: usize = 64 * 1024;
/// The maximum length of a commit message, in characters.
const MESSAGE: usize = 20_000;
/// The maximum length of the name of a branch or commit, in bytes.
const NAME: usize = 250;
/// The maximum number of paths a call may name.
const PATHS: usize = 500;
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
const BRANCH_NAMES: &[(&str, &str)] = names!("branch" => "name", "remote" => "remotes", "start" => "from", "startPoint" => "from");
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
        .own_area(Area::FileWrite)
        .additive_where(|_, _, args| args["action"].as_str().is_none_or(|action| action != "delete"))
        .destroys_where(|args| args["action"] == "delete")
        .tags("git branches list create delete")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "action": "create", "name": "summer"}))
        .tool("git_checkout", Risk::Write, checkout)
        .synonyms(CHECKOUT_NAMES)
        .own_area(Area::FileWrite)
        .destroys_where(overwrites)
        .tags("git switch branch restore file version discard changes")
        .returns_digests()
        .timeout(TIMEOUT)
        .example(json!({"path": "website", "target": "main"}))
}

/// Whether a checkout overwrites changes that no commit has.
fn overwrites(args: &Value) -> bool {
    let names_files = match &args["files"] {
        Value::Null => false,
        Value::Array(files) => !files.is_empty(),
        _ => true,
    };
    names_files || !matches!(&args["force"], Value::Null | Value::Bool(false))
}

/// Show the state of a git repository: branch, staged, changed, untracked and conflicted files.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Status {
    /// Folder of the repository; the workspace by default.
    #[serde(default)]
    path: String,
}

async fn status(tools: Workshop, cx: Cx, args: Status) -> Result<Output> {
    let repository = Repository::find(&tools, &cx, &args.path)?;
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

async fn read_status(tools: &Workshop, cx: &Cx, repository: &Repository) -> Result<parse::Status> {
    let args = ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
    let ran = repository.git(tools, cx, Access::Read, &args).await?;
    Ok(parse::status(ran.whole("the state of this repository")?))
}

fn shown_status(repository: &Repository, status: &parse::Status) -> Value {
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
    let repository = Repository::find(&tools, &cx, &args.path)?;
    let mut compared = vec![];
    for name in [&args.from, &args.to].into_iter().flatten() {
        compared.push(resolve(&tools, &cx, &repository, name).await?);
    }
    let context = format!("--unified={}", args.context.unwrap_or(3).min(100));
    let run = async |form: &[&str]| {
        let mut words = vec!["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color", "-M"];
        words.extend(form);
        words.extend(args.staged.then_some("--cached"));
        words.extend(compared.iter().map(String::as_str));
        words.push("--");
        words.extend(files.iter().map(String::as_str));
        repository.git(&tools, &cx, Access::Read, &words).await
    };
    let changed = parse::numstat(run(&["--numstat", "-z"]).await?.whole("the list of changes")?);
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
        let ran = run(&["--patch", "--src-prefix=a/", "--dst-prefix=b/", &context]).await?;
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
    let repository = Repository::find(&tools, &cx, &args.path)?;
    let from = match &args.branch {
        Some(name) => Some(resolve(&tools, &cx, &repository, name).await?),
        None if !has_commits(&tools, &cx, &repository).await? => {
            let shown = json!({"repository": repository.shown(), "commits": [], "hasMore": false});
            return Ok(repository.output(shown).say("There are no commits yet."));
        }
        None => None,
    };
    let mut words: Vec<String> = ["log", "-z", "--no-show-signature", "--no-color", "--decorate=short", parse::LOG_FORMAT]
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
            format!("{}, the last: {subject} ({}).", counted_one(commits.len(), "commit"), last["author"].as_str().unwrap_or_default())
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
    let repository = Repository::find(&tools, &cx, &args.path)?;
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
    let head = repository.git(&tools, &cx, Access::Read, &["log", "-z", "-1", "--no-show-signature", parse::LOG_FORMAT]);
    let made = parse::log(head.await?.whole("the commit")?).pop().unwrap_or_default();
    let counted =
        ["diff-tree", "--root", "--no-commit-id", "-r", "-M", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "HEAD"];
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
    let repository = Repository::find(&tools, &cx, &args.path)?;
    let mut words = vec!["add", "--all", "--"];
    words.extend(files.iter().map(String::as_str));
    repository.change(&tools, &cx, &words, &[]).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    let say = format!("{} staged for the next commit.", counted_one(status.staged.len(), "change"));
    Ok(repository.output(shown_status(&repository, &status)).say(say))
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
struct Branch {
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

async fn branch(tools: Workshop, cx: Cx, args: Branch) -> Result<Output> {
    let repository = Repository::find(&tools, &cx, &args.path)?;
    let name = || {
        let name = args.name.as_deref().unwrap_or_default();
        check_branch(name).map(|()| name)
    };
    match args.action {
        Action::List => {
            let mut words = vec!["for-each-ref", "--count=501", "--sort=-committerdate", parse::BRANCH_FORMAT, "refs/heads"];
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
struct Checkout {
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

async fn checkout(tools: Workshop, cx: Cx, args: Checkout) -> Result<Output> {
    let files = pathspecs(&args.files)?;
    let target = args.target.trim();
    let repository = Repository::find(&tools, &cx, &args.path)?;
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
    let mut words = vec!["checkout", "--quiet", "--no-recurse-submodules", "--no-guess", "--no-track"];
    words.extend(args.force.then_some("--force"));
    let at;
    if args.create {
        check_branch(target)?;
        words.extend(["-b", target]);
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
    // `--no-track` is for new branches only.
    words.retain(|word| args.create || *word != "--no-track");
    repository.change(&tools, &cx, &words, &[]).await?;
    let status = read_status(&tools, &cx, &repository).await?;
    let shown = shown_status(&repository, &status);
    let say = match &status.branch {
        Some(branch) => format!("You are on the branch {branch} now."),
        None => format!("You are at {} now, on no branch.", truncate(target, 60)),
    };
    Ok(repository.output(shown).say(say))
}

/// The full id of a commit that a name stands for.
async fn resolve(tools: &Workshop, cx: &Cx, repository: &Repository, name: &str) -> Result<String> {
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

async fn has_commits(tools: &Workshop, cx: &Cx, repository: &Repository) -> Result<bool> {
    let words = ["rev-parse", "--quiet", "--verify", "--end-of-options", "HEAD^{commit}"];
    Ok(repository.try_git(tools, cx, Access::Read, &words).await?.is_ok())
}

/// The paths of a call as git takes them: no magic, and nothing that could be read as an option.
fn pathspecs(files: &[String]) -> Result<Vec<String>> {
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
fn check_branch(name: &str) -> Result<()> {
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
        name => format!("`{}` cannot be the name of a branch: use letters, digits, dashes and slashes", truncate(name, 60)),
    }))
}

fn check_text(what: &str, text: &str) -> Result<()> {
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
            "", "-d", "--force", "a b", "a..b", "a~1", "a^", "a:b", "a?b", "*", "a[b", "a\\b", "/a", "a/", "a//b", ".a", "a/.b",
            "a.lock", "a.", "@", "a@{1}", "HEAD", "a\nb", "a\0b",
        ] {
            assert!(check_branch(bad).is_err(), "{bad:?}");
        }
    }

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
