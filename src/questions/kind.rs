//! One kind of question: its stored records, and how one is settled, listed, expired and deleted.

use crate::{
    Header, Listeners, Listening, Open, Questions, State, SuspendedRun, lock, now_ms,
    stored_kind::{Removal, StoredKind},
};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, sync::Arc};
use store::{Audience, Collection, Entry, Listing, Record, Stamp, Tx};
use tool::{Cx, Error, Id, Label, Result, Scope, UserId};

/// How many settled questions of a kind are stored for a person.
const SETTLED: usize = 500;
/// The most of them that are deleted at once for a person; the next time deletes what is left.
const DELETED: usize = 500;
/// How many questions are read at once.
const PAGE: usize = 50;

/// A kind of question, implemented by the record in which one is stored. Two functions are required: where the record carries
/// the shared fields, and how it expires.
pub trait Question: Record {
    /// The topic of the event that announces a question, and of the one that says it ended. Their data is one shape: `id`,
    /// `runId` and `conversationId`, and what [`Question::details`] adds.
    const TOPICS: [&'static str; 2];
    /// The index of the record by run. Where there is one, a call that is made again finds the question it asked before.
    const BY_RUN: Option<u8> = None;
    /// The form in which a question is shown to people.
    type View: From<Entry<Self>> + Send + Sync + 'static;

    /// The shared fields.
    fn header(&self) -> Header;
    /// Ends the question without an answer.
    fn expire(&mut self, at_ms: u64);

    /// The event fields of this kind, in addition to the shared ones.
    fn details(_: &Self::View) -> Map<String, Value> {
        Map::new()
    }
    /// Its subject, in a few words.
    fn label(&self) -> String {
        String::new()
    }
    /// Whether this is the question that the same call asked `before`.
    fn repeats(&self, _before: &Self) -> bool {
        false
    }
    /// The error of a call whose question is one too many; `why` is a sentence.
    fn refused(&self, why: String) -> Error {
        Error::unavailable(why)
    }
}

impl<T: Question> StoredKind for Collection<T> {
    fn expiry_event(&self, user: UserId, id: Id) -> Option<(&'static str, Value)> {
        let mut entry = self.get_in(Scope::User(user), id).ok()??;
        entry.value.expire(now_ms());
        Some((T::TOPICS[1], event::<T>(entry).1))
    }

    fn expire_later(&self, user: UserId, id: Id) {
        let records = self.clone();
        self.store().write_later(move |tx| {
            let expire = &mut |question: &mut T| {
                if question.header().state == State::Pending {
                    question.expire(now_ms());
                }
                Ok(())
            };
            match records.change(tx, Scope::User(user), Label::Own, id, expire) {
                Err(store::Error::Missing(_)) => Ok(()),
                other => other.map(drop),
            }
        });
    }

    fn removal(&self, user: UserId, conversation: Id) -> Result<Removal> {
        let (scope, records) = (Scope::User(user), self.clone());
        let mut its = self.list_in(scope, &Listing::default())?;
        its.retain(|e| e.value.header().conversation == Some(conversation));
        let ids: Vec<Id> = its.into_iter().map(|e| e.id).collect();
        Ok(Box::new(move |tx| ids.iter().try_for_each(|id| records.remove(tx, scope, *id).map(drop))))
    }

    fn prune(&self) -> Result<()> {
        let mut settled = HashMap::<UserId, Vec<Id>>::new();
        self.scan(|e| {
            if e.value.header().state != State::Pending {
                settled.entry(e.owner).or_default().push(e.id);
            }
        })?;
        for (user, mut ids) in settled.into_iter().filter(|(_, ids)| ids.len() > SETTLED) {
            ids.sort();
            let (old, records) = (ids[..(ids.len() - SETTLED).min(DELETED)].to_vec(), self.clone());
            self.store().write_later(move |tx| {
                old.iter().try_for_each(|id| records.remove(tx, Scope::User(user), *id).map(drop))
            });
        }
        Ok(())
    }
}

/// A question as it is shown, and the data of its events.
pub(crate) fn event<T: Question>(entry: Entry<T>) -> (T::View, Value) {
    let (id, header) = (entry.id, entry.value.header());
    let view = T::View::from(entry);
    let mut data = T::details(&view);
    data.extend([
        ("id".to_owned(), json!(id)),
        ("runId".to_owned(), json!(header.run)),
        ("conversationId".to_owned(), json!(header.conversation)),
    ]);
    (view, data.into())
}

/// The questions of one kind. Cheap to clone.
pub struct QuestionKind<T: Question> {
    pub(crate) service: Questions,
    pub(crate) records: Collection<T>,
    pub(crate) listeners: Listeners<T::View>,
}

impl<T: Question> Clone for QuestionKind<T> {
    fn clone(&self) -> Self {
        let (service, records, listeners) = (self.service.clone(), self.records.clone(), self.listeners.clone());
        Self { service, records, listeners }
    }
}

impl Questions {
    /// Opens a kind. Questions on which a run is suspended are open again; those that only a call waited for expire.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn kind<T: Question>(&self) -> Result<QuestionKind<T>> {
        let records: Collection<T> = self.0.store.collection();
        let kind: Arc<dyn StoredKind> = Arc::new(records.clone());
        let (mut open, mut lost) = (vec![], vec![]);
        records.scan(|e| {
            let header = e.value.header();
            if header.state == State::Pending {
                match header.suspends && header.expires_ms > now_ms() {
                    true => open.push((e.id, Open::new(kind.clone(), e.owner, header, e.value.label()))),
                    false => lost.push((e.owner, e.id)),
                }
            }
        })?;
        lock(&self.0.open).extend(open);
        lost.into_iter().for_each(|(user, id)| kind.expire_later(user, id));
        lock(&self.0.kinds).push(kind);
        Ok(QuestionKind { service: self.clone(), records, listeners: Listeners::default() })
    }
}

impl<T: Question> QuestionKind<T> {
    /// Calls `hear` with every question of the run until the guard is dropped.
    pub fn watch(&self, run: Id, hear: impl Fn(&T::View) + Send + Sync + 'static) -> Listening<T::View> {
        self.listeners.watch(run, hear)
    }

    /// The person who is asked an open question.
    pub fn owner(&self, id: Id) -> Option<UserId> {
        lock(&self.service.0.open).get(&id).map(|o| o.user)
    }

    /// One question of a person.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, user: UserId, id: Id) -> Result<T::View> {
        let found = self.records.get_in(Scope::User(user), id)?.ok_or_else(|| missing(id))?;
        Ok(self.current(found).into())
    }

    /// The questions of one person or of everybody that fit, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(
        &self,
        user: Option<UserId>,
        fits: impl Fn(&T) -> bool,
        before: Option<Id>,
        limit: usize,
    ) -> Result<Vec<T::View>> {
        let mut all = vec![];
        let Some(user) = user else {
            self.records.scan(|e| {
                let e = self.current(e);
                if before.is_none_or(|before| e.id < before) && fits(&e.value) {
                    all.push(e);
                }
            })?;
            all.sort_by_key(|e| std::cmp::Reverse(e.id));
            return Ok(all.into_iter().take(limit).map(T::View::from).collect());
        };
        let mut before = before;
        while all.len() < limit {
            let page = self.records.list_in(Scope::User(user), &Listing { by: None, before, limit: PAGE })?;
            let Some(oldest) = page.last() else { break };
            before = Some(oldest.id);
            all.extend(page.into_iter().map(|e| self.current(e)).filter(|e| fits(&e.value)));
        }
        Ok(all.into_iter().take(limit).map(T::View::from).collect())
    }

    /// The open questions of a person or of everybody, the newest first. Reads no others.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn pending(&self, user: Option<UserId>, before: Option<Id>, limit: usize) -> Result<Vec<T::View>> {
        let mut open: Vec<(Id, UserId)> = lock(&self.service.0.open)
            .iter()
            .filter(|(id, o)| {
                user.is_none_or(|user| o.user == user) && before.is_none_or(|before| **id < before) && !o.is_late()
            })
            .map(|(id, o)| (*id, o.user))
            .collect();
        open.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        let mut all = vec![];
        for (id, user) in open {
            let found = self.records.get_in(Scope::User(user), id)?.map(|e| self.current(e));
            all.extend(found.filter(|e| e.value.header().state == State::Pending).map(T::View::from));
        }
        all.truncate(limit);
        Ok(all)
    }

    /// The newest question that fits, as it is now; `None` when there is none.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn latest(&self, user: UserId, fits: impl Fn(Id, &T) -> bool) -> Result<Option<T>> {
        let all = self.records.list_in(Scope::User(user), &Listing::default())?;
        let latest = all.into_iter().filter(|e| fits(e.id, &e.value)).max_by_key(|e| e.id);
        Ok(latest.map(|e| self.current(e).value))
    }

    /// Stores an answer. `decide` looks at the question and returns the answer for the waiting call, and the change of the
    /// record, which may write more in the same commit. The second part of the result is the run that has to be resumed.
    /// To be polled to its end, since an answer that was written counts.
    ///
    /// # Errors
    /// `NotFound` when the person has no such question; `Unavailable` when it has ended; as `decide` and [`store::Store::write`].
    pub async fn settle<C>(
        &self,
        cx: &Cx,
        user: UserId,
        id: Id,
        decide: impl FnOnce(&T) -> Result<(Value, C)>,
    ) -> Result<(T::View, Option<SuspendedRun>)>
    where
        C: FnMut(&Tx, &mut T) -> store::Result<()> + Send + 'static,
    {
        let (service, scope) = (&self.service, Scope::User(user));
        let _settling = service.0.settling.lock().await;
        let found = self.records.get_in(scope, id)?.ok_or_else(|| missing(id))?;
        service.0.bus.get_or_init(|| cx.ports().bus.clone());
        let late = lock(&service.0.open).extract_if(|of, o| *of == id && o.is_late()).next();
        if let Some((_, late)) = late {
            service.expire(id, late);
            return Err(Error::unavailable("it was asked too long ago: ask Hob for it again"));
        }
        if !lock(&service.0.open).contains_key(&id) {
            return Err(Error::unavailable("this was answered already, or nobody waits for it any more"));
        }
        let (answer, mut change) = decide(&found.value)?;
        let records = self.records.clone();
        let write = move |tx: &Tx| records.change(tx, scope, Label::Own, id, &mut |question| change(tx, question));
        let (view, data) = event(self.records.store().write(write).await?);
        service.publish(T::TOPICS[1], user, data);
        let ended = lock(&service.0.open).remove(&id);
        let run = ended.as_ref().and_then(Open::suspended_run);
        ended.into_iter().for_each(|ended| drop(ended.answer.send_replace(Some(answer.clone()))));
        Ok((view, run))
    }

    /// A question as it is now: one that nobody waits for any more has expired, also before that is written.
    pub(crate) fn current(&self, mut entry: Entry<T>) -> Entry<T> {
        let header = entry.value.header();
        let is_open = || lock(&self.service.0.open).get(&entry.id).is_some_and(|o| !o.is_late());
        if header.state == State::Pending && !is_open() {
            entry.value.expire(header.expires_ms.min(now_ms()));
        }
        entry
    }
}

pub(crate) fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no question {id} of yours"))
}

pub(crate) fn stamp(user: UserId, source: &str) -> Stamp {
    // A question may be a stranger's words, but only people read it, so it taints nobody.
    let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: source.into() }
}
