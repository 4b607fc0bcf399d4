//! Undoing changes: a person's last one or a given one, and bringing back deleted records. The store journals changes of all
//! records whose type has [`store::Record::UNDO`]; a family whose records have effects beyond the store registers an [`Undoer`].

mod bin;
#[cfg(test)]
mod tests;
mod words;

pub use bin::Deleted;
pub use words::{Kept, changed_words, undone_words};

use crate::rejected;
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};
use store::{Change, Did, Part, PutBack, Store, Tx};
use tool::{Cx, Error, Id, Result, UserId, prelude::json};

/// How long ago the change of another conversation may be that "undo" without an id means.
const RECENT_MS: u64 = 10 * 60_000;

/// The part of undoing that only the family of a record can do.
pub trait Undoer: Send + Sync + 'static {
    /// Before a record is put back or removed, within the same write: the id of what it belongs to, for `within`.
    ///
    /// # Errors
    /// As every read.
    fn belongs_to(&self, _tx: &Tx, _part: &Part) -> store::Result<Option<Id>> {
        Ok(None)
    }
    /// Within the write that makes a record of its collection what it was before, or removes it.
    ///
    /// # Errors
    /// `Conflict` when the record cannot be as it was; nothing is undone then.
    fn within(&self, _tx: &Tx, _part: &Part, _of: Option<Id>) -> store::Result<()> {
        Ok(())
    }
    /// After that write.
    fn after<'a>(&'a self, _cx: &'a Cx, _part: &'a Part) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }
    /// Undoes a change outside the store; `false` when that was changed since.
    ///
    /// # Errors
    /// Those of the call that undoes it.
    fn outside<'a>(&'a self, _cx: &'a Cx, _part: &'a Part) -> BoxFuture<'a, Result<bool>> {
        ready(Ok(false)).boxed()
    }
    /// Whether the bin shows deleted records of its collection; a deletion can be undone all the same.
    fn is_in_bin(&self) -> bool {
        true
    }
    /// Why a part is never undone, where that is not because it was changed since; without its end.
    fn why_kept(&self, _part: &Part) -> Option<String> {
        None
    }
    /// A sentence about what of this part no undo takes back; one is given for all parts.
    fn remains<'a>(&'a self, _cx: &'a Cx, _part: &'a Part) -> BoxFuture<'a, Option<String>> {
        ready(None).boxed()
    }
    /// The sentence about one undone part, without its end, where it is not the usual one.
    fn words(&self, _part: &Part) -> Option<String> {
        None
    }
}

/// Undoes changes; cheap to clone.
#[derive(Clone)]
pub struct Undo {
    store: Store,
    undoers: Arc<RwLock<HashMap<String, Arc<dyn Undoer>>>>,
}

/// A change that was undone.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The change.
    pub change: Change,
    /// The parts that are as they were before.
    pub done: Vec<Part>,
    /// The parts that were changed since, and left alone.
    pub kept: Vec<Part>,
    /// The state now, as a sentence.
    pub sentence: String,
}

impl Undo {
    /// Over the changes in `store`.
    pub fn new(store: &Store) -> Self {
        Self { store: store.clone(), undoers: Arc::default() }
    }

    /// Registers the undoer of a collection, or of a kind of things outside the store.
    pub fn register(&self, table: &str, undoer: Arc<dyn Undoer>) {
        self.undoers.write().unwrap_or_else(PoisonError::into_inner).insert(table.to_owned(), undoer);
    }

    fn undoer(&self, table: &str) -> Option<Arc<dyn Undoer>> {
        self.undoers.read().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    /// The latest changes of this caller.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn changes(&self, cx: &Cx, most: usize) -> Result<Vec<Change>> {
        let found = self.store.changes(cx.user(), most, |_| true)?;
        found.iter().for_each(|change| cx.taint(change.label));
        Ok(found)
    }

    /// The effect of a change, as a sentence.
    pub fn summary(&self, change: &Change) -> String {
        changed_words(&self.store, change)
    }

    /// The change this caller means: the one with the id; or their last one in this conversation, or else the last that they
    /// made within ten minutes.
    fn chosen(&self, cx: &Cx, id: Option<Id>) -> Result<Change> {
        let user = cx.user();
        if let Some(id) = id {
            let change = self.store.change(user, id)?.ok_or_else(|| {
                Error::not_found(format!("you made no change {id}, or it is older than 30 days: list your changes"))
                    .say("That cannot be undone any more: it is older than 30 days.")
            })?;
            return match change {
                Change { undone: true, .. } => {
                    Err(Error::bad_args("that was undone already").say("That was undone already."))
                }
                Change { too_large: true, .. } => {
                    Err(Error::bad_args("that change was too large to be stored for undoing"))
                }
                change => Ok(change),
            };
        }
        let fits = |change: &Change| change.is_reversible() && change.undoes.is_none();
        if let Some(here) = cx.conversation() {
            let last = self.store.changes(user, 1, |change| fits(change) && change.conversation == Some(here))?.pop();
            if let Some(last) = last {
                return Ok(last);
            }
        }
        let since = Id::now_ms().saturating_sub(RECENT_MS);
        let recent = |change: &Change| fits(change) && !change.unattended && change.id.millis() >= since;
        let last = if cx.is_by_model() { None } else { self.store.changes(user, 1, recent)?.pop() };
        last.ok_or_else(|| {
            Error::not_found("there is nothing to undo here: nothing was changed in this conversation, nor by you in the last ten minutes")
                .say("There is nothing to undo.")
        })
    }

    /// Undoes a change in one commit, as far as its records are still as it left them. Where the change is of several kinds of
    /// records, which belong together, either all of it is undone or nothing.
    ///
    /// # Errors
    /// `NotFound`; `Denied` to a model for changes of other conversations; `BadArgs` when nothing can be undone.
    pub async fn undo(&self, cx: &Cx, id: Option<Id>) -> Result<Undone> {
        let change = self.chosen(cx, id)?;
        let own = change.conversation.is_some() && change.conversation == cx.conversation();
        if cx.is_by_model() && !own && change.run != cx.run() {
            return Err(Error::denied(
                "a model undoes only what was changed in its own conversation: the person can undo this on the page, or by saying \"undo\"",
            ));
        }
        let (done, kept) = store::as_undo_of(change.id, self.put_back(cx, &change)).await?;
        cx.taint(change.label);
        let single = |part: &Part| self.undoer(&part.table).and_then(|undoer| undoer.words(part));
        let mut sentence = undone_words(&self.store, &done, &self.split(&kept), single);
        if let Some(remains) = self.remains(cx, &done).await {
            sentence.push(' ');
            sentence.push_str(&remains);
        }
        Ok(Undone { change, done, kept, sentence })
    }

    /// The parts that were changed since, and why others are never undone.
    fn split(&self, kept: &[Part]) -> Kept {
        let mut split = Kept::default();
        for part in kept {
            match self.undoer(&part.table).and_then(|undoer| undoer.why_kept(part)) {
                Some(why) => split.lost.push(why),
                None => split.changed.push(part.clone()),
            }
        }
        split
    }

    async fn remains(&self, cx: &Cx, parts: &[Part]) -> Option<String> {
        for part in parts {
            let Some(undoer) = self.undoer(&part.table) else { continue };
            if let Some(remains) = undoer.remains(cx, part).await {
                return Some(remains);
            }
        }
        None
    }

    async fn put_back(&self, cx: &Cx, change: &Change) -> Result<(Vec<Part>, Vec<Part>)> {
        let (stored, outside): (Vec<Part>, Vec<Part>) =
            change.parts.iter().cloned().partition(|part| self.store.word_of(&part.table).is_some());
        let (mut done, mut kept) = (vec![], vec![]);
        for part in outside.into_iter().rev() {
            let undone = match self.undoer(&part.table) {
                Some(undoer) => undoer.outside(cx, &part).await?,
                None => false,
            };
            if undone { done.push(part) } else { kept.push(part) }
        }
        if stored.is_empty() && done.is_empty() {
            return Err(Error::bad_args(words::refusal(&self.split(&kept))));
        }
        let linked = stored.iter().any(|part| stored.iter().any(|other| other.table != part.table));
        let (user, id) = (change.user, change.id);
        let (here, store, moved) = (self.clone(), self.store.clone(), !done.is_empty());
        let job = move |tx: &Tx| {
            let (done, kept) = here.put_back_in(tx, &stored)?;
            if !kept.is_empty() && (linked || done.is_empty()) && !moved {
                return Err(rejected(words::refusal(&here.split(&kept))));
            }
            store.close_change(tx, user, id)?;
            Ok((done, kept))
        };
        let (stored, changed) = self.store.write(job).await?;
        done.extend(stored);
        kept.extend(changed);
        self.announce(cx, user, &done).await;
        Ok((done, kept))
    }

    /// Within a write: makes records what they were before; returns those it did, and those that were changed since.
    fn put_back_in(&self, tx: &Tx, parts: &[Part]) -> store::Result<(Vec<Part>, Vec<Part>)> {
        let (mut done, mut kept) = (vec![], vec![]);
        for part in parts.iter().rev() {
            let undoer = self.undoer(&part.table);
            let of = undoer.as_ref().map_or(Ok(None), |undoer| undoer.belongs_to(tx, part))?;
            match self.store.put_back(tx, part)? {
                PutBack::Done => {
                    if let Some(undoer) = undoer {
                        undoer.within(tx, part, of)?;
                    }
                    done.push(part.clone());
                }
                PutBack::ChangedSince | PutBack::NotStored => kept.push(part.clone()),
            }
        }
        done.reverse();
        kept.reverse();
        Ok((done, kept))
    }

    /// Lets families know, and publishes the changes as those of any call.
    async fn announce(&self, cx: &Cx, user: UserId, parts: &[Part]) {
        for part in parts {
            if let Some(undoer) = self.undoer(&part.table) {
                undoer.after(cx, part).await;
            }
            let Some(id) = part.id() else { continue };
            let change = match part.did() {
                Did::Added => "deleted",
                Did::Changed => "changed",
                Did::Deleted => "added",
            };
            let owner = match part.scope() {
                Some(tool::Scope::User(owner)) => owner,
                _ => user,
            };
            let to = Some(owner).filter(|_| !part.shared);
            cx.ports().bus.publish(format!("{}:changed", part.table), to, json!({"id": id, "change": change}));
        }
    }
}
