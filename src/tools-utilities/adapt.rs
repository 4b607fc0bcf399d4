//! Adapt the arguments of tool aliases to the tools' own.

use tool::prelude::*;

pub(crate) fn extract_urls(args: Value) -> Value {
    with(args, "pattern", "urls")
}

pub(crate) fn extract_emails(args: Value) -> Value {
    with(args, "pattern", "emails")
}

pub(crate) fn extract_numbers(args: Value) -> Value {
    with(args, "pattern", "numbers")
}

pub(crate) fn validate_email(args: Value) -> Value {
    with(renamed(args, &["email"], "value"), "type", "email")
}

pub(crate) fn validate_url(args: Value) -> Value {
    with(renamed(args, &["url"], "value"), "type", "url")
}

pub(crate) fn test_regex(args: Value) -> Value {
    with(args, "operation", "test")
}

pub(crate) fn sort_list(args: Value) -> Value {
    with(renamed(args, &["list", "items"], "array"), "operation", "sort")
}

pub(crate) fn deduplicate(args: Value) -> Value {
    with(renamed(args, &["list", "items"], "array"), "operation", "unique")
}

pub(crate) fn calculate_statistics(args: Value) -> Value {
    renamed(args, &["values", "data"], "numbers")
}

/// Add a field unless it is present.
fn with(mut args: Value, field: &str, value: &str) -> Value {
    if let Some(fields) = args.as_object_mut() {
        fields.entry(field).or_insert_with(|| value.into());
    }
    args
}

/// Rename a field unless the new name is present.
fn renamed(mut args: Value, names: &[&str], name: &str) -> Value {
    if let Some(fields) = args.as_object_mut().filter(|fields| !fields.contains_key(name))
        && let Some(value) = names.iter().find_map(|other| fields.remove(*other))
    {
        fields.insert(name.into(), value);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_the_tools_own_and_their_own_stay() {
        type Adapt = fn(Value) -> Value;
        let rows: [(Adapt, Value, Value); 6] = [
            (validate_email, json!({"email": "a@b"}), json!({"value": "a@b", "type": "email"})),
            (validate_url, json!({"value": "x", "url": "y"}), json!({"value": "x", "url": "y", "type": "url"})),
            (sort_list, json!({"items": [2, 1]}), json!({"array": [2, 1], "operation": "sort"})),
            (test_regex, json!({"operation": "match"}), json!({"operation": "match"})),
            (extract_urls, json!("text"), json!("text")),
            (calculate_statistics, json!({"values": [1]}), json!({"numbers": [1]})),
        ];
        for (adapt, given, wanted) in rows {
            assert_eq!(adapt(given.clone()), wanted, "{given}");
        }
    }
}
