//! The tools that copy, move, make and delete files and folders.

use crate::target::{FileTools, Target, read_only_skill, size_words};
use documents::Place;
use tool::prelude::*;
use workspace::{Entry, EntryKind, Expect, WriteOptions};

/// Copy a file or folder of the workspace, also to another place. What is there is not replaced unless `overwrite` is true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CopyFile {
    /// Path of the file or folder.
    source: String,
    /// Path of the copy, or of a folder to put it into.
    destination: String,
    /// Put what is there into the trash.
    #[serde(default)]
    overwrite: bool,
}

pub(crate) async fn copy_file(tools: FileTools, cx: Cx, args: CopyFile) -> Result<Output> {
    let (source, destination) = (&args.source, &args.destination);
    let target = tools.target(&cx, destination).await?;
    let from = tools.target(&cx, source).await?;
    let (to, made) = match (from, target) {
        (Target::File(from), Target::File(to)) => {
            let entry = tools.workspaces.copy(&cx, &from, &to, args.overwrite).await?;
            (placed(&to, &entry), entry)
        }
        // Texts of documents and skills become files.
        (from, Target::File(mut to)) => {
            let (name, text) = tools.text_of(&cx, &from, source).await?;
            if tools.workspaces.stat(&cx, &to).await.is_ok_and(|entry| entry.kind == EntryKind::Folder) {
                to = to.join(&name);
            }
            let expect = if args.overwrite { Expect::Any } else { Expect::Absent };
            let options = WriteOptions { expect, parents: true, label: cx.label(), ..WriteOptions::default() };
            let written = tools.workspaces.write(&cx, &to, text.into_bytes(), options).await?;
            (to.display(), written.entry)
        }
        (_, Target::Document(path)) => {
            return Err(Error::bad_args(format!(
                "`{path}` is a document of the agent: read the file, and write its text there with write_file"
            )));
        }
        (_, Target::Skill(..)) => return Err(read_only_skill(destination)),
    };
    output(&to, &made, &format!("I copied {source} to {to}."))
}

impl FileTools {
    /// The name and text of a document or of a file of a skill.
    async fn text_of(&self, cx: &Cx, target: &Target, shown: &str) -> Result<(String, String)> {
        match target {
            Target::Document(path) => {
                let file = self.documents.read(cx, path)?;
                let name = file.path.rsplit('/').next().unwrap_or(&file.path).to_owned();
                Ok((name, file.text))
            }
            Target::Skill(Some(skill), file) if !file.is_empty() => {
                let name = file.rsplit('/').next().unwrap_or(file).to_owned();
                Ok((name, self.skills.file(cx, skill, file).await?))
            }
            _ => Err(Error::bad_args(format!("`{shown}` is the folder of a skill: copy its files one by one"))),
        }
    }
}

/// Where a copy or moved file is: in the folder that was named, or under that name.
fn placed(to: &workspace::Located, entry: &Entry) -> String {
    let at = to.path().text();
    if at == entry.path { to.display() } else { to.join(&entry.name).display() }
}

fn output(path: &str, entry: &Entry, sentence: &str) -> Result<Output> {
    let content = json!({"path": path, "kind": entry.kind, "size": entry.size, "version": entry.version});
    Ok(Output::json(content)?.say(sentence))
}

/// Move or rename a file or folder of the workspace. What is there is not replaced unless `overwrite` is true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveFile {
    /// Path of the file or folder.
    source: String,
    /// Its new path, or a folder to move it into.
    destination: String,
    /// Put what is there into the trash.
    #[serde(default)]
    overwrite: bool,
}

pub(crate) async fn move_file(tools: FileTools, cx: Cx, args: MoveFile) -> Result<Output> {
    let from = tools.file(&cx, &args.source, "moved").await?;
    let to = tools.file(&cx, &args.destination, "replaced by a file").await?;
    let entry = tools.workspaces.move_to(&cx, &from, &to, args.overwrite).await?;
    let path = placed(&to, &entry);
    output(&path, &entry, &format!("I moved {} to {path}.", args.source.trim()))
}

/// Create a folder of the workspace, and those above it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateFolder {
    /// Its path from the workspace on, or with a place: household:/recipes.
    path: String,
}

pub(crate) async fn create_folder(tools: FileTools, cx: Cx, args: CreateFolder) -> Result<Output> {
    let located = tools.file(&cx, &args.path, "a folder").await?;
    let (entry, created) = tools.workspaces.create_folder(&cx, &located).await?;
    let path = located.display();
    let sentence =
        if created { format!("I created the folder {path}.") } else { format!("The folder {path} is there already.") };
    Ok(Output::json(json!({"path": path, "created": created, "version": entry.version}))?.say(sentence))
}

/// Delete a file of the workspace, or a folder with all that is in it: it goes into the trash, where it stays for 30 days. Also deletes
/// the agent's documents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteFile {
    /// Path of the file or folder.
    path: String,
    /// Delete a folder that is not empty.
    #[serde(default)]
    recursive: bool,
}

pub(crate) async fn delete_file(tools: FileTools, cx: Cx, args: DeleteFile) -> Result<Output> {
    let located = match tools.target(&cx, &args.path).await? {
        Target::File(located) => located,
        Target::Document(path) => {
            tools.documents.delete(&cx, &path, Place::Own).await?;
            return Ok(Output::json(json!({"path": path, "deleted": true}))?.say(format!("I deleted {path}.")));
        }
        Target::Skill(..) => return Err(read_only_skill(&args.path)),
    };
    let path = located.display();
    let entry = tools.workspaces.stat(&cx, &located).await?;
    if entry.kind == EntryKind::Folder && !args.recursive && tools.workspaces.list(&cx, &located, 0, 1).await?.total > 0
    {
        return Err(Error::bad_args(format!(
            "`{path}` is a folder that is not empty: pass `recursive`: true to delete all that is in it"
        )));
    }
    let held = tools.workspaces.delete(&cx, &located).await?;
    let content = json!({"path": path, "deleted": true, "trashId": held.id, "size": held.size});
    let sentence = format!("I moved {path} to the trash ({}); “undo that” brings it back.", size_words(held.size));
    Ok(Output::json(content)?.say(sentence))
}
