//! The English of comments: crates rewritten to the project's glossary stay free of the old dialect.

use crate::frame::{root, sources};
use std::fs;

/// The crates and folders of the root that pass: all but `reflex`, whose trainer's text is part of a fingerprint.
const CLEAN: &[&str] = &[
    "agent",
    "api",
    "board",
    "cli",
    "config",
    "config-center",
    "custom",
    "discovery",
    "documents",
    "embed",
    "home-assistant",
    "house",
    "http-client",
    "identity",
    "interaction",
    "llm",
    "memory",
    "models",
    "persona",
    "policy",
    "questions",
    "records",
    "registry",
    "rules",
    "sandbox",
    "scheduler",
    "scrub",
    "skills",
    "store",
    "text-kit",
    "tool",
    "tools-data",
    "tools-knowledge",
    "tools-everyday",
    "tools-hardware",
    "tools-utilities",
    "update",
    "uploads",
];

/// Dialect, as whole words in lower case, and its replacement.
const DIALECT: &[(&str, &str)] = &[
    ("affair", "concern, or name the component"),
    ("amiss", "wrong"),
    ("anew", "again; rewrite, rebuild"),
    ("comes to nothing", "fails; is empty"),
    ("goes on with", "continues with"),
    ("kept", "stored"),
    ("laid down", "interrupted; recorded"),
    ("made ready", "prepared"),
    ("mend", "repair, coerce or backfill"),
    ("mended", "repaired, coerced or backfilled"),
    ("mends", "repairs, coerces or backfills"),
    ("rests", "is suspended"),
    ("said", "given, declared"),
    ("somebody else's", "another person's"),
    ("stands at", "is at"),
    ("stands beside", "is next to"),
    ("stands in", "is in"),
    ("stands there", "is there"),
    ("tell of", "describe"),
    ("tells", "returns, reports"),
    ("told", "returned, shown, notified"),
    ("work out", "compute"),
    ("worked out", "computed"),
    ("yes to", "approved"),
];

/// Words that open a clause without a subject: name the thing instead. A question may begin with them.
const OPENINGS: &[&str] = &["What", "Whatever", "Where", "Wherever", "Who", "Whoever", "Whom", "Whose"];

/// The comments of a source file: (line of the first, text), with consecutive lines joined.
fn comments(source: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = vec![];
    let mut open = false;
    for (at, line) in source.lines().enumerate() {
        let text = line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!']).trim());
        match (text, all.last_mut()) {
            (Some(text), Some(last)) if open => last.1 += &format!(" {text}"),
            (Some(text), _) => all.push((at + 1, text.to_owned())),
            (None, _) => {}
        }
        open = text.is_some_and(|text| !text.is_empty());
    }
    all
}

/// A text without quotations and code, in which any word may occur.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = None;
    for c in text.chars() {
        match (quoted, c) {
            (None, '`' | '"') => quoted = Some(c),
            (None, c) => out.push(c),
            (Some(quote), c) if c == quote => quoted = None,
            _ => {}
        }
    }
    out
}

/// The faults of a comment.
fn faults(comment: &str) -> Vec<String> {
    let prose = prose(comment);
    let words: Vec<&str> = prose.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    let text = format!(" {} ", words.join(" ").to_lowercase());
    let dialect = DIALECT.iter().filter(|(phrase, _)| text.contains(&format!(" {phrase} ")));
    let mut faults: Vec<String> = dialect.map(|(phrase, instead)| format!("“{phrase}” ({instead})")).collect();
    if !prose.contains('?')
        && let Some(opening) = words.first().filter(|first| OPENINGS.contains(first))
    {
        faults.push(format!("begins with “{opening}” (begin with the thing itself)"));
    }
    faults
}

#[test]
fn frame_comments_of_clean_crates_are_plain_english() {
    let mut found = vec![];
    for name in CLEAN {
        let mut files = vec![];
        sources(&root().join("src").join(name), &[".rs"], &mut files);
        assert!(!files.is_empty(), "there is no crate `{name}`");
        for file in files {
            for (line, text) in comments(&fs::read_to_string(&file).unwrap()) {
                found.extend(faults(&text).into_iter().map(|why| format!("{}:{line}: {why}", file.display())));
            }
        }
    }
    assert!(found.is_empty(), "say it in the terms of the glossary:\n{}", found.join("\n"));
}

#[test]
fn frame_dialect_is_recognized() {
    for (comment, wrong) in [
        ("What a provider tells of itself: what that one tells.", 2),
        ("Forwards metadata to the inner provider.", 0),
        ("The records kept for a person.", 1),
        ("Says `what is kept` and \"told\".", 0),
        ("What is a token?", 0),
        ("Ignores whatever follows.", 0),
    ] {
        assert_eq!(faults(comment).len(), wrong, "{comment}: {:?}", faults(comment));
    }
    assert_eq!(comments("//! a\n//! b\n\nfn x() {\n    // c\n}"), [(1, "a b".to_owned()), (5, "c".to_owned())]);
}
