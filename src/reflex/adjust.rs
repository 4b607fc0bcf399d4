//! Arguments that follow from words outside of values: "take two minutes *off*", "show *deleted notes*", "what is *overdue*".

use crate::{
    items,
    sentence::Sentence,
    slots::{self, Kind, number, terms},
    wording,
};
use jiff::Zoned;
use serde_json::{Map, Value, json};

/// Arguments that follow from words outside of values.
pub(crate) fn adjusted(tool: &str, arguments: &mut Map<String, Value>, s: &Sentence, covered: &[bool], now: &Zoned) {
    const LESS: &[&str] = &[
        "off", "less", "shorter", "shorten", "subtract", "reduce", "decrease", "remove", "minus", "knock", "cut",
        "fewer", "sooner", "earlier", "deduct", "trim", "shave", "lower", "down", "drop",
    ];
    let open = |at: &usize| !covered.get(*at).copied().unwrap_or_default();
    let less = (0..s.len()).filter(open).any(|at| LESS.contains(&s.word(at)));
    match (tool, arguments.get("duration").and_then(Value::as_str)) {
        ("adjust_timer", Some(duration)) if less && !duration.starts_with('-') => {
            let less = format!("-{duration}");
            arguments.insert("duration".to_owned(), less.into());
        }
        _ => {}
    }
    // "forget the thing about the key, she moved out": a reason names nothing.
    for (name, value) in arguments.iter_mut().filter(|(name, _)| name.ends_with("Id")) {
        let Some(said) = value.as_str().map(str::to_owned) else { continue };
        let bare = wording::without_reason(&said);
        let bare = if name == "memoryId" { wording::without_pointing(bare) } else { bare };
        if bare != said {
            *value = bare.into();
        }
    }
    if tool == "add_task"
        && !arguments.contains_key("category")
        && let Some(title) = arguments.get("title").and_then(Value::as_str).map(str::to_owned)
    {
        let title = wording::without_round(&title);
        if let Some((bare, reason)) = wording::reason(&title) {
            arguments.entry("notes").or_insert_with(|| reason.into());
            arguments.insert("title".to_owned(), bare.into());
        } else {
            arguments.insert("title".to_owned(), title.into());
        }
    }
    let whole = |words: &[&str]| (0..s.len()).filter(open).any(|at| words.contains(&s.word(at)));
    match tool {
        // "another ten" of a timer are minutes.
        "adjust_timer" | "snooze_timer" if !arguments.contains_key("duration") => {
            let mut read = (0..s.len()).filter(open).filter_map(|at| number::number(s, at)).filter(|(_, n)| *n > 0.0);
            if let Some((_, minutes)) = read.next().filter(|(_, n)| n.fract() == 0.0 && *n < 600.0) {
                let sign = if less { "-" } else { "" };
                arguments.insert("duration".to_owned(), format!("{sign}PT{minutes}M").into());
            }
        }
        "list_tasks" if whole(&["overdue", "behind", "late"]) => {
            arguments.remove("status");
            arguments.insert("overdue".to_owned(), true.into());
        }
        "list_deleted" if !arguments.contains_key("kind") => {
            let kind = (0..s.len()).filter(open).find_map(|at| KINDS.iter().find(|(_, all)| all.contains(&s.word(at))));
            if let Some((kind, _)) = kind {
                arguments.insert("kind".to_owned(), (*kind).into());
            }
        }
        // A note's text is also its title, and a title alone its text.
        "add_note" => {
            for (from, to) in [("content", "title"), ("title", "content")] {
                if let (Some(said), None) = (arguments.get(from).cloned(), arguments.get(to)) {
                    arguments.insert(to.to_owned(), said);
                }
            }
        }
        // What is said at a time is not also asked then.
        "create_scheduled_task" if arguments.contains_key("message") && arguments.contains_key("prompt") => {
            arguments.remove("prompt");
        }
        // What is asked or said at a time is also its name.
        "create_scheduled_task" if !arguments.contains_key("name") => {
            let said = arguments.get("message").or_else(|| arguments.get("prompt")).cloned();
            if let Some(said) = said {
                arguments.insert("name".to_owned(), said);
            }
        }
        "create_custom_table" => {
            let columns = arguments.get("columns").and_then(Value::as_str).map(columns);
            if let Some(columns) = columns.filter(|columns| !columns.is_empty()) {
                arguments.insert("columns".to_owned(), columns.into());
            }
            if let Some(table) = arguments.get("table").and_then(Value::as_str).map(identifier) {
                arguments.insert("table".to_owned(), table.into());
            }
        }
        "add_custom_record" => {
            if let Some(data) = arguments.get("data").and_then(Value::as_str).map(|text| record(text, now)) {
                match data {
                    Some(data) => arguments.insert("data".to_owned(), data.into()),
                    None => arguments.remove("data"),
                };
            }
            if let Some(table) = arguments.get("table").and_then(Value::as_str).map(identifier) {
                arguments.insert("table".to_owned(), table.into());
            }
        }
        _ => {}
    }
    // What money was spent on tells the category.
    if tool == "add_expense" && arguments.get("category").is_none_or(|category| category == "other") {
        let mut read = (0..s.len()).filter_map(|at| terms::category(s, at));
        if let Some((_, category)) = read.next() {
            arguments.insert("category".to_owned(), category.into());
        }
    }
}

/// What people call the kinds of records.
const KINDS: &[(&str, &[&str])] = &[
    ("task", &["task", "tasks", "todo", "todos", "item", "items", "chore", "chores"]),
    ("note", &["note", "notes", "memo", "memos"]),
    ("calendar event", &["event", "events", "appointment", "appointments", "meeting", "meetings"]),
    ("contact", &["contact", "contacts", "person", "people"]),
    ("expense", &["expense", "expenses", "spending"]),
    ("bookmark", &["bookmark", "bookmarks", "link", "links"]),
    ("goal", &["goal", "goals"]),
    ("memory", &["memory", "memories", "fact", "facts"]),
];

/// The name of a table or column, as tables are named: lower-case letters, digits and underscores.
fn identifier(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = text.trim().chars().map(plain).collect();
    name.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

/// The columns in "plant, date and litres", with the types that their names tell.
fn columns(text: &str) -> Vec<Value> {
    const NUMBERS: &[&str] = &[
        "amount",
        "number",
        "count",
        "price",
        "cost",
        "litres",
        "liters",
        "kwh",
        "km",
        "kg",
        "weight",
        "quantity",
        "age",
        "minutes",
        "hours",
        "temperature",
        "score",
        "size",
        "value",
        "euros",
        "grams",
        "distance",
        "reading",
    ];
    let names = items::split(text, true);
    let column = |name: String| {
        let name = identifier(&name);
        let last = name.rsplit('_').next().unwrap_or_default();
        let kind = match last {
            "date" | "day" | "birthday" => "date",
            _ if NUMBERS.contains(&last) => "number",
            _ => "text",
        };
        json!({"name": name, "type": kind})
    };
    names.into_iter().map(column).filter(|column| column["name"] != "").collect()
}

/// The values in "name basil, litres 2" or "name: basil, litres: 2" by column; `None` if a part has no column's name.
fn record(text: &str, now: &Zoned) -> Option<Map<String, Value>> {
    let pair = |part: &str| {
        let (name, value) = part.trim().split_once([':', '=', ' '])?;
        let value = value.trim().trim_start_matches("is ").trim();
        let read = Sentence::whole(value);
        let day = slots::read(Kind::Date, &read, 0, now).into_iter().find(|day| day.count == read.len());
        let known = value.parse::<f64>().ok().map(number::json).or_else(|| day.map(|day| day.value));
        let plain = name.chars().all(|c| c.is_alphabetic() || c == '_') && !value.is_empty();
        plain.then(|| (identifier(name), known.unwrap_or_else(|| value.into())))
    };
    text.split(", ").flat_map(|part| part.split(" and ")).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_of_values_tell_arguments() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (tool, given, text, wanted) in [
            ("adjust_timer", json!({"duration": "PT2M"}), "take two minutes off", json!({"duration": "-PT2M"})),
            ("adjust_timer", json!({"duration": "PT2M"}), "two minutes more", json!({"duration": "PT2M"})),
            ("adjust_timer", json!({}), "another ten", json!({"duration": "PT10M"})),
            ("adjust_timer", json!({}), "take ten off", json!({"duration": "-PT10M"})),
            ("list_deleted", json!({}), "which appointments were deleted", json!({"kind": "calendar event"})),
            ("list_deleted", json!({}), "what is in the bin", json!({})),
            ("list_tasks", json!({"status": "pending"}), "which jobs are overdue", json!({"overdue": true})),
            (
                "create_scheduled_task",
                json!({"prompt": "what is on today"}),
                "x",
                json!({"prompt": "what is on today", "name": "what is on today"}),
            ),
            (
                "add_custom_record",
                json!({"data": "name basil, litres 2 and date 3 december"}),
                "x",
                json!({"data": {"name": "basil", "litres": 2, "date": "2026-12-03"}}),
            ),
            ("add_custom_record", json!({"data": "4711"}), "x", json!({})),
            (
                "create_custom_table",
                json!({"table": "Plant watering", "columns": "plant, date and litres"}),
                "x",
                json!({"table": "plant_watering", "columns": [
                    {"name": "plant", "type": "text"},
                    {"name": "date", "type": "date"},
                    {"name": "litres", "type": "number"},
                ]}),
            ),
            ("add_expense", json!({"category": "other"}), "twelve euros for a taxi", json!({"category": "transport"})),
        ] {
            let s = Sentence::read(text);
            let mut arguments = given.as_object().cloned().unwrap_or_default();
            adjusted(tool, &mut arguments, &s, &vec![false; s.len()], &now);
            assert_eq!(Value::Object(arguments), wanted, "{text}");
        }
    }
}
