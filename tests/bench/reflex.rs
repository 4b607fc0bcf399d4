//! How well reflex places sentences it has never seen: rows of sentence, tool (`-` for none; several as `a|b`), arguments,
//! category.
//!
//! A row is right by its tool when that is called or asked about ("Shall I …?"), and by its arguments when each that the
//! row names has that value. What looks in memory counts as none where none is wanted: it answers with a fact that fits, or says that
//! it does not know.

use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tool::{FixedClock, Risk};

/// When the rows were written for.
const NOW: &str = "2026-11-20T14:30[Europe/Vienna]";

/// What became of the rows of one category.
#[derive(Default, Clone, Copy)]
struct Count {
    rows: usize,
    tool: usize,
    arguments: usize,
    /// Placed right, and without a question.
    sure: usize,
    /// Something else was called.
    wrong: usize,
    /// And it changed something.
    acted: usize,
}

/// Places the rows of a file; the misses are listed on standard error. `SOURCE` names another folder of phrase files than `src`.
///
/// # Errors
/// When a file cannot be read or a row is none.
pub fn measure(rows: &Path) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let named = std::env::var_os("SOURCE").map(PathBuf::from);
    let source = named.or_else(|| {
        let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|at| at.join("src"));
        above.find(|at| at.join("reflex").exists())
    });
    let files = phrase_files(&source.ok_or("there is no source of phrases")?)?;
    let phrases: Vec<&str> = files.iter().map(String::as_str).collect();
    let embedder = embed::Embedder::new(Duration::from_secs(60));
    let reflex = ::reflex::Reflex::new(&phrases, risk, embedder, Arc::new(FixedClock(NOW.parse()?)))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for line in fs::read_to_string(rows)?.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let [text, tool, arguments, category] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("no four columns: {line}").into());
        };
        let wanted: Map<String, Value> = match arguments.trim() {
            "" | "-" => Map::new(),
            text => serde_json::from_str(text).map_err(|e| format!("{e}: {line}"))?,
        };
        let placed = runtime.block_on(reflex.place(text));
        let (got, given) = match placed.proposes.clone() {
            Some((tool, arguments)) => (Some(tool), arguments),
            None => (placed.tool.clone(), placed.arguments.clone()),
        };
        // What is asked for was understood: rows of sentences that lack a time accept `?`.
        let asks = ["When?", "For when?", "How long?", "For how long?", "What?", "Which", "How much?"];
        let asks = placed.say.as_deref().is_some_and(|say| asks.iter().any(|begin| say.starts_with(begin)));
        let name = got.as_deref().unwrap_or(if asks && tool.ends_with('?') { "?" } else { "-" });
        let harmless = tool == "-" && ["recall", "answer_question"].contains(&name);
        let right = tool.split('|').any(|tool| tool == name) || harmless;
        let same = right && (harmless || wanted.iter().all(|(key, value)| alike(given.get(key), value)));
        let called = placed.tool.is_some() && !right;
        let one = Count {
            rows: 1,
            tool: right.into(),
            arguments: same.into(),
            sure: (same && placed.proposes.is_none()).into(),
            wrong: called.into(),
            acted: (called && risk(name).is_some_and(Risk::changes_something)).into(),
        };
        if !same {
            let said = placed.say.unwrap_or_default();
            eprintln!(
                "{category}: {text}\n    wanted {tool} {arguments}\n    got    {name} {given} {said} [{}]",
                placed.why
            );
        }
        for key in [category, "all"] {
            counts.entry(key.to_owned()).or_default().add(one);
        }
    }
    Ok(counts.into_iter().map(|(category, count)| (category, count.told())).collect::<Map<_, _>>().into())
}

impl Count {
    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.tool += other.tool;
        self.arguments += other.arguments;
        self.sure += other.sure;
        self.wrong += other.wrong;
        self.acted += other.acted;
    }

    fn told(self) -> Value {
        let share = |count: usize| (count as f64 / self.rows as f64 * 1000.0).round() / 1000.0;
        json!({
            "rows": self.rows,
            "tool": share(self.tool),
            "arguments": share(self.arguments),
            "sure": share(self.sure),
            "calledWrongly": self.wrong,
            "actedWrongly": self.acted,
        })
    }
}

/// The phrase files of all families.
fn phrase_files(source: &Path) -> std::io::Result<Vec<String>> {
    let mut files = vec![];
    let mut folders: Vec<_> =
        fs::read_dir(source)?.collect::<Result<Vec<_>, _>>()?.into_iter().map(|e| e.path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|f| f.is_dir() && !f.ends_with("reflex")) {
        let mut paths: Vec<_> =
            fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?.into_iter().map(|e| e.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|p| p.extension().is_some_and(|end| end == "en")) {
            files.push(fs::read_to_string(path)?);
        }
    }
    Ok(files)
}

/// Equal, but for ways of writing the same: `T19:00:00` and `T19:00`, `6,0` and `0,6`, `5` and `5.0`, capitals.
fn alike(given: Option<&Value>, wanted: &Value) -> bool {
    match (given, wanted) {
        (Some(Value::String(given)), Value::String(wanted)) => plain(given) == plain(wanted),
        (Some(Value::Number(given)), Value::Number(wanted)) => given.as_f64() == wanted.as_f64(),
        (None, Value::Null) => true,
        (given, wanted) => given == Some(wanted),
    }
}

fn plain(text: &str) -> String {
    let text = text.trim().to_lowercase();
    if text.len() == 19 && text.as_bytes()[10] == b't' {
        return text.strip_suffix(":00").unwrap_or(&text).to_owned();
    }
    let sorted = |field: &str| {
        let mut parts: Vec<&str> = field.split(',').map(|part| if part == "7" { "0" } else { part }).collect();
        parts.sort_unstable();
        parts.join(",")
    };
    match text.split(' ').collect::<Vec<_>>()[..] {
        [minute, hour, day, month, weekday] if minute.parse::<u8>().is_ok() => {
            format!("{minute} {} {day} {month} {}", sorted(hour), sorted(weekday))
        }
        _ => text,
    }
}

/// The risk of a tool, by its name: what looks, what deletes, what moves.
pub fn risk(name: &str) -> Option<Risk> {
    const LOOKS: &[&str] = &[
        "list_",
        "get_",
        "query_",
        "search_",
        "describe_",
        "find_",
        "export_",
        "date_",
        "format_",
        "count_",
        "compare_",
        "convert_",
        "extract_",
        "generate_",
        "hash_",
        "encode_",
        "transform_",
        "validate",
        "recall",
        "calculate",
        "gpio_read",
        "gpio_list",
        "system_info",
        "random_number",
        "regex",
        "statistics",
        "parse_",
        "array_",
        "goal_stats",
        "expense_summary",
        "decompose_",
        "create_table",
        "answer_",
        "translate_",
        "fetch_",
        "read_",
        "summarize_",
    ];
    Some(match name {
        "gpio_write" | "control_thing" => Risk::Actuate,
        "run_prompt" => Risk::Execute,
        "send_email" | "reply_email" => Risk::Send,
        _ if name.starts_with('/') => return None,
        _ if name.starts_with("delete_") => Risk::Destroy,
        _ if LOOKS.iter().any(|begin| name.starts_with(begin)) => Risk::Observe,
        _ => Risk::Write,
    })
}
