//! Unmarked calls: JSON or Python that is the whole answer, or the only fenced block after a sentence.

use super::{
    forms::{self, ParsedPrefix, TextPosition},
    input::{Input, Stop, Taken},
    known::{Call, KnownTools},
    pythonic,
};

/// Maximum length of a fence's info string.
const LONGEST_INFO: usize = 24;
/// How much of the preceding text is considered, in bytes.
const LOOKBACK: usize = 240;
/// Maximum length of the sentence before a fenced call.
const LONGEST_SENTENCE: usize = 200;
/// A shorter first sentence is an exclamation such as "Sure!".
const EXCLAMATION: usize = 16;

/// The text emitted so far.
#[derive(Default)]
pub(super) struct EmittedText {
    tail: String,
    cut: bool,
}

impl EmittedText {
    pub fn push(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > 4 * LOOKBACK {
            self.cut = true;
            self.tail.drain(..self.tail.ceil_char_boundary(self.tail.len() - LOOKBACK));
        }
    }

    /// Whether only whitespace was emitted.
    pub fn is_blank(&self) -> bool {
        !self.cut && self.tail.trim().is_empty()
    }

    /// Whether nothing was emitted, not even whitespace.
    pub fn is_empty(&self) -> bool {
        self.tail.is_empty()
    }

    pub fn ends_with(&self, c: char) -> bool {
        self.tail.ends_with(c)
    }

    /// Whether it is one sentence at most.
    fn is_sentence(&self) -> bool {
        let text = self.tail.trim();
        let ends = text.char_indices().filter(|(at, c)| {
            let more = text[at + c.len_utf8()..].trim_start() != "";
            let ends = text[at + c.len_utf8()..].starts_with(char::is_whitespace) && matches!(c, '.' | '!' | '?');
            more && ends && *at > EXCLAMATION
        });
        !self.cut && text.len() <= LONGEST_SENTENCE && ends.count() == 0 && !text.contains("\n\n")
    }

    /// Whether its last words announce an example.
    fn announces_example(&self) -> bool {
        const WORDS: &[&str] =
            &["example", "for instance", "e.g.", "looks like", "look like", "syntax", "you can write", "you would"];
        let from = self.tail.ceil_char_boundary(self.tail.len().saturating_sub(LOOKBACK));
        let last = self.tail[from..].trim().to_lowercase();
        let paragraph = last.rsplit("\n\n").next().unwrap_or_default();
        WORDS.iter().any(|word| paragraph.contains(word))
    }
}

/// Parses a call that is the whole answer; decided at its end.
pub(super) fn whole(input: &mut Input, known: &KnownTools) -> Taken<Vec<Call>> {
    let calls = unmarked(input, known, &["<|eom_id|>", "<|eot_id|>", "<|im_end|>", "</s>"])?;
    input.space();
    while forms::end_of_message(input)? {
        input.space();
    }
    nothing_follows(input)?;
    Ok(calls)
}

fn nothing_follows(input: &mut Input) -> Taken<()> {
    input.space();
    match (input.text.is_empty(), input.ended) {
        (true, true) => Ok(()),
        (true, false) => Err(Stop::Maybe),
        (false, _) => Err(Stop::No),
    }
}

/// Parses JSON or Python that is a call.
fn unmarked(input: &mut Input, known: &KnownTools, closes: &[&str]) -> Taken<Vec<Call>> {
    match input.peek()? {
        '{' => {}
        '[' => {
            let mut inner = *input;
            inner.skip(1);
            inner.space();
            if !matches!(inner.peek()?, '{') {
                return pythonic::list(input, known);
            }
        }
        _ => return Err(Stop::No),
    }
    if !known.may_be_call(input.text) {
        return Err(Stop::No);
    }
    forms::json(input, closes, known)
}

/// Parses a fenced block that is a call: with marks of its own, or the only one after a sentence.
pub(super) fn fenced(input: &mut Input, known: &KnownTools, shown: &EmittedText) -> Taken<ParsedPrefix> {
    input.lit("```")?;
    let info = input.until("\n", LONGEST_INFO)?.trim();
    if !info.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) || shown.announces_example() {
        return Err(Stop::No);
    }
    input.space();
    let first = input.peek()?;
    if first == '<' || input.text.starts_with("[T") || input.text == "[" && !input.ended {
        return marked(input, known);
    }
    if !shown.is_sentence() {
        return Err(Stop::No);
    }
    let calls = match (first, info) {
        ('{' | '[', _) => unmarked(input, known, &["\n```"])?,
        (_, "tool_code" | "tool_call") => vec![pythonic::call(input, known)?],
        _ => return Err(Stop::No),
    };
    input.space();
    input.opt("```")?;
    nothing_follows(input)?;
    Ok(ParsedPrefix::Calls(calls))
}

/// Parses marked calls within a fence, and the fence's end.
fn marked(input: &mut Input, known: &KnownTools) -> Taken<ParsedPrefix> {
    let mut calls = vec![];
    loop {
        input.space();
        if !calls.is_empty() && (input.opt("```")? || input.text.is_empty()) {
            return Ok(ParsedPrefix::Calls(calls));
        }
        let called = !calls.is_empty();
        match forms::marked(input, known, TextPosition { line: true, marked: called, called })? {
            ParsedPrefix::Calls(more) => calls.extend(more),
            ParsedPrefix::Mark => {}
            _ => return Err(Stop::No),
        }
    }
}
