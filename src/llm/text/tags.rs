//! Calls written as tags: `<function=NAME>`, `<invoke name="NAME">`, and keys and values in tags of their own.

use super::{
    input::{Input, Stop, Taken},
    known::{Call, KnownTools},
};
use serde_json::{Map, Value};

/// Maximum length of an opening tag.
const LONGEST_TAG: usize = 200;
/// Values are only limited by the maximum length of a form.
const LONGEST_VALUE: usize = usize::MAX / 2;

/// `<function=NAME>{…}</function>`, or with a `<parameter=KEY>` for each argument.
pub(super) fn function(input: &mut Input, known: &KnownTools) -> Taken<Call> {
    const CLOSE: &str = "</function>";
    input.lit("<function=")?;
    let name = known.name(input.until(">", LONGEST_TAG)?).ok_or(Stop::No)?;
    input.space();
    if input.peek()? == '{' {
        let call = input.arguments(known, name, &[CLOSE, "</tool_call>"])?;
        input.space();
        input.opt(CLOSE)?;
        return Ok(call);
    }
    let mut arguments = Map::new();
    loop {
        input.space();
        if input.opt(CLOSE)? {
            break;
        }
        if !input.opt("<parameter=")? {
            // The closing tag may be missing, but not the content too.
            if arguments.is_empty() {
                return Err(Stop::No);
            }
            break;
        }
        let key = input.until(">", LONGEST_TAG)?.trim().trim_matches('"');
        let value = value(input, "</parameter>", CLOSE)?;
        arguments.insert(key.to_owned(), known.typed(name, key, value));
    }
    Ok(known.call(name, Value::Object(arguments)))
}

/// `<invoke name="NAME">` with a `<parameter name="KEY">` for each argument; possibly several within
/// `<function_calls>`. Tags may have a namespace.
pub(super) fn invokes(input: &mut Input, known: &KnownTools) -> Taken<Vec<Call>> {
    let mut around = *input;
    let space = match open(&mut around, "function_calls") {
        Ok((space, _)) => {
            *input = around;
            Some(space)
        }
        Err(Stop::Maybe) => return Err(Stop::Maybe),
        Err(Stop::No) => None,
    };
    let Some(space) = space else { return Ok(vec![invoke(input, known)?]) };
    let close = format!("</{space}function_calls>");
    let mut calls = vec![];
    loop {
        input.space();
        if !calls.is_empty() && (input.opt(&close)? || !input.text.starts_with('<')) {
            return Ok(calls);
        }
        let before = *input;
        match invoke(input, known) {
            Ok(call) => calls.push(call),
            Err(Stop::No) if !calls.is_empty() => {
                *input = before;
                return Ok(calls);
            }
            Err(stop) => return Err(stop),
        }
    }
}

/// One `<invoke name="NAME">…</invoke>`.
pub(super) fn invoke(input: &mut Input, known: &KnownTools) -> Taken<Call> {
    let (space, name) = open(input, "invoke")?;
    let name = known.name(name).ok_or(Stop::No)?;
    let (ends, ends_value) = (format!("</{space}invoke>"), format!("</{space}parameter>"));
    input.space();
    if input.peek()? == '{' {
        let call = input.arguments(known, name, &[&ends])?;
        input.space();
        input.opt(&ends)?;
        return Ok(call);
    }
    let mut arguments = Map::new();
    loop {
        input.space();
        if input.text.is_empty() && input.ended || input.opt(&ends)? {
            break;
        }
        let (_, key) = open(input, "parameter")?;
        let value = value(input, &ends_value, &ends)?;
        arguments.insert(key.to_owned(), known.typed(name, key, value));
    }
    Ok(known.call(name, Value::Object(arguments)))
}

/// `NAME`, then pairs of `<arg_key>` and `<arg_value>`; or a call as in Python. Occurs within marks.
pub(super) fn keyed(input: &mut Input, known: &KnownTools, close: &str) -> Taken<Call> {
    let before = *input;
    let written = input.name()?;
    if input.text.starts_with('(') {
        *input = before;
        return super::pythonic::call(input, known);
    }
    let name = known.name(written).ok_or(Stop::No)?;
    input.space();
    let mut arguments = Map::new();
    while input.opt("<arg_key>")? {
        let key = input.until("</arg_key>", LONGEST_TAG)?.trim();
        input.space();
        input.lit("<arg_value>")?;
        let value = input.until("</arg_value>", LONGEST_VALUE)?.trim();
        arguments.insert(key.to_owned(), known.typed(name, key, value));
        input.space();
    }
    if input.peek() == Ok('{') {
        return input.arguments(known, name, &[close]);
    }
    if arguments.is_empty() && !input.opt(close)? {
        return Err(Stop::No);
    }
    Ok(known.call(name, Value::Object(arguments)))
}

/// The opening tag of that word: its namespace with the colon, and its attribute `name`.
fn open<'t>(input: &mut Input<'t>, word: &str) -> Taken<(&'t str, &'t str)> {
    input.lit("<")?;
    let text = input.text;
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | ':'));
    let tag = &text[..end.unwrap_or(text.len())];
    let (space, plain) = tag.split_at(tag.find(':').map_or(0, |colon| colon + 1));
    match end {
        // A namespace is a short word.
        None if word.starts_with(plain) || (space.is_empty() && tag.len() <= 12) => return input.wait(),
        Some(_) if plain == word => {}
        _ => return Err(Stop::No),
    }
    input.skip(tag.len());
    let attributes = input.until(">", LONGEST_TAG)?;
    let name = attributes.split_once("name=").map_or("", |(_, name)| name);
    let name = name.trim_start_matches(['"', '\'']).split(['"', '\'', ' ', '/']).next().unwrap_or_default();
    Ok((space, name))
}

/// The text of a value up to its closing tag, or to the call's if its own is missing, without surrounding line
/// breaks.
fn value<'t>(input: &mut Input<'t>, close: &str, ends: &str) -> Taken<&'t str> {
    let text = input.text;
    let (own, all) = (text.find(close), text.find(ends));
    let value = match (own, all) {
        (Some(own), all) if all.is_none_or(|all| own < all) => input.until(close, LONGEST_VALUE)?,
        (_, Some(all)) => {
            input.skip(all);
            &text[..all]
        }
        _ => return input.wait(),
    };
    let value = value.strip_prefix('\n').unwrap_or(value);
    Ok(value.strip_suffix('\n').unwrap_or(value))
}
