//! Store the documents: their current text and every earlier version.

use crate::{AgentType, Edit, Name, Profile, prompt::BASE};
use records::{Notice, publish_change, tell_notice};
use serde::Serialize;
use std::sync::Arc;
use store::{Audience, Coded, Collection, Entry, Key, Level, Record, Stamp, Store, Tx, Visit, Walk, order};
use tool::{AgentId, Cx, Error, Id, Label, Result, Role, Scope, UserId, prelude::*};

/// The maximum length of a text, in bytes.
const LONGEST: usize = 64 * 1024;
/// The maximum number of stored versions of a document.
const VERSIONS: u32 = 200;
/// The maximum number of edits in one run.
const PER_RUN: u32 = 5;

/// Current texts, by name.
const BY_NAME: u8 = 1;
/// Versions, by name and number.
const BY_VERSION: u8 = 1;

/// The current text. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Current {
    name: String,
    text: String,
    /// The version number, from 1.
    version: u32,
    /// Whether an admin or their run wrote it.
    by_admin: bool,
}

impl Record for Current {
    const NAME: &'static str = "documents";
    const WORD: &'static str = "document";
    /// Personal documents use a user scope; every call names the scope.
    const LEVEL: Level = Level::Agent;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_NAME, order::name(&self.name))]
    }
}

/// The author of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// A person, directly.
    Person,
    /// The agent in a run, or a program.
    Agent,
}

impl Coded for Author {
    const ALL: &'static [Self] = &[Author::Person, Author::Agent];
    const UNKNOWN: Self = Author::Agent;
}

/// One version of a text, including the current one. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Version {
    name: String,
    text: String,
    version: u32,
    #[serde(with = "store::coded")]
    by: Author,
    operation: String,
    /// Whether an admin or their run wrote it.
    by_admin: bool,
}

impl Record for Version {
    const NAME: &'static str = "document-versions";
    const WORD: &'static str = "version of a document";
    const LEVEL: Level = Level::Agent;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_VERSION, versioned(&self.name, self.version))]
    }
}

fn versioned(name: &str, version: u32) -> Vec<u8> {
    [&order::name(name)[..], &version.to_be_bytes()].concat()
}

/// The current state of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name.
    pub name: Name,
    /// Its text; empty if it was never written.
    pub text: String,
    /// Counts from 1; 0 if it was never written.
    pub version: u32,
    /// The time of the last change in milliseconds since 1970.
    pub updated_ms: Option<u64>,
    /// Its label. A text from outside taints its readers.
    pub label: Label,
}

impl Document {
    fn unwritten(name: Name) -> Self {
        Self { name, text: String::new(), version: 0, updated_ms: None, label: Label::Own }
    }

    fn of(name: Name, entry: Entry<Current>) -> Self {
        Self {
            name,
            text: entry.value.text,
            version: entry.value.version,
            updated_ms: Some(entry.updated_ms),
            label: entry.label,
        }
    }
}

/// The metadata of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PastHead {
    /// The version number.
    pub version: u32,
    /// Its time in milliseconds since 1970.
    pub at: u64,
    /// Its author.
    pub by: Author,
    /// The person who wrote it, or whose agent did.
    #[serde(rename = "userId")]
    pub user: UserId,
    /// `replace`, `find_replace`, `append`, `prepend`, `delete` or `rollback`.
    pub operation: String,
    /// Its length in characters.
    pub length: usize,
}

/// A version with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Past {
    /// Its metadata.
    #[serde(flatten)]
    pub head: PastHead,
    /// The text.
    pub text: String,
}

/// The documents of all agents; cheap to clone.
#[derive(Clone)]
pub struct Documents {
    current: Collection<Current>,
    versions: Collection<Version>,
    notices: Collection<Notice>,
    profile: Profile,
    base: Arc<str>,
    home: Arc<dyn Fn() -> String + Send + Sync>,
    types: Arc<dyn Fn(AgentId) -> AgentType + Send + Sync>,
}

impl Documents {
    /// Open the documents in `store`.
    pub fn new(store: &Store) -> Self {
        let (current, versions, notices) = (store.collection(), store.collection(), store.collection());
        let profile = Profile::new(store);
        let (home, types) = (Arc::new(String::new), Arc::new(|_| AgentType::default()));
        Self { current, versions, notices, profile, base: BASE.into(), home, types }
    }

    /// Set the owners of each agent's documents.
    pub fn with_types(mut self, types: impl Fn(AgentId) -> AgentType + Send + Sync + 'static) -> Self {
        self.types = Arc::new(types);
        self
    }

    pub(crate) fn type_of(&self, agent: AgentId) -> AgentType {
        (self.types)(agent)
    }

    fn is_personal(&self, cx: &Cx, name: Name) -> bool {
        name.is_personal(self.type_of(cx.agent()))
    }

    /// The profile of this person as lines for a prompt, and their standing instructions.
    pub fn profile_text(&self, cx: &Cx) -> (String, String) {
        let text = self.profile.for_prompt(cx);
        (text.about, text.instructions)
    }

    /// The profiles of people.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Replace the default system prompt; an empty text keeps Hob's own.
    pub fn with_base(mut self, text: &str) -> Self {
        self.base = if text.trim().is_empty() { BASE.into() } else { text.into() };
        self
    }

    /// Add sentences about the home, which may change while Hob runs.
    pub fn with_home(mut self, home: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.home = Arc::new(home);
        self
    }

    /// Sentences about the home for a model; may be empty.
    pub fn home(&self) -> String {
        (self.home)()
    }

    /// The default text of a document that is empty or was never written.
    pub fn built_in(&self, name: Name) -> Option<&str> {
        (name == Name::SystemPrompt).then_some(&*self.base)
    }

    /// Read a document: the caller's own version if there is one. A text from outside taints the run.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn read(&self, cx: &Cx, name: Name) -> Result<Document> {
        let found = self.peek(cx, name)?;
        cx.taint(found.label);
        Ok(found)
    }

    /// Read without tainting, for callers that reveal only the length.
    ///
    /// # Errors
    /// As [`Documents::read`].
    pub fn peek(&self, cx: &Cx, name: Name) -> Result<Document> {
        let walk = Walk::prefix(BY_NAME, order::name(name.word()));
        for scope in self.scopes(cx, name) {
            // Check the scope: the caller's own, or shared.
            if let Some(entry) = self.current.walk_in(scope, &walk, |_| Visit::Yes)?.pop() {
                let label = label_for(cx.user(), &entry, &entry.value.text, entry.value.by_admin);
                let found = Document { label, ..Document::of(name, entry) };
                // A shared text is not a version of the caller's own document.
                return Ok(if scope == self.own_scope(cx, name) { found } else { Document { version: 0, ..found } });
            }
        }
        Ok(Document::unwritten(name))
    }

    /// The text of a document or its default; empty without either.
    ///
    /// # Errors
    /// As [`Documents::read`].
    pub fn text(&self, cx: &Cx, name: Name) -> Result<String> {
        Ok(self.or_built_in(name, self.read(cx, name)?.text))
    }

    pub(crate) fn or_built_in(&self, name: Name, text: String) -> String {
        if text.is_empty() { self.built_in(name).unwrap_or_default().to_owned() } else { text }
    }

    /// Replace the text of a document; an empty text deletes it, and an own one no longer hides the shared one. With `expected`,
    /// only if that is the current version.
    ///
    /// # Errors
    /// `Denied` when only an admin may change it; `BadArgs` when it is too long; `Unavailable` when the version
    /// differs or the disk is full.
    pub async fn write(&self, cx: &Cx, name: Name, text: &str, expected: Option<u32>) -> Result<Document> {
        let edit = Edit::Replace(text.to_owned());
        self.change(cx, name, expected, Change { operation: edit.operation(), label: cx.label(), edit }).await
    }

    /// Edit a document, or its default if it was never written.
    ///
    /// # Errors
    /// `BadArgs` when the text to find is missing or the result is too long; as [`Documents::write`].
    pub async fn edit(&self, cx: &Cx, name: Name, edit: Edit) -> Result<Document> {
        self.edit_version(cx, name, edit, None).await
    }

    pub(crate) async fn edit_version(
        &self,
        cx: &Cx,
        name: Name,
        edit: Edit,
        expected: Option<u32>,
    ) -> Result<Document> {
        if edit.keeps_old_text() {
            // Reading taints the run: errors quote the text, and the rest of it keeps its label.
            self.read(cx, name)?;
        }
        self.change(cx, name, expected, Change { operation: edit.operation(), label: cx.label(), edit }).await
    }

    /// Write a new version with the text and the label of an old one; a rollback is not a review. Version 0 is the
    /// default text. With `expected`, only if that is the current version.
    ///
    /// # Errors
    /// `NotFound` when that version is not stored; as [`Documents::write`].
    pub async fn rollback(&self, cx: &Cx, name: Name, version: u32, expected: Option<u32>) -> Result<Document> {
        let (text, label) = match version {
            0 => (String::new(), cx.label()),
            _ => {
                let entry = self.entry(cx, name, version)?;
                let label = label_for(cx.user(), &entry, &entry.value.text, entry.value.by_admin);
                (entry.value.text, label.max(cx.label()))
            }
        };
        let change = Change { operation: "rollback", label, edit: Edit::Replace(text) };
        self.change(cx, name, expected, change).await
    }

    /// Apply a change unless this run has reached its limit.
    async fn change(&self, cx: &Cx, name: Name, expected: Option<u32>, change: Change) -> Result<Document> {
        let by_admin = cx.principal().role == Role::Admin;
        if name.needs_admin(self.type_of(cx.agent())) && !by_admin {
            return Err(Error::denied(format!(
                "`{}` applies to the whole household, and only an admin may change it: ask one",
                name.word()
            )));
        }
        if cx.is_in_person() {
            return Ok(self.commit(cx, name, expected, change).await?.0);
        }
        if !cx.try_count("change a document", PER_RUN) {
            return Err(Error::denied(format!(
                "a run may change its own prompt, notes and documents at most {PER_RUN} times, which this one has done: nothing was changed"
            )));
        }
        let done = self.commit(cx, name, expected, change).await;
        if !matches!(&done, Ok((_, true))) {
            cx.uncount("change a document");
        }
        Ok(done?.0)
    }

    /// Returns the document and whether it changed.
    async fn commit(&self, cx: &Cx, name: Name, expected: Option<u32>, change: Change) -> Result<(Document, bool)> {
        let (user, by_admin) = (cx.user(), cx.principal().role == Role::Admin);
        let (scope, scopes, is_personal) =
            (self.own_scope(cx, name), self.scopes(cx, name), self.is_personal(cx, name));
        let by = if cx.is_in_person() { Author::Person } else { Author::Agent };
        let stamp = Stamp {
            scope,
            owner: cx.user(),
            audience: if is_personal { Audience::Private } else { Audience::Household },
            label: change.label,
            source: change.operation.into(),
        };
        let (this, told) = (self.clone(), recipients(cx, is_personal, by));
        let write = move |tx: &Tx| {
            let mut found = None;
            for place in &scopes {
                let entry = this.current.find(tx, *place, BY_NAME, &order::name(name.word()))?.pop();
                found = found.or(entry.map(|entry| (*place, entry)));
            }
            let (old, id) = match found {
                // A personal document begins as a copy of the shared one, which stays as it is.
                Some((place, entry)) => {
                    let (id, label) = (entry.id, label_for(user, &entry, &entry.value.text, entry.value.by_admin));
                    let found = Document { label, ..Document::of(name, entry) };
                    if place == scope { (found, Some(id)) } else { (Document { version: 0, ..found }, None) }
                }
                None => (Document::unwritten(name), None),
            };
            // An own document that was deleted is no record, and its history counts on.
            let last = if id.is_some() { old.version } else { this.last_version(tx, scope, name)? };
            if let Some(expected) = expected
                && expected != old.version
                && !(id.is_none() && expected == last)
            {
                return Ok(Err(old.version));
            }
            let before = if old.text.is_empty() { this.built_in(name).unwrap_or_default() } else { &old.text };
            let text = change.edit.apply_to(before).and_then(|text| checked_text(name, text)).map_err(rejection)?;
            let mut stamp = stamp.clone();
            if change.edit.keeps_old_text() {
                stamp.label = stamp.label.max(old.label);
            }
            // Emptied first steps are done, and hide the shared ones.
            let is_deleted = text.is_empty() && is_personal && name != Name::Bootstrap;
            if is_deleted && id.is_none() {
                return Ok(Ok((old, None)));
            }
            if text == old.text && stamp.label == old.label && (id.is_some() || text.is_empty()) {
                return Ok(Ok((old, None)));
            }
            let version = last + 1;
            let operation = change.operation.to_owned();
            let past = Version { name: name.word().into(), text: text.clone(), version, by, operation, by_admin };
            this.versions.put(tx, Id::new(), &stamp, &past)?;
            let current = Current { name: name.word().into(), text, version, by_admin };
            let kept = this.current.put(tx, id.unwrap_or_else(Id::new), &stamp, &current)?;
            if is_deleted {
                this.current.remove(tx, scope, kept.id)?;
            }
            let notice = |user: &UserId| this.notice(tx, name, version, change.operation, (*user, stamp.owner));
            let notices = told.iter().map(notice).collect::<store::Result<Vec<_>>>()?;
            // After the notices, so that the versions they refer to stay.
            this.prune(tx, scope, name, version, stamp.owner)?;
            Ok(Ok((Document::of(name, kept), Some(notices))))
        };
        match self.current.store().write(write).await? {
            Ok((document, changed)) => {
                let is_changed = changed.is_some();
                if let Some(notices) = changed {
                    for (notice, replaced) in &notices {
                        replaced.iter().for_each(|old| publish_change(cx, old, "deleted"));
                        tell_notice(cx, notice);
                    }
                    let to = Some(cx.user()).filter(|_| is_personal);
                    let data = json!({"name": name.word(), "version": document.version});
                    cx.ports().bus.publish("document:changed", to, data);
                }
                Ok((document, is_changed))
            }
            Err(now) => Err(Error::unavailable(format!(
                "`{}` has changed since you read it and is version {now}: read it again, then repeat your change",
                name.word()
            ))),
        }
    }

    /// Notify a person within the write about a change by the agent. Consecutive unseen changes share one notice,
    /// which refers to the text before the first of them. Returns the notice and the one it replaces.
    fn notice(
        &self,
        tx: &Tx,
        name: Name,
        version: u32,
        operation: &str,
        (user, owner): (UserId, UserId),
    ) -> store::Result<(Entry<Notice>, Option<Entry<Notice>>)> {
        let mut unseen = Notice::unseen_changes(tx, &self.notices, user, name.word())?;
        let before = unseen.iter().position(|old| old.value.version + 1 == version).map(|at| unseen.swap_remove(at));
        if let Some(old) = &before {
            self.notices.remove(tx, Scope::User(user), old.id)?;
        }
        let earlier = before.as_ref().map_or(0, |old| old.value.earlier + 1);
        let (title, text) = (format!("Hob changed “{}”", name.title()), notice_text(operation, earlier, user == owner));
        let document = name.word().into();
        let notice = Notice { title: Some(title), text, document, version, earlier, ..Notice::default() };
        Ok((notice.put(tx, &self.notices, user, "document")?, before))
    }

    /// Within a write: the number of the newest stored version; 0 without one.
    fn last_version(&self, tx: &Tx, scope: Scope, name: Name) -> store::Result<u32> {
        let walk = Walk::prefix(BY_VERSION, order::name(name.word())).down();
        let mut last = 0;
        self.versions.walk_in(scope, &walk, |entry| {
            last = entry.value.version;
            Visit::Stop
        })?;
        // Those of this commit are not walked yet.
        while !self.versions.find(tx, scope, BY_VERSION, &versioned(name.word(), last + 1))?.is_empty() {
            last += 1;
        }
        Ok(last)
    }

    /// Remove the oldest versions beyond the limit within the write of `newest`. The last version by a person stays,
    /// and so do versions that unseen notices refer to.
    fn prune(&self, tx: &Tx, scope: Scope, name: Name, newest: u32, user: UserId) -> store::Result<()> {
        if newest <= VERSIONS {
            return Ok(());
        }
        let (mut older, mut by_person) = (vec![], None);
        // Collect version numbers only.
        self.versions.walk_in(scope, &Walk::prefix(BY_VERSION, order::name(name.word())).down(), |entry| {
            let Version { version, by, .. } = &entry.value;
            older.push((*version, entry.id));
            by_person = by_person.or((*by == Author::Person).then_some(*version));
            Visit::No
        })?;
        let mut keep: Vec<u32> = by_person.into_iter().collect();
        for user in [user, UserId::OWNER] {
            let unseen = Notice::unseen_changes(tx, &self.notices, user, name.word())?;
            keep.extend(unseen.iter().filter_map(|notice| Some(notice.value.document_change()?.before)));
        }
        let excess = (older.len() + 1).saturating_sub(VERSIONS as usize);
        let gone = older.iter().rev().filter(|(version, _)| !keep.contains(version)).take(excess);
        gone.map(|(_, id)| *id).try_for_each(|id| self.versions.remove(tx, scope, id).map(drop))
    }

    /// Count the versions of a document and list `limit` of them from `offset`, newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn history(&self, cx: &Cx, name: Name, limit: usize, offset: usize) -> Result<(usize, Vec<PastHead>)> {
        let (mut count, mut heads) = (0, vec![]);
        let walk = Walk::prefix(BY_VERSION, order::name(name.word())).down();
        self.versions.walk_in(self.own_scope(cx, name), &walk, |entry| {
            if count >= offset && heads.len() < limit {
                heads.push(head(entry));
            }
            count += 1;
            Visit::No
        })?;
        Ok((count, heads))
    }

    /// Read one version. A text from outside taints the run.
    ///
    /// # Errors
    /// `NotFound` when it is not stored.
    pub fn version(&self, cx: &Cx, name: Name, version: u32) -> Result<Past> {
        let entry = self.entry(cx, name, version)?;
        cx.taint(label_for(cx.user(), &entry, &entry.value.text, entry.value.by_admin));
        Ok(Past { head: head(&entry), text: entry.value.text })
    }

    fn entry(&self, cx: &Cx, name: Name, version: u32) -> Result<Entry<Version>> {
        let walk = Walk::prefix(BY_VERSION, versioned(name.word(), version));
        let found = self.versions.walk_in(self.own_scope(cx, name), &walk, |_| Visit::Yes)?.pop();
        found.ok_or_else(|| {
            Error::not_found(format!(
                "there is no version {version} of `{}`: its history lists the stored ones, {VERSIONS} at most",
                name.word()
            ))
        })
    }

    /// The scope where this caller's document is written.
    fn own_scope(&self, cx: &Cx, name: Name) -> Scope {
        if self.is_personal(cx, name) { Scope::AgentUser(cx.agent(), cx.user()) } else { Scope::Agent(cx.agent()) }
    }

    /// The scopes to read from, in order.
    fn scopes(&self, cx: &Cx, name: Name) -> Vec<Scope> {
        let everybodys = Scope::Agent(cx.agent());
        if self.is_personal(cx, name) { vec![self.own_scope(cx, name), everybodys] } else { vec![everybodys] }
    }
}

/// The label for this reader: another member's text is that member's words, unless an admin wrote it.
fn label_for<T>(reader: UserId, entry: &Entry<T>, text: &str, by_admin: bool) -> Label {
    match text.is_empty() || by_admin || entry.owner == reader || entry.owner == UserId::OWNER {
        true => entry.label,
        false => entry.label.max(Label::Member(entry.owner)),
    }
}

/// A pending change.
#[derive(Clone)]
struct Change {
    operation: &'static str,
    /// The label of the new text.
    label: Label,
    edit: Edit,
}

/// The recipients of a notice about a change by the agent: the person it acted for, and the owner for shared
/// documents.
fn recipients(cx: &Cx, is_personal: bool, by: Author) -> Vec<UserId> {
    match by {
        Author::Person => vec![],
        Author::Agent if is_personal || cx.user() == UserId::OWNER => vec![cx.user()],
        Author::Agent => vec![cx.user(), UserId::OWNER],
    }
}

/// The text of a notice.
fn notice_text(operation: &str, earlier: u32, own: bool) -> String {
    let what = match operation {
        _ if earlier > 0 => &format!("It changed this document {} times", earlier + 1),
        "append" | "prepend" => "It added something to this document",
        "delete" => "It removed something from this document",
        "find_replace" => "It changed a passage of this document",
        _ => "It rewrote this document",
    };
    let whose = if own { "" } else { ", in another person's conversation" };
    format!("{what}{whose}. The history shows the earlier text, and you can undo the change.")
}

fn head(entry: &Entry<Version>) -> PastHead {
    let Version { text, version, by, operation, .. } = &entry.value;
    let (length, operation) = (text.chars().count(), operation.clone());
    PastHead { version: *version, at: entry.updated_ms, by: *by, user: entry.owner, operation, length }
}

/// Check the length of a text; white space alone counts as empty.
fn checked_text(name: Name, text: String) -> Result<String, String> {
    if text.len() > LONGEST {
        let kb = LONGEST / 1024;
        let length = text.len().div_ceil(1024);
        return Err(format!("`{}` would have {length} KB, and the maximum is {kb} KB: shorten it", name.word()));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(format!("the text contains a control character ({:#x}): remove it", u32::from(c)));
    }
    Ok(if text.trim().is_empty() { String::new() } else { text })
}

/// A rejection inside a write; it reaches the caller as `BadArgs`.
fn rejection(text: String) -> store::Error {
    store::Error::Conflict(text)
}

#[cfg(test)]
mod tests;
