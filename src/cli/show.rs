//! Blocks as text, for a terminal.

use super::terminal::plain;
use serde_json::Value;
use std::fmt::Write;

/// How wide a cell of a table is at most, and the longest bar of a chart, in characters.
const CELL: usize = 40;
const BAR: f64 = 30.0;

/// Blocks one below the other, a form without its fields, which are asked one by one.
pub fn blocks(title: Option<&str>, blocks: &[Value]) -> String {
    let mut parts = vec![];
    if let Some(title) = title.filter(|t| !t.is_empty()) {
        parts.push(line(title));
    }
    parts.extend(blocks.iter().map(block).filter(|text| !text.is_empty()));
    parts.join("\n\n")
}

fn block(block: &Value) -> String {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    match text("type") {
        "markdown" => plain(text("content").trim_end()),
        "table" => table(block),
        "chart" => chart(&block["data"]),
        "code" => plain(text("content").trim_end()).lines().map(|l| format!("    {l}")).collect::<Vec<_>>().join("\n"),
        "image" => {
            let (alt, url) = (line(text("alt")), line(text("url")));
            let alt = if alt.is_empty() { "picture".to_owned() } else { alt };
            if url.starts_with("data:") { format!("[{alt}: see the page]") } else { format!("[{alt}] {url}") }
        }
        "alert" => {
            let word = match text("variant") {
                "warning" => "Warning",
                "danger" => "Danger",
                "success" => "Done",
                _ => "Note",
            };
            format!("{word}: {}", plain(text("content").trim_end()))
        }
        "json" => plain(&format!("{:#}", block["data"])),
        _ => String::new(),
    }
}

/// A value as one line.
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => line(text),
        other => line(&other.to_string()),
    }
}

fn line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn clip(text: String) -> String {
    match text.char_indices().nth(CELL) {
        Some(_) => text.chars().take(CELL - 1).chain(['…']).collect(),
        None => text,
    }
}

fn table(block: &Value) -> String {
    let list = |name: &str| block[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let keys: Vec<&str> = list("columns").iter().filter_map(|c| c["key"].as_str()).collect();
    let mut rows = vec![list("columns").iter().map(|c| clip(value(&c["label"]))).collect::<Vec<_>>()];
    rows.extend(list("data").iter().map(|row| keys.iter().map(|key| clip(value(&row[*key]))).collect()));
    let wide = |row: &[String], n: usize| row.get(n).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> = (0..keys.len()).map(|n| rows.iter().map(|row| wide(row, n)).max().unwrap_or(0)).collect();
    rows.insert(1, widths.iter().map(|width| "─".repeat(*width)).collect());
    // Columns of numbers end where they end.
    let numeric = |n: usize| list("data").iter().all(|row| row[keys[n]].is_number() || row[keys[n]].is_null());
    let right: Vec<bool> = (0..keys.len()).map(|n| !list("data").is_empty() && numeric(n)).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.iter().zip(&widths).zip(&right).map(|((cell, width), right)| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn chart(data: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let labels: Vec<String> = list(&data["labels"]).iter().map(|l| clip(value(l))).collect();
    let width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let all = list(&data["datasets"]);
    let values = all.iter().flat_map(|d| list(&d["data"])).filter_map(|v| v.as_f64());
    let most = values.map(f64::abs).fold(0.0, f64::max);
    let mut parts = vec![];
    for dataset in &all {
        let mut text = value(&dataset["label"]);
        for (label, number) in labels.iter().zip(list(&dataset["data"])) {
            let size = number.as_f64().map_or(0.0, f64::abs);
            // Something is never shown as nothing.
            let bar = if size > 0.0 { ((size / most * BAR).round() as usize).clamp(1, BAR as usize) } else { 0 };
            let bar = "█".repeat(bar);
            let space = if bar.is_empty() { "" } else { " " };
            let shown = if number.is_null() { "–".to_owned() } else { number.to_string() };
            let _ = write!(text, "\n{label:<width$}  {bar}{space}{shown}");
        }
        parts.push(text.trim_start_matches('\n').to_owned());
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_type_has_a_text() {
        for (block, text) in [
            (json!({"type": "markdown", "content": "# Hi\n\nyou\n"}), "# Hi\n\nyou"),
            (
                json!({"type": "table", "columns": [{"key": "n", "label": "Name"}, {"key": "c", "label": "Count"}],
                       "data": [{"n": "Öl", "c": 7}, {"n": "a\nb\u{1b}[2J", "c": 1200}, {"c": null}]}),
                "Name     Count\n───────  ─────\nÖl           7\na b\u{fffd}[2J   1200",
            ),
            (
                json!({"type": "table", "columns": [{"key": "a", "label": "A"}], "data": [{"a": "x".repeat(50)}]}),
                &format!("A\n{}\n{}…", "─".repeat(40), "x".repeat(39)),
            ),
            (
                json!({"type": "chart", "chartType": "bar", "data": {"labels": ["Mon", "Tu", "We", "Th"],
                       "datasets": [{"label": "Rain", "data": [3, 1.5, 0, null]}]}}),
                &format!("Rain\nMon  {} 3\nTu   {} 1.5\nWe   0\nTh   –", "█".repeat(30), "█".repeat(15)),
            ),
            (
                json!({"type": "chart", "chartType": "line", "data": {"labels": ["a", "b"], "datasets": [{"label": "", "data": [-1000, 1]}]}}),
                &format!("a  {} -1000\nb  █ 1", "█".repeat(30)),
            ),
            (json!({"type": "code", "language": "sh", "content": "a\n  b\n"}), "    a\n      b"),
            (
                json!({"type": "image", "url": "https://example.org/a.png", "alt": "A cat"}),
                "[A cat] https://example.org/a.png",
            ),
            (json!({"type": "image", "url": "data:image/png;base64,AAAA"}), "[picture: see the page]"),
            (json!({"type": "alert", "variant": "danger", "content": "hot"}), "Danger: hot"),
            (json!({"type": "alert", "variant": "success", "content": "ok"}), "Done: ok"),
            (json!({"type": "json", "data": {"a": [1]}}), "{\n  \"a\": [\n    1\n  ]\n}"),
            (json!({"type": "form", "fields": []}), ""),
            (json!(7), ""),
        ] {
            let shown = super::block(&block);
            let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
            assert_eq!(shown.join("\n").trim_end(), text, "{block}");
        }
        let two = [json!({"type": "markdown", "content": "a"}), json!({"type": "markdown", "content": "b"})];
        assert_eq!(blocks(Some("T"), &two), "T\n\na\n\nb");
        assert_eq!(blocks(None, &two[..1]), "a");
    }
}
