//! The text of a page: runs its content and notes where each piece of text is.

use super::font::Font;
use hayro_syntax::{
    content::{TypedIter, ops::TypedInstruction},
    object::{Array, Dict, Name, Object, ObjectIdentifier, Stream, String as PdfString},
    page::{Page, Resources},
};
use std::{collections::HashMap, rc::Rc};

/// Bounds of a page: instructions, pieces of text, uses of forms, and how deep forms and saved states nest.
const INSTRUCTIONS: usize = 2_000_000;
const PIECES: usize = 200_000;
const FORMS: usize = 2_000;
const DEEPEST: usize = 12;
const SAVED: usize = 256;
/// Fonts that are remembered.
const FONTS: usize = 500;
/// The longest text that stands in for a piece.
const ACTUAL: usize = 4 << 10;

/// A piece of text on one line, in the direction in which it is read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub text: String,
    /// Where it begins and ends along its direction.
    pub from: f64,
    pub to: f64,
    /// Where its line is, growing upwards.
    pub line: f64,
    pub size: f64,
    /// Its direction, in quarters of a turn, or 4 for any other.
    pub turn: u8,
    pub bold: bool,
}

/// Fonts by their object, for all pages.
#[derive(Default)]
pub(super) struct Fonts(HashMap<ObjectIdentifier, Rc<Font>>);

impl Fonts {
    fn get(&mut self, dict: &Dict<'_>) -> Rc<Font> {
        let Some(id) = dict.obj_id() else { return Rc::new(Font::new(dict)) };
        if let Some(font) = self.0.get(&id) {
            return font.clone();
        }
        if self.0.len() >= FONTS {
            self.0.clear();
        }
        let font = Rc::new(Font::new(dict));
        self.0.insert(id, font.clone());
        font
    }
}

#[derive(Clone, Copy)]
struct Matrix([f64; 6]);

impl Matrix {
    const ONE: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// First this, then the other.
    fn then(self, other: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, other.0);
        Self([a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l])
    }
}

#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    letter_space: f64,
    word_space: f64,
    stretch: f64,
    leading: f64,
    rise: f64,
}

struct Reader<'f> {
    fonts: &'f mut Fonts,
    pieces: Vec<Piece>,
    state: State,
    saved: Vec<State>,
    text: Matrix,
    line: Matrix,
    left: usize,
    forms: usize,
    /// For each marked passage that is open: whether its text is replaced, and by what it still is.
    marked: Vec<Option<Option<String>>>,
}

/// The pieces of text of a page, in the order in which they are drawn.
pub(super) fn pieces(page: &Page<'_>, fonts: &mut Fonts) -> Vec<Piece> {
    let state = State {
        page: Matrix::ONE,
        font: None,
        size: 0.0,
        letter_space: 0.0,
        word_space: 0.0,
        stretch: 1.0,
        leading: 0.0,
        rise: 0.0,
    };
    let mut reader = Reader {
        fonts,
        pieces: vec![],
        state,
        saved: vec![],
        text: Matrix::ONE,
        line: Matrix::ONE,
        left: INSTRUCTIONS,
        forms: 0,
        marked: vec![],
    };
    reader.run(page.typed_operations(), page.resources(), 0);
    reader.pieces
}

impl Reader<'_> {
    fn run(&mut self, mut instructions: TypedIter<'_>, resources: &Resources<'_>, depth: usize) {
        while let Some(instruction) = instructions.next() {
            if self.left == 0 || self.pieces.len() >= PIECES {
                return;
            }
            self.left -= 1;
            self.step(&instruction, resources, depth);
        }
    }

    fn step(&mut self, instruction: &TypedInstruction<'_, '_>, resources: &Resources<'_>, depth: usize) {
        use TypedInstruction as I;
        match instruction {
            I::SaveState(_) if self.saved.len() < SAVED => self.saved.push(self.state.clone()),
            I::RestoreState(_) => self.state = self.saved.pop().unwrap_or_else(|| self.state.clone()),
            I::Transform(m) => {
                let matrix = Matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(|n| n.as_f64()));
                self.state.page = matrix.then(self.state.page);
            }
            I::BeginText(_) => (self.text, self.line) = (Matrix::ONE, Matrix::ONE),
            I::TextFont(set) => {
                self.state.font = resources.get_font(set.0).map(|dict| self.fonts.get(&dict));
                self.state.size = set.1.as_f64();
            }
            I::CharacterSpacing(set) => self.state.letter_space = set.0.as_f64(),
            I::WordSpacing(set) => self.state.word_space = set.0.as_f64(),
            I::HorizontalScaling(set) => self.state.stretch = set.0.as_f64() / 100.0,
            I::TextLeading(set) => self.state.leading = set.0.as_f64(),
            I::TextRise(set) => self.state.rise = set.0.as_f64(),
            I::NextLine(by) => self.move_line(by.0.as_f64(), by.1.as_f64()),
            I::NextLineAndSetLeading(by) => {
                self.state.leading = -by.1.as_f64();
                self.move_line(by.0.as_f64(), by.1.as_f64());
            }
            I::SetTextMatrix(m) => {
                self.line = Matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5].map(|n| n.as_f64()));
                self.text = self.line;
            }
            I::NextLineUsingLeading(_) => self.move_line(0.0, -self.state.leading),
            I::ShowText(shown) => self.show(shown.0),
            I::NextLineAndShowText(shown) => {
                self.move_line(0.0, -self.state.leading);
                self.show(shown.0);
            }
            I::ShowTextWithParameters(shown) => {
                (self.state.word_space, self.state.letter_space) = (shown.0.as_f64(), shown.1.as_f64());
                self.move_line(0.0, -self.state.leading);
                self.show(shown.2);
            }
            I::ShowTexts(shown) => self.show_all(shown.0),
            I::XObject(used) => self.form(used.0, resources, depth),
            I::BeginMarkedContent(_) => self.mark(None),
            I::BeginMarkedContentWithProperties(begun) => {
                let properties = match begun.1 {
                    Object::Dict(dict) => Some(dict.clone()),
                    Object::Name(name) => resources.properties.get::<Dict<'_>>(name),
                    _ => None,
                };
                let actual = properties.and_then(|dict| dict.get::<PdfString<'_>>("ActualText"));
                self.mark(actual.map(|text| super::text_string(&text.as_bytes()[..text.as_bytes().len().min(ACTUAL)])));
            }
            I::EndMarkedContent(_) => drop(self.marked.pop()),
            _ => {}
        }
    }

    fn mark(&mut self, actual: Option<String>) {
        if self.marked.len() < SAVED {
            self.marked.push(actual.map(Some));
        }
    }

    fn move_line(&mut self, x: f64, y: f64) {
        self.line = Matrix([1.0, 0.0, 0.0, 1.0, x, y]).then(self.line);
        self.text = self.line;
    }

    fn advance(&mut self, by: f64) {
        self.text = Matrix([1.0, 0.0, 0.0, 1.0, by, 0.0]).then(self.text);
    }

    fn show_all(&mut self, array: &Array<'_>) {
        for item in array.iter::<Object<'_>>() {
            match item {
                Object::String(text) => self.show(&text),
                Object::Number(by) => self.advance(-by.as_f64() / 1000.0 * self.state.size * self.state.stretch),
                _ => {}
            }
        }
    }

    fn show(&mut self, text: &PdfString<'_>) {
        let Some(font) = self.state.font.clone() else { return };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.left == 0 || self.pieces.len() >= PIECES {
                return;
            }
            self.left -= 1;
            let (code, length) = font.next(rest);
            rest = rest.get(length.max(1)..).unwrap_or_default();
            let state = &self.state;
            let spaces = state.letter_space + if code.is_space { state.word_space } else { 0.0 };
            let width = f64::from(code.width) * state.size * state.stretch;
            let by = width + spaces * state.stretch;
            let shown: Option<String> = match self.marked.iter_mut().rev().find_map(Option::as_mut) {
                // The whole text of the passage comes with its first code.
                Some(actual) => actual.take(),
                None => Some(code.text.into_owned()),
            };
            if let Some(shown) = shown.filter(|shown| !shown.is_empty()) {
                self.place(&shown, width + self.state.letter_space * self.state.stretch, font.is_bold);
            }
            self.advance(by);
        }
    }

    /// Notes text of this width, with the space after it that letters have, at the place where the next code is drawn.
    fn place(&mut self, text: &str, width: f64, bold: bool) {
        let rise = Matrix([1.0, 0.0, 0.0, 1.0, 0.0, self.state.rise]);
        let Matrix([a, b, c, d, x, y]) = rise.then(self.text).then(self.state.page);
        let along = a.hypot(b);
        let size = (c.hypot(d) * self.state.size).abs();
        let (x_per, y_per) = if along > 0.0 { (a / along, b / along) } else { (1.0, 0.0) };
        let from = x * x_per + y * y_per;
        let piece = Piece {
            text: text.to_owned(),
            from,
            to: from + width * along,
            line: y * x_per - x * y_per,
            size,
            turn: turn(x_per, y_per),
            bold,
        };
        if [piece.from, piece.to, piece.line, piece.size].iter().all(|number| number.is_finite()) {
            self.add(piece);
        }
    }

    /// Joins a piece to the one before where both are one text.
    fn add(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut() {
            let same = last.turn == piece.turn
                && (last.line - piece.line).abs() < 0.1 * last.size.max(piece.size)
                && (last.size - piece.size).abs() < 0.05 * last.size
                && last.bold == piece.bold;
            let gap = piece.from - last.to;
            if same && gap.abs() < 0.1 * piece.size && last.text.len() < ACTUAL {
                last.text.push_str(&piece.text);
                last.to = last.to.max(piece.to);
                return;
            }
        }
        self.pieces.push(piece);
    }

    fn form(&mut self, name: &Name<'_>, resources: &Resources<'_>, depth: usize) {
        if depth >= DEEPEST || self.forms >= FORMS {
            return;
        }
        let Some(stream) = resources.get_x_object(name) else { return };
        let dict = stream.dict();
        if dict.get::<Name<'_>>("Subtype").is_none_or(|subtype| subtype.as_str() != "Form") {
            return;
        }
        self.forms += 1;
        let Ok(bytes) = Stream::decoded_data(&stream) else { return };
        let (saved, text) = (self.state.clone(), (self.text, self.line));
        if let Some(matrix) = dict.get::<Array<'_>>("Matrix") {
            let numbers: Vec<f64> = matrix.iter::<f64>().take(6).collect();
            if let Ok(matrix) = <[f64; 6]>::try_from(numbers) {
                self.state.page = Matrix(matrix).then(self.state.page);
            }
        }
        // Each form has saved states of its own.
        let around = std::mem::take(&mut self.saved);
        match dict.get::<Dict<'_>>("Resources") {
            Some(own) => self.run(TypedIter::new(&bytes), &Resources::new(own), depth + 1),
            None => self.run(TypedIter::new(&bytes), resources, depth + 1),
        }
        (self.saved, self.state, (self.text, self.line)) = (around, saved, text);
    }
}

/// The quarter of a turn of a direction.
fn turn(x: f64, y: f64) -> u8 {
    const NEARLY: f64 = 0.999;
    match (x, y) {
        (x, _) if x > NEARLY => 0,
        (_, y) if y > NEARLY => 1,
        (x, _) if x < -NEARLY => 2,
        (_, y) if y < -NEARLY => 3,
        _ => 4,
    }
}
