//! PDF files made by hand, and broken ones.

use super::*;

/// A file of these objects, from 1 on; the first is the catalogue.
pub(crate) fn file(objects: &[String]) -> Vec<u8> {
    let (mut out, mut at) = (b"%PDF-1.7\n".to_vec(), vec![]);
    for (number, object) in objects.iter().enumerate() {
        at.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", number + 1).bytes());
    }
    let xref = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    at.iter().for_each(|at| out.extend(format!("{at:010} 00000 n \n").bytes()));
    out.extend(format!("trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{xref}\n%%EOF\n", objects.len() + 1).bytes());
    out
}

fn stream(dict: &str, content: &str) -> String {
    format!("<< {dict} /Length {} >>\nstream\n{content}\nendstream", content.len())
}

/// A file of one page with this content.
fn page(content: &str, fonts: &str, more: &[String]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << {fonts} >> /XObject << /Me 6 0 R >> >> >>"
        ),
        stream("", content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    objects.extend_from_slice(more);
    file(&objects)
}

fn task() -> ReadTask {
    ReadTask { room: 100_000, plain: true, ..ReadTask::default() }
}

fn text(bytes: Vec<u8>) -> String {
    read(&task(), bytes).unwrap().parts.remove(0).text
}

#[test]
fn text_is_read_whatever_shows_it() {
    for (content, expected) in [
        ("BT /F 12 Tf 50 700 Td (Gr\\374\\337e) Tj ET", "Grüße\n"),
        ("BT /F 12 Tf 50 700 Td [(Hel) -20 (lo) -400 (you)] TJ ET", "Hello you\n"),
        ("BT /F 12 Tf 14 TL 50 700 Td (one) Tj T* (two) Tj (three) ' 1 2 (four) \" ET", "one\ntwo\nthree\nfour\n"),
        ("BT /F 12 Tf 1 0 0 1 50 700 Tm (a) Tj 1 0 0 1 57.7 700 Tm (b) Tj 1 0 0 1 69 700 Tm (c) Tj ET", "ab c\n"),
        ("q 0 1 -1 0 300 300 cm BT /F 12 Tf (up) Tj (wards) Tj ET Q", "upwards\n"),
        ("BT /F 12 Tf /Span << /ActualText (whole) >> BDC (x) Tj (y) Tj EMC ( z) Tj ET", "whole z\n"),
        ("BT (no font) Tj ET", ""),
        ("q q q Q Q Q Q Q BT /F 12 Tf (still) Tj ET", "still\n"),
    ] {
        assert_eq!(text(page(content, "/F 5 0 R", &[])), expected, "{content}");
    }
}

#[test]
fn fonts_say_what_codes_mean() {
    let unicode =
        "1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0003> <0416> endbfrange";
    let fonts = [
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [8 0 R] >>".to_owned(),
        stream("", unicode),
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /W [1 [600 600] 3 9 700] >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Y /Encoding << /Differences [65 /Lslash /uni00F3 /d.alt] >> >>".to_owned(),
    ];
    let content = "BT /F 10 Tf 0 20 Td <000100020003> Tj /G 10 Tf 0 -15 Td (ABC) Tj ET";
    assert_eq!(text(page(content, "/F 6 0 R /G 9 0 R", &fonts)), "ЖЗИ\nŁód\n");
}

#[test]
fn forms_that_hold_themselves_end() {
    let inner = "BT /F 12 Tf 50 700 Td (x) Tj ET /Me Do /Me Do /Me Do";
    let form = stream("/Type /XObject /Subtype /Form /BBox [0 0 9 9]", inner);
    let read = text(page("/Me Do", "/F 5 0 R", &[form]));
    assert!(read.contains('x') && read.len() < 100_000, "{}", read.len());
}

#[test]
fn loops_between_objects_end() {
    for objects in [
        vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>".to_owned(),
        ],
        vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned(), "2 0 R".to_owned()],
        vec!["1 0 R".to_owned()],
        vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            "<< /Type /Pages /Kids [3 0 R] /Count 4000000000 >>".to_owned(),
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_owned(),
            "<< /Length 4 0 R >>\nstream\nBT ET\nendstream".to_owned(),
        ],
    ] {
        // A fault or no text; what counts is that it ends.
        if let Ok(document) = read(&task(), file(&objects)) {
            assert!(document.parts.iter().all(|part| part.text.is_empty()), "{objects:?}");
        }
    }
}

#[test]
fn broken_files_are_repaired_or_refused() {
    let whole = page("BT /F 12 Tf 50 700 Td (hello) Tj ET", "/F 5 0 R", &[]);
    let find = |needle: &[u8]| whole.windows(needle.len()).position(|here| here == needle).unwrap();
    // Without its table it is found again, object by object.
    let mut lost = whole.clone();
    lost.truncate(find(b"xref"));
    assert_eq!(text(lost), "hello\n");
    let mut moved = whole.clone();
    let at = find(b"startxref");
    moved.splice(at.., *b"startxref\n99999999\n%%EOF");
    assert_eq!(text(moved), "hello\n");
    for cut in [9, 60] {
        assert!(matches!(read(&task(), whole[..cut].to_vec()), Err(Fault::Broken(_))), "{cut}");
    }
    for seed in 0..400_u64 {
        // Bytes changed here and there: an answer or a fault, and no panic.
        let mut bytes = whole.clone();
        let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for _ in 0..6 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize % bytes.len();
            bytes[at] = (random >> 20) as u8;
        }
        let _ = read(&task(), bytes);
    }
}

#[test]
fn pages_are_chosen_and_facts_told() {
    let info = info(page("BT /F 12 Tf (x) Tj ET", "/F 5 0 R", &[]), None).unwrap();
    assert_eq!((info.pages, info.version.as_str(), info.has_text, info.encrypted), (1, "1.7", true, false));
    assert_eq!((info.width, info.height), (600.0, 800.0));
    let wanted = ReadTask { pages: Some(crate::pages("2-3").unwrap()), ..task() };
    let fault = read(&wanted, page("", "", &[])).unwrap_err();
    assert!(matches!(&fault, Fault::BadArgs(why) if why.contains("1 page")), "{fault}");
    assert!(matches!(super::info(b"hello".to_vec(), None), Err(Fault::Unsupported(_))));
    let empty = read(&task(), page("", "", &[])).unwrap();
    assert!(empty.notes[0].contains("pictures"), "{:?}", empty.notes);
}
