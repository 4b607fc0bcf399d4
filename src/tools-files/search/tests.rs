//! Tests of searching and globbing.

use super::*;
use crate::walk::tests::{Hides, Sandbox};

fn how() -> How {
    How { content: true, most: 50, ..How::default() }
}

fn hits(sandbox: &Sandbox, pattern: &str, only: Option<&str>, how: How) -> Hits {
    let root = sandbox.fd();
    let plan = Plan {
        root: &root,
        start: "",
        unseen: &Hides("secret"),
        only: None,
        hidden: false,
        ignored: false,
        stop: &|| false,
    };
    Query::new(pattern, only, how).unwrap().run(&plan)
}

/// Path, line, text.
fn lines(hits: &Hits) -> Vec<(String, u64, String)> {
    let of =
        |hit: &Hit| hit.lines.iter().map(|line| (hit.path.clone(), line.number, line.text.clone())).collect::<Vec<_>>();
    hits.files.iter().flat_map(of).collect()
}

fn row(path: &str, number: u64, text: &str) -> (String, u64, String) {
    (path.into(), number, text.into())
}

#[test]
fn lines_are_found_by_text_and_by_pattern() {
    let sandbox = Sandbox::new(
        "search",
        &[
            ("a/one.rs", "fn main() {\r\n    boil(1);\r\n}\r\n"),
            ("a/two.py", "def boil(n):\n    return n\n# BOIL\n"),
            ("b.txt", "nothing\n"),
            ("boiler.txt", "x\n"),
            ("secret/x", "boil\n"),
            ("bin", "boil\n\0\n"),
        ],
    );
    assert_eq!(
        lines(&hits(&sandbox, "boil(", None, how())),
        [row("a/one.rs", 2, "    boil(1);"), row("a/two.py", 1, "def boil(n):")]
    );
    assert_eq!(lines(&hits(&sandbox, "BOIL", None, how())), [row("a/two.py", 3, "# BOIL")], "a capital letter counts");
    assert_eq!(lines(&hits(&sandbox, "boil", None, how())).len(), 3, "and without one case does not");
    let exact = How { case_sensitive: Some(true), ..how() };
    assert_eq!(lines(&hits(&sandbox, "boil", None, exact)).len(), 2);
    let regex = How { regex: true, ..how() };
    assert_eq!(lines(&hits(&sandbox, r"^\s+return \w$", None, regex)), [row("a/two.py", 2, "    return n")]);
    assert_eq!(lines(&hits(&sandbox, r"^\}$", None, regex)), [row("a/one.rs", 3, "}")], "before a carriage return");
    assert_eq!(lines(&hits(&sandbox, "boil", Some("*.rs"), how())).len(), 1);
    let names = How { names: true, content: false, ..how() };
    let found = hits(&sandbox, "boil", None, names);
    assert_eq!(found.files, [Hit { path: "boiler.txt".into(), by_name: true, lines: vec![] }]);
    assert!(!found.more);
}

#[test]
fn the_first_results_come_and_no_more() {
    let files: Vec<(String, String)> =
        (0..400).map(|n| (format!("d{:02}/f{n:03}.txt", n % 20), "match\nmatch\nmatch\n".into())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = Sandbox::new("first", &files);
    for _ in 0..20 {
        let found = hits(&sandbox, "match", None, How { most: 7, ..how() });
        let seen: Vec<(String, u64)> = lines(&found).into_iter().map(|(path, number, _)| (path, number)).collect();
        let expected: Vec<(String, u64)> = ["d00/f000.txt", "d00/f020.txt", "d00/f040.txt"]
            .iter()
            .flat_map(|path| (1..=3).map(|n| ((*path).to_owned(), n)))
            .take(7)
            .collect();
        assert_eq!(seen, expected);
        assert!(found.more);
    }
}

#[test]
fn lines_around_a_match_are_shown() {
    let sandbox = Sandbox::new("around", &[("a", "1\n2\nhit\n4\n5\n6\n7\n8\nhit\n10\n")]);
    let found = hits(&sandbox, "hit", None, How { context: 2, ..how() });
    let seen: Vec<(u64, Vec<String>, Vec<String>)> =
        found.files[0].lines.iter().map(|line| (line.number, line.before.clone(), line.after.clone())).collect();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(seen, [(3, texts(&["1", "2"]), texts(&["4", "5"])), (9, texts(&["7", "8"]), texts(&["10"]))]);
}

#[test]
fn odd_files_are_searched_as_well_as_they_can_be() {
    let long = format!("{}needle{}", "ä".repeat(2000), "ö".repeat(2000));
    let sandbox = Sandbox::new("odd", &[("long", &long)]);
    let utf16: Vec<u8> = "\u{feff}a needle\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(sandbox.0.join("wide"), utf16).unwrap();
    std::fs::write(sandbox.0.join("latin"), b"gr\xfc\xdfe needle\n").unwrap();
    let found = lines(&hits(&sandbox, "needle", None, how()));
    assert_eq!(found.iter().map(|hit| hit.0.as_str()).collect::<Vec<_>>(), ["latin", "long", "wide"]);
    assert_eq!(found[0].2, "gr\u{fffd}\u{fffd}e needle");
    assert!(found[1].2.starts_with("…ä") && found[1].2.contains("needle") && found[1].2.len() < 320, "{}", found[1].2);
    assert_eq!(found[2].2, "a needle");
}

#[test]
fn patterns_that_cannot_be_used_are_explained() {
    for (pattern, regex, expected) in [
        ("", false, "empty"),
        ("a\nb", false, "one by one"),
        ("(", true, "unclosed group"),
        ("(a{1000}){1000}", true, "cannot be used"),
        (&"x".repeat(5000), false, "longer"),
    ] {
        let why = Query::new(pattern, None, How { regex, ..how() }).err().unwrap();
        assert!(why.contains(expected) && why.len() < 500, "{why}");
    }
    for pattern in ["", "../x", "/etc/*", "a/../../b", "[", "{a,b"] {
        assert!(FileGlob::new(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn globs_are_of_paths_and_names() {
    let rows = [
        ("*.md", &["a.md", "x/y/b.md"][..], &["a.mdx", "md"][..]),
        ("**/*.md", &["a.md", "x/b.md"], &["a.txt"]),
        ("src/*.rs", &["src/a.rs"], &["src/b/a.rs", "x/src/a.rs"]),
        ("src/**", &["src/a", "src/b/c"], &["lib/a"]),
        ("*.{js,ts}", &["a.js", "x/b.ts"], &["a.jsx"]),
        ("[ab].txt", &["a.txt"], &["c.txt"]),
        ("./a/?", &["a/b"], &["a/bc", "b/b"]),
        ("./*.md", &["a.md"], &["x/a.md"]),
    ];
    for (pattern, yes, no) in rows {
        let glob = FileGlob::new(pattern).unwrap();
        assert!(yes.iter().all(|path| glob.has(path)) && !no.iter().any(|path| glob.has(path)), "{pattern}");
    }
    let sandbox = Sandbox::new("glob", &[("a/x.md", "1234"), ("a/b/y.md", ""), ("z.md", ""), ("n.txt", "")]);
    let root = sandbox.fd();
    let paths = |start: &str, pattern: &str, most: usize| {
        let plan =
            Plan { root: &root, start, unseen: &Hides(""), only: None, hidden: false, ignored: false, stop: &|| false };
        let (found, more, _) = glob(&plan, &FileGlob::new(pattern).unwrap(), most);
        (found.into_iter().map(|file| file.path).collect::<Vec<_>>(), more)
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(paths("", "*.md", 10), (texts(&["a/b/y.md", "a/x.md", "z.md"]), false));
    assert_eq!(paths("", "*.md", 2), (texts(&["a/b/y.md", "a/x.md"]), true));
    assert_eq!(paths("a", "b/*", 10), (texts(&["a/b/y.md"]), false), "from the folder that is searched");
}
