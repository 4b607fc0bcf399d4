//! `search_everything`: one ranked list over all families.

use super::sources;
use memory::{Fact, Memories, Question, masked};
use text_kit::{More, counted_one, listing, truncate};
use tool::{Label, prelude::*};

/// The default and the largest limit.
pub(super) const PAGE: (u32, u32) = (10, 50);
/// How many words are looked up in records.
const SEARCHED: usize = 4;
const SNIPPET: usize = 200;
const TITLE: usize = 80;
/// How many results a sentence names.
const NAMED: usize = 5;
/// The lowest relevance of a result.
const LEAST: f32 = 0.3;

/// Search memories, contacts, calendar, tasks, notes, expenses, bookmarks and own tables at once, best match first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchEverything {
    /// Words to look for.
    query: String,
    limit: Option<u32>,
}

struct Hit {
    relevance: f32,
    label: Label,
    view: Value,
}

pub(super) async fn search_everything(memories: Memories, cx: Cx, args: SearchEverything) -> Result<Output> {
    let query = args.query.trim();
    if query.is_empty() {
        return Err(Error::bad_args("the query is empty: pass words to search for"));
    }
    let limit = args.limit.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let question = Question::new(query);
    let candidates = memories.candidates(&cx, query, &question).await?;
    let zone = cx.ports().clock.zone();
    let mut hits = vec![];
    for candidate in candidates.found {
        let it = candidate.memory;
        let fact = Fact { text: it.content, similarity: candidate.similarity };
        let created = records::iso(i64::try_from(it.created_ms).unwrap_or(0), &zone);
        let snippet = masked(&fact.text, query);
        let view = view("memory", &it.id.to_string(), &snippet, &snippet, Some(created));
        hits.push(Hit { relevance: question.relevance(&fact), label: candidate.label, view });
    }
    let words = question.search_words(SEARCHED);
    for record in sources::search(&cx, &words, true).await {
        let text = record.facts.iter().max_by(|a, b| question.overlap(a).total_cmp(&question.overlap(b)));
        let text = text.unwrap_or(&record.title);
        let all = Fact { text: [&record.title[..], &record.facts.join(" ")].join(" "), similarity: None };
        let (title, snippet) = (masked(&record.title, query), masked(text, query));
        let view = view(&record.kind, &record.id, &title, &snippet, record.date);
        hits.push(Hit { relevance: question.relevance(&all), label: Label::Own, view });
    }
    hits.retain(|hit| hit.relevance >= LEAST);
    hits.sort_by(|a, b| b.relevance.total_cmp(&a.relevance));
    let more = hits.len() > limit;
    hits.truncate(limit);
    hits.iter().for_each(|hit| cx.taint(hit.label));
    let found: Vec<Value> = hits.into_iter().map(|hit| hit.view).collect();
    let sentence = sentence(&found, query);
    let content = json!({"count": found.len(), "hasMore": more, "results": found});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

fn view(kind: &str, id: &str, title: &str, snippet: &str, date: Option<String>) -> Value {
    let (title, snippet) = (truncate(title, TITLE), truncate(snippet, SNIPPET));
    json!({"kind": kind, "id": id, "title": title, "snippet": snippet, "date": date})
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
