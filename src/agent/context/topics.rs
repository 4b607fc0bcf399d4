//! Topics of a conversation from the person's own words: cheap and deterministic.

use llm::Message;
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};
use text_kit::truncate;

/// Maximum number of topics.
const TOPICS: usize = 4;
/// Number of the person's newest messages read for topics.
const RECENT: usize = 12;
/// Minimum length of a word that counts, in characters.
const MIN_WORD: usize = 4;
/// Maximum length of a topic and of the current task, in characters.
const WORD: usize = 30;
const TASK: usize = 160;
/// Minimum number of distinct words in a task; a shorter message ("yes, do it") continues the task before it.
const MIN_TASK_WORDS: usize = 2;

/// The words that most of the person's recent messages and the summary share, the most frequent first, the latest first among
/// equals.
pub(crate) fn topics(history: &[Message], summary: &str) -> Vec<String> {
    let mut texts: Vec<Cow<'_, str>> = said(history).rev().take(RECENT).collect();
    if texts.len() < 2 && summary.is_empty() {
        return vec![];
    }
    texts.extend((!summary.is_empty()).then_some(Cow::Borrowed(summary)));
    // For each word: the number of texts, and the age of the latest.
    let mut found: HashMap<String, (usize, usize)> = HashMap::new();
    for (age, text) in texts.iter().enumerate() {
        for word in words(text).into_iter().filter(|word| is_topic(word)) {
            found.entry(word).or_insert((0, age)).0 += 1;
        }
    }
    let mut ranked: Vec<(String, (usize, usize))> = found.into_iter().collect();
    // Repeated words are topics; without any, long words are.
    let again = ranked.iter().any(|(_, (count, _))| *count > 1);
    ranked.retain(|(_, (count, _))| !again || *count > 1);
    let length = |word: &str| std::cmp::Reverse(word.chars().count());
    ranked.sort_by(|(a, (many, old)), (b, (more, older))| {
        more.cmp(many).then(old.cmp(older)).then(length(a).cmp(&length(b))).then(a.cmp(b))
    });
    ranked.into_iter().take(TOPICS).map(|(word, _)| word).collect()
}

/// The distinct words of a text that say something about its subject.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= MIN_WORD)
        .map(str::to_lowercase)
        .filter(|word| !EVERYDAY_WORDS.contains(&**word))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Long words without a subject.
static EVERYDAY_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| EVERYDAY.split_ascii_whitespace().collect());
const EVERYDAY: &str = "about after again also been before could does doing done every from give goal have here into just \
    know like long make more most much need next only over please should some something tell than thank \
    thanks that their them then there these they thing this time today very want were what when where \
    which will with would year years your";

/// The person's current task: their latest message that makes sense by itself, on one line. Empty at the start of a
/// conversation.
pub(crate) fn current_task(history: &[Message]) -> String {
    let texts: Vec<Cow<'_, str>> = said(history).collect();
    if texts.len() < 2 {
        return String::new();
    }
    let telling = texts.iter().rev().find(|text| words(text).len() >= MIN_TASK_WORDS);
    let line = telling.or(texts.first()).map_or("", |text| text.trim()).lines().next().unwrap_or_default().trim();
    truncate(line, TASK)
}

fn said(history: &[Message]) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
    history.iter().filter_map(|message| match message {
        Message::User(content) => Some(content.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    })
}

/// Whether it is a plain word: not a number, or part of an address or a key.
fn is_topic(word: &str) -> bool {
    word.chars().count() <= WORD && word.chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(said: &[&str]) -> Vec<Message> {
        said.iter()
            .flat_map(|text| [Message::user(*text), Message::text_only("Tomatoes everywhere, tomatoes.")])
            .collect()
    }

    #[test]
    fn words_the_person_says_again_are_topics() {
        let rows: [(&[&str], &str, &[&str]); 6] = [
            (&["Plan the garden party"], "", &[]),
            (&["Plan the garden party", "Who comes to the party in the garden?"], "", &["garden", "party"]),
            (&["Plan the garden party", "How long is the drive to Bern?"], "", &["drive", "bern", "garden", "party"]),
            (&["and how long is the drive?"], "The person plans a drive to Bern.", &["drive"]),
            (&["hello", "what is 4711 times 0815?"], "", &["times", "hello"]),
            (&["yes", "no"], "", &[]),
        ];
        for (said, summary, expected) in rows {
            assert_eq!(topics(&history(said), summary), expected, "{said:?}");
        }
    }

    #[test]
    fn the_current_task_is_the_last_message_that_says_something() {
        let long = "water the garden ".repeat(20);
        let rows: [(&[&str], &str); 5] = [
            (&["Plan the garden party"], ""),
            (&["Plan the garden party", "yes, do it"], "Plan the garden party"),
            (&["Plan the garden party", "Book a train to Bern\nplease"], "Book a train to Bern"),
            (&["hi", "yes"], "hi"),
            (&[&long, "ok"], &format!("{}…", long[..TASK].trim_end())),
        ];
        for (said, task) in rows {
            assert_eq!(current_task(&history(said)), task, "{said:?}");
        }
    }
}
