//! Several items in one sentence: "milk, eggs and bread" are three tasks on the shopping list, and two ticks are two calls.

use crate::{goods, sentence::Sentence, slots, wording};
use serde_json::{Map, Value, json};
use tool::Risk;

/// The calls for a tool whose argument may have several values: one for each, or one of the tool's batch.
pub(crate) fn calls(
    tool: &str,
    arguments: &Map<String, Value>,
    items: &[(String, Vec<String>)],
    risk: &(dyn Fn(&str) -> Option<Risk> + Send + Sync),
) -> Vec<(String, Value)> {
    let one = |arguments: Map<String, Value>| (tool.to_owned(), Value::Object(arguments));
    let said = match items {
        [(name, values)] => {
            let on_list = tool == "add_task" && name == "title";
            let values = values.iter().map(|value| if on_list { bare(value) } else { value.clone() });
            Some((name.as_str(), values.filter(|value| !["", "oh"].contains(&&**value)).collect()))
        }
        [] => listed(tool, arguments),
        // Two arguments with several values each: which belongs to which is anybody's guess.
        _ => return vec![],
    };
    let Some((name, values)) = said else { return vec![one(arguments.clone())] };
    let each = values.into_iter().map(|value| {
        let mut arguments = arguments.clone();
        arguments.insert(name.to_owned(), value.into());
        arguments
    });
    let mut each = each.peekable();
    let first = each.next();
    if each.peek().is_none() {
        return first.into_iter().map(one).collect();
    }
    let each = first.into_iter().chain(each);
    if tool == "add_task" && risk("batch_add_tasks").is_some() {
        let tasks: Vec<Value> = each.map(Value::Object).collect();
        return vec![("batch_add_tasks".to_owned(), json!({ "tasks": tasks }))];
    }
    each.map(one).collect()
}

/// A batch as one call to show: "milk, eggs and bread".
pub(crate) fn as_one(tool: &str, arguments: &Map<String, Value>) -> Option<(&'static str, Map<String, Value>)> {
    let tasks = arguments.get("tasks").filter(|_| tool == "batch_add_tasks")?.as_array()?;
    let titles: Vec<String> = tasks.iter().filter_map(|task| task.get("title")?.as_str().map(str::to_owned)).collect();
    let mut one = tasks.first()?.as_object()?.clone();
    let (last, before) = titles.split_last()?;
    let all = if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) };
    one.insert("title".to_owned(), all.into());
    Some(("add_task", one))
}

/// The items in the title of a list's item, if there are several.
fn listed<'t>(tool: &str, arguments: &Map<String, Value>) -> Option<(&'t str, Vec<String>)> {
    if tool != "add_task" {
        return None;
    }
    let title = arguments.get("title")?.as_str()?;
    let on_list = arguments.get("category").is_some_and(Value::is_string);
    let items = split(if on_list { wording::without_reason(title) } else { title }, on_list);
    (items.len() > 1 || items.first().is_some_and(|item| item != title)).then_some(("title", items))
}

/// Pairs that are one thing.
const ONE_THING: &[&str] = &[
    "mac and cheese",
    "fish and chips",
    "salt and pepper",
    "salt and vinegar",
    "bread and butter",
    "gin and tonic",
    "half and half",
    "cookies and cream",
    "peanut butter and jelly",
    "ham and cheese",
    "sweet and sour",
    "black and white",
    "bed and breakfast",
    "rice and beans",
    "cheese and onion",
    "head and shoulders",
    "strawberries and cream",
    "oil and vinegar",
    "pork and beans",
    "nuts and bolts",
    "needle and thread",
    "pen and paper",
    "sour cream and onion",
    "rhubarb and custard",
    "bubble and squeak",
    "bangers and mash",
    "macaroni and cheese",
    "arts and crafts",
    "bits and pieces",
    "odds and ends",
    "lock and key",
    "knife and fork",
    "bucket and spade",
    "dustpan and brush",
    "hook and loop",
    "wash and go",
    "ben and jerry",
    "marks and spencer",
    "h and m",
    "m and m",
    "johnson and johnson",
    "dungeons and dragons",
    "war and peace",
    "pride and prejudice",
];

/// The items of an enumeration. Without a list's name, "call Tom and Anna" is one task, and only commas and "and" together
/// tell items apart. On a list the items stand without amends and asides, and goods need no commas.
pub(crate) fn split(text: &str, on_list: bool) -> Vec<String> {
    let amended = if on_list { amended(text) } else { None };
    let text = amended.as_deref().unwrap_or(text);
    let whole = || vec![if on_list { bare(text) } else { text.to_owned() }];
    if text.contains(['"', '“', '(', ':']) {
        return whole();
    }
    let commas = text.contains(", ") || on_list && text.contains([';', '\n']);
    if !on_list && !commas {
        return whole();
    }
    let mut items: Vec<String> = vec![];
    for part in text.split(", ").flat_map(|part| part.split(" & ")) {
        let parts: Vec<&str> = match on_list {
            true => part.split([';', '\n']).flat_map(|p| p.split(" n ")).flat_map(|p| p.split(" plus ")).collect(),
            false => vec![part],
        };
        for part in parts {
            let part = part.trim().strip_prefix("and ").unwrap_or(part.trim());
            items.extend(at_and(part));
        }
    }
    let items: Vec<String> =
        items.into_iter().map(|item| bare(&item)).filter(|item| !["", "oh"].contains(&&**item)).collect();
    let items: Vec<String> = match on_list {
        true => items
            .into_iter()
            .flat_map(|item| match ONE_THING.iter().any(|pair| item.to_lowercase().contains(pair)) {
                true => vec![item],
                false => goods::apart(&item).unwrap_or_else(|| vec![item]),
            })
            .collect(),
        false => items,
    };
    // Items are short; anything longer is a sentence about something.
    let most = match (on_list, commas) {
        (true, true) => 8,
        (true, false) => 6,
        (false, _) => 4,
    };
    match items.len() > 1 && items.iter().all(|item| item.split(' ').count() <= most) {
        true => items,
        false => whole(),
    }
}

/// The text after somebody changed their mind in it: "bread, nappies, no wait not nappies, calpol", "a bag of grit, no two bags".
fn amended(text: &str) -> Option<String> {
    const WAIT: &[&str] =
        &["no wait ", "wait no ", "no hang on ", "actually ", "oh no ", "no sorry ", "sorry ", "no ", "wait "];
    let lower = text.to_lowercase();
    if lower.len() != text.len() {
        return None;
    }
    // "… no wait not nappies, …": the item goes, wherever it stood before.
    for wait in WAIT {
        let Some(at) = lower.find(&format!(" {wait}not ")) else { continue };
        let begin = at + 1 + wait.len() + "not ".len();
        let end = lower[begin..].find([',', '.']).map_or(text.len(), |end| begin + end);
        let dropped = lower[begin..end].trim().trim_start_matches("the ");
        let before = text[..at].trim_end_matches([',', ' ', '-']);
        let low = before.to_lowercase();
        let found = low.rfind(dropped).filter(|_| !dropped.is_empty())?;
        let kept = format!("{} {}", &before[..found], &before[found + dropped.len()..]);
        let kept = kept.trim().trim_end_matches([',', ' ']);
        let rest = text[end..].trim_start_matches([',', '.', ' ']);
        return Some([kept, rest].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "));
    }
    // "a bag of grit, no two bags": another amount, or another thing.
    let (before, after) = text.rsplit_once(", ")?;
    let low = after.to_lowercase();
    let wait = WAIT.iter().find(|wait| low.starts_with(**wait) && **wait != "wait ")?;
    let instead = after[wait.len()..].trim_start_matches("make that ").trim_start_matches("make it ");
    let (first, last) = match before.rsplit_once(", ").or_else(|| before.rsplit_once(" and ")) {
        Some((first, last)) => (format!("{first}, "), last),
        None => (String::new(), before),
    };
    let counts = instead.split(' ').count() <= 2 && slots::number::number(&Sentence::whole(instead), 0).is_some();
    match last.split_once(" of ").filter(|_| counts && !instead.contains(" of ")) {
        Some((_, thing)) => Some(format!("{first}{instead} of {thing}")),
        None => Some(format!("{first}{instead}")),
    }
}

/// Splits at "and", but not within a pair that is one thing.
fn at_and(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    if let Some(pair) = ONE_THING.iter().find(|pair| lower.contains(*pair)) {
        let at = lower.find(pair).unwrap_or_default();
        let (Some(before), Some(within)) = (text.get(..at), text.get(at..)) else { return vec![text.to_owned()] };
        let Some((first, rest)) = within.get(pair.len()..).and_then(|rest| rest.split_once(" and ")) else {
            return match before.strip_suffix(" and ") {
                Some(before) => at_and(before).into_iter().chain([within.to_owned()]).collect(),
                None => vec![text.to_owned()],
            };
        };
        let one = format!("{before}{}{first}", &within[..pair.len()]);
        return std::iter::once(one).chain(at_and(rest)).collect();
    }
    text.split(" and ").map(str::to_owned).collect()
}

/// Without the words that only introduce it.
fn bare(item: &str) -> String {
    let mut item = item.trim().trim_end_matches(['.', ',', ';']);
    for word in ["also ", "oh and ", "and ", "oh ", "some of ", "some ", "of ", "then ", "plus ", "as well as "] {
        item = item.strip_prefix(word).unwrap_or(item);
    }
    for word in [" as well", " too", " please", " pls", " again", " for tonight", " 4 tonight"] {
        item = item.strip_suffix(word).unwrap_or(item);
    }
    item.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enumerations_become_items() {
        for (text, on_list, wanted) in [
            ("milk", true, &["milk"][..]),
            ("milk and eggs", true, &["milk", "eggs"]),
            ("milk, eggs and brown bread", true, &["milk", "eggs", "brown bread"]),
            ("milk, eggs, and some bread", true, &["milk", "eggs", "bread"]),
            ("milk bread nappies no wait not nappies, calpol", true, &["milk", "bread", "calpol"]),
            ("a bag of grit, no two bags", true, &["two bags of grit"]),
            ("milk bread binbags n that cheap hummus", true, &["milk", "bread", "binbags", "that cheap hummus"]),
            ("two pints of milk", true, &["two pints of milk"]),
            ("bread as well", true, &["bread"]),
            ("mac and cheese", true, &["mac and cheese"]),
            ("mac and cheese and milk", true, &["mac and cheese", "milk"]),
            ("milk and fish and chips", true, &["milk", "fish and chips"]),
            ("call Tom and Anna", false, &["call Tom and Anna"]),
            ("eggs, milk and rice", false, &["eggs", "milk", "rice"]),
            (
                "tell Tom that we leave at ten, and that he should bring the tent",
                false,
                &["tell Tom that we leave at ten, and that he should bring the tent"],
            ),
            ("the book “War, and Peace”", true, &["the book “War, and Peace”"]),
        ] {
            assert_eq!(split(text, on_list), wanted, "{text}");
        }
    }

    #[test]
    fn several_items_are_one_batch_or_several_calls() {
        let list = json!({"title": "milk and eggs", "category": "shopping"});
        let list = list.as_object().unwrap();
        let batch =
            json!({"tasks": [{"title": "milk", "category": "shopping"}, {"title": "eggs", "category": "shopping"}]});
        assert_eq!(calls("add_task", list, &[], &|_| Some(Risk::Write)), [("batch_add_tasks".to_owned(), batch)]);
        assert_eq!(calls("add_task", list, &[], &|_| None).len(), 2);
        let ticked = json!({"taskId": "milk"});
        let items = [("taskId".to_owned(), vec!["milk".to_owned(), "eggs".to_owned()])];
        let done = calls("complete_task", ticked.as_object().unwrap(), &items, &|_| Some(Risk::Write));
        assert_eq!(done[1], ("complete_task".to_owned(), json!({"taskId": "eggs"})));
        assert_eq!(done.len(), 2);
    }
}
