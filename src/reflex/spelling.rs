//! Spelling correction: an unknown word is read as the known word it resembles.

use crate::{
    pattern::Node,
    phrases::Intent,
    sentence::Sentence,
    slots::{number, unit},
};
use std::collections::HashMap;

/// Words of all templates and slots, with their frequency.
pub(crate) struct Spelling {
    words: HashMap<String, u32>,
}

/// Words that slots parse.
const READ: &str = "monday tuesday wednesday thursday friday saturday sunday january february march april june july august \
    september october november december today tomorrow tonight yesterday morning afternoon evening night noon midnight \
    second seconds minute minutes hour hours days week weeks weekend weekday weekdays month months year years every daily \
    weekly monthly hourly half quarter past next last this euro euros dollar dollars pounds cents urgent important priority \
    percent times plus minus divided high list";

/// Minimum length of a word to correct.
const LEAST: usize = 4;

impl Spelling {
    pub fn new(intents: &[Intent]) -> Self {
        let mut words = HashMap::new();
        let read = READ.split_whitespace().chain(number::words()).chain(unit::words());
        for word in read {
            *words.entry(word.to_owned()).or_insert(0) += 3;
        }
        for template in intents.iter().flat_map(|intent| &intent.templates) {
            count(&template.nodes, &mut words);
        }
        Self { words }
    }

    /// The corrected sentence; `None` if nothing needs correction.
    pub fn corrected(&self, s: &Sentence) -> Option<Sentence> {
        let mut corrected = s.clone();
        let mut any = false;
        for (i, token) in corrected.tokens.iter_mut().enumerate() {
            // Names may have any spelling.
            let name = i > 0 && !token.after_break && s.text[token.start..].starts_with(char::is_uppercase);
            let shouted = s.text.chars().all(|c| !c.is_lowercase());
            if (!name || shouted)
                && let Some(word) = self.meant(&token.word)
            {
                token.word = word.to_owned();
                any = true;
            }
        }
        any.then_some(corrected)
    }

    /// The known word closest to an unknown one: one edit, two in long words, never in the first letter. Swapped
    /// letters and frequent words are preferred.
    fn meant(&self, word: &str) -> Option<&str> {
        let length = word.chars().count();
        let known = || self.words.contains_key(word) || embed::is_word(word);
        if !(LEAST..24).contains(&length) || !word.chars().all(char::is_alphabetic) || known() {
            return None;
        }
        let sorted = |word: &str| {
            let mut letters: Vec<char> = word.chars().collect();
            letters.sort_unstable();
            letters
        };
        let (slips, mine, first) = (if length < 7 { 1 } else { 2 }, sorted(word), word.chars().next());
        self.words
            .iter()
            .filter(|(known, _)| known.len() > 3 && known.len().abs_diff(word.len()) <= slips)
            .filter(|(known, _)| known.chars().next() == first)
            .map(|(known, often)| (strsim::osa_distance(known, word), known, often))
            .filter(|(distance, known, _)| *distance <= slips && !is_form(known, word))
            .min_by_key(|(distance, known, often)| {
                (*distance, sorted(known) != mine, u32::MAX - **often, known.as_str())
            })
            .map(|(_, known, _)| known.as_str())
    }
}

/// Whether two words are inflections of one, and so both correct: "task" and "tasks", "call" and "called".
fn is_form(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let ending = long.strip_prefix(short).or_else(|| long.strip_prefix(short.strip_suffix('e')?));
    ending.is_some_and(|ending| ["s", "d", "ed", "es", "r", "er", "y", "ing"].contains(&ending))
}

fn count(nodes: &[Node], words: &mut HashMap<String, u32>) {
    for node in nodes {
        match node {
            Node::Word(word) => *words.entry(word.clone()).or_insert(0) += 1,
            Node::Choice { any, .. } => any.iter().for_each(|branch| count(branch, words)),
            Node::Capture { parts, .. } => count(parts, words),
            Node::Slot { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases;

    #[test]
    fn slips_are_mended() {
        let file = "= a\nturn on {pin:pin}\nwhat time is it\nadd {title} to the shopping list\nremind me to {x}\nthe task is done";
        let spelling = Spelling::new(&phrases::read(file, 1).unwrap());
        let read = |text: &str| {
            let corrected = spelling.corrected(&Sentence::read(text))?;
            Some(corrected.tokens.into_iter().map(|t| t.word).collect::<Vec<_>>().join(" "))
        };
        for (text, wanted) in [
            ("trun on pin 4", Some("turn on pin 4")),
            ("waht tiem is it", Some("what time is it")),
            ("add mlik to the shoping list", Some("add mlik to the shopping list")),
            ("remnid me tommorow", Some("remind me tomorrow")),
            ("remind me on wensday", Some("remind me on wednesday")),
            ("the tasks are done", None),
            ("call Tima", None),
            ("turn on pin 4", None),
            ("", None),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
        ] {
            assert_eq!(read(text).as_deref(), wanted, "{text}");
        }
        let corrected = spelling.corrected(&Sentence::read("add Mlik to the shoping list")).unwrap();
        assert_eq!(corrected.slice(1, 2), "Mlik", "the text stays as it was written");
    }
}
