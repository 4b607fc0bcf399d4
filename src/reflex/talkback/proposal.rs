//! What is said to a question "Shall I …?" instead of a yes or a no: "no, at 6", "and eggs too", "yes, but on friday", "undo".

use super::{
    amend, chat, details, ellipsis,
    exchange::{Call, Exchange},
    outcome::{Outcome, Planned, RiskOf},
};
use crate::sentence::Sentence;
use jiff::Zoned;
use serde_json::Value;
use tool::Risk;

/// What comes of the call that was asked about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// It is not made.
    Leave,
    /// It is made.
    Agree,
    /// Made with other arguments.
    Instead(Planned),
    /// Made, and these as well.
    Also(Vec<Planned>),
    /// Made, and the rest of the words is a command of its own.
    Then(String),
}

const AGREES: &[&str] = &[
    "yes", "yeah", "yep", "yup", "aye", "ok", "okay", "sure", "please", "fine", "lovely", "great", "perfect", "course",
    "of", "go", "on", "then", "do", "good", "thanks", "dear", "love", "thank", "you", "alright", "right", "oh",
];
const LINKS: &[&str] = &["but", "and", "also", "only", "just", "plus", "although", "though", "except"];

/// How a sentence goes on after the question about `proposed`.
pub(crate) fn replied(
    text: &str,
    proposed: &Planned,
    exchanges: &[Exchange],
    now: &Zoned,
    risk: RiskOf,
    command: &dyn Fn(&str) -> bool,
) -> Option<Reply> {
    let (last, before) = exchanges.split_first()?;
    let arguments = proposed.1.as_object()?.clone();
    let call = Call { tool: proposed.0.clone(), arguments, content: Value::Null, failed: false };
    if chat::takes_back(text) {
        return Some(Reply::Leave);
    }
    let s = Sentence::whole(text);
    let first = ["yes", "yeah", "yep", "yup", "aye", "ok", "okay", "sure", "please", "go", "fine"].contains(&s.word(0));
    let agreed = if first { (0..s.len()).take_while(|at| AGREES.contains(&s.word(*at))).count() } else { 0 };
    let linked = (agreed..s.len()).take_while(|at| LINKS.contains(&s.word(*at))).count();
    let rest = s.slice(agreed + linked, s.len()).to_owned();
    let after_yes = if agreed > 0 { s.slice(agreed, s.len()) } else { text };
    if agreed > 0 && rest.is_empty() {
        return Some(Reply::Agree);
    }
    // "and set a timer too": what was asked about is taken for granted.
    let goes_on = agreed > 0 || ["and", "also", "plus"].contains(&s.word(0));
    if goes_on && command(&rest) {
        return Some(Reply::Then(rest));
    }
    if command(text) {
        return None;
    }
    for said in [after_yes, rest.as_str()] {
        let changed = amend::proposed(&call, said, now).or_else(|| details::proposed(&call, said, now));
        if let Some(arguments) = changed.filter(|arguments| *arguments != call.arguments) {
            return Some(Reply::Instead((call.tool, Value::Object(arguments))));
        }
    }
    let made = Exchange { said: last.said.clone(), answered: last.answered, calls: vec![call.clone()] };
    let virtually: Vec<Exchange> = std::iter::once(made).chain(before.iter().cloned()).collect();
    let more = ellipsis::continued(after_yes, &virtually, now, risk, command);
    // Of a question there is only the one that is meant now.
    if let (Some(Outcome::Do(calls)), Some(Risk::Observe)) = (&more, risk(&proposed.0)) {
        return calls.first().cloned().map(Reply::Instead);
    }
    if let Some(Outcome::Do(calls)) =
        more.filter(|_| goes_on || s.mentions(&["too", "well", "also", "another", "same"]))
    {
        return Some(Reply::Also(calls));
    }
    // "yes please, she'd love that".
    const TURNS: &[&str] = &["but", "not", "except", "only", "instead", "no", "wait", "if", "at", "on", "for", "with"];
    const REMARKS: &[&str] = &[
        "i", "i'd", "we", "he", "she", "they", "it", "that", "that's", "it's", "he's", "she's", "you", "cheers", "ta",
        "lovely", "good",
    ];
    let remark = REMARKS.contains(&s.word(agreed)) || s.word(agreed).ends_with("'s");
    let plain = remark && !s.mentions(TURNS) && s.len() <= agreed + 8;
    let numbered = s.tokens.iter().any(|token| token.word.starts_with(|c: char| c.is_ascii_digit()));
    (agreed > 0 && linked == 0 && plain && !numbered).then_some(Reply::Agree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_is_answered_by_more_than_yes_or_no() {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        let risk = |_: &str| Some(Risk::Write);
        let milk = ("add_task".to_owned(), json!({"title": "milk", "category": "shopping"}));
        let alarm = (
            "create_scheduled_task".to_owned(),
            json!({"name": "Alarm", "message": "Up", "schedule": "2026-11-24T05:40"}),
        );
        let at = |time: &str| {
            let wanted = json!({"name": "Alarm", "message": "Up", "schedule": format!("2026-11-24T{time}")});
            Some(Reply::Instead(("create_scheduled_task".to_owned(), wanted)))
        };
        let eggs = ("add_task".to_owned(), json!({"title": "eggs", "category": "shopping"}));
        for (proposed, text, wanted) in [
            (&alarm, "no, 6", at("06:00")),
            (&alarm, "ugh no, make it half six", at("06:30")),
            (&alarm, "yes but at 6", at("06:00")),
            (&alarm, "never mind", Some(Reply::Leave)),
            (&alarm, "no undo it", Some(Reply::Leave)),
            (&alarm, "yes please, that'd be grand", Some(Reply::Agree)),
            (&alarm, "yes please dear", Some(Reply::Agree)),
            (&alarm, "yes but not tomorrow", None),
            (&milk, "and eggs", Some(Reply::Also(vec![eggs]))),
            (&milk, "yes, turn off pin", None),
            (&milk, "what time is it", None),
        ] {
            let question = "Shall I?";
            let exchanges = [Exchange { said: "x".into(), answered: question, calls: vec![] }];
            let got = replied(text, proposed, &exchanges, &now, &risk, &|text| text == "what time is it");
            assert_eq!(got, wanted, "{text}");
        }
    }
}
