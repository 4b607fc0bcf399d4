//! Conversations for formats with two alternating roles and separate instructions.

use crate::Message;
use serde_json::Value;

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The person, and tool results.
    User,
    /// The model.
    Model,
}

/// The leading instructions, and the messages after them.
pub(crate) fn instructions(messages: &[Message]) -> (Vec<&str>, &[Message]) {
    let first = messages.iter().position(|m| !matches!(m, Message::System(_))).unwrap_or(messages.len());
    let (head, rest) = messages.split_at(first);
    let texts = head
        .iter()
        .filter_map(|m| match m {
            Message::System(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (texts, rest)
}

/// An instruction within the conversation, as user text.
pub(crate) fn instruction(text: &str) -> String {
    format!("[Instruction of the system, not of the person: {text}]")
}

/// The messages in alternating roles: consecutive ones of one role are joined, and the first and last are the
/// person's. `parts` converts one message, `note` a short text.
pub(crate) fn alternating(
    messages: &[Message],
    parts: impl Fn(&Message) -> Vec<Value>,
    note: impl Fn(&str) -> Value,
) -> Vec<(Speaker, Vec<Value>)> {
    let mut turns: Vec<(Speaker, Vec<Value>)> = vec![];
    let mut add = |who: Speaker, parts: Vec<Value>| match turns.last_mut() {
        _ if parts.is_empty() => {}
        Some((last, all)) if *last == who => all.extend(parts),
        None if who == Speaker::Model => {
            turns.push((Speaker::User, vec![note("(What was said before is not shown.)")]));
            turns.push((who, parts));
        }
        _ => turns.push((who, parts)),
    };
    for message in messages {
        let who = if matches!(message, Message::Assistant(_)) { Speaker::Model } else { Speaker::User };
        add(who, parts(message));
    }
    match turns.last() {
        None => turns.push((Speaker::User, vec![note("(nothing)")])),
        Some((Speaker::Model, _)) => turns.push((Speaker::User, vec![note("(Go on.)")])),
        Some((Speaker::User, _)) => {}
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn turns_alternate_and_the_person_has_the_first_and_last_word() {
        let show = |messages: &[Message]| {
            let parts = |m: &Message| match m {
                Message::System(text) => vec![json!(text)],
                Message::User(said) => vec![json!(said.text())],
                Message::Assistant(turn) if turn.content.is_empty() => vec![],
                Message::Assistant(turn) => vec![json!(turn.content)],
                Message::Tool(result) => vec![json!(result.content)],
            };
            let turns = alternating(messages, parts, |text| json!(text));
            let turn = |(who, parts): (Speaker, Vec<Value>)| format!("{who:?} {}", Value::from(parts));
            turns.into_iter().map(turn).collect::<Vec<_>>().join(" ")
        };
        let (user, said) = (|t: &str| Message::user(t), |t: &str| Message::text_only(t));
        let system = |t: &str| Message::System(t.into());
        assert_eq!(show(&[]), r#"User ["(nothing)"]"#);
        assert_eq!(
            show(&[user("a"), user("b"), said("c"), said(""), said("d"), user("e")]),
            r#"User ["a","b"] Model ["c","d"] User ["e"]"#
        );
        assert_eq!(
            show(&[said("c")]),
            r#"User ["(What was said before is not shown.)"] Model ["c"] User ["(Go on.)"]"#
        );
        assert_eq!(show(&[user("a"), system("s"), user("b")]), r#"User ["a","s","b"]"#);

        let all = [system("one"), system(" "), system("two"), user("a"), system("three")];
        let (texts, rest) = instructions(&all);
        assert_eq!((texts, rest.len()), (vec!["one", "two"], 2));
        assert_eq!(instructions(&all[..1]).1.len(), 0);
    }
}
