//! Approvals: whether a person allows a call. A kind of question ([`questions`]) whose answer binds one call (tool, arguments
//! and version), and the standing grants that "always" leaves behind.

mod grants;
mod record;

pub use record::{Answer, Approval, ApprovalDecision, GrantShown, State};

use grants::Grants;
use policy::Pattern;
use questions::{Listening, QuestionKind, Questions, SuspendedRun};
use record::Stored;
use serde_json::Value;
use std::sync::Arc;
use store::Store;
use tool::{Consent, Cx, Error, Id, Result, Risk, Role, UserId};

/// A call about which a person is asked.
pub(crate) struct ApprovalRequest {
    /// The canonical name; with `#word` behind it for one thing a tool wants while it runs.
    pub tool: String,
    pub version: u32,
    pub risk: Risk,
    /// As they are shown: without secrets.
    pub args: Value,
    pub digest: [u8; 32],
    /// The action, in a sentence.
    pub about: String,
    pub rule: &'static str,
    pub reason: String,
    /// The default scope of "always"; `None` if it would reveal a secret.
    pub pattern: Option<Pattern>,
    /// Whether the call can be made again later from the model's own call.
    pub suspends: bool,
}

/// A person's answer about a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// This one call is approved.
    Yes(Consent),
    /// It is denied.
    No,
    /// Nobody answered, or too long ago.
    Lapsed,
}

/// The approvals of the household and its standing grants.
pub struct Approvals {
    questions: QuestionKind<Stored>,
    service: Questions,
    grants: Grants,
}

impl Approvals {
    pub(crate) fn open(store: &Store, service: Questions) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { questions: service.kind()?, service, grants: Grants::open(store)? }))
    }

    /// The service that stores the questions.
    pub(crate) fn service(&self) -> &Questions {
        &self.service
    }

    /// The store of standing grants.
    pub(crate) fn grant_store(&self) -> &Grants {
        &self.grants
    }

    /// The answer to the question about a call of a run, asked after `after`; `None` when nobody was asked. For a run that is
    /// resumed: a question that only a call waited for has lapsed with it, and an old yes is not acted on as a surprise.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn reply_to(&self, user: UserId, run: Id, model_call: &str, after: Id) -> Result<Option<Reply>> {
        let latest = self.questions.latest(user, |id, q| id > after && q.is_about(run, model_call))?;
        let valid_ms = self.service.timeouts().parked_ms();
        Ok(latest.map(|question| match question.state {
            State::Pending | State::Expired => Reply::Lapsed,
            State::Denied => Reply::No,
            State::Approved if question.decided_ms + valid_ms <= Id::now_ms() => Reply::Lapsed,
            State::Approved => Reply::Yes(question.consent()),
        }))
    }

    /// Calls `hear` with every approval that a run needs, until the guard is dropped.
    pub fn watch(&self, run: Id, hear: impl Fn(&Approval) + Send + Sync + 'static) -> Listening<Approval> {
        self.questions.watch(run, hear)
    }

    /// Asks, and waits for the answer. Returns the id of the approval.
    ///
    /// # Errors
    /// `Denied` when the answer is no or none came in time; `Parked` when the run is to be suspended until one comes;
    /// `Unavailable` when the call was stopped meanwhile.
    pub(crate) async fn ask(&self, cx: &Cx, request: ApprovalRequest) -> Result<Id> {
        let (tool, timeouts) = (request.tool.clone(), self.service.timeouts());
        if request.args.to_string().len() > record::SHOWN {
            return Err(Error::denied(format!(
                "`{tool}` needs a person's approval, and its arguments are too long to be shown to them: make them shorter"
            )));
        }
        let id = Id::new();
        let asked = self.questions.ask(cx, id, Stored::new(cx, id, request, timeouts)).await?;
        match asked.answer(cx, timeouts.in_call()).await?.0.state {
            State::Approved => Ok(id),
            State::Denied => Err(Error::denied(format!(
                "the person was asked and said no to `{tool}`: do not try again, and go on without it"
            ))
            .say("All right, I leave it.")),
            State::Pending | State::Expired => Err(Error::denied(format!(
                "nobody answered within {} s whether `{tool}` may run: it was not called",
                timeouts.in_call_seconds
            ))
            .say("Nobody answered, so I did not do it.")),
        }
    }

    /// Stores an answer, by the person who was asked or an admin. The second part is the run that has to be resumed.
    pub(crate) async fn settle(&self, cx: &Cx, id: Id, answer: Answer) -> Result<(Approval, Option<SuspendedRun>)> {
        let by = cx.principal();
        let user = self.questions.owner(id).filter(|_| by.role == Role::Admin).unwrap_or(by.user);
        let mut granted = None;
        let settled = self
            .questions
            .settle(cx, user, id, |question| {
                let grant = question.check_answer(cx, &answer)?.map(|grant| (Id::new(), grant));
                granted.clone_from(&grant);
                let (grants, decision, by) = (self.grants.clone(), answer.decision, by.user);
                let change = move |tx: &store::Tx, question: &mut Stored| {
                    question.settle(decision, by);
                    grant.iter().try_for_each(|(id, grant)| grants.put(tx, *id, user, grant))
                };
                Ok((Value::Null, change))
            })
            .await?;
        if let Some((id, grant)) = granted {
            self.grants.add(id, user, &grant);
        }
        Ok(settled)
    }

    /// The approvals of one person, or of everybody, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(
        &self,
        user: Option<UserId>,
        fits: impl Fn(State) -> bool,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Vec<Approval>> {
        self.questions.list(user, |question| fits(question.state), before, limit)
    }

    /// The pending approvals of one person, or of everybody, the newest first. Reads no others.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn pending(&self, user: Option<UserId>, before: Option<Id>, limit: usize) -> Result<Vec<Approval>> {
        self.questions.pending(user, before, limit)
    }

    /// One approval of this person; an admin may read anybody's open ones.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Approval> {
        let owner = self.questions.owner(id).filter(|_| cx.principal().role == Role::Admin);
        self.questions.get(owner.unwrap_or(cx.user()), id)
    }

    /// The standing grants of one person, or of everybody, the newest first.
    pub fn grants(&self, user: Option<UserId>) -> Vec<GrantShown> {
        self.grants.list(user)
    }
}

#[cfg(test)]
mod tests;
