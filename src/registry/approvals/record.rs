//! A question as it is stored and shown, the answers to it, and what "always" leaves behind.

use super::{ApprovalRequest, ApprovalTimeouts, Resume, now};
use policy::{Grant, Pattern};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use store::{Coded, Entry, Level, Record};
use tool::{
    AgentId, Channel, Consent, Cx, Error, Id, Label, Principal, Result, Risk, Role, UserId, Via,
    prelude::{JsonSchema, schemars},
};

/// The longest arguments a person is asked about, in bytes of JSON: what cannot be shown whole cannot be agreed to.
pub(super) const SHOWN: usize = 256 * 1024;
/// The longest that are kept again as what a standing yes covers.
const PATTERN: usize = 16 * 1024;

/// How a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It waits for an answer.
    Pending,
    /// The answer was yes.
    Approved,
    /// The answer was no.
    Denied,
    /// Nobody answered in time, or nobody waits for the answer any more.
    Expired,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Yes, this once.
    AllowOnce,
    /// Yes, and from now on without asking, for what the pattern covers.
    AllowAlways,
    /// No.
    Deny,
}

impl Coded for State {
    const ALL: &'static [Self] = &[State::Pending, State::Approved, State::Denied, State::Expired];
    const UNKNOWN: Self = State::Expired;
}

impl Coded for ApprovalDecision {
    const ALL: &'static [Self] = &[ApprovalDecision::AllowOnce, ApprovalDecision::AllowAlways, ApprovalDecision::Deny];
    const UNKNOWN: Self = ApprovalDecision::Deny;
}

/// An answer of a person.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Yes or no.
    pub decision: ApprovalDecision,
    /// The question's nonce; when it is given it must be the right one.
    #[serde(default)]
    pub nonce: Option<String>,
    /// What `allow_always` is to cover: `"*"` for any arguments, or an object of arguments, in whose texts `*` stands for
    /// anything. What the question suggests, when left out.
    #[serde(default)]
    pub pattern: Option<Value>,
}

/// A question as it is stored. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    nonce: u64,
    tool: String,
    version: u32,
    /// Words of enums as JSON text: they grow.
    risk: String,
    arguments: String,
    digest: [u8; 32],
    about: String,
    rule: String,
    reason: String,
    tainted: bool,
    #[serde(with = "store::coded")]
    pub state: State,
    /// 0 is none, else the number of the answer and one.
    decision: u8,
    agent: AgentId,
    #[serde(with = "store::coded")]
    role: Role,
    channel: String,
    chat: String,
    pub run: Option<Id>,
    pub conversation: Option<Id>,
    model_call: String,
    pub parks: bool,
    waits_ms: u64,
    pub expires_ms: u64,
    pub decided_ms: u64,
    decided_by: Option<UserId>,
    pattern: String,
    /// JSON list of the only tools the request might use; empty is any.
    only: String,
    /// Whether it was answered while its run rested, and the run has not gone on yet.
    pub resumes: bool,
}

impl Record for Stored {
    const NAME: &'static str = "approvals";
    const WORD: &'static str = "question to a person";
    const LEVEL: Level = Level::User;
}

fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Stored {
    pub fn new(cx: &Cx, wish: ApprovalRequest, parks: bool, waits: &ApprovalTimeouts) -> Self {
        let time = now();
        let waits_ms = time + waits.in_call_seconds * 1000;
        let bounds = cx.bounds();
        let model_call = bounds.model_call.as_deref().unwrap_or_default().to_owned();
        let parks = parks && cx.run().is_some() && cx.conversation().is_some() && !model_call.is_empty();
        let expires_ms = if parks { time + waits.parked_hours * 3_600_000 } else { waits_ms };
        let nonce = Id::new().as_bytes()[8..].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        Self {
            nonce,
            tool: wish.tool,
            version: wish.version,
            risk: word(&wish.risk),
            arguments: wish.args.to_string(),
            digest: wish.digest,
            about: wish.about,
            rule: wish.rule.to_owned(),
            reason: wish.reason,
            tainted: cx.label() == Label::Outside,
            state: State::Pending,
            decision: 0,
            agent: cx.agent(),
            role: cx.principal().role,
            channel: word(&cx.channel()),
            chat: cx.via().chat.as_deref().unwrap_or_default().to_owned(),
            run: cx.run(),
            conversation: cx.conversation(),
            model_call,
            parks,
            waits_ms,
            expires_ms,
            decided_ms: 0,
            decided_by: None,
            pattern: wish.pattern.map(|p| p.to_json().to_string()).filter(|p| p.len() <= PATTERN).unwrap_or_default(),
            only: bounds.only.as_ref().map(word).unwrap_or_default(),
            resumes: false,
        }
    }

    /// Keeps an answer, and whether the run rests and is to go on.
    pub fn settle(&mut self, state: State, given: ApprovalDecision, by: UserId, rested: bool) {
        self.resumes = rested && self.parks && state != State::Expired;
        (self.state, self.decision, self.decided_by, self.decided_ms) = (state, given.code() + 1, Some(by), now());
    }

    /// Whether it is about a call of a run itself, and not about what a tool wanted while it ran.
    pub fn is_about(&self, run: Id, model_call: &str) -> bool {
        self.run == Some(run) && self.model_call == model_call && !self.tool.contains('#')
    }

    /// What a yes binds.
    pub fn consent(&self) -> Consent {
        Consent::new(self.tool.as_str().into(), self.version, self.digest)
    }

    fn nonce(&self) -> String {
        format!("{:016x}", self.nonce)
    }

    fn risk(&self) -> Risk {
        serde_json::from_str(&self.risk).unwrap_or(Risk::Admin)
    }

    /// Whether this caller may give this answer; and what it leaves behind.
    ///
    /// # Errors
    /// `Denied` when their role does not reach so far; `BadArgs` when the pattern cannot be; `Unavailable` when the nonce is
    /// that of another question.
    pub fn checked(&self, cx: &Cx, answer: &Answer) -> Result<Option<StoredGrant>> {
        if answer.nonce.as_ref().is_some_and(|nonce| *nonce != self.nonce()) {
            return Err(Error::unavailable("the nonce is not that of this question: read it anew and look again"));
        }
        if answer.decision != ApprovalDecision::Deny && cx.principal().role < self.risk().least_role() {
            let role = self.risk().least_role();
            return Err(Error::denied(format!("only somebody with the role {role:?} may say yes to `{}`", self.tool)));
        }
        if answer.decision != ApprovalDecision::AllowAlways {
            return match answer.pattern {
                Some(_) => Err(Error::bad_args("`pattern` goes with `allow_always` alone: leave it out")),
                None => Ok(None),
            };
        }
        let wanted = answer.pattern.clone().unwrap_or_else(|| json(&self.pattern));
        if wanted.is_null() {
            return Err(Error::bad_args(
                "what it is called with has a secret in it or is very long, and no standing yes is kept about it: allow it once",
            ));
        }
        let pattern = Pattern::parse(&wanted).map_err(Error::BadArgs)?;
        // What is shown of a secret is not what it is called with.
        if !pattern.covers(&json(&self.arguments)) && !self.arguments.contains(scrub::MARK) {
            return Err(Error::bad_args(
                "`pattern` does not cover this call: leave it out, or say what it is to cover",
            ));
        }
        if self.tainted && !pattern.is_exact() {
            return Err(Error::bad_args(
                "this came up after reading something from outside, so a standing yes must name every value: leave \
                 `pattern` out, or allow it once",
            ));
        }
        let pattern = pattern.to_json().to_string();
        Ok(Some(StoredGrant { tool: self.tool.clone(), version: self.version, pattern }))
    }

    /// The run that rests on this question.
    pub fn resume(&self, approval: &Approval) -> Option<Resume> {
        let (run, conversation) = (self.run?, self.conversation?);
        let only: Option<Vec<Arc<str>>> = serde_json::from_str(&self.only).ok();
        let chat = Some(self.chat.as_str()).filter(|c| !c.is_empty()).map(Arc::from);
        self.resumes.then(|| Resume {
            approval: approval.id,
            principal: Principal { user: approval.user_id, role: self.role, agent: self.agent },
            via: Via { chat, ..Via::direct(approval.channel) },
            run,
            conversation,
            model_call: self.model_call.clone(),
            consent: self.consent(),
            yes: approval.state == State::Approved,
            label: if self.tainted { Label::Outside } else { Label::Own },
            only: only.map(Into::into),
        })
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// A question as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub id: Id,
    /// Given back with the answer, it proves that this question was meant.
    pub nonce: String,
    /// The tool; with `#fetch` behind it when it is about a host the tool wants to reach.
    pub tool: String,
    /// With what it would be called, without secrets. Null in events when very long: read the question itself.
    pub arguments: Value,
    /// What would be done, in a sentence.
    pub about: String,
    /// The worst the tool can do.
    pub risk: Risk,
    /// The rule that wants the question.
    pub rule: String,
    /// Why it is asked, in a sentence.
    pub reason: String,
    /// Whether the run had read something from outside.
    pub tainted: bool,
    /// How it stands.
    pub state: State,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// On whose behalf the call would be made.
    pub user_id: UserId,
    /// The run that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
    /// Its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<Id>,
    /// The model's id of its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The door the request came through.
    pub channel: Channel,
    /// The tool's version.
    pub version: u32,
    /// What `allow_always` covers unless the answer says otherwise; null where that is secret or very long.
    pub pattern: Value,
    /// When it was asked: milliseconds since 1970.
    pub asked_at: u64,
    /// Until when the call itself waits: milliseconds since 1970.
    pub waits_until: u64,
    /// Until when it can be answered: milliseconds since 1970.
    pub expires_at: u64,
    /// When it was settled: milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<UserId>,
}

impl From<Entry<Stored>> for Approval {
    fn from(e: Entry<Stored>) -> Self {
        let s = e.value;
        Self {
            id: e.id,
            nonce: s.nonce(),
            arguments: json(&s.arguments),
            risk: s.risk(),
            channel: serde_json::from_str(&s.channel).unwrap_or(Channel::Machine),
            pattern: json(&s.pattern),
            tool: s.tool,
            about: s.about,
            rule: s.rule,
            reason: s.reason,
            tainted: s.tainted,
            state: s.state,
            decision: s.decision.checked_sub(1).map(ApprovalDecision::of),
            user_id: e.owner,
            run_id: s.run,
            conversation_id: s.conversation,
            tool_call_id: Some(s.model_call).filter(|c| !c.is_empty()),
            version: s.version,
            asked_at: e.id.millis(),
            waits_until: s.waits_ms,
            expires_at: s.expires_ms,
            decided_at: (s.decided_ms > 0).then_some(s.decided_ms),
            decided_by: s.decided_by,
        }
    }
}

/// A standing yes as it is stored. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StoredGrant {
    tool: String,
    version: u32,
    /// JSON text.
    pattern: String,
}

impl Record for StoredGrant {
    const NAME: &'static str = "grants";
    const WORD: &'static str = "standing yes";
    const LEVEL: Level = Level::User;
}

impl StoredGrant {
    /// `None` when its pattern cannot be read: it then covers nothing.
    pub fn grant(&self, id: Id, user: UserId) -> Option<Grant> {
        let pattern = Pattern::parse(&json(&self.pattern)).ok()?;
        Some(Grant { id, user, tool: self.tool.as_str().into(), version: self.version, pattern })
    }
}

/// A standing yes as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantShown {
    /// Its id.
    pub id: Id,
    /// The tool it is for.
    pub tool: String,
    /// The version of the tool it is for.
    pub version: u32,
    /// What arguments it covers.
    pub pattern: Value,
    /// Whose it is.
    pub user_id: UserId,
    /// When it was given: milliseconds since 1970.
    pub created_at: u64,
}

impl From<&Grant> for GrantShown {
    fn from(g: &Grant) -> Self {
        Self {
            id: g.id,
            tool: g.tool.to_string(),
            version: g.version,
            pattern: g.pattern.to_json(),
            user_id: g.user,
            created_at: g.id.millis(),
        }
    }
}
