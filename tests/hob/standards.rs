//! The checklist of SECURITY.md against ETSI EN 303 645, and the fuzz targets: what they name exists.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The provisions of EN 303 645 V2.1.1, by section: how many each has.
const PROVISIONS: &[(&str, u32)] = &[
    ("4", 1),
    ("5.1", 5),
    ("5.2", 3),
    ("5.3", 16),
    ("5.4", 4),
    ("5.5", 8),
    ("5.6", 9),
    ("5.7", 2),
    ("5.8", 3),
    ("5.9", 3),
    ("5.10", 1),
    ("5.11", 4),
    ("5.12", 3),
    ("5.13", 1),
    ("6", 5),
];
/// How a row begins that has no test: it does not apply, a document fulfils it, or it is not met.
const WITHOUT_TEST: [&str; 3] = ["Does not apply: ", "By document: ", "Not met: "];

/// The rows of the checklist: provision, and how it is met.
fn rows() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let (_, list) = text.split_once("## ETSI EN 303 645").unwrap();
    let list = list.split("\n## ").next().unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(3, " | ").collect();
        let number = *cells.first()?;
        number
            .starts_with(|c: char| c.is_ascii_digit())
            .then(|| (number.to_owned(), (*cells.last().unwrap()).to_owned()))
    };
    list.lines().filter_map(row).collect()
}

/// The tests that a cell names in backquotes: `module::test` of this suite, `path/of/a/file::test` else.
fn named(cell: &str) -> Vec<(PathBuf, String)> {
    let quoted = cell.split('`').skip(1).step_by(2).filter(|text| text.contains("::"));
    let place = |text: &str| {
        let (place, test) = text.rsplit_once("::").unwrap();
        let path = if place.contains('/') { place.into() } else { format!("tests/hob/{place}.rs") };
        (PathBuf::from(path), test.to_owned())
    };
    quoted.map(place).collect()
}

fn defines(path: &Path, test: &str) -> bool {
    let text = fs::read_to_string(root().join(path)).unwrap_or_default();
    let rust = [format!("fn {test}("), format!("def {test}("), format!("test('{test}'")];
    rust.iter().any(|form| text.contains(form))
}

#[test]
fn each_provision_of_the_checklist_has_a_test_that_exists_or_a_reason() {
    let rows = rows();
    let expected: BTreeSet<String> =
        PROVISIONS.iter().flat_map(|(section, count)| (1..=*count).map(move |n| format!("{section}-{n}"))).collect();
    let found: BTreeSet<String> = rows.iter().map(|(number, _)| number.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(rows.len(), expected.len(), "one row for each");
    for (number, cell) in rows {
        let tests = named(&cell);
        let reason = WITHOUT_TEST.iter().find(|start| cell.starts_with(**start));
        match reason {
            None => assert!(!tests.is_empty(), "{number} has neither a test nor a reason: {cell}"),
            Some(start) => assert!(cell.len() > start.len() + 20, "{number} needs a reason: {cell}"),
        }
        for (path, test) in tests {
            assert!(defines(&path, &test), "{number} names {test}, which is not in {}", path.display());
        }
    }
}

#[test]
fn each_fuzz_target_is_there_and_its_inputs_are_tried_in_ordinary_tests() {
    let cargo = fs::read_to_string(root().join("tests/fuzz/Cargo.toml")).unwrap();
    let targets: BTreeSet<String> = fs::read_dir(root().join("tests/fuzz/fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let listed = cargo.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""));
    assert_eq!(targets, listed.map(str::to_owned).collect());
    let update = "src/update/tests/fuzz.rs";
    for (target, path, test) in [
        ("bundle_head", update, "any_head"),
        ("bundle_whole", update, "any_bytes_in_place_of_chunks"),
        ("manifest", update, "a_damaged_manifest_and_index"),
        ("channel", update, "any_channel"),
        ("settings_file", "src/cli/first_boot/settings_file.rs", "any_bytes_give_valid_values"),
    ] {
        assert!(targets.contains(target), "{target}");
        assert!(defines(Path::new(path), test), "{test}");
    }
    assert_eq!(targets.len(), 5, "a new target needs its ordinary test here");
}
