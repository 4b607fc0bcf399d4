//! The note of a call that is about to change something. It is on disk with the change or before it, until the entry of the
//! call is; what is left of them after a power cut is in the log as `interrupted`.

use super::{AuditEntry, maker, short_digest};
use crate::{Decision, call::Call};
use policy::Verdict;
use serde::{Deserialize, Serialize};
use store::{Level, Record};
use tool::{AgentId, Channel, Id, UserId};

/// A call that has begun, under its id. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct BegunCall {
    at: u64,
    tool: String,
    user: UserId,
    agent: AgentId,
    /// As JSON text, because it grows; so is the verdict.
    channel: String,
    run: Option<Id>,
    maker: String,
    verdict: String,
    rule: String,
    approval: Option<Id>,
    digest: [u8; 8],
}

impl Record for BegunCall {
    const NAME: &'static str = "audit-begun";
    const WORD: &'static str = "note of a call that began";
    const LEVEL: Level = Level::Household;
}

fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl BegunCall {
    pub fn new(call: &Call) -> Self {
        let decision: Option<&Decision> = call.decision.as_ref();
        Self {
            at: Id::now_ms().saturating_sub(call.took().as_millis() as u64),
            tool: call.tool().name.to_string(),
            user: call.cx.user(),
            agent: call.cx.agent(),
            channel: text(&call.cx.channel()),
            run: call.cx.run(),
            maker: maker(&call.tool().owner),
            verdict: decision.map(|d| text(&d.verdict)).unwrap_or_default(),
            rule: decision.map(|d| d.rule.to_owned()).unwrap_or_default(),
            approval: call.approval,
            digest: call.digest().first_chunk().copied().unwrap_or_default(),
        }
    }

    /// Its entry, when Hob stopped before its end.
    pub fn interrupted(self, id: Id) -> AuditEntry {
        let verdict: Option<Verdict> = serde_json::from_str(&self.verdict).ok();
        AuditEntry {
            seq: 0,
            at: self.at,
            call_id: id,
            tool: self.tool,
            user_id: self.user,
            agent_id: self.agent,
            channel: serde_json::from_str(&self.channel).unwrap_or(Channel::Machine),
            run_id: self.run,
            maker: self.maker,
            verdict,
            rule: self.rule,
            approval_id: self.approval,
            outcome: "interrupted".to_owned(),
            micros: 0,
            digest: short_digest(&self.digest),
        }
    }
}
