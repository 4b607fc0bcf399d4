//! The tools `read_file` and `file_info`.

use crate::{
    lines::{self, Lines, Range},
    target::{FileTools, Target, on_disk, size_words, time},
};
use documents::Place;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};
use text_kit::{counted, one_line, truncate};
use tool::{Label, prelude::*};
use workspace::{
    Entry, EntryKind, Located,
    text::{Content, Encoding, HEAD, TextForm, detect},
};

/// How many lines a call returns.
const LINES: u32 = 2000;
/// How long the text of a call is at most, and one line of it, in bytes.
const ROOM: usize = 48 * 1024;
const WIDTH: usize = 8 * 1024;
/// All lines are counted in files up to this size, in bytes.
const COUNTED: u64 = 16 * 1024 * 1024;
/// How long a sentence quotes a file.
const SPOKEN: usize = 300;

/// Read a text file of the workspace, or some of its lines. Also reads the agent's documents (MEMORY.md, memory/…, USER.md …) and
/// files of skills. Binary files are refused with what they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ReadFile {
    /// Path from the workspace on, such as notes/plan.md; in another place with its name: household:/menu.md.
    path: String,
    /// First line (default: 1).
    #[schemars(range(min = 1))]
    start_line: Option<u32>,
    /// Last line (default: as many as fit, 2000 at most).
    #[schemars(range(min = 1))]
    end_line: Option<u32>,
    /// How many lines, instead of endLine.
    #[schemars(range(min = 1))]
    lines: Option<u32>,
    /// Encoding, where it is not the one that is recognized.
    encoding: Option<Encoding>,
    /// Whether each line begins with its number and a tab.
    #[serde(default)]
    line_numbers: bool,
}

impl ReadFile {
    fn range(&self, size: u64) -> Result<Range> {
        let first = self.start_line.unwrap_or(1);
        if first == 0 || self.end_line == Some(0) || self.lines == Some(0) {
            return Err(Error::bad_args("lines are counted from 1: pass numbers of at least 1"));
        }
        let count = match (self.lines, self.end_line) {
            (Some(lines), _) => lines,
            (None, Some(last)) if last < first => {
                return Err(Error::bad_args(format!("`endLine` {last} is before `startLine` {first}: swap them")));
            }
            (None, Some(last)) => last - first + 1,
            (None, None) => LINES,
        };
        let lines = u64::from(count.min(LINES));
        Ok(Range { first: first.into(), lines, room: ROOM, width: WIDTH, count: size <= COUNTED })
    }
}

/// A text that was read, and what else there is to say about it.
struct Source {
    path: String,
    size: u64,
    version: String,
    modified: Option<u64>,
    label: Label,
    form: TextForm,
    lines: Lines,
}

pub(crate) async fn read_file(tools: FileTools, cx: Cx, args: ReadFile) -> Result<Output> {
    let source = match tools.target(&cx, &args.path).await? {
        Target::File(located) => from_disk(&tools, &cx, &located, &args).await?,
        Target::Document(path) => {
            let file = tools.documents.read(&cx, &path)?;
            let lines = of_text(&file.text, &args)?;
            Source {
                path: file.path,
                size: file.text.len() as u64,
                version: file.version.to_string(),
                modified: file.updated_ms,
                label: file.label,
                form: TextForm::default(),
                lines,
            }
        }
        Target::Skill(Some(skill), file) if !file.is_empty() => {
            let text = tools.skills.file(&cx, &skill, &file).await?;
            let lines = of_text(&text, &args)?;
            Source {
                path: format!("skills:/{}/{file}", skill.slug),
                size: text.len() as u64,
                version: skill.version().to_string(),
                modified: None,
                label: skill.label(),
                form: TextForm::default(),
                lines,
            }
        }
        Target::Skill(..) => {
            return Err(Error::bad_args("this is the folder of a skill: name a file in it, such as SKILL.md"));
        }
    };
    let Source { lines, .. } = &source;
    let first = args.start_line.unwrap_or(1);
    if let Some(total) = lines.total
        && u64::from(first) > total.max(1)
    {
        return Err(Error::bad_args(format!(
            "`{}` has {}: pass a smaller `startLine`",
            source.path,
            counted(total, "line")
        )));
    }
    output(&source, first, args.line_numbers)
}

fn of_text(text: &str, args: &ReadFile) -> Result<Lines> {
    let range = args.range(text.len() as u64)?;
    lines::read(&mut text.as_bytes(), TextForm::default(), range, &|| false)
        .map_err(|error| unreadable(&args.path, &error))
}

async fn from_disk(tools: &FileTools, cx: &Cx, located: &Located, args: &ReadFile) -> Result<Source> {
    let opened = tools.workspaces.open_file(cx, located).await?;
    let (entry, label, mut file) = (opened.entry.clone(), opened.label, opened.into_file());
    let range = args.range(entry.size)?;
    let (shown, named, cancel) = (located.display(), args.encoding, cx.cancel().clone());
    let size = entry.size;
    let read = on_disk(move || {
        let failed = |error: io::Error| unreadable(&shown, &error);
        let head = head_of(&mut file).map_err(failed)?;
        let form = match named {
            Some(encoding) => TextForm::named(encoding, &head),
            None => match detect(&head, head.len() as u64 >= size) {
                Content::Text(form) => form,
                Content::Binary(kind) => return Err(no_text(&shown, kind, size)),
            },
        };
        file.seek(SeekFrom::Start(form.mark_length() as u64)).map_err(failed)?;
        let lines = lines::read(&mut file, form, range, &|| cancel.is_cancelled()).map_err(failed)?;
        Ok((form, lines))
    });
    let (form, lines) = read.await?;
    let (size, version, modified) = (entry.size, entry.version, Some(entry.modified));
    Ok(Source { path: located.display(), size, version, modified, label, form, lines })
}

/// The first bytes of a file.
pub(crate) fn head_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    file.seek(SeekFrom::Start(0))?;
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

pub(crate) fn no_text(shown: &str, kind: &str, size: u64) -> Error {
    Error::bad_args(format!(
        "`{shown}` is {kind} ({}) and no text, so it cannot be read as lines: file_info has its facts, and a person can open it on \
         the page",
        size_words(size)
    ))
    .say(format!("{} is {kind}, which I cannot read as text.", truncate(shown, 80)))
}

pub(crate) fn unreadable(shown: &str, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::Interrupted {
        return Error::unavailable(format!("reading `{shown}` was cancelled"));
    }
    Error::unavailable(format!("`{shown}` could not be read: {error}; look whether its disk is connected"))
}

fn output(source: &Source, first: u32, numbers: bool) -> Result<Output> {
    let Source { path, size, version, modified, label, form, lines } = source;
    let text = if numbers && lines.last >= u64::from(first) {
        lines::numbered(&lines.text, first.into())
    } else {
        lines.text.clone()
    };
    let mut content = json!({
        "path": path,
        "content": text,
        "startLine": first,
        "endLine": lines.last,
        "hasMore": lines.more,
        "size": size,
        "version": version,
    });
    if let Some(total) = lines.total {
        content["totalLines"] = total.into();
    }
    if let Some(modified) = modified.and_then(time) {
        content["modified"] = modified.into();
    }
    if *form != TextForm::default() {
        content["encoding"] = form.encoding.name().into();
        if form.mark {
            content["byteOrderMark"] = true.into();
        }
    }
    if lines.crlf {
        content["lineEnding"] = "crlf".into();
    }
    let mut notes = vec![];
    if lines.more {
        notes.push(format!("more lines follow: pass startLine {}", lines.last + 1));
    }
    if !lines.cut.is_empty() {
        let numbers: Vec<String> = lines.cut.iter().take(10).map(u64::to_string).collect();
        notes.push(format!("only the first {WIDTH} bytes of line {} are here", numbers.join(", ")));
    }
    if lines.replaced {
        notes.push(format!("bytes that are not {} were replaced by \u{fffd}", form.encoding.name()));
    }
    if !notes.is_empty() {
        content["note"] = notes.join("; ").into();
    }
    let said = one_line(&lines.text);
    let sentence = match said.trim() {
        "" => format!("{path} is empty."),
        said => format!("{path} says: {}", truncate(said, SPOKEN)),
    };
    let mut output = Output::json(content)?.say(sentence);
    output.label = *label;
    Ok(output)
}

/// Get the facts of a file or folder: kind, size, times, media type, encoding and number of lines of a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileInfo {
    /// Path from the workspace on, or with a place: household:/menu.md.
    path: String,
}

pub(crate) async fn file_info(tools: FileTools, cx: Cx, args: FileInfo) -> Result<Output> {
    match tools.target(&cx, &args.path).await? {
        Target::File(located) => info_of_file(&tools, &cx, &located).await,
        Target::Document(path) => {
            let file = tools.documents.read(&cx, &path)?;
            let content = json!({
                "path": file.path,
                "kind": "document",
                "size": file.text.len(),
                "lines": file.text.lines().count(),
                "version": file.version.to_string(),
                "modified": file.updated_ms.and_then(time),
                "shared": file.place == Place::Agents,
            });
            let size = size_words(file.text.len() as u64);
            Ok(Output::json(content)?.say(format!("{} is a document of {size}.", file.path)))
        }
        Target::Skill(Some(skill), file) => {
            let files = tools.skills.files(&cx, &skill).await?;
            let path = format!("skills:/{}/{file}", skill.slug);
            let content = match files.get(&file) {
                Some(size) => json!({"path": path, "kind": "file", "size": size, "readOnly": true}),
                None if file.is_empty() => {
                    json!({"path": path, "kind": "folder", "files": files.len(), "readOnly": true})
                }
                None => {
                    return Err(Error::not_found(format!(
                        "the skill `{}` has no file `{}`",
                        skill.slug,
                        truncate(&file, 100)
                    )));
                }
            };
            Ok(Output::json(content)?.say(format!("{path} is part of a skill.")))
        }
        Target::Skill(None, _) => Err(Error::bad_args("name a skill: list_directory of skills:/ shows them")),
    }
}

async fn info_of_file(tools: &FileTools, cx: &Cx, located: &Located) -> Result<Output> {
    let entry = tools.workspaces.stat(cx, located).await?;
    let mut content = view(&entry, &located.display());
    content["permissions"] = entry.mode.clone().into();
    content["version"] = entry.version.clone().into();
    content["place"] = located.place_id().into();
    content["inside"] = located.inside().display().to_string().into();
    if located.is_read_only() {
        content["readOnly"] = true.into();
    }
    let mut what = match entry.kind {
        EntryKind::File => "a file".to_owned(),
        EntryKind::Folder => "a folder".to_owned(),
        EntryKind::Link => "a link".to_owned(),
        EntryKind::Other => "no plain file".to_owned(),
    };
    let mut label = Label::Own;
    // What cannot be opened, such as a hard link, has facts all the same.
    if entry.kind == EntryKind::File
        && let Ok(opened) = tools.workspaces.open_file(cx, located).await
    {
        label = opened.label;
        let (size, mut file) = (entry.size, opened.into_file());
        let cancel = cx.cancel().clone();
        let shown = located.display();
        let looked = on_disk(move || {
            let failed = |error: io::Error| unreadable(&shown, &error);
            let head = head_of(&mut file).map_err(failed)?;
            let content = detect(&head, head.len() as u64 >= size);
            let Content::Text(form) = content else { return Ok((content, None)) };
            file.seek(SeekFrom::Start(form.mark_length() as u64)).map_err(failed)?;
            let range = Range { first: u64::MAX, lines: 0, room: 0, width: 0, count: true };
            let counts = size <= COUNTED;
            let lines = counts
                .then(|| lines::read(&mut file, form, range, &|| cancel.is_cancelled()).map_err(failed))
                .transpose()?;
            Ok((content, lines.and_then(|lines| lines.total)))
        });
        match looked.await? {
            (Content::Text(form), lines) => {
                content["encoding"] = form.encoding.name().into();
                content["lines"] = lines.into();
                what = "a text".into();
            }
            (Content::Binary(kind), _) => {
                content["content"] = kind.into();
                what = kind.into();
            }
        }
    }
    let size = if entry.kind == EntryKind::File { format!(" of {}", size_words(entry.size)) } else { String::new() };
    let mut output = Output::json(content)?.say(format!("{} is {what}{size}.", located.display()));
    output.label = label;
    Ok(output)
}

/// An entry in lists and facts.
pub(crate) fn view(entry: &Entry, path: &str) -> Value {
    let mut view = json!({"name": entry.name, "path": path, "kind": entry.kind, "modified": time(entry.modified)});
    if entry.kind == EntryKind::File {
        view["size"] = entry.size.into();
        view["mediaType"] = entry.media_type.clone().into();
    }
    if entry.outside {
        view["outside"] = true.into();
    }
    view
}
