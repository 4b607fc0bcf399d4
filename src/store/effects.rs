//! Idempotency keys: they show whether an interrupted call has changed anything.
//!
//! A call that runs under a key ([`with_effect`]) leaves an [`Effect`] in the commit of its first write, so the two
//! are on disk together or not at all. After a power cut, a call without a mark has changed nothing in the store and
//! can be made again; one with a mark must not be. The commit that stores the outcome of the call removes the mark.

use crate::{Audience, Level, Record, Result, Stamp, Store, Tx, journal, kind::Kind, record::Tails, rows};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tool::{Id, Scope};

/// How many different tools a mark names at most.
const NAMED: usize = 20;
/// How many old marks are removed in one commit.
const FORGOTTEN: usize = 500;

/// The mark a call has left. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// Whether the call itself wrote to the store. Calls it makes through other tools may be only a part of it.
    whole: bool,
    /// Whether it was about to change something outside the store.
    outside: bool,
    /// The tools that changed something, and how many writes each made.
    tools: Vec<(String, u32)>,
}

impl Record for Effect {
    const NAME: &'static str = "effects";
    const WORD: &'static str = "mark of a call";
    const LEVEL: Level = Level::Household;
}

impl Effect {
    /// Whether the call is complete: it wrote by itself and changes nothing outside the store.
    pub fn is_whole(&self) -> bool {
        self.whole && !self.outside
    }

    /// The tools that are known to have changed something, as a list for a sentence: "`add_note`, `add_task`".
    pub fn done(&self) -> String {
        self.tools.iter().map(|(tool, _)| format!("`{tool}`")).collect::<Vec<_>>().join(", ")
    }

    fn note(&mut self, source: &EffectSource) {
        self.whole |= source.whole;
        if let Some((_, writes)) = self.tools.iter_mut().find(|(tool, _)| **tool == *source.tool) {
            *writes = writes.saturating_add(1);
        } else if self.tools.len() < NAMED {
            self.tools.push((source.tool.to_string(), 1));
        }
    }
}

/// The call that causes a write.
#[derive(Debug, Clone)]
pub struct EffectSource {
    /// The idempotency key.
    pub key: Id,
    /// The tool that writes.
    pub tool: Arc<str>,
    /// Whether this is the keyed call itself, and not one that it makes through other tools.
    pub whole: bool,
}

tokio::task_local! {
    static CURRENT: Option<EffectSource>;
    static SYNC_WITHIN: Option<Duration>;
}

/// Runs `work` with its writes durable only `within` a time, together with later ones, as [`Store::write_soon`] makes
/// them: for a call whose effect, mark and result may all be lost together, because it is then made again. Tasks that
/// it spawns are not included.
pub async fn with_soon<F: Future>(within: Option<Duration>, work: F) -> F::Output {
    SYNC_WITHIN.scope(within, work).await
}

/// How long a write may wait for others here, as [`with_soon`] set it; `None` where it is durable before it returns.
pub fn sync_within() -> Option<Duration> {
    SYNC_WITHIN.try_with(|within| *within).ok().flatten()
}

/// Runs `work` with its writes counted as the effect of `source`; with `None`, as no effect. Tasks that it spawns are
/// not included: wrap them with [`inherit_effect`].
pub async fn with_effect<F: Future>(source: Option<EffectSource>, work: F) -> F::Output {
    CURRENT.scope(source, work).await
}

/// Wraps work to be spawned, so that its writes count as the effect of the current call, and belong to its change.
pub fn inherit_effect<F: Future>(work: F) -> impl Future<Output = F::Output> {
    with_effect(current(), journal::inherit(work))
}

/// The key of one call of a run, by the model's id of it.
pub fn effect_key(run: Id, call: &str) -> Id {
    let mut hasher = blake3::Hasher::new();
    hasher.update(run.as_bytes()).update(call.as_bytes());
    let mut key = [0; 16];
    hasher.finalize_xof().fill(&mut key);
    Id::from_bytes(key)
}

pub(crate) fn current() -> Option<EffectSource> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// Within the transaction of a write: records the call as its source.
pub(crate) fn mark(tx: &Tx, source: &EffectSource) -> Result<()> {
    change(tx, source.key, |effect| effect.note(source))
}

fn change(tx: &Tx, key: Id, change: impl FnOnce(&mut Effect)) -> Result<()> {
    let mut effect = read(tx, key)?.unwrap_or_default();
    change(&mut effect);
    let stamp = Stamp { audience: Audience::Private, ..Stamp::household("") };
    rows::put(Kind::of::<Effect>(), tx, key, &stamp, &effect, Tails::default()).map(drop)
}

fn read(tx: &Tx, key: Id) -> Result<Option<Effect>> {
    let found = rows::read(Kind::of::<Effect>(), tx, Scope::Household, key)?;
    found.map(|found| found.typed().map(|found| found.value)).transpose()
}

fn row(key: Id) -> Vec<u8> {
    rows::record_key(Scope::Household, key)
}

impl Store {
    /// The mark of the call with this key; `None` when it has changed nothing.
    ///
    /// # Errors
    /// `Damaged` when it cannot be read.
    pub fn effect(&self, key: Id) -> Result<Option<Effect>> {
        Ok(self.collection::<Effect>().get_in(Scope::Household, key)?.map(|found| found.value))
    }

    /// Stores durably that a call is about to change something outside the store: from here on it is unknown whether it has.
    ///
    /// # Errors
    /// As [`Store::write`]; the call must not be made then.
    pub async fn mark_outside(&self, key: Id, tool: Arc<str>) -> Result<()> {
        let source = EffectSource { key, tool, whole: false };
        let marked = self.write(move |tx| {
            change(tx, key, |effect| {
                effect.outside = true;
                effect.note(&source);
            })
        });
        with_soon(None, with_effect(None, marked)).await
    }

    /// Within the write that stores the outcome of a call: removes its mark.
    ///
    /// # Errors
    /// As every write.
    pub fn forget_effect(&self, tx: &Tx, key: Id) -> Result<()> {
        tx.remove_raw(Effect::NAME, &row(key)).map(drop)
    }

    /// Removes marks older than `before`, in milliseconds since 1970: their calls were deleted before they ended.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn forget_effects_before(&self, before: u64) -> Result<()> {
        let mut old = vec![];
        self.collection::<Effect>().scan(|found| {
            if found.updated_ms < before {
                old.push(found.id);
            }
        })?;
        // A piece a commit: after years of interruptions there may be many.
        for some in old.chunks(FORGOTTEN) {
            let (store, some) = (self.clone(), some.to_vec());
            self.write(move |tx| some.iter().try_for_each(|key| store.forget_effect(tx, *key))).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stamp;

    fn source(key: Id, tool: &str, whole: bool) -> Option<EffectSource> {
        Some(EffectSource { key, tool: tool.into(), whole })
    }

    async fn put(store: &Store) -> Result<()> {
        let store = store.clone();
        let stamp = Stamp::household("test");
        let records = store.collection::<Effect>();
        store.write(move |tx| records.put(tx, Id::new(), &stamp, &Effect::default()).map(drop)).await
    }

    #[tokio::test]
    async fn a_write_and_its_mark_are_one() {
        let store = Store::in_memory().unwrap();
        let key = Id::new();
        put(&store).await.unwrap();
        let failed = store.write(|_| Err::<(), _>(crate::Error::Conflict("taken".into())));
        with_effect(source(key, "add", true), failed).await.unwrap_err();
        assert_eq!(store.effect(key).unwrap(), None, "neither others' writes nor one that failed");
        with_effect(source(key, "add", true), put(&store)).await.unwrap();
        let effect = store.effect(key).unwrap().unwrap();
        assert!(effect.is_whole() && effect.done() == "`add`", "{effect:?}");
        let other = store.clone();
        store.write(move |tx| other.forget_effect(tx, key)).await.unwrap();
        assert_eq!(store.effect(key).unwrap(), None);
    }

    #[tokio::test]
    async fn parts_and_what_is_outside_are_not_the_whole() {
        let store = Store::in_memory().unwrap();
        let [part, moved, exempt, spawned] = [(); 4].map(|()| Id::new());
        for tool in ["add_note", "add_task", "add_note"] {
            with_effect(source(part, tool, false), put(&store)).await.unwrap();
        }
        let effect = store.effect(part).unwrap().unwrap();
        assert!(!effect.is_whole() && effect.done() == "`add_note`, `add_task`", "{effect:?}");
        with_effect(source(moved, "move", true), store.mark_outside(moved, "move".into())).await.unwrap();
        with_effect(source(moved, "move", true), put(&store)).await.unwrap();
        assert!(!store.effect(moved).unwrap().unwrap().is_whole());
        with_effect(source(exempt, "note", true), with_effect(None, put(&store))).await.unwrap();
        assert_eq!(store.effect(exempt).unwrap(), None);
        for (inherits, marked) in [(false, false), (true, true)] {
            let its = store.clone();
            let spawn = async move {
                let work = async move { put(&its).await };
                match inherits {
                    true => tokio::spawn(inherit_effect(work)).await.unwrap(),
                    false => tokio::spawn(work).await.unwrap(),
                }
            };
            with_effect(source(spawned, "spawn", true), spawn).await.unwrap();
            assert_eq!(store.effect(spawned).unwrap().is_some(), marked);
        }
    }

    #[tokio::test]
    async fn old_marks_are_forgotten() {
        let store = Store::in_memory().unwrap();
        let key = Id::new();
        with_effect(source(key, "add", true), put(&store)).await.unwrap();
        store.forget_effects_before(1).await.unwrap();
        assert!(store.effect(key).unwrap().is_some());
        store.forget_effects_before(Id::new().millis() + 1).await.unwrap();
        assert_eq!(store.effect(key).unwrap(), None);

        // Many go in pieces, and all of them.
        let keys: Vec<Id> = (0..2 * FORGOTTEN + 1).map(|_| Id::new()).collect();
        let marked = keys.clone();
        let mark_all =
            move |tx: &Tx| marked.iter().try_for_each(|key| change(tx, *key, |effect| effect.outside = true));
        store.write(mark_all).await.unwrap();
        let commits = store.stats().unwrap().commits;
        store.forget_effects_before(Id::new().millis() + 1).await.unwrap();
        assert_eq!(store.stats().unwrap().commits, commits + 3);
        assert!(keys.iter().all(|key| store.effect(*key).unwrap().is_none()));
        assert_ne!(effect_key(key, "1"), effect_key(key, "2"));
    }
}
