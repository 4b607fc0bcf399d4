//! The steps of every call before and after its tool runs.

use crate::{
    Registry,
    audit::Audit,
    call::{Call, Middleware, outcome},
    limits,
    mask::takes_secret,
    validate,
};
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use store::Store;
use tool::{Channel, Error, Output, Result};

/// The largest output of a tool, in bytes of text; the rest is cut, with a note.
const OUTPUT_CAP: usize = 256 * 1024;
/// The longest error, in bytes. It may repeat the arguments; the advice is at its start or end.
const REFUSAL_CAP: usize = 16 * 1024;

/// Keeps secrets off connections that others can read: a tool that takes one (`writeOnly` in its schema) or returns one
/// (`returns_secret`) is refused there, through any facade or tool. A schedule or trigger stores results in its history and
/// notices, so no tool that returns a secret runs there either.
pub(crate) struct Confidential;

impl Middleware for Confidential {
    fn name(&self) -> &'static str {
        "confidential"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        let (tool, via) = (&call.entry.tool, call.caller.via());
        let outcome = if via.clear && (tool.returns_secret || takes_secret(tool.parameters())) {
            Err(Error::denied(format!(
                "`{}` handles secrets, and others can read along here: use it over https, or on the device itself",
                tool.name
            ))
            .say(
                "That is secret, and others can read along here. Use a safe connection (https), or the device itself.",
            ))
        } else if via.channel == Channel::Machine && tool.returns_secret {
            Err(Error::denied(format!(
                "`{}` returns a secret, and the results of schedules and triggers are stored: call it while you are there",
                tool.name
            ))
            .say("That is secret, so I only do it while you are here."))
        } else {
            Ok(())
        };
        Box::pin(ready(outcome))
    }
}

/// Limits how many results a call asks for.
pub(crate) struct Limits;

impl Middleware for Limits {
    fn name(&self) -> &'static str {
        "limits"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        call.corrected.extend(limits::apply(call.entry.tool.page, &mut call.args));
        Box::pin(ready(Ok(())))
    }
}

/// The error for a text with the redaction mark.
const MARK_GIVEN: &str = "the text holds `[REDACTED]`, which stands for a secret that was not shown: storing it would \
                          overwrite that secret. Leave this field out to keep what is stored, or give all of the text anew";

/// Whether a value contains the redaction mark: a redacted text must not replace the original.
fn holds_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(scrub::MARK),
        Value::Array(all) => all.iter().any(holds_mark),
        Value::Object(fields) => fields.values().any(holds_mark),
        _ => false,
    }
}

/// Checks the arguments against the schema, and adds corrections to the result.
pub(crate) struct Validate;

impl Middleware for Validate {
    fn name(&self) -> &'static str {
        "validate"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        let checked = validate::arguments(&call.entry, &mut call.args).and_then(|corrected| {
            // A call that only adds a record overwrites nothing, but a new memory may take the place of an older one.
            let tool = &call.entry.tool;
            let adds = tool.additive.is_some() && !["remember", "batch_remember"].contains(&&*tool.name);
            let changes = tool.risk == tool::Risk::Write && tool.owner == tool::Owner::Core && !adds;
            if changes && holds_mark(&call.args) { Err(Error::bad_args(MARK_GIVEN)) } else { Ok(corrected) }
        });
        Box::pin(ready(checked.map(|corrected| call.corrected.extend(corrected))))
    }
    fn after<'a>(&'a self, call: &'a Call, mut result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        if let (Ok(output), false) = (&mut result, call.corrected.is_empty()) {
            // Both a facade and the call it made may have been corrected.
            let inner = output.meta.get("corrected").and_then(Value::as_array).cloned().unwrap_or_default();
            let all: Vec<Value> = call.corrected.iter().map(|c| json!(c)).chain(inner).collect();
            output.meta.insert("corrected".into(), all.into());
        }
        Box::pin(ready(result))
    }
}

/// Records the start of a call that changes something or must not be repeated, so that recovery after a power cut knows it
/// may have been made. Its run stores the record. Without a run, the store marks a call that has an idempotency key and an
/// effect outside the store. The audit log notes calls that change something.
pub(crate) struct Begin {
    pub store: Option<Store>,
    pub audit: Option<Audit>,
}

impl Middleware for Begin {
    fn name(&self) -> &'static str {
        "begin"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        if let Some(audit) = self.audit.as_ref().filter(|_| call.tool().risk.changes_something()) {
            call.set_digest();
            audit.begin(call);
        }
        let (bounds, tool) = (call.caller.bounds(), call.tool());
        if tool.risk == tool::Risk::Observe && tool.idempotent {
            return Box::pin(ready(Ok(())));
        }
        match (&bounds.begins, &bounds.model_call, bounds.effect, &self.store) {
            (Some(begins), Some(id), ..) => begins.begins(id, tool),
            (_, _, Some(key), Some(store)) if !tool.is_confined() => {
                let (store, name) = (store.clone(), tool.name.clone());
                Box::pin(async move { Ok(store.mark_outside(key, name).await?) })
            }
            _ => Box::pin(ready(Ok(()))),
        }
    }
}

/// Publishes changes that can be undone, to the person they were made for: `change`.
pub(crate) struct Changes(pub Store, pub scrub::Scrubber);

impl Middleware for Changes {
    fn name(&self) -> &'static str {
        "changes"
    }
    fn after<'a>(&'a self, call: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        let (cx, tool) = (&call.cx, call.tool());
        // A call that failed may have changed something before.
        if crate::dispatch::is_change(tool)
            && let Ok(Some(change)) = self.0.change(cx.user(), cx.call_id())
        {
            let text = records::undo::changed_words(&self.0, &change);
            let text = self.1.text(&text, scrub::How::All);
            let data = json!({"changeId": change.id, "text": text, "tool": change.tool, "conversationId": change.conversation,
                              "runId": change.run, "undoes": change.undoes, "reversible": change.is_reversible(), "unattended": change.unattended});
            cx.ports().bus.publish("change", Some(cx.user()), data);
        }
        Box::pin(ready(result))
    }
}

/// Publishes on the bus that a tool runs, and how it ended.
pub(crate) struct Events;

impl Middleware for Events {
    fn name(&self) -> &'static str {
        "events"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        let data = json!({"tool": call.entry.tool.name, "callId": call.cx.call_id(), "runId": call.cx.run()});
        call.cx.ports().bus.publish("tool:before", Some(call.cx.user()), data);
        Box::pin(ready(Ok(())))
    }
    fn after<'a>(&'a self, call: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        let outcome = outcome(&result);
        let ms = call.took().as_millis() as u64;
        tracing::info!(tool = %call.entry.tool.name, risk = ?call.entry.tool.risk, ms, outcome, "called");
        let data = json!({"tool": call.entry.tool.name, "callId": call.cx.call_id(), "runId": call.cx.run(),
                          "durationMs": ms, "outcome": outcome});
        call.cx.ports().bus.publish("tool:after", Some(call.cx.user()), data);
        Box::pin(ready(result))
    }
}

/// Cuts outputs that are too long.
pub(crate) struct Cap;

impl Middleware for Cap {
    fn name(&self) -> &'static str {
        "cap"
    }
    fn after<'a>(&'a self, _: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        Box::pin(ready(result.map(cap).map_err(cap_refusal)))
    }
}

fn cap_refusal(error: Error) -> Error {
    let error = error.map_said(|said| text_kit::truncate(said, REFUSAL_CAP / 4));
    let text = error.message();
    if text.len() <= REFUSAL_CAP {
        return error;
    }
    let (end, rest) = (REFUSAL_CAP / 8, text.len() - REFUSAL_CAP / 8);
    let short = format!("{} … {}", &text[..text.floor_char_boundary(end)], &text[text.ceil_char_boundary(rest)..]);
    error.with_message(short)
}

fn cap(mut output: Output) -> Output {
    // Most outputs are short, which shows without serializing them.
    if rough_size(&output.content, OUTPUT_CAP / 8) < OUTPUT_CAP / 8 {
        return output;
    }
    let text = output.model_text();
    if text.len() <= OUTPUT_CAP {
        return output;
    }
    let end = text.floor_char_boundary(OUTPUT_CAP);
    output.meta.insert("cutBytes".into(), (text.len() - end).into());
    output.content = Value::String(format!("{}\n[cut: {} more bytes]", &text[..end], text.len() - end));
    output
}

/// An estimate of at least an eighth of a value's JSON text in bytes; stops counting at `enough`.
fn rough_size(value: &Value, enough: usize) -> usize {
    let mut size = 1;
    match value {
        Value::String(text) => size += text.len(),
        Value::Array(all) => {
            for item in all {
                size += rough_size(item, enough);
                if size >= enough {
                    break;
                }
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                size += name.len() + rough_size(item, enough);
                if size >= enough {
                    break;
                }
            }
        }
        _ => size += 2,
    }
    size
}

/// Removes secrets from the output of a tool, for the model and for the person.
pub(crate) struct Scrub(pub scrub::Scrubber);

impl Middleware for Scrub {
    fn name(&self) -> &'static str {
        "scrub"
    }
    fn after<'a>(&'a self, call: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        // The caller receives the password it asked for.
        if call.entry.tool.returns_secret {
            return Box::pin(std::future::ready(result));
        }
        let how = if call.entry.tool.returns_digests { scrub::How::Digests } else { scrub::How::All };
        let clean = match result {
            Ok(mut output) => {
                let mut found = self.0.value(&mut output.content, how);
                if let Some(say) = &mut output.say
                    && let std::borrow::Cow::Owned(clean) = self.0.text(say, how)
                {
                    (*say, found) = (clean, found + 1);
                }
                let mut meta = Value::Object(std::mem::take(&mut output.meta));
                found += self.0.value(&mut meta, how);
                if let Value::Object(meta) = meta {
                    output.meta = meta;
                }
                if found > 0 {
                    output.meta.insert("redacted".into(), found.into());
                }
                Ok(output)
            }
            Err(error) => {
                let error = error.map_said(|said| self.0.text(said, how).into_owned());
                Err(match self.0.text(error.message(), how) {
                    std::borrow::Cow::Borrowed(_) => error,
                    std::borrow::Cow::Owned(clean) => error.with_message(clean),
                })
            }
        };
        Box::pin(ready(clean))
    }
}

/// Decides by the policy, and asks a person where the decision says so.
pub(crate) struct Decide(pub std::sync::Weak<crate::Inner>);

impl Middleware for Decide {
    fn name(&self) -> &'static str {
        "decide"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        let Some(registry) = self.0.upgrade().map(Registry) else {
            return Box::pin(ready(Err(Error::unavailable("Hob is closing"))));
        };
        let decision = registry.decide(call, false);
        if decision.verdict == policy::Verdict::Allow {
            call.decision = Some(decision);
            return Box::pin(ready(Ok(())));
        }
        Box::pin(async move { registry.ask_or_refuse(call, decision).await })
    }
}

#[cfg(test)]
mod tests;
