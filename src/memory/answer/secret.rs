//! Secrets: passwords, PINs, codes, card and account numbers. They are revealed only to a question that names them.

use super::text::{Word, likeness, words};
use scrub::{How, Scrubber};
use std::{collections::HashSet, sync::LazyLock};

/// Words for a secret.
const HEADS: &[&str] = &[
    "password",
    "passwords",
    "passcode",
    "passphrase",
    "passwd",
    "pwd",
    "pin",
    "pins",
    "code",
    "codes",
    "combination",
    "combo",
    "passwort",
    "kennwort",
    "geheimzahl",
    "zahlencode",
    "zugangscode",
    "türcode",
    "puk",
    "iban",
    "login",
    "credentials",
    "pincode",
    "keycode",
    "cvv",
    "cvc",
];
/// Things whose key or number is a secret.
const NUMBERED: &[&str] = &[
    "card",
    "visa",
    "mastercard",
    "account",
    "bank",
    "passport",
    "security",
    "insurance",
    "tax",
    "ssn",
    "social",
    "safe",
    "alarm",
    "karte",
    "konto",
    "reisepass",
    "credit",
    "debit",
    "kreditkarte",
    "kontonummer",
];
const KEYED: &[&str] = &[
    "wifi",
    "wlan",
    "wireless",
    "network",
    "license",
    "licence",
    "product",
    "security",
    "api",
    "encryption",
    "recovery",
    "backup",
    "secret",
];

/// Words of a question for a secret that are not its name.
const PLAIN: &[&str] = &[
    "open", "enter", "unlock", "connect", "log", "type", "punch", "work", "set", "system", "network", "device", "key",
    "number", "house", "home", "access", "secret", "current", "digits", "sign", "guests", "visitors", "join", "into",
    "put", "new", "correct", "right", "nummer", "online", "door", "gate", "tür", "opens", "opening", "works", "needed",
    "unlocks",
];

static SCRUBBER: LazyLock<Scrubber> = LazyLock::new(Scrubber::default);

/// Whether words speak of a secret.
fn names_secret(words: &[Word]) -> bool {
    let is = |w: &Word, all: &[&str]| all.contains(&w.text.as_str());
    let near = |n: usize, all: &[&str]| words.iter().skip(n.saturating_sub(3)).take(7).any(|w| is(w, all));
    words.iter().enumerate().any(|(n, w)| match w.text.as_str() {
        // Pins of the board have small numbers: "pin 17".
        "pin" | "pins" => words.get(n + 1).is_none_or(|next| !next.number || next.text.len() > 2),
        "number" | "numbers" | "nummer" => near(n, NUMBERED),
        "key" => near(n, KEYED),
        // "dress code", "QR code", "post code", "error code"
        "code" | "codes" => !n.checked_sub(1).and_then(|b| words.get(b)).is_some_and(|b| {
            is(
                b,
                &[
                    "dress", "qr", "post", "postal", "zip", "area", "country", "error", "source", "bar", "color",
                    "colour",
                ],
            )
        }),
        text => {
            HEADS.contains(&text)
                || ["passwort", "kennwort", "geheimzahl", "kontonummer"].iter().any(|e| text.ends_with(e))
        }
    })
}

fn is_head(word: &Word) -> bool {
    let text = word.text.as_str();
    HEADS.contains(&text)
        || ["key", "number", "nummer"].contains(&text)
        || text.ends_with("passwort")
        || text.ends_with("code")
}

/// Whether a fact has the word for what a question asks, such as "code".
pub(crate) fn shares_head(question: &[Word], fact: &[Word]) -> bool {
    let strict = |w: &&Word| is_head(w) && !["key", "number", "nummer"].contains(&w.text.as_str());
    question.iter().filter(strict).all(|w| fact.iter().any(|f| likeness(f, w, true) >= 0.8))
}

/// Whether a sentence holds a secret.
pub(crate) fn is_secret(sentence: &str) -> bool {
    names_secret(&words(sentence)) || SCRUBBER.text(sentence, How::All) != sentence
}

/// Whether a question is for a secret.
pub(crate) fn asks_for_secret(question: &[Word]) -> bool {
    names_secret(question)
}

/// How a question names a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Naming {
    /// It is for something else.
    Other,
    /// It names the kind alone: "what is the password?", or a part of its name.
    Vague,
    /// It names this secret, with this many words of its name left out.
    Named(std::cmp::Reverse<usize>),
}

/// Whether a question names the secret of this sentence.
pub(crate) fn naming(question: &[Word], sentence: &str, stop: &HashSet<&str>, compounds: bool) -> Naming {
    let fact = words(sentence);
    if !names_secret(question) || !names_secret(&fact) {
        return Naming::Other;
    }
    // An account number is no password.
    let is_number = |w: &Word| ["number", "nummer", "numbers"].contains(&w.text.as_str());
    let only_number = !question.iter().any(|w| is_head(w) && !is_number(w));
    if only_number && !fact.iter().any(is_number) {
        return Naming::Other;
    }
    let content = |w: &&Word| !stop.contains(w.text.as_str()) && !is_head(w) && !PLAIN.contains(&w.text.as_str());
    // The name is before "is": "the code of the garage door is 4711".
    let end = fact.iter().position(|w| ["is", "are", "ist", "lautet"].contains(&w.text.as_str())).unwrap_or(fact.len());
    let name: Vec<&Word> = fact.iter().take(end).filter(content).filter(|w| !w.number).collect();
    let asked: Vec<&Word> = question.iter().filter(content).filter(|w| !super::text::is_frame(w)).collect();
    let same = |a: &Word, b: &Word| likeness(a, b, compounds) >= 0.8;
    let compound_head = |w: &Word| fact.iter().any(|f| f.stem == w.stem);
    let missing = asked.iter().filter(|w| !fact.iter().any(|f| same(f, w)) && !compound_head(w)).count();
    let matched = name.iter().filter(|n| asked.iter().any(|a| same(a, n))).count();
    let heads = |all: &[Word]| all.iter().filter(|w| is_head(w)).map(|w| w.text.clone()).collect::<Vec<_>>();
    // One compound names it whole: "WLAN-Passwort", "Türcode".
    let whole =
        heads(question).iter().any(|h| h.len() > 6 && !HEADS[..12].contains(&h.as_str()) && heads(&fact).contains(h));
    match (missing, matched) {
        (0, 0) if whole => Naming::Named(std::cmp::Reverse(name.len())),
        (0, 0) if asked.is_empty() && shares_head(question, &fact) => Naming::Vague,
        (0, matched) if matched > 0 => Naming::Named(std::cmp::Reverse(name.len() - matched)),
        (_, matched) if matched > 0 => Naming::Vague,
        _ => Naming::Other,
    }
}

/// The name of the secret of a sentence, without its value: "the garage door code".
pub(crate) fn name_of(sentence: &str) -> String {
    let verbs = [" is ", " are ", " ist ", " lautet ", ": ", "=", " = "];
    let end = verbs.iter().filter_map(|verb| sentence.find(verb)).min();
    let head = end.map_or("", |end| sentence.get(..end).unwrap_or_default()).trim();
    let told = head.strip_prefix("my ").or_else(|| head.strip_prefix("My ")).map(|rest| format!("your {rest}"));
    let told = told.or_else(|| head.strip_prefix("The ").map(|rest| format!("the {rest}")));
    // A value may be before the verb: "4711 is the alarm code".
    let safe = !head.is_empty() && !head.chars().any(|c| c.is_ascii_digit()) && SCRUBBER.text(head, How::All) == head;
    if safe { told.unwrap_or_else(|| head.to_owned()) } else { "one I keep".to_owned() }
}

/// The sentences of a text.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut all = vec![];
    let mut rest = text;
    while let Some(end) = rest.find(['\n', ';']).into_iter().chain(rest.find(". ")).chain(rest.find("! ")).min() {
        let (one, more) = rest.split_at(end + 1);
        all.push(one.trim_end_matches([';', '\n']).trim());
        rest = more;
    }
    all.push(rest.trim());
    all.retain(|one| !one.is_empty());
    all
}
