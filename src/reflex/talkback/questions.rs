//! Answers to a question of Hob that names what may be meant: "Which timer: pizza or tea?" – "the second", "tea".

use super::{
    exchange::Exchange,
    outcome::{Outcome, WHICH},
};
use crate::sentence::Sentence;
use serde_json::{Map, Value};

/// The choices of a question: "pizza" and "tea" of "Which timer: pizza or tea?".
fn choices(question: &str) -> Vec<String> {
    let Some((_, named)) = question.trim().strip_suffix('?').and_then(|text| text.split_once(": ")) else {
        return vec![];
    };
    let mut all: Vec<String> = named.split(", ").map(str::to_owned).collect();
    if let Some((before, last)) = all.pop().as_deref().and_then(|last| last.rsplit_once(" or ")) {
        all.extend([before.to_owned(), last.to_owned()]);
    }
    all
}

/// The choice that an answer names: by its place, or by words that no other choice has.
pub(crate) fn chosen(answer: &str, choices: &[String]) -> Option<usize> {
    const NUMBERS: &[(&[&str], usize)] = &[
        (&["first", "1st", "1", "former"], 0),
        (&["second", "2nd", "2", "latter"], 1),
        (&["third", "3rd", "3"], 2),
        (&["fourth", "4th", "4"], 3),
        (&["fifth", "5th", "5"], 4),
    ];
    const SMALL: &[&str] = &[
        "the", "one", "please", "i", "meant", "mean", "that", "a", "an", "my", "number", "no", "on", "it", "is", "oh",
        "um", "sorry", "of", "course", "for", "in", "list", "timer",
    ];
    let s = Sentence::whole(answer);
    if s.len() == 0 || s.len() > 9 {
        return None;
    }
    let words: Vec<&str> =
        s.tokens.iter().map(|token| token.word.as_str()).filter(|word| !SMALL.contains(word)).collect();
    if words.is_empty() {
        return None;
    }
    let stem = |word: &str| word.trim_end_matches("'s").trim_end_matches('s').to_owned();
    let has = |choice: &String, word: &str| {
        Sentence::whole(choice).tokens.iter().any(|token| stem(&token.word) == stem(word))
    };
    let fitting: Vec<usize> = (0..choices.len()).filter(|i| words.iter().all(|word| has(&choices[*i], word))).collect();
    if let [one] = fitting[..] {
        return Some(one);
    }
    match words[..] {
        ["last"] => choices.len().checked_sub(1),
        [word] => {
            NUMBERS.iter().find(|(names, _)| names.contains(&word)).map(|(_, n)| *n).filter(|n| *n < choices.len())
        }
        _ => None,
    }
}

/// What an answer comes to; `before` is what the sentence that was asked about came to.
pub(crate) fn answered(
    text: &str,
    exchanges: &[Exchange],
    before: impl Fn(&str, &[Exchange]) -> Option<Outcome>,
) -> Option<Outcome> {
    let asked = exchanges.first()?;
    if asked.calls.is_empty() && asked.answered.starts_with(WHICH) {
        let outcome = before(&asked.said, exchanges.get(1..)?)?;
        let same = outcome.question().as_deref() == Some(asked.answered.trim());
        let Outcome::Which(readings) = outcome else { return None };
        let names: Vec<String> = readings.iter().map(|(name, _)| name.clone()).collect();
        let chosen = chosen(text, &names).filter(|_| same)?;
        return readings.into_iter().nth(chosen).map(|(_, outcome)| outcome);
    }
    // A tool asked which one is meant: the same call with the choice.
    let [call] = asked.calls.as_slice() else { return None };
    if !call.failed || !asked.answered.starts_with("Which ") {
        return None;
    }
    let choices = choices(asked.answered);
    let choice = choices.get(chosen(text, &choices)?)?;
    const REFERS: &[&str] =
        &["taskId", "eventId", "noteId", "contactId", "expenseId", "memoryId", "bookmarkId", "goalId", "timer", "list"];
    let given = REFERS.iter().copied().find(|name| call.arguments.contains_key(*name));
    let name = given.or_else(|| call.tool.ends_with("_timer").then_some("timer"))?;
    let mut again: Map<String, Value> = call.arguments.clone();
    // "milk on the shopping list" is milk, of that list.
    match choice.split_once(" on the ").and_then(|(item, list)| Some((item, list.strip_suffix(" list")?))) {
        Some((item, list)) if call.tool == "complete_task" => {
            again.insert(name.to_owned(), item.into());
            again.insert("category".to_owned(), list.into());
        }
        _ => {
            again.insert(name.to_owned(), choice.as_str().into());
        }
    }
    Some(Outcome::call(&call.tool, Value::Object(again)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_one_choice() {
        let all = choices("Which timer: 10 minutes, pizza or tea?");
        assert_eq!(all, ["10 minutes", "pizza", "tea"]);
        for (answer, wanted) in [
            ("pizza", Some(1)),
            ("the pizza one", Some(1)),
            ("the second one please", Some(1)),
            ("the last one", Some(2)),
            ("the 10 minute one", Some(0)),
            ("bread", None),
            ("the one", None),
        ] {
            assert_eq!(chosen(answer, &all), wanted, "{answer}");
        }
    }
}
