//! API tokens: keys for programs, with a role, scopes and an expiry.

use crate::{
    Error, Identity, OWNER, Result,
    credentials::{NewCredential, OpenedWith},
    people::parse_name,
    records::Credential,
    scope::TokenScopes,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::Entry;
use tool::{
    Id, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// An API token, without the token itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    id: Id,
    /// The name of the person it is for.
    name: String,
    role: Role,
    /// Its scopes; empty allows everything its role does.
    scope: Vec<String>,
    /// Milliseconds since 1970.
    created_at: u64,
    /// Milliseconds since 1970; null is never.
    expires_at: Option<u64>,
    /// When it was last used, to the hour: milliseconds since 1970; null is never.
    last_used_at: Option<u64>,
}

impl From<Entry<Credential>> for TokenView {
    fn from(token: Entry<Credential>) -> Self {
        Self {
            id: token.id,
            created_at: token.id.millis(),
            name: token.value.name,
            role: token.value.role,
            scope: token.value.scope,
            expires_at: Some(token.value.expires_ms).filter(|ms| *ms > 0),
            last_used_at: Some(token.value.last_used_ms).filter(|ms| *ms > 0),
        }
    }
}

/// A token to issue.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NewToken {
    /// The name of the person it is for, 1 to 64 characters. `owner` is the person who claimed the device; another name is a
    /// person of their own, created if missing.
    name: String,
    /// The most it may do.
    #[serde(default = "admin")]
    role: Role,
    /// Its scopes: `chat`, `tools`, `tool:NAME`, `events`, `approvals`, `device`, `admin`. Empty allows everything its role does.
    #[serde(default)]
    scope: Vec<String>,
    /// After how many days it expires; never if left out.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
}

fn admin() -> Role {
    Role::Admin
}

/// A new token, shown this once.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IssuedToken {
    id: Id,
    name: String,
    role: Role,
    /// The person it speaks for.
    user: UserId,
    scope: Vec<String>,
    /// Milliseconds since 1970; null is never.
    expires_at: Option<u64>,
    /// The token itself.
    token: String,
}

impl Identity {
    /// The API tokens, newest first.
    pub fn tokens(&self) -> Result<Vec<TokenView>> {
        Ok(self.credentials(false)?.into_iter().map(TokenView::from).collect())
    }

    pub async fn issue_token(&self, new: NewToken) -> Result<IssuedToken> {
        let (name, scope) = (parse_name(&new.name)?, TokenScopes::parse(&new.scope)?);
        let for_owner = name.eq_ignore_ascii_case(OWNER);
        if for_owner && new.role != Role::Admin && scope.is_empty() {
            return Err(Error::bad_args(
                "`owner` is the person who claimed this Hob and always an admin: choose another name, or give a scope",
            ));
        }
        if new.expires_in_days.is_some_and(|days| !(1..=3650).contains(&days)) {
            return Err(Error::bad_args("`expiresInDays` is 1 to 3650; leave it out for a token that does not end"));
        }
        let credential = NewCredential {
            user: for_owner.then_some(UserId::OWNER),
            scope: scope.words().to_vec(),
            lifetime: new.expires_in_days.map(|days| DAY * days),
            ..NewCredential::new(name.clone(), new.role, OpenedWith::Person)
        };
        let issued = self.issue(credential, None).await?;
        let expires_at = Some(issued.expires_ms).filter(|ms| *ms > 0);
        let (role, scope) = (new.role, scope.into_words());
        Ok(IssuedToken { id: issued.id, name, role, user: issued.user, scope, expires_at, token: issued.key })
    }

    /// Revokes a token and the sessions that were opened with it.
    pub async fn revoke_token(&self, id: Id) -> Result<()> {
        if !self.credentials(false)?.iter().any(|t| t.id == id) {
            return Err(Error::not_found(format!("there is no token {id}")));
        }
        let inner = self.0.clone();
        let revoke = move |tx: &store::Tx| {
            inner.revoke(tx, |key| key.value.opened_with == Some(id))?;
            inner.credentials.remove(tx, Scope::Household, id)
        };
        self.0.credentials.store().write(revoke).await?;
        Ok(())
    }
}
