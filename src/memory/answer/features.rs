//! The features of a question and a fact.

use super::{
    Commonness, Question, attributes,
    expects::{Expects, provides},
    people,
    text::{Word, is_content, likeness, rarity},
};
use std::collections::HashMap;

/// How many features there are.
pub(crate) const COUNT: usize = 10;

/// Evidence for and against a fact as the answer, each about 0 to 1; `NAMES` says which.
pub(crate) type Features = [f32; COUNT];

#[cfg(test)]
pub(crate) const NAMES: [&str; COUNT] = [
    "share of the question's words, by rarity",
    "similarity",
    "rarest word in both",
    "the thing asked about is missing",
    "has or lacks the kind of answer",
    "asks in general",
    "share of the fact's words, by rarity",
    "about the household",
    "lead in similarity",
    "words and meaning agree",
];

/// The features of a fact.
pub(crate) fn of(
    question: &Question,
    fact: &[Word],
    (similarity, lead): (f32, f32),
    ranks: &HashMap<&str, usize>,
    commonness: &Commonness,
) -> Features {
    let weight = |word: &Word| {
        let known = commonness.with.get(&word.stem).copied().unwrap_or_default();
        rarity(word, ranks, known, commonness.memories)
    };
    let best = |word: &Word, among: &[Word]| {
        among.iter().map(|other| likeness(word, other, !question.english)).fold(0.0, f32::max)
    };
    let (mut total, mut shared, mut rarest_shared) = (0.0, 0.0, 0.0_f32);
    for word in &question.content {
        let (weight, like) = (weight(word), best(word, fact));
        total += weight;
        shared += weight * like;
        rarest_shared = rarest_shared.max(weight * like);
    }
    let missing_thing = missing_thing(question, fact, &weight);
    let (mut fact_total, mut fact_shared) = (0.0, 0.0);
    for word in fact.iter().filter(|w| is_content(w, &question.stop) && !w.number) {
        let weight = weight(word);
        fact_total += weight;
        fact_shared += weight * best(word, &question.content);
    }
    let share = |part: f32, whole: f32| if whole > 0.0 { part / whole } else { 0.0 };
    let cover = share(shared, total);
    let expected = question.expects != Expects::Anything;
    let provided = provides(question.expects, fact, &question.words, &question.stop);
    let ours = people::says_me(&question.words) || people::says_us(&question.words);
    let similarity = similarity.max(0.0);
    [
        cover,
        similarity,
        rarest_shared,
        missing_thing,
        match (expected, provided) {
            (false, _) => 0.0,
            (true, true) => 1.0,
            (true, false) => -1.0,
        },
        f32::from(u8::from(attributes::asks_in_general(&question.words))),
        share(fact_shared, fact_total),
        f32::from(u8::from(ours)),
        lead.clamp(-0.3, 0.3),
        cover * similarity,
    ]
}

/// The weight of the rarest word that the question has of a thing and the fact lacks: "where is the **car** key?", "who
/// serviced the **roof**?". A thing follows an article, a possessive or a preposition. A thing that the fact has only as
/// part of another ("the **office** door") counts, too.
fn missing_thing(question: &Question, fact: &[Word], weight: &impl Fn(&Word) -> f32) -> f32 {
    const LEADS: &[&str] = &[
        "the", "my", "our", "a", "an", "this", "his", "her", "their", "many", "much", "for", "in", "on", "at", "with",
        "of", "to", "from", "under", "behind", "der", "die", "das", "den", "dem", "mein", "meine", "unser", "unsere",
        "fürs", "für", "im", "ein", "eine", "einen", "vom", "beim", "am", "el", "la", "los", "las", "un", "una", "del",
        "mi", "nuestro", "nuestra", "le", "les", "l", "une", "du", "des", "mon", "ma", "notre", "de",
    ];
    let (mut inside, mut missing) = (false, 0.0_f32);
    for (at, word) in question.words.iter().enumerate() {
        if LEADS.contains(&word.text.as_str()) {
            inside = true;
            continue;
        }
        let in_thing = inside;
        inside = word.owns || inside && is_content(word, &question.stop);
        if !in_thing || !is_content(word, &question.stop) {
            continue;
        }
        let found = fact.iter().enumerate().map(|(n, other)| (likeness(word, other, !question.english), n));
        let (like, place) = found.fold((0.0, 0), |best, now| if now.0 > best.0 { now } else { best });
        missing = missing.max(weight(word) * (1.0 - like));
        let ends = !question.words.get(at + 1).is_some_and(|next| is_content(next, &question.stop));
        let part_of = fact.get(place + 1).filter(|next| {
            let verb = next.text.ends_with('s') || next.text.ends_with("ed") || fact.get(place).is_some_and(|w| w.owns);
            let known = question.words.iter().any(|w| likeness(w, next, !question.english) > 0.0);
            is_content(next, &question.stop) && !next.number && !next.capital && !verb && !known
        });
        if let Some(next) = part_of.filter(|_| like > 0.0 && ends && question.english) {
            missing = missing.max(1.5 * weight(next));
        }
    }
    missing
}
