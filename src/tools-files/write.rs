//! The tools `write_file` and `edit_file`.

use crate::{
    read::no_text,
    replace::{Replaced, Replacement, replace},
    target::{FileTools, Target, read_only_skill, size_words},
};
use documents::Place;
use text_kit::{counted, truncate};
use tool::{Label, prelude::*};
use workspace::{
    Expect, Located, WriteOptions,
    text::{Content, Encoding, TextForm, detect},
};

/// The largest file that is edited or appended to, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;
/// The longest diff in an answer, in bytes.
const DIFF: usize = 16 * 1024;
/// How many replacements one call makes.
const EDITS: usize = 100;

/// Write a text file of the workspace: it is created, or replaced as a whole. Folders that are missing are created. Also writes the
/// agent's documents (MEMORY.md, memory/…, USER.md …). To change a part of a file, use edit_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    /// Path from the workspace on, such as notes/plan.md; in another place with its name: household:/menu.md.
    path: String,
    /// The text.
    content: String,
    /// Add the text at the end of the file instead of replacing it.
    #[serde(default)]
    append: bool,
    /// Encoding (default: utf-8; with append that of the file).
    encoding: Option<Encoding>,
    /// Write only if this is the version of the file, as read_file returns it.
    version: Option<String>,
}

/// Whether a call only adds a new file: nothing is there, and it is no document that the agent follows.
pub(crate) fn only_adds(tools: &FileTools, cx: &Cx, args: &Value) -> bool {
    let Some(path) = args["path"].as_str().map(str::trim) else { return false };
    let Ok(located) = tools.workspaces.locate(cx, path) else { return false };
    let is_file = documents::is_document(&located.path().text()).is_ok_and(|is| !is);
    is_file && !path.starts_with("skills:") && tools.workspaces.is_free(&located)
}

pub(crate) async fn write_file(tools: FileTools, cx: Cx, args: WriteFile) -> Result<Output> {
    match tools.target(&cx, &args.path).await? {
        Target::File(located) => write_to_disk(&tools, &cx, &located, args).await,
        Target::Document(path) => write_document(&tools, &cx, &path, args).await,
        Target::Skill(..) => Err(read_only_skill(&args.path)),
    }
}

async fn write_document(tools: &FileTools, cx: &Cx, path: &str, args: WriteFile) -> Result<Output> {
    if args.encoding.is_some_and(|encoding| encoding != Encoding::Utf8) {
        return Err(Error::bad_args("documents of the agent are UTF-8: leave `encoding` out"));
    }
    let edit = if args.append { documents::Edit::Append(args.content) } else { documents::Edit::Replace(args.content) };
    let expected = version_number(args.version.as_deref())?;
    let written = if args.append && tools.documents.has(cx, path)? {
        tools.documents.edit(cx, path, edit, (Place::Own, expected)).await?
    } else {
        let (documents::Edit::Append(text) | documents::Edit::Replace(text)) = edit else {
            return Err(Error::failed("this edit is not written"));
        };
        tools.documents.write(cx, path, &text, (Place::Own, expected)).await?
    };
    document_output(path, written.as_ref())
}

/// The answer after a document was written; nothing is left of an emptied one.
fn document_output(path: &str, written: Option<&documents::VirtualFile>) -> Result<Output> {
    let Some(file) = written else {
        return Ok(Output::json(json!({"path": path, "deleted": true}))?
            .say(format!("{path} is empty now, so it was deleted.")));
    };
    let content = json!({"path": file.path, "size": file.text.len(), "version": file.version.to_string()});
    Ok(Output::json(content)?.say(format!("I wrote {}.", file.path)))
}

fn version_number(version: Option<&str>) -> Result<Option<u32>> {
    let parse = |version: &str| {
        version.trim().parse().map_err(|_| Error::bad_args("`version` of a document is a number: read it again"))
    };
    version.map(parse).transpose()
}

async fn write_to_disk(tools: &FileTools, cx: &Cx, located: &Located, args: WriteFile) -> Result<Output> {
    let WriteFile { content, append, encoding, version, .. } = args;
    let mut expect = version.map_or(Expect::Any, Expect::Version);
    let form = TextForm { encoding: encoding.unwrap_or_default(), mark: false };
    let shown = located.display();
    let (bytes, keeps_content) = match append {
        true if tools.workspaces.exists(cx, located).await? => {
            let (entry, mut bytes) = tools.workspaces.read(cx, located, LARGEST).await?;
            let form = match (encoding, detect(&bytes, true)) {
                (Some(encoding), _) => TextForm::named(encoding, &bytes),
                (None, Content::Text(form)) => form,
                (None, Content::Binary(kind)) => return Err(no_text(&shown, kind, entry.size)),
            };
            let more = TextForm { mark: false, ..form };
            bytes.extend(more.encode(&content).map_err(|c| not_in(form.encoding, c))?);
            if expect == Expect::Any {
                expect = Expect::Version(entry.version);
            }
            (bytes, true)
        }
        _ => (form.encode(&content).map_err(|c| not_in(form.encoding, c))?, false),
    };
    let size = bytes.len() as u64;
    let options = WriteOptions { expect, parents: true, keeps_content, ..WriteOptions::default() };
    let written = tools.workspaces.write(cx, located, bytes, options).await?;
    let mut answer = json!({
        "path": shown,
        "size": size,
        "lines": content.lines().count(),
        "created": written.created,
        "version": written.entry.version,
    });
    if append {
        answer["appended"] = content.len().into();
    }
    let verb = match (append, written.created) {
        (_, true) => "created",
        (true, false) => "added to",
        (false, false) => "replaced",
    };
    Ok(Output::json(answer)?.say(format!("I {verb} {shown} ({}).", size_words(size))))
}

fn not_in(encoding: Encoding, c: char) -> Error {
    Error::bad_args(format!("the encoding {} has no `{c}`: leave it out, or write the file as utf-8", encoding.name()))
}

/// Change passages of a text file by exact match, and see the changes as a diff. `oldText` must be in the file exactly once, with all
/// its white space, unless `replaceAll` is true. Also edits the agent's documents.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EditFile {
    /// Path from the workspace on, or with a place: household:/menu.md.
    path: String,
    /// The passage as it is in the file.
    old_text: Option<String>,
    /// What takes its place; empty deletes it.
    new_text: Option<String>,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// Several replacements, made in order, all or none.
    #[serde(default)]
    edits: Vec<Passage>,
    /// Edit only if this is the version of the file, as read_file returns it.
    version: Option<String>,
}

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Passage {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl EditFile {
    fn replacements(&mut self) -> Result<Vec<Replacement>> {
        let mut all = vec![];
        match (self.old_text.take(), self.new_text.take()) {
            (Some(old), new) => all.push(Replacement { old, new: new.unwrap_or_default(), all: self.replace_all }),
            (None, Some(_)) => return Err(Error::bad_args("`newText` needs `oldText`, the passage that it replaces")),
            (None, None) => {}
        }
        let one = |edit: Passage| Replacement { old: edit.old_text, new: edit.new_text, all: edit.replace_all };
        all.extend(self.edits.drain(..).map(one));
        if all.is_empty() {
            return Err(Error::bad_args("there is nothing to change: pass `oldText` and `newText`, or `edits`"));
        }
        if all.len() > EDITS {
            return Err(Error::bad_args(format!(
                "more than {EDITS} edits at once: make them in several calls, or write the file"
            )));
        }
        if all.iter().any(|edit| edit.old.is_empty()) {
            return Err(Error::bad_args(
                "`oldText` is empty: pass the passage to replace, or write a new file with write_file",
            ));
        }
        Ok(all)
    }
}

pub(crate) async fn edit_file(tools: FileTools, cx: Cx, mut args: EditFile) -> Result<Output> {
    let replacements = args.replacements()?;
    match tools.target(&cx, &args.path).await? {
        Target::File(located) => edit_on_disk(&tools, &cx, &located, &replacements, args.version).await,
        Target::Document(path) => {
            let file = tools.documents.read(&cx, &path)?;
            let replaced = replace(&file.text, &replacements).map_err(Error::bad_args)?;
            let expected = version_number(args.version.as_deref())?.or(Some(file.version));
            let edit = documents::Edit::Replace(replaced.text.clone());
            let written = tools.documents.edit(&cx, &path, edit, (Place::Own, expected)).await?;
            let version = written.map_or_else(|| "0".to_owned(), |file| file.version.to_string());
            edit_output(&path, &version, &replaced, file.label)
        }
        Target::Skill(..) => Err(read_only_skill(&args.path)),
    }
}

async fn edit_on_disk(
    tools: &FileTools,
    cx: &Cx,
    located: &Located,
    replacements: &[Replacement],
    version: Option<String>,
) -> Result<Output> {
    let shown = located.display();
    let (entry, bytes) = tools.workspaces.read(cx, located, LARGEST).await?;
    let label = if entry.outside { Label::Outside } else { Label::Own };
    let (form, text) = match detect(&bytes, true) {
        Content::Binary(kind) => return Err(no_text(&shown, kind, entry.size)),
        Content::Text(form) => match form.decode(&bytes) {
            Some(text) => (form, text),
            // Every byte is a character of it, so all that is not replaced stays as it is.
            None => {
                let form = TextForm { encoding: Encoding::Latin1, mark: false };
                (form, form.decode(&bytes).unwrap_or_default())
            }
        },
    };
    let replaced = replace(&text, replacements).map_err(|why| Error::bad_args(format!("`{shown}`: {why}")))?;
    let bytes = form.encode(&replaced.text).map_err(|c| not_in(form.encoding, c))?;
    let expect = Expect::Version(version.unwrap_or(entry.version));
    let options = WriteOptions { expect, keeps_content: true, ..WriteOptions::default() };
    let written = tools.workspaces.write(cx, located, bytes, options).await?;
    edit_output(&shown, &written.entry.version, &replaced, label)
}

fn edit_output(path: &str, version: &str, replaced: &Replaced, label: Label) -> Result<Output> {
    let Replaced { count, diff, first_line, added, removed, .. } = replaced;
    let mut content = json!({
        "path": path,
        "replacements": count,
        "linesAdded": added,
        "linesRemoved": removed,
        "firstLine": first_line,
        "diff": diff,
        "version": version,
    });
    if diff.len() > DIFF {
        content["diff"] = format!("{}\n… the rest of the diff is left out", truncate(diff, DIFF)).into();
    }
    let passages = counted(*count, "passage");
    let mut output = Output::json(content)?.say(format!("I changed {passages} in {path}."));
    output.label = label;
    Ok(output)
}
