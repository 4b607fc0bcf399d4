//! Two commands in one sentence: split at "and", "then" and full stops where every part is a command by itself.

use crate::{
    classification::{Classification, Stage},
    classify::Classifier,
    sentence::{MOST_TOKENS, Sentence},
};
use tool::Risk;

/// Most commands in one sentence.
const MOST: usize = 4;
/// Longest sentence, in words, of which parts are guessed.
const MOST_LIKELY: usize = 40;

/// The parts of a text at each place where a command may end.
pub(crate) fn halves(s: &Sentence) -> Vec<(String, String)> {
    let mut all = vec![];
    for at in 1..s.len().saturating_sub(1) {
        let token = &s.tokens[at];
        let (from, to) = match token.word.as_str() {
            "and" | "then" | "also" | "plus" => (token.start, token.end),
            _ if token.after_break => (s.tokens[at - 1].end, token.start),
            _ => continue,
        };
        let (Some(left), Some(right)) = (s.text.get(..from), s.text.get(to..)) else { continue };
        let left = left.trim().trim_end_matches([',', ';', '.', '!']).trim();
        let left = ["and", "then", "also"].iter().fold(left, |left, word| {
            left.strip_suffix(word)
                .filter(|rest| rest.ends_with([' ', ',']))
                .map_or(left, |rest| rest.trim_end_matches([',', ' ']))
        });
        let mut right = right.trim().trim_start_matches([',', ';', '.', '!']).trim();
        while let Some(rest) =
            ["and ", "then ", "also ", "plus ", "please "].iter().find_map(|word| right.strip_prefix(word))
        {
            right = rest.trim();
        }
        if !left.is_empty()
            && !right.is_empty()
            && all.last().is_none_or(|(before, _): &(String, String)| before != left)
        {
            all.push((left.to_owned(), right.to_owned()));
        }
    }
    all
}

impl Classifier<'_> {
    /// The commands of a sentence by templates alone; `None` if it is not several.
    pub fn commands(&self, s: &Sentence) -> Option<Classification> {
        if s.len() > MOST_TOKENS / 8 || opens_condition(s) {
            return None;
        }
        let parts = self.parts(s, MOST)?;
        (parts.len() > 1).then(|| together(parts)).flatten()
    }

    fn parts(&self, s: &Sentence, most: usize) -> Option<Vec<Classification>> {
        if most < 2 {
            return None;
        }
        for (left, right) in halves(s) {
            let Some(first) = self.command(&left) else { continue };
            if let Some(second) = self.command(&right).or_else(|| self.elliptical(&left, &right, &first)) {
                // "… and X and Y": the rest may be several again.
                let rest = self.parts(&Sentence::read(&right), most - 1).unwrap_or_else(|| vec![second]);
                let mut all = vec![first];
                all.extend(rest);
                if allowed(self, &all) {
                    return Some(all);
                }
            }
        }
        None
    }

    /// The commands of a sentence that is not one, if each is a template or likely enough to be done.
    pub async fn likely_commands(&self, s: &Sentence) -> Option<Classification> {
        if s.len() > MOST_LIKELY || opens_condition(s) {
            return None;
        }
        for (left, right) in halves(s).into_iter().take(MOST - 1) {
            let Some(first) = self.likely_command(&left).await else { continue };
            if let Some(second) = self.likely_command(&right).await
                && let all = vec![first, second]
                && allowed(self, &all)
            {
                return together(all);
            }
        }
        None
    }

    async fn likely_command(&self, text: &str) -> Option<Classification> {
        let s = Sentence::read(text);
        if let Some(command) = self.command(text) {
            return Some(command);
        }
        if s.len() < 2 {
            return None;
        }
        let (placed, _) = self.by_meaning(&s).await;
        placed.filter(|placed| placed.tool.is_some() && placed.stage == Stage::Meaning && !holds_text(placed))
    }

    /// A part that a template fits and that calls a tool.
    fn command(&self, text: &str) -> Option<Classification> {
        let s = Sentence::read(text);
        if s.len() < 2 && s.tokens.iter().all(|token| token.word != "undo") {
            return None;
        }
        self.by_template_alone(&s).filter(|placed| placed.sure && placed.tool.is_some() && !holds_text(placed))
    }

    /// "… and eggs to the hardware list", "… and one for 10 minutes": the beginning of the first part, said once.
    fn elliptical(&self, left: &str, right: &str, first: &Classification) -> Option<Classification> {
        const NEEDS: &[&str] = &["to", "on", "for", "in", "at", "from", "off", "pin", "gpio", "into", "onto"];
        let (before, after) = (Sentence::read(left), Sentence::read(right));
        if !NEEDS.iter().any(|word| after.mentions(&[word])) {
            return None;
        }
        const ANOTHER: &[&[&str]] = &[
            &["another", "one"],
            &["another", "timer"],
            &["another"],
            &["one", "more"],
            &["one"],
            &["a", "second", "one"],
            &["a", "second"],
            &["a", "timer"],
        ];
        let skipped = ANOTHER.iter().find(|words| after.has(0, words)).map_or(0, |words| words.len());
        let right = after.slice(skipped, after.len());
        // "a timer for 5 minutes and another for 10" counts in minutes twice.
        let counts = first.tool.as_deref() == Some("set_timer")
            && after.tokens.last().is_some_and(|last| last.word.parse::<f64>().is_ok());
        let unit = before.tokens.last().map_or("", |last| last.word.as_str());
        let counted = format!("{right} {unit}");
        let right =
            if counts && ["minutes", "minute", "hours", "seconds", "mins"].contains(&unit) { &counted } else { right };
        (1..=4.min(before.len())).find_map(|count| {
            let text = format!("{} {right}", before.slice(0, count));
            self.command(&text).filter(|second| second.tool == first.tool && second.arguments != first.arguments)
        })
    }
}

/// Whether it is a condition, behind which nothing is done now.
fn opens_condition(s: &Sentence) -> bool {
    ["if", "when", "whenever", "once", "after", "before", "every", "unless", "while"].contains(&s.word(0))
}

/// Whether the tool takes what follows as text, so that its end cannot be told.
fn holds_text(placed: &Classification) -> bool {
    let tool = placed.tool.as_deref().unwrap_or_default();
    ["remember", "add_note", "recall", "search_everything", "answer_question"].contains(&tool)
        || placed.arguments.get("prompt").is_some()
}

/// What moves things is done with others of its kind only: "remind me at 7 to water the plants and turn on pin 4" is one wish.
fn allowed(classifier: &Classifier, all: &[Classification]) -> bool {
    let tools: Vec<&str> = all.iter().filter_map(|placed| placed.tool.as_deref()).collect();
    let careful = |tool: &&str| !matches!((classifier.risk)(tool), Some(Risk::Observe | Risk::Write));
    !tools.iter().any(careful) || tools.windows(2).all(|pair| pair[0] == pair[1])
}

/// One classification with the calls of all.
pub(crate) fn together(parts: Vec<Classification>) -> Option<Classification> {
    let sure = parts.iter().all(|part| part.sure);
    let confidence = parts.iter().map(|part| part.confidence).fold(1.0, f32::min);
    let why = parts.iter().map(|part| part.why.as_str()).collect::<Vec<_>>().join("; ");
    let mut calls = vec![];
    for part in parts {
        calls.push((part.tool?, part.arguments));
        calls.extend(part.more);
    }
    let mut calls = calls.into_iter();
    let (tool, arguments) = calls.next()?;
    let stage = if sure { Stage::Template } else { Stage::Meaning };
    let more = calls.collect();
    Some(Classification { tool: Some(tool), arguments, more, say: None, proposes: None, stage, confidence, why, sure })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_halves() {
        let two = |text: &str| halves(&Sentence::read(text));
        let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
        assert_eq!(two("add milk and then set a timer"), [pair("add milk", "set a timer")]);
        assert_eq!(two("Add milk. Set a timer!"), [pair("Add milk", "Set a timer!")]);
        assert_eq!(two("add milk, and also eggs"), [pair("add milk", "eggs")]);
        assert_eq!(two("add milk"), []);
    }
}
