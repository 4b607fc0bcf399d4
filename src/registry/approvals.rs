//! Asking a person whether a call may be made, and what they answered.
//!
//! A question is a record before anybody hears of it. Whoever waits for the answer waits two minutes in the call; after that
//! a question about a plain call of a run stays open for a day, and its run rests. An answer binds one call: tool, arguments
//! and version. "Always" leaves a grant behind.

mod capacity;
mod record;

pub use record::{Answer, Approval, ApprovalDecision, GrantShown, State};

use capacity::full;
use policy::{Grant, Pattern};
use record::{Stored, StoredGrant};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use store::{Audience, Collection, Listing, Stamp, Store};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tool::{Bus, Cx, Error, Id, Label, Result, Risk, Role, Scope, UserId};

/// How often it is looked whether an answer that is being given fails.
const LOOK: Duration = Duration::from_millis(50);
/// The longest arguments that are told in an event, in bytes of JSON.
const TOLD: usize = 16 * 1024;
/// How many settled questions of a person are kept.
const KEPT: usize = 500;

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalTimeouts {
    /// In the call itself.
    pub in_call_seconds: u64,
    /// By a run that rests meanwhile.
    pub parked_hours: u64,
}

impl Default for ApprovalTimeouts {
    fn default() -> Self {
        Self { in_call_seconds: 120, parked_hours: 24 }
    }
}

/// What a person is asked.
pub(crate) struct ApprovalRequest {
    /// The canonical name; with `#word` behind it for one thing a tool wants while it runs.
    pub tool: String,
    pub version: u32,
    pub risk: Risk,
    /// As they are shown: without secrets.
    pub args: Value,
    pub digest: [u8; 32],
    /// What would be done, in a sentence.
    pub about: String,
    pub rule: &'static str,
    pub reason: String,
    /// What "always" would cover unless the person says otherwise; `None` where that would tell a secret.
    pub pattern: Option<Pattern>,
    /// Whether the call can be made again later from the model's own call.
    pub parks: bool,
}

/// A run that rested and can go on: somebody answered.
#[derive(Debug, Clone)]
pub struct Resume {
    /// The question.
    pub approval: Id,
    /// On whose behalf, with the rights they had when they were asked.
    pub principal: tool::Principal,
    /// The door.
    pub via: tool::Via,
    /// The run that asked, and its conversation.
    pub run: Id,
    /// See `run`.
    pub conversation: Id,
    /// The model's own id of its call.
    pub model_call: String,
    /// What the answer binds.
    pub consent: tool::Consent,
    /// Whether it was yes.
    pub yes: bool,
    /// Whether the run had read from outside.
    pub label: Label,
    /// The only tools that request might use.
    pub only: Option<Arc<[Arc<str>]>>,
}

/// What was said about a call.
#[derive(Debug, Clone)]
pub enum Reply {
    /// It can still be answered.
    Pending,
    /// Yes, to just this call.
    Yes(tool::Consent),
    /// No.
    No,
    /// Nobody answered, or too long ago.
    Lapsed,
}

type Watcher = Arc<dyn Fn(&Approval) + Send + Sync>;

struct Open {
    user: UserId,
    run: Option<Id>,
    conversation: Option<Id>,
    waiter: Option<oneshot::Sender<State>>,
}

/// The questions of the household and its standing answers.
pub struct Approvals {
    records: Collection<Stored>,
    grants: Collection<StoredGrant>,
    open: Mutex<HashMap<Id, Open>>,
    standing: Mutex<Vec<Grant>>,
    watchers: Mutex<HashMap<Id, Watcher>>,
    waits: ApprovalTimeouts,
    /// Cancelled when the house closes: runs rest at once, and their questions stay for after the next start.
    closing: CancellationToken,
    /// Runs whose question was answered before the last end, and that had not gone on yet.
    answered: Mutex<Vec<Resume>>,
    /// Where it is told that questions ended; known from the first on.
    bus: OnceLock<Bus>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    Id::new().millis()
}

impl Approvals {
    pub(crate) fn open(store: &Store, waits: ApprovalTimeouts) -> Result<Arc<Self>> {
        let (records, grants): (Collection<Stored>, Collection<StoredGrant>) = (store.collection(), store.collection());
        let (mut open, mut standing, mut lost, mut answered) = (HashMap::new(), vec![], vec![], vec![]);
        records.scan(|e| {
            // What was agreed to long ago is not done as a surprise.
            if e.value.resumes && e.value.decided_ms + waits.parked_hours * 3_600_000 > now() {
                answered.extend(e.value.clone().resume(&Approval::from(e.clone())));
            }
            if e.value.state == State::Pending {
                // Nobody waits in a call any more; what a run rests on stays.
                match e.value.parks && e.value.expires_ms > now() {
                    true => drop(open.insert(
                        e.id,
                        Open { user: e.owner, run: e.value.run, conversation: e.value.conversation, waiter: None },
                    )),
                    false => lost.push((e.owner, e.id)),
                }
            }
        })?;
        grants.scan(|e| standing.extend(e.value.grant(e.id, e.owner)))?;
        let this = Arc::new(Self {
            records,
            grants,
            open: Mutex::new(open),
            standing: Mutex::new(standing),
            watchers: Mutex::default(),
            waits,
            closing: CancellationToken::new(),
            answered: Mutex::new(answered),
            bus: OnceLock::new(),
        });
        for (user, id) in lost {
            this.expire_later(user, id);
        }
        Ok(this)
    }

    /// The runs whose question was answered before the last end, and that have not gone on yet; once.
    pub fn answered(&self) -> Vec<Resume> {
        std::mem::take(&mut *lock(&self.answered))
    }

    /// A run goes on: it is not to go on again, whatever becomes of it, for its call may be made only once.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn begun(&self, user: UserId, id: Id) -> Result<()> {
        let records = self.records.clone();
        let write = move |tx: &store::Tx| {
            records.change(tx, Scope::User(user), Label::Own, id, &mut |s: &mut Stored| {
                s.resumes = false;
                Ok(())
            })
        };
        Ok(self.records.store().write(write).await.map(drop)?)
    }

    /// What was said about a call of a run, asked after `after`; `None` when nobody was asked. For a run that goes on: questions
    /// that only a call in progress waited for have lapsed with it, and what was agreed to long ago is not done as a surprise.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn reply_to(&self, user: UserId, run: Id, model_call: &str, after: Id) -> Result<Option<Reply>> {
        let all = self.records.list_in(Scope::User(user), &Listing::default())?;
        let its = all.into_iter().filter(|e| e.id > after && e.value.is_about(run, model_call));
        Ok(its.max_by_key(|e| e.id).map(|e| match e.value.state {
            // One that is being answered this very moment is not among the open ones.
            State::Pending if e.value.parks && e.value.expires_ms > now() => Reply::Pending,
            State::Pending | State::Expired => Reply::Lapsed,
            State::Denied => Reply::No,
            State::Approved if e.value.decided_ms + self.waits.parked_hours * 3_600_000 <= now() => Reply::Lapsed,
            State::Approved => Reply::Yes(e.value.consent()),
        }))
    }

    /// Ends the questions of a person's run that rests; `false` when there are none.
    pub fn end_run(&self, user: UserId, run: Id) -> bool {
        self.end(|o| o.user == user && o.run == Some(run) && o.waiter.is_none())
    }

    /// Ends and forgets the questions of a person's conversation, which is deleted.
    pub async fn forget_conversation(&self, user: UserId, conversation: Id) -> Result<()> {
        let (scope, records) = (Scope::User(user), self.records.clone());
        let mut its = self.records.list_in(scope, &Listing::default())?;
        its.retain(|e| e.value.conversation == Some(conversation));
        let remove = move |tx: &store::Tx| its.iter().try_for_each(|e| records.remove(tx, scope, e.id).map(drop));
        self.records.store().write(remove).await?;
        self.end(|o| o.user == user && o.conversation == Some(conversation));
        Ok(())
    }

    fn end(&self, which: impl Fn(&Open) -> bool) -> bool {
        let mut open = lock(&self.open);
        let ended: Vec<(UserId, Id)> = open.iter().filter(|(_, o)| which(o)).map(|(id, o)| (o.user, *id)).collect();
        ended.iter().for_each(|(_, id)| drop(open.remove(id)));
        drop(open);
        ended.iter().for_each(|(user, id)| self.expire_later(*user, *id));
        !ended.is_empty()
    }

    /// Lets every run rest that can: the house closes.
    pub(crate) fn rest(&self) {
        self.closing.cancel();
    }

    /// The standing answers.
    pub(crate) fn grants_in_force(&self) -> Vec<Grant> {
        lock(&self.standing).clone()
    }

    /// Hears of every question of a run, until the guard is dropped.
    pub fn watch(self: &Arc<Self>, run: Id, hear: impl Fn(&Approval) + Send + Sync + 'static) -> Watching {
        lock(&self.watchers).insert(run, Arc::new(hear));
        Watching(self.clone(), run)
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// `Denied` when the answer is no or none came in time; `Parked` when the run is to rest until one comes;
    /// `Unavailable` when the call was stopped meanwhile.
    pub(crate) async fn ask(self: &Arc<Self>, cx: &Cx, wish: ApprovalRequest) -> Result<Id> {
        let (user, tool) = (cx.user(), wish.tool.clone());
        let parks = wish.parks && wish.risk != Risk::Actuate;
        if wish.args.to_string().len() > record::SHOWN {
            return Err(Error::denied(format!(
                "`{tool}` needs a person's yes, and what it is called with is too long to be shown to them: make it shorter"
            )));
        }
        let bus = self.bus.get_or_init(|| cx.ports().bus.clone());
        let stored = Stored::new(cx, wish, parks, &self.waits);
        let (id, parks) = (Id::new(), stored.parks);
        let (answered, answer) = oneshot::channel();
        {
            let mut open = lock(&self.open);
            if let Some(full) = full(&open, user, stored.run, stored.conversation) {
                return Err(Error::denied(format!("{full}, so `{tool}` was not asked about and not called")));
            }
            open.insert(id, Open { user, run: stored.run, conversation: stored.conversation, waiter: Some(answered) });
        }
        // Whatever ends this wait without an answer ends the question too.
        let mut waiting = Waiting { approvals: self.clone(), user, id, over: false };
        let (records, stamp, kept) = (self.records.clone(), stamp(user), stored.clone());
        let entry = self.records.store().write(move |tx| records.put(tx, id, &stamp, &kept)).await;
        let shown = Approval::from(entry?);
        let mut told = serde_json::to_value(&shown).unwrap_or_default();
        // The bus keeps what it tells for a while.
        if told["arguments"].to_string().len() > TOLD {
            told["arguments"] = Value::Null;
        }
        bus.publish("approval:asked", Some(user), told);
        if let Some(run) = shown.run_id
            && let Some(hear) = lock(&self.watchers).get(&run).cloned()
        {
            hear(&shown);
        }
        let paused = cx.pause().begin();
        let answer = self.answer(cx, id, answer, &mut waiting, parks).await;
        drop(paused);
        match answer? {
            State::Approved => Ok(id),
            State::Denied => Err(Error::denied(format!(
                "the person was asked and said no to `{tool}`: do not try again, and go on without it"
            ))),
            State::Pending => Err(Error::Parked(format!(
                "`{tool}` waits for a person's yes: the run goes on when they answer, for {} hours",
                self.waits.parked_hours
            ))),
            State::Expired => Err(Error::denied(format!(
                "nobody answered within {} s whether `{tool}` may run: it was not called",
                self.waits.in_call_seconds
            ))),
        }
    }

    /// Waits in the call; `Pending` when the run is to rest.
    async fn answer(
        &self,
        cx: &Cx,
        id: Id,
        mut answer: oneshot::Receiver<State>,
        waiting: &mut Waiting,
        parks: bool,
    ) -> Result<State> {
        let stopped = || Error::unavailable("it was stopped while a person was being asked");
        let patience = Duration::from_secs(self.waits.in_call_seconds);
        tokio::select! {
            biased;
            state = &mut answer => {
                waiting.over = true;
                return state.map_err(|_| stopped());
            }
            () = self.closing.cancelled(), if parks => {}
            () = cx.cancel().cancelled() => return Err(stopped()),
            () = tokio::time::sleep(patience) => {}
        }
        loop {
            match lock(&self.open).get_mut(&id) {
                Some(rests) if parks => {
                    rests.waiter = None;
                    waiting.over = true;
                    return Ok(State::Pending);
                }
                // Dropping the guard ends the question.
                Some(_) => return Ok(State::Expired),
                None => {}
            }
            // Somebody is answering at this very moment; if that fails, the question is open again.
            tokio::select! {
                biased;
                state = &mut answer => {
                    waiting.over = true;
                    return state.map_err(|_| stopped());
                }
                () = cx.cancel().cancelled() => return Err(stopped()),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Answers a question. The second part is set when nobody waits in the call any more and its run has to be gone on with.
    pub(crate) async fn settle(&self, cx: &Cx, id: Id, answer: Answer) -> Result<(Approval, Option<Resume>)> {
        let by = cx.principal();
        let claimed = {
            let mut open = lock(&self.open);
            let may = open.get(&id).is_some_and(|o| o.user == by.user || by.role == Role::Admin);
            if may { open.remove(&id) } else { None }
        };
        let Some(claimed) = claimed else {
            return Err(match self.records.get_in(Scope::User(by.user), id)? {
                Some(_) => Error::unavailable("this was answered already, or nobody waits for it any more"),
                None => Error::not_found(format!("no question {id} of yours is open")),
            });
        };
        let user = claimed.user;
        // Who waits in the call goes on by themselves, and not even when they are stopped this very moment after all.
        let rested = claimed.waiter.is_none();
        match self.write_answer(cx, user, id, &answer, rested).await {
            Ok((approval, stored)) => {
                if let Some(waiter) = claimed.waiter {
                    let _ = waiter.send(approval.state);
                }
                let resume = stored.resume(&approval);
                let told = settled(&approval);
                cx.ports().bus.publish("approval:settled", Some(user), told);
                match approval.state {
                    State::Expired => Err(Error::unavailable("it was asked too long ago: ask Hob for it again")),
                    _ => Ok((approval, resume)),
                }
            }
            Err(error) => {
                lock(&self.open).insert(id, claimed);
                Err(error)
            }
        }
    }

    async fn write_answer(
        &self,
        cx: &Cx,
        user: UserId,
        id: Id,
        answer: &Answer,
        rested: bool,
    ) -> Result<(Approval, Stored)> {
        let scope = Scope::User(user);
        let found = self.records.get_in(scope, id)?;
        let stored = found.ok_or_else(|| Error::not_found(format!("there is no question {id}")))?.value;
        let grant = stored.checked(cx, answer)?;
        let state = match (stored.expires_ms <= now(), answer.decision) {
            (true, _) => State::Expired,
            (false, ApprovalDecision::Deny) => State::Denied,
            (false, _) => State::Approved,
        };
        let grant = grant.filter(|_| state == State::Approved);
        let (records, grants, by, given) = (self.records.clone(), self.grants.clone(), cx.user(), answer.decision);
        let (grant_id, kept) = (Id::new(), grant.clone());
        let write = move |tx: &store::Tx| {
            if let Some(grant) = &kept {
                grants.put(tx, grant_id, &stamp(user), grant)?;
            }
            records.change(tx, scope, Label::Own, id, &mut |s: &mut Stored| {
                s.settle(state, given, by, rested);
                Ok(())
            })
        };
        let entry = self.records.store().write(write).await?;
        lock(&self.standing).extend(grant.and_then(|g| g.grant(grant_id, user)));
        let stored = entry.value.clone();
        Ok((Approval::from(entry), stored))
    }

    /// A question as it stands: one that nobody waits for any more is over, also before that is written.
    fn current_view(&self, entry: store::Entry<Stored>) -> Approval {
        let mut approval = Approval::from(entry);
        if approval.state == State::Pending && !lock(&self.open).contains_key(&approval.id) {
            approval.state = State::Expired;
        }
        approval
    }

    /// The questions of one person, or of everybody, the newest first.
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
        let mut all: Vec<Approval> = vec![];
        let mut take = |entry: store::Entry<Stored>| {
            let approval = self.current_view(entry);
            if fits(approval.state) && before.is_none_or(|before| approval.id < before) {
                all.push(approval);
            }
        };
        match user {
            Some(user) => {
                self.records.list_in(Scope::User(user), &Listing::default())?.into_iter().for_each(&mut take);
            }
            None => self.records.scan(&mut take)?,
        }
        all.sort_by_key(|a| std::cmp::Reverse(a.id));
        all.truncate(limit);
        Ok(all)
    }

    /// One question of this person; an admin may look at anybody's.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Approval> {
        let user = lock(&self.open).get(&id).map_or(cx.user(), |o| o.user);
        let may = user == cx.user() || cx.principal().role == Role::Admin;
        let found = if may { self.records.get_in(Scope::User(user), id)? } else { None };
        found
            .map(|e| self.current_view(e))
            .ok_or_else(|| Error::not_found(format!("there is no question {id} of yours")))
    }

    /// The standing answers of one person, or of everybody, the newest first.
    pub fn grants(&self, user: Option<UserId>) -> Vec<GrantShown> {
        let standing = lock(&self.standing);
        let own = standing.iter().filter(|g| user.is_none_or(|user| g.user == user));
        let mut all: Vec<GrantShown> = own.map(GrantShown::from).collect();
        all.sort_by_key(|g| std::cmp::Reverse(g.id));
        all
    }

    /// Forgets every standing answer about a tool and what it wanted while it ran: another may take its name.
    pub(crate) async fn forget(&self, tool: &str) -> Result<()> {
        let of = |g: &Grant| g.tool.strip_prefix(tool).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
        let gone: Vec<(UserId, Id)> = lock(&self.standing).iter().filter(|g| of(g)).map(|g| (g.user, g.id)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        lock(&self.standing).retain(|g| !of(g));
        let grants = self.grants.clone();
        let write = move |tx: &store::Tx| {
            gone.iter().try_for_each(|(user, id)| grants.remove(tx, Scope::User(*user), *id).map(drop))
        };
        Ok(self.grants.store().write(write).await?)
    }

    /// Takes a standing answer back.
    pub(crate) async fn take_back(&self, cx: &Cx, id: Id) -> Result<()> {
        let found = lock(&self.standing).iter().find(|g| g.id == id).cloned();
        let mine = found.filter(|g| g.user == cx.user() || cx.principal().role == Role::Admin);
        let grant = mine.ok_or_else(|| Error::not_found(format!("there is no standing yes {id} of yours")))?;
        // It counts no more from here on, even if the disk should fail.
        lock(&self.standing).retain(|g| g.id != id);
        Ok(self.grants.delete_in(Scope::User(grant.user), id).await.map(drop)?)
    }

    /// Ends questions nobody answered, and forgets the oldest settled ones; now and then.
    pub(crate) fn tidy(&self) -> Result<()> {
        let (time, mut per_user) = (now(), HashMap::<UserId, Vec<Id>>::new());
        let mut late = vec![];
        self.records.scan(|e| match e.value.state {
            State::Pending if e.value.parks && e.value.expires_ms <= time => late.push((e.owner, e.id)),
            State::Pending => {}
            _ => per_user.entry(e.owner).or_default().push(e.id),
        })?;
        for (user, id) in late {
            if lock(&self.open).remove(&id).is_some() {
                self.expire_later(user, id);
            }
        }
        for (user, mut ids) in per_user.into_iter().filter(|(_, ids)| ids.len() > KEPT) {
            ids.sort();
            let old: Vec<Id> = ids[..ids.len() - KEPT].to_vec();
            let records = self.records.clone();
            self.records.store().write_later(move |tx| {
                old.iter().try_for_each(|id| records.remove(tx, Scope::User(user), *id).map(drop))
            });
        }
        Ok(())
    }

    fn expire_later(&self, user: UserId, id: Id) {
        if let Some(bus) = self.bus.get() {
            let told = serde_json::json!({"id": id, "state": State::Expired, "decision": null});
            bus.publish("approval:settled", Some(user), told);
        }
        let records = self.records.clone();
        self.records.store().write_later(move |tx| {
            let change = &mut |s: &mut Stored| {
                s.state = State::Expired;
                s.decided_ms = now();
                Ok(())
            };
            match records.change(tx, Scope::User(user), Label::Own, id, change) {
                Err(store::Error::Missing(_)) => Ok(()),
                other => other.map(drop),
            }
        });
    }
}

fn stamp(user: UserId) -> Stamp {
    // What is asked may be a stranger's words; only people read it, so it taints nobody.
    let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: "approval".into() }
}

fn settled(approval: &Approval) -> Value {
    serde_json::json!({"id": approval.id, "state": approval.state, "decision": approval.decision, "tool": approval.tool,
                       "runId": approval.run_id, "conversationId": approval.conversation_id})
}

/// Stops hearing of a run's questions when dropped.
pub struct Watching(Arc<Approvals>, Id);

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&self.0.watchers).remove(&self.1);
    }
}

/// Ends a question whose asker went away.
struct Waiting {
    approvals: Arc<Approvals>,
    user: UserId,
    id: Id,
    over: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.over && lock(&self.approvals.open).remove(&self.id).is_some() {
            self.approvals.expire_later(self.user, self.id);
        }
    }
}

#[cfg(test)]
mod tests;
