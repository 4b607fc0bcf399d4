//! Interactions at the terminal: questions, blocks and forms are printed as text, asked line by line, and answered.

use super::{
    client::Client,
    input::{Asked, Input, Line},
    show,
    terminal::{has_person, plain, put},
};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use text_kit::percent_encode;

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Asks the person at the terminal a question of the stream; without a person, prints how to answer.
pub async fn ask_at_terminal(client: &Client, input: &mut Input, ask: &Value) -> Result<Asked> {
    let (id, options) = (text(ask, "id"), options(ask));
    input.screen.note(&question_text(ask));
    if !has_person() {
        input.screen.note(&format!("  answer with `hob answer {id} TEXT`"));
        return Ok(Asked::Open);
    }
    let prompt = match options.len() {
        0 => "  your answer (nothing puts it aside): ".to_owned(),
        count => format!("  1 to {count} (nothing puts it aside): "),
    };
    loop {
        let line = match input.read_answer(&prompt).await? {
            Line::Text(line) => line,
            Line::Interrupted { .. } => return Ok(Asked::Interrupted),
            Line::End => {
                input.screen.note(&format!("  it stays open: answer with `hob answer {id} TEXT`"));
                return Ok(Asked::Open);
            }
        };
        if line.is_empty() {
            return send_answer(client, input, id, None).await;
        }
        match chosen(&options, &line) {
            Some(answer) => return send_answer(client, input, id, Some(json!({"answer": answer}))).await,
            None => input.screen.note("  choose one of these by its number"),
        }
    }
}

/// A question with its numbered options.
pub fn question_text(ask: &Value) -> String {
    format!("? {}", plain(text(ask, "question"))) + &numbered(&options(ask))
}

/// The options of a question, each on a line with its number.
fn numbered(options: &[String]) -> String {
    let line = |(n, option): (usize, &String)| format!("\n  {}. {}", n + 1, show::value(&json!(option)));
    options.iter().enumerate().map(line).collect()
}

fn options(ask: &Value) -> Vec<String> {
    list(ask, "options").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The option that was typed, by its number or its words; without options, the words.
fn chosen(options: &[String], line: &str) -> Option<String> {
    if options.is_empty() {
        return Some(line.to_owned());
    }
    let same = options.iter().find(|o| *o == line).or_else(|| options.iter().find(|o| o.eq_ignore_ascii_case(line)));
    let by_number = || options.get(line.parse::<usize>().ok()?.checked_sub(1)?);
    same.or_else(by_number).cloned()
}

/// Prints blocks of the stream and asks for the fields of a form. A view without a form is dismissed once it is printed.
pub async fn show_at_terminal(client: &Client, input: &mut Input, ui: &Value) -> Result<Asked> {
    let (id, title) = (text(ui, "id"), ui["title"].as_str());
    if text(ui, "kind") == "component" {
        let title = title.filter(|t| !t.is_empty()).unwrap_or("something to be used with the mouse");
        input.screen.note(&format!("? {}: open Hob's page to see and answer it", show::value(&json!(title))));
        return Ok(Asked::Open);
    }
    let blocks = list(ui, "blocks");
    let view = show::blocks(title, blocks);
    if !view.is_empty() {
        input.screen.end_line()?;
        put(format_args!("{view}\n"))?;
    }
    let Some(form) = blocks.iter().find(|b| text(b, "type") == "form") else {
        return send_answer(client, input, id, None).await;
    };
    if !has_person() {
        let names: Vec<&str> = list(form, "fields").iter().map(|f| text(f, "name")).collect();
        input.screen.note(&format!(
            "? {}: fill in {} with `hob answer {id} '{{\"field\": \"value\"}}'`",
            show::value(&form["submitLabel"]),
            plain(&names.join(", "))
        ));
        return Ok(Asked::Open);
    }
    let mut before = Map::new();
    loop {
        let data = match read_fields(input, form, &before).await? {
            Fields::Typed(data) => data,
            Fields::Interrupted => return Ok(Asked::Interrupted),
            Fields::End => {
                input.screen.note("  it stays open: see `hob interactions`");
                return Ok(Asked::Open);
            }
        };
        let prompt = format!("  {}? [y]es · [n]o, once more · [p]ut it aside: ", show::value(&form["submitLabel"]));
        let line = match input.read_answer(&prompt).await? {
            Line::Text(line) => line.to_lowercase(),
            Line::Interrupted { .. } => return Ok(Asked::Interrupted),
            Line::End => return Ok(Asked::Open),
        };
        let answer = match line.as_str() {
            "" | "y" | "yes" => Some(json!({"action": "submit", "data": data})),
            "p" | "put it aside" => None,
            _ => {
                before = data;
                continue;
            }
        };
        match send(client, id, answer).await {
            Ok(_) => return Ok(Asked::Settled),
            // Errors of a field are printed, and all fields are asked again with what was typed as their default.
            Err(error) if error.to_string().starts_with('`') => input.screen.note(&format!("  {error:#}")),
            Err(error) => {
                input.screen.note(&format!("  {error:#}"));
                return Ok(Asked::Settled);
            }
        }
        before = data;
    }
}

/// The fields of a form, or why there are none.
enum Fields {
    Typed(Map<String, Value>),
    Interrupted,
    End,
}

/// Asks for the fields of a form one by one. `before` has the values of the last attempt.
async fn read_fields(input: &mut Input, form: &Value, before: &Map<String, Value>) -> Result<Fields> {
    let mut data = Map::new();
    for field in list(form, "fields") {
        let (name, kind, options) = (text(field, "name"), text(field, "type"), options(field));
        let default = before.get(name).filter(|v| !v.is_null()).unwrap_or(&field["default"]);
        for (n, option) in options.iter().enumerate() {
            input.screen.note(&format!("    {}. {}", n + 1, show::value(&json!(option))));
        }
        let how = match kind {
            "number" => " (a number)",
            "checkbox" => " (y or n)",
            "date" => " (as 2026-11-20)",
            _ if !options.is_empty() => " (its number)",
            _ => "",
        };
        let is = match default {
            Value::Null => String::new(),
            Value::Bool(on) => format!(" [{}]", if *on { "y" } else { "n" }),
            other => format!(" [{}]", show::value(other)),
        };
        let prompt = format!("  {}{how}{is}: ", show::value(&field["label"]));
        let value = loop {
            let line = match input.read_answer(&prompt).await? {
                Line::Text(line) => line,
                Line::Interrupted { .. } => return Ok(Fields::Interrupted),
                Line::End => return Ok(Fields::End),
            };
            if line.is_empty() {
                // Enter takes the default.
                if default.is_null() && field["required"] == true && kind != "checkbox" {
                    input.screen.note("    this has to be filled in");
                    continue;
                }
                break default.clone();
            }
            match parse_value(kind, &options, &line) {
                Ok(value) => break value,
                Err(why) => input.screen.note(&format!("    {why}")),
            }
        };
        if !value.is_null() {
            data.insert(name.to_owned(), value);
        }
    }
    Ok(Fields::Typed(data))
}

/// Parses what was typed as the value of a field of this type.
fn parse_value(kind: &str, options: &[String], line: &str) -> Result<Value, &'static str> {
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
    let at = format!("/api/v1/interactions/{}", percent_encode(id));
    match answer {
        Some(answer) => client.data("POST", &format!("{at}/respond"), Some(answer)).await,
        None => client.data("POST", &format!("{at}/dismiss"), Some(json!({}))).await,
    }
}

/// Sends an answer, or dismisses. Somebody else may have answered meanwhile; that is printed and no failure of this chat.
async fn send_answer(client: &Client, input: &Input, id: &str, answer: Option<Value>) -> Result<Asked> {
    if let Err(error) = send(client, id, answer).await {
        input.screen.note(&format!("  {error:#}"));
    }
    Ok(Asked::Settled)
}

/// Lists open questions of one kind, `approvals` or `interactions`, each as `describe` puts it.
pub async fn list_open(client: &Client, kind: &str, json: bool, describe: impl Fn(&Value) -> String) -> Result<()> {
    let listed = client.data("GET", &format!("/api/v1/{kind}?limit=200"), None).await?;
    if json {
        return Ok(put(format_args!("{:#}\n", listed[kind]))?);
    }
    let open = list(&listed, kind);
    for one in open {
        put(format_args!("{}  {}\n", text(one, "id"), describe(one)))?;
    }
    if open.is_empty() {
        put(format_args!("nothing waits for an answer\n"))?;
    }
    Ok(())
}

/// Lists open interactions.
pub async fn interactions(client: &Client, json: bool) -> Result<()> {
    list_open(client, "interactions", json, |one| about(one) + &numbered(&options(one))).await
}

/// An interaction in a line.
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

/// Answers an interaction in words, by the number of an option, or with JSON; without any of these, dismisses it.
pub async fn answer(client: &Client, id: &str, words: &str) -> Result<()> {
    if words.trim().is_empty() {
        send(client, id, None).await?;
        put(format_args!("it is put aside\n"))?;
        return Ok(());
    }
    let one = client.data("GET", &format!("/api/v1/interactions/{}", percent_encode(id)), None).await?;
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
            assert_eq!(parse_value(kind, &options, line).ok(), expected, "{kind} {line}");
        }
    }
}
