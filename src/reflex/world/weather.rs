//! Questions about the weather: for which place and which day.

use super::{Ask, Call, only};
use crate::{
    direct,
    sentence::Sentence,
    slots::{date, number, place},
    talkback::exchange::Exchange,
};
use jiff::{Zoned, civil::Date};
use serde_json::{Map, Value, json};

/// How many days a forecast has at most, today included.
const MOST_DAYS: i32 = 16;
const NO_SUCH_DAY: &str = "I know the weather of today and the next 15 days.";
/// The most words of a place.
const PLACE: usize = 6;

const NOW: &str = "get_weather";
const FORECAST: &str = "get_weather_forecast";

/// Words that are about the weather wherever they stand in a question.
const TOPIC: &[&str] = &["weather", "forecast", "weather's"];
const SKY: &[&str] = &[
    "rain",
    "raining",
    "rains",
    "rainy",
    "snow",
    "snowing",
    "snows",
    "snowy",
    "sunny",
    "windy",
    "stormy",
    "storm",
    "storms",
    "thunderstorm",
    "thunderstorms",
    "frost",
    "frosty",
    "icy",
    "hail",
    "drizzle",
    "foggy",
    "humid",
    "cloudy",
    "umbrella",
    "brolly",
    "raincoat",
    "sunscreen",
];
/// Words that are about the weather only outside, on a day or at a place.
const AIR: &[&str] =
    &["hot", "cold", "warm", "wet", "freezing", "chilly", "mild", "cool", "nice", "dry", "temperature", "degrees"];
const OUTSIDE: &[&str] = &["outside", "outdoors"];

/// First words of questions and commands.
const STARTS: &[&str] = &[
    "what", "how", "is", "will", "does", "do", "are", "should", "shall", "any", "show", "tell", "give", "get", "check",
    "weather", "forecast", "when", "could", "would", "can", "gonna", "look", "read", "current", "need", "rain", "snow",
];
/// Words that change nothing about a question.
const FILLERS: &[&str] = &[
    "what",
    "is",
    "the",
    "how",
    "like",
    "going",
    "to",
    "be",
    "will",
    "show",
    "tell",
    "me",
    "us",
    "give",
    "get",
    "check",
    "look",
    "looking",
    "up",
    "current",
    "latest",
    "was",
    "please",
    "it",
    "of",
    "do",
    "does",
    "you",
    "know",
    "for",
    "out",
    "there",
    "report",
    "any",
    "i",
    "we",
    "need",
    "needed",
    "have",
    "got",
    "can",
    "could",
    "would",
    "should",
    "shall",
    "think",
    "expect",
    "expected",
    "supposed",
    "gonna",
    "doing",
    "conditions",
    "prediction",
    "a",
    "an",
    "my",
    "our",
    "about",
    "s",
    "are",
    "when",
    "take",
    "bring",
    "wear",
    "put",
    "on",
    "read",
    "in",
    "at",
    "much",
    "many",
    "get",
    "lot",
    "today's",
    "tonight's",
    "here",
    "stay",
    "outlook",
    "and",
    "home",
    "or",
    "start",
    "stop",
    "chance",
    "chances",
    "ok",
    "so",
    "by",
    "with",
];
/// Words that end the name of a place.
const ENDS: &[&str] = &[
    "like",
    "going",
    "be",
    "look",
    "looking",
    "right",
    "now",
    "please",
    "at",
    "on",
    "this",
    "next",
    "over",
    "for",
    "do",
    "you",
    "later",
    "in",
    "gonna",
    "is",
    "will",
    "and",
    "or",
    "the",
    "currently",
];
/// First words of what is no place that has a weather.
const INDOORS: &[&str] = &[
    "here",
    "the",
    "my",
    "our",
    "your",
    "his",
    "her",
    "a",
    "an",
    "this",
    "that",
    "it",
    "bed",
    "kitchen",
    "bedroom",
    "bathroom",
    "garage",
    "cellar",
    "attic",
    "office",
    "hall",
    "hallway",
    "loft",
    "sauna",
    "pool",
    "oven",
    "fridge",
    "freezer",
    "greenhouse",
    "shed",
    "house",
    "room",
    "box",
    "tank",
    "living",
    "dining",
    "basement",
    "general",
    "english",
    "french",
    "german",
    "case",
    "short",
    "detail",
    "mind",
    "general",
    "degrees",
    "celsius",
    "fahrenheit",
    "me",
    "us",
];

/// When the weather is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Day {
    /// Now and today.
    Now,
    /// So many days, today included; `None` for as many as a forecast has by default.
    Days(Option<i32>),
    /// Before today, or later than any forecast.
    Unknown,
}

/// Where and when.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    day: Option<Day>,
    place: Option<String>,
    /// Tokens that are part of the place or the day.
    taken: Vec<usize>,
}

pub(super) fn read(s: &Sentence, now: &Zoned) -> Option<Ask> {
    if s.mentions(direct::OURS) || s.len() > 24 {
        return None;
    }
    let asked = Asked::read(s, now.date());
    let (topic, sky) = (s.mentions(TOPIC), s.mentions(SKY));
    let known = asked.place.as_deref().is_some_and(|name| is_named(s, name));
    let air = s.mentions(AIR) && (s.mentions(OUTSIDE) || asked.day.is_some_and(|day| day != Day::Unknown) || known);
    if !(topic || sky || air) || !topic && asked.place.is_some() && !known {
        return None;
    }
    let begins = begins(s)
        || topic
            && (asked.taken.contains(&0)
                || s.word(0) == "the" && TOPIC.contains(&s.word(1)) && !s.mentions(&["is", "was"]));
    // "it is cold in here".
    let inside = (0..s.len()).any(|at| s.has(at, &["in", "here"])) && !topic;
    let left = (0..s.len()).filter(|at| !asked.taken.contains(at));
    let rest =
        only(s, left.filter(|at| ![TOPIC, SKY, AIR, OUTSIDE].iter().any(|of| of.contains(&s.word(*at)))), FILLERS);
    if !begins || inside || !rest {
        return None;
    }
    Some(match asked.day {
        Some(Day::Unknown) => Ask::Say(NO_SUCH_DAY),
        day => {
            let day = day.or_else(|| (s.mentions(&["forecast", "when"])).then_some(Day::Days(None)));
            let (tool, arguments) = call(day, asked.place);
            Ask::call(tool, arguments)
        }
    })
}

/// Whether the first word is that of a question or command.
pub(super) fn begins(s: &Sentence) -> bool {
    STARTS.contains(&s.word(0))
}

/// What is asked by a sentence that is about the weather, with other words around it.
pub(super) fn among_others(s: &Sentence, now: &Zoned) -> Ask {
    let asked = Asked::read(s, now.date());
    if asked.day == Some(Day::Unknown) {
        return Ask::Say(NO_SUCH_DAY);
    }
    let (tool, arguments) = call(asked.day, asked.place.filter(|name| is_named(s, name)));
    Ask::call(tool, arguments)
}

/// "and tomorrow?", "what about Graz?": what was asked before, on another day or at another place.
pub(super) fn after(s: &Sentence, before: &Exchange, now: &Zoned) -> Option<Call> {
    let last = before.calls.iter().find(|call| [NOW, FORECAST].contains(&call.tool.as_str()))?;
    let at = super::behind(
        s,
        0,
        &["and", "what about", "how about", "and what about", "and how about", "and for", "and on"],
    )?;
    let mut asked = Asked::read(s, now.date());
    if asked.place.is_none() && asked.day.is_none() && s.len() > at && s.len() <= at + 3 {
        let name = s.slice(at, s.len());
        if is_named(s, name) && !INDOORS.contains(&s.word(at)) {
            asked = Asked { place: Some(name.to_owned()), taken: (at..s.len()).collect(), ..asked };
        }
    }
    let left = (at..s.len()).filter(|at| !asked.taken.contains(at));
    if asked.taken.is_empty()
        || asked.day == Some(Day::Unknown)
        || !only(s, left, &["in", "for", "on", "at", "the", "then", "then"])
    {
        return None;
    }
    let place = asked.place.or_else(|| last.text("location").map(str::to_owned));
    let same = match last.tool.as_str() {
        NOW => Day::Now,
        _ => Day::Days(last.arguments.get("days").and_then(Value::as_i64).and_then(|days| i32::try_from(days).ok())),
    };
    Some(call(asked.day.or(Some(same)), place))
}

fn call(day: Option<Day>, place: Option<String>) -> Call {
    let mut arguments = Map::new();
    if let Some(place) = place {
        arguments.insert("location".to_owned(), place.into());
    }
    match day {
        Some(Day::Days(days)) => {
            arguments.extend(days.map(|days| ("days".to_owned(), json!(days))));
            (FORECAST, arguments.into())
        }
        _ => (NOW, arguments.into()),
    }
}

/// Whether a name is written as one, or is that of a city that is known.
fn is_named(s: &Sentence, name: &str) -> bool {
    let at = s.tokens.iter().position(|token| s.text[token.start..].starts_with(name));
    name.chars().any(char::is_uppercase) || at.is_some_and(|at| place::zone(s, at).is_some())
}

impl Asked {
    fn read(s: &Sentence, today: Date) -> Self {
        let mut asked = Self::default();
        let mut at = 0;
        while at < s.len() {
            if let Some((count, day)) = day(s, at, today) {
                asked.day = asked.day.or(Some(day));
                asked.taken.extend(at..at + count);
                at += count;
            } else if let Some((lead, count)) = named_place(s, at, today).filter(|_| asked.place.is_none()) {
                asked.place = Some(s.slice(at + lead, at + lead + count).to_owned());
                asked.taken.extend(at..at + lead + count);
                at += lead + count;
            } else {
                at += 1;
            }
        }
        asked
    }
}

/// A place at `at`: the words before its name, and those of the name.
fn named_place(s: &Sentence, at: usize, today: Date) -> Option<(usize, usize)> {
    let free = |at: usize| {
        at < s.len()
            && !ENDS.contains(&s.word(at))
            && ![TOPIC, SKY, OUTSIDE].iter().any(|of| of.contains(&s.word(at)))
            && day(s, at, today).is_none()
    };
    if ["in", "at", "for", "near", "around"].contains(&s.word(at)) {
        let begin = at + 1;
        if begin >= s.len() || INDOORS.contains(&s.word(begin)) || s.word(begin) == "home" || s.word(begin) == "what" {
            return None;
        }
        let count = (begin..s.len()).take(PLACE).take_while(|at| free(*at)).count();
        return (count > 0).then_some((1, count));
    }
    // "Bonn weather", "weather Bonn".
    let big = |at: usize| s.tokens.get(at).is_some_and(|token| s.text[token.start..].starts_with(char::is_uppercase));
    let beside = at > 0 && TOPIC.contains(&s.word(at - 1));
    let count = (at..s.len()).take(3).take_while(|at| free(*at) && big(*at) && !FILLERS.contains(&s.word(*at))).count();
    let before = TOPIC.contains(&s.word(at + count)) && count > 0;
    let known = place::zone(s, at).filter(|(count, _)| beside || TOPIC.contains(&s.word(at + count)));
    match known {
        Some((count, _)) => Some((0, count)),
        None => (count > 0 && (beside || before && !STARTS.contains(&s.word(at)))).then_some((0, count)),
    }
}

/// A day or stretch of days at `at`, with the part of the day behind it.
fn day(s: &Sentence, at: usize, today: Date) -> Option<(usize, Day)> {
    const PARTS: &[&str] = &["morning", "afternoon", "evening", "night", "lunchtime", "noon"];
    let word = s.word(at);
    let part = |count: usize| count + usize::from(PARTS.contains(&s.word(at + count)));
    if ["now", "currently"].contains(&word) || s.has(at, &["right", "now"]) {
        return Some((1 + usize::from(word == "right"), Day::Now));
    }
    if ["today", "todays", "today's", "tonight", "tonight's", "later"].contains(&word) {
        return Some((part(1), Day::Now));
    }
    if word == "this" && PARTS.contains(&s.word(at + 1)) {
        return Some((2, Day::Now));
    }
    if word == "in"
        && let Some((count, _)) = date::month(s, at + 1, today)
    {
        return Some((1 + count, Day::Unknown));
    }
    if ["tomorrow's", "tomorrows"].contains(&word) {
        return Some((1, Day::Days(Some(2))));
    }
    let the = usize::from(["the", "over", "for"].contains(&word))
        + usize::from(s.has(at, &["for", "the"]) || s.has(at, &["over", "the"]));
    if ["next", "coming"].contains(&s.word(at + the)) {
        let from = at + the + 1;
        let few = usize::from(["few", "couple", "several"].contains(&s.word(from)))
            + usize::from(s.has(from, &["couple", "of"]));
        let counted = number::whole(s, from).map(|(count, n)| (count, i32::try_from(n).unwrap_or(MOST_DAYS)));
        let (count, days) = counted.map_or((few, None), |(count, n)| (count, Some((n + 1).clamp(1, MOST_DAYS))));
        if s.word(from + count) == "days" {
            return Some((the + 1 + count + 1, Day::Days(days)));
        }
    }
    if s.has(at, &["this", "week"]) || s.has(at, &["the", "week"]) && s.word(at + 2) != "after" {
        return Some((2, Day::Days(Some(7))));
    }
    let bare = date::weekday_named(word.strip_suffix("'s").unwrap_or(word), true).is_some() && word.ends_with("'s");
    let (count, found) = if bare {
        let sentence = Sentence::whole(word.trim_end_matches("'s"));
        (1, date::day_in(&sentence, 0, today, true)?.1)
    } else {
        date::day_in(s, at, today, true)?
    };
    let days = today.until(found.last).ok()?.get_days();
    match days {
        ..0 => Some((part(count), Day::Unknown)),
        0 => Some((part(count), Day::Now)),
        1..MOST_DAYS => Some((part(count), Day::Days(Some(days + 1)))),
        _ => Some((part(count), Day::Unknown)),
    }
}
