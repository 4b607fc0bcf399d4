//! Standing grants: calls that a person always allows.

use super::{GrantShown, record::StoredGrant};
use policy::Grant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::{Audience, Collection, Stamp, Store, Tx};
use tool::{Cx, Error, Id, Label, Result, Role, Scope, UserId};

/// The grants of the household, in the store and in memory. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Grants {
    records: Collection<StoredGrant>,
    in_force: Arc<Mutex<Vec<Grant>>>,
}

impl Grants {
    pub fn open(store: &Store) -> Result<Self> {
        let (records, mut in_force): (Collection<StoredGrant>, _) = (store.collection(), vec![]);
        records.scan(|e| in_force.extend(e.value.grant(e.id, e.owner)))?;
        Ok(Self { records, in_force: Arc::new(Mutex::new(in_force)) })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every grant.
    pub fn in_force(&self) -> Vec<Grant> {
        self.lock().clone()
    }

    /// Within a write: stores a grant. [`Grants::add`] brings it into force.
    pub fn put(&self, tx: &Tx, id: Id, user: UserId, grant: &StoredGrant) -> store::Result<()> {
        let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
        let stamp = Stamp { scope, owner, audience, label: Label::Own, source: "approval".into() };
        self.records.put(tx, id, &stamp, grant).map(drop)
    }

    /// Brings a stored grant into force.
    pub fn add(&self, id: Id, user: UserId, grant: &StoredGrant) {
        self.lock().extend(grant.grant(id, user));
    }

    /// The grants of one person, or of everybody, the newest first.
    pub fn list(&self, user: Option<UserId>) -> Vec<GrantShown> {
        let in_force = self.lock();
        let own = in_force.iter().filter(|g| user.is_none_or(|user| g.user == user));
        let mut all: Vec<GrantShown> = own.map(GrantShown::from).collect();
        all.sort_by_key(|g| std::cmp::Reverse(g.id));
        all
    }

    /// Deletes every grant about a tool and what it wants while it runs, because another tool may take its name.
    pub async fn forget_tool(&self, tool: &str) -> Result<()> {
        let of = |g: &Grant| g.tool.strip_prefix(tool).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'));
        let gone: Vec<Grant> = self.lock().extract_if(.., |g| of(g)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let records = self.records.clone();
        let write =
            move |tx: &Tx| gone.iter().try_for_each(|g| records.remove(tx, Scope::User(g.user), g.id).map(drop));
        Ok(self.records.store().write(write).await?)
    }

    /// Revokes a grant of this person; an admin may revoke anybody's.
    pub async fn revoke(&self, cx: &Cx, id: Id) -> Result<()> {
        let may = |g: &Grant| g.id == id && (g.user == cx.user() || cx.principal().role == Role::Admin);
        // It is no longer in force from here on, even if the disk should fail.
        let revoked = self.lock().extract_if(.., |g| may(g)).next();
        let grant = revoked.ok_or_else(|| Error::not_found(format!("there is no standing yes {id} of yours")))?;
        Ok(self.records.delete_in(Scope::User(grant.user), id).await.map(drop)?)
    }
}
