//! Which templates the learned path makes needless: `cargo test -p reflex --lib which_templates -- --ignored --nocapture`, read
//! by `learn/prune.py`.

use super::{
    expand::Expander,
    learn,
    samples::{Dice, Values},
    train::phrasings,
};
use crate::{
    Reflex,
    tests::{self, PHRASES, clock, exam::risk},
};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// Sentences of a template that have to be understood.
const TRIED: usize = 6;

/// Tools whose templates stay: pins, arithmetic, units, whatever destroys, and what is remembered word by word.
fn stays(tool: &str) -> bool {
    const STAY: &[&str] = &["/", "gpio", "calculate", "convert", "delete", "forget", "clear", "remember", "recall"];
    STAY.iter().any(|begin| tool.starts_with(begin))
}

fn reflex() -> Reflex {
    let embedder = embed::Embedder::new(Duration::from_secs(60));
    Reflex::new(&PHRASES, risk, embedder, clock()).unwrap()
}

/// A tool, its arguments, how many more calls there are, and why.
type Called = (Option<String>, Value, usize, String);

async fn called(reflex: &Reflex, text: &str) -> Called {
    let placed = reflex.place(text).await;
    (placed.tool, placed.arguments, placed.more.len(), placed.why)
}

/// The same call, but for articles and capitals.
fn same(one: &Called, other: &Called) -> bool {
    one.0.is_some() && one.0 == other.0 && one.2 == other.2 && alike(&one.1, &other.1)
}

fn alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, value)| other.get(key).is_some_and(|o| alike(value, o)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Value::String(one), Value::String(other)) => plain(one) == plain(other),
        _ => one == other,
    }
}

fn plain(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text.split(' ').skip_while(|w| ["the", "a", "an", "some", "my", "our", "to", "more"].contains(w));
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
#[ignore = "prints which templates may go"]
async fn which_templates_may_go() {
    let all = phrasings();
    let (values, kinds) = (Values::new(&all), learn::kinds(&all));
    let expander = Expander { values: &values, kinds: &kinds };
    let (full, mut bare) = (reflex(), reflex());
    let shown: BTreeSet<String> = full.0.intents.iter().flat_map(|i| i.shown.clone()).collect();
    // What a shown sentence is placed by stays, so that help tells the truth.
    let mut needed = BTreeSet::new();
    for sentence in &shown {
        needed.insert(full.place(sentence).await.why);
    }
    let mut words = tests::reflex();
    for reflex in [&mut bare, &mut words] {
        let inner = Arc::get_mut(&mut reflex.0).unwrap();
        for intent in inner.intents.iter_mut().filter(|intent| !stays(&intent.tool)) {
            intent.templates.iter_mut().for_each(|template| template.example_only = true);
        }
    }
    // So does what a sentence of the golden file needs, with and without the embedding.
    for row in tests::rows() {
        let exact = called(&full, row.text).await;
        if exact.0.is_some()
            && !(same(&exact, &called(&bare, row.text).await) && same(&exact, &called(&words, row.text).await))
        {
            needed.insert(exact.3);
        }
    }
    let mut dice = Dice(9);
    for intent in full.0.intents.iter().filter(|intent| !stays(&intent.tool)) {
        for (template, phrasing) in intent.templates.iter().zip(learn::of_intent(intent)) {
            let is_needed = needed.iter().any(|why| why.starts_with(&format!("template {}: ", template.place)));
            if template.text.contains("=(") || is_needed {
                continue;
            }
            if template.example_only {
                println!("GO {}", template.place);
                continue;
            }
            let mut fine = true;
            for i in 0..TRIED {
                let text = expander.sentence(&phrasing, i > 1, &mut dice).text;
                let exact = called(&full, &text).await;
                if exact.0.is_some() && !same(&exact, &called(&bare, &text).await) {
                    fine = false;
                    break;
                }
            }
            println!("{} {}", if fine { "GO" } else { "STAY" }, template.place);
        }
    }
}
