//! A document that was read as a whole, before as much of it is selected as was asked for.

use crate::task::{Format, Unit};

/// The most text that is made of a document that has to be read as a whole, in bytes.
pub(crate) const TEXT: usize = 8 << 20;

/// A document that was read as a whole.
pub(crate) struct Whole {
    pub format: Format,
    pub unit: Unit,
    pub title: Option<String>,
    pub author: Option<String>,
    /// Each with its name, where it has one.
    pub parts: Vec<(Option<String>, String)>,
    pub notes: Vec<String>,
}

impl Whole {
    pub fn new(format: Format, unit: Unit) -> Self {
        Self { format, unit, title: None, author: None, parts: vec![], notes: vec![] }
    }

    /// Adds a part unless there is too much already; whether more may follow.
    pub fn push(&mut self, name: Option<String>, text: String) -> bool {
        let so_far: usize = self.parts.iter().map(|(_, text)| text.len()).sum();
        self.parts.push((name, text));
        so_far <= TEXT
    }
}
