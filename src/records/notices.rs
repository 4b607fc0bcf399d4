//! The stored form of notices, which Hob shows a person unasked. Their tools are in `tools-everyday`; other crates add notices
//! within a write of their own.

use crate::NamedRecord;
use serde::{Deserialize, Serialize};
use store::{Audience, Collection, Entry, Key, Level, Record, Stamp, Tx, Walk, order};
use tool::{
    Cx, Label, Scope, UserId,
    prelude::{JsonSchema, json, schemars},
};

/// How many characters of a text are its name.
const NAME: usize = 80;

const BY_NAME: u8 = 1;

/// A notice. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The title, in a few words.
    pub title: Option<String>,
    /// The message.
    pub text: String,
    /// Whether they have seen it.
    pub seen: bool,
    /// The document that the agent changed; empty for other notices.
    pub document: String,
    /// The version that the change made.
    pub version: u32,
    /// How many earlier changes it includes.
    pub earlier: u32,
    /// Whether a model added it.
    pub by_model: bool,
}

/// The change of a document that a notice reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentChange {
    /// The document, as in its URL.
    pub name: String,
    /// The new version.
    pub version: u32,
    /// The version to go back to, before the first unseen change; 0 is a document that nobody wrote.
    pub before: u32,
}

impl Record for Notice {
    const NAME: &'static str = "notices";
    const WORD: &'static str = "notice";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let name = [order::text(self.name()), vec![self.seen.into()]].concat();
        let mut keys = vec![Key::many(BY_NAME, name), Key::many(Self::ALL, [])];
        keys.extend((!self.seen).then(|| Key::many(Self::UNSEEN, [])));
        keys
    }
}

impl NamedRecord for Notice {
    const LISTED_BY: &'static str = "list_notices";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        let text = self.title.as_deref().unwrap_or(&self.text);
        text.char_indices().nth(NAME).map_or(text, |(end, _)| text[..end].trim_end())
    }
    fn is_finished(&self) -> bool {
        self.seen
    }
    fn likely() -> Walk {
        Walk::prefix(Self::ALL, []).down()
    }
}

impl Notice {
    /// The most notices of a person.
    pub const KEPT: usize = 200;
    /// The index of all of them.
    pub const ALL: u8 = 2;
    /// The index of unseen ones.
    pub const UNSEEN: u8 = 3;

    /// The change of a document that it reports.
    pub fn document_change(&self) -> Option<DocumentChange> {
        let (name, version) = (self.document.clone(), self.version);
        let before = version.saturating_sub(1).saturating_sub(self.earlier);
        (!name.is_empty()).then_some(DocumentChange { name, version, before })
    }

    /// Within a write: adds a notice for a person, in Hob's own words.
    ///
    /// # Errors
    /// As every write.
    pub fn put(self, tx: &Tx, records: &Collection<Self>, user: UserId, source: &str) -> store::Result<Entry<Self>> {
        let (scope, audience, source) = (Scope::User(user), Audience::Private, source.to_owned());
        let stamp = Stamp { scope, owner: user, audience, label: Label::Own, source };
        let added = records.put(tx, tool::Id::new(), &stamp, &self)?;
        Self::forget_old(tx, records, &added)?;
        Ok(added)
    }

    /// Within a write: a person's unseen notices about changes of a document.
    ///
    /// # Errors
    /// As every read.
    pub fn unseen_changes(
        tx: &Tx,
        records: &Collection<Self>,
        user: UserId,
        document: &str,
    ) -> store::Result<Vec<Entry<Self>>> {
        let mut unseen = records.find(tx, Scope::User(user), Self::UNSEEN, &[])?;
        unseen.retain(|notice| notice.value.document == document);
        Ok(unseen)
    }

    /// Within a write: removes the oldest where there are too many after this one was added. Seen notices go first, then
    /// those that models added, then the rest. A model's notice never removes an unseen one that no model added. Unseen
    /// changes of documents are counted apart, so that neither kind removes the other.
    ///
    /// # Errors
    /// `Conflict` when there is no room for it; as every write.
    pub fn forget_old(tx: &Tx, records: &Collection<Self>, added: &Entry<Self>) -> store::Result<()> {
        let scope = Scope::User(added.owner);
        let is_unseen_change = |notice: &Self| !notice.seen && !notice.document.is_empty();
        let mut all = records.find(tx, scope, Self::ALL, &[])?;
        all.retain(|notice| is_unseen_change(&notice.value) == is_unseen_change(&added.value));
        let excess = all.len().saturating_sub(Self::KEPT);
        let keep_unseen = added.value.by_model;
        all.retain(|Entry { id, value, .. }| *id != added.id && (value.seen || value.by_model || !keep_unseen));
        if all.len() < excess {
            return Err(crate::rejected(format!(
                "the notice was not added: the person has not seen {} others yet, and has to dismiss some first",
                Self::KEPT
            )));
        }
        all.sort_unstable_by_key(|Entry { id, value, .. }| (!value.seen, !value.by_model, *id));
        all.iter().take(excess).try_for_each(|old| records.remove(tx, scope, old.id).map(drop))
    }
}

/// Publishes a new notice to its person.
pub fn tell_notice(cx: &Cx, added: &Entry<Notice>) {
    let it = &added.value;
    let mut data = json!({"id": added.id, "title": it.title, "text": it.text});
    if let Some(change) = it.document_change() {
        data["document"] = json!(change);
    }
    cx.ports().bus.publish("notice:new", Some(added.owner), data);
}
