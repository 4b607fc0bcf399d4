//! Sentences about times, read by their parts: a word that asks for a reminder, an alarm, a timer or an event, a time
//! anywhere in the sentence, and the rest as what it is about. For sentences that no template fits.

mod event;
mod event_words;
mod look;
mod remind;
mod spans;
mod switching;
mod timer;
mod unclear;
mod words;

use crate::{
    classification::{CALLED_OFF, Classification, Stage, unknown},
    classify::Classifier,
    sentence::Sentence,
    slots::called_off,
    stance,
};
use jiff::{Zoned, civil::Date};
use serde_json::{Map, Value};
use switching::Switch;
use text_kit::day_words;

/// Longer texts say too much.
const MOST_WORDS: usize = 60;

/// A call that the parts of a sentence make.
pub(crate) struct Request {
    pub tool: &'static str,
    pub arguments: Map<String, Value>,
    /// Further calls of the same sentence.
    pub more: Vec<(&'static str, Map<String, Value>)>,
    /// Whether it is done without a question.
    pub sure: bool,
    pub why: &'static str,
}

impl Request {
    fn new(tool: &'static str, arguments: Map<String, Value>, sure: bool, why: &'static str) -> Self {
        Self { tool, arguments, more: vec![], sure, why }
    }
}

impl Classifier<'_> {
    /// The reminder, alarm, timer, event or look that a sentence asks for by its parts.
    pub fn by_parts(&self, s: &Sentence) -> Option<Classification> {
        if s.len() < 2 || s.len() > MOST_WORDS {
            return None;
        }
        if called_off::rings_not(s) {
            let say = "I set nothing. To cancel one, say which: “cancel my alarm”, “cancel the reminder to call mum”.";
            return Some(Classification { stage: Stage::Plainly, ..unknown(say.to_owned(), "nothing is to ring") });
        }
        // Which event is meant cannot be told by its title: one of another day may have the same. Shown ones are told in `talkback`.
        if let Some(off) = called_off::read(s, self.now) {
            let look = off.days.filter(|(first, last)| first == last).map_or_else(
                || "show my calendar".to_owned(),
                |(day, _)| format!("what's on {}", day_words(day, self.now.date())),
            );
            let title = text_kit::truncate(&off.title, 60);
            let say =
                format!("I changed nothing. If “{title}” is in your calendar, say “{look}” and then “delete the …”.");
            return Some(Classification { stage: Stage::Plainly, ..unknown(say, CALLED_OFF) });
        }
        if let Some(mended) = unclear::mended(s, self.now) {
            return self.by_parts(&mended);
        }
        let switch = switching::read(s, &self.devices, self.now).filter(|_| (self.risk)("gpio_write").is_some());
        let said = match &switch {
            Some(Switch::Say(say)) => Some(say.clone()),
            Some(Switch::Plan(_)) => None,
            None => unclear::answer(s, self.now),
        };
        if let Some(say) = said {
            return Some(Classification { stage: Stage::Plainly, ..unknown(say, "a time that cannot be kept") });
        }
        let read = if let Some(Switch::Plan(request)) = switch {
            request
        } else if stance::only_asks(s) && !words::asks_for_something(s) {
            look::read(s, self.now)?
        } else {
            look::read(s, self.now)
                .or_else(|| remind::read(s, self.now))
                .or_else(|| timer::read(s))
                .or_else(|| event::read(s, self.now))?
        };
        (self.risk)(read.tool)?;
        let why = format!("by its parts: {}", read.why);
        if !read.sure && read.more.is_empty() {
            let last = read.arguments.get("endTime").and_then(Value::as_str).and_then(|day| day.parse::<Date>().ok());
            let repeat = read.arguments.get("repeat").and_then(Value::as_str).map(str::to_owned);
            let asked = self.changing(read.tool, read.arguments, None, s, 0.9, &why);
            return Some(match (repeat, last) {
                (Some(repeat), _) => Classification { say: asked.say.map(|say| repeated(&say, &repeat)), ..asked },
                (None, Some(last)) => {
                    let until = format!(" until {}? Say", day_words(last, self.now.date()).trim_start_matches("on "));
                    Classification { say: asked.say.map(|say| say.replace("? Say", &until)), ..asked }
                }
                (None, None) => asked,
            });
        }
        Some(
            Classification {
                tool: Some(read.tool.to_owned()),
                arguments: Value::Object(read.arguments),
                more: read.more.into_iter().map(|(tool, given)| (tool.to_owned(), Value::Object(given))).collect(),
                stage: Stage::Meaning,
                confidence: 0.95,
                ..unknown(String::new(), &why)
            }
            .speechless(),
        )
    }
}

/// Whether a sentence names the day of its time.
pub(crate) fn names_a_day(s: &Sentence, now: &Zoned) -> bool {
    spans::find(s, now, false).iter().any(spans::Span::names_day)
}

/// A question about an event, with how it repeats.
fn repeated(question: &str, repeat: &str) -> String {
    let often = match repeat {
        "daily" => "every day",
        "weekdays" => "and every day from Monday to Friday",
        "weekly" => "and every week from then",
        "fortnightly" => "and every two weeks from then",
        "monthly" | "monthlyWeekday" => "and every month from then",
        _ => "and every year from then",
    };
    question.replace("? Say", &format!(" {often}? Say"))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_said;
