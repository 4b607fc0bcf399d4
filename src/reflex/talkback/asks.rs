//! Questions about what was just shown or made: "how long now?", "what's on it now?", "is flour on there?", "when's his birthday?",
//! "what's the link again?", "how many days is that?".

use super::{
    exchange::{Call, Exchange, Thing},
    outcome::{Outcome, RiskOf},
    questions::chosen,
    value,
};
use crate::sentence::Sentence;
use serde_json::{Map, Value, json};
use text_kit::{capitalized, end_sentence};

/// Said around a question.
const AROUND: &[&str] = &[
    "so", "and", "ok", "okay", "right", "now", "then", "again", "please", "oh", "well", "um", "er", "hob", "just",
    "cool", "n", "but", "love", "dear", "ah", "lovely", "great",
];

/// What a question about the exchanges before comes to.
pub(crate) fn asked(text: &str, exchanges: &[Exchange], risk: RiskOf) -> Option<Outcome> {
    let s = Sentence::whole(text);
    if s.len() < 2 || s.len() > 10 || s.tokens.iter().any(|token| token.opens) {
        return None;
    }
    let words: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let begins = words.iter().take_while(|word| AROUND.contains(word)).count();
    let ends = words.iter().rev().take_while(|word| AROUND.contains(word)).count();
    let core = words.get(begins..words.len() - ends.min(words.len() - begins)).unwrap_or_default();
    let outcome = left(core, exchanges)
        .or_else(|| one_of(text, exchanges))
        .or_else(|| contents(core, exchanges))
        .or_else(|| on_list(core, exchanges))
        .or_else(|| person(core, exchanges))
        .or_else(|| address(core, exchanges))
        .or_else(|| told(core, exchanges))
        .or_else(|| day(core, exchanges))?;
    match &outcome {
        Outcome::Do(calls) if calls.iter().any(|(tool, _)| risk(tool).is_none()) => None,
        _ => Some(outcome),
    }
}

fn only(words: &[&str], of: &[&str]) -> bool {
    words.iter().all(|word| of.contains(word))
}

fn recent<'e>(exchanges: &'e [Exchange], count: usize, fits: impl Fn(&Call) -> bool) -> Option<Call> {
    let calls: Vec<Vec<Call>> = exchanges.iter().take(count).map(|exchange: &'e Exchange| exchange.done()).collect();
    calls.into_iter().find_map(|calls| calls.into_iter().rev().find(|call| fits(call)))
}

/// "how long now?", "how much longer?", "how long on the first one?"
fn left(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const MORE: &[&str] = &[
        "how",
        "long",
        "much",
        "time",
        "longer",
        "left",
        "is",
        "to",
        "go",
        "on",
        "remaining",
        "has",
        "it",
        "got",
        "that",
        "the",
        "are",
        "still",
        "timer",
        "first",
        "second",
        "last",
        "other",
        "one",
        "till",
        "until",
        "done",
        "there",
        "both",
        "be",
        "will",
        "take",
        "does",
        "have",
        "now",
    ];
    let asks = words.starts_with(&["how", "long"])
        || words.starts_with(&["how", "much", "longer"])
        || words.starts_with(&["how", "much", "time"]);
    // "how long on the laundry".
    let named = words.len() <= 6 && words.starts_with(&["how", "long", "on"]);
    let timer = recent(exchanges, 4, |call| call.tool.ends_with("_timer") || call.tool == "list_timers");
    (asks && (named || only(words, MORE)) && timer.is_some()).then(|| Outcome::call("list_timers", json!({})))
}

/// "Tapp, the one from bowls", "the second one" after several people or notes were shown: that one alone.
fn one_of(text: &str, exchanges: &[Exchange]) -> Option<Outcome> {
    let things = exchanges.first()?.things();
    let noun = things.first().filter(|_| things.len() > 1)?.noun;
    let names: Vec<String> = things.iter().map(|thing| thing.name.clone()).collect();
    let said = text.split(',').next()?;
    let thing = things.get(chosen(said, &names)?)?;
    match noun {
        "contact" => Some(Outcome::call("list_contacts", json!({"search": thing.name}))),
        "note" => Some(Outcome::call("get_note", json!({"noteId": thing.key}))),
        _ => None,
    }
}

/// The list that was last added to or shown.
fn list_of(call: &Call) -> Option<String> {
    let tasks = call.content.get("tasks").and_then(Value::as_array);
    let named = call.text("category").or_else(|| call.content.get("category")?.as_str()).map(str::to_owned);
    named.or_else(|| {
        let mut names = tasks?.iter().map(|task| task.get("category").and_then(Value::as_str));
        let first = names.next()??;
        names.all(|name| name == Some(first)).then(|| first.to_owned())
    })
}

fn is_list(call: &Call) -> bool {
    matches!(call.tool.as_str(), "add_task" | "update_task" | "complete_task" | "delete_task" | "list_tasks")
}

/// "what's on it now?", "what's left?", "read it back".
fn contents(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const PHRASES: &[&str] = &[
        "what is on it",
        "what is on there",
        "what is on that",
        "what is on that list",
        "what is on the list",
        "what is still on it",
        "what is still on there",
        "what is left",
        "what is left on it",
        "what is left on there",
        "read it back",
        "read it out",
        "read me it",
        "read it to me",
        "read it back to me",
        "what have i got on it",
        "what have i got on there",
        "what have we got",
        "what is on it so far",
        "what have i got so far",
        "what have we got so far",
        "what do i have on it",
        "show me it",
        "show it",
        "read that back",
        "what does it say",
        "what is in it",
        "show me the list",
        "read me the list",
        "read the list",
        "read the list back",
        "what is on my list",
        "what does that make",
        "what have i put on it",
        "what have i put on there",
        "what else is on it",
        "what else is on there",
        "what is on",
        "is that everything",
        "what is that now",
        "what is it look like",
        "what else",
    ];
    if !PHRASES.contains(&words.join(" ").as_str()) {
        return None;
    }
    let call = recent(exchanges, 2, |call| is_list(call) || call.tool.ends_with("_note"))?;
    if call.tool.ends_with("_note") {
        let id = call.id().filter(|_| call.tool != "delete_note")?;
        return Some(Outcome::call("get_note", json!({"noteId": id})));
    }
    let mut arguments = Map::from_iter([("status".to_owned(), "pending".into())]);
    arguments.extend(list_of(&call).map(|list| ("category".to_owned(), list.into())));
    Some(Outcome::call("list_tasks", Value::Object(arguments)))
}

/// "is flour on there?", "have I got eggs on it?"
fn on_list(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    let end = [
        &["on", "there"][..],
        &["on", "it"],
        &["on", "that"],
        &["on", "the", "list"],
        &["on", "my", "list"],
        &["on", "that", "list"],
        &["on", "there", "already"],
        &["already", "on", "there"],
        &["already", "on", "it"],
        &["on", "it", "already"],
        &["in", "there"],
    ]
    .iter()
    .find(|end| words.ends_with(end))?
    .len();
    let begin = [
        &["is"][..],
        &["are"],
        &["is", "there"],
        &["are", "there"],
        &["have", "i", "got"],
        &["have", "we", "got"],
        &["did", "i", "put"],
        &["do", "we", "have"],
        &["do", "i", "have"],
    ]
    .iter()
    .filter(|begin| words.starts_with(begin))
    .map(|begin| begin.len())
    .max()?;
    let thing = words.get(begin..words.len() - end)?;
    let thing: Vec<&str> =
        thing.iter().copied().filter(|word| !["any", "the", "some", "a", "an", "my"].contains(word)).collect();
    let call = recent(exchanges, 2, is_list)
        .filter(|_| (1..=3).contains(&thing.len()) && !only(&thing, &["it", "that", "anything", "there"]))?;
    let mut arguments =
        Map::from_iter([("status".to_owned(), "pending".into()), ("search".to_owned(), thing.join(" ").into())]);
    arguments.extend(list_of(&call).map(|list| ("category".to_owned(), list.into())));
    Some(Outcome::call("list_tasks", Value::Object(arguments)))
}

/// The one thing of a kind that the latest exchanges showed.
fn one_thing(exchanges: &[Exchange], noun: &str) -> Option<Thing> {
    let things: Vec<Thing> = exchanges.iter().take(3).map(Exchange::things).find(|things| !things.is_empty())?;
    match things.as_slice() {
        [thing] if thing.noun == noun => Some(thing.clone()),
        _ => None,
    }
}

/// "when's his birthday?", "what's her number?", "where does she live?", "who is she?"
fn person(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const WORDS: &[&str] = &[
        "what", "is", "when", "where", "does", "do", "they", "who", "he", "she", "live", "his", "her", "their",
        "number", "phone", "mobile", "email", "address", "birthday", "the", "have", "i", "got", "for", "him", "them",
        "about", "know", "you", "we", "how", "old", "work", "and",
    ];
    let points = words.iter().any(|word| ["his", "her", "their", "he", "she", "they", "him", "them"].contains(word));
    let thing = one_thing(exchanges, "contact").filter(|_| points && words.len() <= 8 && only(words, WORDS))?;
    Some(Outcome::call("list_contacts", json!({"search": thing.name})))
}

/// "what's the link again?"
fn address(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const WORDS: &[&str] = &[
        "what", "is", "whats", "was", "the", "that", "its", "link", "address", "url", "site", "website", "page", "for",
        "it",
    ];
    let asks = words.iter().any(|word| ["link", "address", "url", "site", "website", "page"].contains(word));
    let thing = one_thing(exchanges, "bookmark").filter(|_| asks && only(words, WORDS))?;
    Some(Outcome::Say(thing.record.get("url")?.as_str()?.to_owned()))
}

/// "where is it again?" right after something was told to be remembered.
fn told(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const WORDS: &[&str] = &[
        "where", "when", "who", "what", "which", "how", "is", "was", "it", "that", "he", "she", "are", "they", "did",
        "i", "say", "tell", "you", "about", "the", "much", "many",
    ];
    let [call] = &exchanges.first()?.done()[..] else { return None };
    let content = call.text("content").filter(|_| call.tool == "remember")?;
    let asks = ["where", "when", "who", "what", "which", "how"].contains(words.first()?);
    let points = words.iter().any(|word| ["it", "that", "he", "she", "they"].contains(word));
    (asks && points && words.len() <= 6 && only(words, WORDS))
        .then(|| Outcome::Say(end_sentence(&capitalized(content))))
}

/// "how many days is that?", "what weekday is that?"
fn day(words: &[&str], exchanges: &[Exchange]) -> Option<Outcome> {
    const WORDS: &[&str] = &[
        "how", "many", "days", "weeks", "is", "that", "what", "day", "weekday", "till", "until", "then", "away", "off",
        "it", "from", "now", "of", "the", "week", "far", "long", "which", "to", "go", "are", "there", "will", "be",
        "does", "fall", "on",
    ];
    let counts = words.starts_with(&["how", "many", "days"])
        || words.starts_with(&["how", "many", "weeks"])
        || words.starts_with(&["how", "far"]);
    let names =
        words.iter().any(|word| ["day", "weekday"].contains(word)) && ["what", "which"].contains(words.first()?);
    if !only(words, WORDS) || !(counts || names) {
        return None;
    }
    let things = exchanges.iter().take(2).map(Exchange::things).find(|things| !things.is_empty()).unwrap_or_default();
    let text = match things.as_slice() {
        [thing] => thing.moment().or_else(|| thing.record.get("birthday")?.as_str()).map(str::to_owned),
        _ => exchanges.first()?.done().last().and_then(|call| {
            ["date", "result"].iter().find_map(|key| call.content.get(*key)?.as_str()).map(str::to_owned)
        }),
    }?;
    let (date, _) = value::parse(&text)?;
    if counts {
        let unit = if words.contains(&"weeks") { "weeks" } else { "days" };
        return Some(Outcome::call("date_diff", json!({"date1": "today", "date2": date.to_string(), "unit": unit})));
    }
    Some(Outcome::Say(date.strftime("%-d %B %Y is a %A.").to_string()))
}
