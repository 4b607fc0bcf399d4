//! Recurrences: cron patterns, intervals and single moments.

mod choice;
mod days;
mod time_of_day;
mod words;

pub use choice::Choice;

use crate::{cron, cron::Pattern};
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp, Zoned, tz::TimeZone};
use serde_json::{Map, Value};
use tool::{Clock, Error, Result, When};

/// Maximum length of a recurrence text, in bytes.
const LONGEST: usize = 200;
/// Shortest and longest interval, in milliseconds: a second, and ten years.
const SHORTEST: i64 = 1000;
const FARTHEST: i64 = 3653 * 86_400_000;
/// Counting of missed times stops here; a device may have been off for years.
pub(crate) const COUNTED: u32 = 1000;

/// When a schedule is due. Times are milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recurrence {
    /// A cron pattern of five fields, or six with seconds first.
    Cron {
        /// The fields, separated by one space.
        expression: String,
        /// IANA time zone; `None` for the household's.
        zone: Option<String>,
    },
    /// A fixed interval of elapsed time.
    Every {
        /// The interval.
        ms: i64,
        /// The moment it is counted from.
        anchor: i64,
    },
    /// A single moment.
    Once {
        /// The moment.
        at: i64,
        /// IANA time zone for display; `None` for the household's.
        zone: Option<String>,
    },
}

impl Recurrence {
    /// The first due time after `after`; `household` is the zone if it has none of its own.
    pub fn next_after(&self, after: Timestamp, household: &TimeZone) -> Option<Timestamp> {
        let next = self.compile(household)?.next_after(after.as_millisecond())?;
        Timestamp::from_millisecond(next).ok()
    }

    /// A sentence for people: "every day at 07:00", "every 15 minutes", "once on Friday 20 November at 14:30". `now`
    /// is in the household's zone.
    pub fn text(&self, now: &Zoned) -> String {
        words::describe_recurrence(self, now)
    }

    /// The choices a person makes for it; `None` for one that takes more than them. `now` is in the household's zone.
    pub fn choice(&self, now: &Zoned) -> Option<Choice> {
        Choice::of(self, now)
    }

    /// Compiles it for repeated evaluation; `None` if it cannot be parsed.
    pub(crate) fn compile(&self, household: &TimeZone) -> Option<CompiledRecurrence> {
        Some(match self {
            Self::Cron { expression, zone } => {
                CompiledRecurrence::Cron(Box::new(Pattern::read(expression).ok()?), zone_of(zone.as_deref(), household))
            }
            Self::Every { ms, anchor } => CompiledRecurrence::Every { ms: (*ms).max(SHORTEST), anchor: *anchor },
            Self::Once { at, .. } => CompiledRecurrence::Once(*at),
        })
    }
}

/// A cron pattern in words: "every first Monday at 09:00"; `None` for a text that is none.
pub fn pattern_in_words(text: &str) -> Option<String> {
    let pattern = Pattern::read(text).ok()?;
    Some(words::pattern_in_words(&pattern))
}

/// A zone by name; the household's if there is no name or it is unknown.
pub(crate) fn zone_of(name: Option<&str>, household: &TimeZone) -> TimeZone {
    name.and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(|| household.clone())
}

/// A compiled recurrence. Times are milliseconds since 1970.
#[derive(Debug, Clone)]
pub(crate) enum CompiledRecurrence {
    Cron(Box<Pattern>, TimeZone),
    Every { ms: i64, anchor: i64 },
    Once(i64),
}

impl CompiledRecurrence {
    /// The first due time after `after`.
    pub fn next_after(&self, after: i64) -> Option<i64> {
        match self {
            Self::Cron(pattern, zone) => {
                let after = Timestamp::from_millisecond(after).ok()?;
                Some(pattern.next_after(after, zone)?.as_millisecond())
            }
            Self::Every { ms, anchor } => {
                let passed = after.checked_sub(*anchor)?.div_euclid(*ms);
                anchor.checked_add(passed.checked_add(1)?.checked_mul(*ms)?)
            }
            Self::Once(at) => Some(*at).filter(|at| *at > after),
        }
    }

    /// The last due time up to `until`; `first` is a due time not after it. Takes logarithmic time in the span.
    pub fn latest(&self, first: i64, until: i64) -> i64 {
        let up_to = |after: i64| self.next_after(after).filter(|next| *next <= until);
        // Step back from the end in doubling strides until a due time follows.
        let (mut stride, mut found) = (Some(1000_i64), first);
        while let Some(from) = stride.and_then(|stride| until.checked_sub(stride)).filter(|from| *from > first) {
            if let Some(moment) = up_to(from) {
                found = moment;
                break;
            }
            stride = stride.and_then(|stride| stride.checked_mul(2));
        }
        // Then bisect.
        let mut beyond = until;
        while beyond.saturating_sub(found) > 1 {
            let middle = found + beyond.saturating_sub(found) / 2;
            match up_to(middle) {
                Some(moment) => found = moment,
                None => beyond = middle,
            }
        }
        // The end itself may be due.
        up_to(found).unwrap_or(found)
    }

    /// Counts the due times from `first` up to `until`, at most [`COUNTED`].
    pub fn count(&self, first: i64, until: i64) -> u32 {
        let (mut count, mut at) = (1, first);
        while count < COUNTED
            && let Some(next) = self.next_after(at).filter(|next| *next <= until)
        {
            (count, at) = (count + 1, next);
        }
        count
    }
}

/// Parses a recurrence: a cron pattern (`0 7 * * 1-5`, `@daily`), `every 15 minutes`, `every monday at 8:00`, an ISO
/// duration (`PT15M`), `in 10 minutes`, `tomorrow at 7:00`, an ISO date-time; or an object with a `type` of `cron`,
/// `interval` or `once`. Wall-clock times are in `zone` (an IANA name) or the household's zone.
///
/// # Errors
/// `BadArgs` that shows the correct form, for anything that cannot be parsed, is in the past, or never occurs.
pub fn parse(schedule: &Value, zone: Option<&str>, clock: &dyn Clock) -> Result<Recurrence> {
    let named = |name: &str| {
        let known = TimeZone::get(name.trim()).ok().and_then(|zone| zone.iana_name().map(str::to_owned));
        known.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            Error::bad_args(format!("`{name}` is not a time zone: use a name such as Europe/Vienna"))
        })
    };
    match schedule {
        Value::String(text) => Reader::new(zone.map(named).transpose()?, clock).text(text),
        Value::Object(fields) => {
            let inner =
                ["timezone", "timeZone", "tz"].iter().find_map(|name| fields.get(*name)).and_then(Value::as_str);
            Reader::new(inner.or(zone).map(named).transpose()?, clock).object(fields)
        }
        _ => Err(Error::bad_args(
            "the schedule must be a text such as `0 7 * * 1-5` or `every 15 minutes`, or an object with a `type`",
        )),
    }
}

/// Context for parsing.
struct Reader<'c> {
    zone: Option<String>,
    local: Zoned,
    clock: &'c dyn Clock,
}

impl<'c> Reader<'c> {
    fn new(zone: Option<String>, clock: &'c dyn Clock) -> Self {
        let local = clock.now().to_zoned(zone_of(zone.as_deref(), &clock.zone()));
        Self { zone, local, clock }
    }

    fn text(&self, text: &str) -> Result<Recurrence> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(Error::bad_args(
                "the schedule is too long: write it as `0 7 * * 1-5`, `every 15 minutes` or a date",
            ));
        }
        let lower = text.to_lowercase();
        if let Some(rest) = lower.strip_prefix("in ") {
            return self.once(self.clock.now().as_millisecond().saturating_add(span(rest)?));
        }
        if ["every ", "each ", "from ", "the ", "on ", "daily at "].iter().any(|lead| lower.starts_with(lead))
            && let Some(expression) = days::recurring(&lower)?
        {
            return self.cron(&expression);
        }
        if let Some(rest) = ["every ", "@every ", "each "].iter().find_map(|lead| lower.strip_prefix(lead)) {
            return self.every(span(rest)?);
        }
        if lower == "hourly" || text.starts_with('@') {
            let name = if lower == "hourly" { "@hourly" } else { &lower };
            return self.cron(&cron::normal(name));
        }
        if text.starts_with(['P', 'p']) && lower.bytes().any(|b| b.is_ascii_digit()) {
            return self.every(span(text)?);
        }
        if let Some(rest) = lower.strip_prefix("cron ") {
            return self.cron(&cron::normal(rest));
        }
        if (5..=7).contains(&text.split_whitespace().count()) && !lower.contains(" at ") {
            return self.cron(&cron::normal(text));
        }
        if let Some(at) = words::clock_time(&lower, &self.local)? {
            return self.once(at.timestamp().as_millisecond());
        }
        self.moment(text)
    }

    fn object(&self, fields: &Map<String, Value>) -> Result<Recurrence> {
        let text = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)).and_then(Value::as_str);
        let number = |name: &str| fields.get(name).and_then(Value::as_f64);
        let kind = fields.get("type").or_else(|| fields.get("kind")).and_then(Value::as_str).unwrap_or_default();
        let missing = |what: &str| Error::bad_args(format!("a schedule of the type `{kind}` needs {what}"));
        match kind {
            "cron" => {
                let expression = text(&["expression", "cron", "expr", "pattern"]);
                self.cron(&cron::normal(expression.ok_or_else(|| missing("its pattern as `expression`"))?))
            }
            "interval" | "every" => {
                const UNITS: &[(&str, f64)] = &[
                    ("ms", 1.0),
                    ("everyMs", 1.0),
                    ("seconds", 1e3),
                    ("everySeconds", 1e3),
                    ("minutes", 6e4),
                    ("hours", 3.6e6),
                    ("days", 8.64e7),
                ];
                let by_number: Vec<f64> = UNITS.iter().filter_map(|(name, ms)| Some(number(name)? * ms)).collect();
                let every = match (text(&["every", "interval", "duration"]), by_number.as_slice()) {
                    (Some(every), []) => self.every(span(every.trim().trim_start_matches("every "))?),
                    (None, [_, ..]) => self.every(by_number.iter().sum::<f64>() as i64),
                    _ => Err(missing("one interval: `every` (`15 minutes`, `PT15M`), `seconds`, `minutes` or `hours`")),
                }?;
                match text(&["from", "start"]) {
                    Some(from) => self.counted_from(every, from),
                    None => Ok(every),
                }
            }
            "once" | "at" if number("atMs").is_some() => self.once(number("atMs").unwrap_or_default() as i64),
            "once" | "at" => match text(&["at", "runAt", "time", "date", "dateTime"]) {
                Some(at) => match self.text(at)? {
                    once @ Recurrence::Once { .. } => Ok(once),
                    _ => Err(missing("one moment as `at`")),
                },
                None => Err(missing("its moment as `at`, such as 2026-11-20T14:30")),
            },
            _ => Err(Error::bad_args("a schedule given as an object needs a `type`: cron, interval or once")),
        }
    }

    fn cron(&self, expression: &str) -> Result<Recurrence> {
        Pattern::read(expression)?.check_occurs(self.local.datetime())?;
        Ok(Recurrence::Cron { expression: expression.to_owned(), zone: self.zone.clone() })
    }

    fn every(&self, ms: i64) -> Result<Recurrence> {
        if ms < SHORTEST {
            return Err(Error::bad_args("the interval is shorter than a second: make it longer"));
        }
        if ms > FARTHEST {
            return Err(Error::bad_args("the interval is longer than ten years: make it shorter"));
        }
        Ok(Recurrence::Every { ms, anchor: self.clock.now().as_millisecond() })
    }

    /// An interval whose first time is the moment `from`.
    fn counted_from(&self, every: Recurrence, from: &str) -> Result<Recurrence> {
        match (every, self.text(from)?) {
            (Recurrence::Every { ms, .. }, Recurrence::Once { at, .. }) => {
                Ok(Recurrence::Every { ms, anchor: at.saturating_sub(ms) })
            }
            _ => Err(Error::bad_args("`from` is the moment of the first time, such as 2026-11-20T14:30")),
        }
    }

    fn moment(&self, text: &str) -> Result<Recurrence> {
        let unread = |_| {
            let text: String = text.chars().take(64).collect();
            Error::bad_args(format!(
                "`{text}` is not a schedule: write a cron pattern (`0 7 * * 1-5`), `every 15 minutes`, `in 10 minutes`, \
                 `tomorrow at 7:00`, or a moment such as 2026-11-20T14:30"
            ))
        };
        match When::read(text, self.local.time_zone()).map_err(unread)? {
            When::At(at) => self.once(at.timestamp().as_millisecond()),
            When::Day(day) => {
                Err(Error::bad_args(format!("say at what time on {day}: {day}T09:00 is nine in the morning")))
            }
        }
    }

    fn once(&self, at: i64) -> Result<Recurrence> {
        let now = self.clock.now().as_millisecond();
        if at <= now {
            let now = self.local.strftime("%Y-%m-%d %H:%M");
            return Err(Error::bad_args(format!("that moment has passed (it is {now} now): give a future one")));
        }
        if at - now > 10 * FARTHEST {
            return Err(Error::bad_args("that moment is more than a century away: give one that is nearer"));
        }
        Ok(Recurrence::Once { at, zone: self.zone.clone() })
    }
}

/// A duration in milliseconds: `15 minutes`, `1 hour and 30 minutes`, `2h30m`, `an hour`, `PT15M`. A day is 24 hours.
fn span(text: &str) -> Result<i64> {
    let wrong = || {
        let text: String = text.trim().chars().take(64).collect();
        Error::bad_args(format!("`{text}` is not a duration: write it as `15 minutes`, `2 hours` or `PT15M`"))
    };
    let text = text.trim().to_lowercase().replace(" and ", " ");
    let text = match text.split_once(' ') {
        Some(("a" | "an" | "one", rest)) => format!("1 {rest}"),
        // "every hour"
        None if !text.starts_with(|c: char| c.is_ascii_digit() || c == 'p') => format!("1 {text}"),
        _ => text,
    };
    let span: Span = text.parse().map_err(|_| wrong())?;
    if span.get_months() != 0 || span.get_years() != 0 {
        return Err(Error::bad_args(
            "months and years vary in length: write a cron pattern such as `0 9 1 * *` for 09:00 on the first",
        ));
    }
    let duration: SignedDuration = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    let ms = i64::try_from(duration.as_millis()).map_err(|_| wrong())?;
    if ms > 0 { Ok(ms) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_choices;
