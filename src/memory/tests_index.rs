//! The index against the plain search: the same hits after any sequence of changes, also through its file.

use crate::{
    file,
    index::{Columns, Facts, Index},
    plain::Plain,
    postings::Builder,
    records::Model,
    vectors::Vectors,
};
use embed::{DIM, Quantized};
use proptest::{
    collection::vec,
    prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest},
    test_runner::{Config, TestCaseError},
};
use std::{collections::BTreeSet, path::PathBuf};
use tool::{Id, UserId};

const NOBODY: &dyn Fn(UserId, Id) -> Option<Quantized> = &|_, _| None;
const DEVICE: Id = Id::from_bytes([3; 16]);

fn maker(generation: Id) -> file::Maker<'static> {
    static MODEL: std::sync::LazyLock<Model> = std::sync::LazyLock::new(Model::built_in);
    file::Maker { generation, device: DEVICE, model: &MODEL }
}

fn user(n: u8) -> UserId {
    if n == 0 { UserId::OWNER } else { UserId(Id::from_bytes([n; 16])) }
}

/// Ids that are in order of `n`, and no row's position.
fn id(n: u16) -> Id {
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&n.to_be_bytes());
    Id::from_bytes(bytes)
}

/// One of a few hundred vectors, in few directions: many are equally near, and some are the same.
fn vector(n: u16) -> Quantized {
    let mut state = u64::from(n % 300).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let raw: Vec<f32> = (0..DIM).map(|i| next() * if i % 5 < 2 { 1.0 } else { 0.1 } + f32::from(n % 4) * 0.2).collect();
    let length = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
    Quantized::quantize(&raw.iter().map(|x| x / length).collect::<Vec<_>>()).unwrap()
}

/// A text of a few words: one that all have, common ones, rare ones.
fn text(n: u16) -> String {
    let mut words = vec!["household".to_owned()];
    words.extend((0..n % 7).map(|i| format!("common{}", (n / 3 + i) % 5)));
    words.extend([format!("rare{}", n % 97), format!("w{n}")]);
    words.extend(std::iter::repeat_n("again".to_owned(), usize::from(n % 4)));
    words.join(" ")
}

#[derive(Debug, Clone)]
enum Step {
    /// Memory, text, vector, owner.
    Put(u16, u16, Option<u16>, u8),
    Touch(u16, bool, bool, u8),
    Remove(u16),
    /// Through the file.
    Reload,
    /// Built again.
    Rebuild,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let put = (0..900_u16, any::<u16>(), any::<Option<u16>>(), 0..3_u8);
    let step = prop_oneof![
        40 => put.prop_map(|(n, text, vector, owner)| Step::Put(n, text, vector, owner)),
        6 => (0..900_u16, any::<bool>(), any::<bool>(), any::<u8>()).prop_map(|(n, a, b, c)| Step::Touch(n, a, b, c)),
        6 => (0..900_u16).prop_map(Step::Remove),
        1 => proptest::strategy::Just(Step::Reload),
        1 => proptest::strategy::Just(Step::Rebuild),
    ];
    vec(step, 1..900)
}

fn facts(n: u16, text: u16, owner: u8) -> Facts {
    Facts {
        id: id(n),
        owner: user(((u16::from(owner) + n) % 3 * u16::from(n.is_multiple_of(2))) as u8),
        shared: text.is_multiple_of(3),
        outside: text.is_multiple_of(50),
        importance: f32::from(text % 11) / 10.0,
        kind: (text % 4) as u8,
    }
}

fn build(plain: &Plain) -> Index {
    let (mut rows, mut words, mut vectors) = (Columns::default(), Builder::default(), Vectors::default());
    for (row, (facts, text, vector)) in plain.0.values().enumerate() {
        let length = words.add(text);
        rows.push(facts, length);
        if let Some(vector) = vector {
            rows.sketches[row] = vector.signature().0;
            rows.with_vector.set(row, true);
            vectors.put(row, vector.clone());
        }
    }
    let order: Vec<u32> = (0..plain.0.len() as u32).collect();
    Index::new(rows, words.finish(&order), vectors)
}

/// A file that is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("hob-index-{}.index", Id::new())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn apply(steps: &[Step], plain: &mut Plain, index: &mut Index) {
    for step in steps {
        match step {
            Step::Put(n, about, of, owner) => {
                let (facts, of) = (facts(*n, *about, *owner), of.map(vector));
                let before = plain.0.insert(facts.id, (facts, text(*about), of.clone()));
                assert_eq!(index.put(&facts, &text(*about), of.as_ref()), before.is_some());
            }
            Step::Touch(n, shared, outside, importance) => match plain.0.get_mut(&id(*n)) {
                Some((facts, ..)) => {
                    *facts = Facts {
                        shared: *shared,
                        outside: *outside,
                        importance: f32::from(*importance) / 255.0,
                        kind: importance % 4,
                        ..*facts
                    };
                    assert!(index.touch(facts));
                }
                None => assert!(!index.touch(&facts(*n, 1, 0))),
            },
            Step::Remove(n) => assert_eq!(index.remove(id(*n)), plain.0.remove(&id(*n)).is_some()),
            Step::Reload => {
                let (scratch, generation) = (Scratch::new(), Id::new());
                file::write(&scratch.0, maker(generation), index, NOBODY).unwrap().put_in_place().unwrap();
                assert!(file::load(&scratch.0, maker(Id::new())).is_none(), "another generation");
                let elsewhere = file::Maker { device: Id::NIL, ..maker(generation) };
                assert!(file::load(&scratch.0, elsewhere).is_none(), "another device");
                let other = Model { name: "other".into(), ..Model::built_in() };
                let by_other = file::Maker { model: &other, ..maker(generation) };
                assert!(file::load(&scratch.0, by_other).is_none(), "another model");
                *index = file::load(&scratch.0, maker(generation)).unwrap();
            }
            Step::Rebuild => *index = build(plain),
        }
    }
}

/// The index finds, counts and lists what the plain search does.
fn same(plain: &Plain, index: &mut Index, queries: &[(u16, Option<u16>)]) -> Result<(), TestCaseError> {
    prop_assert_eq!(index.len(), plain.0.len());
    let without: BTreeSet<Id> = index.without_vector().into_iter().map(|(_, id)| id).collect();
    let plainly: BTreeSet<Id> = plain.0.values().filter(|row| row.2.is_none()).map(|row| row.0.id).collect();
    prop_assert_eq!(without, plainly);
    for n in 0..4 {
        let counts = index.counts(user(n));
        let (kinds, with_vector, outside) = plain.counts(user(n));
        prop_assert_eq!((counts.kinds, counts.with_vector, counts.outside), (kinds, with_vector, outside));
        prop_assert_eq!(index.with_meaning(user(n)), with_vector);
        for (about, of) in queries {
            let query = match about % 5 {
                0 => "household".to_owned(),
                1 => format!("w{about} what is this"),
                2 => "nothing known".to_owned(),
                _ => text(*about),
            };
            let meaning = of.map(vector);
            let found = index.search(user(n), &query, meaning.as_ref(), NOBODY);
            prop_assert_eq!(found, plain.search(user(n), &query, meaning.as_ref()), "{} {:?}", query, of);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(24) })]

    #[test]
    fn it_finds_what_the_plain_search_finds(
        before in prop::bool::ANY,
        steps in steps(),
        queries in vec((any::<u16>(), any::<Option<u16>>()), 3..6),
    ) {
        let mut plain = Plain::default();
        if before {
            // More than are candidates, for one person.
            for n in 0..700 {
                plain.0.insert(id(n), (facts(n, n, 0), text(n), (n % 9 > 0).then(|| vector(n * 31))));
            }
        }
        let mut index = build(&plain);
        apply(&steps, &mut plain, &mut index);
        same(&plain, &mut index, &queries)?;
        apply(&[Step::Reload], &mut plain, &mut index);
        same(&plain, &mut index, &queries)?;
    }
}

#[test]
fn a_damaged_file_is_not_used_and_a_damaged_vector_is_fetched() {
    let mut plain = Plain::default();
    for n in 0..50 {
        plain.0.insert(id(n), (facts(n, n, 0), text(n), Some(vector(n))));
    }
    let (scratch, generation) = (Scratch::new(), Id::new());
    file::write(&scratch.0, maker(generation), &build(&plain), NOBODY).unwrap().put_in_place().unwrap();
    let bytes = std::fs::read(&scratch.0).unwrap();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&scratch.0).unwrap().permissions().mode() & 0o777, 0o600);
    let vectors = bytes.len() - 50 * crate::vectors::stride(DIM);
    for at in (0..vectors).step_by(41) {
        let mut bent = bytes.clone();
        bent[at] ^= 4;
        std::fs::write(&scratch.0, &bent).unwrap();
        assert!(file::load(&scratch.0, maker(generation)).is_none(), "byte {at}");
    }
    for length in (0..bytes.len()).step_by(997) {
        std::fs::write(&scratch.0, &bytes[..length]).unwrap();
        assert!(file::load(&scratch.0, maker(generation)).is_none(), "cut to {length}");
    }
    let mut bent = bytes;
    (vectors..bent.len()).step_by(7).for_each(|at| bent[at] ^= 1);
    std::fs::write(&scratch.0, &bent).unwrap();
    let mut index = file::load(&scratch.0, maker(generation)).unwrap();
    let meaning = vector(7);
    let fetch = |_, id: Id| plain.0.get(&id).and_then(|row| row.2.clone());
    let found = index.search(user(0), "nothing known", Some(&meaning), &fetch);
    assert!(!found.is_empty());
    assert_eq!(found, plain.search(user(0), "nothing known", Some(&meaning)));
}
