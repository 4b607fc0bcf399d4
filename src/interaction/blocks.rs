//! The eight types of blocks that `render_blocks` shows, and their validation.

use crate::form::{self, Field};
use serde_json::Map;
use text_kit::prefix;
use tool::prelude::*;

/// The most blocks, columns and rows shown at once.
const BLOCKS: usize = 50;
const COLUMNS: usize = 30;
const ROWS: usize = 500;
/// The most values of a chart, over all its series, and the most series.
const VALUES: usize = 2000;
const SERIES: usize = 12;
/// The longest short text (a label, the description of a picture), in characters.
const WORDS: usize = 200;

/// One block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Block {
    /// Text.
    Markdown {
        /// Markdown.
        content: String,
    },
    /// A table.
    Table {
        /// In the order they are shown.
        columns: Vec<Column>,
        /// The rows, by the keys of the columns.
        data: Vec<Map<String, Value>>,
    },
    /// A chart.
    Chart {
        /// How it is drawn.
        chart_type: ChartType,
        /// `{"labels": ["Mon", "Tue"], "datasets": [{"label": "Rain", "data": [3, 5]}]}`
        data: Map<String, Value>,
    },
    /// A form, one at most.
    Form {
        /// In the order they are shown.
        fields: Vec<Field>,
        /// The text of the submit button.
        submit_label: String,
    },
    /// Program text.
    Code {
        /// Its language.
        language: String,
        /// The text.
        content: String,
    },
    /// A picture.
    Image {
        /// `https:`, `data:image/…` or `/api/v1/files/ID`.
        url: String,
        /// A description, for whoever cannot see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alt: Option<String>,
    },
    /// A remark that stands out.
    Alert {
        /// How serious it is.
        variant: Variant,
        /// The remark.
        content: String,
    },
    /// Any JSON value.
    Json {
        /// The value.
        data: Value,
    },
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its key in the rows.
    pub key: String,
    /// Its heading.
    pub label: String,
}

/// How a chart is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChartType {
    /// Lines.
    Line,
    /// Bars.
    Bar,
    /// Parts of a whole.
    Pie,
    /// Filled lines.
    Area,
}

/// How serious a remark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Good to know.
    Info,
    /// Take care.
    Warning,
    /// Something is wrong.
    Danger,
    /// It went well.
    Success,
}

/// Validates blocks, and normalizes charts to `{labels, datasets: [{label, data}]}`.
///
/// # Errors
/// `BadArgs` with the path of what is wrong: `blocks[2].fields[0].name`.
pub(crate) fn validated(mut blocks: Vec<Block>) -> Result<Vec<Block>> {
    if blocks.is_empty() || blocks.len() > BLOCKS {
        return Err(Error::bad_args(format!("`blocks`: 1 to {BLOCKS} can be shown at once, not {}", blocks.len())));
    }
    let mut form = None;
    for (n, block) in blocks.iter_mut().enumerate() {
        let at = format!("blocks[{n}]");
        let wrong = |part: &str, why: &str| Err(Error::bad_args(format!("`{at}{part}`: {why}")));
        match block {
            Block::Markdown { content } | Block::Alert { content, .. } | Block::Code { content, .. }
                if content.trim().is_empty() =>
            {
                return wrong(".content", "it is empty");
            }
            Block::Code { language, .. } if language.chars().count() > WORDS => {
                return wrong(".language", "expected the name of a language");
            }
            Block::Markdown { .. } | Block::Alert { .. } | Block::Code { .. } | Block::Json { .. } => {}
            Block::Table { columns, data } => check_table(&at, columns, data)?,
            Block::Chart { data, .. } => *data = normalize_chart(&at, data)?,
            Block::Form { fields, submit_label } => {
                if let Some(first) = form.replace(n) {
                    return wrong(
                        "",
                        &format!("there is a form in `blocks[{first}]` already: put all fields into one"),
                    );
                }
                if submit_label.trim().is_empty() || submit_label.chars().count() > WORDS {
                    return wrong(".submitLabel", &format!("expected 1 to {WORDS} characters"));
                }
                form::check(&at, fields)?;
            }
            Block::Image { url, .. } if !is_allowed_url(url) => {
                return wrong(
                    ".url",
                    "expected an address that begins with https://, data:image/png;base64, (or jpeg, gif, webp) or \
                     /api/v1/files/ with a file's id",
                );
            }
            Block::Image { alt, .. } if alt.as_ref().is_some_and(|alt| alt.chars().count() > WORDS * 5) => {
                return wrong(".alt", &format!("expected at most {} characters", WORDS * 5));
            }
            Block::Image { .. } => {}
        }
    }
    Ok(blocks)
}

/// The fields of the form, where there is one.
pub(crate) fn form_fields(blocks: &[Block]) -> Option<&[Field]> {
    blocks.iter().find_map(|b| if let Block::Form { fields, .. } = b { Some(fields.as_slice()) } else { None })
}

fn check_table(at: &str, columns: &[Column], rows: &[Map<String, Value>]) -> Result<()> {
    let wrong = |part: &str, why: String| Err(Error::bad_args(format!("`{at}{part}`: {why}")));
    if columns.is_empty() || columns.len() > COLUMNS {
        return wrong(".columns", format!("a table has 1 to {COLUMNS} columns, not {}", columns.len()));
    }
    if rows.len() > ROWS {
        return wrong(
            ".data",
            format!("at most {ROWS} rows can be shown, not {}: show fewer, or a summary", rows.len()),
        );
    }
    for (n, column) in columns.iter().enumerate() {
        if column.key.is_empty() || column.key.chars().count() > WORDS || column.label.chars().count() > WORDS {
            return wrong(&format!(".columns[{n}]"), format!("`key` and `label` are at most {WORDS} characters"));
        }
        if columns[..n].iter().any(|c| c.key == column.key) {
            return wrong(&format!(".columns[{n}].key"), format!("`{}` is there already", column.key));
        }
    }
    Ok(())
}

/// The data of a chart in one form, whichever of the usual ones it has.
fn normalize_chart(at: &str, data: &Map<String, Value>) -> Result<Map<String, Value>> {
    let wrong = |part: &str, why: &str| {
        let how = r#"write {"labels": ["Mon", "Tue"], "datasets": [{"label": "Rain", "data": [3, 5]}]}"#;
        Err(Error::bad_args(format!("`{at}.data{part}`: {why}; {how}")))
    };
    if data.is_empty() {
        return wrong("", "it is empty");
    }
    // Models write it in a few ways.
    let one = data.get("values").map(|values| json!([{"label": "", "data": values}]));
    let Some(datasets) =
        data.get("datasets").or(data.get("series")).or(one.as_ref().filter(|_| data.contains_key("labels")))
    else {
        // One value a name, in the order of the names, since an object has no other.
        let labels: Vec<&String> = data.keys().collect();
        if let Some((name, _)) = data.iter().find(|(_, value)| !value.is_number()) {
            return wrong(&format!(".{}", prefix(name, WORDS / 5)), "expected a number");
        }
        if data.len() > VALUES {
            return wrong("", &format!("at most {VALUES} values can be shown"));
        }
        let values: Vec<&Value> = data.values().collect();
        return Ok(Map::from_iter([
            ("labels".to_owned(), json!(labels)),
            ("datasets".to_owned(), json!([{"label": "", "data": values}])),
        ]));
    };
    if let Some(other) = data.keys().find(|k| !["labels", "datasets", "series", "values"].contains(&k.as_str())) {
        return wrong(&format!(".{}", prefix(other, WORDS / 5)), "it is not known");
    }
    let label = |value: &Value| match value {
        Value::String(text) if text.chars().count() <= WORDS => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let labels = data.get("labels").and_then(Value::as_array);
    let labels: Option<Vec<String>> = labels.and_then(|l| l.iter().map(label).collect());
    let Some(labels) = labels.filter(|l| !l.is_empty()) else { return wrong(".labels", "expected a list of labels") };
    let Some(datasets) = datasets.as_array().filter(|d| !d.is_empty() && d.len() <= SERIES) else {
        return wrong(".datasets", &format!("expected 1 to {SERIES} of them"));
    };
    if labels.len() * datasets.len() > VALUES {
        return wrong("", &format!("at most {VALUES} values can be shown"));
    }
    let mut series = vec![];
    for (n, dataset) in datasets.iter().enumerate() {
        let part = format!(".datasets[{n}]");
        let values = dataset.get("data").or(dataset.get("values")).and_then(Value::as_array);
        let Some(values) = values.filter(|v| v.iter().all(|v| v.is_number() || v.is_null())) else {
            return wrong(&format!("{part}.data"), "expected a list of numbers");
        };
        if values.len() != labels.len() {
            let why = format!("there are {} labels and {} values", labels.len(), values.len());
            return wrong(&format!("{part}.data"), &why);
        }
        let Some(name) = dataset.get("label").or(dataset.get("name")).map_or(Some(String::new()), label) else {
            return wrong(&format!("{part}.label"), "expected a short text");
        };
        // Colours and the like are up to the page.
        series.push(json!({"label": name, "data": values}));
    }
    Ok(Map::from_iter([("labels".to_owned(), json!(labels)), ("datasets".to_owned(), series.into())]))
}

/// Whether a picture may come from this address: nothing executable, and nothing of this device except uploads.
fn is_allowed_url(url: &str) -> bool {
    let clean = !url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\');
    let host = url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    let data = ["png", "jpeg", "gif", "webp"].iter().any(|kind| {
        url.strip_prefix(&format!("data:image/{kind};base64,")).is_some_and(|data| {
            !data.is_empty() && data.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
        })
    });
    let file = url.strip_prefix("/api/v1/files/").is_some_and(|id| id.parse::<Id>().is_ok());
    clean && (host || data || file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(blocks: Value) -> Result<Vec<Block>, String> {
        let blocks: Vec<Block> = serde_json::from_value(blocks).map_err(|e| e.to_string())?;
        validated(blocks).map_err(|e| e.to_string())
    }

    /// One of each, as the reference writes them.
    pub(crate) fn all() -> Value {
        json!([
            {"type": "markdown", "content": "# Hi"},
            {"type": "table", "columns": [{"key": "a", "label": "A"}], "data": [{"a": 1}, {"a": "x", "b": 2}]},
            {"type": "chart", "chartType": "bar", "data": {"labels": ["a"], "datasets": [{"label": "n", "data": [1]}]}},
            {"type": "form", "fields": [{"name": "a", "label": "A", "type": "text"}], "submitLabel": "Go"},
            {"type": "code", "language": "rust", "content": "fn main() {}"},
            {"type": "image", "url": "https://example.org/a.png", "alt": "a"},
            {"type": "alert", "variant": "danger", "content": "hot"},
            {"type": "json", "data": null},
        ])
    }

    #[test]
    fn the_eight_types_are_taken_as_the_reference_writes_them() {
        let blocks = check(all()).unwrap();
        assert_eq!(serde_json::to_value(&blocks).unwrap(), all(), "and kept as they are");
        assert_eq!(form_fields(&blocks).map(<[Field]>::len), Some(1));
        assert_eq!(form_fields(&blocks[..3]), None);
        let all = all();
        for (n, block) in all.as_array().unwrap().iter().enumerate() {
            for field in block.as_object().unwrap().keys().filter(|f| !["alt", "type"].contains(&f.as_str())) {
                let mut less = block.clone();
                less.as_object_mut().unwrap().remove(field);
                assert!(check(json!([less])).is_err(), "{n}: {less}");
            }
            let mut more = block.clone();
            more["colour"] = "red".into();
            assert!(check(json!([more])).is_err(), "{more}");
        }
    }

    #[test]
    fn charts_are_shown_in_one_form() {
        let drawn = |data: Value| match &check(json!([{"type": "chart", "chartType": "pie", "data": data}]))?[..] {
            [Block::Chart { data, .. }] => Ok(Value::Object(data.clone())),
            other => Err(format!("{other:?}")),
        };
        for (data, shown) in [
            (json!({"a": 1, "b": 2.5}), json!({"labels": ["a", "b"], "datasets": [{"label": "", "data": [1, 2.5]}]})),
            (
                json!({"labels": [2025, "b"], "datasets": [{"label": "x", "data": [1, null], "color": "red"}]}),
                json!({"labels": ["2025", "b"], "datasets": [{"label": "x", "data": [1, null]}]}),
            ),
            (
                json!({"labels": ["a"], "series": [{"name": "x", "values": [1]}]}),
                json!({"labels": ["a"], "datasets": [{"label": "x", "data": [1]}]}),
            ),
            (
                json!({"labels": ["a"], "values": [1]}),
                json!({"labels": ["a"], "datasets": [{"label": "", "data": [1]}]}),
            ),
        ] {
            assert_eq!(drawn(data).unwrap(), shown);
        }
        for (data, why) in [
            (json!({}), "`blocks[0].data`: it is empty"),
            (json!({"a": "b"}), "`blocks[0].data.a`: expected a number"),
            (json!({"labels": ["a"], "datasets": []}), ".datasets`: expected 1 to 12"),
            (json!({"datasets": [{"data": [1]}]}), ".labels`: expected a list"),
            (json!({"labels": ["a", "b"], "datasets": [{"data": [1]}]}), "there are 2 labels and 1 values"),
            (json!({"labels": ["a"], "datasets": [{"data": ["1"]}]}), ".datasets[0].data`: expected a list of numbers"),
            (json!({"labels": ["a"], "datasets": [{"data": [1], "label": {}}]}), ".datasets[0].label`"),
            (json!({"labels": ["a"], "datasets": [7]}), ".datasets[0].data`"),
            (json!({"labels": ["a"], "datasets": [{"data": [1]}], "x": 1}), ".data.x`: it is not known"),
            (json!({"labels": vec!["a"; 1001], "datasets": [{"data": vec![1; 1001]}, {"data": []}]}), "at most 2000"),
        ] {
            let told = drawn(data.clone()).unwrap_err();
            assert!(told.contains(why), "{data}: {told}");
        }
    }

    #[test]
    fn what_is_too_much_or_not_safe_is_refused_by_its_place() {
        let table = |columns: usize, rows: usize| {
            let columns: Vec<Value> = (0..columns).map(|n| json!({"key": format!("c{n}"), "label": "C"})).collect();
            json!([{"type": "table", "columns": columns, "data": vec![json!({}); rows]}])
        };
        let form =
            json!({"type": "form", "fields": [{"name": "a", "label": "A", "type": "text"}], "submitLabel": "Go"});
        let mut broken = form.clone();
        broken["fields"][0]["label"] = "".into();
        let text = json!({"type": "markdown", "content": "x"});
        for (blocks, why) in [
            (json!([]), "`blocks`: 1 to 50"),
            (json!(vec![text.clone(); 51]), "`blocks`: 1 to 50 can be shown at once, not 51"),
            (json!([text, {"type": "markdown", "content": " "}]), "`blocks[1].content`: it is empty"),
            (table(0, 0), "`blocks[0].columns`"),
            (table(31, 0), "`blocks[0].columns`"),
            (table(1, 501), "`blocks[0].data`: at most 500 rows can be shown, not 501"),
            (json!([form, text, form]), "`blocks[2]`: there is a form in `blocks[0]` already"),
            (json!([text, text, broken]), "`blocks[2].fields[0].label`"),
            (
                json!([{"type": "table", "columns": [{"key": "a", "label": "A"}, {"key": "a", "label": "B"}], "data": []}]),
                "`blocks[0].columns[1].key`",
            ),
        ] {
            let told = check(blocks).unwrap_err();
            assert!(told.contains(why), "{why}: {told}");
        }
        assert!(check(table(30, 500)).is_ok());
        let id = Id::new();
        for (url, fine) in [
            ("https://example.org/a.png?x=1", true),
            ("data:image/png;base64,iVBORw0KGgo=", true),
            ("data:image/webp;base64,AAAA", true),
            (&format!("/api/v1/files/{id}"), true),
            ("http://example.org/a.png", false),
            ("https://", false),
            ("https:///etc/passwd", false),
            ("data:image/svg+xml;base64,AAAA", false),
            ("data:image/png;base64,\"onerror=", false),
            ("data:text/html;base64,AAAA", false),
            ("javascript:alert(1)", false),
            ("/api/v1/files/../backup", false),
            ("/api/v1/backup", false),
            ("file:///etc/passwd", false),
            ("https://a b", false),
            ("", false),
        ] {
            assert_eq!(check(json!([{"type": "image", "url": url}])).is_ok(), fine, "{url}");
        }
    }
}
