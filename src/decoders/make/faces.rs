//! The letters: four faces of DejaVu with Latin, Greek and Cyrillic, of which a file gets those that it uses.

use crate::fault::{Fault, Result};
use std::collections::{BTreeMap, BTreeSet};
use subsetter::GlyphRemapper;
use ttf_parser::GlyphId;

/// A face by its number.
pub(super) const REGULAR: usize = 0;
pub(super) const BOLD: usize = 1;
pub(super) const ITALIC: usize = 2;
pub(super) const MONO: usize = 3;

/// The glyph of each character, by character.
type Characters = &'static [(char, u16)];

/// A font that the build made, and its characters.
macro_rules! font {
    ($name:literal) => {
        (
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".ttf")).as_slice(),
            include!(concat!(env!("OUT_DIR"), "/", $name, ".rs")),
        )
    };
}

const FONTS: [(&[u8], Characters); 4] = [font!("regular"), font!("bold"), font!("italic"), font!("mono")];
const NAMES: [&str; 4] = ["DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono"];
/// What stands in for a character that no face has.
const REPLACEMENT: char = '\u{fffd}';
/// The most missing characters that are named.
const MISSING: usize = 40;

/// A face while a file is made.
pub(super) struct Face {
    parsed: ttf_parser::Face<'static>,
    glyphs: Characters,
    /// Glyphs that are used, by their new numbers.
    pub used: GlyphRemapper,
    /// The character of each new number.
    pub characters: BTreeMap<u16, char>,
}

pub(super) struct Faces {
    faces: Vec<Face>,
    missing: BTreeSet<char>,
}

/// A character in a face.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Glyph {
    pub face: usize,
    pub id: u16,
    /// In parts of the size.
    pub width: f32,
}

impl Faces {
    pub fn new() -> Result<Self> {
        Ok(Self { faces: FONTS.into_iter().map(Face::new).collect::<Result<_>>()?, missing: BTreeSet::new() })
    }

    /// A character in a face, or in another one that has it.
    pub fn glyph(&mut self, face: usize, c: char) -> Glyph {
        let c = if c == '\u{a0}' || c == '\t' { ' ' } else { c };
        match self.find(face, c) {
            Some(glyph) => glyph,
            None => {
                self.missing.insert(c);
                self.find(face, REPLACEMENT).unwrap_or(Glyph { face, id: 0, width: 0.6 })
            }
        }
    }

    fn find(&mut self, face: usize, c: char) -> Option<Glyph> {
        for at in [face, REGULAR, MONO] {
            let Some(found) = self.faces.get_mut(at) else { continue };
            let Ok(id) = found.glyphs.binary_search_by_key(&c, |&(c, _)| c) else { continue };
            let id = GlyphId(found.glyphs[id].1);
            let units = f32::from(found.parsed.units_per_em().max(1));
            let width = f32::from(found.parsed.glyph_hor_advance(id).unwrap_or(0)) / units;
            let new = found.used.remap(id.0);
            found.characters.insert(new, c);
            return Some(Glyph { face: at, id: new, width });
        }
        None
    }

    /// The faces that are used, with their numbers and names.
    pub fn used(&self) -> impl Iterator<Item = (usize, &'static str, &Face)> {
        self.faces
            .iter()
            .enumerate()
            .filter(|(_, face)| !face.characters.is_empty())
            .map(|(at, face)| (at, NAMES[at], face))
    }

    pub fn missing(&self) -> String {
        self.missing.iter().take(MISSING).collect()
    }
}

/// Numbers of a face, in thousandths of the size.
pub(super) struct Metrics {
    pub ascent: f32,
    pub descent: f32,
    pub cap_height: f32,
    pub angle: f32,
    pub bbox: [f32; 4],
}

impl Face {
    fn new((bytes, glyphs): (&'static [u8], Characters)) -> Result<Self> {
        let parsed = ttf_parser::Face::parse(bytes, 0);
        let parsed = parsed.map_err(|_| Fault::Unavailable("a font of Hob is damaged".into()))?;
        Ok(Self { parsed, glyphs, used: GlyphRemapper::new(), characters: BTreeMap::new() })
    }

    pub fn metrics(&self) -> Metrics {
        let thousandths = |value: i16| f32::from(value) * 1000.0 / f32::from(self.parsed.units_per_em().max(1));
        let all = self.parsed.global_bounding_box();
        Metrics {
            ascent: thousandths(self.parsed.ascender()),
            descent: thousandths(self.parsed.descender()),
            cap_height: self.parsed.capital_height().map_or(729.0, thousandths),
            angle: self.parsed.italic_angle(),
            bbox: [all.x_min, all.y_min, all.x_max, all.y_max].map(thousandths),
        }
    }

    /// The widths of the used glyphs in the order of their new numbers, in thousandths.
    pub fn widths(&self) -> Vec<f32> {
        let units = f32::from(self.parsed.units_per_em().max(1));
        let width = |id| f32::from(self.parsed.glyph_hor_advance(GlyphId(id)).unwrap_or(0)) * 1000.0 / units;
        self.used.remapped_gids().map(width).collect()
    }

    /// The font with the used glyphs alone.
    pub fn subset(&self) -> Result<Vec<u8>> {
        subsetter::subset(self.parsed.raw_face().data, 0, &self.used)
            .map_err(|_| Fault::Unavailable("a font of Hob could not be embedded".into()))
    }
}
