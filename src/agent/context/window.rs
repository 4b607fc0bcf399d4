//! The part of a conversation that fits the model: whole exchanges while there is room, and the message and final answer of
//! older or longer ones.

use crate::conversation::NO_ANSWER;
use llm::{Message, ToolResult, Turn};
use serde_json::Value;

/// Maximum length of a text in a shortened exchange, in bytes.
const SHORT: usize = 4000;
/// Length of a shortened result, in bytes.
const STUB: usize = 200;
/// Cost of a picture or file, in characters.
const PICTURE: usize = 6000;

/// The newest messages within these limits. The last exchange, which contains the request, is always whole; exchanges are never
/// cut in the middle, because servers refuse results without their call.
pub(super) fn window(history: Vec<Message>, max_messages: usize, max_tokens: usize) -> Vec<Message> {
    let (mut kept, mut messages, mut tokens) = (vec![], 0, 0);
    for (age, exchange) in exchanges(history).into_iter().rev().enumerate() {
        let fits = |e: &[Message]| messages + e.len() <= max_messages && tokens + cost(e) <= max_tokens;
        let shown = if age == 0 || fits(&exchange) { exchange } else { shortened(exchange) };
        if age > 0 && !fits(&shown) {
            break;
        }
        (messages, tokens) = (messages + shown.len(), tokens + cost(&shown));
        kept.push(shown);
    }
    kept.into_iter().rev().flatten().collect()
}

/// Shortens older results, then drops the oldest exchanges, until the messages fit. `false` when the current exchange alone is
/// too long.
pub(crate) fn fit(messages: &mut Vec<Message>, max_tokens: usize) -> bool {
    shorten_results(messages, max_tokens);
    while cost(messages) > max_tokens {
        // The oldest exchange ends before the second message of the person; the last exchange stays.
        let mut persons = (0..messages.len()).filter(|n| matches!(messages[*n], Message::User(_)));
        let (Some(first), Some(second)) = (persons.next(), persons.next()) else { return false };
        messages.drain(first..second);
    }
    true
}

fn shorten_results(messages: &mut [Message], max_tokens: usize) {
    let mut over = cost(messages).saturating_sub(max_tokens);
    // The model has not read the last results yet.
    let last_call = messages.iter().rposition(|m| matches!(m, Message::Assistant(_))).unwrap_or(0);
    for message in messages.iter_mut().take(last_call) {
        if over == 0 {
            break;
        }
        if let Message::Tool(ToolResult { content, .. }) = message
            && content.len() > 2 * STUB
        {
            let before = content.len();
            content.truncate(content.floor_char_boundary(STUB));
            content.push_str("\n[shortened: call again if it matters]");
            over = over.saturating_sub((before - content.len()) / 4);
        }
    }
}

/// Splits a history into exchanges, each from a message of the person on; drops messages before the first one. Each but the last
/// ends with a message of the model: some servers and chat templates refuse a message of the person after a result or another
/// message of the person.
pub(super) fn exchanges(history: Vec<Message>) -> Vec<Vec<Message>> {
    let mut all: Vec<Vec<Message>> = vec![];
    for message in history {
        if matches!(message, Message::User(_)) {
            let silent = |exchange: &&mut Vec<Message>| !matches!(exchange.last(), Some(Message::Assistant(_)));
            if let Some(before) = all.last_mut().filter(silent) {
                before.push(Message::text_only(NO_ANSWER));
            }
            all.push(vec![message]);
        } else if let Some(last) = all.last_mut() {
            last.push(message);
        }
    }
    all
}

/// The person's message and the final answer, each shortened.
fn shortened(exchange: Vec<Message>) -> Vec<Message> {
    let answer = exchange.iter().rev().find_map(|m| match m {
        Message::Assistant(Turn { content, tool_calls, .. }) if tool_calls.is_empty() => Some(content.clone()),
        _ => None,
    });
    let words = exchange.into_iter().find_map(|m| if let Message::User(said) = m { Some(said) } else { None });
    let words = words.map(|said| Message::user(cut(said.text().into_owned())));
    let answer = answer.map(|content| Message::text_only(cut(content)));
    words.into_iter().chain(answer).collect()
}

fn cut(mut text: String) -> String {
    if text.len() > SHORT {
        text.truncate(text.floor_char_boundary(SHORT));
        text.push_str(" […]");
    }
    text
}

/// The estimated number of tokens of messages.
pub(crate) fn cost(messages: &[Message]) -> usize {
    messages.iter().map(tokens_of).sum()
}

/// Estimates tokens: four characters a token, with thoughts that return to their provider, and fifty characters for each call and
/// result.
fn tokens_of(message: &Message) -> usize {
    let characters = match message {
        Message::System(text) => text.len(),
        Message::User(said) => said.text().len() + said.media().count() * PICTURE,
        Message::Assistant(Turn { content, tool_calls, kept }) => {
            let thoughts = kept.as_ref().map_or(0, |kept| length(&kept.value));
            content.len() + tool_calls.iter().map(|c| c.arguments.len() + 50).sum::<usize>() + thoughts
        }
        Message::Tool(result) => result.content.len() + 50,
    };
    characters / 4 + 1
}

/// Estimates the length of a value as JSON text, in bytes; cheaper than serialising it.
fn length(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 3,
        Value::Array(all) => 2 + all.iter().map(length).sum::<usize>(),
        Value::Object(all) => 2 + all.iter().map(|(name, value)| name.len() + 3 + length(value)).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm::ToolCall;

    fn user(text: &str) -> Message {
        Message::user(text)
    }
    fn said(text: &str) -> Message {
        Message::text_only(text)
    }
    fn asked() -> Message {
        let call = ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
        Message::calls("", vec![call])
    }
    fn gave(bytes: usize) -> Message {
        let content = "x".repeat(bytes);
        Message::Tool(ToolResult { call_id: "c".into(), name: "t".into(), content, say: None, is_error: false })
    }

    #[test]
    fn long_exchanges_are_shown_in_short_and_none_is_cut() {
        let all = vec![user("1"), said("a"), user("2"), asked(), gave(400), said("b"), user("3")];
        let short = vec![user("2"), said("b"), user("3")];
        assert_eq!(window(all.clone(), 100, 100_000), all);
        assert_eq!(window(all.clone(), 5, 100_000), all[2..], "the oldest goes first");
        assert_eq!(window(all.clone(), 3, 100_000), short);
        assert_eq!(window(all.clone(), 100, 60), [&all[..2], &short[..]].concat());
        assert_eq!(window(all.clone(), 1, 100_000), [user("3")]);
        assert_eq!(window(all.clone(), 100, 0), [user("3")], "what is asked always goes");

        // One run longer than the window does not remove the messages before it.
        let mut run = vec![user("my name is Eve"), said("hello Eve"), user("add it all up")];
        run.extend((0..100).flat_map(|_| [asked(), gave(10)]));
        run.extend([said("4242"), user("what was the total?")]);
        let shown = window(run, 100, 100_000);
        assert_eq!(
            shown,
            [
                user("my name is Eve"),
                said("hello Eve"),
                user("add it all up"),
                said("4242"),
                user("what was the total?")
            ]
        );
        let calls = [user("go"), asked(), gave(10), asked(), gave(10)];
        assert_eq!(window(calls.to_vec(), 2, 100_000), calls, "a caller that keeps the conversation may be amid a run");
        let long = window(vec![user(&"w".repeat(900_000)), said("ok"), user("next")], 100, 100_000);
        assert_eq!(long.len(), 3);
    }

    #[test]
    fn a_person_speaks_after_the_model() {
        let none = || said(NO_ANSWER);
        let all =
            vec![asked(), user("1"), user("2"), asked(), gave(1), user("3"), said("a"), user("4"), asked(), gave(1)];
        let whole = [&all[1..2], &[none()], &all[2..5], &[none()], &all[5..]].concat();
        assert_eq!(exchanges(all).concat(), whole);
        assert_eq!(window(whole.clone(), 100, 100_000), whole);
        let short = [user("2"), none(), user("3"), said("a"), user("4"), asked(), gave(1)];
        assert_eq!(window(whole, 7, 100_000), short);
    }

    #[test]
    fn what_goes_back_to_a_provider_costs_as_much_as_its_text() {
        let value = serde_json::json!({
            "items": [{"type": "reasoning", "text": "so \"far\"".repeat(200), "signature": "s".repeat(900)}, null, 17, true],
        });
        let (about, text) = (length(&value), value.to_string().len());
        assert!(about.abs_diff(text) < text / 5, "{about} {text}");
        let kept = Some(llm::ProviderState { provider: "p".into(), value });
        let turn = Message::Assistant(Turn { content: "ok".into(), tool_calls: vec![], kept });
        assert_eq!(cost(&[turn]), (about + 2) / 4 + 1);
    }

    #[test]
    fn a_run_makes_room_from_its_oldest_results() {
        let mut run = vec![user("go"), asked(), gave(40_000), asked(), gave(40_000), asked(), gave(40_000)];
        assert!(fit(&mut run, 25_000));
        let lengths: Vec<usize> =
            run.iter().map(|m| if let Message::Tool(r) = m { r.content.len() } else { 0 }).collect();
        assert!(lengths[2] < 300 && lengths[4] == 40_000 && lengths[6] == 40_000, "{lengths:?}");
        assert!(!fit(&mut run, 5_000), "the last result is not shortened");
    }

    #[test]
    fn a_long_conversation_makes_room_from_its_oldest_exchanges() {
        let mut run = vec![Message::System("s".repeat(2000))];
        run.extend((0..50).flat_map(|n| [user(&format!("{n} {}", "q".repeat(1000))), said(&"a".repeat(1000))]));
        run.extend([user("and now?"), asked(), gave(4000)]);
        assert!(fit(&mut run, 10_000));
        assert!(cost(&run) <= 10_000 && matches!(run[0], Message::System(_)));
        assert!(matches!(&run[1], Message::User(said) if !said.text().starts_with("0 ")), "the oldest went first");
        assert!(run.ends_with(&[user("and now?"), asked(), gave(4000)]), "what is under way stays whole");
        assert!(run.len() > 20, "and no more went than had to");
    }
}
