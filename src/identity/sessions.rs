//! Claiming the device, signing in, and the sessions a person has open.

use crate::{
    AuthenticatedKey, Client, Error, Identity, OWNER, Result, SESSION_LIFETIME,
    credentials::{NewCredential, NewOwner, OpenedWith},
    password::CheckSource,
    people::parse_name,
    random_bytes,
    records::{Credential, Person},
    scope::TokenScopes,
};
use serde::Serialize;
use store::Entry;
use tool::{
    AgentId, Id, Principal, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// The sealed secret that signs browser cookies.
const BROWSER_SECRET: &str = "browser-key";

/// A new session of the page.
pub struct NewSession {
    pub principal: Principal,
    /// The session's key, for its cookie.
    pub key: String,
    /// The value of a cookie that identifies this browser at the next sign-in.
    pub browser: String,
}

/// A session of the page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    id: Id,
    /// The browser's description of itself.
    device: String,
    /// Milliseconds since 1970.
    created_at: u64,
    /// Milliseconds since 1970.
    expires_at: u64,
    /// Whether it is the one that asks.
    current: bool,
}

impl Identity {
    /// Claims the device for its owner with the claim code. Run it to its end even if the caller is gone: half a claim
    /// would leave a device that nobody can claim.
    ///
    /// # Errors
    /// `AlreadyClaimed`, `WrongCode`, `CodeExpired`, `TooManyAttempts`; `BadArgs` for the name or password.
    pub async fn claim(
        &self,
        code: &str,
        name: Option<&str>,
        password: Option<&str>,
        client: Client,
        user_agent: String,
    ) -> Result<NewSession> {
        let checked = self.claim_code().as_ref().map(|current| current.check(code)).ok_or(Error::AlreadyClaimed)?;
        self.0.code_attempts.count(client)?;
        checked?;
        self.0.code_attempts.forgive(client);
        let name = parse_name(name.unwrap_or(OWNER))?;
        let password = self.hash_new_password(password).await?;
        // Of two concurrent claims only one succeeds: it takes the code before the session is stored.
        let code = self.claim_code().take().ok_or(Error::AlreadyClaimed)?;
        let credential = NewCredential {
            session: true,
            user: Some(UserId::OWNER),
            user_agent,
            ..NewCredential::new("claim".into(), Role::Admin, OpenedWith::Person)
        };
        let key = match self.issue(credential, Some(NewOwner { name, password })).await {
            Ok(issued) => issued.key,
            Err(error) => {
                *self.claim_code() = Some(code);
                return Err(error);
            }
        };
        code.delete_file();
        self.new_session(Principal::owner(), key).await
    }

    /// Opens a session with an API token.
    pub async fn sign_in_with_token(&self, token: &str, client: Client, user_agent: String) -> Result<NewSession> {
        // A token has 256 random bits, so wrong attempts of others never lock its owner out.
        let Some(known) = self.authenticate(token, false)? else {
            self.0.token_attempts.count(client)?;
            return Err(Error::Unauthorized("that token is not known: make one with `hob token new owner`"));
        };
        let opened_with = known.id.map_or(OpenedWith::Fixed, OpenedWith::Token);
        self.open_session(known, opened_with, user_agent).await
    }

    /// Opens a session with a name and password. `browser` is the cookie of [`NewSession::browser`].
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &str,
        client: Client,
        browser: Option<&str>,
        user_agent: String,
    ) -> Result<NewSession> {
        let person = self.record_named(name)?;
        // The attempts of a known browser count apart from those of strangers at the same address.
        let known_browser = person.as_ref().and_then(|person| self.known_browser(browser?, person));
        let source = if known_browser.is_some() { CheckSource::Known } else { CheckSource::Stranger };
        let client = known_browser.unwrap_or(client);
        // Counted before the check, which is slow on purpose.
        self.0.password_attempts.count(client)?;
        let hash = person.as_ref().map(|p| p.value.password.clone()).unwrap_or_default();
        let matches = self.0.passwords.matches(source, password, &hash).await?;
        let person = person.filter(|_| matches);
        let person = person.ok_or(Error::WrongPassword("that name and password do not fit together"))?;
        self.0.password_attempts.forgive(client);
        let user = UserId(person.id);
        let role = if user == UserId::OWNER { Role::Admin } else { person.value.ceiling.role() };
        let principal = Principal { user, role, agent: AgentId::GENERAL };
        let known = AuthenticatedKey {
            principal,
            id: None,
            token: None,
            scopes: TokenScopes::default(),
            expires_ms: 0,
            in_person: true,
        };
        self.open_session(known, OpenedWith::Password(hash), user_agent).await
    }

    async fn open_session(
        &self,
        known: AuthenticatedKey,
        opened_with: OpenedWith,
        user_agent: String,
    ) -> Result<NewSession> {
        let session = NewCredential {
            session: true,
            user: Some(known.principal.user),
            scope: known.scopes.into_words(),
            lifetime: Some(SESSION_LIFETIME),
            latest_expiry_ms: known.expires_ms,
            user_agent,
            ..NewCredential::new("page".into(), known.principal.role, opened_with)
        };
        let key = self.issue(session, None).await?.key;
        self.new_session(known.principal, key).await
    }

    pub(crate) async fn new_session(&self, principal: Principal, key: String) -> Result<NewSession> {
        let browser = self.browser_cookie(principal.user).await?;
        Ok(NewSession { principal, key, browser })
    }

    fn known_browser(&self, cookie: &str, person: &Entry<Person>) -> Option<Client> {
        let salt = cookie.split('.').nth(1)?;
        let key = self.0.people.store().unseal_if_ours(BROWSER_SECRET).ok()??;
        let hash = blake3::hash(cookie.as_bytes());
        let expected = sign_browser(&key, UserId(person.id), &person.value.password, salt);
        (hash == blake3::hash(expected.as_bytes())).then(|| Client::Browser(*hash.as_bytes()))
    }

    async fn browser_cookie(&self, user: UserId) -> Result<String> {
        let store = self.0.people.store();
        let key = match store.unseal_if_ours(BROWSER_SECRET)? {
            Some(key) => key,
            None => {
                let mut key = [0u8; 32];
                random_bytes(&mut key)?;
                store.seal(BROWSER_SECRET, &key).await?;
                key.to_vec()
            }
        };
        let hash = self.record_of(user)?.map(|person| person.value.password).unwrap_or_default();
        Ok(sign_browser(&key, user, &hash, &Id::new().to_string()))
    }

    /// The sessions a person has open; `current` is the credential of the request.
    pub fn sessions_of(&self, user: UserId, current: Option<Id>) -> Result<Vec<SessionView>> {
        let now = Id::new().millis();
        let view = |s: Entry<Credential>| SessionView {
            id: s.id,
            device: s.value.user_agent,
            created_at: s.id.millis(),
            expires_at: s.value.expires_ms,
            current: Some(s.id) == current,
        };
        let own = self.credentials(true)?.into_iter().filter(|s| s.value.user == user && s.value.expires_ms > now);
        Ok(own.map(view).collect())
    }

    /// Ends a session of this person.
    pub async fn end_session_of(&self, user: UserId, id: Id) -> Result<()> {
        if !self.sessions_of(user, None)?.iter().any(|s| s.id == id) {
            return Err(Error::not_found(format!("there is no session {id} of yours")));
        }
        self.end_session(id).await
    }

    pub async fn end_session(&self, id: Id) -> Result<()> {
        self.0.credentials.delete_in(Scope::Household, id).await?;
        Ok(())
    }
}

/// A cookie value that proves an earlier sign-in of this person here; a new password invalidates it.
fn sign_browser(key: &[u8], user: UserId, password_hash: &str, salt: &str) -> String {
    let proof = blake3::Hasher::new_derive_key("hob 2026 browser cookie")
        .update(key)
        .update(format!("{user}/{password_hash}/{salt}").as_bytes())
        .finalize();
    format!("{user}.{salt}.{}", proof.to_hex())
}
