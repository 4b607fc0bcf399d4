//! Compare two texts: similarity and unified diff. Only this file uses similar.

use crate::{
    bounds::{Deadline, run_blocking, within},
    words::words,
};
use similar::{
    DiffOp, DiffTag,
    algorithms::{Capture, Compact, Replace, myers},
    group_diff_ops,
    udiff::UnifiedHunkHeader,
};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use text_kit::counted;
use tool::prelude::*;

/// The maximum length of a text, in bytes.
const LONGEST: usize = 256 * 1024;
/// The maximum total length for a comparison by character; longer texts are compared by word.
const BY_CHARACTER: usize = 8000;
/// The time limit for the shortest diff; afterwards a good one is used.
const TIME: Duration = Duration::from_millis(1500);
/// Equal lines shown around a difference.
const CONTEXT: usize = 3;
/// The maximum length of a diff, in bytes.
const LONGEST_DIFF: usize = 64 * 1024;

words! {
    /// Results to return.
    Mode { Similarity = "similarity", Diff = "diff", Both = "both" }
}

/// Compare two texts: similarity from 0 to 1, and a unified diff of their lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// First or old text.
    text1: String,
    /// Second or new text.
    text2: String,
    /// Results to return (default: both).
    mode: Option<Mode>,
}

pub(crate) async fn compare(_: (), _: Cx, args: Compare) -> Result<Output> {
    within("text1", args.text1.len(), LONGEST, "bytes")?;
    within("text2", args.text2.len(), LONGEST, "bytes")?;
    let mode = args.mode.unwrap_or(Mode::Both);
    run_blocking(move |until| {
        let (old, new) = (args.text1.as_str(), args.text2.as_str());
        let mut answer = json!({"identical": old == new});
        let mut sentence = if old == new { "They are the same" } else { "They differ" }.to_owned();
        if mode != Mode::Diff {
            let similarity = similarity(old, new, until);
            answer["similarity"] = crate::statistics::number(similarity);
            if old != new {
                sentence = format!("They are {}% alike", crate::maths::spoken(similarity * 100.0));
            }
        }
        if mode != Mode::Similarity {
            let (added, removed) = diff(old, new, &mut answer);
            if old != new {
                sentence += &format!(": {} added and {} removed", counted(added, "line"), counted(removed, "line"));
            }
        }
        sentence.push('.');
        Ok(Output::json(answer)?.say(sentence))
    })
    .await
}

/// Similarity from 0 to 1, and 1 only for equal texts: twice the common subsequence divided by the total length.
fn similarity(a: &str, b: &str, until: &Deadline) -> f64 {
    if a == b {
        return 1.0;
    }
    // The subsequence found may depend on the order, so the order is fixed.
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    let all = a.chars().count() + b.chars().count();
    let deadline = until.at().min(Instant::now() + TIME);
    let same: usize = if all <= BY_CHARACTER {
        let ids = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
        equal_ranges(&operations(&ids(a), &ids(b), deadline)).map(|range| range.len()).sum()
    } else {
        let (a, b): (Vec<&str>, Vec<&str>) = (pieces(a).collect(), pieces(b).collect());
        let (ids_a, ids_b) = ids(&a, &b);
        let operations = operations(&ids_a, &ids_b, deadline);
        equal_ranges(&operations).flat_map(|range| &a[range]).map(|piece| piece.chars().count()).sum()
    };
    // Long texts that differ in a comma are not equal.
    (((2 * same) as f64 / all as f64 * 1e4).round() / 1e4).min(0.9999)
}

/// The ranges of the first sequence that the second has too, in the same order.
fn equal_ranges(operations: &[DiffOp]) -> impl Iterator<Item = std::ops::Range<usize>> {
    operations.iter().filter(|op| op.tag() == DiffTag::Equal).map(DiffOp::old_range)
}

/// A number for each piece; equal pieces have the same one.
fn ids<'a>(old: &[&'a str], new: &[&'a str]) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<&'a str, u32> = HashMap::new();
    let mut all = |pieces: &[&'a str]| -> Vec<u32> {
        let mut id = |piece| {
            let next = known.len() as u32;
            *known.entry(piece).or_insert(next)
        };
        pieces.iter().map(|piece| id(piece)).collect()
    };
    (all(old), all(new))
}

/// The edit operations from one sequence to the other. Over numbers only, because similar is compiled for each item
/// type.
fn operations(old: &[u32], new: &[u32], deadline: Instant) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff_deadline(&mut hook, old, 0..old.len(), new, 0..new.len(), Some(deadline));
    hook.into_inner().into_inner().into_ops()
}

/// Words, and the text between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|c: char| !c.is_alphanumeric())
}

/// Add the differing lines to the answer; returns the numbers of added and removed lines.
fn diff(old: &str, new: &str, answer: &mut Value) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let (old_ids, new_ids) = ids(&old, &new);
    let operations = operations(&old_ids, &new_ids, Instant::now() + TIME);
    let (mut added, mut removed, mut changes) = (0, 0, 0);
    for op in operations.iter().filter(|op| op.tag() != DiffTag::Equal) {
        changes += 1;
        added += op.new_range().len();
        removed += op.old_range().len();
    }
    let mut text = unified(&old, &new, operations);
    let cut = text.len() > LONGEST_DIFF;
    text.truncate(text.floor_char_boundary(LONGEST_DIFF));
    answer["diff"] = text.into();
    answer["diffCut"] = cut.into();
    answer["linesAdded"] = added.into();
    answer["linesRemoved"] = removed.into();
    answer["changes"] = changes.into();
    (added, removed)
}

/// Lines with what ends them: `\n`, `\r\n` or `\r`.
fn lines(text: &str) -> Vec<&str> {
    let ends = |(at, c): &(usize, char)| *c == '\n' || *c == '\r' && !text[at + 1..].starts_with('\n');
    let mut start = 0;
    let mut lines: Vec<&str> =
        text.char_indices().filter(ends).map(|(at, _)| &text[std::mem::replace(&mut start, at + 1)..=at]).collect();
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// A unified diff, empty where nothing differs.
fn unified(old: &[&str], new: &[&str], operations: Vec<DiffOp>) -> String {
    let mut text = String::new();
    let add = |text: &mut String, sign: char, lines: &[&str]| {
        for line in lines {
            text.push(sign);
            text.push_str(line);
            if !line.ends_with(['\n', '\r']) {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    for hunk in group_diff_ops(operations, CONTEXT) {
        text += if text.is_empty() { "--- text1\n+++ text2\n" } else { "" };
        text += &format!("{}\n", UnifiedHunkHeader::new(&hunk));
        for op in &hunk {
            match op.tag() {
                DiffTag::Equal => add(&mut text, ' ', &old[op.old_range()]),
                _ => {
                    add(&mut text, '-', &old[op.old_range()]);
                    add(&mut text, '+', &new[op.new_range()]);
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;

    async fn ask(args: Value) -> Result<Output> {
        call(crate::text(), &cx(), "compare_text", args).await
    }

    #[tokio::test]
    async fn differences_are_told_by_the_line() {
        let (old, new) = ("milk\neggs\nbread\n", "milk\nbutter\nbread\njam\n");
        let answer = ask(json!({"text1": old, "text2": new})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "identical": false, "similarity": 0.6842, "linesAdded": 2, "linesRemoved": 1, "changes": 2, "diffCut": false,
                "diff": "--- text1\n+++ text2\n@@ -1,3 +1,4 @@\n milk\n-eggs\n+butter\n bread\n+jam\n"
            })
        );
        assert_eq!(answer.say.unwrap(), "They are 68.42% alike: 2 lines added and 1 line removed.");
        let same = ask(json!({"text1": old, "text2": old})).await.unwrap();
        assert_eq!(
            same.content,
            json!({
                "identical": true, "similarity": 1, "linesAdded": 0, "linesRemoved": 0, "changes": 0, "diffCut": false,
                "diff": ""
            })
        );
        assert_eq!(same.say.unwrap(), "They are the same.");
        let alike = ask(json!({"text1": "kitten", "text2": "sitting", "mode": "similarity"})).await.unwrap();
        assert_eq!(alike.content, json!({"identical": false, "similarity": 0.6154}));
        let diff = ask(json!({"text1": "a", "text2": "b", "mode": "diff"})).await.unwrap();
        assert_eq!(diff.say.unwrap(), "They differ: 1 line added and 1 line removed.");
    }

    #[tokio::test]
    async fn long_texts_are_compared_in_time() {
        let noise = |seed: u64| -> String {
            let mut n = seed;
            let mut next = || {
                n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                char::from(b"abcdefgh \n"[(n >> 33) as usize % 10])
            };
            (0..LONGEST).map(|_| next()).collect()
        };
        let begun = Instant::now();
        let answer = ask(json!({"text1": noise(1), "text2": noise(2)})).await.unwrap().content;
        let similarity = answer["similarity"].as_f64().unwrap();
        assert!((0.0..1.0).contains(&similarity) && answer["diffCut"] == true, "{similarity}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        let near = noise(1).replacen('a', "b", 1);
        assert_eq!(ask(json!({"text1": noise(1), "text2": near})).await.unwrap().content["similarity"], 0.9999);
        let long = ask(json!({"text1": "", "text2": noise(1) + "x"})).await;
        assert!(matches!(long, Err(Error::BadArgs(_))));
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn likeness_goes_both_ways_and_is_whole_only_for_equals(a in "[abc \n]{0,60}|\\PC{0,20}", b in "[abc \n]{0,60}|\\PC{0,20}") {
            let of = |x: &str, y: &str| {
                let args = json!({"text1": x, "text2": y});
                wait(ask(args)).unwrap().content
            };
            let (there, back) = (of(&a, &b), of(&b, &a));
            prop_assert_eq!(&there["similarity"], &back["similarity"]);
            let similarity = there["similarity"].as_f64().unwrap();
            prop_assert!((0.0..=1.0).contains(&similarity));
            prop_assert_eq!(similarity == 1.0, a == b);
            prop_assert_eq!(of(&a, &a)["similarity"].as_f64(), Some(1.0));
            prop_assert_eq!(there["diff"] == "", a == b);
        }
    }
}
