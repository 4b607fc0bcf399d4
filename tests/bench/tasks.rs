//! `list_tasks` of somebody who has 100,000 tasks and is shown 1,000 of somebody else, and SQLite asked for the same with
//! indexes made for these questions. Each answer is compared with the peer's before anything is measured.
//!
//! The peer is asked for the rows alone: it reads no arguments and no dates, and makes no sentence.

use crate::{Dice, Result, Watch, due::spread};
use record::{Priority, Status, Task};
use records::Due;
use rusqlite::{Connection, types::ValueRef};
use serde_json::{Map, Value, json};
use std::{
    fs,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use store::{Audience, Store};
use tool::{AgentId, Channel, Cx, FixedClock, Id, Ports, Principal, Role, Tool, UserId, Via};

// The record as Hob keeps it: filling the store through the tool would take an hour.
#[allow(dead_code)]
#[path = "../../src/tools-everyday/tasks/record.rs"]
pub(crate) mod record;

/// The name of a list in a sentence, which nothing here reads.
fn list_name(category: &str) -> String {
    category.to_owned()
}

const NOW: &str = "2026-11-20T14:30:00+01:00[Europe/Vienna]";
const ANNA: UserId = UserId(Id::from_bytes([7; 16]));
const BEN: UserId = UserId(Id::from_bytes([8; 16]));
/// How many one has, and how many another shares.
const OWN: usize = 100_000;
const SHARED: usize = 1000;
/// How many share a transaction.
const TOGETHER: usize = 5000;
/// How many a list shows, and how long one question is asked at most.
const SHOWN: usize = 20;
const LONGEST: Duration = Duration::from_secs(1);
const CATEGORIES: &[&str] =
    &["shopping", "work", "garden", "house", "car", "school", "health", "travel", "taxes", "pets"];
const VERBS: &[&str] = &["buy", "call", "fix", "bring", "clean", "order", "write to", "look for", "pay", "return"];
const THINGS: &[&str] = &[
    "milk",
    "the plumber",
    "the bicycle",
    "library books",
    "the gutter",
    "printer paper",
    "aunt Rosa",
    "a birthday present",
    "the invoice",
    "the ladder",
    "tomato seeds",
    "the dentist",
    "winter tyres",
    "school forms",
    "the cat food",
    "batteries",
];
const COLUMNS: &str = "id, title, status, priority, due, category, notes, closed, shared, updated";

/// A task, whose it is, and where it stands in a list.
struct Planned {
    task: Task,
    own: bool,
    place: i64,
}

/// A question: the tool's arguments, and the peer's condition.
struct Question {
    name: &'static str,
    args: Value,
    /// Plainly, and the search in its indexes of words: of three letters each, which finds parts of words as Hob does, and of
    /// whole words.
    peer: &'static str,
    words: Option<&'static str>,
    whole: bool,
}

/// The peer's condition by an index of words.
fn by_index(index: &str, search: &str) -> String {
    format!("id IN (SELECT rowid FROM {index} WHERE {index} MATCH '{search}')")
}

/// Asks each question `rounds` times, or for a second.
///
/// # Errors
/// When the peer answers something else.
pub fn measure(rounds: usize, folder: &Path) -> Result<Value> {
    fs::create_dir_all(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let planned: Arc<Vec<Planned>> = Arc::new(tasks(&cx(ANNA)?)?);
    let store = Store::open(folder)?;
    runtime.block_on(keep(&store, planned.clone()))?;
    while runtime.block_on(store.tend_words())? {}
    let peer = peer(folder, &planned)?;
    let tools = tools_everyday::tasks(&store).into_parts().tools;
    let tool = tools.into_iter().find(|tool| &*tool.name == "list_tasks").ok_or("there is no list_tasks")?;
    let mut found = vec![];
    for question in questions() {
        let ours = || runtime.block_on(ask(&tool, &question));
        let plain = || rows(&peer, question.peer);
        let (a, b) = (ours()?, plain()?);
        if a != titles(&b) || a.is_empty() {
            return Err(format!("{}: Hob finds {a:?}, SQLite {:?}", question.name, titles(&b)).into());
        }
        let mut answer = json!({"name": question.name, "found": a.len(), "hob": Value::Null});
        answer["hob"] = timed(rounds, || ours().map(drop))?;
        answer["sqlite"] = timed(rounds, || plain().map(drop))?;
        for (key, index) in [("words", "words"), ("wholeWords", "whole")] {
            let Some(search) = question.words.filter(|_| index == "words" || question.whole) else { continue };
            let condition = by_index(index, search);
            let found = rows(&peer, &condition)?;
            if titles(&found) != a {
                return Err(format!("{}: by {index} SQLite finds {:?}", question.name, titles(&found)).into());
            }
            answer[key] = timed(rounds, || rows(&peer, &condition).map(drop))?;
        }
        found.push(answer);
    }
    Ok(json!({
        "tasks": OWN, "shared": SHARED, "questions": found, "sqlite": rusqlite::version(),
        "bytes": {"hob": size(folder, store::FILE)?, "sqlite": size(folder, "peer.sqlite")?},
    }))
}

fn questions() -> Vec<Question> {
    let one = |name: &'static str, args, peer, words| Question { name, args, peer, words, whole: !name.contains("within") };
    vec![
        one("all", json!({}), "1", None),
        one("status", json!({"status": "pending"}), "status = 0", None),
        one("status: what is done", json!({"status": "completed"}), "status = 2", None),
        one(
            "status and category",
            json!({"status": "pending", "category": "shopping"}),
            "status = 0 AND category = 'shopping'",
            None,
        ),
        one("category", json!({"category": "garden"}), "category = 'garden'", None),
        one("priority", json!({"priority": "urgent"}), "priority = 3", None),
        // By the end of that day in Vienna.
        one("dueBefore", json!({"dueBefore": "2026-11-22"}), "over = 0 AND place < 1795388400000", None),
        one(
            "dueBefore, dueAfter: a week",
            json!({"dueAfter": "2026-11-16", "dueBefore": "2026-11-22"}),
            "over = 0 AND place >= 1794783600000 AND place < 1795388400000",
            None,
        ),
        one(
            "search: a word in one of 16",
            json!({"search": "milk"}),
            "instr(lower(title || char(10) || notes), 'milk')",
            Some(r#""milk""#),
        ),
        one(
            "search: two words, one in 160",
            json!({"search": "milk order"}),
            "instr(lower(title || char(10) || notes), 'milk') AND instr(lower(title || char(10) || notes), 'order')",
            Some(r#""milk" "order""#),
        ),
        one(
            "search: a word in one of four",
            json!({"search": "price"}),
            "instr(lower(title || char(10) || notes), 'price')",
            Some(r#""price""#),
        ),
        one(
            "search: within a word, one of 16",
            json!({"search": "umber"}),
            "instr(lower(title || char(10) || notes), 'umber')",
            Some(r#""umber""#),
        ),
        one(
            "search: a word in one of 100,000",
            json!({"search": "platypus"}),
            "instr(lower(title || char(10) || notes), 'platypus')",
            Some(r#""platypus""#),
        ),
    ]
}

fn cx(user: UserId) -> Result<Cx> {
    let ports = Ports::unconnected(Arc::new(FixedClock(NOW.parse()?)));
    let principal = Principal { user, role: Role::Member, agent: AgentId::GENERAL };
    Ok(Cx::root(ports, principal, Via::direct(Channel::Page)))
}

/// What somebody has after years: a third is open, two thirds have a date, a quarter has notes.
fn tasks(cx: &Cx) -> Result<Vec<Planned>> {
    let (mut dice, mut all) = (Dice(5), vec![]);
    let now_ms = cx.ports().clock.now().as_millisecond();
    for n in 0..OWN + SHARED {
        let pick = |of: &[&'static str], dice: &mut Dice| of[dice.below(of.len() as u64) as usize];
        let mut title = format!("{} {} {n}", pick(VERBS, &mut dice), pick(THINGS, &mut dice));
        if n == OWN / 2 {
            title.push_str(" platypus");
        }
        let notes = dice.below(4) == 0;
        let mut task = Task {
            title,
            category: (dice.below(5) > 0).then(|| pick(CATEGORIES, &mut dice).to_owned()),
            notes: notes.then(|| format!("Ask about the price, and whether it can wait until the {n}th; then decide.")),
            priority: match dice.below(20) {
                0 => Priority::Urgent,
                1..4 => Priority::High,
                4..7 => Priority::Low,
                _ => Priority::Normal,
            },
            ..Task::default()
        };
        if dice.below(3) > 0 {
            // Two years back, one ahead; half of them days, the others times.
            let at = cx
                .ports()
                .clock
                .local()
                .checked_add(jiff::SignedDuration::from_hours(dice.below(26_280) as i64 - 17_520))?;
            let text = at.strftime(if dice.below(2) == 0 { "%Y-%m-%d" } else { "%Y-%m-%dT%H:%M" }).to_string();
            task.set_due(Due::read(cx, Some(&text))?);
        }
        let status = match dice.below(20) {
            0..6 => Status::Pending,
            6 => Status::InProgress,
            7..19 => Status::Completed,
            _ => Status::Cancelled,
        };
        task.set_status(status, now_ms - dice.below(63_072_000_000) as i64);
        let place = match (status.is_over(), &task.due) {
            (true, _) => -task.closed_ms,
            (false, Some(_)) => task.due_ms,
            (false, None) => i64::MAX,
        };
        all.push(Planned { task, own: n % (OWN / SHARED + 1) != 0, place });
    }
    Ok(all)
}

async fn keep(store: &Store, planned: Arc<Vec<Planned>>) -> Result<()> {
    let records = store.collection::<Task>();
    let own = records.stamp(&cx(ANNA)?, "bench");
    let shared = records.stamp(&cx(BEN)?, "bench").audience(Audience::Household);
    for from in (0..planned.len()).step_by(TOGETHER) {
        let (records, planned, own, shared) = (records.clone(), planned.clone(), own.clone(), shared.clone());
        let kept = store.write(move |tx| {
            planned[from..].iter().take(TOGETHER).try_for_each(|one| {
                let stamp = if one.own { &own } else { &shared };
                records.put(tx, Id::new(), stamp, &one.task).map(drop)
            })
        });
        kept.await?;
    }
    Ok(())
}

/// The peer: the same tasks, an index for each question, one more of those that are shared, and two of words.
fn peer(folder: &Path, planned: &[Planned]) -> Result<Connection> {
    let mut base = Connection::open(folder.join("peer.sqlite"))?;
    // The cache is as large as Hob's.
    base.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-8192;
         CREATE TABLE task (id INTEGER PRIMARY KEY, owner INTEGER, shared INTEGER, title TEXT, status INTEGER, priority INTEGER,
                            due TEXT, category TEXT, notes TEXT, closed INTEGER, updated INTEGER, over INTEGER, place INTEGER);
         CREATE VIRTUAL TABLE words USING fts5(title, notes, content='', tokenize='trigram');
         CREATE VIRTUAL TABLE whole USING fts5(title, notes, content='')",
    )?;
    let all = base.transaction()?;
    for (n, one) in planned.iter().enumerate() {
        let (task, over) = (&one.task, one.task.status.is_over());
        // Numbers that the questions name, whatever they are in Hob's records.
        let statuses = [Status::Pending, Status::InProgress, Status::Completed, Status::Cancelled];
        let priorities = [Priority::Low, Priority::Normal, Priority::High, Priority::Urgent];
        all.prepare_cached("INSERT INTO task VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12)")?.execute(
            rusqlite::params![
                n as i64,
                if one.own { 1 } else { 2 },
                !one.own,
                task.title,
                statuses.iter().position(|status| *status == task.status).map(|at| at as i64),
                priorities.iter().position(|priority| *priority == task.priority).map(|at| at as i64),
                task.due,
                task.category,
                task.notes.as_deref().unwrap_or_default(),
                task.closed_ms,
                over,
                one.place
            ],
        )?;
        for index in ["words", "whole"] {
            all.prepare_cached(&format!("INSERT INTO {index} (rowid, title, notes) VALUES (?1, ?2, ?3)"))?
                .execute(rusqlite::params![n as i64, task.title, task.notes])?;
        }
    }
    for columns in ["", "status,", "status, category,", "category,", "priority,"] {
        let name = columns.replace([',', ' '], "");
        all.execute_batch(&format!(
            "CREATE INDEX own{name} ON task (owner, {columns} over, place);
             CREATE INDEX shared{name} ON task ({columns} over, place) WHERE shared = 1"
        ))?;
    }
    all.commit()?;
    base.execute_batch("ANALYZE")?;
    Ok(base)
}

/// The first of the peer's tasks under a condition: the person's own, and those shared with them.
fn rows(peer: &Connection, condition: &str) -> Result<Vec<Value>> {
    let some = |whose: &str| {
        format!(
            "SELECT * FROM (SELECT {COLUMNS}, over, place FROM task WHERE {whose} AND {condition} ORDER BY over, place, id LIMIT {})",
            SHOWN + 1
        )
    };
    let text = format!(
        "{} UNION ALL {} ORDER BY over, place, id LIMIT {}",
        some("owner = 1"),
        some("shared = 1 AND owner <> 1"),
        SHOWN + 1
    );
    let mut question = peer.prepare_cached(&text)?;
    let names: Vec<String> = question.column_names().into_iter().map(str::to_owned).collect();
    let mut found = question.query([])?;
    let mut all = vec![];
    while let Some(row) = found.next()? {
        let mut one = Map::new();
        for (place, name) in names.iter().enumerate() {
            let value = match row.get_ref(place)? {
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Integer(number) => number.into(),
                _ => Value::Null,
            };
            one.insert(name.clone(), value);
        }
        all.push(Value::Object(one));
    }
    all.truncate(SHOWN);
    Ok(all)
}

fn titles(rows: &[Value]) -> Vec<String> {
    rows.iter().map(|row| row["title"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The titles of what the tool lists.
async fn ask(tool: &Tool, question: &Question) -> Result<Vec<String>> {
    let answer = (tool.run)(cx(ANNA)?, question.args.clone()).await?;
    let tasks = answer.content["tasks"].as_array().ok_or("list_tasks answers no tasks")?;
    Ok(titles(black_box(tasks)))
}

/// Milliseconds of one of `rounds`: of CPU, and on the wall.
fn timed(rounds: usize, mut once: impl FnMut() -> Result<()>) -> Result<Value> {
    let (watch, mut walls) = (Watch::start(), vec![]);
    while walls.len() < rounds && watch.seconds() < LONGEST.as_secs_f64() {
        let begun = Instant::now();
        once()?;
        walls.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(json!({"cpuMs": watch.cpu_ms() / walls.len() as f64, "wallMs": spread(&mut walls)}))
}

fn size(folder: &Path, name: &str) -> Result<u64> {
    Ok(fs::metadata(folder.join(name))?.len())
}
