//! The resume point of a run: its history, and its calls without a result.

use super::{call_summary::CallSummary, loop_guard::LoopGuard};
use crate::conversation::{Conversations, MessageRecord, Reads, Role, StoredCall, last_exchange, messages, vouch};
use llm::{Message, ToolCall};
use registry::Registry;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use store::Entry;
use tool::{Cx, Id, Result};

/// The point at which a run is resumed.
pub(crate) struct ResumePoint {
    /// The conversation without the run, then the run's own messages, whole, also when the conversation has continued. Calls
    /// without a result have none.
    pub history: Vec<Message>,
    /// The calls of its last turn that have no result.
    pub open: Vec<ToolCall>,
    /// The message with these calls. Questions about them were asked after it.
    pub asked_in: Option<Id>,
    /// Whether its last turn had no calls.
    pub ended: bool,
    /// Whether the conversation has continued since.
    pub overtaken: bool,
    /// Whether one of its calls got a result after that.
    pub late: bool,
    /// The ids of all its calls.
    pub ids: HashSet<String>,
    pub guard: LoopGuard,
    /// Its calls with their outcomes.
    pub done: Vec<CallSummary>,
}

impl Conversations {
    /// Finds the resume point of a run. The messages taint the run as they did before.
    pub fn resume_point(&self, cx: &Cx, conversation: Id, run: Id, reads: Reads) -> Result<ResumePoint> {
        self.check(cx, conversation)?;
        let all = match reads {
            Reads::Last(limit) => self.newest_with_run(cx, conversation, run, limit)?,
            Reads::Exchange => self.all(cx, conversation)?,
        };
        let is_own = |e: &Entry<MessageRecord>| e.value.run == run;
        let answer = all.iter().rposition(|e| is_own(e) && e.value.role == Role::Assistant);
        let from = answer.or_else(|| all.iter().position(is_own)).unwrap_or_default();
        let other = all.iter().skip(from).position(|e| !is_own(e)).map(|n| from + n);
        let late = other.is_some_and(|at| all[at..].iter().any(|e| is_own(e) && e.value.role == Role::Tool));
        let given: HashSet<String> = all
            .iter()
            .skip(from)
            .filter(|e| is_own(e))
            .filter_map(|e| e.value.result().map(|r| r.tool_call_id))
            .collect();
        let wanted = answer.map(|at| all[at].value.calls()).unwrap_or_default();
        let ended = answer.is_some() && wanted.is_empty();
        let as_call = |c: StoredCall| ToolCall { id: c.id, name: c.name, arguments: c.arguments };
        let open = wanted.into_iter().filter(|c| !given.contains(&c.id)).map(as_call).collect();
        let (ids, guard, done) = read_calls(&self.registry, all.iter().filter(|e| is_own(e)));
        let asked_in = answer.map(|at| all[at].id);
        let shown = match reads {
            Reads::Last(limit) => others_then_own(cx, all, run, limit),
            Reads::Exchange => exchange_then_own(cx, all, run),
        };
        vouch(cx, &shown);
        let history = messages(shown.into_iter().map(|e| e.value).collect());
        Ok(ResumePoint { history, open, asked_in, ended, overtaken: other.is_some(), late, ids, guard, done })
    }

    /// The newest `limit` messages in order, or all when the run began before them. Taints nothing.
    fn newest_with_run(&self, cx: &Cx, id: Id, run: Id, limit: usize) -> Result<Vec<Entry<MessageRecord>>> {
        let newest = self.newest(cx, id, limit)?;
        let begins = |e: &Entry<MessageRecord>| e.value.run == run && e.value.role == Role::User;
        if newest.len() < limit || newest.iter().any(begins) { Ok(newest) } else { self.all(cx, id) }
    }
}

/// The newest `limit` messages of others, then a run's own. They taint the run.
fn others_then_own(cx: &Cx, all: Vec<Entry<MessageRecord>>, run: Id, limit: usize) -> Vec<Entry<MessageRecord>> {
    let (own, mut shown): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| e.value.run == run);
    shown.drain(..shown.len().saturating_sub(limit));
    shown.extend(own);
    shown.iter().for_each(|e| cx.taint(e.label));
    shown
}

/// A run's own messages and the exchange before them, for a provider that reads sentences.
fn exchange_then_own(cx: &Cx, all: Vec<Entry<MessageRecord>>, run: Id) -> Vec<Entry<MessageRecord>> {
    let first = all.iter().position(|e| e.value.run == run).unwrap_or_default();
    let before = last_exchange(&all[..first]);
    let own = all.into_iter().enumerate().skip(before).filter(|(n, e)| *n < first || e.value.run == run);
    let own = own.map(|(_, e)| e).inspect(|e| {
        if e.value.run == run {
            cx.taint(e.label);
        }
    });
    own.collect()
}

/// The ids of a run's calls, the loop guard after them, and their summaries.
fn read_calls<'a>(
    registry: &Registry,
    lines: impl Iterator<Item = &'a Entry<MessageRecord>>,
) -> (HashSet<String>, LoopGuard, Vec<CallSummary>) {
    let (mut wanted, mut guard, mut done) = (HashMap::new(), LoopGuard::default(), vec![]);
    for line in lines {
        if line.value.role == Role::Assistant {
            guard.next_turn();
        }
        wanted.extend(line.value.calls().into_iter().map(|c| (c.id.clone(), c)));
        if let Some(result) = line.value.result()
            && let Some(call) = wanted.get(&result.tool_call_id)
        {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
            let changed = !result.is_error && registry.may_change(&call.name, &arguments);
            guard.note(&call.name, &call.arguments, &result.content, changed);
            let text = result.say.as_deref().unwrap_or(if result.is_error { &result.content } else { "" });
            done.push(CallSummary::new(&call.name, &arguments, text, result.is_error));
        }
    }
    guard.next_turn();
    (wanted.into_keys().collect(), guard, done)
}
