//! The documents as they are kept: the text of today, and every text there was.

use crate::{Edit, Name, prompt::BASE};
use records::{Notice, publish_change, tell_notice};
use serde::Serialize;
use std::sync::Arc;
use store::{Audience, Coded, Collection, Entry, Key, Level, Record, Stamp, Store, Tx, Visit, Walk};
use tool::{Cx, Error, Id, Label, Result, Role, Scope, UserId, prelude::*};

/// The longest text, in bytes.
const LONGEST: usize = 64 * 1024;
/// How many versions of a document are kept.
const VERSIONS: u32 = 200;
/// How many changes of documents one run may make.
const PER_RUN: u32 = 5;

/// Current texts, by name.
const BY_NAME: u8 = 1;
/// Texts there were, by name and version.
const BY_VERSION: u8 = 1;

/// The text of today. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Current {
    name: String,
    text: String,
    /// 1 for the first text that was written.
    version: u32,
    /// Whether an admin wrote it, or a run of theirs.
    by_admin: bool,
}

impl Record for Current {
    const NAME: &'static str = "documents";
    const WORD: &'static str = "document";
    /// Those of one person have a scope of their own; it is always said which is meant.
    const LEVEL: Level = Level::Agent;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_NAME, ended(&self.name))]
    }
}

/// Who wrote a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Author {
    /// A person, with their own hand.
    Person,
    /// The agent, in a run; or a program's tool.
    Agent,
}

impl Coded for Author {
    const ALL: &'static [Self] = &[Author::Person, Author::Agent];
    const UNKNOWN: Self = Author::Agent;
}

/// A text there was, the one of today among them. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Version {
    name: String,
    text: String,
    version: u32,
    #[serde(with = "store::coded")]
    by: Author,
    operation: String,
    /// Whether an admin wrote it, or a run of theirs.
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

/// A name as it lies in the index: ended, so that none is the beginning of another.
fn ended(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

fn versioned(name: &str, version: u32) -> Vec<u8> {
    [&ended(name)[..], &version.to_be_bytes()].concat()
}

/// A document as it is today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Which.
    pub name: Name,
    /// Its text; empty where nobody has written one.
    pub text: String,
    /// Counts up from 1; 0 where nobody has written one.
    pub version: u32,
    /// When it was written: milliseconds since 1970.
    pub updated_ms: Option<u64>,
    /// Where it came from. What is from outside taints whoever is told it.
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

/// What is known of a version besides its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PastHead {
    /// Its number.
    pub version: u32,
    /// When it was written: milliseconds since 1970.
    pub at: u64,
    /// Who wrote it.
    pub by: Author,
    /// The person who did, or in whose name the agent did.
    #[serde(rename = "userId")]
    pub user: UserId,
    /// `replace`, `find_replace`, `append`, `prepend`, `delete` or `rollback`.
    pub operation: String,
    /// How long it is, in characters.
    pub length: usize,
}

/// A version with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Past {
    /// What is known of it.
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
    base: Arc<str>,
}

impl Documents {
    /// The documents in `store`.
    pub fn new(store: &Store) -> Self {
        let (current, versions, notices) = (store.collection(), store.collection(), store.collection());
        Self { current, versions, notices, base: BASE.into() }
    }

    /// With another text in the place of a system prompt that nobody has written; Hob's own when it is empty.
    pub fn with_base(mut self, text: &str) -> Self {
        self.base = if text.trim().is_empty() { BASE.into() } else { text.into() };
        self
    }

    /// What stands in the place of a document that nobody has written, or that was emptied.
    pub fn built_in(&self, name: Name) -> Option<&str> {
        (name == Name::SystemPrompt).then_some(&*self.base)
    }

    /// A document as this caller is told it: their own where they have one. One from outside taints the run.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn read(&self, cx: &Cx, name: Name) -> Result<Document> {
        let found = self.peek(cx, name)?;
        cx.taint(found.label);
        Ok(found)
    }

    /// The same without tainting, for a caller that tells no more of it than its length.
    ///
    /// # Errors
    /// As [`Documents::read`].
    pub fn peek(&self, cx: &Cx, name: Name) -> Result<Document> {
        let walk = Walk::prefix(BY_NAME, ended(name.word()));
        for scope in scopes(cx, name) {
            // Which scope is meant is checked: it is the caller's own, or everybody's.
            if let Some(entry) = self.current.walk_in(scope, &walk, |_| Visit::Yes)?.pop() {
                let label = label_for(cx.user(), &entry, &entry.value.text, entry.value.by_admin);
                let found = Document { label, ..Document::of(name, entry) };
                // What is there for everybody is no version of their own.
                return Ok(if scope == own_scope(cx, name) { found } else { Document { version: 0, ..found } });
            }
        }
        Ok(Document::unwritten(name))
    }

    /// The text of a document, or what stands in its place; empty where there is neither.
    ///
    /// # Errors
    /// As [`Documents::read`].
    pub fn text(&self, cx: &Cx, name: Name) -> Result<String> {
        Ok(self.or_built_in(name, self.read(cx, name)?.text))
    }

    pub(crate) fn or_built_in(&self, name: Name, text: String) -> String {
        if text.is_empty() { self.built_in(name).unwrap_or_default().to_owned() } else { text }
    }

    /// Puts another text in the place of a document; an empty one takes it away. With `expected`, only when that is the
    /// version there is.
    ///
    /// # Errors
    /// `Denied` when only an admin may change it; `BadArgs` when it is too long; `Unavailable` when another version is
    /// there, or the disk is full.
    pub async fn write(&self, cx: &Cx, name: Name, text: &str, expected: Option<u32>) -> Result<Document> {
        let edit = Edit::Replace(text.to_owned());
        self.change(cx, name, expected, Change { operation: edit.operation(), label: cx.label(), edit }).await
    }

    /// Changes a document; where nobody has written it, what stands in its place.
    ///
    /// # Errors
    /// `BadArgs` when the piece is not there, or it grows too long; as [`Documents::write`].
    pub async fn edit(&self, cx: &Cx, name: Name, edit: Edit) -> Result<Document> {
        if edit.keeps() {
            // Errors show a piece of it, and what is left of it stays what it is.
            self.read(cx, name)?;
        }
        self.change(cx, name, None, Change { operation: edit.operation(), label: cx.label(), edit }).await
    }

    /// A new version with the text of an old one, and with its label: whoever goes back has not looked at it. Version 0 is
    /// what was there before anybody wrote one. With `expected`, only when that is the version there is.
    ///
    /// # Errors
    /// `NotFound` when that version is not kept; as [`Documents::write`].
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

    /// Makes a change, if this run has not made too many.
    async fn change(&self, cx: &Cx, name: Name, expected: Option<u32>, change: Change) -> Result<Document> {
        let by_admin = cx.principal().role == Role::Admin;
        if name.needs_admin() && !by_admin {
            return Err(Error::denied(format!(
                "`{}` holds for the whole household, and only an admin changes it: ask one",
                name.word()
            )));
        }
        if cx.is_in_person() {
            return Ok(self.commit(cx, name, expected, change).await?.0);
        }
        if !cx.try_count("change a document", PER_RUN) {
            return Err(Error::denied(format!(
                "a run changes its own prompt, notes and documents at most {PER_RUN} times, and this one has: nothing was changed"
            )));
        }
        let done = self.commit(cx, name, expected, change).await;
        if !matches!(&done, Ok((_, true))) {
            cx.uncount("change a document");
        }
        Ok(done?.0)
    }

    /// Answers the document, and whether it was changed.
    async fn commit(&self, cx: &Cx, name: Name, expected: Option<u32>, change: Change) -> Result<(Document, bool)> {
        let (user, by_admin) = (cx.user(), cx.principal().role == Role::Admin);
        let scope = own_scope(cx, name);
        let scopes = scopes(cx, name);
        let by = if cx.is_in_person() { Author::Person } else { Author::Agent };
        let stamp = Stamp {
            scope,
            owner: cx.user(),
            audience: if name.is_personal() { Audience::Private } else { Audience::Household },
            label: change.label,
            source: change.operation.into(),
        };
        let (this, told) = (self.clone(), to_be_told(cx, name, by));
        let write = move |tx: &Tx| {
            let mut found = None;
            for place in &scopes {
                let entry = this.current.find(tx, *place, BY_NAME, &ended(name.word()))?.pop();
                found = found.or(entry.map(|entry| (*place, entry)));
            }
            let (old, id) = match found {
                // What is there for everybody is where a person's own begins, and stays as it is.
                Some((place, entry)) => {
                    let (id, label) = (entry.id, label_for(user, &entry, &entry.value.text, entry.value.by_admin));
                    let found = Document { label, ..Document::of(name, entry) };
                    if place == scope { (found, Some(id)) } else { (Document { version: 0, ..found }, None) }
                }
                None => (Document::unwritten(name), None),
            };
            if let Some(expected) = expected
                && expected != old.version
            {
                return Ok(Err(old.version));
            }
            let before = if old.text.is_empty() { this.built_in(name).unwrap_or_default() } else { &old.text };
            let text = change.edit.made_to(before).and_then(|text| checked(name, text)).map_err(refusal)?;
            let mut stamp = stamp.clone();
            if change.edit.keeps() {
                stamp.label = stamp.label.max(old.label);
            }
            if text == old.text && stamp.label == old.label && (id.is_some() || text.is_empty()) {
                return Ok(Ok((old, None)));
            }
            let version = old.version + 1;
            let operation = change.operation.to_owned();
            let past = Version { name: name.word().into(), text: text.clone(), version, by, operation, by_admin };
            this.versions.put(tx, Id::new(), &stamp, &past)?;
            let current = Current { name: name.word().into(), text, version, by_admin };
            let kept = this.current.put(tx, id.unwrap_or_else(Id::new), &stamp, &current)?;
            let notice = |user: &UserId| this.notice(tx, name, version, change.operation, (*user, stamp.owner));
            let notices = told.iter().map(notice).collect::<store::Result<Vec<_>>>()?;
            // After the notices: the versions they lead back to stay.
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
                    let to = Some(cx.user()).filter(|_| name.is_personal());
                    let data = json!({"name": name.word(), "version": document.version});
                    cx.ports().bus.publish("document:changed", to, data);
                }
                Ok((document, is_changed))
            }
            Err(now) => Err(Error::unavailable(format!(
                "`{}` was changed meanwhile, it is version {now}: read it again, and make your change in that",
                name.word()
            ))),
        }
    }

    /// Within a write: tells a person of a change that the agent made. Changes in a row that they have not seen share one
    /// notice, which leads back to the text before the first of them; answers it, and the one it takes the place of.
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
        let (title, text) = (format!("Hob changed “{}”", name.title()), noticed(operation, earlier, user == owner));
        let document = name.word().into();
        let notice = Notice { title: Some(title), text, document, version, earlier, ..Notice::default() };
        Ok((notice.put(tx, &self.notices, user, "document")?, before))
    }

    /// Within the write of the version `newest`: removes the oldest versions where there are too many. The last one that a
    /// person wrote stays, and those that an unseen notice leads back to.
    fn prune(&self, tx: &Tx, scope: Scope, name: Name, newest: u32, user: UserId) -> store::Result<()> {
        if newest <= VERSIONS {
            return Ok(());
        }
        let (mut older, mut by_person) = (vec![], None);
        // The versions before this write, of which only numbers are kept in mind.
        self.versions.walk_in(scope, &Walk::prefix(BY_VERSION, ended(name.word())).down(), |entry| {
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

    /// How many versions of a document are kept, and `limit` of them from the `offset`th on, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn history(&self, cx: &Cx, name: Name, limit: usize, offset: usize) -> Result<(usize, Vec<PastHead>)> {
        let (mut count, mut heads) = (0, vec![]);
        let walk = Walk::prefix(BY_VERSION, ended(name.word())).down();
        self.versions.walk_in(own_scope(cx, name), &walk, |entry| {
            if count >= offset && heads.len() < limit {
                heads.push(head(entry));
            }
            count += 1;
            Visit::No
        })?;
        Ok((count, heads))
    }

    /// One version with its text. One from outside taints the run.
    ///
    /// # Errors
    /// `NotFound` when it is not kept.
    pub fn version(&self, cx: &Cx, name: Name, version: u32) -> Result<Past> {
        let entry = self.entry(cx, name, version)?;
        cx.taint(label_for(cx.user(), &entry, &entry.value.text, entry.value.by_admin));
        Ok(Past { head: head(&entry), text: entry.value.text })
    }

    fn entry(&self, cx: &Cx, name: Name, version: u32) -> Result<Entry<Version>> {
        let walk = Walk::prefix(BY_VERSION, versioned(name.word(), version));
        let found = self.versions.walk_in(own_scope(cx, name), &walk, |_| Visit::Yes)?.pop();
        found.ok_or_else(|| {
            Error::not_found(format!(
                "there is no version {version} of `{}`: its history tells which are kept, the last {VERSIONS} at most",
                name.word()
            ))
        })
    }
}

/// The label of a text as this person reads it: another's words are from outside for them, unless an admin wrote them.
fn label_for<T>(reader: UserId, entry: &Entry<T>, text: &str, by_admin: bool) -> Label {
    match text.is_empty() || by_admin || entry.owner == reader || entry.owner == UserId::OWNER {
        true => entry.label,
        false => Label::Outside,
    }
}

/// A change that is about to be made.
#[derive(Clone)]
struct Change {
    operation: &'static str,
    /// Of what is new in it.
    label: Label,
    edit: Edit,
}

/// Who is told of a change that a person did not make with their own hand: whoever it was made for, and of what is everybody's
/// the owner too.
fn to_be_told(cx: &Cx, name: Name, by: Author) -> Vec<UserId> {
    match by {
        Author::Person => vec![],
        Author::Agent if name.is_personal() || cx.user() == UserId::OWNER => vec![cx.user()],
        Author::Agent => vec![cx.user(), UserId::OWNER],
    }
}

/// What a person is told of a change.
fn noticed(operation: &str, earlier: u32, own: bool) -> String {
    let what = match operation {
        _ if earlier > 0 => &format!("It changed this document {} times", earlier + 1),
        "append" | "prepend" => "It added something to this document",
        "delete" => "It took something out of this document",
        "find_replace" => "It changed a passage of this document",
        _ => "It wrote this document anew",
    };
    let whose = if own { "" } else { ", in a conversation with somebody else" };
    format!("{what}{whose}. The history shows what it was before, and you can undo it.")
}

/// Where this caller's document is written.
fn own_scope(cx: &Cx, name: Name) -> Scope {
    if name.is_personal() { Scope::AgentUser(cx.agent(), cx.user()) } else { Scope::Agent(cx.agent()) }
}

/// Where it is looked for, the first first.
fn scopes(cx: &Cx, name: Name) -> Vec<Scope> {
    let everybodys = Scope::Agent(cx.agent());
    if name.is_personal() { vec![own_scope(cx, name), everybodys] } else { vec![everybodys] }
}

fn head(entry: &Entry<Version>) -> PastHead {
    let Version { text, version, by, operation, .. } = &entry.value;
    let (length, operation) = (text.chars().count(), operation.clone());
    PastHead { version: *version, at: entry.updated_ms, by: *by, user: entry.owner, operation, length }
}

/// A text that can be kept; one of spaces alone is none.
fn checked(name: Name, text: String) -> Result<String, String> {
    if text.len() > LONGEST {
        let kb = LONGEST / 1024;
        let length = text.len().div_ceil(1024);
        return Err(format!("`{}` would be {length} KB long, and {kb} KB is the most: make it shorter", name.word()));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(format!("there is a control character ({:#x}) in the text: take it out", u32::from(c)));
    }
    Ok(if text.trim().is_empty() { String::new() } else { text })
}

/// Why a change within a write cannot be: it reaches the caller as `BadArgs`.
fn refusal(text: String) -> store::Error {
    store::Error::Conflict(text)
}

#[cfg(test)]
mod tests;
