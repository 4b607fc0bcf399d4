//! The audit log: every call with its caller, the decision and its rule, and the outcome.
//!
//! Entries wait in memory for a few seconds and share a commit, so that a call costs no write of its own. They are stored in
//! segments of some kilobytes; the oldest segments are deleted when all together exceed the budget.

use crate::call::{Call, CallLog, Middleware, digest_of, outcome};
use crate::call_counts::CallCounts;
use futures::future::{BoxFuture, ready};
use policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use store::{Collection, Level, Listing, Record, Stamp, Store, Tx};
use tool::{
    AgentId, Channel, Cx, Id, Output, Owner, Result, Risk, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// The size of the log, in bytes.
const BUDGET: usize = 4 << 20;
/// The part of the budget by which the log may grow before it is shortened, which reads all of it.
const SLACK: usize = 16;
/// The size at which a new segment starts, in bytes.
const SEGMENT: usize = 16 << 10;
/// How many entries may wait in memory; beyond that the oldest are dropped.
const WAITING: usize = 20_000;
/// The most entries of a page.
const PAGE: usize = 200;

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Grows by one with each call.
    pub seq: u64,
    /// When it came in: milliseconds since 1970.
    pub at: u64,
    /// The call's id.
    pub call_id: Id,
    /// The tool's canonical name; for a change a person made without a tool, its kind: `change_conversation`.
    pub tool: String,
    /// On whose behalf.
    pub user_id: UserId,
    /// The agent that acted.
    pub agent_id: AgentId,
    /// The channel of the call.
    pub channel: Channel,
    /// The run it was part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
    /// The maker of the tool, unless it is built in: `person`, `model`, `plugin:NAME`, `mcp:SERVER`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub maker: String,
    /// The decision; null when the call was stopped before.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The rule that decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The approval that allowed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<Id>,
    /// `ok`, the kind of error (`bad_args`, `denied`, `unavailable`, `failed`, `rate_limited`, `parked`), or `gone` when the
    /// caller disconnected before its end.
    pub outcome: String,
    /// Its duration in microseconds, including the wait for a person.
    pub micros: u64,
    /// The start of the BLAKE3 digest of tool and arguments, in hexadecimal digits.
    pub digest: String,
}

/// Selects entries.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// Only of this person; everybody's when `None`.
    pub user: Option<UserId>,
    /// Only of this tool.
    pub tool: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<String>,
    /// Only with this verdict.
    pub verdict: Option<Verdict>,
    /// Only those before this number.
    pub before: Option<u64>,
    /// The most entries, up to 200.
    pub limit: usize,
}

/// A page of the log, the newest first.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AuditPage {
    /// The calls.
    pub entries: Vec<AuditEntry>,
    /// The start of the next page, for `before`. Null at the end.
    pub next: Option<u64>,
}

/// Some entries, as lines of JSON. New fields go last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Segment {
    first: u64,
    last: u64,
    lines: String,
}

impl Record for Segment {
    const NAME: &'static str = "audit";
    const WORD: &'static str = "part of the audit log";
    const LEVEL: Level = Level::Household;
}

/// How many calls were made since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Calls {
    /// All.
    pub made: u64,
    /// Those that ended with an error.
    pub failed: u64,
    /// Those of them that were not allowed.
    pub denied: u64,
}

#[derive(Default)]
struct Waiting {
    calls: Calls,
    last: u64,
    /// The last that was written, or is being written.
    written: u64,
    entries: VecDeque<AuditEntry>,
    /// Whether a write is scheduled that takes the waiting entries.
    due: bool,
    /// Bytes written since the log was last shortened.
    grown: usize,
}

#[derive(Clone)]
pub(crate) struct Audit {
    segments: Collection<Segment>,
    waiting: Arc<Mutex<Waiting>>,
    budget: usize,
    pub counts: CallCounts,
}

impl Audit {
    pub fn open(store: &Store) -> Result<Self> {
        Self::with_budget(store, BUDGET)
    }

    fn with_budget(store: &Store, budget: usize) -> Result<Self> {
        let segments: Collection<Segment> = store.collection();
        let newest = segments.list_in(Scope::Household, &Listing { limit: 1, ..Listing::default() })?;
        let last = newest.first().map_or(0, |s| s.value.last);
        Ok(Self {
            segments,
            waiting: Arc::new(Mutex::new(Waiting { last, written: last, grown: budget, ..Waiting::default() })),
            budget,
            counts: CallCounts::default(),
        })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls were made since the start.
    pub fn calls(&self) -> Calls {
        self.waiting().calls
    }

    fn add(&self, mut entry: AuditEntry) {
        let mut waiting = self.waiting();
        waiting.calls.made += 1;
        waiting.calls.failed += u64::from(entry.outcome != "ok");
        waiting.calls.denied += u64::from(entry.outcome == "denied");
        waiting.last += 1;
        entry.seq = waiting.last;
        waiting.entries.push_back(entry);
        if waiting.entries.len() > WAITING {
            waiting.entries.pop_front();
        }
        if !std::mem::replace(&mut waiting.due, true) {
            drop(waiting);
            let (this, mut taken) = (self.clone(), None);
            // A batch may run twice, when another job in it fails: the same entries are written then.
            self.segments.store().write_later(move |tx| {
                let entries = taken.get_or_insert_with(|| this.take());
                this.write(tx, entries)
            });
        }
    }

    /// The entries to write now. They stay in memory until the next write, when the store surely has them.
    fn take(&self) -> Vec<AuditEntry> {
        let mut waiting = self.waiting();
        waiting.due = false;
        let last = waiting.last;
        let written = std::mem::replace(&mut waiting.written, last);
        waiting.entries.retain(|e| e.seq > written);
        waiting.entries.iter().cloned().collect()
    }

    fn write(&self, tx: &Tx, entries: &[AuditEntry]) -> store::Result<()> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
        let (mut first, last) = (first.seq, last.seq);
        let mut lines: String =
            entries.iter().filter_map(|e| serde_json::to_string(e).ok()).map(|l| l + "\n").collect();
        self.waiting().grown += lines.len();
        let newest = self.segments.list_in(Scope::Household, &Listing { limit: 1, ..Listing::default() })?;
        let id = match newest.into_iter().next().filter(|s| s.value.lines.len() < SEGMENT) {
            Some(open) => {
                first = open.value.first;
                lines.insert_str(0, &open.value.lines);
                open.id
            }
            None => {
                if self.waiting().grown > self.budget / SLACK {
                    self.shorten(tx)?;
                    self.waiting().grown = 0;
                }
                Id::new()
            }
        };
        self.segments.put(tx, id, &Stamp::household("audit"), &Segment { first, last, lines }).map(drop)
    }

    /// Deletes the oldest segments beyond the budget.
    fn shorten(&self, tx: &Tx) -> store::Result<()> {
        let (mut size, mut before) = (0, None);
        loop {
            // Some at a time: all of them would be megabytes of memory.
            let some = self.segments.list_in(Scope::Household, &Listing { limit: 8, before, ..Listing::default() })?;
            let Some(oldest) = some.last() else { return Ok(()) };
            before = Some(oldest.id);
            for segment in &some {
                size += segment.value.lines.len();
                if size > self.budget {
                    self.segments.remove(tx, Scope::Household, segment.id)?;
                }
            }
        }
    }

    /// A page of the log, the newest first.
    pub fn page(&self, query: &AuditQuery) -> Result<AuditPage> {
        let limit = query.limit.clamp(1, PAGE);
        let fits = |e: &AuditEntry| {
            query.before.is_none_or(|before| e.seq < before)
                && query.user.is_none_or(|user| e.user_id == user)
                && query.tool.as_ref().is_none_or(|tool| *tool == e.tool)
                && query.outcome.as_ref().is_none_or(|outcome| *outcome == e.outcome)
                && query.verdict.is_none_or(|verdict| e.verdict == Some(verdict))
        };
        let sought: Vec<String> = [&query.tool, &query.outcome]
            .into_iter()
            .flatten()
            .filter_map(|word| serde_json::to_string(word).ok())
            .collect();
        // One more than the page shows whether there is another page.
        let mut entries: Vec<AuditEntry> =
            self.waiting().entries.iter().rev().filter(|e| fits(e)).take(limit + 1).cloned().collect();
        let mut before = None;
        while entries.len() <= limit {
            let listing = Listing { limit: 8, before, ..Listing::default() };
            let segments = self.segments.list_in(Scope::Household, &listing)?;
            let Some(oldest) = segments.last() else { break };
            before = Some(oldest.id);
            for segment in segments.iter().filter(|s| query.before.is_none_or(|before| s.value.first < before)) {
                // A line without the words that are sought is not parsed: a rare call is sought in the whole log.
                let lines =
                    segment.value.lines.lines().rev().filter(|line| sought.iter().all(|word| line.contains(word)));
                let lines = lines.filter_map(|line| serde_json::from_str(line).ok());
                // Entries that were just written may still be in memory.
                let known = entries.last().map_or(u64::MAX, |e: &AuditEntry| e.seq);
                entries.extend(lines.filter(|e: &AuditEntry| e.seq < known && fits(e)));
            }
        }
        let more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| more).map(|e| e.seq);
        Ok(AuditPage { entries, next })
    }
}

fn maker(owner: &Owner) -> String {
    match owner {
        Owner::Core => String::new(),
        Owner::Person(_) => "person".into(),
        Owner::Model(_) => "model".into(),
        Owner::Plugin(name) => format!("plugin:{name}"),
        Owner::McpServer(name) => format!("mcp:{name}"),
    }
}

impl Audit {
    /// Records the outcome of a call.
    pub fn note(&self, call: &Call, outcome: &str) {
        let took = call.took();
        self.add(AuditEntry {
            seq: 0,
            at: Id::new().millis().saturating_sub(took.as_millis() as u64),
            call_id: call.cx.call_id(),
            tool: call.tool().name.to_string(),
            user_id: call.cx.user(),
            agent_id: call.cx.agent(),
            channel: call.cx.channel(),
            run_id: call.cx.run(),
            maker: maker(&call.tool().owner),
            verdict: call.decision.as_ref().map(|d| d.verdict),
            rule: call.decision.as_ref().map(|d| d.rule.to_owned()).unwrap_or_default(),
            approval_id: call.approval,
            outcome: outcome.to_owned(),
            micros: took.as_micros() as u64,
            digest: call.digest().iter().take(8).map(|b| format!("{b:02x}")).collect(),
        });
    }
}

impl Audit {
    /// Records a change that a person made without a tool.
    pub fn note_change(&self, cx: &Cx, what: &str, details: &Value) {
        self.add(AuditEntry {
            seq: 0,
            at: Id::new().millis(),
            call_id: cx.call_id(),
            tool: what.to_owned(),
            user_id: cx.user(),
            agent_id: cx.agent(),
            channel: cx.channel(),
            run_id: cx.run(),
            maker: String::new(),
            verdict: None,
            rule: String::new(),
            approval_id: None,
            outcome: "ok".to_owned(),
            micros: 0,
            digest: digest_of(what, details).iter().take(8).map(|b| format!("{b:02x}")).collect(),
        });
    }
}

impl CallLog for Audit {
    fn record(&self, call: &Call, outcome: &str) {
        self.counts.count(call, outcome);
        self.note(call, outcome);
    }
}

impl Middleware for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        // Callers that disconnect are recorded too.
        call.unfinished = Mutex::new(Some(Box::new(self.clone())));
        Box::pin(ready(Ok(())))
    }
    fn after<'a>(&'a self, call: &'a Call, result: Result<Output>) -> BoxFuture<'a, Result<Output>> {
        call.unfinished.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.counts.count(call, outcome(&result));
        // Observing calls of schedules and triggers repeat for years and would push everything else out of the log.
        let looks =
            call.tool().risk == Risk::Observe && call.cx.channel() == Channel::Machine && call.cx.run().is_none();
        if !(looks && result.is_ok()) {
            self.note(call, outcome(&result));
        }
        // The most important entries are on the disk before the caller receives the result.
        let grave = matches!(call.tool().risk, Risk::Send | Risk::Destroy | Risk::Admin) || call.approval.is_some();
        if !grave || result.is_err() {
            return Box::pin(ready(result));
        }
        Box::pin(async move {
            let (this, mut taken) = (self.clone(), None);
            let write = move |tx: &Tx| {
                let entries = taken.get_or_insert_with(|| this.take());
                this.write(tx, entries)
            };
            if let Err(error) = self.segments.store().write(write).await {
                tracing::warn!(%error, "a call could not be written into the audit log");
            }
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(tool: &str) -> AuditEntry {
        AuditEntry {
            seq: 0,
            at: 1,
            call_id: Id::new(),
            tool: tool.into(),
            user_id: UserId::OWNER,
            agent_id: AgentId::GENERAL,
            channel: Channel::Api,
            run_id: None,
            maker: String::new(),
            verdict: Some(Verdict::Allow),
            rule: "default".into(),
            approval_id: None,
            outcome: if tool == "bad" { "failed".into() } else { "ok".into() },
            micros: 1,
            digest: "00".into(),
        }
    }

    fn seqs(page: &AuditPage) -> Vec<u64> {
        page.entries.iter().map(|e| e.seq).collect()
    }

    #[tokio::test]
    async fn entries_are_paged_from_memory_and_store_alike() {
        let store = Store::in_memory().unwrap();
        let audit = Audit::open(&store).unwrap();
        (0..30).for_each(|n| audit.add(entry(if n % 10 == 0 { "bad" } else { "good" })));
        store.flush().await.unwrap();
        (0..5).for_each(|_| audit.add(entry("good")));
        let query = |before, limit| AuditQuery { before, limit, ..AuditQuery::default() };
        assert_eq!(audit.calls(), Calls { made: 35, failed: 3, denied: 0 });
        let page = audit.page(&query(None, 10)).unwrap();
        assert_eq!((seqs(&page), page.next), ((26..=35).rev().collect(), Some(26)));
        let page = audit.page(&query(page.next, 25)).unwrap();
        assert_eq!((seqs(&page), page.next), ((1..=25).rev().collect(), None));
        let bad = AuditQuery { outcome: Some("failed".into()), limit: 2, ..AuditQuery::default() };
        let page = audit.page(&bad).unwrap();
        assert_eq!((seqs(&page), page.next), (vec![21, 11], Some(11)));
        let again = Audit::open(&store).unwrap();
        again.add(entry("good"));
        assert_eq!(seqs(&again.page(&query(None, 1)).unwrap()), [31], "what was not flushed is lost, numbers go on");
    }

    #[tokio::test]
    async fn the_oldest_go_when_there_are_too_many() {
        let store = Store::in_memory().unwrap();
        let audit = Audit::with_budget(&store, 4 * SEGMENT).unwrap();
        for _ in 0..40 {
            (0..20).for_each(|_| audit.add(entry(&"t".repeat(60))));
            store.flush().await.unwrap();
        }
        let size: usize = audit
            .segments
            .list_in(Scope::Household, &Listing::default())
            .unwrap()
            .iter()
            .map(|s| s.value.lines.len())
            .sum();
        assert!((3 * SEGMENT..=5 * SEGMENT).contains(&size), "{size}");
        let all = audit.page(&AuditQuery { limit: 200, ..AuditQuery::default() }).unwrap();
        assert_eq!(all.entries.first().unwrap().seq, 800);
    }
}
