//! What people say around a sentence out of courtesy: "could you please … for me, thanks".

use super::{QUESTION_WORDS, Token};

/// Leading courtesies. A `true` marks a request.
const FRONT: &[(&str, bool)] = &[
    ("hey", false),
    ("hi", false),
    ("hello", false),
    ("ok", false),
    ("okay", false),
    ("yo", false),
    ("hob", false),
    ("please", false),
    ("um", false),
    ("uh", false),
    ("er", false),
    ("hmm", false),
    ("so", false),
    ("well", false),
    ("just", false),
    ("kindly", false),
    ("excuse me", false),
    ("sorry", false),
    ("good morning", false),
    ("good evening", false),
    ("good afternoon", false),
    ("thanks", false),
    ("yes", false),
    ("yeah", false),
    ("thank you", false),
    ("alright", false),
    ("right", false),
    ("oh", false),
    ("ah", false),
    ("ooh", false),
    ("ugh", false),
    ("erm", false),
    ("now then", false),
    ("right then", false),
    ("ok then", false),
    ("lol", false),
    ("quickly", false),
    ("quick question", false),
    ("could you", true),
    ("can you", true),
    ("would you", true),
    ("will you", true),
    ("i want you to", true),
    ("i need you to", true),
    ("i would like you to", true),
    ("i want to", true),
    ("i would like to", true),
    ("let us", true),
    ("can i have", true),
    ("can i get", true),
    ("could i have", true),
    ("could i get", true),
    ("may i have", true),
    ("go ahead and", true),
    ("be so kind and", true),
    ("do me a favor and", true),
];

/// Introductions to a question; removed only before a question word.
const BEFORE_QUESTION: &[&str] = &[
    "tell me",
    "do you know",
    "do you happen to know",
    "i wonder",
    "i was wondering",
    "i would like to know",
    "i want to know",
    "i need to know",
    "let me know",
    "find out",
    "any idea",
    "do you have any idea",
    "remind me",
];

/// Trailing courtesies; marked ones are removed only after a break or by `without_courtesy`.
const BACK: &[(&str, bool)] = &[
    ("please", false),
    ("thanks", true),
    ("thank you", true),
    ("thank you very much", true),
    ("thanks a lot", true),
    ("many thanks", true),
    ("cheers", true),
    ("hob", true),
    ("for me", true),
    ("will you", true),
    ("would you", true),
    ("could you", true),
    ("can you", true),
    ("right now", true),
    ("now", true),
    ("then", true),
    ("again", true),
    ("if you can", true),
    ("if you could", true),
    ("if possible", true),
    ("real quick", true),
    ("ok", true),
    ("okay", true),
    ("mate", true),
    ("buddy", true),
    ("my friend", true),
    ("do you know", true),
    ("at the moment", true),
    ("currently", true),
    ("you know", true),
    ("exactly", true),
    ("anyway", true),
    ("by the way", true),
    ("just so you know", true),
    ("when you can", true),
    ("when you get a chance", true),
    ("when you have time", true),
    ("ta", true),
    ("love", true),
    ("dear", true),
    ("pet", true),
    ("darling", true),
    ("duck", true),
    ("hun", true),
    ("lol", true),
    ("thanks love", false),
    ("thanks dear", false),
    ("ta love", false),
    ("ta very much", false),
    ("cheers love", false),
    ("that would be grand", false),
    ("that would be great", false),
    ("that would be lovely", false),
    ("that would be good", false),
    ("that would be fab", false),
    ("there is a love", false),
    ("there is a dear", false),
    ("if you do not mind", false),
    ("if you would not mind", false),
    ("if you would", true),
    ("much appreciated", true),
];

fn starts(tokens: &[Token], phrase: &str) -> Option<usize> {
    let count = phrase.split(' ').count();
    let same = tokens.len() >= count && phrase.split(' ').zip(tokens).all(|(w, t)| t.word == w);
    same.then_some(count)
}

/// Removes leading courtesies, never the last word; returns whether a request and whether a question was among them.
pub(super) fn drop_front(tokens: &mut Vec<Token>) -> (bool, bool) {
    let (mut requests, mut only_asks) = (false, false);
    loop {
        let polite = FRONT.iter().filter_map(|(p, request)| Some((starts(tokens, p)?, *request, false)));
        let asked = BEFORE_QUESTION.iter().filter_map(|p| {
            let n = starts(tokens, p)?;
            tokens.get(n).is_some_and(|t| QUESTION_WORDS.contains(&t.word.as_str())).then_some((n, false, true))
        });
        let Some((count, request, wonder)) = polite.chain(asked).filter(|(n, ..)| *n < tokens.len()).max() else {
            return (requests, only_asks);
        };
        (requests, only_asks) = (requests || request, only_asks || wonder);
        tokens.drain(..count);
    }
}

/// Removes trailing courtesies, never the last word; returns whether a request was among them (", can you?").
pub(super) fn drop_back(tokens: &mut Vec<Token>, all: bool) -> bool {
    let mut requests = false;
    loop {
        let longest = BACK.iter().filter_map(|(phrase, careful)| {
            let at = tokens.len().checked_sub(phrase.split(' ').count()).filter(|at| *at > 0)?;
            starts(&tokens[at..], phrase)?;
            // "she said please" and "say thanks" are content.
            let content = at > 0 && ["say", "says", "said", "word"].contains(&tokens[at - 1].word.as_str());
            (!content && (all || !careful || tokens[at].after_break)).then_some((at, phrase.ends_with(" you")))
        });
        let Some((at, asked)) = longest.min() else { return requests };
        requests |= asked && ["can", "could", "will", "would"].contains(&tokens[at].word.as_str());
        tokens.truncate(at);
    }
}
