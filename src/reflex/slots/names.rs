//! Names: of people ("Ana", "dr Huber", "my mum") and of lists ("the shopping list").

use crate::{sentence::Sentence, slots::date};
use serde_json::Value;

/// Maximum length of a person's name, in words.
const MOST: usize = 4;

/// Possible names at `at`, longest first: tokens, how many of them identify a name, and the name without a possessive
/// ending. If the writer capitalizes names, other words are excluded.
pub(crate) fn person(s: &Sentence, at: usize) -> Vec<(usize, usize, String)> {
    if let Some(found) = relation(s, at) {
        return vec![found];
    }
    let title = usize::from(TITLES.contains(&s.word(at)) && s.tokens.get(at + 1).is_some());
    let mut all = vec![];
    let mut count = title;
    let big = |i: usize| s.tokens.get(i).is_some_and(|t| s.text[t.start..].starts_with(char::is_uppercase));
    let strict = big(at + title) || title > 0 || writes_capitals(s);
    while count < MOST + title && at + count < s.len() {
        let i = at + count;
        let token = &s.tokens[i];
        let joined = count > title && (token.after_break || token.opens);
        let part = if strict { big(i) || (title > 0 && count == title) } else { true };
        let particle = count > title && PARTICLES.contains(&s.word(i));
        if joined || !(particle || part && may_be_name(s, i)) {
            break;
        }
        count += 1;
        // A particle does not end a name.
        if !particle {
            let name = without_ending(s.slice(at, at + count));
            let sure = if strict { count } else { 0 };
            all.push((count, sure, name));
        }
        if ends_possessive(s, i) {
            break;
        }
    }
    all.reverse();
    all
}

/// "mum", "my wife", "our neighbour's".
fn relation(s: &Sentence, at: usize) -> Option<(usize, usize, String)> {
    let mine = usize::from(["my", "our"].contains(&s.word(at)));
    let i = at + mine;
    let word = s.word(i);
    let bare = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    let alone = ALONE.contains(&bare);
    let known = alone || mine == 1 && RELATIONS.contains(&bare);
    // "mum Anna" continues with a name.
    known.then(|| (mine + 1, mine + 1, without_ending(s.slice(i, i + 1))))
}

const ENDINGS: [&str; 2] = ["'s", "'"];
const TITLES: &[&str] = &["mr", "mrs", "ms", "miss", "dr", "doctor", "prof", "professor", "uncle", "aunt", "auntie"];
const PARTICLES: &[&str] = &["von", "van", "de", "der", "den", "la", "le", "di", "da", "del", "zu", "al", "el", "bin"];
/// Relations that need no "my".
const ALONE: &[&str] = &[
    "mum", "mom", "mummy", "mommy", "dad", "daddy", "mama", "papa", "grandma", "grandpa", "granny", "gran", "nan",
    "grandad", "granddad",
];
const RELATIONS: &[&str] = &[
    "mother",
    "father",
    "brother",
    "sister",
    "wife",
    "husband",
    "partner",
    "girlfriend",
    "boyfriend",
    "son",
    "daughter",
    "uncle",
    "aunt",
    "cousin",
    "boss",
    "neighbour",
    "neighbor",
    "landlord",
    "doctor",
    "dentist",
    "plumber",
    "electrician",
    "nephew",
    "niece",
    "grandmother",
    "grandfather",
    "friend",
    "parents",
    "colleague",
];

/// Words that are no names unless something else indicates one.
const COMMON: &str = "a about above add after again all also always am an and any anybody anyone anything appointment are \
    as ask at away back be because been before birthday birthdays book both bring but buy by call can check come contact \
    contacts could day days did do does done down each email every everybody everyone everything few find for from get \
    give go going good had has have he hello help her here him his home house how i if in into is it its just know last \
    later let list lists look make many may me meet meeting message mine more most much must my need never new next no \
    not note nothing now number numbers of off old on once one only open or other our out over people phone please put \
    remember remind ring same save say see send set shall she should show so some somebody someone something soon still \
    stop take talk tell text than thank thanks that the their them then there these they thing this those time to today \
    tomorrow tonight too two under until up us very visit want was we well were what when where which while who whose why \
    will with without work would write yes yesterday yet you your address called plumber dentist doctor mail milk bread \
    task tasks notes calendar event events week month year morning evening afternoon night noon";

fn may_be_name(s: &Sentence, at: usize) -> bool {
    let word = s.word(at);
    let bare = ENDINGS.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    let letters = bare.chars().count() > 1 && bare.chars().all(|c| c.is_alphabetic() || c == '\'');
    letters && !COMMON.split_whitespace().any(|w| w == bare) && !date::names_day(s, at)
}

/// Whether the text has capitals beyond sentence starts.
fn writes_capitals(s: &Sentence) -> bool {
    let begins = |i: usize| s.text[..s.tokens[i].start].trim_end().is_empty() || s.tokens[i].after_break;
    let big = |i: usize| s.text[s.tokens[i].start..].starts_with(char::is_uppercase);
    (0..s.len()).any(|i| !begins(i) && big(i) && s.word(i) != "i" && !date::names_day(s, i))
}

fn ends_possessive(s: &Sentence, at: usize) -> bool {
    ENDINGS.iter().any(|ending| s.word(at).ends_with(ending))
}

fn without_ending(name: &str) -> String {
    let endings = ["'s", "’s", "'", "’"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name).to_owned()
}

/// List names at `at`, with "list" included or following, longest first; null for the default list.
pub(crate) fn list(s: &Sentence, at: usize) -> Vec<(usize, Value)> {
    const OWNERS: &[&str] = &["my", "the", "our", "a", "your", "that", "this"];
    let is_list = |i: usize| ["list", "lists"].contains(&s.word(i));
    let owner = usize::from(OWNERS.contains(&s.word(at)));
    let begin = at + owner;
    if is_list(begin) {
        return vec![(owner + 1, Value::Null)];
    }
    let names = (1..=3).find(|n| is_list(begin + n)).filter(|n| (begin..begin + n).all(|i| names_list(s, i)));
    let Some(count) = names else { return vec![] };
    let words: Vec<&str> = (begin..begin + count).map(|i| s.word(i)).collect();
    let name = match words.join(" ").as_str() {
        "to do" | "todo" | "todos" | "to dos" | "task" | "tasks" | "reminder" | "reminders" | "job" | "jobs"
        | "chore" | "chores" => Value::Null,
        "grocery" | "groceries" | "supermarket" | "shop" | "food" | "food shopping" | "grocery shopping" => {
            Value::from("shopping")
        }
        // A typo must not create a second list.
        name if name.len() > 5 && strsim::osa_distance(name, "shopping") < 3 => Value::from("shopping"),
        _ => Value::from(s.slice(begin, begin + count).to_lowercase()),
    };
    vec![(owner + count + 1, name.clone()), (owner + count, name)]
}

/// Whether a word may be part of a list's name.
fn names_list(s: &Sentence, at: usize) -> bool {
    const OTHERS: &[&str] = &[
        "on", "onto", "in", "into", "from", "off", "at", "of", "and", "the", "my", "our", "a", "an", "is", "are",
        "put", "add", "show", "me", "whole", "entire", "full", "what", "which", "all", "new", "make", "create",
        "clear", "with",
    ];
    let word = s.word(at);
    let to_do = word == "to" && ["do", "dos"].contains(&s.word(at + 1));
    (to_do || word != "to" && !OTHERS.contains(&word)) && word.chars().all(|c| c.is_alphanumeric() || c == '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_named() {
        for (text, at, wanted) in [
            ("call Ana tomorrow", 1, vec![(1, "Ana")]),
            ("call Ana Maria Huber tomorrow", 1, vec![(3, "Ana Maria Huber"), (2, "Ana Maria"), (1, "Ana")]),
            ("when is Anna's birthday", 2, vec![(1, "Anna")]),
            ("when is anna’s birthday", 2, vec![(1, "anna")]),
            ("when is anna huber's birthday", 2, vec![(2, "anna huber"), (1, "anna")]),
            ("call Dr. Huber", 1, vec![(2, "Dr. Huber")]),
            ("ludwig van beethoven's number", 0, vec![(3, "ludwig van beethoven"), (1, "ludwig")]),
            ("my mum's number", 0, vec![(2, "mum")]),
            ("what is dad's email", 2, vec![(1, "dad")]),
            ("our landlord", 0, vec![(2, "landlord")]),
            ("the plumber", 0, vec![]),
            ("call Ana about the party", 4, vec![]),
            ("call him", 1, vec![]),
            ("Bring the car to Tom", 0, vec![]),
            ("Ben, 0664 1234567", 0, vec![(1, "Ben")]),
            ("call tom on monday", 1, vec![(1, "tom")]),
            ("17", 0, vec![]),
        ] {
            let got: Vec<_> = person(&Sentence::whole(text), at).into_iter().map(|(n, _, who)| (n, who)).collect();
            let wanted: Vec<_> = wanted.into_iter().map(|(n, who)| (n, who.to_owned())).collect();
            assert_eq!(got, wanted, "{text}");
        }
    }

    #[test]
    fn lists_are_named() {
        for (text, wanted) in [
            ("shopping list", vec![(2, "shopping".into()), (1, "shopping".into())]),
            ("my Shopping list please", vec![(3, "shopping".into()), (2, "shopping".into())]),
            ("the grocery list", vec![(3, "shopping".into()), (2, "shopping".into())]),
            ("the shoping list", vec![(3, "shopping".into()), (2, "shopping".into())]),
            ("the to-do list", vec![(4, Value::Null), (3, Value::Null)]),
            ("my list", vec![(2, Value::Null)]),
            ("list", vec![(1, Value::Null)]),
            ("christmas gifts list", vec![(3, "christmas gifts".into()), (2, "christmas gifts".into())]),
            ("the shopping", vec![]),
            ("milk to the shopping list", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(list(&Sentence::whole(text), 0), wanted, "{text}");
        }
    }
}
