//! Talk about the exchange itself: "what did I just ask?", "say that again", "scratch that", "never mind", "thanks".

use super::{
    exchange::Exchange,
    outcome::{Outcome, RiskOf},
};
use crate::sentence::Sentence;
use serde_json::json;
use text_kit::truncate;

/// Longest part of a sentence that is said again.
const MOST: usize = 300;

const ASKED: &[&str] = &[
    "what did i just ask",
    "what did i ask",
    "what did i just ask you",
    "what did i ask you",
    "what did i say",
    "what did i just say",
    "what did i just tell you",
    "what was my question",
    "what was i asking",
    "what was my last question",
    "what did i just ask you to do",
    "what did i ask you to do",
    "what did i say just now",
    "what have i just asked",
    "what have i just said",
    "what did i ask just now",
    "what was the last thing i asked",
    "what was the last thing i said",
    "what did i just ask for",
    "what was i saying",
];
const DID: &[&str] = &[
    "what did you just do",
    "what did you do",
    "what have you done",
    "what have you just done",
    "what just happened",
    "what happened",
    "what happened there",
    "did you do it",
    "did you do that",
    "did that work",
    "did it work",
    "is it done",
    "is that done",
    "have you done it",
    "have you done that",
    "have you got that",
    "did you get that",
    "did you add it",
    "did you set it",
    "did you save it",
    "what did you change",
    "what did you just change",
    "what was that you did",
    "what did you do just now",
    "what was the last thing you did",
    "what is the last thing you did",
    "did you hear me",
    "did you do what i asked",
    "what did you add",
    "what did you just add",
    "what did you just set",
];
const AGAIN: &[&str] = &[
    "say that again",
    "say it again",
    "repeat that",
    "repeat it",
    "repeat",
    "can you repeat that",
    "could you repeat that",
    "come again",
    "pardon",
    "pardon me",
    "what was that",
    "what was that again",
    "what did you say",
    "what did you just say",
    "i did not catch that",
    "i did not hear that",
    "i did not hear you",
    "once more",
    "one more time",
    "say again",
    "sorry what",
    "sorry what was that",
    "sorry what did you say",
    "eh",
    "huh",
    "what",
    "read that again",
    "tell me again",
    "tell me that again",
    "could you say that again",
    "can you say that again",
    "i beg your pardon",
    "can you say it again",
    "would you say that again",
    "would you repeat that",
    "i missed that",
    "what were you saying",
    "run that by me again",
    "repeat that for me",
    "come again love",
    "can you read that again",
    "could you repeat that for me",
];
const BACK: &[&str] = &[
    "scratch that",
    "strike that",
    "scrap that",
    "scrap it",
    "undo",
    "undo that",
    "undo it",
    "undo this",
    "undo the last thing",
    "put it back",
    "put it back how it was",
    "put that back",
    "put it back the way it was",
    "put that back how it was",
    "put it back as it was",
    "put them back",
    "put things back",
    "put everything back",
    "put it back to how it was",
    "change it back",
    "change that back",
    "set it back",
    "take that back",
    "take it back",
    "i take that back",
    "revert",
    "revert that",
    "go back",
    "reverse that",
    "i did not mean that",
    "i did not mean to do that",
    "i did not want that",
    "that was a mistake",
    "that was wrong",
    "that is wrong undo it",
    "wrong undo that",
    "make it as it was",
    "oops",
    "oops undo",
    "oops undo that",
    "no undo that",
    "no undo",
    "wrong one",
    "not that one",
    "no not that one",
    "that was the wrong one",
    "get rid of that",
    "that was not what i meant",
    "no that is not what i meant",
    "i changed my mind",
    "i have changed my mind",
    "changed my mind",
    "ignore that",
    "ignore what i just said",
    "cancel that last one",
    "cancel what i just said",
    "disregard that",
    "leave it as it was",
    "no leave it as it was",
    "bring it back",
    "bring that back",
    "bring them back",
    "take it off again",
    "take that off again",
    "take them off again",
    "undo what you just did",
    "undo what you did",
    "can you undo that",
    "could you undo that",
    "can you put it back",
    "can you put that back",
    "back to how it was",
    "no put it back",
    "i did not say that",
    "i did not ask for that",
    "that is not what i asked for",
    "that is not what i wanted",
    "as you were",
];
const LEAVE: &[&str] = &[
    "never mind",
    "nevermind",
    "never mind that",
    "forget it",
    "forget that",
    "forget about it",
    "forget about that",
    "forget i said that",
    "forget i asked",
    "forget i said anything",
    "leave it",
    "leave it be",
    "leave that",
    "do not bother",
    "do not worry",
    "do not worry about it",
    "it does not matter",
    "does not matter",
    "no matter",
    "not to worry",
    "skip it",
    "skip that",
    "let it be",
    "drop it",
    "oh forget it",
    "oh never mind",
    "ah never mind",
    "ah forget it",
    "no forget it",
    "no never mind",
    "it is fine",
    "it is ok",
    "it is okay",
    "that is fine",
    "that is ok",
    "that is okay",
    "no worries",
    "nah leave it",
    "nah",
    "nope",
    "no leave it",
    "actually never mind",
    "actually forget it",
    "actually leave it",
    "all good",
    "it is all right",
    "it is alright",
];
const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "thank you very much",
    "thanks a lot",
    "thanks so much",
    "thank you so much",
    "many thanks",
    "cheers",
    "cheers mate",
    "ta",
    "ta love",
    "ta very much",
    "thanks mate",
    "thanks love",
    "thank you dear",
    "thanks dear",
    "thanks hob",
    "thank you hob",
    "great thanks",
    "great thank you",
    "lovely",
    "lovely thanks",
    "lovely thank you",
    "lovely job",
    "perfect",
    "perfect thanks",
    "perfect thank you",
    "brilliant",
    "brilliant thanks",
    "brilliant thank you",
    "good",
    "good job",
    "nice one",
    "nice",
    "awesome",
    "awesome thanks",
    "ok thanks",
    "ok thank you",
    "okay thanks",
    "okay thank you",
    "cool thanks",
    "cool",
    "super",
    "super thanks",
    "that is great",
    "that is great thanks",
    "that is lovely",
    "that is lovely dear",
    "that is perfect",
    "that is perfect thanks",
    "that is very kind",
    "much appreciated",
    "i appreciate it",
    "you are a star",
    "you are a gem",
    "bless you",
    "good stuff",
    "sweet",
    "sweet thanks",
    "wonderful",
    "wonderful thank you",
    "that is all thanks",
    "that is all thank you",
    "no thanks",
    "no thank you",
    "that is it thanks",
    "thanks that is all",
    "thanks that is it",
    "thank you that is all",
    "got it thanks",
    "got it",
    "alright thanks",
    "all right thanks",
    "right thanks",
    "fab",
    "fab thanks",
    "thank you kindly",
    "thanks again",
    "thank you again",
    "thanks very much",
    "thanking you",
    "bless you dear",
    "good boy",
    "good girl",
    "well done",
    "wonderful thanks",
    "excellent",
    "excellent thanks",
    "excellent thank you",
    "great",
    "great stuff",
    "great job",
];

/// Whether what was asked for was tried or refused, and changed nothing.
fn did_nothing(exchange: &Exchange) -> bool {
    const REFUSED: &[&str] = &[
        "I did nothing",
        "I changed nothing",
        "I set nothing",
        "I planned nothing",
        "I cancelled nothing",
        "I have nothing called",
        "I did not understand",
    ];
    match exchange.calls.is_empty() {
        true => REFUSED.iter().any(|words| exchange.answered.contains(words)),
        false => exchange.calls.iter().all(|call| call.failed),
    }
}

/// Whether nothing is said but that something be taken back or left.
pub(crate) fn takes_back(text: &str) -> bool {
    let said = readings(text);
    said.iter().any(|said| BACK.contains(&said.as_str()) || LEAVE.contains(&said.as_str())) || ends_with_undo(text)
}

/// "oh no I wanted that, undo it": a complaint, and the taking back behind it.
fn ends_with_undo(text: &str) -> bool {
    const ENDS: &[&[&str]] = &[
        &["undo"],
        &["undo", "it"],
        &["undo", "that"],
        &["undo", "this"],
        &["put", "it", "back"],
        &["put", "that", "back"],
        &["put", "them", "back"],
        &["put", "it", "back", "how", "it", "was"],
        &["put", "it", "back", "as", "it", "was"],
        &["bring", "it", "back"],
        &["bring", "them", "back"],
        &["change", "it", "back"],
        &["take", "it", "back"],
        &["take", "that", "back"],
        &["go", "back"],
        &["leave", "it", "as", "it", "was"],
        &["go", "back", "to", "what", "it", "was"],
        &["put", "it", "back", "on", "the", "list"],
        &["put", "them", "back", "on", "the", "list"],
    ];
    const COMPLAINS: &[&str] = &[
        "no", "nah", "oh", "wrong", "not", "wanted", "needed", "mistake", "meant", "wait", "hold", "hang", "sorry",
        "oops", "whoops", "silly", "actually", "still", "bugger", "blast", "damn", "did", "that's", "is", "was",
        "need", "want", "never", "lol",
    ];
    let s = Sentence::whole(text);
    let end = (0..s.len())
        .rfind(|at| !["please", "love", "dear", "again", "now", "will", "you", "can"].contains(&s.word(*at)));
    let Some(end) = end.map(|at| at + 1).filter(|_| s.len() <= 20) else { return false };
    let begin = ENDS.iter().filter_map(|words| {
        let at = end.checked_sub(words.len())?;
        s.has(at, words).then_some(at)
    });
    begin.min().is_some_and(|begin| {
        begin == 0
            || (0..begin).any(|at| COMPLAINS.contains(&s.word(at)))
                && !["can", "to", "how"].contains(&s.word(begin - 1))
    })
}

/// A text as said, and without what is said around it.
fn readings(text: &str) -> Vec<String> {
    let s = Sentence::whole(text);
    let all: Vec<&str> = s.tokens.iter().map(|token| token.word.as_str()).collect();
    let begins = all.iter().take_while(|word| AROUND.contains(word)).count();
    let ends = all.iter().rev().take_while(|word| ENDINGS.contains(word)).count();
    let core = all.get(begins..all.len() - ends.min(all.len() - begins)).unwrap_or_default().join(" ");
    vec![all.join(" "), all[begins..].join(" "), core]
}

const AROUND: &[&str] = &[
    "hob", "please", "oh", "er", "um", "hey", "ok", "okay", "sorry", "wait", "no", "actually", "then", "so", "ah",
    "and", "nah", "ugh", "argh", "lol", "haha", "hm", "hmm", "erm", "ooh", "right", "well", "yeah", "yes", "but",
    "damn", "blast", "bugger", "just", "oops", "whoops", "now", "eh",
];
const ENDINGS: &[&str] = &[
    "hob", "please", "then", "again", "sorry", "dear", "love", "mate", "lol", "thanks", "will", "you", "pet",
    "darling", "duck", "now", "thank", "actually", "cheers", "ta", "instead",
];

/// What talk about the exchange comes to.
pub(crate) fn about(text: &str, exchanges: &[Exchange], risk: RiskOf) -> Option<Outcome> {
    let s = Sentence::whole(text);
    if s.len() == 0 || s.len() > 20 || s.len() > 9 && !ends_with_undo(text) {
        return None;
    }
    let said = readings(text);
    let whole = said[0].clone();
    let is = |phrases: &[&str]| said.iter().any(|said| !said.is_empty() && phrases.contains(&said.as_str()));
    let last = exchanges.first();
    if is(ASKED) {
        let said = last.map(|exchange| truncate(exchange.said.trim(), MOST));
        return Some(Outcome::Say(match said.filter(|said| !said.is_empty()) {
            Some(said) => format!("You said: “{said}”."),
            None => "Nothing yet: this is the first thing you say here.".to_owned(),
        }));
    }
    // Everything else is about something that was said before.
    let last = last.filter(|last| !last.answered.is_empty() || !last.calls.is_empty());
    if is(AGAIN) {
        return last
            .map(|last| Outcome::Say(last.answered.trim().to_owned()))
            .filter(|say| *say != Outcome::Say(String::new()));
    }
    let changed = |exchange: &Exchange| {
        exchange.done().iter().any(|call| risk(&call.tool).is_some_and(tool::Risk::changes_something))
    };
    if is(DID) {
        let last = last?;
        return Some(Outcome::Say(match last.calls.is_empty() {
            true => "Nothing was changed: I only answered you.".to_owned(),
            false if last.calls.iter().all(|call| call.failed) => {
                format!("Nothing was changed. {}", last.answered.trim())
            }
            false => last.answered.trim().to_owned(),
        }));
    }
    if is(BACK) || ends_with_undo(text) {
        // Only what names the taking back reaches over another exchange.
        let reach = if ["undo", "back", "revert"].iter().any(|word| whole.contains(word)) { 3 } else { 1 };
        let recent = exchanges.iter().take(reach).any(changed);
        // What failed has left nothing to take back, and the change before it was not meant.
        if reach > 1 && last.is_some_and(did_nothing) {
            let before = exchanges.iter().find(|exchange| changed(exchange)).map(|exchange| exchange.said.trim());
            let before = before.map_or("the change before it".to_owned(), |said| format!("“{}”", truncate(said, 80)));
            return Some(Outcome::Say(format!(
                "Your last request changed nothing, so there is nothing of it to undo. Say “undo” once more to take back {before}."
            )));
        }
        return match (recent && risk("undo").is_some(), last) {
            (true, _) => Some(Outcome::call("undo", json!({}))),
            // "undo" may mean a change elsewhere; anything else has nothing to take back.
            (false, Some(last)) if reach == 1 && !last.calls.iter().any(|call| call.tool == "undo") => {
                Some(Outcome::Say("All right. Nothing was changed.".to_owned()))
            }
            _ => None,
        };
    }
    if is(LEAVE) {
        let undo = exchanges.first().is_some_and(changed);
        return Some(Outcome::Say(match undo {
            true => "All right. What I did stays; say “undo” to take it back.".to_owned(),
            false => "All right.".to_owned(),
        }));
    }
    (is(THANKS) && last.is_some()).then(|| Outcome::Say("You are welcome.".to_owned()))
}
