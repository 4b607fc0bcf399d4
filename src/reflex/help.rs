//! Help: what people can say, by topic. The examples of a topic work one after the other on a new household; tests do just that.

use text_kit::join_and;

/// A topic of help.
pub(crate) struct Topic {
    /// Its title.
    title: &'static str,
    /// What people call it, in the singular.
    words: &'static [&'static str],
    /// Tools with sentences for them, in an order that makes sense. A tool named `-` is none: reflex answers by itself.
    examples: &'static [(&'static str, &'static str)],
    /// Which of them the overview shows; none for a topic that it only names.
    overview: [usize; 3],
}

const NONE: [usize; 3] = [usize::MAX; 3];
/// The most words of a topic: "my shopping list" is one, "the list of kings of England" is not.
const MOST_WORDS: usize = 4;

/// All topics; those with an overview come first.
pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        title: "Lists",
        words: &["list", "shopping", "grocery", "groceries"],
        examples: &[
            ("add_task", "add milk to the shopping list"),
            ("list_tasks", "what's on the shopping list?"),
            ("complete_task", "tick off milk"),
            ("list_tasks", "have we bought milk yet?"),
            ("add_task", "put eggs on the shopping list"),
            ("delete_task", "remove eggs from the shopping list"),
            ("add_task", "add tent to the camping list"),
            ("list_lists", "which lists do we have?"),
            ("share_list", "make the camping list private"),
            ("clear_list", "clear the shopping list"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Tasks",
        words: &["task", "todo", "to do", "chore", "to-do"],
        examples: &[
            ("add_task", "add a task to call the bank by friday"),
            ("list_tasks", "what do I have to do today?"),
            ("complete_task", "mark call the bank as done"),
            ("add_task", "add a task to pay rent by 1 december"),
            ("list_tasks", "what's on my to-do list?"),
            ("update_task", "move the task pay rent to monday"),
            ("list_tasks", "what is overdue?"),
            ("list_tasks", "which tasks are done?"),
            ("delete_task", "delete the task pay rent"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Timers",
        words: &["timer", "countdown"],
        examples: &[
            ("set_timer", "set a timer for 10 minutes"),
            ("set_timer", "set a pizza timer for 12 minutes"),
            ("list_timers", "how long is left on my timer?"),
            ("adjust_timer", "add 5 minutes to the pizza timer"),
            ("pause_timer", "pause the pizza timer"),
            ("resume_timer", "resume the pizza timer"),
            ("cancel_timer", "cancel the pizza timer"),
            ("cancel_timer", "cancel all timers"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Reminders",
        words: &["reminder", "alarm", "schedule", "wake"],
        examples: &[
            ("create_scheduled_task", "remind me at 7 pm to call mum"),
            ("create_scheduled_task", "every monday at 8 remind me to put out the bins"),
            ("create_scheduled_task", "wake me at 6:30"),
            ("list_scheduled_tasks", "what reminders do I have?"),
            ("list_scheduled_tasks", "when is my alarm?"),
            ("update_scheduled_task", "move the reminder to call mum to 8 pm"),
            ("update_scheduled_task", "pause the reminder to put out the bins"),
            ("delete_scheduled_task", "cancel my alarm"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Calendar",
        words: &["calendar", "appointment", "event", "meeting", "diary"],
        examples: &[
            ("add_calendar_event", "add dentist on tuesday at 3 pm to my calendar"),
            ("list_calendar_events", "what's on tomorrow?"),
            ("list_calendar_events", "what's my next appointment?"),
            ("add_calendar_event", "lunch with Tom tomorrow at 1"),
            ("list_calendar_events", "am I free on friday?"),
            ("update_calendar_event", "move the dentist appointment to friday at 4"),
            ("update_calendar_event", "remind me 30 minutes before the dentist appointment"),
            ("delete_calendar_event", "cancel my dentist appointment"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Memory",
        words: &["memory", "memories", "remember", "remembering", "search"],
        examples: &[
            ("remember", "remember that the spare key is at Ana's"),
            ("answer_question", "where is the spare key?"),
            ("recall", "what do you know about the spare key?"),
            ("remember", "I prefer tea to coffee"),
            ("list_memories", "what do you remember?"),
            ("search_everything", "search everything for the spare key"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Money",
        words: &["money", "expense", "spending", "budget"],
        examples: &[
            ("add_expense", "I spent 12.50 on lunch"),
            ("add_expense", "add an expense of 40 euros for fuel"),
            ("expense_summary", "how much did I spend this month?"),
            ("expense_summary", "show my spending by category"),
            ("query_expenses", "show my expenses this month"),
            ("update_expense", "change the expense lunch to 14.50"),
            ("delete_expense", "delete the expense lunch"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Sums and dates",
        words: &["sum", "number", "maths", "math", "calculation", "date", "time", "unit", "conversion", "calculator"],
        examples: &[
            ("calculate", "what is 15 percent of 80?"),
            ("convert_units", "5 miles in km"),
            ("date_diff", "how many days until christmas?"),
            ("calculate", "what is 12 * 12?"),
            ("get_current_datetime", "what time is it in Tokyo?"),
            ("date_add", "what date is 45 days after 3 March?"),
            ("-", "what day is 3 October 2027?"),
            ("random_number", "flip a coin"),
            ("generate_password", "generate a password"),
        ],
        overview: [0, 1, 2],
    },
    Topic {
        title: "Notes",
        words: &["note", "memo"],
        examples: &[
            ("add_note", "note: the paint in the hall is RAL 9010"),
            ("add_note", "make a note called wifi saying the guest network is Sparrow"),
            ("get_note", "read me the note about the wifi"),
            ("list_notes", "what notes do I have?"),
            ("update_note", "pin the note about wifi"),
            ("delete_note", "delete the note about wifi"),
        ],
        overview: NONE,
    },
    Topic {
        title: "Contacts",
        words: &["contact", "people", "person", "address", "phone", "birthday"],
        examples: &[
            ("add_contact", "add Ben, 0664 1234567"),
            ("list_contacts", "what's Ben's number?"),
            ("add_contact", "add Anna Berger to my contacts"),
            ("update_contact", "mark Anna as a favourite contact"),
            ("update_contact", "change Ben's number to 0664 7654321"),
            ("list_contacts", "show my favourite contacts"),
            ("delete_contact", "delete the contact Ben"),
        ],
        overview: NONE,
    },
    Topic {
        title: "Goals",
        words: &["goal", "objective"],
        examples: &[
            ("create_goal", "add the goal learn Italian"),
            ("create_goal", "my goal is to run a marathon by 1 October"),
            ("list_goals", "what are my goals?"),
            ("update_goal", "set the progress of my goal learn Italian to 40 percent"),
            ("get_goal_details", "how is my goal learn Italian going?"),
            ("update_goal", "mark the goal learn Italian as completed"),
            ("list_goals", "which goals have I reached?"),
        ],
        overview: NONE,
    },
    Topic {
        title: "Bookmarks",
        words: &["bookmark", "link", "favourite", "favorite"],
        examples: &[
            ("add_bookmark", "bookmark https://www.rust-lang.org"),
            ("list_bookmarks", "show my bookmarks"),
            ("update_bookmark", "mark the bookmark rust-lang.org as a favourite"),
            ("list_bookmarks", "show my favourite links"),
            ("delete_bookmark", "delete the bookmark rust-lang.org"),
        ],
        overview: NONE,
    },
    Topic {
        title: "Lamps and other things on pins",
        words: &["pin", "lamp", "light", "gpio", "switch"],
        examples: &[
            ("gpio_write", "turn on pin 17"),
            ("gpio_read", "is pin 17 on?"),
            ("gpio_list", "which pins are on?"),
            ("gpio_write", "turn off pin 17"),
        ],
        overview: NONE,
    },
    Topic {
        title: "Undoing",
        words: &["undo", "undoing", "bin", "mistake", "restore"],
        examples: &[
            ("add_task", "add tea to the shopping list"),
            ("undo", "undo that"),
            ("add_task", "add the task mend the lamp"),
            ("delete_task", "delete the task mend the lamp"),
            ("list_deleted", "what is in the bin?"),
            ("restore_deleted", "restore “mend the lamp” from the bin"),
        ],
        overview: NONE,
    },
];

impl Topic {
    /// Its sentences whose tools are available.
    fn sentences(&self, available: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
        let here = self.examples.iter().filter(|(tool, _)| *tool == "-" || available(tool));
        here.map(|(_, sentence)| *sentence).collect()
    }

    /// The three sentences of the overview, if it has them and their tools are available.
    fn overview(&self, available: &dyn Fn(&str) -> bool) -> Option<Vec<&'static str>> {
        let some: Option<Vec<_>> = self.overview.iter().map(|at| self.examples.get(*at)).collect();
        let some = some?.into_iter().filter(|(tool, _)| available(tool)).map(|(_, sentence)| *sentence);
        Some(some.collect()).filter(|some: &Vec<_>| !some.is_empty())
    }
}

/// What people can say: a line for each of eight topics, and how to ask further.
pub(crate) fn overview(available: &dyn Fn(&str) -> bool) -> String {
    let line = |topic: &Topic| {
        let quoted: Vec<String> = topic.overview(available)?.iter().map(|sentence| format!("“{sentence}”")).collect();
        Some(format!("- {}: {}", topic.title, quoted.join(", ")))
    };
    let lines: Vec<String> = TOPICS.iter().filter_map(line).collect();
    if lines.is_empty() {
        return "There is nothing I can do here without a language model.".to_owned();
    }
    let others = TOPICS.iter().filter(|topic| topic.overview == NONE && !topic.sentences(available).is_empty());
    let called = |topic: &Topic| match topic.title {
        "Undoing" => "undoing".to_owned(),
        _ => text_kit::plural(topic.words[0]),
    };
    let others: Vec<String> = others.map(called).collect();
    let more =
        if others.is_empty() { String::new() } else { format!(" There is also help with {}.", join_and(&others)) };
    format!("You can say, for example:\n{}\nFor more, say “help with timers”.{more}", lines.join("\n"))
}

/// The topic that a text names.
fn named(text: &str) -> Option<&'static Topic> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|w| !w.is_empty()).collect();
    let named = |topic: &&Topic| {
        topic.words.iter().any(|own| {
            words.iter().any(|word| word == own || *word == text_kit::plural(own))
                || own.contains(' ') && text.contains(own)
        })
    };
    TOPICS.iter().find(named)
}

/// Whether a text names a topic, and nothing else.
pub(crate) fn is_topic(text: &str) -> bool {
    text.split_whitespace().count() <= MOST_WORDS && named(text).is_some()
}

/// The sentences of the topic that a text names; `None` if it names none.
pub(crate) fn topic(text: &str, available: &dyn Fn(&str) -> bool) -> Option<String> {
    let topic = named(text)?;
    let lines: Vec<String> = topic.sentences(available).iter().map(|sentence| format!("- {sentence}")).collect();
    (!lines.is_empty()).then(|| format!("{}: you can say, for example:\n{}", topic.title, lines.join("\n")))
}

/// Some sentences of different topics, for somebody who was not understood.
pub(crate) fn some(available: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    const LIKELY: [(&str, usize); 3] = [("Lists", 0), ("Timers", 0), ("Reminders", 0)];
    let pick = |(title, at): &(&str, usize)| {
        let topic = TOPICS.iter().find(|topic| topic.title == *title)?;
        topic.examples.get(*at).filter(|(tool, _)| available(tool)).map(|(_, sentence)| *sentence)
    };
    LIKELY.iter().filter_map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{exam::risk, reflex};

    #[test]
    fn help_is_eight_lines_with_three_examples_each() {
        let help = overview(&|_| true);
        let lines: Vec<&str> = help.lines().collect();
        assert_eq!(lines.len(), 10, "{help}");
        for line in &lines[1..9] {
            assert_eq!(line.matches('“').count(), 3, "{line}");
        }
        assert!(lines[9].contains("notes, contacts, goals, bookmarks, pins and undoing"), "{help}");
        assert_eq!(overview(&|tool| tool == "set_timer").lines().count(), 3);
        assert!(overview(&|_| false).starts_with("There is nothing"));
    }

    #[test]
    fn topics_have_the_names_that_people_give_them() {
        for (text, title) in [
            ("timers", "Timers"),
            ("my shopping list", "Lists"),
            ("alarms", "Reminders"),
            ("memories", "Memory"),
            ("to do", "Tasks"),
            ("the calendar", "Calendar"),
            ("lights", "Lamps"),
            ("undo", "Undoing"),
        ] {
            assert!(topic(text, &|_| true).unwrap_or_default().starts_with(title), "{text}");
        }
        assert_eq!(topic("elephants", &|_| true), None);
        assert_eq!(topic("timers", &|_| false), None);
    }

    /// With the tools that the tests know; a black-box test does what they say.
    #[tokio::test]
    async fn every_example_is_understood() {
        let reflex = reflex();
        for topic in TOPICS {
            let asked = reflex.place(&format!("help with {}", topic.title.to_lowercase())).await;
            assert!(asked.say.is_some_and(|say| say.starts_with(topic.title)), "{}", topic.title);
            for (tool, sentence) in topic.examples {
                let placed = reflex.place(sentence).await;
                let wanted = Some((*tool).to_owned()).filter(|tool| tool != "-");
                assert_eq!(placed.tool, wanted, "{sentence}: {placed:?}");
                assert!(wanted.is_none_or(|tool| risk(&tool).is_some()), "{sentence}");
            }
        }
    }
}
