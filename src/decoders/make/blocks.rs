//! Markdown and text as blocks: headings, paragraphs, items of lists, code, tables and rules.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// How deep lists and quotes are indented, and the most columns of a table.
const DEEPEST: u8 = 8;
const COLUMNS: usize = 24;

/// Text in one style.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub text: String,
    pub bold: bool,
    pub italic: bool,
    pub mono: bool,
    pub link: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// From 1 to 6.
    Heading(u8, Vec<Span>),
    Text(Vec<Span>),
    /// Lines as they are.
    Code(String),
    /// Rows of cells; the first is the head.
    Table(Vec<Vec<Vec<Span>>>),
    Rule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// How far it is indented, and how many quotes are around it.
    pub indent: u8,
    pub quotes: u8,
    /// In front of the first block of an item.
    pub marker: Option<String>,
    /// Whether it follows closely: an item after an item.
    pub tight: bool,
    pub kind: Kind,
}

/// Text as it is.
pub(super) fn plain(text: &str) -> Vec<Block> {
    vec![Block { indent: 0, quotes: 0, marker: None, tight: false, kind: Kind::Code(text.replace("\r\n", "\n")) }]
}

pub(super) fn markdown(text: &str) -> Vec<Block> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::default();
    for event in Parser::new_ext(text, options) {
        reader.event(event);
    }
    reader.end_text();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    spans: Vec<Span>,
    style: Span,
    bold: u8,
    italic: u8,
    /// For each list that is open, the number of its next item.
    lists: Vec<Option<u64>>,
    marker: Option<String>,
    /// Whether an item has just begun or ended a list's first line.
    in_item: bool,
    quotes: u8,
    heading: Option<u8>,
    code: Option<String>,
    table: Option<Vec<Vec<Vec<Span>>>>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.style.mono = true;
                self.text(&text);
                self.style.mono = false;
            }
            // What is HTML in Markdown is shown as text.
            Event::Html(text) | Event::InlineHtml(text) => self.text(if text.trim() == "<br>" { "\n" } else { &text }),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => self.push(Kind::Rule),
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.heading = Some(number(level)),
            Tag::BlockQuote(_) => {
                self.end_text();
                self.quotes = (self.quotes + 1).min(DEEPEST);
            }
            Tag::CodeBlock(_) => {
                self.end_text();
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_text();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_text();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(next)) => {
                        let marker = format!("{next}.");
                        *next = next.saturating_add(1);
                        marker
                    }
                    _ => "•".into(),
                });
            }
            Tag::Table(_) => {
                self.end_text();
                self.table = Some(vec![]);
            }
            Tag::TableHead | Tag::TableRow => drop(self.table.as_mut().map(|rows| rows.push(vec![]))),
            Tag::TableCell => self.spans.clear(),
            Tag::Emphasis => self.italic = self.italic.saturating_add(1),
            Tag::Strong => self.bold = self.bold.saturating_add(1),
            Tag::Link { dest_url, .. } => self.style.link = Some(dest_url.into_string()),
            Tag::Image { .. } => self.text("[picture: "),
            _ => {}
        }
        (self.style.bold, self.style.italic) = (self.bold > 0, self.italic > 0);
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_text(),
            TagEnd::Item => {
                self.end_text();
                if self.marker.is_some() {
                    // An item without text has its mark all the same.
                    self.push(Kind::Text(vec![]));
                }
            }
            TagEnd::List(_) => {
                self.end_text();
                self.lists.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_text();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.code.take() {
                    self.push(Kind::Code(code.trim_end_matches('\n').to_owned()));
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                if let Some(row) =
                    self.table.as_mut().and_then(|rows| rows.last_mut()).filter(|row| row.len() < COLUMNS)
                {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(rows) = self.table.take() {
                    self.push(Kind::Table(rows));
                }
            }
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Link => self.style.link = None,
            TagEnd::Image => self.text("]"),
            _ => {}
        }
        (self.style.bold, self.style.italic) = (self.bold > 0, self.italic > 0);
    }

    fn text(&mut self, text: &str) {
        self.spans.push(Span { text: text.to_owned(), ..self.style.clone() });
    }

    fn end_text(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let heading = self.heading.take();
        if spans.iter().all(|span| span.text.trim().is_empty()) {
            return;
        }
        self.push(match heading {
            Some(level) => Kind::Heading(level, spans),
            None => Kind::Text(spans),
        });
    }

    fn push(&mut self, kind: Kind) {
        let depth = u8::try_from(self.lists.len()).unwrap_or(u8::MAX).min(DEEPEST);
        let marker = self.marker.take();
        let tight = marker.is_some() && self.in_item;
        self.in_item = depth > 0;
        self.blocks.push(Block { indent: depth, quotes: self.quotes, marker, tight, kind });
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
