//! A record with its metadata, the metadata of a write, and the parameters of a list.

use crate::record::{Audience, Header, Tails};
use tool::{Cx, Id, Label, Scope, UserId};

/// A record with its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<T> {
    /// Its id; ids grow with time.
    pub id: Id,
    /// Its owner.
    pub owner: UserId,
    /// The readers besides its owner.
    pub audience: Audience,
    /// The origin of its content, as this reader sees it.
    pub label: Label,
    /// Its source: `chat`, `api`, a tool's name.
    pub source: String,
    /// When it was last changed: milliseconds since 1970.
    pub updated_ms: u64,
    /// The [`Record::VERSION`] it was written under.
    pub version: u8,
    /// The record.
    pub value: T,
    pub(crate) tails: Tails,
}

impl<T> Entry<T> {
    pub(crate) fn new(id: Id, header: Header, value: T, tails: Tails) -> Self {
        let Header { version, owner, audience, label, source, updated_ms, sum: _ } = header;
        Self { id, owner, audience, label, source, updated_ms, version, value, tails }
    }

    /// The value, and the rest.
    pub(crate) fn split(self) -> (T, Entry<()>) {
        let Self { id, owner, audience, label, source, updated_ms, version, value, tails } = self;
        (value, Entry { id, owner, audience, label, source, updated_ms, version, value: (), tails })
    }

    /// The label of this record after a change by this caller. The owner does not change, so another person's words would
    /// otherwise count as the owner's.
    pub fn label_after(&self, cx: &Cx) -> Label {
        if self.owner == cx.user() { cx.label() } else { cx.label().max(Label::Member(cx.user())) }
    }
}

impl Entry<()> {
    pub(crate) fn with<T>(self, value: T) -> Entry<T> {
        let Self { id, owner, audience, label, source, updated_ms, version, value: (), tails } = self;
        Entry { id, owner, audience, label, source, updated_ms, version, value, tails }
    }
}

/// The metadata of a write.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// The scope of the record.
    pub scope: Scope,
    /// Its owner.
    pub owner: UserId,
    /// The readers besides its owner.
    pub audience: Audience,
    /// The origin of its content.
    pub label: Label,
    /// Its source: `chat`, `api`, a tool's name.
    pub source: String,
}

impl Stamp {
    /// For records of Hob itself in the household's scope.
    pub fn household(source: &str) -> Self {
        Self {
            scope: Scope::Household,
            owner: UserId::OWNER,
            audience: Audience::Household,
            label: Label::Own,
            source: source.into(),
        }
    }
    /// The same stamp with another audience.
    pub fn audience(mut self, audience: Audience) -> Self {
        self.audience = audience;
        self
    }
}

/// Which records, and how many.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Only those found under this index value.
    pub by: Option<(u8, Vec<u8>)>,
    /// Only those older than this one (paging, newest first).
    pub before: Option<Id>,
    /// At most this many; 0 means all.
    pub limit: usize,
}
