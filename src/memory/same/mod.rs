//! Decides whether a new memory repeats an older one, takes its place, or is another fact.
//!
//! By rules over the words of both statements, not by the distance of their vectors: "Anna's birthday" and "Ben's birthday"
//! are nearer to each other than many paraphrases. Meaning only finds the memories that are compared. A wrong merge loses a
//! fact and a missed one costs a line, so every word that one statement has and the other has not must be accounted for.

mod statement;
#[cfg(test)]
mod tests;
mod vocabulary;

use statement::{Kind, Statement, Token};
use vocabulary::{AT, CHANGED, FREE, OF, OPEN, SINGLE, SOFT};

/// How a new statement relates to an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// The same fact, perhaps in other words.
    Same,
    /// The newer fact takes the place of the older one.
    Update,
    /// Another fact, or not sure.
    Different,
}

/// The longest statements that are compared: a long text is no single fact.
const LONGEST: usize = 300;

/// How `new` relates to `old`.
pub fn relation(old: &str, new: &str) -> Relation {
    if old.trim() == new.trim() {
        return Relation::Same;
    }
    if old.chars().count().max(new.chars().count()) > LONGEST {
        return Relation::Different;
    }
    match compare(&Statement::read(old), &Statement::read(new)) {
        Relation::Same if respelled(old, new) => Relation::Update,
        relation => relation,
    }
}

/// Whether a password or code differs as it is written, "Plum-42" and "plum-42!", which comparing words leaves out.
fn respelled(old: &str, new: &str) -> bool {
    let core =
        |word: &str| word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let split = |text: &str| -> Vec<(String, String)> {
        let text = text.trim();
        let words = text.strip_suffix('.').unwrap_or(text).split_whitespace();
        words.map(|word| (core(word), word.to_owned())).filter(|(core, _)| !core.is_empty()).collect()
    };
    let (old, mut new) = (split(old), split(new));
    let secret = |(core, _): &(String, String)| vocabulary::WRITTEN.iter().any(|word| core.ends_with(word));
    // The first letter of a sentence has a capital letter anyway.
    let first = |words: &[(String, String)]| words.first().map(|(core, _)| core.clone());
    let firsts = [first(&old), first(&new)];
    new.retain(|(core, _)| !firsts.contains(&Some(core.clone())) || core.bytes().any(|b| b.is_ascii_digit()));
    new.retain(|word| !secret(word));
    let same = |(core, word): &(String, String)| {
        old.iter().all(|(c, _)| c != core) || old.iter().any(|(c, w)| c == core && w == word)
    };
    old.iter().any(secret) && !new.iter().all(same)
}

fn compare(old: &Statement, new: &Statement) -> Relation {
    let (left, fresh) = (missing(&old.tokens, &new.tokens), missing(&new.tokens, &old.tokens));
    let shared = matched(old, new).iter().filter(|token| token.kind != Kind::Own).count();
    // Below this there is no subject in common.
    if shared == 0 || !old.wrong.is_empty() || old.past != new.past || !same_speaker(old, new) || !same_order(old, new)
    {
        return Relation::Different;
    }
    let denied = |s: &Statement| s.tokens.iter().filter(|t| t.denied).map(|t| t.text.clone()).collect::<Vec<_>>();
    // "Fish but no meat", "meat but no fish".
    if old.denies && new.denies && (old.joins || new.joins) && denied(old) != denied(new) {
        return Relation::Different;
    }
    let year = |tokens: &[&Token]| tokens.iter().all(|t| t.text.starts_with("year:"));
    if left.is_empty() && fresh.is_empty() || left.is_empty() && year(&fresh) {
        return match () {
            () if old.denies == new.denies && shared >= 2 && new.wrong.is_empty() => Relation::Same,
            // "Ben no longer eats meat."
            () if new.ends && !old.denies && shared >= 2 => Relation::Update,
            () => Relation::Different,
        };
    }
    if old.denies != new.denies {
        return Relation::Different;
    }
    // "13 March, not 12": the older statement says just that, and nothing else than the newer one otherwise.
    if !new.wrong.is_empty() {
        let wrong = |token: &&Token| new.wrong.iter().any(|wrong| is_wrong(wrong, &token.text));
        let fits = !left.is_empty() && left.iter().all(wrong) && behind(new, &fresh);
        return if fits { Relation::Update } else { Relation::Different };
    }
    let has = |list: &[&str]| old.tokens.iter().any(|t| list.contains(&t.text.as_str()));
    let replaces = alike(&left, &fresh) && behind(old, &left) && behind(new, &fresh);
    match replaces && (is_about_single(old, &left) || new.is_new && !has(OPEN)) {
        true => Relation::Update,
        false => Relation::Different,
    }
}

/// The tokens that the other list does not have.
fn missing<'a>(of: &'a [Token], other: &[Token]) -> Vec<&'a Token> {
    let mut left: Vec<&Token> = other.iter().collect();
    let mut missing = vec![];
    for token in of {
        match left.iter().position(|t| t.text == token.text) {
            Some(at) => drop(left.remove(at)),
            None if token.text == SOFT || token.kind == Kind::Own => {}
            None => missing.push(token),
        }
    }
    missing
}

/// The tokens that the other statement has, too, in order.
fn matched<'a>(of: &'a Statement, other: &Statement) -> Vec<&'a Token> {
    let mut left: Vec<&Token> = other.tokens.iter().collect();
    let mut is_in = |token: &&Token| match left.iter().position(|t| t.text == token.text) {
        Some(at) => {
            left.remove(at);
            true
        }
        None => false,
    };
    of.tokens.iter().filter(|token| is_in(token)).collect()
}

/// Whether not one says "my" and the other "our".
fn same_speaker(old: &Statement, new: &Statement) -> bool {
    let only = |of: &Statement, other: &Statement| {
        of.tokens.iter().any(|t| t.kind == Kind::Own && !other.tokens.iter().any(|o| o.text == t.text))
    };
    !(only(old, new) && only(new, old))
}

/// Whether the words that both have come in the same order: "Anna is taller than Ben" is not "Ben is taller than Anna".
fn same_order(old: &Statement, new: &Statement) -> bool {
    let free = |token: &&Token| FREE.contains(&token.text.as_str());
    let ordered = |of: &Statement, other: &Statement| -> Vec<Token> {
        matched(of, other).into_iter().filter(|t| !free(t)).cloned().collect()
    };
    let (a, b) = (ordered(old, new), ordered(new, old));
    // "A cat has", "a cat is".
    let attribute = old.tokens.iter().any(|t| free(&t));
    let verbs = |s: &Statement| (s.has.is_some(), s.copula.is_some());
    let other_verb =
        matches!((verbs(old), verbs(new)), ((true, false), (false, true)) | ((false, true), (true, false)));
    let turned = |a: &[Token], b: &[Token]| is_turned(old, a, new, b) || is_turned(new, b, old, a);
    let fits = |a: &[Token], b: &[Token]| {
        (attribute || !other_verb) && (agree(a, b) || is_fronted(a, b) || is_fronted(b, a)) || turned(a, b)
    };
    fits(&a, &b) || fits(&compounds(&a, old.pivot), &compounds(&b, new.pivot))
}

/// Whether these are the same tokens in the same order.
fn agree(a: &[Token], b: &[Token]) -> bool {
    let either = |a: Option<&str>, b: Option<&str>| a == b || a.is_none() || b.is_none();
    let any = |token: &Token| token.link == Some(CHANGED);
    let same = |(a, b): (&Token, &Token)| {
        a.text == b.text && either(a.title, b.title) && (either(a.link, b.link) || any(a) || any(b))
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// Whether `a` is `b` with a part put to its front, and the verb after that: "in the garage is the ladder".
fn is_fronted(a: &[Token], b: &[Token]) -> bool {
    let same = |a: &[Token], b: &[Token]| agree(a, b) && a.iter().zip(b).all(|(a, b)| a.link == b.link);
    let ends = |tail: &[Token], head: &[Token]| {
        let at = b.len().saturating_sub(head.len());
        b.get(at..).is_some_and(|end| same(end, head)) && b.get(..at).is_some_and(|begin| same(begin, tail))
    };
    a.first().is_some_and(|first| first.link.is_some())
        && a.len() == b.len()
        && (1..a.len()).any(|n| {
            let (head, tail) = a.split_at(n);
            let mut inverted = tail.to_vec();
            inverted.rotate_left(1);
            ends(tail, head) || ends(&inverted, head)
        })
}

/// Whether `b` is `a` turned around "is", or around "is" and "has": "the key is at Ana's", "Ana has the key".
fn is_turned(old: &Statement, a: &[Token], new: &Statement, b: &[Token]) -> bool {
    let Some(copula) = old.copula else { return false };
    let (mut before, mut turned): (Vec<Token>, Vec<Token>) = a.iter().cloned().partition(|t| t.at < copula);
    let has = new.has.is_some() && turned.first().is_some_and(|t| t.link == Some(AT));
    if before.is_empty() || turned.is_empty() || !(has || new.copula.is_some()) {
        return false;
    }
    turned.append(&mut before);
    let lacks = |a: &[Token], b: &[Token]| a.iter().zip(b).any(|(a, b)| a.link.is_none() && b.link.is_some());
    agree(&turned, b) && !(lacks(&turned, b) && lacks(b, &turned))
}

/// "The drawer of the hall" as "the hall drawer".
fn compounds(tokens: &[Token], pivot: Option<usize>) -> Vec<Token> {
    let mut all = tokens.to_vec();
    for at in 1..all.len() {
        let Some([first, second]) = all.get_mut(at - 1..=at) else { continue };
        let side = |token: &Token| pivot.is_some_and(|pivot| token.at > pivot);
        let nouns = ![first.kind, second.kind].iter().any(|kind| matches!(kind, Kind::Value | Kind::Own));
        if second.link == Some(OF) && nouns && side(first) == side(second) {
            second.link = first.link.take();
            std::mem::swap(first, second);
        }
    }
    all
}

/// Whether all of these tokens are what the statement says, and not what it is about.
fn behind(statement: &Statement, tokens: &[&Token]) -> bool {
    let last = statement.tokens.last().map(|t| t.at);
    match statement.pivot {
        Some(pivot) => tokens.iter().all(|token| token.at > pivot),
        None => tokens.iter().all(|token| Some(token.at) == last),
    }
}

/// Whether the single attribute is among what the statement is about.
fn is_about_single(statement: &Statement, value: &[&Token]) -> bool {
    let first = value.iter().map(|t| t.at).min().unwrap_or_default();
    statement.tokens.iter().any(|t| t.at < first && SINGLE.contains(&t.text.as_str()))
}

/// Whether one value takes the place of one: of the same kind, with the same preposition, and nothing else changed.
fn alike(left: &[&Token], fresh: &[&Token]) -> bool {
    let kind = |token: &Token| (token.kind, token.text.split_once(':').map(|(kind, _)| kind.to_owned()));
    // "Dr Klein" is one value, "plum-42 at home" is two.
    let one = |tokens: &[&Token]| match tokens {
        [_] => true,
        [first, second] => second.at <= first.at + 1 && second.link.is_none(),
        _ => false,
    };
    let linked = |(a, b): (&&Token, &&Token)| {
        let dated = a.text.contains(':') && (a.link.is_none() || b.link.is_none());
        kind(a) == kind(b) && (a.link == b.link || dated || [a.link, b.link].contains(&Some(CHANGED)))
    };
    left.len() == fresh.len() && one(left) && one(fresh) && left.iter().zip(fresh).all(linked)
}

/// Whether a word of a correction is this token: "not 12" of `date:3-12`.
fn is_wrong(wrong: &str, token: &str) -> bool {
    wrong == token
        || token.strip_prefix("date:").and_then(|date| date.split_once('-')).is_some_and(|(_, day)| day == wrong)
}
