//! The tools `search_files` and `glob`.

use crate::{
    search::{FileGlob, How, Matched, Query, glob as find_by_glob},
    target::{FileTools, on_disk, time},
    walk::{Plan, Unseen, Walked},
};
use rustix::{fd::OwnedFd, fs::Stat};
use std::time::{Duration, Instant};
use text_kit::{More, counted, counted_one, listing, one_line, truncate};
use tool::{Label, prelude::*};
use workspace::{EntryKind, SearchRoot};

/// How many results a search returns by default and at most; and files of a glob.
pub(crate) const PAGE: (u32, u32) = (50, 100);
pub(crate) const FILES: (u32, u32) = (100, 500);
/// How many lines around a match are shown at most.
const CONTEXT: u32 = 10;
/// How long a search takes at most.
const PATIENCE: Duration = Duration::from_secs(25);
/// How many results a sentence names.
const NAMED: usize = 5;

/// What a search looks at.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
enum Where {
    Names,
    Content,
    #[default]
    Both,
}

/// Search the files of the workspace by name and by content; results come in the order of paths. Names that begin with a dot and what
/// .gitignore excludes are left out unless `hidden` or `ignored` is true. For documents of the agent, use memory_search.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SearchFiles {
    /// The text to find in names and lines; with `regex` a regular expression, as ripgrep reads it.
    query: String,
    /// Folder or file to search (default: the workspace).
    #[serde(default)]
    path: String,
    /// What is searched.
    #[serde(default, rename = "in")]
    place: Where,
    /// Whether `query` is a regular expression.
    #[serde(default)]
    regex: bool,
    /// Only files that match this glob, such as *.py or src/**/*.ts.
    glob: Option<String>,
    /// Whether case counts (default: if the query has a capital letter).
    case_sensitive: Option<bool>,
    /// How many lines to show around each match, up to 10.
    #[serde(default)]
    #[schemars(range(max = 10))]
    context: u32,
    /// Whether to search names that begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Whether to search what .gitignore and .ignore exclude.
    #[serde(default)]
    ignored: bool,
    max_results: Option<u32>,
}

/// The arguments of `search`, whose pattern is a regular expression for lines.
pub(crate) fn by_pattern(mut args: Value) -> Value {
    if let Some(fields) = args.as_object_mut()
        && !fields.contains_key("query")
        && let Some(pattern) = fields.remove("pattern")
    {
        fields.insert("query".into(), pattern);
        fields.entry("regex").or_insert(true.into());
        fields.entry("in").or_insert("content".into());
    }
    args
}

/// Where a search begins, and what of it counts.
struct Start {
    root: SearchRoot,
    /// The only file that is searched.
    file: Option<String>,
}

impl Unseen for SearchRoot {
    fn hides(&self, name: &str) -> bool {
        SearchRoot::hides(self, name)
    }
    fn guards(&self, folder: &OwnedFd, stat: &Stat) -> bool {
        SearchRoot::guards(self, folder, stat)
    }
}

impl Start {
    async fn of(tools: &FileTools, cx: &Cx, path: &str) -> Result<Self> {
        let path = if path.trim().is_empty() { "." } else { path };
        let located = tools.file(cx, path, "searched here, but with memory_search").await?;
        let entry = tools.workspaces.stat(cx, &located).await?;
        let workspaces = tools.workspaces.clone();
        match entry.kind {
            EntryKind::File => {
                let folder = located.parent().ok_or_else(|| Error::bad_args("a place itself is no file"))?;
                let file = located.name().map(str::to_owned);
                on_disk(move || Ok(Start { root: workspaces.search_root(&folder)?, file })).await
            }
            _ => on_disk(move || Ok(Start { root: workspaces.search_root(&located)?, file: None })).await,
        }
    }

    /// Walks with these bounds.
    fn walk<T>(&self, cx: &Cx, (hidden, ignored): (bool, bool), work: impl FnOnce(&Plan) -> T) -> T {
        let (began, cancel) = (Instant::now(), cx.cancel());
        let stop = || cancel.is_cancelled() || began.elapsed() > PATIENCE;
        // A file that is named is searched whatever it is called.
        let all = self.file.is_some();
        let (hidden, ignored) = (hidden || all, ignored || all);
        work(&Plan {
            root: self.root.handle(),
            start: self.root.start(),
            unseen: &self.root,
            hidden,
            ignored,
            only: self.file.as_deref(),
            stop: &stop,
        })
    }
}

pub(crate) async fn search_files(tools: FileTools, cx: Cx, args: SearchFiles) -> Result<Output> {
    let most = args.max_results.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let names = args.place != Where::Content;
    let how = How {
        regex: args.regex,
        case_sensitive: args.case_sensitive,
        names,
        content: args.place != Where::Names,
        context: args.context.min(CONTEXT) as usize,
        most,
    };
    let query = Query::new(&args.query, args.glob.as_deref(), how).map_err(Error::bad_args)?;
    let start = Start::of(&tools, &cx, &args.path).await?;
    let (bounds, searching) = ((args.hidden, args.ignored), cx.clone());
    let (hits, labels, start) = on_disk(move || {
        let hits = start.walk(&searching, bounds, |plan| query.run(plan));
        if searching.cancel().is_cancelled() {
            return Err(Error::unavailable("the search was cancelled"));
        }
        let labels =
            hits.files.iter().map(|hit| start.root.label(&searching, &hit.path)).collect::<Result<Vec<Label>>>()?;
        Ok((hits, labels, start))
    })
    .await?;
    let label = taint(&cx, &labels);
    let mut results = vec![];
    for (hit, label) in hits.files.iter().zip(&labels) {
        let path = start.root.display(&hit.path);
        let outside = *label == Label::Outside;
        if hit.by_name {
            results.push(mark(json!({"path": path, "match": "name"}), outside));
        }
        for line in &hit.lines {
            let mut result = json!({"path": path, "line": line.number, "text": line.text});
            for (field, lines) in [("before", &line.before), ("after", &line.after)] {
                if !lines.is_empty() {
                    result[field] = lines.clone().into();
                }
            }
            results.push(mark(result, outside));
        }
    }
    let files: Vec<String> = hits.files.iter().take(NAMED).map(|hit| start.root.display(&hit.path)).collect();
    let sentence = match results.len() {
        0 if hits.walked.ended_early => format!(
            "I looked at {} and found “{}” in none; there are more, so name a folder.",
            counted(hits.walked.files, "file"),
            truncate(&one_line(&args.query), 60)
        ),
        0 => format!("No file has “{}”.", truncate(&one_line(&args.query), 60)),
        n => {
            let head = format!("I found {} in {}", counted_one(n, "match"), counted_one(hits.files.len(), "file"));
            listing(&head, &files, More::from(hits.files.len() > files.len()))
        }
    };
    let mut content = json!({"query": args.query, "count": results.len(), "results": results, "hasMore": hits.more});
    describe_walk(&mut content, &hits.walked);
    let mut output = Output::json(content)?.say(sentence);
    output.label = label;
    Ok(output)
}

fn taint(cx: &Cx, labels: &[Label]) -> Label {
    labels.iter().for_each(|label| cx.taint(*label));
    labels.iter().copied().fold(Label::Own, Label::max)
}

fn mark(mut result: Value, outside: bool) -> Value {
    if outside {
        result["outside"] = true.into();
    }
    result
}

/// Says what a walk left out.
fn describe_walk(content: &mut Value, walked: &Walked) {
    content["filesSearched"] = walked.files.into();
    let mut notes = vec![];
    if walked.ended_early {
        notes.push(
            "the search ended before it had seen all files: name a folder, or search for something rarer".to_owned(),
        );
    }
    if walked.unreadable > 0 {
        let folders = counted(walked.unreadable, "folder");
        notes.push(format!("{folders} could not be read"));
    }
    if !notes.is_empty() {
        content["note"] = notes.join("; ").into();
    }
}

/// Find files of the workspace by a glob of their paths, in the order of paths. `*` stays within a folder, `**` does not; a glob
/// without `/` is one of names in any folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FindFiles {
    /// Glob, such as **/*.md, src/*.{js,ts} or report-202?.csv.
    pattern: String,
    /// Folder in which it begins (default: the workspace).
    #[serde(default)]
    path: String,
    /// Whether to find names that begin with a dot.
    #[serde(default)]
    hidden: bool,
    /// Whether to find what .gitignore and .ignore exclude.
    #[serde(default)]
    ignored: bool,
    max_results: Option<u32>,
}

pub(crate) async fn glob(tools: FileTools, cx: Cx, args: FindFiles) -> Result<Output> {
    let most = args.max_results.unwrap_or(FILES.0).clamp(1, FILES.1) as usize;
    let (folder, pattern) = split(&args.pattern, &args.path);
    let pattern = FileGlob::new(&pattern).map_err(Error::bad_args)?;
    if folder != args.path {
        // The rules have judged `path`.
        let located = tools.file(&cx, if folder.is_empty() { "." } else { &folder }, "searched here").await?;
        tools.workspaces.permit(&cx, "glob", &located).await?;
    }
    let start = Start::of(&tools, &cx, &folder).await?;
    if start.file.is_some() {
        return Err(Error::bad_args("`path` is a file: name the folder in which the glob begins"));
    }
    let (bounds, searching) = ((args.hidden, args.ignored), cx.clone());
    let (found, start, walked) = on_disk(move || {
        let (files, more, walked) = start.walk(&searching, bounds, |plan| find_by_glob(plan, &pattern, most));
        if searching.cancel().is_cancelled() {
            return Err(Error::unavailable("the search was cancelled"));
        }
        let labels =
            files.iter().map(|file| start.root.label(&searching, &file.path)).collect::<Result<Vec<Label>>>()?;
        Ok(((files, labels, more), start, walked))
    })
    .await?;
    let (files, labels, more) = found;
    let label = taint(&cx, &labels);
    let view = |(file, label): (&Matched, &Label)| {
        let modified = u64::try_from(file.modified).ok().and_then(|seconds| time(seconds.saturating_mul(1000)));
        let view = json!({"path": start.root.display(&file.path), "size": file.size, "modified": modified});
        mark(view, *label == Label::Outside)
    };
    let shown: Vec<Value> = files.iter().zip(&labels).map(view).collect();
    let named: Vec<String> = files.iter().take(NAMED).map(|file| start.root.display(&file.path)).collect();
    let sentence = match files.len() {
        0 => format!("No file matches {}.", truncate(&one_line(&args.pattern), 60)),
        n => listing(&format!("I found {}", counted_one(n, "file")), &named, More::from(n > named.len())),
    };
    let mut content = json!({"pattern": args.pattern, "count": shown.len(), "files": shown, "hasMore": more});
    describe_walk(&mut content, &walked);
    let mut output = Output::json(content)?.say(sentence);
    output.label = label;
    Ok(output)
}

/// The folder that a glob begins in, and the rest of it: of `household:/menus/*.md` the folder `household:/menus`.
fn split(pattern: &str, path: &str) -> (String, String) {
    let pattern = pattern.trim();
    let is_plain = |part: &str| !part.contains(['*', '?', '[', ']', '{', '}', '!', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let plain = parts[..parts.len() - 1].iter().take_while(|part| is_plain(part)).count();
    let begins = parts.first().is_some_and(|first| first.is_empty() || first.ends_with(':'));
    // What leads up is left for the check to refuse.
    if plain == 0 || parts[..plain].contains(&"..") {
        return (path.to_owned(), pattern.to_owned());
    }
    let (folder, rest) = (parts[..plain].join("/"), parts[plain..].join("/"));
    // One name alone would match in any folder below.
    let rest = if rest.contains('/') { rest } else { format!("./{rest}") };
    if begins {
        return (if folder.ends_with(':') || folder.is_empty() { format!("{folder}/") } else { folder }, rest);
    }
    let path = path.trim().trim_end_matches('/');
    (if path.is_empty() { folder } else { format!("{path}/{folder}") }, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_begin_in_their_plain_folders() {
        for (pattern, path, folder, rest) in [
            ("*.md", "", "", "*.md"),
            ("**/*.md", "docs", "docs", "**/*.md"),
            ("src/**/*.rs", "", "src", "**/*.rs"),
            ("src/a/*.rs", "repo/", "repo/src/a", "./*.rs"),
            ("household:/*.md", "", "household:/", "./*.md"),
            ("household:/a/*.md", "", "household:/a", "./*.md"),
            ("/workspace/a/b.md", "", "/workspace/a", "./b.md"),
            ("../*.md", "", "", "../*.md"),
        ] {
            assert_eq!(split(pattern, path), (folder.to_owned(), rest.to_owned()), "{pattern} in {path}");
        }
    }

    #[test]
    fn a_pattern_is_a_regular_expression_of_lines() {
        assert_eq!(
            by_pattern(json!({"pattern": "a.b", "path": "x"})),
            json!({"query": "a.b", "regex": true, "in": "content", "path": "x"})
        );
        assert_eq!(by_pattern(json!({"query": "a"})), json!({"query": "a"}));
    }
}
