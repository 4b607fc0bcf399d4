//! Layer 2: authentication. The people of the household, their passwords, API tokens and sessions, and the claim of
//! the device by its first person.

mod attempts;
mod claim;
mod credentials;
mod error;
mod invitations;
mod password;
mod people;
mod records;
mod scope;
mod sessions;
mod tokens;
mod voice_clients;

pub use attempts::Client;
pub use claim::ClaimConfig;
pub use credentials::SESSION_LIFETIME;
pub use error::{Error, Result};
pub use invitations::{IssuedInvitation, Joining};
pub use people::{Editor, NewPerson, PersonPatch, PersonView};
pub use scope::{TokenScope, TokenScopes};
pub use sessions::{NewSession, SessionView};
pub use tokens::{IssuedToken, NewToken, TokenView};
pub use voice_clients::{VoiceClientPatch, VoiceClientView, VoiceStatus};

use attempts::AttemptLimiter;
use claim::ClaimCode;
use password::Passwords;
use records::{Claimed, Credential, Invitation, Person};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Collection, Listing, Stamp, Store};
use tool::{AgentId, Id, Principal, Role, Scope, UserId};
use voice_clients::VoiceClient;

/// The name of the owner until they choose one.
pub const OWNER: &str = "owner";
/// The shortest `HOB_TOKEN`, in characters.
const SHORTEST_FIXED_TOKEN: usize = 32;

/// People and their keys; cheap to clone.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    credentials: Collection<Credential>,
    people: Collection<Person>,
    claimed: Collection<Claimed>,
    invitations: Collection<Invitation>,
    voice_clients: Collection<VoiceClient>,
    /// The hash of `HOB_TOKEN`.
    fixed: Option<blake3::Hash>,
    /// `None` once the device is claimed.
    claim_code: Mutex<Option<ClaimCode>>,
    passwords: Passwords,
    code_attempts: AttemptLimiter,
    invitation_attempts: AttemptLimiter,
    token_attempts: AttemptLimiter,
    password_attempts: AttemptLimiter,
}

/// The owner of a key, and the key's limits.
pub struct AuthenticatedKey {
    pub principal: Principal,
    /// The stored credential; `None` for `HOB_TOKEN`.
    pub id: Option<Id>,
    /// The name of the API token; `None` for a session and for `HOB_TOKEN`.
    pub token: Option<Arc<str>>,
    pub scopes: TokenScopes,
    /// Milliseconds since 1970; 0 is never.
    pub expires_ms: u64,
    /// Whether the person signed in themselves, by claim or password, and not with a token of theirs.
    pub in_person: bool,
}

impl Identity {
    /// The people and keys in `store`; `fixed` is an admin token from the environment. When the device is not claimed
    /// and has no such token, a claim code is generated.
    ///
    /// # Errors
    /// `BadArgs` when `fixed` is shorter than 32 characters; `Failed` when the data cannot be read.
    pub fn open(store: &Store, fixed: Option<&str>, claim: ClaimConfig) -> tool::Result<Self> {
        if fixed.is_some_and(|token| token.len() < SHORTEST_FIXED_TOKEN) {
            return Err(tool::Error::bad_args(
                "HOB_TOKEN is too short: use at least 32 characters, such as `openssl rand -hex 32` gives",
            ));
        }
        let credentials: Collection<Credential> = store.collection();
        let claimed: Collection<Claimed> = store.collection();
        let people: Collection<Person> = store.collection();
        // Without any password or credential left (a restored backup whose owner had no password), the device can be
        // claimed again by a person at its console.
        let has_password =
            people.list_in(Scope::Household, &Listing::default())?.iter().any(|p| !p.value.password.is_empty());
        // A damaged record may hold a password: do not let a stranger claim the device because of it.
        let has_password = has_password || !people.is_whole_in(Scope::Household)?;
        let way_in = has_password || !credentials.is_empty_in(Scope::Household)?;
        let taken = fixed.is_some() || (way_in && !claimed.is_empty_in(Scope::Household)?);
        let claim_code = if taken { None } else { Some(ClaimCode::new(claim)?) };
        Ok(Self(Arc::new(Inner {
            credentials,
            people,
            claimed,
            invitations: store.collection(),
            voice_clients: store.collection(),
            fixed: fixed.map(|token| blake3::hash(token.as_bytes())),
            claim_code: Mutex::new(claim_code),
            passwords: Passwords::default(),
            code_attempts: AttemptLimiter::default(),
            invitation_attempts: AttemptLimiter::default(),
            token_attempts: AttemptLimiter::default(),
            password_attempts: AttemptLimiter::default(),
        })))
    }

    /// Whether somebody has claimed the device.
    pub fn is_claimed(&self) -> bool {
        self.claim_code().is_none()
    }

    fn claim_code(&self) -> MutexGuard<'_, Option<ClaimCode>> {
        self.0.claim_code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the claim code on the console as links under these base URLs, until the device is claimed.
    pub fn show_claim_code(&self, base_urls: Vec<String>) {
        if let Some(code) = self.claim_code().as_mut() {
            code.show(base_urls);
        }
    }

    /// Replaces the claim code whenever it has expired, until the device is claimed.
    pub async fn renew_claim_code(self) {
        let remaining = || self.claim_code().as_ref().and_then(ClaimCode::remaining);
        while let Some(wait) = remaining() {
            tokio::time::sleep(wait.max(Duration::from_millis(100))).await;
            if let Some(code) = self.claim_code().as_mut() {
                code.renew();
            }
        }
    }

    /// The person behind a token or session key; `None` when there is none.
    ///
    /// # Errors
    /// As every read: a disk that fails must not look like a wrong key.
    pub fn authenticate(&self, key: &str, session: bool) -> store::Result<Option<AuthenticatedKey>> {
        let hash = blake3::hash(key.as_bytes());
        if !session && self.0.fixed == Some(hash) {
            return Ok(Some(AuthenticatedKey {
                principal: Principal::owner(),
                id: None,
                token: None,
                scopes: TokenScopes::default(),
                expires_ms: 0,
                in_person: false,
            }));
        }
        let Some(entry) = self.credential_by_hash(hash)? else { return Ok(None) };
        let found = &entry.value;
        let fixed = self.0.fixed.as_ref().map(|hash| &hash.as_bytes()[..8]);
        let stale = !found.opened_with_fixed.is_empty() && fixed != Some(&found.opened_with_fixed[..]);
        if found.has_expired(Id::now_ms()) || stale || found.session != session {
            return Ok(None);
        }
        self.note_use(&entry);
        let most = match found.user {
            UserId::OWNER => Role::Admin,
            // A removed person is nobody.
            user => match self.0.people.get_in(Scope::Household, user.0)? {
                Some(person) => person.value.ceiling.bound(),
                None => return Ok(None),
            },
        };
        let principal = Principal { user: found.user, role: found.role.min(most), agent: AgentId::GENERAL };
        let in_person = session && found.opened_with.is_none() && found.opened_with_fixed.is_empty();
        let scopes = TokenScopes::stored(found.scope.clone());
        let token = (!session).then(|| found.name.clone().into());
        let (id, expires_ms) = (Some(entry.id), found.expires_ms);
        Ok(Some(AuthenticatedKey { principal, id, token, scopes, expires_ms, in_person }))
    }

    /// Whether a credential is still valid; `None` (no stored one) always is.
    pub fn is_valid(&self, credential: Option<Id>) -> bool {
        let Some(id) = credential else { return true };
        let found = self.0.credentials.get_in(Scope::Household, id).ok().flatten();
        found.is_some_and(|c| !c.value.has_expired(Id::now_ms()))
    }

    /// The most that any key of this person may do now; `Viewer` when they are gone.
    pub fn highest_role(&self, user: UserId) -> Role {
        if user == UserId::OWNER {
            return Role::Admin;
        }
        self.record_of(user).ok().flatten().map_or(Role::Viewer, |person| person.value.ceiling.bound())
    }
}

impl tool::People for Identity {
    fn role_of(&self, user: UserId) -> tool::Result<Option<Role>> {
        // Nobody in particular spoke, and the end of "for 5 minutes" has to come all the same.
        if user == UserId::VOICE {
            return Ok(Some(Role::Member));
        }
        let person = self.person(user).map_err(|error| {
            tracing::warn!(%error, "a person could not be read");
            tool::Error::failed("who lives here could not be read: see the log")
        })?;
        Ok(person.map(|person| person.role))
    }
    fn name_of(&self, user: UserId) -> Option<String> {
        self.person(user).ok().flatten().map(|person| person.name)
    }
    fn everybody(&self) -> tool::Result<Vec<(UserId, String)>> {
        let people = self.people().map_err(|error| {
            tracing::warn!(%error, "the people could not be read");
            tool::Error::failed("who lives here could not be read: see the log")
        })?;
        Ok(people.into_iter().map(|person| (UserId(person.id), person.name)).collect())
    }
}

fn stamp() -> Stamp {
    Stamp::household("access")
}

fn random_bytes(bytes: &mut [u8]) -> tool::Result<()> {
    getrandom::fill(bytes).map_err(|e| tool::Error::unavailable(format!("the system has no randomness to give: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use credentials::{IssuedCredential, MAX_SESSIONS, NewCredential, OpenedWith};
    use records::RoleCeiling;
    use tool::People;

    fn identity() -> Identity {
        Identity::open(&Store::in_memory().unwrap(), None, ClaimConfig::default()).unwrap()
    }

    fn token(name: &str, role: Role) -> NewCredential {
        NewCredential::new(name.into(), role, OpenedWith::Person)
    }

    fn session(of: &IssuedCredential, opened_with: OpenedWith, latest_expiry_ms: u64) -> NewCredential {
        let user = Some(of.user);
        NewCredential { session: true, user, opened_with, latest_expiry_ms, ..token("page", Role::Member) }
    }

    #[tokio::test]
    async fn a_token_ends_with_the_sessions_it_opened() {
        let identity = identity();
        let soon = NewCredential { lifetime: Some(Duration::from_millis(300)), ..token("mia", Role::Member) };
        let soon = identity.issue(soon, None).await.unwrap();
        let opened = identity.issue(session(&soon, OpenedWith::Token(soon.id), soon.expires_ms), None).await.unwrap();
        assert!(
            identity.authenticate(&soon.key, false).unwrap().is_some()
                && identity.authenticate(&opened.key, true).unwrap().is_some()
        );
        assert!(identity.authenticate(&soon.key, true).unwrap().is_none(), "a token is no session");
        assert!(identity.is_valid(Some(opened.id)) && !identity.is_valid(Some(Id::new())) && identity.is_valid(None));
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(
            identity.authenticate(&soon.key, false).unwrap().is_none()
                && identity.authenticate(&opened.key, true).unwrap().is_none()
        );
        assert!(!identity.is_valid(Some(opened.id)));
        // A token or password that was revoked between check and write opens nothing.
        let gone = identity.issue(session(&soon, OpenedWith::Token(Id::new()), 0), None).await.err().unwrap();
        let other =
            identity.issue(session(&soon, OpenedWith::Password("another".into()), 0), None).await.err().unwrap();
        assert!(matches!((gone, other), (Error::Unauthorized(_), Error::Unauthorized(_))));
    }

    #[tokio::test]
    async fn sessions_per_person_are_bounded() {
        let identity = identity();
        let mia = identity.issue(token("mia", Role::Member), None).await.unwrap();
        let ben = identity.issue(token("ben", Role::Viewer), None).await.unwrap();
        let kept = identity.issue(session(&ben, OpenedWith::Token(ben.id), 0), None).await.unwrap();
        let first = identity.issue(session(&mia, OpenedWith::Token(mia.id), 0), None).await.unwrap();
        for _ in 0..MAX_SESSIONS {
            identity.issue(session(&mia, OpenedWith::Token(mia.id), 0), None).await.unwrap();
        }
        assert_eq!(identity.credentials(true).unwrap().len(), MAX_SESSIONS + 1);
        assert!(
            identity.authenticate(&first.key, true).unwrap().is_none()
                && identity.authenticate(&kept.key, true).unwrap().is_some()
        );
        assert_eq!(
            identity.authenticate(&kept.key, true).unwrap().unwrap().principal.role,
            Role::Viewer,
            "no more than the person"
        );
    }

    #[tokio::test]
    async fn the_last_use_of_a_token_is_noted_once_an_hour() {
        let identity = identity();
        let mia = identity.issue(token("mia", Role::Member), None).await.unwrap();
        let used = || identity.credentials(false).unwrap()[0].value.last_used_ms;
        let flush = || async { identity.0.credentials.store().flush().await.unwrap() };
        assert_eq!(used(), 0);
        assert!(identity.authenticate(&mia.key, true).unwrap().is_none(), "a token is no session");
        flush().await;
        assert_eq!(used(), 0);
        let before = Id::now_ms();
        for _ in 0..3 {
            identity.authenticate(&mia.key, false).unwrap().unwrap();
        }
        flush().await;
        let first = used();
        assert!((before..=Id::now_ms()).contains(&first));
        tokio::time::sleep(Duration::from_millis(5)).await;
        identity.authenticate(&mia.key, false).unwrap().unwrap();
        flush().await;
        assert_eq!(used(), first, "the hour is not over");
        let inner = identity.0.clone();
        let earlier = move |tx: &store::Tx| {
            let change = &mut |token: &mut Credential| {
                token.last_used_ms = before - 3_600_001;
                Ok(())
            };
            inner.credentials.change(tx, Scope::Household, tool::Label::Own, mia.id, change).map(drop)
        };
        identity.0.credentials.store().write(earlier).await.unwrap();
        identity.authenticate(&mia.key, false).unwrap().unwrap();
        flush().await;
        assert!(used() >= before);
    }

    #[tokio::test]
    async fn a_person_record_without_a_role_limits_no_token_and_grants_nothing() {
        let identity = identity();
        let old = Person { name: "Old".into(), ceiling: RoleCeiling::Unset, password: String::new(), program: false };
        let (inner, id) = (identity.0.clone(), Id::new());
        identity.0.people.store().write(move |tx| inner.people.put(tx, id, &stamp(), &old)).await.unwrap();
        let given = identity.issue(token("old", Role::Member), None).await.unwrap();
        assert_eq!(given.user, UserId(id));
        assert_eq!(identity.authenticate(&given.key, false).unwrap().unwrap().principal.role, Role::Member);
        assert_eq!(identity.role_of(UserId(id)).unwrap(), Some(Role::Viewer));
    }
}
