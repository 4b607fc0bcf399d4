//! Lines of Markdown under the marks of the quotes and lists around them.

/// How deep marks are nested; deeper ones are left out, so that lines stay short.
const MARKS: usize = 10;

/// What separates a block from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    Line,
    Blank,
}

/// The mark of a quote or list item: on its first line, and on the others.
struct Mark {
    first: Option<String>,
    rest: String,
}

pub(crate) struct Output {
    text: String,
    /// Characters written, and how many may be.
    written: usize,
    most: usize,
    marks: Vec<Mark>,
    gap: Gap,
    pub truncated: bool,
}

impl Output {
    pub fn new(most: usize) -> Self {
        Self { text: String::new(), written: 0, most, marks: vec![], gap: Gap::Blank, truncated: false }
    }

    pub fn is_full(&self) -> bool {
        self.written > self.most
    }

    /// The next block follows without a blank line.
    pub fn stay_close(&mut self) {
        self.gap = Gap::Line;
    }

    /// Begins a quote or an item.
    pub fn open(&mut self, first: &str, rest: &str) {
        let is_shown = self.marks.len() < MARKS;
        let (first, rest) = if is_shown { (Some(first.to_owned()), rest) } else { (None, "") };
        self.marks.push(Mark { first, rest: rest.to_owned() });
    }

    pub fn close(&mut self) {
        self.marks.pop();
    }

    /// Writes a block of one or more lines.
    pub fn block(&mut self, text: &str) {
        if self.is_full() || text.is_empty() {
            self.truncated |= !text.is_empty();
            return;
        }
        if !self.text.is_empty() {
            self.push("\n");
            if self.gap == Gap::Blank {
                // Within an item whose mark is not written yet, the line belongs to what is around it.
                let around: String = self.marks.iter().take_while(|m| m.first.is_none()).map(|m| &*m.rest).collect();
                self.push(around.trim_end());
                self.push("\n");
            }
        }
        self.gap = Gap::Blank;
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.push("\n");
            }
            let marks: String =
                self.marks.iter_mut().map(|m| m.first.take().unwrap_or_else(|| m.rest.clone())).collect();
            let marks = if line.is_empty() { marks.trim_end() } else { &marks };
            self.push(marks);
            self.push(line);
            if self.is_full() {
                break;
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.written += text.chars().count();
    }

    /// The text, with no more characters than it may have.
    pub fn finish(mut self) -> (String, bool) {
        let cut = self.text.char_indices().nth(self.most).map(|(at, _)| at);
        if let Some(at) = cut {
            self.text.truncate(at);
        }
        (self.text, self.truncated || cut.is_some())
    }
}
