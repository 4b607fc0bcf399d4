//! Memory documents: stored, changed and deleted, each in one commit with its index.

use crate::{
    Edit, VirtualPath,
    index::{BY_PATH, DocumentIndex},
    path::{FOLDER, Place, fold},
};
use embed::Embedder;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, sync::Arc};
use store::{Audience, Collection, Entry, Key, Level, Part, Record, Stamp, Store, Tx, Visit, Walk, order};
use tokio::sync::Mutex;
use tool::{AgentId, Cx, Error, Id, Label, Result, Role, Scope, prelude::json};

/// The maximum length of a document, in bytes.
pub const LONGEST: usize = 128 * 1024;
/// The maximum number of documents of a person, and of an agent, and of their bytes.
pub const MOST: usize = 500;
pub const MOST_BYTES: usize = 4 << 20;
/// Documents of at most so many chunks are embedded before the write returns; larger ones in the background.
const AT_ONCE: usize = 8;
/// How often a change is made again because others write the same document.
const RETRIES: usize = 5;

/// A memory document. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The path as it was written; unique in its scope, whatever its case.
    pub path: String,
    pub text: String,
    /// Counts from 1.
    pub version: u32,
    pub agent: AgentId,
    /// Whether it is in the agent's scope, for everybody.
    pub agents: bool,
}

impl Record for Stored {
    const NAME: &'static str = "memory-documents";
    const WORD: &'static str = "memory document";
    const LEVEL: Level = Level::AgentUser;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.path.clone()
    }
    fn settle(&mut self) {
        self.version = 0;
    }
    fn revive(&mut self, now: Option<&Self>) {
        self.version = now.map_or(self.version, |now| now.version) + 1;
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_PATH, order::name(&fold(&self.path)))]
    }
}

impl Stored {
    pub(crate) fn scope(&self, owner: tool::UserId) -> Scope {
        if self.agents { Scope::Agent(self.agent) } else { Scope::AgentUser(self.agent, owner) }
    }

    pub(crate) fn index(&self) -> DocumentIndex {
        DocumentIndex::of(fold(&self.path), (self.agent, self.agents), &self.text)
    }
}

/// The memory documents of all people and agents; cheap to clone.
#[derive(Clone)]
pub struct MemoryDocuments {
    pub(crate) records: Collection<Stored>,
    pub(crate) indexes: Collection<DocumentIndex>,
    pub(crate) embedder: Embedder,
    /// Held while documents are embedded in the background: one at a time.
    pub(crate) embedding: Arc<Mutex<()>>,
}

/// The scope of a place for this caller.
pub(crate) fn scope_of(cx: &Cx, place: Place) -> Scope {
    match place {
        Place::Own => Scope::AgentUser(cx.agent(), cx.user()),
        Place::Agents => Scope::Agent(cx.agent()),
    }
}

/// A change of a document, and what it needs.
pub(crate) struct Change {
    pub place: Place,
    pub edit: Edit,
    /// The version it was made from.
    pub expected: Option<u32>,
}

/// The document as it was before a change: the caller's own, or the agent's that it begins as.
struct Before {
    text: String,
    version: u32,
    label: Label,
    id: Option<Id>,
}

impl MemoryDocuments {
    /// The documents in `store`.
    pub fn new(store: &Store, embedder: Embedder) -> Self {
        Self { records: store.collection(), indexes: store.collection(), embedder, embedding: Arc::default() }
    }

    /// The document of a path, in this place. It does not taint.
    pub(crate) fn peek(&self, cx: &Cx, path: &VirtualPath, place: Place) -> Result<Option<Entry<Stored>>> {
        let walk = Walk::prefix(BY_PATH, order::name(&path.folded()));
        let found = self.records.walk_in(scope_of(cx, place), &walk, |_| Visit::Yes)?.pop();
        match found {
            Some(entry) if entry.value.path != path.as_str() => {
                Err(Error::not_found(format!("there is no `{path}`, but `{}`: use that spelling", entry.value.path)))
            }
            found => Ok(found),
        }
    }

    /// The documents of a place, by path.
    pub(crate) fn all(&self, cx: &Cx, place: Place, under: &str) -> Result<Vec<Entry<Stored>>> {
        let walk = Walk::prefix(BY_PATH, fold(under));
        Ok(self.records.walk_in(scope_of(cx, place), &walk, |_| Visit::Yes)?)
    }

    /// Writes a document; an empty result deletes it. Returns it, or `None` when it is gone.
    pub(crate) async fn change(&self, cx: &Cx, path: &VirtualPath, change: &Change) -> Result<Option<Entry<Stored>>> {
        let role = cx.principal().role;
        if role == Role::Viewer {
            return Err(Error::denied("a viewer may read documents, and not change them: ask an admin"));
        }
        if change.place == Place::Agents && role != Role::Admin {
            return Err(Error::denied(format!(
                "`{path}` of the agent is read by everybody, and only an admin may change it: write your own"
            )));
        }
        for _ in 0..RETRIES {
            let before = self.before(cx, path, change.place)?;
            if change.expected.is_some_and(|expected| expected != before.version) {
                return Err(changed_since(path, before.version));
            }
            if let Some(written) = self.try_change(cx, path, change, before).await? {
                let (entry, place) = (written.into_entry(), change.place);
                if let Some(entry) = &entry {
                    self.embed_soon(entry);
                }
                let version = entry.as_ref().map_or(0, |entry| entry.value.version);
                let to = (place == Place::Own).then(|| cx.user());
                let data = json!({"path": path.as_str(), "version": version});
                cx.ports().bus.publish("memory-document:changed", to, data);
                return Ok(entry);
            }
            // Somebody else wrote in between: the edit is made again from the new text.
        }
        Err(Error::unavailable(format!("`{path}` is being changed by others at this moment: try again")))
    }

    /// One attempt from the state `before`; `None` when that has changed.
    async fn try_change(
        &self,
        cx: &Cx,
        path: &VirtualPath,
        change: &Change,
        before: Before,
    ) -> Result<Option<Written>> {
        let (place, scope) = (change.place, scope_of(cx, change.place));
        let text = checked(path, change.edit.apply_to(&before.text).map_err(Error::bad_args)?)?;
        let (agent, agents) = (cx.agent(), place == Place::Agents);
        let version = before.version + 1;
        let draft = Stored { path: path.as_str().into(), text, version, agent, agents };
        let (this, path_checked) = (self.clone(), path.clone());
        let made = tokio::task::spawn_blocking(move || {
            this.check_room(scope, &path_checked, draft.text.len())?;
            let index = draft.index();
            Ok::<_, Error>((draft, index))
        });
        let made = made.await.map_err(|error| Error::failed(format!("indexing the document stopped: {error}")))?;
        let (draft, mut index) = made?;
        if index.count() <= AT_ONCE {
            index.embed(&self.embedder, &draft.text).await;
        }
        let label = if change.edit.keeps_old_text() { cx.label().max(before.label) } else { cx.label() };
        let audience = if agents { Audience::Household } else { Audience::Private };
        let stamp = Stamp { scope, owner: cx.user(), audience, label, source: change.edit.operation().into() };
        let (this, key) = (self.clone(), order::name(&path.folded()));
        let write = move |tx: &Tx| {
            let found = this.records.find(tx, scope, BY_PATH, &key)?.pop();
            let now = found.as_ref().map(|entry| (entry.id, entry.value.version));
            if now != before.id.map(|id| (id, before.version)) {
                return Ok(None);
            }
            let old_index = this.indexes.find(tx, scope, BY_PATH, &key)?.pop().map(|entry| entry.id);
            if draft.text.is_empty() {
                if let Some((id, _)) = now {
                    this.records.remove(tx, scope, id)?;
                }
                if let Some(id) = old_index {
                    this.indexes.remove(tx, scope, id)?;
                }
                return Ok(Some(Written::Deleted));
            }
            let fresh = Id::new();
            let id = before.id.unwrap_or(fresh);
            let entry = this.records.put(tx, id, &stamp, &draft)?;
            this.indexes.put(tx, old_index.unwrap_or_else(Id::new), &stamp, &index)?;
            Ok(Some(Written::Put(Box::new(entry))))
        };
        Ok(self.records.store().write(write).await?)
    }

    fn before(&self, cx: &Cx, path: &VirtualPath, place: Place) -> Result<Before> {
        if let Some(own) = self.peek(cx, path, place)? {
            let Entry { id, label, value, .. } = own;
            return Ok(Before { text: value.text, version: value.version, label, id: Some(id) });
        }
        let agents = match place {
            Place::Own => self.peek(cx, path, Place::Agents)?,
            Place::Agents => None,
        };
        let (text, label) = agents.map_or_else(Default::default, |entry| (entry.value.text, entry.label));
        Ok(Before { text, version: 0, label, id: None })
    }

    /// Refuses a text beyond the limits. Concurrent writes may exceed them by a document each.
    fn check_room(&self, scope: Scope, path: &VirtualPath, length: usize) -> Result<()> {
        let (mut count, mut bytes, own) = (0, 0, path.folded());
        self.records.walk_in(scope, &Walk::prefix(BY_PATH, []), |entry| {
            if fold(&entry.value.path) != own {
                count += 1;
                bytes += entry.value.text.len();
            }
            Visit::No
        })?;
        if length > 0 && (count >= MOST || bytes + length > MOST_BYTES) {
            return Err(Error::unavailable(format!(
                "there are {count} other memory documents with {} KB, and the maximum is {MOST} and {} KB: delete some first",
                bytes / 1024,
                MOST_BYTES / 1024
            )));
        }
        Ok(())
    }

    /// Embeds a document in the background where that is still to be done.
    fn embed_soon(&self, entry: &Entry<Stored>) {
        let (this, scope, id) = (self.clone(), entry.value.scope(entry.owner), entry.id);
        tokio::spawn(async move {
            let _one = this.embedding.lock().await;
            if let Err(error) = this.embed_stored(scope, id).await {
                tracing::warn!(%error, "a document is found by words alone until the next start");
            }
        });
    }

    /// Computes the index of a stored document where it is missing, has no vectors, or does not fit. Returns whether it
    /// did; without the model, its words are indexed, and it did not.
    async fn embed_stored(&self, scope: Scope, id: Id) -> Result<bool> {
        let Some(entry) = self.records.get_in(scope, id)? else { return Ok(false) };
        let key = order::name(&fold(&entry.value.path));
        let old = self.indexes.walk_in(scope, &Walk::prefix(BY_PATH, &key), |_| Visit::Yes)?.pop();
        let old = old.map(|old| old.value).filter(|old| old.fits(&entry.value.text));
        if old.as_ref().is_some_and(|old| old.has_vectors(&self.embedder)) {
            return Ok(false);
        }
        let mut index = entry.value.index();
        let has_meaning = index.embed(&self.embedder, &entry.value.text).await;
        if !has_meaning && old.is_some() {
            // The vectors of the model before stay, in case it comes back.
            return Ok(false);
        }
        let stamp =
            Stamp { scope, owner: entry.owner, audience: entry.audience, label: entry.label, source: "index".into() };
        let (this, text) = (self.clone(), entry.value.text);
        let write = move |tx: &Tx| {
            // Changed or deleted in the meantime: that write has its own index.
            if this.records.read(tx, scope, id)?.is_some_and(|now| now.value.text == text) {
                let old = this.indexes.find(tx, scope, BY_PATH, &key)?.pop();
                this.indexes.put(tx, old.map_or_else(Id::new, |old| old.id), &stamp, &index)?;
            }
            Ok(())
        };
        store::without_change(self.records.store().write(write)).await?;
        Ok(has_meaning)
    }

    /// Computes all indexes that are missing or do not fit: after a restore, a power cut before a large document was embedded,
    /// or a change of the model. Removes those without a document. Returns how many it computed.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read or written.
    pub async fn backfill(&self) -> Result<usize> {
        self.remove_orphans().await?;
        let mut all = vec![];
        self.records.scan(|entry| all.push((entry.value.scope(entry.owner), entry.id)))?;
        let mut count = 0;
        for (scope, id) in all {
            let _one = self.embedding.lock().await;
            count += usize::from(self.embed_stored(scope, id).await?);
        }
        Ok(count)
    }

    /// Removes indexes without a document.
    async fn remove_orphans(&self) -> Result<()> {
        let mut known = HashSet::new();
        self.records.scan(|entry| {
            known.insert((entry.value.scope(entry.owner), fold(&entry.value.path)));
        })?;
        let mut orphans = vec![];
        self.indexes.scan(|entry| {
            let key = (entry.value.scope(entry.owner), entry.value.path);
            if key.1.starts_with(FOLDER) && !known.contains(&key) {
                orphans.push((key.0, entry.id, key.1));
            }
        })?;
        if orphans.is_empty() {
            return Ok(());
        }
        let this = self.clone();
        let remove = move |tx: &Tx| {
            for (scope, id, path) in &orphans {
                if this.records.find(tx, *scope, BY_PATH, &order::name(path))?.is_empty() {
                    this.indexes.remove(tx, *scope, *id)?;
                }
            }
            Ok(())
        };
        Ok(self.records.store().write(remove).await?)
    }

    /// After an undo made a document what it was before a change, or removed it: its index follows.
    pub async fn was_put_back(&self, part: &Part) {
        let (Some(scope), Some(id)) = (part.scope(), part.id()) else { return };
        let followed = match self.records.get_in(scope, id) {
            Ok(None) => self.remove_orphans().await,
            _ => self.embed_stored(scope, id).await.map(drop),
        };
        if let Err(error) = followed {
            tracing::warn!(%error, "a restored document is not searched until the next start");
        }
    }
}

/// The outcome of a write.
enum Written {
    Put(Box<Entry<Stored>>),
    Deleted,
}

impl Written {
    fn into_entry(self) -> Option<Entry<Stored>> {
        match self {
            Written::Put(entry) => Some(*entry),
            Written::Deleted => None,
        }
    }
}

fn changed_since(path: &VirtualPath, now: u32) -> Error {
    Error::unavailable(format!(
        "`{path}` has changed since you read it and is version {now}: read it again, then repeat your change"
    ))
}

/// Checks a text; white space alone counts as empty.
fn checked(path: &VirtualPath, text: String) -> Result<String> {
    if text.len() > LONGEST {
        let (kb, most) = (text.len().div_ceil(1024), LONGEST / 1024);
        return Err(Error::bad_args(format!(
            "`{path}` would have {kb} KB, and the maximum is {most} KB: split it into several documents"
        )));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Error::bad_args(format!("the text contains a control character ({:#x}): remove it", u32::from(c))));
    }
    Ok(if text.trim().is_empty() { String::new() } else { text })
}
