//! Items for a list: "put milk and eggs on the shopping list", "milk bread binbags on the shopping".

use super::{Reader, goods, wording};
use crate::{classification::Classification, items, sentence::Sentence, slots::names};
use serde_json::{Map, Value};

/// Verbs that put something on a list.
const PUTS: &[&str] = &[
    "add", "put", "stick", "pop", "chuck", "sling", "bung", "shove", "whack", "throw", "write", "include", "jot",
    "place", "get", "want", "need", "lob", "slap",
];

/// A list that is named in a sentence.
pub(super) struct Named {
    pub count: usize,
    /// `None` for the to-do list.
    pub name: Option<String>,
    /// Whether it is only "the list".
    pub bare: bool,
}

/// The list named at `at`: "the shopping list", "the shopping", "my camping list", "the list".
pub(super) fn named(s: &Sentence, at: usize) -> Option<Named> {
    const OWNERS: &[&str] = &["my", "the", "our", "your", "that", "this"];
    let owner = usize::from(OWNERS.contains(&s.word(at)));
    let is_list = |at: usize| ["list", "lists"].contains(&s.word(at));
    if let Some((count, name)) = names::list(s, at).into_iter().find(|(count, _)| is_list(at + count - 1)) {
        let bare = count == owner + 1;
        return Some(Named { count, name: name.as_str().map(str::to_owned), bare });
    }
    // "the kitchen project" is a list too.
    let first = at + owner;
    let words = (1..=3).find(|n| s.word(first + n) == "project").filter(|n| {
        (first..first + n)
            .all(|at| s.word(at).chars().all(char::is_alphabetic) && !["to", "on", "the", "a"].contains(&s.word(at)))
    });
    if let Some(count) = words {
        let name = Some(s.slice(first, first + count).to_lowercase());
        return Some(Named { count: owner + count + 1, name, bare: false });
    }
    let shopping = ["shopping", "groceries", "grocery", "shop", "shops", "supermarket"].contains(&s.word(at + owner));
    shopping.then(|| Named { count: owner + 1, name: Some("shopping".to_owned()), bare: false })
}

/// The items of an enumeration for a list, without the words around them.
pub(super) fn items(text: &str) -> Vec<String> {
    items::split(text, true)
}

impl Reader<'_> {
    /// The calls that put items on a list; without a list's name they are tasks.
    pub(super) fn wanted(&self, wanted: &[String], list: Option<&str>) -> Option<Classification> {
        let one = |item: &String| {
            let mut arguments = Map::from_iter([("title".to_owned(), Value::from(item.as_str()))]);
            if let Some(list) = list {
                arguments.insert("category".to_owned(), list.into());
            }
            arguments
        };
        let first = self.call("add_task", one(wanted.first()?), "items for a list")?;
        if wanted.len() == 1 {
            return Some(Classification { more: vec![], ..first });
        }
        let tasks: Vec<Value> = wanted.iter().map(|item| Value::Object(one(item))).collect();
        if (self.risk)("batch_add_tasks").is_some() {
            let arguments = Map::from_iter([("tasks".to_owned(), tasks.into())]);
            return self.call("batch_add_tasks", arguments, "items for a list");
        }
        let mut calls = tasks.into_iter().map(|task| ("add_task".to_owned(), task));
        let (_, arguments) = calls.next()?;
        Some(Classification { arguments, more: calls.collect(), ..first })
    }

    /// "VERB items on the list", "items on the shopping list".
    pub(super) fn onto_a_list(&self) -> Option<Classification> {
        const AT: &[&str] = &["on", "onto", "to", "in", "into"];
        let s = self.s;
        let verb = PUTS.contains(&s.word(0));
        let begin = usize::from(verb) + usize::from(verb && s.word(1) == "down");
        // "to the shopping list add milk" and "put on the list …" are templates'.
        let (at, list) = (begin + 1..s.len()).find_map(|at| {
            let list = named(s, at + 1).filter(|_| AT.contains(&s.word(at)))?;
            Some((at, list))
        })?;
        let end = if s.word(at - 1) == "down" && at > begin + 1 { at - 1 } else { at };
        let text = s.slice(begin, end);
        let after = at + 1 + list.count;
        let more = self.behind(after)?;
        let mut all = items(wording::without_reason(text));
        all.extend(more);
        let goods = all.iter().all(|item| goods::is_goods(item));
        // Without a verb only goods are surely items, and "get eggs" is no command to Hob.
        if !goods && (!verb || ["get", "want", "need"].contains(&s.word(0))) {
            return None;
        }
        match (&list.name, goods) {
            (Some(name), _) => self.wanted(&all, Some(name)),
            // "the list" is the shopping list for what one shops.
            (None, true) if list.bare => self.wanted(&all, Some("shopping")),
            (None, _) if all.len() == 1 => {
                let arguments = super::entry::arguments(text, self.now);
                self.call("add_task", arguments, "a task for the list")
            }
            (None, _) => None,
        }
    }

    /// "add valuation of car to probate": the arguments of an item for what may be a list.
    pub(crate) fn onto_an_unknown_list(&self) -> Option<Map<String, Value>> {
        const SMALL: &[&str] =
            &["the", "my", "our", "with", "it", "that", "this", "them", "me", "there", "here", "list", "project"];
        let s = self.s;
        let verb = PUTS.contains(&s.word(0)) && !["want", "need", "get", "throw", "write"].contains(&s.word(0));
        if !verb || s.asks && !s.requests || !(4..=16).contains(&s.len()) {
            return None;
        }
        let at = (2..s.len() - 1).rev().find(|at| ["to", "onto", "on"].contains(&s.word(*at)))?;
        let skip = (at + 1..s.len()).find(|at| !SMALL.contains(&s.word(*at)))?;
        let end = s.len() - usize::from(SMALL.contains(&s.word(s.len() - 1)));
        let plain = (skip..end)
            .all(|at| s.word(at).chars().all(|c| c.is_alphabetic() || c == '\'') && !s.tokens[at].after_break);
        let times = [
            "today",
            "tomorrow",
            "tonight",
            "friday",
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "saturday",
            "sunday",
        ];
        if !(1..=3).contains(&end.saturating_sub(skip)) || !plain || times.contains(&s.word(skip)) {
            return None;
        }
        let title = s.slice(1, at);
        let title = title.strip_suffix(" on").unwrap_or(title);
        let named = [("title", title.to_owned()), ("category", s.slice(skip, end).to_lowercase())];
        Some(named.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect())
    }

    /// Items behind the list's name, "… and some bread"; `None` if something else follows.
    fn behind(&self, at: usize) -> Option<Vec<String>> {
        let s = self.s;
        if at >= s.len() {
            return Some(vec![]);
        }
        let text = s.slice(at, s.len());
        if ["and", "plus", "also"].contains(&s.word(at)) {
            let rest = s.slice(at + 1, s.len());
            let all = items(wording::without_reason(wording::without_request(rest)));
            let commands = PUTS.contains(&s.word(at + 1)) || goods::JOBS.contains(&s.word(at + 1));
            let short = all.iter().all(|item| item.split(' ').count() <= 9) && !commands;
            return short.then_some(all);
        }
        // A reason needs something before it to be the reason of.
        let whole = format!("x {}{text}", if s.tokens.get(at)?.after_break { ", " } else { "" });
        let left = wording::trimmed(
            wording::without_request(wording::without_reason(&whole)),
            &["again", "too", "add", "as well"],
        );
        (left == "x").then(Vec::new)
    }
}
