//! The exchanges before a sentence: what was said, which calls were made for it, and the records that they made or showed.

use llm::{Message, Turn};
use serde_json::{Map, Value};

/// How many exchanges back something is still meant.
const MOST: usize = 6;

/// A call of an exchange with its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub content: Value,
    pub failed: bool,
}

/// One thing said, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Exchange<'a> {
    pub said: String,
    pub answered: &'a str,
    pub calls: Vec<Call>,
}

/// A record that was made or shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thing {
    /// Its kind, as people say it.
    pub noun: &'static str,
    pub name: String,
    /// What names it in a call: its id, else its name.
    pub key: String,
    pub record: Value,
}

/// The exchanges before message `last`, the latest first.
pub(crate) fn before(messages: &[Message], last: usize) -> Vec<Exchange<'_>> {
    let mut all: Vec<Exchange> = vec![];
    let mut pending: Vec<(String, String)> = vec![];
    for message in messages.get(..last).unwrap_or_default() {
        match message {
            Message::User(said) => {
                pending.clear();
                all.push(Exchange { said: said.text().into_owned(), answered: "", calls: vec![] });
            }
            Message::Assistant(Turn { content, tool_calls, .. }) => {
                pending.extend(tool_calls.iter().map(|call| (call.id.clone(), call.arguments.clone())));
                if let Some(exchange) = all.last_mut().filter(|_| !content.is_empty()) {
                    exchange.answered = content;
                }
            }
            Message::Tool(result) => {
                let given = pending.iter().find(|(id, _)| *id == result.call_id).map(|(_, given)| given.as_str());
                let arguments = given.and_then(|given| serde_json::from_str(given).ok()).unwrap_or_default();
                let content = serde_json::from_str(&result.content).unwrap_or_default();
                let call = Call { tool: result.name.clone(), arguments, content, failed: result.is_error };
                all.last_mut().into_iter().for_each(|exchange| exchange.calls.push(call.clone()));
            }
            Message::System(_) => {}
        }
    }
    all.reverse();
    all.truncate(MOST);
    all
}

impl Exchange<'_> {
    /// The calls that succeeded, without the undoing of earlier ones; a batch is one call for each of its parts.
    pub fn done(&self) -> Vec<Call> {
        let done = self.calls.iter().filter(|call| !call.failed && call.tool != "undo");
        done.flat_map(|call| call.parts()).collect()
    }

    /// The records that were made or shown, in order.
    pub fn things(&self) -> Vec<Thing> {
        self.calls.iter().filter(|call| !call.failed && call.tool != "undo").flat_map(Call::things).collect()
    }
}

impl Call {
    fn parts(&self) -> Vec<Self> {
        let (Some(tool), Some(tasks)) = (
            self.tool.strip_prefix("batch_").and_then(|tool| tool.strip_suffix('s')),
            self.arguments.values().find_map(Value::as_array),
        ) else {
            return vec![self.clone()];
        };
        let records = self.content.as_object().and_then(|map| map.values().find_map(Value::as_array));
        let part = |(i, arguments): (usize, &Value)| Self {
            tool: tool.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            content: records.and_then(|all| all.get(i)).cloned().unwrap_or_default(),
            failed: false,
        };
        tasks.iter().enumerate().map(part).collect()
    }

    /// A text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name)?.as_str()
    }

    /// The id of the record it made or changed.
    pub fn id(&self) -> Option<&str> {
        self.content.get("id")?.as_str()
    }

    /// The record that answered a question.
    fn told_of(&self) -> Option<Thing> {
        let source = &self.content;
        let text = |key: &str| source.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let kind = text("kind")?;
        let noun = ["reminder", "task", "note", "event", "expense", "contact", "bookmark", "goal", "memory"]
            .into_iter()
            .find(|noun| *noun == kind)?;
        let name = text("title").or_else(|| text("name"))?;
        Some(Thing { noun, name, key: text("id")?, record: source.clone() })
    }

    fn things(&self) -> Vec<Thing> {
        const NOUNS: &[(&str, &str)] = &[
            ("scheduled", "reminder"),
            ("timer", "timer"),
            ("task", "task"),
            ("note", "note"),
            ("calendar", "event"),
            ("expense", "expense"),
            ("contact", "contact"),
            ("bookmark", "bookmark"),
            ("goal", "goal"),
            ("memor", "memory"),
            ("remember", "memory"),
            ("recall", "memory"),
        ];
        if self.tool.starts_with("delete_") || ["expense_summary", "cancel_timer"].contains(&self.tool.as_str()) {
            return vec![];
        }
        if self.tool == "answer_question" {
            return self.told_of().into_iter().collect();
        }
        let Some((_, noun)) = NOUNS.iter().find(|(part, _)| self.tool.contains(part)) else { return vec![] };
        let list = self
            .content
            .as_object()
            .and_then(|map| map.iter().filter(|(key, _)| *key != "tags").find_map(|(_, value)| value.as_array()));
        let entries: Vec<&Value> = match list {
            Some(list) => list.iter().collect(),
            None => vec![&self.content],
        };
        let thing = |record: &Value| {
            let text = |key: &&str| record.get(*key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let name = ["title", "name", "description", "content", "url"].iter().find_map(text)?;
            let key = text(&"id")?;
            Some(Thing { noun, name, key, record: record.clone() })
        };
        entries.into_iter().filter_map(thing).collect()
    }
}

impl Thing {
    /// What the tools of its kind are called after, and the argument that names one.
    pub fn kind(&self) -> (&'static str, &'static str) {
        match self.noun {
            "reminder" => ("scheduled_task", "taskId"),
            "task" => ("task", "taskId"),
            "event" => ("calendar_event", "eventId"),
            "timer" => ("timer", "timer"),
            "note" => ("note", "noteId"),
            "expense" => ("expense", "expenseId"),
            "contact" => ("contact", "contactId"),
            "memory" => ("memory", "memoryId"),
            "bookmark" => ("bookmark", "bookmarkId"),
            _ => ("goal", "goalId"),
        }
    }

    /// When it is: begins, rings or is due.
    pub fn moment(&self) -> Option<&str> {
        ["startTime", "nextRun", "dueDate", "date"].iter().find_map(|key| self.record.get(*key)?.as_str())
    }
}
