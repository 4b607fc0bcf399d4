//! The keys of the house: who has claimed it, its people, and their tokens and sessions, of which only hashes are kept.

use crate::{
    claim::{Claim, Claiming},
    envelope::Failure,
    limits::{Streams, Tries},
    password::Passwords,
    token_scope::Reach,
};
use serde::{Deserialize, Serialize};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Coded, Collection, Entry, Key, Level, Listing, Record, Stamp, Store};
use tool::{AgentId, Id, Principal, Role, Scope, UserId};
use unicode_normalization::UnicodeNormalization;

/// How long a session of the page lasts.
pub(crate) const SESSION: Duration = Duration::from_secs(90 * 24 * 3600);
/// How many sessions one person has at most by their password, and by each token.
const SESSIONS: usize = 50;
/// How much of what a browser says about itself is kept.
const ABOUT: usize = 200;

/// The lock and its keys; cheap to clone.
#[derive(Clone)]
pub struct Access(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub credentials: Collection<Credential>,
    pub people: Collection<Person>,
    claimed: Collection<Claimed>,
    /// The hash of `HOB_TOKEN`.
    fixed: Option<blake3::Hash>,
    claim: Mutex<Option<Claim>>,
    pub passwords: Passwords,
    /// Wrong claim codes, wrong tokens and wrong passwords.
    pub codes: Tries,
    pub tokens: Tries,
    pub signs: Tries,
    /// Streams of events that are open.
    pub streams: Streams,
}

/// Who a key belongs to.
pub(crate) struct AuthenticatedKey {
    pub principal: Principal,
    /// The credential, where it is a stored one.
    pub id: Option<Id>,
    /// What it may be used for.
    pub reach: Reach,
    /// When it ends: milliseconds since 1970; 0 is never.
    pub expires_ms: u64,
    /// Whether the person themselves came in with it, by claim or password, and not what holds a token of theirs.
    pub in_person: bool,
}

impl Access {
    /// The lock over `store`; `fixed` is an admin token from the environment. Where the device is neither claimed
    /// nor has one, a claim code is made.
    ///
    /// # Errors
    /// `BadArgs` when `fixed` is shorter than 32 characters; `Failed` when the data cannot be read.
    pub fn new(store: &Store, fixed: Option<&str>, claiming: Claiming) -> tool::Result<Self> {
        if fixed.is_some_and(|token| token.len() < 32) {
            return Err(tool::Error::bad_args(
                "HOB_TOKEN is too short: use at least 32 characters, such as `openssl rand -hex 32` gives",
            ));
        }
        let credentials: Collection<Credential> = store.collection();
        let claimed: Collection<Claimed> = store.collection();
        let people: Collection<Person> = store.collection();
        // Where nobody has a way in any more (a backup was restored, and its owner had no password), the device is claimed
        // anew, by whoever sees its console.
        let has_password =
            people.list_in(Scope::Household, &Listing::default())?.iter().any(|p| !p.value.password.is_empty());
        // A person whose record is damaged may have one: that is no reason to give the device to a stranger.
        let has_password = has_password || !people.is_whole_in(Scope::Household)?;
        let way_in = has_password || !credentials.is_empty_in(Scope::Household)?;
        let taken = fixed.is_some() || (way_in && !claimed.is_empty_in(Scope::Household)?);
        let claim = if taken { None } else { Some(Claim::new(claiming)?) };
        Ok(Self(Arc::new(Inner {
            credentials,
            people,
            claimed,
            fixed: fixed.map(|token| blake3::hash(token.as_bytes())),
            claim: Mutex::new(claim),
            passwords: Passwords::default(),
            codes: Tries::default(),
            tokens: Tries::default(),
            signs: Tries::default(),
            streams: Streams::default(),
        })))
    }

    /// Whether somebody has taken the device.
    pub fn is_claimed(&self) -> bool {
        self.claim().is_none()
    }

    pub(crate) fn claim(&self) -> MutexGuard<'_, Option<Claim>> {
        self.0.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the claim code, as links that begin with each of `at`; nothing once the device is claimed.
    pub fn tell_claim(&self, at: Vec<String>) {
        if let Some(code) = self.claim().as_mut() {
            code.tell(at);
        }
    }

    /// Makes and tells a new code whenever one has expired, until the device is claimed.
    pub async fn renew_claim(self) {
        let left = || self.claim().as_ref().and_then(Claim::remaining);
        while let Some(wait) = left() {
            tokio::time::sleep(wait.max(Duration::from_millis(100))).await;
            if let Some(code) = self.claim().as_mut() {
                code.renew();
            }
        }
    }

    /// The person behind a token or session key.
    pub(crate) fn authenticate(&self, key: &str, session: bool) -> Option<AuthenticatedKey> {
        let hash = blake3::hash(key.as_bytes());
        if !session && self.0.fixed == Some(hash) {
            return Some(AuthenticatedKey {
                principal: Principal::owner(),
                id: None,
                reach: Reach::default(),
                expires_ms: 0,
                in_person: false,
            });
        }
        let entry = self.find(hash)?;
        let found = entry.value;
        let alive = found.expires_ms == 0 || found.expires_ms > Id::new().millis();
        let fixed = self.0.fixed.as_ref().map(|hash| &hash.as_bytes()[..8]);
        let stale = !found.opened_with_fixed.is_empty() && fixed != Some(&found.opened_with_fixed[..]);
        if !alive || stale || found.session != session {
            return None;
        }
        let most = match found.user {
            UserId::OWNER => Role::Admin,
            // Who is not of the household any more is nobody here.
            user => self.0.people.get_in(Scope::Household, user.0).ok()??.value.standing.bound(),
        };
        let principal = Principal { user: found.user, role: found.role.min(most), agent: AgentId::GENERAL };
        let (reach, expires_ms) = (Reach::of(&found.scope), found.expires_ms);
        let in_person = session && found.opened_with.is_none() && found.opened_with_fixed.is_empty();
        Some(AuthenticatedKey { principal, id: Some(entry.id), reach, expires_ms, in_person })
    }

    /// Whether a credential is still good; what came without a stored one always is.
    pub(crate) fn is_good(&self, key: Option<Id>) -> bool {
        let Some(key) = key else { return true };
        let found = self.0.credentials.get_in(Scope::Household, key).ok().flatten();
        found.is_some_and(|c| c.value.expires_ms == 0 || c.value.expires_ms > Id::new().millis())
    }

    /// A person, where there is a record of them; the owner of an older Hob has none.
    pub(crate) fn person(&self, user: UserId) -> Result<Option<Entry<Person>>, Failure> {
        Ok(self.0.people.get_in(Scope::Household, user.0)?)
    }

    /// What a person may do at most, for what is done in their name when they are not there; `None` when they are gone.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn role_of(&self, user: UserId) -> tool::Result<Option<Role>> {
        let found =
            self.person(user).map_err(|_| tool::Error::failed("who lives here could not be read: see the log"))?;
        Ok(match found {
            Some(found) if user == UserId::OWNER => Some(found.value.standing.bound()),
            Some(found) => Some(found.value.standing.role()),
            None => (user == UserId::OWNER).then_some(Role::Admin),
        })
    }

    /// Everybody there is a record of.
    pub(crate) fn people(&self) -> Result<Vec<Entry<Person>>, Failure> {
        Ok(self.0.people.list_in(Scope::Household, &Listing::default())?)
    }

    /// The person of a name; `owner` is always the owner.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Entry<Person>>, Failure> {
        let name = name.trim().nfc().collect::<String>().to_lowercase();
        if name == OWNER {
            return self.person(UserId::OWNER);
        }
        let listing = Listing { by: Some((1, name.into_bytes())), limit: 1, before: None };
        Ok(self.0.people.list_in(Scope::Household, &listing)?.pop())
    }

    pub(crate) fn find(&self, hash: blake3::Hash) -> Option<Entry<Credential>> {
        let listing = Listing { by: Some((1, hash.as_bytes().to_vec())), limit: 1, before: None };
        self.0.credentials.list_in(Scope::Household, &listing).ok()?.pop()
    }

    /// Tokens (`session` false) or sessions, newest first.
    pub(crate) fn all(&self, session: bool) -> Result<Vec<Entry<Credential>>, Failure> {
        let listing = Listing { by: Some((2, vec![u8::from(session)])), ..Listing::default() };
        Ok(self.0.credentials.list_in(Scope::Household, &listing)?)
    }

    /// Keeps a new credential and answers the key itself, which is not kept.
    ///
    /// # Errors
    /// 401 when what the session is opened with is good no longer; 400 when a token would lift its person.
    pub(crate) async fn give(&self, new: NewCredential) -> Result<NewKey, Failure> {
        let mut bytes = [0u8; 32];
        random(&mut bytes)?;
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let session = !matches!(new.kind, Kind::Token);
        let key = if session { hex } else { format!("hob_{hex}") };
        let hash = *blake3::hash(key.as_bytes()).as_bytes();
        let (inner, id, now) = (self.0.clone(), Id::new(), Id::new().millis());
        let lasts = new.lasts.or(session.then_some(SESSION));
        let ends = lasts.map_or(0, |lasts| now.saturating_add(lasts.as_millis() as u64));
        // A session ends with what it was opened with.
        let expires_ms = match new.ends_ms {
            0 => ends,
            before => ends.min(before),
        };
        let fixed = self.0.fixed.as_ref().filter(|_| new.opened_with == Opened::Fixed);
        let opened_with_fixed = fixed.map(|hash| hash.as_bytes()[..8].to_vec()).unwrap_or_default();
        let opened_with = if let Opened::Token(id) = new.opened_with { Some(id) } else { None };
        let give = move |tx: &store::Tx| {
            inner.forget_expired(tx, now)?;
            if !inner.still(tx, &new)? {
                return Ok(None);
            }
            if let Kind::Claim { person, password } = &new.kind {
                let owner = Person { name: person.clone(), standing: RoleCeiling::Admin, password: password.clone() };
                inner.claimed.put(tx, Id::new(), &stamp(), &Claimed { user: UserId::OWNER })?;
                inner.people.put(tx, UserId::OWNER.0, &stamp(), &owner)?;
            }
            let user = match new.user {
                Some(user) => user,
                None => inner.person_called(tx, &new.name, new.role)?,
            };
            let credential = Credential {
                hash,
                name: new.name.clone(),
                role: new.role,
                user,
                session,
                expires_ms,
                opened_with,
                scope: new.scope.clone(),
                about: new.about.chars().filter(|c| !c.is_control()).take(ABOUT).collect(),
                opened_with_fixed: opened_with_fixed.clone(),
            };
            inner.credentials.put(tx, id, &stamp(), &credential)?;
            inner.forget_oldest(tx, user, opened_with)?;
            Ok(Some(user))
        };
        let user = self.0.credentials.store().write(give).await?;
        let late = || Failure::new(401, "unauthorized", "what you signed in with was taken back a moment ago");
        Ok(NewKey { id, user: user.ok_or_else(late)?, key, expires_ms })
    }
}

/// A new key, told this once.
pub(crate) struct NewKey {
    pub id: Id,
    pub user: UserId,
    pub key: String,
    pub expires_ms: u64,
}

/// What access writes is stamped with.
pub(crate) fn stamp() -> Stamp {
    Stamp::household("access")
}

/// What the owner is called until they say otherwise.
pub(crate) const OWNER: &str = "owner";

impl Inner {
    pub fn sessions(&self, tx: &store::Tx) -> store::Result<Vec<Entry<Credential>>> {
        self.credentials.find(tx, Scope::Household, 2, &[1])
    }

    /// Takes back every token and session that fits.
    pub fn take_back(&self, tx: &store::Tx, which: impl Fn(&Entry<Credential>) -> bool) -> store::Result<()> {
        let tokens = self.credentials.find(tx, Scope::Household, 2, &[0])?;
        for old in self.sessions(tx)?.into_iter().chain(tokens).filter(which) {
            self.credentials.remove(tx, Scope::Household, old.id)?;
        }
        Ok(())
    }

    /// Keys nobody can use any more go when a new one comes.
    fn forget_expired(&self, tx: &store::Tx, now: u64) -> store::Result<()> {
        self.take_back(tx, |old| old.value.expires_ms != 0 && old.value.expires_ms < now)
    }

    /// Of the sessions that one person opened in one way the oldest go, so that signing in again and again fills nothing,
    /// and a token ends none but its own.
    fn forget_oldest(&self, tx: &store::Tx, user: UserId, opened_with: Option<Id>) -> store::Result<()> {
        let same = |s: &Entry<Credential>| s.value.user == user && s.value.opened_with == opened_with;
        let mut own: Vec<Id> = self.sessions(tx)?.into_iter().filter(same).map(|s| s.id).collect();
        own.sort_unstable();
        for old in own.iter().rev().skip(SESSIONS) {
            self.credentials.remove(tx, Scope::Household, *old)?;
        }
        Ok(())
    }

    /// Whether what a session is opened with is still good, now that it is written.
    fn still(&self, tx: &store::Tx, new: &NewCredential) -> store::Result<bool> {
        Ok(match &new.opened_with {
            Opened::Token(id) => self.credentials.read(tx, Scope::Household, *id)?.is_some(),
            Opened::Password(kept) => {
                let user = new.user.unwrap_or(UserId::OWNER);
                self.people.read(tx, Scope::Household, user.0)?.is_some_and(|p| p.value.password == *kept)
            }
            Opened::Person | Opened::Fixed => true,
        })
    }

    /// The person of a name.
    pub fn named(&self, tx: &store::Tx, name: &str) -> store::Result<Option<Entry<Person>>> {
        Ok(self.people.find(tx, Scope::Household, 1, name.to_lowercase().as_bytes())?.pop())
    }

    /// The person of a name, made in the same write when there is none. A token with a higher role lifts only those who
    /// have nothing but tokens; whoever signs in is lifted on purpose or not at all.
    fn person_called(&self, tx: &store::Tx, name: &str, role: Role) -> store::Result<UserId> {
        let Some(known) = self.named(tx, name)? else {
            let (id, person) =
                (Id::new(), Person { name: name.into(), standing: role.into(), password: String::new() });
            self.people.put(tx, id, &stamp(), &person)?;
            return Ok(UserId(id));
        };
        if UserId(known.id) != UserId::OWNER && known.value.standing.bound() < role {
            if !known.value.password.is_empty() {
                let is = known.value.standing.role();
                return Err(store::Error::Conflict(format!(
                    "{} is a {is:?} here, and a token cannot do more than its person: change their role first, or choose \
                     another name",
                    known.value.name
                )));
            }
            let standing = RoleCeiling::from(role);
            self.people.change(tx, Scope::Household, tool::Label::Own, known.id, &mut |p: &mut Person| {
                p.standing = standing;
                Ok(())
            })?;
        }
        Ok(UserId(known.id))
    }
}

/// What a new credential is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first session, which claims the device for a person, perhaps with a password (already hashed).
    Claim { person: String, password: String },
    /// A session of the page.
    Session,
    /// An API token.
    Token,
}

/// What a session was opened with, and ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The claim.
    Person,
    /// A password, by what was kept of it when it was checked.
    Password(String),
    /// A token.
    Token(Id),
    /// `HOB_TOKEN`.
    Fixed,
}

#[derive(Debug, Clone)]
pub(crate) struct NewCredential {
    pub kind: Kind,
    pub name: String,
    pub role: Role,
    /// `None`: the person of that name, who is made if need be.
    pub user: Option<UserId>,
    pub opened_with: Opened,
    /// What it may be used for; empty is everything.
    pub scope: Vec<String>,
    /// How long it is good; `None` is for ever, and for a session the usual time.
    pub lasts: Option<Duration>,
    /// When what it is opened with ends: milliseconds since 1970; 0 is never.
    pub ends_ms: u64,
    /// What the browser says about itself.
    pub about: String,
}

/// A key to the door, as it is stored: only the hash of it. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credential {
    hash: [u8; 32],
    pub name: String,
    #[serde(with = "store::coded")]
    pub role: Role,
    pub user: UserId,
    /// False for an API token.
    session: bool,
    /// Milliseconds since 1970; 0 is never.
    pub expires_ms: u64,
    /// The token a session was opened with, which ends with it.
    pub opened_with: Option<Id>,
    /// What it may be used for; empty is everything.
    pub scope: Vec<String>,
    /// What the browser of a session says about itself.
    pub about: String,
    /// The first bytes of the hash of the `HOB_TOKEN` it was opened with; it ends when that changes.
    opened_with_fixed: Vec<u8>,
}

impl Credential {
    pub fn is_session(&self) -> bool {
        self.session
    }
}

impl Record for Credential {
    const NAME: &'static str = "credentials";
    const WORD: &'static str = "credential";
    const LEVEL: Level = Level::Household;
    // One that was taken back must not come back with an old copy.
    const STAYS: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, self.hash), Key::many(2, [u8::from(self.session)])]
    }
}

/// The most a person may do, whatever their keys say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RoleCeiling {
    /// As each key says: people of before there were roles for them.
    #[default]
    Unset,
    Viewer,
    Member,
    Admin,
}

impl Coded for RoleCeiling {
    const ALL: &'static [Self] = &[RoleCeiling::Unset, RoleCeiling::Viewer, RoleCeiling::Member, RoleCeiling::Admin];
    const UNKNOWN: Self = RoleCeiling::Viewer;
}

impl RoleCeiling {
    /// What the person is, where nothing but the person is known.
    pub fn role(self) -> Role {
        match self {
            RoleCeiling::Unset | RoleCeiling::Viewer => Role::Viewer,
            RoleCeiling::Member => Role::Member,
            RoleCeiling::Admin => Role::Admin,
        }
    }

    /// The most that a key of theirs may do.
    pub fn bound(self) -> Role {
        if self == RoleCeiling::Unset { Role::Admin } else { self.role() }
    }
}

impl From<Role> for RoleCeiling {
    fn from(role: Role) -> Self {
        match role {
            Role::Viewer => RoleCeiling::Viewer,
            Role::Member => RoleCeiling::Member,
            Role::Admin => RoleCeiling::Admin,
        }
    }
}

/// A person of the household. They stay the same person when a key is taken back and another one made. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Person {
    pub name: String,
    #[serde(with = "store::coded")]
    pub standing: RoleCeiling,
    /// Hashed; empty when they have none.
    pub password: String,
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

pub(crate) fn random(bytes: &mut [u8]) -> tool::Result<()> {
    getrandom::fill(bytes).map_err(|e| tool::Error::unavailable(format!("the system has no randomness to give: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::new(&Store::in_memory().unwrap(), None, Claiming::default()).unwrap()
    }

    fn token(name: &str, role: Role) -> NewCredential {
        NewCredential {
            kind: Kind::Token,
            name: name.into(),
            role,
            user: None,
            opened_with: Opened::Person,
            scope: vec![],
            lasts: None,
            ends_ms: 0,
            about: String::new(),
        }
    }

    fn session(of: &NewKey, opened_with: Opened, ends_ms: u64) -> NewCredential {
        let user = Some(of.user);
        NewCredential { kind: Kind::Session, user, opened_with, ends_ms, ..token("page", Role::Member) }
    }

    #[tokio::test]
    async fn keys_end_and_take_with_them_what_they_opened() {
        let access = access();
        let soon = NewCredential { lasts: Some(Duration::from_millis(300)), ..token("mia", Role::Member) };
        let soon = access.give(soon).await.unwrap();
        let opened = access.give(session(&soon, Opened::Token(soon.id), soon.expires_ms)).await.unwrap();
        assert!(access.authenticate(&soon.key, false).is_some() && access.authenticate(&opened.key, true).is_some());
        assert!(access.authenticate(&soon.key, true).is_none(), "a token is no session");
        assert!(access.is_good(Some(opened.id)) && !access.is_good(Some(Id::new())) && access.is_good(None));
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(access.authenticate(&soon.key, false).is_none() && access.authenticate(&opened.key, true).is_none());
        assert!(!access.is_good(Some(opened.id)));
        // What was taken back between the look and the write opens nothing.
        let gone = access.give(session(&soon, Opened::Token(Id::new()), 0)).await.err().unwrap();
        let other = access.give(session(&soon, Opened::Password("another".into()), 0)).await.err().unwrap();
        assert_eq!((gone.status.as_u16(), other.status.as_u16()), (401, 401));
    }

    #[tokio::test]
    async fn one_person_s_sessions_are_bounded() {
        let access = access();
        let mia = access.give(token("mia", Role::Member)).await.unwrap();
        let ben = access.give(token("ben", Role::Viewer)).await.unwrap();
        let kept = access.give(session(&ben, Opened::Token(ben.id), 0)).await.unwrap();
        let first = access.give(session(&mia, Opened::Token(mia.id), 0)).await.unwrap();
        for _ in 0..SESSIONS {
            access.give(session(&mia, Opened::Token(mia.id), 0)).await.unwrap();
        }
        assert_eq!(access.all(true).unwrap().len(), SESSIONS + 1);
        assert!(access.authenticate(&first.key, true).is_none() && access.authenticate(&kept.key, true).is_some());
        assert_eq!(
            access.authenticate(&kept.key, true).unwrap().principal.role,
            Role::Viewer,
            "no more than the person"
        );
    }

    #[tokio::test]
    async fn old_records_of_people_bind_nothing_and_lift_nobody() {
        let access = access();
        let old = Person { name: "Old".into(), standing: RoleCeiling::Unset, password: String::new() };
        let (inner, id) = (access.0.clone(), Id::new());
        access.0.people.store().write(move |tx| inner.people.put(tx, id, &stamp(), &old)).await.unwrap();
        let given = access.give(token("old", Role::Member)).await.unwrap();
        assert_eq!(given.user, UserId(id));
        assert_eq!(access.authenticate(&given.key, false).unwrap().principal.role, Role::Member);
        assert_eq!(access.person(UserId(id)).unwrap().unwrap().value.standing.role(), Role::Viewer);
    }
}
