//! Questions how to use Hob: "how do I do a repeating reminder on here", "what sort of thing am I meant to ask you".

use super::pattern;
use crate::{help, sentence::Sentence};

/// What people call what they want to know how to do, with the topic of help about it.
const TOPICS: &[(&str, &[&str])] = &[
    ("reminder", &["remind", "reminders", "reminder", "repeating", "every", "alarms", "alarm", "nag"]),
    ("timer", &["timer", "timers", "countdown"]),
    ("list", &["list", "lists", "shopping"]),
    ("task", &["task", "tasks", "todo", "chores"]),
    ("calendar", &["calendar", "event", "events", "appointment", "appointments", "diary"]),
    ("note", &["note", "notes"]),
    ("money", &["expense", "expenses", "money", "spending"]),
    ("goal", &["goal", "goals"]),
    ("contact", &["contact", "contacts", "number"]),
    ("bookmark", &["bookmark", "bookmarks"]),
    ("memory", &["remember", "memory"]),
    ("sum", &["sum", "sums", "units", "convert"]),
];

/// Whether it asks for help, and the topic.
pub(super) fn topic(s: &Sentence) -> Option<Option<String>> {
    let general = pattern::any(
        s,
        &[
            "_ what sort|kind|sorts|kinds|type of thing|things|stuff _ ask|say|do|use|tell _",
            "_ what is it you|this|hob|that actually|even? you? do|does|can _",
            "_ what do you do _",
            "_ what are you actually|even|really|exactly? any|good|here|meant|for|supposed use|for|to _",
            "_ what are you actually|even|really|exactly? for|good",
            "_ meant|supposed to ask|say|tell to? you _",
            "_ what can i|we ask|say|tell to? you _",
            "_ what can you actually|even|really|exactly? do|help _",
            "_ how do|does you|this|it|hob|i work|start",
            "_ not|no have? a? clue _ you|use _",
            "_ no good with _ gadgets|computers|technology _",
        ],
    ) && s.len() <= 30;
    let using = pattern::any(
        s,
        &[
            "_ how do|would|can|should|could|does i|you|we|one|someone go? about? _",
            "_ help me? with _ how _",
            "_ show me how _",
            "_ explain how _",
            "_ what do|should i|we say to _",
        ],
    );
    let found = TOPICS.iter().find(|(_, words)| s.mentions(words)).map(|(topic, _)| (*topic).to_owned());
    let known = found.filter(|topic| help::is_topic(topic));
    // "how do I get to the timer shop" has other words; what is used has few.
    match known {
        Some(topic) if using && s.mentions(USES) => Some(Some(topic)),
        known if general => Some(known),
        _ => None,
    }
}

/// Words of doing something with Hob.
const USES: &[&str] = &[
    "do", "set", "make", "add", "stop", "cancel", "delete", "change", "use", "tell", "telling", "say", "start",
    "create", "get", "put", "remove", "turn", "work", "see", "share", "ask", "have",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_asked_for_in_many_ways() {
        let some = |topic: &str| Some(Some(topic.to_owned()));
        for (text, wanted) in [
            ("I'm no good with these gadgets what sort of thing am I meant to ask you", Some(None)),
            ("how do i do a repeating reminder on here", some("reminder")),
            ("so what are you actually any use for", Some(None)),
            ("how would I go about telling you to do something every week", some("reminder")),
            ("what is it you actually do then, Graham just plugged you in and went home", Some(None)),
            ("Help me with timers - how do I stop just one of them?", some("timer")),
            ("my grandson set you up and I haven't a clue, what is it you do", Some(None)),
            ("how do I do the timers", some("timer")),
            ("how do I get to the station", None),
            ("what do you think of it", None),
            ("set a timer for 10 minutes", None),
        ] {
            assert_eq!(topic(&Sentence::read(text)), wanted, "{text}");
        }
    }
}
