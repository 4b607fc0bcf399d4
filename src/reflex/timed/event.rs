//! Events: "parents evening thurs 17:40, put it in the diary", "Beavers every monday at 6 starting next week".

use super::{
    Request,
    event_words::{BEGINS, BOOKS, COMMANDS, ENDS, EVENINGS, NO_EVENT, REPORTS},
    spans::{self, Is, Span},
    unclear, words,
};
use crate::{
    sentence::Sentence,
    slots::{
        calendar::month_named,
        several,
        when::{self, Hours, When},
    },
};
use jiff::{
    ToSpan, Zoned,
    civil::{Date, DateTime, Weekday},
};
use serde_json::{Map, Value};

/// The event that a sentence puts into the calendar.
pub(crate) fn read(s: &Sentence, now: &Zoned) -> Option<Request> {
    let mut covered = vec![false; s.len()];
    let booked = book(s, &mut covered);
    if s.asks && !s.requests && !booked && !words::asks_for_something(s) {
        return None;
    }
    if !booked && (COMMANDS.contains(&s.word(0)) && !s.has(0, &["put", "in"]) || s.mentions(NO_EVENT)) {
        return None;
    }
    if s.mentions(&[
        "cancel",
        "delete",
        "remove",
        "move",
        "reschedule",
        "changed",
        "moved",
        "shift",
        "list",
        "cancelled",
    ]) {
        return None;
    }
    if !booked && s.mentions(&["not", "never"]) || ["never", "not", "do"].contains(&s.word(0)) || s.mentions(REPORTS) {
        return None;
    }
    let spans = spans::find(s, now, false);
    if spans.is_empty() || spans.iter().any(|span| matches!(span.is, Is::Before(..))) {
        return None;
    }
    let mut times = times(s, &spans, now)?;
    if let Some((words, Some(end))) = unclear::limit(s, now).filter(|_| times.until.is_none() && times.repeat.is_some())
    {
        times.until = unclear::last_day(end, times.starts.iter().min().map(|start| start.date()), now);
        times.beside.extend(words);
    }
    for i in &times.of {
        spans[*i].words.clone().for_each(|at| covered[at] = true);
    }
    times.beside.iter().for_each(|at| covered[*at] = true);
    let (title, location) = title(s, &covered)?;
    if !booked && (!times.has_time || title.1 - title.0 > 6) && !times.is_range {
        return None;
    }
    let text = s.slice(title.0, title.1);
    let text = BEGINS.iter().find_map(|begin| strip(text, begin)).unwrap_or(text);
    if text.is_empty() {
        return None;
    }
    let rest = (0..spans.len()).filter(|i| !times.of.contains(i) && !matches!(spans[*i].is, Is::Length)).count();
    if !booked && rest > 0 && times.repeat.is_some() {
        return None;
    }
    let sure = booked && rest == 0;
    let shared = s.mentions(&["family", "shared", "household", "everyone's", "everybody's"]) && booked;
    let arguments = |start: &DateTime, repeat: Option<&str>| {
        let start = late(start, text, s, &spans, &times);
        let written: Value = match times.has_time {
            true => When::At(start).iso().into(),
            false => start.date().to_string().into(),
        };
        let mut map = Map::from_iter([("title".to_owned(), text.into()), ("startTime".to_owned(), written)]);
        let mut put = |key: &str, value: Option<Value>| value.map(|value| map.insert(key.to_owned(), value));
        put("endTime", times.last.map(|day| day.to_string().into()));
        put("repeat", repeat.map(Value::from));
        put("repeatUntil", times.until.filter(|_| repeat.is_some()).map(|day| day.to_string().into()));
        put("location", location.map(|(from, to)| s.slice(from, to).into()));
        put("shared", shared.then_some(true.into()));
        map
    };
    let mut starts = times.starts.iter().map(|start| arguments(start, times.repeat));
    let mut made = Request::new("add_calendar_event", starts.next()?, sure, "an event");
    made.more = starts.map(|given| ("add_calendar_event", given)).collect();
    // Several are not asked about as one.
    (made.sure || made.more.is_empty()).then_some(made)
}

/// The text behind a beginning, in whatever case.
fn strip<'t>(text: &'t str, begin: &str) -> Option<&'t str> {
    let head = text.get(..begin.len())?;
    let rest = text.get(begin.len()..)?.strip_prefix(' ')?;
    let rest = rest.trim();
    let rest = ["a ", "an ", "the "].iter().find_map(|article| rest.strip_prefix(article)).unwrap_or(rest);
    head.eq_ignore_ascii_case(begin).then_some(rest)
}

/// Whether it names the calendar or asks for an entry; covers those words.
fn book(s: &Sentence, covered: &mut [bool]) -> bool {
    let mut found = false;
    for at in 0..s.len() {
        if BOOKS.contains(&s.word(at)) && at > 0 {
            // "in the family diary", "onto my calendar"
            let from = (at.saturating_sub(4)..at).find(|i| ["in", "on", "onto", "into", "to"].contains(&s.word(*i)));
            let small = |i: usize| {
                [
                    "the",
                    "my",
                    "our",
                    "family",
                    "shared",
                    "household",
                    "a",
                    "everyone's",
                    "kitchen",
                    "everybody's",
                    "wall",
                ]
                .contains(&s.word(i))
            };
            let Some(from) = from.filter(|from| (from + 1..at).all(small) && (at > from + 1 || s.word(at) != "book"))
            else {
                continue;
            };
            (from..=at).for_each(|i| covered[i] = true);
            // "put it", "can you put that"
            let before = (from.saturating_sub(3)..from).find(|i| {
                ["put", "add", "stick", "pop", "stuck", "get", "write", "whack", "bung", "chuck"].contains(&s.word(*i))
            });
            if let Some(before) = before.filter(|before| {
                (before + 1..from).all(|i| ["it", "that", "this", "them", "down", "those"].contains(&s.word(i)))
            }) {
                (before..from).for_each(|i| covered[i] = true);
            }
            found = true;
        }
    }
    for words in ENDS {
        let at = s.len().checked_sub(words.len()).filter(|at| *at > 0 && s.has(*at, words));
        if let Some(at) = at {
            (at..s.len()).for_each(|i| covered[i] = true);
            found = true;
        }
    }
    let begins = [
        &["put", "in"][..],
        &["pencil"],
        &["block", "out"],
        &["book", "me", "in"],
        &["new", "event"],
        &["new", "appointment"],
        &["block", "off"],
        &["put", "me", "down"],
    ];
    found || begins.iter().any(|words| s.has(0, words))
}

struct Times {
    of: Vec<usize>,
    /// Words beside them that belong to them.
    beside: Vec<usize>,
    starts: Vec<DateTime>,
    has_time: bool,
    repeat: Option<&'static str>,
    until: Option<Date>,
    /// The last of several whole days.
    last: Option<Date>,
    is_range: bool,
}

fn times(s: &Sentence, spans: &[Span], now: &Zoned) -> Option<Times> {
    let before = |i: usize| s.word(spans[i].words.start.wrapping_sub(1)).to_owned();
    let led = |i: usize, words: &[&str]| words.contains(&&*before(i)) || words.contains(&s.word(spans[i].words.start));
    let day_of = |i: usize| match &spans[i].is {
        Is::Moment(phrase) if phrase.has_day && !phrase.has_time && !phrase.has_part => match phrase.when {
            When::Day(day) | When::Week(day) | When::Month(day) => Some(day),
            _ => None,
        },
        _ => None,
    };
    let mut beside = vec![];
    if let Some((i, first, last)) = spans.iter().enumerate().find_map(|(i, span)| match span.is {
        Is::Days(first, last) => Some((i, first, last)),
        _ => None,
    }) {
        let starts = vec![first.at(0, 0, 0, 0)];
        let (has_time, is_range) = (false, true);
        return Some(Times {
            of: vec![i],
            beside,
            starts,
            has_time,
            repeat: None,
            until: None,
            last: Some(last),
            is_range,
        });
    }
    let starting = (0..spans.len())
        .find(|i| day_of(*i).is_some() && led(*i, &["starting", "from", "begins", "beginning", "starts"]));
    let ending = (0..spans.len()).find(|i| day_of(*i).is_some() && led(*i, &["until", "till", "to"]));
    let recurring = (0..spans.len()).any(|i| matches!(spans[i].is, Is::Every(..) | Is::Fortnightly(_)));
    if recurring {
        let kept: Vec<usize> = (0..spans.len()).filter(|i| Some(*i) != starting && Some(*i) != ending).collect();
        let some: Vec<Span> = kept.iter().map(|i| spans[*i].clone()).collect();
        let meant = spans::meant(s, &some, now, false, 0)?;
        let mut of: Vec<usize> = meant.of.iter().map(|i| kept[*i]).collect();
        let from = starting.and_then(day_of).unwrap_or(now.date());
        let until = ending.and_then(day_of);
        of.extend(starting.into_iter().chain(ending));
        for i in starting.into_iter().chain(ending) {
            beside.extend(spans[i].words.start.checked_sub(1));
        }
        let (starts, repeat) = firsts(&meant.schedule, from, now)?;
        let has_time = meant.has_time;
        return Some(Times { of, beside, starts, has_time, repeat: Some(repeat), until, last: None, is_range: false });
    }
    // "from the 18th to the 21st of december"
    if let (Some(last), Some(first)) = (ending, ending.and_then(|i| i.checked_sub(1)))
        && let (Some(begin), Some(end)) = (day_of(first), day_of(last))
        && spans[first].words.end + 1 >= spans[last].words.start.min(spans[first].words.end + 1)
        && spans[last].words.start <= spans[first].words.end + 1
    {
        let named = (spans[first].words.start..spans[first].words.end).count() > 2;
        let begin = if begin > end || !named && begin.month() != end.month() {
            let same = Date::new(end.year(), end.month(), begin.day()).ok()?;
            if same > end { same.checked_sub(1.month()).ok()? } else { same }
        } else {
            begin
        };
        beside.extend(
            [spans[first].words.start.wrapping_sub(1), spans[last].words.start.wrapping_sub(1)]
                .iter()
                .filter(|at| ["from", "to", "until", "-"].contains(&s.word(**at))),
        );
        return Some(Times {
            of: vec![first, last],
            beside,
            starts: vec![begin.at(0, 0, 0, 0)],
            has_time: false,
            repeat: None,
            until: None,
            last: Some(end),
            is_range: true,
        });
    }
    if !spans.iter().any(|span| matches!(&span.is, Is::Moment(phrase) if phrase.has_day)) {
        return None;
    }
    let meant = spans::meant(s, spans, now, false, 0)?;
    let start = spans::moment(&meant.schedule)?;
    let (of, has_time) = (meant.of, meant.has_time);
    Some(Times { of, beside, starts: vec![start], has_time, repeat: None, until: None, last: None, is_range: false })
}

/// The first occurrences of a recurrence, and how it repeats.
pub(super) fn firsts(schedule: &Value, from: Date, now: &Zoned) -> Option<(Vec<DateTime>, &'static str)> {
    if let Some(start) = schedule.get("from").and_then(Value::as_str) {
        return Some((vec![start.parse().ok()?], "fortnightly"));
    }
    let parts: Vec<&str> = schedule.as_str()?.split(' ').collect();
    let [minute, hour, day, month, weekday] = parts[..] else { return None };
    let (minute, hour): (i8, i8) = (minute.parse().ok()?, hour.parse().ok()?);
    let first = |fits: &dyn Fn(Date) -> bool| {
        let days = (0..800).filter_map(|n: i64| from.checked_add(n.days()).ok());
        days.map(|day| day.at(hour, minute, 0, 0)).find(|at| *at > now.datetime() && fits(at.date()))
    };
    let number = |day: Date| day.weekday().to_sunday_zero_offset();
    let is = |text: &str, n: i8| text.parse() == Ok(n);
    Some(match (day, month, weekday) {
        ("*", "*", "*") => (vec![first(&|_| true)?], "daily"),
        ("*", "*", "1-5") => (vec![first(&|day| (1..6).contains(&number(day)))?], "weekdays"),
        ("*", "*", days) if days.contains('#') => {
            let (wanted, nth) = days.split_once('#')?;
            let nth: i8 = nth.parse().ok()?;
            let weekday = Weekday::from_sunday_zero_offset(wanted.parse().ok()?).ok()?;
            (vec![first(&|day| day.nth_weekday_of_month(nth, weekday).is_ok_and(|it| it == day))?], "monthlyWeekday")
        }
        ("*", "*", days) => {
            let all = days.split(',').map(|wanted| first(&|day| is(wanted, number(day))));
            let mut all: Vec<DateTime> = all.collect::<Option<_>>()?;
            all.sort();
            (all, "weekly")
        }
        (wanted, "*", "*") => (vec![first(&|day| is(wanted, day.day()))?], "monthly"),
        (wanted, month, "*") => (vec![first(&|day| is(wanted, day.day()) && is(month, day.month()))?], "yearly"),
        _ => return None,
    })
}

/// The start in the evening, if the hour alone leaves it open and the title tells: "date night at 7.30"; and clubs at 6 are.
fn late(start: &DateTime, title: &str, s: &Sentence, spans: &[Span], times: &Times) -> DateTime {
    let clock: String =
        times.of.iter().map(|i| s.slice(spans[*i].words.start, spans[*i].words.end).to_lowercase() + " ").collect();
    let said = ["am", "morning", "a.m", "noon"].iter().any(|word| clock.contains(word))
        || clock.split_whitespace().any(|word| word.starts_with('0'));
    let evening = title.to_lowercase().split(|c: char| !c.is_alphabetic()).any(|word| EVENINGS.contains(&word))
        || s.mentions(&["evening", "night", "babysitting"]);
    let open = times.has_time && !said;
    const MORNINGS: &[&str] = &[
        "run",
        "swim",
        "swimming",
        "flight",
        "train",
        "gym",
        "breakfast",
        "delivery",
        "surgery",
        "work",
        "shift",
        "school",
        "fasting",
    ];
    let early = title.to_lowercase().split(|c: char| !c.is_alphabetic()).any(|word| MORNINGS.contains(&word));
    let late = open
        && !early
        && (start.hour() == 7
            || start.hour() == 6 && times.repeat.is_some()
            || evening && (6..12).contains(&start.hour()));
    if late { start.checked_add(12.hours()).unwrap_or(*start) } else { *start }
}

type Run = (usize, usize);

/// Whether a number stands there: a time that nothing understood is no place.
fn numbered(s: &Sentence, (from, to): Run) -> bool {
    to - from == 1 && s.word(from).starts_with(|c: char| c.is_ascii_digit())
}

/// The title, and the location behind "at".
fn title(s: &Sentence, covered: &[bool]) -> Option<(Run, Option<Run>)> {
    let runs = words::runs(s, covered);
    let mut location = None;
    let mut titles = vec![];
    for (i, run) in runs.iter().enumerate() {
        let places = ["at", "in"].contains(&s.word(run.0)) && i > 0;
        if places
            && let Some(place) = words::trimmed(s, (run.0 + 1, run.1), true)
                .filter(|place| place.1 - place.0 <= 5 && !numbered(s, *place))
        {
            location = location.or(Some(place));
            continue;
        }
        const BEGIN: &[&str] = &[
            "book", "put", "add", "schedule", "block", "pencil", "me", "in", "out", "can", "you", "please", "stick",
            "pop",
        ];
        let says = (run.0..run.1).any(|at| !BEGIN.contains(&s.word(at)));
        titles.extend(
            words::trimmed(s, *run, false)
                .filter(|_| says)
                .filter(|(from, to)| s.slice(*from, *to).chars().count() > 2),
        );
    }
    titles.first().map(|title| (*title, location))
}

/// The day that a phrase names, for looks.
pub(crate) fn day_at(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, Date, Date)> {
    if let Some(found) = several::days(s, at, now.date()).or_else(|| month_at(s, at, now)) {
        return Some(found);
    }
    let phrase = when::spoken(s, at, now, Hours { bare: false, early: false, slot: false })?;
    match phrase.when {
        When::At(moment) => Some((phrase.count, moment.date(), moment.date())),
        When::Day(day) | When::Week(day) | When::Month(day) | When::Year(day) => Some((phrase.count, day, phrase.last)),
    }
}

/// "in march", "during next december": the coming month of that name, this month included.
fn month_at(s: &Sentence, at: usize, now: &Zoned) -> Option<(usize, Date, Date)> {
    let lead = ["in", "during", "for", "this", "next", "coming"].contains(&s.word(at)).then_some(1)?;
    let lead = lead + usize::from(["this", "next", "coming"].contains(&s.word(at + lead)));
    let month = month_named(s.word(at + lead))?;
    let year = s.word(at + lead + 1).parse::<i16>().ok().filter(|year| (1900..2200).contains(year));
    let today = now.date();
    let coming = if month < today.month() { today.year() + 1 } else { today.year() };
    let first = Date::new(year.unwrap_or(coming), month, 1).ok()?;
    Some((lead + 1 + usize::from(year.is_some()), first, first.last_of_month()))
}
