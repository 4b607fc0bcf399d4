//! Tools that find and read memory documents.

use ::documents::{Hit, Place, SearchQuery, VirtualFiles};
use text_kit::{More, counted_one, listing, one_line, truncate};
use tool::prelude::*;

/// The default and the largest number of results.
const PAGE: (u32, u32) = (6, 50);
/// The lowest score of a result by default.
const LEAST: f32 = 0.35;
/// The default and the largest number of lines, and of characters, of a read.
const LINES: usize = 2000;
const CHARACTERS: usize = 30_000;
/// How many documents a sentence names, and how long it is.
const NAMED: usize = 5;
const SPOKEN: usize = 300;

/// Tools for memory documents.
pub fn family(files: VirtualFiles) -> Family<VirtualFiles> {
    Family::new("memoryDocs", "Reference documents.", files)
        .title("Memory documents")
        .category("Memory")
        .phrases(include_str!("documents.en"))
        .area(Area::Memory)
        .tool("memory_search", Risk::Observe, search)
        .page_by("maxResults", PAGE)
        .tags("find search documents notes files memory MEMORY.md knowledge reference passage")
        .example(json!({"query": "when was the boiler serviced", "maxResults": 3}))
        .tool("memory_get", Risk::Observe, get)
        .tags("read open show document file memory MEMORY.md lines")
        .example(json!({"path": "memory/house.md", "from": 10, "lines": 20}))
}

/// Search memory documents (MEMORY.md and files under memory/) by words and meaning. Returns passages with path and line numbers;
/// read more of one with memory_get.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Search {
    /// Words or a question.
    query: String,
    max_results: Option<u32>,
    /// Minimum score, 0 to 1 (default: 0.35).
    #[schemars(range(min = 0, max = 1))]
    min_score: Option<f32>,
}

async fn search(files: VirtualFiles, cx: Cx, args: Search) -> Result<Output> {
    let limit = args.max_results.unwrap_or(PAGE.0).clamp(1, PAGE.1) as usize;
    let least = args.min_score.unwrap_or(LEAST);
    if !(0.0..=1.0).contains(&least) {
        return Err(Error::bad_args("`minScore` is a number from 0 to 1"));
    }
    let found = files.search(&cx, SearchQuery { text: args.query.clone(), limit, least, own: false }).await?;
    let sentence = match found.hits.as_slice() {
        [] => format!("No document says anything about “{}”.", truncate(&one_line(&args.query), 60)),
        [hit] => format!("{} says: {}", hit.path, truncate(&one_line(&hit.snippet), SPOKEN)),
        hits => {
            let named: Vec<String> = hits.iter().take(NAMED).map(place).collect();
            let head = format!("I found {}", counted_one(hits.len(), "passage"));
            listing(&head, &named, More::from(hits.len() > named.len()))
        }
    };
    let hit = |hit: &Hit| {
        let Hit { path, lines: (first, last), snippet, score, .. } = hit;
        let score = (f64::from(*score) * 1000.0).round() / 1000.0;
        let shared = hit.place == Place::Agents;
        json!({"path": path, "startLine": first, "endLine": last, "score": score, "snippet": snippet, "shared": shared})
    };
    let results: Vec<Value> = found.hits.iter().map(hit).collect();
    let mut content = json!({"count": results.len(), "results": results});
    if !found.by_meaning {
        content["note"] = "The embedding model is not available: only words were compared.".into();
    }
    Ok(Output::json(content)?.say(sentence))
}

fn place(hit: &Hit) -> String {
    let (first, last) = hit.lines;
    match first == last {
        true => format!("line {first} of {}", hit.path),
        false => format!("lines {first} to {last} of {}", hit.path),
    }
}

/// Read a memory document (MEMORY.md, memory/…) or another context file (USER.md, SOUL.md …), or some of its lines.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Get {
    /// Path, such as memory/house.md.
    path: String,
    /// First line (default: 1).
    #[schemars(range(min = 1))]
    from: Option<u32>,
    /// How many lines (default: to the end).
    #[schemars(range(min = 1))]
    lines: Option<u32>,
}

async fn get(files: VirtualFiles, cx: Cx, args: Get) -> Result<Output> {
    let (from, most) = (args.from.unwrap_or(1) as usize, args.lines.map_or(LINES, |lines| lines as usize).min(LINES));
    if from == 0 || most == 0 {
        return Err(Error::bad_args("lines are counted from 1: pass `from` and `lines` of at least 1"));
    }
    let file = files.read(&cx, &args.path)?;
    let all: Vec<&str> = file.text.lines().collect();
    if from > all.len() {
        let count = counted_one(all.len(), "line");
        return Err(Error::bad_args(format!("`{}` has {count}: pass a smaller `from`", file.path)));
    }
    let (mut text, mut last) = (String::new(), from - 1);
    for line in all.iter().skip(from - 1).take(most) {
        if !text.is_empty() && text.len() + line.len() > CHARACTERS {
            break;
        }
        text.push_str(&truncate(line, CHARACTERS));
        text.push('\n');
        last += 1;
    }
    text.pop();
    let sentence = format!("{} says: {}", file.path, truncate(&one_line(&text), SPOKEN));
    let content = json!({
        "path": file.path,
        "text": text,
        "startLine": from,
        "endLine": last,
        "totalLines": all.len(),
        "hasMore": last < all.len(),
        "version": file.version,
        "shared": file.place == Place::Agents,
    });
    Ok(Output::json(content)?.say(sentence))
}
