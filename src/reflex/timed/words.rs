//! What is left of a sentence without its times and its request: the words of a reminder's text or an event's title.

use crate::sentence::Sentence;

/// Words that a text does not begin with.
const FRONT: &[&str] = &[
    "to",
    "about",
    "that",
    "of",
    "for",
    "re",
    "on",
    "with",
    "and",
    "so",
    "then",
    "please",
    "just",
    "well",
    "right",
    "now",
    "oh",
    "ah",
    "um",
    "uh",
    "hob",
    "dear",
    "love",
    "hey",
    "hi",
    "hello",
    "because",
    "at",
    "in",
    "as",
    "but",
    "ok",
    "okay",
    "ooh",
    "also",
    "like",
    "say",
    "by",
    "cos",
    "it",
    "is",
    "a",
    "an",
    "the",
    "there",
    "regarding",
    "concerning",
    "actually",
    "ugh",
    "yeah",
    "yes",
    "no",
    "only",
    "listen",
    "morning",
];
/// Words that a text does not end with.
const BACK: &[&str] = &[
    "please",
    "at",
    "on",
    "by",
    "in",
    "around",
    "about",
    "say",
    "for",
    "and",
    "lol",
    "will",
    "you",
    "would",
    "ta",
    "thanks",
    "cheers",
    "ish",
    "or",
    "so",
    "like",
    "from",
    "starting",
    "until",
    "every",
    "a",
    "an",
    "the",
    "is",
    "it",
    "of",
    "to",
    "that",
    "then",
    "with",
    "but",
    "xx",
    "x",
    "mate",
    "love",
    "dear",
    "also",
    "can",
    "could",
    "i",
    "we",
    "this",
    "are",
    "set",
    "get",
    "have",
    "need",
    "want",
    "me",
    "my",
    "next",
    "just",
    "as",
    "because",
    "cos",
    "beginning",
    "round",
    "circa",
];
/// Words that begin a reason, which no text keeps.
const REASONS: &[&str] = &["because", "cos", "coz", "cuz", "since", "else", "otherwise", "seeing", "or else", "bc"];

/// Whether a question asks that something be done: "could I have an alarm", "can we have".
pub(crate) fn asks_for_something(s: &Sentence) -> bool {
    let who = ["i", "we", "you", "somebody", "someone"].contains(&s.word(1));
    let wish = ["can", "could", "may", "would", "will", "might"].contains(&s.word(0));
    who && wish
}

/// The runs of words that are not covered.
pub(crate) fn runs(s: &Sentence, covered: &[bool]) -> Vec<(usize, usize)> {
    let mut all: Vec<(usize, usize)> = vec![];
    for at in (0..s.len()).filter(|at| !covered[*at]) {
        match all.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => all.push((at, at + 1)),
        }
    }
    all
}

/// A run without the words around a text, and without a reason or another clause behind it; `None` if nothing is left.
pub(crate) fn trimmed(s: &Sentence, (from, to): (usize, usize), keep_article: bool) -> Option<(usize, usize)> {
    let (mut from, mut to) = (from, to);
    // "there's no football" is about no football; "no, football" is about football.
    let denies = |at: usize| s.word(at) == "no" && s.tokens.get(at + 1).is_some_and(|next| !next.after_break) && at > 0;
    while from < to
        && FRONT.contains(&s.word(from))
        && !denies(from)
        && !(keep_article && ["the", "a", "an"].contains(&s.word(from)))
    {
        from += 1;
    }
    if let Some(end) = (from + 1..to).find(|at| ends_text(s, from, *at)) {
        to = end;
    }
    while from < to && (BACK.contains(&s.word(to - 1)) || FILLERS.contains(&s.word(to - 1))) {
        to -= 1;
    }
    (from < to).then_some((from, to))
}

const FILLERS: &[&str] = &["pls", "plz", "lol", "haha", "innit", "hun", "babe"];

/// Whether a text that begins at `from` ends before `at`: a reason or a clause of its own follows.
fn ends_text(s: &Sentence, from: usize, at: usize) -> bool {
    const CLAUSES: &[&str] = &[
        "i", "it", "he", "she", "we", "they", "you", "that", "there", "please", "thanks", "cheers", "ta", "this",
        "dont", "do", "not", "no", "and", "can", "could", "would", "will", "make", "say", "set", "put", "give", "let",
        "remind", "else", "or", "so", "if", "love", "dear", "me",
    ];
    if REASONS.contains(&s.word(at)) {
        return true;
    }
    if s.word(at) == "so" && ["i", "we", "you", "he", "she", "they", "that", "it"].contains(&s.word(at + 1)) {
        return true;
    }
    let broke = s.tokens[at].after_break;
    // A full stop ends a text; a comma only before a clause of its own.
    let mark = || s.text[s.tokens[at - 1].end..s.tokens[at].start].contains(['.', '!', '?', ';', '—', '–', '\n']);
    broke && (mark() && at > from || CLAUSES.contains(&s.word(at)))
}
