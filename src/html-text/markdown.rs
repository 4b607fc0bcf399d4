//! The Markdown of a region of a page.

use crate::{
    Link, Region,
    invisible::push_visible,
    measure::Measures,
    output::Output,
    table::{self, Grid},
    tag::Tag,
    tree::{At, Tree},
};
use std::collections::HashSet;
use text_kit::{one_line, truncate};
use url::Url;

/// The most links and tables of a page.
const LINKS: usize = 500;
const TABLES: usize = 50;
/// The longest address that is written, and the longest text of a picture.
const ADDRESS: usize = 2_000;
const ALT: usize = 300;

pub(crate) struct Renderer<'a> {
    tree: &'a Tree,
    measures: &'a Measures,
    drops: &'a [bool],
    base: Option<&'a Url>,
    /// Whether marks and addresses are left out.
    is_plain: bool,
    out: Output,
    /// The text of the block that is being read.
    line: String,
    /// The level of the heading that is being read.
    level: usize,
    /// Lists around: the number of the next item, and whether there was one.
    lists: Vec<(Option<u32>, bool)>,
    /// How many cells, links and kinds of emphasis are around.
    in_cell: usize,
    in_link: usize,
    emphasis: Vec<&'static str>,
    /// The link around whole blocks.
    block_link: Option<String>,
    pub links: Vec<Link>,
    seen: HashSet<String>,
    pub tables: Vec<Vec<Vec<String>>>,
    /// Invisible characters that were removed.
    pub removed: usize,
}

impl<'a> Renderer<'a> {
    pub fn new(
        (tree, measures): (&'a Tree, &'a Measures),
        drops: &'a [bool],
        base: Option<&'a Url>,
        (is_plain, most): (bool, usize),
    ) -> Self {
        Self {
            tree,
            measures,
            drops,
            base,
            is_plain,
            out: Output::new(most),
            line: String::new(),
            level: 0,
            lists: vec![],
            in_cell: 0,
            in_link: 0,
            emphasis: vec![],
            block_link: None,
            links: vec![],
            seen: HashSet::new(),
            tables: vec![],
            removed: 0,
        }
    }

    /// Renders a region; returns the text and whether it was cut.
    pub fn render(&mut self, region: &Region) -> (String, bool) {
        self.children(region.at);
        self.flush();
        std::mem::replace(&mut self.out, Output::new(0)).finish()
    }

    fn children(&mut self, at: At) {
        let tree = self.tree;
        for child in tree.children(at) {
            if self.out.is_full() {
                self.out.truncated = true;
                return;
            }
            self.node(child);
        }
    }

    fn node(&mut self, at: At) {
        let measure = &self.measures.all[at];
        if measure.is_out || self.drops[at] {
            return;
        }
        match self.tree.tag(at) {
            Tag::Text => self.text(at),
            Tag::Br if self.in_cell > 0 => self.space(),
            Tag::Br => {
                self.line.truncate(self.line.trim_end().len());
                self.line.push('\n');
            }
            Tag::Hr => {
                self.flush();
                self.block("---");
            }
            Tag::Img => self.picture(at),
            Tag::A => self.link(at),
            Tag::B | Tag::Strong => self.emphasized(at, "**"),
            Tag::I | Tag::Em => self.emphasized(at, "*"),
            Tag::Del | Tag::S | Tag::Strike => self.emphasized(at, "~~"),
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.emphasized(at, "`"),
            Tag::Q => self.between(at, "“", "”"),
            Tag::Rt => self.between(at, "(", ")"),
            tag if self.in_cell > 0 && tag.is_block() => {
                self.space();
                self.children(at);
                self.space();
            }
            tag if tag.is_heading() => {
                self.flush();
                self.level = tag.level();
                self.children(at);
                self.flush();
                self.level = 0;
            }
            Tag::Ul | Tag::Menu | Tag::Dir => self.list(at, None),
            Tag::Ol => self.list(at, Some(self.tree.attributes(at).number.trim().parse().unwrap_or(1))),
            Tag::Li => self.item(at),
            Tag::Dd => {
                self.flush();
                self.out.stay_close();
                self.marked(at, ": ", "  ");
            }
            Tag::Blockquote if !self.is_plain => self.marked(at, "> ", "> "),
            Tag::Pre | Tag::Plaintext | Tag::Xmp => self.code(at),
            Tag::Table => self.table(at),
            tag if tag.is_block() => {
                self.flush();
                self.children(at);
                self.flush();
            }
            _ => self.children(at),
        }
    }

    fn text(&mut self, at: At) {
        let mut visible = String::new();
        self.removed += push_visible(&mut visible, self.tree.text(at));
        if visible.starts_with(char::is_whitespace) {
            self.space();
        }
        let mut words = visible.split_whitespace().peekable();
        while let Some(word) = words.next() {
            self.line.push_str(word);
            if words.peek().is_some() {
                self.line.push(' ');
            }
        }
        if visible.ends_with(char::is_whitespace) {
            self.space();
        }
    }

    fn space(&mut self) {
        if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
            self.line.push(' ');
        }
    }

    /// Writes the block that was read.
    fn flush(&mut self) {
        if self.in_cell > 0 {
            self.space();
            return;
        }
        let line = std::mem::take(&mut self.line);
        let text = line.trim();
        if text.is_empty() {
            return;
        }
        let linked = match &self.block_link {
            Some(url) if !text.contains('\n') && !self.is_plain => format!("[{}]({url})", bracketed(text)),
            _ => text.to_owned(),
        };
        match self.level {
            0 => self.block(&linked),
            _ if self.is_plain => self.block(&one_line(&linked)),
            level => {
                let heading = format!("{} {}", "#".repeat(level), one_line(&linked));
                self.block(&heading);
            }
        }
    }

    fn block(&mut self, text: &str) {
        self.out.block(text);
    }

    fn marked(&mut self, at: At, first: &str, rest: &str) {
        self.flush();
        self.out.open(first, rest);
        self.children(at);
        self.flush();
        self.out.close();
    }

    fn list(&mut self, at: At, number: Option<u32>) {
        self.flush();
        // A list within an item follows its text closely.
        self.lists.push((number, !self.lists.is_empty()));
        self.children(at);
        self.flush();
        self.lists.pop();
    }

    fn item(&mut self, at: At) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some((number, is_close)) => {
                if std::mem::replace(is_close, true) {
                    self.out.stay_close();
                }
                match number {
                    Some(n) => {
                        let mark = format!("{n}. ");
                        *n = n.saturating_add(1);
                        mark
                    }
                    None => "- ".to_owned(),
                }
            }
            None => "- ".to_owned(),
        };
        let rest = " ".repeat(mark.len());
        self.marked(at, &mark, &rest);
    }

    /// Puts marks around what is in an element.
    fn emphasized(&mut self, at: At, mark: &'static str) {
        if self.is_plain
            || self.measures.all[at].has_block
            || self.emphasis.contains(&mark)
            || self.level > 0 && mark == "**"
        {
            return self.children(at);
        }
        let start = self.line.len();
        self.emphasis.push(mark);
        self.children(at);
        self.emphasis.pop();
        let inner = self.line.split_off(start.min(self.line.len()));
        let text = inner.trim();
        if text.is_empty() || text.contains('\n') || mark == "`" && text.contains('`') {
            self.line.push_str(&inner);
            return;
        }
        let (before, after) = around(&inner);
        self.line.extend([before, mark, text, mark, after]);
    }

    fn between(&mut self, at: At, open: &str, close: &str) {
        self.line.push_str(open);
        self.children(at);
        self.line.truncate(self.line.trim_end_matches(' ').len());
        self.line.push_str(close);
    }

    fn link(&mut self, at: At) {
        let Some(url) = self.resolved(&self.tree.attributes(at).address).filter(|_| self.in_link == 0) else {
            return self.children(at);
        };
        self.in_link += 1;
        if self.measures.all[at].has_block && self.in_cell == 0 {
            self.flush();
            self.block_link = Some(url.clone());
            self.children(at);
            self.flush();
            self.block_link = None;
            let text = truncate(&one_line(&self.plain(at)), ALT);
            self.note_link(text, url);
        } else {
            let start = self.line.len();
            self.children(at);
            let inner = self.line.split_off(start.min(self.line.len()));
            let text = one_line(&inner);
            if !text.is_empty() {
                let (before, after) = around(&inner);
                let linked = match text == url || self.is_plain {
                    true => text.clone(),
                    false => format!("[{}]({url})", bracketed(&text)),
                };
                self.line.extend([before, &linked, after]);
                let plain = truncate(&one_line(&self.plain(at)), ALT);
                self.note_link(if plain.is_empty() { text } else { plain }, url);
            }
        }
        self.in_link -= 1;
    }

    fn note_link(&mut self, text: String, url: String) {
        if self.links.len() < LINKS && !text.is_empty() && self.seen.insert(url.clone()) {
            self.links.push(Link { text, url });
        }
    }

    /// The address in full; `None` for what is no page, file or mail address.
    fn resolved(&self, address: &str) -> Option<String> {
        let address = address.trim();
        if address.is_empty() || address.starts_with('#') || address.len() > ADDRESS {
            return None;
        }
        let url = match self.base {
            Some(base) => base.join(address).ok()?,
            None => Url::parse(address).ok()?,
        };
        if !matches!(url.scheme(), "http" | "https" | "mailto") {
            return None;
        }
        let text = url.as_str().replace('(', "%28").replace(')', "%29");
        (text.len() <= ADDRESS).then_some(text)
    }

    fn picture(&mut self, at: At) {
        let it = self.tree.attributes(at);
        let is_dot = |size: &str| matches!(size.trim().trim_end_matches("px"), "0" | "1" | "2");
        let mut alt = String::new();
        self.removed += push_visible(&mut alt, &it.alt);
        let alt = truncate(&one_line(&alt), ALT);
        if alt.is_empty() || is_dot(&it.width) || is_dot(&it.height) {
            return;
        }
        match self.resolved(&it.address).filter(|url| !url.starts_with("mailto:")) {
            _ if self.in_link > 0 || self.is_plain => self.line.push_str(&alt),
            Some(url) => self.line.push_str(&format!("![{}]({url})", bracketed(&alt))),
            None => self.line.push_str(&format!("![{}]", bracketed(&alt))),
        }
    }

    /// A block of code, as it is written.
    fn code(&mut self, at: At) {
        self.flush();
        let mut text = String::new();
        self.raw(at, &mut text);
        let text = text.replace("\r\n", "\n");
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim().is_empty() {
            return;
        }
        if self.is_plain {
            return self.block(text);
        }
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let of = |at: At| language(&self.tree.attributes(at).class);
        let language = of(at).or_else(|| self.tree.children(at).find_map(of)).unwrap_or_default();
        self.block(&format!("{fence}{language}\n{text}\n{fence}"));
    }

    /// The visible text of a part with its white space.
    fn raw(&mut self, at: At, text: &mut String) {
        for child in self.tree.children(at) {
            match self.tree.tag(child) {
                _ if self.measures.all[child].is_out => {}
                Tag::Text => self.removed += push_visible(text, self.tree.text(child)),
                Tag::Br => text.push('\n'),
                _ => self.raw(child, text),
            }
        }
    }

    /// The visible text of a part, without marks.
    fn plain(&mut self, at: At) -> String {
        let (mut text, removed) = (String::new(), self.removed);
        self.raw(at, &mut text);
        self.removed = removed;
        text
    }

    fn table(&mut self, at: At) {
        self.flush();
        let Some(grid) = Grid::of(self.tree, self.measures, at) else {
            self.children(at);
            self.flush();
            return;
        };
        if let Some(caption) = grid.caption {
            self.node(caption);
        }
        let (mut shown, mut plain) = (vec![], vec![]);
        for row in &grid.rows {
            shown.push(row.iter().map(|cell| cell.map(|cell| self.cell(cell)).unwrap_or_default()).collect::<Vec<_>>());
            plain.push(
                row.iter().map(|cell| cell.map(|cell| one_line(&self.plain(cell))).unwrap_or_default()).collect(),
            );
        }
        self.block(&if self.is_plain { table::plain(&shown) } else { table::markdown(&shown) });
        if self.tables.len() < TABLES {
            self.tables.push(plain);
        }
    }

    /// The text of a cell on one line.
    fn cell(&mut self, at: At) -> String {
        let around = std::mem::take(&mut self.line);
        self.in_cell += 1;
        self.children(at);
        self.in_cell -= 1;
        one_line(&std::mem::replace(&mut self.line, around))
    }
}

/// The white space around a text, as one space each.
fn around(text: &str) -> (&'static str, &'static str) {
    let space = |is: bool| if is { " " } else { "" };
    (space(text.starts_with([' ', '\n'])), space(text.ends_with([' ', '\n'])))
}

fn bracketed(text: &str) -> String {
    if text.contains(['[', ']']) { text.replace('[', "\\[").replace(']', "\\]") } else { text.to_owned() }
}

/// The language of a block of code by its class.
fn language(class: &str) -> Option<String> {
    let name = class.split_ascii_whitespace().find_map(|class| {
        ["language-", "lang-", "highlight-source-", "brush:"].iter().find_map(|start| class.strip_prefix(start))
    })?;
    let is_name =
        !name.is_empty() && name.len() <= 20 && name.chars().all(|c| c.is_ascii_alphanumeric() || "+#-.".contains(c));
    is_name.then(|| name.to_owned())
}
