//! Stores what a person says as a fact: once, and in place of the fact that it replaces.

use crate::{
    Memories, checked_text,
    holder::{Changed, unless_damaged},
    records::{Change, New, Stored, Vector},
    same::{Relation, relation},
    view::{Learned, Memory, Outcome},
};
use embed::Quantized;
use store::{Entry, Stamp, Tx};
use tool::{Cx, Error, Id, Label, Result, Scope, UserId};

/// How many memories a new one is compared with.
const COMPARED: usize = 16;
/// How many near memories are shown where nothing was merged, and how near they are.
const SIMILAR: usize = 3;
const NEAR: f32 = 0.7;

/// The effect of a new memory on the stored ones.
#[derive(Clone)]
enum Step {
    Add {
        id: Id,
        stamp: Box<Stamp>,
        stored: Stored,
        similar: Vec<Memory>,
    },
    /// Another item of the same call says the same.
    Repeats(usize),
    Known {
        id: Id,
    },
    Change {
        id: Id,
        from: String,
        change: Change,
        replaces: bool,
    },
}

impl Memories {
    /// Stores memories in one commit, all or none, but none twice: a fact that is known is reworded at most, and a fact that
    /// contradicts an older one takes its place. The older text stays in the history of the memory. A run that read from
    /// outside only adds.
    ///
    /// # Errors
    /// As [`Memories::remember`].
    pub async fn learn(&self, cx: &Cx, all: Vec<New>) -> Result<Vec<Learned>> {
        let texts = all.iter().map(|new| checked_text(&new.content)).collect::<Result<Vec<_>>>()?;
        let mut steps: Vec<(Step, Option<Vector>)> = vec![];
        for (at, (new, text)) in all.into_iter().zip(&texts).enumerate() {
            let earlier = texts.get(..at).unwrap_or_default();
            if let Some(first) = earlier.iter().position(|old| relation(old, text) == Relation::Same) {
                steps.push((Step::Repeats(first), None));
                continue;
            }
            let meaning = self.embed(text).await;
            let step = self.step(cx, new, text, meaning.as_ref()).await?;
            steps.push((step, meaning.as_ref().map(|vector| self.vector_of(vector))));
        }
        let owner = cx.user();
        let changed = steps.iter().filter_map(|(step, _)| match step {
            Step::Add { id, .. } | Step::Change { id, .. } => Some(Changed { owner, id: *id, content: true }),
            Step::Known { .. } | Step::Repeats(_) => None,
        });
        let (this, label, changed) = (self.clone(), cx.label(), changed.collect::<Vec<_>>());
        let shown: Vec<Step> = steps.iter().map(|(step, _)| step.clone()).collect();
        let job = move |tx: &Tx| {
            let written = steps.iter().map(|(step, vector)| this.take(tx, (owner, label), step, vector.as_ref()));
            written.collect::<store::Result<Vec<_>>>()
        };
        let written = match changed.is_empty() {
            // Nothing new is no write.
            true => shown.iter().map(|_| Ok(None)).collect::<Result<Vec<_>>>()?,
            false => self.write(changed, job).await?,
        };
        let mut learned: Vec<Learned> = vec![];
        for (step, entry) in shown.into_iter().zip(written) {
            let one = match (step, entry) {
                (Step::Repeats(first), _) => {
                    let first = learned.get(first).ok_or_else(|| Error::failed("a repeated memory is missing"))?;
                    Learned { outcome: Outcome::Known, before: None, similar: vec![], ..first.clone() }
                }
                (Step::Known { id }, _) => {
                    let entry = self.records.get_in(Scope::User(owner), id)?;
                    let entry = entry.ok_or_else(|| Error::unavailable("it was forgotten meanwhile: try again"))?;
                    self.uses.count(owner, std::iter::once(id), Id::now_ms());
                    Learned::new(self.own_view(entry), Outcome::Known)
                }
                (Step::Change { from, replaces, .. }, Some(entry)) => {
                    let outcome = if replaces { Outcome::Replaced } else { Outcome::Known };
                    let before = (from != entry.value.content).then_some(from);
                    Learned { before, ..Learned::new(self.own_view(entry), outcome) }
                }
                (Step::Add { similar, .. }, Some(entry)) => {
                    Learned { similar, ..Learned::new(self.own_view(entry), Outcome::Added) }
                }
                _ => return Err(Error::unavailable("the memory changed meanwhile: try again")),
            };
            learned.push(one);
        }
        Ok(learned)
    }

    /// Compares one new memory with the stored ones of its owner.
    async fn step(&self, cx: &Cx, new: New, text: &str, meaning: Option<&Quantized>) -> Result<Step> {
        let (user, query, meaning) = (cx.user(), text.to_owned(), meaning.cloned());
        let search = move |index: &mut crate::Index, fetch: crate::Fetch| {
            let mut found = index.search(user, &query, meaning.as_ref(), fetch);
            found.truncate(COMPARED);
            found
        };
        let (mut same, mut updates, mut similar) = (None, vec![], vec![]);
        for hit in self.index.with(search).await? {
            // Only what this person vouches for is compared: what came from outside stays apart from their own words.
            let entry = unless_damaged(self.records.get_in(Scope::User(user), hit.id))?;
            let Some(entry) = entry.filter(|entry| entry.label == Label::Own) else { continue };
            match relation(&entry.value.content, text) {
                Relation::Same if same.is_none() => same = Some(entry),
                Relation::Same => {}
                Relation::Update => updates.push(entry),
                Relation::Different if hit.cosine >= NEAR && similar.len() < SIMILAR => {
                    similar.push(self.own_view(entry))
                }
                Relation::Different => {}
            }
        }
        let clean = cx.label() == Label::Own;
        if let Some(entry) = same {
            let step = reworded(&entry, &new, text).filter(|_| clean);
            return Ok(step.unwrap_or(Step::Known { id: entry.id }));
        }
        // If two memories could be meant, both stay, and the caller sees them.
        if let ([entry], true) = (updates.as_slice(), clean) {
            let mut change = raised(entry, &new).unwrap_or_default();
            change.content = Some(text.to_owned());
            return Ok(Step::Change { id: entry.id, from: entry.value.content.clone(), change, replaces: true });
        }
        similar.splice(0..0, updates.into_iter().map(|entry| self.own_view(entry)));
        similar.truncate(SIMILAR);
        let stamp = Box::new(self.records.stamp(cx, "remember").audience(crate::audience(new.shared)));
        let importance = new.importance.clamp(0.0, 1.0);
        let stored =
            Stored { content: text.to_owned(), kind: new.kind, importance, tags: new.tags, ..Stored::default() };
        Ok(Step::Add { id: Id::new(), stamp, stored, similar })
    }

    /// Within the write.
    fn take(
        &self,
        tx: &Tx,
        (owner, label): (UserId, Label),
        step: &Step,
        vector: Option<&Vector>,
    ) -> store::Result<Option<Entry<Stored>>> {
        match step {
            Step::Known { .. } | Step::Repeats(_) => Ok(None),
            Step::Add { id, stamp, stored, .. } => {
                vector.map(|vector| self.vectors.put(tx, *id, stamp, vector)).transpose()?;
                self.index.journal.mark(tx, owner, *id)?;
                self.records.put(tx, *id, stamp, stored).map(Some)
            }
            Step::Change { id, from, change, .. } => {
                let now = self.records.read(tx, Scope::User(owner), *id)?;
                // Somebody changed it between the comparison and this write: then nothing is merged.
                if now.is_none_or(|now| now.value.content != *from) {
                    let text = "the memory that this is about was changed just now: try again";
                    return Err(store::Error::Conflict(text.to_owned()));
                }
                let vector = vector.filter(|_| change.content.is_some());
                self.change(tx, (owner, *id), label, change, vector)
            }
        }
    }
}

/// The change that takes over another wording, tags and importance of the same fact; `None` where nothing is new.
fn reworded(old: &Entry<Stored>, new: &New, text: &str) -> Option<Step> {
    let plain = |text: &str| text.trim_end_matches(['.', '!', ' ']).to_lowercase();
    let content = (plain(&old.value.content) != plain(text)).then(|| text.to_owned());
    let mut change = raised(old, new).unwrap_or_default();
    change.content = content;
    let from = old.value.content.clone();
    (change != Change::default()).then(|| Step::Change { id: old.id, from, change, replaces: false })
}

/// The change that raises the importance, adds tags and shares.
fn raised(old: &Entry<Stored>, new: &New) -> Option<Change> {
    let mut tags = old.value.tags.clone();
    tags.extend(new.tags.iter().filter(|tag| !old.value.tags.contains(tag)).cloned());
    let change = Change {
        importance: (new.importance > old.value.importance).then_some(new.importance),
        tags: (tags.len() > old.value.tags.len()).then_some(tags),
        shared: (new.shared && old.audience == store::Audience::Private).then_some(true),
        ..Change::default()
    };
    (change != Change::default()).then_some(change)
}
