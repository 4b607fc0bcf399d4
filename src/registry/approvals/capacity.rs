//! How many questions may be open: for a person, and of those for one run and one conversation.

use super::Open;
use std::collections::HashMap;
use tool::{Id, UserId};

/// How many questions one person may have open.
const OPEN: usize = 50;
/// How many of them one run and one conversation may hold, so that a model that asks without end leaves room for others to
/// ask. Few people answer more than a handful at once; a conversation may have a suspended run beside the current one.
const OPEN_IN_RUN: usize = 5;
const OPEN_IN_CONVERSATION: usize = 10;

/// Why nothing more can be asked, where too many questions are open.
pub(super) fn full(
    open: &HashMap<Id, Open>,
    user: UserId,
    run: Option<Id>,
    conversation: Option<Id>,
) -> Option<String> {
    let count = |fits: &dyn Fn(&Open) -> bool| open.values().filter(|o| o.user == user && fits(o)).count();
    if run.is_some() && count(&|o| o.run == run) >= OPEN_IN_RUN {
        return Some(format!(
            "this run waits for {OPEN_IN_RUN} answers already: ask no more before the person has answered"
        ));
    }
    if conversation.is_some() && count(&|o| o.conversation == conversation) >= OPEN_IN_CONVERSATION {
        let open = format!("{OPEN_IN_CONVERSATION} questions of this conversation are open already");
        return Some(format!("{open}: the person has to answer some of them first"));
    }
    (count(&|_| true) >= OPEN).then(|| format!("{OPEN} questions are open already: answer some of them first"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_and_one_conversation_leave_room_for_others() {
        let (anna, ben, mut open) = (UserId(Id::new()), UserId(Id::new()), HashMap::new());
        let (conversation, other) = (Some(Id::new()), Some(Id::new()));
        let mut ask = |user, run, conversation| match full(&open, user, run, conversation) {
            Some(why) => why,
            None => {
                open.insert(Id::new(), Open { user, run, conversation, waiter: None });
                String::new()
            }
        };
        for run in [Some(Id::new()), Some(Id::new())] {
            for _ in 0..OPEN_IN_RUN {
                assert_eq!(ask(anna, run, conversation), "");
            }
            let refused = ask(anna, run, conversation);
            assert!(refused.starts_with("this run waits for 5 answers already"), "{refused}");
        }
        let refused = ask(anna, Some(Id::new()), conversation);
        assert!(refused.starts_with("10 questions of this conversation are open"), "{refused}");
        assert_eq!((ask(anna, Some(Id::new()), other), ask(ben, Some(Id::new()), conversation)), Default::default());
        // What no run asks is bound by the person's own limit alone.
        for _ in 0..OPEN - 11 {
            assert_eq!(ask(anna, None, None), "");
        }
        assert!(ask(anna, None, None).starts_with("50 questions are open already"));
    }
}
