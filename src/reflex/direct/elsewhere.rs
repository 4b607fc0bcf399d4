//! Times in other places: what time it is there, and what a time there is here.

use super::{Reading, pattern};
use crate::{
    sentence::Sentence,
    slots::{clock, place},
};
use jiff::{Zoned, tz::TimeZone};
use serde_json::json;
use text_kit::clock_words;

pub(super) fn read(s: &Sentence, now: &Zoned) -> Option<Reading> {
    const OTHERS: &[&str] = &[
        "remind", "alarm", "timer", "weather", "flight", "train", "book", "add", "event", "trip", "holiday", "flying",
        "fly",
    ];
    if s.mentions(OTHERS) {
        return None;
    }
    let mut places = (0..s.len()).filter_map(|at| place::zone(s, at).map(|(count, zone)| (at, count, zone)));
    let (at, _, zone) = places.next()?;
    if let Some(reading) = converted(s, now, zone) {
        return Some(reading);
    }
    let asks = pattern::any(
        s,
        &[
            "_ what time|hour _",
            "_ what is|was the time _",
            "_ time is it _",
            "the? time in|for _",
            "_ too early|late _",
            "_ early|late there|in|over _",
            "_ awake|asleep|bed|up yet|now|still? _",
            "_ night|day|morning|evening|daytime|dark there|in|over _",
            "_ clock _",
            "_ ok|okay|alright|good|time to ring|call|phone|facetime _",
        ],
    );
    // "la" and "the us" are words of other sentences too.
    let named = !["la", "us", "rio"].contains(&s.word(at))
        || ["in", "for", "at", "about"].contains(&s.word(at.wrapping_sub(1)));
    (asks && named).then(|| Reading::Call("get_current_datetime", json!({"timezone": zone})))
}

/// "2 pm in New York is what here", "if it's 9 am in Tokyo what time is it here".
fn converted(s: &Sentence, now: &Zoned, zone: &str) -> Option<Reading> {
    const HERE: &[&str] = &["here", "our", "us", "home", "mine"];
    const THERE: &[&str] = &["their", "there", "local"];
    let read = |at: usize| clock::clock(s, at, true).map(|(count, clock)| (count, clock.time));
    let at = (0..s.len()).find(|at| {
        let (now, next) = (s.word(*at), s.word(at + 1));
        read(*at).is_some()
            && (["am", "pm", "o'clock"].contains(&next)
                || now.contains(':')
                || ["noon", "midday", "midnight"].contains(&now)
                || ["at", "is"].contains(&s.word(at.wrapping_sub(1))) && now.parse::<u8>().is_ok())
    })?;
    let (count, said) = read(at)?;
    let asks = s.asks || pattern::any(s, &["_ what|which|when|thats|how _"]) || s.mentions(HERE);
    if !asks {
        return None;
    }
    let there = TimeZone::get(zone).ok()?;
    // "2 pm their time", "2 pm in New York": the time is there, unless it is "our 2 pm" or "9 here".
    let behind = (at + count..(at + count + 3).min(s.len())).map(|i| s.word(i));
    let ours = behind.clone().any(|word| HERE.contains(&word)) && !behind.clone().any(|word| THERE.contains(&word));
    let elsewhere = !ours && (s.mentions(HERE) || s.mentions(THERE));
    let (from, to) = if elsewhere { (there, now.time_zone().clone()) } else { (now.time_zone().clone(), there) };
    let day = now.with_time_zone(from.clone()).date();
    let begin = day.to_datetime(said).to_zoned(from).ok()?;
    let end = begin.with_time_zone(to);
    let city = zone.rsplit('/').next().unwrap_or(zone).replace('_', " ");
    let next = match end.date().cmp(&begin.date()) {
        std::cmp::Ordering::Less => ", the day before",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => ", the day after",
    };
    let (first, second) = (clock_words(begin.time()), clock_words(end.time()));
    Some(Reading::Say(match elsewhere {
        true => format!("{first} in {city} is {second} here{next}."),
        false => format!("{first} here is {second} in {city}{next}."),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_elsewhere_are_told() {
        let now: Zoned = "2026-11-23T09:00[Europe/London]".parse().unwrap();
        let mut wrong = vec![];
        for (text, wanted) in [
            ("too early to ring my brother in toronto?", "America/Toronto"),
            ("what time have they got in Sydney", "Australia/Sydney"),
            ("our lass is in vancouver is it too early to ring", "America/Vancouver"),
            (
                "I've a brother in Melbourne and I don't like to wake him, what time have they got there",
                "Australia/Melbourne",
            ),
            ("is it too late to facetime my cousin in melbourne", "Australia/Melbourne"),
            ("call with New York office is 2pm their time, so what's that here", "14:00 in New York is 19:00 here."),
            ("what is 9 am here in Tokyo", "09:00 here is 18:00 in Tokyo."),
            ("book a flight to Tokyo, what time suits", ""),
            ("remember that Anna lives in Paris", ""),
        ] {
            let said = match read(&Sentence::read(text), &now) {
                Some(Reading::Say(say)) => say,
                Some(Reading::Call(_, arguments)) => arguments["timezone"].as_str().unwrap_or_default().to_owned(),
                None => String::new(),
            };
            if said != wanted {
                wrong.push(format!("{text}: {:?}", said));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
