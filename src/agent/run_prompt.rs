//! The tool `run_prompt`, with which schedules and triggers start a run.

use crate::{agent::Agent, chat::ChatRequest, events::RunEvent, run::notify};
use std::time::Duration;
use tool::{Channel, prelude::*};

/// Time limit of a run.
const PATIENCE: Duration = Duration::from_secs(600);

/// The family of `run_prompt`.
pub fn family(agent: Agent) -> Family<Agent> {
    Family::new("prompts", "Run the agent without a person present.", agent)
        .title("Working on its own")
        .tool("run_prompt", Risk::Write, run_prompt)
        .detached()
        .additive()
        .tags("agent prompt schedule ask model automation")
        .example(json!({"prompt": "Tell me what is on my calendar today."}))
        .timeout(PATIENCE)
}

/// Run a prompt with the agent as if the person had written it; schedules and triggers use this. The answer is stored as a
/// conversation. When nobody waits for it, the person is notified.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunPrompt {
    /// The prompt.
    prompt: String,
    /// Title of the notification. Default: the beginning of the prompt.
    title: Option<String>,
    /// The conversation to continue. Default: a new one, also when it no longer exists.
    conversation_id: Option<String>,
    /// Whether to answer without tools, memories and a conversation, and to store nothing.
    #[serde(default)]
    answer_only: bool,
}

/// Cancels the run when its caller is dropped.
struct CancelOnDrop(Agent, Cx, Option<Id>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // At shutdown the run is interrupted, and resumes after the next start.
        let Some(run) = self.2.filter(|_| !self.0.queue.closing.is_cancelled()) else { return };
        self.0.cancel(&self.1, run);
    }
}

async fn run_prompt(agent: Agent, cx: Cx, args: RunPrompt) -> Result<Output> {
    if args.answer_only {
        let (response, model) = agent.answer_only(&cx, &args.prompt).await?;
        return Ok(Output::json(json!({"response": response, "model": model}))?.say(response));
    }
    if cx.run().is_some() {
        return Err(Error::denied("a run cannot begin another like this: do yourself what the prompt says"));
    }
    let conversation = match args.conversation_id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
        // Reads its messages too: those from outside taint the prompt.
        Some(id) => Some(id.parse()?).filter(|id| agent.conversation(&cx, *id).is_ok()),
        None => None,
    };
    let say = ChatRequest { message: args.prompt.as_str().into(), conversation, ..ChatRequest::default() };
    let mut running = agent.chat(&cx, say).await?;
    let mut guard = CancelOnDrop(agent, cx.clone(), Some(running.run));
    let answer = loop {
        match running.steps.recv().await {
            Some(RunEvent::Done(answer)) => break answer,
            // The run resumes after the next start, and the person is notified then.
            Some(RunEvent::Error { code: "closing", .. }) => {
                guard.2 = None;
                if guard.0.own_answers.is_restoring() {
                    return Err(store::Error::Restoring.into());
                }
                let content = json!({"conversationId": running.conversation, "runId": running.run, "response": "",
                                     "waiting": []});
                return Ok(Output::json(content)?.say("It resumes when Hob has restarted."));
            }
            Some(RunEvent::Error { message, .. }) => {
                guard.2 = None;
                return Err(Error::failed(message));
            }
            Some(_) => {}
            None => return Err(Error::failed("the run ended without an answer: try again")),
        }
    };
    guard.2 = None;
    let told = match answer.waiting.is_empty() {
        true => answer.response.clone(),
        false => format!("{} It goes on once you have answered what Hob asks you.", answer.response).trim().to_owned(),
    };
    if cx.via().channel == Channel::Machine && !told.is_empty() {
        notify(&cx, args.title.as_deref().unwrap_or(&args.prompt), &told).await;
    }
    let content = json!({"conversationId": answer.conversation_id, "runId": answer.run_id, "response": answer.response,
                         "model": answer.model, "waiting": answer.waiting});
    Ok(Output::json(content)?.say(told))
}
