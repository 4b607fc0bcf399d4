//! Makes PDF files from Markdown and text: blocks → lines on pages → the file, with the letters that are used embedded.

mod blocks;
mod faces;
mod layout;
mod write;

use crate::fault::{Fault, Result};
use serde::{Deserialize, Serialize};

/// The longest text, in bytes.
const LONGEST: usize = 2 << 20;
/// The most pages.
const PAGES: usize = 2_000;

/// What a PDF file is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MakePdf {
    pub content: String,
    pub form: Form,
    pub title: Option<String>,
    pub author: Option<String>,
    /// In points of 1/72 inch.
    pub width: f32,
    pub height: f32,
    pub margin: f32,
    pub size: f32,
}

/// What the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Form {
    #[default]
    Markdown,
    /// Lines as they are, in letters of one width.
    Text,
    Html,
}

/// A PDF file that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadePdf {
    pub bytes: Vec<u8>,
    pub pages: u32,
    /// Characters that the fonts do not have.
    pub missing: String,
}

/// Makes the file.
pub(crate) fn make(task: &MakePdf) -> Result<MadePdf> {
    if task.content.len() > LONGEST {
        return Err(Fault::TooLarge(format!("the content is longer than {} MB: make several files", LONGEST >> 20)));
    }
    let blocks = match task.form {
        Form::Markdown => blocks::markdown(&task.content),
        Form::Text => blocks::plain(&task.content),
        Form::Html => {
            let options = html_text::Options { main_only: false, max_chars: LONGEST };
            blocks::markdown(&html_text::markdown(&task.content, None, options).markdown)
        }
    };
    let mut faces = faces::Faces::new()?;
    let pages = layout::pages(task, &blocks, &mut faces)?;
    let bytes = write::write(task, &pages, &faces)?;
    Ok(MadePdf { bytes, pages: u32::try_from(pages.len()).unwrap_or(u32::MAX), missing: faces.missing() })
}

#[cfg(test)]
mod tests;
