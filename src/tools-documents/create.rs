//! The tool `create_pdf`.

use crate::source::{DocumentTools, unexpected};
use decoders::{Answer, Form, Input, MakePdf, Task};
use text_kit::counted;
use tool::prelude::*;
use workspace::{Expect, WriteOptions};

/// Points of a millimetre.
const MM: f32 = 72.0 / 25.4;
/// The margin and the size of letters where none are named: in millimetres, in points.
const MARGIN: f32 = 20.0;
const SIZE: f32 = 11.0;
/// The longest title and name of an author, in characters.
const FACT: usize = 300;

/// Create a PDF file from Markdown, HTML or plain text: headings, lists, tables, code, links, bold and italic. Letters are embedded: Latin,
/// Greek and Cyrillic.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CreatePdf {
    /// The text, 900 KB at most.
    content: String,
    /// Path of the new file, such as letters/bank.pdf.
    output_path: String,
    /// What the content is: markdown (default), html, or text, which keeps its lines.
    #[serde(default)]
    format: ContentFormat,
    /// Title of the document; it is its first heading too.
    title: Option<String>,
    author: Option<String>,
    /// Size of the pages (default: A4).
    #[serde(default)]
    page_size: PageSize,
    /// Whether pages are wider than high.
    #[serde(default)]
    landscape: bool,
    /// Margin in millimetres (default: 20).
    #[schemars(range(min = 5, max = 60))]
    margin: Option<f32>,
    /// Size of the letters in points (default: 11).
    #[schemars(range(min = 6, max = 24))]
    font_size: Option<f32>,
    /// Replace a file that is there.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ContentFormat {
    #[default]
    Markdown,
    Text,
    Html,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
pub(crate) enum PageSize {
    A3,
    #[default]
    A4,
    A5,
    Letter,
    Legal,
}

impl PageSize {
    /// In points, upright.
    fn points(self) -> (f32, f32) {
        match self {
            Self::A3 => (841.9, 1190.6),
            Self::A4 => (595.3, 841.9),
            Self::A5 => (419.5, 595.3),
            Self::Letter => (612.0, 792.0),
            Self::Legal => (612.0, 1008.0),
        }
    }
}

/// Whether a call only adds a new file.
pub(crate) fn only_adds(tools: &DocumentTools, cx: &Cx, args: &Value) -> bool {
    let Some(path) = args["outputPath"].as_str() else { return false };
    tools.workspaces.locate(cx, &with_ending(path)).is_ok_and(|located| tools.workspaces.is_free(&located))
}

/// The path that is written: every one ends in `.pdf`.
fn with_ending(path: &str) -> String {
    let path = path.trim();
    if path.to_ascii_lowercase().ends_with(".pdf") { path.to_owned() } else { format!("{path}.pdf") }
}

pub(crate) async fn create_pdf(tools: DocumentTools, cx: Cx, args: CreatePdf) -> Result<Output> {
    if args.content.trim().is_empty() {
        return Err(Error::bad_args("`content` is empty: pass the text of the document"));
    }
    let in_range = |name: &str, value: Option<f32>, usual: f32, (least, most): (f32, f32)| match value.unwrap_or(usual)
    {
        value if (least..=most).contains(&value) => Ok(value),
        _ => Err(Error::bad_args(format!("`{name}` is a number from {least} to {most}"))),
    };
    let margin = in_range("margin", args.margin, MARGIN, (5.0, 60.0))? * MM;
    let size = in_range("fontSize", args.font_size, SIZE, (6.0, 24.0))?;
    let located = tools.workspaces.locate(&cx, &with_ending(&args.output_path))?;
    tools.check_free(&cx, &located, args.overwrite).await?;
    let (width, height) = args.page_size.points();
    let (width, height) = if args.landscape { (height, width) } else { (width, height) };
    let fact = |text: Option<String>| {
        text.map(|text| text_kit::truncate(&text_kit::one_line(&text), FACT)).filter(|text| !text.is_empty())
    };
    let task = Task::MakePdf(MakePdf {
        content: args.content,
        form: match args.format {
            ContentFormat::Markdown => Form::Markdown,
            ContentFormat::Text => Form::Text,
            ContentFormat::Html => Form::Html,
        },
        title: fact(args.title),
        author: fact(args.author),
        width,
        height,
        margin,
        size,
    });
    let shown = located.display();
    let Answer::MadePdf(made) = tools.decode(&cx, &shown, &task, Input::Bytes(vec![])).await? else {
        return Err(unexpected());
    };
    let bytes = made.bytes.len();
    let expect = if args.overwrite { Expect::Any } else { Expect::Absent };
    let options = WriteOptions { expect, parents: true, ..WriteOptions::default() };
    let written = tools.workspaces.write(&cx, &located, made.bytes, options).await?;
    let mut content = json!({
        "path": shown,
        "pageCount": made.pages,
        "size": bytes,
        "created": written.created,
        "version": written.entry.version,
    });
    let mut sentence = format!("I made {shown}, with {}.", counted(made.pages, "page"));
    if !made.missing.is_empty() {
        content["missingCharacters"] = made.missing.clone().into();
        content["note"] =
            format!("these characters are not in the fonts and show as \u{fffd}: {}", made.missing).into();
        sentence.push_str(" Some of its characters are not in my fonts.");
    }
    Ok(Output::json(content)?.say(sentence))
}
