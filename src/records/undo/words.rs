//! Sentences about changes, and about what is so after an undo.

use crate::{counted, join_list, quote};
use store::{Change, Did, Part, Store};

/// The tool whose changes are ticks.
const TICKS: &str = "complete_task";

/// The parts of a change that an undo left as they are.
#[derive(Debug, Default)]
pub struct Kept {
    /// Those that were changed since.
    pub changed: Vec<Part>,
    /// Why others are never undone: a sentence each, without its end.
    pub lost: Vec<String>,
}

/// The parts of a change that are named: not those that belong to others of it.
fn named<'a>(store: &Store, parts: &'a [Part]) -> Vec<&'a Part> {
    let titled: Vec<&Part> = parts.iter().filter(|part| !part.title.is_empty()).collect();
    let whole: Vec<&Part> = titled.iter().copied().filter(|part| !store.is_part(&part.table)).collect();
    if whole.is_empty() { titled } else { whole }
}

/// The word, place and deed that all of them share, if they do.
fn common<'a>(store: &Store, parts: &[&'a Part]) -> Option<(&'static str, &'a str, Did)> {
    let first = *parts.first()?;
    let same = |part: &&Part| part.table == first.table && part.did() == first.did();
    let place = if parts.iter().all(|part| part.list == first.list) { &first.list[..] } else { "" };
    parts.iter().all(same).then(|| (store.word_of(&first.table).unwrap_or("thing"), place, first.did()))
}

fn titles(parts: &[&Part]) -> Vec<String> {
    parts.iter().map(|part| part.title.clone()).collect()
}

/// The effect of a change: "Added milk to the shopping list.".
pub fn changed_words(store: &Store, change: &Change) -> String {
    let parts = named(store, &change.parts);
    if change.too_large {
        return "Changed many records.".into();
    }
    let Some((word, place, did)) = common(store, &parts) else {
        return if parts.is_empty() { "Changed something.".into() } else { format!("Changed {} things.", parts.len()) };
    };
    let changed = if change.tool == TICKS { "Ticked" } else { "Changed" };
    match (parts.as_slice(), place, did) {
        ([one], "", Did::Added) => format!("Added {}.", one_named(word, one)),
        ([one], "", Did::Changed) => format!("{changed} {}.", one_named(word, one)),
        ([one], "", Did::Deleted) => format!("Deleted {}.", one_named(word, one)),
        ([one], list, Did::Added) => format!("Added {} to {list}.", one.title),
        ([one], list, Did::Changed) => format!("{changed} {} on {list}.", one.title),
        ([one], list, Did::Deleted) => format!("Took {} off {list}.", one.title),
        (many, "", Did::Added) => format!("Added {}.", counted(many.len(), word)),
        (many, "", Did::Changed) => format!("{changed} {}.", counted(many.len(), word)),
        (many, "", Did::Deleted) => format!("Deleted {}.", counted(many.len(), word)),
        (many, list, Did::Added) => format!("Added {} to {list}.", join_list(&titles(many), false)),
        (many, list, Did::Changed) => format!("{changed} {} on {list}.", counted(many.len(), word)),
        (many, list, Did::Deleted) => format!("Took {} off {list}.", join_list(&titles(many), false)),
    }
}

/// "the note “Paint”", or for something outside the store its name alone.
fn one_named(word: &str, part: &Part) -> String {
    if part.id().is_none() { part.title.clone() } else { format!("the {word} {}", quote(&part.title)) }
}

/// The state after an undo: "Undone: milk is off the shopping list.".
pub fn undone_words(store: &Store, done: &[Part], kept: &Kept, single: impl Fn(&Part) -> Option<String>) -> String {
    let parts = named(store, done);
    let are = if parts.len() == 1 { "is" } else { "are" };
    let what = match (parts.as_slice(), common(store, &parts)) {
        ([one], _) if let Some(words) = single(one) => words,
        ([], _) => "it is as it was before".to_owned(),
        (many, None) => format!("{} things are as they were before", many.len()),
        (some, Some((word, place, did))) => {
            let names = join_list(&titles(some), false);
            let subject = match (some, place) {
                ([one], "") => one_named(word, one),
                (_, "") => format!("the {word}s {names}"),
                _ => names,
            };
            match (did, place) {
                (Did::Added, "") => format!("{subject} {are} gone again"),
                (Did::Added, list) => format!("{subject} {are} off {list}"),
                (Did::Deleted, "") => format!("{subject} {are} back"),
                (Did::Deleted, list) => format!("{subject} {are} back on {list}"),
                (Did::Changed, _) if some.len() == 1 => format!("{subject} is as it was before"),
                (Did::Changed, _) => format!("{subject} are as they were before"),
            }
        }
    };
    let mut rest = String::new();
    if !kept.changed.is_empty() {
        let were = if kept.changed.len() == 1 { "that was" } else { "those were" };
        rest += &format!(" {}, so {were} left alone.", since(&kept.changed));
    }
    if let Some(lost) = lost(&kept.lost) {
        rest += &format!(" {lost}.");
    }
    format!("Undone: {what}.{rest}")
}

/// "milk was changed since".
fn since(kept: &[Part]) -> String {
    let names: Vec<String> = kept.iter().filter(|part| !part.title.is_empty()).map(|part| quote(&part.title)).collect();
    match names.as_slice() {
        [] => "It was changed since".into(),
        [one] => format!("{one} was changed since"),
        many => format!("{} were changed since", join_list(many, false)),
    }
}

/// The first reason, and how many more there are.
fn lost(reasons: &[String]) -> Option<String> {
    let (first, more) = reasons.split_first()?;
    Some(if more.is_empty() { first.clone() } else { format!("{first}; the same goes for {} more", more.len()) })
}

/// Why nothing was undone.
pub(super) fn refusal(kept: &Kept) -> String {
    let changed = (!kept.changed.is_empty() || kept.lost.is_empty()).then(|| within_sentence(&since(&kept.changed)));
    let reasons: Vec<String> = changed.into_iter().chain(lost(&kept.lost)).collect();
    format!("nothing was undone: {}", reasons.join("; "))
}

/// With a small first letter, unless it begins with a name.
fn within_sentence(text: &str) -> String {
    text.strip_prefix("It ").map_or_else(|| text.to_owned(), |rest| format!("it {rest}"))
}
