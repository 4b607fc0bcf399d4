//! Documents that tests make: PDF files object by object, and ZIP archives.

/// A PDF file of these objects, from 1 on; the first is the catalogue.
pub fn pdf(objects: &[String]) -> Vec<u8> {
    let (mut out, mut at) = (b"%PDF-1.7\n".to_vec(), vec![]);
    for (number, object) in objects.iter().enumerate() {
        at.push(out.len());
        out.extend(format!("{} 0 obj\n{object}\nendobj\n", number + 1).bytes());
    }
    let xref = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    at.iter().for_each(|at| out.extend(format!("{at:010} 00000 n \n").bytes()));
    let size = objects.len() + 1;
    let info = if objects.iter().any(|object| object.contains("/Title")) { "/Info 4 0 R" } else { "" };
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R {info} >>\nstartxref\n{xref}\n%%EOF\n").bytes());
    out
}

/// A PDF file with these pages, each a list of lines.
pub fn pages(pages: &[Vec<String>]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Title (A book) /Author (Nora) /CreationDate (D:20260102030405Z) >>".to_owned(),
    ];
    let mut kids = String::new();
    for lines in pages {
        let mut content = "BT /F 11 Tf 14 TL 50 750 Td\n".to_owned();
        for line in lines {
            content
                .push_str(&format!("({}) Tj T*\n", line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)")));
        }
        content.push_str("ET");
        let number = objects.len() + 1;
        kids.push_str(&format!("{number} 0 R "));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R /Resources << /Font << /F 3 0 R >> >> >>",
            number + 1
        ));
        objects.push(stream("", content.as_bytes()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len());
    pdf(&objects)
}

/// A stream, which must be text.
pub fn stream(dict: &str, content: &[u8]) -> String {
    format!("<< {dict} /Length {} >>\nstream\n{}\nendstream", content.len(), String::from_utf8_lossy(content))
}

/// A ZIP archive of these files, packed.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut central) = (vec![], vec![]);
    for (name, bytes) in files {
        let packed = miniz_oxide::deflate::compress_to_vec(bytes, 6);
        let at = (out.len() as u32).to_le_bytes();
        let sizes = [(packed.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
        let length = (name.len() as u16).to_le_bytes();
        out.extend(b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0");
        out.extend([&sizes[..], &length, &[0, 0], name.as_bytes(), &packed].concat());
        central.extend(b"PK\x01\x02\x14\0\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0");
        central.extend([&sizes[..], &length, &[0; 12], &at, name.as_bytes()].concat());
    }
    let (count, size) = ((files.len() as u16).to_le_bytes(), (central.len() as u32).to_le_bytes());
    let at = (out.len() as u32).to_le_bytes();
    out.extend(central);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([&count[..], &count, &size, &at, &[0, 0]].concat());
    out
}

/// A Word document with this body.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w=\"w\"><w:body>{body}</w:body></w:document>");
    let styles = r#"<w:styles xmlns:w="w"><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>"#;
    zip(&[("word/document.xml", document.as_bytes()), ("word/styles.xml", styles.as_bytes())])
}

/// A PNG picture of this size in one grey; of the pixels only as many as `rows` has are there.
pub fn png(width: u32, height: u32, rows: u32) -> Vec<u8> {
    fn chunk(out: &mut Vec<u8>, kind: &[u8], data: &[u8]) {
        let body = [kind, data].concat();
        let mut crc = u32::MAX;
        for byte in &body {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            }
        }
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(body);
        out.extend((!crc).to_be_bytes());
    }
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    chunk(&mut out, b"IHDR", &header);
    let line = [vec![0], vec![200; width as usize]].concat();
    let pixels = line.repeat(rows as usize);
    chunk(&mut out, b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&pixels, 6));
    chunk(&mut out, b"IEND", b"");
    out
}
