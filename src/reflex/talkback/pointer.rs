//! Words that point at what was just shown or made: "it", "both", "the last one", "the one about the gutters".

use super::{exchange::Thing, value};
use crate::sentence::Sentence;

/// Pointing words with their place, and the things they mean.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pointer {
    pub at: usize,
    pub count: usize,
    pub things: Vec<Thing>,
    /// It means one thing, but several were shown.
    pub open: bool,
}

const NUMBERS: &[(&str, usize)] = &[
    ("first", 0),
    ("1st", 0),
    ("top", 0),
    ("second", 1),
    ("2nd", 1),
    ("third", 2),
    ("3rd", 2),
    ("fourth", 3),
    ("4th", 3),
    ("fifth", 4),
    ("5th", 4),
    ("sixth", 5),
    ("6th", 5),
];

/// The first words of a sentence that point at something that was shown.
pub(crate) fn find(s: &Sentence, things: &[Thing]) -> Option<Pointer> {
    (0..s.len()).find_map(|at| at_token(s, at, things))
}

fn at_token(s: &Sentence, at: usize, things: &[Thing]) -> Option<Pointer> {
    let one = |count: usize, thing: Option<&Thing>| {
        Some(Pointer { at, count, things: thing.cloned().into_iter().collect(), open: false })
            .filter(|p| !p.things.is_empty())
    };
    let it = |count: usize| match things {
        [thing] => one(count, Some(thing)),
        [] => None,
        _ => Some(Pointer { at, count, things: things.to_vec(), open: true }),
    };
    let all = |count: usize| {
        Some(Pointer { at, count, things: things.to_vec(), open: false }).filter(|p| !p.things.is_empty())
    };
    let (word, next) = (s.word(at), s.word(at + 1));
    let is_verb = ["is", "was", "would", "will", "are"].contains(&next);
    match word {
        "it" if !is_verb || at == 0 => return it(1),
        "that" | "this" if next == "one" => return it(2),
        "that" | "this" if ENDS.contains(&next) => return it(1),
        "both" if things.len() == 2 => {
            return all(if next == "of" && ["them", "those", "these"].contains(&s.word(at + 2)) { 3 } else { 1 });
        }
        "all" if next == "of" && ["them", "those", "these", "it"].contains(&s.word(at + 2)) => return all(3),
        "all" if at > 0 && ENDS.contains(&next) && things.len() > 1 => return all(1),
        "them" if next == "all" || next == "both" => return all(2),
        "them" | "these" => return all(1),
        "those" if ENDS.contains(&next) => return all(1),
        "everything" | "lot" if ENDS.contains(&next) && things.len() > 1 => return all(1),
        _ => {}
    }
    if word != "the" && word != "my" {
        return None;
    }
    // "the reminder to call Ben", "the appointment with Tom".
    const KINDS: &[&str] = &["reminder", "event", "appointment", "task"];
    if KINDS.contains(&next) && ["to", "about", "for", "with", "called"].contains(&s.word(at + 2)) {
        let noun = if next == "appointment" { "event" } else { next };
        for end in (at + 4..=s.len()).rev() {
            // "… an hour earlier" is no part of the name.
            if ["the", "my", "a", "an"].contains(&s.word(end - 1)) {
                continue;
            }
            let words: Vec<&str> =
                (at + 3..end).map(|i| s.word(i)).filter(|word| !["the", "my", "a", "an"].contains(word)).collect();
            let found: Vec<&Thing> = things.iter().filter(|thing| thing.noun == noun && names(thing, &words)).collect();
            if let [thing] = found[..] {
                return one(end - at, Some(thing));
            }
        }
    }
    // "push the reminder back an hour", where there is one.
    if let [thing] = things
        && ["reminder", "event"].contains(&thing.noun)
        && (next == thing.noun || next == "alarm" && thing.name == "Alarm")
        && ENDS.contains(&s.word(at + 2))
    {
        return one(2, Some(thing));
    }
    let ones = |at: usize| {
        usize::from(
            ["one", "task", "reminder", "timer", "event", "appointment", "note", "item", "entry", "job"]
                .contains(&s.word(at)),
        )
    };
    // "the first two", "the last two".
    let two = ["two", "2"].contains(&s.word(at + 2));
    if two && ["first", "top"].contains(&next) && things.len() >= 2 {
        return Some(Pointer { at, count: 3, things: things[..2].to_vec(), open: false });
    }
    if two && next == "last" && things.len() >= 2 {
        return Some(Pointer { at, count: 3, things: things[things.len() - 2..].to_vec(), open: false });
    }
    if two && next == "other" && things.len() == 3 {
        return None;
    }
    let ordinal = NUMBERS.iter().find(|(number, _)| *number == next).map(|(_, n)| *n);
    let count = 2 + ones(at + 2);
    let closed = count == 3 || ENDS.contains(&s.word(at + 2));
    let number = s.word(at + 1) == "number";
    if number {
        let n = s.word(at + 2).parse::<usize>().ok()?;
        return one(3, things.get(n.checked_sub(1)?));
    }
    if things.len() > 1 {
        if let Some(n) = ordinal.filter(|_| closed) {
            return one(count, things.get(n));
        }
        match next {
            "last" | "bottom" | "latter" if closed => return one(count, things.last()),
            "other" if closed && things.len() == 2 => return one(count, things.last()),
            _ => {}
        }
        if let Some(thing) = extreme(next, things).filter(|_| count == 3) {
            return one(count, Some(thing));
        }
    }
    // "the one about the gutters", "the one on friday", "the one for Tom".
    if next == "one" && ["about", "with", "for", "at", "on", "called", "to", "from", "saying"].contains(&s.word(at + 2))
    {
        for end in (at + 4..=s.len()).rev() {
            let words: Vec<&str> =
                (at + 3..end).map(|i| s.word(i)).filter(|word| !["the", "my", "a", "an"].contains(word)).collect();
            let found: Vec<&Thing> = things.iter().filter(|thing| names(thing, &words)).collect();
            if let [thing] = found[..] {
                return one(end - at, Some(thing));
            }
        }
    }
    // "the dentist one", "the pizza timer".
    let end = (at + 2..s.len().min(at + 6)).find(|i| ones(*i) == 1)?;
    let words: Vec<&str> = (at + 1..end).map(|i| s.word(i)).collect();
    let found: Vec<&Thing> = things.iter().filter(|thing| names(thing, &words)).collect();
    match found[..] {
        [thing] => one(end + 1 - at, Some(thing)),
        _ => None,
    }
}

/// Words before which a pointing word stands alone.
const ENDS: &[&str] = &[
    "",
    "to",
    "on",
    "off",
    "in",
    "at",
    "from",
    "as",
    "by",
    "for",
    "again",
    "too",
    "please",
    "tomorrow",
    "today",
    "until",
    "till",
    "done",
    "back",
    "with",
    "high",
    "low",
    "now",
    "forward",
    "after",
    "before",
    "and",
    "urgent",
    "later",
    "earlier",
    "already",
    "can",
    "needs",
    "is",
    "are",
    "was",
    "were",
    "about",
    "up",
    "down",
    "out",
    "say",
    "says",
    "start",
    "starts",
    "end",
    "finish",
    "an",
    "a",
    "half",
    "cost",
    "has",
    "have",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "next",
    "this",
    "into",
    "onto",
    "got",
    "over",
    "minus",
    "sooner",
    "altogether",
];

/// Whether a thing's name has all of these words.
pub(crate) fn names(thing: &Thing, words: &[&str]) -> bool {
    let own = format!(
        "{} {}",
        thing.name,
        ["location", "relationship", "category"]
            .iter()
            .filter_map(|key| thing.record.get(*key)?.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    );
    // "the saturday one".
    let day = thing.moment().and_then(value::parse).map(|(day, _)| day.strftime("%A").to_string());
    let own = Sentence::whole(&format!("{own} {}", day.unwrap_or_default()));
    let stem = |word: &str| word.trim_end_matches("'s").trim_end_matches('s').to_owned();
    !words.is_empty() && words.iter().all(|word| own.tokens.iter().any(|token| stem(&token.word) == stem(word)))
}

/// The thing that is most of something: the oldest, the longest, the dearest.
pub(crate) fn extreme<'t>(word: &str, things: &'t [Thing]) -> Option<&'t Thing> {
    let text = |keys: &'static [&'static str]| {
        move |thing: &Thing| keys.iter().find_map(|key| thing.record.get(*key)?.as_str().map(str::to_owned))
    };
    let number = |keys: &'static [&'static str]| {
        move |thing: &Thing| {
            keys.iter().find_map(|key| thing.record.get(*key)?.as_f64()).map(|n| format!("{:020.3}", n.max(0.0)))
        }
    };
    const MADE: &[&str] = &["createdAt"];
    const WHEN: &[&str] = &["startTime", "nextRun", "dueDate", "endsAt", "date"];
    const LENGTH: &[&str] = &["remainingSeconds"];
    const PRICE: &[&str] = &["amount"];
    let made = |thing: &Thing| text(MADE)(thing).or_else(|| number(&["createdMs"])(thing));
    // Without a value a thing is out of the running; equal ones tell nothing.
    let best = |value: &dyn Fn(&Thing) -> Option<String>, most: bool| {
        let mut all: Vec<(String, &'t Thing)> =
            things.iter().filter_map(|thing| Some((value(thing)?, thing))).collect();
        all.sort_by(|a, b| if most { b.0.cmp(&a.0) } else { a.0.cmp(&b.0) });
        match all.as_slice() {
            [(best, thing), (next, _), ..] if best != next => Some(*thing),
            [(_, thing)] => Some(*thing),
            _ => None,
        }
    };
    match word {
        "oldest" => best(&made, false),
        "newest" | "latest" | "youngest" | "later" if word == "newest" || word == "youngest" => best(&made, true),
        "latest" | "later" => best(&text(WHEN), true),
        "earliest" | "earlier" | "soonest" | "next" | "sooner" => best(&text(WHEN), false),
        "longest" | "longer" => best(&number(LENGTH), true),
        "shortest" | "shorter" => best(&number(LENGTH), false),
        "biggest" | "dearest" | "largest" | "highest" | "priciest" | "bigger" | "dearer" => best(&number(PRICE), true),
        "smallest" | "cheapest" | "lowest" | "smaller" | "cheaper" => best(&number(PRICE), false),
        _ => None,
    }
}
