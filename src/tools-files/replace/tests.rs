//! Tests of replacements and their diffs.

use super::*;
use proptest::prelude::*;

fn one(old: &str, new: &str) -> Vec<Replacement> {
    vec![Replacement { old: old.into(), new: new.into(), all: false }]
}

fn all(old: &str, new: &str) -> Vec<Replacement> {
    vec![Replacement { old: old.into(), new: new.into(), all: true }]
}

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

#[test]
fn changes_are_shown_in_whole_lines() {
    let rows = [
        (POEM, one("five", "FIVE"), "@@ -2,7 +2,7 @@\n two\n three\n four\n-five\n+FIVE\n six\n seven\n eight\n"),
        (POEM, one("one\n", ""), "@@ -1,4 +1,3 @@\n-one\n two\n three\n four\n"),
        (POEM, one("ten\n", "ten\neleven\n"), "@@ -8,3 +8,4 @@\n eight\n nine\n ten\n+eleven\n"),
        (
            POEM,
            one("ten\n", "ten"),
            "@@ -7,4 +7,4 @@\n seven\n eight\n nine\n-ten\n+ten\n\\ No newline at end of file\n",
        ),
        ("a\nb\n", one("a\nb\n", "a\nx\nb\n"), "@@ -1,2 +1,3 @@\n a\n+x\n b\n"),
        ("a", one("a", "b"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"),
        ("a\n", one("a\n", ""), "@@ -1 +0,0 @@\n-a\n"),
        ("ab\ncd\n", one("b\nc", "x"), "@@ -1,2 +1 @@\n-ab\n-cd\n+axd\n"),
        ("x x\nx\n", all("x", "y"), "@@ -1,2 +1,2 @@\n-x x\n-x\n+y y\n+y\n"),
        ("a\r\nb\r\nc\r\n", one("a\nb\n", "a\nB\n"), "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
    ];
    for (text, replacements, diff) in rows {
        let replaced = replace(text, &replacements).unwrap();
        assert_eq!(replaced.diff, diff, "{replacements:?}");
    }
    let far = replace(&POEM.replace("five", "one"), &all("one", "1")).unwrap();
    assert_eq!((far.count, far.first_line, far.added, far.removed), (2, 1, 2, 2));
    assert_eq!(far.diff.matches("@@ -").count(), 1, "near changes share a hunk: {}", far.diff);
}

#[test]
fn line_breaks_of_the_file_are_kept() {
    let replaced = replace("a\r\nb\r\n", &one("a\nb", "a\nx\ny\nb")).unwrap();
    assert_eq!(replaced.text, "a\r\nx\r\ny\r\nb\r\n");
    let replaced = replace("a\r\nb\r\n", &one("b", "b\nc")).unwrap();
    assert_eq!(replaced.text, "a\r\nb\r\nc\r\n");
    let mixed = replace("a\r\nb\nc\n", &one("b\n", "b\nx\n")).unwrap();
    assert_eq!(mixed.text, "a\r\nb\nx\nc\n");
}

#[test]
fn several_edits_are_made_in_order() {
    let edits = [one("two", "2"), one("2\nthree", "2\n3"), all("e", "E")].concat();
    let replaced = replace("one\ntwo\nthree\nfive\n", &edits).unwrap();
    assert_eq!(replaced.text, "onE\n2\n3\nfivE\n");
    assert_eq!(replaced.count, 4);
}

#[test]
fn what_cannot_be_replaced_is_explained() {
    let text = "fn main() {\n    let total = add(1, 2);\n    print(total);\n}\n";
    let rows = [
        (one("let total = add(1, 3)", "x"), "The nearest line, 2: let total = add(1, 2);"),
        (
            one("\tlet total = add(1, 2);\n\tprint(total);", "x"),
            "Lines 2 to 3 differ from it only in white space; they are:\n    let",
        ),
        (one("total", "sum"), "2 times, in lines 2, 3;"),
        (one("main", "main"), "are the same"),
        (one("quite something else", "x"), "Read the file again"),
        ([one("main", "start"), one("main", "x")].concat(), "edit 2: `oldText` is not in the file"),
        ([one("main", "start"), one("start", "main")].concat(), "undo each other"),
    ];
    for (replacements, expected) in rows {
        let why = replace(text, &replacements).unwrap_err();
        assert!(why.contains(expected), "{why}");
        assert!(why.chars().count() < 1500);
    }
    assert!(replace("", &one("a", "b")).unwrap_err().contains("empty"));
}

/// Applies a diff to the lines of a text.
fn patched(text: &str, diff: &str) -> String {
    let old = lines_of(text);
    let (mut made, mut at) = (String::new(), 0);
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let numbers = head.split(' ').next().unwrap();
            let (start, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
            let start: usize = start.parse().unwrap();
            let start = if count == "0" { start } else { start - 1 };
            made.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let (sign, rest) = line.split_at(1);
        let ends = if lines.peek().is_some_and(|next| next.starts_with('\\')) {
            lines.next();
            ""
        } else {
            "\n"
        };
        match sign {
            " " => {
                assert_eq!(old[at], format!("{rest}{ends}"));
                made.push_str(old[at]);
                at += 1;
            }
            "-" => {
                assert_eq!(old[at], format!("{rest}{ends}"));
                at += 1;
            }
            "+" => made.push_str(&format!("{rest}{ends}")),
            other => panic!("{other}"),
        }
    }
    made.extend(old[at..].iter().copied());
    made
}

proptest! {
    /// The text is what `str::replace` makes, and the diff leads from one to the other.
    #[test]
    fn diffs_lead_from_the_old_text_to_the_new(
        text in "[ab\\n]{0,60}",
        edits in prop::collection::vec(("[ab\\n]{1,3}", "[abc\\n]{0,4}"), 1..5),
    ) {
        let edits: Vec<Replacement> =
            edits.into_iter().map(|(old, new)| Replacement { old, new, all: true }).collect();
        if let Ok(replaced) = replace(&text, &edits) {
            let plain = edits.iter().fold(text.clone(), |text, edit| text.replace(&edit.old, &edit.new));
            prop_assert_eq!(&replaced.text, &plain);
            prop_assert_eq!(patched(&text, &replaced.diff), plain, "{}", replaced.diff);
        }
    }
}
