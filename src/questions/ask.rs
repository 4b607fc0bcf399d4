//! The life of one question in the call that asks it: stored, announced, awaited, then answered, suspended or expired.

use crate::{
    Open, Question, QuestionKind, State,
    kind::{event, stamp},
    lock, now_ms,
    open::limit_reached,
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use store::{Entry, Listing};
use tokio::{sync::watch, time::Instant};
use tool::{Cx, Error, Id, Result, Scope, UserId};

/// A question that was asked. Unless its answer is awaited, it expires when this is dropped.
pub struct PendingQuestion<T: Question> {
    /// The question.
    pub view: T::View,
    /// Whether it was asked just now, and not by the same call before.
    pub is_new: bool,
    waiter: Waiter<T>,
}

impl<T: Question> QuestionKind<T> {
    /// Stores a question under a new id and announces it to the person and to whoever follows the run. A call that is made again joins the
    /// question it asked before, or gets its answer.
    ///
    /// # Errors
    /// [`Question::refused`] when too many are open; `Unavailable` when the disk is full.
    pub async fn ask(&self, cx: &Cx, id: Id, question: T) -> Result<PendingQuestion<T>> {
        let (user, service) = (cx.user(), &self.service.0);
        let bus = service.bus.get_or_init(|| cx.ports().bus.clone());
        let before = self.asked_before(user, &question)?;
        let (id, is_new) = (before.as_ref().map_or(id, |e| e.id), before.is_none());
        let mut waiter = Waiter { kind: self.clone(), user, id, answer: None };
        {
            let mut open = lock(&service.open);
            if is_new {
                let header = question.header();
                if let Some(why) = limit_reached(&open, user, &header) {
                    return Err(question.refused(why));
                }
                let kind = Arc::new(self.records.clone());
                open.insert(id, Open::new(kind, user, header, question.label()));
            }
            // A question that has ended has no entry; its record has the answer.
            if let Some(open) = open.get_mut(&id) {
                open.waiters += 1;
                waiter.answer = Some(open.answer.subscribe());
            }
        }
        let entry = match before {
            Some(before) => before,
            None => {
                let (records, stamp) =
                    (self.records.clone(), stamp(user, T::TOPICS[0].split(':').next().unwrap_or_default()));
                service.store.write(move |tx| records.put(tx, id, &stamp, &question)).await?
            }
        };
        let (run, is_open) = (entry.value.header().run, waiter.answer.is_some());
        let (view, data) = event(entry);
        if is_new {
            bus.publish(T::TOPICS[0], Some(user), data);
        }
        if is_open {
            self.listeners.notify(run, &view);
        }
        Ok(PendingQuestion { view, is_new, waiter })
    }

    /// The question that the same call asked before, in its current state. One that expired only because its call
    /// ended is asked again.
    fn asked_before(&self, user: UserId, question: &T) -> Result<Option<Entry<T>>> {
        let header = question.header();
        let (Some(index), Some(run), true) = (T::BY_RUN, header.run, header.suspends) else { return Ok(None) };
        let by = Some((index, run.as_bytes().to_vec()));
        let found = self.records.list_in(Scope::User(user), &Listing { by, ..Listing::default() })?;
        let counts = |header: crate::Header| header.state != State::Expired || header.expires_ms <= now_ms();
        let same = found.into_iter().filter(|e| question.repeats(&e.value)).map(|e| self.current(e));
        Ok(same.filter(|e| counts(e.value.header())).max_by_key(|e| e.id))
    }
}

impl<T: Question> PendingQuestion<T> {
    /// Waits for the answer. Returns the question as it ended, answered or expired, and the answer as the person gave it
    /// where this call waited for it. After `patience` the run is suspended if it can be, else the question expires.
    ///
    /// # Errors
    /// `Parked` when the run is to be suspended; `Unavailable` when the call was stopped, or the question deleted.
    pub async fn answer(mut self, cx: &Cx, patience: Duration) -> Result<(T, Option<Value>)> {
        let _paused = cx.pause().begin();
        let (deadline, service) = (Instant::now() + patience, self.waiter.kind.service.clone());
        while let Some(mut answer) = self.waiter.answer.clone() {
            if let Some(answer) = answer.borrow_and_update().clone() {
                return self.waiter.ended(Some(answer));
            }
            tokio::select! {
                biased;
                changed = answer.changed() => match changed {
                    Ok(()) => continue,
                    Err(_) => break,
                },
                () = service.0.closing.cancelled(), if self.waiter.suspends() => {}
                () = cx.cancel().cancelled() => {
                    return Err(Error::unavailable("it was stopped while it waited for a person"));
                }
                () = tokio::time::sleep_until(deadline) => {}
            }
            let _settling = service.0.settling.lock().await;
            if matches!(answer.has_changed(), Ok(false)) && self.waiter.give_up() {
                let hours = service.timeouts().parked_hours;
                let text =
                    format!("this waits for a person: the run is resumed when they answer, within {hours} hours");
                return Err(Error::Parked(text.into()));
            }
        }
        self.waiter.ended(None)
    }
}

/// One call that waits. Dropped without an answer, it ends the question unless another call waits too, or Hob shuts down and
/// the run can be resumed.
struct Waiter<T: Question> {
    kind: QuestionKind<T>,
    user: UserId,
    id: Id,
    /// `None` when it does not wait, or no longer.
    answer: Option<watch::Receiver<Option<Value>>>,
}

impl<T: Question> Waiter<T> {
    fn suspends(&self) -> bool {
        lock(&self.kind.service.0.open).get(&self.id).is_some_and(|o| o.header.suspends)
    }

    /// Waits no longer: suspends the run, or ends the question and returns `false`.
    fn give_up(&mut self) -> bool {
        let suspends = self.suspends();
        if let Some(open) = lock(&self.kind.service.0.open).get_mut(&self.id).filter(|_| suspends) {
            open.waiters -= 1;
            self.answer = None;
        } else {
            self.end();
        }
        suspends
    }

    fn end(&self) {
        let ended = lock(&self.kind.service.0.open).remove(&self.id);
        ended.into_iter().for_each(|open| drop(self.kind.service.expire(self.id, open)));
    }

    /// The question as it ended.
    fn ended(&mut self, answer: Option<Value>) -> Result<(T, Option<Value>)> {
        let found = self.kind.records.get_in(Scope::User(self.user), self.id)?;
        let entry = found.ok_or_else(|| Error::unavailable("the question was deleted, so nobody can answer it"))?;
        Ok((self.kind.current(entry).value, answer))
    }
}

impl<T: Question> Drop for Waiter<T> {
    fn drop(&mut self) {
        if self.answer.is_none() {
            return;
        }
        let service = &self.kind.service.0;
        let ends = lock(&service.open).get_mut(&self.id).is_some_and(|open| {
            open.waiters -= 1;
            open.waiters == 0 && !(open.header.suspends && service.closing.is_cancelled())
        });
        if ends {
            self.end();
        }
    }
}
