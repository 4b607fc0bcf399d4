//! An approval as it is stored and shown, the answers to it, and the grant that "always" leaves behind.

use super::ApprovalRequest;
use policy::{Grant, Pattern};
use questions::{Header, Question, Timeouts};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{Coded, Entry, Level, Record};
use tool::{
    AgentId, Channel, Consent, Cx, Error, Id, Label, Result, Risk, Role, UserId,
    prelude::{JsonSchema, schemars},
};

/// The longest arguments that a person is asked about, in bytes of JSON: nobody can agree to what cannot be shown whole.
pub(super) const SHOWN: usize = 256 * 1024;
/// The longest arguments in an event, and the longest that are stored again as the pattern of a grant.
const PATTERN: usize = 16 * 1024;

/// The state of an approval.
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
    /// The approval's nonce. When it is sent it must match.
    #[serde(default)]
    pub nonce: Option<String>,
    /// The arguments `allow_always` covers: `"*"` for any, or an object of arguments in whose texts `*` stands for
    /// anything. Defaults to the approval's `pattern`.
    #[serde(default)]
    pub pattern: Option<Value>,
}

/// An approval as it is stored. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    nonce: u64,
    tool: String,
    version: u32,
    /// Enums as JSON text, because they grow.
    risk: String,
    arguments: String,
    digest: [u8; 32],
    about: String,
    rule: String,
    reason: String,
    tainted: bool,
    #[serde(with = "store::coded")]
    pub state: State,
    /// 0 is none, else the code of the decision plus one.
    decision: u8,
    agent: AgentId,
    #[serde(with = "store::coded")]
    role: Role,
    channel: String,
    chat: String,
    run: Option<Id>,
    conversation: Option<Id>,
    model_call: String,
    parks: bool,
    waits_ms: u64,
    expires_ms: u64,
    pub decided_ms: u64,
    decided_by: Option<UserId>,
    pattern: String,
    /// JSON list of the only tools the request might use; empty is any.
    only: String,
    /// Not read any more: a suspended run is resumed by its own record.
    resumes: bool,
}

impl Record for Stored {
    const NAME: &'static str = "approvals";
    const WORD: &'static str = "question to a person";
    const LEVEL: Level = Level::User;
}

fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Question for Stored {
    const TOPICS: [&'static str; 2] = ["approval:asked", "approval:settled"];
    type View = Approval;

    fn header(&self) -> Header {
        Header {
            run: self.run,
            conversation: self.conversation,
            model_call: self.model_call.clone(),
            suspends: self.parks,
            expires_ms: self.expires_ms,
            state: match self.state {
                State::Pending => questions::State::Pending,
                State::Approved | State::Denied => questions::State::Settled,
                State::Expired => questions::State::Expired,
            },
        }
    }

    fn expire(&mut self, at_ms: u64) {
        (self.state, self.decided_ms) = (State::Expired, at_ms);
    }

    fn details(approval: &Approval) -> Map<String, Value> {
        let mut details = match serde_json::to_value(approval) {
            Ok(Value::Object(details)) => details,
            _ => Map::new(),
        };
        if approval.state == State::Expired {
            details.insert("decision".into(), Value::Null);
        }
        // The bus keeps its latest events.
        if approval.arguments.to_string().len() > PATTERN {
            details.insert("arguments".into(), Value::Null);
        }
        details
    }

    fn label(&self) -> String {
        format!("`{}`", self.tool)
    }

    fn refused(&self, why: String) -> Error {
        Error::denied(format!("{why}, so `{}` was not asked about and not called", self.tool))
    }
}

impl Stored {
    pub fn new(cx: &Cx, id: Id, request: ApprovalRequest, timeouts: Timeouts) -> Self {
        // A pin is not moved a day later.
        let suspends = request.suspends && request.risk != Risk::Actuate;
        let header = Header::new(cx, suspends, timeouts, id);
        let nonce = Id::new().as_bytes()[8..].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        let pattern = request.pattern.map(|p| p.to_json().to_string());
        Self {
            nonce,
            tool: request.tool,
            version: request.version,
            risk: word(&request.risk),
            arguments: request.args.to_string(),
            digest: request.digest,
            about: request.about,
            rule: request.rule.to_owned(),
            reason: request.reason,
            tainted: cx.label() != Label::Own,
            state: State::Pending,
            decision: 0,
            agent: cx.agent(),
            role: cx.principal().role,
            channel: word(&cx.channel()),
            chat: cx.via().chat.as_deref().unwrap_or_default().to_owned(),
            run: header.run,
            conversation: header.conversation,
            model_call: header.model_call,
            parks: header.suspends,
            waits_ms: id.millis() + timeouts.in_call().as_millis() as u64,
            expires_ms: header.expires_ms,
            decided_ms: 0,
            decided_by: None,
            pattern: pattern.filter(|p| p.len() <= PATTERN).unwrap_or_default(),
            only: cx.bounds().only.as_ref().map(word).unwrap_or_default(),
            resumes: false,
        }
    }

    /// Stores a decision.
    pub fn settle(&mut self, decision: ApprovalDecision, by: UserId) {
        self.state = if decision == ApprovalDecision::Deny { State::Denied } else { State::Approved };
        (self.decision, self.decided_by, self.decided_ms) = (decision.code() + 1, Some(by), Id::now_ms());
    }

    /// Whether it is about this call of a run itself, and not about what a tool wants while it runs.
    pub fn is_about(&self, run: Id, model_call: &str) -> bool {
        self.run == Some(run) && self.model_call == model_call && !self.tool.contains('#')
    }

    /// The consent that an approval gives to the call.
    pub fn consent(&self) -> Consent {
        Consent::new(self.tool.as_str().into(), self.version, self.digest)
    }

    fn nonce(&self) -> String {
        format!("{:016x}", self.nonce)
    }

    fn risk(&self) -> Risk {
        serde_json::from_str(&self.risk).unwrap_or(Risk::Admin)
    }

    /// Checks an answer of this caller. Returns the grant that it leaves behind.
    ///
    /// # Errors
    /// `Denied` when their role does not suffice; `BadArgs` when the pattern is invalid; `Unavailable` when the nonce is that of
    /// another question.
    pub fn check_answer(&self, cx: &Cx, answer: &Answer) -> Result<Option<StoredGrant>> {
        if answer.nonce.as_ref().is_some_and(|nonce| *nonce != self.nonce()) {
            return Err(Error::unavailable("the nonce is not that of this approval: read it again and look at it"));
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
                "the arguments have a secret in them or are very long, so no standing yes can be stored: allow it once",
            ));
        }
        let pattern = Pattern::parse(&wanted).map_err(Error::bad_args)?;
        // A masked secret is not the real argument.
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
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// An approval as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub id: Id,
    /// Sent back with the answer, it proves that the answer is to this approval.
    pub nonce: String,
    /// The tool; with `#fetch` behind it when it is about a host the tool wants to reach.
    pub tool: String,
    /// The arguments without secrets. Null in events when very long: read the approval itself.
    pub arguments: Value,
    /// The effect of the call, in a sentence.
    pub about: String,
    /// The risk of the tool.
    pub risk: Risk,
    /// The rule that requires the approval.
    pub rule: String,
    /// Why it is required, in a sentence.
    pub reason: String,
    /// Whether the run had read something from outside.
    pub tainted: bool,
    /// Its state.
    pub state: State,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// The person for whom the call would be made.
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
    /// The arguments `allow_always` covers by default; null if secret or very long.
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
    /// The person who settled it.
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

/// A standing grant as it is stored. New fields go last.
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
    /// `None` when its pattern cannot be read: then it covers nothing.
    pub fn grant(&self, id: Id, user: UserId) -> Option<Grant> {
        let pattern = Pattern::parse(&json(&self.pattern)).ok()?;
        Some(Grant { id, user, tool: self.tool.as_str().into(), version: self.version, pattern })
    }
}

/// A standing grant as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantShown {
    /// Its id.
    pub id: Id,
    /// The tool it is for.
    pub tool: String,
    /// The version of the tool it is for.
    pub version: u32,
    /// The arguments it covers.
    pub pattern: Value,
    /// The person who granted it.
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
