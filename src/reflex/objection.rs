//! What a sentence says against the call that was read from it: a number that somebody had before, one thing instead of another,
//! a reminder moved to a time without a day. Then nothing is changed, or it is asked about first.

use crate::{
    classification::{Classification, Stage, unknown},
    classify::Classifier,
    goods::named_item,
    sentence::Sentence,
    slots::{self, Kind},
    timed,
};
use jiff::{
    ToSpan,
    civil::{Date, DateTime},
};
use serde_json::Value;
use text_kit::truncate;

/// The longest part of a sentence that is repeated.
const MOST: usize = 120;

impl Classifier<'_> {
    /// The classification without what the sentence itself contradicts.
    pub fn objected(&self, mut placed: Classification, s: &Sentence) -> Classification {
        self.last_days(&mut placed, s);
        let placed = self.snoozed(placed, s);
        if was_before(&placed, s) {
            let said = truncate(s.text.trim().trim_end_matches(['.', '!']), MOST);
            let say = format!(
                "I changed nothing, since that was true before. To keep it, say “remember that {said}”; to change a contact, say what \
                 is true now."
            );
            return Classification { stage: Stage::Plainly, ..unknown(say, "it was true before") };
        }
        if let Some(say) = in_place_of(&placed, s) {
            return Classification { stage: Stage::Plainly, ..unknown(say, "one thing instead of another") };
        }
        self.moved_without_a_day(placed, s)
    }

    /// Goals of "this month" are due on its last day, and so are tasks of a week that has begun.
    fn last_days(&self, placed: &mut Classification, s: &Sentence) {
        let today = self.now.date();
        let stretches = || {
            let of = |at: usize| {
                let reads = slots::read(Kind::When, s, at, self.now).into_iter();
                reads.filter_map(move |read| Some((at + read.count, read.value.as_str()?.to_owned(), read.last?)))
            };
            (0..s.len()).flat_map(of).collect::<Vec<(usize, String, Date)>>()
        };
        let mend = |(tool, arguments): (&str, &mut Value)| {
            let goal = ["create_goal", "update_goal"].contains(&tool);
            if !goal && !["add_task", "update_task"].contains(&tool) {
                return;
            }
            let due = arguments["dueDate"].as_str().map(str::to_owned);
            let past = due.as_deref().and_then(|due| due.parse::<Date>().ok()).is_some_and(|due| due < today);
            if !goal && !past || due.is_none() && tool != "create_goal" {
                return;
            }
            let last = match &due {
                // A month alone is written without its day.
                Some(due) => stretches().into_iter().find(|(_, value, _)| due.starts_with(value.as_str())),
                None => stretches().into_iter().find(|(end, ..)| *end == s.len()),
            };
            if let Some((_, _, last)) = last.filter(|(_, _, last)| *last >= today) {
                arguments["dueDate"] = last.to_string().into();
            }
        };
        if let Some(tool) = placed.tool.as_deref() {
            mend((tool, &mut placed.arguments));
        }
        placed.more.iter_mut().chain(&mut placed.proposes).for_each(|(tool, arguments)| mend((tool, arguments)));
    }

    /// "snooze the bins till half eight", said at nine: this evening, and not tomorrow morning.
    fn snoozed(&self, mut placed: Classification, s: &Sentence) -> Classification {
        const DEFINITE: &[&str] =
            &["am", "pm", "morning", "evening", "afternoon", "noon", "midnight", "night", "tonight"];
        let definite = s.mentions(DEFINITE) || s.tokens.iter().any(|token| token.word.contains(':'));
        if !s.mentions(&["snooze"]) || definite || timed::names_a_day(s, self.now) {
            return placed;
        }
        let now = self.now.datetime();
        let sooner = |arguments: &Value| {
            let at = arguments["schedule"].as_str().and_then(|text| text.parse::<DateTime>().ok())?;
            let sooner = at.checked_sub(12.hours()).ok().filter(|at| *at > now)?;
            let mut arguments = arguments.as_object()?.clone();
            arguments.insert("schedule".to_owned(), sooner.strftime("%Y-%m-%dT%H:%M").to_string().into());
            Some(arguments)
        };
        match &placed.proposes {
            Some((tool, given)) if placed.tool.is_none() => match sooner(given) {
                Some(given) => self.changing(tool, given, None, s, placed.confidence, &placed.why),
                None => placed,
            },
            _ => {
                if let Some(given) = sooner(&placed.arguments) {
                    placed.arguments = Value::Object(given);
                }
                placed
            }
        }
    }

    /// "move the reminder to call Ben to 6": of which day is not known here, unless the sentence names one.
    fn moved_without_a_day(&self, placed: Classification, s: &Sentence) -> Classification {
        const MOVES: &str = "update_scheduled_task";
        let call = placed.tool.as_deref().map(|tool| (tool, &placed.arguments));
        let proposed = placed.proposes.as_ref().map(|(tool, arguments)| (tool.as_str(), arguments));
        let Some((_, arguments)) = call.or(proposed).filter(|(tool, _)| *tool == MOVES) else { return placed };
        let name = arguments["taskId"].as_str().unwrap_or_default();
        let whole = Sentence::whole(name);
        let amount = (0..whole.len()).any(|at| {
            let reads = slots::read(Kind::Duration, &whole, at, self.now);
            reads.into_iter().any(|read| at > 0 && at + read.count >= whole.len().saturating_sub(1))
        });
        if amount || s.mentions(&["earlier", "later", "sooner"]) && arguments["schedule"].is_null() {
            let say = "I move a reminder by a length only when I have just shown it: say “show my reminders” and then “move it an \
                       hour later”. I changed nothing.";
            return Classification { stage: Stage::Plainly, ..unknown(say.to_owned(), "moved by a length") };
        }
        let moment = arguments["schedule"].as_str().is_some_and(|text| text.contains('T'));
        let plain = placed.tool.is_some() && placed.more.is_empty() && moment && name != "Alarm";
        if !plain || timed::names_a_day(s, self.now) {
            return placed;
        }
        match arguments.as_object() {
            Some(given) => self.changing(MOVES, given.clone(), None, s, placed.confidence, "its day is not said"),
            None => placed,
        }
    }
}

/// "Anna's old number is …": a contact is changed or made by what was true once.
pub(crate) fn was_before(placed: &Classification, s: &Sentence) -> bool {
    const CONTACTS: &[&str] = &["update_contact", "add_contact", "batch_add_contacts"];
    const BEFORE: &[&str] = &["old", "previous", "former", "ex", "earlier", "prior", "last"];
    const REACHED: &[&str] = &[
        "number",
        "phone",
        "mobile",
        "cell",
        "landline",
        "email",
        "mail",
        "address",
        "telephone",
        "numbers",
        "work",
        "home",
        "phone's",
    ];
    const NOW: &[&str] = &["new", "now", "change", "replace", "update", "changed", "instead", "swap"];
    let called = placed.tool.iter().chain(placed.more.iter().chain(&placed.proposes).map(|(tool, _)| tool));
    let contact = called.into_iter().any(|tool| CONTACTS.contains(&tool.as_str()));
    let old = (0..s.len()).any(|at| {
        BEFORE.contains(&s.word(at)) && REACHED.contains(&s.word(at + 1))
            || s.has(at, &["used", "to"])
            || s.has(at, &["no", "longer"])
            || s.has(at, &["not", "any", "more"])
            || s.word(at) == "anymore"
            || s.word(at) == "formerly"
    });
    contact && old && !s.mentions(NOW)
}

/// "add oat milk instead of milk": whether the milk is on the list is not known here.
fn in_place_of(placed: &Classification, s: &Sentence) -> Option<String> {
    const ADDS: &[&str] = &["add_task", "batch_add_tasks"];
    let mut called = placed.tool.iter().chain(placed.more.iter().chain(&placed.proposes).map(|(tool, _)| tool));
    if !called.any(|tool| ADDS.contains(&tool.as_str())) {
        return None;
    }
    let at = (1..s.len()).find(|at| {
        [&["instead", "of"], &["rather", "than"], &["place", "of"]].iter().any(|words| s.has(*at, *words))
    })?;
    let before = at - usize::from(s.word(at) == "place" && s.word(at - 1) == "in");
    let (new, old) = (named_item(s.slice(0, before)), named_item(s.slice(at + 2, s.len())));
    Some(match new.is_empty() || old.is_empty() {
        true => "Is that on the list already? Say what to take off and what to add. I changed nothing yet.".to_owned(),
        false => format!(
            "Is “{old}” on the list already? Then say “change {old} to {new}”, else “add {new} to the list”. I changed nothing yet."
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::tests::reflex;

    /// It is Friday 2026-11-20, 14:30.
    #[tokio::test]
    async fn what_the_sentence_contradicts_is_not_done() {
        let reflex = reflex();
        for (text, wanted) in [
            ("Anna's old number is 0664 9999999", "I changed nothing, since that was true before."),
            ("Anna's previous number was 0664 9999999", "I changed nothing, since that was true before."),
            ("Anna used to have 0664 888888", "I changed nothing, since that was true before."),
            ("add oat milk instead of milk to the shopping list", "Is “milk” on the list already?"),
            ("move the reminder to call Ben an hour earlier", "I move a reminder by a length only"),
            ("move the reminder to call Ben to 6", "Shall I change the reminder “call Ben”"),
        ] {
            let placed = reflex.place(text).await;
            let say = placed.say.clone().unwrap_or_default();
            assert!(placed.tool.is_none() && say.starts_with(wanted), "{text}: {placed:?}");
        }
        for (text, tool) in [
            ("Anna's new number is 0664 9999999", "update_contact"),
            ("move the reminder to call Ben to tomorrow at 6", "update_scheduled_task"),
            ("move my alarm to 7", "update_scheduled_task"),
        ] {
            let placed = reflex.place(text).await;
            let acts = placed.tool.clone().or_else(|| placed.proposes.clone().map(|(tool, _)| tool));
            assert_eq!(acts.as_deref(), Some(tool), "{text}: {placed:?}");
        }
    }

    #[tokio::test]
    async fn snoozing_ends_at_the_next_such_hour() {
        let reflex = reflex();
        for (text, wanted) in [
            ("snooze the reminder till half eight", "2026-11-20T20:30"),
            ("snooze the reminder till 8:30 am", "2026-11-21T08:30"),
            ("snooze the reminder till tomorrow at 8", "2026-11-21T08:00"),
        ] {
            let placed = reflex.place(text).await;
            let given = placed.proposes.clone().map_or(placed.arguments.clone(), |(_, given)| given);
            assert_eq!(given["schedule"].as_str(), Some(wanted), "{text}: {placed:?}");
        }
    }

    #[tokio::test]
    async fn goals_are_due_at_the_end_of_their_time() {
        let reflex = reflex();
        for (text, due) in [
            ("my goal is to run 50 km this month", "2026-11-30"),
            ("add a goal: read 3 books this month", "2026-11-30"),
            ("my goal is to read 3 books next month", "2026-12-31"),
            ("my goal is to run a marathon by 1 October", "2027-10-01"),
            ("my goal is to lose 2 kg by next friday", "2026-11-27"),
        ] {
            let placed = reflex.place(text).await;
            let given = placed.proposes.clone().map_or(placed.arguments.clone(), |(_, given)| given);
            assert_eq!(given["dueDate"].as_str(), Some(due), "{text}: {placed:?}");
        }
    }
}
