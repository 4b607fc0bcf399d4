//! A task as people jot it down: "book eye test, by end of month, important". The due date, the priority and the project may
//! stand before or behind what is to be done.

use crate::wording;
use crate::{
    sentence::Sentence,
    slots::{self, Kind},
};
use jiff::Zoned;
use serde_json::{Map, Value};

/// Words before a due date.
const DUE: &[&str] =
    &["by", "due", "due by", "due on", "before", "until", "till", "for", "deadline", "on", "needed by"];
/// Words that tell nothing about when.
const SOMETIME: &[&str] =
    &["sometime", "some time", "at some point", "one day", "when i can", "when i get round to it", "soonish", "then"];

/// The arguments of `add_task` in a jotting.
pub(crate) fn arguments(text: &str, now: &Zoned) -> Map<String, Value> {
    let mut found = Map::new();
    let mut text = wording::without_request(text).to_owned();
    // A day in the reason is none that the task is due.
    if let Some((title, reason)) = wording::reason(&text) {
        let (title, reason) = (title.to_owned(), reason.to_owned());
        found.insert("notes".to_owned(), reason.into());
        text = title;
    }
    loop {
        let before = text.clone();
        text = wording::trimmed(&text, SOMETIME).to_owned();
        if let Some(rest) = project_at_end(&text, &mut found) {
            text = rest;
        }
        for rest in [detail_at_end(&text, now, &mut found), detail_in_front(&text, now, &mut found)] {
            text = rest.unwrap_or(text);
        }
        if text == before {
            break;
        }
    }
    let title = Sentence::whole(&text);
    let title = if title.len() > 0 { title.slice(0, title.len()).to_owned() } else { text };
    found.insert("title".to_owned(), title.into());
    found
}

/// "… (project greenhouse)", "… [work]", "… #garden".
fn project_at_end(text: &str, found: &mut Map<String, Value>) -> Option<String> {
    if found.contains_key("category") {
        return None;
    }
    let text = text.trim();
    let (before, name) =
        if let Some((before, name)) = text.strip_suffix([')', ']']).and_then(|t| t.rsplit_once(['(', '['])) {
            (before, name.strip_prefix("project ").or_else(|| name.strip_suffix(" project"))?)
        } else {
            let (before, name) = text.rsplit_once([' ', ','])?;
            (before, name.strip_prefix('#').filter(|name| name.starts_with(char::is_alphabetic))?)
        };
    let (before, name) = (before.trim(), name.trim());
    (!before.is_empty() && !name.is_empty()).then(|| {
        found.insert("category".to_owned(), name.to_lowercase().into());
        before.to_owned()
    })
}

/// What a priority is called: words, and whether they need a break or "priority" beside them.
fn priority(s: &Sentence, at: usize) -> Option<(usize, Value)> {
    let words = [("hi", "high"), ("hi-pri", "high"), ("top", "urgent"), ("low", "low"), ("high", "high")];
    let short = words.iter().find(|(word, _)| s.word(at) == *word && ["prio", "pri"].contains(&s.word(at + 1)));
    if let Some((_, value)) = short {
        return Some((2, Value::from(*value)));
    }
    let broken = at == 0 || s.tokens.get(at).is_some_and(|token| token.after_break);
    let named = broken && ["priority", "prio"].contains(&s.word(at));
    let lead = usize::from(named || ["quite", "really"].contains(&s.word(at)));
    let lead = if s.has(at, &["it", "is"]) || s.has(at, &["that", "is"]) { 2 } else { lead };
    let (count, value) = slots::terms::priority(s, at + lead)?;
    let behind = usize::from(["priority", "prio"].contains(&s.word(at + lead + count)));
    Some((lead + count + behind, Value::from(value)))
}

/// A due date or priority that ends a jotting; the text before it.
fn detail_at_end(text: &str, now: &Zoned, found: &mut Map<String, Value>) -> Option<String> {
    let s = Sentence::whole(text);
    for at in 1..s.len() {
        let broken = s.tokens[at].after_break;
        let ends = |c: char| c.is_whitespace() || [',', '.', ';', '-', '–', ':'].contains(&c);
        let before = || s.text.get(..s.tokens[at].start).map(|text| text.trim_end_matches(ends).to_owned());
        if let Some((count, value)) = priority(&s, at)
            && at + count == s.len()
            && (broken || count > 1 || ["urgent", "urgently", "asap", "important"].contains(&s.word(at)))
        {
            // "low prio, no rush" says one thing twice.
            found.entry("priority").or_insert(value);
            return before();
        }
        if found.contains_key("dueDate") {
            continue;
        }
        let lead = lead_of_due(&s, at);
        let due =
            slots::read(Kind::When, &s, at + lead, now).into_iter().find(|read| at + lead + read.count == s.len());
        let due = due.or_else(|| end_of_month(&s, at + lead, now));
        // "read chapter 4" and "for two" name no day.
        let definite = |value: &Value| value.as_str().is_some_and(|text| text.len() >= 10);
        if let Some(read) = due.filter(|read| definite(&read.value)) {
            let (value, _) = slots::named_value(if lead > 0 { "dueBefore" } else { "dueDate" }, &read, &s, at + lead);
            found.insert("dueDate".to_owned(), value);
            return before();
        }
    }
    None
}

/// The number of words before a due date.
fn lead_of_due(s: &Sentence, at: usize) -> usize {
    let fits = DUE.iter().map(|lead| lead.split(' ').collect::<Vec<_>>()).filter(|lead| s.has(at, lead));
    fits.map(|lead| lead.len()).max().unwrap_or(0)
}

/// "end of month", "month end" without an article.
fn end_of_month(s: &Sentence, at: usize, now: &Zoned) -> Option<slots::Read> {
    let count = if s.has(at, &["end", "of", "the", "month"]) { 4 } else { 3 };
    let whole = (count == 4 || s.has(at, &["end", "of", "month"])) && at + count == s.len();
    let last = now.date().last_of_month();
    whole.then(|| slots::Read {
        count: s.len() - at,
        definite: s.len() - at,
        value: last.to_string().into(),
        beside: None,
        last: Some(last),
    })
}

/// A due date or priority that begins a jotting; the text after it.
fn detail_in_front(text: &str, now: &Zoned, found: &mut Map<String, Value>) -> Option<String> {
    let s = Sentence::whole(text);
    let rest = |at: usize| {
        let small = ["to", "i", "we", "need", "must", "have", "one", "and"];
        let at = (at..s.len()).find(|at| !small.contains(&s.word(*at)))?;
        s.text.get(s.tokens.get(at)?.start..).map(str::to_owned)
    };
    if !found.contains_key("priority")
        && let Some((count, value)) = priority(&s, 0)
        && let Some(next) = s.tokens.get(count)
        && (next.after_break || count > 1 || ["one", "task", "job"].contains(&s.word(count)))
    {
        let skipped = usize::from(["task", "job"].contains(&s.word(count)));
        let rest = rest(count + skipped)?;
        found.insert("priority".to_owned(), value);
        return Some(rest);
    }
    if found.contains_key("dueDate") {
        return None;
    }
    let lead = lead_of_due(&s, 0);
    let read = slots::read(Kind::When, &s, lead, now).into_iter().next()?;
    let end = lead + read.count;
    let next = s.tokens.get(end)?;
    let definite = read.value.as_str().is_some_and(|text| text.len() >= 10);
    if !definite || !(lead > 0 || next.after_break || ["i", "we", "to"].contains(&s.word(end)) || read.definite > 0) {
        return None;
    }
    let (value, _) = slots::named_value(if lead > 0 { "dueBefore" } else { "dueDate" }, &read, &s, lead);
    let rest = rest(end)?;
    found.insert("dueDate".to_owned(), value);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn jottings_have_dates_priorities_and_projects_on_either_side() {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        for (text, wanted) in [
            (
                "book ezras eye test. by end of month. important",
                json!({"title": "book ezras eye test", "dueDate": "2026-11-30", "priority": "high"}),
            ),
            (
                "chase HMRC re marriage allowance claim, due 4 dec, high",
                json!({"title": "chase HMRC re marriage allowance claim", "dueDate": "2026-12-04", "priority": "high"}),
            ),
            ("chase landlord re boiler. hi prio", json!({"title": "chase landlord re boiler", "priority": "high"})),
            (
                "rewrite the mqtt reconnect bit in the firmware (project greenhouse), low prio, no rush",
                json!({
                    "title": "rewrite the mqtt reconnect bit in the firmware",
                    "category": "greenhouse",
                    "priority": "low",
                }),
            ),
            ("by friday: pay the gas bill", json!({"title": "pay the gas bill", "dueDate": "2026-11-27"})),
            ("urgent: ring the vet", json!({"title": "ring the vet", "priority": "urgent"})),
            (
                "feed the fish because we are away on sunday",
                json!({"title": "feed the fish", "notes": "because we are away on sunday"}),
            ),
            ("read chapter 4", json!({"title": "read chapter 4"})),
            ("descale the kettle sometime", json!({"title": "descale the kettle"})),
            ("pay the high street parking fine", json!({"title": "pay the high street parking fine"})),
            ("finish the essay by 4pm tomorrow", json!({"title": "finish the essay", "dueDate": "2026-11-24T16:00"})),
        ] {
            assert_eq!(Value::Object(arguments(text, &now)), wanted, "{text}");
        }
    }
}
