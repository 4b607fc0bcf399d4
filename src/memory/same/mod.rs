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
use vocabulary::{OPEN, SINGLE, SOFT};

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
    compare(&Statement::read(old), &Statement::read(new))
}

fn compare(old: &Statement, new: &Statement) -> Relation {
    let (left, fresh) = (missing(&old.tokens, &new.tokens), missing(&new.tokens, &old.tokens));
    let shared = old.tokens.len() - left.len();
    // Below this there is no subject in common.
    if shared == 0 || !old.wrong.is_empty() {
        return Relation::Different;
    }
    let year = |tokens: &[&Token]| tokens.iter().all(|t| t.text.starts_with("year:"));
    if left.is_empty() && fresh.is_empty() || left.is_empty() && year(&fresh) {
        return match () {
            () if !same_order(old, new) => Relation::Different,
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
    let replaces = !left.is_empty() && !fresh.is_empty() && behind(old, &left) && behind(new, &fresh);
    let alike = left.iter().zip(&fresh).all(|(a, b)| kind_of(a) == kind_of(b)) || has(SINGLE) || new.is_new;
    let single = has(SINGLE) && is_about_single(old, &left);
    match replaces && alike && (single || new.is_new && !has(OPEN) && one_value(&left, &fresh)) {
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
            None if token.text == SOFT => {}
            None => missing.push(token),
        }
    }
    missing
}

/// Whether names and numbers come in the same order: "Anna is taller than Ben" is not "Ben is taller than Anna".
fn same_order(old: &Statement, new: &Statement) -> bool {
    // The first word of a statement has a capital letter, too: what counts has one in both.
    let has = |s: &Statement, token: &Token| s.tokens.iter().any(|t| t.text == token.text && t.kind == token.kind);
    let of = |s: &Statement, other: &Statement, kind: Kind| -> Vec<String> {
        let fits = |t: &&Token| t.kind == kind && !t.text.starts_with("year:") && has(other, t);
        s.tokens.iter().filter(fits).map(|t| t.text.clone()).collect()
    };
    [Kind::Name, Kind::Value].into_iter().all(|kind| of(old, new, kind) == of(new, old, kind))
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

/// Whether one value takes the place of one: few words, and nothing else changed.
fn one_value(left: &[&Token], fresh: &[&Token]) -> bool {
    left.len() <= 2 && fresh.len() <= 2
}

fn kind_of(token: &Token) -> &str {
    token.text.split_once(':').map_or(if token.kind == Kind::Value { "number" } else { "word" }, |(kind, _)| kind)
}

/// Whether a word of a correction is this token: "not 12" of `date:3-12`.
fn is_wrong(wrong: &str, token: &str) -> bool {
    wrong == token
        || token.strip_prefix("date:").and_then(|date| date.split_once('-')).is_some_and(|(_, day)| day == wrong)
}
