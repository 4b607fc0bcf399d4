//! Tells commands from what only looks like one: negations, questions about doing, reported and imagined speech.

use crate::{
    mask::Masked,
    sentence::{QUESTION_WORDS, Sentence},
    slots::Kind,
};

/// Words that start a question besides the question words.
const OPENINGS: &[&str] = &[
    "did", "does", "do", "is", "are", "was", "were", "am", "has", "have", "had", "should", "shall", "may", "might",
    "must", "can", "could", "would", "will",
];

/// Whether its first word starts a question.
pub(crate) fn opens_question(s: &Sentence) -> bool {
    let first = s.word(0);
    let orders = first == "do" && ["not", "it", "that", "this"].contains(&s.word(1)) || first == "if";
    // "when I come home, …" is a condition; "when is …" and "do you know when …" are questions.
    // "have a party", "what a lovely day".
    let orders = orders || !s.asks && ["have", "what"].contains(&first) && ["a", "an"].contains(&s.word(1));
    let orders = orders || first == "when" && !s.asks && !OPENINGS.contains(&s.word(1));
    let tells = s.has(0, &["tell", "me"]) || s.has(0, &["do", "you", "know"]) || s.has(0, &["any", "idea"]);
    !orders && (QUESTION_WORDS.contains(&first) || OPENINGS.contains(&first) || (tells && s.word(2) == "about"))
}

/// Whether it only asks about something: "why …", "did I …"; "can we put milk on the list?" is a request.
pub(crate) fn only_asks(s: &Sentence) -> bool {
    const REQUESTS: &[&[&str]] = &[
        &["how", "about"],
        &["what", "about"],
        &["why", "do", "not"],
        &["why", "not"],
        &["is", "it", "possible"],
        &["is", "there", "any", "way"],
    ];
    const WANTS: &[&str] = &["can", "could", "would", "will", "may", "might"];
    let wants = WANTS.contains(&s.word(0)) && ["we", "i", "you", "somebody", "someone"].contains(&s.word(1));
    opens_question(s) && !wants && !REQUESTS.iter().any(|words| s.has(0, words))
}

/// Words that turn what is said into something else than a command to do it now.
const TURNS: &[&str] = &[
    "not",
    "never",
    "without",
    "except",
    "if",
    "unless",
    "until",
    "when",
    "whenever",
    "while",
    "after",
    "before",
    "every",
    "each",
    "should",
    "must",
    "remind",
    "schedule",
    "timer",
    "alarm",
    "stop",
    "instead",
    "because",
    "no",
    "nothing",
    "later",
    "wonder",
    "imagine",
    "suppose",
    "maybe",
    "perhaps",
    "might",
    "yesterday",
    "wish",
    "hypothetically",
    "pretend",
    "almost",
    "nearly",
    "dreamt",
    "dreamed",
    "whether",
    "anymore",
    "unlike",
    "rather",
    "or",
];

/// Negations: they turn a sentence even if phrasings of the tool have them, but for [`FORGETTING`].
const NEGATIONS: &[&str] = &["not", "never", "no", "without", "except", "unless", "nobody", "neither", "nor"];

/// After a negation, these ask for something: "don't forget", "don't let me forget", "why don't you", "no longer need".
const FORGETTING: &[&str] = &[
    "forget", "let", "you", "we", "rush", "hurry", "longer", "need", "have", "priority", "more", "got", "later",
    "worries", "matter", "miss",
];

/// What a tool does, for what a negation means beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Looks,
    TakesBack,
    Changes,
}

/// Whether uncovered words turn the meaning: of the words outside of values, `strange` ones are in no phrasing of the tool.
pub(crate) fn turned(s: &Sentence, covered: &[bool], strange: &[usize], does: Does) -> bool {
    // "that's not what I wanted, undo", "I can't make yoga, cancel it": what is taken back is not wanted. "I have no oranges".
    const HAVE: &[&str] = &["have", "is", "are", "got", "has"];
    let turns = |at: &usize| {
        let word = s.word(*at);
        let has_none = word == "no" && *at > 0 && HAVE.contains(&s.word(*at - 1));
        let takes_back = does == Does::TakesBack && *at > 0 && s.word(*at - 1) != "do";
        // "which tasks are not done" is asked in these words.
        let asked = does == Does::Looks && !strange.contains(at);
        let denies = !takes_back && !has_none && !asked;
        let negates = NEGATIONS.contains(&word) && !FORGETTING.contains(&s.word(*at + 1)) && denies;
        negates || TURNS.contains(&word) && strange.contains(at)
    };
    // "no, no, put it back" begins with an interjection.
    let more = |at: usize| s.word(at + 1) == "no" || s.tokens.get(at + 1).is_some_and(|token| token.after_break);
    let skipped = (0..s.len()).take_while(|at| s.word(*at) == "no" && more(*at)).count();
    if skipped > 0 {
        return (skipped..s.len()).filter(|at| !covered.get(*at).copied().unwrap_or_default()).any(|at| turns(&at));
    }
    // At the beginning it is no part of a name, whatever the tagger says.
    let begins = usize::from(s.word(0) == "do");
    if NEGATIONS.contains(&s.word(begins)) && !FORGETTING.contains(&s.word(begins + 1)) {
        return true;
    }
    (0..s.len()).filter(|at| !covered.get(*at).copied().unwrap_or_default()).any(|at| turns(&at))
}

/// Whether a time, an amount or a pin is left over that no argument takes: it was said for a reason.
pub(crate) fn leaves(masked: &Masked, covered: &[bool], strange: &[usize]) -> bool {
    let definite = |kind: Kind| !matches!(kind, Kind::Number | Kind::Int | Kind::Person | Kind::Unit | Kind::Zone);
    masked.spans.iter().filter(|span| definite(span.kind)).any(|span| {
        let mut at = span.at..span.at + span.count;
        let open = |at: usize| !covered.get(at).copied().unwrap_or_default();
        at.clone().all(open) && at.any(|at| strange.contains(&at))
    })
}

/// The sentence without an ending such as "… if it isn't on there already", which a list takes care of itself.
pub(crate) fn without_afterthought(s: &Sentence) -> Option<Sentence> {
    const ENDING: &[&str] = &[
        "it", "they", "that", "is", "are", "not", "isnt", "arent", "there", "already", "on", "yet", "i", "we", "have",
        "did", "do", "has", "been", "the", "list", "my", "one", "any", "in", "havent",
    ];
    let at = (3..s.len()).rev().find(|at| ["if", "unless"].contains(&s.word(*at)))?;
    let ends = s.len() > at + 2 && (at + 1..s.len()).all(|at| ENDING.contains(&s.word(at)));
    let end = s.tokens.get(at - 1)?.end;
    ends.then(|| Sentence::read(&s.text[..end]))
}

/// Whether a statement or question is about doing rather than a wish that it be done.
pub(crate) fn reports(s: &Sentence, covered: &[bool]) -> bool {
    const WHO: &[&str] = &["he", "she", "they", "somebody", "someone", "nobody", "everybody", "people"];
    const BEGIN: &[&[&str]] = &[
        &["what", "if"],
        &["what", "happens"],
        &["what", "would"],
        &["should", "i"],
        &["should", "we"],
        &["shall", "i"],
        &["do", "you", "think"],
        &["i", "wonder"],
        &["i", "was", "going", "to"],
        &["i", "was", "about", "to"],
        &["i", "dreamt"],
        &["i", "almost"],
        &["how", "do"],
        &["how", "would"],
        &["how", "can"],
        &["have", "you"],
        &["did", "you"],
        &["did", "i"],
    ];
    let open = |at: usize| !covered.get(at).copied().unwrap_or_default();
    BEGIN.iter().any(|words| s.has(0, words))
        || WHO.contains(&s.word(0)) && open(0)
        || (0..s.len()).any(|at| {
            open(at) && ["said", "told", "says", "claims", "asked", "asks", "thinks", "wanted"].contains(&s.word(at))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_like_a_command_is_told_apart() {
        for (text, wanted) in [
            ("what if I delete the list", true),
            ("should I add milk", true),
            ("she told me to set a timer", true),
            ("Tom said to add milk", true),
            ("how do I add an event?", true),
            ("add milk to the list", false),
            ("could you add milk to the list?", false),
            ("tell me what's next", false),
        ] {
            let s = Sentence::read(text);
            assert_eq!(reports(&s, &vec![false; s.len()]), wanted, "{text}");
        }
    }

    #[test]
    fn an_afterthought_is_left_out() {
        for (text, wanted) in [
            ("add grapes to my list if they aren't on there already", Some("add grapes to my list")),
            ("put rice on the list unless it is there", Some("put rice on the list")),
            ("wake me if it rains", None),
            ("turn it on if Tom comes", None),
        ] {
            let cut = without_afterthought(&Sentence::read(text));
            assert_eq!(cut.map(|s| s.text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn some_questions_are_requests() {
        for (text, wanted) in [
            ("why don't you add milk", false),
            ("how about adding milk to the list", false),
            ("can we put milk on the list?", false),
            ("did I add milk?", true),
            ("why did you add milk", true),
            ("add milk?", false),
        ] {
            assert_eq!(only_asks(&Sentence::read(text)), wanted, "{text}");
        }
    }
}
