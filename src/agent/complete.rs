//! Runs over a conversation that the client stores: it sends the whole conversation each time, and Hob stores
//! nothing.
//!
//! The client may bring tools that it runs itself. When the model calls one, the run ends and hands the call over;
//! the client sends the conversation again with the result, and another run continues from there. Hob's own calls are
//! made before the run ends and are hidden from the client: see
//! [`ContinuationCache`](crate::conversation::ContinuationCache).

use crate::{
    agent::Agent,
    config::Preset,
    conversation::answered,
    run::{ClientTools, Outbox, Progress, Run, RunHandle, RunStatus},
};
use llm::{Content, Message, Part, ResponseFormat, Sampling, ToolChoice, ToolDefinition, Turn};
use registry::Registry;
use serde_json::Value;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Error, Id, Label, Result};

/// Maximum number of messages in a request.
const MAX_MESSAGES: usize = 2000;
const NO_JSON: &str =
    "without a model Hob answers in sentences and not in JSON: choose a model, or leave the format out";
const NO_DEMANDS: &str =
    "without a model Hob cannot be made to call a function: choose a model, or leave `tool_choice` out";

/// A request with a conversation that the client keeps.
#[derive(Debug, Clone, Default)]
pub struct Complete {
    /// The messages in order. System messages are the client's instructions; the model reads them after Hob's own,
    /// whatever their position, because many models accept none elsewhere.
    pub messages: Vec<Message>,
    /// Tools that the client runs. They replace tools of Hob with the same name.
    pub tools: Vec<ToolDefinition>,
    /// Names of the tools whose arguments must match their schema.
    pub strict: Vec<String>,
    /// Whether tools may, must or must not be called. When one must and the client brings tools, it must be one of those.
    pub tool_choice: ToolChoice,
    /// Whether the client makes only one call at a time.
    pub one_at_a_time: bool,
    /// Sampling parameters of every turn.
    pub sampling: Sampling,
    /// Format of the final answer; checked, and corrected once.
    pub format: ResponseFormat,
}

impl Agent {
    /// Starts a run that answers the last message of a conversation the client keeps. It ends with [`crate::RunEvent::Done`],
    /// perhaps with calls in `handed_over`. The client's own messages do not taint. Results of its tools do, and so do answers
    /// that are not known as Hob's own; see [`OwnAnswers`](crate::conversation::OwnAnswers).
    ///
    /// # Errors
    /// `BadArgs` when there is no message of the user or the system, a result belongs to no call, or `tool_choice` names no tool.
    pub fn complete(&self, cx: &Cx, complete: Complete) -> Result<RunHandle> {
        let provider = self.provider();
        let Complete { messages, tools, strict, tool_choice, one_at_a_time, sampling, format } = complete;
        if format.is_json() && !provider.reads_context() {
            return Err(Error::bad_args(NO_JSON));
        }
        if messages.len() > MAX_MESSAGES {
            let text =
                format!("there are {} messages, and {MAX_MESSAGES} is the most: leave the oldest out", messages.len());
            return Err(Error::bad_args(text));
        }
        if let ToolChoice::Named { name } = &tool_choice {
            let is_client_tool = tools.iter().any(|t| t.name == *name);
            if !is_client_tool && !self.parts.registry.get(name).is_some_and(|t| Registry::visible(cx, &t)) {
                return Err(Error::bad_args(format!("`tool_choice` names `{name}`, and there is no such tool")));
            }
        }
        if tool_choice.demands_call() && !provider.reads_context() {
            return Err(Error::bad_args(NO_DEMANDS));
        }
        let cancel = CancellationToken::new();
        let (run, cx) = (Id::new(), cx.clone());
        let slot = self.enter(run, cx.user(), None, cancel.clone(), true)?;
        let cx = self.in_workspace(&cx.in_run(run, None, cancel));
        if provider.reads_context() {
            self.taint_unknown_answers(&cx, &messages);
        }
        let (instructions, history) = split_instructions(messages)?;
        let mut history = answered(self.continuations.restore(&cx, history));
        let last = history.iter().rposition(|m| matches!(m, Message::User(_))).unwrap_or_default();
        let text = match history.get(last) {
            Some(Message::User(said)) if !said.is_empty() => said.text().into_owned(),
            _ => return Err(Error::bad_args("the last message of the user is empty: write something")),
        };
        let status = Arc::new(RunStatus::default());
        let mut client =
            ClientTools { tools, strict, instructions, one_at_a_time, sampling, format, status: status.clone() };
        if !provider.reads_context() {
            // The message may answer a question in the exchange before it.
            let exchange = last.checked_sub(2).filter(|at| match &history[*at..last] {
                [Message::User(_), Message::Assistant(Turn { tool_calls, .. })] => tool_calls.is_empty(),
                _ => false,
            });
            history.drain(..exchange.unwrap_or(last));
            client = ClientTools { tools: vec![], instructions: String::new(), ..client };
        }
        // The person wrote these addresses, not a model.
        for message in &history {
            if let Message::User(said) = message {
                cx.vouch_for(&said.text());
            }
        }
        let (events, steps) = Outbox::open();
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
            client,
            only: None,
            preset: Preset::Agent,
            events: Arc::new(events),
            watch: None,
            journal: None,
            slot,
        };
        tokio::spawn(task.go(history, Progress::default()));
        Ok(RunHandle { run, conversation: None, model, queued: false, status, steps, message: None })
    }
}

impl Agent {
    /// Taints the run when an answer in the conversation is not known as Hob's own.
    fn taint_unknown_answers(&self, cx: &Cx, messages: &[Message]) {
        let is_own = |message: &Message| match message {
            Message::Assistant(Turn { content, tool_calls, .. }) if tool_calls.is_empty() => {
                self.own_answers.contains(cx, content)
            }
            // The cached messages are judged instead.
            Message::Assistant(Turn { tool_calls, .. }) => self.continuations.has(cx.user(), tool_calls),
            _ => true,
        };
        if !messages.iter().all(is_own) {
            cx.taint(Label::Outside);
        }
    }
}

impl Agent {
    /// The id of a call that was handed over, for clients that keep no ids: the newest call with this tool and these arguments
    /// that is not in `used`.
    pub fn handed_over_id(&self, cx: &Cx, name: &str, arguments: &Value, used: &[String]) -> Option<String> {
        self.continuations.id_of(cx.user(), name, arguments, used)
    }
}

/// Joins two messages of the person; adjacent texts become paragraphs of one text.
fn join(before: &mut Content, said: Content) {
    for part in said.0 {
        match (before.0.last_mut(), part) {
            (Some(Part::Text(text)), Part::Text(more)) => *text = format!("{text}\n\n{more}"),
            (_, part) => before.0.push(part),
        }
    }
}

/// Separates the instructions from the messages. The messages then start with one of the person, and messages of the person
/// in a row are joined.
fn split_instructions(messages: Vec<Message>) -> Result<(String, Vec<Message>)> {
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
    // Of instructions alone the last one is the message.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_callers_send_becomes_what_models_take() {
        let said = |content: &str| Message::text_only(content);
        let user = |text: &str| Message::user(text);
        let system = |text: &str| Message::System(text.into());
        let sent =
            vec![system("be brief"), said("hello!"), user("a"), system("or not"), user("b"), said("c"), user("d")];
        let (instructions, rest) = split_instructions(sent).unwrap();
        assert_eq!(instructions, "be brief\n\nor not\n\nYou began the conversation with these words:\nhello!");
        assert_eq!(rest, [user("a\n\nb"), said("c"), user("d")]);
        let alone = split_instructions(vec![system("be brief"), system("greet")]).unwrap();
        assert_eq!(alone, ("be brief".to_owned(), vec![user("greet")]));
        assert!(split_instructions(vec![system(" "), said("hello!")]).is_err());
    }
}
