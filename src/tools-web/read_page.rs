//! A page that was read, as it is cached.

use html_text::Link;
use text_kit::{one_line, truncate};

/// A page that was read.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadPage {
    pub url: String,
    pub hosts: Vec<String>,
    pub title: String,
    pub description: String,
    pub language: String,
    pub text: String,
    pub links: Vec<Link>,
    pub tables: Vec<Vec<Vec<String>>>,
    pub hidden: usize,
    /// Whether it is longer than what is read.
    pub is_cut: bool,
    /// What it is, where it is no text.
    pub note: Option<String>,
}

impl ReadPage {
    /// About how many bytes it takes in memory.
    pub fn size(&self) -> usize {
        let links: usize = self.links.iter().map(|link| link.text.len() + link.url.len() + 48).sum();
        let cells = self.tables.iter().flatten().flatten();
        self.text.len() + self.description.len() + links + cells.map(|cell| cell.len() + 24).sum::<usize>() + 500
    }

    /// The sentence for a person: what the page is, and how it begins.
    pub fn sentence(&self, part: &str) -> String {
        if let Some(note) = &self.note {
            return note.clone();
        }
        let start = truncate(&one_line(part), 600);
        match self.title.as_str() {
            "" => start,
            title => format!("“{title}”: {start}"),
        }
    }
}
