//! The journal of changes: what each changing call of a person created, changed and deleted, with the records as they were
//! before, so that it can be undone. A [`Change`] is stored in the commit of the change itself: both are on disk or neither.
//!
//! Only records of types with [`Record::UNDO`] are journaled, and only under [`with_change`]. Several commits of one call make
//! one change: each leaves a [`Segment`], the first of them under the id of the change.

mod read;
#[cfg(test)]
mod tests;
mod undo;

pub use crate::part::{Did, Part};
pub use read::{BinItem, Change};
pub use undo::PutBack;

use crate::{
    Audience, Key, Level, Record, Result, Stamp, Tx,
    entry::Entry,
    kind::{Erased, Kind},
    part::Noted,
    record::Tails,
    rows,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tool::{Id, Label, Scope, UserId};

/// The most bytes of records that one commit of a change stores; a larger one cannot be undone.
const LARGEST: usize = 256 * 1024;
/// The most characters of a title in a change.
const TITLE: usize = 80;
/// Index of segments that deleted a record.
pub(crate) const DELETED: u8 = 1;

/// The call that a change belongs to.
#[derive(Debug, Clone)]
pub struct ChangeSource {
    /// The id of the change: that of the outermost changing call.
    pub id: Id,
    /// The person it was made for.
    pub user: UserId,
    /// The outermost changing tool.
    pub tool: Arc<str>,
    /// The conversation it was made in.
    pub conversation: Option<Id>,
    /// The run it was part of.
    pub run: Option<Id>,
    /// Whether a schedule or a trigger made it.
    pub unattended: bool,
    /// The change that this one undoes.
    pub undoes: Option<Id>,
}

/// Whether the writes of a task are journaled.
#[derive(Clone)]
pub(crate) enum Journaling {
    As(ChangeSource),
    Off,
}

tokio::task_local! {
    static CURRENT: Option<Journaling>;
}

/// Runs `work` with its writes journaled as the change of `source`; within another change they belong to that one. Tasks that
/// it spawns are not included: wrap them with [`inherit_effect`](crate::inherit_effect).
pub async fn with_change<F: Future>(source: Option<ChangeSource>, work: F) -> F::Output {
    let outer = current();
    CURRENT.scope(outer.or(source.map(Journaling::As)), work).await
}

/// Runs `work` without journaling its writes: for what cannot be undone, or must leave no copy behind.
pub async fn without_change<F: Future>(work: F) -> F::Output {
    CURRENT.scope(Some(Journaling::Off), work).await
}

/// Runs `work` with its writes journaled as an undo of the change `undone`.
pub async fn as_undo_of<F: Future>(undone: Id, work: F) -> F::Output {
    let mut now = current();
    if let Some(Journaling::As(source)) = &mut now {
        source.undoes = Some(undone);
    }
    CURRENT.scope(now, work).await
}

/// Wraps work to be spawned, so that its writes belong to the current change.
pub(crate) fn inherit<F: Future>(work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(current(), work)
}

fn current() -> Option<Journaling> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// The change that a write made here belongs to.
pub(crate) fn source() -> Option<ChangeSource> {
    match current()? {
        Journaling::As(source) => Some(source),
        Journaling::Off => None,
    }
}

/// The parts of one commit. New fields go last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Segment {
    /// The change: the id of its first segment.
    pub change: Id,
    pub conversation: Option<Id>,
    pub run: Option<Id>,
    pub unattended: bool,
    pub undoes: Option<Id>,
    /// Whether it was undone; its records are dropped then.
    pub undone: bool,
    /// Whether its records were too large to be stored.
    pub too_large: bool,
    pub parts: Vec<Part>,
}

impl Record for Segment {
    const NAME: &'static str = "changes";
    const WORD: &'static str = "change";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let deleted = self.parts.iter().any(|part| part.did() == Did::Deleted);
        deleted.then(|| Key::many(DELETED, [])).into_iter().collect()
    }
}

/// A record as a change left or found it.
struct RecordState {
    digest: Vec<u8>,
    title: String,
    list: String,
    shared: bool,
    label: Label,
}

impl RecordState {
    fn of(kind: &Kind, value: &Erased, audience: Audience, label: Label) -> Result<Self> {
        let Some(undo) = &kind.undo else { return Err(crate::kind::mixed_up()) };
        let short = |text: String| text_kit::truncate(&text, TITLE);
        let (title, list) = (short((undo.title)(&**value)), short((undo.on_list)(&**value)));
        let digest = digest(kind, &**value, audience)?;
        Ok(Self { digest, title, list, shared: audience == Audience::Household, label })
    }
}

/// A digest of what a person can change of a record.
fn digest(kind: &Kind, value: &(dyn std::any::Any + Send + Sync), audience: Audience) -> Result<Vec<u8>> {
    let Some(undo) = &kind.undo else { return Err(crate::kind::mixed_up()) };
    let settled = (undo.settled)(value)?;
    let bytes = (kind.encode)(&*settled, vec![u8::from(audience == Audience::Household)])?;
    Ok(blake3::hash(&bytes).as_bytes()[..8].to_vec())
}

/// At the end of a job: stores what it changed, if anything.
pub(crate) fn store(tx: &Tx, source: &ChangeSource) -> Result<()> {
    let (mut parts, mut label) = (vec![], Label::Own);
    let (noted, outside) = tx.take_journal();
    for noted in noted {
        if let Some((part, of)) = part(tx, noted)? {
            label = label.max(of);
            parts.push(part);
        }
    }
    parts.extend(outside);
    if parts.is_empty() {
        return Ok(());
    }
    let size: usize = parts.iter().filter_map(|part| part.before.as_ref()).map(Vec::len).sum();
    let too_large = size > LARGEST;
    if too_large {
        parts.truncate(1);
        parts.iter_mut().for_each(|part| part.before = None);
    }
    let first = rows::read(Kind::of::<Segment>(), tx, Scope::User(source.user), source.id)?.is_none();
    let segment = Segment {
        change: source.id,
        conversation: source.conversation,
        run: source.run,
        unattended: source.unattended,
        undoes: source.undoes,
        undone: false,
        too_large,
        parts,
    };
    let id = if first { source.id } else { Id::new() };
    put(tx, source.user, id, &segment, label, &source.tool)
}

fn put(tx: &Tx, user: UserId, id: Id, segment: &Segment, label: Label, tool: &str) -> Result<()> {
    let stamp =
        Stamp { scope: Scope::User(user), owner: user, audience: Audience::Private, label, source: tool.to_owned() };
    rows::put(Kind::of::<Segment>(), tx, id, &stamp, segment, Tails::default()).map(drop)
}

/// The part of a change for one record; `None` where a person sees no difference, or the record before cannot be read.
fn part(tx: &Tx, noted: Noted) -> Result<Option<(Part, Label)>> {
    let Noted { kind, key, before } = noted;
    let look = |bytes: &[u8]| -> Result<Option<RecordState>> {
        let Some(found) = rows::readable(rows::entry(kind, &key, bytes))? else { return Ok(None) };
        let Entry { audience, label, .. } = found;
        RecordState::of(kind, &found.value, audience, label).map(Some)
    };
    let old = match &before {
        Some(bytes) => match look(bytes)? {
            Some(old) => Some(old),
            None => return Ok(None),
        },
        None => None,
    };
    let new = tx.get_raw(kind.name, &key)?.map(|bytes| look(&bytes)).transpose()?.flatten();
    let same = match (&old, &new) {
        (Some(old), Some(new)) => old.digest == new.digest,
        (None, None) => true,
        _ => false,
    };
    if same {
        return Ok(None);
    }
    let label = [&old, &new].into_iter().flatten().map(|of| of.label).fold(Default::default(), tool::Label::max);
    let (after, gone) = (new.as_ref().map(|new| new.digest.clone()).unwrap_or_default(), new.is_none());
    let Some(shown) = (if gone { old } else { new }) else { return Ok(None) };
    let RecordState { title, list, shared, .. } = shown;
    Ok(Some((Part { table: kind.name.into(), key, before, after, title, list, shared }, label)))
}
