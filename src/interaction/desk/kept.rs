//! What is kept: looked at, ended when its run or conversation ends, forgotten when it is old.

use super::{Interactions, KEPT, ListFilter, Wake, lock, missing, now, wake};
use crate::record::{Interaction, PENDING, RUN, State, Stored};
use std::collections::HashMap;
use store::{Entry, Listing};
use tool::{Cx, Id, Result, Scope, UserId};

impl Interactions {
    /// Those of this person, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx, which: ListFilter, limit: usize) -> Result<Vec<Interaction>> {
        let by = (which == ListFilter::In(State::Pending)).then(|| (PENDING, vec![]));
        let listed = self.0.records.list_in(Scope::User(cx.user()), &Listing { by, ..Listing::default() })?;
        let all = listed.into_iter().map(|e| self.current_view(e)).filter(|shown| match which {
            ListFilter::In(state) => shown.state == state,
            ListFilter::Answered => matches!(shown.state, State::Answered | State::Dismissed),
            ListFilter::All => true,
        });
        Ok(all.take(limit).collect())
    }

    /// One of this person.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Interaction> {
        let found = self.0.records.get_in(Scope::User(cx.user()), id)?;
        found.map(|e| self.current_view(e)).ok_or_else(|| missing(id))
    }

    /// As it stands: one that nobody waits for any more is over, also before that is written.
    fn current_view(&self, entry: Entry<Stored>) -> Interaction {
        let open = self.is_open(&entry);
        let mut shown = Interaction::from(entry);
        if shown.state == State::Pending && !open {
            shown.state = State::Expired;
        }
        shown
    }

    /// Whether it can be answered: a call waits for it, or a run rests on it.
    pub(super) fn is_open(&self, entry: &Entry<Stored>) -> bool {
        let lasts = entry.value.parks && entry.value.expires_ms > now();
        entry.value.state == State::Pending
            && !lock(&self.0.over).contains(&entry.id)
            && (lasts || lock(&self.0.waiting).contains_key(&entry.id))
    }

    /// The ids of what a run of this person rests on.
    pub fn waiting(&self, user: UserId, run: Id) -> Vec<Id> {
        let rests = |e: &Entry<Stored>| e.value.parks && self.is_open(e);
        self.of_run(user, run).into_iter().filter(rests).map(|e| e.id).collect()
    }

    /// The calls of a run of this person whose answer is there, and that have not been given it.
    pub fn unheard(&self, user: UserId, run: Id) -> Vec<Wake> {
        let unheard = |e: &Entry<Stored>| e.value.parks && !e.value.taken && !self.is_open(e);
        let unheard = self.of_run(user, run).into_iter().filter(unheard);
        unheard.filter_map(|e| wake(user, &e.value)).collect()
    }

    fn of_run(&self, user: UserId, run: Id) -> Vec<Entry<Stored>> {
        let by = Some((RUN, run.as_bytes().to_vec()));
        match self.0.records.list_in(Scope::User(user), &Listing { by, ..Listing::default() }) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%run, %error, "what a run waits for could not be read");
                vec![]
            }
        }
    }

    /// Ends what a person's run rests on; `false` when there is nothing.
    pub fn end_run(&self, user: UserId, run: Id) -> bool {
        let open = self.waiting(user, run);
        open.iter().for_each(|id| self.expire_later(user, *id));
        !open.is_empty()
    }

    /// Ends what a person's conversation waits for, and forgets all that was asked and shown in it: it is deleted.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when the disk is full.
    pub async fn forget_conversation(&self, user: UserId, conversation: Id) -> Result<()> {
        let scope = Scope::User(user);
        let mut its = self.0.records.list_in(scope, &Listing::default())?;
        its.retain(|e| e.value.conversation == Some(conversation));
        let open: Vec<Id> = its.iter().filter(|e| self.is_open(e)).map(|e| e.id).collect();
        let (ids, records): (Vec<Id>, _) = (its.iter().map(|e| e.id).collect(), self.0.records.clone());
        let gone = ids.clone();
        let remove = move |tx: &store::Tx| ids.iter().try_for_each(|id| records.remove(tx, scope, *id).map(drop));
        self.0.records.store().write(remove).await?;
        lock(&self.0.over).retain(|id| !gone.contains(id));
        open.into_iter().for_each(|id| self.tell_end(user, id, State::Expired));
        Ok(())
    }

    /// Ends what nobody answered in time, and forgets the oldest that ended; now and then. Answers the runs that rested on it.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn tidy(&self) -> Result<Vec<Wake>> {
        let (time, mut per_user, mut late) = (now(), HashMap::<UserId, Vec<Id>>::new(), vec![]);
        self.0.records.scan(|e| match e.value.state {
            State::Pending if e.value.parks && e.value.expires_ms <= time => {
                late.push((e.id, wake(e.owner, &e.value), e.owner))
            }
            State::Pending => {}
            _ if lock(&self.0.over).remove(&e.id) => {}
            _ => per_user.entry(e.owner).or_default().push(e.id),
        })?;
        for (id, _, user) in &late {
            self.expire_later(*user, *id);
        }
        for (user, mut ids) in per_user.into_iter().filter(|(_, ids)| ids.len() > KEPT) {
            ids.sort();
            let (old, records) = (ids[..ids.len() - KEPT].to_vec(), self.0.records.clone());
            self.0.records.store().write_later(move |tx| {
                old.iter().try_for_each(|id| records.remove(tx, Scope::User(user), *id).map(drop))
            });
        }
        Ok(late.into_iter().filter_map(|(_, wake, _)| wake).collect())
    }
}
