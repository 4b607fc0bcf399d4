//! The development data: fits the weights again, and measures what is found and what is answered by mistake.

use super::{
    features::{COUNT, Features, NAMES},
    *,
};
use crate::{Memories, New};
use embed::Embedder;
use std::{sync::Arc, time::Duration};
use store::Store;
use tool::{Channel, Cx, Ports, Principal, SystemClock, Via};

/// Households of the fit, and one that is left out of it.
const FITTED: &[&str] = &[
    include_str!("development/family.txt"),
    include_str!("development/workshop.txt"),
    include_str!("development/german.txt"),
];
/// Questions that nothing in a household answers.
const WORLD: &str = include_str!("development/world.txt");
const LEFT_OUT: &str = include_str!("development/couple.txt");

/// A question, the memory that answers it, and the candidates that were found.
struct Case {
    question: String,
    answer: Option<String>,
    facts: Vec<Fact>,
    commonness: Commonness,
}

fn cx() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
}

async fn household(text: &str) -> Memories {
    let memories = Memories::new(&Store::in_memory().unwrap(), Embedder::new(Duration::from_secs(600)));
    let new = |content: &str| New { content: content.into(), importance: 0.5, ..New::default() };
    let all: Vec<New> = text.lines().filter_map(|line| line.strip_prefix("+ ")).map(new).collect();
    memories.remember_all(&cx(), all).await.unwrap();
    memories
}

async fn case(memories: &Memories, question: &str, answer: Option<&str>) -> Case {
    let asked = Question::new(question);
    let found = memories.candidates(&cx(), question, &asked).await.unwrap();
    let facts = found.found.into_iter().map(|c| Fact { text: c.memory.content, similarity: c.similarity }).collect();
    Case { question: question.into(), answer: answer.map(str::to_owned), facts, commonness: found.commonness }
}

/// The cases of a file, and of the world's questions to this household.
async fn cases(text: &str) -> Vec<Case> {
    let memories = household(text).await;
    let text = &format!("{text}\n{WORLD}");
    let (mut all, mut told) = (vec![], None);
    for line in text.lines() {
        match line.split_at_checked(2) {
            Some(("+ ", memory)) => told = Some(memory),
            Some(("? ", question)) => all.push(case(&memories, question, told).await),
            Some(("! ", question)) => all.push(case(&memories, question, None).await),
            _ => {}
        }
    }
    all
}

/// The features of the candidates that the weights decide about, and whether each is the answer.
fn examples(cases: &[Case]) -> Vec<(Features, bool)> {
    let mut all = vec![];
    for case in cases {
        let question = Question::new(&case.question);
        if secret::asks_for_secret(&question.words) {
            continue;
        }
        for (at, _, features) in question.features(&case.facts, &case.commonness) {
            all.push((features, case.answer.as_ref() == Some(&case.facts[at].text)));
        }
    }
    all
}

/// A logistic regression with a small ridge, by Newton's method.
fn fit(examples: &[(Features, bool)]) -> [f64; COUNT + 1] {
    const SIZE: usize = COUNT + 1;
    let mut weights = [0.0_f64; SIZE];
    for _ in 0..30 {
        let (mut gradient, mut curve) = ([0.0; SIZE], [[0.0; SIZE]; SIZE]);
        for (features, answers) in examples {
            let x: [f64; SIZE] = std::array::from_fn(|n| if n == 0 { 1.0 } else { f64::from(features[n - 1]) });
            let p = 1.0 / (1.0 + (-x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>()).exp());
            for i in 0..SIZE {
                gradient[i] += x[i] * (f64::from(u8::from(*answers)) - p);
                (0..SIZE).for_each(|j| curve[i][j] += p * (1.0 - p) * x[i] * x[j]);
            }
        }
        for i in 0..SIZE {
            let ridge = if i == 0 { 1e-6 } else { 0.5 };
            gradient[i] -= ridge * weights[i];
            curve[i][i] += ridge;
        }
        // Gauss–Jordan; the matrix is positive definite.
        for i in 0..SIZE {
            let pivot = curve[i][i];
            curve[i].iter_mut().for_each(|v| *v /= pivot);
            gradient[i] /= pivot;
            for j in (0..SIZE).filter(|j| *j != i) {
                let factor = curve[j][i];
                (0..SIZE).for_each(|k| curve[j][k] -= factor * curve[i][k]);
                gradient[j] -= factor * gradient[i];
            }
        }
        weights.iter_mut().zip(gradient).for_each(|(w, step)| *w += step);
    }
    weights
}

#[derive(Debug, Default)]
struct Measure {
    answerable: usize,
    found: usize,
    asked_back: usize,
    unanswerable: usize,
    wrong: usize,
    lines: Vec<String>,
}

fn measure(cases: &[Case]) -> Measure {
    let mut m = Measure::default();
    for case in cases {
        let decision = Question::new(&case.question).decide(&case.facts, &case.commonness);
        let told = match &decision {
            Decision::Answer { at, score, .. } => Some((case.facts[*at].text.clone(), *score)),
            _ => None,
        };
        *if case.answer.is_some() { &mut m.answerable } else { &mut m.unanswerable } += 1;
        match (&case.answer, &told) {
            (Some(answer), Some((text, _))) if answer == text => m.found += 1,
            (_, Some((text, score))) => {
                m.wrong += 1;
                m.lines.push(format!("WRONG {score:.2} {} → {text}", case.question));
            }
            (Some(answer), None) => {
                m.asked_back += usize::from(matches!(decision, Decision::Which(_)));
                let all = Question::new(&case.question).score_all(&case.facts, &case.commonness);
                let score = all.iter().find(|s| case.facts[s.0].text == *answer).map_or(-1.0, |s| s.2);
                m.lines.push(format!("missed {score:.2} {} ← {answer} {decision:?}", case.question));
            }
            (None, None) => {}
        }
    }
    m
}

#[tokio::test]
async fn the_weights_are_those_of_the_development_data() {
    let mut fitted = vec![];
    for text in FITTED {
        fitted.extend(cases(text).await);
    }
    let left_out = cases(LEFT_OUT).await;
    let weights = fit(&examples(&fitted));
    println!("{:.2}", weights[0]);
    println!("[{}]", weights[1..].iter().map(|w| format!("{w:.2}")).collect::<Vec<_>>().join(", "));
    let ours = std::iter::once(weights::BIAS).chain(weights::WEIGHTS);
    for ((name, fitted), ours) in ["constant"].iter().chain(&NAMES).zip(&weights).zip(ours) {
        println!("{fitted:6.2} {ours:6.2} {name}");
        // Processors compute slightly different vectors.
        assert!((fitted - f64::from(ours)).abs() < 0.1, "{name}: {fitted:.2}, not {ours}: run this with --nocapture");
    }
    for (name, cases, least, most) in [("fitted", &fitted, 0.92, 0.02), ("left out", &left_out, 0.95, 0.02)] {
        let begun = std::time::Instant::now();
        let m = measure(cases);
        println!("{name}: {:?} a question", begun.elapsed() / cases.len() as u32);
        println!("{name}: found {}/{}, wrong {}/{}", m.found, m.answerable, m.wrong, m.unanswerable);
        m.lines.iter().for_each(|line| println!("  {line}"));
        assert!(m.found as f32 >= least * m.answerable as f32, "{name}: {m:?}");
        assert!(m.wrong as f32 <= most * m.unanswerable as f32, "{name}: {m:?}");
    }
}

/// Of 40 unanswerable questions in four languages 34 were answered once. Prints both rates of both halves.
#[tokio::test]
#[ignore = "measures; its bounds are still to be set from a first run"]
async fn little_is_answered_that_nothing_answers_in_four_languages() {
    for (name, text) in [
        ("looked at", include_str!("development/languages.txt")),
        ("kept apart", include_str!("development/languages_held.txt")),
    ] {
        let memories = household(text).await;
        let (mut all, mut told) = (vec![], None);
        for line in text.lines() {
            match line.split_at_checked(2) {
                Some(("+ ", memory)) => told = Some(memory),
                Some(("? ", question)) => all.push(case(&memories, question, told).await),
                Some(("! ", question)) => all.push(case(&memories, question, None).await),
                _ => {}
            }
        }
        let m = measure(&all);
        println!("{name}: found {}/{}, wrong {}/{}", m.found, m.answerable, m.wrong, m.unanswerable);
        m.lines.iter().for_each(|line| println!("  {line}"));
    }
}

/// Reads questions that nothing answers from `HOB_QUESTIONS`, one a line, and counts wrong answers.
#[tokio::test]
#[ignore = "needs questions of others"]
async fn questions_of_others_are_not_answered() {
    let path = std::env::var("HOB_QUESTIONS").unwrap();
    for text in FITTED.iter().chain([&LEFT_OUT]) {
        let memories = household(text).await;
        let mut wrong = vec![];
        let all: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        for question in &all {
            let case = case(&memories, question, None).await;
            match Question::new(question).decide(&case.facts, &case.commonness) {
                Decision::Answer { text, score, .. } => wrong.push(format!("{score:.2} {question} → {text}")),
                Decision::Which(names) => wrong.push(format!("which {question} → {names:?}")),
                Decision::Nothing => {}
            }
        }
        println!("{} of {}", wrong.len(), all.len());
        wrong.sort();
        wrong.iter().for_each(|line| println!("  {line}"));
    }
}
