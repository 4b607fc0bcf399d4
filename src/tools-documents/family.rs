//! The families of documents and what the policy knows of each tool.

use crate::{
    create::{self, create_pdf},
    pdf::{pdf_info, read_pdf},
    picture::{self, resize_image},
    read::read_document,
    receipt::parse_receipt,
    source::DocumentTools,
};
use std::time::Duration;
use tool::{Start, prelude::*};

/// How long reading a document may take, with the wait for a turn.
const READING: Duration = Duration::from_secs(150);

/// Names of parameters in other APIs.
const READ: &[(&str, &str)] = &[
    ("file_path", "path"),
    ("filename", "path"),
    ("file", "path"),
    ("filepath", "path"),
    ("document", "path"),
    ("url", "path"),
    ("page", "pages"),
    ("page_range", "pages"),
    ("sheet", "pages"),
    ("range", "pages"),
];

const RECEIPT: &[(&str, &str)] = &[
    ("path", "image"),
    ("file_path", "image"),
    ("file", "image"),
    ("imagePath", "image"),
    ("document", "image"),
    ("receipt", "image"),
];
const RESIZE: &[(&str, &str)] = &[
    ("path", "image"),
    ("file_path", "image"),
    ("file", "image"),
    ("imagePath", "image"),
    ("output", "outputPath"),
    ("destination", "outputPath"),
    ("mode", "fit"),
    ("w", "width"),
    ("h", "height"),
];
const CREATE: &[(&str, &str)] = &[
    ("path", "outputPath"),
    ("file_path", "outputPath"),
    ("filename", "outputPath"),
    ("output", "outputPath"),
    ("text", "content"),
    ("markdown", "content"),
    ("body", "content"),
    ("size", "pageSize"),
];

/// Tools for documents of every kind, and for pictures.
pub fn documents(tools: DocumentTools) -> Family<DocumentTools> {
    Family::new("documents", "Read documents: PDF, Word, Excel, OpenDocument and others.", tools)
        .title("Documents")
        .needs(&["filesystem"])
        .area(Area::FileRead)
        .tool("read_document", Risk::Observe, read_document)
        .also_in(&["media_read"])
        .synonyms(READ)
        .timeout(READING)
        .shows(&["pages"])
        .tags("pdf docx word xlsx excel odt ods pptx csv letter bill invoice contract manual open text of extract")
        .example(json!({"path": "letters/contract.docx"}))
        .example(json!({"path": "manuals/boiler.pdf", "pages": "12-15"}))
        .tool("resize_image", Risk::Write, resize_image)
        .own_area(Area::FileWrite)
        .also_in(&["image"])
        .synonyms(RESIZE)
        .additive_where(picture::only_adds)
        .timeout(READING)
        .shows(&["fit", "outputPath"])
        .tags("picture photo scale shrink smaller thumbnail crop convert jpeg png webp metadata exif")
        .example(json!({"image": "photos/cat.jpg", "width": 800, "height": 600}))
        .tool("parse_receipt", Risk::Write, parse_receipt)
        .also_in(&["finance"])
        .synonyms(RECEIPT)
        .additive()
        .asks_person()
        .timeout(READING)
        .tags("receipt invoice bill expense spent money shop scan photo add")
        .example(json!({"image": "receipts/market.pdf"}))
}

/// Tools for PDF files.
pub fn pdf(tools: DocumentTools) -> Family<DocumentTools> {
    Family::new("pdf", "Read and make PDF files.", tools)
        .title("PDF")
        .category("PDF")
        .start(Start::Off)
        .needs(&["filesystem"])
        .area(Area::FileRead)
        .tool("read_pdf", Risk::Observe, read_pdf)
        .synonyms(READ)
        .timeout(READING)
        .shows(&["pages"])
        .tags("pdf text pages extract read")
        .example(json!({"path": "manuals/boiler.pdf", "pages": "12-15"}))
        .tool("create_pdf", Risk::Write, create_pdf)
        .own_area(Area::FileWrite)
        .synonyms(CREATE)
        .additive_where(create::only_adds)
        .timeout(READING)
        .shows(&["title"])
        .tags("make write generate pdf letter document report print markdown")
        .example(json!({"content": "# Shopping\n\n- milk\n- eggs", "outputPath": "lists/shopping.pdf"}))
        .tool("pdf_info", Risk::Observe, pdf_info)
        .synonyms(READ)
        .timeout(READING)
        .tags("pdf pages title author metadata encrypted how many")
        .example(json!({"path": "manuals/boiler.pdf"}))
}
