//! Finds the timer that somebody means: by id, by name, by length, or because there is only one.

use super::{
    length,
    sentences::{spoken, status},
};
use scheduler::{Timer, TimerState};
use store::Entry;
use text_kit::{join_and, which_one};
use tool::{Cx, Error, Id, Result};

/// The most timers an error lists.
const LISTED: usize = 8;
/// Words before and after a name that are not part of it.
const BEFORE: [&str; 8] = ["the", "my", "our", "your", "this", "that", "a", "an"];
const AFTER: [&str; 3] = ["timer", "timers", "countdown"];

/// The states an operation is for: timers in such a state are preferred.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Any,
    Running,
    Paused,
    Ringing,
}

impl Op {
    fn suits(self, state: TimerState) -> bool {
        match self {
            Op::Any => true,
            Op::Running => state == TimerState::Running,
            Op::Paused => state == TimerState::Paused,
            Op::Ringing => state == TimerState::Ringing,
        }
    }
}

/// A name without the words around it: `the pizza timer` is `pizza`. Letters stay as they are written.
pub fn plain_name(text: &str) -> String {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let is_one = |word: &str, of: &[&str]| of.iter().any(|one| word.eq_ignore_ascii_case(one));
    while words.first().is_some_and(|word| is_one(word, &BEFORE)) {
        words.remove(0);
    }
    while words.last().is_some_and(|word| is_one(word, &AFTER)) {
        words.pop();
    }
    words.join(" ")
}

/// The timer of exactly this name, in whatever case.
pub fn named<'a>(all: &'a [Entry<Timer>], name: &str) -> Option<&'a Entry<Timer>> {
    let name = name.to_lowercase();
    all.iter().find(|timer| timer.value.name.to_lowercase() == name)
}

/// The one timer that is meant. The run is tainted by its name, or by the names that an error lists.
///
/// # Errors
/// `NotFound` if none fits; `BadArgs` if several do.
pub fn pick(cx: &Cx, all: &[Entry<Timer>], which: Option<&str>, op: Op) -> Result<Entry<Timer>> {
    let which = which.map(plain_name).unwrap_or_default();
    let fitting = if which.is_empty() { all.iter().collect() } else { matching(all, &which) };
    let suiting: Vec<_> = fitting.iter().copied().filter(|timer| op.suits(timer.value.state)).collect();
    let found = if suiting.is_empty() { &fitting } else { &suiting };
    match found.as_slice() {
        [one] => {
            cx.taint(one.label);
            Ok((*one).clone())
        }
        [] if all.is_empty() => Err(Error::not_found("no timers are running").say(super::NONE)),
        [] => {
            let which: String = which.chars().take(60).collect();
            let list = listed(cx, &all.iter().collect::<Vec<_>>());
            let set: Vec<String> = all.iter().map(called).collect();
            let said = format!("There is no {which} timer, only {}.", join_and(&set));
            Err(Error::not_found(format!("there is no timer “{which}”. These are set: {list}")).say(said))
        }
        several => {
            let list = listed(cx, several);
            let hint = if are_alike(several) { "by its id" } else { "by its name or length" };
            let text = format!("{} timers fit; say which one, {hint}: {list}", several.len());
            let names: Vec<String> = several.iter().map(|timer| called(timer)).collect();
            Err(Error::bad_args(text).say(match are_alike(several) {
                true => {
                    format!("There are {} of them. Choose one on the page, or say “cancel all timers”.", names.len())
                }
                false => which_one("timer", &names),
            }))
        }
    }
}

/// The timers that a text means: an id, else a name, else a length, else words of name and length.
fn matching<'a>(all: &'a [Entry<Timer>], which: &str) -> Vec<&'a Entry<Timer>> {
    if let Ok(id) = which.parse::<Id>() {
        return all.iter().filter(|timer| timer.id == id).collect();
    }
    if let Some(one) = named(all, which) {
        return vec![one];
    }
    if let Some(ms) = length::parse(which) {
        return all.iter().filter(|timer| timer.value.duration_ms == ms).collect();
    }
    let wanted = words(which);
    let has = |timer: &&Entry<Timer>| {
        let own = words(&format!("{} {}", timer.value.name, spoken(timer.value.duration_ms)));
        wanted.iter().all(|word| own.contains(word))
    };
    all.iter().filter(|timer| !wanted.is_empty() && has(timer)).collect()
}

/// The words of a text in small letters, without the s of a plural.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let all = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    all.map(|word| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned()).collect()
}

/// A timer in a question: its name, else its length.
fn called(timer: &Entry<Timer>) -> String {
    if timer.value.name.is_empty() { spoken(timer.value.duration_ms) } else { timer.value.name.to_owned() }
}

/// Whether names and lengths do not tell them apart.
fn are_alike(timers: &[&Entry<Timer>]) -> bool {
    let mut nouns: Vec<String> = timers.iter().map(|timer| timer.value.title()).collect();
    nouns.sort_unstable();
    nouns.windows(2).any(|two| two[0] == two[1])
}

fn listed(cx: &Cx, timers: &[&Entry<Timer>]) -> String {
    let with_ids = are_alike(timers);
    let one = |timer: &&Entry<Timer>| {
        cx.taint(timer.label);
        let status = status(&timer.value, &*cx.ports().clock);
        let state = status.strip_prefix(&timer.value.short_title()).and_then(|rest| rest.strip_prefix(": "));
        let id = if with_ids { format!("{}, ", timer.id) } else { String::new() };
        format!("{} ({id}{})", timer.value.short_title(), state.unwrap_or(&status))
    };
    let shown: Vec<String> = timers.iter().take(LISTED).map(one).collect();
    let rest = if timers.len() > LISTED { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}
