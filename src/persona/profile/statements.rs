//! Reads lasting statements about a person out of their own message, by rules, in English, German, Spanish and French.
//!
//! A rule matches a whole sentence, and its value has to look like one: "call me Sam" gives a name, "call me back later" gives
//! nothing. A missed statement costs nothing; a wrong one is shown in the profile with the words it came from.

use super::{ProfileSection, apply::ProfileText};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The longest message that is read, in characters, and the most sentences of it: a long text is no statement.
const LONGEST: usize = 600;
const SENTENCES: usize = 6;

/// A statement of a person about themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The text and its place in the profile.
    pub text: ProfileText,
    /// The sentence it is from.
    pub quote: String,
}

impl Statement {
    /// The arguments of `update_profile` that store statements.
    pub fn arguments(all: &[Statement]) -> Value {
        let mut args = Map::new();
        for Statement { text, .. } in all {
            match text.key.as_str() {
                "" => {
                    let list = json!(text.section).as_str().unwrap_or_default().to_owned();
                    if let Some(list) = args.entry(list).or_insert_with(|| json!([])).as_array_mut() {
                        list.push(text.value.clone().into());
                    }
                }
                key => drop(args.insert(key.to_owned(), text.value.clone().into())),
            }
        }
        let quotes: Vec<&str> = all.iter().map(|one| one.quote.as_str()).collect();
        args.insert("quote".to_owned(), quotes.join(" ").into());
        args.into()
    }

    /// Whether it says how Hob should answer, and is no fact that one may also want to be remembered.
    pub fn is_addressed(&self) -> bool {
        matches!(self.text.section, Style | Instructions)
            || matches!(self.text.key.as_str(), "preferredName" | "language")
    }
}

/// The kind of a value.
#[derive(Clone, Copy)]
enum Slot {
    /// One to three words that can be a name.
    Name,
    /// One to four words.
    Place,
    /// A language.
    Language,
    /// A day, with a digit or a month.
    Day,
    /// One word, or words with slashes.
    Pronouns,
    /// One to eight words.
    Short,
    /// Words that are an instruction: as they are.
    Words,
    /// Nothing: the rule has its value.
    Is(&'static str),
}

struct Rule {
    section: ProfileSection,
    key: String,
    /// Beginnings of the sentence, in lower case; one of them fits.
    begins: Vec<String>,
    /// Its ends; one of them fits, if there are some.
    ends: Vec<String>,
    slot: Slot,
}

/// The rules and word lists of `statements.txt`.
#[derive(Default)]
struct Rules {
    rules: Vec<Rule>,
    languages: Vec<(&'static str, &'static str)>,
    no_names: Vec<&'static str>,
    months: Vec<&'static str>,
    front: Vec<String>,
    back: Vec<String>,
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(include_str!("statements.txt")));

use ProfileSection::{Facts, Goals, Identity, Instructions, Interests, Preferences, Style};

impl Rules {
    fn read(text: &'static str) -> Self {
        let (mut all, mut part) = (Self::default(), "");
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(head) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                part = head.split(' ').next().unwrap_or_default();
                all.rules.extend(Rule::of(head));
                continue;
            }
            match part {
                "languages" => all.languages.extend(line.split_once(" = ")),
                "no_names" => all.no_names.extend(line.split(' ')),
                "months" => all.months.extend(line.split(' ')),
                "front" => all.front.push(format!("{line} ")),
                "back" => all.back.push(if line.starts_with(',') { line.to_owned() } else { format!(" {line}") }),
                _ => all.rules.last_mut().into_iter().for_each(|rule| rule.add(line)),
            }
        }
        all
    }
}

impl Rule {
    /// The rule that a heading begins: its section, key and slot.
    fn of(head: &'static str) -> Option<Self> {
        let [section, key, slot] = head.splitn(3, ' ').collect::<Vec<_>>().try_into().ok()?;
        let section = match section {
            "identity" => Identity,
            "style" => Style,
            "preferences" => Preferences,
            "interests" => Interests,
            "goals" => Goals,
            "instructions" => Instructions,
            _ => Facts,
        };
        let slot = match slot {
            "name" => Slot::Name,
            "place" => Slot::Place,
            "language" => Slot::Language,
            "day" => Slot::Day,
            "pronouns" => Slot::Pronouns,
            "short" => Slot::Short,
            "words" => Slot::Words,
            is => Slot::Is(is.strip_prefix("is:")?),
        };
        let key = if key == "-" { String::new() } else { key.to_owned() };
        Some(Self { section, key, begins: vec![], ends: vec![], slot })
    }

    fn add(&mut self, line: &str) {
        match (line.strip_prefix("< "), line.strip_suffix('~'), self.slot) {
            (Some("-"), ..) => self.ends.push(String::new()),
            (Some(end), ..) => self.ends.push(format!(" {end}")),
            (None, Some(begin), _) => self.begins.push(begin.to_owned()),
            (None, None, Slot::Is(_)) => self.begins.push(line.to_owned()),
            (None, None, _) => self.begins.push(format!("{line} ")),
        }
    }
}

/// The lasting statements of this message about the person who wrote it.
pub fn statements(message: &str) -> Vec<Statement> {
    if message.chars().count() > LONGEST || message.contains(['"', '“', '„', '«', '\n', '`']) {
        return vec![];
    }
    let mut found: Vec<Statement> = vec![];
    for sentence in sentences(message).into_iter().take(SENTENCES) {
        let Some(text) = read(&sentence) else { continue };
        // A later statement about the same corrects the earlier one.
        found.retain(|one| text.key.is_empty() || one.text.key != text.key);
        found.push(Statement { text, quote: sentence });
    }
    found
}

/// How many sentences a message has.
pub fn sentence_count(message: &str) -> usize {
    pieces(message).iter().filter(|(text, _)| !text.trim().is_empty()).count()
}

/// The sentences of a message that end with no question mark.
fn sentences(message: &str) -> Vec<String> {
    let all = pieces(message);
    let told = all.into_iter().filter(|(text, end)| *end != '?' && !text.trim_end().ends_with('?'));
    told.map(|(text, _)| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// The sentences of a message, and how each ends.
fn pieces(message: &str) -> Vec<(&str, char)> {
    let (mut all, mut start) = (vec![], 0);
    let bytes = message.as_bytes();
    for (at, c) in message.char_indices() {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        // "12. März" does not end.
        let number = c == '.' && at > 0 && bytes.get(at - 1).is_some_and(u8::is_ascii_digit) && at + 1 < bytes.len();
        if matches!(c, '.' | '!' | '?' | ';') && next == b' ' && !number {
            all.push((&message[start..at], c));
            start = at + c.len_utf8();
        }
    }
    all.push((message.get(start..).unwrap_or_default(), ' '));
    all
}

fn read(sentence: &str) -> Option<ProfileText> {
    // The same letters at the same places, so that the value is taken from the sentence as it was written.
    let written: Vec<char> = expanded(sentence).chars().collect();
    let plain: String = written.iter().map(|c| plain(*c)).collect();
    let (mut start, mut end) = (0, plain.chars().count());
    let plain: Vec<char> = plain.chars().collect();
    let begins = |at: usize, what: &str| what.chars().enumerate().all(|(n, c)| plain.get(at + n) == Some(&c));
    while let Some(front) = RULES.front.iter().find(|front| begins(start, front)) {
        start += front.chars().count();
    }
    let ends = |end: usize, what: &str| {
        let length = what.chars().count();
        end >= start + length && begins(end - length, what)
    };
    while let Some(last) = end.checked_sub(1).and_then(|n| plain.get(n)).filter(|c| matches!(c, '.' | '!' | ',' | ' '))
    {
        let _ = last;
        end -= 1;
    }
    while let Some(back) = RULES.back.iter().find(|back| ends(end, back)) {
        end -= back.chars().count();
    }
    let nothing = [String::new()];
    for rule in &RULES.rules {
        for first in rule.begins.iter().filter(|first| begins(start, first)) {
            let from = start + first.chars().count();
            let endings = if rule.ends.is_empty() { &nothing[..] } else { &rule.ends };
            // The longest ending first.
            let fits = endings.iter().filter(|last| ends(end, last) && end >= from + last.chars().count());
            let Some(last) = fits.max_by_key(|last| last.len()) else { continue };
            let to = end - last.chars().count();
            let text = |from: usize, to: usize| written.get(from..to).map(|c| c.iter().collect::<String>());
            let (Some(value), Some(whole)) = (text(from, to), text(start, end)) else { continue };
            if let Some(value) = value_of(rule, &value, &whole) {
                return Some(ProfileText { section: rule.section, key: rule.key.clone(), value });
            }
        }
    }
    None
}

/// "I'm" and "don't" as two words.
fn expanded(sentence: &str) -> String {
    let mut text = sentence.replace('’', "'");
    for (short, long) in
        [("I'm ", "I am "), ("i'm ", "i am "), ("I've ", "I have "), ("n't ", " not "), ("'ll ", " will ")]
    {
        text = text.replace(short, long);
    }
    if let Some(rest) = text.strip_prefix("Im ") {
        text = format!("I am {rest}");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A letter in lower case without an accent; one for one.
fn plain(c: char) -> char {
    match c.to_lowercase().next().unwrap_or(c) {
        'á' | 'à' | 'â' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'î' | 'ï' => 'i',
        'ó' | 'ô' | 'ö' => 'o',
        'ú' | 'û' | 'ü' | 'ù' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        c => c,
    }
}

/// The value, if it is one of the rule's kind.
fn value_of(rule: &Rule, value: &str, whole: &str) -> Option<String> {
    let value = value.trim().trim_matches(',').trim();
    let lower: String = value.chars().map(plain).collect();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let first = words.first().copied().unwrap_or_default();
    let letters = |text: &str| text.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '.'));
    let own = value.to_owned();
    match rule.slot {
        Slot::Is("") => value.is_empty().then(|| whole.to_owned()),
        Slot::Is(text) => value.is_empty().then(|| text.to_owned()),
        Slot::Name => {
            // German: "du kannst mich Sam nennen".
            let own = own.strip_suffix(" nennen").map(str::to_owned).unwrap_or(own);
            let fits =
                (1..=3).contains(&own.split_whitespace().count()) && letters(&own) && !RULES.no_names.contains(&first);
            let capital = own.chars().next().is_some_and(char::is_uppercase);
            // "call me maybe baby": several words without capitals are no name.
            (fits && (capital || words.len() == 1)).then_some(own)
        }
        Slot::Place => {
            let fits = (1..=4).contains(&words.len())
                && letters(value)
                && !["a", "an", "the", "my", "einem", "einer", "una", "un", "une"].contains(&first);
            fits.then_some(own)
        }
        Slot::Language => RULES.languages.iter().find(|(word, _)| *word == lower).map(|(_, name)| (*name).to_owned()),
        Slot::Day => {
            let dated = value.bytes().any(|b| b.is_ascii_digit()) && words.len() <= 5;
            let month = words.iter().any(|word| RULES.months.iter().any(|month| word.starts_with(month)));
            (dated && (month || value.contains(['.', '-', '/']))).then_some(own)
        }
        Slot::Pronouns => {
            let fits = words.len() <= 4 && (value.contains('/') || ["they", "she", "he", "them"].contains(&first));
            fits.then_some(own)
        }
        Slot::Short => ((1..=10).contains(&words.len()) && !is_vague(first)).then_some(own),
        Slot::Words => {
            let enough = rule.section == Instructions || (1..=12).contains(&words.len()) && !is_vague(first);
            (enough && whole.split_whitespace().count() <= 40).then(|| whole.to_owned())
        }
    }
}

/// Words with which a value points to something else: "I prefer that one".
fn is_vague(word: &str) -> bool {
    [
        "it", "that", "this", "these", "those", "if", "not", "to", "when", "das", "dass", "wenn", "es", "eso", "esto",
        "que", "cela", "ca", "one",
    ]
    .contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str) -> Vec<(String, String)> {
        let name = |text: &ProfileText| {
            if text.key.is_empty() { json!(text.section).as_str().unwrap().to_owned() } else { text.key.clone() }
        };
        statements(message).into_iter().map(|one| (name(&one.text), one.text.value)).collect()
    }

    #[test]
    fn statements_in_four_languages() {
        for (message, key, value) in [
            ("Call me Sam", "preferredName", "Sam"),
            ("please call me sam.", "preferredName", "sam"),
            ("You can call me Anna-Lena, please!", "preferredName", "Anna-Lena"),
            ("Nenn mich Sam", "preferredName", "Sam"),
            ("Du kannst mich Sam nennen", "preferredName", "Sam"),
            ("Llámame Pepe", "preferredName", "Pepe"),
            ("Appelle-moi Zoé", "preferredName", "Zoé"),
            ("My name is Samuel Weber", "name", "Samuel Weber"),
            ("Ich heiße Jürgen", "name", "Jürgen"),
            ("Me llamo José", "name", "José"),
            ("My pronouns are they/them", "pronouns", "they/them"),
            ("I use she/her pronouns", "pronouns", "she/her"),
            ("My birthday is on 12 March 1990", "birthday", "12 March 1990"),
            ("Ich habe am 12. März Geburtstag", "birthday", "12. März"),
            ("Mi cumpleaños es el 3 de octubre", "birthday", "3 de octubre"),
            ("Je suis née le 4 juin", "birthday", "4 juin"),
            ("I live in Graz", "place", "Graz"),
            ("I've moved to New York", "place", "New York"),
            ("J'habite à Lyon", "place", "Lyon"),
            ("Answer in German", "language", "German"),
            ("From now on, please answer me in French", "language", "French"),
            ("Antworte mir auf Deutsch, bitte", "language", "German"),
            ("Responde en español", "language", "Spanish"),
            ("Réponds-moi en français", "language", "French"),
            ("I prefer short answers", "answerLength", "short"),
            ("Be brief please", "answerLength", "short"),
            ("Fass dich kurz", "answerLength", "short"),
            ("Prefiero respuestas cortas", "answerLength", "short"),
            ("Je préfère des réponses détaillées", "answerLength", "detailed"),
            ("Du kannst mich duzen", "tone", "casual"),
            ("I'm vegetarian", "facts", "I am vegetarian"),
            ("Ich bin Vegetarierin", "facts", "Ich bin Vegetarierin"),
            ("Soy vegana", "facts", "Soy vegana"),
            ("I don't eat fish", "facts", "I do not eat fish"),
            ("I prefer tea to coffee", "preferences", "I prefer tea to coffee"),
            ("I am interested in sailing", "interests", "sailing"),
            ("My goal is to run a marathon", "goals", "run a marathon"),
            ("Always use metric units", "instructions", "Always use metric units"),
            ("Never use emojis", "instructions", "Never use emojis"),
        ] {
            assert_eq!(told(message), [(key.to_owned(), value.to_owned())], "{message}");
        }
        let all = told("Hi! Call me Sam. I'm vegetarian. What's the time?");
        assert_eq!(all.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["preferredName", "facts"]);
    }

    #[test]
    fn what_is_no_statement_about_oneself() {
        for message in [
            "call me back",
            "call me later",
            "call me a cab",
            "call me at three",
            "call me when dinner is ready",
            "call me tomorrow",
            "don't call me back",
            "call mum",
            "my name is what?",
            "what is my name?",
            "is my name Sam?",
            "my name is not important",
            "he said: \"call me Sam\"",
            "Ben says I am vegetarian",
            "Anna is vegetarian",
            "if I am vegetarian, what do I eat?",
            "I live in a flat with two cats",
            "speak louder",
            "speak up",
            "answer in a minute",
            "answer in one word",
            "I prefer that one",
            "I prefer not to",
            "I am tired",
            "I am at home",
            "always on my mind",
            "turn on the light",
            "be quick",
            "my birthday is soon",
            "my birthday is on a sunday",
            "ruf mich an",
            "nenn mich nicht so",
            "translate: call me Sam\ninto German",
            "remind me to call me Sam",
            "write a letter that says my name is Max",
            "I use they often",
        ] {
            assert_eq!(told(message), [], "{message}");
        }
        assert_eq!(told(&format!("call me Sam. {}", "x ".repeat(400))), []);
    }

    #[test]
    fn arguments_are_those_of_the_tool() {
        let args = Statement::arguments(&statements("Call me Sam. I'm vegetarian. I don't eat fish."));
        let expected = json!({
            "preferredName": "Sam", "facts": ["I am vegetarian", "I do not eat fish"],
            "quote": "Call me Sam I'm vegetarian I don't eat fish"
        });
        assert_eq!(args, expected);
    }
}
