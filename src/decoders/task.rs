//! What a decoder is asked, and what it answers: postcard between Hob and the process that decodes.

use crate::{
    make::{MadePdf, MakePdf},
    pages::Pages,
    picture::{Picture, ResizeTask},
};
use serde::{Deserialize, Serialize};

/// One question about one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Task {
    Read(ReadTask),
    PdfInfo {
        password: Option<String>,
    },
    Resize(ResizeTask),
    /// Makes a PDF file; there is no file to decode.
    MakePdf(MakePdf),
}

/// Which text of a document is wanted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReadTask {
    /// The ending of the file's name, in small letters: the content decides first.
    pub ending: String,
    pub password: Option<String>,
    /// Which pages, sheets or chapters; all by default.
    pub pages: Option<Pages>,
    /// How many characters to skip in the first of them.
    pub offset: usize,
    /// How many bytes of text to return at most.
    pub room: usize,
    /// Lines as they are, without Markdown; for PDF only.
    pub plain: bool,
}

/// What came of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Document(Document),
    PdfInfo(PdfInfo),
    Picture(Picture),
    MadePdf(MadePdf),
}

/// The format of a document, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Pdf,
    Docx,
    Xlsx,
    Pptx,
    Odt,
    Ods,
    Odp,
    Epub,
    Html,
    Csv,
    Text,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Xlsx => "xlsx",
            Self::Pptx => "pptx",
            Self::Odt => "odt",
            Self::Ods => "ods",
            Self::Odp => "odp",
            Self::Epub => "epub",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Text => "text",
        }
    }
}

/// What a document is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    Page,
    Sheet,
    Slide,
    Chapter,
    /// It has no parts: all of it is the first.
    Whole,
}

impl Unit {
    /// In a sentence: `sheet`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Sheet => "sheet",
            Self::Slide => "slide",
            Self::Chapter => "chapter",
            Self::Whole => "part",
        }
    }
}

/// The text of a document, or as much of it as there is room for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub format: Format,
    pub title: Option<String>,
    pub author: Option<String>,
    pub unit: Unit,
    /// How many units it has.
    pub count: u32,
    pub parts: Vec<Part>,
    /// Where the text goes on: the unit, and how many characters of it came already.
    pub next: Option<(u32, usize)>,
    /// What the reader should know: pages without text, what was left out.
    pub notes: Vec<String>,
}

/// The text of a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub number: u32,
    /// Of a sheet.
    pub name: Option<String>,
    pub text: String,
}

/// The facts of a PDF file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PdfInfo {
    pub version: String,
    pub pages: u32,
    /// Of the first page, in points of 1/72 inch.
    pub width: f32,
    pub height: f32,
    pub encrypted: bool,
    pub title: Option<String>,
    pub author: Option<String>,
    pub subject: Option<String>,
    pub keywords: Option<String>,
    pub creator: Option<String>,
    pub producer: Option<String>,
    pub created: Option<String>,
    pub modified: Option<String>,
    /// Whether any of the first pages has text; a scan has none.
    pub has_text: bool,
}
