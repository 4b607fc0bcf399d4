//! Built-in replies: help, courtesy, and how to phrase what reflex will not guess.

use crate::{days, help, phrases::Intent, slots::LAST_PIN};
use jiff::Zoned;
use llm::Kind;
use serde_json::{Map, Value};
use text_kit::join_and;

/// The reply of a built-in intent (`/help`, `/forget` …); `shown` are the available tools with example sentences.
pub(crate) fn answer(name: &str, arguments: &Map<String, Value>, shown: &[(&str, &str)]) -> String {
    let available = |tool: &str| shown.iter().any(|(here, _)| *here == tool);
    match name {
        "/topic" => {
            let asked = arguments.get("topic").and_then(Value::as_str).unwrap_or_default();
            help::topic(asked, &available).unwrap_or_else(|| help::overview(&available))
        }
        "/hello" => "Hello! Say “help” to see what I can do.".to_owned(),
        "/thanks" => "You are welcome.".to_owned(),
        "/bye" => "I am here when you need me.".to_owned(),
        "/who" => {
            "I am Hob, and I live on this device. I understand plain sentences: say “help” to see which.".to_owned()
        }
        "/sorry" => {
            "I am sorry. I understand plain sentences only: say “help” to see which, or “undo that”.".to_owned()
        }
        "/forget" => {
            "Say what it is, so that nothing else goes: “delete the task buy milk”, “cancel my timer”, “forget the \
                      spare key”."
                .to_owned()
        }
        "/remind" => {
            "When? Say it like “remind me at 7 to call mum” or “every monday at 8 remind me to put out the bins”."
                .to_owned()
        }
        "/timer" => "For how long? Say it like “set a timer for 10 minutes”.".to_owned(),
        "/alarm" => "For when? Say it like “wake me at 6:30” or “set an alarm for 7 am”.".to_owned(),
        "/when" => {
            "I can wait for a time: “remind me at 7 pm to call mum”. To do something when something else happens, make \
                    a trigger on the page."
                .to_owned()
        }
        "/which" => {
            "Which one? Say it by name: “cancel the reminder to call mum”, “delete the task buy milk”.".to_owned()
        }
        "/task" => {
            "What shall I add? Say it like “add a task to call the bank by friday” or “add milk to the shopping \
                    list”."
                .to_owned()
        }
        "/note" => "What shall I note? Say it like this: “note: the paint in the hall is RAL 9010”.".to_owned(),
        "/event" => "When is that? Say it like “add dentist on tuesday at 3 pm to my calendar”.".to_owned(),
        "/contact" => "Who? Say it like “add Ben, 0664 1234567” or “add Anna Berger to my contacts”.".to_owned(),
        "/expense" => "How much, and for what? Say it like “I spent 12.50 on lunch”.".to_owned(),
        "/bookmark" => "Which address? Say it like “bookmark https://www.rust-lang.org”.".to_owned(),
        "/goal" => "What do you want to reach? Say it like “add the goal learn Italian”.".to_owned(),
        "/remember" => "What shall I remember? Say it like this: “remember that the spare key is at Ana's”.".to_owned(),
        "/units" => "Say the amount and both units, like “how many km are 5 miles?”.".to_owned(),
        _ => help::overview(&available),
    }
}

/// Whether a built-in reply is complete: others ask for more, or apologise for the missing model.
pub(crate) fn is_whole(name: &str, arguments: &Map<String, Value>) -> bool {
    let topic = || arguments.get("topic").and_then(Value::as_str).is_some_and(help::is_topic);
    matches!(name, "/hello" | "/thanks" | "/bye" | "/help" | "/day" | "/then") || name == "/topic" && topic()
}

/// The reply to media without text.
pub(crate) fn media_reply(kinds: &[Kind]) -> String {
    let (what, which) = match kinds.first() {
        Some(Kind::Image) => ("see pictures", "a picture"),
        Some(Kind::Audio) => ("listen to recordings", "a recording"),
        _ => ("read files", "a file"),
    };
    format!(
        "I cannot {what} by myself. Tell me in words what it is about, or add a model for {which} on the Models page."
    )
}

/// The replies of `/day`, `/then` and `/place`, which depend on the arguments; `None` for other headings.
pub(crate) fn computed_reply(name: &str, arguments: &Map<String, Value>, now: &Zoned) -> Option<String> {
    let said = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "/day" => Some(days::day_sentence(said("day"), now).unwrap_or_else(|| no_such_day(said("day")))),
        "/then" => days::moment(said("then"), now),
        "/place" => Some(format!(
            "I do not know where {} is. I know the time in many countries and large cities, such as “what time is it in \
             Tokyo?”.",
            said("place")
        )),
        _ => None,
    }
}

/// The reply to a date that does not exist.
pub(crate) fn no_such_day(phrase: &str) -> String {
    format!("There is no day “{phrase}”. Say it like “what day is 3 October 2027?” or “next Tuesday”.")
}

/// The reply to a sentence that was not understood.
pub(crate) fn unknown(shown: &[(&str, &str)]) -> String {
    let some = help::some(&|tool| shown.iter().any(|(here, _)| *here == tool));
    let some: Vec<String> = some.iter().map(|sentence| format!("“{sentence}”")).collect();
    match some.as_slice() {
        [] => "I did not understand that.".to_owned(),
        some => {
            format!("I did not understand that. You can say, for example, {}. Say “help” for more.", join_and(some))
        }
    }
}

/// The reply to an empty or overlong message.
pub(crate) fn unreadable_reply(too_long: bool) -> String {
    match too_long {
        true => "That is too long for me. Say it in one sentence.".to_owned(),
        false => "I heard nothing. Say “help” to see what I can do.".to_owned(),
    }
}

/// How to phrase `intent` plainly, with the given pin; a refusal if the sentence is negated.
pub(crate) fn plain_wording_reply(intent: Option<&Intent>, pin: Option<u32>, forbids: bool) -> String {
    if let Some(pin) = pin.filter(|pin| *pin > LAST_PIN) {
        return format!("There is no pin {pin}: pins go from 0 to {LAST_PIN}.");
    }
    if forbids {
        return match pin {
            Some(pin) => format!("All right, I leave pin {pin} as it is."),
            None => "All right, I do nothing.".to_owned(),
        };
    }
    let Some(shown) = intent.and_then(|intent| intent.shown.first()) else { return unknown(&[]) };
    let shown = match pin {
        Some(pin) => with_pin(shown, pin),
        None => shown.clone(),
    };
    format!("I do that only when you say it plainly, like “{shown}”.")
}

/// The sentence with its "pin 17" replaced.
fn with_pin(sentence: &str, pin: u32) -> String {
    let words: Vec<String> = sentence.split(' ').map(str::to_owned).collect();
    let mut out = words.clone();
    for (i, pair) in words.windows(2).enumerate() {
        if pair[0] == "pin" && pair[1].parse::<u32>().is_ok() {
            out[i + 1] = pin.to_string();
        }
    }
    out.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pin_that_was_named_is_shown() {
        assert_eq!(with_pin("turn on pin 17", 4), "turn on pin 4");
        assert_eq!(with_pin("remember that …", 4), "remember that …");
    }

    #[test]
    fn what_was_not_understood_gets_examples_of_what_is() {
        assert_eq!(
            unknown(&[("set_timer", "x"), ("add_task", "x")]),
            "I did not understand that. You can say, for example, “add milk to the shopping list” and “set a timer \
             for 10 minutes”. Say “help” for more."
        );
        assert_eq!(unknown(&[]), "I did not understand that.");
    }
}
