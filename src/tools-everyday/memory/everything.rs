//! `search_everything`: one ranked list over all families.

use super::sources::{self, Asked, Kind};
use jiff::{Timestamp, tz::TimeZone};
use memory::{Fact, Memories, Question, masked};
use text_kit::{More, counted_one, listing, truncate};
use tool::{Label, When, prelude::*};

/// The default and the largest limit.
pub(super) const PAGE: (u32, u32) = (10, 50);
/// How many memories are looked at for each result that is asked for.
const CONSIDERED: usize = 2;
/// How many words are looked up in records.
const SEARCHED: usize = 4;
const SNIPPET: usize = 200;
const TITLE: usize = 80;
/// How many results a sentence names.
const NAMED: usize = 5;
/// The lowest relevance of a result.
const LEAST: f32 = 0.3;

/// Search memories, contacts, calendar, tasks, notes, expenses, bookmarks, own tables and files at once, best match first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchEverything {
    /// Words to look for, or a question.
    query: String,
    /// Only these kinds; all where it is left out.
    #[serde(default)]
    kinds: Vec<Kind>,
    /// Only results dated at or after this date or time: of an event its start, of a task its due date, else its creation.
    since: Option<String>,
    /// Only results dated before the end of this date, or at or before this time.
    until: Option<String>,
    limit: Option<u32>,
}

struct Hit {
    relevance: f32,
    label: Label,
    view: Value,
}

/// A span of time; either end may be open.
#[derive(Clone)]
struct Span {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    zone: TimeZone,
}

impl Span {
    fn read(args: &SearchEverything, zone: TimeZone) -> Result<Self> {
        let bound = |text: &Option<String>, end: bool| -> Result<Option<Timestamp>> {
            let Some(text) = text.as_deref().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
            instant(text, &zone, end).map(Some).ok_or_else(|| {
                Error::bad_args(format!(
                    "cannot read the time {}: pass a date such as 2026-03-01",
                    records::quote(text)
                ))
            })
        };
        let (since, until) = (bound(&args.since, false)?, bound(&args.until, true)?);
        if since.zip(until).is_some_and(|(since, until)| since > until) {
            return Err(Error::bad_args("`since` is after `until`: nothing lies between them"));
        }
        Ok(Self { since, until, zone })
    }

    fn has_moment(&self, at: Option<Timestamp>) -> bool {
        let (since, until) = (self.since, self.until);
        at.is_none_or(|at| since.is_none_or(|since| at >= since) && until.is_none_or(|until| at <= until))
    }

    fn has(&self, date: Option<&str>) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        // Spans of days are within if a part of them is.
        let at = |end| date.and_then(|date| instant(date, &self.zone, end));
        let (Some(start), Some(end)) = (at(false), at(true)) else { return false };
        self.since.is_none_or(|since| end >= since) && self.until.is_none_or(|until| start <= until)
    }
}

/// The time of a stored or written text; of a day its first or last moment.
fn instant(text: &str, zone: &TimeZone, end: bool) -> Option<Timestamp> {
    let when = When::read(text, zone).ok()?;
    let zoned = match &when {
        When::Day(day) if end => day.to_datetime(jiff::civil::Time::MAX).to_zoned(zone.clone()).ok()?,
        _ => when.start(zone).ok()?,
    };
    Some(zoned.timestamp())
}

pub(super) async fn search_everything(memories: Memories, cx: Cx, args: SearchEverything) -> Result<Output> {
    let query = args.query.trim();
    if query.is_empty() {
        return Err(Error::bad_args("the query is empty: pass words to search for"));
    }
    let limit = args.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let zone = cx.ports().clock.zone();
    let span = Span::read(&args, zone.clone())?;
    let wants = |kind: Kind| args.kinds.is_empty() || args.kinds.contains(&kind);
    let question = Question::new(query);
    let mut hits = vec![];
    let (mut candidates, mut more) = (vec![], false);
    if wants(Kind::Memory) {
        let (within, most) = (span.clone(), limit * CONSIDERED);
        let created = move |ms: u64| {
            within.has_moment(i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()))
        };
        let found = memories.candidates_of(&cx, (query, &question), most, created).await?;
        (candidates, more) = (found.found, found.cut);
    }
    // Those left out are less relevant than the others.
    let last = candidates.last().map(|it| Fact { text: it.memory.content.clone(), similarity: it.similarity });
    more &= last.is_some_and(|last| question.relevance(&last) >= LEAST);
    for candidate in candidates {
        let it = candidate.memory;
        let fact = Fact { text: it.content, similarity: candidate.similarity };
        let created = records::iso(i64::try_from(it.created_ms).unwrap_or(0), &zone);
        let snippet = masked(&fact.text, query);
        let why = why(&question, &fact.text, candidate.similarity);
        let view = view((Kind::Memory, &it.id.to_string()), (&snippet, &snippet), Some(created), why);
        hits.push(Hit { relevance: question.relevance(&fact), label: candidate.label, view });
    }
    let words = question.search_words(SEARCHED);
    let now = cx.ports().clock.local();
    let asked = Asked { words: &words, past: true, kinds: &args.kinds, now, most: limit as u32, since: span.since };
    let found = sources::search(&cx, &asked).await;
    more |= found.cut;
    for record in found.records {
        let text = record.facts.iter().max_by(|a, b| question.overlap(a).total_cmp(&question.overlap(b)));
        let text = text.unwrap_or(&record.title);
        let all = Fact { text: [&record.title[..], &record.facts.join(" ")].join(" "), similarity: None };
        let (title, snippet) = (masked(&record.title, query), masked(text, query));
        let why = why(&question, &all.text, None);
        let view = view((record.kind, &record.id), (&title, &snippet), record.date, why);
        hits.push(Hit { relevance: question.relevance(&all), label: Label::Own, view });
    }
    hits.retain(|hit| hit.relevance >= LEAST && span.has(hit.view["date"].as_str()));
    hits.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    more |= hits.len() > limit;
    hits.truncate(limit);
    hits.iter().for_each(|hit| cx.taint(hit.label));
    let found: Vec<Value> = hits.into_iter().map(|hit| hit.view).collect();
    let sentence = sentence(&found, query);
    let content = json!({"count": found.len(), "hasMore": more, "results": found});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

/// Why a text was found: the words it shares with the question, and whether its meaning is similar.
fn why(question: &Question, text: &str, similarity: Option<f32>) -> String {
    let words = question.shared_words(text);
    match (words.is_empty(), similarity.is_some_and(|similarity| similarity >= LEAST)) {
        (true, _) => "similar meaning".to_owned(),
        (false, true) => format!("similar meaning, same words: {}", words.join(", ")),
        (false, false) => format!("same words: {}", words.join(", ")),
    }
}

fn view((kind, id): (Kind, &str), (title, snippet): (&str, &str), date: Option<String>, why: String) -> Value {
    let (title, snippet) = (truncate(title, TITLE), truncate(snippet, SNIPPET));
    json!({"kind": kind.name(), "id": id, "title": title, "snippet": snippet, "date": date, "why": why})
}

fn sentence(found: &[Value], query: &str) -> String {
    let text = |hit: &Value, field: &str| hit[field].as_str().unwrap_or_default().to_owned();
    let line = |hit: &Value| format!("{} ({})", text(hit, "snippet"), text(hit, "kind"));
    let lines: Vec<String> = found.iter().take(NAMED).map(line).collect();
    match found.len() {
        0 => format!("I found nothing about {}.", records::quote(query)),
        n if n <= NAMED => listing(&format!("I found {}", counted_one(n, "thing")), &lines, false),
        n => listing(&format!("I found {n} things. The best first"), &lines, More::Count(n - NAMED)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, cx};
    use embed::Embedder;
    use memory::{Memories, New};
    use std::time::Duration;
    use store::Store;
    use tool::prelude::json;

    #[tokio::test]
    async fn more_than_two_dozen_memories_are_found_and_a_span_loses_none() {
        let m = Memories::new(&Store::in_memory().unwrap(), Embedder::new(Duration::from_secs(600)));
        let all = (0..40).map(|n| New { content: format!("Apple tree {n} has fruit"), ..New::default() });
        m.remember_all(&cx(), all.collect()).await.unwrap();
        let found = async |args| {
            call(crate::memory::family(m.clone()), &cx(), "search_everything", args).await.unwrap().content
        };
        let page = found(json!({"query": "apple tree", "limit": 30})).await;
        assert_eq!((&page["count"], &page["hasMore"]), (&json!(30), &json!(true)));
        let page = found(json!({"query": "apple tree", "limit": 50})).await;
        assert_eq!((&page["count"], &page["hasMore"]), (&json!(40), &json!(false)));
        let page = found(json!({"query": "apple tree", "until": "2001-01-01"})).await;
        assert_eq!((&page["count"], &page["hasMore"]), (&json!(0), &json!(false)));
    }
}
