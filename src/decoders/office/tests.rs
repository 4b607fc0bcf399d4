//! Documents of Office and OpenDocument, made by hand.

use crate::{
    archive::{Archive, tests::zip},
    fault::{Fault, Result},
    whole::Whole,
};

fn read(files: &[(&str, &str)]) -> Result<Whole> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    super::read(&Archive::open(&zip(&files))?)
}

fn text(files: &[(&str, &str)]) -> String {
    let whole = read(files).unwrap();
    let parts: Vec<String> = whole.parts.into_iter().map(|(name, text)| name.unwrap_or_default() + &text).collect();
    parts.join("---\n")
}

const STYLES: &str = r#"<w:styles xmlns:w="w"><w:style w:styleId="Ueber1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Liste"><w:name w:val="List"/><w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr></w:style></w:styles>"#;
const NUMBERING: &str = r#"<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="3"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="3"/></w:num></w:numbering>"#;
const LINKS: &str = r#"<Relationships><Relationship Id="r1" Target="https://example.org/"/></Relationships>"#;

fn docx(body: &str) -> String {
    let document = format!("<w:document xmlns:w=\"w\" xmlns:r=\"r\"><w:body>{body}</w:body></w:document>");
    text(&[
        ("word/document.xml", &document),
        ("word/styles.xml", STYLES),
        ("word/numbering.xml", NUMBERING),
        ("word/_rels/document.xml.rels", LINKS),
        ("docProps/core.xml", "<c><dc:title>T</dc:title></c>"),
    ])
}

#[test]
fn docx_becomes_markdown() {
    for (body, expected) in [
        (r#"<w:p><w:pPr><w:pStyle w:val="Ueber1"/></w:pPr><w:r><w:t>Größe</w:t></w:r></w:p>"#, "# Größe\n"),
        (
            r#"<w:p><w:r><w:t xml:space="preserve">a </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b</w:t></w:r><w:r><w:rPr><w:b w:val="0"/><w:i/></w:rPr><w:t>c</w:t><w:br/><w:t>d</w:t></w:r></w:p>"#,
            "a **b***c\nd*\n",
        ),
        (
            r#"<w:p><w:pPr><w:pStyle w:val="Liste"/></w:pPr><w:r><w:t>one</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr></w:pPr><w:r><w:t>two</w:t></w:r></w:p><w:p><w:r><w:t>after</w:t></w:r></w:p>"#,
            "1. one\n  - two\n\nafter\n",
        ),
        (
            r#"<w:p><w:hyperlink r:id="r1"><w:r><w:t>here</w:t></w:r></w:hyperlink></w:p>"#,
            "[here](https://example.org/)\n",
        ),
        (
            r#"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b|c</w:t></w:r></w:p><w:p><w:r><w:t>d</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#,
            "| a | b\\|c d |\n| --- | --- |\n",
        ),
        (
            r#"<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>obey</w:t></w:r><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:t>seen</w:t></w:r></w:p>"#,
            "seen\n",
        ),
        ("", ""),
    ] {
        assert_eq!(docx(body), expected, "{body}");
    }
}

#[test]
fn xlsx_becomes_tables() {
    let shown = text(&[
        (
            "xl/workbook.xml",
            r#"<workbook><sheets><sheet name="Costs" r:id="r1"/><sheet name="Secret" state="hidden" r:id="r1"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        ("xl/sharedStrings.xml", "<sst><si><t>Day</t></si><si><r><t>Su</t></r><r><t>m</t></r></si></sst>"),
        ("xl/styles.xml", r#"<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#),
        (
            "xl/worksheets/sheet1.xml",
            r#"<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row><c r="A2" s="1"><v>46353</v></c><c r="B2" t="inlineStr"><is><t>x</t></is></c><c r="C2"><v>12.50</v></c></row></sheetData></worksheet>"#,
        ),
    ]);
    assert_eq!(shown, "Costs| Day |  | Sum |\n| --- | --- | --- |\n| 2026-11-27 | x | 12.5 |\n");
}

#[test]
fn cells_far_to_the_right_are_told() {
    let cells = r#"<row><c r="IV1"><v>1</v></c><c r="IW1"><v>2</v></c><c><v>3</v></c></row><row r="1048576"><c r="XFD1048576"><v>4</v></c><c r="A1"/></row><row><v>5</v></row>"#;
    let sheets: String = (1..=510).map(|n| format!(r#"<sheet name="S{n}" r:id="r1"/>"#)).collect();
    let xlsx = [
        ("xl/workbook.xml", format!("<workbook><sheets>{sheets}</sheets></workbook>")),
        ("xl/_rels/workbook.xml.rels", r#"<a><Relationship Id="r1" Target="worksheets/1.xml"/></a>"#.into()),
        ("xl/worksheets/1.xml", format!("<worksheet><sheetData>{cells}</sheetData></worksheet>")),
    ];
    let xlsx = xlsx.each_ref().map(|(name, text)| (*name, text.as_str()));
    let ods = r#"<o><office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell table:number-columns-repeated="255"/><table:table-cell table:number-columns-repeated="3"><text:p>b</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet></o>"#;
    let ods = [("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", ods)];
    let csv = crate::text::read(format!("{}x,y", ",".repeat(256)).as_bytes(), "csv").unwrap();
    for (whole, told) in [
        (
            read(&xlsx).unwrap(),
            "only the first 500 of 510 sheets are read; columns A to IV are shown, which are 256: 1500 cells",
        ),
        (read(&ods).unwrap(), "columns A to IV are shown, which are 256: 2 cells beyond them left out (in S)"),
        (csv, "columns A to IV are shown, which are 256: 2 cells beyond them left out"),
    ] {
        let notes = whole.notes.join("; ");
        assert!(notes.starts_with(told), "{notes}");
    }
}

#[test]
fn pptx_becomes_slides() {
    let slide = r#"<p:sld><p:sp><p:nvSpPr><p:ph type="title"/></p:nvSpPr><a:p><a:r><a:t>Plan</a:t></a:r></a:p></p:sp><p:sp><a:p><a:pPr lvl="0"/><a:r><a:t>first</a:t></a:r></a:p></p:sp></p:sld>"#;
    let shown = text(&[
        (
            "ppt/presentation.xml",
            r#"<p:presentation><p:sldIdLst><p:sldId id="256" r:id="rId2"/></p:sldIdLst></p:presentation>"#,
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<Relationships><Relationship Id="rId2" Target="slides/slide1.xml"/></Relationships>"#,
        ),
        ("ppt/slides/slide1.xml", slide),
    ]);
    assert_eq!(shown, "## Plan\n\n- first\n");
}

fn odf(kind: &str, body: &str) -> String {
    let content = format!(
        r#"<office:document-content xmlns:office="o"><office:automatic-styles><text:list-style style:name="L1"><text:list-level-style-number text:level="1"/></text:list-style><style:style style:name="T1"><style:text-properties fo:font-weight="bold"/></style:style></office:automatic-styles><office:body>{body}</office:body></office:document-content>"#
    );
    text(&[("mimetype", &format!("application/vnd.oasis.opendocument.{kind}")), ("content.xml", &content)])
}

#[test]
fn opendocument_becomes_markdown() {
    for (kind, body, expected) in [
        (
            "text",
            r#"<office:text><text:h text:outline-level="2">Größe</text:h><text:p>a<text:s text:c="2"/><text:span text:style-name="T1">b</text:span><text:line-break/>c</text:p></office:text>"#,
            "## Größe\n\na  **b**\nc\n",
        ),
        (
            "text",
            r#"<office:text><text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list><text:p>x<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>why</text:p></text:note-body></text:note></text:p></office:text>"#,
            "1. one\n  1. two\n\nx[1] (why)\n",
        ),
        (
            "spreadsheet",
            r#"<office:spreadsheet><table:table table:name="S"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"><text:p>b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row></table:table></office:spreadsheet>"#,
            "S| a | b | b |\n| --- | --- | --- |\n",
        ),
        (
            "presentation",
            r"<office:presentation><draw:page><text:p>one</text:p></draw:page><draw:page><text:p>two</text:p></draw:page></office:presentation>",
            "one\n---\ntwo\n",
        ),
    ] {
        assert_eq!(odf(kind, body), expected, "{body}");
    }
}

#[test]
fn hostile_archives_are_refused() {
    let laughs = "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]><x><w:t>&b;</w:t></x>";
    assert!(matches!(read(&[("word/document.xml", laughs)]), Err(Fault::Broken(why)) if why.contains("entities")));
    let deep = "<w:p>".repeat(5000);
    assert!(matches!(read(&[("word/document.xml", &deep)]), Err(Fault::Broken(why)) if why.contains("256")));
    assert!(matches!(read(&[("a.txt", "x")]), Err(Fault::Unsupported(_))));
    // A cell that is there a million times fills what a table has room for: 500,000 cells.
    let many = r#"<office:spreadsheet><table:table table:name="S"><table:table-row table:number-rows-repeated="1000000000"><table:table-cell table:number-columns-repeated="1000000000"><text:p>b</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"#;
    assert!(odf("spreadsheet", many).len() < 4_000_000);
}
