//! Calls as Python writes them: `[recall(query="keys"), gpio_read(pin=4)]`.

use super::{
    input::{Input, Stop, Taken},
    known::{Call, KnownTools},
    loose::{self, Fault},
};
use serde_json::{Map, Value};

/// Parses a bracketed list of calls.
pub(super) fn list(input: &mut Input, known: &KnownTools) -> Taken<Vec<Call>> {
    input.lit("[")?;
    let mut calls = vec![];
    loop {
        input.space();
        if !calls.is_empty() && input.opt("]")? {
            return Ok(calls);
        }
        calls.push(call(input, known)?);
        input.space();
        if input.peek()? != ']' {
            input.lit(",")?;
        }
    }
}

/// Parses one call.
pub(super) fn call(input: &mut Input, known: &KnownTools) -> Taken<Call> {
    let begun = input.text;
    let written = input.name().map_err(|stop| match stop {
        // Prose is distinguished at the first letters that no tool name has.
        Stop::Maybe if !begun.is_empty() && !known.may_become(begun) && !begun.contains('.') => Stop::No,
        stop => stop,
    })?;
    let name = known.name(written.strip_suffix(".call").unwrap_or(written)).ok_or(Stop::No)?;
    input.lit("(")?;
    let (mut arguments, mut places) = (Map::new(), known.required(name).into_iter());
    loop {
        input.space();
        if input.opt(")")? {
            break;
        }
        let mut keyed = *input;
        let key = match keyed.name() {
            Ok(key) => {
                keyed.space();
                match keyed.opt("=")? {
                    true => {
                        *input = keyed;
                        Some(key.to_owned())
                    }
                    false => None,
                }
            }
            Err(Stop::Maybe) => return Err(Stop::Maybe),
            Err(Stop::No) => None,
        };
        let key = key.or_else(|| places.next().map(str::to_owned)).ok_or(Stop::No)?;
        let (value, len) = loose::value(input.text).map_err(|fault| match fault {
            Fault::Short { .. } if !input.ended => Stop::Maybe,
            _ => Stop::No,
        })?;
        input.skip(len);
        arguments.insert(key, value);
        input.space();
        if input.peek()? != ')' {
            input.lit(",")?;
        }
    }
    Ok(known.call(name, Value::Object(arguments)))
}
