//! Records of other families as facts. They are searched through dispatch, so that scopes and rules hold.

use jiff::Zoned;
use records::when_words;
use std::{future::Future, pin::Pin};
use text_kit::{money_words, truncate};
use tool::{When, prelude::*};

/// How many records of one family a search reads at least, and at most.
const READ: u32 = 8;
const MOST: u32 = 50;
/// So many years back events are searched first.
const YEARS: i64 = 2;
/// How many tables are searched.
const TABLES: usize = 32;
/// The most lines of a note that are considered.
const LINES: usize = 60;

/// A query.
pub(super) struct Asked<'a> {
    pub words: &'a [String],
    /// Whether records of the past count: events that are over.
    pub past: bool,
    /// Only these kinds; all where it is empty.
    pub kinds: &'a [Kind],
    pub now: Zoned,
    /// How many results are asked for.
    pub most: u32,
    /// The first moment of the records that are asked for.
    pub since: Option<jiff::Timestamp>,
}

impl Asked<'_> {
    /// How many records of a family are read for a word.
    fn read(&self) -> u32 {
        self.most.clamp(READ, MOST)
    }

    /// The parts of the calendar that are searched, as arguments: what is near first, then older events.
    fn spans(&self) -> Vec<Value> {
        let day = |at: &Zoned| at.date().to_string();
        let near = day(&self.now.saturating_sub(jiff::Span::new().years(YEARS)));
        match self.since {
            _ if !self.past => vec![json!({})],
            Some(since) => vec![json!({"startDate": day(&since.to_zoned(self.now.time_zone().clone()))})],
            None if self.most == 0 => vec![json!({"startDate": near})],
            None => vec![json!({"startDate": near}), json!({"startDate": "1900-01-01", "endDate": near})],
        }
    }
}

/// The records that a search found.
#[derive(Default)]
pub(super) struct Matches {
    pub records: Vec<FoundRecord>,
    /// Whether some were left out.
    pub cut: bool,
}

impl Matches {
    fn add(&mut self, output: &Output, list: &str, most: u32, read: impl Fn(&Value) -> FoundRecord) {
        let records = output.content[list].as_array().map(Vec::as_slice).unwrap_or_default();
        self.cut |= output.content["hasMore"].as_bool().unwrap_or(records.len() >= most as usize);
        self.records.extend(records.iter().map(read));
    }
}

/// The kinds of what a search finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Memory,
    Contact,
    Event,
    Task,
    Note,
    Expense,
    Bookmark,
    // A row of an own table.
    Record,
    // A file of the workspace.
    File,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Contact => "contact",
            Self::Event => "event",
            Self::Task => "task",
            Self::Note => "note",
            Self::Expense => "expense",
            Self::Bookmark => "bookmark",
            Self::Record => "record",
            Self::File => "file",
        }
    }
}

type Finding<'a> = Pin<Box<dyn Future<Output = Matches> + Send + 'a>>;

/// Somewhere that a search looks: files of the workspace, documents and skills join as others of these. What a caller may
/// not see is not found; a source that fails has nothing to add.
pub(super) trait Source: Sync {
    /// The kinds of records it finds.
    fn kind(&self) -> Kind;
    /// The records with one of the words.
    fn search<'a>(&'a self, cx: &'a Cx, asked: &'a Asked<'a>) -> Finding<'a>;
}

/// A family whose records a tool finds by words.
struct Family {
    kind: Kind,
    tool: &'static str,
    /// The field of the tool's result.
    list: &'static str,
}

/// The household's own tables.
struct Tables;

/// Files of the workspace, by name and content.
struct Files;

const SOURCES: &[&dyn Source] = &[
    &Family { kind: Kind::Contact, tool: "list_contacts", list: "contacts" },
    &Family { kind: Kind::Event, tool: "list_calendar_events", list: "events" },
    &Family { kind: Kind::Task, tool: "list_tasks", list: "tasks" },
    &Family { kind: Kind::Note, tool: "list_notes", list: "notes" },
    &Family { kind: Kind::Expense, tool: "query_expenses", list: "expenses" },
    &Family { kind: Kind::Bookmark, tool: "list_bookmarks", list: "bookmarks" },
    &Tables,
    &Files,
];

/// A record that a search found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoundRecord {
    pub kind: Kind,
    pub id: String,
    pub title: String,
    /// A day or time, as stored: of an event its start, of a task its due date, else when it was created.
    pub date: Option<String>,
    /// The facts in it; each may answer a question.
    pub facts: Vec<String>,
}

/// The records with one of these words, each once, in order of their families.
pub(super) async fn search(cx: &Cx, asked: &Asked<'_>) -> Matches {
    let mut all = Matches::default();
    for source in SOURCES {
        if !asked.kinds.is_empty() && !asked.kinds.contains(&source.kind()) {
            continue;
        }
        let found = source.search(cx, asked).await;
        all.cut |= found.cut;
        for record in found.records {
            if !all.records.iter().any(|f| f.id == record.id) {
                all.records.push(record);
            }
        }
    }
    all
}

impl Source for Family {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn search<'a>(&'a self, cx: &'a Cx, asked: &'a Asked<'a>) -> Finding<'a> {
        Box::pin(async move {
            let mut found = Matches::default();
            let spans = if self.kind == Kind::Event { asked.spans() } else { vec![json!({})] };
            for word in asked.words {
                for span in &spans {
                    let mut args = span.clone();
                    (args["search"], args["limit"]) = (json!(word), json!(asked.read()));
                    // A family may be off, or closed to this caller: then it has nothing to add.
                    let Ok(output) = cx.call(self.tool, args).await else { continue };
                    found.add(&output, self.list, asked.read(), |record| read(self.kind, record, &asked.now));
                }
            }
            found
        })
    }
}

impl Source for Tables {
    fn kind(&self) -> Kind {
        Kind::Record
    }

    fn search<'a>(&'a self, cx: &'a Cx, asked: &'a Asked<'a>) -> Finding<'a> {
        Box::pin(async move {
            let mut found = Matches::default();
            let Ok(tables) = cx.call("list_custom_tables", json!({})).await else { return found };
            let named = tables.content["tables"].as_array().into_iter().flatten();
            let filled = named.filter(|table| table["records"].as_u64() != Some(0));
            let names: Vec<String> =
                filled.filter_map(|t| t["table"].as_str().or_else(|| t["name"].as_str())).map(str::to_owned).collect();
            found.cut = names.len() > TABLES;
            for table in names.iter().take(TABLES) {
                for word in asked.words {
                    let args = json!({"table": table, "query": word, "limit": asked.read()});
                    let Ok(output) = cx.call("search_custom_records", args).await else { continue };
                    found.add(&output, "records", asked.read(), |record| row(table, record));
                }
            }
            found
        })
    }
}

impl Source for Files {
    fn kind(&self) -> Kind {
        Kind::File
    }

    fn search<'a>(&'a self, cx: &'a Cx, asked: &'a Asked<'a>) -> Finding<'a> {
        Box::pin(async move {
            let mut found = Matches::default();
            // Lines of files are found, and are no facts that answer a question by themselves.
            if asked.most == 0 || asked.words.is_empty() {
                return found;
            }
            let words: Vec<String> = asked.words.iter().map(|word| literal(word)).collect();
            let most = asked.read() * 2;
            let args = json!({"query": words.join("|"), "regex": true, "caseSensitive": false, "maxResults": most});
            let Ok(output) = cx.call("search_files", args).await else { return found };
            found.cut = output.content["hasMore"].as_bool().unwrap_or(false);
            for hit in output.content["results"].as_array().into_iter().flatten() {
                let Some(path) = hit["path"].as_str() else { continue };
                let line = hit["text"].as_str().map(str::trim).filter(|line| !line.is_empty());
                let facts = line.map(|line| format!("{path}: {}", truncate(line, 400)));
                match found.records.last_mut() {
                    Some(last) if last.id == path => last.facts.extend(facts),
                    _ => found.records.push(FoundRecord {
                        kind: Kind::File,
                        id: path.to_owned(),
                        title: path.to_owned(),
                        date: None,
                        facts: facts.into_iter().collect(),
                    }),
                }
            }
            found
        })
    }
}

/// A word as a regular expression for it.
fn literal(word: &str) -> String {
    word.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

/// A record as the facts it states.
fn read(kind: Kind, record: &Value, now: &Zoned) -> FoundRecord {
    let text = |field: &str| record[field].as_str().filter(|text| !text.is_empty());
    let title = text("title")
        .or_else(|| text("name"))
        .or_else(|| text("description"))
        .or_else(|| text("url"))
        .unwrap_or(kind.name());
    let date = match kind {
        Kind::Event => text("startTime"),
        Kind::Task => text("dueDate"),
        Kind::Expense => text("date"),
        _ => text("createdAt"),
    };
    let facts = match kind {
        Kind::Contact => contact(title, &text),
        Kind::Event => vec![event(title, &text, now)],
        Kind::Task => task(title, &text, now),
        Kind::Note => note(title, text("content").unwrap_or_default()),
        Kind::Expense => vec![expense(record, &text)],
        _ => vec![[Some(title), text("url"), text("description")].into_iter().flatten().collect::<Vec<_>>().join(": ")],
    };
    FoundRecord {
        kind,
        id: text("id").unwrap_or_default().to_owned(),
        title: title.to_owned(),
        date: date.map(str::to_owned),
        facts,
    }
}

fn in_words(when: &str, now: &Zoned) -> String {
    When::read(when, now.time_zone()).map_or_else(|_| when.to_owned(), |when| when_words(&when, now))
}

fn contact<'a>(name: &str, text: &impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let who = text("relationship").map(|r| format!(" ({r})")).unwrap_or_default();
    let mut facts = vec![];
    let mut add = |field: &str, say: &dyn Fn(&str) -> String| facts.extend(text(field).map(say));
    add("phone", &|it| format!("Phone number of {name}{who}: {it}"));
    add("email", &|it| format!("Email address of {name}{who}: {it}"));
    add("birthday", &|it| format!("Birthday of {name}{who}: {}", birthday(it)));
    add("address", &|it| format!("{name}{who} lives at {it}"));
    add("company", &|it| format!("{name}{who} works at {it}"));
    add("jobTitle", &|it| format!("{name}{who} works as {it}"));
    add("relationship", &|it| format!("{name} is your {it}"));
    add("notes", &|it| format!("{name}: {it}"));
    facts
}

/// `14 May 1990` of `1990-05-14`, `14 May` of `--05-14`.
fn birthday(stored: &str) -> String {
    let (format, text) = match stored.strip_prefix("--") {
        Some(rest) => ("%-d %B", format!("2000-{rest}")),
        None => ("%-d %B %Y", stored.to_owned()),
    };
    text.parse::<jiff::civil::Date>().map_or_else(|_| stored.to_owned(), |day| day.strftime(format).to_string())
}

fn event<'a>(title: &str, text: &impl Fn(&str) -> Option<&'a str>, now: &Zoned) -> String {
    let when = text("startTime").map(|start| in_words(start, now)).unwrap_or_default();
    let place = text("location").map(|place| format!(", at {place}")).unwrap_or_default();
    let more = text("description").map(|more| format!(". {more}")).unwrap_or_default();
    format!("{title} is {when}{place}{more}")
}

fn task<'a>(title: &str, text: &impl Fn(&str) -> Option<&'a str>, now: &Zoned) -> Vec<String> {
    if text("status").is_some_and(|status| ["completed", "cancelled"].contains(&status)) {
        return vec![];
    }
    let due = text("dueDate").map(|due| format!(", due {}", in_words(due, now))).unwrap_or_default();
    let list = text("category").map(|list| format!(" (on the list {list})")).unwrap_or_default();
    let more = text("notes").map(|more| format!(". {more}")).unwrap_or_default();
    vec![format!("{title}{due}{list}{more}")]
}

fn note(title: &str, content: &str) -> Vec<String> {
    let lines = content.lines().map(|line| line.trim_start_matches(['#', '-', '*', ' ']).trim());
    let all: Vec<&str> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
    let fact = |line: &&str| {
        let line = truncate(line, 400);
        if line.to_lowercase().contains(&title.to_lowercase()) { line } else { format!("{title}: {line}") }
    };
    all.iter().map(fact).collect()
}

fn expense<'a>(record: &Value, text: &impl Fn(&str) -> Option<&'a str>) -> String {
    let what = text("description").or_else(|| text("category")).unwrap_or("an expense");
    let currency = text("currency").unwrap_or_default();
    let day = text("date").and_then(|day| day.get(..10)).unwrap_or_default();
    let day = day.parse::<jiff::civil::Date>().map_or_else(|_| day.to_owned(), |d| d.strftime("%-d %B %Y").to_string());
    format!("{what} cost {} on {day}", money_words(&record["amount"].to_string(), currency))
}

/// A row of a table: `wines: label Zweigelt, year 2019`.
fn row(table: &str, record: &Value) -> FoundRecord {
    let fields = record["data"].as_object().or_else(|| record.as_object());
    let own = |key: &str| !["id", "createdAt", "updatedAt", "table", "shared"].contains(&key);
    let told = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let all = fields.into_iter().flatten().filter(|(key, _)| own(key));
    let columns: Vec<(String, String)> =
        all.filter_map(|(key, value)| Some((key.replace('_', " "), told(value)?))).collect();
    let title = columns.first().map_or_else(|| table.to_owned(), |(_, value)| value.clone());
    let text: Vec<String> = columns.iter().map(|(key, value)| format!("{key} {value}")).collect();
    FoundRecord {
        kind: Kind::Record,
        id: record["id"].as_str().unwrap_or_default().to_owned(),
        title: truncate(&title, 200),
        date: record["createdAt"].as_str().map(str::to_owned),
        facts: vec![truncate(&format!("{table}: {}", text.join(", ")), 1000)],
    }
}
