//! The learned head's word against a change that was read by the parts of a sentence: where it is sure of something else, the
//! change is asked about. Measured on the development set; see [`OTHER`].

use crate::{classification::Classification, classify::Classifier, head::NONE, mask::mask, sentence::Sentence};
use std::collections::BTreeMap;
use tool::Risk;

/// Least probability of another family's tool, and the most of the tool that was read. Of 61 changes by parts on the development set
/// these stop one wrong one and no right one; with 0.4, or with the tools of the same family, right ones stop as well.
const OTHER: f32 = 0.6;
const OWN: f32 = 0.1;
/// Likewise where no tool is likely. Sentences in new words are often unlike all phrasings, so that it must be surer.
const NO_TOOL: f32 = 0.95;
const OWN_BESIDE_NONE: f32 = 0.02;

impl Classifier<'_> {
    /// The classification, or a question where the head is sure of something else.
    pub async fn vetoed(&self, placed: Classification, s: &Sentence) -> Classification {
        // These words say what is wanted, whatever else is said.
        const PLAIN: &[&str] = &[
            "remind",
            "reminder",
            "reminders",
            "alarm",
            "timer",
            "timers",
            "wake",
            "calendar",
            "diary",
            "nudge",
            "ping",
        ];
        let (Some(tool), Some(arguments)) = (placed.tool.clone(), placed.arguments.as_object()) else { return placed };
        if (self.risk)(&tool) != Some(Risk::Write) || !placed.more.is_empty() || s.mentions(PLAIN) {
            return placed;
        }
        let masked = mask(s, self.now);
        let meaning = self.meaning.of(&masked.text()).await;
        // Words alone are not sure enough to contradict.
        if meaning.is_none() {
            return placed;
        }
        let shares = self.head.classify(&masked.words, meaning.as_deref());
        let mut families: BTreeMap<&str, f32> = BTreeMap::new();
        for (class, share) in &shares {
            *families.entry(family(class.split(' ').next().unwrap_or_default())).or_default() += share;
        }
        let own = families.get(family(&tool)).copied().unwrap_or_default();
        let most = families.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((other, share)) = most.filter(|(other, _)| **other != family(&tool)) else { return placed };
        let none = *other == family(NONE);
        let (least, most) = if none { (NO_TOOL, OWN_BESIDE_NONE) } else { (OTHER, OWN) };
        if *share < least || own > most {
            return placed;
        }
        let why = format!("the head is sure of {other} ({share:.2}): {}", placed.why);
        self.changing(&tool, arguments.clone(), None, s, *share, &why)
    }
}

/// What a tool is about; all that happens at a time is one family.
fn family(tool: &str) -> &str {
    const TIMES: &[&str] = &["scheduled", "calendar", "timer", "trigger"];
    const OTHERS: &[&str] =
        &["task", "list", "expense", "note", "contact", "bookmark", "goal", "step", "custom", "reading", "memor"];
    if TIMES.iter().any(|part| tool.contains(part)) {
        return "time";
    }
    OTHERS.iter().find(|part| tool.contains(**part)).copied().unwrap_or(tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::reflex;

    #[test]
    fn tools_of_one_matter_are_one_family() {
        assert_eq!(family("create_scheduled_task"), family("add_calendar_event"));
        assert_eq!(family("add_task"), family("batch_add_tasks"));
        assert_ne!(family("add_task"), family("add_calendar_event"));
        assert_eq!(family(NONE), NONE);
    }

    #[tokio::test]
    async fn a_change_that_the_head_contradicts_is_asked_about() {
        let reflex = reflex();
        let text = "Put me down for gas money, eight fifty, I ran her to the podiatrist and back on Saturday";
        let placed = reflex.place(text).await;
        assert_eq!(placed.tool, None, "{placed:?}");
        for text in ["dentist on monday at 3 pm", "lunch with Tom tomorrow at 1", "yoga every tuesday at 7 pm"] {
            let placed = reflex.place(text).await;
            assert_eq!(placed.tool.as_deref(), Some("add_calendar_event"), "{text}: {placed:?}");
        }
    }
}
