//! The tool `read_document`: the text of a document as Markdown.

use crate::source::{DocumentTools, unexpected};
use decoders::{Answer, Document, Format, ReadTask, Task, Unit};
use text_kit::{counted, one_line, truncate};
use tool::{Label, prelude::*};

/// How much text a call returns at most, in bytes.
pub(crate) const ROOM: usize = 48 * 1024;
/// How long a sentence quotes a document.
const SPOKEN: usize = 300;

/// Read a document as Markdown: PDF, Word (docx), Excel (xlsx), PowerPoint (pptx), OpenDocument (odt, ods, odp), EPUB, HTML, CSV and text. Keeps
/// headings, lists and tables. A long document comes in pieces: call again with what `next` says.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadDocument {
    /// Path in the workspace, such as letters/bank.pdf, or the id of a file that was sent.
    path: String,
    /// Which pages, sheets or slides, such as "3", "2-5" or "1-3,7,10-" (default: all).
    pages: Option<String>,
    /// How many characters to skip in the first of them, as `next` says.
    offset: Option<u32>,
    /// Password of an encrypted PDF.
    #[schemars(extend("writeOnly" = true))]
    password: Option<String>,
}

pub(crate) async fn read_document(tools: DocumentTools, cx: Cx, args: ReadDocument) -> Result<Output> {
    let ReadDocument { path, pages, offset, password } = args;
    let (shown, document, label) =
        read(&tools, &cx, &path, ReadOptions { pages, offset, password, plain: false }).await?;
    let mut content = json!({
        "path": shown,
        "format": document.format,
        "content": joined(&document),
        "hasMore": document.next.is_some(),
    });
    if document.unit != Unit::Whole {
        content[format!("{}Count", document.unit.name())] = document.count.into();
    }
    facts(&document, &mut content);
    let mut output = Output::json(content)?.say(sentence(&shown, &document));
    output.label = label;
    Ok(output)
}

/// What is wanted of a document.
pub(crate) struct ReadOptions {
    pub pages: Option<String>,
    pub offset: Option<u32>,
    pub password: Option<String>,
    pub plain: bool,
}

/// Reads a document, and labels it. Nobody sees all that is in a PDF or an Office file, so what it says counts as from outside,
/// whoever put it there; text has the label of its file.
pub(crate) async fn read(
    tools: &DocumentTools,
    cx: &Cx,
    path: &str,
    wanted: ReadOptions,
) -> Result<(String, Document, Label)> {
    let pages = wanted.pages.as_deref().map(str::trim).filter(|pages| !pages.is_empty());
    let pages = pages.map(decoders::pages).transpose().map_err(Error::bad_args)?;
    let source = tools.open(cx, path).await?;
    let task = Task::Read(ReadTask {
        ending: source.ending,
        password: wanted.password,
        pages,
        offset: usize::try_from(wanted.offset.unwrap_or(0)).unwrap_or(usize::MAX),
        room: ROOM,
        plain: wanted.plain,
    });
    let Answer::Document(document) = tools.decode(cx, &source.shown, &task, source.input).await? else {
        return Err(unexpected());
    };
    let is_text = matches!(document.format, Format::Csv | Format::Text);
    let label = if is_text { source.label } else { Label::Outside };
    cx.taint(label);
    Ok((source.shown, document, label))
}

/// Adds what else there is to say about a document.
pub(crate) fn facts(document: &Document, content: &mut Value) {
    for (name, fact) in [("title", &document.title), ("author", &document.author)] {
        if let Some(fact) = fact {
            content[name] = fact.clone().into();
        }
    }
    if let Some((number, offset)) = document.next {
        content["next"] = match document.unit {
            Unit::Whole => json!({"offset": offset}),
            _ => json!({"pages": format!("{number}-"), "offset": offset}),
        };
    }
    if !document.notes.is_empty() {
        content["note"] = document.notes.join("; ").into();
    }
}

fn joined(document: &Document) -> String {
    let mut out = String::new();
    for part in &document.parts {
        if document.unit != Unit::Whole {
            let name = part.name.as_ref().map_or_else(String::new, |name| format!(": {}", one_line(name)));
            out.push_str(&format!("--- {} {}{name} ---\n\n", document.unit.name(), part.number));
        }
        out.push_str(part.text.trim_end());
        out.push_str("\n\n");
    }
    out.truncate(out.trim_end().len());
    out
}

pub(crate) fn sentence(shown: &str, document: &Document) -> String {
    let size = match document.unit {
        Unit::Whole => String::new(),
        unit => format!(" has {}", counted(document.count, unit.name())),
    };
    let text: String = document.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ");
    let text = one_line(&truncate(&text, 4 * SPOKEN));
    match (size.as_str(), text.as_str()) {
        ("", "") => format!("{shown} is empty."),
        (size, "") => format!("{shown}{size}, without text that I can read."),
        ("", text) => format!("{shown} says: {}", truncate(text, SPOKEN)),
        (size, text) => format!("{shown}{size}. It says: {}", truncate(text, SPOKEN)),
    }
}
