//! Confirmations: a guessed change is proposed with "Shall I …?" and made after a yes.
//!
//! No state is stored in between. A yes refers to the question in the previous message; the proposed call is
//! recovered by classifying the sentence before it again, and counts only if that yields the same question.

use crate::{format_value::format_value, phrases::Intent, reply, sentence::Sentence, slots::Kind};
use jiff::Zoned;
use llm::{Message, Turn};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Start of a confirmation question.
const BEGINS: &str = "Shall I ";
/// End of a confirmation question.
const ENDS: &str = "? Say yes or no.";
/// Maximum age of a question, in minutes; its times are relative to its own time.
pub(crate) const MAX_AGE_MINUTES: i64 = 15;

/// A short answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
}

/// Parses a message that is only a yes or a no.
pub(crate) fn answer(text: &str) -> Option<Answer> {
    const YES: &[&str] = &[
        "yes",
        "yeah",
        "yep",
        "yup",
        "ya",
        "yea",
        "aye",
        "y",
        "ok",
        "okay",
        "sure",
        "do it",
        "do that",
        "please do",
        "go ahead",
        "of course",
        "correct",
        "exactly",
        "that is right",
        "right",
        "fine",
        "sounds good",
        "please",
        "absolutely",
        "definitely",
        "certainly",
        "why not",
        "yes do it",
        "yes do that",
        "yes please",
        "sure thing",
        "you may",
        "you shall",
        "go on",
        "go for it",
        "perfect",
        "great",
        "good",
        "all right",
        "alright",
        "confirmed",
        "confirm",
        "that is it",
        "indeed",
        "sure do it",
        "ok do it",
        "okay do it",
        "yes you shall",
        "yes go ahead",
        "sure go ahead",
        "ok go ahead",
        "by all means",
        "make it so",
        "yes that is right",
        "yes exactly",
        "yes of course",
        "yes sure",
        "that would be great",
        "i do",
        "agreed",
        "go on then",
        "yes go on",
        "yes go on then",
        "aye go on",
        "aye go on then",
        "oh go on then",
        "yes that is it",
        "that is the one",
        "that one",
        "yes that one",
        "yes the first",
        "yes that would be lovely",
        "yes that would be great",
        "that would be lovely",
        "that would be grand",
        "that would be good",
        "if you would",
        "if you like",
        "if you can",
        "you can",
        "you do that",
        "too right",
        "lovely",
        "brilliant",
        "cool",
        "spot on",
        "bang on",
        "that is what i said",
        "that is what i meant",
        "yes i did",
        "yes i do",
        "yes it is",
        "yes that is correct",
        "correct yes",
        "right yes",
        "k",
        "kk",
        "yh",
        "ye",
        "yess",
        "yesss",
        "yas",
    ];
    const NO: &[&str] = &[
        "no",
        "nope",
        "nah",
        "n",
        "do not",
        "no do not",
        "please do not",
        "do not do it",
        "do not do that",
        "cancel",
        "stop",
        "never mind",
        "nevermind",
        "leave it",
        "forget it",
        "wrong",
        "no thanks",
        "no thank you",
        "not now",
        "no leave it",
        "better not",
        "rather not",
        "i would rather not",
        "no way",
        "not that",
        "no not that",
        "no that is wrong",
        "that is wrong",
        "no stop",
        "no cancel",
        "nothing",
        "no never mind",
        "not really",
        "hell no",
    ];
    let s = Sentence::whole(text);
    let words: Vec<&str> = s.tokens.iter().map(|t| t.word.as_str()).collect();
    const AROUND: &[&str] = &[
        "hob",
        "please",
        "thanks",
        "thank",
        "you",
        "now",
        "then",
        "just",
        "dear",
        "love",
        "darling",
        "oh",
        "well",
        "mate",
        "pet",
        "hun",
        "duck",
        "lol",
        "ah",
        "ugh",
        "er",
        "um",
        "hey",
        "ta",
        "cheers",
        "dearie",
        "sweetheart",
        "pal",
        "buddy",
    ];
    let said = |words: &[&str]| {
        let text = words.join(" ");
        if YES.contains(&text.as_str()) {
            Some(Answer::Yes)
        } else if NO.contains(&text.as_str()) {
            Some(Answer::No)
        } else {
            None
        }
    };
    let core = words.iter().copied().filter(|w| !AROUND.contains(w)).collect::<Vec<_>>();
    said(&words).or_else(|| said(&core))
}

/// Whether an answer denies what was said before the question: "we don't need milk" – "yes we do".
pub(crate) fn contradicts(answer: &str, about: &str) -> bool {
    const WHO: &[&str] = &["we", "i", "he", "she", "they", "it", "there"];
    const DO: &[&str] = &["do", "does", "did", "is", "are", "am", "has", "have", "will", "was", "were", "can"];
    const LEADS: &[&str] = &["yes", "yeah", "yep", "oh", "but", "of", "course", "no", "actually", "wait", "well"];
    let (s, before) = (Sentence::whole(answer), Sentence::whole(about));
    let at = (0..s.len()).take_while(|at| LEADS.contains(&s.word(*at))).count();
    let denied = before.mentions(&["not", "no", "never", "nobody", "nothing"]);
    denied && s.len() <= 9 && WHO.contains(&s.word(at)) && DO.contains(&s.word(at + 1))
}

/// Whether a message is a question that a yes or a no answers.
pub(crate) fn is_question(text: &str) -> bool {
    // What must be known first may stand before it.
    (text.starts_with(BEGINS) || text.contains(&format!(". {BEGINS}"))) && text.ends_with(ENDS)
}

/// The question in the message before the person's last one, and the sentence it refers to with its place.
pub(crate) fn open_question(messages: &[Message]) -> Option<(&str, usize, Cow<'_, str>)> {
    let last = messages.iter().rposition(|m| matches!(m, Message::User(_)))?;
    let question = messages[..last].iter().rposition(|m| matches!(m, Message::Assistant(_)))?;
    let Message::Assistant(Turn { content, tool_calls, .. }) = &messages[question] else { return None };
    let asked = tool_calls.is_empty() && is_question(content);
    let before = messages[..question].iter().next_back().filter(|_| asked)?;
    match before {
        Message::User(said) => Some((content, question - 1, said.text())),
        _ => None,
    }
}

/// The confirmation question for a guess; `wordings` are the family's, such as `add the task “{title}”`, the fitting ones first.
pub(crate) fn question<'w>(
    tool: &str,
    wordings: impl IntoIterator<Item = &'w str>,
    arguments: &Map<String, Value>,
    now: &Zoned,
) -> String {
    let what = wordings.into_iter().find_map(|wording| worded(wording, arguments, now));
    let what = what.unwrap_or_else(|| plain(tool, arguments, now));
    format!("{BEGINS}{what}{ENDS}")
}

/// Fills a wording's placeholders; bracketed parts without a value are left out, and `None` if any other value is
/// missing.
fn worded(wording: &str, arguments: &Map<String, Value>, now: &Zoned) -> Option<String> {
    let mut out = String::new();
    let mut rest = wording;
    while let Some(at) = rest.find(['[', '{']) {
        out.push_str(&rest[..at]);
        let (close, inner) = if rest[at..].starts_with('[') { (']', true) } else { ('}', false) };
        let end = at + rest[at..].find(close)?;
        let part = &rest[at + 1..end];
        if inner {
            out.push_str(&worded(part, arguments, now).unwrap_or_default());
        } else {
            out.push_str(&format_value(arguments.get(part)?, now)?);
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Some(out)
}

/// The tool's name in words, with what it would be called with: `add the note “paint” (category “house”)`.
fn plain(tool: &str, arguments: &Map<String, Value>, now: &Zoned) -> String {
    let mut what = match tool.split_once('_') {
        Some((verb, rest)) => format!("{verb} the {}", rest.replace('_', " ")),
        None => tool.to_owned(),
    };
    const NAMES: &[&str] =
        &["title", "name", "content", "text", "message", "url", "key", "table", "timer", "list", "query"];
    let main = NAMES.iter().find(|name| arguments.get(**name).is_some_and(Value::is_string));
    let main = main.copied().or_else(|| arguments.keys().find(|k| k.ends_with("Id")).map(String::as_str));
    if let Some(value) = main.and_then(|name| format_value(arguments.get(name)?, now)) {
        what.push_str(&format!(" “{value}”"));
    }
    let others = arguments.iter().filter(|(key, _)| Some(key.as_str()) != main);
    let others: Vec<String> = others
        .filter_map(|(key, value)| Some(format!("{} {}", reply::spaced(key), format_value(value, now)?)))
        .collect();
    if others.is_empty() { what } else { format!("{what} ({})", others.join(", ")) }
}

/// The question for a missing argument, by its slot kind.
pub(crate) fn missing(name: &str, kind: Kind, shown: Option<&str>) -> String {
    let ask = match kind {
        Kind::When | Kind::Future | Kind::Wake | Kind::Every | Kind::Time => "When?",
        Kind::Date | Kind::Past | Kind::Period | Kind::Month => "Which day?",
        Kind::Money => "How much?",
        Kind::Number | Kind::Int => "How many?",
        Kind::Duration | Kind::Minutes => "How long?",
        Kind::Pin => "Which pin?",
        Kind::Person => "Who?",
        Kind::Url => "Which address?",
        Kind::Phone | Kind::Email => "At which number or address?",
        Kind::List => "Which list?",
        _ if name.ends_with("Id") => "Which one?",
        _ => "What?",
    };
    match shown {
        Some(shown) => format!("{ask} Say it like “{shown}”."),
        None => ask.to_owned(),
    }
}

/// The first argument that every template of an intent provides and a guess lacks, with its kind.
pub(crate) fn lacks<'i>(intent: &'i Intent, arguments: &Map<String, Value>) -> Option<(&'i str, Kind)> {
    intent.needed.iter().find(|(name, _)| !arguments.contains_key(name)).map(|(name, kind)| (name.as_str(), *kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn short_answers_are_told_apart() {
        for (text, wanted) in [
            ("Yes", Some(Answer::Yes)),
            ("yes, please!", Some(Answer::Yes)),
            ("OK hob, do it", Some(Answer::Yes)),
            ("sure", Some(Answer::Yes)),
            ("Please do.", Some(Answer::Yes)),
            ("No", Some(Answer::No)),
            ("no thanks", Some(Answer::No)),
            ("don't", Some(Answer::No)),
            ("never mind", Some(Answer::No)),
            ("yes, turn on pin 17", None),
            ("no, add eggs", None),
            ("not yes", None),
            ("please", Some(Answer::Yes)),
            ("", None),
            ("yes no", None),
        ] {
            assert_eq!(answer(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_denial_of_what_was_said_is_no_yes() {
        for (answer, about, wanted) in [
            ("yes we do", "we don't need milk", true),
            ("Yes I do!", "I don't need the bread any more", true),
            ("yes we do need it", "we no longer need milk", true),
            ("yes", "we don't need milk", false),
            ("yes please", "we don't need milk", false),
            ("yes I do", "add milk maybe", false),
        ] {
            assert_eq!(contradicts(answer, about), wanted, "{answer}");
        }
    }

    #[test]
    fn questions_tell_what_would_be_done() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        let task = object(json!({"title": "buy milk", "dueDate": "2026-11-21"}));
        let wording = "add the task “{title}”[ to the {category} list][, due {dueDate}]";
        assert_eq!(
            question("add_task", [wording], &task, &now),
            "Shall I add the task “buy milk”, due tomorrow? Say yes or no."
        );
        assert_eq!(
            question("add_task", [], &task, &now),
            "Shall I add the task “buy milk” (due date tomorrow)? Say yes or no."
        );
        assert_eq!(
            question("delete_note", [], &object(json!({"noteId": "car"})), &now),
            "Shall I delete the note “car”? Say yes or no."
        );
        // A wording with a missing value is not used.
        assert_eq!(question("add_task", ["add {nothing}"], &Map::new(), &now), "Shall I add the task? Say yes or no.");
    }

    #[test]
    fn only_a_question_directly_before_counts() {
        let user = |text: &str| Message::user(text);
        let said = |text: &str| Message::text_only(text.to_owned());
        let question = "Shall I add the task “milk”? Say yes or no.";
        let messages = [user("milk maybe"), said(question), user("yes")];
        assert_eq!(open_question(&messages), Some((question, 0, "milk maybe".into())));
        assert_eq!(open_question(&[user("x"), said("Hello."), user("yes")]), None);
        assert_eq!(open_question(&[said(question), user("yes")]), None);
        assert_eq!(open_question(&[user("milk maybe"), said(question), user("hm"), said("What?"), user("yes")]), None);
        assert_eq!(open_question(&[]), None);
    }
}
