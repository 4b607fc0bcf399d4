//! Identities: people, agents, roles, channels, owners of tools, scopes of records, and labels.

use crate::Id;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// A person of the household.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserId(pub Id);

impl UserId {
    /// The person who claimed the device; also the caller over the local socket.
    pub const OWNER: UserId = UserId(Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 1]));
    /// No person: the caller by voice, and the owner of records made by voice. Only [`Peer::Voice`] acts as it.
    pub const VOICE: UserId = UserId(Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 3]));
    /// Some member of the household; who it was is not stored.
    pub const SOMEBODY: UserId = UserId(Id::from_bytes([0; 16]));
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One of the household's agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentId(pub Id);

impl AgentId {
    /// The general agent every household has.
    pub const GENERAL: AgentId = AgentId(Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 2]));
}

/// The most a person may do. Ordered: a viewer may do least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// May look.
    #[default]
    Viewer,
    /// May use everything but administration.
    Member,
    /// May do everything.
    Admin,
}

/// On whose behalf a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The person.
    pub user: UserId,
    /// The most that person may do.
    pub role: Role,
    /// The agent that acts for them.
    pub agent: AgentId,
}

impl Principal {
    /// The caller by voice, as a member, through the general agent. See [`Cx::is_by_voice`](crate::Cx::is_by_voice).
    pub fn voice() -> Self {
        Self { user: UserId::VOICE, role: Role::Member, agent: AgentId::GENERAL }
    }

    /// The claiming person, as admin, through the general agent.
    pub fn owner() -> Self {
        Self { user: UserId::OWNER, role: Role::Admin, agent: AgentId::GENERAL }
    }
}

/// The door through which a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The web page, with a session cookie.
    Page,
    /// The command line, over the local socket.
    Cli,
    /// A program with an API token.
    Api,
    /// A schedule, rule or trigger, without a person present.
    Machine,
}

/// The kind of counterpart at the other end of the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Peer {
    /// One person.
    #[default]
    Direct,
    /// Several people read along.
    Group,
    /// Speech that everybody in the room hears.
    Voice,
    /// A program.
    Machine,
}

/// How a call came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// The door.
    pub channel: Channel,
    /// The chat within the door, where it has several.
    pub chat: Option<Arc<str>>,
    /// The counterpart.
    pub peer: Peer,
    /// Whether others can read the connection: it must carry no secrets.
    pub clear: bool,
    /// The name of the API token, where a program calls with one. A resumed run has none.
    pub token: Option<Arc<str>>,
}

impl Via {
    /// A direct conversation through `channel`, which nobody else can read.
    pub fn direct(channel: Channel) -> Self {
        Self { channel, chat: None, peer: Peer::Direct, clear: false, token: None }
    }
}

/// The maker of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Owner {
    /// It is part of Hob.
    #[default]
    Core,
    /// A person wrote it.
    Person(UserId),
    /// A model wrote it for this person, and it runs for nobody else.
    Model(UserId),
    /// A plugin brought it.
    Plugin(Arc<str>),
    /// An MCP server offers it.
    McpServer(Arc<str>),
}

/// The owner's part of a record's key, in its first bytes. Household ⊃ user ⊃ agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The device and everybody in the household.
    Household,
    /// One person.
    User(UserId),
    /// One agent, for everybody.
    Agent(AgentId),
    /// One agent, for one person ("open" agents).
    AgentUser(AgentId, UserId),
}

impl Scope {
    /// The key prefix: a tag byte and the ids, of fixed length for each tag.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(33);
        match self {
            Scope::Household => key.push(0),
            Scope::User(user) => {
                key.push(1);
                key.extend(user.0.as_bytes());
            }
            Scope::Agent(agent) => {
                key.push(2);
                key.extend(agent.0.as_bytes());
            }
            Scope::AgentUser(agent, user) => {
                key.push(3);
                key.extend(agent.0.as_bytes());
                key.extend(user.0.as_bytes());
            }
        }
        key
    }

    /// The scope of a [`Scope::key`].
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let id = |bytes: &[u8]| Some(Id::from_bytes(bytes.try_into().ok()?));
        match key.split_first()? {
            (0, []) => Some(Scope::Household),
            (1, rest) => Some(Scope::User(UserId(id(rest)?))),
            (2, rest) => Some(Scope::Agent(AgentId(id(rest)?))),
            (3, rest) if rest.len() == 32 => {
                Some(Scope::AgentUser(AgentId(id(&rest[..16])?), UserId(id(&rest[16..])?)))
            }
            _ => None,
        }
    }
}

/// The origin of content. The worse label wins when content is combined; only a person clears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Label {
    /// The reader's own words, or made here.
    #[default]
    Own,
    /// Words of another member of the household: they raise nobody's rights above those of that member.
    Member(UserId),
    /// From outside (web, mail, other programs): it may contain instructions of a stranger.
    Outside,
}

impl Label {
    /// The label of content combined from both. Words of two members are words of [`UserId::SOMEBODY`].
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match (self, other) {
            (Label::Outside, _) | (_, Label::Outside) => Label::Outside,
            (Label::Member(a), Label::Member(b)) => Label::Member(if a == b { a } else { UserId::SOMEBODY }),
            (member @ Label::Member(_), Label::Own) | (Label::Own, member) => member,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_label_wins() {
        let (mia, ben) = (Label::Member(UserId(Id::new())), Label::Member(UserId(Id::new())));
        for (a, b, both) in [
            (Label::Own, Label::Own, Label::Own),
            (Label::Own, mia, mia),
            (mia, mia, mia),
            (mia, ben, Label::Member(UserId::SOMEBODY)),
            (mia, Label::Outside, Label::Outside),
        ] {
            assert_eq!((a.max(b), b.max(a)), (both, both), "{a:?} {b:?}");
        }
    }

    #[test]
    fn no_scope_is_a_prefix_of_another() {
        let (user, agent) = (UserId(Id::new()), AgentId(Id::new()));
        let all = [Scope::Household, Scope::User(user), Scope::Agent(agent), Scope::AgentUser(agent, user)];
        for (i, a) in all.iter().enumerate() {
            assert_eq!(Scope::from_key(&a.key()), Some(*a));
            assert_eq!(Scope::from_key(&[&a.key()[..], &[7]].concat()), None);
            for (j, b) in all.iter().enumerate() {
                assert_eq!(i == j, b.key().starts_with(&a.key()), "{a:?} {b:?}");
            }
        }
    }
}
