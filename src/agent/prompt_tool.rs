//! Running the agent as a tool: what schedules and triggers call with a prompt.

use crate::{Agent, Say, Step};
use std::time::Duration;
use tool::{Channel, prelude::*};

/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How much of heading and answer the person is told, in characters; all of it is in the conversation.
const TITLE: usize = 80;
const TOLD: usize = 1900;

/// Running the agent by a call.
pub fn family(agent: Agent) -> Family<Agent> {
    Family::new("prompts", "Have the agent do something without anybody there.", agent)
        .tool("run_prompt", Risk::Write, run_prompt)
        .tags("agent prompt schedule ask model automation")
        .example(json!({"prompt": "Tell me what is on my calendar today."}))
        .timeout(PATIENCE)
}

/// Have the agent answer a prompt, as if the person had written it: what schedules and triggers do. The answer is kept as a
/// conversation; of a prompt that nobody waits for the person is told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunPrompt {
    /// What to do or answer.
    prompt: String,
    /// What the person is told it is about. Default: the beginning of the prompt.
    title: Option<String>,
    /// The conversation it continues. Default: a new one, and so where it is no more.
    conversation_id: Option<String>,
}

/// Ends the run when nobody waits for it any more.
struct Ends(Agent, Cx, Option<Id>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(run) = self.2 {
            self.0.cancel(&self.1, run);
        }
    }
}

async fn run_prompt(agent: Agent, cx: Cx, args: RunPrompt) -> Result<Output> {
    if cx.run().is_some() {
        return Err(Error::denied("a run cannot begin another like this: do yourself what the prompt says"));
    }
    let conversation = match args.conversation_id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
        Some(id) => Some(id.parse()?).filter(|id| agent.conversation(&cx, *id).is_ok()),
        None => None,
    };
    let say = Say { message: args.prompt.clone(), conversation, ..Say::default() };
    let mut running = agent.chat(&cx, say).await?;
    let mut ends = Ends(agent, cx.clone(), Some(running.run));
    let answer = loop {
        match running.steps.recv().await {
            Some(Step::Done(answer)) => break answer,
            Some(Step::Error { message, .. }) => {
                ends.2 = None;
                return Err(Error::failed(message));
            }
            Some(_) => {}
            None => return Err(Error::failed("the run ended without an answer: try again")),
        }
    };
    ends.2 = None;
    let told = match answer.waiting.is_empty() {
        true => answer.response.clone(),
        false => format!("{} It goes on once you have answered what Hob asks you.", answer.response).trim().to_owned(),
    };
    if cx.via().channel == Channel::Machine && !told.is_empty() {
        let title = clip(args.title.as_deref().unwrap_or(&args.prompt), TITLE);
        // That nobody could be told is no reason to do it all again.
        if let Err(error) = cx.call("notify", json!({"title": title, "text": clip(&told, TOLD)})).await {
            tracing::warn!(%error, "nobody was told what a prompt gave");
        }
    }
    let content = json!({"conversationId": answer.conversation_id, "runId": answer.run_id, "response": answer.response,
                         "model": answer.model, "waiting": answer.waiting});
    Ok(Output::json(content)?.say(told))
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
