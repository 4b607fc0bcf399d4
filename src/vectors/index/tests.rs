use super::*;
use crate::{records::vector_id, values::Values};
use proptest::prelude::*;
use serde_json::json;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.float()).collect()
    }
}

fn record(collection: Id, n: usize, values: Values) -> VectorRecord {
    let metadata = json!({"n": n, "third": n % 3 == 0}).to_string();
    VectorRecord { collection, key: n.to_string(), text: String::new(), metadata, values, generation: 0 }
}

/// The best of a plain comparison with every vector.
fn plain(index: &Index, query: &Query, all: &[(Id, Vec<f32>)], most: usize) -> Vec<(Id, f32)> {
    let mut ranked: Vec<(Id, f32)> = all.iter().map(|(id, vector)| (*id, index.rank(query, vector))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked.truncate(most);
    ranked
}

/// What a search finds, compared exactly.
fn found(
    index: &mut Index,
    query: &Query,
    filter: Option<&Filter>,
    all: &[(Id, Vec<f32>)],
    most: usize,
    exact: bool,
) -> Vec<(Id, f32)> {
    let candidates = index.search(query, filter, most, exact);
    let vectors: Vec<(Id, Vec<f32>)> =
        all.iter().filter(|(id, _)| candidates.iter().any(|candidate| candidate.id == *id)).cloned().collect();
    for candidate in &candidates {
        let (_, vector) = vectors.iter().find(|(id, _)| *id == candidate.id).expect("a candidate is a vector");
        let rank = index.rank(query, vector);
        assert!(candidate.least <= rank && rank <= candidate.most, "{candidate:?} {rank}");
    }
    plain(index, query, &vectors, most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// A small collection is searched exactly, whatever the metric, after replacements and removals, with a filter.
    #[test]
    fn a_search_finds_what_a_plain_comparison_finds(
        seed in 1_u64..u64::MAX, dimensions in 1_usize..150, rows in 0_usize..200, most in 1_usize..20,
        metric in prop::sample::select(vec![Metric::Cosine, Metric::Dot, Metric::L2]), size in -3..4,
        compact: bool, filtered: bool,
    ) {
        let (mut dice, collection, size) = (Dice(seed), Id::new(), 10_f32.powi(size));
        let mut index = Index::new(collection, metric, dimensions);
        let mut all = vec![];
        for n in 0..rows {
            let id = vector_id(collection, &n.to_string());
            for _ in 0..1 + dice.next() % 2 {
                let vector: Vec<f32> = dice.vector(dimensions).into_iter().map(|x| x * size).collect();
                let values = if compact { Values::compact(&vector) } else { Values::exact(&vector) };
                index.put(id, &record(collection, n, values.clone()));
                all.retain(|(other, _)| *other != id);
                all.push((id, values.floats()));
            }
            if dice.next() % 5 == 0 {
                index.remove(id);
                all.pop();
            }
        }
        prop_assert_eq!(index.len(), all.len());
        let filter = Filter::read(json!({"third": true}).as_object().unwrap()).unwrap();
        let kept: Vec<Id> = (0..rows).step_by(3).map(|n| vector_id(collection, &n.to_string())).collect();
        if filtered {
            all.retain(|(id, _)| kept.contains(id));
        }
        let query = Query::new(dice.vector(dimensions));
        let wanted = plain(&index, &query, &all, most);
        let got = found(&mut index, &query, filtered.then_some(&filter), &all, most, false);
        prop_assert_eq!(got, wanted);
    }
}

/// Vectors like those of texts: around topics, and far from the origin's centre.
fn clustered(dice: &mut Dice, topics: &[Vec<f32>]) -> Vec<f32> {
    let topic = &topics[dice.next() as usize % topics.len()];
    topic.iter().map(|x| x + dice.float() * 0.7 + 0.3).collect()
}

#[test]
fn the_first_pass_loses_few() {
    let (dimensions, rows) = (128, SMALL + 4000);
    let (mut dice, collection) = (Dice(77), Id::new());
    let topics: Vec<Vec<f32>> = (0..40).map(|_| dice.vector(dimensions)).collect();
    let mut index = Index::new(collection, Metric::Cosine, dimensions);
    let mut all = vec![];
    for n in 0..rows {
        let (id, vector) = (vector_id(collection, &n.to_string()), clustered(&mut dice, &topics));
        index.put(id, &record(collection, n, Values::exact(&vector)));
        all.push((id, vector));
    }
    let (mut hits, mut rounds) = (0, 0);
    for _ in 0..20 {
        let query = Query::new(clustered(&mut dice, &topics));
        let wanted = plain(&index, &query, &all, 10);
        assert_eq!(found(&mut index, &query, None, &all, 10, true), wanted, "an exact search");
        let got = found(&mut index, &query, None, &all, 10, false);
        hits += wanted.iter().filter(|wanted| got.contains(wanted)).count();
        rounds += 10;
    }
    let recall = hits as f64 / f64::from(rounds);
    assert!(recall >= 0.97, "recall {recall}");
    // A vector that came after the signatures is found, too.
    let (id, vector) = (vector_id(collection, "new"), clustered(&mut dice, &topics));
    index.put(id, &record(collection, rows, Values::exact(&vector)));
    let best = index.search(&Query::new(vector), None, 1, false);
    assert!(best.iter().any(|candidate| candidate.id == id));
    assert!(index.bytes() > rows * dimensions && index.bytes() < rows * (dimensions * 2 + 200));
}
