//! A schedule or trigger as a sentence: "Every Tuesday at 18:00: water the plants, for Anna."

use crate::action::{NOTIFY, PROMPT};
use records::Addressee;
use registry::Registry;
use text_kit::{first_sentence, one_line, truncate};
use tool::{PreauthorizedCall, Tool, prelude::*};

/// Maximum lengths, in characters: of a tool's title, of a message or prompt, and of one argument.
const LONGEST_TITLE: usize = 60;
const LONGEST_TEXT: usize = 160;
const LONGEST_VALUE: usize = 40;
/// How many arguments of a call are named.
const ARGUMENTS: usize = 4;

/// The name of a tool for people: its description up to the first pause, as in "Add a task".
pub(crate) fn title(tool: &Tool) -> String {
    let sentence = one_line(first_sentence(tool.description()));
    let sentence = sentence.trim_end_matches('.');
    let end = [": ", "; ", " (", ", "].iter().filter_map(|pause| sentence.find(pause)).min().unwrap_or(sentence.len());
    match sentence.get(..end).map(str::trim).unwrap_or_default() {
        "" => capital(&tool.name.replace(['_', '-', '.'], " ")),
        title => capital(&truncate(title, LONGEST_TITLE)),
    }
}

/// "Every Tuesday at 18:00: water the plants, for Anna."
pub(crate) fn armed(cx: &Cx, registry: &Registry, when: &str, call: &PreauthorizedCall) -> String {
    let action = action_words(cx, registry, call);
    let end = if action.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{}: {action}{end}", capital(when))
}

/// An action in words: "water the plants, for Anna", "ask Hob “sum up the news”", "add a task (title milk)".
pub(crate) fn action_words(cx: &Cx, registry: &Registry, call: &PreauthorizedCall) -> String {
    let text =
        |field: &str| call.args.get(field).and_then(Value::as_str).map(|text| truncate(&one_line(text), LONGEST_TEXT));
    match (&*call.tool, text("prompt"), text("text")) {
        (PROMPT, Some(prompt), _) => format!("ask Hob “{prompt}”"),
        (NOTIFY, _, Some(message)) => {
            let message = message.trim_end_matches('.');
            match call.args.get("person").and_then(Value::as_str).map(|person| Addressee::shown(cx, person)) {
                Some(person) if message.ends_with(['!', '?']) => format!("{message} (for {person})"),
                Some(person) => format!("{message}, for {person}"),
                None => message.to_owned(),
            }
        }
        ("gpio_write", ..) if call.args["pin"].is_number() && call.args["high"].is_boolean() => {
            format!("switch pin {} {}", call.args["pin"], on_or_off(&call.args["high"]))
        }
        (name, ..) => {
            let title = registry.get(name).map_or_else(|| name.replace('_', " "), |tool| title(&tool));
            let title = uncapital(&title);
            match arguments(&call.args) {
                empty if empty.is_empty() => title,
                arguments => format!("{title} ({arguments})"),
            }
        }
    }
}

/// "pin 17, high yes".
fn arguments(args: &Value) -> String {
    let fields = args.as_object().into_iter().flatten();
    let named = fields.filter(|(_, value)| !value.is_null()).take(ARGUMENTS);
    named.map(|(name, value)| format!("{} {}", spaced(name), shown(value))).collect::<Vec<_>>().join(", ")
}

/// A value for people.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::String(text) => truncate(&one_line(text), LONGEST_VALUE),
        Value::Array(all) => truncate(&all.iter().map(shown).collect::<Vec<_>>().join(", "), LONGEST_VALUE),
        other => truncate(&other.to_string(), LONGEST_VALUE),
    }
}

pub(crate) fn on_or_off(high: &Value) -> &'static str {
    if *high == Value::Bool(true) { "on" } else { "off" }
}

/// "dueDate" → "due date".
pub(crate) fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        match letter {
            '_' | '-' | '.' => words.push(' '),
            upper if upper.is_uppercase() && !words.is_empty() => {
                words.push(' ');
                words.extend(upper.to_lowercase());
            }
            other => words.push(other),
        }
    }
    words
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// With a small first letter, unless it begins an abbreviation.
pub(crate) fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), second) if second.is_none_or(|second| !second.is_uppercase()) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::House;

    #[tokio::test]
    async fn what_is_armed_is_a_sentence() {
        let house = House::new();
        let said = |tool: &str, args: Value| {
            let call = PreauthorizedCall { tool: tool.into(), version: 0, args, digest: [0; 32], consented: false };
            armed(&house.cx(), &house.registry, "every Tuesday at 18:00", &call)
        };
        for (tool, args, wanted) in [
            (NOTIFY, json!({"text": "water the plants"}), "Every Tuesday at 18:00: water the plants."),
            (NOTIFY, json!({"text": "Dinner!", "title": "x"}), "Every Tuesday at 18:00: Dinner!"),
            (
                NOTIFY,
                json!({"text": "Bins.\nBoth.", "person": "everyone"}),
                "Every Tuesday at 18:00: Bins. Both, for everyone.",
            ),
            (
                NOTIFY,
                json!({"text": "Dinner!", "person": "everyone"}),
                "Every Tuesday at 18:00: Dinner! (for everyone).",
            ),
            (
                NOTIFY,
                json!({"text": "go", "person": Id::NIL}),
                "Every Tuesday at 18:00: go, for somebody who has left.",
            ),
            (PROMPT, json!({"prompt": "sum up the news"}), "Every Tuesday at 18:00: ask Hob “sum up the news”."),
            ("gpio_write", json!({"pin": 17, "high": false}), "Every Tuesday at 18:00: switch pin 17 off."),
            ("ping", json!({}), "Every Tuesday at 18:00: reply to a ping."),
            ("move_it", json!({"pin": 4, "high": true}), "Every Tuesday at 18:00: move something (high yes, pin 4)."),
            (
                "no_such_tool",
                json!({"a": null, "dueDate": ["x", "y"]}),
                "Every Tuesday at 18:00: no such tool (due date x, y).",
            ),
        ] {
            assert_eq!(said(tool, args.clone()), wanted, "{tool} {args}");
        }
    }
}
