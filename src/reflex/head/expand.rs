//! Sentences from phrasings: values for their slots, and what people do to sentences.

use super::{
    learn::{Part, Phrasing},
    samples::{Dice, FILLERS, Values, role},
};
use crate::slots::Kind;
use std::collections::HashMap;

/// A sentence, and where in it the values of arguments are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Expanded {
    pub text: String,
    /// Argument, and the bytes from and to.
    pub values: Vec<(String, usize, usize)>,
}

/// A word, and what it belongs to.
struct Word {
    text: String,
    /// Number of the value it is part of.
    value: Option<usize>,
    /// Whether a space precedes it.
    apart: bool,
}

pub(super) struct Expander<'a> {
    pub values: &'a Values,
    pub kinds: &'a HashMap<(String, String), Vec<Kind>>,
}

/// Words that may be missing without a change of meaning.
const MAY_LACK: &[&str] =
    &["a", "an", "the", "my", "our", "some", "please", "to", "on", "for", "of", "at", "that", "me"];

impl Expander<'_> {
    /// A sentence of a phrasing: as its writer meant it, or altered.
    pub fn sentence(&self, phrasing: &Phrasing, altered: bool, dice: &mut Dice) -> Expanded {
        let (mut words, mut names) = (vec![], vec![]);
        self.expand(phrasing, &phrasing.parts, altered, dice, &mut words, &mut names);
        if altered {
            alter(&mut words, dice);
        }
        join(&words, names)
    }

    fn expand(
        &self,
        of: &Phrasing,
        parts: &[Part],
        altered: bool,
        dice: &mut Dice,
        words: &mut Vec<Word>,
        names: &mut Vec<String>,
    ) {
        let tool = &of.tool;
        for part in parts {
            match part {
                Part::Text(text) => push(words, text, None),
                Part::Slot { name, kind, value } => {
                    let key = (tool.clone(), name.clone().unwrap_or_default());
                    let usual = self.kinds.get(&key).and_then(|kinds| kinds.first()).copied();
                    let kind = kind.or(usual).unwrap_or(Kind::Text);
                    let mut text = match value {
                        // A value without a stated kind may be of any kind of its argument; only texts are exchanged.
                        Some(value) if !altered || dice.below(2) == 0 || !kind.is_open() => value.clone(),
                        _ => self.values.one(of, name.as_deref(), kind, dice),
                    };
                    // "for on friday" is nobody's way of saying it.
                    let prepositions = ["on", "at", "for", "in", "by", "to", "until", "from"];
                    if value.is_none()
                        && words
                            .iter()
                            .rev()
                            .find(|w| !w.text.is_empty())
                            .is_some_and(|w| prepositions.contains(&w.text.as_str()))
                    {
                        text = text.strip_prefix("on ").or(text.strip_prefix("at ")).unwrap_or(&text).to_owned();
                    }
                    push_value(words, names, name.as_deref(), &text);
                    let items = tool == "add_task" && name.as_deref() == Some("title") && role(tool, "title") == "item";
                    if altered && items && dice.below(7) == 0 {
                        self.more_items(of, dice, words, names);
                    }
                }
                Part::Capture(name, parts) => {
                    let at = words.len();
                    self.expand(of, parts, altered, dice, words, names);
                    names.push(name.clone());
                    let number = names.len() - 1;
                    words[at..].iter_mut().for_each(|word| word.value = Some(number));
                }
                Part::Choice { optional: true, .. } if dice.below(3) != 0 => {}
                Part::Choice { any, .. } => {
                    self.expand(of, &any[dice.below(any.len())], altered, dice, words, names);
                }
            }
        }
    }

    /// "milk" becomes "milk, eggs and bread".
    fn more_items(&self, of: &Phrasing, dice: &mut Dice, words: &mut Vec<Word>, names: &mut Vec<String>) {
        let count = 1 + dice.below(3);
        let commas = dice.below(3) > 0;
        for i in 0..count {
            let last = i + 1 == count;
            match (last, commas) {
                (true, _) => push(words, " and ", None),
                (false, true) => push(words, ", ", None),
                (false, false) => push(words, " ", None),
            }
            let item = self.values.one(of, Some("title"), Kind::Text, dice);
            push_value(words, names, Some("title"), &item);
        }
    }
}

fn push_value(words: &mut Vec<Word>, names: &mut Vec<String>, name: Option<&str>, text: &str) {
    let number = name.map(|name| {
        names.push(name.to_owned());
        names.len() - 1
    });
    push(words, text, number);
}

/// Appends text: its first word is apart from the last one if either has a space there.
fn push(words: &mut Vec<Word>, text: &str, value: Option<usize>) {
    let mut apart = text.starts_with(char::is_whitespace) || words.last().is_none_or(|w| w.text.is_empty());
    for word in text.split_whitespace() {
        let apart = std::mem::replace(&mut apart, true) && !word.starts_with([',', '.', '?', '!']);
        // A mark that only says "a space follows" has done its work.
        if words.last().is_some_and(|w| w.text.is_empty()) {
            words.pop();
        }
        words.push(Word { text: word.to_owned(), value, apart });
    }
    if text.ends_with(char::is_whitespace) && words.last().is_some_and(|w| !w.text.is_empty()) {
        words.push(Word { text: String::new(), value: None, apart: true });
    }
}

/// What people do to sentences: slips, words left out, words before.
fn alter(words: &mut Vec<Word>, dice: &mut Dice) {
    words.retain(|word| !word.text.is_empty());
    if words.len() > 3 && dice.below(6) == 0 {
        let may: Vec<usize> = (0..words.len())
            .filter(|i| words[*i].value.is_none() && MAY_LACK.contains(&words[*i].text.as_str()))
            .collect();
        if !may.is_empty() {
            words.remove(may[dice.below(may.len())]);
        }
    }
    if dice.below(6) == 0 {
        let long: Vec<usize> =
            (0..words.len()).filter(|i| words[*i].value.is_none() && words[*i].text.chars().count() > 3).collect();
        if !long.is_empty() {
            let word = &mut words[long[dice.below(long.len())]].text;
            *word = slip(word, dice);
        }
    }
    if dice.below(7) == 0 {
        let before = dice.one(FILLERS).split(' ').map(|w| Word { text: w.to_owned(), value: None, apart: true });
        words.splice(0..0, before);
    }
}

/// A letter swapped, left out or doubled.
fn slip(word: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    let at = 1 + dice.below(chars.len() - 2);
    match dice.below(3) {
        0 => chars.swap(at, at + 1),
        1 => drop(chars.remove(at)),
        _ => chars.insert(at, chars[at]),
    }
    chars.into_iter().collect()
}

fn join(words: &[Word], names: Vec<String>) -> Expanded {
    let mut all = Expanded::default();
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; names.len()];
    for word in words.iter().filter(|word| !word.text.is_empty()) {
        if word.apart && !all.text.is_empty() {
            all.text.push(' ');
        }
        let from = all.text.len();
        all.text.push_str(&word.text);
        if let Some(span) = word.value.and_then(|value| spans.get_mut(value)) {
            *span = Some((span.map_or(from, |(first, _)| first), all.text.len()));
        }
    }
    all.values = names.into_iter().zip(spans).filter_map(|(name, span)| Some((name, span?.0, span?.1))).collect();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::learn::parse;

    #[test]
    fn values_are_found_again() {
        let values = Values::new(&[]);
        let kinds = HashMap::new();
        let expander = Expander { values: &values, kinds: &kinds };
        for (line, wanted, of) in [
            ("Put {title=oat milk}, {title=eggs} and {title=two rolls}!", "Put oat milk, eggs and two rolls!", 3),
            ("set a [very |quite ]{name=egg}timer for {duration=10 minutes}", "", 2),
            ("{a=x}{b=y} ?", "xy?", 2),
        ] {
            let phrasing = Phrasing {
                tool: "t".to_owned(),
                fixed: serde_json::Map::new(),
                parts: parse(line).unwrap(),
                place: String::new(),
                template: false,
            };
            let mut dice = Dice(3);
            for _ in 0..40 {
                let all = expander.sentence(&phrasing, false, &mut dice);
                assert!(wanted.is_empty() || all.text == wanted, "{}", all.text);
                assert_eq!(all.values.len(), of);
                for (name, from, to) in &all.values {
                    assert!(line.contains(&format!("{{{name}={}}}", &all.text[*from..*to])), "{all:?}");
                }
                assert!(!expander.sentence(&phrasing, true, &mut dice).text.contains("  "));
            }
        }
    }
}
