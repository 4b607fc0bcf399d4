//! Questions, blocks and forms at the terminal: shown as text, asked line by line, answered.

use super::{
    client::{Client, escaped},
    show,
    terminal::{plain, put},
};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::io::{BufRead, IsTerminal, Write};

/// Whether somebody sits here who can be asked.
fn person() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Writes to standard error, where questions stand; a reader that went away is no failure.
fn tell(text: std::fmt::Arguments) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_fmt(text);
    let _ = err.flush();
}

/// A line of the person's; `None` when they leave.
async fn read(prompt: String) -> Result<Option<String>> {
    let line = tokio::task::spawn_blocking(move || {
        tell(format_args!("{prompt}"));
        let mut bytes = vec![];
        match std::io::stdin().lock().read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&bytes).trim().to_owned()),
        }
    });
    Ok(line.await?)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A question in the stream: asks the person at the terminal; without one says how it can be answered.
pub async fn ask_at_terminal(client: &Client, ask: &Value) -> Result<()> {
    let (id, options) = (text(ask, "id"), options(ask));
    tell(format_args!("? {}\n", plain(text(ask, "question"))));
    for (n, option) in options.iter().enumerate() {
        tell(format_args!("  {}. {}\n", n + 1, show::value(&json!(option))));
    }
    if !person() {
        tell(format_args!("  answer with `hob answer {id} TEXT`\n"));
        return Ok(());
    }
    let prompt = match options.len() {
        0 => "  your answer (nothing puts it aside): ".to_owned(),
        count => format!("  1 to {count} (nothing puts it aside): "),
    };
    loop {
        let Some(line) = read(prompt.clone()).await? else {
            tell(format_args!("\n  it stays open: answer with `hob answer {id} TEXT`\n"));
            return Ok(());
        };
        if line.is_empty() {
            return send_answer(client, id, None).await;
        }
        match chosen(&options, &line) {
            Some(answer) => return send_answer(client, id, Some(json!({"answer": answer}))).await,
            None => tell(format_args!("  choose one of these by its number\n")),
        }
    }
}

fn options(ask: &Value) -> Vec<String> {
    list(ask, "options").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What was typed, or the option of that number or those words.
fn chosen(options: &[String], line: &str) -> Option<String> {
    if options.is_empty() {
        return Some(line.to_owned());
    }
    let same = options.iter().find(|o| *o == line).or_else(|| options.iter().find(|o| o.eq_ignore_ascii_case(line)));
    let by_number = || options.get(line.parse::<usize>().ok()?.checked_sub(1)?);
    same.or_else(by_number).cloned()
}

/// Something to be shown in the stream. A view without a form is put aside once it is shown.
pub async fn show_at_terminal(client: &Client, ui: &Value) -> Result<()> {
    let (id, title) = (text(ui, "id"), ui["title"].as_str());
    if text(ui, "kind") == "component" {
        let title = title.filter(|t| !t.is_empty()).unwrap_or("something to be used with the mouse");
        tell(format_args!("? {}: open Hob's page to see and answer it\n", show::value(&json!(title))));
        return Ok(());
    }
    let blocks = list(ui, "blocks");
    let view = show::blocks(title, blocks);
    if !view.is_empty() {
        put(format_args!("{view}\n"))?;
    }
    let Some(form) = blocks.iter().find(|b| text(b, "type") == "form") else {
        return send_answer(client, id, None).await;
    };
    if !person() {
        let names: Vec<&str> = list(form, "fields").iter().map(|f| text(f, "name")).collect();
        tell(format_args!(
            "? {}: fill in {} with `hob answer {id} '{{\"field\": \"value\"}}'`\n",
            show::value(&form["submitLabel"]),
            plain(&names.join(", "))
        ));
        return Ok(());
    }
    let mut before = Map::new();
    loop {
        let Some(data) = filled(form, &before).await? else {
            tell(format_args!("\n  it stays open: see `hob interactions`\n"));
            return Ok(());
        };
        let prompt = format!("  {}? [y]es · [n]o, once more · [p]ut it aside: ", show::value(&form["submitLabel"]));
        let answer = match read(prompt).await?.as_deref().map(str::to_lowercase).as_deref() {
            None => return Ok(()),
            Some("" | "y" | "yes") => Some(json!({"action": "submit", "data": data})),
            Some("p" | "put it aside") => None,
            Some(_) => {
                before = data;
                continue;
            }
        };
        match send(client, id, answer).await {
            Ok(_) => return Ok(()),
            // What a field is missing is said, and all are asked again with what was typed.
            Err(error) if error.to_string().starts_with('`') => tell(format_args!("  {error:#}\n")),
            Err(error) => {
                tell(format_args!("  {error:#}\n"));
                return Ok(());
            }
        }
        before = data;
    }
}

/// The fields of a form, asked one by one; `None` when the person leaves. `before` is what they typed the last time.
async fn filled(form: &Value, before: &Map<String, Value>) -> Result<Option<Map<String, Value>>> {
    let mut data = Map::new();
    for field in list(form, "fields") {
        let (name, kind, options) = (text(field, "name"), text(field, "type"), options(field));
        let standing = before.get(name).filter(|v| !v.is_null()).unwrap_or(&field["default"]);
        for (n, option) in options.iter().enumerate() {
            tell(format_args!("    {}. {}\n", n + 1, show::value(&json!(option))));
        }
        let how = match kind {
            "number" => " (a number)",
            "checkbox" => " (y or n)",
            "date" => " (as 2026-11-20)",
            _ if !options.is_empty() => " (its number)",
            _ => "",
        };
        let is = match standing {
            Value::Null => String::new(),
            Value::Bool(on) => format!(" [{}]", if *on { "y" } else { "n" }),
            other => format!(" [{}]", show::value(other)),
        };
        let prompt = format!("  {}{how}{is}: ", show::value(&field["label"]));
        let value = loop {
            let Some(line) = read(prompt.clone()).await? else { return Ok(None) };
            if line.is_empty() {
                // Enter takes what stands there.
                if standing.is_null() && field["required"] == true && kind != "checkbox" {
                    tell(format_args!("    this has to be filled in\n"));
                    continue;
                }
                break standing.clone();
            }
            match typed(kind, &options, &line) {
                Ok(value) => break value,
                Err(why) => tell(format_args!("    {why}\n")),
            }
        };
        if !value.is_null() {
            data.insert(name.to_owned(), value);
        }
    }
    Ok(Some(data))
}

/// What was typed, as a value of this kind of field.
fn typed(kind: &str, options: &[String], line: &str) -> Result<Value, &'static str> {
    match kind {
        "number" => {
            let number =
                line.parse::<i64>().map(Value::from).or_else(|_| line.replace(',', ".").parse().map(|n: f64| json!(n)));
            number.ok().filter(Value::is_number).ok_or("write a number")
        }
        "checkbox" => match line.to_lowercase().as_str() {
            "y" | "yes" => Ok(true.into()),
            "n" | "no" => Ok(false.into()),
            _ => Err("write y or n"),
        },
        "select" => chosen(options, line).map(Value::String).ok_or("choose one of these by its number"),
        _ => Ok(line.into()),
    }
}

async fn send(client: &Client, id: &str, answer: Option<Value>) -> Result<Value> {
    let at = format!("/api/v1/interactions/{}", escaped(id));
    match answer {
        Some(answer) => client.data("POST", &format!("{at}/respond"), Some(answer)).await,
        None => client.data("POST", &format!("{at}/dismiss"), Some(json!({}))).await,
    }
}

/// Answers, or puts it aside. Somebody else may have answered meanwhile; that is told and no failure of this conversation.
async fn send_answer(client: &Client, id: &str, answer: Option<Value>) -> Result<()> {
    if let Err(error) = send(client, id, answer).await {
        tell(format_args!("  {error:#}\n"));
    }
    Ok(())
}

/// Lists what waits for an answer.
pub async fn interactions(client: &Client, json: bool) -> Result<()> {
    let listed = client.data("GET", "/api/v1/interactions?limit=200", None).await?;
    if json {
        put(format_args!("{:#}\n", listed["interactions"]))?;
        return Ok(());
    }
    let all = list(&listed, "interactions");
    for one in all {
        let (what, options) = (about(one), options(one));
        put(format_args!("{}  {what}\n", text(one, "id")))?;
        for (n, option) in options.iter().enumerate() {
            put(format_args!("  {}. {}\n", n + 1, show::value(&json!(option))))?;
        }
    }
    if all.is_empty() {
        put(format_args!("nothing waits for an answer\n"))?;
    }
    Ok(())
}

/// What waits, in a line.
fn about(one: &Value) -> String {
    let fields = list(one, "blocks").iter().find(|b| text(b, "type") == "form").map(|form| list(form, "fields"));
    let title = show::value(&one["title"]);
    match (text(one, "kind"), fields) {
        ("ask", _) => show::value(&one["question"]),
        ("blocks", Some(fields)) => {
            let names: Vec<String> =
                fields.iter().map(|f| format!("{} ({})", text(f, "name"), text(f, "type"))).collect();
            format!("{title} a form: {}", plain(&names.join(", "))).trim_start().to_owned()
        }
        ("blocks", None) => format!("{title} a view").trim_start().to_owned(),
        _ => format!("{title} something for the page").trim_start().to_owned(),
    }
}

/// Answers one that waits: in words, by the number of an option, or with JSON; without anything puts it aside.
pub async fn answer(client: &Client, id: &str, words: &str) -> Result<()> {
    if words.trim().is_empty() {
        send(client, id, None).await?;
        put(format_args!("it is put aside\n"))?;
        return Ok(());
    }
    let one = client.data("GET", &format!("/api/v1/interactions/{}", escaped(id)), None).await?;
    let body = if text(&one, "kind") == "ask" {
        let answer = chosen(&options(&one), words.trim()).unwrap_or_else(|| words.trim().to_owned());
        json!({"answer": answer})
    } else {
        match serde_json::from_str(words) {
            Ok(Value::Object(fields)) if text(&one, "kind") == "blocks" && !fields.contains_key("action") => {
                json!({"action": "submit", "data": fields})
            }
            Ok(Value::Object(fields)) => fields.into(),
            _ => bail!("what was shown is answered with a JSON object, such as {{\"field\": \"value\"}}"),
        }
    };
    let ended = send(client, id, Some(body)).await?;
    match ended["answer"]["answer"].as_str() {
        Some(answer) => put(format_args!("answered: {}\n", plain(answer)))?,
        None => put(format_args!("answered\n"))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_chosen_by_number_or_words() {
        let options: Vec<String> = ["Red", "blue", "2"].map(str::to_owned).into();
        for (line, expected) in [
            ("1", Some("Red")),
            ("2", Some("2")),
            ("3", Some("2")),
            ("red", Some("Red")),
            ("BLUE", Some("blue")),
            ("0", None),
            ("4", None),
            ("green", None),
        ] {
            assert_eq!(chosen(&options, line).as_deref(), expected, "{line}");
        }
        assert_eq!(chosen(&[], "7").as_deref(), Some("7"));
    }

    #[test]
    fn what_is_typed_becomes_a_value() {
        let options = ["S".to_owned(), "M".to_owned()];
        for (kind, line, expected) in [
            ("number", "7", Some(json!(7))),
            ("number", "-1,5", Some(json!(-1.5))),
            ("number", "inf", None),
            ("number", "seven", None),
            ("checkbox", "Y", Some(json!(true))),
            ("checkbox", "no", Some(json!(false))),
            ("checkbox", "perhaps", None),
            ("select", "2", Some(json!("M"))),
            ("select", "L", None),
            ("text", "7", Some(json!("7"))),
            ("date", "2026-11-20", Some(json!("2026-11-20"))),
        ] {
            assert_eq!(typed(kind, &options, line).ok(), expected, "{kind} {line}");
        }
    }
}
