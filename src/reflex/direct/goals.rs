//! Goals in any words: how far one is, a step that is done, the steps of one.

use super::{Change, Reading, pattern};
use crate::sentence::Sentence;
use serde_json::json;

const OTHERS: &[&str] = &["remind", "timer", "list", "calendar", "football", "scored", "match", "table"];
const ARTICLES: &[&str] = &["the", "my", "our", "a", "that", "this", "goal", "of", "with", "on"];

/// The words between two tokens, without articles and "goal".
fn name(s: &Sentence, mut from: usize, mut to: usize) -> Option<String> {
    while from < to && ARTICLES.contains(&s.word(from)) {
        from += 1;
    }
    while to > from && ["goal", "goals", "one"].contains(&s.word(to - 1)) {
        to -= 1;
    }
    (from < to && to - from <= 6).then(|| s.slice(from, to).trim_end_matches(':').to_owned())
}

/// "how far off Lisbon are we", "how's she doing on the post box goal", "how's the licence coming along".
pub(super) fn asked(s: &Sentence) -> Option<Reading> {
    if s.mentions(OTHERS) || s.len() > 14 {
        return None;
    }
    let details = |title: String| Reading::Call("get_goal_details", json!({"goalId": title}));
    let find = |words: &[&str]| (0..s.len()).find(|at| words.contains(&s.word(*at)));
    if let Some(goal) = find(&["goal"])
        && pattern::any(s, &["how is|am|are|far|close|much _", "_ progress _", "where am|are i|we _"])
    {
        let on = (0..goal)
            .rev()
            .find(|at| ["on", "with", "the", "my", "our", "is", "to", "towards"].contains(&s.word(*at)))?;
        return name(s, on, goal).map(details);
    }
    if s.has(0, &["how", "far", "off"]) || s.has(0, &["how", "far", "along"]) {
        let end = (3..s.len()).find(|at| ["are", "am", "is"].contains(&s.word(*at)) && *at > 3).unwrap_or(s.len());
        let begin = 3 + usize::from(["is", "are"].contains(&s.word(3)));
        return name(s, begin, end.max(begin)).map(details);
    }
    let coming = (2..s.len()).find(|at| s.has(*at, &["coming", "along"]))?;
    (s.has(0, &["how", "is"]) || s.has(0, &["how", "are"])).then(|| name(s, 2, coming).map(details))?
}

/// "did the under stairs cupboard for the declutter goal", "add three steps to sub 3:45: base, build, taper".
pub(super) fn changes(s: &Sentence) -> Option<Change> {
    const DONE: &[&str] = &["did", "done", "finished", "completed"];
    if s.asks || s.mentions(OTHERS) {
        return None;
    }
    let begin = usize::from(["i", "we"].contains(&s.word(0))) + usize::from(s.word(1) == "have");
    if DONE.contains(&s.word(begin)) && s.word(s.len() - 1) == "goal" {
        let to = (begin + 1..s.len()).rev().find(|at| ["for", "on", "of"].contains(&s.word(*at)))?;
        let step = name(s, begin + 1, to)?;
        return Some(Change { tool: "complete_step", arguments: json!({"stepId": step}), sure: true });
    }
    // The steps follow the last colon before a word.
    let colon = s.text.rfind(": ")?;
    let first = (1..s.len()).find(|at| s.tokens[*at].start > colon)?;
    let breaks = s.has(0, &["break", "down"]) || s.has(0, &["split", "up"]) || s.has(0, &["break", "up"]);
    let adds = s.word(0) == "add" && (1..4).any(|at| s.word(at) == "steps");
    if !breaks && !adds {
        return None;
    }
    let goal = match adds {
        true => (1..first).find(|at| s.word(*at) == "to").map(|at| at + 1)?,
        false => 2,
    };
    let title = name(s, goal, first)?;
    let parts = s.text[s.tokens[first].start..].split([',', ';']).flat_map(|part| part.split(" and "));
    let steps: Vec<&str> =
        parts.map(|part| part.trim().trim_end_matches(['.', '!'])).filter(|part| !part.is_empty()).collect();
    let fits = (2..=20).contains(&steps.len()) && (breaks && s.mentions(&["goal"]) || adds);
    fits.then(|| Change { tool: "decompose_goal", arguments: json!({"goalId": title, "steps": steps}), sure: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_asked_about() {
        for (text, wanted) in [
            ("How far off Lisbon are we", Some("Lisbon")),
            ("how's she doing on the post box goal?", Some("post box")),
            ("hows the licence coming along", Some("licence")),
            ("how far is it to Leeds", None),
            ("how are you", None),
        ] {
            let title = asked(&Sentence::read(text)).map(|reading| match reading {
                Reading::Call(_, arguments) => arguments["goalId"].as_str().unwrap_or_default().to_owned(),
                Reading::Say(say) => say,
            });
            assert_eq!(title.as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn steps_are_done_and_added() {
        for (text, wanted) in [
            ("did the under stairs cupboard for the declutter goal", Some(json!({"stepId": "under stairs cupboard"}))),
            (
                "break down the post box goal: to the gate, to the Olivers' wall, to the box, round trip",
                Some(
                    json!({"goalId": "post box", "steps": ["to the gate", "to the Olivers' wall", "to the box", "round trip"]}),
                ),
            ),
            (
                "Add three steps to sub 3:45: base, build, taper",
                Some(json!({"goalId": "sub 3:45", "steps": ["base", "build", "taper"]})),
            ),
            ("did the shopping", None),
            ("add eggs to the list: six of them", None),
        ] {
            assert_eq!(changes(&Sentence::read(text)).map(|change| change.arguments), wanted, "{text}");
        }
    }
}
