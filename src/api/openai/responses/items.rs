//! Converts the items of a request to chat messages.

use super::super::{
    Refusal,
    wire::{Call, Called, Role, Said, function},
};
use serde_json::{Value, json};

/// Converts instructions and input to messages.
///
/// # Errors
/// 400 for an unknown item.
pub(super) fn said(instructions: Option<&str>, input: &Value) -> Result<Vec<Said>, Refusal> {
    let mut all: Vec<Said> = instructions.map(|text| plain(Role::System, text.into())).into_iter().collect();
    match input {
        Value::String(text) => all.push(plain(Role::User, text.as_str().into())),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                add(&mut all, item).map_err(|text| Refusal::of(&format!("input[{n}]"), text))?;
            }
        }
        _ => return Err(Refusal::of("input", "`input` is a text, or a list of items")),
    }
    Ok(all)
}

fn plain(role: Role, content: Value) -> Said {
    Said { role, content, tool_calls: None, tool_call_id: None, refusal: None }
}

fn add(all: &mut Vec<Said>, item: &Value) -> Result<(), String> {
    let text = |name: &str| item[name].as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` is missing"));
    match item["type"].as_str() {
        None | Some("message") => {
            let role = match item["role"].as_str() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                Some("system") => Role::System,
                Some("developer") => Role::Developer,
                _ => return Err("a message has the role `user`, `assistant`, `system` or `developer`".to_owned()),
            };
            let content = content_of(&item["content"])?;
            match all.last_mut() {
                // The text of a turn belongs to its calls.
                Some(last) if role == Role::Assistant && last.role == role && last.content.is_null() => {
                    last.content = content;
                }
                _ => all.push(plain(role, content)),
            }
        }
        Some("function_call") => {
            let called = Called { name: text("name")?, arguments: text("arguments")? };
            let call = Call { id: text("call_id")?, kind: function(), function: called };
            match all.last_mut() {
                Some(last) if last.role == Role::Assistant => last.tool_calls.get_or_insert_default().push(call),
                _ => all.push(Said { tool_calls: Some(vec![call]), ..plain(Role::Assistant, Value::Null) }),
            }
        }
        Some("function_call_output") => {
            let output = match &item["output"] {
                Value::String(text) => text.as_str().into(),
                parts => content_of(parts)?,
            };
            all.push(Said { tool_call_id: Some(text("call_id")?), ..plain(Role::Tool, output) });
        }
        // Reasoning of another model is ignored.
        Some("reasoning") => {}
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(format!(
                "items of the type `{other}` are not understood here: send messages, `function_call` and \
                 `function_call_output`"
            ));
        }
    }
    Ok(())
}

/// Converts content to the format of chat completions.
fn content_of(content: &Value) -> Result<Value, String> {
    match content {
        Value::String(_) => Ok(content.clone()),
        Value::Array(parts) => parts.iter().map(part_of).collect::<Result<_, _>>().map(Value::Array),
        _ => Err("`content` is a text, or a list of parts".to_owned()),
    }
}

fn part_of(part: &Value) -> Result<Value, String> {
    let here = "send it in the message itself, there are no files to name by `file_id`";
    match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => Ok(json!({"type": "text", "text": part["text"]})),
        Some("refusal") => Ok(json!({"type": "refusal", "refusal": part["refusal"]})),
        Some("input_image") if part["image_url"].is_string() => {
            Ok(json!({"type": "image_url", "image_url": {"url": part["image_url"]}}))
        }
        Some("input_image") => Err(format!("a picture has an `image_url`: {here}")),
        Some("input_file") if part["file_data"].is_string() => {
            Ok(json!({"type": "file", "file": {"filename": part["filename"], "file_data": part["file_data"]}}))
        }
        Some("input_file") => Err(format!("a file has `file_data`: {here}")),
        Some("input_audio") => Ok(part.clone()),
        other => {
            let other: String = other.unwrap_or_default().chars().take(40).collect();
            Err(format!("parts of the type `{other}` are not understood here: send `input_text` or `input_image`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_messages() {
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
        let input = json!([
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b", "annotations": []}]},
            {"type": "reasoning", "summary": []},
            call("1"), call("2"),
            {"type": "function_call_output", "call_id": "1", "output": "x"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "y"}]},
            call("3"),
        ]);
        let all = said(Some("be brief"), &input).unwrap();
        let calls: Vec<usize> = all.iter().map(|s| s.tool_calls.as_ref().map_or(0, Vec::len)).collect();
        assert_eq!(calls, [0, 0, 2, 0, 0, 1]);
        assert_eq!((&all[0].content, &all[2].content[0]["text"]), (&json!("be brief"), &json!("b")));
        assert_eq!(said(None, &json!("hi")).unwrap().len(), 1);
        for wrong in [
            json!(7),
            json!([{"role": "robot", "content": "x"}]),
            json!([{"type": "item_reference", "id": "x"}]),
            json!([{"type": "function_call", "name": "f"}]),
            json!([{"role": "user", "content": [{"type": "input_image", "file_id": "x"}]}]),
            json!([{"role": "user", "content": 5}]),
        ] {
            assert!(said(None, &wrong).is_err(), "{wrong}");
        }
    }
}
