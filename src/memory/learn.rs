//! Stores what a person says as a fact: once, and in place of the fact that it replaces.

use crate::{
    Memories, checked_text,
    holder::{Changed, unless_damaged},
    records::{Change, Kind, New, Stored, Vector},
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
/// How many tags repeats of a fact add up to.
const TAGS: usize = 32;

/// Which fact of a call an item is, and whether it states it.
type OfFact = (usize, bool);

/// The effect of a new memory on the stored ones.
#[derive(Clone)]
enum Step {
    Add {
        id: Id,
        stamp: Box<Stamp>,
        stored: Stored,
        similar: Vec<Memory>,
    },
    /// A later fact of the same call takes its place.
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
        let (facts, of_fact) = facts(all)?;
        let mut steps: Vec<(Step, Option<Vector>)> = vec![];
        for new in facts {
            let meaning = self.embed(&new.content).await;
            let mut step = self.step(cx, new, meaning.as_ref()).await?;
            let place = steps.len();
            // Two facts of one call about one memory: the later one counts.
            if let Step::Change { id, change, .. } = &mut step
                && let Some((earlier, _)) =
                    steps.iter_mut().find(|(s, _)| matches!(s, Step::Change { id: i, .. } if i == id))
                && let Step::Change { change: before, .. } = std::mem::replace(earlier, Step::Repeats(place))
            {
                change.importance = [before.importance, change.importance].into_iter().flatten().reduce(f32::max);
                change.tags = match (before.tags, change.tags.take()) {
                    (Some(first), Some(then)) => Some(joined(&first, &then)),
                    (first, then) => then.or(first),
                };
                change.content = change.content.take().or(before.content);
                change.kind = change.kind.or(before.kind);
                change.shared = change.shared.or(before.shared);
            }
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
        let mut learned: Vec<Option<Learned>> = vec![];
        let meanwhile = || Error::unavailable("the memory changed meanwhile: try again");
        for (step, entry) in shown.iter().zip(written) {
            learned.push(match (step, entry) {
                (Step::Repeats(_), _) => None,
                (Step::Known { id }, _) => {
                    let entry = self.records.get_in(Scope::User(owner), *id)?;
                    let entry = entry.ok_or_else(|| Error::unavailable("it was forgotten meanwhile: try again"))?;
                    self.uses.count(owner, std::iter::once(*id), Id::now_ms());
                    Some(Learned::new(self.own_view(entry), Outcome::Known))
                }
                (Step::Change { from, replaces, .. }, Some(entry)) => {
                    let outcome = if *replaces { Outcome::Replaced } else { Outcome::Known };
                    let before = (*from != entry.value.content).then(|| from.clone());
                    Some(Learned { before, ..Learned::new(self.own_view(entry), outcome) })
                }
                (Step::Add { similar, .. }, Some(entry)) => {
                    Some(Learned { similar: similar.clone(), ..Learned::new(self.own_view(entry), Outcome::Added) })
                }
                _ => return Err(meanwhile()),
            });
        }
        let one = |(fact, first): OfFact| {
            let mut at = fact;
            while let Some(Step::Repeats(later)) = shown.get(at) {
                at = *later;
            }
            let learned = learned.get(at).cloned().flatten().ok_or_else(meanwhile)?;
            match first {
                true => Ok(learned),
                false => Ok(Learned { outcome: Outcome::Known, before: None, similar: vec![], ..learned }),
            }
        };
        of_fact.into_iter().map(one).collect()
    }

    /// Compares one new memory with the stored ones of its owner.
    async fn step(&self, cx: &Cx, new: New, meaning: Option<&Quantized>) -> Result<Step> {
        let (user, text, meaning) = (cx.user(), new.content.clone(), meaning.cloned());
        let query = text.clone();
        let search = move |index: &mut crate::Index, fetch: crate::Fetch| {
            let mut found = index.search(user, &query, meaning.as_ref(), fetch);
            found.truncate(COMPARED);
            found
        };
        let (mut same, mut updates, mut similar, mut others) = (None, vec![], vec![], vec![]);
        for hit in self.index.with(search).await? {
            // Only what this person vouches for is compared: what came from outside stays apart from their own words.
            let entry = unless_damaged(self.records.get_in(Scope::User(user), hit.id))?;
            let Some(entry) = entry.filter(|entry| entry.label == Label::Own) else { continue };
            // A private text never becomes a shared one by taking its place, nor is a shared one hidden.
            let apart =
                entry.audience != crate::audience(new.shared) && as_written(&entry.value.content) != as_written(&text);
            match relation(&entry.value.content, &text) {
                Relation::Same | Relation::Update if apart => others.push(self.own_view(entry)),
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
            let step = reworded(&entry, &new).filter(|_| clean);
            return Ok(step.unwrap_or(Step::Known { id: entry.id }));
        }
        // If two memories could be meant, both stay, and the caller sees them.
        if let ([entry], true) = (updates.as_slice(), clean) {
            let mut change = raised(entry, &new).unwrap_or_default();
            change.content = Some(text);
            return Ok(Step::Change { id: entry.id, from: entry.value.content.clone(), change, replaces: true });
        }
        others.extend(updates.into_iter().map(|entry| self.own_view(entry)));
        similar.splice(0..0, others);
        similar.truncate(SIMILAR);
        let stamp = Box::new(self.records.stamp(cx, "remember").audience(crate::audience(new.shared)));
        let importance = new.importance.clamp(0.0, 1.0);
        let stored = Stored { content: text, kind: new.kind, importance, tags: new.tags, ..Stored::default() };
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

/// The facts of a call, each once and checked, and of each item which fact it is and whether it is the one that states it.
fn facts(all: Vec<New>) -> Result<(Vec<New>, Vec<OfFact>)> {
    let (mut facts, mut of_fact): (Vec<New>, Vec<OfFact>) = (vec![], vec![]);
    for mut new in all {
        new.content = checked_text(&new.content)?;
        let of = |fact: &New| (fact.shared == new.shared).then(|| relation(&fact.content, &new.content));
        let known = facts.iter().enumerate().rev().find_map(|(at, fact)| match of(fact) {
            Some(relation) if relation != Relation::Different => Some((at, relation)),
            _ => None,
        });
        let Some((at, relation)) = known else {
            of_fact.push((facts.len(), true));
            facts.push(new);
            continue;
        };
        of_fact.push((at, relation == Relation::Update));
        let Some(fact) = facts.get_mut(at) else { continue };
        if relation == Relation::Update {
            fact.content = new.content;
        }
        fact.importance = fact.importance.max(new.importance);
        fact.tags = joined(&fact.tags, &new.tags);
        fact.kind = if new.kind == Kind::default() { fact.kind } else { new.kind };
    }
    Ok((facts, of_fact))
}

/// All tags of both, up to the bound; none of the first is dropped.
fn joined(tags: &[String], more: &[String]) -> Vec<String> {
    let new: Vec<&String> = more.iter().filter(|tag| !tags.contains(tag)).collect();
    tags.iter().chain(new.into_iter().take(TAGS.saturating_sub(tags.len()))).cloned().collect()
}

/// A text but for its last full stop and the case of its first letter.
fn as_written(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.strip_suffix('.').unwrap_or(text).chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// The change that takes over another wording, tags and importance of the same fact; `None` where nothing is new.
fn reworded(old: &Entry<Stored>, new: &New) -> Option<Step> {
    let content = (as_written(&old.value.content) != as_written(&new.content)).then(|| new.content.clone());
    let mut change = raised(old, new).unwrap_or_default();
    change.content = content;
    let from = old.value.content.clone();
    (change != Change::default()).then_some(Step::Change { id: old.id, from, change, replaces: false })
}

/// The change that raises the importance, adds tags, names the kind and shares.
fn raised(old: &Entry<Stored>, new: &New) -> Option<Change> {
    let tags = joined(&old.value.tags, &new.tags);
    let change = Change {
        kind: (new.kind != Kind::default() && new.kind != old.value.kind).then_some(new.kind),
        importance: (new.importance > old.value.importance).then_some(new.importance),
        tags: (tags.len() > old.value.tags.len()).then_some(tags),
        shared: (new.shared && old.audience == store::Audience::Private).then_some(true),
        ..Change::default()
    };
    (change != Change::default()).then_some(change)
}
