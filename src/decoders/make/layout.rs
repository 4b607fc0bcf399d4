//! Lines on pages: text is broken between words, tables between rows, and a heading stays with what follows it.

use super::{
    Form, MakePdf, PAGES,
    blocks::{Block, Kind, Span},
    faces::{BOLD, Faces, Glyph, ITALIC, MONO, REGULAR},
};
use crate::fault::{Fault, Result};

/// Distances, in sizes of the text.
const LINE: f32 = 1.4;
const INDENT: f32 = 1.8;
const BETWEEN: f32 = 0.7;
const PADDING: f32 = 0.45;
/// Sizes of headings, in those of the text.
const HEADINGS: [f32; 6] = [1.9, 1.5, 1.25, 1.1, 1.0, 1.0];
const CODE: f32 = 0.88;

/// What is drawn on a page, in points from its lower left corner.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub texts: Vec<Text>,
    pub lines: Vec<[f32; 4]>,
    /// Grey boxes: x, y, width and height.
    pub boxes: Vec<[f32; 4]>,
    pub links: Vec<([f32; 4], String)>,
}

/// Glyphs of one face on one line.
#[derive(Debug)]
pub(super) struct Text {
    pub x: f32,
    pub y: f32,
    pub size: f32,
    pub face: usize,
    pub glyphs: Vec<u16>,
    pub is_link: bool,
}

/// Glyphs of one face and link.
#[derive(Debug, Clone)]
struct Piece {
    face: usize,
    glyphs: Vec<u16>,
    width: f32,
    link: Option<String>,
}

/// A line of text, without its place.
type Line = Vec<Piece>;

/// A word, or the white space between two.
struct Word {
    pieces: Vec<Piece>,
    width: f32,
    kind: WordKind,
}

#[derive(PartialEq, Clone, Copy)]
enum WordKind {
    Word,
    Space,
    Break,
}

pub(super) fn pages(task: &MakePdf, blocks: &[Block], faces: &mut Faces) -> Result<Vec<Page>> {
    let mut writer = Writer { task, faces, pages: vec![Page::default()], y: task.height - task.margin };
    let mut is_first = true;
    if let Some(title) = task.title.as_ref().filter(|title| !begins_with(blocks, title)) {
        let span = Span { text: title.clone(), ..Span::default() };
        let kind = Kind::Heading(1, vec![span]);
        writer.block(&Block { indent: 0, quotes: 0, marker: None, tight: false, kind }, true)?;
        is_first = false;
    }
    for (at, block) in blocks.iter().enumerate() {
        writer.block(block, at == 0 && is_first)?;
    }
    writer.numbers();
    Ok(writer.pages)
}

/// Whether the text begins with its title.
fn begins_with(blocks: &[Block], title: &str) -> bool {
    let Some(Block { kind: Kind::Heading(_, spans), .. }) = blocks.first() else { return false };
    spans.iter().map(|span| span.text.as_str()).collect::<String>().trim() == title.trim()
}

struct Writer<'a> {
    task: &'a MakePdf,
    faces: &'a mut Faces,
    pages: Vec<Page>,
    /// The top of what comes next.
    y: f32,
}

impl Writer<'_> {
    fn block(&mut self, block: &Block, is_first: bool) -> Result<()> {
        let size = self.task.size;
        let left = self.task.margin + size * INDENT * f32::from(block.indent) + size * f32::from(block.quotes);
        let width = (self.task.width - self.task.margin - left).max(size * 4.0);
        if !is_first && !block.tight && self.y < self.task.height - self.task.margin {
            self.y -= size * BETWEEN;
        }
        let top = (self.pages.len(), self.y);
        match &block.kind {
            Kind::Heading(level, spans) => {
                let size = size * HEADINGS[usize::from(level.saturating_sub(1)).min(5)];
                let lines = self.broken(spans, size, width, true);
                // With two lines of what follows.
                self.room(size * LINE * (lines.len() as f32) + self.task.size * LINE * 2.5)?;
                self.y -= size * 0.3;
                self.lines(&lines, left, size)?;
            }
            Kind::Text(spans) => {
                let lines = self.broken(spans, size, width, false);
                self.marker(block, left)?;
                self.lines(&lines, left, size)?;
                if lines.is_empty() {
                    self.y -= size * LINE;
                }
            }
            Kind::Code(text) => {
                self.marker(block, left)?;
                self.code(text, left, width)?;
            }
            Kind::Table(rows) => {
                self.marker(block, left)?;
                self.table(rows, left, width)?;
            }
            Kind::Rule => {
                self.room(size)?;
                self.y -= size * 0.5;
                let (y, right) = (self.y, left + width);
                self.page().lines.push([left, y, right, y]);
                self.y -= size * 0.2;
            }
        }
        // A bar beside a quote, as far as it is on one page.
        if block.quotes > 0 && top.0 == self.pages.len() {
            let (x, y) = (left - size * 0.6, self.y);
            self.page().lines.push([x, top.1 - size * 0.2, x, y]);
        }
        Ok(())
    }

    fn page(&mut self) -> &mut Page {
        if self.pages.is_empty() {
            self.pages.push(Page::default());
        }
        let last = self.pages.len() - 1;
        &mut self.pages[last]
    }

    /// Begins a page unless there is this much room on it.
    fn room(&mut self, height: f32) -> Result<()> {
        let (top, bottom) = (self.task.height - self.task.margin, self.task.margin);
        if self.y - height >= bottom || self.y >= top {
            return Ok(());
        }
        if self.pages.len() >= PAGES {
            return Err(Fault::TooLarge(format!("it would have more than {PAGES} pages: make several files")));
        }
        self.pages.push(Page::default());
        self.y = top;
        Ok(())
    }

    fn marker(&mut self, block: &Block, left: f32) -> Result<()> {
        let Some(marker) = &block.marker else { return Ok(()) };
        let size = self.task.size;
        self.room(size * LINE)?;
        let pieces = self.pieces(&Span { text: marker.clone(), ..Span::default() }, size);
        let width: f32 = pieces.iter().map(|piece| piece.width).sum();
        let y = self.y - size;
        self.draw(&pieces, left - width - size * 0.45, y, size);
        Ok(())
    }

    fn lines(&mut self, lines: &[Line], left: f32, size: f32) -> Result<()> {
        for line in lines {
            self.room(size * LINE)?;
            let y = self.y - size;
            self.draw(line, left, y, size);
            self.y -= size * LINE;
        }
        Ok(())
    }

    fn draw(&mut self, line: &[Piece], left: f32, y: f32, size: f32) {
        let mut x = left;
        for piece in line {
            let text =
                Text { x, y, size, face: piece.face, glyphs: piece.glyphs.clone(), is_link: piece.link.is_some() };
            let link = piece.link.clone().map(|link| ([x, y - size * 0.25, x + piece.width, y + size * 0.85], link));
            let page = self.page();
            page.texts.push(text);
            page.links.extend(link);
            x += piece.width;
        }
    }

    fn code(&mut self, text: &str, left: f32, width: f32) -> Result<()> {
        let size = self.task.size * CODE;
        let pad = size * PADDING;
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line).replace('\t', "    ");
            let span = Span { text: line, mono: true, ..Span::default() };
            let pieces = self.pieces(&span, size);
            for part in parted(pieces, width - 2.0 * pad, size) {
                self.room(size * LINE)?;
                let y = self.y - size * 1.05;
                if self.task.form != Form::Text {
                    let bottom = self.y - size * LINE;
                    self.page().boxes.push([left, bottom, width, size * LINE]);
                }
                self.draw(&part, left + pad, y, size);
                self.y -= size * LINE;
            }
        }
        Ok(())
    }

    fn table(&mut self, rows: &[Vec<Vec<Span>>], left: f32, width: f32) -> Result<()> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Ok(());
        }
        let (size, pad) = (self.task.size * 0.92, self.task.size * PADDING);
        let widths = self.columns(rows, columns, size, width, pad);
        let mut head: Option<Vec<Vec<Line>>> = None;
        for (at, row) in rows.iter().enumerate() {
            let cells: Vec<Vec<Line>> = (0..columns)
                .map(|column| {
                    let spans = row.get(column).map_or(&[][..], Vec::as_slice);
                    self.broken(spans, size, widths[column] - 2.0 * pad, at == 0)
                })
                .collect();
            self.row(&cells, &widths, left, size, pad, head.as_deref())?;
            if at == 0 {
                head = Some(cells);
            }
        }
        self.y -= size * 0.2;
        Ok(())
    }

    /// The widths of columns: as wide as their text, or their share.
    fn columns(&mut self, rows: &[Vec<Vec<Span>>], columns: usize, size: f32, width: f32, pad: f32) -> Vec<f32> {
        let mut natural = vec![2.0 * pad + size; columns];
        for row in rows {
            for (column, spans) in row.iter().enumerate() {
                let pieces = spans.iter().flat_map(|span| self.pieces(&Span { bold: true, ..span.clone() }, size));
                let wide: f32 = pieces.map(|piece| piece.width).sum();
                natural[column] = natural[column].max(wide + 2.0 * pad + 1.0);
            }
        }
        let sum: f32 = natural.iter().sum();
        if sum <= width {
            return natural;
        }
        // Narrow columns stay; the others share the rest by their width.
        let fair = width / columns as f32;
        let narrow: f32 = natural.iter().filter(|wide| **wide <= fair).sum();
        let others: f32 = natural.iter().filter(|wide| **wide > fair).sum();
        let share = |wide: f32| if wide <= fair { wide } else { (width - narrow) * wide / others };
        natural.into_iter().map(share).collect()
    }

    /// A row, which may go on on the next page.
    fn row(
        &mut self,
        cells: &[Vec<Line>],
        widths: &[f32],
        left: f32,
        size: f32,
        pad: f32,
        head: Option<&[Vec<Line>]>,
    ) -> Result<()> {
        let tallest = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let height = |lines: usize| lines as f32 * size * LINE + 2.0 * pad;
        let mut from = 0;
        while from < tallest {
            let whole_page = self.task.height - 2.0 * self.task.margin;
            let wanted = height(tallest - from).min(whole_page * 0.5);
            let before = self.pages.len();
            self.room(wanted)?;
            if self.pages.len() > before
                && let Some(head) =
                    head.filter(|head| height(head.iter().map(Vec::len).max().unwrap_or(0)) < whole_page * 0.3)
            {
                self.row(head, widths, left, size, pad, None)?;
            }
            let fits = ((self.y - self.task.margin - 2.0 * pad) / (size * LINE)).floor().max(1.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a page has few lines")]
            let to = tallest.min(from + fits as usize);
            let (top, bottom) = (self.y, self.y - height(to - from));
            let mut x = left;
            for (cell, wide) in cells.iter().zip(widths) {
                for (at, line) in cell.iter().skip(from).take(to - from).enumerate() {
                    self.draw(line, x + pad, top - pad - size - at as f32 * size * LINE, size);
                }
                self.page().lines.push([x, top, x, bottom]);
                x += wide;
            }
            let page = self.page();
            page.lines.push([x, top, x, bottom]);
            page.lines.push([left, top, x, top]);
            page.lines.push([left, bottom, x, bottom]);
            self.y = bottom;
            from = to;
        }
        Ok(())
    }

    /// The number of each page, where there are several.
    fn numbers(&mut self) {
        let count = self.pages.len();
        if count < 2 {
            return;
        }
        let size = self.task.size * 0.8;
        for at in 0..count {
            let pieces = self.pieces(&Span { text: format!("{} / {count}", at + 1), ..Span::default() }, size);
            let width: f32 = pieces.iter().map(|piece| piece.width).sum();
            let mut x = (self.task.width - width) / 2.0;
            for piece in pieces {
                let text =
                    Text { x, y: self.task.margin * 0.5, size, face: piece.face, glyphs: piece.glyphs, is_link: false };
                x += piece.width;
                self.pages[at].texts.push(text);
            }
        }
    }

    /// A span as glyphs; several pieces where several faces are needed.
    fn pieces(&mut self, span: &Span, size: f32) -> Vec<Piece> {
        let face = match span {
            Span { mono: true, .. } => MONO,
            Span { bold: true, .. } => BOLD,
            Span { italic: true, .. } => ITALIC,
            _ => REGULAR,
        };
        let mut pieces: Vec<Piece> = vec![];
        for c in span.text.chars().filter(|c| !c.is_control() || *c == '\t') {
            let Glyph { face, id, width } = self.faces.glyph(face, c);
            match pieces.last_mut() {
                Some(last) if last.face == face => {
                    last.glyphs.push(id);
                    last.width += width * size;
                }
                _ => pieces.push(Piece { face, glyphs: vec![id], width: width * size, link: span.link.clone() }),
            }
        }
        pieces
    }

    /// Spans as lines of at most this width.
    fn broken(&mut self, spans: &[Span], size: f32, width: f32, bold: bool) -> Vec<Line> {
        let mut words: Vec<Word> = vec![];
        for span in spans {
            for (kind, text) in split(&span.text) {
                let span = Span { text: text.to_owned(), bold: span.bold || bold, ..span.clone() };
                let pieces = if kind == WordKind::Break { vec![] } else { self.pieces(&span, size) };
                let wide: f32 = pieces.iter().map(|piece| piece.width).sum();
                match words.last_mut() {
                    // A word in two styles is one word.
                    Some(last) if last.kind == WordKind::Word && kind == WordKind::Word => {
                        last.pieces.extend(pieces);
                        last.width += wide;
                    }
                    _ => words.push(Word { pieces, width: wide, kind }),
                }
            }
        }
        let (mut lines, mut line, mut used) = (vec![], Line::new(), 0.0);
        for word in words {
            match word.kind {
                WordKind::Break => {
                    lines.push(std::mem::take(&mut line));
                    used = 0.0;
                }
                WordKind::Space if line.is_empty() => {}
                WordKind::Space => {
                    used += word.width;
                    join(&mut line, word.pieces);
                }
                WordKind::Word if used + word.width <= width => {
                    used += word.width;
                    join(&mut line, word.pieces);
                }
                WordKind::Word => {
                    if !line.is_empty() {
                        lines.push(std::mem::take(&mut line));
                    }
                    let mut parts = parted(word.pieces, width, size);
                    line = parts.pop().unwrap_or_default();
                    lines.extend(parts);
                    used = line.iter().map(|piece| piece.width).sum();
                }
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }
}

/// Adds pieces to a line; those of one face and link become one.
fn join(line: &mut Line, pieces: Vec<Piece>) {
    for piece in pieces {
        match line.last_mut() {
            Some(last) if last.face == piece.face && last.link == piece.link => {
                last.glyphs.extend(piece.glyphs);
                last.width += piece.width;
            }
            _ => line.push(piece),
        }
    }
}

/// Words, the spaces between them, and line breaks.
fn split(text: &str) -> Vec<(WordKind, &str)> {
    let kind = |c: char| match c {
        '\n' => WordKind::Break,
        ' ' | '\t' | '\r' => WordKind::Space,
        _ => WordKind::Word,
    };
    let (mut all, mut from, mut before) = (vec![], 0, None);
    for (at, c) in text.char_indices() {
        let now = kind(c);
        if before.is_some_and(|before| before != now || before == WordKind::Break) {
            all.extend(before.map(|before| (before, &text[from..at])));
            from = at;
        }
        before = Some(now);
    }
    all.extend(before.map(|before| (before, &text[from..])));
    all
}

/// A word that is too wide, as parts that are not. At least one, which may be empty.
fn parted(pieces: Vec<Piece>, width: f32, size: f32) -> Vec<Line> {
    let (mut parts, mut part, mut used) = (vec![], Line::new(), 0.0);
    for piece in pieces {
        if used + piece.width <= width {
            used += piece.width;
            join(&mut part, vec![piece]);
            continue;
        }
        // The average does for a cut.
        let each = (piece.width / piece.glyphs.len().max(1) as f32).max(size * 0.05);
        for glyph in piece.glyphs {
            if used + each > width && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
                used = 0.0;
            }
            used += each;
            join(
                &mut part,
                vec![Piece { face: piece.face, glyphs: vec![glyph], width: each, link: piece.link.clone() }],
            );
        }
    }
    parts.push(part);
    parts
}
