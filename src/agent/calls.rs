//! Making the calls a model wants, and keeping what they gave.

use crate::{
    run::{ModelAttribution, Run, Stop, cancelled},
    step::{CallRecord, RunEvent},
};
use futures::future::join_all;
use llm::{ToolCall, ToolChoice, ToolResult};
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use tool::{Begins, Bounds, Channel, Consent, Error, Output};

/// How much of one result the model is shown, in bytes.
const RESULT_SHOWN: usize = 16 * 1024;

/// What came of a call.
pub(crate) enum CallOutcome {
    /// It gave this.
    Gave(Box<(CallRecord, ToolResult)>),
    /// It waits for a person for longer than the run does, or stands behind one that does.
    Parked,
}

impl Run {
    /// Makes the calls of one turn: side by side, or one after the other where the run goes so.
    pub async fn make_all(&self, calls: &[ToolCall], by: &ModelAttribution) -> Vec<Result<CallOutcome, Stop>> {
        if self.limits().parallel {
            return join_all(calls.iter().map(|call| self.make(call, by, None))).await;
        }
        let mut all = vec![];
        for call in calls {
            all.push(self.make(call, by, None).await);
            if let Some(Ok(CallOutcome::Parked)) = all.last() {
                // What comes after it is made when it was.
                all.resize_with(calls.len(), || Ok(CallOutcome::Parked));
                break;
            }
        }
        all
    }

    /// Makes one call and stores what it gave at once: a call that was made is not forgotten because another still runs.
    pub async fn make(
        &self,
        call: &ToolCall,
        by: &ModelAttribution,
        consent: Option<Consent>,
    ) -> Result<CallOutcome, Stop> {
        self.tell_start(call);
        let Some(made) = self.call(call, by, consent).await? else { return Ok(CallOutcome::Parked) };
        self.keep_result(&made.1, made.0.duration_ms).await?;
        Ok(CallOutcome::Gave(Box::new(made)))
    }

    /// Stores what a call gave.
    pub async fn keep_result(&self, result: &ToolResult, duration_ms: u64) -> Result<(), Stop> {
        if self.conversation.is_some() {
            self.agent.conversations.add_result(&self.cx, self.run, result, duration_ms).await?;
        }
        Ok(())
    }

    /// Makes one call; whatever goes wrong becomes a result the model can act on. `None` when it waits for a person.
    async fn call(
        &self,
        call: &ToolCall,
        by: &ModelAttribution,
        consent: Option<Consent>,
    ) -> Result<Option<(CallRecord, ToolResult)>, Stop> {
        let began = Instant::now();
        let outcome = self.outcome(call, by, consent).await;
        if let Err(Error::Parked(_)) = outcome {
            return Ok(None);
        }
        // What the end of the house cut short may have been done: that is found out after the next start.
        if outcome.is_err() && self.interrupted_by_shutdown() {
            return Err(cancelled());
        }
        let duration_ms = began.elapsed().as_millis() as u64;
        Ok(Some(self.result(call, outcome, duration_ms)))
    }

    async fn outcome(&self, call: &ToolCall, by: &ModelAttribution, consent: Option<Consent>) -> Result<Output, Error> {
        // Models copy calls from what was said before, also when told not to make any.
        if self.tool_choice == ToolChoice::None {
            return Err(Error::denied("no tools may be called for this message: answer in words"));
        }
        let args = parse_arguments(call)?;
        if let Some(watch) = &self.watch {
            let verdict = watch.before_tool_call(call).await;
            verdict.map_err(|reason| {
                Error::denied(format!("the call of `{}` was rejected and not made: {reason}", call.name))
            })?;
        }
        let cx = self.cx.bounded(self.bounds(Some(call.id.as_str().into()), by, consent));
        cx.call(&call.name, args).await
    }

    /// A result of the outcome, told and ready to be kept.
    pub fn result(
        &self,
        call: &ToolCall,
        outcome: Result<Output, Error>,
        duration_ms: u64,
    ) -> (CallRecord, ToolResult) {
        let arguments = self.shown_arguments(call);
        let (output, is_error) = match outcome {
            Ok(output) => (output, false),
            Err(error) => (Output::text(error.message()), true),
        };
        let content = shorten_result(output.model_text());
        let (name, say) = (call.name.clone(), output.say);
        let record = CallRecord { name, arguments, result: output.content, say, is_error, duration_ms };
        self.tell(RunEvent::ToolEnd { call_id: call.id.clone(), record: record.clone() });
        if let Some(watch) = &self.watch {
            watch.on_tool_end(&call.id, &record);
        }
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: if is_error { format!("Error: {content}") } else { content },
            say: record.say.clone(),
            is_error,
        };
        (record, result)
    }

    pub fn bounds(&self, model_call: Option<Arc<str>>, by: &ModelAttribution, consent: Option<Consent>) -> Bounds {
        Bounds {
            provider: by.model.split('/').next().unwrap_or_default().into(),
            // What a schedule says, nobody says at this moment: a model may have written it.
            by_word: by.by_word && self.cx.via().channel != Channel::Machine,
            subagent: None,
            only: self.only.clone(),
            effect: self.note.as_ref().and(model_call.as_deref()).map(|call| store::effect_key(self.run, call)),
            model_call,
            consent,
            begins: self.note.clone().map(|note| Arc::new(crate::journal::JournalHandle(note)) as Arc<dyn Begins>),
        }
    }

    /// The arguments for people: parsed, or the text as the model broke it; without secrets.
    fn shown_arguments(&self, call: &ToolCall) -> Value {
        let arguments = parse_arguments(call).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        self.agent.parts.registry.masked(&call.name, &arguments).0
    }

    fn tell_start(&self, call: &ToolCall) {
        let arguments = self.shown_arguments(call);
        self.tell(RunEvent::ToolStart { call_id: call.id.clone(), name: call.name.clone(), arguments });
        if let Some(watch) = &self.watch {
            watch.on_tool_start(call);
        }
    }
}

/// The arguments as JSON; broken JSON becomes an error that shows the model where.
fn parse_arguments(call: &ToolCall) -> Result<Value, Error> {
    serde_json::from_str(&call.arguments).map_err(|e| {
        Error::bad_args(format!(
            "the arguments of `{}` are not valid JSON ({e}): write them again as one JSON object",
            call.name
        ))
    })
}

fn shorten_result(mut text: String) -> String {
    if text.len() > RESULT_SHOWN {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(RESULT_SHOWN));
        text.push_str(&format!("\n[cut: {whole} bytes in all; ask for less]"));
    }
    text
}
