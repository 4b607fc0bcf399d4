//! The keys of the house: who has claimed it, its people, and their tokens and sessions, of which only hashes are kept.

use crate::envelope::Failure;
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use store::{Collection, Entry, Key, Level, Listing, Record, Stamp, Store};
use tool::{AgentId, Id, Principal, Role, Scope, UserId};

/// How long a session of the page lasts.
pub(crate) const SESSION: Duration = Duration::from_secs(90 * 24 * 3600);
/// How many wrong codes or tokens are heard in a minute.
const TRIES: usize = 5;
const MINUTE: Duration = Duration::from_secs(60);
/// Letters and digits that are not mistaken for one another; 32 of them, so five bits each.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The lock and its keys; cheap to clone.
#[derive(Clone)]
pub struct Access(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub credentials: Collection<Credential>,
    people: Collection<Person>,
    claimed: Collection<Claimed>,
    /// The hash of `HOB_TOKEN`.
    fixed: Option<blake3::Hash>,
    pub claim: Mutex<Option<Claim>>,
    pub codes: Tries,
    pub tokens: Tries,
}

impl Access {
    /// The lock over `store`; `fixed` is an admin token from the environment. Where the device is neither claimed
    /// nor has one, a claim code is made.
    ///
    /// # Errors
    /// `BadArgs` when `fixed` is shorter than 32 characters; `Failed` when the data cannot be read.
    pub fn new(store: &Store, fixed: Option<&str>) -> tool::Result<Self> {
        if fixed.is_some_and(|token| token.len() < 32) {
            return Err(tool::Error::bad_args(
                "HOB_TOKEN is too short: use at least 32 characters, such as `openssl rand -hex 32` gives",
            ));
        }
        let credentials: Collection<Credential> = store.collection();
        let claimed: Collection<Claimed> = store.collection();
        let taken = fixed.is_some() || !claimed.is_empty_in(Scope::Household)?;
        let claim = if taken { None } else { Some(Claim::new()?) };
        Ok(Self(Arc::new(Inner {
            credentials,
            people: store.collection(),
            claimed,
            fixed: fixed.map(|token| blake3::hash(token.as_bytes())),
            claim: Mutex::new(claim),
            codes: Tries::default(),
            tokens: Tries::default(),
        })))
    }

    /// The code to claim with; `None` once the device is claimed.
    pub fn claim(&self) -> Option<Claim> {
        self.0.claim.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The person behind a token or session key, and the credential's id where it is a stored one.
    pub(crate) fn known(&self, key: &str, session: bool) -> Option<(Principal, Option<Id>)> {
        let hash = blake3::hash(key.as_bytes());
        if !session && self.0.fixed == Some(hash) {
            return Some((Principal::owner(), None));
        }
        let entry = self.find(hash)?;
        let found = entry.value;
        let alive = found.expires_ms == 0 || found.expires_ms > Id::new().millis();
        let principal = Principal { user: found.user, role: found.role, agent: AgentId::GENERAL };
        (alive && found.session == session).then_some((principal, Some(entry.id)))
    }

    /// What a person is called.
    pub(crate) fn name_of(&self, user: UserId) -> Result<String, Failure> {
        let person = self.0.people.get_in(Scope::Household, user.0)?;
        Ok(person.map_or_else(|| "owner".to_owned(), |p| p.value.name))
    }

    pub(crate) fn find(&self, hash: blake3::Hash) -> Option<Entry<Credential>> {
        let listing = Listing { by: Some((1, hash.as_bytes().to_vec())), limit: 1, before: None };
        self.0.credentials.list_in(Scope::Household, &listing).ok()?.pop()
    }

    /// Keeps a new credential and answers the key itself, which is not kept.
    pub(crate) async fn give(&self, new: NewCredential) -> Result<(Id, UserId, String), Failure> {
        let mut bytes = [0u8; 32];
        random(&mut bytes)?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let session = new.kind != Kind::Token;
        let key = if session { hex } else { format!("hob_{hex}") };
        let hash = *blake3::hash(key.as_bytes()).as_bytes();
        let (inner, id, now) = (self.0.clone(), Id::new(), Id::new().millis());
        let expires_ms = if session { now + SESSION.as_millis() as u64 } else { 0 };
        let stamp = Stamp::household("access");
        let give = move |tx: &store::Tx| {
            inner.forget_expired(tx, now)?;
            if new.kind == Kind::Claim {
                inner.claimed.put(tx, Id::new(), &stamp, &Claimed { user: UserId::OWNER })?;
            }
            let user = match new.user {
                Some(user) => user,
                None => inner.person(tx, &new.name)?,
            };
            let (name, role, opened_with) = (new.name.clone(), new.role, new.opened_with);
            let credential = Credential { hash, name, role, user, session, expires_ms, opened_with };
            inner.credentials.put(tx, id, &stamp, &credential).map(|_| user)
        };
        let user = self.0.credentials.store().write(give).await?;
        Ok((id, user, key))
    }
}

impl Inner {
    pub fn sessions(&self, tx: &store::Tx) -> store::Result<Vec<Entry<Credential>>> {
        self.credentials.find(tx, Scope::Household, 2, &[1])
    }

    /// Sessions nobody can use any more go when a new one comes.
    fn forget_expired(&self, tx: &store::Tx, now: u64) -> store::Result<()> {
        for old in self.sessions(tx)?.into_iter().filter(|c| c.value.expires_ms < now) {
            self.credentials.remove(tx, Scope::Household, old.id)?;
        }
        Ok(())
    }

    /// The person of a name, made in the same write when there is none.
    fn person(&self, tx: &store::Tx, name: &str) -> store::Result<UserId> {
        if let Some(person) = self.people.find(tx, Scope::Household, 1, name.to_lowercase().as_bytes())?.pop() {
            return Ok(UserId(person.id));
        }
        let id = Id::new();
        self.people.put(tx, id, &Stamp::household("access"), &Person { name: name.into() })?;
        Ok(UserId(id))
    }
}

/// What a new credential is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first session, which claims the device.
    Claim,
    /// A session of the page.
    Session,
    /// An API token.
    Token,
}

pub(crate) struct NewCredential {
    pub kind: Kind,
    pub name: String,
    pub role: Role,
    /// `None`: the person of that name, who is made if need be.
    pub user: Option<UserId>,
    pub opened_with: Option<Id>,
}

/// A key to the door, as it is stored: only the hash of it. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credential {
    hash: [u8; 32],
    pub name: String,
    #[serde(with = "store::coded")]
    pub role: Role,
    user: UserId,
    /// False for an API token.
    session: bool,
    /// Milliseconds since 1970; 0 is never.
    expires_ms: u64,
    /// The token a session was opened with, which ends with it.
    pub opened_with: Option<Id>,
}

impl Record for Credential {
    const NAME: &'static str = "credentials";
    const WORD: &'static str = "credential";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, self.hash), Key::many(2, [u8::from(self.session)])]
    }
}

/// A person with tokens of their own. They stay the same person when a token is taken back and another one made.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Person {
    name: String,
}

impl Record for Person {
    const NAME: &'static str = "people";
    const WORD: &'static str = "person";
    const LEVEL: Level = Level::Household;
    fn keys(&self) -> Vec<Key> {
        // Anna and anna are one person.
        vec![Key::unique(1, self.name.to_lowercase())]
    }
}

/// That somebody has claimed the device; it stays so when every session has expired.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Claimed {
    user: UserId,
}

impl Record for Claimed {
    const NAME: &'static str = "claimed";
    const WORD: &'static str = "claim";
    const LEVEL: Level = Level::Household;
}

/// The code a first person claims the device with; shown on the console, good for one use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim(String);

impl Claim {
    /// A fresh code of 60 random bits, in three groups of four characters.
    ///
    /// # Errors
    /// `Unavailable` when the system has no randomness to give.
    pub fn new() -> tool::Result<Self> {
        let mut bytes = [0u8; 12];
        random(&mut bytes)?;
        let letter = |b: &u8| ALPHABET[usize::from(b % 32)] as char;
        let groups: Vec<String> = bytes.chunks(4).map(|g| g.iter().map(letter).collect()).collect();
        Ok(Self(groups.join("-")))
    }

    /// The code, to be shown.
    pub fn code(&self) -> &str {
        &self.0
    }

    /// Dashes, blanks and case do not matter.
    pub(crate) fn fits(&self, typed: &str) -> bool {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_uppercase()).collect()
        };
        // Hashes are compared, and blake3's comparison takes the same time wherever they differ.
        blake3::hash(plain(typed).as_bytes()) == blake3::hash(plain(&self.0).as_bytes())
    }
}

/// Wrong tries of the last minute.
#[derive(Default)]
pub(crate) struct Tries(Mutex<VecDeque<Instant>>);

impl Tries {
    /// An error once there were too many in the last minute.
    pub fn slow_down(&self) -> Result<(), Failure> {
        let mut wrong = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while wrong.front().is_some_and(|at| at.elapsed() > MINUTE) {
            wrong.pop_front();
        }
        if wrong.len() >= TRIES {
            return Err(Failure::new(429, "too_many_tries", "too many wrong tries: wait a minute and try again"));
        }
        Ok(())
    }

    pub fn count_wrong(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(Instant::now());
    }
}

fn random(bytes: &mut [u8]) -> tool::Result<()> {
    getrandom::fill(bytes).map_err(|e| tool::Error::unavailable(format!("the system has no randomness to give: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_codes_are_long_readable_and_forgiving() {
        let claim = Claim::new().unwrap();
        assert_eq!(claim.code().len(), 14);
        assert!(claim.fits(claim.code()) && claim.fits(&claim.code().to_lowercase().replace('-', " ")));
        for wrong in ["", "0000-0000-0000", &claim.code()[..13]] {
            assert!(!claim.fits(wrong), "{wrong}");
        }
        assert_ne!(claim, Claim::new().unwrap());
    }
}
