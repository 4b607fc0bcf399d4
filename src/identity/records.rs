//! The stored records: people, their credentials, and whether the device is claimed.

use serde::{Deserialize, Serialize};
use store::{Coded, Key, Level, Record};
use tool::{Id, Role, UserId};

/// A session or API token, stored by the hash of its key. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credential {
    pub hash: [u8; 32],
    pub name: String,
    #[serde(with = "store::coded")]
    pub role: Role,
    pub user: UserId,
    /// False for an API token.
    pub session: bool,
    /// Milliseconds since 1970; 0 is never.
    pub expires_ms: u64,
    /// The token a session was opened with; the session ends with it.
    pub opened_with: Option<Id>,
    /// The token scopes; empty is everything.
    pub scope: Vec<String>,
    /// The user agent of a session.
    pub user_agent: String,
    /// For a session opened with `HOB_TOKEN`: the first bytes of its hash. It ends when that changes.
    pub opened_with_fixed: Vec<u8>,
    /// For an API token, to the hour: milliseconds since 1970; 0 is never.
    pub last_used_ms: u64,
}

impl Credential {
    pub fn has_expired(&self, now_ms: u64) -> bool {
        self.expires_ms != 0 && self.expires_ms <= now_ms
    }
}

impl Record for Credential {
    const NAME: &'static str = "credentials";
    const WORD: &'static str = "credential";
    const LEVEL: Level = Level::Household;
    // A restored backup must not bring a revoked key back.
    const STAYS: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, self.hash), Key::many(2, [u8::from(self.session)])]
    }
}

/// The highest role a person has, regardless of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RoleCeiling {
    /// Stored before people had roles: each key decides.
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
    /// The role where no key is involved.
    pub fn role(self) -> Role {
        match self {
            RoleCeiling::Unset | RoleCeiling::Viewer => Role::Viewer,
            RoleCeiling::Member => Role::Member,
            RoleCeiling::Admin => Role::Admin,
        }
    }

    /// The highest role of their keys.
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

/// A person of the household, independent of the keys they use. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Person {
    pub name: String,
    #[serde(with = "store::coded")]
    pub ceiling: RoleCeiling,
    /// The hash; empty without a password.
    pub password: String,
    /// Whether a token made it and nobody has: a program, until somebody gives it a password or an invitation.
    pub program: bool,
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

/// An invitation to choose a password, stored by the hash of its code. Used once. New fields go last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Invitation {
    pub hash: [u8; 32],
    pub user: UserId,
    /// Milliseconds since 1970.
    pub expires_ms: u64,
}

impl Record for Invitation {
    const NAME: &'static str = "invitations";
    const WORD: &'static str = "invitation";
    const LEVEL: Level = Level::Household;
    // A restored backup must not bring a used invitation back.
    const STAYS: bool = true;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(1, self.hash), Key::many(2, self.user.0.as_bytes())]
    }
}

/// Marks the device as claimed, also after every session has expired.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Claimed {
    pub user: UserId,
}

impl Record for Claimed {
    const NAME: &'static str = "claimed";
    const WORD: &'static str = "claim";
    const LEVEL: Level = Level::Household;
}
