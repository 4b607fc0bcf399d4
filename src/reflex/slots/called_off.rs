//! What will not take place: "no meeting on Friday", "there's no football on Thursday", "the dentist on friday is off". Nothing is
//! added then; whether the event is to be taken off is asked.

use super::{
    every, several,
    when::{self, Hours, When},
};
use crate::sentence::Sentence;
use jiff::{Zoned, civil::Date};
use std::ops::Range;

/// What is said before the event.
const LEADS: &[&[&str]] = &[
    &["there", "is", "no"],
    &["there", "are", "no"],
    &["there", "is", "not", "any"],
    &["there", "is", "not", "a"],
    &["there", "is", "not", "going", "to", "be"],
    &["there", "will", "be", "no"],
    &["there", "will", "not", "be"],
    &["we", "have", "no"],
    &["we", "have", "got", "no"],
    &["we", "have", "not", "got"],
    &["we", "do", "not", "have"],
    &["we", "are", "not", "going", "to"],
    &["we", "are", "not", "doing"],
    &["i", "have", "no"],
    &["i", "have", "got", "no"],
    &["i", "have", "not", "got"],
    &["i", "do", "not", "have"],
    &["i", "am", "not", "going", "to"],
    &["no", "more"],
    &["no"],
];

/// What is said behind it. A longer one goes first.
const ENDS: &[&[&str]] = &[
    &["is", "not", "happening"],
    &["is", "not", "taking", "place"],
    &["is", "not", "going", "ahead"],
    &["is", "not", "on"],
    &["are", "not", "on"],
    &["is", "called", "off"],
    &["has", "been", "called", "off"],
    &["has", "been", "cancelled"],
    &["has", "been", "canceled"],
    &["have", "been", "cancelled"],
    &["got", "cancelled"],
    &["was", "cancelled"],
    &["is", "cancelled"],
    &["is", "canceled"],
    &["are", "cancelled"],
    &["will", "not", "be", "happening"],
    &["will", "not", "happen"],
    &["will", "not", "take", "place"],
    &["will", "not", "be", "on"],
    &["does", "not", "take", "place"],
    &["is", "off"],
    &["are", "off"],
];

/// First words of what is no event.
const NO_EVENT: &[&str] = &[
    "need",
    "problem",
    "problems",
    "thanks",
    "thank",
    "idea",
    "way",
    "one",
    "reminder",
    "reminders",
    "alarm",
    "alarms",
    "timer",
    "timers",
    "longer",
    "news",
    "rush",
    "worries",
    "hurry",
    "matter",
    "doubt",
    "point",
    "chance",
    "change",
    "time",
    "money",
    "wonder",
    "sooner",
    "later",
    "earlier",
    "not",
    "wait",
    "rain",
    "snow",
    "wind",
    "sun",
    "frost",
    "weather",
    "messages",
    "make",
    "remind",
    "set",
    "put",
    "add",
    "wake",
    "move",
    "i",
    "it",
    "that",
    "this",
    "on",
    "at",
    "in",
    "for",
    "to",
    "by",
    "from",
    "sorry",
    "cancel",
    "delete",
    "remove",
    "what",
    "when",
    "where",
    "who",
    "why",
    "how",
    "you",
    "we",
    "and",
    "but",
    "please",
    "he",
    "she",
    "they",
    "just",
    "only",
    "do",
    "don't",
    "can",
    "could",
    "half",
    "quarter",
    "leave",
    "keep",
    "let",
    "book",
    "call",
    "tell",
    "actually",
    "is",
    "are",
    "turn",
    "switch",
    "heating",
    "heater",
    "boiler",
    "lamp",
    "light",
    "lights",
    "tv",
    "telly",
    "oven",
    "power",
    "water",
    "internet",
    "wifi",
    "milk",
    "bread",
    "say",
    "show",
    "list",
    "plans",
    "events",
    "appointments",
    "tasks",
    "everything",
    "nothing",
    "all",
    "stop",
    "start",
    "spending",
    "mention",
    "sign",
    "clue",
    "use",
    "sense",
    "luck",
    "doing",
    "be",
    "any",
    "anything",
    "take",
    "forget",
    "push",
    "shift",
    "text",
    "ring",
    "must",
    "should",
    "would",
    "will",
    "them",
    "those",
    "these",
    "him",
    "her",
    "me",
    "us",
    "if",
    "or",
    "so",
    "then",
    "alarm's",
    "maybe",
    "meant",
    "mean",
    "other",
    "ta",
    "cheers",
];

/// An event that a sentence calls off, and for which days.
pub(crate) struct CalledOff {
    pub title: String,
    /// The first and the last day; `None` for a recurrence.
    pub days: Option<(Date, Date)>,
}

/// "no alarm tomorrow", "no need to wake me on Friday": nothing is to ring.
pub(crate) fn rings_not(s: &Sentence) -> bool {
    const RINGS: &[&str] = &["alarm", "alarms", "reminder", "reminders", "timer", "timers"];
    let at = (0..s.len()).take_while(|at| BEFORE.contains(&s.word(*at))).count();
    let lead = LEADS.iter().find(|words| s.has(at, words)).map_or(0, |words| words.len());
    let next = at + lead;
    let apart = s.tokens.get(next).is_none_or(|token| token.after_break);
    let needs = s.has(next, &["need", "to"]) || s.has(next, &["need", "for"]);
    let calls = |at: usize| ["remind", "wake", "nudge", "alarm", "reminder", "a"].contains(&s.word(at));
    lead > 0
        && !apart
        && (RINGS.contains(&s.word(next)) && (s.len() == next + 1 || !["but", "just"].contains(&s.word(next + 1)))
            || needs && calls(next + 2) && s.mentions(&["remind", "wake", "nudge", "alarm", "reminder"])
            || s.has(next, &["wake", "up"]))
}

const BEFORE: &[&str] = &["oh", "hob", "so", "ah", "well", "right", "also", "and", "just", "by", "the", "way", "hey"];

/// The event that a sentence calls off for a day.
pub(crate) fn read(s: &Sentence, now: &Zoned) -> Option<CalledOff> {
    if s.len() < 3
        || s.len() > 14
        || s.asks
        || s.mentions(&["if", "remind", "calendar", "diary", "told", "said", "when"])
    {
        return None;
    }
    let begin = (0..s.len()).take_while(|at| BEFORE.contains(&s.word(*at))).count();
    let said = LEADS.iter().any(|words| s.has(begin, words)) || ending(s).is_some();
    let spans = if said { spans(s, now) } else { return None };
    let day = spans.iter().find(|span| span.names_day)?;
    let (from, to) = lead(s, begin, &spans).or_else(|| behind(s, &spans))?;
    let articles = |at: &usize| ["the", "my", "our", "a", "an", "any", "your", "this"].contains(&s.word(*at));
    let from = from + (from..to).take_while(articles).count();
    let title = s.slice(from, to).trim_end_matches(['\'', '’']).to_owned();
    let title = title.strip_suffix("'s").unwrap_or(&title).to_owned();
    let words = (from..to).all(|at| !s.tokens[at].after_break || at == from);
    let inside = day.words.start >= from && day.words.start < to;
    let is_event = words
        && !inside
        && !NO_EVENT.contains(&s.word(from))
        && !s.word(from).starts_with(|c: char| c.is_ascii_digit());
    let fits = (1..=4).contains(&to.saturating_sub(from)) && is_event && title.chars().count() > 2;
    fits.then_some(CalledOff { title, days: day.days })
}

/// A time in the sentence.
struct Span {
    words: Range<usize>,
    names_day: bool,
    /// The first and the last day; `None` for a recurrence.
    days: Option<(Date, Date)>,
}

/// The times of a sentence, in order.
fn spans(s: &Sentence, now: &Zoned) -> Vec<Span> {
    let one = |at: usize| {
        // "tomorrow's"
        if let Some(day) = s.word(at).strip_suffix("'s") {
            let alone = Sentence::whole(day);
            let phrase = when::spoken(&alone, 0, now, Hours { bare: false, early: false, slot: true })?;
            let When::Day(first) = phrase.when else { return None };
            return Some(Span { words: at..at + 1, names_day: true, days: Some((first, phrase.last)) });
        }
        if let Some((count, first, last)) = several::days(s, at, now.date()) {
            return Some(Span { words: at..at + count, names_day: true, days: Some((first, last)) });
        }
        let recurring =
            every::every(s, at, now).map(|(count, _)| Span { words: at..at + count, names_day: true, days: None });
        let phrase =
            when::spoken(s, at, now, Hours { bare: s.word(at) == "at", early: false, slot: true }).map(|phrase| {
                let first = match phrase.when {
                    When::At(moment) => moment.date(),
                    When::Day(first) | When::Week(first) | When::Month(first) | When::Year(first) => first,
                };
                let days = Some((first, phrase.last));
                Span { words: at..at + phrase.count, names_day: phrase.has_day, days }
            });
        let longer = |a: &Span, b: &Span| a.words.end > b.words.end;
        match (recurring, phrase) {
            (Some(recurring), Some(phrase)) if longer(&phrase, &recurring) => Some(phrase),
            (recurring, phrase) => recurring.or(phrase),
        }
    };
    let (mut all, mut at) = (vec![], 0);
    while at < s.len() {
        let found = one(at);
        at = found.as_ref().map_or(at + 1, |span| span.words.end);
        all.extend(found);
    }
    all
}

/// "no meeting on Friday": the words up to the time, which nothing but another time or a reason follows.
fn lead(s: &Sentence, begin: usize, spans: &[Span]) -> Option<(usize, usize)> {
    let lead = LEADS.iter().find(|words| s.has(begin, words)).map(|words| words.len())?;
    let from = begin + lead;
    // "no, football on Thursday" corrects.
    if s.tokens.get(from)?.after_break {
        return None;
    }
    let first = spans.iter().find(|span| span.words.start >= from)?;
    let last = first.words.end;
    let ends = s.tokens.get(last).is_none_or(|token| token.after_break)
        || spans.iter().any(|span| span.words.start == last)
        || ["because", "cos", "as", "since", "so", "after", "anymore", "now", "then", "for"].contains(&s.word(last));
    const BACK: &[&str] = &["on", "from", "until", "till", "for", "at", "in", "this", "next", "of"];
    let to = (from..first.words.start).rev().find(|at| !BACK.contains(&s.word(*at)))? + 1;
    ends.then_some((from, to))
}

/// Where "is off" is said, and its number of words.
fn ending(s: &Sentence) -> Option<(usize, usize)> {
    (1..s.len()).find_map(|at| ENDS.iter().find(|words| s.has(at, words)).map(|words| (at, words.len())))
}

/// "the dentist on friday is off": the words before it, without a time.
fn behind(s: &Sentence, spans: &[Span]) -> Option<(usize, usize)> {
    let (at, count) = ending(s)?;
    let next = at + count;
    let ends = s.tokens.get(next).is_none_or(|token| token.after_break)
        || spans.iter().any(|span| span.words.contains(&next))
        || ["now", "then", "because", "cos", "as", "so"].contains(&s.word(next));
    // "tomorrow's meeting"
    let from = spans.iter().find(|span| span.words.start == 0).map_or(0, |span| span.words.end);
    // Its "'s" is read as "is".
    let from = from + usize::from(from > 0 && from < at && s.word(from) == "is");
    let to = spans.iter().find(|span| span.words.start > 0 && span.words.end <= at).map_or(at, |span| span.words.start);
    (ends && to > from).then_some((from, to))
}
