//! "put the dentist in my calendar on friday at 3 with a reminder 30 minutes before": the event alone, and how long before it one
//! is reminded.

use crate::{classification::Classification, sentence::Sentence, slots::duration};
use serde_json::Value;

/// The longest lead of an event's reminder, in minutes: four weeks.
const MOST: i64 = 28 * 24 * 60;

/// The sentence without its reminder, and the minutes before the event.
pub(crate) fn without_reminder(text: &str) -> Option<(String, i64)> {
    const LEADS: &[&[&str]] = &[
        &["with", "a", "reminder"],
        &["with", "an", "alert"],
        &["with", "a", "notification"],
        &["and", "remind", "me"],
        &["and", "remind", "us"],
        &["and", "warn", "me"],
        &["and", "alert", "me"],
    ];
    const ENDS: &[&str] =
        &["before", "beforehand", "earlier", "ahead", "prior", "early", "it", "that", "then", "please"];
    let s = Sentence::whole(text);
    let (at, lead) = (2..s.len()).find_map(|at| Some((at, LEADS.iter().find(|words| s.has(at, words))?.len())))?;
    let (count, minutes) = duration::minutes(&s, at + lead)?;
    let end = at + lead + count;
    let before = ["before", "beforehand", "earlier", "ahead", "prior", "early"].contains(&s.word(end));
    let rest = (end..s.len()).all(|at| ENDS.contains(&s.word(at)));
    let event = s.text.get(..s.tokens.get(at - 1)?.end)?.trim();
    (before && rest && (1..=MOST).contains(&minutes) && !event.is_empty()).then(|| (event.to_owned(), minutes))
}

/// The event with its reminder; `None` if it is no event.
pub(crate) fn with_reminder(mut placed: Classification, minutes: i64) -> Option<Classification> {
    let event = |tool: &str| tool == "add_calendar_event";
    let arguments = match (placed.tool.as_deref(), &mut placed.proposes) {
        (Some(tool), _) if event(tool) && placed.more.is_empty() => &mut placed.arguments,
        (None, Some((tool, arguments))) if event(tool) => arguments,
        _ => return None,
    };
    // A day alone has no moment before which one could be reminded.
    arguments["startTime"].as_str().filter(|start| start.contains('T'))?;
    arguments.as_object_mut()?.insert("reminder".to_owned(), Value::from(minutes));
    Some(placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::reflex;
    use serde_json::json;

    #[test]
    fn the_reminder_behind_an_event_is_found() {
        for (text, wanted) in [
            (
                "put the dentist in my calendar on friday at 3 pm with a reminder 30 minutes before",
                Some(("put the dentist in my calendar on friday at 3 pm", 30)),
            ),
            ("dentist on friday at 3 and remind me an hour before", Some(("dentist on friday at 3", 60))),
            ("set a timer and remind me in 5 minutes", None),
            ("remind me 30 minutes before the dentist", None),
        ] {
            let found = without_reminder(text);
            assert_eq!(found.as_ref().map(|(text, minutes)| (text.as_str(), *minutes)), wanted, "{text}");
        }
    }

    #[tokio::test]
    async fn the_event_reminds() {
        let text = "put the dentist in my calendar on monday at 3 pm with a reminder 30 minutes before";
        let placed = reflex().place(text).await;
        let wanted = json!({"title": "dentist", "startTime": "2026-11-23T15:00", "reminder": 30});
        assert_eq!((placed.tool.as_deref(), &placed.arguments), (Some("add_calendar_event"), &wanted), "{placed:?}");
    }
}
