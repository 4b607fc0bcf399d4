//! Searches for conversations find what reading all of them finds, in the same order, page by page.

use super::lives::*;
use crate::Exported;
use text_kit::{find_part, search_parts};
use tool::{Id, prelude::*};

const MANY: usize = 70;

fn bring_in(life: &Life, n: usize) {
    let said = |at: usize| match at % 4 {
        0 => format!("Question {at} of {n}: who painted the shed?"),
        1 if n.is_multiple_of(9) => format!("Ben painted it; the heat\npump hums in place{n}."),
        1 => "Somebody did: the pump has heat.".to_owned(),
        2 => format!("And number{}?", n % 5),
        _ => "That one too.".to_owned(),
    };
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    let messages: Vec<Value> = (0..8).map(|at| json!({"role": role(at), "content": said(at)})).collect();
    let title = format!("About the shed {n}{}", if n == 33 { " and the zebra" } else { "" });
    let document = json!({"format": crate::FORMAT, "version": 1, "title": title, "messages": messages});
    let document: Exported = serde_json::from_value(document).unwrap();
    life.runtime.block_on(life.agent.import(&life.cx, document)).unwrap();
}

/// All pages of a search, and the count of the first.
fn pages(life: &Life, query: &str, limit: usize) -> (usize, Vec<Id>) {
    let (mut found, mut count, mut before) = (vec![], None, None);
    loop {
        let page = life.runtime.block_on(life.agent.conversations(&life.cx, query, before, 0, limit)).unwrap();
        assert!(page.conversations.len() <= limit && page.count >= page.conversations.len());
        count.get_or_insert(page.count);
        found.extend(page.conversations.iter().map(|one| one.id));
        before = page.next;
        if before.is_none() {
            return (count.unwrap_or_default(), found);
        }
        assert!(page.count > page.conversations.len() || found.len() > limit, "there are more than are shown");
    }
}

/// The conversations that contain all parts of a search, by reading every message.
fn plainly(life: &Life, query: &str) -> Vec<Id> {
    let (_, all) = pages(life, "", 200);
    let fits = |id: &Id| {
        let read = life.agent.conversation(&life.cx, *id).unwrap();
        let texts: Vec<String> = read
            .messages
            .iter()
            .map(|m| &m.content)
            .chain([&read.head.title])
            .map(|text| text.to_lowercase())
            .collect();
        search_parts(query).iter().all(|part| texts.iter().any(|text| find_part(text, part).is_some()))
    };
    all.into_iter().filter(fits).collect()
}

#[test]
fn a_search_finds_what_reading_all_finds() {
    let world = World::new();
    let store = world.store.clone();
    let life = world.lives(vec![]);
    (0..MANY).for_each(|n| bring_in(&life, n));
    let compare = |is_indexed: bool| {
        // In all, in some, in one, in a title, in none; two of which each conversation has one; phrases.
        for query in [
            "shed",
            "painted number3",
            "place9",
            "place9 number3",
            "zebra",
            "ZEBRA painted",
            "platypus",
            "ben number0",
            "\"heat pump\"",
            "\"pump heat\"",
            "\"the pump has\" number2",
            "\"who painted\" zebra",
            "place",
            "?",
        ] {
            let wanted = plainly(&life, query);
            for limit in [3, 40, 200] {
                let (count, found) = pages(&life, query, limit);
                assert_eq!(found, wanted, "{query}, {limit} at a time, indexed: {is_indexed}");
                assert!(count == wanted.len() || wanted.len() > limit && count > limit, "{query}: {count}");
            }
        }
        let page = life.runtime.block_on(life.agent.conversations(&life.cx, "\"heat pump\"", None, 1, 1)).unwrap();
        assert_eq!(page.conversations[0].id, plainly(&life, "\"heat pump\"")[1]);
        assert!(page.conversations[0].excerpt.as_deref().unwrap().contains("the heat pump hums"));
    };
    compare(false);
    assert!(store.is_indexing_words().unwrap());
    while life.runtime.block_on(store.tend_words()).unwrap() {}
    assert!(!store.is_indexing_words().unwrap());
    compare(true);
    // Some are only in the tail of the index.
    (MANY..MANY + 5).for_each(|n| bring_in(&life, n));
    compare(true);
}
