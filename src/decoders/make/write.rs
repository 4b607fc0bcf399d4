//! Writes the file: pages, links, and the fonts with their table of characters, so that its text can be searched and copied.

use super::{
    MakePdf,
    faces::{Face, Faces},
    layout::Page,
};
use crate::fault::Result;
use pdf_writer::{
    Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr,
    types::{ActionType, AnnotationType, CidFontType, FontFlags, SystemInfo, UnicodeCmap},
};

const SYSTEM: SystemInfo<'static> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Greys and the colour of links.
const GREY: f32 = 0.95;
const LINES: f32 = 0.6;
const LINK: [f32; 3] = [0.0, 0.25, 0.6];
/// The longest address of a link, in bytes.
const ADDRESS: usize = 2000;
/// The level of compression.
const LEVEL: u8 = 6;

pub(super) fn write(task: &MakePdf, pages: &[Page], faces: &Faces) -> Result<Vec<u8>> {
    let mut next = 0;
    let mut id = || {
        next += 1;
        Ref::new(next)
    };
    let (catalogue, tree, info) = (id(), id(), id());
    let mut pdf = Pdf::new();
    pdf.set_version(1, 7);
    let mut about = pdf.document_info(info);
    about.producer(TextStr("Hob"));
    if let Some(title) = &task.title {
        about.title(TextStr(title));
    }
    if let Some(author) = &task.author {
        about.author(TextStr(author));
    }
    about.finish();
    let fonts: Vec<(usize, Ref)> = faces.used().map(|(at, ..)| (at, id())).collect();
    for ((_, name, face), (_, font)) in faces.used().zip(&fonts) {
        let ids = [*font, id(), id(), id(), id()];
        write_font(&mut pdf, name, face, ids)?;
    }
    let mut kids = vec![];
    for page in pages {
        let (own, content) = (id(), id());
        kids.push(own);
        let links: Vec<(Ref, &([f32; 4], String))> = page.links.iter().map(|link| (id(), link)).collect();
        let mut written = pdf.page(own);
        written.media_box(Rect::new(0.0, 0.0, task.width, task.height)).parent(tree).contents(content);
        let mut resources = written.resources();
        let mut named = resources.fonts();
        for (at, font) in &fonts {
            named.pair(Name(label(*at).as_bytes()), *font);
        }
        named.finish();
        resources.finish();
        if !links.is_empty() {
            written.annotations(links.iter().map(|(id, _)| *id));
        }
        written.finish();
        for (id, ([x, y, to_x, to_y], address)) in links {
            let address = &address.as_bytes()[..address.len().min(ADDRESS)];
            let mut annotation = pdf.annotation(id);
            annotation.subtype(AnnotationType::Link).rect(Rect::new(*x, *y, *to_x, *to_y)).border(0.0, 0.0, 0.0, None);
            annotation.action().action_type(ActionType::Uri).uri(Str(address));
        }
        let drawn = packed(draw(page).as_slice());
        pdf.stream(content, &drawn).filter(Filter::FlateDecode);
    }
    pdf.pages(tree).count(i32::try_from(kids.len()).unwrap_or(i32::MAX)).kids(kids);
    let mut root = pdf.catalog(catalogue);
    root.pages(tree);
    if task.title.is_some() {
        root.viewer_preferences().display_doc_title(true);
    }
    root.finish();
    Ok(pdf.finish())
}

fn label(face: usize) -> String {
    format!("F{face}")
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, LEVEL)
}

fn draw(page: &Page) -> pdf_writer::Buf {
    let mut content = Content::new();
    content.set_fill_gray(GREY);
    for [x, y, width, height] in &page.boxes {
        content.rect(*x, *y, *width, *height).fill_nonzero();
    }
    content.set_stroke_gray(LINES).set_line_width(0.5);
    for [x, y, to_x, to_y] in &page.lines {
        content.move_to(*x, *y).line_to(*to_x, *to_y).stroke();
    }
    content.set_fill_gray(0.0);
    let mut is_link = false;
    for text in &page.texts {
        if text.is_link != is_link {
            is_link = text.is_link;
            match is_link {
                true => content.set_fill_rgb(LINK[0], LINK[1], LINK[2]),
                false => content.set_fill_gray(0.0),
            };
        }
        let codes: Vec<u8> = text.glyphs.iter().flat_map(|glyph| glyph.to_be_bytes()).collect();
        content.begin_text();
        content.set_font(Name(label(text.face).as_bytes()), text.size);
        content.next_line(text.x, text.y).show(Str(&codes));
        content.end_text();
    }
    content.finish()
}

/// A font: itself, its descendant, descriptor, file, and table of characters.
fn write_font(
    pdf: &mut Pdf,
    name: &str,
    face: &Face,
    [font, descendant, descriptor, file, characters]: [Ref; 5],
) -> Result<()> {
    // Six letters say that it is a part of the font.
    let name = format!("HOBHOB+{name}");
    let name = Name(name.as_bytes());
    pdf.type0_font(font)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(descendant)
        .to_unicode(characters);
    let mut cid = pdf.cid_font(descendant);
    cid.subtype(CidFontType::Type2).base_font(name).system_info(SYSTEM).font_descriptor(descriptor).default_width(0.0);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    cid.widths().consecutive(0, face.widths());
    cid.finish();
    let metrics = face.metrics();
    let [x, y, to_x, to_y] = metrics.bbox;
    let mut flags = FontFlags::NON_SYMBOLIC;
    if metrics.angle != 0.0 {
        flags |= FontFlags::ITALIC;
    }
    pdf.font_descriptor(descriptor)
        .name(name)
        .flags(flags)
        .bbox(Rect::new(x, y, to_x, to_y))
        .italic_angle(metrics.angle)
        .ascent(metrics.ascent)
        .descent(metrics.descent)
        .cap_height(metrics.cap_height)
        .stem_v(80.0)
        .font_file2(file);
    let subset = face.subset()?;
    let mut stream_bytes = packed(&subset);
    stream_bytes.shrink_to_fit();
    let mut stream = pdf.stream(file, &stream_bytes);
    stream.filter(Filter::FlateDecode);
    stream.pair(Name(b"Length1"), i32::try_from(subset.len()).unwrap_or(i32::MAX));
    stream.finish();
    let mut cmap = UnicodeCmap::<u16>::new(Name(b"Characters"), SYSTEM);
    for (glyph, c) in &face.characters {
        cmap.pair(*glyph, *c);
    }
    let cmap = packed(cmap.finish().as_slice());
    pdf.stream(characters, &cmap).filter(Filter::FlateDecode);
    Ok(())
}
