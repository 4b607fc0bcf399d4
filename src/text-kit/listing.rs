//! Answers that list things: one thing in a sentence, several as lines.

use crate::{capitalized, end_sentence};

/// How many things are listed by name.
const LISTED: usize = 10;

/// Whether a list is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// These are all.
    None,
    /// So many more exist.
    Count(usize),
    /// More exist; nobody counted them.
    Some,
}

impl From<bool> for More {
    fn from(more: bool) -> Self {
        if more { Self::Some } else { Self::None }
    }
}

/// A list for a person: `You have one open task: call the bank.`, and of several things a line each below `You have 3 open
/// tasks:`. `head` has no colon.
pub fn listing(head: &str, items: &[String], more: impl Into<More>) -> String {
    let mut more = match more.into() {
        More::Count(0) => More::None,
        more => more,
    };
    if let ([one], More::None) = (items, more) {
        return end_sentence(&format!("{head}: {one}"));
    }
    if let (hidden @ 1.., More::None | More::Count(_)) = (items.len().saturating_sub(LISTED), more) {
        more = More::Count(hidden + if let More::Count(others) = more { others } else { 0 });
    }
    let lines = items.iter().take(LISTED).map(|item| format!("\n- {}", capitalized(item)));
    let rest = match more {
        More::None => String::new(),
        More::Count(n) => format!("\n- … and {n} more"),
        More::Some => "\n- … and more".to_owned(),
    };
    format!("{head}:{}{rest}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(n: usize) -> Vec<String> {
        (1..=n).map(|n| format!("item {n}")).collect()
    }

    #[test]
    fn one_thing_is_a_sentence_and_several_are_lines() {
        assert_eq!(listing("You have one task", &items(1), false), "You have one task: item 1.");
        assert_eq!(listing("You have one task", &items(1), More::Count(0)), "You have one task: item 1.");
        assert_eq!(listing("The note", &["Buy this!".to_owned()], false), "The note: Buy this!");
        assert_eq!(listing("You have 2 tasks", &items(2), false), "You have 2 tasks:\n- Item 1\n- Item 2");
        assert_eq!(listing("Some tasks", &items(1), true), "Some tasks:\n- Item 1\n- … and more");
        assert!(listing("Tasks", &items(12), false).ends_with("\n- Item 10\n- … and 2 more"));
        assert!(listing("Tasks", &items(12), More::Count(3)).ends_with("\n- Item 10\n- … and 5 more"));
        assert!(listing("Tasks", &items(10), false).ends_with("\n- Item 10"));
        assert!(listing("Tasks", &items(12), true).ends_with("\n- Item 10\n- … and more"));
    }
}
