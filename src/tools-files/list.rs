//! The tools `list_directory` and `workspace_dir`.

use crate::{
    read::view,
    target::{FileTools, Target, is_first, on_disk, time},
};
use documents::{FileLine, Place};
use std::collections::BTreeSet;
use text_kit::{More, counted_one, listing};
use tool::{Label, prelude::*};
use workspace::{Located, WalkOptions};

/// How many entries a call returns by default and at most.
pub(crate) const PAGE: (u32, u32) = (200, 1000);
/// How many entries below a folder are looked at, and how deep.
const WALKED: usize = 20_000;
const DEEPEST: usize = 64;
/// How many names a sentence has.
const NAMED: usize = 8;

/// List what is in a folder of the workspace: folders first, then files, by name. In the first folder the agent's documents
/// (MEMORY.md, memory/ …) are listed too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDirectory {
    /// Path of the folder (default: the workspace); household:/ is that of another place.
    #[serde(default)]
    path: String,
    /// Whether to list all that is below it.
    #[serde(default)]
    recursive: bool,
    /// How many at most.
    limit: Option<u32>,
    /// How many to skip, for the next page.
    #[serde(default)]
    offset: u32,
}

/// The entries of a folder, before a page of them is shown.
struct Entries {
    path: String,
    all: Vec<Value>,
    total: usize,
    truncated: bool,
    label: Label,
}

pub(crate) async fn list_directory(tools: FileTools, cx: Cx, args: ListDirectory) -> Result<Output> {
    let limit = args.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let offset = args.offset as usize;
    let path = if args.path.trim().is_empty() { "." } else { args.path.trim() };
    // A folder of documents is one by its name alone.
    let folder = path.trim_end_matches('/');
    let found = if tools.is_documents_folder(&cx, folder)? {
        documents_in(&tools, &cx, args.recursive).await?
    } else {
        match tools.target(&cx, path).await? {
            Target::File(located) if args.recursive => below(&tools, &cx, &located, offset + limit + 1).await?,
            Target::File(located) => in_folder(&tools, &cx, &located, offset + limit + 1).await?,
            Target::Document(path) => {
                return Err(Error::bad_args(format!("`{path}` is a document and no folder: read it")));
            }
            Target::Skill(None, _) => skills(&tools, &cx).await?,
            Target::Skill(Some(skill), folder) => {
                let prefix =
                    if folder.is_empty() { String::new() } else { format!("{}/", folder.trim_end_matches('/')) };
                let files = tools.skills.files(&cx, &skill).await?;
                let of = |(path, size): (&String, &u64)| json!({"path": format!("skills:/{}/{path}", skill.slug), "kind": "file", "size": size});
                let all: Vec<Value> = files.iter().filter(|(path, _)| path.starts_with(&prefix)).map(of).collect();
                if all.is_empty() {
                    return Err(Error::not_found(format!("the skill `{}` has no folder `{folder}`", skill.slug)));
                }
                Entries {
                    path: format!("skills:/{}/{folder}", skill.slug),
                    total: all.len(),
                    all,
                    truncated: false,
                    label: skill.label(),
                }
            }
        }
    };
    cx.taint(found.label);
    let shown: Vec<Value> = found.all.into_iter().skip(offset).take(limit).collect();
    let more = found.total > offset + shown.len();
    let names: Vec<String> = shown.iter().take(NAMED).filter_map(spoken).collect();
    let sentence = match found.total {
        0 => format!("{} is empty.", found.path),
        n => {
            let counted = if found.truncated { format!("more than {n} entries") } else { counted_one(n, "entry") };
            listing(&format!("In {} there is {counted}", found.path), &names, More::from(found.total > names.len()))
        }
    };
    let mut content = json!({"path": found.path, "entries": shown, "total": found.total, "hasMore": more});
    if found.truncated {
        content["note"] = "There is more than was looked at: list a folder further down.".into();
    }
    let mut output = Output::json(content)?.say(sentence);
    output.label = found.label;
    Ok(output)
}

fn spoken(entry: &Value) -> Option<String> {
    let name = entry["name"].as_str().or_else(|| entry["path"].as_str())?;
    Some(if entry["kind"] == "folder" { format!("{name}/") } else { name.to_owned() })
}

impl FileTools {
    /// Whether a path is the folder of memory documents.
    fn is_documents_folder(&self, cx: &Cx, path: &str) -> Result<bool> {
        if path.contains(':') && !path.starts_with('/') {
            return Ok(false);
        }
        let Ok(located) = self.workspaces.locate(cx, path) else { return Ok(false) };
        Ok(is_first(&located) && located.path().text() == documents::MEMORY_FOLDER)
    }
}

async fn in_folder(tools: &FileTools, cx: &Cx, located: &Located, most: usize) -> Result<Entries> {
    let list = tools.workspaces.list(cx, located, 0, most).await?;
    let (mut all, mut total) = (vec![], list.total);
    let is_top = is_first(located) && located.path().is_root();
    let hidden = if is_top { documents_at_top(tools, cx).await? } else { vec![] };
    let names: BTreeSet<&str> = hidden.iter().filter_map(|entry| entry["name"].as_str()).collect();
    for entry in &list.entries {
        let shown = located.join(&entry.name).display();
        // A file behind a document is reached with the name of its place.
        let shown =
            if names.contains(entry.name.as_str()) { format!("{}:/{shown}", located.place_id()) } else { shown };
        all.push(view(entry, &shown));
    }
    total += hidden.len();
    all.splice(0..0, hidden);
    let label = if list.entries.iter().any(|entry| entry.outside) { Label::Outside } else { Label::Own };
    Ok(Entries { path: located.display(), all, total, truncated: list.truncated, label })
}

async fn below(tools: &FileTools, cx: &Cx, located: &Located, most: usize) -> Result<Entries> {
    let options = WalkOptions { depth: DEEPEST, most: WALKED };
    let mut walker = tools.workspaces.walk(cx, located, options)?;
    let (cx, at) = (cx.clone(), located.clone());
    on_disk(move || {
        let (mut all, mut total, mut label) = (vec![], 0, Label::Own);
        for found in walker.by_ref() {
            if cx.cancel().is_cancelled() {
                return Err(Error::unavailable("the list was cancelled"));
            }
            total += 1;
            if all.len() < most {
                let mut path = at.clone();
                for name in found.path.names() {
                    path = path.join(name);
                }
                cx.taint(found.label);
                label = label.max(found.label);
                all.push(view(&found.entry, &path.display()));
            }
        }
        Ok(Entries { path: at.display(), all, total, truncated: walker.is_truncated(), label })
    })
    .await
}

/// The documents that are listed in the first folder.
async fn documents_at_top(tools: &FileTools, cx: &Cx) -> Result<Vec<Value>> {
    let lines = tools.documents.list(cx, "").await?;
    let folder = format!("{}/", documents::MEMORY_FOLDER);
    let (below, at_top): (Vec<&FileLine>, Vec<&FileLine>) =
        lines.iter().partition(|line| line.path.starts_with(&folder));
    let mut all = vec![];
    if !below.is_empty() {
        let name = documents::MEMORY_FOLDER;
        all.push(json!({"name": name, "path": name, "kind": "folder", "documents": below.len()}));
    }
    all.extend(at_top.into_iter().map(document));
    Ok(all)
}

async fn documents_in(tools: &FileTools, cx: &Cx, recursive: bool) -> Result<Entries> {
    let prefix = format!("{}/", documents::MEMORY_FOLDER);
    let lines = tools.documents.list(cx, &prefix).await?;
    let mut folders = BTreeSet::new();
    let mut all = vec![];
    for line in &lines {
        match line.path[prefix.len()..].split_once('/') {
            Some((folder, _)) if !recursive => {
                if folders.insert(folder) {
                    all.push(json!({"name": folder, "path": format!("{prefix}{folder}"), "kind": "folder"}));
                }
            }
            _ => all.push(document(line)),
        }
    }
    Ok(Entries { path: documents::MEMORY_FOLDER.into(), total: all.len(), all, truncated: false, label: Label::Own })
}

fn document(line: &FileLine) -> Value {
    let name = line.path.rsplit('/').next().unwrap_or(&line.path);
    json!({
        "name": name,
        "path": line.path,
        "kind": "document",
        "size": line.size,
        "modified": line.updated_ms.and_then(time),
        "shared": line.place == Place::Agents,
    })
}

async fn skills(tools: &FileTools, cx: &Cx) -> Result<Entries> {
    let mut skills = tools.skills.list(cx).await?;
    skills.retain(|skill| skill.enabled);
    let label = skills.iter().map(skills::Skill::label).fold(Label::Own, Label::max);
    let of = |skill: &skills::Skill| json!({"name": skill.slug, "path": format!("skills:/{}", skill.slug), "kind": "folder", "readOnly": true});
    let all: Vec<Value> = skills.iter().map(of).collect();
    Ok(Entries { path: "skills:/".into(), total: all.len(), all, truncated: false, label })
}

/// Get the folders of the workspace: the one where relative paths begin, and the others with the name that their paths begin with.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspaceDir {}

pub(crate) async fn workspace_dir(tools: FileTools, cx: Cx, _: WorkspaceDir) -> Result<Output> {
    let workspaces = tools.workspaces.clone();
    let places = on_disk(move || workspaces.places(&cx)).await?;
    let first = places.first().ok_or_else(|| Error::not_found("you have no workspace"))?;
    let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
    let sentence = listing("Your folders", &names, More::None);
    let content = json!({
        "path": first.inside,
        "place": first.id,
        "places": places,
        "note": "Relative paths begin in the first place; paths in another begin with its id, such as household:/. Programs find the places \
                 at `inside`.",
    });
    Ok(Output::json(content)?.say(sentence))
}
