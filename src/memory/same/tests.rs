use super::*;

/// The pairs of a file: the relation, the older and the newer memory.
fn pairs(text: &'static str) -> Vec<(Relation, &'static str, &'static str)> {
    let mut all = vec![];
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let [kind, old, new] = parts.as_slice() else { panic!("{line}") };
        let relation = match *kind {
            "same" => Relation::Same,
            "update" => Relation::Update,
            "different" => Relation::Different,
            other => panic!("{other}"),
        };
        all.push((relation, *old, *new));
    }
    all
}

const DEVELOPMENT: &str = include_str!("pairs/development.txt");
const HELD_OUT: &str = include_str!("pairs/heldout.txt");

/// True and false merges, the pairs to be merged, and those with the right relation.
#[derive(Debug, Default, PartialEq)]
struct Score {
    merged: usize,
    wrong: usize,
    expected: usize,
    exact: usize,
}

fn score(text: &'static str, show: bool) -> Score {
    let mut score = Score::default();
    for (expected, old, new) in pairs(text) {
        let found = relation(old, new);
        let (merges, is_merged) = (expected != Relation::Different, found != Relation::Different);
        score.expected += usize::from(merges);
        score.merged += usize::from(merges && is_merged);
        score.wrong += usize::from(!merges && is_merged);
        score.exact += usize::from(found == expected);
        if show && found != expected {
            println!(
                "{expected:?} but {found:?}: {old} | {new}\n   {:?}\n   {:?}",
                Statement::read(old),
                Statement::read(new)
            );
        }
    }
    println!("{score:?}");
    score
}

#[test]
fn development_pairs() {
    let found = score(DEVELOPMENT, true);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.merged * 100 >= found.expected * 85, "{found:?}");
}

/// Prints counts alone, so that nobody fits the rules to these pairs.
#[test]
fn held_out_pairs() {
    let found = score(HELD_OUT, false);
    assert_eq!(found.wrong, 0, "{found:?}");
    assert!(found.merged * 100 >= found.expected * 70, "{found:?}");
}
