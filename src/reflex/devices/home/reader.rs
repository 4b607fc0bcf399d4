//! What a command is made of: the words, what they name, values, states and times.

use super::grammar::{BEFORE_NAMES, COLORS, HIDDEN, LEADS, LEVELS, MODES, TIMED, in_command};
use crate::{sentence::Sentence, slots::number};
use things::{Home, Scale, Span};

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Set {
    Percent(f64),
    /// With the scale, where it is said.
    Degrees(f64, Option<Scale>),
    Bare(f64),
    Color(String),
    Mode(String),
}

/// A sentence with what it names and the values in it.
pub(super) struct Reader<'a> {
    pub s: &'a Sentence,
    pub home: &'a Home,
    /// The words; a verb that is also a kind is marked.
    pub words: Vec<String>,
    /// The first word that is no lead.
    pub first: usize,
    pub spans: Vec<Span>,
    pub values: Vec<(usize, usize, Set)>,
    /// "I want …", "make sure that … is …".
    pub wishes: bool,
}

impl<'a> Reader<'a> {
    pub fn of(s: &'a Sentence, home: &'a Home, goes_on: bool) -> Option<Self> {
        let mut words: Vec<String> = s.tokens.iter().map(|token| token.word.clone()).collect();
        let mut first = (0..words.len()).find(|at| !LEADS.contains(&words[*at].as_str()))?;
        let mut wishes = false;
        for lead in [&["i", "want"][..], &["i", "would", "like"], &["make", "sure"], &["ensure"]] {
            if s.has(first, lead) {
                words[first..first + lead.len()].iter_mut().for_each(|word| *word = "the".to_owned());
                (first, wishes) = (first + lead.len(), true);
                break;
            }
        }
        if wishes {
            words
                .iter_mut()
                .filter(|word| ["is", "are", "be", "that"].contains(&word.as_str()))
                .for_each(|word| *word = "the".to_owned());
        }
        // "Can the lights be turned off?" asks for it.
        if is_passive(s) {
            for word in &mut words {
                let verb = match word.as_str() {
                    "be" => "the",
                    "turned" => "turn",
                    "switched" => "switch",
                    "changed" => "change",
                    "dimmed" => "dim",
                    "closed" => "close",
                    "locked" => "lock",
                    _ => continue,
                };
                verb.clone_into(word);
            }
        }
        // "70 F": a letter by itself is no word of commands.
        for at in 1..words.len() {
            let after = words[at - 1].as_str();
            let counts = ["degrees", "degree", "°"].contains(&after) || after.starts_with(|c: char| c.is_ascii_digit());
            let scale = match words[at].as_str() {
                "c" if counts => "celsius",
                "f" if counts => "fahrenheit",
                _ => continue,
            };
            scale.clone_into(&mut words[at]);
        }
        let next = words.get(first + 1).map(String::as_str).unwrap_or_default();
        let is_verb = match words.get(first).map(String::as_str) {
            Some("lock") => !["on", "off"].contains(&next),
            Some("switch") => !next.is_empty(),
            Some("light") => words.iter().any(|word| word == "up"),
            Some("vacuum" | "hoover") => !next.is_empty() && !["on", "off"].contains(&next),
            _ => false,
        };
        if is_verb {
            words[first].insert(0, HIDDEN);
        }
        // What a "TV show" is played on is not said.
        for at in 1..words.len() {
            if ["show", "shows"].contains(&words[at].as_str()) && ["tv", "television"].contains(&words[at - 1].as_str())
            {
                "the".clone_into(&mut words[at - 1]);
            }
        }
        let said: Vec<&str> = words.iter().map(String::as_str).collect();
        // "Timer" is no slip of "Dinner time".
        if said.iter().any(|word| ELSEWHERE.contains(word)) {
            let exact = home.scan(&said, &in_command, &|_| true, 0);
            let named = |at: usize| exact.iter().any(|span| (span.at..span.end).contains(&at));
            if (0..said.len()).any(|at| ELSEWHERE.contains(&said[at]) && !named(at)) {
                return None;
            }
        }
        let fits = |at: usize| home.get(at).is_controlled();
        let known = |spans: &[Span]| {
            let named = |at: usize| spans.iter().any(|span| (span.at..span.end).contains(&at));
            (0..said.len()).all(|at| named(at) || in_command(said[at]))
        };
        // What is only read is named too where nothing else is: the answer says why it cannot be switched.
        let mut spans = home.scan(&said, &in_command, &fits, 2);
        if !known(&spans) {
            spans = home.scan(&said, &in_command, &|_| true, 2);
        }
        let all_known = known(&spans);
        let mut reader = Self { s, home, words: words.clone(), first, spans, values: vec![], wishes };
        reader.values = reader.find_values();
        let about = !reader.spans.is_empty() || goes_on || reader.is_bare();
        (all_known && about).then_some(reader)
    }

    pub fn is_named(&self, at: usize) -> bool {
        self.spans.iter().any(|span| (span.at..span.end).contains(&at))
    }
    pub fn is_value(&self, at: usize) -> bool {
        self.values.iter().any(|(from, to, _)| (*from..*to).contains(&at))
    }
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.trim_start_matches(HIDDEN))
    }
    /// Whether a word is said, outside of names.
    pub fn has(&self, words: &[&str]) -> bool {
        (0..self.words.len()).any(|at| !self.is_named(at) && words.contains(&self.word(at)))
    }
    /// Whether the first word is one of these, or the last after what it is about: "tv pause".
    pub fn begins(&self, words: &[&str]) -> bool {
        let is = |at: usize| words.contains(&self.word(at)) && !self.is_named(at);
        let last = self.words.len().saturating_sub(1);
        is(self.first) || self.after_names().is_some_and(|after| is(last) || is(after))
    }
    /// The word after the names, where the sentence begins with them: "in the kitchen", "all of my lights".
    pub fn after_names(&self) -> Option<usize> {
        let passed = |at: &usize| self.is_named(*at) || BEFORE_NAMES.contains(&self.word(*at));
        let after = (self.first..self.words.len()).find(|at| !passed(at)).unwrap_or(self.words.len());
        self.spans.first().filter(|span| span.at < after)?;
        Some(after)
    }
    /// Media, brightness and warmth may be told without saying of what.
    pub fn is_bare(&self) -> bool {
        const BARE: &[&str] = &[
            "volume",
            "louder",
            "quieter",
            "softer",
            "brightness",
            "brighter",
            "darker",
            "dimmer",
            "warmer",
            "hotter",
            "cooler",
            "colder",
            "skip",
            "pause",
            "resume",
            "unpause",
            "next",
            "previous",
            "mute",
            "unmute",
            "temperature",
            "temp",
            "thermostat",
            "play",
            "illuminate",
            "replay",
        ];
        self.has(BARE) || self.words[self.first].starts_with(HIDDEN) && self.word(self.first) == "light"
    }
    pub fn is_here(&self) -> bool {
        let mine = |at: usize| {
            ["my", "our", "the", "this"].contains(&self.word(at))
                && ["room", "space", "area"].contains(&self.word(at + 1))
                && !self.is_named(at + 1)
        };
        self.has(&["here"]) || (0..self.words.len()).any(mine)
    }

    fn find_values(&self) -> Vec<(usize, usize, Set)> {
        let mut found = vec![];
        let mut at = 0;
        while at < self.words.len() {
            let word = self.word(at);
            if self.is_named(at) {
                at += 1;
                continue;
            }
            if let Some((count, n)) = number::number(self.s, at).filter(|(_, n)| n.is_finite()) {
                let unit = self.word(at + count);
                let (more, set) = match unit {
                    "%" | "percent" => (1, Set::Percent(n)),
                    "degrees" | "degree" | "°" => {
                        let scale = Scale::of(self.word(at + count + 1));
                        (1 + usize::from(scale.is_some()), Set::Degrees(n, scale))
                    }
                    "celsius" | "fahrenheit" => (1, Set::Degrees(n, Scale::of(unit))),
                    _ => (0, Set::Bare(n)),
                };
                // "all but one": a small word is no value; "a" neither.
                let digits = !["a", "an", "one", "half"].contains(&word) || more > 0;
                let to = at > 0
                    && ["to", "at", "volume", "brightness", "temperature", "position", "level"]
                        .contains(&self.word(at - 1));
                // "on at 7" is a time, "set it at 40" is not.
                let to = to && (self.word(at - 1) != "at" || self.has(SETTING));
                let last = at + count == self.words.len();
                let named = at > 0 && self.is_named(at - 1);
                let bright = self.word(at + count) == "brightness";
                if digits && (more > 0 || to || last && named || bright) {
                    found.push((at, at + count + more, set));
                    at += count + more;
                    continue;
                }
            }
            if let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == word)
                && !["past", "an", "hour"].contains(&self.word(at + 1))
            {
                found.push((at, at + 1, Set::Percent(f64::from(*level))));
            } else if COLORS.contains(&word) {
                found.push((at, at + 1, Set::Color(word.to_owned())));
            } else if MODES.contains(&word) && at > self.first && ["to", "in", "on"].contains(&self.word(at - 1)) {
                found.push((at, at + 1, Set::Mode(word.to_owned())));
            }
            at += 1;
        }
        found
    }

    /// "on" and "off" where they are states, and not "on the first floor".
    pub fn states(&self) -> Vec<bool> {
        let is_place = |at: usize| {
            let next = at + 1;
            let names = self.is_named(next) || ["the", "my", "our", "this"].contains(&self.word(next));
            names && (at != self.first + 1 || self.is_named(self.first))
        };
        let state = |at: usize, strict: bool| match self.word(at) {
            "on" if !strict || !is_place(at) => Some(true),
            "off" if !["to", "work"].contains(&self.word(at + 1)) || self.is_named(at + 1) => Some(false),
            "out" => Some(false),
            _ => None,
        };
        let all = |strict: bool| -> Vec<bool> {
            (0..self.words.len()).filter(|at| !self.is_named(*at)).filter_map(|at| state(at, strict)).collect()
        };
        // "turn the lights on upstairs": where no other word is one, it is.
        let strictly = all(true);
        if strictly.is_empty() { all(false) } else { strictly }
    }

    /// Whether a word begins or is a time: "for ten minutes", "every day"; not "every light", "in the kitchen".
    pub fn is_timed(&self, at: usize) -> bool {
        const DAYS: &[&str] =
            &["day", "morning", "evening", "night", "afternoon", "hour", "week", "weekday", "weekend"];
        let next = self.word(at + 1);
        match self.word(at) {
            "for" | "in" | "at" | "after" => is_time(next, self.word(at + 2)),
            "every" | "each" => next.ends_with("day") || DAYS.contains(&next),
            word => word.starts_with(|c: char| c.is_ascii_digit()) || TIMED.contains(&word),
        }
    }
}

/// Whether a sentence asks whether something can be done, as in "could the lights be dimmed?".
pub(super) fn is_passive(s: &Sentence) -> bool {
    ["can", "could", "would"].contains(&s.word(0)) && s.mentions(&["be"])
}

/// What other sentences are about, unless a thing is called so.
const ELSEWHERE: &[&str] = &[
    "timer",
    "timers",
    "reminder",
    "reminders",
    "list",
    "lists",
    "note",
    "notes",
    "calendar",
    "event",
    "events",
    "meeting",
    "task",
    "tasks",
    "todo",
    "message",
    "email",
];

/// Words that set a value: a bare number after "at" is one then.
const SETTING: &[&str] = &["set", "put", "dim", "keep", "volume", "brightness", "temperature", "position", "speed"];

/// "for ten minutes", "at seven", "in an hour"; not "in the kitchen".
fn is_time(next: &str, after: &str) -> bool {
    const TIME: &[&str] = &[
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen",
        "twenty", "thirty", "forty", "fifty", "half", "quarter", "noon", "midnight", "midday", "night",
    ];
    let an = ["a", "an", "the"].contains(&next)
        && ["minute", "second", "hour", "day", "couple", "morning", "evening", "afternoon", "quarter", "half", "week"]
            .contains(&after);
    TIME.contains(&next) || an
}
