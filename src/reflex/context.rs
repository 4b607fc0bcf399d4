//! What a sentence means after those before it: "it" and "the second one" are what was shown or changed last, "no, I meant 6"
//! says the last sentence again with another value, and "at 7" answers "When?".
//!
//! Each yields other sentences to classify in place of what was said; nothing is remembered beside the conversation.

use crate::{
    classification::{Classification, Stage},
    mask::mask,
    sentence::Sentence,
    slots::{self, Kind},
    stance,
    talkback::exchange::{self, Exchange},
};
use jiff::Zoned;
use llm::{Message, ToolResult, Turn};
use serde_json::Value;
use tool::Risk;

/// Asks for the name of a list that is begun.
const NEW_LIST: &str = "What is the new list called?";

/// Something that was shown or changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thing {
    /// Its kind as people say it: `task`, `note`.
    noun: &'static str,
    name: String,
}

/// The turn before the person's last message.
#[derive(Debug, Default)]
pub(crate) struct Context<'a> {
    /// What the person said before.
    said: Option<String>,
    /// What was answered.
    answered: &'a str,
    /// The results of the calls made for it.
    results: Vec<&'a ToolResult>,
    /// All messages before.
    messages: &'a [Message],
}

impl<'a> Context<'a> {
    /// The turn before message `last`, which is the person's.
    pub fn before(messages: &'a [Message], last: usize) -> Self {
        let mut context = Self { messages: &messages[..last], ..Self::default() };
        for message in messages[..last].iter().rev() {
            match message {
                Message::User(said) => {
                    context.said = Some(said.text().into_owned());
                    break;
                }
                Message::Assistant(Turn { content, .. }) if context.answered.is_empty() => context.answered = content,
                Message::Tool(result) => context.results.insert(0, result),
                Message::Assistant(_) | Message::System(_) => {}
            }
        }
        context
    }

    /// The turn before the person's last message.
    pub fn of(messages: &'a [Message]) -> Self {
        let last = messages.iter().rposition(|m| matches!(m, Message::User(_)));
        last.map(|last| Self::before(messages, last)).unwrap_or_default()
    }

    /// The turn before the one before.
    pub fn earlier(&self) -> Option<Self> {
        let last = self.messages.iter().rposition(|m| matches!(m, Message::User(_)))?;
        Some(Self::before(self.messages, last))
    }

    /// The exchanges before, the latest first.
    pub fn exchanges(&self) -> Vec<Exchange<'a>> {
        exchange::before(self.messages, self.messages.len())
    }

    /// The tools whose calls succeeded.
    fn called(&self) -> impl Iterator<Item = &str> {
        self.results.iter().filter(|result| !result.is_error).map(|result| result.name.as_str())
    }

    /// What was shown or changed, in order.
    pub fn things(&self) -> Vec<Thing> {
        self.results.iter().filter(|result| !result.is_error).flat_map(|result| things(result)).collect()
    }

    /// The sentence with what "it" or "the second one" stands for; `None` if it points at nothing.
    pub fn resolved(&self, text: &str) -> Option<String> {
        let s = Sentence::read(text);
        let (at, count, which) = pointer(&s)?;
        let things = self.things();
        let thing = match which {
            Which::It if things.len() == 1 => things.first(),
            Which::It => None,
            Which::Number(n) => things.get(n),
            Which::Last => things.last(),
            Which::Other if things.len() == 2 => things.last(),
            Which::Other => None,
        }?;
        let (from, to) = (s.tokens.get(at)?.start, s.tokens.get(at + count - 1)?.end);
        let named = match thing.noun {
            "timer" => format!("the {} timer", thing.name),
            // A pin is named by its number alone.
            "pin" => thing.name.clone(),
            noun => format!("the {noun} {}", thing.name),
        };
        // "bin it" is said of what is deleted.
        const DELETES: &[&str] = &["bin", "chuck", "ditch", "junk", "scrap", "axe", "lose"];
        let said = &s.text[..from];
        let lead = match s.tokens.first() {
            Some(verb) if DELETES.contains(&verb.word.as_str()) => {
                format!("{}delete{}", &said[..verb.start], &said[verb.end..])
            }
            _ => said.to_owned(),
        };
        Some(format!("{lead}{named}{}", &s.text[to..]))
    }

    /// The person's sentence before with another value, if this is a correction of it: "no, I meant 6", "make that 7".
    pub fn corrected(&self, text: &str, now: &Zoned) -> Option<String> {
        let changed = self.results.iter().any(|result| !result.is_error);
        let before = self.said.as_deref().filter(|_| changed)?;
        let value = correction(text)?;
        replaced(before, value, now)
    }

    /// The person's sentence before together with this answer to "When?" or "What?", likeliest first.
    pub fn completed(&self, text: &str) -> Vec<String> {
        const ASKED: &[&str] = &[
            "What goes on",
            NEW_LIST,
            "When?",
            "Which day?",
            "How much?",
            "How long?",
            "Which list?",
            "What?",
            "For how long?",
            "For when?",
            "Who?",
        ];
        // "Which timer: 3 minutes or pizza?" is answered by naming it.
        if let (true, Some(before)) = (self.answered.starts_with("Which timer"), self.said.as_deref())
            && let Some(at) = before.rfind("timer")
        {
            let which = text.trim().trim_end_matches(['.', '!']);
            let which = which.strip_prefix("the ").unwrap_or(which);
            let which = [" timer", " one"].iter().find_map(|end| which.strip_suffix(end)).unwrap_or(which);
            return vec![format!("{}{which} {}", &before[..at], &before[at..])];
        }
        // "ah dinnertime, make it quarter past twelve": the value is all that counts.
        let lower = text.to_lowercase();
        let value = ["make it ", "make that ", "let's say ", "say ", "it's "].iter().find_map(|lead| {
            Some(lower.find(lead).filter(|at| *at == 0 || lower.as_bytes()[at - 1] == b' ')? + lead.len())
        });
        let text = value.and_then(|at| text.get(at..)).unwrap_or(text);
        let asked = ASKED.iter().any(|begin| self.answered.starts_with(begin));
        let (Some(before), true) = (self.said.as_deref().filter(|_| asked), Sentence::whole(text).len() <= 12) else {
            return vec![];
        };
        let (before, text) = (before.trim_end_matches(['.', '!', '?', ' ']), text.trim_end_matches(['.', '!', ' ']));
        // A question is no item, and no name of a list.
        let read = Sentence::read(text);
        let about_a_list = self.answered.starts_with("What goes on") || self.answered.starts_with(NEW_LIST);
        if about_a_list && (read.asks || stance::opens_question(&read)) {
            return vec![];
        }
        let words = match self.answered {
            "What?" => ["", "to ", "that "],
            asked if asked.starts_with("What goes on") => [": ", "", ""],
            asked if asked.starts_with(NEW_LIST) => ["called ", "", ""],
            _ => ["", "at ", "for "],
        };
        words.iter().map(|word| format!("{before} {word}{text}")).collect()
    }
}

/// A correction in place of what was done: what changed is taken back first. `None` if that cannot be, or if the correction
/// is not surely a call.
pub(crate) fn instead(
    placed: Classification,
    context: &Context,
    risk: &(dyn Fn(&str) -> Option<Risk> + Send + Sync),
) -> Option<Classification> {
    let again = placed.tool.clone()?;
    let changes = |tool: &str| risk(tool).is_some_and(Risk::changes_something);
    if placed.stage == Stage::Question || !context.called().any(changes) && !changes(&again) {
        return (placed.stage != Stage::Question).then_some(placed);
    }
    let only_writes = |tool: &str| matches!(risk(tool), Some(Risk::Observe | Risk::Write));
    if risk(UNDO).is_none()
        || !context.called().all(only_writes)
        || !only_writes(&again)
        || context.called().count() != 1
    {
        return None;
    }
    let calls = std::iter::once((again, placed.arguments)).chain(placed.more);
    Some(Classification {
        tool: Some(UNDO.to_owned()),
        arguments: Value::Object(serde_json::Map::new()),
        more: calls.collect(),
        why: format!("a correction: {}", placed.why),
        ..placed
    })
}

/// The tool that takes the last change back.
const UNDO: &str = "undo";

/// Which of several things.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Which {
    It,
    Number(usize),
    Last,
    Other,
}

/// A word that points at something, with its place and length.
fn pointer(s: &Sentence) -> Option<(usize, usize, Which)> {
    const DOES: &[&str] = &[
        "delete",
        "remove",
        "cancel",
        "complete",
        "tick",
        "mark",
        "finish",
        "move",
        "reschedule",
        "change",
        "rename",
        "postpone",
        "push",
        "pin",
        "update",
        "set",
        "put",
        "turn",
        "switch",
        "pause",
        "resume",
        "stop",
        "snooze",
        "share",
        "read",
        "open",
        "show",
        "cross",
        "check",
        "bump",
        "shift",
        "scrap",
        "drop",
        "delay",
        "extend",
        "restart",
        "do",
        "make",
        "forget",
        "call",
        "strike",
        "add",
        "keep",
        "take",
        "unpin",
        "archive",
        "edit",
        "i",
        "close",
        "get",
        "erase",
        "clear",
        "bin",
        "chuck",
        "ditch",
        "junk",
        "axe",
        "lose",
    ];
    const BEHIND: &[&str] = &[
        "", "to", "on", "off", "in", "at", "from", "as", "by", "for", "again", "too", "please", "tomorrow", "today",
        "until", "done", "back", "with", "high", "low", "with", "is", "now", "forward", "one", "after", "before",
        "and", "until", "urgent", "later", "earlier", "already",
    ];
    if !DOES.contains(&s.word(0)) {
        return None;
    }
    const NUMBERS: &[(&str, usize)] = &[
        ("first", 0),
        ("1st", 0),
        ("second", 1),
        ("2nd", 1),
        ("third", 2),
        ("3rd", 2),
        ("fourth", 3),
        ("4th", 3),
        ("fifth", 4),
        ("5th", 4),
    ];
    for at in 1..s.len() {
        let (word, next) = (s.word(at), s.word(at + 1));
        if word == "the" || word == "number" {
            let which = match next {
                "last" | "latter" => Some(Which::Last),
                "other" => Some(Which::Other),
                _ => NUMBERS.iter().find(|(number, _)| *number == next).map(|(_, n)| Which::Number(*n)),
            };
            let count = if s.word(at + 2) == "one" { 3 } else { 2 };
            if let Some(which) = which.filter(|_| count == 3 || BEHIND.contains(&s.word(at + 2))) {
                return Some((at, count, which));
            }
        }
        // "that list" and "it is" point at nothing alone.
        let alone = BEHIND.contains(&next) && next != "is" && next != "and";
        match word {
            // "make it rain" is about nothing.
            "it" if s.word(0) == "make" && !BEHIND.contains(&next) => {}
            "it" if next != "is" && next != "was" => return Some((at, 1, Which::It)),
            "that" | "this" if next == "one" => return Some((at, 2, Which::It)),
            "that" | "this" | "them" if alone => return Some((at, 1, Which::It)),
            _ => {}
        }
    }
    None
}

/// What a result shows: the entries of its list, or itself.
fn things(result: &ToolResult) -> Vec<Thing> {
    const NOUNS: &[(&str, &str)] = &[
        ("scheduled", "reminder"),
        ("trigger", "trigger"),
        ("timer", "timer"),
        ("task", "task"),
        ("list", "task"),
        ("note", "note"),
        ("calendar", "appointment"),
        ("expense", "expense"),
        ("contact", "contact"),
        ("bookmark", "bookmark"),
        ("goal", "goal"),
        ("gpio", "pin"),
    ];
    let Some((_, noun)) = NOUNS.iter().find(|(part, _)| result.name.contains(part)) else { return vec![] };
    let Ok(content) = serde_json::from_str::<Value>(&result.content) else { return vec![] };
    let name = |value: &Value| {
        if let Some(pin) = value.get("pin").and_then(Value::as_u64) {
            return Some(format!("pin {pin}"));
        }
        let keys = ["title", "message", "name", "description", "content", "url"];
        keys.iter().find_map(|key| value.get(*key)?.as_str()).map(str::to_owned)
    };
    let list = content.as_object().and_then(|map| map.values().find_map(Value::as_array));
    let entries: Vec<&Value> = match list {
        Some(list) if list.iter().any(Value::is_object) => list.iter().collect(),
        _ => vec![&content],
    };
    entries.into_iter().filter_map(|value| Some(Thing { noun, name: name(value)? })).collect()
}

/// The value of "no, I meant 6", "make that 7", "sorry, tuesday", "actually 10 minutes"; `None` for anything else.
fn correction(text: &str) -> Option<&str> {
    const BEGIN: &[&str] = &[
        "no i meant",
        "no i mean",
        "i meant",
        "i mean",
        "no make that",
        "make that",
        "make it",
        "no make it",
        "no sorry",
        "sorry i meant",
        "sorry",
        "oops i meant",
        "oops",
        "actually make it",
        "actually make that",
        "actually i meant",
        "actually",
        "wait i meant",
        "no wait",
        "no not that",
        "correction",
        "i said",
        "no i said",
        "change that to",
        "change it to",
        "no change it to",
        "rather",
        "no rather",
        "no",
    ];
    const LEADS: &[&str] = &["no", "sorry", "oops", "wait", "actually", "hang on", "hold on", "oh", "my bad"];
    let s = Sentence::whole(text);
    let has = |at: usize, phrase: &str| s.has(at, &phrase.split(' ').collect::<Vec<_>>());
    let mut at = 0;
    while let Some(lead) = LEADS.iter().find(|lead| has(at, lead)) {
        let longer = BEGIN.iter().any(|begin| begin.split(' ').count() > lead.split(' ').count() && has(at, begin));
        if longer {
            break;
        }
        at += lead.split(' ').count();
    }
    let begin = BEGIN.iter().filter(|begin| has(at, begin)).max_by_key(|begin| begin.len());
    at += begin.map_or(0, |begin| begin.split(' ').count());
    let rest = s.slice(at, s.len());
    // A short value, and nothing without a word that corrects.
    (at > 0 && at < s.len() && s.len() - at <= 7).then(|| {
        let from = s.text.find(rest).unwrap_or_default();
        &text[from..from + rest.len()]
    })
}

/// Finds a part of a moment between two tokens.
type Find<'f> = &'f dyn Fn(&Sentence, usize, usize) -> Option<(usize, usize)>;

/// The sentence with its value of the same kind replaced.
fn replaced(before: &str, value: &str, now: &Zoned) -> Option<String> {
    let (s, new) = (Sentence::read(before), Sentence::whole(value));
    let masked = mask(&s, now);
    let of_new = mask(&new, now);
    let whole = |kind: Kind| {
        let from = usize::from(["at", "on", "for", "to"].contains(&new.word(0)) && new.len() > 1);
        [0, from].iter().any(|at| slots::read(kind, &new, *at, now).iter().any(|read| at + read.count == new.len()))
    };
    let number = of_new.spans.len() == 1 && of_new.spans[0].kind == Kind::Number && of_new.spans[0].count == new.len();
    for span in masked.spans.iter().rev() {
        let words: Vec<&str> = (span.at..span.at + span.count).map(|at| s.word(at)).collect();
        let (from, to) = match (span.kind, number) {
            // A number alone takes the place of the number.
            (Kind::When | Kind::Duration | Kind::Money | Kind::Number | Kind::Every | Kind::Unit | Kind::Pin, true) => {
                let at = words.iter().position(|w| w.starts_with(|c: char| c.is_ascii_digit())).or_else(|| {
                    (0..words.len()).find(|i| {
                        slots::read(Kind::Number, &s, span.at + i, now)
                            .iter()
                            .any(|_| !["a", "an"].contains(&words[*i]))
                    })
                })?;
                (span.at + at, span.at + at + 1)
            }
            (kind, false) if whole(kind) => (span.at, span.at + span.count),
            _ => continue,
        };
        // "tuesday" in the place of "on friday at 7" leaves the time, and "at 10" the day.
        let inside = |find: Find<'_>| {
            let all = find(&new, 0, new.len()) == Some((0, new.len()));
            find(&s, from, to).filter(|_| all && span.kind == Kind::When)
        };
        let (from, to) =
            inside(&day_of).or_else(|| inside(&|s, from, to| time_of(s, from, to, now))).unwrap_or((from, to));
        let (start, end) = (s.tokens.get(from)?.start, s.tokens.get(to - 1)?.end);
        let kept = s.word(from);
        let lead =
            ["at", "on", "in", "for", "by"].contains(&kept) && !["at", "on", "in", "for", "by"].contains(&new.word(0));
        let lead = if lead { format!("{kept} ") } else { String::new() };
        return Some(format!("{}{lead}{value}{}", &s.text[..start], &s.text[end..]));
    }
    None
}

/// The day within a moment: "friday" of "on friday at 7".
fn day_of(s: &Sentence, from: usize, to: usize) -> Option<(usize, usize)> {
    const DAYS: &[&str] =
        &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow", "tonight"];
    (from..to).find(|at| DAYS.contains(&s.word(*at))).map(|at| (at, at + 1))
}

/// The time within a moment: "at 7 pm" of "on friday at 7 pm".
fn time_of(s: &Sentence, from: usize, to: usize, now: &Zoned) -> Option<(usize, usize)> {
    let ends =
        |at: usize| slots::read(Kind::Time, s, at, now).iter().map(|read| at + read.count).find(|end| *end == to);
    (from..to).find_map(|at| Some((at, ends(at)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(name: &str, content: Value) -> Message {
        let (call_id, say) = ("reflex-1".to_owned(), None);
        Message::Tool(ToolResult { call_id, name: name.to_owned(), content: content.to_string(), say, is_error: false })
    }

    #[test]
    fn it_is_what_was_changed_last() {
        let tasks = json!({"count": 3, "tasks": [{"id": "1", "title": "milk"}, {"id": "2", "title": "eggs"}, {"id": "3", "title": "bread"}]});
        let one = json!({"id": "7", "title": "Call Ana", "status": "pending"});
        for (name, content, text, wanted) in [
            ("add_task", one.clone(), "delete it", Some("delete the task Call Ana")),
            ("add_task", one.clone(), "mark that as done", Some("mark the task Call Ana as done")),
            ("add_task", one.clone(), "bin it please", Some("delete the task Call Ana please")),
            ("add_task", one.clone(), "what is it", None),
            ("add_task", one.clone(), "delete that list", None),
            ("list_tasks", tasks.clone(), "complete the second one", Some("complete the task eggs")),
            ("list_tasks", tasks.clone(), "tick off the last one please", Some("tick off the task bread please")),
            ("list_tasks", tasks.clone(), "delete it", None),
            ("list_tasks", tasks.clone(), "delete the fifth one", None),
            ("gpio_write", json!({"pin": 17, "high": true}), "turn it off again", Some("turn pin 17 off again")),
            (
                "add_calendar_event",
                json!({"title": "dentist"}),
                "move it to friday",
                Some("move the appointment dentist to friday"),
            ),
        ] {
            let messages = [Message::user("x"), result(name, content), Message::user(text)];
            assert_eq!(Context::before(&messages, 2).resolved(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_correction_says_it_again() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (before, text, wanted) in [
            ("wake me at 7", "no, I meant 6", Some("wake me at 6")),
            ("set a timer for 5 minutes", "make that 7", Some("set a timer for 7 minutes")),
            ("set a timer for 5 minutes", "no, 10 minutes", Some("set a timer for 10 minutes")),
            (
                "add dentist on friday at 3 pm to my calendar",
                "sorry, tuesday",
                Some("add dentist on tuesday at 3 pm to my calendar"),
            ),
            ("remind me tomorrow at 9 to call Ana", "I meant at 10", Some("remind me tomorrow at 10 to call Ana")),
            ("wake me at 7", "thanks", None),
            ("wake me at 7", "no thanks", None),
            ("add milk to the list", "make it rain over the fields of gold in spring time", None),
        ] {
            let messages = [Message::user(before), result("x", json!({})), Message::user(text)];
            assert_eq!(Context::before(&messages, 2).corrected(text, &now).as_deref(), wanted, "{text}");
        }
        let nothing_done = [Message::user("wake me at 7"), Message::user("no, I meant 6")];
        assert_eq!(Context::before(&nothing_done, 1).corrected("no, I meant 6", &now), None);
    }

    #[test]
    fn an_answer_completes_the_sentence() {
        let asked = [
            Message::user("remind me to call Ana"),
            Message::text_only("When? Say it like “x”."),
            Message::user("at 5"),
        ];
        assert_eq!(Context::before(&asked, 2).completed("at 5")[0], "remind me to call Ana at 5");
        let done = [Message::user("remind me to call Ana"), Message::text_only("Done."), Message::user("at 5")];
        assert!(Context::before(&done, 2).completed("at 5").is_empty());
    }
}
