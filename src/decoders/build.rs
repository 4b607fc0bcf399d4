//! Takes the characters that `create_pdf` can write out of the DejaVu fonts: a font with their glyphs alone, and which glyph each
//! character has.

use std::{env, error::Error, fs, path::Path};
use subsetter::GlyphRemapper;

/// Characters from a first one to a last one.
type Ranges = &'static [(u32, u32)];

/// Letters, punctuation, figures, money, arrows, signs and shapes of the fonts with proportional letters.
const TEXT: Ranges = &[
    (0x20, 0x7e),
    (0xa0, 0x24f),
    (0x2bb, 0x2dd),
    (0x370, 0x4ff),
    (0x1e9e, 0x1e9e),
    (0x2010, 0x2027),
    (0x2030, 0x203a),
    (0x2044, 0x2044),
    (0x2070, 0x2071),
    (0x2074, 0x208e),
    (0x2090, 0x2094),
    (0x20a0, 0x20b5),
    (0x20b8, 0x20ba),
    (0x20bd, 0x20bd),
    (0x2100, 0x2109),
    (0x210b, 0x2126),
    (0x2150, 0x215e),
    (0x2190, 0x2199),
    (0x21d0, 0x21d4),
    (0x2200, 0x221e),
    (0x2229, 0x222b),
    (0x2248, 0x2248),
    (0x2260, 0x2265),
    (0x25a0, 0x25cf),
    (0x2610, 0x2612),
    (0x2713, 0x2713),
    (0x2717, 0x2717),
    (0xfb01, 0xfb02),
    (0xfffd, 0xfffd),
];
/// Those of programs and tables of text.
const CODE: Ranges = &[
    (0x20, 0x7e),
    (0xa0, 0x17f),
    (0x370, 0x45f),
    (0x2010, 0x2026),
    (0x20ac, 0x20ac),
    (0x2190, 0x2193),
    (0x2212, 0x2212),
    (0x2248, 0x2265),
    (0x2500, 0x25cf),
    (0x2713, 0x2717),
    (0xfffd, 0xfffd),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR")?;
    let fonts: [(&str, &[u8], Ranges); 4] = [
        ("regular", dejavu::sans::regular(), TEXT),
        ("bold", dejavu::sans::bold(), TEXT),
        ("italic", dejavu::sans::oblique(), TEXT),
        ("mono", dejavu::sans_mono::regular(), CODE),
    ];
    for (name, whole, ranges) in fonts {
        let face = ttf_parser::Face::parse(whole, 0)?;
        let mut kept = GlyphRemapper::new();
        let mut characters = Vec::new();
        for c in ranges.iter().flat_map(|&(first, last)| first..=last).filter_map(char::from_u32) {
            if let Some(glyph) = face.glyph_index(c) {
                characters.push((c, kept.remap(glyph.0)));
            }
        }
        characters.sort_unstable();
        let file = Path::new(&out).join(name);
        fs::write(
            file.with_extension("ttf"),
            subsetter::subset(whole, 0, &kept).map_err(|e| format!("{name}: {e:?}"))?,
        )?;
        fs::write(file.with_extension("rs"), format!("&{characters:?}"))?;
    }
    Ok(())
}
