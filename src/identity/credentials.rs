//! Issues and revokes credentials: sessions and API tokens, of which only the hash is stored.

use crate::{
    Error, Identity, Inner, Result, random_bytes,
    records::{Claimed, Credential, Person, RoleCeiling},
    stamp,
};
use std::time::Duration;
use store::{Entry, Listing};
use tool::{Id, Label, Role, Scope, UserId};

/// How long a session of the page lasts.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);
/// The most sessions one person has by their password, and by each token.
pub(crate) const MAX_SESSIONS: usize = 50;
/// How precisely the last use of a token is stored, so that a busy one does not wear the disk.
const USE_PRECISION_MS: u64 = 3_600_000;
/// How much of a user agent is stored, in characters.
const USER_AGENT_LENGTH: usize = 200;

/// The origin of a session, which ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpenedWith {
    /// The claim; also the origin of an API token, which has no other.
    Person,
    /// The password with this hash.
    Password(String),
    Token(Id),
    /// `HOB_TOKEN`.
    Fixed,
}

/// The owner's name and password hash, stored together with the session of the claim.
#[derive(Debug, Clone)]
pub(crate) struct NewOwner {
    pub name: String,
    pub password: String,
}

#[derive(Debug, Clone)]
pub(crate) struct NewCredential {
    pub session: bool,
    pub name: String,
    pub role: Role,
    /// `None`: the person with this name, created if missing.
    pub user: Option<UserId>,
    pub opened_with: OpenedWith,
    /// Empty is everything.
    pub scope: Vec<String>,
    /// `None` is for ever, and for a session the usual time.
    pub lifetime: Option<Duration>,
    /// The expiry of its origin: milliseconds since 1970; 0 is never.
    pub latest_expiry_ms: u64,
    pub user_agent: String,
}

impl NewCredential {
    /// An API token for the person of this name, without limits.
    pub fn new(name: String, role: Role, opened_with: OpenedWith) -> Self {
        Self {
            session: false,
            name,
            role,
            user: None,
            opened_with,
            scope: vec![],
            lifetime: None,
            latest_expiry_ms: 0,
            user_agent: String::new(),
        }
    }
}

/// A new credential with its key, which is not stored.
pub(crate) struct IssuedCredential {
    pub id: Id,
    pub user: UserId,
    pub key: String,
    pub expires_ms: u64,
}

impl Identity {
    pub(crate) fn credential_by_hash(&self, hash: blake3::Hash) -> store::Result<Option<Entry<Credential>>> {
        let listing = Listing { by: Some((1, hash.as_bytes().to_vec())), limit: 1, before: None };
        Ok(self.0.credentials.list_in(Scope::Household, &listing)?.pop())
    }

    /// Notes that a token is used, once an hour.
    pub(crate) fn note_use(&self, token: &Entry<Credential>) {
        let (now, id, inner) = (Id::now_ms(), token.id, self.0.clone());
        let is_due = move |token: &Credential| now >= token.last_used_ms.saturating_add(USE_PRECISION_MS);
        if token.value.session || !is_due(&token.value) {
            return;
        }
        self.0.credentials.store().write_later(move |tx| {
            // It may have been revoked meanwhile, or noted by another request.
            if !inner.credentials.read(tx, Scope::Household, id)?.is_some_and(|token| is_due(&token.value)) {
                return Ok(());
            }
            let used = &mut |token: &mut Credential| {
                token.last_used_ms = now;
                Ok(())
            };
            inner.credentials.change(tx, Scope::Household, Label::Own, id, used).map(drop)
        });
    }

    /// Tokens (`session` false) or sessions, newest first.
    pub(crate) fn credentials(&self, session: bool) -> Result<Vec<Entry<Credential>>> {
        let listing = Listing { by: Some((2, vec![u8::from(session)])), ..Listing::default() };
        Ok(self.0.credentials.list_in(Scope::Household, &listing)?)
    }

    /// Stores a credential; with `owner`, claims the device in the same write.
    ///
    /// # Errors
    /// `Unauthorized` when the origin of the session was revoked; `Conflict` when a token would raise its person's
    /// role.
    pub(crate) async fn issue(&self, new: NewCredential, owner: Option<NewOwner>) -> Result<IssuedCredential> {
        let mut bytes = [0u8; 32];
        random_bytes(&mut bytes)?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let key = if new.session { hex } else { format!("hob_{hex}") };
        let hash = *blake3::hash(key.as_bytes()).as_bytes();
        let (inner, id, now) = (self.0.clone(), Id::new(), Id::new().millis());
        let lifetime = new.lifetime.or(new.session.then_some(SESSION_LIFETIME));
        let own_expiry = lifetime.map_or(0, |lifetime| now.saturating_add(lifetime.as_millis() as u64));
        let expires_ms = match new.latest_expiry_ms {
            0 => own_expiry,
            latest => own_expiry.min(latest),
        };
        let fixed = self.0.fixed.as_ref().filter(|_| new.opened_with == OpenedWith::Fixed);
        let opened_with_fixed = fixed.map(|hash| hash.as_bytes()[..8].to_vec()).unwrap_or_default();
        let opened_with = if let OpenedWith::Token(id) = new.opened_with { Some(id) } else { None };
        let issue = move |tx: &store::Tx| {
            inner.revoke(tx, |old| old.value.has_expired(now))?;
            if !inner.is_still_valid(tx, &new)? {
                return Ok(None);
            }
            if let Some(NewOwner { name, password }) = &owner {
                let owner = Person {
                    name: name.clone(),
                    ceiling: RoleCeiling::Admin,
                    password: password.clone(),
                    program: false,
                };
                inner.claimed.put(tx, Id::new(), &stamp(), &Claimed { user: UserId::OWNER })?;
                inner.people.put(tx, UserId::OWNER.0, &stamp(), &owner)?;
            }
            let user = match new.user {
                Some(user) => user,
                None => inner.person_for_token(tx, &new.name, new.role)?,
            };
            let credential = Credential {
                hash,
                name: new.name.clone(),
                role: new.role,
                user,
                session: new.session,
                expires_ms,
                opened_with,
                scope: new.scope.clone(),
                user_agent: new.user_agent.chars().filter(|c| !c.is_control()).take(USER_AGENT_LENGTH).collect(),
                opened_with_fixed: opened_with_fixed.clone(),
                last_used_ms: 0,
            };
            inner.credentials.put(tx, id, &stamp(), &credential)?;
            inner.remove_oldest_sessions(tx, user, opened_with)?;
            Ok(Some(user))
        };
        let user = self.0.credentials.store().write(issue).await?;
        let user = user.ok_or(Error::Unauthorized("what you signed in with was taken back a moment ago"))?;
        Ok(IssuedCredential { id, user, key, expires_ms })
    }
}

impl Inner {
    fn sessions(&self, tx: &store::Tx) -> store::Result<Vec<Entry<Credential>>> {
        self.credentials.find(tx, Scope::Household, 2, &[1])
    }

    /// Removes every token and session that matches.
    pub fn revoke(&self, tx: &store::Tx, matches: impl Fn(&Entry<Credential>) -> bool) -> store::Result<()> {
        let tokens = self.credentials.find(tx, Scope::Household, 2, &[0])?;
        for old in self.sessions(tx)?.into_iter().chain(tokens).filter(matches) {
            self.credentials.remove(tx, Scope::Household, old.id)?;
        }
        Ok(())
    }

    /// Bounds the sessions that one person opened in one way, so that repeated sign-ins do not fill the store, and a
    /// token ends no sessions but its own.
    fn remove_oldest_sessions(&self, tx: &store::Tx, user: UserId, opened_with: Option<Id>) -> store::Result<()> {
        let same = |s: &Entry<Credential>| s.value.user == user && s.value.opened_with == opened_with;
        let mut own: Vec<Id> = self.sessions(tx)?.into_iter().filter(same).map(|s| s.id).collect();
        own.sort_unstable();
        for old in own.iter().rev().skip(MAX_SESSIONS) {
            self.credentials.remove(tx, Scope::Household, *old)?;
        }
        Ok(())
    }

    /// Whether the token or password that opens a session is still valid at the time of the write.
    fn is_still_valid(&self, tx: &store::Tx, new: &NewCredential) -> store::Result<bool> {
        Ok(match &new.opened_with {
            OpenedWith::Token(id) => self.credentials.read(tx, Scope::Household, *id)?.is_some(),
            OpenedWith::Password(hash) => {
                let user = new.user.unwrap_or(UserId::OWNER);
                self.people.read(tx, Scope::Household, user.0)?.is_some_and(|p| p.value.password == *hash)
            }
            OpenedWith::Person | OpenedWith::Fixed => true,
        })
    }

    /// The person of a name, created if missing. A token raises the role of people who have only tokens; the role of
    /// a person with a password is changed on purpose or not at all.
    fn person_for_token(&self, tx: &store::Tx, name: &str, role: Role) -> store::Result<UserId> {
        let found = self.people.find(tx, Scope::Household, 1, name.to_lowercase().as_bytes())?.pop();
        let Some(person) = found else {
            let (id, name) = (Id::new(), name.to_owned());
            let person = Person { name, ceiling: role.into(), password: String::new(), program: true };
            self.people.put(tx, id, &stamp(), &person)?;
            return Ok(UserId(id));
        };
        if UserId(person.id) != UserId::OWNER && person.value.ceiling.bound() < role {
            if !person.value.password.is_empty() {
                let is = person.value.ceiling.role();
                return Err(store::Error::Conflict(format!(
                    "{} is a {is:?} here, and a token cannot do more than its person: change their role first, or choose \
                     another name",
                    person.value.name
                )));
            }
            let ceiling = RoleCeiling::from(role);
            self.people.change(tx, Scope::Household, Label::Own, person.id, &mut |p: &mut Person| {
                p.ceiling = ceiling;
                Ok(())
            })?;
        }
        Ok(UserId(person.id))
    }
}
