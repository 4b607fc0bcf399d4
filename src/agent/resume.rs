//! Runs that rested because nobody answered in time: when somebody does, the call is made and the run goes on. It does not
//! matter whether the daemon was restarted meanwhile; what is needed is in the store.

use crate::{
    Agent,
    complete::Theirs,
    conversation::{Standing, answered},
    run::{CallRecord, Run},
};
use llm::{Message, ToolChoice, ToolResult};
use registry::Resume;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Cx, Ports, Result};

/// How often it is looked whether the conversation is free.
const LOOK: Duration = Duration::from_millis(250);

impl Agent {
    /// Goes on with a run that rested, in the background: makes its call when the answer was yes, tells the model no
    /// otherwise, and lets it answer unless other calls of the same turn still wait.
    pub fn go_on(&self, ports: &Ports, resume: Resume) {
        let (agent, ports) = (self.clone(), ports.clone());
        tokio::spawn(async move {
            let (run, approval) = (resume.run, resume.approval);
            if let Err(error) = agent.gone_on(ports, resume).await {
                tracing::warn!(%run, %approval, %error, "a run that rested could not go on");
            }
        });
    }

    async fn gone_on(&self, ports: Ports, resume: Resume) -> Result<()> {
        let (conversation, cancel) = (resume.conversation, CancellationToken::new());
        let cx = Cx::root(ports, resume.principal.clone(), resume.via.clone());
        let cx = cx.in_run(resume.run, conversation, cancel.clone());
        cx.taint(resume.label);
        let busy = self.when_free(&cx, &resume, cancel).await;
        let most = self.config.max_messages * 4;
        let (_, call, _) = self.conversations.resting(&cx, conversation, resume.run, &resume.model_call, most)?;
        let (steps, _nobody) = mpsc::unbounded_channel();
        let mut run = Run {
            agent: self.clone(),
            provider: self.provider(),
            cx: cx.clone(),
            run: resume.run,
            conversation: Some(conversation),
            text: String::new(),
            tool_choice: ToolChoice::Auto,
            theirs: Theirs::default(),
            only: resume.only.clone(),
            steps,
            _busy: busy,
        };
        if let Some(approvals) = self.registry.approvals() {
            approvals.begun(cx.user(), resume.approval).await?;
        }
        let made = match resume.yes {
            true if call.arguments.contains(scrub::MARK) => Some(refused(&call, NOT_WHOLE)),
            true => run.call(&call, Some(resume.consent)).await,
            false => Some(refused(&call, SAID_NO)),
        };
        // The call may ask for something else now, and the run rests again.
        let Some((record, result)) = made else { return Ok(()) };
        self.conversations.add_result(&cx, resume.run, &result, record.duration_ms).await?;
        let (mut history, _, standing) =
            self.conversations.resting(&cx, conversation, resume.run, &resume.model_call, most)?;
        match standing {
            // What reads sentences would take the news for one.
            Standing::Overtaken | Standing::Waits if standing == Standing::Waits || run.provider.acts_by_word() => {
                run.publish("run:ended", serde_json::json!({"outcome": "ok"}));
                return Ok(());
            }
            // The model hears of it as of news, or nobody would tell the person what came of their answer.
            Standing::Overtaken => history.push(Message::User(news(&result.name))),
            Standing::Last | Standing::Waits => {}
        }
        let said = history.iter().rev().find_map(|m| match m {
            Message::User(text) => Some(text.clone()),
            _ => None,
        });
        run.text = said.unwrap_or_default();
        run.go(answered(history)).await;
        Ok(())
    }

    /// Waits until nobody else is at work in the conversation.
    async fn when_free(&self, cx: &Cx, resume: &Resume, cancel: CancellationToken) -> crate::Busy {
        loop {
            match self.enter(resume.run, cx.user(), Some(resume.conversation), cancel.clone(), true) {
                Ok(busy) => return busy,
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }
}

const SAID_NO: &str = "the person was asked and said no: do not try again, and go on without it";
const NOT_WHOLE: &str = "the person said yes, but there was a secret in this call, which is not kept while they are asked: it \
                         was not made; they can do it themselves, or have it done again and answer at once";

/// What the model is told of a call that was decided about after the conversation had gone on.
fn news(tool: &str) -> String {
    // Without the result: what stands in a message of the person counts as their word.
    format!(
        "(Meanwhile the person answered about the call of `{tool}` that had waited for them; its result stands with the call. \
         Tell them in a sentence what came of it.)"
    )
}

/// What the model is told when the call was not made.
fn refused(call: &llm::ToolCall, text: &str) -> (CallRecord, ToolResult) {
    let record = CallRecord {
        name: call.name.clone(),
        arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
        result: text.into(),
        say: None,
        is_error: true,
        duration_ms: 0,
    };
    let result = ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: format!("Error: {text}"),
        say: None,
        is_error: true,
    };
    (record, result)
}
