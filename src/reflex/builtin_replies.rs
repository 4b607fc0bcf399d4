//! Built-in replies: help, courtesy, and how to phrase what reflex will not guess.

use crate::{days, phrases::Intent, slots::LAST_PIN};
use jiff::Zoned;
use llm::Kind;
use serde_json::{Map, Value};

/// The reply of a built-in intent (`/help`, `/forget` …); `shown` are the available tools with example sentences.
pub(crate) fn answer(name: &str, shown: &[(&str, &str)]) -> String {
    match name {
        "/hello" => "Hello. Say “help” to see what I understand.".to_owned(),
        "/thanks" => "You are welcome.".to_owned(),
        "/bye" => "I am here when you need me.".to_owned(),
        "/who" => "I am Hob. I run on this device, and just now without a language model, so I understand plain \
                   sentences only. Say “help” to see which."
            .to_owned(),
        "/sorry" => {
            "I am sorry. Without a language model I follow plain sentences only: say “help” to see which.".to_owned()
        }
        "/forget" => "Say what it is, so that nothing else goes: “delete the task buy milk”, “delete the note about the car”, \
                      “cancel my timer”. What I remember can be deleted by its id, with the tool `forget`: say “what do \
                      you remember?” to see it."
            .to_owned(),
        "/remind" => "When? Say it like “remind me at 7 to call mum” or “every monday at 8 remind me to put out the bins”."
            .to_owned(),
        "/timer" => "For how long? Say it like “set a timer for 10 minutes”.".to_owned(),
        "/alarm" => "For when? Say it like “wake me at 6:30” or “set an alarm for 7 am”.".to_owned(),
        "/when" => "I can wait for a time, but not for something to happen: without a language model, rules are made at \
                    the page."
            .to_owned(),
        "/which" => "Which one? Say it by name: “cancel the reminder to call mum”, “delete the task buy milk”.".to_owned(),
        "/task" => "What is to be done? Say it like “add a task to call the bank by friday” or “add milk to the shopping \
                    list”."
            .to_owned(),
        "/note" => "What shall I note? Say it whole: “note: the paint in the hall is RAL 9010”.".to_owned(),
        "/event" => "When is that? Say it like “add dentist on tuesday at 3 pm to my calendar”.".to_owned(),
        "/contact" => "Whom? Say it like “add Ben, 0664 1234567” or “add Anna Berger to my contacts”.".to_owned(),
        "/expense" => "How much, and for what? Say it like “I spent 12.50 on lunch”.".to_owned(),
        "/bookmark" => "Which address? Say it like “bookmark https://www.rust-lang.org”.".to_owned(),
        "/goal" => "What do you want to reach? Say it like “add the goal learn Italian”.".to_owned(),
        "/remember" => "What shall I remember? Say it whole: “remember that the spare key is at Ana's”.".to_owned(),
        "/units" => {
            "I miss a part of that. To convert, say the amount and both units: “how many km are 5 miles?”.".to_owned()
        }
        _ => help(shown),
    }
}

/// Whether a built-in reply is complete: others ask for more, or apologise for the missing model.
pub(crate) fn is_whole(name: &str) -> bool {
    matches!(name, "/hello" | "/thanks" | "/bye" | "/help" | "/day" | "/then")
}

/// The reply to media without text.
pub(crate) fn media_reply(kinds: &[Kind]) -> String {
    let (what, which) = match kinds.first() {
        Some(Kind::Image) => ("see pictures", "a picture"),
        Some(Kind::Audio) => ("listen to recordings", "a recording"),
        _ => ("read files", "a file"),
    };
    format!(
        "I cannot {what} without a language model: tell me in words what it is about, or choose a model for {which}."
    )
}

/// The replies of `/day`, `/then` and `/place`, which depend on the arguments; `None` for other headings.
pub(crate) fn computed_reply(name: &str, arguments: &Map<String, Value>, now: &Zoned) -> Option<String> {
    let said = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    match name {
        "/day" => Some(days::day_sentence(said("day"), now).unwrap_or_else(|| no_such_day(said("day")))),
        "/then" => days::moment(said("then"), now),
        "/place" => Some(format!(
            "I do not know where {} is. I know the time in many countries and large cities: say “what time is it in \
             Tokyo?”.",
            said("place")
        )),
        _ => None,
    }
}

/// The reply to a date that does not exist.
pub(crate) fn no_such_day(phrase: &str) -> String {
    format!("I find no day “{phrase}” in the calendar. Say it like “what day is 3 October 2027?” or “next Tuesday”.")
}

fn help(shown: &[(&str, &str)]) -> String {
    let lines: Vec<String> = shown.iter().map(|(_, sentence)| format!("- {sentence}")).collect();
    if lines.is_empty() {
        return "There is nothing I can do here without a language model.".to_owned();
    }
    format!("I understand sentences like these:\n{}\nAny other question I look up in memory.", lines.join("\n"))
}

/// The reply to a sentence that was not understood.
pub(crate) fn unknown(shown: &[(&str, &str)]) -> String {
    // One sentence for each of a few tools is more helpful than all sentences of one.
    let mut tools: Vec<&str> = vec![];
    let mut some = vec![];
    for (tool, sentence) in shown {
        if !tools.contains(tool) && some.len() < 4 {
            tools.push(tool);
            some.push(format!("“{sentence}”"));
        }
    }
    match some.is_empty() {
        true => "I did not understand that.".to_owned(),
        false => format!("I did not understand that. Try {}, or say “help”.", some.join(", ")),
    }
}

/// The reply to an empty or overlong message.
pub(crate) fn unreadable_reply(too_long: bool) -> String {
    match too_long {
        true => "That is too long for me to follow without a language model: say it in one sentence.".to_owned(),
        false => "I heard nothing. Say “help” to see what I understand.".to_owned(),
    }
}

/// How to phrase `intent` plainly, with the given pin; a refusal if the sentence is negated.
pub(crate) fn plain_wording_reply(intent: &Intent, pin: Option<u32>, forbids: bool) -> String {
    if let Some(pin) = pin.filter(|pin| *pin > LAST_PIN) {
        return format!("There is no pin {pin}: pins go from 0 to {LAST_PIN}.");
    }
    if forbids {
        return match pin {
            Some(pin) => format!("Understood: I leave pin {pin} as it is."),
            None => "Understood: I do nothing.".to_owned(),
        };
    }
    let Some(shown) = intent.shown.first() else { return unknown(&[]) };
    let shown = match pin {
        Some(pin) => with_pin(shown, pin),
        None => shown.clone(),
    };
    format!("I do such things only when they are said plainly, and at once: say “{shown}”.")
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
    fn a_few_tools_are_named() {
        let shown = [("a", "one"), ("a", "two"), ("b", "three")];
        assert_eq!(unknown(&shown), "I did not understand that. Try “one”, “three”, or say “help”.");
        assert!(help(&shown).contains("- two"));
    }
}
