//! Changes of records that everybody shares, and of several records in one commit.

use crate::{NamedRecord, RecordStore, publish_change};
use store::{Audience, Collection, Entry, Record, Tx};
use tool::{Cx, Id, Label, Result, Scope, UserId};

/// Whether this caller may change a record: their own, or a shared one that is everybody's. Their role was checked before.
pub fn can_change<T: NamedRecord>(cx: &Cx, entry: &Entry<T>) -> bool {
    is_open_to(cx.user(), entry)
}

fn is_open_to<T: NamedRecord>(user: UserId, entry: &Entry<T>) -> bool {
    // Nobody knows whose words became a record by voice.
    let is_everybodys = entry.value.is_everybodys() || entry.owner == UserId::VOICE;
    entry.owner == user || (entry.audience == Audience::Household && is_everybodys)
}

/// The caller of a write that may reach the records of others.
#[derive(Clone, Copy)]
pub(crate) struct Caller {
    user: UserId,
    label: Label,
}

impl Caller {
    pub(crate) fn of(cx: &Cx) -> Self {
        Self { user: cx.user(), label: cx.label() }
    }

    /// Checks again within the write: the owner may have made the record private since it was found.
    pub(crate) fn check<T: NamedRecord>(
        self,
        tx: &Tx,
        records: &Collection<T>,
        scope: Scope,
        id: Id,
    ) -> store::Result<()> {
        if scope == Scope::User(self.user) {
            return Ok(());
        }
        match records.read(tx, scope, id)? {
            Some(now) if is_open_to(self.user, &now) => Ok(()),
            _ => Err(store::Error::Missing(format!("there is no {} with the id {id}", T::WORD))),
        }
    }

    /// Changes a record. Where a member changed the texts of another person's record, these are no longer the owner's words,
    /// and the record says so to every reader; ticking it off leaves the words as they are.
    pub(crate) fn change<T: NamedRecord>(
        self,
        tx: &Tx,
        records: &Collection<T>,
        scope: Scope,
        id: Id,
        change: &mut dyn FnMut(&mut T) -> store::Result<()>,
    ) -> store::Result<Entry<T>> {
        self.check(tx, records, scope, id)?;
        let is_own = scope == Scope::User(self.user);
        // Labels of this run reach another person's record only together with words.
        let label = if is_own { self.label } else { Label::Own };
        let mut reworded = false;
        let changed = records.change(tx, scope, label, id, &mut |value| {
            let before = texts(value);
            change(value)?;
            reworded = before != texts(value);
            Ok(())
        })?;
        if reworded && !is_own {
            return records.change(tx, scope, self.label.max(Label::Member(self.user)), id, &mut |_| Ok(()));
        }
        Ok(changed)
    }
}

/// The texts of a record that a model would read as somebody's words.
fn texts<T: NamedRecord>(value: &T) -> (String, String) {
    (value.words(), value.group().unwrap_or_default().to_owned())
}

/// One of several changes that are made together.
pub enum Change<T> {
    /// Puts this in its place.
    Set(Entry<T>, T),
    /// Sets whether the household sees it.
    Share(Entry<T>, bool),
    /// Deletes it.
    Remove(Entry<T>),
}

impl<T> Change<T> {
    fn entry(&self) -> &Entry<T> {
        match self {
            Self::Set(entry, _) | Self::Share(entry, _) | Self::Remove(entry) => entry,
        }
    }
}

impl<T: NamedRecord> RecordStore<T> {
    /// Makes all of these changes or none, in one commit; `also` writes in the same commit. Each record must be one that this
    /// caller can change, and sharing one needs its owner.
    ///
    /// # Errors
    /// `NotFound` when one of the records is gone; `Unavailable` when the disk is full; the errors of `also`.
    pub async fn change_several<A>(&self, cx: &Cx, changes: Vec<Change<T>>, mut also: A) -> Result<()>
    where
        A: FnMut(&Tx) -> store::Result<()> + Send + 'static,
    {
        let (records, caller) = (self.records().clone(), Caller::of(cx));
        let done = self.records().store().write(move |tx| {
            for change in &changes {
                let (scope, id) = (Scope::User(change.entry().owner), change.entry().id);
                match change {
                    Change::Set(_, value) => {
                        let mut set = |stored: &mut T| {
                            stored.clone_from(value);
                            Ok(())
                        };
                        caller.change(tx, &records, scope, id, &mut set)?;
                    }
                    Change::Share(_, shared) => {
                        records.share(tx, Scope::User(caller.user), id, crate::audience(*shared))?;
                    }
                    Change::Remove(_) => {
                        caller.check(tx, &records, scope, id)?;
                        records.remove(tx, scope, id)?;
                    }
                }
            }
            also(tx)?;
            Ok(changes.iter().map(|change| published(change)).collect::<Vec<_>>())
        });
        done.await?.iter().for_each(|(entry, change)| publish_change(cx, entry, change));
        Ok(())
    }
}

/// The entry to publish a change under: a change of sharing reaches those who could read the record before or can now.
fn published<T: Record>(change: &Change<T>) -> (Entry<T>, &'static str) {
    let mut entry = change.entry().clone();
    match change {
        Change::Set(..) => (entry, "changed"),
        Change::Remove(_) => (entry, "deleted"),
        Change::Share(..) => {
            entry.audience = Audience::Household;
            (entry, "changed")
        }
    }
}
