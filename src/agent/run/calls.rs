//! Calls of a turn: executes them, and stores their results.

use super::{ModelAttribution, Run, Stop, cancelled, journal::JournalHandle};
use crate::events::{CallRecord, RunEvent};
use futures::future::join_all;
use llm::{ToolCall, ToolChoice, ToolResult};
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use tool::{Begins, Bounds, Channel, Consent, Error, Output};

/// Maximum size of a result in the model's context, in bytes.
const MAX_RESULT: usize = 16 * 1024;

/// The outcome of a call.
pub(crate) enum CallOutcome {
    /// The call has a result.
    Completed(Box<(CallRecord, ToolResult)>),
    /// The call waits for a person for longer than the run does, or comes after one that does.
    Suspended,
}

impl Run {
    /// Makes the calls of a turn: in parallel, or one after the other, as the run's limits say.
    pub async fn make_all(&self, calls: &[ToolCall], by: &ModelAttribution) -> Vec<Result<CallOutcome, Stop>> {
        if self.limits().parallel {
            return join_all(calls.iter().map(|call| self.make(call, by, None))).await;
        }
        let mut all = vec![];
        for call in calls {
            all.push(self.make(call, by, None).await);
            if let Some(Ok(CallOutcome::Suspended)) = all.last() {
                // The calls after it wait too.
                all.resize_with(calls.len(), || Ok(CallOutcome::Suspended));
                break;
            }
        }
        all
    }

    /// Makes a call and stores its result at once, not only when the parallel calls have ended.
    pub async fn make(
        &self,
        call: &ToolCall,
        by: &ModelAttribution,
        consent: Option<Consent>,
    ) -> Result<CallOutcome, Stop> {
        self.announce_call(call);
        let Some(completed) = self.call(call, by, consent).await? else { return Ok(CallOutcome::Suspended) };
        self.store_result(&completed.1, completed.0.duration_ms).await?;
        Ok(CallOutcome::Completed(Box::new(completed)))
    }

    /// Stores the result of a call.
    pub async fn store_result(&self, result: &ToolResult, duration_ms: u64) -> Result<(), Stop> {
        if self.conversation.is_some() {
            let within = self.journal.as_ref().and_then(|journal| journal.result_within(&result.call_id));
            self.agent.conversations.add_result(&self.cx, self.run, result, duration_ms, within).await?;
        }
        Ok(())
    }

    /// Makes a call; an error becomes a result the model can act on. `None` when the call waits for a person.
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
        // A call that the shutdown interrupts may have been made; recovery finds out after the next start.
        if outcome.is_err() && self.interrupted_by_shutdown() {
            return Err(cancelled());
        }
        let duration_ms = began.elapsed().as_millis() as u64;
        Ok(Some(self.result(call, outcome, duration_ms)))
    }

    async fn outcome(&self, call: &ToolCall, by: &ModelAttribution, consent: Option<Consent>) -> Result<Output, Error> {
        // Models copy calls from earlier turns even when instructed to make none.
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

    /// Turns an outcome into its result, and announces it.
    pub fn result(
        &self,
        call: &ToolCall,
        outcome: Result<Output, Error>,
        duration_ms: u64,
    ) -> (CallRecord, ToolResult) {
        let arguments = self.shown_arguments(call);
        let (output, is_error) = match outcome {
            Ok(output) => (output, false),
            Err(error) => {
                let said = error.said().map(str::to_owned);
                (Output { say: said, ..Output::text(error.message()) }, true)
            }
        };
        let content = shorten_result(output.model_text());
        let (name, say) = (call.name.clone(), output.say);
        let record = CallRecord { name, arguments, result: output.content, say, is_error, duration_ms };
        self.send(RunEvent::ToolEnd { call_id: call.id.clone(), record: record.clone() });
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

    /// The bounds of a call's context.
    pub fn bounds(&self, model_call: Option<Arc<str>>, by: &ModelAttribution, consent: Option<Consent>) -> Bounds {
        Bounds {
            provider: by.model.split('/').next().unwrap_or_default().into(),
            // A scheduled message may have been written by a model.
            by_word: by.by_word && self.cx.via().channel != Channel::Machine,
            subagent: None,
            for_display: false,
            only: self.only.clone(),
            effect: self.journal.as_ref().and(model_call.as_deref()).map(|call| store::effect_key(self.run, call)),
            model_call,
            consent,
            begins: self.journal.clone().map(|journal| Arc::new(JournalHandle(journal)) as Arc<dyn Begins>),
        }
    }

    /// The arguments for people, without secrets: parsed, or the text when it is not JSON.
    fn shown_arguments(&self, call: &ToolCall) -> Value {
        let arguments = parse_arguments(call).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        self.agent.parts.registry.masked(&call.name, &arguments).0
    }

    fn announce_call(&self, call: &ToolCall) {
        let arguments = self.shown_arguments(call);
        self.send(RunEvent::ToolStart { call_id: call.id.clone(), name: call.name.clone(), arguments });
        self.events.release();
        if let Some(watch) = &self.watch {
            watch.on_tool_start(call);
        }
    }
}

/// Parses the arguments; the error shows the model where they are invalid.
fn parse_arguments(call: &ToolCall) -> Result<Value, Error> {
    serde_json::from_str(&call.arguments).map_err(|e| {
        Error::bad_args(format!(
            "the arguments of `{}` are not valid JSON ({e}): write them again as one JSON object",
            call.name
        ))
    })
}

fn shorten_result(mut text: String) -> String {
    if text.len() > MAX_RESULT {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(MAX_RESULT));
        text.push_str(&format!("\n[cut: {whole} bytes in all; ask for less]"));
    }
    text
}
