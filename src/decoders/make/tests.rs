//! Files that are made, read again by our own reader.

use super::*;
use crate::task::ReadTask;

fn task(content: &str) -> MakePdf {
    MakePdf {
        content: content.into(),
        form: Form::Markdown,
        title: None,
        author: None,
        width: 595.0,
        height: 842.0,
        margin: 57.0,
        size: 11.0,
    }
}

fn read(made: &MadePdf, plain: bool) -> String {
    let task = ReadTask { room: 1 << 20, plain, ..ReadTask::default() };
    let document = crate::pdf::read(&task, made.bytes.clone()).unwrap();
    document.parts.into_iter().map(|part| part.text).collect::<Vec<_>>().join("\n")
}

#[test]
fn letters_of_many_languages_come_back() {
    let text = "Größe ẞ · ¿Qué señor? · Çà où œuvre · Zażółć gęślą jaźń · Καλημέρα κόσμε · Съешь ещё этих булок · 12 € „x“ – … → ✓";
    let made = make(&task(text)).unwrap();
    assert_eq!(read(&made, true).split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    assert_eq!((made.missing.as_str(), made.pages), ("", 1));
    assert!(made.bytes.len() < 60_000, "{}", made.bytes.len());
    let made = make(&task("nice 漢字 here")).unwrap();
    assert_eq!(made.missing, "字漢");
}

#[test]
fn markdown_keeps_its_structure() {
    let text = "# Plan\n\nA **bold** and *slanted* [link](https://example.org/) with `code`.\n\n- one\n- two\n\n1. first\n2. second\n\n\
        | Day | Sum |\n|---|---|\n| Monday | 12 |\n| Tuesday | 7 |\n\n> quoted\n\n```\nlet x = 1;\n```\n\n---\n\nend";
    let made = make(&MakePdf { title: Some("Plan".into()), author: Some("Nora".into()), ..task(text) }).unwrap();
    assert_eq!(
        read(&made, false).trim(),
        "# Plan\n\nA bold and slanted link with code.\n\n- one\n- two\n1. first\n2. second\n\n| Day | Sum |\n| --- | --- |\n\
        | Monday | 12 |\n| Tuesday | 7 |\n\nquoted\n\nlet x = 1;\n\nend"
    );
    let info = crate::pdf::info(made.bytes.clone(), None).unwrap();
    assert_eq!((info.title.as_deref(), info.author.as_deref(), info.pages), (Some("Plan"), Some("Nora"), 1));
    assert!(made.bytes.windows(20).any(|bytes| bytes == b"https://example.org/"));
}

#[test]
fn long_content_fills_pages_and_is_bounded() {
    let text: String = (0..3000).map(|n| format!("word{n} ")).collect();
    let made = make(&task(&text)).unwrap();
    assert!(made.pages > 5, "{}", made.pages);
    let words: Vec<String> =
        read(&made, true).split_whitespace().filter(|word| word.starts_with("word")).map(str::to_owned).collect();
    assert_eq!(words, text.split_whitespace().collect::<Vec<_>>());
    let rows: String = (0..200).map(|n| format!("| {n} | {} |\n", "long cell ".repeat(8))).collect();
    let made = make(&task(&format!("| Number | What |\n|---|---|\n{rows}"))).unwrap();
    let text = read(&made, true);
    assert!(made.pages > 3 && text.matches("Number").count() == made.pages as usize, "{} {text}", made.pages);
    for (content, fits) in [
        ("", true),
        (&"x".repeat(20_000), true),
        (&"\u{0}\u{7}\u{202e}".repeat(100), true),
        (&"- ".repeat(5_000), true),
        (&"> ".repeat(5_000), true),
        (&"|".repeat(5_000), true),
        (&"a\n\n".repeat(400_000), false),
        (&"y".repeat(LONGEST + 1), false),
    ] {
        assert_eq!(make(&task(content)).is_ok(), fits, "{}", &content[..content.len().min(20)]);
    }
    // A page with no room for anything.
    assert!(make(&MakePdf { width: 100.0, height: 100.0, margin: 49.0, ..task("some words here") }).is_ok());
    let page =
        make(&MakePdf { form: Form::Html, ..task("<h1>Größe</h1><ul><li>one<li>two</ul><script>no()</script>") })
            .unwrap();
    assert_eq!(read(&page, false).trim(), "# Größe\n\n- one\n- two");
    let plain = make(&MakePdf { form: Form::Text, ..task("# no heading\n  indented") }).unwrap();
    assert!(read(&plain, true).starts_with("# no heading"));
}
