//! The marked forms in which model families write calls.

use super::{
    input::{Input, Stop, Taken},
    known::{Call, KnownTools},
    loose, pythonic, tags,
};
use serde_json::Value;

/// Maximum length of a message header in the harmony format.
const LONGEST_HEADER: usize = 240;

/// The parsed start of a text.
#[derive(Debug, PartialEq)]
pub(super) enum ParsedPrefix {
    /// Calls.
    Calls(Vec<Call>),
    /// The last call: what follows is invented, results included.
    LastCalls(Vec<Call>),
    /// Reasoning, up to the first of these.
    Thinks(&'static [&'static str]),
    /// A control token without meaning for people.
    Mark,
    /// Results invented by the model; what follows depends on them.
    MadeUp,
}

/// Marks around JSON.
const AROUND: &[(&str, &str)] = &[
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<toolcall>", "</toolcall>"),
    ("<function_call>", "</function_call>"),
    ("<functioncall>", "</functioncall>"),
    ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"),
];
/// Marks around reasoning.
const THOUGHTS: &[(&str, &[&str])] =
    &[("<think>", &["</think>"]), ("<thinking>", &["</thinking>"]), ("[THINK]", &["[/THINK]"])];
/// How results start; a model that writes one after its call invented it.
const RESULTS: &[&str] = &["<tool_result", "<tool_response", "<function_results", "<tool_output", "[TOOL_RESULTS]"];
/// Tokens that end a message.
const ENDS: &[&str] = &["end", "return", "call", "im_end", "eot_id", "eom_id", "end_of_turn", "end_of_sentence", "eos"];
const MESSAGE_ENDS: &[&str] = &["<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"];

/// The position of a text in an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextPosition {
    /// At the start of a line.
    pub line: bool,
    /// After a call, or between messages of the harmony format.
    pub marked: bool,
    /// After a call, so that a result may be invented.
    pub called: bool,
}

/// Parses a marked form at the start of a text.
pub(super) fn marked(input: &mut Input, known: &KnownTools, place: TextPosition) -> Taken<ParsedPrefix> {
    let start = *input;
    let mut undecided = false;
    let mut attempt = |form: &dyn Fn(&mut Input) -> Taken<ParsedPrefix>| {
        let mut here = start;
        match form(&mut here) {
            Ok(found) => Some((found, here)),
            Err(stop) => {
                undecided |= stop == Stop::Maybe;
                None
            }
        }
    };
    let calls = |form: &dyn Fn(&mut Input) -> Taken<Vec<Call>>, input: &mut Input| match known.is_empty() {
        true => Err(Stop::No),
        false => form(input).map(ParsedPrefix::Calls),
    };
    let found = attempt(&|i| thoughts(i, place))
        .or_else(|| attempt(&|i| calls(&|i| around(i, known), i)))
        .or_else(|| attempt(&|i| calls(&|i| tags::function(i, known).map(|call| vec![call]), i)))
        .or_else(|| attempt(&|i| calls(&|i| tags::invokes(i, known), i)))
        .or_else(|| attempt(&|i| tokens(i, known, place)))
        .or_else(|| attempt(&|i| calls(&|i| mistral(i, known), i)))
        .or_else(|| attempt(&|i| react(i, known, place).map(|call| ParsedPrefix::LastCalls(vec![call]))))
        .or_else(|| attempt(&|i| results(i, place)));
    match found {
        Some((found, rest)) => {
            *input = rest;
            Ok(found)
        }
        None if undecided => Err(Stop::Maybe),
        None => Err(Stop::No),
    }
}

/// Parses the start of reasoning; or a closing mark whose opening was in the prompt.
fn thoughts(input: &mut Input, place: TextPosition) -> Taken<ParsedPrefix> {
    if !place.line {
        return Err(Stop::No);
    }
    for (open, closes) in THOUGHTS {
        if input.opt(open)? {
            return Ok(ParsedPrefix::Thinks(closes));
        }
        if input.opt(closes[0])? {
            return Ok(ParsedPrefix::Mark);
        }
    }
    Err(Stop::No)
}

fn results(input: &mut Input, place: TextPosition) -> Taken<ParsedPrefix> {
    if place.marked && input.opt("</s>")? {
        return Ok(ParsedPrefix::Mark);
    }
    let any = RESULTS.iter().chain(["Observation:"].iter().filter(|_| place.line));
    for begin in any.filter(|_| place.called) {
        if input.opt(begin)? {
            return Ok(ParsedPrefix::MadeUp);
        }
    }
    Err(Stop::No)
}

/// `<tool_call>{"name": …, "arguments": …}</tool_call>` and similar.
fn around(input: &mut Input, known: &KnownTools) -> Taken<Vec<Call>> {
    let mut undecided = Err(Stop::No);
    for (open, close) in AROUND {
        let mut here = *input;
        match here.lit(open) {
            Ok(()) => {
                let calls = body(&mut here, close, known)?;
                *input = here;
                return Ok(calls);
            }
            Err(Stop::Maybe) => undecided = Err(Stop::Maybe),
            Err(Stop::No) => {}
        }
    }
    undecided
}

/// Parses the content of such marks, up to the closing one, which may be missing.
fn body(input: &mut Input, close: &str, known: &KnownTools) -> Taken<Vec<Call>> {
    input.space();
    let fenced = fence(input)?;
    let calls = match input.peek()? {
        '{' | '[' => json(input, &[close], known)?,
        '<' => {
            let mut calls = vec![];
            while input.text.starts_with('<') && !input.text.starts_with(close) {
                let before = *input;
                match tags::function(input, known).or_else(|stop| match stop {
                    Stop::No => tags::invoke(input, known),
                    Stop::Maybe => Err(stop),
                }) {
                    Ok(call) => calls.push(call),
                    Err(Stop::No) if !calls.is_empty() => {
                        *input = before;
                        break;
                    }
                    Err(stop) => return Err(stop),
                }
                input.space();
            }
            if calls.is_empty() {
                return Err(Stop::No);
            }
            calls
        }
        _ => vec![tags::keyed(input, known, close)?],
    };
    input.space();
    if fenced {
        input.opt("```")?;
        input.space();
    }
    input.opt(close)?;
    Ok(calls)
}

/// Parses the opening of a fence around JSON.
fn fence(input: &mut Input) -> Taken<bool> {
    let fenced = input.opt("```")?;
    if fenced {
        input.opt("json")?;
        input.space();
    }
    Ok(fenced)
}

/// Parses consecutive JSON values, each of them calls, up to one of `closes`.
pub(super) fn json(input: &mut Input, closes: &[&str], known: &KnownTools) -> Taken<Vec<Call>> {
    let mut calls = one_json(input, closes, known)?;
    loop {
        let mut next = *input;
        next.text = next.text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
        // A bracket may start a mark.
        let inner = next.text.strip_prefix('[').unwrap_or(next.text).trim_start();
        if inner.is_empty() && !next.ended {
            return Err(Stop::Maybe);
        }
        if !inner.starts_with('{') {
            return Ok(calls);
        }
        match one_json(&mut next, closes, known) {
            Ok(more) => calls.extend(more),
            Err(Stop::Maybe) => return Err(Stop::Maybe),
            Err(Stop::No) => return Ok(calls),
        }
        *input = next;
    }
}

fn one_json(input: &mut Input, closes: &[&str], known: &KnownTools) -> Taken<Vec<Call>> {
    if let Ok((value, len)) = loose::value(input.text) {
        let calls = known.calls(&value).ok_or(Stop::No)?;
        input.skip(len);
        input.over()?;
        return Ok(calls);
    }
    let body = input.broken(closes)?;
    let mended = loose::closed(body).filter(|_| !(input.cut && input.text.is_empty()));
    match mended.as_ref().and_then(|value| known.calls(value)) {
        Some(calls) => Ok(calls),
        None => Ok(vec![known.call_in_broken(body).ok_or(Stop::No)?]),
    }
}

/// Parses forms that start with a special token.
fn tokens(input: &mut Input, known: &KnownTools, place: TextPosition) -> Taken<ParsedPrefix> {
    let token = input.token()?;
    match token.as_str() {
        "start" | "channel" => harmony(input, known, token == "channel"),
        token if place.marked && ENDS.contains(&token) => Ok(ParsedPrefix::Mark),
        _ if known.is_empty() => Err(Stop::No),
        "python_tag" => {
            input.space();
            let calls = match input.peek()? {
                '{' | '[' => json(input, &["<|eom_id|>", "<|eot_id|>"], known)?,
                _ => vec![pythonic::call(input, known)?],
            };
            Ok(ParsedPrefix::Calls(calls))
        }
        "tool_call_start" => enclosed(input, &["<|tool_call_end|>"], known),
        "tool_call" => enclosed(input, &["<|/tool_call|>", "<|tool_call|>"], known),
        "start_action" => enclosed(input, &["<|END_ACTION|>"], known),
        "tool_calls_begin" | "tool_calls_section_begin" | "tool_call_begin" => {
            deepseek(input, known, token == "tool_call_begin").map(ParsedPrefix::Calls)
        }
        "tool_outputs_begin" | "tool_output_begin" if place.called => Ok(ParsedPrefix::MadeUp),
        _ => Err(Stop::No),
    }
}

/// Skips an end-of-message token, if there is one.
pub(super) fn end_of_message(input: &mut Input) -> Taken<bool> {
    let mut here = *input;
    match here.token() {
        Ok(token) if ENDS.contains(&token.as_str()) => {
            *input = here;
            Ok(true)
        }
        Err(Stop::Maybe) if !input.text.is_empty() => Err(Stop::Maybe),
        _ => Ok(false),
    }
}

fn enclosed(input: &mut Input, closes: &[&str], known: &KnownTools) -> Taken<ParsedPrefix> {
    input.space();
    if !matches!(input.peek()?, '{' | '[') {
        return Err(Stop::No);
    }
    let mut named = *input;
    let calls = match json(input, closes, known) {
        Err(Stop::No) => {
            let calls = pythonic::list(&mut named, known)?;
            *input = named;
            calls
        }
        other => other?,
    };
    input.space();
    for close in closes {
        if input.opt(close)? {
            break;
        }
    }
    Ok(ParsedPrefix::Calls(calls))
}

/// DeepSeek and Kimi: `<｜tool▁calls▁begin｜>`, then for each call
/// `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`, or `function` instead of the name and the name on the
/// next line.
fn deepseek(input: &mut Input, known: &KnownTools, mut begun: bool) -> Taken<Vec<Call>> {
    const CLOSES: &[&str] = &["```", "<｜tool▁call▁end｜>", "<|tool▁call▁end|>", "<|tool_call_end|>"];
    let mut calls = vec![];
    loop {
        input.space();
        let before = *input;
        if !begun {
            match input.token() {
                Ok(token) if token == "tool_call_begin" => {}
                Ok(token) if token.starts_with("tool_calls") && token.ends_with("end") && !calls.is_empty() => {
                    return Ok(calls);
                }
                Err(Stop::Maybe) => return Err(Stop::Maybe),
                // The end may be missing.
                _ if !calls.is_empty() => {
                    *input = before;
                    return Ok(calls);
                }
                _ => return Err(Stop::No),
            }
        }
        begun = false;
        let (name, separator) = input.until_token(LONGEST_HEADER)?;
        let name = match separator.as_str() {
            "tool_sep" if name.trim() == "function" => {
                input.space();
                input.name()?
            }
            "tool_sep" | "tool_call_argument_begin" => name,
            _ => return Err(Stop::No),
        };
        let name = known.name(name).ok_or(Stop::No)?;
        input.space();
        let fenced = fence(input)?;
        calls.push(input.arguments(known, name, CLOSES)?);
        input.space();
        if fenced {
            input.opt("```")?;
            input.space();
        }
        let before = *input;
        match input.token() {
            Ok(token) if token == "tool_call_end" => {}
            Err(Stop::Maybe) => return Err(Stop::Maybe),
            _ => *input = before,
        }
    }
}

/// gpt-oss: `<|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`; the channel
/// `analysis` is reasoning.
fn harmony(input: &mut Input, known: &KnownTools, in_channel: bool) -> Taken<ParsedPrefix> {
    let header = input.until("<|message|>", LONGEST_HEADER)?;
    let channel = if in_channel { Some(header) } else { header.split_once("<|channel|>").map(|(_, channel)| channel) };
    let channel = channel.map(|c| c.trim().split([' ', '<']).next().unwrap_or_default());
    if let Some((_, to)) = header.split_once("to=") {
        let name = known.name(to.split([' ', '<', '\n']).next().unwrap_or_default()).ok_or(Stop::No)?;
        input.space();
        let call = input.arguments(known, name, &["<|call|>", "<|end|>", "<|return|>"])?;
        return Ok(ParsedPrefix::Calls(vec![call]));
    }
    Ok(if channel == Some("analysis") { ParsedPrefix::Thinks(MESSAGE_ENDS) } else { ParsedPrefix::Mark })
}

/// Mistral: `[TOOL_CALLS][{…}]`, `[TOOL_CALLS]NAME[ARGS]{…}` and `[TOOL_CALLS]NAME{…}`.
fn mistral(input: &mut Input, known: &KnownTools) -> Taken<Vec<Call>> {
    const NEXT: &str = "[TOOL_CALLS]";
    input.lit(NEXT)?;
    input.space();
    if matches!(input.peek()?, '{' | '[') {
        return json(input, &[NEXT, "</s>"], known);
    }
    let name = known.name(input.name()?).ok_or(Stop::No)?;
    if input.opt("[CALL_ID]")? {
        input.name()?;
    }
    input.opt("[ARGS]")?;
    input.space();
    if input.peek()? != '{' {
        return Err(Stop::No);
    }
    Ok(vec![input.arguments(known, name, &[NEXT, "</s>"])?])
}

/// ReAct: a line `Action: NAME` and a line `Action Input: …`.
fn react(input: &mut Input, known: &KnownTools, place: TextPosition) -> Taken<Call> {
    if !place.line {
        return Err(Stop::No);
    }
    input.lit("Action:")?;
    let name = known.name(input.until("\n", LONGEST_HEADER)?).ok_or(Stop::No)?;
    input.space();
    input.lit("Action Input:")?;
    input.text = input.text.trim_start_matches([' ', '\t']);
    let on_next_line = input.peek()? == '\n';
    input.space();
    let fenced = fence(input)?;
    if input.peek()? == '{' {
        let call = input.arguments(known, name, &["\nObservation", "\nThought", "```"])?;
        if fenced {
            input.space();
            input.opt("```")?;
        }
        return Ok(call);
    }
    if on_next_line {
        return Ok(known.call(name, Value::Null));
    }
    let words = match input.text.split_once('\n') {
        Some((line, rest)) => {
            input.text = rest;
            line
        }
        None if input.ended => std::mem::take(&mut input.text),
        None => return Err(Stop::Maybe),
    };
    let words = words.trim();
    Ok(known.call(name, words.trim_matches('"').into()))
}
