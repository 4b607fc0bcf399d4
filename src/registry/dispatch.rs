//! The dispatch: every call of every tool goes through here, once.

use crate::{Asked, Decision, Registry, Verdict, decide, validate};
use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};
use tool::{Cx, Dispatch, Error, Output, Result, Tool, ToolInfo};
use tracing::Instrument;

/// What a tool may answer at most, in bytes of text; the rest is cut and said to be.
const OUTPUT_CAP: usize = 256 * 1024;

impl Dispatch for Registry {
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>> {
        let (registry, name) = (self.clone(), name.to_owned());
        Box::pin(async move { registry.dispatch(cx, &name, args).await })
    }

    fn list(&self, cx: &Cx) -> Vec<ToolInfo> {
        self.tools()
            .iter()
            .filter(|t| t.enabled && Registry::visible(cx, t))
            .map(|t| ToolInfo {
                name: t.name.to_string(),
                description: t.description.to_string(),
                parameters: t.parameters.clone(),
                risk: t.risk,
            })
            .collect()
    }
}

impl Registry {
    async fn dispatch(&self, cx: Cx, name: &str, args: Value) -> Result<Output> {
        let tool = self.find(&cx, name)?;
        self.call_once(cx, tool, args).await
    }

    /// Calls a tool that need not be in the catalogue, through the same checks, decision and limits: for trying one out.
    ///
    /// # Errors
    /// As every call.
    pub async fn call_once(&self, cx: Cx, tool: Arc<Tool>, args: Value) -> Result<Output> {
        if !tool.enabled {
            let text = format!("`{}` is off: an admin can turn on the group `{}`", tool.name, tool.group);
            return Err(Error::unavailable(text));
        }
        let args = validate::arguments(&tool, args)?;
        let asked = Asked {
            principal: cx.principal(),
            via: cx.via(),
            maker: cx.maker(),
            in_run: cx.run().is_some(),
            label: cx.label(),
        };
        let decision = decide(&asked, &tool, &args);
        tracing::debug!(tool = %tool.name, rule = decision.rule, verdict = ?decision.verdict, "decided");
        if decision.verdict != Verdict::Allow {
            publish_refusal(&cx, &tool, &decision);
            return Err(Error::denied(decision.reason));
        }
        let cx = cx.at_call(&tool.name, &tool.owner);
        let span = tracing::info_span!("dispatch", tool = %tool.name, risk = ?tool.risk);
        execute(cx, tool, args).instrument(span).await
    }
}

async fn execute(cx: Cx, tool: Arc<Tool>, args: Value) -> Result<Output> {
    let began = Instant::now();
    publish(&cx, "tool:before", json!({"tool": tool.name, "callId": cx.call_id(), "runId": cx.run()}));
    let result = run_within_limits(&cx, &tool, args).await.map(cap);
    let ms = began.elapsed().as_millis() as u64;
    if let Ok(output) = &result {
        cx.taint(output.label);
    }
    let outcome = result.as_ref().map_or_else(Error::code, |_| "ok");
    tracing::info!(ms, outcome, "called");
    publish(
        &cx,
        "tool:after",
        json!({"tool": tool.name, "callId": cx.call_id(), "runId": cx.run(), "durationMs": ms, "outcome": outcome}),
    );
    result
}

/// Runs the function; a deadline, a cancelled run and a panic each end it with an error that says so.
async fn run_within_limits(cx: &Cx, tool: &Tool, args: Value) -> Result<Output> {
    let name = &tool.name;
    let call = AssertUnwindSafe((tool.run)(cx.clone(), args)).catch_unwind();
    // Cancelling on the way out ends whatever the call has started and left behind.
    let _guard = cx.cancel().clone().drop_guard();
    tokio::select! {
        biased;
        () = cx.cancel().cancelled() => Err(Error::unavailable(format!("`{name}` was stopped"))),
        done = tokio::time::timeout(tool.timeout, call) => match done {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Error::failed(format!("`{name}` broke inside; this is a fault of Hob, and the log has more"))),
            Err(_) => Err(Error::failed(format!("`{name}` took longer than {} s and was stopped", tool.timeout.as_secs()))),
        },
    }
}

fn cap(mut output: Output) -> Output {
    let text = output.model_text();
    if text.len() <= OUTPUT_CAP {
        return output;
    }
    let end = text.floor_char_boundary(OUTPUT_CAP);
    output.meta.insert("cutBytes".into(), (text.len() - end).into());
    output.content = Value::String(format!("{}\n[cut: {} more bytes]", &text[..end], text.len() - end));
    output
}

fn publish(cx: &Cx, topic: &str, data: Value) {
    cx.ports().bus.publish(topic, Some(cx.user()), data);
}

fn publish_refusal(cx: &Cx, tool: &Tool, decision: &Decision) {
    let data = json!({"tool": tool.name, "runId": cx.run(), "rule": decision.rule, "reason": decision.reason});
    publish(cx, "tool:refused", data);
}
