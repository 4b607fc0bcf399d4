//! The tools `read_pdf` and `pdf_info`.

use crate::{
    read::{self, ReadOptions, facts, sentence},
    source::{DocumentTools, unexpected},
};
use decoders::{Answer, Task};
use text_kit::counted;
use tool::{Label, prelude::*};

/// Extract the text of a PDF file, page by page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadPdf {
    /// Path in the workspace, such as letters/bank.pdf, or the id of a file that was sent.
    path: String,
    /// Which pages, such as "3", "2-5" or "1-3,7,10-" (default: all, as many as fit).
    pages: Option<String>,
    /// How many characters to skip in the first of them, as `next` says.
    offset: Option<u32>,
    /// Password of an encrypted file.
    #[schemars(extend("writeOnly" = true))]
    password: Option<String>,
}

pub(crate) async fn read_pdf(tools: DocumentTools, cx: Cx, args: ReadPdf) -> Result<Output> {
    let ReadPdf { path, pages, offset, password } = args;
    let (shown, document, label) =
        read::read(&tools, &cx, &path, ReadOptions { pages, offset, password, plain: true }).await?;
    if document.format != decoders::Format::Pdf {
        return Err(Error::bad_args(format!(
            "`{shown}` is no PDF file but {}: read it with read_document",
            document.format.name()
        )));
    }
    let pages: Vec<Value> =
        document.parts.iter().map(|part| json!({"page": part.number, "text": part.text.trim_end()})).collect();
    let mut content = json!({
        "path": shown,
        "pageCount": document.count,
        "pages": pages,
        "hasMore": document.next.is_some(),
    });
    facts(&document, &mut content);
    let mut output = Output::json(content)?.say(sentence(&shown, &document));
    output.label = label;
    Ok(output)
}

/// Get the facts of a PDF file: pages, title, author, dates, page size, whether it is encrypted and whether it has text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PdfInfo {
    /// Path in the workspace, such as letters/bank.pdf, or the id of a file that was sent.
    path: String,
    /// Password of an encrypted file.
    #[schemars(extend("writeOnly" = true))]
    password: Option<String>,
}

pub(crate) async fn pdf_info(tools: DocumentTools, cx: Cx, args: PdfInfo) -> Result<Output> {
    let source = tools.open(&cx, &args.path).await?;
    let size = source.input.size();
    let task = Task::PdfInfo { password: args.password };
    let Answer::PdfInfo(info) = tools.decode(&cx, &source.shown, &task, source.input).await? else {
        return Err(unexpected());
    };
    let shown = source.shown;
    let mut content = json!({
        "path": shown,
        "pageCount": info.pages,
        "version": info.version,
        "encrypted": info.encrypted,
        "hasText": info.has_text,
        "size": size,
        "pageSize": {"width": info.width, "height": info.height, "unit": "pt"},
    });
    for (name, fact) in [
        ("title", info.title.as_ref()),
        ("author", info.author.as_ref()),
        ("subject", info.subject.as_ref()),
        ("keywords", info.keywords.as_ref()),
        ("creator", info.creator.as_ref()),
        ("producer", info.producer.as_ref()),
        ("created", info.created.as_ref()),
        ("modified", info.modified.as_ref()),
    ] {
        if let Some(fact) = fact {
            content[name] = fact.clone().into();
        }
    }
    let title = info.title.map_or_else(String::new, |title| format!(" It is titled “{title}”."));
    let mut output = Output::json(content)?.say(format!("{shown} has {}.{title}", counted(info.pages, "page")));
    output.label = Label::Outside;
    Ok(output)
}
