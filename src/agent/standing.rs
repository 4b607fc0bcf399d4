//! Where a run stands in its conversation: what it was told, and which of its calls have no result yet.

use crate::{
    conversation::{Conversations, Reads, is_exchange, vouch},
    guard::LoopGuard,
    lines::{Line, Role, messages},
};
use llm::{Message, ToolCall};
use std::collections::{HashMap, HashSet};
use store::{Entry, Listing};
use tool::{Cx, Id, Result, Scope};

/// How a run stands.
pub(crate) struct Standing {
    /// The conversation as it is stored; calls without a result have none.
    pub history: Vec<Message>,
    /// The calls of its last turn that have no result.
    pub open: Vec<ToolCall>,
    /// The message in which it wants them; what was asked about them was asked after it.
    pub asked_in: Option<Id>,
    /// Whether its last turn was words alone.
    pub ended: bool,
    /// Whether the conversation has gone on meanwhile.
    pub overtaken: bool,
    /// The ids of all its calls.
    pub ids: HashSet<String>,
    pub guard: LoopGuard,
}

impl Conversations {
    /// Reads where a run stands. What it reads taints it, as it did when it was said.
    pub fn standing(&self, cx: &Cx, conversation: Id, run: Id, reads: Reads) -> Result<Standing> {
        self.check(cx, conversation)?;
        let all = match reads {
            Reads::Last(limit) => self.lines(cx, conversation, limit)?,
            Reads::Exchange => self.all(cx, conversation)?,
        };
        let is_own = |e: &Entry<Line>| e.value.run == run;
        let answer = all.iter().rposition(|e| is_own(e) && e.value.role == Role::Assistant);
        let from = answer.or_else(|| all.iter().position(is_own)).unwrap_or_default();
        let overtaken = all.iter().skip(from).any(|e| !is_own(e));
        let given: HashSet<String> = all
            .iter()
            .skip(from)
            .filter(|e| is_own(e))
            .filter_map(|e| e.value.result().map(|r| r.tool_call_id))
            .collect();
        let wanted = answer.map(|at| all[at].value.calls()).unwrap_or_default();
        let ended = answer.is_some() && wanted.is_empty();
        let as_call = |c: crate::StoredCall| ToolCall { id: c.id, name: c.name, arguments: c.arguments };
        let open = wanted.into_iter().filter(|c| !given.contains(&c.id)).map(as_call).collect();
        let (ids, guard) = of_calls(all.iter().filter(|e| is_own(e)));
        let asked_in = answer.map(|at| all[at].id);
        let shown = match reads {
            Reads::Last(_) => all,
            Reads::Exchange => only_own(cx, all, run),
        };
        vouch(cx, &shown);
        let history = messages(shown.into_iter().map(|e| e.value).collect());
        Ok(Standing { history, open, asked_in, ended, overtaken, ids, guard })
    }

    /// All messages in order; taints nothing.
    pub fn all(&self, cx: &Cx, id: Id) -> Result<Vec<Entry<Line>>> {
        let by = Some((1, id.as_bytes().to_vec()));
        let mut lines = self.lines.list_in(Scope::User(cx.user()), &Listing { by, limit: 0, before: None })?;
        lines.reverse();
        Ok(lines.into_iter().map(|e| self.clean(e)).collect())
    }
}

/// A run's own messages and the exchange of words before them: all that is read by who reads sentences.
fn only_own(cx: &Cx, all: Vec<Entry<Line>>, run: Id) -> Vec<Entry<Line>> {
    let first = all.iter().position(|e| e.value.run == run).unwrap_or_default();
    let before = first.checked_sub(2).filter(|at| is_exchange(&all[*at..first])).unwrap_or(first);
    let own = all.into_iter().enumerate().skip(before).filter(|(n, e)| *n < first || e.value.run == run);
    let own = own.map(|(_, e)| e).inspect(|e| {
        if e.value.run == run {
            cx.taint(e.label);
        }
    });
    own.collect()
}

/// The ids of a run's calls, and how often each gave the same.
fn of_calls<'a>(lines: impl Iterator<Item = &'a Entry<Line>>) -> (HashSet<String>, LoopGuard) {
    let (mut wanted, mut guard) = (HashMap::new(), LoopGuard::default());
    for line in lines {
        wanted.extend(line.value.calls().into_iter().map(|c| (c.id.clone(), c)));
        if let Some(result) = line.value.result()
            && let Some(call) = wanted.get(&result.tool_call_id)
        {
            guard.repeats(&call.name, &call.arguments, &result.content);
        }
    }
    (wanted.into_keys().collect(), guard)
}
