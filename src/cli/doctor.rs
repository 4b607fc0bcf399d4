//! `hob doctor`: checks the device and the stored data.

use super::{client::Client, terminal::put};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use store::{Check, FileCheck};

/// Checks the data file, unless a daemon uses it. Damage is an error, so that nothing opens the file for writing.
pub fn file(data: &Path, backups: &[PathBuf]) -> Result<()> {
    for backup in backups {
        store::open_plain(backup).with_context(|| format!("could not read the backup {}", backup.display()))?;
    }
    let FileCheck { pages, records, log } = match store::check_file(data) {
        Ok(Some(found)) => found,
        Ok(None) | Err(store::Error::InUse(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // There is nothing more to examine without a daemon, which needs to write.
    let read_only = store::is_read_only(data);
    match pages.is_empty() {
        true => put(format_args!("file     every page is sound\n"))?,
        false => put(format_args!("file     {} is damaged: {}\n", data.join(store::FILE).display(), pages.join("; ")))?,
    }
    if log.commits > 0 {
        let (commits, kb, age) = (log.commits, log.bytes.div_ceil(1000), age(log.newest_ms));
        put(format_args!(
            "log      {commits} commits ({kb} KB), the newest {age} ago, for the next start to take over\n"
        ))?;
    }
    if pages.is_empty() && records.damages == 0 && read_only {
        put(format_args!("data     {} records, all of them intact\n", records.records))?;
        bail!("the data folder is on a read-only file system: Hob starts, and backs it up, once that is writable")
    }
    if pages.is_empty() && records.damages == 0 {
        return Ok(());
    }
    put(format_args!("data     {} of {} records are damaged\n", records.damages, records.records))?;
    print_damaged(&lines(&records), backups)?;
    bail!("the data is damaged: restore a backup with `hob restore FILE`. Nothing was changed")
}

/// The time since a moment in milliseconds since 1970, in its largest unit.
fn age(ms: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = now.as_secs().saturating_sub(ms / 1000);
    let (count, unit) = match seconds {
        0..120 => (seconds, "seconds"),
        120..7200 => (seconds / 60, "minutes"),
        7200..172_800 => (seconds / 3600, "hours"),
        _ => (seconds / 86400, "days"),
    };
    format!("{count} {unit}")
}

/// A damaged record and its line.
struct Line {
    table: String,
    key: Vec<u8>,
    text: String,
}

fn lines(check: &Check) -> Vec<Line> {
    let line = |damage: &store::Damage| Line {
        table: damage.table.clone(),
        key: damage.key.clone(),
        text: line(
            &damage.table,
            damage.id().map(|id| id.to_string()).as_deref(),
            damage.owner.map(|owner| owner.0.to_string()).as_deref(),
            &damage.problem,
        ),
    };
    check.damaged.iter().map(line).collect()
}

fn line(table: &str, id: Option<&str>, owner: Option<&str>, problem: &str) -> String {
    let id = id.map_or_else(|| format!("the table {table}"), |id| format!("{table} {id}"));
    let owner = owner.map(|owner| format!(" of {owner}")).unwrap_or_default();
    format!("{id}{owner}: {problem}")
}

/// Prints the damaged records, and the backups that have an intact copy.
fn print_damaged(lines: &[Line], backups: &[PathBuf]) -> Result<()> {
    let wanted: Vec<(String, Vec<u8>)> = lines.iter().map(|line| (line.table.clone(), line.key.clone())).collect();
    let mut copies = vec![];
    for backup in backups {
        copies.push((backup, store::backup_has(backup, &wanted)?));
    }
    for (at, line) in lines.iter().enumerate() {
        put(format_args!("  {}\n", line.text))?;
        for (backup, has) in &copies {
            if has.get(at) == Some(&true) {
                put(format_args!("    a good copy is in {}\n", backup.display()))?;
            }
        }
    }
    if !lines.is_empty() && backups.is_empty() {
        put(format_args!("  `hob doctor --backup FILE` says whether a backup has a good copy\n"))?;
    }
    Ok(())
}

/// Prints the state of the device; an error when a part fails.
pub async fn doctor(client: &Client, backups: &[PathBuf]) -> Result<()> {
    let daemon =
        if client.is_daemon() { "running" } else { "not running (read the data directly; `hob serve` starts it)" };
    put(format_args!("daemon   {daemon}\n"))?;
    let mut failed = vec![];
    let check = client.data("POST", "/api/v1/check", None).await?;
    if !records(&check, backups)? {
        failed.push("data");
    }
    show_storage(client).await?;
    let who = client.data("GET", "/api/v1/session", None).await?;
    put(format_args!("version  {}\n", who["version"].as_str().unwrap_or_default()))?;
    put(format_args!("model    {}\n", who["model"].as_str().unwrap_or_default()))?;
    if !show_models(client).await? {
        failed.push("model");
    }
    for (label, tool) in [("device", "system_info"), ("pins", "gpio_list"), ("memory", "memory_stats")] {
        let path = format!("/api/v1/tools/{tool}/execute");
        let line = match client.data("POST", &path, Some(json!({"arguments": {}}))).await {
            Ok(data) => data["say"].as_str().map_or_else(|| data["result"].to_string(), str::to_owned),
            Err(error) => {
                // A device may have no pins.
                if tool != "gpio_list" {
                    failed.push(label);
                }
                format!("{error:#}")
            }
        };
        put(format_args!("{label:<8} {line}\n"))?;
    }
    let checks = client.data("GET", "/api/v1/doctor", None).await?;
    let wrong = show_checks(&checks)?;
    let all: Vec<&str> = failed.into_iter().chain(wrong.iter().map(String::as_str)).collect();
    if !all.is_empty() {
        bail!("problems found: see {} above", all.join(" and "));
    }
    Ok(())
}

/// Prints the lines of the checks; returns the names of those that are wrong. Models were asked before.
fn show_checks(checks: &Value) -> Result<Vec<String>> {
    let mut wrong = vec![];
    for check in checks["checks"].as_array().into_iter().flatten().filter(|check| check["name"] != "answers") {
        let text = |key: &str| check[key].as_str().unwrap_or_default();
        let word = match text("outcome") {
            "wrong" => "Wrong: ",
            "careful" => "Careful: ",
            _ => "",
        };
        put(format_args!("{:<8} {word}{}\n", text("name"), text("text")))?;
        if let Some(todo) = check["todo"].as_str() {
            put(format_args!("         To do: {todo}.\n"))?;
        }
        if text("outcome") == "wrong" {
            wrong.push(text("name").to_owned());
        }
    }
    Ok(wrong)
}

/// Prints the size of the data file and the state of its compaction.
async fn show_storage(client: &Client) -> Result<()> {
    let storage = client.data("GET", "/api/v1/storage", None).await?;
    let now_ms = tool::Id::new().millis();
    for (line, label) in storage_lines(&storage, now_ms).into_iter().zip(["storage", ""]) {
        put(format_args!("{label:<8} {line}\n"))?;
    }
    Ok(())
}

/// "61 MB, 3 MB of it free; compacted 3 days ago, 212 → 61 MB"; then why the last attempt was not completed.
fn storage_lines(storage: &Value, now_ms: u64) -> Vec<String> {
    let mb = |value: &Value| value.as_u64().unwrap_or_default().div_ceil(1_000_000);
    let mut line = format!("{} MB", mb(&storage["size"]));
    if storage["free"].is_u64() {
        line += &format!(", {} MB of it free", mb(&storage["free"]));
    }
    let last = &storage["compacted"];
    if let Some(percent) = storage["compacting"].as_u64() {
        line += &format!("; compacting, {percent} %");
    } else if let Some(at) = last["at"].as_u64() {
        let days = now_ms.saturating_sub(at) / 86_400_000;
        let when = match days {
            0 => "today".to_owned(),
            1 => "a day ago".to_owned(),
            days => format!("{days} days ago"),
        };
        line += &format!("; compacted {when}, {} → {} MB", mb(&last["before"]), mb(&last["after"]));
    }
    if let Some(count) = storage["files"].as_u64().filter(|count| *count > 0) {
        line += &format!("; {} of the workspace, {} MB", text_kit::counted(count, "file"), mb(&storage["fileBytes"]));
    }
    let problem = storage["problem"].as_str().map(|why| format!("it was not compacted: {why}"));
    [Some(line), problem].into_iter().flatten().collect()
}

/// Prints the outcome of a check of the records; returns whether all are intact.
fn records(check: &Value, backups: &[PathBuf]) -> Result<bool> {
    let count = |name: &str| check[name].as_u64().unwrap_or_default();
    let (records, damages) = (count("records"), count("damages"));
    match damages {
        0 => put(format_args!("data     {records} records in {} tables, all sound\n", count("tables")))?,
        _ => put(format_args!("data     {damages} of {records} records are damaged\n"))?,
    }
    if count("withoutChecksum") > 0 {
        let older = count("withoutChecksum");
        put(format_args!(
            "         {older} records of an older Hob have no checksum yet; each gets one when it is changed\n"
        ))?;
    }
    if count("rebuilt") > 0 {
        put(format_args!("         {} index entries were wrong and have been rebuilt\n", count("rebuilt")))?;
    }
    let lines = check["damaged"].as_array().into_iter().flatten().map(|found| {
        let text = |name: &str| found[name].as_str();
        let (table, key) = (text("table").unwrap_or_default(), text("key").unwrap_or_default());
        Line {
            table: table.to_owned(),
            key: bytes(key),
            text: line(table, text("id"), text("owner"), text("problem").unwrap_or_default()),
        }
    });
    print_damaged(&lines.collect::<Vec<_>>(), backups)?;
    Ok(damages == 0)
}

/// Decodes a hexadecimal text.
fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// Prints which models do not answer, why the model was chosen automatically, and the fallback models; returns whether all
/// answer.
async fn show_models(client: &Client) -> Result<bool> {
    let checked = client.data("POST", "/api/v1/model/check", Some(json!({}))).await?;
    let model = client.data("GET", "/api/v1/model", None).await.unwrap_or_default();
    let lines = model_lines(&checked, &model);
    for line in &lines {
        put(format_args!("         {line}\n"))?;
    }
    if model["from"] == "key" {
        put(format_args!("         nobody chose it: its key is in the environment\n"))?;
    }
    let fallback: Vec<&str> = model["fallback"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !fallback.is_empty() {
        let why = if model["automaticFallback"] == true { ", whose keys are in the environment" } else { "" };
        put(format_args!("fallback {}{why}\n", fallback.join(", ")))?;
    }
    Ok(lines.is_empty())
}

/// For each model that does not answer: which one, since when, why, and what to do.
fn model_lines(checked: &Value, in_use: &Value) -> Vec<String> {
    let failed = checked["models"].as_array().into_iter().flatten().filter(|check| check["ok"] == false);
    let line = |check: &Value| {
        let (model, message) = (check["model"].as_str()?, check["message"].as_str()?);
        let trouble = in_use["trouble"].as_array().into_iter().flatten().find(|trouble| trouble["model"] == model);
        let Some(trouble) = trouble else { return Some(format!("{model}: {message}")) };
        let text = |key: &str| trouble[key].as_str().unwrap_or_default();
        let since = trouble["since"].as_u64().unwrap_or_default();
        // An outage that this check found has no length yet.
        let state = match tool::Id::now_ms().saturating_sub(since) < 60_000 {
            true => "does not answer".to_owned(),
            false => format!("has not answered for {}", age(since)),
        };
        let what_to_do = match (text("problem"), trouble["local"] == true) {
            ("network", true) => format!("start {} at {}, or choose another model", text("provider"), text("url")),
            ("network", false) => "check that this device is connected to the internet".to_owned(),
            ("key", _) => format!("set a key that {} accepts", text("provider")),
            ("credit", _) => format!("add credit at {}, or choose another model", text("provider")),
            _ => "try again later, or choose another model".to_owned(),
        };
        Some(format!("{model} {state}: {message}. To do: {what_to_do} (page: Device, Models)"))
    };
    failed.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_does_not_answer_is_named_with_what_to_do() {
        let since = tool::Id::now_ms() - 3 * 3_600_000;
        let check = |model: &str, ok: bool| json!({"model": model, "ok": ok, "message": "it is away"});
        let trouble = |model: &str, problem: &str, local: bool| json!({"model": model, "provider": "Ollama", "url": "http://pi:11434/v1", "local": local, "problem": problem, "since": since});
        for (problem, local, part) in [
            ("network", true, "start Ollama at http://pi:11434/v1"),
            ("network", false, "connected to the internet"),
            ("key", false, "set a key that Ollama accepts"),
            ("credit", false, "add credit"),
            ("server", true, "try again later"),
        ] {
            let checked = json!({"models": [check("a/b", false), check("c/d", true)]});
            let lines = model_lines(&checked, &json!({"trouble": [trouble("a/b", problem, local)]}));
            let [line] = &lines[..] else { panic!("{lines:?}") };
            assert!(
                line.starts_with("a/b has not answered for 3 hours: it is away. To do: ") && line.contains(part),
                "{line}"
            );
        }
        let gone = json!({"models": [check("a/b", false)]});
        let now = json!({"trouble": [{"model": "a/b", "problem": "key", "since": tool::Id::now_ms()}]});
        assert!(model_lines(&gone, &now)[0].starts_with("a/b does not answer: it is away"));
        assert_eq!(model_lines(&gone, &json!({"trouble": []})), ["a/b: it is away"]);
    }

    #[test]
    fn the_data_file_is_described() {
        const DAY: u64 = 86_400_000;
        let compacted = |at: u64| json!({"at": at, "before": 212_000_000, "after": 60_400_000});
        for (storage, lines) in [
            (json!({"size": 61_000_000}), vec!["61 MB"]),
            (json!({"size": 61_000_000, "free": 2_400_000}), vec!["61 MB, 3 MB of it free"]),
            (
                json!({"size": 61_000_000, "compacted": compacted(7 * DAY)}),
                vec!["61 MB; compacted 3 days ago, 212 → 61 MB"],
            ),
            (
                json!({"size": 1, "compacted": compacted(10 * DAY), "problem": "the disk is full"}),
                vec!["1 MB; compacted today, 212 → 61 MB", "it was not compacted: the disk is full"],
            ),
            (
                json!({"size": 212_000_000, "compacting": 40, "compacted": compacted(1)}),
                vec!["212 MB; compacting, 40 %"],
            ),
        ] {
            assert_eq!(storage_lines(&storage, 10 * DAY), lines, "{storage}");
        }
    }
}
