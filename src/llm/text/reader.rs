//! Reads a streaming answer: text is passed on at once, possible calls are held back until decided.

use super::{
    bare::{self, EmittedText},
    forms::{self, ParsedPrefix, TextPosition},
    input::{Input, Stop, Taken},
    known::{Call, KnownTools},
};
use crate::{Delta, ToolCall};
use serde_json::Value;

/// Maximum length of a form; anything longer is text.
const LONGEST_FORM: usize = 64 * 1024;
/// Maximum whitespace held back, since it may precede a call.
const MOST_SPACE: usize = 64;
/// After this many overlong forms no more are parsed: each costs time.
const MOST_OVERLONG: u8 = 4;

/// The state of an answer.
pub(super) struct Reader {
    known: KnownTools,
    /// Whether text after a call is dropped: it was written before the result was known.
    calls_end: bool,
    buffer: String,
    /// Within reasoning: the marks of which the first ends it.
    thinks: Option<&'static [&'static str]>,
    shown: EmittedText,
    /// Within a code block.
    fenced: bool,
    /// After a call or mark, before further text.
    after_mark: bool,
    /// Whether marks of a chat format were seen.
    marked: bool,
    calls: Vec<Call>,
    /// Whether all further text is dropped.
    muted: bool,
    /// Minimum buffer length for the next attempt.
    wait_for: usize,
    overlong: u8,
    out: Vec<Delta>,
}

impl Reader {
    pub fn new(known: KnownTools, calls_end: bool) -> Self {
        Self {
            known,
            calls_end,
            buffer: String::new(),
            thinks: None,
            shown: EmittedText::default(),
            fenced: false,
            after_mark: false,
            marked: false,
            calls: vec![],
            muted: false,
            wait_for: 0,
            overlong: 0,
            out: vec![],
        }
    }

    /// Takes text and returns the deltas available so far.
    pub fn take(&mut self, text: &str) -> Vec<Delta> {
        self.buffer.push_str(text);
        if self.buffer.len() >= self.wait_for {
            self.read(false, false);
        }
        std::mem::take(&mut self.out)
    }

    /// The remaining deltas; `cut` if the answer was cut off.
    pub fn end(&mut self, cut: bool) -> Vec<Delta> {
        self.read(true, cut);
        std::mem::take(&mut self.out)
    }

    /// Whether the call was already parsed from the text: some servers parse it too.
    pub fn has(&self, call: &ToolCall) -> bool {
        let same = |arguments: &str| match (
            serde_json::from_str::<Value>(arguments),
            serde_json::from_str::<Value>(&call.arguments),
        ) {
            (Ok(one), Ok(other)) => one == other,
            _ => arguments == call.arguments,
        };
        self.calls.iter().any(|read| read.name == call.name && same(&read.arguments))
    }

    fn read(&mut self, ended: bool, cut: bool) {
        self.wait_for = 0;
        while !self.buffer.is_empty() {
            if self.muted {
                self.buffer.clear();
            } else if let Some(closes) = self.thinks {
                if !self.think(closes, ended) {
                    return;
                }
            } else if !self.words(ended, cut) {
                return;
            }
        }
    }

    /// Passes on reasoning; `false` if more input is needed.
    fn think(&mut self, closes: &[&str], ended: bool) -> bool {
        let found = closes.iter().filter_map(|close| Some((self.buffer.find(close)?, *close))).min();
        let (end, next) = match found {
            // At the start of the next message its own mark is parsed next.
            Some((at, "<|start|>" | "<|channel|>")) => (at, at),
            Some((at, close)) => (at, at + close.len()),
            None if ended => (self.buffer.len(), self.buffer.len()),
            None => {
                let begun = |close: &&str| (1..close.len()).rev().find(|n| self.buffer.ends_with(&close[..*n]));
                let held = closes.iter().filter_map(begun).max().unwrap_or(0);
                (self.buffer.len() - held, self.buffer.len() - held)
            }
        };
        let thought: String = self.buffer.drain(..next).collect();
        if end > 0 {
            self.out.push(Delta::Thinking(thought[..end].to_owned()));
        }
        if found.is_some() {
            (self.thinks, self.after_mark) = (None, true);
        }
        found.is_some()
    }

    /// Passes on text up to a possible form, or parses that form; `false` if more input is needed.
    fn words(&mut self, ended: bool, cut: bool) -> bool {
        let space = self.buffer.len() - self.buffer.trim_start().len();
        if space > MOST_SPACE {
            let over = self.buffer.floor_char_boundary(space - MOST_SPACE);
            self.say(over.max(1));
            return true;
        }
        if space == self.buffer.len() {
            match ended && self.calls.is_empty() {
                true => self.say(space),
                false if ended => self.buffer.clear(),
                false => return false,
            }
            return true;
        }
        let rest = &self.buffer[space..];
        let line = self.after_mark || self.buffer[..space].contains('\n') || self.begins_line();
        let begins = |c: char| matches!(c, '<' | '[' | '{' | '`') || line && matches!(c, 'A' | 'O');
        if !rest.starts_with(begins) {
            let stops = |c: char| c.is_whitespace() || matches!(c, '<' | '[' | '{' | '`');
            let end = rest.find(stops).unwrap_or(rest.len());
            self.say(space + end);
            return true;
        }
        let window = &rest[..rest.floor_char_boundary(LONGEST_FORM)];
        let whole = window.len() == rest.len();
        let mut input = Input { text: window, ended: ended && whole, cut };
        let ticked = space == 0 && !self.after_mark && self.shown.ends_with('`');
        let found = match self.look(&mut input, line, ticked) {
            Err(Stop::Maybe) if whole && window.len() < LONGEST_FORM => {
                self.wait_for = self.buffer.len() + 1 + rest.len() / 32;
                return false;
            }
            Err(Stop::Maybe) => {
                self.overlong = self.overlong.saturating_add(1);
                None
            }
            Err(Stop::No) => None,
            Ok(found) => Some(found),
        };
        let read = window.len() - input.text.len();
        match found {
            Some(found) => {
                self.buffer.drain(..space + read);
                self.keep(found);
            }
            None if line && rest.starts_with("```") => {
                self.fenced = !self.fenced;
                self.say(space + 3);
            }
            None => {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                self.say(space + first);
            }
        }
        if self.overlong >= MOST_OVERLONG {
            self.known = KnownTools::default();
        }
        true
    }

    fn begins_line(&self) -> bool {
        self.shown.is_empty() || self.shown.ends_with('\n')
    }

    /// Parses what a text starts with.
    fn look(&self, input: &mut Input, line: bool, ticked: bool) -> Taken<ParsedPrefix> {
        let fence = line && input.text.starts_with('`');
        if fence && (self.fenced || self.known.is_empty()) {
            input.lit("```")?;
            return Err(Stop::No);
        }
        if self.fenced || ticked {
            return Err(Stop::No);
        }
        if fence {
            return bare::fenced(input, &self.known, &self.shown);
        }
        let called = !self.calls.is_empty();
        let marked = self.marked || called;
        let before = *input;
        match forms::marked(input, &self.known, TextPosition { line, marked, called }) {
            Err(Stop::No) if self.shown.is_blank() && self.calls.is_empty() => {
                *input = before;
                bare::whole(input, &self.known).map(ParsedPrefix::Calls)
            }
            found => found,
        }
    }

    fn keep(&mut self, found: ParsedPrefix) {
        self.after_mark = true;
        match found {
            ParsedPrefix::Thinks(closes) => (self.thinks, self.marked) = (Some(closes), true),
            ParsedPrefix::Mark => self.marked = true,
            ParsedPrefix::MadeUp => self.muted = true,
            ParsedPrefix::Calls(calls) => self.call(calls),
            ParsedPrefix::LastCalls(calls) => {
                self.call(calls);
                self.muted = true;
            }
        }
    }

    fn call(&mut self, calls: Vec<Call>) {
        for call in calls {
            let id = format!("call_{}_{}", tool::Id::new(), self.calls.len());
            let Call { name, arguments } = call.clone();
            self.out.push(Delta::ToolCall(ToolCall { id, name, arguments }));
            self.calls.push(call);
        }
    }

    /// Emits so many bytes of the buffer.
    fn say(&mut self, bytes: usize) {
        let text: String = self.buffer.drain(..bytes).collect();
        self.after_mark = false;
        self.shown.push(&text);
        if self.calls_end && !self.calls.is_empty() {
            return;
        }
        match self.out.last_mut() {
            Some(Delta::Text(last)) => last.push_str(&text),
            _ => self.out.push(Delta::Text(text)),
        }
    }
}
