//! The audit log: every call with its caller, the decision and its rule, and the outcome.
//!
//! Entries wait in memory for a few seconds and share a commit, so that a call costs no write of its own. A call that changes
//! something is also noted when it begins ([`begun`]): the note is on disk with the change. Entries are stored in segments,
//! one for each write, and never rewritten; the oldest are deleted when all together exceed the budget.

mod begun;

use crate::call::{Call, CallLog, Middleware, digest_of, outcome};
use crate::call_counts::CallCounts;
use begun::BegunCall;
use futures::future::{BoxFuture, ready};
use policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{HashMap, VecDeque},
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
/// The most segments that one commit deletes; what is left goes with the next.
const DELETED: usize = 100;
/// The size of a segment without its lines, in bytes.
const SEGMENT: usize = 100;
/// How many segments are read at once. Those of older versions have up to 16 KB.
const READ: usize = 64;
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
    /// `ok`, the kind of error (`bad_args`, `denied`, `unavailable`, `failed`, `rate_limited`, `parked`), `gone` when the
    /// caller disconnected before its end, or `interrupted` when Hob stopped before its end.
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
    /// Calls that have begun and not ended, and whether their note was written.
    begun: HashMap<Id, (BegunCall, bool)>,
    /// Calls that have ended since their note was written.
    ended: Vec<Id>,
    /// Whether a write is scheduled that takes the waiting entries.
    due: bool,
    /// Bytes written since the log was last shortened.
    grown: usize,
}

/// The entries and notes of one write.
struct Due {
    entries: Vec<AuditEntry>,
    begun: Vec<(Id, BegunCall)>,
    ended: Vec<Id>,
}

#[derive(Clone)]
pub(crate) struct Audit {
    segments: Collection<Segment>,
    notes: Collection<BegunCall>,
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
        let waiting = Waiting { last, written: last, grown: budget, ..Waiting::default() };
        let (waiting, notes) = (Arc::new(Mutex::new(waiting)), store.collection());
        let audit = Self { segments, notes, waiting, budget, counts: CallCounts::default() };
        audit.end_interrupted()?;
        Ok(audit)
    }

    /// Adds the calls that had begun when Hob stopped.
    fn end_interrupted(&self) -> Result<()> {
        let mut found = vec![];
        self.notes.scan(|note| found.push((note.id, note.value)))?;
        for (id, call) in found {
            self.waiting().ended.push(id);
            self.add(call.interrupted(id));
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many calls were made since the start.
    pub fn calls(&self) -> Calls {
        self.waiting().calls
    }

    /// Notes a call that is about to change something: on disk with its first effect, or before it.
    pub fn begin(&self, call: &Call) {
        self.waiting().begun.insert(call.cx.call_id(), (BegunCall::new(call), false));
        self.write_soon();
    }

    /// Adds a call that has ended.
    fn count(&self, entry: AuditEntry) {
        let mut waiting = self.waiting();
        waiting.calls.made += 1;
        waiting.calls.failed += u64::from(entry.outcome != "ok");
        waiting.calls.denied += u64::from(entry.outcome == "denied");
        drop(waiting);
        self.add(entry);
    }

    /// Ends the note of a call, whether or not it gets an entry.
    fn end(&self, call: Id) {
        let mut waiting = self.waiting();
        if let Some((_, true)) = waiting.begun.remove(&call) {
            waiting.ended.push(call);
        }
    }

    fn add(&self, mut entry: AuditEntry) {
        let mut waiting = self.waiting();
        waiting.last += 1;
        entry.seq = waiting.last;
        waiting.entries.push_back(entry);
        if waiting.entries.len() > WAITING {
            waiting.entries.pop_front();
        }
        drop(waiting);
        self.write_soon();
    }

    /// Schedules a write with the next commit.
    fn write_soon(&self) {
        if !std::mem::replace(&mut self.waiting().due, true) {
            let (this, mut taken) = (self.clone(), None);
            // A batch may run twice, when another job in it fails: the same entries are written then.
            self.segments.store().write_later(move |tx| {
                let due = taken.get_or_insert_with(|| this.take());
                this.write(tx, due)
            });
        }
    }

    /// Takes the entries and notes to write. Entries stay in memory until the next write, when the store surely has them.
    fn take(&self) -> Due {
        let mut waiting = self.waiting();
        waiting.due = false;
        let last = waiting.last;
        let written = std::mem::replace(&mut waiting.written, last);
        waiting.entries.retain(|e| e.seq > written);
        let unwritten = waiting.begun.iter_mut().filter(|(_, (_, written))| !written);
        let begun = unwritten.map(|(id, (call, written))| {
            *written = true;
            (*id, call.clone())
        });
        let begun = begun.collect();
        Due { entries: waiting.entries.iter().cloned().collect(), begun, ended: std::mem::take(&mut waiting.ended) }
    }

    fn write(&self, tx: &Tx, due: &Due) -> store::Result<()> {
        let stamp = Stamp::household("audit");
        due.begun.iter().try_for_each(|(id, call)| self.notes.put(tx, *id, &stamp, call).map(drop))?;
        due.ended.iter().try_for_each(|id| self.notes.remove(tx, Scope::Household, *id).map(drop))?;
        let (Some(first), Some(last)) = (due.entries.first(), due.entries.last()) else { return Ok(()) };
        let lines: String =
            due.entries.iter().filter_map(|e| serde_json::to_string(e).ok()).map(|l| l + "\n").collect();
        let grown = {
            let mut waiting = self.waiting();
            waiting.grown += lines.len() + SEGMENT;
            waiting.grown
        };
        if grown > self.budget / SLACK {
            self.shorten(tx)?;
            self.waiting().grown = 0;
        }
        self.segments.put(tx, Id::new(), &stamp, &Segment { first: first.seq, last: last.seq, lines }).map(drop)
    }

    /// Deletes the oldest segments beyond the budget.
    fn shorten(&self, tx: &Tx) -> store::Result<()> {
        let (mut size, mut before, mut deleted) = (0, None, 0);
        while deleted < DELETED {
            // Some at a time: all of them would be megabytes of memory.
            let listing = Listing { limit: READ, before, ..Listing::default() };
            let some = self.segments.list_in(Scope::Household, &listing)?;
            let Some(oldest) = some.last() else { return Ok(()) };
            before = Some(oldest.id);
            for segment in &some {
                size += segment.value.lines.len() + SEGMENT;
                if size > self.budget && deleted < DELETED {
                    self.segments.remove(tx, Scope::Household, segment.id)?;
                    deleted += 1;
                }
            }
        }
        Ok(())
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
            let listing = Listing { limit: READ, before, ..Listing::default() };
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

/// The start of a digest, in hexadecimal digits.
fn short_digest(digest: &[u8]) -> String {
    digest.iter().take(8).map(|b| format!("{b:02x}")).collect()
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

/// Whether the page itself reads, and no code but Hob's own does it.
fn is_for_display(call: &Call) -> bool {
    let is_own = *call.cx.maker() == Owner::Core && call.tool().owner == Owner::Core;
    is_own && call.cx.channel() == Channel::Page && call.caller.bounds().for_display
}

impl Audit {
    /// Records the outcome of a call.
    pub fn note(&self, call: &Call, outcome: &str) {
        let took = call.took();
        self.count(AuditEntry {
            seq: 0,
            at: Id::now_ms().saturating_sub(took.as_millis() as u64),
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
            digest: short_digest(&call.digest()),
        });
    }
}

impl Audit {
    /// Records a change that a person made without a tool.
    pub fn note_change(&self, cx: &Cx, what: &str, details: &Value) {
        self.count(AuditEntry {
            seq: 0,
            at: Id::now_ms(),
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
            digest: short_digest(&digest_of(what, details)),
        });
    }
}

impl CallLog for Audit {
    fn record(&self, call: &Call, outcome: &str) {
        self.end(call.cx.call_id());
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
        self.end(call.cx.call_id());
        self.counts.count(call, outcome(&result));
        // Observing calls of schedules and triggers repeat for years and would push everything else out of the log.
        // So would what the page reads to show it.
        let repeats = call.cx.channel() == Channel::Machine || is_for_display(call);
        let looks = call.tool().risk == Risk::Observe && repeats && call.cx.run().is_none();
        if !(looks && result.is_ok() && call.approval.is_none()) {
            self.note(call, outcome(&result));
        }
        // The most important entries are on the disk before the caller receives the result. In a run, and of a schedule, they
        // are there with the next step: until then, the note that the call began is.
        let grave = matches!(call.tool().risk_of(&call.caller, &call.args), Risk::Send | Risk::Destroy | Risk::Admin)
            || call.approval.is_some();
        let bounds = call.caller.bounds();
        let noted = call.tool().risk.changes_something() && (bounds.begins.is_some() || bounds.effect.is_some());
        if !grave || noted || result.is_err() {
            return Box::pin(ready(result));
        }
        Box::pin(async move {
            let (this, mut taken) = (self.clone(), None);
            let write = move |tx: &Tx| {
                let due = taken.get_or_insert_with(|| this.take());
                this.write(tx, due)
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
        (0..30).for_each(|n| audit.count(entry(if n % 10 == 0 { "bad" } else { "good" })));
        store.flush().await.unwrap();
        (0..5).for_each(|_| audit.count(entry("good")));
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
        again.count(entry("good"));
        assert_eq!(seqs(&again.page(&query(None, 1)).unwrap()), [31], "what was not flushed is lost, numbers go on");
    }

    #[tokio::test]
    async fn a_write_stores_what_is_new_and_older_segments_are_read() {
        let store = Store::in_memory().unwrap();
        let audit = Audit::open(&store).unwrap();
        let stored = || audit.segments.list_in(Scope::Household, &Listing::default()).unwrap();
        for n in 1..=3 {
            audit.count(entry("good"));
            store.flush().await.unwrap();
            assert_eq!((stored().len(), stored()[0].value.lines.lines().count()), (n, 1));
        }
        assert_eq!(seqs(&audit.page(&AuditQuery { limit: 9, ..AuditQuery::default() }).unwrap()), [3, 2, 1]);
        // A Hob of before appended to one segment.
        let lines = stored().iter().rev().map(|s| s.value.lines.clone()).collect::<String>();
        let (segments, old) = (audit.segments.clone(), Segment { first: 1, last: 3, lines });
        let put = move |tx: &Tx| segments.put(tx, Id::new(), &Stamp::household("audit"), &old).map(drop);
        store.write(put).await.unwrap();
        let again = Audit::open(&store).unwrap();
        again.count(entry("good"));
        assert_eq!(again.page(&AuditQuery { limit: 1, ..AuditQuery::default() }).unwrap().entries[0].seq, 4);
    }

    #[tokio::test]
    async fn a_log_that_is_much_too_large_is_shortened_in_pieces() {
        let store = Store::in_memory().unwrap();
        const LINES: usize = 16 << 10;
        let audit = Audit::with_budget(&store, 4 * (LINES + SEGMENT)).unwrap();
        let segments = audit.segments.clone();
        let fill = move |tx: &Tx| {
            (0..3 * DELETED as u64).try_for_each(|n| {
                let segment = Segment { first: n, last: n, lines: "x".repeat(LINES) };
                segments.put(tx, Id::new(), &Stamp::household("audit"), &segment).map(drop)
            })
        };
        store.write(fill).await.unwrap();
        let mut left = vec![];
        for _ in 0..4 {
            let shortened = audit.clone();
            store.write(move |tx| shortened.shorten(tx)).await.unwrap();
            left.push(audit.segments.list_in(Scope::Household, &Listing::default()).unwrap().len());
        }
        assert_eq!(left, [2 * DELETED, DELETED, 4, 4]);
    }

    #[tokio::test]
    async fn the_oldest_go_when_there_are_too_many() {
        let store = Store::in_memory().unwrap();
        let audit = Audit::with_budget(&store, 64 << 10).unwrap();
        for _ in 0..40 {
            (0..20).for_each(|_| audit.count(entry(&"t".repeat(60))));
            store.flush().await.unwrap();
        }
        let size: usize = audit
            .segments
            .list_in(Scope::Household, &Listing::default())
            .unwrap()
            .iter()
            .map(|s| s.value.lines.len() + SEGMENT)
            .sum();
        assert!((48 << 10..=80 << 10).contains(&size), "{size}");
        let all = audit.page(&AuditQuery { limit: 200, ..AuditQuery::default() }).unwrap();
        assert_eq!(all.entries.first().unwrap().seq, 800);
    }
}
