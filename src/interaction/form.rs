//! The fields of a form, and validation of what a person submits.

use jiff::civil::Date;
use serde_json::Map;
use std::collections::HashSet;
use tool::prelude::*;

/// The most fields of a form, and the most choices of a field.
const FIELDS: usize = 50;
const CHOICES: usize = 100;
/// The longest name, and the longest label or choice, in characters.
const NAME: usize = 64;
const WORDS: usize = 200;
/// The longest text in a field, in bytes.
const TEXT: usize = 16 * 1024;

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Its key in the submitted data.
    pub name: String,
    /// The text beside it.
    pub label: String,
    /// The type of its value.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// The choices of a select.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whether it must be filled in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Its initial value.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub default: Value,
}

/// The type of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// A line.
    Text,
    /// A number.
    Number,
    /// One of the choices.
    Select,
    /// Yes or no.
    Checkbox,
    /// Several lines.
    Textarea,
    /// A day, as 2026-11-20.
    Date,
}

/// Checks the fields of the form at `at` (`blocks[2]`).
///
/// # Errors
/// `BadArgs` that names the field.
pub(crate) fn check(at: &str, fields: &[Field]) -> Result<()> {
    if fields.is_empty() || fields.len() > FIELDS {
        return Err(Error::bad_args(format!("`{at}.fields`: a form has 1 to {FIELDS} fields, not {}", fields.len())));
    }
    let mut names = HashSet::new();
    for (n, field) in fields.iter().enumerate() {
        let wrong = |part: &str, why: String| Err(Error::bad_args(format!("`{at}.fields[{n}]{part}`: {why}")));
        let (name, label) = (field.name.trim(), field.label.trim());
        if name.is_empty() || name.chars().count() > NAME || name != field.name {
            return wrong(".name", format!("expected 1 to {NAME} characters without spaces around them"));
        }
        if !names.insert(name) {
            return wrong(".name", format!("`{name}` is taken by a field before it: choose another"));
        }
        if label.is_empty() || label.chars().count() > WORDS {
            return wrong(".label", format!("expected 1 to {WORDS} characters"));
        }
        let mut seen = HashSet::new();
        match field.kind {
            FieldType::Select if field.options.is_empty() || field.options.len() > CHOICES => {
                return wrong(".options", format!("a select needs 1 to {CHOICES} of them"));
            }
            FieldType::Select => {
                for (c, option) in field.options.iter().enumerate() {
                    if option.trim().is_empty() || option.chars().count() > WORDS {
                        return wrong(&format!(".options[{c}]"), format!("expected 1 to {WORDS} characters"));
                    }
                    if !seen.insert(option) {
                        return wrong(&format!(".options[{c}]"), "it is there already".into());
                    }
                }
            }
            _ if !field.options.is_empty() => {
                return wrong(".options", "only a select has options: leave them out, or make it a select".into());
            }
            _ => {}
        }
        if !field.default.is_null()
            && let Err(why) = check_value(field, &field.default)
        {
            return wrong(".default", why);
        }
    }
    Ok(())
}

/// Validates submitted data. A checkbox that was not sent is off; empty fields are left out.
///
/// # Errors
/// `Failed` that begins with the name of the field.
pub(crate) fn parse_submission(fields: &[Field], mut data: Map<String, Value>) -> Result<Map<String, Value>> {
    let mut taken = Map::new();
    for field in fields {
        let name = &field.name;
        let wrong = |why: &str| Err(Error::failed(format!("`{name}`: {why}")));
        let value = match data.remove(name) {
            None | Some(Value::Null) if field.kind == FieldType::Checkbox => false.into(),
            None | Some(Value::Null) => Value::Null,
            Some(Value::String(text)) if text.trim().is_empty() => Value::Null,
            Some(value) => value,
        };
        if value.is_null() {
            if field.required {
                return wrong("this has to be filled in");
            }
            continue;
        }
        if let Err(why) = check_value(field, &value) {
            return wrong(&why);
        }
        taken.insert(name.clone(), value);
    }
    if let Some(name) = data.keys().next() {
        let name: String = name.chars().take(NAME).collect();
        return Err(Error::failed(format!("`{name}`: the form has no such field: leave it out")));
    }
    Ok(taken)
}

/// Checks a value against its field.
///
/// # Errors
/// What is expected, as a phrase.
fn check_value(field: &Field, value: &Value) -> Result<(), String> {
    let expected = match (field.kind, value) {
        (FieldType::Text | FieldType::Textarea, Value::String(text)) if text.len() > TEXT => {
            "a shorter text (16 KB at most)"
        }
        (FieldType::Text, Value::String(text)) if text.contains('\n') => "a single line",
        (FieldType::Text | FieldType::Textarea, Value::String(_)) => return Ok(()),
        (FieldType::Text | FieldType::Textarea, _) => "text",
        (FieldType::Number, Value::Number(_)) => return Ok(()),
        (FieldType::Number, _) => "a number",
        (FieldType::Checkbox, Value::Bool(_)) => return Ok(()),
        (FieldType::Checkbox, _) => "true or false",
        (FieldType::Select, Value::String(text)) if field.options.contains(text) => return Ok(()),
        (FieldType::Select, _) => return Err(format!("expected one of {}", field.options.join(", "))),
        (FieldType::Date, Value::String(text)) if is_day(text) => return Ok(()),
        (FieldType::Date, _) => "a day such as 2026-11-20",
    };
    Err(format!("expected {expected}"))
}

fn is_day(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(n, b)| if n == 4 || n == 7 { b == b'-' } else { b.is_ascii_digit() });
    shape && text.parse::<Date>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: Value) -> Vec<Field> {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_form_that_cannot_be_filled_in_is_refused_by_the_place_that_is_wrong() {
        let one = |more: Value| {
            let mut field = json!({"name": "a", "label": "A", "type": "text"});
            field.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!([field])
        };
        let many: Vec<Value> =
            (0..51).map(|n| json!({"name": format!("f{n}"), "label": "F", "type": "text"})).collect();
        for (form, why) in [
            (json!([]), "`blocks[2].fields`: a form has 1 to 50"),
            (json!(many), "`blocks[2].fields`: a form has 1 to 50 fields, not 51"),
            (one(json!({"name": " "})), "`blocks[2].fields[0].name`"),
            (one(json!({"name": "a "})), "`blocks[2].fields[0].name`"),
            (one(json!({"name": "x".repeat(65)})), "`blocks[2].fields[0].name`"),
            (one(json!({"label": ""})), "`blocks[2].fields[0].label`"),
            (one(json!({"options": ["x"]})), "`blocks[2].fields[0].options`: only a select"),
            (one(json!({"type": "select"})), "`blocks[2].fields[0].options`: a select needs"),
            (one(json!({"type": "select", "options": ["x", "x"]})), "`blocks[2].fields[0].options[1]`: it is there"),
            (one(json!({"type": "select", "options": ["x", " "]})), "`blocks[2].fields[0].options[1]`"),
            (one(json!({"type": "select", "options": ["x"], "default": "y"})), "fields[0].default`: expected one of x"),
            (one(json!({"type": "number", "default": "7"})), "`blocks[2].fields[0].default`: expected a number"),
            (one(json!({"type": "date", "default": "2026-02-30"})), "`blocks[2].fields[0].default`: expected a day"),
            (
                json!([{"name": "a", "label": "A", "type": "text"}, {"name": "a", "label": "B", "type": "date"}]),
                "`blocks[2].fields[1].name`: `a` is taken",
            ),
        ] {
            match check("blocks[2]", &fields(form.clone())) {
                Err(Error::BadArgs(text)) => assert!(text.contains(why), "{form}: {text}"),
                other => panic!("{form}: {other:?}"),
            }
        }
        check("blocks[0]", &fields(one(json!({"default": "x", "required": true})))).unwrap();
    }

    #[test]
    fn what_is_submitted_fits_the_fields_or_the_field_is_named() {
        let form = fields(json!([
            {"name": "who", "label": "Who", "type": "text", "required": true},
            {"name": "age", "label": "Age", "type": "number"},
            {"name": "size", "label": "Size", "type": "select", "options": ["S", "M"]},
            {"name": "sure", "label": "Sure", "type": "checkbox", "required": true},
            {"name": "more", "label": "More", "type": "textarea"},
            {"name": "day", "label": "Day", "type": "date"},
        ]));
        let sent = |json: Value| parse_submission(&form, json.as_object().unwrap().clone()).map(Value::Object);
        for (given, taken) in [
            (json!({"who": "Nora"}), json!({"who": "Nora", "sure": false})),
            (
                json!({"who": "Nora", "age": 7.5, "size": "M", "sure": true, "more": "a\nb", "day": "2028-02-29"}),
                json!({"who": "Nora", "age": 7.5, "size": "M", "sure": true, "more": "a\nb", "day": "2028-02-29"}),
            ),
            (json!({"who": "N", "age": null, "size": "", "day": " "}), json!({"who": "N", "sure": false})),
        ] {
            assert_eq!(sent(given.clone()).unwrap(), taken, "{given}");
        }
        for (given, why) in [
            (json!({}), "`who`: this has to be filled in"),
            (json!({"who": "  "}), "`who`: this has to be filled in"),
            (json!({"who": 7}), "`who`: expected text"),
            (json!({"who": "a\nb"}), "`who`: expected a single line"),
            (json!({"who": "x".repeat(TEXT + 1)}), "`who`: expected a shorter text"),
            (json!({"who": "N", "age": "7"}), "`age`: expected a number"),
            (json!({"who": "N", "size": "L"}), "`size`: expected one of S, M"),
            (json!({"who": "N", "sure": "yes"}), "`sure`: expected true or false"),
            (json!({"who": "N", "day": "2027-02-29"}), "`day`: expected a day"),
            (json!({"who": "N", "day": "20270228"}), "`day`: expected a day"),
            (json!({"who": "N", "day": "2027-2-280"}), "`day`: expected a day"),
            (json!({"who": "N", "else": 1}), "`else`: the form has no such field"),
        ] {
            match sent(given.clone()) {
                Err(Error::Failed(text)) => assert!(text.starts_with(why), "{given}: {text}"),
                other => panic!("{given}: {other:?}"),
            }
        }
    }
}
