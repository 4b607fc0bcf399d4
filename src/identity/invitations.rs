//! Invitations: a link with which a person of the household chooses their own password. Used once, within a week.

use crate::{
    Client, Error, Identity, Inner, NewSession, Result,
    claim::{normalize, random_groups},
    credentials::{NewCredential, OpenedWith},
    password::CheckSource,
    records::{Credential, Invitation},
    stamp,
};
use serde::Serialize;
use std::time::Duration;
use store::{Entry, Listing};
use tool::{
    AgentId, Id, Label, Principal, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// How long an invitation is valid.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Letters and digits of a code, of five bits each: it cannot be found from its stored hash.
const CODE: usize = 20;

/// A new invitation, shown this once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedInvitation {
    /// The code; the link is the page's address with `#join=` and the code.
    code: String,
    /// Milliseconds since 1970.
    expires_at: u64,
}

/// The person an invitation is for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Joining {
    pub person: String,
}

impl Identity {
    /// Invites a person to choose a password. An earlier invitation of theirs ends.
    ///
    /// # Errors
    /// `BadArgs` for the owner, who claimed the device; `NotFound`.
    pub async fn invite(&self, id: Id) -> Result<IssuedInvitation> {
        let user = UserId(id);
        if user == UserId::OWNER {
            return Err(Error::bad_args("the owner claimed this Hob: a password is set under Device, You"));
        }
        if self.record_of(user)?.is_none() {
            return Err(Error::not_found(format!("there is no person {id}")));
        }
        let code = random_groups::<CODE>()?;
        let (hash, now) = (hash_of(&code), Id::now_ms());
        let expires_at = now.saturating_add(LIFETIME.as_millis() as u64);
        let inner = self.0.clone();
        let invite = move |tx: &store::Tx| {
            inner.remove_invitations(tx, user)?;
            inner.invitations.put(tx, Id::new(), &stamp(), &Invitation { hash, user, expires_ms: expires_at })?;
            inner.people.change(tx, Scope::Household, Label::Own, id, &mut |person| {
                person.program = false;
                Ok(())
            })
        };
        self.0.people.store().write(invite).await?;
        Ok(IssuedInvitation { code, expires_at })
    }

    /// Takes a person's open invitation back.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub async fn uninvite(&self, id: Id) -> Result<()> {
        if self.invited_until(UserId(id))?.is_none() {
            return Err(Error::not_found("this person has no open invitation"));
        }
        let inner = self.0.clone();
        self.0.people.store().write(move |tx| inner.remove_invitations(tx, UserId(id))).await?;
        Ok(())
    }

    /// The person an invitation is for; does not use it.
    ///
    /// # Errors
    /// `NoInvitation`, `TooManyAttempts`.
    pub fn invitation(&self, code: &str, client: Client) -> Result<Joining> {
        self.0.invitation_attempts.count(client)?;
        let found = self.open_invitation(code)?;
        self.0.invitation_attempts.forgive(client);
        let person = self.person(found.value.user)?.ok_or(Error::NoInvitation)?;
        Ok(Joining { person: person.name })
    }

    /// Uses an invitation: sets the person's password and opens a session. Their other sessions end.
    ///
    /// # Errors
    /// `NoInvitation`, `TooManyAttempts`; `BadArgs` for the password, which leaves the invitation open.
    pub async fn join(&self, code: &str, password: &str, client: Client, user_agent: String) -> Result<NewSession> {
        self.0.invitation_attempts.count(client)?;
        let found = self.open_invitation(code)?;
        self.0.invitation_attempts.forgive(client);
        let (id, user) = (found.id, found.value.user);
        let hash = self.0.passwords.hash(CheckSource::Known, password).await?;
        let (inner, fresh) = (self.0.clone(), hash.clone());
        let join = move |tx: &store::Tx| {
            // Of two that use it at once, one is too late.
            if !inner.invitations.remove(tx, Scope::Household, id)? {
                return Ok(false);
            }
            if inner.people.read(tx, Scope::Household, user.0)?.is_none() {
                return Ok(false);
            }
            inner.revoke(tx, |c: &Entry<Credential>| c.value.user == user && c.value.session)?;
            inner.people.change(tx, Scope::Household, Label::Own, user.0, &mut |person| {
                person.password.clone_from(&fresh);
                person.ceiling = person.ceiling.role().into();
                Ok(())
            })?;
            Ok(true)
        };
        if !self.0.people.store().write(join).await? {
            return Err(Error::NoInvitation);
        }
        let role = self.highest_role(user);
        let session = NewCredential {
            session: true,
            user: Some(user),
            user_agent,
            ..NewCredential::new("page".into(), role, OpenedWith::Password(hash))
        };
        let key = self.issue(session, None).await?.key;
        self.new_session(Principal { user, role, agent: AgentId::GENERAL }, key).await
    }

    fn open_invitation(&self, code: &str) -> Result<Entry<Invitation>> {
        let listing = Listing { by: Some((1, hash_of(code).to_vec())), limit: 1, before: None };
        let found = self.0.invitations.list_in(Scope::Household, &listing)?.pop();
        found.filter(|found| found.value.expires_ms > Id::now_ms()).ok_or(Error::NoInvitation)
    }

    /// When a person's open invitation expires: milliseconds since 1970.
    pub(crate) fn invited_until(&self, user: UserId) -> Result<Option<u64>> {
        let listing = Listing { by: Some((2, user.0.as_bytes().to_vec())), ..Listing::default() };
        let own = self.0.invitations.list_in(Scope::Household, &listing)?;
        Ok(own.iter().map(|i| i.value.expires_ms).filter(|expires| *expires > Id::now_ms()).max())
    }
}

impl Inner {
    /// Removes a person's invitations, so that nobody has more than one.
    pub(crate) fn remove_invitations(&self, tx: &store::Tx, user: UserId) -> store::Result<()> {
        for old in self.invitations.find(tx, Scope::Household, 2, user.0.as_bytes())? {
            self.invitations.remove(tx, Scope::Household, old.id)?;
        }
        Ok(())
    }
}

fn hash_of(code: &str) -> [u8; 32] {
    *blake3::hash(normalize(code).as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClaimConfig, NewPerson};
    use store::Store;
    use tool::Role;

    async fn ida(identity: &Identity) -> Id {
        let new = NewPerson { name: "Ida".into(), role: Role::Member, password: None };
        identity.add_person(new).await.unwrap().id
    }

    #[tokio::test]
    async fn an_invitation_is_used_once_and_only_the_newest_is_open() {
        let identity = Identity::open(&Store::in_memory().unwrap(), None, ClaimConfig::default()).unwrap();
        let id = ida(&identity).await;
        let old = identity.invite(id).await.unwrap();
        let new = identity.invite(id).await.unwrap();
        assert_eq!(new.code.len(), 24);
        assert!(matches!(identity.invitation(&old.code, Client::Local), Err(Error::NoInvitation)));
        let typed = new.code.to_lowercase().replace('-', " ");
        assert_eq!(identity.invitation(&typed, Client::Local).unwrap().person, "Ida");
        let join = |password: &'static str| identity.join(&new.code, password, Client::Local, String::new());
        assert!(matches!(join("short").await, Err(Error::Other(tool::Error::BadArgs(_)))), "it stays open");
        let session = join("told at breakfast").await.unwrap();
        assert_eq!(session.principal.user, UserId(id));
        assert!(identity.authenticate(&session.key, true).unwrap().is_some());
        assert!(matches!(join("told at breakfast").await, Err(Error::NoInvitation)));
        assert!(identity.people().unwrap().iter().any(|p| p.name == "Ida" && p.has_password && !p.program));
    }

    #[tokio::test]
    async fn an_expired_or_withdrawn_invitation_opens_nothing() {
        let identity = Identity::open(&Store::in_memory().unwrap(), None, ClaimConfig::default()).unwrap();
        let id = ida(&identity).await;
        let issued = identity.invite(id).await.unwrap();
        assert_eq!(identity.people().unwrap().pop().unwrap().invited_until, Some(issued.expires_at));
        let inner = identity.0.clone();
        let expire = move |tx: &store::Tx| {
            for entry in inner.invitations.find(tx, Scope::Household, 2, id.as_bytes())? {
                inner.invitations.change(tx, Scope::Household, Label::Own, entry.id, &mut |i| {
                    i.expires_ms = 1;
                    Ok(())
                })?;
            }
            Ok(())
        };
        identity.0.people.store().write(expire).await.unwrap();
        assert!(matches!(identity.invitation(&issued.code, Client::Local), Err(Error::NoInvitation)));
        let again = identity.invite(id).await.unwrap();
        identity.uninvite(id).await.unwrap();
        assert!(matches!(identity.invitation(&again.code, Client::Local), Err(Error::NoInvitation)));
        assert!(identity.uninvite(id).await.is_err() && identity.invite(UserId::OWNER.0).await.is_err());
    }
}
