//! What people say around a command: a sigh before it, the reason in front of it ("the cat's at the vet so can you …"), an
//! afterthought behind it ("… he's just texted").

use crate::{
    mask::mask,
    sentence::{QUESTION_WORDS, Sentence},
    slots::Kind,
};
use jiff::Zoned;

/// Longer texts are letters, not commands with a reason.
const MOST_WORDS: usize = 40;

/// Said before anything, and meaning nothing there.
const SIGHS: &[&str] = &[
    "ugh",
    "argh",
    "oh",
    "ah",
    "aw",
    "aww",
    "ooh",
    "oops",
    "whoops",
    "lol",
    "haha",
    "hmm",
    "hm",
    "erm",
    "er",
    "um",
    "uh",
    "right",
    "ok",
    "okay",
    "well",
    "so",
    "now",
    "fine",
    "cool",
    "great",
    "lovely",
    "good",
    "nice",
    "perfect",
    "brilliant",
    "thanks",
    "ta",
    "cheers",
    "hang",
    "on",
    "hold",
    "wait",
    "nah",
    "no",
    "yeah",
    "yes",
    "then",
    "and",
    "but",
    "also",
    "mate",
    "love",
    "dear",
    "pet",
    "actually",
    "sorry",
    "listen",
    "look",
    "anyway",
    "btw",
    "blimey",
    "gosh",
    "god",
    "bloody",
    "hell",
    "damn",
    "n",
    "just",
];

/// Openings of a request behind its reason.
const REQUESTS: &[&[&str]] = &[
    &["can", "you"],
    &["could", "you"],
    &["will", "you"],
    &["would", "you"],
    &["can", "we"],
    &["please"],
    &["pls"],
    &["remind", "me"],
    &["remind", "us"],
    &["do", "not", "let", "me", "forget"],
    &["i", "need", "you", "to"],
];

/// Verbs that commands begin with.
const ORDERS: &[&str] = &[
    "add", "set", "put", "remind", "turn", "show", "delete", "remove", "cancel", "move", "tick", "list", "read",
    "start", "stop", "wake", "give", "find", "note", "remember", "switch", "open", "close", "forget", "mark", "cross",
    "change", "scrap", "bin", "stick", "pop", "chuck", "log", "save", "pause", "undo", "schedule", "book", "rename",
    "clear", "push", "shift", "what", "when", "how", "where", "which", "who", "is", "are", "have", "do", "tell",
    "make", "take", "jot", "write", "record", "time", "ping", "nudge", "drop", "get",
];

/// Words that make a statement reported, imagined or conditional.
const IMAGINED: &[&str] = &[
    "said",
    "says",
    "say",
    "saying",
    "told",
    "tells",
    "asked",
    "asks",
    "asking",
    "thinks",
    "wonder",
    "wondering",
    "if",
    "when",
    "whenever",
    "unless",
    "imagine",
    "suppose",
    "once",
    "until",
    "after",
    "before",
    "would",
    "should",
    "might",
    "never",
    "shouts",
    "yelled",
    "whether",
    "dreamt",
    "quote",
    "called",
    "wrote",
    "writes",
];

const PRONOUNS: &[&str] = &["i", "we", "he", "she", "they", "it", "that", "there", "you", "this"];
const SUBJECTS: &[&str] = &[
    "i", "we", "he", "she", "they", "it", "there", "the", "my", "our", "his", "her", "their", "this", "that", "nan",
    "mum", "dad", "gran", "grandma", "grandad", "everyone", "someone", "somebody", "nobody", "no", "all", "half",
    "some", "im", "ive", "got", "just", "been", "looks", "sounds",
];
const VERBS: &[&str] = &[
    "am", "is", "are", "was", "were", "has", "have", "had", "got", "need", "needs", "want", "wants", "been", "going",
    "coming", "do", "does", "did", "will", "can", "could", "cannot", "keep", "keeps", "forgot", "forget", "must",
    "ran", "run", "lost", "broke", "came", "comes", "rang", "phoned", "texted", "think", "know", "feel", "looks",
    "promised", "made", "left", "gone", "went", "goes", "love", "loves", "hate", "hates", "like", "likes", "always",
    "finished", "fancy", "moved", "changed", "just",
];

/// The request behind its reason: "remind me at 4 to collect her" of "the cat's at the vet so can you remind me at 4 to collect
/// her". `None` unless words in front of a request are plainly a statement.
pub(crate) fn request(text: &str) -> Option<String> {
    let s = Sentence::whole(text);
    if s.len() > MOST_WORDS || s.tokens.iter().any(|token| token.opens) {
        return None;
    }
    let begins = sighs(&s);
    (begins + 2..s.len().saturating_sub(1)).find_map(|at| {
        let (joint, broke) = (s.word(at - 1), s.tokens[at].after_break);
        let asks = REQUESTS.iter().any(|words| s.has(at, words));
        let linked = ["so", "and", "but", "then"].contains(&joint);
        let orders = ORDERS.contains(&s.word(at));
        let opens = asks && (linked || broke) || orders && (broke || joint == "so");
        let end = if linked { at - 1 } else { at };
        (opens && is_statement(&s, begins, end)).then(|| s.text[s.tokens[at].start..].to_owned())
    })
}

/// Readings of a text without what is said around it, the most whole first: without sighs in front, without an afterthought
/// behind, without both.
pub(crate) fn cores(text: &str, now: &Zoned) -> Vec<String> {
    let s = Sentence::whole(text);
    if s.len() < 2 || s.len() > MOST_WORDS || s.tokens.iter().any(|token| token.opens) {
        return vec![];
    }
    let (begin, ends) = (sighs(&s), afterthoughts(&s, now));
    let cut =
        |from: usize, to: usize| (from < to).then(|| s.text[s.tokens[from].start..s.tokens[to - 1].end].to_owned());
    let mut all: Vec<String> = vec![];
    all.extend((begin > 0).then(|| cut(begin, s.len())).flatten());
    all.extend(ends.iter().filter_map(|end| cut(0, *end)));
    all.extend(ends.iter().filter(|_| begin > 0).filter_map(|end| cut(begin, *end)));
    // "ten minutes I suppose".
    const HEDGES: &[&str] = &[" i suppose", " i think", " i guess", " i reckon", " i'd say", " should do it"];
    for text in &mut all {
        let hedged = HEDGES.iter().find(|hedge| text.to_lowercase().ends_with(**hedge));
        if let Some(end) =
            hedged.and_then(|hedge| text.len().checked_sub(hedge.len())).filter(|end| text.is_char_boundary(*end))
        {
            text.truncate(end);
        }
    }
    all.dedup();
    all.truncate(6);
    all
}

/// How many words in front are sighs; at least one word is left.
fn sighs(s: &Sentence) -> usize {
    (0..s.len().saturating_sub(1)).take_while(|at| SIGHS.contains(&s.word(*at))).count()
}

/// Whether words are a statement that may be the reason of a request.
fn is_statement(s: &Sentence, from: usize, to: usize) -> bool {
    let words: Vec<&str> = (from..to).map(|at| s.word(at)).collect();
    let has = |word: &&str| VERBS.contains(word) || is_contracted(word);
    let subject = words.first().is_some_and(|first| SUBJECTS.contains(first) || is_contracted(first))
        || s.tokens.get(from).is_some_and(|token| s.text[token.start..].starts_with(char::is_uppercase))
            && words.get(1).is_some_and(has)
        || words.len() > 2 && words.get(1).is_some_and(|word| ["is", "are", "was", "has"].contains(word));
    words.len() >= 2 && subject && words.iter().any(has) && !words.iter().any(|word| IMAGINED.contains(word))
}

/// "he's", "cat's", with more behind it a subject and its verb.
fn is_contracted(word: &str) -> bool {
    word.ends_with("'s")
}

/// Where an afterthought begins, the last first: "… he's just texted", "… cos I'm off", "…, Jean's doing it". One that holds a
/// time, a length or an amount is none.
fn afterthoughts(s: &Sentence, now: &Zoned) -> Vec<usize> {
    const BECAUSE: &[&str] = &["because", "cos", "coz", "cus", "cause", "since", "seeing"];
    let masked = mask(s, now);
    let definite = |from: usize| {
        masked.spans.iter().any(|span| {
            span.at >= from && matches!(span.kind, Kind::When | Kind::Duration | Kind::Money | Kind::Every | Kind::Pin)
        }) || (from..s.len()).any(|at| s.word(at).starts_with(|c: char| c.is_ascii_digit()))
    };
    // "what do I have" asks, and "the one that she is bringing" goes on.
    const OPEN: &[&str] = &[
        "do", "does", "did", "can", "could", "will", "would", "should", "is", "are", "was", "were", "have", "has",
        "had", "am", "that", "which", "what", "who", "where", "how", "why", "than", "like", "as", "and", "or", "to",
        "the", "with", "about", "shall", "may", "when", "because", "say", "says", "said", "tell", "told", "know",
        "think",
    ];
    let asks = QUESTION_WORDS.contains(&s.word(0)) || OPEN.contains(&s.word(0));
    let begins = |at: usize| {
        if !s.tokens[at].after_break && (asks || OPEN.contains(&s.word(at - 1))) {
            return false;
        }
        let (word, next) = (s.word(at), s.word(at + 1));
        let broke = s.tokens[at].after_break;
        let verb = VERBS.contains(&next) || ["would", "not"].contains(&next) || next.ends_with("ing");
        let clause = PRONOUNS.contains(&word) && verb
            || ["he's", "she's", "it's", "that's"].contains(&word)
            || broke && (is_contracted(word) && at + 1 < s.len() || PRONOUNS.contains(&word))
            || broke
                && ["the", "my", "our", "no", "too", "not", "just", "got"].contains(&word)
                && (at..s.len()).any(|at| VERBS.contains(&s.word(at)) || is_contracted(s.word(at)));
        BECAUSE.contains(&word) && at + 1 < s.len() || clause
    };
    if s.mentions(&["if", "unless", "until", "when", "whenever", "once"]) {
        return vec![];
    }
    let mut all: Vec<usize> = (1..s.len()).filter(|at| begins(*at) && !definite(*at)).collect();
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_stands_behind_its_reason() {
        for (text, wanted) in [
            (
                "the cat's at the vet so can you remind me at 4 to collect her",
                Some("can you remind me at 4 to collect her"),
            ),
            ("I'm in the shop, what do we need", Some("what do we need")),
            ("Nan is coming on Friday. Please add cake to the list", Some("Please add cake to the list")),
            ("she said, add milk to the list", None),
            ("if it rains, remind me to shut the window", None),
            ("add milk, remind me to call mum", None),
            ("remember the code, delete the note", None),
            ("add milk to the list", None),
        ] {
            assert_eq!(request(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn a_core_is_without_sighs_and_afterthoughts() {
        let now: Zoned = "2026-11-20T14:30[Europe/Vienna]".parse().unwrap();
        for (text, wanted) in [
            ("scrap it he's just texted", vec!["scrap it"]),
            ("cancel it I'm not paying that", vec!["cancel it"]),
            ("ugh delete it", vec!["delete it"]),
            ("lol tick it off, Jean's done it", vec!["tick it off, Jean's done it", "lol tick it off", "tick it off"]),
            ("remind me to call her she's in at 6", vec![]),
            ("wake me if it is raining", vec![]),
            ("add milk", vec![]),
            ("what tools do I have in the shed", vec![]),
        ] {
            assert_eq!(cores(text, &now), wanted, "{text}");
        }
    }
}
