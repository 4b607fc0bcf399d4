//! A run over a conversation that its caller keeps: the caller sends all of it each time, and nothing of it is stored.
//!
//! The caller may bring tools that it runs itself. When the model calls one, the run ends and hands the call over; the
//! caller sends the conversation again with the result, and another run goes on from there. Hob's own calls are made before
//! the run ends, and the caller never hears of them: see [`Asides`].

use crate::{
    Agent, RunHandle, RunStatus,
    messages::answered,
    run::{Progress, Run},
};
use llm::{Content, Message, Part, ResponseFormat, Sampling, ToolCall, ToolChoice, ToolDefinition, Turn};
use registry::Registry;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Label, Result, UserId};

/// How many messages a caller may send.
const MESSAGES: usize = 2000;
/// Why `reflex` alone writes no JSON.
const NO_JSON: &str =
    "without a model Hob answers in sentences and not in JSON: choose a model, or leave the format out";
/// Why `reflex` alone cannot be made to call a function.
const NO_DEMANDS: &str =
    "without a model Hob cannot be made to call a function: choose a model, or leave `tool_choice` out";
/// How many runs' own doings are kept, and how much of them in all, in bytes.
const ASIDES: usize = 200;
const ASIDE_BYTES: usize = 2 << 20;

/// A conversation that its caller keeps.
#[derive(Debug, Clone, Default)]
pub struct Complete {
    /// All that was said, the first first. System messages are the caller's instructions; wherever they stand, the model reads
    /// them after Hob's own, for many models take them nowhere else.
    pub messages: Vec<Message>,
    /// Tools that the caller runs. One with the name of a tool of Hob takes its place.
    pub tools: Vec<ToolDefinition>,
    /// The names of those whose arguments have to fit their schema.
    pub strict: Vec<String>,
    /// Whether tools may, must or must not be called; where one must and the caller brings some, it must be one of those.
    pub tool_choice: ToolChoice,
    /// Whether the caller makes no more than one call at a time.
    pub one_at_a_time: bool,
    /// How the answer is sampled; it applies to every turn.
    pub sampling: Sampling,
    /// The format of the final answer: checked, and corrected once.
    pub format: ResponseFormat,
}

/// What a run has to know of its caller.
#[derive(Default)]
pub(crate) struct ClientTools {
    pub tools: Vec<ToolDefinition>,
    pub strict: Vec<String>,
    pub instructions: String,
    pub one_at_a_time: bool,
    pub sampling: Sampling,
    pub format: ResponseFormat,
    pub status: Arc<RunStatus>,
}

impl ClientTools {
    pub fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|t| t.name == name)
    }
}

impl Agent {
    /// Begins a run that answers the last message of a conversation the caller keeps. It ends with [`crate::Step::Done`] as
    /// any other, perhaps with calls in `handed_over`. What the caller says is its own word and taints nothing. What its tools
    /// brought may be from anywhere, and so may an answer that comes back and is not known as one of Hob's; see
    /// [`OwnAnswers`](crate::own_answers::OwnAnswers).
    ///
    /// # Errors
    /// `BadArgs` when there is no message of the user or the system, a result belongs to no call, or `tool_choice` names no tool.
    pub fn complete(&self, cx: &Cx, complete: Complete) -> Result<RunHandle> {
        let provider = self.provider();
        let Complete { messages, tools, strict, tool_choice, one_at_a_time, sampling, format } = complete;
        if format.is_json() && !provider.reads_context() {
            return Err(Error::bad_args(NO_JSON));
        }
        if messages.len() > MESSAGES {
            let text =
                format!("there are {} messages, and {MESSAGES} is the most: leave the oldest out", messages.len());
            return Err(Error::bad_args(text));
        }
        if let ToolChoice::Named { name } = &tool_choice {
            let theirs = tools.iter().any(|t| t.name == *name);
            if !theirs && !self.parts.registry.get(name).is_some_and(|t| Registry::visible(cx, &t)) {
                return Err(Error::bad_args(format!("`tool_choice` names `{name}`, and there is no such tool")));
            }
        }
        if tool_choice.demands_call() && !provider.reads_context() {
            return Err(Error::bad_args(NO_DEMANDS));
        }
        let cancel = CancellationToken::new();
        let (run, cx) = (Id::new(), cx.clone());
        let busy = self.enter(run, cx.user(), None, cancel.clone(), true)?;
        let cx = cx.in_run(run, None, cancel);
        if provider.reads_context() {
            self.judge_answers(&cx, &messages);
        }
        let (instructions, history) = apart(messages)?;
        let mut history = answered(self.asides.put_back(&cx, history));
        let last = history.iter().rposition(|m| matches!(m, Message::User(_))).unwrap_or_default();
        let text = match history.get(last) {
            Some(Message::User(said)) if !said.is_empty() => said.text().into_owned(),
            _ => return Err(Error::bad_args("the last message of the user is empty: write something")),
        };
        let status = Arc::new(RunStatus::default());
        let mut theirs =
            ClientTools { tools, strict, instructions, one_at_a_time, sampling, format, status: status.clone() };
        if !provider.reads_context() {
            // What it asked in its last words may be answered by these.
            let exchange = last.checked_sub(2).filter(|at| match &history[*at..last] {
                [Message::User(_), Message::Assistant(Turn { tool_calls, .. })] => tool_calls.is_empty(),
                _ => false,
            });
            history.drain(..exchange.unwrap_or(last));
            theirs = ClientTools { tools: vec![], instructions: String::new(), ..theirs };
        }
        // Addresses the person wrote were not made up by a model.
        for message in &history {
            if let Message::User(said) = message {
                cx.vouch_for(&said.text());
            }
        }
        let (steps, listener) = mpsc::unbounded_channel();
        let model = provider.model();
        let agent = self.clone();
        let task = Run {
            agent,
            provider,
            cx,
            run,
            conversation: None,
            text,
            tool_choice,
            theirs,
            only: None,
            preset: crate::Preset::Agent,
            steps,
            watch: None,
            note: None,
            busy,
        };
        tokio::spawn(task.go(history, Progress::default()));
        Ok(RunHandle { run, conversation: None, model, queued: false, status, steps: listener })
    }
}

impl Agent {
    /// Taints the run where an answer that comes back is not known as one of Hob's own.
    fn judge_answers(&self, cx: &Cx, messages: &[Message]) {
        let is_own = |message: &Message| match message {
            Message::Assistant(Turn { content, tool_calls, .. }) if tool_calls.is_empty() => {
                self.own_answers.knows(cx, content)
            }
            // What was put back in its place counts instead.
            Message::Assistant(Turn { tool_calls, .. }) => self.asides.has(cx.user(), tool_calls),
            _ => true,
        };
        if !messages.iter().all(is_own) {
            cx.taint(Label::Outside);
        }
    }
}

impl Agent {
    /// The id of a call that was handed over, for a caller that keeps no ids: the newest with this tool and these arguments
    /// that is not among those `used` already.
    pub fn handed_over_id(&self, cx: &Cx, name: &str, arguments: &Value, used: &[String]) -> Option<String> {
        self.asides.id_of(cx.user(), name, arguments, used)
    }
}

/// Two messages of the person as one; words that follow words are paragraphs of one text.
fn join(before: &mut Content, said: Content) {
    for part in said.0 {
        match (before.0.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => *text = format!("{text}\n\n{more}"),
            (_, part) => before.0.push(part),
        }
    }
}

/// The instructions, and the rest as models take it: it begins with the person, who never speaks twice in a row.
fn apart(messages: Vec<Message>) -> Result<(String, Vec<Message>)> {
    let (mut instructions, mut opening, mut rest) = (vec![], vec![], Vec::<Message>::new());
    for message in messages {
        match (message, rest.last_mut()) {
            (Message::System(text), _) if !text.trim().is_empty() => instructions.push(text),
            (Message::System(_), _) => {}
            (Message::User(said), Some(Message::User(before))) => join(before, said),
            (Message::Assistant(Turn { content, .. }), None) => opening.push(content),
            (Message::Tool(_), None) => {}
            (other, _) => rest.push(other),
        }
    }
    // Instructions alone are answered: the last of them is what is asked.
    if rest.is_empty()
        && let Some(asked) = instructions.pop()
    {
        rest.push(Message::user(asked));
    }
    if rest.is_empty() {
        return Err(Error::bad_args("there is no message of the user: send one with the role `user`"));
    }
    opening.retain(|text| !text.trim().is_empty());
    if !opening.is_empty() {
        instructions.push(format!("You began the conversation with these words:\n{}", opening.join("\n\n")));
    }
    Ok((instructions.join("\n\n"), rest))
}

/// What Hob did itself in runs that ended with calls for their caller to make. The conversation that the caller keeps does not
/// tell of it, and a model that does not see what was done does it again; so it is kept here and put back when the results
/// come. It is in RAM and bounded: after a restart, or for a caller that is very late, the model sees what the caller sent,
/// which counts as from outside.
#[derive(Default)]
pub(crate) struct ContinuationCache(Mutex<VecDeque<Aside>>);

struct Aside {
    user: UserId,
    /// Worse than `Own` when the run had read from outside: whoever reads this reads that too.
    label: Label,
    /// The ids of the calls that were handed over.
    calls: Vec<String>,
    /// All the run has said and done, the turn with those calls last.
    messages: Vec<Message>,
    bytes: usize,
}

impl Aside {
    fn is_of(&self, user: UserId, calls: &[ToolCall]) -> bool {
        self.user == user && calls.iter().any(|call| self.calls.contains(&call.id))
    }
}

impl ContinuationCache {
    pub fn keep(&self, cx: &Cx, handed_over: &[ToolCall], messages: Vec<Message>) {
        let bytes = messages.iter().map(bytes_of).sum();
        let calls = handed_over.iter().map(|c| c.id.clone()).collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(Aside { user: cx.user(), label: cx.label(), calls, messages, bytes });
        while all.len() > ASIDES || all.iter().map(|a| a.bytes).sum::<usize>() > ASIDE_BYTES {
            all.pop_front();
        }
    }

    /// Whether what was done beside these calls is still there.
    fn has(&self, user: UserId, calls: &[ToolCall]) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|aside| aside.is_of(user, calls))
    }

    fn id_of(&self, user: UserId, name: &str, arguments: &Value, used: &[String]) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = essential(arguments);
        let same = |call: &&ToolCall| {
            call.name == name
                && !used.contains(&call.id)
                && serde_json::from_str(&call.arguments).is_ok_and(|own| essential(&own) == wanted)
        };
        let of = |aside: &Aside| {
            let turn = aside.messages.iter().rev().find_map(|message| match message {
                Message::Assistant(turn) => Some(turn),
                _ => None,
            })?;
            turn.tool_calls.iter().filter(|call| aside.calls.contains(&call.id)).find(same).map(|c| c.id.clone())
        };
        all.iter().rev().filter(|aside| aside.user == user).find_map(of)
    }

    /// The history with everything Hob did in its place.
    fn put_back(&self, cx: &Cx, history: Vec<Message>) -> Vec<Message> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut whole = Vec::with_capacity(history.len());
        for message in history {
            let aside = match &message {
                Message::Assistant(Turn { tool_calls, .. }) if !tool_calls.is_empty() => {
                    all.iter().find(|aside| aside.is_of(cx.user(), tool_calls))
                }
                // What a program's own tools brought may be from anywhere.
                Message::Tool(_) => {
                    cx.taint(Label::Outside);
                    None
                }
                _ => None,
            };
            match aside {
                Some(aside) => {
                    cx.taint(aside.label);
                    whole.extend(aside.messages.iter().cloned());
                }
                None => whole.push(message),
            }
        }
        whole
    }
}

/// Arguments without what callers are known to change before they send a call back: Home Assistant leaves out what is empty,
/// and reads lists and objects that a model wrote as text.
fn essential(arguments: &Value) -> Value {
    match arguments {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), essential(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(essential).collect(),
        Value::String(text) if text.starts_with(['[', '{']) => {
            serde_json::from_str(text).map_or_else(|_| arguments.clone(), |read| essential(&read))
        }
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

fn bytes_of(message: &Message) -> usize {
    match message {
        Message::System(text) => text.len(),
        Message::User(said) => said.text().len(),
        Message::Assistant(Turn { content, tool_calls, .. }) => {
            content.len() + tool_calls.iter().map(|c| c.name.len() + c.arguments.len()).sum::<usize>()
        }
        Message::Tool(result) => result.content.len() + result.say.as_ref().map_or(0, String::len),
    }
}

/// Nine letters and digits: some model servers take no other id, and nine of them by chance are not given out twice.
pub(crate) fn new_call_id() -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut tail = [0; 8];
    tail.copy_from_slice(&Id::new().as_bytes()[8..]);
    // Without the two bits that say which sort of id it is.
    let mut chance = u64::from_be_bytes(tail) & (u64::MAX >> 2);
    let digit = |_| {
        let digit = DIGITS[(chance % 62) as usize];
        chance /= 62;
        char::from(digit)
    };
    (0..9).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_callers_send_becomes_what_models_take() {
        let said = |content: &str| Message::text_only(content);
        let user = |text: &str| Message::user(text);
        let system = |text: &str| Message::System(text.into());
        let sent =
            vec![system("be brief"), said("hello!"), user("a"), system("or not"), user("b"), said("c"), user("d")];
        let (instructions, rest) = apart(sent).unwrap();
        assert_eq!(instructions, "be brief\n\nor not\n\nYou began the conversation with these words:\nhello!");
        assert_eq!(rest, [user("a\n\nb"), said("c"), user("d")]);
        let alone = apart(vec![system("be brief"), system("greet")]).unwrap();
        assert_eq!(alone, ("be brief".to_owned(), vec![user("greet")]));
        assert!(apart(vec![system(" "), said("hello!")]).is_err());
    }

    #[test]
    fn calls_are_known_by_what_callers_leave_of_them() {
        let own = json!({"name": "lamp", "area": "", "level": 0, "list": "[1, {\"a\": null}]", "deep": {"x": false}});
        assert_eq!(essential(&own), json!({"name": "lamp", "list": [1, {}]}));
        assert_eq!(essential(&json!({"name": "lamp", "list": [1, {}]})), essential(&own));
        assert_ne!(essential(&json!({"name": "lamp"})), essential(&own));
        assert_eq!(essential(&json!("[not a list")), json!("[not a list"));
    }

    #[test]
    fn ids_of_calls_are_nine_characters_that_differ() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| new_call_id()).collect();
        assert!(
            ids.len() == 1000 && ids.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()))
        );
    }
}
